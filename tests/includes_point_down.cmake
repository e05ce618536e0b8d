# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=... -P: include/ names no file of backends/ or src/, backends/ none of src/, and .cu files no Kokkos.

set(read 0)

# The front header of ktopk::header_only ends with the sources.
set(but "<ktopk/impl/src/header_only[.]hpp>")

# check(folder extensions forbidden why): no #include in the folder's files may match `forbidden`.
function(check folder extensions forbidden why)
  foreach(extension IN LISTS extensions)
    file(GLOB_RECURSE files "${ROOT}/${folder}/*.${extension}")
    foreach(file IN LISTS files)
      file(STRINGS "${file}" includes REGEX "^[ \t]*#[ \t]*include")
      list(LENGTH includes count)
      math(EXPR read "${read} + ${count}")
      foreach(include IN LISTS includes)
        if(include MATCHES "${forbidden}" AND NOT include MATCHES "${but}")
          message(SEND_ERROR "${file}: ${include}\n  ${why}")
        endif()
      endforeach()
    endforeach()
  endforeach()
  set(read ${read} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers RELATIVE "${ROOT}/src" "${ROOT}/src/*.hpp")
list(TRANSFORM headers REPLACE "[.]" "[.]")
list(JOIN headers "|" headers)

check(include "hpp;in" "backends/|src/|\"(${headers})\"|<(${headers})>" "the API layer includes nothing from the layers above")
check(backends "hpp;cu;cuh" "src/|\"(${headers})\"|<(${headers})>|\"[.][.]/[.][.]" "a tuned implementation never names a generic one")
check(backends "cu;cuh" "Kokkos" "kernels know no Kokkos")
if(read LESS 50)
  message(FATAL_ERROR "only ${read} includes read in ${ROOT}: is it the checkout?")
endif()
message(STATUS "${read} includes, all of them down")
