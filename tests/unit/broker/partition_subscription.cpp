#include <brook/broker/partition_subscription.hpp>

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

// Dead letters, what is due when, and lag: what one group knows of one partition, seen through the
// broker. Polling and settling are in consumer.cpp.

using brook::DeadLetterTopic;
using brook::Duration;
using brook::Instant;
using brook::ManualBroker;
using brook::Offset;
using brook::PartitionId;
using brook::SettleResult;
using brook::Start;
using brook::SubscribeOptions;
using namespace std::chrono_literals;
using support::consume;
using support::offsets;
using support::publish_all;
using support::stored;
using support::Strings;
using support::take;
using support::texts;

namespace {

using Offsets = std::vector<std::uint64_t>;

struct Fixture {
  ManualBroker broker;
  ManualBroker::topic_type topic;
  ManualBroker::consumer_type consumer;

  explicit Fixture(const SubscribeOptions& options = {.group = "g", .start = Start::earliest},
                   const brook::TopicConfig& config = {})
      : topic(broker.create_topic("t", config)), consumer(broker.subscribe("t", options)) {}

  Instant now() { return broker.clock().now(); }
  brook::PartitionLag lag(std::size_t at = 0) { return broker.lag("g").partitions.at(at); }
};

/// Group "g" whose dead letters go to "failed", which takes them or does not.
struct Failing {
  ManualBroker broker;
  ManualBroker::topic_type failed;
  ManualBroker::topic_type topic;
  ManualBroker::consumer_type consumer;

  explicit Failing(const brook::TopicConfig& letters,
                   SubscribeOptions options = {.group = "g", .start = Start::earliest})
      : failed(broker.create_topic("failed", letters)),
        topic(broker.create_topic("t")),
        consumer(broker.subscribe("t", with_topic(options))) {}

  static SubscribeOptions with_topic(SubscribeOptions options) {
    options.dead_letter_topic = "failed";
    return options;
  }
  /// A topic that is full with one message of somebody else's.
  static Failing full(const SubscribeOptions& options = {.group = "g", .start = Start::earliest}) {
    return Failing({.retention = {.max_messages = 1}, .overflow = brook::Overflow::reject},
                   options);
  }
  void fill() { failed.publish({.payload = "in the way"}); }
  void make_room() { failed.trim(PartitionId{0}, failed.end(PartitionId{0})); }
  brook::PartitionLag lag() { return broker.lag("g").partitions.at(0); }
  Instant now() { return broker.clock().now(); }
};

}  // namespace

// -------------------------------------------------------------------------------------- dead lette

TEST_CASE("A rejected message is a dead letter at once, with everything that is known of it",
          "[broker]") {
  Fixture f;
  f.broker.clock().advance(1h);
  const auto published_at = f.broker.clock().wall_now();
  f.topic.publish({.payload = "before"});
  f.topic.publish({.key = "k", .payload = "p", .headers = {{"trace", "7f"}, {"trace", "80"}}});
  f.broker.clock().advance(5s);
  const auto batch = f.consumer.poll();
  const auto failed_at = f.broker.clock().wall_now();
  CHECK(f.consumer.reject(batch[1], "not an order") == SettleResult::applied);

  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 1);
  const auto& letter = letters[0];
  CHECK(letter.message.key.text() == "k");
  CHECK(letter.message.payload.text() == "p");
  CHECK(letter.message.headers == std::vector<brook::Header>{{.name = "trace", .value = "7f"},
                                                             {.name = "trace", .value = "80"}});
  CHECK(letter.source_topic == "t");
  CHECK(letter.source_partition == PartitionId{0});
  CHECK(letter.source_offset == Offset{1});
  CHECK(letter.source_timestamp == published_at);
  CHECK(letter.group == "g");
  CHECK(letter.deliveries == 1);
  CHECK(letter.error == "not an order");
  CHECK(letter.first_failed_at == failed_at);
  CHECK(letter.last_failed_at == failed_at);

  const auto stats = f.broker.lag("g").stats();
  CHECK(stats.dead_lettered == 1);
  CHECK(stats.dropped == 0);
  CHECK(f.consumer.ack(batch[0]) == SettleResult::applied);
  CHECK(f.consumer.committed("t") == Offset{2});
}

