#pragma once

// Replaces operator new and delete of a whole program, so that `support/allocations.hpp` works in
// it. Include this in exactly one file of a program. Every form is replaced, so that what
// sanitizers watch fits together.

#include <cstddef>
#include <cstdlib>
#include <new>

#include "support/allocations.hpp"

namespace support::detail {

inline void* counted(void* memory, std::size_t size) noexcept {
  if (memory == nullptr) return nullptr;
  Allocations& allocations = Allocations::of_this_thread();
  ++allocations.count;
  allocations.bytes += size;
  return memory;
}

/// True if this allocation is to fail.
inline bool fails() noexcept {
  Allocations& allocations = Allocations::of_this_thread();
  if (allocations.before_fail == Allocations::never) return false;
  if (allocations.before_fail == 0) return true;
  --allocations.before_fail;
  return false;
}

inline void* allocate(std::size_t size) noexcept {
  if (fails()) return nullptr;
  return counted(std::malloc(size == 0 ? 1 : size), size);
}
inline void* allocate(std::size_t size, std::align_val_t alignment) noexcept {
  if (fails()) return nullptr;
  const auto align = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(align, (size + align - 1) / align * align), size);
}
inline void* or_throw(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
/// Not inline, because g++ would see memory from `operator new` go to `std::free` and warn.
[[gnu::noinline]] inline void give_back(void* memory) noexcept {
  if (memory != nullptr) ++Allocations::of_this_thread().returned;
  std::free(memory);
}

}  // namespace support::detail

void* operator new(std::size_t size) {
  return support::detail::or_throw(support::detail::allocate(size));
}
void* operator new[](std::size_t size) {
  return support::detail::or_throw(support::detail::allocate(size));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return support::detail::or_throw(support::detail::allocate(size, alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return support::detail::or_throw(support::detail::allocate(size, alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return support::detail::allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return support::detail::allocate(size);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return support::detail::allocate(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return support::detail::allocate(size, alignment);
}

void operator delete(void* memory) noexcept {
  support::detail::give_back(memory);
}
void operator delete[](void* memory) noexcept {
  support::detail::give_back(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  support::detail::give_back(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  support::detail::give_back(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  support::detail::give_back(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  support::detail::give_back(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  support::detail::give_back(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  support::detail::give_back(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  support::detail::give_back(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  support::detail::give_back(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  support::detail::give_back(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  support::detail::give_back(memory);
}
