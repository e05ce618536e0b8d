#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times PyTorch's topk and NumPy's argpartition on the workloads of a perf_top_k JSON, and writes another
one that perf/table.py prints beside it. Both promise less than ktopk: which of equal keys they take is open."""
import argparse
import json
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
import torch

import report

TYPES = {"f32": numpy.float32, "f64": numpy.float64, "i32": numpy.int32}


def make_keys(row):
    """Keys distributed as the workload's; None where this script does not know how."""
    random = numpy.random.default_rng(1)
    shape, kind = (row.rows, row.n), TYPES.get(row.type)
    if kind is None or row.input not in ("uniform", "normal"):
        return None
    if kind is numpy.int32:
        return random.integers(-(2**31), 2**31, shape, kind) if row.input == "uniform" else None
    return random.random(shape, kind) if row.input == "uniform" else random.standard_normal(shape, kind)


def torch_topk(keys, row):
    tensor = torch.from_numpy(keys)
    return lambda: torch.topk(tensor, row.k, dim=1, sorted=row.sorted == "yes")


def numpy_argpartition(keys, row):
    """Positions, then the keys there; rows are shared out over the threads that PyTorch has, too."""

    def select(part):
        best = numpy.argpartition(part, row.n - row.k, axis=1)[:, row.n - row.k :]
        values = numpy.take_along_axis(part, best, axis=1)
        if row.sorted == "yes":
            order = numpy.argsort(-values, axis=1)
            values, best = (numpy.take_along_axis(a, order, axis=1) for a in (values, best))
        return values, best

    parts = numpy.array_split(keys, min(row.rows, 8 * torch.get_num_threads()))
    pool = ThreadPoolExecutor(torch.get_num_threads())
    return lambda: list(pool.map(select, parts))


def median_us(call):
    """Of as many calls as fit half a second, at least five."""
    call()
    times = []
    while len(times) < 5 or (sum(times) < 0.5 and len(times) < 1000):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def benchmark(row, method, us):
    options = f"sorted:{row.sorted}/ties:{row.ties}"
    name = f"top_k/{row.backend}/{method}/{row.type}/{row.input}/rows:{row.rows}/n:{row.n}/k:{row.k}/{options}"
    return {"name": name, "median_us": us, "floor_us": row.floor_us, "over_floor": us / row.floor_us, "label": method}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="what --benchmark_out of perf_top_k wrote")
    parser.add_argument("--output", required=True, help="the JSON to write")
    arguments = parser.parse_args()
    measured = []
    for row in report.read(arguments.files):
        keys = make_keys(row)
        if keys is None:
            continue
        for method, prepare in (("torch::topk", torch_topk), ("numpy::argpartition", numpy_argpartition)):
            measured.append(benchmark(row, method, median_us(prepare(keys, row))))
            print(f"{row.workload}: {method} {measured[-1]['median_us']:.1f} us", flush=True)
    with open(arguments.files[0], encoding="utf-8") as file:
        context = json.load(file)["context"]
    context |= {"torch": torch.__version__, "numpy": numpy.__version__, "torch threads": torch.get_num_threads()}
    with open(arguments.output, "w", encoding="utf-8") as file:
        json.dump({"context": context, "benchmarks": measured}, file, indent=1)


if __name__ == "__main__":
    main()
