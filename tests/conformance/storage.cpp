#include <brook/storage/storage.hpp>

#include <memory>
#include <vector>

#include <brook/clock/manual_clock.hpp>
#include <brook/log/topic_log.hpp>
#include <brook/storage/memory_storage.hpp>
#include <brook/storage/segment_pool.hpp>

#include "support/allocation_hooks.hpp"
#include "support/catch.hpp"
#include "support/storage_conformance.hpp"
#include "support/vector_storage.hpp"

namespace {

using brook::Offset;
using brook::RangeUsage;

// ----------------------------------------------------------------------------------- near misses

struct CompleteReader {
  template <class S>
  explicit CompleteReader(const S&) {}
  brook::RecordRun read(Offset, Offset, const brook::ReadLimits&) { return {}; }
  Offset first_at_or_after(brook::Timestamp, Offset, Offset to) { return to; }
  RangeUsage usage(Offset, Offset) { return {}; }
  void rest() {}
};

struct Complete {
  using Reader = CompleteReader;
  Offset end() const { return {}; }
  RangeUsage append(const brook::MessageBatch&, const brook::detail::AppendTimes&) { return {}; }
  void truncate(Offset) {}
  void trim(Offset) {}
  template <class Keep>
  RangeUsage compact(Offset, Keep) {
    return {};
  }
};
static_assert(brook::Storage<Complete>);

struct EndsOnlyForWriters : Complete {
  Offset end() { return {}; }
};
static_assert(!brook::Storage<EndsOnlyForWriters>);

struct EndsWithANumber : Complete {
  std::uint64_t end() const { return 0; }
};
static_assert(!brook::Storage<EndsWithANumber>);

struct DoesNotSayWhatItAppended : Complete {
  void append(const brook::MessageBatch&, const brook::detail::AppendTimes&) {}
};
static_assert(!brook::Storage<DoesNotSayWhatItAppended>);

struct AppendsWithoutTimes : Complete {
  RangeUsage append(const brook::MessageBatch&) { return {}; }
};
static_assert(!brook::Storage<AppendsWithoutTimes>);

struct CannotTakeBack : Complete {
  void truncate(Offset) = delete;
};
static_assert(!brook::Storage<CannotTakeBack>);

struct CannotTrim : Complete {
  void trim(Offset) = delete;
};
static_assert(!brook::Storage<CannotTrim>);

struct CompactsByFunctionPointerAlone : Complete {
  RangeUsage compact(Offset, bool (*)(const brook::StoredMessage&)) { return {}; }
};
static_assert(!brook::Storage<CompactsByFunctionPointerAlone>);

struct DoesNotMove : Complete {
  DoesNotMove() = default;
  DoesNotMove(DoesNotMove&&) = delete;
};
static_assert(!brook::Storage<DoesNotMove>);

/// A storage whose reader is @p R.
template <class R>
struct With : Complete {
  using Reader = R;
};
static_assert(brook::Storage<With<CompleteReader>>);

struct ReadsOnlyForWriters : CompleteReader {
  explicit ReadsOnlyForWriters(With<ReadsOnlyForWriters>& storage) : CompleteReader(storage) {}
};
static_assert(!brook::Storage<With<ReadsOnlyForWriters>>);

struct ReadsVectors : CompleteReader {
  using CompleteReader::CompleteReader;
  std::vector<brook::StoredMessage> read(Offset, Offset, const brook::ReadLimits&) { return {}; }
};
static_assert(!brook::Storage<With<ReadsVectors>>);

struct ReadsWithoutLimits : CompleteReader {
  using CompleteReader::CompleteReader;
  brook::RecordRun read(Offset, Offset) { return {}; }
};
static_assert(!brook::Storage<With<ReadsWithoutLimits>>);

struct CannotLookUpTimes : CompleteReader {
  using CompleteReader::CompleteReader;
  Offset first_at_or_after(brook::Timestamp, Offset, Offset) = delete;
};
static_assert(!brook::Storage<With<CannotLookUpTimes>>);

struct CannotCount : CompleteReader {
  using CompleteReader::CompleteReader;
  std::uint64_t usage(Offset, Offset) { return 0; }
};
static_assert(!brook::Storage<With<CannotCount>>);

struct CannotRest : CompleteReader {
  using CompleteReader::CompleteReader;
  void rest() = delete;
};
static_assert(!brook::Storage<With<CannotRest>>);

struct WithoutReader {
  Offset end() const { return {}; }
};
static_assert(!brook::Storage<WithoutReader>);
static_assert(!brook::Storage<int>);

}  // namespace

TEST_CASE("MemoryStorage conforms", "[storage][conformance]") {
  support::check_storage([] { return brook::MemoryStorage(); });
}

TEST_CASE("MemoryStorage conforms on a pool that it shares", "[storage][conformance]") {
  const auto pool = std::make_shared<brook::SegmentPool>(64 << 10);
  support::check_storage([&] { return brook::MemoryStorage(pool); });
}

TEST_CASE("MemoryStorage is as it was after whatever fails", "[storage][conformance]") {
  support::check_storage_failures<support::FailAllocationsAfter>(
      [] { return brook::MemoryStorage(); });
}

TEST_CASE("A storage that meets the minimum and nothing more conforms", "[storage][conformance]") {
  support::check_storage(support::VectorStorage::make);
}

TEST_CASE("A storage of the minimum is as it was after whatever fails", "[storage][conformance]") {
  support::check_storage_failures<support::FailAllocationsAfter>(support::VectorStorage::make);
}

TEST_CASE("A log works over a storage of the minimum", "[storage][log][conformance]") {
  brook::ManualClock clock;
  brook::TopicLog<support::VectorStorage, brook::ManualClock> log(
      clock,
      {.retention = {.max_age = std::chrono::hours{1}, .max_messages = 6},
       .compaction = brook::Compaction{}},
      support::VectorStorage::make());
  for (int i = 0; i < 8; ++i) log.append({.key = i % 2 == 0 ? "even" : "odd", .payload = "x"});
  CHECK(log.start() == Offset{2});
  CHECK(log.read(log.start()).size() == 6);
  CHECK(log.compact() == brook::MessageCount(4));
  const brook::ReadBatch left = log.read(log.start());
  REQUIRE(left.size() == 2);
  CHECK(left[0].offset() == Offset{6});
  CHECK(left[1].offset() == Offset{7});
  CHECK(log.offset_at(clock.wall_now()) == Offset{6});
  CHECK(log.prepare(brook::MessageView{.key = "even"}) == Offset{8});
  log.cancel();
  CHECK(log.end() == Offset{8});
  log.trim(Offset{7});
  CHECK(log.usage(Offset{0}, Offset{8}).messages == 1);
  clock.advance(std::chrono::hours{1});
  log.run_due();
  CHECK(log.start() == Offset{8});
  CHECK(log.append({.key = "even"}) == Offset{8});
}
