// What must not become bytes; tests/tools/must_not_compile.cpp says how this file is read.

#include <brook/core/bytes.hpp>
#include <brook/core/message.hpp>

#include <string>
#include <string_view>

inline brook::Bytes correct() {
  char storage[16] = "abc";
  return brook::Bytes(std::string_view(storage, 0)).is_null() ? brook::Bytes("a\0b") : brook::null;
}

// case 1: nullptr is not bytes: a missing key is brook::null ; expects: deleted
#if BROOK_CASE == 1
const brook::Bytes bytes = nullptr;
#endif

// case 2: a mutable array does not say how much of it is meant ; expects: deleted
#if BROOK_CASE == 2
inline brook::Bytes view(char (&storage)[16]) {
  return storage;
}
#endif

// case 3: an owning buffer refuses a mutable array as well ; expects: deleted
#if BROOK_CASE == 3
inline brook::Buffer own(char (&storage)[16]) {
  return storage;
}
#endif

// case 4: nullptr is not a buffer ; expects: deleted
#if BROOK_CASE == 4
const brook::Buffer buffer = nullptr;
#endif

// case 5: an empty brace is no payload: it would be a silent tombstone
// expects: explicit constructor|would use explicit
#if BROOK_CASE == 5
const brook::MessageView message{.payload = {}};
#endif

// case 6: nor is it one in a message that owns its bytes
// expects: explicit constructor|would use explicit
#if BROOK_CASE == 6
const brook::Message message{.payload = {}};
#endif

// case 7: a number is not bytes ; expects: conversion from|no viable conversion
#if BROOK_CASE == 7
const brook::Bytes bytes = 42;
#endif
