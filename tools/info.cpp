// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "info.hpp"

#include <cstdint>
#include <cstdio>
#include <ktopk/info.hpp>
#include <string>

#include "backend.hpp"
#include "calibrate.hpp"
#include "files/fault.hpp"
#include "files/raw.hpp"

namespace ktopk::tools {
namespace {

void print_backends() {
  std::printf("\nbackends\n");
  auto const names = backend_names();
  for (std::string const& name : names)
    std::printf("  %-10s  %s%s\n", name.c_str(), device_of(name).c_str(),
                &name == &names.front() ? " (default)" : "");
}

void print_backends_or_why_not() {
  try {
    KokkosSession const session;
    print_backends();
  } catch (Fault const& fault) { std::printf("\nbackends\n  none: %s\n", fault.what()); }
}

std::string largest(std::int64_t k) {
  constexpr std::int64_t longest_row = std::int64_t{1} << 40;
  return k >= longest_row ? "any" : std::to_string(k);
}

std::string tuned_for(AlgorithmInfo const& info) {
  if (info.tuned_host && info.tuned_cuda) return "hosts, cuda";
  return info.tuned_host ? "hosts" : info.tuned_cuda ? "cuda" : "-";
}

void print_algorithms() {
  std::printf("\nalgorithms\n  %-10s  %12s  %-11s  %s\n", "name", "largest k", "tuned for",
              "what it is good for");
  for (AlgorithmInfo const& info : algorithms())
    std::printf("  %-10s  %12s  %-11s  %s\n", info.name, largest(info.largest_k).c_str(),
                tuned_for(info).c_str(), info.summary);
}

}  // namespace

void print_explanation(ExplainRequest const& request) {
  Matrix const keys = parse_shape(request.shape);
  std::string const backend =
      request.backend.empty() ? backend_names().front() : known_backend(request.backend);
  KokkosSession const session;
  Shape shape{keys.rows, keys.n, request.k, static_cast<int>(width(request.type))};
  std::printf("%s", explain_on(backend, shape, request.options).c_str());
  if (std::fflush(stdout) != 0) throw system_fault("standard output: cannot be written");
}

void print_info() {
  std::string const text = configuration();
  std::printf("%s%scalibration: %s\n", text.c_str(), text.ends_with('\n') ? "" : "\n",
              describe_calibration().c_str());
  print_backends_or_why_not();
  print_algorithms();
  if (std::fflush(stdout) != 0) throw system_fault("standard output: cannot be written");
}

}  // namespace ktopk::tools
