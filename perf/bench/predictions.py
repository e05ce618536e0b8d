#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the algorithms that the choice takes, over shapes that `ktopk calibrate` does not measure, and prints what the
cost model predicted from its figures beside each time. perf/notebook/cost_model.md explains the model. As `ktopk calibrate`
does, it takes the shortest of several times, because what disturbs a call makes it longer."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import report

# (rows, lengths, ks); none of them is measured by `ktopk calibrate`.
SHAPES = [
    ("1", "512,4096", "10,100"),
    ("1", "50000,200000", "10,1000"),
    ("1", "2000000", "10,1000,50000"),
    ("1", "2^23", "100,100000"),
    ("100", "512,2000,20000", "10,200"),
    ("100", "100000", "10,2000,20000"),
    ("20", "300000", "10,2000,100000"),
    ("5000", "128,600", "8,64"),
]
IMPLEMENTATIONS = ("tuned", "portable")


def methods(arguments):
    """The algorithms that the choice takes: what is tuned for hosts are others than what is for devices."""
    on_host = arguments.backend != "Cuda"
    return "one_pass,heap,radix" if on_host and arguments.implementation == "tuned" else "one_pass,bisection,radix"


def run(arguments, rows, lengths, ks, output):
    command = [arguments.program, f"--backend={arguments.backend}", f"--implementation={arguments.implementation}",
               f"--method={methods(arguments)}", "--type=f32", "--input=uniform", "--sorted=no",
               f"--rows={rows}", f"--n={lengths}", f"--k={ks}", "--benchmark_min_time=0.2", f"--benchmark_out={output}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "KTOPK_CALIBRATION": arguments.calibration})


def measure(arguments):
    """All shapes; the JSON of all runs in one, with the calibration's text."""
    merged = None
    for shape in SHAPES:
        with tempfile.NamedTemporaryFile(suffix=".json") as part:
            run(arguments, *shape, part.name)
            with open(part.name, encoding="utf-8") as file:
                result = json.load(file)
        merged = merged or {**result, "benchmarks": []}
        merged["benchmarks"] += result["benchmarks"]
    with open(arguments.calibration, encoding="utf-8") as file:
        merged["context"]["calibration"] = file.read().splitlines()
    return merged


# The choice gives bisection no longer rows, although it would serve them.
LONGEST_FOR_BISECTION = 8192


def times_by_shape(benchmarks):
    """For each shape the predicted and the measured time of every algorithm that served it itself."""
    shapes = {}
    for benchmark in benchmarks:
        match = report.NAME.match(benchmark["name"])
        algorithm = match["method"].split(":")[0]
        shape = int(match["rows"]), int(match["n"]), int(match["k"])
        is_too_long = algorithm == "bisection" and shape[1] > LONGEST_FOR_BISECTION
        if "predicted_us" in benchmark and algorithm in benchmark["label"].split("::") and not is_too_long:
            shapes.setdefault(shape, {})[algorithm] = benchmark["predicted_us"], benchmark["best_us"]
    return shapes


def factor(predicted, measured):
    return max(predicted / measured, measured / predicted)


def loss(times):
    """The time of the algorithm of least predicted time, over the least time."""
    chosen = min(times, key=lambda algorithm: times[algorithm][0])
    return times[chosen][1] / min(measured for _, measured in times.values())


def print_table(shapes, algorithms):
    print("| rows x keys, k | " + " | ".join(algorithms) + " | chosen |")
    print("|---" * (len(algorithms) + 2) + "|")
    for (rows, n, k), times in shapes.items():
        cells = [" / ".join(map(report.microseconds, times[a])) if a in times else "-" for a in algorithms]
        chosen = min(times, key=lambda algorithm: times[algorithm][0])
        print(f"| {rows} x {report.count(n)}, {k} | " + " | ".join(cells) + f" | {chosen}, {loss(times):.2f} |")


def print_summary(shapes):
    factors = sorted(factor(*pair) for times in shapes.values() for pair in times.values())
    losses = [loss(times) for times in shapes.values()]
    print(f"\n{len(shapes)} shapes, {len(factors)} times: predicted and measured differ by a factor of "
          f"{statistics.median(factors):.2f} (median), at worst {factors[-1]:.2f}")
    print(f"the algorithm of least predicted time takes {statistics.mean(losses):.2f} times the fastest one's time (mean), "
          f"at worst {max(losses):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="the measurements: read, or written with --run")
    parser.add_argument("--run", metavar="PROGRAM", dest="program", help="perf_top_k: measure with it first")
    parser.add_argument("--calibration", help="what `ktopk calibrate` wrote, for --run")
    parser.add_argument("--backend", default="OpenMP", help="by Kokkos's name (OpenMP)")
    parser.add_argument("--implementation", choices=IMPLEMENTATIONS, default="tuned")
    arguments = parser.parse_args()
    if arguments.program:
        if not arguments.calibration:
            sys.exit("--run needs --calibration")
        with open(arguments.file, "w", encoding="utf-8") as file:
            file.write(json.dumps(measure(arguments), indent=1) + "\n")
    shapes = times_by_shape(report.benchmarks(arguments.file))
    if not shapes:
        sys.exit("no predicted time in this file: was KTOPK_CALIBRATION set?")
    print_table(shapes, list(dict.fromkeys(algorithm for times in shapes.values() for algorithm in times)))
    print_summary(shapes)


if __name__ == "__main__":
    main()
