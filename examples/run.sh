#!/bin/sh
# Builds and runs the main example, package_events. Works from any folder. A compiler and CMake are all
# it needs; on a fresh Debian machine it first installs what is missing of the two.
#
#   sh examples/run.sh                     on this machine's own package log if there is one
#   sh examples/run.sh [arguments]         with arguments of your own
#
# Environment: BUILD_DIR (build/examples), CXX, CMAKE_ARGS as for tests/run.sh

set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
: "${BUILD_DIR:=$root/build/examples}"
: "${CMAKE_ARGS:=}"

has() { command -v "$1" > /dev/null 2>&1; }

missing=''
has "${CXX:-c++}" || missing="$missing g++"
has cmake || missing="$missing cmake"
has ninja || has make || missing="$missing make"

if [ -n "$missing" ]; then
  if has apt-get; then
    echo "examples/run.sh: installing$missing" >&2
    as_root=''
    [ "$(id -u)" -eq 0 ] || as_root=sudo
    $as_root apt-get update >&2
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends $missing >&2
  else
    echo "examples/run.sh: not found, and there is no apt-get to install it:$missing" >&2
  fi
fi

if [ ! -f "$BUILD_DIR/CMakeCache.txt" ] && has ninja; then
  CMAKE_ARGS="-GNinja $CMAKE_ARGS"
fi

# shellcheck disable=SC2086
cmake -S "$root" -B "$BUILD_DIR" -DBROOK_BUILD_TESTS=OFF -DBROOK_BUILD_EXAMPLES=ON \
  -DBROOK_BUILD_BENCHMARKS=OFF $CMAKE_ARGS >&2
cmake --build "$BUILD_DIR" --target package_events >&2

if [ $# -eq 0 ]; then
  if [ -s /var/log/dpkg.log ] && [ -r /var/log/dpkg.log ]; then
    set -- /var/log/dpkg.log
  else
    set -- "$root/examples/data/dpkg.log"
  fi
fi
exec "$BUILD_DIR/examples/package_events" "$@"
