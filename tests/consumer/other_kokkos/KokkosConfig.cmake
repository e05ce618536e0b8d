# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Kokkos of the right version that has no device at all: ktopk's package must refuse it.
