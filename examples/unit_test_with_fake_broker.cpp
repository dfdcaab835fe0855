// How to test a service that consumes messages: with the real broker, on a clock of your own.
// Deadlines pass, retries come and messages die when the test says so, and nothing ever sleeps.

#include <brook/brook.hpp>
#include <iostream>
#include <set>
#include <stdexcept>

/// Sends a mail for each order. Its consumer is a template parameter: a `brook::Consumer` in
/// production, one of a `brook::ManualBroker` in tests.
template <class Consumer, class MailServer>
class Mailer {
 public:
  Mailer(Consumer& consumer, MailServer& server) : consumer_(consumer), server_(server) {}

  /// Handles what there is, or waits for something as long as @p patience.
  void work(brook::Duration patience = {}) {
    for (const auto& delivery : consumer_.poll(100, patience)) {
      const std::string order(delivery.text());
      try {
        // At least once means that an order may come again: it must not get a second mail.
        if (!mailed_.contains(order)) server_.send(order);
        mailed_.insert(order);
        consumer_.ack(delivery);
      } catch (const std::exception& error) {
        consumer_.nack(delivery, {.error = error.what()});
      }
    }
  }

 private:
  Consumer& consumer_;
  MailServer& server_;
  std::set<std::string> mailed_;
};

namespace {

using namespace std::chrono_literals;

int failures = 0;
void check(bool holds, const char* what) {
  std::cout << (holds ? "  ok      " : "  FAILED  ") << what << "\n";
  if (!holds) ++failures;
}

struct FakeMailServer {
  int refusals = 0;  ///< So many attempts fail first.
  std::vector<std::string> mails{};

  void send(const std::string& order) {
    if (order == "nobody" || refusals-- > 0) throw std::runtime_error("mailbox unavailable");
    mails.push_back(order);
  }
};

struct Fixture {
  brook::ManualBroker broker{};
  brook::ManualBroker::topic_type orders = broker.create_topic("orders");
  brook::ManualConsumer consumer = broker.subscribe(
      "orders",
      {.group = "mail", .start = brook::Start::earliest, .ack_deadline = 30s, .max_deliveries = 3});
  FakeMailServer server{};
  Mailer<brook::ManualConsumer, FakeMailServer> mailer{consumer, server};
};

void a_server_that_refuses_twice_costs_two_retries() {
  Fixture f;
  f.server.refusals = 2;
  f.orders.publish({.payload = "book"});
  const auto begin = f.broker.clock().now();
  for (int i = 0; i < 3; ++i) f.mailer.work(1min);  // a wait moves the clock to the next retry
  check(f.server.mails == std::vector<std::string>{"book"}, "one mail was sent");
  check(f.broker.clock().now() - begin == 300ms, "after backoffs of 100 and 200 ms");
  check(f.broker.lag("mail").messages() == 0, "nothing is left to do");
}

void an_order_that_always_fails_becomes_a_dead_letter() {
  Fixture f;
  f.orders.publish({.key = "a", .payload = "nobody"});
  f.orders.publish({.key = "b", .payload = "book"});
  for (int i = 0; i < 3; ++i) f.mailer.work(1min);
  check(f.server.mails == std::vector<std::string>{"book"}, "the other order was not held up");
  const auto letters = f.broker.dead_letters("mail");
  check(letters.size() == 1 && letters[0].message.payload == "nobody", "it is kept");
  check(letters.size() == 1 && letters[0].error == "mailbox unavailable", "with its error");
}

void what_a_hanging_member_holds_comes_again_after_the_deadline() {
  Fixture f;
  f.orders.publish({.payload = "book"});
  const auto held = f.consumer.poll();  // somebody takes the order and says nothing more
  f.broker.clock().advance(30s - 1ns);
  check(f.consumer.poll().empty(), "never before the deadline");
  f.broker.clock().advance(1ns);
  f.mailer.work();
  check(f.server.mails.size() == 1, "exactly at it");
  check(f.consumer.ack(held[0]) == brook::SettleResult::already_settled, "too late to ack");
}

void a_repeated_order_gets_no_second_mail() {
  Fixture f;
  f.orders.publish({.payload = "book"});
  f.mailer.work();
  f.consumer.seek(brook::Start::earliest);  // as after a crash between the mail and the ack
  f.mailer.work();
  check(f.broker.lag("mail").stats().deliveries == 2, "the order came twice");
  check(f.server.mails.size() == 1, "and got one mail");
}

}  // namespace

int main() {
  a_server_that_refuses_twice_costs_two_retries();
  an_order_that_always_fails_becomes_a_dead_letter();
  what_a_hanging_member_holds_comes_again_after_the_deadline();
  a_repeated_order_gets_no_second_mail();
  return failures == 0 ? 0 : 1;
}
