#include <brook/delivery/subscription.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/delivery.hpp"

using namespace std::chrono_literals;
using brook::Duration;
using brook::Instant;
using brook::Offset;
using brook::SettleResult;
using support::drain;
using support::LogUnderTest;
using support::ManualSubscription;
using support::Offsets;
using support::offsets;

namespace {

/// Counts how often it is asked; no clock that tests drive, as far as anybody can tell.
struct CountingClock {
  brook::Instant now() const {
    ++reads;
    return time;
  }
  brook::Timestamp wall_now() const {
    ++wall_reads;
    return {};
  }
  void wait(brook::Waiter&, std::uint64_t, Instant) const {}
  void attach(brook::EventSource&) const {}
  void detach(brook::EventSource&) const {}

  mutable int reads = 0;
  mutable int wall_reads = 0;
  Instant time{};
};
using CountedLog = brook::TopicLog<brook::MemoryStorage, CountingClock>;

std::vector<std::uint32_t> numbers(const brook::Batch& batch) {
  std::vector<std::uint32_t> all;
  for (const auto& delivery : batch) all.push_back(delivery.number());
  return all;
}
brook::Loss loss(std::uint64_t first, std::uint64_t last, bool handed_out) {
  return {.range = {.first = Offset{first}, .last = Offset{last}}, .handed_out = handed_out};
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
constexpr bool sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||
                           __has_feature(memory_sanitizer);
#else
constexpr bool sanitized = false;
#endif

/// Bytes that the heap has given out and not got back; nothing where nobody can tell.
std::optional<std::uint64_t> heap_in_use() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  if (!sanitized) {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
  }
#endif
  return std::nullopt;
}

}  // namespace

// -------------------------------------------------------------------------------------- beginning

TEST_CASE("a subscription begins at the log's start, or where it is told", "[delivery]") {
  LogUnderTest t("abcd");
  t.log.trim(Offset{1});
  CHECK(t.subscribe().committed() == Offset{1});
  brook::Subscription later(t.log, {}, Offset{3});
  CHECK(offsets(later.poll()) == Offsets{3});
  CHECK(brook::Subscription(t.log, {}, Offset{4}).poll().empty());
  CHECK_THROWS_AS(brook::Subscription(t.log, {}, Offset{0}), brook::OffsetTooOld);
  CHECK_THROWS_AS(brook::Subscription(t.log, {}, Offset{5}), brook::OffsetOutOfRange);
  CHECK_THROWS_AS(t.subscribe({.max_deliveries = 0}), brook::InvalidArgument);
}

TEST_CASE("the parameters of a subscription follow from its log", "[delivery]") {
  static_assert(std::is_same_v<decltype(brook::Subscription(std::declval<support::ManualLog&>())),
                               ManualSubscription>);
  static_assert(!std::is_copy_constructible_v<ManualSubscription>);
  static_assert(std::is_nothrow_move_constructible_v<ManualSubscription>);
}

TEST_CASE("two groups each get every message", "[delivery]") {
  LogUnderTest t("ab");
  auto one = t.subscribe();
  auto two = t.subscribe();
  const auto batch = one.poll();
  one.ack(batch);
  CHECK(offsets(two.poll()) == Offsets{0, 1});
  CHECK(two.committed() == Offset{0});
}

TEST_CASE("a subscription that moved goes on, and its deliveries with it", "[delivery]") {
  LogUnderTest t("ab");
  auto first = t.subscribe();
  const auto batch = first.poll(1);
  const auto receipt = batch[0].receipt();
  ManualSubscription second = std::move(first);
  CHECK(batch[0].live());
  CHECK(second.ack(receipt) == SettleResult::applied);
  CHECK(offsets(second.poll()) == Offsets{1});
}

// ------------------------------------------------------------------------------------------- poll

TEST_CASE("a poll hands out in order, once, and moves nothing but the leases", "[delivery]") {
  LogUnderTest t("abcde");
  auto subscription = t.subscribe();
  CHECK(offsets(subscription.poll(2)) == Offsets{0, 1});
  CHECK(offsets(subscription.poll(2)) == Offsets{2, 3});
  CHECK(subscription.in_flight() == 4);
  CHECK(subscription.lag() == 5);
  CHECK(subscription.committed() == Offset{0});
  CHECK(offsets(subscription.poll()) == Offsets{4});
  CHECK(subscription.poll().empty());
  t.append("f");
  CHECK(offsets(subscription.poll()) == Offsets{5});
}

TEST_CASE("a poll for no messages gives none, but looks at the time", "[delivery]") {
  LogUnderTest t("ab");
  auto subscription = t.subscribe({.ack_deadline = 30s});
  (void)subscription.poll(1);
  t.clock.advance(30s);
  CHECK(subscription.poll(0).empty());
  CHECK(subscription.in_flight() == 0);
}

