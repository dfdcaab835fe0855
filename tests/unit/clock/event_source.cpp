#include <brook/clock/event_source.hpp>

#include <type_traits>

#include "support/catch.hpp"

using brook::EventScope;
using brook::EventSource;
using brook::IdleReport;
using brook::Instant;

namespace {

static_assert(std::is_abstract_v<EventSource>);
static_assert(std::has_virtual_destructor_v<EventSource>);
static_assert(!std::is_copy_constructible_v<EventSource>);
static_assert(!std::is_copy_assignable_v<EventSource>);

class OneGroup final : public EventSource {
 public:
  Instant next_event_time(EventScope scope) override {
    return scope == EventScope::all ? Instant{std::chrono::seconds{1}} : Instant::max();
  }
  void run_due() override { ++runs_; }
  void report_backlog(IdleReport& report) override {
    report.backlog.push_back({.group = "billing", .topic = "orders", .messages = 3});
  }
  int runs() const { return runs_; }

 private:
  int runs_ = 0;
};

}  // namespace

TEST_CASE("An event source is used through its base", "[clock]") {
  OneGroup group;
  EventSource& source = group;
  CHECK(source.next_event_time(EventScope::all) == Instant{std::chrono::seconds{1}});
  CHECK(source.next_event_time(EventScope::delivery) == Instant::max());
  source.run_due();
  CHECK(group.runs() == 1);
  IdleReport report;
  CHECK(report.backlog.empty());
  CHECK(report.steps == 0);
  source.report_backlog(report);
  REQUIRE(report.backlog.size() == 1);
  CHECK(report.backlog[0].group == "billing");
  CHECK(report.backlog[0].topic == "orders");
  CHECK(report.backlog[0].partition == brook::PartitionId{0});
  CHECK(report.backlog[0].messages == 3);
}
