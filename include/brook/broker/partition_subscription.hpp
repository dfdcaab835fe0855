#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/broker/dead_letter_headers.hpp>
#include <brook/broker/options.hpp>
#include <brook/broker/reports.hpp>
#include <brook/broker/topic_state.hpp>
#include <brook/clock/waiter.hpp>
#include <brook/core/mutex.hpp>
#include <brook/delivery/subscription_core.hpp>

namespace brook::detail {

template <BrokerPolicies P>
class PartitionSubscription;

/// Who has something for a group, and when somebody will. What publishers, settlers and timers
/// share with a poll.
template <BrokerPolicies P>
class ReadyQueue {
 public:
  using Member = PartitionSubscription<P>;

  /// Makes sure that `push` and `schedule` cannot fail with up to @p members.
  /// @throws std::bad_alloc
  void reserve(std::size_t members) {
    const MutexLock lock(mutex_);
    ready_.reserve(members);
    timers_.reserve(members);
  }
  /// @p member may have something to hand out. No effect after `close`.
  void push(std::shared_ptr<Member> member) noexcept {
    {
      const MutexLock lock(mutex_);
      if (closed_) return;
      if (!std::exchange(member->in_ready, true)) ready_.push_back(std::move(member));
    }
    wake();
  }
  void take(std::vector<std::shared_ptr<Member>>& into) {
    const MutexLock lock(mutex_);
    into.reserve(into.size() + ready_.size());
    for (auto& member : ready_) {
      member->in_ready = false;
      into.push_back(std::move(member));
    }
    ready_.clear();
  }

  /// @p member must be looked at by @p time at the latest.
  void schedule(const std::shared_ptr<Member>& member, Instant time) noexcept {
    {
      const MutexLock lock(mutex_);
      if (closed_ || time >= member->timer) return;
      if (member->timer == Instant::max()) {
        member->timer_at = timers_.size();
        timers_.push_back(member);
      }
      member->timer = time;
      rise(member->timer_at);
      if (timers_.front() != member) return;
    }
    wake();  // a poll may sleep for longer
  }
  [[nodiscard]] bool is_scheduled(const Member& member, Instant time) noexcept {
    const MutexLock lock(mutex_);
    return member.timer <= time;
  }
  /// Takes one member whose time has come; null if there is none.
  [[nodiscard]] std::shared_ptr<Member> take_due(Instant now) noexcept {
    const MutexLock lock(mutex_);
    if (timers_.empty() || timers_.front()->timer > now) return nullptr;
    auto first = timers_.front();
    remove_first();
    return first;
  }
  /// The member that is scheduled first, with its time.
  [[nodiscard]] std::pair<std::shared_ptr<Member>, Instant> first() {
    const MutexLock lock(mutex_);
    if (timers_.empty()) return {nullptr, Instant::max()};
    return {timers_.front(), timers_.front()->timer};
  }
  /// Corrects the time of the first member, unless it is not the first any more.
  void postpone_first(const Member& member, Instant from, Instant to) noexcept {
    const MutexLock lock(mutex_);
    if (timers_.empty() || timers_.front().get() != &member || member.timer != from) return;
    if (to == Instant::max()) {
      remove_first();
    } else {
      timers_.front()->timer = to;
      sink(0);
    }
  }

  /// Something changed that may let a sleeping poll go on. A sleeper counts itself before it looks
  /// for the last time, so that whoever changes something either sees it here or is seen.
  void wake() {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) waiter_.notify();
  }

  /// A poll that goes to sleep, for as long as it may be woken.
  class Sleeper {
   public:
    explicit Sleeper(ReadyQueue& queue) noexcept : queue_(queue) {
      queue_.sleepers_.fetch_add(1, std::memory_order_seq_cst);
      ticket_ = queue_.waiter_.ticket();
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    ~Sleeper() { queue_.sleepers_.fetch_sub(1, std::memory_order_seq_cst); }

    template <Clock C>
    void wait(C& clock, Instant deadline) const {
      clock.wait(queue_.waiter_, ticket_, deadline);
    }

   private:
    ReadyQueue& queue_;
    std::uint64_t ticket_ = 0;
  };

  /// Lets go of all members for good, and lets a poll that waits see that the group is closed.
  void close() noexcept {
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      ready_.clear();
      timers_.clear();
    }
    wake();
  }

 private:
  // The timers are a binary heap in which every member knows its place, so that it is there once.

