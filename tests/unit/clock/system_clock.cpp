#include <brook/clock/system_clock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "support/catch.hpp"

using brook::Instant;
using brook::SystemClock;
using brook::Waiter;

namespace {

static_assert(brook::Clock<SystemClock>);
static_assert(brook::Clock<const SystemClock>);
static_assert(!brook::is_manual<SystemClock>);
static_assert(noexcept(SystemClock().now()));
static_assert(noexcept(SystemClock().wall_now()));

}  // namespace

TEST_CASE("The time of the system is that of its steady clock and never falls", "[clock]") {
  const SystemClock clock;
  const Instant before = std::chrono::steady_clock::now();
  Instant last = clock.now();
  const Instant after = std::chrono::steady_clock::now();
  CHECK(before <= last);
  CHECK(last <= after);
  for (int i = 0; i < 10'000; ++i) {
    const Instant now = clock.now();
    REQUIRE(now >= last);
    last = now;
  }
}

TEST_CASE("The wall clock of the system is that of the operating system", "[clock]") {
  const SystemClock clock;
  const auto before = std::chrono::system_clock::now();
  const auto told = clock.wall_now();
  const auto after = std::chrono::system_clock::now();
  // Coarse: behind by a tick at most; a minute allows for a clock that is being set.
  CHECK(told >= before - std::chrono::minutes{1});
  CHECK(told <= after + std::chrono::minutes{1});
}

TEST_CASE("All system clocks tell one time", "[clock]") {
  const SystemClock first;
  const SystemClock second;
  const Instant before = first.now();
  CHECK(second.now() >= before);
}

TEST_CASE("A wait on the system clock ends with news from another thread", "[clock]") {
  const SystemClock clock;
  Waiter waiter;
  std::atomic<bool> ready{false};
  const std::uint64_t ticket = waiter.ticket();
  std::thread publisher([&] {
    ready.store(true);
    waiter.notify();
  });
  while (!waiter.has_news(ticket)) clock.wait(waiter, ticket, Instant::max());
  publisher.join();
  CHECK(ready.load());
}

TEST_CASE("A wait on the system clock ends at its deadline", "[clock]") {
  const SystemClock clock;
  Waiter waiter;
  const std::uint64_t ticket = waiter.ticket();
  const Instant deadline = clock.now() + std::chrono::milliseconds{2};
  while (clock.now() < deadline) clock.wait(waiter, ticket, deadline);
  CHECK_FALSE(waiter.has_news(ticket));
}
