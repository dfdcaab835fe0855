#include <brook/broker/broker_state.hpp>

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"

// What a broker knows by name: interests, topics that come and go, cycles of dead letters, and what
// is due over all of it.

using brook::Duration;
using brook::Instant;
using brook::ManualBroker;
using brook::Message;
using brook::Offset;
using brook::PartitionId;
using brook::SettleResult;
using brook::Start;
using brook::SubscribeOptions;
using namespace std::chrono_literals;
using support::consume;
using support::Strings;
using support::texts;

namespace {

SubscribeOptions group(const char* name) {
  return {.group = name, .start = Start::earliest};
}
SubscribeOptions group(const char* name, const char* letters) {
  return {.group = name, .start = Start::earliest, .dead_letter_topic = letters};
}
SubscribeOptions without_letters(const char* name) {
  return {
      .group = name, .start = Start::earliest, .dead_letter_topic = brook::DeadLetterTopic::none()};
}

std::vector<std::string> names(const ManualBroker& broker) {
  std::vector<std::string> list;
  for (const auto& topic : broker.topics()) list.push_back(topic.name);
  return list;
}

Strings sorted(Strings list) {
  std::sort(list.begin(), list.end());
  return list;
}

}  // namespace

// ------------------------------------------------------------------------------------------ patter

TEST_CASE("A group reads every topic that one of its patterns matches", "[broker]") {
  ManualBroker broker;
  for (const char* const name :
       {"orders", "orders.eu", "orders.eu.created", "orders.us.created", "returns.eu"}) {
    broker.create_topic(name).publish({.payload = name});
  }
  const auto read = [&](const brook::Patterns& patterns) {
    auto consumer = broker.subscribe(patterns, without_letters("g"));
    auto list = sorted(consume(consumer));
    consumer.close();
    broker.delete_group("g");
    return list;
  };
  CHECK(read("orders.eu") == Strings{"orders.eu"});
  CHECK(read("orders.*") == Strings{"orders.eu"});
  CHECK(read("orders.#") ==
        Strings{"orders", "orders.eu", "orders.eu.created", "orders.us.created"});
  CHECK(read("#.created") == Strings{"orders.eu.created", "orders.us.created"});
  CHECK(read("*.eu.#") == Strings{"orders.eu", "orders.eu.created", "returns.eu"});
  CHECK(read("#") ==
        Strings{"orders", "orders.eu", "orders.eu.created", "orders.us.created", "returns.eu"});
  CHECK(read("nothing").empty());
  CHECK(read({"returns.#", "orders"}) == Strings{"orders", "returns.eu"});
}

TEST_CASE("A message that several patterns match comes once, for old topics and new", "[broker]") {
  ManualBroker broker;
  broker.create_topic("orders.eu").publish({.payload = "old"});
  auto consumer = broker.subscribe({"orders.eu", "orders.*", "orders.#", "#", "*.eu", "orders.*"},
                                   without_letters("g"));
  broker.create_topic("orders.us").publish({.payload = "new"});
  CHECK(sorted(consume(consumer)) == Strings{"new", "old"});
  CHECK(consumer.poll().empty());
  CHECK(consumer.commit().size() == 2);
}

TEST_CASE("A topic that is deleted is forgotten by every group that ever followed it", "[broker]") {
  ManualBroker broker;
  auto old = broker.create_topic("a.old");
  broker.create_topic("a.other");
  auto first = broker.subscribe("a.*", without_letters("first"));
  auto second = broker.subscribe("#", without_letters("second"));
  auto third = broker.subscribe("a.*", without_letters("third"));
  third.close();
  third = broker.subscribe("a.other", without_letters("third"));  // follows a.old no more
  old.publish({.payload = "old"});
  CHECK(consume(first) == Strings{"old"});
  CHECK(broker.lag("third").partitions.size() == 2);  // but keeps its position there

  broker.delete_topic("a.old");
  for (const char* const group : {"first", "second", "third"}) {
    CHECK(broker.lag(group).partitions.size() == 1);
  }
  CHECK(consume(second).empty());
  broker.create_topic("a.old").publish({.payload = "new"});
  CHECK(consume(first) == Strings{"new"});
  CHECK(consume(second) == Strings{"new"});
  CHECK(consume(third).empty());
}

