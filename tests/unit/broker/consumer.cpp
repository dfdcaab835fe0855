#include <brook/broker/consumer.hpp>

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

using brook::Duration;
using brook::Instant;
using brook::ManualBroker;
using brook::Message;
using brook::Offset;
using brook::PartitionId;
using brook::PollLimits;
using brook::SettleResult;
using brook::Start;
using namespace std::chrono_literals;
using support::offsets;
using support::publish_all;
using support::Strings;
using support::texts;

namespace {

using Offsets = std::vector<std::uint64_t>;

/// A broker with one topic "t" and one consumer of group "g" from its start.
struct Fixture {
  ManualBroker broker;
  ManualBroker::topic_type topic;
  ManualBroker::consumer_type consumer;

  explicit Fixture(brook::SubscribeOptions options = {.group = "g", .start = Start::earliest},
                   const brook::TopicConfig& config = {})
      : topic(broker.create_topic("t", config)), consumer(broker.subscribe("t", options)) {}

  void publish(int count, std::uint32_t partition = 0) {
    for (int i = 0; i < count; ++i) {
      topic.publish({.payload = std::to_string(i), .partition = PartitionId{partition}});
    }
  }
  Instant now() { return broker.clock().now(); }
  std::uint64_t committed(std::uint32_t partition = 0) {
    return consumer.committed("t", PartitionId{partition}).value();
  }
};

}  // namespace

// ------------------------------------------------------------------------------------------- polli

TEST_CASE("A poll hands out first deliveries in offset order, up to its limits", "[broker]") {
  Fixture f;
  f.publish(10);
  CHECK(offsets(f.consumer.poll(3)) == Offsets{0, 1, 2});
  CHECK(offsets(f.consumer.poll(1)) == Offsets{3});
  CHECK(offsets(f.consumer.poll()) == Offsets{4, 5, 6, 7, 8, 9});
  CHECK(f.consumer.poll().empty());
}

TEST_CASE("The byte limit of a poll is kept but for its first message", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 2}};
  const std::string payload(1000, 'x');
  for (int i = 0; i < 6; ++i) {
    f.topic.publish({.payload = payload, .partition = PartitionId{i % 2 == 0 ? 0U : 1U}});
  }
  CHECK(f.consumer.poll(PollLimits{.max_bytes = 0}).size() == 1);
  CHECK(f.consumer.poll(PollLimits{.max_bytes = 1}).size() == 1);
  CHECK(f.consumer.poll(PollLimits{.max_bytes = 2500}).size() == 2);
  CHECK(f.consumer.poll(PollLimits{.max_bytes = 1'000'000}).size() == 2);
}

TEST_CASE("Polls of one message take the partitions in turn", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 3}};
  for (std::uint32_t id = 0; id < 3; ++id) f.publish(4, id);
  std::map<std::uint32_t, int> counts;
  for (int i = 1; i <= 12; ++i) {
    const auto batch = f.consumer.poll(1);
    REQUIRE(batch.size() == 1);
    ++counts[batch[0].partition().value()];
    for (const auto& [partition, count] : counts) CHECK(count <= (i + 2) / 3);
  }
}

TEST_CASE("A partition with many messages does not keep the others waiting", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 3}};
  f.publish(1000, 0);
  f.publish(2, 1);
  f.publish(2, 2);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 3; ++i) {
    for (const auto& delivery : f.consumer.poll(10)) seen.insert(delivery.partition().value());
  }
  CHECK(seen.size() == 3);
}

TEST_CASE("What is due again comes before what is new, each in offset order", "[broker]") {
  Fixture f;
  f.publish(4);
  const auto first = f.consumer.poll(4);
  f.consumer.nack(first[2], {.delay = Duration{0s}});
  f.consumer.nack(first[0], {.delay = Duration{0s}});
  f.publish(2);
  const auto batch = f.consumer.poll();
  CHECK(offsets(batch) == Offsets{0, 2, 4, 5});
  CHECK(batch[0].number() == 2);
  CHECK(batch[2].number() == 1);
}

TEST_CASE("A poll never waits if something is deliverable", "[broker]") {
  Fixture f;
  f.publish(1);
  CHECK(f.consumer.poll(10, 1h).size() == 1);
  CHECK(f.now() == Instant{});
  f.publish(3);
  CHECK(f.consumer.poll(2, Duration::max()).size() == 2);
  CHECK(f.consumer.poll(2, Duration::max()).size() == 1);
  CHECK(f.now() == Instant{});
}

TEST_CASE("A poll without timeout never waits and never moves the clock", "[broker]") {
  Fixture f;
  f.publish(1);
  const auto held = f.consumer.poll();
  for (int i = 0; i < 3; ++i) CHECK(f.consumer.poll(10).empty());
  CHECK(f.now() == Instant{});
}

TEST_CASE("A poll that finds nothing ends exactly at its timeout", "[broker]") {
  Fixture f;
  CHECK(f.consumer.poll(10, 250ms).empty());
  CHECK(f.now() == Instant{250ms});
  CHECK(f.consumer.poll(10, 1ns).empty());
  CHECK(f.now() == Instant{250ms + 1ns});
}

TEST_CASE("A poll ends exactly when a backoff ends", "[broker]") {
  Fixture f;
  f.publish(1);
  std::vector<std::chrono::milliseconds> waits;
  Instant before = f.now();
  for (int i = 0; i < 5; ++i) {
    const auto batch = f.consumer.poll(10, 1h);
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].number() == static_cast<std::uint32_t>(i + 1));
    waits.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(f.now() - before));
    before = f.now();
    f.consumer.nack(batch[0]);
  }
  CHECK(waits == std::vector{0ms, 100ms, 200ms, 400ms, 800ms});
  CHECK(f.broker.dead_letters("g").size() == 1);
}

