// One writer and several readers on one log. Every payload holds the offset it was meant for, so
// that a reader sees at once whether it got what belongs there.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <brook/clock/manual_clock.hpp>
#include <brook/log/topic_log.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/vector_storage.hpp"

namespace {

using brook::ManualClock;
using brook::Offset;
using support::Random;

constexpr std::uint64_t key_count = 40;

std::string payload_of(std::uint64_t offset) {
  std::string text = std::to_string(offset) + " ";
  text.resize(30 + offset * 7 % 300, static_cast<char>('a' + offset % 26));
  return text;
}
std::string key_of(std::uint64_t offset) {
  return std::to_string(offset % key_count);
}

/// What went wrong on any thread, as a count for each thing that never may.
struct Faults {
  std::atomic<int> content{0};    ///< A message is not the one of its offset.
  std::atomic<int> order{0};      ///< Offsets do not rise, or begin before the asked one.
  std::atomic<int> gap{0};        ///< A message is missing that nothing can have removed.
  std::atomic<int> exception{0};  ///< Anything but OffsetTooOld, or one that is wrong.
  std::atomic<int> position{0};   ///< A position fell, or a query gave what cannot be.

  void require_none() const {
    CHECK(content.load() == 0);
    CHECK(order.load() == 0);
    CHECK(gap.load() == 0);
    CHECK(exception.load() == 0);
    CHECK(position.load() == 0);
  }
};

struct Settings {
  brook::LogConfig config{};
  bool dense = true;  ///< Nothing but trims removes messages.
  int writes = 8'000;
};

template <class Log>
class Reading {
 public:
  Reading(const Log& log, const Settings& settings, Faults& faults, std::uint64_t seed)
      : log_(log), settings_(settings), faults_(faults), random_(seed), reader_(log) {}

  /// Reads on for as long as the writer writes, and then to the end.
  void run(const std::atomic<bool>& done) {
    Offset next{0};
    for (;;) {
      const bool last = done.load(std::memory_order_acquire);
      next = read_from(next);
      query();
      if (last && next == log_.visible_end()) return;
      if (random_.chance(10)) next = seek();
    }
  }

 private:
  Offset seek() {
    const Offset start = log_.start();
    const Offset end = log_.visible_end();
    if (start > last_start_ || end > last_end_) {
      last_start_ = std::max(last_start_, start);
      last_end_ = std::max(last_end_, end);
    }
    if (start < last_start_ || end < last_end_) faults_.position.fetch_add(1);
    if (random_.chance(10)) return Offset{random_.between(0, end.value())};
    return Offset{random_.between(std::min(start, end).value(), end.value())};
  }

