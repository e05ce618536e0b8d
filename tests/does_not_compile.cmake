# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: cmake -DSOURCE=FILE -P does_not_compile.cmake -- COMPILER FLAG...
# Fails if FILE compiles, or if the compiler does not print what follows each "says: " in FILE.

set(command)
set(is_command FALSE)
foreach(i RANGE ${CMAKE_ARGC})
  if(is_command AND NOT "${CMAKE_ARGV${i}}" STREQUAL "")
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()

execute_process(COMMAND ${command} -fsyntax-only "${SOURCE}" RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(status EQUAL 0)
  message(FATAL_ERROR "${SOURCE} compiles")
endif()
file(STRINGS "${SOURCE}" lines REGEX "^// says: ")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^// says: " "" words "${line}")
  string(FIND "${said}" "${words}" place)
  if(place EQUAL -1)
    message(SEND_ERROR "not said: ${words}")
  endif()
endforeach()
if(lines STREQUAL "")
  message(FATAL_ERROR "${SOURCE} names no message")
endif()
