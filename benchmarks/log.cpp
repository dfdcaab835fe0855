#include <cstdint>

#include "workload.hpp"

// One partition alone: append, read, retention. Items are messages; time is per call.
namespace {

using namespace brook::literals;
using Log = brook::TopicLog<brook::MemoryStorage, brook::ManualClock>;

/// Enough for a warm window in the second or third cache; retention is active in every append.
constexpr brook::ByteSize window = 8_MiB;

/// args: payload size, keyed
void append_one(benchmark::State& state) {
  workload::Messages messages(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
  brook::ManualClock
      clock;  // no clock is read: its cost is the difference to append_one_system_clock
  Log log(clock, {.retention = {.max_bytes = window}});
  for (int i = 0; i < 50; ++i) log.append(messages.all());
  std::size_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(log.append(messages[index++]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(append_one)->ArgNames({"size", "keyed"})->ArgsProduct({{16, 100, 1024}, {0, 1}});

void append_one_system_clock(benchmark::State& state) {
  workload::Messages messages(100, false);
  brook::SystemClock clock;
  brook::TopicLog log(clock, {.retention = {.max_bytes = window}});
  for (int i = 0; i < 50; ++i) log.append(messages.all());
  std::size_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(log.append(messages[index++]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(append_one_system_clock);

/// args: payload size, keyed, messages a batch
void append_batch(benchmark::State& state) {
  workload::Messages messages(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
  const auto size = static_cast<std::size_t>(state.range(2));
  brook::ManualClock clock;
  Log log(clock, {.retention = {.max_bytes = window}});
  for (int i = 0; i < 50; ++i) log.append(messages.all());
  for (auto _ : state) benchmark::DoNotOptimize(log.append(messages.batch(size)));
  state.SetItemsProcessed(state.iterations() * state.range(2));
}
BENCHMARK(append_batch)
    ->ArgNames({"size", "keyed", "batch"})
    ->ArgsProduct({{16, 100, 1024}, {0, 1}, {100, 1000}});

/// A log that only grows, from its first segment: page faults included. args: payload size
void append_batch_cold(benchmark::State& state) {
  workload::Messages messages(static_cast<std::size_t>(state.range(0)), false);
  brook::ManualClock clock;
  for (auto _ : state) {
    Log log(clock);
    for (int i = 0; i < 16; ++i) log.append(messages.batch(1000));
    benchmark::DoNotOptimize(log.end());
  }
  state.SetItemsProcessed(state.iterations() * 16'000);
}
BENCHMARK(append_batch_cold)->ArgName("size")->Arg(16)->Arg(100)->Arg(1024);

/// Reads on through a log of 65,536 messages, 500 at a time, and sums every byte. args: payload
/// size
void read_and_sum(benchmark::State& state) {
  workload::Messages messages(static_cast<std::size_t>(state.range(0)), false);
  brook::ManualClock clock;
  Log log(clock);
  for (int i = 0; i < 16; ++i) log.append(messages.all());
  Log::Reader reader(log);
  brook::Offset from{0};
  std::uint64_t sum = 0;
  std::int64_t read = 0;
  for (auto _ : state) {
    const auto batch = reader.read(from, {.max_messages = 500});
    for (const auto message : batch) sum += workload::checksum(message.payload());
    read += static_cast<std::int64_t>(batch.size());
    from += batch.size();
    if (from == log.end()) from = brook::Offset{0};
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(read);
}
BENCHMARK(read_and_sum)->ArgName("size")->Arg(16)->Arg(100)->Arg(1024);

/// The same without looking at the payload: what finding and viewing a message costs.
void read_only(benchmark::State& state) {
  workload::Messages messages(100, false);
  brook::ManualClock clock;
  Log log(clock);
  for (int i = 0; i < 16; ++i) log.append(messages.all());
  Log::Reader reader(log);
  brook::Offset from{0};
  std::uint64_t sum = 0;
  std::int64_t read = 0;
  for (auto _ : state) {
    const auto batch = reader.read(from, {.max_messages = 500});
    for (const auto message : batch) sum += message.payload().size();
    read += static_cast<std::int64_t>(batch.size());
    from += batch.size();
    if (from == log.end()) from = brook::Offset{0};
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(read);
}
BENCHMARK(read_only);

/// One message at a random offset, without a reader: the price of a seek. args: messages in the log
void read_at_random_offset(benchmark::State& state) {
  workload::Messages messages(100, false);
  brook::ManualClock clock;
  Log log(clock);
  while (log.end().value() < static_cast<std::uint64_t>(state.range(0)))
    log.append(messages.batch(1000));
  std::uint64_t at = 1;
  for (auto _ : state) {
    at = (at * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL);
    const auto batch = log.read(brook::Offset{(at >> 16) % log.end().value()}, {.max_messages = 1});
    benchmark::DoNotOptimize(batch[0].payload().data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(read_at_random_offset)->ArgName("messages")->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

}  // namespace
