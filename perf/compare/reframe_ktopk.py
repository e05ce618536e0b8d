# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ReFrame test for each workload of the comparison:

    reframe -c perf/compare/reframe_ktopk.py -S ktopk_perf.program=/path/to/perf_top_k -r

It is sane if every answer is right. The reference of a system is a former run of ./dev compare there, in
perf/results/compare/SYSTEM, or in the folder given by -S ktopk_perf.references=DIR."""
import json
import os
import pathlib
import sys

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import parameter, performance_function, run_before, sanity_function, variable

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import kept  # noqa: E402
import results  # noqa: E402
import workloads  # noqa: E402

STORED = FOLDER.parent / "results" / "compare"


@rfm.simple_test
class ktopk_perf(rfm.RunOnlyRegressionTest):
    descr = "top-k selection beside the time to read the keys once"
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    workload = parameter([each.name for each in workloads.WORKLOADS])
    program = variable(str, value="perf_top_k")
    backend = variable(str, value="OpenMP")
    quick = variable(bool, value=True)
    references = variable(str, value="")
    tolerance = variable(float, value=0.25)
    output = "measured.json"

    @run_before("run")
    def set_command(self):
        shape = self.shape
        self.executable = self.program
        self.executable_opts = [
            f"--backend={self.backend}", "--method=automatic", f"--rows={shape.rows}", f"--n={shape.n}", f"--k={shape.k}",
            f"--type={shape.type}", f"--input={self.keys}", f"--layout={shape.layout}", f"--lengths={shape.lengths}",
            f"--sorted={shape.sorted}", "--benchmark_min_time=0.05", f"--benchmark_out={self.output}", "--benchmark_out_format=json"]
        self.env_vars = {"OMP_PROC_BIND": "spread", "OMP_PLACES": "threads"}

    @run_before("performance")
    def set_reference(self):
        former = self.former_over_bound()
        if former:
            self.reference = {"*": {"over_bound": (former, None, self.tolerance, "bounds")}}

    @property
    def shape(self):
        chosen = workloads.named(self.workload)
        return (chosen.quick if self.quick else chosen.shapes)[0]

    @property
    def keys(self):
        return workloads.named(self.workload).inputs[0]

    def former_over_bound(self):
        """Of the same case in the stored run of this system; None without one."""
        folder = pathlib.Path(self.references or STORED / self.current_system.name)
        if not any((folder / file).is_file() for file in (kept.FILE, results.FILE)):
            return None
        case = (self.workload, self.shape.name, self.keys)
        found = [m for m in kept.read_either(folder).measurements
                 if (m.problem, m.backend, m.application, m.cache) == (case, self.backend, results.TUNED, "warm") and m.served]
        return found[0].time / found[0].bound if found else None

    def measured(self):
        with open(os.path.join(self.stagedir, self.output), encoding="utf-8") as file:
            return json.load(file)["benchmarks"]

    @sanity_function
    def every_answer_is_right(self):
        lines = self.measured()
        errors = [line["error_message"] for line in lines if line.get("error_occurred")]
        return sn.all([sn.assert_eq(len(lines), 1, "perf_top_k measured {0} cases"), sn.assert_false(errors, f"{errors}")])

    @performance_function("us")
    def time(self):
        return self.measured()[0]["median_us"]

    @performance_function("us")
    def bound(self):
        return self.measured()[0]["floor_us"]

    @performance_function("bounds")
    def over_bound(self):
        return self.measured()[0]["over_floor"]
