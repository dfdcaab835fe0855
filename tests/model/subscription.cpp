// Random work on a Subscription, compared after each step with a model that looks at every offset
// for every question.
//
// BROOK_SEED=n replays one run and prints its steps; BROOK_SEEDS=n says how many runs there are
// (2000). A run that fails is cut down to the steps that are needed for it before it is printed.

#include <brook/delivery/subscription.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <brook/clock/manual_clock.hpp>
#include <brook/log/topic_log.hpp>

#include "support/catch.hpp"
#include "support/subscription_model.hpp"

namespace {

using namespace std::chrono_literals;
using brook::Duration;
using brook::Instant;
using brook::Offset;
using Log = brook::TopicLog<brook::MemoryStorage, brook::ManualClock>;
using Model = support::SubscriptionModel;

constexpr std::size_t steps_per_run = 300;

/// What the model and brook do not agree about.
class Mismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

std::string text(std::uint64_t value) {
  return std::to_string(value);
}
std::string text(Offset value) {
  return brook::to_string(value);
}
std::string text(brook::SettleResult value) {
  return std::string(brook::to_string(value));
}
std::string text(bool value) {
  return value ? "true" : "false";
}
std::string text(Instant value) {
  if (value == Instant::max()) return "never";
  return std::to_string(value.time_since_epoch().count()) + "ns";
}
std::string text(const std::string& value) {
  return value;
}
std::string text(const brook::SettleCounts& counts) {
  std::ostringstream out;
  out << counts.applied << " applied " << counts.stale << " stale " << counts.fenced << " fenced "
      << counts.below_start << " below start " << counts.already_settled << " settled "
      << counts.lease_lost << " lost";
  return out.str();
}
std::string text(const brook::DeliveryStats& stats) {
  std::ostringstream out;
  out << stats.deliveries << " deliveries " << stats.redeliveries << " redeliveries " << stats.acked
      << " acked " << stats.nacked << " nacked " << stats.expired << " expired "
      << stats.dead_lettered << " dead-lettered " << stats.dropped << " dropped " << stats.lost
      << " lost";
  return out.str();
}
std::string text(const std::vector<brook::Loss>& losses) {
  std::string out;
  for (const auto& loss : losses) {
    out += "[" + text(loss.range.first) + "," + text(loss.range.last) + ")" +
           (loss.handed_out ? "handed out " : "never handed out ");
  }
  return out;
}

template <class T>
void same(const char* what, const T& brook_says, const T& model_says) {
  const std::string actual = text(brook_says);
  const std::string expected = text(model_says);
  if (actual == expected) return;
  throw Mismatch(std::string(what) + ": brook says " + actual + ", the model " + expected);
}

/// Small numbers from one seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  bool one_in(std::uint32_t n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

enum class Action : std::uint8_t {
  append,
  poll,
  ack,
  ack_receipt,
  ack_batch,
  nack,
  reject,
  extend,
  move_clock,
  run_due,
  drain,
  seek,
  trim,
  release,
  losses,
  lag,
};

/// One step; what its numbers mean depends on the state it meets, so that it still makes sense when
/// others are left out.
struct Step {
  Action action{};
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
};

std::vector<Step> make_steps(Random& random) {
  static constexpr std::array<std::pair<Action, int>, 16> weights{{{Action::append, 17},
                                                                   {Action::poll, 22},
                                                                   {Action::ack, 13},
                                                                   {Action::ack_receipt, 4},
                                                                   {Action::ack_batch, 5},
                                                                   {Action::nack, 9},
                                                                   {Action::reject, 3},
                                                                   {Action::extend, 6},
                                                                   {Action::move_clock, 16},
                                                                   {Action::run_due, 2},
                                                                   {Action::drain, 4},
                                                                   {Action::seek, 1},
                                                                   {Action::trim, 2},
                                                                   {Action::release, 1},
                                                                   {Action::losses, 1},
                                                                   {Action::lag, 2}}};
  std::vector<Action> wheel;
  for (const auto& [action, weight] : weights) {
    // Rare things are left out of most runs, so that in these what comes before them can grow.
    const bool rare = weight <= 3;
    const int times = rare && random.one_in(2) ? 0 : weight;
    for (int i = 0; i < times; ++i) wheel.push_back(action);
  }
  std::vector<Step> steps(steps_per_run);
  for (Step& step : steps) {
    step.action = wheel[random.below(static_cast<std::uint32_t>(wheel.size()))];
    step.a = random.below(1U << 30);
    step.b = random.below(1U << 30);
    step.c = random.below(1U << 30);
  }
  return steps;
}

brook::SubscriptionConfig make_config(Random& random) {
  brook::SubscriptionConfig config;
  config.group = "billing";
  config.ordering = random.one_in(2)   ? brook::Ordering::key
                    : random.one_in(2) ? brook::Ordering::partition
                                       : brook::Ordering::none;
  if (!random.one_in(3))
    config.max_outstanding_messages = 1 + random.below(random.one_in(2) ? 4 : 30);
  if (random.one_in(3)) config.max_outstanding_bytes = 16 + random.below(1500);
  if (random.one_in(3)) config.max_ack_window = 1 + random.below(random.one_in(2) ? 6 : 40);
  if (random.one_in(12)) {
    config.guarantee = brook::Guarantee::at_most_once;
    return config;
  }
  config.ack_deadline = std::chrono::milliseconds{1 + random.below(1000)};
  if (random.one_in(20)) config.ack_deadline = Duration::max();
  if (random.one_in(3) && !config.ack_deadline.is_never()) {
    config.max_lease = config.ack_deadline.nanoseconds() * (1 + random.below(3));
  }
  if (!random.one_in(3)) config.max_deliveries = 1 + random.below(3);
  if (random.one_in(3)) config.exhausted = brook::Exhausted::drop;
  config.retry.min_backoff = std::chrono::milliseconds{random.below(3) * random.below(200)};
  config.retry.max_backoff = config.retry.min_backoff.nanoseconds() * (1 + random.below(9)) +
                             std::chrono::nanoseconds{random.below(3)};
  return config;
}

/// One group on the log, as brook and as the model see it, and every delivery it ever got.
struct Group {
  Group(const Log& log, const support::LogModel& log_model,
        const brook::SubscriptionConfig& options, std::uint64_t start)
      : config(options),
        subscription(log, options, Offset{start}),
        model(log_model, options, start) {}

