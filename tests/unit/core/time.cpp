#include <brook/core/time.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>

#include "support/catch.hpp"

using brook::Duration;
using brook::Instant;
using brook::saturating_add;
using brook::Timestamp;
using namespace std::chrono_literals;

namespace {

static_assert(std::is_convertible_v<std::chrono::hours, Duration>);
static_assert(std::is_convertible_v<std::chrono::nanoseconds, Duration>);
static_assert(!std::is_constructible_v<Duration, std::chrono::duration<double>>);
static_assert(!std::is_constructible_v<Duration, std::chrono::duration<float, std::milli>>);
static_assert(!std::is_constructible_v<Duration, int>);
static_assert(!std::is_constructible_v<Duration, std::nullptr_t>);
static_assert(Duration(1s) == Duration(1000ms));
static_assert(Duration(std::chrono::hours::max()).is_never());
static_assert(saturating_add(Instant{}, 1s) == Instant{1s});

constexpr Instant at(std::int64_t nanoseconds) {
  return Instant{std::chrono::nanoseconds{nanoseconds}};
}
constexpr Timestamp stamp(std::int64_t milliseconds) {
  return Timestamp{std::chrono::milliseconds{milliseconds}};
}
std::int64_t count(Duration duration) {
  return duration.nanoseconds().count();
}

constexpr auto highest = std::numeric_limits<std::int64_t>::max();
constexpr auto lowest = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("A duration is exact to the nanosecond", "[core]") {
  CHECK(count(Duration()) == 0);
  CHECK(Duration().is_zero());
  CHECK(count(1ns) == 1);
  CHECK(count(1us) == 1'000);
  CHECK(count(1ms) == 1'000'000);
  CHECK(count(24h) == 86'400'000'000'000);
  CHECK(count(-1s) == -1'000'000'000);
  CHECK(Duration(-1ns).is_negative());
  CHECK_FALSE(Duration(0s).is_negative());
  CHECK(Duration(1ms) < Duration(1s));
  CHECK(count(std::chrono::duration<int, std::ratio<1, 3>>(6)) == 2'000'000'000);
  CHECK(count(std::chrono::duration<int, std::ratio<1, 3>>(1)) == 333'333'333);
  CHECK(count(std::chrono::duration<std::int64_t, std::pico>(7'999)) == 7);
}

TEST_CASE("A duration that does not fit is never", "[core]") {
  CHECK(Duration(std::chrono::hours::max()).is_never());
  CHECK(Duration(std::chrono::minutes::max()).is_never());
  CHECK(Duration(std::chrono::seconds::max()).is_never());
  CHECK(Duration(std::chrono::milliseconds::max()).is_never());
  CHECK(Duration(std::chrono::microseconds::max()).is_never());
  CHECK(Duration(std::chrono::nanoseconds::max()).is_never());
  CHECK(Duration(std::chrono::duration<int, std::ratio<31'556'952>>::max()).is_never());
  CHECK(Duration::max().is_never());
  CHECK_FALSE(Duration(std::chrono::nanoseconds{highest - 1}).is_never());
  CHECK_FALSE(Duration(2'562'047h).is_never());
  CHECK(Duration(2'562'048h).is_never());
  CHECK_FALSE(Duration(9'223'372'036s).is_never());
  CHECK(Duration(9'223'372'037s).is_never());
}

TEST_CASE("A duration too far below zero is the lowest, not a positive one", "[core]") {
  CHECK(count(std::chrono::hours::min()) == lowest);
  CHECK(count(std::chrono::seconds::min()) == lowest);
  CHECK(count(std::chrono::nanoseconds::min()) == lowest);
  CHECK(count(-9'223'372'036s) == -9'223'372'036'000'000'000);
  CHECK(count(-9'223'372'037s) == lowest);
}

TEST_CASE("Unsigned durations saturate as well", "[core]") {
  using Nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;
  using Seconds = std::chrono::duration<std::uint64_t>;
  CHECK(count(Nanoseconds{5}) == 5);
  CHECK(Duration(Nanoseconds::max()).is_never());
  CHECK(Duration(Nanoseconds{std::uint64_t{1} << 63}).is_never());
  CHECK(Duration(Seconds::max()).is_never());
  CHECK(count(Seconds{5}) == 5'000'000'000);
  CHECK(count(std::chrono::duration<std::uint64_t, std::pico>::max()) ==
        static_cast<std::int64_t>(std::numeric_limits<std::uint64_t>::max() / 1'000));
}

TEST_CASE("Durations counted in small integers are exact on both sides of zero", "[core]") {
  using Seconds = std::chrono::duration<std::int32_t>;
  using Hours = std::chrono::duration<std::int16_t, std::ratio<3'600>>;
  CHECK(count(Seconds{-700'000'000}) == -700'000'000'000'000'000);
  CHECK(count(Seconds::min()) == -2'147'483'648'000'000'000);
  CHECK(count(Seconds::max()) == 2'147'483'647'000'000'000);
  CHECK(count(Hours{-10'000}) == -36'000'000'000'000'000);
  CHECK(count(Hours::min()) == std::int64_t{-32'768} * 3'600'000'000'000);
  CHECK(count(std::chrono::duration<std::uint8_t>(255)) == 255'000'000'000);
}

TEST_CASE("Adding to an instant saturates instead of overflowing", "[core]") {
  CHECK(saturating_add(at(5), 7ns) == at(12));
  CHECK(saturating_add(at(5), -7ns) == at(-2));
  CHECK(saturating_add(at(5), Duration::max()) == Instant::max());
  CHECK(saturating_add(at(-5), Duration::max()) == Instant::max());
  CHECK(saturating_add(Instant::max(), Duration()) == Instant::max());
  CHECK(saturating_add(Instant::max(), 1ns) == Instant::max());
  CHECK(saturating_add(at(highest - 1), 1ns) == Instant::max());
  CHECK(saturating_add(at(highest - 1), 2ns) == Instant::max());
  CHECK(saturating_add(at(highest - 2), 1ns) == at(highest - 1));
  CHECK(saturating_add(at(lowest), -1ns) == Instant::min());
  CHECK(saturating_add(at(lowest + 1), -1ns) == Instant::min());
  CHECK(saturating_add(at(-1), std::chrono::nanoseconds::min()) == Instant::min());
  CHECK(saturating_add(at(highest), std::chrono::nanoseconds::min()) == at(-1));
  CHECK(saturating_add(at(lowest), std::chrono::nanoseconds{highest - 1}) == at(-2));
}

TEST_CASE("Adding to a timestamp rounds up to milliseconds and saturates", "[core]") {
  CHECK(saturating_add(stamp(5), 7ms) == stamp(12));
  CHECK(saturating_add(stamp(5), 1ns) == stamp(6));
  CHECK(saturating_add(stamp(5), 999'999ns) == stamp(6));
  CHECK(saturating_add(stamp(5), 1'000'000ns) == stamp(6));
  CHECK(saturating_add(stamp(5), 1'000'001ns) == stamp(7));
  CHECK(saturating_add(stamp(5), Duration()) == stamp(5));
  CHECK(saturating_add(stamp(5), -1ns) == stamp(5));
  CHECK(saturating_add(stamp(5), -1ms) == stamp(4));
  CHECK(saturating_add(stamp(5), Duration::max()) == Timestamp::max());
  CHECK(saturating_add(Timestamp::max(), 1ms) == Timestamp::max());
  CHECK(saturating_add(Timestamp::max(), Duration()) == Timestamp::max());
  CHECK(saturating_add(Timestamp::min(), -1ms) == Timestamp::min());
  CHECK(saturating_add(stamp(highest - 3), 3ms) == Timestamp::max());
  CHECK(saturating_add(stamp(highest - 3), 2ms) == stamp(highest - 1));
}
