#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <brook/storage/storage.hpp>

namespace support {

/// The smallest storage there can be: each message in a heap allocation of its own, in a sorted
/// vector behind a mutex. Has nothing that `brook::Storage` does not ask for, so that whatever is
/// built on storages shows if it asks for more.
class VectorStorage {
  struct Record final : brook::Pinned {
    Record(const brook::MessageView& message, const brook::detail::RecordPlan& plan,
           const brook::detail::AppendTimes& times, brook::Offset at)
        : words(plan.size / 8), positions{static_cast<std::uint32_t>(words.size()), 0}, offset(at) {
      brook::detail::write_record(reinterpret_cast<std::byte*>(words.data()), message, plan, times);
    }
    void unpinned() noexcept override { delete this; }
    brook::RecordRun::Place place() const noexcept {
      return {.records = reinterpret_cast<const std::byte*>(words.data()),
              .positions = &positions[1],
              .base = offset,
              .count = 1,
              .any_addressed = true};
    }
    brook::StoredMessage message() const noexcept {
      return {reinterpret_cast<const std::byte*>(words.data()), offset};
    }
    brook::RangeUsage usage() const noexcept { return {.messages = 1, .bytes = words.size() * 8}; }

    std::vector<std::uint64_t> words;
    std::uint32_t positions[2];
    brook::Offset offset;
  };
  struct Drop {
    void operator()(Record* record) const noexcept { record->release(); }
  };
  using Owned = std::unique_ptr<Record, Drop>;
  using Records = std::vector<Owned>;
  struct State {
    Records::iterator find(brook::Offset offset) {
      return std::partition_point(records.begin(), records.end(),
                                  [&](const auto& record) { return record->offset < offset; });
    }
    std::mutex mutex{};
    Records records{};
    brook::Offset end{};
  };

 public:
  class Reader {
   public:
    explicit Reader(const VectorStorage& storage) : state_(storage.state_.get()) {}
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;

    brook::RecordRun read(brook::Offset from, brook::Offset to, const brook::ReadLimits&) {
      const std::lock_guard lock(state_->mutex);
      const auto at = state_->find(from);
      if (at == state_->records.end() || (*at)->offset >= to) return {};
      (*at)->acquire();
      return {(*at)->place(), brook::Pin(at->get())};
    }
    brook::Offset first_at_or_after(brook::Timestamp time, brook::Offset from, brook::Offset to) {
      const std::lock_guard lock(state_->mutex);
      for (auto at = state_->find(from); at < state_->find(to); ++at) {
        if ((*at)->message().timestamp() >= time) return (*at)->offset;
      }
      return to;
    }
    brook::RangeUsage usage(brook::Offset from, brook::Offset to) {
      const std::lock_guard lock(state_->mutex);
      brook::RangeUsage sum{};
      for (auto at = state_->find(from); at < state_->find(to); ++at) add(sum, **at);
      return sum;
    }
    void rest() {}

   private:
    State* state_;
  };

  VectorStorage(VectorStorage&&) = default;
  static VectorStorage make() { return VectorStorage(); }

  brook::Offset end() const { return state_->end; }

  brook::RangeUsage append(const brook::MessageBatch& batch,
                           const brook::detail::AppendTimes& times) {
    Records made;
    brook::RangeUsage sum{};
    batch.for_each([&](const brook::MessageView& message) {
      const auto plan = brook::detail::plan_record(message, times, true);
      Owned record(new Record(message, plan, times, state_->end + made.size()));
      made.push_back(std::move(record));
      add(sum, *made.back());
    });
    const std::lock_guard lock(state_->mutex);
    state_->records.reserve(state_->records.size() + made.size());
    std::move(made.begin(), made.end(), std::back_inserter(state_->records));
    state_->end += sum.messages;
    return sum;
  }
  void truncate(brook::Offset offset) {
    const std::lock_guard lock(state_->mutex);
    state_->records.erase(state_->find(offset), state_->records.end());
    state_->end = offset;
  }
  void trim(brook::Offset offset) {
    const std::lock_guard lock(state_->mutex);
    state_->records.erase(state_->records.begin(), state_->find(offset));
  }
  template <class Keep>
  brook::RangeUsage compact(brook::Offset upto, Keep keep) {
    const std::lock_guard lock(state_->mutex);
    const auto last = state_->find(upto);
    const auto kept = std::stable_partition(
        state_->records.begin(), last, [&](const auto& record) { return keep(record->message()); });
    brook::RangeUsage removed{};
    std::for_each(kept, last, [&](const auto& record) { add(removed, *record); });
    state_->records.erase(kept, last);
    return removed;
  }

 private:
  VectorStorage() : state_(std::make_unique<State>()) {}
  static void add(brook::RangeUsage& sum, const Record& record) {
    sum.messages += record.usage().messages;
    sum.bytes += record.usage().bytes;
  }

  std::unique_ptr<State> state_;
};
static_assert(brook::Storage<VectorStorage>);

}  // namespace support
