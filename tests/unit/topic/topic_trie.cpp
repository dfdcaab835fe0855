#include <brook/topic/topic_trie.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/topic/pattern.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/topic_cases.hpp"

using brook::TopicTrie;

namespace {

using Ints = std::vector<int>;
using Pairs = std::vector<std::pair<std::string, int>>;

static_assert(brook::TopicTrieValue<int>);
static_assert(brook::TopicTrieValue<std::string>);
static_assert(brook::TopicTrieValue<std::unique_ptr<int>>);
struct NoEquality {};
static_assert(!brook::TopicTrieValue<NoEquality>);
struct NoHash {
  bool operator==(const NoHash&) const = default;
};
static_assert(!brook::TopicTrieValue<NoHash>);

static_assert(std::is_nothrow_move_constructible_v<TopicTrie<int>>);
static_assert(std::is_nothrow_move_assignable_v<TopicTrie<int>>);
static_assert(!std::is_copy_constructible_v<TopicTrie<int>>);

/// What the visitor got, sorted; twice if it got it twice.
template <class Syntax>
Ints found(const TopicTrie<int, Syntax>& trie, std::string_view topic) {
  Ints values;
  trie.match(topic, [&](int value) { values.push_back(value); });
  std::sort(values.begin(), values.end());
  CHECK(trie.matches_any(topic) == !values.empty());
  return values;
}

Pairs content(const TopicTrie<int>& trie) {
  Pairs pairs;
  trie.for_each([&](std::string_view pattern, int value) {
    pairs.emplace_back(std::string(pattern), value);
  });
  std::sort(pairs.begin(), pairs.end());
  CHECK(pairs.size() == trie.size());
  CHECK(pairs.empty() == trie.empty());
  return pairs;
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

const brook::TopicIndexOptions deep{.limits = {.max_size = 100'000, .max_segments = 10'000}};

struct AtLeastOne {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '#';
  static constexpr brook::SyntaxRules rules{.multi_matches_none = false, .hides_dollar = true};
};

struct SlashSyntax {
  static constexpr char separator = '/';
  static constexpr char single_wildcard = '+';
  static constexpr char multi_wildcard = '>';
  static constexpr brook::SyntaxRules rules{};
};

}  // namespace

TEST_CASE("the example of TopicTrie does what it says", "[topic]") {
  Ints notified;
  const auto notify = [&](int subscriber) { notified.push_back(subscriber); };

  brook::TopicTrie<int> trie;
  trie.insert("orders.*.created", 1);
  trie.insert("orders.#", 1);
  trie.insert("returns.#", 2);
  trie.match("orders.eu.created", [&](int subscriber) { notify(subscriber); });  // 1, once

  CHECK(notified == Ints{1});
}

namespace {

template <class Syntax>
int check_rows(std::string_view dialect) {
  int rows = 0;
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    INFO("pattern '" << row.pattern.value_or("-") << "' topic '" << row.topic.value_or("-") << "'");
    ++rows;
    TopicTrie<int, Syntax> trie;
    if (row.expected == "invalid-pattern") {
      CHECK_THROWS_AS(trie.insert(row.pattern.value(), 7), brook::InvalidPattern);
      CHECK(trie.empty());
      CHECK(trie.memory_use() == 0);
    } else if (row.expected == "invalid-topic") {
      if (row.pattern) REQUIRE(trie.insert(*row.pattern, 7));
      CHECK_THROWS_AS(trie.match(row.topic.value(), [](int) { FAIL("visited"); }),
                      brook::InvalidTopicName);
      CHECK_THROWS_AS(trie.matches_any(*row.topic), brook::InvalidTopicName);
    } else {
      REQUIRE(trie.insert(row.pattern.value(), 7));
      CHECK(found(trie, row.topic.value()) == (row.expected == "match" ? Ints{7} : Ints{}));
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("TopicTrie agrees with the cases of public brokers in all dialects", "[topic]") {
  CHECK(check_rows<brook::AmqpSyntax>("amqp") == 264);
  CHECK(check_rows<brook::MqttSyntax>("mqtt") == 258);
  CHECK(check_rows<brook::NatsSyntax>("nats") == 39);
}

namespace {

/// All valid patterns of a dialect together in one trie, asked for every valid topic.
template <class Syntax>
void check_together(std::string_view dialect) {
  TopicTrie<int, Syntax> trie;
  std::vector<std::string> patterns;
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    if (!row.pattern || !brook::is_valid_pattern<Syntax>(*row.pattern)) continue;
    trie.insert(*row.pattern, static_cast<int>(patterns.size()));
    patterns.push_back(*row.pattern);
  }
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    if (!row.topic || !brook::is_valid_topic<Syntax>(*row.topic)) continue;
    Ints expected;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (brook::matches<Syntax>(patterns[i], *row.topic)) expected.push_back(static_cast<int>(i));
    }
    INFO("topic '" << *row.topic << "'");
    CHECK(found(trie, *row.topic) == expected);
  }
}

}  // namespace

TEST_CASE("all cases together in one trie find what each finds alone", "[topic]") {
  check_together<brook::AmqpSyntax>("amqp");
  check_together<brook::MqttSyntax>("mqtt");
  check_together<brook::NatsSyntax>("nats");
}

TEST_CASE("an empty trie matches nothing", "[topic]") {
  TopicTrie<int> trie;
  CHECK(trie.empty());
  CHECK(trie.size() == 0);
  CHECK(trie.node_count() == 0);
  CHECK(found(trie, "").empty());
  CHECK(found(trie, "orders").empty());
  CHECK_FALSE(trie.erase("orders", 1));
  CHECK(trie.erase("orders") == 0);
  CHECK(trie.erase("") == 0);
  trie.clear();
  CHECK(content(trie).empty());
}

TEST_CASE("a value that several patterns match is visited once", "[topic]") {
  TopicTrie<int> trie;
  for (const std::string_view pattern :
       {"orders.eu.created", "orders.*.created", "orders.#", "#", "#.created", "*.*.*", "#.#",
        "#.eu.#", "orders.#.created"}) {
    CHECK(trie.insert(pattern, 1));
  }
  CHECK(trie.insert("orders.*.created", 2));
  CHECK(trie.insert("returns.#", 3));
  CHECK(trie.size() == 11);
  CHECK(found(trie, "orders.eu.created") == Ints{1, 2});
  CHECK(found(trie, "returns") == Ints{1, 3});
}

TEST_CASE("the same pair is held once, whatever is inserted how often", "[topic]") {
  TopicTrie<int> trie;
  CHECK(trie.insert("a.*", 1));
  CHECK_FALSE(trie.insert("a.*", 1));
  CHECK(trie.insert("a.*", 2));
  CHECK(trie.insert("a.#", 1));
  CHECK(trie.size() == 3);
  CHECK(content(trie) == Pairs{{"a.#", 1}, {"a.*", 1}, {"a.*", 2}});
  CHECK(trie.erase("a.*", 1));
  CHECK_FALSE(trie.erase("a.*", 1));
  CHECK(found(trie, "a.b") == Ints{1, 2});
}

TEST_CASE("two spellings of one meaning are two patterns", "[topic]") {
  TopicTrie<int> trie;
  CHECK(trie.insert("#.*", 1));
  CHECK(trie.insert("*.#", 1));
  CHECK(trie.insert("#.*.#", 1));
  CHECK(found(trie, "a.b") == Ints{1});
  CHECK(trie.erase("#.*", 1));
  CHECK(content(trie) == Pairs{{"#.*.#", 1}, {"*.#", 1}});
  CHECK(found(trie, "a.b") == Ints{1});
}

TEST_CASE("'*' and '#' in a topic are words, not wildcards", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("a.b", 1);
  trie.insert("a.*", 2);
  trie.insert("a.#.c", 3);
  trie.insert("a*", 4);
  trie.insert("*a", 5);
  trie.insert("##", 6);
  CHECK(found(trie, "a.*") == Ints{2});
  CHECK(found(trie, "a.#") == Ints{2});
  CHECK(found(trie, "*.b").empty());
  CHECK(found(trie, "#").empty());
  CHECK(found(trie, "a.#.c") == Ints{3});
  CHECK(found(trie, "a.*.*.c") == Ints{3});
  CHECK(found(trie, "a*") == Ints{4});
  CHECK(found(trie, "ab").empty());
  CHECK(found(trie, "ba").empty());
  CHECK(found(trie, "*a") == Ints{5});
  CHECK(found(trie, "##") == Ints{6});
}

TEST_CASE("empty segments and any bytes are words, the empty topic has none", "[topic]") {
  using namespace std::string_view_literals;
  TopicTrie<int> trie;
  trie.insert("", 1);
  trie.insert("#", 2);
  trie.insert("*", 3);
  trie.insert(".", 4);
  trie.insert("a\0b.*"sv, 5);
  CHECK(found(trie, "") == Ints{1, 2});
  CHECK(found(trie, ".") == Ints{2, 4});
  CHECK(found(trie, "a") == Ints{2, 3});
  CHECK(found(trie, "a\0b."sv) == Ints{2, 5});
  CHECK(found(trie, "a."sv) == Ints{2});
  CHECK(trie.erase("") == 1);
  CHECK(found(trie, "") == Ints{2});
}

TEST_CASE("erasing a pattern takes all its values and no other pattern's", "[topic]") {
  TopicTrie<int> trie;
  for (int value = 0; value < 100; ++value) {
    trie.insert("a.#", value);
    trie.insert("a.b", value);
  }
  CHECK(trie.erase("a.#") == 100);
  CHECK(trie.erase("a.#") == 0);
  CHECK(trie.erase("a") == 0);
  CHECK(trie.erase("a.b.c") == 0);
  CHECK(trie.size() == 100);
  CHECK(found(trie, "a.b").size() == 100);
  CHECK(found(trie, "a.c").empty());
}

TEST_CASE("erasing gives back every node that no pattern needs", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("a.*", 1);
  const std::size_t before = trie.node_count();
  CHECK(before > 0);
  trie.insert("a.*.c.#.d", 1);
  trie.insert("a.*.c.#.e", 1);
  CHECK(trie.node_count() > before);
  CHECK(trie.erase("a.*.c.#.d", 1));
  CHECK(found(trie, "a.b.c.e") == Ints{1});
  CHECK(trie.erase("a.*.c.#.e", 1));
  CHECK(trie.node_count() == before);
  CHECK(found(trie, "a.b") == Ints{1});
  CHECK(trie.erase("a.*", 1));
  CHECK(trie.node_count() == 0);
}

TEST_CASE("a pattern in the middle of another one comes and goes alone", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("a.b.c", 1);
  const std::size_t nodes = trie.node_count();
  trie.insert("a.b", 2);
  CHECK(trie.node_count() == nodes);
  CHECK(trie.erase("a.b", 2));
  CHECK(trie.node_count() == nodes);
  CHECK(found(trie, "a.b").empty());
  CHECK(content(trie) == Pairs{{"a.b.c", 1}});
}

TEST_CASE("a value goes with its pattern", "[topic]") {
  TopicTrie<std::shared_ptr<int>> trie;
  const auto subscriber = std::make_shared<int>(1);
  trie.insert("a", subscriber);
  trie.insert("b.#", subscriber);
  trie.insert("c.*", subscriber);
  CHECK(subscriber.use_count() == 4);
  trie.erase("a", subscriber);
  CHECK(trie.erase("c.*") == 1);
  CHECK(subscriber.use_count() == 2);
  trie.match("b.x", [&](const std::shared_ptr<int>& value) { CHECK(value == subscriber); });
  trie.erase("b.#", subscriber);
  CHECK(subscriber.use_count() == 1);
  trie.insert("a", subscriber);
  trie.clear();
  CHECK(subscriber.use_count() == 1);
  CHECK_FALSE(trie.insert("a", subscriber) == trie.insert("a", subscriber));
}

TEST_CASE("a trie can be emptied and filled again and again without growing", "[topic]") {
  TopicTrie<std::string> trie;
  std::size_t nodes = 0;
  for (int round = 0; round < 100; ++round) {
    const std::string unique = std::to_string(round);
    trie.insert("a." + unique + ".#", "subscriber " + unique);
    trie.insert("a.#." + unique, "subscriber " + unique);
    if (round == 0) nodes = trie.node_count();
    CHECK(trie.node_count() == nodes);
    CHECK(trie.matches_any("a." + unique));
    CHECK_FALSE(trie.matches_any("a.x"));
    CHECK(trie.erase("a." + unique + ".#") == 1);
    CHECK(trie.erase("a.#." + unique, "subscriber " + unique));
  }
  CHECK(trie.empty());
  CHECK(trie.node_count() == 0);
}

TEST_CASE("moving a trie leaves an empty one that works", "[topic]") {
  TopicTrie<int> first;
  first.insert("a.#", 1);
  TopicTrie<int> second(std::move(first));
  CHECK(found(second, "a.b") == Ints{1});
  CHECK(first.empty());  // NOLINT(bugprone-use-after-move)
  CHECK(found(first, "a.b").empty());
  CHECK(first.insert("b", 2));
  second = std::move(first);
  CHECK(found(second, "b") == Ints{2});
  CHECK(found(second, "a.b").empty());
  CHECK(first.empty());  // NOLINT(bugprone-use-after-move)
  CHECK(second.erase("b", 2));
}

TEST_CASE("values that can only be moved are held", "[topic]") {
  TopicTrie<std::unique_ptr<int>> trie;
  CHECK(trie.insert("a.*", std::make_unique<int>(1)));
  CHECK(trie.insert("a.#", std::make_unique<int>(2)));
  int sum = 0;
  trie.match("a.b", [&](const std::unique_ptr<int>& value) { sum += *value; });
  CHECK(sum == 3);
}

TEST_CASE("the order of visits repeats when the calls repeat", "[topic]") {
  const auto order = [] {
    TopicTrie<std::string> trie;
    for (const std::string_view value : {"x", "a", "m", "b"})
      trie.insert("t.#", std::string(value));
    trie.erase("t.#", "a");
    trie.insert("#", "k");
    trie.insert("*", "a");
    std::string visited;
    trie.match("t", [&](const std::string& value) { visited += value; });
    trie.for_each([&](std::string_view pattern, const std::string& value) {
      visited += std::string(pattern) + value;
    });
    return visited;
  };
  CHECK(order() == order());
}

TEST_CASE("an exception of the visitor passes and leaves the trie as it was", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("a.#", 1);
  trie.insert("a.*", 2);
  int visits = 0;
  const auto visitor = [&](int) {
    ++visits;
    throw std::runtime_error("enough");
  };
  CHECK_THROWS_AS(trie.match("a.b", visitor), std::runtime_error);
  CHECK(visits == 1);
  CHECK(found(trie, "a.b") == Ints{1, 2});
}

TEST_CASE("an insert that runs out of memory leaves the trie as it was", "[topic]") {
  // Among them: short and long segments, a second spelling, a second and a 17th value.
  const std::string long_segment(40, 'x');
  const std::vector<std::string> patterns = {
      "a.b", "a.*." + long_segment + ".c", "#.b.#.c", "#", "#.#", "a.*", "a.*.#.d", long_segment};
  for (std::uint64_t successes = 0; successes < 40; ++successes) {
    TopicTrie<int> trie;
    Pairs pairs;
    for (int value = 0; value < 18; ++value) {
      for (const std::string& pattern : patterns) {
        if (value != 0 && value != 5 && pattern != "a.*") continue;
        try {
          const support::FailAllocationsAfter fail(successes % 8);
          trie.insert(pattern, value);
        } catch (const std::bad_alloc&) {
          continue;
        }
        pairs.emplace_back(pattern, value);
      }
      for (std::size_t i = 0; i < successes % 3 && !pairs.empty(); ++i) {
        REQUIRE(trie.erase(pairs.back().first, pairs.back().second));
        pairs.pop_back();
      }
    }
    std::sort(pairs.begin(), pairs.end());
    REQUIRE(content(trie) == pairs);
    for (const auto& [pattern, value] : pairs) REQUIRE(trie.erase(pattern, value));
    CHECK(trie.memory_use() == 0);
  }
}

TEST_CASE("after everything was erased, all memory is given back", "[topic]") {
  const support::CountAllocations allocations;
  {
    TopicTrie<int> trie;
    for (int i = 0; i < 5'000; ++i) {
      const std::string name = "site" + std::to_string(i % 17) + ".unit" + std::to_string(i);
      trie.insert(name, i);
      trie.insert(name + ".*." + std::string(static_cast<std::size_t>(i) % 40, 'l'), i);
      trie.insert("#.unit" + std::to_string(i) + ".#", i);
      trie.insert("shared.#", i);
    }
    CHECK(trie.memory_use() > 100'000);
    const std::size_t full = trie.memory_use();
    for (int i = 0; i < 5'000; ++i) {
      const std::string name = "site" + std::to_string(i % 17) + ".unit" + std::to_string(i);
      REQUIRE(trie.erase(name, i));
      REQUIRE(trie.erase(name + ".*." + std::string(static_cast<std::size_t>(i) % 40, 'l'), i));
      REQUIRE(trie.erase("#.unit" + std::to_string(i) + ".#", i));
      REQUIRE(trie.erase("shared.#", i));
      if (i == 4'900) CHECK(trie.memory_use() < full / 4);
      if (i % 500 == 0)
        CHECK(found(trie, "shared.x").size() == 4'999 - static_cast<std::size_t>(i));
    }
    CHECK(trie.empty());
    CHECK(trie.node_count() == 0);
    CHECK(trie.pattern_count() == 0);
    CHECK(trie.memory_use() == 0);
    CHECK(allocations.is_balanced());
  }
}

TEST_CASE("steady coming and going does not make a trie grow", "[topic]") {
  TopicTrie<int> trie;
  const auto pattern = [](int i) {
    return "a.*.n" + std::to_string(i) + (i % 2 == 0 ? "." + std::string(30, 'x') : "");
  };
  for (int i = 0; i < 1'000; ++i) trie.insert(pattern(i), i);
  std::size_t largest = 0;
  for (int i = 0; i < 20'000; ++i) {
    trie.erase(pattern(i), i);
    trie.insert(pattern(i + 1'000), i + 1'000);
    if (i == 2'000) largest = trie.memory_use();
  }
  CHECK(trie.memory_use() <= largest + largest / 2);
}

namespace {

/// Every segment collides with every other.
struct OneHash {
  std::uint64_t operator()(std::string_view, std::uint64_t) const noexcept { return 42; }
};

}  // namespace

TEST_CASE("a hash whose values all collide makes no wrong answer", "[topic]") {
  const std::string first = "a-segment-of-more-than-fifteen-bytes";
  const std::string second = "b-segment-of-more-than-fifteen-bytes";
  TopicTrie<int, brook::AmqpSyntax, OneHash> trie;
  const std::vector<std::string> patterns = {"a.*",
                                             "b.*",
                                             "*.a",
                                             "*.b",
                                             "a.b",
                                             "b.a",
                                             first + ".*",
                                             second + ".*",
                                             first + "." + second,
                                             "#." + first + ".#",
                                             "*." + second};
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    REQUIRE(trie.insert(patterns[i], static_cast<int>(i)));
  }
  for (std::size_t erased = 0; erased <= patterns.size(); ++erased) {
    for (const std::string& topic :
         {std::string("a.b"), std::string("b.a"), std::string("a.a"), first + "." + second,
          second + "." + first, first + "." + first, first, "a." + second, std::string("c.d")}) {
      Ints expected;
      for (std::size_t i = erased; i < patterns.size(); ++i) {
        if (brook::matches(patterns[i], topic)) expected.push_back(static_cast<int>(i));
      }
      Ints values;
      trie.match(topic, [&](int value) { values.push_back(value); });
      std::sort(values.begin(), values.end());
      INFO("topic " << topic << " without " << erased);
      CHECK(values == expected);
    }
    if (erased < patterns.size()) {
      REQUIRE(trie.erase(patterns[erased], static_cast<int>(erased)));
    }
  }
}

TEST_CASE("limits are options, and what is beyond them is refused by name", "[topic]") {
  TopicTrie<int> trie({.limits = {.max_size = 5, .max_segments = 2}});
  CHECK(trie.insert("a.b", 1));
  CHECK_THROWS_AS(trie.insert("a.b.c", 1), brook::InvalidPattern);
  CHECK_THROWS_AS(trie.insert("aaaaaa", 1), brook::InvalidPattern);
  CHECK_THROWS_AS(trie.matches_any("a.b.c"), brook::InvalidTopicName);
  CHECK_THROWS_AS(trie.matches_any("aaaaaa"), brook::InvalidTopicName);
  CHECK(trie.matches_any("a.b"));
  CHECK(trie.size() == 1);
  CHECK_THROWS_AS(TopicTrie<int>({.limits = {.max_size = 0}}), brook::InvalidArgument);
  CHECK_THROWS_AS(TopicTrie<int>({.limits = {.max_segments = 0}}), brook::InvalidArgument);
  CHECK_THROWS_AS(TopicTrie<int>({.limits = {.max_size = std::size_t{1} << 24}}),
                  brook::InvalidArgument);
}

TEST_CASE("no result depends on the seed of the hash", "[topic]") {
  Pairs first;
  Ints matched;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    TopicTrie<int> trie({.seed = seed});
    for (int i = 0; i < 200; ++i) trie.insert("a." + std::to_string(i % 50) + ".#", i);
    trie.insert("*.7", 1'000);
    Pairs order;
    trie.for_each([&](std::string_view pattern, int value) { order.emplace_back(pattern, value); });
    Ints values;
    trie.match("a.7", [&](int value) { values.push_back(value); });
    if (first.empty()) {
      first = order;
      matched = values;
    }
    CHECK(order == first);
    CHECK(values == matched);
    CHECK(values.size() == 5);
  }
}

TEST_CASE("two spellings that mean the same share a place and come and go alone", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("a.#.*", 1);
  const std::size_t nodes = trie.node_count();
  trie.insert("a.*.#", 1);
  trie.insert("a.#.*.#", 2);
  CHECK(trie.node_count() == nodes);
  CHECK(trie.pattern_count() == 3);
  CHECK(found(trie, "a.b") == Ints{1, 2});
  CHECK(trie.erase("a.#.*") == 1);
  CHECK(found(trie, "a.b.c") == Ints{1, 2});
  CHECK_FALSE(trie.erase("a.*.#", 2));
  CHECK(trie.erase("a.*.#", 1));
  CHECK(found(trie, "a.b.c") == Ints{2});
  CHECK(content(trie) == Pairs{{"a.#.*.#", 2}});
}

TEST_CASE("with one segment at least, '#' is still found wherever it stands", "[topic]") {
  TopicTrie<int, AtLeastOne> trie;
  const std::vector<std::string> patterns = {"#", "a.#", "a.#.b", "#.#", "#.b.#", "*.#", "#.*.#.b"};
  for (std::size_t i = 0; i < patterns.size(); ++i) trie.insert(patterns[i], static_cast<int>(i));
  for (const std::string_view topic : {"", "a", "b", "a.b", "a.a.b", "b.b.b", "a.x.y.b", "$a.b"}) {
    Ints expected;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (brook::matches<AtLeastOne>(patterns[i], topic)) expected.push_back(static_cast<int>(i));
    }
    INFO("topic '" << topic << "'");
    CHECK(found(trie, topic) == expected);
  }
}

TEST_CASE("seven '#' against 24 segments deliver exactly once", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("#.a.#.a.#.a.#.a.#.a.#.a.#", 1);
  CHECK(found(trie, repeated("a.", 23) + "a") == Ints{1});
  CHECK(found(trie, "a.a.a.a.a").empty());
}

TEST_CASE("hundreds of '#' need no more than pattern size times topic size", "[topic]") {
  // Trying all ways to spread the segments over the wildcards would never end.
  TopicTrie<int> trie(deep);
  trie.insert(repeated("#.a.", 300) + "#", 1);
  trie.insert(repeated("#.a.", 300) + "#.b", 2);
  trie.insert(repeated("#.", 300) + "b.#", 3);
  trie.insert(repeated("#.*.", 300) + "#", 4);
  CHECK(found(trie, repeated("a.", 1'999) + "a") == Ints{1, 4});
  CHECK(found(trie, repeated("a.", 1'999) + "b") == Ints{1, 2, 3, 4});
}

TEST_CASE("patterns and topics of 10,000 segments work", "[topic]") {
  const std::string name = repeated("a.", 9'999) + "a";
  TopicTrie<int> trie(deep);
  trie.insert(name, 1);
  trie.insert(repeated("*.", 9'999) + "*", 2);
  trie.insert("a.#.a", 3);
  trie.insert(repeated("*.", 9'998) + "*", 4);
  CHECK(found(trie, name) == Ints{1, 2, 3});
  CHECK(content(trie).size() == 4);
  CHECK(trie.erase(name, 1));
  CHECK(found(trie, name) == Ints{2, 3});
  CHECK(trie.erase(repeated("*.", 9'999) + "*") == 1);
}

TEST_CASE("ten thousand subscribers of one pattern come and go", "[topic]") {
  TopicTrie<int> trie;
  for (int value = 0; value < 10'000; ++value) REQUIRE(trie.insert("orders.#", value));
  CHECK(found(trie, "orders.eu").size() == 10'000);
  for (int value = 0; value < 10'000; value += 2) REQUIRE(trie.erase("orders.#", value));
  CHECK(found(trie, "orders.eu").size() == 5'000);
  for (int value = 0; value < 10'000; value += 2) REQUIRE(trie.insert("orders.#", value));
  CHECK(found(trie, "orders.eu").size() == 10'000);
}

TEST_CASE("a trie of another syntax knows that syntax only", "[topic]") {
  TopicTrie<int, SlashSyntax> trie;
  trie.insert("a/+/>", 1);
  trie.insert("a.*", 2);
  CHECK(found(trie, "a/b.c") == Ints{1});
  CHECK(found(trie, "a.b").empty());
  CHECK(found(trie, "a.*") == Ints{2});
}

TEST_CASE("several threads match at once", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("a.#.b", 1);
  trie.insert("a.*.b", 1);
  trie.insert("#.a.#.b.#", 2);
  trie.insert("c", 3);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  threads.reserve(wrong.size());
  for (int& count : wrong) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        int sum = 0;
        trie.match("a.x.b", [&](int value) { sum += value; });
        if (sum != 3 || trie.matches_any("a.x.c") || !trie.matches_any("c")) ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(4, 0));
}
