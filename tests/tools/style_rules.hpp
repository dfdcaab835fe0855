#pragma once

// The rules of the source text. Each is a function that looks at the whole repository and reports
// what breaks it; `rules()` lists them all.

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "function_bodies.hpp"
#include "source_text.hpp"

namespace style {

struct Repository {
  std::set<std::string> top_level{};  ///< Names of its files and folders, dot entries left out.
  std::deque<SourceFile> files{};
};

struct Violation {
  std::string file{};
  std::size_t line = 0;
  std::string message{};
};

class Report {
 public:
  void add(const std::string& file, std::size_t line, std::string message) {
    violations_.push_back({file, line, std::move(message)});
  }
  [[nodiscard]] const std::vector<Violation>& violations() const { return violations_; }

 private:
  std::vector<Violation> violations_;
};

struct Rule {
  std::string_view name;
  void (*check)(const Repository&, Report&);
};

// -------------------------------------------------------------------------------------- layering

/// An include may only point to a lower level or to the same folder. Who wants a new folder gives
/// it a level here.
struct Level {
  std::string_view folder;
  int level = 0;
};
inline constexpr std::array levels{
    Level{"core", 0},   Level{"clock", 1},    Level{"storage", 1}, Level{"topic", 1},
    Level{"log", 2},    Level{"delivery", 2}, Level{"group", 3},   Level{"replication", 2},
    Level{"broker", 4}, Level{"testing", 5},  Level{"kafka", 5},   Level{"metrics", 5},
};
inline constexpr int leaf_level = 5;  ///< Nothing else includes a folder of this level.

[[nodiscard]] inline std::optional<int> level_of(std::string_view folder) {
  for (const Level& level : levels) {
    if (level.folder == folder) return level.level;
  }
  return std::nullopt;
}

/// "core" of "brook/core/bytes.hpp"; empty for "brook/brook.hpp".
[[nodiscard]] inline std::string_view folder_of(std::string_view header) {
  header.remove_prefix(std::string_view{"brook/"}.size());
  const std::size_t end = header.find('/');
  return end == header.npos ? std::string_view{} : header.substr(0, end);
}

/// What is wrong with including @p to in @p from, both like "brook/core/bytes.hpp"; empty if fine.
[[nodiscard]] inline std::string layering_problem(std::string_view from, std::string_view to) {
  const std::string_view from_folder = folder_of(from);
  const std::string_view to_folder = folder_of(to);
  if (to == "brook/brook.hpp") return "brook.hpp is for users; include the header that is meant";
  if (to == "brook/fwd.hpp") {
    return from_folder == "core" ? "fwd.hpp includes core, so core does not include it" : "";
  }
  const std::optional<int> to_level = level_of(to_folder);
  if (!to_level) return "'" + std::string(to) + "' is in no folder that has a level";
  if (from == "brook/brook.hpp") {
    return to_level == leaf_level ? "nothing includes '" + std::string(to_folder) + "'" : "";
  }
  if (from == "brook/fwd.hpp") return to_folder == "core" ? "" : "fwd.hpp includes core alone";
  const std::optional<int> from_level = level_of(from_folder);
  if (!from_level) return "'" + std::string(from) + "' is in no folder that has a level";
  if (from_folder == to_folder || *to_level < *from_level) return "";
  return "'" + std::string(from_folder) + "' (level " + std::to_string(*from_level) +
         ") does not include '" + std::string(to_folder) + "' (level " + std::to_string(*to_level) +
         ")";
}

inline void check_layering(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    const std::string_view name = std::string_view{file.path()}.substr(std::size("include/") - 1);
    const bool root = name == "brook/brook.hpp" || name == "brook/fwd.hpp";
    if (!root && !level_of(folder_of(name))) {
      report.add(file.path(), 1, "the file is in no folder that has a level (style_rules.hpp)");
      continue;
    }
    for (const Include& include : file.includes()) {
      if (include.quoted) {
        report.add(file.path(), include.line, "headers of brook are included as <brook/...>");
      } else if (include.target.starts_with("brook/")) {
        const std::string problem = layering_problem(name, include.target);
        if (!problem.empty()) report.add(file.path(), include.line, problem);
      }
    }
  }
}

// ------------------------------------------------------------------------------------------ size

inline constexpr std::size_t max_header_lines = 600;
inline constexpr std::size_t max_function_lines = 70;
inline constexpr std::size_t max_columns = 100;

