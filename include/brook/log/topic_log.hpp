#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include <brook/clock/clock.hpp>
#include <brook/clock/system_clock.hpp>
#include <brook/core/error.hpp>
#include <brook/core/ids.hpp>
#include <brook/core/message_batch.hpp>
#include <brook/log/compaction.hpp>
#include <brook/log/log_config.hpp>
#include <brook/log/read_batch.hpp>
#include <brook/storage/memory_storage.hpp>
#include <brook/storage/storage.hpp>

namespace brook {

/// One partition: an append-only log of messages with dense offsets, retention and compaction.
/// Usable alone.
///
/// Reading is a pure function of a position: it changes nothing, so that any number of readers need
/// no coordination, and a slow one costs nothing until retention overtakes it.
///
/// Thread rule: one writer call at a time (`append`, `prepare`, `publish`, `cancel`, `trim`,
/// `compact`, `run_due`), which the caller sees to; everything `const`, and `Reader`s, from any
/// number of threads beside it, without a lock. A message becomes visible after its bytes are
/// complete (store-release of the visible end), never before. Lifetime: the clock outlives the log,
/// the log its readers. Batches may outlive the log.
///
///     brook::ManualClock clock;
///     brook::TopicLog log{clock, {.retention = {.max_messages = 1000}}};
///     const brook::Offset first = log.append({.key = "a", .payload = "1"});
///     for (const auto message : log.read(first, {.max_messages = 100})) use(message.payload());
template <Storage S = MemoryStorage, Clock C = SystemClock>
class TopicLog {
 public:
  class Reader;
  using storage_type = S;
  using clock_type = C;

  /// @param storage_arguments what the storage is made from; nothing for a `MemoryStorage` with
  ///   memory of its own
  /// @throws InvalidArgument for options that make no sense
  template <class... StorageArguments>
  requires std::constructible_from<S, StorageArguments...>
  explicit TopicLog(C& clock, LogConfig config = {}, StorageArguments&&... storage_arguments)
      : clock_(&clock),
        config_(config),
        storage_(std::forward<StorageArguments>(storage_arguments)...),
        trimmer_(storage_) {
    detail::validate(config_);
  }
  TopicLog(const TopicLog&) = delete;
  TopicLog& operator=(const TopicLog&) = delete;

  // ------------------------------------------------------------------------------------- positions

  /// First retained offset. Never falls.
  [[nodiscard]] Offset start() const noexcept {
    return Offset{start_.load(std::memory_order_acquire)};
  }
  /// Readers see offsets below it. Never falls.
  [[nodiscard]] Offset visible_end() const noexcept {
    return Offset{visible_end_.load(std::memory_order_acquire)};
  }
  /// The next offset to be written.
  [[nodiscard]] Offset end() const noexcept { return visible_end(); }
  [[nodiscard]] C& clock() const noexcept { return *clock_; }
  [[nodiscard]] const LogConfig& config() const noexcept { return config_; }

  // --------------------------------------------------------------------------------------- writing

  /// Appends one message. One wall-clock read.
  /// @return its offset
  /// @throws MessageTooLarge, KeyRequired, TopicFull, std::bad_alloc; nothing was appended then
  Offset append(const MessageView& message) { return append(MessageBatch(message)); }
  /// Appends all messages, at consecutive offsets, or none.
  /// @return the first one's offset; `end()` for an empty batch
  Offset append(std::span<const MessageView> messages) { return append(MessageBatch(messages)); }
  Offset append(std::span<const Message> messages) { return append(MessageBatch(messages)); }
  Offset append(const MessageBatch& batch) {
    const Offset first = prepare(batch);
    publish();
    return first;
  }

