#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <brook/core/bytes.hpp>
#include <brook/core/headers.hpp>
#include <brook/core/ids.hpp>
#include <brook/core/message.hpp>
#include <brook/core/optional.hpp>
#include <brook/core/time.hpp>

namespace brook {

/// Prefix of header names that only the broker writes.
inline constexpr std::string_view reserved_header_prefix = "__brook.";

/// Header that addresses a message to one group: other groups settle it unseen (see redrive).
inline constexpr std::string_view addressed_to_header = "__brook.addressed_to";

namespace detail {

/// The form of a message in memory, 8-byte aligned:
///
///     0   int64   timestamp, milliseconds
///     8   uint32  payload size; no_payload = tombstone
///     12  uint32  key size (low 28 bits) and flags
///     16  uint32 size and uint32 count of the headers     only with has_headers
///         int64   time of append, milliseconds            only with has_append_time
///         key, payload, headers in their stored form, padding to 8
///
/// 16 bytes suffice for the common message. The time of append is kept only where it differs from
/// the timestamp in a way that retention must know: a publisher's stamp in the future.
struct RecordLayout {
  std::int64_t timestamp;
  std::uint32_t payload_size;
  std::uint32_t key_and_flags;

  static constexpr std::uint32_t no_payload = 0xffff'ffff;
  static constexpr std::uint32_t no_key = 0x8000'0000;
  static constexpr std::uint32_t has_headers = 0x4000'0000;
  static constexpr std::uint32_t has_append_time = 0x2000'0000;
  static constexpr std::uint32_t addressed = 0x1000'0000;
  static constexpr std::uint32_t key_size_mask = 0x0fff'ffff;
  static constexpr std::uint64_t max_key = key_size_mask;
  static constexpr std::uint64_t max_payload = no_payload - 1;
};
static_assert(sizeof(RecordLayout) == 16);

struct HeaderSection {
  std::uint32_t size;
  std::uint32_t count;
};

}  // namespace detail

/// One message as it lies in a log: a view of 16 bytes, decoded when asked. Valid as long as the
/// batch or run it came from lives, whatever is appended or trimmed meanwhile. Complexity: O(1)
/// each.
class StoredMessage {
 public:
  StoredMessage() noexcept = default;
  StoredMessage(const std::byte* record, Offset offset) noexcept
      : record_(record), offset_(offset) {}

  [[nodiscard]] Offset offset() const noexcept { return offset_; }
  [[nodiscard]] Timestamp timestamp() const noexcept {
    return Timestamp{std::chrono::milliseconds{layout().timestamp}};
  }
  [[nodiscard]] Bytes key() const noexcept {
    const auto fields = layout();
    if ((fields.key_and_flags & Layout::no_key) != 0) return null;
    return {body(fields), fields.key_and_flags & Layout::key_size_mask};
  }
  [[nodiscard]] Bytes payload() const noexcept {
    const auto fields = layout();
    if (fields.payload_size == Layout::no_payload) return null;
    return {body(fields) + key_size(fields), fields.payload_size};
  }
  [[nodiscard]] Headers headers() const noexcept {
    const auto fields = layout();
    if ((fields.key_and_flags & Layout::has_headers) == 0) return {};
    return Headers::stored(body(fields) + key_size(fields) + payload_size(fields),
                           headers_of().count);
  }
  /// Bytes that the message takes in memory, without its index entry.
  [[nodiscard]] std::size_t stored_size() const noexcept {
    const auto fields = layout();
    std::size_t size =
        static_cast<std::size_t>(body(fields) - record_) + key_size(fields) + payload_size(fields);
    if ((fields.key_and_flags & Layout::has_headers) != 0) size += headers_of().size;
    return (size + 7) & ~std::size_t{7};
  }
  /// The earlier of timestamp and time of append: what retention by age goes by, so that a stamp in
  /// the future cannot keep a message for ever.
  [[nodiscard]] Timestamp retention_time() const noexcept {
    const auto fields = layout();
    if ((fields.key_and_flags & Layout::has_append_time) == 0) return timestamp();
    std::int64_t append_time = 0;
    std::memcpy(&append_time, body(fields) - sizeof append_time, sizeof append_time);
    return Timestamp{std::chrono::milliseconds{append_time}};
  }
  /// The group this message is addressed to; empty = everyone.
  [[nodiscard]] std::string_view addressed_to() const noexcept {
    if ((layout().key_and_flags & Layout::addressed) == 0) return {};
    return headers().last(addressed_to_header).value_or(Bytes(null)).text();
  }
  /// A copy that owns its bytes, without a partition.
  [[nodiscard]] Message copy() const {
    return {.key = key(),
            .payload = payload(),
            .headers = headers().copy(),
            .timestamp = timestamp(),
            .partition = {}};
  }
  /// Where the message begins in memory. For code that builds on storages.
  [[nodiscard]] const std::byte* record() const noexcept { return record_; }