  struct Given {
    brook::Receipt receipt{};
    Model::Lease lease{};
    std::size_t batch = 0;
    std::size_t index = 0;
  };

  brook::SubscriptionConfig config;
  brook::Subscription<Log> subscription;
  Model model;
  std::vector<brook::Batch> batches;
  std::vector<Given> given;
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>> receipts;
};

/// Both sides of one run, and what was done to them.
class Run {
 public:
  Run(std::uint64_t seed, bool traced) : traced_(traced) {
    Random random(seed);
    const std::uint32_t before = random.one_in(4) ? random.below(12) : 0;
    for (std::uint32_t i = 0; i < before; ++i)
      append(random.below(1U << 30), random.below(1U << 30), 1);
    const std::size_t groups = random.one_in(4) ? 2 : 1;
    for (std::size_t i = 0; i < groups; ++i) {
      groups_.push_back(
          std::make_unique<Group>(log_, log_model_, make_config(random), random.below(before + 1)));
      note([&] { return describe(groups_.back()->config); });
    }
  }

  void apply(const Step& step) {
    Group& group = *groups_[step.c % groups_.size()];
    switch (step.action) {
      case Action::append:
        append(step.a, step.b, 1 + step.c % 4);
        break;
      case Action::poll:
        poll(group, step);
        break;
      case Action::ack:
      case Action::ack_receipt:
      case Action::nack:
      case Action::reject:
      case Action::extend:
        settle(group, step);
        break;
      case Action::ack_batch:
        ack_batch(group, step);
        break;
      case Action::move_clock:
        move_clock(group, step);
        break;
      case Action::run_due:
        note([] { return "run_due"; });
        group.subscription.run_due();
        group.model.look(clock_.now(), clock_.wall_now());
        break;
      case Action::drain:
        drain(group, step);
        break;
      case Action::seek:
        seek(group, step);
        break;
      case Action::trim:
        trim(step);
        break;
      case Action::release:
        note([] { return "release"; });
        group.subscription.release();
        group.model.release(clock_.now(), clock_.wall_now());
        break;
      case Action::losses:
        note([] { return "take_losses"; });
        same("losses", group.subscription.take_losses(), group.model.take_losses());
        break;
      case Action::lag:
        note([] { return "lag"; });
        same("lag", group.subscription.lag(), group.model.lag());
        break;
    }
    for (auto& each : groups_) compare(*each);
  }
  void finish() {
    for (auto& group : groups_) {
      same("losses", group->subscription.take_losses(), group->model.take_losses());
      same("lag", group->subscription.lag(), group->model.lag());
    }
  }
  const std::string& trace() const { return trace_; }

