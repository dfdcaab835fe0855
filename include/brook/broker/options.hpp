#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <brook/core/ids.hpp>
#include <brook/core/name.hpp>
#include <brook/core/quantity.hpp>
#include <brook/core/time.hpp>
#include <brook/delivery/subscription_config.hpp>
#include <brook/log/log_config.hpp>
#include <brook/topic/name.hpp>

namespace brook {

/// Options of a topic; the same for each of its partitions.
struct TopicConfig {
  PartitionCount partitions = 1;
  Retention retention{};
  Overflow overflow = Overflow::drop_oldest;
  TimestampType timestamps = TimestampType::append_time;
  std::optional<Compaction> compaction{};
  MessageLimits limits{};
};

/// Options of a broker.
struct BrokerOptions {
  /// Topics that are published to and do not exist are created with this; unset = `UnknownTopic`.
  std::optional<TopicConfig> auto_create{};
};

/// Where a new group begins, or where to seek to. A topic that is created after its group is always
/// read from offset 0.
class Start {
 public:
  enum class Kind : unsigned char { earliest, latest, offset, time };

  static const Start earliest;  ///< The first retained message.
  static const Start latest;    ///< Behind the last visible message.
  /// @throws (where it is used) OffsetTooOld, OffsetOutOfRange if a partition does not have it
  [[nodiscard]] static constexpr Start at_offset(Offset offset) noexcept {
    return {Kind::offset, offset, {}};
  }
  /// The first message with a timestamp at or after @p time.
  [[nodiscard]] static constexpr Start at_time(Timestamp time) noexcept {
    return {Kind::time, {}, time};
  }
  /// The same for a time of the system clock, rounded down to milliseconds.
  template <class Duration>
  [[nodiscard]] static constexpr Start at_time(
      std::chrono::time_point<std::chrono::system_clock, Duration> time) noexcept {
    return at_time(std::chrono::floor<std::chrono::milliseconds>(time));
  }

  [[nodiscard]] constexpr Kind kind() const noexcept { return kind_; }
  [[nodiscard]] constexpr Offset offset() const noexcept { return offset_; }
  [[nodiscard]] constexpr Timestamp time() const noexcept { return time_; }
  friend constexpr bool operator==(const Start&, const Start&) noexcept = default;

 private:
  constexpr Start(Kind kind, Offset offset, Timestamp time) noexcept
      : kind_(kind), offset_(offset), time_(time) {}

  Kind kind_;
  Offset offset_;
  Timestamp time_;
};
inline constexpr Start Start::earliest{Start::Kind::earliest, {}, {}};
inline constexpr Start Start::latest{Start::Kind::latest, {}, {}};

/// Where a group's dead letters go.
class DeadLetterTopic {
 public:
  /// `__dead_letter.<group>`, made at subscribe: one partition, in order of failure, kept for ever.
  DeadLetterTopic() noexcept = default;
  /// A topic of the user's; must exist (or the broker auto-creates).
  template <Text T>
  DeadLetterTopic(const T& name)
      : kind_(Kind::named), name_(std::string_view(name)) {}  // NOLINT(*-explicit-*)
  /// Nowhere: what is rejected is dropped.
  [[nodiscard]] static DeadLetterTopic none() noexcept {
    DeadLetterTopic topic;
    topic.kind_ = Kind::none;
    return topic;
  }

  [[nodiscard]] bool is_none() const noexcept { return kind_ == Kind::none; }
  [[nodiscard]] bool is_automatic() const noexcept { return kind_ == Kind::automatic; }
  /// The name of the topic for the group @p group; empty if there is none.
  [[nodiscard]] std::string name_for(std::string_view group) const {
    return kind_ == Kind::automatic ? "__dead_letter." + std::string(group) : name_;
  }
  friend bool operator==(const DeadLetterTopic&, const DeadLetterTopic&) noexcept = default;

