#include <brook/delivery/subscription_config.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>

#include "support/catch.hpp"

using namespace std::chrono_literals;
using brook::Duration;
using brook::Offset;
using brook::SubscriptionConfig;
using brook::detail::backoff;
using brook::detail::validate;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The message with which @p config is refused.
std::string refusal(const SubscriptionConfig& config) {
  try {
    validate(config);
  } catch (const brook::InvalidArgument& error) {
    return error.what();
  }
  return {};
}

std::int64_t nanoseconds(Duration duration) {
  return duration.nanoseconds().count();
}

}  // namespace

TEST_CASE("a subscription's defaults are the documented ones", "[delivery]") {
  const SubscriptionConfig config;
  CHECK(config.ack_deadline == Duration(30s));
  CHECK(config.max_lease.is_never());
  CHECK_FALSE(config.max_deliveries.has_value());
  CHECK(config.exhausted == brook::Exhausted::dead_letter);
  CHECK(config.retry.min_backoff == Duration(100ms));
  CHECK(config.retry.max_backoff == Duration(10s));
  CHECK_FALSE(config.retry.jitter);
  CHECK(config.ordering == brook::Ordering::key);
  CHECK(config.guarantee == brook::Guarantee::at_least_once);
  CHECK(config.max_outstanding_messages == brook::MessageCount(10'000));
  CHECK(config.max_outstanding_bytes == brook::ByteSize::unlimited());
  CHECK(config.max_ack_window == brook::MessageCount(100'000));
  CHECK(config.group.empty());
  CHECK_NOTHROW(validate(config));
}

TEST_CASE("an option that makes no sense is refused by its name", "[delivery]") {
  CHECK_THAT(refusal({.ack_deadline = 0s}), ContainsSubstring("ack_deadline"));
  CHECK_THAT(refusal({.ack_deadline = -1ns}), ContainsSubstring("ack_deadline"));
  CHECK_THAT(refusal({.ack_deadline = 1s, .max_lease = 0s}), ContainsSubstring("max_lease"));
  CHECK_THAT(refusal({.ack_deadline = 1s, .max_lease = -1s}), ContainsSubstring("max_lease"));
  CHECK_THAT(refusal({.ack_deadline = 31s, .max_lease = 30s}), ContainsSubstring("max_lease"));
  CHECK_THAT(refusal({.max_deliveries = 0}), ContainsSubstring("max_deliveries"));
  CHECK_THAT(refusal({.max_deliveries = 1'000'001}), ContainsSubstring("max_deliveries"));
  CHECK_THAT(refusal({.retry = {.min_backoff = -1ns}}), ContainsSubstring("min_backoff"));
  CHECK_THAT(refusal({.retry = {.min_backoff = 2s, .max_backoff = 1s}}),
             ContainsSubstring("max_backoff"));
  CHECK_THAT(refusal({.max_outstanding_messages = 0}),
             ContainsSubstring("max_outstanding_messages"));
  CHECK_THAT(refusal({.max_outstanding_bytes = 0}), ContainsSubstring("max_outstanding_bytes"));
  CHECK_THAT(refusal({.max_ack_window = 0}), ContainsSubstring("max_ack_window"));
  CHECK_THAT(refusal({.max_ack_window = (1U << 30) + 1}), ContainsSubstring("max_ack_window"));
}

TEST_CASE("what retries is refused together with at_most_once", "[delivery]") {
  constexpr auto once = brook::Guarantee::at_most_once;
  CHECK(refusal({.guarantee = once}).empty());
  CHECK_THAT(refusal({.ack_deadline = 29s, .guarantee = once}), ContainsSubstring("ack_deadline"));
  CHECK_THAT(refusal({.max_lease = 60s, .guarantee = once}), ContainsSubstring("max_lease"));
  CHECK_THAT(refusal({.max_deliveries = 5, .guarantee = once}),
             ContainsSubstring("max_deliveries"));
  CHECK_THAT(refusal({.retry = {.min_backoff = 1s}, .guarantee = once}),
             ContainsSubstring("retry"));
}

TEST_CASE("the extremes that make sense are accepted", "[delivery]") {
  CHECK(refusal({.ack_deadline = 1ns, .max_lease = 1ns}).empty());
  CHECK(refusal({.ack_deadline = Duration::max()}).empty());
  CHECK(refusal({.max_deliveries = 1}).empty());
  CHECK(refusal({.max_deliveries = 1'000'000}).empty());
  CHECK(refusal({.retry = {.min_backoff = 0s, .max_backoff = 0s}}).empty());
  CHECK(refusal({.retry = {.max_backoff = Duration::max()}}).empty());
  CHECK(refusal({.max_outstanding_messages = 1, .max_outstanding_bytes = 1, .max_ack_window = 1})
            .empty());
  CHECK(refusal({.max_ack_window = 1U << 30}).empty());
}

TEST_CASE("backoff doubles with every failure up to its maximum", "[delivery]") {
  const brook::RetryPolicy policy{.min_backoff = 100ms, .max_backoff = 1s};
  CHECK(backoff(policy, 1, Offset{0}) == Duration(100ms));
  CHECK(backoff(policy, 2, Offset{0}) == Duration(200ms));
  CHECK(backoff(policy, 3, Offset{0}) == Duration(400ms));
  CHECK(backoff(policy, 4, Offset{0}) == Duration(800ms));
  CHECK(backoff(policy, 5, Offset{0}) == Duration(1s));
  CHECK(backoff(policy, 6, Offset{0}) == Duration(1s));
  CHECK(backoff(policy, 16'777'215, Offset{0}) == Duration(1s));
}

TEST_CASE("backoff does not depend on the offset unless there is jitter", "[delivery]") {
  CHECK(backoff({}, 3, Offset{0}) == backoff({}, 3, Offset{17}));
}

TEST_CASE("backoff neither overflows nor loops for ever", "[delivery]") {
  CHECK(backoff({.min_backoff = 1ns, .max_backoff = Duration::max()}, 1000, Offset{0}).is_never());
  CHECK(backoff({.min_backoff = Duration::max(), .max_backoff = Duration::max()}, 2, Offset{0})
            .is_never());
  CHECK(backoff({.min_backoff = 0s, .max_backoff = 10s}, ~std::uint64_t{0}, Offset{0}).is_zero());
}

TEST_CASE("jitter takes off at most half of a backoff, never adds, and spreads", "[delivery]") {
  const brook::RetryPolicy policy{.min_backoff = 1s, .max_backoff = 8s, .jitter = true};
  for (std::uint64_t failures = 1; failures <= 5; ++failures) {
    const brook::RetryPolicy plain{.min_backoff = 1s, .max_backoff = 8s};
    const std::int64_t whole = nanoseconds(backoff(plain, failures, Offset{0}));
    std::set<std::int64_t> seen;
    for (std::uint64_t offset = 0; offset < 1000; ++offset) {
      const std::int64_t wait = nanoseconds(backoff(policy, failures, Offset{offset}));
      REQUIRE(wait <= whole);
      REQUIRE(wait >= whole / 2);
      seen.insert(wait * 10 / whole);
      REQUIRE(wait == nanoseconds(backoff(policy, failures, Offset{offset})));
    }
    CHECK(seen.size() >= 5);  // every tenth from 5 to 9
  }
}

TEST_CASE("jitter of the smallest backoffs stays within its bounds", "[delivery]") {
  for (std::int64_t whole = 0; whole < 5; ++whole) {
    const brook::RetryPolicy policy{.min_backoff = std::chrono::nanoseconds{whole},
                                    .max_backoff = std::chrono::nanoseconds{whole},
                                    .jitter = true};
    for (std::uint64_t offset = 0; offset < 50; ++offset) {
      const std::int64_t wait = nanoseconds(backoff(policy, 1, Offset{offset}));
      CHECK(wait <= whole);
      CHECK(wait >= whole / 2);
    }
  }
}
