#include <brook/broker/dead_letter_headers.hpp>

#include <brook/clock/manual_clock.hpp>
#include <brook/log/topic_log.hpp>

#include "support/catch.hpp"

using brook::DeadLetter;
using brook::Message;
using brook::PartitionId;
using brook::Timestamp;
using brook::detail::make_dead_letter;
using brook::detail::read_dead_letter;
using namespace std::chrono_literals;
namespace names = brook::dead_letter_headers;

namespace {

/// Messages as a log stores them.
class Stored {
 public:
  brook::StoredMessage operator()(const brook::MessageView& message) {
    log_.append(message);
    batch_ = log_.read(log_.end() - 1);
    return batch_[0];
  }
  void skip(int count) {
    for (int i = 0; i < count; ++i) log_.append({.payload = "before"});
  }

 private:
  brook::ManualClock clock_;
  brook::TopicLog<brook::MemoryStorage, brook::ManualClock> log_{
      clock_, {.timestamps = brook::TimestampType::create_time}};
  brook::ReadBatch batch_;
};

Message letter_for(const brook::StoredMessage& message, const std::string& error = "broken") {
  const DeadLetter letter{
      .message = message,
      .deliveries = 5,
      .failure = {.error = error, .first = Timestamp{1000ms}, .last = Timestamp{2500ms}}};
  return make_dead_letter(letter, "orders", PartitionId{3}, "billing");
}

std::string header(const Message& message, std::string_view name) {
  for (const auto& one : message.headers) {
    if (one.name == name) return std::string(one.value.text());
  }
  return "missing";
}

}  // namespace

TEST_CASE("A dead letter keeps key, payload and headers and says why in nine further headers",
          "[broker]") {
  Stored store;
  store.skip(41);
  const auto message = letter_for(store({.key = "k",
                                         .payload = "p",
                                         .headers = {{"a", "1"}, {"a", "2"}, {"", brook::null}},
                                         .timestamp = Timestamp{777ms}}));
  CHECK(message.key.text() == "k");
  CHECK(message.payload.text() == "p");
  REQUIRE(message.headers.size() == 3 + 9);
  CHECK(message.headers[0] == brook::Header{.name = "a", .value = "1"});
  CHECK(message.headers[1] == brook::Header{.name = "a", .value = "2"});
  CHECK(message.headers[2] == brook::Header{.name = "", .value = brook::null});
  CHECK(header(message, names::source_topic) == "orders");
  CHECK(header(message, names::source_partition) == "3");
  CHECK(header(message, names::source_offset) == "41");
  CHECK(header(message, names::source_timestamp) == "777");
  CHECK(header(message, names::group) == "billing");
  CHECK(header(message, names::deliveries) == "5");
  CHECK(header(message, names::error) == "broken");
  CHECK(header(message, names::first_failed_at) == "1000");
  CHECK(header(message, names::last_failed_at) == "2500");
  CHECK_FALSE(message.timestamp.has_value());
  CHECK_FALSE(message.partition.has_value());
}

TEST_CASE("A dead letter that is read back is what it was made from", "[broker]") {
  Stored store;
  store.skip(2);
  const auto letter = letter_for(store({.key = "",
                                        .payload = brook::null,
                                        .headers = {{"trace", "7f"}},
                                        .timestamp = Timestamp{-5ms}}),
                                 std::string("a\0b", 3));
  const auto record = read_dead_letter(store(letter));
  CHECK_FALSE(record.message.key.is_null());
  CHECK(record.message.key.text().empty());
  CHECK(record.message.payload.is_null());
  REQUIRE(record.message.headers.size() == 1);
  CHECK(record.message.headers[0].name == "trace");
  CHECK(record.source_topic == "orders");
  CHECK(record.source_partition == PartitionId{3});
  CHECK(record.source_offset == brook::Offset{2});
  CHECK(record.source_timestamp == Timestamp{-5ms});
  CHECK(record.group == "billing");
  CHECK(record.deliveries == 5);
  CHECK(record.error == std::string("a\0b", 3));
  CHECK(record.first_failed_at == Timestamp{1000ms});
  CHECK(record.last_failed_at == Timestamp{2500ms});
}

TEST_CASE("A null key stays null in a dead letter", "[broker]") {
  Stored store;
  CHECK(letter_for(store({.payload = "p"})).key.is_null());
  CHECK(read_dead_letter(store(letter_for(store({.payload = "p"})))).message.key.is_null());
}

TEST_CASE("What is no dead letter has no group", "[broker]") {
  Stored store;
  CHECK(read_dead_letter(store({.payload = "p"})).group.empty());

  Message almost = letter_for(store({.payload = "p"}));
  almost.headers.erase(almost.headers.begin());
  CHECK(read_dead_letter(store(almost)).group.empty());

  Message more = letter_for(store({.payload = "p"}));
  more.headers.push_back({.name = "behind", .value = "x"});
  CHECK(read_dead_letter(store(more)).group.empty());
  CHECK(read_dead_letter(store(more)).message.headers.size() == 10);
}

TEST_CASE("A dead letter that fails in turn is read as what failed last", "[broker]") {
  Stored store;
  const Message first = letter_for(store({.payload = "p", .headers = {{"own", "1"}}}));
  const DeadLetter again{.message = store(first),
                         .deliveries = 2,
                         .failure = {.error = "again", .first = {}, .last = {}}};
  const Message second = make_dead_letter(again, "__dead_letter.billing", PartitionId{0}, "ops");
  CHECK(second.headers.size() == 1 + 9 + 9);
  const auto record = read_dead_letter(store(second));
  CHECK(record.group == "ops");
  CHECK(record.error == "again");
  CHECK(record.source_topic == "__dead_letter.billing");
  CHECK(record.message.headers.size() == 1 + 9);
  const auto inner = read_dead_letter(store(record.message));
  CHECK(inner.group == "billing");
  CHECK(inner.message.headers.size() == 1);
}

TEST_CASE("A dead letter is addressed to nobody, even if the message was", "[broker]") {
  Stored store;
  const auto message =
      store({.payload = "p", .headers = {{"own", "1"}, {brook::addressed_to_header, "billing"}}});
  REQUIRE(message.addressed_to() == "billing");
  const Message letter = letter_for(message);
  CHECK(letter.headers.size() == 1 + 9);
  CHECK(store(letter).addressed_to().empty());
}
