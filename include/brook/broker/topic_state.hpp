#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/broker/options.hpp>
#include <brook/broker/policies.hpp>
#include <brook/broker/reports.hpp>
#include <brook/core/error.hpp>
#include <brook/core/message_batch.hpp>
#include <brook/core/mutex.hpp>
#include <brook/log/topic_log.hpp>

// Order of locks in a broker, outermost first; none is taken while one further down is held:
//
//   1 registry      BrokerState::registry_          names of topics and groups
//   2 group         GroupState::mutex_              membership, what a poll looks at
//   3 subscription  PartitionSubscription::mutex_   deliveries of one group and partition
//   4 followers     TopicState::followers_mutex_    which subscriptions a topic has
//   5 append        Partition::mutex                one writer of a log; several in rising order
//   6 ready         ReadyQueue::mutex_              who has news for a group
//
// A dead letter is appended (5) under the subscription it leaves (3). Nothing waits and no user
// code runs under any of them.
namespace brook::detail {

/// A subscription as a publisher sees it.
class Follower {
 public:
  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  /// There is something to read. Takes only locks below the append lock.
  virtual void on_news() = 0;
  /// Everything below it is settled.
  [[nodiscard]] virtual Offset settled_below() const noexcept = 0;
  [[nodiscard]] virtual std::string_view group_name() const noexcept = 0;

  // Guarded by the append lock of its partition.
  bool armed = false;  ///< It will be told of the next message.
};

using FollowerList = std::vector<std::shared_ptr<Follower>>;

inline void disarm(const FollowerList& followers) noexcept {
  for (const auto& follower : followers) follower->armed = false;
}

inline void tell(const FollowerList& followers) {
  for (const auto& follower : followers) follower->on_news();
}

/// One partition of a topic: its log, the lock of its writers, and who wants to be told of the next
/// message.
template <BrokerPolicies P>
struct Partition {
  using Log = TopicLog<typename P::storage_factory::storage_type, typename P::clock_type>;

  Partition(typename P::clock_type& clock, const LogConfig& config,
            typename P::storage_factory::storage_type storage)
      : log(clock, config, std::move(storage)) {}

  Log log;
  Mutex mutex;
  /// Subscriptions that have read everything and want to hear of the next message once. An idle
  /// group costs publishers nothing, because it is either here no more or here once.
  FollowerList armed BROOK_GUARDED_BY(mutex);
};

/// On whose behalf something is appended: only the broker may write reserved headers.
enum class Origin : unsigned char { user, broker };

/// A topic: its partitions, and everything that publishing to it needs. Shared by the broker and
/// all handles.
template <BrokerPolicies P>
class TopicState {
 public:
  using Log = typename Partition<P>::Log;

