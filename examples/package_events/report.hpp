#pragma once

#include <brook/brook.hpp>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <string>

/// Prints where every partition begins and ends, and how far every group got.
inline void report(const brook::ManualBroker& broker) {
  std::cout << std::left << "\ntopic                     start-end of each partition\n";
  for (const brook::TopicInfo& topic : broker.topics()) {
    std::cout << std::setw(26) << topic.name;
    for (const brook::PartitionInfo& one : topic.partitions) {
      std::cout << std::setw(8) << to_string(one.start) + "-" + to_string(one.end);
    }
    std::cout << "\n";
  }

  std::cout << "\ngroup      committed   lag  deliveries  redeliveries  dead letters\n";
  for (const std::string& group : broker.groups()) {
    const brook::GroupLag lag = broker.lag(group);
    const brook::DeliveryStats stats = lag.stats();
    std::uint64_t committed = 0;
    for (const brook::PartitionLag& one : lag.partitions) committed += one.committed.value();
    std::cout << std::left << std::setw(10) << group << std::right << std::setw(10) << committed
              << std::setw(6) << lag.messages() << std::setw(12) << stats.deliveries
              << std::setw(14) << stats.redeliveries << std::setw(14) << stats.dead_lettered
              << "\n";
  }
}

/// Prints the first messages that @p group gave up on, and why.
inline void report_dead_letters(const brook::ManualBroker& broker, const std::string& group) {
  const auto letters = broker.dead_letters(group);
  if (letters.empty()) return;
  std::cout << "\nfirst dead letters of " << group << "\n";
  for (std::size_t i = 0; i < letters.size() && i < 5; ++i) {
    const brook::DeadLetterRecord& letter = letters[i];
    std::cout << "  " << letter.source_topic << "/" << to_string(letter.source_partition) << " at "
              << to_string(letter.source_offset) << ": " << letter.message.key.text() << ": "
              << letter.error << " (" << letter.deliveries << " deliveries)\n";
  }
}
