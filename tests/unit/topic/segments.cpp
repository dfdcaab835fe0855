#include <brook/topic/segments.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace {

using Cursor = brook::detail::SegmentCursor<brook::AmqpSyntax>;

std::vector<std::string> segments_of(std::string_view text) {
  std::vector<std::string> all;
  for (Cursor segments(text); !segments.at_end();) all.emplace_back(segments.next());
  return all;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST_CASE("the empty text has no segments, any other one more than separators", "[topic]") {
  CHECK(segments_of("").empty());
  CHECK(segments_of("a") == Strings{"a"});
  CHECK(segments_of(".") == Strings{"", ""});
  CHECK(segments_of("a.") == Strings{"a", ""});
  CHECK(segments_of(".a") == Strings{"", "a"});
  CHECK(segments_of("a..b") == Strings{"a", "", "b"});
  CHECK(segments_of("orders.eu.created") == Strings{"orders", "eu", "created"});
  CHECK(segments_of("...") == Strings{"", "", "", ""});
}

TEST_CASE("a copied cursor goes on from where it was copied", "[topic]") {
  Cursor segments("a.b.c");
  segments.next();
  const Cursor kept = segments;
  CHECK(segments.next() == "b");
  CHECK(segments.next() == "c");
  CHECK(segments.at_end());
  segments = kept;
  CHECK(segments.next() == "b");
}

TEST_CASE("a wildcard is one only as a whole segment", "[topic]") {
  using brook::AmqpSyntax;
  static_assert(brook::detail::is_single_wildcard<AmqpSyntax>("*"));
  static_assert(brook::detail::is_multi_wildcard<AmqpSyntax>("#"));
  static_assert(!brook::detail::is_single_wildcard<AmqpSyntax>("#"));
  static_assert(!brook::detail::is_multi_wildcard<AmqpSyntax>("*"));
  for (const std::string_view word : {"", "a", "**", "a*", "*a", "##", "#a"}) {
    CHECK_FALSE(brook::detail::is_wildcard<AmqpSyntax>(word));
  }
  CHECK(brook::detail::is_wildcard<AmqpSyntax>("*"));
  CHECK(brook::detail::is_wildcard<AmqpSyntax>("#"));
}
