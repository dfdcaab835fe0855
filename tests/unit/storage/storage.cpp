#include <brook/storage/storage.hpp>

#include <memory>
#include <type_traits>

#include "support/catch.hpp"

using brook::Offset;
using brook::RangeUsage;

namespace {

/// Forgets everything at once, and needs no other header for it.
struct Forgetful {
  struct Reader {
    explicit Reader(const Forgetful&) {}
    brook::RecordRun read(Offset, Offset, const brook::ReadLimits&) { return {}; }
    Offset first_at_or_after(brook::Timestamp, Offset, Offset to) { return to; }
    RangeUsage usage(Offset, Offset) { return {}; }
    void rest() {}
  };
  Offset end() const { return next; }
  RangeUsage append(const brook::MessageBatch& batch, const brook::detail::AppendTimes&) {
    next += batch.size();
    return {.messages = batch.size()};
  }
  void truncate(Offset offset) { next = offset; }
  void trim(Offset) {}
  template <class Keep>
  RangeUsage compact(Offset, Keep) {
    return {};
  }

  Offset next{};
};
static_assert(brook::Storage<Forgetful>);

struct WithoutTruncate {
  using Reader = Forgetful::Reader;
  Offset end() const { return {}; }
  RangeUsage append(const brook::MessageBatch&, const brook::detail::AppendTimes&) { return {}; }
  void trim(Offset) {}
};
static_assert(!brook::Storage<WithoutTruncate>);

}  // namespace

TEST_CASE("A model of a storage needs the header of the concept and no other", "[storage]") {
  Forgetful storage;
  const brook::MessageView message{.payload = "x"};
  CHECK(storage.append(message, {}).messages == 1);
  CHECK(storage.end() == Offset{1});
  CHECK(brook::detail::KeepAll{}(brook::StoredMessage()));
}
