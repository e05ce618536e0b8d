// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <ktopk/accumulator.hpp>
#include <ktopk/computed_bitonic.hpp>
#include <ktopk/gather.hpp>
#include <ktopk/lexicographic.hpp>
#include <ktopk/merge.hpp>
#include <ktopk/order_statistics.hpp>
#include <ktopk/reaching.hpp>

#include <Kokkos_Bitset.hpp>
#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>

// Questions and keys that must not compile, as in does_not_compile.cpp.

using Exec = Kokkos::DefaultHostExecutionSpace;
using ktopk::nothing;

template <class T>
using Row = Kokkos::View<T*, Kokkos::HostSpace>;
template <class T>
using Rows = Kokkos::View<T**, Kokkos::HostSpace>;
template <class T>
using Parts = Kokkos::View<T***, Kokkos::HostSpace>;

struct NotConst {
  float operator()(float key) { return key; }
};
struct OfText {
  float operator()(std::string const&) const { return 0; }
};
struct Twice {
  float operator()(float key) const { return 2 * key; }
};
struct OfPosition {
  float operator()(std::int64_t i) const { return static_cast<float>(i); }
};

// says: ktopk::transform: f cannot be called with a key; is its operator() const?
void of_a_functor_that_changes(Exec const& exec, Row<float> keys, Row<float> values) {
  top_k(exec, ktopk::transform(keys, NotConst{}), values, nothing);
}
void of_a_functor_of_text(Exec const& exec, Row<float> keys, Row<float> values) {
  top_k(exec, ktopk::transform(keys, OfText{}), values, nothing);
}

// says: ktopk::generate: f(row, i) does not return a key; is its operator() const?
void of_rows_without_a_row(Exec const& exec, Rows<float> values) {
  top_k(exec, ktopk::generate<float>(3, 10, OfPosition{}), values, nothing);
}

// says: ktopk::generate: f(i) does not return a key; is its operator() const?
void of_a_position_as_text(Exec const& exec, Row<float> values) {
  top_k(exec, ktopk::generate<float>(10, OfText{}), values, nothing);
}

// says: ktopk::where: a mask is mask(row, i) -> bool, for one row also mask(i), a View of bool or bytes, or a Bitset; is its operator() const?
void by_a_mask_of_one_row(Exec const& exec, Rows<float> keys, Rows<float> values) {
  top_k(exec, ktopk::where(keys, OfPosition{}), values, nothing);
}

// says: ktopk::where: a mask that is a View has the rank of the keys
void by_a_mask_of_rank_1(Exec const& exec, Rows<float> keys, Row<bool> mask, Rows<float> values) {
  top_k(exec, ktopk::where(keys, mask), values, nothing);
}

// says: ktopk::where: a mask that is a View is one of bool or of bytes
void by_a_mask_of_floats(Exec const& exec, Row<float> keys, Row<float> values) {
  top_k(exec, ktopk::where(keys, keys), values, nothing);
}

// says: ktopk::where: a Bitset masks one row
void by_bits_of_rows(Exec const& exec, Rows<float> keys, Kokkos::Bitset<Exec> mask) {
  top_k(exec, ktopk::where(keys, mask), keys, nothing);
}

// says: ktopk::transform: for_bitonic comes last, around all else
void with_bitonic_inside(Exec const& exec, Row<float> keys, Row<float> values) {
  auto const inner = ktopk::for_bitonic(ktopk::transform(keys, Twice{}));
  top_k(exec, ktopk::transform(inner, Twice{}), values, nothing);
}

// says: ktopk::lexicographic: the keys of all columns have 8 bytes at most
void of_wide_columns(Exec const& exec, Row<double> a, Row<float> b, Row<int> rows) {
  top_k(exec, ktopk::lexicographic(a, b), nothing, rows);
}

// says: ktopk::lexicographic: there are two or three columns
void of_four_columns(Row<short> a) { (void)ktopk::lexicographic(a, a, a, a); }

// says: ktopk::lexicographic: columns have one rank
void of_columns_of_two_ranks(Exec const& exec, Row<int> a, Rows<int> b, Row<int> rows) {
  top_k(exec, ktopk::lexicographic(a, b), nothing, rows);
}

