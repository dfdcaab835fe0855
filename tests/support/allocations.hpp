#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace support {

/// What the calling thread takes from `operator new`, and a way to make it fail. Works only in a
/// program one of whose files includes `support/allocation_hooks.hpp`.
struct Allocations {
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t count = 0;            ///< Calls of `operator new` that succeeded.
  std::uint64_t bytes = 0;            ///< Asked for by them, given back or not.
  std::uint64_t returned = 0;         ///< Given back by this thread, whoever took them.
  std::uint64_t before_fail = never;  ///< So many more succeed, then every one throws.

  static Allocations& of_this_thread() noexcept {
    thread_local Allocations allocations;
    return allocations;
  }
};

/// Lets @p successes more allocations of this thread succeed while it lives; all later ones throw
/// `std::bad_alloc`.
class FailAllocationsAfter {
 public:
  explicit FailAllocationsAfter(std::uint64_t successes) noexcept {
    Allocations::of_this_thread().before_fail = successes;
  }
  FailAllocationsAfter(const FailAllocationsAfter&) = delete;
  FailAllocationsAfter& operator=(const FailAllocationsAfter&) = delete;
  ~FailAllocationsAfter() { Allocations::of_this_thread().before_fail = Allocations::never; }
};

/// Counts what this thread allocates from its construction on.
class CountAllocations {
 public:
  [[nodiscard]] std::uint64_t count() const noexcept {
    return Allocations::of_this_thread().count - count_;
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept {
    return Allocations::of_this_thread().bytes - bytes_;
  }
  /// Whether as many were given back as were taken.
  [[nodiscard]] bool is_balanced() const noexcept {
    return count() == Allocations::of_this_thread().returned - returned_;
  }

 private:
  std::uint64_t count_ = Allocations::of_this_thread().count;
  std::uint64_t bytes_ = Allocations::of_this_thread().bytes;
  std::uint64_t returned_ = Allocations::of_this_thread().returned;
};

}  // namespace support
