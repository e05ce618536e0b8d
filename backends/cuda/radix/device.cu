// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>

#include "../common/device_launch.cuh"
#include "../common/key_widths.hpp"
#include "../common/sort_rows.cuh"
#include "../common/this_module.cuh"
#include "device_launch.hpp"
#include "device_tuning.hpp"

namespace ktopk::detail::cuda {

namespace {

static_assert(radix_device_tuning.most_kept <= static_cast<int>(LetterHead::most));

/// The figures of a selection by a device that has so many processors.
struct BracketPlan : DevicePlan {
  bool serves = false;

  BracketPlan(Shape const& shape, int blocks) : DevicePlan(shape, blocks, 1) {
    if (parts >= device_tuning.least_parts && stratum > 0) set_bracket(shape);
  }

 private:
  /// \see DeviceSelection::orders_of
  void set_bracket(Shape const& shape) {
    double const share = static_cast<double>(shape.k) / static_cast<double>(shape.n);
    double const others = std::pow(1 - share, 32);
    double const margin = 4 * std::sqrt(groups * others * (1 - others)) + 4;
    double const low = groups * (1 - others) + margin;
    double const high = std::max(groups * (1 - others) - margin, 0.0);
    if (low > radix_device_tuning.most_order * groups) return;
    // Samples spread, so that what is between two of them does, too.
    double const spread = 1 + 4 / std::sqrt(low - high);
    double const ranged = (keys_at(low, shape) - keys_at(high, shape)) * spread;
    set_owners(ranged);
    capacity = static_cast<int>(ranged) + device_tuning.threads;
    double const in_block = keys_at(low, shape) * spread / parts;
    kept = static_cast<int>(in_block + 8 * std::sqrt(in_block)) + 256;
    serves = kept <= radix_device_tuning.most_kept;
  }
  /// Keys of which so many groups have some.
  double keys_at(double order, Shape const& shape) const {
    return static_cast<double>(shape.n) * (1 - std::pow(1 - order / groups, 1.0 / 32));
  }
};

std::size_t list_bytes(DevicePlan const& plan, int key_bytes) {
  std::size_t const composite = key_bytes == 8 ? sizeof(CompositeKey128) : sizeof(CompositeKey64);
  std::size_t const spare = std::max(composite * device_tuning.threads, digits * sizeof(unsigned));
  return composite * static_cast<std::size_t>(plan.capacity) + spare +
         static_cast<std::size_t>(plan.kept) * sizeof(unsigned);
}

/// Whether rows are so few and of such lengths that all blocks of a device should share them.
bool is_for_device(Shape const& shape) {
  return !shape.ragged && shape.rows > 0 && shape.n >= radix_device_tuning.least_n &&
         shape.rows <= radix_device_tuning.most_rows && shape.k < shape.n &&
         shape.n <= radix_device_tuning.most_bytes / (shape.rows * shape.key_bytes);
}

template <class Bits, class CompositeKey>
std::size_t lay_out(DeviceRows<Bits, CompositeKey>& rows, CompositeKey*& spare, void* workspace,
                    Shape const& shape, Sorted sorted) {
  WorkspaceLayout layout(workspace);
  lay_out_device_rows(layout, rows, shape);
  spare = nullptr;
  if (sorted == Sorted::no) return layout.bytes();
  rows.selected = layout.take<CompositeKey>(shape.rows * shape.k);
  if (needs_merges<CompositeKey>(shape.k)) spare = layout.take<CompositeKey>(shape.rows * shape.k);
  return layout.bytes();
}

template <class Bits>
std::size_t bytes_of(Shape const& shape, Sorted sorted) {
  DeviceRows<Bits, CompositeKeyOf<Bits>> rows{};
  CompositeKeyOf<Bits>* spare;
  return lay_out(rows, spare, nullptr, shape, sorted);
}

}  // namespace

bool radix_device_supports(int device, Shape const& shape) {
  if (!shape.packed || !is_for_device(shape)) return false;
  BracketPlan const plan(shape, processors(device));
  return plan.serves && list_bytes(plan, shape.key_bytes) + 3 * fixed_bytes <= room_for(200);
}

std::size_t radix_device_workspace_bytes(Shape const& shape, Options const& options) {
  if (!is_for_device(shape)) return 0;
  return shape.key_bytes == 8 ? bytes_of<std::uint64_t>(shape, options.sorted)
                              : bytes_of<std::uint32_t>(shape, options.sorted);
}

template <class Bits>
void radix_device(int device, cudaStream_t stream, StoredProblem<Bits> const& problem,
                  Options const& options, void* workspace) {
  OnDevice const here(device);
  Shape const& shape = problem.shape;
  BracketPlan const plan(shape, processors(device));
  auto rows = make_device_rows(problem, options, plan);
  CompositeKeyOf<Bits>* spare;
  lay_out(rows, spare, workspace, shape, options.sorted);
  launch_on_device<Sought::bracket, 1>(stream, rows, plan, list_bytes(plan, shape.key_bytes));
  if (rows.selected == nullptr) return;
  sort_rows(stream, RowsToSort<Bits, CompositeKeyOf<Bits>>{problem, rows.map}, rows.selected,
            spare);
  check(cudaGetLastError(), "launch");
}

#define KTOPK_INSTANTIATE(Bits) \
  template void radix_device(int, cudaStream_t, StoredProblem<Bits> const&, Options const&, void*);
KTOPK_CUDA_FOR_KEY_WIDTHS(KTOPK_INSTANTIATE)

}  // namespace ktopk::detail::cuda
