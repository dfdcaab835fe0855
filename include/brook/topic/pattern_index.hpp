#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/topic/pattern_path.hpp>
#include <brook/topic/probe_table.hpp>
#include <brook/topic/segment_edges.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/split_text.hpp>
#include <brook/topic/syntax.hpp>
#include <brook/topic/text_pool.hpp>

namespace brook::detail {

/// Where patterns with wildcards go on from: the number of a node and, in its low 4 bits, what is
/// below it.
using NodeState = std::uint32_t;

/// The way from a node to one of its children, and that child: half a cache line. There are no
/// nodes beside the edges that lead to them.
struct alignas(32) PatternEdge {
  static constexpr std::uint32_t no_list = 0xffffffff;

  SegmentKey key{};
  std::uint32_t parent = 0;
  NodeState node = 0;
  std::uint32_t end_list = no_list;   ///< Of the patterns that end in this node.
  std::uint32_t tail_list = no_list;  ///< Of those that have a multi wildcard behind it, and end.

  [[nodiscard]] bool is_free() const noexcept { return node == 0; }
};
static_assert(sizeof(PatternEdge) == 32);

/// Patterns, each with the number of a list, which others keep. Texts of patterns are found in one
/// hash table; those with wildcards are also paths in a trie, all of whose edges are one more hash
/// table with the keys (node, segment). `PatternWalk` finds in it what matches a topic.
///
/// Segments are compared byte for byte, their hashes only say where to look.
///
/// Thread rule: const members may run concurrently. Strong exception guarantee.
template <TopicSyntax Syntax, class Hash>
class PatternIndex {
 public:
  using PatternId = std::uint32_t;
  using Split = SplitText<Syntax, Hash>;
  using Path = PatternPath<Syntax>;
  using Edges = SegmentEdges<PatternEdge, Hash>;
  static constexpr std::uint32_t none = 0xffffffff;
  static_assert(none == PatternEdge::no_list && none == IdTable::none);

  static constexpr NodeState has_literals = 1;
  static constexpr NodeState has_single = 2;
  static constexpr NodeState has_multi = 4;
  static constexpr NodeState is_below_multi = 8;  ///< So it may be reached at several places.
  static constexpr NodeState has_children = has_literals | has_single | has_multi;
  static constexpr unsigned flag_bits = 4;

  explicit PatternIndex(std::uint64_t seed) noexcept
      : single_(wildcard(SegmentKey::single_wildcard(), seed)),
        multi_(wildcard(SegmentKey::multi_wildcard(), seed)),
        edges_(seed) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return edges_.seed(); }
  /// Patterns.
  [[nodiscard]] std::size_t size() const noexcept { return texts_by_hash_.size(); }
  /// Patterns there were at most since this began.
  [[nodiscard]] std::size_t places() const noexcept { return records_.size(); }
  [[nodiscard]] std::size_t node_count() const noexcept { return edges_.size(); }
  [[nodiscard]] std::size_t memory_use() const noexcept {
    return texts_.memory_use() + records_.capacity() * sizeof(Record) +
           texts_by_hash_.memory_use() + edges_.memory_use() +
           literal_children_.capacity() * sizeof(std::uint32_t);
  }

  // -------------------------------------------------------------------------------------- patterns

  /// The id of exactly this text, or none.
  [[nodiscard]] PatternId find(const Split& pattern) const noexcept {
    return texts_by_hash_.find(pattern.hash(),
                               [&](PatternId id) { return text(id) == pattern.text(); });
  }
  [[nodiscard]] std::string_view text(PatternId id) const noexcept {
    return texts_.view(records_[id].text, records_[id].size());
  }
  /// The number of the list of the pattern @p id, which @p path is of; valid until the next change.
  [[nodiscard]] std::uint32_t& list(PatternId id, const Path& path) noexcept {
    if (path.is_literal()) return records_[id].list_or_count;
    if (path.size() == 0) return root_tail_;
    PatternEdge* edge = nullptr;
    std::uint32_t parent = 0;
    for (const TextSegment& step : path) {
      edge = edges_.find(parent, step);
      parent = edge->node >> flag_bits;
    }
    return path.ends_in_multi() ? edge->tail_list : edge->end_list;
  }
  /// Adds a pattern that is not there. Its list is empty, unless another spelling of it is there.
  /// @throws std::bad_alloc, also if there would be more than 2^28 nodes or 4 GiB of text
  PatternId insert(const Split& pattern, const Path& path) {
    reserve(pattern, path);
    PatternId id = free_record_;
    if (id == none) {
      id = static_cast<PatternId>(records_.size());
      records_.emplace_back();
    } else {
      free_record_ = records_[id].list_or_count;
    }
    Record& record = records_[id];
    record.text = texts_.add(pattern.text());
    record.size_and_kind =
        static_cast<std::uint32_t>(pattern.text().size()) | (path.is_literal() ? 0 : wildcard_bit);
    record.list_or_count = path.is_literal() ? none : 0;
    texts_by_hash_.insert(pattern.hash(), id);
    if (!path.is_literal()) link(path);
    return id;
  }
  /// Removes a pattern, and of its path what no other one needs. Its list must be empty but for
  /// other spellings.
  void remove(PatternId id, const Split& pattern, Path& path) noexcept {
    texts_by_hash_.erase(pattern.hash(), id);
    texts_.remove(records_[id].text, records_[id].size());
    records_[id] = {none, 0, free_record_};
    free_record_ = id;
    if (!path.is_literal()) prune(path);
  }

  /// How many subscribers a pattern has in its list; counted only for those with wildcards, whose
  /// list may have others.
  [[nodiscard]] std::uint32_t& count(PatternId id) noexcept { return records_[id].list_or_count; }

