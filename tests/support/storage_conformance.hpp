#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <brook/core/message.hpp>
#include <brook/storage/storage.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

namespace support {

namespace detail {

inline constexpr brook::ReadLimits no_limits{.max_messages = brook::MessageCount::unlimited(),
                                             .max_bytes = brook::ByteSize::unlimited()};

inline brook::Timestamp stamp(std::int64_t milliseconds) {
  return brook::Timestamp{std::chrono::milliseconds{milliseconds}};
}

/// A run that was read, and what it must still say as long as it is held.
struct HeldRun {
  brook::RecordRun run{};
  std::vector<brook::Message> copies{};
};

inline void require_equal(const brook::StoredMessage& stored, const brook::Message& expected) {
  REQUIRE(stored.key() == brook::Bytes(expected.key));
  REQUIRE(stored.payload() == brook::Bytes(expected.payload));
  REQUIRE(stored.timestamp() == expected.timestamp);
  REQUIRE(stored.headers().copy() == expected.headers);
}

inline void require_unchanged(const HeldRun& held) {
  REQUIRE(held.run.size() == held.copies.size());
  for (std::uint32_t i = 0; i < held.run.size(); ++i) require_equal(held.run[i], held.copies[i]);
}

/// A storage beside a map that says what it must hold.
template <class S>
class CheckedStorage {
 public:
  using Reader = typename S::Reader;

  template <class Make>
  CheckedStorage(Make make, Random& random)
      : storage_(std::make_unique<S>(make())), reader_(std::in_place, *storage_), random_(&random) {
    REQUIRE(storage_->end() == brook::Offset{0});
  }

  S& storage() { return *storage_; }
  brook::Offset end() const { return brook::Offset{end_}; }

  void append(bool create_time = false) {
    const auto messages = prepare(create_time);
    publish(messages);
  }

  /// Appends without letting anybody see it, reads beside it, and takes it back.
  void append_and_truncate() {
    static_cast<void>(prepare(random_->chance(50)));
    for (int i = 0; i < 3; ++i) check_read();
    check_usage();
    check_lookup();
    storage_->truncate(end());
    REQUIRE(storage_->end() == end());
  }

  /// Takes back the second half of what was appended.
  void append_and_truncate_half() {
    auto messages = prepare(false);
    messages.resize(messages.size() / 2);
    storage_->truncate(end() + messages.size());
    publish(messages);
  }

  void trim() {
    start_ = random_->chance(10) ? end_ : random_->between(start_, end_);
    storage_->trim(brook::Offset{start_});
  }

  void compact() {
    const brook::Offset upto{random_->between(start_, end_)};
    const std::uint64_t salt = random_->next();
    const unsigned kept_percent = static_cast<unsigned>(random_->below(101));
    const auto keeps = [=](brook::Offset offset) {
      return Random(salt + offset.value()).chance(kept_percent);
    };
    const auto before = content(brook::Offset{0});
    const brook::RangeUsage removed = storage_->compact(
        upto, [&](const brook::StoredMessage& message) { return keeps(message.offset()); });
    const auto after = sizes(brook::Offset{0}, [](const brook::RecordRun&) {});
    brook::RangeUsage gone{};
    for (const auto& [offset, size] : before) {
      if (after.contains(offset)) continue;
      REQUIRE(brook::Offset{offset} < upto);
      REQUIRE_FALSE(keeps(brook::Offset{offset}));
      gone.messages += 1;
      gone.bytes += size;
      model_.erase(offset);
    }
    for (const auto& [offset, size] : after) REQUIRE(before.contains(offset));
    require_usage(removed, gone);
    REQUIRE(content(brook::Offset{0}) == after);
  }

  void move() {
    storage_ = std::make_unique<S>(std::move(*storage_));
    reader_.emplace(*storage_);
  }

