#include <brook/log/log_config.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/catch.hpp"

using brook::InvalidArgument;
using brook::KeyRequired;
using brook::LogConfig;
using brook::MessageTooLarge;
using brook::MessageView;
using brook::null;
using brook::detail::validate;
using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;

namespace {

void check_refused(const LogConfig& config, const std::string& option) {
  CHECK_THROWS_AS(validate(config), InvalidArgument);
  CHECK_THROWS_WITH(validate(config), ContainsSubstring(option));
}

/// What is too large, and by how much; zeros if nothing is.
struct TooLarge {
  std::uint64_t size = 0;
  std::uint64_t limit = 0;
  friend bool operator==(const TooLarge&, const TooLarge&) = default;
};
TooLarge too_large(const MessageView& message, const LogConfig& config) {
  try {
    validate(message, config);
  } catch (const MessageTooLarge& error) {
    return {error.size(), error.limit()};
  }
  return {};
}

}  // namespace

TEST_CASE("Without options a log keeps everything and takes what Kafka takes", "[log]") {
  const LogConfig config;
  CHECK_NOTHROW(validate(config));
  CHECK_FALSE(config.retention.max_age.has_value());
  CHECK_FALSE(config.retention.max_bytes.has_value());
  CHECK_FALSE(config.retention.max_messages.has_value());
  CHECK(config.overflow == brook::Overflow::drop_oldest);
  CHECK(config.timestamps == brook::TimestampType::append_time);
  CHECK_FALSE(config.compaction.has_value());
  CHECK(config.limits.max_message == brook::ByteSize(1 << 20));
  CHECK(config.limits.max_key == brook::ByteSize(64 << 10));
  CHECK(config.limits.max_headers == brook::MessageCount(1000));
  CHECK(brook::Compaction{}.tombstone_retention == brook::Duration(24h));
}

TEST_CASE("A retention of nothing is refused, and named", "[log]") {
  check_refused({.retention = {.max_age = 0s}}, "retention.max_age");
  check_refused({.retention = {.max_age = -1ns}}, "retention.max_age");
  check_refused({.retention = {.max_bytes = 0}}, "retention.max_bytes");
  check_refused({.retention = {.max_messages = 0}}, "retention.max_messages");
  CHECK_NOTHROW(validate({.retention = {.max_age = 1ns, .max_bytes = 1, .max_messages = 1}}));
  CHECK_NOTHROW(validate({.retention = {.max_age = brook::Duration::max()}}));
}

TEST_CASE("Rejecting at a limit needs a limit in size", "[log]") {
  check_refused({.overflow = brook::Overflow::reject}, "Overflow::reject");
  check_refused({.retention = {.max_age = 1h}, .overflow = brook::Overflow::reject},
                "retention.max_bytes or retention.max_messages");
  CHECK_NOTHROW(validate({.retention = {.max_bytes = 1}, .overflow = brook::Overflow::reject}));
  CHECK_NOTHROW(validate({.retention = {.max_messages = 1}, .overflow = brook::Overflow::reject}));
}

TEST_CASE("Tombstones are not kept for less than no time", "[log]") {
  check_refused({.compaction = brook::Compaction{.tombstone_retention = -1ms}},
                "compaction.tombstone_retention");
  CHECK_NOTHROW(validate({.compaction = brook::Compaction{.tombstone_retention = 0ms}}));
}

TEST_CASE("A log that takes no message at all is refused", "[log]") {
  check_refused({.limits = {.max_message = 0}}, "limits.max_message");
  CHECK_NOTHROW(validate({.limits = {.max_message = 1, .max_key = 0, .max_headers = 0}}));
}

TEST_CASE("A message is at most as large as its limit, key and headers included", "[log]") {
  const LogConfig config{.limits = {.max_message = 100}};
  const std::string text(100, 'x');
  CHECK_NOTHROW(validate({.payload = text}, config));
  CHECK(too_large({.payload = text + "y"}, config) == TooLarge{101, 100});
  CHECK_NOTHROW(validate({.key = "k", .payload = text.substr(1)}, config));
  CHECK(too_large({.key = "k", .payload = text}, config) == TooLarge{101, 100});
  // A header of a one-letter name and value takes four bytes.
  const std::vector<brook::Header> headers{{.name = "n", .value = "v"}};
  CHECK_NOTHROW(validate({.payload = text.substr(4), .headers = headers}, config));
  CHECK(too_large({.payload = text.substr(3), .headers = headers}, config) == TooLarge{101, 100});
  CHECK_THROWS_WITH(validate({.payload = text + "y"}, config), ContainsSubstring("message"));
}

TEST_CASE("A key is at most as large as its own limit", "[log]") {
  const LogConfig config{.limits = {.max_key = 3}};
  CHECK_NOTHROW(validate({.key = "abc"}, config));
  CHECK(too_large({.key = "abcd"}, config) == TooLarge{4, 3});
  CHECK_THROWS_WITH(validate({.key = "abcd"}, config), ContainsSubstring("key"));
  CHECK_NOTHROW(validate({.key = null}, {.limits = {.max_key = 0}}));
  CHECK_NOTHROW(validate({.key = ""}, {.limits = {.max_key = 0}}));
  CHECK(too_large({.key = "a"}, {.limits = {.max_key = 0}}) == TooLarge{1, 0});
}

TEST_CASE("Headers are counted", "[log]") {
  const LogConfig config{.limits = {.max_headers = 2}};
  std::vector<brook::Header> headers(2);
  CHECK_NOTHROW(validate({.headers = headers}, config));
  headers.emplace_back();
  CHECK(too_large({.headers = headers}, config) == TooLarge{3, 2});
  CHECK_THROWS_WITH(validate({.headers = headers}, config), ContainsSubstring("3 headers"));
}

TEST_CASE("No limit can be raised beyond what a stored message can say", "[log]") {
  const LogConfig unlimited{.limits = {.max_message = brook::ByteSize::unlimited(),
                                       .max_key = brook::ByteSize::unlimited(),
                                       .max_headers = brook::MessageCount::unlimited()}};
  CHECK_NOTHROW(validate(unlimited));
  static const char byte = 'x';
  // Only sizes are looked at: the bytes behind the first need not exist.
  const std::string_view huge(&byte, std::uint64_t{1} << 32);
  const std::string_view large(&byte, std::uint64_t{1} << 28);
  CHECK(too_large({.payload = huge}, unlimited).limit == 0xffff'fffe);
  CHECK(too_large({.key = large}, unlimited) == TooLarge{1 << 28, (1 << 28) - 1});
}

TEST_CASE("A compacted log takes no message without a key; an empty key is one", "[log]") {
  const LogConfig config{.compaction = brook::Compaction{}};
  CHECK_THROWS_AS(validate({.payload = "x"}, config), KeyRequired);
  CHECK_NOTHROW(validate({.key = "", .payload = "x"}, config));
  CHECK_NOTHROW(validate({.key = "a", .payload = null}, config));
  CHECK_NOTHROW(validate({.payload = "x"}, LogConfig{}));
}
