#include <brook/storage/segment.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::Offset;
using brook::Pin;
using brook::RecordRun;
using brook::SegmentPool;
using brook::Timestamp;
using brook::detail::Segment;

namespace {

constexpr std::size_t segment_size = 4096;

constexpr Timestamp stamp(std::int64_t milliseconds) {
  return Timestamp{std::chrono::milliseconds{milliseconds}};
}

/// A segment with the writer's side of a storage.
class Writer {
 public:
  explicit Writer(Offset base = Offset{100}, std::size_t size = segment_size)
      : pool_(std::make_shared<SegmentPool>()), segment_(Segment::make(pool_, size, base)) {}
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    if (segment_ != nullptr) segment_->release();
  }

  Segment& segment() { return *segment_; }
  SegmentPool& pool() { return *pool_; }
  void release() { std::exchange(segment_, nullptr)->release(); }

  bool add(const std::string& payload, Timestamp time = stamp(1)) {
    const brook::detail::AppendTimes times{.now = time};
    const auto plan = brook::detail::plan_record({.payload = payload}, times, false);
    if (!segment_->fits(plan.size)) return false;
    brook::detail::write_record(segment_->room(), {.payload = payload}, plan, times);
    segment_->added(plan.size, time, false);
    return true;
  }
  /// At an offset of its own, as compaction does.
  void add_at(Offset offset, const std::string& payload) {
    const auto plan = brook::detail::plan_record({.payload = payload}, {}, false);
    brook::detail::write_record(segment_->room(), {.payload = payload}, plan, {});
    segment_->added_at(offset, plan.size, stamp(1), false);
  }
  RecordRun run(std::uint64_t from, std::uint64_t to) {
    segment_->acquire();
    return {segment_->run(Offset{from}, Offset{to}), Pin(segment_)};
  }

 private:
  std::shared_ptr<SegmentPool> pool_;
  Segment* segment_;
};

}  // namespace

TEST_CASE("A segment gives back records by their offsets", "[storage]") {
  Writer writer;
  for (const char* text : {"a", "bb", "ccc"}) REQUIRE(writer.add(text));
  const RecordRun all = writer.run(100, 103);
  REQUIRE(all.size() == 3);
  CHECK(all.first() == Offset{100});
  CHECK(all[0].payload().text() == "a");
  CHECK(all[2].payload().text() == "ccc");
  const RecordRun middle = writer.run(101, 102);
  REQUIRE(middle.size() == 1);
  CHECK(middle.first() == Offset{101});
  CHECK(middle[0].payload().text() == "bb");
  CHECK(middle.stored_size() == 24);
}

TEST_CASE("A range that a segment does not hold gives nothing", "[storage]") {
  Writer writer;
  REQUIRE(writer.add("a"));
  CHECK(writer.run(100, 100).empty());
  CHECK(writer.run(0, 100).empty());
  CHECK(writer.run(0, 50).empty());
  writer.segment().seal(Offset{101});
  CHECK(writer.run(101, 200).empty());
  CHECK(writer.run(150, 200).empty());
  CHECK(writer.run(0, 200).size() == 1);
}

TEST_CASE("A segment holds as much as it has room for, and not a byte more", "[storage]") {
  for (std::size_t payload = 0; payload < 3'000; payload += payload < 700 ? 8 : 301) {
    Writer writer;
    std::uint64_t count = 0;
    while (writer.add(std::string(payload, 'x'))) ++count;
    REQUIRE(count > 0);
    const std::size_t record = (16 + payload + 7) / 8 * 8;
    const std::size_t header = (sizeof(Segment) + 63) / 64 * 64;
    CHECK(count == (segment_size - header - 4) / (record + 4));
    CHECK(writer.segment().count() == count);
    CHECK(writer.segment().used() == count * record);
    const RecordRun run = writer.run(100, 100 + count);
    REQUIRE(run.size() == count);
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      REQUIRE(run[i].payload().text() == std::string(payload, 'x'));
    }
  }
}

