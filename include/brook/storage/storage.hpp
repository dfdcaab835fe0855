#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include <brook/core/ids.hpp>
#include <brook/core/message_batch.hpp>
#include <brook/core/record.hpp>
#include <brook/core/time.hpp>
#include <brook/storage/record_run.hpp>

namespace brook {

namespace detail {
struct KeepAll {
  bool operator()(const StoredMessage&) const noexcept { return true; }
};

template <class S>
concept Appends = requires(S& storage, const MessageBatch& batch, const AppendTimes& times,
                           Offset offset) {
  { std::as_const(storage).end() } -> std::same_as<Offset>;
  { storage.append(batch, times) } -> std::same_as<RangeUsage>;
  { storage.truncate(offset) } -> std::same_as<void>;
};

template <class S>
concept Shortens = requires(S& storage, Offset offset) {
  { storage.trim(offset) } -> std::same_as<void>;
  { storage.compact(offset, KeepAll{}) } -> std::same_as<RangeUsage>;
};

template <class R, class S>
concept ReadsStorage = std::constructible_from<R, const S&> &&
    requires(R& reader, Offset from, Offset to, const ReadLimits& limits, Timestamp time) {
  { reader.read(from, to, limits) } -> std::same_as<RecordRun>;
  { reader.first_at_or_after(time, from, to) } -> std::same_as<Offset>;
  { reader.usage(from, to) } -> std::same_as<RangeUsage>;
  { reader.rest() } -> std::same_as<void>;
};
}  // namespace detail

/// Where one partition keeps its messages. A storage knows bytes and offsets; which of them are
/// visible, how long they are kept and who reads them is decided above it, in `TopicLog`.
///
/// Writer side, one call at a time:
///
/// | expression              | returns      | pre, post |
/// |-------------------------|--------------|---|
/// | `s.end()`               | `Offset`     | next offset to be written; falls only by `truncate` |
/// | `s.append(batch,times)` | `RangeUsage` | all messages get offsets from `end()` on, or |
/// |                         |              | (throws) none exists |
/// | `s.truncate(o)`         | –            | pre: nothing from `o` on was visible; `end() == o` |
/// | `s.trim(o)`             | –            | memory below `o` may go; what runs pin stays; no |
/// |                         |              | throw |
/// | `s.compact(o, keep)`    | `RangeUsage` | removes messages below `o` that `keep(message)` |
/// |                         |              | denies, in sealed parts; tells what went |
///
/// Reader side, `S::Reader`, constructed from a `const S&`, one thread each, any number at a time
/// and beside the writer:
///
/// | expression                         | returns      | meaning |
/// |------------------------------------|--------------|---|
/// | `r.read(from, to, limits)`         | `RecordRun`  | messages from the first in `[from, to)` |
/// |                                    |              | on, what lies together and fits; empty |
/// |                                    |              | only if there is none in that range |
/// | `r.first_at_or_after(t, from, to)` | `Offset`     | first one there with timestamp ≥ t; `to` |
/// | `r.usage(from, to)`                | `RangeUsage` | messages and bytes present in the range |
/// | `r.rest()`                         | –            | gives up the pin, until the next read |
///
/// pre: the caller has seen everything below `to` become visible (acquire) before it calls. A read
/// takes no lock, changes nothing and keeps at most one pin. If `trim` has passed `from` meanwhile,
/// the run may begin later: the caller compares with its own start. Memory of a run lives as long
/// as its pin, whatever happens to the storage. A reader must not outlive its storage.
///
/// May throw: `append`, `compact`, `read` whatever the medium throws (`std::bad_alloc` in memory),
/// with the state of before. Complexity in memory: append and read O(messages), finding a place
/// O(log pieces), `trim` O(pieces freed). A storage is movable while nobody reads it. Models:
/// `MemoryStorage`.
template <class S>
concept Storage = std::move_constructible<S> && detail::Appends<S> && detail::Shortens<S> &&
    detail::ReadsStorage<typename S::Reader, S>;

}  // namespace brook
