#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include <brook/core/time.hpp>

namespace brook {

/// A place where threads sleep until somebody has news for them (an event count).
///
/// A sleeper takes a ticket, looks whether there is something to do, and only then waits with that
/// ticket: news that came in between ends the wait at once, so none is ever lost. Waiting goes
/// through the `Clock`, which decides what time means; a publisher calls `notify`. Thread rule: all
/// calls from any thread.
class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  [[nodiscard]] std::uint64_t ticket() const noexcept {
    return news_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool has_news(std::uint64_t ticket) const noexcept {
    return this->ticket() != ticket;
  }

  /// There is news: ends every wait whose ticket was taken before.
  void notify() {
    {
      const std::lock_guard lock(mutex_);
      news_.fetch_add(1, std::memory_order_seq_cst);
    }
    condition_.notify_all();
  }

  /// Sleeps in real time until there is news or @p deadline has passed. May return early.
  void sleep_until(std::uint64_t ticket, Instant deadline) {
    std::unique_lock lock(mutex_);
    if (has_news(ticket)) return;
    if (deadline == Instant::max()) {
      condition_.wait(lock);
    } else {
      condition_.wait_until(lock, deadline);
    }
  }

  /// Sleeps until there is news or @p done() holds, which is looked at again after each
  /// `look_again`.
  template <class Done>
  void sleep_until_done(std::uint64_t ticket, Done done) {
    std::unique_lock lock(mutex_);
    while (!has_news(ticket) && !done()) condition_.wait(lock);
  }
  /// Makes every sleeper look again whether it is done.
  void look_again() {
    { const std::lock_guard lock(mutex_); }
    condition_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  std::atomic<std::uint64_t> news_{0};
};

}  // namespace brook
