#include <brook/core/varint.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
constexpr auto highest = std::numeric_limits<std::int64_t>::max();

std::vector<unsigned> encoded(std::int64_t value) {
  std::array<std::byte, 16> storage{};
  const std::byte* const end = brook::detail::write_varint(storage.data(), value);
  std::vector<unsigned> bytes;
  for (const std::byte* at = storage.data(); at != end; ++at) {
    bytes.push_back(std::to_integer<unsigned>(*at));
  }
  return bytes;
}

void check_round_trip(std::int64_t value) {
  std::array<std::byte, 16> storage{};
  storage.fill(std::byte{0xaa});
  const std::byte* const end = brook::detail::write_varint(storage.data(), value);
  const auto size = static_cast<std::size_t>(end - storage.data());
  REQUIRE(size == brook::detail::varint_size(value));
  REQUIRE(size <= 10);
  REQUIRE(storage[size] == std::byte{0xaa});
  const std::byte* from = storage.data();
  REQUIRE(brook::detail::read_varint(from) == value);
  REQUIRE(from == end);
}

constexpr std::int64_t round_trip(std::int64_t value) {
  std::byte storage[10] = {};
  brook::detail::write_varint(storage, value);
  const std::byte* from = storage;
  return brook::detail::read_varint(from);
}
static_assert(round_trip(-300) == -300);

}  // namespace

TEST_CASE("Variable-length integers are encoded as Kafka does", "[core]") {
  using Encoding = std::vector<unsigned>;
  CHECK(encoded(0) == Encoding{0x00});
  CHECK(encoded(-1) == Encoding{0x01});
  CHECK(encoded(1) == Encoding{0x02});
  CHECK(encoded(63) == Encoding{0x7e});
  CHECK(encoded(-64) == Encoding{0x7f});
  CHECK(encoded(64) == Encoding{0x80, 0x01});
  CHECK(encoded(-65) == Encoding{0x81, 0x01});
  CHECK(encoded(8191) == Encoding{0xfe, 0x7f});
  CHECK(encoded(-8192) == Encoding{0xff, 0x7f});
  CHECK(encoded(8192) == Encoding{0x80, 0x80, 0x01});
  CHECK(encoded(std::numeric_limits<std::int32_t>::max()) ==
        Encoding{0xfe, 0xff, 0xff, 0xff, 0x0f});
  CHECK(encoded(std::numeric_limits<std::int32_t>::min()) ==
        Encoding{0xff, 0xff, 0xff, 0xff, 0x0f});
  CHECK(encoded(highest) == Encoding{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  CHECK(encoded(lowest) == Encoding{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
}

TEST_CASE("Zig-zag coding alternates between the signs", "[core]") {
  CHECK(brook::detail::zigzag(0) == 0);
  CHECK(brook::detail::zigzag(-1) == 1);
  CHECK(brook::detail::zigzag(1) == 2);
  CHECK(brook::detail::zigzag(-2) == 3);
  CHECK(brook::detail::zigzag(highest) == std::numeric_limits<std::uint64_t>::max() - 1);
  CHECK(brook::detail::zigzag(lowest) == std::numeric_limits<std::uint64_t>::max());
  CHECK(brook::detail::unzigzag(std::numeric_limits<std::uint64_t>::max()) == lowest);
  CHECK(brook::detail::unzigzag(std::numeric_limits<std::uint64_t>::max() - 1) == highest);
}

TEST_CASE("Every integer comes back from its encoding, which has the announced size", "[core]") {
  for (const std::int64_t value : {lowest, lowest + 1, std::int64_t{-1}, std::int64_t{0},
                                   std::int64_t{1}, highest - 1, highest}) {
    check_round_trip(value);
  }
  for (int bits = 0; bits < 63; ++bits) {
    const std::int64_t power = std::int64_t{1} << bits;
    for (const std::int64_t value : {power - 1, power, power + 1}) {
      check_round_trip(value);
      check_round_trip(-value);
    }
  }
  support::with_seed("core/varint", [](std::uint64_t seed) {
    support::Random random(seed);
    for (int i = 0; i < 10'000; ++i) {
      check_round_trip(static_cast<std::int64_t>(random.next() >> random.below(64)));
    }
  });
}
