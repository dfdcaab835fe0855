#include <brook/brook.hpp>
#include <iostream>

using namespace std::chrono_literals;

int main() {
  brook::Broker broker;  // in this process: no server, no thread, no file
  auto orders = broker.create_topic("orders.eu.created", {.partitions = 8});

  orders.publish({.key = "customer-42", .payload = "total=99"});
  orders.publish({.key = "customer-42", .payload = "total=oops"});
  orders.publish({.key = "customer-7", .payload = "total=12"});

  auto billing =
      broker.subscribe("orders.*.created", {.group = "billing", .start = brook::Start::earliest});
  for (const auto& delivery : billing.poll(500, 1s)) {  // at most 500, waits at most 1 s for one
    if (delivery.text() == "total=oops") {
      billing.reject(delivery, "not a number");  // becomes a dead letter
    } else {
      std::cout << delivery.key().text() << " pays " << delivery.text() << "\n";
      billing.ack(delivery);  // after the work, never before
    }
  }
  const auto letters = broker.dead_letters("billing");  // with their errors, for a closer look
  return letters.size() == 1 && broker.lag("billing").messages() == 0 ? 0 : 1;
}
