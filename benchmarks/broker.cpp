#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "workload.hpp"

// Publishing and consuming through a broker. Items are messages; time is per call.
namespace {

using namespace brook::literals;
using namespace std::chrono_literals;

const brook::Retention window{.max_bytes = 8_MiB};

/// By handle. args: partitions, messages a call
void publish_by_handle(benchmark::State& state) {
  brook::Broker broker;
  auto topic = broker.create_topic("topic", {.partitions = state.range(0), .retention = window});
  workload::Messages messages(100, state.range(0) > 1);
  const auto size = static_cast<std::size_t>(state.range(1));
  for (int i = 0; i < 50; ++i) topic.publish(messages.all());
  std::size_t index = 0;
  for (auto _ : state) {
    if (size == 1) {
      benchmark::DoNotOptimize(topic.publish(messages[index++]));
    } else {
      benchmark::DoNotOptimize(topic.publish(messages.batch(size)));
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(1));
}
BENCHMARK(publish_by_handle)
    ->ArgNames({"partitions", "batch"})
    ->ArgsProduct({{1, 64}, {1, 100, 1000}});

void publish_by_name(benchmark::State& state) {
  brook::Broker broker;
  auto topic = broker.create_topic("topic", {.retention = window});
  workload::Messages messages(100, false);
  for (int i = 0; i < 50; ++i) topic.publish(messages.all());
  std::size_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(broker.publish("topic", messages[index++]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(publish_by_name);

void publish_by_producer(benchmark::State& state) {
  brook::Broker broker;
  auto topic = broker.create_topic("topic", {.retention = window});
  auto producer = broker.producer();
  workload::Messages messages(100, false);
  for (int i = 0; i < 50; ++i) topic.publish(messages.all());
  std::size_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(producer.publish("topic", messages[index++]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(publish_by_producer);

enum Settling { batch_at_once, one_by_one };

/// Poll of 500 and ack, one thread, keyed, warm. args: Settling
void poll_and_ack(benchmark::State& state) {
  brook::Broker broker;
  auto topic = broker.create_topic("topic");
  workload::Messages messages(100, true);
  for (int i = 0; i < 16; ++i) topic.publish(messages.all());
  auto consumer = broker.subscribe("topic", {.group = "group", .start = brook::Start::earliest});
  std::int64_t taken = 0;
  for (auto _ : state) {
    const auto batch = consumer.poll(500);
    if (state.range(0) == batch_at_once) {
      consumer.ack(batch);
    } else {
      for (const auto& delivery : batch) consumer.ack(delivery);
    }
    taken += static_cast<std::int64_t>(batch.size());
    if (batch.empty()) consumer.seek(brook::Start::earliest);
  }
  state.SetItemsProcessed(taken);
}
BENCHMARK(poll_and_ack)->ArgName("one_by_one")->Arg(batch_at_once)->Arg(one_by_one);

/// Poll of one message and its ack: what a consumer that takes one at a time pays.
void poll_one_and_ack(benchmark::State& state) {
  brook::Broker broker;
  auto topic = broker.create_topic("topic");
  workload::Messages messages(100, true);
  for (int i = 0; i < 16; ++i) topic.publish(messages.all());
  auto consumer = broker.subscribe("topic", {.group = "group", .start = brook::Start::earliest});
  std::int64_t taken = 0;
  for (auto _ : state) {
    const auto batch = consumer.poll(1);
    consumer.ack(batch);
    taken += static_cast<std::int64_t>(batch.size());
    if (batch.empty()) consumer.seek(brook::Start::earliest);
  }
  state.SetItemsProcessed(taken);
}
BENCHMARK(poll_one_and_ack);

/// One producer thread, and consuming groups in threads of their own, each of which gets every
/// message, sums its bytes and acks. The producer waits when the slowest group is 16,384 behind.
/// A message counts when all groups have it. args: groups, messages a publish
void one_producer(benchmark::State& state) {
  constexpr std::uint64_t total = 1'000'000;
  constexpr std::uint64_t most_behind = 16'384;
  const auto groups = static_cast<std::size_t>(state.range(0));
  const auto size = static_cast<std::size_t>(state.range(1));
  for (auto _ : state) {
    brook::Broker broker;
    auto topic = broker.create_topic("topic", {.retention = window});
    workload::Messages messages(100, false);
    std::vector<std::atomic<std::uint64_t>> done(groups);
    std::vector<std::uint64_t> sums(groups, 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < groups; ++i) {
      threads.emplace_back(
          [&, i,
           consumer = broker.subscribe("topic", {.group = "g" + std::to_string(i),
                                                 .start = brook::Start::earliest})]() mutable {
            for (std::uint64_t taken = 0; taken < total;) {
              const auto batch = consumer.poll(1000, 1s);
              for (const auto& delivery : batch) sums[i] += workload::checksum(delivery.payload());
              consumer.ack(batch);
              taken += batch.size();
              done[i].store(taken, std::memory_order_release);
            }
          });
    }
    std::uint64_t expected = 0;
    for (std::uint64_t sent = 0; sent < total;) {
      const auto slowest = [&] {
        std::uint64_t least = total;
        for (const auto& one : done) least = std::min(least, one.load(std::memory_order_acquire));
        return least;
      };
      while (sent - slowest() > most_behind) std::this_thread::yield();
      const auto batch = messages.batch(size);
      for (const auto& message : batch) expected += workload::checksum(message.payload);
      topic.publish(batch);
      sent += batch.size();
    }
    for (auto& thread : threads) thread.join();
    for (const std::uint64_t sum : sums) {
      if (sum != expected) state.SkipWithError("a group did not get every byte");
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(total));
}
BENCHMARK(one_producer)
    ->ArgNames({"groups", "batch"})
    ->ArgsProduct({{1, 3}, {1, 100, 1000}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

/// Construct a broker, send 1000 messages through a group, destroy it: a unit test.
void whole_life(benchmark::State& state) {
  workload::Messages messages(100, true);
  for (auto _ : state) {
    brook::ManualClock clock;
    brook::ManualBroker broker(clock);
    auto topic = broker.create_topic("topic");
    auto consumer = broker.subscribe("topic", {.group = "group", .start = brook::Start::earliest});
    for (std::size_t i = 0; i < 1000; ++i) topic.publish(messages[i]);
    for (auto batch = consumer.poll(100); !batch.empty(); batch = consumer.poll(100))
      consumer.ack(batch);
  }
  state.SetItemsProcessed(state.iterations() * 1000);
}
BENCHMARK(whole_life)->Unit(benchmark::kMicrosecond);

}  // namespace
