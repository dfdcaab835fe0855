#include <brook/topic/topic_index_options.hpp>

#include <string>

#include "support/catch.hpp"

using Catch::Matchers::Contains;

TEST_CASE("limits of a topic index that refuse everything are refused", "[topic]") {
  using brook::detail::checked;
  CHECK(checked({}).max_size == brook::PatternLimits{}.max_size);
  CHECK(checked({.max_size = 1, .max_segments = 1}).max_segments == 1);
  CHECK_THROWS_WITH(checked({.max_size = 0}), Contains("limit") && Contains("refused"));
  CHECK_THROWS_AS(checked({.max_segments = 0}), brook::InvalidArgument);
  CHECK(checked({.max_size = (1 << 24) - 1}).max_size == (1 << 24) - 1);
  CHECK_THROWS_WITH(checked({.max_size = 1 << 24}), Contains("16777216"));
}

TEST_CASE("a topic index takes the seed it is given, or one of its own", "[topic]") {
  const int a = 0, b = 0;
  using brook::detail::seed_for;
  CHECK(seed_for(&a, {.seed = 5}) == 5);
  CHECK(seed_for(&a, {.seed = 0}) == 0);
  CHECK(seed_for(&a, {}) != seed_for(&b, {}));
}
