#include <brook/delivery/lease_table_settle.hpp>

#include <chrono>
#include <cstdint>

#include "support/catch.hpp"
#include "support/lease_table.hpp"

using namespace std::chrono_literals;
using brook::Duration;
using brook::Instant;
using brook::Offset;
using brook::SettleCounts;
using brook::SettleResult;
using support::TableUnderTest;
using Offsets = TableUnderTest::Offsets;
using State = TableUnderTest::State;

TEST_CASE("acks move committed over everything that is settled", "[delivery]") {
  TableUnderTest t;
  t.lease(200);
  t.ack(1);
  t.ack(199);
  CHECK(t.committed() == 0);
  t.ack(0);
  CHECK(t.committed() == 2);
  for (std::uint64_t offset = 198; offset > 2; --offset) t.ack(offset);
  CHECK(t.committed() == 2);
  CHECK(t.table.unsettled() == 1);
  t.ack(2);
  CHECK(t.committed() == 200);
  CHECK(t.slots.messages == 0);
  CHECK(t.table.stats().acked == 200);
}

TEST_CASE("results are tested in their order", "[delivery]") {
  TableUnderTest t;
  t.lease(4);
  const auto stale = t.receipt(0);
  t.table.seek(Offset{0});
  t.lease(4);
  const auto fenced = t.receipt(0);
  t.release();
  for (const std::uint64_t offset : t.due()) t.redeliver(offset);
  t.ack(0, 1);
  t.ack(1, 1);
  CHECK(t.ack(stale) == SettleResult::stale);
  CHECK(t.ack(fenced) == SettleResult::fenced);
  CHECK(t.ack(0, 1) == SettleResult::already_settled);
  t.log_start = Offset{1};
  CHECK(t.ack(stale) == SettleResult::stale);
  CHECK(t.ack(fenced) == SettleResult::fenced);
  CHECK(t.ack(0, 1) == SettleResult::below_start);  // trimmed comes before settled
  CHECK(t.ack(1, 0) == SettleResult::already_settled);
  CHECK(t.ack(2, 0) == SettleResult::lease_lost);
  CHECK(t.ack(2, 1) == SettleResult::applied);
  CHECK(t.ack(77) == SettleResult::lease_lost);
}

TEST_CASE("nothing but applied changes anything", "[delivery]") {
  TableUnderTest t;
  t.lease(2);
  t.nack(0);
  t.redeliver(0);
  t.ack(1);
  const auto before = t.table.stats();
  for (const auto& receipt : {t.receipt(0, 0), t.receipt(1), t.receipt(0, 7), t.receipt(9)}) {
    CHECK(t.ack(receipt) != SettleResult::applied);
    CHECK(t.nack(receipt) != SettleResult::applied);
    CHECK(t.reject(receipt.offset.value(), receipt.attempt) != SettleResult::applied);
    CHECK(t.extend(receipt.offset.value(), 1s, receipt.attempt) != SettleResult::applied);
    CHECK(t.extend(receipt.offset.value(), 0s, receipt.attempt) != SettleResult::applied);
  }
  CHECK(t.table.in_flight() == 1);
  CHECK(t.table.charged(Offset{0}) == 1);
  CHECK(t.table.stats().nacked == before.nacked);
  CHECK(t.table.stats().acked == before.acked);
  CHECK(t.ack(0, 1) == SettleResult::applied);
}

TEST_CASE("a run is acked as if each of it were acked", "[delivery]") {
  TableUnderTest t;
  t.lease(10);
  SettleCounts counts;
  t.table.ack_run(Offset{0}, 4, t.table.epoch(), {}, counts);
  CHECK(counts == SettleCounts{.applied = 4});
  CHECK(t.committed() == 4);
  t.table.ack_run(Offset{6}, 2, t.table.epoch(), {}, counts);
  CHECK(counts == SettleCounts{.applied = 6});
  CHECK(t.committed() == 4);
  t.table.ack_run(Offset{4}, 6, t.table.epoch(), {}, counts);
  CHECK(counts == SettleCounts{.applied = 10, .already_settled = 2});
  CHECK(t.committed() == 10);
  CHECK(t.slots.messages == 0);
}

