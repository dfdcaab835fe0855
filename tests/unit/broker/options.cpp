#include <brook/broker/options.hpp>

#include "support/catch.hpp"

using brook::DeadLetterTopic;
using brook::Duration;
using brook::InvalidArgument;
using brook::Offset;
using brook::Start;
using brook::SubscribeOptions;
using brook::TopicConfig;
using brook::detail::first_difference;
using brook::detail::group_config;
using namespace std::chrono_literals;

namespace {

SubscribeOptions plain() {
  return {.group = "g", .start = Start::earliest};
}

/// The options of @p change on top of the plain ones.
template <class Change>
SubscribeOptions with(Change change) {
  SubscribeOptions options = plain();
  change(options);
  return options;
}

template <class Change>
void check_refused(Change change) {
  const SubscribeOptions options = with(change);
  CHECK_THROWS_AS(group_config(options), InvalidArgument);
}

}  // namespace

TEST_CASE("A start says where, and equals one that says the same", "[broker]") {
  CHECK(Start::earliest.kind() == Start::Kind::earliest);
  CHECK(Start::latest.kind() == Start::Kind::latest);
  CHECK(Start::at_offset(Offset{7}).kind() == Start::Kind::offset);
  CHECK(Start::at_offset(Offset{7}).offset() == Offset{7});
  CHECK(Start::at_offset(Offset{7}) == Start::at_offset(Offset{7}));
  CHECK(Start::at_offset(Offset{7}) != Start::at_offset(Offset{8}));
  CHECK(Start::at_offset(Offset{0}) != Start::earliest);
  CHECK(Start::earliest != Start::latest);
}

