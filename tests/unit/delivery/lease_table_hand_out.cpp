#include <brook/delivery/lease_table_hand_out.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

#include "support/catch.hpp"
#include "support/lease_table.hpp"

using namespace std::chrono_literals;
using brook::Duration;
using brook::Instant;
using brook::Offset;
using brook::SettleResult;
using support::TableUnderTest;
using Offsets = TableUnderTest::Offsets;
using State = TableUnderTest::State;

namespace {

std::vector<brook::Loss> lose_below(TableUnderTest& t, std::uint64_t start) {
  std::vector<brook::Loss> losses;
  t.log_start = Offset{start};
  t.table.lose_below(t.log_start, losses);
  return losses;
}
brook::Loss loss(std::uint64_t first, std::uint64_t last, bool handed_out) {
  return {.range = {.first = Offset{first}, .last = Offset{last}}, .handed_out = handed_out};
}

}  // namespace

TEST_CASE("a run of first hand-outs is on lease with one deadline", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(500);
  CHECK(t.table.next() == Offset{500});
  CHECK(t.table.in_flight() == 500);
  CHECK(t.slots.messages == 500);
  CHECK(t.table.stats().deliveries == 500);
  CHECK(t.table.stats().redeliveries == 0);
  CHECK(t.table.next_event({}) == Instant{30s});
  CHECK(t.committed() == 0);
}

TEST_CASE("a redelivery has a new id, a new deadline and the number of its failures",
          "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s});
  t.lease(2);
  t.nack(1);
  t.now += 3s;
  CHECK(t.due() == Offsets{1});
  auto lease = t.redeliver(1);
  CHECK(lease.offset == Offset{1});
  CHECK(lease.attempt == 1);
  CHECK(lease.number == 2);
  CHECK(t.table.stats().redeliveries == 1);
  CHECK(t.extend(1, 0s, 1) == SettleResult::applied);
  lease = t.redeliver(1);
  CHECK(lease.attempt == 2);
  CHECK(lease.number == 2);  // giving back is not charged
  t.ack(0);
  CHECK(t.table.next_event(t.now) == Instant{33s});
}

TEST_CASE("what is due is listed by offset, as much as is asked for", "[delivery]") {
  TableUnderTest t({.ordering = brook::Ordering::none});
  t.lease(300);
  for (const std::uint64_t offset : {250U, 3U, 100U, 4U}) t.nack(offset);
  t.nack(t.receipt(7), {.delay = 1s});
  CHECK(t.due() == Offsets{3, 4, 100, 250});
  CHECK(t.due(2) == Offsets{3, 4});
  CHECK(t.due(0).empty());
  t.now += 1s;
  CHECK(t.due() == Offsets{3, 4, 7, 100, 250});
}

TEST_CASE("a gap that compaction left is settled", "[delivery]") {
  TableUnderTest t;
  t.table.pass_gap(Offset{10});
  CHECK(t.committed() == 10);
  CHECK(t.table.unsettled() == 0);
  t.lease(1);
  t.table.pass_gap(Offset{200});
  t.table.pass_gap(Offset{100});  // is behind
  CHECK(t.table.next() == Offset{200});
  CHECK(t.committed() == 10);
  CHECK(t.table.unsettled() == 1);
  CHECK(t.table.is_settled(Offset{11}));
  t.lease(1);
  t.ack(10);
  CHECK(t.committed() == 200);
}

TEST_CASE("a message for somebody else is settled without being handed out", "[delivery]") {
  TableUnderTest t;
  t.table.settle_unseen();
  CHECK(t.committed() == 1);
  t.lease(1);
  t.table.settle_unseen();
  t.lease(1);
  CHECK(t.table.in_flight() == 2);
  CHECK(t.table.stats().deliveries == 2);
  t.ack(1);
  CHECK(t.committed() == 3);
}

