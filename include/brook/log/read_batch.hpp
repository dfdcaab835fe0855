#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <brook/core/record.hpp>
#include <brook/storage/record_run.hpp>

namespace brook {

/// What a read of a log returned: messages in offset order, as views into the log. They stay valid
/// while the batch lives, whatever is appended or trimmed meanwhile; a batch that is kept keeps its
/// segments in memory.
///
/// Thread rule: a value type. Complexity: size O(1), iteration O(1) a message, indexing O(pieces).
class [[nodiscard]] ReadBatch {
 public:
  class Iterator;
  using iterator = Iterator;
  using const_iterator = Iterator;

  ReadBatch() = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] Iterator begin() const& noexcept;
  [[nodiscard]] Iterator end() const& noexcept;
  void begin() const&& = delete;
  void end() const&& = delete;

  /// Requires `index < size()`.
  [[nodiscard]] StoredMessage operator[](std::size_t index) const& noexcept {
    for (const RecordRun& run : runs_) {
      if (index < run.size()) return run[static_cast<std::uint32_t>(index)];
      index -= run.size();
    }
    return {};
  }
  void operator[](std::size_t) const&& = delete;

  /// The pieces of memory the messages lie in. For loops in which every nanosecond counts.
  [[nodiscard]] const std::vector<RecordRun>& runs() const noexcept { return runs_; }

  void add(RecordRun run) {
    if (run.empty()) return;
    size_ += run.size();
    runs_.push_back(std::move(run));
  }

 private:
  std::vector<RecordRun> runs_;
  std::size_t size_ = 0;
};

class ReadBatch::Iterator {
 public:
  using value_type = StoredMessage;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::input_iterator_tag;
  using iterator_concept = std::forward_iterator_tag;
  using reference = StoredMessage;
  using pointer = void;

  Iterator() noexcept = default;
  explicit Iterator(const RecordRun* run) noexcept : run_(run) {}

  StoredMessage operator*() const noexcept { return (*run_)[index_]; }
  Iterator& operator++() noexcept {
    if (++index_ == run_->size()) {
      ++run_;
      index_ = 0;
    }
    return *this;
  }
  Iterator operator++(int) noexcept {
    const Iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Iterator&, const Iterator&) noexcept = default;

 private:
  const RecordRun* run_ = nullptr;
  std::uint32_t index_ = 0;
};

inline ReadBatch::Iterator ReadBatch::begin() const& noexcept {
  return Iterator(runs_.data());
}
inline ReadBatch::Iterator ReadBatch::end() const& noexcept {
  return Iterator(runs_.data() + runs_.size());
}

}  // namespace brook
