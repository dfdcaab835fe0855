#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <brook/group/assignor.hpp>

namespace support {

using Owners = std::vector<std::uint32_t>;

/// A question to an assignor.
class Assignment {
 public:
  /// @p counts: the partitions of each topic. @p owners: one for each partition; none = nobody.
  Assignment(const std::vector<std::uint32_t>& counts,
             std::vector<std::vector<std::uint32_t>> members, const Owners& owners = {})
      : members_(std::move(members)) {
    for (std::uint32_t topic = 0; topic < counts.size(); ++topic) {
      for (std::uint32_t i = 0; i < counts[topic]; ++i) {
        const std::size_t at = partitions_.size();
        partitions_.push_back({.topic = topic,
                               .partition = brook::PartitionId{i},
                               .owner = at < owners.size() ? owners[at] : brook::no_member});
      }
    }
  }

  [[nodiscard]] brook::AssignmentInput input() const {
    return {.partitions = partitions_, .members = members_};
  }
  template <class A>
  [[nodiscard]] Owners by(const A& assignor) const {
    Owners owners(partitions_.size(), brook::no_member);
    assignor(input(), owners);
    return owners;
  }

 private:
  std::vector<brook::AssignablePartition> partitions_;
  std::vector<std::vector<std::uint32_t>> members_;
};

}  // namespace support
