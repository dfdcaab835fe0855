#pragma once

#include <atomic>
#include <cstdint>

namespace brook::detail {

/// Lets one writer take things away that readers without a lock may be looking at: what was
/// unlinked in epoch e may be freed once the epoch is e + 2 (epoch-based reclamation after K.
/// Fraser, "Practical lock-freedom", 2004).
///
/// A reader that entered in epoch e keeps the writer from moving past e + 1; whoever enters later
/// cannot find what was unlinked before. Two counters suffice, because readers exist in at most two
/// adjacent epochs.
///
/// Thread rule: `Section` any number of threads, wait-free but for a retry when the epoch moves in
/// between; `advance` and `can_free` the one writer.
class Reclaimer {
 public:
  /// A reader's stay. Short: the writer frees nothing meanwhile.
  class Section {
   public:
    explicit Section(const Reclaimer& reclaimer) noexcept : reclaimer_(reclaimer) {
      for (;;) {
        const auto epoch = reclaimer_.epoch_.load(std::memory_order_seq_cst);
        counter_ = &reclaimer_.readers_[epoch & 1];
        counter_->fetch_add(1, std::memory_order_seq_cst);
        if (reclaimer_.epoch_.load(std::memory_order_seq_cst) == epoch) return;
        counter_->fetch_sub(1, std::memory_order_release);
      }
    }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;
    ~Section() { counter_->fetch_sub(1, std::memory_order_release); }

   private:
    const Reclaimer& reclaimer_;
    std::atomic<std::uint32_t>* counter_ = nullptr;
  };

  /// The epoch to remember with something that was just unlinked.
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return epoch_.load(std::memory_order_relaxed);
  }

  /// Moves the epoch on if no reader of the epoch before is left. Twice in a row frees everything
  /// when nobody reads.
  void advance() noexcept {
    const auto epoch = epoch_.load(std::memory_order_relaxed);
    if (readers_[(epoch + 1) & 1].load(std::memory_order_seq_cst) != 0) return;
    epoch_.store(epoch + 1, std::memory_order_seq_cst);
  }

  [[nodiscard]] bool can_free(std::uint64_t unlinked_in) const noexcept {
    return epoch() >= unlinked_in + 2;
  }

 private:
  std::atomic<std::uint64_t> epoch_{0};
  mutable std::atomic<std::uint32_t> readers_[2] = {};
};

}  // namespace brook::detail
