# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

chunks, chunk = 4, 1000
stream = np.empty(0, dtype=np.int64)    # all of it is kept

for c in range(chunks):
    latency = np.arange(c * chunk, (c + 1) * chunk) * 7919 % 10007 // (c + 1)
    stream = np.append(stream, latency)
    print(f"chunk {c}, ", end="")
    show("median and 99 %", np.quantile(latency, [0.5, 0.99], method="lower"))
show("stream, 99 %", np.quantile(stream, [0.99], method="lower"))
