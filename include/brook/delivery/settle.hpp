#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <brook/core/ids.hpp>
#include <brook/core/time.hpp>

namespace brook {

/// What came of acking, nacking, rejecting or extending a delivery. Tested in this order; nothing
/// but `applied` changed anything.
enum class SettleResult : unsigned char {
  applied,          ///< Done.
  stale,            ///< A seek or reset, or the deletion of the topic, voided the delivery.
  fenced,           ///< The partition has been given to another member since.
  below_start,      ///< The message was trimmed; it counts as lost.
  already_settled,  ///< Somebody settled it before.
  lease_lost,       ///< The lease ended: nacked, taken back for its key, handed out again.
};

[[nodiscard]] constexpr std::string_view to_string(SettleResult result) noexcept {
  switch (result) {
    case SettleResult::applied:
      return "applied";
    case SettleResult::stale:
      return "stale";
    case SettleResult::fenced:
      return "fenced";
    case SettleResult::below_start:
      return "below_start";
    case SettleResult::already_settled:
      return "already_settled";
    case SettleResult::lease_lost:
      return "lease_lost";
  }
  return "unknown";
}

/// How many deliveries of a batch ended in which `SettleResult`.
struct SettleCounts {
  std::uint64_t applied = 0;
  std::uint64_t stale = 0;
  std::uint64_t fenced = 0;
  std::uint64_t below_start = 0;
  std::uint64_t already_settled = 0;
  std::uint64_t lease_lost = 0;

  void add(SettleResult result, std::uint64_t count = 1) noexcept {
    switch (result) {
      case SettleResult::applied:
        applied += count;
        break;
      case SettleResult::stale:
        stale += count;
        break;
      case SettleResult::fenced:
        fenced += count;
        break;
      case SettleResult::below_start:
        below_start += count;
        break;
      case SettleResult::already_settled:
        already_settled += count;
        break;
      case SettleResult::lease_lost:
        lease_lost += count;
        break;
    }
  }
  friend bool operator==(const SettleCounts&, const SettleCounts&) noexcept = default;
};

/// How to nack: when the message may come again, and why it failed.
struct NackOptions {
  std::optional<Duration> delay{};  ///< Unset: the backoff of the retry policy.
  std::string_view error{};         ///< Kept with the message, and with its dead letter.
};

/// One hand-out of one message, as a value of 24 bytes that may be kept after its batch is gone, to
/// settle it later.
struct Receipt {
  std::uint64_t subscription = 0;  ///< Which group and partition handed it out.
  Offset offset{};
  std::uint32_t epoch = 0;    ///< Rises with every seek and change of owner.
  std::uint32_t attempt = 0;  ///< Which hand-out of this message within the epoch.

  friend bool operator==(const Receipt&, const Receipt&) noexcept = default;
};
static_assert(sizeof(Receipt) == 24);

/// Why a message failed so far.
struct Failure {
  std::string error{};  ///< Of the last failure.
  Timestamp first{};    ///< Wall time of the first failure.
  Timestamp last{};     ///< Wall time of the last failure.
};

}  // namespace brook
