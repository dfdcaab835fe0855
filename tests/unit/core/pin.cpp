#include <brook/core/pin.hpp>

#include <atomic>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::Pin;
using brook::Pinned;

namespace {

static_assert(!std::is_copy_constructible_v<Pinned>);
static_assert(std::is_nothrow_copy_constructible_v<Pin>);
static_assert(std::is_nothrow_move_constructible_v<Pin>);
static_assert(std::is_nothrow_copy_assignable_v<Pin>);
static_assert(sizeof(Pin) == sizeof(void*));

/// Counts how often it was given back, and does not go away, so that once too often would be seen.
class Witness final : public Pinned {
 public:
  ~Witness() override = default;
  int unpinned_count() const { return count_.load(); }

 private:
  void unpinned() noexcept override { count_.fetch_add(1); }
  std::atomic<int> count_{0};
};

}  // namespace

TEST_CASE("An empty pin holds nothing", "[core]") {
  const Pin empty;
  const Pin copy = empty;
  CHECK(empty.get() == nullptr);
  CHECK_FALSE(empty);
  CHECK_FALSE(copy);
}

TEST_CASE("A pin takes over the reference of the maker", "[core]") {
  Witness witness;
  {
    const Pin pin(&witness);
    CHECK(pin);
    CHECK(pin.get() == &witness);
    CHECK(witness.unpinned_count() == 0);
  }
  CHECK(witness.unpinned_count() == 1);
}

TEST_CASE("What is pinned is given back with the last pin, exactly once", "[core]") {
  Witness witness;
  Pin first(&witness);
  {
    const Pin copy = first;
    Pin assigned;
    assigned = copy;
    first = Pin();
    CHECK(witness.unpinned_count() == 0);
    CHECK(assigned.get() == &witness);
  }
  CHECK(witness.unpinned_count() == 1);
}

TEST_CASE("A moved pin leaves nothing behind", "[core]") {
  Witness witness;
  Pin source(&witness);
  Pin target = std::move(source);
  CHECK(target.get() == &witness);
  source = Pin();
  CHECK(witness.unpinned_count() == 0);
  target = Pin();
  CHECK(witness.unpinned_count() == 1);
}

TEST_CASE("Assigning a pin drops what it held", "[core]") {
  Witness first;
  Witness second;
  Pin pin(&first);
  pin = Pin(&second);
  CHECK(first.unpinned_count() == 1);
  CHECK(second.unpinned_count() == 0);
  const Pin& same = pin;
  pin = same;
  CHECK(second.unpinned_count() == 0);
  CHECK(pin.get() == &second);
}

TEST_CASE("References can be taken and released without a pin", "[core]") {
  Witness witness;
  witness.acquire();
  witness.release();
  CHECK(witness.unpinned_count() == 0);
  witness.release();
  CHECK(witness.unpinned_count() == 1);
}

TEST_CASE("Threads that copy and drop pins give back what is pinned exactly once", "[core]") {
  for (int round = 0; round < 50; ++round) {
    Witness witness;
    {
      std::vector<std::thread> threads;
      Pin pin(&witness);
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back([mine = pin] {
          Pin last = mine;
          for (int i = 0; i < 100; ++i) {
            Pin copy = last;
            last = std::move(copy);
          }
        });
      }
      pin = Pin();
      for (std::thread& thread : threads) thread.join();
    }
    REQUIRE(witness.unpinned_count() == 1);
  }
}
