#include <brook/core/config.hpp>

#include <mutex>
#include <string>

#include "support/catch.hpp"

namespace {

// Every macro in the place it is for. Compilers that cannot check it must see an ordinary class.
class BROOK_CAPABILITY("mutex") Lockable {
 public:
  void lock() BROOK_ACQUIRE() { mutex_.lock(); }
  void unlock() BROOK_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class BROOK_SCOPED_CAPABILITY Lock {
 public:
  explicit Lock(Lockable& lockable) BROOK_ACQUIRE(lockable) : lockable_(lockable) {
    lockable_.lock();
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() BROOK_RELEASE() { lockable_.unlock(); }

 private:
  Lockable& lockable_;
};

class Counter {
 public:
  int add(int count) BROOK_EXCLUDES(lockable_) {
    const Lock lock(lockable_);
    return add_locked(count);
  }
  int unlocked() const BROOK_NO_THREAD_SAFETY_ANALYSIS { return value_; }

 private:
  int add_locked(int count) BROOK_REQUIRES(lockable_) { return value_ += count; }

  Lockable lockable_;
  int value_ BROOK_GUARDED_BY(lockable_) = 0;
};

const std::string& same(const std::string& text BROOK_LIFETIMEBOUND) {
  return text;
}

}  // namespace

TEST_CASE("The macros change nothing of what a program does", "[core]") {
  Counter counter;
  CHECK(counter.add(2) == 2);
  CHECK(counter.add(3) == 5);
  CHECK(counter.unlocked() == 5);
  const std::string text = "text";
  CHECK(&same(text) == &text);
}
