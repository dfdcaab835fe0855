#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/core/config.hpp>

namespace brook::detail {

/// A hash table with open addressing: slots in one piece of memory, linear probing, deletion that
/// leaves no trace (what follows moves back). Half of the slots are in use at most: most looks of
/// a match are for what is not there, and those walk to the next free slot. Knows nothing about
/// keys: whoever looks says which slot it means, whoever changes says what a slot's hash is.
///
/// A slot is plain data with a default value that `is_free()`. Hashes are 32 bits, all of them
/// well mixed: a slot's home is `hash × capacity / 2^32`, so the capacity may be any number and
/// grows by half.
///
/// Thread rule: const members may run concurrently. Complexity: O(1) a call, expected.
template <class Slot>
class ProbeTable {
  static_assert(std::is_trivially_copyable_v<Slot>);

 public:
  ProbeTable() noexcept = default;
  ProbeTable(ProbeTable&& other) noexcept { swap(other); }
  ProbeTable& operator=(ProbeTable&& other) noexcept {
    ProbeTable taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~ProbeTable() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t memory_use() const noexcept { return slots_.capacity() * sizeof(Slot); }

  /// The slot with @p hash for which `matches(slot)`; null if there is none.
  template <class Matches>
  [[nodiscard]] const Slot* find(std::uint32_t hash, const Matches& matches) const {
    if (size_ == 0) return nullptr;
    for (std::size_t i = home(hash); !slots_[i].is_free(); i = after(i)) {
      if (matches(slots_[i])) return &slots_[i];
    }
    return nullptr;
  }
  template <class Matches>
  [[nodiscard]] Slot* find(std::uint32_t hash, const Matches& matches) {
    return const_cast<Slot*>(std::as_const(*this).find(hash, matches));
  }
  /// Says that a `find` of @p hash will come soon.
  void prefetch(std::uint32_t hash) const noexcept {
    if (size_ != 0) __builtin_prefetch(&slots_[home(hash)]);
  }

  /// Makes room for @p more slots, so that adding them does not throw. @throws std::bad_alloc,
  /// nothing done
  template <class HashOf>
  void reserve(std::size_t more, const HashOf& hash_of) {
    const std::size_t wanted = size_ + more;
    if (wanted <= most_in(slots_.size())) return;
    std::size_t capacity = std::max<std::size_t>(least_capacity, slots_.size());
    while (wanted > most_in(capacity)) capacity += capacity / 2;
    rebuild(capacity, hash_of);
  }
  /// Adds @p slot and returns its place, which the next change may move. Requires room.
  Slot* insert(std::uint32_t hash, const Slot& slot) noexcept {
    std::size_t i = home(hash);
    while (!slots_[i].is_free()) i = after(i);
    slots_[i] = slot;
    ++size_;
    return &slots_[i];
  }
  /// Frees @p slot; others may move. Gives memory back when few are left.
  template <class HashOf>
  void erase(Slot* slot, const HashOf& hash_of) noexcept {
    auto hole = static_cast<std::size_t>(slot - slots_.data());
    for (std::size_t i = after(hole); !slots_[i].is_free(); i = after(i)) {
      // Whatever would not be found any more beyond the hole moves into it.
      if (distance(home(hash_of(slots_[i])), i) < distance(hole, i)) continue;
      slots_[hole] = slots_[i];
      hole = i;
    }
    slots_[hole] = Slot{};
    --size_;
    if (size_ == 0 || (slots_.size() > 8 * least_capacity && size_ < slots_.size() / 8)) {
      shrink(hash_of);
    }
  }
  void clear() noexcept { *this = ProbeTable(); }

  /// Calls `visit(slot)` for each slot in use.
  template <class Visit>
  void for_each(const Visit& visit) {
    for (Slot& slot : slots_) {
      if (!slot.is_free()) visit(slot);
    }
  }

  void swap(ProbeTable& other) noexcept {
    slots_.swap(other.slots_);
    std::swap(size_, other.size_);
  }

 private:
  static constexpr std::size_t least_capacity = 8;
  static constexpr std::uint64_t most_capacity = std::uint64_t{1} << 32;

  static constexpr std::size_t most_in(std::size_t capacity) noexcept { return capacity / 2; }
  [[nodiscard]] std::size_t home(std::uint32_t hash) const noexcept {
    return static_cast<std::size_t>((std::uint64_t{hash} * slots_.size()) >> 32);
  }
  [[nodiscard]] std::size_t after(std::size_t index) const noexcept {
    return index + 1 == slots_.size() ? 0 : index + 1;
  }
  [[nodiscard]] std::size_t distance(std::size_t from, std::size_t to) const noexcept {
    return to >= from ? to - from : to + slots_.size() - from;
  }

  template <class HashOf>
  void rebuild(std::size_t capacity, const HashOf& hash_of) {
    if (capacity > most_capacity) throw std::bad_alloc();
    ProbeTable larger;
    larger.slots_.resize(capacity);
    for (const Slot& slot : slots_) {
      if (!slot.is_free()) larger.insert(hash_of(slot), slot);
    }
    swap(larger);
  }
  template <class HashOf>
  BROOK_NOINLINE void shrink(const HashOf& hash_of) noexcept {
    if (size_ == 0) return clear();
    try {
      rebuild(std::max(least_capacity, 3 * size_), hash_of);
    } catch (const std::bad_alloc&) {
      // It stays as large as it is.
    }
  }

  std::vector<Slot> slots_{};
  std::size_t size_ = 0;
};

/// A slot of an `IdTable`: what the id stands for is kept elsewhere.
struct IdSlot {
  static constexpr std::uint32_t none = 0xffffffff;

