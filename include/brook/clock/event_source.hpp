#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/time.hpp>

namespace brook {

/// Which scheduled events are meant.
enum class EventScope : unsigned char {
  all,       ///< everything that is due at a time, retention included
  delivery,  ///< ends of leases and of backoffs only
};

/// What `ManualClock::run_until_idle` found when nothing was left to do by itself.
struct IdleReport {
  /// Messages that are deliverable to a group and wait for somebody to poll.
  struct Backlog {
    std::string group{};
    std::string topic{};
    PartitionId partition{};
    std::uint64_t messages = 0;
  };

  std::uint64_t steps = 0;  ///< Events that were run.
  Instant now{};
  std::vector<Backlog> backlog{};
};

/// Something that has work at certain times, as a clock sees it: a broker. A clock that is driven
/// by hand runs it.
///
/// Thread rule: called by the thread that moves the clock, with no lock of the clock's held that
/// the source could need.
class EventSource {
 public:
  EventSource() = default;
  EventSource(const EventSource&) = delete;
  EventSource& operator=(const EventSource&) = delete;
  virtual ~EventSource() = default;

  /// When the next work is due; `Instant::max()` = none is scheduled.
  [[nodiscard]] virtual Instant next_event_time(EventScope scope) = 0;
  /// Does all work that is due now.
  virtual void run_due() = 0;
  /// Adds what waits for a poller.
  virtual void report_backlog(IdleReport& report) = 0;
};

}  // namespace brook