TEST_CASE("polls that make no sense are refused", "[delivery]") {
  LogUnderTest t("a");
  auto subscription = t.subscribe();
  CHECK_THROWS_AS((void)subscription.poll(-1), brook::InvalidArgument);
  CHECK_THROWS_AS((void)subscription.poll({.timeout = 1s}), brook::InvalidArgument);
  CHECK_THROWS_AS((void)subscription.poll({.timeout = -1s}), brook::InvalidArgument);
  CHECK(subscription.in_flight() == 0);
}

TEST_CASE("a poll stays within its bytes, but for its first message", "[delivery]") {
  LogUnderTest t;
  t.append("-", 1000);
  t.append("--", 100);
  t.append("-", 1000);
  t.append("-", 0);
  auto subscription = t.subscribe();
  const std::uint64_t small = t.stored_size(1);
  CHECK(offsets(subscription.poll({.max_bytes = 1})) == Offsets{0});
  CHECK(offsets(subscription.poll({.max_bytes = 2 * small - 1})) == Offsets{1});
  CHECK(offsets(subscription.poll({.max_bytes = small + 50})) == Offsets{2});
  CHECK(offsets(subscription.poll({.max_bytes = 0})) == Offsets{3});
  CHECK(offsets(subscription.poll()) == Offsets{4});
}

TEST_CASE("a poll does not skip what does not fit, for a redelivery either", "[delivery]") {
  LogUnderTest t;
  t.append("-", 100);
  t.append("-", 1000);
  t.append("--", 10);
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(2);
  subscription.nack(batch[0], {.delay = 0s});
  subscription.nack(batch[1], {.delay = 0s});
  CHECK(offsets(subscription.poll({.max_bytes = 500})) == Offsets{0});
  CHECK(offsets(subscription.poll({.max_messages = 1})) == Offsets{1});
  CHECK(offsets(subscription.poll()) == Offsets{2, 3});
}

TEST_CASE("a poll crosses the segments of the log", "[delivery]") {
  LogUnderTest t;
  t.append(std::string(3000, '-'), 40);
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(2500);
  REQUIRE(batch.size() == 2500);
  for (std::uint64_t i = 0; i < batch.size(); ++i) REQUIRE(batch[i].offset() == Offset{i});
  CHECK(subscription.ack(batch).applied == 2500);
  CHECK(subscription.committed() == Offset{2500});
}

TEST_CASE("due redeliveries come first, by offset, then what is new", "[delivery]") {
  LogUnderTest t("------");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(4);
  subscription.nack(batch[3], {.delay = 0s});
  subscription.nack(batch[1], {.delay = 0s});
  const auto again = subscription.poll();
  CHECK(offsets(again) == Offsets{1, 3, 4, 5});
  CHECK(numbers(again) == std::vector<std::uint32_t>{2, 2, 1, 1});
}

// ----------------------------------------------------------------------------------------- limits

TEST_CASE(
    "no more messages are out than max_outstanding_messages; each way to end a lease frees a slot",
    "[delivery]") {
  LogUnderTest t("----------");
  auto subscription = t.subscribe({.ack_deadline = 30s, .max_outstanding_messages = 2});
  auto batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{0, 1});
  CHECK(subscription.poll().empty());
  subscription.ack(batch[0]);
  CHECK(offsets(subscription.poll()) == Offsets{2});
  subscription.nack(batch[1], {.delay = 1h});
  batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{3});
  subscription.reject(batch[0], "no");
  CHECK(offsets(subscription.poll()) == Offsets{4});
  t.clock.advance(30s);
  CHECK(offsets(subscription.poll()) == Offsets{2, 4});  // expired ones come first
  t.log.trim(Offset{5});
  CHECK(offsets(subscription.poll()) == Offsets{5, 6});
}

TEST_CASE("no more bytes are out than max_outstanding_bytes, but one message always passes",
          "[delivery]") {
  LogUnderTest t;
  t.append("-----", 100);
  t.append("-", 5000);
  t.append("-", 10);
  const std::uint64_t size = t.stored_size(0);
  auto subscription = t.subscribe({.max_outstanding_bytes = 3 * size + 1});
  auto batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{0, 1, 2});
  subscription.ack(batch[1]);
  CHECK(offsets(subscription.poll()) == Offsets{3});
  subscription.ack(batch);
  batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{4});  // the large one has to wait until nothing is out
  subscription.seek(Offset{5});
  CHECK(offsets(subscription.poll()) == Offsets{5});
  CHECK(subscription.poll().empty());
}

TEST_CASE("a byte limit smaller than a whole poll lets one message out, not the poll",
          "[delivery]") {
  LogUnderTest t("-----");
  auto subscription = t.subscribe({.max_outstanding_bytes = 1});
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto batch = subscription.poll();
    REQUIRE(offsets(batch) == Offsets{i});
    subscription.ack(batch);
  }
}

