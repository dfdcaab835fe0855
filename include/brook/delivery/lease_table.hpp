#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/optional.hpp>
#include <brook/core/time.hpp>
#include <brook/delivery/exception_table.hpp>
#include <brook/delivery/key_holds.hpp>
#include <brook/delivery/lease_runs.hpp>
#include <brook/delivery/settle.hpp>
#include <brook/delivery/subscription_config.hpp>

namespace brook {

/// What one member has on lease over all its partitions. Bytes are counted only with a byte limit.
/// Freeing and looking for room are sequentially consistent: a poll that finds none counts itself
/// as sleeping before it looks, and whoever frees a slot looks for sleepers after.
struct Outstanding {
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> bytes{0};  ///< As stored.
};

/// Counters of one group and partition, since its first hand-out. Never fall.
struct DeliveryStats {
  std::uint64_t deliveries = 0;     ///< Hand-outs, first and repeated.
  std::uint64_t redeliveries = 0;   ///< Of these: again, since the last seek.
  std::uint64_t acked = 0;          ///< Settled by ack (or by hand-out, at most once).
  std::uint64_t nacked = 0;         ///< Failures reported by nack.
  std::uint64_t expired = 0;        ///< Failures by deadline.
  std::uint64_t dead_lettered = 0;  ///< Settled as dead letters.
  std::uint64_t dropped = 0;  ///< Settled because deliveries ran out and no dead letter was wanted.
  std::uint64_t lost = 0;     ///< Taken by retention or trim before they were settled.
};

/// A range that retention or trim took from a group.
struct Loss {
  OffsetRange range{};
  bool handed_out = false;  ///< It had been handed out (and not settled) before.

  friend bool operator==(const Loss&, const Loss&) noexcept = default;
};

namespace detail {

/// The state machine of deliveries: what one group knows of one partition, and nothing else. It
/// decides; reading the log, locks, clocks and dead-letter topics are its callers'. Time comes in
/// as arguments; the keys of messages, which matter only after a failure, through a callable
/// `keys(Offset) -> std::uint64_t` (0 = none).
///
///     pending → in flight → settled, or back to pending, or dead-lettering → settled
///
/// Offsets below `committed` are settled, those from `next` on were never looked at. In between, an
/// offset that is neither settled nor an exception is on its first lease, in a run. Cost: handing
/// out a run, acking it whole and acking in order touch a few words and neither clock, hash nor
/// tree; only failures build more. Thread rule: none, one caller at a time.
class LeaseTable {
 public:
  using State = LeaseEntry::State;

  struct Lease {
    Offset offset{};
    std::uint32_t attempt = 0;
    std::uint32_t number = 1;  ///< 1 + charged failures.
  };

  LeaseTable(const SubscriptionConfig& config, Offset start, Outstanding& slots)
      : config_(&config), slots_(&slots), committed_(start), next_(start) {
    if (limits_bytes()) sizes_.start(start);
  }

  // ----------------------------------------------------------------------------------------- facts

  [[nodiscard]] Offset committed() const noexcept { return committed_; }
  [[nodiscard]] Offset next() const noexcept { return next_; }
  [[nodiscard]] std::uint32_t epoch() const noexcept { return epoch_; }
  [[nodiscard]] const DeliveryStats& stats() const noexcept { return stats_; }
  [[nodiscard]] std::uint64_t in_flight() const noexcept { return in_runs_ + leased_entries_; }
  /// Offsets in the window that are not settled.
  [[nodiscard]] std::uint64_t unsettled() const noexcept {
    return next_ - committed_ - settled_ahead_;
  }
  [[nodiscard]] bool is_settled(Offset offset) const noexcept {
    return offset < committed_ || (failed() && more_->exceptions.settled(offset));
  }
  [[nodiscard]] bool tracks_keys() const noexcept { return failed() && more_->keys.active(); }
  [[nodiscard]] bool limits_bytes() const noexcept {
    return config_->max_outstanding_bytes != ByteSize::unlimited();
  }
  /// First unsettled offset at or above which nothing is handed out.
  [[nodiscard]] Offset window_end() const noexcept {
    return committed_ + config_->max_ack_window.value();
  }
  /// Whether the partition order holds back every first delivery.
  [[nodiscard]] bool holds_all() const noexcept {
    return config_->ordering == Ordering::partition && tracks_keys();
  }
  [[nodiscard]] const Failure* failure(Offset offset) const;
  /// Failures counted against @p offset.
  [[nodiscard]] std::uint32_t charged(Offset offset) const noexcept {
    const LeaseEntry* const special = entry(offset);
    return special == nullptr ? 0 : special->charged();
  }
  [[nodiscard]] bool is_live(const Receipt& receipt, Instant now) const noexcept;
  /// When the state changes by itself next: the end of a lease or of a backoff after @p now. Exact;
  /// O(exceptions).
  [[nodiscard]] Instant next_event(Instant now) const noexcept;
  /// Not later than `next_event` or than something that is deliverable already; O(1).
  [[nodiscard]] Instant earliest_event() const noexcept { return earliest_; }
  /// Not later than the end of any lease; O(1).
  [[nodiscard]] Instant earliest_deadline() const noexcept { return earliest_deadline_; }
  /// Messages whose state is @p state; pending ones only if their time has come, unless @p now is
  /// max.
  [[nodiscard]] std::uint64_t count(State state, Instant now = Instant::max()) const noexcept;

