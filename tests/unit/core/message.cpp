#include <brook/core/message.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::Bytes;
using brook::Message;
using brook::MessageView;
using brook::null;
using brook::PartitionId;
using brook::Timestamp;

namespace {

static_assert(std::is_convertible_v<const Message&, MessageView>);
static_assert(!std::is_convertible_v<MessageView, Message>);
static_assert(std::is_nothrow_move_constructible_v<Message>);
static_assert(std::is_trivially_copyable_v<MessageView>);

}  // namespace

TEST_CASE("A message without anything has no key and an empty payload", "[core]") {
  const MessageView view{};
  CHECK(view.key.is_null());
  CHECK_FALSE(view.payload.is_null());
  CHECK(view.payload.empty());
  CHECK(view.headers.empty());
  CHECK_FALSE(view.timestamp.has_value());
  CHECK_FALSE(view.partition.has_value());

  const Message message{};
  CHECK(message.key.is_null());
  CHECK_FALSE(message.payload.is_null());
  CHECK(message.headers.empty());
}

TEST_CASE("A tombstone is said with null, and only with it", "[core]") {
  const MessageView view{.key = "a", .payload = null};
  CHECK(view.payload.is_null());
  CHECK_FALSE(MessageView{.key = "a"}.payload.is_null());
  const Message message{.key = "a", .payload = null};
  CHECK(MessageView(message).payload.is_null());
}

TEST_CASE("A view of a message shows everything of it", "[core]") {
  const Message message{.key = "a\0b",
                        .payload = "p",
                        .headers = {{.name = "h", .value = null}, {.name = "h", .value = "2"}},
                        .timestamp = Timestamp{std::chrono::milliseconds{7}},
                        .partition = PartitionId{3}};
  const MessageView view = message;
  CHECK(view.key == Bytes("a\0b"));
  CHECK(view.payload == Bytes("p"));
  REQUIRE(view.headers.size() == 2);
  CHECK(view.headers.first("h")->is_null());
  CHECK(view.headers.last("h")->text() == "2");
  CHECK(view.timestamp == Timestamp{std::chrono::milliseconds{7}});
  CHECK(view.partition == PartitionId{3});
  CHECK(static_cast<const void*>(view.payload.data()) == message.payload.text().data());
}

TEST_CASE("Messages in a vector keep their bytes when it grows", "[core]") {
  std::vector<Message> messages;
  for (int i = 0; i < 100; ++i) {
    messages.push_back({.key = std::to_string(i), .payload = std::string(100, 'x')});
  }
  for (int i = 0; i < 100; ++i) {
    const MessageView view = messages[static_cast<std::size_t>(i)];
    CHECK(view.key.text() == std::to_string(i));
    CHECK(view.payload.size() == 100);
  }
}
