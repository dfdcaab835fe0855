#pragma once

// The hand-out half of LeaseTable: facts, first deliveries, redeliveries and movement. Included by
// lease_table.hpp.
#include <brook/delivery/lease_table.hpp>

namespace brook::detail {

inline const Failure* LeaseTable::failure(Offset offset) const {
  if (!failed()) return nullptr;
  if (charged(offset) == 0) return nullptr;
  const auto found = more_->failures.find(offset.value());
  return found == more_->failures.end() ? nullptr : &found->second;
}

inline Instant LeaseTable::deadline_of(Offset offset) const noexcept {
  const LeaseEntry* const special = entry(offset);
  return special != nullptr ? special->time : runs_.deadline(runs_.find(offset));
}

inline bool LeaseTable::is_live(const Receipt& receipt, Instant now) const noexcept {
  return judge(receipt, Offset{}, false) == SettleResult::applied &&
         now < deadline_of(receipt.offset);
}

inline Instant LeaseTable::next_event(Instant now) const noexcept {
  Instant next = Instant::max();
  if (in_runs_ != 0) {
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_.deadline(i) >= next) continue;
      const Offset first = std::max(committed_, runs_.first(i, next_));
      const Offset last = i + 1 < runs_.size() ? runs_.first(i + 1, next_) : next_;
      if (first >= last || (failed() && !more_->exceptions.any_plain(first, last))) continue;
      next = runs_.deadline(i);
      if (runs_.in_order()) break;
    }
  }
  if (failed()) {
    more_->exceptions.for_each([&](Offset, const LeaseEntry& special) {
      const bool backing_off = special.state() == State::pending && special.time > now;
      if (special.state() == State::leased || backing_off) next = std::min(next, special.time);
    });
  }
  return next;
}

inline std::uint64_t LeaseTable::count(State state, Instant now) const noexcept {
  std::uint64_t count = state == State::leased ? in_runs_ : 0;
  if (failed()) {
    more_->exceptions.for_each([&](Offset, const LeaseEntry& special) {
      if (special.state() == state && (state != State::pending || special.time <= now)) ++count;
    });
  }
  return count;
}

/// Makes sure that `note_fresh` cannot fail @p count times.
inline void LeaseTable::prepare_fresh(std::size_t count) {
  if (tracks_keys()) more_->keys.reserve(count);
  if (limits_bytes()) sizes_.reserve(count);
}

inline void LeaseTable::note_fresh(std::uint64_t key_hash, std::uint64_t size) {
  if (tracks_keys()) more_->keys.push(key_hash);
  if (limits_bytes()) sizes_.push(static_cast<std::uint32_t>(size / 8));
}

inline void LeaseTable::pass_gap(Offset to) {
  if (to <= next_) return;
  const Offset from = next_;
  const bool nothing_open = committed_ == next_;
  prepare_fresh(to - from);
  if (!nothing_open) settled_ahead_ += more().exceptions.settle_plain(from, to);
  for (Offset at = from; at < to && (tracks_keys() || limits_bytes()); ++at) note_fresh(0, 0);
  next_ = to;
  if (nothing_open) {
    committed_ = to;
    if (limits_bytes()) sizes_.drop_below(committed_);
  }
  tidy();
}

inline void LeaseTable::settle_unseen() {
  if (committed_ != next_) more().exceptions.reserve(next_);
  prepare_fresh(1);
  note_fresh(KeyHolds::no_key, 0);
  if (committed_ == next_) {
    committed_ = ++next_;
    if (limits_bytes()) sizes_.drop_below(committed_);
  } else {
    more_->exceptions.settle(next_);
    ++settled_ahead_;
    ++next_;
  }
  tidy();
}

inline void LeaseTable::push_run(Offset first, Instant now) {
  const Instant deadline = saturating_add(now, config_->ack_deadline);
  // A run ends where the next begins: with the same deadline the last one simply goes on.
  if (runs_.empty() || in_runs_ == 0 || runs_.deadline(runs_.size() - 1) != deadline) {
    if (in_runs_ == 0) runs_.clear();
    runs_.push(first, deadline);
  }
  earliest_ = std::min(earliest_, deadline);
  earliest_deadline_ = std::min(earliest_deadline_, deadline);
}

