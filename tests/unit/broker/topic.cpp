#include <brook/broker/topic.hpp>

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

using brook::ManualBroker;
using brook::Message;
using brook::MessageView;
using brook::Offset;
using brook::PartitionId;
using namespace std::chrono_literals;
using support::Strings;

TEST_CASE("A topic is published to by handle, by name and by producer alike", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders");
  CHECK(topic.name() == "orders");
  CHECK(topic.partitions() == 1);
  const auto published = topic.publish({.payload = "1"});
  CHECK(published.topic == topic.id());
  CHECK(published.partition == PartitionId{0});
  CHECK(published.offset == Offset{0});
  CHECK(broker.publish("orders", {.payload = "2"}).offset == Offset{1});
  CHECK(broker.topic("orders").publish({.payload = "3"}).offset == Offset{2});
  CHECK(broker.producer().publish("orders", {.payload = "4"}).offset == Offset{3});
  CHECK(support::stored(topic) == Strings{"1", "2", "3", "4"});
}

TEST_CASE("A batch of views and a batch of messages are published in their order", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders");
  const std::vector<Message> owned{{.payload = "1"}, {.payload = "2"}};
  const std::vector<MessageView> views{{.payload = "3"}, {.payload = "4"}};
  topic.publish(owned);
  topic.publish(views);
  broker.publish("orders", owned);
  broker.publish("orders", views);
  CHECK(support::stored(topic) == Strings{"1", "2", "3", "4", "1", "2", "3", "4"});
}

TEST_CASE("Key, payload and headers arrive as they were published, null and empty apart",
          "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders");
  auto consumer = broker.subscribe("orders", {.group = "g", .start = brook::Start::earliest});
  topic.publish({.key = "", .payload = brook::null, .headers = {{"a", "1"}, {"a", brook::null}}});
  topic.publish({.payload = ""});
  const auto batch = consumer.poll();
  REQUIRE(batch.size() == 2);
  CHECK_FALSE(batch[0].key().is_null());
  CHECK(batch[0].key().text().empty());
  CHECK(batch[0].payload().is_null());
  CHECK(batch[0].headers().size() == 2);
  CHECK(batch[0].headers().first("a")->text() == "1");
  CHECK(batch[0].headers().last("a")->is_null());
  CHECK(batch[0].topic() == "orders");
  CHECK(batch[0].timestamp() == broker.clock().wall_now());
  CHECK(batch[1].key().is_null());
  CHECK_FALSE(batch[1].payload().is_null());
  const Message copy = batch[0].copy();
  CHECK(copy.headers.size() == 2);
  CHECK(copy.payload.is_null());
}

// ------------------------------------------------------------------------------------- partitions

TEST_CASE("A key goes where Kafka's clients put it, alone and in a batch", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders", {.partitions = 7});
  std::vector<Message> batch;
  std::vector<std::uint64_t> expected(7);
  for (int i = 0; i < 50; ++i) {
    const std::string key = "customer-" + std::to_string(i);
    const std::uint32_t wanted = (brook::murmur2(key) & 0x7fffffffU) % 7;
    CHECK(topic.publish({.key = key, .payload = "x"}).partition == PartitionId{wanted});
    batch.push_back({.key = key});
    expected[wanted] += 2;
  }
  topic.publish(batch);
  for (std::uint32_t id = 0; id < 7; ++id)
    CHECK(topic.end(PartitionId{id}).value() == expected[id]);
  // From the tests of Kafka's clients.
  CHECK(brook::murmur2("foobar") == static_cast<std::uint32_t>(-790332482));
  CHECK(topic.publish({.key = "foobar", .payload = "x"}).partition ==
        PartitionId{(3'504'634'814U & 0x7fff'ffffU) % 7});
}

TEST_CASE("Messages without a key go round robin within one, however they are published",
          "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders", {.partitions = 3});
  const auto check_even = [&] {
    std::uint64_t low = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t high = 0;
    for (const auto& partition : topic.info().partitions) {
      low = std::min(low, partition.messages);
      high = std::max(high, partition.messages);
    }
    CHECK(high - low <= 1);
  };
  for (int i = 0; i < 7; ++i) {
    topic.publish({.payload = "x"});
    check_even();
  }
  topic.publish(std::vector<Message>(5));
  check_even();
  broker.publish("orders", {.payload = "x"});
  check_even();
}

TEST_CASE("A message may name its partition whatever its key", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders", {.partitions = 3});
  for (std::uint32_t id = 0; id < 3; ++id) {
    CHECK(topic.publish({.key = "k", .payload = "x", .partition = PartitionId{id}}).partition ==
          PartitionId{id});
  }
  CHECK_THROWS_AS(topic.publish({.payload = "x", .partition = PartitionId{3}}),
                  brook::UnknownPartition);
}

// --------------------------------------------------------------------------------------- reading

