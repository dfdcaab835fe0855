#pragma once

#include <chrono>
#include <cstdint>

#if defined(__linux__)
#include <time.h>
#endif

#include <brook/clock/clock.hpp>

namespace brook {

/// The time of this machine. `now()` is `std::chrono::steady_clock`; `wall_now()` is the wall clock
/// of the operating system, on Linux its coarse variant (one tick, 1–4 ms, behind at most; a
/// quarter of the cost). Waits sleep.
///
/// No background thread: work that is due is done by the calls of the application. Thread rule: all
/// calls from any thread.
class SystemClock {
 public:
  [[nodiscard]] Instant now() const noexcept { return std::chrono::steady_clock::now(); }

  [[nodiscard]] Timestamp wall_now() const noexcept {
#if defined(CLOCK_REALTIME_COARSE)
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return Timestamp{
        std::chrono::milliseconds{static_cast<std::int64_t>(time.tv_sec) * 1000 +
                                  static_cast<std::int64_t>(time.tv_nsec) / 1'000'000}};
#else
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
#endif
  }

  void wait(Waiter& waiter, std::uint64_t ticket, Instant deadline) const {
    waiter.sleep_until(ticket, deadline);
  }

  void attach(EventSource&) const noexcept {}
  void detach(EventSource&) const noexcept {}
};
static_assert(Clock<SystemClock>);

}  // namespace brook
