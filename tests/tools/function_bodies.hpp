#pragma once

// Finds function bodies in C++ source text without parsing C++: by following braces and looking at
// what stands before them. It may miss an exotic function; it must not call anything else one.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "source_text.hpp"

namespace style {

/// A function with its body, as positions in the text.
struct FunctionBody {
  std::size_t begin = 0;  ///< First character of the declaration.
  std::size_t end = 0;    ///< The closing brace.
};

class FunctionFinder {
 public:
  /// @p code has neither comments nor literals (`SourceFile::code`).
  explicit FunctionFinder(std::string_view code) : code_(without_directives(code)) {
    while (at_ < code_.size()) step();
  }

  [[nodiscard]] const std::vector<FunctionBody>& bodies() const { return bodies_; }

 private:
  enum class Brace : unsigned char {
    scope,       // of a namespace or type: what is in it is looked at
    function,    //
    expression,  // requires-expression: the declaration goes on behind it
    other,       // initialiser, enumerators
  };

  void step() {
    const char c = code_[at_];
    if (c == '(') {
      ++depth_;
    } else if (c == ')') {
      --depth_;
    } else if (depth_ == 0) {
      if (c == '{') {
        open_brace();
        return;
      }
      if (c == ';' || c == '}' || (c == ':' && is_access_specifier(head()))) head_ = at_ + 1;
    }
    ++at_;
  }

  void open_brace() {
    const Brace brace = classify(head());
    if (brace == Brace::scope) {
      head_ = ++at_;
      return;
    }
    const std::size_t end = matching_brace(at_);
    if (brace == Brace::function) bodies_.push_back({code_.find_first_not_of(" \n\t", head_), end});
    at_ = end + 1;
    // `: a_{a}, b_{b} {` and `requires requires { ... } {`: still the same declaration.
    const std::size_t next = code_.find_first_not_of(" \n\t", at_);
    const bool goes_on = brace == Brace::expression ||
                         (next < code_.size() && (code_[next] == ',' || code_[next] == '{'));
    if (!goes_on) head_ = at_;
  }

  [[nodiscard]] std::string_view head() const {
    return trimmed(std::string_view{code_}.substr(head_, at_ - head_));
  }

  [[nodiscard]] std::size_t matching_brace(std::size_t at) const {
    for (int depth = 0; at < code_.size(); ++at) {
      if (code_[at] == '{') ++depth;
      if (code_[at] == '}' && --depth == 0) return at;
    }
    return code_.size() - 1;
  }

  static bool is_access_specifier(std::string_view head) {
    return head == "public" || head == "protected" || head == "private";
  }

  static Brace classify(std::string_view head) {
    if (find_word(head, "namespace") != head.npos || head.starts_with("extern \"")) {
      return Brace::scope;
    }
    if (find_word(head, "concept") != head.npos) return Brace::other;
    if (ends_with_requires_expression(head)) return Brace::expression;
    const std::string outer = outside_of_brackets(head);
    if (find_word(outer, "enum") != outer.npos) return Brace::other;
    for (const std::string_view word : {"class", "struct", "union"}) {
      if (find_word(outer, word) != outer.npos) return Brace::scope;
    }
    if (head.ends_with('=')) return Brace::other;
    return head.find('(') == head.npos ? Brace::other : Brace::function;
  }

  /// `... requires(T t)` that begins an expression and not a clause, which has no braces.
  static bool ends_with_requires_expression(std::string_view head) {
    if (head.ends_with(')')) {
      int depth = 0;
      std::size_t at = head.size();
      while (at > 0) {
        --at;
        if (head[at] == ')') ++depth;
        if (head[at] == '(' && --depth == 0) break;
      }
      head = trimmed(head.substr(0, at));
    }
    if (!head.ends_with("requires")) return false;
    head.remove_suffix(std::string_view{"requires"}.size());
    head = trimmed(head);
    for (const std::string_view before : {"requires", "&&", "||", "=", "!"}) {
      if (head.ends_with(before)) return true;
    }
    return false;
  }

  /// @p head without what stands in parentheses or angle brackets.
  static std::string outside_of_brackets(std::string_view head) {
    std::string result;
    int parentheses = 0;
    int angles = 0;
    for (const char c : head) {
      if (c == '(') ++parentheses;
      if (c == '<' && parentheses == 0) ++angles;
      result += parentheses == 0 && angles == 0 ? c : ' ';
      if (c == ')') --parentheses;
      if (c == '>' && parentheses == 0 && angles > 0) --angles;
    }
    return result;
  }

  static std::string without_directives(std::string_view code) {
    std::string result{code};
    bool directive = false;
    std::size_t begin = 0;
    for (const std::string_view line : split_lines(code)) {
      directive = directive || trimmed(line).starts_with('#');
      if (directive) result.replace(begin, line.size(), line.size(), ' ');
      directive = directive && line.ends_with('\\');
      begin += line.size() + 1;
    }
    return result;
  }

  std::string code_;
  std::vector<FunctionBody> bodies_;
  std::size_t at_ = 0;
  std::size_t head_ = 0;
  int depth_ = 0;
};

}  // namespace style