TEST_CASE("Of many topics and groups, each group reads what its pattern selects", "[broker]") {
  ManualBroker broker;
  const auto topic = [](int i, int j) {
    return "t" + std::to_string(i) + ".u" + std::to_string(j);
  };
  for (int i = 0; i < 20; ++i) {
    for (int j = 0; j < 20; ++j) broker.create_topic(topic(i, j));
  }
  for (int i = 0; i < 20; i += 2) broker.delete_topic(topic(i, i));
  std::vector<brook::ManualConsumer> rows;
  std::vector<brook::ManualConsumer> columns;
  for (int i = 0; i < 20; ++i) {
    const std::string number = std::to_string(i);
    rows.push_back(broker.subscribe(
        "t" + number + ".*",
        {.group = "row" + number, .start = Start::earliest, .exhausted = brook::Exhausted::drop}));
    columns.push_back(broker.subscribe("#.u" + number, {.group = "column" + number,
                                                        .start = Start::earliest,
                                                        .exhausted = brook::Exhausted::drop}));
  }
  for (const auto& one : broker.topics()) broker.publish(one.name, {.payload = one.name});
  for (int i = 0; i < 20; ++i) {
    const auto place = static_cast<std::size_t>(i);
    Strings row;
    Strings column;
    for (int j = 0; j < 20; ++j) {
      if (i == j && i % 2 == 0) continue;
      row.push_back(topic(i, j));
      column.push_back(topic(j, i));
    }
    CHECK(sorted(consume(rows[place])) == sorted(row));
    CHECK(sorted(consume(columns[place])) == sorted(column));
  }
}

TEST_CASE("Internal topics are matched only by a pattern that begins with their own word",
          "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  auto consumer = broker.subscribe("t", group("g"));
  topic.publish({.payload = "x"});
  consumer.reject(support::take(consumer), "");
  const auto sees = [&](const brook::Patterns& patterns) {
    auto reader = broker.subscribe(patterns, without_letters("reader"));
    const auto list = texts(reader.poll());
    reader.close();
    broker.delete_group("reader");
    return !list.empty();
  };
  CHECK_FALSE(sees("*.g"));
  CHECK_FALSE(sees("#.g"));
  CHECK(sees("__dead_letter.g"));
  CHECK(sees("__dead_letter.*"));
  CHECK(sees("__dead_letter.#"));
  auto everything = broker.subscribe("#", without_letters("everything"));
  CHECK(everything.commit().size() == 1);
}

TEST_CASE("A dead-letter topic that is made later is read by who wants it, from its first message",
          "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  auto operators =
      broker.subscribe("__dead_letter.#", {.group = "operators",
                                           .start = Start::latest,
                                           .dead_letter_topic = brook::DeadLetterTopic::none()});
  auto consumer = broker.subscribe("t", group("g"));
  topic.publish({.payload = "x"});
  consumer.reject(support::take(consumer), "");
  CHECK(consume(operators) == Strings{"x"});
}

TEST_CASE("Invalid patterns are refused, all of them before anything is made", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  for (const char* const pattern : {"", ".", "a..b", ".a", "a.", "a*", "*a", "a b", "##"}) {
    CHECK_THROWS_AS(broker.subscribe(pattern, group("g")), brook::InvalidPattern);
    CHECK_THROWS_AS(broker.subscribe({"t", pattern}, group("g")), brook::InvalidPattern);
  }
  CHECK_THROWS_AS(broker.subscribe(brook::Patterns({}), group("g")), brook::InvalidArgument);
  CHECK(broker.groups().empty());
  CHECK(names(broker) == Strings{"t"});
}

// ------------------------------------------------------------------------- topics that come and go

TEST_CASE("A topic that is made later is read from its first message whatever the start",
          "[broker]") {
  for (const Start& start : {Start::latest, Start::earliest, Start::at_offset(Offset{1}),
                             Start::at_time(brook::Timestamp::max())}) {
    ManualBroker broker;
    auto old = broker.create_topic("t.old");
    old.publish({.payload = "before"});
    auto consumer = broker.subscribe("t.*", {.group = "g", .start = start});
    auto fresh = broker.create_topic("t.new", {.partitions = 2});
    fresh.publish({.payload = "0", .partition = PartitionId{0}});
    fresh.publish({.payload = "1", .partition = PartitionId{1}});
    old.publish({.payload = "after"});
    Strings expected{"0", "1", "after"};
    if (start == Start::earliest) expected.emplace_back("before");
    CHECK(sorted(consume(consumer)) == expected);
  }
}