TEST_CASE("The size for some records is enough for them, and hardly more", "[storage]") {
  for (const std::size_t payload : {0U, 7U, 8U, 100U, 5'000U}) {
    for (const std::size_t count : {1U, 2U, 15U, 100U}) {
      const std::size_t record = (16 + payload + 7) / 8 * 8;
      Writer writer(Offset{0}, Segment::size_for(record * count, count));
      for (std::size_t i = 0; i < count; ++i) REQUIRE(writer.add(std::string(payload, 'x')));
      CHECK(Segment::size_for(record * count, count) <
            sizeof(Segment) + record * count + 4 * count + 200);
    }
  }
}

TEST_CASE("Records below an offset are counted, with their bytes", "[storage]") {
  Writer writer;
  for (const std::size_t size : {0U, 8U, 16U}) REQUIRE(writer.add(std::string(size, 'x')));
  Segment& segment = writer.segment();
  CHECK(segment.records_below(Offset{0}) == 0);
  CHECK(segment.records_below(Offset{100}) == 0);
  CHECK(segment.records_below(Offset{102}) == 2);
  CHECK(segment.bytes_of_first(0) == 0);
  CHECK(segment.bytes_of_first(2) == 40);
  CHECK(segment.bytes_of_first(3) == 72);
  segment.seal(Offset{103});
  CHECK(segment.records_below(Offset{1'000}) == 3);
}

TEST_CASE("A segment with gaps finds records between and behind them", "[storage]") {
  Writer writer;
  for (const std::uint64_t offset : {100U, 105U, 106U, 150U}) {
    writer.add_at(Offset{offset}, std::to_string(offset));
  }
  writer.segment().seal(Offset{200});
  CHECK(writer.segment().records_below(Offset{100}) == 0);
  CHECK(writer.segment().records_below(Offset{101}) == 1);
  CHECK(writer.segment().records_below(Offset{105}) == 1);
  CHECK(writer.segment().records_below(Offset{107}) == 3);
  CHECK(writer.segment().records_below(Offset{300}) == 4);
  const RecordRun run = writer.run(101, 150);
  REQUIRE(run.size() == 2);
  CHECK(run.first() == Offset{105});
  CHECK(run.last() == Offset{106});
  CHECK(run[0].payload().text() == "105");
  CHECK(run.stored_size() == 48);
  CHECK(writer.run(107, 150).empty());
  CHECK(writer.run(151, 200).empty());
  CHECK(writer.run(107, 151)[0].offset() == Offset{150});
}

TEST_CASE("A segment knows its latest time, and whether times ever fall in it", "[storage]") {
  Writer writer;
  CHECK(writer.segment().max_timestamp() == Timestamp::min());
  CHECK(writer.segment().in_time_order());
  for (const int time : {5, 5, 9}) REQUIRE(writer.add("x", stamp(time)));
  CHECK(writer.segment().max_timestamp() == stamp(9));
  CHECK(writer.segment().in_time_order());
  REQUIRE(writer.add("x", stamp(8)));
  CHECK(writer.segment().max_timestamp() == stamp(9));
  CHECK_FALSE(writer.segment().in_time_order());
}

TEST_CASE("A segment that shrank is written on from there", "[storage]") {
  Writer writer;
  for (const char* text : {"a", "bb", "ccc"}) REQUIRE(writer.add(text, stamp(9)));
  writer.segment().shrink(1);
  CHECK(writer.segment().count() == 1);
  CHECK(writer.segment().used() == 24);
  REQUIRE(writer.add("new", stamp(9)));
  const RecordRun run = writer.run(100, 102);
  REQUIRE(run.size() == 2);
  CHECK(run[0].payload().text() == "a");
  CHECK(run[1].payload().text() == "new");
  writer.segment().shrink(0);
  CHECK(writer.segment().used() == 0);
}

TEST_CASE("A sealed segment can be opened again", "[storage]") {
  Writer writer;
  CHECK(writer.segment().end() == Offset::max());
  writer.segment().seal(Offset{105});
  CHECK(writer.segment().end() == Offset{105});
  writer.segment().reopen();
  CHECK(writer.segment().end() == Offset::max());
}

TEST_CASE("A segment says whether it may hold something addressed, and when it was replaced",
          "[storage]") {
  Writer writer;
  REQUIRE(writer.add("x"));
  CHECK_FALSE(writer.run(100, 101).any_addressed());
  CHECK_FALSE(writer.segment().replaced());
  const auto plan = brook::detail::plan_record({.payload = "y"}, {}, true);
  brook::detail::write_record(writer.segment().room(), {.payload = "y"}, plan, {});
  writer.segment().added(plan.size, stamp(1), true);
  CHECK(writer.run(100, 101).any_addressed());
  writer.segment().set_replaced();
  CHECK(writer.segment().replaced());
}

TEST_CASE("The memory of a segment goes back to its pool with the last pin", "[storage]") {
  Writer writer;
  REQUIRE(writer.add("x"));
  RecordRun run = writer.run(100, 101);
  CHECK(writer.segment().size() == segment_size);
  writer.release();
  CHECK(writer.pool().idle_bytes() == 0);
  CHECK(run[0].payload().text() == "x");
  run = RecordRun();
  CHECK(writer.pool().idle_bytes() == segment_size);
}

TEST_CASE("A segment keeps its pool alive", "[storage]") {
  auto pool = std::make_shared<SegmentPool>();
  const std::weak_ptr<SegmentPool> watched = pool;
  Segment* const segment = Segment::make(pool, segment_size, Offset{0});
  pool.reset();
  CHECK_FALSE(watched.expired());
  segment->release();
  CHECK(watched.expired());
}
