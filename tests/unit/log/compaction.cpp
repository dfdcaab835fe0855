#include <brook/log/compaction.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <brook/storage/memory_storage.hpp>

#include "support/catch.hpp"

using brook::Compaction;
using brook::MemoryStorage;
using brook::Message;
using brook::null;
using brook::Offset;
using brook::RecordRun;
using brook::Timestamp;
using brook::detail::CompactionPlan;
using namespace std::chrono_literals;

namespace {

constexpr Timestamp stamp(std::chrono::milliseconds time) {
  return Timestamp{time};
}

struct Plan {
  Timestamp now = stamp(48h);
  Compaction rules{};
  std::uint64_t observe_from = 0;
  std::uint64_t observe_to = 1'000;
};

/// Offsets of those of @p messages that a plan keeps which saw those of its range.
std::set<std::uint64_t> kept(const std::vector<Message>& messages, const Plan& options = {}) {
  MemoryStorage storage;
  for (const Message& message : messages) {
    storage.append(brook::MessageView(message),
                   {.now = stamp(24h), .keep_create_time = message.timestamp.has_value()});
  }
  MemoryStorage::Reader reader(storage);
  CompactionPlan plan(options.rules, options.now);
  const Offset last = std::min(Offset{options.observe_to}, storage.end());
  for (Offset from{options.observe_from}; from < last;) {
    const RecordRun run = reader.read(from, last, {});
    plan.observe(run);
    from = run.last() + 1;
  }
  std::set<std::uint64_t> offsets;
  for (Offset from{0}; from < storage.end();) {
    const RecordRun run = reader.read(from, storage.end(), {});
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      if (plan.keeps(run[i])) offsets.insert(run.offset(i).value());
    }
    from = run.last() + 1;
  }
  return offsets;
}

using Offsets = std::set<std::uint64_t>;

}  // namespace

TEST_CASE("Of each key the newest message is kept", "[log]") {
  CHECK(kept({{.key = "a"}, {.key = "b"}, {.key = "a"}, {.key = "c"}, {.key = "b"}}) ==
        Offsets{2, 3, 4});
  CHECK(kept({{.key = "a"}}) == Offsets{0});
}

TEST_CASE("Keys are told apart to the last byte", "[log]") {
  CHECK(kept({{.key = ""},
              {.key = "a"},
              {.key = "a\0"},
              {.key = "a\0b"},
              {.key = "a\0c"},
              {.key = "ab"}}) == Offsets{0, 1, 2, 3, 4, 5});
  CHECK(kept({{.key = "a\0b"}, {.key = "a\0b"}}) == Offsets{1});
  CHECK(kept({{.key = ""}, {.key = ""}}) == Offsets{1});
}

TEST_CASE("A tombstone supersedes, and stays itself for exactly its retention", "[log]") {
  const std::vector<Message> messages{{.key = "a"}, {.key = "a", .payload = null}};
  CHECK(kept(messages, {.now = stamp(24h)}) == Offsets{1});
  CHECK(kept(messages, {.now = stamp(48h - 1ms)}) == Offsets{1});
  CHECK(kept(messages, {.now = stamp(48h)}).empty());
  CHECK(kept(messages, {.now = stamp(25h), .rules = {.tombstone_retention = 1h}}).empty());
  CHECK(kept(messages, {.now = stamp(24h), .rules = {.tombstone_retention = 0h}}).empty());
  CHECK(kept(messages, {.now = stamp(9'999h),
                        .rules = {.tombstone_retention = brook::Duration::max()}}) == Offsets{1});
}

TEST_CASE("An empty payload is no tombstone", "[log]") {
  CHECK(kept({{.key = "a", .payload = ""}}, {.now = stamp(9'999h)}) == Offsets{0});
}

TEST_CASE("A tombstone stamped in the future does not stay for ever", "[log]") {
  const std::vector<Message> messages{{.key = "a", .payload = null, .timestamp = stamp(9'999h)}};
  CHECK(kept(messages, {.now = stamp(48h - 1ms)}) == Offsets{0});
  CHECK(kept(messages, {.now = stamp(48h)}).empty());
}

TEST_CASE("A key that was written again after its tombstone is there", "[log]") {
  CHECK(kept({{.key = "a"}, {.key = "a", .payload = null}, {.key = "a"}}) == Offsets{2});
}

TEST_CASE("What the plan did not see goes if it is older, and stays if it is newer", "[log]") {
  const std::vector<Message> messages{{.key = "gone"}, {.key = "a"}, {.key = "a"}, {.key = "a"}};
  CHECK(kept(messages, {.observe_from = 1}) == Offsets{3});
  CHECK(kept(messages, {.observe_to = 3}) == Offsets{0, 2, 3});
}