template <class SizeOf>
void LeaseTable::lease_run(std::uint32_t count, Instant now, SizeOf size_of) {
  if (config_->guarantee == Guarantee::at_most_once) {
    next_ += count;
    committed_ = next_;
    stats_.acked += count;
  } else {
    prepare_fresh(count);
    push_run(next_, now);
    if (limits_bytes()) {
      std::uint64_t bytes = 0;
      for (std::uint32_t i = 0; i < count; ++i) {
        sizes_.push(static_cast<std::uint32_t>(size_of(i) / 8));
        bytes += size_of(i);
      }
      slots_->bytes.fetch_add(bytes, std::memory_order_relaxed);
    }
    next_ += count;
    in_runs_ += count;
    slots_->messages.fetch_add(count, std::memory_order_relaxed);
  }
  stats_.deliveries += count;
}

inline std::optional<LeaseTable::Lease> LeaseTable::lease_or_hold(std::uint64_t key_hash,
                                                                  std::uint64_t size, Instant now) {
  const Offset offset = next_;
  if (config_->guarantee == Guarantee::at_most_once) {
    lease_run(1, now, [&](std::uint32_t) { return size; });
    return Lease{.offset = offset, .attempt = 0, .number = 1};
  }
  prepare_fresh(1);
  KeyHolds::Queue* const queue =
      tracks_keys() && key_hash != KeyHolds::no_key ? more_->keys.find(key_hash) : nullptr;
  if (queue != nullptr) {
    wait_behind(*queue, now);
  } else {
    push_run(offset, now);
    ++in_runs_;
    ++stats_.deliveries;
    slots_->messages.fetch_add(1, std::memory_order_relaxed);
    if (limits_bytes())
      slots_->bytes.fetch_add(size & ~std::uint64_t{7}, std::memory_order_relaxed);
  }
  note_fresh(key_hash, size);
  ++next_;
  if (queue != nullptr) return std::nullopt;
  return Lease{.offset = offset, .attempt = 0, .number = 1};
}

/// The message at `next` has to wait for the end of @p queue.
inline void LeaseTable::wait_behind(KeyHolds::Queue& queue, Instant now) {
  queue.offsets.push_back(next_);
  try {
    LeaseEntry& waiting = more_->exceptions.insert(next_);
    waiting.attempt = LeaseEntry::never;
    waiting.set_state(State::blocked);
    waiting.time = now;
  } catch (...) {
    queue.offsets.pop_back();
    throw;
  }
}

inline void LeaseTable::due(Instant now, std::size_t most, std::vector<Offset>& offsets) {
  offsets.clear();
  if (!failed() || now < earliest_) return;
  const auto entries = more_->exceptions.for_each_due(now, [&](Offset offset, LeaseEntry& special) {
    if (special.state() == State::leased) return special.time;
    if (special.state() != State::pending) return Instant::max();
    if (special.time <= now && offsets.size() < most) offsets.push_back(offset);
    return special.time;
  });
  Instant runs = Instant::max();
  for (std::size_t i = 0; i < runs_.size() && in_runs_ != 0; ++i) {
    runs = std::min(runs, runs_.deadline(i));
    if (runs_.in_order()) break;
  }
  earliest_ = std::min({entries.visited, entries.others, runs});
}

inline LeaseTable::Lease LeaseTable::redeliver(Offset offset, Instant now) {
  LeaseEntry& special = *entry(offset);
  if (config_->max_lease != Duration::max()) more_->lease_starts[offset.value()] = now;
  if (special.attempt != LeaseEntry::never) ++stats_.redeliveries;
  special.attempt = special.attempt == LeaseEntry::never ? 0 : special.attempt + 1;
  special.set_state(State::leased);
  special.set_ackable(false);
  special.time = saturating_add(now, config_->ack_deadline);
  schedule(offset, special.time);
  earliest_deadline_ = std::min(earliest_deadline_, special.time);
  ++leased_entries_;
  ++stats_.deliveries;
  slots_->messages.fetch_add(1, std::memory_order_relaxed);
  if (limits_bytes()) {
    slots_->bytes.fetch_add(std::uint64_t{sizes_[offset]} * 8, std::memory_order_relaxed);
  }
  return {.offset = offset, .attempt = special.attempt, .number = special.charged() + 1};
}

