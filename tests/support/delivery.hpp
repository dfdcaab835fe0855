#pragma once

// What tests of the delivery state machine need again and again: a log under a manual clock, and
// deliveries as numbers.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <brook/clock/manual_clock.hpp>
#include <brook/delivery/subscription.hpp>
#include <brook/log/topic_log.hpp>

namespace support {

using ManualLog = brook::TopicLog<brook::MemoryStorage, brook::ManualClock>;
using ManualSubscription = brook::Subscription<ManualLog>;
using Offsets = std::vector<std::uint64_t>;

/// A log and its clock. Keys are given as one text, a key a letter; '-' is none: `append("ab-a")`.
struct LogUnderTest {
  LogUnderTest() = default;
  explicit LogUnderTest(const std::string& keys) { append(keys); }

  void append(const std::string& keys, std::size_t payload_size = 8) {
    for (const char key : keys) {
      brook::Message message{.payload = std::string(payload_size, 'x')};
      if (key != '-') message.key = std::string(1, key);
      log.append(message);
    }
  }
  /// Bytes that one message of `append` takes.
  std::uint64_t stored_size(std::uint64_t offset) const {
    const auto batch = log.read(brook::Offset{offset}, {.max_messages = 1});
    return batch[0].stored_size();
  }
  ManualSubscription subscribe(brook::SubscriptionConfig config = {}) const {
    return ManualSubscription(log, std::move(config));
  }

  brook::ManualClock clock;
  ManualLog log{clock};
};

inline Offsets offsets(const brook::Batch& batch) {
  Offsets all;
  for (const auto& delivery : batch) all.push_back(delivery.offset().value());
  return all;
}
/// Offsets of all dead letters that were taken.
inline Offsets drain(ManualSubscription& subscription) {
  Offsets all;
  subscription.drain_dead_letters(
      [&](const brook::DeadLetter& letter) { all.push_back(letter.message.offset().value()); });
  return all;
}

}  // namespace support