  // -------------------------------------------------------------------------------------- hand-out

  /// There is no message in `[next, to)`: compaction removed them.
  void pass_gap(Offset to);
  /// Settles the message at `next` without handing it out.
  void settle_unseen();
  /// Hands out the @p count messages from `next` on. Requires that no keys are tracked. @p
  /// size_of(i) is asked for bytes if there is a byte limit.
  template <class SizeOf>
  void lease_run(std::uint32_t count, Instant now, SizeOf size_of);
  /// Whether a message with this key that was never handed out has to wait.
  [[nodiscard]] bool holds(std::uint64_t key_hash) noexcept {
    return tracks_keys() && key_hash != KeyHolds::no_key && more_->keys.find(key_hash) != nullptr;
  }
  /// Hands out the message at `next`, or makes it wait behind its key.
  std::optional<Lease> lease_or_hold(std::uint64_t key_hash, std::uint64_t size, Instant now);

  /// Offsets that may come again at @p now, in order, at most @p most.
  void due(Instant now, std::size_t most, std::vector<Offset>& offsets);
  Lease redeliver(Offset offset, Instant now);
  /// The message at @p offset is gone from the log: compaction removed it while it waited.
  /// @return whether others that waited for it may be due now
  bool supersede(Offset offset) { return settle(offset); }

  // -------------------------------------------------------------------------------------- settling

  /// Makes sure that `ack` cannot fail. @throws std::bad_alloc, nothing changed
  void prepare_ack(const Receipt& receipt, Offset log_start);
  SettleResult ack(const Receipt& receipt, Offset log_start);
  /// Acks a run of first hand-outs; the same as acking each, and O(1) where nothing has failed.
  void ack_run(Offset first, std::uint32_t count, std::uint32_t epoch, Offset log_start,
               SettleCounts& counts);
  template <class Keys>
  SettleResult nack(const Receipt& receipt, Offset log_start, Instant now, Timestamp wall,
                    const NackOptions& options, Keys& keys);
  SettleResult reject(const Receipt& receipt, Offset log_start, Timestamp wall,
                      std::string_view error);
  template <class Keys>
  SettleResult extend(const Receipt& receipt, Offset log_start, Instant now, Duration by,
                      Keys& keys);

  /// Ends the leases whose deadline is at or before @p now. To be called before anything but an ack
  /// is decided.
  template <class Keys>
  void expire(Instant now, Timestamp wall, Keys& keys);
  /// Offsets that became dead letters and await `dead_letter_done` or, if that takes time,
  /// `hold_dead_letter`.
  [[nodiscard]] std::vector<Offset> take_dead_letters() {
    return failed() ? std::exchange(more_->dead_letters, {}) : std::vector<Offset>{};
  }
  [[nodiscard]] std::size_t dead_letters_to_take() const noexcept {
    return failed() ? more_->dead_letters.size() : 0;
  }
  /// Takes back those that could not be looked at now: nothing else may have come meanwhile.
  void return_dead_letters(std::vector<Offset> offsets) noexcept {
    more_->dead_letters = std::move(offsets);
  }
  void dead_letter_done(Offset offset);
  template <class Keys>
  void hold_dead_letter(Offset offset, Keys& keys);

  // -------------------------------------------------------------------------------------- movement

  /// All leases return to pending, uncharged; their receipts are fenced from now on.
  template <class Keys>
  void release_all(Instant now, Keys& keys);
  /// Everything starts anew at @p to; what was handed out before is stale.
  void seek(Offset to);
  /// The message at @p offset, on its way to a dead letter, was trimmed before it could be read.
  void lose(Offset offset, std::vector<Loss>& losses);
  /// Retention or trim moved the start of the log.
  void lose_below(Offset start, std::vector<Loss>& losses);