 private:
  template <class Text>
  void note(Text text_of) {
    if (traced_) trace_ += std::string("  ") + text_of() + "\n";
  }

  static std::string describe(const brook::SubscriptionConfig& config) {
    std::ostringstream out;
    out << "group: ordering " << static_cast<int>(config.ordering) << ", guarantee "
        << static_cast<int>(config.guarantee) << ", ack_deadline "
        << config.ack_deadline.nanoseconds().count() << "ns, max_lease "
        << config.max_lease.nanoseconds().count() << "ns, max_deliveries "
        << (config.max_deliveries ? config.max_deliveries->value() : 0) << ", exhausted "
        << static_cast<int>(config.exhausted) << ", backoff "
        << config.retry.min_backoff.nanoseconds().count() << ".."
        << config.retry.max_backoff.nanoseconds().count() << "ns, outstanding "
        << config.max_outstanding_messages.value() << " messages "
        << config.max_outstanding_bytes.value() << " bytes, window "
        << config.max_ack_window.value();
    return out.str();
  }

  void append(std::uint32_t a, std::uint32_t b, std::uint32_t count) {
    static const std::array<const char*, 5> keys{"", "k1", "k2", "k3", ""};
    std::vector<brook::Message> messages;
    std::string text_of = "append at " + text(log_.end()) + ":";
    for (std::uint32_t i = 0; i < count; ++i, a /= 7, b /= 5) {
      const int key = static_cast<int>(a % 5);
      brook::Message message;
      if (key != 0) message.key = brook::Buffer(std::string(keys[static_cast<std::size_t>(key)]));
      const bool large = b % 12 == 0;
      message.payload = std::string(large ? 300 + b % 2500 : b % 60, 'x');
      const bool for_others = a % 31 == 30;
      if (for_others || a % 37 == 36) {
        message.headers.push_back(
            {.name = std::string(brook::addressed_to_header),
             .value = for_others ? brook::Buffer("audit") : brook::Buffer("billing")});
      }
      log_model_.messages.push_back({.key = key, .size = 0, .for_others = for_others});
      text_of += " key " + std::to_string(key) + (for_others ? " for others" : "");
      messages.push_back(std::move(message));
    }
    Offset at = log_.append(std::span<const brook::Message>(messages));
    for (std::uint32_t i = 0; i < count; ++i, ++at) {
      const auto stored = log_.read(at, {.max_messages = 1});
      log_model_.messages[at.value()].size = stored[0].stored_size();
      text_of += " (" + text(stored[0].stored_size()) + " bytes)";
    }
    note([&] { return text_of; });
  }

  void poll(Group& group, const Step& step) {
    const std::uint64_t messages = step.a % 4 == 0 ? 500 : step.a % 7;
    const std::uint64_t bytes = step.b % 3 != 0 ? 1 << 20 : step.b % 700;
    auto batch = group.subscription.poll({.max_messages = messages, .max_bytes = bytes});
    const auto leases = group.model.poll(messages, bytes, clock_.now(), clock_.wall_now());
    std::string actual;
    std::string expected;
    for (const auto& delivery : batch) {
      actual += text(delivery.offset()) + "#" + std::to_string(delivery.number()) + " ";
    }
    for (const auto& lease : leases) {
      expected += text(lease.offset) + "#" + std::to_string(lease.number) + " ";
    }
    note([&] { return "poll " + text(messages) + ", " + text(bytes) + " bytes: " + expected; });
    same("delivered", actual, expected);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const brook::Delivery& delivery = batch[i];
      const brook::Receipt receipt = delivery.receipt();
      if (!group.receipts.insert({receipt.epoch, receipt.offset.value(), receipt.attempt}).second) {
        throw Mismatch("the lease of " + text(receipt.offset) + " has an id that was given before");
      }
      const int key = log_model_.messages[delivery.offset().value()].key;
      same("key is null", delivery.key().is_null(), key == 0);
      group.given.push_back(
          {.receipt = receipt, .lease = leases[i], .batch = group.batches.size(), .index = i});
    }
    if (!batch.empty()) group.batches.push_back(std::move(batch));
  }

  /// Mostly something recent, sometimes anything that was ever handed out.
  static std::size_t choose(std::size_t size, std::uint32_t number) {
    const std::size_t recent = std::min<std::size_t>(size, number % 3 == 0 ? size : 12);
    return size - 1 - (number / 3) % recent;
  }

