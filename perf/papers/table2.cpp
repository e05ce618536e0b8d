// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "papers.hpp"

// Dr. Top-k, Table 2: several GPUs. The times are of table2.csv, with ours beside the paper's once they are measured; what
// is checked here is how the table's columns hang together.

namespace ktopk::papers {
namespace {

struct Cell {
  int gpus, log_n;
  double reload_ms, total_ms, speedup;
  std::string paper, ours;  // communication, reload, total
  /// Keys of a GPU.
  double share() const { return std::exp2(log_n) / gpus; }
};

std::vector<std::string> split(std::string const& line) {
  std::vector<std::string> parts(1);
  for (char c : line)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

/// Of a line gpus, nodes, log2_n, the paper's communication, reload, total and speedup, and our communication, reload and
/// total.
Cell cell_of(std::string const& line) {
  auto const parts = split(line);
  if (parts.size() != 10)
    throw std::invalid_argument("table2.csv: a line has " + std::to_string(parts.size()) +
                                " columns, not 10: " + line);
  auto const three = [&](std::size_t first) {
    return parts[first] + " " + parts[first + 1] + " " + parts[first + 2];
  };
  return {std::stoi(parts[0]),
          std::stoi(parts[2]),
          std::stod(parts[4]),
          std::stod(parts[5]),
          std::stod(parts[6]),
          three(3),
          parts[9].empty() ? "" : three(7)};
}

std::vector<Cell> read_cells() {
  std::ifstream file(KTOPK_TABLE_2);
  if (!file) throw std::invalid_argument("cannot read " KTOPK_TABLE_2);
  std::vector<Cell> cells;
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) cells.push_back(cell_of(line));
  return cells;
}

double total_of_one(std::vector<Cell> const& cells, int log_n) {
  for (Cell const& cell : cells)
    if (cell.gpus == 1 && cell.log_n == log_n) return cell.total_ms;
  throw std::invalid_argument("table2.csv has no line of one GPU for 2^" + std::to_string(log_n));
}

void speedups(Report& report, std::vector<Cell> const& cells) {
  double worst = 0;
  for (Cell const& cell : cells)
    worst =
        std::max(worst, std::abs(total_of_one(cells, cell.log_n) / cell.total_ms - cell.speedup) /
                            cell.speedup);
  report.claim("speedups are the totals of one GPU over the totals", "1.6 .. 734.2",
               text("off by at most %.1f %%", 100 * worst), worst < 0.04);
}

/// A GPU holds 2^30 keys; the others of its part come over its link.
void reloads(Report& report, std::vector<Cell> const& cells) {
  bool right = true;
  std::vector<double> rates;
  for (Cell const& cell : cells) {
    double const beyond = cell.share() - 0x1p30;
    right = right && (cell.reload_ms > 0) == (beyond > 0);
    if (beyond > 0) rates.push_back(4e-6 * beyond / cell.reload_ms);
  }
  report.claim("reload: the keys beyond 2^30 of a GPU, in GB/s", "(no rate in the text)",
               row(rates, 1), right,
               right ? "and none where a GPU has no more" : "other cells have a reload");
}

}  // namespace

void table_2(Report& report) {
  auto const cells = read_cells();
  report.section("Dr. Top-k, Table 2: V100S GPUs, k = 128, 32-bit keys");
  speedups(report, cells);
  reloads(report, cells);
  for (Cell const& cell : cells)
    if (cell.gpus <= 2)
      report.line(text("%d GPU, 2^%d: communication, reload, total in ms", cell.gpus, cell.log_n),
                  cell.paper, cell.ours.empty() ? "not measured" : cell.ours,
                  "times, not compared");
}

}  // namespace ktopk::papers
