#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures `automatic` on a grid of shapes, and prints each case that takes longer than a larger one, which has no fewer
rows, keys and selected keys. There another implementation, or other limits of the same one, would be faster. Needs
perf_top_k and a GPU; 3 seconds for 100 cases."""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

import report

ROWS = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 132, 200, 264, 300, 400, 512, 700, 1023, 1500, 2048, 4096, 16384, 65536]
KEYS = [256, 512, 1024, 2048, 3000, 4096, 6000, 8192, 16384, 32768, 65536, 131072, 262144, 2**20, 2**22, 2**24]
SELECTED = [8, 64, 512, 2048]
MOST_KEYS = 2**26  # of all rows

NAME = re.compile(r"top_k/[^/]+/automatic(?P<ways>[^/]*)/(?P<type>[^/]+)/[^/]+/rows:(?P<rows>\d+)/n:(?P<n>\d+)(?:/ragged)?"
                  r"/k:(?P<k>\d+)/sorted:(?P<sorted>\w+)/")


def run(program, flags, rows):
    """perf_top_k's JSON for all lengths of so many rows."""
    lengths = ",".join(str(n) for n in KEYS if rows * n <= MOST_KEYS)
    with tempfile.NamedTemporaryFile(suffix=".json") as output:
        subprocess.run(
            [program, "--method=automatic", "--input=uniform", "--benchmark_min_time=0.003", f"--rows={rows}", f"--n={lengths}",
             f"--k={','.join(map(str, SELECTED))}", *flags, f"--benchmark_out={output.name}"],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.load(open(output.name, encoding="utf-8"))


def case_of(benchmark):
    found = NAME.match(benchmark["name"])
    numbers = {key: int(found[key]) for key in ("rows", "n", "k")}
    kind = found["type"] + found["ways"].replace(":", " ") + (" sorted" if found["sorted"] == "yes" else "")
    return {"kind": kind, **numbers, "us": benchmark["median_us"], "by": benchmark["label"]}


def measure(program, flags):
    """perf_top_k's JSON of all rows in one."""
    results = [run(program, flags, rows) for rows in ROWS]
    return {**results[0], "benchmarks": [benchmark for result in results for benchmark in result["benchmarks"]]}


def read(path):
    return [case_of(benchmark) for benchmark in report.benchmarks(path)]


def is_larger(other, case):
    return other is not case and other["kind"] == case["kind"] and all(other[key] >= case[key] for key in ("rows", "n", "k"))


def cliffs(cases, least):
    """(how many times as long, the case, the fastest larger one), the worst first."""
    found = []
    for case in cases:
        larger = min((other for other in cases if is_larger(other, case)), key=lambda other: other["us"], default=case)
        if case["us"] > least * larger["us"]:
            found.append((case["us"] / larger["us"], case, larger))
    return sorted(found, key=lambda cliff: -cliff[0])


def shape(case):
    return f"{case['rows']} x {case['n']}, {case['k']}"


def print_report(cases, least):
    print("| | keys | rows x n, k | us | by | a larger one | us | by |\n|---|---|---|---|---|---|---|---|")
    found = cliffs(cases, least)
    for ratio, case, larger in found:
        print(f"| {ratio:.2f} | {case['kind']} | {shape(case)} | {case['us']:.1f} | {case['by']} "
              f"| {shape(larger)} | {larger['us']:.1f} | {larger['by']} |")
    print(f"\n{len(found)} of {len(cases)} cases take more than {least} times as long as a larger one.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, epilog="--run passes other flags on to perf_top_k, as --type=f32,bf16.")
    parser.add_argument("file", help="what --run writes, or has written")
    parser.add_argument("--run", metavar="PROGRAM", help="perf_top_k")
    parser.add_argument("--least", type=float, default=1.2, help="the ratio from which on a case is printed")
    arguments, flags = parser.parse_known_args()
    if flags and not arguments.run:
        parser.error(f"{flags} are for --run")
    if arguments.run:
        measured = measure(arguments.run, ["--backend=Cuda", *flags])
        pathlib.Path(arguments.file).write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")
    print_report(read(arguments.file), arguments.least)


if __name__ == "__main__":
    main()