TEST_CASE("messages that wait for their key do not keep smaller ones from a byte limit",
          "[delivery]") {
  LogUnderTest t;
  t.append("ab", 10);
  t.append("a", 1000);
  t.append("c", 10);
  auto subscription = t.subscribe({.max_outstanding_bytes = 200});
  const auto batch = subscription.poll(2);
  subscription.nack(batch[0], {.delay = 1h});
  CHECK(offsets(subscription.poll()) == Offsets{3});
  CHECK(subscription.lag() == 4);
}

TEST_CASE("nothing at or above committed + window is handed out, redeliveries below go on",
          "[delivery]") {
  LogUnderTest t("----------");
  auto subscription = t.subscribe({.max_ack_window = 4});
  const auto batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{0, 1, 2, 3});
  for (const std::size_t i : {1U, 2U, 3U}) subscription.ack(batch[i]);
  CHECK(subscription.poll().empty());
  subscription.nack(batch[0], {.delay = 0s});
  const auto again = subscription.poll();
  CHECK(offsets(again) == Offsets{0});
  CHECK(subscription.lag() == 7);
  SECTION("the way out is to reject") {
    subscription.reject(again[0], "no");
    CHECK(subscription.poll().empty());  // until the dead letter is written
    CHECK(drain(subscription) == Offsets{0});
    CHECK(offsets(subscription.poll()) == Offsets{4, 5, 6, 7});
  }
  SECTION("or to seek") {
    subscription.seek(Offset{5});
    CHECK(offsets(subscription.poll()) == Offsets{5, 6, 7, 8});
  }
}

// --------------------------------------------------------------------------------------- settling

TEST_CASE("acks may come in any order", "[delivery]") {
  LogUnderTest t("abc");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  CHECK(subscription.ack(batch[1]) == SettleResult::applied);
  CHECK(subscription.committed() == Offset{0});
  CHECK(subscription.ack(batch[0]) == SettleResult::applied);
  CHECK(subscription.committed() == Offset{2});
  CHECK(subscription.ack(batch[1]) == SettleResult::already_settled);
  CHECK(subscription.ack(batch) == brook::SettleCounts{.applied = 1, .already_settled = 2});
  CHECK(subscription.ack(brook::Batch()) == brook::SettleCounts{});
}

TEST_CASE("a receipt settles long after its batch is gone", "[delivery]") {
  LogUnderTest t("abc");
  auto subscription = t.subscribe();
  std::vector<brook::Receipt> receipts;
  for (const auto& delivery : subscription.poll()) receipts.push_back(delivery.receipt());
  CHECK(subscription.nack(receipts[0], {.delay = 0s}) == SettleResult::applied);
  CHECK(subscription.extend(receipts[1], 60s) == SettleResult::applied);
  CHECK(subscription.ack(receipts[1]) == SettleResult::applied);
  CHECK(subscription.reject(receipts[2], "no") == SettleResult::applied);
  CHECK(subscription.ack(receipts[0]) == SettleResult::lease_lost);
}

TEST_CASE("what another subscription handed out is refused, and changes nothing", "[delivery]") {
  LogUnderTest t("a");
  auto mine = t.subscribe();
  auto other = t.subscribe();
  const auto batch = other.poll();
  (void)mine.poll();
  CHECK_THROWS_AS(mine.ack(batch[0]), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.ack(batch), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.nack(batch[0]), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.reject(batch[0], "no"), brook::ForeignDelivery);
  CHECK_THROWS_AS((void)mine.extend(batch[0], 1s), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.ack(batch[0].receipt()), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.nack(batch[0].receipt()), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.reject(batch[0].receipt(), "no"), brook::ForeignDelivery);
  CHECK_THROWS_AS((void)mine.extend(batch[0].receipt(), 1s), brook::ForeignDelivery);
  CHECK_THROWS_AS(mine.ack(brook::Receipt{}), brook::ForeignDelivery);
  CHECK(mine.in_flight() == 1);
  CHECK(other.ack(batch).applied == 1);
}

TEST_CASE("times that are negative are refused", "[delivery]") {
  LogUnderTest t("a");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  CHECK_THROWS_AS(subscription.nack(batch[0], {.delay = -1ns}), brook::InvalidArgument);
  CHECK_THROWS_AS((void)subscription.extend(batch[0], -1ns), brook::InvalidArgument);
  CHECK(batch[0].live());
}

