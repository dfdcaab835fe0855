#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <brook/core/bytes.hpp>
#include <brook/core/error.hpp>
#include <brook/core/ids.hpp>

namespace brook {

/// Something that picks the partition of a message that names none itself.
///
/// With `const P p`, `Bytes key` (null if the message has no key) and `std::uint32_t partitions`:
///
/// | expression           | returns                   | pre               | post                  |
/// |----------------------|---------------------------|-------------------|-----------------------|
/// | `p(key, partitions)` | converts to `PartitionId` | `partitions >= 1` | result < `partitions` |
/// | `P::name()`          | `std::string_view`        |                   | not empty, constant   |
/// | `P(p)`               | one that is used apart    |                   |                       |
///
/// | expression           | may throw                  | threads                 | complexity    |
/// |----------------------|----------------------------|-------------------------|---------------|
/// | `p(key, partitions)` | `InvalidArgument`: cannot  | concurrent calls on one | O(size of key)|
/// |                      | serve this count; nothing  | object are allowed      |               |
/// |                      | is published then          |                         |               |
/// | `P::name()`          | nothing                    | any                     | O(1)          |
/// | `P(p)`               | anything                   | also during `p(...)`    | O(1)          |
///
/// Across calls: a topic keeps its own copy and calls it from several threads at once, holding no
/// lock that would order them. The count grows when partitions are added, and never shrinks.
/// Whoever wants the order of a key kept answers the same for the same key and count, always: also
/// in another process and in the next version, because a durable topic remembers `name()` and
/// refuses a partitioner with another one. Change the name whenever the answers change. Names
/// beginning with `brook.` belong to this library.
template <class P>
concept Partitioner = std::copy_constructible<P> &&
    requires(const P& p, Bytes key, std::uint32_t partitions) {
  { p(key, partitions) } -> std::convertible_to<PartitionId>;
  { P::name() } -> std::same_as<std::string_view>;
};

namespace detail {

/// The @p index-th byte of @p bytes as Kafka reads it: without a sign.
constexpr std::uint32_t unsigned_byte(std::string_view bytes, std::size_t index) noexcept {
  return static_cast<unsigned char>(bytes[index]);
}

constexpr std::uint32_t little_endian_word(std::string_view bytes, std::size_t index) noexcept {
  return unsigned_byte(bytes, index) | unsigned_byte(bytes, index + 1) << 8 |
         unsigned_byte(bytes, index + 2) << 16 | unsigned_byte(bytes, index + 3) << 24;
}

}  // namespace detail

/// The 32-bit MurmurHash2 of @p key with the seed of Kafka's clients
/// (`org.apache.kafka.common.utils.Utils.murmur2`, read as an unsigned number). Null hashes like
/// empty.
///
/// Not for tables whose keys come from untrusted sources: collisions are easy to make.
///
/// Thread rule: a pure function. Complexity: O(size).
[[nodiscard]] constexpr std::uint32_t murmur2(Bytes key) noexcept {
  constexpr std::uint32_t multiplier = 0x5bd1e995;
  constexpr std::uint32_t seed = 0x9747b28c;
  const std::string_view bytes = key.text();
  const std::size_t tail = bytes.size() & ~std::size_t{3};
  std::uint32_t hash = seed ^ static_cast<std::uint32_t>(bytes.size());
  for (std::size_t i = 0; i < tail; i += 4) {
    std::uint32_t word = detail::little_endian_word(bytes, i) * multiplier;
    word ^= word >> 24;
    hash = (hash * multiplier) ^ (word * multiplier);
  }
  if (tail != bytes.size()) {
    for (std::size_t i = tail; i < bytes.size(); ++i) {
      hash ^= detail::unsigned_byte(bytes, i) << (8 * (i - tail));
    }
    hash *= multiplier;
  }
  hash ^= hash >> 13;
  hash *= multiplier;
  return hash ^ (hash >> 15);
}

/// The default: a message with a key goes where Kafka's default partitioner puts it, `(murmur2(key)
/// & 0x7fffffff) % partitions`; the empty key is a key. A message without one goes round robin, so
/// that of any run of them no partition gets more than one more than another.
///
/// Same key, same partition, as long as the count stays the same. A key with a large share of the
/// messages makes a partition with a large share: then choose a finer key, or `RandomPartitioner`
/// where order does not matter. (Kafka's newer clients fill one partition per batch for messages
/// without a key; round robin needs no notion of a batch.)
///
/// Thread rule: concurrent calls are allowed and free of locks. A copy goes on from where the
/// original is. Complexity: O(size of key).
///
/// Example: `brook::KeyHashPartitioner{}("customer-42", 8) == brook::PartitionId{1}`.
class KeyHashPartitioner {
 public:
  KeyHashPartitioner() noexcept = default;
  KeyHashPartitioner(const KeyHashPartitioner& other) noexcept : turn_(other.turn()) {}
  KeyHashPartitioner& operator=(const KeyHashPartitioner& other) noexcept {
    turn_.store(other.turn(), std::memory_order_relaxed);
    return *this;
  }
  ~KeyHashPartitioner() = default;

