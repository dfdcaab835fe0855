#include <brook/group/assignor.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/assignment.hpp"
#include "support/catch.hpp"

using brook::AnyAssignor;
using brook::no_member;
using brook::RangeAssignor;
using brook::StickyAssignor;
using support::Assignment;
using support::Owners;

TEST_CASE("Nobody gets anything where there are no members, or no partitions", "[group]") {
  CHECK(Assignment({3}, {}).by(StickyAssignor{}) == Owners(3, no_member));
  CHECK(Assignment({3}, {}).by(RangeAssignor{}) == Owners(3, no_member));
  CHECK(Assignment({}, {{}, {}}).by(StickyAssignor{}).empty());
  CHECK(Assignment({}, {{}, {}}).by(RangeAssignor{}).empty());
  CHECK(Assignment({2}, {{}}).by(StickyAssignor{}) == Owners(2, no_member));
  CHECK(Assignment({2}, {{}}).by(RangeAssignor{}) == Owners(2, no_member));
}

TEST_CASE("Sticky shares out evenly, and only what has to move moves", "[group]") {
  CHECK(Assignment({5}, {{0}, {0}}).by(StickyAssignor{}) == Owners{0, 0, 0, 1, 1});
  // A third member joins: one partition each from the two that have more than their share.
  CHECK(Assignment({6}, {{0}, {0}, {0}}, {0, 0, 0, 1, 1, 1}).by(StickyAssignor{}) ==
        Owners{0, 0, 2, 1, 1, 2});
  // The owner of the last two has left: nothing else moves.
  CHECK(Assignment({6}, {{0}, {0}}, {0, 0, 1, 1, no_member, no_member}).by(StickyAssignor{}) ==
        Owners{0, 0, 1, 1, 0, 1});
  // Who has most keeps most.
  CHECK(Assignment({3}, {{0}, {0}}, {1, 1, 0}).by(StickyAssignor{}) == Owners{1, 1, 0});
}

TEST_CASE("Sticky evens out over several topics together", "[group]") {
  CHECK(Assignment({1, 1, 1, 1}, {{0, 1, 2, 3}, {0, 1, 2, 3}}).by(StickyAssignor{}) ==
        Owners{0, 0, 1, 1});
}

TEST_CASE("Sticky hands on along a chain where members want different topics", "[group]") {
  // 0 has two, of which 1 may take one if it gives one to 2.
  const Assignment chain({2, 1}, {{0}, {0, 1}, {1}}, {0, 0, 1});
  const Owners owners = chain.by(StickyAssignor{});
  CHECK(owners[2] == 2);
  CHECK(owners[0] + owners[1] == 1);
  // Nobody wants topic 1, and what nobody may take stays unbalanced.
  CHECK(Assignment({3, 1}, {{0}, {}}).by(StickyAssignor{}) == Owners{0, 0, 0, no_member});
  // It is taken from an owner that does not want it any more.
  CHECK(Assignment({1, 1}, {{1}, {0, 1}}, {0, 0}).by(StickyAssignor{}) == Owners{1, 0});
}

TEST_CASE("Range gives neighbours to members in the order of joining, topic by topic", "[group]") {
  CHECK(Assignment({5, 2}, {{0, 1}, {0}, {0, 1}}).by(RangeAssignor{}) ==
        Owners{0, 0, 1, 1, 2, 0, 2});
  CHECK(Assignment({2}, {{0}, {0}, {0}}).by(RangeAssignor{}) == Owners{0, 1});
  CHECK(Assignment({2, 2}, {{1}}, {0, 0, 0, 0}).by(RangeAssignor{}) ==
        Owners{no_member, no_member, 0, 0});
}

// ----------------------------------------------------------------------------------- any assignor

namespace {

/// Gives everything to one number, whatever it is asked.
struct Stubborn {
  std::uint32_t owner;
  void operator()(const brook::AssignmentInput&, std::span<std::uint32_t> owners) const {
    for (auto& one : owners) one = owner;
  }
  static constexpr std::string_view name() { return "stubborn"; }
};

void check(const AnyAssignor& assignor, const Assignment& assignment) {
  brook::detail::check_assignment(assignor, assignment.input(), assignment.by(assignor));
}
void check_refused(const AnyAssignor& assignor, const Assignment& assignment,
                   const std::string& why) {
  try {
    check(assignor, assignment);
    FAIL("not refused");
  } catch (const brook::InvalidArgument& error) {
    CHECK_THAT(error.what(), Catch::Contains("'stubborn'") && Catch::Contains(why));
  }
}

}  // namespace

TEST_CASE("Any assignor is sticky unless told otherwise, and is known by its name", "[group]") {
  CHECK(AnyAssignor{}.name() == "brook.sticky");
  CHECK(AnyAssignor{} == AnyAssignor{StickyAssignor{}});
  CHECK(AnyAssignor{} != AnyAssignor{RangeAssignor{}});
  CHECK(AnyAssignor{Stubborn{1}} == AnyAssignor{Stubborn{2}});
  const Assignment assignment({3}, {{0}, {0}});
  CHECK(assignment.by(AnyAssignor{RangeAssignor{}}) == assignment.by(RangeAssignor{}));
}

TEST_CASE("An answer that makes no sense is refused, with what is wrong", "[group]") {
  CHECK_NOTHROW(check(Stubborn{1}, Assignment({2}, {{0}, {0}})));
  CHECK_NOTHROW(check(Stubborn{no_member}, Assignment({2}, {{}})));
  check_refused(Stubborn{no_member}, Assignment({2}, {{0}}), "given to nobody");
  check_refused(Stubborn{2}, Assignment({2}, {{0}, {0}}), "there are 2, counted from 0");
  check_refused(Stubborn{1}, Assignment({1, 1}, {{0, 1}, {0}}),
                "partition 0 of topic number 1 was given to member number 1, which does not want");
}
