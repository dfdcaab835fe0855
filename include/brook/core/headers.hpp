#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <brook/core/bytes.hpp>
#include <brook/core/config.hpp>
#include <brook/core/varint.hpp>

namespace brook {

/// One header as a view: a name (text, never null) and a nullable value.
struct HeaderView {
  Bytes name = "";
  Bytes value = "";
};

/// One header that owns its bytes.
struct Header {
  std::string name{};
  Buffer value = "";

  friend bool operator==(const Header&, const Header&) noexcept = default;
};

/// The ordered headers of a message as a view: names may repeat, order is kept, values may be null.
///
/// Views a list of `HeaderView`, a vector of `Header`, or headers in their stored form, and
/// iterates over all three as `HeaderView` by value. Owns nothing: use it inside one call, or as
/// long as the batch it came from lives. Complexity: size and begin O(1), lookup by name O(size).
class Headers {
 public:
  class Iterator;
  using iterator = Iterator;
  using const_iterator = Iterator;

  Headers() noexcept = default;
  Headers(std::initializer_list<HeaderView> list BROOK_LIFETIMEBOUND) noexcept
      : data_(list.begin()), size_(list.size()), form_(Form::views) {}
  Headers(const std::vector<Header>& list BROOK_LIFETIMEBOUND) noexcept
      : data_(list.data()), size_(list.size()), form_(Form::owned) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Iterator begin() const noexcept;
  [[nodiscard]] Iterator end() const noexcept;

  /// Value of the first header of that name; `nullopt` if there is none (a null value is a value).
  [[nodiscard]] std::optional<Bytes> first(std::string_view name) const noexcept;
  /// Value of the last header of that name: the one that counts where a later header overrides an
  /// earlier one.
  [[nodiscard]] std::optional<Bytes> last(std::string_view name) const noexcept;
  /// A copy that owns its bytes.
  [[nodiscard]] std::vector<Header> copy() const;

  /// Headers in their stored form: per header the name's length, the name, the value's length (−1 =
  /// null) and the value, lengths as varints (the layout of a Kafka record, KIP-82).
  [[nodiscard]] static Headers stored(const std::byte* data, std::size_t count) noexcept {
    Headers headers;
    headers.data_ = data;
    headers.size_ = count;
    headers.form_ = Form::stored;
    return headers;
  }

 private:
  enum class Form : unsigned char { views, owned, stored };

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  Form form_ = Form::views;
};

class Headers::Iterator {
 public:
  using value_type = HeaderView;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;
  using iterator_concept = std::forward_iterator_tag;
  using reference = HeaderView;
  using pointer = void;

  Iterator() noexcept = default;

  HeaderView operator*() const noexcept {
    switch (form_) {
      case Form::views:
        return *static_cast<const HeaderView*>(at_);
      case Form::owned: {
        const auto& header = *static_cast<const Header*>(at_);
        return {.name = std::string_view(header.name), .value = header.value};
      }
      case Form::stored:
        break;
    }
    auto from = static_cast<const std::byte*>(at_);
    return read(from);
  }
  Iterator& operator++() noexcept {
    switch (form_) {
      case Form::views:
        at_ = static_cast<const HeaderView*>(at_) + 1;
        break;
      case Form::owned:
        at_ = static_cast<const Header*>(at_) + 1;
        break;
      case Form::stored: {
        auto from = static_cast<const std::byte*>(at_);
        read(from);
        at_ = from;
        break;
      }
    }
    --left_;
    return *this;
  }
  Iterator operator++(int) noexcept {
    auto before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) noexcept {
    return a.left_ == b.left_;
  }

 private:
  friend class Headers;
  Iterator(const void* at, std::size_t left, Form form) noexcept
      : at_(at), left_(left), form_(form) {}

  static HeaderView read(const std::byte*& from) noexcept {
    const auto name_size = static_cast<std::size_t>(detail::read_varint(from));
    const Bytes name(from, name_size);
    from += name_size;
    const auto value_size = detail::read_varint(from);
    if (value_size < 0) return {.name = name, .value = null};
    const Bytes value(from, static_cast<std::size_t>(value_size));
    from += value_size;
    return {.name = name, .value = value};
  }

  const void* at_ = nullptr;
  std::size_t left_ = 0;
  Form form_ = Form::views;
};

inline Headers::Iterator Headers::begin() const noexcept {
  return {data_, size_, form_};
}
inline Headers::Iterator Headers::end() const noexcept {
  return {nullptr, 0, form_};
}

inline std::optional<Bytes> Headers::first(std::string_view name) const noexcept {
  for (const HeaderView header : *this) {
    if (header.name.text() == name) return header.value;
  }
  return std::nullopt;
}

inline std::optional<Bytes> Headers::last(std::string_view name) const noexcept {
  std::optional<Bytes> found;
  for (const HeaderView header : *this) {
    if (header.name.text() == name) found = header.value;
  }
  return found;
}

inline std::vector<Header> Headers::copy() const {
  std::vector<Header> list;
  list.reserve(size_);
  for (const HeaderView header : *this) {
    list.push_back({.name = std::string(header.name.text()), .value = header.value});
  }
  return list;
}

namespace detail {

/// Size of @p headers in their stored form, in bytes.
[[nodiscard]] inline std::size_t stored_size(const Headers& headers) noexcept {
  std::size_t size = 0;
  for (const HeaderView header : headers) {
    size += varint_size(static_cast<std::int64_t>(header.name.size())) + header.name.size();
    size += header.value.is_null() ? varint_size(-1)
                                   : varint_size(static_cast<std::int64_t>(header.value.size()));
    size += header.value.size();
  }
  return size;
}

inline std::byte* write_bytes(std::byte* to, Bytes bytes) noexcept {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

/// Writes @p headers in their stored form and returns the place behind them.
inline std::byte* write_headers(std::byte* to, const Headers& headers) noexcept {
  for (const HeaderView header : headers) {
    to = write_varint(to, static_cast<std::int64_t>(header.name.size()));
    to = write_bytes(to, header.name);
    to = write_varint(to,
                      header.value.is_null() ? -1 : static_cast<std::int64_t>(header.value.size()));
    to = write_bytes(to, header.value);
  }
  return to;
}

}  // namespace detail

}  // namespace brook
