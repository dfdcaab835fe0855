#include <brook/storage/memory_storage.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/allocation_hooks.hpp"
#include "support/catch.hpp"

using brook::MemoryStorage;
using brook::Message;
using brook::MessageView;
using brook::Offset;
using brook::RangeUsage;
using brook::RecordRun;
using brook::SegmentPool;
using brook::StoredMessage;
using brook::Timestamp;

namespace {

static_assert(brook::Storage<MemoryStorage>);
static_assert(std::is_nothrow_move_constructible_v<MemoryStorage>);
static_assert(!std::is_copy_constructible_v<MemoryStorage>);

constexpr std::uint64_t kib = 1024;
constexpr brook::ReadLimits no_limits{.max_messages = brook::MessageCount::unlimited(),
                                      .max_bytes = brook::ByteSize::unlimited()};

constexpr Timestamp stamp(std::int64_t milliseconds) {
  return Timestamp{std::chrono::milliseconds{milliseconds}};
}

/// Appends @p count messages of @p size bytes whose payload begins with their offset.
void fill(MemoryStorage& storage, std::uint64_t count, std::size_t size = 100,
          Timestamp time = stamp(1)) {
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string payload = std::to_string(storage.end().value()) + " ";
    payload.resize(size, 'x');
    storage.append(MessageView{.payload = payload}, {.now = time});
  }
}

std::uint64_t offset_in(const StoredMessage& message) {
  return std::stoull(std::string(message.payload().text()));
}

/// Walks all messages in `[from, to)`, whose offsets must be in their payloads.
std::vector<std::uint64_t> offsets(MemoryStorage::Reader& reader, Offset from, Offset to) {
  std::vector<std::uint64_t> list;
  while (from < to) {
    const RecordRun run = reader.read(from, to, no_limits);
    if (run.empty()) break;
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      REQUIRE(offset_in(run[i]) == run.offset(i).value());
      list.push_back(run.offset(i).value());
    }
    from = run.last() + 1;
  }
  return list;
}

std::uint64_t messages(const MemoryStorage& storage, std::uint64_t from, std::uint64_t to) {
  return MemoryStorage::Reader(storage).usage(Offset{from}, Offset{to}).messages;
}

}  // namespace

// -------------------------------------------------------------------------------------- memory

TEST_CASE("A memory storage takes no memory before its first append", "[storage]") {
  const support::CountAllocations allocations;
  MemoryStorage storage;
  MemoryStorage::Reader reader(storage);
  CHECK(reader.read(Offset{0}, Offset{0}, {}).empty());
  storage.append(std::span<const MessageView>(), {});
  storage.trim(Offset{0});
  storage.truncate(Offset{0});
  CHECK(allocations.count() == 0);
  fill(storage, 1, 10);
  CHECK(allocations.bytes() >= 4 * kib);
  CHECK(allocations.bytes() < 6 * kib);
}

