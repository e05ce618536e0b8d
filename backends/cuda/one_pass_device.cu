// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "one_pass_device.cuh"

#include <algorithm>
#include <cmath>

#include <ktopk/detail/workspace.hpp>

#include "batch_launch.cuh"
#include "key_widths.hpp"
#include "one_pass_device_launch.hpp"

namespace ktopk::detail::cuda {

namespace {

template <class Bits, class CompositeKey, int Vectors, int Rounds>
__global__ void __launch_bounds__(device_tuning.threads)
    select_by_device(__grid_constant__ DeviceRows<Bits, CompositeKey> const rows) {
  DeviceSelection<Bits, CompositeKey, Vectors, Rounds>(rows).run();
}

// ---- host side

/// Of 16 bytes, that a thread loads together; a batch has no more keys than a word has bits.
constexpr int vectors_in(int bytes, int key_bytes) { return std::min(bytes / 16, 2 * key_bytes); }

/// Batches of loads in which the blocks read a row.
int batches_of(Shape const& shape, int parts, int bytes) {
  std::int64_t const batch =
      std::int64_t{parts} * device_tuning.threads * vectors_in(bytes, shape.key_bytes) * 16;
  return static_cast<int>((shape.n * shape.key_bytes + batch - 1) / batch);
}

bool is_short(Shape const& shape, int parts) {
  return batches_of(shape, parts, device_tuning.bytes_of_short) <= 1;
}

/// The figures of a selection by a device that has so many processors.
struct DevicePlan {
  int parts, letter_units = 0, owners = 0, batches = 0, capacity = 0, groups = 0;
  bool in_one = false;  // whether a thread loads all its keys before it looks at any
  std::int64_t stratum = 0;
  double samples_a_key = 0, order = 0;

  DevicePlan(Shape const& shape, int blocks) {
    parts = static_cast<int>(std::min(blocks, device_tuning.most_blocks) /
                             std::max<std::int64_t>(1, shape.rows));
    if (parts == 0) return;
    letter_units = 32;
    while (letter_units * parts > device_tuning.threads) letter_units /= 2;
    in_one = is_short(shape, parts);
    batches = in_one ? 1 : batches_of(shape, parts, device_tuning.bytes_in_flight);
    groups = parts * (device_tuning.threads / 32);
    std::int64_t const samples =
        std::int64_t{parts} * device_tuning.threads * (in_one ? 1 : device_tuning.rounds);
    stratum = shape.n / samples;
    samples_a_key = static_cast<double>(samples) / static_cast<double>(shape.n);
    set_order(shape);
  }

 private:
  /// \see DeviceSelection::order_of
  void set_order(Shape const& shape) {
    double const expected = static_cast<double>(shape.k) * samples_a_key;
    double const selected = groups * -std::expm1(-expected / groups);
    order = selected + 4 * std::sqrt(selected) + 4;
    double const kept = -groups * std::log1p(-std::min(order / groups, 0.9)) / samples_a_key;
    owners = 1;
    while (owners * 2 <= std::min(parts, device_tuning.most_owners) &&
           owners * device_tuning.owned < kept)
      owners *= 2;
    capacity = static_cast<int>(std::max(2 * kept, static_cast<double>(shape.k))) + 512;
  }
};

std::size_t list_bytes(DevicePlan const& plan, int key_bytes) {
  std::size_t const composite = key_bytes == 8 ? sizeof(CompositeKey128) : sizeof(CompositeKey64);
  std::size_t const lists = 2 * composite * static_cast<std::size_t>(plan.capacity) +
                            device_tuning.kept * sizeof(unsigned);
  return std::max(lists, digits * sizeof(unsigned));
}

/// Whether rows are so few and of such lengths that all blocks of a device should share them.
bool is_for_device(Shape const& shape) {
  std::int64_t const least =
      shape.rows <= device_tuning.few_rows ? device_tuning.least_n : device_tuning.least_n_of_more;
  return !shape.ragged && shape.rows > 0 && shape.n >= least &&
         shape.rows <= device_tuning.most_blocks / device_tuning.least_parts &&
         shape.n <= device_tuning.most_bytes / (shape.rows * shape.key_bytes) && shape.k <= shape.n;
}

/// The same for all devices, of which none has more blocks.
template <class Bits, class CompositeKey>
std::size_t lay_out(DeviceRows<Bits, CompositeKey>& rows, void* workspace, Shape const& shape) {
  constexpr int most_blocks = device_tuning.most_blocks, threads = device_tuning.threads;
  WorkspaceLayout layout(workspace);
  rows.states = layout.take<RowState>(shape.rows);
  rows.bests = layout.take<CompositeKey>(most_blocks * threads / 32);
  rows.mail = layout.take<uint4>(most_blocks * threads);
  rows.spilled = layout.take<CompositeKey>(most_blocks * device_tuning.kept);
  rows.selected = layout.take<CompositeKey>(shape.rows * shape.k);
  return layout.bytes();
}

}  // namespace

bool one_pass_device_supports(int device, Shape const& shape) {
  if (!shape.packed || !is_for_device(shape)) return false;
  DevicePlan const plan(shape, processors(device));
  return plan.parts >= device_tuning.least_parts &&
         plan.order <= device_tuning.most_order * plan.groups &&
         list_bytes(plan, shape.key_bytes) + 2 * fixed_bytes <= room_for(200);
}

std::size_t one_pass_device_workspace_bytes(Shape const& shape) {
  if (!is_for_device(shape)) return 0;
  if (shape.key_bytes == 8) {
    DeviceRows<std::uint64_t, CompositeKey128> rows{};
    return lay_out(rows, nullptr, shape);
  }
  DeviceRows<std::uint32_t, CompositeKey64> rows{};
  return lay_out(rows, nullptr, shape);
}

template <class Bits>
void one_pass_device(int device, cudaStream_t stream, Problem<Bits> const& problem,
                     Options const& options, void* workspace) {
  using CompositeKey = CompositeKeyOf<Bits>;
  OnDevice const here(device);
  Shape const& shape = problem.shape;
  DevicePlan const plan(shape, processors(device));
  DeviceRows<Bits, CompositeKey> rows{
      problem,
      make_composite_key_map<CompositeKey>(problem.rank, shape.n, options.ties),
      forced_threshold,
      options.sorted,
      plan.parts,
      plan.letter_units,
      plan.owners,
      plan.batches,
      plan.capacity,
      plan.groups,
      static_cast<unsigned>(plan.stratum),
      static_cast<float>(plan.samples_a_key)};
  lay_out(rows, workspace, shape);
  constexpr int few = vectors_in(device_tuning.bytes_of_short, sizeof(Bits)),
                many = vectors_in(device_tuning.bytes_in_flight, sizeof(Bits));
  auto const kernel = plan.in_one
                          ? select_by_device<Bits, CompositeKey, few, 1>
                          : select_by_device<Bits, CompositeKey, many, device_tuning.rounds>;
  std::size_t const bytes = list_bytes(plan, shape.key_bytes);
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             static_cast<int>(bytes)),
        "shared memory");
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(plan.parts), static_cast<unsigned>(shape.rows));
  config.blockDim = dim3(device_tuning.threads);
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kernel, rows), "launch");
}

#define KTOPK_INSTANTIATE(Bits) \
  template void one_pass_device(int, cudaStream_t, Problem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
