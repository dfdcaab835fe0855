#include <brook/broker/group_state.hpp>

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

using brook::Instant;
using brook::ManualBroker;
using brook::Offset;
using brook::PartitionId;
using brook::SettleResult;
using brook::Start;
using namespace std::chrono_literals;
using support::consume;
using support::offsets;
using support::Strings;
using support::texts;

namespace {

using Policies = brook::InMemory<brook::ManualClock>;
using State = brook::detail::BrokerState<Policies>;

/// A broker from inside.
struct Inside {
  brook::ManualClock clock;
  std::shared_ptr<State> broker = std::make_shared<State>(clock, nullptr, brook::BrokerOptions{});

  ~Inside() { broker->close(); }

  /// A poll that is about to wait.
  std::size_t collect(const std::pair<State::Group, std::uint64_t>& member) {
    brook::detail::BatchState batch;
    member.first->collect(batch, {.messages = 100, .bytes = 1 << 20}, clock.now(), member.second,
                          true);
    return batch.size();
  }
  static std::size_t armed(const State::Topic& topic) BROOK_NO_THREAD_SAFETY_ANALYSIS {
    return topic->partition(PartitionId{0}).armed.size();
  }
};

}  // namespace

TEST_CASE("Progress of redrives knows what is left behind", "[broker]") {
  brook::detail::RedriveProgress progress{.next = Offset{10}, .skipped = {}};
  CHECK(progress.begin() == Offset{10});
  CHECK(progress.has_redriven(Offset{9}));
  CHECK_FALSE(progress.has_redriven(Offset{10}));
  progress.skipped = {Offset{3}, Offset{5}};
  CHECK(progress.begin() == Offset{3});
  CHECK(progress.has_redriven(Offset{2}));
  CHECK_FALSE(progress.has_redriven(Offset{3}));
  CHECK(progress.has_redriven(Offset{4}));
  CHECK_FALSE(progress.has_redriven(Offset{5}));
}

// -------------------------------------------------------------------------------- who tells whom

TEST_CASE("A group that waits is told of the next message once, and costs publishers nothing then",
          "[broker]") {
  Inside inside;
  const auto topic = inside.broker->create_topic("t", {});
  std::vector<std::pair<State::Group, std::uint64_t>> members;
  for (int i = 0; i < 5; ++i) {
    members.push_back(inside.broker->subscribe(
        "t", {.group = "g" + std::to_string(i), .start = Start::earliest}));
  }
  for (const auto& member : members) CHECK(inside.collect(member) == 0);
  CHECK(inside.armed(topic) == 5);
  topic->publish({.payload = "0"});
  CHECK(inside.armed(topic) == 0);
  for (int i = 1; i < 10; ++i) topic->publish({.payload = "x"});
  CHECK(inside.armed(topic) == 0);
  for (const auto& member : members) CHECK(inside.collect(member) == 10);
}

TEST_CASE("A group that looks again and again while nothing is published asks once", "[broker]") {
  Inside inside;
  const auto topic = inside.broker->create_topic("t", {});
  const auto member =
      inside.broker->subscribe("t", {.group = "g", .start = Start::earliest, .max_deliveries = 50});
  topic->publish({.key = "k", .payload = "x"});
  for (int i = 0; i < 10; ++i) {
    CHECK(inside.collect(member) == 1);
    CHECK(inside.collect(member) == 0);
    CHECK(inside.armed(topic) == 1);
    inside.clock.advance(30s);
  }
  topic->publish({.key = "other", .payload = "x"});
  CHECK(inside.armed(topic) == 0);
  CHECK(inside.collect(member) == 2);
}

TEST_CASE("A group that is deleted, and a topic that is deleted, leave nothing of each other",
          "[broker]") {
  Inside inside;
  const auto topic = inside.broker->create_topic("t", {});
  const auto member =
      inside.broker->subscribe("t", {.group = "g",
                                     .start = Start::earliest,
                                     .dead_letter_topic = brook::DeadLetterTopic::none()});
  CHECK(inside.collect(member) == 0);
  member.first->leave(member.second);
  inside.broker->delete_group("g");
  CHECK(inside.armed(topic) == 0);
  CHECK(topic.use_count() == 3);  // here, and in the registry by name and for patterns

  const auto other =
      inside.broker->subscribe("t", {.group = "other",
                                     .start = Start::earliest,
                                     .dead_letter_topic = brook::DeadLetterTopic::none()});
  CHECK(inside.collect(other) == 0);
  inside.broker->delete_topic("t");
  CHECK(inside.collect(other) == 0);
  CHECK(topic.use_count() == 1);
}

TEST_CASE("A broker that closes lets go of its topics and groups", "[broker]") {
  State::Topic topic;
  State::Group group;
  {
    Inside inside;
    topic = inside.broker->create_topic("t", {});
    const auto member = inside.broker->subscribe("t", {.group = "g", .start = Start::earliest});
    topic->publish({.payload = "x"});
    CHECK(inside.collect(member) == 1);
    group = member.first;
  }
  CHECK(topic.use_count() == 1);
  CHECK(group.use_count() == 1);
  CHECK_FALSE(topic->is_open());
}

// -------------------------------------------------------------------------------- many partitions

