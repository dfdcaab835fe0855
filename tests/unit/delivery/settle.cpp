#include <brook/delivery/settle.hpp>

#include <string_view>
#include <type_traits>

#include "support/catch.hpp"

using brook::SettleCounts;
using brook::SettleResult;

namespace {

constexpr std::array results{SettleResult::applied,         SettleResult::stale,
                             SettleResult::fenced,          SettleResult::below_start,
                             SettleResult::already_settled, SettleResult::lease_lost};

}  // namespace

TEST_CASE("every settle result has a name of its own", "[delivery]") {
  constexpr std::array<std::string_view, 6> names{"applied",     "stale",           "fenced",
                                                  "below_start", "already_settled", "lease_lost"};
  for (std::size_t i = 0; i < results.size(); ++i) CHECK(to_string(results[i]) == names[i]);
  CHECK(to_string(static_cast<SettleResult>(200)) == "unknown");
}

TEST_CASE("settle results are declared in the order in which they are tested", "[delivery]") {
  CHECK(std::is_sorted(results.begin(), results.end()));
}

TEST_CASE("SettleCounts counts each result by itself", "[delivery]") {
  SettleCounts counts;
  for (std::size_t i = 0; i < results.size(); ++i) counts.add(results[i], i + 1);
  CHECK(counts == SettleCounts{.applied = 1,
                               .stale = 2,
                               .fenced = 3,
                               .below_start = 4,
                               .already_settled = 5,
                               .lease_lost = 6});
  counts.add(SettleResult::fenced);
  CHECK(counts.fenced == 4);
  CHECK(SettleCounts{} != counts);
}

TEST_CASE("a receipt is a small value that can be kept and compared", "[delivery]") {
  static_assert(sizeof(brook::Receipt) == 24);
  static_assert(std::is_trivially_copyable_v<brook::Receipt>);
  const brook::Receipt receipt{
      .subscription = 1, .offset = brook::Offset{2}, .epoch = 3, .attempt = 4};
  CHECK(receipt == brook::Receipt(receipt));
  CHECK(receipt !=
        brook::Receipt{.subscription = 1, .offset = brook::Offset{2}, .epoch = 3, .attempt = 5});
  CHECK(receipt != brook::Receipt{});
}

TEST_CASE("a nack without options leaves the delay to the retry policy", "[delivery]") {
  const brook::NackOptions options;
  CHECK_FALSE(options.delay.has_value());
  CHECK(options.error.empty());
}
