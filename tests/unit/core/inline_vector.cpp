#include <brook/core/inline_vector.hpp>

#include <cstddef>
#include <type_traits>

#include "support/allocations.hpp"
#include "support/catch.hpp"

using Ints = brook::detail::InlineVector<int, 4>;

static_assert(!std::is_copy_constructible_v<Ints>);
static_assert(!std::is_move_constructible_v<Ints>);

TEST_CASE("an inline vector takes memory only beyond its inline elements", "[core]") {
  Ints numbers;
  CHECK(numbers.empty());
  const support::CountAllocations allocations;
  for (int i = 0; i < 4; ++i) numbers.push_back(i);
  CHECK(allocations.count() == 0);
  numbers.push_back(4);
  CHECK(allocations.count() == 1);
  CHECK(numbers.size() == 5);
  for (int i = 0; i < 5; ++i) CHECK(numbers[static_cast<std::size_t>(i)] == i);
  CHECK(numbers.back() == 4);
}

TEST_CASE("an inline vector keeps its elements however much it grows", "[core]") {
  Ints numbers;
  for (int i = 0; i < 1'000; ++i) numbers.push_back(i);
  int expected = 0;
  for (const int number : numbers) CHECK(number == expected++);
  CHECK(expected == 1'000);
  numbers.pop_back();
  CHECK(numbers.back() == 998);
  numbers.clear();
  CHECK(numbers.empty());
  CHECK(numbers.begin() == numbers.end());
}

TEST_CASE("an inline vector that cannot grow stays as it is", "[core]") {
  Ints numbers;
  for (int i = 0; i < 4; ++i) numbers.push_back(i);
  {
    const support::FailAllocationsAfter fail(0);
    CHECK_THROWS_AS(numbers.push_back(4), std::bad_alloc);
  }
  CHECK(numbers.size() == 4);
  CHECK(numbers[3] == 3);
}