TEST_CASE("A poll ends exactly when a delay of a nack ends", "[broker]") {
  Fixture f;
  f.publish(1);
  f.consumer.nack(support::take(f.consumer), {.delay = Duration{1234ms}});
  CHECK(f.consumer.poll(10, 1233ms).empty());
  CHECK(f.consumer.poll(10, 1h).size() == 1);
  CHECK(f.now() == Instant{1234ms});
}

TEST_CASE("A poll ends exactly when a lease ends", "[broker]") {
  Fixture f;
  f.publish(2);
  const auto held = f.consumer.poll(1);
  f.broker.clock().advance(10s);
  const auto later = f.consumer.poll(1);
  const auto batch = f.consumer.poll(10, 1h);
  CHECK(offsets(batch) == Offsets{0});
  CHECK(batch[0].number() == 2);
  CHECK(f.now() == Instant{30s});
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{1});
  CHECK(f.now() == Instant{40s});
}

TEST_CASE("A lease never ends before its deadline", "[broker]") {
  Fixture f;
  f.publish(1);
  const auto held = f.consumer.poll();
  f.broker.clock().advance(30s - 1ns);
  CHECK(f.consumer.poll().empty());
  CHECK(held[0].live());
  f.broker.clock().advance(1ns);
  CHECK_FALSE(held[0].live());
  CHECK(f.consumer.poll().size() == 1);
}

TEST_CASE("Events of other groups do not end a poll, nor do they lengthen it", "[broker]") {
  Fixture f;
  auto other = f.broker.subscribe("t", {.group = "other", .start = Start::earliest});
  f.broker.create_topic("aging", {.retention = {.max_age = 7s}}).publish({.payload = "x"});
  f.publish(1);
  const auto theirs = other.poll();
  f.broker.clock().advance(5s);
  const auto mine = f.consumer.poll();
  REQUIRE(mine.size() == 1);
  CHECK(f.consumer.poll(10, 1h).size() == 1);
  CHECK(f.now() == Instant{35s});
  CHECK(f.broker.topic("aging").info().partitions[0].messages == 0);
}

TEST_CASE("A poll ends when due work of another group brings something", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}};
  auto operators =
      f.broker.subscribe("__dead_letter.g", {.group = "operators", .start = Start::earliest});
  f.publish(1);
  const auto held = f.consumer.poll();
  const auto batch = operators.poll(10, 1h);
  CHECK(texts(batch) == Strings{"0"});
  CHECK(f.now() == Instant{30s});
}

TEST_CASE("A poll that waits is told of messages though an earlier lease has ended by ack",
          "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .ack_deadline = 20s, .max_deliveries = 1}};
  auto operators =
      f.broker.subscribe("__dead_letter.g", {.group = "operators", .start = Start::earliest});
  f.publish(3);
  f.consumer.reject(support::take(f.consumer, 1), "");
  const auto first = operators.poll(1);  // until 30 s
  f.broker.clock().advance(9s);
  f.consumer.reject(support::take(f.consumer, 1), "");
  const auto second = operators.poll(1);  // until 39 s
  operators.ack(first);
  f.broker.clock().advance(8s);
  const auto third = f.consumer.poll(1);  // until 37 s
  f.broker.clock().advance(14s);
  REQUIRE(f.now() == Instant{31s});
  CHECK(texts(operators.poll(1, 1h)) == Strings{"2"});
  CHECK(f.now() == Instant{37s});
}

TEST_CASE("An endless poll on a manual clock with nothing scheduled is refused", "[broker]") {
  Fixture f;
  CHECK_THROWS_AS(f.consumer.poll(10, Duration::max()), brook::EndlessWait);
  CHECK(f.now() == Instant{});
  f.publish(1);
  CHECK(f.consumer.poll(10, Duration::max()).size() == 1);
  // The end of the lease is scheduled.
  CHECK(f.consumer.poll(10, Duration::max()).size() == 1);
  CHECK(f.now() == Instant{30s});
}

TEST_CASE("A poll for nothing or into the past is refused", "[broker]") {
  Fixture f;
  CHECK_THROWS_AS(f.consumer.poll(0), brook::InvalidArgument);
  CHECK_THROWS_AS(f.consumer.poll(1, -1ns), brook::InvalidArgument);
}

TEST_CASE("A member holds at most max_outstanding_messages, over all partitions", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_outstanding_messages = 3},
            {.partitions = 2}};
  f.publish(4, 0);
  f.publish(4, 1);
  const auto held = f.consumer.poll();
  REQUIRE(held.size() == 3);
  CHECK(f.consumer.poll(10, 1s).empty());
  f.consumer.ack(held[0]);
  CHECK(f.consumer.poll().size() == 1);
  CHECK(f.consumer.poll().empty());
  f.consumer.nack(held[1], {.delay = Duration{1h}});
  CHECK(f.consumer.poll().size() == 1);
  CHECK(f.consumer.poll().empty());
  // At the end of the leases all slots are free, and taken again.
  f.broker.clock().advance(1min);
  CHECK(f.consumer.poll().size() == 3);
}

