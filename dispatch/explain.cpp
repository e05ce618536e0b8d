// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <sstream>

#include <ktopk/detail/instantiate.hpp>
#include <ktopk/explain.hpp>

namespace ktopk {

KTOPK_INLINE std::string to_string(Explanation const& explanation) {
  if (explanation.kernel.empty()) return "nothing is selected\n";
  std::ostringstream out;
  out << explanation.kernel << ", " << (explanation.tuned ? "tuned" : "portable") << ", "
      << explanation.workspace_bytes << " bytes of workspace\n";
  for (auto const& [kernel, reason] : explanation.declined)
    out << "  not " << kernel << ": " << reason << '\n';
  return out.str();
}

}  // namespace ktopk
