#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/name_tree.hpp>
#include <brook/topic/pattern.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/syntax.hpp>
#include <brook/topic/text_pool.hpp>
#include <brook/topic/topic_index_options.hpp>

namespace brook {

/// An index of topics: which of them match this pattern? The reverse of `TopicTrie`. Holds a value
/// for each topic; a match costs with what is found and the segments of the pattern, not with the
/// number of topics held.
///
/// Topics and patterns are texts of the dialect `Syntax`. As with `TopicTrie`, what a broker allows
/// on top of that, and hiding internal topics, is the broker's business.
///
/// Not needed for one pattern against one topic: that is `matches`.
///
/// Thread rule: const members may run concurrently with each other; any other member needs the
/// index alone. Movable, not copyable; a moved-from index is empty. Strong exception guarantee.
///
///     brook::TopicNames<int> names;
///     names.insert("orders.eu.created", 1);
///     names.insert("orders.us.created", 2);
///     names.match("orders.*.created", [](int topic) { open(topic); });  // 1 and 2
template <class Value, class Syntax = AmqpSyntax, class Hash = SegmentHash>
class TopicNames {
  static_assert(std::is_nothrow_move_constructible_v<Value> &&
                    std::is_nothrow_move_assignable_v<Value>,
                "a value must be movable without exceptions");
  static_assert(TopicSyntax<Syntax>);
  static_assert(TopicHash<Hash>);

 public:
  TopicNames() : TopicNames(TopicIndexOptions{}) {}
  /// @throws InvalidArgument if a limit is 0, or the one of the size over 16 MiB
  explicit TopicNames(const TopicIndexOptions& options)
      : limits_(detail::checked(options.limits)), tree_(detail::seed_for(this, options)) {}
  TopicNames(TopicNames&& other) noexcept : limits_(other.limits_), tree_(other.tree_.seed()) {
    swap(other);
  }
  TopicNames& operator=(TopicNames&& other) noexcept {
    TopicNames taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~TopicNames() = default;

  /// Adds a topic. False if it was there already; it keeps its value then.
  /// Complexity: O(size of topic), amortised.
  /// @throws InvalidTopicName
  bool insert(std::string_view topic, Value value) {
    check_size(topic);
    const Split split(topic, tree_.seed());
    detail::check_topic<Syntax>(split, limits_);
    if (tree_.find(split) != Tree::none) return false;
    detail::reserve_sparingly(entries_);
    const auto node = tree_.insert(split, static_cast<std::uint32_t>(entries_.size()));
    entries_.push_back({std::move(value), node});
    return true;
  }

  /// Removes a topic. False if it was not there. Gives memory back as the index gets smaller.
  /// Complexity: O(size of topic), amortised.
  bool erase(std::string_view topic) {
    if (topic.size() > limits_.max_size) return false;
    const Split split(topic, tree_.seed());
    const std::uint32_t id = tree_.find(split);
    if (id == Tree::none) return false;
    tree_.erase(split);
    if (id + 1 != entries_.size()) {
      entries_[id] = std::move(entries_.back());
      tree_.set_entry(entries_[id].node, id);
    }
    entries_.pop_back();
    shrink();
    return true;
  }

  /// Removes everything and gives all memory back.
  void clear() noexcept {
    tree_ = Tree(tree_.seed());
    std::vector<Entry>().swap(entries_);
  }

  /// The value of @p topic, null if it is not there; valid until the next change.
  /// Complexity: O(size of topic).
  [[nodiscard]] const Value* find(std::string_view topic) const {
    if (topic.size() > limits_.max_size) return nullptr;
    const std::uint32_t id = tree_.find(Split(topic, tree_.seed()));
    return id == Tree::none ? nullptr : &entries_[id].value;
  }

  /// Topics.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// Heap memory in bytes, reserves included; 0 if empty. Not counted is what the values themselves
  /// hold.
  [[nodiscard]] std::size_t memory_use() const noexcept {
    return tree_.memory_use() + entries_.capacity() * sizeof(Entry);
  }

  /// Calls `visitor(const Value&)` once for each topic that matches @p pattern. The order is open,
  /// but the same after the same calls. The visitor must not change the index; if it throws, the
  /// exception passes and the rest is not visited.
  ///
  /// Complexity: for each segment of the pattern one probe for each prefix of a topic that matches
  /// the pattern up to there; below a `#` that are all topics that begin like the pattern before
  /// it. Each prefix once for each segment of the pattern, however many `#` there are.
  /// @throws InvalidPattern, nothing visited
  template <class Visitor>
  requires std::invocable<Visitor&, const Value&>
  void match(std::string_view pattern, Visitor&& visitor) const {
    validate_pattern<Syntax>(pattern, limits_);
    const Split split(pattern, tree_.seed());
    detail::InlineVector<std::uint32_t, 32> found;
    tree_.match(split, found);
    for (const std::uint32_t id : found) static_cast<void>(visitor(entries_[id].value));
  }

  /// Calls `visitor(const Value&)` for each topic. The order is open, but the same after the same
  /// calls. The visitor must not change the index.
  template <class Visitor>
  requires std::invocable<Visitor&, const Value&>
  void for_each(Visitor&& visitor) const {
    for (const Entry& entry : entries_) static_cast<void>(visitor(entry.value));
  }

 private:
  using Tree = detail::NameTree<Syntax, Hash>;
  using Split = typename Tree::Split;

  struct Entry {
    Value value;
    std::uint32_t node;
  };

  void check_size(std::string_view topic) const {
    if (topic.size() > limits_.max_size) validate_topic<Syntax>(topic, limits_);
  }
  /// Gives memory back when little is left of much.
  void shrink() noexcept {
    if (entries_.empty()) return clear();
    try {
      if (tree_.is_sparse()) {
        tree_.pack([&](std::uint32_t id, std::uint32_t node) { entries_[id].node = node; });
      }
      if (entries_.capacity() > 64 && entries_.size() < entries_.capacity() / 8) {
        entries_.shrink_to_fit();
      }
    } catch (const std::bad_alloc&) {
      // It stays as large as it is.
    }
  }
  void swap(TopicNames& other) noexcept {
    std::swap(limits_, other.limits_);
    std::swap(tree_, other.tree_);
    entries_.swap(other.entries_);
  }

  PatternLimits limits_;
  Tree tree_;
  std::vector<Entry> entries_{};
};

}  // namespace brook
