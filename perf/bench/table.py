#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints perf_top_k's JSON as a Markdown table: a line for each workload, with the streaming bound, ours and the
baselines."""
import argparse
import sys

import report


def columns_of(rows, every_algorithm):
    """The methods to show: the best of ours (or each of them), then the baselines."""
    methods = report.methods_of(rows)
    ours = [m for m in methods if not report.is_baseline(m)]
    return (ours if every_algorithm else ["ours"]) + [m for m in methods if report.is_baseline(m)]


def chosen(row, method):
    """The measurement shown in the column; for "ours" the automatic one, or else the fastest."""
    if method != "ours":
        return row.measured.get(method)
    ours = {m: r for m, r in row.measured.items() if not report.is_baseline(m)}
    return ours.get("automatic") or min(ours.values(), key=lambda r: r.median_us, default=None)


def cell(measurement, with_algorithm):
    if measurement is None:
        return "-"
    text = f"{report.microseconds(measurement.median_us)} ({measurement.over_floor:.2f})"
    shown = with_algorithm or measurement.algorithm == "WRONG ANSWER"
    return f"{text} {measurement.algorithm}" if shown else text


def table(rows, every_algorithm):
    columns = columns_of(rows, every_algorithm)
    lines = [["case", "bound"] + columns]
    for row in rows:
        cells = [cell(chosen(row, m), m == "ours") for m in columns]
        lines.append([row.workload, report.microseconds(row.floor_us)] + cells)
    return lines


def print_markdown(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for number, line in enumerate(lines):
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="what --benchmark_out wrote")
    parser.add_argument("--algorithms", action="store_true", help="a column for each algorithm of ktopk")
    arguments = parser.parse_args()
    rows = report.read(arguments.files)
    if not rows:
        sys.exit("no measurement in these files")
    for line in report.machine(arguments.files[0]):
        print(line)
    print("\nMicroseconds, median; in brackets over the streaming bound, the time to read the keys once.\n")
    print_markdown(table(rows, arguments.algorithms))


if __name__ == "__main__":
    main()
