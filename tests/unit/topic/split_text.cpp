#include <brook/topic/split_text.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <brook/topic/pattern.hpp>
#include <brook/topic/segments.hpp>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

template <class Syntax = brook::AmqpSyntax>
using Split = brook::detail::SplitText<Syntax, brook::SegmentHash>;

struct ZeroSyntax {
  static constexpr char separator = '\0';
  static constexpr char single_wildcard = '*';
  static constexpr char multi_wildcard = '#';
  static constexpr brook::SyntaxRules rules{};
};

/// Cuts @p text, which lies in memory of exactly its size, and compares with the cursor.
template <class Syntax>
void check(const std::string& text) {
  const auto exact = std::make_unique<char[]>(text.size());
  text.copy(exact.get(), text.size());
  const std::string_view view(exact.get(), text.size());
  const Split<Syntax> split(view, 5);
  std::size_t i = 0;
  for (brook::detail::SegmentCursor<Syntax> segments(view); !segments.at_end(); ++i) {
    const std::string_view expected = segments.next();
    REQUIRE(i < split.size());
    REQUIRE(std::string_view(split[i].text, split[i].size) == expected);
    REQUIRE(split[i].hash == brook::SegmentHash{}(expected, 5));
    if (expected.size() <= 15) REQUIRE(split[i].key == brook::detail::SegmentKey::of(expected));
    REQUIRE(split[i].key.is_long() == (expected.size() > 15));
    REQUIRE(split[i].key.size() == expected.size());
  }
  REQUIRE(i == split.size());
  if (split.is_plain()) REQUIRE(brook::is_valid_topic<Syntax>(view));
}

}  // namespace

TEST_CASE("a text is cut into the segments that a cursor finds", "[topic]") {
  support::with_seed("unit/topic/split_text", [](std::uint64_t seed) {
    support::Random random(seed);
    for (int i = 0; i < 5'000; ++i) {
      std::string text(random.below(random.chance(10) ? 300 : 70), ' ');
      for (char& c : text) c = std::string_view("..//\0abcdefghij*#+>", 19)[random.below(19)];
      check<brook::AmqpSyntax>(text);
      check<brook::MqttSyntax>(text);
      check<brook::NatsSyntax>(text);
      check<ZeroSyntax>(text);
    }
  });
}

TEST_CASE("every byte but the separator is no separator", "[topic]") {
  for (int c = 0; c < 256; ++c) {
    const std::string text(9, static_cast<char>(c));
    CHECK(Split<>(text, 0).size() == (c == '.' ? 10U : 1U));
  }
}

TEST_CASE("texts have the same hash only if they are the same", "[topic]") {
  const std::vector<std::string_view> texts = {"", ".", "..", "a", "a.", ".a", "a.b", "b.a", "ab"};
  for (const std::string_view a : texts) {
    for (const std::string_view b : texts) {
      CHECK((Split<>(a, 3).hash() == Split<>(b, 3).hash()) == (a == b));
    }
  }
  CHECK(Split<>("a.b", 3).hash() != Split<>("a.b", 4).hash());
}

TEST_CASE("cutting takes no memory up to 24 segments", "[topic]") {
  const std::string text(23, '.');
  const std::string longer(24, '.');
  const support::CountAllocations allocations;
  CHECK(Split<>(text, 0).size() == 24);
  CHECK(allocations.count() == 0);
  CHECK(Split<>(longer, 0).size() == 25);
  CHECK(allocations.count() == 1);
}

TEST_CASE("a plain text is a topic, one that is not needs a closer look", "[topic]") {
  CHECK(Split<>("a..*", 0).is_plain());
  CHECK(Split<>("", 0).is_plain());
  CHECK(Split<brook::MqttSyntax>("a//b", 0).is_plain());
  CHECK_FALSE(Split<brook::MqttSyntax>("", 0).is_plain());
  CHECK_FALSE(Split<brook::MqttSyntax>("a/b+", 0).is_plain());
  CHECK_FALSE(Split<brook::MqttSyntax>(std::string_view("a\0", 2), 0).is_plain());
  CHECK(Split<brook::NatsSyntax>("a.b", 0).is_plain());
  CHECK_FALSE(Split<brook::NatsSyntax>("a..b", 0).is_plain());
  CHECK_FALSE(Split<brook::NatsSyntax>("a.b*", 0).is_plain());
}
