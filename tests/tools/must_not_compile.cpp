// Checks that misuse does not compile, and for the right reason.
//
//   brook_must_not_compile --compiler-id <GNU|Clang> --work-dir <dir> <file> --
//       <compiler> <flags>...
//
// The file holds numbered cases, of which the macro BROOK_CASE selects one:
//
//   #include <brook/core/bytes.hpp>
//
//   // case 1: nullptr is not bytes ; expects: use of deleted function|selects deleted
//   #if BROOK_CASE == 1
//   brook::Bytes bytes = nullptr;
//   #endif
//
// Every case must be refused with diagnostics in which the regular expression (ECMAScript) is
// found; the text behind "expects:" may also stand on the next line, as a comment of its own.
// Source lines that the compiler quotes do not count. Case 0, which is what no case selects, must
// compile without a diagnostic: it shows that nothing but the case is wrong, and is the place for
// the correct use.
// `// case 2 [Clang]: ...` is for one compiler alone.
//
// With --self-test instead of a file, the checks are tried on files that must fail them.

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/wait.h>

namespace {

struct Case {
  int number = 0;
  int line = 0;
  std::string compiler_id{};  // empty: every compiler
  std::string description{};
  std::string expects{};
};

struct CompilerRun {
  bool accepted = false;
  std::string output{};
};

struct Options {
  std::string compiler_id{};
  std::string work_dir{};
  std::string file{};
  bool self_test = false;
  std::vector<std::string> compiler{};
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string quoted(std::string_view argument) {
  std::string result = "'";
  for (const char c : argument) result += c == '\'' ? std::string{"'\\''"} : std::string{c};
  return result + "'";
}

std::string trimmed(std::string text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Reads the descriptions of all cases. What is wrong with them is appended to @p problems.
std::vector<Case> parse_cases(const std::string& file, const std::string& text,
                              std::vector<std::string>& problems) {
  static const std::regex head{R"(^\s*// case (\d+)(?: \[(\w+)\])?: (.*)$)"};
  static const std::regex continuation{R"(^\s*//\s*expects: (.*)$)"};
  static const std::regex selection{R"(BROOK_CASE == (\d+))"};
  std::vector<Case> cases;
  std::vector<int> selected;
  std::istringstream lines{text};
  std::string line;
  const auto report = [&](int number, const std::string& message) {
    problems.push_back(file + ":" + std::to_string(number) + ": " + message);
  };
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_match(line, match, head)) {
      Case found{.number = std::stoi(match[1]), .line = number, .compiler_id = match[2]};
      const std::string rest = match[3];
      const std::size_t semicolon = rest.find(" ; expects: ");
      found.description = trimmed(rest.substr(0, semicolon));
      if (semicolon != std::string::npos) found.expects = trimmed(rest.substr(semicolon + 12));
      cases.push_back(found);
    } else if (std::regex_match(line, match, continuation) && !cases.empty()) {
      cases.back().expects = trimmed(match[1]);
    } else if (std::regex_search(line, match, selection)) {
      selected.push_back(std::stoi(match[1]));
    }
  }
  if (cases.empty()) report(1, "there is no case in this file");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& found = cases[i];
    const std::string name = "case " + std::to_string(found.number);
    if (found.number != static_cast<int>(i) + 1) {
      report(found.line, name + " should be case " + std::to_string(i + 1) + ": count from 1");
    }
    if (found.expects.empty()) report(found.line, name + " does not say what it expects");
    if (std::count(selected.begin(), selected.end(), found.number) == 0) {
      report(found.line, name + " has no code: there is no '#if BROOK_CASE == " +
                             std::to_string(found.number) + "'");
    }
  }
  for (const int number : selected) {
    if (std::none_of(cases.begin(), cases.end(),
                     [&](const Case& found) { return found.number == number; })) {
      report(1, "there is code for case " + std::to_string(number) + ", but no description");
    }
  }
  return cases;
}

CompilerRun compile(const Options& options, const std::string& file, int number) {
  std::string command;
  for (const std::string& argument : options.compiler) command += quoted(argument) + " ";
  command +=
      options.compiler_id == "GNU" ? "-fno-diagnostics-show-caret" : "-fno-caret-diagnostics";
  command += " -DBROOK_CASE=" + std::to_string(number) + " " + quoted(file) + " 2>&1";
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("the compiler cannot be started: " + command);
  CompilerRun run;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    run.output.append(buffer.data(), size);
  }
  const int status = ::pclose(pipe);
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
    throw std::runtime_error("the compiler failed: " + command + "\n" + run.output);
  }
  run.accepted = WEXITSTATUS(status) == 0;
  return run;
}

