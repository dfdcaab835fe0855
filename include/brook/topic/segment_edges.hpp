#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <brook/topic/probe_table.hpp>
#include <brook/topic/segment_key.hpp>
#include <brook/topic/split_text.hpp>
#include <brook/topic/text_pool.hpp>

namespace brook::detail {

/// The edges of a trie of segments, all in one hash table: found by the node they go out from and
/// their segment. `Edge` is a slot of a `ProbeTable` with `SegmentKey key` and
/// `std::uint32_t parent`, and whatever else its owner keeps in it.
///
/// Segments are compared byte for byte, their hashes only say where to look.
///
/// Thread rule: const members may run concurrently. Complexity: O(1) a call, expected.
template <class Edge, class Hash>
class SegmentEdges {
 public:
  /// @p seed is the one that segments are cut with.
  explicit SegmentEdges(std::uint64_t seed) noexcept : seed_(seed) {}

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] std::size_t size() const noexcept { return edges_.size(); }
  [[nodiscard]] std::size_t memory_use() const noexcept {
    return edges_.memory_use() + texts_.memory_use();
  }

  [[nodiscard]] static std::uint32_t hash(std::uint32_t parent,
                                          std::uint64_t segment_hash) noexcept {
    return static_cast<std::uint32_t>(((segment_hash ^ (parent * first_mixer)) * second_mixer) >>
                                      32);
  }
  void prefetch(std::uint32_t hash) const noexcept { edges_.prefetch(hash); }
  /// The edge below @p parent with @p segment, null if there is none; valid until the next change.
  /// @p hash is theirs.
  [[nodiscard]] const Edge* find(std::uint32_t hash, std::uint32_t parent,
                                 const TextSegment& segment) const noexcept {
    return edges_.find(hash, [&](const Edge& edge) {
      return edge.parent == parent && is_same(edge.key, segment);
    });
  }
  [[nodiscard]] const Edge* find(std::uint32_t parent, const TextSegment& segment) const noexcept {
    return find(hash(parent, segment.hash), parent, segment);
  }
  [[nodiscard]] Edge* find(std::uint32_t parent, const TextSegment& segment) noexcept {
    return const_cast<Edge*>(std::as_const(*this).find(parent, segment));
  }

  /// Makes room for an edge with each of @p segments, so that adding them does not throw.
  /// @throws std::bad_alloc, nothing done
  template <class Segments>
  void reserve(const Segments& segments) {
    std::size_t cost = 0;
    for (const TextSegment& segment : segments) {
      if (segment.key.is_long()) cost += TextPool::cost(segment.size);
    }
    texts_.reserve(cost);
    edges_.reserve(segments.size(), hash_of());
  }
  /// Adds an edge that is not there, with the rest of it as in @p rest. Requires room.
  Edge* insert(std::uint32_t parent, const TextSegment& segment, const Edge& rest) noexcept {
    Edge edge = rest;
    edge.parent = parent;
    edge.key = segment.key;
    if (segment.key.is_long()) {
      const std::uint32_t place = texts_.add({segment.text, segment.size});
      edge.key = SegmentKey::of_long(segment.hash, segment.size, place);
    }
    return edges_.insert(hash(parent, segment.hash), edge);
  }
  void erase(Edge* edge) noexcept {
    if (edge->key.is_long()) texts_.remove(edge->key.place(), edge->key.size());
    edges_.erase(edge, hash_of());
    if (edges_.size() == 0) texts_ = TextPool();
  }

  /// Calls `visit(edge)` for each one. It must not change the key or the parent.
  template <class Visit>
  void for_each(const Visit& visit) {
    edges_.for_each(visit);
  }
  /// The segment of @p edge, as it would be looked for; its text is valid until the next change or
  /// until @p buffer changes.
  [[nodiscard]] TextSegment segment(const Edge& edge, char (&buffer)[16]) const noexcept {
    const std::string_view text = edge.key.is_wildcard() ? std::string_view()
                                  : edge.key.is_long()   ? text_of(edge.key)
                                                         : edge.key.text(buffer);
    return {.text = text.data(), .size = text.size(), .key = edge.key, .hash = hash_of(edge.key)};
  }

 private:
  [[nodiscard]] std::string_view text_of(const SegmentKey& key) const noexcept {
    return texts_.view(key.place(), key.size());
  }
  [[nodiscard]] bool is_same(const SegmentKey& key, const TextSegment& segment) const noexcept {
    if (key.low != segment.key.low) return false;
    if (!segment.key.is_long()) return key.high == segment.key.high;
    return key.high >> 32 == segment.key.high >> 32 &&
           text_of(key) == std::string_view(segment.text, segment.size);
  }
  [[nodiscard]] std::uint64_t hash_of(const SegmentKey& key) const noexcept {
    if (key.is_long()) return key.low;
    if (std::same_as<Hash, SegmentHash> || key.is_wildcard()) return hash_of_key(key, seed_);
    char buffer[16];
    return Hash{}(key.text(buffer), seed_);
  }
  [[nodiscard]] auto hash_of() const noexcept {
    return [this](const Edge& edge) noexcept { return hash(edge.parent, hash_of(edge.key)); };
  }

  std::uint64_t seed_;
  ProbeTable<Edge> edges_{};
  TextPool texts_{};  ///< Of segments too long for a key.
};

}  // namespace brook::detail
