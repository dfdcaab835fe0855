#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include <brook/clock/clock.hpp>
#include <brook/core/error.hpp>

namespace brook {

/// A clock that stands still until it is told to move. For tests: no wait under it ever sleeps in
/// real time in the default mode, and whatever happens at a time happens at exactly that time.
///
/// Moving the clock goes event by event: it stops at every time at which an attached broker has
/// work (a lease that ends, a backoff, retention), runs that work, and goes on, so that the effects
/// come in the order and at the times they would come in production.
///
/// Two modes of waiting:
/// - `Waiting::automatic` (default, one thread): a wait moves the clock to the next event or to its
///   own deadline, whichever is first. A wait that could never end throws `EndlessWait`; a second
///   thread that waits meanwhile, `ConcurrentWait`.
/// - `Waiting::blocking` (several threads): a wait blocks its thread until there is news or
///   somebody advances the clock far enough.
///
/// Thread rule: all calls from any thread; moves are serialised. Example:
///
///     brook::ManualClock clock;
///     brook::TopicLog log{clock, {.retention = {.max_age = 1h}}};
///     log.append({.payload = "a"});
///     clock.advance(1h);
///     log.run_due();                      // the log is empty now; its next offset is still 1
class ManualClock {
 public:
  static constexpr bool manual = true;
  enum class Waiting : unsigned char { automatic, blocking };

