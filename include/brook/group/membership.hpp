#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <brook/core/time.hpp>
#include <brook/group/assignor.hpp>

namespace brook::detail {

using MemberId = std::uint64_t;       ///< Never used again in a group; 0 is nobody.
using PartitionSlot = std::uint32_t;  ///< A partition of a group; never used again in it.

/// One step of who owns a partition. Whoever acts on steps acts on them in their order.
struct OwnershipChange {
  enum class Kind : unsigned char {
    assigned,  ///< The member owns the partition, which nobody owned before.
    revoking,  ///< The member is to give it back, and gets nothing new from it.
    kept,      ///< It was to give it back, and keeps it after all.
    released,  ///< It has given it back: nobody owns it. What it had on lease is not charged.
    fenced,    ///< It was taken away: nobody owns it. What was on lease is charged.
    gone,      ///< Its topic was deleted, and there is nothing left to own.
  };
  Kind kind = Kind::assigned;
  PartitionSlot slot = 0;
  MemberId member = 0;

  friend bool operator==(const OwnershipChange&, const OwnershipChange&) noexcept = default;
};
using OwnershipChanges = std::vector<OwnershipChange>;

/// What a group says about its members.
struct MembershipConfig {
  AnyAssignor assignor{};
  Duration revoke_timeout = std::chrono::seconds{60};
  Duration member_timeout = Duration::max();  ///< max = nobody is ever taken for dead.
};

/// The state machine of a group's members: who is there, and who owns which partition. It decides;
/// what a change means for leases, polls and listeners is its caller's.
///
///     nobody → assigned → revoking → nobody → assigned (to the target)
///
/// Each partition has an owner and a target. They are the same once everything is settled; the
/// assignor moves targets only. A partition whose target is somebody else is being revoked: it is
/// handed on at the first of: the owner acknowledges, has nothing left of it, leaves, is taken for
/// dead, or `revoke_timeout` has passed since the first request. So there is never more than one
/// owner, whatever else happens in between, and partitions that do not move do not pause.
///
/// A member is alive while it is inside a poll, and for `member_timeout` after the last one (or
/// heartbeat). Where nobody can be refused (somebody left or died, a topic came or went) and the
/// assignor throws or answers nonsense, `StickyAssignor` decides instead.
///
/// Thread rule: none, one caller at a time. Complexity: a rebalance as its assignor, O(partitions +
/// members + topics wanted) besides; everything else at most O(partitions + members), `enter`,
/// `exit` and `heartbeat` O(members). Source: incremental cooperative rebalancing, KIP-429, with
/// the coordinator and its members in one process.
class Membership {
 public:
  using Kind = OwnershipChange::Kind;

  explicit Membership(MembershipConfig config) : config_(std::move(config)) {}

  // ---------------------------------------------------------------------------------------- topics

  /// A topic whose partitions have the slots from @p first on; @p wanted_by says which of the
  /// members want it. Requires that slots rise from one topic to the next.
  /// @throws std::bad_alloc, nothing done
  void add_topic(PartitionSlot first, std::uint32_t partitions, std::span<const MemberId> wanted_by,
                 Instant now, OwnershipChanges& changes) {
    reserve(changes, partitions);
    for (Member& member : members_) member.topics.reserve(member.topics.size() + 1);
    topics_.emplace_hint(topics_.end(), first, std::vector<Partition>(partitions));
    for (const MemberId id : wanted_by) find(id)->topics.push_back(first);
    if (!wanted_by.empty()) rebalance_or_later(now, changes);
  }
  /// The topic is gone, and what was owned of it, too.
  void remove_topic(PartitionSlot first, Instant now, OwnershipChanges& changes) {
    const auto topic = topics_.find(first);
    if (topic == topics_.end()) return;
    reserve(changes, topic->second.size());
    PartitionSlot slot = first;
    for (const Partition& partition : topic->second) {
      if (partition.owner != 0) changes.push_back({Kind::gone, slot, partition.owner});
      if (partition.is_revoking()) --revoking_;
      ++slot;
    }
    topics_.erase(topic);
    for (Member& member : members_) std::erase(member.topics, first);
    rebalance_or_later(now, changes);
  }

  // --------------------------------------------------------------------------------------- members

