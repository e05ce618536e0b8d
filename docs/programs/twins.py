# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The site's programs in NumPy. Pages show a part of it between two [names]; a test runs all of it.
import numpy as np

# [top_k]
keys = np.array([3, -8, 5, 1, 9, -7, 5], dtype=np.float32)
# Sorts all of it; np.argpartition does not, and has no rule for ties.
indices = np.argsort(-keys, kind="stable")[:3]
values = keys[indices]
# [end]
assert values.tolist() == [9, 5, 5] and indices.tolist() == [4, 2, 6]

# [magnitude]
indices = np.argsort(-np.abs(keys), kind="stable")[:3]    # a copy of all keys
values = keys[indices]
# [end]
assert values.tolist() == [9, -8, -7]

# [batch]
keys = np.array([[4, 1, 3, 2], [10, 40, 20, 30]], dtype=np.float32)
indices = np.argsort(-keys, axis=1, kind="stable")[:, :2]
values = np.take_along_axis(keys, indices, axis=1)
# [end]
assert values.tolist() == [[4, 3], [40, 30]] and indices.tolist() == [[0, 2], [1, 3]]

# [ragged]
keys = np.array([5, 6, 7, 8], dtype=np.float32)
offsets = [0, 3, 3, 4]
rows = [keys[begin:end] for begin, end in zip(offsets, offsets[1:])]
indices = [np.argsort(-row, kind="stable")[:2] for row in rows]    # a loop over the rows
# [end]
assert [row.tolist() for row in indices] == [[2, 1], [], [0]]

# [kth]
keys = np.array([30, 10, 50, 20, 40, 60], dtype=np.float64)
second_largest = np.partition(keys, len(keys) - 2)[len(keys) - 2]
second_smallest = np.partition(keys, 1)[1]
# [end]
assert (second_largest, second_smallest) == (50, 20)

# [quantiles]
quartiles = np.quantile(keys, [0.25, 0.5, 0.75])
lower_median = np.quantile(keys, 0.5, method="lower")
# [end]
assert quartiles.tolist() == [22.5, 35, 47.5] and lower_median == 30

# [count]
keys = np.array([3, 8, 5, 1, 9, 5], dtype=np.float32)
better = [(keys > bound).sum() for bound in (5, 8)]
equal = [(keys == bound).sum() for bound in (5, 8)]
# [end]
assert better == [2, 1] and equal == [2, 1]

# [reaching]
indices = np.flatnonzero(keys >= 5)
values = keys[indices]
# [end]
assert values.tolist() == [8, 5, 9, 5] and indices.tolist() == [1, 2, 4, 5]

# [gather]
energy, charge = np.array([4, 9, 1, 7], dtype=np.float32), np.array([40, 90, 10, 70])
indices = np.argsort(-energy, kind="stable")[:2]
best_charge = charge[indices]
# [end]
assert best_charge.tolist() == [90, 70]

# [accumulator]
values, positions, seen = np.empty(0), np.empty(0, dtype=int), 0
for chunk in ([4, 7, 1], [9, 3], [7, 8]):
    values = np.append(values, chunk)
    positions = np.append(positions, np.arange(seen, seen + len(chunk)))
    best = np.lexsort((positions, -values))[:3]
    values, positions, seen = values[best], positions[best], seen + len(chunk)
# [end]
assert values.tolist() == [9, 8, 7] and positions.tolist() == [3, 6, 1]

# [merge]
# The lists, one after the other.
values, positions = np.array([9, 7, 4, 8, 7]), np.array([3, 1, 0, 6, 5])
best = np.lexsort((positions, -values))[:3]
values, positions = values[best], positions[best]
# [end]
assert values.tolist() == [9, 8, 7] and positions.tolist() == [3, 6, 1]

# [transform]
keys = np.array([3, 12, 9, 30, 11], dtype=np.float32)
distances = np.abs(keys - 10)
indices = np.argsort(distances, kind="stable")[:2]
# [end]
assert indices.tolist() == [2, 4]

# [generate]
squares = (np.arange(100) % 7) ** 2
indices = np.argsort(-squares, kind="stable")[:2]
# [end]
assert squares[indices].tolist() == [36, 36] and indices.tolist() == [6, 13]

# [where]
mask = np.array([True, True, True, False, False])
indices = np.argsort(-np.where(mask, keys, -np.inf), kind="stable")[:2]
# [end]
assert indices.tolist() == [1, 2]

# [lexicographic]
score, price = np.array([5, 9, 9, 5, 9], dtype=np.float32), np.array([3, 8, 2, 1, 2])
indices = np.lexsort((price, -score))[:4]
# [end]
assert indices.tolist() == [2, 4, 1, 3]

# [order]
keys = np.array([2, np.nan, 7, -7, 7, np.nan, 1], dtype=np.float32)
smallest = np.argsort(keys, kind="stable")[:4]    # NaN comes last, as by default
largest = np.argsort(-keys, kind="stable")[:4]    # NaN comes last, as with NaN::least
# [end]
assert smallest.tolist() == [3, 6, 0, 2] and largest.tolist() == [2, 4, 0, 6]
