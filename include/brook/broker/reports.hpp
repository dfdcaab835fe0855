#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/message.hpp>
#include <brook/core/time.hpp>
#include <brook/delivery/lease_table.hpp>

namespace brook {

/// Where a message was published to.
struct Published {
  TopicId topic{};
  PartitionId partition{};
  Offset offset{};

  friend bool operator==(const Published&, const Published&) noexcept = default;
};

/// Where a batch was published to: one range of offsets for each partition it touched, in order of
/// partition.
struct PublishedBatch {
  struct Part {
    PartitionId partition{};
    OffsetRange offsets{};
  };
  TopicId topic{};
  std::vector<Part> parts{};
};

/// One partition of a topic, as it stands.
struct PartitionInfo {
  PartitionId partition{};
  Offset start{};
  Offset end{};
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;  ///< As stored.
};

struct TopicInfo {
  std::string name{};
  TopicId id{};
  std::vector<PartitionInfo> partitions{};
};

/// A position of a group: the next offset to handle.
struct CommittedOffset {
  std::string topic{};
  PartitionId partition{};
  Offset offset{};

  friend bool operator==(const CommittedOffset&, const CommittedOffset&) = default;
};

/// How far one group is behind in one partition. Rising lag is the alert that matters, not memory
/// use.
struct PartitionLag {
  std::string topic{};
  PartitionId partition{};
  Offset committed{};
  Offset start{};
  Offset end{};  ///< Visible end.
  /// Unsettled messages below the visible end, what is dead-lettering excepted. Copies that a
  /// redrive addressed to another group count until this one has passed them.
  std::uint64_t messages = 0;
  std::uint64_t offset_lag = 0;  ///< Visible end − max(committed, start).
  std::uint64_t bytes = 0;       ///< As stored, from committed to the visible end.
  std::optional<Duration>
      oldest_age{};  ///< Age of the oldest unsettled message, by the wall clock.
  std::uint64_t in_flight = 0;
  std::uint64_t retrying = 0;        ///< Waiting to be handed out again.
  std::uint64_t dead_lettering = 0;  ///< On their way to the dead-letter topic.
  DeliveryStats stats{};
};

struct GroupLag {
  std::string group{};
  std::vector<PartitionLag> partitions{};

  /// Sum over the partitions.
  [[nodiscard]] std::uint64_t messages() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& partition : partitions) sum += partition.messages;
    return sum;
  }
  [[nodiscard]] DeliveryStats stats() const noexcept {
    DeliveryStats sum;
    for (const auto& partition : partitions) {
      const DeliveryStats& stats = partition.stats;
      sum.deliveries += stats.deliveries;
      sum.redeliveries += stats.redeliveries;
      sum.acked += stats.acked;
      sum.nacked += stats.nacked;
      sum.expired += stats.expired;
      sum.dead_lettered += stats.dead_lettered;
      sum.dropped += stats.dropped;
      sum.lost += stats.lost;
    }
    return sum;
  }
};

/// A range of messages that retention or trim took from a group before they were settled.
struct LostMessages {
  std::string topic{};
  PartitionId partition{};
  OffsetRange range{};
  bool handed_out = false;  ///< They had been handed out before.
};

/// A message that a group gave up on, as its dead-letter topic keeps it.
struct DeadLetterRecord {
  Message message{};  ///< Key, payload and headers as published.
  std::string source_topic{};
  PartitionId source_partition{};
  Offset source_offset{};
  Timestamp source_timestamp{};
  std::string group{};
  std::uint64_t deliveries = 0;
  std::string error{};
  Timestamp first_failed_at{};
  Timestamp last_failed_at{};
};

/// What a redrive did.
struct RedriveReport {
  std::uint64_t redriven = 0;  ///< Published to their source topics again.
  std::uint64_t skipped = 0;   ///< Left where they are, because their source topic is gone.
};

}  // namespace brook
