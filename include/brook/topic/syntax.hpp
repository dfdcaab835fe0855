#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

namespace brook {

/// What the dialects of topic patterns disagree about, beside their three characters. The defaults
/// are those of AMQP: everything is allowed.
struct SyntaxRules {
  /// Whether the multi wildcard also stands for no segment at all: `a.#` matches `a`.
  bool multi_matches_none = true;
  /// Whether the multi wildcard may only be the last segment of a pattern.
  bool multi_only_last = false;
  /// Whether the empty text is a pattern and a topic. It has no segments: as a pattern it matches
  /// the empty topic alone.
  bool allows_empty_text = true;
  /// Whether a segment may be empty, as in `a..b`. If so, it is a word like any other.
  bool allows_empty_segments = true;
  /// Whether a wildcard character may be part of a longer word, where it is a plain character.
  bool allows_wildcards_in_words = true;
  /// Whether a wildcard may be a whole segment of a topic, where it is a plain word.
  bool allows_wildcards_in_topics = true;
  /// Whether a wildcard as the first segment of a pattern passes over the topics that begin with
  /// `$`. Further on, `$` is a plain character.
  bool hides_dollar = false;
  /// Bytes that stand neither in a pattern nor in a topic.
  std::string_view forbidden_bytes{};
  /// What may not be the first segment of a pattern; unset if empty.
  std::string_view reserved_first_segment{};
};

namespace detail {
template <class S>
concept HasConstantCharacters = requires {
  typename std::integral_constant<char, S::separator>;
  typename std::integral_constant<char, S::single_wildcard>;
  typename std::integral_constant<char, S::multi_wildcard>;
};
/// An error unless they are constants.
template <class S>
consteval bool has_distinct_characters() {
  return S::separator != S::single_wildcard && S::separator != S::multi_wildcard &&
         S::single_wildcard != S::multi_wildcard;
}
/// An error unless the rules are constants. The characters of the dialect must not be forbidden.
template <class S>
consteval bool has_constant_rules() {
  constexpr SyntaxRules rules = S::rules;
  return rules.forbidden_bytes.find(S::separator) == std::string_view::npos &&
         rules.forbidden_bytes.find(S::single_wildcard) == std::string_view::npos &&
         rules.forbidden_bytes.find(S::multi_wildcard) == std::string_view::npos;
}
}  // namespace detail

/// A dialect of topic patterns: which characters separate segments and stand for unknown ones, and
/// what is allowed.
///
/// | expression           | type                | meaning                                        |
/// |----------------------|---------------------|------------------------------------------------|
/// | `S::separator`       | `const char`        | stands between two segments                    |
/// | `S::single_wildcard` | `const char`        | as a whole segment of a pattern: any one       |
/// | `S::multi_wildcard`  | `const char`        | as a whole segment of a pattern: any number    |
/// | `S::rules`           | `const SyntaxRules` | where dialects differ                          |
///
/// All are constant expressions, the three characters differ from each other, and none of them is
/// among the forbidden bytes: nothing throws, any thread may use them.
///
/// What every dialect has in common: comparison is by bytes; a wildcard is one only as a whole
/// segment, and only in a pattern, never in a published topic. The empty text has no segments;
/// otherwise a text has one segment more than separators.
///
/// Example, AMQP with slashes:
///
///     struct SlashSyntax {
///       static constexpr char separator = '/';
///       static constexpr char single_wildcard = '*';
///       static constexpr char multi_wildcard = '#';
///       static constexpr brook::SyntaxRules rules{};
///     };
///     static_assert(brook::TopicSyntax<SlashSyntax>);
template <class S>
concept TopicSyntax = std::same_as<decltype(&S::separator), const char*> &&
    std::same_as<decltype(&S::single_wildcard), const char*> &&
    std::same_as<decltype(&S::multi_wildcard), const char*> &&
    std::same_as<decltype(&S::rules), const SyntaxRules*> && detail::HasConstantCharacters<S> &&
    detail::has_distinct_characters<S>() && detail::has_constant_rules<S>();

/// The dialect of AMQP 0-9-1 topic exchanges, as RabbitMQ implements it: `.` separates, `*` is
/// exactly one segment, `#` zero or more, anywhere and repeatedly (`orders.#` matches `orders`).
/// Every text is a valid pattern and a valid topic. The default of brook.
struct AmqpSyntax {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '#';
  static constexpr SyntaxRules rules{};
};
static_assert(TopicSyntax<AmqpSyntax>);

/// The dialect of MQTT 3.1.1 and 5 (section 4.7 of both): `/` separates, `+` is exactly one
/// segment, `#` zero or more and only the last one. A wildcard is a whole segment of a pattern or
/// an error; topics have none. Wildcards in front pass over topics that begin with `$`.
///
/// Shared subscriptions (`$share/<group>/<pattern>`, MQTT 5 section 4.8.2) are the business of
/// whoever deals messages out to the group: give the pattern behind the prefix. With the prefix it
/// is refused, since it would match nothing.
struct MqttSyntax {
  static constexpr char separator = '/';
  static constexpr char single_wildcard = '+';
  static constexpr char multi_wildcard = '#';
  static constexpr SyntaxRules rules{.multi_only_last = true,
                                     .allows_empty_text = false,
                                     .allows_wildcards_in_words = false,
                                     .allows_wildcards_in_topics = false,
                                     .hides_dollar = true,
                                     .forbidden_bytes = std::string_view("\0", 1),
                                     .reserved_first_segment = "$share"};
};
static_assert(TopicSyntax<MqttSyntax>);

/// The dialect of NATS subjects: `.` separates, `*` is exactly one segment, `>` one or more and
/// only the last one. No segment is empty, no text has white space; within a longer word a wildcard
/// is a plain character.
struct NatsSyntax {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '>';
  static constexpr SyntaxRules rules{.multi_matches_none = false,
                                     .multi_only_last = true,
                                     .allows_empty_text = false,
                                     .allows_empty_segments = false,
                                     .allows_wildcards_in_topics = false,
                                     .forbidden_bytes = " \t\n\f\r"};
};
static_assert(TopicSyntax<NatsSyntax>);

}  // namespace brook
