#!/bin/sh
# Builds brook's tests, examples and benchmarks, and runs the tests. Works from any folder. On a fresh
# Debian machine it first installs what is missing.
#
#   sh tests/run.sh [arguments for ctest]
#
# Environment:
#   BUILD_DIR   where to build (build)
#   CXX         compiler (the system's)
#   CMAKE_ARGS  further arguments for CMake, separated by blanks
#   JOBS        how many compilers and tests at once (one per processor)

set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
: "${BUILD_DIR:=$root/build}"
: "${CMAKE_ARGS:=}"
: "${JOBS:=$(nproc 2> /dev/null || echo 2)}"

has() { command -v "$1" > /dev/null 2>&1; }
has_header() { echo "#include <$1>" | "${CXX:-c++}" -E -x c++ - > /dev/null 2>&1; }

missing=''
if [ -n "${CXX:-}" ]; then
  has "$CXX" || { echo "tests/run.sh: there is no compiler '$CXX'" >&2; exit 1; }
else
  has c++ || missing="$missing g++"
fi
has cmake || missing="$missing cmake"
has ninja || has make || missing="$missing ninja-build"
if has "${CXX:-c++}"; then
  has_header catch2/catch.hpp || has_header catch2/catch_all.hpp || missing="$missing catch2"
  has_header benchmark/benchmark.h || missing="$missing libbenchmark-dev"
  has_header mosquitto.h || missing="$missing libmosquitto-dev"
else
  missing="$missing catch2 libbenchmark-dev libmosquitto-dev"
fi

if [ -n "$missing" ]; then
  if has apt-get; then
    echo "tests/run.sh: installing$missing"
    as_root=''
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get update
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $missing
  else
    echo "tests/run.sh: not found, and there is no apt-get to install it:$missing" >&2
  fi
fi

if [ ! -f "$BUILD_DIR/CMakeCache.txt" ] && has ninja; then
  CMAKE_ARGS="-GNinja $CMAKE_ARGS"
fi

# shellcheck disable=SC2086
cmake -S "$root" -B "$BUILD_DIR" -DBROOK_BUILD_TESTS=ON -DBROOK_BUILD_EXAMPLES=ON \
  -DBROOK_BUILD_BENCHMARKS=ON $CMAKE_ARGS
cmake --build "$BUILD_DIR" --parallel "$JOBS"
cd "$BUILD_DIR"
exec ctest --output-on-failure --parallel "$JOBS" "$@"
