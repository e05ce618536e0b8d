// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "../portable/bitonic/kernels.hpp"
#include "computed.hpp"

// The kernels of bitonic for keys that are computed, for the caller's file.
