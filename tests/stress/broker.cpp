// Publishers, consumers, closing and due work at once. What must come out is exact; a wake-up that
// is lost shows as a hang. Run under the thread sanitizer.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <brook/brook.hpp>

#include "support/catch.hpp"

namespace {

using namespace std::chrono_literals;
using brook::Start;

TEST_CASE("every group gets every message, whatever races", "[stress]") {
  constexpr std::uint64_t publishers = 2;
  constexpr std::uint64_t each = 3000;
  constexpr std::uint64_t total = publishers * each;
  brook::Broker broker;
  auto topic = broker.create_topic("topic", {.partitions = 3});
  std::vector<std::uint64_t> acked(3, 0);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < acked.size(); ++i) {
    // The first group may hold so few messages that it often waits for a slot of its own.
    auto consumer = broker.subscribe(
        "#", {.group = "group" + std::to_string(i),
              .start = Start::earliest,
              .max_outstanding_messages = i == 0 ? std::uint64_t{7} : std::uint64_t{1000}});
    threads.emplace_back([&acked, i, consumer = std::move(consumer)]() mutable {
      while (acked[i] < total) {
        const auto batch = consumer.poll(50, 1h);  // only news may end it
        if (i == 1) {
          for (const auto& delivery : batch)
            acked[i] += consumer.ack(delivery) == brook::SettleResult::applied;
        } else {
          acked[i] += consumer.ack(batch).applied;
        }
      }
    });
  }
  for (std::uint64_t p = 0; p < publishers; ++p) {
    threads.emplace_back([&topic, p] {
      const std::vector<brook::Message> batch(10,
                                              {.key = "batch" + std::to_string(p), .payload = "x"});
      for (std::uint64_t i = 0; i < each; i += 20) {
        topic.publish(batch);
        for (int k = 0; k < 10; ++k) topic.publish({.key = std::to_string(k), .payload = "y"});
      }
    });
  }
  threads.emplace_back([&broker] {
    for (int i = 0; i < 200; ++i) broker.run_once();
  });
  for (auto& thread : threads) thread.join();
  for (const std::uint64_t count : acked) CHECK(count == total);
  for (std::size_t i = 0; i < acked.size(); ++i) {
    CHECK(broker.lag("group" + std::to_string(i)).messages() == 0);
  }
}

TEST_CASE("closing wakes a poll that waits", "[stress]") {
  for (int round = 0; round < 50; ++round) {
    brook::Broker broker;
    broker.create_topic("topic");
    auto consumer = broker.subscribe("topic", {.group = "group", .start = Start::earliest});
    std::atomic<bool> closed{false};
    std::thread waiting([&] {
      try {
        for (;;) static_cast<void>(consumer.poll(1, 1h));
      } catch (const brook::Closed&) {
        closed = true;
      }
    });
    if (round % 2 == 0) {
      consumer.close();
    } else {
      broker.close();
    }
    waiting.join();
    CHECK(closed);
  }
}

TEST_CASE("topics and members come and go while others publish", "[stress]") {
  brook::Broker broker({.auto_create = brook::TopicConfig{}});
  std::atomic<bool> done{false};
  std::thread publisher([&] {
    for (int i = 0; i < 3000; ++i)
      broker.publish("topic." + std::to_string(i % 5), {.payload = "x"});
    done = true;
  });
  std::thread deleter([&] {
    for (int i = 0; !done; i = (i + 1) % 5) {
      try {
        broker.delete_topic("topic." + std::to_string(i));
      } catch (const brook::UnknownTopic&) {
      }
      std::this_thread::yield();
    }
  });
  std::uint64_t taken = 0;
  while (!done) {
    auto consumer = broker.subscribe("topic.*", {.group = "group", .start = Start::earliest});
    const auto batch = consumer.poll(100);
    taken += batch.size();
    consumer.ack(batch);
  }
  publisher.join();
  deleter.join();
  CHECK(taken <= 3000);
}

}  // namespace