 private:
  enum class Kind : unsigned char { automatic, named, none };
  Kind kind_ = Kind::automatic;
  std::string name_{};
};

/// Options of a group. `group` and `start` must be given. All of them belong to the group: a later
/// member brings the same.
struct SubscribeOptions {
  Name group;
  Start start;
  Guarantee guarantee = Guarantee::at_least_once;
  Ordering ordering = Ordering::key;
  std::optional<Duration> ack_deadline{};         ///< 30 s.
  std::optional<Duration> max_lease{};            ///< No limit.
  std::optional<DeliveryCount> max_deliveries{};  ///< 5 with a dead-letter topic, else no limit.
  std::optional<RetryPolicy> retry{};             ///< 100 ms, doubling to 10 s.
  std::optional<DeadLetterTopic> dead_letter_topic{};  ///< `__dead_letter.<group>`.
  /// What becomes of a message after `max_deliveries`: the default needs a dead-letter topic.
  Exhausted exhausted = Exhausted::dead_letter;
  MessageCount max_outstanding_messages = 10'000;
  ByteSize max_outstanding_bytes = ByteSize::unlimited();
  MessageCount max_ack_window = 100'000;
};

namespace detail {

inline LogConfig log_config(const TopicConfig& config) {
  return {.retention = config.retention,
          .overflow = config.overflow,
          .timestamps = config.timestamps,
          .compaction = config.compaction,
          .limits = config.limits};
}

inline void validate(const TopicConfig& config) {
  if (config.partitions.value() == 0) throw InvalidArgument("a topic needs at least one partition");
  if (config.partitions.value() > 1'000'000) {
    throw InvalidArgument("a topic has at most 1,000,000 partitions");
  }
  validate(log_config(config));
}

/// Options of a group as its subscriptions see them, and where its dead letters go.
struct GroupConfig {
  SubscriptionConfig subscription{};
  DeadLetterTopic dead_letters{};
};

/// @throws InvalidArgument, InvalidTopicName, InternalTopic
inline GroupConfig group_config(const SubscribeOptions& options) {
  validate_group_name(options.group.text());
  const bool once = options.guarantee == Guarantee::at_most_once;
  const bool retries = options.ack_deadline || options.max_lease || options.max_deliveries ||
                       options.retry || options.dead_letter_topic ||
                       options.exhausted != Exhausted::dead_letter;
  if (once && retries) {
    throw InvalidArgument(
        "at_most_once never retries: leave ack_deadline, max_lease, max_deliveries, retry, "
        "dead_letter_topic "
        "and exhausted unset");
  }
  const DeadLetterTopic letters =
      once ? DeadLetterTopic::none() : options.dead_letter_topic.value_or(DeadLetterTopic());
  if (!letters.is_none() && !letters.is_automatic()) {
    const std::string name = letters.name_for(options.group.text());
    validate_topic_name(name);
    if (is_internal(name)) throw InternalTopic(name);
  }
  if (letters.is_none() && options.max_deliveries && options.exhausted != Exhausted::drop) {
    throw InvalidArgument(
        "max_deliveries without a dead-letter topic would lose messages: name a dead_letter_topic, "
        "or say "
        "exhausted = Exhausted::drop");
  }
  if (options.exhausted == Exhausted::drop && !letters.is_none() && options.dead_letter_topic) {
    throw InvalidArgument(
        "exhausted = Exhausted::drop and a dead_letter_topic contradict each other");
  }
  const bool drops = letters.is_none() || options.exhausted == Exhausted::drop;
  SubscriptionConfig config{.ack_deadline = options.ack_deadline.value_or(std::chrono::seconds{30}),
                            .max_lease = options.max_lease.value_or(Duration::max()),
                            .max_deliveries = options.max_deliveries,
                            .exhausted = drops ? Exhausted::drop : Exhausted::dead_letter,
                            .retry = options.retry.value_or(RetryPolicy{}),
                            .ordering = options.ordering,
                            .guarantee = options.guarantee,
                            .max_outstanding_messages = options.max_outstanding_messages,
                            .max_outstanding_bytes = options.max_outstanding_bytes,
                            .max_ack_window = options.max_ack_window,
                            .group = options.group.text()};
  if (!config.max_deliveries && !drops) config.max_deliveries = 5;
  validate(config);
  return {.subscription = std::move(config),
          .dead_letters = drops ? DeadLetterTopic::none() : letters};
}

/// The first option in which the two differ; empty if none. Names and patterns are not compared.
inline std::string_view first_difference(const SubscribeOptions& a, const SubscribeOptions& b) {
  const SubscriptionConfig x = group_config(a).subscription;
  const SubscriptionConfig y = group_config(b).subscription;
  if (a.start != b.start) return "start";
  if (x.guarantee != y.guarantee) return "guarantee";
  if (x.ordering != y.ordering) return "ordering";
  if (x.ack_deadline != y.ack_deadline) return "ack_deadline";
  if (x.max_lease != y.max_lease) return "max_lease";
  if (group_config(a).dead_letters != group_config(b).dead_letters) return "dead_letter_topic";
  if (x.exhausted != y.exhausted) return "exhausted";
  if (x.max_deliveries != y.max_deliveries) return "max_deliveries";
  if (x.retry != y.retry) return "retry";
  if (x.max_outstanding_messages != y.max_outstanding_messages) return "max_outstanding_messages";
  if (x.max_outstanding_bytes != y.max_outstanding_bytes) return "max_outstanding_bytes";
  if (x.max_ack_window != y.max_ack_window) return "max_ack_window";
  return {};
}

}  // namespace detail

}  // namespace brook
