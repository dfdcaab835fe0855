#include <brook/delivery/lease_table.hpp>

#include <chrono>
#include <cstdint>

#include "support/catch.hpp"
#include "support/lease_table.hpp"

using namespace std::chrono_literals;
using brook::Duration;
using brook::Instant;
using brook::Offset;
using support::TableUnderTest;
using Offsets = TableUnderTest::Offsets;
using State = TableUnderTest::State;

TEST_CASE("a new table has nothing but its position", "[delivery]") {
  const TableUnderTest t({}, "", 42);
  CHECK(t.table.committed() == Offset{42});
  CHECK(t.table.next() == Offset{42});
  CHECK(t.table.in_flight() == 0);
  CHECK(t.table.unsettled() == 0);
  CHECK(t.table.is_settled(Offset{41}));
  CHECK_FALSE(t.table.is_settled(Offset{42}));
  CHECK_FALSE(t.table.tracks_keys());
  CHECK_FALSE(t.table.holds_all());
  CHECK(t.table.next_event({}) == Instant::max());
  CHECK(t.table.earliest_event() == Instant::max());
  CHECK(t.table.window_end() == Offset{42 + 100'000});
}

TEST_CASE("a small table is small", "[delivery]") {
  CHECK(sizeof(brook::detail::LeaseTable) <= 256);
}

TEST_CASE("each offset of the window is in exactly one state", "[delivery]") {
  TableUnderTest t({.max_deliveries = 1}, "a-b-b-");
  t.lease(6);
  CHECK(t.count(State::leased) == 6);
  t.ack(1);
  CHECK(t.count(State::leased) == 5);
  t.reject(0);
  t.take_dead_letters();
  CHECK(t.count(State::dead_lettering) == 1);
  CHECK(t.extend(2, 0s) == brook::SettleResult::applied);
  CHECK(t.count(State::pending) == 1);
  CHECK(t.count(State::blocked) == 1);
  CHECK(t.count(State::leased) == 2);
  CHECK(t.table.unsettled() == 5);
  CHECK(t.table.in_flight() == 2);
  CHECK(t.slots.messages == 2);
}

TEST_CASE("pending messages are counted from the time on at which they are due", "[delivery]") {
  TableUnderTest t;
  t.lease(1);
  t.nack(t.receipt(0), {.delay = 10s});
  CHECK(t.table.count(State::pending) == 1);
  CHECK(t.table.count(State::pending, t.now + 10s - 1ns) == 0);
  CHECK(t.table.count(State::pending, t.now + 10s) == 1);
}

TEST_CASE("two partitions of one member share its slots", "[delivery]") {
  const brook::SubscriptionConfig config{.max_outstanding_bytes = 1000};
  brook::Outstanding slots;
  brook::detail::LeaseTable one(config, Offset{0}, slots);
  brook::detail::LeaseTable two(config, Offset{500}, slots);
  one.lease_run(3, {}, [](std::uint32_t) { return 16U; });
  two.lease_run(2, {}, [](std::uint32_t) { return 24U; });
  CHECK(slots.messages == 5);
  CHECK(slots.bytes == 96);
  one.seek(Offset{0});
  CHECK(slots.messages == 2);
  CHECK(slots.bytes == 48);
  two.ack({.offset = Offset{501}, .epoch = two.epoch()}, Offset{0});
  CHECK(slots.messages == 1);
  CHECK(slots.bytes == 24);
}

TEST_CASE("the next event is the first deadline or end of a backoff that is still to come",
          "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(2);
  t.now += 1s;
  t.lease(1);
  CHECK(t.table.next_event(t.now) == Instant{30s});
  t.nack(t.receipt(0), {.delay = 5s});
  CHECK(t.table.next_event(t.now) == Instant{6s});
  CHECK(t.table.next_event(Instant{6s}) == Instant{30s});
  CHECK(t.table.earliest_event() <= Instant{6s});
  t.ack(1);
  CHECK(t.table.next_event(Instant{6s}) == Instant{31s});
  t.ack(2);
  CHECK(t.table.next_event(Instant{6s}) == Instant::max());
}

TEST_CASE("a message that waits for an earlier one is no event", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s}, "aa");
  t.lease(2);
  t.nack(t.receipt(1), {.delay = 5s});
  CHECK(t.table.next_event(t.now) == Instant{30s});
  t.ack(0);
  CHECK(t.table.next_event(t.now) == Instant{5s});
}

TEST_CASE("a table remembers why a message failed until it is settled", "[delivery]") {
  TableUnderTest t;
  t.lease(1);
  CHECK(t.table.failure(Offset{0}) == nullptr);
  const auto first = t.wall;
  t.nack(t.receipt(0), {.delay = Duration{}, .error = "first"});
  t.redeliver(0);
  t.wall += 5s;
  t.nack(t.receipt(0, 1), {.delay = Duration{}, .error = "second"});
  REQUIRE(t.table.failure(Offset{0}) != nullptr);
  CHECK(t.table.failure(Offset{0})->error == "second");
  CHECK(t.table.failure(Offset{0})->first == first);
  CHECK(t.table.failure(Offset{0})->last == t.wall);
  CHECK(t.table.charged(Offset{0}) == 2);
  CHECK(t.table.charged(Offset{7}) == 0);
  t.redeliver(0);
  t.ack(0, 2);
  CHECK(t.table.failure(Offset{0}) == nullptr);
}

TEST_CASE("a lease is live until its deadline", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(1);
  const auto receipt = t.receipt(0);
  CHECK(t.table.is_live(receipt, Instant{30s - 1ns}));
  CHECK_FALSE(t.table.is_live(receipt, Instant{30s}));
  (void)t.extend(0, 60s);
  CHECK(t.table.is_live(receipt, Instant{60s - 1ns}));
  CHECK_FALSE(t.table.is_live(t.receipt(0, 1), {}));
  CHECK_FALSE(t.table.is_live(t.receipt(1), {}));
  t.ack(0);
  CHECK_FALSE(t.table.is_live(receipt, {}));
}
