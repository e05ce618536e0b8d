#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes of perf_top_k's JSON what perf/results keeps: a CSV file with the context above it and a line for each median,
beside the streaming bound. Repetitions count by their median. The scripts of this folder read either."""
import argparse
import csv
import io
import pathlib
import statistics
import sys

import report

MEDIAN = "median_us"


def number(value):
    """Six digits at least, never with an exponent."""
    if value == "" or value is None:
        return ""
    text = f"{value:.6g}"
    if "e" not in text:
        return text
    return f"{value:.0f}" if value >= 1 else f"{value:.9f}".rstrip("0")


def options_of(parts):
    words = (["sorted"] if parts["sorted"] == "yes" else []) + ([f"ties {parts['ties']}"] if parts["ties"] != "lowest_index" else [])
    return "; ".join(words)


def case_of(benchmark):
    """The columns of a measurement but for metric, value and bound; None where it is none."""
    match = report.NAME.match(benchmark["name"])
    if not match or benchmark.get("error_occurred") or benchmark.get("run_type") == "aggregate":
        return None
    parts = match.groupdict()
    columns = {name: parts[name] for name in ("type", "input", "rows", "n", "k", "method")}
    return {**columns, "options": options_of(parts), "by": benchmark.get("label", parts["method"])}


def lines_of(benchmarks, metrics):
    """A line for each metric that a measurement has; of repetitions the median."""
    groups = {}
    for place, benchmark in enumerate(benchmarks):
        case = case_of(benchmark)
        if case:
            again = benchmark.get("repetitions", 1) > 1
            groups.setdefault((benchmark["name"], case["by"], "" if again else place), (case, []))[1].append(benchmark)
    for case, group in groups.values():
        for metric in metrics:
            values = [benchmark[metric] for benchmark in group if metric in benchmark]
            bounds = [benchmark["floor_us"] for benchmark in group if "floor_us" in benchmark] if metric == metrics[0] else []
            if values:
                yield {**case, "metric": report.TIME if metric == MEDIAN else metric, "value": statistics.median(values),
                       "bound": statistics.median(bounds) if bounds else ""}


def text_of(context, lines):
    """\\param context  (name, text) in order"""
    output = io.StringIO()
    output.writelines(f"# {name}: {text}\n" for name, text in context)
    writer = csv.DictWriter(output, report.COLUMNS, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({**line, "value": number(line["value"]), "bound": number(line.get("bound"))} for line in lines)
    return output.getvalue()


def backends_of(benchmarks):
    matches = (report.NAME.match(benchmark["name"]) for benchmark in benchmarks)
    return sorted({match["backend"] for match in matches if match})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", help="what --benchmark_out wrote, or --run of a script")
    parser.add_argument("output", type=pathlib.Path, help="the CSV file")
    parser.add_argument("--metrics", default=MEDIAN,
                        help=f"counters of perf_top_k ({MEDIAN}); the bound stands beside the first one")
    arguments = parser.parse_args()
    benchmarks = report.benchmarks(arguments.file)
    backends = backends_of(benchmarks)
    if len(backends) != 1:
        sys.exit(f"a file is of one backend, and {arguments.file} has {', '.join(backends) or 'none'}")
    lines = list(lines_of(benchmarks, arguments.metrics.split(",")))
    if not lines:
        sys.exit(f"{arguments.file} has no {arguments.metrics}")
    context = [*report.context(arguments.file), ("program", "perf_top_k"), ("backend", backends[0])]
    arguments.output.write_text(text_of(context, lines), encoding="utf-8")


if __name__ == "__main__":
    main()
