# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(tuned)
if(KTOPK_ENABLE_HOST_TUNED)
  list(JOIN KTOPK_HOST_ALGORITHMS " " names)
  list(APPEND tuned "${names} (hosts)")
endif()
if(KTOPK_ENABLE_CUDA_TUNED)
  list(JOIN KTOPK_CUDA_KERNELS " " names)
  list(JOIN KTOPK_KEY_BYTES " " bytes)
  list(APPEND tuned "${names} (CUDA, sm ${CMAKE_CUDA_ARCHITECTURES}, keys of ${bytes} bytes)")
endif()
list(JOIN tuned ", " tuned)
if(NOT tuned)
  set(tuned none)
endif()
set(kind static)
if(BUILD_SHARED_LIBS)
  set(kind shared)
endif()
list(JOIN KTOPK_ALGORITHMS " " algorithms)
set(parts)
foreach(part IN ITEMS tests perf tools examples)
  string(TOUPPER ${part} PART)
  if(KTOPK_BUILD_${PART})
    list(APPEND parts ${part})
  endif()
endforeach()
list(JOIN parts " " parts)

message(STATUS "ktopk ${PROJECT_VERSION} (${KTOPK_CONFIG_COMMIT})
     library      ${kind}, ${CMAKE_BUILD_TYPE}
     compiler     ${KTOPK_CONFIG_COMPILER}
     Kokkos       ${Kokkos_VERSION} in ${Kokkos_DIR}
     devices      ${KTOPK_CONFIG_DEVICES}, compiled as ${KTOPK_KOKKOS_LANGUAGE}
     algorithms   ${algorithms}
     tuned        ${tuned}
     also built   ${parts}
     installs     ${KTOPK_INSTALL}")
