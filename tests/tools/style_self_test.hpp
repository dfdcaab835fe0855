#pragma once

// Tries every rule on small repositories that break it, and on one that keeps all of them: a rule
// that cannot fail would protect nothing.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "style_rules.hpp"

namespace style {

/// A repository of one file (or of more, if the rule is about several).
struct Sample {
  struct File {
    std::string path;
    std::string text;
  };

  std::string_view rule;
  std::vector<File> files{};
  std::string message;   ///< Part of the message that must be seen; empty: none at all.
  std::size_t line = 0;  ///< Where; 0: anywhere.
  std::set<std::string> top_level{"CMakeLists.txt", "LICENSE", "README.md", "benchmarks",
                                  "examples",       "include", "tests"};
};

[[nodiscard]] inline std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

/// A header of the library that begins as it should; @p text begins in line 2.
[[nodiscard]] inline Sample::File header(std::string_view text,
                                         std::string path = "include/brook/core/x.hpp") {
  return {std::move(path), "#pragma once\n" + std::string(text)};
}

[[nodiscard]] inline std::vector<Sample> layering_samples() {
  const auto includes = [](std::string path, std::string target, std::string message) {
    return Sample{.rule = "layering",
                  .files = {header("#include <brook/" + target + ">\n", "include/brook/" + path)},
                  .message = message,
                  .line = message.empty() ? 0U : 2U};
  };
  return {
      includes("core/x.hpp", "core/y.hpp", ""),
      includes("log/x.hpp", "storage/file/y.hpp", ""),
      includes("storage/file/x.hpp", "storage/y.hpp", ""),
      includes("group/x.hpp", "replication/y.hpp", ""),
      includes("log/x.hpp", "fwd.hpp", ""),
      includes("brook.hpp", "broker/broker.hpp", ""),
      includes("fwd.hpp", "core/ids.hpp", ""),
      includes("core/x.hpp", "log/y.hpp", "'core' (level 0) does not include 'log' (level 2)"),
      includes("core/x.hpp", "clock/y.hpp", "'core' (level 0) does not include 'clock' (level 1)"),
      includes("storage/x.hpp", "topic/y.hpp", "does not include 'topic'"),
      includes("storage/file/x.hpp", "clock/y.hpp", "does not include 'clock'"),
      includes("delivery/x.hpp", "log/y.hpp", "does not include 'log'"),
      includes("log/x.hpp", "delivery/y.hpp", "does not include 'delivery'"),
      includes("group/x.hpp", "broker/y.hpp", "does not include 'broker'"),
      includes("kafka/x.hpp", "testing/y.hpp", "does not include 'testing'"),
      includes("testing/x.hpp", "brook.hpp", "brook.hpp is for users"),
      includes("core/x.hpp", "fwd.hpp", "fwd.hpp includes core"),
      includes("fwd.hpp", "log/y.hpp", "fwd.hpp includes core alone"),
      includes("brook.hpp", "testing/y.hpp", "nothing includes 'testing'"),
      includes("log/x.hpp", "attic/y.hpp", "is in no folder that has a level"),
      Sample{.rule = "layering",
             .files = {header("\n", "include/brook/attic/x.hpp")},
             .message = "is in no folder that has a level"},
      Sample{.rule = "layering",
             .files = {header("#include \"y.hpp\"\n")},
             .message = "included as <brook/...>",
             .line = 2},
      Sample{
          .rule = "layering", .files = {header("// #include <brook/log/y.hpp>\n")}, .message = ""},
  };
}

[[nodiscard]] inline std::vector<Sample> function_samples() {
  const std::string body = " {\n" + repeated("  f({1});\n", 69) + "}\n";  // 71 lines
  const std::string short_body = " {\n" + repeated("  f({1});\n", 68) + "}\n";
  const auto found = [&](const std::string& before, std::size_t line = 2) {
    return Sample{.rule = "function_length",
                  .files = {header(before + body)},
                  .message = "the function has 7",
                  .line = line};
  };
  const auto passed = [](const std::string& text) {
    return Sample{.rule = "function_length", .files = {header(text)}, .message = ""};
  };
  return {
      found("void f()"),
      found("namespace a::b {\nclass X : Y<int> {\n public:\n  X() : a_{1}, b_{2}", 5),
      found("template <class T>\n  requires requires(T t) { t.f(); }\nauto f(T t)"),
      found("template <class T>\nvoid f() requires(sizeof(T) > 1)"),
      found("struct BROOK_CAPABILITY(\"mutex\") X {\n  bool operator<(const X& x) const", 3),
      found("struct X {\n  enum class E { a, b };\n  int a{1};\n  operator bool() const noexcept",
            5),
      found("#define BROOK_X(a) \\\n  {\nvoid f()", 4),
      found("inline const char brace = '{';\nint f()", 3),
      found("inline const char* text = R\"x({\")x\";\nint f()", 3),
      found("inline constexpr long number = 1'000'000;\nint f()", 3),
      found("inline constexpr auto f = [](int a)"),
      passed("void f()" + short_body + "void g()" + short_body),
      passed("struct X" + body.substr(0, body.size() - 1) + ";\n"),
      passed("namespace a" + body),
      passed("extern \"C\"" + body),
      passed("enum class X : int" + body),
      passed("inline constexpr int table[] =" + body),
      passed("template <class T> concept C = requires(T t)" + body),
      passed("/*" + body + "*/ void f() {}\n"),
  };
}

[[nodiscard]] inline std::vector<Sample> text_samples() {
  const std::string wide = "// " + repeated("\xE2\x80\x93", 97) + "\n";  // 100 columns, 294 bytes
  const std::string mark = std::string("TO") + "DO";
  return {
      {.rule = "header_length", .files = {header(repeated("\n", 600))}, .message = "601 lines"},
      {.rule = "header_length", .files = {header(repeated("\n", 599))}, .message = ""},
      {.rule = "line_length", .files = {header(wide)}, .message = ""},
      {.rule = "line_length", .files = {header("//" + wide)}, .message = "102 col", .line = 2},
      {.rule = "line_length",
       .files = {{"tests/unit/core/x.cpp", repeated("x", 101) + "\n"}},
       .message = "101 columns"},
      {.rule = "white_space", .files = {header("\tint a;\n")}, .message = "a tab", .line = 2},
      {.rule = "white_space", .files = {header("int a; \n")}, .message = "ends with white"},
      {.rule = "white_space", .files = {header("int a;\r\n")}, .message = "ends with white"},
      {.rule = "white_space", .files = {header("int a;")}, .message = "end with a line break"},
      {.rule = "white_space", .files = {header("int a;\n\n")}, .message = "an empty line"},
      {.rule = "white_space", .files = {{"tests/run.sh", "a \n"}}, .message = "ends with white"},
      {.rule = "unfinished", .files = {header("// " + mark + "\n")}, .message = mark, .line = 2},
      {.rule = "unfinished",
       .files = {header("const char* a = \"" + mark + "\";\n")},
       .message = ""},
      {.rule = "unfinished", .files = {header("// m" + mark + "s\n")}, .message = ""},
      {.rule = "pragma_once",
       .files = {{"tests/support/x.hpp", "// A comment.\n\n#pragma once\n"}},
       .message = ""},
      {.rule = "pragma_once",
       .files = {{"include/brook/core/x.hpp", "#include <a>\n#pragma once\n"}},
       .message = "begins with '#pragma once'"},
      {.rule = "pragma_once",
       .files = {{"include/brook/core/x.hpp", "// #pragma once\n"}},
       .message = "begins with '#pragma once'"},
  };
}

[[nodiscard]] inline std::vector<Sample> name_samples() {
  const auto sample = [](std::string_view rule, std::string_view text, std::string message) {
    return Sample{.rule = rule, .files = {header(text)}, .message = message};
  };
  return {
      sample("using_namespace", "using namespace std;\n", "'using namespace' in a header"),
      sample("using_namespace", "void f() {\n  using  namespace std;\n}\n", "'using namespace'"),
      sample("using_namespace", "/// using namespace brook::literals;\nusing A = int;\n", ""),
      sample("costly_includes", "#include <functional>\n", "<functional> costs"),
      sample("costly_includes", "#  include <iostream>\n", "<iostream> costs"),
      sample("costly_includes", "#include <vector>\n", ""),
      {.rule = "costly_includes",
       .files = {header("#include <filesystem>\n", "include/brook/storage/x.hpp")},
       .message = "<filesystem> costs"},
      {.rule = "costly_includes",
       .files = {header("#include <filesystem>\n", "include/brook/storage/file/x.hpp")},
       .message = ""},
      sample("std_list", "inline std::list<int> a;\n", "std::list allocates"),
      sample("std_list", "#include <list>\n", "std::list allocates"),
      sample("std_list", "/// Better than std::list.\ninline std::listing b;\n", ""),
      sample("reserved_names", "inline int _Size = 1;\n", "'_Size' is reserved"),
      sample("reserved_names", "inline int a__b = 1;\n", "'a__b' is reserved"),
      sample("reserved_names", "#define __BROOK 1\n", "'__BROOK' is reserved"),
      sample("reserved_names", "#if defined(__clang__)\n#endif\n", ""),
      sample("reserved_names", "inline int a = __builtin_ctz(1) + 64_KiB;\n", ""),
      sample("reserved_names", "int operator\"\"_KiB(int);\nint b = \"x\"_Text + \"__x\";\n", ""),
      sample("macro_names", "#define CHECK_IT(x) x\n", "'CHECK_IT' does not begin BROOK_"),
      sample("macro_names", "# define BROOK_X 1\n", ""),
  };
}

[[nodiscard]] inline std::vector<Sample> repository_samples() {
  const Sample::File x = header("\n", "include/brook/storage/file/x.hpp");
  const std::string test = "tests/unit/storage/file/x.cpp";
  const std::string first = "#include <brook/storage/file/x.hpp>\n";
  return {
      {.rule = "mirrored_tests", .files = {x, {test, "// A test.\n\n" + first}}, .message = ""},
      {.rule = "mirrored_tests", .files = {header("\n", "include/brook/fwd.hpp")}, .message = ""},
      {.rule = "mirrored_tests", .files = {x}, .message = "there is no tests/unit/"},
      {.rule = "mirrored_tests",
       .files = {x, {test, "#include <vector>\n" + first}},
       .message = "the first include is <brook/storage/file/x.hpp>",
       .line = 1},
      {.rule = "mirrored_tests", .files = {x, {test, "\n"}}, .message = "the first include is"},
      {.rule = "top_level", .message = ""},
      {.rule = "top_level",
       .message = "does not belong",
       .top_level = {"CMakeLists.txt", "LICENSE", "README.md", "benchmarks", "cmake", "examples",
                     "include", "tests"}},
      {.rule = "top_level",
       .message = "is missing",
       .top_level = {"CMakeLists.txt", "LICENSE", "benchmarks", "examples", "include", "tests"}},
      {.rule = "top_level",
       .message = "",
       .top_level = {"CMakeLists.txt", "LICENSE", "README.md", "benchmarks", "build-clang",
                     "examples", "include", "tests"}},
  };
}

/// Whether the sample's rule says what it should.
[[nodiscard]] inline bool behaves(const Sample& sample) {
  Repository repository{.top_level = sample.top_level};
  for (const Sample::File& file : sample.files) repository.files.emplace_back(file.path, file.text);
  Report report;
  for (const Rule& rule : rules()) {
    if (rule.name == sample.rule) rule.check(repository, report);
  }
  const std::vector<Violation>& found = report.violations();
  const bool as_wanted =
      sample.message.empty()
          ? found.empty()
          : std::any_of(found.begin(), found.end(), [&](const Violation& violation) {
              return violation.message.find(sample.message) != std::string::npos &&
                     (sample.line == 0 || violation.line == sample.line);
            });
  if (as_wanted) return true;
  std::printf("rule %s: expected '%s' in line %zu of\n%s\nbut it said:\n",
              std::string(sample.rule).c_str(), sample.message.c_str(), sample.line,
              sample.files.empty() ? "(no file)" : sample.files.front().text.c_str());
  for (const Violation& violation : found) {
    std::printf("  %s:%zu: %s\n", violation.file.c_str(), violation.line,
                violation.message.c_str());
  }
  return false;
}

[[nodiscard]] inline int self_test() {
  std::vector<Sample> samples;
  for (const auto& part : {layering_samples(), function_samples(), text_samples(), name_samples(),
                           repository_samples()}) {
    samples.insert(samples.end(), part.begin(), part.end());
  }
  int failures = 0;
  for (const Sample& sample : samples) failures += behaves(sample) ? 0 : 1;
  for (const Rule& rule : rules()) {
    const bool tried = std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.rule == rule.name && !sample.message.empty();
    });
    if (tried) continue;
    ++failures;
    std::printf("rule %s: no sample breaks it\n", std::string(rule.name).c_str());
  }
  std::printf("%zu samples for %zu rules, %d failed\n", samples.size(), rules().size(), failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace style
