#include <brook/storage/segment_table.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"

using brook::Offset;
using brook::SegmentPool;
using brook::detail::Segment;
using brook::detail::SegmentTable;
using View = SegmentTable::View;

namespace {

constexpr std::size_t segment_size = 4096;

/// A table with the writer's side of a storage: every segment holds ten records.
class Writer {
 public:
  Segment& add() {
    table_.reserve_one();
    Segment* const segment = make(end_);
    if (table_.last() != nullptr) table_.last()->seal(end_);
    table_.push_back(*segment);
    end_ += 10;
    return *segment;
  }
  Segment* make(Offset base, std::uint32_t records = 10) {
    Segment* const segment = Segment::make(pool_, segment_size, base);
    for (std::uint32_t i = 0; i < records; ++i) {
      const auto plan = brook::detail::plan_record({.payload = ""}, {}, false);
      brook::detail::write_record(segment->room(), {.payload = ""}, plan, {});
      segment->added(plan.size, brook::Timestamp{std::chrono::milliseconds{base.value()}}, false);
    }
    return segment;
  }
  /// Takes the last segment back, as a failed append does.
  void take_back() {
    table_.pop_back();
    if (table_.last() != nullptr) table_.last()->reopen();
    end_ = end_ - 10;
  }
  void trim(std::uint64_t start) { table_.pop_front_below(Offset{start}, end_); }

  SegmentTable& table() { return table_; }
  Offset end() const { return end_; }
  std::uint64_t given_back() const { return pool_->idle_bytes() / segment_size; }
  const std::shared_ptr<SegmentPool>& pool() const { return pool_; }

 private:
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>();
  SegmentTable table_;
  Offset end_{};
};

std::vector<std::uint64_t> bases(const SegmentTable& table) {
  const View view(table);
  std::vector<std::uint64_t> list;
  for (std::size_t i = view.begin(); i < view.end(); ++i) {
    REQUIRE(view[i].base.load() == view.segment(i).base().value());
    list.push_back(view.segment(i).base().value());
  }
  REQUIRE(list.size() == table.size());
  return list;
}

using Bases = std::vector<std::uint64_t>;

/// Base of the segment that the table finds for @p offset.
std::optional<std::uint64_t> found(const SegmentTable& table, std::uint64_t offset) {
  const View view(table);
  const std::size_t at = view.find(Offset{offset});
  if (at == view.end()) return std::nullopt;
  return view.segment(at).base().value();
}

std::optional<std::uint64_t> first_from(const SegmentTable& table, std::uint64_t offset) {
  const View view(table);
  const std::size_t at = view.first_from(Offset{offset});
  if (at == view.end()) return std::nullopt;
  return view.segment(at).base().value();
}

}  // namespace

TEST_CASE("A table of nothing finds nothing", "[storage]") {
  SegmentTable table;
  CHECK(table.last() == nullptr);
  CHECK(table.size() == 0);
  CHECK(bases(table).empty());
  CHECK_FALSE(found(table, 0));
  CHECK_FALSE(first_from(table, 0));
  table.pop_front_below(Offset{0}, Offset{0});
  CHECK(table.size() == 0);
}