  /// Requires @p partitions >= 1.
  [[nodiscard]] PartitionId operator()(Bytes key, std::uint32_t partitions) const noexcept {
    if (!key.is_null()) return PartitionId{(murmur2(key) & 0x7fffffffU) % partitions};
    const std::uint64_t turn = turn_.fetch_add(1, std::memory_order_relaxed);
    return PartitionId{static_cast<std::uint32_t>(turn % partitions)};
  }

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "brook.key_hash"; }

 private:
  [[nodiscard]] std::uint64_t turn() const noexcept {
    return turn_.load(std::memory_order_relaxed);
  }

  // 64 bits never wrap: a wrap would break the rotation wherever 2^n is no multiple of the count.
  mutable std::atomic<std::uint64_t> turn_{0};
};
static_assert(Partitioner<KeyHashPartitioner>);

/// Any message, with or without a key, to any partition with the same probability: for load that
/// has no order, and for tests that want messages scattered. Breaks the order of keys, because
/// order is kept within a partition only.
///
/// The same seed and the same sequence of calls give the same partitions, on every machine
/// (SplitMix64, Steele et al. 2014). The probabilities of two partitions differ by at most 2^-32.
/// Not for secrets.
///
/// Thread rule: concurrent calls are allowed and free of locks; which thread gets which number is
/// then open. A copy goes on from where the original is. Complexity: O(1).
class RandomPartitioner {
 public:
  explicit RandomPartitioner(std::uint64_t seed) noexcept : state_(seed) {}
  RandomPartitioner(const RandomPartitioner& other) noexcept : state_(other.state()) {}
  RandomPartitioner& operator=(const RandomPartitioner& other) noexcept {
    state_.store(other.state(), std::memory_order_relaxed);
    return *this;
  }
  ~RandomPartitioner() = default;

  /// Requires @p partitions >= 1.
  [[nodiscard]] PartitionId operator()(Bytes, std::uint32_t partitions) const noexcept {
    const std::uint64_t high_half = next() >> 32;
    return PartitionId{static_cast<std::uint32_t>((high_half * partitions) >> 32)};
  }

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "brook.random"; }

 private:
  [[nodiscard]] std::uint64_t state() const noexcept {
    return state_.load(std::memory_order_relaxed);
  }

  // The state only counts in steps; all mixing happens on a copy. So one atomic addition takes a
  // number.
  [[nodiscard]] std::uint64_t next() const noexcept {
    constexpr std::uint64_t step = 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_.fetch_add(step, std::memory_order_relaxed) + step;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  mutable std::atomic<std::uint64_t> state_;
};
static_assert(Partitioner<RandomPartitioner>);

/// Every message to one partition: a total order at the price of every other partition standing
/// empty. A message that names its partition itself does not need it.
///
/// Thread rule: concurrent calls are allowed. Complexity: O(1).
class FixedPartitioner {
 public:
  explicit constexpr FixedPartitioner(PartitionId partition) noexcept : partition_(partition) {}

  /// Requires @p partitions >= 1.
  /// @throws InvalidArgument if the topic has no such partition
  [[nodiscard]] PartitionId operator()(Bytes, std::uint32_t partitions) const {
    if (partition_.value() < partitions) return partition_;
    throw InvalidArgument("FixedPartitioner names partition " + to_string(partition_) +
                          ", but the topic has " + std::to_string(partitions) +
                          ", counted from 0: choose a lower one, or create the topic with more");
  }

  [[nodiscard]] static constexpr std::string_view name() noexcept { return "brook.fixed"; }

 private:
  PartitionId partition_;
};
static_assert(Partitioner<FixedPartitioner>);

}  // namespace brook
