// Random patterns, topics and changes in every dialect, compared with the rules as defined and with
// a std::set.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/topic/pattern.hpp>
#include <brook/topic/topic_trie.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/topic_generator.hpp"
#include "support/topic_reference.hpp"

namespace {

using Model = std::set<std::pair<std::string, int>>;

template <class Syntax>
std::vector<int> expected_values(const Model& model, std::string_view topic) {
  std::set<int> values;
  for (const auto& [pattern, value] : model) {
    if (support::TopicReference<Syntax>::matches(pattern, topic)) values.insert(value);
  }
  return {values.begin(), values.end()};
}

/// What the visitor got, sorted; twice if it got it twice.
template <class Syntax>
std::vector<int> found_values(const brook::TopicTrie<int, Syntax>& trie, std::string_view topic) {
  std::vector<int> values;
  trie.match(topic, [&](int value) { values.push_back(value); });
  std::sort(values.begin(), values.end());
  return values;
}

/// One topic: as the reference says, or refused.
template <class Syntax>
void check_topic(const brook::TopicTrie<int, Syntax>& trie, const Model& model,
                 const std::string& topic) {
  INFO("topic '" << topic << "'");
  if (!support::TopicReference<Syntax>::is_valid_topic(topic)) {
    REQUIRE_THROWS_AS(trie.match(topic, [](int) { FAIL("visited"); }), brook::InvalidTopicName);
    REQUIRE_THROWS_AS(trie.matches_any(topic), brook::InvalidTopicName);
    return;
  }
  const std::vector<int> expected = expected_values<Syntax>(model, topic);
  REQUIRE(found_values(trie, topic) == expected);
  REQUIRE(trie.matches_any(topic) == !expected.empty());
}

template <class Syntax>
void check_content(const brook::TopicTrie<int, Syntax>& trie, const Model& model) {
  Model content;
  std::set<std::string> patterns;
  std::size_t visits = 0;
  trie.for_each([&](std::string_view pattern, int value) {
    content.emplace(pattern, value);
    patterns.emplace(pattern);
    ++visits;
  });
  REQUIRE(visits == content.size());
  REQUIRE(content == model);
  REQUIRE(trie.size() == model.size());
  REQUIRE(trie.pattern_count() == patterns.size());
  REQUIRE(trie.empty() == model.empty());
}

/// One random change to both; the trie must report what the model knows.
template <class Syntax>
void change(support::TopicGenerator<Syntax>& random, brook::TopicTrie<int, Syntax>& trie,
            Model& model, std::size_t inserts) {
  const std::size_t kind = random.below(100);
  std::string pattern = random.pattern();
  const int value = static_cast<int>(random.below(random.below(2) == 0 ? 6 : 40));
  if (kind >= inserts && !model.empty() && random.below(4) != 0) {
    pattern = std::next(model.begin(), static_cast<long>(random.below(model.size())))->first;
  }
  if (kind == 99 && random.below(20) == 0) {
    trie.clear();
    model.clear();
  } else if (kind >= 95) {
    const std::size_t erased =
        std::erase_if(model, [&](const auto& pair) { return pair.first == pattern; });
    REQUIRE(trie.erase(pattern) == erased);
  } else if (kind >= inserts) {
    REQUIRE(trie.erase(pattern, value) == (model.erase({pattern, value}) == 1));
  } else if (!support::TopicReference<Syntax>::is_valid_pattern(pattern)) {
    REQUIRE_THROWS_AS(trie.insert(pattern, value), brook::InvalidPattern);
  } else {
    REQUIRE(trie.insert(pattern, value) == model.emplace(pattern, value).second);
  }
}

}  // namespace

