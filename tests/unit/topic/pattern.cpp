#include <brook/topic/pattern.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "support/catch.hpp"

using brook::is_literal;
using brook::matches;
using brook::selects_topic;

namespace {

/// What the broker's check says against a pattern; "accepted" if nothing.
std::string reason_of(std::string_view pattern) {
  try {
    brook::validate_pattern(pattern);
    return "accepted";
  } catch (const brook::InvalidPattern& error) {
    CHECK(error.pattern() == pattern);
    const std::string what = error.what();
    const std::string prefix = "invalid pattern '" + brook::detail::shown(pattern) + "': ";
    REQUIRE(what.starts_with(prefix));
    return what.substr(prefix.size());
  }
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

struct SlashSyntax {
  static constexpr char separator = '/';
  static constexpr char single_wildcard = '+';
  static constexpr char multi_wildcard = '>';
};

}  // namespace

TEST_CASE("a literal pattern matches its own text only", "[topic]") {
  static_assert(matches("orders.eu.created", "orders.eu.created"));
  CHECK_FALSE(matches("orders.eu.created", "orders.eu"));
  CHECK_FALSE(matches("orders.eu", "orders.eu.created"));
  CHECK_FALSE(matches("orders", "Orders"));
  CHECK_FALSE(matches("orders", "order"));
  CHECK_FALSE(matches("order", "orders"));
}

TEST_CASE("'*' is exactly one segment", "[topic]") {
  static_assert(matches("orders.*.created", "orders.eu.created"));
  CHECK_FALSE(matches("orders.*.created", "orders.created"));
  CHECK_FALSE(matches("orders.*.created", "orders.eu.west.created"));
  CHECK(matches("*", "orders"));
  CHECK_FALSE(matches("*", "orders.eu"));
  CHECK(matches("*.*", "a.b"));
}

TEST_CASE("'#' is zero or more segments, anywhere", "[topic]") {
  static_assert(matches("orders.#", "orders"));
  CHECK(matches("orders.#", "orders.eu.created"));
  CHECK_FALSE(matches("orders.#", "order"));
  CHECK(matches("#", "a"));
  CHECK(matches("#.created", "created"));
  CHECK(matches("#.created", "orders.eu.created"));
  CHECK(matches("a.#.b", "a.b"));
  CHECK(matches("a.#.b", "a.b.b.a.b"));
  CHECK_FALSE(matches("a.#.b", "a.b.a"));
  CHECK(matches("a.#.b.#.c", "a.x.b.b.y.c"));
  CHECK_FALSE(matches("a.#.b.#.c", "a.c.b"));
  CHECK(matches("#.#", ""));
}

TEST_CASE("'#.*' and '*.#' both mean one or more segments", "[topic]") {
  for (const std::string_view pattern : {"#.*", "*.#", "#.*.#", "*.#.#"}) {
    CHECK_FALSE(matches(pattern, ""));
    CHECK(matches(pattern, "a"));
    CHECK(matches(pattern, "a.b.c"));
    CHECK(matches(pattern, "."));
  }
}

TEST_CASE("an empty segment is a segment like any other, an empty text has none", "[topic]") {
  CHECK(matches("", ""));
  CHECK(matches("#", ""));
  CHECK_FALSE(matches("*", ""));
  CHECK_FALSE(matches("", "a"));
  CHECK_FALSE(matches("a", ""));
  CHECK(matches("a.*.b", "a..b"));
  CHECK(matches("a.#.b", "a..b"));
  CHECK(matches("a..b", "a..b"));
  CHECK_FALSE(matches("a..b", "a.b"));
  CHECK(matches("*.a", ".a"));
  CHECK(matches("a.*", "a."));
  CHECK_FALSE(matches("a.*", "a"));
  CHECK(matches("a.#", "a."));
}

TEST_CASE("a wildcard character inside a word, or in a name, is itself", "[topic]") {
  CHECK(matches("a*", "a*"));
  CHECK_FALSE(matches("a*", "ab"));
  CHECK(matches("a#b.*", "a#b.c"));
  CHECK(matches("##", "##"));
  CHECK_FALSE(matches("##", "a"));
  CHECK_FALSE(matches("*a", "ba"));
  CHECK_FALSE(matches("#a", "b.a"));
  CHECK_FALSE(matches("a.b", "a.*"));
  CHECK_FALSE(matches("a.b", "#"));
  CHECK(matches("a.*", "a.*"));
  CHECK(matches("a.*", "a.#"));
  CHECK(matches("#", "#.*"));
}

TEST_CASE("any bytes match themselves", "[topic]") {
  using namespace std::string_view_literals;
  CHECK(matches("a\0b.*"sv, "a\0b.c"sv));
  CHECK_FALSE(matches("a\0b"sv, "a\0c"sv));
  CHECK(matches("\xff.#", "\xff.\xfe"));
}

TEST_CASE("hundreds of '#' need no more than pattern size times name size", "[topic]") {
  // Trying all ways to spread the segments over the wildcards would never end.
  const std::string name = repeated("a.", 1'999) + "a";
  CHECK(matches(repeated("#.a.", 300) + "#", name));
  CHECK_FALSE(matches(repeated("#.a.", 300) + "#.b", name));
  CHECK_FALSE(matches(repeated("#.", 300) + "b.#", name));
}

TEST_CASE("a pattern and a name of 10,000 segments match", "[topic]") {
  const std::string name = repeated("a.", 9'999) + "a";
  CHECK(matches(name, name));
  CHECK(matches(repeated("*.", 9'999) + "*", name));
  CHECK_FALSE(matches(repeated("*.", 9'998) + "*", name));
  CHECK(matches("#.a", name));
}

TEST_CASE("a pattern without a wildcard segment is literal", "[topic]") {
  static_assert(is_literal("orders.eu"));
  CHECK(is_literal(""));
  CHECK(is_literal("a*.##.b#"));
  CHECK_FALSE(is_literal("*"));
  CHECK_FALSE(is_literal("#"));
  CHECK_FALSE(is_literal("orders.*"));
  CHECK_FALSE(is_literal("orders.#.created"));
  CHECK(is_literal<SlashSyntax>("a.*.#"));
  CHECK_FALSE(is_literal<SlashSyntax>("a/+"));
}

TEST_CASE("another syntax brings other characters", "[topic]") {
  CHECK(matches<SlashSyntax>("a/+/>", "a/b.c"));
  CHECK_FALSE(matches<SlashSyntax>("a.*", "a.b"));
}

TEST_CASE("only a pattern that begins with a literal '__' word selects internal topics",
          "[topic]") {
  static_assert(selects_topic("__dead_letter.*", "__dead_letter.billing"));
  CHECK(selects_topic("__consumer_offsets", "__consumer_offsets"));
  CHECK(selects_topic("__dead_letter.#", "__dead_letter"));
  CHECK_FALSE(selects_topic("#", "__consumer_offsets"));
  CHECK_FALSE(selects_topic("*", "__consumer_offsets"));
  CHECK_FALSE(selects_topic("*.billing", "__dead_letter.billing"));
  CHECK_FALSE(selects_topic("#.__dead_letter.billing", "__dead_letter.billing"));
  CHECK_FALSE(selects_topic("__consumer_offsets", "__dead_letter"));
  CHECK(selects_topic("#", "orders.__x"));
  CHECK(selects_topic("*", "_orders"));
  CHECK(selects_topic("orders.*", "orders.eu"));
  CHECK_FALSE(selects_topic("orders.*", "orders"));
}

TEST_CASE("a broker's pattern consists of words of the name alphabet, '*' and '#'", "[topic]") {
  for (const std::string_view pattern :
       {"a", "orders.eu.created", "*", "#", "orders.*.created", "#.#", "#.*.#", "orders.#",
        "__dead_letter.*", "A-Z_0.-"}) {
    CHECK(reason_of(pattern) == "accepted");
  }
  CHECK(reason_of("orders/eu") ==
        "'/' at index 6 is not allowed: use A-Z, a-z, 0-9, '_', '-', '.' between segments, and as "
        "whole segments '*' (exactly one) and '#' (any number)");
  CHECK(reason_of("orders.+").starts_with("'+' at index 7 is not allowed"));
  CHECK(reason_of("a.b\xc3\xa9").starts_with("byte 0xc3 at index 3 is not allowed"));
}

TEST_CASE("a wildcard inside a word of a broker's pattern is refused and explained", "[topic]") {
  CHECK(reason_of("orders.a*") ==
        "'*' at index 8 is part of a word, but no topic has it in its name: a wildcard is a whole "
        "segment");
  CHECK(reason_of("*a").starts_with("'*' at index 0 is part of a word"));
  CHECK(reason_of("fo#o.bar").starts_with("'#' at index 2 is part of a word"));
  CHECK(reason_of("a.**").starts_with("'*' at index 2 is part of a word"));
}

TEST_CASE("a broker's pattern has no empty segments", "[topic]") {
  CHECK(reason_of("") == "it is empty: name a topic, or use '#' for all topics");
  CHECK(reason_of(".") == "it begins with '.': remove it, segments must not be empty");
  CHECK(reason_of(".a") == "it begins with '.': remove it, segments must not be empty");
  CHECK(reason_of("a.") == "it ends with '.': remove it, segments must not be empty");
  CHECK(reason_of("a..*") == "the segment at index 2 is empty: remove one of the two '.'");
  CHECK(reason_of("#.") == "it ends with '.': remove it, segments must not be empty");
}

TEST_CASE("a broker's pattern has at most 1024 bytes in at most 128 segments", "[topic]") {
  CHECK(reason_of(std::string(1024, 'a')) == "accepted");
  CHECK(reason_of(std::string(1025, 'a')) == "it has 1025 bytes: shorten it to at most 1024");
  CHECK(reason_of(repeated("*.", 127) + "#") == "accepted");
  CHECK(reason_of(repeated("*.", 128) + "#") ==
        "it has 129 segments: use at most 128, '#' stands for any number of them");
}
