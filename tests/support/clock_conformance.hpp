#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <brook/clock/clock.hpp>
#include <brook/clock/event_source.hpp>
#include <brook/clock/waiter.hpp>

#include "support/catch.hpp"

namespace support {

/// What a clock says about itself beyond the concept.
struct ClockPromises {
  bool time_passes_in_waits =
      true;                   ///< A wait for a time ends by itself: nobody need move the clock.
  bool many_may_wait = true;  ///< Several threads may wait at once, and for ever.
};

namespace detail {

/// Has nothing to do, and counts how often it is asked.
class QuietSource final : public brook::EventSource {
 public:
  brook::Instant next_event_time(brook::EventScope) override {
    return touched(), brook::Instant::max();
  }
  void run_due() override { touched(); }
  void report_backlog(brook::IdleReport&) override { touched(); }

  std::uint64_t touches() const { return touches_.load(); }

 private:
  void touched() { touches_.fetch_add(1); }
  std::atomic<std::uint64_t> touches_{0};
};

template <class C>
void check_never_falls(const C& clock) {
  std::atomic<brook::Instant> latest{clock.now()};
  std::atomic<int> falls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 3'000; ++i) {
        brook::Instant before = latest.load();
        const brook::Instant now = clock.now();
        if (now < before) falls.fetch_add(1);
        while (before < now && !latest.compare_exchange_weak(before, now)) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(falls.load() == 0);
  CHECK(clock.now() >= latest.load());
}

template <class C>
void check_waits_that_end_at_once(C& clock) {
  brook::Waiter waiter;
  const std::uint64_t before = waiter.ticket();
  waiter.notify();
  clock.wait(waiter, before, brook::Instant::max());
  clock.wait(waiter, before, clock.now());
  const std::uint64_t after = waiter.ticket();
  clock.wait(waiter, after, clock.now());
  clock.wait(waiter, after, clock.now() - std::chrono::hours{1});
  clock.wait(waiter, after, brook::Instant::min());
  CHECK(waiter.ticket() == after);
}

template <class C>
void check_wait_for_a_time(C& clock) {
  brook::Waiter waiter;
  for (const auto step : {std::chrono::nanoseconds{1}, std::chrono::nanoseconds{1'000'000}}) {
    const std::uint64_t ticket = waiter.ticket();
    const brook::Instant deadline = clock.now() + step;
    while (clock.now() < deadline) clock.wait(waiter, ticket, deadline);
    CHECK(clock.now() >= deadline);
    CHECK_FALSE(waiter.has_news(ticket));
  }
}

/// Two threads answer each other. A wake-up that is lost is a deadlock.
template <class C>
void check_no_wake_up_is_lost(C& clock) {
  constexpr int rounds = 1'000;
  brook::Waiter waiter;
  std::atomic<int> turn{0};
  const auto play = [&](int parity) {
    for (int round = parity; round < rounds; round += 2) {
      for (;;) {
        const std::uint64_t ticket = waiter.ticket();
        if (turn.load() == round) break;
        clock.wait(waiter, ticket, brook::Instant::max());
      }
      turn.store(round + 1);
      waiter.notify();
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  CHECK(turn.load() == rounds);
}

/// One notify ends the waits of all.
template <class C>
void check_all_are_woken(C& clock) {
  brook::Waiter waiter;
  std::atomic<bool> go{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (;;) {
        const std::uint64_t ticket = waiter.ticket();
        if (go.load()) return;
        clock.wait(waiter, ticket, brook::Instant::max());
      }
    });
  }
  go.store(true);
  waiter.notify();
  for (std::thread& thread : threads) thread.join();
  CHECK(go.load());
}

template <class C>
void check_detached_is_left_alone(C& clock) {
  QuietSource attached;
  std::uint64_t touches = 0;
  brook::Waiter waiter;
  clock.attach(attached);
  {
    QuietSource source;
    clock.attach(source);
    clock.wait(waiter, waiter.ticket(), clock.now());
    clock.detach(source);
    touches = source.touches();
    clock.wait(waiter, waiter.ticket(), clock.now());
    CHECK(source.touches() == touches);
  }
  clock.wait(waiter, waiter.ticket(), clock.now());
  clock.detach(attached);
}

}  // namespace detail

/// Checks the clock that @p make returns against what `brook::Clock` asks. Call it from a test case
/// with a clock of your own; it takes a moment and a few threads.
///
///     TEST_CASE("MyClock conforms") {
///       support::check_clock([] { return MyClock{}; }, {});
///     }
template <class Make>
void check_clock(Make make, const ClockPromises& promises) {
  static_assert(brook::Clock<decltype(make())>);
  auto clock = make();
  detail::check_never_falls(clock);
  detail::check_waits_that_end_at_once(clock);
  static_cast<void>(clock.wall_now());
  if (promises.time_passes_in_waits) detail::check_wait_for_a_time(clock);
  if (promises.many_may_wait) {
    detail::check_no_wake_up_is_lost(clock);
    detail::check_all_are_woken(clock);
  }
  detail::check_detached_is_left_alone(clock);
}

}  // namespace support
