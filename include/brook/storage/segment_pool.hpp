#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>

#include <brook/core/quantity.hpp>

namespace brook {

/// Keeps the memory of trimmed segments for the next ones: a page that was used before costs a
/// fraction of a fresh one. May be shared by any number of partitions; keeps at most `max_idle`
/// bytes, the rest goes back to the system.
///
/// Thread rule: all calls from any thread. `give_back` takes no lock, because the last reader of a
/// segment may be the one who calls it; `take` takes a short one.
class SegmentPool {
 public:
  explicit SegmentPool(ByteSize max_idle = 16 << 20) noexcept : max_idle_(max_idle.value()) {}
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;
  ~SegmentPool() {
    collect();
    for (auto& list : idle_) {
      while (list != nullptr) free(std::exchange(list, list->next));
    }
  }

  /// @p size bytes, 64-byte aligned. @throws std::bad_alloc
  [[nodiscard]] void* take(std::size_t size) {
    if (const auto kind = kind_of(size); kind < kinds) {
      const std::lock_guard lock(mutex_);
      collect();
      if (Block* block = idle_[kind]; block != nullptr) {
        idle_[kind] = block->next;
        idle_bytes_.fetch_sub(size, std::memory_order_relaxed);
        return block;
      }
    }
    return ::operator new (size, std::align_val_t{alignment});
  }

  /// Gives back what `take(size)` returned.
  void give_back(void* memory, std::size_t size) noexcept {
    auto* block = ::new (memory) Block{.next = nullptr, .size = size};
    if (kind_of(size) >= kinds ||
        idle_bytes_.fetch_add(size, std::memory_order_relaxed) + size > max_idle_) {
      if (kind_of(size) < kinds) idle_bytes_.fetch_sub(size, std::memory_order_relaxed);
      free(block);
      return;
    }
    block->next = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(block->next, block, std::memory_order_release,
                                            std::memory_order_relaxed)) {
    }
  }

  /// Bytes kept for reuse.
  [[nodiscard]] std::uint64_t idle_bytes() const noexcept {
    return idle_bytes_.load(std::memory_order_relaxed);
  }

  static constexpr std::size_t alignment = 64;

 private:
  struct Block {
    Block* next;
    std::size_t size;
  };
  static constexpr std::size_t smallest = 4096;
  static constexpr std::size_t kinds = 9;  // 4 KiB … 1 MiB

  static std::size_t kind_of(std::size_t size) noexcept {
    if (size < smallest || !std::has_single_bit(size)) return kinds;
    return static_cast<std::size_t>(std::countr_zero(size) - std::countr_zero(smallest));
  }
  static void free(Block* block) noexcept {
    ::operator delete (static_cast<void*>(block), std::align_val_t{alignment});
  }
  /// Takes the whole stack of returned blocks at once: a stack that is only ever emptied has no ABA
  /// problem.
  void collect() noexcept {
    for (Block* block = returned_.exchange(nullptr, std::memory_order_acquire); block != nullptr;) {
      Block* const next = block->next;
      auto& list = idle_[kind_of(block->size)];
      block->next = list;
      list = block;
      block = next;
    }
  }

  const std::uint64_t max_idle_;
  std::atomic<std::uint64_t> idle_bytes_{0};
  std::atomic<Block*> returned_{nullptr};
  std::mutex mutex_;
  std::array<Block*, kinds> idle_{};
};

}  // namespace brook
