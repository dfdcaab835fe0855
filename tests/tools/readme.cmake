# README.md shows only code that is compiled and run: all of examples/quickstart.cpp, and blocks that
# stand in examples/tour.cpp. Indentation aside.
#
# cmake -DROOT=<root of the repository> -P readme.cmake

cmake_minimum_required(VERSION 3.20)

function(read_without_indentation file variable)
  file(READ "${file}" text)
  string(REGEX REPLACE "\n +" "\n" text "\n${text}")
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()

read_without_indentation("${ROOT}/examples/quickstart.cpp" quickstart)
read_without_indentation("${ROOT}/examples/tour.cpp" tour)
read_without_indentation("${ROOT}/README.md" rest)

string(FIND "${rest}" "```cpp${quickstart}```" at)
if(at EQUAL -1)
  message(SEND_ERROR "README.md does not show examples/quickstart.cpp as it is")
endif()

set(blocks 0)
string(FIND "${rest}" "```cpp\n" begin)
while(NOT begin EQUAL -1)
  math(EXPR begin "${begin} + 6")
  string(SUBSTRING "${rest}" ${begin} -1 rest)
  string(FIND "${rest}" "\n```" end)
  string(SUBSTRING "${rest}" 0 ${end} block)
  string(FIND "${quickstart}${tour}" "${block}\n" at)
  if(at EQUAL -1)
    string(REGEX MATCH "[^\n]+" first_line "${block}")
    message(SEND_ERROR "README.md has a block of C++ that is not in examples/tour.cpp: ${first_line}")
  endif()
  math(EXPR blocks "${blocks} + 1")
  string(SUBSTRING "${rest}" ${end} -1 rest)
  string(FIND "${rest}" "```cpp\n" begin)
endwhile()
message(STATUS "README.md has ${blocks} blocks of C++, all of them in the examples")
