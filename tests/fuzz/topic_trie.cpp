// Input: lines. The first is a topic, each other one a pattern. The trie, `matches` and the
// reference must agree, also after every second pattern was erased again.

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

void check_match(const brook::TopicTrie<std::size_t>& trie, std::string_view topic,
                 const std::set<std::size_t>& expected) {
  std::vector<std::size_t> found;
  trie.match(topic, [&](std::size_t value) { found.push_back(value); });
  std::sort(found.begin(), found.end());
  require(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  require(trie.matches_any(topic) == !expected.empty());
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), std::min(size, max_input));
  const std::vector<std::string_view> lines = lines_of(input);
  const std::string_view topic = lines.front();

  brook::TopicTrie<std::size_t> trie;
  std::set<std::size_t> all;
  std::set<std::size_t> remaining;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const bool expected = support::TopicReference<>::matches(lines[i], topic);
    require(brook::matches(lines[i], topic) == expected);
    trie.insert(lines[i], value_of(i));
    if (expected) all.insert(value_of(i));
  }
  check_match(trie, topic, all);

  std::set<std::string_view> erased;
  for (std::size_t i = 1; i < lines.size(); i += 2) {
    const bool is_first_time = erased.insert(lines[i]).second;
    require((trie.erase(lines[i]) != 0) == is_first_time);
  }
  for (std::size_t i = 2; i < lines.size(); i += 2) {
    if (erased.count(lines[i]) != 0) continue;
    if (support::TopicReference<>::matches(lines[i], topic)) remaining.insert(value_of(i));
  }
  check_match(trie, topic, remaining);

  for (std::size_t i = 1; i < lines.size(); ++i) trie.erase(lines[i]);
  require(trie.empty() && trie.node_count() == 0);
  return 0;
}
