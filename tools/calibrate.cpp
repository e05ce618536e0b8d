// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calibrate.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <ktopk/info.hpp>
#include <locale>
#include <memory>
#include <span>
#include <sstream>
#include <vector>

#include "backend.hpp"
#include "figures.hpp"
#include "files/fault.hpp"
#include "files/output_file.hpp"
#include "interrupt.hpp"

namespace ktopk::tools {
namespace {

std::string now() {
  std::time_t const time = std::time(nullptr);
  std::ostringstream text;
  text << std::put_time(std::gmtime(&time), "%Y-%m-%dT%H:%M:%SZ");
  return text.str();
}

/// As Linux names it; empty elsewhere.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return {};
}

/// The configuration without its first line, the version.
std::string build() {
  std::string const text = configuration();
  return text.substr(text.find('\n') + 1);
}

/// By which factors predicted times are off, in ascending order.
std::vector<double> factors_of(std::vector<double> const& ratios) {
  std::vector<double> factors;
  for (double const ratio : ratios) factors.push_back(std::max(ratio, 1 / ratio));
  std::sort(factors.begin(), factors.end());
  return factors;
}

/// How well the model fits. Where it does so badly, the times were disturbed.
std::string fit_of(MeasuredFigures const& measured) {
  constexpr double bad = 2;
  auto const factors = factors_of(measured.predicted_over_measured);
  double const median = factors[factors.size() / 2];
  std::ostringstream text;
  text << measured.space.name << (measured.space.tuned ? " tuned" : " portable") << std::fixed
       << std::setprecision(2) << ": predicted and measured times differ by a factor of " << median
       << " (median of " << factors.size() << "), at most " << factors.back();
  if (median > bad) std::fprintf(stderr, "ktopk: %s: was the machine busy?\n", text.str().c_str());
  return text.str();
}

std::string text_of(std::vector<std::string> const& backends) {
  std::ostringstream about, file;
  about << build() << "date: " << now() << "\n";
  if (std::string const name = processor(); !name.empty()) about << "processor: " << name << "\n";
  std::vector<detail::CalibratedSpace> spaces;
  for (std::string const& backend : backends) {
    about << "device: " << backend << ", " << device_of(backend) << "\n";
    for (MeasuredFigures const& measured : measure_figures(backend)) {
      spaces.push_back(measured.space);
      about << fit_of(measured) << "\n";
    }
  }
  file.imbue(std::locale::classic());
  write_calibration(file, about.str(), spaces);
  return file.str();
}

void print(std::string const& text) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    throw system_fault("standard output: cannot be written");
}

std::string spaces_of(detail::Calibration const& calibration) {
  std::string names;
  for (detail::CalibratedSpace const& space : calibration.spaces)
    names += (names.empty() ? "" : ", ") + space.name + (space.tuned ? " tuned" : " portable");
  return names;
}

}  // namespace

std::string describe_calibration() {
  auto const named = detail::named_calibration();
  if (!named.fault.empty()) return on_one_line("not used: " + named.fault);
  if (named.calibration == nullptr) return "none";
  return on_one_line(named.calibration->path + ", with " + spaces_of(*named.calibration));
}

void calibrate(CalibrateRequest const& request) {
  std::vector<std::string> const backends =
      request.backend.empty() ? backend_names() : std::vector{known_backend(request.backend)};
  handle_signals("calibrate");
  auto const output =
      request.output.empty() ? nullptr : std::make_unique<OutputFile>(request.output);
  KokkosSession const session;
  std::string const text = text_of(backends);
  if (output == nullptr) return print(text);
  output->write(std::as_bytes(std::span(text)));
  output->commit();
}

}  // namespace ktopk::tools
