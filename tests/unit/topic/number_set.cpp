#include <brook/topic/number_set.hpp>

#include <cstdint>

#include "support/allocations.hpp"
#include "support/catch.hpp"

TEST_CASE("a set of numbers takes each once, few or many", "[topic]") {
  brook::detail::NumberSet numbers;
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t number = 0; number < 200; ++number) {
      CHECK(numbers.insert(number * 16) == (round == 0));
      CHECK_FALSE(numbers.insert(number / 2 * 16));
    }
  }
}

TEST_CASE("a set of numbers knows what it holds, few or many", "[topic]") {
  brook::detail::NumberSet numbers;
  for (std::uint32_t number = 0; number < 100; ++number) {
    CHECK_FALSE(numbers.contains(number));
    numbers.insert(number);
    CHECK(numbers.contains(number));
    CHECK(numbers.contains(number / 2));
  }
}

TEST_CASE("a set of few numbers takes no memory", "[topic]") {
  const support::CountAllocations allocations;
  brook::detail::NumberSet numbers;
  for (std::uint32_t number = 0; number < 16; ++number) numbers.insert(number);
  CHECK(allocations.count() == 0);
}
