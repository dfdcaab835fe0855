#include <brook/log/topic_log.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/clock/manual_clock.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"

using brook::ByteSize;
using brook::Compaction;
using brook::InvalidArgument;
using brook::KeyRequired;
using brook::LogConfig;
using brook::ManualClock;
using brook::MemoryStorage;
using brook::Message;
using brook::MessageCount;
using brook::MessageTooLarge;
using brook::MessageView;
using brook::null;
using brook::Offset;
using brook::OffsetOutOfRange;
using brook::OffsetTooOld;
using brook::Overflow;
using brook::ReadBatch;
using brook::SegmentPool;
using brook::StoredMessage;
using brook::Timestamp;
using brook::TimestampType;
using brook::TopicFull;
using namespace std::chrono_literals;

namespace {

using Log = brook::TopicLog<MemoryStorage, ManualClock>;

static_assert(!std::is_copy_constructible_v<Log>);
static_assert(!std::is_move_constructible_v<Log>);

constexpr Timestamp stamp(std::chrono::milliseconds time) {
  return Timestamp{time};
}

/// Payloads of all that is in the log, in order.
template <class L>
std::vector<std::string> content(const L& log) {
  std::vector<std::string> list;
  for (const StoredMessage message :
       log.read(log.start(),
                {.max_messages = MessageCount::unlimited(), .max_bytes = ByteSize::unlimited()})) {
    list.emplace_back(message.payload().text());
  }
  return list;
}
using Texts = std::vector<std::string>;

std::vector<Message> batch_of(std::initializer_list<const char*> payloads) {
  std::vector<Message> batch;
  for (const char* payload : payloads) batch.push_back({.payload = payload});
  return batch;
}

/// The first message at or above @p from.
template <class L>
Message first_message(const L& log, Offset from) {
  const ReadBatch batch = log.read(from, {.max_messages = 1});
  REQUIRE(batch.size() == 1);
  return batch[0].copy();
}
template <class L>
Offset first_offset(const L& log, Offset from) {
  const ReadBatch batch = log.read(from, {.max_messages = 1});
  REQUIRE(batch.size() == 1);
  return batch[0].offset();
}

void fill(Log& log, int count, std::size_t size = 100) {
  for (int i = 0; i < count; ++i) log.append({.payload = std::string(size, 'x')});
}

/// What the log is like from outside, to see that nothing has changed.
struct Snapshot {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  Texts texts{};
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};
template <class L>
Snapshot snapshot(const L& log) {
  const auto usage = log.usage(log.start(), log.end());
  return {log.start().value(), log.end().value(), usage.messages, usage.bytes, content(log)};
}

struct TooOld {
  std::uint64_t requested = 0;
  std::uint64_t start = 0;
  friend bool operator==(const TooOld&, const TooOld&) = default;
};
template <class Read>
std::optional<TooOld> too_old(Read read) {
  try {
    read();
  } catch (const OffsetTooOld& error) {
    return TooOld{error.requested().value(), error.start().value()};
  }
  return std::nullopt;
}

/// A clock that counts how often its wall clock is read.
class CountingClock {
 public:
  brook::Instant now() const { return {}; }
  Timestamp wall_now() const {
    ++reads_;
    return stamp(1h);
  }
  void wait(brook::Waiter&, std::uint64_t, brook::Instant) {}
  void attach(brook::EventSource&) {}
  void detach(brook::EventSource&) {}
  int reads() const { return reads_; }

 private:
  mutable int reads_ = 0;
};

/// A MemoryStorage in which something happens between the checks of a reader and its read, once.
class InterruptedStorage {
 public:
  using Hook = std::function<void()>;
  class Reader {
   public:
    explicit Reader(const InterruptedStorage& storage)
        : hook_(storage.hook_), reader_(storage.storage_) {}
    brook::RecordRun read(Offset from, Offset to, const brook::ReadLimits& limits) {
      if (*hook_) std::exchange(*hook_, Hook())();
      return reader_.read(from, to, limits);
    }
    Offset first_at_or_after(Timestamp time, Offset from, Offset to) {
      return reader_.first_at_or_after(time, from, to);
    }
    brook::RangeUsage usage(Offset from, Offset to) { return reader_.usage(from, to); }
    void rest() { reader_.rest(); }

   private:
    Hook* hook_;
    MemoryStorage::Reader reader_;
  };

  explicit InterruptedStorage(Hook* hook) : hook_(hook) {}
  Offset end() const { return storage_.end(); }
  brook::RangeUsage append(const brook::MessageBatch& batch,
                           const brook::detail::AppendTimes& times) {
    return storage_.append(batch, times);
  }
  void truncate(Offset offset) { storage_.truncate(offset); }
  void trim(Offset offset) { storage_.trim(offset); }
  template <class Keep>
  brook::RangeUsage compact(Offset upto, Keep keep) {
    return storage_.compact(upto, keep);
  }

 private:
  Hook* hook_;
  MemoryStorage storage_;
};
using InterruptedLog = brook::TopicLog<InterruptedStorage, ManualClock>;

}  // namespace

// ------------------------------------------------------------------------- positions and reading

TEST_CASE("A new log is empty and begins at 0", "[log]") {
  ManualClock clock;
  const Log log(clock);
  CHECK(log.start() == Offset{0});
  CHECK(log.end() == Offset{0});
  CHECK(log.visible_end() == Offset{0});
  CHECK(log.read(Offset{0}).empty());
  CHECK(log.usage(Offset{0}, Offset{10}).messages == 0);
  CHECK(log.offset_at(stamp(0ms)) == Offset{0});
  CHECK(log.next_due() == Timestamp::max());
  CHECK(&log.clock() == &clock);
}

TEST_CASE("A log can be made without naming its types", "[log]") {
  ManualClock clock;
  brook::TopicLog plain{clock};
  brook::TopicLog configured{clock, {.retention = {.max_messages = 1}}};
  static_assert(std::same_as<decltype(plain), Log>);
  static_assert(std::same_as<decltype(configured), Log>);
  CHECK(configured.config().retention.max_messages == MessageCount(1));
  brook::SystemClock system;
  brook::TopicLog<> everyday{system};
  CHECK(everyday.append({.payload = "a"}) == Offset{0});
}

