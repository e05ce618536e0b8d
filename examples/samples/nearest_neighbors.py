# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

m, n, k = 4, 1000, 3
i = np.arange(n)
points = np.stack([i * 7919 % 1009, i * 104729 % 1013], axis=1)
queries = np.repeat(200 * np.arange(1, m + 1), 2).reshape(m, 2)

# A matrix of all distances, which is sorted.
distances = ((queries[:, None] - points) ** 2).sum(axis=2)
neighbors = np.argsort(distances, axis=1, kind="stable")[:, :k]

show("neighbors", neighbors)
show("squared distances", np.take_along_axis(distances, neighbors, axis=1))
