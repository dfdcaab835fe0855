// The broker through its public face against a model that is as naive as it can be: one state for
// each message, group and partition, and every question answered by looking at all of them. Written
// from the rules, not from the code. Time is a manual clock's, so that the model knows not only
// what happens but when, to the nanosecond.

#include <brook/broker/broker.hpp>

#include "support/broker.hpp"
#include "support/random.hpp"

namespace {

using brook::Duration;
using brook::Instant;
using brook::ManualBroker;
using brook::Offset;
using brook::PartitionId;
using brook::SettleResult;
using brook::Start;
using support::Random;
using namespace std::chrono_literals;

template <class T>
std::string text(const T& value) {
  if constexpr (std::is_same_v<T, Instant>) {
    return value == Instant::max() ? "never"
                                   : std::to_string(value.time_since_epoch().count() / 1000) + "us";
  } else if constexpr (std::is_same_v<T, SettleResult>) {
    return std::string(brook::to_string(value));
  } else if constexpr (std::is_convertible_v<T, std::string>) {
    return value;
  } else {
    return std::to_string(value);
  }
}

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what);
}
void require(bool holds, const char* what) {
  if (!holds) fail(what);
}
template <class A, class B>
void same(const char* what, const A& actual, const B& expected) {
  if (!(actual == expected)) {
    fail(std::string(what) + ": is " + text(actual) + ", should be " + text(expected));
  }
}

// --------------------------------------------------------------------------------------------- log

struct Message {
  int key = 0;  ///< 0 = none.
  std::string id{};
  std::string addressee{};
  std::string source{};  ///< Of a dead letter: where it came from.
  std::uint32_t source_partition = 0;
  bool redriven = false;
};

struct Log {
  std::vector<Message> messages{};
  std::uint64_t start = 0;
  [[nodiscard]] std::uint64_t end() const { return messages.size(); }
};

struct Topic {
  std::string name{};
  brook::TopicConfig config{};
  std::vector<Log> logs{};
  bool gone = false;
};
using TopicPtr = std::shared_ptr<Topic>;

// ------------------------------------------------------------------------ one group, one partition

/// What is different from group to group.
struct Rules {
  brook::SubscribeOptions options;
  std::vector<std::string> patterns{};
  std::vector<std::string> other_patterns{};
};

struct Book {
  enum class State { fresh, leased, pending, settled };
  struct Entry {
    State state = State::fresh;
    Instant time{};            ///< Deadline, or when it is due again.
    std::uint64_t serial = 0;  ///< Of the newest hand-out; 0 = none.
    std::uint32_t charged = 0;
    bool returned = false;  ///< Came back at least once: holds its key until it is settled.
    bool ackable = false;   ///< The newest lease ended by its deadline.
  };

  Book(TopicPtr of, std::uint32_t id, const brook::SubscribeOptions& with, std::uint64_t from)
      : topic(std::move(of)), partition(id), options(&with) {
    restart(from);
  }

  TopicPtr topic;
  std::uint32_t partition;
  const brook::SubscribeOptions* options;
  std::vector<Entry> entries{};
  std::uint64_t life = 0;
  std::uint64_t owner = 0;
  bool paused = false;
  bool assigned = true;
  brook::DeliveryStats stats{};
  std::vector<std::pair<std::uint64_t, bool>> losses{};  ///< Offset, and whether it was handed out.

  [[nodiscard]] Log& log() const { return topic->logs[partition]; }
  void grow() { entries.resize(log().end()); }
  void restart(std::uint64_t from) {
    entries.assign(log().end(), Entry{});
    for (std::uint64_t at = 0; at < from; ++at) entries[at].state = State::settled;
  }
  [[nodiscard]] bool for_others(std::uint64_t at) const {
    const std::string& addressee = log().messages[at].addressee;
    return !addressee.empty() && addressee != options->group.text();
  }
  /// Messages for others are settled unseen when the group gets that far: before or after.
  [[nodiscard]] std::uint64_t committed(bool others_settled) {
    grow();
    std::uint64_t at = 0;
    while (at < entries.size() &&
           (entries[at].state == State::settled || (others_settled && for_others(at)))) {
      ++at;
    }
    return at;
  }
  [[nodiscard]] std::uint64_t count(State state) const {
    return static_cast<std::uint64_t>(std::count_if(
        entries.begin(), entries.end(), [&](const Entry& entry) { return entry.state == state; }));
  }
  [[nodiscard]] bool open(std::uint64_t at) const {
    return entries[at].state != State::settled && !for_others(at);
  }

  [[nodiscard]] bool same_order(std::uint64_t a, std::uint64_t b) const {
    if (options->ordering == brook::Ordering::none) return false;
    if (options->ordering == brook::Ordering::partition) return true;
    const auto& messages = log().messages;
    return messages[a].key != 0 && messages[a].key == messages[b].key;
  }
  /// A redelivery waits until every earlier message of its key is settled; what was not handed out
  /// yet, until none of its key is left that came back.
  [[nodiscard]] bool waits(std::uint64_t at) const {
    for (std::uint64_t before = 0; before < at; ++before) {
      if (!open(before) || !same_order(before, at)) continue;
      if (entries[at].state == State::pending || entries[before].returned) return true;
    }
    return false;
  }
  [[nodiscard]] bool deliverable(std::uint64_t at, Instant now) {
    const Entry& entry = entries[at];
    if (paused || !assigned || for_others(at)) return false;
    if (entry.state == State::fresh) {
      return at < committed(true) + options->max_ack_window.value() && !waits(at);
    }
    return entry.state == State::pending && entry.time <= now && !waits(at);
  }
  [[nodiscard]] bool any_deliverable(Instant now) {
    grow();
    for (std::uint64_t at = log().start; at < entries.size(); ++at) {
      if (deliverable(at, now)) return true;
    }
    return false;
  }

