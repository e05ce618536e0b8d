# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DPREFIX=... -DINCLUDE=... -DPACKAGE=... -P: the installed targets have no include folder but one that holds
# ktopk/ alone.

cmake_minimum_required(VERSION 3.22)

file(GLOB names RELATIVE "${PREFIX}/${INCLUDE}" "${PREFIX}/${INCLUDE}/*")
if(NOT names STREQUAL "ktopk")
  message(FATAL_ERROR "${PREFIX}/${INCLUDE} holds ${names}")
endif()

file(STRINGS "${PACKAGE}/ktopkTargets.cmake" lines REGEX "INTERFACE_INCLUDE_DIRECTORIES")
list(LENGTH lines targets)
if(targets LESS 2)
  message(FATAL_ERROR "only ${targets} targets have include folders in ${PACKAGE}")
endif()
foreach(line IN LISTS lines)
  if(NOT line MATCHES "INTERFACE_INCLUDE_DIRECTORIES \"[$]{_IMPORT_PREFIX}/${INCLUDE}\"")
    message(FATAL_ERROR "a target has other include folders:\n${line}")
  endif()
endforeach()
