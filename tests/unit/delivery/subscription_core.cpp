#include <brook/delivery/subscription_core.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/delivery.hpp"

using namespace std::chrono_literals;
using brook::Duration;
using brook::Instant;
using brook::Offset;
using brook::SettleResult;
using brook::SubscriptionConfig;
using support::LogUnderTest;
using support::ManualLog;
using support::Offsets;
using support::offsets;

namespace {

/// A log whose start moves just when nobody expects it: when it is asked for the n-th time.
class SlipperyLog {
 public:
  class Reader {
   public:
    explicit Reader(const SlipperyLog& log) : reader_(log.log_) {}
    brook::RecordRun read_run(Offset from, const brook::ReadLimits& limits) {
      return reader_.read_run(from, limits);
    }
    void rest() { reader_.rest(); }

   private:
    ManualLog::Reader reader_;
  };

  explicit SlipperyLog(ManualLog& log) : log_(log) {}
  Offset start() const {
    if (countdown != 0 && --countdown == 0) log_.trim(trim_to);
    return log_.start();
  }
  Offset visible_end() const { return log_.visible_end(); }
  brook::RangeUsage usage(Offset from, Offset to) const { return log_.usage(from, to); }
  const brook::ManualClock& clock() const { return log_.clock(); }

  mutable int countdown = 0;
  Offset trim_to{};

 private:
  ManualLog& log_;
};

/// A core that hands out to batches, as a subscription would.
template <class Log>
class CoreUnderTest final : public brook::detail::LeaseSource {
 public:
  CoreUnderTest(const Log& log, SubscriptionConfig options)
      : config(std::move(options)), core(log, config, log.start(), slots) {}

  bool is_live(const brook::Receipt&) override { return false; }
  const void* owner() const noexcept override { return this; }
  std::string_view topic() const noexcept override { return {}; }
  brook::PartitionId partition() const noexcept override { return {}; }

  /// Offsets handed out; the source is not kept, so the batch must not be either.
  Offsets poll(Instant now,
               brook::detail::PollBudget budget = {.messages = 500, .bytes = 1 << 20}) {
    auto state = std::make_unique<brook::detail::BatchState>();
    core.poll_into(*state, std::shared_ptr<LeaseSource>(std::shared_ptr<void>(), this), 1, budget,
                   now);
    return offsets(brook::detail::BatchAccess::make(std::move(state)));
  }
  brook::Receipt receipt(std::uint64_t offset, std::uint32_t attempt = 0) const {
    return {.subscription = 1,
            .offset = Offset{offset},
            .epoch = core.table().epoch(),
            .attempt = attempt};
  }

