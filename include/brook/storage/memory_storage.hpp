#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <brook/core/ids.hpp>
#include <brook/core/message_batch.hpp>
#include <brook/core/reclaimer.hpp>
#include <brook/core/record.hpp>
#include <brook/storage/segment.hpp>
#include <brook/storage/segment_pool.hpp>
#include <brook/storage/segment_rewriter.hpp>
#include <brook/storage/segment_table.hpp>
#include <brook/storage/storage.hpp>

namespace brook {

/// Messages in memory: compact contiguous segments of 4 KiB, doubling to 1 MiB, the first one made
/// by the first append, with one 4-byte index entry a message. A message of 100 bytes takes about
/// 124.
///
/// Trimmed segments are recycled through a `SegmentPool`, which partitions may share. Readers take
/// no lock; a run that was read stays valid while it is held, even after trim or after the storage
/// is gone.
///
/// Thread rule, errors and complexity: see the `Storage` concept.
class MemoryStorage {
 public:
  class Reader;

  explicit MemoryStorage(std::shared_ptr<SegmentPool> pool = nullptr) noexcept
      : pool_(std::move(pool)) {}
  /// Only while nobody reads @p other, of which nothing but the end is left.
  MemoryStorage(MemoryStorage&& other) noexcept
      : pool_(std::move(other.pool_)),
        table_(std::move(other.table_)),
        active_(std::exchange(other.active_, nullptr)),
        end_(other.end_),
        bytes_(other.bytes_),
        next_size_(other.next_size_) {}
  MemoryStorage& operator=(MemoryStorage&&) = delete;
  ~MemoryStorage() = default;

  [[nodiscard]] Offset end() const noexcept { return end_; }

  RangeUsage append(const MessageBatch& batch, const detail::AppendTimes& times) {
    const Offset before = end_;
    const std::uint64_t bytes_before = bytes_;
    try {
      batch.for_each([&](const MessageView& message) { add(message, times); });
    } catch (...) {
      truncate(before);
      bytes_ = bytes_before;
      throw;
    }
    return {.messages = end_ - before, .bytes = bytes_ - bytes_before};
  }

  void truncate(Offset end) noexcept {
    while (active_ != nullptr && active_->base() >= end && active_->base() < end_) {
      table_.pop_back();
      active_ = table_.last();
      if (active_ != nullptr) active_->reopen();
    }
    if (active_ != nullptr && end < end_) active_->shrink(active_->records_below(end));
    end_ = end;
  }

  void trim(Offset start) noexcept {
    table_.pop_front_below(std::min(start, end_), end_);
    active_ = table_.last();
  }

  /// Rewrites sealed segments that begin below @p upto.
  template <class Keep>
  RangeUsage compact(Offset upto, Keep keep);

 private:
  static constexpr std::size_t smallest_segment = 4096;
  static constexpr std::size_t largest_segment = std::size_t{1} << 20;

  void add(const MessageView& message, const detail::AppendTimes& times) {
    const bool addressed =
        !message.headers.empty() && message.headers.first(addressed_to_header).has_value();
    const auto plan = detail::plan_record(message, times, addressed);
    if (active_ == nullptr || !active_->fits(plan.size)) roll(plan.size);
    detail::write_record(active_->room(), message, plan, times);
    active_->added(plan.size, plan.timestamp, addressed);
    bytes_ += plan.size;
    ++end_;
  }

  void roll(std::size_t record_size) {
    if (pool_ == nullptr) pool_ = std::make_shared<SegmentPool>();
    const std::size_t usual =
        active_ == nullptr ? next_size_ : std::min(largest_segment, next_size_ * 2);
    const std::size_t needed = detail::Segment::size_for(record_size, 1);
    const std::size_t size = needed <= usual ? usual : (needed + 4095) & ~std::size_t{4095};
    table_.reserve_one();
    auto* const segment = detail::Segment::make(pool_, size, end_);
    if (active_ != nullptr) active_->seal(end_);
    table_.push_back(*segment);
    active_ = segment;
    next_size_ = usual;
  }

  std::shared_ptr<SegmentPool> pool_;
  detail::SegmentTable table_;
  detail::Segment* active_ = nullptr;
  Offset end_{};
  std::uint64_t bytes_ = 0;  ///< Ever appended; differences count.
  std::size_t next_size_ = smallest_segment;
};

/// Reads a `MemoryStorage` beside its writer. Keeps one pin on the segment it read last, so that
/// reading on costs no look-up and no shared counter. Thread rule: one thread; must not outlive its
/// storage.
class MemoryStorage::Reader {
 public:
  explicit Reader(const MemoryStorage& storage) noexcept : table_(&storage.table_) {}