 private:
  /// What exists only after something out of the ordinary.
  struct More {
    ExceptionTable exceptions;
    KeyHolds keys;
    std::unordered_map<std::uint64_t, Failure> failures;
    std::unordered_map<std::uint64_t, Instant> lease_starts;  ///< Only with a finite max_lease.
    std::vector<Offset> dead_letters;
  };

  [[nodiscard]] bool failed() const noexcept { return more_ != nullptr; }
  More& more() {
    if (more_ == nullptr) more_ = std::make_unique<More>();
    return *more_;
  }
  [[nodiscard]] const LeaseEntry* entry(Offset offset) const noexcept {
    return failed() ? std::as_const(more_->exceptions).find(offset) : nullptr;
  }
  [[nodiscard]] LeaseEntry* entry(Offset offset) noexcept {
    return failed() ? more_->exceptions.find(offset) : nullptr;
  }
  [[nodiscard]] Instant deadline_of(Offset offset) const noexcept;
  [[nodiscard]] SettleResult judge(const Receipt& receipt, Offset log_start,
                                   bool late_counts) const noexcept;

  void note_loss(OffsetRange range, bool handed_out, std::vector<Loss>& losses);
  void prepare_fresh(std::size_t count);
  void note_fresh(std::uint64_t key_hash, std::uint64_t size);
  void wait_behind(KeyHolds::Queue& queue, Instant now);
  void push_run(Offset first, Instant now);
  void free_slot(Offset offset) noexcept;
  /// @return whether others that waited for it may be due now
  bool settle(Offset offset);
  void advance_committed();
  void tidy() noexcept;
  bool key_settled(Offset offset, bool was_holder);
  void schedule(Offset offset, Instant time) noexcept {
    more_->exceptions.schedule(offset, time);
    earliest_ = std::min(earliest_, time);
  }
  LeaseEntry& make_entry(Offset offset);
  /// Whether the next failure of @p offset is its last.
  [[nodiscard]] bool one_more_exhausts(Offset offset) const noexcept {
    return config_->max_deliveries && charged(offset) + 1 >= config_->max_deliveries->value();
  }
  void back_to_pending(Offset offset, Instant time, bool ackable) noexcept;
  template <class Keys>
  void end_leases(const std::vector<Offset>& ended, Instant now, Timestamp wall, Keys& keys);

  // A failure changes many things. Whatever of it may throw is done before, by these; the rest
  // cannot fail.
  void prepare_charge(Offset offset, std::string_view error);
  void charge(Offset offset, Timestamp wall, std::string_view error);
  void prepare_exhaust(std::size_t count);
  void exhaust(Offset offset);
  template <class Keys>
  void prepare_hold(std::span<const Offset> offsets, bool take_back, Keys& keys);
  void hold(Offset offset, bool take_back);

  template <class Keys>
  bool track_keys(std::span<const Offset> offsets, Keys& keys);
  template <class Visit>
  void for_each_behind(const KeyHolds::Queue& queue, Offset offset, Visit visit);
  void hold_behind(KeyHolds::Queue& queue, Offset offset, bool take_back);
  bool unblock_front(KeyHolds::Queue& queue);

  const SubscriptionConfig* config_;
  Outstanding* slots_;
  Offset committed_;
  Offset next_;
  std::uint32_t epoch_ = 1;
  std::uint32_t void_epoch_ = 1;  ///< Receipts of older epochs were voided by a seek.
  LeaseRuns runs_;
  std::uint64_t in_runs_ = 0;                   ///< First leases that are live, all in runs.
  std::uint64_t leased_entries_ = 0;            ///< Leases that are live and have an entry.
  std::uint64_t settled_ahead_ = 0;             ///< Settled offsets above committed.
  Instant earliest_ = Instant::max();           ///< Not later than anything that will be due.
  Instant earliest_deadline_ = Instant::max();  ///< Not later than the end of any lease.
  OffsetRing<std::uint32_t> sizes_;             ///< Only with a byte limit; in units of 8 bytes.
  std::unique_ptr<More> more_;
  DeliveryStats stats_{};
};

}  // namespace detail

}  // namespace brook

#include <brook/delivery/lease_table_hand_out.hpp>
#include <brook/delivery/lease_table_settle.hpp>
