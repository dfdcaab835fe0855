#include <brook/core/record.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"

using brook::Bytes;
using brook::Message;
using brook::MessageView;
using brook::null;
using brook::Offset;
using brook::StoredMessage;
using brook::Timestamp;
using brook::detail::AppendTimes;

namespace {

constexpr std::byte guard{0xa5};

constexpr Timestamp stamp(std::int64_t milliseconds) {
  return Timestamp{std::chrono::milliseconds{milliseconds}};
}

/// One record as an append writes it, with guard bytes behind it.
class Record {
 public:
  Record(const MessageView& message, const AppendTimes& times, bool addressed = false)
      : plan_(brook::detail::plan_record(message, times, addressed)),
        words_(plan_.size / 8 + 1, 0xa5a5'a5a5'a5a5'a5a5) {
    brook::detail::write_record(bytes(), message, plan_, times);
    for (std::size_t i = 0; i < 8; ++i) REQUIRE(bytes()[plan_.size + i] == guard);
  }
  StoredMessage stored(Offset offset = Offset{}) const {
    return {reinterpret_cast<const std::byte*>(words_.data()), offset};
  }
  std::size_t size() const { return plan_.size; }

 private:
  std::byte* bytes() { return reinterpret_cast<std::byte*>(words_.data()); }

  brook::detail::RecordPlan plan_;
  std::vector<std::uint64_t> words_;
};

void check_same(const StoredMessage& stored, const MessageView& message) {
  REQUIRE(stored.key() == message.key);
  REQUIRE(stored.payload() == message.payload);
  REQUIRE(stored.headers().copy() == message.headers.copy());
}

}  // namespace

TEST_CASE("A common message takes 16 bytes beside key and payload", "[core]") {
  CHECK(Record({.payload = ""}, {}).size() == 16);
  CHECK(Record({.payload = null}, {}).size() == 16);
  CHECK(Record({.payload = "1"}, {}).size() == 24);
  CHECK(Record({.payload = "12345678"}, {}).size() == 24);
  CHECK(Record({.key = "1", .payload = "12345678"}, {}).size() == 32);
  CHECK(Record({.payload = std::string(100, 'x')}, {}).size() == 120);
}

TEST_CASE("Null and empty keys and payloads come back as what they were", "[core]") {
  const std::vector<brook::Buffer> values{null, "", "x", "a\0b"};
  for (const auto& key : values) {
    for (const auto& payload : values) {
      const Record record({.key = key, .payload = payload}, {});
      check_same(record.stored(), {.key = key, .payload = payload});
      CHECK(record.stored().stored_size() == record.size());
    }
  }
}

TEST_CASE("A stored message knows its offset", "[core]") {
  const Record record({.payload = "x"}, {});
  CHECK(record.stored(Offset{42}).offset() == Offset{42});
  CHECK(record.stored(Offset{42}).record() == record.stored().record());
}

TEST_CASE("With append time, the broker's clock stamps whatever the publisher says", "[core]") {
  const Record record({.payload = "x", .timestamp = stamp(1)}, {.now = stamp(1000)});
  CHECK(record.stored().timestamp() == stamp(1000));
  CHECK(record.stored().retention_time() == stamp(1000));
  CHECK(record.size() == 24);
}

TEST_CASE("With create time, the publisher's stamp counts where there is one", "[core]") {
  const AppendTimes times{.now = stamp(1000), .keep_create_time = true};
  const Record past({.payload = "x", .timestamp = stamp(-5)}, times);
  CHECK(past.stored().timestamp() == stamp(-5));
  CHECK(past.stored().retention_time() == stamp(-5));
  const Record none({.payload = "x"}, times);
  CHECK(none.stored().timestamp() == stamp(1000));
}