TEST_CASE("results in the order in which they are tested", "[delivery]") {
  LogUnderTest t("abcdef");
  auto subscription = t.subscribe();
  const auto before_seek = subscription.poll(1);
  subscription.seek(Offset{0});
  const auto before_release = subscription.poll(2);
  subscription.release();
  const auto batch = subscription.poll(4);
  subscription.ack(batch[0]);
  subscription.ack(batch[2]);
  subscription.nack(batch[3]);
  t.log.trim(Offset{2});
  CHECK(subscription.ack(before_seek[0]) == SettleResult::stale);
  CHECK(subscription.ack(before_release[1]) == SettleResult::fenced);
  CHECK(subscription.ack(batch[0]) == SettleResult::below_start);
  CHECK(subscription.ack(batch[1]) == SettleResult::below_start);
  CHECK(subscription.ack(batch[2]) == SettleResult::already_settled);
  CHECK(subscription.ack(batch[3]) == SettleResult::lease_lost);
}

TEST_CASE("a nack comes again after its delay, one number higher", "[delivery]") {
  LogUnderTest t("-");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  CHECK(subscription.nack(batch[0], {.delay = 5s, .error = "no"}) == SettleResult::applied);
  CHECK(subscription.next_event_time() == t.clock.now() + 5s);
  t.clock.advance(5s - 1ns);
  CHECK(subscription.poll().empty());
  t.clock.advance(1ns);
  CHECK(numbers(subscription.poll()) == std::vector<std::uint32_t>{2});
}

TEST_CASE("a nack for ever never comes again", "[delivery]") {
  LogUnderTest t("-");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  subscription.nack(batch[0], {.delay = Duration::max()});
  CHECK(subscription.next_event_time() == Instant::max());
  t.clock.advance(std::chrono::hours{1'000'000});
  CHECK(subscription.poll().empty());
  CHECK(subscription.lag() == 1);
}

TEST_CASE("a manual clock knows no jitter, others do", "[delivery]") {
  const brook::SubscriptionConfig config{
      .retry = {.min_backoff = 1h, .max_backoff = 1h, .jitter = true}};
  LogUnderTest t("----");
  auto manual = t.subscribe(config);
  for (const auto& delivery : manual.poll()) manual.nack(delivery);
  CHECK(manual.next_event_time() == t.clock.now() + 1h);

  CountingClock clock;
  CountedLog log(clock);
  for (int i = 0; i < 4; ++i) log.append({.payload = "x"});
  brook::Subscription jittery(log, config);
  for (const auto& delivery : jittery.poll()) jittery.nack(delivery);
  CHECK(jittery.next_event_time() < clock.time + 1h);
  CHECK(jittery.next_event_time() >= clock.time + 30min);
}

TEST_CASE("a lease ends exactly at its deadline, charged, and whoever held it is not asked",
          "[delivery]") {
  LogUnderTest t("-");
  auto subscription = t.subscribe({.ack_deadline = 30s});
  const auto batch = subscription.poll();
  CHECK(subscription.next_event_time() == t.clock.now() + 30s);
  t.clock.advance(30s - 1ns);
  CHECK(batch[0].live());
  CHECK(subscription.poll().empty());
  t.clock.advance(1ns);
  CHECK_FALSE(batch[0].live());
  const auto again = subscription.poll();
  CHECK(numbers(again) == std::vector<std::uint32_t>{2});
  CHECK(again[0].live());
  CHECK_FALSE(batch[0].live());
  CHECK(subscription.ack(batch[0]) == SettleResult::lease_lost);
  CHECK(subscription.ack(again[0]) == SettleResult::applied);
}

TEST_CASE("an ack does not know that the deadline has passed unless somebody looked",
          "[delivery]") {
  LogUnderTest t("--");
  auto subscription = t.subscribe({.ack_deadline = 30s});
  const auto batch = subscription.poll();
  t.clock.advance(1h);
  CHECK(subscription.ack(batch[0]) == SettleResult::applied);
  subscription.run_due();
  CHECK(subscription.in_flight() == 0);
  CHECK(subscription.ack(batch[1]) == SettleResult::applied);  // late
  CHECK(subscription.stats().expired == 1);
}

TEST_CASE("every call but ack ends what is over before it decides", "[delivery]") {
  for (int call = 0; call < 6; ++call) {
    LogUnderTest t("--");
    auto subscription = t.subscribe({.ack_deadline = 30s});
    const auto batch = subscription.poll(1);
    t.clock.advance(30s);
    if (call == 0) CHECK(subscription.nack(batch[0]) == SettleResult::lease_lost);
    if (call == 1) CHECK(subscription.reject(batch[0], "no") == SettleResult::lease_lost);
    if (call == 2) CHECK(subscription.extend(batch[0], 1s) == SettleResult::lease_lost);
    if (call == 3) subscription.run_due();
    if (call == 4) subscription.release();
    if (call == 5) CHECK(subscription.poll(0).empty());
    CHECK(subscription.stats().expired == 1);
  }
}

