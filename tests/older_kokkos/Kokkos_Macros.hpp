// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All that ktopk's headers read of a Kokkos which they refuse.
#define KOKKOS_VERSION 40400
