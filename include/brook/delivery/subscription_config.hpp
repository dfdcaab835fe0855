#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <brook/core/error.hpp>
#include <brook/core/ids.hpp>
#include <brook/core/quantity.hpp>
#include <brook/core/time.hpp>

namespace brook {

/// What a failure does to the messages behind it.
enum class Ordering : unsigned char {
  key,        ///< Later messages of its key wait, those on lease are taken back; other keys flow.
  partition,  ///< The same for the whole partition.
  none,       ///< Nothing.
};

/// When a message counts as handled.
enum class Guarantee : unsigned char {
  at_least_once,  ///< When it was acked: a crash repeats it, never loses it.
  at_most_once,   ///< When it was handed out: a crash loses it, never repeats it.
};

/// What happens to a message that was charged for the `max_deliveries`-th time.
enum class Exhausted : unsigned char {
  dead_letter,  ///< It becomes a dead letter.
  drop,         ///< It is settled and counted as dropped.
};

/// When a failed message comes again: after `min_backoff`, doubling with every further failure up
/// to `max_backoff`.
struct RetryPolicy {
  Duration min_backoff = std::chrono::milliseconds{100};
  Duration max_backoff = std::chrono::seconds{10};
  /// Takes off up to half of each backoff, by a hash of offset and attempt, so that messages that
  /// failed together do not come back together. Never applied under a manual clock.
  bool jitter = false;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) noexcept = default;
};

/// Options of one group for one partition.
struct SubscriptionConfig {
  Duration ack_deadline = std::chrono::seconds{30};
  /// Longest time from hand-out to deadline that extending may reach.
  Duration max_lease = Duration::max();
  std::optional<DeliveryCount> max_deliveries{};  ///< Unset = unlimited.
  Exhausted exhausted = Exhausted::dead_letter;
  RetryPolicy retry{};
  Ordering ordering = Ordering::key;
  Guarantee guarantee = Guarantee::at_least_once;
  MessageCount max_outstanding_messages = 10'000;
  ByteSize max_outstanding_bytes = ByteSize::unlimited();  ///< As stored.
  /// Nothing at or above committed + this is handed out. In offsets, at most 2^30.
  MessageCount max_ack_window = 100'000;
  /// Messages addressed to another group are settled unseen; the name of this one.
  std::string group{};
};

namespace detail {

/// @throws InvalidArgument naming the option that makes no sense
inline void validate(const SubscriptionConfig& config) {
  const auto positive = [](Duration value, std::string_view name) {
    if (value.is_zero() || value.is_negative()) {
      throw InvalidArgument(std::string(name) + " must be greater than 0");
    }
  };
  positive(config.ack_deadline, "ack_deadline");
  positive(config.max_lease, "max_lease");
  if (config.ack_deadline > config.max_lease) {
    throw InvalidArgument("ack_deadline must not be longer than max_lease");
  }
  const SubscriptionConfig unset;
  if (config.guarantee == Guarantee::at_most_once &&
      (config.ack_deadline != unset.ack_deadline || config.max_lease != unset.max_lease ||
       config.max_deliveries || config.retry != unset.retry)) {
    throw InvalidArgument(
        "at_most_once never retries: leave ack_deadline, max_lease, max_deliveries and retry "
        "unset");
  }
  if (config.max_deliveries && config.max_deliveries->value() == 0) {
    throw InvalidArgument("max_deliveries must be greater than 0: leave it unset for no limit");
  }
  if (config.max_deliveries && config.max_deliveries->value() > 1'000'000) {
    throw InvalidArgument("max_deliveries must be at most 1,000,000: leave it unset for no limit");
  }
  if (config.retry.min_backoff.is_negative() ||
      config.retry.max_backoff < config.retry.min_backoff) {
    throw InvalidArgument("retry: needs 0 <= min_backoff <= max_backoff");
  }
  if (config.max_outstanding_messages.value() == 0 || config.max_outstanding_bytes.value() == 0) {
    throw InvalidArgument(
        "max_outstanding_messages and max_outstanding_bytes must be greater than 0");
  }
  if (config.max_ack_window.value() == 0 || config.max_ack_window.value() > (1U << 30)) {
    throw InvalidArgument("max_ack_window must be between 1 and 2^30 offsets");
  }
}

/// Backoff before a message comes again that has failed @p failures times (at least once).
[[nodiscard]] inline Duration backoff(const RetryPolicy& policy, std::uint64_t failures,
                                      Offset offset) {
  std::int64_t wait = policy.min_backoff.nanoseconds().count();
  const std::int64_t most = policy.max_backoff.nanoseconds().count();
  for (std::uint64_t i = 1; i < failures && wait < most; ++i) {
    wait = wait > most / 2 ? most : wait * 2;
    if (wait == 0) break;
  }
  wait = std::min(wait, most);
  if (policy.jitter && wait > 1) {
    std::uint64_t mixed = (offset.value() + 1) * 0x9e37'79b9'7f4a'7c15ULL + failures;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58'476d'1ce4'e5b9ULL;
    mixed ^= mixed >> 31;
    wait -= static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(wait / 2));
  }
  return std::chrono::nanoseconds{wait};
}

}  // namespace detail

}  // namespace brook
