#include <brook/core/message_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/catch.hpp"

using brook::Message;
using brook::MessageBatch;
using brook::MessageView;

namespace {

using Texts = std::vector<std::string>;

/// The payloads of @p batch by `for_each`; indexing must agree.
Texts payloads(const MessageBatch& batch) {
  Texts texts;
  batch.for_each([&](const MessageView& message) { texts.emplace_back(message.payload.text()); });
  REQUIRE(texts.size() == batch.size());
  REQUIRE(batch.empty() == texts.empty());
  for (std::size_t i = 0; i < texts.size(); ++i) CHECK(batch[i].payload.text() == texts[i]);
  return texts;
}

std::vector<Message> owned(const Texts& texts) {
  std::vector<Message> messages;
  for (const std::string& text : texts) messages.push_back({.payload = text});
  return messages;
}

std::vector<MessageView> views(const std::vector<Message>& messages) {
  return {messages.begin(), messages.end()};
}

}  // namespace

TEST_CASE("A batch of one message is that message", "[core]") {
  const MessageView message{.key = "k", .payload = "a"};
  const MessageBatch batch(message);
  CHECK(payloads(batch) == Texts{"a"});
  CHECK(batch[0].key.text() == "k");
}

TEST_CASE("A batch shows its messages in order, views and owned ones alike", "[core]") {
  const std::vector<Message> messages = owned({"a", "b", "c"});
  const std::vector<MessageView> viewed = views(messages);
  CHECK(payloads(std::span<const Message>(messages)) == Texts{"a", "b", "c"});
  CHECK(payloads(std::span<const MessageView>(viewed)) == Texts{"a", "b", "c"});
}

TEST_CASE("A batch of nothing is empty", "[core]") {
  CHECK(payloads(std::span<const Message>()).empty());
  CHECK(payloads(std::span<const MessageView>()).empty());
}

TEST_CASE("A selection shows the chosen messages in the given order", "[core]") {
  const std::vector<Message> messages = owned({"a", "b", "c", "d"});
  const std::vector<MessageView> viewed = views(messages);
  const std::vector<std::uint32_t> order{3, 0, 0, 2};
  const MessageBatch from_owned{std::span<const Message>(messages)};
  const MessageBatch from_views{std::span<const MessageView>(viewed)};
  CHECK(payloads(from_owned.select(order)) == Texts{"d", "a", "a", "c"});
  CHECK(payloads(from_views.select(order)) == Texts{"d", "a", "a", "c"});
  CHECK(payloads(from_owned) == Texts{"a", "b", "c", "d"});
  CHECK(payloads(from_owned.select(std::vector<std::uint32_t>{})).empty());
  CHECK(payloads(from_views.select(std::span<const std::uint32_t>())).empty());
}

TEST_CASE("The visitor of for_each may be anything that can be called", "[core]") {
  const std::vector<Message> messages = owned({"a", "bb"});
  std::size_t bytes = 0;
  MessageBatch(std::span<const Message>(messages)).for_each([&bytes](auto&& message) mutable {
    bytes += MessageView(message).payload.size();
  });
  CHECK(bytes == 3);
}
