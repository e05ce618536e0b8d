#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What keep.py makes of a run says the same as the run. usage: test_keep.py WHAT-PERF_TOP_K-WROTE"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import choice
import keep
import report

HERE = pathlib.Path(__file__).parent
RUN = sys.argv.pop()


def of_one_backend(path):
    """The rows of a run, which may be of several backends, whose names a kept file does not have."""
    backend = keep.backends_of(report.benchmarks(path))[0]
    return backend, [row for row in report.read([path]) if row.backend == backend]


class KeepTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.kept = pathlib.Path(temporary.name, "kept.csv")
        self.backend, self.rows = of_one_backend(RUN)
        self.assertGreater(len(self.rows), 10)

    def write(self, lines):
        context = [*report.context(RUN), ("backend", self.backend)]
        self.kept.write_text(keep.text_of(context, lines), encoding="utf-8")

    def test_workloads_methods_and_times_are_those_of_the_run(self):
        ours = [each for each in report.benchmarks(RUN) if f"/{self.backend}/" in each["name"]]
        self.write(keep.lines_of(ours, [keep.MEDIAN]))
        again = {row.workload: row for row in report.read([self.kept])}
        self.assertEqual(list(again), [row.workload for row in self.rows])
        for row in self.rows:
            kept = again[row.workload].measured
            self.assertEqual({name: one.algorithm for name, one in kept.items()},
                             {name: one.algorithm for name, one in row.measured.items()})
            for name, one in row.measured.items():
                self.assertAlmostEqual(kept[name].median_us / one.median_us, 1, places=4)
                self.assertAlmostEqual(kept[name].over_floor / one.over_floor, 1, places=4)

    def test_the_machine_is_that_of_the_run(self):
        self.write(keep.lines_of(report.benchmarks(RUN), [keep.MEDIAN]))
        self.assertEqual(report.machine(self.kept)[:-1], report.machine(RUN))

    def test_the_choice_is_compared_with_each_algorithm_that_served(self):
        for row in self.rows:
            named = {name for name, one in row.measured.items() if not report.is_baseline(name) and name != "automatic"}
            self.assertEqual(set(choice.times_of(row)), {name for name in named if name in row.measured[name].algorithm})

    def test_a_kept_choice_loses_as_much(self):
        self.write(choice.kept_lines(self.rows))
        losses = {row.workload: loss for loss, row in choice.losses(report.read([self.kept]))}
        for loss, row in choice.losses(self.rows):
            self.assertAlmostEqual(losses[row.workload] / loss, 1, places=3)

    def test_a_run_of_several_backends_is_refused(self):
        command = [sys.executable, "-B", HERE / "keep.py", RUN, self.kept]
        result = subprocess.run(command, capture_output=True, text=True)
        several = len(keep.backends_of(report.benchmarks(RUN))) > 1
        self.assertEqual(result.returncode != 0, several)
        self.assertEqual("a file is of one backend" in result.stderr, several)


class NumberTest(unittest.TestCase):
    def test_six_digits_without_an_exponent(self):
        for value, text in ((1234567.8, "1234568"), (0.0000123, "0.0000123"), (11.68, "11.68"), (0.5, "0.5"), ("", "")):
            self.assertEqual(keep.number(value), text)


if __name__ == "__main__":
    unittest.main()