  std::uint32_t hash = 0;
  std::uint32_t id = none;

  [[nodiscard]] bool is_free() const noexcept { return id == none; }
};

/// Finds ids by the hash of what they stand for. 8 bytes a slot; the hash in a slot spares most
/// looks at what is behind the id, and all of them when the table grows.
class IdTable {
 public:
  static constexpr std::uint32_t none = IdSlot::none;

  [[nodiscard]] std::size_t size() const noexcept { return table_.size(); }
  [[nodiscard]] std::size_t memory_use() const noexcept { return table_.memory_use(); }

  /// The id with @p hash for which `is_it(id)`, or none.
  template <class IsIt>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, const IsIt& is_it) const {
    const std::uint32_t short_hash = shortened(hash);
    const IdSlot* const slot = table_.find(
        short_hash, [&](const IdSlot& one) { return one.hash == short_hash && is_it(one.id); });
    return slot == nullptr ? none : slot->id;
  }
  void prefetch(std::uint64_t hash) const noexcept { table_.prefetch(shortened(hash)); }

  /// Makes room for @p more ids. @throws std::bad_alloc, nothing done
  void reserve(std::size_t more) { table_.reserve(more, hash_of); }
  /// Requires room, and that @p id is not there and not `none`.
  void insert(std::uint64_t hash, std::uint32_t id) noexcept {
    table_.insert(shortened(hash), {shortened(hash), id});
  }
  /// Requires that @p id was inserted with @p hash.
  void erase(std::uint64_t hash, std::uint32_t id) noexcept {
    table_.erase(slot_of(hash, id), hash_of);
  }
  /// Calls @p id something else from now on. Requires that it was inserted with @p hash.
  void rename(std::uint64_t hash, std::uint32_t id, std::uint32_t new_id) noexcept {
    slot_of(hash, id)->id = new_id;
  }
  void clear() noexcept { table_.clear(); }

 private:
  static constexpr std::uint32_t shortened(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash >> 32);
  }
  static constexpr auto hash_of = [](const IdSlot& slot) noexcept { return slot.hash; };
  [[nodiscard]] IdSlot* slot_of(std::uint64_t hash, std::uint32_t id) noexcept {
    return table_.find(shortened(hash), [&](const IdSlot& one) { return one.id == id; });
  }

  ProbeTable<IdSlot> table_{};
};

}  // namespace brook::detail
