#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/core/error.hpp>
#include <brook/core/message.hpp>
#include <brook/core/pin.hpp>
#include <brook/core/record.hpp>
#include <brook/delivery/settle.hpp>

namespace brook {

namespace detail {

/// Who hands out deliveries of one group and partition, as deliveries see it.
class LeaseSource {
 public:
  LeaseSource() = default;
  LeaseSource(const LeaseSource&) = delete;
  LeaseSource& operator=(const LeaseSource&) = delete;
  virtual ~LeaseSource() = default;

  [[nodiscard]] virtual bool is_live(const Receipt& receipt) = 0;
  /// Identity of whoever may settle its deliveries: the group.
  [[nodiscard]] virtual const void* owner() const noexcept = 0;
  [[nodiscard]] virtual std::string_view topic() const noexcept = 0;
  [[nodiscard]] virtual PartitionId partition() const noexcept = 0;
};

/// Deliveries of a batch that come from one partition and epoch.
struct BatchPiece {
  std::shared_ptr<LeaseSource> source;
  std::uint64_t subscription = 0;
  Offset base{};  ///< Offsets of the piece are at or above it, less than 2^32 away.
  std::uint32_t epoch = 0;
  std::size_t first = 0;  ///< Index of its first delivery.
  std::size_t count = 0;
  /// First hand-outs at consecutive offsets: they can be settled as a run.
  bool run = false;
};

class BatchState;
struct BatchAccess;

}  // namespace detail

/// One message as handed out to a member of a group. Lives in its `Batch`, with all it returns,
/// whatever is trimmed or closed meanwhile; not copyable. To keep more than a batch: `copy()` the
/// message, or hold the `receipt()` to settle it later.
///
/// Thread rule: a value that is only read. Complexity: O(1) each; `live` takes the group's lock for
/// a moment.
class Delivery {
 public:
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  [[nodiscard]] Bytes key() const noexcept { return stored().key(); }
  [[nodiscard]] Bytes payload() const noexcept { return stored().payload(); }
  /// The payload as text; null gives an empty view.
  [[nodiscard]] std::string_view text() const noexcept { return payload().text(); }
  [[nodiscard]] Headers headers() const noexcept { return stored().headers(); }
  [[nodiscard]] Timestamp timestamp() const noexcept { return stored().timestamp(); }

  [[nodiscard]] std::string_view topic() const noexcept;
  [[nodiscard]] PartitionId partition() const noexcept;
  [[nodiscard]] Offset offset() const noexcept;
  /// 1 + how often this message has failed for the group before.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  /// Whether the lease still holds: deadline not passed, not taken back, not settled. A handler
  /// that runs long asks.
  [[nodiscard]] bool live() const;
  [[nodiscard]] Receipt receipt() const noexcept;
  /// A copy of the message that owns its bytes.
  [[nodiscard]] Message copy() const { return stored().copy(); }

 private:
  friend class detail::BatchState;
  friend struct detail::BatchAccess;

  Delivery(const detail::BatchState* batch, const std::byte* record, std::uint32_t piece,
           std::uint32_t offset_low, std::uint32_t attempt, std::uint32_t number) noexcept
      : record_(record),
        batch_(batch),
        piece_(piece),
        offset_low_(offset_low),
        attempt_(attempt),
        number_(number) {}

  [[nodiscard]] StoredMessage stored() const noexcept { return {record_, offset()}; }
  [[nodiscard]] const detail::BatchPiece& piece() const noexcept;

  const std::byte* record_;
  const detail::BatchState* batch_;
  std::uint32_t piece_;
  std::uint32_t offset_low_;
  std::uint32_t attempt_;
  std::uint32_t number_;
};
static_assert(sizeof(Delivery) == 32);

namespace detail {

/// What a batch consists of: deliveries in an array of their own, the pieces they come from, and
/// the pins of their memory.
class BatchState {
 public:
  BatchState() = default;
  BatchState(const BatchState&) = delete;
  BatchState& operator=(const BatchState&) = delete;
  ~BatchState() { ::operator delete(static_cast<void*>(deliveries_)); }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const Delivery* data() const noexcept { return deliveries_; }
  [[nodiscard]] const std::vector<BatchPiece>& pieces() const noexcept { return pieces_; }
  [[nodiscard]] const BatchPiece& piece(std::uint32_t index) const noexcept {
    return pieces_[index];
  }

