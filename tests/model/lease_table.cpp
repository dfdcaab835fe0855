// Random work on a LeaseTable alone: what must hold after every step, whatever is done to it.
//
// BROOK_SEED=n replays one run; BROOK_SEEDS=n says how many runs there are (2000).

#include <brook/delivery/lease_table.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/catch.hpp"

namespace {

using brook::Duration;
using brook::Instant;
using brook::Offset;
using brook::Receipt;
using brook::SettleResult;
using brook::Timestamp;
using Table = brook::detail::LeaseTable;
using State = Table::State;

constexpr std::uint64_t size_of(Offset offset) {
  return 8 * (1 + offset.value() % 5);
}
std::uint64_t key_of(Offset offset) {
  return offset.value() * 7 % 4;
}

brook::SubscriptionConfig random_config(std::mt19937_64& random) {
  brook::SubscriptionConfig config;
  config.ordering = static_cast<brook::Ordering>(random() % 3);
  config.exhausted = static_cast<brook::Exhausted>(random() % 2);
  if (random() % 2 == 0) config.max_deliveries = 1 + random() % 3;
  config.ack_deadline = std::chrono::nanoseconds{1 + random() % 50};
  if (random() % 2 == 0) config.max_lease = std::chrono::nanoseconds{50 + random() % 100};
  config.retry = {.min_backoff = std::chrono::nanoseconds{random() % 10},
                  .max_backoff = std::chrono::nanoseconds{10 + random() % 50}};
  if (random() % 2 == 0) config.max_outstanding_bytes = 1000;
  return config;
}

/// A table that is worked on at random, and what is known about it from outside.
class Run {
 public:
  explicit Run(std::uint64_t seed)
      : random_(seed),
        config_(random_config(random_)),
        table_(config_, Offset{random_() % 100}, slots_) {
    log_start_ = table_.committed();
  }

  void step() {
    moved_ = false;
    const std::uint64_t kind = random_() % 100;
    if (kind < 25) {
      hand_out();
    } else if (kind < 40) {
      hand_out_again();
    } else if (kind < 75) {
      settle();
    } else {
      other(kind);
    }
    check();
  }

 private:
  struct Keys {
    std::uint64_t operator()(Offset offset) const { return key_of(offset); }
  };

  std::uint64_t order_key(Offset offset) const {
    return config_.ordering == brook::Ordering::partition ? 1 : key_of(offset);
  }
  void given(Table::Lease lease) {
    const Receipt receipt{
        .offset = lease.offset, .epoch = table_.epoch(), .attempt = lease.attempt};
    receipts_.push_back(receipt);
    // No lease has the id of another.
    REQUIRE(ids_.insert({receipt.epoch, receipt.offset.value(), receipt.attempt}).second);
  }
  /// Callers read the clock before they take their lock: what they bring may be a little old.
  Instant read_clock() {
    return random_() % 8 == 0 ? now_ - std::chrono::nanoseconds{random_() % 30} : now_;
  }
  void hand_out() {
    if (table_.holds_all() || table_.next() - table_.committed() > 200) return;
    if (random_() % 10 == 0) {
      table_.settle_unseen();
    } else if (random_() % 15 == 0) {
      table_.pass_gap(table_.next() + random_() % 70);
    } else if (table_.tracks_keys() || random_() % 2 == 0) {
      const Offset next = table_.next();
      const bool waits = table_.holds(order_key(next));
      const auto lease = table_.lease_or_hold(table_.tracks_keys() ? order_key(next) : 0,
                                              size_of(next), read_clock());
      REQUIRE(lease.has_value() == !waits);
      if (lease) given(*lease);
    } else {
      const Offset first = table_.next();
      const auto count = static_cast<std::uint32_t>(1 + random_() % 40);
      table_.lease_run(count, read_clock(), [&](std::uint32_t i) { return size_of(first + i); });
      for (std::uint32_t i = 0; i < count; ++i)
        given({.offset = first + i, .attempt = 0, .number = 1});
    }
  }
  void hand_out_again() {
    expire();
    std::vector<Offset> due;
    table_.due(now_, 1 + random_() % 20, due);
    REQUIRE(std::is_sorted(due.begin(), due.end()));
    for (const Offset offset : due) given(table_.redeliver(offset, read_clock()));
  }
  void settle() {
    if (receipts_.empty()) return;
    const std::size_t recent =
        std::min<std::size_t>(receipts_.size(), random_() % 4 == 0 ? receipts_.size() : 30);
    const Receipt receipt = receipts_[receipts_.size() - 1 - random_() % recent];
    const std::uint64_t kind = random_() % 10;
    const std::uint64_t before = table_.unsettled();
    Keys keys;
    if (kind < 5) {
      const SettleResult result = table_.ack(receipt, log_start_);
      REQUIRE(table_.unsettled() == before - (result == SettleResult::applied ? 1 : 0));
      return;
    }
    expire();
    if (kind < 8) {
      const std::optional<Duration> delay =
          random_() % 2 == 0 ? std::optional<Duration>(std::chrono::nanoseconds{random_() % 30})
                             : std::nullopt;
      table_.nack(receipt, log_start_, now_, Timestamp{}, {.delay = delay, .error = "no"}, keys);
    } else if (kind < 9) {
      table_.reject(receipt, log_start_, Timestamp{}, "never");
    } else {
      (void)table_.extend(receipt, log_start_, now_,
                          std::chrono::nanoseconds{random_() % 3 * (random_() % 60)}, keys);
    }
    dead_letters();
  }
  void dead_letters() {
    Keys keys;
    for (const Offset offset : table_.take_dead_letters()) {
      table_.hold_dead_letter(offset, keys);
      dying_.push_back(offset);
    }
  }
  void expire() {
    Keys keys;
    table_.expire(now_, Timestamp{}, keys);
    dead_letters();
  }
  void other(std::uint64_t kind) {
    Keys keys;
    if (kind < 88) {
      now_ += std::chrono::nanoseconds{random_() % 40};
    } else if (kind < 92 && !dying_.empty()) {
      const auto at = dying_.begin() + static_cast<std::ptrdiff_t>(random_() % dying_.size());
      table_.dead_letter_done(*at);
      dying_.erase(at);
    } else if (kind < 94) {
      expire();
    } else if (kind < 96) {
      table_.release_all(now_, keys);
    } else if (kind < 98) {
      log_start_ = std::max(log_start_, table_.committed() + random_() % 20);
      std::vector<brook::Loss> losses;
      const std::uint64_t before = table_.stats().lost;
      table_.lose_below(log_start_, losses);
      std::uint64_t lost = 0;
      for (const auto& loss : losses) lost += loss.range.size();
      REQUIRE(table_.stats().lost == before + lost);
    } else if (kind == 98) {
      const Offset to =
          log_start_ + random_() % (1 + (table_.next() - std::min(log_start_, table_.next())));
      table_.seek(to);
      dying_.clear();
      moved_ = true;
    }
  }