TEST_CASE("the reference agrees with the rules as they are written", "[topic][model]") {
  using Reference = support::TopicReference<>;
  CHECK(Reference::matches("orders.#", "orders"));
  CHECK(Reference::matches("a.#.b", "a..b"));
  CHECK(Reference::matches("", ""));
  CHECK(Reference::matches("*.", "."));
  CHECK(Reference::matches("a*", "a*"));
  CHECK_FALSE(Reference::matches("a*", "ab"));
  CHECK_FALSE(Reference::matches("*", ""));
  CHECK_FALSE(Reference::matches("#.*", ""));
  CHECK_FALSE(Reference::matches("a", "a."));
  CHECK_FALSE(support::TopicReference<brook::NatsSyntax>::matches("a.>", "a"));
  CHECK(support::TopicReference<brook::NatsSyntax>::matches("a.>", "a.b.c"));
  CHECK_FALSE(support::TopicReference<brook::MqttSyntax>::matches("#", "$SYS"));
  CHECK_FALSE(support::TopicReference<brook::MqttSyntax>::is_valid_pattern("a/#/b"));
}

TEMPLATE_TEST_CASE("matches agrees with the reference on random texts", "[topic][model]",
                   brook::AmqpSyntax, brook::MqttSyntax, brook::NatsSyntax, support::OddSyntax) {
  using Reference = support::TopicReference<TestType>;
  support::with_seed("model/topic_trie, matches", [](std::uint64_t seed) {
    support::TopicGenerator<TestType> random(seed);
    int matching = 0;
    for (int i = 0; i < 50'000; ++i) {
      const std::string pattern = random.pattern();
      const std::string topic = random.topic();
      const bool is_pattern = Reference::is_valid_pattern(pattern);
      const bool is_topic = Reference::is_valid_topic(topic);
      const bool expected = is_pattern && is_topic && Reference::matches(pattern, topic);
      if (brook::is_valid_pattern<TestType>(pattern) != is_pattern ||
          brook::is_valid_topic<TestType>(topic) != is_topic ||
          brook::matches<TestType>(pattern, topic) != expected) {
        INFO("pattern '" << pattern << "' topic '" << topic << "'");
        FAIL("expected " << is_pattern << " " << is_topic << " " << expected);
      }
      matching += expected ? 1 : 0;
    }
    CHECK(matching > 1'000);
  });
}

TEMPLATE_TEST_CASE("TopicTrie agrees with the reference on random sets of patterns",
                   "[topic][model]", brook::AmqpSyntax, brook::MqttSyntax, brook::NatsSyntax,
                   support::OddSyntax) {
  // 500 sets with 120 topics each, in four dialects.
  support::for_each_seed("model/topic_trie, sets", 500, [](std::uint64_t seed) {
    support::TopicGenerator<TestType> random(seed);
    brook::TopicTrie<int, TestType> trie({.seed = seed});
    Model model;
    const std::size_t patterns = 1 + random.below(40);
    for (std::size_t i = 0; i < patterns; ++i) {
      const std::string pattern = random.pattern();
      const int value = static_cast<int>(random.below(20));
      if (!support::TopicReference<TestType>::is_valid_pattern(pattern)) continue;
      trie.insert(pattern, value);
      model.emplace(pattern, value);
    }
    for (int i = 0; i < 120; ++i) check_topic(trie, model, random.topic());
    check_content(trie, model);
  });
}

TEMPLATE_TEST_CASE("random inserts and erases leave what a set of pairs would hold",
                   "[topic][model]", brook::AmqpSyntax, brook::MqttSyntax, support::OddSyntax) {
  support::for_each_seed("model/topic_trie, changes", 8, [](std::uint64_t seed) {
    support::TopicGenerator<TestType> random(seed);
    brook::TopicTrie<int, TestType> trie;
    Model model;
    for (int step = 0; step < 2'000; ++step) {
      INFO("step " << step);
      // Now it grows, now it shrinks.
      change(random, trie, model, step / 400 % 2 == 0 ? 80 : 25);
      REQUIRE(trie.size() == model.size());
      if (step % 4 == 0) check_topic(trie, model, random.topic());
      if (step % 100 == 0) check_content(trie, model);
    }
    for (const auto& [pattern, value] : Model(model)) REQUIRE(trie.erase(pattern, value));
    CHECK(trie.empty());
    CHECK(trie.node_count() == 0);
    CHECK(trie.memory_use() == 0);
  });
}
