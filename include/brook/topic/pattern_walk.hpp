#pragma once

#include <cstddef>
#include <cstdint>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/number_set.hpp>
#include <brook/topic/pattern_index.hpp>
#include <brook/topic/segment_key.hpp>

namespace brook::detail {

/// One topic on its way through a `PatternIndex`: finds the lists of all patterns that match it.
///
/// Goes through the topic once, segment by segment, with the set of all nodes that match what was
/// read so far. A multi wildcard in the middle of a pattern is a node that remains in the set. Any
/// node is entered at most once at each segment, because its parent is: so the work is at most
/// segments × nodes, however many multi wildcards there are.
template <class Index>
class PatternWalk {
 public:
  using Split = typename Index::Split;
  using Lists = InlineVector<std::uint32_t, 32>;

  /// Requires that @p index and @p topic outlive this and that @p topic was cut with its seed.
  PatternWalk(const Index& index, const Split& topic) noexcept : index_(index), topic_(topic) {}

  /// Appends the numbers of the lists to @p found, each once; with @p any_will_do not all of them,
  /// but one if there is one. @p hides_root leaves out patterns that begin with a wildcard.
  /// @throws std::bad_alloc
  void run(Lists& found, bool hides_root, bool any_will_do) {
    index_.prefetch_literal(topic_);
    start(found, hides_root);
    for (std::size_t i = 0; i < topic_.size(); ++i) {
      if (any_will_do && !found.empty()) return;
      if (here_.empty() && multis_.empty()) break;
      step(found, topic_[i], i + 1 == topic_.size());
    }
    const std::uint32_t literal = index_.literal_list(topic_);
    if (literal != Index::none) found.push_back(literal);
  }

 private:
  struct Candidate {
    const TextSegment* segment;
    std::uint32_t parent;
    std::uint32_t hash;
  };

  void start(Lists& found, bool hides_root) {
    NodeState root = index_.root();
    if (hides_root) root &= ~(Index::has_single | Index::has_multi);
    if (!hides_root && index_.root_tail() != Index::none) found.push_back(index_.root_tail());
    if ((root & Index::has_multi) != 0) enter_multi(root);
    if ((root & (Index::has_literals | Index::has_single)) != 0) here_.push_back(root);
  }
  /// Enters all nodes that @p segment leads to. Their edges are asked for together, so that waiting
  /// for memory overlaps.
  void step(Lists& found, const TextSegment& segment, bool is_last) {
    candidates_.clear();
    for (const NodeState node : here_) {
      if ((node & Index::has_literals) != 0) ask(node >> Index::flag_bits, segment);
      if ((node & Index::has_single) != 0) ask(node >> Index::flag_bits, index_.single());
    }
    for (const std::uint32_t node : multis_) ask(node, segment);
    here_.clear();
    for (const Candidate& one : candidates_) {
      const PatternEdge* const edge = index_.edges().find(one.hash, one.parent, *one.segment);
      if (edge != nullptr) enter(found, *edge, is_last);
    }
  }
  void ask(std::uint32_t parent, const TextSegment& segment) {
    const std::uint32_t hash = Index::Edges::hash(parent, segment.hash);
    index_.edges().prefetch(hash);
    candidates_.push_back({&segment, parent, hash});
  }
  void enter(Lists& found, const PatternEdge& edge, bool is_last) {
    const NodeState node = edge.node;
    if (edge.tail_list != Index::none &&
        ((node & Index::is_below_multi) == 0 || is_new(node, tail_mark))) {
      found.push_back(edge.tail_list);
    }
    if (is_last) {
      if (edge.end_list != Index::none) found.push_back(edge.end_list);
      return;
    }
    if ((node & (Index::has_literals | Index::has_single)) != 0) here_.push_back(node);
    if ((node & Index::has_multi) != 0) enter_multi(node);
  }
  /// Enters the multi wildcard below @p node, which begins at the segment to be read next. Entered
  /// again, further on, it adds nothing.
  void enter_multi(NodeState node) {
    if ((node & Index::is_below_multi) != 0 && !is_new(node, multi_mark)) return;
    const std::uint32_t parent = node >> Index::flag_bits;
    multis_.push_back(index_.edges().find(parent, index_.multi())->node >> Index::flag_bits);
  }
  bool is_new(NodeState node, std::uint32_t mark) {
    return seen_.insert((node & ~Index::has_children & ~Index::is_below_multi) | mark);
  }
  static constexpr std::uint32_t tail_mark = 1;
  static constexpr std::uint32_t multi_mark = 2;

  const Index& index_;
  const Split& topic_;
  InlineVector<NodeState, 32> here_{};
  InlineVector<std::uint32_t, 16> multis_{};  ///< Multi wildcards: all have literal children only.
  InlineVector<Candidate, 32> candidates_{};
  NumberSet seen_{};
};

}  // namespace brook::detail