TEST_CASE("Messages get consecutive offsets, alone and in batches of every form", "[log]") {
  ManualClock clock;
  Log log(clock);
  CHECK(log.append({.payload = "a"}) == Offset{0});
  const std::vector<Message> owned = batch_of({"b", "c"});
  CHECK(log.append(owned) == Offset{1});
  const std::vector<MessageView> views(owned.begin(), owned.end());
  CHECK(log.append(views) == Offset{3});
  const std::vector<std::uint32_t> order{1, 0};
  CHECK(log.append(brook::MessageBatch(std::span<const Message>(owned)).select(order)) ==
        Offset{5});
  CHECK(log.append(Message{.payload = "d"}) == Offset{7});
  CHECK(log.end() == Offset{8});
  CHECK(content(log) == Texts{"a", "b", "c", "b", "c", "c", "b", "d"});
}

TEST_CASE("An empty batch changes nothing and returns the end", "[log]") {
  ManualClock clock;
  Log log(clock);
  CHECK(log.append(std::vector<Message>()) == Offset{0});
  log.append({.payload = "a"});
  CHECK(log.append(std::span<const MessageView>()) == Offset{1});
  CHECK(log.end() == Offset{1});
  CHECK(content(log) == Texts{"a"});
}

TEST_CASE("A message comes back as it was, null and empty told apart", "[log]") {
  ManualClock clock;
  Log log(clock);
  log.append({.key = null, .payload = ""});
  log.append({.key = "", .payload = null});
  log.append({.key = "a\0b", .payload = "x", .headers = {{"h", null}, {"h", ""}, {"g", "1"}}});
  const ReadBatch batch = log.read(Offset{0});
  REQUIRE(batch.size() == 3);
  CHECK(batch[0].key().is_null());
  CHECK_FALSE(batch[0].payload().is_null());
  CHECK_FALSE(batch[1].key().is_null());
  CHECK(batch[1].payload().is_null());
  CHECK(batch[2].key() == brook::Bytes("a\0b"));
  REQUIRE(batch[2].headers().size() == 3);
  CHECK(batch[2].headers().first("h")->is_null());
  CHECK_FALSE(batch[2].headers().last("h")->is_null());
}

TEST_CASE("A read is empty exactly at the visible end", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 5);
  for (std::uint64_t from = 0; from < 5; ++from) CHECK(log.read(Offset{from}).size() == 5 - from);
  CHECK(log.read(Offset{5}).empty());
  CHECK(Log::Reader(log).read_run(Offset{5}, {}).empty());
}

TEST_CASE("A read beyond the visible end throws, with both offsets", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 5);
  for (const std::uint64_t from : {std::uint64_t{6}, std::uint64_t{1'000}, ~std::uint64_t{0}}) {
    try {
      static_cast<void>(log.read(Offset{from}));
      FAIL("it is beyond the end");
    } catch (const OffsetOutOfRange& error) {
      CHECK(error.requested() == Offset{from});
      CHECK(error.visible_end() == Offset{5});
    }
  }
}

TEST_CASE("A read below the start throws, with both offsets, and never jumps", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 10);
  log.trim(Offset{4});
  for (const std::uint64_t from : {0U, 1U, 3U}) {
    CHECK(too_old([&] { static_cast<void>(log.read(Offset{from})); }) == TooOld{from, 4});
  }
  CHECK(log.read(Offset{4}).size() == 6);
  log.trim(Offset{10});
  CHECK(too_old([&] { static_cast<void>(log.read(Offset{9})); }) == TooOld{9, 10});
  CHECK(log.read(Offset{10}).empty());
  CHECK_THROWS_AS(static_cast<void>(log.read(Offset{0}, {.max_messages = 0})), OffsetTooOld);
}

