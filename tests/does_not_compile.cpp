// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/ktopk.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

// Calls that must not compile. Each names a message that the compiler must print; does_not_compile.cmake looks for it.

using Exec = Kokkos::DefaultHostExecutionSpace;
using ktopk::nothing;

template <class T>
using Row = Kokkos::View<T*, Kokkos::HostSpace>;

/// Memory that only a device could access.
struct FarSpace {
  using memory_space = FarSpace;
  using execution_space = Exec;
  using device_type = Kokkos::Device<Exec, FarSpace>;
  using size_type = std::size_t;
  static constexpr char const* name() { return "Far"; }
};
template <class T>
using FarRow = Kokkos::View<T*, FarSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

// says: ktopk: top_k is called by the host; a kernel calls team_top_k or thread_top_k of <ktopk/team.hpp>
void in_a_kernel(Kokkos::TeamPolicy<Exec>::member_type const& member, Row<float> keys) {
  top_k(member, keys, keys, nothing);
}

// says: ktopk: rows: keys have rank 2, and lengths rank 1
void of_lengths_of_a_row(Row<float> keys, Row<int> lengths) { ktopk::rows(keys, lengths); }

// says: ktopk: long double is not a key type: convert the keys to double
void of_long_double(Exec const& exec, Row<long double> keys) { top_k(exec, keys, keys, nothing); }

// says: ktopk: not a key type: keys are float16, bfloat16, float, double, or signed or unsigned integers of 8, 16, 32 or 64 bits
void of_bool(Exec const& exec, Row<bool> keys) { top_k(exec, keys, keys, nothing); }
ktopk::Shape shape_of_bool() { return ktopk::make_shape<bool>(1, 10, 3); }

// says: ktopk: values are const, but they are an output
void to_const_values(Exec const& exec, Row<float const> keys) { top_k(exec, keys, keys, nothing); }

// says: ktopk: indices are const, but they are an output
void to_const_indices(Exec const& exec, Row<float> keys, Row<int const> indices) {
  top_k(exec, keys, nothing, indices);
}

// says: ktopk: counts are const, but they are an output
void to_const_counts(Exec const& exec, Row<float> keys, Row<int const> counts) {
  top_k(exec, keys, keys, nothing, ktopk::per_row(nothing, counts));
}

// says: ktopk: the execution space cannot access the memory of the keys
void of_far_keys(Exec const& exec, FarRow<float> keys, Row<float> values) {
  top_k(exec, keys, values, nothing);
}

// says: ktopk: the execution space cannot access the memory of the values
void to_far_values(Exec const& exec, Row<float> keys, FarRow<float> values) {
  top_k(exec, keys, values, nothing);
}

// says: ktopk: the execution space cannot access the memory of the indices
void to_far_indices(Exec const& exec, Row<float> keys, FarRow<int> indices) {
  top_k(exec, keys, nothing, indices);
}

// says: ktopk: pass Order, Sorted, Ties, NaN, By, ShortRows and Algorithm as members of Options, like {.order = ktopk::Order::smallest}
void with_an_order(Exec const& exec, Row<float> keys, Row<float> values) {
  top_k(exec, keys, values, nothing, ktopk::Order::smallest);
}
void with_sorted(Row<float> keys, Row<float> values) {
  top_k(keys, values, nothing, ktopk::Sorted::no);
}
void with_an_algorithm(Exec const& exec) {
  (void)ktopk::workspace_bytes(exec, {}, ktopk::Algorithm::radix);
  ktopk::Plan<Exec> const plan(exec, {}, ktopk::Ties::any);
}
