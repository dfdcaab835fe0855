#include <brook/core/ids.hpp>

#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "support/catch.hpp"

using brook::Offset;
using brook::OffsetRange;
using brook::PartitionId;
using brook::TopicId;

namespace {

// Numbers become ids only where somebody says so, and ids of different kinds do not mix.
static_assert(!std::is_convertible_v<int, Offset>);
static_assert(!std::is_convertible_v<std::uint64_t, Offset>);
static_assert(!std::is_convertible_v<Offset, std::uint64_t>);
static_assert(!std::is_convertible_v<std::uint32_t, PartitionId>);
static_assert(!std::is_constructible_v<Offset, PartitionId>);
static_assert(!std::is_constructible_v<PartitionId, Offset>);
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
static_assert(!Comparable<Offset, int>);
static_assert(!Comparable<Offset, PartitionId>);
static_assert(std::is_trivially_copyable_v<Offset> && sizeof(Offset) == 8);
static_assert(Offset{41} + 1 == Offset{42});

}  // namespace

TEST_CASE("Offsets count from 0 and are ordered", "[core]") {
  CHECK(Offset{} == Offset{0});
  CHECK(Offset{1} < Offset{2});
  CHECK(Offset{2} >= Offset{2});
  CHECK((Offset{1} <=> Offset{2}) == std::strong_ordering::less);
  CHECK(Offset{7}.value() == 7);
}

TEST_CASE("Offsets are moved by counts, and their distance is one", "[core]") {
  Offset offset{5};
  CHECK(++offset == Offset{6});
  CHECK((offset += 4) == Offset{10});
  CHECK(offset + 5 == Offset{15});
  CHECK(offset - 3 == Offset{7});
  CHECK(Offset{15} - Offset{10} == 5);
  CHECK(Offset{10} - Offset{10} == 0);
}

TEST_CASE("The greatest offset is above every one that a log can reach", "[core]") {
  CHECK(Offset::max().value() == std::numeric_limits<std::uint64_t>::max());
  CHECK(Offset{std::numeric_limits<std::uint64_t>::max() - 1} < Offset::max());
}

TEST_CASE("A range of offsets leaves out its end", "[core]") {
  CHECK(OffsetRange{}.empty());
  CHECK(OffsetRange{Offset{3}, Offset{3}}.empty());
  CHECK(OffsetRange{Offset{3}, Offset{3}}.size() == 0);
  CHECK_FALSE(OffsetRange{Offset{3}, Offset{7}}.empty());
  CHECK(OffsetRange{Offset{3}, Offset{7}}.size() == 4);
  CHECK(OffsetRange{Offset{3}, Offset{7}} == OffsetRange{Offset{3}, Offset{7}});
  CHECK_FALSE(OffsetRange{Offset{3}, Offset{7}} == OffsetRange{Offset{3}, Offset{8}});
}

TEST_CASE("Partitions count from 0 and are ordered", "[core]") {
  CHECK(PartitionId{} == PartitionId{0});
  CHECK(PartitionId{1} < PartitionId{2});
  CHECK(PartitionId{9}.value() == 9);
}

TEST_CASE("Topic ids are equal only in both halves", "[core]") {
  CHECK(TopicId{1, 2} == TopicId{1, 2});
  CHECK(TopicId{1, 2} != TopicId{2, 1});
  CHECK(TopicId{1, 2} < TopicId{1, 3});
  CHECK(TopicId{1, 9} < TopicId{2, 0});
}

TEST_CASE("Ids have a decimal text", "[core]") {
  CHECK(to_string(Offset{0}) == "0");
  CHECK(to_string(Offset::max()) == "18446744073709551615");
  CHECK(to_string(PartitionId{42}) == "42");
}
