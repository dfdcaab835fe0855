#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/topic/probe_table.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/text_pool.hpp>

namespace brook::detail {

/// A value that subscribed, and the pattern by which it did; or a free place.
template <class Value>
class Subscriber {
 public:
  static constexpr std::uint32_t no_pattern = 0xffffffff;

  explicit Subscriber(std::uint32_t next_free) noexcept : next_free_(next_free) {}
  Subscriber(std::uint32_t pattern, Value&& value) noexcept
      : value_(std::move(value)), pattern_(pattern) {}
  Subscriber(Subscriber&& other) noexcept : next_free_(0), pattern_(other.pattern_) {
    if (is_free()) {
      next_free_ = other.next_free_;
    } else {
      ::new (static_cast<void*>(std::addressof(value_))) Value(std::move(other.value_));
    }
  }
  Subscriber& operator=(Subscriber&& other) noexcept {
    if (this != &other) {
      this->~Subscriber();
      ::new (static_cast<void*>(this)) Subscriber(std::move(other));
    }
    return *this;
  }
  ~Subscriber() {
    if (!is_free()) value_.~Value();
  }

  [[nodiscard]] bool is_free() const noexcept { return pattern_ == no_pattern; }
  [[nodiscard]] std::uint32_t pattern() const noexcept { return pattern_; }
  void set_pattern(std::uint32_t pattern) noexcept { pattern_ = pattern; }
  /// Requires `!is_free()`.
  [[nodiscard]] const Value& value() const noexcept { return value_; }
  /// Requires `is_free()`.
  [[nodiscard]] std::uint32_t next_free() const noexcept { return next_free_; }

 private:
  union {
    Value value_;
    std::uint32_t next_free_;
  };
  std::uint32_t pattern_ = no_pattern;
};

/// Lists of subscribers, each known by a number. The one of a single subscriber, as nearly all are,
/// is just its place; longer ones have a vector, and beyond 16 an index of it, so that removing
/// does not search.
///
/// A list may hold subscribers by several patterns: spellings that mean the same.
///
/// Thread rule: const members may run concurrently. Strong exception guarantee.
template <class Value>
class SubscriberLists {
 public:
  using ListId = std::uint32_t;
  using PatternId = std::uint32_t;
  using Entry = Subscriber<Value>;
  /// The list that is empty.
  static constexpr ListId none = 0xffffffff;

  /// What @p list holds; valid until the next change.
  [[nodiscard]] std::span<const Entry> entries(ListId list) const noexcept {
    if (list == none) return {};
    if (is_single(list)) return {&singles_[list], 1};
    return many(list).entries;
  }
  /// Whether two entries of @p list may have the same value.
  [[nodiscard]] bool may_repeat(ListId list) const noexcept {
    return list != none && !is_single(list) && many(list).has_spellings;
  }
  void prefetch(ListId list) const noexcept {
    if (is_single(list)) __builtin_prefetch(&singles_[list]);
  }
  [[nodiscard]] bool contains(ListId list, PatternId pattern, const Value& value) const {
    return position(list, pattern, value) != none;
  }

  /// Adds to @p list what it does not contain, and returns what it is called from now on.
  /// Complexity: O(1) amortised.
  [[nodiscard]] ListId add(ListId list, PatternId pattern, Value&& value) {
    if (list == none) return add_single(Entry(pattern, std::move(value)));
    if (is_single(list)) return add_second(list, Entry(pattern, std::move(value)));
    Many& longer = many(list);
    reserve_sparingly(longer.entries);
    const auto at = static_cast<std::uint32_t>(longer.entries.size());
    const std::uint64_t hash = hash_of(pattern, value);
    if (longer.is_indexed()) {
      longer.positions.reserve(1);
    } else if (at == most_unindexed) {
      index(longer);
    }
    longer.has_spellings |= pattern != longer.entries.front().pattern();
    longer.entries.emplace_back(pattern, std::move(value));
    if (longer.is_indexed()) longer.positions.insert(hash, at);
    return list;
  }
  /// Removes an entry and returns what the list is called from now on, @p list itself if it was not
  /// there. Complexity: O(1).
  [[nodiscard]] ListId remove(ListId list, PatternId pattern, const Value& value) noexcept {
    const std::uint32_t at = position(list, pattern, value);
    return at == none ? list : remove_at(list, at);
  }
  /// Removes all entries by @p pattern. Complexity: O(size of the list).
  [[nodiscard]] ListId remove_all(ListId list, PatternId pattern) noexcept {
    for (std::size_t i = entries(list).size(); i-- > 0 && list != none;) {
      if (entries(list)[i].pattern() == pattern) {
        list = remove_at(list, static_cast<std::uint32_t>(i));
      }
    }
    return list;
  }

