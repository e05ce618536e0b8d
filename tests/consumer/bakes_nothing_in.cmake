# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The installed package must not name the compiler or a folder of the machine it was built on.
cmake_minimum_required(VERSION 3.22)

file(GLOB files "${PACKAGE}/*.cmake")
if(NOT files)
  message(FATAL_ERROR "no package in ${PACKAGE}")
endif()
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(word IN ITEMS ${FOLDERS} ${COMPILER} CMAKE_CXX_COMPILER)
    string(FIND "${text}" "${word}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} holds ${word}")
    endif()
  endforeach()
endforeach()
