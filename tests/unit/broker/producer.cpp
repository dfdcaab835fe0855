#include <brook/broker/producer.hpp>

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

using brook::ManualBroker;
using brook::Message;
using brook::MessageView;
using brook::Offset;
using brook::PartitionId;
using support::Strings;

namespace {

/// By the last byte of the key, and to the last partition without one.
struct LastByte {
  PartitionId operator()(brook::Bytes key, std::uint32_t partitions) const {
    if (key.empty()) return PartitionId{partitions - 1};
    return PartitionId{static_cast<unsigned char>(key.text().back()) % partitions};
  }
  static std::string_view name() { return "test.last_byte"; }
};

}  // namespace

TEST_CASE("A producer publishes to many topics by name", "[broker]") {
  ManualBroker broker;
  auto a = broker.create_topic("a");
  auto b = broker.create_topic("b");
  auto producer = broker.producer();
  producer.publish("a", {.payload = "1"});
  producer.publish("b", {.payload = "2"});
  producer.publish("a", std::vector<Message>{{.payload = "3"}, {.payload = "4"}});
  producer.publish("b", std::vector<MessageView>{{.payload = "5"}});
  CHECK(support::stored(a) == Strings{"1", "3", "4"});
  CHECK(support::stored(b) == Strings{"2", "5"});
}

TEST_CASE("A producer puts a key where the broker does", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("a", {.partitions = 5});
  auto producer = broker.producer();
  for (int i = 0; i < 20; ++i) {
    const std::string key = std::to_string(i);
    CHECK(producer.publish("a", {.key = key, .payload = "x"}).partition ==
          topic.publish({.key = key, .payload = "x"}).partition);
  }
}

TEST_CASE("A producer's own round robin is even within one", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("a", {.partitions = 3});
  auto producer = broker.producer();
  std::vector<std::uint64_t> counts(3);
  for (int i = 0; i < 10; ++i) {
    ++counts[producer.publish("a", {.payload = "x"}).partition.value()];
    const auto [low, high] = std::minmax_element(counts.begin(), counts.end());
    CHECK(*high - *low <= 1);
  }
}

TEST_CASE("A random producer scatters as its seed says, alone and in a batch", "[broker]") {
  ManualBroker broker;
  auto one = broker.create_topic("one", {.partitions = 4});
  auto other = broker.create_topic("other", {.partitions = 4});
  auto producer = broker.producer(brook::RandomPartitioner{42});
  for (int i = 0; i < 40; ++i) producer.publish("one", {.key = "same", .payload = "x"});
  auto again = broker.producer(brook::RandomPartitioner{42});
  again.publish("other", std::vector<Message>(40, Message{.key = "same"}));
  std::size_t used = 0;
  for (std::uint32_t id = 0; id < 4; ++id) {
    CHECK(one.end(PartitionId{id}) == other.end(PartitionId{id}));
    used += one.end(PartitionId{id}) != Offset{0} ? 1U : 0U;
  }
  CHECK(used == 4);
}

TEST_CASE("A fixed producer uses one partition, and refuses topics that lack it", "[broker]") {
  ManualBroker broker;
  auto wide = broker.create_topic("wide", {.partitions = 4});
  broker.create_topic("narrow", {.partitions = 2});
  broker.create_topic("single");
  auto producer = broker.producer(brook::FixedPartitioner{PartitionId{2}});
  producer.publish("wide", {.key = "a", .payload = "1"});
  producer.publish("wide", std::vector<Message>(2));
  CHECK(wide.end(PartitionId{2}) == Offset{3});
  for (const char* const name : {"narrow", "single"}) {
    CHECK_THROWS_AS(producer.publish(name, {.payload = "x"}), brook::InvalidArgument);
    CHECK_THROWS_AS(producer.publish(name, std::vector<Message>(2)), brook::InvalidArgument);
    CHECK(support::message_count(broker.topic(name).info()) == 0);
  }
}

TEST_CASE("A partitioner of the user's decides, unless the message names its partition",
          "[broker]") {
  ManualBroker broker;
  broker.create_topic("a", {.partitions = 10});
  auto producer = broker.producer(LastByte{});
  CHECK(producer.publish("a", {.key = "x0", .payload = ""}).partition == PartitionId{48 % 10});
  CHECK(producer.publish("a", {.payload = ""}).partition == PartitionId{9});
  CHECK(producer.publish("a", {.payload = "", .partition = PartitionId{3}}).partition ==
        PartitionId{3});
}

TEST_CASE("A producer notices that a topic was deleted, and that its name lives again",
          "[broker]") {
  ManualBroker broker;
  const auto old = broker.create_topic("a");
  auto producer = broker.producer();
  CHECK(producer.publish("a", {.payload = "1"}).topic == old.id());
  broker.delete_topic("a");
  CHECK_THROWS_AS(producer.publish("a", {.payload = "2"}), brook::UnknownTopic);
  const auto fresh = broker.create_topic("a");
  const auto published = producer.publish("a", {.payload = "3"});
  CHECK(published.topic == fresh.id());
  CHECK(published.offset == Offset{0});
}

TEST_CASE("A producer makes topics where the broker auto-creates", "[broker]") {
  ManualBroker plain;
  auto refused = plain.producer();
  CHECK_THROWS_AS(refused.publish("a", {.payload = "x"}), brook::UnknownTopic);
  CHECK(plain.topics().empty());

  ManualBroker creating{brook::BrokerOptions{.auto_create = brook::TopicConfig{.partitions = 3}}};
  auto producer = creating.producer();
  producer.publish("a", {.payload = "x"});
  CHECK(creating.topic("a").partitions() == 3);
  CHECK_THROWS_AS(producer.publish("not a name", {.payload = "x"}), brook::InvalidTopicName);
  CHECK_THROWS_AS(producer.publish("__a", {.payload = "x"}), brook::InternalTopic);
  CHECK(creating.topics().size() == 1);
}

TEST_CASE("A producer that outlives its broker is closed", "[broker]") {
  auto broker = std::make_unique<ManualBroker>();
  broker->create_topic("a");
  auto producer = broker->producer();
  producer.publish("a", {.payload = "x"});
  broker.reset();
  CHECK_THROWS_AS(producer.publish("a", {.payload = "x"}), brook::Closed);
  CHECK_THROWS_AS(producer.publish("b", {.payload = "x"}), brook::Closed);
}

TEST_CASE("What a producer cannot publish leaves nothing behind", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("a", {.partitions = 2, .limits = {.max_message = 3}});
  auto producer = broker.producer();
  CHECK_THROWS_AS(
      producer.publish("a", std::vector<Message>{{.payload = "x"}, {.payload = "long"}}),
      brook::MessageTooLarge);
  CHECK_THROWS_AS(producer.publish("a", {.payload = "x", .headers = {{"__brook.x", ""}}}),
                  brook::ReservedHeader);
  CHECK_THROWS_AS(producer.publish("a", {.payload = "x", .partition = PartitionId{2}}),
                  brook::UnknownPartition);
  CHECK(support::message_count(topic.info()) == 0);
}
