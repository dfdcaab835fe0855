// Random calls on a log, compared with a std::map that does what the contract says in the simplest
// way.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <brook/clock/manual_clock.hpp>
#include <brook/log/topic_log.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/vector_storage.hpp"

namespace {

using brook::LogConfig;
using brook::ManualClock;
using brook::Message;
using brook::Offset;
using brook::Timestamp;
using support::Random;

enum class Outcome { done, too_large, key_required, full, too_old, out_of_range };

struct Entry {
  Message message{};
  Timestamp stamp{};
  Timestamp retention_time{};
  std::uint64_t size = 0;
};

/// A log as the contract describes it. What compaction removes is not predicted, because where
/// segments end is not part of the contract; it is judged when it has happened.
class Model {
 public:
  explicit Model(const LogConfig& config) : config_(config) {}

  [[nodiscard]] Outcome append(const std::vector<Message>& batch, Timestamp wall_now) {
    for (const Message& message : batch) {
      if (const Outcome refused = judge(message); refused != Outcome::done) return refused;
    }
    const Timestamp now = std::max(last_stamp_, wall_now);
    std::vector<Entry> entries;
    for (const Message& message : batch) entries.push_back(stored(message, now));
    if (config_.overflow == brook::Overflow::reject) {
      if (config_.retention.max_age) retain(wall_now);
      std::uint64_t size = bytes();
      for (const Entry& entry : entries) size += entry.size;
      if (over(config_.retention.max_messages, entries_.size() + batch.size()) ||
          over(config_.retention.max_bytes, size)) {
        return Outcome::full;
      }
    }
    last_stamp_ = now;
    prepared_ = std::move(entries);
    return Outcome::done;
  }
  void publish(Timestamp wall_now) {
    for (Entry& entry : prepared_) entries_.emplace(end_++, std::move(entry));
    prepared_.clear();
    retain(wall_now);
  }
  void cancel() { prepared_.clear(); }

  [[nodiscard]] Outcome trim(std::uint64_t upto) {
    if (upto > end_) return Outcome::out_of_range;
    start_ = std::max(start_, upto);
    entries_.erase(entries_.begin(), entries_.lower_bound(start_));
    return Outcome::done;
  }

  void retain(Timestamp now) {
    const brook::Retention& retention = config_.retention;
    while (!entries_.empty()) {
      const auto front = entries_.begin();
      const bool old = retention.max_age && due(front->second) <= now;
      if (!old && !over(retention.max_messages, entries_.size()) &&
          !over(retention.max_bytes, bytes())) {
        break;
      }
      start_ = front->first + 1;
      entries_.erase(front);
    }
  }

  /// Takes over that only @p left are present, if compaction may do that at @p now.
  void compacted(const std::vector<std::uint64_t>& left, Timestamp now) {
    const auto is_left = [&](std::uint64_t offset) {
      return std::binary_search(left.begin(), left.end(), offset);
    };
    for (const std::uint64_t offset : left) REQUIRE(entries_.contains(offset));
    std::map<std::string, std::uint64_t> newest;
    for (const auto& [offset, entry] : entries_) newest[key(entry)] = offset;
    std::uint64_t last_removed = 0;
    std::uint64_t first_spared = end_;
    for (const auto& [offset, entry] : entries_) {
      const Timestamp gone =
          brook::saturating_add(entry.retention_time, config_.compaction->tombstone_retention);
      const bool removable =
          newest.at(key(entry)) != offset || (entry.message.payload.is_null() && gone <= now);
      if (!is_left(offset)) {
        REQUIRE(removable);
        last_removed = offset + 1;
      } else if (removable) {
        first_spared = std::min(first_spared, offset);
      }
    }
    // What could have been removed and was not lies in the active segment, behind all that was.
    REQUIRE(last_removed <= first_spared);
    std::erase_if(entries_, [&](const auto& pair) { return !is_left(pair.first); });
  }

  [[nodiscard]] std::uint64_t start() const { return start_; }
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] const std::map<std::uint64_t, Entry>& entries() const { return entries_; }
  [[nodiscard]] Timestamp next_due() const {
    if (!config_.retention.max_age || entries_.empty()) return Timestamp::max();
    return due(entries_.begin()->second);
  }

