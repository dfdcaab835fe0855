#pragma once

#include <concepts>
#include <cstdint>

#include <brook/clock/event_source.hpp>
#include <brook/clock/waiter.hpp>
#include <brook/core/time.hpp>

namespace brook {

namespace detail {
template <class C>
concept TellsTime = requires(const C& clock) {
  { clock.now() } -> std::same_as<Instant>;
  { clock.wall_now() } -> std::same_as<Timestamp>;
};

template <class C>
concept Waits = requires(C& clock, Waiter& waiter, std::uint64_t ticket, Instant deadline) {
  clock.wait(waiter, ticket, deadline);
};

template <class C>
concept DrivesEvents = requires(C& clock, EventSource& source) {
  clock.attach(source);
  clock.detach(source);
};
}  // namespace detail

/// Where all time in brook comes from.
///
/// | expression             | returns     | meaning |
/// |------------------------|-------------|---|
/// | `c.now()`              | `Instant`   | monotonic, precise, never falls: for leases, waits |
/// | `c.wall_now()`         | `Timestamp` | for stamps, retention; may be coarse, may jump |
/// | `c.wait(w, ticket, t)` | –           | returns when waiter `w` has news since `ticket`, or |
/// |                        |             | `now() >= t`, or early; pre: no lock is held that |
/// |                        |             | `notify` or due work could need |
/// | `c.attach(source)`     | –           | from now on the clock may run the source's due work |
/// | `c.detach(source)`     | –           | post: the clock does not touch the source any more |
///
/// Invariants: `now()` never falls on any thread. `wait` never returns later than the first of news
/// and `t` becoming true for it, apart from scheduling. Thread rule: all calls from any thread.
/// `wait` may throw (`EndlessWait`, `ConcurrentWait` of a manual clock); the others throw nothing
/// but `std::bad_alloc` (attach). Complexity: O(1) but for `wait`. Lifetime: a clock outlives
/// whatever was built on it.
template <class C>
concept Clock = detail::TellsTime<C> && detail::Waits<C> && detail::DrivesEvents<C>;

/// Whether a clock stands still until it is moved (`static constexpr bool manual = true`). Under
/// such a clock nothing is left to chance: backoffs have no jitter.
template <class C>
inline constexpr bool is_manual = requires {
  requires C::manual;
};

}  // namespace brook