TEST_CASE("A slot that gets free lets a partition go on whose failed message waited for it",
          "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_outstanding_messages = 1},
            {.partitions = 2}};
  f.publish(1, 0);
  const auto first = f.consumer.poll();
  REQUIRE(first.size() == 1);
  f.consumer.nack(first[0], {.delay = Duration{1s}});
  f.publish(1, 1);
  const auto second = f.consumer.poll();
  REQUIRE(second.size() == 1);
  // Due, but there is no slot: a wait must not make anybody forget it.
  CHECK(f.consumer.poll(10, 2s).empty());
  CHECK(f.now() == Instant{2s});
  f.consumer.ack(second[0]);
  CHECK(f.consumer.poll().size() == 1);
}

TEST_CASE("At least one message passes max_outstanding_bytes", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_outstanding_bytes = 100}};
  f.topic.publish({.payload = std::string(1000, 'x')});
  f.publish(1);
  const auto held = f.consumer.poll();
  CHECK(held.size() == 1);
  CHECK(f.consumer.poll().empty());
  f.consumer.ack(held);
  CHECK(f.consumer.poll().size() == 1);
}

TEST_CASE("Nothing at or above committed + max_ack_window is handed out", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_ack_window = 3}};
  f.publish(10);
  const auto held = f.consumer.poll();
  CHECK(offsets(held) == Offsets{0, 1, 2});
  f.consumer.ack(held[1]);
  f.consumer.ack(held[2]);
  CHECK(f.consumer.poll(10, 1s).empty());
  f.consumer.reject(held[0], "the way out");
  CHECK(offsets(f.consumer.poll()) == Offsets{3, 4, 5});
}

TEST_CASE("At most once settles what it hands out", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .guarantee = brook::Guarantee::at_most_once}};
  f.publish(3);
  const auto batch = f.consumer.poll(2);
  REQUIRE(batch.size() == 2);
  CHECK(f.committed() == 2);
  CHECK(f.consumer.ack(batch[0]) == SettleResult::already_settled);
  CHECK(f.consumer.nack(batch[0]) == SettleResult::already_settled);
  CHECK(f.consumer.reject(batch[0], "") == SettleResult::already_settled);
  CHECK(f.consumer.extend(batch[0], 1s) == SettleResult::already_settled);
  f.broker.clock().advance(1h);
  CHECK(offsets(f.consumer.poll()) == Offsets{2});
  CHECK(f.broker.next_event_time() == Instant::max());
}

// ------------------------------------------------------------------------------------------ settli

TEST_CASE("Everything is settled by delivery and by receipt alike", "[broker]") {
  const bool by_receipt = GENERATE(false, true);
  Fixture f;
  f.publish(4);
  const auto batch = f.consumer.poll();
  REQUIRE(batch.size() == 4);
  auto& c = f.consumer;
  const auto settle = [&](std::size_t at, auto call) {
    return by_receipt ? call(batch[at].receipt()) : call(batch[at]);
  };
  CHECK(settle(0, [&](const auto& d) { return c.ack(d); }) == SettleResult::applied);
  CHECK(settle(0, [&](const auto& d) { return c.ack(d); }) == SettleResult::already_settled);
  CHECK(settle(1, [&](const auto& d) { return c.nack(d); }) == SettleResult::applied);
  CHECK(settle(1, [&](const auto& d) { return c.nack(d); }) == SettleResult::lease_lost);
  CHECK(settle(2, [&](const auto& d) { return c.reject(d, "no"); }) == SettleResult::applied);
  CHECK(settle(2, [&](const auto& d) { return c.reject(d, "no"); }) ==
        SettleResult::already_settled);
  CHECK(settle(3, [&](const auto& d) { return c.extend(d, 1min); }) == SettleResult::applied);
  CHECK(f.committed() == 1);
  CHECK(f.broker.dead_letters("g").size() == 1);
  f.broker.clock().advance(59s);
  CHECK(batch[3].live());
  f.broker.clock().advance(1s);
  CHECK_FALSE(batch[3].live());
}

TEST_CASE("Acking a batch settles what is still on lease, over all partitions", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 3}};
  for (std::uint32_t id = 0; id < 3; ++id) f.publish(3, id);
  const auto batch = f.consumer.poll();
  REQUIRE(batch.size() == 9);
  f.consumer.ack(batch[1]);
  f.consumer.nack(batch[5], {.delay = Duration{1h}});
  f.topic.trim(PartitionId{0}, Offset{1});
  const auto counts = f.consumer.ack(batch);
  CHECK(counts.applied == 6);
  CHECK(counts.lease_lost == 1);
  CHECK(counts.already_settled + counts.below_start == 2);
  CHECK(f.consumer.ack(batch).applied == 0);
  CHECK(f.consumer.ack(brook::Batch{}) == brook::SettleCounts{});
}

TEST_CASE("Out-of-order acks move the position when the gap closes", "[broker]") {
  Fixture f;
  f.publish(4);
  const auto batch = f.consumer.poll();
  f.consumer.ack(batch[3]);
  f.consumer.ack(batch[1]);
  CHECK(f.committed() == 0);
  f.consumer.ack(batch[0]);
  CHECK(f.committed() == 2);
  f.consumer.ack(batch[2]);
  CHECK(f.committed() == 4);
}

TEST_CASE("A delivery of another group is foreign, as delivery, receipt and batch", "[broker]") {
  Fixture f;
  auto other = f.broker.subscribe("t", {.group = "other", .start = Start::earliest});
  f.publish(2);
  const auto mine = f.consumer.poll();
  const auto theirs = other.poll();
  CHECK_THROWS_AS(f.consumer.ack(theirs[0]), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.ack(theirs[0].receipt()), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.ack(theirs), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.nack(theirs[0]), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.nack(theirs[0].receipt()), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.reject(theirs[0], ""), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.reject(theirs[0].receipt(), ""), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.extend(theirs[0], 1s), brook::ForeignDelivery);
  CHECK_THROWS_AS(f.consumer.extend(theirs[0].receipt(), 1s), brook::ForeignDelivery);
  CHECK(other.ack(theirs).applied == 2);
  CHECK(f.consumer.ack(mine).applied == 2);
}

