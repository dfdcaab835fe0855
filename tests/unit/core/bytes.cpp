#include <brook/core/bytes.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::Buffer;
using brook::Bytes;
using brook::null;

namespace {

// What makes bytes, and what does not; tests/compile holds the wording of the refusals.
static_assert(std::is_convertible_v<brook::Null, Bytes>);
static_assert(std::is_convertible_v<const char (&)[4], Bytes>);
static_assert(std::is_convertible_v<const char*, Bytes>);
static_assert(std::is_convertible_v<char*, Bytes>);
static_assert(std::is_convertible_v<std::string, Bytes>);
static_assert(std::is_convertible_v<std::string_view, Bytes>);
static_assert(std::is_convertible_v<std::vector<unsigned char>, Bytes>);
static_assert(std::is_convertible_v<std::array<std::byte, 3>, Bytes>);
static_assert(std::is_convertible_v<std::span<const std::byte>, Bytes>);
static_assert(std::is_convertible_v<std::span<char>, Bytes>);
static_assert(std::is_convertible_v<std::u8string_view, Bytes>);
static_assert(std::is_convertible_v<Buffer, Bytes>);
static_assert(!std::is_constructible_v<Bytes, std::nullptr_t>);
static_assert(!std::is_constructible_v<Bytes, char (&)[4]>);
static_assert(!std::is_constructible_v<Bytes, int>);
static_assert(!std::is_constructible_v<Bytes, bool>);
static_assert(!std::is_constructible_v<Bytes, std::vector<int>>);
static_assert(!std::is_constructible_v<Bytes, std::wstring>);
static_assert(!std::is_constructible_v<Bytes, const int (&)[4]>);
static_assert(!std::is_constructible_v<Bytes, const unsigned char (&)[4]>);
static_assert(std::is_default_constructible_v<Bytes>);
static_assert(std::is_trivially_copyable_v<Bytes>);
static_assert(sizeof(Bytes) == 16);

static_assert(std::is_convertible_v<brook::Null, Buffer>);
static_assert(std::is_convertible_v<Bytes, Buffer>);
static_assert(std::is_convertible_v<const char (&)[4], Buffer>);
static_assert(std::is_convertible_v<std::string, Buffer>);
static_assert(std::is_convertible_v<const std::string&, Buffer>);
static_assert(std::is_convertible_v<std::vector<char>, Buffer>);
static_assert(!std::is_constructible_v<Buffer, std::nullptr_t>);
static_assert(!std::is_constructible_v<Buffer, char (&)[4]>);
static_assert(!std::is_constructible_v<Buffer, int>);
static_assert(std::is_nothrow_move_constructible_v<Buffer>);
static_assert(std::is_nothrow_move_assignable_v<Buffer>);

static_assert(brook::BorrowedBytes<std::string_view> && !brook::OwningBytes<std::string_view>);
static_assert(brook::BorrowedBytes<std::span<std::byte>>);
static_assert(brook::OwningBytes<std::string> && !brook::BorrowedBytes<std::string>);
static_assert(!brook::OwningBytes<char[4]> && !brook::BorrowedBytes<char[4]>);

// A default member initialiser or `= {}` must not become a silent tombstone.
template <class T>
concept FromEmptyBraces = requires(void (*take)(T)) {
  take({});
};
static_assert(!FromEmptyBraces<Bytes>);
static_assert(!FromEmptyBraces<Buffer>);
static_assert(FromEmptyBraces<std::string>);

constexpr Bytes constant = "ab";
static_assert(constant.size() == 2 && !constant.is_null() && constant.text() == "ab");
static_assert(Bytes(null).is_null());
static_assert(Bytes(null) != Bytes(""));

}  // namespace

TEST_CASE("Null bytes and empty bytes are different", "[core]") {
  const Bytes none = null;
  const Bytes empty = "";
  CHECK(none.is_null());
  CHECK_FALSE(empty.is_null());
  CHECK(none.empty());
  CHECK(empty.empty());
  CHECK(none.size() == 0);
  CHECK(empty.size() == 0);
  CHECK(none.data() == nullptr);
  CHECK(empty.data() != nullptr);
  CHECK(none.text().empty());
  CHECK(none.bytes().empty());
  CHECK(none == Bytes(null));
  CHECK(empty == Bytes(""));
  CHECK_FALSE(none == empty);
  CHECK_FALSE(empty == none);
  CHECK(Bytes().is_null());
}

TEST_CASE("Every empty source gives empty bytes, never null", "[core]") {
  const char* const c_string = "";
  CHECK_FALSE(Bytes(std::string()).is_null());
  CHECK_FALSE(Bytes(std::string_view()).is_null());
  CHECK_FALSE(Bytes(std::vector<std::byte>()).is_null());
  CHECK_FALSE(Bytes(std::span<const unsigned char>()).is_null());
  CHECK_FALSE(Bytes(std::array<char, 0>()).is_null());
  CHECK_FALSE(Bytes(c_string).is_null());
  CHECK_FALSE(Bytes(static_cast<const std::byte*>(nullptr), 0).is_null());
  CHECK(Bytes(std::string_view()) == Bytes(""));
}

