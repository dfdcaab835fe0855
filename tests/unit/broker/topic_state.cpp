#include <brook/broker/topic_state.hpp>

#include "support/catch.hpp"

using brook::Message;
using brook::Offset;
using brook::PartitionId;
using brook::TopicConfig;
using namespace std::chrono_literals;

namespace {

using Policies = brook::InMemory<brook::ManualClock>;
using State = brook::detail::TopicState<Policies>;

/// A subscription as a publisher sees it, which notes what it is told.
class Listener final : public brook::detail::Follower {
 public:
  void on_news() override { ++news; }
  Offset settled_below() const noexcept override { return settled; }
  [[nodiscard]] std::string_view group_name() const noexcept override { return "listeners"; }

  int news = 0;
  Offset settled{};
};

struct Fixture {
  brook::ManualClock clock;
  Policies::storage_factory storages;
  std::unique_ptr<State> topic;

  explicit Fixture(const TopicConfig& config = {})
      : topic(std::make_unique<State>("t", brook::TopicId{.high = 0, .low = 1}, config, clock,
                                      storages)) {}

  brook::detail::Partition<Policies>& partition(std::uint32_t id = 0) {
    return topic->partition(PartitionId{id});
  }
  std::size_t armed(std::uint32_t id = 0) BROOK_NO_THREAD_SAFETY_ANALYSIS {
    return partition(id).armed.size();
  }
  std::uint64_t end(std::uint32_t id = 0) { return partition(id).log.visible_end().value(); }
  std::shared_ptr<Listener> follow(std::uint32_t id = 0) {
    auto listener = std::make_shared<Listener>();
    topic->add_follower(PartitionId{id}, listener);
    return listener;
  }
  bool arm(const std::shared_ptr<Listener>& listener, std::uint64_t next, std::uint32_t id = 0) {
    return topic->arm(PartitionId{id}, Offset{next}, listener);
  }
};

std::vector<Message> batch_for(const std::vector<std::uint32_t>& partitions) {
  std::vector<Message> batch;
  for (const auto id : partitions) {
    batch.push_back({.payload = "m" + std::to_string(batch.size()), .partition = PartitionId{id}});
  }
  return batch;
}

brook::MessageBatch view(const std::vector<Message>& messages) {
  return brook::MessageBatch(std::span<const Message>(messages));
}

/// Breaks what a partitioner promises.
struct OutOfRange {
  PartitionId operator()(brook::Bytes, std::uint32_t partitions) const {
    return PartitionId{partitions};
  }
  static std::string_view name() { return "test.out_of_range"; }
};

}  // namespace

// ----------------------------------------------------------------------------------------- telling

TEST_CASE("Whoever arms is told of the next message, once", "[broker]") {
  Fixture f;
  const auto listener = f.follow();
  REQUIRE(f.arm(listener, 0));
  CHECK(listener->news == 0);
  f.topic->publish({.payload = "1"});
  CHECK(listener->news == 1);
  CHECK(f.armed() == 0);
  f.topic->publish({.payload = "2"});
  CHECK(listener->news == 1);
  REQUIRE(f.arm(listener, 2));
  f.topic->publish({.payload = "3"});
  CHECK(listener->news == 2);
}

TEST_CASE("Arming is refused if the message is there already", "[broker]") {
  Fixture f;
  const auto listener = f.follow();
  f.topic->publish({.payload = "1"});
  CHECK_FALSE(f.arm(listener, 0));
  CHECK(f.armed() == 0);
  CHECK(f.arm(listener, 1));
}

TEST_CASE("Arming again leaves a listener in the list once", "[broker]") {
  Fixture f;
  const auto listener = f.follow();
  for (int i = 0; i < 3; ++i) REQUIRE(f.arm(listener, 0));
  CHECK(f.armed() == 1);
  f.topic->publish({.payload = "1"});
  CHECK(listener->news == 1);
  REQUIRE(f.arm(listener, 1));
  CHECK(f.armed() == 1);
  f.topic->publish(view(batch_for({0, 0})));
  CHECK(listener->news == 2);
  REQUIRE(f.arm(listener, 3));
  CHECK(f.armed() == 1);
}

