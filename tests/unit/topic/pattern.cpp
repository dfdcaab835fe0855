#include <brook/topic/pattern.hpp>

#include <cstddef>
#include <string>
#include <string_view>

#include "support/catch.hpp"
#include "support/topic_cases.hpp"

using brook::is_literal;
using brook::matches;

namespace {

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

struct SlashSyntax {
  static constexpr char separator = '/';
  static constexpr char single_wildcard = '+';
  static constexpr char multi_wildcard = '>';
  static constexpr brook::SyntaxRules rules{};
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

namespace {

template <class Syntax>
std::string pattern_reason(std::string_view pattern, const brook::PatternLimits& limits = {}) {
  try {
    brook::validate_pattern<Syntax>(pattern, limits);
    return "accepted";
  } catch (const brook::InvalidPattern& error) {
    CHECK(error.pattern() == pattern);
    const std::string what = error.what();
    return what.substr(what.find("': ") + 3);
  }
}

template <class Syntax>
std::string topic_reason(std::string_view topic, const brook::PatternLimits& limits = {}) {
  try {
    brook::validate_topic<Syntax>(topic, limits);
    return "accepted";
  } catch (const brook::InvalidTopicName& error) {
    CHECK(error.name() == topic);
    const std::string what = error.what();
    return what.substr(what.find("': ") + 3);
  }
}

/// How many rows of the dialect had each verdict.
struct Verdicts {
  int match = 0;
  int no = 0;
  int invalid_pattern = 0;
  int invalid_topic = 0;
  bool operator==(const Verdicts&) const = default;
};

template <class Syntax>
Verdicts check_rows(std::string_view dialect) {
  Verdicts verdicts;
  for (const support::TopicCase& row : support::topic_cases(dialect)) {
    INFO("pattern '" << row.pattern.value_or("-") << "' topic '" << row.topic.value_or("-") << "'");
    if (row.expected == "invalid-pattern") {
      ++verdicts.invalid_pattern;
      CHECK_FALSE(brook::is_valid_pattern<Syntax>(row.pattern.value()));
      CHECK(pattern_reason<Syntax>(row.pattern.value()) != "accepted");
      if (row.topic) CHECK_FALSE(matches<Syntax>(*row.pattern, *row.topic));
    } else if (row.expected == "invalid-topic") {
      ++verdicts.invalid_topic;
      CHECK_FALSE(brook::is_valid_topic<Syntax>(row.topic.value()));
      CHECK(topic_reason<Syntax>(row.topic.value()) != "accepted");
      if (row.pattern) CHECK_FALSE(matches<Syntax>(*row.pattern, *row.topic));
    } else {
      const bool expected = row.expected == "match";
      ++(expected ? verdicts.match : verdicts.no);
      CHECK(pattern_reason<Syntax>(row.pattern.value()) == "accepted");
      CHECK(topic_reason<Syntax>(row.topic.value()) == "accepted");
      CHECK(matches<Syntax>(*row.pattern, *row.topic) == expected);
    }
  }
  return verdicts;
}

}  // namespace

TEST_CASE("matches and the validity checks agree with the cases of public brokers", "[topic]") {
  CHECK(check_rows<brook::AmqpSyntax>("amqp") == Verdicts{105, 159, 0, 0});
  CHECK(check_rows<brook::MqttSyntax>("mqtt") == Verdicts{97, 64, 78, 19});
  CHECK(check_rows<brook::NatsSyntax>("nats") == Verdicts{20, 10, 2, 7});
}

TEST_CASE("every text is a pattern and a topic of the AMQP dialect", "[topic]") {
  const std::string_view zero("\0a", 2);
  for (const std::string_view text : {std::string_view(), std::string_view("."), zero,
                                      std::string_view("#.a*.#"), std::string_view("$SYS.#")}) {
    CHECK(pattern_reason<brook::AmqpSyntax>(text) == "accepted");
    CHECK(topic_reason<brook::AmqpSyntax>(text) == "accepted");
  }
}

TEST_CASE("every reason against a pattern or topic says where and what to do", "[topic]") {
  using brook::MqttSyntax;
  using brook::NatsSyntax;
  CHECK(pattern_reason<MqttSyntax>("") == "it is empty: give it at least one segment");
  CHECK(topic_reason<NatsSyntax>("") == "it is empty: give it at least one segment");
  CHECK(pattern_reason<MqttSyntax>("a/b+") ==
        "'+' at index 3 is part of a word: a wildcard is a whole segment, between two '/'");
  CHECK(topic_reason<MqttSyntax>("a/b+") ==
        "'+' at index 3 is a wildcard: a topic is exact, only patterns have wildcards");
  CHECK(topic_reason<NatsSyntax>("a.*") ==
        "'*' at index 2 is a wildcard: a topic is exact, only patterns have wildcards");
  CHECK(topic_reason<NatsSyntax>("a.b*") == "accepted");
  CHECK(pattern_reason<MqttSyntax>("a/#/b") ==
        "'#' at index 2 is not the last segment: only there it may stand");
  CHECK(pattern_reason<NatsSyntax>(">.a") ==
        "'>' at index 0 is not the last segment: only there it may stand");
  CHECK(pattern_reason<NatsSyntax>("a..b") ==
        "the segment at index 2 is empty: remove the '.' beside it");
  CHECK(topic_reason<NatsSyntax>("a.") ==
        "the segment at index 2 is empty: remove the '.' beside it");
  CHECK(topic_reason<NatsSyntax>("a.b c") ==
        "' ' at index 3 is not allowed in this dialect: leave it out");
  CHECK(pattern_reason<MqttSyntax>(std::string_view("a/\0", 3)) ==
        "byte 0x00 at index 2 is not allowed in this dialect: leave it out");
  CHECK(pattern_reason<MqttSyntax>("$share/group/a") ==
        "it begins with '$share', which is no part of a pattern: give what is behind the prefix");
  CHECK(topic_reason<MqttSyntax>("$share/group/a") == "accepted");
  CHECK(pattern_reason<MqttSyntax>("$shared/a") == "accepted");
}

TEST_CASE("limits count bytes and segments, and both are inclusive", "[topic]") {
  const brook::PatternLimits limits{.max_size = 7, .max_segments = 3};
  CHECK(pattern_reason<brook::AmqpSyntax>("aaa.b.c", limits) == "accepted");
  CHECK(pattern_reason<brook::AmqpSyntax>("aaaa.b.c", limits) ==
        "it has 8 bytes: shorten it to at most 7, or raise max_size");
  CHECK(topic_reason<brook::AmqpSyntax>("a.b.c.d", limits) ==
        "it has 4 segments: use at most 3, or raise max_segments");
  CHECK(brook::is_valid_topic(std::string(5'000, '.')));
  CHECK_FALSE(brook::is_valid_topic(std::string(128, '.'), brook::PatternLimits{}));
  CHECK(brook::is_valid_topic(std::string(127, '.'), brook::PatternLimits{}));
}

namespace {

struct AtLeastOne {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '#';
  static constexpr brook::SyntaxRules rules{.multi_matches_none = false, .hides_dollar = true};
};

}  // namespace

TEST_CASE("a multi wildcard that takes one segment at least does so anywhere", "[topic]") {
  CHECK_FALSE(matches<AtLeastOne>("a.#.b", "a.b"));
  CHECK(matches<AtLeastOne>("a.#.b", "a.x.b"));
  CHECK(matches<AtLeastOne>("a.#.b", "a.b.b"));
  CHECK_FALSE(matches<AtLeastOne>("#.#", "a"));
  CHECK(matches<AtLeastOne>("#.#", "a.b"));
  CHECK(matches<AtLeastOne>("#.b.#", "b.b.b"));
  CHECK_FALSE(matches<AtLeastOne>("#.b.#", "b.b"));
  CHECK_FALSE(matches<AtLeastOne>("#", ""));
}

TEST_CASE("wildcards in front pass over topics that begin with '$' if the dialect says so",
          "[topic]") {
  CHECK_FALSE(matches<brook::MqttSyntax>("#", "$SYS/x"));
  CHECK_FALSE(matches<brook::MqttSyntax>("+/x", "$SYS/x"));
  CHECK(matches<brook::MqttSyntax>("$SYS/#", "$SYS"));
  CHECK(matches<brook::MqttSyntax>("a/#", "a/$SYS"));
  CHECK(matches<brook::MqttSyntax>("a/+", "a/$SYS"));
  CHECK(matches<brook::AmqpSyntax>("#", "$SYS.x"));
}
