#include <brook/core/headers.hpp>

#include <cstddef>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::Bytes;
using brook::Header;
using brook::Headers;
using brook::HeaderView;
using brook::null;

namespace {

static_assert(std::forward_iterator<Headers::Iterator>);
static_assert(std::ranges::forward_range<const Headers>);

/// Headers that own whatever form they are kept in, so that every test runs over all three forms.
class Stored {
 public:
  explicit Stored(const std::vector<Header>& list) {
    bytes_.resize(brook::detail::stored_size(list));
    const std::byte* const end = brook::detail::write_headers(bytes_.data(), list);
    REQUIRE(end == bytes_.data() + bytes_.size());
    count_ = list.size();
  }
  Headers view() const { return Headers::stored(bytes_.data(), count_); }

 private:
  std::vector<std::byte> bytes_;
  std::size_t count_ = 0;
};

/// Calls @p check with the same headers as a list of views, as a list that owns, and as stored.
template <class Check>
void in_every_form(const std::vector<Header>& list, Check check) {
  SECTION("a vector of headers") {
    check(Headers(list));
  }
  SECTION("the stored form") {
    const Stored stored(list);
    check(stored.view());
  }
}

const std::vector<Header>& sample() {
  static const std::vector<Header> list{{.name = "trace", .value = "7f3a"},
                                        {.name = "", .value = "empty name"},
                                        {.name = "trace", .value = ""},
                                        {.name = "none", .value = null},
                                        {.name = "trace", .value = null},
                                        {.name = "nul", .value = "a\0b"},
                                        {.name = "long", .value = std::string(300, 'x')}};
  return list;
}

void check_sample(const Headers& headers) {
  REQUIRE(headers.size() == 7);
  CHECK_FALSE(headers.empty());
  std::vector<std::pair<std::string, brook::Buffer>> seen;
  for (const HeaderView header : headers) {
    CHECK_FALSE(header.name.is_null());
    seen.emplace_back(std::string(header.name.text()), header.value);
  }
  REQUIRE(seen.size() == 7);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(seen[i].first == sample()[i].name);
    CHECK(Bytes(seen[i].second) == Bytes(sample()[i].value));
  }
}

}  // namespace

TEST_CASE("Headers keep order, repeated names and null values in every form", "[core]") {
  SECTION("a list of views") {
    check_sample({{"trace", "7f3a"},
                  {"", "empty name"},
                  {"trace", ""},
                  {"none", null},
                  {"trace", null},
                  {"nul", "a\0b"},
                  {"long", std::string(300, 'x')}});
  }
  in_every_form(sample(), [](const Headers& headers) { check_sample(headers); });
}

TEST_CASE("Look-up finds the first or the last header of a name", "[core]") {
  in_every_form(sample(), [](const Headers& headers) {
    REQUIRE(headers.first("trace").has_value());
    CHECK(*headers.first("trace") == Bytes("7f3a"));
    REQUIRE(headers.last("trace").has_value());
    CHECK(headers.last("trace")->is_null());
    CHECK(headers.first("")->text() == "empty name");
    CHECK(headers.first("nul")->size() == 3);
  });
}

TEST_CASE("A null value is a value; only a missing header has none", "[core]") {
  in_every_form(sample(), [](const Headers& headers) {
    REQUIRE(headers.first("none").has_value());
    CHECK(headers.first("none")->is_null());
    CHECK_FALSE(headers.first("non").has_value());
    CHECK_FALSE(headers.first("nonee").has_value());
    CHECK_FALSE(headers.last("Trace").has_value());
  });
}

TEST_CASE("No headers are empty in every form", "[core]") {
  const std::vector<Header> none;
  const Headers forms[] = {Headers(), Headers(none), Headers::stored(nullptr, 0),
                           Headers(std::initializer_list<HeaderView>{})};
  for (const Headers& headers : forms) {
    CHECK(headers.empty());
    CHECK(headers.size() == 0);
    CHECK(headers.begin() == headers.end());
    CHECK_FALSE(headers.first("x").has_value());
    CHECK_FALSE(headers.last("x").has_value());
    CHECK(headers.copy().empty());
    CHECK(brook::detail::stored_size(headers) == 0);
  }
}

TEST_CASE("A copy of headers owns its bytes", "[core]") {
  std::vector<Header> copy;
  {
    const std::vector<Header> original = sample();
    const Stored stored(original);
    copy = stored.view().copy();
  }
  CHECK(copy == sample());
  CHECK(Headers(copy).copy() == sample());
}

TEST_CASE("An iterator can be copied, walked twice and compared", "[core]") {
  in_every_form(sample(), [](const Headers& headers) {
    auto at = headers.begin();
    const auto first = at++;
    CHECK((*first).name.text() == "trace");
    CHECK((*at).name.text().empty());
    auto again = first;
    ++again;
    CHECK(again == at);
    CHECK(again != first);
    CHECK(std::ranges::distance(headers) == 7);
    CHECK(std::ranges::distance(headers) == 7);
  });
}

TEST_CASE("The stored form is the one of a Kafka record", "[core]") {
  const std::vector<Header> list{{.name = "ab", .value = "c"}, {.name = "d", .value = null}};
  std::vector<std::byte> bytes(brook::detail::stored_size(list));
  brook::detail::write_headers(bytes.data(), list);
  const std::vector<unsigned> expected{4, 'a', 'b', 2, 'c', 2, 'd', 1};
  REQUIRE(bytes.size() == expected.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CHECK(std::to_integer<unsigned>(bytes[i]) == expected[i]);
  }
}

TEST_CASE("The stored size is what is written, at every edge of a length", "[core]") {
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 8191U, 8192U, 8193U}) {
    const std::vector<Header> list{
        {.name = std::string(size, 'n'), .value = std::string(size, 'v')},
        {.name = "", .value = null}};
    const Stored stored(list);
    CHECK(stored.view().copy() == list);
  }
}

TEST_CASE("A header without a value has an empty one", "[core]") {
  CHECK_FALSE(HeaderView{.name = "a"}.value.is_null());
  CHECK_FALSE(Header{.name = "a"}.value.is_null());
}
