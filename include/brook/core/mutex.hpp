#pragma once

#include <condition_variable>
#include <mutex>

#include <brook/core/config.hpp>

namespace brook::detail {

/// `std::mutex` that clang's thread-safety analysis knows.
class BROOK_CAPABILITY("mutex") Mutex {
 public:
  void lock() BROOK_ACQUIRE() { mutex_.lock(); }
  void unlock() BROOK_RELEASE() { mutex_.unlock(); }
  [[nodiscard]] std::mutex& native() noexcept { return mutex_; }

 private:
  std::mutex mutex_;
};

/// Holds a `Mutex` for a scope.
class BROOK_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BROOK_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() BROOK_RELEASE() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace brook::detail