TEST_CASE("A batch tells each partition's listeners once", "[broker]") {
  Fixture f{{.partitions = 3}};
  const auto zero = f.follow(0);
  const auto one = f.follow(1);
  const auto two = f.follow(2);
  const auto other_two = f.follow(2);
  REQUIRE(f.arm(zero, 0, 0));
  REQUIRE(f.arm(one, 0, 1));
  REQUIRE(f.arm(two, 0, 2));
  REQUIRE(f.arm(other_two, 0, 2));
  f.topic->publish(view(batch_for({2, 0, 2, 0})));
  CHECK(zero->news == 1);
  CHECK(one->news == 0);
  CHECK(two->news == 1);
  CHECK(other_two->news == 1);
  CHECK(f.armed(0) == 0);
  CHECK(f.armed(1) == 1);
  CHECK(f.armed(2) == 0);
}

TEST_CASE("A batch that is refused tells nobody and leaves everyone armed", "[broker]") {
  Fixture f{{.partitions = 2, .limits = {.max_message = 5}}};
  const auto listener = f.follow(0);
  REQUIRE(f.arm(listener, 0));
  auto batch = batch_for({0, 1});
  batch[1].payload = "too large";
  CHECK_THROWS_AS(f.topic->publish(view(batch)), brook::MessageTooLarge);
  CHECK(listener->news == 0);
  CHECK(f.armed() == 1);
  f.topic->publish(view(batch_for({0})));
  CHECK(listener->news == 1);
}

TEST_CASE("A follower that leaves is told nothing any more", "[broker]") {
  Fixture f{{.partitions = 2}};
  const auto listener = f.follow(1);
  REQUIRE(f.arm(listener, 0, 1));
  f.topic->remove_follower(*listener);
  CHECK(f.armed(1) == 0);
  f.topic->publish({.payload = "1", .partition = PartitionId{1}});
  CHECK(listener->news == 0);
  CHECK(listener.use_count() == 1);
}

// ------------------------------------------------------------------------------------- all or none

TEST_CASE("A batch over several partitions gets consecutive offsets in each, in its own order",
          "[broker]") {
  Fixture f{{.partitions = 4}};
  f.topic->publish({.payload = "before", .partition = PartitionId{3}});
  const auto published = f.topic->publish(view(batch_for({3, 1, 3, 3, 1})));
  CHECK(published.topic == f.topic->id());
  REQUIRE(published.parts.size() == 2);
  CHECK(published.parts[0].partition == PartitionId{1});
  CHECK(published.parts[0].offsets == brook::OffsetRange{.first = Offset{0}, .last = Offset{2}});
  CHECK(published.parts[1].partition == PartitionId{3});
  CHECK(published.parts[1].offsets == brook::OffsetRange{.first = Offset{1}, .last = Offset{4}});
  const auto in_one = f.partition(1).log.read(Offset{0});
  REQUIRE(in_one.size() == 2);
  CHECK(in_one[0].payload().text() == "m1");
  CHECK(in_one[1].payload().text() == "m4");
  const auto in_three = f.partition(3).log.read(Offset{0});
  REQUIRE(in_three.size() == 4);
  CHECK(in_three[1].payload().text() == "m0");
  CHECK(in_three[2].payload().text() == "m2");
  CHECK(in_three[3].payload().text() == "m3");
}

TEST_CASE("An empty batch publishes nothing", "[broker]") {
  for (const int partitions : {1, 3}) {
    Fixture f{{.partitions = partitions}};
    CHECK(f.topic->publish(view({})).parts.empty());
    CHECK(f.end() == 0);
  }
}

TEST_CASE("A message that is too large anywhere in a batch refuses all of it", "[broker]") {
  for (std::size_t place = 0; place < 6; ++place) {
    Fixture f{{.partitions = 3, .limits = {.max_message = 5}}};
    auto batch = batch_for({0, 1, 2, 0, 1, 2});
    batch[place].payload = "too large";
    CHECK_THROWS_AS(f.topic->publish(view(batch)), brook::MessageTooLarge);
    for (std::uint32_t id = 0; id < 3; ++id) CHECK(f.end(id) == 0);
    f.topic->publish(view(batch_for({0, 1, 2})));
    for (std::uint32_t id = 0; id < 3; ++id) CHECK(f.end(id) == 1);
  }
}

