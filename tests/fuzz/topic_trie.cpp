// Input: lines. The first says the dialect (its first character: 'm' MQTT, 'n' NATS, else AMQP),
// the second is a topic, each other one a pattern. The trie, `matches` and the reference must
// agree on what is valid and what matches, also after every second pattern was erased again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>
#include <vector>

#include <brook/topic/pattern.hpp>
#include <brook/topic/topic_trie.hpp>

#include "support/topic_reference.hpp"

namespace {

constexpr std::size_t max_input = 2'048;

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<std::string_view> lines_of(std::string_view input) {
  std::vector<std::string_view> lines;
  while (true) {
    const std::size_t end = input.find('\n');
    lines.push_back(input.substr(0, end));
    if (end == std::string_view::npos) return lines;
    input.remove_prefix(end + 1);
  }
}

/// The value of pattern number @p i: some share one, so that they must be merged.
std::size_t value_of(std::size_t i) {
  return i / 3;
}

/// Whether @p call is refused with an error of type `Error`.
template <class Error, class Call>
bool is_refused(const Call& call) {
  try {
    call();
    return false;
  } catch (const Error&) {
    return true;
  }
}

template <class Syntax>
class Checker {
 public:
  explicit Checker(std::string_view topic) : topic_(topic) {}

  void run(const std::vector<std::string_view>& patterns) {
    std::set<std::size_t> all;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (insert(patterns[i], value_of(i))) all.insert(value_of(i));
    }
    check_match(all);

    std::set<std::string_view> erased;
    for (std::size_t i = 0; i < patterns.size(); i += 2) {
      const bool is_first_time = erased.insert(patterns[i]).second;
      require((trie_.erase(patterns[i]) != 0) ==
              (is_first_time && Reference::is_valid_pattern(patterns[i])));
    }
    std::set<std::size_t> remaining;
    for (std::size_t i = 1; i < patterns.size(); i += 2) {
      if (erased.count(patterns[i]) != 0 || !Reference::is_valid_pattern(patterns[i])) continue;
      if (matches(patterns[i])) remaining.insert(value_of(i));
    }
    check_match(remaining);

    for (const std::string_view pattern : patterns) trie_.erase(pattern);
    require(trie_.empty() && trie_.node_count() == 0 && trie_.memory_use() == 0);
  }

 private:
  using Reference = support::TopicReference<Syntax>;

  [[nodiscard]] bool matches(std::string_view pattern) const {
    return Reference::is_valid_topic(topic_) && Reference::matches(pattern, topic_);
  }
  /// Whether it matches.
  bool insert(std::string_view pattern, std::size_t value) {
    const bool is_valid = Reference::is_valid_pattern(pattern);
    require(brook::is_valid_pattern<Syntax>(pattern) == is_valid);
    require(is_refused<brook::InvalidPattern>([&] { trie_.insert(pattern, value); }) == !is_valid);
    const bool expected = is_valid && matches(pattern);
    require(brook::matches<Syntax>(pattern, topic_) == expected);
    return expected;
  }
  void check_match(const std::set<std::size_t>& expected) const {
    const bool is_valid = Reference::is_valid_topic(topic_);
    require(brook::is_valid_topic<Syntax>(topic_) == is_valid);
    std::vector<std::size_t> found;
    bool any = false;
    const bool is_no_topic = is_refused<brook::InvalidTopicName>([&] {
      trie_.match(topic_, [&](std::size_t value) { found.push_back(value); });
      any = trie_.matches_any(topic_);
    });
    require(is_no_topic == !is_valid);
    std::sort(found.begin(), found.end());
    require(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
    require(any == !expected.empty());
  }

  std::string_view topic_;
  brook::TopicTrie<std::size_t, Syntax> trie_{brook::TopicIndexOptions{
      .limits = {.max_size = max_input, .max_segments = max_input + 1}, .seed = 1}};
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), std::min(size, max_input));
  std::vector<std::string_view> lines = lines_of(input);
  if (lines.size() < 2) return 0;
  const char dialect = lines[0].empty() ? 'a' : lines[0].front();
  const std::string_view topic = lines[1];
  lines.erase(lines.begin(), lines.begin() + 2);
  if (dialect == 'm') {
    Checker<brook::MqttSyntax>(topic).run(lines);
  } else if (dialect == 'n') {
    Checker<brook::NatsSyntax>(topic).run(lines);
  } else {
    Checker<brook::AmqpSyntax>(topic).run(lines);
  }
  return 0;
}
