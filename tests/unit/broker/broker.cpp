#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

using brook::BrokerOptions;
using brook::Duration;
using brook::Instant;
using brook::ManualBroker;
using brook::Message;
using brook::MessageView;
using brook::Offset;
using brook::PartitionId;
using brook::SettleResult;
using brook::Start;
using brook::SubscribeOptions;
using brook::TopicConfig;
using namespace std::chrono_literals;
using support::consume;
using support::publish_all;
using support::stored;
using support::Strings;
using support::take;
using support::texts;

namespace {

SubscribeOptions group(const char* name) {
  return {.group = name, .start = Start::earliest};
}

/// A group "g" of a topic "t" that rejects what it is told to.
struct Rejecting {
  ManualBroker broker;
  ManualBroker::topic_type topic;
  ManualBroker::consumer_type consumer;

  explicit Rejecting(const TopicConfig& config = {}, const SubscribeOptions& options = group("g"))
      : topic(broker.create_topic("t", config)), consumer(broker.subscribe("t", options)) {}

  void reject_all() {
    for (const auto& delivery : consumer.poll()) consumer.reject(delivery, "rejected");
  }
  std::uint64_t letters() { return support::message_count(broker.topic("__dead_letter.g").info()); }
};

}  // namespace

// -------------------------------------------------------------------------------------------- topi

TEST_CASE("Topics are made, found, listed and deleted", "[broker]") {
  ManualBroker broker;
  CHECK(broker.topics().empty());
  const auto orders = broker.create_topic("orders", {.partitions = 3});
  broker.create_topic("billing");
  CHECK(broker.topic("orders").id() == orders.id());
  CHECK(broker.topic("orders").partitions() == 3);
  const auto list = broker.topics();
  REQUIRE(list.size() == 2);
  CHECK(list[0].name == "billing");
  CHECK(list[1].name == "orders");
  CHECK(list[1].id == orders.id());
  CHECK(list[1].partitions.size() == 3);
  broker.delete_topic("orders");
  CHECK(broker.topics().size() == 1);
  CHECK_THROWS_AS(broker.topic("orders"), brook::UnknownTopic);
  CHECK_THROWS_AS(broker.delete_topic("orders"), brook::UnknownTopic);
  CHECK_NOTHROW(broker.create_topic("orders"));
}

TEST_CASE("A topic cannot be made twice, nor with a bad name, nor with bad options", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t").publish({.payload = "x"});
  CHECK_THROWS_AS(broker.create_topic("t"), brook::TopicExists);
  CHECK_THROWS_AS(broker.create_topic("t", {.partitions = 2}), brook::TopicExists);
  for (const char* const name : {"", ".", "..", "a..b", ".a", "a.", "a b", "a*", "#", "a/b"}) {
    CHECK_THROWS_AS(broker.create_topic(name), brook::InvalidTopicName);
  }
  CHECK_THROWS_AS(broker.create_topic(std::string(250, 'a')), brook::InvalidTopicName);
  CHECK_NOTHROW(broker.create_topic(std::string(249, 'a')));
  CHECK_THROWS_AS(broker.create_topic("__t"), brook::InternalTopic);
  CHECK_THROWS_AS(broker.create_topic("u", {.partitions = 0}), brook::InvalidArgument);
  CHECK_THROWS_AS(broker.create_topic("u", {.retention = {.max_age = 0s}}), brook::InvalidArgument);
  CHECK(broker.topics().size() == 2);
  CHECK(stored(broker.topic("t")) == Strings{"x"});
}

