#pragma once

#include <concepts>
#include <type_traits>

namespace brook {

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
}  // namespace detail

/// A dialect of topic patterns: which characters separate segments and stand for unknown ones.
///
/// | expression           | type         | meaning                                              |
/// |----------------------|--------------|------------------------------------------------------|
/// | `S::separator`       | `const char` | stands between two segments                          |
/// | `S::single_wildcard` | `const char` | as a whole segment of a pattern: exactly one segment |
/// | `S::multi_wildcard`  | `const char` | as a whole segment of a pattern: zero or more        |
///
/// The three are constant expressions and differ from each other: nothing throws, any thread may
/// use them.
///
/// What every dialect has in common: comparison is by bytes; a wildcard is one only as a whole
/// segment (`a*` is a word like any other), and only in a pattern, never in a published name. The
/// empty text has no segments; otherwise a text has one segment more than separators, and a segment
/// may be empty.
template <class S>
concept TopicSyntax = std::same_as<decltype(&S::separator), const char*> &&
    std::same_as<decltype(&S::single_wildcard), const char*> &&
    std::same_as<decltype(&S::multi_wildcard), const char*> && detail::HasConstantCharacters<S> &&
    detail::has_distinct_characters<S>();

/// The dialect of AMQP 0-9-1 topic exchanges, as RabbitMQ implements it: `.` separates, `*` is
/// exactly one segment, `#` zero or more, anywhere and repeatedly (`orders.#` matches `orders`).
/// Every text is a valid pattern. The default of brook.
struct AmqpSyntax {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '#';
};
static_assert(TopicSyntax<AmqpSyntax>);

}  // namespace brook