TEST_CASE("A topic is read without a group at any position", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders", {.partitions = 2});
  for (int i = 0; i < 5; ++i) {
    topic.publish({.payload = std::to_string(i), .partition = PartitionId{1}});
    broker.clock().advance(1s);
  }
  const PartitionId one{1};
  CHECK(topic.start(one) == Offset{0});
  CHECK(topic.end(one) == Offset{5});
  const auto batch = topic.read(one, Offset{3});
  REQUIRE(batch.size() == 2);
  CHECK(batch[0].payload().text() == "3");
  CHECK(topic.read(one, Offset{5}).empty());
  CHECK_THROWS_AS(topic.read(one, Offset{6}), brook::OffsetOutOfRange);
  const auto begin = broker.clock().wall_now() - 5s;
  CHECK(topic.offset_at(one, begin) == Offset{0});
  CHECK(topic.offset_at(one, begin + 1500ms) == Offset{2});
  CHECK(topic.offset_at(one, begin + 1h) == Offset{5});

  topic.trim(one, Offset{2});
  CHECK(topic.start(one) == Offset{2});
  CHECK_THROWS_AS(topic.read(one, Offset{1}), brook::OffsetTooOld);
  CHECK_THROWS_AS(topic.trim(one, Offset{6}), brook::OffsetOutOfRange);
  topic.trim(one, Offset{1});
  CHECK(topic.start(one) == Offset{2});
}

TEST_CASE("A partition that a topic does not have is refused by every call", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders", {.partitions = 2});
  const PartitionId two{2};
  CHECK_THROWS_AS(topic.read(two, Offset{0}), brook::UnknownPartition);
  CHECK_THROWS_AS(topic.start(two), brook::UnknownPartition);
  CHECK_THROWS_AS(topic.end(two), brook::UnknownPartition);
  CHECK_THROWS_AS(topic.offset_at(two, brook::Timestamp{}), brook::UnknownPartition);
  CHECK_THROWS_AS(topic.trim(two, Offset{0}), brook::UnknownPartition);
  try {
    topic.publish({.payload = "x", .partition = two});
    FAIL("not refused");
  } catch (const brook::UnknownPartition& error) {
    CHECK(error.partition() == two);
  }
}

TEST_CASE("Create time is taken from the publisher only where the topic says so", "[broker]") {
  ManualBroker broker;
  const brook::Timestamp time{42s};
  auto stamped = broker.create_topic("stamped", {.timestamps = brook::TimestampType::create_time});
  auto plain = broker.create_topic("plain");
  stamped.publish({.payload = "x", .timestamp = time});
  plain.publish({.payload = "x", .timestamp = time});
  CHECK(stamped.read(PartitionId{0}, Offset{0}, {.max_messages = 1}).size() == 1);
  CHECK(stamped.offset_at(PartitionId{0}, time + 1ms) == Offset{1});
  CHECK(plain.offset_at(PartitionId{0}, time + 1ms) == Offset{0});
}

// ---------------------------------------------------------------------------------------- errors

TEST_CASE("Limits of a message are kept, and nothing is appended beyond them", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("orders",
                                   {.limits = {.max_message = 10, .max_key = 4, .max_headers = 2}});
  CHECK_NOTHROW(topic.publish({.key = "1234", .payload = "123456"}));
  CHECK_THROWS_AS(topic.publish({.key = "1234", .payload = "1234567"}), brook::MessageTooLarge);
  CHECK_THROWS_AS(topic.publish({.key = "12345", .payload = ""}), brook::MessageTooLarge);
  CHECK_THROWS_AS(topic.publish({.payload = "", .headers = {{"a"}, {"b"}, {"c"}}}),
                  brook::MessageTooLarge);
  CHECK(topic.end(PartitionId{0}) == Offset{1});
}

TEST_CASE("A compacted topic requires keys", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("state", {.compaction = brook::Compaction{}});
  CHECK_THROWS_AS(topic.publish({.payload = "x"}), brook::KeyRequired);
  CHECK_THROWS_AS(topic.publish(std::vector<Message>{{.key = "k"}, {.payload = "x"}}),
                  brook::KeyRequired);
  CHECK(topic.end(PartitionId{0}) == Offset{0});
  CHECK_NOTHROW(topic.publish({.key = "", .payload = "x"}));
}

TEST_CASE("A topic that rejects at its limit names the limit", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic(
      "orders", {.retention = {.max_messages = 1}, .overflow = brook::Overflow::reject});
  topic.publish({.payload = "x"});
  try {
    topic.publish({.payload = "y"});
    FAIL("not refused");
  } catch (const brook::TopicFull& error) {
    CHECK(error.limit() == 1);
    CHECK(error.wanted() == 2);
  }
  CHECK(support::stored(topic) == Strings{"x"});
}

