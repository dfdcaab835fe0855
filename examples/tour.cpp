// The tour of the README as a program: its blocks of code stand here word for word. Ends with 0 if
// all is as the README says.

#include <brook/brook.hpp>
#include <iostream>
#include <vector>

using namespace std::chrono_literals;
using namespace brook::literals;

namespace {

bool all_well = true;
void check(bool holds) {
  all_well = all_well && holds;
}
bool is_order(const brook::Delivery& delivery) {
  return delivery.text().starts_with("total=");
}
bool is_ready(const brook::Delivery& delivery) {
  return delivery.key() != "customer-7";
}
void charge(brook::Bytes, std::string_view) {}

void a_day_of_a_broker() {
  brook::Broker broker;

  auto orders = broker.create_topic("orders.eu", {.partitions = 8});
  const brook::Published at =
      orders.publish({.key = "customer-42", .payload = "total=99", .headers = {{"trace", "7f3a"}}});
  const std::vector<brook::Message> many(100, {.key = "customer-7", .payload = "total=1"});
  orders.publish(many);                                // a batch: all of it or nothing
  broker.publish("orders.eu", {.payload = "no key"});  // by name; without a key round robin

  check(at.partition == brook::PartitionId{1} && at.offset == brook::Offset{0});

  auto billing = broker.subscribe({"orders.*", "returns.#"}, {.group = "billing",
                                                              .start = brook::Start::earliest,
                                                              .ack_deadline = 1min,
                                                              .max_deliveries = 3});
  for (const auto& delivery : billing.poll(500, 1s)) {
    if (!is_order(delivery)) {
      billing.reject(delivery, "not an order");  // a dead letter at once
    } else if (!is_ready(delivery)) {
      billing.nack(delivery, {.delay = 5s, .error = "not ready"});  // again in 5 s
    } else {
      // This will take long. Whoever lost the lease meanwhile stops: the message comes again.
      if (billing.extend(delivery, 10min) != brook::SettleResult::applied) continue;
      charge(delivery.key(), delivery.text());
      billing.ack(delivery);  // after the work, never before
    }
  }

  check(broker.lag("billing").messages() == 100 && broker.dead_letters("billing").size() == 1);

  for (const brook::DeadLetterRecord& letter : broker.dead_letters("billing")) {
    std::cout << letter.source_topic << ": " << letter.message.payload.text() << ": "
              << letter.error << " (delivered " << letter.deliveries << " times)\n";
  }
  broker.redrive("billing");  // to the partitions they came from, for this group alone

  check(broker.dead_letters("billing").empty() && broker.lag("billing").messages() == 101);

  billing.seek(brook::Start::at_time(std::chrono::system_clock::now() - 24h));
  auto audit = broker.subscribe("#", {.group = "audit", .start = brook::Start::earliest});
  const brook::PartitionId partition{1};
  for (const auto message : orders.read(partition, orders.start(partition))) {  // without a group
    std::cout << message.offset().value() << " " << message.payload().text() << "\n";
  }

  check(broker.lag("billing").messages() == 103 && broker.lag("audit").messages() == 103);

  auto clicks = broker.create_topic("clicks", {.retention = {.max_age = 24h, .max_bytes = 1_GiB}});
  if (broker.lag("billing").messages() > 10'000) std::cout << "billing is falling behind\n";
  for (const brook::LostMessages& lost : billing.take_losses()) {
    std::cout << lost.topic << ": " << lost.range.size() << " messages were trimmed unread\n";
  }
}

void in_a_unit_test() {
  brook::ManualBroker broker;
  auto orders = broker.create_topic("orders");
  auto billing = broker.subscribe(
      "orders", {.group = "billing", .start = brook::Start::earliest, .max_deliveries = 1});
  orders.publish({.payload = "total=99"});

  const auto held = billing.poll();  // the service under test takes the order, and hangs
  broker.clock().advance(30s);       // its deadline passes, exactly now
  check(broker.dead_letters("billing").size() == 1);
}

void every_part_alone() {
  brook::ManualClock clock;  // or a brook::SystemClock
  brook::TopicLog log{clock, {.retention = {.max_messages = 1000}}};
  const brook::Offset first = log.append({.key = "a", .payload = "1"});
  log.append({.key = "a", .payload = "2"});
  for (const auto message : log.read(first)) std::cout << message.payload().text() << "\n";

  brook::Subscription subscription{log, {.ack_deadline = 30s, .max_deliveries = 5}};
  const auto batch = subscription.poll(10);
  subscription.ack(batch[1]);                // out of order is fine
  check(subscription.committed() == first);  // the first one is not settled

  brook::TopicTrie<int> trie;
  trie.insert("orders.*.created", 1);
  trie.match("orders.eu.created", [](int subscriber) { check(subscriber == 1); });

  brook::TopicNames<int> names;  // the other way round: which topics does a pattern select?
  names.insert("orders.eu.created", 1);
  names.match("orders.#", [](int topic) { check(topic == 1); });

  check(brook::KeyHashPartitioner{}("customer-42", 8) == brook::PartitionId{1});  // as in Kafka
}

}  // namespace

int main() {
  a_day_of_a_broker();
  in_a_unit_test();
  every_part_alone();
  return all_well ? 0 : 1;
}
