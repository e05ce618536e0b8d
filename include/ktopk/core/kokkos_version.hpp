// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Macros.hpp>

#include <ktopk/config.hpp>

// find_package(ktopk) refuses a wrong Kokkos, but pkg-config and flags written by hand do not. The compiled library
// shares Views and execution spaces with its callers, so both need one Kokkos; header-only code has no such other half.

#define KTOPK_TEXT_OF_ARGUMENT(argument) #argument
#define KTOPK_TEXT_OF(macro) KTOPK_TEXT_OF_ARGUMENT(macro)

static_assert(KOKKOS_VERSION >= KTOPK_CONFIG_OLDEST_KOKKOS,
              "ktopk: KOKKOS_VERSION is " KTOPK_TEXT_OF(KOKKOS_VERSION)  //
              ", and ktopk needs " KTOPK_TEXT_OF(KTOPK_CONFIG_OLDEST_KOKKOS) " or newer");

#if !defined(KTOPK_HEADER_ONLY) && KTOPK_CONFIG_KOKKOS_VERSION
static_assert(KOKKOS_VERSION == KTOPK_CONFIG_KOKKOS_VERSION,
              "ktopk: KOKKOS_VERSION is " KTOPK_TEXT_OF(KOKKOS_VERSION)  //
              ", and this ktopk was built with " KTOPK_TEXT_OF(KTOPK_CONFIG_KOKKOS_VERSION));
#endif

#undef KTOPK_TEXT_OF
#undef KTOPK_TEXT_OF_ARGUMENT
