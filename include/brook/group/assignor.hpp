#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/core/error.hpp>
#include <brook/core/ids.hpp>
#include <brook/group/balance.hpp>

namespace brook {

/// In place of a member's number: nobody.
inline constexpr std::uint32_t no_member = 0xffff'ffff;

/// A partition that a group may read, as assignors see it.
struct AssignablePartition {
  std::uint32_t topic = 0;  ///< A number for the topic, from 0 on in the order in which the group
                            ///< began to follow them.
  PartitionId partition{};
  std::uint32_t owner = no_member;  ///< Whose it is at present.
};

/// What an assignment is made from. All of it is valid during the call only.
struct AssignmentInput {
  std::span<const AssignablePartition> partitions{};  ///< In order of topic and partition.
  /// What each member wants: numbers of topics, rising. Members are numbered in the order in which
  /// they joined.
  std::span<const std::vector<std::uint32_t>> members{};
};

/// Something that decides which member of a group reads which partition.
///
/// With `const A a`, `AssignmentInput input` and `std::span<std::uint32_t> owners`, one for each
/// partition of `input`, all `no_member`:
///
/// | expression         | returns            | post                                              |
/// |--------------------|--------------------|---------------------------------------------------|
/// | `a(input, owners)` |                    | every partition that a member wants has one owner |
/// |                    |                    | that wants it; the others have `no_member`        |
/// | `A::name()`        | `std::string_view` | not empty, constant                               |
/// | `A(a)`             | one used apart     |                                                   |
///
/// | expression         | may throw                             | threads                        |
/// |--------------------|---------------------------------------|--------------------------------|
/// | `a(input, owners)` | anything: the member that joins is    | calls on copies may be made at |
/// |                    | refused with it; where nobody can be  | the same time; with the lock   |
/// |                    | refused (a member left, a topic came) | of the group held, so it must  |
/// |                    | `StickyAssignor` decides instead      | not call the broker            |
/// | `A::name()`        | nothing                               | any                            |
///
/// It only says who shall read what: the broker sees to it that nobody gets a partition before its
/// owner has let go of it. The members of a group agree on the assignor by its name, so change the
/// name whenever the answers change. Names beginning with `brook.` belong to this library.
template <class A>
concept Assignor = std::copy_constructible<A> &&
    requires(const A& a, const AssignmentInput& input, std::span<std::uint32_t> owners) {
  a(input, owners);
  { A::name() } -> std::same_as<std::string_view>;
};

/// The default. Where all members want the same topics: as many partitions for each as for any
/// other, within one, and as few changes of owner as that allows. Where wishes differ: no partition
/// or chain of partitions could be handed on so that a member with at least two more than another
/// has fewer; partitions stay where they are unless that moves them.
///
/// The same input gives the same answer. Thread rule: a pure function. Complexity: O(partitions +
/// members log members) for equal wishes; else O(moves · (members + wishes)). Source of the
/// balance: optimal semi-matchings (Harvey et al. 2003).
class StickyAssignor {
 public:
  /// @throws std::bad_alloc
  void operator()(const AssignmentInput& input, std::span<std::uint32_t> owners) const {
    if (input.members.empty()) return;
    const auto& first = input.members.front();
    if (std::all_of(input.members.begin(), input.members.end(),
                    [&](const auto& topics) { return topics == first; })) {
      assign_equal(input, owners);
    } else {
      assign_mixed(input, owners);
    }
  }
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "brook.sticky"; }

 private:
  /// Everybody keeps up to its share; those with most have the larger shares.
  static void assign_equal(const AssignmentInput& input, std::span<std::uint32_t> owners) {
    const auto& wanted = input.members.front();
    const auto is_wanted = [&](const AssignablePartition& partition) {
      return std::binary_search(wanted.begin(), wanted.end(), partition.topic);
    };
    const std::size_t count = input.members.size();
    std::vector<std::size_t> has(count, 0);
    std::size_t total = 0;
    for (const auto& partition : input.partitions) {
      if (!is_wanted(partition)) continue;
      ++total;
      if (partition.owner != no_member) ++has[partition.owner];
    }
    std::vector<std::uint32_t> by_size(count);
    std::iota(by_size.begin(), by_size.end(), 0U);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return has[a] > has[b]; });
    std::vector<std::size_t> room(count, total / count);
    for (std::size_t i = 0; i < total % count; ++i) ++room[by_size[i]];
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const AssignablePartition& partition = input.partitions[i];
      if (!is_wanted(partition) || partition.owner == no_member) continue;
      if (room[partition.owner] == 0) continue;
      --room[partition.owner];
      owners[i] = partition.owner;
    }
    std::uint32_t next = 0;
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] != no_member || !is_wanted(input.partitions[i])) continue;
      while (room[next] == 0) ++next;
      --room[next];
      owners[i] = next;
    }
  }
  static void assign_mixed(const AssignmentInput& input, std::span<std::uint32_t> owners) {
    detail::Balance balance(input.members);
    const auto wants = [&](std::uint32_t member, std::uint32_t topic) {
      const auto& topics = input.members[member];
      return std::binary_search(topics.begin(), topics.end(), topic);
    };
    const auto count = static_cast<std::uint32_t>(input.partitions.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      const AssignablePartition& partition = input.partitions[i];
      const bool stays = partition.owner != no_member && wants(partition.owner, partition.topic);
      if (stays) balance.give(i, partition.topic, partition.owner);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      const AssignablePartition& partition = input.partitions[i];
      const bool stays = partition.owner != no_member && wants(partition.owner, partition.topic);
      if (!stays) balance.give_to_poorest(i, partition.topic);
    }
    const auto home = [&](std::uint32_t partition) { return input.partitions[partition].owner; };
    balance.even_out(home);
    balance.for_each(
        [&](std::uint32_t partition, std::uint32_t member) { owners[partition] = member; });
  }
};
static_assert(Assignor<StickyAssignor>);

