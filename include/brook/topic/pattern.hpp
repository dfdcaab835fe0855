#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <brook/core/error.hpp>
#include <brook/topic/name.hpp>
#include <brook/topic/segments.hpp>
#include <brook/topic/syntax.hpp>

namespace brook {

/// How large a pattern or topic may be.
struct PatternLimits {
  std::size_t max_size = 1024;     ///< In bytes.
  std::size_t max_segments = 128;  ///< Separators and one.
};

namespace detail {

/// What may be wrong with a text of a dialect.
enum class TextFault : unsigned char {
  none,
  empty,
  too_long,
  too_many_segments,
  forbidden_byte,
  wildcard_in_word,
  wildcard_in_topic,
  empty_segment,
  multi_not_last,
  reserved_segment,
};
struct FoundFault {
  TextFault what = TextFault::none;
  std::size_t index = 0;  ///< Of the first byte that is to blame.
  std::size_t count = 0;  ///< Of segments.
};
enum class TextKind : unsigned char { pattern, topic };

inline constexpr PatternLimits no_limits{.max_size = std::numeric_limits<std::size_t>::max(),
                                         .max_segments = std::numeric_limits<std::size_t>::max()};

/// Whether every text is a pattern and a topic.
template <TopicSyntax Syntax>
consteval bool accepts_every_text() noexcept {
  constexpr SyntaxRules rules = Syntax::rules;
  return !rules.multi_only_last && rules.allows_empty_text && rules.allows_empty_segments &&
         rules.allows_wildcards_in_words && rules.allows_wildcards_in_topics &&
         rules.forbidden_bytes.empty() && rules.reserved_first_segment.empty();
}

template <TopicSyntax Syntax>
constexpr bool is_wildcard_character(char c) noexcept {
  return c == Syntax::single_wildcard || c == Syntax::multi_wildcard;
}

/// What is wrong with one segment, which begins at @p begin.
template <TopicSyntax Syntax>
constexpr FoundFault fault_of_segment(std::string_view segment, std::size_t begin, bool is_last,
                                      TextKind kind) noexcept {
  constexpr SyntaxRules rules = Syntax::rules;
  if (segment.empty() && !rules.allows_empty_segments) return {TextFault::empty_segment, begin};
  const std::size_t forbidden = segment.find_first_of(rules.forbidden_bytes);
  if (forbidden != std::string_view::npos) return {TextFault::forbidden_byte, begin + forbidden};
  if (is_wildcard<Syntax>(segment)) {
    if (kind == TextKind::topic) {
      return rules.allows_wildcards_in_topics ? FoundFault{}
                                              : FoundFault{TextFault::wildcard_in_topic, begin};
    }
    return rules.multi_only_last && is_multi_wildcard<Syntax>(segment) && !is_last
               ? FoundFault{TextFault::multi_not_last, begin}
               : FoundFault{};
  }
  if (rules.allows_wildcards_in_words) return {};
  for (std::size_t i = 0; i < segment.size(); ++i) {
    if (!is_wildcard_character<Syntax>(segment[i])) continue;
    return {kind == TextKind::topic ? TextFault::wildcard_in_topic : TextFault::wildcard_in_word,
            begin + i};
  }
  return {};
}

/// The first thing that is wrong with @p text as a pattern or topic of the dialect.
template <TopicSyntax Syntax>
constexpr FoundFault find_fault(std::string_view text, TextKind kind,
                                const PatternLimits& limits) noexcept {
  constexpr SyntaxRules rules = Syntax::rules;
  if (text.empty()) return {rules.allows_empty_text ? TextFault::none : TextFault::empty};
  if (text.size() > limits.max_size) return {TextFault::too_long};
  std::size_t begin = 0;
  std::size_t count = 0;
  for (SegmentCursor<Syntax> segments(text); !segments.at_end(); ++count) {
    const std::string_view segment = segments.next();
    const FoundFault fault = fault_of_segment<Syntax>(segment, begin, segments.at_end(), kind);
    if (fault.what != TextFault::none) return fault;
    if (kind == TextKind::pattern && count == 0 && !rules.reserved_first_segment.empty() &&
        segment == rules.reserved_first_segment) {
      return {TextFault::reserved_segment};
    }
    begin += segment.size() + 1;
  }
  return count > limits.max_segments ? FoundFault{TextFault::too_many_segments, 0, count}
                                     : FoundFault{};
}

/// What @p fault is and what to do about it.
template <TopicSyntax Syntax>
std::string reason(const FoundFault& fault, std::string_view text, const PatternLimits& limits) {
  const std::string at = " at index " + std::to_string(fault.index);
  const std::string separator = shown(Syntax::separator);
  switch (fault.what) {
    case TextFault::none:
      break;
    case TextFault::empty:
      return "it is empty: give it at least one segment";
    case TextFault::too_long:
      return "it has " + std::to_string(text.size()) + " bytes: shorten it to at most " +
             std::to_string(limits.max_size) + ", or raise max_size";
    case TextFault::too_many_segments:
      return "it has " + std::to_string(fault.count) + " segments: use at most " +
             std::to_string(limits.max_segments) + ", or raise max_segments";
    case TextFault::forbidden_byte:
      return shown(text[fault.index]) + at + " is not allowed in this dialect: leave it out";
    case TextFault::wildcard_in_word:
      return shown(text[fault.index]) + at +
             " is part of a word: a wildcard is a whole segment, between two " + separator;
    case TextFault::wildcard_in_topic:
      return shown(text[fault.index]) + at +
             " is a wildcard: a topic is exact, only patterns have wildcards";
    case TextFault::empty_segment:
      return "the segment" + at + " is empty: remove the " + separator + " beside it";
    case TextFault::multi_not_last:
      return shown(text[fault.index]) + at + " is not the last segment: only there it may stand";
    case TextFault::reserved_segment:
      return "it begins with '" + std::string(Syntax::rules.reserved_first_segment) +
             "', which is no part of a pattern: give what is behind the prefix";
  }
  return {};
}

}  // namespace detail

/// Whether @p pattern is a pattern of the dialect; `validate_pattern` says why not.
///
/// Thread rule: a pure function. Complexity: O(size).
template <TopicSyntax Syntax = AmqpSyntax>
[[nodiscard]] constexpr bool is_valid_pattern(
    std::string_view pattern, const PatternLimits& limits = detail::no_limits) noexcept {
  return detail::find_fault<Syntax>(pattern, detail::TextKind::pattern, limits).what ==
         detail::TextFault::none;
}

/// Whether @p topic is a topic of the dialect, to which something may be published;
/// `validate_topic` says why not.
///
/// Thread rule: a pure function. Complexity: O(size).
template <TopicSyntax Syntax = AmqpSyntax>
[[nodiscard]] constexpr bool is_valid_topic(
    std::string_view topic, const PatternLimits& limits = detail::no_limits) noexcept {
  return detail::find_fault<Syntax>(topic, detail::TextKind::topic, limits).what ==
         detail::TextFault::none;
}

/// Checks that @p pattern is a pattern of the dialect, within @p limits. With the AMQP dialect
/// every text is; for what a broker accepts there is `validate_subscription_pattern`.
///
/// Thread rule: a pure function. Complexity: O(size); takes no memory if it is valid.
/// @throws InvalidPattern with the reason and what to do about it
template <TopicSyntax Syntax = AmqpSyntax>
void validate_pattern(std::string_view pattern, const PatternLimits& limits = {}) {
  const auto fault = detail::find_fault<Syntax>(pattern, detail::TextKind::pattern, limits);
  if (fault.what == detail::TextFault::none) return;
  throw InvalidPattern(std::string(pattern), detail::reason<Syntax>(fault, pattern, limits));
}

/// Checks that @p topic is a topic of the dialect, within @p limits. With the AMQP dialect every
/// text is; for the names of a broker's topics there is `validate_topic_name`.
///
/// Thread rule: a pure function. Complexity: O(size); takes no memory if it is valid.
/// @throws InvalidTopicName with the reason and what to do about it
template <TopicSyntax Syntax = AmqpSyntax>
void validate_topic(std::string_view topic, const PatternLimits& limits = {}) {
  const auto fault = detail::find_fault<Syntax>(topic, detail::TextKind::topic, limits);
  if (fault.what == detail::TextFault::none) return;
  throw InvalidTopicName(std::string(topic), detail::reason<Syntax>(fault, topic, limits));
}

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

/// Whether @p pattern matches @p name, by the rules of the dialect; see `SyntaxRules`. Never
/// refuses: what is no pattern or no topic of the dialect matches nothing. With the AMQP dialect
/// every text is both, and a wildcard in @p name is a word like any other.
///
/// The rules of AMQP are those of RabbitMQ's topic exchange: `orders.#` matches `orders`, `#.*`
/// means "one or more segments", `*` matches an empty segment, and the empty pattern matches the
/// empty name alone.
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
  constexpr SyntaxRules rules = Syntax::rules;
  if constexpr (!detail::accepts_every_text<Syntax>()) {
    if (!is_valid_pattern<Syntax>(pattern) || !is_valid_topic<Syntax>(name)) return false;
  }
  detail::SegmentCursor<Syntax> words(pattern);
  detail::SegmentCursor<Syntax> segments(name);
  if (rules.hides_dollar && name.starts_with('$') && !words.at_end()) {
    auto first = words;
    if (detail::is_wildcard<Syntax>(first.next())) return false;
  }
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
        if (!rules.multi_matches_none) {
          if (segments.at_end()) return false;  // none that an earlier one could leave for it
          segments.next();
        }
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

}  // namespace brook
