#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <brook/topic/syntax.hpp>

namespace support {

/// The rules of AMQP topic patterns written down as they are defined, to compare others with: split
/// both texts, then ask for each pair of positions. Shares nothing with the library but the three
/// characters.
template <class Syntax = brook::AmqpSyntax>
class TopicReference {
 public:
  static bool matches(std::string_view pattern, std::string_view name) {
    return TopicReference(pattern, name).match(0, 0);
  }

 private:
  TopicReference(std::string_view pattern, std::string_view name)
      : words_(split(pattern)),
        segments_(split(name)),
        known_((words_.size() + 1) * (segments_.size() + 1), Answer::unknown) {}

  static std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> parts;
    if (text.empty()) return parts;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != Syntax::separator) continue;
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
    parts.push_back(text.substr(begin));
    return parts;
  }

  bool match(std::size_t word, std::size_t segment) {
    Answer& answer = known_[word * (segments_.size() + 1) + segment];
    if (answer == Answer::unknown) answer = decide(word, segment) ? Answer::yes : Answer::no;
    return answer == Answer::yes;
  }

  bool decide(std::size_t word, std::size_t segment) {
    const bool more_segments = segment < segments_.size();
    if (word == words_.size()) return !more_segments;
    if (words_[word] == std::string_view(&Syntax::multi_wildcard, 1)) {
      return match(word + 1, segment) || (more_segments && match(word, segment + 1));
    }
    if (!more_segments) return false;
    const bool fits = words_[word] == std::string_view(&Syntax::single_wildcard, 1) ||
                      words_[word] == segments_[segment];
    return fits && match(word + 1, segment + 1);
  }

  enum class Answer : unsigned char { unknown, no, yes };

  std::vector<std::string_view> words_;
  std::vector<std::string_view> segments_;
  std::vector<Answer> known_;
};

}  // namespace support