inline void check_header_length(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_header() || file.lines().size() <= max_header_lines) continue;
    report.add(file.path(), max_header_lines + 1,
               "the header has " + std::to_string(file.lines().size()) + " lines, more than " +
                   std::to_string(max_header_lines));
  }
}

inline void check_function_length(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    const FunctionFinder finder{file.code()};
    for (const FunctionBody& body : finder.bodies()) {
      const std::size_t first = file.line_of(body.begin);
      const std::size_t lines = file.line_of(body.end) - first + 1;
      if (lines <= max_function_lines) continue;
      report.add(file.path(), first,
                 "the function has " + std::to_string(lines) + " lines, more than " +
                     std::to_string(max_function_lines));
    }
  }
}

/// Code points of UTF-8 text.
[[nodiscard]] inline std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

inline void check_line_length(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_cpp()) continue;
    for (std::size_t i = 0; i < file.lines().size(); ++i) {
      const std::size_t width = columns(file.lines()[i]);
      if (width <= max_columns) continue;
      report.add(file.path(), i + 1,
                 "the line has " + std::to_string(width) + " columns, more than " +
                     std::to_string(max_columns));
    }
  }
}

// ------------------------------------------------------------------------------------------ text

inline void check_white_space(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    for (std::size_t i = 0; i < file.lines().size(); ++i) {
      const std::string_view line = file.lines()[i];
      if (line.find('\t') != line.npos) report.add(file.path(), i + 1, "the line has a tab");
      if (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r')) {
        report.add(file.path(), i + 1, "the line ends with white space");
      }
    }
    if (file.text().empty() || file.text().back() != '\n') {
      report.add(file.path(), file.lines().size(), "the file does not end with a line break");
    } else if (file.text().ends_with("\n\n")) {
      report.add(file.path(), file.lines().size(), "the file ends with an empty line");
    }
  }
}

inline void check_unfinished(const Repository& repository, Report& report) {
  // In two parts, so that this file does not break its own rule.
  for (const std::string& mark :
       {std::string("TO") + "DO", std::string("FIX") + "ME", std::string("XX") + "X"}) {
    for (const SourceFile& file : repository.files) {
      if (!file.is_cpp()) continue;
      const std::string_view text = file.without_literals();
      for (std::size_t at = find_word(text, mark); at != text.npos;
           at = find_word(text, mark, at + 1)) {
        report.add(file.path(), file.line_of(at), mark + " marks unfinished work");
      }
    }
  }
}

inline void check_pragma_once(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_header()) continue;
    const auto& lines = file.code_lines();
    const auto first = std::find_if(lines.begin(), lines.end(),
                                    [](std::string_view line) { return !trimmed(line).empty(); });
    if (first != lines.end() && trimmed(*first) == "#pragma once") continue;
    report.add(file.path(), 1, "a header begins with '#pragma once'");
  }
}

// ----------------------------------------------------------------------------------------- names

inline void check_using_namespace(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    const std::vector<Word> all = words(file.code());
    for (std::size_t i = 0; i + 1 < all.size(); ++i) {
      if (all[i].text == "using" && all[i + 1].text == "namespace") {
        report.add(file.path(), file.line_of(all[i].position), "'using namespace' in a header");
      }
    }
  }
}

inline void check_costly_includes(const Repository& repository, Report& report) {
  static constexpr std::array<std::string_view, 5> costly{"filesystem", "functional", "iostream",
                                                          "random", "regex"};
  static constexpr std::array<std::string_view, 4> allowed_in{
      "include/brook/kafka/", "include/brook/metrics/", "include/brook/storage/file/",
      "include/brook/testing/"};
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    if (std::any_of(allowed_in.begin(), allowed_in.end(),
                    [&](std::string_view folder) { return file.is_in(folder); })) {
      continue;
    }
    for (const Include& include : file.includes()) {
      if (std::find(costly.begin(), costly.end(), include.target) == costly.end()) continue;
      report.add(file.path(), include.line,
                 "<" + std::string(include.target) + "> costs every user compile time");
    }
  }
}

inline void check_std_list(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    const std::string_view code = file.code();
    for (std::size_t at = find_word(code, "std::list"); at != code.npos;
         at = find_word(code, "std::list", at + 1)) {
      report.add(file.path(), file.line_of(at), "std::list allocates for every element");
    }
    for (const Include& include : file.includes()) {
      if (include.target != "list") continue;
      report.add(file.path(), include.line, "std::list allocates for every element");
    }
  }
}