TEST_CASE("a run is acked one by one where it is not whole any more", "[delivery]") {
  TableUnderTest t;
  t.lease(5);
  t.nack(1);
  t.redeliver(1);
  const std::uint32_t epoch = t.table.epoch();
  SettleCounts counts;
  t.table.ack_run(Offset{0}, 5, epoch, Offset{1}, counts);
  CHECK(counts == SettleCounts{.applied = 3, .below_start = 1, .lease_lost = 1});
  t.release();
  counts = {};
  t.table.ack_run(Offset{0}, 5, epoch, Offset{1}, counts);
  CHECK(counts == SettleCounts{.fenced = 5});
  t.table.seek(Offset{5});
  counts = {};
  t.table.ack_run(Offset{0}, 5, epoch, Offset{1}, counts);
  CHECK(counts == SettleCounts{.stale = 5});
}

TEST_CASE("a run that retention overtook but nobody looked at is below the start", "[delivery]") {
  TableUnderTest t;
  t.lease(5);
  SettleCounts counts;
  t.table.ack_run(Offset{0}, 5, t.table.epoch(), Offset{2}, counts);
  CHECK(counts == SettleCounts{.applied = 3, .below_start = 2});
  CHECK(t.committed() == 0);
}

TEST_CASE("a nack charges, frees the slot, and brings the message back after its delay",
          "[delivery]") {
  TableUnderTest t;
  t.lease(1);
  CHECK(t.nack(t.receipt(0), {.delay = 5s, .error = "no"}) == SettleResult::applied);
  CHECK(t.slots.messages == 0);
  CHECK(t.table.stats().nacked == 1);
  t.now += 5s - 1ns;
  CHECK(t.due().empty());
  t.now += 1ns;
  CHECK(t.due() == Offsets{0});
  CHECK(t.redeliver(0).number == 2);
}

TEST_CASE("a nack without delay backs off by the message's own number of failures", "[delivery]") {
  TableUnderTest t({.retry = {.min_backoff = 1s, .max_backoff = 3s}});
  t.lease(1);
  std::uint32_t attempt = 0;
  for (const Duration wait : {Duration(1s), Duration(2s), Duration(3s), Duration(3s)}) {
    CHECK(t.nack(t.receipt(0, attempt), {}) == SettleResult::applied);
    CHECK(t.table.next_event(t.now) == t.now + wait.nanoseconds());
    t.now += wait.nanoseconds();
    attempt = t.redeliver(0).attempt;
  }
}

TEST_CASE("a message that expired may be acked late, until it is handed out again", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(2);
  t.now += 30s - 1ns;
  t.expire();
  CHECK(t.table.stats().expired == 0);  // never early
  t.now += 1ns;
  t.expire();
  CHECK(t.table.stats().expired == 2);
  CHECK(t.slots.messages == 0);
  CHECK(t.due() == Offsets{0, 1});
  CHECK(t.ack(0) == SettleResult::applied);
  CHECK(t.redeliver(1).number == 2);
  CHECK(t.ack(1, 0) == SettleResult::lease_lost);
  CHECK(t.ack(1, 1) == SettleResult::applied);
}

TEST_CASE("late nack, reject and extend are lost", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(1);
  t.now += 30s;
  t.expire();
  CHECK(t.nack(0) == SettleResult::lease_lost);
  CHECK(t.reject(0) == SettleResult::lease_lost);
  CHECK(t.extend(0, 1s) == SettleResult::lease_lost);
  CHECK(t.extend(0, 0s) == SettleResult::lease_lost);
  CHECK(t.table.charged(Offset{0}) == 1);
  CHECK(t.ack(0) == SettleResult::applied);
}

TEST_CASE("a lease that ended in any other way cannot be acked late", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s}, "--aa");
  t.lease(4);
  t.nack(0);
  (void)t.extend(1, 0s);
  t.nack(2);  // takes 3 back
  for (std::uint64_t offset = 0; offset < 4; ++offset)
    CHECK(t.ack(offset) == SettleResult::lease_lost);
}

TEST_CASE("what expired and then waits for an earlier one may still be acked late", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s}, "aa");
  t.lease(1);
  t.now += 10s;
  (void)t.extend(0, 60s);
  t.lease(1);
  t.now += 30s;
  t.expire();
  CHECK(t.count(State::blocked) == 1);
  CHECK(t.ack(1) == SettleResult::applied);
}