TEST_CASE("A topic that auto-create makes is read from its first message", "[broker]") {
  ManualBroker broker{brook::BrokerOptions{.auto_create = brook::TopicConfig{}}};
  auto consumer = broker.subscribe("t.*", {.group = "g", .start = Start::latest});
  broker.publish("t.a", {.payload = "0"});
  broker.publish("t.a", {.payload = "1"});
  CHECK(consume(consumer) == Strings{"0", "1"});
}

TEST_CASE("A topic that is deleted and made again is another one", "[broker]") {
  ManualBroker broker;
  auto old = broker.create_topic("t");
  auto consumer = broker.subscribe("t", {.group = "g", .start = Start::latest});
  support::publish_all(old, {"old 0", "old 1", "old 2"});
  const auto held = consumer.poll(2);
  consumer.ack(held[0]);
  broker.delete_topic("t");
  CHECK(consumer.ack(held[1]) == SettleResult::stale);
  CHECK(consumer.poll().empty());
  CHECK(consumer.commit().empty());

  auto fresh = broker.create_topic("t");
  CHECK(fresh.id() != old.id());
  support::publish_all(fresh, {"new 0", "new 1"});
  CHECK(consumer.ack(held[1]) == SettleResult::stale);
  CHECK(consumer.ack(held[1].receipt()) == SettleResult::stale);
  CHECK(consumer.nack(held[1]) == SettleResult::stale);
  CHECK(consumer.ack(held).stale == 2);
  CHECK_FALSE(held[1].live());
  CHECK(held[1].text() == "old 1");
  const auto batch = consumer.poll();
  CHECK(texts(batch) == Strings{"new 0", "new 1"});
  CHECK(batch[0].number() == 1);
  CHECK(consumer.ack(batch).applied == 2);
  CHECK(consumer.committed("t") == Offset{2});
}

TEST_CASE("Deleting a topic frees the slots of what was on lease from it", "[broker]") {
  ManualBroker broker;
  auto a = broker.create_topic("a");
  auto b = broker.create_topic("b");
  auto consumer = broker.subscribe(
      {"a", "b"}, {.group = "g", .start = Start::earliest, .max_outstanding_messages = 1});
  a.publish({.payload = "a"});
  const auto held = consumer.poll();
  b.publish({.payload = "b"});
  CHECK(consumer.poll().empty());
  broker.delete_topic("a");
  CHECK(consume(consumer) == Strings{"b"});
  CHECK(broker.next_event_time() == Instant::max());
}

TEST_CASE("Every creation has an id of its own", "[broker]") {
  ManualBroker broker;
  std::set<brook::TopicId> ids;
  for (int i = 0; i < 10; ++i) {
    ids.insert(broker.create_topic("t").id());
    broker.delete_topic("t");
    ids.insert(broker.create_topic("t" + std::to_string(i)).id());
  }
  CHECK(ids.size() == 20);
}

// -------------------------------------------------------------------------------------- cycles

TEST_CASE("A group cannot read its own dead letters", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  broker.create_topic("failed");
  for (const brook::Patterns& patterns :
       {brook::Patterns("failed"), brook::Patterns("#"), brook::Patterns({"t", "nothing", "*"})}) {
    CHECK_THROWS_AS(broker.subscribe(patterns, group("g", "failed")), brook::DeadLetterCycle);
  }
  CHECK_NOTHROW(broker.subscribe({"t", "failed.*"}, group("g", "failed")));
}

