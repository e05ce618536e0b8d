# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds Kokkos, learns its devices, and enables the language that its code is compiled in.

set(KTOPK_OLDEST_KOKKOS 4.5.01)
if(NOT TARGET Kokkos::kokkos)
  find_package(Kokkos ${KTOPK_OLDEST_KOKKOS} QUIET)
  if(NOT Kokkos_FOUND)
    message(FATAL_ERROR "ktopk needs Kokkos ${KTOPK_OLDEST_KOKKOS} or newer and found none (${Kokkos_CONSIDERED_VERSIONS} seen). "
      "Set Kokkos_ROOT to where it is installed, or let ./dev setup build it.")
  endif()
endif()

set(KTOPK_DEVICES)
foreach(device IN ITEMS SERIAL OPENMP THREADS HPX CUDA HIP SYCL OPENACC OPENMPTARGET)
  if(Kokkos_ENABLE_${device})
    list(APPEND KTOPK_DEVICES ${device})
  endif()
endforeach()

set(KTOPK_HAS_CUDA OFF)
if(CUDA IN_LIST KTOPK_DEVICES)
  set(KTOPK_HAS_CUDA ON)
  if(CMAKE_VERSION VERSION_LESS 3.25.2)
    message(FATAL_ERROR "ktopk with CUDA needs CMake 3.25.2 or newer; this is ${CMAKE_VERSION}, which does not know C++20 in newer nvcc. "
      "./dev setup cuda gets a newer one, and so does: pip install cmake")
  endif()
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES ${Kokkos_CUDA_ARCHITECTURES})
  endif()
  enable_language(CUDA)
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 12.4)
    message(FATAL_ERROR "ktopk needs CUDA 12.4 or newer; ${CMAKE_CUDA_COMPILER} is ${CMAKE_CUDA_COMPILER_VERSION}.")
  endif()
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.9 AND Kokkos_VERSION AND Kokkos_VERSION VERSION_LESS 4.7.2
     AND NOT Kokkos_ENABLE_IMPL_VIEW_LEGACY)
    message(WARNING "Kokkos ${Kokkos_VERSION} lays Views out differently on host and device with nvcc 12.9 and newer. "
      "Use Kokkos 4.7.02 or newer, or build it with Kokkos_ENABLE_IMPL_VIEW_LEGACY=ON.")
  endif()
endif()

set(KTOPK_KOKKOS_LANGUAGE CXX)
if(Kokkos_COMPILE_LANGUAGE)
  set(KTOPK_KOKKOS_LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
elseif(Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE AND KTOPK_HAS_CUDA)
  set(KTOPK_KOKKOS_LANGUAGE CUDA)
elseif(Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE AND HIP IN_LIST KTOPK_DEVICES)
  set(KTOPK_KOKKOS_LANGUAGE HIP)
endif()
if(KTOPK_KOKKOS_LANGUAGE STREQUAL HIP)
  if(NOT CMAKE_HIP_ARCHITECTURES)
    set(CMAKE_HIP_ARCHITECTURES ${Kokkos_HIP_ARCHITECTURES})
  endif()
  enable_language(HIP)
endif()

add_library(ktopk_warnings INTERFACE)
set(warnings -Wall -Wextra)
if(KTOPK_WARNINGS_AS_ERRORS)
  list(APPEND warnings -Werror)
endif()
list(JOIN warnings "," nvcc_warnings)
target_compile_options(ktopk_warnings INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX,HIP>:${warnings}>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${nvcc_warnings}>")

# ktopk_kokkos_sources(target file...): sources that include Kokkos, compiled in the language this Kokkos asks for.
# Call it in the folder that made the target.
function(ktopk_kokkos_sources target)
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE ${KTOPK_KOKKOS_LANGUAGE})
  target_sources(${target} PRIVATE ${ARGN})
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:ktopk_warnings>)
endfunction()
