#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace workload {

/// Prints one line per benchmark, the median of its repetitions, and in the end the table of
/// `TopicTrie` against the others. Benchmarks in the table are named <measure>/<index>/<size>;
/// a counter named bytes... is a measure of its own.
class SummaryReporter : public benchmark::ConsoleReporter {
 public:
  SummaryReporter() : ConsoleReporter(OO_None) {}

  bool ReportContext(const Context& context) override {
    Context narrow = context;
    narrow.name_field_width = std::min<std::size_t>(context.name_field_width, 40);
    return ConsoleReporter::ReportContext(narrow);
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> shown;
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Aggregate ? run.aggregate_name != "median"
                                            : run.repetitions > 1) {
        continue;
      }
      shown.push_back(run);
      Run& line = shown.back();
      line.run_name.iterations.clear();
      line.run_name.repetitions.clear();
      line.aggregate_name.clear();
      line.run_type = Run::RT_Iteration;
      keep(run);
    }
    if (!shown.empty()) ConsoleReporter::ReportRuns(shown);
  }

  void Finalize() override {
    for (const std::size_t size : sizes_) print_table(size);
    std::fflush(stdout);
  }

 private:
  struct Index {
    std::string_view name;
    std::string_view heading;
  };
  struct Measure {
    std::string_view name;
    std::string_view heading;
    /// By size: the best baseline is to take so many times what TopicTrie takes.
    std::map<std::size_t, double> least_ratio{};
    std::map<std::size_t, double> most{};
  };

  void keep(const Run& run) {
    const std::string& name = run.run_name.function_name;
    const std::size_t first = name.find('/');
    const std::size_t second = name.find('/', first + 1);
    if (second == name.npos || run.error_occurred) return;
    const std::size_t size = std::stoul(name.substr(second + 1));
    const std::string index = name.substr(first + 1, second - first - 1);
    sizes_.insert(size);
    values_[{size, name.substr(0, first), index}] = run.GetAdjustedCPUTime();
    for (const auto& [counter, value] : run.counters) {
      if (counter.starts_with("bytes")) values_[{size, counter, index}] = value.value;
    }
  }

  [[nodiscard]] std::optional<double> value(std::size_t size, std::string_view measure,
                                            std::string_view index) const {
    const auto known = values_.find({size, std::string(measure), std::string(index)});
    return known == values_.end() ? std::nullopt : std::optional(known->second);
  }

  void print_table(std::size_t size) const {
    static const std::array<Index, 6> indexes{{{"trie", "TopicTrie"},
                                               {"level_maps", "level maps"},
                                               {"locked_level_maps", "locked maps"},
                                               {"cached_level_maps", "cached maps"},
                                               {"node_table", "node table"},
                                               {"mosquitto", "mosquitto"}}};
    static const std::array<Measure, 8> measures{{
        {"insert", "insert, ns"},
        {"cold", "cold match, ns", {{1'000, 3}, {100'000, 5}, {1'000'000, 5}}},
        {"hot", "hot match, ns"},
        {"zipf", "zipf match, ns"},
        {"handle", "match by handle, ns"},
        {"erase", "erase, ns"},
        {"bytes", "bytes", {}, {{1'000, 170}, {100'000, 155}, {1'000'000, 135}}},
        {"bytes_left", "bytes left"},
    }};
    std::printf("\n%-22s", (std::to_string(size) + " subscriptions").c_str());
    for (const Index& index : indexes) std::printf("%12s", index.heading.data());
    std::printf("   best / trie  wanted\n");
    for (const Measure& measure : measures) {
      std::optional<double> best;
      bool any = false;
      for (const Index& index : indexes) {
        const auto taken = value(size, measure.name, index.name);
        any = any || taken;
        if (taken && &index != indexes.begin()) best = std::min(*taken, best.value_or(*taken));
      }
      if (any) print_row(size, measure, indexes, best);
    }
  }

  void print_row(std::size_t size, const Measure& measure, const std::array<Index, 6>& indexes,
                 std::optional<double> best) const {
    std::printf("%-22s", measure.heading.data());
    for (const Index& index : indexes) {
      const auto taken = value(size, measure.name, index.name);
      taken ? std::printf("%12.*f", *taken < 10 ? 1 : 0, *taken) : std::printf("%12s", "-");
    }
    const auto ours = value(size, measure.name, indexes[0].name);
    if (ours && best) {
      // Less than a byte or a nanosecond is nothing to compare with.
      *ours >= 1 ? std::printf("%14.2f", *best / *ours) : std::printf("%14s", "-");
    }
    if (const auto least = measure.least_ratio.find(size);
        ours && best && least != measure.least_ratio.end()) {
      std::printf("  >= %.0f%s", least->second, *best < least->second * *ours ? ", missed" : "");
    }
    if (const auto most = measure.most.find(size); ours && most != measure.most.end()) {
      std::printf("  <= %.0f bytes%s", most->second, *ours > most->second ? ", missed" : "");
    }
    std::printf("\n");
  }

  std::set<std::size_t> sizes_{};
  std::map<std::tuple<std::size_t, std::string, std::string>, double> values_{};
};

}  // namespace workload
