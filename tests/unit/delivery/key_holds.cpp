#include <brook/delivery/key_holds.hpp>

#include <cstdint>
#include <vector>

#include "support/catch.hpp"

using brook::Offset;
using brook::detail::KeyHolds;

namespace {

const auto all = [](Offset) { return true; };

/// Keys of offsets 100, 101, …
KeyHolds over(const std::vector<std::uint64_t>& hashes) {
  KeyHolds holds;
  holds.start(Offset{100});
  for (const std::uint64_t hash : hashes) holds.push(hash);
  return holds;
}

}  // namespace

TEST_CASE("a held key has the unsettled offsets of its window, in order", "[delivery]") {
  KeyHolds holds = over({7, 8, 7, 0, 7, 8});
  CHECK(holds.active());
  CHECK(holds.end() == Offset{106});
  CHECK(holds.find(7) == nullptr);
  const auto& queue = holds.make(7, [](Offset at) { return at != Offset{102}; });
  CHECK(queue.offsets == std::vector<Offset>{Offset{100}, Offset{104}});
  CHECK(holds.find(7) == &queue);
  CHECK(holds.find(8) == nullptr);
}

TEST_CASE("the queues of many keys are made in one pass, those that exist stay", "[delivery]") {
  KeyHolds holds = over({7, 8, 7, 0, 9, 8});
  holds.make(9, all).offsets.push_back(Offset{200});
  holds.make_all(
      std::vector<Offset>{Offset{100}, Offset{102}, Offset{103}, Offset{104}, Offset{105}},
      [](Offset at) { return at != Offset{101}; });
  CHECK(holds.find(7)->offsets == std::vector<Offset>{Offset{100}, Offset{102}});
  CHECK(holds.find(8)->offsets == std::vector<Offset>{Offset{105}});
  CHECK(holds.find(9)->offsets == std::vector<Offset>{Offset{104}, Offset{200}});
  CHECK(holds.find(KeyHolds::no_key) == nullptr);
  holds.make_all(std::vector<Offset>{Offset{100}}, all);
  CHECK(holds.find(7)->offsets.size() == 2);
}

TEST_CASE("keys are idle when nobody holds any", "[delivery]") {
  KeyHolds holds = over({7, 8});
  CHECK(holds.idle());
  auto& queue = holds.make(7, all);
  holds.add_holder(queue);
  holds.add_holder(queue);
  CHECK(queue.holders == 2);
  holds.remove_holder(queue);
  CHECK_FALSE(holds.idle());
  holds.remove_holder(queue);
  CHECK(holds.idle());
  holds.erase(7);
  CHECK(holds.find(7) == nullptr);
}

TEST_CASE("keys below the window are forgotten", "[delivery]") {
  KeyHolds holds = over({7, 7, 7});
  holds.drop_below(Offset{102});
  CHECK(holds.hash(Offset{101}) == KeyHolds::no_key);
  CHECK(holds.hash(Offset{102}) == 7);
  CHECK(holds.make(7, all).offsets == std::vector<Offset>{Offset{102}});
}

TEST_CASE("keys that are not tracked any more start anew", "[delivery]") {
  KeyHolds holds = over({7, 8});
  holds.add_holder(holds.make(7, all));
  holds.stop();
  CHECK_FALSE(holds.active());
  CHECK(holds.idle());
  holds.start(Offset{500});
  CHECK(holds.find(7) == nullptr);
  CHECK(holds.end() == Offset{500});
}
