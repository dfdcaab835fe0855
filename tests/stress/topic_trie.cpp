// Subscribers come and go while others match, each change alone and all matching side by side, as
// the thread rule of TopicTrie says.

#include <brook/topic/topic_trie.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

TEST_CASE("matching side by side sees whole changes and disturbs nobody", "[topic][stress]") {
  constexpr int rounds = 200;
  brook::TopicTrie<int> trie;
  std::mutex turnstile;
  std::shared_mutex mutex;
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::atomic<int> matches{0};
  trie.insert("site.*.#.state", -1);

  std::vector<std::thread> threads;
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&] {
      std::vector<int> found;
      while (!done) {
        found.clear();
        // A shared mutex may prefer its readers for ever: one that waits lets them all pass here.
        { const std::lock_guard turn(turnstile); }
        const std::shared_lock lock(mutex);
        trie.match("site.a.b.state", [&](int value) { found.push_back(value); });
        // The writer changes these two together.
        const auto has = [&](int value) {
          return std::find(found.begin(), found.end(), value) != found.end();
        };
        if (!has(-1) || has(1) != has(2) || !trie.matches_any("site.c.state")) ++wrong;
        ++matches;
      }
    });
  }
  std::thread writer([&] {
    for (int round = 0; round < rounds; ++round) {
      const std::string other = "other.unit" + std::to_string(round);
      {
        const std::lock_guard turn(turnstile);
        const std::lock_guard lock(mutex);
        trie.insert("site.#", 1);
        trie.insert("#.state", 2);
        trie.insert(other + ".*.#", round);
      }
      if (round % 16 == 0) std::this_thread::yield();
      const std::lock_guard turn(turnstile);
      const std::lock_guard lock(mutex);
      trie.erase("site.#", 1);
      trie.erase("#.state", 2);
      if (round >= 100) trie.erase("other.unit" + std::to_string(round - 100) + ".*.#");
    }
    while (matches == 0) std::this_thread::yield();
    done = true;
  });
  writer.join();
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(trie.size() == 101);
}