TEST_CASE("A receipt of a group that was deleted and made again is foreign", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  topic.publish({.payload = "x"});
  brook::Receipt old;
  {
    auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
    old = support::take(consumer);
  }
  broker.delete_group("g");
  auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  const auto batch = consumer.poll();
  CHECK(batch[0].number() == 1);
  CHECK_THROWS_AS(consumer.ack(old), brook::ForeignDelivery);
  CHECK(consumer.ack(batch[0]) == SettleResult::applied);
}

TEST_CASE("A negative delay or extension is refused and changes nothing", "[broker]") {
  Fixture f;
  f.publish(1);
  const auto batch = f.consumer.poll();
  const auto receipt = batch[0].receipt();
  CHECK_THROWS_AS(f.consumer.nack(batch[0], {.delay = Duration{-1ns}}), brook::InvalidArgument);
  CHECK_THROWS_AS(f.consumer.nack(receipt, {.delay = Duration{-1ns}}), brook::InvalidArgument);
  CHECK_THROWS_AS(f.consumer.extend(batch[0], -1ns), brook::InvalidArgument);
  CHECK_THROWS_AS(f.consumer.extend(receipt, -1ns), brook::InvalidArgument);
  CHECK(f.consumer.ack(receipt) == SettleResult::applied);
}

TEST_CASE("An extended lease ends at its new deadline, which may be earlier", "[broker]") {
  Fixture f;
  f.publish(2);
  const auto batch = f.consumer.poll();
  CHECK(f.consumer.extend(batch[0], 5s) == SettleResult::applied);
  CHECK(f.consumer.extend(batch[1], 1min) == SettleResult::applied);
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{0});
  CHECK(f.now() == Instant{5s});
  f.broker.clock().advance(1ns);
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{0});
  CHECK(f.now() == Instant{35s});
  CHECK(offsets(f.consumer.poll(10, 24s)).empty());
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{1});
  CHECK(f.now() == Instant{1min});
}

TEST_CASE("Extending by zero gives back at once, uncharged", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}};
  f.publish(1);
  for (int i = 0; i < 5; ++i) {
    const auto batch = f.consumer.poll();
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].number() == 1);
    CHECK(f.consumer.extend(batch[0], 0s) == SettleResult::applied);
    CHECK(f.consumer.ack(batch[0]) == SettleResult::lease_lost);
  }
  CHECK(f.broker.dead_letters("g").empty());
}

TEST_CASE("Extending reaches no further than max_lease", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_lease = 1min}};
  f.publish(1);
  const auto batch = f.consumer.poll();
  f.broker.clock().advance(20s);
  CHECK(f.consumer.extend(batch[0], 1h) == SettleResult::applied);
  f.broker.clock().advance(40s - 1ns);
  CHECK(batch[0].live());
  f.broker.clock().advance(1ns);
  CHECK_FALSE(batch[0].live());
}

TEST_CASE("A lease that ended by its deadline may be acked until it is handed out again",
          "[broker]") {
  Fixture f;
  f.publish(2);
  const auto batch = f.consumer.poll();
  f.broker.clock().advance(30s);
  CHECK(f.consumer.nack(batch[0]) == SettleResult::lease_lost);
  CHECK(f.consumer.reject(batch[0], "") == SettleResult::lease_lost);
  CHECK(f.consumer.extend(batch[0], 1s) == SettleResult::lease_lost);
  CHECK(f.consumer.ack(batch[0]) == SettleResult::applied);
  const auto again = f.consumer.poll();
  CHECK(offsets(again) == Offsets{1});
  CHECK(f.consumer.ack(batch[1]) == SettleResult::lease_lost);
  CHECK(f.consumer.ack(again[0]) == SettleResult::applied);
}

TEST_CASE("A delivery is live until it is settled, ends or is taken back", "[broker]") {
  Fixture f;
  f.topic.publish({.key = "k", .payload = "0"});
  f.topic.publish({.key = "k", .payload = "1"});
  f.topic.publish({.key = "k", .payload = "2"});
  const auto batch = f.consumer.poll();
  for (const auto& delivery : batch) CHECK(delivery.live());
  f.consumer.ack(batch[0]);
  CHECK_FALSE(batch[0].live());
  f.consumer.nack(batch[1]);
  CHECK_FALSE(batch[1].live());
  CHECK_FALSE(batch[2].live());
  CHECK(f.consumer.ack(batch[2]) == SettleResult::lease_lost);
}

TEST_CASE("A failure holds back its key and nothing else", "[broker]") {
  Fixture f;
  for (const char* const key : {"a", "b", "a", "b"}) f.topic.publish({.key = key, .payload = key});
  f.topic.publish({.payload = "none"});
  const auto batch = f.consumer.poll();
  f.consumer.nack(batch[0]);
  CHECK(f.consumer.ack(batch[1]) == SettleResult::applied);
  CHECK(f.consumer.ack(batch[2]) == SettleResult::lease_lost);
  CHECK(f.consumer.ack(batch[3]) == SettleResult::applied);
  CHECK(f.consumer.ack(batch[4]) == SettleResult::applied);
  f.topic.publish({.key = "a", .payload = "later"});
  CHECK(f.consumer.poll().empty());
  const auto again = f.consumer.poll(10, 1h);
  CHECK(offsets(again) == Offsets{0});
  CHECK(f.now() == Instant{100ms});
  CHECK(f.consumer.poll().empty());
  f.consumer.ack(again[0]);
  // What was handed out before goes first, alone; then what was not.
  CHECK(support::consume(f.consumer) == Strings{"a"});
  CHECK(support::consume(f.consumer) == Strings{"later"});
}

