// The sticky assignor against every assignment that there is, for small groups.

#include <brook/group/assignor.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "support/assignment.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

namespace {

using brook::no_member;
using support::Owners;
using support::Random;

struct Question {
  std::vector<std::uint32_t> counts{};
  std::vector<std::vector<std::uint32_t>> members{};
  Owners owners{};  ///< At present.
  std::vector<std::uint32_t> topic_of{};

  [[nodiscard]] bool wants(std::uint32_t member, std::size_t partition) const {
    const auto& topics = members[member];
    return std::binary_search(topics.begin(), topics.end(), topic_of[partition]);
  }
  [[nodiscard]] bool all_alike() const {
    return std::all_of(members.begin(), members.end(),
                       [&](const auto& topics) { return topics == members.front(); });
  }
  [[nodiscard]] support::Assignment ask() const { return {counts, members, owners}; }
};

Question random_question(Random& random, std::uint64_t most_members, std::uint64_t most_topics,
                         std::uint64_t most_partitions, bool alike) {
  Question question;
  const std::uint64_t topics = random.between(1, most_topics);
  for (std::uint32_t topic = 0; topic < topics; ++topic) {
    const std::uint64_t room = most_partitions - question.topic_of.size();
    question.counts.push_back(
        static_cast<std::uint32_t>(random.between(0, std::min<std::uint64_t>(room, 4))));
    question.topic_of.insert(question.topic_of.end(), question.counts.back(), topic);
  }
  const std::uint64_t members = random.between(1, most_members);
  for (std::uint64_t i = 0; i < members; ++i) {
    question.members.emplace_back();
    for (std::uint32_t topic = 0; topic < topics; ++topic) {
      if (alike || random.chance(60)) question.members.back().push_back(topic);
    }
  }
  for (std::size_t i = 0; i < question.topic_of.size(); ++i) {
    const auto owner = static_cast<std::uint32_t>(random.below(members + 1));
    question.owners.push_back(owner == members ? no_member : owner);
  }
  return question;
}

/// How uneven an assignment is, then how many owners it changes: less is better.
using Cost = std::pair<std::uint64_t, std::uint64_t>;
Cost cost(const Question& question, const Owners& owners) {
  std::vector<std::uint64_t> load(question.members.size(), 0);
  Cost sum{0, 0};
  for (std::size_t i = 0; i < owners.size(); ++i) {
    if (owners[i] == no_member) continue;
    ++load[owners[i]];
    if (question.owners[i] != no_member && question.owners[i] != owners[i]) ++sum.second;
  }
  for (const std::uint64_t count : load) sum.first += count * count;
  return sum;
}
/// The best of all assignments.
void try_all(const Question& question, Owners& owners, std::size_t at, Cost& best) {
  if (at == owners.size()) {
    best = std::min(best, cost(question, owners));
    return;
  }
  bool wanted = false;
  for (std::uint32_t member = 0; member < question.members.size(); ++member) {
    if (!question.wants(member, at)) continue;
    wanted = true;
    owners[at] = member;
    try_all(question, owners, at + 1, best);
  }
  if (wanted) return;
  owners[at] = no_member;
  try_all(question, owners, at + 1, best);
}
Cost best_cost(const Question& question) {
  Owners owners(question.topic_of.size(), no_member);
  Cost best{~std::uint64_t{0}, 0};
  try_all(question, owners, 0, best);
  return best;
}

Owners checked(const Question& question, const brook::AnyAssignor& assignor) {
  const support::Assignment ask = question.ask();
  Owners owners = ask.by(assignor);
  brook::detail::check_assignment(assignor, ask.input(), owners);
  CHECK(ask.by(assignor) == owners);  // the same again
  return owners;
}

}  // namespace

TEST_CASE("Sticky is as even as can be, with the fewest moves where all want the same",
          "[group][model]") {
  support::for_each_seed("sticky by brute force", 4'000, [](std::uint64_t seed) {
    Random random(seed);
    const bool alike = random.chance(50);
    const Question question = random_question(random, 4, 3, 6, alike);
    const Cost best = best_cost(question);
    const Cost is = cost(question, checked(question, brook::StickyAssignor{}));
    CHECK(is.first == best.first);
    if (question.all_alike()) CHECK(is.second == best.second);
  });
}

TEST_CASE("Sticky is balanced within one and settles at once, for larger groups",
          "[group][model]") {
  support::for_each_seed("sticky in large", 200, [](std::uint64_t seed) {
    Random random(seed);
    Question question = random_question(random, 40, 80, 320, random.chance(50));
    const Owners owners = checked(question, brook::StickyAssignor{});
    if (question.all_alike()) {
      std::vector<std::uint64_t> load(question.members.size(), 0);
      for (const std::uint32_t owner : owners) {
        if (owner != no_member) ++load[owner];
      }
      CHECK(*std::max_element(load.begin(), load.end()) <=
            *std::min_element(load.begin(), load.end()) + 1);
    }
    // Asked again with its own answer, it moves nothing.
    question.owners = owners;
    CHECK(checked(question, brook::StickyAssignor{}) == owners);
  });
}

TEST_CASE("Range answers every question", "[group][model]") {
  support::for_each_seed("range", 500, [](std::uint64_t seed) {
    Random random(seed);
    checked(random_question(random, 10, 10, 40, random.chance(50)), brook::RangeAssignor{});
  });
}