  /// Starts at `Instant{}` and at @p wall_now, by default 2024-01-01T00:00:00Z.
  explicit ManualClock(Waiting waiting = Waiting::automatic,
                       Timestamp wall_now = Timestamp{std::chrono::seconds{1'704'067'200}}) noexcept
      : waiting_(waiting), wall_offset_(wall_now.time_since_epoch().count()) {}
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  [[nodiscard]] Instant now() const noexcept {
    return Instant{std::chrono::nanoseconds{now_.load(std::memory_order_acquire)}};
  }
  [[nodiscard]] Timestamp wall_now() const noexcept {
    const auto since_start =
        std::chrono::floor<std::chrono::milliseconds>(now().time_since_epoch());
    return Timestamp{std::chrono::milliseconds{wall_offset_.load(std::memory_order_acquire)} +
                     since_start};
  }
  /// Makes the wall clock jump, in either direction. Leases and waits do not notice; stamps and
  /// retention do.
  void set_wall_now(Timestamp wall_now) noexcept {
    const auto since_start =
        std::chrono::floor<std::chrono::milliseconds>(now().time_since_epoch());
    wall_offset_.store((wall_now.time_since_epoch() - since_start).count(),
                       std::memory_order_release);
  }

  /// When the next scheduled work is due; `Instant::max()` if none is.
  [[nodiscard]] Instant next_event_time(EventScope scope = EventScope::all) {
    const std::lock_guard lock(moving_);
    return next_event(scope);
  }

  /// Moves the clock on by @p step, event by event, and runs all work that comes due. Zero runs
  /// what is due now.
  /// @throws InvalidArgument if @p step is negative or `Duration::max()`
  void advance(Duration step) {
    if (step.is_negative() || step.is_never()) {
      throw InvalidArgument("a clock advances by a finite step that is not negative");
    }
    const std::lock_guard lock(moving_);
    const Instant target = saturating_add(now(), step);
    for (;;) {
      const Instant next = next_event(EventScope::all);
      if (next > target || next == Instant::max()) break;
      move_to(next);
    }
    move_to(target);
  }

  /// Moves the clock to the next scheduled event and runs it. False, and nothing changed, if there
  /// is none.
  bool advance_to_next_event() {
    const std::lock_guard lock(moving_);
    const Instant next = next_event(EventScope::all);
    if (next == Instant::max()) return false;
    move_to(next);
    return true;
  }

  /// Runs due work and moves the clock through ends of leases and backoffs until none is scheduled.
  /// Other events (retention) run when their time is reached on the way but are not waited for.
  /// @return what is deliverable then and waits for a poller
  /// @throws StepLimitReached after @p step_limit events
  IdleReport run_until_idle(std::uint64_t step_limit = 100'000) {
    const std::lock_guard lock(moving_);
    IdleReport report;
    move_to(now());
    for (;;) {
      const Instant next = next_event(EventScope::delivery);
      if (next == Instant::max()) break;
      if (report.steps == step_limit) throw StepLimitReached(report.steps);
      move_to(std::min(next, next_event(EventScope::all)));
      ++report.steps;
    }
    report.now = now();
    for_each_source([&](EventSource& source) { source.report_backlog(report); });
    return report;
  }

  /// See the `Clock` concept.
  /// @throws EndlessWait, ConcurrentWait in automatic mode
  void wait(Waiter& waiter, std::uint64_t ticket, Instant deadline) {
    if (waiting_ == Waiting::blocking) {
      block(waiter, ticket, deadline);
      return;
    }
    const OnlyWait only(*this);
    const std::lock_guard lock(moving_);
    if (waiter.has_news(ticket) || now() >= deadline) return;
    const Instant target = std::min(next_event(EventScope::all), deadline);
    if (target == Instant::max()) throw EndlessWait();
    move_to(target);
  }

  void attach(EventSource& source) {
    const std::lock_guard lock(registry_);
    sources_.push_back(&source);
  }
  void detach(EventSource& source) noexcept {
    const std::lock_guard moving(moving_);
    const std::lock_guard lock(registry_);
    std::erase(sources_, &source);
  }

 private:
  /// Notices a second thread in an automatic wait. The same thread may wait again from within due
  /// work.
  class OnlyWait {
   public:
    explicit OnlyWait(ManualClock& clock) : clock_(clock) {
      const auto self = std::this_thread::get_id();
      std::thread::id nobody{};
      if (clock_.waiting_thread_.compare_exchange_strong(nobody, self)) {
        first_ = true;
      } else if (nobody != self) {
        throw ConcurrentWait();
      }
    }
    OnlyWait(const OnlyWait&) = delete;
    OnlyWait& operator=(const OnlyWait&) = delete;
    ~OnlyWait() {
      if (first_) clock_.waiting_thread_.store(std::thread::id{});
    }

   private:
    ManualClock& clock_;
    bool first_ = false;
  };

  std::vector<EventSource*> sources() {
    const std::lock_guard lock(registry_);
    return sources_;
  }
  bool is_attached(EventSource* source) {
    const std::lock_guard lock(registry_);
    return std::find(sources_.begin(), sources_.end(), source) != sources_.end();
  }

  /// Visits all sources without the lock of the registry, so that they may attach and detach. One
  /// that another one detached before its turn may be gone, and is left alone.
  template <class Visit>
  void for_each_source(Visit visit) {
    for (auto* source : sources()) {
      if (is_attached(source)) visit(*source);
    }
  }

  Instant next_event(EventScope scope) {
    Instant next = Instant::max();
    for_each_source(
        [&](EventSource& source) { next = std::min(next, source.next_event_time(scope)); });
    return next == Instant::max() ? next : std::max(next, now());
  }

  void move_to(Instant target) {
    now_.store(std::max(now(), target).time_since_epoch().count(), std::memory_order_release);
    for_each_source([](EventSource& source) { source.run_due(); });
    const std::lock_guard lock(registry_);
    for (auto* waiter : blocked_) waiter->look_again();
  }

  void block(Waiter& waiter, std::uint64_t ticket, Instant deadline) {
    {
      const std::lock_guard lock(registry_);
      blocked_.push_back(&waiter);
    }
    // An event that is due between now and the deadline is run by whoever advances; the waiter is
    // then told to look.
    waiter.sleep_until_done(ticket, [&] { return now() >= deadline; });
    const std::lock_guard lock(registry_);
    blocked_.erase(std::find(blocked_.begin(), blocked_.end(), &waiter));
  }

  const Waiting waiting_;
  std::atomic<std::int64_t> now_{0};
  std::atomic<std::int64_t> wall_offset_;
  std::atomic<std::thread::id> waiting_thread_{};
  std::recursive_mutex
      moving_;  ///< Held while the clock moves. Recursive: due work may wait or detach.
  std::mutex
      registry_;  ///< Guards the lists. Taken after moving_, never before a source is called.
  std::vector<EventSource*> sources_;
  std::vector<Waiter*> blocked_;
};
static_assert(Clock<ManualClock>);

}  // namespace brook