TEST_CASE("ack reads no clock, a poll reads it once", "[delivery]") {
  CountingClock clock;
  CountedLog log(clock);
  for (int i = 0; i < 10; ++i) log.append({.key = "k", .payload = "x"});
  brook::Subscription subscription(log);
  clock.reads = 0;
  clock.wall_reads = 0;
  const auto batch = subscription.poll();
  CHECK(clock.reads == 1);
  subscription.ack(batch[3]);
  subscription.ack(batch[0].receipt());
  subscription.ack(batch);
  CHECK(clock.reads == 1);
  CHECK(clock.wall_reads == 0);
  CHECK(subscription.committed() == Offset{10});
}

TEST_CASE("extend moves the deadline, 0 gives back", "[delivery]") {
  LogUnderTest t("-");
  auto subscription = t.subscribe({.ack_deadline = 30s, .max_lease = 60s});
  const auto batch = subscription.poll();
  t.clock.advance(20s);
  CHECK(subscription.extend(batch[0], 30s) == SettleResult::applied);
  CHECK(subscription.next_event_time() == Instant{50s});
  CHECK(subscription.extend(batch[0], 1s) == SettleResult::applied);
  CHECK(subscription.next_event_time() == Instant{21s});
  CHECK(subscription.extend(batch[0], Duration::max()) == SettleResult::applied);
  CHECK(subscription.next_event_time() == Instant{60s});
  CHECK(subscription.extend(batch[0], 0s) == SettleResult::applied);
  CHECK_FALSE(batch[0].live());
  CHECK(subscription.ack(batch[0]) == SettleResult::lease_lost);
  CHECK(numbers(subscription.poll()) == std::vector<std::uint32_t>{1});
}

TEST_CASE("release gives everything back, uncharged; its receipts are fenced", "[delivery]") {
  LogUnderTest t("--");
  auto subscription = t.subscribe({.max_deliveries = 1});
  const auto batch = subscription.poll();
  subscription.ack(batch[1]);
  subscription.release();
  CHECK(subscription.in_flight() == 0);
  CHECK_FALSE(batch[0].live());
  CHECK(subscription.ack(batch[0]) == SettleResult::fenced);
  CHECK(subscription.ack(batch[1]) == SettleResult::fenced);
  const auto again = subscription.poll();
  CHECK(offsets(again) == Offsets{0});
  CHECK(numbers(again) == std::vector<std::uint32_t>{1});
  CHECK(again[0].receipt() != batch[0].receipt());
}

TEST_CASE("at most once settles before the poll returns", "[delivery]") {
  LogUnderTest t("aab-");
  auto subscription = t.subscribe({.guarantee = brook::Guarantee::at_most_once,
                                   .max_outstanding_messages = 1,
                                   .max_outstanding_bytes = 1,
                                   .max_ack_window = 1});
  const auto batch = subscription.poll(3);
  CHECK(offsets(batch) == Offsets{0, 1, 2});
  CHECK(subscription.committed() == Offset{3});
  CHECK(subscription.in_flight() == 0);
  CHECK(subscription.lag() == 1);
  CHECK(subscription.ack(batch[0]) == SettleResult::already_settled);
  CHECK(subscription.ack(batch).already_settled == 3);
  CHECK(subscription.nack(batch[1]) == SettleResult::already_settled);
  CHECK(subscription.reject(batch[1], "no") == SettleResult::already_settled);
  CHECK(subscription.extend(batch[1], 1s) == SettleResult::already_settled);
  CHECK_FALSE(batch[0].live());
  CHECK(subscription.next_event_time() == Instant::max());
  subscription.seek(Offset{0});
  CHECK(subscription.ack(batch[0]) == SettleResult::stale);
  CHECK(offsets(subscription.poll()) == Offsets{0, 1, 2, 3});
}

// ------------------------------------------------------------------------------------------ order

TEST_CASE("a failure holds its key; other keys and keyless messages flow", "[delivery]") {
  LogUnderTest t("ab-aab-");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(4);
  subscription.nack(batch[0], {.delay = 1s});
  CHECK_FALSE(batch[3].live());
  CHECK(batch[1].live());
  CHECK(subscription.ack(batch[3]) == SettleResult::lease_lost);
  CHECK(offsets(subscription.poll()) == Offsets{5, 6});
  t.clock.advance(1s);
  auto again = subscription.poll();
  CHECK(offsets(again) == Offsets{0});
  subscription.ack(again);
  again = subscription.poll();
  CHECK(offsets(again) == Offsets{3});  // taken back: waits for everything before it
  CHECK(numbers(again) == std::vector<std::uint32_t>{1});
  subscription.ack(again);
  CHECK(offsets(subscription.poll()) == Offsets{4});
}

