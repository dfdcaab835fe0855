#include <brook/topic/pattern_index.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace {

using Index = brook::detail::PatternIndex<brook::AmqpSyntax, brook::SegmentHash>;
using Split = Index::Split;

std::uint32_t insert(Index& index, std::string_view pattern) {
  const Split split(pattern, index.seed());
  return index.insert(split, Index::Path(split));
}
void remove(Index& index, std::string_view pattern) {
  const Split split(pattern, index.seed());
  Index::Path path(split);
  index.remove(index.find(split), split, path);
}
std::uint32_t& list_of(Index& index, std::string_view pattern) {
  const Split split(pattern, index.seed());
  return index.list(index.find(split), Index::Path(split));
}

}  // namespace

TEST_CASE("a pattern is found by its text, and its list by its path", "[topic]") {
  Index index(7);
  const std::vector<std::string> patterns = {
      "", "a", "a.*", "a.#", "#", "*", "#.a", "a.#.b", std::string(200, 'x') + ".*", "a.*.b.#"};
  std::set<std::uint32_t> ids;
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    ids.insert(insert(index, patterns[i]));
    CHECK(list_of(index, patterns[i]) == Index::none);
    list_of(index, patterns[i]) = i;
  }
  CHECK(ids.size() == patterns.size());
  CHECK(index.size() == patterns.size());
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    CHECK(list_of(index, patterns[i]) == i);
    CHECK(index.text(index.find(Split(patterns[i], 7))) == patterns[i]);
  }
  CHECK(index.find(Split("b", 7)) == Index::none);
  CHECK(index.find(Split("a.b", 7)) == Index::none);
}

TEST_CASE("removing a pattern removes the nodes that only it needed", "[topic]") {
  Index index(7);
  insert(index, "a.b.*.c");
  const std::size_t nodes = index.node_count();
  CHECK(nodes == 4);
  insert(index, "a.b.*");
  CHECK(index.node_count() == nodes);
  list_of(index, "a.b.*") = 1;
  insert(index, "a.b.#.d." + std::string(30, 'y'));
  CHECK(index.node_count() == nodes + 3);
  remove(index, "a.b.#.d." + std::string(30, 'y'));
  CHECK(index.node_count() == nodes);
  remove(index, "a.b.*.c");
  CHECK(index.node_count() == 3);
  list_of(index, "a.b.*") = Index::none;
  remove(index, "a.b.*");
  CHECK(index.node_count() == 0);
  CHECK(index.size() == 0);
  CHECK((index.root() & Index::has_children) == 0);
}

TEST_CASE("a node knows what is below it", "[topic]") {
  Index index(7);
  CHECK((index.root() & Index::has_children) == 0);
  insert(index, "a.*.#.b");
  insert(index, "c.*");
  CHECK((index.root() & Index::has_children) == Index::has_literals);
  insert(index, "*.a");
  insert(index, "#.a");
  CHECK((index.root() & Index::has_children) ==
        (Index::has_literals | Index::has_single | Index::has_multi));
  remove(index, "c.*");
  CHECK((index.root() & Index::has_literals) != 0);
  remove(index, "a.*.#.b");
  CHECK((index.root() & Index::has_children) == (Index::has_single | Index::has_multi));
}