TEST_CASE("What waits for a key is handed out once the key is free, also after a wait",
          "[broker]") {
  Fixture f;
  f.topic.publish({.key = "a", .payload = "0"});
  f.topic.publish({.key = "a", .payload = "1"});
  f.consumer.nack(support::take(f.consumer), {.delay = Duration{0s}});
  const auto again = f.consumer.poll();
  REQUIRE(offsets(again) == Offsets{0});
  CHECK(f.consumer.poll(10, 1s).empty());
  f.consumer.ack(again[0]);
  CHECK(offsets(f.consumer.poll()) == Offsets{1});
}

TEST_CASE("What waits for a key is handed out once what held it is trimmed", "[broker]") {
  Fixture f;
  f.topic.publish({.key = "a", .payload = "0"});
  f.topic.publish({.key = "a", .payload = "1"});
  f.consumer.nack(support::take(f.consumer), {.delay = Duration{1h}});
  CHECK(f.consumer.poll(10, 1s).empty());
  f.topic.trim(PartitionId{0}, Offset{1});
  CHECK(offsets(f.consumer.poll()) == Offsets{1});
}

TEST_CASE("What is due at once after a nack is found by the next poll, also after a wait",
          "[broker]") {
  Fixture f;
  f.publish(2);
  const auto batch = f.consumer.poll();
  CHECK(f.consumer.poll(10, 1s).empty());
  f.consumer.nack(batch[0], {.delay = Duration{0s}});
  CHECK(f.consumer.extend(batch[1], 0s) == SettleResult::applied);
  CHECK(offsets(f.consumer.poll()) == Offsets{0, 1});
}

// ------------------------------------------------------------------------------------ seek and pau

TEST_CASE("A seek back hands out again, and makes older deliveries stale", "[broker]") {
  Fixture f;
  f.publish(3);
  const auto batch = f.consumer.poll();
  f.consumer.ack(batch[0]);
  f.consumer.ack(batch[1]);
  f.consumer.seek(Start::earliest);
  CHECK(f.committed() == 0);
  CHECK(f.consumer.ack(batch[2]) == SettleResult::stale);
  CHECK(f.consumer.ack(batch[0].receipt()) == SettleResult::stale);
  CHECK(f.consumer.ack(batch).stale == 3);
  CHECK_FALSE(batch[2].live());
  const auto again = f.consumer.poll();
  CHECK(offsets(again) == Offsets{0, 1, 2});
  CHECK(again[0].number() == 1);
  CHECK(f.consumer.ack(batch[0]) == SettleResult::stale);
  CHECK(f.consumer.ack(again).applied == 3);
}

TEST_CASE("A seek forward settles what it skips", "[broker]") {
  Fixture f;
  f.publish(5);
  const auto held = f.consumer.poll(2);
  f.consumer.seek(Start::at_offset(Offset{4}));
  CHECK(f.committed() == 4);
  CHECK(offsets(f.consumer.poll()) == Offsets{4});
  f.consumer.seek(Start::latest);
  CHECK(f.committed() == 5);
  CHECK(f.consumer.poll().empty());
  CHECK(f.consumer.take_losses().empty());
  CHECK(f.broker.lag("g").stats().lost == 0);
}

TEST_CASE("A seek frees slots, retries and keys", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_outstanding_messages = 2}};
  for (int i = 0; i < 3; ++i) f.topic.publish({.key = "k", .payload = "x"});
  const auto batch = f.consumer.poll();
  f.consumer.nack(batch[0], {.delay = Duration{1h}});
  CHECK(f.consumer.poll().empty());
  f.consumer.seek(Start::earliest);
  const auto again = f.consumer.poll();
  CHECK(offsets(again) == Offsets{0, 1});
  CHECK(again[0].number() == 1);
  f.broker.clock().advance(29s);
  CHECK(again[0].live());
}

TEST_CASE("A seek of one partition leaves the others alone", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 2}};
  f.publish(3, 0);
  f.publish(3, 1);
  const auto batch = f.consumer.poll();
  f.consumer.seek("t", PartitionId{1}, Start::at_offset(Offset{2}));
  CHECK(f.committed(1) == 2);
  for (const auto& delivery : batch) {
    CHECK(f.consumer.ack(delivery) ==
          (delivery.partition() == PartitionId{1} ? SettleResult::stale : SettleResult::applied));
  }
  CHECK(f.committed(0) == 3);
  CHECK(offsets(f.consumer.poll()) == Offsets{2});
}

TEST_CASE("A seek to a time goes to the first message at or after it", "[broker]") {
  Fixture f;
  for (int i = 0; i < 4; ++i) {
    f.publish(1);
    f.broker.clock().advance(1min);
  }
  f.consumer.seek(Start::at_time(f.broker.clock().wall_now() - 2min));
  CHECK(f.committed() == 2);
  f.consumer.seek(Start::at_time(f.broker.clock().wall_now() - 2min - 1ms));
  CHECK(f.committed() == 2);
  f.consumer.seek(Start::at_time(f.broker.clock().wall_now()));
  CHECK(f.committed() == 4);
}

