#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <brook/broker/options.hpp>
#include <brook/broker/partition_subscription.hpp>
#include <brook/broker/policies.hpp>
#include <brook/broker/topic_state.hpp>
#include <brook/core/error.hpp>
#include <brook/core/mutex.hpp>
#include <brook/topic/subscription_pattern.hpp>

namespace brook::detail {

[[nodiscard]] inline bool any_selects(const std::vector<std::string>& patterns,
                                      std::string_view topic) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return selects_topic(pattern, topic); });
}

/// Which dead letters of one partition were redriven: those below `next`, but for some.
struct RedriveProgress {
  Offset next{};
  std::vector<Offset> skipped{};  ///< Their source topics were gone; in order.

  /// Everything below it was redriven.
  [[nodiscard]] Offset begin() const noexcept { return skipped.empty() ? next : skipped.front(); }
  [[nodiscard]] bool has_redriven(Offset offset) const noexcept {
    return offset < next && !std::binary_search(skipped.begin(), skipped.end(), offset);
  }
};

/// A group: what it is interested in, its subscriptions, its member, and what a poll looks at.
template <BrokerPolicies P>
class GroupState {
 public:
  using Subscription = PartitionSubscription<P>;
  using SubscriptionList = std::vector<std::shared_ptr<Subscription>>;

  GroupState(SubscribeOptions options, std::shared_ptr<GroupShared<P>> shared)
      : options_(std::move(options)), shared_(std::move(shared)) {}

  [[nodiscard]] const std::string& name() const noexcept { return shared_->name; }
  [[nodiscard]] const SubscribeOptions& options() const noexcept { return options_; }
  [[nodiscard]] GroupShared<P>& shared() const noexcept { return *shared_; }

  // --------------------------------------------------------------------- interest; registry locked

  [[nodiscard]] const std::vector<std::string>& patterns() const noexcept { return patterns_; }
  void swap_patterns(std::vector<std::string>& patterns) noexcept { patterns_.swap(patterns); }
  [[nodiscard]] bool wants(std::string_view topic) const { return any_selects(patterns_, topic); }
  /// Begins to follow @p topic where @p starts say, one offset for each partition. @throws
  /// std::bad_alloc, nothing done
  void follow(const std::shared_ptr<TopicState<P>>& topic, const std::vector<Offset>& starts) {
    SubscriptionList added;
    const MutexLock lock(mutex_);
    const std::size_t first = subscriptions_.size();
    for (std::size_t i = 0; i < starts.size(); ++i) {
      added.push_back(
          std::make_shared<Subscription>(shared_, topic, PartitionId{static_cast<std::uint32_t>(i)},
                                         static_cast<std::uint32_t>(first + i), starts[i]));
    }
    subscriptions_.reserve(first + added.size());
    hot_.reserve(first + added.size());
    shared_->ready.reserve(first + added.size());
    topic->reserve_followers(added.size());
    first_of_[topic.get()] = first;
    for (const auto& one : added) {
      one->assigned = true;
      topic->add_follower(one->partition(), one);
      subscriptions_.push_back(one);
      add_hot(one);
    }
    shared_->ready.wake();
  }
  [[nodiscard]] bool follows(const TopicState<P>& topic) {
    const MutexLock lock(mutex_);
    return first_of_.contains(&topic);
  }
  /// After the patterns changed: which subscriptions are to be handed out from.
  void reassign() {
    const MutexLock lock(mutex_);
    for (const auto& one : subscriptions_) {
      if (one == nullptr) continue;
      one->assigned = wants(one->topic());
      if (one->assigned) add_hot(one);
    }
    std::erase_if(hot_, [](const auto& one) {
      if (one->assigned) return false;
      one->hot = false;
      return true;
    });
  }
  void forget(TopicState<P>& topic) {
    std::size_t first = 0;
    {
      const MutexLock lock(mutex_);
      const auto found = first_of_.find(&topic);
      if (found == first_of_.end()) return;
      first = found->second;
      first_of_.erase(found);
    }
    for (std::size_t i = first; i < first + topic.partition_count(); ++i) {
      std::shared_ptr<Subscription> gone;
      {
        const MutexLock lock(mutex_);
        gone = std::move(subscriptions_[i]);
        gone->assigned = false;
        std::erase(hot_, gone);
      }
      topic.remove_follower(*gone);
      gone->make_void();
    }
  }
  /// The group is deleted, or the broker closes.
  void dissolve() {
    SubscriptionList gone;
    {
      const MutexLock lock(mutex_);
      closed_ = true;
      gone.swap(subscriptions_);
      hot_.clear();
      first_of_.clear();
    }
    for (const auto& one : gone) {
      if (one == nullptr) continue;
      one->topic_state().remove_follower(*one);
      one->make_void();
    }
    shared_->ready.close();
  }