TEST_CASE("A stamp in the future keeps the time of append beside it, for retention", "[core]") {
  const AppendTimes times{.now = stamp(1000), .keep_create_time = true};
  const Message message{.key = "k",
                        .payload = "p",
                        .headers = {{.name = "h", .value = "v"}},
                        .timestamp = stamp(1001)};
  const Record record(message, times);
  CHECK(record.stored().timestamp() == stamp(1001));
  CHECK(record.stored().retention_time() == stamp(1000));
  check_same(record.stored(), message);
  const Record same({.payload = "p", .timestamp = stamp(1000)}, times);
  CHECK(same.size() == 24);
  const Record far({.payload = "p", .timestamp = Timestamp::max()}, times);
  CHECK(far.stored().timestamp() == Timestamp::max());
  CHECK(far.stored().retention_time() == stamp(1000));
}

TEST_CASE("Extreme timestamps come back", "[core]") {
  for (const Timestamp time : {Timestamp::min(), stamp(-1), stamp(0), Timestamp::max()}) {
    CHECK(Record({.payload = "x"}, {.now = time}).stored().timestamp() == time);
  }
}

TEST_CASE("Only an addressed message is looked through for its group", "[core]") {
  const std::string name(brook::addressed_to_header);
  const Message message{
      .payload = "x",
      .headers = {{.name = name, .value = "first"}, {.name = name, .value = "billing"}}};
  CHECK(Record(message, {}, true).stored().addressed_to() == "billing");
  CHECK(Record(message, {}, false).stored().addressed_to().empty());
  CHECK(Record({.payload = "x"}, {}).stored().addressed_to().empty());
  CHECK(brook::addressed_to_header.starts_with(brook::reserved_header_prefix));
}

TEST_CASE("A copy of a stored message owns everything of it", "[core]") {
  const Message message{.key = "k",
                        .payload = null,
                        .headers = {{.name = "h", .value = null}, {.name = "h", .value = "2"}}};
  Message copy;
  {
    const Record record(message, {.now = stamp(7)});
    copy = record.stored().copy();
  }
  CHECK(copy.key == message.key);
  CHECK(copy.payload == message.payload);
  CHECK(copy.headers == message.headers);
  CHECK(copy.timestamp == stamp(7));
  CHECK_FALSE(copy.partition.has_value());
}

TEST_CASE("A message of every size at the edges of alignment comes back", "[core]") {
  for (std::size_t key = 0; key < 18; ++key) {
    for (std::size_t payload = 0; payload < 18; ++payload) {
      const Message message{.key = std::string(key, 'k'), .payload = std::string(payload, 'p')};
      const Record record(message, {});
      check_same(record.stored(), message);
      REQUIRE(record.size() == (16 + key + payload + 7) / 8 * 8);
      REQUIRE(record.stored().stored_size() == record.size());
    }
  }
}

TEST_CASE("Large keys, payloads and headers come back", "[core]") {
  const Message message{
      .key = std::string(70'000, 'k'),
      .payload = std::string(3 << 20, 'p'),
      .headers = {{.name = std::string(9'000, 'n'), .value = std::string(100'000, 'v')}}};
  const Record record(message, {});
  check_same(record.stored(), message);
  CHECK(record.stored().stored_size() == record.size());
}

TEST_CASE("Every combination of what a message may have comes back", "[core]") {
  support::for_each_seed("core/record", 20, [](std::uint64_t seed) {
    support::Random random(seed);
    for (int i = 0; i < 500; ++i) {
      Message message = support::random_message(random, 300);
      const AppendTimes times{.now = stamp(1000), .keep_create_time = random.chance(50)};
      if (random.chance(50)) {
        message.timestamp = stamp(static_cast<std::int64_t>(random.between(990, 1010)));
      }
      const bool addressed = random.chance(30);
      if (addressed) {
        message.headers.push_back({.name = std::string(brook::addressed_to_header), .value = "g"});
      }
      const Record record(message, times, addressed);
      const StoredMessage stored = record.stored();
      check_same(stored, message);
      const Timestamp expected =
          times.keep_create_time ? message.timestamp.value_or(times.now) : times.now;
      REQUIRE(stored.timestamp() == expected);
      REQUIRE(stored.retention_time() == std::min(expected, times.now));
      REQUIRE(stored.addressed_to() == (addressed ? "g" : ""));
      REQUIRE(stored.stored_size() == record.size());
      REQUIRE(record.size() % 8 == 0);
    }
  });
}