TEST_CASE("Cycles of dead letters are refused, with their path, and leave nothing behind",
          "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  broker.create_topic("failed");
  SECTION("direct") {
    try {
      auto consumer = broker.subscribe({"t", "failed"}, group("g", "failed"));
      FAIL("not refused");
    } catch (const brook::DeadLetterCycle& error) {
      CHECK(error.name() == "g");
      CHECK(error.path() == "g -> g");
    }
    CHECK(broker.groups().empty());
    CHECK(names(broker) == Strings{"failed", "t"});
  }
  SECTION("the automatic topic") {
    CHECK_THROWS_AS(broker.subscribe({"t", "__dead_letter.g"}, group("g")), brook::DeadLetterCycle);
    CHECK_THROWS_AS(broker.subscribe("__dead_letter.#", group("g")), brook::DeadLetterCycle);
    CHECK(broker.groups().empty());
    CHECK(names(broker) == Strings{"failed", "t"});
  }
  SECTION("via a pattern") {
    CHECK_THROWS_AS(broker.subscribe("#", group("g", "failed")), brook::DeadLetterCycle);
    CHECK_THROWS_AS(broker.subscribe("*", group("g", "failed")), brook::DeadLetterCycle);
    CHECK(broker.groups().empty());
  }
  SECTION("via two groups") {
    auto first = broker.subscribe("t", group("first", "failed"));
    try {
      auto second = broker.subscribe("failed", group("second", "t"));
      FAIL("not refused");
    } catch (const brook::DeadLetterCycle& error) {
      CHECK(error.name() == "second");
      CHECK(error.path() == "second -> first -> second");
    }
    CHECK(broker.groups() == Strings{"first"});
    CHECK_NOTHROW(broker.subscribe("failed", group("second")));
  }
  SECTION("via three groups and patterns") {
    broker.create_topic("a.x");
    broker.create_topic("b.x");
    auto first = broker.subscribe("a.*", group("first", "b.x"));
    auto second = broker.subscribe("b.#", group("second", "failed"));
    CHECK_THROWS_AS(broker.subscribe("failed", group("third", "a.x")), brook::DeadLetterCycle);
    CHECK_THROWS_AS(broker.subscribe("#", group("third", "b.x")), brook::DeadLetterCycle);
    CHECK_NOTHROW(broker.subscribe("failed", group("third")));
  }
  SECTION("by a member with other patterns") {
    broker.subscribe("t", group("g", "failed")).close();
    CHECK_THROWS_AS(broker.subscribe("#", group("g", "failed")), brook::DeadLetterCycle);
    auto consumer = broker.subscribe("t", group("g", "failed"));
    broker.publish("t", {.payload = "x"});
    CHECK(consume(consumer) == Strings{"x"});
  }
  SECTION("an auto-created dead-letter topic is not left behind either") {
    ManualBroker creating{brook::BrokerOptions{.auto_create = brook::TopicConfig{}}};
    CHECK_THROWS_AS(creating.subscribe("#", group("g", "failed")), brook::DeadLetterCycle);
    CHECK(creating.topics().empty());
  }
}

TEST_CASE("A chain of dead letters without a cycle is fine", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  auto first = broker.subscribe("t", group("first"));
  auto second = broker.subscribe("__dead_letter.first", group("second"));
  auto third = broker.subscribe("__dead_letter.second", group("third"));
  topic.publish({.key = "k", .payload = "x"});
  first.reject(support::take(first), "1");
  second.reject(support::take(second), "2");
  third.reject(support::take(third), "3");
  const auto letters = broker.dead_letters("third");
  REQUIRE(letters.size() == 1);
  CHECK(letters[0].error == "3");
  CHECK(letters[0].source_topic == "__dead_letter.second");
  CHECK(letters[0].message.headers.size() == 18);
}

// -------------------------------------------------------------------- what fails leaves nothing

TEST_CASE("A subscribe whose start does not exist leaves nothing behind", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t");
  support::publish_all(topic, {"0", "1"});
  topic.trim(PartitionId{0}, Offset{1});
  CHECK_THROWS_AS(broker.subscribe("t", {.group = "g", .start = Start::at_offset(Offset{3})}),
                  brook::OffsetOutOfRange);
  CHECK_THROWS_AS(broker.subscribe("t", {.group = "g", .start = Start::at_offset(Offset{0})}),
                  brook::OffsetTooOld);
  CHECK(broker.groups().empty());
  CHECK(names(broker) == Strings{"t"});
  broker.create_topic("t2");
  CHECK(
      broker.subscribe("t", {.group = "g", .start = Start::at_offset(Offset{2})}).committed("t") ==
      Offset{2});
}

TEST_CASE("A later member whose start does not exist changes nothing", "[broker]") {
  ManualBroker broker;
  auto a = broker.create_topic("a");
  auto b = broker.create_topic("b");
  support::publish_all(a, {"0", "1", "2"});
  const SubscribeOptions options{.group = "g", .start = Start::at_offset(Offset{2})};
  broker.subscribe("a", options).close();
  CHECK_THROWS_AS(broker.subscribe({"a", "b"}, options), brook::OffsetOutOfRange);
  auto consumer = broker.subscribe("a", options);
  b.publish({.payload = "b"});
  CHECK(consume(consumer) == Strings{"2"});
}

