// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device.hpp"
#include "per_device.hpp"

// CUDA loads the kernels of a source file when one of them is first launched, and waits for the device then ("Lazy
// Loading", CUDA C++ Programming Guide). A Plan's call may not wait, so they are loaded before.

namespace ktopk::detail::cuda {

/// The source files that have kernels, in a list that is complete before main begins.
class Module {
 public:
  using Kernel = void();

  /// \param kernel  one that does nothing
  explicit Module(Kernel* kernel) : m_kernel(kernel), m_next(first()) { first() = this; }

  /// Launches a kernel from each source file, once for each device.
  static void load_all(int device, cudaStream_t stream) {
    static PerDevice loaded;
    loaded(device, [&] {
      OnDevice const here(device);
      for (Module const* module = first(); module != nullptr; module = module->m_next)
        check(cudaLaunchKernel(reinterpret_cast<void const*>(module->m_kernel), dim3(1), dim3(1),
                               nullptr, 0, stream),
              "load");
      return 1;
    });
  }

 private:
  static Module const*& first() {
    static Module const* module = nullptr;
    return module;
  }

  Kernel* m_kernel;
  Module const* m_next;
};

}  // namespace ktopk::detail::cuda
