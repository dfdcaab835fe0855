#include <brook/topic/topic_names.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/topic_cases.hpp"

using brook::TopicNames;

namespace {

using Ints = std::vector<int>;

/// What the visitor got, sorted; twice if it got it twice.
template <class Names>
Ints found(const Names& names, std::string_view pattern) {
  Ints values;
  names.match(pattern, [&](int value) { values.push_back(value); });
  std::sort(values.begin(), values.end());
  return values;
}

struct CollidingHash {
  std::uint64_t operator()(std::string_view, std::uint64_t) const noexcept { return 42; }
};

/// All valid topics of a dialect together, asked for by every valid pattern. @return patterns that
/// matched something
template <class Syntax, class Hash = brook::SegmentHash>
int check_together(std::string_view dialect) {
  TopicNames<int, Syntax, Hash> names;
  std::vector<std::string> topics;
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    if (!row.topic || !brook::is_valid_topic<Syntax>(*row.topic)) continue;
    if (names.insert(*row.topic, static_cast<int>(topics.size()))) topics.push_back(*row.topic);
  }
  int matching = 0;
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    if (!row.pattern || !brook::is_valid_pattern<Syntax>(*row.pattern)) continue;
    Ints expected;
    for (std::size_t i = 0; i < topics.size(); ++i) {
      if (brook::matches<Syntax>(*row.pattern, topics[i])) expected.push_back(static_cast<int>(i));
    }
    INFO("pattern '" << *row.pattern << "'");
    CHECK(found(names, *row.pattern) == expected);
    matching += expected.empty() ? 0 : 1;
  }
  return matching;
}