  SubscriptionConfig config;
  brook::Outstanding slots;
  brook::detail::SubscriptionCore<Log> core;
};

/// A compacted log with `keys`, one message of 300 bytes each, so that a dozen fill a segment.
struct CompactedLog {
  explicit CompactedLog(const std::string& keys = {}) { append(keys); }
  void append(const std::string& keys) {
    for (const char key : keys)
      log.append({.key = std::string(1, key), .payload = std::string(300, 'x')});
  }
  /// Removes all of @p key but the newest, which is pushed out of the active segment.
  void compact() {
    append(std::string(40, 'z'));
    log.compact();
  }
  Offsets present() const {
    Offsets all;
    const auto batch = log.read(log.start(), {.max_messages = 100'000, .max_bytes = 1 << 30});
    for (const auto message : batch) all.push_back(message.offset().value());
    return all;
  }
  bool has(std::uint64_t offset) const {
    return log.usage(Offset{offset}, Offset{offset + 1}).messages == 1;
  }

  brook::ManualClock clock;
  ManualLog log{clock, {.compaction = brook::Compaction{}}};
};

}  // namespace

TEST_CASE("a core has work when a message is new or something is due", "[delivery]") {
  LogUnderTest t;
  CoreUnderTest c(t.log, {.ack_deadline = 30s});
  CHECK_FALSE(c.core.has_work({}));
  t.append("a");
  CHECK(c.core.has_work({}));
  c.poll({});
  CHECK_FALSE(c.core.has_work(Instant{30s - 1ns}));
  CHECK(c.core.has_work(Instant{30s}));
}

TEST_CASE("reading one message says where it is, or that there is none", "[delivery]") {
  LogUnderTest t("abc");
  CoreUnderTest c(t.log, {});
  CHECK(c.core.read_one(Offset{1}).first() == Offset{1});
  CHECK(c.core.read_one(Offset{1}).size() == 1);
  CHECK(c.core.read_one(Offset{3}).empty());
  t.log.trim(Offset{2});
  CHECK(c.core.read_one(Offset{1}).empty());
  c.core.rest();
  CHECK(c.core.read_one(Offset{2}).first() == Offset{2});
}

TEST_CASE("what is unsettled is counted in messages and bytes", "[delivery]") {
  LogUnderTest t("abcd");
  CoreUnderTest c(t.log, {});
  const std::uint64_t size = t.stored_size(0);
  CHECK(c.core.unsettled().messages == 4);
  CHECK(c.core.unsettled().bytes == 4 * size);
  c.poll({}, {.messages = 2, .bytes = 1 << 20});
  CHECK(c.core.unsettled().messages == 4);
  c.core.ack(c.receipt(0));
  CHECK(c.core.unsettled().messages == 3);
  CHECK(c.core.unsettled().bytes == 3 * size);
}

TEST_CASE("what becomes a dead letter in a poll holds its key in that poll", "[delivery]") {
  LogUnderTest t("aab");
  CoreUnderTest c(t.log, {.ack_deadline = 30s, .max_deliveries = 1});
  CHECK(c.poll({}, {.messages = 1, .bytes = 1 << 20}) == Offsets{0});
  CHECK(c.poll(Instant{30s}) == Offsets{2});
  CHECK(c.core.dead_lettering() == 1);
  c.core.flush_dead_letters(Instant{30s}, [](const brook::DeadLetter&) {});
  CHECK(c.poll(Instant{30s}) == Offsets{1});
}

TEST_CASE("a dead letter that may be written now is an event of now, else when its backoff ends",
          "[delivery]") {
  LogUnderTest t("a");
  CoreUnderTest c(t.log, {.retry = {.min_backoff = 5s}});
  const Instant now{100s};
  c.poll(now);
  c.core.reject(c.receipt(0), "no", now);
  CHECK(c.core.next_event(now) == now);
  CHECK(c.core.earliest_event() <= now);
  c.core.flush_dead_letters(now,
                            [](const brook::DeadLetter&) { throw std::runtime_error("full"); });
  CHECK(c.core.next_event(now) == now + 5s);
  CHECK(c.core.earliest_event() == now + 5s);
  c.core.flush_dead_letters(now + 5s, [](const brook::DeadLetter&) { throw 1; });
  CHECK(c.core.next_event(now) == now + 15s);
}

TEST_CASE("a dead letter keeps its key after its message was trimmed", "[delivery]") {
  LogUnderTest t("a-b");
  CoreUnderTest c(t.log, {});
  c.poll({});
  c.core.reject(c.receipt(0), "no", {});
  t.log.trim(Offset{3});  // before anybody told the table that it takes time
  t.append("ab");
  c.core.hold_dead_letters();
  CHECK(c.poll({}) == Offsets{4});
  std::string payload;
  c.core.flush_dead_letters(
      {}, [&](const brook::DeadLetter& letter) { payload = letter.message.payload().text(); });
  CHECK(payload == "xxxxxxxx");
  CHECK(c.poll({}) == Offsets{3});
}

TEST_CASE("dead letters of before a seek are written, but settle nothing", "[delivery]") {
  LogUnderTest t("a-");
  CoreUnderTest c(t.log, {});
  c.poll({});
  c.core.reject(c.receipt(0), "no", {});
  CHECK(c.core.dead_lettering_here() == 1);
  c.core.seek(Offset{0});
  CHECK(c.core.dead_lettering() == 1);
  CHECK(c.core.dead_lettering_here() == 0);
  c.core.hold_dead_letters();
  CHECK(c.poll({}) == Offsets{0, 1});
  int written = 0;
  c.core.flush_dead_letters({}, [&](const brook::DeadLetter&) { ++written; });
  CHECK(written == 1);
  CHECK(c.core.table().committed() == Offset{0});
  CHECK(c.core.table().stats().dead_lettered == 0);
}

// ------------------------------------------------------------------------------ trims in between

TEST_CASE("a trim may come at any moment of any call", "[delivery]") {
  for (const int call : {0, 1, 2, 3, 4}) {
    for (int countdown = 1; countdown < 8; ++countdown) {
      LogUnderTest t(std::string("aba-") + std::string(300, 'c'));
      SlipperyLog log(t.log);
      CoreUnderTest c(log, {.ack_deadline = 30s, .max_deliveries = 1});
      REQUIRE(c.poll({}, {.messages = 3, .bytes = 1 << 20}) == Offsets{0, 1, 2});
      log.trim_to = Offset{200};
      log.countdown = countdown;
      Instant now{};
      if (call == 0) c.poll(now += 30s);
      if (call == 1) c.core.nack(c.receipt(0), {}, now);
      if (call == 2) c.core.reject(c.receipt(1), "no", now);
      if (call == 3) c.core.extend(c.receipt(2), 0s, now);
      if (call == 4) c.core.ack(c.receipt(0));
      log.countdown = 0;
      t.log.trim(Offset{200});
      // In the end each message was handed out, was lost or became a dead letter, and nothing is
      // stuck.
      std::uint64_t lost = 0;
      std::uint64_t letters = 0;
      for (int i = 0; i < 3; ++i) {
        c.poll(now += 30s);
        c.core.flush_dead_letters(now, [&](const brook::DeadLetter&) { ++letters; });
      }
      for (const auto& loss : c.core.take_losses()) lost += loss.range.size();
      INFO("call " << call << " countdown " << countdown);
      const auto& stats = c.core.table().stats();
      REQUIRE(c.core.table().committed() == t.log.visible_end());
      REQUIRE(stats.lost == lost);
      REQUIRE(lost + letters + stats.acked == 304);
      REQUIRE(c.slots.messages == 0);
    }
  }
}

// ------------------------------------------------------------------------------------ compaction

TEST_CASE("gaps that compaction left are passed and settled", "[delivery]") {
  CompactedLog t(std::string(60, 'a') + "b" + std::string(60, 'a'));
  t.compact();
  REQUIRE_FALSE(t.has(0));
  brook::Subscription<ManualLog> subscription(t.log);
  CHECK(subscription.lag() == t.present().size());
  Offsets seen;
  for (auto batch = subscription.poll(7); !batch.empty(); batch = subscription.poll(7)) {
    for (const std::uint64_t offset : offsets(batch)) seen.push_back(offset);
    subscription.ack(batch);
  }
  CHECK(seen == t.present());
  CHECK(subscription.committed() == t.log.visible_end());
  CHECK(subscription.lag() == 0);
}

TEST_CASE("gaps that are longer than the window stop nobody", "[delivery]") {
  for (const auto guarantee : {brook::Guarantee::at_least_once, brook::Guarantee::at_most_once}) {
    CompactedLog t(std::string(90, 'a') + "b" + std::string(90, 'a') + "cdef");
    t.compact();
    brook::Subscription<ManualLog> subscription(t.log,
                                                {.guarantee = guarantee, .max_ack_window = 3});
    Offsets seen;
    for (auto batch = subscription.poll(); !batch.empty(); batch = subscription.poll()) {
      for (const std::uint64_t offset : offsets(batch)) seen.push_back(offset);
      subscription.ack(batch);
    }
    CHECK(seen == t.present());
    CHECK(subscription.committed() == t.log.visible_end());
  }
}

TEST_CASE("a superseded message that waits is settled, and the next of its key follows at once",
          "[delivery]") {
  CompactedLog t("aaabaab");
  brook::Subscription<ManualLog> subscription(t.log, {});
  const auto batch = subscription.poll();
  subscription.release();
  t.compact();
  REQUIRE_FALSE(t.has(0));
  REQUIRE(t.has(5));
  REQUIRE(t.has(6));
  auto again = subscription.poll(2);
  CHECK(offsets(again) == Offsets{5, 6});  // in offset order, though 5 was freed on the way
  CHECK(subscription.committed() == Offset{5});
}

TEST_CASE("a superseded message that is on lease is settled by its ack", "[delivery]") {
  CompactedLog t("aa");
  brook::Subscription<ManualLog> subscription(t.log, {});
  const auto batch = subscription.poll();
  t.compact();
  REQUIRE_FALSE(t.has(0));
  CHECK(batch[0].payload().size() == 300);
  CHECK(subscription.ack(batch[0]) == SettleResult::applied);
  CHECK(subscription.nack(batch[1], {.delay = 0s}) == SettleResult::applied);
  CHECK(offsets(subscription.poll(1)) == Offsets{1});
}

TEST_CASE("a superseded message becomes no dead letter", "[delivery]") {
  CompactedLog t("aa");
  brook::Subscription<ManualLog> subscription(t.log, {.max_deliveries = 1});
  const auto batch = subscription.poll();
  t.compact();
  REQUIRE_FALSE(t.has(0));
  CHECK(subscription.nack(batch[0]) == SettleResult::applied);
  CHECK(subscription.committed() == Offset{1});
  CHECK(subscription.dead_lettering() == 0);
}

TEST_CASE("what was compacted and then trimmed is not there and not lost twice", "[delivery]") {
  CompactedLog t(std::string(60, 'a'));
  t.compact();
  brook::Subscription<ManualLog> subscription(t.log, {});
  const auto batch = subscription.poll(1);
  t.log.trim(batch[0].offset() + 1);
  const auto losses = subscription.take_losses();
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].range == brook::OffsetRange{batch[0].offset(), batch[0].offset() + 1});
  CHECK(losses[0].handed_out);
}

