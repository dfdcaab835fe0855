#include <brook/clock/manual_clock.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::ConcurrentWait;
using brook::Duration;
using brook::EndlessWait;
using brook::EventScope;
using brook::EventSource;
using brook::IdleReport;
using brook::Instant;
using brook::InvalidArgument;
using brook::ManualClock;
using brook::StepLimitReached;
using brook::Timestamp;
using brook::Waiter;
using namespace std::chrono_literals;

namespace {

static_assert(brook::is_manual<ManualClock>);
static_assert(!std::is_copy_constructible_v<ManualClock>);
static_assert(!std::is_copy_assignable_v<ManualClock>);

using Action = std::function<void()>;

Instant at(std::chrono::nanoseconds since_start) {
  return Instant{since_start};
}

/// Events at certain times, as a broker would have them. Remembers when each was run.
class Schedule : public EventSource {
 public:
  explicit Schedule(const ManualClock& clock) : clock_(clock) {}

  void add(Instant when, Action action = {}, EventScope scope = EventScope::delivery) {
    events_.emplace(when, Event{std::move(action), scope});
  }
  Instant next_event_time(EventScope scope) override {
    for (const auto& [when, event] : events_) {
      if (scope == EventScope::all || event.scope == EventScope::delivery) return when;
    }
    return Instant::max();
  }
  void run_due() override {
    ++calls_;
    while (!events_.empty() && events_.begin()->first <= clock_.now()) {
      const Action action = std::move(events_.begin()->second.action);
      events_.erase(events_.begin());
      run_at_.push_back(clock_.now());
      if (action) action();
    }
  }
  void report_backlog(IdleReport& report) override {
    report.backlog.push_back({.group = "group", .topic = "topic", .messages = 1});
  }

  const std::vector<Instant>& run_at() const { return run_at_; }
  int calls() const { return calls_; }

 private:
  struct Event {
    Action action;
    EventScope scope;
  };
  const ManualClock& clock_;
  std::multimap<Instant, Event> events_;
  std::vector<Instant> run_at_;
  int calls_ = 0;
};

using Times = std::vector<Instant>;

}  // namespace

// -------------------------------------------------------------------------------------- time