TEST_CASE("The dead-letter topic of a group is made at subscribe: one partition, kept for ever",
          "[broker]") {
  Fixture f;
  const auto letters = f.broker.topic("__dead_letter.g");
  CHECK(letters.partitions() == 1);
  f.topic.publish({.payload = "x"});
  f.consumer.reject(take(f.consumer), "");
  f.broker.clock().advance(std::chrono::hours{24 * 365 * 20});
  f.broker.run_once();
  CHECK(f.broker.dead_letters("g").size() == 1);
}

TEST_CASE("First and last failure, the number of deliveries and the last error are told",
          "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 3}};
  f.topic.publish({.payload = "x"});
  const auto begin = f.broker.clock().wall_now();
  f.consumer.nack(take(f.consumer), {.delay = Duration{10s}, .error = "first"});
  const auto second = f.consumer.poll(1, 1h);
  const auto third = f.consumer.poll(1, 1h);
  REQUIRE(third.size() == 1);
  CHECK(third[0].number() == 3);
  f.consumer.nack(third[0], {.error = "third"});
  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].deliveries == 3);
  CHECK(letters[0].error == "third");
  CHECK(letters[0].first_failed_at == begin);
  CHECK(letters[0].last_failed_at == begin + 40s);
}

TEST_CASE("Deliveries run out by deadlines without any poll, exactly when the clock says so",
          "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}};
  publish_all(f.topic, {"0", "1"});
  const auto held = f.consumer.poll(1);
  f.broker.clock().advance(10s);
  const auto later = f.consumer.poll(1);
  f.broker.clock().advance(20s - 1ns);
  CHECK(f.broker.dead_letters("g").empty());
  f.broker.clock().advance(1ns);
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"0"});
  CHECK(f.broker.clock().advance_to_next_event());
  CHECK(f.now() == Instant{40s});
  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 2);
  CHECK(letters[1].error == "ack deadline passed");
  CHECK(letters[1].last_failed_at == f.broker.clock().wall_now());
  CHECK(f.consumer.committed("t") == Offset{2});
  CHECK(f.consumer.ack(held[0]) == SettleResult::already_settled);
}

TEST_CASE("Dead letters come in the order of failure, over all partitions", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}, {.partitions = 3}};
  for (const std::uint32_t id : {0U, 1U, 2U}) {
    f.topic.publish({.payload = std::to_string(id) + "a", .partition = PartitionId{id}});
    f.topic.publish({.payload = std::to_string(id) + "b", .partition = PartitionId{id}});
  }
  const auto batch = f.consumer.poll();
  REQUIRE(batch.size() == 6);
  const auto find = [&](std::string_view text) -> const brook::Delivery& {
    return *std::find_if(batch.begin(), batch.end(),
                         [&](const auto& d) { return d.text() == text; });
  };
  f.consumer.reject(find("2b"), "");
  f.consumer.nack(find("0a"));
  f.consumer.reject(find("1a"), "");
  CHECK(f.consumer.extend(find("1b"), 5s) == SettleResult::applied);
  CHECK(f.consumer.extend(find("2a"), 3s) == SettleResult::applied);
  f.broker.clock().advance(4s);
  f.consumer.reject(find("0b"), "");
  f.broker.clock().advance(1s);
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"2b", "0a", "1a", "2a", "0b", "1b"});
}

