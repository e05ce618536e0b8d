# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ktopk.pc, for builds without CMake. Kokkos has no such file, so this one has Kokkos's flags, too.

# Code for devices needs a compiler of its own, which pkg-config cannot tell; and it tells of no Kokkos that is not yet
# installed.
get_target_property(kokkos_is_installed Kokkos::kokkos IMPORTED)
if(NOT KTOPK_KOKKOS_LANGUAGE STREQUAL CXX OR KTOPK_DEVICES MATCHES "CUDA|HIP|SYCL|OPENACC|OPENMPTARGET" OR NOT kokkos_is_installed)
  return()
endif()

# flags_in(target property prefix variable): what a target asks of those that use it, where they are C++.
function(flags_in target property prefix variable)
  get_target_property(flags ${target} INTERFACE_${property})
  if(NOT flags)
    set(flags)
  endif()
  string(REGEX REPLACE "[$]<([$]<(COMPILE|LINK)_LANGUAGE:CXX>|LINK_ONLY):([^>]*)>" "\\3" flags "${flags}")
  list(FILTER flags EXCLUDE REGEX "[$]<|^$|^/usr/include$|KOKKOS_DEPENDENCE")
  list(TRANSFORM flags PREPEND "${prefix}")
  set(${variable} ${flags} PARENT_SCOPE)
endfunction()

# add_flags_of(target): to the global properties ktopk_compile and ktopk_link.
function(add_flags_of target)
  flags_in(${target} INCLUDE_DIRECTORIES -I folders)
  flags_in(${target} COMPILE_DEFINITIONS -D definitions)
  flags_in(${target} COMPILE_OPTIONS "" options)
  set_property(GLOBAL APPEND PROPERTY ktopk_compile ${folders} ${definitions} ${options})
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    set_property(GLOBAL APPEND PROPERTY ktopk_link $<TARGET_LINKER_FILE:${target}>)
  endif()
  flags_in(${target} LINK_OPTIONS "" flags)
  set_property(GLOBAL APPEND PROPERTY ktopk_link ${flags})
  flags_in(${target} LINK_LIBRARIES "" libraries)
  foreach(library IN LISTS libraries)
    # The flags of threads find the libraries of whichever compiler gets them.
    if(library MATCHES "^OpenMP::|^Threads::")
      set(flags -pthread)
      if(library MATCHES "OpenMP")
        set(flags ${OpenMP_CXX_FLAGS})
      endif()
      set_property(GLOBAL APPEND PROPERTY ktopk_compile ${flags})
      set_property(GLOBAL APPEND PROPERTY ktopk_link ${flags})
    elseif(TARGET ${library})
      add_flags_of(${library})
    elseif(library MATCHES "^[-/]")
      set_property(GLOBAL APPEND PROPERTY ktopk_link ${library})
    else()
      set_property(GLOBAL APPEND PROPERTY ktopk_link -l${library})
    endif()
  endforeach()
endfunction()

add_flags_of(Kokkos::kokkos)
get_property(compile GLOBAL PROPERTY ktopk_compile)
get_property(link GLOBAL PROPERTY ktopk_link)
list(REMOVE_DUPLICATES compile)
# A library stands behind all that need it.
list(REVERSE link)
list(REMOVE_DUPLICATES link)
list(REVERSE link)
list(JOIN compile " " KTOPK_KOKKOS_CFLAGS)
list(JOIN link " " KTOPK_KOKKOS_LIBS)

# The prefix is told from the file's own folder, so that an installation can be moved.
file(RELATIVE_PATH KTOPK_PREFIX_FROM_PKG_CONFIG "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /prefix)
configure_file(cmake/ktopk.pc.in ktopk.pc.in @ONLY)
file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/ktopk.pc" INPUT "${PROJECT_BINARY_DIR}/ktopk.pc.in")
install(FILES "${PROJECT_BINARY_DIR}/ktopk.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
