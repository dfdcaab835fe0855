#include <brook/core/name.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "support/catch.hpp"

using brook::Name;
using brook::Patterns;

namespace {

static_assert(std::is_convertible_v<const char*, Name>);
static_assert(std::is_convertible_v<const char (&)[3], Name>);
static_assert(std::is_convertible_v<std::string, Name>);
static_assert(std::is_convertible_v<std::string_view, Name>);
static_assert(!std::is_constructible_v<Name, std::nullptr_t>);
static_assert(!std::is_constructible_v<Name, int>);
static_assert(!std::is_constructible_v<Name, char>);
static_assert(!std::is_constructible_v<Name, const char*, const char*>);
static_assert(!std::is_constructible_v<Name, std::size_t, char>);
static_assert(!std::is_default_constructible_v<Name>);
static_assert(!std::is_constructible_v<Patterns, std::nullptr_t>);
static_assert(!std::is_default_constructible_v<Patterns>);

template <class T>
concept FromTwoTexts = requires(void (*take)(T)) {
  take({"a", "b"});
};
static_assert(FromTwoTexts<Patterns>);
static_assert(!FromTwoTexts<Name>);

std::vector<std::string> texts(const Patterns& patterns) {
  std::vector<std::string> list;
  for (const Name& name : patterns.list()) list.push_back(name.text());
  return list;
}

}  // namespace

TEST_CASE("A name is made from any text and owns it", "[core]") {
  std::string source = "orders";
  const Name name = source;
  source = "changed";
  CHECK(name.text() == "orders");
  CHECK(Name("orders").text() == "orders");
  CHECK(Name(std::string_view("orders.eu").substr(0, 6)).text() == "orders");
  CHECK(Name("").text().empty());
}

TEST_CASE("Names compare by their text", "[core]") {
  CHECK(Name("a") == Name(std::string("a")));
  CHECK(Name("a") != Name("b"));
  CHECK(Name("a") < Name("b"));
}

TEST_CASE("Patterns are one text or a list of them", "[core]") {
  using Texts = std::vector<std::string>;
  const std::string text = "orders.*";
  CHECK(texts("orders.*") == Texts{"orders.*"});
  CHECK(texts(text) == Texts{"orders.*"});
  CHECK(texts(std::string_view(text)) == Texts{"orders.*"});
  CHECK(texts({"orders.*", text, "returns.#"}) == Texts{"orders.*", "orders.*", "returns.#"});
  CHECK(texts({"a", "b"}) == Texts{"a", "b"});
}
