// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <locale>
#include <ostream>
#include <sstream>

#include <ktopk/detail/checks.hpp>
#include <ktopk/detail/instantiate.hpp>
#include <ktopk/detail/testing.hpp>
#include <ktopk/info.hpp>

namespace ktopk::detail {

inline constexpr char const* calibration_title = "ktopk calibration 1";

KTOPK_INLINE bool is_tuned_for_hosts(std::string const& space, bool tuned) {
  return tuned && (space == "Serial" || space == "OpenMP" || space == "Threads");
}

inline std::string name_of(std::string const& space, bool tuned) {
  return space + (tuned ? " tuned" : " portable");
}

KTOPK_INLINE void write_calibration(std::ostream& out, std::string const& about,
                                    std::vector<CalibratedSpace> const& spaces) {
  out << calibration_title << "\nversion: " << version() << "\n" << about;
  for (CalibratedSpace space : spaces) {
    out << "\n[" << name_of(space.name, space.tuned) << "]\n";
    for (auto const& [name, figure] :
         named_figures(space.figures, is_tuned_for_hosts(space.name, space.tuned)))
      out << name << ": " << *figure << "\n";
  }
}

/// Reads a calibration line by line, and knows the line for its messages.
class CalibrationReader {
 public:
  CalibrationReader(char const* function, std::string const& path)
      : m_function(function), m_path(path), m_file(path) {
    if (!m_file) complain_of_file("cannot be read");
  }

  Calibration read() {
    bool const has_title = next_line();
    if (m_file.bad()) complain_of_file("cannot be read");
    if (!has_title) complain_of_file("is empty");
    if (m_line != calibration_title) complain(std::string("is not \"") + calibration_title + '"');
    while (next_line()) take_line();
    close_space();
    if (!m_has_version) complain_of_file("states no version");
    if (m_spaces.empty()) complain_of_file("has no figures");
    return {m_path, std::move(m_spaces)};
  }

 private:
  [[noreturn]] void complain_of_file(std::string const& what) const {
    reject(m_function, "calibration " + m_path + " " + what);
  }
  [[noreturn]] void complain(std::string const& what) const {
    constexpr std::size_t most = 80;
    reject(m_function, "calibration " + m_path + ", line " + std::to_string(m_number) + ": \"" +
                           m_line.substr(0, most) + "\" " + what);
  }

  bool next_line() {
    if (!std::getline(m_file, m_line)) return false;
    ++m_number;
    if (m_line.ends_with('\r')) m_line.pop_back();
    return true;
  }

  void take_line() {
    if (m_line.empty() || m_line.starts_with('#')) return;
    if (m_line.starts_with('[')) return open_space();
    std::size_t const colon = m_line.find(": ");
    if (colon == std::string::npos) complain("is neither \"name: value\" nor \"[space]\"");
    std::string const name = m_line.substr(0, colon), value = m_line.substr(colon + 2);
    m_spaces.empty() ? take_about(name, value) : take_figure(name, value);
  }

  void take_about(std::string const& name, std::string const& value) {
    if (name != "version") return;
    if (value != version())
      complain("is not the version of this library, " + version() + ": calibrate anew");
    m_has_version = true;
  }

  void open_space() {
    close_space();
    CalibratedSpace space;
    for (bool const tuned : {true, false}) {
      std::string const end = name_of("", tuned) + "]";
      if (!m_line.ends_with(end)) continue;
      space.name = m_line.substr(1, m_line.size() - end.size() - 1);
      space.tuned = tuned;
    }
    if (space.name.empty()) complain("is neither \"[SPACE tuned]\" nor \"[SPACE portable]\"");
    for (CalibratedSpace const& other : m_spaces)
      if (other.name == space.name && other.tuned == space.tuned) complain("is there twice");
    m_spaces.push_back(space);
  }

  std::vector<NamedFigure> figures() {
    CalibratedSpace& space = m_spaces.back();
    return named_figures(space.figures, is_tuned_for_hosts(space.name, space.tuned));
  }

  void take_figure(std::string const& name, std::string const& value) {
    auto const all = figures();
    auto const figure = std::find_if(all.begin(), all.end(),
                                     [&](NamedFigure const& known) { return known.first == name; });
    if (figure == all.end()) complain("is no figure of " + name_of_last());
    if (*figure->second != 0) complain("is there twice");
    *figure->second = positive_number(value);
  }

  double positive_number(std::string const& text) const {
    std::istringstream stream(text);
    stream.imbue(std::locale::classic());
    double number = 0;
    if (!(stream >> std::noskipws >> number) ||
        stream.peek() != std::istringstream::traits_type::eof())
      complain("has no number");
    if (!(number > 0) || !std::isfinite(number)) complain("is not a positive number");
    return number;
  }

  void close_space() {
    if (m_spaces.empty()) return;
    for (auto const& [name, figure] : figures())
      if (*figure == 0) complain_of_file("states no " + name + " of " + name_of_last());
  }

  std::string name_of_last() const { return name_of(m_spaces.back().name, m_spaces.back().tuned); }

  char const* m_function;
  std::string m_path;
  std::ifstream m_file;
  std::string m_line;
  int m_number = 0;
  bool m_has_version = false;
  std::vector<CalibratedSpace> m_spaces;
};

KTOPK_INLINE Calibration read_calibration(char const* function, std::string const& path) {
  return CalibrationReader(function, path).read();
}

inline std::shared_ptr<Calibration const> read_if_named(char const* function, char const* path) {
  if (path == nullptr || *path == '\0') return nullptr;
  return std::make_shared<Calibration const>(read_calibration(function, path));
}

KTOPK_INLINE std::shared_ptr<Calibration const> named_calibration(char const* function) {
  if (char const* const forced = forced_calibration) return read_if_named(function, forced);
  // A call that throws leaves it to the next call to read.
  static std::shared_ptr<Calibration const> const named =
      read_if_named(function, std::getenv("KTOPK_CALIBRATION"));
  return named;
}

KTOPK_INLINE Figures const& figures_of_space(char const* function, Calibration const& calibration,
                                             std::string const& space, bool tuned) {
  for (CalibratedSpace const& known : calibration.spaces)
    if (known.name == space && known.tuned == tuned) return known.figures;
  std::string names;
  for (CalibratedSpace const& known : calibration.spaces)
    names += (names.empty() ? "" : ", ") + name_of(known.name, known.tuned);
  reject(function, "calibration " + calibration.path + " has no figures of " +
                       name_of(space, tuned) + ", only of " + names);
}

}  // namespace ktopk::detail
