#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace brook {

namespace detail {

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 Unsigned128;
#endif

/// High and low half of the 128-bit product, mixed into one: every bit of the result depends on
/// all bits of both.
constexpr std::uint64_t multiply_mix(std::uint64_t a, std::uint64_t b) noexcept {
#ifdef __SIZEOF_INT128__
  const Unsigned128 product = static_cast<Unsigned128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
#else
  const std::uint64_t a_low = a & 0xffff'ffff, a_high = a >> 32;
  const std::uint64_t b_low = b & 0xffff'ffff, b_high = b >> 32;
  const std::uint64_t low = a_low * b_low;
  const std::uint64_t middle = a_high * b_low + (low >> 32);
  const std::uint64_t other = a_low * b_high + (middle & 0xffff'ffff);
  return ((other << 32) | (low & 0xffff'ffff)) ^ (a_high * b_high + (middle >> 32) + (other >> 32));
#endif
}

/// 8 bytes as a number whose lowest byte is the first.
inline std::uint64_t load_word(const char* text) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, text, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}
/// The first @p size bytes, at most 8, the missing ones as zero.
inline std::uint64_t load_word(const char* text, std::size_t size) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, text, size);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

/// The bytes of a segment of up to 15 bytes, with its size as the last: equal if and only if the
/// segments are. Longer segments, which do not fit, have a hash and their place in a pool of texts
/// instead. The two wildcards as a pattern means them are none of these, so that a word of the same
/// text is never taken for them.
struct SegmentKey {
  static constexpr std::size_t max_inline_size = 15;

  std::uint64_t low = 0;
  std::uint64_t high = 0;

  [[nodiscard]] bool operator==(const SegmentKey&) const = default;

  [[nodiscard]] static constexpr SegmentKey single_wildcard() noexcept {
    return {0, std::uint64_t{0x10} << 56};
  }
  [[nodiscard]] static constexpr SegmentKey multi_wildcard() noexcept {
    return {0, std::uint64_t{0x11} << 56};
  }
  /// Requires that 16 bytes can be read at @p text, and `size <= max_inline_size`.
  [[nodiscard]] static SegmentKey padded(const char* text, std::size_t size) noexcept {
    const std::uint64_t first = load_word(text);
    const std::uint64_t second = load_word(text + 8);
    const std::size_t rest = size < 8 ? 0 : size - 8;
    constexpr std::uint64_t all = ~std::uint64_t{0};
    const std::uint64_t first_mask = size < 8 ? ~(all << (8 * size)) : all;
    const std::uint64_t second_mask = ~(all << (8 * rest));
    return {first & first_mask, (second & second_mask) | (std::uint64_t{size} << 56)};
  }
  /// Requires `text.size() <= max_inline_size`.
  [[nodiscard]] static SegmentKey of(std::string_view text) noexcept {
    const std::size_t size = text.size();
    if (size <= 8) return {load_word(text.data(), size), std::uint64_t{size} << 56};
    return {load_word(text.data()),
            load_word(text.data() + 8, size - 8) | (std::uint64_t{size} << 56)};
  }
  /// Requires `size < 2^24`. @p place is 0 for a segment that is only looked for.
  [[nodiscard]] static constexpr SegmentKey of_long(std::uint64_t hash, std::size_t size,
                                                    std::uint32_t place) noexcept {
    return {hash, (std::uint64_t{0x20} << 56) | (std::uint64_t{size} << 32) | place};
  }

  [[nodiscard]] constexpr bool is_long() const noexcept { return (high >> 61) == 1; }
  [[nodiscard]] constexpr bool is_wildcard() const noexcept { return (high >> 57) == 0x08; }
  /// Requires `is_long()`.
  [[nodiscard]] constexpr std::uint32_t place() const noexcept {
    return static_cast<std::uint32_t>(high);
  }
  /// In bytes. Requires `!is_wildcard()`.
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    return is_long() ? (high >> 32) & 0xff'ffff : high >> 56;
  }
  /// The segment, written to @p buffer. Requires that it is neither long nor a wildcard.
  [[nodiscard]] std::string_view text(char (&buffer)[16]) const noexcept {
    for (std::size_t i = 0; i < 8; ++i) {
      buffer[i] = static_cast<char>((low >> (8 * i)) & 0xff);
      buffer[i + 8] = static_cast<char>((high >> (8 * i)) & 0xff);
    }
    return {buffer, size()};
  }
};

// Odd numbers without a pattern: the first digits of pi.
inline constexpr std::uint64_t first_mixer = 0x243f6a8885a308d3ULL;
inline constexpr std::uint64_t second_mixer = 0xa4093822299f31d1ULL;

/// The hash of a segment that is not long, or of a wildcard.
constexpr std::uint64_t hash_of_key(const SegmentKey& key, std::uint64_t seed) noexcept {
  return multiply_mix(multiply_mix(key.low ^ seed ^ second_mixer, key.high ^ first_mixer) ^ seed,
                      second_mixer);
}

}  // namespace detail

/// What `TopicTrie` finds segments with: a hash of all bytes of @p segment that differs with the
/// seed. Must not throw. A bad one costs time, never a wrong answer.
template <class H>
concept TopicHash = std::default_initializable<H> &&
    requires(const H& hash, std::string_view segment, std::uint64_t seed) {
  { hash(segment, seed) }
  noexcept->std::same_as<std::uint64_t>;
};

/// The hash of segments: two multiplications for up to 15 bytes, one more for each further 16. Who
/// does not know the seed cannot easily make segments that collide.
///
/// Thread rule: a pure function. Complexity: O(size).
struct SegmentHash {
  [[nodiscard]] std::uint64_t operator()(std::string_view segment,
                                         std::uint64_t seed) const noexcept {
    if (segment.size() <= detail::SegmentKey::max_inline_size) {
      return detail::hash_of_key(detail::SegmentKey::of(segment), seed);
    }
    std::uint64_t state = seed;
    const char* text = segment.data();
    for (std::size_t left = segment.size(); left > 16; left -= 16, text += 16) {
      state = mixed(state, text);
    }
    state = mixed(state, segment.data() + segment.size() - 16);  // overlaps what was read before
    return detail::multiply_mix(state ^ seed, segment.size() ^ detail::second_mixer);
  }

 private:
  static std::uint64_t mixed(std::uint64_t state, const char* text) noexcept {
    return detail::multiply_mix(detail::load_word(text) ^ state ^ detail::first_mixer,
                                detail::load_word(text + 8) ^ detail::second_mixer);
  }
};
static_assert(TopicHash<SegmentHash>);

namespace detail {

/// A seed that an outsider does not know: @p place differs between processes where addresses are
/// random, and @p number is for instance the time.
[[nodiscard]] inline std::uint64_t unpredictable_seed(const void* place,
                                                      std::uint64_t number) noexcept {
  return multiply_mix(reinterpret_cast<std::uintptr_t>(place) ^ 0x9e3779b97f4a7c15ULL,
                      number ^ 0xd6e8feb86659fd93ULL);
}

}  // namespace detail

}  // namespace brook
