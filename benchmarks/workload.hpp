#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <brook/brook.hpp>

namespace workload {

/// Messages as every benchmark here uses them: lengths vary in [size/2, 3·size/2], so that no
/// branch is predicted for free; the bytes come from a pool of 64 KiB at a varying place, so that
/// the source stays in cache; fixed seed. Keys are 16 bytes, from 64 customers.
class Messages {
 public:
  static constexpr std::size_t count = 4096;

  Messages(std::size_t size, bool keyed) : pool_(std::size_t{1} << 16, 'x') {
    for (char& c : pool_) c = static_cast<char>(next() & 0x7f);
    for (std::size_t i = 0; i < 64; ++i) keys_.push_back("customer-key-" + std::to_string(100 + i));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t length = size / 2 + next() % (size + 1);
      const std::size_t place = next() % (pool_.size() - length);
      brook::MessageView message;
      message.payload = std::string_view(pool_).substr(place, length);
      if (keyed) message.key = keys_[next() % keys_.size()];
      views_.push_back(message);
    }
  }

  /// Message @p index, going round.
  [[nodiscard]] const brook::MessageView& operator[](std::size_t index) const noexcept {
    return views_[index % count];
  }
  /// @p size consecutive messages, another place each time. Requires size <= count / 2.
  [[nodiscard]] std::span<const brook::MessageView> batch(std::size_t size) noexcept {
    if (at_ + size > count) at_ = 0;
    const auto part = std::span(views_).subspan(at_, size);
    at_ += size;
    return part;
  }
  [[nodiscard]] std::span<const brook::MessageView> all() const noexcept { return views_; }

 private:
  std::uint64_t next() noexcept {  // xorshift64 (Marsaglia 2003)
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

  std::uint64_t state_ = 88'172'645'463'325'252ULL;
  std::string pool_;
  std::vector<std::string> keys_;
  std::vector<brook::MessageView> views_;
  std::size_t at_ = 0;
};

/// Sum of all bytes, read as 8-byte words: what every reader here does with a message.
inline std::uint64_t checksum(brook::Bytes bytes) noexcept {
  std::uint64_t sum = 0;
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, sizeof word);
    sum += word;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, at, left);
  return sum + word;
}

}  // namespace workload
