#include <brook/topic/subscriber_lists.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using Lists = brook::detail::SubscriberLists<int>;
using Pairs = std::set<std::pair<std::uint32_t, int>>;

namespace {

Pairs content(const Lists& lists, Lists::ListId list) {
  Pairs pairs;
  for (const auto& entry : lists.entries(list)) {
    CHECK(pairs.emplace(entry.pattern(), entry.value()).second);
  }
  return pairs;
}

}  // namespace

TEST_CASE("a list of one subscriber is its place, and takes no more than its entry", "[topic]") {
  Lists lists;
  const support::CountAllocations allocations;
  std::vector<Lists::ListId> ids;
  for (int i = 0; i < 1'000; ++i) {
    ids.push_back(lists.add(Lists::none, static_cast<std::uint32_t>(i), int{i}));
  }
  CHECK(allocations.count() < 40);
  CHECK(lists.memory_use() <= 1'300 * 8);
  for (int i = 0; i < 1'000; ++i) {
    const Lists::ListId id = ids[static_cast<std::size_t>(i)];
    CHECK(content(lists, id) == Pairs{{static_cast<std::uint32_t>(i), i}});
    CHECK(lists.remove(id, static_cast<std::uint32_t>(i), i) == Lists::none);
  }
  CHECK(lists.add(Lists::none, 7, 7) == ids.back());
}

TEST_CASE("random changes leave what a set would hold", "[topic]") {
  support::for_each_seed("unit/topic/subscriber_lists", 20, [](std::uint64_t seed) {
    support::Random random(seed);
    Lists lists;
    std::vector<Lists::ListId> ids(3, Lists::none);
    std::vector<Pairs> models(3);
    for (int step = 0; step < 1'500; ++step) {
      const std::size_t at = random.below(3);
      const auto pattern = static_cast<std::uint32_t>(random.below(at + 1));
      const int value = static_cast<int>(random.below(60));
      if (random.chance(2)) {
        ids[at] = lists.remove_all(ids[at], pattern);
        std::erase_if(models[at], [&](const auto& pair) { return pair.first == pattern; });
      } else if (random.chance(step / 300 % 2 == 0 ? 75 : 25)) {
        REQUIRE(lists.contains(ids[at], pattern, value) == models[at].contains({pattern, value}));
        if (!models[at].emplace(pattern, value).second) continue;
        ids[at] = lists.add(ids[at], pattern, int{value});
      } else {
        ids[at] = lists.remove(ids[at], pattern, value);
        models[at].erase({pattern, value});
      }
      REQUIRE(content(lists, ids[at]) == models[at]);
      REQUIRE((ids[at] == Lists::none) == models[at].empty());
    }
    std::size_t visits = 0;
    lists.for_each([&](const auto&) { ++visits; });
    CHECK(visits == models[0].size() + models[1].size() + models[2].size());
  });
}

TEST_CASE("lists can be taken over with other ids for their patterns", "[topic]") {
  Lists lists;
  Lists::ListId many = Lists::none;
  for (int i = 0; i < 100; ++i) many = lists.add(many, 5, int{i});
  const Lists::ListId single = lists.add(Lists::none, 9, 1);
  std::vector<std::uint32_t> ids(10);
  ids[5] = 0;
  ids[9] = 1;
  Lists packed;
  packed.reserve_for(lists);
  const support::FailAllocationsAfter fail(0);
  const Lists::ListId new_many = packed.take(lists, many, ids);
  const Lists::ListId new_single = packed.take(lists, single, ids);
  CHECK(packed.contains(new_single, 1, 1));
  CHECK(packed.entries(new_many).size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(packed.contains(new_many, 0, i));
  CHECK_FALSE(packed.contains(new_many, 5, 1));
}

TEST_CASE("only a list that had several patterns may have a value twice", "[topic]") {
  Lists lists;
  Lists::ListId list = lists.add(Lists::none, 1, 7);
  CHECK_FALSE(lists.may_repeat(list));
  list = lists.add(list, 1, 8);
  CHECK_FALSE(lists.may_repeat(list));
  list = lists.add(list, 2, 7);
  CHECK(lists.may_repeat(list));
  CHECK_FALSE(lists.may_repeat(Lists::none));
}

TEST_CASE("an add that runs out of memory leaves its list as it was", "[topic]") {
  for (std::uint64_t successes = 0; successes < 4; ++successes) {
    Lists lists;
    Lists::ListId list = Lists::none;
    Pairs model;
    for (int i = 0; i < 40; ++i) {
      try {
        const support::FailAllocationsAfter fail(successes);
        list = lists.add(list, 3, int{i});
      } catch (const std::bad_alloc&) {
        continue;
      }
      model.emplace(3, i);
    }
    CHECK(content(lists, list) == model);
    for (const auto& [pattern, value] : model) CHECK(lists.contains(list, pattern, value));
  }
}

TEST_CASE("a subscriber's value lives as long as its place is taken", "[topic]") {
  using Subscriber = brook::detail::Subscriber<std::shared_ptr<int>>;
  auto value = std::make_shared<int>(1);
  {
    Subscriber first(3, std::shared_ptr<int>(value));
    CHECK(value.use_count() == 2);
    Subscriber second(std::move(first));
    CHECK(second.pattern() == 3);
    CHECK(second.value() == value);
    CHECK(value.use_count() == 2);
    second = Subscriber(8U);
    CHECK(second.is_free());
    CHECK(second.next_free() == 8);
    CHECK(value.use_count() == 1);
    first = std::move(second);
    CHECK(first.is_free());
  }
  CHECK(value.use_count() == 1);
}