// says: ktopk: columns have no values: pass ktopk::nothing, and gather by the indices
void of_columns_with_values(Exec const& exec, Row<int> a, Row<std::uint64_t> values) {
  top_k(exec, ktopk::lexicographic(a, a), values, nothing);
}
void of_masked_columns_with_values(Exec const& exec, Row<int> a, Row<bool> mask,
                                   Row<std::uint64_t> values) {
  top_k(exec, ktopk::where(ktopk::lexicographic(a, a), mask), values, nothing);
}

// says: ktopk::transform: columns have no values that f could be called with
void of_changed_columns(Exec const& exec, Row<int> a, Row<float> values) {
  top_k(exec, ktopk::transform(ktopk::lexicographic(a, a), Twice{}), values, nothing);
}

// says: ktopk: columns have no values: take top_k for indices, and gather by them
void kth_of_columns(Exec const& exec, Row<int> a, Row<std::uint64_t> value) {
  ktopk::kth(exec, ktopk::lexicographic(a, a), 3, value);
}

// says: ktopk: columns have no values that thresholds or bounds could be compared with
void count_of_columns(Exec const& exec, Row<int> a, Row<std::uint64_t> bounds,
                      Row<std::int64_t> counts) {
  ktopk::count(exec, ktopk::lexicographic(a, a), bounds, counts, nothing);
}

// says: ktopk::kth: several rows need a value each: a View of rank 1
void kth_of_rows_into_one(Exec const& exec, Rows<float> keys,
                          Kokkos::View<float, Kokkos::HostSpace> value) {
  ktopk::kth(exec, keys, 1, value);
}

// says: ktopk: values are not of key type
void kth_of_another_type(Exec const& exec, Row<float> keys, Row<double> value) {
  ktopk::kth(exec, keys, 1, value);
}

// says: ktopk::ranks: values have another rank
void ranks_of_rows_into_a_row(Exec const& exec, Rows<float> keys, Row<float> values) {
  ktopk::ranks(exec, keys, {0, 1}, values);
}

// says: ktopk::quantiles: values are of key type, float or double
void quantiles_as_int(Exec const& exec, Row<float> keys, Row<int> values) {
  ktopk::quantiles(exec, keys, {0.5}, values);
}

// says: ktopk: thresholds and bounds are of key type
void reaching_of_another_type(Exec const& exec, Row<float> keys, Row<double> thresholds) {
  ktopk::reaching(exec, keys, thresholds, keys, nothing, nothing);
}

// says: ktopk::reaching: thresholds have rank 0 or 1
void reaching_by_a_matrix(Exec const& exec, Rows<float> keys) {
  ktopk::reaching(exec, keys, keys, keys, nothing, nothing);
}

// says: ktopk: counts are int32 or int64
void counts_as_float(Exec const& exec, Row<float> keys) {
  ktopk::count(exec, keys, keys, keys, nothing);
}

// says: ktopk::gather: `to` has the rank of the indices, or one more
void gather_rows_into_a_row(Exec const& exec, Rows<int> indices, Row<float> from) {
  ktopk::gather(exec, indices, ktopk::payload(from, from));
}

// says: ktopk::gather: `from` has not the rank of positions, or of rows and positions
void gather_of_a_matrix(Exec const& exec, Row<int> indices, Rows<float> from, Row<float> to) {
  ktopk::gather(exec, indices, ktopk::payload(from, to));
}

// says: ktopk::merge: parts have rank 2, (part, slot), or rank 3, (part, row, slot)
void merge_of_one_list(Exec const& exec, Row<float> values, Row<int> positions) {
  ktopk::merge(exec, values, positions, values, positions);
}

// says: ktopk::merge: positions have the rank of their values, and the output one less than the parts
void merge_into_rows(Exec const& exec, Rows<float> values, Rows<int> positions) {
  ktopk::merge(exec, values, positions, values, positions);
}

// says: ktopk::merge: values are not of key type
void merge_into_another_type(Exec const& exec, Parts<float> parts, Parts<int> at,
                             Rows<double> values, Rows<int> positions) {
  ktopk::merge(exec, parts, at, values, positions);
}

// says: ktopk::Accumulator: positions are int32 or int64
void accumulate_unsigned_positions(Exec const& exec) {
  ktopk::Accumulator<float, std::uint32_t, Exec> const best(exec, 1, 3);
}
