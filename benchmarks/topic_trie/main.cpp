#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#if defined(BROOK_BENCHMARK_MOSQUITTO)
#include <mosquitto.h>
#endif

#include <brook/topic/topic_trie.hpp>

#include "baselines.hpp"
#include "summary.hpp"
#include "workload.hpp"

// TopicTrie with 1,000, 100,000 and 1,000,000 subscriptions. Time is CPU time, the median of some
// repetitions:
//
//   insert   per subscription, into an index that grows from nothing
//   cold     match of 200,000 different topics, none of them twice
//   hot      match of topics drawn evenly from 500
//   zipf     match of topics drawn from 10,000, the i-th with a weight of 1/i
//   erase    per subscription, in random order, until none is left
//
// The counter `bytes` is the heap memory a subscription takes, text of its pattern included,
// when all are there (glibc alone tells), `bytes_left` what is still taken once all are erased,
// `matches` the subscriptions that match one of the cold topics.
//
// Against:
//
//   level_maps         a hash map per node, like the NATS server, but without lock and cache
//   locked_level_maps  the same with its reader-writer lock and its list of results
//   cached_level_maps  the same with its cache of 1024 results as well: a cold topic is never in
//                      there, a hot one always, of zipf's some
//   node_table         one hash table of all nodes, like async_mqtt
//   mosquitto          libmosquitto's matcher, which takes one pattern at a time, over all of them;
//                      20 topics. Left out if the library was not there to build with
//
// All but mosquitto are our own code (baselines.hpp), so what is compared is the structure.
// TopicTrie caches nothing. Whether all find the same subscriptions is checked before matching is
// measured; the program stops if not.
//
// What counts is the ratio to the best of the others in the same run, in the table at the end.
//
//   brook_benchmark_topic_trie                                 all: some 3 minutes, 3 GB
//   brook_benchmark_topic_trie --benchmark_filter=/1000/       the small ones: seconds
//   brook_benchmark_topic_trie --benchmark_filter='/trie/|multi_wildcards'
namespace {

using brook::TopicTrie;
using workload::Topics;
using workload::Workload;

constexpr std::array<std::size_t, 3> sizes{1'000, 100'000, 1'000'000};
constexpr std::size_t mosquitto_topics = 20;
constexpr int match_repetitions = 5;

// ----------------------------------------------------------------------------------- what competes

class Trie {
 public:
  static constexpr const char* name = "trie";

  void insert(std::string_view pattern, std::uint32_t id) { trie_.insert(pattern, id); }
  void erase(std::string_view pattern, std::uint32_t id) { trie_.erase(pattern, id); }
  template <class Visitor>
  void match(std::string_view topic, Visitor&& visitor) const {
    trie_.match(topic, visitor);
  }

 private:
  TopicTrie<std::uint32_t> trie_;
};

struct LevelMaps : baseline::LevelMaps {
  static constexpr const char* name = "level_maps";
};
struct LockedLevelMaps : baseline::LockedLevelMaps {
  static constexpr const char* name = "locked_level_maps";
};
struct CachedLevelMaps : baseline::CachedLevelMaps {
  static constexpr const char* name = "cached_level_maps";
};
struct NodeTable : baseline::NodeTable {
  static constexpr const char* name = "node_table";
};

// -------------------------------------------------------------------------------- what is measured

/// Workload of one size and the order in which its topics are matched.
struct Data {
  explicit Data(std::size_t size) : workload(size) {}

