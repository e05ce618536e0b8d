// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>

#include <ktopk/core/workspace.hpp>

#include "../one_pass/device/kernels.cuh"
#include "batch_launch.cuh"

// The host's side of the kernels in which all blocks of the device share few rows.

namespace ktopk::detail::cuda {

namespace {

template <class Bits, class CompositeKey, int Vectors, int Rounds, Sought Seeks>
__global__ void __launch_bounds__(device_tuning.threads)
    select_by_device(__grid_constant__ DeviceRows<Bits, CompositeKey> const rows) {
  DeviceSelection<Bits, CompositeKey, Vectors, Rounds, Seeks>(rows).run();
}

/// Of 16 bytes, that a thread loads together; a batch has no more keys than a word has bits.
constexpr int vectors_in(int bytes, int key_bytes) { return std::min(bytes / 16, 2 * key_bytes); }

/// Batches of loads in which the blocks read a row.
inline int batches_of(Shape const& shape, int parts, int bytes) {
  std::int64_t const batch =
      std::int64_t{parts} * device_tuning.threads * vectors_in(bytes, shape.key_bytes) * 16;
  return static_cast<int>((shape.n * shape.key_bytes + batch - 1) / batch);
}

/// How rows are dealt to the blocks of a device.
struct DevicePlan {
  int parts, letter_units = 0, owners = 0, batches = 0, groups = 0;
  int kept = device_tuning.kept, capacity = 0;
  bool in_one = false;  // whether a thread loads all its keys before it looks at any
  std::int64_t stratum = 0;
  double samples_a_key = 0;

  /// \param rounds  samples that a thread takes of a long row
  DevicePlan(Shape const& shape, int blocks, int rounds) {
    parts = static_cast<int>(std::min(blocks, device_tuning.most_blocks) /
                             std::max<std::int64_t>(1, shape.rows));
    if (parts == 0) return;
    letter_units = 32;
    while (letter_units * parts > device_tuning.threads) letter_units /= 2;
    in_one = batches_of(shape, parts, device_tuning.bytes_of_short) <= 1;
    batches = in_one ? 1 : batches_of(shape, parts, device_tuning.bytes_in_flight);
    groups = parts * (device_tuning.threads / 32);
    std::int64_t const samples =
        std::int64_t{parts} * device_tuning.threads * (in_one ? 1 : rounds);
    stratum = shape.n / samples;
    samples_a_key = static_cast<double>(samples) / static_cast<double>(shape.n);
  }

  /// \param ranged  composite keys that owners put in order, as expected
  void set_owners(double ranged) {
    owners = 1;
    while (owners * 2 <= std::min(parts, device_tuning.most_owners) &&
           owners * device_tuning.owned < ranged)
      owners *= 2;
  }
};

/// The same for all devices, of which none has more blocks.
template <class Bits, class CompositeKey>
void lay_out_device_rows(WorkspaceLayout& layout, DeviceRows<Bits, CompositeKey>& rows,
                         Shape const& shape) {
  constexpr int most_blocks = device_tuning.most_blocks, threads = device_tuning.threads;
  rows.states = layout.take<RowState>(shape.rows);
  rows.bests = layout.take<CompositeKey>(most_blocks * threads / 32);
  rows.mail = layout.take<uint4>(most_blocks * threads);
  rows.spilled = layout.take<CompositeKey>(most_blocks * device_tuning.kept);
}

template <class Bits>
DeviceRows<Bits, CompositeKeyOf<Bits>> make_device_rows(StoredProblem<Bits> const& problem,
                                                        Options const& options,
                                                        DevicePlan const& plan) {
  return {problem,
          make_composite_key_map<CompositeKeyOf<Bits>>(problem.rank, problem.shape.n, options.ties),
          forced_threshold,
          options.sorted,
          plan.parts,
          plan.letter_units,
          plan.owners,
          plan.batches,
          plan.kept,
          plan.capacity,
          plan.groups,
          static_cast<unsigned>(plan.stratum),
          static_cast<float>(plan.samples_a_key)};
}

/// \tparam Rounds  samples that a thread takes of a long row
/// \param bytes  of shared memory
template <Sought Seeks, int Rounds, class Bits, class CompositeKey>
void launch_on_device(cudaStream_t stream, DeviceRows<Bits, CompositeKey> const& rows,
                      DevicePlan const& plan, std::size_t bytes) {
  constexpr int few = vectors_in(device_tuning.bytes_of_short, sizeof(Bits)),
                many = vectors_in(device_tuning.bytes_in_flight, sizeof(Bits));
  auto const kernel = plan.in_one ? select_by_device<Bits, CompositeKey, few, 1, Seeks>
                                  : select_by_device<Bits, CompositeKey, many, Rounds, Seeks>;
  allow_all_shared_memory(kernel);
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim =
      dim3(static_cast<unsigned>(plan.parts), static_cast<unsigned>(rows.problem.shape.rows));
  config.blockDim = dim3(device_tuning.threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, rows), "launch");
}

}  // namespace

}  // namespace ktopk::detail::cuda
