#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/time.hpp>

namespace brook::detail {

/// State of one message that is neither plainly on lease since its first hand-out nor settled. 16
/// bytes.
class LeaseEntry {
 public:
  enum class State : std::uint8_t {
    leased,          ///< handed out; time = deadline
    pending,         ///< may be handed out from `time` on
    blocked,         ///< pending, but an earlier message of its key comes first
    dead_lettering,  ///< on its way to the dead-letter topic
  };
  static constexpr std::uint32_t never =
      ~std::uint32_t{0};  ///< attempt of what was not handed out yet

  Instant time{};
  std::uint32_t attempt = 0;

  [[nodiscard]] State state() const noexcept { return static_cast<State>(bits_ & 3); }
  void set_state(State state) noexcept {
    bits_ = (bits_ & ~3U) | static_cast<std::uint32_t>(state);
  }
  /// The lease ended by its deadline: an ack of it still counts.
  [[nodiscard]] bool ackable() const noexcept { return (bits_ & 4) != 0; }
  void set_ackable(bool on) noexcept { bits_ = on ? bits_ | 4U : bits_ & ~4U; }
  /// It holds its key: later messages of the key wait.
  [[nodiscard]] bool holds_key() const noexcept { return (bits_ & 8) != 0; }
  void set_holds_key(bool on) noexcept { bits_ = on ? bits_ | 8U : bits_ & ~8U; }
  /// Failures counted against it.
  [[nodiscard]] std::uint32_t charged() const noexcept { return bits_ >> 8; }
  void charge() noexcept {
    if (charged() < 0xff'ffff) bits_ += 1U << 8;
  }

 private:
  std::uint32_t bits_ = 0;
};
static_assert(sizeof(LeaseEntry) == 16);

/// What is out of the ordinary among the offsets from committed on: settled ahead of it, or with a
/// state of their own. One block for 64 offsets, which exists only where it is needed; entries are
/// found by counting bits.
///
/// Complexity: a lookup O(1); inserting or removing an entry moves at most 63 others.
class ExceptionTable {
 public:
  using State = LeaseEntry::State;

  [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }

  [[nodiscard]] bool settled(Offset offset) const noexcept {
    const Block* const block = find_block(offset);
    return block != nullptr && (block->settled & bit(offset)) != 0;
  }
  [[nodiscard]] LeaseEntry* find(Offset offset) noexcept {
    Block* const block = find_block(offset);
    if (block == nullptr || (block->special & bit(offset)) == 0) return nullptr;
    return &block->entries[rank(*block, offset)];
  }
  [[nodiscard]] const LeaseEntry* find(Offset offset) const noexcept {
    return const_cast<ExceptionTable*>(this)->find(offset);
  }
  /// The entry of @p offset, made if there is none. @throws std::bad_alloc
  LeaseEntry& insert(Offset offset) {
    Block& block = make_block(offset);
    const std::size_t at = rank(block, offset);
    if ((block.special & bit(offset)) == 0) {
      block.entries.insert(block.entries.begin() + static_cast<std::ptrdiff_t>(at), LeaseEntry{});
      block.special |= bit(offset);
    }
    return block.entries[at];
  }
  void erase(Offset offset) noexcept {
    Block* const block = find_block(offset);
    if (block == nullptr || (block->special & bit(offset)) == 0) return;
    block->entries.erase(block->entries.begin() +
                         static_cast<std::ptrdiff_t>(rank(*block, offset)));
    block->special &= ~bit(offset);
  }
  /// Marks @p offset as settled; its entry goes. @throws std::bad_alloc
  void settle(Offset offset) {
    Block& block = make_block(offset);
    if ((block.special & bit(offset)) != 0) erase(offset);
    block.settled |= bit(offset);
  }
  /// Makes sure that `settle` of this offset cannot fail. @throws std::bad_alloc
  void reserve(Offset offset) { make_block(offset); }

  /// Settles what is neither settled nor special in `[first, last)`; returns how many those were.
  /// @throws std::bad_alloc, nothing changed
  std::uint64_t settle_plain(Offset first, Offset last) {
    for (Offset at = first; at < last; at = Offset{(at.value() | 63) + 1}) make_block(at);
    std::uint64_t count = 0;
    for (Offset at = first; at < last;) {
      Block& block = *find_block(at);
      const Offset end = std::min(last, Offset{(at.value() | 63) + 1});
      const std::uint64_t plain = range(at, end) & ~block.settled & ~block.special;
      block.settled |= plain;
      count += static_cast<std::uint64_t>(std::popcount(plain));
      at = end;
    }
    return count;
  }
  /// Calls @p visit with every offset in `[first, last)` that is neither settled nor special. The
  /// visit may insert entries.
  template <class Visit>
  void for_each_plain(Offset first, Offset last, Visit visit) const {
    for (Offset at = first; at < last;) {
      const Offset end = std::min(last, Offset{(at.value() | 63) + 1});
      const Block* const block = find_block(at);
      std::uint64_t plain = range(at, end);
      if (block != nullptr) plain &= ~block->settled & ~block->special;
      const Offset base{at.value() & ~std::uint64_t{63}};
      for (; plain != 0; plain &= plain - 1) {
        visit(base + static_cast<std::uint64_t>(std::countr_zero(plain)));
      }
      at = end;
    }
  }
  [[nodiscard]] bool any_plain(Offset first, Offset last) const noexcept {
    for (Offset at = first; at < last;) {
      const Offset end = std::min(last, Offset{(at.value() | 63) + 1});
      const Block* const block = find_block(at);
      if (block == nullptr || (range(at, end) & ~block->settled & ~block->special) != 0)
        return true;
      at = end;
    }
    return false;
  }