  Workload workload;
  Topics cold{workload.topics()};
  Topics hot{workload.topics(), workload::draw_indexes(500, Workload::topic_count, 0)};
  Topics zipf{workload.topics(), workload::draw_indexes(10'000, Workload::topic_count, 1)};
};

const Data& data_of(std::size_t size) {
  static std::unique_ptr<Data> data;
  if (!data || data->workload.patterns().size() != size) {
    data.reset();
    data = std::make_unique<Data>(size);
  }
  return *data;
}

/// Bytes of the heap that are in use; 0 if the platform does not tell.
std::size_t heap_bytes() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

double heap_bytes_since(std::size_t before, std::size_t subscriptions) {
  return (static_cast<double>(heap_bytes()) - static_cast<double>(before)) /
         static_cast<double>(subscriptions);
}

/// An index with all patterns, kept from one benchmark to the next: never more than one.
struct Filled {
  const char* name = nullptr;
  std::size_t size = 0;
  std::size_t heap_before = 0;
  std::shared_ptr<void> index{};
};
Filled filled;

/// Begins an empty index in a heap as fresh as it can be.
template <class Index>
Index& begin_index(std::size_t size) {
  filled = Filled{};
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  filled.name = Index::name;
  filled.size = size;
  filled.heap_before = heap_bytes();
  const auto index = std::make_shared<Index>();
  filled.index = index;
  return *index;
}

template <class Index>
Index& filled_index(std::size_t size) {
  if (filled.name == Index::name && filled.size == size) {
    return *static_cast<Index*>(filled.index.get());
  }
  const auto& patterns = data_of(size).workload.patterns();
  Index& index = begin_index<Index>(size);
  for (std::uint32_t id = 0; id < size; ++id) index.insert(patterns[id], id);
  return index;
}

// ---------------------------------------------------------------------------- do all find the same

/// What an index finds for the first so many cold topics.
struct Findings {
  std::string index{};
  std::uint64_t matches = 0;
  std::uint64_t sum = 0;
};

/// Ends the program if another index found something else.
void expect_same(std::size_t size, std::size_t topics, const Findings& findings) {
  static std::map<std::pair<std::size_t, std::size_t>, Findings> known;
  const Findings& first = known.try_emplace({size, topics}, findings).first->second;
  if (first.matches == findings.matches && first.sum == findings.sum) return;
  for (const Findings* const one : {&first, &findings}) {
    std::fprintf(stderr, "%s finds %llu matches with checksum %llu\n", one->index.c_str(),
                 static_cast<unsigned long long>(one->matches),
                 static_cast<unsigned long long>(one->sum));
  }
  std::fprintf(stderr, "for %zu topics and %zu subscriptions: they must not differ\n", topics,
               size);
  std::exit(EXIT_FAILURE);
}

/// Looks all topics up once and returns how many subscriptions a topic matches. It also warms up.
template <class Index, class Texts>
double check(Index& index, std::size_t size, const Texts& topics) {
  Findings findings{Index::name};
  for (std::size_t i = 0; i < topics.size(); ++i) {
    index.match(topics[i], [&](std::uint32_t id) {
      ++findings.matches;
      findings.sum += (id + std::uint64_t{1}) * (2 * i + 1);
    });
    if (i + 1 == mosquitto_topics) expect_same(size, mosquitto_topics, findings);
  }
  expect_same(size, topics.size(), findings);
  return static_cast<double>(findings.matches) / static_cast<double>(topics.size());
}

// -------------------------------------------------------------------------------------- benchmarks

template <class Index>
void insert(benchmark::State& state, std::size_t size) {
  const auto& patterns = data_of(size).workload.patterns();
  Index& index = begin_index<Index>(size);
  std::uint32_t id = 0;
  for (auto _ : state) {
    index.insert(patterns[id], id);
    ++id;
  }
  state.counters["bytes"] = heap_bytes_since(filled.heap_before, size);
}

template <class Index>
void erase(benchmark::State& state, std::size_t size) {
  const Workload& workload = data_of(size).workload;
  Index& index = filled_index<Index>(size);
  auto id = workload.erase_order().begin();
  for (auto _ : state) {
    index.erase(workload.patterns()[*id], *id);
    ++id;
  }
  state.counters["bytes_left"] = heap_bytes_since(filled.heap_before, size);
  filled = Filled{};
}

/// Each of @p topics once.
template <class Index, class Texts>
void match(benchmark::State& state, Index& index, const Texts& topics) {
  std::uint64_t sum = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    index.match(topics[next], [&](std::uint32_t id) { sum += id; });
    ++next;
  }
  benchmark::DoNotOptimize(sum);
}

template <class Index>
void match_cold(benchmark::State& state, std::size_t size) {
  Index& index = filled_index<Index>(size);
  const double matches = check(index, size, data_of(size).cold);
  match(state, index, data_of(size).cold);
  state.counters["matches"] = matches;
}

template <class Index>
void match_stream(benchmark::State& state, std::size_t size, const Topics Data::*stream) {
  match(state, filled_index<Index>(size), data_of(size).*stream);
}

template <class Index, class Function>
void add_benchmark(const char* measure, std::size_t size, Function function, std::size_t iterations,
                   int repetitions) {
  const std::string name = std::string(measure) + '/' + Index::name + '/' + std::to_string(size);
  benchmark::RegisterBenchmark(name.c_str(),
                               [=](benchmark::State& state) { function(state, size); })
      ->Iterations(static_cast<benchmark::IterationCount>(iterations))
      ->Repetitions(repetitions);
}

template <class Index>
void add_match_benchmarks(std::size_t size) {
  const auto add = [&](const char* measure, const Topics Data::*topics) {
    const auto function = [=](benchmark::State& state, std::size_t of_size) {
      match_stream<Index>(state, of_size, topics);
    };
    add_benchmark<Index>(measure, size, function, Workload::topic_count, match_repetitions);
  };
  add_benchmark<Index>("cold", size, match_cold<Index>, Workload::topic_count, match_repetitions);
  add("hot", &Data::hot);
  add("zipf", &Data::zipf);
}

template <class Index>
void add_benchmarks(std::size_t size) {
  // What is over in half a millisecond needs more of them.
  const int repetitions = size <= 1'000 ? 21 : 3;
  add_benchmark<Index>("insert", size, insert<Index>, size, repetitions);
  add_match_benchmarks<Index>(size);
  add_benchmark<Index>("erase", size, erase<Index>, size, repetitions);
}

// --------------------------------------------------------------------------------- linear matching

#if defined(BROOK_BENCHMARK_MOSQUITTO)

/// Every pattern, translated to MQTT, is held against the topic.
class Mosquitto {
 public:
  static constexpr const char* name = "mosquitto";