TEST_CASE("A read returns what its limits allow, and at least one message", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 200, 100);  // 120 bytes each as stored, over several segments
  const auto size = [&](MessageCount messages, ByteSize bytes) {
    return log.read(Offset{3}, {.max_messages = messages, .max_bytes = bytes}).size();
  };
  const auto unlimited = ByteSize::unlimited();
  CHECK(size(0, unlimited) == 0);
  CHECK(size(1, unlimited) == 1);
  CHECK(size(150, unlimited) == 150);
  CHECK(size(1'000, unlimited) == 197);
  CHECK(size(1'000, 0) == 1);
  CHECK(size(1'000, 119) == 1);
  CHECK(size(1'000, 240) == 2);
  CHECK(size(1'000, 120 * 150) == 150);
  CHECK(size(1'000, 120 * 151 - 1) == 150);
  CHECK(size(2, 120 * 150) == 2);
}

TEST_CASE("The byte limit holds across segments for every place and limit", "[log]") {
  ManualClock clock;
  Log log(clock);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 120; ++i) {
    sizes.push_back((16 + i * 37 % 300 + 7) / 8 * 8);
    log.append({.payload = std::string(i * 37 % 300, 'x')});
  }
  for (std::size_t from = 0; from < sizes.size(); ++from) {
    for (const std::size_t limit : {0U, 16U, 500U, 3'000U, 9'000U}) {
      std::size_t expected = 1;
      std::size_t bytes = sizes[from];
      while (from + expected < sizes.size() && bytes + sizes[from + expected] <= limit) {
        bytes += sizes[from + expected++];
      }
      REQUIRE(log.read(Offset{from}, {.max_messages = 1'000, .max_bytes = limit}).size() ==
              expected);
    }
  }
}

TEST_CASE("Reading changes nothing: the same read gives the same, at any place", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 100);
  const Snapshot before = snapshot(log);
  Log::Reader reader(log);
  for (const std::uint64_t from : {50U, 0U, 99U, 50U, 3U}) {
    const ReadBatch by_reader = reader.read(Offset{from}, {.max_messages = 10});
    const ReadBatch by_log = log.read(Offset{from}, {.max_messages = 10});
    REQUIRE(by_reader.size() == by_log.size());
    CHECK(by_reader[0].offset() == Offset{from});
    CHECK(by_reader[0].record() == by_log[0].record());
    if (from == 99) reader.rest();
  }
  CHECK(snapshot(log) == before);
}

TEST_CASE("A batch stays valid whatever is appended, trimmed or destroyed meanwhile", "[log]") {
  ReadBatch batch;
  {
    ManualClock clock;
    Log log(clock, {.retention = {.max_messages = 50}});
    for (int i = 0; i < 40; ++i) log.append({.payload = std::to_string(i)});
    batch = log.read(Offset{0});
    fill(log, 1'000);
    CHECK(batch[39].payload().text() == "39");
    log.trim(log.end());
    fill(log, 1'000);
    CHECK(batch[39].payload().text() == "39");
  }
  REQUIRE(batch.size() == 40);
  for (std::size_t i = 0; i < 40; ++i) CHECK(batch[i].payload().text() == std::to_string(i));
}

// -------------------------------------------------------------------------------- prepare, cancel

TEST_CASE("What is prepared is invisible until it is published, then all at once", "[log]") {
  ManualClock clock;
  Log log(clock);
  log.append({.payload = "a"});
  const Snapshot before = snapshot(log);
  Log::Reader reader(log);
  CHECK(log.prepare(std::span<const Message>(batch_of({"b", "c"}))) == Offset{1});
  CHECK(snapshot(log) == before);
  CHECK(log.visible_end() == Offset{1});
  CHECK(reader.read(Offset{1}).empty());
  CHECK_THROWS_AS(static_cast<void>(reader.read(Offset{2})), OffsetOutOfRange);
  CHECK(log.usage(Offset{0}, Offset{9}).messages == 1);
  CHECK(log.offset_at(Timestamp::min()) == Offset{0});
  CHECK(log.offset_at(clock.wall_now() + 1ms) == Offset{1});
  log.publish();
  CHECK(content(log) == Texts{"a", "b", "c"});
  CHECK(reader.read(Offset{1}).size() == 2);
}

TEST_CASE("What is cancelled was never there", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 10}});
  for (int round = 0; round < 3; ++round) {
    const Snapshot before = snapshot(log);
    const std::vector<Message> phantoms(200, {.payload = std::string(100, 'p')});
    CHECK(log.prepare(std::span<const Message>(phantoms)) == log.end());
    log.cancel();
    CHECK(snapshot(log) == before);
    const Offset next = log.end();
    CHECK(log.append({.payload = std::to_string(round)}) == next);
    CHECK(content(log).back() == std::to_string(round));
    CHECK(log.usage(log.start(), log.end()).messages == static_cast<std::uint64_t>(round + 1));
  }
}

TEST_CASE("A cancelled batch counts for no limit", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 2}, .overflow = Overflow::reject});
  static_cast<void>(log.prepare(std::span<const Message>(batch_of({"a", "b"}))));
  log.cancel();
  log.append(batch_of({"c", "d"}));
  CHECK(content(log) == Texts{"c", "d"});
}

// ------------------------------------------------------------------------- positions never fall

TEST_CASE("Offsets never restart, however a log becomes empty", "[log]") {
  ManualClock clock;
  SECTION("trimmed") {
    Log log(clock);
    for (std::uint64_t i = 0; i < 5; ++i) {
      CHECK(log.append({.payload = "x"}) == Offset{i});
      log.trim(log.end());
      CHECK(log.start() == Offset{i + 1});
      CHECK(log.end() == Offset{i + 1});
      CHECK(log.read(log.start()).empty());
    }
  }
  SECTION("by age") {
    Log log(clock, {.retention = {.max_age = 1s}});
    for (std::uint64_t i = 0; i < 5; ++i) {
      CHECK(log.append({.payload = "x"}) == Offset{i});
      clock.advance(1s);
      log.run_due();
      CHECK(log.start() == Offset{i + 1});
    }
  }
  SECTION("by a message that is larger than the log may be") {
    Log log(clock, {.retention = {.max_bytes = 100}});
    for (std::uint64_t i = 0; i < 5; ++i) {
      CHECK(log.append({.payload = std::string(200, 'x')}) == Offset{i});
      CHECK(log.start() == Offset{i + 1});
      CHECK(log.read(log.start()).empty());
    }
  }
}

TEST_CASE("A trim drops what is below it, and nothing if the log starts there already", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 100);
  log.trim(Offset{0});
  CHECK(log.start() == Offset{0});
  log.trim(Offset{33});
  CHECK(log.start() == Offset{33});
  CHECK(log.usage(Offset{0}, Offset{100}).messages == 67);
  CHECK(log.usage(Offset{0}, Offset{100}).bytes == 67 * 120);
  CHECK(log.usage(Offset{0}, Offset{33}).messages == 0);
  log.trim(Offset{10});
  CHECK(log.start() == Offset{33});
  log.trim(Offset{100});
  CHECK(log.start() == Offset{100});
  CHECK(log.end() == Offset{100});
}

TEST_CASE("A trim beyond the end is refused, with both offsets", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 5);
  const Snapshot before = snapshot(log);
  try {
    log.trim(Offset{6});
    FAIL("there is no offset 6");
  } catch (const OffsetOutOfRange& error) {
    CHECK(error.requested() == Offset{6});
    CHECK(error.visible_end() == Offset{5});
  }
  CHECK(snapshot(log) == before);
}

TEST_CASE("Memory follows a trim by whole segments, at once", "[log]") {
  ManualClock clock;
  const auto pool = std::make_shared<SegmentPool>();
  Log log(clock, {}, pool);
  fill(log, 300);
  CHECK(pool->idle_bytes() == 0);
  log.trim(Offset{5});
  CHECK(pool->idle_bytes() == 0);
  log.trim(Offset{50});
  CHECK(pool->idle_bytes() == 4096);
  log.trim(Offset{300});
  CHECK(pool->idle_bytes() >= 300 * 120);
}

// --------------------------------------------------------------------------------------- times

TEST_CASE("Messages are stamped with the wall clock of their append, one read for a batch",
          "[log]") {
  CountingClock clock;
  brook::TopicLog<MemoryStorage, CountingClock> log(
      clock, {.retention = {.max_age = 1h, .max_bytes = 3 << 20, .max_messages = 1'000},
              .overflow = Overflow::reject,
              .compaction = Compaction{}});
  const std::vector<Message> batch(10, {.key = "k", .timestamp = stamp(7ms)});
  for (int i = 1; i <= 50; ++i) {
    log.append(batch);
    REQUIRE(clock.reads() == i);
  }
  for (const StoredMessage message : log.read(Offset{0})) {
    REQUIRE(message.timestamp() == stamp(1h));
  }
  log.run_due();
  CHECK(clock.reads() == 51);
  static_cast<void>(log.read(Offset{0}));
  static_cast<void>(log.offset_at(stamp(0ms)));
  CHECK(clock.reads() == 51);
}

TEST_CASE("An append that compacts reads the wall clock once as well", "[log]") {
  CountingClock clock;
  brook::TopicLog<MemoryStorage, CountingClock> log(clock, {.compaction = Compaction{}});
  const std::string payload(10'000, 'x');
  int appends = 0;
  while (log.usage(Offset{0}, log.end()).messages == log.end().value() && appends < 1'000) {
    log.append({.key = "k", .payload = payload});
    ++appends;
    REQUIRE(clock.reads() == appends);
  }
  CHECK(appends < 1'000);
}

TEST_CASE("Stamps never fall, even if the wall clock does", "[log]") {
  ManualClock clock;
  Log log(clock);
  const Timestamp begin = clock.wall_now();
  log.append({.payload = "a"});
  clock.set_wall_now(begin - 24h);
  log.append({.payload = "b"});
  log.append({.payload = "c"});
  clock.set_wall_now(begin + 1ms);
  log.append({.payload = "d"});
  clock.set_wall_now(begin);
  log.append({.payload = "e"});
  const ReadBatch batch = log.read(Offset{0});
  CHECK(batch[0].timestamp() == begin);
  CHECK(batch[1].timestamp() == begin);
  CHECK(batch[2].timestamp() == begin);
  CHECK(batch[3].timestamp() == begin + 1ms);
  CHECK(batch[4].timestamp() == begin + 1ms);
  CHECK(log.offset_at(begin) == Offset{0});
  CHECK(log.offset_at(begin + 1ms) == Offset{3});
}

TEST_CASE("Stamps do not fall behind those of a cancelled batch or an emptied log", "[log]") {
  ManualClock clock;
  Log log(clock);
  const Timestamp begin = clock.wall_now();
  log.append({.payload = "a"});
  log.trim(Offset{1});
  clock.set_wall_now(begin - 1h);
  log.append({.payload = "b"});
  CHECK(first_message(log, Offset{1}).timestamp == begin);
}

TEST_CASE("With create time the publisher's stamp is kept, where there is one", "[log]") {
  ManualClock clock;
  Log log(clock, {.timestamps = TimestampType::create_time});
  const Timestamp now = clock.wall_now();
  log.append({.payload = "a", .timestamp = now + 24h});
  log.append({.payload = "b", .timestamp = stamp(0ms)});
  log.append({.payload = "c"});
  const ReadBatch batch = log.read(Offset{0});
  CHECK(batch[0].timestamp() == now + 24h);
  CHECK(batch[0].retention_time() == now);
  CHECK(batch[1].timestamp() == stamp(0ms));
  CHECK(batch[1].retention_time() == stamp(0ms));
  CHECK(batch[2].timestamp() == now);
}

TEST_CASE("A look-up by time gives the first message at or after it, or the end", "[log]") {
  ManualClock clock;
  Log log(clock);
  const Timestamp begin = clock.wall_now();
  for (int i = 0; i < 100; ++i) {
    fill(log, 2);
    clock.advance(10ms);
  }
  CHECK(log.offset_at(Timestamp::min()) == Offset{0});
  CHECK(log.offset_at(begin) == Offset{0});
  CHECK(log.offset_at(begin + 1ms) == Offset{2});
  CHECK(log.offset_at(begin + 10ms) == Offset{2});
  CHECK(log.offset_at(begin + 990ms) == Offset{198});
  CHECK(log.offset_at(begin + 991ms) == Offset{200});
  CHECK(log.offset_at(Timestamp::max()) == Offset{200});
  log.trim(Offset{51});
  CHECK(log.offset_at(begin) == Offset{51});
  CHECK(log.offset_at(begin + 250ms) == Offset{51});
  CHECK(log.offset_at(begin + 260ms) == Offset{52});
  log.trim(Offset{200});
  CHECK(log.offset_at(begin) == Offset{200});
}

TEST_CASE("A look-up by time finds the first of stamps that rise and fall", "[log]") {
  ManualClock clock;
  Log log(clock, {.timestamps = TimestampType::create_time});
  const std::vector<int> times{50, 10, 90, 20, 95, 5};
  for (int round = 0; round < 30; ++round) {
    for (const int time : times) {
      log.append({.payload = std::string(100, 'x'), .timestamp = stamp(time * 1ms)});
    }
  }
  CHECK(log.offset_at(stamp(0ms)) == Offset{0});
  CHECK(log.offset_at(stamp(51ms)) == Offset{2});
  CHECK(log.offset_at(stamp(91ms)) == Offset{4});
  CHECK(log.offset_at(stamp(96ms)) == Offset{180});
  log.trim(Offset{7});
  CHECK(log.offset_at(stamp(0ms)) == Offset{7});
  CHECK(log.offset_at(stamp(11ms)) == Offset{8});
  CHECK(log.offset_at(stamp(91ms)) == Offset{10});
}

// ------------------------------------------------------------------------------------ retention

TEST_CASE("A message goes when its age reaches the limit, not a millisecond before", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h}});
  log.append({.payload = "a"});
  CHECK(log.next_due() == clock.wall_now() + 1h);
  clock.advance(1h - 1ms);
  log.run_due();
  CHECK(content(log) == Texts{"a"});
  clock.advance(1ms);
  CHECK(log.next_due() == clock.wall_now());
  log.run_due();
  CHECK(log.start() == Offset{1});
  CHECK(log.next_due() == Timestamp::max());
}

TEST_CASE("An age that is not whole milliseconds is not shortened", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1ns}});
  log.append({.payload = "a"});
  log.run_due();
  CHECK(content(log) == Texts{"a"});
  clock.advance(1ms);
  log.run_due();
  CHECK(content(log).empty());
}

TEST_CASE("Messages go by age one by one, each at its time", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 100s}});
  for (int i = 0; i < 50; ++i) {
    log.append({.payload = std::to_string(i)});
    clock.advance(1s);
  }
  clock.advance(50s);
  for (std::uint64_t i = 0; i < 50; ++i) {
    log.run_due();
    CHECK(log.start() == Offset{i + 1});
    CHECK(log.next_due() == (i == 49 ? Timestamp::max() : clock.wall_now() + 1s));
    clock.advance(1s);
  }
}

