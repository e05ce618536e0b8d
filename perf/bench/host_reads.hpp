// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>

namespace ktopk::perf {

/// Returns the largest of some bytes, each of which is read once.
using HostRead = unsigned char (*)(unsigned char const* bytes, std::size_t count);

/// The ways of reading that are tried on a host, compiled for its processor; the fastest gives the streaming bound.
std::array<HostRead, 4> host_read_ways();

}  // namespace ktopk::perf
