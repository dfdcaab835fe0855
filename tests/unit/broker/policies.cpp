#include <brook/broker/policies.hpp>

#include <brook/broker/broker.hpp>

#include "support/catch.hpp"

namespace {

using brook::BrokerPolicies;
using brook::PartitionId;
using brook::StorageFactory;

/// A factory that notes what it was asked for.
struct NotingFactory {
  using storage_type = brook::MemoryStorage;
  struct Request {
    std::string topic;
    brook::TopicId id;
    PartitionId partition;
  };
  static inline std::vector<Request> requests;
  static inline std::size_t fail_at = std::numeric_limits<std::size_t>::max();

  brook::MemoryStorage make(std::string_view topic, brook::TopicId id, PartitionId partition) {
    if (requests.size() == fail_at) throw std::bad_alloc();
    requests.push_back({std::string(topic), id, partition});
    return brook::MemoryStorage();
  }
};

struct LastPartition {
  PartitionId operator()(brook::Bytes, std::uint32_t partitions) const {
    return PartitionId{partitions - 1};
  }
  static std::string_view name() { return "test.last"; }
};

struct Noting {
  using clock_type = brook::ManualClock;
  using storage_factory = NotingFactory;
  using partitioner_type = LastPartition;
};

// Near-misses: each lacks one thing.
struct NoStorageType {
  brook::MemoryStorage make(std::string_view, brook::TopicId, PartitionId) const {
    return brook::MemoryStorage();
  }
};
struct WrongResult {
  using storage_type = brook::MemoryStorage;
  int make(std::string_view, brook::TopicId, PartitionId) const { return 0; }
};
struct NeedsArgument : NotingFactory {
  explicit NeedsArgument(int) {}
};
template <class Clock, class Factory, class Partitioner>
struct Bundle {
  using clock_type = Clock;
  using storage_factory = Factory;
  using partitioner_type = Partitioner;
};
struct NoClock {
  using storage_factory = NotingFactory;
  using partitioner_type = LastPartition;
};

static_assert(StorageFactory<NotingFactory>);
static_assert(!StorageFactory<NoStorageType>);
static_assert(!StorageFactory<WrongResult>);
static_assert(!StorageFactory<int>);

static_assert(BrokerPolicies<Noting>);
static_assert(BrokerPolicies<brook::InMemory<brook::ManualClock, LastPartition>>);
static_assert(!BrokerPolicies<NoClock>);
static_assert(!BrokerPolicies<Bundle<int, NotingFactory, LastPartition>>);
static_assert(!BrokerPolicies<Bundle<brook::ManualClock, NeedsArgument, LastPartition>>);
static_assert(!BrokerPolicies<Bundle<brook::ManualClock, NotingFactory, int>>);
// A topic makes its partitioner by default.
static_assert(!BrokerPolicies<Bundle<brook::ManualClock, NotingFactory, brook::FixedPartitioner>>);

}  // namespace

TEST_CASE("Storages of one factory are apart from each other", "[broker]") {
  brook::MemoryStorageFactory factory;
  auto one = factory.make("a", {}, PartitionId{0});
  auto other = factory.make("a", {}, PartitionId{0});
  const brook::MessageView message{.payload = "x"};
  one.append(message, {});
  CHECK(one.end() == brook::Offset{1});
  CHECK(other.end() == brook::Offset{0});
}

TEST_CASE("A broker asks its factory for one storage a partition, and its partitioner for each key",
          "[broker]") {
  NotingFactory::requests.clear();
  brook::BasicBroker<Noting> broker;
  auto topic = broker.create_topic("orders", {.partitions = 3});
  REQUIRE(NotingFactory::requests.size() == 3);
  for (std::uint32_t i = 0; i < 3; ++i) {
    CHECK(NotingFactory::requests[i].topic == "orders");
    CHECK(NotingFactory::requests[i].id == topic.id());
    CHECK(NotingFactory::requests[i].partition == PartitionId{i});
  }
  CHECK(topic.publish({.key = "a", .payload = "1"}).partition == PartitionId{2});
  CHECK(broker.producer().publish("orders", {.payload = "1"}).partition == PartitionId{2});
}

TEST_CASE("A topic whose storage cannot be made does not exist", "[broker]") {
  NotingFactory::requests.clear();
  brook::BasicBroker<Noting> broker;
  auto consumer = broker.subscribe("#", {.group = "g", .start = brook::Start::latest});
  NotingFactory::fail_at = NotingFactory::requests.size() + 2;
  CHECK_THROWS_AS(broker.create_topic("orders", {.partitions = 3}), std::bad_alloc);
  NotingFactory::fail_at = std::numeric_limits<std::size_t>::max();
  CHECK(broker.topics().size() == 1);  // dead letters

  auto topic = broker.create_topic("orders", {.partitions = 2});
  topic.publish({.payload = "1"});
  CHECK(consumer.poll(10).size() == 1);
}

TEST_CASE("A group whose dead-letter topic cannot be made does not exist", "[broker]") {
  NotingFactory::requests.clear();
  brook::BasicBroker<Noting> broker;
  broker.create_topic("orders");
  NotingFactory::fail_at = 1;
  CHECK_THROWS_AS(broker.subscribe("orders", {.group = "g", .start = brook::Start::earliest}),
                  std::bad_alloc);
  NotingFactory::fail_at = std::numeric_limits<std::size_t>::max();
  CHECK(broker.groups().empty());
  CHECK(broker.topics().size() == 1);
  CHECK_NOTHROW(broker.subscribe("orders", {.group = "g", .start = brook::Start::earliest}));
}
