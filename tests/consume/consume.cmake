# Builds and runs a project that uses brook in one WAY, in an empty folder, as a user would:
#
#   find_package      brook is installed first; the project finds the installed package
#   add_subdirectory  the project has brook's source in its own tree
#   fetch_content     FetchContent makes it available
#   include_path      no CMake at all: a compiler and -I
#
# cmake -DWAY=... -DBROOK_SOURCE_DIR=... -DBROOK_BINARY_DIR=... -DBROOK_CONFIG=... -DWORK_DIR=...
#       -DGENERATOR=... -DCXX_COMPILER=... -P consume.cmake

cmake_minimum_required(VERSION 3.20)

file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

function(run)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WORK_DIR}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${WAY}: failed (${result}): ${command}")
  endif()
endfunction()

if(WAY STREQUAL "include_path")
  include("${CMAKE_CURRENT_LIST_DIR}/warnings.cmake")
  run("${CXX_COMPILER}" -std=c++20 -O3 -pthread ${consumer_warnings}
    "-I${BROOK_SOURCE_DIR}/include" "${CMAKE_CURRENT_LIST_DIR}/main.cpp" -o consumer)
  run("${WORK_DIR}/consumer")
  return()
endif()

set(arguments "-DBROOK_SOURCE_DIR=${BROOK_SOURCE_DIR}")
if(WAY STREQUAL "find_package")
  run("${CMAKE_COMMAND}" --install "${BROOK_BINARY_DIR}" --config "${BROOK_CONFIG}"
    --prefix "${WORK_DIR}/prefix")
  set(arguments "-DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix")
endif()

# Debug, because brook must not turn it into its own default. The warnings that only the optimiser finds
# are left to include_path.
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/${WAY}" -B build -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${CXX_COMPILER}" -DCMAKE_BUILD_TYPE=Debug -DCONSUMER_BUILD_TYPE=Debug
  ${arguments})
run("${CMAKE_COMMAND}" --build build --config Debug)
if(EXISTS "${WORK_DIR}/build/Debug/consumer")
  run("${WORK_DIR}/build/Debug/consumer")
else()
  run("${WORK_DIR}/build/consumer")
endif()
