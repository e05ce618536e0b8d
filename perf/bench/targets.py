#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cases of targets.csv on a GPU, and prints the results beside the targets and the other libraries.

The targets were set on one H200. On another card, compare times over that card's streaming bound. On an H200 both
comparisons hold, but for less than 1 MB the bound was 4.2 us when the targets were set and is 3.3 us where the stream is
held until all is launched: over the bounds, short rows look worse than by time. Cases whose input perf_top_k does not have
are listed as not measured."""
import argparse
import csv
import itertools
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import report

# Cards of one kind differ by some percent in the speed of their memory, which decides from this bound on.
MEMORY_BOUND_US = 20

INPUTS = ("uniform", "normal", "ascending", "leading_bits", "ties1000", "ragged")


def cases(path):
    with open(path, encoding="utf-8", newline="") as file:
        return [dict(row) for row in csv.DictReader(file)]


def workload(case):
    return case["type"], case["input"], int(case["rows"]), int(case["n"]), int(case["k"])


def keys_of(input_name):
    """perf_top_k's flags; ragged rows are of 1 to n normal keys."""
    return ["--input=normal", "--lengths=ragged"] if input_name == "ragged" else [f"--input={input_name}"]


def run_all(program, argument_lists, output):
    """A run of the program for each list; the JSON of all runs in one, written after each."""
    merged = None
    for arguments in argument_lists:
        with tempfile.NamedTemporaryFile(suffix=".json") as part:
            subprocess.run(
                [program, "--backend=Cuda", "--sorted=no", "--benchmark_min_time=0.02", *arguments,
                 f"--benchmark_out={part.name}"],
                check=True, stdout=subprocess.DEVNULL)
            result = json.load(open(part.name, encoding="utf-8"))
        merged = merged or {**result, "benchmarks": []}
        merged["benchmarks"] += result["benchmarks"]
        pathlib.Path(output).write_text(json.dumps(merged, indent=1) + "\n", encoding="utf-8")


def runs(targets, most_keys, implementation):
    """The arguments of one run for all k of a workload."""
    known = [case for case in targets if case["input"] in INPUTS and int(case["rows"]) * int(case["n"]) <= most_keys]
    for key, group in itertools.groupby(sorted(known, key=workload), key=lambda case: workload(case)[:4]):
        yield ["--method=automatic", f"--type={key[0]}", *keys_of(key[1]), f"--rows={key[2]}", f"--n={key[3]}",
               "--k=" + ",".join(case["k"] for case in group), f"--implementation={implementation}"]


def name_of(case):
    return f"{case['type']} {case['input']}, {case['rows']} x {case['n']}, k {case['k']}"


def over_floor(case, column):
    return float(case[column]) / float(case["floor_us"])


class Compared:
    """One case beside its target and the best other library: by time, and over the streaming bounds of the two runs."""

    def __init__(self, case, ours):
        self.name = name_of(case)
        self.time = ours.median_us / float(case["target_us"])
        self.over_floor = ours.over_floor / over_floor(case, "target_us")
        self.time_of_other = ours.median_us / float(case["best_other_us"])
        self.over_floor_of_other = ours.over_floor / over_floor(case, "best_other_us")
        is_memory_bound = float(case["floor_us"]) >= MEMORY_BOUND_US
        self.either = self.over_floor if is_memory_bound else self.time
        self.either_of_other = self.over_floor_of_other if is_memory_bound else self.time_of_other


def table(targets, rows, method):
    reached = {(row.type, name, row.rows, row.n, row.k): row.measured[measured] for row in rows
               for name, measured in ((row.input, method), ("ragged", method + ":ragged"))
               if row.sorted == "no" and measured in row.measured}
    lines, compared = [], []
    for case in targets:
        ours = reached.get(workload(case))
        cells = [name_of(case)]
        if ours:
            compared.append(Compared(case, ours))
            cells += [ours.algorithm, f"{ours.median_us:.1f}", f"{ours.over_floor:.2f}",
                      f"{compared[-1].time:.2f}", f"{compared[-1].over_floor:.2f}"]
        else:
            cells += ["not measured", "-", "-", "-", "-"]
        cells += [f"{float(case['target_us']):.1f} ({over_floor(case, 'target_us'):.2f})",
                  f"{float(case['best_other_us']):.1f} ({over_floor(case, 'best_other_us'):.2f}) {case['best_other']}"]
        lines.append(cells)
    return lines, compared


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary(compared, what, of_target, of_other):
    ratios = [of_target(case) for case in compared]
    within = sum(ratio <= 1.1 for ratio in ratios)
    behind = [case.name for case in compared if of_other(case) > 1]
    others = [of_other(case) for case in compared]
    return (f"{what}: geometric mean {mean(ratios):.2f} of the target; {within} of {len(compared)} within 1.1; "
            f"{mean(others):.2f} of the best other library, at most {max(others):.2f}; "
            f"behind it: {'; '.join(behind) or 'none'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", help="what --run wrote, or perf_top_k's --benchmark_out")
    parser.add_argument("--run", metavar="PERF_TOP_K", help="measure with this program first")
    parser.add_argument("--implementation", choices=("tuned", "portable"), default="tuned")
    parser.add_argument("--output", default="targets.json", help="of --run")
    parser.add_argument("--most-keys", type=int, default=1 << 30, help="cases of more keys are left out by --run")
    arguments = parser.parse_args()
    targets = cases(pathlib.Path(__file__).with_name("targets.csv"))
    if arguments.run:
        run_all(arguments.run, runs(targets, arguments.most_keys, arguments.implementation), arguments.output)
    results = arguments.output if arguments.run else arguments.results
    if not results:
        parser.error("results or --run is needed")
    lines, compared = table(targets, report.read([results]),
                            "automatic" + (":portable" if arguments.implementation == "portable" else ""))
    for line in report.machine(results):
        print(line)
    print("\n| case | algorithm | us | over the bound | time / target | over bounds / target | target | best other |\n"
          "|---|---|---|---|---|---|---|---|")
    for cells in lines:
        print("| " + " | ".join(cells) + " |")
    if not compared:
        sys.exit("no case of the targets in this file")
    print(f"\n{len(compared)} of {len(targets)} cases")
    print(summary(compared, "by time (of an H200 alone)", lambda case: case.time, lambda case: case.time_of_other))
    print(summary(compared, f"by time, from a bound of {MEMORY_BOUND_US} us on over the bounds", lambda case: case.either,
                  lambda case: case.either_of_other))
    print(summary(compared, "over the bounds", lambda case: case.over_floor, lambda case: case.over_floor_of_other))


if __name__ == "__main__":
    main()
