#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <brook/topic/segments.hpp>
#include <brook/topic/syntax.hpp>

namespace brook {

/// What a `TopicTrie` can hold: movable, `==`, and a `std::hash`. Equal values are one subscriber.
/// Equality, hash, move and destruction must not throw once the value is in the trie.
template <class T>
concept TopicTrieValue = std::move_constructible<T> && std::equality_comparable<T> &&
    requires(const T& value) {
  { std::hash<T>{}(value) } -> std::convertible_to<std::size_t>;
};

/// An index of patterns: which subscribers want this topic? Holds pairs of pattern and value; a
/// match costs with the segments of the topic and the patterns that agree so far, not with the
/// number of patterns held.
///
/// Takes any bytes, empty segments included; with the AMQP dialect every text is a pattern and
/// every text a name. Two spellings of a pattern (`#.#` and `#`) are two patterns. What a broker
/// allows on top of that is `validate_pattern`'s business, and hiding internal topics is
/// `selects_topic`'s.
///
/// Not needed for one pattern against one name: that is `matches`. It answers "which patterns match
/// this name", not "which names match this pattern".
///
/// Thread rule: const members may run concurrently with each other; any other member needs the trie
/// alone. Movable, not copyable; a moved-from trie is empty. Strong exception guarantee.
///
///     brook::TopicTrie<int> trie;
///     trie.insert("orders.*.created", 1);
///     trie.insert("orders.#", 1);
///     trie.insert("returns.#", 2);
///     trie.match("orders.eu.created", [](int subscriber) { notify(subscriber); });  // 1, once
template <class Value, class Syntax = AmqpSyntax>
class TopicTrie {
  static_assert(TopicTrieValue<Value>, "a value must be movable, comparable by == and hashable");
  static_assert(TopicSyntax<Syntax>);

