#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <brook/core/ids.hpp>

namespace brook {

/// Base of every exception that brook throws on its own account.
///
/// One type per cause, each carrying the facts; `what()` says what was wrong and what to do about
/// it. Outcomes of normal flow (a lost lease, an empty poll, a duplicate) are return values, never
/// exceptions. A call that throws has changed nothing. `std::bad_alloc` passes through under the
/// same promise.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// @p text as a message can show it: control characters as `\xNN`, so that none cuts it off.
inline std::string shown(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code != 0x7f) {
      result += c;
    } else {
      result += {'\\', 'x', digits[code >> 4], digits[code & 15]};
    }
  }
  return result;
}

}  // namespace detail

/// An argument or option that makes no sense, alone or with the others. Thrown before anything
/// happens.
class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(const std::string& what) : Error(what) {}
};

/// The object was closed: the broker is gone or closing, the topic was deleted, the consumer was
/// closed or moved from.
class Closed : public Error {
 public:
  /// @param what_was_closed for instance "consumer of group 'billing'"
  explicit Closed(std::string_view what_was_closed)
      : Error(std::string(what_was_closed) + " is closed: no further call on it can succeed") {}
};

// --------------------------------------------------------------------------------------- positions

/// A read below the first retained offset. Never answered by a silent jump: whoever reads must
/// choose what to do.
class OffsetTooOld : public Error {
 public:
  OffsetTooOld(Offset requested, Offset start)
      : Error("offset " + to_string(requested) + " is no longer retained: the log starts at " +
              to_string(start) + "; continue from there, or keep messages longer"),
        requested_(requested),
        start_(start) {}
  [[nodiscard]] Offset requested() const noexcept { return requested_; }
  [[nodiscard]] Offset start() const noexcept { return start_; }

 private:
  Offset requested_;
  Offset start_;
};

/// A read or seek beyond the visible end: that offset has not been written yet.
class OffsetOutOfRange : public Error {
 public:
  OffsetOutOfRange(Offset requested, Offset visible_end)
      : Error("offset " + to_string(requested) + " does not exist yet: the log ends at " +
              to_string(visible_end) + "; continue from there"),
        requested_(requested),
        visible_end_(visible_end) {}
  [[nodiscard]] Offset requested() const noexcept { return requested_; }
  [[nodiscard]] Offset visible_end() const noexcept { return visible_end_; }

 private:
  Offset requested_;
  Offset visible_end_;
};

// -------------------------------------------------------------------------------------- publishing

/// A message over one of the size limits of its topic. Nothing of its batch was appended.
class MessageTooLarge : public Error {
 public:
  /// @param part what is too large ("message", "key", "headers"), in @p unit ("bytes", "headers")
  MessageTooLarge(std::string_view part, std::uint64_t size, std::uint64_t limit,
                  std::string_view unit)
      : Error(std::string(part) + " of " + std::to_string(size) + " " + std::string(unit) +
              " is over the limit of " + std::to_string(limit) +
              ": split it, or raise the limit in the topic's configuration"),
        size_(size),
        limit_(limit) {}
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }

 private:
  std::uint64_t size_;
  std::uint64_t limit_;
};

/// The topic is at its size limit and its `Overflow` policy is `reject`. Nothing of the batch was
/// appended.
class TopicFull : public Error {
 public:
  TopicFull(std::string_view limit_name, std::uint64_t limit, std::uint64_t wanted)
      : Error("topic is full: " + std::string(limit_name) + " is " + std::to_string(limit) +
              " and the append would make it " + std::to_string(wanted) +
              "; let its groups catch up, trim it, raise the limit, or use Overflow::drop_oldest"),
        limit_(limit),
        wanted_(wanted) {}
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t wanted() const noexcept { return wanted_; }

 private:
  std::uint64_t limit_;
  std::uint64_t wanted_;
};

/// A message without a key for a topic that is compacted: compaction keeps the newest message of
/// each key, so every message needs one.
class KeyRequired : public Error {
 public:
  KeyRequired()
      : Error("a compacted topic refuses messages without a key: give the message a key") {}
};

/// A header name that users may not set: names beginning with `__brook.` are written by the broker
/// alone.
class ReservedHeader : public Error {
 public:
  explicit ReservedHeader(std::string name)
      : Error("header '" + detail::shown(name) +
              "' is reserved: names beginning with '__brook.' belong to the broker"),
        name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

// ------------------------------------------------------------------------ topics, patterns, groups

/// A name outside the rules for topics and groups.
class InvalidTopicName : public Error {
 public:
  InvalidTopicName(std::string name, std::string_view reason)
      : Error("invalid name '" + detail::shown(name) + "': " + std::string(reason)),
        name_(std::move(name)) {}
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  std::string name_;
};

/// A subscription pattern outside the rules of its dialect.
class InvalidPattern : public Error {
 public:
  InvalidPattern(std::string pattern, std::string_view reason)
      : Error("invalid pattern '" + detail::shown(pattern) + "': " + std::string(reason)),
        pattern_(std::move(pattern)) {}
  [[nodiscard]] const std::string& pattern() const noexcept { return pattern_; }

