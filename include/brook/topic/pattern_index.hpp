#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/probe_table.hpp>
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

struct PathStep : TextSegment {
  std::uint32_t parent = 0;  ///< The node it goes out from, once it was looked for.
};

/// The path of a pattern with wildcards in the form in which it is stored. Within a run of
/// wildcards their order makes no difference: `#.*` and `*.#` are both "one or more". So a run
/// becomes its single wildcards and then one multi wildcard that matches nothing as well; where the
/// dialect says that a multi wildcard takes one segment at least, it is a single and a multi one.
/// One at the end is no step of its own.
template <TopicSyntax Syntax>
class PatternPath {
 public:
  /// @throws std::bad_alloc
  template <class Split>
  PatternPath(const Split& pattern, const TextSegment& single, const TextSegment& multi) {
    for (const TextSegment& segment : pattern) {
      if (is_character(segment, Syntax::multi_wildcard)) {
        if constexpr (!Syntax::rules.multi_matches_none) steps_.push_back({single});
        ends_in_multi_ = true;
        is_literal_ = false;
      } else if (is_character(segment, Syntax::single_wildcard)) {
        steps_.push_back({single});
        is_literal_ = false;
      } else {
        if (std::exchange(ends_in_multi_, false)) steps_.push_back({multi});
        steps_.push_back({segment});
      }
    }
  }

  /// Without a wildcard.
  [[nodiscard]] bool is_literal() const noexcept { return is_literal_; }
  [[nodiscard]] bool ends_in_multi() const noexcept { return ends_in_multi_; }
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  [[nodiscard]] PathStep& operator[](std::size_t index) noexcept { return steps_[index]; }
  [[nodiscard]] PathStep* begin() noexcept { return steps_.begin(); }
  [[nodiscard]] PathStep* end() noexcept { return steps_.end(); }
  [[nodiscard]] const PathStep* begin() const noexcept { return steps_.begin(); }
  [[nodiscard]] const PathStep* end() const noexcept { return steps_.end(); }

 private:
  static bool is_character(const TextSegment& segment, char c) noexcept {
    return segment.size == 1 && *segment.text == c;
  }

