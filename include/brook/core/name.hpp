#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/core/bytes.hpp>

namespace brook {

/// Text from exactly one source: a literal, a C string, a `string` or a `string_view`.
template <class T>
concept Text = std::convertible_to<const T&, std::string_view> && !std::same_as<T, std::nullptr_t>;

/// A name of a topic or group as an argument. Takes exactly one argument, so that `{"a", "b"}` is
/// an error instead of a string made from two unrelated pointers. Checked where it is used.
class Name {
 public:
  template <Text T>
  Name(const T& text) : text_(std::string_view(text)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  std::string text_;
};

/// One or more subscription patterns as an argument: `"orders.*"` or `{"orders.*", "returns.#"}`.
class Patterns {
 public:
  template <Text T>
  Patterns(const T& text) : list_{Name(text)} {}  // NOLINT(*-explicit-*)
  Patterns(std::initializer_list<Name> list) : list_(list) {}

  [[nodiscard]] const std::vector<Name>& list() const noexcept { return list_; }

 private:
  std::vector<Name> list_;
};

}  // namespace brook
