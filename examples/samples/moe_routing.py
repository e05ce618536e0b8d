# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

tokens, experts, k = 4, 64, 3
t, e = np.ogrid[:tokens, :experts]
scores = (t * 37 + e * 101) % 256 / 256
bias = e * 5 % 16 / 64

# A matrix of the biased scores, which is sorted.
chosen = np.argsort(-(scores + bias), axis=1, kind="stable")[:, :k]
weights = np.take_along_axis(scores, chosen, axis=1)

show("experts", chosen)
show("weights", weights)
