#include <brook/core/mutex.hpp>

#include <cstdint>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using brook::detail::Mutex;
using brook::detail::MutexLock;

namespace {

static_assert(!std::is_copy_constructible_v<MutexLock>);
static_assert(!std::is_copy_constructible_v<Mutex>);

class Counter {
 public:
  void add() BROOK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    ++value_;
  }
  std::uint64_t value() BROOK_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  Mutex mutex_;
  std::uint64_t value_ BROOK_GUARDED_BY(mutex_) = 0;
};

bool is_free(Mutex& mutex) {
  bool free = false;
  std::thread([&] {
    free = mutex.native().try_lock();
    if (free) mutex.native().unlock();
  }).join();
  return free;
}

}  // namespace

TEST_CASE("A lock holds its mutex for exactly its scope", "[core]") {
  Mutex mutex;
  CHECK(is_free(mutex));
  {
    const MutexLock lock(mutex);
    CHECK_FALSE(is_free(mutex));
  }
  CHECK(is_free(mutex));
}

TEST_CASE("A mutex lets one thread in at a time", "[core]") {
  Counter counter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2'000; ++i) counter.add();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(counter.value() == 8'000);
}
