#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <brook/broker/group_state.hpp>
#include <brook/broker/options.hpp>
#include <brook/broker/policies.hpp>
#include <brook/broker/reports.hpp>
#include <brook/broker/topic_state.hpp>
#include <brook/clock/event_source.hpp>
#include <brook/core/error.hpp>
#include <brook/core/mutex.hpp>
#include <brook/core/name.hpp>
#include <brook/topic/name.hpp>
#include <brook/topic/subscription_pattern.hpp>
#include <brook/topic/topic_names.hpp>
#include <brook/topic/topic_trie.hpp>

namespace brook::detail {

/// All of a broker: topics and groups by name, and what is due. Shared by the broker and its
/// handles, so that a handle that outlives the broker finds it closed instead of gone.
template <BrokerPolicies P>
class BrokerState final : public EventSource {
 public:
  using Topic = std::shared_ptr<TopicState<P>>;
  using Group = std::shared_ptr<GroupState<P>>;
  using clock_type = typename P::clock_type;

  BrokerState(clock_type& clock, std::unique_ptr<clock_type> own_clock, BrokerOptions options)
      : own_clock_(std::move(own_clock)), clock_(clock), options_(std::move(options)) {
    if (options_.auto_create) validate(*options_.auto_create);
    clock_.attach(*this);
  }
  ~BrokerState() override { close(); }

  [[nodiscard]] clock_type& clock() const noexcept { return clock_; }

  void close() noexcept {
    if (closed_.exchange(true)) return;
    clock_.detach(*this);
    std::map<std::string, Group, std::less<>> groups;
    std::map<std::string, Topic, std::less<>> topics;
    {
      const MutexLock lock(registry_);
      groups.swap(groups_);
      topics.swap(topics_);
      names_.clear();
      interests_.clear();
    }
    for (const auto& [name, topic] : topics) topic->close();
    for (const auto& [name, group] : groups) group->dissolve();
  }
  void check_open() const {
    if (closed_.load(std::memory_order_acquire)) throw Closed("broker");
  }

  // ---------------------------------------------------------------------------------------- topics

  Topic create_topic(const std::string& name, const TopicConfig& config) {
    check_open();
    validate_topic_name(name);
    if (is_internal(name)) throw InternalTopic(name);
    const MutexLock lock(registry_);
    check_open();
    if (topics_.contains(name)) throw TopicExists(name);
    return make_topic(name, config);
  }
  [[nodiscard]] Topic topic(std::string_view name) {
    const MutexLock lock(registry_);
    check_open();
    return existing(name);
  }
  /// The topic to publish to: made if the broker auto-creates. @throws UnknownTopic, InternalTopic
  [[nodiscard]] Topic topic_to_publish(std::string_view name) {
    check_open();
    if (is_internal(name)) throw InternalTopic(std::string(name));
    const MutexLock lock(registry_);
    check_open();
    const auto found = topics_.find(name);
    if (found != topics_.end()) return found->second;
    if (!options_.auto_create) throw UnknownTopic(std::string(name));
    validate_topic_name(name);
    return make_topic(std::string(name), *options_.auto_create);
  }
  void delete_topic(std::string_view name) {
    const MutexLock lock(registry_);
    check_open();
    const Topic topic = existing(name);
    for (const auto& [group_name, group] : groups_) {
      if (group->shared().dead_letters == topic) throw TopicInUse(std::string(name), group_name);
    }
    unmake_topic(topic);
  }
  [[nodiscard]] std::vector<Topic> topics() {
    const MutexLock lock(registry_);
    check_open();
    std::vector<Topic> list;
    for (const auto& [name, topic] : topics_) list.push_back(topic);
    return list;
  }

  // ---------------------------------------------------------------------------------------- groups