  void settle(Group& group, const Step& step) {
    if (group.given.empty()) return;
    const auto& given = group.given[choose(group.given.size(), step.a)];
    const auto& delivery = group.batches[given.batch][given.index];
    const Instant now = clock_.now();
    const brook::Timestamp wall = clock_.wall_now();
    same("live", delivery.live(), group.model.live(given.lease, now));
    brook::SettleResult actual{};
    brook::SettleResult expected{};
    std::string what;
    const bool by_receipt = step.action == Action::ack_receipt || step.b % 5 == 0;
    auto& subscription = group.subscription;
    if (step.action == Action::ack || step.action == Action::ack_receipt) {
      what = "ack";
      actual = by_receipt ? subscription.ack(given.receipt) : subscription.ack(delivery);
      expected = group.model.ack(given.lease);
    } else if (step.action == Action::nack) {
      brook::NackOptions options;
      if (step.b % 3 == 0) options.delay = std::chrono::milliseconds{step.b / 3 % 300};
      if (step.b % 15 == 0) options.delay = Duration{};
      if (step.b % 100 == 1) options.delay = Duration::max();
      const std::string error = "error " + std::to_string(step.b % 10);
      options.error = error;
      what = "nack";
      if (options.delay) what += " delay " + std::to_string(options.delay->nanoseconds().count());
      actual = by_receipt ? subscription.nack(given.receipt, options)
                          : subscription.nack(delivery, options);
      expected = group.model.nack(given.lease, options, now, wall);
    } else if (step.action == Action::reject) {
      what = "reject";
      actual = by_receipt ? subscription.reject(given.receipt, "rejected")
                          : subscription.reject(delivery, "rejected");
      expected = group.model.reject(given.lease, "rejected", now, wall);
    } else {
      Duration by = std::chrono::milliseconds{step.b % 2000};
      if (step.b % 4 == 0) by = Duration{};
      if (step.b % 50 == 1) by = Duration::max();
      what = "extend by " + std::to_string(by.nanoseconds().count());
      actual =
          by_receipt ? subscription.extend(given.receipt, by) : subscription.extend(delivery, by);
      expected = group.model.extend(given.lease, by, now, wall);
    }
    note([&] {
      return what + " " + text(given.lease.offset) + "#" + std::to_string(given.lease.number) +
             " (hand-out " + text(given.lease.serial) + "): " + text(expected);
    });
    same(what.c_str(), actual, expected);
    same("live afterwards", delivery.live(), group.model.live(given.lease, now));
  }

  void ack_batch(Group& group, const Step& step) {
    if (group.batches.empty()) return;
    const std::size_t index = choose(group.batches.size(), step.a);
    note([&] {
      const auto& batch = group.batches[index];
      return "ack the batch of " + std::to_string(batch.size()) + " from " +
             text(batch[0].offset());
    });
    brook::SettleCounts expected;
    for (const auto& given : group.given) {
      if (given.batch == index) expected.add(group.model.ack(given.lease));
    }
    same("ack of a batch", group.subscription.ack(group.batches[index]), expected);
  }

  void move_clock(Group& group, const Step& step) {
    const Instant next = group.model.next_event(clock_.now());
    const bool ahead = next != Instant::max() && next > clock_.now();
    std::chrono::nanoseconds by{step.b % 400'000'000};
    if (ahead && step.a % 3 == 0) by = next - clock_.now();
    if (ahead && step.a % 3 == 1) by = next - clock_.now() - 1ns;
    if (step.a % 9 == 2) by = 1ns;
    if (by > std::chrono::hours{24}) by = 1ns;
    clock_.advance(by);
    note([&] { return "the clock moves to " + text(clock_.now()); });
  }

  void drain(Group& group, const Step& step) {
    std::string actual;
    std::string expected;
    std::uint32_t offered = 0;
    const auto takes = [&](std::uint32_t n) {
      return step.a % 3 == 0 || (step.b >> (n % 28) & 1) != 0;
    };
    const auto describe_letter = [](std::uint64_t offset, std::uint32_t deliveries,
                                    const brook::Failure& failure) {
      return text(offset) + " after " + std::to_string(deliveries) + " '" + failure.error + "' " +
             std::to_string(failure.first.time_since_epoch().count()) + ".." +
             std::to_string(failure.last.time_since_epoch().count()) + " ";
    };
    group.model.drain(clock_.now(), [&](const Model::Letter& letter) {
      expected += describe_letter(letter.offset, letter.deliveries, letter.failure);
      return takes(offered++);
    });
    note([&] { return "drain: " + expected + (step.a % 3 == 0 ? "all taken" : "some refused"); });
    offered = 0;
    group.subscription.drain_dead_letters([&](const brook::DeadLetter& letter) {
      actual += describe_letter(letter.message.offset().value(), letter.deliveries, letter.failure);
      if (!takes(offered++)) throw std::runtime_error("the dead-letter topic is full");
    });
    same("dead letters", actual, expected);
  }