TEST_CASE("Publishing by name needs the topic, or a broker that makes it", "[broker]") {
  ManualBroker plain;
  CHECK_THROWS_AS(plain.publish("t", {.payload = "x"}), brook::UnknownTopic);
  CHECK_THROWS_AS(plain.publish("t", std::vector<Message>(1)), brook::UnknownTopic);
  CHECK_THROWS_AS(plain.publish("t", std::vector<MessageView>(1)), brook::UnknownTopic);
  CHECK(plain.topics().empty());

  ManualBroker making{BrokerOptions{.auto_create = TopicConfig{.partitions = 2}}};
  CHECK(making.publish("t", {.payload = "x"}).offset == Offset{0});
  CHECK(making.topic("t").partitions() == 2);
  CHECK_THROWS_AS(making.publish("no name", {.payload = "x"}), brook::InvalidTopicName);
  CHECK_THROWS_AS(making.publish("__t", {.payload = "x"}), brook::InternalTopic);
  CHECK(making.topics().size() == 1);
  CHECK_THROWS_AS(making.topic("u"), brook::UnknownTopic);
}

TEST_CASE("A broker refuses to make topics from options that make no sense", "[broker]") {
  CHECK_THROWS_AS(ManualBroker(BrokerOptions{.auto_create = TopicConfig{.partitions = 0}}),
                  brook::InvalidArgument);
  brook::ManualClock clock;
  CHECK_THROWS_AS(ManualBroker(clock, BrokerOptions{.auto_create = TopicConfig{.partitions = 0}}),
                  brook::InvalidArgument);
  clock.advance(1s);
}

// -------------------------------------------------------------------------------------------- grou

TEST_CASE("Groups exist from their first subscribe until they are deleted", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  CHECK(broker.groups().empty());
  {
    auto consumer = broker.subscribe("t", group("b"));
    auto other = broker.subscribe("t", group("a"));
    CHECK(broker.groups() == Strings{"a", "b"});
    CHECK_THROWS_AS(broker.delete_group("a"), brook::GroupInUse);
    publish_all(topic, {"0", "1"});
    CHECK(consume(consumer, 1) == Strings{"0"});
  }
  CHECK(broker.groups() == Strings{"a", "b"});
  {
    auto consumer = broker.subscribe("t", group("b"));
    CHECK(consume(consumer) == Strings{"1"});
  }
  broker.delete_group("b");
  CHECK(broker.groups() == Strings{"a"});
  CHECK_THROWS_AS(broker.delete_group("b"), brook::UnknownGroup);
  CHECK_THROWS_AS(broker.lag("b"), brook::UnknownGroup);
  CHECK_THROWS_AS(broker.seek("b", Start::earliest), brook::UnknownGroup);
  CHECK_THROWS_AS(broker.dead_letters("b"), brook::UnknownGroup);
  CHECK_THROWS_AS(broker.redrive("b"), brook::UnknownGroup);
  auto consumer = broker.subscribe("t", group("b"));
  CHECK(consume(consumer) == Strings{"0", "1"});
}

TEST_CASE("A group's dead-letter topic is deleted after the group, not before", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  broker.create_topic("failed");
  broker.subscribe("t", group("g")).close();
  broker.subscribe("t", {.group = "h", .start = Start::earliest, .dead_letter_topic = "failed"})
      .close();
  CHECK_THROWS_AS(broker.delete_topic("__dead_letter.g"), brook::TopicInUse);
  CHECK_THROWS_AS(broker.delete_topic("failed"), brook::TopicInUse);
  broker.delete_group("g");
  CHECK(broker.topic("__dead_letter.g").partitions() == 1);
  broker.delete_topic("__dead_letter.g");
  broker.delete_group("h");
  broker.delete_topic("failed");
  CHECK(broker.topics().size() == 1);
}

