# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cmake -DROOT=... -P: include/ includes no file of backends/ or src/, a backend none of src/ or of another backend, and
# the sources with kernels or SIMD loops no header of Kokkos, not even through others. The generic implementations have
# one text for every device: of them only portable/group/group.hpp and portable/group/lane_group.hpp know whether it is a host.
cmake_minimum_required(VERSION 3.22)

set(read 0)

# The front header of ktopk::header_only ends with the sources; headers of what the caller compiles end with its kernels.
# Accumulators and ktopk::mpi are compiled by the caller alone, and launch groups of their own.
set(but "<ktopk/impl/(dispatch/(header_only|computed|computed_bitonic|run_call)|portable/(group/team_selection|run/launch|ranks/reading))[.]hpp>")

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

# check_without_kokkos(source): neither the source includes Kokkos nor any of the project's headers that it includes.
function(check_without_kokkos source)
  set(files "${source}")
  set(next 0)
  list(LENGTH files end)
  while(next LESS end)
    list(GET files ${next} file)
    cmake_path(GET file PARENT_PATH folder)
    file(STRINGS "${file}" includes REGEX "^[ \t]*#[ \t]*include")
    foreach(include IN LISTS includes)
      if(include MATCHES "Kokkos")
        message(SEND_ERROR "${file}: ${include}\n  ${source} includes it: kernels and SIMD loops know no Kokkos")
      elseif(include MATCHES "\"(.+)\"")
        cmake_path(SET header NORMALIZE "${folder}/${CMAKE_MATCH_1}")
      elseif(include MATCHES "<(ktopk/.+)>")
        set(header "${ROOT}/include/${CMAKE_MATCH_1}")
      else()
        continue()
      endif()
      # Headers that are generated include none.
      if(EXISTS "${header}" AND NOT header IN_LIST files)
        list(APPEND files "${header}")
      endif()
    endforeach()
    math(EXPR next "${next} + 1")
    list(LENGTH files end)
  endwhile()
endfunction()

check(include "hpp;in" "(runtime|backends|portable|dispatch)/" "the API layer includes nothing from the layers above")
check(runtime "hpp" "(backends|portable|dispatch)/" "threads and memory of hosts know no implementation")
check(backends "hpp;cpp;cu;cuh" "(portable|dispatch)/|[.][.]/(host|cuda)/|\"backends/"
  "a backend includes neither a portable implementation nor another backend")
check(portable "hpp;cpp" "(backends|dispatch)/" "a portable implementation includes no backend and no dispatcher")
file(GLOB_RECURSE sources "${ROOT}/backends/*.cu" "${ROOT}/backends/*.cuh")
foreach(source IN LISTS sources ITEMS "${ROOT}/backends/host/loops.cpp")
  check_without_kokkos("${source}")
endforeach()

# A portable implementation is one text: groups and their launch alone know a host's team.
file(GLOB_RECURSE generic "${ROOT}/portable/*.[ch]pp")
list(FILTER generic EXCLUDE REGEX "/((lane_)?group|launch)[.]hpp$")
list(LENGTH generic count)
if(count LESS 15)
  message(FATAL_ERROR "only ${count} generic sources in ${ROOT}: is it the checkout?")
endif()
foreach(file IN LISTS generic)
  file(STRINGS "${file}" switches REGEX "is_host|KOKKOS_IF_ON_HOST|runs_at_once|device[.]host")
  foreach(switch IN LISTS switches)
    message(SEND_ERROR "${file}: ${switch}\n  what only hosts run belongs to backends/host")
  endforeach()
endforeach()

if(read LESS 50)
  message(FATAL_ERROR "only ${read} includes read in ${ROOT}: is it the checkout?")
endif()
message(STATUS "${read} includes, all of them down")
