#include <brook/topic/text_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"

using brook::detail::TextPool;

namespace {

std::uint32_t add(TextPool& pool, std::string_view text) {
  pool.reserve(TextPool::cost(text.size()));
  return pool.add(text);
}

}  // namespace

TEST_CASE("texts of all sizes stand beside each other unharmed", "[topic]") {
  TextPool pool;
  std::vector<std::pair<std::uint32_t, std::string>> texts;
  for (std::size_t size = 0; size < 600; ++size) {
    texts.emplace_back(0, std::string(size, static_cast<char>('a' + size % 26)));
    texts.back().first = add(pool, texts.back().second);
  }
  for (const auto& [place, text] : texts) CHECK(pool.view(place, text.size()) == text);
}

TEST_CASE("a freed place is used again by a text of about its size", "[topic]") {
  TextPool pool;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{33}, std::size_t{128},
                                 std::size_t{129}, std::size_t{5'000}}) {
    const std::uint32_t kept = add(pool, "kept");
    const std::uint32_t first = add(pool, std::string(size, 'a'));
    const std::uint32_t second = add(pool, std::string(size, 'b'));
    pool.remove(first, size);
    pool.remove(second, size);
    const support::CountAllocations allocations;
    CHECK(pool.add(std::string_view("cccc").substr(0, size < 4 ? size : 0)) != kept);
    CHECK(pool.add(std::string(size, 'd')) <= second);
    CHECK(pool.view(kept, 4) == "kept");
  }
}

TEST_CASE("steady change does not make a pool grow", "[topic]") {
  TextPool pool;
  std::vector<std::pair<std::uint32_t, std::size_t>> texts;
  std::size_t full = 0;
  for (std::size_t round = 0; round < 50; ++round) {
    for (std::size_t size = 1; size < 200; ++size) {
      texts.emplace_back(add(pool, std::string(size, 'x')), size);
    }
    if (round == 0) full = pool.memory_use();
    for (const auto& [place, size] : texts) pool.remove(place, size);
    texts.clear();
  }
  CHECK(pool.memory_use() == full);
}

TEST_CASE("after room was made, adding takes no memory", "[topic]") {
  TextPool pool;
  const std::string text(77, 'x');
  pool.reserve(3 * TextPool::cost(text.size()));
  const support::CountAllocations allocations;
  for (int i = 0; i < 3; ++i) static_cast<void>(pool.add(text));
  CHECK(allocations.count() == 0);
  CHECK_THROWS_AS(pool.reserve(std::size_t{1} << 32), std::bad_alloc);
}

TEST_CASE("room for one more is a quarter of what there is, not as much again", "[topic]") {
  std::vector<int> numbers(1'000);
  numbers.shrink_to_fit();
  brook::detail::reserve_sparingly(numbers);
  CHECK(numbers.capacity() >= 1'001);
  CHECK(numbers.capacity() <= 1'300);
  const std::size_t capacity = numbers.capacity();
  brook::detail::reserve_sparingly(numbers);
  CHECK(numbers.capacity() == capacity);
}
