#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <brook/topic/syntax.hpp>

namespace support {

/// The rules of topic patterns written down as they are defined, to compare others with: split both
/// texts, then ask for each pair of positions. Shares nothing with the library but the description
/// of the dialect.
template <class Syntax = brook::AmqpSyntax>
class TopicReference {
 public:
  /// Whether the valid pattern matches the valid name.
  static bool matches(std::string_view pattern, std::string_view name) {
    TopicReference both(pattern, name);
    const bool hidden = rules.hides_dollar && !name.empty() && name[0] == '$';
    if (hidden && !both.words_.empty() && is_wildcard(both.words_[0])) return false;
    return both.match(0, 0);
  }
  static bool is_valid_pattern(std::string_view text) {
    const std::vector<std::string_view> words = split(text);
    if (!has_valid_words(text, words)) return false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_last = i + 1 == words.size();
      if (rules.multi_only_last && words[i] == multi && !is_last) return false;
    }
    const std::string_view reserved = rules.reserved_first_segment;
    return reserved.empty() || words.empty() || words[0] != reserved;
  }
  static bool is_valid_topic(std::string_view text) {
    const std::vector<std::string_view> words = split(text);
    if (!has_valid_words(text, words)) return false;
    for (const std::string_view word : words) {
      if (is_wildcard(word) && !rules.allows_wildcards_in_topics) return false;
    }
    return true;
  }

 private:
  TopicReference(std::string_view pattern, std::string_view name)
      : words_(split(pattern)),
        segments_(split(name)),
        known_((words_.size() + 1) * (segments_.size() + 1), Answer::unknown) {}

  static constexpr brook::SyntaxRules rules = Syntax::rules;
  static constexpr char single_character = Syntax::single_wildcard;
  static constexpr char multi_character = Syntax::multi_wildcard;
  static constexpr std::string_view single{&single_character, 1};
  static constexpr std::string_view multi{&multi_character, 1};

  static bool is_wildcard(std::string_view word) { return word == single || word == multi; }
  static bool has_valid_words(std::string_view text, const std::vector<std::string_view>& words) {
    if (text.empty() && !rules.allows_empty_text) return false;
    for (const char c : text) {
      for (const char forbidden : rules.forbidden_bytes) {
        if (c == forbidden) return false;
      }
    }
    for (const std::string_view word : words) {
      if (word.empty() && !rules.allows_empty_segments) return false;
      const bool has_wildcard = word.find(single) != word.npos || word.find(multi) != word.npos;
      if (has_wildcard && !is_wildcard(word) && !rules.allows_wildcards_in_words) return false;
    }
    return true;
  }
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
    if (words_[word] == multi) {
      if (rules.multi_matches_none && match(word + 1, segment)) return true;
      return more_segments && (match(word, segment + 1) || match(word + 1, segment + 1));
    }
    if (!more_segments) return false;
    const bool fits = words_[word] == single || words_[word] == segments_[segment];
    return fits && match(word + 1, segment + 1);
  }

  enum class Answer : unsigned char { unknown, no, yes };

  std::vector<std::string_view> words_;
  std::vector<std::string_view> segments_;
  std::vector<Answer> known_;
};

}  // namespace support
