#pragma once

/// @file
/// Everything for the broker in memory, and every part of it alone.

#include <brook/broker/broker.hpp>
#include <brook/clock/clock.hpp>
#include <brook/clock/manual_clock.hpp>
#include <brook/clock/system_clock.hpp>
#include <brook/core/error.hpp>
#include <brook/core/ids.hpp>
#include <brook/core/message.hpp>
#include <brook/core/quantity.hpp>
#include <brook/core/time.hpp>
#include <brook/delivery/subscription.hpp>
#include <brook/log/topic_log.hpp>
#include <brook/storage/memory_storage.hpp>
#include <brook/topic/partitioner.hpp>
#include <brook/topic/topic_names.hpp>
#include <brook/topic/topic_trie.hpp>
