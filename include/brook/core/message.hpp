#pragma once

#include <optional>
#include <vector>

#include <brook/core/bytes.hpp>
#include <brook/core/config.hpp>
#include <brook/core/headers.hpp>
#include <brook/core/ids.hpp>
#include <brook/core/time.hpp>

namespace brook {

/// A message to be published, as a view: what publish calls take, by `const&`. Owns nothing;
/// publish copies the bytes before it returns. To keep messages in a container, use `Message`.
///
/// `topic.publish({.key = "customer-42", .payload = "total=99", .headers = {{"trace", "7f3a"}}});`
struct MessageView {
  Bytes key = null;                        ///< Routes the message and orders it; null = neither.
  Bytes payload = "";                      ///< Never parsed; `brook::null` = tombstone.
  Headers headers{};                       ///< Ordered; names may repeat.
  std::optional<Timestamp> timestamp{};    ///< Taken only by `TimestampType::create_time`.
  std::optional<PartitionId> partition{};  ///< Explicit partition; else the partitioner decides.
};

/// A message that owns its bytes: for containers, for coroutines, for keeping what a batch
/// delivered.
struct Message {
  Buffer key = null;
  Buffer payload = "";
  std::vector<Header> headers{};
  std::optional<Timestamp> timestamp{};
  std::optional<PartitionId> partition{};

  operator MessageView() const noexcept BROOK_LIFETIMEBOUND {  // NOLINT(*-explicit-*)
    return {.key = key,
            .payload = payload,
            .headers = headers,
            .timestamp = timestamp,
            .partition = partition};
  }
};

}  // namespace brook
