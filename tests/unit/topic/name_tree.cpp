#include <brook/topic/name_tree.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace {

using Numbers = std::vector<std::uint32_t>;

template <class Syntax = brook::AmqpSyntax>
class Tree {
 public:
  using Names = brook::detail::NameTree<Syntax, brook::SegmentHash>;
  using Split = typename Names::Split;

  explicit Tree(const std::vector<std::string_view>& list) {
    for (const std::string_view name : list) insert(name, next++);
  }
  std::uint32_t insert(std::string_view name, std::uint32_t entry) {
    return names.insert(Split(name, 3), entry);
  }
  void erase(std::string_view name) { names.erase(Split(name, 3)); }
  [[nodiscard]] std::uint32_t find(std::string_view name) const {
    return names.find(Split(name, 3));
  }
  /// Sorted; twice if found twice.
  [[nodiscard]] Numbers match(std::string_view pattern) const {
    Numbers found;
    names.match(Split(pattern, 3), found);
    std::sort(found.begin(), found.end());
    return found;
  }

  Names names{3};
  std::uint32_t next = 0;
};

}  // namespace

TEST_CASE("a tree of names knows the entry of each name, not of their prefixes", "[topic]") {
  Tree tree({"a.b.c", "a", "x..y", ""});
  CHECK(tree.find("a.b.c") == 0);
  CHECK(tree.find("a") == 1);
  CHECK(tree.find("x..y") == 2);
  CHECK(tree.find("") == 3);
  CHECK(tree.find("a.b") == Tree<>::Names::none);
  CHECK(tree.find("x.") == Tree<>::Names::none);
  CHECK(Tree({}).find("") == Tree<>::Names::none);
}

TEST_CASE("a pattern walks down the names that begin like it", "[topic]") {
  const Tree tree({"a", "a.b", "a.c", "a.b.c", "b.b.c", ""});
  CHECK(tree.match("a") == Numbers{0});
  CHECK(tree.match("a.*") == Numbers{1, 2});
  CHECK(tree.match("*.b.*") == Numbers{3, 4});
  CHECK(tree.match("a.#") == Numbers{0, 1, 2, 3});
  CHECK(tree.match("#.c") == Numbers{2, 3, 4});
  CHECK(tree.match("#") == Numbers{0, 1, 2, 3, 4, 5});
  CHECK(tree.match("a.b.#.c.#") == Numbers{3});
  CHECK(tree.match("a.d.#").empty());
  CHECK(tree.match("*.*.*.*").empty());
}

TEST_CASE("a name is found once, however many ways lead to it", "[topic]") {
  const Tree tree({"a.a.a.a.a", "a.a.a", "a"});
  CHECK(tree.match("#.a.#.a.#") == Numbers{0, 1});
  CHECK(tree.match("#.#.a") == Numbers{0, 1, 2});
  CHECK(tree.match("#.*.#.*") == Numbers{0, 1});
}

TEST_CASE("what begins with '$' is not seen by wildcards where the dialect says so", "[topic]") {
  const std::vector<std::string_view> names = {"$sys/a", "a/$b", "$sys"};
  const Tree<brook::MqttSyntax> hidden(names);
  CHECK(hidden.match("#") == Numbers{1});
  CHECK(hidden.match("+/a").empty());
  CHECK(hidden.match("$sys/#") == Numbers{0, 2});
  CHECK(hidden.match("$sys/+") == Numbers{0});
  CHECK(hidden.match("a/+") == Numbers{1});
  const Tree<> seen({"$sys.a", "a.$b", "$sys"});
  CHECK(seen.match("#") == Numbers{0, 1, 2});
}

TEST_CASE("erasing a name takes the nodes that only it needed", "[topic]") {
  Tree<brook::MqttSyntax> tree({"a/b/c", "a/b", "a/d/e", "$x/y"});
  CHECK(tree.names.node_count() == 7);
  tree.erase("a/b");
  CHECK(tree.names.node_count() == 7);
  CHECK(tree.match("a/#") == Numbers{0, 2});
  tree.erase("a/b/c");
  CHECK(tree.names.node_count() == 5);
  tree.erase("$x/y");
  CHECK(tree.names.node_count() == 3);
  CHECK(tree.match("#") == Numbers{2});
  tree.insert("a/b/c", 9);
  CHECK(tree.match("a/+/+") == Numbers{2, 9});
  tree.erase("a/d/e");
  tree.erase("a/b/c");
  CHECK(tree.names.node_count() == 0);
  CHECK(tree.match("#").empty());
}

TEST_CASE("packing a tree keeps every name and takes less room", "[topic]") {
  Tree tree({"kept", "kept.long-segment-of-more-than-15-bytes.x", "kept.y"});
  for (int i = 0; i < 2'000; ++i) tree.insert("gone." + std::to_string(i), 100);
  CHECK_FALSE(tree.names.is_sparse());
  for (int i = 0; i < 2'000; ++i) tree.erase("gone." + std::to_string(i));
  REQUIRE(tree.names.is_sparse());
  const std::size_t before = tree.names.memory_use();
  Numbers renamed;
  tree.names.pack([&](std::uint32_t entry, std::uint32_t node) {
    renamed.push_back(entry);
    tree.names.set_entry(node, entry + 10);
  });
  std::sort(renamed.begin(), renamed.end());
  CHECK(renamed == Numbers{0, 1, 2});
  CHECK(tree.names.memory_use() < before / 10);
  CHECK_FALSE(tree.names.is_sparse());
  CHECK(tree.match("#") == Numbers{10, 11, 12});
  CHECK(tree.match("kept.*") == Numbers{12});
  CHECK(tree.find("kept.long-segment-of-more-than-15-bytes.x") == 11);
  tree.insert("new.name", 5);
  tree.erase("kept");
  CHECK(tree.match("#") == Numbers{5, 11, 12});
}