TEST_CASE("A table finds the segment that holds an offset", "[storage]") {
  Writer writer;
  for (int i = 0; i < 20; ++i) writer.add();
  CHECK(writer.table().size() == 20);
  CHECK(writer.table().last()->base() == Offset{190});
  CHECK(writer.table().at(3)->base() == Offset{30});
  for (const std::uint64_t offset : {0U, 9U, 10U, 55U, 189U, 190U, 199U}) {
    CHECK(found(writer.table(), offset) == offset / 10 * 10);
  }
  CHECK(found(writer.table(), 1'000) == 190);  // the last one is open
}

TEST_CASE("A table finds the next segment for an offset that none holds", "[storage]") {
  Writer writer;
  for (int i = 0; i < 5; ++i) writer.add();
  writer.trim(25);
  CHECK(bases(writer.table()) == Bases{20, 30, 40});
  CHECK(found(writer.table(), 0) == 20);
  CHECK(found(writer.table(), 19) == 20);
  writer.trim(50);
  CHECK_FALSE(found(writer.table(), 0));
  CHECK_FALSE(found(writer.table(), 50));
}

TEST_CASE("A table finds the first segment that begins at an offset or behind it", "[storage]") {
  Writer writer;
  for (int i = 0; i < 5; ++i) writer.add();
  CHECK(first_from(writer.table(), 0) == 0);
  CHECK(first_from(writer.table(), 1) == 10);
  CHECK(first_from(writer.table(), 40) == 40);
  CHECK_FALSE(first_from(writer.table(), 41));
  writer.trim(25);
  CHECK(first_from(writer.table(), 0) == 20);
}

TEST_CASE("Sums over what came before are kept beside each segment", "[storage]") {
  Writer writer;
  for (int i = 0; i < 9; ++i) writer.add();
  const View view(writer.table());
  for (std::size_t i = view.begin() + 1; i < view.end(); ++i) {
    CHECK(view[i].messages_before - view[i - 1].messages_before == 10);
    CHECK(view[i].bytes_before - view[i - 1].bytes_before == 160);
    CHECK(view[i].max_timestamp_before == static_cast<std::int64_t>(i - 1) * 10);
  }
}

TEST_CASE("Only segments that lie wholly below the start go, and their memory at once",
          "[storage]") {
  Writer writer;
  for (int i = 0; i < 5; ++i) writer.add();
  writer.trim(9);
  CHECK(bases(writer.table()) == Bases{0, 10, 20, 30, 40});
  CHECK(writer.given_back() == 0);
  writer.trim(10);
  CHECK(bases(writer.table()) == Bases{10, 20, 30, 40});
  CHECK(writer.given_back() == 1);
  writer.trim(39);
  CHECK(bases(writer.table()) == Bases{30, 40});
  CHECK(writer.given_back() == 3);
  writer.trim(49);
  CHECK(bases(writer.table()) == Bases{40});
  writer.trim(50);
  CHECK(bases(writer.table()).empty());
  CHECK(writer.given_back() == 5);
  writer.add();
  CHECK(bases(writer.table()) == Bases{50});
}

TEST_CASE("The last segment is sealed before it goes, so that nobody stays in it", "[storage]") {
  Writer writer;
  Segment& segment = writer.add();
  segment.acquire();
  CHECK(segment.end() == Offset::max());
  writer.trim(10);
  CHECK(segment.end() == Offset{10});
  segment.release();
}

TEST_CASE("A segment that was never visible can be taken back", "[storage]") {
  Writer writer;
  writer.add();
  writer.add();
  writer.take_back();
  CHECK(bases(writer.table()) == Bases{0});
  CHECK(writer.table().last()->base() == Offset{0});
  CHECK(writer.given_back() == 1);
  writer.take_back();
  CHECK(writer.table().last() == nullptr);
}

TEST_CASE("A view keeps what it sees, whatever the writer takes away", "[storage]") {
  Writer writer;
  for (int i = 0; i < 5; ++i) writer.add();
  {
    const View view(writer.table());
    writer.trim(30);
    CHECK(writer.given_back() == 0);
    CHECK(view.end() - view.begin() == 5);
    CHECK(view.segment(view.find(Offset{5})).base() == Offset{0});
    for (int i = 0; i < 20; ++i) writer.add();
    CHECK(view.segment(view.find(Offset{15})).count() == 10);
  }
  writer.trim(30);
  CHECK(writer.given_back() == 3);
  writer.trim(40);
  CHECK(writer.given_back() == 4);
}

TEST_CASE("A reference that was taken in a view outlives it", "[storage]") {
  Writer writer;
  writer.add();
  Segment* held = nullptr;
  {
    const View view(writer.table());
    held = &view.segment(view.begin());
    held->acquire();
  }
  writer.trim(10);
  CHECK(writer.given_back() == 0);
  CHECK(held->count() == 10);
  held->release();
  CHECK(writer.given_back() == 1);
}

TEST_CASE("The front of a table can be replaced by fewer segments or none", "[storage]") {
  Writer writer;
  for (int i = 0; i < 6; ++i) writer.add();
  Segment* const old = writer.table().at(1);
  old->acquire();
  Segment* const merged = writer.make(Offset{3}, 4);
  merged->seal(Offset{30});
  writer.table().replace_front(3, std::vector<Segment*>{merged});
  CHECK(bases(writer.table()) == Bases{3, 30, 40, 50});
  CHECK(found(writer.table(), 0) == 3);
  CHECK(found(writer.table(), 29) == 3);
  CHECK(old->replaced());
  CHECK_FALSE(merged->replaced());
  CHECK(writer.given_back() == 2);
  old->release();
  CHECK(writer.given_back() == 3);
  {
    const View view(writer.table());
    CHECK(view[view.begin()].messages_before == 0);
    CHECK(view[view.begin() + 1].messages_before == 4);
    CHECK(view[view.begin() + 2].messages_before == 14);
  }
  writer.table().replace_front(2, {});
  CHECK(bases(writer.table()) == Bases{40, 50});
  CHECK(found(writer.table(), 0) == 40);
  writer.add();
  CHECK(writer.table().last()->base() == Offset{60});
}

TEST_CASE("A table that has no memory for more is as it was", "[storage]") {
  Writer writer;
  for (int i = 0; i < 4; ++i) writer.add();
  bool failed = false;
  try {
    const support::FailAllocationsAfter fail(0);
    writer.table().reserve_one();
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  CHECK(failed);
  failed = false;
  try {
    const support::FailAllocationsAfter fail(0);
    writer.table().replace_front(2, {});
  } catch (const std::bad_alloc&) {
    failed = true;
  }
  CHECK(failed);
  CHECK(bases(writer.table()) == Bases{0, 10, 20, 30});
  CHECK_FALSE(writer.table().at(0)->replaced());
}

TEST_CASE("A moved table takes everything with it, what waits to be freed too", "[storage]") {
  Writer writer;
  for (int i = 0; i < 3; ++i) writer.add();
  {
    const View view(writer.table());
    writer.trim(20);
    CHECK(writer.given_back() == 0);
  }
  {
    SegmentTable moved(std::move(writer.table()));
    CHECK(bases(moved) == Bases{20});
    CHECK(writer.table().size() == 0);
  }
  CHECK(writer.given_back() == 3);
}

TEST_CASE("Readers beside the writer always find the segment of a visible offset", "[storage]") {
  Writer writer;
  std::atomic<std::uint64_t> start{0};
  std::atomic<std::uint64_t> visible_end{0};
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&] {
      std::uint64_t salt = 0;
      while (!stop.load()) {
        const std::uint64_t end = visible_end.load(std::memory_order_acquire);
        const std::uint64_t from = start.load(std::memory_order_acquire);
        if (from >= end) continue;
        const std::uint64_t offset = from + ++salt % (end - from);
        const View view(writer.table());
        const std::size_t at = view.find(Offset{offset});
        const bool trimmed = offset < start.load(std::memory_order_acquire);
        if (trimmed) continue;
        if (at == view.end() || view.segment(at).base().value() != offset / 10 * 10 ||
            view.segment(at).run(Offset{offset}, Offset{offset + 1}).count != 1) {
          wrong.fetch_add(1);
        }
      }
    });
  }
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    writer.add();
    visible_end.store(writer.end().value(), std::memory_order_release);
    if (i % 7 == 6) {
      writer.add();  // never visible
      writer.take_back();
    }
    if (i % 16 == 15) {
      const std::uint64_t trimmed = visible_end.load() - 80;
      start.store(trimmed, std::memory_order_release);
      writer.trim(trimmed);
    }
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong.load() == 0);
}
