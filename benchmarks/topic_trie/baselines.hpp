#pragma once

// Indexes of AMQP patterns built the way well-known brokers build theirs, to compare `TopicTrie`
// with under the same compiler, allocator and workload. Each has
//
//   void insert(std::string_view pattern, std::uint32_t id);
//   void erase(std::string_view pattern, std::uint32_t id);       the pair must be there
//   void match(std::string_view topic, visitor) const;            visitor(id), once per pattern
//
// A multi wildcard may only be the last segment, texts have at most `SplitText::max` segments,
// and no text is empty: enough for the workload, and less work for the baselines.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace baseline {

// ---------------------------------------------------------------------------------------- segments

/// A segment and its hash, so that it is hashed once however many tables it is looked up in.
struct Segment {
  [[nodiscard]] std::string_view text() const noexcept { return {begin, size}; }

  const char* begin;
  std::size_t size;
  std::size_t hash;
};

[[nodiscard]] inline Segment hashed(std::string_view text) noexcept {
  return {text.data(), text.size(), std::hash<std::string_view>{}(text)};
}

class SplitText {
 public:
  static constexpr std::size_t max = 16;

  explicit SplitText(std::string_view text) {
    for (std::size_t end = text.find('.'); end != text.npos; end = text.find('.')) {
      add(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    add(text);
  }

  [[nodiscard]] const Segment* begin() const noexcept { return segments_.data(); }
  [[nodiscard]] const Segment* end() const noexcept { return segments_.data() + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  void add(std::string_view text) {
    if (size_ == max) throw std::length_error("a text has too many segments");
    segments_[size_++] = hashed(text);
  }

  std::array<Segment, max> segments_;  // uninitialised behind the first size_
  std::size_t size_ = 0;
};

[[nodiscard]] inline bool is_single_wildcard(const Segment& segment) noexcept {
  return segment.text() == "*";
}
[[nodiscard]] inline bool is_multi_wildcard(const Segment& segment) noexcept {
  return segment.text() == "#";
}

// -------------------------------------------------------------------------------- a map per level

/// A tree in which every node has a hash map of its children by segment: the structure of the NATS
/// server's sublist. Its lock and cache are in the two classes below.
class LevelMaps {
 public:
  void insert(std::string_view pattern, std::uint32_t id) {
    Node* node = &root_;
    for (const Segment& segment : SplitText(pattern)) {
      if (!node->below) node->below = std::make_unique<Level>();
      node = &child_or_new(*node->below, segment);
    }
    node->subscribers.push_back(id);
  }

  void erase(std::string_view pattern, std::uint32_t id) {
    const SplitText segments(pattern);
    std::array<Node*, SplitText::max + 1> path;
    path[0] = &root_;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      path[i + 1] = find(*path[i]->below, segments.begin()[i]);
    }
    auto& subscribers = path[segments.size()]->subscribers;
    *std::find(subscribers.begin(), subscribers.end(), id) = subscribers.back();
    subscribers.pop_back();
    for (std::size_t i = segments.size(); i > 0 && path[i]->is_empty(); --i) {
      remove_child(*path[i - 1], segments.begin()[i - 1]);
    }
  }

  template <class Visitor>
  void match(std::string_view topic, Visitor&& visitor) const {
    const SplitText segments(topic);
    walk(root_, segments.begin(), segments.end(), visitor);
  }

 private:
  struct Hash {
    using is_transparent = void;
    // Not noexcept: the standard library of g++ then keeps the hashes, instead of hashing the
    // neighbours in the bucket anew at every look-up.
    std::size_t operator()(const Segment& segment) const { return segment.hash; }
    std::size_t operator()(const std::string& text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Segment& a, const std::string& b) const noexcept { return a.text() == b; }
    bool operator()(const std::string& a, const Segment& b) const noexcept { return a == b.text(); }
    bool operator()(const std::string& a, const std::string& b) const noexcept { return a == b; }
  };

  struct Level;
  struct Node {
    [[nodiscard]] bool is_empty() const noexcept { return !below && subscribers.empty(); }

    std::unique_ptr<Level> below{};
    std::vector<std::uint32_t> subscribers{};
  };
  struct Level {
    [[nodiscard]] bool is_empty() const noexcept { return literals.empty() && !single && !multi; }

    std::unordered_map<std::string, Node, Hash, Equal> literals{};
    std::unique_ptr<Node> single{};
    std::unique_ptr<Node> multi{};
  };

  static Node& child_or_new(Level& level, const Segment& segment) {
    if (Node* const known = find(level, segment)) return *known;
    if (is_single_wildcard(segment)) return *(level.single = std::make_unique<Node>());
    if (is_multi_wildcard(segment)) return *(level.multi = std::make_unique<Node>());
    return level.literals.try_emplace(std::string(segment.text())).first->second;
  }
  static Node* find(Level& level, const Segment& segment) {
    if (is_single_wildcard(segment)) return level.single.get();
    if (is_multi_wildcard(segment)) return level.multi.get();
    const auto literal = level.literals.find(segment);
    return literal == level.literals.end() ? nullptr : &literal->second;
  }
  static void remove_child(Node& parent, const Segment& segment) {
    Level& level = *parent.below;
    if (is_single_wildcard(segment)) {
      level.single.reset();
    } else if (is_multi_wildcard(segment)) {
      level.multi.reset();
    } else {
      level.literals.erase(level.literals.find(segment));
    }
    if (level.is_empty()) parent.below.reset();
  }

  template <class Visitor>
  static void visit(const Node& node, Visitor& visitor) {
    for (const std::uint32_t id : node.subscribers) visitor(id);
  }
  template <class Visitor>
  static void walk(const Node& node, const Segment* at, const Segment* end, Visitor& visitor) {
    if (at == end) visit(node, visitor);
    if (!node.below) return;
    const Level& level = *node.below;
    if (level.multi) visit(*level.multi, visitor);
    if (at == end) return;
    if (level.single) walk(*level.single, at + 1, end, visitor);
    const auto literal = level.literals.find(*at);
    if (literal != level.literals.end()) walk(literal->second, at + 1, end, visitor);
  }

  Node root_;
};

/// `LevelMaps` with a reader-writer lock; the results are gathered under it and visited without
/// it, so that the visitor may subscribe: the NATS server's sublist with its cache switched
/// off.
class LockedLevelMaps {
 public:
  void insert(std::string_view pattern, std::uint32_t id) {
    const std::unique_lock lock(mutex_);
    index_.insert(pattern, id);
  }

  void erase(std::string_view pattern, std::uint32_t id) {
    const std::unique_lock lock(mutex_);
    index_.erase(pattern, id);
  }

  template <class Visitor>
  void match(std::string_view topic, Visitor&& visitor) const {
    std::vector<std::uint32_t> ids;
    {
      const std::shared_lock lock(mutex_);
      index_.match(topic, [&](std::uint32_t id) { ids.push_back(id); });
    }
    for (const std::uint32_t id : ids) visitor(id);
  }

 private:
  mutable std::shared_mutex mutex_;
  LevelMaps index_;
};

/// The same with a cache of results by topic. A subscription makes everything in the cache stale; a
/// full cache drops three quarters at random.
class CachedLevelMaps {
 public:
  void insert(std::string_view pattern, std::uint32_t id) {
    const std::unique_lock lock(mutex_);
    index_.insert(pattern, id);
    ++generation_;
  }

  void erase(std::string_view pattern, std::uint32_t id) {
    const std::unique_lock lock(mutex_);
    index_.erase(pattern, id);
    ++generation_;
  }

  template <class Visitor>
  void match(std::string_view topic, Visitor&& visitor) {
    Entry entry;
    bool is_cached = false;
    {
      const std::shared_lock lock(mutex_);
      const auto known = cache_.find(topic);
      is_cached = known != cache_.end() && known->second.generation == generation_;
      entry = is_cached ? known->second : look_up(topic);
    }
    if (!is_cached) keep(topic, entry);
    for (const std::uint32_t id : *entry.ids) visitor(id);
  }

 private:
  static constexpr std::size_t max_entries = 1024;

  struct Entry {
    std::shared_ptr<const std::vector<std::uint32_t>> ids{};
    std::uint64_t generation = 0;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {  // not noexcept: see LevelMaps::Hash
      return std::hash<std::string_view>{}(text);
    }
  };

  [[nodiscard]] Entry look_up(std::string_view topic) const {
    std::vector<std::uint32_t> ids;
    index_.match(topic, [&](std::uint32_t id) { ids.push_back(id); });
    return {std::make_shared<const std::vector<std::uint32_t>>(std::move(ids)), generation_};
  }

  void keep(std::string_view topic, const Entry& entry) {
    const std::unique_lock lock(mutex_);
    const auto known = cache_.find(topic);
    if (known != cache_.end()) {
      known->second = entry;
      return;
    }
    if (cache_.size() == max_entries) {
      std::erase_if(cache_, [&](const auto&) {
        random_ = random_ * 6'364'136'223'846'793'005ULL + 1'442'695'040'888'963'407ULL;
        return (random_ >> 62) != 0;
      });
    }
    cache_.emplace(topic, entry);
  }

  std::shared_mutex mutex_;
  LevelMaps index_;
  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> cache_;
  std::uint64_t generation_ = 0;
  std::uint64_t random_ = 1;
};

// -------------------------------------------------------------------------- one table of all nodes

/// All nodes of the tree in one hash table, by the id of their parent and their segment: the
/// structure of async_mqtt's subscription map.
class NodeTable {
 public:
  void insert(std::string_view pattern, std::uint32_t id) {
    Entry* entry = &root_;
    for (const Segment& segment : SplitText(pattern)) {
      const auto known = nodes_.find(View(entry->id, segment));
      if (known != nodes_.end()) {
        entry = &known->second;
        continue;
      }
      ++entry->children;
      entry->has_single = entry->has_single || is_single_wildcard(segment);
      entry->has_multi = entry->has_multi || is_multi_wildcard(segment);
      entry = &nodes_.try_emplace(Key(View(entry->id, segment)), ++last_id_).first->second;
    }
    entry->subscribers.insert(id);
  }

  void erase(std::string_view pattern, std::uint32_t id) {
    const SplitText segments(pattern);
    std::array<Table::iterator, SplitText::max> path;
    std::uint64_t parent = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      path[i] = nodes_.find(View(parent, segments.begin()[i]));
      parent = path[i]->second.id;
    }
    path[segments.size() - 1]->second.subscribers.erase(id);
    for (std::size_t i = segments.size(); i > 0 && path[i - 1]->second.is_empty(); --i) {
      const Segment& segment = segments.begin()[i - 1];
      Entry& above = i == 1 ? root_ : path[i - 2]->second;
      --above.children;
      above.has_single = above.has_single && !is_single_wildcard(segment);
      above.has_multi = above.has_multi && !is_multi_wildcard(segment);
      nodes_.erase(path[i - 1]);
    }
  }

  template <class Visitor>
  void match(std::string_view topic, Visitor&& visitor) const {
    static thread_local std::vector<const Entry*> here;
    static thread_local std::vector<const Entry*> next;
    here.assign(1, &root_);
    for (const Segment& segment : SplitText(topic)) {
      next.clear();
      for (const Entry* const entry : here) {
        if (entry->has_multi) visit(child(*entry, multi_), visitor);
        if (entry->has_single) next.push_back(&child(*entry, single_));
        const auto literal = nodes_.find(View(entry->id, segment));
        if (literal != nodes_.end()) next.push_back(&literal->second);
      }
      here.swap(next);
    }
    for (const Entry* const entry : here) {
      if (entry->has_multi) visit(child(*entry, multi_), visitor);
      visit(*entry, visitor);
    }
  }

 private:
  struct Entry {
    explicit Entry(std::uint64_t own_id) : id(own_id) {}
    [[nodiscard]] bool is_empty() const noexcept { return children == 0 && subscribers.empty(); }

    std::uint64_t id;
    std::uint32_t children = 0;
    bool has_single = false;
    bool has_multi = false;
    std::unordered_set<std::uint32_t> subscribers{};
  };
  /// A segment to look up below a node.
  struct View {
    View(std::uint64_t above, const Segment& segment)
        : parent(above),
          hash(segment.hash + static_cast<std::size_t>(above * 0x9e3779b97f4a7c15ULL)),
          text(segment.text()) {}

    std::uint64_t parent;
    std::size_t hash;
    std::string_view text;
  };
  struct Key {
    explicit Key(const View& view) : parent(view.parent), hash(view.hash), text(view.text) {}

    std::uint64_t parent;
    std::size_t hash;
    std::string text;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const View& child) const noexcept { return child.hash; }
    std::size_t operator()(const Key& child) const noexcept { return child.hash; }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const noexcept {
      return a.hash == b.hash && a.parent == b.parent &&
             std::string_view(a.text) == std::string_view(b.text);
    }
  };
  using Table = std::unordered_map<Key, Entry, Hash, Equal>;

  [[nodiscard]] const Entry& child(const Entry& parent, const Segment& segment) const {
    return nodes_.find(View(parent.id, segment))->second;
  }
  template <class Visitor>
  static void visit(const Entry& entry, Visitor& visitor) {
    for (const std::uint32_t id : entry.subscribers) visitor(id);
  }

  const Segment single_ = hashed("*");
  const Segment multi_ = hashed("#");
  Entry root_{0};
  Table nodes_;
  std::uint64_t last_id_ = 0;
};

}  // namespace baseline