TEST_CASE("A member with other options than its group is refused, each option by name",
          "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  broker.create_topic("failed");
  auto first = broker.subscribe("t", group("g"));
  const auto check = [&](std::string_view option, auto change) {
    SubscribeOptions options = group("g");
    change(options);
    try {
      auto consumer = broker.subscribe("t", options);
      FAIL("not refused: " << option);
    } catch (const brook::GroupOptionsDiffer& error) {
      CHECK(error.option() == option);
    }
  };
  for (const bool occupied : {true, false}) {
    if (!occupied) first.close();
    check("start", [](auto& o) { o.start = Start::latest; });
    check("guarantee", [](auto& o) { o.guarantee = brook::Guarantee::at_most_once; });
    check("ordering", [](auto& o) { o.ordering = brook::Ordering::partition; });
    check("ack_deadline", [](auto& o) { o.ack_deadline = 1s; });
    check("max_lease", [](auto& o) { o.max_lease = 1h; });
    check("max_deliveries", [](auto& o) { o.max_deliveries = 1; });
    check("retry", [](auto& o) { o.retry = brook::RetryPolicy{.max_backoff = 1s}; });
    check("dead_letter_topic", [](auto& o) { o.dead_letter_topic = "failed"; });
    check("dead_letter_topic",
          [](auto& o) { o.dead_letter_topic = brook::DeadLetterTopic::none(); });
    check("max_outstanding_messages", [](auto& o) { o.max_outstanding_messages = 1; });
    check("max_outstanding_bytes", [](auto& o) { o.max_outstanding_bytes = 1; });
    check("max_ack_window", [](auto& o) { o.max_ack_window = 1; });
  }
  CHECK_NOTHROW(broker.subscribe("t", group("g")));
}

TEST_CASE("Options that make no sense are refused by subscribe, and nothing is made", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  CHECK_THROWS_AS(broker.subscribe("t", group("no group")), brook::InvalidTopicName);
  CHECK_THROWS_AS(
      broker.subscribe("t", {.group = "g", .start = Start::earliest, .max_deliveries = 0}),
      brook::InvalidArgument);
  CHECK_THROWS_AS(broker.subscribe("t", {.group = "g",
                                         .start = Start::earliest,
                                         .dead_letter_topic = "__dead_letter.another"}),
                  brook::InternalTopic);
  CHECK(broker.groups().empty());
  CHECK(broker.topics().size() == 1);
}

TEST_CASE("Two groups each get every message", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t", {.partitions = 3});
  auto a = broker.subscribe("t", group("a"));
  auto b = broker.subscribe("t", group("b"));
  Strings expected;
  for (int i = 0; i < 30; ++i) {
    expected.push_back(std::to_string(i));
    topic.publish({.key = std::to_string(i % 7), .payload = expected.back()});
  }
  std::sort(expected.begin(), expected.end());
  for (auto* const consumer : {&a, &b}) {
    auto list = consume(*consumer);
    std::sort(list.begin(), list.end());
    CHECK(list == expected);
  }
}

// ------------------------------------------------------------------------------------ where it sta

TEST_CASE("A new group starts where it says", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  for (int i = 0; i < 6; ++i) {
    topic.publish({.payload = std::to_string(i)});
    broker.clock().advance(1min);
  }
  topic.trim(PartitionId{0}, Offset{1});
  const auto begin = broker.clock().wall_now() - 6min;
  const auto starts_at = [&](const Start& start) {
    auto consumer = broker.subscribe("t", {.group = "g", .start = start});
    const auto at = consumer.committed("t").value();
    CHECK(consumer.take_losses().empty());
    consumer.close();
    broker.delete_group("g");
    return at;
  };
  CHECK(starts_at(Start::earliest) == 1);
  CHECK(starts_at(Start::latest) == 6);
  CHECK(starts_at(Start::at_offset(Offset{1})) == 1);
  CHECK(starts_at(Start::at_offset(Offset{4})) == 4);
  CHECK(starts_at(Start::at_offset(Offset{6})) == 6);
  CHECK(starts_at(Start::at_time(begin)) == 1);
  CHECK(starts_at(Start::at_time(begin + 2min)) == 2);
  CHECK(starts_at(Start::at_time(begin + 2min + 1ms)) == 3);
  CHECK(starts_at(Start::at_time(broker.clock().wall_now())) == 6);
  CHECK_THROWS_AS(starts_at(Start::at_offset(Offset{0})), brook::OffsetTooOld);
  CHECK_THROWS_AS(starts_at(Start::at_offset(Offset{7})), brook::OffsetOutOfRange);
}

