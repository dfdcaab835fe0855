#include <brook/clock/clock.hpp>

#include <cstdint>
#include <type_traits>

#include "support/catch.hpp"

namespace {

struct Stopped {
  brook::Instant now() const noexcept { return {}; }
  brook::Timestamp wall_now() const noexcept { return {}; }
  void wait(brook::Waiter&, std::uint64_t, brook::Instant) noexcept {}
  void attach(brook::EventSource&) noexcept {}
  void detach(brook::EventSource&) noexcept {}
};
static_assert(brook::Clock<Stopped>);

struct WithoutWait {
  brook::Instant now() const noexcept { return {}; }
  brook::Timestamp wall_now() const noexcept { return {}; }
  void attach(brook::EventSource&) noexcept {}
  void detach(brook::EventSource&) noexcept {}
};
static_assert(!brook::Clock<WithoutWait>);

struct Manual : Stopped {
  static constexpr bool manual = true;
};
struct NotManual : Stopped {
  static constexpr bool manual = false;
};
static_assert(brook::is_manual<Manual>);
static_assert(!brook::is_manual<NotManual>);
static_assert(!brook::is_manual<Stopped>);

/// What brook does with a clock, seen from one function.
template <brook::Clock C>
brook::Instant wait_once(C& clock) {
  brook::Waiter waiter;
  clock.wait(waiter, waiter.ticket(), clock.now());
  return clock.now();
}

}  // namespace

TEST_CASE("A model of a clock needs the header of the concept and no other", "[clock]") {
  Stopped clock;
  CHECK(wait_once(clock) == brook::Instant{});
}