  /// A group with @p member as its member, made if there is none of that name.
  std::pair<Group, std::uint64_t> subscribe(const Patterns& patterns,
                                            const SubscribeOptions& options) {
    check_open();
    GroupConfig config = group_config(options);
    std::vector<std::string> wanted = checked(patterns);
    const MutexLock lock(registry_);
    check_open();
    const auto found = groups_.find(options.group.text());
    const bool is_new = found == groups_.end();
    const std::string letters = config.dead_letters.is_none()
                                    ? std::string()
                                    : config.dead_letters.name_for(options.group.text());
    if (!is_new) {
      const auto difference = first_difference(found->second->options(), options);
      if (!difference.empty())
        throw GroupOptionsDiffer(options.group.text(), std::string(difference));
      if (found->second->has_member()) throw GroupOccupied(options.group.text());
    }
    refuse_cycle(options.group.text(), wanted, letters);
    const auto begun = starts_for(is_new ? nullptr : found->second.get(), wanted, options.start);
    const bool has_letters = letters.empty() || topics_.contains(letters);
    const Group group = is_new ? make_group(options, std::move(config), letters) : found->second;
    try {
      for (const auto& pattern : wanted) interests_.insert(pattern, group.get());
      for (const auto& [topic, starts] : begun) group->follow(topic, starts);
      if (is_new) groups_.emplace(options.group.text(), group);
    } catch (...) {
      for (const auto& [topic, starts] : begun) group->forget(*topic);
      lose_interest(*group, wanted, group->patterns());
      if (!has_letters) unmake_topic(existing(letters));
      throw;
    }
    // Nothing can fail from here on.
    group->swap_patterns(wanted);
    lose_interest(*group, wanted, group->patterns());
    group->reassign();
    return {group, group->join()};
  }
  [[nodiscard]] Group group(std::string_view name) {
    const MutexLock lock(registry_);
    check_open();
    const auto found = groups_.find(name);
    if (found == groups_.end()) throw UnknownGroup(std::string(name));
    return found->second;
  }
  void delete_group(std::string_view name) {
    const MutexLock lock(registry_);
    check_open();
    const auto found = groups_.find(name);
    if (found == groups_.end()) throw UnknownGroup(std::string(name));
    const Group group = found->second;
    if (group->has_member()) throw GroupInUse(std::string(name));
    remove(group);
  }
  [[nodiscard]] std::vector<Group> groups() {
    check_open();
    return list_groups();
  }

  // -------------------------------------------------------------------------------------- due work

  [[nodiscard]] Instant next_event_time(EventScope scope) override {
    const Instant now = clock_.now();
    Instant next = Instant::max();
    for (const Group& group : list_groups()) next = std::min(next, group->next_event(now));
    if (scope == EventScope::delivery) return next;
    Timestamp due = Timestamp::max();
    for (const Topic& topic : list_aging()) due = std::min(due, topic->next_due());
    if (due == Timestamp::max()) return next;
    const Timestamp wall = clock_.wall_now();
    return std::min(next, due <= wall ? now : until(now, wall, due));
  }
  void run_due() override {
    const Instant now = clock_.now();
    const Timestamp wall = clock_.wall_now();
    for (const Group& group : list_groups()) group->run_due(now);
    for (const Topic& topic : list_aging()) topic->run_due(wall);
  }
  void report_backlog(IdleReport& report) override {
    const Instant now = clock_.now();
    for (const Group& group : list_groups()) {
      for (const auto& one : group->assigned()) {
        const std::uint64_t messages = one->deliverable(now);
        if (messages == 0) continue;
        report.backlog.push_back({.group = group->name(),
                                  .topic = std::string(one->topic()),
                                  .partition = one->partition(),
                                  .messages = messages});
      }
    }
  }

 private:
  /// When the wall clock will show @p due, if it does not jump. It shows whole milliseconds, the
  /// monotonic one is finer.
  static Instant until(Instant now, Timestamp wall, Timestamp due) noexcept {
    const auto whole = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch());
    return saturating_add(Instant{whole}, due - wall);
  }