  RecordRun read(Offset from, Offset to, const ReadLimits& limits) {
    while (from < to) {
      if (segment_ == nullptr || from < segment_->base() || from >= segment_->end() ||
          segment_->replaced()) {
        if (!find(from, to)) break;
        from = std::max(from, segment_->base());
      }
      RecordRun run(segment_->run(from, to), pin_);
      if (!run.empty()) {
        run.take(limits);
        return run;
      }
      from = std::max(from, segment_->end());
    }
    return {};
  }

  [[nodiscard]] Offset first_at_or_after(Timestamp time, Offset from, Offset to) const noexcept {
    const detail::SegmentTable::View view(*table_);
    for (std::size_t i = first_reaching(view, time, view.find(from)); i < view.end(); ++i) {
      const detail::Segment& segment = view.segment(i);
      if (segment.base() >= to) break;
      if (segment.max_timestamp() < time) continue;
      const RecordRun run(segment.run(from, to), Pin{});
      const std::uint32_t found = segment.in_time_order() ? halve(run, time) : scan(run, time);
      if (found < run.size()) return run.offset(found);
    }
    return to;
  }

  [[nodiscard]] RangeUsage usage(Offset from, Offset to) const noexcept {
    if (from >= to) return {};
    const detail::SegmentTable::View view(*table_);
    const RangeUsage low = sums(view, from);
    const RangeUsage high = sums(view, to);
    return {.messages = high.messages - low.messages, .bytes = high.bytes - low.bytes};
  }

  /// Gives up the pin, until the next read.
  void rest() noexcept {
    segment_ = nullptr;
    pin_ = Pin{};
  }

 private:
  /// Holds a segment for one reader: its runs share this node's counter instead of the segment's,
  /// which other readers use.
  class Node final : public Pinned {
   public:
    explicit Node(detail::Segment& segment) noexcept : segment_(segment) { segment_.acquire(); }

   private:
    ~Node() override { segment_.release(); }
    void unpinned() noexcept override { delete this; }
    detail::Segment& segment_;
  };

  /// Pins the segment where messages in `[from, to)` may begin. Never one that begins at @p to or
  /// later: it may not be visible yet, and be taken back.
  bool find(Offset from, Offset to) {
    rest();
    const detail::SegmentTable::View view(*table_);
    const std::size_t found = view.find(from);
    if (found == view.end() || view.segment(found).base() >= to) return false;
    pin_ = Pin(new Node(view.segment(found)));
    segment_ = &view.segment(found);
    return true;
  }

  /// The first slot from @p from on whose segment may reach @p time. Running maxima rise, so they
  /// can be halved; where an earlier segment has reached it already they say nothing, and the
  /// caller looks at each.
  static std::size_t first_reaching(const detail::SegmentTable::View& view, Timestamp time,
                                    std::size_t from) noexcept {
    const std::int64_t wanted = time.time_since_epoch().count();
    if (from == view.end() || view[from].max_timestamp_before >= wanted) return from;
    std::size_t low = from + 1;
    std::size_t high = view.end();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (view[middle].max_timestamp_before < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }
  static std::uint32_t halve(const RecordRun& run, Timestamp time) noexcept {
    std::uint32_t low = 0;
    std::uint32_t high = run.size();
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (run[middle].timestamp() < time) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  static std::uint32_t scan(const RecordRun& run, Timestamp time) noexcept {
    std::uint32_t index = 0;
    while (index < run.size() && run[index].timestamp() < time) ++index;
    return index;
  }
  /// Messages and bytes below @p offset, counted from the beginning of the table, whose first
  /// segments may have been trimmed.
  static RangeUsage sums(const detail::SegmentTable::View& view, Offset offset) noexcept {
    if (view.begin() == view.end()) return {};
    const std::size_t next = view.first_from(offset);
    const std::size_t at = next == view.begin() ? next : next - 1;
    const std::uint32_t below = next == at ? 0 : view.segment(at).records_below(offset);
    return {.messages = view[at].messages_before + below,
            .bytes = view[at].bytes_before + view.segment(at).bytes_of_first(below)};
  }

  const detail::SegmentTable* table_;
  detail::Segment* segment_ = nullptr;
  Pin pin_;
};

template <class Keep>
RangeUsage MemoryStorage::compact(Offset upto, Keep keep) {
  std::size_t sealed = 0;
  while (sealed + 1 < table_.size() && table_.at(sealed)->base() < upto) ++sealed;
  if (sealed == 0) return {};

  const auto stays = [&](const StoredMessage& message) {
    return message.offset() >= upto || keep(message);
  };
  detail::SegmentRewriter rewriter(pool_, largest_segment);
  for (std::size_t i = 0; i < sealed; ++i) rewriter.add(*table_.at(i), stays);
  const RangeUsage removed = rewriter.finish();
  if (removed.messages == 0) return {};
  table_.replace_front(sealed, rewriter.segments());
  rewriter.keep_segments();
  return removed;
}
static_assert(Storage<MemoryStorage>);

}  // namespace brook
