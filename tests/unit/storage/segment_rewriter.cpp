#include <brook/storage/segment_rewriter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"

using brook::Offset;
using brook::RecordRun;
using brook::SegmentPool;
using brook::StoredMessage;
using brook::detail::Segment;
using brook::detail::SegmentRewriter;

namespace {

constexpr std::size_t largest = 64 << 10;

/// Sealed segments of equal records at dense offsets.
class Source {
 public:
  Source(std::size_t segments, std::uint64_t records_each, std::size_t payload)
      : pool_(std::make_shared<SegmentPool>()), payload_(payload, 'x') {
    for (std::size_t s = 0; s < segments; ++s) {
      const auto plan = brook::detail::plan_record({.payload = payload_}, {}, false);
      Segment* const segment = Segment::make(
          pool_, (Segment::size_for(plan.size * records_each, records_each) + 4095) / 4096 * 4096,
          Offset{s * records_each});
      for (std::uint64_t i = 0; i < records_each; ++i) {
        REQUIRE(segment->fits(plan.size));
        brook::detail::write_record(segment->room(), {.payload = payload_}, plan, {});
        segment->added(plan.size, {}, false);
      }
      segment->seal(Offset{(s + 1) * records_each});
      segments_.push_back(segment);
    }
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() {
    for (Segment* const segment : segments_) segment->release();
  }

  const std::shared_ptr<SegmentPool>& pool() const { return pool_; }

  template <class Keep>
  void rewrite(SegmentRewriter& rewriter, Keep keep) const {
    for (const Segment* const segment : segments_) rewriter.add(*segment, keep);
  }

 private:
  std::shared_ptr<SegmentPool> pool_;
  std::string payload_;
  std::vector<Segment*> segments_;
};

/// Offsets of all records in @p segments, in order.
std::vector<std::uint64_t> offsets(std::span<Segment* const> segments) {
  std::vector<std::uint64_t> list;
  for (const Segment* const segment : segments) {
    const RecordRun run(segment->run(segment->base(), segment->end()), brook::Pin());
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      list.push_back(run.offset(i).value());
      REQUIRE(run[i].payload().text().starts_with('x'));
    }
  }
  return list;
}

auto every(std::uint64_t nth) {
  return [nth](const StoredMessage& message) { return message.offset().value() % nth == 0; };
}

}  // namespace

TEST_CASE("What is kept is copied at its offset, and the rest is counted", "[storage]") {
  const Source source(2, 10, 24);
  SegmentRewriter rewriter(source.pool(), largest);
  source.rewrite(rewriter, every(4));
  CHECK(offsets(rewriter.segments()) == std::vector<std::uint64_t>{0, 4, 8, 12, 16});
  CHECK(rewriter.finish().messages == 15);
  CHECK(rewriter.finish().bytes == 15 * 40);
}

TEST_CASE("Neighbours are merged, and ranges between them leave no hole", "[storage]") {
  const Source source(8, 20, 100);
  SegmentRewriter rewriter(source.pool(), largest);
  source.rewrite(rewriter, every(10));
  const auto segments = rewriter.segments();
  REQUIRE(segments.size() == 1);
  CHECK(segments[0]->base() == Offset{0});
  CHECK(segments[0]->end() == Offset{160});
}

TEST_CASE("What does not fit into one segment is split without a gap", "[storage]") {
  const Source source(40, 100, 100);
  SegmentRewriter rewriter(source.pool(), largest);
  source.rewrite(rewriter, every(1));
  const auto segments = rewriter.segments();
  CHECK(rewriter.finish().messages == 0);
  CHECK(segments.size() > 1);
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    CHECK(segments[i]->end() == segments[i + 1]->base());
    CHECK(segments[i]->size() <= largest);
  }
  CHECK(segments.back()->end() == Offset{4'000});
  CHECK(offsets(segments).size() == 4'000);
}

TEST_CASE("If nothing is kept, nothing is made", "[storage]") {
  const Source source(3, 10, 10);
  SegmentRewriter rewriter(source.pool(), largest);
  source.rewrite(rewriter, [](const StoredMessage&) { return false; });
  CHECK(rewriter.segments().empty());
  CHECK(rewriter.finish().messages == 30);
}

TEST_CASE("A message larger than the largest segment gets one of its own", "[storage]") {
  const Source source(2, 1, 3 * largest);
  SegmentRewriter rewriter(source.pool(), largest);
  source.rewrite(rewriter, every(1));
  REQUIRE(rewriter.segments().size() == 2);
  CHECK(offsets(rewriter.segments()) == std::vector<std::uint64_t>{0, 1});
}

TEST_CASE("Times and addresses survive the copy", "[storage]") {
  const auto pool = std::make_shared<SegmentPool>();
  Segment* const source = Segment::make(pool, 4096, Offset{5});
  const std::vector<brook::Header> headers{
      {.name = std::string(brook::addressed_to_header), .value = "billing"}};
  const brook::MessageView message{.payload = "x", .headers = headers};
  const brook::detail::AppendTimes times{.now = brook::Timestamp{std::chrono::milliseconds{42}}};
  const auto plan = brook::detail::plan_record(message, times, true);
  brook::detail::write_record(source->room(), message, plan, times);
  source->added(plan.size, times.now, true);
  source->seal(Offset{6});
  {
    SegmentRewriter rewriter(pool, largest);
    auto keep = every(1);
    rewriter.add(*source, keep);
    const Segment& copy = *rewriter.segments()[0];
    const RecordRun run(copy.run(Offset{5}, Offset{6}), brook::Pin());
    CHECK(run.any_addressed());
    CHECK(run[0].addressed_to() == "billing");
    CHECK(run[0].timestamp() == times.now);
    CHECK(copy.max_timestamp() == times.now);
  }
  source->release();
}

TEST_CASE("A rewriter owns what it made until it is told otherwise", "[storage]") {
  const Source source(1, 10, 10);
  Segment* made = nullptr;
  {
    SegmentRewriter rewriter(source.pool(), largest);
    source.rewrite(rewriter, every(2));
    made = rewriter.segments()[0];
    rewriter.keep_segments();
  }
  CHECK(source.pool()->idle_bytes() == 0);
  CHECK(made->count() == 5);
  made->release();
  CHECK(source.pool()->idle_bytes() == 4096);
  {
    SegmentRewriter rewriter(source.pool(), largest);
    source.rewrite(rewriter, every(2));
    CHECK(source.pool()->idle_bytes() == 0);
  }
  CHECK(source.pool()->idle_bytes() == 4096);
}

TEST_CASE("A rewriter that runs out of memory gives back what it has", "[storage]") {
  const Source source(20, 100, 100);
  std::uint64_t failures = 0;
  for (;; ++failures) {
    bool failed = false;
    {
      SegmentRewriter rewriter(source.pool(), largest);
      try {
        const support::FailAllocationsAfter fail(failures);
        source.rewrite(rewriter, every(2));
      } catch (const std::bad_alloc&) {
        failed = true;
      }
    }
    if (!failed) break;
  }
  CHECK(failures > 5);
}
