# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What Doxygen reads of a page. The license line would hide the title; it knows no links to what is not in docs/.
1d
s|\[\([^]]*\)\](\.\./\([^)]*\))|\1 (`\2`)|g