TEST_CASE("extending moves the deadline, to later or to earlier", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(2);
  t.now += 10s;
  CHECK(t.extend(0, 60s) == SettleResult::applied);
  CHECK(t.extend(1, 5s) == SettleResult::applied);
  CHECK(t.table.next_event(t.now) == Instant{15s});
  t.now = Instant{15s};
  t.expire();
  CHECK(t.due() == Offsets{1});
  t.now = Instant{70s - 1ns};
  t.expire();
  CHECK(t.due() == Offsets{1});
  t.now += 1ns;
  t.expire();
  CHECK(t.due() == Offsets{0, 1});
}

TEST_CASE("extending for ever ends only with max_lease", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(1);
  CHECK(t.extend(0, Duration::max()) == SettleResult::applied);
  CHECK(t.table.next_event(t.now) == Instant::max());
  t.now += std::chrono::hours{1'000'000};
  t.expire();
  CHECK(t.table.in_flight() == 1);

  TableUnderTest capped({.ack_deadline = 30s, .max_lease = 100s});
  capped.lease(1);
  CHECK(capped.extend(0, Duration::max()) == SettleResult::applied);
  CHECK(capped.table.next_event({}) == Instant{100s});
}

TEST_CASE("max_lease counts from the hand-out, however often the lease is extended", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s, .max_lease = 100s});
  t.now = Instant{5s};
  t.lease(1);
  for (int i = 0; i < 10; ++i) {
    t.now += 9s;
    CHECK(t.extend(0, 30s) == SettleResult::applied);
    CHECK(t.table.next_event(t.now) == std::min(t.now + 30s, Instant{105s}));
  }
  t.now = Instant{105s};
  t.expire();
  CHECK(t.extend(0, 30s) == SettleResult::lease_lost);
  t.redeliver(0);  // a new hand-out has its own time
  CHECK(t.extend(0, 500s, 1) == SettleResult::applied);
  CHECK(t.table.next_event(t.now) == Instant{205s});
}

TEST_CASE("a deadline may be never", "[delivery]") {
  TableUnderTest t({.ack_deadline = Duration::max()});
  t.now = Instant{std::chrono::hours{24}};
  t.lease(2);
  CHECK(t.table.next_event(t.now) == Instant::max());
  t.now = Instant::max() - 1ns;
  t.expire();
  CHECK(t.table.in_flight() == 2);
  CHECK(t.ack(0) == SettleResult::applied);
}

TEST_CASE("giving back is uncharged and due at once", "[delivery]") {
  TableUnderTest t({.max_deliveries = 1});
  t.lease(1);
  std::uint32_t attempt = 0;
  for (int i = 0; i < 5; ++i) {
    CHECK(t.extend(0, 0s, attempt) == SettleResult::applied);
    CHECK(t.due() == Offsets{0});
    const auto lease = t.redeliver(0);
    CHECK(lease.number == 1);
    attempt = lease.attempt;
  }
}

TEST_CASE("the last failure makes a dead letter in the same step", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s, .max_deliveries = 2});
  t.lease(2);
  t.nack(0);
  t.redeliver(0);
  t.nack(0, 1);
  CHECK(t.count(State::dead_lettering) == 1);
  CHECK(t.take_dead_letters() == Offsets{0});
  CHECK(t.take_dead_letters().empty());
  t.now += 30s;
  t.expire();
  t.redeliver(1);
  t.now += 30s;
  t.expire();
  CHECK(t.take_dead_letters() == Offsets{1});
  CHECK(t.slots.messages == 0);
  CHECK(t.due().empty());
  CHECK(t.ack(1, 1) == SettleResult::lease_lost);  // not even late
  CHECK(t.committed() == 0);
  t.table.dead_letter_done(Offset{0});
  CHECK(t.committed() == 1);
  CHECK(t.ack(0, 1) == SettleResult::already_settled);
  CHECK(t.table.stats().dead_lettered == 1);
}

