#pragma once

#include <cstddef>
#include <string_view>

#include <brook/topic/syntax.hpp>

namespace brook::detail {

/// Walks through the segments of a name or pattern. The empty text has no segments, `a.` has two.
/// Owns nothing; a copy remembers a place to come back to.
template <TopicSyntax Syntax>
class SegmentCursor {
 public:
  explicit constexpr SegmentCursor(std::string_view text) noexcept
      : rest_(text), at_end_(text.empty()) {}

  [[nodiscard]] constexpr bool at_end() const noexcept { return at_end_; }

  /// The segment here; moves on to the next one. Requires `!at_end()`.
  constexpr std::string_view next() noexcept {
    const std::size_t size = rest_.find(Syntax::separator);
    const std::string_view segment = rest_.substr(0, size);
    at_end_ = size == std::string_view::npos;
    if (!at_end_) rest_.remove_prefix(size + 1);
    return segment;
  }

 private:
  std::string_view rest_;
  bool at_end_;
};

template <TopicSyntax Syntax>
constexpr bool is_single_wildcard(std::string_view segment) noexcept {
  return segment.size() == 1 && segment.front() == Syntax::single_wildcard;
}

template <TopicSyntax Syntax>
constexpr bool is_multi_wildcard(std::string_view segment) noexcept {
  return segment.size() == 1 && segment.front() == Syntax::multi_wildcard;
}

template <TopicSyntax Syntax>
constexpr bool is_wildcard(std::string_view segment) noexcept {
  return is_single_wildcard<Syntax>(segment) || is_multi_wildcard<Syntax>(segment);
}

}  // namespace brook::detail