TEST_CASE("The automatic dead-letter topic takes messages of any size", "[broker]") {
  Fixture f;
  f.topic.publish({.key = std::string(64 << 10, 'k'), .payload = std::string(900 << 10, 'x')});
  std::vector<brook::Header> headers(1000, brook::Header{.name = "h", .value = "v"});
  f.topic.publish({.payload = "many", .headers = headers});
  for (const auto& delivery : f.consumer.poll(1)) f.consumer.reject(delivery, "");
  for (const auto& delivery : f.consumer.poll(1)) {
    f.consumer.reject(delivery, std::string(1 << 20, 'e'));
  }
  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 2);
  CHECK(letters[0].message.payload.size() == 900 << 10);
  CHECK(letters[1].message.headers == headers);
  CHECK(letters[1].error.size() == 1 << 20);
}

TEST_CASE("Dead letters go to a topic of the user's if it says so", "[broker]") {
  Failing f({.partitions = 2});
  CHECK_THROWS_AS(f.broker.topic("__dead_letter.g"), brook::UnknownTopic);
  f.topic.publish({.key = "k", .payload = "x"});
  f.consumer.reject(take(f.consumer), "e");
  const auto letters = f.broker.dead_letters("g");
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].error == "e");
  const PartitionId of_key{(brook::murmur2("k") & 0x7fff'ffffU) % 2};
  CHECK(f.failed.end(of_key) == Offset{1});
}

TEST_CASE("Two groups share a dead-letter topic and see their own letters", "[broker]") {
  Failing f({});
  auto other = f.broker.subscribe(
      "t", {.group = "other", .start = Start::earliest, .dead_letter_topic = "failed"});
  publish_all(f.topic, {"0", "1"});
  f.consumer.reject(take(f.consumer, 1), "mine");
  for (const auto& delivery : other.poll()) other.reject(delivery, "theirs");
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"0"});
  CHECK(texts(f.broker.dead_letters("other")) == Strings{"0", "1"});
  CHECK(stored(f.failed).size() == 3);
}

TEST_CASE("Without a dead-letter topic what is rejected or exhausted is dropped and counted",
          "[broker]") {
  Fixture f{{.group = "g",
             .start = Start::earliest,
             .max_deliveries = 2,
             .dead_letter_topic = DeadLetterTopic::none(),
             .exhausted = brook::Exhausted::drop}};
  CHECK(f.broker.topics().size() == 1);
  publish_all(f.topic, {"0", "1", "2"});
  const auto batch = f.consumer.poll();
  f.consumer.reject(batch[0], "");
  f.consumer.nack(batch[1], {.delay = Duration{0s}});
  f.consumer.nack(take(f.consumer));
  f.consumer.ack(batch[2]);
  const auto stats = f.broker.lag("g").stats();
  CHECK(stats.dropped == 2);
  CHECK(stats.dead_lettered == 0);
  CHECK(f.consumer.committed("t") == Offset{3});
  CHECK(f.broker.dead_letters("g").empty());
  CHECK(f.broker.redrive("g").redriven == 0);
}

TEST_CASE("Without a dead-letter topic and a limit a message comes again for ever", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .dead_letter_topic = DeadLetterTopic::none()}};
  f.topic.publish({.payload = "x"});
  for (std::uint32_t i = 1; i <= 50; ++i) {
    const auto batch = f.consumer.poll(1, 1h);
    REQUIRE(batch.size() == 1);
    CHECK(batch[0].number() == i);
    f.consumer.nack(batch[0]);
  }
}

TEST_CASE("Dead-lettering frees the key", "[broker]") {
  Fixture f;
  for (const char* const payload : {"0", "1"}) f.topic.publish({.key = "k", .payload = payload});
  const auto batch = f.consumer.poll(1);
  f.consumer.nack(batch[0], {.delay = Duration{0s}});
  const auto again = f.consumer.poll();
  REQUIRE(offsets(again) == Offsets{0});
  CHECK(f.consumer.poll(10, 1s).empty());
  f.consumer.reject(again[0], "");
  CHECK(offsets(f.consumer.poll()) == Offsets{1});
}

// ------------------------------------------------------------------- dead letters that cannot be w

