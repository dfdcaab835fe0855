#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <brook/core/error.hpp>

namespace brook {

/// Longest name of a topic, in bytes. Kafka's limit: the name and a suffix fit a file name.
inline constexpr std::size_t max_topic_name_size = 249;
/// Longest name of a group, in bytes. Shorter than a topic's, because names of topics are made from
/// it (`__dead_letter.<group>`).
inline constexpr std::size_t max_group_name_size = 200;

/// Whether @p name is internal (begins with `__`): users may subscribe to such a topic, but only
/// the broker creates it and publishes to it. Says nothing about whether the name is valid.
///
/// Thread rule: a pure function. Complexity: O(1).
[[nodiscard]] constexpr bool is_internal(std::string_view name) noexcept {
  return name.starts_with("__");
}

namespace detail {

/// The alphabet of a segment. '.' is not in it: it separates segments.
constexpr bool is_name_character(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

/// How an error message shows one byte of a name: `'/'`, or `byte 0x0a` where it is not printable.
inline std::string shown(char c) {
  if (c >= ' ' && c <= '~') return {'\'', c, '\''};
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return {'b', 'y', 't', 'e', ' ', '0', 'x', digits[byte >> 4], digits[byte & 15]};
}

inline std::string reason_against_character(std::string_view name, std::size_t index) {
  const char c = name[index];
  const std::string what = shown(c) + " at index " + std::to_string(index);
  if (c == '*' || c == '#') {
    return what + " is a wildcard: a name is exact, only patterns of subscriptions have wildcards";
  }
  return what + " is not allowed: use A-Z, a-z, 0-9, '_', '-', and '.' between segments";
}

/// Why @p text has an empty segment at @p index, where a '.' has no neighbour on one side.
inline std::string reason_against_dot(std::string_view text, std::size_t index) {
  if (index == 0) return "it begins with '.': remove it, segments must not be empty";
  if (index + 1 == text.size()) return "it ends with '.': remove it, segments must not be empty";
  return "the segment at index " + std::to_string(index) + " is empty: remove one of the two '.'";
}

/// What is wrong with @p name and what to do about it; empty if it is valid.
inline std::string reason_against_name(std::string_view name, std::size_t max_size) {
  const std::string limit = std::to_string(max_size);
  if (name.empty()) return "it is empty: give it 1 to " + limit + " characters";
  if (name.size() > max_size) {
    return "it has " + std::to_string(name.size()) + " bytes: shorten it to at most " + limit;
  }
  bool segment_empty = true;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_dot = name[i] == '.';
    if (!is_dot && !is_name_character(name[i])) return reason_against_character(name, i);
    if (is_dot && segment_empty) return reason_against_dot(name, i);
    segment_empty = is_dot;
  }
  return segment_empty ? reason_against_dot(name, name.size() - 1) : std::string{};
}

}  // namespace detail

/// Checks that @p name may name a topic: 1 to `max_topic_name_size` characters of `[A-Za-z0-9._-]`,
/// where `.` separates segments and no segment is empty (so neither `.` nor `..` is a name, and
/// none begins or ends with `.`). Names beginning with `__` are valid here; see `is_internal`.
///
/// Characters and limit are Kafka's. Kafka allows empty segments, which brook refuses because
/// patterns speak about segments.
///
/// Thread rule: a pure function. Complexity: O(size).
/// @throws InvalidTopicName with the reason and what to do about it
inline void validate_topic_name(std::string_view name) {
  const std::string reason = detail::reason_against_name(name, max_topic_name_size);
  if (!reason.empty()) throw InvalidTopicName(std::string(name), reason);
}

/// Checks that @p name may name a group: the rules of `validate_topic_name`, with at most
/// `max_group_name_size` characters.
///
/// Thread rule: a pure function. Complexity: O(size).
/// @throws InvalidTopicName with the reason and what to do about it
inline void validate_group_name(std::string_view name) {
  const std::string reason = detail::reason_against_name(name, max_group_name_size);
  if (!reason.empty()) throw InvalidTopicName(std::string(name), reason);
}

}  // namespace brook
