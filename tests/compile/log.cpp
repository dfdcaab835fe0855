// Misuse of a log and of what it returns; tests/tools/must_not_compile.cpp says how this file is
// read.

#include <brook/clock/manual_clock.hpp>
#include <brook/core/message.hpp>
#include <brook/log/topic_log.hpp>
#include <brook/storage/memory_storage.hpp>

#include <vector>

using Log = brook::TopicLog<brook::MemoryStorage, brook::ManualClock>;

inline std::size_t correct(Log& log, const std::vector<brook::Message>& messages) {
  log.append({.key = "a", .payload = "1"});
  log.append(messages);
  std::size_t bytes = 0;
  for (const auto message : log.read(log.start(), {.max_messages = 10})) {
    bytes += message.payload().size();
  }
  const brook::ReadBatch batch = log.read(log.start());
  return bytes + batch[0].payload().size();
}

// case 1: an empty brace would append one empty message, or nothing ; expects: ambiguous
#if BROOK_CASE == 1
inline void f(Log& log) {
  log.append({});
}
#endif

// case 2: messages are not looked at in a batch that is gone already ; expects: deleted
#if BROOK_CASE == 2
inline auto f(Log& log) {
  return log.read(log.start())[0];
}
#endif

// case 3: nor walked from its beginning ; expects: deleted
#if BROOK_CASE == 3
inline auto f(Log& log) {
  return log.read(log.start()).begin();
}
#endif

// case 4: what was read is not ignored ; expects: nodiscard|unused-result
#if BROOK_CASE == 4
inline void f(Log& log) {
  log.read(log.start());
}
#endif

// case 5: a number is not a place to read from ; expects: no matching|cannot convert|no viable
#if BROOK_CASE == 5
inline auto f(Log& log) {
  return log.read(0).size();
}
#endif

// case 6: a log is not copied ; expects: deleted
#if BROOK_CASE == 6
inline Log f(Log& log) {
  return log;
}
#endif

// case 7: a log needs a storage that is one ; expects: constraints not satisfied|Storage
#if BROOK_CASE == 7
using NoStorage = brook::TopicLog<int, brook::ManualClock>;
using Made = NoStorage::Reader;
#endif

// case 8: a temporary clock cannot outlive a log ; expects: lvalue|rvalue|no matching
#if BROOK_CASE == 8
inline void f() {
  Log log{brook::ManualClock()};
}
#endif