TEST_CASE("An append trims what is too old, a read never does", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h}});
  fill(log, 10);
  clock.advance(2h);
  CHECK(log.read(Offset{0}).size() == 10);
  CHECK(log.usage(Offset{0}, Offset{10}).messages == 10);
  CHECK(log.offset_at(Timestamp::min()) == Offset{0});
  CHECK(log.start() == Offset{0});
  log.append({.payload = "new"});
  CHECK(log.start() == Offset{10});
  CHECK(content(log) == Texts{"new"});
}

TEST_CASE("Retention goes by the wall clock when it jumps", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h}});
  const Timestamp begin = clock.wall_now();
  log.append({.payload = "a"});
  clock.set_wall_now(begin - 24h);
  log.run_due();
  CHECK(content(log) == Texts{"a"});
  clock.set_wall_now(begin + 1h);
  log.run_due();
  CHECK(content(log).empty());
}

TEST_CASE("A stamp in the future cannot keep a message, nor what is behind it", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h}, .timestamps = TimestampType::create_time});
  log.append({.payload = "a", .timestamp = Timestamp::max()});
  log.append({.payload = "b"});
  CHECK(log.next_due() == clock.wall_now() + 1h);
  clock.advance(1h);
  log.run_due();
  CHECK(log.start() == Offset{2});
}

