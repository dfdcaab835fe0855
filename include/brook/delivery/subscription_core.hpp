#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/core/error.hpp>
#include <brook/delivery/batch.hpp>
#include <brook/delivery/lease_table.hpp>
#include <brook/delivery/readable_log.hpp>

namespace brook {

/// What a dead-letter topic is told about a message that a group gave up on.
struct DeadLetter {
  StoredMessage message{};       ///< Valid during the call that shows it.
  std::uint32_t deliveries = 0;  ///< How often it was handed out and failed.
  Failure failure{};
};

namespace detail {

/// What a poll may still hand out.
struct PollBudget {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  bool taken = false;  ///< Something was handed out: from now on the byte limit is strict.

  void take(std::uint64_t count, std::uint64_t size) noexcept {
    messages -= count;
    bytes -= std::min(bytes, size);
    taken = true;
  }
};

/// Brings a `LeaseTable` and a log together: reads what the table decides to hand out, and tells it
/// what it must know of the messages. Acts, but waits for nothing and locks nothing; one caller at
/// a time.
template <ReadableLog Log>
class SubscriptionCore {
 public:
  SubscriptionCore(const Log& log, const SubscriptionConfig& config, Offset start,
                   Outstanding& slots)
      : log_(&log), config_(&config), slots_(&slots), table_(config, start, slots), reader_(log) {}

  [[nodiscard]] const LeaseTable& table() const noexcept { return table_; }
  [[nodiscard]] const Log& log() const noexcept { return *log_; }
  /// A poll might hand something out, or has leases to end.
  [[nodiscard]] bool has_work(Instant now) const noexcept {
    return table_.next() < log_->visible_end() || table_.earliest_event() <= now;
  }
  /// When something changes by itself next: a lease, a backoff, or the wait of a dead letter ends.
  /// @p now if a dead letter waits for nothing but to be written.
  [[nodiscard]] Instant next_event(Instant now) const noexcept {
    return std::min(table_.next_event(now), std::max(next_dead_letter(), now));
  }
  /// Not later than `next_event`, and quick.
  [[nodiscard]] Instant earliest_event() const noexcept {
    return std::min(table_.earliest_event(), next_dead_letter());
  }
  /// Gives up the pin on the segment read last: nothing is expected soon.
  void rest() noexcept { reader_.rest(); }
  /// The first message at or above @p from. @throws OffsetTooOld never: empty then
  [[nodiscard]] RecordRun read_one(Offset from) {
    try {
      return reader_.read_run(from, {.max_messages = 1});
    } catch (const OffsetTooOld&) {
      return {};
    }
  }

  /// Ends leases whose time has come and counts what retention took.
  void refresh(Instant now) {
    lose_trimmed();
    if (now >= table_.earliest_deadline()) {
      MessageFinder finder(*this);
      table_.expire(now, log_->clock().wall_now(), finder);
    }
    collect_dead_letters();
  }

  /// Hands out what is due, then what is new, as far as @p budget and the limits of the group
  /// allow.
  void poll_into(BatchState& batch, const std::shared_ptr<LeaseSource>& source, std::uint64_t id,
                 PollBudget& budget, Instant now) {
    refresh(now);
    // What has just become a dead letter holds its key, unless the caller has written it by now.
    hold_dead_letters();
    const std::size_t size_before = batch.size();
    try {
      if (hand_out_again(batch, source, id, budget, now))
        hand_out_first(batch, source, id, budget, now);
    } catch (...) {
      // What was handed out has to arrive; whatever is wrong will show again when nothing was.
      if (batch.size() == size_before) throw;
    }
  }

  // -------------------------------------------------------------------------------------- settling

  SettleResult ack(const Receipt& receipt) { return table_.ack(receipt, log_->start()); }
  void ack(const BatchPiece& piece, const Delivery* deliveries, SettleCounts& counts) {
    if (piece.run) {
      table_.ack_run(deliveries[piece.first].offset(), static_cast<std::uint32_t>(piece.count),
                     piece.epoch, log_->start(), counts);
      return;
    }
    for (std::size_t i = piece.first; i < piece.first + piece.count; ++i) {
      table_.prepare_ack(deliveries[i].receipt(), log_->start());
    }
    for (std::size_t i = piece.first; i < piece.first + piece.count; ++i) {
      counts.add(table_.ack(deliveries[i].receipt(), log_->start()));
    }
  }
  SettleResult nack(const Receipt& receipt, const NackOptions& options, Instant now) {
    refresh(now);
    MessageFinder finder(*this);
    const auto result =
        table_.nack(receipt, log_->start(), now, log_->clock().wall_now(), options, finder);
    try_to([&] { collect_dead_letters(); });
    return result;
  }
  SettleResult reject(const Receipt& receipt, std::string_view error, Instant now) {
    refresh(now);
    const auto result = table_.reject(receipt, log_->start(), log_->clock().wall_now(), error);
    try_to([&] { collect_dead_letters(); });
    return result;
  }
  SettleResult extend(const Receipt& receipt, Duration by, Instant now) {
    refresh(now);
    MessageFinder finder(*this);
    return table_.extend(receipt, log_->start(), now, by, finder);
  }

