# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads perf_top_k's JSON, and what keep.py made of it for perf/results: what the scripts of this folder share."""
import csv
import json
import math
import re
import statistics
from dataclasses import dataclass, field

NAME = re.compile(
    r"top_k/(?P<backend>[^/]+)/(?P<method>[^/]+)/(?P<type>[^/]+)/(?P<input>[^/]+)"
    r"/rows:(?P<rows>\d+)/n:(?P<n>\d+)(?:/ragged)?/k:(?P<k>\d+)/sorted:(?P<sorted>\w+)/ties:(?P<ties>\w+)"
)


@dataclass
class Measurement:
    times: list  # of each repetition (median_us, floor_us, over_floor)
    algorithm: str

    def repeat(self, *times):
        self.times.append(times)

    median_us = property(lambda self: statistics.median(time[0] for time in self.times))
    floor_us = property(lambda self: statistics.median(time[1] for time in self.times))
    over_floor = property(lambda self: statistics.median(time[2] for time in self.times))


@dataclass
class Row:
    """One workload and all that was measured with it."""

    backend: str
    type: str
    input: str
    rows: int
    n: int
    k: int
    sorted: str
    ties: str
    measured: dict = field(default_factory=dict)

    @property
    def floor_us(self):
        known = [m.floor_us for m in self.measured.values() if not math.isnan(m.floor_us)]
        return statistics.median(known or [math.nan])

    @property
    def workload(self):
        shape = f"{count(self.rows)} x {count(self.n)}" if self.rows > 1 else count(self.n)
        options = (", sorted" if self.sorted == "yes" else "") + (", any ties" if self.ties == "any" else "")
        return f"{self.backend} {self.type} {self.input}, n {shape}, k {count(self.k)}{options}"


def count(number):
    """2^20 for powers of two from 1024 on, else the number."""
    return f"2^{number.bit_length() - 1}" if number >= 1024 and number & (number - 1) == 0 else str(number)


def microseconds(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}"


def is_baseline(method):
    return "::" in method or method == "priority_queue"


def methods_of(rows):
    """All methods in the order in which they were measured first."""
    return list(dict.fromkeys(method for row in rows for method in row.measured))


# The columns of a kept file; README.md in perf/results explains them.
TIME = "us"  # the metric of a median
COLUMNS = ("type", "input", "rows", "n", "k", "options", "method", "by", "metric", "value", "bound")


def read_kept(path):
    """What is stated above the columns, as (name, text) in order, and each line as a dictionary."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read().splitlines()
    head = [line[2:] for line in text if line.startswith("# ")]
    lines = csv.DictReader(line for line in text if not line.startswith("#"))
    return [tuple(line.split(": ", 1)) for line in head], list(lines)


def kept_name(backend, line):
    options = line["options"].split("; ")
    ties = next((option.removeprefix("ties ") for option in options if option.startswith("ties ")), "lowest_index")
    return (f"top_k/{backend}/{line['method']}/{line['type']}/{line['input']}/rows:{line['rows']}/n:{line['n']}/k:{line['k']}"
            f"/sorted:{'yes' if 'sorted' in options else 'no'}/ties:{ties}")


def kept_benchmarks(path):
    """The lines of a kept file as perf_top_k writes them; the metrics of a measurement are lines one after the other."""
    head, lines = read_kept(path)
    backend, found = dict(head).get("backend", "-"), []
    for line in lines:
        name = kept_name(backend, line)
        last = found[-1] if found else {}
        metric = "median_us" if line["metric"] == TIME else line["metric"]
        if (last.get("name"), last.get("label")) != (name, line["by"]) or metric in last:
            last = {"name": name, "label": line["by"]}
            found.append(last)
        last[metric] = float(line["value"])
        if line["bound"]:
            last["floor_us"] = float(line["bound"])
    return [{**each, "over_floor": each.get("median_us", math.nan) / each.get("floor_us", math.nan)} for each in found]


def benchmarks(path):
    """The measurements of a file, of either form, as perf_top_k writes them."""
    if str(path).endswith(".csv"):
        return kept_benchmarks(path)
    with open(path, encoding="utf-8") as file:
        return json.load(file)["benchmarks"]


def read(paths):
    """A Row for each workload, in the files' order. Repetitions count by their median; other duplicates by the last one."""
    rows = {}
    for path in paths:
        for benchmark in benchmarks(path):
            add(rows, benchmark)
    return list(rows.values())


def add(rows, benchmark):
    match = NAME.match(benchmark["name"])
    if not match or "median_us" not in benchmark or benchmark.get("error_occurred") or benchmark.get("run_type") == "aggregate":
        return
    parts = match.groupdict()
    method = parts.pop("method")
    for number in ("rows", "n", "k"):
        parts[number] = int(parts[number])
    row = rows.setdefault(tuple(parts.values()), Row(**parts))
    times = benchmark["median_us"], benchmark.get("floor_us", math.nan), benchmark["over_floor"]
    again = row.measured.get(method) if benchmark.get("repetitions", 1) > 1 else None
    if again:
        again.repeat(*times)
    else:
        row.measured[method] = Measurement([times], benchmark.get("label", method))


UNWANTED = {"executable", "host_name", "load_avg", "caches", "library_build_type", "library_version", "json_schema_version",
            "mhz_per_cpu", "cpu_scaling_enabled"}


def context(path):
    """The machine and the build that the figures were measured with, as (name, text)."""
    if str(path).endswith(".csv"):
        return read_kept(path)[0]
    with open(path, encoding="utf-8") as file:
        known = json.load(file)["context"]
    return [(name, line) for name, value in known.items() if name not in UNWANTED
            for line in (value if isinstance(value, list) else [value])]


def machine(path):
    """The context, a line each; a calibration has lines enough of its own."""
    return [f"- {name}: {value}" for name, value in context(path) if name != "calibration"]
