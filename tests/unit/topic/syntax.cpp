#include <brook/topic/syntax.hpp>

#include "support/catch.hpp"

namespace {

struct SlashSyntax {
  static constexpr char separator = '/';
  static constexpr char single_wildcard = '+';
  static constexpr char multi_wildcard = '#';
};
static_assert(brook::TopicSyntax<SlashSyntax>);

struct WithoutMulti {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
};
static_assert(!brook::TopicSyntax<WithoutMulti>);

struct SameWildcards {
  static constexpr char separator = '.';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '*';
};
static_assert(!brook::TopicSyntax<SameWildcards>);

struct WildcardSeparates {
  static constexpr char separator = '#';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '#';
};
static_assert(!brook::TopicSyntax<WildcardSeparates>);

struct Strings {
  [[maybe_unused]] static constexpr const char* separator = ".";
  [[maybe_unused]] static constexpr const char* single_wildcard = "*";
  [[maybe_unused]] static constexpr const char* multi_wildcard = "**";
};
static_assert(!brook::TopicSyntax<Strings>);

struct Variables {
  [[maybe_unused]] inline static char separator = '.';
  [[maybe_unused]] inline static char single_wildcard = '*';
  [[maybe_unused]] inline static char multi_wildcard = '#';
};
static_assert(!brook::TopicSyntax<Variables>);

struct KnownAtRunTimeOnly {
  static const char separator;
  static const char single_wildcard;
  static const char multi_wildcard;
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
};
static_assert(!brook::TopicSyntax<Members>);
static_assert(!brook::TopicSyntax<int>);

}  // namespace

TEST_CASE("the AMQP dialect separates by '.' and knows the wildcards '*' and '#'", "[topic]") {
  CHECK(brook::AmqpSyntax::separator == '.');
  CHECK(brook::AmqpSyntax::single_wildcard == '*');
  CHECK(brook::AmqpSyntax::multi_wildcard == '#');
}
