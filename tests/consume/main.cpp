// A user's program, built in every way in which a user may get at brook.

#include <brook/brook.hpp>

int main() {
  brook::Broker broker;
  auto topic = broker.create_topic("orders.created");
  topic.publish({.key = "k", .payload = "v"});
  auto consumer = broker.subscribe("orders.*", {.group = "g", .start = brook::Start::earliest});
  auto batch = consumer.poll(10);
  return batch.size() == 1 ? 0 : 1;
}