TEST_CASE("an empty key is a key, no key is none", "[delivery]") {
  LogUnderTest t;
  t.log.append({.key = "", .payload = "1"});
  t.log.append({.payload = "2"});
  t.log.append({.key = "", .payload = "3"});
  t.log.append({.payload = "4"});
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  subscription.nack(batch[0]);
  subscription.nack(batch[1]);
  CHECK(subscription.ack(batch[2]) == SettleResult::lease_lost);
  CHECK(subscription.ack(batch[3]) == SettleResult::applied);
}

TEST_CASE("with the order of the partition a failure stops everything behind it", "[delivery]") {
  LogUnderTest t("ab-cd");
  auto subscription = t.subscribe({.ordering = brook::Ordering::partition});
  const auto batch = subscription.poll(3);
  subscription.nack(batch[1], {.delay = 1s});
  CHECK(subscription.ack(batch[2]) == SettleResult::lease_lost);
  CHECK(subscription.poll().empty());
  subscription.ack(batch[0]);
  t.clock.advance(1s);
  for (std::uint64_t offset = 1; offset < 3; ++offset) {
    const auto again = subscription.poll();
    REQUIRE(offsets(again) == Offsets{offset});
    subscription.ack(again);
  }
  CHECK(offsets(subscription.poll()) == Offsets{3, 4});
}

TEST_CASE("without order a failure holds nothing", "[delivery]") {
  LogUnderTest t("aaa");
  auto subscription = t.subscribe({.ordering = brook::Ordering::none});
  const auto batch = subscription.poll(2);
  subscription.nack(batch[0], {.delay = 1h});
  CHECK(subscription.ack(batch[1]) == SettleResult::applied);
  CHECK(offsets(subscription.poll()) == Offsets{2});
}

// ----------------------------------------------------------------------------------- dead letters

TEST_CASE("a dead letter tells what happened to its message", "[delivery]") {
  LogUnderTest t;
  t.log.append({.key = "k", .payload = "p", .headers = {{"h", "1"}}});
  auto subscription = t.subscribe({.ack_deadline = 30s, .max_deliveries = 3});
  const auto began = t.clock.wall_now();
  auto batch = subscription.poll();
  subscription.nack(batch[0], {.delay = 0s, .error = "first"});
  t.clock.advance(10s);
  batch = subscription.poll();
  t.clock.advance(30s);
  batch = subscription.poll();
  subscription.nack(batch[0], {.error = "last"});
  CHECK(subscription.dead_lettering() == 1);
  CHECK(subscription.committed() == Offset{0});
  int seen = 0;
  subscription.drain_dead_letters([&](const brook::DeadLetter& letter) {
    ++seen;
    CHECK(letter.message.offset() == Offset{0});
    CHECK(letter.message.key().text() == "k");
    CHECK(letter.message.payload().text() == "p");
    CHECK(letter.message.headers().size() == 1);
    CHECK(letter.deliveries == 3);
    CHECK(letter.failure.error == "last");
    CHECK(letter.failure.first == began);
    CHECK(letter.failure.last == began + 40s);
  });
  CHECK(seen == 1);
  CHECK(subscription.dead_lettering() == 0);
  CHECK(subscription.committed() == Offset{1});
  CHECK(subscription.stats().dead_lettered == 1);
  CHECK(subscription.ack(batch[0]) == SettleResult::already_settled);
}

TEST_CASE("a deadline that passes may be the last one", "[delivery]") {
  LogUnderTest t("a");
  auto subscription = t.subscribe({.ack_deadline = 30s, .max_deliveries = 1});
  const auto batch = subscription.poll();
  t.clock.advance(30s);
  subscription.run_due();
  CHECK(subscription.dead_lettering() == 1);
  CHECK(subscription.in_flight() == 0);
  CHECK(subscription.ack(batch[0]) == SettleResult::lease_lost);
  std::string error;
  subscription.drain_dead_letters(
      [&](const brook::DeadLetter& letter) { error = letter.failure.error; });
  CHECK(error == "ack deadline passed");
}

TEST_CASE("a sink that fails is asked again after a backoff; the key waits, nobody else does",
          "[delivery]") {
  LogUnderTest t("aba");
  auto subscription = t.subscribe({.retry = {.min_backoff = 1s, .max_backoff = 3s}});
  const auto batch = subscription.poll(1);
  subscription.reject(batch[0], "no");
  const auto refuse = [](const brook::DeadLetter&) { throw std::runtime_error("full"); };
  for (const Duration wait : {Duration(1s), Duration(2s), Duration(3s), Duration(3s)}) {
    subscription.drain_dead_letters(refuse);
    CHECK(subscription.next_event_time() == t.clock.now() + wait.nanoseconds());
    CHECK(drain(subscription).empty());  // not yet
    t.clock.advance(wait);
    CHECK(subscription.dead_lettering() == 1);
  }
  const auto others = subscription.poll();
  CHECK(offsets(others) == Offsets{1});
  subscription.ack(others);
  CHECK(subscription.lag() == 2);
  CHECK(drain(subscription) == Offsets{0});
  CHECK(offsets(subscription.poll()) == Offsets{2});
}

