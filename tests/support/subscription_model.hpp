#pragma once

// What a Subscription promises, as naive as it can be: one state per offset, and every question
// answered by looking at all of them. Written from the rules, not from the code; the rules that are
// easy to get wrong are said where they are applied.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <brook/core/time.hpp>
#include <brook/delivery/lease_table.hpp>
#include <brook/delivery/settle.hpp>
#include <brook/delivery/subscription_config.hpp>

namespace support {

/// The log as the model sees it. Offsets are indices.
struct LogModel {
  struct Message {
    int key = 0;  ///< 0 = none.
    std::uint64_t size = 0;
    bool for_others = false;  ///< Addressed to another group.
  };
  std::vector<Message> messages{};
  std::uint64_t start = 0;
};

class SubscriptionModel {
 public:
  using Result = brook::SettleResult;
  using Instant = brook::Instant;
  using Timestamp = brook::Timestamp;

  /// One hand-out.
  struct Lease {
    std::uint64_t offset = 0;
    std::uint32_t number = 0;
    std::uint64_t serial = 0;  ///< Never given twice.
    std::uint64_t life = 0;    ///< Rises with every seek.
    std::uint64_t owner = 0;   ///< Rises with every release.
  };
  struct Letter {
    std::uint64_t offset = 0;
    std::uint32_t deliveries = 0;
    brook::Failure failure{};
    Instant retry_at = Instant::min();
    std::uint32_t tries = 0;
    bool detached = false;  ///< A seek gave the offset a new life since.
  };

  SubscriptionModel(const LogModel& log, const brook::SubscriptionConfig& config,
                    std::uint64_t start)
      : log_(log), config_(config) {
    restart(start);
  }

  /// Hands out by offset whatever may go, whether for the first time or again, and stops at the
  /// first message that does not fit: it never skips to a later one.
  std::vector<Lease> poll(std::uint64_t max_messages, std::uint64_t max_bytes, Instant now,
                          Timestamp wall) {
    look(now, wall);
    std::vector<Lease> out;
    for (std::uint64_t o = committed();
         o < end() && o < committed() + config_.max_ack_window.value(); ++o) {
      if (out.size() == max_messages || in_flight() >= config_.max_outstanding_messages.value())
        break;
      Entry& e = entries_[o];
      const bool due = e.state == State::fresh || (e.state == State::pending && e.time <= now);
      // The order of the partition holds back first deliveries before it is known what they are.
      if (!due || (config_.ordering == brook::Ordering::partition && waits(o))) continue;
      if (e.state == State::fresh && log_.messages[o].for_others) {
        e.state = State::settled;
        continue;
      }
      if (waits(o)) continue;
      // The first message of a poll always passes the poll's bytes, and one always passes the
      // outstanding bytes.
      const std::uint64_t size = log_.messages[o].size;
      if (!out.empty() && size > max_bytes) break;
      if (in_flight() != 0 && bytes_out() + size > config_.max_outstanding_bytes.value()) break;
      max_bytes -= std::min(max_bytes, size);
      out.push_back(hand_out(o, now));
    }
    return out;
  }

  /// Reads no clock: what is overdue but was not seen to be is on lease. Does not look at the log
  /// either.
  Result ack(const Lease& lease) {
    const Result result = judge(lease, true);
    if (result != Result::applied) return result;
    entries_[lease.offset].state = State::settled;
    ++stats_.acked;
    return result;
  }
  Result nack(const Lease& lease, const brook::NackOptions& options, Instant now, Timestamp wall) {
    look(now, wall);
    const Result result = judge(lease, false);
    if (result != Result::applied) return result;
    Entry& e = entries_[lease.offset];
    ++stats_.nacked;
    if (charge(lease.offset, options.error, wall)) return result;
    const brook::Duration wait = options.delay.value_or(backoff(e.charged));
    to_pending(lease.offset, brook::saturating_add(now, wait));
    take_back_behind(lease.offset);
    return result;
  }
  Result reject(const Lease& lease, std::string_view error, Instant now, Timestamp wall) {
    look(now, wall);
    const Result result = judge(lease, false);
    if (result != Result::applied) return result;
    note_failure(lease.offset, error, wall);
    give_up(lease.offset);
    return result;
  }
  Result extend(const Lease& lease, brook::Duration by, Instant now, Timestamp wall) {
    look(now, wall);
    const Result result = judge(lease, false);
    if (result != Result::applied) return result;
    Entry& e = entries_[lease.offset];
    if (by.is_zero()) {
      to_pending(lease.offset, now);
      take_back_behind(lease.offset);
    } else {
      e.time = std::min(brook::saturating_add(now, by),
                        brook::saturating_add(e.handed_out, config_.max_lease));
    }
    return result;
  }

