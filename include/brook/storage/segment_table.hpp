#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include <brook/core/ids.hpp>
#include <brook/core/reclaimer.hpp>
#include <brook/core/time.hpp>
#include <brook/storage/record_run.hpp>
#include <brook/storage/segment.hpp>

namespace brook::detail {

/// The segments of one partition in offset order, found by readers without a lock.
///
/// A growing array; the writer appends slots and moves its beginning, and replaces the whole array
/// when it is full or when compaction changes its middle. What it takes away (arrays and segments)
/// it keeps until no reader can be looking at it any more, and only then drops its reference; a
/// reader that wants to stay in a segment takes a reference of its own meanwhile.
///
/// Thread rule: writer calls one at a time; `find` and `View` from any thread.
class SegmentTable {
 public:
  /// One segment and sums over what came before it.
  struct Slot {
    std::atomic<Segment*> segment{nullptr};
    std::atomic<std::uint64_t> base{0};
    std::atomic<std::uint64_t> messages_before{0};
    std::atomic<std::uint64_t> bytes_before{0};
    std::atomic<std::int64_t> max_timestamp_before{std::numeric_limits<std::int64_t>::min()};
  };

  /// A reader's look at the table: what it finds stays in memory while the view lives.
  class View;

  SegmentTable() noexcept = default;
  SegmentTable(SegmentTable&& other) noexcept
      : table_(other.table_.exchange(nullptr, std::memory_order_relaxed)),
        retired_segments_(std::exchange(other.retired_segments_, nullptr)),
        retired_tables_(std::exchange(other.retired_tables_, nullptr)) {}
  SegmentTable& operator=(SegmentTable&&) = delete;
  ~SegmentTable() {
    if (Table* const table = current(); table != nullptr) {
      for (std::size_t i = table->begin; i != table->end; ++i) table->segment(i)->release();
      Table::destroy(table);
    }
    free_retired(std::numeric_limits<std::uint64_t>::max());
  }

  [[nodiscard]] Segment* last() const noexcept {
    const Table* const table = current();
    return table == nullptr || table->empty() ? nullptr : table->segment(table->end - 1);
  }
  [[nodiscard]] std::size_t size() const noexcept {
    const Table* const table = current();
    return table == nullptr ? 0 : table->end - table->begin;
  }
  [[nodiscard]] Segment* at(std::size_t index) const noexcept {
    return current()->segment(current()->begin + index);
  }

  /// Makes room, so that the next `push_back` cannot fail. @throws std::bad_alloc
  void reserve_one() {
    Table* const old = current();
    if (old != nullptr && old->end < old->capacity) return;
    Table* const grown = Table::make(std::max<std::size_t>(4, 2 * size()));
    for (std::size_t i = 0; i < size(); ++i) push(*grown, *at(i));
    exchange(grown);
  }
  void push_back(Segment& segment) noexcept { push(*current(), segment); }

  /// Takes away the last segment, which no reader can have found: nothing in it was ever visible.
  void pop_back() noexcept {
    Table& table = *current();
    Segment* const segment = table.segment(table.end - 1);
    table.end.store(table.end - 1, std::memory_order_release);
    retire(segment);
    collect();
  }

  /// Takes away the segments that lie wholly below @p start; all of them if @p start is @p end, the
  /// end of the log.
  void pop_front_below(Offset start, Offset end) noexcept {
    Table* const table = current();
    if (table == nullptr) return;
    while (!table->empty()) {
      Segment* const segment = table->segment(table->begin);
      const bool is_last = table->begin + 1 == table->end;
      if ((is_last ? end : segment->end()) > start) break;
      // A reader that stays in the last segment must see where it ends before anything follows it.
      if (is_last) segment->seal(end);
      table->begin.store(table->begin + 1, std::memory_order_release);
      retire(segment);
    }
    collect();
  }

  /// Puts @p replacements in the place of the first @p count segments. @throws std::bad_alloc,
  /// nothing changed
  void replace_front(std::size_t count, std::span<Segment* const> replacements) {
    Table* const next =
        Table::make(std::max<std::size_t>(4, 2 * (size() - count) + replacements.size()));
    for (Segment* const segment : replacements) push(*next, *segment);
    for (std::size_t i = count; i < size(); ++i) push(*next, *at(i));
    Table* const old = current();
    const std::size_t first = old == nullptr ? 0 : old->begin.load(std::memory_order_relaxed);
    table_.store(next, std::memory_order_release);
    for (std::size_t i = first; i < first + count; ++i) {
      Segment* const segment = old->segment(i);
      if (std::find(replacements.begin(), replacements.end(), segment) != replacements.end())
        continue;
      segment->set_replaced();
      retire(segment);
    }
    retire(old);
    collect();
  }

 private:
  struct Table {
    std::size_t capacity = 0;
    std::atomic<std::size_t> begin{0};
    std::atomic<std::size_t> end{0};
    Table* next_retired = nullptr;
    std::uint64_t retired_in = 0;

    [[nodiscard]] Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }
    [[nodiscard]] const Slot* slots() const noexcept {
      return reinterpret_cast<const Slot*>(this + 1);
    }
    [[nodiscard]] Segment* segment(std::size_t index) const noexcept {
      return slots()[index].segment.load(std::memory_order_acquire);
    }
    [[nodiscard]] bool empty() const noexcept { return begin == end; }