TEST_CASE(
    "A group with hundreds of partitions gets everything, in turns, and wakes for any of them",
    "[broker]") {
  constexpr std::uint32_t partitions = 300;
  ManualBroker broker;
  auto topic = broker.create_topic("t", {.partitions = partitions});
  auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  CHECK(consumer.poll(10, 1s).empty());
  for (std::uint32_t id = 0; id < partitions; ++id) {
    topic.publish({.payload = std::to_string(id), .partition = PartitionId{id}});
    if (id % 7 == 0) topic.publish({.payload = "again", .partition = PartitionId{id}});
  }
  std::set<std::uint32_t> seen;
  std::size_t total = 0;
  while (true) {
    const auto batch = consumer.poll(10);
    if (batch.empty()) break;
    for (const auto& delivery : batch) seen.insert(delivery.partition().value());
    total += batch.size();
    consumer.ack(batch);
  }
  CHECK(seen.size() == partitions);
  CHECK(total == partitions + 43);
  for (std::uint32_t id = 0; id < partitions; id += 41) {
    CHECK(consumer.poll(10, 1s).empty());
    topic.publish({.payload = "more", .partition = PartitionId{id}});
    const auto batch = consumer.poll(10, 1h);
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].partition() == PartitionId{id});
    consumer.ack(batch);
  }
  CHECK(broker.lag("g").messages() == 0);
}

TEST_CASE("Redeliveries come from any of hundreds of partitions, when they are due", "[broker]") {
  constexpr std::uint32_t partitions = 200;
  ManualBroker broker;
  auto topic = broker.create_topic("t", {.partitions = partitions});
  auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  for (std::uint32_t id = 0; id < partitions; ++id) {
    topic.publish({.payload = "x", .partition = PartitionId{id}});
  }
  const auto batch = consumer.poll();
  REQUIRE(batch.size() == partitions);
  for (std::uint32_t id = 0; id < partitions; ++id) {
    consumer.nack(batch[id], {.delay = brook::Duration{std::chrono::seconds{1 + id % 5}}});
  }
  for (int second = 1; second <= 5; ++second) {
    const auto due = consumer.poll(500, 1h);
    CHECK(due.size() == partitions / 5);
    CHECK(broker.clock().now() == Instant{std::chrono::seconds{second}});
    consumer.ack(due);
  }
  CHECK(broker.lag("g").messages() == 0);
}

// ------------------------------------------------------------------------------------- membership

TEST_CASE("A group has one member at a time", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  try {
    auto second = broker.subscribe("t", {.group = "g", .start = Start::earliest});
    FAIL("not refused");
  } catch (const brook::GroupOccupied& error) {
    CHECK(error.name() == "g");
  }
  consumer.close();
  CHECK_NOTHROW(broker.subscribe("t", {.group = "g", .start = Start::earliest}));
  CHECK_NOTHROW(broker.subscribe("t", {.group = "g", .start = Start::earliest}));
}

TEST_CASE("A refused second member leaves the first one's interest alone", "[broker]") {
  ManualBroker broker;
  auto a = broker.create_topic("a");
  auto b = broker.create_topic("b");
  auto consumer = broker.subscribe("a", {.group = "g", .start = Start::earliest});
  CHECK_THROWS_AS(broker.subscribe("b", {.group = "g", .start = Start::earliest}),
                  brook::GroupOccupied);
  a.publish({.payload = "a"});
  b.publish({.payload = "b"});
  CHECK(consume(consumer) == Strings{"a"});
}

TEST_CASE("A member with other patterns gets what its own match, and old positions are kept",
          "[broker]") {
  ManualBroker broker;
  auto a = broker.create_topic("a");
  auto b = broker.create_topic("b");
  support::publish_all(a, {"a0", "a1"});
  support::publish_all(b, {"b0"});
  {
    auto consumer = broker.subscribe("a", {.group = "g", .start = Start::earliest});
    CHECK(consume(consumer, 1) == Strings{"a0"});
  }
  {
    auto consumer = broker.subscribe("b", {.group = "g", .start = Start::earliest});
    a.publish({.payload = "a2"});
    CHECK(consume(consumer) == Strings{"b0"});
    CHECK(consumer.poll(10, 1s).empty());
    CHECK_THROWS_AS(consumer.committed("a"), brook::UnknownTopic);
    b.publish({.payload = "b1"});
    CHECK(consume(consumer) == Strings{"b1"});
    // A topic made now is the group's only if it matches now.
    broker.create_topic("c").publish({.payload = "c0"});
    CHECK(consumer.poll().empty());
  }
  auto consumer = broker.subscribe({"a", "b"}, {.group = "g", .start = Start::earliest});
  CHECK(consume(consumer) == Strings{"a1", "a2"});
  b.publish({.payload = "b2"});
  CHECK(consume(consumer) == Strings{"b2"});
}

TEST_CASE("Leases and dead letters end on time also while the group has no member", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  topic.publish({.payload = "x"});
  {
    auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
    consumer.nack(support::take(consumer), {.delay = brook::Duration{1min}});
  }
  CHECK(broker.next_event_time() == Instant{1min});
  auto next = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  CHECK(next.poll(10, 30s).empty());
  CHECK(texts(next.poll(10, 1h)) == Strings{"x"});
  CHECK(broker.clock().now() == Instant{1min});
}

TEST_CASE("A lease that is over when its consumer closes is charged", "[broker]") {
  brook::ManualClock clock;
  ManualBroker broker{clock};
  auto topic = broker.create_topic("t");
  topic.publish({.payload = "x"});
  {
    auto consumer = broker.subscribe("t", {.group = "g", .start = Start::earliest});
    const auto held = consumer.poll();
    clock.advance(30s);
  }
  auto next = broker.subscribe("t", {.group = "g", .start = Start::earliest});
  const auto again = next.poll();
  REQUIRE(again.size() == 1);
  CHECK(again[0].number() == 2);
}
