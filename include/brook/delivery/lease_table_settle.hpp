#pragma once

// The settling half of LeaseTable: acks, failures, deadlines and the order of keys. Included by
// lease_table.hpp.
#include <brook/delivery/lease_table.hpp>

namespace brook::detail {

inline SettleResult LeaseTable::judge(const Receipt& receipt, Offset log_start,
                                      bool late_counts) const noexcept {
  if (receipt.epoch != epoch_) {
    return receipt.epoch < void_epoch_ ? SettleResult::stale : SettleResult::fenced;
  }
  if (receipt.offset < log_start) return SettleResult::below_start;
  if (is_settled(receipt.offset)) return SettleResult::already_settled;
  if (receipt.offset >= next_) return SettleResult::lease_lost;
  const LeaseEntry* const special = entry(receipt.offset);
  if (special == nullptr) {
    return receipt.attempt == 0 ? SettleResult::applied : SettleResult::lease_lost;
  }
  const bool live = special->state() == State::leased;
  const bool late = late_counts && special->ackable() && special->state() != State::dead_lettering;
  return special->attempt == receipt.attempt && (live || late) ? SettleResult::applied
                                                               : SettleResult::lease_lost;
}

inline void LeaseTable::free_slot(Offset offset) noexcept {
  slots_->messages.fetch_sub(1, std::memory_order_seq_cst);
  if (limits_bytes()) {
    slots_->bytes.fetch_sub(std::uint64_t{sizes_[offset]} * 8, std::memory_order_seq_cst);
  }
}

inline void LeaseTable::advance_committed() {
  if (settled_ahead_ != 0) {
    const Offset before = committed_;
    committed_ = more_->exceptions.advance(committed_, next_);
    settled_ahead_ -= committed_ - before;
  } else if (failed()) {
    more_->exceptions.drop_below(committed_);
  }
  while (!runs_.empty()) {
    const Offset last = runs_.size() > 1 ? runs_.first(1, next_) : next_;
    if (last > committed_) break;
    runs_.pop_front();
  }
  if (limits_bytes()) sizes_.drop_below(committed_);
  if (tracks_keys()) more_->keys.drop_below(committed_);
  tidy();
}

/// Gives back what only failures need once nothing of it is left.
inline void LeaseTable::tidy() noexcept {
  if (in_flight() == 0 && !failed()) earliest_ = Instant::max();
  if (!failed() || committed_ != next_ || !more_->dead_letters.empty()) return;
  more_.reset();
  earliest_ = Instant::max();
}

inline bool LeaseTable::settle(Offset offset) {
  bool was_holder = false;
  LeaseEntry* const special = entry(offset);
  if (offset != committed_) more().exceptions.reserve(offset);
  if (special == nullptr) {
    --in_runs_;
    free_slot(offset);
  } else {
    was_holder = special->holds_key();
    if (special->state() == State::leased) {
      --leased_entries_;
      free_slot(offset);
    }
    if (!more_->failures.empty()) more_->failures.erase(offset.value());
    if (!more_->lease_starts.empty()) more_->lease_starts.erase(offset.value());
  }
  if (offset == committed_) {
    if (special != nullptr) more_->exceptions.erase(offset);
    ++committed_;
  } else {
    more_->exceptions.settle(offset);
    ++settled_ahead_;
  }
  const bool freed = tracks_keys() && key_settled(offset, was_holder);
  advance_committed();
  return freed;
}

inline bool LeaseTable::key_settled(Offset offset, bool was_holder) {
  KeyHolds& keys = more_->keys;
  const std::uint64_t hash = keys.hash(offset);
  KeyHolds::Queue* const queue = hash == KeyHolds::no_key ? nullptr : keys.find(hash);
  if (queue == nullptr) return false;
  if (was_holder) keys.remove_holder(*queue);
  if (queue->holders != 0) return unblock_front(*queue);
  // Whatever still waits for this key was never handed out: it flows again, as first deliveries, in
  // order.
  bool freed = false;
  for (std::size_t i = queue->head; i < queue->offsets.size(); ++i) {
    LeaseEntry* const waiting = entry(queue->offsets[i]);
    if (waiting == nullptr || waiting->state() != State::blocked) continue;
    waiting->set_state(State::pending);
    schedule(queue->offsets[i], waiting->time);
    freed = true;
  }
  keys.erase(hash);
  if (keys.idle()) keys.stop();
  return freed;
}

inline bool LeaseTable::unblock_front(KeyHolds::Queue& queue) {
  while (queue.head < queue.offsets.size() && is_settled(queue.offsets[queue.head])) ++queue.head;
  if (queue.head == queue.offsets.size()) return false;
  LeaseEntry* const front = entry(queue.offsets[queue.head]);
  if (front == nullptr || front->state() != State::blocked) return false;
  front->set_state(State::pending);
  schedule(queue.offsets[queue.head], front->time);
  return true;
}

inline SettleResult LeaseTable::ack(const Receipt& receipt, Offset log_start) {
  const SettleResult result = judge(receipt, log_start, true);
  if (result != SettleResult::applied) return result;
  settle(receipt.offset);
  ++stats_.acked;
  return result;
}

inline void LeaseTable::prepare_ack(const Receipt& receipt, Offset log_start) {
  if (receipt.offset == committed_ || judge(receipt, log_start, true) != SettleResult::applied)
    return;
  more().exceptions.reserve(receipt.offset);
}

inline void LeaseTable::ack_run(Offset first, std::uint32_t count, std::uint32_t epoch,
                                Offset log_start, SettleCounts& counts) {
  if (epoch == epoch_ && first < committed_ && first >= log_start) {
    const auto settled =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(count, committed_ - first));
    counts.add(SettleResult::already_settled, settled);
    first += settled;
    count -= settled;
  }
  const bool in_order = epoch == epoch_ && !failed() && first == committed_ && first >= log_start &&
                        first + count <= next_;
  if (in_order && !limits_bytes()) {
    committed_ += count;
    in_runs_ -= count;
    slots_->messages.fetch_sub(count, std::memory_order_seq_cst);
    stats_.acked += count;
    counts.applied += count;
    advance_committed();
    return;
  }
  const auto receipt = [&](std::uint32_t i) {
    return Receipt{.offset = first + i, .epoch = epoch, .attempt = 0};
  };
  for (std::uint32_t i = 0; i < count && !in_order; ++i) prepare_ack(receipt(i), log_start);
  for (std::uint32_t i = 0; i < count; ++i) counts.add(ack(receipt(i), log_start));
}