template <class Keys>
void LeaseTable::release_all(Instant now, Keys& keys) {
  std::vector<Offset> leased;
  if (in_runs_ != 0) {
    const auto add = [&](Offset offset) { leased.push_back(offset); };
    more().exceptions.for_each_plain(committed_, next_, add);
  }
  if (leased_entries_ != 0) {
    more_->exceptions.for_each([&](Offset offset, const LeaseEntry& special) {
      if (special.state() == State::leased) leased.push_back(offset);
    });
    std::sort(leased.begin(), leased.end());
  }
  for (const Offset offset : leased) make_entry(offset);
  prepare_hold(leased, true, keys);
  // From here on nothing fails.
  for (const Offset offset : leased) back_to_pending(offset, now, false);
  for (const Offset offset : leased) hold(offset, true);
  runs_.clear();
  ++epoch_;
}

inline void LeaseTable::seek(Offset to) {
  std::uint64_t bytes = 0;
  if (limits_bytes()) {
    for (Offset at = committed_; at < next_; ++at) {
      const LeaseEntry* const special = entry(at);
      const bool leased = special == nullptr ? !is_settled(at) : special->state() == State::leased;
      if (leased) bytes += std::uint64_t{sizes_[at]} * 8;
    }
    sizes_.start(to);
  }
  slots_->messages.fetch_sub(in_flight(), std::memory_order_seq_cst);
  slots_->bytes.fetch_sub(bytes, std::memory_order_seq_cst);
  runs_.clear();
  more_.reset();
  in_runs_ = 0;
  leased_entries_ = 0;
  settled_ahead_ = 0;
  earliest_ = Instant::max();
  earliest_deadline_ = Instant::max();
  committed_ = to;
  next_ = to;
  void_epoch_ = ++epoch_;
}

inline void LeaseTable::note_loss(OffsetRange range, bool handed_out, std::vector<Loss>& losses) {
  if (range.empty()) return;
  if (!losses.empty() && losses.back().range.last == range.first &&
      losses.back().handed_out == handed_out) {
    losses.back().range.last = range.last;
  } else {
    losses.push_back({.range = range, .handed_out = handed_out});
  }
  stats_.lost += range.size();
}

inline void LeaseTable::lose(Offset offset, std::vector<Loss>& losses) {
  if (offset != committed_) more().exceptions.reserve(offset);
  const LeaseEntry* const special = entry(offset);
  const bool handed_out = special == nullptr || special->attempt != LeaseEntry::never;
  note_loss({.first = offset, .last = offset + 1}, handed_out, losses);
  settle(offset);
}

inline void LeaseTable::lose_below(Offset start, std::vector<Loss>& losses) {
  const Offset seen = std::min(start, next_);
  for (Offset at = committed_; at < seen; at = std::max(at + 1, committed_)) {
    if (is_settled(at)) continue;
    const LeaseEntry* const special = entry(at);
    // A message on its way to the dead-letter topic is pinned: trim does not take it.
    if (special != nullptr && special->state() == State::dead_lettering) continue;
    lose(at, losses);
  }
  if (start <= next_) return;
  if (committed_ == next_) {
    note_loss({.first = next_, .last = start}, false, losses);
    committed_ = start;
    next_ = start;
    if (limits_bytes()) sizes_.start(start);
    tidy();
    return;
  }
  // A dead letter that cannot be written keeps committed where it is; the window bounds what is
  // remembered beyond it.
  const Offset seen_now = std::min(start, std::max(next_, window_end()));
  losses.reserve(losses.size() + 1);
  const OffsetRange range{.first = next_, .last = seen_now};
  pass_gap(seen_now);
  note_loss(range, false, losses);
}

}  // namespace brook::detail