  InlineVector<PathStep, 24> steps_{};
  bool is_literal_ = true;
  bool ends_in_multi_ = false;
};

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
  static constexpr std::uint32_t none = 0xffffffff;
  static_assert(none == PatternEdge::no_list && none == IdTable::none);

  static constexpr NodeState has_literals = 1;
  static constexpr NodeState has_single = 2;
  static constexpr NodeState has_multi = 4;
  static constexpr NodeState is_below_multi = 8;  ///< So it may be reached at several places.
  static constexpr NodeState has_children = has_literals | has_single | has_multi;
  static constexpr unsigned flag_bits = 4;

  explicit PatternIndex(std::uint64_t seed) noexcept
      : seed_(seed),
        single_(wildcard(SegmentKey::single_wildcard(), seed)),
        multi_(wildcard(SegmentKey::multi_wildcard(), seed)) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
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

  [[nodiscard]] Path path(const Split& pattern) const { return Path(pattern, single_, multi_); }
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
      edge = find_edge(parent, step);
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

  [[nodiscard]] static std::uint32_t edge_hash(std::uint32_t parent,
                                               std::uint64_t segment_hash) noexcept {
    return static_cast<std::uint32_t>(((segment_hash ^ (parent * first_mixer)) * second_mixer) >>
                                      32);
  }
  void prefetch_edge(std::uint32_t hash) const noexcept { edges_.prefetch(hash); }
  /// The edge below @p parent with the segment @p step, null if there is none. @p hash is their
  /// `edge_hash`.
  [[nodiscard]] const PatternEdge* find_edge(std::uint32_t hash, std::uint32_t parent,
                                             const TextSegment& step) const noexcept {
    return edges_.find(hash, [&](const PatternEdge& edge) {
      return edge.parent == parent && is_same(edge.key, step);
    });
  }

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

  static TextSegment wildcard(const SegmentKey& key, std::uint64_t seed) noexcept {
    return {.key = key, .hash = hash_of_key(key, seed)};
  }
  [[nodiscard]] bool is_same(const SegmentKey& key, const TextSegment& segment) const noexcept {
    if (key.low != segment.key.low) return false;
    if (!segment.key.is_long()) return key.high == segment.key.high;
    return key.high >> 32 == segment.key.high >> 32 &&
           texts_.view(key.place(), key.size()) == std::string_view(segment.text, segment.size);
  }
  [[nodiscard]] auto hash_of() const noexcept {
    return [seed = seed_](const PatternEdge& edge) noexcept {
      std::uint64_t hash = edge.key.low;
      if (!edge.key.is_long()) {
        if (std::same_as<Hash, SegmentHash> || edge.key.is_wildcard()) {
          hash = hash_of_key(edge.key, seed);
        } else {
          char buffer[16];
          hash = Hash{}(edge.key.text(buffer), seed);
        }
      }
      return edge_hash(edge.parent, hash);
    };
  }
  [[nodiscard]] PatternEdge* find_edge(std::uint32_t parent, const TextSegment& step) noexcept {
    const std::uint32_t hash = edge_hash(parent, step.hash);
    return const_cast<PatternEdge*>(std::as_const(*this).find_edge(hash, parent, step));
  }

  // ----------------------------------------------------------------------------------------- nodes

  /// Makes room for all that `insert` may need, so that nothing fails half-way.
  void reserve(const Split& pattern, const Path& path) {
    std::size_t cost = TextPool::cost(pattern.text().size());
    if (!path.is_literal()) {
      for (const TextSegment& step : path) {
        if (step.key.is_long()) cost += TextPool::cost(step.size);
      }
      if (literal_children_.size() + path.size() >= most_nodes) throw std::bad_alloc();
      edges_.reserve(path.size(), hash_of());
      reserve_sparingly(literal_children_, path.size() + 1);
    }
    texts_.reserve(cost);
    texts_by_hash_.reserve(1);
    if (free_record_ == none) reserve_sparingly(records_);
  }
  void link(const Path& path) noexcept {
    if (literal_children_.empty()) literal_children_.push_back(0);  // of the root
    NodeState* parent = &root_;
    bool below_multi = false;
    for (const TextSegment& step : path) {
      const std::uint32_t parent_id = *parent >> flag_bits;
      PatternEdge* edge = find_edge(parent_id, step);
      if (edge == nullptr) {
        edge =
            edges_.insert(edge_hash(parent_id, step.hash),
                          {.key = stored(step),
                           .parent = parent_id,
                           .node = take_node() << flag_bits | (below_multi ? is_below_multi : 0)});
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
  [[nodiscard]] SegmentKey stored(const TextSegment& step) noexcept {
    if (!step.key.is_long()) return step.key;
    const std::uint32_t place = texts_.add({step.text, step.size});
    return SegmentKey::of_long(step.hash, step.size, place);
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
      parent = find_edge(parent, step)->node >> flag_bits;
    }
    for (std::size_t i = path.size(); i-- > 0;) {
      const PathStep& step = path[i];
      PatternEdge* const edge = find_edge(step.parent, step);
      if (edge->end_list != none || edge->tail_list != none || (edge->node & has_children) != 0) {
        return;
      }
      if (edge->key.is_long()) texts_.remove(edge->key.place(), step.size);
      const std::uint32_t node = edge->node >> flag_bits;
      literal_children_[node] = std::exchange(free_node_, node);
      edges_.erase(edge, hash_of());
      if (!step.key.is_wildcard() && --literal_children_[step.parent] != 0) continue;
      NodeState& above = i == 0 ? root_ : find_edge(path[i - 1].parent, path[i - 1])->node;
      above &= ~flag_of(step.key);
    }
  }

  std::uint64_t seed_;
  TextSegment single_;
  TextSegment multi_;
  TextPool texts_{};
  std::vector<Record> records_{};
  PatternId free_record_ = none;
  IdTable texts_by_hash_{};
  ProbeTable<PatternEdge> edges_{};
  std::vector<std::uint32_t> literal_children_{};  ///< By node; in a free one the next free one.
  std::uint32_t free_node_ = 0;
  NodeState root_ = 0;
  std::uint32_t root_tail_ = none;
};

}  // namespace brook::detail
