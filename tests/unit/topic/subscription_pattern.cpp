#include <brook/topic/subscription_pattern.hpp>

#include <string>
#include <string_view>

#include "support/catch.hpp"

using brook::selects_topic;

namespace {

/// What the broker's check says against a pattern; "accepted" if nothing.
std::string reason_of(std::string_view pattern) {
  try {
    brook::validate_subscription_pattern(pattern);
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

}  // namespace

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
