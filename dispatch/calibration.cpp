// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calibration.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <locale>
#include <mutex>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>

#include <ktopk/core/testing.hpp>
#include <ktopk/detail/instantiate.hpp>
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

/// Text of a file may have any bytes; a message is a line for a terminal, and a NUL would end it.
[[noreturn]] inline void refuse_calibration(std::string const& path, std::string const& what) {
  std::string message = "calibration " + path + " " + what;
  auto const is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::replace_if(message.begin(), message.end(), is_control, '?');
  throw std::invalid_argument(message);
}

/// Other files than regular ones may never end, or wait for a writer.
inline std::string text_of_calibration(std::string const& path) {
  constexpr std::size_t most = std::size_t{1} << 16;
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    refuse_calibration(path, "is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse_calibration(path, "cannot be read");
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) refuse_calibration(path, "cannot be read");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) refuse_calibration(path, "is larger than 64 KB");
  return text;
}

/// Reads a calibration line by line, and knows the line for its messages.
class CalibrationReader {
 public:
  explicit CalibrationReader(std::string const& path)
      : m_path(path), m_text(text_of_calibration(path)) {}

  Calibration read() {
    if (!next_line()) complain_of_file("is empty");
    if (m_line != calibration_title) complain(std::string("is not \"") + calibration_title + '"');
    while (next_line()) take_line();
    close_space();
    if (!m_has_version) complain_of_file("states no version");
    if (m_spaces.empty()) complain_of_file("has no figures");
    return {m_path, std::move(m_spaces)};
  }

 private:
  [[noreturn]] void complain_of_file(std::string const& what) const {
    refuse_calibration(m_path, what);
  }
  [[noreturn]] void complain(std::string const& what) const {
    constexpr std::size_t most = 80;
    refuse_calibration(m_path + ",", "line " + std::to_string(m_number) + ": \"" +
                                         m_line.substr(0, most) + "\" " + what);
  }

  bool next_line() {
    if (!std::getline(m_text, m_line)) return false;
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

  std::string m_path;
  std::istringstream m_text;
  std::string m_line;
  int m_number = 0;
  bool m_has_version = false;
  std::vector<CalibratedSpace> m_spaces;
};

KTOPK_INLINE Calibration read_calibration(std::string const& path) {
  return CalibrationReader(path).read();
}

inline NamedCalibration read_if_named(char const* path) {
  if (path == nullptr || *path == '\0') return {};
  try {
    return {std::make_shared<Calibration const>(read_calibration(path)), {}};
  } catch (std::invalid_argument const& error) { return {nullptr, error.what()}; }
}

KTOPK_INLINE NamedCalibration named_calibration() {
  if (char const* const forced = forced_calibration) return read_if_named(forced);
  static NamedCalibration const named = read_if_named(std::getenv("KTOPK_CALIBRATION"));
  return named;
}

KTOPK_INLINE Figures const& figures_of_space(Calibration const& calibration,
                                             std::string const& space, bool tuned) {
  for (CalibratedSpace const& known : calibration.spaces)
    if (known.name == space && known.tuned == tuned) return known.figures;
  std::string names;
  for (CalibratedSpace const& known : calibration.spaces)
    names += (names.empty() ? "" : ", ") + name_of(known.name, known.tuned);
  refuse_calibration(calibration.path,
                     "has no figures of " + name_of(space, tuned) + ", only of " + names);
}

/// One write, so that lines of several threads do not mix.
inline void warn_once(std::string const& fault) {
  static std::mutex mutex;
  static std::set<std::string> known;
  std::lock_guard const lock(mutex);
  if (!known.insert(fault).second) return;
  std::fputs(("ktopk: " + fault + "; automatic chooses as without it\n").c_str(), stderr);
}

KTOPK_INLINE std::optional<Figures> calibrated_figures(std::string const& space, bool tuned) {
  NamedCalibration const named = named_calibration();
  if (!named.fault.empty()) warn_once(named.fault);
  if (named.calibration == nullptr) return std::nullopt;
  try {
    return figures_of_space(*named.calibration, space, tuned);
  } catch (std::invalid_argument const& error) { warn_once(error.what()); }
  return std::nullopt;
}

}  // namespace ktopk::detail
