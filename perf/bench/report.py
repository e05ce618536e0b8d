# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads perf_top_k's JSON: what table.py and plot.py share."""
import json
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
        return statistics.median(m.floor_us for m in self.measured.values())

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


def read(paths):
    """A Row for each workload, in the files' order. Repetitions count by their median; other duplicates by the last one."""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for benchmark in json.load(file)["benchmarks"]:
                add(rows, benchmark)
    return list(rows.values())


def add(rows, benchmark):
    match = NAME.match(benchmark["name"])
    if not match or benchmark.get("error_occurred") or benchmark.get("run_type") == "aggregate":
        return
    parts = match.groupdict()
    method = parts.pop("method")
    for number in ("rows", "n", "k"):
        parts[number] = int(parts[number])
    row = rows.setdefault(tuple(parts.values()), Row(**parts))
    times = benchmark["median_us"], benchmark["floor_us"], benchmark["over_floor"]
    again = row.measured.get(method) if benchmark.get("repetitions", 1) > 1 else None
    if again:
        again.repeat(*times)
    else:
        row.measured[method] = Measurement([times], benchmark.get("label", method))


def machine(path):
    """The machine and the build that the figures were measured with, a line each."""
    with open(path, encoding="utf-8") as file:
        context = json.load(file)["context"]
    unwanted = {"executable", "host_name", "load_avg", "caches", "library_build_type", "mhz_per_cpu", "cpu_scaling_enabled"}
    return [f"- {name}: {value}" for name, value in context.items() if name not in unwanted]