TEST_CASE("A start at a time of the system clock is rounded down to milliseconds", "[broker]") {
  const std::chrono::sys_time<std::chrono::nanoseconds> time{1'234'567'899ns};
  CHECK(Start::at_time(time).time() == brook::Timestamp{1234ms});
  CHECK(Start::at_time(time) == Start::at_time(brook::Timestamp{1234ms}));
  CHECK(Start::at_time(std::chrono::sys_time<std::chrono::nanoseconds>{-1ns}).time() ==
        brook::Timestamp{-1ms});
}

TEST_CASE("A dead-letter topic is automatic, named or none", "[broker]") {
  CHECK(DeadLetterTopic().is_automatic());
  CHECK(DeadLetterTopic().name_for("billing") == "__dead_letter.billing");
  CHECK(DeadLetterTopic("failed").name_for("billing") == "failed");
  CHECK_FALSE(DeadLetterTopic("failed").is_automatic());
  CHECK(DeadLetterTopic::none().is_none());
  CHECK(DeadLetterTopic::none().name_for("billing").empty());
  CHECK(DeadLetterTopic("a") == DeadLetterTopic(std::string("a")));
  CHECK(DeadLetterTopic("a") != DeadLetterTopic("b"));
  CHECK(DeadLetterTopic() != DeadLetterTopic::none());
}

TEST_CASE("A group without further options has the documented defaults", "[broker]") {
  const auto config = group_config(plain());
  CHECK(config.dead_letters.is_automatic());
  CHECK(config.subscription.group == "g");
  CHECK(config.subscription.ack_deadline == Duration{30s});
  CHECK(config.subscription.max_lease == Duration::max());
  REQUIRE(config.subscription.max_deliveries.has_value());
  CHECK(config.subscription.max_deliveries->value() == 5);
  CHECK(config.subscription.exhausted == brook::Exhausted::dead_letter);
  CHECK(config.subscription.retry.min_backoff == Duration{100ms});
  CHECK(config.subscription.retry.max_backoff == Duration{10s});
  CHECK_FALSE(config.subscription.retry.jitter);
  CHECK(config.subscription.ordering == brook::Ordering::key);
  CHECK(config.subscription.guarantee == brook::Guarantee::at_least_once);
  CHECK(config.subscription.max_outstanding_messages.value() == 10'000);
  CHECK(config.subscription.max_outstanding_bytes == brook::ByteSize::unlimited());
  CHECK(config.subscription.max_ack_window.value() == 100'000);
}

TEST_CASE("Without a dead-letter topic deliveries are not limited, and what is rejected is dropped",
          "[broker]") {
  const auto config =
      group_config(with([](auto& o) { o.dead_letter_topic = DeadLetterTopic::none(); }));
  CHECK(config.dead_letters.is_none());
  CHECK_FALSE(config.subscription.max_deliveries.has_value());
  CHECK(config.subscription.exhausted == brook::Exhausted::drop);
}

TEST_CASE("Dropping after max_deliveries must be said, and needs no dead-letter topic",
          "[broker]") {
  check_refused([](auto& o) {
    o.max_deliveries = 3;
    o.dead_letter_topic = DeadLetterTopic::none();
  });
  const auto config = group_config(with([](auto& o) {
    o.max_deliveries = 3;
    o.dead_letter_topic = DeadLetterTopic::none();
    o.exhausted = brook::Exhausted::drop;
  }));
  CHECK(config.subscription.max_deliveries->value() == 3);
  CHECK(config.subscription.exhausted == brook::Exhausted::drop);

  const auto shorter = group_config(with([](auto& o) { o.exhausted = brook::Exhausted::drop; }));
  CHECK(shorter.dead_letters.is_none());
  CHECK_FALSE(shorter.subscription.max_deliveries.has_value());
}

TEST_CASE("Dropping and a dead-letter topic contradict each other", "[broker]") {
  check_refused([](auto& o) {
    o.exhausted = brook::Exhausted::drop;
    o.dead_letter_topic = "failed";
  });
  check_refused([](auto& o) {
    o.exhausted = brook::Exhausted::drop;
    o.dead_letter_topic = DeadLetterTopic();
  });
}

TEST_CASE("At most once refuses every option of retrying", "[broker]") {
  const auto once = [](auto change) {
    return [=](SubscribeOptions& o) {
      o.guarantee = brook::Guarantee::at_most_once;
      change(o);
    };
  };
  check_refused(once([](auto& o) { o.ack_deadline = 30s; }));
  check_refused(once([](auto& o) { o.max_lease = 60s; }));
  check_refused(once([](auto& o) { o.max_deliveries = 5; }));
  check_refused(once([](auto& o) { o.retry = brook::RetryPolicy{}; }));
  check_refused(once([](auto& o) { o.dead_letter_topic = "failed"; }));
  check_refused(once([](auto& o) { o.dead_letter_topic = DeadLetterTopic::none(); }));
  check_refused(once([](auto& o) { o.exhausted = brook::Exhausted::drop; }));

  const auto config = group_config(with(once([](auto&) {})));
  CHECK(config.dead_letters.is_none());
  CHECK(config.subscription.guarantee == brook::Guarantee::at_most_once);
}

TEST_CASE("Options of a group that make no sense are refused", "[broker]") {
  check_refused([](auto& o) { o.ack_deadline = 0s; });
  check_refused([](auto& o) { o.ack_deadline = -1s; });
  check_refused([](auto& o) { o.max_lease = 0s; });
  check_refused([](auto& o) { o.max_lease = 29s; });
  check_refused([](auto& o) { o.max_deliveries = 0; });
  check_refused([](auto& o) { o.max_deliveries = 1'000'001; });
  check_refused([](auto& o) { o.retry = brook::RetryPolicy{.min_backoff = -1ms}; });
  check_refused(
      [](auto& o) { o.retry = brook::RetryPolicy{.min_backoff = 2s, .max_backoff = 1s}; });
  check_refused([](auto& o) { o.max_outstanding_messages = 0; });
  check_refused([](auto& o) { o.max_outstanding_bytes = 0; });
  check_refused([](auto& o) { o.max_ack_window = 0; });
  check_refused([](auto& o) { o.max_ack_window = (1 << 30) + 1; });
}

TEST_CASE("A group and its dead-letter topic need valid names", "[broker]") {
  CHECK_THROWS_AS(group_config(with([](auto& o) { o.group = ""; })), brook::InvalidTopicName);
  CHECK_THROWS_AS(group_config(with([](auto& o) { o.group = "a b"; })), brook::InvalidTopicName);
  CHECK_THROWS_AS(group_config(with([](auto& o) { o.group = std::string(201, 'g'); })),
                  brook::InvalidTopicName);
  CHECK_NOTHROW(group_config(with([](auto& o) { o.group = std::string(200, 'g'); })));

  CHECK_THROWS_AS(group_config(with([](auto& o) { o.dead_letter_topic = ""; })),
                  brook::InvalidTopicName);
  CHECK_THROWS_AS(group_config(with([](auto& o) { o.dead_letter_topic = "a..b"; })),
                  brook::InvalidTopicName);
}

TEST_CASE("A group cannot name an internal topic for its dead letters", "[broker]") {
  CHECK_THROWS_AS(
      group_config(with([](auto& o) { o.dead_letter_topic = "__dead_letter.another"; })),
      brook::InternalTopic);
}

TEST_CASE("The first option in which two members differ is named", "[broker]") {
  const auto difference = [](auto change) {
    return std::string(first_difference(plain(), with(change)));
  };
  CHECK(difference([](auto&) {}).empty());
  CHECK(difference([](auto& o) { o.start = Start::latest; }) == "start");
  CHECK(difference([](auto& o) { o.guarantee = brook::Guarantee::at_most_once; }) == "guarantee");
  CHECK(difference([](auto& o) { o.ordering = brook::Ordering::none; }) == "ordering");
  CHECK(difference([](auto& o) { o.ack_deadline = 31s; }) == "ack_deadline");
  CHECK(difference([](auto& o) { o.max_lease = 60s; }) == "max_lease");
  CHECK(difference([](auto& o) { o.dead_letter_topic = "failed"; }) == "dead_letter_topic");
  CHECK(difference([](auto& o) { o.max_deliveries = 6; }) == "max_deliveries");
  CHECK(difference([](auto& o) { o.retry = brook::RetryPolicy{.jitter = true}; }) == "retry");
  CHECK(difference([](auto& o) { o.max_outstanding_messages = 1; }) == "max_outstanding_messages");
  CHECK(difference([](auto& o) { o.max_outstanding_bytes = 1; }) == "max_outstanding_bytes");
  CHECK(difference([](auto& o) { o.max_ack_window = 1; }) == "max_ack_window");

  const auto limited = [](brook::Exhausted exhausted) {
    return with([=](auto& o) {
      o.exhausted = exhausted;
      o.dead_letter_topic = DeadLetterTopic::none();
    });
  };
  CHECK(first_difference(limited(brook::Exhausted::drop), limited(brook::Exhausted::dead_letter))
            .empty());
}

TEST_CASE("An option that is said as its default is no difference", "[broker]") {
  CHECK(first_difference(plain(), with([](auto& o) {
                           o.ack_deadline = 30s;
                           o.max_lease = Duration::max();
                           o.max_deliveries = 5;
                           o.retry = brook::RetryPolicy{};
                           o.dead_letter_topic = DeadLetterTopic();
                         }))
            .empty());
}

TEST_CASE("Options of a topic that make no sense are refused", "[broker]") {
  const auto check = [](TopicConfig config) {
    CHECK_THROWS_AS(brook::detail::validate(config), InvalidArgument);
  };
  check({.partitions = 0});
  check({.partitions = 1'000'001});
  check({.retention = {.max_age = 0s}});
  check({.retention = {.max_age = -1s}});
  check({.retention = {.max_bytes = 0}});
  check({.retention = {.max_messages = 0}});
  check({.overflow = brook::Overflow::reject});
  check({.retention = {.max_age = 1h}, .overflow = brook::Overflow::reject});
  check({.compaction = brook::Compaction{.tombstone_retention = -1s}});
  check({.limits = {.max_message = 0}});
  CHECK_NOTHROW(brook::detail::validate(TopicConfig{}));
  CHECK_THROWS_AS(TopicConfig{.partitions = -1}, InvalidArgument);
}