TEST_CASE("A seek that one partition cannot do moves none", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 3}};
  f.publish(5, 0);
  f.publish(5, 1);
  f.publish(2, 2);
  const auto batch = f.consumer.poll();
  CHECK_THROWS_AS(f.consumer.seek(Start::at_offset(Offset{3})), brook::OffsetOutOfRange);
  CHECK(f.consumer.ack(batch).applied == 12);
  f.topic.trim(PartitionId{1}, Offset{4});
  CHECK_THROWS_AS(f.consumer.seek(Start::at_offset(Offset{1})), brook::OffsetTooOld);
  CHECK(f.committed(0) == 5);
  CHECK_THROWS_AS(f.broker.seek("g", Start::at_offset(Offset{1})), brook::OffsetTooOld);
  CHECK(f.committed(0) == 5);
}

TEST_CASE("A seek leaves other groups alone", "[broker]") {
  Fixture f;
  auto other = f.broker.subscribe("t", {.group = "other", .start = Start::earliest});
  f.publish(2);
  const auto theirs = other.poll();
  const auto mine = f.consumer.poll();
  f.consumer.seek(Start::latest);
  CHECK(f.consumer.ack(mine).stale == 2);
  CHECK(other.ack(theirs).applied == 2);
}

TEST_CASE("Calls about a partition that is not assigned are refused", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 2}};
  f.broker.create_topic("elsewhere");
  auto& c = f.consumer;
  CHECK_THROWS_AS(c.committed("elsewhere"), brook::UnknownTopic);
  CHECK_THROWS_AS(c.committed("t", PartitionId{2}), brook::UnknownPartition);
  CHECK_THROWS_AS(c.seek("elsewhere", PartitionId{0}, Start::earliest), brook::UnknownTopic);
  CHECK_THROWS_AS(c.seek("t", PartitionId{2}, Start::earliest), brook::UnknownPartition);
  CHECK_THROWS_AS(c.pause("elsewhere", PartitionId{0}), brook::UnknownTopic);
  CHECK_THROWS_AS(c.resume("t", PartitionId{2}), brook::UnknownPartition);
}

TEST_CASE("A paused consumer gets nothing until it resumes, and its leases go on", "[broker]") {
  Fixture f;
  f.publish(3);
  const auto held = f.consumer.poll(1);
  f.consumer.pause();
  CHECK(f.consumer.poll().empty());
  CHECK(f.consumer.poll(10, 1s).empty());
  CHECK(f.now() == Instant{1s});
  CHECK(held[0].live());
  CHECK(f.consumer.ack(held[0]) == SettleResult::applied);
  f.publish(1);
  CHECK(f.consumer.poll().empty());
  f.consumer.resume();
  CHECK(f.consumer.poll().size() == 3);
}

TEST_CASE("One partition is paused apart from the others", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 2}};
  f.publish(1, 0);
  f.publish(2, 1);
  f.consumer.pause("t", PartitionId{1});
  const auto batch = f.consumer.poll();
  REQUIRE(batch.size() == 1);
  CHECK(batch[0].partition() == PartitionId{0});
  f.consumer.resume("t", PartitionId{1});
  CHECK(f.consumer.poll(10, 1h).size() == 2);
  CHECK(f.now() == Instant{});
}

TEST_CASE("Leases and dead letters of a paused partition end when they are due", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}};
  f.publish(2);
  const auto held = f.consumer.poll();
  CHECK(f.consumer.extend(held[0], 0s) == SettleResult::applied);
  f.consumer.pause();
  CHECK(f.consumer.poll().empty());
  f.broker.clock().advance(30s);
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"1"});
  CHECK(f.consumer.poll().empty());
  f.consumer.resume();
  CHECK(offsets(f.consumer.poll()) == Offsets{0});
}

TEST_CASE("A pause ends with its consumer", "[broker]") {
  Fixture f;
  f.publish(1);
  f.consumer.pause();
  f.consumer.close();
  auto next = f.broker.subscribe("t", {.group = "g", .start = Start::earliest});
  CHECK(next.poll().size() == 1);
}

TEST_CASE("A commit tells the position in every partition", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 2}};
  f.publish(2, 0);
  f.publish(1, 1);
  f.consumer.ack(f.consumer.poll());
  CHECK(f.consumer.commit() ==
        std::vector<brook::CommittedOffset>{
            {.topic = "t", .partition = PartitionId{0}, .offset = Offset{2}},
            {.topic = "t", .partition = PartitionId{1}, .offset = Offset{1}}});
}

// -------------------------------------------------------------------------------------------- loss

TEST_CASE("What trim takes is told once, as exact ranges, handed out and never handed out apart",
          "[broker]") {
  Fixture f;
  f.publish(10);
  const auto held = f.consumer.poll(4);
  f.consumer.ack(held[1]);
  f.topic.trim(PartitionId{0}, Offset{7});
  const auto losses = f.consumer.take_losses();
  REQUIRE(losses.size() == 3);
  const auto check = [&](std::size_t at, std::uint64_t first, std::uint64_t last, bool handed_out) {
    CHECK(losses[at].topic == "t");
    CHECK(losses[at].partition == PartitionId{0});
    CHECK(losses[at].range == brook::OffsetRange{.first = Offset{first}, .last = Offset{last}});
    CHECK(losses[at].handed_out == handed_out);
  };
  check(0, 0, 1, true);
  check(1, 2, 4, true);
  check(2, 4, 7, false);
  CHECK(f.consumer.take_losses().empty());
  CHECK(f.committed() == 7);
  CHECK(f.broker.lag("g").stats().lost == 6);
  CHECK(f.consumer.ack(held[0]) == SettleResult::below_start);
  CHECK(offsets(f.consumer.poll()) == Offsets{7, 8, 9});
}

