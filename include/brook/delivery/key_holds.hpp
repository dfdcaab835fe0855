#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/delivery/lease_runs.hpp>

namespace brook::detail {

/// Which keys are held back, and who waits for whom. Exists only while some message has failed and
/// is not settled: then it knows the key of every offset in the window, as a 64-bit hash (two keys
/// of one hash wait for each other; order never breaks), and for each held key its unsettled
/// offsets in order.
class KeyHolds {
 public:
  static constexpr std::uint64_t no_key = 0;

  /// A key that some failed message holds.
  struct Queue {
    /// Unsettled when queued, in order; settled ones are skipped when met.
    std::vector<Offset> offsets;
    std::size_t head = 0;
    std::uint32_t holders = 0;  ///< Unsettled messages that failed or were taken back.
    /// Behind the first one that took back what was behind it, everything waits, and will.
    Offset taken_from = Offset::max();
    bool marked = false;
  };

  [[nodiscard]] bool active() const noexcept { return hashes_.active(); }
  [[nodiscard]] Offset end() const noexcept { return hashes_.end(); }

  void start(Offset base) { hashes_.start(base); }
  void push(std::uint64_t hash) { hashes_.push(hash); }
  /// Makes sure that @p count pushes cannot fail. @throws std::bad_alloc
  void reserve(std::size_t count) { hashes_.reserve(count); }
  void drop_below(Offset offset) { hashes_.drop_below(offset); }
  void stop() noexcept {
    hashes_.stop();
    queues_.clear();
    holders_ = 0;
  }

  [[nodiscard]] std::uint64_t hash(Offset offset) const noexcept { return hashes_[offset]; }
  [[nodiscard]] Queue* find(std::uint64_t hash) noexcept {
    const auto found = queues_.find(hash);
    return found == queues_.end() ? nullptr : &found->second;
  }
  /// The queue of a key that becomes held, filled with what @p unsettled says is open. @throws
  /// std::bad_alloc
  template <class Unsettled>
  Queue& make(std::uint64_t hash, Unsettled unsettled) {
    std::vector<Offset> offsets;
    hashes_.for_each([&](Offset at, std::uint64_t other) {
      if (other == hash && unsettled(at)) offsets.push_back(at);
    });
    Queue& queue = queues_[hash];
    queue.offsets = std::move(offsets);
    return queue;
  }
  /// Makes the queues of all keys at @p held that are not held yet, in one pass over the window.
  /// @throws std::bad_alloc
  template <class Unsettled>
  void make_all(std::span<const Offset> held, Unsettled unsettled) {
    std::size_t made = 0;
    for (const Offset at : held) {
      if (hash(at) == no_key) continue;
      const auto [queue, is_new] = queues_.try_emplace(hash(at));
      if (is_new) queue->second.marked = ++made != 0;
    }
    if (made == 0) return;
    hashes_.for_each([&](Offset at, std::uint64_t other) {
      Queue* const queue = other == no_key ? nullptr : find(other);
      if (queue != nullptr && queue->marked && unsettled(at)) queue->offsets.push_back(at);
    });
    clear_marks(held);
  }
  /// The queue of the key at @p offset; null if it is not held or there is none.
  [[nodiscard]] Queue* queue_of(Offset offset) noexcept {
    return hash(offset) == no_key ? nullptr : find(hash(offset));
  }
  void clear_marks(std::span<const Offset> offsets) noexcept {
    for (const Offset at : offsets) {
      if (Queue* const queue = queue_of(at); queue != nullptr) queue->marked = false;
    }
  }
  /// Forgets those of the keys at @p offsets that nobody holds: making them hold has failed.
  void forget_unheld(std::span<const Offset> offsets) noexcept {
    for (const Offset at : offsets) {
      Queue* const queue = queue_of(at);
      if (queue == nullptr) continue;
      queue->marked = false;
      if (queue->holders == 0) queues_.erase(hash(at));
    }
    if (idle()) stop();
  }
  void erase(std::uint64_t hash) noexcept { queues_.erase(hash); }

  void add_holder(Queue& queue) noexcept {
    ++queue.holders;
    ++holders_;
  }
  void remove_holder(Queue& queue) noexcept {
    --queue.holders;
    --holders_;
  }
  /// Nobody holds any key.
  [[nodiscard]] bool idle() const noexcept { return holders_ == 0; }

 private:
  OffsetRing<std::uint64_t> hashes_;
  std::unordered_map<std::uint64_t, Queue> queues_;
  std::uint64_t holders_ = 0;
};

}  // namespace brook::detail
