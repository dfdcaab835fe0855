#include <brook/topic/partitioner.hpp>

#include <cstdint>
#include <string_view>

#include "support/catch.hpp"
#include "support/partitioner_conformance.hpp"

namespace {

/// Meets the concept and nothing more: no default constructor, no assignment, a result that only
/// converts.
class PartitionerArchetype {
 public:
  struct Answer {
    std::uint32_t partition;
    operator brook::PartitionId() const {  // NOLINT(*-explicit-*): the least that is asked for
      return brook::PartitionId{partition};
    }
  };

  explicit PartitionerArchetype(int) {}
  PartitionerArchetype(const PartitionerArchetype&) = default;
  PartitionerArchetype& operator=(const PartitionerArchetype&) = delete;

  Answer operator()(brook::Bytes key, std::uint32_t partitions) const {
    return {static_cast<std::uint32_t>(key.size()) % partitions};
  }
  static constexpr std::string_view name() { return "archetype"; }
};
static_assert(brook::Partitioner<PartitionerArchetype>);

}  // namespace

TEST_CASE("KeyHashPartitioner conforms", "[topic][conformance]") {
  support::check_partitioner(brook::KeyHashPartitioner{},
                             {.same_key_same_partition = true, .keyless_within_one = true});
}

TEST_CASE("RandomPartitioner conforms", "[topic][conformance]") {
  support::check_partitioner(brook::RandomPartitioner{42}, {});
}

TEST_CASE("FixedPartitioner conforms", "[topic][conformance]") {
  support::check_partitioner(brook::FixedPartitioner{brook::PartitionId{2}},
                             {.min_partitions = 3, .same_key_same_partition = true});
}

TEST_CASE("A partitioner that meets the minimum and nothing more conforms",
          "[topic][conformance]") {
  support::check_partitioner(PartitionerArchetype{0}, {.same_key_same_partition = true});
}
