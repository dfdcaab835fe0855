#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/number_set.hpp>
#include <brook/topic/pattern_path.hpp>
#include <brook/topic/segment_edges.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/split_text.hpp>
#include <brook/topic/syntax.hpp>
#include <brook/topic/text_pool.hpp>

namespace brook::detail {

struct NameEdge {
  SegmentKey key{};
  std::uint32_t parent = 0;
  std::uint32_t node = 0;

  [[nodiscard]] bool is_free() const noexcept { return node == 0; }
};

/// A trie of names, walked by patterns: the names that match one. Each name has the number of an
/// entry, which others keep. All edges are one hash table, so that a literal segment is one probe;
/// the children of a node are a linked list as well, for the wildcards.
///
/// Thread rule: const members may run concurrently. Strong exception guarantee.
template <TopicSyntax Syntax, class Hash>
class NameTree {
 public:
  using Split = SplitText<Syntax, Hash>;
  static constexpr std::uint32_t none = 0xffffffff;

  explicit NameTree(std::uint64_t seed) noexcept : edges_(seed) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return edges_.seed(); }
  /// Nodes beside the root.
  [[nodiscard]] std::size_t node_count() const noexcept { return edges_.size(); }
  [[nodiscard]] std::size_t memory_use() const noexcept {
    return edges_.memory_use() + nodes_.capacity() * sizeof(Node);
  }

  /// The entry of @p name, or none.
  [[nodiscard]] std::uint32_t find(const Split& name) const noexcept {
    if (nodes_.empty()) return none;
    std::uint32_t node = root;
    for (const TextSegment& segment : name) {
      const NameEdge* const edge = edges_.find(node, segment);
      if (edge == nullptr) return none;
      node = edge->node;
    }
    return nodes_[node].entry;
  }
  /// Adds @p name, which must not be there, and returns its node.
  /// @throws std::bad_alloc, also if there would be more than 2^32 nodes or 4 GiB of long segments
  std::uint32_t insert(const Split& name, std::uint32_t entry) {
    if (nodes_.size() + name.size() + 1 >= none) throw std::bad_alloc();
    reserve_sparingly(nodes_, name.size() + 1);
    edges_.reserve(name);
    // Nothing can fail from here on.
    if (nodes_.empty()) nodes_.emplace_back();
    std::uint32_t node = root;
    for (const TextSegment& segment : name) {
      const std::uint32_t parent = node;
      const NameEdge* const edge = edges_.find(parent, segment);
      if (edge != nullptr) {
        node = edge->node;
        continue;
      }
      node = take_node();
      edges_.insert(parent, segment, {.node = node});
      if (!is_hidden(parent, segment)) link(parent, node);
    }
    nodes_[node].entry = entry;
    return node;
  }
  /// Removes @p name, which must be there, and what no other one needs of its path.
  /// @throws std::bad_alloc, nothing done
  void erase(const Split& name) {
    InlineVector<std::uint32_t, 24> parents;
    std::uint32_t node = root;
    for (const TextSegment& segment : name) {
      parents.push_back(node);
      node = edges_.find(node, segment)->node;
    }
    nodes_[node].entry = none;
    for (std::size_t i = name.size(); i-- > 0;) {
      NameEdge* const edge = edges_.find(parents[i], name[i]);
      const Node& one = nodes_[edge->node];
      if (one.entry != none || one.first_child != none) return;
      if (!is_hidden(parents[i], name[i])) unlink(parents[i], edge->node);
      free_node(edge->node);
      edges_.erase(edge);
    }
  }
  /// Requires that a name ends in @p node.
  void set_entry(std::uint32_t node, std::uint32_t entry) noexcept { nodes_[node].entry = entry; }

  /// Appends the entries of all names that match @p pattern to @p found, each once.
  /// @throws std::bad_alloc
  template <class Found>
  void match(const Split& pattern, Found& found) const {
    if (nodes_.empty()) return;
    const PatternPath<Syntax> path(pattern);
    Nodes first, second;
    Nodes* here = &first;
    Nodes* next = &second;
    here->push_back(root);
    bool may_nest = false;  // whether one of `here` may be below another
    for (const TextSegment& step : path) {
      if (step.key == SegmentKey::multi_wildcard()) {
        add_all_below(*here, may_nest);
        may_nest = true;
        continue;
      }
      next->clear();
      for (const std::uint32_t node : *here) advance(node, step, *next);
      std::swap(here, next);
      if (here->empty()) return;
    }
    if (path.ends_in_multi()) add_all_below(*here, may_nest);
    for (const std::uint32_t node : *here) {
      if (nodes_[node].entry != none) found.push_back(nodes_[node].entry);
    }
  }