 public:
  TopicTrie() noexcept = default;
  TopicTrie(TopicTrie&& other) noexcept { swap(other); }
  TopicTrie& operator=(TopicTrie&& other) noexcept {
    TopicTrie taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~TopicTrie() = default;

  /// Adds the pair. False if it was there already.
  /// Complexity: O(size of pattern + values of that very pattern).
  bool insert(std::string_view pattern, Value value) {
    const ValueId id = intern(std::move(value));
    NodeId node = none;
    try {
      node = root();
      for (Cursor words(pattern); !words.at_end();) node = child_or_new(node, words.next());
      Node& end = nodes_[node];
      const auto place = std::lower_bound(end.values.begin(), end.values.end(), id);
      if (place != end.values.end() && *place == id) return false;
      if (end.values.empty()) end.pattern = pattern;
      end.values.insert(place, id);
    } catch (...) {
      if (node != none) prune(node);
      forget_if_unused(id);
      throw;
    }
    ++values_[id].uses;
    ++size_;
    return true;
  }

  /// Removes the pair. False if it was not there.
  /// Complexity: O(size of pattern + values of that very pattern).
  bool erase(std::string_view pattern, const Value& value) {
    const auto known = ids_.find(value);
    const NodeId node = known == ids_.end() ? none : find(pattern);
    if (node == none) return false;
    const ValueId id = known->second;
    auto& values = nodes_[node].values;
    const auto place = std::lower_bound(values.begin(), values.end(), id);
    if (place == values.end() || *place != id) return false;
    values.erase(place);
    release(id);
    prune(node);
    --size_;
    return true;
  }

  /// Removes every pair with exactly this pattern (not those it matches) and returns how many there
  /// were. Complexity: O(size of pattern + values removed).
  std::size_t erase(std::string_view pattern) {
    const NodeId node = find(pattern);
    if (node == none) return 0;
    const std::vector<ValueId> values = std::exchange(nodes_[node].values, {});
    for (const ValueId id : values) release(id);
    prune(node);
    size_ -= values.size();
    return values.size();
  }

  /// Removes everything and gives the memory back, which `erase` keeps for the next `insert`.
  void clear() noexcept { *this = TopicTrie(); }

  /// Pairs of pattern and value.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Nodes that hold the patterns, what the memory in use grows with; 0 if empty. For tests and
  /// metrics: how many nodes a pattern takes may change.
  [[nodiscard]] std::size_t node_count() const noexcept { return node_count_; }

  /// Calls `visitor(const Value&)` once for each distinct value that has a pattern which matches
  /// @p topic. The order is open, but the same after the same calls. The visitor must not change
  /// the trie; if it throws, the exception passes and the rest is not visited.
  ///
  /// Complexity: for each segment of the topic one probe for each prefix of a pattern that matches
  /// the topic up to there, shared prefixes once, however many `#` they have; and O(found × log
  /// found).
  template <class Visitor>
  requires std::invocable<Visitor&, const Value&>
  void match(std::string_view topic, Visitor&& visitor) const {
    std::vector<ValueId> found;
    std::size_t lists = 0;
    walk(topic, [&](const std::vector<ValueId>& values) {
      found.insert(found.end(), values.begin(), values.end());
      ++lists;
      return true;
    });
    if (lists > 1) {
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
    }
    for (const ValueId id : found) static_cast<void>(visitor(*values_[id].value));
  }

  /// Whether any pattern matches @p topic. Stops at the first one. Complexity: at most that of
  /// `match`.
  [[nodiscard]] bool matches_any(std::string_view topic) const {
    return !walk(topic, [](const std::vector<ValueId>&) { return false; });
  }

  /// Calls `visitor(std::string_view pattern, const Value&)` for each pair, the values of one
  /// pattern in succession. The order is open, but the same after the same calls. The visitor must
  /// not change the trie, and what it gets is valid during its call.
  template <class Visitor>
  requires std::invocable<Visitor&, std::string_view, const Value&>
  void for_each(Visitor&& visitor) const {
    for (const Node& node : nodes_) {
      for (const ValueId id : node.values) {
        static_cast<void>(visitor(std::string_view(node.pattern), *values_[id].value));
      }
    }
  }

 private:
  using Cursor = detail::SegmentCursor<Syntax>;
  using NodeId = std::uint32_t;
  using ValueId = std::uint32_t;
  static constexpr std::uint32_t none = 0xffffffff;
  static constexpr NodeId root_id = 0;

  /// A segment to look up below a node.
  struct ChildView {
    NodeId parent;
    std::size_t hash;
    std::string_view segment;
  };
  struct ChildKey {
    explicit ChildKey(const ChildView& view)
        : parent(view.parent), hash(view.hash), segment(view.segment) {}
    NodeId parent;
    std::size_t hash;
    std::string segment;
  };
  struct ChildHash {
    using is_transparent = void;
    std::size_t operator()(const ChildView& child) const noexcept { return child.hash; }
    std::size_t operator()(const ChildKey& child) const noexcept { return child.hash; }
  };
  struct ChildEqual {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return a.hash == b.hash && a.parent == b.parent &&
             std::string_view(a.segment) == std::string_view(b.segment);
    }
  };

  /// The end of a pattern, of a prefix of one, or free. Wildcard children are links, literal ones
  /// are found in `children_`: so a published `*` never follows the wildcard's edge.
  struct Node {
    NodeId parent = none;  ///< In a free node the next free one.
    NodeId single_child = none;
    NodeId multi_child = none;
    std::uint32_t literal_children = 0;
    bool below_multi = false;       ///< A multi wildcard is above it, at any distance.
    const ChildKey* key = nullptr;  ///< Its entry in `children_`, if it is a literal child.
    std::vector<ValueId> values{};  ///< Ascending.
    std::string pattern{};          ///< If there are values.
  };
  struct KnownValue {
    const Value* value = nullptr;  ///< The key in `ids_`, null if the id is free.
    std::uint32_t uses = 0;
    ValueId next_free = none;
  };

  static std::size_t segment_hash(std::string_view segment) noexcept {
    return std::hash<std::string_view>{}(segment);
  }
  static ChildView child_view(NodeId parent, std::size_t hash, std::string_view segment) noexcept {
    return {parent, hash + parent * static_cast<std::size_t>(0x9e3779b97f4a7c15ULL), segment};
  }