/// The entry of an unsettled offset, which leaves its run if it was in one; it keeps its lease and
/// deadline.
inline LeaseEntry& LeaseTable::make_entry(Offset offset) {
  if (LeaseEntry* const special = entry(offset); special != nullptr) return *special;
  const Instant deadline = runs_.deadline(runs_.find(offset));
  LeaseEntry& special = more().exceptions.insert(offset);
  special.set_state(State::leased);
  special.time = deadline;
  more_->exceptions.schedule(offset, deadline);
  --in_runs_;
  ++leased_entries_;
  return special;
}

inline void LeaseTable::back_to_pending(Offset offset, Instant time, bool ackable) noexcept {
  LeaseEntry& special = *entry(offset);
  if (special.state() == State::leased) {
    --leased_entries_;
    free_slot(offset);
  }
  special.set_state(State::pending);
  special.set_ackable(ackable);
  special.time = time;
  schedule(offset, time);
}

/// Makes room for a failure, so that `charge` with such an error cannot fail.
inline void LeaseTable::prepare_charge(Offset offset, std::string_view error) {
  make_entry(offset);
  more_->failures[offset.value()].error.reserve(error.size());
}

inline void LeaseTable::charge(Offset offset, Timestamp wall, std::string_view error) {
  LeaseEntry& special = *entry(offset);
  Failure& failure = more_->failures[offset.value()];
  if (special.charged() == 0) failure.first = wall;
  failure.last = wall;
  failure.error = error;
  special.charge();
}

/// Makes room for @p count messages more, so that `exhaust` cannot fail.
inline void LeaseTable::prepare_exhaust(std::size_t count) {
  auto& letters = more().dead_letters;
  if (letters.capacity() - letters.size() >= count) return;
  letters.reserve(std::max(letters.size() + count, 2 * letters.size()));
}

inline void LeaseTable::exhaust(Offset offset) {
  if (config_->exhausted == Exhausted::drop) {
    settle(offset);
    ++stats_.dropped;
    return;
  }
  LeaseEntry& special = *entry(offset);
  if (special.state() == State::leased) {
    --leased_entries_;
    free_slot(offset);
  }
  special.set_state(State::dead_lettering);
  special.set_ackable(false);
  more_->dead_letters.push_back(offset);
}

inline void LeaseTable::dead_letter_done(Offset offset) {
  settle(offset);
  ++stats_.dead_lettered;
}

template <class Keys>
void LeaseTable::hold_dead_letter(Offset offset, Keys& keys) {
  prepare_hold({&offset, 1}, false, keys);
  hold(offset, false);
}

