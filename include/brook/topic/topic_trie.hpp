#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/core/config.hpp>
#include <brook/core/inline_vector.hpp>
#include <brook/topic/pattern.hpp>
#include <brook/topic/pattern_index.hpp>
#include <brook/topic/pattern_walk.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/subscriber_lists.hpp>
#include <brook/topic/syntax.hpp>
#include <brook/topic/topic_index_options.hpp>

namespace brook {

/// What a `TopicTrie` can hold: movable, `==`, and a `std::hash`. Equal values are one subscriber.
/// None of these, and no destructor, may throw. A value is stored once for each of its patterns, so
/// small ones are best: an id, a pointer.
template <class T>
concept TopicTrieValue = std::move_constructible<T> && std::equality_comparable<T> &&
    requires(const T& value) {
  { std::hash<T>{}(value) } -> std::convertible_to<std::size_t>;
};

/// An index of patterns: which subscribers want this topic? Holds pairs of pattern and value; a
/// match costs with the segments of the topic and the patterns that agree so far, not with the
/// number of patterns held.
///
/// Patterns and topics are texts of the dialect `Syntax`; with the AMQP dialect every text is, any
/// bytes and empty segments included. Two spellings of a pattern (`#.#` and `#`) are two patterns.
/// What a broker allows on top of that is `validate_subscription_pattern`'s business, and hiding
/// internal topics is `selects_topic`'s.
///
/// Not needed for one pattern against one topic: that is `matches`. It answers "which patterns
/// match this topic"; "which topics match this pattern" is `TopicNames`.
///
/// Literal patterns are found by one look into a hash table of texts. Patterns with wildcards are a
/// trie without nodes on the heap: one hash table holds all its edges. Segments are compared byte
/// for byte, so a `Hash` that collides costs time, never a wrong answer. Holds up to 2^28 nodes and
/// 4 GiB of text.
///
/// Thread rule: const members may run concurrently with each other; any other member needs the trie
/// alone. Movable, not copyable; a moved-from trie is empty. Strong exception guarantee.
///
///     brook::TopicTrie<int> trie;
///     trie.insert("orders.*.created", 1);
///     trie.insert("orders.#", 1);
///     trie.insert("returns.#", 2);
///     trie.match("orders.eu.created", [](int subscriber) { notify(subscriber); });  // 1, once
template <class Value, class Syntax = AmqpSyntax, class Hash = SegmentHash>
class TopicTrie {
  static_assert(TopicTrieValue<Value>, "a value must be movable, comparable by == and hashable");
  static_assert(TopicSyntax<Syntax>);
  static_assert(TopicHash<Hash>);