 private:
  using Layout = detail::RecordLayout;

  [[nodiscard]] Layout layout() const noexcept {
    Layout fields;
    std::memcpy(&fields, record_, sizeof fields);
    return fields;
  }
  [[nodiscard]] detail::HeaderSection headers_of() const noexcept {
    detail::HeaderSection section;
    std::memcpy(&section, record_ + sizeof(Layout), sizeof section);
    return section;
  }
  [[nodiscard]] const std::byte* body(const Layout& fields) const noexcept {
    return record_ + sizeof(Layout) +
           ((fields.key_and_flags & Layout::has_headers) != 0 ? 8U : 0U) +
           ((fields.key_and_flags & Layout::has_append_time) != 0 ? 8U : 0U);
  }
  static std::size_t key_size(const Layout& fields) noexcept {
    return fields.key_and_flags & Layout::key_size_mask;
  }
  static std::size_t payload_size(const Layout& fields) noexcept {
    return fields.payload_size == Layout::no_payload ? 0 : fields.payload_size;
  }

  const std::byte* record_ = nullptr;
  Offset offset_{};
};

namespace detail {

/// The times one append gives to its messages.
struct AppendTimes {
  Timestamp now{};  ///< Time of append by the broker's wall clock, made monotone.
  bool keep_create_time =
      false;  ///< A message's own timestamp counts (`TimestampType::create_time`).
};

/// A message and what is known about its stored form before a byte is written.
struct RecordPlan {
  Timestamp timestamp{};
  std::uint32_t flags = 0;
  std::uint32_t headers_size = 0;
  std::size_t size = 0;  ///< Bytes in memory, a multiple of 8.
};

/// Decides the stored form of @p message. Requires sizes within RecordLayout's maxima and headers
/// below 4 GiB.
inline RecordPlan plan_record(const MessageView& message, const AppendTimes& times,
                              bool addressed) noexcept {
  RecordPlan plan;
  plan.timestamp = times.keep_create_time ? value_or(message.timestamp, times.now) : times.now;
  std::size_t size = sizeof(RecordLayout) + message.key.size() + message.payload.size();
  if (message.key.is_null()) plan.flags |= RecordLayout::no_key;
  if (addressed) plan.flags |= RecordLayout::addressed;
  if (!message.headers.empty()) {
    plan.flags |= RecordLayout::has_headers;
    plan.headers_size = static_cast<std::uint32_t>(stored_size(message.headers));
    size += sizeof(HeaderSection) + plan.headers_size;
  }
  if (plan.timestamp > times.now) {
    plan.flags |= RecordLayout::has_append_time;
    size += sizeof(std::int64_t);
  }
  plan.size = (size + 7) & ~std::size_t{7};
  return plan;
}

/// Writes @p message as @p plan says to @p to, which has plan.size bytes and is 8-byte aligned.
inline void write_record(std::byte* to, const MessageView& message, const RecordPlan& plan,
                         const AppendTimes& times) noexcept {
  const RecordLayout fields{
      .timestamp = plan.timestamp.time_since_epoch().count(),
      .payload_size = message.payload.is_null()
                          ? RecordLayout::no_payload
                          : static_cast<std::uint32_t>(message.payload.size()),
      .key_and_flags = static_cast<std::uint32_t>(message.key.size()) | plan.flags};
  std::memcpy(to, &fields, sizeof fields);
  to += sizeof fields;
  if ((plan.flags & RecordLayout::has_headers) != 0) {
    const HeaderSection section{.size = plan.headers_size,
                                .count = static_cast<std::uint32_t>(message.headers.size())};
    std::memcpy(to, &section, sizeof section);
    to += sizeof section;
  }
  if ((plan.flags & RecordLayout::has_append_time) != 0) {
    const std::int64_t append_time = times.now.time_since_epoch().count();
    std::memcpy(to, &append_time, sizeof append_time);
    to += sizeof append_time;
  }
  to = write_bytes(to, message.key);
  to = write_bytes(to, message.payload);
  if ((plan.flags & RecordLayout::has_headers) != 0) write_headers(to, message.headers);
}

}  // namespace detail

}  // namespace brook
