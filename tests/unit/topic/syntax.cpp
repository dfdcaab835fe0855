#include <brook/topic/syntax.hpp>

#include "support/catch.hpp"

namespace {

struct SlashSyntax {
  [[maybe_unused]] static constexpr char separator = '/';
  [[maybe_unused]] static constexpr char single_wildcard = '+';
  [[maybe_unused]] static constexpr char multi_wildcard = '#';
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(brook::TopicSyntax<SlashSyntax>);

struct WithoutMulti {
  [[maybe_unused]] static constexpr char separator = '.';
  [[maybe_unused]] static constexpr char single_wildcard = '*';
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<WithoutMulti>);

struct SameWildcards {
  [[maybe_unused]] static constexpr char separator = '.';
  [[maybe_unused]] static constexpr char single_wildcard = '*';
  [[maybe_unused]] static constexpr char multi_wildcard = '*';
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<SameWildcards>);

struct WildcardSeparates {
  [[maybe_unused]] static constexpr char separator = '#';
  [[maybe_unused]] static constexpr char single_wildcard = '*';
  [[maybe_unused]] static constexpr char multi_wildcard = '#';
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<WildcardSeparates>);

struct Strings {
  [[maybe_unused]] static constexpr const char* separator = ".";
  [[maybe_unused]] static constexpr const char* single_wildcard = "*";
  [[maybe_unused]] static constexpr const char* multi_wildcard = "**";
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<Strings>);

struct Variables {
  [[maybe_unused]] inline static char separator = '.';
  [[maybe_unused]] inline static char single_wildcard = '*';
  [[maybe_unused]] inline static char multi_wildcard = '#';
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<Variables>);

struct KnownAtRunTimeOnly {
  static const char separator;
  static const char single_wildcard;
  static const char multi_wildcard;
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<KnownAtRunTimeOnly>);
char read_at_run_time(char c) {
  return c;
}
const char KnownAtRunTimeOnly::separator = read_at_run_time('.');
const char KnownAtRunTimeOnly::single_wildcard = read_at_run_time('*');
const char KnownAtRunTimeOnly::multi_wildcard = read_at_run_time('#');

struct Members {
  const char separator = '.';
  const char single_wildcard = '*';
  const char multi_wildcard = '#';
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<Members>);
static_assert(!brook::TopicSyntax<int>);

struct WithoutRules {
  [[maybe_unused]] static constexpr char separator = '.';
  [[maybe_unused]] static constexpr char single_wildcard = '*';
  [[maybe_unused]] static constexpr char multi_wildcard = '#';
};
static_assert(!brook::TopicSyntax<WithoutRules>);

struct RulesOfAnotherType : WithoutRules {
  [[maybe_unused]] static constexpr int rules = 0;
};
static_assert(!brook::TopicSyntax<RulesOfAnotherType>);

struct RulesThatChange : WithoutRules {
  [[maybe_unused]] inline static brook::SyntaxRules rules{};
};
static_assert(!brook::TopicSyntax<RulesThatChange>);

struct ForbidsItsSeparator : WithoutRules {
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{.forbidden_bytes = "x."};
};
static_assert(!brook::TopicSyntax<ForbidsItsSeparator>);

struct ForbidsItsWildcard : WithoutRules {
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{.forbidden_bytes = "*"};
};
static_assert(!brook::TopicSyntax<ForbidsItsWildcard>);

struct SpacesForbidden : WithoutRules {
  [[maybe_unused]] static constexpr brook::SyntaxRules rules{.forbidden_bytes = " "};
};
static_assert(brook::TopicSyntax<SpacesForbidden>);

}  // namespace

TEST_CASE("the AMQP dialect separates by '.' and knows the wildcards '*' and '#'", "[topic]") {
  CHECK(brook::AmqpSyntax::separator == '.');
  CHECK(brook::AmqpSyntax::single_wildcard == '*');
  CHECK(brook::AmqpSyntax::multi_wildcard == '#');
}

TEST_CASE("the dialects of MQTT and NATS have their characters and their rules", "[topic]") {
  CHECK(brook::MqttSyntax::separator == '/');
  CHECK(brook::MqttSyntax::single_wildcard == '+');
  CHECK(brook::MqttSyntax::multi_wildcard == '#');
  CHECK(brook::MqttSyntax::rules.multi_matches_none);
  CHECK(brook::MqttSyntax::rules.multi_only_last);
  CHECK(brook::MqttSyntax::rules.hides_dollar);
  CHECK(brook::MqttSyntax::rules.forbidden_bytes.size() == 1);
  CHECK(brook::NatsSyntax::separator == '.');
  CHECK(brook::NatsSyntax::single_wildcard == '*');
  CHECK(brook::NatsSyntax::multi_wildcard == '>');
  CHECK_FALSE(brook::NatsSyntax::rules.multi_matches_none);
  CHECK(brook::NatsSyntax::rules.multi_only_last);
  CHECK_FALSE(brook::NatsSyntax::rules.allows_empty_segments);
}