TEST_CASE("A dead letter that cannot be written holds its key and blocks nobody else", "[broker]") {
  auto f = Failing::full({.group = "g", .start = Start::earliest, .max_outstanding_messages = 2});
  f.fill();
  for (const char* const key : {"a", "b", "a", "b"}) f.topic.publish({.key = key, .payload = key});
  f.topic.publish({.payload = "none"});
  f.consumer.reject(take(f.consumer, 1), "e");
  auto lag = f.lag();
  CHECK(lag.dead_lettering == 1);
  CHECK(lag.in_flight == 0);
  CHECK(lag.stats.dead_lettered == 0);
  CHECK(lag.messages == 4);
  CHECK(f.broker.dead_letters("g").empty());

  // Neither its key nor a slot: "a" waits, the rest flows.
  CHECK(consume(f.consumer) == Strings{"b", "b"});
  CHECK(consume(f.consumer) == Strings{"none"});
  CHECK(f.consumer.poll().empty());
  CHECK(f.consumer.committed("t") == Offset{0});

  f.make_room();
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{2});
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"a"});
  CHECK(f.lag().dead_lettering == 0);
  CHECK(f.lag().stats.dead_lettered == 1);
  CHECK(f.consumer.committed("t") == Offset{2});
}

TEST_CASE("A dead letter that cannot be written is tried again after a backoff that grows",
          "[broker]") {
  auto f = Failing::full();
  f.fill();
  f.topic.publish({.payload = "x"});
  f.consumer.reject(take(f.consumer), "e");
  std::vector<Duration> waits;
  Instant before = f.now();
  for (int i = 0; i < 9; ++i) {
    CHECK(f.broker.next_event_time() > f.now());
    REQUIRE(f.broker.clock().advance_to_next_event());
    waits.emplace_back(f.now() - before);
    before = f.now();
  }
  CHECK(waits ==
        std::vector<Duration>{100ms, 200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10s, 10s});
  f.make_room();
  REQUIRE(f.broker.clock().advance_to_next_event());
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"x"});
  CHECK(f.broker.next_event_time() == Instant::max());
}

TEST_CASE("A dead letter that could not be written is written once, in the end", "[broker]") {
  auto f = Failing::full();
  f.fill();
  f.topic.publish({.payload = "x"});
  const auto batch = f.consumer.poll();
  f.consumer.reject(batch[0], "e");
  for (int i = 0; i < 5; ++i) {
    f.broker.run_once();
    CHECK(f.consumer.poll(10, 1s).empty());
    CHECK(f.consumer.reject(batch[0], "e") == SettleResult::lease_lost);
    CHECK(f.consumer.ack(batch[0]) == SettleResult::lease_lost);
  }
  f.make_room();
  f.broker.clock().advance(1h);
  f.broker.run_once();
  CHECK(f.consumer.poll(10, 1h).empty());
  CHECK(f.failed.end(PartitionId{0}) == Offset{2});
  CHECK(f.consumer.ack(batch[0]) == SettleResult::already_settled);
}

TEST_CASE("A dead letter that is too large for its topic waits there for ever, and is not lost",
          "[broker]") {
  Failing f({.limits = {.max_message = 50}});
  f.topic.publish({.payload = "small, but not with nine headers more"});
  f.consumer.reject(take(f.consumer), "e");
  CHECK(f.lag().dead_lettering == 1);
  f.broker.clock().advance(1h);
  CHECK(f.lag().dead_lettering == 1);
  CHECK(f.failed.end(PartitionId{0}) == Offset{0});
}

