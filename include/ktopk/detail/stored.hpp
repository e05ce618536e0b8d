// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace ktopk::detail {

/// An integer where a caller's View has it, perhaps as a value of another type of this size. Reading and writing it
/// through a pointer to this type is defined, whatever the type of the View.
template <class Integer>
struct StoredAs {
  // By `typedef`, since the attribute in an alias declaration stands elsewhere for each compiler.
  typedef Integer type __attribute__((may_alias));
};

/// What is deduced from such a pointer is the plain type: where a function is to read through it, its parameter names
/// this one.
template <class Integer>
using Stored = typename StoredAs<Integer>::type;

}  // namespace ktopk::detail
