#pragma once

// Short ways to say what tests of brokers say all the time.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <brook/broker/broker.hpp>

#include "support/catch.hpp"

namespace support {

/// Payloads in the order of the batch.
inline std::vector<std::string> texts(const brook::Batch& batch) {
  std::vector<std::string> list;
  for (const auto& delivery : batch) list.emplace_back(delivery.text());
  return list;
}
inline std::vector<std::uint64_t> offsets(const brook::Batch& batch) {
  std::vector<std::uint64_t> list;
  for (const auto& delivery : batch) list.push_back(delivery.offset().value());
  return list;
}
inline std::vector<std::string> texts(const std::vector<brook::DeadLetterRecord>& letters) {
  std::vector<std::string> list;
  for (const auto& letter : letters) list.emplace_back(letter.message.payload.text());
  return list;
}

/// All payloads of one partition.
template <class Topic>
std::vector<std::string> stored(const Topic& topic, std::uint32_t partition = 0) {
  std::vector<std::string> list;
  const brook::PartitionId id{partition};
  const auto batch = topic.read(id, topic.start(id), {.max_messages = 100'000});
  for (const auto message : batch) list.emplace_back(message.payload().text());
  return list;
}

/// Publishes messages without a key, one by one.
template <class Topic>
void publish_all(Topic& topic, const std::vector<std::string>& payloads) {
  for (const auto& payload : payloads) topic.publish({.payload = payload});
}

/// Polls without waiting, and acks.
template <class Consumer>
std::vector<std::string> consume(Consumer& consumer, brook::MessageCount most = 500) {
  const auto batch = consumer.poll(most);
  consumer.ack(batch);
  return texts(batch);
}

/// Polls without waiting; the receipt of what came first.
template <class Consumer>
brook::Receipt take(Consumer& consumer, brook::MessageCount most = 500) {
  const auto batch = consumer.poll(most);
  REQUIRE_FALSE(batch.empty());
  return batch[0].receipt();
}

/// Sum over all partitions.
inline std::uint64_t message_count(const brook::TopicInfo& info) {
  std::uint64_t sum = 0;
  for (const auto& partition : info.partitions) sum += partition.messages;
  return sum;
}

using Strings = std::vector<std::string>;

}  // namespace support
