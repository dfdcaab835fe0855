#include <brook/storage/segment_pool.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/allocations.hpp"
#include "support/catch.hpp"

using brook::SegmentPool;

namespace {

static_assert(!std::is_copy_constructible_v<SegmentPool>);
static_assert(!std::is_move_constructible_v<SegmentPool>);

constexpr std::size_t kib = 1024;

}  // namespace

TEST_CASE("A pool gives out aligned memory of the asked size", "[storage]") {
  SegmentPool pool;
  for (const std::size_t size : {4 * kib, 8 * kib, 1024 * kib, 12 * kib, 3 * 1024 * kib}) {
    void* const memory = pool.take(size);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % SegmentPool::alignment == 0);
    std::memset(memory, 0x5a, size);
    pool.give_back(memory, size);
  }
}

TEST_CASE("Memory that was given back is given out again, to who asks for that size", "[storage]") {
  SegmentPool pool;
  void* const small = pool.take(4 * kib);
  void* const large = pool.take(64 * kib);
  pool.give_back(small, 4 * kib);
  pool.give_back(large, 64 * kib);
  CHECK(pool.idle_bytes() == 68 * kib);
  const support::CountAllocations allocations;
  CHECK(pool.take(64 * kib) == large);
  CHECK(pool.take(4 * kib) == small);
  CHECK(allocations.count() == 0);
  CHECK(pool.idle_bytes() == 0);
  void* const fresh = pool.take(4 * kib);
  CHECK(allocations.count() == 1);
  CHECK(fresh != small);
  for (void* const memory : {small, fresh}) pool.give_back(memory, 4 * kib);
  pool.give_back(large, 64 * kib);
}

TEST_CASE("A pool keeps no more than it is told", "[storage]") {
  SegmentPool pool(20 * kib);
  std::vector<void*> memory;
  for (int i = 0; i < 10; ++i) memory.push_back(pool.take(4 * kib));
  for (void* const block : memory) pool.give_back(block, 4 * kib);
  CHECK(pool.idle_bytes() == 20 * kib);
  std::set<void*> again;
  for (int i = 0; i < 10; ++i) again.insert(pool.take(4 * kib));
  CHECK(again.size() == 10);
  CHECK(pool.idle_bytes() == 0);
  for (void* const block : again) pool.give_back(block, 4 * kib);
}

TEST_CASE("A pool that may keep nothing keeps nothing", "[storage]") {
  SegmentPool pool(0);
  pool.give_back(pool.take(4 * kib), 4 * kib);
  CHECK(pool.idle_bytes() == 0);
}

TEST_CASE("Memory of unusual sizes goes back to the system", "[storage]") {
  SegmentPool pool;
  for (const std::size_t size : {2 * kib, 12 * kib, 2 * 1024 * kib, 4 * kib + 64}) {
    pool.give_back(pool.take(size), size);
    CHECK(pool.idle_bytes() == 0);
  }
}

TEST_CASE("A pool that has no memory says so and can be used on", "[storage]") {
  SegmentPool pool;
  {
    const support::FailAllocationsAfter fail(0);
    bool failed = false;
    try {
      static_cast<void>(pool.take(4 * kib));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    CHECK(failed);
  }
  pool.give_back(pool.take(4 * kib), 4 * kib);
  const support::FailAllocationsAfter fail(0);
  void* const memory = pool.take(4 * kib);
  CHECK(memory != nullptr);
  pool.give_back(memory, 4 * kib);
}

TEST_CASE("No two threads have the same memory at once", "[storage]") {
  SegmentPool pool(64 * kib);
  std::atomic<int> shared{0};
  std::vector<std::thread> threads;
  for (unsigned t = 1; t <= 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 1'000; ++i) {
        const std::size_t size = (i % 3 == 0 ? 8 : 4) * kib;
        auto* const memory = static_cast<unsigned char*>(pool.take(size));
        std::memset(memory, static_cast<int>(t), size);
        for (std::size_t at = 0; at < size; at += 512) {
          if (memory[at] != t) shared.fetch_add(1);
        }
        pool.give_back(memory, size);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(shared.load() == 0);
  CHECK(pool.idle_bytes() <= 64 * kib);
}

TEST_CASE("One thread may give back what another one took", "[storage]") {
  SegmentPool pool;
  std::vector<void*> memory;
  for (int i = 0; i < 100; ++i) memory.push_back(pool.take(4 * kib));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < memory.size(); i += 2) pool.give_back(memory[i], 4 * kib);
    });
  }
  std::set<void*> taken;
  for (int i = 0; i < 50; ++i) taken.insert(pool.take(4 * kib));
  for (std::thread& thread : threads) thread.join();
  CHECK(taken.size() == 50);
  for (void* const block : taken) pool.give_back(block, 4 * kib);
}
