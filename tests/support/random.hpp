#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include <brook/core/message.hpp>

#include "support/catch.hpp"

namespace support {

/// Numbers from one seed; the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }
  /// Requires `limit > 0`.
  std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  /// Both ends included.
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(unsigned percent) { return below(100) < percent; }

  std::string bytes(std::size_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(next() & 0xff);
    return text;
  }

 private:
  std::mt19937_64 engine_;
};

/// Null, empty, or bytes of at most @p max_size.
inline brook::Buffer random_buffer(Random& random, std::size_t max_size) {
  if (random.chance(10)) return brook::null;
  if (random.chance(10)) return "";
  return random.bytes(random.between(1, max_size));
}

/// A message with or without anything that a message may have.
inline brook::Message random_message(Random& random, std::size_t max_payload = 64) {
  brook::Message message{.key = random_buffer(random, 16),
                         .payload = random_buffer(random, max_payload)};
  if (random.chance(30)) {
    const std::uint64_t count = random.between(1, 4);
    for (std::uint64_t i = 0; i < count; ++i) {
      message.headers.push_back(
          {.name = random.bytes(random.below(4)), .value = random_buffer(random, 200)});
    }
  }
  return message;
}

namespace detail {
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}
}  // namespace detail

/// Calls @p test with one seed, a new one in every run, which is printed; BROOK_SEED repeats it.
template <class Test>
void with_seed(std::string_view name, Test test) {
  const std::uint64_t seed = detail::number_from_environment("BROOK_SEED", std::random_device{}());
  std::cerr << name << ": BROOK_SEED=" << seed << "\n";
  INFO("BROOK_SEED=" << seed);
  test(seed);
}

/// Calls @p test with one seed after the other: @p count of them, new ones in every run.
///
/// A failure names its seed; BROOK_SEED=<seed> runs that one alone. BROOK_SEEDS=<count> says how
/// many, so that both together repeat a whole run, whose first seed is printed.
template <class Test>
void for_each_seed(std::string_view name, std::uint64_t count, Test test) {
  const bool given = std::getenv("BROOK_SEED") != nullptr;
  const std::uint64_t first = detail::number_from_environment("BROOK_SEED", std::random_device{}());
  const std::uint64_t seeds = detail::number_from_environment("BROOK_SEEDS", given ? 1 : count);
  std::cerr << name << ": BROOK_SEED=" << first << " BROOK_SEEDS=" << seeds << "\n";
  for (std::uint64_t seed = first; seed != first + seeds; ++seed) {
    INFO("BROOK_SEED=" << seed);
    test(seed);
  }
}

}  // namespace support
