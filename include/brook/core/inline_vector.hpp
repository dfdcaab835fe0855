#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <type_traits>

namespace brook::detail {

/// A vector whose first @p N elements take no memory of their own: for the scratch space of one
/// call, which is small nearly always. Elements are plain data and are not initialised before they
/// are pushed. Neither copyable nor movable.
template <class T, std::size_t N>
class InlineVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  InlineVector() noexcept {}  // leaves the elements as they are
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;
  ~InlineVector() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* begin() noexcept { return data_; }
  [[nodiscard]] T* end() noexcept { return data_ + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }
  /// Requires `index < size()`.
  [[nodiscard]] T& operator[](std::size_t index) noexcept { return data_[index]; }
  [[nodiscard]] const T& operator[](std::size_t index) const noexcept { return data_[index]; }
  /// Requires `!empty()`.
  [[nodiscard]] T& back() noexcept { return data_[size_ - 1]; }

  void clear() noexcept { size_ = 0; }
  void pop_back() noexcept { --size_; }
  /// @throws std::bad_alloc, nothing done
  void push_back(T value) {
    if (size_ == capacity_) grow();
    ::new (static_cast<void*>(data_ + size_)) T(value);
    ++size_;
  }

 private:
  void grow() {
    const std::size_t capacity = 2 * capacity_;
    auto larger = std::make_unique<std::byte[]>(capacity * sizeof(T));
    std::memcpy(larger.get(), static_cast<const void*>(data_), size_ * sizeof(T));
    heap_ = std::move(larger);
    data_ = reinterpret_cast<T*>(heap_.get());
    capacity_ = capacity;
  }

  static_assert(alignof(T) <= alignof(std::max_align_t));

  union {
    T inline_[N];
  };
  T* data_ = inline_;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  std::unique_ptr<std::byte[]> heap_{};
};

}  // namespace brook::detail
