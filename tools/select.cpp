// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "select.hpp"

#include <algorithm>
#include <ktopk/info.hpp>
#include <limits>
#include <stdexcept>

#include "backend.hpp"
#include "files/fault.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "selectors.hpp"

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

std::string input_name(SelectRequest const& request) {
  auto const first = display_name(request.files.front());
  auto const others = request.files.size() - 1;
  return others == 0 ? first : first + " and " + std::to_string(others) + " more";
}

void check_k(SelectRequest const& request, std::int64_t k, std::int64_t n, int rank) {
  if (k > n)
    throw Fault(input_name(request) + ": k = " + std::to_string(k) + " is larger than the " +
                std::to_string(n) + (rank == 1 ? " keys it holds" : " keys of a row"));
}

/// Keys of a part of a row: enough to keep a backend busy, few enough to show progress, and many beside k, for each part
/// costs a merge of 2 k keys.
std::int64_t keys_of_part(Matrix const& keys, std::int64_t k) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 16;
  return std::max(block_bytes / width(keys.type), 4 * std::min(k, most));
}

/// Rows of a block. Keys with a stride are best read in one go, unless they must be copied anyway.
std::int64_t rows_of_block(Matrix const& keys, bool in_place) {
  if (keys.key_stride != 1 && in_place) return std::max<std::int64_t>(keys.rows, 1);
  return std::max<std::int64_t>(block_bytes / std::max<std::int64_t>(keys.n * width(keys.type), 1),
                                1);
}

/// One run of the command, from its keys to its outputs.
class Run {
 public:
  Run(SelectRequest const& request, std::string backend)
      : m_request(request),
        m_backend(std::move(backend)),
        m_source(open_inputs(request.files, request.input)) {
    read_short_row();
    m_count = count();
    m_sink = make_outputs(selection(), request.output);
  }

  void run() {
    KokkosSession const session;
    try {
      answer();
    } catch (std::invalid_argument const& error) {
      throw Fault(input_name(m_request) + ": " + error.what());
    }
    m_sink->finish();
  }

 private:
  Matrix const& keys() const { return m_source->layout(); }

  /// Whether parts of a row are of no use: quantiles and kth select among all keys, and a percentage needs their number.
  bool needs_whole_row() const {
    return m_request.question != Question::top_k || m_request.k.is_part();
  }

  /// Of a stream whose length is unknown, what is needed, and at least as much as is selected from in one go.
  void read_short_row() {
    if (keys().n >= 0) return;
    Progress progress("reading", -1);
    auto const size = needs_whole_row() ? std::numeric_limits<std::int64_t>::max() / 16
                                        : keys_of_part(keys(), m_request.k.of(0));
    m_source->read_ahead(size, [&](std::int64_t bytes) { progress.add(bytes); });
  }

  /// Values that are asked for of every row; checked.
  std::int64_t count() {
    if (m_request.question == Question::quantiles) {
      if (keys().rows > 0 && keys().n == 0)
        throw Fault(input_name(m_request) + ": quantiles need keys, but it holds none");
      return std::ssize(m_request.quantiles);
    }
    m_k = m_request.k.of(keys().n);
    if (keys().rows > 0 && keys().n >= 0) check_k(m_request, m_k, keys().n, keys().rank);
    if (m_request.question == Question::kth && m_k == 0)
      throw Fault("--kth: keys are counted from 1");
    return m_request.question == Question::kth ? 1 : m_k;
  }

  Selection selection() const {
    bool const has_own_type = m_request.question == Question::quantiles;
    return {m_request.question,
            has_own_type ? quantile_type(keys().type) : keys().type,
            keys().rows,
            keys().n,
            m_count,
            keys().rank,
            m_request.quantiles};
  }

  bool is_in_parts() const {
    if (m_request.question != Question::top_k) return false;
    bool const can_be_cut = keys().key_stride == 1 || !reads_host_memory(m_backend);
    return keys().n < 0 || (can_be_cut && keys().n > keys_of_part(keys(), m_k));
  }

  void answer() {
    if (m_count == 0) return;
    auto const total = keys().n < 0 ? -1 : key_bytes(keys());
    Progress progress("selecting", total);
    Reading const reading = [&](std::int64_t bytes) { progress.add(bytes); };
    if (is_in_parts())
      answer_in_parts(progress, reading);
    else
      answer_in_blocks(progress, reading);
  }

  void answer_in_blocks(Progress& progress, Reading const& reading) {
    auto const selector = block_selector();
    auto const rows_at_once = rows_of_block(keys(), reads_host_memory(m_backend));
    Selected selected;
    for (std::int64_t first = 0; first < keys().rows; first += rows_at_once) {
      auto const rows = std::min(rows_at_once, keys().rows - first);
      selected.first_row = first;
      selector->select(m_source->next_rows(rows, reading), selected);
      pass_on(selected, progress);
    }
  }

  void answer_in_parts(Progress& progress, Reading const& reading) {
    auto const selector = make_row_selector(m_backend, keys().type, m_k, m_request.options);
    if (!reads_host_memory(m_backend)) m_source->leave_parts_unread();
    Selected selected;
    for (std::int64_t row = 0; row < keys().rows; ++row) {
      add_row(*selector, reading);
      selected.first_row = row;
      selector->finish(selected);
      pass_on(selected, progress);
    }
  }

  void add_row(RowSelector& selector, Reading const& reading) {
    auto const size = keys_of_part(keys(), m_k);
    std::int64_t n = 0;
    for (;;) {
      Matrix const part = m_source->next_part(size, reading);
      if (part.n == 0) return;
      selector.add(part, n);
      n += part.n;
    }
  }

  std::unique_ptr<BlockSelector> block_selector() const {
    auto const question = m_request.question;
    auto const& options = m_request.options;
    if (question == Question::top_k)
      return make_top_k_selector(m_backend, keys().type, m_k, options);
    if (question == Question::kth) return make_kth_selector(m_backend, keys().type, m_k, options);
    return make_quantiles_selector(m_backend, keys().type, m_request.quantiles,
                                   m_request.interpolation, options);
  }

  void pass_on(Selected const& selected, Progress& progress) {
    if (m_sink->writes_to_terminal()) progress.hide();
    m_sink->take(selected);
  }

  SelectRequest const& m_request;
  std::string m_backend;
  std::unique_ptr<Source> m_source;
  std::int64_t m_k = 0;
  std::int64_t m_count = 0;
  std::unique_ptr<Sink> m_sink;
};

}  // namespace

void select(SelectRequest const& request) {
  auto const backend = choose_backend(request.backend);
  check_algorithm(request.options.algorithm);
  handle_signals(input_name(request));
  Run(request, backend).run();
}

}  // namespace ktopk::tools