TEST_CASE("A topic at its limit makes room of what every group has settled", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic(
      "orders", {.retention = {.max_messages = 3}, .overflow = brook::Overflow::reject});
  auto quick = broker.subscribe("orders", {.group = "quick", .start = brook::Start::earliest});
  auto slow = broker.subscribe("orders", {.group = "slow", .start = brook::Start::earliest});
  support::publish_all(topic, {"0", "1", "2"});
  support::consume(quick);
  CHECK_THROWS_AS(topic.publish({.payload = "3"}), brook::TopicFull);
  CHECK(topic.start(PartitionId{0}) == Offset{0});

  // On lease is not settled.
  const auto held = slow.poll(2);
  CHECK_THROWS_AS(topic.publish({.payload = "3"}), brook::TopicFull);
  slow.ack(held[1]);
  CHECK_THROWS_AS(topic.publish({.payload = "3"}), brook::TopicFull);
  slow.ack(held[0]);
  CHECK_NOTHROW(topic.publish({.payload = "3"}));
  CHECK(topic.start(PartitionId{0}) == Offset{2});
  CHECK(support::consume(slow) == Strings{"2", "3"});
  CHECK(slow.take_losses().empty());
  CHECK(quick.take_losses().empty());
}

TEST_CASE("A group without a member still keeps what it has not settled", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic(
      "orders", {.retention = {.max_messages = 1}, .overflow = brook::Overflow::reject});
  broker.subscribe("orders", {.group = "away", .start = brook::Start::earliest}).close();
  topic.publish({.payload = "0"});
  CHECK_THROWS_AS(topic.publish({.payload = "1"}), brook::TopicFull);
  broker.seek("away", brook::Start::latest);
  CHECK_NOTHROW(topic.publish({.payload = "1"}));
  CHECK_THROWS_AS(topic.publish({.payload = "2"}), brook::TopicFull);
  broker.delete_group("away");
  CHECK_THROWS_AS(topic.publish({.payload = "2"}), brook::TopicFull);
}

TEST_CASE("At most once makes room as soon as it has handed out", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic(
      "orders", {.retention = {.max_messages = 1}, .overflow = brook::Overflow::reject});
  auto consumer = broker.subscribe("orders", {.group = "once",
                                              .start = brook::Start::earliest,
                                              .guarantee = brook::Guarantee::at_most_once});
  topic.publish({.payload = "0"});
  CHECK(consumer.poll().size() == 1);
  CHECK_NOTHROW(topic.publish({.payload = "1"}));
}

TEST_CASE("Internal topics are read but not published to", "[broker]") {
  ManualBroker broker;
  broker.create_topic("orders");
  auto consumer = broker.subscribe("orders", {.group = "g", .start = brook::Start::earliest});
  auto letters = broker.topic("__dead_letter.g");
  CHECK_THROWS_AS(letters.publish({.payload = "x"}), brook::InternalTopic);
  CHECK_THROWS_AS(letters.publish(std::vector<Message>(1)), brook::InternalTopic);
  CHECK_THROWS_AS(letters.publish(std::vector<MessageView>(1)), brook::InternalTopic);
  CHECK_THROWS_AS(broker.publish("__dead_letter.g", {.payload = "x"}), brook::InternalTopic);
  CHECK_THROWS_AS(broker.publish("__new", {.payload = "x"}), brook::InternalTopic);
  CHECK_THROWS_AS(broker.producer().publish("__dead_letter.g", {.payload = "x"}),
                  brook::InternalTopic);
  CHECK(letters.read(PartitionId{0}, Offset{0}).empty());
  CHECK(letters.info().partitions.size() == 1);
}

TEST_CASE("A handle of a deleted topic is closed, also when the name lives again", "[broker]") {
  ManualBroker broker;
  auto old = broker.create_topic("orders");
  const auto copy = old;
  old.publish({.payload = "x"});
  const auto held = old.read(PartitionId{0}, Offset{0});
  broker.delete_topic("orders");
  auto fresh = broker.create_topic("orders");
  CHECK(fresh.id() != old.id());
  CHECK_THROWS_AS(old.publish({.payload = "x"}), brook::Closed);
  CHECK_THROWS_AS(old.publish(std::vector<Message>(1)), brook::Closed);
  CHECK_THROWS_AS(old.publish(std::vector<MessageView>(1)), brook::Closed);
  CHECK_THROWS_AS(copy.read(PartitionId{0}, Offset{0}), brook::Closed);
  CHECK_THROWS_AS(old.trim(PartitionId{0}, Offset{0}), brook::Closed);
  CHECK(old.name() == "orders");
  CHECK(held[0].payload().text() == "x");
  CHECK(fresh.publish({.payload = "y"}).offset == Offset{0});
}

TEST_CASE("A handle that outlives its broker is closed", "[broker]") {
  auto broker = std::make_unique<ManualBroker>();
  auto topic = broker->create_topic("orders");
  topic.publish({.payload = "x"});
  const auto held = topic.read(PartitionId{0}, Offset{0});
  broker.reset();
  CHECK_THROWS_AS(topic.publish({.payload = "x"}), brook::Closed);
  CHECK_THROWS_AS(topic.read(PartitionId{0}, Offset{0}), brook::Closed);
  CHECK(held[0].payload().text() == "x");
}