TEST_CASE("A batch for which one partition is full is appended to none", "[broker]") {
  for (std::uint32_t full = 0; full < 3; ++full) {
    Fixture f{
        {.partitions = 3, .retention = {.max_messages = 3}, .overflow = brook::Overflow::reject}};
    f.topic->publish(view(batch_for({full, full})));
    CHECK_THROWS_AS(f.topic->publish(view(batch_for({0, 1, 2, 0, 1, 2}))), brook::TopicFull);
    for (std::uint32_t id = 0; id < 3; ++id) CHECK(f.end(id) == (id == full ? 2 : 0));
    f.topic->publish(view(batch_for({0, 1, 2})));
    for (std::uint32_t id = 0; id < 3; ++id) CHECK(f.end(id) == (id == full ? 3 : 1));
  }
}

TEST_CASE("A header of the broker's own is refused from users, in every place of a batch",
          "[broker]") {
  for (const int partitions : {1, 2}) {
    Fixture f{{.partitions = partitions}};
    CHECK_THROWS_AS(
        f.topic->publish({.payload = "x", .headers = {{brook::addressed_to_header, "g"}}}),
        brook::ReservedHeader);
    std::vector<Message> batch(3);
    batch[2].headers = {{.name = "fine", .value = ""}, {.name = "__brook.", .value = ""}};
    CHECK_THROWS_AS(f.topic->publish(view(batch)), brook::ReservedHeader);
    CHECK(f.end() == 0);
    batch[2].headers[1].name = "__brook";
    CHECK_NOTHROW(f.topic->publish(view(batch)));
    f.topic->publish({.payload = "x", .headers = {{brook::addressed_to_header, "g"}}},
                     brook::detail::Origin::broker);
  }
}

// ------------------------------------------------------------------------------------- partitionin

TEST_CASE("A partition that does not exist is refused, alone and in a batch", "[broker]") {
  for (const int partitions : {1, 2}) {
    Fixture f{{.partitions = partitions}};
    const PartitionId beyond{static_cast<std::uint32_t>(partitions)};
    CHECK_THROWS_AS(f.topic->publish({.payload = "x", .partition = beyond}),
                    brook::UnknownPartition);
    CHECK_THROWS_AS(f.topic->publish(view(batch_for({0, beyond.value()}))),
                    brook::UnknownPartition);
    CHECK(f.end() == 0);
  }
}

TEST_CASE("A partitioner that breaks its promise is refused, alone and in a batch", "[broker]") {
  for (const int partitions : {1, 2}) {
    Fixture f{{.partitions = partitions}};
    const std::vector<Message> batch(2);
    CHECK_THROWS_AS(f.topic->publish({.payload = "x"}, OutOfRange{}), brook::UnknownPartition);
    CHECK_THROWS_AS(f.topic->publish(view(batch), OutOfRange{}), brook::UnknownPartition);
    CHECK(f.end() == 0);
  }
}

TEST_CASE("A partitioner that cannot serve a topic of one partition is asked for a batch as well",
          "[broker]") {
  Fixture f;
  const brook::FixedPartitioner fixed(PartitionId{1});
  const std::vector<Message> batch(2);
  CHECK_THROWS_AS(f.topic->publish({.payload = "x"}, fixed), brook::InvalidArgument);
  CHECK_THROWS_AS(f.topic->publish(view(batch), fixed), brook::InvalidArgument);
  CHECK(f.end() == 0);
}

// ------------------------------------------------------------------------------------ Overflow::re