/// Compiles every case of @p file. Returns what is wrong, empty if nothing is.
std::vector<std::string> check(const Options& options, const std::string& file) {
  std::vector<std::string> problems;
  const std::vector<Case> cases = parse_cases(file, read_file(file), problems);
  if (!problems.empty()) return problems;

  const CompilerRun correct = compile(options, file, 0);
  if (!correct.accepted || !correct.output.empty()) {
    problems.push_back(file + ":1: case 0 must compile without a diagnostic:\n" + correct.output);
    return problems;
  }
  for (const Case& found : cases) {
    const std::string name =
        "case " + std::to_string(found.number) + " (" + found.description + ")";
    if (!found.compiler_id.empty() && found.compiler_id != options.compiler_id) {
      std::printf("left out: %s is for %s\n", name.c_str(), found.compiler_id.c_str());
      continue;
    }
    const CompilerRun run = compile(options, file, found.number);
    const std::string where = file + ":" + std::to_string(found.line) + ": " + name;
    if (run.accepted) {
      problems.push_back(where + " compiles, but must not");
    } else if (!std::regex_search(run.output, std::regex{found.expects})) {
      problems.push_back(where + " is refused, but '" + found.expects +
                         "' is not found in the diagnostics:\n" + run.output);
    } else {
      std::printf("refused: %s\n", name.c_str());
    }
  }
  return problems;
}

/// Files that must fail a check, with the message that must be seen; the first one must pass.
int self_test(const Options& options) {
  struct Sample {
    std::string name, text, message;
  };
  const std::string code = "#if BROOK_CASE == 1\nint number = nullptr;\n#endif\n";
  const std::vector<Sample> samples{
      {"correct", "// case 1: a pointer is no number ; expects: nullptr\n" + code, ""},
      {"next_line", "// case 1: a pointer is no number\n// expects: nullptr\n" + code, ""},
      {"template",
       "template <class T> void f() { static_assert(sizeof(T) == 0, \"never\"); }\n"
       "// case 1: a body that does not compile ; expects: never\n"
       "#if BROOK_CASE == 1\nvoid g() { f<int>(); }\n#endif\n",
       ""},
      {"compiles", "// case 1: fine ; expects: x\n#if BROOK_CASE == 1\nint number = 1;\n#endif\n",
       "compiles, but must not"},
      {"other_reason", "// case 1: a pointer is no number ; expects: wrong colour\n" + code,
       "is not found in the diagnostics"},
      {"quoted_source",
       "// case 1: the source is not a diagnostic ; expects: int number =\n" + code,
       "is not found in the diagnostics"},
      {"case_0", "int other = nullptr;\n// case 1: as above ; expects: nullptr\n" + code,
       "case 0 must compile"},
      {"warning", "int f() { int unused = 1; return 2; }\n// case 1: a ; expects: nullptr\n" + code,
       "case 0 must compile without a diagnostic"},
      {"no_case", "int number = 1;\n", "there is no case"},
      {"no_regex", "// case 1: a pointer is no number\n" + code, "does not say what it expects"},
      {"no_code", "// case 1: nothing ; expects: x\n", "has no code"},
      {"no_description", code, "no description"},
      {"miscounted", "// case 2: a ; expects: x\n#if BROOK_CASE == 2\nint a = b;\n#endif\n",
       "count from 1"},
  };
  int failures = 0;
  for (const Sample& sample : samples) {
    const std::string file = options.work_dir + "/self_test_" + sample.name + ".cpp";
    std::ofstream{file} << sample.text;
    const std::vector<std::string> problems = check(options, file);
    const bool as_wanted =
        sample.message.empty()
            ? problems.empty()
            : std::any_of(problems.begin(), problems.end(), [&](const auto& found) {
                return found.find(sample.message) != std::string::npos;
              });
    if (as_wanted) continue;
    ++failures;
    std::printf("self-test '%s' failed: expected '%s', got:\n", sample.name.c_str(),
                sample.message.c_str());
    for (const std::string& problem : problems) std::printf("  %s\n", problem.c_str());
  }
  std::printf("%zu samples, %d of them not as wanted\n", samples.size(), failures);
  return failures == 0 ? 0 : 1;
}

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto value = [&] { return ++i < arguments.size() ? arguments[i] : std::string{}; };
    if (argument == "--") {
      options.compiler.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                              arguments.end());
      break;
    }
    if (argument == "--compiler-id") {
      options.compiler_id = value();
    } else if (argument == "--work-dir") {
      options.work_dir = value();
    } else if (argument == "--self-test") {
      options.self_test = true;
    } else {
      options.file = argument;
    }
  }
  if (options.compiler.empty()) throw std::runtime_error("no compiler given behind '--'");
  if (options.file.empty() && !options.self_test) throw std::runtime_error("no file given");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options({argv + 1, argv + argc});
    if (options.self_test) return self_test(options);
    const std::vector<std::string> problems = check(options, options.file);
    for (const std::string& problem : problems) std::printf("%s\n", problem.c_str());
    return problems.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
