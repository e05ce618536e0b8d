#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the papers' own cases of bitonic, queue and delegate on a GPU: the hand-written kernel, the portable text,
automatic and cub::DeviceTopK (where the build has it) in one process a case.

Beside them stand figures of one H200: the authors' code, from papers_kernels.csv, and the best other library, from
targets.csv. On another card, compare times over the streaming bounds. The portable text is left out of cases of more than
--most-portable keys."""
import argparse
import itertools
import pathlib
import sys

import report
import targets

HERE = pathlib.Path(__file__)


def same_keys(case):
    return case["algorithm"], case["type"], case["input"], int(case["rows"]), int(case["n"])


def runs(cases, most_portable, baselines):
    """The arguments of one run for all k of a kernel and its keys."""
    for (algorithm, key_type, keys, rows, n), group in itertools.groupby(sorted(cases, key=same_keys), key=same_keys):
        methods = [algorithm, "automatic"] + (baselines if rows == 1 and key_type != "u32" else [])
        implementations = ["tuned"] + (["portable"] if rows * n <= most_portable else [])
        yield ["--method=" + ",".join(methods), f"--type={key_type}", f"--input={keys}", f"--rows={rows}", f"--n={n}",
               "--k=" + ",".join(case["k"] for case in group), "--implementation=" + ",".join(implementations)]


def cell(row, method, algorithm=None):
    measured = row.measured.get(method)
    if not measured:
        return "-"
    other = f" ({measured.algorithm})" if algorithm and measured.algorithm != algorithm else ""
    return f"{measured.median_us:.1f} ({measured.over_floor:.2f}){other}"


def figure(name, us, floor_us):
    return f"{float(us):.0f} ({float(us) / float(floor_us):.2f}) {name}" if us else "-"


def lines(cases, rows):
    measured = {(row.type, row.input, row.rows, row.n, row.k): row for row in rows}
    libraries = {targets.workload(case): case for case in targets.cases(HERE.with_name("targets.csv"))}
    for case in cases:
        algorithm, row = case["algorithm"], measured.get(targets.workload(case))
        if not row or algorithm not in row.measured:
            continue
        library = libraries.get(targets.workload(case))
        yield [algorithm, targets.name_of(case), f"{row.floor_us:.1f}", cell(row, algorithm, algorithm),
               cell(row, algorithm + ":portable", algorithm), cell(row, "automatic"), cell(row, "cub::DeviceTopK"),
               figure(case["other"], case["other_us"], case["other_floor_us"]),
               figure(library["best_other"], library["best_other_us"], library["floor_us"]) if library else "-"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="?", help="what --run wrote")
    parser.add_argument("--run", metavar="PERF_TOP_K", help="measure with this program first")
    parser.add_argument("--output", default="papers-kernels.json", help="of --run")
    parser.add_argument("--algorithm", choices=("bitonic", "queue", "delegate"), help="its cases alone")
    parser.add_argument("--most-portable", type=int, default=1 << 28)
    parser.add_argument("--cub", action="store_true", help="measure cub::DeviceTopK, too")
    arguments = parser.parse_args()
    cases = [case for case in targets.cases(HERE.with_name("papers_kernels.csv"))
             if arguments.algorithm in (None, case["algorithm"])]
    if arguments.run:
        baselines = ["cub::DeviceTopK"] if arguments.cub else []
        targets.run_all(arguments.run, runs(cases, arguments.most_portable, baselines), arguments.output)
    results = arguments.output if arguments.run else arguments.results
    if not results:
        parser.error("results or --run is needed")
    for line in report.machine(results):
        print(line)
    print("\n| kernel | case | bound, us | by hand | portable | automatic | cub::DeviceTopK | authors, H200 | best other, H200 |\n"
          "|---|---|---|---|---|---|---|---|---|")
    table = list(lines(cases, report.read([results])))
    for cells in table:
        print("| " + " | ".join(cells) + " |")
    if not table:
        sys.exit("no case of the papers in this file")


if __name__ == "__main__":
    main()
