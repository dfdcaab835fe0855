#include <brook/core/optional.hpp>

#include "support/catch.hpp"

TEST_CASE("value_or gives what was given, else the other value", "[core]") {
  CHECK(brook::detail::value_or(std::optional<int>(1), 2) == 1);
  CHECK(brook::detail::value_or(std::optional<int>(), 2) == 2);
}
