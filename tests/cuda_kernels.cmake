# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=... -P: which CUDA kernels are compiled by default, and by a choice; bad choices are refused.
cmake_minimum_required(VERSION 3.22)

if(DEFINED SHOWN) # a run of its own, with a choice
  include("${ROOT}/cmake/cuda_kernels.cmake")
  message("${${SHOWN}}")
  return()
endif()

# expect(shown algorithms bytes text): with a choice the variable, or else the message of the refusal, matches.
function(expect shown algorithms bytes text)
  execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${ROOT}" "-DSHOWN=${shown}" "-DKTOPK_CUDA_ALGORITHMS=${algorithms}"
    "-DKTOPK_KEY_BYTES=${bytes}" -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}" ERROR_VARIABLE message)
  string(REGEX REPLACE "[ \n]+" " " message "${message}")
  if(NOT message MATCHES "${text}")
    message(SEND_ERROR "${algorithms}, ${bytes}: \"${message}\" does not match \"${text}\"")
  endif()
endfunction()

set(all "one_pass;radix;bisection;bitonic;queue;delegate")
expect(KTOPK_CUDA_LEFT_OUT "${all}" "1;2;4;8" "^ ?$")
expect(KTOPK_CUDA_LEFT_OUT "radix;queue" "8;4"
  "^KTOPK_CUDA_WITHOUT_ONE_PASS;.*BISECTION;.*BITONIC;.*DELEGATE;.*WITHOUT_1_BYTES;KTOPK_CUDA_WITHOUT_2_BYTES ?$")
expect(KTOPK_CUDA_KERNELS "radix;queue" "4" "^radix/radix;radix/device;queue/queue ?$")
expect(KTOPK_CUDA_KERNELS "heap" "4" "KTOPK_CUDA_ALGORITHMS has heap, which is none of: one_pass radix")
expect(KTOPK_CUDA_KERNELS "${all}" "4;16" "KTOPK_KEY_BYTES has 16, which is none of: 1 2 4 8")
expect(KTOPK_CUDA_KERNELS "" "4" "KTOPK_CUDA_ALGORITHMS is empty")
expect(KTOPK_CUDA_KERNELS "${all}" "" "KTOPK_KEY_BYTES is empty")
expect(KTOPK_CUDA_KERNELS "bisection;radix" "4" "has bisection without one_pass")
expect(KTOPK_CUDA_KERNELS "delegate;one_pass" "4" "has delegate without radix")

# By default all sources are compiled, and every choice is known to the code.
include("${ROOT}/cmake/cuda_kernels.cmake")
file(GLOB_RECURSE sources RELATIVE "${ROOT}/backends/cuda" "${ROOT}/backends/cuda/*.cu")
list(FILTER sources EXCLUDE REGEX "^common/")
list(TRANSFORM KTOPK_CUDA_KERNELS APPEND .cu)
list(SORT sources)
list(SORT KTOPK_CUDA_KERNELS)
if(NOT sources STREQUAL KTOPK_CUDA_KERNELS)
  message(SEND_ERROR "the sources are ${sources}, but compiled are ${KTOPK_CUDA_KERNELS}")
endif()
file(READ "${ROOT}/backends/cuda/algorithms.hpp" of_algorithms)
file(READ "${ROOT}/backends/cuda/common/key_widths.hpp" of_widths)
foreach(algorithm IN LISTS every_algorithm)
  string(TOUPPER ${algorithm} ALGORITHM)
  if(NOT of_algorithms MATCHES "KTOPK_CUDA_WITHOUT_${ALGORITHM}\n *case Algorithm::${algorithm}:\n")
    message(SEND_ERROR "backends/cuda/algorithms.hpp does not know whether ${algorithm} is left out")
  endif()
endforeach()
foreach(bytes IN LISTS every_key_bytes)
  if(NOT of_widths MATCHES "KTOPK_CUDA_WITHOUT_${bytes}_BYTES\n")
    message(SEND_ERROR "backends/cuda/common/key_widths.hpp does not know whether keys of ${bytes} bytes are left out")
  endif()
endforeach()
