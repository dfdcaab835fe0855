#pragma once

/// @file
/// The few macros of brook. They describe lifetimes and locking to the compilers that can check
/// them and vanish everywhere else; none of them changes what a program does.

#if defined(__clang__)
#define BROOK_LIFETIMEBOUND [[clang::lifetimebound]]
#define BROOK_THREAD_ANNOTATION(x) __attribute__((x))
#else
/// Marks a parameter that the constructed object refers to: clang then rejects a temporary there.
#define BROOK_LIFETIMEBOUND
/// Clang's thread-safety analysis (`-Wthread-safety`).
#define BROOK_THREAD_ANNOTATION(x)
#endif

#if defined(__GNUC__) || defined(__clang__)
/// Keeps a function out of line.
#define BROOK_NOINLINE __attribute__((noinline))
#else
#define BROOK_NOINLINE
#endif

#define BROOK_CAPABILITY(name) BROOK_THREAD_ANNOTATION(capability(name))
#define BROOK_SCOPED_CAPABILITY BROOK_THREAD_ANNOTATION(scoped_lockable)
#define BROOK_GUARDED_BY(lock) BROOK_THREAD_ANNOTATION(guarded_by(lock))
#define BROOK_REQUIRES(...) BROOK_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define BROOK_ACQUIRE(...) BROOK_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define BROOK_RELEASE(...) BROOK_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define BROOK_EXCLUDES(...) BROOK_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define BROOK_NO_THREAD_SAFETY_ANALYSIS BROOK_THREAD_ANNOTATION(no_thread_safety_analysis)