 private:
  std::string pattern_;
};

/// Base of the errors that concern one named topic or group.
class NameError : public Error {
 public:
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 protected:
  NameError(std::string name, const std::string& what) : Error(what), name_(std::move(name)) {}

 private:
  std::string name_;
};

class UnknownTopic : public NameError {
 public:
  explicit UnknownTopic(const std::string& name)
      : NameError(name, "there is no topic '" + detail::shown(name) +
                            "': create it first, or set BrokerOptions::auto_create") {}
};

class UnknownGroup : public NameError {
 public:
  explicit UnknownGroup(const std::string& name)
      : NameError(name, "there is no group '" + detail::shown(name) +
                            "': a group exists from its first subscribe") {}
};

class TopicExists : public NameError {
 public:
  explicit TopicExists(const std::string& name)
      : NameError(name, "topic '" + name + "' exists already: use topic() to get a handle to it") {}
};

/// A name beginning with `__` was to be created or published to by a user.
class InternalTopic : public NameError {
 public:
  explicit InternalTopic(const std::string& name)
      : NameError(name,
                  "topic '" + name +
                      "' is internal: names beginning with '__' may be subscribed to, but only "
                      "the broker creates and publishes to them") {}
};

/// The topic is the dead-letter topic of a group and cannot be deleted while that group exists.
class TopicInUse : public NameError {
 public:
  TopicInUse(const std::string& topic, std::string group)
      : NameError(topic, "topic '" + topic + "' holds the dead letters of group '" + group +
                             "': delete the group first"),
        group_(std::move(group)) {}
  [[nodiscard]] const std::string& group() const noexcept { return group_; }

 private:
  std::string group_;
};

/// The group has a member already.
class GroupOccupied : public NameError {
 public:
  explicit GroupOccupied(const std::string& group)
      : NameError(group,
                  "group '" + group +
                      "' has a member already: close that consumer first, or use another group") {}
};

/// The group has members and cannot be deleted.
class GroupInUse : public NameError {
 public:
  explicit GroupInUse(const std::string& group)
      : NameError(group, "group '" + group + "' has a member: close its consumer first") {}
};

/// A member brought other options than its group has.
class GroupOptionsDiffer : public NameError {
 public:
  GroupOptionsDiffer(const std::string& group, std::string option)
      : NameError(group,
                  "group '" + group + "' exists with another value of '" + option +
                      "': options belong to the group; subscribe with the same ones, or delete "
                      "the group first"),
        option_(std::move(option)) {}
  [[nodiscard]] const std::string& option() const noexcept { return option_; }

 private:
  std::string option_;
};

/// The subscription would make dead letters go round: the dead-letter topic of a group would be
/// consumed, directly or through other groups, by that group itself.
class DeadLetterCycle : public NameError {
 public:
  /// @param path the groups of the cycle, as "a -> b -> a"
  DeadLetterCycle(const std::string& group, std::string path)
      : NameError(group, "group '" + group + "' would read its own dead letters (" + path +
                             "): choose a narrower pattern or another dead-letter topic"),
        path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A partition that the topic does not have, or that the consumer does not own.
class UnknownPartition : public Error {
 public:
  UnknownPartition(std::string_view topic, PartitionId partition, std::uint32_t count)
      : Error("topic '" + std::string(topic) + "' has no partition " + to_string(partition) +
              ": it has " + std::to_string(count) + ", counted from 0"),
        partition_(partition) {}
  [[nodiscard]] PartitionId partition() const noexcept { return partition_; }

 private:
  PartitionId partition_;
};

/// A delivery or receipt was settled through a consumer or subscription that never handed it out.
class ForeignDelivery : public Error {
 public:
  explicit ForeignDelivery(std::string_view where)
      : Error("the delivery was not handed out by " + std::string(where) +
              ": settle it through the group that received it") {}
};

// -------------------------------------------------------------------------------------------- time

/// A wait without a timeout on a manual clock on which nothing is scheduled: it could never end.
class EndlessWait : public Error {
 public:
  EndlessWait()
      : Error(
            "endless wait on a manual clock: nothing is scheduled and no timeout was given; "
            "publish "
            "before polling, give a timeout, or use ManualClock::Waiting::blocking with several "
            "threads") {}
};

/// A second thread waited on a single-threaded manual clock.
class ConcurrentWait : public Error {
 public:
  ConcurrentWait()
      : Error(
            "two threads wait on a single-threaded manual clock: construct it with "
            "ManualClock::Waiting::blocking") {}
};

/// `run_until_idle` did not come to rest within its step limit.
class StepLimitReached : public Error {
 public:
  explicit StepLimitReached(std::uint64_t steps)
      : Error("the broker was still busy after " + std::to_string(steps) +
              " steps: something re-schedules itself for ever, or the limit is too low"),
        steps_(steps) {}
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

 private:
  std::uint64_t steps_;
};

}  // namespace brook