TEST_CASE("A manual clock stands still until it is moved", "[clock]") {
  ManualClock clock;
  CHECK(clock.now() == Instant{});
  CHECK(clock.now() == Instant{});
  CHECK(clock.wall_now() == Timestamp{1'704'067'200s});
  clock.advance(1500us);
  CHECK(clock.now() == at(1500us));
  CHECK(clock.wall_now() == Timestamp{1'704'067'200s} + 1ms);
  clock.advance(500us);
  CHECK(clock.wall_now() == Timestamp{1'704'067'200s} + 2ms);
  clock.advance(0s);
  CHECK(clock.now() == at(2ms));
}

TEST_CASE("A manual clock starts at the wall time it is given", "[clock]") {
  const ManualClock clock(ManualClock::Waiting::automatic, Timestamp{42ms});
  CHECK(clock.wall_now() == Timestamp{42ms});
  CHECK(clock.now() == Instant{});
}

TEST_CASE("The wall clock jumps both ways without moving the clock", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(10s));
  clock.advance(5s);
  clock.set_wall_now(Timestamp{100h});
  CHECK(clock.wall_now() == Timestamp{100h});
  CHECK(clock.now() == at(5s));
  clock.set_wall_now(Timestamp{-100h});
  CHECK(clock.wall_now() == Timestamp{-100h});
  CHECK(schedule.run_at().empty());
  clock.advance(5s);
  CHECK(clock.wall_now() == Timestamp{-100h} + 5s);
  CHECK(schedule.run_at() == Times{at(10s)});
}

TEST_CASE("A clock does not advance by what is not a step", "[clock]") {
  ManualClock clock;
  CHECK_THROWS_AS(clock.advance(-1ns), InvalidArgument);
  CHECK_THROWS_AS(clock.advance(Duration::max()), InvalidArgument);
  CHECK_THROWS_AS(clock.advance(std::chrono::hours::max()), InvalidArgument);
  CHECK(clock.now() == Instant{});
}

TEST_CASE("A clock that is moved to the end of time stays there", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  const auto far = std::chrono::nanoseconds{std::numeric_limits<std::int64_t>::max() - 1};
  clock.advance(far);
  CHECK(clock.now() == at(far));
  clock.advance(far);
  CHECK(clock.now() == Instant::max());
  clock.advance(1s);
  CHECK(clock.now() == Instant::max());
}

// ----------------------------------------------------------------------------------- advancing

TEST_CASE("Advancing stops at every event and runs it at exactly its time", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  for (const auto time : {30s, 10s, 20s}) schedule.add(at(time));
  schedule.add(at(31s));
  clock.advance(30s);
  CHECK(schedule.run_at() == Times{at(10s), at(20s), at(30s)});
  CHECK(clock.now() == at(30s));
  clock.advance(1s);
  CHECK(schedule.run_at().back() == at(31s));
}

TEST_CASE("Events that events schedule are met on the way", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(10s), [&] {
    schedule.add(at(10s));
    schedule.add(at(15s), [&] { schedule.add(at(17s)); });
  });
  schedule.add(at(16s));
  clock.advance(1h);
  CHECK(schedule.run_at() == Times{at(10s), at(10s), at(15s), at(16s), at(17s)});
  CHECK(clock.now() == at(1h));
}

TEST_CASE("Events of several sources come in the order of their times", "[clock]") {
  ManualClock clock;
  Schedule first(clock);
  Schedule second(clock);
  clock.attach(first);
  clock.attach(second);
  std::vector<int> order;
  first.add(at(2s), [&] { order.push_back(2); });
  second.add(at(1s), [&] { order.push_back(1); });
  second.add(at(3s), [&] { order.push_back(3); });
  CHECK(clock.next_event_time() == at(1s));
  clock.advance(5s);
  CHECK(order == std::vector<int>{1, 2, 3});
}

TEST_CASE("Advancing by nothing runs what is due now", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  clock.advance(5s);
  schedule.add(at(3s));
  schedule.add(at(5s));
  schedule.add(at(6s));
  CHECK(clock.next_event_time() == at(5s));
  clock.advance(0s);
  CHECK(schedule.run_at() == Times{at(5s), at(5s)});
}

TEST_CASE("The next event can be asked for and moved to", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  CHECK(clock.next_event_time() == Instant::max());
  CHECK_FALSE(clock.advance_to_next_event());
  CHECK(clock.now() == Instant{});
  schedule.add(at(7s), {}, EventScope::all);
  schedule.add(at(9s));
  CHECK(clock.next_event_time() == at(7s));
  CHECK(clock.next_event_time(EventScope::delivery) == at(9s));
  CHECK(clock.advance_to_next_event());
  CHECK(clock.now() == at(7s));
  CHECK(schedule.run_at() == Times{at(7s)});
  CHECK(clock.advance_to_next_event());
  CHECK_FALSE(clock.advance_to_next_event());
  CHECK(clock.now() == at(9s));
}

TEST_CASE("An event may advance the clock itself", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(1s), [&] { clock.advance(10s); });
  schedule.add(at(5s));
  clock.advance(2s);
  CHECK(schedule.run_at() == Times{at(1s), at(5s)});
  CHECK(clock.now() == at(11s));
}

// --------------------------------------------------------------------------------- idle

TEST_CASE("Running until idle passes all leases and backoffs, and waits for no retention",
          "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(0s));
  schedule.add(at(10s), [&] { schedule.add(at(20s)); });
  schedule.add(at(15s), {}, EventScope::all);
  schedule.add(at(30s), {}, EventScope::all);
  const IdleReport report = clock.run_until_idle();
  CHECK(schedule.run_at() == Times{at(0s), at(10s), at(15s), at(20s)});
  CHECK(clock.now() == at(20s));
  CHECK(report.now == at(20s));
  CHECK(report.steps == 3);
  REQUIRE(report.backlog.size() == 1);
  CHECK(report.backlog[0].group == "group");
}

TEST_CASE("Running until idle with nothing scheduled stays where it is", "[clock]") {
  ManualClock clock;
  const IdleReport report = clock.run_until_idle();
  CHECK(report.steps == 0);
  CHECK(report.now == Instant{});
  CHECK(report.backlog.empty());
}

TEST_CASE("What re-schedules itself for ever is stopped at the step limit", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Action again = [&] { schedule.add(clock.now() + 1s, again); };
  schedule.add(at(1s), again);
  try {
    clock.run_until_idle(50);
    FAIL("it never comes to rest");
  } catch (const StepLimitReached& error) {
    CHECK(error.steps() == 50);
  }
  CHECK(schedule.run_at().size() == 50);
  again = [] {};
  CHECK(clock.run_until_idle(2).steps == 2);
}

TEST_CASE("The step limit is reached only by one step too many", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  for (int i = 1; i <= 5; ++i) schedule.add(at(i * 1s));
  CHECK(clock.run_until_idle(5).steps == 5);
  CHECK_NOTHROW(clock.run_until_idle(0));
  schedule.add(clock.now());
  CHECK_NOTHROW(clock.run_until_idle(0));
  schedule.add(clock.now() + 1s);
  CHECK_THROWS_AS(clock.run_until_idle(0), StepLimitReached);
}

// ------------------------------------------------------------------------ automatic waiting

TEST_CASE("A wait moves the clock to its deadline if nothing comes before", "[clock]") {
  ManualClock clock;
  Waiter waiter;
  clock.wait(waiter, waiter.ticket(), at(10s));
  CHECK(clock.now() == at(10s));
}

TEST_CASE("A wait moves the clock to the next event and no further", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter waiter;
  schedule.add(at(3s), [&] { waiter.notify(); });
  schedule.add(at(5s));
  const std::uint64_t ticket = waiter.ticket();
  clock.wait(waiter, ticket, at(10s));
  CHECK(clock.now() == at(3s));
  CHECK(waiter.has_news(ticket));
  clock.wait(waiter, ticket, at(10s));
  CHECK(clock.now() == at(3s));
  clock.wait(waiter, waiter.ticket(), Instant::max());
  CHECK(clock.now() == at(5s));
  CHECK(schedule.run_at() == Times{at(3s), at(5s)});
}

TEST_CASE("A wait whose deadline comes first leaves the event where it is", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter waiter;
  schedule.add(at(5s));
  clock.wait(waiter, waiter.ticket(), at(5s) - 1ns);
  CHECK(clock.now() == at(5s) - 1ns);
  CHECK(schedule.run_at().empty());
}

TEST_CASE("An event exactly at the deadline is run", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter waiter;
  schedule.add(at(5s), {}, EventScope::all);
  clock.wait(waiter, waiter.ticket(), at(5s));
  CHECK(schedule.run_at() == Times{at(5s)});
}

TEST_CASE("A wait that has news, or whose deadline has passed, moves nothing", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(5s));
  Waiter waiter;
  const std::uint64_t ticket = waiter.ticket();
  clock.wait(waiter, ticket, Instant{});
  clock.wait(waiter, ticket, Instant::min());
  waiter.notify();
  clock.wait(waiter, ticket, Instant::max());
  CHECK(clock.now() == Instant{});
  CHECK(schedule.calls() == 0);
}

TEST_CASE("A wait that could never end throws, and the next one is as good as ever", "[clock]") {
  ManualClock clock;
  Waiter waiter;
  CHECK_THROWS_AS(clock.wait(waiter, waiter.ticket(), Instant::max()), EndlessWait);
  CHECK(clock.now() == Instant{});
  std::thread([&] { clock.wait(waiter, waiter.ticket(), at(1s)); }).join();
  CHECK(clock.now() == at(1s));
}

TEST_CASE("A second thread that waits meanwhile is refused", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter waiter;
  bool refused = false;
  schedule.add(at(1s), [&] {
    std::thread([&] {
      try {
        clock.wait(waiter, waiter.ticket(), at(2s));
      } catch (const ConcurrentWait&) {
        refused = true;
      }
    }).join();
  });
  clock.wait(waiter, waiter.ticket(), at(5s));
  CHECK(refused);
  CHECK(clock.now() == at(1s));
  std::thread([&] { clock.wait(waiter, waiter.ticket(), at(2s)); }).join();
  CHECK(clock.now() == at(2s));
}

TEST_CASE("Due work may wait itself", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter outer;
  Waiter inner;
  schedule.add(at(1s), [&] {
    clock.wait(inner, inner.ticket(), at(4s));
    clock.wait(inner, inner.ticket(), at(4s));
  });
  schedule.add(at(3s));
  clock.wait(outer, outer.ticket(), at(10s));
  CHECK(schedule.run_at() == Times{at(1s), at(3s)});
  CHECK(clock.now() == at(4s));
  clock.wait(outer, outer.ticket(), at(10s));
  CHECK(clock.now() == at(10s));
}

TEST_CASE("Due work that throws leaves a clock that can be used", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter waiter;
  schedule.add(at(1s), [] { throw InvalidArgument("thrown by due work"); });
  CHECK_THROWS_AS(clock.wait(waiter, waiter.ticket(), at(5s)), InvalidArgument);
  CHECK(clock.now() == at(1s));
  std::thread([&] { clock.wait(waiter, waiter.ticket(), at(2s)); }).join();
  CHECK(clock.now() == at(2s));
}

// --------------------------------------------------------------------------- sources

TEST_CASE("A source that was detached is not touched any more", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(1s));
  clock.detach(schedule);
  clock.advance(5s);
  CHECK(schedule.calls() == 0);
  CHECK(clock.next_event_time() == Instant::max());
  CHECK(clock.run_until_idle().backlog.empty());
}

TEST_CASE("Detaching what was never attached does nothing", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  Schedule other(clock);
  clock.attach(schedule);
  clock.detach(other);
  schedule.add(at(1s));
  clock.advance(1s);
  CHECK(schedule.run_at() == Times{at(1s)});
}

TEST_CASE("Due work may destroy a source whose turn has not come", "[clock]") {
  ManualClock clock;
  Schedule first(clock);
  auto second = std::make_unique<Schedule>(clock);
  Schedule third(clock);
  clock.attach(first);
  clock.attach(*second);
  clock.attach(third);
  second->add(at(1s));
  third.add(at(1s));
  first.add(at(1s), [&] {
    clock.detach(*second);
    second.reset();
  });
  clock.advance(1s);
  CHECK(first.run_at() == Times{at(1s)});
  CHECK(third.run_at() == Times{at(1s)});
}

TEST_CASE("Due work may detach its own source", "[clock]") {
  ManualClock clock;
  Schedule schedule(clock);
  clock.attach(schedule);
  schedule.add(at(1s), [&] { clock.detach(schedule); });
  schedule.add(at(2s));
  clock.advance(5s);
  CHECK(schedule.run_at() == Times{at(1s)});
}

TEST_CASE("Due work may attach a source, whose events are met", "[clock]") {
  ManualClock clock;
  Schedule first(clock);
  Schedule second(clock);
  second.add(at(2s));
  clock.attach(first);
  first.add(at(1s), [&] { clock.attach(second); });
  clock.advance(5s);
  CHECK(second.run_at() == Times{at(2s)});
}

// ------------------------------------------------------------------------- blocking

TEST_CASE("A blocked wait ends when the clock is advanced to its deadline", "[clock]") {
  ManualClock clock(ManualClock::Waiting::blocking);
  Waiter waiter;
  std::atomic<bool> ended{false};
  std::thread sleeper([&] {
    clock.wait(waiter, waiter.ticket(), at(10s));
    ended.store(true);
  });
  clock.advance(9s);
  CHECK_FALSE(ended.load());
  clock.advance(1s);
  sleeper.join();
  CHECK(ended.load());
  CHECK(clock.now() == at(10s));
}

TEST_CASE("An advance wakes those who block, in every round of many", "[clock]") {
  // Nobody can see from outside that a thread sleeps already; in most rounds it will.
  ManualClock clock(ManualClock::Waiting::blocking);
  Waiter waiter;
  constexpr int rounds = 200;
  std::atomic<int> waiting_for{0};
  std::thread sleeper([&] {
    for (int round = 1; round <= rounds; ++round) {
      waiting_for.store(round);
      waiting_for.notify_one();
      clock.wait(waiter, waiter.ticket(), at(round * 1s));
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    waiting_for.wait(round - 1);
    for (int i = 0; i < 20; ++i) std::this_thread::yield();
    clock.advance(1s);
  }
  sleeper.join();
  CHECK(clock.now() == at(rounds * 1s));
}

TEST_CASE("A blocked wait ends with news, without the clock moving", "[clock]") {
  ManualClock clock(ManualClock::Waiting::blocking);
  Waiter waiter;
  const std::uint64_t ticket = waiter.ticket();
  std::thread sleeper([&] { clock.wait(waiter, ticket, Instant::max()); });
  waiter.notify();
  sleeper.join();
  CHECK(waiter.has_news(ticket));
  CHECK(clock.now() == Instant{});
}

TEST_CASE("A blocked wait ends with the news of an event that an advance runs", "[clock]") {
  ManualClock clock(ManualClock::Waiting::blocking);
  Schedule schedule(clock);
  clock.attach(schedule);
  Waiter waiter;
  schedule.add(at(3s), [&] { waiter.notify(); });
  const std::uint64_t ticket = waiter.ticket();
  std::thread sleeper([&] { clock.wait(waiter, ticket, Instant::max()); });
  clock.advance(5s);
  sleeper.join();
  CHECK(schedule.run_at() == Times{at(3s)});
}

TEST_CASE("Many threads may block, on one waiter and on several", "[clock]") {
  ManualClock clock(ManualClock::Waiting::blocking);
  Waiter first;
  Waiter second;
  std::vector<std::thread> threads;
  for (int i = 1; i <= 3; ++i) {
    threads.emplace_back([&, i] { clock.wait(first, first.ticket(), at(i * 1s)); });
    threads.emplace_back([&, i] { clock.wait(second, second.ticket(), at(i * 1s)); });
  }
  for (int i = 1; i <= 3; ++i) clock.advance(1s);
  for (std::thread& thread : threads) thread.join();
  CHECK(clock.now() == at(3s));
}

TEST_CASE("A blocked wait that has news or whose deadline has passed returns at once", "[clock]") {
  ManualClock clock(ManualClock::Waiting::blocking);
  Waiter waiter;
  const std::uint64_t ticket = waiter.ticket();
  clock.wait(waiter, ticket, Instant{});
  waiter.notify();
  clock.wait(waiter, ticket, Instant::max());
  CHECK(clock.now() == Instant{});
}

TEST_CASE("Threads may advance, jump and read the clock at once", "[clock]") {
  ManualClock clock(ManualClock::Waiting::blocking);
  std::atomic<int> falls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) clock.advance(1ms);
    });
  }
  threads.emplace_back([&] {
    Instant last = clock.now();
    for (int i = 0; i < 2'000; ++i) {
      const Instant now = clock.now();
      if (now < last) falls.fetch_add(1);
      last = now;
      if (i % 100 == 0) clock.set_wall_now(Timestamp{1h});
      static_cast<void>(clock.wall_now());
    }
  });
  for (std::thread& thread : threads) thread.join();
  CHECK(falls.load() == 0);
  CHECK(clock.now() == at(1s));
}
