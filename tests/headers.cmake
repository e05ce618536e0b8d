# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Compiles every public header alone and twice in one source; those of the ground that promise it, without Kokkos. And all of
# them in one source, which a test reads.

set(without_kokkos options.hpp float16.hpp problem.hpp info.hpp core/key_traits.hpp core/macros.hpp
  core/ordered_bits.hpp
  core/testing.hpp core/workspace.hpp)
file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include/ktopk"
  "${PROJECT_SOURCE_DIR}/include/ktopk/*.hpp")
list(APPEND headers config.hpp version.hpp)
if(NOT KTOPK_ENABLE_MPI)
  list(FILTER headers EXCLUDE REGEX "^mpi[/.]")
endif()

set(every_header)
foreach(header IN LISTS headers)
  if(NOT header MATCHES "^mpi[/.]")
    string(APPEND every_header "#include <ktopk/${header}>\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT headers/every_header.cpp CONTENT "${every_header}" @ONLY)

add_library(headers_with_kokkos OBJECT)
add_library(headers_without_kokkos OBJECT)
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER "${header}" source)
  set(source "${CMAKE_CURRENT_BINARY_DIR}/headers/${source}.cpp")
  configure_file(header.cpp.in "${source}" @ONLY)
  if(header IN_LIST without_kokkos)
    target_sources(headers_without_kokkos PRIVATE "${source}")
  else()
    ktopk_kokkos_sources(headers_with_kokkos "${source}")
  endif()
endforeach()
target_link_libraries(headers_with_kokkos PRIVATE ktopk::ktopk)
if(KTOPK_ENABLE_MPI)
  target_link_libraries(headers_with_kokkos PRIVATE ktopk::mpi)
endif()
target_compile_features(headers_without_kokkos PRIVATE cxx_std_20)
target_include_directories(headers_without_kokkos PRIVATE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/include")