TEST_CASE("A literal keeps the NULs inside it and loses the one behind it", "[core]") {
  CHECK(Bytes("a\0b").size() == 3);
  CHECK(Bytes("a\0b").text() == std::string_view("a\0b", 3));
  CHECK(Bytes("a\0").size() == 2);
  CHECK(Bytes("\0").size() == 1);
  CHECK(Bytes("").size() == 0);
  CHECK(Bytes("x").size() == 1);
}

TEST_CASE("A constant array without a NUL at its end counts in full", "[core]") {
  static const char no_nul[3] = {'a', 'b', 'c'};
  static const char padded[16] = "abc";
  CHECK(Bytes(no_nul).text() == "abc");
  CHECK(Bytes(padded).size() == 15);
}

TEST_CASE("A C string ends at its first NUL", "[core]") {
  char storage[8] = {'a', 'b', '\0', 'c', '\0', '\0', '\0', '\0'};
  const char* const constant_pointer = storage;
  char* const pointer = storage;
  CHECK(Bytes(constant_pointer).text() == "ab");
  CHECK(Bytes(pointer).text() == "ab");
}

TEST_CASE("Bytes view what they were made from, whatever its element type", "[core]") {
  const std::string text("a\0b", 3);
  const std::vector<unsigned char> numbers{0x61, 0, 0x62};
  const std::array<std::byte, 3> raw{std::byte{0x61}, std::byte{0}, std::byte{0x62}};
  const std::vector<signed char> with_sign{0x61, 0, 0x62};
  CHECK(Bytes(text) == Bytes("a\0b"));
  CHECK(Bytes(numbers) == Bytes("a\0b"));
  CHECK(Bytes(raw) == Bytes("a\0b"));
  CHECK(Bytes(with_sign) == Bytes("a\0b"));
  CHECK(Bytes(std::span(raw)) == Bytes("a\0b"));
  CHECK(Bytes(raw.data(), 2) == Bytes("a\0"));
  CHECK(static_cast<const void*>(Bytes(text).data()) == text.data());
  CHECK(Bytes(raw).bytes().size() == 3);
  CHECK(Bytes(raw).bytes()[2] == std::byte{0x62});
}

TEST_CASE("Bytes are equal when their content and nullness are", "[core]") {
  CHECK(Bytes("ab") == Bytes(std::string("ab")));
  CHECK(Bytes("ab") != Bytes("ac"));
  CHECK(Bytes("ab") != Bytes("abc"));
  CHECK(Bytes("a\0b") != Bytes("a\0c"));
  CHECK(Bytes("\xff") != Bytes("\x7f"));
}

TEST_CASE("A buffer tells null from empty", "[core]") {
  const Buffer none = null;
  const Buffer empty = "";
  CHECK(none.is_null());
  CHECK(Buffer().is_null());
  CHECK_FALSE(empty.is_null());
  CHECK(none.empty());
  CHECK(empty.empty());
  CHECK(Bytes(none).is_null());
  CHECK_FALSE(Bytes(empty).is_null());
  CHECK(Buffer(Bytes(null)).is_null());
  CHECK_FALSE(Buffer(Bytes("")).is_null());
  CHECK_FALSE(none == empty);
  CHECK(none == Buffer(null));
}

TEST_CASE("A buffer owns a copy of what it was made from", "[core]") {
  std::string source(100, 'x');
  const Buffer buffer = source;
  source.assign(100, 'y');
  CHECK(buffer.text() == std::string(100, 'x'));
  CHECK(buffer.size() == 100);
  CHECK(Buffer("a\0b").size() == 3);
  CHECK(Bytes(Buffer("a\0b")).size() == 3);
}

TEST_CASE("A buffer takes over a string without copying its bytes", "[core]") {
  std::string source(1000, 'x');
  const char* const place = source.data();
  const Buffer buffer(std::move(source));
  CHECK(buffer.text().data() == place);
  CHECK_FALSE(buffer.is_null());
}

TEST_CASE("A buffer moves its bytes and its nullness", "[core]") {
  Buffer source = std::string(1000, 'x');
  const char* const place = source.text().data();
  Buffer target = std::move(source);
  CHECK(target.text().data() == place);
  CHECK_FALSE(target.is_null());

  Buffer none = null;
  target = std::move(none);
  CHECK(target.is_null());
  CHECK(target.empty());

  target = Buffer("again");
  CHECK_FALSE(target.is_null());
  CHECK(target.text() == "again");
  Buffer copy = target;
  copy = "other";
  CHECK(target.text() == "again");
}

TEST_CASE("Buffers compare with buffers and with whatever makes bytes", "[core]") {
  const Buffer buffer = "ab";
  const Bytes bytes = "ab";
  const Bytes none = null;
  CHECK(buffer == Buffer("ab"));
  CHECK(buffer == bytes);
  CHECK(bytes == buffer);
  CHECK(buffer == "ab");
  CHECK(buffer == std::string("ab"));
  CHECK(buffer != "a\0b");
  CHECK_FALSE(buffer == none);
  CHECK(Buffer(null) == none);
  CHECK(Buffer(null) == null);
  CHECK(Buffer("") != null);
}
