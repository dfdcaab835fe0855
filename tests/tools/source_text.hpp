#pragma once

// C++ source text as the style rules see it: by line, and with comments and literals blanked out.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace style {

[[nodiscard]] inline bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

[[nodiscard]] inline bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Position of @p word as a whole word in @p text at or behind @p from, or npos.
[[nodiscard]] inline std::size_t find_word(std::string_view text, std::string_view word,
                                           std::size_t from = 0) {
  for (std::size_t at = text.find(word, from); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_word_character(text[at - 1]);
    const bool ends = end == text.size() || !is_word_character(text[end]);
    if (begins && ends) return at;
  }
  return text.npos;
}

/// A word of @p text and where it begins. Numbers are not words once literals are blanked.
struct Word {
  std::string_view text;
  std::size_t position = 0;
};

[[nodiscard]] inline std::vector<Word> words(std::string_view text) {
  std::vector<Word> result;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_word_character(text[end])) ++end;
    if (end > i && !is_digit(text[i])) result.push_back({text.substr(i, end - i), i});
    i = std::max(end, i + 1);
  }
  return result;
}

/// Finds the comments and literals of a source text and overwrites them with blanks. Line breaks
/// stay, so that positions and lines are those of the original.
class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), without_literals_(text), code_(text) {
    while (at_ < text_.size()) step();
  }

  /// Without the contents of literals: code and comments.
  [[nodiscard]] std::string take_without_literals() { return std::move(without_literals_); }
  /// Without comments and the contents of literals: code alone.
  [[nodiscard]] std::string take_code() { return std::move(code_); }

 private:
  void step() {
    const char c = text_[at_];
    if (text_.substr(at_, 2) == "//") {
      blank_comment(end_of_line_comment());
    } else if (text_.substr(at_, 2) == "/*") {
      const std::size_t end = text_.find("*/", at_ + 2);
      blank_comment(end == text_.npos ? text_.size() : end + 2);
    } else if (c == '"' || c == '\'') {
      blank_literal(at_ + 1, end_of_quoted(c));
    } else if (is_digit(c)) {
      blank_literal(at_ + 1, end_of_number());
    } else if (is_word_character(c)) {
      pass_word();
    } else {
      ++at_;
    }
  }

  [[nodiscard]] std::size_t end_of_line_comment() const {
    std::size_t end = text_.find('\n', at_);
    while (end != text_.npos && text_[end - 1] == '\\') end = text_.find('\n', end + 1);
    return std::min(end, text_.size());
  }

  [[nodiscard]] std::size_t end_of_quoted(char quote) const {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote && text_[end] != '\n') {
      end += text_[end] == '\\' ? 2U : 1U;
    }
    return end_of_suffix(std::min(end + 1, text_.size()));
  }

  [[nodiscard]] std::size_t end_of_suffix(std::size_t end) const {
    while (end < text_.size() && is_word_character(text_[end])) ++end;
    return end;
  }

  [[nodiscard]] std::size_t end_of_number() const {
    std::size_t end = at_ + 1;
    for (; end < text_.size(); ++end) {
      const char c = text_[end];
      const bool separates =
          c == '\'' && end + 1 < text_.size() && is_word_character(text_[end + 1]);
      const bool signs = (c == '+' || c == '-') && (text_[end - 1] == 'e' || text_[end - 1] == 'p');
      if (!is_word_character(c) && c != '.' && !separates && !signs) break;
    }
    return end;
  }

  void pass_word() {
    const std::size_t end = end_of_suffix(at_);
    const std::string_view word = text_.substr(at_, end - at_);
    const bool raw = word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
    if (!raw || end == text_.size() || text_[end] != '"') {
      at_ = end;
      return;
    }
    const std::size_t open = text_.find('(', end);
    if (open == text_.npos) {
      at_ = text_.size();
      return;
    }
    const std::string close = ")" + std::string(text_.substr(end + 1, open - end - 1)) + "\"";
    const std::size_t at = text_.find(close, open);
    blank_literal(end + 1, at == text_.npos ? text_.size() : end_of_suffix(at + close.size()));
  }

  void blank_comment(std::size_t end) {
    blank(code_, at_, end);
    at_ = end;
  }

  void blank_literal(std::size_t begin, std::size_t end) {
    blank(code_, begin, end);
    blank(without_literals_, begin, end);
    at_ = std::max(end, at_ + 1);
  }

  static void blank(std::string& text, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, text.size()); ++i) {
      if (text[i] != '\n') text[i] = ' ';
    }
  }

  std::string_view text_;
  std::string without_literals_;
  std::string code_;
  std::size_t at_ = 0;
};

[[nodiscard]] inline std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// An include directive.
struct Include {
  std::string_view target;  ///< What stands between the brackets or quotes.
  bool quoted = false;
  std::size_t line = 0;
};

/// One file of the repository. Not copied, because it refers to itself.
class SourceFile {
 public:
  SourceFile(std::string path, std::string text) : path_(std::move(path)), text_(std::move(text)) {
    Blanker blanker{text_};
    without_literals_ = blanker.take_without_literals();
    code_ = blanker.take_code();
    lines_ = split_lines(text_);
    code_lines_ = split_lines(code_);
    find_includes();
  }
  SourceFile(const SourceFile&) = delete;
  SourceFile& operator=(const SourceFile&) = delete;

  /// Relative to the root of the repository, with '/'.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& code() const { return code_; }
  [[nodiscard]] const std::string& without_literals() const { return without_literals_; }
  [[nodiscard]] const std::vector<std::string_view>& lines() const { return lines_; }
  [[nodiscard]] const std::vector<std::string_view>& code_lines() const { return code_lines_; }
  [[nodiscard]] const std::vector<Include>& includes() const { return includes_; }

  [[nodiscard]] bool is_in(std::string_view folder) const { return path_.starts_with(folder); }
  [[nodiscard]] bool is_header() const { return path_.ends_with(".hpp"); }
  [[nodiscard]] bool is_cpp() const { return is_header() || path_.ends_with(".cpp"); }
  /// A header that users include.
  [[nodiscard]] bool is_library_header() const { return is_header() && is_in("include/brook/"); }

  /// Line of a position in the text, from 1.
  [[nodiscard]] std::size_t line_of(std::size_t position) const {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(position);
    return 1 + static_cast<std::size_t>(std::count(text_.begin(), end, '\n'));
  }

 private:
  void find_includes() {
    for (std::size_t i = 0; i < code_lines_.size(); ++i) {
      std::string_view directive = trimmed(code_lines_[i]);
      if (!directive.starts_with('#')) continue;
      directive = trimmed(directive.substr(1));
      if (!directive.starts_with("include")) continue;
      const std::size_t begin = lines_[i].find_first_of("<\"");
      if (begin == std::string_view::npos) continue;
      const bool quoted = lines_[i][begin] == '"';
      const std::size_t end = lines_[i].find(quoted ? '"' : '>', begin + 1);
      if (end == std::string_view::npos) continue;
      includes_.push_back({lines_[i].substr(begin + 1, end - begin - 1), quoted, i + 1});
    }
  }

  std::string path_;
  std::string text_;
  std::string without_literals_;
  std::string code_;
  std::vector<std::string_view> lines_;
  std::vector<std::string_view> code_lines_;
  std::vector<Include> includes_;
};

}  // namespace style
