#pragma once

/// @file
/// Every public name of the broker in memory, declared. For headers that only mention them.

#include <cstdint>

namespace brook {

// core
class Offset;
class PartitionId;
struct TopicId;
struct OffsetRange;
class Bytes;
class Buffer;
class Headers;
struct Header;
struct HeaderView;
struct Message;
struct MessageView;
class StoredMessage;
class Duration;
class Error;

// clock
class SystemClock;
class ManualClock;
class Waiter;
class EventSource;
struct IdleReport;

// storage
class MemoryStorage;
class SegmentPool;
class RecordRun;

// topic
struct AmqpSyntax;
struct MqttSyntax;
struct NatsSyntax;
struct SyntaxRules;
struct PatternLimits;
struct SegmentHash;
struct TopicIndexOptions;
class KeyHashPartitioner;
class RandomPartitioner;
class FixedPartitioner;

// log
class ReadBatch;
struct LogConfig;

// delivery
class Batch;
class Delivery;
struct DeadLetter;
struct Receipt;
struct SubscriptionConfig;
struct SettleCounts;
enum class SettleResult : unsigned char;

// broker
class Start;
struct BrokerOptions;
struct SubscribeOptions;
struct TopicConfig;
struct Published;
struct PublishedBatch;
struct GroupLag;

}  // namespace brook