[[nodiscard]] inline bool is_reserved(std::string_view word) {
  if (word.find("__") != word.npos) return true;
  return word.size() > 1 && word[0] == '_' && word[1] >= 'A' && word[1] <= 'Z';
}

/// Reserved names that compilers offer for use.
[[nodiscard]] inline bool is_offered(std::string_view word) {
  static constexpr std::array<std::string_view, 9> names{
      "__FILE__", "__LINE__", "__VA_ARGS__", "__VA_OPT__",   "__attribute__",
      "__func__", "__int128", "__asm__",     "__extension__"};
  return word.starts_with("__builtin_") || word.starts_with("__has_") ||
         std::find(names.begin(), names.end(), word) != names.end();
}

/// Name that the directive @p line defines, empty if it defines none.
[[nodiscard]] inline std::string_view defined_name(std::string_view line) {
  const std::vector<Word> all = words(line);
  if (!trimmed(line).starts_with('#') || all.size() < 2 || all[0].text != "define") return {};
  return all[1].text;
}

inline void check_reserved_names(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    for (std::size_t i = 0; i < file.code_lines().size(); ++i) {
      const std::string_view line = file.code_lines()[i];
      const std::string_view defined = defined_name(line);
      const bool directive = trimmed(line).starts_with('#');
      for (const Word& word : words(line)) {
        if (!is_reserved(word.text)) continue;
        // Directives ask for predefined macros; what they define is another matter.
        const bool asks = directive && word.text != defined;
        if (asks || (word.text != defined && is_offered(word.text))) continue;
        report.add(
            file.path(), i + 1,
            "'" + std::string(word.text) + "' is reserved for compilers and their libraries");
      }
    }
  }
}

inline void check_macro_names(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    for (std::size_t i = 0; i < file.code_lines().size(); ++i) {
      const std::string_view name = defined_name(file.code_lines()[i]);
      if (name.empty() || name.starts_with("BROOK_")) continue;
      report.add(file.path(), i + 1, "macro '" + std::string(name) + "' does not begin BROOK_");
    }
  }
}

// ------------------------------------------------------------------------------------ the whole

/// include/brook/<folder>/<x>.hpp has tests/unit/<folder>/<x>.cpp, which includes it first.
inline void check_mirrored_tests(const Repository& repository, Report& report) {
  for (const SourceFile& file : repository.files) {
    if (!file.is_library_header()) continue;
    const std::string name = file.path().substr(std::size("include/") - 1);
    if (folder_of(name).empty()) continue;
    std::string test = "tests/unit/" + name.substr(std::size("brook/") - 1);
    test.replace(test.size() - 4, 4, ".cpp");
    const auto found = std::find_if(repository.files.begin(), repository.files.end(),
                                    [&](const SourceFile& other) { return other.path() == test; });
    if (found == repository.files.end()) {
      report.add(file.path(), 1, "there is no " + test);
    } else if (found->includes().empty() || found->includes().front().target != name) {
      const std::size_t line = found->includes().empty() ? 1 : found->includes().front().line;
      report.add(test, line, "the first include is <" + name + ">");
    }
  }
}

inline void check_top_level(const Repository& repository, Report& report) {
  static const std::set<std::string> wanted{"CMakeLists.txt", "LICENSE", "README.md", "benchmarks",
                                            "examples",       "include", "tests"};
  for (const std::string& name : repository.top_level) {
    if (wanted.contains(name) || name.starts_with("build")) continue;
    report.add(name, 1, "does not belong to the top level of the repository");
  }
  for (const std::string& name : wanted) {
    if (!repository.top_level.contains(name)) report.add(name, 1, "is missing at the top level");
  }
}

[[nodiscard]] inline std::span<const Rule> rules() {
  static constexpr std::array all{
      Rule{"layering", check_layering},
      Rule{"header_length", check_header_length},
      Rule{"function_length", check_function_length},
      Rule{"line_length", check_line_length},
      Rule{"white_space", check_white_space},
      Rule{"unfinished", check_unfinished},
      Rule{"pragma_once", check_pragma_once},
      Rule{"using_namespace", check_using_namespace},
      Rule{"costly_includes", check_costly_includes},
      Rule{"std_list", check_std_list},
      Rule{"reserved_names", check_reserved_names},
      Rule{"macro_names", check_macro_names},
      Rule{"mirrored_tests", check_mirrored_tests},
      Rule{"top_level", check_top_level},
  };
  return all;
}

}  // namespace style
