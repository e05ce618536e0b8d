// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/core/kokkos_version.hpp>

// With the Kokkos beside this file, which is too old and not that of the library.

// says: ktopk: KOKKOS_VERSION is 40400, and ktopk needs 40501 or newer
// says: ktopk: KOKKOS_VERSION is 40400, and this ktopk was built with
