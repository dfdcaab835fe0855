#include <brook/topic/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

using brook::FixedPartitioner;
using brook::KeyHashPartitioner;
using brook::murmur2;
using brook::null;
using brook::PartitionId;
using brook::RandomPartitioner;

namespace {

// ------------------------------------------------------------------- near misses of the concept

struct NotConst {
  PartitionId operator()(brook::Bytes, std::uint32_t) { return {}; }
  static constexpr std::string_view name() { return "not_const"; }
};
static_assert(!brook::Partitioner<NotConst>);

struct ReturnsNumber {
  std::uint32_t operator()(brook::Bytes, std::uint32_t) const { return 0; }
  static constexpr std::string_view name() { return "returns_number"; }
};
static_assert(!brook::Partitioner<ReturnsNumber>);

struct Nameless {
  PartitionId operator()(brook::Bytes, std::uint32_t) const { return {}; }
};
static_assert(!brook::Partitioner<Nameless>);

struct NamedByObject {
  PartitionId operator()(brook::Bytes, std::uint32_t) const { return {}; }
  std::string_view name() const { return "named_by_object"; }
};
static_assert(!brook::Partitioner<NamedByObject>);

struct NamedByString {
  PartitionId operator()(brook::Bytes, std::uint32_t) const { return {}; }
  static std::string name() { return "named_by_string"; }
};
static_assert(!brook::Partitioner<NamedByString>);

struct CannotTellNullFromEmpty {
  PartitionId operator()(std::string_view, std::uint32_t) const { return {}; }
  static constexpr std::string_view name() { return "text_only"; }
};
static_assert(!brook::Partitioner<CannotTellNullFromEmpty>);

struct MoveOnly {
  MoveOnly(MoveOnly&&) = default;
  PartitionId operator()(brook::Bytes, std::uint32_t) const { return {}; }
  static constexpr std::string_view name() { return "move_only"; }
};
static_assert(!brook::Partitioner<MoveOnly>);

std::int32_t signed_murmur2(brook::Bytes key) {
  return static_cast<std::int32_t>(murmur2(key));
}

std::vector<std::uint32_t> take(const RandomPartitioner& partitioner, int count) {
  std::vector<std::uint32_t> answers;
  answers.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) answers.push_back(partitioner(null, 8).value());
  return answers;
}

}  // namespace

TEST_CASE("murmur2 gives the values that Kafka's own test publishes", "[topic]") {
  // UtilsTest.testMurmur2 of apache/kafka.
  CHECK(signed_murmur2("21") == -973932308);
  CHECK(signed_murmur2("foobar") == -790332482);
  CHECK(signed_murmur2("a-little-bit-long-string") == -985981536);
  CHECK(signed_murmur2("a-little-bit-longer-string") == -1486304829);
  CHECK(signed_murmur2("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8") == -58897971);
  CHECK(signed_murmur2(std::vector<char>{'a', 'b', 'c'}) == 479470107);
}

TEST_CASE("murmur2 reads bytes without a sign, in every length of the tail", "[topic]") {
  // From a second implementation, written in Python from the algorithm's description.
  CHECK(murmur2("") == 0x106e08d9);
  CHECK(murmur2("a") == 0xa2d0b27c);
  CHECK(murmur2("\xff\xfe\xfd") == 0x3b85fe24);
  CHECK(murmur2("key\0with\0nul") == 0xc42fa46c);
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  CHECK(murmur2(all_bytes) == 0x8bde9476);
  CHECK(murmur2(null) == murmur2(""));
  static_assert(murmur2("customer-42") == 0xdfa2ab19);
}

TEST_CASE("a key goes to the partition that Kafka's default partitioner picks", "[topic]") {
  const KeyHashPartitioner partitioner;
  CHECK(partitioner("21", 8) == PartitionId{4});
  CHECK(partitioner("21", 7) == PartitionId{3});
  CHECK(partitioner("foobar", 12) == PartitionId{6});
  CHECK(partitioner("customer-42", 12) == PartitionId{9});
  CHECK(partitioner("", 8) == PartitionId{1});
  CHECK(KeyHashPartitioner{}("customer-42", 8) == PartitionId{1});
  CHECK(partitioner("customer-42", 1) == PartitionId{0});
}

TEST_CASE("keyed messages do not disturb the round robin of the others", "[topic]") {
  const KeyHashPartitioner partitioner;
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t p = 0; p < 5; ++p) {
      CHECK(partitioner(null, 5) == PartitionId{p});
      CHECK(partitioner("customer-42", 5) == KeyHashPartitioner{}("customer-42", 5));
    }
  }
}

