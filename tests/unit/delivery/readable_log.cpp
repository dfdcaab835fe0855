#include <brook/delivery/readable_log.hpp>

#include <cstdint>

#include <brook/clock/system_clock.hpp>

#include "support/catch.hpp"
#include "support/delivery.hpp"

using brook::Offset;
using support::LogUnderTest;
using support::ManualLog;
using support::Offsets;
using support::offsets;

namespace {

/// Tells the time and does nothing else.
struct Watch {
  brook::Instant now() const { return time; }
  brook::Timestamp wall_now() const { return {}; }
  brook::Instant time{};
};

/// Has what a subscription asks for, and nothing more.
class LeastLog {
 public:
  class Reader {
   public:
    explicit Reader(const LeastLog& log) : reader_(log.log_) {}
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    brook::RecordRun read_run(Offset from, const brook::ReadLimits& limits) {
      return reader_.read_run(from, limits);
    }
    void rest() { reader_.rest(); }

   private:
    ManualLog::Reader reader_;
  };

  explicit LeastLog(const ManualLog& log) : log_(log) {}
  LeastLog(const LeastLog&) = delete;
  LeastLog& operator=(const LeastLog&) = delete;
  Offset start() const { return log_.start(); }
  Offset visible_end() const { return log_.visible_end(); }
  brook::RangeUsage usage(Offset from, Offset to) const { return log_.usage(from, to); }
  const Watch& clock() const { return watch; }

  Watch watch{};

 private:
  const ManualLog& log_;
};

struct WithoutReader : LeastLog {
  using LeastLog::LeastLog;
  class Reader {};
};
struct WithoutWallClock : LeastLog {
  using LeastLog::LeastLog;
  struct OnlyNow {
    brook::Instant now() const { return {}; }
  };
  OnlyNow clock() const { return {}; }
};
struct WithPlainOffsets : LeastLog {
  using LeastLog::LeastLog;
  std::uint64_t start() const { return 0; }
};
struct WithoutUsage : LeastLog {
  using LeastLog::LeastLog;
  void usage(Offset, Offset) const {}
};
struct ReadsOnlyWhenMutable : LeastLog {
  using LeastLog::LeastLog;
  class Reader : public LeastLog::Reader {
   public:
    explicit Reader(ReadsOnlyWhenMutable& log) : LeastLog::Reader(log) {}
  };
};

}  // namespace

TEST_CASE("logs can be read by subscriptions", "[delivery]") {
  static_assert(brook::ReadableLog<ManualLog>);
  static_assert(brook::ReadableLog<brook::TopicLog<brook::MemoryStorage, brook::SystemClock>>);
  static_assert(brook::ReadableLog<LeastLog>);
}

TEST_CASE("what lacks a part of a log is refused", "[delivery]") {
  static_assert(!brook::ReadableLog<int>);
  static_assert(!brook::ReadableLog<WithoutReader>);
  static_assert(!brook::ReadableLog<WithoutWallClock>);
  static_assert(!brook::ReadableLog<WithPlainOffsets>);
  static_assert(!brook::ReadableLog<WithoutUsage>);
  static_assert(!brook::ReadableLog<ReadsOnlyWhenMutable>);
}

TEST_CASE("a subscription works over a log that has only what it asks for", "[delivery]") {
  LogUnderTest t("aabb-");
  LeastLog log(t.log);
  brook::Subscription subscription(log, {.ack_deadline = std::chrono::seconds{1}});
  const auto batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{0, 1, 2, 3, 4});
  CHECK(subscription.ack(batch[4]) == brook::SettleResult::applied);
  log.watch.time += std::chrono::seconds{1};
  CHECK(offsets(subscription.poll()) == Offsets{0, 2});
}
