# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

n, k = 1000, 4
residual = np.zeros(n, dtype=np.float32)

for step in range(3):
    residual += ((np.arange(n) * 37 + step * 101) % 201 - 100) / 64

    # A copy of the magnitudes, which is sorted.
    where = np.argsort(-np.abs(residual), kind="stable")[:k]
    sent = residual[where]
    residual[where] = 0

    print("step", step)
    show("positions", where)
    show("values", sent)