  /// @p member joins and wants @p topics, given by their first slots, rising.
  /// @throws what the assignor throws, InvalidArgument if its answer makes no sense; nothing done
  void join(MemberId member, std::vector<PartitionSlot> topics, Instant now,
            OwnershipChanges& changes) {
    members_.push_back({.id = member,
                        .topics = std::move(topics),
                        .is_alive = true,
                        .is_inside = false,
                        .alive_until = saturating_add(now, config_.member_timeout)});
    try {
      rebalance(config_.assignor, now, changes);
    } catch (...) {
      members_.pop_back();
      throw;
    }
  }
  /// @p member leaves of its own will: what it owned is released.
  void leave(MemberId member, Instant now, OwnershipChanges& changes) {
    const auto leaving = find(member);
    if (leaving == members_.end()) return;
    reserve(changes, slot_count());
    if (leaving->is_alive) take_all(member, Kind::released, changes);
    members_.erase(leaving);
    rebalance_or_later(now, changes);
  }
  /// @p member begins to poll. One that was taken for dead joins again, behind the others.
  /// Requires that it has joined, and that `advance` has seen @p now: else one that is late passes
  /// for alive.
  /// @throws as `join`
  void enter(MemberId member, Instant now, OwnershipChanges& changes) {
    const auto polling = find(member);
    if (polling->is_alive) {
      polling->is_inside = true;
      return;
    }
    std::rotate(polling, polling + 1, members_.end());
    Member& joining = members_.back();
    joining.is_alive = joining.is_inside = true;
    try {
      rebalance(config_.assignor, now, changes);
    } catch (...) {
      joining.is_alive = joining.is_inside = false;
      throw;
    }
  }
  /// The poll of @p member returns: its time runs from here.
  void exit(MemberId member, Instant now) noexcept {
    const auto polling = find(member);
    if (polling == members_.end()) return;
    polling->is_inside = false;
    polling->alive_until = saturating_add(now, config_.member_timeout);
  }
  /// @p member says that it lives. False if it was taken for dead already, or has left. Requires
  /// that `advance` has seen @p now.
  bool heartbeat(MemberId member, Instant now) noexcept {
    const auto living = find(member);
    if (living == members_.end() || !living->is_alive) return false;
    living->alive_until = saturating_add(now, config_.member_timeout);
    return true;
  }

  // ------------------------------------------------------------------------------------ revocation

  /// @p member gives back @p slots; those that it need not are left as they are.
  void acknowledge(MemberId member, std::span<const PartitionSlot> slots,
                   OwnershipChanges& changes) {
    reserve(changes, slots.size());
    for (const PartitionSlot slot : slots) {
      Partition* const partition = at(slot);
      if (partition == nullptr || partition->owner != member || !partition->is_revoking()) continue;
      hand_on(slot, *partition, Kind::released, changes);
    }
  }
  /// Nothing of @p slot is on lease. No effect unless it is being revoked.
  void drained(PartitionSlot slot, OwnershipChanges& changes) {
    reserve(changes, 1);
    Partition* const partition = at(slot);
    if (partition == nullptr || !partition->is_revoking()) return;
    hand_on(slot, *partition, Kind::released, changes);
  }
  /// Takes members for dead, and partitions from members, whose time is over at @p now.
  void advance(Instant now, OwnershipChanges& changes) {
    if (now < next_event()) return;
    reserve(changes, slot_count());
    bool died = false;
    for (Member& member : members_) {
      if (!member.is_alive || member.is_inside || now < member.alive_until) continue;
      member.is_alive = false;
      take_all(member.id, Kind::fenced, changes);
      died = true;
    }
    for_each_revoking([&](PartitionSlot slot, Partition& partition) {
      if (now >= partition.revoke_by) hand_on(slot, partition, Kind::fenced, changes);
    });
    if (died || again_) rebalance_or_later(now, changes);
  }
  /// When `advance` has something to do next; exact. `Instant::min()` = at once.
  [[nodiscard]] Instant next_event() const noexcept {
    if (again_) return Instant::min();
    Instant next = Instant::max();
    for (const Member& member : members_) {
      if (member.is_alive && !member.is_inside) next = std::min(next, member.alive_until);
    }
    const_cast<Membership&>(*this).for_each_revoking(
        [&](PartitionSlot, Partition& partition) { next = std::min(next, partition.revoke_by); });
    return next;
  }

  // ----------------------------------------------------------------------------------------- facts

