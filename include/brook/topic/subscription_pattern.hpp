#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <brook/core/error.hpp>
#include <brook/topic/name.hpp>
#include <brook/topic/pattern.hpp>
#include <brook/topic/segments.hpp>
#include <brook/topic/syntax.hpp>

namespace brook {

/// Whether a broker's subscription to @p pattern receives the topic @p name: `matches`, and an
/// internal topic (one that begins with `__`) only if the first segment of the pattern is a literal
/// beginning with `__`. So `#` never receives the broker's own topics, and `__dead_letter.*` does.
///
/// Requires a pattern that `validate_subscription_pattern` accepts and a valid name.
///
/// Thread rule: a pure function. Complexity: that of `matches`.
[[nodiscard]] constexpr bool selects_topic(std::string_view pattern,
                                           std::string_view name) noexcept {
  return (!is_internal(name) || is_internal(pattern)) && matches(pattern, name);
}

namespace detail {

inline std::string reason_against_pattern_character(std::string_view pattern, std::size_t index) {
  const char c = pattern[index];
  const std::string what = shown(c) + " at index " + std::to_string(index);
  if (c == '*' || c == '#') {
    return what +
           " is part of a word, but no topic has it in its name: a wildcard is a whole "
           "segment";
  }
  return what +
         " is not allowed: use A-Z, a-z, 0-9, '_', '-', '.' between segments, and as whole "
         "segments '*' (exactly one) and '#' (any number)";
}

/// The index of the first byte of @p word that no topic name has there; its size if there is none.
constexpr std::size_t first_bad_character(std::string_view word) noexcept {
  if (is_wildcard<AmqpSyntax>(word)) return word.size();
  std::size_t index = 0;
  while (index < word.size() && is_name_character(word[index])) ++index;
  return index;
}

/// What is wrong with @p pattern and what to do about it; empty if it is valid.
inline std::string reason_against_subscription_pattern(std::string_view pattern) {
  if (pattern.empty()) return "it is empty: name a topic, or use '#' for all topics";
  if (pattern.size() > PatternLimits{}.max_size) {
    return "it has " + std::to_string(pattern.size()) + " bytes: shorten it to at most " +
           std::to_string(PatternLimits{}.max_size);
  }
  std::size_t segments = 0;
  std::size_t index = 0;
  for (SegmentCursor<AmqpSyntax> words(pattern); !words.at_end(); ++segments) {
    const std::string_view word = words.next();
    if (word.empty()) return reason_against_dot(pattern, std::min(index, pattern.size() - 1));
    const std::size_t bad = first_bad_character(word);
    if (bad != word.size()) return reason_against_pattern_character(pattern, index + bad);
    index += word.size() + 1;
  }
  if (segments <= PatternLimits{}.max_segments) return {};
  return "it has " + std::to_string(segments) + " segments: use at most " +
         std::to_string(PatternLimits{}.max_segments) + ", '#' stands for any number of them";
}

}  // namespace detail

/// Checks that @p pattern may be subscribed to at a broker: not empty, within the default
/// `PatternLimits`, and each segment a word of the alphabet of topic names, `*` or `#`.
///
/// Stricter than the AMQP dialect, which takes every text: what could never match a topic name (an
/// empty segment, `a*`, a foreign character) is refused instead of silently matching nothing.
///
/// Thread rule: a pure function. Complexity: O(size).
/// @throws InvalidPattern with the reason and what to do about it
inline void validate_subscription_pattern(std::string_view pattern) {
  const std::string reason = detail::reason_against_subscription_pattern(pattern);
  if (!reason.empty()) throw InvalidPattern(std::string(pattern), reason);
}

}  // namespace brook