  /// First half of an append: checks and stores @p batch, still invisible. `publish` or `cancel`
  /// must follow before anything else is written. For whoever appends to several logs at once, all
  /// or none.
  /// @throws as `append`
  Offset prepare(const MessageBatch& batch) {
    batch.for_each([&](const MessageView& message) { detail::validate(message, config_); });
    const Offset first = storage_.end();
    wall_now_ = clock_->wall_now();
    const detail::AppendTimes times{
        .now = std::max(last_stamp_, wall_now_),
        .keep_create_time = config_.timestamps == TimestampType::create_time};
    if (config_.overflow == Overflow::reject) {
      // What is too old already is no reason to refuse anything.
      if (config_.retention.max_age) retain(wall_now_);
      admit(batch, times);
    }
    prepared_ = storage_.append(batch, times);
    last_stamp_ = times.now;
    return first;
  }
  /// Makes what was prepared visible and applies retention.
  void publish() noexcept {
    messages_ += prepared_.messages;
    bytes_ += prepared_.bytes;
    appended_since_compaction_ += prepared_.bytes;
    visible_end_.store(storage_.end().value(), std::memory_order_release);
    if (has_retention()) retain(wall_now_);
    if (config_.compaction && appended_since_compaction_ >= compact_after_) try_compact(wall_now_);
  }
  /// Undoes what was prepared.
  void cancel() noexcept { storage_.truncate(visible_end()); }

  /// Drops every message below @p upto; memory follows by whole segments. No effect if the log
  /// starts there or later.
  /// @throws OffsetOutOfRange if @p upto is beyond the end
  void trim(Offset upto) {
    if (upto > visible_end()) throw OffsetOutOfRange(upto, visible_end());
    if (upto <= start()) return;
    const RangeUsage dropped = trimmer_.usage(start(), upto);
    move_start(upto, dropped);
  }

  /// Removes superseded messages and old tombstones from sealed segments (only with
  /// `LogConfig::compaction`).
  /// @return messages removed
  /// @throws InvalidArgument without compaction; std::bad_alloc, nothing changed
  MessageCount compact() {
    if (!config_.compaction) throw InvalidArgument("the log was not configured for compaction");
    return compact(clock_->wall_now());
  }

  /// Does what is due by the wall clock: retention by age, and compaction when at least as much was
  /// appended as the last one left.
  void run_due() {
    const Timestamp now = clock_->wall_now();
    if (has_retention()) retain(now);
    if (config_.compaction && appended_since_compaction_ >= compact_after_) compact(now);
  }
  /// When retention by age will next have something to do, by the wall clock; `Timestamp::max()` =
  /// not scheduled.
  [[nodiscard]] Timestamp next_due() const noexcept {
    return Timestamp{std::chrono::milliseconds{next_due_.load(std::memory_order_relaxed)}};
  }

  // --------------------------------------------------------------------------------------- reading

  /// Messages from @p from on, as many as @p limits allow. Empty exactly at the visible end.
  /// @throws OffsetTooOld below the start, OffsetOutOfRange beyond the visible end
  [[nodiscard]] ReadBatch read(Offset from, const ReadLimits& limits = {}) const {
    return Reader(*this).read(from, limits);
  }
  /// First offset whose timestamp is at or after @p time; `visible_end()` if there is none. O(log
  /// segments) and a search within one, if timestamps are monotone; else up to a scan of those
  /// segments that reach the time.
  [[nodiscard]] Offset offset_at(Timestamp time) const {
    const Offset to = visible_end();
    return typename S::Reader(storage_).first_at_or_after(time, std::min(start(), to), to);
  }
  /// Messages and bytes present in `[from, to)`; what is trimmed or invisible counts as absent.
  [[nodiscard]] RangeUsage usage(Offset from, Offset to) const {
    return typename S::Reader(storage_).usage(std::max(from, start()), std::min(to, visible_end()));
  }
  [[nodiscard]] const S& storage() const noexcept { return storage_; }

 private:
  static constexpr std::uint64_t smallest_compaction = std::uint64_t{1} << 20;

  [[nodiscard]] bool has_retention() const noexcept {
    const Retention& retention = config_.retention;
    return retention.max_age || retention.max_bytes || retention.max_messages;
  }