TEST_CASE("A full topic first trims what all of its followers have settled", "[broker]") {
  Fixture f{{.retention = {.max_messages = 4}, .overflow = brook::Overflow::reject}};
  const auto quick = f.follow();
  const auto slow = f.follow();
  f.topic->publish(view(batch_for({0, 0, 0, 0})));
  quick->settled = Offset{4};
  slow->settled = Offset{0};
  CHECK_THROWS_AS(f.topic->publish({.payload = "5"}), brook::TopicFull);
  CHECK(f.partition().log.start() == Offset{0});

  slow->settled = Offset{3};
  CHECK(f.topic->publish({.payload = "5"}).offset == Offset{4});
  CHECK(f.partition().log.start() == Offset{3});

  CHECK_THROWS_AS(f.topic->publish(view(batch_for({0, 0, 0}))), brook::TopicFull);
  slow->settled = Offset{5};
  quick->settled = Offset{5};
  const auto published = f.topic->publish(view(batch_for({0, 0, 0})));
  CHECK(published.parts.at(0).offsets.first == Offset{5});
}

TEST_CASE("A full topic trims nothing if nobody follows it", "[broker]") {
  Fixture f{
      {.partitions = 2, .retention = {.max_messages = 1}, .overflow = brook::Overflow::reject}};
  f.topic->publish({.payload = "1", .partition = PartitionId{0}});
  const auto elsewhere = f.follow(1);
  elsewhere->settled = Offset{1};
  CHECK_THROWS_AS(f.topic->publish({.payload = "2", .partition = PartitionId{0}}),
                  brook::TopicFull);
  CHECK(f.partition().log.start() == Offset{0});
}

TEST_CASE("A batch larger than its topic does not fit however much was settled", "[broker]") {
  Fixture f{{.retention = {.max_messages = 2}, .overflow = brook::Overflow::reject}};
  const auto listener = f.follow();
  f.topic->publish(view(batch_for({0, 0})));
  listener->settled = Offset{2};
  CHECK_THROWS_AS(f.topic->publish(view(batch_for({0, 0, 0}))), brook::TopicFull);
  CHECK(f.end() == 2);
  CHECK_NOTHROW(f.topic->publish(view(batch_for({0, 0}))));
}

// ------------------------------------------------------------------------------------------- due w

TEST_CASE("A topic tells when retention by age is due, over all partitions, and does it",
          "[broker]") {
  Fixture f{{.partitions = 2, .retention = {.max_age = 1h}}};
  CHECK(f.topic->next_due() == brook::Timestamp::max());
  f.clock.advance(10min);
  const auto first = f.clock.wall_now();
  f.topic->publish({.payload = "1", .partition = PartitionId{1}});
  f.clock.advance(10min);
  f.topic->publish({.payload = "2", .partition = PartitionId{0}});
  CHECK(f.topic->next_due() == first + 1h);
  f.topic->run_due(f.clock.wall_now());
  CHECK(f.partition(1).log.start() == Offset{0});
  f.clock.advance(50min);
  f.topic->run_due(f.clock.wall_now());
  CHECK(f.partition(1).log.start() == Offset{1});
  CHECK(f.partition(0).log.start() == Offset{0});
  CHECK(f.topic->next_due() == first + 10min + 1h);
}

TEST_CASE("The info of a topic shows each partition", "[broker]") {
  Fixture f{{.partitions = 2}};
  f.topic->publish(view(batch_for({1, 1, 1})));
  f.topic->trim(PartitionId{1}, Offset{1});
  const auto info = f.topic->info();
  CHECK(info.name == "t");
  CHECK(info.id == f.topic->id());
  REQUIRE(info.partitions.size() == 2);
  CHECK(info.partitions[0].messages == 0);
  CHECK(info.partitions[1].partition == PartitionId{1});
  CHECK(info.partitions[1].start == Offset{1});
  CHECK(info.partitions[1].end == Offset{3});
  CHECK(info.partitions[1].messages == 2);
  CHECK(info.partitions[1].bytes > 0);
}

TEST_CASE("A closed topic says so", "[broker]") {
  Fixture f;
  CHECK(f.topic->is_open());
  CHECK_NOTHROW(f.topic->check_open());
  f.topic->close();
  CHECK_FALSE(f.topic->is_open());
  CHECK_THROWS_AS(f.topic->check_open(), brook::Closed);
}
