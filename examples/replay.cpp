// Reading changes nothing in a log. So a group may begin anywhere, go back and read again, and no
// other group notices. Ends with 0 if every reader got what it should.

#include <brook/brook.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

using Broker = brook::ManualBroker;  // its clock moves when it is told to, so times are exact here
using Consumer = Broker::consumer_type;

bool all_well = true;

/// Takes and acks everything there is, and prints it beside what was expected.
void read_all(const char* what, Consumer& consumer, const std::vector<std::string>& expected) {
  std::vector<std::string> got;
  for (auto batch = consumer.poll(); !batch.empty(); batch = consumer.poll()) {
    for (const auto& delivery : batch) got.emplace_back(delivery.text());
    consumer.ack(batch);
  }
  std::cout << std::left << std::setw(42) << what << std::right << std::setw(3) << got.size()
            << " messages";
  if (!got.empty()) std::cout << "  " << got.front() << " to " << got.back();
  std::cout << (got == expected ? "\n" : "  WRONG\n");
  all_well = all_well && got == expected;
}

/// The readings of the hours from @p first to 23.
std::vector<std::string> hours_from(int first) {
  std::vector<std::string> hours;
  for (int hour = first; hour < 24; ++hour) hours.push_back(std::to_string(hour) + ":00");
  return hours;
}

}  // namespace

int main() {
  Broker broker;
  auto readings = broker.create_topic("sensors.cellar");
  const brook::Timestamp midnight = broker.clock().wall_now();
  for (const std::string& hour : hours_from(0)) {
    readings.publish({.key = "cellar", .payload = hour});
    broker.clock().advance(1h);
  }

  auto archive =
      broker.subscribe("sensors.#", {.group = "archive", .start = brook::Start::earliest});
  read_all("archive, from the beginning", archive, hours_from(0));

  const auto evening = brook::Start::at_time(midnight + 18h);
  auto report = broker.subscribe("sensors.#", {.group = "report", .start = evening});
  read_all("report, a new group, from 18:00 on", report, hours_from(18));

  auto alarm = broker.subscribe("sensors.#", {.group = "alarm", .start = brook::Start::latest});
  read_all("alarm, a new group, only what is to come", alarm, {});

  // The report for the afternoon was wrong: once more, with the same group.
  report.seek(brook::Start::at_time(midnight + 12h));
  std::cout << "report goes back to 12:00; it lags by " << broker.lag("report").messages()
            << " messages, archive by " << broker.lag("archive").messages() << "\n";
  read_all("report, again", report, hours_from(12));
  read_all("archive, which did not notice", archive, {});

  // Who is in the middle of something when its group goes back is told so.
  archive.seek("sensors.cellar", brook::PartitionId{0}, brook::Start::at_offset(brook::Offset{23}));
  const auto in_hand = archive.poll();
  archive.seek(brook::Start::at_time(midnight + 22h));
  const brook::SettleResult result = archive.ack(in_hand[0]);
  std::cout << "an ack from before the seek is " << to_string(result) << "\n";
  all_well = all_well && result == brook::SettleResult::stale;
  read_all("archive, from 22:00 on", archive, hours_from(22));

  // What is not retained any more cannot be replayed, and nobody pretends that it can.
  readings.trim(brook::PartitionId{0}, brook::Offset{6});
  try {
    archive.seek(brook::Start::at_offset(brook::Offset{0}));
    all_well = false;
  } catch (const brook::OffsetTooOld& error) {
    std::cout << error.what() << "\n";
    archive.seek(brook::Start::at_offset(error.start()));
  }
  read_all("archive, from what is left on", archive, hours_from(6));
  return all_well ? 0 : 1;
}
