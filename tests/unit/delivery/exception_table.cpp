#include <brook/delivery/exception_table.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "support/catch.hpp"

using brook::Instant;
using brook::Offset;
using brook::detail::ExceptionTable;
using brook::detail::LeaseEntry;
using State = LeaseEntry::State;

namespace {

using Offsets = std::vector<std::uint64_t>;

Instant at(std::int64_t nanoseconds) {
  return Instant{std::chrono::nanoseconds{nanoseconds}};
}

Offsets plain(const ExceptionTable& table, std::uint64_t first, std::uint64_t last) {
  Offsets all;
  table.for_each_plain(Offset{first}, Offset{last},
                       [&](Offset offset) { all.push_back(offset.value()); });
  return all;
}
Offsets special(const ExceptionTable& table) {
  Offsets all;
  table.for_each([&](Offset offset, const LeaseEntry&) { all.push_back(offset.value()); });
  return all;
}

}  // namespace

TEST_CASE("the parts of an entry do not touch each other", "[delivery]") {
  static_assert(sizeof(LeaseEntry) == 16);
  LeaseEntry entry;
  for (const State state : {State::leased, State::pending, State::blocked, State::dead_lettering}) {
    for (const bool ackable : {false, true}) {
      for (const bool holds : {false, true}) {
        entry.set_state(state);
        entry.set_ackable(ackable);
        entry.set_holds_key(holds);
        entry.charge();
        CHECK(entry.state() == state);
        CHECK(entry.ackable() == ackable);
        CHECK(entry.holds_key() == holds);
      }
    }
  }
  CHECK(entry.charged() == 16);
}