/// Kafka's range assignor: in each topic, its members get neighbouring partitions in the order in
/// which they joined, the first ones one more. So partitions with the same number of topics that
/// the same members want and that have as many partitions go to the same member: for joins. Not for
/// balance over many small topics: the first members get more of each.
///
/// Thread rule: a pure function. Complexity: O(partitions + wishes). Source:
/// `org.apache.kafka.clients.consumer.RangeAssignor`, which orders members by id.
class RangeAssignor {
 public:
  /// @throws std::bad_alloc
  void operator()(const AssignmentInput& input, std::span<std::uint32_t> owners) const {
    std::vector<std::vector<std::uint32_t>> wanted_by;
    for (std::uint32_t member = 0; member < input.members.size(); ++member) {
      for (const std::uint32_t topic : input.members[member]) {
        if (topic >= wanted_by.size()) wanted_by.resize(topic + std::size_t{1});
        wanted_by[topic].push_back(member);
      }
    }
    std::size_t first = 0;
    while (first < owners.size()) {
      const std::uint32_t topic = input.partitions[first].topic;
      std::size_t last = first;
      while (last < owners.size() && input.partitions[last].topic == topic) ++last;
      if (topic < wanted_by.size()) share(wanted_by[topic], owners.subspan(first, last - first));
      first = last;
    }
  }
  [[nodiscard]] static constexpr std::string_view name() noexcept { return "brook.range"; }

 private:
  static void share(const std::vector<std::uint32_t>& members,
                    std::span<std::uint32_t> owners) noexcept {
    std::size_t next = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const std::size_t more = i < owners.size() % members.size() ? 1 : 0;
      const std::size_t count = owners.size() / members.size() + more;
      for (std::size_t j = 0; j < count; ++j) owners[next++] = members[i];
    }
  }
};
static_assert(Assignor<RangeAssignor>);

/// Any assignor as a value, the sticky one unless told otherwise. Two are the same if their names
/// are. Copies share the assignor, which is only read.
class AnyAssignor {
 public:
  AnyAssignor() : AnyAssignor(StickyAssignor{}) {}
  template <class A>
  requires(!std::same_as<A, AnyAssignor> && requires { A::name(); })
      AnyAssignor(A assignor)  // NOLINT(*-explicit-*)
      : self_(std::make_shared<const Holder<A>>(std::move(assignor))) {
    static_assert(Assignor<A>);
  }

  void operator()(const AssignmentInput& input, std::span<std::uint32_t> owners) const {
    self_->assign(input, owners);
  }
  [[nodiscard]] std::string_view name() const noexcept { return self_->name(); }
  friend bool operator==(const AnyAssignor& a, const AnyAssignor& b) noexcept {
    return a.name() == b.name();
  }

 private:
  struct Interface {
    Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface() = default;
    virtual void assign(const AssignmentInput& input, std::span<std::uint32_t> owners) const = 0;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  };
  template <class A>
  struct Holder final : Interface {
    explicit Holder(A from) : assignor(std::move(from)) {}
    void assign(const AssignmentInput& input, std::span<std::uint32_t> owners) const override {
      assignor(input, owners);
    }
    [[nodiscard]] std::string_view name() const noexcept override { return A::name(); }
    A assignor;
  };

  std::shared_ptr<const Interface> self_;
};

namespace detail {

/// @throws InvalidArgument if @p owners is no answer to @p input
inline void check_assignment(const AnyAssignor& assignor, const AssignmentInput& input,
                             std::span<const std::uint32_t> owners) {
  std::vector<bool> wanted;
  for (const auto& topics : input.members) {
    for (const std::uint32_t topic : topics) {
      if (topic >= wanted.size()) wanted.resize(topic + std::size_t{1});
      wanted[topic] = true;
    }
  }
  const auto refuse = [&](const AssignablePartition& partition, const std::string& why) {
    throw InvalidArgument("assignor '" + std::string(assignor.name()) + "': partition " +
                          to_string(partition.partition) + " of topic number " +
                          std::to_string(partition.topic) + " " + why);
  };
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const AssignablePartition& partition = input.partitions[i];
    const bool is_wanted = partition.topic < wanted.size() && wanted[partition.topic];
    if (owners[i] == no_member) {
      if (is_wanted) refuse(partition, "was given to nobody, although a member wants it");
      continue;
    }
    if (owners[i] >= input.members.size()) {
      refuse(partition, "was given to member number " + std::to_string(owners[i]) +
                            ", but there are " + std::to_string(input.members.size()) +
                            ", counted from 0");
    }
    const auto& topics = input.members[owners[i]];
    if (!std::binary_search(topics.begin(), topics.end(), partition.topic)) {
      refuse(partition, "was given to member number " + std::to_string(owners[i]) +
                            ", which does not want the topic");
    }
  }
}

}  // namespace detail

}  // namespace brook
