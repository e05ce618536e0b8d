# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

queries, longest, k = 4, 1000, 5
q, t = np.ogrid[:queries, :longest]
scores = (q * 389 + t * 617) % 1009
lengths = 1 + np.arange(queries) ** 2 * 100

# A copy whose padding is minus infinity. Tokens of the padding are taken out of the result.
masked = np.where(t < lengths[:, None], scores, -np.inf)
tokens = np.argsort(-masked, axis=1, kind="stable")[:, :k]
tokens = np.where(tokens < lengths[:, None], tokens, -1)

show("tokens", tokens)
show("how many", np.minimum(lengths, k))
