#include <brook/clock/clock.hpp>

#include <chrono>
#include <cstdint>

#include <brook/clock/manual_clock.hpp>
#include <brook/clock/system_clock.hpp>

#include "support/catch.hpp"
#include "support/clock_conformance.hpp"

namespace {

/// Meets the concept and nothing more: not default constructible, not movable, `wait` returns early
/// and something useless, nothing is noexcept.
class ClockArchetype {
 public:
  struct Useless {};

  explicit ClockArchetype(int) {}
  ClockArchetype(const ClockArchetype&) = delete;
  ClockArchetype& operator=(const ClockArchetype&) = delete;

  brook::Instant now() const { return std::chrono::steady_clock::now(); }
  brook::Timestamp wall_now() const { return {}; }
  Useless wait(brook::Waiter&, std::uint64_t, brook::Instant) { return {}; }
  Useless attach(brook::EventSource&) { return {}; }
  Useless detach(brook::EventSource&) { return {}; }
};
static_assert(brook::Clock<ClockArchetype>);

// ----------------------------------------------------------------------------------- near misses

struct Complete {
  brook::Instant now() const { return {}; }
  brook::Timestamp wall_now() const { return {}; }
  void wait(brook::Waiter&, std::uint64_t, brook::Instant) {}
  void attach(brook::EventSource&) {}
  void detach(brook::EventSource&) {}
};
static_assert(brook::Clock<Complete>);

struct TellsTimeOnlyToWriters : Complete {
  brook::Instant now() { return {}; }
};
static_assert(!brook::Clock<TellsTimeOnlyToWriters>);

struct TellsTheTimeOfAnotherClock : Complete {
  std::chrono::system_clock::time_point now() const { return {}; }
};
static_assert(!brook::Clock<TellsTheTimeOfAnotherClock>);

struct TellsTheWallTimeInNanoseconds : Complete {
  std::chrono::system_clock::time_point wall_now() const { return {}; }
};
static_assert(!brook::Clock<TellsTheWallTimeInNanoseconds>);

struct HasNoWallClock : Complete {
  void wall_now() const = delete;
};
static_assert(!brook::Clock<HasNoWallClock>);

struct WaitsForAnInterval : Complete {
  void wait(brook::Waiter&, std::uint64_t, std::chrono::nanoseconds) {}
};
static_assert(!brook::Clock<WaitsForAnInterval>);

struct WaitsWithoutTicket : Complete {
  void wait(brook::Waiter&, brook::Instant) {}
};
static_assert(!brook::Clock<WaitsWithoutTicket>);

struct TakesNoSources : Complete {
  void attach(brook::EventSource&) = delete;
};
static_assert(!brook::Clock<TakesNoSources>);

struct KeepsSources : Complete {
  void detach(brook::EventSource&) = delete;
};
static_assert(!brook::Clock<KeepsSources>);

static_assert(!brook::Clock<std::chrono::steady_clock>);
static_assert(!brook::Clock<int>);
static_assert(!brook::Clock<const Complete>);

}  // namespace

TEST_CASE("SystemClock conforms", "[clock][conformance]") {
  support::check_clock([] { return brook::SystemClock(); }, {});
}

TEST_CASE("ManualClock whose waits move it conforms", "[clock][conformance]") {
  support::check_clock([] { return brook::ManualClock(); }, {.many_may_wait = false});
}

TEST_CASE("ManualClock whose waits block conforms", "[clock][conformance]") {
  support::check_clock([] { return brook::ManualClock(brook::ManualClock::Waiting::blocking); },
                       {.time_passes_in_waits = false});
}

TEST_CASE("A clock that meets the minimum and nothing more conforms", "[clock][conformance]") {
  support::check_clock([] { return ClockArchetype(0); }, {});
}
