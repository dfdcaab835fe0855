#include <brook/delivery/lease_runs.hpp>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::Instant;
using brook::Offset;
using brook::detail::LeaseRuns;
using brook::detail::OffsetRing;

namespace {

Instant at(std::int64_t nanoseconds) {
  return Instant{std::chrono::nanoseconds{nanoseconds}};
}

}  // namespace

TEST_CASE("a run covers the offsets up to where the next one begins", "[delivery]") {
  LeaseRuns runs;
  CHECK(runs.empty());
  runs.push(Offset{10}, at(1));
  runs.push(Offset{15}, at(2));
  runs.push(Offset{16}, at(3));
  CHECK(runs.size() == 3);
  for (std::uint64_t offset = 10; offset < 15; ++offset) CHECK(runs.find(Offset{offset}) == 0);
  CHECK(runs.find(Offset{15}) == 1);
  for (std::uint64_t offset = 16; offset < 100; ++offset) CHECK(runs.find(Offset{offset}) == 2);
  CHECK(runs.first(1, Offset{20}) == Offset{15});
  CHECK(runs.deadline(1) == at(2));
}

TEST_CASE("runs are popped from the front and found among the rest", "[delivery]") {
  LeaseRuns runs;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    runs.push(Offset{i * 3}, at(static_cast<std::int64_t>(i)));
    if (i % 3 != 0) continue;
    runs.pop_front();
    for (std::size_t run = 0; run < runs.size(); ++run) {
      const Offset first = runs.first(run, Offset{i * 3});
      REQUIRE(runs.find(first) == run);
      REQUIRE(runs.find(first + 2) == run);
      REQUIRE(runs.deadline(run) == at(static_cast<std::int64_t>(first.value() / 3)));
    }
  }
  while (!runs.empty()) runs.pop_front();
  runs.push(Offset{5}, at(5));
  CHECK(runs.size() == 1);
  CHECK(runs.find(Offset{6}) == 0);
}

TEST_CASE("runs work where the low half of offsets wraps around", "[delivery]") {
  const Offset wrap{std::uint64_t{3} << 32};
  LeaseRuns runs;
  for (std::uint64_t i = 0; i < 100; ++i)
    runs.push(wrap - 500 + i * 10, at(static_cast<std::int64_t>(i)));
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Offset offset = wrap - 500 + i;
    REQUIRE(runs.find(offset) == i / 10);
    REQUIRE(runs.first(i / 10, wrap + 500) == wrap - 500 + i / 10 * 10);
  }
}

TEST_CASE("a run keeps any deadline, in twelve bytes", "[delivery]") {
  LeaseRuns runs;
  const std::vector<Instant> deadlines{Instant::min(),    at(-1),          at(0),         at(1),
                                       at(0x1'0000'0000), at(0xffff'ffff), Instant::max()};
  for (std::size_t i = 0; i < deadlines.size(); ++i) runs.push(Offset{i}, deadlines[i]);
  for (std::size_t i = 0; i < deadlines.size(); ++i) CHECK(runs.deadline(i) == deadlines[i]);
  runs.set_deadline(2, Instant::max());
  CHECK(runs.deadline(2) == Instant::max());
  CHECK(runs.deadline(1) == at(-1));
}

TEST_CASE("runs know whether their deadlines ever fell", "[delivery]") {
  LeaseRuns runs;
  runs.push(Offset{0}, at(5));
  runs.push(Offset{1}, at(5));
  CHECK(runs.in_order());
  runs.push(Offset{2}, at(4));
  CHECK_FALSE(runs.in_order());
  runs.clear();
  CHECK(runs.in_order());
  CHECK(runs.empty());
}

TEST_CASE("an offset ring keeps a value for each offset of a window that moves up", "[delivery]") {
  OffsetRing<std::uint64_t> ring;
  CHECK_FALSE(ring.active());
  ring.start(Offset{1000});
  CHECK(ring.active());
  std::uint64_t low = 1000;
  for (std::uint64_t offset = 1000; offset < 5000; ++offset) {
    ring.push(offset * 2);
    if (offset % 7 == 0) {
      low = offset - offset % 50;
      ring.drop_below(Offset{low});
    }
    REQUIRE(ring.end() == Offset{offset + 1});
    REQUIRE(ring.begin() <= Offset{std::max<std::uint64_t>(low, 1000)});
    REQUIRE(ring[Offset{offset}] == offset * 2);
    REQUIRE(ring[Offset{std::max<std::uint64_t>(low, 1000)}] ==
            std::max<std::uint64_t>(low, 1000) * 2);
    REQUIRE(ring[Offset{offset + 1}] == 0);
  }
  std::vector<std::uint64_t> seen;
  ring.for_each([&](Offset offset, std::uint64_t value) {
    REQUIRE(value == offset.value() * 2);
    seen.push_back(offset.value());
  });
  CHECK(seen.front() == ring.begin().value());
  CHECK(seen.back() == 4999);
  ring.stop();
  CHECK_FALSE(ring.active());
  ring.start(Offset{3});
  CHECK(ring.begin() == Offset{3});
  CHECK(ring[Offset{3}] == 0);
}

TEST_CASE("an offset ring has nothing for offsets outside of it", "[delivery]") {
  OffsetRing<std::uint32_t> ring;
  ring.start(Offset{10});
  ring.push(1);
  ring.push(2);
  CHECK(ring[Offset{9}] == 0);
  CHECK(ring[Offset{12}] == 0);
  ring.drop_below(Offset{11});
  CHECK(ring[Offset{10}] == 0);
  CHECK(ring[Offset{11}] == 2);
  ring.drop_below(Offset{5});
  CHECK(ring[Offset{11}] == 2);
}
