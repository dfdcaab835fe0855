#include <brook/core/reclaimer.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using brook::detail::Reclaimer;

TEST_CASE("Without readers, advancing twice frees what was unlinked", "[core]") {
  Reclaimer reclaimer;
  const std::uint64_t unlinked_in = reclaimer.epoch();
  CHECK_FALSE(reclaimer.can_free(unlinked_in));
  reclaimer.advance();
  CHECK_FALSE(reclaimer.can_free(unlinked_in));
  reclaimer.advance();
  CHECK(reclaimer.can_free(unlinked_in));
}

TEST_CASE("A reader that was there before the unlinking blocks it as long as it stays", "[core]") {
  Reclaimer reclaimer;
  std::optional<Reclaimer::Section> reader(std::in_place, reclaimer);
  const std::uint64_t unlinked_in = reclaimer.epoch();
  for (int i = 0; i < 10; ++i) reclaimer.advance();
  CHECK_FALSE(reclaimer.can_free(unlinked_in));
  reader.reset();
  reclaimer.advance();
  CHECK(reclaimer.can_free(unlinked_in));
}

TEST_CASE("A reader that came one epoch after the unlinking does not block it", "[core]") {
  Reclaimer reclaimer;
  const std::uint64_t unlinked_in = reclaimer.epoch();
  reclaimer.advance();
  const Reclaimer::Section reader(reclaimer);
  reclaimer.advance();
  CHECK(reclaimer.can_free(unlinked_in));
}

TEST_CASE("The epoch passes at most one beyond that of the oldest reader", "[core]") {
  Reclaimer reclaimer;
  std::optional<Reclaimer::Section> old(std::in_place, reclaimer);
  const std::uint64_t entered = reclaimer.epoch();
  reclaimer.advance();
  const Reclaimer::Section young(reclaimer);
  for (int i = 0; i < 10; ++i) reclaimer.advance();
  CHECK(reclaimer.epoch() == entered + 1);
  old.reset();
  reclaimer.advance();
  CHECK(reclaimer.epoch() == entered + 2);
}

TEST_CASE("Readers may overlap and nest", "[core]") {
  Reclaimer reclaimer;
  std::optional<Reclaimer::Section> outer(std::in_place, reclaimer);
  const std::uint64_t unlinked_in = reclaimer.epoch();
  {
    const Reclaimer::Section inner(reclaimer);
    const Reclaimer::Section another(reclaimer);
  }
  reclaimer.advance();
  reclaimer.advance();
  CHECK_FALSE(reclaimer.can_free(unlinked_in));
  outer.reset();
  reclaimer.advance();
  CHECK(reclaimer.can_free(unlinked_in));
}

TEST_CASE("No reader ever finds what was freed", "[core]") {
  // One pointer, replaced again and again; what was taken away is poisoned when it may be freed.
  struct Node {
    std::atomic<bool> alive{true};
  };
  struct Retired {
    Node* node;
    std::uint64_t unlinked_in;
  };
  Reclaimer reclaimer;
  std::deque<Node> nodes(3'000);
  std::atomic<Node*> current{&nodes[0]};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> dead_seen{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 3; ++t) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        const Reclaimer::Section section(reclaimer);
        const Node* const node = current.load();
        for (int i = 0; i < 5; ++i) {
          if (!node->alive.load(std::memory_order_relaxed)) dead_seen.fetch_add(1);
        }
      }
    });
  }
  std::deque<Retired> retired;
  std::uint64_t freed = 0;
  for (std::size_t next = 1; next < nodes.size(); ++next) {
    Node* const old = current.exchange(&nodes[next]);
    retired.push_back({old, reclaimer.epoch()});
    reclaimer.advance();
    while (!retired.empty() && reclaimer.can_free(retired.front().unlinked_in)) {
      retired.front().node->alive.store(false, std::memory_order_relaxed);
      retired.pop_front();
      ++freed;
    }
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  CHECK(dead_seen.load() == 0);
  reclaimer.advance();
  reclaimer.advance();
  CHECK(reclaimer.can_free(retired.back().unlinked_in));
  CHECK(freed + retired.size() == nodes.size() - 1);
}
