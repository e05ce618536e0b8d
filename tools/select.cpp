// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "select.hpp"

#include <algorithm>
#include <ktopk/info.hpp>
#include <optional>
#include <stdexcept>

#include "backend.hpp"
#include "files/fault.hpp"
#include "interrupt.hpp"
#include "progress.hpp"

namespace ktopk::tools {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{1} << 26;

std::string choose_backend(std::string const& wanted) {
  return wanted.empty() ? backend_names().front() : known_backend(wanted);
}

void check_algorithm(Algorithm wanted) {
  if (wanted == Algorithm::automatic) return;
  std::string names;
  for (AlgorithmInfo const& info : algorithms()) {
    if (info.algorithm == wanted) return;
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  throw Fault("--algorithm: " + in_quotes(name(wanted)) + " is not in this build, which has " +
              names);
}

void check_k(std::string const& path, Matrix const& keys, std::int64_t k) {
  if (keys.rows > 0 && k > keys.n)
    throw Fault(path + ": k = " + std::to_string(k) + " is larger than the " +
                std::to_string(keys.n) + (keys.rank == 1 ? " keys it holds" : " keys of a row"));
}

/// Rows of a block: enough to keep a backend busy, few enough to show progress. Columns that lie apart are best read in
/// one go, unless they must be copied anyway.
std::int64_t rows_of_block(Matrix const& keys, bool in_place) {
  if (keys.key_stride != 1 && in_place) return std::max<std::int64_t>(keys.rows, 1);
  return std::max<std::int64_t>(block_bytes / std::max<std::int64_t>(keys.n * width(keys.type), 1),
                                1);
}

std::unique_ptr<Sink> make_sink(SelectRequest const& request, Selection const& selection) {
  if (request.output.empty()) return make_table(selection);
  return make_npy_output(selection, request.output, request.columns);
}

void run_blocks(Matrix const& keys, std::int64_t k, std::int64_t rows_at_once,
                BlockSelector& selector, Sink& sink) {
  if (k == 0) return;
  Progress progress("selecting", keys.rows * keys.n * width(keys.type));
  Reading const reading = [&](std::int64_t bytes) { progress.add(bytes); };
  Selected selected;
  for (std::int64_t first = 0; first < keys.rows; first += rows_at_once) {
    auto const rows = std::min(rows_at_once, keys.rows - first);
    selected.first_row = first;
    selected.indices.resize(static_cast<std::size_t>(rows * k));
    selected.values.resize(static_cast<std::size_t>(rows * k * width(keys.type)));
    selector.select(some_rows(keys, first, rows), k, selected, reading);
    if (sink.writes_to_terminal()) progress.hide();
    sink.take(selected);
  }
}

void select_keys(SelectRequest const& request, Matrix const& keys, std::string const& backend) {
  Selection const selection{keys.type, keys.rows, keys.n, request.k, keys.rank};
  auto const sink = make_sink(request, selection);
  KokkosSession const session;
  auto const selector = make_block_selector(backend, keys.type, request.options);
  try {
    run_blocks(keys, request.k, rows_of_block(keys, reads_host_memory(backend)), *selector, *sink);
  } catch (std::invalid_argument const& error) {
    throw Fault(request.input.path + ": " + error.what());
  }
  sink->finish();
}

}  // namespace

void select(SelectRequest const& request) {
  auto const backend = choose_backend(request.backend);
  check_algorithm(request.options.algorithm);
  handle_signals(request.input.path);
  Input const input = open_input(request.input);
  check_k(request.input.path, input.keys, request.k);
  select_keys(request, input.keys, backend);
}

}  // namespace ktopk::tools