  /// Ends leases. All that are over end together; only then do those that failed take back what is
  /// behind them.
  void look(Instant now, Timestamp wall) {
    lose();
    std::vector<std::uint64_t> failed;
    for (std::uint64_t o = committed(); o < end(); ++o) {
      Entry& e = entries_[o];
      if (e.state != State::leased || e.time > now) continue;
      ++stats_.expired;
      if (charge(o, "ack deadline passed", wall)) continue;
      to_pending(o, now);
      e.ackable = true;
      failed.push_back(o);
    }
    for (const std::uint64_t o : failed) take_back_behind(o);
  }
  /// Counts what was trimmed. While a dead letter cannot be written, nothing beyond the window is
  /// looked at.
  void lose() {
    for (std::uint64_t o = committed();
         o < log_.start && o < committed() + config_.max_ack_window.value(); ++o) {
      Entry& e = entries_[o];
      if (e.state == State::settled || e.state == State::dead_lettering) continue;
      const bool seen = e.serial != 0;
      e.state = State::settled;
      ++stats_.lost;
      if (!losses_.empty() && losses_.back().range.last.value() == o &&
          losses_.back().handed_out == seen) {
        ++losses_.back().range.last;
      } else {
        losses_.push_back({.range = {.first = brook::Offset{o}, .last = brook::Offset{o + 1}},
                           .handed_out = seen});
      }
    }
  }
  void release(Instant now, Timestamp wall) {
    look(now, wall);
    for (std::uint64_t o = committed(); o < end(); ++o) {
      if (entries_[o].state == State::leased) to_pending(o, now);
    }
    ++owner_;
  }
  void seek(std::uint64_t to) {
    lose();
    for (Letter& letter : letters_) letter.detached = true;
    ++life_;
    restart(to);
  }
  /// @p takes(letter) is whether the sink takes it.
  template <class Takes>
  void drain(Instant now, Takes takes) {
    std::vector<Letter> left;
    for (Letter& letter : letters_) {
      if (letter.retry_at <= now && takes(letter)) {
        if (letter.detached) continue;
        entries_[letter.offset].state = State::settled;
        ++stats_.dead_lettered;
        continue;
      }
      if (letter.retry_at <= now)
        letter.retry_at = brook::saturating_add(now, backoff(++letter.tries));
      left.push_back(letter);
    }
    letters_ = left;
  }

  std::uint64_t committed() {
    entries_.resize(end());
    while (base_ < end() && entries_[base_].state == State::settled) ++base_;
    return base_;
  }
  std::uint64_t in_flight() { return count(State::leased); }
  std::uint64_t lag() {
    lose();
    std::uint64_t open = 0;
    for (std::uint64_t o = committed(); o < end(); ++o) {
      const State state = entries_[o].state;
      if (state == State::dead_lettering || (state != State::settled && o >= log_.start)) ++open;
    }
    return open;
  }
  /// Ends of leases, and of the backoffs of those that wait for nothing else; a dead letter that
  /// may be offered counts as now.
  Instant next_event(Instant now) {
    Instant next = Instant::max();
    for (std::uint64_t o = committed(); o < end(); ++o) {
      const Entry& e = entries_[o];
      const bool backing_off =
          e.state == State::pending && e.time > now && e.time < next && !waits(o);
      if (e.state == State::leased || backing_off) next = std::min(next, e.time);
    }
    for (const Letter& letter : letters_) next = std::min(next, std::max(now, letter.retry_at));
    return next;
  }
  bool live(const Lease& lease, Instant now) {
    entries_.resize(end());
    const Entry& e = entries_[lease.offset];
    return lease.life == life_ && lease.owner == owner_ && e.state == State::leased &&
           e.serial == lease.serial && now < e.time;
  }
  std::vector<brook::Loss> take_losses() {
    lose();
    return std::exchange(losses_, {});
  }
  const std::vector<Letter>& letters() const { return letters_; }
  const brook::DeliveryStats& stats() const { return stats_; }

 private:
  enum class State { fresh, leased, pending, dead_lettering, settled };

  struct Entry {
    State state = State::fresh;
    Instant time{};  ///< Deadline, or when it is due again.
    Instant handed_out{};
    std::uint64_t serial = 0;  ///< Of the newest hand-out; 0 = there was none.
    std::uint32_t charged = 0;
    bool returned = false;  ///< Came back to pending at least once.
    bool ackable = false;   ///< The newest lease ended by its deadline.
    brook::Failure failure{};
  };

