#include <brook/group/membership.hpp>

#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

using brook::Instant;
using brook::detail::Membership;
using brook::detail::MembershipConfig;
using brook::detail::OwnershipChange;
using brook::detail::OwnershipChanges;
using brook::detail::PartitionSlot;
using Kind = OwnershipChange::Kind;
using Slots = std::vector<PartitionSlot>;
using namespace std::chrono_literals;

namespace {

/// Throws while it is told to.
struct Moody {
  const bool* throws;
  void operator()(const brook::AssignmentInput& input, std::span<std::uint32_t> owners) const {
    if (*throws) throw std::runtime_error("moody");
    brook::RangeAssignor{}(input, owners);
  }
  static constexpr std::string_view name() { return "moody"; }
};

/// A group and what was decided since the last look.
struct Group {
  Membership members;
  Instant now{};

  explicit Group(MembershipConfig config = {}) : members(std::move(config)) {}
  void topic(PartitionSlot first, std::uint32_t partitions,
             const std::vector<brook::detail::MemberId>& wanted_by = {}) {
    members.add_topic(first, partitions, wanted_by, now, changes_);
  }
  void join(brook::detail::MemberId member, Slots topics = {0}) {
    members.join(member, std::move(topics), now, changes_);
  }
  void leave(brook::detail::MemberId member) { members.leave(member, now, changes_); }
  void acknowledge(brook::detail::MemberId member, const Slots& slots) {
    members.acknowledge(member, slots, changes_);
  }
  void drained(PartitionSlot slot) { members.drained(slot, changes_); }
  void at(brook::Duration time) {
    now = Instant{} + time.nanoseconds();
    members.advance(now, changes_);
  }
  OwnershipChanges take() { return std::exchange(changes_, {}); }

 private:
  OwnershipChanges changes_;
};

const OwnershipChanges none;

}  // namespace

TEST_CASE("The first member gets everything, and gives back when it leaves", "[group]") {
  Group g;
  g.topic(0, 2);
  CHECK(g.take() == none);
  g.join(1);
  CHECK(g.take() == OwnershipChanges{{Kind::assigned, 0, 1}, {Kind::assigned, 1, 1}});
  CHECK(g.members.alive_count() == 1);
  g.leave(1);
  CHECK(g.take() == OwnershipChanges{{Kind::released, 0, 1}, {Kind::released, 1, 1}});
  CHECK(g.members.alive_count() == 0);
  CHECK(g.members.owner(0) == 0);
}

TEST_CASE("A partition is handed on when its owner acknowledges, not before", "[group]") {
  Group g;
  g.topic(0, 2);
  g.join(1);
  g.take();
  g.join(2);
  CHECK(g.take() == OwnershipChanges{{Kind::revoking, 1, 1}});
  CHECK(g.members.owner(1) == 1);
  CHECK(g.members.target(1) == 2);
  CHECK(g.members.revoking() == Slots{1});
  CHECK(g.members.revoking(1) == Slots{1});
  CHECK(g.members.revoking(2).empty());
  g.acknowledge(2, {1});     // not its own
  g.acknowledge(1, {0, 9});  // stays; is none
  CHECK(g.take() == none);
  g.acknowledge(1, {1});
  CHECK(g.take() == OwnershipChanges{{Kind::released, 1, 1}, {Kind::assigned, 1, 2}});
  CHECK_FALSE(g.members.any_revoking());
  g.acknowledge(1, {1});
  CHECK(g.take() == none);
}

TEST_CASE("A partition is handed on when nothing of it is on lease", "[group]") {
  Group g;
  g.topic(0, 2);
  g.join(1);
  g.join(2);
  g.take();
  g.drained(0);
  CHECK(g.take() == none);
  g.drained(1);
  CHECK(g.take() == OwnershipChanges{{Kind::released, 1, 1}, {Kind::assigned, 1, 2}});
}

TEST_CASE("A partition is taken away after revoke_timeout, never before", "[group]") {
  Group g{{.revoke_timeout = 10s}};
  g.topic(0, 2);
  g.join(1);
  CHECK(g.members.next_event() == Instant::max());
  g.at(5s);
  g.join(2);
  g.take();
  CHECK(g.members.next_event() == Instant{15s});
  g.at(15s - 1ns);
  CHECK(g.take() == none);
  g.at(15s);
  CHECK(g.take() == OwnershipChanges{{Kind::fenced, 1, 1}, {Kind::assigned, 1, 2}});
  CHECK(g.members.next_event() == Instant::max());
  CHECK(g.members.is_alive(1));
}

TEST_CASE("A first request to revoke stands when the target changes", "[group]") {
  Group g{{.revoke_timeout = 10s}};
  g.topic(0, 2);
  g.join(1);
  g.join(2);
  g.take();
  g.at(9s);
  g.leave(2);
  CHECK(g.take() == OwnershipChanges{{Kind::kept, 1, 1}});
  g.join(3);
  CHECK(g.take() == OwnershipChanges{{Kind::revoking, 1, 1}});
  CHECK(g.members.next_event() == Instant{19s});  // a new request
  g.at(10s);
  g.join(4);  // two partitions, three members: somebody has none
  CHECK(g.take() == none);
  g.leave(3);
  CHECK(g.take() == none);
  CHECK(g.members.target(1) == 4);
  CHECK(g.members.next_event() == Instant{19s});
}

