#include <brook/delivery/batch.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "support/catch.hpp"
#include "support/delivery.hpp"

using brook::Batch;
using brook::Delivery;
using brook::Offset;
using support::LogUnderTest;
using support::Offsets;
using support::offsets;

namespace {

class Source final : public brook::detail::LeaseSource {
 public:
  bool is_live(const brook::Receipt& receipt) override { return receipt == live; }
  const void* owner() const noexcept override { return this; }
  std::string_view topic() const noexcept override { return "orders"; }
  brook::PartitionId partition() const noexcept override { return brook::PartitionId{7}; }

  brook::Receipt live{};
};

template <class T>
concept Begins = requires(T batch) {
  static_cast<T&&>(batch).begin();
};
template <class T>
concept Indexes = requires(T batch) {
  static_cast<T&&>(batch)[0];
};

}  // namespace

TEST_CASE("deliveries stay in their batch, and batches are moved", "[delivery]") {
  static_assert(!std::is_copy_constructible_v<Delivery> && !std::is_copy_assignable_v<Delivery>);
  static_assert(!std::is_move_constructible_v<Delivery>);
  static_assert(!std::is_copy_constructible_v<Batch> && !std::is_copy_assignable_v<Batch>);
  static_assert(std::is_nothrow_move_constructible_v<Batch> &&
                std::is_nothrow_move_assignable_v<Batch>);
  static_assert(std::is_nothrow_default_constructible_v<Batch>);
  static_assert(sizeof(Delivery) == 32);
}

TEST_CASE("a batch that is about to die gives no deliveries away", "[delivery]") {
  static_assert(Begins<Batch&> && Begins<const Batch&> && Indexes<const Batch&>);
  static_assert(!Begins<Batch> && !Indexes<Batch>);
}

TEST_CASE("an empty batch has nothing", "[delivery]") {
  const Batch batch;
  CHECK(batch.empty());
  CHECK(batch.size() == 0);
  CHECK(batch.begin() == batch.end());
}

TEST_CASE("a delivery shows all of its message", "[delivery]") {
  LogUnderTest t;
  t.log.append({.key = "k", .payload = "p", .headers = {{"a", "1"}, {"b", brook::null}}});
  t.log.append({.payload = brook::null});
  auto subscription = t.subscribe();
  const auto batch = subscription.poll();
  REQUIRE(batch.size() == 2);
  const Delivery& first = batch.front();
  CHECK(first.key().text() == "k");
  CHECK(first.text() == "p");
  CHECK(first.payload().text() == "p");
  CHECK(first.headers().size() == 2);
  CHECK(first.timestamp() == t.clock.wall_now());
  CHECK(first.offset() == Offset{0});
  CHECK(first.number() == 1);
  CHECK(first.topic().empty());  // a bare subscription has no topic
  CHECK(first.partition() == brook::PartitionId{0});
  CHECK(batch[1].key().is_null());
  CHECK(batch[1].payload().is_null());
  CHECK(batch[1].text().empty());
}

TEST_CASE("a copy of the message outlives everything", "[delivery]") {
  brook::Message copy;
  {
    LogUnderTest t;
    t.log.append({.key = "k", .payload = std::string(5000, 'p'), .headers = {{"a", "1"}}});
    auto subscription = t.subscribe();
    const auto batch = subscription.poll();
    copy = batch[0].copy();
  }
  CHECK(copy.key.text() == "k");
  CHECK(copy.payload.size() == 5000);
  CHECK(copy.headers.size() == 1);
}

TEST_CASE("deliveries do not move when their batch is moved", "[delivery]") {
  LogUnderTest t("ab");
  auto subscription = t.subscribe();
  Batch first = subscription.poll();
  const Delivery* const delivery = &first[1];
  Batch second = std::move(first);
  CHECK(&second[1] == delivery);
  CHECK(delivery->offset() == Offset{1});
  CHECK(first.empty());  // NOLINT(bugprone-use-after-move): a moved-from batch is empty
  CHECK(first.begin() == first.end());
  CHECK(subscription.ack(second[1]) == brook::SettleResult::applied);
  second = Batch();
  CHECK(second.empty());
}

TEST_CASE("a batch outlives trim, subscription and log", "[delivery]") {
  Batch batch;
  Batch second;
  {
    LogUnderTest t;
    t.append(std::string(300, 'a'), 100);
    auto subscription = t.subscribe();
    batch = subscription.poll(200);
    second = subscription.poll(100);
    CHECK(batch[0].live());
    t.log.trim(Offset{300});
    t.append(std::string(300, 'b'), 100);
    CHECK(batch[199].payload().size() == 100);
  }
  for (const Delivery& delivery : batch) {
    REQUIRE(delivery.key().text() == "a");
    REQUIRE(delivery.payload().size() == 100);
    REQUIRE_FALSE(delivery.live());
    REQUIRE(delivery.topic().empty());
    REQUIRE(delivery.receipt().offset == delivery.offset());
  }
  CHECK(second.size() == 100);
}

TEST_CASE("batches may go in any order, also after their subscription", "[delivery]") {
  auto t = std::make_unique<LogUnderTest>("aaaa");
  auto subscription = std::make_unique<support::ManualSubscription>(t->log);
  auto one = std::make_unique<Batch>(subscription->poll(1));
  auto two = std::make_unique<Batch>(subscription->poll(1));
  one.reset();
  subscription.reset();
  CHECK(two->front().key().text() == "a");
  t.reset();
  CHECK(two->front().key().text() == "a");
  two.reset();
}

TEST_CASE("a delivery knows the piece it came from, far up in a log and while the batch grows",
          "[delivery]") {
  LogUnderTest t("a");
  const auto read = t.log.read(Offset{0});
  const auto source = std::make_shared<Source>();
  const Offset far{(std::uint64_t{5} << 32) - 3};
  auto state = std::make_unique<brook::detail::BatchState>();
  for (std::uint32_t piece = 0; piece < 20; ++piece) {
    state->reserve(7);
    state->begin_piece(source, 99, piece, far, true);
    state->pin(read.runs()[0].pin());
    for (std::uint32_t i = 0; i < 7; ++i) {
      state->add(brook::StoredMessage(read[0].record(), far + i), i, piece + 1);
    }
  }
  const Batch batch = brook::detail::BatchAccess::make(std::move(state));
  REQUIRE(batch.size() == 140);
  for (std::uint32_t i = 0; i < 140; ++i) {
    const Delivery& delivery = batch[i];
    REQUIRE(delivery.offset() == far + i % 7);
    REQUIRE(delivery.receipt() ==
            brook::Receipt{
                .subscription = 99, .offset = far + i % 7, .epoch = i / 7, .attempt = i % 7});
    REQUIRE(delivery.number() == i / 7 + 1);
    REQUIRE(delivery.key().text() == "a");
    REQUIRE(delivery.topic() == "orders");
    REQUIRE(delivery.partition() == brook::PartitionId{7});
  }
  source->live = batch[8].receipt();
  CHECK(batch[8].live());
  CHECK_FALSE(batch[9].live());
}

TEST_CASE("a batch keeps the source of its deliveries", "[delivery]") {
  const std::weak_ptr<Source> watched = [] {
    const auto source = std::make_shared<Source>();
    auto state = std::make_unique<brook::detail::BatchState>();
    state->reserve(1);
    state->begin_piece(source, 1, 1, Offset{}, true);
    const Batch batch = brook::detail::BatchAccess::make(std::move(state));
    std::weak_ptr<Source> weak = source;
    CHECK(weak.use_count() == 2);
    return weak;
  }();
  CHECK(watched.expired());
}