TEST_CASE("a rejected message is a dead letter at once, charged", "[delivery]") {
  TableUnderTest t({.max_deliveries = 5});
  t.lease(1);
  CHECK(t.reject(0) == SettleResult::applied);
  CHECK(t.table.charged(Offset{0}) == 1);
  CHECK(t.table.failure(Offset{0})->error == "rejected");
  CHECK(t.take_dead_letters() == Offsets{0});
}

TEST_CASE("without dead letters the last failure drops the message, and counts it", "[delivery]") {
  TableUnderTest t({.max_deliveries = 1, .exhausted = brook::Exhausted::drop}, "a-aa");
  t.lease(4);
  t.nack(0);
  CHECK(t.committed() == 1);
  t.reject(1);
  CHECK(t.committed() == 2);
  t.now += 30s;
  t.expire();
  CHECK(t.committed() == 4);
  CHECK(t.table.stats().dropped == 4);
  CHECK(t.table.in_flight() == 0);
  CHECK(t.take_dead_letters().empty());
  CHECK(t.ack(2) == SettleResult::already_settled);
}

// ------------------------------------------------------------------------------------ order of key

TEST_CASE("a failure takes back what is behind it in its key, uncharged", "[delivery]") {
  TableUnderTest t({}, "abaca-a");
  t.lease(6);
  t.nack(2);
  CHECK(t.table.in_flight() == 4);
  CHECK(t.ack(4) == SettleResult::lease_lost);
  CHECK(t.ack(0) == SettleResult::applied);
  CHECK(t.ack(1) == SettleResult::applied);
  CHECK(t.ack(3) == SettleResult::applied);
  CHECK(t.ack(5) == SettleResult::applied);
  CHECK(t.due() == Offsets{2});
  t.redeliver(2);
  CHECK(t.due().empty());  // 4 waits until 2 is settled
  t.ack(2, 1);
  CHECK(t.due() == Offsets{4});
  CHECK(t.redeliver(4).number == 1);
}

TEST_CASE("a redelivery waits for every earlier message of its key", "[delivery]") {
  TableUnderTest t({}, "aaa");
  t.lease(3);
  t.nack(2);
  CHECK(t.due().empty());
  t.ack(0);
  CHECK(t.due().empty());
  t.ack(1);
  CHECK(t.due() == Offsets{2});
}

TEST_CASE("an earlier failure takes back what a later one left on lease", "[delivery]") {
  TableUnderTest t({}, "aaa");
  t.lease(3);
  t.nack(2);
  t.nack(0);
  CHECK(t.ack(1) == SettleResult::lease_lost);
  CHECK(t.table.in_flight() == 0);
  CHECK(t.due() == Offsets{0});
}

TEST_CASE("the first of its key may come back again and again, the others keep waiting",
          "[delivery]") {
  TableUnderTest t({}, "aaa");
  t.lease(2);
  t.nack(0);
  CHECK_FALSE(t.lease_next());
  for (std::uint32_t attempt = 1; attempt < 5; ++attempt) {
    CHECK(t.due() == Offsets{0});
    CHECK(t.redeliver(0).attempt == attempt);
    t.nack(0, attempt);
  }
  CHECK(t.count(State::blocked) == 2);
}

TEST_CASE("acked ones are not sent again when an earlier one of their key fails", "[delivery]") {
  TableUnderTest t({}, "aaa");
  t.lease(3);
  t.ack(1);
  t.nack(0);
  CHECK(t.ack(1) == SettleResult::already_settled);
  t.redeliver(0);
  t.ack(0, 1);
  CHECK(t.due() == Offsets{2});
}

TEST_CASE("a backoff goes on while its message waits for its key", "[delivery]") {
  TableUnderTest t({}, "aa");
  t.lease(2);
  t.nack(t.receipt(1), {.delay = 10s});
  t.now += 4s;
  t.ack(0);
  CHECK(t.due().empty());
  CHECK(t.table.next_event(t.now) == Instant{10s});
  t.now += 6s;
  CHECK(t.due() == Offsets{1});
}

TEST_CASE("messages without a key fail alone", "[delivery]") {
  TableUnderTest t({}, "---");
  t.lease(3);
  t.nack(0);
  CHECK_FALSE(t.table.tracks_keys());
  CHECK(t.ack(1) == SettleResult::applied);
  CHECK(t.due() == Offsets{0});
}