TEST_CASE("A group is moved by its broker with a member or without", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t", {.partitions = 2});
  for (std::uint32_t i = 0; i < 6; ++i) {
    topic.publish({.payload = std::to_string(i), .partition = PartitionId{i % 2}});
  }
  brook::Batch held;
  {
    auto consumer = broker.subscribe("t", group("g"));
    held = consumer.poll();
    broker.seek("g", Start::latest);
    CHECK(consumer.ack(held).stale == 6);
    CHECK(consumer.poll().empty());
  }
  broker.seek("g", Start::at_offset(Offset{2}));
  auto consumer = broker.subscribe("t", group("g"));
  CHECK(consumer.poll().size() == 2);
  CHECK(consumer.ack(held).stale == 6);
  CHECK_THROWS_AS(broker.seek("g", Start::at_offset(Offset{4})), brook::OffsetOutOfRange);
  CHECK(broker.lag("g").partitions[0].in_flight == 1);
}

// -------------------------------------------------------------------------------------------- redr

TEST_CASE("Redrive publishes dead letters back, in order, for their group alone", "[broker]") {
  Rejecting f({.partitions = 3});
  auto other = f.broker.subscribe("t", group("other"));
  for (int i = 0; i < 9; ++i) {
    f.topic.publish({.key = "k" + std::to_string(i),
                     .payload = std::to_string(i),
                     .headers = {{"trace", "7f"}}});
  }
  f.reject_all();
  consume(other);
  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 9);
  const auto report = f.broker.redrive("g");
  CHECK(report.redriven == 9);
  CHECK(report.skipped == 0);
  CHECK(f.broker.dead_letters("g").empty());
  CHECK(f.letters() == 0);

  // In the partition they came from, in order of failure.
  std::map<std::uint32_t, Strings> expected;
  for (const auto& letter : letters) {
    expected[letter.source_partition.value()].emplace_back(letter.message.payload.text());
  }
  std::map<std::uint32_t, Strings> got;
  const auto batch = f.consumer.poll();
  CHECK(batch.size() == 9);
  for (const auto& delivery : batch) {
    CHECK(delivery.number() == 1);
    CHECK(delivery.headers().first("trace")->text() == "7f");
    CHECK_FALSE(delivery.headers().first(brook::dead_letter_headers::error).has_value());
    got[delivery.partition().value()].emplace_back(delivery.text());
  }
  CHECK(got == expected);
  CHECK(f.consumer.ack(batch).applied == 9);

  CHECK(other.poll().empty());
  CHECK(f.broker.lag("other").messages() == 0);
  CHECK(f.broker.lag("other").stats().lost == 0);
  auto late = f.broker.subscribe("t", group("late"));
  CHECK(late.poll().size() == 9);
  CHECK(f.broker.redrive("g").redriven == 0);
}

TEST_CASE("Redrive goes on where the last one stopped", "[broker]") {
  ManualBroker broker;
  auto failed = broker.create_topic("failed");
  auto topic = broker.create_topic("t");
  auto consumer = broker.subscribe(
      "t", {.group = "g", .start = Start::earliest, .dead_letter_topic = "failed"});
  publish_all(topic, {"0", "1"});
  for (const auto& delivery : consumer.poll()) consumer.reject(delivery, "");
  CHECK(broker.redrive("g").redriven == 2);
  // A topic of the user's keeps them.
  CHECK(stored(failed) == Strings{"0", "1"});
  CHECK(broker.dead_letters("g").empty());
  CHECK(broker.redrive("g").redriven == 0);
  consumer.reject(take(consumer, 1), "again");
  const auto letters = broker.dead_letters("g");
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].source_offset == Offset{2});
  CHECK(broker.redrive("g").redriven == 1);
  CHECK(consume(consumer) == Strings{"1", "0"});
}

