#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <brook/core/error.hpp>
#include <brook/core/quantity.hpp>
#include <brook/core/record.hpp>
#include <brook/core/time.hpp>

namespace brook {

/// How long messages are kept. Any combination; whichever limit is hit first trims. All unset = for
/// ever.
struct Retention {
  std::optional<Duration> max_age{};           ///< A message goes when its age reaches this.
  std::optional<ByteSize> max_bytes{};         ///< Bytes as stored, per partition.
  std::optional<MessageCount> max_messages{};  ///< Messages, per partition.
};

/// What happens at `max_bytes` or `max_messages`.
enum class Overflow : unsigned char {
  drop_oldest,  ///< The oldest messages go, read or not.
  reject,       ///< The append throws `TopicFull`.
};

/// Which timestamp a message gets (Kafka's `message.timestamp.type`).
enum class TimestampType : unsigned char {
  append_time,  ///< The wall clock at append, never decreasing within a partition.
  create_time,  ///< The publisher's, where it gives one; need not be monotone.
};

/// Keeps the newest message of each key, at its offset (Kafka's `cleanup.policy=compact`). A null
/// payload is a tombstone: it says that the key is gone, and goes itself after
/// `tombstone_retention`. The segment that is being written is never compacted. Messages without a
/// key are refused.
struct Compaction {
  Duration tombstone_retention = std::chrono::hours{24};
};

/// What one message may be at most. Sizes in bytes.
struct MessageLimits {
  ByteSize max_message = 1 << 20;  ///< Key, payload and headers together.
  ByteSize max_key = 64 << 10;
  MessageCount max_headers = 1000;
};

/// Options of one partition.
struct LogConfig {
  Retention retention{};
  Overflow overflow = Overflow::drop_oldest;
  TimestampType timestamps = TimestampType::append_time;
  std::optional<Compaction> compaction{};
  MessageLimits limits{};
};

namespace detail {

/// @throws InvalidArgument naming the option that makes no sense
inline void validate(const LogConfig& config) {
  const Retention& retention = config.retention;
  if (retention.max_age && (retention.max_age->is_zero() || retention.max_age->is_negative())) {
    throw InvalidArgument(
        "retention.max_age must be greater than 0: leave it unset to keep for ever");
  }
  if (retention.max_bytes && retention.max_bytes->value() == 0) {
    throw InvalidArgument(
        "retention.max_bytes must be greater than 0: leave it unset for no limit");
  }
  if (retention.max_messages && retention.max_messages->value() == 0) {
    throw InvalidArgument(
        "retention.max_messages must be greater than 0: leave it unset for no limit");
  }
  if (config.overflow == Overflow::reject && !retention.max_bytes && !retention.max_messages) {
    throw InvalidArgument("Overflow::reject needs retention.max_bytes or retention.max_messages");
  }
  if (config.compaction && config.compaction->tombstone_retention.is_negative()) {
    throw InvalidArgument("compaction.tombstone_retention must not be negative");
  }
  if (config.limits.max_message.value() == 0) {
    throw InvalidArgument("limits.max_message must be greater than 0");
  }
}

/// @throws MessageTooLarge, KeyRequired
inline void validate(const MessageView& message, const LogConfig& config) {
  const MessageLimits& limits = config.limits;
  const std::uint64_t max_key = std::min(limits.max_key.value(), RecordLayout::max_key);
  if (message.key.size() > max_key) {
    throw MessageTooLarge("key", message.key.size(), max_key, "bytes");
  }
  if (message.headers.size() > limits.max_headers.value()) {
    throw MessageTooLarge("header list", message.headers.size(), limits.max_headers.value(),
                          "headers");
  }
  std::uint64_t size = message.key.size() + message.payload.size();
  if (!message.headers.empty()) size += stored_size(message.headers);
  const std::uint64_t max_message = std::min(limits.max_message.value(), RecordLayout::max_payload);
  if (size > max_message) throw MessageTooLarge("message", size, max_message, "bytes");
  if (config.compaction && message.key.is_null()) throw KeyRequired();
}

}  // namespace detail

}  // namespace brook