TEST_CASE("A stamp in the past lets a message go as soon as it is the first", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h}, .timestamps = TimestampType::create_time});
  log.append({.payload = "old", .timestamp = clock.wall_now() - 1h});
  CHECK(log.start() == Offset{1});
  log.append({.payload = "young"});
  log.append({.payload = "old", .timestamp = clock.wall_now() - 2h});
  CHECK(content(log) == Texts{"young", "old"});
  clock.advance(1h);
  log.run_due();
  CHECK(log.start() == Offset{3});
}

TEST_CASE("A log keeps the newest messages up to its count", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 3}});
  for (std::uint64_t i = 0; i < 200; ++i) {
    log.append({.payload = std::to_string(i)});
    CHECK(log.start() == Offset{i < 3 ? 0 : i - 2});
    CHECK(log.usage(log.start(), log.end()).messages == std::min<std::uint64_t>(i + 1, 3));
  }
  CHECK(content(log) == Texts{"197", "198", "199"});
}

TEST_CASE("A log keeps the newest messages up to its bytes, to the byte", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_bytes = 240}});
  fill(log, 2);  // 120 bytes each as stored
  CHECK(log.start() == Offset{0});
  log.append({.payload = ""});  // 16 bytes
  CHECK(log.start() == Offset{1});
  CHECK(log.usage(log.start(), log.end()).bytes == 136);
  fill(log, 1);
  CHECK(log.start() == Offset{2});
  CHECK(log.usage(log.start(), log.end()).bytes == 136);
  log.append({.payload = std::string(88, 'x')});  // 104 bytes: exactly 240
  CHECK(log.start() == Offset{2});
  CHECK(log.usage(log.start(), log.end()).bytes == 240);
}

TEST_CASE("Of several limits the first that is hit trims", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 10s, .max_bytes = 1'000, .max_messages = 5}});
  fill(log, 6, 8);
  CHECK(log.start() == Offset{1});  // by count
  log.append({.payload = std::string(900, 'x')});
  CHECK(log.start() == Offset{3});  // by bytes: 24 each beside 920
  CHECK(log.usage(log.start(), log.end()).bytes == 992);
  clock.advance(10s);
  CHECK(log.next_due() == clock.wall_now());
  log.append({.payload = "young"});
  CHECK(content(log) == Texts{"young"});  // by age
  CHECK(log.next_due() == clock.wall_now() + 10s);
}

TEST_CASE("The time of the next trim follows trims of every kind", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 100s, .max_messages = 3}});
  const Timestamp begin = clock.wall_now();
  for (int i = 0; i < 3; ++i) {
    log.append({.payload = "x"});
    clock.advance(1s);
  }
  CHECK(log.next_due() == begin + 100s);
  log.append({.payload = "x"});  // drops the first
  CHECK(log.next_due() == begin + 101s);
  log.trim(Offset{2});
  CHECK(log.next_due() == begin + 102s);
  log.trim(Offset{4});
  CHECK(log.next_due() == Timestamp::max());
  log.append({.payload = "x"});
  CHECK(log.next_due() == begin + 103s);
}

TEST_CASE("Of a batch larger than the limit its end is kept", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 2}});
  log.append({.payload = "z"});
  CHECK(log.append(batch_of({"a", "b", "c", "d", "e"})) == Offset{1});
  CHECK(content(log) == Texts{"d", "e"});
  CHECK(log.start() == Offset{4});
  CHECK(log.end() == Offset{6});
}

TEST_CASE("An age of for ever is for ever", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = brook::Duration::max()}});
  log.append({.payload = "a"});
  CHECK(log.next_due() == Timestamp::max());
  clock.advance(24h * 365 * 100);
  log.run_due();
  CHECK(content(log) == Texts{"a"});
}

