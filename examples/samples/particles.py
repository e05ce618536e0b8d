# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

n, k = 10000, 3
i = np.arange(n)
energy = i * 7919 % 10007
id = 5000 + i
position = i[:, None] * np.arange(3, 6) % 64 / 64

indices = np.argsort(-energy, kind="stable")[:k]

show("energies", energy[indices])
show("ids", id[indices])
show("position", position[indices])
