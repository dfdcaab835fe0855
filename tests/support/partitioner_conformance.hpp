#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <brook/topic/partitioner.hpp>

#include "support/catch.hpp"

namespace support {

/// What a partitioner says about itself beyond the concept. The default claims nothing.
struct PartitionerPromises {
  std::uint32_t min_partitions = 1;  ///< Fewer may be answered with InvalidArgument.
  bool same_key_same_partition = false;
  bool keyless_within_one = false;  ///< Round robin: any run is spread within one message.
};

namespace detail {

inline std::vector<brook::Buffer> sample_keys() {
  std::vector<brook::Buffer> keys;
  keys.emplace_back(brook::null);
  keys.emplace_back("");
  keys.emplace_back("customer-42");
  keys.emplace_back("a\0b");
  keys.emplace_back(std::string(3, '\xff'));
  keys.emplace_back(std::string(70'000, 'k'));
  for (int i = 0; i < 100; ++i) keys.emplace_back("key-" + std::to_string(i));
  return keys;
}

inline std::vector<std::uint32_t> sample_counts(std::uint32_t min_partitions) {
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t more : {0U, 1U, 2U, 6U, 7U, 99U, 9'999U}) {
    counts.push_back(min_partitions + more);
  }
  counts.push_back(0xffffffff);
  return counts;
}

/// Calls @p partitioner @p calls times without a key and returns how many each partition got.
template <class P>
std::vector<std::int64_t> count_keyless(const P& partitioner, std::uint32_t partitions, int calls) {
  std::vector<std::int64_t> hits(partitions, 0);
  for (int i = 0; i < calls; ++i) {
    const brook::PartitionId to = partitioner(brook::null, partitions);
    REQUIRE(to.value() < partitions);
    ++hits[to.value()];
  }
  return hits;
}

inline void check_within_one(const std::vector<std::int64_t>& hits) {
  std::int64_t low = hits.front();
  std::int64_t high = hits.front();
  for (const std::int64_t count : hits) {
    low = count < low ? count : low;
    high = count > high ? count : high;
  }
  CHECK(high - low <= 1);
}

template <class P>
void check_name() {
  const std::string_view name = P::name();
  CHECK_FALSE(name.empty());
  CHECK(P::name() == name);
}

template <class P>
void check_range(const P& partitioner, const PartitionerPromises& promises) {
  for (const std::uint32_t partitions : sample_counts(promises.min_partitions)) {
    for (const brook::Buffer& key : sample_keys()) {
      const brook::PartitionId to = partitioner(key, partitions);
      CHECK(to.value() < partitions);
      if (promises.same_key_same_partition && !key.is_null()) {
        CHECK(partitioner(key, partitions) == to);
      }
    }
  }
}

template <class P>
void check_copies(const P& original, const PartitionerPromises& promises) {
  const P copy(original);
  check_range(copy, promises);
  check_range(original, promises);
  if (!promises.same_key_same_partition) return;
  for (const brook::Buffer& key : sample_keys()) {
    if (key.is_null()) continue;
    const brook::PartitionId to = original(key, promises.min_partitions + 6);
    CHECK(copy(key, promises.min_partitions + 6) == to);
  }
}

template <class P>
void check_spread(const P& partitioner, const PartitionerPromises& promises) {
  const std::uint32_t partitions = promises.min_partitions + 6;
  for (const int calls : {1, 6, 7, 8, 700, 1003}) {
    check_within_one(count_keyless(partitioner, partitions, calls));
  }
}

/// Several threads use one object, as the publishers of a topic do, while another copies it.
template <class P>
void check_threads(const P& partitioner, const PartitionerPromises& promises) {
  constexpr int calls = 2'000;
  constexpr std::size_t thread_count = 4;
  const std::uint32_t partitions = promises.min_partitions + 6;
  std::vector<std::vector<std::int64_t>> hits(thread_count, std::vector<std::int64_t>(partitions));
  std::vector<int> out_of_range(thread_count, 0);
  std::vector<std::thread> threads;
  threads.reserve(thread_count);
  for (std::size_t t = 0; t < thread_count; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < calls; ++i) {
        const brook::PartitionId keyless = partitioner(brook::null, partitions);
        const brook::PartitionId keyed = partitioner("customer-42", partitions);
        if (keyless.value() < partitions) ++hits[t][keyless.value()];
        if (keyless.value() >= partitions || keyed.value() >= partitions) ++out_of_range[t];
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    const P copy(partitioner);
    static_cast<void>(copy("customer-42", partitions));
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : out_of_range) CHECK(count == 0);
  for (std::size_t t = 1; t < thread_count; ++t) {
    for (std::uint32_t p = 0; p < partitions; ++p) hits[0][p] += hits[t][p];
  }
  if (promises.keyless_within_one) check_within_one(hits[0]);
}

}  // namespace detail

/// Checks @p partitioner against what `brook::Partitioner` asks and what it promises beyond that.
/// Call it from a test case with your own partitioner; it takes a moment and four threads.
///
///     TEST_CASE("MyPartitioner conforms") {
///       support::check_partitioner(MyPartitioner{}, {.same_key_same_partition = true});
///     }
template <brook::Partitioner P>
void check_partitioner(const P& partitioner, const PartitionerPromises& promises) {
  INFO("partitioner " << std::string(P::name()));
  detail::check_name<P>();
  detail::check_range(partitioner, promises);
  detail::check_copies(partitioner, promises);
  if (promises.keyless_within_one) detail::check_spread(partitioner, promises);
  detail::check_threads(partitioner, promises);
}

}  // namespace support
