#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace workload {

/// Random numbers that are the same on every machine (splitmix64; Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    return mixed ^ (mixed >> 31);
  }
  /// In [0, @p bound): the upper part of a product of 96 bits (Lemire 2019, without rejection).
  /// Requires bound < 2^32.
  std::size_t below(std::uint64_t bound) noexcept {
    const std::uint64_t bits = next();
    const std::uint64_t low = ((bits & 0xffffffff) * bound) >> 32;
    return static_cast<std::size_t>(((bits >> 32) * bound + low) >> 32);
  }
  /// In [0, 1).
  double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  template <class T>
  void shuffle(std::vector<T>& all) noexcept {
    for (std::size_t left = all.size(); left > 1; --left) {
      std::swap(all[left - 1], all[below(left)]);
    }
  }

 private:
  std::uint64_t state_;
};

/// Segments of topics and patterns as a fleet of devices has them:
/// site.area.unit.device.metric.attribute.
class Vocabulary {
 public:
  static constexpr std::size_t levels = 6;

  /// Sites and areas are mildly skewed to the first ones, everything else is even.
  static std::string draw(std::size_t level, Random& random) {
    const std::uint32_t count = counts[level];
    if (level > 1) return word(level, static_cast<std::uint32_t>(random.below(count)));
    const auto skewed = static_cast<std::uint32_t>(count * std::pow(random.unit(), 1.5));
    return word(level, std::min(count - 1, skewed));
  }

 private:
  static constexpr std::array<std::uint32_t, levels> counts{20, 50, 200, 1000, 40, 12};
  static constexpr std::array<const char*, 40> metrics{
      "temperature", "humidity",  "pressure",   "voltage",  "current",  "power",   "energy",
      "frequency",   "speed",     "torque",     "position", "level",    "flow",    "vibration",
      "noise",       "co2",       "luminosity", "status",   "alarm",    "event",   "command",
      "config",      "heartbeat", "log",        "metrics",  "state",    "request", "reply",
      "created",     "updated",   "deleted",    "shipped",  "invoiced", "paid",    "refunded",
      "opened",      "closed",    "started",    "stopped",  "progress"};
  static constexpr std::array<const char*, 12> attributes{
      "value", "unit", "min", "max", "avg", "set", "get", "ack", "raw", "quality", "time", "meta"};