  /// 0 if nobody owns it.
  [[nodiscard]] MemberId owner(PartitionSlot slot) const noexcept {
    const Partition* const partition = at(slot);
    return partition == nullptr ? 0 : partition->owner;
  }
  [[nodiscard]] MemberId target(PartitionSlot slot) const noexcept {
    const Partition* const partition = at(slot);
    return partition == nullptr ? 0 : partition->target;
  }
  [[nodiscard]] bool is_revoking(PartitionSlot slot) const noexcept {
    const Partition* const partition = at(slot);
    return partition != nullptr && partition->is_revoking();
  }
  /// Whether any partition is being revoked; O(1).
  [[nodiscard]] bool any_revoking() const noexcept { return revoking_ != 0; }
  /// All slots that are being revoked, rising; only those of @p member unless it is 0.
  [[nodiscard]] std::vector<PartitionSlot> revoking(MemberId member = 0) const {
    std::vector<PartitionSlot> list;
    const_cast<Membership&>(*this).for_each_revoking([&](PartitionSlot slot, Partition& partition) {
      if (member == 0 || partition.owner == member) list.push_back(slot);
    });
    return list;
  }
  /// Those that are not taken for dead.
  [[nodiscard]] std::size_t alive_count() const noexcept {
    return static_cast<std::size_t>(std::count_if(
        members_.begin(), members_.end(), [](const Member& member) { return member.is_alive; }));
  }
  [[nodiscard]] bool is_alive(MemberId member) const noexcept {
    const auto found = find(member);
    return found != members_.end() && found->is_alive;
  }

 private:
  struct Partition {
    MemberId owner = 0;
    MemberId target = 0;
    Instant revoke_by = Instant::max();

    [[nodiscard]] bool is_revoking() const noexcept { return owner != 0 && owner != target; }
  };
  struct Member {
    MemberId id = 0;
    std::vector<PartitionSlot> topics{};  ///< What it wants, by first slot, rising.
    bool is_alive = true;
    bool is_inside = false;  ///< It is polling.
    Instant alive_until = Instant::max();
  };
  using Members = std::vector<Member>;

  [[nodiscard]] Members::iterator find(MemberId id) noexcept {
    return std::find_if(members_.begin(), members_.end(),
                        [id](const Member& member) { return member.id == id; });
  }
  [[nodiscard]] Members::const_iterator find(MemberId id) const noexcept {
    return const_cast<Membership&>(*this).find(id);
  }
  [[nodiscard]] const Partition* at(PartitionSlot slot) const noexcept {
    auto topic = topics_.upper_bound(slot);
    if (topic == topics_.begin()) return nullptr;
    --topic;
    const std::size_t index = slot - topic->first;
    return index < topic->second.size() ? &topic->second[index] : nullptr;
  }
  [[nodiscard]] Partition* at(PartitionSlot slot) noexcept {
    return const_cast<Partition*>(std::as_const(*this).at(slot));
  }
  [[nodiscard]] std::size_t slot_count() const noexcept {
    std::size_t count = 0;
    for (const auto& [first, partitions] : topics_) count += partitions.size();
    return count;
  }
  template <class Visit>
  void for_each(const Visit& visit) {
    for (auto& [first, partitions] : topics_) {
      PartitionSlot slot = first;
      for (Partition& partition : partitions) visit(slot++, partition);
    }
  }
  template <class Visit>
  void for_each_revoking(const Visit& visit) {
    if (revoking_ == 0) return;
    for_each([&](PartitionSlot slot, Partition& partition) {
      if (partition.is_revoking()) visit(slot, partition);
    });
  }

  /// Makes room for what happens to @p count partitions: each is taken and given once at most.
  static void reserve(OwnershipChanges& changes, std::size_t count) {
    changes.reserve(changes.size() + 2 * count);
  }
  /// The owner of a partition that is being revoked has let go of it.
  void hand_on(PartitionSlot slot, Partition& partition, Kind how,
               OwnershipChanges& changes) noexcept {
    changes.push_back({how, slot, partition.owner});
    partition.owner = partition.target;
    partition.revoke_by = Instant::max();
    --revoking_;
    if (partition.owner != 0) changes.push_back({Kind::assigned, slot, partition.owner});
  }
  /// @p member is gone: neither owner nor target of anything.
  void take_all(MemberId member, Kind how, OwnershipChanges& changes) noexcept {
    for_each([&](PartitionSlot slot, Partition& partition) {
      const bool was_revoking = partition.is_revoking();
      if (partition.target == member) partition.target = 0;
      if (partition.owner == member) {
        changes.push_back({how, slot, member});
        partition.owner = partition.target = 0;
        partition.revoke_by = Instant::max();
      }
      if (was_revoking && !partition.is_revoking()) --revoking_;
    });
  }

