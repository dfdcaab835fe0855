#include <brook/topic/segment_key.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "support/catch.hpp"

using brook::SegmentHash;
using brook::detail::SegmentKey;

namespace {

struct MayThrow {
  std::uint64_t operator()(std::string_view, std::uint64_t) const;
};
static_assert(!brook::TopicHash<MayThrow>);
struct WithoutSeed {
  std::uint64_t operator()(std::string_view) const noexcept;
};
static_assert(!brook::TopicHash<WithoutSeed>);
static_assert(brook::TopicHash<SegmentHash>);

}  // namespace

TEST_CASE("the key of a segment of up to 15 bytes is its bytes and its size", "[topic]") {
  const std::string_view text = "abcdefghijklmnopqrstuvwxyz";
  for (std::size_t size = 0; size <= SegmentKey::max_inline_size; ++size) {
    const SegmentKey key = SegmentKey::of(text.substr(0, size));
    CHECK(key == SegmentKey::padded(text.data(), size));
    CHECK(key.size() == size);
    CHECK_FALSE(key.is_long());
    CHECK_FALSE(key.is_wildcard());
    char buffer[16];
    CHECK(key.text(buffer) == text.substr(0, size));
  }
}

TEST_CASE("keys differ with any byte and with trailing zeros", "[topic]") {
  const std::string zeros(15, '\0');
  for (std::size_t size = 0; size < 15; ++size) {
    CHECK_FALSE(SegmentKey::of({zeros.data(), size}) == SegmentKey::of({zeros.data(), size + 1}));
  }
  for (std::size_t i = 0; i < 15; ++i) {
    std::string text = zeros;
    text[i] = '\x01';
    CHECK_FALSE(SegmentKey::of(text) == SegmentKey::of(zeros));
  }
}

TEST_CASE("wildcards and long segments are no keys of short ones", "[topic]") {
  CHECK_FALSE(SegmentKey::single_wildcard() == SegmentKey::of("*"));
  CHECK_FALSE(SegmentKey::multi_wildcard() == SegmentKey::of("#"));
  CHECK_FALSE(SegmentKey::single_wildcard() == SegmentKey::multi_wildcard());
  CHECK(SegmentKey::single_wildcard().is_wildcard());
  CHECK(SegmentKey::multi_wildcard().is_wildcard());
  const SegmentKey key = SegmentKey::of_long(7, 0xff'ffff, 0xffff'ffff);
  CHECK(key.is_long());
  CHECK_FALSE(key.is_wildcard());
  CHECK(key.size() == 0xff'ffff);
  CHECK(key.place() == 0xffff'ffff);
}

TEST_CASE("the hash depends on every byte, the size and the seed", "[topic]") {
  std::set<std::uint64_t> hashes;
  std::size_t made = 0;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63}) {
    for (std::size_t size = 0; size < 80; ++size) {
      std::string text(size, 'x');
      hashes.insert(SegmentHash{}(text, seed));
      ++made;
      for (std::size_t i = 0; i < size; ++i, ++made) {
        text[i] = 'y';
        hashes.insert(SegmentHash{}(text, seed));
        text[i] = 'x';
      }
    }
  }
  CHECK(hashes.size() == made);
}

TEST_CASE("the two halves of a product are mixed as on any machine", "[topic]") {
  using brook::detail::multiply_mix;
  static_assert(multiply_mix(3, 5) == 15);
  static_assert(multiply_mix(~std::uint64_t{0}, 2) == (~std::uint64_t{1} ^ 1));
  static_assert(multiply_mix(std::uint64_t{1} << 63, 4) == 2);
  static_assert(multiply_mix(~std::uint64_t{0}, ~std::uint64_t{0}) == (1 ^ ~std::uint64_t{1}));
}
