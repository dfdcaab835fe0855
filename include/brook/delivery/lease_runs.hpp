#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/time.hpp>

namespace brook::detail {

/// First hand-outs in offset order: each run of offsets that was handed out together has one
/// deadline, and ends where the next one begins. 12 bytes a run, whatever its length. Offsets are
/// kept as their low half: a window is shorter than 2^31.
///
/// Complexity: push, pop amortised O(1), finding a run O(log runs).
class LeaseRuns {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == runs_.size(); }
  [[nodiscard]] std::size_t size() const noexcept { return runs_.size() - head_; }
  [[nodiscard]] Offset first(std::size_t index, Offset near) const noexcept {
    const auto distance = static_cast<std::int32_t>(runs_[head_ + index].first -
                                                    static_cast<std::uint32_t>(near.value()));
    return Offset{near.value() + static_cast<std::uint64_t>(std::int64_t{distance})};
  }
  [[nodiscard]] Instant deadline(std::size_t index) const noexcept {
    const Run& run = runs_[head_ + index];
    return Instant{std::chrono::nanoseconds{
        static_cast<std::int64_t>(std::uint64_t{run.deadline_high} << 32 | run.deadline_low)}};
  }
  void set_deadline(std::size_t index, Instant deadline) noexcept {
    runs_[head_ + index].set(deadline);
  }

  /// @throws std::bad_alloc
  void push(Offset first, Instant deadline) {
    if (!empty() && deadline < this->deadline(size() - 1)) in_order_ = false;
    if (runs_.size() == runs_.capacity()) make_room();
    runs_.emplace_back();
    runs_.back().first = static_cast<std::uint32_t>(first.value());
    runs_.back().set(deadline);
  }
  void pop_front() noexcept {
    ++head_;
    if (empty()) clear();
  }
  void clear() noexcept {
    runs_.clear();
    if (runs_.capacity() > 64) runs_.shrink_to_fit();
    head_ = 0;
    in_order_ = true;
  }
  /// Deadlines never fell from one run to the next.
  [[nodiscard]] bool in_order() const noexcept { return in_order_; }
  /// The run that covers @p offset. Requires that one does.
  [[nodiscard]] std::size_t find(Offset offset) const noexcept {
    std::size_t low = 0;
    std::size_t high = size();
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      if (first(middle, offset) <= offset) {
        low = middle;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  struct Run {
    std::uint32_t first = 0;
    std::uint32_t deadline_low = 0;
    std::uint32_t deadline_high = 0;

    void set(Instant deadline) noexcept {
      const auto ticks = static_cast<std::uint64_t>(deadline.time_since_epoch().count());
      deadline_low = static_cast<std::uint32_t>(ticks);
      deadline_high = static_cast<std::uint32_t>(ticks >> 32);
    }
  };
  static_assert(sizeof(Run) == 12);

  /// In small steps: with what was popped and what is spare, a run takes less than 16 bytes.
  void make_room() {
    if (head_ > runs_.size() / 8) {
      runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    } else {
      runs_.reserve(runs_.size() + std::max<std::size_t>(8, runs_.size() / 8));
    }
  }

  std::vector<Run> runs_;
  std::size_t head_ = 0;
  bool in_order_ = true;
};

/// One value for each offset of a window that moves upwards. Amortised O(1).
template <class T>
class OffsetRing {
 public:
  [[nodiscard]] bool active() const noexcept { return active_; }
  void start(Offset base) {
    base_ = base;
    head_ = 0;
    values_.clear();
    active_ = true;
  }
  void stop() noexcept {
    active_ = false;
    values_ = {};
    head_ = 0;
  }
  [[nodiscard]] Offset begin() const noexcept { return base_ + head_; }
  [[nodiscard]] Offset end() const noexcept { return base_ + values_.size(); }
  void push(T value) { values_.push_back(value); }
  /// Makes sure that @p count pushes cannot fail. @throws std::bad_alloc
  void reserve(std::size_t count) {
    if (values_.capacity() - values_.size() >= count) return;
    values_.reserve(std::max(values_.size() + count, 2 * values_.size()));
  }
  [[nodiscard]] T operator[](Offset offset) const noexcept {
    return offset >= begin() && offset < end() ? values_[offset - base_] : T{};
  }
  /// Calls @p visit with offset and value of each.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t i = head_; i < values_.size(); ++i) visit(base_ + i, values_[i]);
  }
  void drop_below(Offset offset) {
    if (!active_ || offset <= begin()) return;
    head_ = std::min<std::uint64_t>(offset - base_, values_.size());
    if (head_ > 64 && head_ > values_.size() / 2) {
      values_.erase(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(head_));
      base_ += head_;
      head_ = 0;
    }
  }

 private:
  std::vector<T> values_;
  Offset base_{};
  std::uint64_t head_ = 0;
  bool active_ = false;
};

}  // namespace brook::detail
