#include <brook/topic/probe_table.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using brook::detail::IdTable;

namespace {

std::uint32_t look(const IdTable& table, std::uint64_t hash, std::uint32_t id) {
  return table.find(hash, [id](std::uint32_t one) { return one == id; });
}

}  // namespace

TEST_CASE("an id is found by its hash among others of the same hash", "[topic]") {
  IdTable table;
  CHECK(look(table, 7, 0) == IdTable::none);
  table.reserve(20);
  for (std::uint32_t id = 0; id < 20; ++id) table.insert(std::uint64_t{id % 2} << 63, id);
  for (std::uint32_t id = 0; id < 20; ++id) {
    CHECK(look(table, std::uint64_t{id % 2} << 63, id) == id);
    CHECK(look(table, std::uint64_t{(id + 1) % 2} << 63, id) == IdTable::none);
  }
  table.rename(0, 4, 100);
  CHECK(look(table, 0, 4) == IdTable::none);
  CHECK(look(table, 0, 100) == 100);
}

TEST_CASE("random inserts and erases leave what a map would hold", "[topic]") {
  // Few distinct hashes, at both ends: long runs, around the end of the table as well.
  support::for_each_seed("unit/topic/probe_table", 50, [](std::uint64_t seed) {
    support::Random random(seed);
    IdTable table;
    std::map<std::uint32_t, std::uint64_t> model;
    for (std::uint32_t step = 0; step < 600; ++step) {
      if (model.empty() || random.chance(step < 300 ? 70 : 30)) {
        const std::uint64_t hash = random.chance(50) ? ~random.below(1'000) : random.next();
        table.reserve(1);
        table.insert(hash, step);
        model.emplace(step, hash);
      } else {
        auto gone = model.lower_bound(static_cast<std::uint32_t>(random.below(step)));
        if (gone == model.end()) gone = model.begin();
        table.erase(gone->second, gone->first);
        CHECK(look(table, gone->second, gone->first) == IdTable::none);
        model.erase(gone);
      }
      REQUIRE(table.size() == model.size());
      for (const auto& [id, hash] : model) REQUIRE(look(table, hash, id) == id);
    }
    for (const auto& [id, hash] : model) table.erase(hash, id);
    CHECK(table.memory_use() == 0);
  });
}

TEST_CASE("after room was made, inserting takes no memory", "[topic]") {
  IdTable table;
  for (const std::size_t more : {std::size_t{1}, std::size_t{7}, std::size_t{100}}) {
    table.reserve(more);
    const support::CountAllocations allocations;
    for (std::size_t i = 0; i < more; ++i) {
      const auto id = static_cast<std::uint32_t>(table.size());
      table.insert(std::uint64_t{id} * 0x9e37'79b9'7f4a'7c15, id);
    }
    CHECK(allocations.count() == 0);
  }
}

TEST_CASE("a table that cannot grow stays as it is", "[topic]") {
  IdTable table;
  table.reserve(4);
  for (std::uint32_t id = 0; id < 4; ++id) table.insert(std::uint64_t{id} << 40, id);
  {
    const support::FailAllocationsAfter fail(0);
    CHECK_THROWS_AS(table.reserve(1'000), std::bad_alloc);
  }
  CHECK(table.size() == 4);
  for (std::uint32_t id = 0; id < 4; ++id) CHECK(look(table, std::uint64_t{id} << 40, id) == id);
}

TEST_CASE("a table gives memory back as it empties, and keeps it if it cannot", "[topic]") {
  IdTable table;
  const auto hash = [](std::uint32_t id) { return id * 0x9e37'79b9'7f4a'7c15; };
  table.reserve(10'000);
  for (std::uint32_t id = 0; id < 10'000; ++id) table.insert(hash(id), id);
  const std::size_t full = table.memory_use();
  for (std::uint32_t id = 100; id < 10'000; ++id) table.erase(hash(id), id);
  CHECK(table.memory_use() < full / 8);
  const support::FailAllocationsAfter fail(0);
  for (std::uint32_t id = 1; id < 100; ++id) table.erase(hash(id), id);
  CHECK(look(table, hash(0), 0) == 0);
}