TEST_CASE(
    "What a redrive has addressed to a group is seen by all readers of dead letters if it "
    "fails again",
    "[broker]") {
  Rejecting f;
  auto operators = f.broker.subscribe("__dead_letter.g", group("operators"));
  f.topic.publish({.payload = "x", .headers = {{"own", "1"}}});
  f.reject_all();
  CHECK(consume(operators) == Strings{"x"});
  f.broker.redrive("g");
  f.reject_all();
  CHECK(consume(operators) == Strings{"x"});
  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].message.headers.size() == 1);
  f.broker.redrive("g");
  CHECK(consume(f.consumer) == Strings{"x"});
}

TEST_CASE("A dead letter whose source topic is gone is skipped, stays, and is redriven later",
          "[broker]") {
  ManualBroker broker;
  auto a = broker.create_topic("a");
  auto b = broker.create_topic("b");
  auto consumer = broker.subscribe({"a", "b"}, group("g"));
  for (int i = 0; i < 3; ++i) {
    a.publish({.payload = "a" + std::to_string(i)});
    consumer.reject(take(consumer, 1), "");
    b.publish({.payload = "b" + std::to_string(i)});
    consumer.reject(take(consumer, 1), "");
  }
  broker.delete_topic("a");
  auto report = broker.redrive("g");
  CHECK(report.redriven == 3);
  CHECK(report.skipped == 3);
  CHECK(consume(consumer) == Strings{"b0", "b1", "b2"});
  for (int i = 0; i < 2; ++i) {
    CHECK(texts(broker.dead_letters("g")) == Strings{"a0", "a1", "a2"});
    report = broker.redrive("g");
    CHECK(report.redriven == 0);
    CHECK(report.skipped == 3);
  }
  CHECK(consumer.poll().empty());
  b.publish({.payload = "b3"});
  consumer.reject(take(consumer), "");
  report = broker.redrive("g");
  CHECK(report.redriven == 1);
  CHECK(report.skipped == 3);

  broker.create_topic("a");
  report = broker.redrive("g");
  CHECK(report.redriven == 3);
  CHECK(report.skipped == 0);
  auto rest = consume(consumer);
  std::sort(rest.begin(), rest.end());
  CHECK(rest == Strings{"a0", "a1", "a2", "b3"});
  CHECK(broker.dead_letters("g").empty());
  CHECK(support::message_count(broker.topic("__dead_letter.g").info()) == 0);
}

TEST_CASE("A redrive that fails has done what it did, and the rest stays for the next one",
          "[broker]") {
  Rejecting f({.retention = {.max_messages = 4}, .overflow = brook::Overflow::reject});
  publish_all(f.topic, {"0", "1", "2", "3"});
  f.reject_all();
  auto slow = f.broker.subscribe("t", group("slow"));
  const auto held = slow.poll(2);
  slow.ack(held);
  CHECK_THROWS_AS(f.broker.redrive("g"), brook::TopicFull);
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"2", "3"});
  CHECK(consume(slow) == Strings{"2", "3"});
  CHECK(f.broker.redrive("g").redriven == 2);
  CHECK(consume(f.consumer) == Strings{"0", "1", "2", "3"});
  CHECK(f.broker.dead_letters("g").empty());
}

TEST_CASE("Redrive of a topic with fewer partitions than before uses its last one", "[broker]") {
  Rejecting f({.partitions = 3});
  f.topic.publish({.payload = "x", .partition = PartitionId{2}});
  f.reject_all();
  f.broker.delete_topic("t");
  auto fresh = f.broker.create_topic("t", {.partitions = 2});
  CHECK(f.broker.redrive("g").redriven == 1);
  CHECK(fresh.end(PartitionId{1}) == Offset{1});
  CHECK(consume(f.consumer) == Strings{"x"});
}

// ------------------------------------------------------------------------------------ time and clo