  // -------------------------------------------------------------------------------------- movement

  void seek(Offset to) {
    if (to < log_->start()) throw OffsetTooOld(to, log_->start());
    if (to > log_->visible_end()) throw OffsetOutOfRange(to, log_->visible_end());
    lose_trimmed();
    collect_dead_letters();
    for (auto& letter : dead_letters_) letter.detached = true;
    table_.seek(to);
  }
  void release_all(Instant now) {
    refresh(now);
    MessageFinder finder(*this);
    table_.release_all(now, finder);
  }
  void lose_trimmed() {
    if (table_.committed() < log_->start()) table_.lose_below(log_->start(), losses_);
  }
  [[nodiscard]] std::vector<Loss> take_losses() { return std::exchange(losses_, {}); }

  // ---------------------------------------------------------------------------------- dead letters

  [[nodiscard]] bool has_dead_letters() const noexcept { return dead_lettering() != 0; }
  [[nodiscard]] std::size_t dead_lettering() const noexcept {
    return dead_letters_.size() + table_.dead_letters_to_take();
  }
  /// Those of them that are unsettled offsets of the table, and not leftovers from before a seek.
  [[nodiscard]] std::uint64_t dead_lettering_here() const noexcept {
    std::uint64_t count = table_.dead_letters_to_take();
    for (const auto& letter : dead_letters_) count += letter.detached ? 0 : 1;
    return count;
  }

  /// Gives every dead letter whose time has come to @p sink; one that it throws at comes again
  /// after a backoff, and holds its key until then.
  template <class Sink>
  void flush_dead_letters(Instant now, Sink sink) {
    struct EraseWritten {
      ~EraseWritten() {
        std::erase_if(letters, [](const auto& letter) { return letter.written; });
      }
      std::vector<PendingLetter>& letters;
    };
    collect_dead_letters();
    const EraseWritten at_the_end{dead_letters_};
    for (std::size_t i = 0; i < dead_letters_.size(); ++i) {
      if (dead_letters_[i].retry_at > now || !offer(i, now, sink)) {
        try_to([&] { hold(dead_letters_[i]); });
        continue;
      }
      // Not twice, whatever fails from here on.
      dead_letters_[i].written = true;
      if (!dead_letters_[i].detached) table_.dead_letter_done(dead_letters_[i].offset);
    }
  }

  /// Makes dead letters that are still here hold their keys.
  void hold_dead_letters() {
    for (auto& letter : dead_letters_) hold(letter);
  }
  /// The same after something that is done and cannot be undone.
  void try_to_hold_dead_letters() noexcept {
    try_to([&] { hold_dead_letters(); });
  }

  /// Messages below the visible end that are not settled, and their bytes.
  [[nodiscard]] RangeUsage unsettled() const {
    RangeUsage open = log_->usage(table_.next(), log_->visible_end());
    open.messages += table_.unsettled();
    open.bytes += log_->usage(table_.committed(), table_.next()).bytes;
    return open;
  }

 private:
  struct PendingLetter {
    Offset offset{};
    StoredMessage message{};
    Pin pin{};  ///< Keeps the message in memory, whatever is trimmed.
    std::uint32_t deliveries = 0;
    Failure failure{};
    Instant retry_at = Instant::min();
    std::uint32_t tries = 0;
    bool held = false;
    bool detached = false;  ///< A seek has given the offset a new life since.
    bool written = false;
  };

  /// Looks up single messages; quick when asked in offset order. As a function of an offset: the
  /// hash of the key there.
  class MessageFinder {
   public:
    explicit MessageFinder(SubscriptionCore& core) noexcept : core_(core) {}

