#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures all implementations of a host on the shapes that choose.cpp is based on, for perf/bench/choice.py to read: by
turns, several times each, because a machine's speed varies over time."""
import argparse
import glob
import itertools
import os
import subprocess

import choice
import report

INPUTS = "uniform,normal,ascending,descending,all_equal,leading_bits,bucket_killer"
FEW_INPUTS = "uniform,ascending,bucket_killer"
LONG = "one_pass,radix,queue,heap,quick"

# name: (rows, n, k, types, inputs, methods)
GROUPS = {
    "one_short_row": [
        ("1", "64", "1,32", "f32", INPUTS, "algorithms"),
        ("1", "1024", "1,32,512", "f32", INPUTS, "algorithms"),
        ("1", "8192", "1,32,512,4096", "f32", INPUTS, "algorithms"),
        ("1", "1024,8192", "1,32,512", "f64,i32", FEW_INPUTS, "algorithms"),
    ],
    "one_row": [
        ("1", "2^15", "1,32,1024,2^14", "f32", INPUTS, "algorithms"),
        ("1", "2^18", "1,32,1024,2^14,2^17", "f32", INPUTS, "algorithms"),
        ("1", "2^15,2^18", "1,32,512,2^14", "f64,i32", FEW_INPUTS, "algorithms"),
    ],
    "some_short_rows": [
        ("64", "64", "1,32", "f32", INPUTS, "algorithms"),
        ("64", "1024", "1,32,512", "f32", INPUTS, "algorithms"),
        ("64", "8192", "1,32,512,4096", "f32", INPUTS, "algorithms"),
        ("64", "1024,8192", "1,32,512", "f64,i32", FEW_INPUTS, "algorithms"),
    ],
    "some_rows": [
        ("64", "2^15", "1,32,2048,2^14", "f32", INPUTS, "algorithms"),
        ("64", "2^15", "1,32,512,4096", "f64,i32", FEW_INPUTS, LONG + ",bisection,sample"),
    ],
    "many_rows": [
        ("2^16", "64", "1,32", "f32", INPUTS, "one_pass,radix,heap,queue,bitonic,bisection"),
        ("2^16", "256", "1,32,128", "f32", INPUTS, "one_pass,radix,heap,queue,bitonic,bisection"),
        ("2^16", "1024", "1,32,512", "f32", FEW_INPUTS, "one_pass,radix,heap,queue,bitonic,bisection"),
        ("2^16", "64,256", "1,32", "f64,i32", FEW_INPUTS, "one_pass,radix,heap,queue,bitonic,bisection"),
    ],
    "long_rows": [
        ("1", "2^22", "1,32,1024,2^15,2^21", "f32", INPUTS, LONG),
        ("64", "2^18", "1,32,2048,2^14,2^17", "f32", INPUTS, LONG),
        ("1", "2^26", "1,32,1000", "f32", FEW_INPUTS + ",leading_bits", "one_pass,radix,queue,heap"),
        ("1", "2^26", "2^20,2^25", "f32", FEW_INPUTS + ",leading_bits", "one_pass,radix"),
    ],
}


TURNS = ["--benchmark_enable_random_interleaving=true", "--benchmark_min_time=0.02"]
REPETITIONS, REPETITIONS_OF_DOUBTFUL = 5, 20
# A case whose choice is slower than DOUBTFUL times the best is measured anew, with every implementation within RIVAL times.
DOUBTFUL, RIVAL = 1.05, 1.3


def cases(group):
    """Every workload of a group's shapes by itself: turns between workloads would generate their keys anew."""
    for rows, lengths, k, types, inputs, methods in GROUPS[group]:
        yield from itertools.product(
            [rows], lengths.split(","), [k], types.split(","), inputs.split(","), ["automatic," + methods])


def command(program, case, output, repetitions=REPETITIONS):
    rows, n, k, key_type, keys, methods = case
    return [program, "--backend=OpenMP", "--sorted=no", *TURNS, f"--benchmark_repetitions={repetitions}",
            "--benchmark_out_format=json", f"--method={methods}", f"--rows={rows}", f"--n={n}", f"--k={k}",
            f"--type={key_type}", f"--input={keys}", f"--benchmark_out={output}"]


def run(*arguments):
    subprocess.run(command(*arguments), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def doubtful_cases(files):
    """The workloads of some files in which the choice is slower than the best, with the implementations that may be the best."""
    for loss, row in choice.losses(report.read(files)):
        if loss > DOUBTFUL:
            _, best = choice.best_of(row)
            rivals = [implementation for implementation, us in choice.times_of(row).items() if us <= RIVAL * best]
            methods = dict.fromkeys(["automatic", choice.algorithm_of(row.measured["automatic"]), *rivals])
            yield str(row.rows), str(row.n), str(row.k), row.type, row.input, ",".join(methods)


def measure(arguments):
    for group in arguments.groups:
        for number, (*shape, methods) in enumerate(cases(group)):
            output = os.path.join(arguments.folder, f"{group}-{number}.json")
            run(arguments.program, (*shape, arguments.only or methods), output)


def measure_doubtful(arguments):
    """Among many equally fast implementations one wins by luck; more repetitions make that rarer."""
    files = [file for group in arguments.groups for file in glob.glob(os.path.join(arguments.folder, group + "-*.json"))]
    for number, case in enumerate(doubtful_cases(files)):
        output = os.path.join(arguments.folder, f"doubtful-{arguments.groups[0]}-{number}.json")
        run(arguments.program, case, output, REPETITIONS_OF_DOUBTFUL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", help="perf_top_k")
    parser.add_argument("folder", help="where the JSON files go, which choice.py takes all together")
    parser.add_argument("groups", nargs="*", default=list(GROUPS), help=f"some of {', '.join(GROUPS)} (all)")
    parser.add_argument("--only", metavar="METHODS", help="measure these, for instance automatic after a change of the choice")
    parser.add_argument("--doubtful", action="store_true", help="measure more often what the folder's files leave in doubt")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    (measure_doubtful if arguments.doubtful else measure)(arguments)


if __name__ == "__main__":
    main()