TEST_CASE("An emptied log gives back all its memory", "[log]") {
  ManualClock clock;
  const auto pool = std::make_shared<SegmentPool>();
  Log log(clock, {.retention = {.max_age = 1h, .max_messages = 1'000}}, pool);
  const std::uint64_t before = pool->idle_bytes();
  fill(log, 20);
  clock.advance(1h);
  SECTION("by age") {
    log.run_due();
  }
  SECTION("by a trim") {
    log.trim(log.end());
  }
  CHECK(log.start() == log.end());
  CHECK(pool->idle_bytes() == before + 4096);
}

TEST_CASE("A log with retention holds little more memory than it may keep", "[log]") {
  ManualClock clock;
  const auto pool = std::make_shared<SegmentPool>(0);
  const support::CountAllocations allocations;
  Log log(clock, {.retention = {.max_bytes = 100'000}},
          std::make_shared<SegmentPool>(brook::ByteSize(2 << 20)));
  const std::string payload(100, 'x');
  for (int i = 0; i < 100'000; ++i) log.append({.payload = payload});
  CHECK(log.usage(log.start(), log.end()).bytes <= 100'000);
  CHECK(allocations.bytes() < 5 << 20);
}

// -------------------------------------------------------------------------------------- reject

TEST_CASE("A full log that rejects says so, exactly, and takes nothing", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 3}, .overflow = Overflow::reject});
  log.append(batch_of({"a", "b"}));
  const Snapshot before = snapshot(log);
  try {
    log.append(batch_of({"c", "d"}));
    FAIL("it is full");
  } catch (const TopicFull& error) {
    CHECK(error.limit() == 3);
    CHECK(error.wanted() == 4);
    CHECK(std::string(error.what()).find("retention.max_messages") != std::string::npos);
  }
  CHECK(snapshot(log) == before);
  CHECK(log.append({.payload = "c"}) == Offset{2});
  CHECK_THROWS_AS(log.append({.payload = "d"}), TopicFull);
  log.trim(Offset{1});
  CHECK(log.append({.payload = "d"}) == Offset{3});
  CHECK(content(log) == Texts{"b", "c", "d"});
}

TEST_CASE("A log that rejects by bytes counts them as stored", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_bytes = 240}, .overflow = Overflow::reject});
  fill(log, 1);
  try {
    log.append({.payload = std::string(105, 'x')});
    FAIL("128 + 120 bytes are more than 240");
  } catch (const TopicFull& error) {
    CHECK(error.limit() == 240);
    CHECK(error.wanted() == 248);
    CHECK(std::string(error.what()).find("retention.max_bytes") != std::string::npos);
  }
  fill(log, 1);
  CHECK(log.usage(log.start(), log.end()).bytes == 240);
  CHECK_THROWS_AS(log.append({.payload = ""}), TopicFull);
  CHECK(log.start() == Offset{0});
}

TEST_CASE("A batch that alone is over the limit is always rejected", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 2}, .overflow = Overflow::reject});
  CHECK_THROWS_AS(log.append(batch_of({"a", "b", "c"})), TopicFull);
  CHECK(log.end() == Offset{0});
  CHECK(log.append(batch_of({"a", "b"})) == Offset{0});
}

TEST_CASE("What is too old does not make a log full", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h, .max_messages = 3}, .overflow = Overflow::reject});
  log.append(batch_of({"a", "b"}));
  clock.advance(30min);
  log.append({.payload = "c"});
  CHECK_THROWS_AS(log.append({.payload = "d"}), TopicFull);
  clock.advance(30min);
  CHECK(log.append(batch_of({"d", "e"})) == Offset{3});
  CHECK(content(log) == Texts{"c", "d", "e"});
}

// -------------------------------------------------------------------------------------- limits

TEST_CASE("One message over a limit keeps its whole batch out", "[log]") {
  ManualClock clock;
  Log log(clock, {.limits = {.max_message = 10, .max_key = 3, .max_headers = 1}});
  log.append({.payload = "before"});
  const Snapshot before = snapshot(log);
  std::vector<Message> batch = batch_of({"a", "b"});
  SECTION("a payload") {
    batch.push_back({.payload = std::string(11, 'x')});
  }
  SECTION("a key") {
    batch.push_back({.key = "four"});
  }
  SECTION("headers") {
    batch.push_back({.headers = {{.name = "a"}, {.name = "b"}}});
  }
  CHECK_THROWS_AS(log.append(batch), MessageTooLarge);
  CHECK(snapshot(log) == before);
  batch.pop_back();
  CHECK(log.append(batch) == Offset{1});
}

TEST_CASE("A log refuses options that make no sense", "[log]") {
  ManualClock clock;
  CHECK_THROWS_AS(Log(clock, {.retention = {.max_age = 0s}}), InvalidArgument);
  CHECK_THROWS_AS(Log(clock, {.retention = {.max_bytes = 0}}), InvalidArgument);
  CHECK_THROWS_AS(Log(clock, {.retention = {.max_messages = 0}}), InvalidArgument);
  CHECK_THROWS_AS(Log(clock, {.overflow = Overflow::reject}), InvalidArgument);
  CHECK_THROWS_AS(Log(clock, {.compaction = Compaction{.tombstone_retention = -1s}}),
                  InvalidArgument);
  CHECK_THROWS_AS(Log(clock, {.limits = {.max_message = 0}}), InvalidArgument);
  CHECK_THROWS_AS(Log(clock, {.limits = {.max_message = -1}}), InvalidArgument);
}

// ---------------------------------------------------------------------------------- compaction

TEST_CASE("A log that was not made for compaction refuses it", "[log]") {
  ManualClock clock;
  Log log(clock);
  CHECK_THROWS_AS(log.compact(), InvalidArgument);
}

TEST_CASE("A compacted log refuses messages without a key, whole batches of them", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  CHECK_THROWS_AS(log.append({.payload = "x"}), KeyRequired);
  const std::vector<Message> batch{{.key = "a"}, {.payload = "x"}};
  CHECK_THROWS_AS(log.append(batch), KeyRequired);
  CHECK(log.end() == Offset{0});
  CHECK(log.append({.key = "", .payload = "x"}) == Offset{0});
}

