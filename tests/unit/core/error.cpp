#include <brook/core/error.hpp>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "support/catch.hpp"

using brook::Error;
using brook::Offset;
using brook::PartitionId;

namespace {

template <class... Errors>
constexpr bool all_derive_from_error = (std::is_base_of_v<Error, Errors> && ...);
static_assert(all_derive_from_error<
              brook::InvalidArgument, brook::Closed, brook::OffsetTooOld, brook::OffsetOutOfRange,
              brook::MessageTooLarge, brook::TopicFull, brook::KeyRequired, brook::ReservedHeader,
              brook::InvalidTopicName, brook::InvalidPattern, brook::NameError, brook::UnknownTopic,
              brook::UnknownGroup, brook::TopicExists, brook::InternalTopic, brook::TopicInUse,
              brook::GroupOccupied, brook::GroupInUse, brook::GroupOptionsDiffer,
              brook::DeadLetterCycle, brook::UnknownPartition, brook::ForeignDelivery,
              brook::EndlessWait, brook::ConcurrentWait, brook::StepLimitReached>);
static_assert(std::is_base_of_v<std::runtime_error, Error>);

/// Throws @p error, catches it as `Error` and returns whether its text holds all of @p parts.
template <class E>
void check_says(const E& error, std::initializer_list<std::string_view> parts) {
  std::string text;
  try {
    throw E(error);
  } catch (const Error& caught) {
    text = caught.what();
  }
  for (const std::string_view part : parts) {
    INFO("'" << text << "' should say '" << std::string(part) << "'");
    CHECK(text.find(part) != text.npos);
  }
}

template <class E>
void check_named(const E& error, const std::string& name,
                 std::initializer_list<std::string_view> parts) {
  CHECK(error.name() == name);
  check_says<E>(error, {"'" + name + "'"});
  check_says<E>(error, parts);
}

}  // namespace

TEST_CASE("A refused argument says what is wrong with it", "[core]") {
  check_says(brook::InvalidArgument("retries must be greater than 0"),
             {"retries must be greater than 0"});
}

TEST_CASE("A closed object is named", "[core]") {
  check_says(brook::Closed("consumer of group 'billing'"),
             {"consumer of group 'billing'", "is closed"});
}

TEST_CASE("An offset that is gone comes with the one the log starts at", "[core]") {
  const brook::OffsetTooOld error(Offset{5}, Offset{17});
  CHECK(error.requested() == Offset{5});
  CHECK(error.start() == Offset{17});
  check_says(error, {"offset 5", "17", "no longer retained", "continue from there"});
}

TEST_CASE("An offset that is not there yet comes with the one the log ends at", "[core]") {
  const brook::OffsetOutOfRange error(Offset{17}, Offset{5});
  CHECK(error.requested() == Offset{17});
  CHECK(error.visible_end() == Offset{5});
  check_says(error, {"offset 17", "ends at 5", "continue from there"});
}

TEST_CASE("A message that is too large comes with its size and the limit", "[core]") {
  const brook::MessageTooLarge error("key", 70'000, 65'536, "bytes");
  CHECK(error.size() == 70'000);
  CHECK(error.limit() == 65'536);
  check_says(error, {"key", "70000 bytes", "65536", "split it", "raise the limit"});
  check_says(brook::MessageTooLarge("header list", 1'001, 1'000, "headers"), {"1001 headers"});
}

TEST_CASE("A full topic comes with its limit and what was wanted", "[core]") {
  const brook::TopicFull error("retention.max_messages", 10, 12);
  CHECK(error.limit() == 10);
  CHECK(error.wanted() == 12);
  check_says(error, {"retention.max_messages", "10", "12", "raise the limit", "drop_oldest"});
}

TEST_CASE("A missing key is asked for", "[core]") {
  check_says(brook::KeyRequired(), {"compacted", "give the message a key"});
}

TEST_CASE("A reserved header is named", "[core]") {
  const brook::ReservedHeader error("__brook.addressed_to");
  CHECK(error.name() == "__brook.addressed_to");
  check_says(error, {"'__brook.addressed_to'", "belong to the broker"});
}

TEST_CASE("A name or pattern against the rules comes with the rule", "[core]") {
  const brook::InvalidTopicName name("a..b", "a segment is empty");
  CHECK(name.name() == "a..b");
  check_says(name, {"'a..b'", "a segment is empty"});
  const brook::InvalidPattern pattern("a#", "'#' is a whole segment");
  CHECK(pattern.pattern() == "a#");
  check_says(pattern, {"'a#'", "'#' is a whole segment"});
}

TEST_CASE("Errors about a topic or a group carry its name and a way out", "[core]") {
  check_named(brook::UnknownTopic("t"), "t", {"create it first", "auto_create"});
  check_named(brook::UnknownGroup("g"), "g", {"first subscribe"});
  check_named(brook::TopicExists("t"), "t", {"use topic()"});
  check_named(brook::InternalTopic("__t"), "__t", {"may be subscribed to"});
  check_named(brook::GroupOccupied("g"), "g", {"close that consumer", "another group"});
  check_named(brook::GroupInUse("g"), "g", {"close its consumer first"});
  const brook::TopicInUse in_use("t", "g");
  check_named(in_use, "t", {"'g'", "delete the group first"});
  CHECK(in_use.group() == "g");
  const brook::GroupOptionsDiffer differ("g", "ack_deadline");
  check_named(differ, "g", {"'ack_deadline'", "subscribe with the same ones"});
  CHECK(differ.option() == "ack_deadline");
  const brook::DeadLetterCycle cycle("a", "a -> b -> a");
  check_named(cycle, "a", {"a -> b -> a", "choose a narrower pattern"});
  CHECK(cycle.path() == "a -> b -> a");
}

TEST_CASE("All errors about one name can be caught as one", "[core]") {
  CHECK_THROWS_AS(throw brook::UnknownTopic("t"), brook::NameError);
  CHECK_THROWS_AS(throw brook::GroupInUse("g"), brook::NameError);
}

TEST_CASE("An unknown partition comes with how many there are", "[core]") {
  const brook::UnknownPartition error("orders", PartitionId{8}, 8);
  CHECK(error.partition() == PartitionId{8});
  check_says(error, {"'orders'", "no partition 8", "it has 8", "counted from 0"});
}

TEST_CASE("A foreign delivery says whose it is not", "[core]") {
  check_says(brook::ForeignDelivery("group 'billing'"),
             {"group 'billing'", "settle it through the group that received it"});
}

TEST_CASE("The errors of the manual clock say how to get on", "[core]") {
  check_says(brook::EndlessWait(), {"endless wait", "give a timeout", "Waiting::blocking"});
  check_says(brook::ConcurrentWait(), {"two threads", "Waiting::blocking"});
  const brook::StepLimitReached error(100);
  CHECK(error.steps() == 100);
  check_says(error, {"100 steps", "limit is too low"});
}

TEST_CASE("An error survives what it was made from", "[core]") {
  std::string name(100, 'n');
  const brook::UnknownTopic error(name);
  const brook::UnknownTopic copy = error;
  name.assign(100, 'x');
  CHECK(copy.name() == std::string(100, 'n'));
  CHECK(std::string(copy.what()) == error.what());
}