  /// Whether the nodes take several times the room they need.
  [[nodiscard]] bool is_sparse() const noexcept {
    return nodes_.capacity() > 64 && node_count() < nodes_.capacity() / 8;
  }
  /// Takes less room. Calls `renamed(entry, node)` for each name.
  /// @throws std::bad_alloc, nothing done
  template <class Renamed>
  void pack(const Renamed& renamed) {
    NameTree packed(seed());
    packed.nodes_.reserve(node_count() + 1);
    std::vector<std::uint32_t> names(nodes_.size(), none);  // the new ones of nodes
    std::vector<NameEdge> edges;
    edges.reserve(node_count());
    names[root] = root;
    std::uint32_t count = 1;
    edges_.for_each([&](const NameEdge& edge) {
      names[edge.node] = count++;
      edges.push_back(edge);
    });
    packed.nodes_.resize(count);
    const auto new_name = [&](std::uint32_t node) { return node == none ? none : names[node]; };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (names[i] == none) continue;
      const Node& node = nodes_[i];
      packed.nodes_[names[i]] = {.first_child = new_name(node.first_child),
                                 .next = new_name(node.next),
                                 .previous = new_name(node.previous),
                                 .entry = node.entry};
    }
    for (const NameEdge& edge : edges) {
      char buffer[16];
      const TextSegment segment = edges_.segment(edge, buffer);
      InlineVector<TextSegment, 1> one;
      one.push_back(segment);
      packed.edges_.reserve(one);
      packed.edges_.insert(names[edge.parent], segment, {.node = names[edge.node]});
    }
    *this = std::move(packed);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].entry != none) renamed(nodes_[i].entry, i);
    }
  }

 private:
  using Nodes = InlineVector<std::uint32_t, 32>;
  static constexpr std::uint32_t root = 0;

  struct Node {
    std::uint32_t first_child = none;
    std::uint32_t next = none;  ///< Of the same parent; in a free node the next free one.
    std::uint32_t previous = none;
    std::uint32_t entry = none;
  };

  /// Whether wildcards do not see the child with @p segment: then it is in no list.
  static bool is_hidden(std::uint32_t parent, const TextSegment& segment) noexcept {
    return Syntax::rules.hides_dollar && parent == root && segment.size != 0 &&
           *segment.text == '$';
  }
  void link(std::uint32_t parent, std::uint32_t node) noexcept {
    const std::uint32_t next = std::exchange(nodes_[parent].first_child, node);
    nodes_[node].next = next;
    if (next != none) nodes_[next].previous = node;
  }
  void unlink(std::uint32_t parent, std::uint32_t node) noexcept {
    const Node& one = nodes_[node];
    (one.previous == none ? nodes_[parent].first_child : nodes_[one.previous].next) = one.next;
    if (one.next != none) nodes_[one.next].previous = one.previous;
  }
  [[nodiscard]] std::uint32_t take_node() noexcept {
    if (first_free_ == none) {
      nodes_.emplace_back();
      return static_cast<std::uint32_t>(nodes_.size() - 1);
    }
    const std::uint32_t node = first_free_;
    first_free_ = std::exchange(nodes_[node].next, none);
    return node;
  }
  void free_node(std::uint32_t node) noexcept {
    nodes_[node] = {};
    nodes_[node].next = std::exchange(first_free_, node);
  }

  void add_children(std::uint32_t node, Nodes& nodes) const {
    for (std::uint32_t child = nodes_[node].first_child; child != none;
         child = nodes_[child].next) {
      nodes.push_back(child);
    }
  }
  void advance(std::uint32_t node, const TextSegment& step, Nodes& next) const {
    if (step.key == SegmentKey::single_wildcard()) return add_children(node, next);
    const NameEdge* const edge = edges_.find(node, step);
    if (edge != nullptr) next.push_back(edge->node);
  }
  /// Adds to @p nodes what is below them. @p may_nest says that some may be below others; these are
  /// in there already, and are left to themselves.
  void add_all_below(Nodes& nodes, bool may_nest) const {
    NumberSet known;
    if (may_nest) {
      for (const std::uint32_t node : nodes) known.insert(node);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::uint32_t child = nodes_[nodes[i]].first_child; child != none;
           child = nodes_[child].next) {
        if (!may_nest || !known.contains(child)) nodes.push_back(child);
      }
    }
  }

  SegmentEdges<NameEdge, Hash> edges_;
  std::vector<Node> nodes_{};  ///< The root first; none if there are no names.
  std::uint32_t first_free_ = none;
};

}  // namespace brook::detail
