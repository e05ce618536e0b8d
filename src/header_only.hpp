// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// All of the library for ktopk::header_only.

#include "algorithms/heap.cpp"
#include "algorithms/one_pass.cpp"
#include "algorithms/radix.cpp"
#include "algorithms/sort.cpp"
#include "arrange.cpp"
#include "choose.cpp"
#include "info.cpp"
#include "select.cpp"
