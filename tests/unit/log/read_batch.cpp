#include <brook/log/read_batch.hpp>

#include <cstdint>
#include <iterator>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <brook/storage/memory_storage.hpp>

#include "support/catch.hpp"

using brook::MemoryStorage;
using brook::MessageView;
using brook::Offset;
using brook::ReadBatch;
using brook::RecordRun;
using brook::StoredMessage;

namespace {

static_assert(std::forward_iterator<ReadBatch::Iterator>);
static_assert(std::ranges::forward_range<const ReadBatch>);
static_assert(std::is_nothrow_move_constructible_v<ReadBatch>);
static_assert(std::is_copy_constructible_v<ReadBatch>);
template <class B>
concept WalkedAsTemporary = requires(B&& batch) {
  static_cast<B&&>(batch).begin();
};
static_assert(WalkedAsTemporary<const ReadBatch&>);
static_assert(!WalkedAsTemporary<ReadBatch>);

/// Messages whose payload is their offset, read in runs of at most @p run_size.
ReadBatch batch_of(std::uint64_t messages, std::uint64_t run_size) {
  MemoryStorage storage;
  for (std::uint64_t i = 0; i < messages; ++i) {
    storage.append(MessageView{.payload = std::to_string(i)}, {});
  }
  MemoryStorage::Reader reader(storage);
  ReadBatch batch;
  for (Offset from{0}; from < storage.end();) {
    RecordRun run = reader.read(from, storage.end(), {.max_messages = run_size});
    from = run.last() + 1;
    batch.add(std::move(run));
  }
  return batch;
}

std::vector<std::string> payloads(const ReadBatch& batch) {
  std::vector<std::string> list;
  for (const StoredMessage message : batch) {
    CHECK(message.payload().text() == std::to_string(message.offset().value()));
    list.emplace_back(message.payload().text());
  }
  return list;
}

}  // namespace

TEST_CASE("A batch of no messages is empty and can be walked", "[log]") {
  const ReadBatch batch;
  CHECK(batch.empty());
  CHECK(batch.size() == 0);
  CHECK(batch.begin() == batch.end());
  CHECK(batch.runs().empty());
  CHECK(payloads(batch).empty());
}

TEST_CASE("A batch is walked and indexed across its pieces", "[log]") {
  for (const std::uint64_t run_size : {1U, 3U, 10U}) {
    const ReadBatch batch = batch_of(10, run_size);
    REQUIRE(batch.size() == 10);
    CHECK_FALSE(batch.empty());
    CHECK(payloads(batch).size() == 10);
    for (std::size_t i = 0; i < 10; ++i) {
      CHECK(batch[i].offset() == Offset{i});
      CHECK(batch[i].payload().text() == std::to_string(i));
    }
    CHECK(batch.runs().size() == (10 + run_size - 1) / run_size);
  }
}

TEST_CASE("A piece without messages adds nothing to a batch", "[log]") {
  ReadBatch batch;
  batch.add(RecordRun());
  CHECK(batch.empty());
  CHECK(batch.begin() == batch.end());
  const ReadBatch full = batch_of(3, 2);
  for (const RecordRun& run : full.runs()) {
    batch.add(run);
    batch.add(RecordRun());
  }
  CHECK(batch.size() == 3);
  CHECK(payloads(batch).size() == 3);
}

TEST_CASE("A batch outlives the storage it was read from, and moves", "[log]") {
  ReadBatch batch = batch_of(100, 7);
  const ReadBatch copy = batch;
  const ReadBatch moved = std::move(batch);
  CHECK(payloads(moved).size() == 100);
  CHECK(payloads(copy).size() == 100);
}

TEST_CASE("An iterator of a batch can be copied and walked again", "[log]") {
  const ReadBatch batch = batch_of(5, 2);
  auto at = batch.begin();
  const auto first = at++;
  CHECK((*first).offset() == Offset{0});
  CHECK((*at).offset() == Offset{1});
  ++at;
  CHECK((*at).offset() == Offset{2});
  CHECK(std::ranges::distance(batch) == 5);
  CHECK(std::next(first, 5) == batch.end());
}