    static Table* make(std::size_t capacity) {
      void* const memory = ::operator new(sizeof(Table) + capacity * sizeof(Slot));
      auto* const table = ::new (memory) Table;
      table->capacity = capacity;
      for (std::size_t i = 0; i < capacity; ++i) ::new (table->slots() + i) Slot;
      return table;
    }
    static void destroy(Table* table) noexcept { ::operator delete(static_cast<void*>(table)); }
  };

  [[nodiscard]] Table* current() const noexcept { return table_.load(std::memory_order_acquire); }

  static void push(Table& table, Segment& segment) noexcept {
    const std::size_t end = table.end.load(std::memory_order_relaxed);
    Slot& slot = table.slots()[end];
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::int64_t latest = std::numeric_limits<std::int64_t>::min();
    if (end > table.begin.load(std::memory_order_relaxed)) {
      const Slot& before = table.slots()[end - 1];
      const Segment& last = *before.segment.load(std::memory_order_relaxed);
      messages = before.messages_before.load(std::memory_order_relaxed) + last.count();
      bytes = before.bytes_before.load(std::memory_order_relaxed) + last.used();
      latest = std::max<std::int64_t>(before.max_timestamp_before.load(std::memory_order_relaxed),
                                      last.max_timestamp().time_since_epoch().count());
    }
    // A reader may look at a slot that a failed append gives back and another one takes, beyond the
    // end that it sees: all of it is atomic, and what the segment is made of comes before it.
    slot.messages_before.store(messages, std::memory_order_relaxed);
    slot.bytes_before.store(bytes, std::memory_order_relaxed);
    slot.max_timestamp_before.store(latest, std::memory_order_relaxed);
    slot.base.store(segment.base().value(), std::memory_order_relaxed);
    slot.segment.store(&segment, std::memory_order_release);
    table.end.store(end + 1, std::memory_order_release);
  }

  void exchange(Table* next) noexcept {
    Table* const old = current();
    table_.store(next, std::memory_order_release);
    if (old != nullptr) retire(old);
    collect();
  }

  template <class T>
  void retire(T* thing) noexcept {
    thing->retired_in = reclaimer_.epoch();
    auto& list = retired_of(thing);
    thing->next_retired = list;
    list = thing;
  }
  Segment*& retired_of(const Segment*) noexcept { return retired_segments_; }
  Table*& retired_of(const Table*) noexcept { return retired_tables_; }

  void collect() noexcept {
    if (retired_segments_ == nullptr && retired_tables_ == nullptr) return;
    reclaimer_.advance();
    reclaimer_.advance();
    free_retired(reclaimer_.epoch());
  }
  /// Frees what was retired two epochs before @p epoch. The lists are newest first, so the rest of
  /// one goes together.
  void free_retired(std::uint64_t epoch) noexcept {
    free_list(retired_segments_, epoch, [](Segment* segment) { segment->release(); });
    free_list(retired_tables_, epoch, [](Table* table) { Table::destroy(table); });
  }
  template <class T, class Free>
  static void free_list(T*& list, std::uint64_t epoch, Free free) noexcept {
    T** link = &list;
    while (*link != nullptr && (*link)->retired_in + 2 > epoch) link = &(*link)->next_retired;
    for (T* thing = std::exchange(*link, nullptr); thing != nullptr;) {
      T* const next = thing->next_retired;
      free(thing);
      thing = next;
    }
  }

  std::atomic<Table*> table_{nullptr};
  Segment* retired_segments_ = nullptr;
  Table* retired_tables_ = nullptr;
  Reclaimer reclaimer_;
};

class SegmentTable::View {
 public:
  explicit View(const SegmentTable& owner) noexcept
      : section_(owner.reclaimer_), table_(owner.current()) {
    if (table_ == nullptr) return;
    begin_ = table_->begin.load(std::memory_order_acquire);
    end_ = std::max(begin_, table_->end.load(std::memory_order_acquire));
  }

  [[nodiscard]] std::size_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::size_t end() const noexcept { return end_; }
  [[nodiscard]] const Slot& operator[](std::size_t index) const noexcept {
    return table_->slots()[index];
  }
  [[nodiscard]] Segment& segment(std::size_t index) const noexcept {
    return *table_->segment(index);
  }

  /// The slot whose segment holds @p offset, or else the next one behind it; `end()` if there is
  /// none. O(log segments).
  [[nodiscard]] std::size_t find(Offset offset) const noexcept {
    const std::size_t next = first_slot([&](std::uint64_t base) { return base > offset.value(); });
    // `next` is the first slot that begins behind the offset: the one before may hold it.
    if (next > begin_ && segment(next - 1).end() > offset) return next - 1;
    return next;
  }
  /// The first slot that begins at @p offset or behind it; `end()` if there is none. All slots
  /// before it are visible to whoever sees what is below the offset, and do not change.
  /// O(log segments).
  [[nodiscard]] std::size_t first_from(Offset offset) const noexcept {
    return first_slot([&](std::uint64_t base) { return base >= offset.value(); });
  }

 private:
  template <class Reached>
  [[nodiscard]] std::size_t first_slot(Reached reached) const noexcept {
    std::size_t low = begin_;
    std::size_t high = end_;
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (reached(table_->slots()[middle].base.load(std::memory_order_relaxed))) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  Reclaimer::Section section_;
  const Table* table_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace brook::detail