TEST_CASE("a message whose key is held waits, others do not", "[delivery]") {
  TableUnderTest t({}, "ababa-");
  t.lease(2);
  t.nack(0);
  CHECK(t.table.tracks_keys());
  CHECK(t.table.holds('a'));
  CHECK_FALSE(t.table.holds('b'));
  CHECK_FALSE(t.table.holds(0));
  CHECK_FALSE(t.lease_next());  // a
  CHECK(t.lease_next());        // b
  CHECK_FALSE(t.lease_next());  // a
  CHECK(t.lease_next());        // no key
  CHECK(t.due() == Offsets{0});
  CHECK(t.table.stats().deliveries == 4);
  t.redeliver(0);
  t.ack(0, 1);
  CHECK_FALSE(t.table.tracks_keys());
  // They were never handed out: they go together, for the first time.
  CHECK(t.due() == Offsets{2, 4});
  CHECK(t.redeliver(2).number == 1);
  CHECK(t.redeliver(4).attempt == 0);
  CHECK(t.table.stats().redeliveries == 1);
}

TEST_CASE("at most once settles at hand-out and needs no slot", "[delivery]") {
  TableUnderTest t({.guarantee = brook::Guarantee::at_most_once});
  t.lease(10);
  CHECK(t.lease_next());
  CHECK(t.committed() == 11);
  CHECK(t.slots.messages == 0);
  CHECK(t.table.in_flight() == 0);
  CHECK(t.table.stats().deliveries == 11);
  CHECK(t.table.stats().acked == 11);
  CHECK(t.table.next_event({}) == Instant::max());
  CHECK(t.ack(5) == SettleResult::already_settled);
}

TEST_CASE("a release gives everything back, uncharged and due at once", "[delivery]") {
  TableUnderTest t({.ack_deadline = 30s, .ordering = brook::Ordering::none});
  t.lease(4);
  t.nack(t.receipt(1), {.delay = 5s});
  t.ack(2);
  const auto before = t.receipt(0);
  t.release();
  CHECK(t.table.in_flight() == 0);
  CHECK(t.slots.messages == 0);
  CHECK(t.due() == Offsets{0, 3});
  CHECK(t.ack(before) == SettleResult::fenced);
  CHECK(t.redeliver(0).number == 1);
  CHECK(t.ack(0, 1) == SettleResult::applied);
  CHECK(t.table.stats().expired == 0);
}

TEST_CASE("what was released comes again in the order of its keys", "[delivery]") {
  TableUnderTest t({}, "aab-ba");
  t.lease(6);
  t.release();
  CHECK(t.due() == Offsets{0, 2, 3});
  t.redeliver(0);
  t.ack(0, 1);
  CHECK(t.due() == Offsets{1, 2, 3});
}

TEST_CASE("a seek voids everything, whatever state it was in", "[delivery]") {
  TableUnderTest t({.max_deliveries = 2, .max_outstanding_bytes = 1000}, "aabbccdd");
  t.lease(8, 16);
  t.ack(1);
  t.nack(2);
  t.reject(4);
  t.take_dead_letters();
  const auto before = t.receipt(0);
  t.table.seek(Offset{3});
  CHECK(t.committed() == 3);
  CHECK(t.table.next() == Offset{3});
  CHECK(t.table.unsettled() == 0);
  CHECK(t.table.in_flight() == 0);
  CHECK(t.slots.messages == 0);
  CHECK(t.slots.bytes == 0);
  CHECK_FALSE(t.table.tracks_keys());
  CHECK(t.table.next_event(t.now) == Instant::max());
  CHECK(t.ack(before) == SettleResult::stale);
  t.release();
  CHECK(t.ack(before) == SettleResult::stale);
  t.lease(2, 16);
  CHECK(t.slots.bytes == 32);
  CHECK(t.ack(3) == SettleResult::applied);
  t.table.seek(Offset{0});  // backward opens again
  t.lease(1, 16);
  CHECK(t.ack(0) == SettleResult::applied);
}

TEST_CASE("no lease has the id of another, across redelivery, release and seek", "[delivery]") {
  TableUnderTest t;
  std::vector<brook::Receipt> receipts;
  for (int life = 0; life < 3; ++life) {
    t.lease(1);
    receipts.push_back(t.receipt(0));
    for (std::uint32_t attempt = 1; attempt < 4; ++attempt) {
      t.nack(0, attempt - 1);
      receipts.push_back(t.receipt(0, t.redeliver(0).attempt));
    }
    t.release();
    receipts.push_back(t.receipt(0, t.redeliver(0).attempt));
    t.table.seek(Offset{0});
  }
  for (std::size_t i = 0; i < receipts.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) CHECK(receipts[i] != receipts[j]);
  }
}

