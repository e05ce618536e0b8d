# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs perf_top_k on the workloads, for every backend that is there."""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import provenance
import results
import workloads

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import report as perf_report  # noqa: E402

HOST_BASELINES = ("std::nth_element", "std::partial_sort", "__gnu_parallel::nth_element", "Kokkos::sort")
CUDA_BASELINES = ("cub::DeviceTopK", "cub::DeviceBatchedTopK", "Kokkos::sort")
PYTHON_BASELINES = ("numpy::argpartition", "torch::topk")
PYTHON_SCRIPT = BENCH / "baselines_python.py"
# What the caches of most machines may hold between calls, so that an application with other work in between sees more.
CACHED_BYTES = 64 << 20
MANY_ROWS = 1024
LONGEST_CUB_BATCHED = 8192
OUR_OUTPUT = "ktopk.json"


class Progress:
    """A line with a bar and the time left; where there is no terminal, a line for each tenth."""

    WIDTH = 30

    def __init__(self, total, out=sys.stdout):
        self.total, self.done, self.out, self.start, self.shown = total, 0, out, time.monotonic(), -1

    def step(self, text):
        self.done += 1
        part = self.done / self.total
        left = (time.monotonic() - self.start) * (1 - part) / part
        full = int(self.WIDTH * part)
        line = f"[{'#' * full}{'.' * (self.WIDTH - full)}] {self.done} of {self.total}, about {left:.0f} s left"
        if self.out.isatty():
            print(f"\r{line}  {text[:60]:60}", end="\n" if part == 1 else "", file=self.out, flush=True)
        elif int(10 * part) > self.shown:
            self.shown = int(10 * part)
            print(f"    {line}", file=self.out, flush=True)


class Job:
    """One process of perf_top_k: one application (or ktopk's two implementations) on one case."""

    why_missing = "perf_top_k does not have this case"

    def __init__(self, platform, case, methods, applications, quick, cache="warm"):
        self.platform, self.case, self.cache = platform, case, cache
        self.methods, self.applications = methods, applications
        self.limit = 60 if quick else 900
        self.min_time = 0.03 if quick else 0.2

    @property
    def text(self):
        workload, shape, keys = self.case
        return f"{self.platform.backend} {workload.name} {shape.name} {keys}: {self.methods}"

    def command(self, program, output):
        _, shape, keys = self.case
        implementations = ",".join("portable" if each == results.PORTABLE else "tuned" for each in self.applications)
        return [program, f"--backend={self.platform.backend}", f"--method={self.methods}", f"--implementation={implementations}",
                f"--rows={shape.rows}", f"--n={shape.n}", f"--k={shape.k}", f"--type={shape.type}", f"--input={keys}",
                f"--layout={shape.layout}", f"--lengths={shape.lengths}", f"--sorted={shape.sorted}", f"--cache={self.cache}",
                f"--benchmark_min_time={self.min_time}", f"--benchmark_out={output}", "--benchmark_out_format=json"]

    def blank(self, application, **fields):
        workload, shape, keys = self.case
        return results.Measurement(workload.name, shape.name, keys, self.platform.backend, application, self.cache, **fields)

    def run(self, program, folder):
        """The measurements, and perf_top_k's description of the machine."""
        ours = self.applications == list(results.OURS)
        return self.run_command(lambda output: self.command(program, output), pathlib.Path(folder, OUR_OUTPUT if ours else "out.json"))

    def run_command(self, command, output):
        output.unlink(missing_ok=True)
        error = run_process(command(output), self.limit)
        data = read_json(output)
        found = [self.measurement(line) for line in data.get("benchmarks", [])]
        missing = set(self.applications) - {each.application for each in found}
        found += [self.blank(application, error=error or self.why_missing) for application in sorted(missing)]
        return found, data.get("context", {})

    def measurement(self, line):
        method = perf_report.NAME.match(line["name"])["method"]
        application = application_of(method)
        if line.get("error_occurred"):
            message = line.get("error_message", "")
            return self.blank(application, error=message, wrong="WRONG" in message)
        label = line.get("label", "").removeprefix("ktopk::")
        return self.blank(
            application, time=rounded(line["median_us"]), best=rounded(line["best_us"]),
            lower_quartile=rounded(line["lower_quartile_us"]), upper_quartile=rounded(line["upper_quartile_us"]),
            calls=line["iterations"], bound=rounded(line["floor_us"]),
            algorithm="" if "WRONG" in label else label, wrong="WRONG" in label)


@dataclass(frozen=True)
class Interpreter:
    """The Python that has NumPy and PyTorch, or why there is none."""

    path: str = ""
    why_absent: str = "no Python with NumPy and PyTorch was named"