TEST_CASE("Retention counts as loss only for groups that had not settled", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.retention = {.max_messages = 2}}};
  auto quick = f.broker.subscribe("t", {.group = "quick", .start = Start::earliest});
  for (int i = 0; i < 5; ++i) {
    f.publish(1);
    support::consume(quick);
  }
  CHECK(quick.take_losses().empty());
  const auto losses = f.consumer.take_losses();
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].range == brook::OffsetRange{.first = Offset{0}, .last = Offset{3}});
  CHECK_FALSE(losses[0].handed_out);
}

TEST_CASE("A slot of a message that was trimmed gets free", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_outstanding_messages = 2}};
  f.publish(4);
  const auto held = f.consumer.poll();
  f.topic.trim(PartitionId{0}, Offset{2});
  CHECK(offsets(f.consumer.poll()) == Offsets{2, 3});
  CHECK(held[0].text() == "0");
}

// --------------------------------------------------------------------------------------- membershi

TEST_CASE(
    "Leases of a consumer that closes come to the next one uncharged, its receipts are fenced",
    "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}};
  f.publish(3);
  const auto held = f.consumer.poll();
  f.consumer.ack(held[0]);
  f.consumer.close();
  f.consumer.close();
  CHECK_THROWS_AS(f.consumer.ack(held[1]), brook::Closed);
  auto next =
      f.broker.subscribe("t", {.group = "g", .start = Start::earliest, .max_deliveries = 1});
  CHECK(next.ack(held[1]) == SettleResult::fenced);
  CHECK(next.ack(held[1].receipt()) == SettleResult::fenced);
  CHECK(next.nack(held[1]) == SettleResult::fenced);
  CHECK(next.reject(held[1], "") == SettleResult::fenced);
  CHECK(next.extend(held[1], 1s) == SettleResult::fenced);
  CHECK(next.ack(held).fenced == 3);
  CHECK_FALSE(held[1].live());
  const auto again = next.poll();
  CHECK(offsets(again) == Offsets{1, 2});
  CHECK(again[0].number() == 1);
  CHECK(next.ack(held[1]) == SettleResult::fenced);
  CHECK(next.ack(again).applied == 2);
  CHECK(f.broker.dead_letters("g").empty());
}

TEST_CASE("Dropping a consumer closes it", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t").publish({.payload = "x"});
  brook::Batch held;
  {
    auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
    held = consumer.poll();
  }
  auto next = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  CHECK(next.poll().size() == 1);
  CHECK(held[0].text() == "x");
}

TEST_CASE("Every call on a closed consumer says so", "[broker]") {
  Fixture f;
  f.publish(1);
  const auto held = f.consumer.poll();
  const auto receipt = held[0].receipt();
  f.consumer.close();
  auto& c = f.consumer;
  CHECK_THROWS_AS(c.poll(), brook::Closed);
  CHECK_THROWS_AS(c.ack(held[0]), brook::Closed);
  CHECK_THROWS_AS(c.ack(receipt), brook::Closed);
  CHECK_THROWS_AS(c.ack(held), brook::Closed);
  CHECK_THROWS_AS(c.nack(receipt), brook::Closed);
  CHECK_THROWS_AS(c.reject(receipt, ""), brook::Closed);
  CHECK_THROWS_AS(c.extend(receipt, 1s), brook::Closed);
  CHECK_THROWS_AS(c.group(), brook::Closed);
  CHECK_THROWS_AS(c.commit(), brook::Closed);
  CHECK_THROWS_AS(c.committed("t"), brook::Closed);
  CHECK_THROWS_AS(c.seek(Start::earliest), brook::Closed);
  CHECK_THROWS_AS(c.seek("t", PartitionId{0}, Start::earliest), brook::Closed);
  CHECK_THROWS_AS(c.pause(), brook::Closed);
  CHECK_THROWS_AS(c.resume(), brook::Closed);
  CHECK_THROWS_AS(c.take_losses(), brook::Closed);
}

TEST_CASE("A consumer is moved while its batches live; what it was moved from is closed",
          "[broker]") {
  Fixture f;
  f.publish(2);
  const auto held = f.consumer.poll();
  auto moved = std::move(f.consumer);
  CHECK(moved.group() == "g");
  CHECK(moved.ack(held[0]) == SettleResult::applied);
  CHECK_THROWS_AS(f.consumer.poll(), brook::Closed);  // NOLINT(*-use-after-move)
  f.consumer.close();
  CHECK(moved.ack(held[1]) == SettleResult::applied);
  f.publish(1);
  CHECK(moved.poll().size() == 1);
}

TEST_CASE("Assigning to a consumer closes what it was", "[broker]") {
  Fixture f;
  auto other = f.broker.subscribe("t", {.group = "other", .start = Start::earliest});
  f.publish(1);
  f.consumer = std::move(other);
  CHECK(f.consumer.group() == "other");
  CHECK_NOTHROW(f.broker.delete_group("g"));
  CHECK(f.consumer.poll().size() == 1);
  auto& same = f.consumer;
  f.consumer = std::move(same);
  CHECK(f.consumer.group() == "other");
}

