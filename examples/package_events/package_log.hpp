#pragma once

#include <brook/brook.hpp>
#include <cstdint>
#include <istream>
#include <optional>
#include <sstream>
#include <string>

/// One line of a log of package events, as the message that it becomes.
struct PackageEvent {
  std::string topic;  ///< packages.<action>
  brook::Message message;
};

/// Reads a line as dpkg(1) describes it: date and time (taken as UTC), action, then what the action
/// is about, a package in most cases. Anything else gives `nullopt`. The line's @p number goes
/// along as a header.
inline std::optional<PackageEvent> parse_package_event(const std::string& line,
                                                       std::uint64_t number) {
  std::istringstream in(line);
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  char mark = 0;
  in >> year >> mark >> month >> mark >> day >> hour >> mark >> minute >> mark >> second;
  std::string action, package;
  in >> action;
  if (action == "status") in >> package;  // the state, which stands before the package
  if (action != "startup") in >> package;
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  const bool is_word =
      action.size() < 20 && action.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == action.npos;
  if (!in || !date.ok() || !is_word || line.size() > 4096) return std::nullopt;
  const auto time = std::chrono::sys_days{date} + std::chrono::hours{hour} +
                    std::chrono::minutes{minute} + std::chrono::seconds{second};
  return PackageEvent{.topic = "packages." + action,
                      .message = {.key = action == "startup" ? brook::Buffer(brook::null) : package,
                                  .payload = line,
                                  .headers = {{"line", std::to_string(number)}},
                                  .timestamp = time}};
}

/// The state that a line of `packages.status` tells, its fourth word.
inline std::string package_state(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::string word;
  for (int i = 0; i < 4; ++i) in >> word;
  return word;
}
