#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <brook/core/config.hpp>

namespace brook {

/// The type of `brook::null`.
struct Null {
  explicit constexpr Null(int) noexcept {}
};

/// No bytes at all, which is not the same as empty bytes: a message without a key, a payload that
/// is a tombstone.
inline constexpr Null null{0};

/// Element types that are raw memory.
template <class T>
concept ByteLike = std::same_as<T, char> || std::same_as<T, unsigned char> ||
    std::same_as<T, signed char> || std::same_as<T, std::byte> || std::same_as<T, char8_t>;

/// A pointer to a NUL-terminated string (and not an array, whose length is known).
template <class T>
concept CString = std::same_as<T, const char*> || std::same_as<T, char*>;

namespace detail {
template <class R>
concept ByteRange = std::ranges::contiguous_range<const R> && std::ranges::sized_range<const R> &&
    ByteLike<std::ranges::range_value_t<const R>> && !std::is_array_v<R>;
}  // namespace detail

/// A range of bytes that only borrows them (`string_view`, `span`): copying the range does not copy
/// the bytes.
template <class R>
concept BorrowedBytes = detail::ByteRange<R> && std::ranges::borrowed_range<R>;

/// A container that owns its bytes (`string`, `vector`, `array`): the view must not outlive it.
template <class R>
concept OwningBytes = detail::ByteRange<R> && !std::ranges::borrowed_range<R>;

/// A nullable view of bytes: 16 bytes, owns nothing. Use it inside one call; store `Buffer` or
/// `Message`.
///
/// Made from string literals (embedded NULs are kept; a literal's terminating NUL is not part of
/// it), `std::string`, `std::string_view`, `std::vector`/`array`/`span` of char or byte, or a C
/// string (up to its first NUL). A mutable array is refused, because it says nothing about how much
/// of it is meant: pass `std::string_view(buf, n)`. So is `nullptr`: say `brook::null`. The default
/// constructor is explicit, so that `.payload = {}` cannot silently mean "tombstone".
///
/// Thread rule: a value type. Complexity: O(1), `CString` O(n).
class Bytes {
 public:
  explicit constexpr Bytes() noexcept = default;
  constexpr Bytes(Null) noexcept {}  // NOLINT(*-explicit-*)
  Bytes(std::nullptr_t) = delete;

  template <std::size_t N>
  constexpr Bytes(const char (&literal BROOK_LIFETIMEBOUND)[N]) noexcept  // NOLINT(*-explicit-*)
      : data_(literal), size_(literal[N - 1] == '\0' ? N - 1 : N) {}
  template <std::size_t N>
  Bytes(char (&)[N]) = delete;

  template <CString P>
  constexpr Bytes(const P& text) noexcept  // NOLINT(*-explicit-*)
      : data_(text), size_(std::char_traits<char>::length(text)) {}

  template <BorrowedBytes R>
  Bytes(const R& range) noexcept  // NOLINT(*-explicit-*)
      : Bytes(std::ranges::data(range), std::ranges::size(range)) {}

  template <OwningBytes R>
  Bytes(const R& owner BROOK_LIFETIMEBOUND) noexcept  // NOLINT(*-explicit-*)
      : Bytes(std::ranges::data(owner), std::ranges::size(owner)) {}

  /// @p size bytes at @p data. An empty range is empty, never null.
  template <ByteLike T>
  Bytes(const T* data, std::size_t size) noexcept
      : data_(data == nullptr ? "" : reinterpret_cast<const char*>(data)), size_(size) {}

  [[nodiscard]] constexpr bool is_null() const noexcept { return data_ == nullptr; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const std::byte* data() const noexcept {
    return reinterpret_cast<const std::byte*>(data_);
  }
  /// The bytes as text; null gives an empty view.
  [[nodiscard]] constexpr std::string_view text() const noexcept {
    return data_ == nullptr ? std::string_view{} : std::string_view{data_, size_};
  }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return {data(), size_}; }

  /// Same bytes and same nullness.
  friend constexpr bool operator==(const Bytes& a, const Bytes& b) noexcept {
    return a.is_null() == b.is_null() && a.text() == b.text();
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Nullable bytes that own themselves. Converts to `Bytes`; made from whatever `Bytes` is made
/// from, with the same refusals, and from a `std::string` without copying.
///
/// Thread rule: a value type.
class Buffer {
 public:
  explicit Buffer() noexcept = default;
  Buffer(Null) noexcept {}  // NOLINT(*-explicit-*)
  Buffer(std::nullptr_t) = delete;
  Buffer(std::string&& text) noexcept
      : text_(std::move(text)), null_(false) {}  // NOLINT(*-explicit-*)

  template <std::size_t N>
  Buffer(char (&)[N]) = delete;

  template <class T>
  requires(std::convertible_to<const T&, Bytes> && !std::same_as<T, Buffer> &&
           !std::same_as<T, Null>) Buffer(const T& source)
      : Buffer(Bytes(source), 0) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] bool is_null() const noexcept { return null_; }
  [[nodiscard]] bool empty() const noexcept { return text_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return text_.size(); }
  [[nodiscard]] std::string_view text() const noexcept BROOK_LIFETIMEBOUND { return text_; }

  operator Bytes() const noexcept BROOK_LIFETIMEBOUND {  // NOLINT(*-explicit-*)
    return null_ ? Bytes(null) : Bytes(std::string_view(text_));
  }

  friend bool operator==(const Buffer& a, const Buffer& b) noexcept = default;
  /// With anything that makes bytes, without copying it.
  template <class T>
  requires(std::convertible_to<const T&, Bytes> && !std::same_as<T, Buffer>) friend bool operator==(
      const Buffer& a, const T& b) noexcept {
    return Bytes(a) == Bytes(b);
  }

 private:
  Buffer(Bytes source, int) : text_(source.text()), null_(source.is_null()) {}

  std::string text_;
  bool null_ = true;
};

}  // namespace brook
