// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <ktopk/options.hpp>
#include <ktopk/problem.hpp>
#include <string>
#include <vector>

// Kokkos itself, which few sources include.

namespace ktopk::tools {

/// Kokkos is initialized as long as this lives. Throws Fault where the build needs a GPU and none is there.
class KokkosSession {
 public:
  KokkosSession();
  ~KokkosSession();
  KokkosSession(KokkosSession const&) = delete;
  KokkosSession& operator=(KokkosSession const&) = delete;
};

/// The enabled execution spaces in lower case, the default one first. Needs no session.
std::vector<std::string> backend_names();

/// The name, if it is that of a backend. Throws Fault if not.
std::string known_backend(std::string const& name);

/// What a backend runs on: "8 threads", "NVIDIA H200, 139 GiB, compute capability 9.0". Needs a session.
std::string device_of(std::string const& backend);

/// What ktopk::explain says of a call on a backend, as lines. Needs a session.
std::string explain_on(std::string const& backend, Shape const& shape, Options const& options);

/// Whether the backend works on mapped memory directly.
bool reads_host_memory(std::string const& backend);

}  // namespace ktopk::tools