  // -------------------------------------------------------------------------------------- matching

  /// Where prefixes of patterns end that match the beginning of the topic.
  struct States {
    std::vector<NodeId> here{};            ///< Matches all that was read.
    std::vector<NodeId> next{};            ///< Matches that and the segment being read.
    std::vector<NodeId> multi{};           ///< Ends in a multi wildcard: matches all that follows.
    std::unordered_set<NodeId> entered{};  ///< Multi wildcards below another one, once entered.
  };

  /// Calls emit(values) for each pattern that matches, until that returns false; then so does this.
  template <class Emit>
  bool walk(std::string_view topic, const Emit& emit) const {
    if (size_ == 0) return true;
    States states;
    if (!enter(states, root_id, emit)) return false;
    for (Cursor segments(topic); !segments.at_end();) {
      states.here.swap(states.next);
      states.next.clear();
      if (states.here.empty() && states.multi.empty()) return true;
      const std::string_view segment = segments.next();
      const std::size_t hash = segment_hash(segment);
      // A multi wildcard entered while this segment is read begins behind it.
      const std::size_t multi_count = states.multi.size();
      for (const NodeId node : states.here) {
        if (!step(states, node, segment, hash, emit)) return false;
      }
      for (std::size_t i = 0; i < multi_count; ++i) {
        if (!step(states, states.multi[i], segment, hash, emit)) return false;
      }
    }
    for (const NodeId node : states.next) {
      if (!nodes_[node].values.empty() && !emit(nodes_[node].values)) return false;
    }
    return true;
  }

  /// Enters the children of @p from that take @p segment.
  template <class Emit>
  bool step(States& states, NodeId from, std::string_view segment, std::size_t hash,
            const Emit& emit) const {
    const Node& node = nodes_[from];
    if (node.single_child != none && !enter(states, node.single_child, emit)) return false;
    if (node.literal_children == 0) return true;
    const auto literal = children_.find(child_view(from, hash, segment));
    return literal == children_.end() || enter(states, literal->second, emit);
  }

  /// A node is reached from its parent alone, so it is entered twice at one place only if its
  /// parent is. A multi wildcard stays once it is entered; being entered again, further on, adds
  /// nothing, and happens only below another one. So every node is entered at most once at every
  /// place.
  template <class Emit>
  bool enter(States& states, NodeId entered, const Emit& emit) const {
    states.next.push_back(entered);
    for (NodeId id = nodes_[entered].multi_child; id != none; id = nodes_[id].multi_child) {
      const Node& node = nodes_[id];
      if (node.below_multi && !states.entered.insert(id).second) break;
      if (!node.values.empty() && !emit(node.values)) return false;
      if (node.single_child != none || node.literal_children != 0) states.multi.push_back(id);
    }
    return true;
  }

  // ----------------------------------------------------------------------------------------- nodes

  [[nodiscard]] NodeId root() {
    if (nodes_.empty()) nodes_.emplace_back();
    return root_id;
  }

  /// The node of exactly this pattern, or none.
  [[nodiscard]] NodeId find(std::string_view pattern) const {
    NodeId node = nodes_.empty() ? none : root_id;
    for (Cursor words(pattern); node != none && !words.at_end();) {
      const std::string_view word = words.next();
      if (detail::is_single_wildcard<Syntax>(word)) {
        node = nodes_[node].single_child;
      } else if (detail::is_multi_wildcard<Syntax>(word)) {
        node = nodes_[node].multi_child;
      } else {
        const auto literal = children_.find(child_view(node, segment_hash(word), word));
        node = literal == children_.end() ? none : literal->second;
      }
    }
    return node;
  }

