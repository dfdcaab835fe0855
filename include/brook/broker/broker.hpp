#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/broker/broker_state.hpp>
#include <brook/broker/consumer.hpp>
#include <brook/broker/options.hpp>
#include <brook/broker/policies.hpp>
#include <brook/broker/producer.hpp>
#include <brook/broker/reports.hpp>
#include <brook/broker/topic.hpp>

namespace brook {

/// A complete publish/subscribe broker inside this process: topics of partitioned logs, groups that
/// remember how far they got, redelivery, dead letters, replay, retention. No thread, no network;
/// work that is due is done by the calls of the application (publish, poll) and by `run_once`.
///
/// Not for: messages that must survive the process, or reach another one.
/// Thread rule: all calls from any thread. Lifetime: handles may outlive it; their calls then throw
/// `Closed`.
///
///     brook::Broker broker;
///     auto orders = broker.create_topic("orders", {.partitions = 8});
///     orders.publish({.key = "customer-42", .payload = "total=99"});
template <BrokerPolicies P>
class BasicBroker {
 public:
  using policies = P;
  using clock_type = typename P::clock_type;
  using topic_type = BasicTopic<P>;
  using consumer_type = BasicConsumer<P>;

  /// With a clock of its own. @throws InvalidArgument
  explicit BasicBroker(BrokerOptions options = {}) requires std::default_initializable<clock_type> {
    auto clock = std::make_unique<clock_type>();
    auto& reference = *clock;
    state_ =
        std::make_shared<detail::BrokerState<P>>(reference, std::move(clock), std::move(options));
  }
  /// With a clock of the caller's, which outlives the broker. @throws InvalidArgument
  explicit BasicBroker(clock_type& clock, BrokerOptions options = {})
      : state_(std::make_shared<detail::BrokerState<P>>(clock, nullptr, std::move(options))) {}
  BasicBroker(const BasicBroker&) = delete;
  BasicBroker& operator=(const BasicBroker&) = delete;
  ~BasicBroker() { close(); }

  [[nodiscard]] clock_type& clock() const noexcept { return state_->clock(); }

  // ---------------------------------------------------------------------------------------- topics

  /// Makes a topic. Groups whose patterns match it read it from its first message.
  /// @throws TopicExists, InvalidTopicName, InternalTopic, InvalidArgument
  topic_type create_topic(const Name& name, const TopicConfig& config = {}) {
    return topic_type(state_->create_topic(name.text(), config));
  }
  /// A handle to an existing topic. @throws UnknownTopic
  [[nodiscard]] topic_type topic(const Name& name) const {
    return topic_type(state_->topic(name.text()));
  }
  /// Deletes a topic with its messages and the positions of all groups in it. Deliveries of it
  /// become stale; batches that are held stay readable. @throws UnknownTopic, TopicInUse if a
  /// group's dead letters go there
  void delete_topic(const Name& name) { state_->delete_topic(name.text()); }
  /// All topics, internal ones included, in order of name.
  [[nodiscard]] std::vector<TopicInfo> topics() const {
    std::vector<TopicInfo> list;
    for (const auto& topic : state_->topics()) list.push_back(topic->info());
    return list;
  }

  // ------------------------------------------------------------------------------------ publishing

  /// As `BasicTopic::publish`, with a look-up of the name. @throws also UnknownTopic if the broker
  /// does not auto-create
  Published publish(std::string_view topic, const MessageView& message) {
    return state_->topic_to_publish(topic)->publish(message);
  }
  PublishedBatch publish(std::string_view topic, std::span<const Message> messages) {
    return state_->topic_to_publish(topic)->publish(MessageBatch(messages));
  }
  PublishedBatch publish(std::string_view topic, std::span<const MessageView> messages) {
    return state_->topic_to_publish(topic)->publish(MessageBatch(messages));
  }
  /// A producer with the broker's way to choose partitions.
  [[nodiscard]] BasicProducer<P> producer() const {
    return {state_, typename P::partitioner_type{}};
  }
  /// A producer with a partitioner of its own.
  template <Partitioner PartitionerType>
  [[nodiscard]] BasicProducer<P, PartitionerType> producer(PartitionerType partitioner) const {
    return {state_, std::move(partitioner)};
  }

  // ---------------------------------------------------------------------------------------- groups

  /// Becomes the member of a group, which is made if there is none of that name. Patterns:
  /// `orders.eu`, `orders.*` (one segment), `orders.#` (any number). A topic that several patterns
  /// match is read once.
  /// @throws InvalidPattern, InvalidTopicName (group), InvalidArgument, GroupOccupied,
  ///   GroupOptionsDiffer, DeadLetterCycle, UnknownTopic (dead-letter topic), OffsetTooOld,
  ///   OffsetOutOfRange (start); nothing was changed then
  [[nodiscard]] consumer_type subscribe(const Patterns& patterns, const SubscribeOptions& options) {
    auto [group, member] = state_->subscribe(patterns, options);
    return consumer_type(state_, std::move(group), member);
  }
  /// Forgets a group and its positions; its dead-letter topic stays. @throws UnknownGroup,
  /// GroupInUse
  void delete_group(const Name& name) { state_->delete_group(name.text()); }
  /// Names of all groups, in order.
  [[nodiscard]] std::vector<std::string> groups() const {
    std::vector<std::string> names;
    for (const auto& group : state_->groups()) names.push_back(group->name());
    return names;
  }
  /// Moves a group in every partition it follows, whether it has a member or not. @throws
  /// UnknownGroup, OffsetTooOld, OffsetOutOfRange
  void seek(const Name& group, const Start& to) {
    using Subscription = detail::PartitionSubscription<P>;
    std::vector<std::pair<std::shared_ptr<Subscription>, Offset>> moves;
    for (const auto& one : state_->group(group.text())->assigned()) {
      moves.emplace_back(one, Subscription::resolve(to, one->log()));
    }
    for (const auto& [one, offset] : moves) one->seek(offset);
  }
  /// How far a group is behind, by partition. @throws UnknownGroup
  [[nodiscard]] GroupLag lag(const Name& group) const {
    GroupLag lag{.group = group.text(), .partitions = {}};
    for (const auto& one : state_->group(group.text())->all()) lag.partitions.push_back(one->lag());
    return lag;
  }