  // ------------------------------------------------------------------------------------- rebalance

  void rebalance(const AnyAssignor& assignor, Instant now, OwnershipChanges& changes) {
    const std::vector<MemberId> targets = plan(assignor);
    reserve(changes, targets.size());
    auto target = targets.begin();
    for_each([&](PartitionSlot slot, Partition& partition) {
      retarget(slot, partition, *target++, now, changes);
    });
    again_ = false;
  }
  /// Where there is nobody to tell of a failure.
  void rebalance_or_later(Instant now, OwnershipChanges& changes) noexcept {
    again_ = true;  // memory may be short; the next `advance` tries again
    try {
      rebalance(config_.assignor, now, changes);
      return;
    } catch (...) {  // whatever a user's assignor throws
    }
    try {
      rebalance(StickyAssignor{}, now, changes);
    } catch (...) {
    }
  }
  void retarget(PartitionSlot slot, Partition& partition, MemberId target, Instant now,
                OwnershipChanges& changes) noexcept {
    const bool was_revoking = partition.is_revoking();
    partition.target = target;
    if (partition.owner == 0) {
      partition.owner = target;
      if (target != 0) changes.push_back({Kind::assigned, slot, target});
      return;
    }
    if (partition.is_revoking() == was_revoking) return;  // a first request stands
    if (was_revoking) {
      partition.revoke_by = Instant::max();
      --revoking_;
      changes.push_back({Kind::kept, slot, partition.owner});
    } else {
      partition.revoke_by = saturating_add(now, config_.revoke_timeout);
      ++revoking_;
      changes.push_back({Kind::revoking, slot, partition.owner});
    }
  }
  /// The target of each partition, in order of slots. Starts from who owns what at present, so that
  /// a member that is chosen again in the middle of a hand-over keeps what it has.
  [[nodiscard]] std::vector<MemberId> plan(const AnyAssignor& assignor) const {
    std::vector<MemberId> ids;
    std::vector<std::vector<std::uint32_t>> wishes;
    std::map<MemberId, std::uint32_t> index_of;
    for (const Member& member : members_) {
      if (!member.is_alive) continue;
      index_of.emplace(member.id, static_cast<std::uint32_t>(ids.size()));
      ids.push_back(member.id);
      wishes.push_back(numbers_of(member.topics));
    }
    std::vector<AssignablePartition> partitions;
    partitions.reserve(slot_count());
    std::uint32_t topic = 0;
    for (const auto& [first, list] : topics_) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto owner = index_of.find(list[i].owner);
        partitions.push_back({.topic = topic,
                              .partition = PartitionId{static_cast<std::uint32_t>(i)},
                              .owner = owner == index_of.end() ? no_member : owner->second});
      }
      ++topic;
    }
    const AssignmentInput input{.partitions = partitions, .members = wishes};
    std::vector<std::uint32_t> owners(partitions.size(), no_member);
    assignor(input, owners);
    check_assignment(assignor, input, owners);
    std::vector<MemberId> targets;
    targets.reserve(owners.size());
    for (const std::uint32_t owner : owners) targets.push_back(owner == no_member ? 0 : ids[owner]);
    return targets;
  }
  /// Numbers the topics that are given by their first slots as the assignor sees them.
  [[nodiscard]] std::vector<std::uint32_t> numbers_of(
      const std::vector<PartitionSlot>& firsts) const {
    std::vector<std::uint32_t> numbers;
    numbers.reserve(firsts.size());
    std::uint32_t number = 0;
    auto wanted = firsts.begin();
    for (const auto& [first, list] : topics_) {
      if (wanted == firsts.end()) break;
      if (*wanted == first) {
        numbers.push_back(number);
        ++wanted;
      }
      ++number;
    }
    return numbers;
  }

  MembershipConfig config_;
  Members members_{};  ///< In the order in which they joined.
  std::map<PartitionSlot, std::vector<Partition>> topics_{};  ///< By first slot.
  std::size_t revoking_ = 0;  ///< Partitions that are being revoked.
  bool again_ = false;        ///< Targets are not up to date.
};

}  // namespace brook::detail