TEST_CASE("A manual broker without a clock of the caller's has its own", "[broker]") {
  Rejecting f({}, {.group = "g", .start = Start::earliest, .max_deliveries = 1});
  f.topic.publish({.payload = "x"});
  const auto held = f.consumer.poll();
  f.broker.clock().advance(30s);
  CHECK(f.broker.dead_letters("g").size() == 1);
}

TEST_CASE("Jitter is never applied under a manual clock", "[broker]") {
  Rejecting f(
      {}, {.group = "g", .start = Start::earliest, .retry = brook::RetryPolicy{.jitter = true}});
  for (int i = 0; i < 20; ++i) f.topic.publish({.payload = "x"});
  for (const auto& delivery : f.consumer.poll()) f.consumer.nack(delivery);
  CHECK(f.consumer.poll(500, 1h).size() == 20);
  CHECK(f.broker.clock().now() == Instant{100ms});
}

TEST_CASE("A closed broker says so in every call", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  auto consumer = broker.subscribe("t", group("g"));
  auto producer = broker.producer();
  topic.publish({.payload = "x"});
  const auto held = consumer.poll();
  broker.close();
  broker.close();
  const std::vector<Message> batch(1);
  const std::vector<MessageView> views(1);
  CHECK_THROWS_AS(broker.create_topic("u"), brook::Closed);
  CHECK_THROWS_AS(broker.topic("t"), brook::Closed);
  CHECK_THROWS_AS(broker.delete_topic("t"), brook::Closed);
  CHECK_THROWS_AS(broker.topics(), brook::Closed);
  CHECK_THROWS_AS(broker.publish("t", {.payload = "x"}), brook::Closed);
  CHECK_THROWS_AS(broker.publish("t", batch), brook::Closed);
  CHECK_THROWS_AS(broker.publish("t", views), brook::Closed);
  CHECK_THROWS_AS(broker.subscribe("t", group("g")), brook::Closed);
  CHECK_THROWS_AS(broker.delete_group("g"), brook::Closed);
  CHECK_THROWS_AS(broker.groups(), brook::Closed);
  CHECK_THROWS_AS(broker.seek("g", Start::earliest), brook::Closed);
  CHECK_THROWS_AS(broker.lag("g"), brook::Closed);
  CHECK_THROWS_AS(broker.dead_letters("g"), brook::Closed);
  CHECK_THROWS_AS(broker.redrive("g"), brook::Closed);
  CHECK_THROWS_AS(broker.run_once(), brook::Closed);
  CHECK_THROWS_AS(broker.next_event_time(), brook::Closed);
  CHECK_THROWS_AS(topic.publish({.payload = "x"}), brook::Closed);
  CHECK_THROWS_AS(producer.publish("t", {.payload = "x"}), brook::Closed);
  CHECK_THROWS_AS(consumer.poll(), brook::Closed);
  CHECK_THROWS_AS(consumer.ack(held[0]), brook::Closed);
  CHECK(held[0].text() == "x");
  broker.clock().advance(1h);
}

TEST_CASE("The program of the overview works on the system clock", "[broker]") {
  brook::Broker broker;
  auto orders =
      broker.create_topic("orders.eu.created", {.partitions = 8, .retention = {.max_age = 168h}});
  const auto at =
      orders.publish({.key = "customer-42", .payload = "total=99", .headers = {{"trace", "7f3a"}}});
  CHECK(at.partition == PartitionId{1});
  auto billing =
      broker.subscribe("orders.*.created", {.group = "billing", .start = Start::earliest});
  std::size_t handled = 0;
  for (const auto& delivery : billing.poll(500, 1s)) {
    CHECK(delivery.key().text() == "customer-42");
    CHECK(delivery.text() == "total=99");
    CHECK(billing.ack(delivery) == SettleResult::applied);
    ++handled;
  }
  CHECK(handled == 1);
  CHECK(broker.lag("billing").messages() == 0);
  broker.run_once();
}
