// What must not become a name, a duration, a count or an offset, and which messages must not be
// written down; tests/tools/must_not_compile.cpp says how this file is read. For bytes:
// core_bytes.cpp.

#include <brook/core/bytes.hpp>
#include <brook/core/ids.hpp>
#include <brook/core/message.hpp>
#include <brook/core/message_batch.hpp>
#include <brook/core/name.hpp>
#include <brook/core/pin.hpp>
#include <brook/core/quantity.hpp>
#include <brook/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

using namespace brook::literals;

inline bool correct() {
  const brook::Name name = "orders";
  const brook::Patterns patterns = {"orders.*", "returns.#"};
  const brook::Duration duration = std::chrono::hours::max();
  const brook::ByteSize size = 4096_MiB;
  const brook::MessageCount count = 500;
  const brook::Message message{.key = "a", .payload = brook::null, .headers = {{.name = "h"}}};
  const brook::Offset offset = brook::Offset{41} + 1;
  const brook::Buffer buffer = std::string("x");
  return name.text().empty() && patterns.list().empty() && duration.is_never() &&
         size.value() == count.value() && message.key == buffer && offset == brook::Offset{42};
}

// case 1: two texts are not one name ; expects: no matching (function|constructor)
#if BROOK_CASE == 1
const brook::Name name{"orders", "returns"};
#endif

// case 2: nor where a name is a parameter ; expects: invalid initialization|no matching function
#if BROOK_CASE == 2
inline void subscribe(const brook::Name&) {}
inline void f() {
  subscribe({"orders", "returns"});
}
#endif

// case 3: nullptr is not a name ; expects: conversion from|no viable conversion
#if BROOK_CASE == 3
const brook::Name name = nullptr;
#endif

// case 4: a number is not a name ; expects: conversion from|no viable conversion
#if BROOK_CASE == 4
const brook::Name name = 0;
#endif

// case 5: nothing is not a name ; expects: no matching|could not convert|no default constructor
#if BROOK_CASE == 5
const brook::Name name{};
#endif

// case 6: nothing is not a list of patterns ; expects: no matching|could not convert
#if BROOK_CASE == 6
const brook::Patterns patterns;
#endif

// case 7: a duration in fractions is rounded by whoever means it ; expects: deleted
#if BROOK_CASE == 7
const brook::Duration duration = std::chrono::duration<double>(0.5);
#endif

// case 8: a number without a unit is not a duration ; expects: conversion from|no viable conversion
#if BROOK_CASE == 8
const brook::Duration duration = 30;
#endif

// case 9: true is not a count ; expects: conversion from|no viable conversion
#if BROOK_CASE == 9
const brook::MessageCount count = true;
#endif

// case 10: a character is not a count ; expects: conversion from|no viable conversion
#if BROOK_CASE == 10
const brook::ByteSize size = 'a';
#endif

// case 11: a fraction is not a count ; expects: conversion from|no viable conversion
#if BROOK_CASE == 11
const brook::ByteSize size = 1.5;
#endif

// case 12: bytes are not messages ; expects: conversion from|no viable conversion
#if BROOK_CASE == 12
const brook::MessageCount count = brook::ByteSize(1);
#endif

// case 13: a size that does not fit 64 bits is noticed while compiling
// expects: call to consteval function|throw|not a constant expression
#if BROOK_CASE == 13
const brook::ByteSize size = 18'014'398'509'481'984_KiB;
#endif

// case 14: a negative count is noticed while compiling where it is a constant
// expects: constant expression|must be initialized by a constant
#if BROOK_CASE == 14
constexpr brook::MessageCount count = -1;
#endif

// case 15: a number is an offset only where somebody says so ; expects: conversion from|no viable
#if BROOK_CASE == 15
const brook::Offset offset = 42;
#endif

// case 16: an offset is not a partition ; expects: no matching|cannot convert|no viable
#if BROOK_CASE == 16
const brook::PartitionId partition{brook::Offset{1}};
#endif

// case 17: offsets and numbers do not compare ; expects: no match for|invalid operands
#if BROOK_CASE == 17
const bool same = brook::Offset{42} == 42;
#endif

// case 18: an empty brace is no key: it would be silently null
// expects: explicit constructor|would use explicit
#if BROOK_CASE == 18
const brook::MessageView message{.key = {}, .payload = "a"};
#endif

// case 19: nor is it the value of a header ; expects: explicit constructor|would use explicit
#if BROOK_CASE == 19
const brook::HeaderView header{.name = "trace", .value = {}};
#endif

// case 20: nullptr is no payload ; expects: deleted
#if BROOK_CASE == 20
const brook::Message message{.payload = nullptr};
#endif

// case 21: text of wide characters is not bytes ; expects: conversion from|no viable conversion
#if BROOK_CASE == 21
const brook::Bytes bytes = L"wide";
#endif

// case 22: numbers that are not bytes are not bytes ; expects: conversion from|no viable conversion
#if BROOK_CASE == 22
const int numbers[2] = {1, 2};
const brook::Bytes bytes = numbers;
#endif

// case 23: a view of a message is not stored as a message ; expects: conversion from|no viable
#if BROOK_CASE == 23
const brook::Message message = brook::MessageView{.payload = "a"};
#endif

// case 24: what is pinned is not copied ; expects: deleted
#if BROOK_CASE == 24
inline void f(brook::Pinned& pinned) {
  pinned = pinned;
}
#endif
