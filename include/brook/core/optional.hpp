#pragma once

#include <optional>

#include <brook/core/config.hpp>

namespace brook::detail {

/// `given`, or @p otherwise if nothing was given. Kept out of line: g++ 12 takes the bytes of an
/// empty optional in a temporary for uninitialised ones that are read, and would warn in the code
/// of whoever calls. Only for what is rarely given or not on a hot path.
template <class T>
[[nodiscard]] BROOK_NOINLINE T value_or(const std::optional<T>& given, T otherwise) noexcept {
  return given.has_value() ? *given : otherwise;
}

}  // namespace brook::detail