  [[nodiscard]] brook::RangeUsage usage(std::uint64_t from, std::uint64_t to) const {
    brook::RangeUsage sum{};
    for (const auto& [offset, entry] : entries_) {
      if (offset < from || offset >= to) continue;
      sum.messages += 1;
      sum.bytes += entry.size;
    }
    return sum;
  }
  [[nodiscard]] std::uint64_t offset_at(Timestamp time) const {
    for (const auto& [offset, entry] : entries_) {
      if (entry.stamp >= time) return offset;
    }
    return end_;
  }
  [[nodiscard]] std::vector<std::uint64_t> read(std::uint64_t from, std::uint64_t max_messages,
                                                std::uint64_t max_bytes) const {
    std::vector<std::uint64_t> offsets;
    std::uint64_t size = 0;
    for (auto at = entries_.lower_bound(from); at != entries_.end(); ++at) {
      size += at->second.size;
      if (offsets.size() == max_messages || (!offsets.empty() && size > max_bytes)) break;
      offsets.push_back(at->first);
    }
    return offsets;
  }

 private:
  template <class Limit>
  static bool over(const Limit& limit, std::uint64_t value) {
    return limit && value > limit->value();
  }
  static std::string key(const Entry& entry) { return std::string(entry.message.key.text()); }
  [[nodiscard]] Timestamp due(const Entry& entry) const {
    return brook::saturating_add(entry.retention_time, *config_.retention.max_age);
  }
  [[nodiscard]] std::uint64_t bytes() const { return usage(0, end_).bytes; }

  static std::uint64_t length_size(std::uint64_t length) {
    return length < 64 ? 1 : length < 8'192 ? 2 : 3;
  }
  static std::uint64_t headers_size(const Message& message) {
    std::uint64_t size = 0;
    for (const brook::Header& header : message.headers) {
      size += length_size(header.name.size()) + header.name.size();
      size += length_size(header.value.size()) + header.value.size();
    }
    return size;
  }

  [[nodiscard]] Outcome judge(const Message& message) const {
    const brook::MessageLimits& limits = config_.limits;
    const std::uint64_t size = message.key.size() + message.payload.size() + headers_size(message);
    if (message.key.size() > limits.max_key.value() ||
        message.headers.size() > limits.max_headers.value() || size > limits.max_message.value()) {
      return Outcome::too_large;
    }
    return config_.compaction && message.key.is_null() ? Outcome::key_required : Outcome::done;
  }

  [[nodiscard]] Entry stored(const Message& message, Timestamp now) const {
    const bool create_time = config_.timestamps == brook::TimestampType::create_time;
    Entry entry{.message = message};
    entry.stamp = create_time ? message.timestamp.value_or(now) : now;
    entry.retention_time = std::min(entry.stamp, now);
    entry.size = 16 + message.key.size() + message.payload.size();
    if (!message.headers.empty()) entry.size += 8 + headers_size(message);
    if (entry.stamp > now) entry.size += 8;
    entry.size = (entry.size + 7) / 8 * 8;
    return entry;
  }

  LogConfig config_;
  std::map<std::uint64_t, Entry> entries_;
  std::vector<Entry> prepared_;
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  Timestamp last_stamp_ = Timestamp::min();
};

