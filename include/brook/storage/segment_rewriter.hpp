#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/record.hpp>
#include <brook/storage/record_run.hpp>
#include <brook/storage/segment.hpp>
#include <brook/storage/segment_pool.hpp>

namespace brook::detail {

/// Copies what compaction keeps out of sealed segments into new ones of full size, at the old
/// offsets. Neighbours are merged, so that a compacted log has as many segments as its live bytes
/// need. Owns what it made until `keep_segments`.
class SegmentRewriter {
 public:
  SegmentRewriter(std::shared_ptr<SegmentPool> pool, std::size_t largest)
      : pool_(std::move(pool)), largest_(largest) {}
  SegmentRewriter(const SegmentRewriter&) = delete;
  SegmentRewriter& operator=(const SegmentRewriter&) = delete;
  ~SegmentRewriter() {
    for (Segment* const segment : made_) segment->release();
  }

  /// @throws std::bad_alloc
  template <class Keep>
  void add(const Segment& source, Keep& keep) {
    const RecordRun run(source.run(source.base(), source.end()), Pin{});
    std::size_t kept_bytes = 0;
    std::vector<std::uint32_t> kept;
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      if (!keep(run[i])) {
        ++removed_.messages;
        removed_.bytes += run.stored_size(i);
        continue;
      }
      kept.push_back(i);
      kept_bytes += run.stored_size(i);
    }
    for (const std::uint32_t index : kept) {
      copy(run[index], run.stored_size(index), kept_bytes, kept.size());
    }
    if (!made_.empty()) made_.back()->seal(source.end());
  }

  /// What was left out.
  [[nodiscard]] RangeUsage finish() const noexcept { return removed_; }
  [[nodiscard]] std::span<Segment* const> segments() const noexcept { return made_; }
  /// The segments belong to a table now.
  void keep_segments() noexcept { made_.clear(); }

 private:
  void copy(const StoredMessage& message, std::size_t size, std::size_t bytes_of_source,
            std::size_t count_of_source) {
    const bool offset_fits = !made_.empty() && message.offset() - made_.back()->base() < UINT32_MAX;
    if (!offset_fits || !made_.back()->fits(size)) {
      const std::size_t wanted = Segment::size_for(bytes_of_source, count_of_source);
      std::size_t rounded = 4096;
      while (rounded < std::min(wanted, largest_)) rounded *= 2;
      rounded = std::max(rounded, (Segment::size_for(size, 1) + 4095) & ~std::size_t{4095});
      made_.reserve(made_.size() + 1);
      Segment* const next = Segment::make(pool_, rounded, message.offset());
      if (!made_.empty()) made_.back()->seal(message.offset());
      made_.push_back(next);
    }
    Segment& segment = *made_.back();
    std::memcpy(segment.room(), message.record(), size);
    segment.added_at(message.offset(), size, message.timestamp(), !message.addressed_to().empty());
  }

  std::shared_ptr<SegmentPool> pool_;
  const std::size_t largest_;
  std::vector<Segment*> made_;
  RangeUsage removed_{};
};

}  // namespace brook::detail
