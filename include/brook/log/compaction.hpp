#pragma once

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <brook/core/ids.hpp>
#include <brook/core/record.hpp>
#include <brook/core/time.hpp>
#include <brook/log/log_config.hpp>
#include <brook/storage/record_run.hpp>

namespace brook::detail {

/// Decides what compaction keeps: of each key the newest message, and of those no tombstone older
/// than its retention. A pure decision over messages it was shown in offset order; keys are
/// compared exactly, because a false match would lose data.
class CompactionPlan {
 public:
  CompactionPlan(const Compaction& rules, Timestamp now) noexcept : rules_(rules), now_(now) {}

  /// Looks at the messages of @p run, and keeps it pinned, because the plan refers to its keys.
  void observe(const RecordRun& run) {
    runs_.push_back(run);
    for (std::uint32_t i = 0; i < run.size(); ++i) {
      newest_.insert_or_assign(run[i].key().text(), run.offset(i));
    }
  }

  [[nodiscard]] bool keeps(const StoredMessage& message) const {
    const auto found = newest_.find(message.key().text());
    if (found == newest_.end()) return false;  // below the start of the log
    if (found->second != message.offset()) return found->second < message.offset();
    return !message.payload().is_null() ||
           saturating_add(message.retention_time(), rules_.tombstone_retention) > now_;
  }

 private:
  Compaction rules_;
  Timestamp now_;
  std::vector<RecordRun> runs_;
  std::unordered_map<std::string_view, Offset> newest_;
};

}  // namespace brook::detail