TEST_CASE("Segments begin at 4 KiB and double to 1 MiB", "[storage]") {
  for (const std::uint64_t count : {1U, 3U, 10U, 25U, 100U, 700U, 1'500U, 3'000U, 6'000U}) {
    const auto pool = std::make_shared<SegmentPool>(brook::ByteSize::unlimited());
    MemoryStorage storage(pool);
    fill(storage, count, 1000);
    storage.trim(storage.end());
    std::uint64_t sum = 0;
    for (std::uint64_t size = 4 * kib; sum < 1016 * count; size = std::min(2 * size, 1024 * kib)) {
      sum += size;
    }
    // Where a segment's header and index just do not fit any more, there is one more.
    const std::uint64_t next = sum <= 1020 * kib ? sum + 4 * kib : 1024 * kib;
    INFO(count << " messages: " << pool->idle_bytes() << " bytes, expected " << sum);
    CHECK((pool->idle_bytes() == sum || pool->idle_bytes() == sum + next));
  }
}

TEST_CASE("A message of 100 bytes takes at most 130 bytes of memory", "[storage]") {
  constexpr std::uint64_t count = 100'000;
  const std::string payload(100, 'x');
  const support::CountAllocations allocations;
  MemoryStorage storage;
  for (std::uint64_t i = 0; i < count; ++i) storage.append(MessageView{.payload = payload}, {});
  CHECK(allocations.bytes() <= 130 * count);
  CHECK(allocations.bytes() >= 120 * count);
}

TEST_CASE("Trimmed segments are recycled: a log in a steady state allocates nothing", "[storage]") {
  MemoryStorage storage;
  const auto turn = [&] {
    const std::string payload(100, 'x');
    for (int i = 0; i < 30'000; ++i) {
      storage.append(MessageView{.payload = payload}, {});
      if (i % 100 == 0 && storage.end() > Offset{5'000}) storage.trim(storage.end() - 5'000);
    }
  };
  turn();
  turn();
  const support::CountAllocations allocations;
  turn();
  // The table of segments grows or is rebuilt now and then; no segment is.
  CHECK(allocations.bytes() < 4 * kib);
}

TEST_CASE("Storages may share a pool, and give back to it what they had", "[storage]") {
  const auto pool = std::make_shared<SegmentPool>();
  {
    MemoryStorage first(pool);
    MemoryStorage second(pool);
    fill(first, 20);
    fill(second, 20);
    CHECK(pool->idle_bytes() == 0);
    first.trim(first.end());
    CHECK(pool->idle_bytes() == 4 * kib);
    fill(second, 30);
  }
  CHECK(pool->idle_bytes() >= 12 * kib);
}

TEST_CASE("A message larger than any segment gets one of its own", "[storage]") {
  const auto pool = std::make_shared<SegmentPool>();
  MemoryStorage storage(pool);
  fill(storage, 3);
  fill(storage, 1, 5 << 20);
  fill(storage, 3);
  MemoryStorage::Reader reader(storage);
  CHECK(offsets(reader, Offset{0}, storage.end()).size() == 7);
  reader.rest();
  storage.trim(storage.end());
  CHECK(pool->idle_bytes() <= 16 * kib);
}

TEST_CASE("A batch that fails half way leaves nothing, and the storage goes on", "[storage]") {
  MemoryStorage storage;
  fill(storage, 5);
  const std::vector<Message> batch{{.payload = std::string(100, 'a')},
                                   {.payload = std::string(2 << 20, 'b')},
                                   {.payload = std::string(100, 'c')}};
  bool failed = false;
  try {
    const support::FailAllocationsAfter fail(0);
    storage.append(std::span<const Message>(batch), {});
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  CHECK(failed);
  CHECK(storage.end() == Offset{5});
  CHECK(messages(storage, 0, 5) == 5);
  fill(storage, 2);
  MemoryStorage::Reader reader(storage);
  CHECK(offsets(reader, Offset{0}, storage.end()).size() == 7);
}

// ------------------------------------------------------------------------------------- reading

TEST_CASE("A reader stops where a segment ends and goes on in the next", "[storage]") {
  MemoryStorage storage;
  fill(storage, 100);
  MemoryStorage::Reader reader(storage);
  const RecordRun first = reader.read(Offset{0}, Offset{100}, no_limits);
  CHECK(first.size() < 100);
  CHECK(first.size() > 10);
  CHECK(first.dense());
  const RecordRun second = reader.read(first.last() + 1, Offset{100}, no_limits);
  CHECK(second.first() == first.last() + 1);
  CHECK(offsets(reader, Offset{0}, Offset{100}).size() == 100);
}

TEST_CASE("What a reader pins stays until it rests, reads elsewhere or goes", "[storage]") {
  const auto pool = std::make_shared<SegmentPool>();
  MemoryStorage storage(pool);
  fill(storage, 100);
  {
    MemoryStorage::Reader reader(storage);
    REQUIRE_FALSE(reader.read(Offset{0}, Offset{100}, no_limits).empty());
    storage.trim(Offset{60});
    const std::uint64_t without = pool->idle_bytes();
    REQUIRE_FALSE(reader.read(Offset{60}, Offset{100}, no_limits).empty());
    CHECK(pool->idle_bytes() == without + 4 * kib);
    storage.trim(Offset{100});
    const std::uint64_t pinned = pool->idle_bytes();
    reader.rest();
    CHECK(pool->idle_bytes() > pinned);
    CHECK(reader.read(Offset{60}, Offset{100}, no_limits).empty());
  }
  fill(storage, 10);
  {
    MemoryStorage::Reader reader(storage);
    REQUIRE_FALSE(reader.read(Offset{100}, Offset{110}, no_limits).empty());
  }
  const std::uint64_t before = pool->idle_bytes();
  storage.trim(Offset{110});
  CHECK(pool->idle_bytes() > before);
}

TEST_CASE("A run outlives trim, the reader, the storage and the pool", "[storage]") {
  RecordRun run;
  {
    MemoryStorage storage;
    fill(storage, 20);
    MemoryStorage::Reader reader(storage);
    run = reader.read(Offset{0}, Offset{20}, no_limits);
    storage.trim(Offset{20});
    fill(storage, 1'000);
  }
  REQUIRE(run.size() == 20);
  for (std::uint32_t i = 0; i < 20; ++i) CHECK(offset_in(run[i]) == i);
}

TEST_CASE("A reader never sees what was taken back, not even where it looked for it", "[storage]") {
  MemoryStorage storage;
  fill(storage, 3);
  MemoryStorage::Reader reader(storage);
  storage.trim(Offset{3});
  // Invisible beside a reader that comes late: it must not stay in the segment that it finds.
  storage.append(MessageView{.payload = "phantom"}, {});
  CHECK(reader.read(Offset{0}, Offset{3}, no_limits).empty());
  storage.truncate(Offset{3});
  fill(storage, 2);
  const RecordRun run = reader.read(Offset{3}, Offset{5}, no_limits);
  REQUIRE(run.size() == 2);
  CHECK(offset_in(run[0]) == 3);
}

TEST_CASE("What is appended after taking back is read, across segments", "[storage]") {
  MemoryStorage storage;
  fill(storage, 10);
  MemoryStorage::Reader reader(storage);
  CHECK(offsets(reader, Offset{0}, Offset{10}).size() == 10);
  for (int round = 0; round < 5; ++round) {
    const Offset end = storage.end();
    const std::vector<Message> phantoms(100, {.payload = std::string(100, 'p')});
    storage.append(std::span<const Message>(phantoms), {});
    CHECK(offsets(reader, Offset{0}, end).size() == end.value());
    storage.truncate(end);
    CHECK(storage.end() == end);
    fill(storage, 40);
    CHECK(offsets(reader, Offset{0}, storage.end()).size() == storage.end().value());
  }
}

// ------------------------------------------------------------------------------ sums and times

TEST_CASE("Sums over a range do not count what was trimmed", "[storage]") {
  MemoryStorage storage;
  fill(storage, 200);
  CHECK(messages(storage, 0, 200) == 200);
  storage.trim(Offset{100});
  MemoryStorage::Reader reader(storage);
  const RecordRun first = reader.read(Offset{0}, Offset{200}, no_limits);
  const std::uint64_t present = 200 - first.first().value();
  CHECK(present < 200);
  CHECK(messages(storage, 0, 200) == present);
  CHECK(messages(storage, 50, 200) <= 150);
  CHECK(messages(storage, 100, 200) == 100);
  CHECK(messages(storage, 0, 10) == 0);
  CHECK(messages(storage, 150, 150) == 0);
  CHECK(messages(storage, 150, 140) == 0);
  storage.trim(Offset{200});
  CHECK(messages(storage, 0, 200) == 0);
}

TEST_CASE("Sums over a range do not count what is not visible yet", "[storage]") {
  MemoryStorage storage;
  fill(storage, 20);
  storage.trim(Offset{20});
  fill(storage, 50);
  CHECK(messages(storage, 0, 20) == 0);
  CHECK(messages(storage, 20, 20) == 0);
  CHECK(messages(storage, 20, 45) == 25);
}

TEST_CASE("A time is looked up whether or not times rise", "[storage]") {
  for (const bool rising : {true, false}) {
    MemoryStorage storage;
    std::vector<std::int64_t> times;
    for (std::int64_t i = 0; i < 400; ++i) {
      times.push_back(rising ? i / 3 : (i * 37) % 101);
      const std::string payload(50, 'x');
      storage.append(MessageView{.payload = payload, .timestamp = stamp(times.back())},
                     {.now = stamp(0), .keep_create_time = true});
    }
    MemoryStorage::Reader reader(storage);
    for (std::int64_t time = -1; time < 140; ++time) {
      for (const std::uint64_t from : {0U, 1U, 77U, 399U, 400U}) {
        std::uint64_t expected = from;
        while (expected < 400 && times[expected] < time) ++expected;
        REQUIRE(reader.first_at_or_after(stamp(time), Offset{from}, Offset{400}) ==
                Offset{expected});
      }
    }
    CHECK(reader.first_at_or_after(Timestamp::min(), Offset{5}, Offset{400}) == Offset{5});
    CHECK(reader.first_at_or_after(Timestamp::max(), Offset{5}, Offset{400}) == Offset{400});
    CHECK(reader.first_at_or_after(stamp(50), Offset{5}, Offset{10}) <= Offset{10});
  }
}

TEST_CASE("A time is looked up after what reached it first was taken back or trimmed",
          "[storage]") {
  MemoryStorage storage;
  fill(storage, 5, 100, stamp(10));
  fill(storage, 100, 100, stamp(90));
  storage.truncate(Offset{5});
  fill(storage, 5, 100, stamp(20));
  MemoryStorage::Reader reader(storage);
  CHECK(reader.first_at_or_after(stamp(20), Offset{0}, Offset{10}) == Offset{5});
  CHECK(reader.first_at_or_after(stamp(21), Offset{0}, Offset{10}) == Offset{10});
  fill(storage, 100, 100, stamp(30));
  storage.trim(Offset{50});
  CHECK(reader.first_at_or_after(stamp(20), Offset{50}, Offset{110}) == Offset{50});
  CHECK(reader.first_at_or_after(stamp(31), Offset{50}, Offset{110}) == Offset{110});
}

// ---------------------------------------------------------------------------------- compaction

TEST_CASE("Compaction keeps offsets, and readers go over the gaps", "[storage]") {
  MemoryStorage storage;
  fill(storage, 300);
  MemoryStorage::Reader reader(storage);
  REQUIRE(offsets(reader, Offset{0}, Offset{300}).size() == 300);
  const RecordRun before = reader.read(Offset{0}, Offset{300}, no_limits);
  const RangeUsage removed = storage.compact(
      Offset{300}, [](const StoredMessage& message) { return message.offset().value() % 10 == 7; });
  CHECK(removed.messages > 200);
  const std::vector<std::uint64_t> left = offsets(reader, Offset{0}, Offset{300});
  CHECK(left.size() == 300 - removed.messages);
  CHECK(left[0] == 7);
  CHECK(left[1] == 17);
  CHECK(messages(storage, 0, 300) == left.size());
  CHECK(messages(storage, 8, 17) == 0);
  CHECK(messages(storage, 8, 18) == 1);
  const RecordRun run = reader.read(Offset{8}, Offset{300}, {.max_messages = 1});
  CHECK(run.first() == Offset{17});
  CHECK(reader.read(Offset{8}, Offset{17}, no_limits).empty());
  CHECK(reader.first_at_or_after(stamp(0), Offset{8}, Offset{300}) == Offset{17});
  CHECK(before.size() > 10);
  CHECK(offset_in(before[3]) == 3);
}

TEST_CASE("The active segment is never compacted", "[storage]") {
  MemoryStorage storage;
  fill(storage, 5);
  const auto nothing = [](const StoredMessage&) { return false; };
  CHECK(storage.compact(Offset{5}, nothing).messages == 0);
  fill(storage, 195);
  const std::uint64_t removed = storage.compact(Offset{200}, nothing).messages;
  CHECK(removed > 0);
  CHECK(removed < 200);
  MemoryStorage::Reader reader(storage);
  CHECK(offsets(reader, Offset{0}, Offset{200}).size() == 200 - removed);
  fill(storage, 1);
  CHECK(messages(storage, 0, 201) == 201 - removed);
}

TEST_CASE("Compaction leaves alone what is not below the given offset", "[storage]") {
  MemoryStorage storage;
  fill(storage, 300);
  const auto nothing = [](const StoredMessage&) { return false; };
  CHECK(storage.compact(Offset{10}, nothing).messages == 10);
  CHECK(messages(storage, 0, 300) == 290);
  CHECK(storage.compact(Offset{10}, nothing).messages == 0);
  CHECK(storage.compact(Offset{0}, nothing).messages == 0);
}

TEST_CASE("Compaction that removes nothing changes nothing and moves nothing", "[storage]") {
  MemoryStorage storage;
  fill(storage, 300);
  MemoryStorage::Reader reader(storage);
  const std::byte* const place = reader.read(Offset{0}, Offset{300}, no_limits).record(0);
  CHECK(storage.compact(Offset{300}, brook::detail::KeepAll{}).messages == 0);
  MemoryStorage::Reader other(storage);
  CHECK(other.read(Offset{0}, Offset{300}, no_limits).record(0) == place);
}

TEST_CASE("A compacted storage can be trimmed, appended to and compacted again", "[storage]") {
  MemoryStorage storage;
  const auto every = [](std::uint64_t nth) {
    return [nth](const StoredMessage& message) { return message.offset().value() % nth == 0; };
  };
  fill(storage, 300);
  storage.compact(Offset{300}, every(2));
  fill(storage, 300);
  storage.compact(Offset{600}, every(4));
  MemoryStorage::Reader reader(storage);
  const std::vector<std::uint64_t> left = offsets(reader, Offset{0}, Offset{600});
  CHECK(left[1] == 4);
  CHECK(left[2] == 8);
  storage.trim(Offset{550});
  CHECK(offsets(reader, Offset{550}, Offset{600}) ==
        std::vector<std::uint64_t>(
            left.end() - static_cast<std::ptrdiff_t>(messages(storage, 550, 600)), left.end()));
}

// --------------------------------------------------------------------------------- moving

TEST_CASE("A storage that was moved has everything, and the old one nothing of it", "[storage]") {
  MemoryStorage source;
  fill(source, 100);
  MemoryStorage target(std::move(source));
  CHECK(target.end() == Offset{100});
  fill(source, 3);  // must not write into what the other one has now
  MemoryStorage::Reader reader(target);
  CHECK(offsets(reader, Offset{0}, Offset{100}).size() == 100);
  fill(target, 10);
  CHECK(offsets(reader, Offset{0}, Offset{110}).size() == 110);
}

TEST_CASE("A storage remembers which messages may be addressed to one group", "[storage]") {
  MemoryStorage storage;
  const std::vector<brook::Header> headers{
      {.name = std::string(brook::addressed_to_header), .value = "billing"}};
  storage.append(MessageView{.payload = "a"}, {});
  MemoryStorage::Reader reader(storage);
  CHECK_FALSE(reader.read(Offset{0}, Offset{1}, {}).any_addressed());
  storage.append(MessageView{.payload = "b", .headers = headers}, {});
  const RecordRun run = reader.read(Offset{0}, Offset{2}, {});
  CHECK(run.any_addressed());
  CHECK(run[0].addressed_to().empty());
  CHECK(run[1].addressed_to() == "billing");
}
