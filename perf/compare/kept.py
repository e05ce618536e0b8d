# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What perf/results keeps of a run: the medians of one backend beside their bounds, in the columns of perf/bench/keep.py.
Quartiles, best times and numbers of calls stay in results.json."""
import pathlib
import sys
from dataclasses import replace

import results
import workloads
from analysis import Analysis

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import keep  # noqa: E402
import report as perf_report  # noqa: E402

FILE = "kept.csv"
WRONG = "WRONG ANSWER"
OTHER = "other"  # the workload of a shape that is none of the workloads'
MARKS = ("portable", "left", "ragged", "cold")  # of a method, in the order in which perf_top_k writes them
STATUSES = ("absent", "failed")
HEAD = ("machine", "size of the run", "contract tests", "did not run", "program", "backend", *STATUSES)

SHAPES = {(each.name, shape.name): shape for each in workloads.WORKLOADS for shape in (*each.quick, *each.shapes)}
WORKLOAD_OF = {replace(shape, gpu=False): workload for (workload, _), shape in SHAPES.items()}


def method_of(measurement, shape):
    ours = measurement.application in results.OURS
    here = {"portable": measurement.application == results.PORTABLE, "left": shape.layout == "left",
            "ragged": shape.lengths == "ragged", "cold": measurement.cache == "cold"}
    return "".join(["automatic" if ours else measurement.application, *(f":{mark}" for mark in MARKS if here[mark])])


def line_of(measurement):
    shape = SHAPES[measurement.workload, measurement.shape]
    return {"type": shape.type, "input": measurement.input, "rows": shape.rows, "n": shape.n, "k": shape.k,
            "options": "sorted" if shape.sorted == "yes" else "", "method": method_of(measurement, shape),
            "by": WRONG if measurement.wrong else measurement.algorithm, "metric": perf_report.TIME,
            "value": measurement.time, "bound": measurement.bound}


def head_of(run, platform):
    """(name, text) in order; a backend that did not run, and the cases that an application could not do, are named, too."""
    known = {**platform.context, **run.provenance}
    known.setdefault("ktopk commit", run.provenance.get("commit", "unknown"))
    yield "machine", run.machine
    yield "size of the run", "quick" if run.quick else "full"
    yield from known.items()
    if platform.contract:
        yield "contract tests", platform.contract
    yield from ((other.status, f"{other.backend}: {other.reason}") for other in run.platforms if other.status in STATUSES)
    left_out = [other.backend for other in run.platforms if other.status == "ran" and other is not platform]
    if left_out:
        yield "left out", ", ".join(left_out)
    found = Analysis([replace(run, platforms=[platform])])
    for application in found.applications:
        yield from (("did not run", f"{what}: {reason}") for _, what, reason in found.unserved(platform.key, application) if reason != WRONG)
    yield "program", "perf/compare/compare.py"
    yield "backend", platform.backend


def backend_of(run, wanted):
    """\\throws ValueError where the backend did not run, or none is wanted and there are several"""
    ran = [platform for platform in run.platforms if platform.status == "ran" and wanted in ("", platform.backend)]
    if len(ran) != 1:
        names = ", ".join(platform.backend for platform in run.platforms if platform.status == "ran")
        raise ValueError(f"a file is of one backend, and those that ran are {names or 'none'}")
    return ran[0]


def text_of(run, backend=""):
    platform = backend_of(run, backend)
    found = [each for each in run.measurements if each.backend == platform.backend and (each.time or each.wrong)]
    return keep.text_of(head_of(run, platform), map(line_of, found))


def measurement_of(line, machine, backend):
    application, marks = line["method"], set()
    for mark in reversed(MARKS):
        if application.endswith(f":{mark}"):
            application = application.removesuffix(f":{mark}")
            marks.add(mark)
    if application == "automatic":
        application = results.PORTABLE if "portable" in marks else results.TUNED
    shape = workloads.Shape(int(line["rows"]), int(line["n"]), int(line["k"]), line["type"], "left" if "left" in marks else "right",
                            "ragged" if "ragged" in marks else "even", "yes" if line["options"] == "sorted" else "no")
    wrong = line["by"] == WRONG
    return results.Measurement(
        WORKLOAD_OF.get(shape, OTHER), shape.name, line["input"], backend, application, "cold" if "cold" in marks else "warm",
        time=float(line["value"]), bound=float(line["bound"] or 0), algorithm="" if wrong else line["by"], wrong=wrong, machine=machine)


def platforms_of(head):
    known = dict(head)
    yield results.Platform(known["backend"], "ran", contract=known.get("contract tests", ""), machine=known["machine"])
    for status, text in head:
        if status in STATUSES:
            backend, _, reason = text.partition(": ")
            yield results.Platform(backend, status, reason, machine=known["machine"])


def read(path):
    head, lines = perf_report.read_kept(path)
    known = dict(head)
    machine, backend = known["machine"], known["backend"]
    return results.Run(
        machine, known["size of the run"] == "quick", {name: text for name, text in head if name not in HEAD}, list(platforms_of(head)),
        [measurement_of(line, machine, backend) for line in lines],
        [(backend, *text.split(": ", 1)) for name, text in head if name == "did not run"])


def read_either(folder):
    """What a run wrote to a folder; where that is not there, what is kept of it."""
    path = pathlib.Path(folder, FILE)
    return read(path) if path.is_file() and not pathlib.Path(folder, results.FILE).is_file() else results.read(folder)
