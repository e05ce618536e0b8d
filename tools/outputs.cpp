// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <filesystem>

#include "files/fault.hpp"
#include "sink.hpp"

namespace ktopk::tools {
namespace {

/// Several outputs as one.
class Outputs : public Sink {
 public:
  void add(std::unique_ptr<Sink> sink) { m_sinks.push_back(std::move(sink)); }

  void take(Selected const& selected) override {
    for (auto const& sink : m_sinks) sink->take(selected);
  }

  void finish() override {
    for (auto const& sink : m_sinks) sink->finish();
  }

  bool writes_to_terminal() const override {
    return std::any_of(m_sinks.begin(), m_sinks.end(),
                       [](auto const& sink) { return sink->writes_to_terminal(); });
  }

 private:
  std::vector<std::unique_ptr<Sink>> m_sinks;
};

Format format_of(OutputDescription const& description) {
  if (description.format != Format::by_name) return description.format;
  if (description.path.empty()) return Format::table;
  auto const extension = std::filesystem::path(description.path).extension();
  if (extension == ".csv") return Format::csv;
  return extension == ".tsv" ? Format::tsv : Format::npy;
}

std::unique_ptr<Sink> make_main_output(Selection const& selection,
                                       OutputDescription const& description) {
  auto const format = format_of(description);
  std::string const path = description.path.empty() ? "-" : description.path;
  if (format == Format::npy) return make_npy_output(selection, path, description.columns);
  return make_text_output(selection, path, format, description.columns);
}

void check_paths(OutputDescription const& description) {
  auto const& [path, format, columns, indices, values] = description;
  for (auto const& [one, other] : {std::pair{path, indices}, {path, values}, {indices, values}})
    if (!one.empty() && one == other) throw Fault(one + ": is named for two outputs");
}

}  // namespace

std::unique_ptr<Sink> make_outputs(Selection const& selection,
                                   OutputDescription const& description) {
  check_paths(description);
  auto outputs = std::make_unique<Outputs>();
  bool const has_arrays = !description.indices_path.empty() || !description.values_path.empty();
  bool const has_main = !description.path.empty() || description.format != Format::by_name;
  if (has_main || !has_arrays) outputs->add(make_main_output(selection, description));
  if (!description.indices_path.empty())
    outputs->add(make_npy_output(selection, description.indices_path, Columns::indices));
  if (!description.values_path.empty())
    outputs->add(make_npy_output(selection, description.values_path, Columns::values));
  return outputs;
}

}  // namespace ktopk::tools
