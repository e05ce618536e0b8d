# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What is known only at configure time, written into three headers.

set(KTOPK_CONFIG_COMPILER "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
if(KTOPK_HAS_CUDA)
  string(APPEND KTOPK_CONFIG_COMPILER ", nvcc ${CMAKE_CUDA_COMPILER_VERSION}")
endif()
list(JOIN KTOPK_DEVICES " " KTOPK_CONFIG_DEVICES)

# number_of_version(version variable): 4.7.0 is 40700, as in Kokkos; a version that is not known is 0.
function(number_of_version version variable)
  set(number 0)
  if(version MATCHES "^([0-9]+)[.]([0-9]+)[.]([0-9]+)")
    math(EXPR number "${CMAKE_MATCH_1} * 10000 + ${CMAKE_MATCH_2} * 100 + ${CMAKE_MATCH_3}")
  endif()
  set(${variable} ${number} PARENT_SCOPE)
endfunction()
number_of_version("${Kokkos_VERSION}" KTOPK_CONFIG_KOKKOS_VERSION)
number_of_version(${KTOPK_OLDEST_KOKKOS} KTOPK_CONFIG_OLDEST_KOKKOS)

set(KTOPK_CONFIG_COMMIT "unknown")
set(archived "$Format:%H$") # in an archive of git, its commit
if(archived MATCHES "^[0-9a-f]+$")
  string(SUBSTRING ${archived} 0 12 KTOPK_CONFIG_COMMIT)
endif()
find_package(Git QUIET)
if(GIT_FOUND AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --dirty --abbrev=12 --exclude=*
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
    RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(KTOPK_CONFIG_COMMIT "${commit}")
  endif()
endif()

foreach(header IN ITEMS version config commit)
  configure_file(include/ktopk/${header}.hpp.in include/ktopk/${header}.hpp @ONLY)
endforeach()

# Header-only code, and code with kernels of its own, finds the sources under the same name here and where they are
# installed.
set(KTOPK_IMPLEMENTATION_FOLDERS runtime backends portable dispatch)
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/include/ktopk/impl")
foreach(folder IN LISTS KTOPK_IMPLEMENTATION_FOLDERS)
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/${folder}" "${PROJECT_BINARY_DIR}/include/ktopk/impl/${folder}" SYMBOLIC)
endforeach()