  void to_pending(std::uint64_t at, Instant time, bool ackable) {
    Entry& entry = entries[at];
    entry.state = State::pending;
    entry.time = time;
    entry.ackable = ackable;
    entry.returned = true;
  }
  void take_back_behind(std::uint64_t at) {
    for (std::uint64_t later = at + 1; later < entries.size(); ++later) {
      if (entries[later].state != State::leased || !same_order(at, later)) continue;
      to_pending(later, Instant::min(), false);
    }
  }
  void lose() {
    grow();
    for (std::uint64_t at = 0; at < log().start; ++at) {
      if (entries[at].state == State::settled) continue;
      entries[at].state = State::settled;
      losses.emplace_back(at, entries[at].serial != 0);
      ++stats.lost;
    }
  }
};
using BookPtr = std::shared_ptr<Book>;

/// One hand-out.
struct Lease {
  brook::Receipt receipt{};
  BookPtr book{};
  std::uint64_t at = 0;
  std::uint64_t serial = 0;
  std::uint64_t life = 0;
  std::uint64_t owner = 0;
};

struct Group {
  Rules rules;
  std::optional<ManualBroker::consumer_type> consumer{};
  bool exists = false;
  std::vector<std::string> patterns{};
  std::vector<BookPtr> books{};
  std::vector<Lease> leases{};
  std::deque<brook::Batch> batches{};
  TopicPtr letters{};
  std::uint64_t letters_known = 0;  ///< So many of them were seen in the broker.

  [[nodiscard]] const std::string& name() const { return rules.options.group.text(); }
  [[nodiscard]] bool once() const {
    return rules.options.guarantee == brook::Guarantee::at_most_once;
  }
  [[nodiscard]] std::uint64_t outstanding() const {
    std::uint64_t sum = 0;
    for (const auto& book : books) sum += book->count(Book::State::leased);
    return sum;
  }
  [[nodiscard]] bool limits_slots() const {
    return rules.options.max_outstanding_messages.value() < 100;
  }
  [[nodiscard]] bool has_slot() const {
    return outstanding() < rules.options.max_outstanding_messages.value();
  }
  [[nodiscard]] bool any_deliverable(Instant now) const {
    return has_slot() && std::any_of(books.begin(), books.end(), [&](const BookPtr& book) {
             return book->any_deliverable(now);
           });
  }
};

// --------------------------------------------------------------------------------------------- a r

