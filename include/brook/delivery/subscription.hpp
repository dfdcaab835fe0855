#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/clock/clock.hpp>
#include <brook/delivery/subscription_core.hpp>

namespace brook {

/// What one poll may take and how long it may wait. A broker's consumer waits; a bare
/// `Subscription` never does.
struct PollLimits {
  MessageCount max_messages = 500;
  ByteSize max_bytes = 1 << 20;  ///< As stored; the first message always passes.
  Duration timeout{};            ///< Zero never waits.
};

/// What one group knows of one partition: its position, what is on lease, what was settled out of
/// order. Usable alone over a log, without a broker: at-least-once delivery with deadlines,
/// retries, dead letters and order of keys.
///
/// Time is the log's clock; leases end when a call looks, never before their deadline. Dead letters
/// wait inside until `drain_dead_letters` hands them over, and hold their key meanwhile. Thread
/// rule: one thread at a time; the log may be written and read beside it. Lifetime: the log
/// outlives it; batches may outlive both.
///
///     brook::Subscription subscription{log, {.ack_deadline = 30s, .max_deliveries = 5}};
///     auto leased = subscription.poll(10);
///     subscription.ack(leased[1]);        // out of order is fine
///     subscription.committed();           // still 0: message 0 is not settled
template <ReadableLog Log>
class Subscription {
 public:
  /// Starts at the log's start, or at @p start.
  /// @throws InvalidArgument for options that make no sense; OffsetTooOld, OffsetOutOfRange for
  ///   such a start
  explicit Subscription(const Log& log, SubscriptionConfig config = {},
                        std::optional<Offset> start = std::nullopt)
      : state_(
            std::make_shared<State>(log, checked(std::move(config)), start.value_or(log.start()))) {
    if (start && *start < log.start()) throw OffsetTooOld(*start, log.start());
    if (start && *start > log.visible_end()) throw OffsetOutOfRange(*start, log.visible_end());
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  Subscription(Subscription&&) noexcept = default;
  ~Subscription() {
    if (state_ != nullptr) state_->core = nullptr;
  }

  /// Hands out up to @p max_messages: what is due again by offset, then what is new. O(messages).
  [[nodiscard]] Batch poll(MessageCount max_messages = 500) {
    return poll(PollLimits{.max_messages = max_messages});
  }
  /// The same with a limit of bytes. @throws InvalidArgument if a timeout is given: nobody would
  /// end the wait
  [[nodiscard]] Batch poll(const PollLimits& limits) {
    if (!limits.timeout.is_zero())
      throw InvalidArgument("a bare Subscription cannot wait: poll without timeout");
    auto batch = std::make_unique<detail::BatchState>();
    detail::PollBudget budget{.messages = limits.max_messages.value(),
                              .bytes = limits.max_bytes.value()};
    core().poll_into(*batch, state_, id(), budget, now());
    return detail::BatchAccess::make(std::move(batch));
  }

  /// Settles. Reads no clock. @throws ForeignDelivery if another subscription handed it out
  SettleResult ack(const Delivery& delivery) { return core().ack(own(delivery)); }
  SettleResult ack(const Receipt& receipt) { return core().ack(own(receipt)); }
  /// Settles all of a batch. O(1) for first deliveries in order while nothing has failed.
  SettleCounts ack(const Batch& batch) {
    SettleCounts counts;
    const auto* const content = detail::BatchAccess::state(batch);
    if (content == nullptr) return counts;
    for (const auto& piece : content->pieces()) {
      if (piece.count == 0) continue;
      if (piece.source != state_) throw ForeignDelivery("this subscription");
      core().ack(piece, content->data(), counts);
    }
    return counts;
  }
  /// Reports a failure: the message comes again after a delay, or becomes a dead letter.
  SettleResult nack(const Delivery& delivery, const NackOptions& options = {}) {
    return nack(own(delivery), options);
  }
  SettleResult nack(const Receipt& receipt, const NackOptions& options = {}) {
    if (options.delay && options.delay->is_negative())
      throw InvalidArgument("nack: delay must not be negative");
    const auto result = core().nack(own(receipt), options, now());
    hold_dead_letters();
    return result;
  }
  /// Gives up on a message at once: it becomes a dead letter, or is dropped with `Exhausted::drop`.
  SettleResult reject(const Delivery& delivery, std::string_view error) {
    return reject(own(delivery), error);
  }
  SettleResult reject(const Receipt& receipt, std::string_view error) {
    const auto result = core().reject(own(receipt), error, now());
    hold_dead_letters();
    return result;
  }
  /// Moves the deadline to now + @p by, which may shorten it; 0 gives the message back at once,
  /// uncharged.
  [[nodiscard]] SettleResult extend(const Delivery& delivery, Duration by) {
    return extend(own(delivery), by);
  }
  [[nodiscard]] SettleResult extend(const Receipt& receipt, Duration by) {
    if (by.is_negative()) throw InvalidArgument("extend: the time must not be negative");
    const auto result = core().extend(own(receipt), by, now());
    hold_dead_letters();
    return result;
  }

  /// Everything before this offset is settled: the next one to handle.
  [[nodiscard]] Offset committed() const noexcept { return core().table().committed(); }
  /// Voids every lease and starts anew at @p to. Forward settles what it skips, backward re-opens.
  /// @throws OffsetTooOld, OffsetOutOfRange
  void seek(Offset to) { core().seek(to); }
  /// Gives all leases back, uncharged, as when a consumer closes; their receipts are fenced from
  /// then on.
  void release() {
    core().release_all(now());
    hold_dead_letters();
  }

  [[nodiscard]] std::uint64_t in_flight() const noexcept { return core().table().in_flight(); }
  /// Messages that are visible and not settled.
  [[nodiscard]] std::uint64_t lag() { return (core().lose_trimmed(), core().unsettled().messages); }
  [[nodiscard]] DeliveryStats stats() const noexcept { return core().table().stats(); }
  /// What retention or trim took since the last call, as exact ranges.
  [[nodiscard]] std::vector<Loss> take_losses() {
    core().lose_trimmed();
    return core().take_losses();
  }
  /// When something changes by itself next: a lease or a backoff ends. `Instant::max()` = never.
  [[nodiscard]] Instant next_event_time() const noexcept { return core().next_event(now()); }
  /// Ends leases whose deadline has passed, without handing anything out.
  void run_due() {
    core().refresh(now());
    hold_dead_letters();
  }

  /// Calls @p sink with each `DeadLetter`; a message is settled when the call returns. If it
  /// throws, the letter stays and is offered again after the retry policy's backoff.
  template <class Sink>
  void drain_dead_letters(Sink sink) {
    core().flush_dead_letters(now(), sink);
  }
  /// Messages on their way to a dead-letter topic.
  [[nodiscard]] std::size_t dead_lettering() const noexcept { return core().dead_lettering(); }

 private:
  using Core = detail::SubscriptionCore<Log>;

  struct State final : detail::LeaseSource {
    State(const Log& log, SubscriptionConfig options, Offset start)
        : config(std::move(options)), own_core(log, config, start, slots), core(&own_core) {}

    [[nodiscard]] bool is_live(const Receipt& receipt) override {
      return core != nullptr && core->table().is_live(receipt, core->log().clock().now());
    }
    [[nodiscard]] const void* owner() const noexcept override { return this; }
    [[nodiscard]] std::string_view topic() const noexcept override { return {}; }
    [[nodiscard]] PartitionId partition() const noexcept override { return PartitionId{}; }

    SubscriptionConfig config;
    Outstanding slots;
    Core own_core;
    Core* core;  ///< Null once the subscription is gone: the log may be, too.
  };

  static SubscriptionConfig checked(SubscriptionConfig config) {
    detail::validate(config);
    using ClockType = std::remove_cvref_t<decltype(std::declval<const Log&>().clock())>;
    if constexpr (is_manual<ClockType>) config.retry.jitter = false;
    return config;
  }
  [[nodiscard]] Core& core() const noexcept { return state_->own_core; }
  [[nodiscard]] Instant now() const noexcept { return core().log().clock().now(); }
  [[nodiscard]] Receipt own(const Delivery& delivery) const {
    if (detail::BatchAccess::piece(delivery).source != state_)
      throw ForeignDelivery("this subscription");
    return delivery.receipt();
  }
  /// Unlike any other that lives.
  [[nodiscard]] std::uint64_t id() const noexcept {
    return reinterpret_cast<std::uintptr_t>(state_.get());
  }
  [[nodiscard]] const Receipt& own(const Receipt& receipt) const {
    if (receipt.subscription != id()) throw ForeignDelivery("this subscription");
    return receipt;
  }
  /// Nobody takes dead letters unless asked: they hold their keys from the start.
  void hold_dead_letters() noexcept {
    if (core().has_dead_letters()) core().try_to_hold_dead_letters();
  }

  std::shared_ptr<State> state_;
};

template <class Log>
Subscription(const Log&) -> Subscription<Log>;
template <class Log>
Subscription(const Log&, SubscriptionConfig) -> Subscription<Log>;
template <class Log>
Subscription(const Log&, SubscriptionConfig, Offset) -> Subscription<Log>;

}  // namespace brook
