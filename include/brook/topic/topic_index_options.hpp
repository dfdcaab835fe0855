#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <brook/core/error.hpp>
#include <brook/topic/pattern.hpp>
#include <brook/topic/segment_key.hpp>

namespace brook {

/// Of a `TopicTrie` or a `TopicNames`.
struct TopicIndexOptions {
  /// What is longer is refused, be it a pattern or a topic.
  PatternLimits limits{};
  /// Of the hash. Unset, every index takes one of its own that outsiders do not know, so that
  /// nobody can choose names that make it slow. No result depends on it.
  std::optional<std::uint64_t> seed{};
};

namespace detail {

/// @throws InvalidArgument if an index cannot work with these
inline PatternLimits checked(const PatternLimits& limits) {
  if (limits.max_size == 0 || limits.max_segments == 0) {
    throw InvalidArgument(
        "a limit of a topic index is 0: every pattern and topic would be refused");
  }
  if (limits.max_size >= std::size_t{1} << 24) {
    throw InvalidArgument("max_size of a topic index is " + std::to_string(limits.max_size) +
                          ": use less than 16777216 bytes");
  }
  return limits;
}

/// The seed for the index at @p place.
[[nodiscard]] inline std::uint64_t seed_for(const void* place, const TopicIndexOptions& options) {
  if (options.seed) return *options.seed;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return unpredictable_seed(place, static_cast<std::uint64_t>(now));
}

/// Requires that @p split was cut out of its text for an index with @p limits.
/// @throws InvalidTopicName if it is no topic of the dialect
template <class Syntax, class Split>
void check_topic(const Split& split, const PatternLimits& limits) {
  if (split.size() > limits.max_segments || !split.is_plain()) {
    validate_topic<Syntax>(split.text(), limits);
  }
}

}  // namespace detail

}  // namespace brook