  /// Tells that the entry of @p offset has something to do at @p time.
  void schedule(Offset offset, Instant time) noexcept {
    Block& block = *find_block(offset);
    block.earliest = std::min(block.earliest, time);
  }
  /// When entries have something to do next, as lower bounds.
  struct NextTimes {
    Instant visited = Instant::max();  ///< Of those that were looked at.
    Instant others = Instant::max();   ///< Of those that have nothing to do yet.
  };
  /// Calls @p visit with offset and entry of every entry in offset order within blocks that may
  /// have something to do at @p now or before. It returns when the entry has something to do next,
  /// `Instant::max()` = nothing.
  template <class Visit>
  NextTimes for_each_due(Instant now, Visit visit) {
    NextTimes times;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Block* const block = blocks_[i].get();
      if (block == nullptr) continue;
      if (block->earliest > now) {
        times.others = std::min(times.others, block->earliest);
        continue;
      }
      const Offset base{(first_block_ + i) * 64};
      Instant next = Instant::max();
      std::size_t at = 0;
      for (std::uint64_t left = block->special; left != 0; left &= left - 1, ++at) {
        const Offset offset = base + static_cast<std::uint64_t>(std::countr_zero(left));
        next = std::min(next, visit(offset, block->entries[at]));
      }
      block->earliest = next;
      times.visited = std::min(times.visited, next);
    }
    return times;
  }
  /// Calls @p visit with offset and entry of every entry, in offset order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const Block* const block = blocks_[i].get();
      if (block == nullptr) continue;
      std::size_t at = 0;
      for (std::uint64_t left = block->special; left != 0; left &= left - 1, ++at) {
        visit(Offset{(first_block_ + i) * 64 + static_cast<std::uint64_t>(std::countr_zero(left))},
              block->entries[at]);
      }
    }
  }

  /// The first offset at or above @p from, below @p to, that is not settled; @p to if all are.
  /// Blocks before it go.
  Offset advance(Offset from, Offset to) noexcept {
    while (from < to) {
      const Block* const block = find_block(from);
      if (block == nullptr) break;
      const std::uint64_t open = ~block->settled & range(from, Offset{(from.value() | 63) + 1});
      const Offset base{from.value() & ~std::uint64_t{63}};
      if (open != 0) {
        from = std::min(to, base + static_cast<std::uint64_t>(std::countr_zero(open)));
        break;
      }
      from = std::min(to, base + 64);
    }
    drop_below(from);
    return from;
  }
  /// Forgets the blocks that lie wholly below @p offset.
  void drop_below(Offset offset) noexcept {
    while (!blocks_.empty() && first_block_ < offset.value() / 64) {
      blocks_.pop_front();
      ++first_block_;
    }
  }

 private:
  struct Block {
    std::uint64_t settled = 0;
    std::uint64_t special = 0;
    Instant earliest = Instant::max();
    std::vector<LeaseEntry> entries;
  };

  static std::uint64_t bit(Offset offset) noexcept {
    return std::uint64_t{1} << (offset.value() & 63);
  }
  /// Bits of `[first, last)`, both within one block.
  static std::uint64_t range(Offset first, Offset last) noexcept {
    const std::uint64_t count = last - first;
    const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    return ones << (first.value() & 63);
  }
  static std::size_t rank(const Block& block, Offset offset) noexcept {
    return static_cast<std::size_t>(std::popcount(block.special & (bit(offset) - 1)));
  }
  [[nodiscard]] Block* find_block(Offset offset) const noexcept {
    const std::uint64_t index = offset.value() / 64 - first_block_;
    return offset.value() / 64 >= first_block_ && index < blocks_.size() ? blocks_[index].get()
                                                                         : nullptr;
  }
  Block& make_block(Offset offset) {
    const std::uint64_t number = offset.value() / 64;
    if (blocks_.empty()) first_block_ = number;
    while (number < first_block_) {
      blocks_.emplace_front();
      --first_block_;
    }
    while (blocks_.size() <= number - first_block_) blocks_.emplace_back();
    auto& block = blocks_[number - first_block_];
    if (block == nullptr) block = std::make_unique<Block>();
    return *block;
  }

  std::deque<std::unique_ptr<Block>> blocks_;
  std::uint64_t first_block_ = 0;
};

}  // namespace brook::detail
