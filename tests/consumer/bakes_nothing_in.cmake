# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The installed package must not name the compiler or a folder of the machine it was built on.
cmake_minimum_required(VERSION 3.22)

file(GLOB files "${PACKAGE}/*.cmake" "${PACKAGE}/../../pkgconfig/*.pc")
if(NOT files)
  message(FATAL_ERROR "no package in ${PACKAGE}")
endif()
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(word IN ITEMS ${COMPILER} CMAKE_CXX_COMPILER)
    string(FIND "${text}" "${word}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} holds ${word}")
    endif()
  endforeach()
  foreach(folder IN LISTS FOLDERS)
    string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" pattern "${folder}")
    # Not where a longer path ends so: of a checkout in /ktopk nothing is meant by include/ktopk.
    if(text MATCHES "(^|[^A-Za-z0-9_}./-]|-[IL])${pattern}")
      message(FATAL_ERROR "${file} holds ${folder}")
    endif()
  endforeach()
endforeach()