TEST_CASE("Compaction keeps the newest of each key at its offset, but for the active segment",
          "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  for (int i = 0; i < 200; ++i) {
    log.append({.key = std::to_string(i % 7), .payload = std::string(100, 'x')});
  }
  const std::uint64_t removed = log.compact().value();
  CHECK(removed > 50);
  const ReadBatch left = log.read(Offset{0}, {.max_messages = 1'000});
  CHECK(left.size() == 200 - removed);
  CHECK(log.usage(Offset{0}, Offset{200}).messages == 200 - removed);
  // Below the first that is followed by its neighbour, everything was superseded.
  const Offset active = left[0].offset();
  CHECK(left.size() == 200 - active.value());
  for (std::size_t i = 0; i < left.size(); ++i) CHECK(left[i].offset() == active + i);
  CHECK(log.start() == Offset{0});
  CHECK(log.compact() == MessageCount(0));
}

TEST_CASE("Keys that are not written any more stay at their offsets, across gaps", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  std::vector<std::uint64_t> singles;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const bool single = i % 50 == 20;
    if (single) singles.push_back(i);
    log.append(
        {.key = single ? "single" + std::to_string(i) : "busy", .payload = std::string(100, 'x')});
    clock.advance(1ms);
  }
  log.compact();
  Log::Reader reader(log);
  for (const std::uint64_t from : {0U, 1U, 20U, 21U, 69U, 70U, 71U, 130U}) {
    const std::uint64_t expected = *std::lower_bound(singles.begin(), singles.end(), from);
    const ReadBatch batch = reader.read(Offset{from}, {.max_messages = 1});
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].offset() == Offset{expected});
    CHECK(batch[0].key().text() == "single" + std::to_string(expected));
    CHECK(log.offset_at(Timestamp{1'704'067'200s} + from * 1ms) == Offset{expected});
  }
  Offset last{0};
  for (const StoredMessage message : reader.read(Offset{0}, {.max_messages = 1'000})) {
    CHECK((message.offset() > last || message.offset() == Offset{0}));
    last = message.offset();
  }
  CHECK(last == Offset{399});
  CHECK(log.read(Offset{400}).empty());
}

TEST_CASE("A tombstone goes after its retention, and its key before", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  log.append({.key = "a", .payload = "1"});
  log.append({.key = "b", .payload = "1"});
  log.append({.key = "a", .payload = null});
  const auto fill_up = [&] {
    for (int i = 0; i < 100; ++i) log.append({.key = "busy", .payload = std::string(100, 'x')});
  };
  fill_up();
  log.compact();
  const auto keys = [&] {
    Texts list;
    for (const StoredMessage message : log.read(log.start(), {.max_messages = 2})) {
      list.emplace_back(message.key().text());
    }
    return list;
  };
  CHECK(keys() == Texts{"b", "a"});
  CHECK(first_message(log, Offset{2}).payload.is_null());
  clock.advance(24h - 1ms);
  log.compact();
  CHECK(keys() == Texts{"b", "a"});
  clock.advance(1ms);
  log.compact();
  CHECK(keys() == Texts{"b", "busy"});
}

TEST_CASE("A log is compacted by itself, so that its memory is bounded by its keys", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  const std::string payload(1'000, 'x');
  std::uint64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    log.append({.key = std::to_string(i % 100), .payload = payload});
    most = std::max(most, log.usage(log.start(), log.end()).bytes);
  }
  CHECK(most < 4 << 20);  // of 20 MB written
  CHECK(log.usage(log.start(), log.end()).messages < 4'000);
  const ReadBatch batch = log.read(log.start(), {.max_messages = 20'000, .max_bytes = 100 << 20});
  std::vector<bool> seen(100, false);
  for (const StoredMessage message : batch) {
    seen[std::stoul(std::string(message.key().text()))] = true;
  }
  CHECK(seen == std::vector<bool>(100, true));
}

TEST_CASE("Due work compacts when enough was written", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  for (int i = 0; i < 100; ++i) log.append({.key = "a", .payload = std::string(100, 'x')});
  log.run_due();
  CHECK(log.usage(Offset{0}, log.end()).messages == 100);
}

TEST_CASE("Limits count what compaction left", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 150}, .compaction = Compaction{}});
  for (int i = 0; i < 150; ++i) log.append({.key = "a", .payload = std::string(100, 'x')});
  const std::uint64_t removed = log.compact().value();
  CHECK(removed > 50);
  for (std::uint64_t i = 0; i < removed; ++i) log.append({.key = "b"});
  CHECK(log.start() == Offset{0});
  CHECK(log.usage(Offset{0}, log.end()).messages == 150);
  log.append({.key = "b"});
  CHECK(log.start() == Offset{removed + 1});
  CHECK(log.usage(Offset{0}, log.end()).messages == 150);
}

TEST_CASE("Compaction does not count what was trimmed before", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  for (int i = 0; i < 200; ++i) {
    log.append({.key = std::to_string(i), .payload = std::string(100, 'x')});
  }
  log.trim(Offset{20});
  CHECK(log.compact() == MessageCount(0));
  CHECK(log.usage(Offset{0}, log.end()).messages == 180);
  CHECK(first_offset(log, Offset{20}) == Offset{20});
}

TEST_CASE("Retention by age goes on after compaction", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h}, .compaction = Compaction{}});
  for (int i = 0; i < 120; ++i) {
    log.append({.key = i == 60 ? "single" : "busy", .payload = std::string(100, 'x')});
    clock.advance(1s);
  }
  log.compact();
  const Offset first = first_offset(log, Offset{0});
  CHECK(first.value() > 0);
  CHECK(log.next_due() == clock.wall_now() + 1h - 120s + first.value() * 1s);
  clock.advance(1h - 120s + first.value() * 1s);
  log.run_due();
  CHECK(log.start() == first + 1);
  clock.advance(1h);
  log.run_due();
  CHECK(log.start() == Offset{120});
  CHECK(log.append({.key = "a"}) == Offset{120});
}

TEST_CASE("A batch that was read stays as it is through compaction", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  for (int i = 0; i < 200; ++i) {
    log.append({.key = "a", .payload = std::to_string(i) + std::string(100, 'x')});
  }
  Log::Reader reader(log);
  const ReadBatch before = reader.read(Offset{0}, {.max_messages = 200});
  log.compact();
  REQUIRE(before.size() == 200);
  for (std::size_t i = 0; i < 200; ++i) {
    CHECK(before[i].payload().text().starts_with(std::to_string(i) + "x"));
  }
  CHECK(reader.read_run(Offset{0}, {}).first() > Offset{0});
}

// ------------------------------------------------------------------------------------- failures

TEST_CASE("An append that finds no memory appends nothing", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_age = 1h, .max_messages = 1'000}});
  fill(log, 3);
  const Snapshot before = snapshot(log);
  const std::vector<Message> batch(200, {.payload = std::string(100, 'x')});
  int failures = 0;
  for (;; ++failures) {
    bool failed = false;
    try {
      const support::FailAllocationsAfter fail(static_cast<std::uint64_t>(failures));
      log.append(batch);
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) break;
    REQUIRE(snapshot(log) == before);
  }
  CHECK(failures > 0);
  CHECK(log.end() == Offset{203});
}