  Offset read_from(Offset from) {
    const brook::ReadLimits limits{.max_messages = random_.between(1, 200),
                                   .max_bytes = random_.below(40'000)};
    try {
      const Offset end = log_.visible_end();
      const brook::ReadBatch batch =
          random_.chance(80) ? reader_.read(from, limits) : log_.read(from, limits);
      if (batch.empty() && from < end) faults_.gap.fetch_add(1);
      if (random_.chance(10)) reader_.rest();
      check(from, batch);
      if (random_.chance(20)) held_ = batch;
      for (const auto message : held_) check_content(message);
      return batch.empty() ? from : batch[batch.size() - 1].offset() + 1;
    } catch (const brook::OffsetTooOld& error) {
      if (error.requested() != from || error.start() <= from) faults_.exception.fetch_add(1);
      return error.start();
    } catch (const std::exception&) {
      faults_.exception.fetch_add(1);
      return log_.start();
    }
  }

  void check(Offset from, const brook::ReadBatch& batch) {
    Offset next = from;
    for (const brook::StoredMessage message : batch) {
      if (message.offset() < next) faults_.order.fetch_add(1);
      if (settings_.dense && message.offset() != next) faults_.gap.fetch_add(1);
      check_content(message);
      next = message.offset() + 1;
    }
  }
  void check_content(const brook::StoredMessage& message) {
    const std::uint64_t offset = message.offset().value();
    if (message.payload().text() != payload_of(offset) || message.key().text() != key_of(offset)) {
      faults_.content.fetch_add(1);
    }
  }

  void query() {
    const Offset end = log_.visible_end();
    const Offset from{random_.between(0, end.value())};
    const Offset to{random_.between(from.value(), end.value())};
    const brook::RangeUsage usage = log_.usage(from, to);
    if (usage.messages > to - from || usage.bytes > usage.messages * 400) {
      faults_.position.fetch_add(1);
    }
    const Offset found =
        log_.offset_at(brook::Timestamp{std::chrono::milliseconds{random_.below(7'000)}});
    if (found > log_.visible_end()) faults_.position.fetch_add(1);
  }

  const Log& log_;
  const Settings& settings_;
  Faults& faults_;
  Random random_;
  typename Log::Reader reader_;
  brook::ReadBatch held_;
  Offset last_start_{};
  Offset last_end_{};
};

template <class Log>
void write(Log& log, ManualClock& clock, const Settings& settings, Random& random) {
  for (int i = 0; i < settings.writes; ++i) {
    const std::uint64_t end = log.end().value();
    const std::uint64_t count = random.chance(70) ? 1 : random.between(1, 40);
    const bool phantom = random.chance(15);
    std::vector<brook::Message> batch;
    for (std::uint64_t at = end; at < end + count; ++at) {
      batch.push_back({.key = key_of(at), .payload = phantom ? "phantom" : payload_of(at)});
    }
    if (count == 1 && !phantom) {
      log.append(batch[0]);
    } else {
      log.prepare(std::span<const brook::Message>(batch));
      phantom ? log.cancel() : log.publish();
    }
    clock.advance(std::chrono::milliseconds{1});
    if (random.chance(3)) log.run_due();
    if (random.chance(1)) log.trim(Offset{random.between(log.start().value(), log.end().value())});
    if (random.chance(1)) log.trim(log.end());
    if (random.chance(1) && settings.config.compaction) log.compact();
  }
}

template <class Log, class... StorageArguments>
void stress(const Settings& settings, std::uint64_t seed, StorageArguments&&... arguments) {
  ManualClock clock(ManualClock::Waiting::blocking, brook::Timestamp{});
  Log log(clock, settings.config, std::forward<StorageArguments>(arguments)...);
  Faults faults;
  std::atomic<bool> done{false};
  std::vector<std::thread> readers;
  for (std::uint64_t t = 0; t < 3; ++t) {
    readers.emplace_back([&, t] { Reading<Log>(log, settings, faults, seed + t).run(done); });
  }
  Random random(seed + 100);
  write(log, clock, settings, random);
  done.store(true, std::memory_order_release);
  for (std::thread& reader : readers) reader.join();
  faults.require_none();
  CHECK(log.end().value() > static_cast<std::uint64_t>(settings.writes));
}

using MemoryLog = brook::TopicLog<brook::MemoryStorage, ManualClock>;

}  // namespace

TEST_CASE("Readers beside a writer that trims and recycles see nothing wrong", "[log][stress]") {
  support::with_seed("stress/topic_log trimmed", [](std::uint64_t seed) {
    const Settings settings{.config = {.retention = {.max_age = std::chrono::milliseconds{200},
                                                     .max_bytes = 100'000,
                                                     .max_messages = 700}}};
    stress<MemoryLog>(settings, seed, std::make_shared<brook::SegmentPool>(256 << 10));
  });
}

TEST_CASE("Readers beside a writer that compacts see nothing wrong", "[log][stress]") {
  support::with_seed("stress/topic_log compacted", [](std::uint64_t seed) {
    const Settings settings{
        .config = {.retention = {.max_messages = 2'000}, .compaction = brook::Compaction{}},
        .dense = false};
    stress<MemoryLog>(settings, seed);
  });
}

TEST_CASE("Readers beside a writer that cancels and empties see nothing of it", "[log][stress]") {
  support::with_seed("stress/topic_log cancelled", [](std::uint64_t seed) {
    ManualClock clock(ManualClock::Waiting::blocking, brook::Timestamp{});
    MemoryLog log(clock);
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 2; ++t) {
      readers.emplace_back([&] {
        MemoryLog::Reader reader(log);
        Offset next{0};
        while (!done.load()) {
          const Offset end = log.visible_end();
          if (log.offset_at(brook::Timestamp::max()) < end) wrong.fetch_add(1);
          if (log.usage(Offset{0}, end).messages > 40) wrong.fetch_add(1);
          try {
            for (const auto message : reader.read(next)) {
              if (message.payload().text() != payload_of(message.offset().value())) {
                wrong.fetch_add(1);
              }
            }
          } catch (const brook::OffsetTooOld& error) {
            next = error.start();
          }
        }
      });
    }
    Random random(seed);
    const std::vector<brook::Message> phantoms(60, {.payload = std::string(100, 'p')});
    for (int i = 0; i < 4'000; ++i) {
      if (random.chance(40)) log.trim(log.end());
      log.prepare(std::span<const brook::Message>(phantoms));
      log.cancel();
      std::vector<brook::Message> batch;
      const std::uint64_t size = random.between(1, 20);
      for (std::uint64_t at = 0; at < size; ++at) {
        batch.push_back({.payload = payload_of(log.end().value() + at)});
      }
      if (log.end() - log.start() + size > 40) log.trim(log.end() - (40 - size));
      log.append(batch);
    }
    done.store(true);
    for (std::thread& reader : readers) reader.join();
    CHECK(wrong.load() == 0);
  });
}

TEST_CASE("Readers beside a writer of a log that keeps everything see all of it", "[log][stress]") {
  support::with_seed("stress/topic_log kept", [](std::uint64_t seed) {
    ManualClock clock(ManualClock::Waiting::blocking);
    MemoryLog log(clock);
    constexpr std::uint64_t count = 20'000;
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int t = 0; t < 3; ++t) {
      readers.emplace_back([&] {
        MemoryLog::Reader reader(log);
        for (Offset next{0}; next < Offset{count};) {
          const brook::RecordRun run = reader.read_run(next, {.max_messages = 100});
          if (run.empty()) continue;
          for (std::uint32_t i = 0; i < run.size(); ++i, ++next) {
            if (run.offset(i) != next || run[i].payload().text() != payload_of(next.value())) {
              wrong.fetch_add(1);
            }
          }
        }
      });
    }
    Random random(seed);
    while (log.end() < Offset{count}) {
      std::vector<brook::Message> batch;
      const std::uint64_t size = std::min(random.between(1, 9), count - log.end().value());
      for (std::uint64_t i = 0; i < size; ++i) {
        batch.push_back({.payload = payload_of(log.end().value() + i)});
      }
      log.append(batch);
    }
    for (std::thread& reader : readers) reader.join();
    CHECK(wrong.load() == 0);
  });
}

TEST_CASE("Readers beside a writer over a storage of the minimum see nothing wrong",
          "[log][stress]") {
  support::with_seed("stress/topic_log over VectorStorage", [](std::uint64_t seed) {
    const Settings settings{.config = {.retention = {.max_messages = 300}}, .writes = 2'000};
    stress<brook::TopicLog<support::VectorStorage, ManualClock>>(settings, seed,
                                                                 support::VectorStorage::make());
  });
}