  void seek(Group& group, const Step& step) {
    const std::uint64_t end = log_model_.messages.size();
    const std::uint64_t to = step.a % (end + 2);
    note([&] { return "seek to " + text(to); });
    std::string actual = "done";
    try {
      group.subscription.seek(Offset{to});
    } catch (const brook::OffsetTooOld&) {
      actual = "too old";
    } catch (const brook::OffsetOutOfRange&) {
      actual = "out of range";
    }
    const std::string expected = to < log_model_.start ? "too old"
                                 : to > end            ? "out of range"
                                                       : "done";
    same("seek", actual, expected);
    if (expected == "done") group.model.seek(to);
  }

  void trim(const Step& step) {
    const std::uint64_t end = log_model_.messages.size();
    const std::uint64_t upto =
        std::min(end, log_model_.start + step.a % (step.b % 4 == 0 ? end + 1 : 8));
    note([&] { return "trim below " + text(upto); });
    log_.trim(Offset{upto});
    log_model_.start = upto;
  }

  void compare(Group& group) {
    auto& subscription = group.subscription;
    same("committed", subscription.committed().value(), group.model.committed());
    same("in_flight", subscription.in_flight(), group.model.in_flight());
    same("next_event_time", subscription.next_event_time(), group.model.next_event(clock_.now()));
    same("dead_lettering", std::uint64_t{subscription.dead_lettering()},
         std::uint64_t{group.model.letters().size()});
    same("stats", subscription.stats(), group.model.stats());
  }

  bool traced_;
  std::string trace_;
  brook::ManualClock clock_;
  Log log_{clock_};
  support::LogModel log_model_;
  std::vector<std::unique_ptr<Group>> groups_;
};

/// What is wrong after these steps; empty if nothing. @p done says how many were done.
std::string problem(std::uint64_t seed, const std::vector<Step>& steps, std::size_t& done,
                    std::string* trace) {
  Run run(seed, trace != nullptr);
  done = 0;
  std::string found;
  try {
    for (const Step& step : steps) {
      ++done;
      run.apply(step);
    }
    run.finish();
  } catch (const std::exception& error) {
    found = error.what();
  }
  if (trace != nullptr) *trace = run.trace();
  return found;
}

/// Leaves out whatever is not needed for something to go wrong.
std::vector<Step> shrink(std::uint64_t seed, std::vector<Step> steps) {
  std::size_t done = 0;
  problem(seed, steps, done, nullptr);
  steps.resize(done);
  for (std::size_t size = std::max<std::size_t>(1, steps.size() / 2); size != 0; size /= 2) {
    for (std::size_t at = 0; at + size <= steps.size();) {
      std::vector<Step> fewer = steps;
      const auto from = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      fewer.erase(from, from + static_cast<std::ptrdiff_t>(size));
      if (problem(seed, fewer, done, nullptr).empty()) {
        at += size;
      } else {
        fewer.resize(std::min(fewer.size(), done));
        steps = std::move(fewer);
      }
    }
  }
  return steps;
}

void check(std::uint64_t seed, bool always_traced) {
  Random random(seed ^ 0x5eed);
  std::vector<Step> steps = make_steps(random);
  std::size_t done = 0;
  std::string trace;
  std::string found = problem(seed, steps, done, always_traced ? &trace : nullptr);
  if (found.empty()) return;
  steps = shrink(seed, std::move(steps));
  found = problem(seed, steps, done, &trace);
  FAIL("BROOK_SEED=" << seed << " after " << done << " steps that are needed\n" << trace << found);
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

}  // namespace

TEST_CASE("Subscription does what the model does, whatever is done to it", "[delivery][model]") {
  if (std::getenv("BROOK_SEED") != nullptr) {
    check(number_from("BROOK_SEED", 0), true);
    return;
  }
  const std::uint64_t first = std::random_device{}();
  const std::uint64_t count = number_from("BROOK_SEEDS", 2000);
  std::cerr << "model/subscription: BROOK_SEED=" << first << " and the " << count - 1
            << " after it\n";
  for (std::uint64_t seed = first; seed < first + count; ++seed) check(seed, false);
}