TEST_CASE("A message on its way to the dead letters is pinned against trim", "[broker]") {
  auto f = Failing::full();
  f.fill();
  f.topic.publish({.key = "k", .payload = "pinned"});
  f.topic.publish({.key = "k", .payload = "lost"});
  f.topic.publish({.key = "k", .payload = "kept"});
  f.consumer.reject(take(f.consumer, 1), "e");
  f.topic.trim(PartitionId{0}, Offset{2});
  const auto losses = f.consumer.take_losses();
  REQUIRE(losses.size() == 1);
  CHECK(losses[0].range == brook::OffsetRange{.first = Offset{1}, .last = Offset{2}});
  CHECK(f.consumer.poll().empty());
  CHECK(f.consumer.committed("t") == Offset{0});
  f.make_room();
  CHECK(texts(f.consumer.poll(10, 1h)) == Strings{"kept"});
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"pinned"});
}

TEST_CASE("Dead letters that wait survive a seek and a change of members, and are written once",
          "[broker]") {
  auto f = Failing::full();
  f.fill();
  publish_all(f.topic, {"0", "1"});
  f.consumer.reject(take(f.consumer, 1), "e");
  f.consumer.seek(Start::earliest);
  CHECK(consume(f.consumer) == Strings{"0", "1"});
  f.consumer.close();
  f.make_room();
  f.broker.clock().advance(1h);
  CHECK(texts(f.broker.dead_letters("g")) == Strings{"0"});
  CHECK(f.failed.end(PartitionId{0}) == Offset{2});
  CHECK(f.lag().dead_lettering == 0);
}

TEST_CASE("Many dead letters wait for room and come in the order of failure", "[broker]") {
  Failing f({.retention = {.max_messages = 3}, .overflow = brook::Overflow::reject});
  publish_all(f.topic, {"0", "1", "2", "3", "4", "5"});
  const auto batch = f.consumer.poll();
  for (const std::size_t at : {3U, 1U, 5U, 0U, 4U, 2U}) f.consumer.reject(batch[at], "");
  CHECK(stored(f.failed) == Strings{"3", "1", "5"});
  CHECK(f.lag().dead_lettering == 3);
  f.make_room();
  f.broker.clock().advance(1h);
  CHECK(stored(f.failed) == Strings{"0", "4", "2"});
  CHECK(f.lag().dead_lettering == 0);
  CHECK(f.consumer.committed("t") == Offset{6});
}

TEST_CASE("A topic that holds dead letters makes room of what its readers have settled",
          "[broker]") {
  auto f = Failing::full();
  auto reader = f.broker.subscribe("failed", {.group = "reader", .start = Start::earliest});
  publish_all(f.topic, {"0", "1"});
  for (const auto& delivery : f.consumer.poll()) f.consumer.reject(delivery, "");
  CHECK(f.lag().dead_lettering == 1);
  CHECK(consume(reader) == Strings{"0"});
  CHECK(texts(reader.poll(10, 1h)) == Strings{"1"});
  CHECK(f.now() == Instant{100ms});
}

// ------------------------------------------------------------------------------------- what is due

TEST_CASE("The next event is exact: leases, backoffs, and nothing when nothing can happen",
          "[broker]") {
  Fixture f;
  CHECK(f.broker.next_event_time() == Instant::max());
  publish_all(f.topic, {"0", "1", "2"});
  CHECK(f.broker.next_event_time() == Instant::max());
  f.broker.clock().advance(1s);
  const auto first = f.consumer.poll(1);
  CHECK(f.broker.next_event_time() == Instant{31s});
  f.broker.clock().advance(1s);
  const auto second = f.consumer.poll(1);
  CHECK(f.broker.next_event_time() == Instant{31s});
  f.consumer.ack(first);
  CHECK(f.broker.next_event_time() == Instant{32s});
  CHECK(f.consumer.extend(second[0], 5s) == SettleResult::applied);
  CHECK(f.broker.next_event_time() == Instant{7s});
  CHECK(f.consumer.extend(second[0], 50s) == SettleResult::applied);
  CHECK(f.broker.next_event_time() == Instant{52s});
  f.consumer.nack(second[0]);
  CHECK(f.broker.next_event_time() == Instant{2100ms});
  f.broker.clock().advance(1h);
  CHECK(f.broker.next_event_time() == Instant::max());
  CHECK(consume(f.consumer) == Strings{"1", "2"});
  CHECK(f.broker.next_event_time() == Instant::max());
}

