// Runs a fuzz target over stored inputs with any compiler: every argument is a file, or a folder of
// files. The empty input is always tried first. An input that breaks the target ends the program.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void replay(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // A copy of exactly that size, so that the address sanitizer sees a read beyond its end.
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  std::printf("%s (%zu bytes)\n", path.string().c_str(), bytes.size());
  std::fflush(stdout);
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  LLVMFuzzerTestOneInput(nullptr, 0);
  std::set<std::filesystem::path> inputs;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path argument = argv[i];
    if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument)) {
        if (entry.is_regular_file()) inputs.insert(entry.path());
      }
    } else if (std::filesystem::exists(argument)) {
      inputs.insert(argument);
    } else {
      std::fprintf(stderr, "%s: no such file or folder\n", argv[i]);
      return 1;
    }
  }
  for (const std::filesystem::path& input : inputs) replay(input);
  std::printf("replayed %zu inputs and the empty one\n", inputs.size());
  return 0;
}
