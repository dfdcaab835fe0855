#pragma once

#include <concepts>
#include <memory>
#include <string_view>

#include <brook/clock/clock.hpp>
#include <brook/clock/manual_clock.hpp>
#include <brook/clock/system_clock.hpp>
#include <brook/core/ids.hpp>
#include <brook/storage/memory_storage.hpp>
#include <brook/storage/storage.hpp>
#include <brook/topic/partitioner.hpp>

namespace brook {

/// Where a broker gets the storage of a partition from.
///
/// | expression                     | returns           | meaning |
/// |--------------------------------|-------------------|---|
/// | `F::storage_type`              | a `Storage`       |  |
/// | `f.make(topic, id, partition)` | `F::storage_type` | an empty storage for it; may throw |
///
/// Called with the broker's registry locked; must not call back into the broker.
template <class F>
concept StorageFactory = Storage<typename F::storage_type> &&
    requires(F& factory, std::string_view topic, TopicId id, PartitionId partition) {
  { factory.make(topic, id, partition) } -> std::same_as<typename F::storage_type>;
};

/// Storages in memory that share one pool of recycled segments.
class MemoryStorageFactory {
 public:
  using storage_type = MemoryStorage;

  [[nodiscard]] MemoryStorage make(std::string_view, TopicId, PartitionId) const {
    return MemoryStorage(pool_);
  }

 private:
  std::shared_ptr<SegmentPool> pool_ = std::make_shared<SegmentPool>();
};
static_assert(StorageFactory<MemoryStorageFactory>);

/// What a broker is made of, as one bundle of types: `clock_type` (a `Clock`), `storage_factory` (a
/// `StorageFactory`) and `partitioner_type` (a `Partitioner`; each topic gets one, made by
/// default).
template <class P>
concept BrokerPolicies =
    Clock<typename P::clock_type> && StorageFactory<typename P::storage_factory> &&
    std::default_initializable<typename P::storage_factory> &&
    Partitioner<typename P::partitioner_type> &&
    std::default_initializable<typename P::partitioner_type>;

/// Messages in memory.
template <Clock C = SystemClock, class PartitionerType = KeyHashPartitioner>
struct InMemory {
  using clock_type = C;
  using storage_factory = MemoryStorageFactory;
  using partitioner_type = PartitionerType;
};
static_assert(BrokerPolicies<InMemory<>>);
static_assert(BrokerPolicies<InMemory<ManualClock>>);

}  // namespace brook
