// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>

// A switch for tests: on hosts ktopk::mpi does what it does on a GPU.

namespace ktopk::detail::mpi {

inline std::atomic<bool> forced_merge_kernels{false};

/// While it lives, kernels merge the lists of ranks on hosts, too.
class ForceMergeKernels {
 public:
  ForceMergeKernels() { forced_merge_kernels = true; }
  ~ForceMergeKernels() { forced_merge_kernels = false; }
  ForceMergeKernels(ForceMergeKernels const&) = delete;
  ForceMergeKernels& operator=(ForceMergeKernels const&) = delete;
};

}  // namespace ktopk::detail::mpi
