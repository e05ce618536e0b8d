# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What the NumPy programs of this folder share: a line that shows an array, as show.hpp has it.


def show(name, numbers):
    if numbers.ndim == 2:
        for row, entries in enumerate(numbers):
            show(f"{name}({row})", entries)
    else:
        print(f"{name}:", *(f"{number:g}" for number in numbers.ravel()))