  [[nodiscard]] std::vector<Group> list_groups() {
    const MutexLock lock(registry_);
    std::vector<Group> list;
    list.reserve(groups_.size());
    for (const auto& [name, group] : groups_) list.push_back(group);
    return list;
  }
  /// Topics with work that comes due by time or amount.
  [[nodiscard]] std::vector<Topic> list_aging() {
    const MutexLock lock(registry_);
    std::vector<Topic> list;
    for (const auto& [name, topic] : topics_) {
      if (topic->config().retention.max_age || topic->config().compaction) list.push_back(topic);
    }
    return list;
  }
  Topic existing(std::string_view name) BROOK_REQUIRES(registry_) {
    const auto found = topics_.find(name);
    if (found == topics_.end()) throw UnknownTopic(std::string(name));
    return found->second;
  }

  void remove(const Group& group) BROOK_REQUIRES(registry_) {
    lose_interest(*group, group->patterns(), {});
    groups_.erase(group->name());
    group->dissolve();
  }
  /// Of @p patterns, leaves only those that are in @p kept.
  void lose_interest(GroupState<P>& group, const std::vector<std::string>& patterns,
                     const std::vector<std::string>& kept) BROOK_REQUIRES(registry_) {
    for (const auto& pattern : patterns) {
      if (!std::binary_search(kept.begin(), kept.end(), pattern)) {
        interests_.erase(pattern, &group);
      }
    }
  }
  /// @throws std::bad_alloc, nothing done
  void unmake_topic(const Topic& topic) BROOK_REQUIRES(registry_) {
    names_.erase(topic->name());
    topics_.erase(topics_.find(topic->name()));
    topic->close();
    while (const auto follower = topic->some_follower()) {
      groups_.find(follower->group_name())->second->forget(*topic);
    }
  }

  Topic make_topic(const std::string& name, const TopicConfig& config) BROOK_REQUIRES(registry_) {
    validate(config);
    const TopicId id{.high = 0, .low = last_topic_ + 1};
    auto topic = std::make_shared<TopicState<P>>(name, id, config, clock_, storages_);
    const auto place = topics_.emplace(name, topic).first;
    std::vector<GroupState<P>*> told;
    try {
      names_.insert(name, topic);
      const std::vector<Offset> starts(topic->partition_count());
      told = interested(name);
      for (auto* const group : told) group->follow(topic, starts);
    } catch (...) {
      for (auto* const group : told) group->forget(*topic);
      if (names_.find(name) != nullptr) names_.erase(name);
      topics_.erase(place);
      throw;
    }
    ++last_topic_;
    return topic;
  }

