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

/// The compiler deduces the plain type from such a pointer, so a function that reads through one names this type in its
/// parameter.
template <class Integer>
using Stored = typename StoredAs<Integer>::type;

}  // namespace ktopk::detail