TEST_CASE("a dead letter that fails does not stop the others", "[delivery]") {
  LogUnderTest t("abcd");
  auto subscription = t.subscribe();
  for (const auto& delivery : subscription.poll()) subscription.reject(delivery, "no");
  Offsets taken;
  subscription.drain_dead_letters([&](const brook::DeadLetter& letter) {
    if (letter.message.offset().value() % 2 == 0) throw std::runtime_error("full");
    taken.push_back(letter.message.offset().value());
  });
  CHECK(taken == Offsets{1, 3});
  CHECK(subscription.dead_lettering() == 2);
  t.clock.advance(1h);
  CHECK(drain(subscription) == Offsets{0, 2});
  CHECK(subscription.committed() == Offset{4});
}

TEST_CASE("dead letters come in the order of failure", "[delivery]") {
  LogUnderTest t("abc");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  for (const std::size_t i : {2U, 0U, 1U}) subscription.reject(batch[i], "no");
  CHECK(drain(subscription) == Offsets{2, 0, 1});
}

TEST_CASE("a dead letter survives the trim of its message, and is not lost", "[delivery]") {
  LogUnderTest t("abc");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(2);
  subscription.reject(batch[0], "no");
  t.log.trim(Offset{3});
  t.append(std::string(500, '-'), 100);
  CHECK(subscription.take_losses() == std::vector{loss(1, 2, true), loss(2, 3, false)});
  CHECK(subscription.committed() == Offset{0});
  std::string key;
  subscription.drain_dead_letters(
      [&](const brook::DeadLetter& letter) { key = letter.message.key().text(); });
  CHECK(key == "a");
  CHECK(subscription.committed() == Offset{3});
}

TEST_CASE("a sink may use the subscription", "[delivery]") {
  LogUnderTest t("abcd");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  subscription.reject(batch[0], "no");
  Offsets taken;
  subscription.drain_dead_letters([&](const brook::DeadLetter& letter) {
    taken.push_back(letter.message.offset().value());
    for (std::size_t i = 1; i < 4; ++i) subscription.reject(batch[i], std::string(100, 'e'));
  });
  CHECK(taken == Offsets{0, 1, 2, 3});
  CHECK(subscription.committed() == Offset{4});
}

TEST_CASE("dropped messages are settled and counted", "[delivery]") {
  LogUnderTest t("aaa");
  auto subscription = t.subscribe({.max_deliveries = 2, .exhausted = brook::Exhausted::drop});
  auto batch = subscription.poll();
  subscription.reject(batch[0], "no");
  CHECK(subscription.committed() == Offset{1});
  subscription.nack(batch[1], {.delay = 0s});
  batch = subscription.poll();
  CHECK(offsets(batch) == Offsets{1});
  subscription.nack(batch[0]);
  CHECK(subscription.committed() == Offset{2});
  CHECK(subscription.stats().dropped == 2);
  CHECK(subscription.dead_lettering() == 0);
  CHECK(offsets(subscription.poll()) == Offsets{2});
}

// --------------------------------------------------------------------------------- seek and losses

TEST_CASE("a seek forward settles what it skips, backward opens it again", "[delivery]") {
  LogUnderTest t("abcd");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(2);
  subscription.nack(batch[1], {.delay = 1h});
  subscription.seek(Offset{3});
  CHECK(subscription.committed() == Offset{3});
  CHECK(subscription.in_flight() == 0);
  CHECK(subscription.lag() == 1);
  CHECK(subscription.next_event_time() == Instant::max());
  CHECK(subscription.ack(batch[0]) == SettleResult::stale);
  CHECK_FALSE(batch[0].live());
  subscription.seek(Offset{0});
  const auto again = subscription.poll();
  CHECK(offsets(again) == Offsets{0, 1, 2, 3});
  CHECK(numbers(again) == std::vector<std::uint32_t>{1, 1, 1, 1});
  CHECK(subscription.stats().redeliveries == 0);
  CHECK(again[0].receipt() != batch[0].receipt());
}

TEST_CASE("a seek out of the log is refused and changes nothing", "[delivery]") {
  LogUnderTest t("abcd");
  t.log.trim(Offset{2});
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  CHECK_THROWS_AS(subscription.seek(Offset{1}), brook::OffsetTooOld);
  CHECK_THROWS_AS(subscription.seek(Offset{5}), brook::OffsetOutOfRange);
  CHECK(subscription.ack(batch).applied == 2);
  subscription.seek(Offset{4});
  CHECK(subscription.poll().empty());
}