TEST_CASE("A failed message that was due does not make anybody forget later leases", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 2}, {.partitions = 2}};
  for (const std::uint32_t id : {0U, 0U, 1U, 1U}) {
    f.topic.publish({.payload = "x", .partition = PartitionId{id}});
  }
  const auto batch = f.consumer.poll();
  REQUIRE(batch.size() == 4);
  for (const auto& delivery : batch) {
    if (delivery.offset() == Offset{0}) f.consumer.nack(delivery, {.delay = Duration{0s}});
  }
  // Polls that reach one partition only.
  const auto one = f.consumer.poll(1);
  REQUIRE(one.size() == 1);
  f.broker.clock().advance(30s);
  CHECK(f.broker.lag("g").stats().expired == 3);
  CHECK(f.broker.dead_letters("g").size() == 1);
}

TEST_CASE("Work that is due is done by run_once, and once", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 1}};
  f.topic.publish({.payload = "x"});
  const auto held = f.consumer.poll();
  f.broker.run_once();
  CHECK(f.broker.dead_letters("g").empty());
  f.broker.clock().advance(30s);
  f.broker.run_once();
  f.broker.run_once();
  CHECK(f.broker.dead_letters("g").size() == 1);
}

TEST_CASE("Running until idle goes through backoffs and leases, and tells what waits for a poll",
          "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest, .max_deliveries = 2}, {.partitions = 2}};
  f.broker.create_topic("aging", {.retention = {.max_age = 24h}}).publish({.payload = "x"});
  for (const std::uint32_t id : {0U, 0U, 1U, 1U, 1U}) {
    f.topic.publish({.payload = "x", .partition = PartitionId{id}});
  }
  const auto batch = f.consumer.poll(2);
  REQUIRE(batch.size() == 2);
  REQUIRE(batch[0].partition() == PartitionId{0});
  f.consumer.nack(batch[0], {.delay = Duration{1min}});
  auto paused = f.broker.subscribe("t", {.group = "paused", .start = Start::earliest});
  paused.pause();

  const auto report = f.broker.clock().run_until_idle();
  CHECK(report.now == Instant{1min});
  CHECK(report.steps == 2);
  REQUIRE(report.backlog.size() == 2);
  CHECK(report.backlog[0].group == "g");
  CHECK(report.backlog[0].topic == "t");
  CHECK(report.backlog[0].partition == PartitionId{0});
  CHECK(report.backlog[0].messages == 2);
  CHECK(report.backlog[1].partition == PartitionId{1});
  CHECK(report.backlog[1].messages == 3);
  CHECK(f.broker.topic("aging").info().partitions[0].messages == 1);
  CHECK(f.consumer.poll().size() == 5);
}

TEST_CASE("Running until idle gives up on dead letters that can never be written", "[broker]") {
  auto f = Failing::full();
  f.fill();
  f.topic.publish({.payload = "x"});
  f.consumer.reject(take(f.consumer), "");
  CHECK_THROWS_AS(f.broker.clock().run_until_idle(50), brook::StepLimitReached);
}

TEST_CASE("A wall clock that jumps neither ends nor freezes a lease", "[broker]") {
  const auto jump = GENERATE(-24h * 365, 24h * 365);
  Fixture f;
  publish_all(f.topic, {"0", "1"});
  const auto held = f.consumer.poll(1);
  f.broker.clock().set_wall_now(f.broker.clock().wall_now() + jump);
  CHECK(held[0].live());
  f.consumer.nack(take(f.consumer), {.delay = Duration{1s}});
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{1});
  CHECK(f.now() == Instant{1s});
  f.broker.clock().set_wall_now(f.broker.clock().wall_now() - jump);
  CHECK(offsets(f.consumer.poll(10, 1h)) == Offsets{0});
  CHECK(f.now() == Instant{30s});
}

