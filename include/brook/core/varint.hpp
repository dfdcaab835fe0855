#pragma once

#include <cstddef>
#include <cstdint>

namespace brook::detail {

/// Variable-length integers of Kafka's record format: base 128, low group first, signed values
/// zig-zag coded. Writers emit the shortest form.
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) noexcept {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

[[nodiscard]] constexpr std::int64_t unzigzag(std::uint64_t value) noexcept {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

[[nodiscard]] constexpr std::size_t varint_size(std::int64_t value) noexcept {
  std::size_t size = 1;
  for (auto rest = zigzag(value); rest >= 0x80; rest >>= 7) ++size;
  return size;
}

/// Writes @p value at @p to and returns the place behind it. At most 10 bytes.
constexpr std::byte* write_varint(std::byte* to, std::int64_t value) noexcept {
  auto rest = zigzag(value);
  for (; rest >= 0x80; rest >>= 7) *to++ = static_cast<std::byte>(rest | 0x80);
  *to++ = static_cast<std::byte>(rest);
  return to;
}

/// Reads a value that `write_varint` wrote and moves @p from behind it. Trusts its input: for bytes
/// that come from outside the process a checking reader is needed.
constexpr std::int64_t read_varint(const std::byte*& from) noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto group = static_cast<std::uint64_t>(*from++);
    value |= (group & 0x7f) << shift;
    if (group < 0x80) break;
  }
  return unzigzag(value);
}

}  // namespace brook::detail
