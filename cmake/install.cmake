# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(CMakePackageConfigHelpers)

install(TARGETS ktopk ktopk_header_only EXPORT ktopkTargets)
set(not_installed)
if(KTOPK_ENABLE_MPI)
  install(TARGETS ktopk_mpi EXPORT ktopkTargets)
else()
  set(not_installed REGEX "/ktopk/mpi([.]hpp|$)" EXCLUDE)
endif()
install(DIRECTORY include/ktopk DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" ${not_installed})
foreach(header IN ITEMS version config commit)
  install(FILES "${PROJECT_BINARY_DIR}/include/ktopk/${header}.hpp" DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ktopk)
endforeach()
install(DIRECTORY ${KTOPK_IMPLEMENTATION_FOLDERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ktopk/impl
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cpp")

# What find_package(ktopk COMPONENTS ...) may ask for: what this build has of it.
string(TOLOWER "header_only ${KTOPK_CONFIG_DEVICES}" KTOPK_CONFIG_COMPONENTS)
foreach(kind IN ITEMS host cuda)
  string(TOUPPER ${kind} KIND)
  if(KTOPK_ENABLE_${KIND}_TUNED)
    string(APPEND KTOPK_CONFIG_COMPONENTS " ${kind}_tuned")
  endif()
endforeach()

if(KTOPK_ENABLE_MPI)
  string(APPEND KTOPK_CONFIG_COMPONENTS " mpi")
endif()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ktopk)
configure_package_config_file(cmake/ktopkConfig.cmake.in ktopkConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(ktopkConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ktopkConfig.cmake" "${PROJECT_BINARY_DIR}/ktopkConfigVersion.cmake" DESTINATION ${package})
install(EXPORT ktopkTargets NAMESPACE ktopk:: DESTINATION ${package})

# Laid out as in the checkout, so that links between pages hold.
set(pages ${CMAKE_INSTALL_DATAROOTDIR}/doc/ktopk)
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md CITATION.cff DESTINATION ${pages})
install(DIRECTORY docs DESTINATION ${pages} FILES_MATCHING
  PATTERN "*.md" PATTERN "*.svg" PATTERN "programs/*.txt" PATTERN "programs/*.[ch]pp"
  PATTERN "CMakeLists.txt" EXCLUDE PATTERN "requirements.txt" EXCLUDE PATTERN site EXCLUDE)
foreach(page IN ITEMS perf/README.md perf/results/README.md tests/fuzz/README.md)
  cmake_path(GET page PARENT_PATH folder)
  install(FILES ${page} DESTINATION ${pages}/${folder})
endforeach()
install(DIRECTORY perf/notebook DESTINATION ${pages}/perf FILES_MATCHING PATTERN "*.md")
