#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/pin.hpp>
#include <brook/core/record.hpp>
#include <brook/storage/record_run.hpp>
#include <brook/storage/segment_pool.hpp>

namespace brook::detail {

/// A contiguous piece of a partition in memory: this header, then records upwards, and from the
/// other end downwards the index: where each record begins and where the last one ends, in units of
/// 8 bytes.
///
/// The index makes offset → record one subtraction and one load. A segment that compaction made
/// also lists the offsets, because they have gaps. Readers look only at entries below a visible end
/// that they acquired; the writer never changes an entry that is visible.
class Segment final : public Pinned {
 public:
  /// A segment of @p size bytes in all. @throws std::bad_alloc
  static Segment* make(const std::shared_ptr<SegmentPool>& pool, std::size_t size, Offset base) {
    void* const memory = pool->take(size);
    return ::new (memory) Segment(pool, size, base);
  }
  /// Bytes that a segment needs to hold @p records bytes in @p count records.
  static constexpr std::size_t size_for(std::size_t records, std::size_t count) noexcept;

  [[nodiscard]] Offset base() const noexcept { return base_; }
  /// Where the next segment begins; `Offset::max()` while this one is the last.
  [[nodiscard]] Offset end() const noexcept { return Offset{end_.load(std::memory_order_relaxed)}; }
  void seal(Offset end) noexcept { end_.store(end.value(), std::memory_order_relaxed); }
  void reopen() noexcept { seal(Offset::max()); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] std::size_t used() const noexcept { return used_; }

  [[nodiscard]] bool fits(std::size_t record_size) const noexcept {
    return used_ + record_size + (std::size_t{count_} + 2) * sizeof(std::uint32_t) <= space_;
  }
  /// Room for the next record, which `added` then makes part of the segment.
  [[nodiscard]] std::byte* room() noexcept { return records() + used_; }
  void added(std::size_t record_size, Timestamp timestamp, bool addressed) noexcept {
    used_ += record_size;
    ++count_;
    index()[-static_cast<std::ptrdiff_t>(count_)] = static_cast<std::uint32_t>(used_ / 8);
    const auto stamp = timestamp.time_since_epoch().count();
    const auto highest = max_timestamp_.load(std::memory_order_relaxed);
    if (stamp > highest) max_timestamp_.store(stamp, std::memory_order_relaxed);
    if (stamp < highest) in_time_order_.store(false, std::memory_order_relaxed);
    if (addressed) any_addressed_.store(true, std::memory_order_relaxed);
  }
  /// The same for a copy of a record at its old offset, in a segment that gets gaps.
  void added_at(Offset offset, std::size_t record_size, Timestamp timestamp, bool addressed) {
    deltas_.push_back(static_cast<std::uint32_t>(offset - base_));
    added(record_size, timestamp, addressed);
  }
  /// Forgets everything behind the first @p count records. The largest timestamp stays an upper
  /// bound.
  void shrink(std::uint32_t count) noexcept {
    count_ = count;
    used_ = bytes_of_first(count);
  }

  [[nodiscard]] Timestamp max_timestamp() const noexcept {
    return Timestamp{std::chrono::milliseconds{max_timestamp_.load(std::memory_order_relaxed)}};
  }

  /// Timestamps never fall within this segment, so that they can be searched by halving.
  [[nodiscard]] bool in_time_order() const noexcept {
    return in_time_order_.load(std::memory_order_relaxed);
  }
  /// Compaction put another segment in the place of this one: a reader looks it up again.
  [[nodiscard]] bool replaced() const noexcept { return replaced_.load(std::memory_order_relaxed); }
  void set_replaced() noexcept { replaced_.store(true, std::memory_order_relaxed); }

  /// Number of records below @p offset, which is at or below a visible end.
  [[nodiscard]] std::uint32_t index_of(Offset offset) const noexcept {
    if (offset <= base_) return 0;
    if (deltas_.empty()) return static_cast<std::uint32_t>(offset - base_);
    const auto found = std::lower_bound(deltas_.begin(), deltas_.end(), offset - base_);
    return static_cast<std::uint32_t>(found - deltas_.begin());
  }
  [[nodiscard]] std::uint32_t records_below(Offset to) const noexcept {
    return index_of(std::min(to, end()));
  }
  /// Bytes of the first @p count records.
  [[nodiscard]] std::size_t bytes_of_first(std::uint32_t count) const noexcept {
    return std::size_t{index()[-static_cast<std::ptrdiff_t>(count)]} * 8;
  }
  /// The records in `[from, to)`, unpinned.
  [[nodiscard]] RecordRun::Place run(Offset from, Offset to) const noexcept {
    const std::uint32_t last = records_below(to);
    const std::uint32_t first = std::min(index_of(from), last);
    const bool dense = deltas_.empty();
    return {.records = records(),
            .positions = index() - first,
            .deltas = dense ? nullptr : deltas_.data() + first,
            .base = dense ? base_ + first : base_,
            .count = last - first,
            .any_addressed = any_addressed_.load(std::memory_order_relaxed)};
  }

  // For the list of segments that wait until no reader can be finding them any more.
  Segment* next_retired = nullptr;
  std::uint64_t retired_in = 0;

 private:
  Segment(const std::shared_ptr<SegmentPool>& pool, std::size_t size, Offset base) noexcept
      : pool_(pool), base_(base), size_(size), space_(size - header_size()) {
    *index() = 0;
  }
  ~Segment() override = default;

  void unpinned() noexcept override {
    const auto pool = std::move(pool_);
    const std::size_t size = size_;
    this->~Segment();
    pool->give_back(static_cast<void*>(this), size);
  }

  static constexpr std::size_t header_size() noexcept;
  [[nodiscard]] std::byte* records() noexcept {
    return reinterpret_cast<std::byte*>(this) + header_size();
  }
  [[nodiscard]] const std::byte* records() const noexcept {
    return reinterpret_cast<const std::byte*>(this) + header_size();
  }
  [[nodiscard]] std::uint32_t* index() noexcept {
    return reinterpret_cast<std::uint32_t*>(records() + space_) - 1;
  }
  [[nodiscard]] const std::uint32_t* index() const noexcept {
    return reinterpret_cast<const std::uint32_t*>(records() + space_) - 1;
  }

  std::shared_ptr<SegmentPool> pool_;
  const Offset base_;
  const std::size_t size_;
  const std::size_t space_;  ///< Bytes behind the header.
  std::vector<std::uint32_t> deltas_;

  // Written by the writer at every append, read by readers once a read: kept off the line above.
  alignas(64) std::size_t used_ = 0;
  std::uint32_t count_ = 0;
  std::atomic<bool> any_addressed_{false};
  std::atomic<bool> in_time_order_{true};
  std::atomic<bool> replaced_{false};
  std::atomic<std::int64_t> max_timestamp_{std::numeric_limits<std::int64_t>::min()};
  std::atomic<std::uint64_t> end_{Offset::max().value()};
};

constexpr std::size_t Segment::header_size() noexcept {
  return (sizeof(Segment) + 63) & ~std::size_t{63};
}

constexpr std::size_t Segment::size_for(std::size_t records, std::size_t count) noexcept {
  return header_size() + ((records + (count + 1) * sizeof(std::uint32_t) + 63) & ~std::size_t{63});
}

}  // namespace brook::detail