/// Each row alone.
template <class Syntax>
int check_rows(std::string_view dialect) {
  int rows = 0;
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    INFO("pattern '" << row.pattern.value_or("-") << "' topic '" << row.topic.value_or("-") << "'");
    ++rows;
    TopicNames<int, Syntax> names;
    if (row.expected == "invalid-topic") {
      CHECK_THROWS_AS(names.insert(row.topic.value(), 7), brook::InvalidTopicName);
      CHECK(names.empty());
      CHECK(names.memory_use() == 0);
      continue;
    }
    if (row.topic && brook::is_valid_topic<Syntax>(*row.topic)) names.insert(*row.topic, 7);
    if (row.expected == "invalid-pattern") {
      CHECK_THROWS_AS(names.match(row.pattern.value(), [](int) { FAIL("visited"); }),
                      brook::InvalidPattern);
    } else {
      CHECK(found(names, row.pattern.value()) == (row.expected == "match" ? Ints{7} : Ints{}));
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the example of TopicNames does what it says", "[topic]") {
  Ints opened;
  const auto open = [&](int topic) { opened.push_back(topic); };

  brook::TopicNames<int> names;
  names.insert("orders.eu.created", 1);
  names.insert("orders.us.created", 2);
  names.match("orders.*.created", [&](int topic) { open(topic); });  // 1 and 2

  std::sort(opened.begin(), opened.end());
  CHECK(opened == Ints{1, 2});
}

TEST_CASE("TopicNames agrees with the cases of public brokers in all dialects", "[topic]") {
  CHECK(check_rows<brook::AmqpSyntax>("amqp") == 264);
  CHECK(check_rows<brook::MqttSyntax>("mqtt") == 258);
  CHECK(check_rows<brook::NatsSyntax>("nats") == 39);
}

TEST_CASE("all names together are found as each is alone", "[topic]") {
  CHECK(check_together<brook::AmqpSyntax>("amqp") > 50);
  CHECK(check_together<brook::MqttSyntax>("mqtt") > 50);
  CHECK(check_together<brook::NatsSyntax>("nats") > 5);
}

TEST_CASE("a hash by which all segments are the same changes nothing", "[topic]") {
  CHECK(check_together<brook::AmqpSyntax, CollidingHash>("amqp") > 50);
  CHECK(check_together<brook::MqttSyntax, CollidingHash>("mqtt") > 50);
}

TEST_CASE("an index without names finds nothing", "[topic]") {
  TopicNames<int> names;
  CHECK(names.empty());
  CHECK(names.memory_use() == 0);
  CHECK(found(names, "#").empty());
  CHECK(found(names, "").empty());
  CHECK(names.find("a") == nullptr);
  CHECK_FALSE(names.erase("a"));
  CHECK_FALSE(names.erase(""));
  names.clear();
  CHECK(names.size() == 0);
}

TEST_CASE("a topic is held once, with its first value", "[topic]") {
  TopicNames<int> names;
  CHECK(names.insert("a.b", 1));
  CHECK_FALSE(names.insert("a.b", 2));
  CHECK(names.size() == 1);
  REQUIRE(names.find("a.b") != nullptr);
  CHECK(*names.find("a.b") == 1);
  CHECK(names.find("a") == nullptr);
  CHECK(names.erase("a.b"));
  CHECK_FALSE(names.erase("a.b"));
  CHECK_FALSE(names.erase("a"));
  CHECK(names.insert("a.b", 2));
  CHECK(found(names, "a.*") == Ints{2});
}

TEST_CASE("erasing a topic leaves the values of the others where they belong", "[topic]") {
  TopicNames<std::shared_ptr<int>> names;
  std::vector<std::shared_ptr<int>> values;
  for (int i = 0; i < 10; ++i) {
    values.push_back(std::make_shared<int>(i));
    names.insert("t." + std::to_string(i), values.back());
  }
  for (const int gone : {0, 9, 4}) {
    CHECK(names.erase("t." + std::to_string(gone)));
    CHECK(values[static_cast<std::size_t>(gone)].use_count() == 1);
  }
  for (const int left : {1, 2, 3, 5, 6, 7, 8}) {
    const auto* const value = names.find("t." + std::to_string(left));
    REQUIRE(value != nullptr);
    CHECK(**value == left);
    int visits = 0;
    names.match("t." + std::to_string(left), [&](const std::shared_ptr<int>& one) {
      CHECK(*one == left);
      ++visits;
    });
    CHECK(visits == 1);
  }
  std::size_t count = 0;
  names.for_each([&](const std::shared_ptr<int>&) { ++count; });
  CHECK(count == 7);
}

TEST_CASE("topics and patterns beyond the limits are refused, and nothing is changed", "[topic]") {
  TopicNames<int> names({.limits = {.max_size = 10, .max_segments = 3}});
  CHECK(names.insert("a.b.c", 1));
  CHECK_THROWS_AS(names.insert("a.b.c.d", 1), brook::InvalidTopicName);
  CHECK_THROWS_AS(names.insert("0123456789a", 1), brook::InvalidTopicName);
  CHECK_THROWS_AS(found(names, "a.b.c.#"), brook::InvalidPattern);
  CHECK_THROWS_AS(found(names, "0123456789a"), brook::InvalidPattern);
  CHECK_FALSE(names.erase("a.b.c.d"));
  CHECK_FALSE(names.erase("0123456789a"));
  CHECK(names.find("0123456789a") == nullptr);
  CHECK(names.size() == 1);
  CHECK_THROWS_AS(TopicNames<int>({.limits = {.max_size = 0}}), brook::InvalidArgument);
}

TEST_CASE("a name of 10,000 segments is found without recursion", "[topic]") {
  TopicNames<int> names({.limits = {.max_size = 100'000, .max_segments = 10'000}});
  std::string name = "a";
  std::string pattern = "#";
  for (int i = 1; i < 10'000; ++i) name += ".a";
  for (int i = 1; i < 100; ++i) pattern += ".a.#";
  CHECK(names.insert(name, 1));
  CHECK(found(names, "#.a") == Ints{1});
  CHECK(found(names, pattern) == Ints{1});
  CHECK(found(names, name) == Ints{1});
  CHECK(names.erase(name));
  CHECK(names.memory_use() == 0);
}

TEST_CASE("seven '#' against 24 segments find one topic once", "[topic]") {
  TopicNames<int> names;
  std::string name = "a";
  for (int i = 1; i < 24; ++i) name += ".a";
  names.insert(name, 1);
  names.insert(name + ".b", 2);
  CHECK(found(names, "#.a.#.a.#.a.#.a.#.a.#.a.#") == Ints{1, 2});
  CHECK(found(names, "#.a.#.a.#.a.#.a.#.a.#.a.#.b") == Ints{2});
}

TEST_CASE("the memory of topics goes with them, and comes back to none", "[topic]") {
  const support::CountAllocations allocations;
  TopicNames<int> names;
  constexpr int count = 3'000;
  const auto name = [](int i) {
    return "t." + std::to_string(i % 7) + "." + std::to_string(i) + "-a-rather-long-segment";
  };
  for (int i = 0; i < count; ++i) names.insert(name(i), i);
  const std::size_t full = names.memory_use();
  for (int i = 0; i < count - 10; ++i) REQUIRE(names.erase(name(i)));
  CHECK(names.memory_use() < full / 8);
  CHECK(found(names, "#").size() == 10);
  for (int i = count - 10; i < count; ++i) REQUIRE(names.erase(name(i)));
  CHECK(names.memory_use() == 0);
  for (int i = 0; i < count; ++i) names.insert(name(i), i);
  names.clear();
  CHECK(names.memory_use() == 0);
  CHECK(names.insert("a", 1));
}

TEST_CASE("a moved-from index of names is empty and may be used again", "[topic]") {
  TopicNames<int> names;
  names.insert("a.b", 1);
  TopicNames<int> moved(std::move(names));
  CHECK(found(moved, "#") == Ints{1});
  CHECK(names.empty());
  CHECK(found(names, "#").empty());
  CHECK(names.insert("c", 2));
  names = std::move(moved);
  CHECK(found(names, "#") == Ints{1});
}

TEST_CASE("a visitor that throws ends the match and harms nothing", "[topic]") {
  TopicNames<int> names;
  for (int i = 0; i < 5; ++i) names.insert("t." + std::to_string(i), i);
  int visits = 0;
  CHECK_THROWS_AS(names.match("t.*",
                              [&](int) {
                                if (++visits == 2) throw 1;
                              }),
                  int);
  CHECK(visits == 2);
  CHECK(found(names, "t.*").size() == 5);
}