TEST_CASE("the empty key is a key, not a missing one", "[topic]") {
  const KeyHashPartitioner partitioner;
  for (int i = 0; i < 5; ++i) CHECK(partitioner("", 8) == PartitionId{1});
  CHECK(partitioner(null, 8) == PartitionId{0});
}

TEST_CASE("a copied round robin goes on from where the original is", "[topic]") {
  KeyHashPartitioner original;
  static_cast<void>(original(null, 8));
  const KeyHashPartitioner copy(original);
  CHECK(copy(null, 8) == PartitionId{1});
  CHECK(copy(null, 8) == PartitionId{2});
  CHECK(original(null, 8) == PartitionId{1});
  original = copy;
  CHECK(original(null, 8) == PartitionId{3});
}

TEST_CASE("a random partitioner repeats itself from its seed", "[topic]") {
  // The first numbers of SplitMix64 from seed 1234567, scaled to 8.
  const std::vector<std::uint32_t> expected{2, 1, 4, 1, 7, 3, 4, 2, 3, 6, 3, 3, 4, 1, 2, 1};
  const RandomPartitioner first{1234567};
  const RandomPartitioner second{1234567};
  CHECK(take(first, 16) == expected);
  CHECK(take(second, 16) == expected);
  CHECK(take(RandomPartitioner{7654321}, 16) != expected);
  RandomPartitioner assigned{0};
  assigned = RandomPartitioner{1234567};
  CHECK(take(assigned, 16) == expected);
}

TEST_CASE("a random partitioner uses the upper half of SplitMix64", "[topic]") {
  const RandomPartitioner partitioner{1234567};
  constexpr std::uint32_t partitions = 0x8000'0000;
  CHECK(partitioner(null, partitions) == PartitionId{0x599e'd017 >> 1});
  CHECK(partitioner(null, partitions) == PartitionId{0x2c73'f084 >> 1});
  CHECK(partitioner(null, partitions) == PartitionId{0x883e'bce5 >> 1});
  CHECK(partitioner(null, partitions) == PartitionId{0x3fbe'f740 >> 1});
}

TEST_CASE("a copied random partitioner goes on from where the original is", "[topic]") {
  RandomPartitioner original{1234567};
  CHECK(take(original, 3) == std::vector<std::uint32_t>{2, 1, 4});
  const RandomPartitioner copy(original);
  CHECK(take(copy, 3) == std::vector<std::uint32_t>{1, 7, 3});
  CHECK(take(original, 3) == std::vector<std::uint32_t>{1, 7, 3});
  CHECK(take(copy, 1) == take(original, 1));
  original = copy;
  CHECK(take(copy, 1) == take(original, 1));
}

TEST_CASE("a random partitioner ignores the key and reaches every partition", "[topic]") {
  const RandomPartitioner partitioner{1};
  std::vector<int> hits(10, 0);
  for (int i = 0; i < 10'000; ++i) ++hits[partitioner("customer-42", 10).value()];
  // Binomial with mean 1,000 and deviation 30; the seed makes it the same every time.
  for (const int count : hits) {
    CHECK(count > 850);
    CHECK(count < 1'150);
  }
}

TEST_CASE("a fixed partitioner always answers the same", "[topic]") {
  const FixedPartitioner partitioner{PartitionId{3}};
  CHECK(partitioner(null, 4) == PartitionId{3});
  CHECK(partitioner("customer-42", 4) == PartitionId{3});
  CHECK(partitioner("customer-42", 100) == PartitionId{3});
}

TEST_CASE("a fixed partitioner beyond the partitions of the topic is refused", "[topic]") {
  const FixedPartitioner partitioner{PartitionId{3}};
  CHECK_THROWS_AS(partitioner(null, 3), brook::InvalidArgument);
  CHECK_THROWS_WITH(partitioner("a", 1),
                    "FixedPartitioner names partition 3, but the topic has 1, counted from 0: "
                    "choose a lower one, or create the topic with more");
}

TEST_CASE("the names that durable topics remember stay what they are", "[topic]") {
  static_assert(KeyHashPartitioner::name() == "brook.key_hash");
  static_assert(RandomPartitioner::name() == "brook.random");
  static_assert(FixedPartitioner::name() == "brook.fixed");
  CHECK(KeyHashPartitioner::name() == "brook.key_hash");
}