TEST_CASE("Batches outlive consumer, topic and broker", "[broker]") {
  auto broker = std::make_unique<ManualBroker>();
  brook::Batch held;
  std::optional<ManualBroker::consumer_type> consumer;
  {
    auto topic = broker->create_topic("t", {.partitions = 2});
    for (int i = 0; i < 100; ++i) topic.publish({.payload = std::string(100, 'x')});
    consumer.emplace(broker->subscribe("t", {.group = "g", .start = Start::earliest}));
    held = consumer->poll();
    topic.trim(PartitionId{0}, topic.end(PartitionId{0}));
  }
  broker->delete_topic("t");
  for (const auto& delivery : held) CHECK(delivery.text() == std::string(100, 'x'));
  CHECK(consumer->ack(held[0]) == SettleResult::stale);
  CHECK(consumer->ack(held[0].receipt()) == SettleResult::stale);
  broker.reset();
  CHECK_THROWS_AS(consumer->ack(held[0]), brook::Closed);
  CHECK_THROWS_AS(consumer->poll(), brook::Closed);
  CHECK_FALSE(held[1].live());
  consumer.reset();
  CHECK(held.size() == 100);
  CHECK(held[99].text() == std::string(100, 'x'));
  CHECK(held[99].topic() == "t");
}

TEST_CASE("Batches and handles outlive a clock of the caller's", "[broker]") {
  auto clock = std::make_unique<brook::ManualClock>();
  auto broker = std::make_unique<ManualBroker>(*clock);
  auto topic = broker->create_topic("t");
  auto consumer = broker->subscribe("t", {.group = "g", .start = Start::earliest});
  topic.publish({.payload = "x"});
  const auto held = consumer.poll();
  broker.reset();
  clock.reset();
  CHECK_FALSE(held[0].live());
  CHECK_THROWS_AS(consumer.poll(10, 1s), brook::Closed);
  CHECK_THROWS_AS(topic.publish({.payload = "x"}), brook::Closed);
  consumer.close();
}

// -------------------------------------------------------------------------------- several threads

namespace {

/// Runs @p waiting in a thread and @p waking beside it; whichever comes first, the wait must end.
template <class Waiting, class Waking>
void beside(Waiting waiting, Waking waking) {
  std::thread thread(waiting);
  waking();
  thread.join();
}

template <class Broker>
void check_close_wakes(Broker& broker) {
  broker.create_topic("t");
  auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  beside([&] { CHECK_THROWS_AS(consumer.poll(10, 1h), brook::Closed); }, [&] { consumer.close(); });
  auto other = broker.subscribe("t", {.group = "other", .start = Start::earliest});
  beside([&] { CHECK_THROWS_AS(other.poll(10, Duration::max()), brook::Closed); },
         [&] { broker.close(); });
}

}  // namespace

TEST_CASE("Closing a consumer or its broker wakes a poll that waits, with Closed", "[broker]") {
  for (int i = 0; i < 20; ++i) {
    brook::Broker system;
    check_close_wakes(system);
    brook::ManualClock clock{brook::ManualClock::Waiting::blocking};
    ManualBroker manual{clock};
    check_close_wakes(manual);
  }
}

TEST_CASE("A publish, a new topic and a resume each wake a poll that waits", "[broker]") {
  for (int i = 0; i < 20; ++i) {
    brook::Broker broker;
    auto topic = broker.create_topic("t.a");
    auto consumer = broker.subscribe("t.*", {.group = "g", .start = Start::latest});
    const auto check_woken = [&](auto waking) {
      brook::Batch batch;
      beside([&] { batch = consumer.poll(10, 1h); }, waking);
      CHECK_FALSE(batch.empty());
      consumer.ack(batch);
    };
    check_woken([&] { topic.publish({.payload = "x"}); });
    check_woken([&] { topic.publish(std::vector<Message>(2)); });
    check_woken([&] { broker.create_topic("t.b").publish({.payload = "x"}); });
    consumer.pause();
    topic.publish({.payload = "x"});
    check_woken([&] { consumer.resume(); });
  }
}

TEST_CASE("A settle call in another thread wakes a poll that waits for it", "[broker]") {
  for (int i = 0; i < 20; ++i) {
    brook::Broker broker;
    auto topic = broker.create_topic("t");
    auto consumer = broker.subscribe(
        "t", {.group = "g", .start = Start::earliest, .max_outstanding_messages = 1});
    topic.publish({.key = "k", .payload = "0"});
    topic.publish({.key = "k", .payload = "1"});
    auto held = consumer.poll();
    REQUIRE(held.size() == 1);
    brook::Batch next;
    beside([&] { next = consumer.poll(1, 1h); }, [&] { consumer.ack(held[0]); });
    REQUIRE(next.size() == 1);
    beside([&] { held = consumer.poll(1, 1h); },
           [&] { consumer.nack(next[0].receipt(), {.delay = Duration{0s}}); });
    REQUIRE(held.size() == 1);
    CHECK(held[0].offset() == Offset{1});
    beside([&] { next = consumer.poll(1, 1h); },
           [&] { CHECK(consumer.extend(held[0].receipt(), 0s) == SettleResult::applied); });
    REQUIRE(next.size() == 1);
    beside([&] { held = consumer.poll(1, 1h); }, [&] { consumer.seek(Start::earliest); });
    REQUIRE(held.size() == 1);
    CHECK(held[0].offset() == Offset{0});
  }
}

TEST_CASE("Under a blocking manual clock a wait ends by publish or by moving the clock",
          "[broker]") {
  for (int i = 0; i < 20; ++i) {
    brook::ManualClock clock{brook::ManualClock::Waiting::blocking};
    ManualBroker broker{clock};
    auto topic = broker.create_topic("t");
    auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
    brook::Batch held;
    beside([&] { held = consumer.poll(1, 1h); }, [&] { topic.publish({.payload = "x"}); });
    REQUIRE(held.size() == 1);
    brook::Batch again;
    beside([&] { again = consumer.poll(1, Duration::max()); }, [&] { clock.advance(30s); });
    REQUIRE(again.size() == 1);
    CHECK(again[0].number() == 2);
  }
}
