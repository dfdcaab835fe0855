// Publishes logs of package events, as every Debian machine keeps one in /var/log/dpkg.log, and
// lets three groups consume them: each line is stored once, each group remembers how far it got.
//
//   package_events FILE...      ends with 0 if every group got exactly what it should, in order

#include <brook/brook.hpp>
#include <fstream>
#include <iostream>
#include <map>

#include "package_log.hpp"
#include "report.hpp"

namespace {

using namespace std::chrono_literals;

struct Published {
  std::uint64_t lines = 0, events = 0, states = 0, hopeless = 0;
};

/// An installer with troubles: why it fails with a package; null if it does not.
const char* failure(std::string_view package, std::uint32_t attempt) {
  package = package.substr(0, package.find(':'));
  if (package.starts_with("lib") && package.ends_with("-dev")) return "no headers wanted here";
  return attempt == 1 && package.starts_with("python3") ? "the archive is locked" : nullptr;
}

/// False if the file cannot be read.
bool publish_log(const char* path, brook::ManualBroker& broker, Published& published) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto event = parse_package_event(line, ++published.lines);
    if (!event) continue;
    broker.publish(event->topic, event->message);
    ++published.events;
    if (event->topic == "packages.status") ++published.states;
    const bool installs = event->topic == "packages.install" || event->topic == "packages.upgrade";
    if (installs && failure(event->message.key.text(), 2) != nullptr) ++published.hopeless;
  }
  return file.is_open() && !file.bad();
}

/// Hands every message to @p work, until nothing comes for a minute. On a manual clock a minute is
/// no time at all, and neither is the wait before a retry.
template <class Work>
void consume(brook::ManualConsumer& consumer, Work work) {
  for (auto batch = consumer.poll(500, 1min); !batch.empty(); batch = consumer.poll(500, 1min)) {
    for (const auto& delivery : batch) {
      if (const char* const error = work(delivery)) {
        consumer.nack(delivery, {.error = error});
      } else {
        consumer.ack(delivery);
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const brook::TopicConfig config{.partitions = 4, .timestamps = brook::TimestampType::create_time};
  brook::ManualBroker broker{{.auto_create = config}};
  Published published;
  bool readable = argc > 1;
  for (int i = 1; i < argc && readable; ++i) readable = publish_log(argv[i], broker, published);
  if (!readable) {
    std::cerr << "usage: package_events FILE...   (logs such as /var/log/dpkg.log, readable)\n";
    return 2;
  }
  constexpr auto earliest = brook::Start::earliest;
  const brook::Instant begin = broker.clock().now();

  auto audit = broker.subscribe("packages.#", {.group = "audit", .start = earliest});
  std::map<std::string, std::uint64_t> last_line;  // by topic and package
  bool in_order = true;
  consume(audit, [&](const brook::Delivery& delivery) -> const char* {
    if (delivery.key().is_null()) return nullptr;  // in any partition, in no order
    auto& last =
        last_line[std::string(delivery.topic()) + " " + std::string(delivery.key().text())];
    const auto line = std::stoull(std::string(delivery.headers().last("line")->text()));
    in_order = in_order && line > last;
    last = line;
    return nullptr;
  });

  auto counting = broker.subscribe("packages.status", {.group = "counting", .start = earliest});
  std::map<std::string, std::uint64_t> states;
  consume(counting, [&](const brook::Delivery& delivery) -> const char* {
    ++states[package_state(delivery.text())];
    return nullptr;
  });

  auto installer =
      broker.subscribe({"packages.install", "packages.upgrade"},
                       {.group = "installer",
                        .start = earliest,
                        .max_deliveries = 3,
                        .retry = brook::RetryPolicy{.min_backoff = 10s, .max_backoff = 1min}});
  consume(installer, [](const brook::Delivery& delivery) {
    return failure(delivery.key().text(), delivery.number());
  });

  std::cout << published.lines << " lines, " << published.lines - published.events << " skipped; "
            << "in each topic, each package is " << (in_order ? "in order\n" : "OUT OF ORDER\n");
  for (const auto& [state, count] : states) std::cout << "  " << count << " " << state << "\n";
  report(broker);
  report_dead_letters(broker, "installer");
  std::cout << "\nbackoffs and waits took " << (broker.clock().now() - begin) / 1s
            << " s on the manual clock, and none on yours\n";

  bool complete = in_order && broker.dead_letters("installer").size() == published.hopeless &&
                  broker.lag("audit").stats().deliveries == published.events &&
                  broker.lag("counting").stats().deliveries == published.states;
  for (const auto& group : broker.groups())
    complete = complete && broker.lag(group).messages() == 0;
  std::cout << (complete ? "every group got what it should\n" : "SOMETHING IS MISSING\n");
  return complete ? 0 : 1;
}
