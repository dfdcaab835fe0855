// Random patterns, topics and changes, compared with the rules as defined and with a std::set.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/topic/pattern.hpp>
#include <brook/topic/topic_trie.hpp>

#include "support/catch.hpp"
#include "support/topic_reference.hpp"

namespace {

using Reference = support::TopicReference<>;
using Model = std::set<std::pair<std::string, int>>;

/// From BROOK_SEED, else new in every run; printed, so that a failure can be repeated.
std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("BROOK_SEED");  // NOLINT(concurrency-mt-unsafe)
    const std::uint64_t chosen =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cerr << "model/topic_trie: BROOK_SEED=" << chosen << "\n";
    return chosen;
  }();
  return value;
}

/// Random texts over an alphabet so small that most of them have to do with each other.
class Generator {
 public:
  explicit Generator(std::uint64_t start) : engine_(start) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(engine_() % limit); }

  std::string pattern() { return text({"a", "b", "", "*", "*", "#", "#", "a*", "*a", "##"}, 7); }
  std::string topic() { return text({"a", "a", "b", "b", "", "a*", "*a", "*", "#"}, 7); }

 private:
  std::string text(const std::vector<std::string_view>& words, std::size_t max_words) {
    std::string result;
    const std::size_t count = below(max_words + 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) result += '.';
      result += words[below(words.size())];
    }
    return result;
  }

  std::mt19937_64 engine_;
};

std::vector<int> expected_values(const Model& model, std::string_view topic) {
  std::set<int> values;
  for (const auto& [pattern, value] : model) {
    if (Reference::matches(pattern, topic)) values.insert(value);
  }
  return {values.begin(), values.end()};
}

/// What the visitor got, sorted; twice if it got it twice.
std::vector<int> found_values(const brook::TopicTrie<int>& trie, std::string_view topic) {
  std::vector<int> values;
  trie.match(topic, [&](int value) { values.push_back(value); });
  std::sort(values.begin(), values.end());
  return values;
}

void check_content(const brook::TopicTrie<int>& trie, const Model& model) {
  Model content;
  std::size_t visits = 0;
  trie.for_each([&](std::string_view pattern, int value) {
    content.emplace(pattern, value);
    ++visits;
  });
  REQUIRE(visits == content.size());
  REQUIRE(content == model);
  REQUIRE(trie.size() == model.size());
  REQUIRE(trie.empty() == model.empty());
}

/// One random change to both; the trie must report what the model knows.
void change(Generator& random, brook::TopicTrie<int>& trie, Model& model) {
  const std::size_t kind = random.below(100);
  std::string pattern = random.pattern();
  const int value = static_cast<int>(random.below(6));
  if (kind >= 50 && !model.empty() && random.below(4) != 0) {
    pattern = std::next(model.begin(), static_cast<long>(random.below(model.size())))->first;
  }
  if (kind == 99) {
    trie.clear();
    model.clear();
  } else if (kind >= 85) {
    const std::size_t erased =
        std::erase_if(model, [&](const auto& pair) { return pair.first == pattern; });
    REQUIRE(trie.erase(pattern) == erased);
  } else if (kind >= 50) {
    REQUIRE(trie.erase(pattern, value) == (model.erase({pattern, value}) == 1));
  } else {
    REQUIRE(trie.insert(pattern, value) == model.emplace(pattern, value).second);
  }
}

}  // namespace

TEST_CASE("the reference agrees with the rules as they are written", "[topic][model]") {
  CHECK(Reference::matches("orders.#", "orders"));
  CHECK(Reference::matches("a.#.b", "a..b"));
  CHECK(Reference::matches("", ""));
  CHECK(Reference::matches("*.", "."));
  CHECK(Reference::matches("a*", "a*"));
  CHECK_FALSE(Reference::matches("a*", "ab"));
  CHECK_FALSE(Reference::matches("*", ""));
  CHECK_FALSE(Reference::matches("#.*", ""));
  CHECK_FALSE(Reference::matches("a", "a."));
}

TEST_CASE("matches agrees with the reference on random texts", "[topic][model]") {
  INFO("BROOK_SEED=" << seed());
  Generator random(seed());
  int matching = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string pattern = random.pattern();
    const std::string topic = random.topic();
    const bool expected = Reference::matches(pattern, topic);
    if (brook::matches(pattern, topic) != expected) {
      INFO("pattern '" << pattern << "' topic '" << topic << "'");
      FAIL("expected " << expected);
    }
    matching += expected ? 1 : 0;
  }
  CHECK(matching > 5'000);
  CHECK(matching < 95'000);
}

TEST_CASE("TopicTrie agrees with the reference on random sets of patterns", "[topic][model]") {
  INFO("BROOK_SEED=" << seed());
  Generator random(seed() + 1);
  int comparisons = 0;
  for (int round = 0; round < 500; ++round) {
    brook::TopicTrie<int> trie;
    Model model;
    const std::size_t patterns = 1 + random.below(30);
    for (std::size_t i = 0; i < patterns; ++i) {
      const std::string pattern = random.pattern();
      const int value = static_cast<int>(random.below(8));
      trie.insert(pattern, value);
      model.emplace(pattern, value);
    }
    for (int i = 0; i < 120; ++i, ++comparisons) {
      const std::string topic = random.topic();
      INFO("round " << round << " topic '" << topic << "'");
      const std::vector<int> expected = expected_values(model, topic);
      REQUIRE(found_values(trie, topic) == expected);
      REQUIRE(trie.matches_any(topic) == !expected.empty());
    }
  }
  CHECK(comparisons >= 50'000);
}

TEST_CASE("random inserts and erases leave what a set of pairs would hold", "[topic][model]") {
  INFO("BROOK_SEED=" << seed());
  Generator random(seed() + 2);
  brook::TopicTrie<int> trie;
  Model model;
  for (int step = 0; step < 20'000; ++step) {
    INFO("step " << step);
    change(random, trie, model);
    REQUIRE(trie.size() == model.size());
    const std::string topic = random.topic();
    REQUIRE(found_values(trie, topic) == expected_values(model, topic));
    if (step % 50 == 0) check_content(trie, model);
  }
  for (const auto& [pattern, value] : Model(model)) REQUIRE(trie.erase(pattern, value));
  CHECK(trie.empty());
  CHECK(trie.node_count() == 0);
}
