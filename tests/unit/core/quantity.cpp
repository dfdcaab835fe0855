#include <brook/core/quantity.hpp>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "support/catch.hpp"

using brook::ByteSize;
using brook::InvalidArgument;
using brook::MessageCount;
using namespace brook::literals;
using Catch::Matchers::ContainsSubstring;

namespace {

static_assert(std::is_convertible_v<int, ByteSize>);
static_assert(std::is_convertible_v<unsigned, ByteSize>);
static_assert(std::is_convertible_v<std::size_t, ByteSize>);
static_assert(std::is_convertible_v<std::int8_t, ByteSize>);
static_assert(!std::is_constructible_v<ByteSize, bool>);
static_assert(!std::is_constructible_v<ByteSize, char>);
static_assert(!std::is_constructible_v<ByteSize, wchar_t>);
static_assert(!std::is_constructible_v<ByteSize, char8_t>);
static_assert(!std::is_constructible_v<ByteSize, char32_t>);
static_assert(!std::is_constructible_v<ByteSize, double>);
static_assert(!std::is_constructible_v<ByteSize, float>);
static_assert(!std::is_constructible_v<ByteSize, std::nullptr_t>);
static_assert(!std::is_constructible_v<ByteSize, MessageCount>);
static_assert(!std::is_convertible_v<ByteSize, std::uint64_t>);
template <class A, class B>
concept Comparable = requires(A a, B b) {
  a == b;
};
static_assert(!Comparable<ByteSize, MessageCount>);

static_assert((1_KiB).value() == 1024);
static_assert((64_MiB).value() == std::uint64_t{64} << 20);
static_assert((4096_MiB).value() == std::uint64_t{1} << 32);
static_assert((3_GiB).value() == std::uint64_t{3} << 30);
static_assert((0_KiB).value() == 0);
static_assert((18'014'398'509'481'983_KiB).value() == ~std::uint64_t{0} - 1023);

}  // namespace

TEST_CASE("A count takes any integer that is not negative", "[core]") {
  CHECK(MessageCount().value() == 0);
  CHECK(MessageCount(500).value() == 500);
  CHECK(MessageCount(std::numeric_limits<std::uint64_t>::max()).value() ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(MessageCount(std::numeric_limits<std::int64_t>::max()).value() ==
        std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  CHECK(MessageCount(static_cast<std::uint8_t>(255)).value() == 255);
}

TEST_CASE("A negative count is refused and named", "[core]") {
  CHECK_THROWS_AS(ByteSize(-1), InvalidArgument);
  CHECK_THROWS_AS(ByteSize(std::numeric_limits<std::int64_t>::min()), InvalidArgument);
  CHECK_THROWS_AS(ByteSize(static_cast<std::int8_t>(-128)), InvalidArgument);
  CHECK_THROWS_WITH(ByteSize(-1), ContainsSubstring("-1"));
}

TEST_CASE("Counts are ordered, and unlimited is above all others", "[core]") {
  CHECK(MessageCount(1) < MessageCount(2));
  CHECK(MessageCount(2) == 2);
  CHECK(MessageCount(1'000'000'000) < MessageCount::unlimited());
  CHECK(ByteSize::unlimited().value() == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("Size literals are powers of 1024", "[core]") {
  CHECK(1_MiB == ByteSize(1 << 20));
  CHECK(1024_KiB == 1_MiB);
  CHECK(1024_MiB == 1_GiB);
}
