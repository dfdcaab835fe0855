#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

namespace brook::detail {

/// Makes room for one more element at a quarter more than there is, where a vector would take
/// twice: copying plain data costs little, and memory is what a large index has most of.
template <class T>
void reserve_sparingly(std::vector<T>& vector, std::size_t more = 1) {
  const std::size_t wanted = vector.size() + more;
  if (wanted <= vector.capacity()) return;
  vector.reserve(std::max(wanted, vector.size() + vector.size() / 4 + 4));
}

/// Many short texts in one piece of memory, known by where they begin. Freed places are used again
/// for texts of about the same size, so that steady change does not make it grow.
///
/// Holds up to 4 GiB. Thread rule: const members may run concurrently.
class TextPool {
 public:
  /// A place that is none.
  static constexpr std::uint32_t none = 0xffffffff;

  TextPool() noexcept = default;
  TextPool(TextPool&& other) noexcept { swap(other); }
  TextPool& operator=(TextPool&& other) noexcept {
    TextPool taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~TextPool() = default;

  /// Requires that @p size bytes were added at @p place.
  [[nodiscard]] std::string_view view(std::uint32_t place, std::size_t size) const noexcept {
    return {bytes_.data() + place, size};
  }
  /// Says that a `view` of @p place will be read soon.
  void prefetch(std::uint32_t place) const noexcept { __builtin_prefetch(bytes_.data() + place); }

  /// What a text of @p size bytes takes at most, for `reserve`.
  [[nodiscard]] static std::size_t cost(std::size_t size) noexcept {
    return size_of_class(class_of(size));
  }
  /// Makes room for texts with @p cost bytes together, so that adding them does not throw.
  /// @throws std::bad_alloc, nothing done
  void reserve(std::size_t cost) {
    if (bytes_.size() + cost >= none) throw std::bad_alloc();
    reserve_sparingly(bytes_, cost);
  }
  /// Requires room.
  [[nodiscard]] std::uint32_t add(std::string_view text) noexcept {
    const std::size_t cls = class_of(text.size());
    std::uint32_t place = free_[cls];
    if (place != none) {
      std::memcpy(&free_[cls], bytes_.data() + place, sizeof free_[cls]);
    } else {
      place = static_cast<std::uint32_t>(bytes_.size());
      bytes_.resize(bytes_.size() + size_of_class(cls));
    }
    if (!text.empty()) std::memcpy(bytes_.data() + place, text.data(), text.size());
    return place;
  }
  /// Requires that a text of @p size bytes was added at @p place.
  void remove(std::uint32_t place, std::size_t size) noexcept {
    const std::size_t cls = class_of(size);
    std::memcpy(bytes_.data() + place, &free_[cls], sizeof free_[cls]);
    free_[cls] = place;
  }
  [[nodiscard]] std::size_t memory_use() const noexcept { return bytes_.capacity(); }

  void swap(TextPool& other) noexcept {
    bytes_.swap(other.bytes_);
    free_.swap(other.free_);
  }

 private:
  // Sizes in steps of 4 bytes, so that the place of the next free one fits into a free one; from
  // `step × steps` on in powers of two.
  static constexpr std::size_t step = 4;
  static constexpr std::size_t steps = 32;
  static constexpr std::size_t classes = steps + 32;

  static std::size_t class_of(std::size_t size) noexcept {
    if (size <= step * steps) return size == 0 ? 0 : (size - 1) / step;
    return steps + static_cast<std::size_t>(std::bit_width((size - 1) / (step * steps))) - 1;
  }
  static std::size_t size_of_class(std::size_t cls) noexcept {
    if (cls < steps) return (cls + 1) * step;
    return (step * steps) << (cls - steps + 1);
  }
  static constexpr std::array<std::uint32_t, classes> nothing_free() noexcept {
    std::array<std::uint32_t, classes> places{};
    places.fill(none);
    return places;
  }

  std::vector<char> bytes_{};
  std::array<std::uint32_t, classes> free_ = nothing_free();
};

}  // namespace brook::detail