  static std::string word(std::size_t level, std::uint32_t index) {
    std::array<char, 32> text{};
    switch (level) {
      case 0:
        std::snprintf(text.data(), text.size(), "site%02u", index);
        break;
      case 1:
        std::snprintf(text.data(), text.size(), "area-%02u", index);
        break;
      case 2:
        std::snprintf(text.data(), text.size(), "unit%04u", index * 7 + 3);
        break;
      case 3:
        std::snprintf(text.data(), text.size(), "dev-%06x", (index * 2'654'435'761U) & 0xffffffU);
        break;
      case 4:
        return metrics[index];
      default:
        return attributes[index];
    }
    return text.data();
  }
};

/// Patterns in the AMQP dialect and topics to match them against. The same size gives the same
/// workload on every machine.
///
/// Of the patterns 70 % are plain names, 20 % have one `*`, 10 % end in `#`. Half the topics are
/// drawn like plain patterns, the other half are made to match some pattern.
class Workload {
 public:
  static constexpr std::size_t topic_count = 200'000;

  explicit Workload(std::size_t size, std::size_t topics = topic_count,
                    std::uint64_t seed = 20'261'201)
      : random_(seed), patterns_(size), erase_order_(size) {
    for (std::string& pattern : patterns_) pattern = draw_pattern();
    while (topics_.size() < topics) {
      while (topics_.size() < topics + topics / 16 + 8) topics_.push_back(draw_topic());
      std::sort(topics_.begin(), topics_.end());
      topics_.erase(std::unique(topics_.begin(), topics_.end()), topics_.end());
    }
    random_.shuffle(topics_);
    topics_.resize(topics);
    std::iota(erase_order_.begin(), erase_order_.end(), 0U);
    random_.shuffle(erase_order_);
  }

  /// The index of a pattern is the id of its subscription.
  [[nodiscard]] const std::vector<std::string>& patterns() const noexcept { return patterns_; }
  /// Distinct, in random order.
  [[nodiscard]] const std::vector<std::string>& topics() const noexcept { return topics_; }
  /// A permutation of the ids.
  [[nodiscard]] const std::vector<std::uint32_t>& erase_order() const noexcept {
    return erase_order_;
  }

 private:
  using Segments = std::vector<std::string>;

  static std::string join(const Segments& segments) {
    std::string text;
    for (const std::string& segment : segments) {
      if (&segment != &segments.front()) text += '.';
      text += segment;
    }
    return text;
  }
  static Segments split(std::string_view text) {
    Segments segments;
    for (std::size_t end = text.find('.'); end != text.npos; end = text.find('.')) {
      segments.emplace_back(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    segments.emplace_back(text);
    return segments;
  }

  /// 3 segments: 25 %, 4: 35 %, 5: 25 %, 6: 15 %.
  std::size_t draw_length() noexcept {
    const std::size_t percent = random_.below(100);
    if (percent < 25) return 3;
    if (percent < 60) return 4;
    return percent < 85 ? 5 : 6;
  }
  Segments draw_segments(std::size_t length) {
    Segments segments(length);
    for (std::size_t i = 0; i < length; ++i) segments[i] = Vocabulary::draw(i, random_);
    return segments;
  }

  std::string draw_pattern() {
    const std::size_t kind = random_.below(100);
    const std::size_t length = draw_length();
    if (kind < 90) {
      Segments segments = draw_segments(length);
      if (kind >= 70) {
        const bool at_front = random_.below(5) == 0;
        segments[at_front ? 0 : 1 + random_.below(length - 1)] = "*";
      }
      return join(segments);
    }
    // How much stands before the '#': hardly ever one segment, for a tenth two.
    const std::size_t permille = random_.below(1000);
    std::size_t before = permille < 1 ? 1 : 2;
    if (permille >= 101) before = 3 + random_.below(std::max<std::size_t>(length, 4) - 3);
    Segments segments = draw_segments(before);
    segments.emplace_back("#");
    return join(segments);
  }

  std::string draw_topic() {
    if (random_.below(2) == 0) return join(draw_segments(draw_length()));
    Segments segments = split(patterns_[random_.below(patterns_.size())]);
    if (segments.back() == "#") {
      segments.pop_back();
      const std::size_t more = random_.below(4) == 0 ? 0 : 1 + random_.below(2);
      for (std::size_t i = 0; i < more && segments.size() < Vocabulary::levels; ++i) {
        segments.push_back(Vocabulary::draw(segments.size(), random_));
      }
    }
    for (std::size_t i = 0; i < segments.size(); ++i) {
      if (segments[i] == "*") segments[i] = Vocabulary::draw(i, random_);
    }
    return join(segments);
  }

  Random random_;
  std::vector<std::string> patterns_;
  std::vector<std::string> topics_;
  std::vector<std::uint32_t> erase_order_;
};

/// @p size indexes below @p distinct, index i with a weight of (i + 1)^-exponent: 0 draws evenly, 1
/// is Zipf's law.
inline std::vector<std::uint32_t> draw_indexes(std::size_t distinct, std::size_t size,
                                               double exponent, std::uint64_t seed = 7) {
  std::vector<double> weight_up_to(distinct);
  double weight = 0;
  for (std::size_t i = 0; i < distinct; ++i) {
    weight += std::pow(static_cast<double>(i + 1), -exponent);
    weight_up_to[i] = weight;
  }
  Random random(seed);
  std::vector<std::uint32_t> indexes(size);
  for (std::uint32_t& index : indexes) {
    const auto place =
        std::lower_bound(weight_up_to.begin(), weight_up_to.end() - 1, random.unit() * weight);
    index = static_cast<std::uint32_t>(place - weight_up_to.begin());
  }
  return indexes;
}

/// Topics back to back in the order of their use: a publisher has its topic in cache.
class Topics {
 public:
  /// All of @p topics, one after the other.
  explicit Topics(const std::vector<std::string>& topics) {
    std::vector<std::uint32_t> order(topics.size());
    std::iota(order.begin(), order.end(), 0U);
    place(topics, order);
  }
  Topics(const std::vector<std::string>& topics, const std::vector<std::uint32_t>& order) {
    place(topics, order);
  }

  [[nodiscard]] std::size_t size() const noexcept { return views_.size(); }
  [[nodiscard]] std::string_view operator[](std::size_t index) const noexcept {
    return views_[index];
  }

 private:
  void place(const std::vector<std::string>& topics, const std::vector<std::uint32_t>& order) {
    std::size_t bytes = 0;
    for (const std::uint32_t index : order) bytes += topics[index].size();
    bytes_.reserve(bytes);
    views_.reserve(order.size());
    for (const std::uint32_t index : order) {
      const std::size_t begin = bytes_.size();
      bytes_.insert(bytes_.end(), topics[index].begin(), topics[index].end());
      views_.emplace_back(bytes_.data() + begin, topics[index].size());
    }
  }

  std::vector<char> bytes_;
  std::vector<std::string_view> views_;
};

}  // namespace workload