  // ------------------------------------------------------------------------------------ membership

  [[nodiscard]] bool has_member() {
    const MutexLock lock(mutex_);
    return member_ != 0;
  }
  /// @throws GroupOccupied
  std::uint64_t join() {
    const MutexLock lock(mutex_);
    if (member_ != 0) throw GroupOccupied(name());
    member_ = ++last_member_;
    return member_;
  }
  void leave(std::uint64_t member) {
    const MutexLock lock(mutex_);
    if (member_ != member) return;
    for (const auto& one : subscriptions_) {
      if (one != nullptr) one->release_all();
    }
    member_ = 0;
    shared_->ready.wake();
  }
  /// @throws Closed if @p member is not the member any more
  void check_member(std::uint64_t member) {
    const MutexLock lock(mutex_);
    check(member);
  }

  // -------------------------------------------------------------------------------------- delivery

  /// Hands out what is there for @p member. With @p arming, whatever has nothing asks to be told,
  /// so that a wait may follow.
  void collect(BatchState& batch, PollBudget budget, Instant now, std::uint64_t member,
               bool arming) {
    const MutexLock lock(mutex_);
    check(member);
    gather(now);
    const bool was_full = is_full();
    hand_out(batch, budget, now);
    if (batch.size() == 0 && was_full) {
      // What retention took gives its slots back when somebody looks.
      for (const auto& one : subscriptions_) {
        if (one != nullptr) one->count_losses();
      }
      hand_out(batch, budget, now);
    }
    if (hot_.size() > most_hot || (arming && batch.size() == 0)) cool_down(batch, budget, now);
  }
  /// When something becomes deliverable or ends by itself; exact.
  [[nodiscard]] Instant next_event(Instant now) {
    for (;;) {
      const auto [first, time] = shared_->ready.first();
      if (first == nullptr) return Instant::max();
      if (first->next_event(now, time) == time) return time;
    }
  }
  /// Work that is due now: leases that ended, dead letters.
  void run_due(Instant now) {
    while (const auto due = shared_->ready.take_due(now)) {
      if (due->run_due(now)) due->on_news();
    }
  }

  // ----------------------------------------------------------------------------------------- facts