  void swap(std::size_t a, std::size_t b) noexcept BROOK_REQUIRES(mutex_) {
    timers_[a].swap(timers_[b]);
    timers_[a]->timer_at = a;
    timers_[b]->timer_at = b;
  }
  void rise(std::size_t at) noexcept BROOK_REQUIRES(mutex_) {
    for (; at != 0 && timers_[at]->timer < timers_[(at - 1) / 2]->timer; at = (at - 1) / 2)
      swap(at, (at - 1) / 2);
  }
  void sink(std::size_t at) noexcept BROOK_REQUIRES(mutex_) {
    for (;;) {
      std::size_t first = at;
      for (std::size_t child = 2 * at + 1; child <= 2 * at + 2 && child < timers_.size(); ++child) {
        if (timers_[child]->timer < timers_[first]->timer) first = child;
      }
      if (first == at) return;
      swap(at, first);
      at = first;
    }
  }
  void remove_first() noexcept BROOK_REQUIRES(mutex_) {
    timers_.front()->timer = Instant::max();
    swap(0, timers_.size() - 1);
    timers_.pop_back();
    sink(0);
  }

  Mutex mutex_;
  std::vector<std::shared_ptr<Member>> ready_ BROOK_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Member>> timers_ BROOK_GUARDED_BY(mutex_);
  bool closed_ BROOK_GUARDED_BY(mutex_) = false;
  std::atomic<std::uint32_t> sleepers_{0};
  Waiter waiter_;
};

/// What all subscriptions of a group share, and what outlives the group as long as deliveries of it
/// are held.
template <BrokerPolicies P>
struct GroupShared {
  std::string name{};
  std::uint32_t id = 0;
  SubscriptionConfig config{};
  std::shared_ptr<TopicState<P>> dead_letters{};  ///< Null: what is exhausted is dropped.
  Outstanding slots{};
  ReadyQueue<P> ready{};
};