  // ---------------------------------------------------------------------------------- dead letters

  /// Messages that a group gave up on and that were not redriven yet, in order of failure. @throws
  /// UnknownGroup
  [[nodiscard]] std::vector<DeadLetterRecord> dead_letters(const Name& group) const {
    std::vector<DeadLetterRecord> list;
    const auto state = state_->group(group.text());
    const detail::MutexLock lock(state->redrive_mutex);
    for (auto& letter : dead_letters_of(*state)) list.push_back(std::move(letter.record));
    return list;
  }
  /// Publishes a group's dead letters to the partitions they came from, in order, addressed to that
  /// group: others settle the copies unseen. What is in an automatic dead-letter topic goes from
  /// there.
  /// @throws UnknownGroup; what publishing throws, and what was not redriven by then stays for the
  ///   next call
  RedriveReport redrive(const Name& group) {
    RedriveReport report;
    const auto state = state_->group(group.text());
    const detail::MutexLock lock(state->redrive_mutex);
    for (auto& [partition, offset, record] : dead_letters_of(*state)) {
      auto& progress = state->redriven[partition];
      if (progress.next <= offset) progress.skipped.reserve(progress.skipped.size() + 1);
      const bool done = redrive_one(record);
      if (done) std::erase(progress.skipped, offset);
      if (!done && progress.next <= offset) progress.skipped.push_back(offset);
      progress.next = std::max(progress.next, offset + 1);
      ++(done ? report.redriven : report.skipped);
    }
    const auto& letters = state->shared().dead_letters;
    if (letters == nullptr || !is_internal(letters->name())) return report;
    for (const auto& [partition, progress] : state->redriven)
      letters->trim(partition, progress.begin());
    return report;
  }

  // -------------------------------------------------------------------------------------- due work

  /// Does all work that is due now: ends leases, writes dead letters, applies retention by age.
  /// Under a system clock call it now and then if nobody polls; under a manual clock moving the
  /// clock does it.
  void run_once() {
    state_->check_open();
    state_->run_due();
  }
  /// When work is due next; `Instant::max()` = nothing is scheduled.
  [[nodiscard]] Instant next_event_time() const {
    state_->check_open();
    return state_->next_event_time(EventScope::all);
  }

  /// Closes the broker: consumers that wait wake with `Closed`, and every later call through any
  /// handle throws it. A second call does nothing.
  void close() noexcept { state_->close(); }

 private:
  struct PlacedLetter {
    PartitionId partition{};
    Offset offset{};
    DeadLetterRecord record{};
  };

  /// The dead letters of a group that were not redriven.
  static std::vector<PlacedLetter> dead_letters_of(detail::GroupState<P>& group)
      BROOK_REQUIRES(group.redrive_mutex) {
    std::vector<PlacedLetter> list;
    const auto& letters = group.shared().dead_letters;
    for (std::uint32_t i = 0; letters != nullptr && i < letters->partition_count(); ++i) {
      const PartitionId partition{i};
      const auto& log = letters->partition(partition).log;
      const auto& progress = group.redriven[partition];
      Offset from = std::max(log.start(), progress.begin());
      while (from < log.visible_end()) {
        const ReadBatch batch = log.read(from);
        if (batch.empty()) break;
        for (const StoredMessage stored : batch) {
          from = stored.offset() + 1;
          if (progress.has_redriven(stored.offset())) continue;
          DeadLetterRecord record = detail::read_dead_letter(stored);
          if (record.group != group.name()) continue;
          list.push_back(
              {.partition = partition, .offset = stored.offset(), .record = std::move(record)});
        }
      }
    }
    return list;
  }
  /// False if the source topic is gone.
  bool redrive_one(DeadLetterRecord& record) {
    std::shared_ptr<detail::TopicState<P>> topic;
    try {
      topic = state_->topic(record.source_topic);
    } catch (const UnknownTopic&) {
      return false;
    }
    record.message.headers.push_back(
        {.name = std::string(addressed_to_header), .value = std::string_view(record.group)});
    record.message.partition =
        PartitionId{std::min(record.source_partition.value(), topic->partition_count() - 1)};
    topic->publish(record.message, detail::Origin::broker);
    return true;
  }

  std::shared_ptr<detail::BrokerState<P>> state_;
};

/// The broker in memory, on the clock of this machine.
using Broker = BasicBroker<InMemory<>>;
using Topic = BasicTopic<InMemory<>>;
using Producer = BasicProducer<InMemory<>>;
using Consumer = BasicConsumer<InMemory<>>;

/// The same on a clock that the program moves: for tests, without a second of waiting.
using ManualBroker = BasicBroker<InMemory<ManualClock>>;
using ManualTopic = BasicTopic<InMemory<ManualClock>>;
using ManualProducer = BasicProducer<InMemory<ManualClock>>;
using ManualConsumer = BasicConsumer<InMemory<ManualClock>>;

}  // namespace brook