TEST_CASE("Retention that finds no memory is made up for the next time", "[log]") {
  ManualClock clock;
  Log log(clock, {.retention = {.max_messages = 10}});
  fill(log, 10);
  {
    const support::FailAllocationsAfter fail(0);
    log.append({.payload = "x"});
  }
  CHECK(log.end() == Offset{11});
  log.append({.payload = "x"});
  CHECK(log.start() == Offset{2});
  CHECK(log.usage(log.start(), log.end()).messages == 10);
}

TEST_CASE("Compaction that finds no memory changes nothing", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  for (int i = 0; i < 200; ++i) {
    log.append({.key = std::to_string(i % 90), .payload = std::string(100, 'x')});
  }
  const Snapshot before = snapshot(log);
  int failures = 0;
  for (;; ++failures) {
    bool failed = false;
    try {
      const support::FailAllocationsAfter fail(static_cast<std::uint64_t>(failures));
      log.compact();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    if (!failed) break;
    REQUIRE(snapshot(log) == before);
  }
  CHECK(failures > 10);
  CHECK(log.usage(Offset{0}, log.end()).messages < 200);
}

TEST_CASE("An append whose compaction finds no memory has succeeded nonetheless", "[log]") {
  ManualClock clock;
  Log log(clock, {.compaction = Compaction{}});
  const std::string payload(10'000, 'x');
  for (int i = 0; i < 104; ++i) log.append({.key = "a", .payload = payload});
  REQUIRE(log.usage(Offset{0}, log.end()).messages == 104);  // the next one compacts
  {
    const support::FailAllocationsAfter fail(0);
    log.append({.key = "a", .payload = payload});
  }
  CHECK(log.usage(Offset{0}, log.end()).messages == 105);
  CHECK(log.compact().value() > 0);
}

TEST_CASE("A read that finds no memory can be repeated", "[log]") {
  ManualClock clock;
  Log log(clock);
  fill(log, 100);
  Log::Reader reader(log);
  for (std::uint64_t successes = 0;; ++successes) {
    std::size_t size = 0;
    try {
      const support::FailAllocationsAfter fail(successes);
      size = reader.read(Offset{0}).size();
    } catch (const std::bad_alloc&) {
      CHECK(reader.read(Offset{0}).size() == 100);
      reader.rest();
      continue;
    }
    CHECK(size == 100);
    CHECK(successes > 0);
    break;
  }
}

TEST_CASE("A partition without messages costs less than a kilobyte", "[log]") {
  ManualClock clock;
  const support::CountAllocations allocations;
  const Log log(clock, {.retention = {.max_age = 1h, .max_bytes = 1 << 20}});
  CHECK(allocations.count() == 0);
  CHECK(sizeof(Log) + allocations.bytes() < 1024);
}

// --------------------------------------------------------------------- a trim beside a read

TEST_CASE("A trim between the check and the read shows as a read below the start", "[log]") {
  ManualClock clock;
  InterruptedStorage::Hook hook;
  InterruptedLog log(clock, {}, &hook);
  const std::vector<Message> batch(200, {.payload = std::string(100, 'x')});
  log.append(batch);
  SECTION("that is in the middle of the log") {
    hook = [&] { log.trim(Offset{150}); };
    CHECK(too_old([&] { static_cast<void>(log.read(Offset{3})); }) == TooOld{3, 150});
  }
  SECTION("that leaves nothing") {
    hook = [&] { log.trim(Offset{200}); };
    CHECK(too_old([&] { static_cast<void>(log.read(Offset{3})); }) == TooOld{3, 200});
  }
  SECTION("of a single run") {
    InterruptedLog::Reader reader(log);
    hook = [&] { log.trim(Offset{150}); };
    CHECK(too_old([&] { static_cast<void>(reader.read_run(Offset{3}, {})); }) == TooOld{3, 150});
    CHECK(reader.read_run(Offset{150}, {}).first() == Offset{150});
  }
  SECTION("that goes exactly to it does not") {
    hook = [&] { log.trim(Offset{3}); };
    CHECK(first_offset(log, Offset{3}) == Offset{3});
  }
}

TEST_CASE("A trim that overtakes a read ends it, and what was read is returned", "[log]") {
  ManualClock clock;
  InterruptedStorage::Hook hook;
  InterruptedLog log(clock, {}, &hook);
  const std::vector<Message> batch(200, {.payload = std::string(100, 'x')});
  log.append(batch);
  InterruptedLog::Reader reader(log);
  const std::uint32_t first_run = reader.read_run(Offset{0}, {}).size();
  REQUIRE(first_run < 200);
  // Runs at the second access to the storage.
  hook = [&] { hook = [&] { log.trim(Offset{180}); }; };
  const ReadBatch read = reader.read(Offset{0});
  CHECK(read.size() == first_run);
  CHECK(read[0].payload().size() == 100);
  CHECK(too_old([&] { static_cast<void>(reader.read(Offset{first_run})); }) ==
        TooOld{first_run, 180});
}

TEST_CASE("What is appended beside a read does not come into it half", "[log]") {
  ManualClock clock;
  InterruptedStorage::Hook hook;
  InterruptedLog log(clock, {}, &hook);
  log.append(batch_of({"a", "b"}));
  hook = [&] { static_cast<void>(log.prepare(std::span<const Message>(batch_of({"c", "d"})))); };
  CHECK(log.read(Offset{0}).size() == 2);
  log.publish();
  CHECK(log.read(Offset{0}).size() == 4);
}

TEST_CASE("A late reader never sees a batch that was cancelled", "[log]") {
  ManualClock clock;
  InterruptedStorage::Hook hook;
  InterruptedLog log(clock, {}, &hook);
  log.append(batch_of({"a", "b"}));
  InterruptedLog::Reader reader(log);
  hook = [&] {
    log.trim(Offset{2});
    static_cast<void>(log.prepare(std::span<const Message>(batch_of({"phantom", "phantom"}))));
  };
  CHECK(too_old([&] { static_cast<void>(reader.read(Offset{0})); }) == TooOld{0, 2});
  log.cancel();
  log.append(batch_of({"c", "d"}));
  const ReadBatch batch = reader.read(Offset{2});
  REQUIRE(batch.size() == 2);
  CHECK(batch[0].payload().text() == "c");
  CHECK(batch[1].payload().text() == "d");
}
