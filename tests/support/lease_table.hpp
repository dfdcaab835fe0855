#pragma once

// A LeaseTable without a log: keys, sizes and time come from the test.

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <brook/delivery/lease_table.hpp>

namespace support {

class TableUnderTest {
 public:
  using Table = brook::detail::LeaseTable;
  using State = Table::State;
  using Offsets = std::vector<std::uint64_t>;

  /// @p keys: the key of each offset, a letter each; '-' and everything beyond = none.
  explicit TableUnderTest(brook::SubscriptionConfig options = {}, std::string keys = {},
                          std::uint64_t start = 0)
      : config(std::move(options)),
        keys_of{std::move(keys)},
        table(config, brook::Offset{start}, slots) {}

  /// Hands out @p count offsets as one run.
  void lease(std::uint32_t count, std::uint64_t size = 8) {
    table.lease_run(count, now, [&](std::uint32_t) { return size; });
  }
  /// Hands out the next offset, if its key allows.
  bool lease_next(std::uint64_t size = 8) {
    const std::uint64_t key =
        config.ordering == brook::Ordering::partition ? 1 : keys_of(table.next());
    return table.lease_or_hold(table.tracks_keys() ? key : 0, size, now).has_value();
  }
  Offsets due(std::size_t most = 1000) {
    std::vector<brook::Offset> found;
    table.due(now, most, found);
    Offsets all;
    for (const brook::Offset offset : found) all.push_back(offset.value());
    return all;
  }
  Table::Lease redeliver(std::uint64_t offset) {
    return table.redeliver(brook::Offset{offset}, now);
  }
  /// The receipt of a hand-out in the present epoch.
  brook::Receipt receipt(std::uint64_t offset, std::uint32_t attempt = 0) const {
    return {.offset = brook::Offset{offset}, .epoch = table.epoch(), .attempt = attempt};
  }
  brook::SettleResult ack(const brook::Receipt& of) { return table.ack(of, log_start); }
  brook::SettleResult ack(std::uint64_t offset, std::uint32_t attempt = 0) {
    return ack(receipt(offset, attempt));
  }
  brook::SettleResult nack(const brook::Receipt& of,
                           brook::NackOptions options = {.delay = brook::Duration{}}) {
    return table.nack(of, log_start, now, wall, options, keys_of);
  }
  brook::SettleResult nack(std::uint64_t offset, std::uint32_t attempt = 0) {
    return nack(receipt(offset, attempt));
  }
  brook::SettleResult reject(std::uint64_t offset, std::uint32_t attempt = 0) {
    return table.reject(receipt(offset, attempt), log_start, wall, "rejected");
  }
  brook::SettleResult extend(std::uint64_t offset, brook::Duration by, std::uint32_t attempt = 0) {
    return table.extend(receipt(offset, attempt), log_start, now, by, keys_of);
  }
  void expire() { table.expire(now, wall, keys_of); }
  void release() { table.release_all(now, keys_of); }
  Offsets take_dead_letters(bool hold = true) {
    Offsets all;
    for (const brook::Offset offset : table.take_dead_letters()) {
      if (hold) table.hold_dead_letter(offset, keys_of);
      all.push_back(offset.value());
    }
    return all;
  }
  std::uint64_t committed() const { return table.committed().value(); }
  std::uint64_t count(State state) const { return table.count(state, now); }

  struct Keys {
    std::string text{};
    std::uint64_t operator()(brook::Offset offset) const {
      if (offset.value() >= text.size() || text[offset.value()] == '-') return 0;
      return static_cast<std::uint64_t>(text[offset.value()]);
    }
  };

  brook::SubscriptionConfig config;
  Keys keys_of;
  brook::Outstanding slots;
  Table table;
  brook::Offset log_start{};
  brook::Instant now{};
  brook::Timestamp wall{std::chrono::seconds{1000}};
};

}  // namespace support