TEST_CASE("with the order of the partition all have one key", "[delivery]") {
  TableUnderTest t({.ordering = brook::Ordering::partition}, "a-b-");
  t.lease(3);
  t.nack(1);
  CHECK(t.table.holds_all());
  CHECK(t.ack(2) == SettleResult::lease_lost);
  CHECK(t.due().empty());
  t.ack(0);
  CHECK(t.due() == Offsets{1});
  t.redeliver(1);
  t.ack(1, 1);
  CHECK(t.table.holds_all());  // 2 came back, too
  CHECK(t.due() == Offsets{2});
  t.redeliver(2);
  t.ack(2, 1);
  CHECK_FALSE(t.table.holds_all());
}

TEST_CASE("without order a failure blocks nothing", "[delivery]") {
  TableUnderTest t({.ordering = brook::Ordering::none}, "aaa");
  t.lease(3);
  t.nack(0);
  CHECK(t.ack(1) == SettleResult::applied);
  t.nack(2);
  CHECK(t.due() == Offsets{0, 2});
  CHECK_FALSE(t.table.tracks_keys());
}

TEST_CASE("all leases that are over end before any of them takes something back", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s}, "aaa");
  t.lease(3);
  t.now += 30s;
  t.expire();
  CHECK(t.table.stats().expired == 3);
  for (std::uint64_t offset = 0; offset < 3; ++offset) CHECK(t.table.charged(Offset{offset}) == 1);
  CHECK(t.due() == Offsets{0});
  CHECK(t.ack(2) == SettleResult::applied);  // late, though taken back would not be
}

TEST_CASE("a dead letter holds its key, but takes nothing back", "[delivery]") {
  TableUnderTest t({}, "aaa-");
  t.lease(2);
  t.reject(0);
  t.take_dead_letters();
  CHECK_FALSE(t.lease_next());
  CHECK(t.lease_next());
  CHECK(t.table.in_flight() == 2);
  CHECK(t.extend(1, 0s) == SettleResult::applied);  // what comes back waits
  CHECK(t.due().empty());
  t.table.dead_letter_done(Offset{0});
  CHECK(t.due() == Offsets{1});
}

TEST_CASE("a dead letter that is written at once holds nothing", "[delivery]") {
  TableUnderTest t({}, "aa");
  t.lease(1);
  t.reject(0);
  CHECK(t.take_dead_letters(false) == Offsets{0});
  t.table.dead_letter_done(Offset{0});
  CHECK_FALSE(t.table.tracks_keys());
  CHECK(t.lease_next());
  CHECK(t.committed() == 1);
}

TEST_CASE("a dropped message takes nothing back", "[delivery]") {
  TableUnderTest t({.max_deliveries = 1, .exhausted = brook::Exhausted::drop}, "aa");
  t.lease(2);
  t.nack(0);
  CHECK(t.ack(1) == SettleResult::applied);
}

TEST_CASE("what compaction took while it waited is settled, and tells if others are free now",
          "[delivery]") {
  TableUnderTest t({}, "aab-");
  t.lease(4);
  t.nack(0);
  t.nack(2);
  t.nack(3);
  CHECK(t.table.supersede(Offset{0}));
  CHECK_FALSE(t.table.supersede(Offset{2}));
  CHECK_FALSE(t.table.supersede(Offset{3}));
  CHECK(t.due() == Offsets{1});
}

TEST_CASE("a hot key that fails as a whole comes back as a whole", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s}, std::string(20'000, 'a'));
  t.lease(20'000);
  t.now += 30s;
  t.expire();
  CHECK(t.count(State::blocked) == 19'999);
  for (std::uint64_t offset = 0; offset < 20'000; ++offset) {
    REQUIRE(t.due(2) == Offsets{offset});
    t.redeliver(offset);
    t.ack(offset, 1);
  }
  CHECK(t.committed() == 20'000);
}

TEST_CASE("the table gives back what only failures need", "[delivery]") {
  TableUnderTest t({}, "ab");
  t.lease(2);
  t.nack(0);
  t.redeliver(0);
  t.ack(0, 1);
  t.ack(1);
  CHECK(t.table.failure(Offset{0}) == nullptr);
  CHECK_FALSE(t.table.tracks_keys());
  CHECK(t.table.earliest_event() == Instant::max());
}