  void check() {
    // Each offset is exactly one of these.
    std::uint64_t open = 0;
    for (const State state :
         {State::leased, State::pending, State::blocked, State::dead_lettering}) {
      open += table_.count(state);
    }
    std::uint64_t unsettled = 0;
    for (Offset at = table_.committed(); at < table_.next(); ++at)
      unsettled += table_.is_settled(at) ? 0U : 1U;
    REQUIRE(open == unsettled);
    REQUIRE(table_.unsettled() == unsettled);
    REQUIRE(table_.count(State::dead_lettering) == dying_.size());
    // A slot for each lease, and for nothing else.
    REQUIRE(table_.in_flight() == table_.count(State::leased));
    REQUIRE(slots_.messages == table_.in_flight());
    REQUIRE((table_.in_flight() != 0 || slots_.bytes == 0));
    REQUIRE(slots_.bytes % 8 == 0);
    // Committed never falls but by a seek, and is the first that is not settled.
    REQUIRE((moved_ || table_.committed() >= committed_));
    REQUIRE((table_.committed() == table_.next() || !table_.is_settled(table_.committed())));
    committed_ = table_.committed();
    // What says when to look is never later than what there is to see.
    REQUIRE(table_.earliest_event() <= table_.next_event(now_));
    REQUIRE((table_.count(State::pending, now_) == 0 || table_.earliest_event() <= now_));
  }

  std::mt19937_64 random_;
  brook::SubscriptionConfig config_;
  brook::Outstanding slots_;
  Table table_;
  Instant now_{};
  Offset log_start_{};
  Offset committed_{};
  bool moved_ = true;
  std::vector<Receipt> receipts_;
  std::set<std::tuple<std::uint32_t, std::uint64_t, std::uint32_t>> ids_;
  std::vector<Offset> dying_;
};

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* const given = std::getenv(name);
  return given == nullptr ? otherwise : std::strtoull(given, nullptr, 10);
}

}  // namespace

TEST_CASE("LeaseTable keeps its invariants, whatever is done to it", "[delivery][model]") {
  const bool one = std::getenv("BROOK_SEED") != nullptr;
  const std::uint64_t first = one ? number_from("BROOK_SEED", 0) : std::random_device{}();
  const std::uint64_t count = one ? 1 : number_from("BROOK_SEEDS", 2000);
  std::cerr << "model/lease_table: BROOK_SEED=" << first << " and the " << count - 1
            << " after it\n";
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("BROOK_SEED=" << seed);
    Run run(seed);
    for (int i = 0; i < 200; ++i) {
      INFO("step " << i);
      run.step();
    }
  }
}
