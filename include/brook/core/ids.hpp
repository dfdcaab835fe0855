#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace brook {

/// A position in one partition: the n-th message ever appended there has offset n, counted from 0.
///
/// Assigned by the log, never by a publisher; never reused and never restarted (semantics of
/// Kafka's offsets). Two offsets are comparable only when they belong to the same partition of the
/// same topic id. Example: `brook::Offset{41} + 1 == brook::Offset{42}`.
class Offset {
 public:
  constexpr Offset() noexcept = default;
  constexpr explicit Offset(std::uint64_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }

  constexpr Offset& operator++() noexcept {
    ++value_;
    return *this;
  }
  constexpr Offset& operator+=(std::uint64_t count) noexcept {
    value_ += count;
    return *this;
  }

  friend constexpr Offset operator+(Offset from, std::uint64_t count) noexcept {
    return Offset{from.value_ + count};
  }
  friend constexpr Offset operator-(Offset from, std::uint64_t count) noexcept {
    return Offset{from.value_ - count};
  }
  /// Distance in offsets. Requires `low <= high`.
  friend constexpr std::uint64_t operator-(Offset high, Offset low) noexcept {
    return high.value_ - low.value_;
  }
  friend constexpr auto operator<=>(Offset, Offset) noexcept = default;

  /// Greater than every offset a log can reach.
  [[nodiscard]] static constexpr Offset max() noexcept { return Offset{~std::uint64_t{0}}; }

 private:
  std::uint64_t value_ = 0;
};

/// A half-open range of offsets `[first, last)` of one partition.
struct OffsetRange {
  Offset first{};
  Offset last{};

  [[nodiscard]] constexpr std::uint64_t size() const noexcept { return last - first; }
  [[nodiscard]] constexpr bool empty() const noexcept { return first == last; }
  friend constexpr bool operator==(OffsetRange, OffsetRange) noexcept = default;
};

/// Number of a partition within its topic, counted from 0.
class PartitionId {
 public:
  constexpr PartitionId() noexcept = default;
  constexpr explicit PartitionId(std::uint32_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }
  friend constexpr auto operator<=>(PartitionId, PartitionId) noexcept = default;

 private:
  std::uint32_t value_ = 0;
};

/// Identity of one creation of a topic: a topic deleted and created again under its old name has
/// another id, so that nothing remembered about the old one is ever applied to the new one.
struct TopicId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend constexpr auto operator<=>(const TopicId&, const TopicId&) noexcept = default;
};

/// Decimal text of an id, for error messages and reports.
[[nodiscard]] inline std::string to_string(Offset offset) {
  return std::to_string(offset.value());
}
[[nodiscard]] inline std::string to_string(PartitionId partition) {
  return std::to_string(partition.value());
}

}  // namespace brook
