#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <brook/core/ids.hpp>
#include <brook/core/pin.hpp>
#include <brook/core/quantity.hpp>
#include <brook/core/record.hpp>

namespace brook {

/// How much one read may return. At least one message is returned if there is one, whatever
/// `max_bytes` says, so that a large message never blocks a reader (Kafka's rule, KIP-74).
struct ReadLimits {
  MessageCount max_messages = 500;
  ByteSize max_bytes = 1 << 20;  ///< As stored: key, payload, headers and about 20 bytes a message.
};

/// Consecutive messages of one partition in one pinned piece of memory: what a storage's reader
/// returns. Offsets rise; they are dense unless compaction has removed messages. The views stay
/// valid while a copy of the run's pin lives.
///
/// Thread rule: a value type. Complexity: every member O(1) but for `take`, O(log n).
class RecordRun {
 public:
  /// Where the run lies. Positions are in units of 8 bytes from `records`; the index grows
  /// downwards, so that entry i is `positions[-i]`, and has one entry more than there are messages:
  /// where the last one ends.
  struct Place {
    const std::byte* records = nullptr;
    const std::uint32_t* positions = nullptr;
    const std::uint32_t* deltas = nullptr;  ///< Offsets from `base`; null = dense.
    Offset base{};                          ///< Offset of the first message if dense.
    std::uint32_t count = 0;
    bool any_addressed = false;  ///< Some message of this piece may be addressed to one group.
  };

  RecordRun() noexcept = default;
  RecordRun(Place place, Pin pin) noexcept : place_(place), pin_(std::move(pin)) {}

  [[nodiscard]] std::uint32_t size() const noexcept { return place_.count; }
  [[nodiscard]] bool empty() const noexcept { return place_.count == 0; }
  [[nodiscard]] bool dense() const noexcept { return place_.deltas == nullptr; }
  [[nodiscard]] bool any_addressed() const noexcept { return place_.any_addressed; }
  [[nodiscard]] const Pin& pin() const noexcept { return pin_; }

  [[nodiscard]] Offset offset(std::uint32_t index) const noexcept {
    return place_.base + (dense() ? index : place_.deltas[index]);
  }
  [[nodiscard]] Offset first() const noexcept { return offset(0); }
  [[nodiscard]] Offset last() const noexcept { return offset(place_.count - 1); }

  [[nodiscard]] const std::byte* record(std::uint32_t index) const noexcept {
    return place_.records + std::size_t{position(index)} * 8;
  }
  [[nodiscard]] StoredMessage operator[](std::uint32_t index) const noexcept {
    return {record(index), offset(index)};
  }
  /// Bytes that message @p index takes.
  [[nodiscard]] std::size_t stored_size(std::uint32_t index) const noexcept {
    return std::size_t{position(index + 1) - position(index)} * 8;
  }
  /// Bytes that all messages take.
  [[nodiscard]] std::size_t stored_size() const noexcept {
    return std::size_t{position(place_.count) - position(0)} * 8;
  }

  /// Shortens the run to what @p limits allow, at least one message. Requires a run that is not
  /// empty.
  void take(const ReadLimits& limits) noexcept {
    const auto wanted = std::min<std::uint64_t>(place_.count, limits.max_messages.value());
    place_.count = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(wanted));
    if (stored_size() <= limits.max_bytes.value()) return;
    std::uint32_t low = 1;
    std::uint32_t high = place_.count;
    while (low < high) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (std::size_t{position(middle) - position(0)} * 8 <= limits.max_bytes.value()) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    place_.count = low;
  }

 private:
  [[nodiscard]] std::uint32_t position(std::uint32_t index) const noexcept {
    return place_.positions[-static_cast<std::ptrdiff_t>(index)];
  }

  Place place_{};
  Pin pin_{};
};

/// What a range of a log holds.
struct RangeUsage {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< As stored.
};

}  // namespace brook