// --------------------------------------------------------------------------------------------- lag

TEST_CASE("Lag tells each state of each message", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}};
  auto lag = f.lag();
  CHECK(lag.topic == "t");
  CHECK(lag.messages == 0);
  CHECK(lag.offset_lag == 0);
  CHECK(lag.bytes == 0);
  CHECK_FALSE(lag.oldest_age.has_value());

  for (int i = 0; i < 10; ++i) {
    f.topic.publish({.payload = std::string(100, 'x')});
    f.broker.clock().advance(1s);
  }
  lag = f.lag();
  CHECK(lag.committed == Offset{0});
  CHECK(lag.start == Offset{0});
  CHECK(lag.end == Offset{10});
  CHECK(lag.messages == 10);
  CHECK(lag.offset_lag == 10);
  CHECK(lag.bytes == f.topic.info().partitions[0].bytes);
  CHECK(lag.oldest_age == Duration{10s});
  CHECK(lag.in_flight == 0);

  const auto batch = f.consumer.poll(6);
  f.consumer.ack(batch[0]);
  f.consumer.ack(batch[2]);
  f.consumer.nack(batch[3], {.delay = Duration{1h}});
  f.consumer.reject(batch[4], "");
  lag = f.lag();
  CHECK(lag.committed == Offset{1});
  CHECK(lag.messages == 7);
  CHECK(lag.offset_lag == 9);
  CHECK(lag.oldest_age == Duration{9s});
  CHECK(lag.in_flight == 2);
  CHECK(lag.retrying == 1);
  CHECK(lag.dead_lettering == 0);
  CHECK(lag.stats.deliveries == 6);
  CHECK(lag.stats.redeliveries == 0);
  CHECK(lag.stats.acked == 2);
  CHECK(lag.stats.nacked == 1);
  CHECK(lag.stats.dead_lettered == 1);

  f.topic.trim(PartitionId{0}, Offset{8});
  lag = f.lag();
  CHECK(lag.start == Offset{8});
  CHECK(lag.committed == Offset{8});
  CHECK(lag.messages == 2);
  CHECK(lag.offset_lag == 2);
  CHECK(lag.stats.lost == 5);
  CHECK(lag.in_flight == 0);
  CHECK(lag.retrying == 0);

  f.broker.clock().advance(30s);
  const auto rest = f.consumer.poll();
  f.broker.clock().advance(30s);
  CHECK(f.lag().stats.expired == 2);
  CHECK(f.consumer.poll().size() == 2);
  CHECK(f.lag().stats.redeliveries == 2);
}

TEST_CASE("Lag is told for each partition and group apart", "[broker]") {
  Fixture f{{.group = "g", .start = Start::earliest}, {.partitions = 3}};
  auto other = f.broker.subscribe("t", {.group = "other", .start = Start::latest});
  for (const std::uint32_t id : {1U, 2U, 2U}) {
    f.topic.publish({.payload = "x", .partition = PartitionId{id}});
  }
  const auto lag = f.broker.lag("g");
  CHECK(lag.group == "g");
  REQUIRE(lag.partitions.size() == 3);
  for (std::uint32_t id = 0; id < 3; ++id) {
    CHECK(lag.partitions[id].partition == PartitionId{id});
    CHECK(lag.partitions[id].messages == id);
  }
  CHECK(lag.messages() == 3);
  consume(other);
  CHECK(f.broker.lag("other").messages() == 0);
  CHECK(f.broker.lag("g").messages() == 3);
}

TEST_CASE("The age of the oldest message is never negative", "[broker]") {
  Fixture f;
  f.topic.publish({.payload = "x"});
  f.broker.clock().set_wall_now(f.broker.clock().wall_now() - 1h);
  CHECK(f.lag().oldest_age == Duration{0s});
}