TEST_CASE("losses are exact ranges, split by whether they were handed out, and told once",
          "[delivery]") {
  LogUnderTest t("--------");
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(4);
  subscription.ack(batch[1]);
  t.log.trim(Offset{6});
  CHECK(subscription.take_losses() ==
        std::vector{loss(0, 1, true), loss(2, 4, true), loss(4, 6, false)});
  CHECK(subscription.take_losses().empty());
  CHECK(subscription.stats().lost == 5);
  CHECK(subscription.committed() == Offset{6});
  CHECK(subscription.ack(batch[0]) == SettleResult::below_start);
  CHECK(offsets(subscription.poll()) == Offsets{6, 7});
}

TEST_CASE("what was lost before a seek is counted", "[delivery]") {
  LogUnderTest t("------");
  auto subscription = t.subscribe();
  (void)subscription.poll(1);
  t.log.trim(Offset{3});
  subscription.seek(Offset{5});
  CHECK(subscription.take_losses() == std::vector{loss(0, 1, true), loss(1, 3, false)});
}

TEST_CASE("a trim below what is settled loses nothing", "[delivery]") {
  LogUnderTest t("----");
  auto subscription = t.subscribe();
  subscription.ack(subscription.poll(2));
  t.log.trim(Offset{2});
  CHECK(subscription.take_losses().empty());
  CHECK(subscription.lag() == 2);
}

TEST_CASE("lag counts what is visible and not settled", "[delivery]") {
  LogUnderTest t("----");
  auto subscription = t.subscribe();
  CHECK(subscription.lag() == 4);
  const auto batch = subscription.poll(3);
  CHECK(subscription.lag() == 4);
  subscription.ack(batch[1]);
  subscription.nack(batch[2]);
  CHECK(subscription.lag() == 3);
  t.log.trim(Offset{1});
  CHECK(subscription.lag() == 2);
}

// ------------------------------------------------------------------------------------------- cost

TEST_CASE("on the happy path nothing is allocated for a message", "[delivery]") {
  LogUnderTest t;
  t.append(std::string(4000, 'a'), 10);
  auto subscription = t.subscribe();
  subscription.ack(subscription.poll(500));
  for (const bool one_by_one : {false, true}) {
    for (const std::uint64_t messages : {1U, 10U, 100U, 500U}) {
      const support::CountAllocations counted;
      const auto batch = subscription.poll(messages);
      if (one_by_one) {
        for (const auto& delivery : batch) subscription.ack(delivery);
      } else {
        subscription.ack(batch);
      }
      const std::uint64_t count = counted.count();
      // The batch, its deliveries, its pieces and pins, growing with the segments it touches.
      CHECK(count <= 16);
      CHECK(batch.size() == messages);
    }
  }
  CHECK(subscription.committed() == Offset{500 + 2 * 611});
}

TEST_CASE("acking in order allocates nothing", "[delivery]") {
  LogUnderTest t(std::string(1000, 'a'));
  auto subscription = t.subscribe();
  const auto batch = subscription.poll(1000);
  const support::CountAllocations counted;
  for (std::size_t i = 0; i < 500; ++i) subscription.ack(batch[i]);
  subscription.ack(batch);
  const std::uint64_t count = counted.count();
  CHECK(count == 0);
}

TEST_CASE("an idle subscription holds nothing but itself", "[delivery]") {
  LogUnderTest t("a");
  const support::CountAllocations counted;
  auto subscription = t.subscribe();
  const std::uint64_t count = counted.count();
  const std::uint64_t bytes = counted.bytes();
  CHECK(count <= 1);
  CHECK(bytes <= 768);
}

TEST_CASE("a message that is out takes at most 16 bytes, whether it came alone or not",
          "[delivery]") {
  LogUnderTest t(std::string(15'000, 'a'));
  for (const std::uint64_t each : {1U, 500U}) {
    auto subscription = t.subscribe({.max_outstanding_messages = 15'000});
    const auto before = heap_in_use();
    brook::Receipt receipt;
    const auto poll = [&](std::uint64_t messages) {
      for (std::uint64_t i = 0; i < messages; i += each) {
        t.clock.advance(1ns);  // so that each poll has a deadline of its own
        const auto batch = subscription.poll(each);
        if (batch.size() != each) FAIL("a poll did not get what it asked for");
        receipt = batch[0].receipt();
      }
    };
    const auto check = [&] {
      const auto after = heap_in_use();
      if (!before || !after) return;
      const std::uint64_t bytes = *after - *before;
      CHECK(bytes <= (each == 1 ? 16 * subscription.in_flight() : 1000));
    };
    poll(10'000);
    check();
    // The same when the window moves.
    receipt.offset = Offset{0};
    for (; receipt.offset < Offset{3000}; ++receipt.offset) subscription.ack(receipt);
    poll(3000);
    CHECK(subscription.in_flight() == 10'000);
    check();
  }
}
