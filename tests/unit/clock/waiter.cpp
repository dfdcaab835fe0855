#include <brook/clock/waiter.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using brook::Instant;
using brook::Waiter;

namespace {

static_assert(!std::is_copy_constructible_v<Waiter>);
static_assert(!std::is_copy_assignable_v<Waiter>);

}  // namespace

TEST_CASE("A ticket has news exactly if there was a notify after it was taken", "[clock]") {
  Waiter waiter;
  const std::uint64_t first = waiter.ticket();
  CHECK_FALSE(waiter.has_news(first));
  waiter.notify();
  CHECK(waiter.has_news(first));
  const std::uint64_t second = waiter.ticket();
  CHECK_FALSE(waiter.has_news(second));
  CHECK(waiter.has_news(first));
  waiter.notify();
  CHECK(waiter.has_news(second));
}

TEST_CASE("A sleep whose ticket has news does not sleep", "[clock]") {
  Waiter waiter;
  const std::uint64_t ticket = waiter.ticket();
  waiter.notify();
  waiter.sleep_until(ticket, Instant::max());
  bool asked = false;
  waiter.sleep_until_done(ticket, [&] { return asked = true; });
  CHECK_FALSE(asked);
}

TEST_CASE("A sleep whose deadline has passed does not sleep", "[clock]") {
  Waiter waiter;
  waiter.sleep_until(waiter.ticket(), Instant::min());
  waiter.sleep_until(waiter.ticket(), Instant{});
  waiter.sleep_until(waiter.ticket(), std::chrono::steady_clock::now());
  waiter.sleep_until_done(waiter.ticket(), [] { return true; });
  CHECK_FALSE(waiter.has_news(waiter.ticket()));
}

TEST_CASE("A sleeper that was told to look again finds itself done", "[clock]") {
  Waiter waiter;
  std::atomic<bool> done{false};
  std::atomic<bool> looked{false};
  const std::uint64_t ticket = waiter.ticket();
  std::thread sleeper([&] {
    waiter.sleep_until_done(ticket, [&] {
      looked.store(true);
      looked.notify_one();
      return done.load();
    });
  });
  looked.wait(false);
  done.store(true);
  waiter.look_again();
  sleeper.join();
  CHECK_FALSE(waiter.has_news(ticket));
}

TEST_CASE("Looking again does not wake a sleeper that is not done", "[clock]") {
  Waiter waiter;
  std::atomic<int> looks{0};
  const std::uint64_t ticket = waiter.ticket();
  bool had_news = false;
  std::thread sleeper([&] {
    waiter.sleep_until_done(ticket, [&] {
      looks.fetch_add(1);
      looks.notify_one();
      return false;
    });
    had_news = waiter.has_news(ticket);
  });
  looks.wait(0);
  waiter.look_again();
  waiter.notify();
  sleeper.join();
  CHECK(had_news);
}

TEST_CASE("One notify wakes every sleeper", "[clock]") {
  Waiter waiter;
  std::vector<std::thread> sleepers;
  const std::uint64_t ticket = waiter.ticket();
  for (int i = 0; i < 4; ++i) {
    sleepers.emplace_back([&] {
      while (!waiter.has_news(ticket)) waiter.sleep_until(ticket, Instant::max());
    });
  }
  waiter.notify();
  for (std::thread& sleeper : sleepers) sleeper.join();
  CHECK(waiter.has_news(ticket));
}