  TopicState(std::string name, TopicId id, TopicConfig config, typename P::clock_type& clock,
             typename P::storage_factory& storages)
      : name_(std::move(name)), id_(id), config_(std::move(config)) {
    const auto count = static_cast<std::uint32_t>(config_.partitions.value());
    partitions_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      partitions_.push_back(std::make_unique<Partition<P>>(
          clock, log_config(config_), storages.make(name_, id_, PartitionId{i})));
    }
  }

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] TopicId id() const noexcept { return id_; }
  [[nodiscard]] const TopicConfig& config() const noexcept { return config_; }
  [[nodiscard]] std::uint32_t partition_count() const noexcept {
    return static_cast<std::uint32_t>(partitions_.size());
  }
  [[nodiscard]] Partition<P>& partition(PartitionId id) const {
    if (id.value() >= partitions_.size()) throw UnknownPartition(name_, id, partition_count());
    return *partitions_[id.value()];
  }

  void close() noexcept { closed_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_open() const noexcept { return !closed_.load(std::memory_order_acquire); }
  void check_open() const {
    if (closed_.load(std::memory_order_acquire)) throw Closed("topic '" + name_ + "'");
  }

  Published publish(const MessageView& message, Origin origin = Origin::user) {
    return publish(message, partitioner_, origin);
  }
  PublishedBatch publish(const MessageBatch& batch) { return publish(batch, partitioner_); }
  /// Appends one message to the partition that it names or that @p partitioner chooses.
  template <Partitioner PartitionerType>
  Published publish(const MessageView& message, const PartitionerType& partitioner,
                    Origin origin = Origin::user) {
    if (origin == Origin::user) refuse_reserved(message);
    const PartitionId id = choose(message, partitioner);
    Partition<P>& target = partition(id);
    FollowerList news;
    const auto append = [&] {
      const MutexLock lock(target.mutex);
      const Offset offset = target.log.append(message);
      if (!target.armed.empty()) {
        disarm(target.armed);
        news.swap(target.armed);
      }
      return offset;
    };
    Offset offset;
    try {
      offset = append();
    } catch (const TopicFull&) {
      if (!make_room(id)) throw;
      offset = append();
    }
    tell(news);
    return {.topic = id_, .partition = id, .offset = offset};
  }

  /// Appends a batch, one append for each partition it touches, all or none.
  template <Partitioner PartitionerType>
  PublishedBatch publish(const MessageBatch& batch, const PartitionerType& partitioner) {
    Split split(partition_count());
    if (partition_count() == 1) {
      // There is only one answer, unless the question is refused.
      constexpr bool may_refuse = !noexcept(partitioner(Bytes(null), std::uint32_t{1}));
      batch.for_each([&](const MessageView& message) {
        refuse_reserved(message);
        if (may_refuse || message.partition) choose(message, partitioner);
      });
      split.all(batch.size());
    } else {
      split.reserve(batch.size());
      batch.for_each([&](const MessageView& message) {
        refuse_reserved(message);
        split.add(choose(message, partitioner).value());
      });
      split.sort();
    }
    try {
      return append_parts(batch, split);
    } catch (const TopicFull&) {
      bool room = false;
      for (const auto& part : split.parts) room = make_room(PartitionId{part.partition}) || room;
      if (!room) throw;
      return append_parts(batch, split);
    }
  }

  // --------------------------------------------------------------------------------- subscriptions

  /// Makes sure that so many calls of `add_follower` cannot fail. @throws std::bad_alloc
  void reserve_followers(std::size_t count) {
    const MutexLock lock(followers_mutex_);
    followers_.reserve(followers_.size() + count);
  }
  void add_follower(PartitionId partition, std::shared_ptr<Follower> follower) {
    const MutexLock lock(followers_mutex_);
    followers_.push_back({.partition = partition, .follower = std::move(follower)});
  }
  /// Any one; null if there is none.
  [[nodiscard]] std::shared_ptr<Follower> some_follower() const noexcept {
    const MutexLock lock(followers_mutex_);
    return followers_.empty() ? nullptr : followers_.back().follower;
  }
  void remove_follower(const Follower& follower) noexcept {
    {
      const MutexLock lock(followers_mutex_);
      std::erase_if(followers_,
                    [&](const Following& one) { return one.follower.get() == &follower; });
    }
    for (const auto& one : partitions_) {
      const MutexLock lock(one->mutex);
      std::erase_if(one->armed, [&](const auto& armed) { return armed.get() == &follower; });
    }
  }
  /// Asks to be told of the next message at or above @p next. False, and nothing asked, if it is
  /// there already.
  [[nodiscard]] bool arm(PartitionId id, Offset next, const std::shared_ptr<Follower>& follower) {
    Partition<P>& target = partition(id);
    const MutexLock lock(target.mutex);
    if (target.log.visible_end() > next) return false;
    if (!follower->armed) target.armed.push_back(follower);
    follower->armed = true;
    return true;
  }

  // ------------------------------------------------------------------------------------- retention

  void trim(PartitionId id, Offset upto) {
    Partition<P>& target = partition(id);
    const MutexLock lock(target.mutex);
    target.log.trim(upto);
  }
  [[nodiscard]] Timestamp next_due() const noexcept {
    Timestamp due = Timestamp::max();
    for (const auto& one : partitions_) due = std::min(due, one->log.next_due());
    return due;
  }
  void run_due(Timestamp now) {
    for (const auto& one : partitions_) {
      if (one->log.next_due() > now && !config_.compaction) continue;
      const MutexLock lock(one->mutex);
      one->log.run_due();
    }
  }
  [[nodiscard]] TopicInfo info() const {
    TopicInfo info{.name = name_, .id = id_, .partitions = {}};
    for (std::uint32_t i = 0; i < partition_count(); ++i) {
      const Log& log = partitions_[i]->log;
      const Offset end = log.visible_end();
      const Offset start = std::min(log.start(), end);
      const RangeUsage usage = log.usage(start, end);
      info.partitions.push_back({.partition = PartitionId{i},
                                 .start = start,
                                 .end = end,
                                 .messages = usage.messages,
                                 .bytes = usage.bytes});
    }
    return info;
  }

 private:
  struct Following {
    PartitionId partition;
    std::shared_ptr<Follower> follower;
  };

  /// The messages of a batch by partition: `order` lists their places, part after part.
  struct Split {
    struct Part {
      std::uint32_t partition = 0;
      std::uint32_t first = 0;
      std::uint32_t count = 0;
    };

    explicit Split(std::uint32_t partitions) : partition_count(partitions) {}
    void all(std::size_t size) {
      if (size != 0)
        parts.push_back({.partition = 0, .first = 0, .count = static_cast<std::uint32_t>(size)});
    }
    void reserve(std::size_t size) { chosen.reserve(size); }
    void add(std::uint32_t partition) { chosen.push_back(partition); }
    void sort() {
      std::vector<std::uint32_t> place(partition_count, 0);
      for (const std::uint32_t partition : chosen) ++place[partition];
      std::uint32_t first = 0;
      for (std::uint32_t i = 0; i < partition_count; ++i) {
        if (place[i] != 0) parts.push_back({.partition = i, .first = first, .count = place[i]});
        first += std::exchange(place[i], first);
      }
      order.resize(chosen.size());
      for (std::uint32_t i = 0; i < chosen.size(); ++i) order[place[chosen[i]]++] = i;
    }

    std::uint32_t partition_count;
    std::vector<std::uint32_t> chosen;
    std::vector<std::uint32_t> order;
    std::vector<Part> parts;
  };

  template <class PartitionerType>
  PartitionId choose(const MessageView& message, const PartitionerType& partitioner) const {
    const PartitionId chosen = message.partition
                                   ? *message.partition
                                   : PartitionId(partitioner(message.key, partition_count()));
    if (chosen.value() < partition_count()) return chosen;
    throw UnknownPartition(name_, chosen, partition_count());
  }
  static void refuse_reserved(const MessageView& message) {
    if (message.headers.empty()) return;
    for (const HeaderView header : message.headers) {
      if (header.name.text().starts_with(reserved_header_prefix)) {
        throw ReservedHeader(std::string(header.name.text()));
      }
    }
  }

  // Locks as many partitions as the batch touches, which the static analysis cannot follow.
  PublishedBatch append_parts(const MessageBatch& batch,
                              const Split& split) BROOK_NO_THREAD_SAFETY_ANALYSIS {
    PublishedBatch published{.topic = id_, .parts = {}};
    published.parts.reserve(split.parts.size());
    FollowerList news;
    std::size_t locked = 0;
    std::size_t prepared = 0;
    std::size_t armed = 0;
    const auto log_of = [&](std::size_t part) -> Log& {
      return partitions_[split.parts[part].partition]->log;
    };
    const auto unlock = [&]() BROOK_NO_THREAD_SAFETY_ANALYSIS {
      while (locked != 0) partitions_[split.parts[--locked].partition]->mutex.unlock();
    };
    try {
      for (; locked < split.parts.size(); ++locked)
        partitions_[split.parts[locked].partition]->mutex.lock();
      for (; prepared < split.parts.size(); ++prepared) {
        const auto& part = split.parts[prepared];
        const std::span<const std::uint32_t> order(split.order);
        const MessageBatch selected =
            order.empty() ? batch : batch.select(order.subspan(part.first, part.count));
        armed += partitions_[part.partition]->armed.size();
        news.reserve(armed);
        const Offset first = log_of(prepared).prepare(selected);
        published.parts.push_back({.partition = PartitionId{part.partition},
                                   .offsets = {.first = first, .last = first + part.count}});
      }
    } catch (...) {
      while (prepared != 0) log_of(--prepared).cancel();
      unlock();
      throw;
    }
    for (std::size_t i = 0; i < split.parts.size(); ++i) {
      log_of(i).publish();
      auto& to_tell = partitions_[split.parts[i].partition]->armed;
      disarm(to_tell);
      for (auto& follower : to_tell) news.push_back(std::move(follower));
      to_tell.clear();
    }
    unlock();
    tell(news);
    return published;
  }

  /// Trims what every group that follows the partition has settled. False if that was nothing.
  bool make_room(PartitionId id) {
    Offset settled = Offset::max();
    {
      const MutexLock lock(followers_mutex_);
      for (const Following& one : followers_) {
        if (one.partition == id) settled = std::min(settled, one.follower->settled_below());
      }
    }
    Partition<P>& target = partition(id);
    const MutexLock lock(target.mutex);
    if (settled == Offset::max() || settled <= target.log.start()) return false;
    target.log.trim(std::min(settled, target.log.visible_end()));
    return true;
  }

  const std::string name_;
  const TopicId id_;
  const TopicConfig config_;
  const typename P::partitioner_type partitioner_{};
  std::vector<std::unique_ptr<Partition<P>>> partitions_;
  std::atomic<bool> closed_{false};
  mutable Mutex followers_mutex_;
  std::vector<Following> followers_ BROOK_GUARDED_BY(followers_mutex_);
};

}  // namespace brook::detail
