#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/syntax.hpp>

namespace brook::detail {

/// A segment of a text, ready to be looked for.
struct TextSegment {
  const char* text = nullptr;  ///< In the text it was cut out of.
  std::size_t size = 0;
  SegmentKey key{};
  std::uint64_t hash = 0;
};

/// Where @p c stands among the 8 bytes of @p word, as the low 8 bits of the result.
constexpr std::uint64_t positions_of(char c, std::uint64_t word) noexcept {
  constexpr std::uint64_t ones = 0x0101'0101'0101'0101ULL;
  constexpr std::uint64_t low_bits = 0x7f * ones;
  const std::uint64_t other = word ^ (static_cast<unsigned char>(c) * ones);
  // The top bit of each byte: clear if and only if the byte is zero.
  const std::uint64_t is_other = ((other & low_bits) + low_bits) | other | low_bits;
  return ((~is_other >> 7) * 0x0102'0408'1020'4080ULL) >> 56;
}

/// Bytes because of which a text may not be a topic of the dialect, or not a valid one as it
/// stands: whoever sees one has to look closer.
template <TopicSyntax Syntax>
constexpr std::array<bool, 256> suspicious_bytes() noexcept {
  std::array<bool, 256> suspicious{};
  const auto mark = [&](char c) { suspicious[static_cast<unsigned char>(c)] = true; };
  for (const char c : Syntax::rules.forbidden_bytes) mark(c);
  if (!Syntax::rules.allows_wildcards_in_words || !Syntax::rules.allows_wildcards_in_topics) {
    mark(Syntax::single_wildcard);
    mark(Syntax::multi_wildcard);
  }
  return suspicious;
}

/// A topic or pattern cut into segments, each with its key and hash, all in one pass. Views the
/// text; takes memory of its own only for more than 24 segments.
template <TopicSyntax Syntax, class Hash>
class SplitText {
 public:
  /// @throws std::bad_alloc
  SplitText(std::string_view text, std::uint64_t seed) : text_(text), seed_(seed), hash_(seed) {
    if (text.empty()) return;
    fill_tail();
    std::size_t begin = 0;
    for (std::size_t block = 0; block < text.size(); block += 64) {
      for (std::uint64_t found = separators(block); found != 0; found &= found - 1) {
        const std::size_t end = block + static_cast<std::size_t>(std::countr_zero(found));
        add(begin, end);
        begin = end + 1;
      }
    }
    add(begin, text.size());
  }
  SplitText(const SplitText&) = delete;
  SplitText& operator=(const SplitText&) = delete;
  ~SplitText() = default;

  [[nodiscard]] std::string_view text() const noexcept { return text_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::size_t size() const noexcept { return segments_.size(); }
  [[nodiscard]] const TextSegment& operator[](std::size_t index) const noexcept {
    return segments_[index];
  }
  [[nodiscard]] const TextSegment* begin() const noexcept { return segments_.begin(); }
  [[nodiscard]] const TextSegment* end() const noexcept { return segments_.end(); }
  /// Of all segments in their order.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }

  /// Whether this is a valid topic of the dialect, but for its size. If not, it may be one.
  [[nodiscard]] bool is_plain() const noexcept {
    constexpr SyntaxRules rules = Syntax::rules;
    constexpr std::array<bool, 256> suspicious = suspicious_bytes<Syntax>();
    bool is_plain = rules.allows_empty_text || !text_.empty();
    if constexpr (!rules.allows_empty_segments) is_plain = is_plain && !has_empty_segment_;
    if constexpr (suspicious != std::array<bool, 256>{}) {
      bool found = false;
      for (const char c : text_) found |= suspicious[static_cast<unsigned char>(c)];
      is_plain = is_plain && !found;
    }
    return is_plain;
  }

 private:
  static constexpr std::size_t word_size = 8;
  static constexpr std::size_t padding = 16;

  /// The last bytes again, with zeros behind them, to be read beyond.
  void fill_tail() noexcept {
    std::memset(tail_, 0, sizeof tail_);
    const std::size_t size = text_.size() < padding ? text_.size() : padding;
    std::memcpy(tail_, text_.data() + (text_.size() - size), size);
    tail_begin_ = text_.size() - size;
  }
  /// The text from @p index on, with at least 16 bytes to read there.
  [[nodiscard]] const char* readable(std::size_t index) const noexcept {
    return index + padding <= text_.size() ? text_.data() + index : tail_ + (index - tail_begin_);
  }
  /// Where separators stand among the 64 bytes from @p block on.
  [[nodiscard]] std::uint64_t separators(std::size_t block) const noexcept {
    std::uint64_t found = 0;
    const std::size_t size = text_.size() - block < 64 ? text_.size() - block : 64;
    for (std::size_t i = 0; i < size; i += word_size) {
      found |= positions_of(Syntax::separator, load_word(readable(block + i))) << i;
    }
    return size == 64 ? found : found & ~(~std::uint64_t{0} << size);
  }

  void add(std::size_t begin, std::size_t end) {
    TextSegment segment;
    segment.text = text_.data() + begin;
    segment.size = end - begin;
    const std::string_view text(segment.text, segment.size);
    if (segment.size <= SegmentKey::max_inline_size) {
      segment.key = SegmentKey::padded(readable(begin), segment.size);
      if constexpr (std::same_as<Hash, SegmentHash>) {
        segment.hash = hash_of_key(segment.key, seed_);
      } else {
        segment.hash = Hash{}(text, seed_);
      }
    } else {
      segment.hash = Hash{}(text, seed_);
      segment.key = SegmentKey::of_long(segment.hash, segment.size, 0);
    }
    hash_ = multiply_mix(hash_ ^ segment.hash, second_mixer);
    has_empty_segment_ |= segment.size == 0;
    segments_.push_back(segment);
  }

  std::string_view text_;
  std::uint64_t seed_;
  std::uint64_t hash_;
  std::size_t tail_begin_ = 0;
  bool has_empty_segment_ = false;
  char tail_[2 * padding];
  InlineVector<TextSegment, 24> segments_{};
};

}  // namespace brook::detail
