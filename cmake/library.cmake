# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ktopk::ktopk, compiled, and ktopk::header_only, from the same sources.

include(CheckCXXCompilerFlag)

set(call_sources
  dispatch/calibration.cpp dispatch/checks.cpp dispatch/choose.cpp dispatch/cost_model.cpp dispatch/explain.cpp
  dispatch/find_ranks.cpp dispatch/info.cpp dispatch/select.cpp portable/finish/arrange.cpp)
set(sources ${call_sources} dispatch/find_reaching.cpp dispatch/magnitudes.cpp portable/delegate/two_stage.cpp
  portable/ranks/held.cpp portable/ranks/ranks.cpp)
foreach(algorithm IN LISTS KTOPK_ALGORITHMS)
  list(APPEND sources portable/${algorithm}/${algorithm}.cpp)
endforeach()
if(KTOPK_ENABLE_HOST_TUNED)
  foreach(algorithm IN LISTS KTOPK_HOST_ALGORITHMS)
    list(APPEND sources backends/host/${algorithm}/${algorithm}.cpp)
  endforeach()
  list(APPEND sources backends/host/host_row.cpp backends/host/ranks/ranks.cpp)
endif()

add_library(ktopk)
add_library(ktopk::ktopk ALIAS ktopk)
ktopk_kokkos_sources(ktopk ${sources})
# nvcc takes longer to parse Kokkos's headers than to compile what these files hold, so the files of a group are one
# translation unit; they are one in header-only code, too.
if(KTOPK_HAS_CUDA)
  set_target_properties(ktopk PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  set_source_files_properties(${call_sources} PROPERTIES UNITY_GROUP calls)
  set_source_files_properties(
    portable/bitonic/bitonic.cpp portable/delegate/delegate.cpp portable/delegate/two_stage.cpp
    portable/heap/heap.cpp portable/queue/queue.cpp portable/sort/sort.cpp PROPERTIES UNITY_GROUP small_algorithms)
  set_source_files_properties(
    backends/host/heap/heap.cpp backends/host/host_row.cpp backends/host/one_pass/one_pass.cpp
    backends/host/radix/radix.cpp backends/host/ranks/ranks.cpp
    PROPERTIES UNITY_GROUP host)
endif()
if(KTOPK_ENABLE_HOST_TUNED)
  # The loops of hosts include no Kokkos header, and the host's own compiler translates them.
  target_sources(ktopk PRIVATE backends/host/loops.cpp)
  # Else how fast they are, by a tenth, is up to what code comes before them.
  check_cxx_compiler_flag(-falign-loops=64 KTOPK_ALIGNS_LOOPS)
  if(KTOPK_ALIGNS_LOOPS)
    set_source_files_properties(backends/host/loops.cpp PROPERTIES COMPILE_OPTIONS -falign-loops=64)
  endif()
endif()
# Threads may have little stack (runtime/thread_memory.hpp).
# Without optimization, and under sanitizers, frames are larger.
check_cxx_compiler_flag(-Wframe-larger-than=49152 KTOPK_WARNS_OF_FRAMES)
if(KTOPK_WARNS_OF_FRAMES)
  target_compile_options(ktopk PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-Wframe-larger-than=49152>)
endif()
if(KTOPK_ENABLE_CUDA_TUNED)
  foreach(kernel IN LISTS KTOPK_CUDA_KERNELS)
    target_sources(ktopk PRIVATE backends/cuda/${kernel}.cu)
  endforeach()
  if(radix IN_LIST KTOPK_CUDA_ALGORITHMS)
    target_sources(ktopk PRIVATE backends/cuda/common/sort_long.cu)
  endif()
  # Tests include the table of the kernels, too; no header for users does.
  target_compile_definitions(ktopk PUBLIC "$<BUILD_INTERFACE:${KTOPK_CUDA_LEFT_OUT}>")
endif()
target_include_directories(ktopk PRIVATE "${PROJECT_SOURCE_DIR}")
set_target_properties(ktopk PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

add_library(ktopk_header_only INTERFACE)
add_library(ktopk::header_only ALIAS ktopk_header_only)
target_compile_definitions(ktopk_header_only INTERFACE KTOPK_HEADER_ONLY)
set_target_properties(ktopk_header_only PROPERTIES EXPORT_NAME header_only)

function(describe target scope)
  target_link_libraries(${target} ${scope} Kokkos::kokkos)
  target_compile_features(${target} ${scope} cxx_std_20)
  if(KTOPK_HAS_CUDA)
    target_compile_features(${target} ${scope} cuda_std_20)
    # Device code calls constexpr functions of the standard library: std::bit_cast, std::max.
    target_compile_options(${target} ${scope} $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:--expt-relaxed-constexpr>)
  endif()
  target_include_directories(${target} ${scope}
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include;${PROJECT_BINARY_DIR}/include>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endfunction()
describe(ktopk PUBLIC)
describe(ktopk_header_only INTERFACE)

# Header-only over the library.
if(KTOPK_ENABLE_MPI)
  add_library(ktopk_mpi INTERFACE)
  add_library(ktopk::mpi ALIAS ktopk_mpi)
  target_link_libraries(ktopk_mpi INTERFACE ktopk MPI::MPI_CXX)
  set_target_properties(ktopk_mpi PROPERTIES EXPORT_NAME mpi)
endif()
