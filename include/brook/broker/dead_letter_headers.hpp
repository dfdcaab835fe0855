#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <brook/broker/reports.hpp>
#include <brook/core/headers.hpp>
#include <brook/core/message.hpp>
#include <brook/delivery/subscription_core.hpp>

namespace brook {

/// Headers that a dead letter carries behind those of the message. Numbers are decimal text, times
/// milliseconds since 1970 UTC. A message that fails again elsewhere gets a further set; the last
/// one counts.
namespace dead_letter_headers {
inline constexpr std::string_view source_topic = "brook.dead_letter.source_topic";
inline constexpr std::string_view source_partition = "brook.dead_letter.source_partition";
inline constexpr std::string_view source_offset = "brook.dead_letter.source_offset";
inline constexpr std::string_view source_timestamp = "brook.dead_letter.source_timestamp";
inline constexpr std::string_view group = "brook.dead_letter.group";
inline constexpr std::string_view deliveries = "brook.dead_letter.deliveries";
inline constexpr std::string_view error = "brook.dead_letter.error";
inline constexpr std::string_view first_failed_at = "brook.dead_letter.first_failed_at";
inline constexpr std::string_view last_failed_at = "brook.dead_letter.last_failed_at";
}  // namespace dead_letter_headers

namespace detail {

inline constexpr std::size_t dead_letter_header_count = 9;

inline Message make_dead_letter(const DeadLetter& letter, std::string_view topic,
                                PartitionId partition, std::string_view group) {
  const auto millis = [](Timestamp time) {
    return std::to_string(time.time_since_epoch().count());
  };
  namespace names = dead_letter_headers;
  Message message = letter.message.copy();
  message.timestamp.reset();
  // What a redrive had addressed to the group is for whoever reads the dead letters now.
  std::erase_if(message.headers, [](const Header& header) {
    return header.name.starts_with(reserved_header_prefix);
  });
  message.headers.reserve(message.headers.size() + dead_letter_header_count);
  const auto add = [&](std::string_view name, std::string value) {
    message.headers.push_back({.name = std::string(name), .value = std::move(value)});
  };
  add(names::source_topic, std::string(topic));
  add(names::source_partition, to_string(partition));
  add(names::source_offset, to_string(letter.message.offset()));
  add(names::source_timestamp, millis(letter.message.timestamp()));
  add(names::group, std::string(group));
  add(names::deliveries, std::to_string(letter.deliveries));
  add(names::error, letter.failure.error);
  add(names::first_failed_at, millis(letter.failure.first));
  add(names::last_failed_at, millis(letter.failure.last));
  return message;
}

/// Reads a dead letter back. What is no dead letter gives an empty group.
inline DeadLetterRecord read_dead_letter(const StoredMessage& stored) {
  namespace names = dead_letter_headers;
  DeadLetterRecord record;
  record.message = stored.copy();
  auto& headers = record.message.headers;
  const auto is_set = [&](std::size_t at) {
    return headers.size() >= dead_letter_header_count && headers[at].name == names::source_topic;
  };
  if (headers.size() < dead_letter_header_count ||
      !is_set(headers.size() - dead_letter_header_count)) {
    return record;
  }
  const std::size_t first = headers.size() - dead_letter_header_count;
  const auto text = [&](std::size_t index) {
    return std::string(headers[first + index].value.text());
  };
  const auto number = [&](std::size_t index) {
    std::int64_t value = 0;
    const std::string_view digits = headers[first + index].value.text();
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  const auto time = [&](std::size_t index) {
    return Timestamp{std::chrono::milliseconds{number(index)}};
  };
  record.source_topic = text(0);
  record.source_partition = PartitionId{static_cast<std::uint32_t>(number(1))};
  record.source_offset = Offset{static_cast<std::uint64_t>(number(2))};
  record.source_timestamp = time(3);
  record.group = text(4);
  record.deliveries = static_cast<std::uint64_t>(number(5));
  record.error = text(6);
  record.first_failed_at = time(7);
  record.last_failed_at = time(8);
  headers.resize(first);
  return record;
}

}  // namespace detail

}  // namespace brook
