#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures on a GPU how much slower `automatic` is on hostile keys, in LayoutLeft, for other key types and with sorted
output, and prints it beside the limits of perf/notebook/cuda.md.

Hostile keys are compared with uniform ones of the same shape, LayoutLeft with LayoutRight, key types by their time over
their own streaming bound, and the default (sorted, the lowest index wins ties) with unsorted output and any ties."""
import argparse
import sys

import report
import targets

LONG = 1 << 25  # keys of a row from which the limit for hostile keys is lower

# rows, keys of a row, k
SHAPES = [(8, 1 << 15, 32), (1, 151936, 2048), (100, 8192, 256), (100, 1 << 17, 2048), (64, 1 << 17, 50),
          (4096, 1 << 15, 512), (1 << 16, 256, 32), (1 << 16, 1024, 32), (4096, 4096, 64), (1, 1 << 20, 2048),
          (1, 1 << 20, 1 << 15), (1, LONG, 256), (1, LONG, 1 << 20)]
LEFT = [(8, 1 << 17, 2048), (64, 1 << 17, 50), (100, 1 << 15, 32), (100, 1 << 17, 2048), (1024, 1 << 17, 1024),
        (1 << 16, 64, 8), (1 << 16, 256, 32), (1 << 16, 1024, 32), (4096, 4096, 64)]
TYPES = ["f32", "f64", "bf16", "f16", "i32", "u8"]
TYPED = [(1, 1 << 24, 256), (1, LONG, 256), (64, 151936, 50), (100, 1 << 17, 2048), (1024, 1 << 17, 64),
         (4096, 1 << 15, 512), (1 << 16, 1024, 32)]
SORTED = [(1, 1 << 20, 256), (1, 1 << 20, 2048), (1, 10**7, 2048), (8, 1 << 22, 2048), (1, LONG, 256), (1, LONG, 2048)]


def arguments_of(shape, *more):
    rows, n, k = shape
    return ["--method=automatic", "--implementation=tuned", f"--rows={rows}", f"--n={n}", f"--k={k}", *more]


def runs():
    for shape in SHAPES:
        yield arguments_of(shape, "--input=all")
    for shape in LEFT:
        yield arguments_of(shape, "--input=normal", "--layout=right,left")
    for shape in TYPED:
        yield arguments_of(shape, "--input=uniform", "--type=" + ",".join(TYPES))
    for shape in SORTED:
        yield arguments_of(shape, "--input=normal", "--ties=any,lowest_index", "--sorted=no,yes")


def shape_name(shape):
    return "{} x {}, k {}".format(*map(report.count, shape))


class Measured:
    """What was measured, by key type, input, shape, sorting, tie rule and layout."""

    def __init__(self, rows):
        self.known = {(row.type, row.input, (row.rows, row.n, row.k), row.sorted, row.ties, method): measured
                      for row in rows for method, measured in row.measured.items()}

    def find(self, shape, key_type="f32", keys="normal", sorted_output="no", ties="lowest_index", method="automatic"):
        return self.known.get((key_type, keys, shape, sorted_output, ties, method))


def hostile(measured):
    for shape in SHAPES:
        base = measured.find(shape, keys="uniform")
        if not base:
            continue
        limit = 1.15 if shape[1] >= LONG else 1.5
        ratios = sorted(((found.median_us / base.median_us, key[1]) for key, found in measured.known.items()
                         if key[:1] + key[2:] == ("f32", shape, "no", "lowest_index", "automatic")), reverse=True)
        beyond = ", ".join(f"{name} {ratio:.2f}" for ratio, name in ratios if ratio > limit)
        yield [shape_name(shape), base.algorithm, f"{base.median_us:.1f}", f"{ratios[0][0]:.2f} ({ratios[0][1]})", f"{limit}",
               beyond or "none"]


def pairs(measured, shapes, slow, fast):
    for shape in shapes:
        a, b = measured.find(shape, **slow), measured.find(shape, **fast)
        if a and b:
            yield [shape_name(shape), f"{b.median_us:.1f}", f"{a.median_us:.1f}", f"{a.median_us / b.median_us:.2f}"]


def types(measured):
    for shape in TYPED:
        found = [measured.find(shape, key_type=key_type, keys="uniform") for key_type in TYPES]
        if any(found):
            yield [shape_name(shape)] + [f"{one.median_us:.1f} ({one.over_floor:.2f})" if one else "-" for one in found]


def print_table(title, head, lines):
    lines = list(lines)
    if not lines:
        return
    print(f"\n{title}\n\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for cells in lines:
        print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", help="what --run wrote")
    parser.add_argument("--run", metavar="PERF_TOP_K", help="measure with this program first")
    parser.add_argument("--output", default="limits.json", help="of --run")
    arguments = parser.parse_args()
    if arguments.run:
        targets.run_all(arguments.run, runs(), arguments.output)
    results = arguments.output if arguments.run else arguments.results
    if not results:
        parser.error("results or --run is needed")
    measured = Measured(report.read([results]))
    if not measured.known:
        sys.exit("nothing of this in this file")
    for line in report.machine(results):
        print(line)
    print_table("Hostile keys over uniform ones", ["case", "algorithm", "uniform, us", "worst", "limit", "beyond it"],
                hostile(measured))
    print_table("LayoutLeft over LayoutRight: the limit is 1.5", ["case", "right, us", "left, us", "ratio"],
                pairs(measured, LEFT, {"method": "automatic:left"}, {}))
    print_table("Key types, us (over their own bound)", ["case", *TYPES], types(measured))
    print_table("The default over unsorted output with any ties: the limit is 1.1",
                ["case", "any, us", "default, us", "ratio"],
                pairs(measured, SORTED, {"sorted_output": "yes"}, {"ties": "any"}))


if __name__ == "__main__":
    main()
