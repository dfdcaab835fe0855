#pragma once

#include <cstddef>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

#ifndef BROOK_TEST_DATA_DIR
#define BROOK_TEST_DATA_DIR "tests/data"
#endif

namespace support {

/// What a public broker's test suite says of a pattern and a topic.
struct TopicCase {
  std::optional<std::string> pattern{};
  std::optional<std::string> topic{};
  std::string expected{};  ///< "match", "no", "invalid-pattern" or "invalid-topic".
};

namespace detail {

inline std::optional<std::string> unescaped(std::string_view cell) {
  if (cell == "\\N") return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < cell.size(); ++i) {
    if (cell[i] != '\\' || i + 1 == cell.size()) {
      text += cell[i];
      continue;
    }
    ++i;
    text += cell[i] == '0' ? '\0' : cell[i] == 't' ? '\t' : cell[i];
  }
  return text;
}

}  // namespace detail

/// The rows of data/topic_patterns.tsv, which explains itself, of one dialect.
inline std::vector<TopicCase> topic_cases(std::string_view dialect) {
  std::ifstream file(BROOK_TEST_DATA_DIR "/topic_patterns.tsv");
  REQUIRE(file.is_open());
  std::vector<TopicCase> cases;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::size_t begin = 0;
    for (std::size_t tab; (tab = line.find('\t', begin)) != std::string::npos; begin = tab + 1) {
      cells.push_back(line.substr(begin, tab - begin));
    }
    REQUIRE(cells.size() == 4);  // and the source behind the last tab
    if (cells[0] != dialect) continue;
    cases.push_back({detail::unescaped(cells[1]), detail::unescaped(cells[2]), cells[3]});
  }
  return cases;
}

}  // namespace support
