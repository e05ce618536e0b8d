#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times PyTorch's topk and NumPy's argpartition on the workloads of a perf_top_k JSON, and writes another
one that perf/bench/table.py prints beside it. One that cannot run is an error there, with the reason. Both promise less than ktopk: which of equal keys they take is open."""
import argparse
import json
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy

import report

try:
    import torch
except (ImportError, OSError) as error:
    torch, WITHOUT_TORCH = None, f"PyTorch cannot be loaded: {error}"

TYPES = {"f32": numpy.float32, "f64": numpy.float64, "i32": numpy.int32, "bf16": numpy.float32, "f16": numpy.float16}
THREADS = torch.get_num_threads() if torch else len(os.sched_getaffinity(0))


def rectified(random, shape):
    return numpy.where(random.random(shape) < 0.5, 0, random.random(shape))


def masked(random, shape):
    return numpy.where(random.random(shape) < 0.75, -numpy.inf, random.random(shape))


def bell(random, shape, steps):
    return sum(random.integers(0, steps, shape) for _ in range(4)) / (2 * steps) - 1


# Distributed as tests/support/inputs.hpp has them.
INPUTS = {
    "uniform": lambda random, shape: random.random(shape),
    "normal": lambda random, shape: random.standard_normal(shape),
    "ascending": lambda random, shape: numpy.broadcast_to(numpy.linspace(-1, 1, shape[1], endpoint=False), shape),
    "descending": lambda random, shape: numpy.broadcast_to(numpy.linspace(1, -1, shape[1], endpoint=False), shape),
    "few_values": lambda random, shape: random.integers(0, 4, shape) / 2 - 1,
    "rectified": rectified,
    "masked": masked,
    "clustered": lambda random, shape: 1 + 3e-5 * random.random(shape),
    "zipf": lambda random, shape: numpy.floor(numpy.minimum(1 / (1 - random.random(shape)), 2**30)),
    "quantized": lambda random, shape: bell(random, shape, 64),
    "magnitudes": lambda random, shape: numpy.abs(bell(random, shape, 65536)),
}


def make_keys(row):
    """Keys distributed as the workload's; None where this script does not know how."""
    random = numpy.random.default_rng(1)
    shape, kind = (row.rows, row.n), TYPES.get(row.type)
    if kind is numpy.int32:
        return random.integers(-(2**31), 2**31, shape, kind) if row.input == "uniform" else None
    if kind is None or row.input not in INPUTS:
        return None
    return numpy.ascontiguousarray(INPUTS[row.input](random, shape), dtype=kind)


class Torch:
    """PyTorch's selection, on a host or on a GPU."""

    name = "torch::topk"

    @staticmethod
    def why_not(_):
        return "" if torch else WITHOUT_TORCH

    def __init__(self, keys, row, device):
        self.tensor = torch.from_numpy(keys).to(device)
        if row.type == "bf16":
            self.tensor = self.tensor.to(torch.bfloat16)
        self.row, self.on_gpu = row, device == "cuda"
        self.selected = None

    def call(self):
        self.selected = torch.topk(self.tensor, self.row.k, dim=1, sorted=self.row.sorted == "yes")

    def seconds(self):
        if not self.on_gpu:
            return wall_seconds(self.call)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self.call()
        end.record()
        torch.cuda.synchronize()
        return 1e-3 * begin.elapsed_time(end)

    def values(self):
        return self.selected.values.float().cpu().numpy() if self.tensor.dtype == torch.bfloat16 else self.selected.values.cpu().numpy()

    def keys(self):
        return self.tensor.float().cpu().numpy() if self.tensor.dtype == torch.bfloat16 else self.tensor.cpu().numpy()


class Numpy:
    """Positions, then the keys there; rows are shared out over the threads that PyTorch has, too."""

    name = "numpy::argpartition"

    @staticmethod
    def why_not(row):
        return "NumPy has no bfloat16" if row.type == "bf16" else ""

    def __init__(self, keys, row, _):
        self.row, self.all_keys, self.selected = row, keys, None
        self.parts = numpy.array_split(keys, min(row.rows, 8 * THREADS))
        self.pool = ThreadPoolExecutor(THREADS)

    def select(self, part):
        best = numpy.argpartition(part, self.row.n - self.row.k, axis=1)[:, self.row.n - self.row.k :]
        values = numpy.take_along_axis(part, best, axis=1)
        if self.row.sorted == "yes":
            order = numpy.argsort(-values, axis=1)
            values, best = (numpy.take_along_axis(a, order, axis=1) for a in (values, best))
        return values, best

    def call(self):
        self.selected = list(self.pool.map(self.select, self.parts))

    def seconds(self):
        return wall_seconds(self.call)

    def values(self):
        return numpy.concatenate([values for values, _ in self.selected])

    def keys(self):
        return self.all_keys


def wall_seconds(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def is_right(method, k):
    """The values are the best of the first row and of the last."""
    for row in (0, -1):
        best = numpy.sort(method.keys()[row])[::-1][:k]
        if not numpy.array_equal(numpy.sort(method.values()[row])[::-1], best):
            return False
    return True


def times_us(method, enough):
    """Of as many calls as fit so many seconds, at least five."""
    times, start = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < enough and len(times) < 1000):
        times.append(1e6 * method.seconds())
    return sorted(times)


def full_name(row, method):
    options = f"sorted:{row.sorted}/ties:{row.ties}"
    return f"top_k/{row.backend}/{method}/{row.type}/{row.input}/rows:{row.rows}/n:{row.n}/k:{row.k}/{options}"


def times_of(row, label, times):
    median = statistics.median(times)
    quarter = (len(times) - 1) // 4
    return {"iterations": len(times), "median_us": median, "best_us": times[0], "lower_quartile_us": times[quarter],
            "upper_quartile_us": times[-1 - quarter], "floor_us": row.floor_us, "over_floor": median / row.floor_us, "label": label}


def measure(kind, row, keys, device, seconds):
    """The times, or as Google Benchmark has it, an error: whatever a library raises, the others are measured."""
    why_not = kind.why_not(row) or ("" if keys is not None else f"no keys of type {row.type} and kind {row.input} are made here")
    try:
        if not why_not:
            method = kind(keys, row, device)
            method.call()
            label = method.name if is_right(method, row.k) else "WRONG ANSWER"
            return times_of(row, label, times_us(method, seconds))
    except Exception as error:  # pylint: disable=broad-exception-caught
        why_not = f"{type(error).__name__}: {error}".splitlines()[0]
    return {"error_occurred": True, "error_message": why_not}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="what --benchmark_out of perf_top_k wrote")
    parser.add_argument("--output", required=True, help="the JSON to write")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="of PyTorch; NumPy has the CPU alone")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each method and workload (0.5)")
    arguments = parser.parse_args()
    measured = []
    for row in report.read(arguments.files):
        keys = make_keys(row)
        for kind in (Torch,) if arguments.device == "cuda" else (Numpy, Torch):
            found = measure(kind, row, keys, arguments.device, arguments.seconds)
            measured.append({"name": full_name(row, kind.name), **found})
            result = found.get("error_message") or f"{found['median_us']:.1f} us"
            print(f"{row.workload}: {kind.name} {result}", flush=True)
    with open(arguments.files[0], encoding="utf-8") as file:
        context = json.load(file)["context"]
    context |= {"numpy": numpy.__version__, "torch": torch.__version__ if torch else "not installed", "torch threads": THREADS}
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump({"context": context, "benchmarks": measured}, file, indent=1)


if __name__ == "__main__":
    main()
