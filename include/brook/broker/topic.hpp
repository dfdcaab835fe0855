#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <brook/broker/broker_state.hpp>
#include <brook/broker/reports.hpp>
#include <brook/log/read_batch.hpp>

namespace brook {

/// A handle to one topic of a broker: publishing and reading through it needs no look-up by name.
/// Cheap to copy.
///
/// Thread rule: all calls from any thread. A publish takes the lock of the partition it appends to,
/// for the time of a copy; a read takes none. Lifetime: may outlive the topic and the broker; calls
/// then throw `Closed`.
template <BrokerPolicies P>
class BasicTopic {
 public:
  [[nodiscard]] const std::string& name() const noexcept { return topic_->name(); }
  [[nodiscard]] TopicId id() const noexcept { return topic_->id(); }
  [[nodiscard]] std::uint32_t partitions() const noexcept { return topic_->partition_count(); }

  // ------------------------------------------------------------------------------------ publishing

  /// Appends one message to the partition it names, or to the one its key belongs to; without a
  /// key, round robin. Copies all bytes before it returns.
  /// @throws Closed, MessageTooLarge, KeyRequired, TopicFull, ReservedHeader, UnknownPartition,
  ///   InternalTopic; nothing was appended then
  Published publish(const MessageView& message) {
    check();
    return topic_->publish(message);
  }
  /// Appends a batch: one append for each partition it touches, all messages or none. Messages of
  /// one partition get consecutive offsets in the order of the span.
  PublishedBatch publish(std::span<const Message> messages) {
    check();
    return topic_->publish(MessageBatch(messages));
  }
  PublishedBatch publish(std::span<const MessageView> messages) {
    check();
    return topic_->publish(MessageBatch(messages));
  }

  // --------------------------------------------------------------------------------------- reading

  /// Messages of a partition from @p from on, without a group: a pure function of the position.
  /// @throws OffsetTooOld, OffsetOutOfRange, UnknownPartition, Closed
  [[nodiscard]] ReadBatch read(PartitionId partition, Offset from,
                               const ReadLimits& limits = {}) const {
    topic_->check_open();
    return topic_->partition(partition).log.read(from, limits);
  }
  /// First retained offset. @throws UnknownPartition
  [[nodiscard]] Offset start(PartitionId partition) const {
    return topic_->partition(partition).log.start();
  }
  /// Offset behind the last visible message. @throws UnknownPartition
  [[nodiscard]] Offset end(PartitionId partition) const {
    return topic_->partition(partition).log.visible_end();
  }
  /// First offset whose timestamp is at or after @p time; the end if there is none. @throws
  /// UnknownPartition
  [[nodiscard]] Offset offset_at(PartitionId partition, Timestamp time) const {
    return topic_->partition(partition).log.offset_at(time);
  }
  /// Start, end, messages and bytes of each partition.
  [[nodiscard]] TopicInfo info() const { return topic_->info(); }

  /// Drops everything below @p upto in a partition, read or not. @throws OffsetOutOfRange,
  /// UnknownPartition, Closed
  void trim(PartitionId partition, Offset upto) {
    topic_->check_open();
    topic_->trim(partition, upto);
  }

 private:
  template <BrokerPolicies>
  friend class BasicBroker;
  template <BrokerPolicies, Partitioner>
  friend class BasicProducer;

  explicit BasicTopic(std::shared_ptr<detail::TopicState<P>> topic) noexcept
      : topic_(std::move(topic)) {}
  void check() const {
    topic_->check_open();
    if (is_internal(topic_->name())) throw InternalTopic(topic_->name());
  }

  std::shared_ptr<detail::TopicState<P>> topic_;
};

}  // namespace brook