  static std::vector<std::string> checked(const Patterns& patterns) {
    if (patterns.list().empty()) throw InvalidArgument("a subscription needs at least one pattern");
    std::vector<std::string> list;
    for (const Name& pattern : patterns.list()) {
      validate_subscription_pattern(pattern.text());
      list.push_back(pattern.text());
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }

  Group make_group(const SubscribeOptions& options, GroupConfig config, const std::string& letters)
      BROOK_REQUIRES(registry_) {
    auto shared = std::make_shared<GroupShared<P>>();
    shared->name = options.group.text();
    shared->id = ++last_group_;
    shared->config = std::move(config.subscription);
    if constexpr (is_manual<clock_type>) shared->config.retry.jitter = false;
    if (!letters.empty()) shared->dead_letters = dead_letter_topic(config.dead_letters, letters);
    return std::make_shared<GroupState<P>>(options, std::move(shared));
  }
  Topic dead_letter_topic(const DeadLetterTopic& wanted, const std::string& name)
      BROOK_REQUIRES(registry_) {
    const auto found = topics_.find(name);
    if (found != topics_.end()) return found->second;
    if (wanted.is_automatic()) {
      const MessageLimits none{.max_message = ByteSize::unlimited(),
                               .max_key = ByteSize::unlimited(),
                               .max_headers = MessageCount::unlimited()};
      return make_topic(name, {.limits = none});
    }
    if (!options_.auto_create) throw UnknownTopic(name);
    validate_topic_name(name);
    if (is_internal(name)) throw InternalTopic(name);
    return make_topic(name, *options_.auto_create);
  }

  /// The topics that any of @p patterns selects, in order of name.
  [[nodiscard]] std::vector<Topic> selected(const std::vector<std::string>& patterns)
      BROOK_REQUIRES(registry_) {
    std::vector<Topic> list;
    for (const auto& pattern : patterns) {
      names_.match(pattern, [&](const Topic& topic) {
        if (selects_topic(pattern, topic->name())) list.push_back(topic);
      });
    }
    std::sort(list.begin(), list.end(),
              [](const Topic& a, const Topic& b) { return a->name() < b->name(); });
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
  }
  /// The groups with a pattern that selects the topic @p name, in order of name.
  [[nodiscard]] std::vector<GroupState<P>*> interested(std::string_view name)
      BROOK_REQUIRES(registry_) {
    std::vector<GroupState<P>*> list;
    interests_.match(name, [&](GroupState<P>* group) {
      if (group->wants(name)) list.push_back(group);
    });
    std::sort(list.begin(), list.end(),
              [](const auto* a, const auto* b) { return a->name() < b->name(); });
    return list;
  }

  /// Where @p group, null if it is new, will begin in topics that it does not follow yet.
  /// @throws OffsetTooOld, OffsetOutOfRange
  std::vector<std::pair<Topic, std::vector<Offset>>> starts_for(
      GroupState<P>* group, const std::vector<std::string>& patterns, const Start& start)
      BROOK_REQUIRES(registry_) {
    std::vector<std::pair<Topic, std::vector<Offset>>> begun;
    for (const Topic& topic : selected(patterns)) {
      if (group != nullptr && group->follows(*topic)) continue;
      std::vector<Offset> starts;
      for (std::uint32_t i = 0; i < topic->partition_count(); ++i) {
        const auto& log = topic->partition(PartitionId{i}).log;
        starts.push_back(PartitionSubscription<P>::resolve(start, log));
      }
      begun.emplace_back(topic, std::move(starts));
    }
    return begun;
  }

  /// Dead letters go from a group to its topic and on to the groups that match it. @throws
  /// DeadLetterCycle
  void refuse_cycle(const std::string& name, const std::vector<std::string>& patterns,
                    const std::string& letters) BROOK_REQUIRES(registry_) {
    std::vector<std::pair<std::string, std::string>> open{
        {name, letters}};  // path, dead-letter topic of its end
    std::vector<const GroupState<P>*> seen;
    while (!open.empty()) {
      const auto [path, topic] = std::move(open.back());
      open.pop_back();
      if (topic.empty()) continue;
      if (any_selects(patterns, topic)) throw DeadLetterCycle(name, path + " -> " + name);
      for (const GroupState<P>* const other : interested(topic)) {
        if (other->name() == name) continue;
        if (std::find(seen.begin(), seen.end(), other) != seen.end()) continue;
        seen.push_back(other);
        const auto& next = other->shared().dead_letters;
        open.emplace_back(path + " -> " + other->name(),
                          next == nullptr ? std::string() : next->name());
      }
    }
  }

  const std::unique_ptr<clock_type> own_clock_;
  clock_type& clock_;
  const BrokerOptions options_;
  std::atomic<bool> closed_{false};
  Mutex registry_;
  typename P::storage_factory storages_ BROOK_GUARDED_BY(registry_);
  std::map<std::string, Topic, std::less<>> topics_ BROOK_GUARDED_BY(registry_);
  std::map<std::string, Group, std::less<>> groups_ BROOK_GUARDED_BY(registry_);
  TopicNames<Topic> names_ BROOK_GUARDED_BY(registry_);  ///< The same topics, for patterns.
  TopicTrie<GroupState<P>*> interests_ BROOK_GUARDED_BY(registry_);
  std::uint64_t last_topic_ BROOK_GUARDED_BY(registry_) = 0;
  std::uint32_t last_group_ BROOK_GUARDED_BY(registry_) = 0;
};

}  // namespace brook::detail