  void insert(std::string_view pattern, std::uint32_t) { patterns_.push_back(translated(pattern)); }
  /// @p topic in MQTT.
  template <class Visitor>
  void match(const std::string& topic, Visitor&& visitor) const {
    for (std::size_t id = 0; id < patterns_.size(); ++id) {
      bool matches = false;
      mosquitto_topic_matches_sub(patterns_[id].c_str(), topic.c_str(), &matches);
      if (matches) visitor(static_cast<std::uint32_t>(id));
    }
  }

  static std::string translated(std::string_view text) {
    std::string result(text);
    for (char& c : result) {
      if (c == '.') c = '/';
      if (c == '*') c = '+';
    }
    return result;
  }

 private:
  std::vector<std::string> patterns_;
};

void match_by_mosquitto(benchmark::State& state, std::size_t size) {
  const Mosquitto& index = filled_index<Mosquitto>(size);
  std::vector<std::string> topics;
  for (std::size_t i = 0; i < mosquitto_topics; ++i) {
    topics.push_back(Mosquitto::translated(data_of(size).cold[i]));
  }
  const double matches = check(index, size, topics);
  match(state, index, topics);
  state.counters["matches"] = matches;
}

void add_mosquitto_benchmark(std::size_t size) {
  add_benchmark<Mosquitto>("cold", size, match_by_mosquitto, mosquitto_topics, 3);
}

#else

void add_mosquitto_benchmark(std::size_t) {}

#endif

// ---------------------------------------------------------------------------- many multi wildcards

/// Seven `#` against 24 segments: 134,596 ways to match, one delivery.
void seven_multi_wildcards(benchmark::State& state) {
  TopicTrie<std::uint32_t> trie;
  trie.insert("#.a.#.a.#.a.#.a.#.a.#.a.#", 1);
  std::string topic = "a";
  for (int i = 1; i < 24; ++i) topic += ".a";
  benchmark::IterationCount deliveries = 0;
  for (auto _ : state) trie.match(topic, [&](std::uint32_t) { ++deliveries; });
  if (deliveries != state.iterations()) state.SkipWithError("there must be one delivery");
}
BENCHMARK(seven_multi_wildcards);

}  // namespace

int main(int argc, char** argv) {
  for (const std::size_t size : sizes) {
    add_benchmarks<Trie>(size);
    add_benchmarks<LevelMaps>(size);
    add_match_benchmarks<LockedLevelMaps>(size);
    add_benchmarks<CachedLevelMaps>(size);
    add_benchmarks<NodeTable>(size);
    add_mosquitto_benchmark(size);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  workload::SummaryReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  filled = Filled{};
  benchmark::Shutdown();
}