template <class Keys>
SettleResult LeaseTable::nack(const Receipt& receipt, Offset log_start, Instant now, Timestamp wall,
                              const NackOptions& options, Keys& keys) {
  const SettleResult result = judge(receipt, log_start, false);
  if (result != SettleResult::applied) return result;
  const Offset offset = receipt.offset;
  const bool last = one_more_exhausts(offset);
  prepare_charge(offset, options.error);
  if (last) {
    prepare_exhaust(1);
  } else {
    prepare_hold({&offset, 1}, true, keys);
  }
  // From here on nothing fails.
  charge(offset, wall, options.error);
  ++stats_.nacked;
  if (last) {
    exhaust(offset);
    return result;
  }
  const Duration wait = value_or(options.delay, backoff(config_->retry, charged(offset), offset));
  back_to_pending(offset, saturating_add(now, wait), false);
  hold(offset, true);
  return result;
}

inline SettleResult LeaseTable::reject(const Receipt& receipt, Offset log_start, Timestamp wall,
                                       std::string_view error) {
  const SettleResult result = judge(receipt, log_start, false);
  if (result != SettleResult::applied) return result;
  prepare_charge(receipt.offset, error);
  prepare_exhaust(1);
  charge(receipt.offset, wall, error);
  exhaust(receipt.offset);
  return result;
}

template <class Keys>
SettleResult LeaseTable::extend(const Receipt& receipt, Offset log_start, Instant now, Duration by,
                                Keys& keys) {
  const SettleResult result = judge(receipt, log_start, false);
  if (result != SettleResult::applied) return result;
  const Offset offset = receipt.offset;
  if (by.is_zero() || by.is_negative()) {
    make_entry(offset);
    prepare_hold({&offset, 1}, true, keys);
    back_to_pending(offset, now, false);
    hold(offset, true);
    return result;
  }
  Instant deadline = saturating_add(now, by);
  if (config_->max_lease != Duration::max()) {
    auto& starts = more().lease_starts;
    const Instant first_deadline = deadline_of(offset);
    const auto [start, first] = starts.try_emplace(offset.value());
    if (first) start->second = first_deadline - config_->ack_deadline.nanoseconds();
    deadline = std::min(deadline, saturating_add(start->second, config_->max_lease));
  }
  LeaseEntry& special = make_entry(offset);
  special.time = deadline;
  schedule(offset, deadline);
  earliest_deadline_ = std::min(earliest_deadline_, deadline);
  return result;
}

template <class Keys>
void LeaseTable::expire(Instant now, Timestamp wall, Keys& keys) {
  if (now < earliest_deadline_) return;
  std::vector<Offset> ended;
  Instant next_deadline = Instant::max();
  for (std::size_t i = 0; i < runs_.size() && in_runs_ != 0; ++i) {
    if (runs_.deadline(i) > now) {
      next_deadline = std::min(next_deadline, runs_.deadline(i));
      if (runs_.in_order()) break;
      continue;
    }
    const Offset first = std::max(committed_, runs_.first(i, next_));
    const Offset last = i + 1 < runs_.size() ? runs_.first(i + 1, next_) : next_;
    if (first >= last) continue;
    const auto add = [&](Offset offset) { ended.push_back(offset); };
    more().exceptions.for_each_plain(first, last, add);
  }
  if (failed()) {
    const auto times = more_->exceptions.for_each_due(now, [&](Offset offset, LeaseEntry& special) {
      const bool leased = special.state() == State::leased;
      if (leased && special.time <= now) ended.push_back(offset);
      if (leased && special.time > now) next_deadline = std::min(next_deadline, special.time);
      return leased || special.state() == State::pending ? special.time : Instant::max();
    });
    next_deadline = std::min(next_deadline, times.others);
  }
  std::sort(ended.begin(), ended.end());
  end_leases(ended, now, wall, keys);
  // An ended run covers nothing any more: what it held has an entry now, or is settled.
  while (!runs_.empty() && runs_.deadline(0) <= now) runs_.pop_front();
  for (std::size_t i = 0; i < runs_.size() && !runs_.in_order(); ++i) {
    if (runs_.deadline(i) <= now) runs_.set_deadline(i, Instant::max());
  }
  earliest_deadline_ = next_deadline;
}

/// The deadlines of all @p ended, in order, have passed. They end together: only then do the keys
/// of those that will come again hold back what is behind them.
template <class Keys>
void LeaseTable::end_leases(const std::vector<Offset>& ended, Instant now, Timestamp wall,
                            Keys& keys) {
  static constexpr std::string_view error = "ack deadline passed";
  std::vector<Offset> returning;
  returning.reserve(ended.size());
  for (const Offset offset : ended) {
    prepare_charge(offset, error);
    if (!one_more_exhausts(offset)) returning.push_back(offset);
  }
  if (returning.size() != ended.size()) prepare_exhaust(ended.size() - returning.size());
  prepare_hold(returning, true, keys);
  // From here on nothing fails.
  for (const Offset offset : ended) {
    charge(offset, wall, error);
    back_to_pending(offset, now, true);
  }
  stats_.expired += ended.size();
  for (const Offset offset : returning) hold(offset, true);
  auto next_returning = returning.begin();
  for (const Offset offset : ended) {
    if (next_returning != returning.end() && *next_returning == offset) {
      ++next_returning;
    } else {
      exhaust(offset);
    }
  }
}

