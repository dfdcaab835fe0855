#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <brook/core/error.hpp>
#include <brook/topic/name.hpp>
#include <brook/topic/segments.hpp>
#include <brook/topic/syntax.hpp>

namespace brook {

/// Longest pattern of a subscription, in bytes.
inline constexpr std::size_t max_pattern_size = 1024;
/// Most segments in the pattern of a subscription.
inline constexpr std::size_t max_pattern_segments = 128;

/// Whether @p pattern has no wildcard, so that it matches one name only: its own text.
///
/// Thread rule: a pure function. Complexity: O(size).
template <TopicSyntax Syntax = AmqpSyntax>
[[nodiscard]] constexpr bool is_literal(std::string_view pattern) noexcept {
  for (detail::SegmentCursor<Syntax> words(pattern); !words.at_end();) {
    const std::string_view word = words.next();
    if (detail::is_wildcard<Syntax>(word)) return false;
  }
  return true;
}

/// Whether @p pattern matches @p name. Takes any bytes, empty segments included, and never refuses:
/// with the AMQP dialect every text is a pattern. A wildcard in @p name is a word like any other.
///
/// The rules are those of RabbitMQ's topic exchange: `orders.#` matches `orders`, `#.*` means "one
/// or more segments", `*` matches an empty segment, and the empty pattern matches the empty name
/// alone.
///
/// For many patterns against one name use `TopicTrie`. For the subscription of a broker use
/// `selects_topic`, which hides internal topics from wildcards.
///
/// Thread rule: a pure function. Complexity: at most O(size of pattern × size of name), with any
/// number of `#`; allocates nothing.
///
/// Example: `brook::matches("orders.*.created", "orders.eu.created")`.
template <TopicSyntax Syntax = AmqpSyntax>
[[nodiscard]] constexpr bool matches(std::string_view pattern, std::string_view name) noexcept {
  detail::SegmentCursor<Syntax> words(pattern);
  detail::SegmentCursor<Syntax> segments(name);
  // Behind the last multi wildcard, and the segments it has not taken yet. Going back to the last
  // one is enough: whatever an earlier one could take in addition, the last one can take as well.
  bool can_retry = false;
  auto after_multi = words;
  auto untaken = segments;
  while (!words.at_end() || !segments.at_end()) {
    if (!words.at_end()) {
      auto rest_of_words = words;
      const std::string_view word = rest_of_words.next();
      if (detail::is_multi_wildcard<Syntax>(word)) {
        can_retry = true;
        words = after_multi = rest_of_words;
        untaken = segments;
        continue;
      }
      if (segments.at_end()) return false;
      auto rest_of_segments = segments;
      const std::string_view segment = rest_of_segments.next();
      if (word == segment || detail::is_single_wildcard<Syntax>(word)) {
        words = rest_of_words;
        segments = rest_of_segments;
        continue;
      }
    }
    if (!can_retry) return false;
    untaken.next();
    segments = untaken;
    words = after_multi;
  }
  return true;
}

/// Whether a broker's subscription to @p pattern receives the topic @p name: `matches`, and an
/// internal topic (one that begins with `__`) only if the first segment of the pattern is a literal
/// beginning with `__`. So `#` never receives the broker's own topics, and `__dead_letter.*` does.
///
/// Requires a pattern that `validate_pattern` accepts and a valid name.
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
inline std::string reason_against_pattern(std::string_view pattern) {
  if (pattern.empty()) return "it is empty: name a topic, or use '#' for all topics";
  if (pattern.size() > max_pattern_size) {
    return "it has " + std::to_string(pattern.size()) + " bytes: shorten it to at most " +
           std::to_string(max_pattern_size);
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
  if (segments <= max_pattern_segments) return {};
  return "it has " + std::to_string(segments) + " segments: use at most " +
         std::to_string(max_pattern_segments) + ", '#' stands for any number of them";
}

}  // namespace detail

/// Checks that @p pattern may be subscribed to at a broker: 1 to `max_pattern_size` bytes in at
/// most `max_pattern_segments` segments, each of them a word of the alphabet of topic names, `*` or
/// `#`.
///
/// Stricter than the AMQP dialect, which takes every text: what could never match a topic name (an
/// empty segment, `a*`, a foreign character) is refused instead of silently matching nothing.
///
/// Thread rule: a pure function. Complexity: O(size).
/// @throws InvalidPattern with the reason and what to do about it
inline void validate_pattern(std::string_view pattern) {
  const std::string reason = detail::reason_against_pattern(pattern);
  if (!reason.empty()) throw InvalidPattern(std::string(pattern), reason);
}

}  // namespace brook
