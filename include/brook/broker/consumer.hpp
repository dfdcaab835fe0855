#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/broker/broker_state.hpp>
#include <brook/broker/reports.hpp>
#include <brook/delivery/batch.hpp>
#include <brook/delivery/subscription.hpp>

namespace brook {

/// A member of a group: takes messages, settles them, moves the group's position.
///
///     auto billing =
///         broker.subscribe("orders.*", {.group = "billing", .start = brook::Start::earliest});
///     for (const auto& delivery : billing.poll(500, 1s)) {
///       charge(delivery.key(), delivery.payload());
///       billing.ack(delivery);                                    // after the work, never before
///     }
///
/// At least once: what is not acked before its deadline comes again, so handle repeats. Do not ack
/// before the work. Thread rule: `poll` from one thread at a time; everything else, `close`
/// included, from any thread beside it. Lifetime: dropping it closes it. It may outlive the broker;
/// calls then throw `Closed`. Batches may outlive it.
template <BrokerPolicies P>
class [[nodiscard]] BasicConsumer {
 public:
  BasicConsumer(BasicConsumer&& other) noexcept = default;
  BasicConsumer& operator=(BasicConsumer&& other) noexcept {
    if (this != &other) {
      close();
      state_ = std::move(other.state_);
    }
    return *this;
  }
  ~BasicConsumer() { close(); }

  [[nodiscard]] const std::string& group() const { return open().group->name(); }

  // ---------------------------------------------------------------------------------------- taking

  /// Hands out up to @p max_messages: in each partition what is due again, then what is new;
  /// partitions take turns. Returns at once if anything is deliverable; else waits until something
  /// is (a publish, the end of a lease or backoff, a new topic, a resume) or @p timeout has passed.
  /// Zero never waits.
  /// @throws Closed also when closed while it waits; what the clock throws (`EndlessWait`)
  [[nodiscard]] Batch poll(MessageCount max_messages = 500, Duration timeout = {}) {
    return poll(PollLimits{.max_messages = max_messages, .timeout = timeout});
  }
  [[nodiscard]] Batch poll(const PollLimits& limits) {
    State& state = open();
    const std::shared_ptr<State> keep = state_;
    if (limits.timeout.is_negative())
      throw InvalidArgument("poll: the timeout must not be negative");
    if (limits.max_messages.value() == 0)
      throw InvalidArgument("poll: max_messages must be greater than 0");
    auto& clock = state.broker->clock();
    Instant now = clock.now();
    const Instant deadline = saturating_add(now, limits.timeout);
    for (;;) {
      if (auto batch = collect(state, limits, now, false);
          !batch.empty() || limits.timeout.is_zero())
        return batch;
      const typename detail::ReadyQueue<P>::Sleeper sleeper(state.group->shared().ready);
      if (auto batch = collect(state, limits, now, true); !batch.empty() || now >= deadline)
        return batch;
      sleeper.wait(clock, std::min(deadline, state.group->next_event(now)));
      now = clock.now();
    }
  }

  // -------------------------------------------------------------------------------------- settling

  /// The work is done. Reads no clock; O(1). @throws ForeignDelivery, Closed
  SettleResult ack(const Delivery& delivery) { return own(delivery).ack(delivery.receipt()); }
  SettleResult ack(const Receipt& receipt) {
    return with(receipt, [&](auto& subscription) { return subscription.ack(receipt); });
  }
  /// Acks every delivery of a batch; O(1) for each partition while nothing has failed there.
  SettleCounts ack(const Batch& batch) {
    State& state = open();
    SettleCounts counts;
    const auto* const content = detail::BatchAccess::state(batch);
    if (content == nullptr) return counts;
    for (const auto& piece : content->pieces()) check_owner(state, piece);
    for (const auto& piece : content->pieces()) {
      if (piece.count != 0) subscription_of(piece).ack(piece, content->data(), counts);
    }
    return counts;
  }
  /// The work failed: the message comes again after a delay, or becomes a dead letter when its
  /// deliveries are used up.
  SettleResult nack(const Delivery& delivery, const NackOptions& options = {}) {
    check(options);
    return own(delivery).nack(delivery.receipt(), options);
  }
  SettleResult nack(const Receipt& receipt, const NackOptions& options = {}) {
    check(options);
    return with(receipt, [&](auto& subscription) { return subscription.nack(receipt, options); });
  }
  /// The work will never succeed: the message goes to the dead-letter topic at once (is dropped if
  /// the group has none).
  SettleResult reject(const Delivery& delivery, std::string_view error) {
    return own(delivery).reject(delivery.receipt(), error);
  }
  SettleResult reject(const Receipt& receipt, std::string_view error) {
    return with(receipt, [&](auto& subscription) { return subscription.reject(receipt, error); });
  }
  /// The work takes longer: the deadline moves to now + @p by (which may shorten it; 0 gives the
  /// message back, uncharged). Anything but `applied` means that the lease is lost: stop working.
  [[nodiscard]] SettleResult extend(const Delivery& delivery, Duration by) {
    check(by);
    return own(delivery).extend(delivery.receipt(), by);
  }
  [[nodiscard]] SettleResult extend(const Receipt& receipt, Duration by) {
    check(by);
    return with(receipt, [&](auto& subscription) { return subscription.extend(receipt, by); });
  }

  // -------------------------------------------------------------------------------------- position