/// Gets to know the keys of the window, unless none of @p offsets has one.
/// @return whether they are known. @throws whatever reading keys throws, nothing changed
template <class Keys>
bool LeaseTable::track_keys(std::span<const Offset> offsets, Keys& keys) {
  if (config_->ordering == Ordering::none) return false;
  if (tracks_keys()) return true;
  const bool whole_partition = config_->ordering == Ordering::partition;
  const auto has_key = [&](Offset at) { return whole_partition || keys(at) != KeyHolds::no_key; };
  if (std::none_of(offsets.begin(), offsets.end(), has_key)) return false;
  KeyHolds& holds = more().keys;
  holds.start(committed_);
  try {
    for (Offset at = committed_; at < next_; ++at) {
      holds.push(is_settled(at) ? KeyHolds::no_key : whole_partition ? 1 : keys(at));
    }
  } catch (...) {
    holds.stop();
    throw;
  }
  return true;
}

/// Makes sure that `hold` of each of @p offsets, in order, cannot fail. Unless it follows, nothing
/// has changed but what is in memory.
template <class Keys>
void LeaseTable::prepare_hold(std::span<const Offset> offsets, bool take_back, Keys& keys) {
  if (offsets.empty() || !track_keys(offsets, keys)) return;
  KeyHolds& holds = more_->keys;
  const auto unsettled = [&](Offset at) { return !is_settled(at); };
  try {
    if (offsets.size() > 1) {
      holds.make_all(offsets, unsettled);
    } else if (holds.hash(offsets[0]) != KeyHolds::no_key &&
               holds.queue_of(offsets[0]) == nullptr) {
      holds.make(holds.hash(offsets[0]), unsettled);
    }
    for (const Offset offset : offsets) {
      KeyHolds::Queue* const queue = holds.queue_of(offset);
      // The first one of a key takes back what the others would.
      if (!take_back || queue == nullptr || std::exchange(queue->marked, true)) continue;
      for_each_behind(*queue, offset, [&](Offset at) { make_entry(at); });
    }
    holds.clear_marks(offsets);
  } catch (...) {
    holds.forget_unheld(offsets);
    throw;
  }
}

/// Calls @p visit with the unsettled offsets of @p queue after @p offset that may be on lease.
template <class Visit>
void LeaseTable::for_each_behind(const KeyHolds::Queue& queue, Offset offset, Visit visit) {
  const auto head = queue.offsets.begin() + static_cast<std::ptrdiff_t>(queue.head);
  const auto behind = std::upper_bound(head, queue.offsets.end(), offset);
  for (auto at = behind; at != queue.offsets.end() && *at < queue.taken_from; ++at) {
    if (!is_settled(*at)) visit(*at);
  }
}

/// @p offset, which is not on lease, holds its key. With @p take_back, what is behind it and on
///   lease comes back, too.
inline void LeaseTable::hold(Offset offset, bool take_back) {
  KeyHolds::Queue* const queue = tracks_keys() ? more_->keys.queue_of(offset) : nullptr;
  if (queue == nullptr) return;
  LeaseEntry& special = *entry(offset);
  if (!special.holds_key()) {
    special.set_holds_key(true);
    more_->keys.add_holder(*queue);
    hold_behind(*queue, offset, take_back);
  }
  while (is_settled(queue->offsets[queue->head])) ++queue->head;
  const bool is_front = queue->offsets[queue->head] == offset;
  if (!is_front && special.state() == State::pending) special.set_state(State::blocked);
}

inline void LeaseTable::hold_behind(KeyHolds::Queue& queue, Offset offset, bool take_back) {
  for_each_behind(queue, offset, [&](Offset at) {
    LeaseEntry* const special = entry(at);
    const bool on_lease = special == nullptr || special->state() == State::leased;
    if (on_lease && !take_back) return;
    if (on_lease) {
      back_to_pending(at, Instant::min(), false);
      if (!special->holds_key()) {
        special->set_holds_key(true);
        more_->keys.add_holder(queue);
      }
    }
    if (special->state() == State::pending) special->set_state(State::blocked);
  });
  if (take_back) queue.taken_from = std::min(queue.taken_from, offset);
}

}  // namespace brook::detail