TEST_CASE("an entry stops counting failures before it would forget them", "[delivery]") {
  LeaseEntry entry;
  entry.set_state(State::blocked);
  for (std::uint32_t i = 0; i < 0x100'0005; ++i) entry.charge();
  CHECK(entry.charged() == 0xff'ffff);
  CHECK(entry.state() == State::blocked);
}

TEST_CASE("entries are found again, whatever the order in which they came", "[delivery]") {
  ExceptionTable table;
  CHECK(table.empty());
  CHECK(table.find(Offset{5}) == nullptr);
  const Offsets order{130, 129, 192, 64, 127, 128, 63, 200, 0};
  for (const std::uint64_t offset : order)
    table.insert(Offset{offset}).attempt = static_cast<std::uint32_t>(offset);
  for (const std::uint64_t offset : order) {
    REQUIRE(table.find(Offset{offset}) != nullptr);
    CHECK(table.find(Offset{offset})->attempt == offset);
    CHECK(&table.insert(Offset{offset}) == table.find(Offset{offset}));
  }
  CHECK(special(table) == Offsets{0, 63, 64, 127, 128, 129, 130, 192, 200});
  table.erase(Offset{128});
  table.erase(Offset{128});
  table.erase(Offset{1'000'000});
  CHECK(table.find(Offset{128}) == nullptr);
  CHECK(table.find(Offset{129})->attempt == 129);
  CHECK(table.find(Offset{127})->attempt == 127);
}

TEST_CASE("what is settled has no entry any more", "[delivery]") {
  ExceptionTable table;
  table.insert(Offset{70});
  table.insert(Offset{71}).attempt = 71;
  table.settle(Offset{70});
  table.settle(Offset{5});
  CHECK(table.settled(Offset{70}));
  CHECK(table.settled(Offset{5}));
  CHECK_FALSE(table.settled(Offset{71}));
  CHECK_FALSE(table.settled(Offset{6}));
  CHECK(table.find(Offset{70}) == nullptr);
  CHECK(table.find(Offset{71})->attempt == 71);
}

TEST_CASE("plain offsets are those that are neither settled nor special", "[delivery]") {
  ExceptionTable table;
  CHECK(plain(table, 62, 66) == Offsets{62, 63, 64, 65});
  table.insert(Offset{63});
  table.settle(Offset{65});
  CHECK(plain(table, 62, 67) == Offsets{62, 64, 66});
  CHECK(plain(table, 63, 64).empty());
  CHECK(plain(table, 10, 10).empty());
  CHECK(table.any_plain(Offset{62}, Offset{64}));
  CHECK_FALSE(table.any_plain(Offset{63}, Offset{64}));
  CHECK_FALSE(table.any_plain(Offset{65}, Offset{66}));
  CHECK_FALSE(table.any_plain(Offset{65}, Offset{65}));
  CHECK(table.any_plain(Offset{1000}, Offset{1001}));
}

TEST_CASE("settle_plain leaves entries alone and counts what it settled", "[delivery]") {
  ExceptionTable table;
  table.insert(Offset{100});
  table.settle(Offset{101});
  CHECK(table.settle_plain(Offset{60}, Offset{200}) == 138);
  CHECK(table.settle_plain(Offset{60}, Offset{200}) == 0);
  CHECK(table.find(Offset{100}) != nullptr);
  CHECK_FALSE(table.settled(Offset{59}));
  CHECK(table.settled(Offset{60}));
  CHECK(table.settled(Offset{199}));
  CHECK_FALSE(table.settled(Offset{200}));
}

TEST_CASE("a visit of plain offsets may insert entries", "[delivery]") {
  ExceptionTable table;
  table.for_each_plain(Offset{0}, Offset{200}, [&](Offset offset) { table.insert(offset); });
  CHECK(special(table).size() == 200);
}

TEST_CASE("only entries whose time may have come are looked at", "[delivery]") {
  ExceptionTable table;
  for (const std::uint64_t offset : {3U, 70U, 140U}) {
    table.insert(Offset{offset}).time = at(static_cast<std::int64_t>(offset));
    table.schedule(Offset{offset}, at(static_cast<std::int64_t>(offset)));
  }
  Offsets visited;
  const auto visit = [&](Offset offset, LeaseEntry& entry) {
    visited.push_back(offset.value());
    return entry.time;
  };
  auto times = table.for_each_due(at(2), visit);
  CHECK(visited.empty());
  CHECK(times.visited == Instant::max());
  CHECK(times.others == at(3));
  times = table.for_each_due(at(70), visit);
  CHECK(visited == Offsets{3, 70});
  CHECK(times.visited == at(3));
  CHECK(times.others == at(140));
  // What has nothing to do any more is not looked at again until it is scheduled.
  table.for_each_due(at(70), [](Offset, LeaseEntry&) { return Instant::max(); });
  visited.clear();
  table.for_each_due(at(139), visit);
  CHECK(visited.empty());
  table.schedule(Offset{70}, at(100));
  table.for_each_due(at(139), visit);
  CHECK(visited == Offsets{70});
}

TEST_CASE("advance goes to the first offset that is not settled", "[delivery]") {
  ExceptionTable table;
  CHECK(table.advance(Offset{7}, Offset{9}) == Offset{7});
  for (std::uint64_t offset = 7; offset < 300; ++offset) table.settle(Offset{offset});
  table.insert(Offset{300});
  CHECK(table.advance(Offset{7}, Offset{250}) == Offset{250});
  CHECK(table.advance(Offset{250}, Offset{400}) == Offset{300});
  CHECK(table.find(Offset{300}) != nullptr);
  table.settle(Offset{300});
  for (std::uint64_t offset = 301; offset < 320; ++offset) table.settle(Offset{offset});
  CHECK(table.advance(Offset{300}, Offset{320}) == Offset{320});
  CHECK(table.advance(Offset{320}, Offset{320}) == Offset{320});
}

TEST_CASE("blocks below an offset are forgotten, those above stay", "[delivery]") {
  ExceptionTable table;
  table.insert(Offset{10});
  table.insert(Offset{100});
  table.insert(Offset{1000}).attempt = 9;
  table.drop_below(Offset{128});
  CHECK(special(table) == Offsets{1000});
  table.insert(Offset{130});
  CHECK(table.find(Offset{1000})->attempt == 9);
  table.drop_below(Offset{100'000});
  CHECK(table.empty());
  table.insert(Offset{50});
  CHECK(special(table) == Offsets{50});
}

TEST_CASE("an exception table is a map and a set", "[delivery]") {
  std::mt19937_64 random(4711);
  ExceptionTable table;
  std::map<std::uint64_t, std::uint32_t> entries;
  std::set<std::uint64_t> settled;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    const std::uint64_t offset = 500 + random() % 400;
    const std::uint64_t kind = random() % 10;
    if (kind < 5 && !settled.contains(offset)) {
      table.insert(Offset{offset}).attempt = step;
      entries[offset] = step;
    } else if (kind < 7) {
      table.erase(Offset{offset});
      entries.erase(offset);
    } else if (kind == 7 && step % 5 == 0) {
      table.settle(Offset{offset});
      settled.insert(offset);
      entries.erase(offset);
    }
    const std::uint64_t asked = 450 + random() % 500;
    const auto found = entries.find(asked);
    const LeaseEntry* const entry = table.find(Offset{asked});
    REQUIRE((entry != nullptr) == (found != entries.end()));
    if (entry != nullptr) REQUIRE(entry->attempt == found->second);
    REQUIRE(table.settled(Offset{asked}) == settled.contains(asked));
  }
}