/// One group's view of one partition, with its lock: a `SubscriptionCore`, told about time and
/// news, that writes dead letters.
template <BrokerPolicies P>
class PartitionSubscription final : public LeaseSource,
                                    public Follower,
                                    public std::enable_shared_from_this<PartitionSubscription<P>> {
 public:
  using Log = typename TopicState<P>::Log;

  PartitionSubscription(std::shared_ptr<GroupShared<P>> group, std::shared_ptr<TopicState<P>> topic,
                        PartitionId partition, std::uint32_t index, Offset start)
      : group_(std::move(group)),
        topic_(std::move(topic)),
        partition_(partition),
        index_(index),
        log_(topic_->partition(partition).log),
        core_(log_, group_->config, start, group_->slots),
        settled_(start.value()) {}

  [[nodiscard]] std::string_view topic() const noexcept override { return topic_->name(); }
  [[nodiscard]] PartitionId partition() const noexcept override { return partition_; }
  [[nodiscard]] const GroupShared<P>* group() const noexcept { return group_.get(); }
  [[nodiscard]] const void* owner() const noexcept override { return group_.get(); }
  [[nodiscard]] TopicState<P>& topic_state() const noexcept { return *topic_; }
  [[nodiscard]] std::uint64_t id() const noexcept {
    return std::uint64_t{group_->id} << 32 | index_;
  }
  [[nodiscard]] Offset settled_below() const noexcept override {
    return Offset{settled_.load(std::memory_order_acquire)};
  }
  [[nodiscard]] std::string_view group_name() const noexcept override { return group_->name; }
  void on_news() override { group_->ready.push(this->shared_from_this()); }

  [[nodiscard]] bool is_live(const Receipt& receipt) override {
    const MutexLock lock(mutex_);
    return !void_ && core_.table().is_live(receipt, log_.clock().now());
  }

  /// Adds to @p batch what may be handed out now.
  void poll_into(BatchState& batch, PollBudget& budget, Instant now) {
    const MutexLock lock(mutex_);
    hand_out(batch, budget, now);
  }
  /// Runs due work. True if there is something to hand out afterwards.
  bool run_due(Instant now) {
    const MutexLock lock(mutex_);
    if (void_) return false;
    core_.refresh(now);
    after_change(now);
    return core_.has_work(now);
  }
  /// Makes sure that whoever sleeps now will be woken for this partition: asks to be told of the
  /// next message if everything is read. What came in meanwhile is handed out instead.
  /// @return whether nobody needs to look before the partition tells; if not, either @p batch has
  ///   grown, or what is there may not be handed out before something else changes (an ack, a trim,
  ///   the end of a lease or a backoff)
  bool arm(BatchState& batch, PollBudget& budget, Instant now) {
    const MutexLock lock(mutex_);
    if (void_ || paused_) return true;
    for (;;) {
      const Offset next = core_.table().next();
      if (next >= log_.visible_end()) {
        core_.rest();
        if (topic_->arm(partition_, next, this->shared_from_this())) return !needs_looks(now);
      }
      const std::size_t before = batch.size();
      hand_out(batch, budget, now);
      if (batch.size() != before || core_.table().next() == next) return false;
    }
  }

  // -------------------------------------------------------------------------------------- settling

  SettleResult ack(const Receipt& receipt) {
    const MutexLock lock(mutex_);
    if (void_) return SettleResult::stale;
    const bool keys_wait = core_.table().tracks_keys();
    const auto result = core_.ack(receipt);
    settled();
    if (keys_wait) unblocked();
    return result;
  }
  void ack(const BatchPiece& piece, const Delivery* deliveries, SettleCounts& counts) {
    const MutexLock lock(mutex_);
    if (void_) {
      counts.add(SettleResult::stale, piece.count);
      return;
    }
    const bool keys_wait = core_.table().tracks_keys();
    core_.ack(piece, deliveries, counts);
    settled();
    if (keys_wait) unblocked();
  }
  SettleResult nack(const Receipt& receipt, const NackOptions& options) {
    return change([&](auto& core, Instant now) { return core.nack(receipt, options, now); });
  }
  SettleResult reject(const Receipt& receipt, std::string_view error) {
    return change([&](auto& core, Instant now) { return core.reject(receipt, error, now); });
  }
  SettleResult extend(const Receipt& receipt, Duration by) {
    return change([&](auto& core, Instant now) { return core.extend(receipt, by, now); });
  }

  // -------------------------------------------------------------------------------------- movement

  /// The offset that @p start means here. @throws OffsetTooOld, OffsetOutOfRange
  [[nodiscard]] static Offset resolve(const Start& start, const Log& log) {
    const Offset end = log.visible_end();
    switch (start.kind()) {
      case Start::Kind::earliest:
        return std::min(log.start(), end);
      case Start::Kind::latest:
        return end;
      case Start::Kind::time:
        return log.offset_at(start.time());
      case Start::Kind::offset:
        break;
    }
    if (start.offset() < std::min(log.start(), end))
      throw OffsetTooOld(start.offset(), log.start());
    if (start.offset() > end) throw OffsetOutOfRange(start.offset(), end);
    return start.offset();
  }
  [[nodiscard]] const Log& log() const noexcept { return log_; }
  void seek(Offset to) {
    {
      const MutexLock lock(mutex_);
      if (void_) return;
      start_anew(to);
      after_change(log_.clock().now());
    }
    on_news();
  }
  void release_all() {
    const MutexLock lock(mutex_);
    if (void_) return;
    const Instant now = log_.clock().now();
    core_.release_all(now);
    paused_ = false;
    after_change(now);
  }
  void set_paused(bool paused) {
    {
      const MutexLock lock(mutex_);
      paused_ = paused;
    }
    if (!paused) on_news();
  }
  /// The topic or the group is gone: whatever is settled from now on is stale.
  void make_void() {
    const MutexLock lock(mutex_);
    if (std::exchange(void_, true)) return;
    flush(log_.clock().now());
    start_anew(log_.visible_end());
  }

  // ----------------------------------------------------------------------------------------- facts

  [[nodiscard]] Offset committed() {
    const MutexLock lock(mutex_);
    return core_.table().committed();
  }
  /// Exact, unlike @p expected, for which the ready queue has it: corrects that.
  [[nodiscard]] Instant next_event(Instant now, Instant expected) {
    const MutexLock lock(mutex_);
    const Instant next = void_ ? Instant::max() : core_.next_event(now);
    if (next != expected) group_->ready.postpone_first(*this, expected, next);
    return next;
  }
  void count_losses() {
    const MutexLock lock(mutex_);
    if (!void_) look();
  }
  [[nodiscard]] std::vector<Loss> take_losses() {
    const MutexLock lock(mutex_);
    look();
    return core_.take_losses();
  }
  /// Messages that a poll could hand out now.
  [[nodiscard]] std::uint64_t deliverable(Instant now) {
    const MutexLock lock(mutex_);
    if (void_ || paused_) return 0;
    look();
    const LeaseTable& table = core_.table();
    std::uint64_t count = table.count(LeaseEntry::State::pending, now);
    if (!table.holds_all())
      count += log_.usage(table.next(), std::min(log_.visible_end(), table.window_end())).messages;
    return count;
  }
  [[nodiscard]] PartitionLag lag() {
    const MutexLock lock(mutex_);
    look();
    const LeaseTable& table = core_.table();
    const Offset end = log_.visible_end();
    const Offset from = std::max(table.committed(), std::min(log_.start(), end));
    const RangeUsage open = core_.unsettled();
    PartitionLag lag{.topic = topic_->name(),
                     .partition = partition_,
                     .committed = table.committed(),
                     .start = std::min(log_.start(), end),
                     .end = end,
                     .messages = open.messages - core_.dead_lettering_here(),
                     .offset_lag = end - from,
                     .bytes = open.bytes,
                     .oldest_age = {},
                     .in_flight = table.in_flight(),
                     .retrying = table.count(LeaseEntry::State::pending) +
                                 table.count(LeaseEntry::State::blocked),
                     .dead_lettering = core_.dead_lettering(),
                     .stats = table.stats()};
    if (from < end) {
      const RecordRun oldest = core_.read_one(from);
      if (!oldest.empty()) {
        const auto age = log_.clock().wall_now() - oldest[0].timestamp();
        lag.oldest_age = Duration(std::max(age, decltype(age)::zero()));
      }
    }
    return lag;
  }

  // Guarded by the lock of the group's ready queue.
  bool in_ready = false;
  Instant timer = Instant::max();
  std::size_t timer_at = 0;

  // Guarded by the lock of the group.
  bool hot = false;
  bool assigned = false;  ///< The group's patterns match the topic.

 private:
  /// Whether something may become deliverable without anybody telling: by an ack or a trim of what
  /// holds its key, or because a slot gets free.
  [[nodiscard]] bool needs_looks(Instant now) const BROOK_REQUIRES(mutex_) {
    return core_.has_work(now) || core_.table().tracks_keys();
  }
  /// Seeks to @p to, or to where the log begins by now.
  void start_anew(Offset to) BROOK_REQUIRES(mutex_) {
    for (;;) {
      try {
        core_.seek(std::max(to, log_.start()));
        return;
      } catch (const OffsetTooOld&) {  // trimmed since the line above
      }
    }
  }
  /// Counts what retention took since the last look.
  void look() BROOK_REQUIRES(mutex_) {
    const std::uint64_t lost = core_.table().stats().lost;
    core_.lose_trimmed();
    if (core_.table().stats().lost == lost) return;
    settled_.store(core_.table().committed().value(), std::memory_order_release);
    unblocked();
  }
  void hand_out(BatchState& batch, PollBudget& budget, Instant now) BROOK_REQUIRES(mutex_) {
    if (void_) return;
    if (paused_) {
      core_.refresh(now);  // leases end all the same
    } else {
      core_.poll_into(batch, this->shared_from_this(), id(), budget, now);
    }
    after_change(now);
  }
  template <class Change>
  SettleResult change(Change apply) {
    const MutexLock lock(mutex_);
    if (void_) return SettleResult::stale;
    const Instant now = log_.clock().now();
    const SettleResult result = apply(core_, now);
    after_change(now);
    settled();
    if (needs_looks(now)) on_news();
    return result;
  }
  /// Publishes what others look at without the lock, and lets a poll that waits for a slot go on.
  void settled() BROOK_REQUIRES(mutex_) {
    settled_.store(core_.table().committed().value(), std::memory_order_release);
    group_->ready.wake();
  }
  /// An ack or a loss, which read no clock, may have let go what waited for a key, and with it a
  /// backoff.
  void unblocked() BROOK_REQUIRES(mutex_) {
    group_->ready.schedule(this->shared_from_this(), core_.earliest_event());
  }
  void after_change(Instant now) BROOK_REQUIRES(mutex_) {
    if (core_.has_dead_letters()) flush(now);
    settled_.store(core_.table().committed().value(), std::memory_order_release);
    // The quick answer may be too early, and what is deliverable already is no event: only a poll
    // changes it.
    if (group_->ready.is_scheduled(*this, core_.earliest_event())) return;
    group_->ready.schedule(this->shared_from_this(), core_.next_event(now));
  }
  void flush(Instant now) BROOK_REQUIRES(mutex_) {
    core_.flush_dead_letters(now, [&](const DeadLetter& letter) {
      if (group_->dead_letters == nullptr)
        throw InvalidArgument("the group has no dead-letter topic");
      const Message message = make_dead_letter(letter, topic_->name(), partition_, group_->name);
      group_->dead_letters->check_open();
      group_->dead_letters->publish(message, Origin::broker);
    });
  }

  const std::shared_ptr<GroupShared<P>> group_;
  const std::shared_ptr<TopicState<P>> topic_;
  const PartitionId partition_;
  const std::uint32_t index_;
  const Log& log_;
  Mutex mutex_;
  SubscriptionCore<Log> core_ BROOK_GUARDED_BY(mutex_);
  bool void_ BROOK_GUARDED_BY(mutex_) = false;
  bool paused_ BROOK_GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> settled_;
};

}  // namespace brook::detail
