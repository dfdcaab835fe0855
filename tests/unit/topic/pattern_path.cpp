#include <brook/topic/pattern_path.hpp>

#include <string>
#include <string_view>

#include <brook/topic/segment_key.hpp>
#include <brook/topic/split_text.hpp>

#include "support/catch.hpp"

namespace {

/// The steps of a pattern, `*` and `#` for the wildcards, and `$` behind it if it ends in a multi
/// wildcard.
template <class Syntax = brook::AmqpSyntax>
std::string path_of(std::string_view pattern) {
  const brook::detail::SplitText<Syntax, brook::SegmentHash> split(pattern, 1);
  const brook::detail::PatternPath<Syntax> path(split);
  std::string text;
  for (const auto& step : path) {
    if (!text.empty()) text += ' ';
    if (step.key == brook::detail::SegmentKey::single_wildcard()) {
      text += '*';
    } else if (step.key == brook::detail::SegmentKey::multi_wildcard()) {
      text += '#';
    } else {
      text += std::string_view(step.text, step.size);
    }
  }
  return path.ends_in_multi() ? text + '$' : text;
}

}  // namespace

TEST_CASE("a run of wildcards is stored as its singles and one multi", "[topic]") {
  CHECK(path_of("a.b") == "a b");
  CHECK(path_of("a.#") == "a$");
  CHECK(path_of("#") == "$");
  CHECK(path_of("#.#") == "$");
  CHECK(path_of("#.*") == "*$");
  CHECK(path_of("*.#.*.#.a.#.b") == "* * # a # b");
  CHECK(path_of<brook::NatsSyntax>("a.>") == "a *$");
}

TEST_CASE("a path says whether there is a wildcard in it", "[topic]") {
  const auto is_literal = [](std::string_view pattern) {
    const brook::detail::SplitText<brook::AmqpSyntax, brook::SegmentHash> split(pattern, 1);
    return brook::detail::PatternPath<brook::AmqpSyntax>(split).is_literal();
  };
  CHECK(is_literal(""));
  CHECK(is_literal("a.b"));
  CHECK(is_literal("a*.b#"));
  CHECK_FALSE(is_literal("a.*"));
  CHECK_FALSE(is_literal("#"));
}

TEST_CASE("a wildcard in a path has the hash of its key and the seed", "[topic]") {
  for (const std::uint64_t seed : {1U, 2U}) {
    const brook::detail::SplitText<brook::AmqpSyntax, brook::SegmentHash> split("*.#.a", seed);
    brook::detail::PatternPath<brook::AmqpSyntax> path(split);
    REQUIRE(path.size() == 3);
    using Key = brook::detail::SegmentKey;
    CHECK(path[0].hash == brook::detail::hash_of_key(Key::single_wildcard(), seed));
    CHECK(path[1].hash == brook::detail::hash_of_key(Key::multi_wildcard(), seed));
    CHECK(path[2].hash == split[2].hash);
  }
}
