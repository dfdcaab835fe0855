#include <brook/storage/record_run.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"

using brook::ByteSize;
using brook::MessageCount;
using brook::Offset;
using brook::Pin;
using brook::RecordRun;

namespace {

static_assert(std::is_nothrow_move_constructible_v<RecordRun>);
static_assert(std::is_copy_constructible_v<RecordRun>);

/// Records of the given payload sizes side by side, with their index, as a segment has them.
class Piece final : public brook::Pinned {
 public:
  explicit Piece(const std::vector<std::size_t>& payload_sizes)
      : index_(payload_sizes.size() + 1, 0) {
    std::vector<std::string> payloads;
    std::vector<brook::detail::RecordPlan> plans;
    std::size_t words = 0;
    for (const std::size_t size : payload_sizes) {
      payloads.emplace_back(size, static_cast<char>('a' + payloads.size()));
      plans.push_back(brook::detail::plan_record({.payload = payloads.back()}, {}, false));
      words += plans.back().size / 8;
      // The index grows downwards: the entry of record i is the i-th from the end.
      index_[index_.size() - 1 - plans.size()] = static_cast<std::uint32_t>(words);
    }
    words_.resize(words);
    std::size_t at = 0;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      brook::detail::write_record(reinterpret_cast<std::byte*>(words_.data() + at),
                                  {.payload = payloads[i]}, plans[i], {});
      at += plans[i].size / 8;
    }
  }
  ~Piece() override = default;

  RecordRun run(Offset base, const std::uint32_t* deltas = nullptr) {
    acquire();
    return {{.records = reinterpret_cast<const std::byte*>(words_.data()),
             .positions = &index_.back(),
             .deltas = deltas,
             .base = base,
             .count = static_cast<std::uint32_t>(index_.size() - 1)},
            Pin(this)};
  }
  bool gone() const { return gone_; }
  void let_go() { release(); }

 private:
  void unpinned() noexcept override { gone_ = true; }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> index_;
  bool gone_ = false;
};

std::uint32_t taken(Piece& piece, MessageCount messages, ByteSize bytes) {
  RecordRun run = piece.run(Offset{0});
  run.take({.max_messages = messages, .max_bytes = bytes});
  return run.size();
}

}  // namespace

TEST_CASE("A run of nothing is empty", "[storage]") {
  const RecordRun run;
  CHECK(run.empty());
  CHECK(run.size() == 0);
  CHECK(run.dense());
  CHECK_FALSE(run.any_addressed());
  CHECK_FALSE(static_cast<bool>(run.pin()));
}

TEST_CASE("A dense run counts its offsets on from its base", "[storage]") {
  Piece piece({1, 0, 20});
  const RecordRun run = piece.run(Offset{40});
  REQUIRE(run.size() == 3);
  CHECK(run.dense());
  CHECK(run.first() == Offset{40});
  CHECK(run.last() == Offset{42});
  CHECK(run.offset(1) == Offset{41});
  CHECK(run[0].payload().text() == "a");
  CHECK(run[1].payload().empty());
  CHECK(run[2].payload().text() == std::string(20, 'c'));
  CHECK(run[2].offset() == Offset{42});
  CHECK(run.record(1) == run[1].record());
}

TEST_CASE("A run with gaps has the offsets it lists", "[storage]") {
  Piece piece({1, 1, 1});
  const std::array<std::uint32_t, 3> deltas{0, 7, 1'000'000};
  const RecordRun run = piece.run(Offset{40}, deltas.data());
  CHECK_FALSE(run.dense());
  CHECK(run.first() == Offset{40});
  CHECK(run.offset(1) == Offset{47});
  CHECK(run.last() == Offset{1'000'040});
  CHECK(run[1].offset() == Offset{47});
}

TEST_CASE("A run knows the size of each message and of all", "[storage]") {
  Piece piece({1, 0, 20});
  const RecordRun run = piece.run(Offset{0});
  CHECK(run.stored_size(0) == 24);
  CHECK(run.stored_size(1) == 16);
  CHECK(run.stored_size(2) == 40);
  CHECK(run.stored_size() == 80);
}

TEST_CASE("Taking from a run keeps to both limits", "[storage]") {
  Piece piece({8, 8, 8, 8, 8});  // 24 bytes each
  CHECK(taken(piece, 5, ByteSize::unlimited()) == 5);
  CHECK(taken(piece, MessageCount::unlimited(), ByteSize::unlimited()) == 5);
  CHECK(taken(piece, 3, ByteSize::unlimited()) == 3);
  CHECK(taken(piece, 1, ByteSize::unlimited()) == 1);
  CHECK(taken(piece, 5, 120) == 5);
  CHECK(taken(piece, 5, 119) == 4);
  CHECK(taken(piece, 5, 72) == 3);
  CHECK(taken(piece, 5, 71) == 2);
  CHECK(taken(piece, 2, 72) == 2);
  CHECK(taken(piece, 5, 24) == 1);
}

TEST_CASE("Taking from a run gives one message, whatever the limits", "[storage]") {
  Piece piece({1'000, 8});
  CHECK(taken(piece, 5, 23) == 1);
  CHECK(taken(piece, 5, 0) == 1);
  CHECK(taken(piece, 0, 5'000) == 1);
}

TEST_CASE("A run of one shortened run has the sizes of what is left", "[storage]") {
  Piece piece({8, 16, 8});
  RecordRun run = piece.run(Offset{7});
  run.take({.max_messages = 2});
  CHECK(run.last() == Offset{8});
  CHECK(run.stored_size() == 24 + 32);
}

TEST_CASE("A run keeps its memory as long as a copy of it is there", "[storage]") {
  Piece piece({1});
  RecordRun run = piece.run(Offset{0});
  piece.let_go();
  CHECK_FALSE(piece.gone());
  RecordRun copy = run;
  run = RecordRun();
  CHECK_FALSE(piece.gone());
  const RecordRun moved = std::move(copy);
  copy = RecordRun();
  CHECK_FALSE(piece.gone());
  CHECK(moved[0].payload().text() == "a");
  Pin pin = moved.pin();
  CHECK(pin.get() == &piece);
}

TEST_CASE("Without limits of his own a reader gets 500 messages or a megabyte", "[storage]") {
  const brook::ReadLimits limits;
  CHECK(limits.max_messages == MessageCount(500));
  CHECK(limits.max_bytes == ByteSize(1 << 20));
}
