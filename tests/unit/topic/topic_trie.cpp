#include <brook/topic/topic_trie.hpp>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/topic/pattern.hpp>

#include "support/catch.hpp"

#ifndef BROOK_TEST_DATA_DIR
#define BROOK_TEST_DATA_DIR "tests/data"
#endif

using brook::TopicTrie;

namespace {

/// A value whose hash fails if it is negative.
struct Fragile {
  int number;
  bool operator==(const Fragile&) const = default;
};

}  // namespace

template <>
struct std::hash<Fragile> {
  std::size_t operator()(const Fragile& value) const {
    if (value.number < 0) throw std::runtime_error("no hash");
    return static_cast<std::size_t>(value.number);
  }
};

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

struct SlashSyntax {
  static constexpr char separator = '/';
  static constexpr char single_wildcard = '+';
  static constexpr char multi_wildcard = '>';
};

struct PatternCase {
  std::string dialect;
  std::string pattern;
  std::string topic;
  std::string expected;
};

std::string unescaped(std::string_view cell) {
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\' || i + 1 == cell.size()) {
      text += cell[i];
      continue;
    }
    ++i;
    text += cell[i] == '0' ? '\0' : cell[i] == 't' ? '\t' : cell[i];
  }
  return text;
}

std::vector<PatternCase> read_pattern_cases() {
  std::ifstream file(BROOK_TEST_DATA_DIR "/topic_patterns.tsv");
  REQUIRE(file.is_open());
  std::vector<PatternCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::size_t begin = 0;
    for (std::size_t tab; (tab = line.find('\t', begin)) != std::string::npos; begin = tab + 1) {
      cells.push_back(unescaped(line.substr(begin, tab - begin)));
    }
    REQUIRE(cells.size() == 4);  // and the source behind the last tab
    cases.push_back({cells[0], cells[1], cells[2], cells[3]});
  }
  return cases;
}

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

TEST_CASE("matches and TopicTrie agree with the AMQP cases of public brokers", "[topic]") {
  int checked = 0;
  int matching = 0;
  for (const PatternCase& row : read_pattern_cases()) {
    if (row.dialect != "amqp" && row.dialect != "amqp-rabbitmq-limit") continue;
    INFO("pattern '" << row.pattern << "' topic '" << row.topic << "'");
    REQUIRE((row.expected == "match" || row.expected == "no"));
    const bool expected = row.expected == "match";
    CHECK(brook::matches(row.pattern, row.topic) == expected);
    TopicTrie<int> trie;
    REQUIRE(trie.insert(row.pattern, 7));
    CHECK(found(trie, row.topic) == (expected ? Ints{7} : Ints{}));
    ++checked;
    matching += expected ? 1 : 0;
  }
  CHECK(checked == 264);
  CHECK(matching == 105);
}

TEST_CASE("all AMQP cases together in one trie find what each finds alone", "[topic]") {
  std::vector<PatternCase> cases;
  for (PatternCase& row : read_pattern_cases()) {
    if (row.dialect == "amqp") cases.push_back(std::move(row));
  }
  TopicTrie<int> trie;
  for (std::size_t i = 0; i < cases.size(); ++i) trie.insert(cases[i].pattern, static_cast<int>(i));
  CHECK(trie.size() == cases.size());
  for (const PatternCase& topic : cases) {
    Ints expected;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (brook::matches(cases[i].pattern, topic.topic)) expected.push_back(static_cast<int>(i));
    }
    CHECK(found(trie, topic.topic) == expected);
  }
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

TEST_CASE("a value is destroyed when its last pattern goes", "[topic]") {
  TopicTrie<std::shared_ptr<int>> trie;
  const auto subscriber = std::make_shared<int>(1);
  trie.insert("a", subscriber);
  trie.insert("b.#", subscriber);
  trie.insert("c.*", subscriber);
  CHECK(subscriber.use_count() == 2);
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

TEST_CASE("a value that cannot be hashed is refused and leaves the trie as it was", "[topic]") {
  TopicTrie<Fragile> trie;
  CHECK_THROWS_AS(trie.insert("a.b", Fragile{-1}), std::runtime_error);
  CHECK(trie.empty());
  CHECK(trie.node_count() == 0);
  CHECK(trie.insert("a.b", Fragile{1}));
  CHECK_THROWS_AS(trie.insert("a.b.c", Fragile{-1}), std::runtime_error);
  CHECK_THROWS_AS(trie.erase("a.b", Fragile{-1}), std::runtime_error);
  CHECK(trie.size() == 1);
  CHECK(trie.matches_any("a.b"));
  CHECK_FALSE(trie.matches_any("a.b.c"));
}

TEST_CASE("seven '#' against 24 segments deliver exactly once", "[topic]") {
  TopicTrie<int> trie;
  trie.insert("#.a.#.a.#.a.#.a.#.a.#.a.#", 1);
  CHECK(found(trie, repeated("a.", 23) + "a") == Ints{1});
  CHECK(found(trie, "a.a.a.a.a").empty());
}

TEST_CASE("hundreds of '#' need no more than pattern size times topic size", "[topic]") {
  // Trying all ways to spread the segments over the wildcards would never end.
  TopicTrie<int> trie;
  trie.insert(repeated("#.a.", 300) + "#", 1);
  trie.insert(repeated("#.a.", 300) + "#.b", 2);
  trie.insert(repeated("#.", 300) + "b.#", 3);
  trie.insert(repeated("#.*.", 300) + "#", 4);
  CHECK(found(trie, repeated("a.", 1'999) + "a") == Ints{1, 4});
  CHECK(found(trie, repeated("a.", 1'999) + "b") == Ints{1, 2, 3, 4});
}

TEST_CASE("patterns and topics of 10,000 segments work", "[topic]") {
  const std::string name = repeated("a.", 9'999) + "a";
  TopicTrie<int> trie;
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