TEST_CASE("what retention took is counted in exact ranges, split by whether it was handed out",
          "[delivery]") {
  TableUnderTest t({}, "aaaaaaaa");
  t.lease(5);
  t.ack(2);
  t.nack(3);
  CHECK_FALSE(t.lease_next());  // 5 waits
  CHECK(lose_below(t, 10) == std::vector{loss(0, 2, true), loss(3, 5, true), loss(5, 10, false)});
  CHECK(t.committed() == 10);
  CHECK(t.table.next() == Offset{10});
  CHECK(t.slots.messages == 0);
  CHECK(t.table.stats().lost == 9);
  CHECK(lose_below(t, 10).empty());
  CHECK(t.ack(9) == SettleResult::below_start);
}

TEST_CASE("losses that lie together are one range, also over several looks", "[delivery]") {
  TableUnderTest t;
  std::vector<brook::Loss> losses;
  t.lease(10);
  t.table.lose_below(Offset{3}, losses);
  t.table.lose_below(Offset{5}, losses);
  t.table.lose_below(Offset{12}, losses);
  CHECK(losses == std::vector{loss(0, 10, true), loss(10, 12, false)});
}

TEST_CASE("a trim frees the keys of what it took", "[delivery]") {
  TableUnderTest t({}, "abab");
  t.lease(2);
  t.nack(0);
  t.nack(1);
  CHECK_FALSE(t.lease_next());
  CHECK_FALSE(t.lease_next());
  CHECK(lose_below(t, 1) == std::vector{loss(0, 1, true)});
  CHECK(t.due() == Offsets{1, 2});
}

TEST_CASE("a dead letter that cannot be written is not lost, and bounds what is looked at",
          "[delivery]") {
  TableUnderTest t({.max_ack_window = 8});
  t.lease(4);
  t.reject(1);
  t.take_dead_letters();
  CHECK(lose_below(t, 100) == std::vector{loss(0, 1, true), loss(2, 4, true), loss(4, 9, false)});
  CHECK(t.committed() == 1);
  CHECK(t.table.next() == Offset{9});
  t.table.dead_letter_done(Offset{1});
  CHECK(t.committed() == 9);
  CHECK(lose_below(t, 100) == std::vector{loss(9, 100, false)});
  CHECK(t.table.stats().dead_lettered == 1);
}

TEST_CASE("bytes are counted for what is on lease, and only with a limit", "[delivery]") {
  TableUnderTest limited({.max_outstanding_bytes = 1000});
  limited.lease(3, 24);
  CHECK(limited.lease_next(40));
  CHECK(limited.slots.bytes == 112);
  limited.nack(1);
  CHECK(limited.slots.bytes == 88);
  limited.redeliver(1);
  CHECK(limited.slots.bytes == 112);
  limited.ack(3);
  CHECK(limited.slots.bytes == 72);
  lose_below(limited, 1);
  CHECK(limited.slots.bytes == 48);
  limited.release();
  CHECK(limited.slots.bytes == 0);

  TableUnderTest unlimited;
  unlimited.lease(3, 24);
  CHECK(unlimited.slots.bytes == 0);
}

TEST_CASE("deadlines that fall, because callers read the clock before their lock, end in time",
          "[delivery]") {
  TableUnderTest t({.ack_deadline = 10s});
  t.now = Instant{5s};
  t.lease(2);
  t.now = Instant{3s};
  t.lease(2);
  t.now = Instant{4s};
  t.lease(2);
  CHECK(t.table.next_event(t.now) == Instant{13s});
  CHECK(t.table.earliest_event() <= Instant{13s});
  t.now = Instant{13s};
  t.expire();
  CHECK(t.due() == Offsets{2, 3});
  t.now = Instant{14s};
  t.expire();
  CHECK(t.due() == Offsets{2, 3, 4, 5});
  CHECK(t.table.next_event(t.now) == Instant{15s});
  t.now = Instant{15s};
  t.expire();
  CHECK(t.due() == Offsets{0, 1, 2, 3, 4, 5});
  CHECK(t.table.stats().expired == 6);
}
