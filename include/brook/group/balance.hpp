#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace brook::detail {

/// Who holds which partitions while an assignment is made for members that want different topics,
/// and how to even it out by handing partitions on, along chains of members where need be.
///
/// Thread rule: none, one caller at a time.
class Balance {
 public:
  /// @p wishes: the topics that each member wants.
  explicit Balance(std::span<const std::vector<std::uint32_t>> wishes)
      : held_(wishes.size()), load_(wishes.size(), 0), from_(wishes.size()) {
    for (std::uint32_t member = 0; member < wishes.size(); ++member) {
      for (const std::uint32_t topic : wishes[member]) {
        if (topic >= wanted_by_.size()) wanted_by_.resize(topic + std::size_t{1});
        wanted_by_[topic].push_back(member);
      }
    }
  }

  /// Requires that @p member wants @p topic.
  void give(std::uint32_t partition, std::uint32_t topic, std::uint32_t member) {
    held_[member][topic].push_back(partition);
    ++load_[member];
  }
  /// To whoever has least of those that want @p topic; no effect if nobody does.
  void give_to_poorest(std::uint32_t partition, std::uint32_t topic) {
    if (topic >= wanted_by_.size() || wanted_by_[topic].empty()) return;
    const auto& members = wanted_by_[topic];
    const auto poorest =
        std::min_element(members.begin(), members.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return load_[a] < load_[b]; });
    give(partition, topic, *poorest);
  }
  /// Hands on until no chain leads from a member to one with at least two less. @p home says whose
  /// a partition was before: of several that may go, one goes that gets home, or one that is not
  /// at home.
  template <class Home>
  void even_out(const Home& home) {
    std::vector<std::uint32_t> richest(load_.size());
    std::iota(richest.begin(), richest.end(), 0U);
    for (bool again = true; std::exchange(again, false);) {
      std::stable_sort(richest.begin(), richest.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return load_[a] > load_[b]; });
      for (const std::uint32_t rich : richest) {
        for (auto poor = find_poorer(rich); poor; poor = find_poorer(rich)) {
          hand_along(rich, *poor, home);
          again = true;
        }
      }
    }
  }
  /// Calls @p visit with each partition and its holder.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t member = 0; member < held_.size(); ++member) {
      for (const auto& [topic, partitions] : held_[member]) {
        for (const std::uint32_t partition : partitions) visit(partition, member);
      }
    }
  }

 private:
  /// How a search got to a member: from whom, by a partition of which topic.
  struct Step {
    std::uint32_t member = 0;
    std::uint32_t topic = 0;
    bool seen = false;
  };

  /// The nearest member with at least two less than @p rich that a chain leads to, breadth first.
  [[nodiscard]] std::optional<std::uint32_t> find_poorer(std::uint32_t rich) {
    std::fill(from_.begin(), from_.end(), Step{});
    std::vector<bool> topic_seen(wanted_by_.size(), false);
    std::vector<std::uint32_t> queue{rich};
    from_[rich].seen = true;
    for (std::size_t i = 0; i < queue.size(); ++i) {
      const std::uint32_t giver = queue[i];
      for (const auto& [topic, partitions] : held_[giver]) {
        if (partitions.empty() || topic_seen[topic]) continue;
        topic_seen[topic] = true;
        for (const std::uint32_t taker : wanted_by_[topic]) {
          if (from_[taker].seen) continue;
          from_[taker] = {.member = giver, .topic = topic, .seen = true};
          if (load_[taker] + 2 <= load_[rich]) return taker;
          queue.push_back(taker);
        }
      }
    }
    return std::nullopt;
  }
  /// Everybody on the way that `find_poorer` found gives one partition to the next.
  template <class Home>
  void hand_along(std::uint32_t rich, std::uint32_t poor, const Home& home) {
    for (std::uint32_t taker = poor; taker != rich; taker = from_[taker].member) {
      const auto [giver, topic, seen] = from_[taker];
      auto& partitions = held_[giver][topic];
      const auto rank = [&, at = giver, to = taker](std::uint32_t partition) {
        const std::uint32_t was = home(partition);
        return was == to ? 0 : was == at ? 2 : 1;
      };
      // Of equals the last: the first ones stay.
      auto chosen = partitions.begin();
      for (auto it = partitions.begin(); it != partitions.end(); ++it) {
        if (rank(*it) <= rank(*chosen)) chosen = it;
      }
      held_[taker][topic].push_back(*chosen);
      partitions.erase(chosen);
    }
    --load_[rich];
    ++load_[poor];
  }

  std::vector<std::map<std::uint32_t, std::vector<std::uint32_t>>> held_;  ///< By member and topic.
  std::vector<std::size_t> load_;
  std::vector<std::vector<std::uint32_t>> wanted_by_{};
  std::vector<Step> from_;
};

}  // namespace brook::detail
