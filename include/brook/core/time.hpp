#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <utility>

namespace brook {

/// A point of monotonic time: leases, waits and backoff are measured on it. `Instant::max()` is
/// never.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

/// A point of wall-clock time in milliseconds since 1970 UTC, the resolution of Kafka's record
/// format: the stamp of a message, what retention by age and lookup by time go by.
using Timestamp = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

/// A length of time, at most `Duration::max()`, which means "never". Made from any `std::chrono`
/// duration of whole numbers; what does not fit saturates instead of overflowing
/// (`std::chrono::hours::max()` is never, not −1 h). Resolution: nanoseconds.
class Duration {
 public:
  constexpr Duration() noexcept = default;

  template <std::integral Rep, class Period>
  constexpr Duration(std::chrono::duration<Rep, Period> value) noexcept  // NOLINT(*-explicit-*)
      : count_(saturate(value)) {}

  template <std::floating_point Rep, class Period>
  Duration(std::chrono::duration<Rep, Period>) = delete;  // round it yourself: duration_cast

  [[nodiscard]] constexpr std::chrono::nanoseconds nanoseconds() const noexcept {
    return std::chrono::nanoseconds{count_};
  }
  [[nodiscard]] constexpr bool is_zero() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr bool is_negative() const noexcept { return count_ < 0; }
  [[nodiscard]] constexpr bool is_never() const noexcept { return count_ == highest; }

  [[nodiscard]] static constexpr Duration max() noexcept { return std::chrono::nanoseconds::max(); }

  friend constexpr auto operator<=>(Duration, Duration) noexcept = default;

 private:
  static constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();

  template <class Rep, class Period>
  static constexpr std::int64_t saturate(std::chrono::duration<Rep, Period> value) noexcept {
    using ToNano = std::ratio_divide<Period, std::nano>;
    constexpr std::int64_t limit = highest / ToNano::num;
    // Rounding first where the unit is finer keeps everything that fits in range; + promotes.
    const auto count = ToNano::num == 1 ? value.count() / ToNano::den : +value.count();
    if (std::cmp_greater(count, limit)) return highest;
    if (std::cmp_less(count, -limit)) return lowest;
    const std::int64_t nanoseconds = static_cast<std::int64_t>(count) * ToNano::num;
    return ToNano::num == 1 ? nanoseconds : nanoseconds / ToNano::den;
  }

  std::int64_t count_ = 0;
};

/// `from + delay`, saturating at `Instant::max()` (never) and `Instant::min()`.
[[nodiscard]] constexpr Instant saturating_add(Instant from, Duration delay) noexcept {
  if (delay.is_never()) return Instant::max();
  const auto base = from.time_since_epoch();
  const auto add = delay.nanoseconds();
  if (add.count() > 0 && base > std::chrono::nanoseconds::max() - add) return Instant::max();
  if (add.count() < 0 && base < std::chrono::nanoseconds::min() - add) return Instant::min();
  return from + add;
}

/// `from + delay` in whole milliseconds, rounded up, saturating at `Timestamp::max()` (never).
[[nodiscard]] constexpr Timestamp saturating_add(Timestamp from, Duration delay) noexcept {
  if (delay.is_never()) return Timestamp::max();
  const auto base = from.time_since_epoch();
  const auto add = std::chrono::ceil<std::chrono::milliseconds>(delay.nanoseconds());
  if (add.count() > 0 && base > std::chrono::milliseconds::max() - add) return Timestamp::max();
  if (add.count() < 0 && base < std::chrono::milliseconds::min() - add) return Timestamp::min();
  return from + add;
}

}  // namespace brook
