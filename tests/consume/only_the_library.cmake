# As a part of another project brook is one target: it neither builds, tests nor installs anything,
# and leaves the project's build type alone.
foreach(option IN ITEMS
    BROOK_BUILD_TESTS BROOK_BUILD_EXAMPLES BROOK_BUILD_BENCHMARKS BROOK_BUILD_FUZZERS BROOK_INSTALL)
  if(${option})
    message(FATAL_ERROR "${option} is on in a project that only uses brook")
  endif()
endforeach()
get_property(brook_targets DIRECTORY "${BROOK_SOURCE_DIR}" PROPERTY BUILDSYSTEM_TARGETS)
if(NOT brook_targets STREQUAL "brook")
  message(FATAL_ERROR "brook adds more targets than its own: ${brook_targets}")
endif()
if(NOT CMAKE_BUILD_TYPE STREQUAL CONSUMER_BUILD_TYPE)
  message(FATAL_ERROR "brook changed the build type to '${CMAKE_BUILD_TYPE}'")
endif()