 public:
  TopicTrie() : TopicTrie(TopicIndexOptions{}) {}
  /// @throws InvalidArgument if a limit is 0, or the one of the size over 16 MiB
  explicit TopicTrie(const TopicIndexOptions& options)
      : limits_(detail::checked(options.limits)), index_(detail::seed_for(this, options)) {}
  TopicTrie(TopicTrie&& other) noexcept : limits_(other.limits_), index_(other.index_.seed()) {
    swap(other);
  }
  TopicTrie& operator=(TopicTrie&& other) noexcept {
    TopicTrie taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~TopicTrie() = default;

  /// Adds the pair. False if it was there already.
  /// Complexity: O(size of pattern), amortised.
  /// @throws InvalidPattern
  bool insert(std::string_view pattern, Value value) {
    validate_pattern<Syntax>(pattern, limits_);
    const Split split(pattern, index_.seed());
    Path path(split);
    auto id = index_.find(split);
    const bool is_known = id != Index::none;
    if (is_known && lists_.contains(index_.list(id, path), id, value)) return false;
    try {
      if (!is_known) id = index_.insert(split, path);
      auto& list = index_.list(id, path);
      list = lists_.add(list, id, std::move(value));
    } catch (...) {
      if (!is_known && id != Index::none) index_.remove(id, split, path);
      if (size_ == 0) clear();
      throw;
    }
    if (!path.is_literal()) ++index_.count(id);
    ++size_;
    return true;
  }

  /// Removes the pair. False if it was not there. Gives memory back as the trie gets smaller.
  /// Complexity: O(size of pattern), amortised; it does not grow with the values of the pattern.
  bool erase(std::string_view pattern, const Value& value) {
    const Split split(pattern, index_.seed());
    const auto id = index_.find(split);
    if (id == Index::none) return false;
    Path path(split);
    auto& list = index_.list(id, path);
    if (!lists_.contains(list, id, value)) return false;
    list = lists_.remove(list, id, value);
    --size_;
    const bool is_last = path.is_literal() ? list == Lists::none : --index_.count(id) == 0;
    if (is_last) index_.remove(id, split, path);
    shrink();
    return true;
  }

  /// Removes every pair with exactly this pattern (not those it matches) and returns how many there
  /// were. Complexity: O(size of pattern + values of its spellings), amortised.
  std::size_t erase(std::string_view pattern) {
    const Split split(pattern, index_.seed());
    const auto id = index_.find(split);
    if (id == Index::none) return 0;
    Path path(split);
    auto& list = index_.list(id, path);
    const std::size_t count =
        path.is_literal() ? lists_.entries(list).size() : std::size_t{index_.count(id)};
    list = lists_.remove_all(list, id);
    size_ -= count;
    index_.remove(id, split, path);
    shrink();
    return count;
  }

  /// Removes everything and gives all memory back.
  void clear() noexcept {
    index_ = Index(index_.seed());
    Lists().swap(lists_);
    size_ = 0;
  }

  /// Pairs of pattern and value.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// Distinct patterns, as they were spelled.
  [[nodiscard]] std::size_t pattern_count() const noexcept { return index_.size(); }
  /// Nodes that hold the patterns with wildcards; 0 if there are none. For tests and metrics: how
  /// many nodes a pattern takes may change.
  [[nodiscard]] std::size_t node_count() const noexcept { return index_.node_count(); }
  /// Heap memory in bytes, reserves included; 0 if empty. Not counted is what the values themselves
  /// hold. Complexity: O(patterns with several values).
  [[nodiscard]] std::size_t memory_use() const noexcept {
    return index_.memory_use() + lists_.memory_use();
  }

  /// Calls `visitor(const Value&)` once for each distinct value that has a pattern which matches
  /// @p topic. The order is open, but the same after the same calls. The visitor must not change
  /// the trie; if it throws, the exception passes and the rest is not visited.
  ///
  /// Complexity: for each segment of the topic one probe for each prefix of a pattern that matches
  /// the topic up to there, shared prefixes once, however many `#` they have; and O(found). Takes
  /// no memory up to some dozens of prefixes and values.
  /// @throws InvalidTopicName, nothing visited
  template <class Visitor>
  requires std::invocable<Visitor&, const Value&>
  void match(std::string_view topic, Visitor&& visitor) const {
    Found found;
    find(topic, found, false);
    for (const auto list : found) lists_.prefetch(list);
    if (found.size() == 1 && !lists_.may_repeat(found[0])) {
      for (const auto& entry : lists_.entries(found[0])) static_cast<void>(visitor(entry.value()));
    } else if (!found.empty()) {
      visit_each_once(found, visitor);
    }
  }

  /// Whether any pattern matches @p topic. Stops at the first one. Complexity: at most that of
  /// `match`.
  /// @throws InvalidTopicName
  [[nodiscard]] bool matches_any(std::string_view topic) const {
    Found found;
    find(topic, found, true);
    return !found.empty();
  }

  /// Calls `visitor(std::string_view pattern, const Value&)` for each pair. The order is open, but
  /// the same after the same calls. The visitor must not change the trie, and what it gets is valid
  /// during its call.
  template <class Visitor>
  requires std::invocable<Visitor&, std::string_view, const Value&>
  void for_each(Visitor&& visitor) const {
    lists_.for_each([&](const auto& entry) {
      static_cast<void>(visitor(index_.text(entry.pattern()), entry.value()));
    });
  }

 private:
  using Index = detail::PatternIndex<Syntax, Hash>;
  using Lists = detail::SubscriberLists<Value>;
  using Split = typename Index::Split;
  using Path = typename Index::Path;
  using Walk = detail::PatternWalk<Index>;
  using Found = typename Walk::Lists;

  /// The lists of all patterns that match, or of any one.
  void find(std::string_view topic, Found& found, bool any_will_do) const {
    if (topic.size() > limits_.max_size) validate_topic<Syntax>(topic, limits_);
    const Split split(topic, index_.seed());
    detail::check_topic<Syntax>(split, limits_);
    if (size_ == 0) return;
    const bool hides_root = Syntax::rules.hides_dollar && topic.starts_with('$');
    Walk(index_, split).run(found, hides_root, any_will_do);
  }

  /// A value may be in several lists, or by several spellings in one.
  template <class Visitor>
  BROOK_NOINLINE void visit_each_once(const Found& found, Visitor& visitor) const {
    std::size_t count = 0;
    for (const auto list : found) count += lists_.entries(list).size();
    detail::InlineVector<const Value*, 64> visited;
    if (count <= most_compared) {
      for (const auto list : found) {
        for (const auto& entry : lists_.entries(list)) {
          const auto is_it = [&](const Value* one) { return *one == entry.value(); };
          if (std::any_of(visited.begin(), visited.end(), is_it)) continue;
          visited.push_back(&entry.value());
          static_cast<void>(visitor(entry.value()));
        }
      }
      return;
    }
    // Places in `visited`, plus 1, by hash.
    std::size_t slots = 64;
    while (slots < 2 * count) slots *= 2;
    detail::InlineVector<std::uint32_t, 128> places;
    for (std::size_t i = 0; i < slots; ++i) places.push_back(0);
    for (const auto list : found) {
      for (const auto& entry : lists_.entries(list)) {
        const Value& value = entry.value();
        const std::uint64_t hash =
            static_cast<std::uint64_t>(std::hash<Value>{}(value)) * detail::second_mixer;
        std::size_t i = (hash >> 32) & (slots - 1);
        while (places[i] != 0 && !(*visited[places[i] - 1] == value)) i = (i + 1) & (slots - 1);
        if (places[i] != 0) continue;
        visited.push_back(&value);
        places[i] = static_cast<std::uint32_t>(visited.size());
        static_cast<void>(visitor(value));
      }
    }
  }
  static constexpr std::size_t most_compared = 8;

  /// Gives memory back when little is left of much.
  void shrink() noexcept {
    if (size_ == 0) return clear();
    const std::size_t places = std::max(index_.places(), lists_.places());
    if (places <= 64 || index_.size() > places / 8) return;
    try {
      rebuild();
    } catch (const std::bad_alloc&) {
      // It stays as large as it is.
    }
  }
  void rebuild() {
    Index fresh(index_.seed());
    std::vector<std::uint32_t> ids(index_.places());
    index_.for_each([&](std::uint32_t id) {
      const Split split(index_.text(id), index_.seed());
      Path path(split);
      const auto new_id = fresh.insert(split, path);
      fresh.list(new_id, path) = index_.list(id, path);
      if (!path.is_literal()) fresh.count(new_id) = index_.count(id);
      ids[id] = new_id;
    });
    Lists packed;
    packed.reserve_for(lists_);
    fresh.for_each_list([&](std::uint32_t& list) { list = packed.take(lists_, list, ids); });
    index_ = std::move(fresh);
    lists_.swap(packed);
  }

  void swap(TopicTrie& other) noexcept {
    std::swap(limits_, other.limits_);
    std::swap(index_, other.index_);
    lists_.swap(other.lists_);
    std::swap(size_, other.size_);
  }

  PatternLimits limits_;
  Index index_;
  Lists lists_{};
  std::size_t size_ = 0;
};

}  // namespace brook