  /// Calls `visit(id)` for each pattern.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (PatternId id = 0; id < records_.size(); ++id) {
      if (records_[id].text != none) visit(id);
    }
  }
  /// Calls `visit(list)` with a reference to the number of each list that is not empty.
  template <class Visit>
  void for_each_list(const Visit& visit) {
    const auto visit_if_any = [&](std::uint32_t& list) {
      if (list != none) visit(list);
    };
    visit_if_any(root_tail_);
    edges_.for_each([&](PatternEdge& edge) {
      visit_if_any(edge.end_list);
      visit_if_any(edge.tail_list);
    });
    for (Record& record : records_) {
      if (record.text != none && record.is_literal()) visit_if_any(record.list_or_count);
    }
  }

  // -------------------------------------------------------------------------------------- matching

  /// The list of the literal pattern that is @p topic itself, or none.
  [[nodiscard]] std::uint32_t literal_list(const Split& topic) const noexcept {
    const PatternId id = texts_by_hash_.find(topic.hash(), [&](PatternId one) {
      return records_[one].is_literal() && text(one) == topic.text();
    });
    return id == none ? none : records_[id].list_or_count;
  }
  void prefetch_literal(const Split& topic) const noexcept {
    texts_by_hash_.prefetch(topic.hash());
  }

  [[nodiscard]] NodeState root() const noexcept { return root_; }
  [[nodiscard]] std::uint32_t root_tail() const noexcept { return root_tail_; }
  [[nodiscard]] const TextSegment& single() const noexcept { return single_; }
  [[nodiscard]] const TextSegment& multi() const noexcept { return multi_; }

  [[nodiscard]] const Edges& edges() const noexcept { return edges_; }

 private:
  static constexpr std::uint32_t wildcard_bit = 0x8000'0000;
  static constexpr std::uint32_t most_nodes = 1U << (32 - flag_bits);

  struct Record {
    std::uint32_t text = none;  ///< Its place; none in a free record.
    std::uint32_t size_and_kind = 0;
    /// A literal pattern's list, the count of one with wildcards, the next free record.
    std::uint32_t list_or_count = none;

    [[nodiscard]] std::size_t size() const noexcept { return size_and_kind & ~wildcard_bit; }
    [[nodiscard]] bool is_literal() const noexcept { return (size_and_kind & wildcard_bit) == 0; }
  };

  // ----------------------------------------------------------------------------------------- nodes

  /// Makes room for all that `insert` may need, so that nothing fails half-way.
  void reserve(const Split& pattern, const Path& path) {
    if (!path.is_literal()) {
      if (literal_children_.size() + path.size() >= most_nodes) throw std::bad_alloc();
      edges_.reserve(path);
      reserve_sparingly(literal_children_, path.size() + 1);
    }
    texts_.reserve(TextPool::cost(pattern.text().size()));
    texts_by_hash_.reserve(1);
    if (free_record_ == none) reserve_sparingly(records_);
  }
  void link(const Path& path) noexcept {
    if (literal_children_.empty()) literal_children_.push_back(0);  // of the root
    NodeState* parent = &root_;
    bool below_multi = false;
    for (const TextSegment& step : path) {
      const std::uint32_t parent_id = *parent >> flag_bits;
      PatternEdge* edge = edges_.find(parent_id, step);
      if (edge == nullptr) {
        edge =
            edges_.insert(parent_id, step,
                          {.node = take_node() << flag_bits | (below_multi ? is_below_multi : 0)});
        *parent |= flag_of(step.key);
        if (!step.key.is_wildcard()) ++literal_children_[parent_id];
      }
      below_multi |= step.key == multi_.key;
      parent = &edge->node;
    }
  }
  static NodeState flag_of(const SegmentKey& key) noexcept {
    if (!key.is_wildcard()) return has_literals;
    return key == SegmentKey::single_wildcard() ? has_single : has_multi;
  }
  [[nodiscard]] std::uint32_t take_node() noexcept {
    if (free_node_ == 0) {
      literal_children_.push_back(0);
      return static_cast<std::uint32_t>(literal_children_.size() - 1);
    }
    const std::uint32_t id = free_node_;
    free_node_ = std::exchange(literal_children_[id], 0);
    return id;
  }
  /// Removes the nodes at the end of @p path that lead nowhere.
  void prune(Path& path) noexcept {
    std::uint32_t parent = 0;
    for (PathStep& step : path) {
      step.parent = parent;
      parent = edges_.find(parent, step)->node >> flag_bits;
    }
    for (std::size_t i = path.size(); i-- > 0;) {
      const PathStep& step = path[i];
      PatternEdge* const edge = edges_.find(step.parent, step);
      if (edge->end_list != none || edge->tail_list != none || (edge->node & has_children) != 0) {
        return;
      }
      const std::uint32_t node = edge->node >> flag_bits;
      literal_children_[node] = std::exchange(free_node_, node);
      edges_.erase(edge);
      if (!step.key.is_wildcard() && --literal_children_[step.parent] != 0) continue;
      NodeState& above = i == 0 ? root_ : edges_.find(path[i - 1].parent, path[i - 1])->node;
      above &= ~flag_of(step.key);
    }
  }

  TextSegment single_;
  TextSegment multi_;
  Edges edges_;
  TextPool texts_{};
  std::vector<Record> records_{};
  PatternId free_record_ = none;
  IdTable texts_by_hash_{};
  std::vector<std::uint32_t> literal_children_{};  ///< By node; in a free one the next free one.
  std::uint32_t free_node_ = 0;
  NodeState root_ = 0;
  std::uint32_t root_tail_ = none;
};

}  // namespace brook::detail
