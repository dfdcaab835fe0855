#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/split_text.hpp>
#include <brook/topic/syntax.hpp>

namespace brook::detail {

/// A wildcard that means itself, as a segment to look for.
[[nodiscard]] inline TextSegment wildcard(const SegmentKey& key, std::uint64_t seed) noexcept {
  return {.key = key, .hash = hash_of_key(key, seed)};
}

struct PathStep : TextSegment {
  std::uint32_t parent = 0;  ///< The node it goes out from, once it was looked for.
};

/// The path of a pattern with wildcards in the form in which it is stored. Within a run of
/// wildcards their order makes no difference: `#.*` and `*.#` are both "one or more". So a run
/// becomes its single wildcards and then one multi wildcard that matches nothing as well; where the
/// dialect says that a multi wildcard takes one segment at least, it is a single and a multi one.
/// One at the end is no step of its own.
template <TopicSyntax Syntax>
class PatternPath {
 public:
  /// @throws std::bad_alloc
  template <class Split>
  explicit PatternPath(const Split& pattern) {
    const TextSegment single = wildcard(SegmentKey::single_wildcard(), pattern.seed());
    const TextSegment multi = wildcard(SegmentKey::multi_wildcard(), pattern.seed());
    for (const TextSegment& segment : pattern) {
      if (is_character(segment, Syntax::multi_wildcard)) {
        if constexpr (!Syntax::rules.multi_matches_none) steps_.push_back({single});
        ends_in_multi_ = true;
        is_literal_ = false;
      } else if (is_character(segment, Syntax::single_wildcard)) {
        steps_.push_back({single});
        is_literal_ = false;
      } else {
        if (std::exchange(ends_in_multi_, false)) steps_.push_back({multi});
        steps_.push_back({segment});
      }
    }
  }

  /// Without a wildcard.
  [[nodiscard]] bool is_literal() const noexcept { return is_literal_; }
  [[nodiscard]] bool ends_in_multi() const noexcept { return ends_in_multi_; }
  [[nodiscard]] std::size_t size() const noexcept { return steps_.size(); }
  [[nodiscard]] PathStep& operator[](std::size_t index) noexcept { return steps_[index]; }
  [[nodiscard]] PathStep* begin() noexcept { return steps_.begin(); }
  [[nodiscard]] PathStep* end() noexcept { return steps_.end(); }
  [[nodiscard]] const PathStep* begin() const noexcept { return steps_.begin(); }
  [[nodiscard]] const PathStep* end() const noexcept { return steps_.end(); }

 private:
  static bool is_character(const TextSegment& segment, char c) noexcept {
    return segment.size == 1 && *segment.text == c;
  }

  InlineVector<PathStep, 24> steps_{};
  bool is_literal_ = true;
  bool ends_in_multi_ = false;
};

}  // namespace brook::detail
