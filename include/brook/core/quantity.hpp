#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <brook/core/error.hpp>

namespace brook {

/// Integers that count something: no `bool`, no character.
template <class T>
concept WholeNumber = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                      !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                      !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

/// A checked count of one kind of thing. Made from any integer; a negative one throws
/// `InvalidArgument` instead of turning into 2^64 − n. Counts of different kinds do not mix.
template <class Tag>
class Count {
 public:
  constexpr Count() noexcept = default;

  template <WholeNumber T>
  constexpr Count(T value) : value_(checked(value)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] static constexpr Count unlimited() noexcept {
    return std::numeric_limits<std::uint64_t>::max();
  }

  friend constexpr auto operator<=>(Count, Count) noexcept = default;

 private:
  template <class T>
  static constexpr std::uint64_t checked(T value) {
    if constexpr (std::is_signed_v<T>) {
      if (value < 0) throw InvalidArgument("a count of " + std::to_string(value) + " is negative");
    }
    return static_cast<std::uint64_t>(value);
  }

  std::uint64_t value_ = 0;
};

using ByteSize = Count<struct ByteTag>;         ///< Bytes; see the literals `_KiB`, `_MiB`, `_GiB`.
using MessageCount = Count<struct MessageTag>;  ///< Messages.
using PartitionCount = Count<struct PartitionTag>;  ///< Partitions of a topic.
using DeliveryCount = Count<struct DeliveryTag>;    ///< Times one message was handed out.

/// Sizes that cannot overflow silently: `64_MiB`. `using namespace brook::literals;`
inline namespace literals {
consteval ByteSize operator""_KiB(unsigned long long n) {
  if (n > (std::numeric_limits<std::uint64_t>::max() >> 10)) throw "size does not fit 64 bits";
  return static_cast<std::uint64_t>(n) << 10;
}
consteval ByteSize operator""_MiB(unsigned long long n) {
  if (n > (std::numeric_limits<std::uint64_t>::max() >> 20)) throw "size does not fit 64 bits";
  return static_cast<std::uint64_t>(n) << 20;
}
consteval ByteSize operator""_GiB(unsigned long long n) {
  if (n > (std::numeric_limits<std::uint64_t>::max() >> 30)) throw "size does not fit 64 bits";
  return static_cast<std::uint64_t>(n) << 30;
}
}  // namespace literals

}  // namespace brook