TEST_CASE("A missing dead-letter topic is refused, or made where the broker auto-creates",
          "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  CHECK_THROWS_AS(broker.subscribe("t", group("g", "failed")), brook::UnknownTopic);
  CHECK(broker.groups().empty());
  CHECK(names(broker) == Strings{"t"});

  ManualBroker creating{brook::BrokerOptions{.auto_create = brook::TopicConfig{.partitions = 3}}};
  auto consumer = creating.subscribe("t", group("g", "failed"));
  CHECK(creating.topic("failed").partitions() == 3);
  CHECK_THROWS_AS(creating.delete_topic("failed"), brook::TopicInUse);
}

// -------------------------------------------------------------------------------------- due work

TEST_CASE("Retention by age is an event, runs when the clock gets there, and is not a delivery",
          "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t", {.retention = {.max_age = 1h}});
  broker.clock().advance(1500us);
  topic.publish({.payload = "x"});
  // The wall clock shows whole milliseconds: the message is an hour old when they say so.
  CHECK(broker.next_event_time() == Instant{1h + 1ms});
  CHECK(broker.clock().run_until_idle().now == Instant{1500us});
  broker.clock().advance(1h - 500us - 1ns);
  CHECK(topic.start(PartitionId{0}) == Offset{0});
  broker.clock().advance(1ns);
  CHECK(topic.start(PartitionId{0}) == Offset{1});
  CHECK(broker.next_event_time() == Instant::max());
}

TEST_CASE("Retention goes by the wall clock, also when it jumps", "[broker]") {
  ManualBroker broker;
  auto topic = broker.create_topic("t", {.retention = {.max_age = 1h}});
  topic.publish({.payload = "x"});
  broker.clock().set_wall_now(broker.clock().wall_now() - 1h);
  CHECK(broker.next_event_time() == Instant{2h});
  broker.clock().set_wall_now(broker.clock().wall_now() + 3h);
  CHECK(broker.next_event_time() == broker.clock().now());
  CHECK(topic.start(PartitionId{0}) == Offset{0});
  broker.run_once();
  CHECK(topic.start(PartitionId{0}) == Offset{1});
}

TEST_CASE("Two brokers share one clock", "[broker]") {
  brook::ManualClock clock;
  ManualBroker one{clock};
  ManualBroker other{clock};
  one.create_topic("t").publish({.payload = "x"});
  other.create_topic("t").publish({.payload = "y"});
  auto mine = one.subscribe("t", {.group = "g", .start = Start::earliest, .ack_deadline = 10s});
  auto theirs = other.subscribe("t", {.group = "g", .start = Start::earliest, .max_deliveries = 1});
  const auto held = theirs.poll();
  CHECK(texts(mine.poll()) == Strings{"x"});
  CHECK(clock.next_event_time() == Instant{10s});
  CHECK(mine.poll(1, 1h).size() == 1);
  CHECK(mine.poll(1, 10s).size() == 1);
  CHECK(mine.poll(1, 10s).size() == 1);
  CHECK(clock.now() == Instant{30s});
  CHECK(other.dead_letters("g").size() == 1);
  // A delivery knows its broker.
  CHECK_THROWS_AS(mine.ack(held[0]), brook::ForeignDelivery);
  other.close();
  clock.advance(1h);
}

// ------------------------------------------------------------------------------- errors and messag

TEST_CASE("Errors carry what they are about", "[broker]") {
  ManualBroker broker;
  broker.create_topic("t");
  const auto check = [](auto call, std::string_view name, std::string_view part) {
    try {
      call();
      FAIL("not refused");
    } catch (const brook::NameError& error) {
      CHECK(error.name() == name);
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring(std::string(part)));
    }
  };
  check([&] { broker.create_topic("t"); }, "t", "exists already");
  check([&] { broker.delete_topic("u"); }, "u", "no topic 'u'");
  check([&] { broker.create_topic("__t"); }, "__t", "internal");
  check([&] { broker.delete_group("h"); }, "h", "no group 'h'");
  auto consumer = broker.subscribe("t", group("g"));
  check([&] { broker.delete_group("g"); }, "g", "close its consumer first");
  try {
    broker.delete_topic("__dead_letter.g");
    FAIL("not refused");
  } catch (const brook::TopicInUse& error) {
    CHECK(error.name() == "__dead_letter.g");
    CHECK(error.group() == "g");
  }
  try {
    auto second = broker.subscribe("t", {.group = "g", .start = Start::latest});
    FAIL("not refused");
  } catch (const brook::GroupOptionsDiffer& error) {
    CHECK(error.name() == "g");
    CHECK(error.option() == "start");
  }
}