LogConfig random_config(Random& random) {
  LogConfig config;
  if (random.chance(40))
    config.retention.max_age = std::chrono::milliseconds{random.between(1, 200)};
  if (random.chance(30)) config.retention.max_bytes = random.between(100, 20'000);
  if (random.chance(30)) config.retention.max_messages = random.between(1, 200);
  if ((config.retention.max_bytes || config.retention.max_messages) && random.chance(40)) {
    config.overflow = brook::Overflow::reject;
  }
  if (random.chance(40)) config.timestamps = brook::TimestampType::create_time;
  if (random.chance(40)) {
    config.compaction =
        brook::Compaction{.tombstone_retention = std::chrono::milliseconds{random.below(200)}};
  }
  if (random.chance(30)) {
    config.limits = {.max_message = random.between(1, 400),
                     .max_key = random.between(0, 20),
                     .max_headers = random.between(0, 4)};
  }
  return config;
}

/// Runs random calls on a log and on its model, and compares after each.
template <class Log>
class Walk {
 public:
  template <class... StorageArguments>
  explicit Walk(std::uint64_t seed, StorageArguments&&... arguments)
      : random_(seed),
        config_(random_config(random_)),
        model_(config_),
        log_(clock_, config_, std::forward<StorageArguments>(arguments)...),
        reader_(log_),
        max_payload_(random_.chance(50) ? 60 : 700) {}

  void step() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 50) {
      append(1);
    } else if (kind < 64) {
      append(random_.below(12));
    } else if (kind < 72) {
      clock_.advance(std::chrono::microseconds{random_.below(30'000)});
    } else if (kind < 74) {
      const auto jump = std::chrono::milliseconds{random_.below(300)};
      clock_.set_wall_now(random_.chance(50) ? clock_.wall_now() + jump : clock_.wall_now() - jump);
    } else if (kind < 84) {
      log_.run_due();
      model_.retain(clock_.wall_now());
    } else if (kind < 90) {
      trim();
    } else if (kind < 95) {
      compact();
    }
    check_positions();
    check_read();
    check_queries();
  }

  void check_all() {
    const std::vector<std::uint64_t> offsets = present();
    REQUIRE(offsets.size() == model_.entries().size());
    for (const auto& [batch, copies] : held_) check_held(batch, copies);
  }

 private:
  using Reader = typename Log::Reader;

  void append(std::uint64_t size) {
    std::vector<Message> batch;
    for (std::uint64_t i = 0; i < size; ++i) batch.push_back(message());
    const Timestamp now = clock_.wall_now();
    const Outcome expected = model_.append(batch, now);
    Offset first = Offset::max();
    const Outcome actual = outcome_of([&] { first = prepare(batch); });
    REQUIRE(actual == expected);
    if (actual != Outcome::done) return;
    REQUIRE(first == Offset{model_.end()});
    if (random_.chance(20)) {
      check_positions();
      check_read();
      check_queries();
    }
    if (random_.chance(10)) {
      log_.cancel();
      model_.cancel();
      return;
    }
    log_.publish();
    model_.publish(now);
  }

  Message message() {
    Message message = support::random_message(random_, max_payload_);
    if (config_.compaction && !random_.chance(1)) {
      message.key = std::string(1, static_cast<char>('a' + random_.below(12)));
    }
    if (random_.chance(30)) {
      message.timestamp = clock_.wall_now() + std::chrono::milliseconds{random_.below(100)} -
                          std::chrono::milliseconds{50};
    }
    return message;
  }

  /// In any of the forms of a batch.
  Offset prepare(const std::vector<Message>& batch) {
    const std::span<const Message> owned(batch);
    switch (random_.below(3)) {
      case 0:
        return log_.prepare(owned);
      case 1: {
        const std::vector<brook::MessageView> views(batch.begin(), batch.end());
        return log_.prepare(std::span<const brook::MessageView>(views));
      }
      default: {
        std::vector<Message> reversed(batch.rbegin(), batch.rend());
        std::vector<std::uint32_t> order;
        for (std::size_t i = batch.size(); i != 0; --i) {
          order.push_back(static_cast<std::uint32_t>(i - 1));
        }
        return log_.prepare(brook::MessageBatch(std::span<const Message>(reversed)).select(order));
      }
    }
  }

  void trim() {
    const std::uint64_t upto =
        random_.chance(10) ? model_.end() + random_.below(3) : random_.between(0, model_.end());
    REQUIRE(outcome_of([&] { log_.trim(Offset{upto}); }) == model_.trim(upto));
  }

  void compact() {
    if (!config_.compaction) {
      REQUIRE_THROWS_AS(log_.compact(), brook::InvalidArgument);
      return;
    }
    const std::uint64_t before = model_.entries().size();
    const std::uint64_t removed = log_.compact().value();
    std::vector<std::uint64_t> left;
    for (const auto message : log_.read(log_.start(), no_limits())) {
      left.push_back(message.offset().value());
    }
    model_.compacted(left, clock_.wall_now());
    REQUIRE(removed == before - left.size());
  }

  void check_positions() {
    REQUIRE(log_.start() == Offset{model_.start()});
    REQUIRE(log_.end() == Offset{model_.end()});
    REQUIRE(log_.visible_end() == Offset{model_.end()});
    REQUIRE(log_.next_due() == model_.next_due());
  }

  void check_read() {
    const std::uint64_t from = random_.chance(70) ? random_.between(model_.start(), model_.end())
                                                  : random_.below(model_.end() + 3);
    const std::uint64_t max_messages = random_.below(30);
    const std::uint64_t max_bytes = random_.below(6'000);
    brook::ReadBatch batch;
    const Outcome outcome = outcome_of([&] {
      const brook::ReadLimits limits{.max_messages = max_messages, .max_bytes = max_bytes};
      batch =
          random_.chance(60) ? reader_.read(Offset{from}, limits) : log_.read(Offset{from}, limits);
    });
    if (from < model_.start()) {
      REQUIRE(outcome == Outcome::too_old);
    } else if (from > model_.end()) {
      REQUIRE(outcome == Outcome::out_of_range);
    } else {
      REQUIRE(outcome == Outcome::done);
      REQUIRE(checked_offsets(batch) == model_.read(from, max_messages, max_bytes));
    }
    if (random_.chance(5)) reader_.rest();
    if (random_.chance(5)) hold(std::move(batch));
  }

  void check_queries() {
    const std::uint64_t from = random_.below(model_.end() + 3);
    const std::uint64_t to = random_.below(model_.end() + 3);
    const brook::RangeUsage actual = log_.usage(Offset{from}, Offset{to});
    const brook::RangeUsage expected = model_.usage(from, to);
    REQUIRE(actual.messages == expected.messages);
    REQUIRE(actual.bytes == expected.bytes);
    const Timestamp time = clock_.wall_now() - std::chrono::milliseconds{random_.below(400)} +
                           std::chrono::milliseconds{100};
    REQUIRE(log_.offset_at(time) == Offset{model_.offset_at(time)});
  }

  std::vector<std::uint64_t> present() {
    return checked_offsets(log_.read(log_.start(), no_limits()));
  }

  std::vector<std::uint64_t> checked_offsets(const brook::ReadBatch& batch) const {
    std::vector<std::uint64_t> offsets;
    for (const brook::StoredMessage message : batch) {
      const std::uint64_t offset = message.offset().value();
      const auto entry = model_.entries().find(offset);
      REQUIRE(entry != model_.entries().end());
      REQUIRE(message.key() == brook::Bytes(entry->second.message.key));
      REQUIRE(message.payload() == brook::Bytes(entry->second.message.payload));
      REQUIRE(message.headers().copy() == entry->second.message.headers);
      REQUIRE(message.timestamp() == entry->second.stamp);
      REQUIRE(message.retention_time() == entry->second.retention_time);
      REQUIRE(message.stored_size() == entry->second.size);
      offsets.push_back(offset);
    }
    REQUIRE(offsets.size() == batch.size());
    return offsets;
  }

  void hold(brook::ReadBatch batch) {
    std::vector<Message> copies;
    for (const brook::StoredMessage message : batch) copies.push_back(message.copy());
    if (held_.size() == 8) held_.erase(held_.begin());
    held_.emplace_back(std::move(batch), std::move(copies));
  }
  static void check_held(const brook::ReadBatch& batch, const std::vector<Message>& copies) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      REQUIRE(batch[i].payload() == brook::Bytes(copies[i].payload));
      REQUIRE(batch[i].key() == brook::Bytes(copies[i].key));
    }
  }

  static brook::ReadLimits no_limits() {
    return {.max_messages = brook::MessageCount::unlimited(),
            .max_bytes = brook::ByteSize::unlimited()};
  }

  template <class Act>
  static Outcome outcome_of(Act act) {
    try {
      act();
    } catch (const brook::MessageTooLarge&) {
      return Outcome::too_large;
    } catch (const brook::KeyRequired&) {
      return Outcome::key_required;
    } catch (const brook::TopicFull&) {
      return Outcome::full;
    } catch (const brook::OffsetTooOld&) {
      return Outcome::too_old;
    } catch (const brook::OffsetOutOfRange&) {
      return Outcome::out_of_range;
    }
    return Outcome::done;
  }

  Random random_;
  LogConfig config_;
  Model model_;
  ManualClock clock_;
  Log log_;
  Reader reader_;  ///< There all along, so that it may have pinned anything.
  std::size_t max_payload_;
  std::vector<std::pair<brook::ReadBatch, std::vector<Message>>> held_;
};

template <class Log, class... StorageArguments>
void walk(std::uint64_t seed, StorageArguments&&... arguments) {
  Walk<Log> walk(seed, std::forward<StorageArguments>(arguments)...);
  for (int step = 0; step < 300; ++step) {
    INFO("step " << step);
    walk.step();
    if (step % 30 == 0) walk.check_all();
  }
  walk.check_all();
}

}  // namespace

TEST_CASE("A log in memory does what its model does", "[log][model]") {
  support::for_each_seed("model/topic_log in memory", 500, [](std::uint64_t seed) {
    walk<brook::TopicLog<brook::MemoryStorage, ManualClock>>(seed);
  });
}

TEST_CASE("A log over a storage of the minimum does what its model does", "[log][model]") {
  support::for_each_seed("model/topic_log over VectorStorage", 100, [](std::uint64_t seed) {
    walk<brook::TopicLog<support::VectorStorage, ManualClock>>(seed,
                                                               support::VectorStorage::make());
  });
}
