#include <brook/topic/pattern_walk.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"

namespace {

using Index = brook::detail::PatternIndex<brook::AmqpSyntax, brook::SegmentHash>;
using Walk = brook::detail::PatternWalk<Index>;
using Numbers = std::vector<std::uint32_t>;

/// Patterns whose list has the number of their place.
Index index_of(const std::vector<std::string_view>& patterns) {
  Index index(3);
  std::uint32_t number = 0;
  for (const std::string_view pattern : patterns) {
    const Index::Split split(pattern, index.seed());
    const Index::Path path(split);
    index.list(index.insert(split, path), path) = number++;
  }
  return index;
}

Numbers walk(const Index& index, std::string_view topic, bool hides_root = false,
             bool any_will_do = false) {
  const Index::Split split(topic, index.seed());
  Walk::Lists lists;
  Walk(index, split).run(lists, hides_root, any_will_do);
  Numbers numbers(lists.begin(), lists.end());
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

}  // namespace

TEST_CASE("a walk finds each list once, however many ways lead to it", "[topic]") {
  const Index index =
      index_of({"#.a.#.a.#", "#.a.#", "a.a.a.a", "*.#.a", "a.*.a.*", "#", "b.#", "#.b"});
  CHECK(walk(index, "a.a.a.a") == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(walk(index, "a") == Numbers{1, 5});
  CHECK(walk(index, "b") == Numbers{5, 6, 7});
  CHECK(walk(index, "") == Numbers{5});
}

TEST_CASE("a walk can pass over patterns that begin with a wildcard", "[topic]") {
  const Index index = index_of({"#", "*.a", "#.a", "x.a", "x.*", "x.#"});
  CHECK(walk(index, "x.a", false) == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(walk(index, "x.a", true) == Numbers{3, 4, 5});
}

TEST_CASE("a walk that needs any list stops at the first", "[topic]") {
  const Index index = index_of({"#", "a.*", "a.b"});
  CHECK(walk(index, "a.b", false, true) == Numbers{0});
  CHECK(walk(index_of({"a.b"}), "a.b", false, true) == Numbers{0});
  CHECK(walk(index_of({"a.b"}), "a.c", false, true).empty());
}

TEST_CASE("an ordinary walk takes no memory", "[topic]") {
  const Index index = index_of({"#.a.#", "a.*.c", "*.b.*", "a.b.c", "a.#"});
  const Index::Split split("a.b.c", index.seed());
  const support::CountAllocations allocations;
  Walk::Lists lists;
  Walk(index, split).run(lists, false, false);
  CHECK(lists.size() == 5);
  CHECK(allocations.count() == 0);
}
