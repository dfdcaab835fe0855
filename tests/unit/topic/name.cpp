#include <brook/topic/name.hpp>

#include <string>
#include <string_view>

#include "support/catch.hpp"

namespace {

/// What the check says against a name; "accepted" if nothing.
template <class Check>
std::string reason_of(Check check, std::string_view name) {
  try {
    check(name);
    return "accepted";
  } catch (const brook::InvalidTopicName& error) {
    CHECK(error.name() == name);
    const std::string what = error.what();
    const std::string prefix = "invalid name '" + brook::detail::shown(name) + "': ";
    REQUIRE(what.starts_with(prefix));
    return what.substr(prefix.size());
  }
}

std::string topic_reason(std::string_view name) {
  return reason_of(brook::validate_topic_name, name);
}
std::string group_reason(std::string_view name) {
  return reason_of(brook::validate_group_name, name);
}

}  // namespace

TEST_CASE("names of letters, digits, '.', '_' and '-' are accepted", "[topic]") {
  for (const std::string_view name : {"a", "orders", "orders.eu.created", "A-Z_a-z.0-9", "-", "_",
                                      "_a", "a.-._", "0", "__internal", "__dead_letter.billing"}) {
    CHECK(topic_reason(name) == "accepted");
    CHECK(group_reason(name) == "accepted");
  }
}

TEST_CASE("every byte outside the alphabet is refused, and named", "[topic]") {
  constexpr std::string_view alphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  int accepted = 0;
  for (int byte = 1; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const std::string name = std::string("a") + c + "b";
    const bool is_allowed = alphabet.find(c) != std::string_view::npos;
    CHECK((topic_reason(name) == "accepted") == is_allowed);
    CHECK((group_reason(name) == "accepted") == is_allowed);
    accepted += is_allowed ? 1 : 0;
  }
  CHECK(accepted == 65);
  CHECK(topic_reason("orders/eu") ==
        "'/' at index 6 is not allowed: use A-Z, a-z, 0-9, '_', '-', and '.' between segments");
  CHECK(topic_reason("caf\xc3\xa9").starts_with("byte 0xc3 at index 3 is not allowed"));
  CHECK(topic_reason("a\n").starts_with("byte 0x0a at index 1 is not allowed"));
  CHECK(topic_reason("a ").starts_with("' ' at index 1 is not allowed"));
  CHECK_THROWS_AS(brook::validate_topic_name(std::string_view("a\0b", 3)), brook::InvalidTopicName);
}

TEST_CASE("a pattern in place of a name is refused with the difference explained", "[topic]") {
  CHECK(topic_reason("orders.*") ==
        "'*' at index 7 is a wildcard: a name is exact, only patterns of subscriptions have "
        "wildcards");
  CHECK(group_reason("#").starts_with("'#' at index 0 is a wildcard"));
}

TEST_CASE("empty segments are refused wherever they are", "[topic]") {
  CHECK(topic_reason(".") == "it begins with '.': remove it, segments must not be empty");
  CHECK(topic_reason("..") == "it begins with '.': remove it, segments must not be empty");
  CHECK(topic_reason(".a") == "it begins with '.': remove it, segments must not be empty");
  CHECK(topic_reason("a.") == "it ends with '.': remove it, segments must not be empty");
  CHECK(topic_reason("a.b..c") == "the segment at index 4 is empty: remove one of the two '.'");
  CHECK(group_reason("..") == "it begins with '.': remove it, segments must not be empty");
  CHECK(group_reason("a..b") == "the segment at index 2 is empty: remove one of the two '.'");
}

TEST_CASE("a topic name has 1 to 249 characters, a group name 1 to 200", "[topic]") {
  CHECK(topic_reason("") == "it is empty: give it 1 to 249 characters");
  CHECK(group_reason("") == "it is empty: give it 1 to 200 characters");
  CHECK(topic_reason(std::string(249, 'a')) == "accepted");
  CHECK(topic_reason(std::string(250, 'a')) == "it has 250 bytes: shorten it to at most 249");
  CHECK(group_reason(std::string(200, 'a')) == "accepted");
  CHECK(group_reason(std::string(201, 'a')) == "it has 201 bytes: shorten it to at most 200");
}

TEST_CASE("the longest group name leaves room for its dead-letter topic", "[topic]") {
  brook::validate_topic_name("__dead_letter." + std::string(brook::max_group_name_size, 'g'));
}

TEST_CASE("names beginning with two underscores are internal", "[topic]") {
  static_assert(brook::is_internal("__consumer_offsets"));
  static_assert(brook::is_internal("__"));
  static_assert(!brook::is_internal("_a"));
  static_assert(!brook::is_internal("a__"));
  static_assert(!brook::is_internal("a.__b"));
  static_assert(!brook::is_internal(""));
  CHECK(brook::is_internal("__dead_letter.billing"));
}