  /// One read at a random place, by the reader that has been here all along or by a new one.
  void check_read() {
    const brook::Offset from{random_->between(random_->chance(20) ? 0 : start_, end_)};
    const brook::Offset to{random_->between(from.value(), end_)};
    const brook::ReadLimits limits{.max_messages = random_->between(1, 20),
                                   .max_bytes = random_->below(3'000)};
    Reader fresh(*storage_);
    const brook::RecordRun run = (random_->chance(70) ? *reader_ : fresh).read(from, to, limits);
    if (random_->chance(10)) reader_->rest();
    if (run.empty()) {
      REQUIRE(first_at_or_above(std::max(from, brook::Offset{start_})) >= to);
      return;
    }
    REQUIRE(run.first() >= from);
    REQUIRE(run.last() < to);
    REQUIRE(run.size() <= limits.max_messages.value());
    if (run.size() > 1) REQUIRE(run.stored_size() <= limits.max_bytes.value());
    if (run.first() >= brook::Offset{start_}) {
      REQUIRE(run.first() == first_at_or_above(std::max(from, brook::Offset{start_})));
    }
    require_in_model(run);
    if (random_->chance(20)) hold(run);
  }

  void check_usage() {
    const brook::Offset from{random_->between(start_, end_)};
    const brook::Offset to{random_->between(from.value(), end_)};
    brook::RangeUsage expected{};
    for (auto at = model_.lower_bound(from.value()); at != model_.end() && at->first < to.value();
         ++at) {
      expected.messages += 1;
      expected.bytes += at->second.size;
    }
    require_usage(reader_->usage(from, to), expected);
    // What is below the start may be there or not; usage must agree with what can be read.
    brook::RangeUsage readable{};
    for (const auto& [offset, size] : content(brook::Offset{0})) {
      readable.messages += 1;
      readable.bytes += size;
    }
    require_usage(reader_->usage(brook::Offset{0}, end()), readable);
  }

  void check_lookup() {
    const brook::Offset from{random_->between(start_, end_)};
    const brook::Offset to{random_->between(from.value(), end_)};
    const brook::Timestamp time = stamp(now_ - 50 + static_cast<std::int64_t>(random_->below(60)));
    brook::Offset expected = to;
    for (auto at = model_.lower_bound(from.value()); at != model_.end() && at->first < to.value();
         ++at) {
      if (*at->second.message.timestamp < time) continue;
      expected = brook::Offset{at->first};
      break;
    }
    REQUIRE(reader_->first_at_or_after(time, from, to) == expected);
    REQUIRE(reader_->first_at_or_after(brook::Timestamp::max(), from, to) >= expected);
  }

  /// Everything from the start on is there, and nothing else.
  void check_all() {
    const auto present = content(brook::Offset{start_});
    std::uint64_t expected = 0;
    for (auto at = model_.lower_bound(start_); at != model_.end(); ++at, ++expected) {
      REQUIRE(present.contains(at->first));
    }
    REQUIRE(present.size() == expected);
    for (const HeldRun& held : held_) require_unchanged(held);
  }

  /// Destroys the storage; what was read from it must not notice.
  void destroy() {
    reader_.reset();
    storage_.reset();
    for (const HeldRun& held : held_) require_unchanged(held);
    held_.clear();
  }

 private:
  struct Entry {
    brook::Message message{};
    std::size_t size = 0;
  };

  std::vector<brook::Message> prepare(bool create_time) {
    std::vector<brook::Message> messages(random_->between(1, 12));
    now_ += static_cast<std::int64_t>(random_->below(4));
    const brook::detail::AppendTimes times{.now = stamp(now_), .keep_create_time = create_time};
    for (brook::Message& message : messages) {
      message = random_message(*random_, random_->chance(3) ? 9'000 : 200);
      message.timestamp = stamp(now_);
      if (create_time && random_->chance(50)) {
        message.timestamp = stamp(now_ - 40 + static_cast<std::int64_t>(random_->below(50)));
      }
    }
    const brook::Offset before = storage_->end();
    const brook::RangeUsage added =
        storage_->append(std::span<const brook::Message>(messages), times);
    REQUIRE(before == end());
    REQUIRE(storage_->end() == before + messages.size());
    REQUIRE(added.messages == messages.size());
    added_bytes_ = added.bytes;
    return messages;
  }

  void publish(const std::vector<brook::Message>& messages) {
    const brook::Offset first = end();
    for (const brook::Message& message : messages) model_[end_++] = {.message = message};
    REQUIRE(storage_->end() == end());
    std::uint64_t bytes = 0;
    for (const auto& [offset, size] : content(first)) {
      model_[offset].size = size;
      bytes += size;
    }
    require_usage(reader_->usage(first, end()), {.messages = messages.size(), .bytes = bytes});
    REQUIRE(bytes <= added_bytes_);
  }

  /// Offsets and sizes of all that can be read from @p from on; each is compared with the model.
  std::map<std::uint64_t, std::size_t> content(brook::Offset from) {
    return sizes(from, [&](const brook::RecordRun& run) { require_in_model(run); });
  }
  template <class Check>
  std::map<std::uint64_t, std::size_t> sizes(brook::Offset from, Check check) {
    std::map<std::uint64_t, std::size_t> found;
    Reader reader(*storage_);
    while (from < end()) {
      const brook::RecordRun run = reader.read(from, end(), no_limits);
      if (run.empty()) break;
      REQUIRE(run.first() >= from);
      check(run);
      for (std::uint32_t i = 0; i < run.size(); ++i) {
        found[run.offset(i).value()] = run.stored_size(i);
      }
      from = run.last() + 1;
    }
    return found;
  }

  void require_in_model(const brook::RecordRun& run) const {
    REQUIRE(static_cast<bool>(run.pin()));
    std::size_t size = 0;
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      if (i != 0) REQUIRE(run.offset(i) > run.offset(i - 1));
      const auto entry = model_.find(run.offset(i).value());
      REQUIRE(entry != model_.end());
      REQUIRE(run[i].offset() == run.offset(i));
      require_equal(run[i], entry->second.message);
      REQUIRE(run.stored_size(i) == run[i].stored_size());
      size += run.stored_size(i);
      // Nothing that is present may be left out in the middle.
      const auto next = std::next(entry);
      if (i + 1 < run.size()) REQUIRE(next->first == run.offset(i + 1).value());
    }
    REQUIRE(size == run.stored_size());
  }

  static void require_usage(const brook::RangeUsage& actual, const brook::RangeUsage& expected) {
    REQUIRE(actual.messages == expected.messages);
    REQUIRE(actual.bytes == expected.bytes);
  }

  brook::Offset first_at_or_above(brook::Offset offset) const {
    const auto at = model_.lower_bound(offset.value());
    return at == model_.end() ? brook::Offset::max() : brook::Offset{at->first};
  }

  void hold(const brook::RecordRun& run) {
    HeldRun held{.run = run};
    for (std::uint32_t i = 0; i < run.size(); ++i) held.copies.push_back(run[i].copy());
    if (held_.size() < 20) {
      held_.push_back(std::move(held));
    } else {
      held_[random_->below(held_.size())] = std::move(held);
    }
  }

  std::unique_ptr<S> storage_;
  std::optional<Reader> reader_;  ///< There all along, so that it may have pinned anything.
  Random* random_;
  std::map<std::uint64_t, Entry> model_;  ///< All that was not compacted away, trimmed or not.
  std::uint64_t start_ = 0;
  std::uint64_t end_ = 0;
  std::int64_t now_ = 1'000;
  std::uint64_t added_bytes_ = 0;
  std::vector<HeldRun> held_;
};

template <class Make>
void check_empty_storage(Make make) {
  auto storage = make();
  using Reader = typename decltype(storage)::Reader;
  Reader reader(storage);
  const brook::Offset zero{0};
  CHECK(storage.end() == zero);
  CHECK(reader.read(zero, zero, no_limits).empty());
  CHECK(reader.usage(zero, zero).messages == 0);
  CHECK(reader.first_at_or_after(stamp(0), zero, zero) == zero);
  storage.trim(zero);
  storage.truncate(zero);
  CHECK(storage.compact(zero, brook::detail::KeepAll{}).messages == 0);
  const brook::RangeUsage added = storage.append(std::span<const brook::MessageView>(), {});
  CHECK(added.messages == 0);
  CHECK(added.bytes == 0);
  CHECK(storage.end() == zero);
}

/// Offsets go on where they were, however empty the storage is.
template <class Make>
void check_emptied_storage(Make make) {
  auto storage = make();
  typename decltype(storage)::Reader reader(storage);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    const brook::MessageView message{.payload = "x"};
    storage.append(message, {});
    REQUIRE(storage.end() == brook::Offset{round});
    REQUIRE(reader.read(brook::Offset{round - 1}, storage.end(), no_limits).size() == 1);
    storage.trim(storage.end());
    REQUIRE(storage.end() == brook::Offset{round});
    REQUIRE(reader.read(storage.end(), storage.end(), no_limits).empty());
  }
}

/// Batches of every form, among them a selection, keep their order.
template <class Make>
void check_batches(Make make) {
  auto storage = make();
  const std::vector<brook::Message> owned{{.payload = "a"}, {.payload = "b"}, {.payload = "c"}};
  const std::vector<brook::MessageView> views(owned.begin(), owned.end());
  const std::vector<std::uint32_t> order{2, 0};
  const brook::MessageBatch whole{std::span<const brook::Message>(owned)};
  storage.append(whole, {});
  storage.append(std::span<const brook::MessageView>(views), {});
  storage.append(whole.select(order), {});
  storage.append(views[1], {});
  REQUIRE(storage.end() == brook::Offset{9});
  std::string text;
  typename decltype(storage)::Reader reader(storage);
  for (brook::Offset from{0}; from < storage.end();) {
    const brook::RecordRun run = reader.read(from, storage.end(), no_limits);
    REQUIRE_FALSE(run.empty());
    for (std::uint32_t i = 0; i < run.size(); ++i) text += run[i].payload().text();
    from = run.last() + 1;
  }
  CHECK(text == "abcabccab");
}

template <class Make>
void check_random_walk(Make make, std::uint64_t seed, int steps) {
  using S = decltype(make());
  Random random(seed);
  CheckedStorage<S> checked(make, random);
  const bool create_time = random.chance(50);
  const bool compacts = random.chance(60);
  for (int step = 0; step < steps; ++step) {
    INFO("step " << step);
    const std::uint64_t kind = random.below(100);
    if (kind < 60) {
      checked.append(create_time);
    } else if (kind < 70) {
      checked.append_and_truncate();
    } else if (kind < 74) {
      checked.append_and_truncate_half();
    } else if (kind < 84) {
      checked.trim();
    } else if (kind < 88 && compacts) {
      checked.compact();
    } else if (kind < 89) {
      checked.move();
    }
    checked.check_read();
    checked.check_lookup();
    if (step % 4 == 0) checked.check_usage();
    if (step % 25 == 0) checked.check_all();
  }
  checked.check_all();
  checked.destroy();
}

/// One writer, readers beside it, each of which must see all that is not trimmed before it comes.
template <class Make>
void check_threads(Make make) {
  constexpr std::uint64_t last = 4'000;
  auto storage = make();
  using Reader = typename decltype(storage)::Reader;
  std::atomic<std::uint64_t> start{0};
  std::atomic<std::uint64_t> visible_end{0};
  std::atomic<int> wrong{0};
  const auto read_all = [&] {
    Reader reader(storage);
    std::uint64_t next = 0;
    while (next < last) {
      const brook::Offset to{visible_end.load(std::memory_order_acquire)};
      const brook::RecordRun run = reader.read(brook::Offset{next}, to, {.max_messages = 50});
      if (run.empty() || run.first().value() != next) {
        const std::uint64_t now_at = start.load(std::memory_order_acquire);
        if (next < to.value() && next >= now_at) wrong.fetch_add(1);
        next = std::max(next, now_at);
        continue;
      }
      for (std::uint32_t i = 0; i < run.size(); ++i) {
        if (run[i].payload().text() != std::to_string(run.offset(i).value())) wrong.fetch_add(1);
      }
      next = run.last().value() + 1;
    }
  };
  std::vector<std::thread> readers;
  for (int t = 0; t < 2; ++t) readers.emplace_back(read_all);
  for (std::uint64_t end = 0; end < last;) {
    const std::string texts[] = {std::to_string(end), std::to_string(end + 1)};
    const brook::MessageView messages[] = {{.payload = texts[0]}, {.payload = texts[1]}};
    storage.append(std::span<const brook::MessageView>(messages), {});
    end += 2;
    visible_end.store(end, std::memory_order_release);
    if (end % 512 == 0) {
      start.store(end - 256, std::memory_order_release);
      storage.trim(brook::Offset{end - 256});
    }
  }
  for (std::thread& reader : readers) reader.join();
  CHECK(wrong.load() == 0);
}

}  // namespace detail

/// Checks the storage that @p make returns, empty and new at every call, against what
/// `brook::Storage` asks, and against a map under random calls. Call it from a test case with a
/// storage of your own.
///
///     TEST_CASE("MyStorage conforms") {
///       support::check_storage([] { return MyStorage{}; });
///     }
template <class Make>
void check_storage(Make make, std::uint64_t seeds = 40) {
  static_assert(brook::Storage<decltype(make())>);
  detail::check_empty_storage(make);
  detail::check_emptied_storage(make);
  detail::check_batches(make);
  detail::check_threads(make);
  for_each_seed("conformance/storage", seeds,
                [&](std::uint64_t seed) { detail::check_random_walk(make, seed, 250); });
}

/// Checks that whatever fails leaves the storage as it was. A @p Fault lets as many things succeed
/// as its constructor is told and makes all later ones throw `std::bad_alloc`, until it is
/// destroyed.
template <class Fault, class Make>
void check_storage_failures(Make make) {
  auto storage = make();
  using Reader = typename decltype(storage)::Reader;
  const std::vector<brook::Message> batch(40, {.key = "k", .payload = std::string(900, 'p')});
  const brook::MessageBatch messages{std::span<const brook::Message>(batch)};
  const auto fails = [](std::uint64_t successes, auto&& act) {
    try {
      const Fault fault(successes);
      act();
    } catch (const std::bad_alloc&) {
      return true;
    }
    return false;
  };
  const auto count = [&] {
    return Reader(storage).usage(brook::Offset{0}, storage.end()).messages;
  };

  std::uint64_t failures = 0;
  while (fails(failures, [&] { storage.append(messages, {}); })) {
    ++failures;
    REQUIRE(storage.end() == brook::Offset{0});
    REQUIRE(count() == 0);
  }
  CHECK(failures > 0);
  REQUIRE(storage.end() == brook::Offset{40});

  for (failures = 0; fails(failures, [&] { storage.append(messages, {}); }); ++failures) {
    REQUIRE(storage.end() == brook::Offset{40});
    REQUIRE(count() == 40);
    const brook::MessageView one{.payload = "one"};
    storage.append(one, {});
    REQUIRE(storage.end() == brook::Offset{41});
    storage.truncate(brook::Offset{40});
    REQUIRE(count() == 40);
  }
  REQUIRE(count() == 80);

  Reader reader(storage);
  brook::RecordRun run;
  const auto read = [&] { run = reader.read(brook::Offset{0}, storage.end(), {}); };
  for (failures = 0; fails(failures, read); ++failures) REQUIRE(run.empty());
  REQUIRE(run.first() == brook::Offset{0});

  brook::RangeUsage removed{};
  const auto compact = [&] {
    removed = storage.compact(storage.end(), [](const brook::StoredMessage& message) {
      return message.offset().value() % 3 == 0;
    });
  };
  for (failures = 0; fails(failures, compact); ++failures) REQUIRE(count() == 80);
  REQUIRE(count() == 80 - removed.messages);
  CHECK(removed.messages > 0);
  CHECK(run[0].payload().size() == 900);
}

}  // namespace support