  /// Places for single subscribers, in use or not.
  [[nodiscard]] std::size_t places() const noexcept { return singles_.size(); }
  /// Heap memory in bytes, but for what the values themselves hold. Complexity: O(lists).
  [[nodiscard]] std::size_t memory_use() const noexcept {
    std::size_t bytes = singles_.capacity() * sizeof(Entry) +
                        manys_.capacity() * sizeof(manys_[0]) +
                        free_manys_.capacity() * sizeof(free_manys_[0]);
    for (const auto& one : manys_) {
      if (one == nullptr) continue;
      bytes += sizeof *one + one->entries.capacity() * sizeof(Entry) + one->positions.memory_use();
    }
    return bytes;
  }
  /// Calls `visit(entry)` for each entry of each list.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (const Entry& entry : singles_) {
      if (!entry.is_free()) visit(entry);
    }
    for (const auto& one : manys_) {
      if (one == nullptr) continue;
      for (const Entry& entry : one->entries) visit(entry);
    }
  }

  /// Makes room to take all lists of @p other.
  void reserve_for(const SubscriberLists& other) {
    std::size_t singles = 0;
    for (const Entry& entry : other.singles_) {
      if (!entry.is_free()) ++singles;
    }
    singles_.reserve(singles);
    manys_.reserve(other.manys_.size() - other.free_manys_.size());
    free_manys_.reserve(manys_.capacity());
  }
  /// Moves a list of @p other here, its patterns having got other ids. Requires room.
  [[nodiscard]] ListId take(SubscriberLists& other, ListId list,
                            const std::vector<PatternId>& ids) noexcept {
    if (is_single(list)) {
      singles_.push_back(std::move(other.singles_[list]));
      singles_.back().set_pattern(ids[singles_.back().pattern()]);
      return static_cast<ListId>(singles_.size() - 1);
    }
    manys_.push_back(std::move(other.manys_[list & ~many_bit]));
    Many& taken = *manys_.back();
    for (std::uint32_t i = 0; i < taken.entries.size(); ++i) {
      Entry& entry = taken.entries[i];
      const PatternId pattern = ids[entry.pattern()];
      if (taken.is_indexed()) {
        // One goes before the other comes, so there is room.
        taken.positions.erase(hash_of(entry.pattern(), entry.value()), i);
        taken.positions.insert(hash_of(pattern, entry.value()), i);
      }
      entry.set_pattern(pattern);
    }
    return static_cast<ListId>(manys_.size() - 1) | many_bit;
  }

  void swap(SubscriberLists& other) noexcept {
    singles_.swap(other.singles_);
    manys_.swap(other.manys_);
    free_manys_.swap(other.free_manys_);
    std::swap(free_single_, other.free_single_);
  }

 private:
  static constexpr ListId many_bit = 0x8000'0000;
  static constexpr std::size_t most_unindexed = 16;

  struct Many {
    std::vector<Entry> entries{};
    IdTable positions{};         ///< Of the entries, if they are many.
    bool has_spellings = false;  ///< Had entries by more than one pattern.

    [[nodiscard]] bool is_indexed() const noexcept { return positions.size() != 0; }
  };

  static bool is_single(ListId list) noexcept { return (list & many_bit) == 0; }
  [[nodiscard]] Many& many(ListId list) noexcept { return *manys_[list & ~many_bit]; }
  [[nodiscard]] const Many& many(ListId list) const noexcept { return *manys_[list & ~many_bit]; }

  static std::uint64_t hash_of(PatternId pattern, const Value& value) {
    return multiply_mix(static_cast<std::uint64_t>(std::hash<Value>{}(value)) ^ second_mixer,
                        (std::uint64_t{pattern} << 1 | 1) * first_mixer);
  }
  /// Where the entry is in @p list, or none.
  [[nodiscard]] std::uint32_t position(ListId list, PatternId pattern, const Value& value) const {
    const std::span<const Entry> all = entries(list);
    const auto is_it = [&](std::uint32_t i) {
      return all[i].pattern() == pattern && all[i].value() == value;
    };
    if (all.size() > 1 && many(list).is_indexed()) {
      return many(list).positions.find(hash_of(pattern, value), is_it);
    }
    for (std::uint32_t i = 0; i < all.size(); ++i) {
      if (is_it(i)) return i;
    }
    return none;
  }

  ListId add_single(Entry&& entry) {
    if (free_single_ != none) {
      const ListId list = free_single_;
      free_single_ = singles_[list].next_free();
      singles_[list] = std::move(entry);
      return list;
    }
    if (singles_.size() >= many_bit) throw std::bad_alloc();
    reserve_sparingly(singles_);
    singles_.push_back(std::move(entry));
    return static_cast<ListId>(singles_.size() - 1);
  }
  ListId add_second(ListId single, Entry&& entry) {
    auto longer = std::make_unique<Many>();
    longer->entries.reserve(2);
    reserve_sparingly(free_manys_, manys_.size() + 1 - free_manys_.size());  // for when they go
    if (free_manys_.empty()) {
      reserve_sparingly(manys_);
      manys_.emplace_back();
      free_manys_.push_back(static_cast<ListId>(manys_.size() - 1) | many_bit);
    }
    const ListId list = free_manys_.back();
    free_manys_.pop_back();
    longer->has_spellings = entry.pattern() != singles_[single].pattern();
    longer->entries.push_back(std::move(singles_[single]));
    longer->entries.push_back(std::move(entry));
    manys_[list & ~many_bit] = std::move(longer);
    free_place(single);
    return list;
  }
  void free_place(ListId single) noexcept {
    singles_[single] = Entry(free_single_);
    free_single_ = single;
  }

  [[nodiscard]] ListId remove_at(ListId list, std::uint32_t at) noexcept {
    if (is_single(list)) {
      free_place(list);
      return none;
    }
    Many& longer = many(list);
    const auto last = static_cast<std::uint32_t>(longer.entries.size() - 1);
    if (longer.is_indexed()) {
      const Entry& gone = longer.entries[at];
      const Entry& moved = longer.entries[last];
      longer.positions.erase(hash_of(gone.pattern(), gone.value()), at);
      if (at != last) longer.positions.rename(hash_of(moved.pattern(), moved.value()), last, at);
    }
    if (at != last) longer.entries[at] = std::move(longer.entries[last]);
    longer.entries.pop_back();
    if (longer.entries.empty()) {
      manys_[list & ~many_bit] = nullptr;
      free_manys_.push_back(list);
      return none;
    }
    shrink(longer);
    return list;
  }
  static void shrink(Many& longer) noexcept {
    if (longer.entries.size() < most_unindexed / 2) longer.positions.clear();
    if (longer.entries.capacity() < most_unindexed ||
        longer.entries.size() > longer.entries.capacity() / 8) {
      return;
    }
    try {
      longer.entries.shrink_to_fit();
    } catch (const std::bad_alloc&) {
      // It stays as large as it is.
    }
  }
  static void index(Many& longer) {
    longer.positions.reserve(longer.entries.size() + 1);
    for (std::uint32_t i = 0; i < longer.entries.size(); ++i) {
      const Entry& entry = longer.entries[i];
      longer.positions.insert(hash_of(entry.pattern(), entry.value()), i);
    }
  }

  std::vector<Entry> singles_{};
  std::vector<std::unique_ptr<Many>> manys_{};
  std::vector<ListId> free_manys_{};
  ListId free_single_ = none;
};

}  // namespace brook::detail