TEST_CASE("An owner that leaves in the middle of a hand-over makes way at once", "[group]") {
  Group g;
  g.topic(0, 2);
  g.join(1);
  g.join(2);
  g.take();
  g.leave(1);
  CHECK(g.take() == OwnershipChanges{{Kind::released, 0, 1},
                                     {Kind::released, 1, 1},
                                     {Kind::assigned, 0, 2},
                                     {Kind::assigned, 1, 2}});
  CHECK_FALSE(g.members.any_revoking());
}

// --------------------------------------------------------------------------------------- liveness

TEST_CASE("A member is taken for dead at member_timeout after its poll, never before", "[group]") {
  Group g{{.member_timeout = 10s}};
  g.topic(0, 1);
  g.join(1);
  CHECK(g.members.next_event() == Instant{10s});
  OwnershipChanges changes;
  g.members.enter(1, g.now, changes);
  CHECK(g.members.next_event() == Instant::max());  // inside, it lives
  g.at(100s);
  CHECK(g.members.is_alive(1));
  g.members.exit(1, g.now);
  g.take();
  g.at(110s - 1ns);
  CHECK(g.members.heartbeat(1, g.now));
  g.at(120s - 2ns);
  CHECK(g.take() == none);
  g.at(120s - 1ns);
  CHECK(g.take() == OwnershipChanges{{Kind::fenced, 0, 1}});
  CHECK_FALSE(g.members.is_alive(1));
  CHECK_FALSE(g.members.heartbeat(1, g.now));
  CHECK(g.members.alive_count() == 0);
  CHECK(g.members.next_event() == Instant::max());
}

TEST_CASE("A member that was taken for dead joins again with its next poll, behind the others",
          "[group]") {
  Group g{{.member_timeout = 10s}};
  g.topic(0, 2);
  g.join(1);
  g.at(5s);
  g.join(2);
  g.take();
  g.at(10s);
  CHECK(g.take() == OwnershipChanges{{Kind::fenced, 0, 1},
                                     {Kind::fenced, 1, 1},
                                     {Kind::assigned, 0, 2},
                                     {Kind::assigned, 1, 2}});
  OwnershipChanges changes;
  g.members.enter(1, g.now, changes);
  CHECK(changes == OwnershipChanges{{Kind::revoking, 1, 2}});
  CHECK(g.members.is_alive(1));
}

TEST_CASE("A member inside a poll lives on while another is taken for dead", "[group]") {
  Group g{{.member_timeout = 10s}};
  g.topic(0, 2);
  g.join(1);
  g.join(2);
  g.acknowledge(1, {1});
  OwnershipChanges changes;
  g.members.enter(1, g.now, changes);
  g.take();
  g.at(20s);
  CHECK(g.members.is_alive(1));
  CHECK_FALSE(g.members.is_alive(2));
  CHECK(g.take() == OwnershipChanges{{Kind::fenced, 1, 2}, {Kind::assigned, 1, 1}});
}

TEST_CASE("Who joins again is the last one for an assignor that goes by order", "[group]") {
  Group g{{.assignor = brook::RangeAssignor{}, .member_timeout = 10s}};
  g.topic(0, 3);
  g.join(1);
  g.at(5s);
  g.join(2);
  g.at(10s);
  g.take();
  OwnershipChanges changes;
  g.members.enter(1, g.now, changes);  // of three, the first member keeps two
  CHECK(changes == OwnershipChanges{{Kind::revoking, 2, 2}});
}

// ----------------------------------------------------------------------------------------- topics

TEST_CASE("A new topic goes to those that want it, an old one leaves nothing behind", "[group]") {
  Group g;
  g.topic(0, 1);
  g.join(1);
  g.join(2, {});
  g.take();
  g.topic(1, 2, {2});
  CHECK(g.take() == OwnershipChanges{{Kind::assigned, 1, 2}, {Kind::assigned, 2, 2}});
  OwnershipChanges changes;
  g.members.remove_topic(1, g.now, changes);
  CHECK(changes == OwnershipChanges{{Kind::gone, 1, 2}, {Kind::gone, 2, 2}});
  CHECK(g.members.owner(1) == 0);
  CHECK(g.members.owner(0) == 1);
}

TEST_CASE("A topic that is deleted in the middle of a hand-over ends it", "[group]") {
  Group g;
  g.topic(0, 2);
  g.join(1);
  g.join(2);
  g.take();
  OwnershipChanges changes;
  g.members.remove_topic(0, g.now, changes);
  CHECK(changes == OwnershipChanges{{Kind::gone, 0, 1}, {Kind::gone, 1, 1}});
  CHECK_FALSE(g.members.any_revoking());
  CHECK(g.members.next_event() == Instant::max());
  g.members.remove_topic(0, g.now, changes);
  CHECK(changes.size() == 2);
}

// -------------------------------------------------------------------------------------- assignors

TEST_CASE("Who joins is refused by what the assignor throws, and nothing changes", "[group]") {
  bool throws = false;
  Group g{{.assignor = Moody{&throws}}};
  g.topic(0, 2);
  g.join(1);
  g.take();
  throws = true;
  CHECK_THROWS_WITH(g.join(2), "moody");
  CHECK(g.take() == none);
  CHECK(g.members.alive_count() == 1);
  CHECK(g.members.owner(0) == 1);
}

TEST_CASE("Where nobody can be refused, sticky decides instead of an assignor that throws",
          "[group]") {
  bool throws = false;
  Group g{{.assignor = Moody{&throws}}};
  g.topic(0, 3);
  g.join(1);
  g.join(2);
  g.acknowledge(1, {2});
  g.take();
  throws = true;
  g.leave(1);
  CHECK(g.members.owner(0) == 2);
  CHECK(g.members.owner(1) == 2);
  CHECK(g.members.owner(2) == 2);
}
