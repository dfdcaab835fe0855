// Members and topics come and go at random; who owns what is kept in a mirror that knows nothing
// but the changes.

#include <brook/group/membership.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

using brook::Instant;
using brook::detail::MemberId;
using brook::detail::Membership;
using brook::detail::MembershipConfig;
using brook::detail::OwnershipChange;
using brook::detail::OwnershipChanges;
using brook::detail::PartitionSlot;
using support::Random;
using Kind = OwnershipChange::Kind;
using namespace std::chrono_literals;

class Machine {
 public:
  explicit Machine(std::uint64_t seed) : random_(seed), members_(config(random_)) {}

  void step() {
    const std::uint64_t kind = random_.below(20);
    if (kind < 3) {
      join();
    } else if (kind < 5) {
      leave();
    } else if (kind < 7) {
      add_topic();
    } else if (kind < 8) {
      remove_topic();
    } else if (kind < 12) {
      poll();
    } else if (kind < 14) {
      if (!owners_.empty()) members_.drained(any_key(owners_), changes_);
    } else if (kind < 16) {
      const Instant next = members_.next_event();
      if (next == Instant::max()) return;
      if (next > now_) {
        move_to(next - std::chrono::nanoseconds{1});
        CHECK(changes_.empty());  // never early
      }
      const std::size_t alive = members_.alive_count();
      move_to(next);
      CHECK((!changes_.empty() || members_.alive_count() < alive));  // exact
    } else {
      move_to(now_ + std::chrono::milliseconds{random_.below(3'000)});
    }
    apply();
    check();
  }
  /// Everybody polls, twice: then all is settled.
  void converge() {
    move_to(now_);
    for (int round = 0; round < 2; ++round) {
      for (const auto& [member, topics] : wishes_) poll(member);
    }
    apply();
    check();
    CHECK_FALSE(members_.any_revoking());
    std::map<MemberId, std::uint64_t> load;
    for (const auto& [member, topics] : wishes_) load[member] = 0;
    bool alike = true;
    for (const auto& [first, count] : topics_) {
      const auto wants = [topic = first](const auto& one) { return one.second.contains(topic); };
      const bool wanted = std::any_of(wishes_.begin(), wishes_.end(), wants);
      alike = alike && wanted == std::all_of(wishes_.begin(), wishes_.end(), wants);
      for (PartitionSlot slot = first; slot < first + count; ++slot) {
        CHECK((members_.owner(slot) != 0) == wanted);
        if (wanted) ++load[members_.owner(slot)];
      }
    }
    for (const auto& [member, count] : load) {
      for (const auto& [other, more] : load) CHECK((!alike || !sticky_ || more <= count + 1));
    }
  }

 private:
  MembershipConfig config(Random& random) {
    sticky_ = random.chance(70);
    MembershipConfig config{.revoke_timeout = std::chrono::seconds{random.below(3)}};
    if (!sticky_) config.assignor = brook::RangeAssignor{};
    if (random.chance(50)) config.member_timeout = 2s;
    return config;
  }
  template <class Map>
  typename Map::key_type any_key(const Map& map) {
    return std::next(map.begin(), static_cast<std::ptrdiff_t>(random_.below(map.size())))->first;
  }
  void move_to(Instant time) {
    now_ = std::max(now_, time);
    members_.advance(now_, changes_);
  }
  void join() {
    if (wishes_.size() == 5) return;
    std::set<PartitionSlot> topics;
    const bool all = random_.chance(50);
    for (const auto& [first, count] : topics_) {
      if (all || random_.chance(50)) topics.insert(first);
    }
    ++last_member_;
    members_.join(last_member_, {topics.begin(), topics.end()}, now_, changes_);
    wishes_[last_member_] = topics;
  }
  void leave() {
    if (wishes_.empty()) return;
    const MemberId member = any_key(wishes_);
    members_.leave(member, now_, changes_);
    wishes_.erase(member);
  }
  void add_topic() {
    if (topics_.size() == 4) return;
    const auto count = static_cast<std::uint32_t>(random_.below(5)) + 1;
    std::vector<MemberId> wanted_by;
    for (auto& [member, topics] : wishes_) {
      if (!random_.chance(60)) continue;
      wanted_by.push_back(member);
      topics.insert(next_slot_);
    }
    members_.add_topic(next_slot_, count, wanted_by, now_, changes_);
    topics_[next_slot_] = count;
    next_slot_ += count;
  }
  void remove_topic() {
    if (topics_.empty()) return;
    const PartitionSlot first = any_key(topics_);
    members_.remove_topic(first, now_, changes_);
    topics_.erase(first);
    for (auto& [member, topics] : wishes_) topics.erase(first);
  }
  void poll() {
    if (!wishes_.empty()) poll(any_key(wishes_));
  }
  void poll(MemberId member) {
    members_.enter(member, now_, changes_);
    CHECK(members_.is_alive(member));
    const auto revoking = members_.revoking(member);
    members_.acknowledge(member, revoking, changes_);
    if (random_.chance(90)) members_.exit(member, now_);
  }

  /// What the changes say must be possible, in their order.
  void apply() {
    for (const OwnershipChange& change : changes_) {
      const auto owner = owners_.find(change.slot);
      if (change.kind == Kind::assigned) {
        CHECK(owner == owners_.end());  // never two
        owners_[change.slot] = change.member;
        continue;
      }
      REQUIRE(owner != owners_.end());
      CHECK(owner->second == change.member);
      const bool was_revoking = revoking_.contains(change.slot);
      if (change.kind == Kind::revoking) {
        CHECK_FALSE(was_revoking);
        revoking_.insert(change.slot);
      } else {
        if (change.kind == Kind::kept) CHECK(was_revoking);
        revoking_.erase(change.slot);
        if (change.kind != Kind::kept) owners_.erase(owner);
      }
    }
    changes_.clear();
  }
  void check() {
    std::size_t alive = 0;
    for (const auto& [member, topics] : wishes_) alive += members_.is_alive(member) ? 1U : 0U;
    CHECK(members_.alive_count() == alive);
    const auto revoking = members_.revoking();
    CHECK(std::set<PartitionSlot>(revoking.begin(), revoking.end()) == revoking_);
    CHECK(members_.any_revoking() == !revoking_.empty());
    for (PartitionSlot slot = 0; slot < next_slot_; ++slot) {
      const auto owner = owners_.find(slot);
      CHECK(members_.owner(slot) == (owner == owners_.end() ? 0 : owner->second));
      CHECK(members_.is_revoking(slot) == revoking_.contains(slot));
      const MemberId target = members_.target(slot);
      CHECK((target == 0 || members_.is_alive(target)));
      if (members_.owner(slot) == 0) CHECK(target == 0);
    }
  }

  Random random_;
  bool sticky_ = true;
  Membership members_;
  Instant now_{};
  OwnershipChanges changes_{};
  std::map<PartitionSlot, std::uint32_t> topics_{};
  std::map<MemberId, std::set<PartitionSlot>> wishes_{};
  std::map<PartitionSlot, MemberId> owners_{};
  std::set<PartitionSlot> revoking_{};
  PartitionSlot next_slot_ = 0;
  MemberId last_member_ = 0;
};

}  // namespace

TEST_CASE("No partition ever has two owners, and all have one once everybody has polled",
          "[group][model]") {
  support::for_each_seed("membership", 400, [](std::uint64_t seed) {
    Machine machine(seed);
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 50; ++i) machine.step();
      machine.converge();
    }
  });
}