  void admit(const MessageBatch& batch, const detail::AppendTimes& times) {
    const Retention& retention = config_.retention;
    if (retention.max_messages && messages_ + batch.size() > retention.max_messages->value()) {
      throw TopicFull("retention.max_messages", retention.max_messages->value(),
                      messages_ + batch.size());
    }
    if (!retention.max_bytes) return;
    std::uint64_t wanted = bytes_;
    batch.for_each([&](const MessageView& message) {
      wanted += detail::plan_record(message, times, false).size;
    });
    if (wanted > retention.max_bytes->value()) {
      throw TopicFull("retention.max_bytes", retention.max_bytes->value(), wanted);
    }
  }

  /// Moves the start over every message that a limit takes. A failed allocation leaves the rest to
  /// the next time.
  void retain(Timestamp now) noexcept {
    const Retention& retention = config_.retention;
    const std::uint64_t max_messages =
        retention.max_messages.value_or(MessageCount::unlimited()).value();
    const std::uint64_t max_bytes = retention.max_bytes.value_or(ByteSize::unlimited()).value();
    const bool old = retention.max_age && (front_at_ >= front_.size() || next_due() <= now);
    if (messages_ <= max_messages && bytes_ <= max_bytes && !old) return;

    Offset start = this->start();
    RangeUsage dropped{};
    Timestamp due = Timestamp::max();
    while (start < visible_end()) {
      if (front_at_ >= front_.size() && !refill_front(start)) break;
      due = Timestamp::max();
      if (retention.max_age) {
        due = saturating_add(front_[front_at_].retention_time(), *retention.max_age);
      }
      if (messages_ - dropped.messages <= max_messages && bytes_ - dropped.bytes <= max_bytes &&
          due > now) {
        break;
      }
      dropped.bytes += front_.stored_size(front_at_);
      ++dropped.messages;
      start = front_.offset(front_at_) + 1;
      ++front_at_;
      due = Timestamp::max();
    }
    next_due_.store(due.time_since_epoch().count(), std::memory_order_relaxed);
    if (start == visible_end()) forget_front();
    if (dropped.messages != 0) move_start_to(start, dropped);
  }

  /// Lets go of all memory that was looked at.
  void forget_front() noexcept {
    front_ = RecordRun{};
    front_at_ = 0;
    trimmer_.rest();
  }

  bool refill_front(Offset start) noexcept {
    try {
      front_ = RecordRun{};
      front_at_ = 0;
      front_ = trimmer_.read(
          start, visible_end(),
          {.max_messages = MessageCount::unlimited(), .max_bytes = ByteSize::unlimited()});
      return !front_.empty();
    } catch (...) {
      return false;
    }
  }

  void move_start(Offset start, RangeUsage dropped) noexcept {
    forget_front();
    move_start_to(start, dropped);
    schedule_retention();
  }
  /// Finds out when the first message will be too old, after it has become another one.
  void schedule_retention() noexcept {
    next_due_.store(Timestamp::max().time_since_epoch().count(), std::memory_order_relaxed);
    if (config_.retention.max_age) retain(Timestamp::min());
  }
  void move_start_to(Offset start, RangeUsage dropped) noexcept {
    messages_ -= dropped.messages;
    bytes_ -= dropped.bytes;
    start_.store(start.value(), std::memory_order_release);
    storage_.trim(start);
  }

  MessageCount compact(Timestamp now) {
    detail::CompactionPlan plan(*config_.compaction, now);
    typename S::Reader reader(storage_);
    for (Offset from = start(); from < visible_end();) {
      const RecordRun run = reader.read(
          from, visible_end(),
          {.max_messages = MessageCount::unlimited(), .max_bytes = ByteSize::unlimited()});
      if (run.empty()) break;
      plan.observe(run);
      from = run.last() + 1;
    }
    forget_front();
    const Offset begin = start();
    storage_.compact(visible_end(), [&](const StoredMessage& message) {
      return message.offset() >= begin && plan.keeps(message);
    });
    const RangeUsage left = reader.usage(begin, visible_end());
    const std::uint64_t removed = messages_ - left.messages;
    messages_ = left.messages;
    bytes_ = left.bytes;
    appended_since_compaction_ = 0;
    compact_after_ = std::max(smallest_compaction, bytes_);
    schedule_retention();
    return removed;
  }

