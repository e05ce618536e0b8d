# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy as np
from show import show

n, k = 1000, 5
i = np.arange(n)
rating, price, stock = i * 31 % 5, i * 47 % 97 / 4, i * 53 % 89

# All rows are sorted; the last column of the list decides first.
rows = np.lexsort((-stock, price, -rating))[:k]

show("rows", rows)
show("ratings", rating[rows])
show("prices", price[rows])
show("stocks", stock[rows])