  /// All subscriptions, in the order in which they began.
  [[nodiscard]] SubscriptionList all() {
    const MutexLock lock(mutex_);
    SubscriptionList list;
    std::copy_if(subscriptions_.begin(), subscriptions_.end(), std::back_inserter(list),
                 [](const auto& one) { return one != nullptr; });
    return list;
  }
  [[nodiscard]] SubscriptionList assigned() {
    const MutexLock lock(mutex_);
    SubscriptionList list;
    std::copy_if(subscriptions_.begin(), subscriptions_.end(), std::back_inserter(list),
                 [](const auto& one) { return one != nullptr && one->assigned; });
    return list;
  }
  /// The subscription that @p receipt came from; null if it is gone. @throws ForeignDelivery
  [[nodiscard]] std::shared_ptr<Subscription> find(const Receipt& receipt) {
    const auto index = static_cast<std::size_t>(receipt.subscription & 0xffff'ffff);
    if (receipt.subscription >> 32 != shared_->id) throw ForeignDelivery("group '" + name() + "'");
    const MutexLock lock(mutex_);
    return index < subscriptions_.size() ? subscriptions_[index] : nullptr;
  }

  /// How far redrives got, by partition of the dead-letter topic.
  Mutex redrive_mutex;
  std::map<PartitionId, RedriveProgress> redriven BROOK_GUARDED_BY(redrive_mutex);

 private:
  /// Up to so many subscriptions are simply looked at by every poll; asking for news costs more
  /// than looking.
  static constexpr std::size_t most_hot = 64;

  void check(std::uint64_t member) const BROOK_REQUIRES(mutex_) {
    if (closed_ || member_ != member) throw Closed("consumer of group '" + name() + "'");
  }
  void add_hot(const std::shared_ptr<Subscription>& one) BROOK_REQUIRES(mutex_) {
    if (!one->assigned || std::exchange(one->hot, true)) return;
    hot_.push_back(one);
  }
  void hand_out(BatchState& batch, PollBudget& budget, Instant now) BROOK_REQUIRES(mutex_) {
    const std::size_t count = hot_.size();
    for (std::size_t i = 0; i < count && budget.messages != 0; ++i) {
      const std::size_t at = (turn_ + i) % count;
      const std::size_t before = batch.size();
      const std::uint64_t bytes_before = budget.bytes;
      hot_[at]->poll_into(batch, budget, now);
      // The next poll goes on behind whoever got something last.
      if (batch.size() != before) next_turn_ = at + 1;
      if (budget.taken && budget.bytes == 0 && bytes_before != 0) break;
    }
    turn_ = next_turn_;
  }
  /// Whether a limit of what may be outstanding may be what holds messages back.
  [[nodiscard]] bool is_full() const noexcept {
    const SubscriptionConfig& config = shared_->config;
    const std::uint64_t messages = shared_->slots.messages.load(std::memory_order_relaxed);
    return messages >= config.max_outstanding_messages.value() ||
           (messages != 0 && config.max_outstanding_bytes != ByteSize::unlimited());
  }
  void gather(Instant now) BROOK_REQUIRES(mutex_) {
    news_.clear();
    shared_->ready.take(news_);
    for (const auto& one : news_) add_hot(one);
    while (const auto due = shared_->ready.take_due(now)) {
      due->run_due(now);  // the poll may not get as far as to this one
      add_hot(due);
    }
    news_.clear();
  }
  void cool_down(BatchState& batch, PollBudget& budget, Instant now) BROOK_REQUIRES(mutex_) {
    std::erase_if(hot_, [&](const auto& one) {
      if (one->assigned && !one->arm(batch, budget, now)) return false;
      one->hot = false;
      return true;
    });
  }

  const SubscribeOptions options_;
  const std::shared_ptr<GroupShared<P>> shared_;
  std::vector<std::string> patterns_;  ///< With the registry locked.

  Mutex mutex_;
  SubscriptionList subscriptions_
      BROOK_GUARDED_BY(mutex_);  ///< By index; null once their topic is gone.
  std::unordered_map<const TopicState<P>*, std::size_t> first_of_ BROOK_GUARDED_BY(mutex_);
  SubscriptionList hot_ BROOK_GUARDED_BY(mutex_);
  SubscriptionList news_ BROOK_GUARDED_BY(mutex_);
  std::size_t turn_ BROOK_GUARDED_BY(mutex_) = 0;
  std::size_t next_turn_ BROOK_GUARDED_BY(mutex_) = 0;
  std::uint64_t member_ BROOK_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_member_ BROOK_GUARDED_BY(mutex_) = 0;
  bool closed_ BROOK_GUARDED_BY(mutex_) = false;
};

}  // namespace brook::detail