  /// Makes the acks so far safe at the broker's level (in memory they are, at once) and tells the
  /// positions.
  std::vector<CommittedOffset> commit() {
    std::vector<CommittedOffset> list;
    for (const auto& one : open_assigned()) {
      list.push_back({.topic = std::string(one->topic()),
                      .partition = one->partition(),
                      .offset = one->committed()});
    }
    return list;
  }
  /// The next offset to handle in one partition. @throws UnknownTopic, UnknownPartition if it is
  /// not assigned
  [[nodiscard]] Offset committed(std::string_view topic, PartitionId partition = PartitionId{0}) {
    return find(topic, partition)->committed();
  }
  /// Moves the group to @p to in every assigned partition: back to read again, forward to skip.
  /// Voids all leases there.
  /// @throws OffsetTooOld, OffsetOutOfRange, and nothing was moved
  void seek(const Start& to) {
    std::vector<std::pair<std::shared_ptr<Subscription>, Offset>> moves;
    for (const auto& one : open_assigned())
      moves.emplace_back(one, Subscription::resolve(to, one->log()));
    for (const auto& [one, offset] : moves) one->seek(offset);
  }
  /// The same for one partition. @throws also UnknownTopic, UnknownPartition if it is not assigned
  void seek(std::string_view topic, PartitionId partition, const Start& to) {
    const auto one = find(topic, partition);
    one->seek(Subscription::resolve(to, one->log()));
  }

  /// Hands out nothing from all assigned partitions until `resume`. What is on lease stays on
  /// lease.
  void pause() {
    for (const auto& one : open_assigned()) one->set_paused(true);
  }
  void pause(std::string_view topic, PartitionId partition) {
    find(topic, partition)->set_paused(true);
  }
  void resume() {
    for (const auto& one : open_assigned()) one->set_paused(false);
  }
  void resume(std::string_view topic, PartitionId partition) {
    find(topic, partition)->set_paused(false);
  }

  /// What retention or trim took from the group since the last call, as exact ranges.
  [[nodiscard]] std::vector<LostMessages> take_losses() {
    std::vector<LostMessages> list;
    for (const auto& one : open_assigned()) {
      for (const Loss& loss : one->take_losses()) {
        list.push_back({.topic = std::string(one->topic()),
                        .partition = one->partition(),
                        .range = loss.range,
                        .handed_out = loss.handed_out});
      }
    }
    return list;
  }

  /// Leaves the group: its leases return to pending, uncharged, and a poll that waits throws
  /// `Closed`. A second call does nothing.
  void close() noexcept {
    if (state_ == nullptr || state_->closed.exchange(true)) return;
    state_->group->leave(state_->member);
  }

 private:
  using Subscription = detail::PartitionSubscription<P>;

  struct State {
    State(std::shared_ptr<detail::BrokerState<P>> of, std::shared_ptr<detail::GroupState<P>> in,
          std::uint64_t id)
        : broker(std::move(of)), group(std::move(in)), member(id) {}

    const std::shared_ptr<detail::BrokerState<P>> broker;
    const std::shared_ptr<detail::GroupState<P>> group;
    const std::uint64_t member;
    std::atomic<bool> closed{false};
  };

  template <BrokerPolicies>
  friend class BasicBroker;

  BasicConsumer(std::shared_ptr<detail::BrokerState<P>> broker,
                std::shared_ptr<detail::GroupState<P>> group, std::uint64_t member)
      : state_(std::make_shared<State>(std::move(broker), std::move(group), member)) {}

  [[nodiscard]] State& open() const {
    if (state_ == nullptr) throw Closed("consumer");
    if (state_->closed.load(std::memory_order_acquire)) {
      throw Closed("consumer of group '" + state_->group->name() + "'");
    }
    state_->broker->check_open();
    return *state_;
  }
  [[nodiscard]] std::vector<std::shared_ptr<Subscription>> open_assigned() const {
    return open().group->assigned();
  }
  [[nodiscard]] std::shared_ptr<Subscription> find(std::string_view topic,
                                                   PartitionId partition) const {
    std::uint32_t partitions = 0;
    for (const auto& one : open_assigned()) {
      if (one->topic() != topic) continue;
      if (one->partition() == partition) return one;
      ++partitions;
    }
    if (partitions == 0) throw UnknownTopic(std::string(topic));
    throw UnknownPartition(topic, partition, partitions);
  }

  static Batch collect(State& state, const PollLimits& limits, Instant now, bool arming) {
    auto batch = std::make_unique<detail::BatchState>();
    const detail::PollBudget budget{.messages = limits.max_messages.value(),
                                    .bytes = limits.max_bytes.value()};
    state.group->collect(*batch, budget, now, state.member, arming);
    return detail::BatchAccess::make(std::move(batch));
  }
  static Subscription& subscription_of(const detail::BatchPiece& piece) noexcept {
    return static_cast<Subscription&>(*piece.source);
  }
  static void check_owner(const State& state, const detail::BatchPiece& piece) {
    if (piece.source->owner() != &state.group->shared()) {
      throw ForeignDelivery("group '" + state.group->name() + "'");
    }
  }
  [[nodiscard]] Subscription& own(const Delivery& delivery) const {
    const auto& piece = detail::BatchAccess::piece(delivery);
    check_owner(open(), piece);
    return subscription_of(piece);
  }
  template <class Settle>
  SettleResult with(const Receipt& receipt, Settle settle) {
    const auto subscription = open().group->find(receipt);
    return subscription == nullptr ? SettleResult::stale : settle(*subscription);
  }
  static void check(const NackOptions& options) {
    if (options.delay && options.delay->is_negative())
      throw InvalidArgument("nack: delay must not be negative");
  }
  static void check(Duration by) {
    if (by.is_negative()) throw InvalidArgument("extend: the time must not be negative");
  }

  std::shared_ptr<State> state_;
};

}  // namespace brook
