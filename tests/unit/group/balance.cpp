#include <brook/group/balance.hpp>

#include <cstdint>
#include <map>
#include <vector>

#include "support/catch.hpp"

using brook::detail::Balance;
using Wishes = std::vector<std::vector<std::uint32_t>>;
using Held = std::map<std::uint32_t, std::uint32_t>;

namespace {

Held held(const Balance& balance) {
  Held list;
  balance.for_each([&](std::uint32_t partition, std::uint32_t member) {
    CHECK(list.emplace(partition, member).second);
  });
  return list;
}

}  // namespace

TEST_CASE("The poorest of those that want a topic gets a partition of it", "[group]") {
  const Wishes wishes{{0}, {0, 1}, {1}};
  Balance balance(wishes);
  balance.give(0, 0, 1);
  balance.give_to_poorest(1, 0);
  balance.give_to_poorest(2, 1);
  balance.give_to_poorest(3, 7);  // nobody wants it
  CHECK(held(balance) == Held{{0, 1}, {1, 0}, {2, 2}});
}

TEST_CASE("Of several partitions, one moves that gets home, or that is not at home", "[group]") {
  const Wishes wishes{{0}, {0}};
  const auto even_out = [&](const Held& homes) {
    Balance balance(wishes);
    for (std::uint32_t i = 0; i < 3; ++i) balance.give(i, 0, 0);
    balance.even_out([&](std::uint32_t partition) { return homes.at(partition); });
    return held(balance);
  };
  CHECK(even_out({{0, 0}, {1, 1}, {2, 9}}) == Held{{0, 0}, {1, 1}, {2, 0}});
  CHECK(even_out({{0, 9}, {1, 0}, {2, 0}}) == Held{{0, 1}, {1, 0}, {2, 0}});
  CHECK(even_out({{0, 0}, {1, 0}, {2, 0}}) == Held{{0, 0}, {1, 0}, {2, 1}});
}

TEST_CASE("Evening out goes along chains, and stops at a difference of one", "[group]") {
  const Wishes wishes{{0}, {0, 1}, {1}};
  Balance balance(wishes);
  balance.give(0, 0, 0);
  balance.give(1, 0, 0);
  balance.give(2, 1, 1);
  const auto home = [](std::uint32_t partition) { return partition < 2 ? 0U : 1U; };
  balance.even_out(home);
  CHECK(held(balance) == Held{{0, 0}, {1, 1}, {2, 2}});
  balance.even_out(home);
  CHECK(held(balance) == Held{{0, 0}, {1, 1}, {2, 2}});
}
