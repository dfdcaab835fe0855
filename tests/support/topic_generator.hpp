#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <brook/topic/syntax.hpp>

#include "support/random.hpp"

namespace support {

/// What no broker has: a multi wildcard that takes one segment at least, anywhere.
struct OddSyntax {
  static constexpr char separator = ':';
  static constexpr char single_wildcard = '?';
  static constexpr char multi_wildcard = '!';
  static constexpr brook::SyntaxRules rules{.multi_matches_none = false,
                                            .allows_empty_segments = false,
                                            .allows_wildcards_in_words = false,
                                            .hides_dollar = true,
                                            .forbidden_bytes = "\n",
                                            .reserved_first_segment = "b"};
};

/// Random texts over an alphabet so small that most of them have to do with each other.
template <class Syntax>
class TopicGenerator {
 public:
  explicit TopicGenerator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_.below(limit)); }

  std::string pattern() { return text({"a", "b", "$", "1", "1", "2", "2"}, 7); }
  std::string topic() { return text({"a", "a", "b", "b", "b", "$"}, 7); }

 private:
  /// Words as they are, but 1 and 2 for the wildcards; seldom one that many dialects refuse.
  std::string text(const std::vector<std::string_view>& words, std::size_t max_words) {
    static const std::vector<std::string_view> rare = {"",
                                                       "a1",
                                                       "1a",
                                                       "22",
                                                       "1",
                                                       "2",
                                                       " ",
                                                       "\n",
                                                       "a-segment-of-more-than-15-bytes",
                                                       "b-segment-of-more-than-15-bytes",
                                                       "$share"};
    std::string result;
    const std::size_t count = below(max_words + 1);
    for (std::size_t i = 0; i < count; ++i) {
      if (i != 0) result += Syntax::separator;
      for (const char c : below(12) == 0 ? rare[below(rare.size())] : words[below(words.size())]) {
        result += c == '1' ? Syntax::single_wildcard : c == '2' ? Syntax::multi_wildcard : c;
      }
    }
    return result;
  }

  Random random_;
};

}  // namespace support
