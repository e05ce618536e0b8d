// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>

#include "../../common/device_launch.cuh"
#include "../../common/key_widths.hpp"
#include "../../common/this_module.cuh"
#include "launch.hpp"

namespace ktopk::detail::cuda {

namespace {

/// The figures of a selection by a device that has so many processors.
struct ThresholdPlan : DevicePlan {
  double order = 0;

  ThresholdPlan(Shape const& shape, int blocks) : DevicePlan(shape, blocks, device_tuning.rounds) {
    if (parts > 0) set_order(shape);
  }

 private:
  /// \see DeviceSelection::order_of
  void set_order(Shape const& shape) {
    double const expected = static_cast<double>(shape.k) * samples_a_key;
    double const selected = groups * -std::expm1(-expected / groups);
    order = selected + 4 * std::sqrt(selected) + 4;
    double const ranged = -groups * std::log1p(-std::min(order / groups, 0.9)) / samples_a_key;
    set_owners(ranged);
    capacity = static_cast<int>(std::max(2 * ranged, static_cast<double>(shape.k))) + 512;
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

template <class Bits, class CompositeKey>
std::size_t lay_out(DeviceRows<Bits, CompositeKey>& rows, void* workspace, Shape const& shape) {
  WorkspaceLayout layout(workspace);
  lay_out_device_rows(layout, rows, shape);
  rows.selected = layout.take<CompositeKey>(shape.rows * shape.k);
  return layout.bytes();
}

}  // namespace

bool one_pass_device_supports(int device, Shape const& shape) {
  if (!shape.packed || !is_for_device(shape)) return false;
  ThresholdPlan const plan(shape, processors(device));
  return plan.parts >= device_tuning.least_parts &&
         plan.order <= device_tuning.most_order * plan.groups &&
         list_bytes(plan, shape.key_bytes) + 3 * fixed_bytes <= room_for(200);
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
void one_pass_device(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                     Options const& options, void* workspace) {
  OnDevice const here(device);
  ThresholdPlan const plan(problem.shape, processors(device));
  auto rows = make_device_rows(problem, options, plan);
  lay_out(rows, workspace, problem.shape);
  launch_on_device<Sought::threshold, device_tuning.rounds>(
      stream, rows, plan, list_bytes(plan, problem.shape.key_bytes));
}

#define KTOPK_INSTANTIATE(Bits)                                                                \
  template void one_pass_device(int, cudaStream_t, StoredProblem<Bits> const&, Options const&, \
                                void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
