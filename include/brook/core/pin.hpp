#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace brook {

/// Something that must stay in memory while anybody looks at it: what a storage hands out together
/// with views of its bytes. Starts with one reference, which belongs to its maker.
class Pinned {
 public:
  Pinned() noexcept = default;
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  void acquire() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // Only the last reference may skip the read-modify-write: nobody else is left to race with.
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      unpinned();
    }
  }

 protected:
  virtual ~Pinned() = default;
  /// The last reference is gone: give the memory back. Called once, from any thread.
  virtual void unpinned() noexcept = 0;

 private:
  std::atomic<std::uint32_t> references_{1};
};

/// A counted reference to something pinned; may be empty. Thread rule: a value type; different pins
/// of one object may be used and dropped on different threads.
class Pin {
 public:
  Pin() noexcept = default;
  /// Takes over one reference.
  explicit Pin(Pinned* adopted) noexcept : pinned_(adopted) {}
  Pin(const Pin& other) noexcept : pinned_(other.pinned_) {
    if (pinned_ != nullptr) pinned_->acquire();
  }
  Pin(Pin&& other) noexcept : pinned_(std::exchange(other.pinned_, nullptr)) {}
  Pin& operator=(Pin other) noexcept {
    std::swap(pinned_, other.pinned_);
    return *this;
  }
  ~Pin() {
    if (pinned_ != nullptr) pinned_->release();
  }

  [[nodiscard]] Pinned* get() const noexcept { return pinned_; }
  explicit operator bool() const noexcept { return pinned_ != nullptr; }

 private:
  Pinned* pinned_ = nullptr;
};

}  // namespace brook