  [[nodiscard]] NodeId child_or_new(NodeId parent, std::string_view word) {
    reserve_node();
    const bool is_single = detail::is_single_wildcard<Syntax>(word);
    if (is_single || detail::is_multi_wildcard<Syntax>(word)) {
      NodeId& child = is_single ? nodes_[parent].single_child : nodes_[parent].multi_child;
      if (child == none) child = take_node(parent, nullptr);
      return child;
    }
    const ChildView child = child_view(parent, segment_hash(word), word);
    const auto known = children_.find(child);
    if (known != children_.end()) return known->second;
    const auto added = children_.emplace(ChildKey(child), free_node_).first;
    ++nodes_[parent].literal_children;
    return take_node(parent, &added->first);
  }

  /// Makes sure that `take_node` has one, so that only this can throw.
  void reserve_node() {
    if (free_node_ != none) return;
    nodes_.emplace_back();
    free_node_ = static_cast<NodeId>(nodes_.size() - 1);
  }

  [[nodiscard]] NodeId take_node(NodeId parent, const ChildKey* key) noexcept {
    const NodeId id = free_node_;
    const Node& above = nodes_[parent];
    const bool parent_is_multi = above.parent != none && nodes_[above.parent].multi_child == parent;
    free_node_ = nodes_[id].parent;
    nodes_[id].parent = parent;
    nodes_[id].key = key;
    nodes_[id].below_multi = above.below_multi || parent_is_multi;
    ++node_count_;
    return id;
  }

  /// Frees @p id and the nodes above it as far as no pattern needs them.
  void prune(NodeId id) noexcept {
    while (true) {
      Node& node = nodes_[id];
      if (!node.values.empty()) return;
      node.pattern.clear();
      node.pattern.shrink_to_fit();
      if (id == root_id || node.literal_children != 0 || node.single_child != none ||
          node.multi_child != none) {
        return;
      }
      const NodeId parent = node.parent;
      unlink(id);
      node = Node{};
      node.parent = free_node_;
      free_node_ = id;
      --node_count_;
      id = parent;
    }
  }

  void unlink(NodeId id) noexcept {
    const Node& node = nodes_[id];
    Node& parent = nodes_[node.parent];
    if (node.key != nullptr) {
      --parent.literal_children;
      children_.erase(children_.find(*node.key));
    } else if (parent.single_child == id) {
      parent.single_child = none;
    } else {
      parent.multi_child = none;
    }
  }

  // ---------------------------------------------------------------------------------------- values

  /// The id of @p value, a new one with no uses if it is not known.
  [[nodiscard]] ValueId intern(Value&& value) {
    if (free_value_ == none) {
      values_.emplace_back();
      free_value_ = static_cast<ValueId>(values_.size() - 1);
    }
    const auto [known, added] = ids_.try_emplace(std::move(value), free_value_);
    if (added) {
      const ValueId id = free_value_;
      free_value_ = std::exchange(values_[id].next_free, none);
      values_[id].value = &known->first;
    }
    return known->second;
  }

  void release(ValueId id) noexcept {
    --values_[id].uses;
    forget_if_unused(id);
  }

  void forget_if_unused(ValueId id) noexcept {
    if (values_[id].uses != 0) return;
    ids_.erase(ids_.find(*values_[id].value));
    values_[id].value = nullptr;
    values_[id].next_free = std::exchange(free_value_, id);
  }

  void swap(TopicTrie& other) noexcept {
    nodes_.swap(other.nodes_);
    children_.swap(other.children_);
    values_.swap(other.values_);
    ids_.swap(other.ids_);
    std::swap(free_node_, other.free_node_);
    std::swap(free_value_, other.free_value_);
    std::swap(node_count_, other.node_count_);
    std::swap(size_, other.size_);
  }

  std::vector<Node> nodes_{};  ///< Empty until the first insert; then the first is the root.
  std::unordered_map<ChildKey, NodeId, ChildHash, ChildEqual> children_{};
  std::vector<KnownValue> values_{};
  std::unordered_map<Value, ValueId> ids_{};
  NodeId free_node_ = none;
  ValueId free_value_ = none;
  std::size_t node_count_ = 0;
  std::size_t size_ = 0;
};

}  // namespace brook
