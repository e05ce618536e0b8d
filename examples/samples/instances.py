# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

rows, n, k = 2, 1000, 3
r, i = np.ogrid[:rows, :n]
temperature = (r * 389 + i * 617) % 1009
rainfall = (r * 211 + i * 83) % 1013

# One after the other.
warmest = np.argsort(-temperature, axis=1, kind="stable")[:, :k]
driest = np.argsort(rainfall, axis=1, kind="stable")[:, :k]

show("warmest", warmest)
show("driest", driest)