  void try_compact(Timestamp now) noexcept {
    try {
      compact(now);
    } catch (const std::bad_alloc&) {
      appended_since_compaction_ = 0;  // as much again must come before the next attempt
    }
  }

  C* clock_;
  LogConfig config_;
  S storage_;

  // Only the writer.
  typename S::Reader trimmer_;
  RecordRun front_;  ///< Messages from the start on, as far as they were looked at.
  std::uint32_t front_at_ = 0;
  RangeUsage prepared_{};
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t appended_since_compaction_ = 0;
  std::uint64_t compact_after_ = smallest_compaction;
  Timestamp last_stamp_ = Timestamp::min();
  Timestamp wall_now_{};

  // What readers load; each away from what the writer works on.
  alignas(64) std::atomic<std::uint64_t> visible_end_{0};
  std::atomic<std::int64_t> next_due_{std::numeric_limits<std::int64_t>::max()};
  alignas(64) std::atomic<std::uint64_t> start_{0};
};

template <Clock C>
TopicLog(C&) -> TopicLog<MemoryStorage, C>;
template <Clock C>
TopicLog(C&, LogConfig) -> TopicLog<MemoryStorage, C>;

/// Reads one log at any position, beside its writer and other readers. Keeps a pin on the segment
/// it read last: reading on from there is cheaper than `TopicLog::read`. Thread rule: one thread.
/// Must not outlive its log.
template <Storage S, Clock C>
class TopicLog<S, C>::Reader {
 public:
  explicit Reader(const TopicLog& log) : log_(&log), reader_(log.storage_) {}

  /// As `TopicLog::read`.
  [[nodiscard]] ReadBatch read(Offset from, ReadLimits limits = {}) {
    ReadBatch batch;
    std::uint64_t messages = limits.max_messages.value();
    std::uint64_t bytes = limits.max_bytes.value();
    do {
      const ReadLimits left{.max_messages = messages, .max_bytes = bytes};
      // A trim that overtakes this read ends it; what was read before is as good as ever.
      RecordRun run =
          batch.empty() ? read_run(from, left) : run_at(from, log_->visible_end(), left);
      if (run.empty()) break;
      const std::size_t size = run.stored_size();
      if (size > bytes && !batch.empty()) break;
      messages -= run.size();
      bytes -= std::min<std::uint64_t>(bytes, size);
      from = run.last() + 1;
      batch.add(std::move(run));
    } while (messages != 0);
    return batch;
  }

  /// The messages that lie together from @p from on: a read that stops where a segment ends. Empty
  /// exactly when there is no message between @p from and the visible end.
  /// @throws OffsetTooOld, OffsetOutOfRange
  [[nodiscard]] RecordRun read_run(Offset from, const ReadLimits& limits) {
    const Offset end = log_->visible_end();
    if (from > end) throw OffsetOutOfRange(from, end);
    RecordRun run = run_at(from, end, limits);
    if (run.empty() && from < log_->start()) throw OffsetTooOld(from, log_->start());
    return run;
  }

  /// Gives up the pin, until the next read. For readers that will not read for long.
  void rest() noexcept { reader_.rest(); }

 private:
  /// Empty as well if the log starts behind @p from.
  RecordRun run_at(Offset from, Offset end, const ReadLimits& limits) {
    if (from < log_->start() || from == end || limits.max_messages.value() == 0) return {};
    RecordRun run = reader_.read(from, end, limits);
    // Whoever trims moves the start first: if the storage had nothing at `from` because of a trim,
    // it shows now.
    if (!run.empty() && run.first() != from && from < log_->start()) return {};
    return run;
  }

  const TopicLog* log_;
  typename S::Reader reader_;
};

}  // namespace brook
