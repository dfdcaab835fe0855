#pragma once

#include <concepts>

#include <brook/core/ids.hpp>
#include <brook/core/time.hpp>
#include <brook/storage/record_run.hpp>

namespace brook {

/// What a subscription needs of a log. Model: `TopicLog`.
///
/// | expression                 | returns      | meaning |
/// |----------------------------|--------------|---|
/// | `log.start()`              | `Offset`     | first retained offset; never falls |
/// | `log.visible_end()`        | `Offset`     | messages below it may be read; never falls |
/// | `log.usage(from, to)`      | `RangeUsage` | messages and bytes present in the range |
/// | `log.clock()`              | a `Clock&`   | `now()` and `wall_now()` are used |
/// | `Log::Reader r(log)`       |              | one thread each, beside writer and other readers |
/// | `r.read_run(from, limits)` | `RecordRun`  | messages from the first at or above `from` |
/// |                            |              | on; empty if none; throws `OffsetTooOld` |
/// | `r.rest()`                 | –            | gives up what it pins, until the next read |
template <class L>
concept ReadableLog = requires(const L& log, typename L::Reader& reader, Offset offset,
                               const ReadLimits& limits) {
  { log.start() } -> std::same_as<Offset>;
  { log.visible_end() } -> std::same_as<Offset>;
  { log.usage(offset, offset) } -> std::same_as<RangeUsage>;
  { log.clock().now() } -> std::same_as<Instant>;
  { log.clock().wall_now() } -> std::same_as<Timestamp>;
  { reader.read_run(offset, limits) } -> std::same_as<RecordRun>;
  { reader.rest() } -> std::same_as<void>;
  requires std::constructible_from<typename L::Reader, const L&>;
};

}  // namespace brook
