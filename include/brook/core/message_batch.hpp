#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <brook/core/message.hpp>

namespace brook {

/// What one append takes: a view of one message, of a span of `MessageView` or `Message`, or of a
/// selection of either in a given order. Indexing gives `MessageView`. Owns nothing.
class MessageBatch {
 public:
  MessageBatch(const MessageView& one) noexcept  // NOLINT(*-explicit-*)
      : views_(&one), size_(1) {}
  MessageBatch(std::span<const MessageView> views) noexcept  // NOLINT(*-explicit-*)
      : views_(views.data()), size_(views.size()) {}
  MessageBatch(std::span<const Message> owned) noexcept  // NOLINT(*-explicit-*)
      : owned_(owned.data()), size_(owned.size()) {}

  /// The messages of this batch at the places @p order, in that order. Requires a batch that is not
  /// a selection itself.
  [[nodiscard]] MessageBatch select(std::span<const std::uint32_t> order) const noexcept {
    MessageBatch part = *this;
    part.order_ = order.data();
    part.size_ = order.size();
    return part;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Calls @p visit with each message in order. Quicker than indexing, because it decides once what
  /// the batch views.
  template <class Visit>
  void for_each(Visit visit) const {
    if (order_ == nullptr && views_ != nullptr) {
      for (std::size_t i = 0; i < size_; ++i) visit(views_[i]);
    } else {
      for (std::size_t i = 0; i < size_; ++i) visit((*this)[i]);
    }
  }

  [[nodiscard]] MessageView operator[](std::size_t index) const noexcept {
    const std::size_t at = order_ == nullptr ? index : order_[index];
    if (owned_ != nullptr) return owned_[at];
    return views_[at];
  }

 private:
  const MessageView* views_ = nullptr;
  const Message* owned_ = nullptr;
  const std::uint32_t* order_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace brook
