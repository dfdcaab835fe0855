#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <brook/core/inline_vector.hpp>
#include <brook/topic/probe_table.hpp>
#include <brook/topic/segment_key.hpp>

namespace brook::detail {

/// A few numbers, each once. Most walks need none, hardly any more than 16.
class NumberSet {
 public:
  /// Whether @p number is new. @throws std::bad_alloc, nothing done
  bool insert(std::uint32_t number) {
    if (contains(number)) return false;
    if (larger_.size() == 0) {
      few_.push_back(number);
      if (few_.size() <= most_few) return true;
      larger_.reserve(few_.size());
      for (const std::uint32_t one : few_) larger_.insert(hash_of(one), one);
      return true;
    }
    larger_.reserve(1);
    larger_.insert(hash_of(number), number);
    return true;
  }
  [[nodiscard]] bool contains(std::uint32_t number) const noexcept {
    if (larger_.size() == 0) return std::find(few_.begin(), few_.end(), number) != few_.end();
    const auto is_it = [number](std::uint32_t one) { return one == number; };
    return larger_.find(hash_of(number), is_it) != IdTable::none;
  }

 private:
  static constexpr std::size_t most_few = 16;
  static std::uint64_t hash_of(std::uint32_t number) noexcept {
    return multiply_mix(number ^ first_mixer, second_mixer);
  }

  InlineVector<std::uint32_t, most_few + 1> few_{};
  IdTable larger_{};
};

}  // namespace brook::detail