class PythonJob(Job):
    """NumPy and PyTorch on the case that ktopk was measured with just before."""

    why_missing = "baselines_python.py does not have this case"

    def __init__(self, platform, case, quick, python):
        on_gpu = platform.backend == "Cuda"
        super().__init__(platform, case, "Python", PYTHON_BASELINES[on_gpu:], quick)
        self.python, self.device = python, "cuda" if on_gpu else "cpu"

    def run(self, _, folder):
        ours = pathlib.Path(folder, OUR_OUTPUT)
        absent = self.python.why_absent if not self.python.path else "" if ours.exists() else "there is no bound: ktopk was not measured"
        if absent:
            return [self.blank(application, error=absent) for application in self.applications], {}
        return self.run_command(
            lambda output: [self.python.path, "-B", str(PYTHON_SCRIPT), str(ours), "--output", str(output), "--device", self.device,
                            "--seconds", str(self.min_time)], pathlib.Path(folder, "python.json"))


def rounded(microseconds):
    return float(f"{microseconds:.5g}")


def application_of(method):
    """automatic:portable:left is ktopk portable; a baseline keeps its name."""
    baseline = any(method.startswith(name) for name in (*HOST_BASELINES, *CUDA_BASELINES, *PYTHON_BASELINES))
    if not baseline:
        return results.PORTABLE if ":portable" in method else results.TUNED
    for mark in (":ragged", ":cold"):
        method = method.replace(mark, "")
    return method


def read_json(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def run_process(command, limit):
    """Why it failed, or an empty text."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return f"stopped after {limit} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = done.stderr.strip().splitlines()
    return f"exit status {done.returncode}: {lines[-1] if lines else 'no message'}"


def cub_for(shape):
    """What CUB serves: unsorted output, of a single row or of many short rows of one length."""
    if shape.sorted == "yes" or shape.lengths == "ragged" or shape.type[0] in "iu":
        return []
    if shape.rows == 1:
        return ["cub::DeviceTopK"]
    return ["cub::DeviceBatchedTopK"] if shape.n <= LONGEST_CUB_BATCHED and shape.type != "f64" else []


def baselines_for(platform, shape, quick):
    """A sort of every single row of many takes minutes; a quick run has the two fastest."""
    if platform.backend == "Cuda":
        names = [*cub_for(shape), "Kokkos::sort"]
    else:
        names = HOST_BASELINES[:1] if platform.backend != "OpenMP" else HOST_BASELINES[::2] if quick else HOST_BASELINES
    return [name for name in names if shape.layout == "right" and not (name in ("Kokkos::sort", "__gnu_parallel::nth_element") and shape.rows > MANY_ROWS)]


def has_python_baselines(platform, shape):
    """Once a machine's cores and once its GPU; they take rows of one length, one behind the other."""
    return platform.backend in ("OpenMP", "Cuda") and shape.layout == "right" and shape.lengths == "even"


def jobs_of(platform, cases, quick, python):
    cold = set()
    for case in cases:
        workload, shape, _ = case
        yield Job(platform, case, "automatic", list(results.OURS), quick)
        if has_python_baselines(platform, shape):
            yield PythonJob(platform, case, quick, python)
        for name in baselines_for(platform, shape, quick):
            yield Job(platform, case, name, [name], quick)
        group = workload.name if quick else (workload.name, shape)
        if shape.bytes <= CACHED_BYTES and group not in cold:
            cold.add(group)
            yield Job(platform, case, "automatic", [results.TUNED], quick, "cold")


def measure(platforms, programs, cases_of, quick, python=Interpreter()):
    """All measurements. A platform that ran gets the description of its machine and build."""
    jobs = [job for platform in platforms if platform.status == "ran" for job in jobs_of(platform, cases_of(platform), quick, python)]
    progress, measured = Progress(len(jobs)), []
    with tempfile.TemporaryDirectory() as folder:
        for job in jobs:
            found, context = job.run(programs[job.platform.backend], folder)
            measured += found
            job.platform.context = job.platform.context or described(context, programs[job.platform.backend])
            progress.step(job.text)
    return measured


def described(context, program):
    unwanted = {"executable", "host_name", "load_avg", "caches", "library_build_type", "cpu_scaling_enabled", "date"}
    known = {name: value for name, value in context.items() if name not in unwanted}
    return {**known, **provenance.of_build(program)} if known else {}


def cases_for(platform, quick, names):
    return list(workloads.cases(quick, names, gpu=platform.backend == "Cuda"))
