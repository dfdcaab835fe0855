#include <brook/topic/segment_edges.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/topic/syntax.hpp>

#include "support/catch.hpp"

namespace {

struct Edge {
  brook::detail::SegmentKey key{};
  std::uint32_t parent = 0;
  std::uint32_t node = 0;

  [[nodiscard]] bool is_free() const noexcept { return node == 0; }
};

struct CollidingHash {
  std::uint64_t operator()(std::string_view, std::uint64_t) const noexcept { return 1; }
};

template <class Hash>
class Edges {
 public:
  using Split = brook::detail::SplitText<brook::AmqpSyntax, Hash>;

  /// @p text is one segment.
  void insert(std::uint32_t parent, std::string_view text, std::uint32_t node) {
    const Split split(text, edges.seed());
    edges.reserve(split);
    edges.insert(parent, split[0], {.node = node});
  }
  Edge* find(std::uint32_t parent, std::string_view text) {
    const Split split(text, edges.seed());
    return split.size() == 0 ? nullptr : edges.find(parent, split[0]);
  }

  brook::detail::SegmentEdges<Edge, Hash> edges{7};
};

std::string word(std::uint32_t number) {
  const std::string text = std::to_string(number);
  return number % 2 == 0 ? text : text + "-which-is-a-long-segment";
}

}  // namespace

TEMPLATE_TEST_CASE("an edge is found by its parent and its whole segment", "[topic]",
                   brook::SegmentHash, CollidingHash) {
  Edges<TestType> edges;
  constexpr std::uint32_t count = 60;
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t parent : {0U, 1U}) {
      CHECK(edges.find(parent, word(i)) == nullptr);
      edges.insert(parent, word(i), 1 + 2 * i + parent);
    }
  }
  CHECK(edges.edges.size() == 2 * count);
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t parent : {0U, 1U}) {
      Edge* const edge = edges.find(parent, word(i));
      REQUIRE(edge != nullptr);
      CHECK(edge->node == 1 + 2 * i + parent);
      CHECK(edge->parent == parent);
    }
    CHECK(edges.find(2, word(i)) == nullptr);
  }
  for (std::uint32_t i = 0; i < count; i += 3) edges.edges.erase(edges.find(0, word(i)));
  for (std::uint32_t i = 0; i < count; ++i) {
    CHECK((edges.find(0, word(i)) == nullptr) == (i % 3 == 0));
    CHECK(edges.find(1, word(i)) != nullptr);
  }
}

TEMPLATE_TEST_CASE("an edge tells its segment as it would be looked for", "[topic]",
                   brook::SegmentHash, CollidingHash) {
  Edges<TestType> edges;
  std::map<std::uint32_t, std::string> texts;
  for (std::uint32_t node = 1; node < 40; ++node) {
    texts[node] = word(node);
    edges.insert(node % 3, texts[node], node);
  }
  std::size_t visits = 0;
  edges.edges.for_each([&](const Edge& edge) {
    char buffer[16];
    const auto segment = edges.edges.segment(edge, buffer);
    CHECK(std::string_view(segment.text, segment.size) == texts[edge.node]);
    CHECK(edges.edges.find(edge.parent, segment) == &edge);
    ++visits;
  });
  CHECK(visits == texts.size());
}

TEST_CASE("removing all edges gives all memory back", "[topic]") {
  Edges<brook::SegmentHash> edges;
  CHECK(edges.edges.memory_use() == 0);
  for (std::uint32_t node = 1; node < 500; ++node) edges.insert(0, word(node), node);
  CHECK(edges.edges.memory_use() > 500 * sizeof(Edge));
  for (std::uint32_t node = 1; node < 500; ++node) edges.edges.erase(edges.find(0, word(node)));
  CHECK(edges.edges.memory_use() == 0);
}