  /// Makes sure that @p count more deliveries, one piece and one pin can be added without failing.
  /// @throws std::bad_alloc
  void reserve(std::size_t count) {
    if (pieces_.size() == pieces_.capacity())
      pieces_.reserve(std::max<std::size_t>(2, 2 * pieces_.size()));
    if (pins_.size() == pins_.capacity()) pins_.reserve(std::max<std::size_t>(2, 2 * pins_.size()));
    if (size_ + count > capacity_) grow(std::max(size_ + count, 2 * capacity_));
  }
  void begin_piece(std::shared_ptr<LeaseSource> source, std::uint64_t subscription,
                   std::uint32_t epoch, Offset base, bool run) noexcept {
    pieces_.push_back({.source = std::move(source),
                       .subscription = subscription,
                       .base = base,
                       .epoch = epoch,
                       .first = size_,
                       .count = 0,
                       .run = run});
  }
  void add(const StoredMessage& message, std::uint32_t attempt, std::uint32_t number) noexcept {
    ::new (static_cast<void*>(deliveries_ + size_))
        Delivery(this, message.record(), static_cast<std::uint32_t>(pieces_.size() - 1),
                 static_cast<std::uint32_t>(message.offset().value()), attempt, number);
    ++size_;
    ++pieces_.back().count;
  }
  void pin(const Pin& pin) noexcept {
    if (pins_.empty() || pins_.back().get() != pin.get()) pins_.push_back(pin);
  }

 private:
  void grow(std::size_t capacity) {
    auto* const grown = static_cast<Delivery*>(::operator new(capacity * sizeof(Delivery)));
    for (std::size_t i = 0; i < size_; ++i) {
      const Delivery& old = deliveries_[i];
      ::new (static_cast<void*>(grown + i))
          Delivery(this, old.record_, old.piece_, old.offset_low_, old.attempt_, old.number_);
    }
    ::operator delete(static_cast<void*>(deliveries_));
    deliveries_ = grown;
    capacity_ = capacity;
  }

  Delivery* deliveries_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::vector<BatchPiece> pieces_;
  std::vector<Pin> pins_;
};

}  // namespace detail

inline const detail::BatchPiece& Delivery::piece() const noexcept {
  return batch_->piece(piece_);
}
inline std::string_view Delivery::topic() const noexcept {
  return piece().source->topic();
}
inline PartitionId Delivery::partition() const noexcept {
  return piece().source->partition();
}
inline Offset Delivery::offset() const noexcept {
  const Offset base = piece().base;
  return base + (offset_low_ - static_cast<std::uint32_t>(base.value()));
}
inline bool Delivery::live() const {
  return piece().source->is_live(receipt());
}
inline Receipt Delivery::receipt() const noexcept {
  const detail::BatchPiece& from = piece();
  return {.subscription = from.subscription,
          .offset = offset(),
          .epoch = from.epoch,
          .attempt = attempt_};
}

/// What a poll handed out: deliveries in the order in which to handle them. Owns them; movable, not
/// copyable. A batch that is kept keeps the segments of its messages in memory. Dropping it settles
/// nothing.
///
/// Thread rule: move it where you like; one thread at a time changes it, any number read it.
class [[nodiscard]] Batch {
 public:
  using value_type = Delivery;
  using iterator = const Delivery*;
  using const_iterator = const Delivery*;

  Batch() noexcept = default;

  [[nodiscard]] std::size_t size() const noexcept { return state_ == nullptr ? 0 : state_->size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] const Delivery* begin() const& noexcept {
    return state_ == nullptr ? nullptr : state_->data();
  }
  [[nodiscard]] const Delivery* end() const& noexcept { return begin() + size(); }
  /// Requires `index < size()`.
  [[nodiscard]] const Delivery& operator[](std::size_t index) const& noexcept {
    return begin()[index];
  }
  [[nodiscard]] const Delivery& front() const& noexcept { return begin()[0]; }
  void begin() const&& = delete;
  void end() const&& = delete;
  void operator[](std::size_t) const&& = delete;
  void front() const&& = delete;

 private:
  friend struct detail::BatchAccess;
  std::unique_ptr<detail::BatchState> state_;
};

namespace detail {

/// How those who fill and settle batches get at them.
struct BatchAccess {
  static Batch make(std::unique_ptr<BatchState> state) noexcept {
    Batch batch;
    batch.state_ = std::move(state);
    return batch;
  }
  static const BatchState* state(const Batch& batch) noexcept { return batch.state_.get(); }
  static const BatchPiece& piece(const Delivery& delivery) noexcept { return delivery.piece(); }
};

}  // namespace detail

}  // namespace brook