    std::optional<StoredMessage> find(Offset offset) {
      if (run_.empty() || offset < run_.first() || offset > run_.last()) {
        if (offset < core_.log_->start()) return core_.find_dead_letter(offset);
        try {
          run_ = core_.reader_.read_run(offset, {.max_messages = MessageCount::unlimited(),
                                                 .max_bytes = ByteSize::unlimited()});
        } catch (const OffsetTooOld&) {
          return std::nullopt;
        }
        if (run_.empty() || offset < run_.first()) return std::nullopt;
      }
      std::uint32_t low = 0;
      std::uint32_t high = run_.size();
      if (run_.dense()) low = static_cast<std::uint32_t>(offset - run_.first());
      while (!run_.dense() && low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (run_.offset(middle) < offset) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      if (low >= run_.size() || run_.offset(low) != offset) return std::nullopt;
      return run_[low];
    }
    std::uint64_t operator()(Offset offset) {
      const auto message = find(offset);
      return message ? hash_of(message->key()) : KeyHolds::no_key;
    }
    [[nodiscard]] const Pin& pin() const noexcept { return run_.pin(); }

   private:
    SubscriptionCore& core_;
    RecordRun run_;
  };

  static std::uint64_t hash_of(Bytes key) noexcept {
    if (key.is_null()) return KeyHolds::no_key;
    const std::uint64_t hash = std::hash<std::string_view>{}(key.text());
    return hash == KeyHolds::no_key ? 1 : hash;
  }
  [[nodiscard]] std::uint64_t key_hash(const StoredMessage& message) const noexcept {
    if (!table_.tracks_keys()) return KeyHolds::no_key;
    return config_->ordering == Ordering::partition ? 1 : hash_of(message.key());
  }

  [[nodiscard]] std::uint64_t free_slots() const noexcept {
    const std::uint64_t used = slots_->messages.load(std::memory_order_seq_cst);
    const std::uint64_t most = config_->max_outstanding_messages.value();
    return used < most ? most - used : 0;
  }
  /// Whether all messages of a run of @p size bytes stay below the byte limit.
  [[nodiscard]] bool bytes_allow(std::uint64_t size) const noexcept {
    return !table_.limits_bytes() || slots_->bytes.load(std::memory_order_seq_cst) + size <=
                                         config_->max_outstanding_bytes.value();
  }
  /// Whether a message of @p size bytes may go out now. The first of a poll always fits its
  /// budget, and one fits the byte limit when nothing is outstanding.
  [[nodiscard]] bool fits(const PollBudget& budget, std::uint64_t size) const noexcept {
    return budget.messages != 0 && free_slots() != 0 && (!budget.taken || size <= budget.bytes) &&
           (bytes_allow(size) || slots_->messages.load(std::memory_order_seq_cst) == 0);
  }

  /// @return whether first deliveries may follow: nothing that comes before them was left behind
  bool hand_out_again(BatchState& batch, const std::shared_ptr<LeaseSource>& source,
                      std::uint64_t id, PollBudget& budget, Instant now) {
    MessageFinder finder(*this);
    bool in_piece = false;
    for (bool look_again = true; look_again && now >= table_.earliest_event();) {
      look_again = false;
      const auto room = static_cast<std::size_t>(std::min(budget.messages, free_slots()));
      table_.due(now, room + 1, due_);
      for (const Offset offset : due_) {
        const auto message = finder.find(offset);
        if (!message) {
          // A trim that came in between counts at the next look; else compaction removed it.
          if (offset < log_->start() || !table_.supersede(offset)) continue;
          look_again = true;
          break;
        }
        const std::uint64_t size = message->stored_size();
        if (!fits(budget, size)) return false;
        batch.reserve(1);
        const auto lease = table_.redeliver(offset, now);
        if (!in_piece) batch.begin_piece(source, id, table_.epoch(), table_.committed(), false);
        in_piece = true;
        batch.pin(finder.pin());
        batch.add(*message, lease.attempt, lease.number);
        budget.take(1, size);
      }
    }
    return true;
  }

  void hand_out_first(BatchState& batch, const std::shared_ptr<LeaseSource>& source,
                      std::uint64_t id, PollBudget& budget, Instant now) {
    while (!table_.holds_all()) {
      const Offset next = table_.next();
      const Offset end = std::min(log_->visible_end(), table_.window_end());
      const std::uint64_t room = std::min(budget.messages, free_slots());
      if (next >= end || room == 0 || next < log_->start()) return;
      RecordRun run;
      try {
        run = reader_.read_run(
            next, {.max_messages = std::min(room, end - next), .max_bytes = budget.bytes});
      } catch (const OffsetTooOld&) {
        lose_trimmed();
        continue;
      }
      if (run.empty() || run.first() != next) {
        table_.pass_gap(run.empty() ? end : std::min(run.first(), end));
        continue;
      }
      const std::uint64_t size = run.stored_size();
      const bool all_flow = !run.any_addressed() && !table_.tracks_keys();
      if (all_flow && !fits(budget, run.stored_size(0))) return;
      const bool plain = all_flow && run.dense() && bytes_allow(size);
      batch.reserve(run.size());
      batch.begin_piece(source, id, table_.epoch(), next, plain);
      batch.pin(run.pin());
      if (!plain) {
        if (!hand_out_each(batch, run, budget, now)) return;
        continue;
      }
      table_.lease_run(run.size(), now, [&](std::uint32_t i) { return run.stored_size(i); });
      for (std::uint32_t i = 0; i < run.size(); ++i) batch.add(run[i], 0, 1);
      budget.take(run.size(), size);
    }
  }

