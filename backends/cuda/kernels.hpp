// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <type_traits>

#include <Kokkos_Core.hpp>
#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <ktopk/core/backend.hpp>

#include "algorithms.hpp"
#include "bisection/launch.hpp"
#include "bitonic/launch.hpp"
#include "delegate/launch.hpp"
#include "one_pass/block/launch.hpp"
#include "one_pass/cluster/launch.hpp"
#include "one_pass/columns/launch.hpp"
#include "one_pass/device/launch.hpp"
#include "one_pass/grid/launch.hpp"
#include "one_pass/held/launch.hpp"
#include "one_pass/layouts.hpp"
#include "one_pass/warp/launch.hpp"
#include "queue/launch.hpp"
#include "radix/device_launch.hpp"
#include "radix/launch.hpp"

// The tuned kernels for Kokkos::Cuda: what each serves, what it needs, and how it is launched. `Kernels` has them in
// order of preference. They are no kernels of Kokkos, so each call is a region with the kernel's label.

namespace ktopk::detail::cuda {

/// Why no tuned one_pass serves.
inline Reason declines_one_pass(Shape const& shape) {
  if (is_for_portable_one_pass(shape)) return "many long rows apart: the portable one is faster";
  if (one_pass_supports(shape) || one_pass_batch_supports(shape)) return nullptr;
  return "k too large for the lists of a block, and rows too many or short for the whole device";
}

/// Whether one block or cluster selects from each row. Only few long rows are worth the launches of several kernels.
inline bool is_batch(Shape const& shape) {
  if (!one_pass_batch_supports(shape)) return false;
  std::int64_t const shared_from = shape.rows < 8 ? 1 << 20 : 1 << 23;
  return shape.n < shared_from || !one_pass_supports(shape);
}

/// All blocks of the device share few rows, in one kernel.
struct OnePassDevice {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::device";
  static Reason declines(Asked const& a) {
    if (Reason const reason = declines_one_pass(a.shape)) return reason;
    return one_pass_device_supports(a.device.number, a.shape)
               ? nullptr
               : "rows too many, short or long for the registers of all blocks, or k too large";
  }
  static std::size_t workspace_bytes(Device const&, Shape const& shape, Options const&) {
    return one_pass_device_workspace_bytes(shape);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass_device(exec.cuda_device(), exec.cuda_stream(), problem, options, workspace);
  }
};

/// Rows of some thousand keys stay in the registers of a block.
struct OnePassHeld {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::held";
  static Reason declines(Asked const& a) {
    if (Reason const reason = declines_one_pass(a.shape)) return reason;
    if (a.options.sorted == Sorted::yes) return "sorted output";
    return one_pass_held_supports(a.device.number, a.shape, a.options)
               ? nullptr
               : "rows too many, short or long for the registers of a block, or k too large";
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass_held(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

/// Few rows of medium length stay in the registers of a cluster.
struct OnePassCluster {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::cluster";
  static Reason declines(Asked const& a) {
    if (Reason const reason = declines_one_pass(a.shape)) return reason;
    return one_pass_cluster_supports(a.device.number, a.shape)
               ? nullptr
               : "rows too many, short or long for a cluster each, k too large, or no clusters";
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass_cluster(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

/// Each of many rows has a warp.
struct OnePassWarp {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::warp";
  static Reason declines(Asked const& a) {
    if (Reason const reason = declines_one_pass(a.shape)) return reason;
    return one_pass_warp_supports(a.device.number, a.shape)
               ? nullptr
               : "rows too few, short or long for a warp each, or k too large";
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass_warp(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

/// A block or a cluster reads several rows whose keys lie side by side.
struct OnePassColumns {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::columns";
  static Reason declines(Asked const& a) {
    if (Reason const reason = declines_one_pass(a.shape)) return reason;
    if (a.layout != KeyLayout::side_by_side) return "rows whose keys do not lie side by side";
    if (!is_batch(a.shape)) return "rows for the whole device";
    return one_pass_columns_supports(a.device.number, a.shape, a.options)
               ? nullptr
               : "k too large for the lists of several rows";
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass_columns(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

/// A block or a cluster for each row of a batch.
struct OnePassBatch {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::batch";
  static Reason declines(Asked const& a) {
    if (Reason const reason = declines_one_pass(a.shape)) return reason;
    return is_batch(a.shape) ? nullptr : "k too large for the lists of a block, or few long rows";
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass_batch(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

/// All blocks of the device share few long rows, in several kernels.
struct OnePassGrid {
  static constexpr Algorithm algorithm = Algorithm::one_pass;
  static constexpr char const* label = "ktopk::cuda::one_pass::grid";
  static Reason declines(Asked const& a) { return declines_one_pass(a.shape); }
  static std::size_t workspace_bytes(Device const&, Shape const& shape, Options const& options) {
    return one_pass_workspace_bytes(shape, options);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    one_pass(exec.cuda_device(), exec.cuda_stream(), problem, options, workspace);
  }
};

/// Rows that a warp or a part of it holds in registers; exact only.
struct BisectionRows {
  static constexpr Algorithm algorithm = Algorithm::bisection;
  static constexpr char const* label = "ktopk::cuda::bisection";
  static Reason declines(Asked const& a) {
    if (!is_exact(a.options)) return "an early stop";
    return bisection_supports(a.shape, a.options)
               ? nullptr
               : "rows too long for a warp, or k too large to sort in one";
  }
  static std::size_t workspace_bytes(Device const&, Shape const&, Options const&) { return 0; }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void*) {
    Kokkos::Profiling::ScopedRegion const region(label);
    bisection(exec.cuda_device(), exec.cuda_stream(), problem, options);
  }
};

/// Few rows that fit the registers of the device; k may be a large part of them.
struct RadixDevice {
  static constexpr Algorithm algorithm = Algorithm::radix;
  static constexpr char const* label = "ktopk::cuda::radix::device";
  static Reason declines(Asked const& a) {
    return radix_device_supports(a.device.number, a.shape)
               ? nullptr
               : "rows too many, short or long for the registers of all blocks, or apart";
  }
  static std::size_t workspace_bytes(Device const&, Shape const& shape, Options const& options) {
    return radix_device_workspace_bytes(shape, options);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    radix_device(exec.cuda_device(), exec.cuda_stream(), problem, options, workspace);
  }
};

/// Any shape.
struct RadixGrid {
  static constexpr Algorithm algorithm = Algorithm::radix;
  static constexpr char const* label = "ktopk::cuda::radix::grid";
  static Reason declines(Asked const&) { return nullptr; }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options) {
    return radix_workspace_bytes(device.concurrency, shape, options);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    radix(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options, workspace);
  }
};

/// Local sort, merge and rebuild in one kernel.
struct BitonicParts {
  static constexpr Algorithm algorithm = Algorithm::bitonic;
  static constexpr char const* label = "ktopk::cuda::bitonic";
  static Reason declines(Asked const& a) {
    return bitonic_supports(a.shape) ? nullptr : "k above 1024, or more than 2^32 narrow keys";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape, Options const&) {
    return bitonic_workspace_bytes(device.concurrency, shape);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    bitonic(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options,
            workspace);
  }
};

/// Lists in the registers of warps, and queues of what beats them.
struct QueueParts {
  static constexpr Algorithm algorithm = Algorithm::queue;
  static constexpr char const* label = "ktopk::cuda::queue";
  static Reason declines(Asked const& a) {
    return queue_supports(a.shape) ? nullptr : "k too large, or more than 2^32 narrow keys";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape, Options const&) {
    return queue_workspace_bytes(device.concurrency, shape);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    queue(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options, workspace);
  }
};

/// Few long rows, k far below n.
struct DelegateRows {
  static constexpr Algorithm algorithm = Algorithm::delegate;
  static constexpr char const* label = "ktopk::cuda::delegate";
  static Reason declines(Asked const& a) {
    if (a.shape.ragged) return "ragged rows";
    if (a.options.inner != Algorithm::automatic) return "an inner algorithm by name";
    if (a.options.recall < 1) return "a recall below 1";
    return delegate_supports(a.shape, a.options) ? nullptr
                                                 : "rows too many or short, or k too large";
  }
  static std::size_t workspace_bytes(Device const& device, Shape const& shape,
                                     Options const& options) {
    return delegate_workspace_bytes(device.concurrency, shape, options);
  }
  template <class Bits>
  static void run(Kokkos::Cuda const& exec, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
    Kokkos::Profiling::ScopedRegion const region(label);
    delegate(exec.cuda_device(), exec.concurrency(), exec.cuda_stream(), problem, options,
             workspace);
  }
};

/// A list, and behind it those of some kernels that this build has.
template <class List, class... Some>
struct InBuild {
  using type = List;
};
template <class... Listed, class First, class... Others>
struct InBuild<KernelList<Listed...>, First, Others...>
    : InBuild<std::conditional_t<has_kernels(First::algorithm), KernelList<Listed..., First>,
                                 KernelList<Listed...>>,
              Others...> {};

using Kernels = InBuild<KernelList<>, OnePassDevice, OnePassHeld, OnePassCluster, OnePassWarp,
                        OnePassColumns, OnePassBatch, OnePassGrid, BisectionRows, RadixDevice,
                        RadixGrid, BitonicParts, QueueParts, DelegateRows>::type;

}  // namespace ktopk::detail::cuda