class Run {
 public:
  explicit Run(std::uint64_t seed) : random_(seed) {
    redrives_ = random_.chance(40);
    for (int i = 0; i < 2; ++i) groups_.push_back({.rules = make_rules(i)});
    if (random_.chance(50)) {
      groups_.push_back({.rules = {.options = {.group = "operators",
                                               .start = Start::earliest,
                                               .ordering = brook::Ordering::none,
                                               .ack_deadline = 20s,
                                               .retry = brook::RetryPolicy{},
                                               .dead_letter_topic = brook::DeadLetterTopic::none()},
                                   .patterns = {"__dead_letter.*"},
                                   .other_patterns = {"__dead_letter.g0"}}});
    }
    for (const auto& group : groups_) describe(group);
    for (const char* const name : {"a.x", "a.y"}) create(name);
    for (auto& group : groups_) subscribe(group);
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      step();
      sync_letters();
      if (random_.chance(30)) compare();
    }
  }

  /// Everything that is left is acked; then nothing is unsettled.
  void drain() {
    note([] { return "drain"; });
    for (auto& group : groups_) {
      if (!group.consumer) subscribe(group);
      group.consumer->resume();
      for (auto& book : group.books) book->paused = false;
    }
    for (int quiet = 0; quiet < 3; ++quiet) {
      for (auto& group : groups_) {
        while (true) {
          const auto leases = poll(group, 50, Duration{1h}, 1 << 20);
          if (leases.empty()) break;
          for (const auto& lease : leases) ack(group, lease);
        }
      }
    }
    compare();
    for (const auto& group : groups_) {
      for (const auto& book : group.books) {
        if (!book->assigned) continue;
        same("unsettled at the end", book->committed(true), book->log().end());
      }
      if (group.letters != nullptr) compare_letters(group);
    }
  }
  [[nodiscard]] std::string trace() const {
    std::string all = description_;
    for (const auto& line : trace_) all += line + "\n";
    return all;
  }

 private:
  using State = Book::State;

  template <class Text>
  void note(Text what) {
    trace_.push_back(text(clock().now()) + " " + what());
    if (trace_.size() > 400) trace_.pop_front();
  }
  [[nodiscard]] brook::ManualClock& clock() { return broker_.clock(); }
  [[nodiscard]] Instant now() { return clock().now(); }

  Rules make_rules(int number) {
    brook::SubscribeOptions o{.group = "g" + std::to_string(number),
                              .start = random_.chance(70) ? Start::earliest : Start::latest};
    const std::uint64_t ordering = random_.below(10);
    o.ordering = ordering < 6   ? brook::Ordering::key
                 : ordering < 8 ? brook::Ordering::none
                                : brook::Ordering::partition;
    if (random_.chance(30)) o.max_outstanding_messages = random_.between(1, 6);
    if (random_.chance(30) && !redrives_) o.max_ack_window = random_.between(1, 8);
    if (random_.chance(15)) {
      o.guarantee = brook::Guarantee::at_most_once;
    } else {
      o.ack_deadline = std::chrono::seconds(random_.between(5, 30));
      o.retry = brook::RetryPolicy{.min_backoff = std::chrono::seconds(random_.below(3)),
                                   .max_backoff = 5s};
      const std::uint64_t letters = random_.below(4);
      if (letters < 2) o.max_deliveries = random_.between(1, 4);
      if (letters == 2) o.dead_letter_topic = brook::DeadLetterTopic::none();
      if (letters == 3) {
        o.exhausted = brook::Exhausted::drop;
        o.max_deliveries = random_.between(1, 4);
      }
    }
    if (number == 0) return {.options = o, .patterns = {"a.*", "b"}, .other_patterns = {"#"}};
    return {.options = o, .patterns = {"a.#", "a.x", "*.y"}, .other_patterns = {"b", "a.x"}};
  }
  [[nodiscard]] std::optional<std::uint64_t> max_deliveries(const Group& group) const {
    const auto config = brook::detail::group_config(group.rules.options).subscription;
    if (!config.max_deliveries) return std::nullopt;
    return config.max_deliveries->value();
  }
  static bool wants(const Group& group, const std::string& name) {
    return std::any_of(
        group.patterns.begin(), group.patterns.end(),
        [&](const std::string& pattern) { return brook::selects_topic(pattern, name); });
  }

  void describe(const Group& group) {
    const auto& o = group.rules.options;
    const auto config = brook::detail::group_config(o);
    description_ += o.group.text() + ": ordering " + text(static_cast<int>(o.ordering)) +
                    ", at most once " + text(static_cast<int>(group.once())) + ", outstanding " +
                    text(o.max_outstanding_messages.value()) + ", window " +
                    text(o.max_ack_window.value()) + ", deliveries " +
                    text(max_deliveries(group).value_or(0)) + ", dead letters " +
                    text(static_cast<int>(!config.dead_letters.is_none())) + "\n";
  }

  // ------------------------------------------------------------------------------- topics and grou

  void add_book(Group& group, const TopicPtr& topic, std::uint32_t partition, std::uint64_t from) {
    group.books.push_back(std::make_shared<Book>(topic, partition, group.rules.options, from));
  }
  void follow_new(const TopicPtr& topic) {
    for (auto& group : groups_) {
      if (!group.exists || !wants(group, topic->name)) continue;
      for (std::uint32_t id = 0; id < topic->logs.size(); ++id) add_book(group, topic, id, 0);
    }
  }
  [[nodiscard]] TopicPtr find(const std::string& name) const {
    const auto found = std::find_if(topics_.begin(), topics_.end(),
                                    [&](const TopicPtr& topic) { return topic->name == name; });
    return found == topics_.end() ? nullptr : *found;
  }

  void create(const std::string& name) {
    brook::TopicConfig config{.partitions = random_.between(1, 3)};
    const std::uint64_t kind = random_.below(5);
    if (kind == 0) config.retention.max_messages = random_.between(5, 30);
    if (kind == 1 && !redrives_) {
      config.retention.max_messages = random_.between(10, 40);
      config.overflow = brook::Overflow::reject;
    }
    note([&] { return "create " + name + " x" + std::to_string(config.partitions.value()); });
    broker_.create_topic(name, config);
    auto topic = std::make_shared<Topic>(
        Topic{.name = name, .config = config, .logs = std::vector<Log>(config.partitions.value())});
    topics_.push_back(topic);
    follow_new(topic);
  }
  void create_or_delete() {
    static const std::vector<std::string> names{"a.x", "a.y", "b"};
    const std::string& name = names[random_.below(names.size())];
    const TopicPtr topic = find(name);
    if (topic == nullptr) return create(name);
    note([&] { return "delete " + name; });
    broker_.delete_topic(name);
    topic->gone = true;
    std::erase(topics_, topic);
    for (auto& group : groups_) {
      std::erase_if(group.books, [&](const BookPtr& book) { return book->topic == topic; });
    }
  }

  void subscribe(Group& group) {
    const auto& patterns = random_.chance(80) ? group.rules.patterns : group.rules.other_patterns;
    note([&] { return "subscribe " + group.name() + " to " + patterns[0]; });
    const bool has_letters =
        !brook::detail::group_config(group.rules.options).dead_letters.is_none();
    if (!group.exists && has_letters && find("__dead_letter." + group.name()) == nullptr) {
      group.letters = std::make_shared<Topic>(
          Topic{.name = "__dead_letter." + group.name(), .logs = std::vector<Log>(1)});
      topics_.push_back(group.letters);
      follow_new(group.letters);
    }
    if (patterns.size() == 1) {
      group.consumer.emplace(broker_.subscribe(patterns[0], group.rules.options));
    } else if (patterns.size() == 2) {
      group.consumer.emplace(broker_.subscribe({patterns[0], patterns[1]}, group.rules.options));
    } else {
      group.consumer.emplace(
          broker_.subscribe({patterns[0], patterns[1], patterns[2]}, group.rules.options));
    }
    group.exists = true;
    group.patterns = patterns;
    for (const auto& topic : topics_) {
      const bool known = std::any_of(group.books.begin(), group.books.end(),
                                     [&](const BookPtr& book) { return book->topic == topic; });
      if (known || !wants(group, topic->name)) continue;
      for (std::uint32_t id = 0; id < topic->logs.size(); ++id) {
        const Log& log = topic->logs[id];
        add_book(group, topic, id,
                 group.rules.options.start == Start::latest ? log.end() : log.start);
      }
    }
    for (auto& book : group.books) book->assigned = wants(group, book->topic->name);
  }
  void close_or_subscribe(Group& group) {
    if (!group.consumer) return subscribe(group);
    note([&] { return "close " + group.name(); });
    group.consumer.reset();
    for (auto& book : group.books) {
      book->grow();
      for (std::uint64_t at = 0; at < book->entries.size(); ++at) {
        if (book->entries[at].state == State::leased) book->to_pending(at, now(), false);
      }
      ++book->owner;
      book->paused = false;
    }
  }
  void delete_group(Group& group) {
    if (group.consumer || redrives_) return;
    note([&] { return "delete " + group.name(); });
    if (group.exists) broker_.delete_group(group.name());
    group.exists = false;
    group.books.clear();
    group.leases.clear();
    group.patterns.clear();
  }

  // -------------------------------------------------------------------------------------- publishi

  [[nodiscard]] TopicPtr any_topic() {
    std::vector<TopicPtr> list;
    for (const auto& topic : topics_) {
      if (!brook::is_internal(topic->name)) list.push_back(topic);
    }
    return list.empty() ? nullptr : list[random_.below(list.size())];
  }
  void publish() {
    const TopicPtr topic = any_topic();
    if (topic == nullptr) return;
    const std::size_t count = random_.chance(60) ? 1 : random_.between(2, 8);
    std::vector<brook::Message> batch;
    std::vector<std::vector<Message>> wanted(topic->logs.size());
    for (std::size_t i = 0; i < count; ++i) {
      const int key = static_cast<int>(random_.below(4));
      const auto partition = static_cast<std::uint32_t>(random_.below(topic->logs.size()));
      const std::string id = "m" + std::to_string(next_id_++);
      brook::Message message{.payload = id, .partition = PartitionId{partition}};
      if (key != 0) message.key = "key" + std::to_string(key);
      batch.push_back(message);
      wanted[partition].push_back({.key = key, .id = id});
    }
    note([&] { return "publish " + std::to_string(count) + " to " + topic->name; });
    try {
      if (count == 1 && random_.chance(70)) {
        const auto at = broker_.publish(topic->name, batch[0]);
        same("offset", at.offset.value(), topic->logs[at.partition.value()].end());
      } else {
        const auto published = broker_.topic(topic->name).publish(batch);
        for (const auto& part : published.parts) {
          same("first offset", part.offsets.first.value(),
               topic->logs[part.partition.value()].end());
          same("offsets of a part", part.offsets.size(),
               std::uint64_t{wanted[part.partition.value()].size()});
        }
      }
    } catch (const brook::TopicFull&) {
      check_full(*topic, wanted);
      return;
    }
    for (std::uint32_t id = 0; id < wanted.size(); ++id) {
      Log& log = topic->logs[id];
      log.messages.insert(log.messages.end(), wanted[id].begin(), wanted[id].end());
      after_append(topic, id);
    }
  }
  /// Everything that all groups had settled in a full topic may have gone; more may not.
  [[nodiscard]] std::uint64_t settled_by_all(const Topic& topic, std::uint32_t partition) {
    std::uint64_t settled = topic.logs[partition].end();
    for (auto& group : groups_) {
      for (auto& book : group.books) {
        if (book->topic.get() != &topic || book->partition != partition) continue;
        settled = std::min(settled, book->committed(true));
      }
    }
    return settled;
  }
  void check_full(Topic& topic, const std::vector<std::vector<Message>>& wanted) {
    require(topic.config.overflow == brook::Overflow::reject, "TopicFull without a limit");
    const std::uint64_t most = topic.config.retention.max_messages->value();
    bool full = false;
    for (std::uint32_t id = 0; id < wanted.size(); ++id) {
      const Log& log = topic.logs[id];
      full = full || log.end() - log.start + wanted[id].size() > most;
      sync_start(topic, id);
    }
    require(full, "TopicFull though there was room");
  }
  void after_append(const TopicPtr& topic, std::uint32_t partition) {
    Log& log = topic->logs[partition];
    if (topic->config.overflow == brook::Overflow::reject) {
      sync_start(*topic, partition);
      require(log.end() - log.start <= topic->config.retention.max_messages->value(),
              "a topic is over its limit");
    } else if (topic->config.retention.max_messages) {
      const std::uint64_t most = topic->config.retention.max_messages->value();
      if (log.end() > most) move_start(*topic, partition, log.end() - most);
    }
  }
  void sync_start(Topic& topic, std::uint32_t partition) {
    const std::uint64_t start = broker_.topic(topic.name).start(PartitionId{partition}).value();
    require(start <= settled_by_all(topic, partition) || start == topic.logs[partition].start,
            "a full topic trimmed what a group had not settled");
    move_start(topic, partition, start);
  }
  void move_start(Topic& topic, std::uint32_t partition, std::uint64_t start) {
    Log& log = topic.logs[partition];
    log.start = std::max(log.start, start);
    for (auto& group : groups_) {
      for (auto& book : group.books) {
        if (book->topic.get() == &topic && book->partition == partition) book->lose();
      }
    }
  }
  void trim() {
    const TopicPtr topic = any_topic();
    if (topic == nullptr) return;
    const auto id = static_cast<std::uint32_t>(random_.below(topic->logs.size()));
    const Log& log = topic->logs[id];
    const std::uint64_t upto =
        std::min(log.end(), log.start + random_.below(random_.chance(20) ? 100 : 6));
    note([&] {
      return "trim " + topic->name + " " + std::to_string(id) + " below " + std::to_string(upto);
    });
    broker_.topic(topic->name).trim(PartitionId{id}, Offset{upto});
    move_start(*topic, id, upto);
  }

  // ------------------------------------------------------------------------------------------- tim

  /// The next end of a lease in the whole broker.
  [[nodiscard]] Instant next_deadline() const {
    Instant next = Instant::max();
    for (const auto& group : groups_) {
      for (const auto& book : group.books) {
        for (const auto& entry : book->entries) {
          if (entry.state == State::leased) next = std::min(next, entry.time);
        }
      }
    }
    return next;
  }
  /// Ends of backoffs of @p group behind @p after; of all that waits for nothing but its time.
  static Instant next_due(const Group& group, Instant after) {
    Instant next = Instant::max();
    for (const auto& book : group.books) {
      for (std::uint64_t at = 0; at < book->entries.size(); ++at) {
        const auto& entry = book->entries[at];
        if (entry.state == State::pending && entry.time > after && entry.time < next &&
            !book->waits(at)) {
          next = entry.time;
        }
      }
    }
    return next;
  }
  /// What the clock does on its way to @p target.
  void pass_time(Instant target) {
    for (;;) {
      const Instant next = next_deadline();
      if (next > target) return;
      for (auto& group : groups_) {
        for (auto& book : group.books) expire(group, *book, next);
      }
    }
  }
  /// All leases that end together end together; only then do those that come again take back.
  void expire(Group& group, Book& book, Instant at_time) {
    std::vector<std::uint64_t> failed;
    for (std::uint64_t at = 0; at < book.entries.size(); ++at) {
      auto& entry = book.entries[at];
      if (entry.state != State::leased || entry.time > at_time) continue;
      ++book.stats.expired;
      ++entry.charged;
      if (give_up_if_exhausted(group, book, at)) continue;
      book.to_pending(at, at_time, true);
      failed.push_back(at);
    }
    for (const std::uint64_t at : failed) book.take_back_behind(at);
  }
  bool give_up_if_exhausted(Group& group, Book& book, std::uint64_t at) {
    const auto most = max_deliveries(group);
    if (!most || book.entries[at].charged < *most) return false;
    give_up(group, book, at);
    return true;
  }
  void give_up(Group& group, Book& book, std::uint64_t at) {
    book.entries[at].state = State::settled;
    if (group.letters == nullptr) {
      ++book.stats.dropped;
      return;
    }
    ++book.stats.dead_lettered;
    const Message& message = book.log().messages[at];
    group.letters->logs[0].messages.push_back({.key = message.key,
                                               .id = message.id,
                                               .source = book.topic->name,
                                               .source_partition = book.partition});
  }
  void advance() {
    const auto step = random_.chance(10) ? Duration{1min}
                                         : Duration{std::chrono::milliseconds(random_.below(8000))};
    note([&] { return "advance"; });
    const Instant target = brook::saturating_add(now(), step);
    pass_time(target);
    clock().advance(step);
    same("time", now(), target);
  }
  void jump_wall_clock() {
    const auto by = std::chrono::hours(random_.below(100)) - 50h;
    clock().set_wall_now(clock().wall_now() + by);
  }

  // ----------------------------------------------------------------------------------------- polli

  std::vector<Lease> poll(Group& group, std::uint64_t most, Duration timeout,
                          std::uint64_t max_bytes) {
    const Instant begin = now();
    const Instant deadline = brook::saturating_add(begin, timeout);
    Instant expected = begin;
    while (!group.any_deliverable(expected) && expected < deadline) {
      expected = std::min({deadline, next_deadline(), next_due(group, expected)});
      pass_time(expected);
    }
    note([&] {
      return "poll " + group.name() + " " + std::to_string(most) + " until " + text(deadline);
    });
    brook::Batch batch =
        group.consumer->poll({.max_messages = most, .max_bytes = max_bytes, .timeout = timeout});
    same("end of a poll", now(), expected);
    sync_letters();
    std::vector<Lease> leases;
    for (const auto& delivery : batch) leases.push_back(hand_out(group, delivery));
    require(batch.size() <= most, "a poll gave more than asked for");
    if (max_bytes == 1) require(batch.size() <= 1, "a poll gave more bytes than asked for");
    // A slot that a loss gives back in the middle of a poll may come too late for some partition.
    const bool complete = max_bytes > 1 && !group.limits_slots();
    if ((batch.empty() || (complete && batch.size() < most)) && group.any_deliverable(now())) {
      fail("a poll left out what was deliverable");
    }
    group.leases.insert(group.leases.end(), leases.begin(), leases.end());
    if (group.leases.size() > 60) {
      group.leases.erase(group.leases.begin(), group.leases.end() - 60);
    }
    if (!batch.empty()) group.batches.push_back(std::move(batch));
    if (group.batches.size() > 4) group.batches.pop_front();
    return leases;
  }
  Lease hand_out(Group& group, const brook::Delivery& delivery) {
    const auto found =
        std::find_if(group.books.begin(), group.books.end(), [&](const BookPtr& book) {
          return book->topic->name == delivery.topic() &&
                 PartitionId{book->partition} == delivery.partition();
        });
    require(found != group.books.end(), "a delivery of a partition that the group does not follow");
    Book& book = **found;
    const std::uint64_t at = delivery.offset().value();
    note([&] {
      return "  " + std::string(delivery.topic()) + " " + std::to_string(book.partition) + " " +
             std::to_string(at) + " for the " + std::to_string(delivery.number()) + ". time";
    });
    book.grow();
    require(at < book.entries.size() && at >= book.log().start, "an offset that does not exist");
    same("payload", std::string(delivery.text()), book.log().messages[at].id);
    auto& entry = book.entries[at];
    require(entry.state != State::settled, "delivered though it is settled");
    require(entry.state != State::leased, "delivered though it is on lease");
    require(group.has_slot(), "more messages outstanding than allowed");
    if (!book.deliverable(at, now())) fail("delivered before its turn");
    same("number", delivery.number(), entry.charged + 1);
    ++book.stats.deliveries;
    if (entry.serial != 0) ++book.stats.redeliveries;
    entry.serial = next_serial_++;
    entry.ackable = false;
    if (group.once()) {
      entry.state = State::settled;
      ++book.stats.acked;
    } else {
      entry.state = State::leased;
      entry.time = brook::saturating_add(now(), *group.rules.options.ack_deadline);
    }
    return {.receipt = delivery.receipt(),
            .book = *found,
            .at = at,
            .serial = entry.serial,
            .life = book.life,
            .owner = book.owner};
  }

  // ---------------------------------------------------------------------------------------- settli

  static SettleResult judge(const Lease& lease, bool late_counts) {
    Book& book = *lease.book;
    if (book.topic->gone || lease.life != book.life) return SettleResult::stale;
    if (lease.owner != book.owner) return SettleResult::fenced;
    if (lease.at < book.log().start) return SettleResult::below_start;
    const auto& entry = book.entries[lease.at];
    if (entry.state == State::settled) return SettleResult::already_settled;
    const bool live = entry.state == State::leased;
    const bool late = late_counts && entry.ackable && entry.state == State::pending;
    return entry.serial == lease.serial && (live || late) ? SettleResult::applied
                                                          : SettleResult::lease_lost;
  }
  void ack(Group& group, const Lease& lease) {
    const SettleResult expected = judge(lease, true);
    note([&] { return "ack " + std::to_string(lease.at) + " " + text(expected); });
    same("ack", group.consumer->ack(lease.receipt), expected);
    if (expected == SettleResult::applied) acked(lease);
  }
  static void acked(const Lease& lease) {
    lease.book->entries[lease.at].state = State::settled;
    ++lease.book->stats.acked;
  }
  void settle(Group& group) {
    if (group.leases.empty()) return;
    const Lease lease = group.leases[random_.below(group.leases.size())];
    Book& book = *lease.book;
    auto& consumer = *group.consumer;
    const std::uint64_t kind = random_.below(10);
    if (kind < 4) return ack(group, lease);
    const SettleResult expected = judge(lease, false);
    const bool applied = expected == SettleResult::applied;
    if (kind < 7) {
      std::optional<Duration> delay;
      if (random_.chance(60)) delay = std::chrono::milliseconds(random_.below(4000));
      note([&] { return "nack " + std::to_string(lease.at) + " " + text(expected); });
      same("nack", consumer.nack(lease.receipt, {.delay = delay, .error = "nacked"}), expected);
      if (!applied) return;
      auto& entry = book.entries[lease.at];
      ++book.stats.nacked;
      ++entry.charged;
      if (give_up_if_exhausted(group, book, lease.at)) return;
      const Duration wait = delay.value_or(backoff(group, entry.charged));
      book.to_pending(lease.at, brook::saturating_add(now(), wait), false);
      book.take_back_behind(lease.at);
    } else if (kind < 8) {
      note([&] { return "reject " + std::to_string(lease.at) + " " + text(expected); });
      same("reject", consumer.reject(lease.receipt, "rejected"), expected);
      if (applied) give_up(group, book, lease.at);
    } else {
      const Duration by = random_.chance(30)
                              ? Duration{}
                              : Duration{std::chrono::milliseconds(random_.below(60'000))};
      note([&] { return "extend " + std::to_string(lease.at) + " " + text(expected); });
      same("extend", consumer.extend(lease.receipt, by), expected);
      if (!applied) return;
      if (by.is_zero()) {
        book.to_pending(lease.at, now(), false);
        book.take_back_behind(lease.at);
      } else {
        book.entries[lease.at].time = brook::saturating_add(now(), by);
      }
    }
  }
  static Duration backoff(const Group& group, std::uint32_t failures) {
    const auto& retry = *group.rules.options.retry;
    Duration wait = retry.min_backoff;
    for (std::uint32_t i = 1; i < failures; ++i) wait = wait.nanoseconds() * 2;
    return std::min(wait, retry.max_backoff);
  }
  void ack_batch(Group& group) {
    if (group.batches.empty()) return;
    const auto& batch = group.batches[random_.below(group.batches.size())];
    brook::SettleCounts expected;
    std::vector<Lease> applied;
    for (const auto& delivery : batch) {
      const auto receipt = delivery.receipt();
      const auto found = std::find_if(group.leases.begin(), group.leases.end(),
                                      [&](const Lease& lease) { return lease.receipt == receipt; });
      if (found == group.leases.end()) return;  // forgotten here: cannot say
      const SettleResult result = judge(*found, true);
      // What was trimmed is on lease until the group looks.
      const bool live = judge(*found, false) == SettleResult::applied;
      require(delivery.live() == live || result == SettleResult::below_start,
              "a delivery is wrong about being live");
      expected.add(result);
      if (result == SettleResult::applied) applied.push_back(*found);
    }
    note([&] { return "ack a batch of " + std::to_string(batch.size()); });
    const auto counts = group.consumer->ack(batch);
    if (!(counts == expected)) fail("acking a batch: other counts");
    for (const Lease& lease : applied) acked(lease);
  }
  // ---------------------------------------------------------------------------------- moving about

  void seek(Group& group) {
    if (!group.exists) return;
    const std::uint64_t offset = random_.below(40);
    const std::uint64_t kind = random_.below(4);
    const Start to = kind == 0   ? Start::earliest
                     : kind == 1 ? Start::latest
                                 : Start::at_offset(Offset{offset});
    bool possible = true;
    for (const auto& book : group.books) {
      if (!book->assigned || kind < 2) continue;
      if (offset < book->log().start || offset > book->log().end()) possible = false;
    }
    note([&] { return "seek " + group.name() + " " + std::to_string(kind) + " " + text(offset); });
    bool done = true;
    try {
      if (group.consumer && random_.chance(70)) {
        group.consumer->seek(to);
      } else {
        broker_.seek(group.name(), to);
      }
    } catch (const brook::OffsetTooOld&) {
      done = false;
    } catch (const brook::OffsetOutOfRange&) {
      done = false;
    }
    same("seek", done, possible);
    if (!done) return;
    for (auto& book : group.books) {
      if (!book->assigned) continue;
      book->restart(kind == 0 ? book->log().start : kind == 1 ? book->log().end() : offset);
      ++book->life;
    }
  }
  void pause_or_resume(Group& group) {
    const bool pause = random_.chance(40);
    note([&] { return (pause ? "pause " : "resume ") + group.name(); });
    if (pause) {
      group.consumer->pause();
    } else {
      group.consumer->resume();
    }
    for (auto& book : group.books) {
      if (book->assigned) book->paused = pause;
    }
  }
  void redrive(Group& group) {
    if (!redrives_ || !group.exists || group.letters == nullptr) return;
    sync_letters();
    note([&] { return "redrive " + group.name(); });
    Log& letters = group.letters->logs[0];
    brook::RedriveReport expected;
    std::vector<Message> left;
    std::uint64_t first_left = letters.end();
    for (std::uint64_t at = letters.start; at < letters.end(); ++at) {
      const Message letter = letters.messages[at];
      if (letter.redriven) continue;
      const TopicPtr topic = find(letter.source);
      if (topic == nullptr) {
        ++expected.skipped;
        first_left = std::min(first_left, at);
        continue;
      }
      ++expected.redriven;
      letters.messages[at].redriven = true;
      const auto id =
          std::min(letter.source_partition, static_cast<std::uint32_t>(topic->logs.size() - 1));
      topic->logs[id].messages.push_back(
          {.key = letter.key, .id = letter.id, .addressee = group.name()});
      after_append(topic, id);
    }
    const auto report = broker_.redrive(group.name());
    same("redriven", report.redriven, expected.redriven);
    same("skipped", report.skipped, expected.skipped);
    move_start(*group.letters, 0, first_left);
  }

  // --------------------------------------------------------------------------------------- compari

  /// Dead letters of one moment may come in any order of partitions: the broker's is taken over.
  void sync_letters() {
    for (auto& group : groups_) {
      if (group.letters == nullptr) continue;
      Log& log = group.letters->logs[0];
      const auto topic = broker_.topic(group.letters->name);
      same("dead letters", topic.end(PartitionId{0}).value(), log.end());
      if (group.letters_known == log.end()) continue;
      std::vector<Message> expected(
          log.messages.begin() + static_cast<std::ptrdiff_t>(group.letters_known),
          log.messages.end());
      std::uint64_t at = group.letters_known;
      const auto batch = topic.read(PartitionId{0}, Offset{at}, {.max_messages = 1000});
      for (const auto message : batch) {
        const auto record = brook::detail::read_dead_letter(message);
        const auto found = std::find_if(expected.begin(), expected.end(), [&](const Message& one) {
          return one.id == record.message.payload.text() && one.source == record.source_topic;
        });
        if (found == expected.end()) fail("a dead letter that should not be");
        log.messages[at++] = *found;
        expected.erase(found);
      }
      group.letters_known = at;
      same("dead letters read", at, log.end());
    }
  }
  void compare_letters(const Group& group) {
    std::vector<std::string> expected;
    const Log& log = group.letters->logs[0];
    for (std::uint64_t at = log.start; at < log.end(); ++at) {
      if (!log.messages[at].redriven) expected.push_back(log.messages[at].id);
    }
    if (support::texts(broker_.dead_letters(group.name())) != expected) fail("other dead letters");
  }
  void compare() {
    for (auto& group : groups_) {
      if (!group.exists) continue;
      const auto lag = broker_.lag(group.name());
      same("partitions of ", lag.partitions.size(), group.books.size());
      for (const auto& partition : lag.partitions) compare(group, partition);
      if (group.consumer) compare_losses(group);
      if (group.letters != nullptr) compare_letters(group);
    }
    compare_next_event();
  }
  void compare(Group& group, const brook::PartitionLag& lag) {
    const auto found =
        std::find_if(group.books.begin(), group.books.end(), [&](const BookPtr& book) {
          return book->topic->name == lag.topic && PartitionId{book->partition} == lag.partition;
        });
    require(found != group.books.end(), "lag of a partition that the group does not follow");
    Book& book = **found;
    book.grow();
    const auto between = [&](const char* what, std::uint64_t low, std::uint64_t is,
                             std::uint64_t high) {
      if (is >= low && is <= high) return;
      fail(std::string(what) + " of " + group.name() + " in " + lag.topic + ": is " + text(is) +
           ", should be " + text(low) + " to " + text(high));
    };
    std::uint64_t others = 0;
    std::uint64_t open = 0;
    for (std::uint64_t at = 0; at < book.entries.size(); ++at) {
      if (book.entries[at].state == State::settled) continue;
      ++(book.for_others(at) ? others : open);
    }
    between("committed", book.committed(false), lag.committed.value(), book.committed(true));
    between("messages", open, lag.messages, open + others);
    same("start", lag.start.value(), book.log().start);
    same("end", lag.end.value(), book.log().end());
    same("in flight", lag.in_flight, book.count(State::leased));
    between("retrying", book.count(State::pending), lag.retrying, open);
    same("dead-lettering", lag.dead_lettering, std::uint64_t{0});
    const auto& is = lag.stats;
    const auto& should = book.stats;
    same("deliveries", is.deliveries, should.deliveries);
    same("redeliveries", is.redeliveries, should.redeliveries);
    same("acked", is.acked, should.acked);
    same("nacked", is.nacked, should.nacked);
    same("expired", is.expired, should.expired);
    same("dead-lettered", is.dead_lettered, should.dead_lettered);
    same("dropped", is.dropped, should.dropped);
    if (!redrives_) same("lost", is.lost, should.lost);
  }
  void compare_losses(Group& group) {
    std::map<std::pair<std::string, std::uint32_t>, std::vector<std::pair<std::uint64_t, bool>>> is;
    for (const auto& loss : group.consumer->take_losses()) {
      auto& list = is[{loss.topic, loss.partition.value()}];
      for (Offset at = loss.range.first; at < loss.range.last; ++at) {
        list.emplace_back(at.value(), loss.handed_out);
      }
    }
    for (auto& book : group.books) {
      if (!book->assigned) continue;
      const auto& list = is[{book->topic->name, book->partition}];
      if (!redrives_ && list != book->losses) fail("other losses in " + book->topic->name);
      book->losses.clear();
    }
  }
  void compare_next_event() {
    Instant next = next_deadline();
    for (const auto& group : groups_) next = std::min(next, next_due(group, now()));
    same("next event", broker_.next_event_time(), next);
  }

  // -------------------------------------------------------------------------------------------- st

  void step() {
    const std::uint64_t kind = random_.below(100);
    if (kind < 22) return publish();
    if (kind < 26) return trim();
    if (kind < 34) return advance();
    if (kind < 36) return create_or_delete();
    if (kind < 37) return jump_wall_clock();
    Group& group = groups_[random_.below(groups_.size())];
    if (kind < 40) return seek_rarely(group);
    if (kind < 43) return close_or_subscribe(group);
    if (kind < 44) return delete_group(group);
    if (kind < 46) return redrive(group);
    if (!group.consumer) return;
    if (kind < 48) return pause_or_resume(group);
    if (kind < 52) return ack_batch(group);
    if (kind < 75) return settle(group);
    const Duration timeout =
        random_.chance(60) ? Duration{} : std::chrono::milliseconds(random_.below(20'000));
    poll(group, random_.between(1, 6), timeout, random_.chance(10) ? 1 : 1 << 20);
  }
  void seek_rarely(Group& group) {
    if (random_.chance(50)) seek(group);
  }

  Random random_;
  ManualBroker broker_;
  std::string description_;
  std::deque<std::string> trace_;
  bool redrives_ = false;
  std::vector<TopicPtr> topics_;
  std::vector<Group> groups_;
  std::uint64_t next_id_ = 0;
  std::uint64_t next_serial_ = 1;
};

void check(std::uint64_t seed) {
  Run run(seed);
  try {
    run.steps(300);
    run.drain();
  } catch (const std::exception& error) {
    FAIL(run.trace() << error.what());
  }
}

}  // namespace

TEST_CASE("A broker does what the model does, whatever is done to it", "[broker][model]") {
  support::for_each_seed("model/broker", 500, check);
}