  /// Passes the gap before @p offset, which compaction left. False if the window ends in it.
  bool reach(Offset offset) {
    while (table_.next() < offset && table_.next() < table_.window_end()) {
      table_.pass_gap(std::min(offset, table_.window_end()));
    }
    return offset < table_.window_end();
  }
  bool hand_out_each(BatchState& batch, const RecordRun& run, PollBudget& budget, Instant now) {
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      const StoredMessage message = run[i];
      const std::uint64_t size = run.stored_size(i);
      if (!reach(message.offset()) || table_.holds_all()) return false;
      const std::string_view addressee =
          run.any_addressed() ? message.addressed_to() : std::string_view{};
      if (!addressee.empty() && addressee != config_->group) {
        table_.settle_unseen();
        continue;
      }
      const std::uint64_t hash = key_hash(message);
      // What waits for its key is passed over, whether it would fit or not.
      if (!fits(budget, size) && !table_.holds(hash)) return false;
      if (const auto lease = table_.lease_or_hold(hash, size, now)) {
        batch.add(message, lease->attempt, lease->number);
        budget.take(1, size);
      }
    }
    return true;
  }

  /// What fails now is left to the next call, which does it before it hands out anything.
  template <class Work>
  static void try_to(Work work) noexcept {
    try {
      work();
    } catch (...) {
    }
  }

  void collect_dead_letters() {
    if (table_.dead_letters_to_take() == 0) return;
    std::vector<Offset> offsets = table_.take_dead_letters();
    std::size_t done = 0;
    try {
      for (; done < offsets.size(); ++done) collect_dead_letter(offsets[done]);
    } catch (...) {
      offsets.erase(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(done));
      table_.return_dead_letters(std::move(offsets));
      throw;
    }
  }
  void collect_dead_letter(Offset offset) {
    MessageFinder finder(*this);
    if (const auto message = finder.find(offset)) {
      dead_letters_.push_back({.offset = offset,
                               .message = *message,
                               .pin = finder.pin(),
                               .deliveries = table_.charged(offset),
                               .failure = *table_.failure(offset)});
    } else if (offset < log_->start()) {
      table_.lose(offset, losses_);  // a trim was quicker
    } else {
      table_.supersede(offset);  // compaction removed it
    }
  }
  [[nodiscard]] Instant next_dead_letter() const noexcept {
    Instant next = table_.dead_letters_to_take() == 0 ? Instant::max() : Instant::min();
    for (const auto& letter : dead_letters_) next = std::min(next, letter.retry_at);
    return next;
  }
  template <class Sink>
  bool offer(std::size_t index, Instant now, Sink& sink) {
    try {
      const PendingLetter& letter = dead_letters_[index];
      sink(DeadLetter{
          .message = letter.message, .deliveries = letter.deliveries, .failure = letter.failure});
      return true;
    } catch (...) {
      PendingLetter& letter = dead_letters_[index];
      letter.retry_at = saturating_add(now, backoff(config_->retry, ++letter.tries, letter.offset));
      return false;
    }
  }
  /// A message on its way to the dead-letter topic, which the log may have trimmed since.
  [[nodiscard]] std::optional<StoredMessage> find_dead_letter(Offset offset) const {
    for (const auto& letter : dead_letters_) {
      if (letter.offset == offset && !letter.detached) return letter.message;
    }
    return std::nullopt;
  }
  void hold(PendingLetter& letter) {
    if (letter.held || letter.detached) return;
    MessageFinder finder(*this);
    table_.hold_dead_letter(letter.offset, finder);
    letter.held = true;
  }

  const Log* log_;
  const SubscriptionConfig* config_;
  Outstanding* slots_;
  LeaseTable table_;
  typename Log::Reader reader_;
  std::vector<Offset> due_;
  std::vector<PendingLetter> dead_letters_;
  std::vector<Loss> losses_;
};

}  // namespace detail

}  // namespace brook
