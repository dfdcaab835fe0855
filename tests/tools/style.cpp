// The style of brook's source text as a test. The standard library is all it needs.
//
//   brook_style <root of the repository>   reports every violation as "file:line: message [rule]"
//   brook_style --self-test                shows that every rule can fail
//
// The rules stand in style_rules.hpp.

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "style_rules.hpp"
#include "style_self_test.hpp"

namespace {

namespace fs = std::filesystem;

[[nodiscard]] std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Whether the rules of the text apply to it: sources and scripts, but no data.
[[nodiscard]] bool is_source(const fs::path& path) {
  static const std::set<std::string> extensions{".hpp", ".cpp", ".cmake", ".sh"};
  return extensions.contains(path.extension().string()) || path.filename() == "CMakeLists.txt";
}

[[nodiscard]] style::Repository load(const fs::path& root) {
  style::Repository repository;
  for (const fs::directory_entry& entry : fs::directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.')) continue;
    repository.top_level.insert(name);
  }
  std::set<fs::path> paths{root / "CMakeLists.txt"};
  for (const char* const folder : {"include", "examples", "tests", "benchmarks"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && is_source(entry.path())) paths.insert(entry.path());
    }
  }
  for (const fs::path& path : paths) {
    repository.files.emplace_back(path.lexically_relative(root).generic_string(), read_file(path));
  }
  return repository;
}

[[nodiscard]] int check(const fs::path& root) {
  const style::Repository repository = load(root);
  std::size_t violations = 0;
  for (const style::Rule& rule : style::rules()) {
    style::Report report;
    rule.check(repository, report);
    violations += report.violations().size();
    for (const style::Violation& violation : report.violations()) {
      std::printf("%s:%zu: %s [%s]\n", violation.file.c_str(), violation.line,
                  violation.message.c_str(), std::string(rule.name).c_str());
    }
  }
  std::printf("%zu files, %zu rules, %zu violations\n", repository.files.size(),
              style::rules().size(), violations);
  return violations == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: brook_style <root of the repository>");
    if (std::string_view(argv[1]) == "--self-test") return style::self_test();
    return check(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
