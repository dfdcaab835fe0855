// Random topics, patterns and changes in every dialect, compared with the rules as defined and with
// a std::map.

#include <brook/topic/topic_names.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/topic_generator.hpp"
#include "support/topic_reference.hpp"

namespace {

using Model = std::map<std::string, int>;

/// One pattern: as the reference says, or refused. @return how many topics matched
template <class Syntax>
std::size_t check_pattern(const brook::TopicNames<int, Syntax>& names, const Model& model,
                          const std::string& pattern) {
  INFO("pattern '" << pattern << "'");
  using Reference = support::TopicReference<Syntax>;
  if (!Reference::is_valid_pattern(pattern)) {
    REQUIRE_THROWS_AS(names.match(pattern, [](int) { FAIL("visited"); }), brook::InvalidPattern);
    return 0;
  }
  std::vector<int> expected;
  for (const auto& [topic, value] : model) {
    if (Reference::matches(pattern, topic)) expected.push_back(value);
  }
  std::vector<int> values;
  names.match(pattern, [&](int value) { values.push_back(value); });
  std::sort(values.begin(), values.end());
  std::sort(expected.begin(), expected.end());
  REQUIRE(values == expected);
  return values.size();
}

template <class Syntax>
void change(support::TopicGenerator<Syntax>& random, brook::TopicNames<int, Syntax>& names,
            Model& model, int value, std::size_t inserts) {
  std::string topic = random.topic();
  if (random.below(100) < inserts) {
    if (!support::TopicReference<Syntax>::is_valid_topic(topic)) {
      REQUIRE_THROWS_AS(names.insert(topic, value), brook::InvalidTopicName);
    } else {
      REQUIRE(names.insert(topic, value) == model.emplace(topic, value).second);
    }
    return;
  }
  if (!model.empty() && random.below(4) != 0) {
    topic = std::next(model.begin(), static_cast<long>(random.below(model.size())))->first;
  }
  REQUIRE(names.erase(topic) == (model.erase(topic) == 1));
}

}  // namespace

TEMPLATE_TEST_CASE("TopicNames agrees with the reference on random topics and changes",
                   "[topic][model]", brook::AmqpSyntax, brook::MqttSyntax, brook::NatsSyntax,
                   support::OddSyntax) {
  support::for_each_seed("model/topic_names", 20, [](std::uint64_t seed) {
    support::TopicGenerator<TestType> random(seed);
    brook::TopicNames<int, TestType> names({.seed = seed});
    Model model;
    std::size_t matching = 0;
    for (int step = 0; step < 2'000; ++step) {
      INFO("step " << step);
      // Now it grows, now it shrinks.
      change(random, names, model, step, step / 400 % 2 == 0 ? 85 : 15);
      REQUIRE(names.size() == model.size());
      matching += check_pattern(names, model, random.pattern());
      if (step % 100 != 0) continue;
      for (const auto& [topic, value] : model) {
        REQUIRE(names.find(topic) != nullptr);
        REQUIRE(*names.find(topic) == value);
      }
    }
    CHECK(matching > 1'000);
    for (const auto& [topic, value] : Model(model)) REQUIRE(names.erase(topic));
    CHECK(names.empty());
    CHECK(names.memory_use() == 0);
  });
}