  std::uint64_t end() const { return log_.messages.size(); }
  void restart(std::uint64_t at) {
    entries_.assign(end(), Entry{});
    for (std::uint64_t o = 0; o < at; ++o) entries_[o].state = State::settled;
    base_ = at;
  }
  std::uint64_t count(State state) {
    std::uint64_t n = 0;
    for (std::uint64_t o = committed(); o < end(); ++o) n += entries_[o].state == state ? 1U : 0U;
    return n;
  }
  std::uint64_t bytes_out() {
    std::uint64_t bytes = 0;
    for (std::uint64_t o = committed(); o < end(); ++o) {
      if (entries_[o].state == State::leased) bytes += log_.messages[o].size;
    }
    return bytes;
  }

  bool same_order(std::uint64_t a, std::uint64_t b) const {
    if (config_.ordering == brook::Ordering::none) return false;
    if (config_.ordering == brook::Ordering::partition) return true;
    return log_.messages[a].key != 0 && log_.messages[a].key == log_.messages[b].key;
  }
  /// Whatever was handed out before waits until every earlier message of its key is settled. What
  /// was not waits until nothing of its key is left that came back or is on its way to the dead
  /// letters.
  bool waits(std::uint64_t offset) {
    const bool again = entries_[offset].serial != 0;
    for (std::uint64_t o = committed(); o < end(); ++o) {
      const Entry& e = entries_[o];
      if (o == offset || e.state == State::settled || !same_order(o, offset)) continue;
      if (again ? o < offset : e.returned || e.state == State::dead_lettering) return true;
    }
    return false;
  }

  Lease hand_out(std::uint64_t offset, Instant now) {
    Entry& e = entries_[offset];
    ++stats_.deliveries;
    if (e.serial != 0) ++stats_.redeliveries;
    e.serial = ++serial_;
    e.handed_out = now;
    e.time = brook::saturating_add(now, config_.ack_deadline);
    e.ackable = false;
    e.state = State::leased;
    if (config_.guarantee == brook::Guarantee::at_most_once) {
      e.state = State::settled;
      ++stats_.acked;
    }
    return {.offset = offset,
            .number = 1 + e.charged,
            .serial = e.serial,
            .life = life_,
            .owner = owner_};
  }
  Result judge(const Lease& lease, bool may_be_late) {
    entries_.resize(end());
    const Entry& e = entries_[lease.offset];
    if (lease.life != life_) return Result::stale;
    if (lease.owner != owner_) return Result::fenced;
    if (lease.offset < log_.start) return Result::below_start;
    if (e.state == State::settled) return Result::already_settled;
    const bool late = may_be_late && e.ackable && e.state == State::pending;
    return e.serial == lease.serial && (e.state == State::leased || late) ? Result::applied
                                                                          : Result::lease_lost;
  }
  void note_failure(std::uint64_t offset, std::string_view error, Timestamp wall) {
    Entry& e = entries_[offset];
    if (++e.charged == 1) e.failure.first = wall;
    e.failure.last = wall;
    e.failure.error = error;
  }
  /// True if that was the last time.
  bool charge(std::uint64_t offset, std::string_view error, Timestamp wall) {
    note_failure(offset, error, wall);
    if (!config_.max_deliveries || entries_[offset].charged < config_.max_deliveries->value())
      return false;
    give_up(offset);
    return true;
  }
  /// It will not come again: it takes nothing back.
  void give_up(std::uint64_t offset) {
    Entry& e = entries_[offset];
    if (config_.exhausted == brook::Exhausted::drop) {
      e.state = State::settled;
      ++stats_.dropped;
      return;
    }
    e.state = State::dead_lettering;
    letters_.push_back({.offset = offset, .deliveries = e.charged, .failure = e.failure});
  }
  void to_pending(std::uint64_t offset, Instant time) {
    Entry& e = entries_[offset];
    e.state = State::pending;
    e.time = time;
    e.returned = true;
    e.ackable = false;
  }
  /// Later ones of the key that are on lease come back, uncharged.
  void take_back_behind(std::uint64_t offset) {
    for (std::uint64_t o = offset + 1; o < end(); ++o) {
      if (entries_[o].state == State::leased && same_order(o, offset))
        to_pending(o, Instant::min());
    }
  }
  brook::Duration backoff(std::uint32_t failures) const {
    std::chrono::nanoseconds wait = config_.retry.min_backoff.nanoseconds();
    for (std::uint32_t i = 1; i < failures && wait < config_.retry.max_backoff.nanoseconds(); ++i)
      wait *= 2;
    return std::min(wait, config_.retry.max_backoff.nanoseconds());
  }

  const LogModel& log_;
  const brook::SubscriptionConfig config_;
  std::vector<Entry> entries_;
  std::uint64_t base_ = 0;
  std::uint64_t serial_ = 0;
  std::uint64_t life_ = 0;
  std::uint64_t owner_ = 0;
  std::vector<Letter> letters_;
  std::vector<brook::Loss> losses_;
  brook::DeliveryStats stats_{};
};

}  // namespace support