// ------------------------------------------------------------------------------- addressed to one

TEST_CASE("a message for another group is settled unseen, one for this group is not",
          "[delivery]") {
  LogUnderTest t("a");
  t.log.append({.payload = "1", .headers = {{brook::addressed_to_header, "audit"}}});
  t.log.append({.payload = "2", .headers = {{brook::addressed_to_header, "billing"}}});
  t.log.append({.payload = "3"});
  auto billing = t.subscribe({.group = "billing"});
  const auto batch = billing.poll();
  CHECK(offsets(batch) == Offsets{0, 2, 3});
  CHECK(billing.ack(batch).applied == 3);
  CHECK(billing.committed() == Offset{4});
  auto audit = t.subscribe({.max_outstanding_bytes = 1'000'000, .group = "audit"});
  CHECK(offsets(audit.poll()) == Offsets{0, 1, 3});
}

TEST_CASE("messages for others alone leave nothing behind", "[delivery]") {
  LogUnderTest t;
  auto subscription = t.subscribe({.max_outstanding_bytes = 1'000'000, .group = "billing"});
  for (int i = 0; i < 1000; ++i) t.log.append({.headers = {{brook::addressed_to_header, "audit"}}});
  CHECK(subscription.poll().empty());
  CHECK(subscription.committed() == Offset{1000});
  CHECK(subscription.stats().deliveries == 0);
}
