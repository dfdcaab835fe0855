#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <brook/broker/topic.hpp>

namespace brook {

/// Publishes to any topic by name, with a partitioner of its own. Remembers the topics it has
/// published to, so that only the first message to each costs a look-up in the broker.
///
/// Use a `BasicTopic` where one topic is enough; use a producer for many topics, or to choose
/// partitions in another way than the broker. Thread rule: one thread; make one for each. Lifetime:
/// may outlive the broker; calls then throw `Closed`.
///
///     auto producer = broker.producer(brook::RandomPartitioner{42});
///     producer.publish("orders.eu", {.key = "customer-42", .payload = "total=99"});
template <BrokerPolicies P, Partitioner PartitionerType = typename P::partitioner_type>
class BasicProducer {
 public:
  /// As `BasicTopic::publish`. @throws also UnknownTopic if the broker does not auto-create
  Published publish(std::string_view topic, const MessageView& message) {
    return find(topic).publish(message, partitioner_);
  }
  PublishedBatch publish(std::string_view topic, std::span<const Message> messages) {
    return find(topic).publish(MessageBatch(messages), partitioner_);
  }
  PublishedBatch publish(std::string_view topic, std::span<const MessageView> messages) {
    return find(topic).publish(MessageBatch(messages), partitioner_);
  }

 private:
  template <BrokerPolicies>
  friend class BasicBroker;

  BasicProducer(std::shared_ptr<detail::BrokerState<P>> broker, PartitionerType partitioner)
      : broker_(std::move(broker)), partitioner_(std::move(partitioner)) {}

  detail::TopicState<P>& find(std::string_view name) {
    broker_->check_open();
    const auto known = topics_.find(name);
    if (known != topics_.end() && known->second->is_open()) return *known->second;
    // Unknown so far, or deleted meanwhile and perhaps created again.
    if (known != topics_.end()) topics_.erase(known);
    return *topics_.emplace(std::string(name), broker_->topic_to_publish(name)).first->second;
  }

  std::shared_ptr<detail::BrokerState<P>> broker_;
  PartitionerType partitioner_;
  std::map<std::string, std::shared_ptr<detail::TopicState<P>>, std::less<>> topics_;
};

}  // namespace brook
