#include <brook/broker/reports.hpp>

#include "support/catch.hpp"

TEST_CASE("The lag of a group is the sum over its partitions", "[broker]") {
  const brook::GroupLag lag{.group = "g",
                            .partitions = {{.messages = 3,
                                            .stats = {.deliveries = 1,
                                                      .redeliveries = 2,
                                                      .acked = 3,
                                                      .nacked = 4,
                                                      .expired = 5,
                                                      .dead_lettered = 6,
                                                      .dropped = 7,
                                                      .lost = 8}},
                                           {.messages = 4,
                                            .stats = {.deliveries = 10,
                                                      .redeliveries = 20,
                                                      .acked = 30,
                                                      .nacked = 40,
                                                      .expired = 50,
                                                      .dead_lettered = 60,
                                                      .dropped = 70,
                                                      .lost = 80}}}};
  CHECK(lag.messages() == 7);
  const auto stats = lag.stats();
  CHECK(stats.deliveries == 11);
  CHECK(stats.redeliveries == 22);
  CHECK(stats.acked == 33);
  CHECK(stats.nacked == 44);
  CHECK(stats.expired == 55);
  CHECK(stats.dead_lettered == 66);
  CHECK(stats.dropped == 77);
  CHECK(stats.lost == 88);
}

TEST_CASE("The lag of a group without partitions is nothing", "[broker]") {
  CHECK(brook::GroupLag{}.messages() == 0);
  CHECK(brook::GroupLag{}.stats().deliveries == 0);
}

TEST_CASE("Reports of places are equal when all of them is equal", "[broker]") {
  const brook::Published one{.topic = {.high = 0, .low = 1},
                             .partition = brook::PartitionId{2},
                             .offset = brook::Offset{3}};
  brook::Published other = one;
  CHECK(one == other);
  other.offset = brook::Offset{4};
  CHECK(one != other);

  const brook::CommittedOffset position{.topic = "a", .partition = {}, .offset = brook::Offset{1}};
  brook::CommittedOffset moved = position;
  CHECK(position == moved);
  moved.topic = "b";
  CHECK(position != moved);
}
