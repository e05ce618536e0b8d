#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arithmetic of the comparison, its reports from a sample, and what it makes of perf_top_k's output."""
import contextlib
import csv
import dataclasses
import io
import json
import pathlib
import re
import stat
import sys
import tempfile
import unittest
import unittest.mock
from xml.etree import ElementTree

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import analysis  # noqa: E402
import compare  # noqa: E402
import kept  # noqa: E402
import measure  # noqa: E402
import metrics  # noqa: E402
import report_html  # noqa: E402
import report_markdown  # noqa: E402
import results  # noqa: E402
import wording  # noqa: E402
import workloads  # noqa: E402
from analysis import FIELD, HARDWARE  # noqa: E402
from measure import perf_report  # noqa: E402

HOST, GPU = FOLDER / "sample" / "host", FOLDER / "sample" / "gpu"
OPENMP, SERIAL, THREADS, CUDA = ("a host", "OpenMP"), ("a host", "Serial"), ("a host", "Threads"), ("a GPU", "Cuda")
EXPERTS = ("moe-routing", "40000x256-k8-f32", "normal")


def sample(*folders):
    return analysis.Analysis([results.read(folder) for folder in folders or (HOST, GPU)])


def measurement(time, bound, **fields):
    return results.Measurement("w", "s", "i", "OpenMP", results.TUNED, time=time, bound=bound, **fields)


class MetricsTest(unittest.TestCase):
    def test_harmonic_mean(self):
        self.assertAlmostEqual(metrics.harmonic_mean([0.5, 1.0]), 2 / 3)
        self.assertEqual(metrics.harmonic_mean([0.5, 0.0]), 0)
        self.assertEqual(metrics.harmonic_mean([0.5, None]), 0)
        self.assertEqual(metrics.harmonic_mean([]), 0)

    def test_geometric_mean(self):
        self.assertAlmostEqual(metrics.geometric_mean([1, 4]), 2)

    def test_architectural_efficiency_is_at_most_one(self):
        self.assertEqual(metrics.architectural_efficiency(2, 8), 0.25)
        self.assertEqual(metrics.architectural_efficiency(8, 2), 1)
        self.assertEqual(metrics.architectural_efficiency(8, 0), 0)

    def test_application_efficiency(self):
        self.assertEqual(metrics.application_efficiency(2, 8), 0.25)

    def test_portability_is_zero_where_a_platform_is_not_served(self):
        self.assertAlmostEqual(metrics.performance_portability({"a": 0.5, "b": 1.0}, ["a", "b"]), 2 / 3)
        self.assertEqual(metrics.performance_portability({"a": 0.5}, ["a", "b"]), 0)

    def test_cascade_falls(self):
        found = metrics.cascade([0.5, 1.0, 0.0])
        self.assertEqual([efficiency for efficiency, _ in found], [1.0, 0.5, 0.0])
        self.assertAlmostEqual(found[1][1], 2 / 3)
        self.assertEqual(found[2][1], 0)

    def test_a_slower_machine_is_no_slowdown(self):
        self.assertAlmostEqual(metrics.slowdown(measurement(20, 10), measurement(10, 5)), 1)
        self.assertAlmostEqual(metrics.slowdown(measurement(20, 5), measurement(10, 5)), 2)

    def test_a_bound_measured_faster_is_no_slowdown(self):
        self.assertAlmostEqual(metrics.slowdown(measurement(10, 2), measurement(10, 5)), 1)


class AnalysisTest(unittest.TestCase):
    def test_what_is_absent_is_not_in_the_set_and_what_failed_is(self):
        self.assertEqual(sample().platforms, [OPENMP, SERIAL, THREADS, CUDA])

    def test_a_failed_platform_makes_the_metric_zero(self):
        found = sample()
        self.assertEqual(found.portability(HARDWARE, results.TUNED), 0)
        found.platforms.remove(THREADS)
        # OpenMP and Serial: bound / time is 1/2, 1/4, 4/5; Cuda: 1/2, 2/5, 3/4.
        platforms = [3 / (2 + 4 + 1.25)] * 2 + [3 / (2 + 2.5 + 4 / 3)]
        self.assertAlmostEqual(found.portability(HARDWARE, results.TUNED), 3 / sum(1 / each for each in platforms))

    def test_application_efficiency_is_over_the_best_right_answer(self):
        found = sample()
        self.assertEqual(found.best[OPENMP, EXPERTS], 2000)
        quantized = (*EXPERTS[:2], "quantized")
        self.assertEqual(found.best[OPENMP, quantized], 4000)  # the faster baseline is wrong
        retrieval = next(problem for problem in found.problems if problem[0] == "vector-retrieval")
        self.assertAlmostEqual(found.efficiency(FIELD, found.get(OPENMP, retrieval, results.TUNED)), 0.8)

    def test_what_does_not_serve_all_cases_has_no_efficiency_on_the_platform(self):
        found = sample()
        self.assertEqual(found.efficiency_on(HARDWARE, "std::nth_element", OPENMP), 0)
        self.assertAlmostEqual(found.where_served(HARDWARE, "std::nth_element"), 0.05)
        self.assertEqual(found.coverage("std::nth_element"), (2, 9))
        self.assertIsNone(found.median_over_bound("nothing"))

    def test_fastest_and_median(self):
        found = sample()
        self.assertEqual([found.fastest_in(name) for name in (*results.OURS, "std::nth_element")], [8, 1, 0])
        self.assertAlmostEqual(found.median_over_bound(results.TUNED), 2)

    def test_a_workload_of_a_platform(self):
        found = sample()
        self.assertAlmostEqual(found.efficiency_of_workload(HARDWARE, results.TUNED, OPENMP, "moe-routing"), 2 / (2 + 4))
        self.assertEqual(found.efficiency_of_workload(HARDWARE, results.TUNED, THREADS, "moe-routing"), 0)
        self.assertIsNone(found.efficiency_of_workload(HARDWARE, results.TUNED, OPENMP, "papers"))

    def test_portable_against_tuned(self):
        mean, worst, problem = sample().portable_against_tuned(OPENMP)
        self.assertAlmostEqual(mean, (2 * 1.25 * 0.8) ** (1 / 3))
        self.assertEqual((worst, problem), (2, EXPERTS))
        self.assertIsNone(sample().portable_against_tuned(SERIAL))

    def test_a_machine_with_other_work_is_told(self):
        found = sample(HOST)
        self.assertAlmostEqual(found.spread_on("a host"), 0.03)
        self.assertNotIn("other work", report_markdown.summary(found))
        for m in found.measurements:
            m.upper_quartile = 2 * m.time
        self.assertIn("other work", report_markdown.summary(found))
        for m in found.measurements:
            m.calls = 1
        self.assertIsNone(found.spread_on("a host"))

    def test_where_ktopk_loses(self):
        found = sample()
        self.assertEqual(found.beaten(), [])  # the only faster baseline is wrong
        found.get(OPENMP, EXPERTS, "std::nth_element").time = 1000
        (ratio, m, other), = found.beaten()
        self.assertEqual((ratio, m.problem, other.application), (2, EXPERTS, "std::nth_element"))
        farthest = found.farthest(2)
        self.assertEqual([(m.backend, m.input) for m in farthest], [("OpenMP", "quantized"), ("Serial", "quantized")])

    def test_nothing_is_silently_missing(self):
        found = list(sample().did_not_run())
        self.assertIn(("a host: HIP", "everything", "absent: there is no hipcc here"), found)
        self.assertIn(("a host: Threads", "everything", "failed: it does not build"), found)
        self.assertIn(("a host: OpenMP", "std::nth_element, 1 of 3 cases", "WRONG ANSWER"), found)
        self.assertIn(("a host: OpenMP", "std::nth_element, 1 of 3 cases", "stopped after 900 s"), found)
        self.assertIn(("a host: Serial", "ktopk portable, all cases", "this build lists no tuned implementations for the backend"), found)

    def test_a_machine_counts_once(self):
        with self.assertRaisesRegex(ValueError, "--machine"):
            sample(HOST, HOST)

    def test_changes(self):
        now, before = sample(HOST), sample(HOST)
        self.assertEqual(analysis.changes(now, before, 1.1), ([], [], 11))
        now.get(OPENMP, EXPERTS, results.TUNED).time *= 1.5
        now.get(SERIAL, EXPERTS, results.TUNED).time /= 2
        gone = now.get(OPENMP, EXPERTS, results.PORTABLE)
        gone.time, gone.error = 0, "exit status 1"
        now.get(OPENMP, EXPERTS, "std::nth_element").time *= 9
        slower, faster, _ = analysis.changes(now, before, 1.1)
        self.assertEqual([each.measurement.application for each in slower], [results.PORTABLE, results.TUNED])
        self.assertAlmostEqual(slower[1].ratio, 1.5)
        self.assertEqual([each.measurement.backend for each in faster], ["Serial"])
        self.assertEqual(len(analysis.changes(now, before, 1.6)[0]), 1)


class ReportTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def report(self, *words):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return compare.main(["report", "--out", str(self.out), *map(str, words)])

    def text(self, name):
        return (self.out / name).read_text(encoding="utf-8")

    def test_both_reports_tell_all(self):
        self.assertEqual(self.report(HOST, GPU), 0)
        for name in ("report.md", "report.html"):
            for words in ("a host: OpenMP", "a GPU: Cuda", "there is no hipcc here", "it does not build", "WRONG ANSWER", "did not run",
                          "Vector retrieval", "cub::DeviceTopK", "0123456789abcdef", "./dev compare"):
                self.assertIn(words, self.text(name), name)

    def test_the_pictures_are_well_formed(self):
        self.report(HOST, GPU)
        pictures = re.findall(r"<svg.*?</svg>", self.text("report.html"), re.DOTALL)
        self.assertEqual(len(pictures), 2 + 2)  # cascades, workloads
        for picture in pictures:
            root = ElementTree.fromstring(picture)
            width = float(root.get("viewBox").split()[2])
            for box in root.iter("{http://www.w3.org/2000/svg}rect"):
                self.assertGreaterEqual(float(box.get("x")), 0)
                self.assertLessEqual(float(box.get("x")) + float(box.get("width")), width)

    def test_a_machine_where_nothing_ran_has_a_report(self):
        run = results.Run("a host", True, {}, [results.Platform("Cuda", "absent", "there is no nvcc here"),
                                               results.Platform("OpenMP", "failed", "it does not build")], [])
        results.write(run, self.out)
        self.assertEqual(self.report(self.out), 0)
        for name in ("report.md", "report.html"):
            self.assertIn("there is no nvcc here", self.text(name))

    def test_the_page_needs_no_network(self):
        self.report(HOST)
        self.assertEqual(re.findall(r"(?:src|href)=|url\(|@import|<link|fetch\(|https?:(?!//www[.]w3[.]org/2000/svg)", self.text("report.html")), [])

    def test_what_serves_no_case_is_no_line_of_the_summary(self):
        found = sample()
        self.assertIn("| std::nth_element | 2 of 9 |", report_markdown.summary(found))
        for m in found.measurements:
            if m.application in (results.PORTABLE, "std::nth_element"):
                m.time, m.error = 0, "not measured"
        text = report_markdown.summary(found)
        self.assertNotIn("| std::nth_element |", text)
        self.assertIn("Measured nowhere, for the reasons below: std::nth_element.", text)
        self.assertIn("| ktopk portable | 0 of 9 |", text)  # ours are never left out

    def test_a_cascade_has_three_platforms(self):
        self.report(HOST)
        self.assertIn("<h2>Cascade</h2>", self.text("report.html"))
        self.report(GPU)
        self.assertNotIn("Cascade", self.text("report.html"))
        self.assertNotIn("<polyline", self.text("report.html"))
        self.assertIn("<td class=whole>ktopk</td><td class=whole data-key=0.51>0.51</td><td data-key=0.51>0.51</td>", self.text("report.html"))

    def test_each_table_scrolls_with_its_first_column_in_place_and_sorts(self):
        self.report(HOST, GPU)
        text = self.text("report.html")
        tables = text.count("<table")
        self.assertGreater(tables, 5)
        for words in ('<div class="scroll"><table', "<thead>", "</thead><tbody>", "</tbody></table></div>"):
            self.assertEqual(text.count(words), tables)
        self.assertRegex(text, r"td:first-child [{] position: sticky; left: 0;")
        self.assertIn(f"<script>{report_html.SCRIPT}</script>", text)

    def test_a_heat_map_has_a_cell_for_each_implementation_on_each_platform(self):
        found = sample()
        root = ElementTree.fromstring(re.sub(r"(class|colspan|data-key)=([\w.]+)", r'\1="\2"', report_html.heat_map(found, HARDWARE)))
        platforms, implementations = root.findall(".//thead/tr")
        self.assertEqual([head.text for head in platforms[1:]], ["a host: OpenMP", "a host: Serial", "a host: Threads", "a GPU: Cuda"])
        self.assertEqual([head.text for head in implementations], ["workload"] + ["tuned", "portable"] * 4)
        for row in root.findall(".//tbody/tr"):
            self.assertEqual(len(row), len(implementations))
        self.assertEqual([cell.get("style") for cell in root.find(".//tbody/tr")][:2], [None, "--part:0.33"])

    def test_csv_has_the_columns_of_p3analysis(self):
        self.report(HOST, GPU)
        rows = list(csv.DictReader(io.StringIO(self.text("results.csv"))))
        self.assertEqual(list(rows[0]), ["problem", "platform", "application", "fom", "arch eff", "app eff"])
        row = next(row for row in rows if row["platform"] == "a host: OpenMP" and row["application"] == "ktopk portable")
        self.assertEqual((row["problem"], row["fom"], row["arch eff"], row["app eff"]), ("/".join(EXPERTS), "4000", "0.2500", "0.5000"))
        self.assertEqual(sum(row["application"] == "std::nth_element" for row in rows), 2)

    def test_a_regression_has_its_own_exit_status(self):
        run = results.read(HOST)
        run.measurements[0].time *= 2
        slow = self.out / "slow"
        slow.mkdir()
        results.write(run, slow)
        self.assertEqual(self.report(slow, "--baseline", HOST), compare.REGRESSED)
        self.assertIn("**1 slower**", self.text("report.md"))
        self.assertIn("Changes since the baseline", self.text("report.html"))
        self.assertEqual(self.report(slow, "--baseline", HOST, "--tolerance", "2.5"), 0)

    def test_a_folder_without_results_is_an_error(self):
        self.assertEqual(self.report(self.out), 2)

    def test_results_survive_being_written(self):
        run = results.read(HOST)
        results.write(run, self.out)
        self.assertEqual(results.read(self.out), run)
        self.assertEqual((self.out / results.FILE).read_text(), (HOST / results.FILE).read_text())


class KeptTest(unittest.TestCase):
    """kept.csv says of a backend what results.json says, but for quartiles, best times and numbers of calls."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name)

    def keep(self, *words):
        with contextlib.redirect_stderr(io.StringIO()):
            return compare.main(["keep", *map(str, words)])

    def kept(self, folder, backend):
        self.assertEqual(self.keep(folder, self.out, "--backend", backend), 0)
        return kept.read(self.out / kept.FILE)

    def test_times_bounds_and_algorithms_are_those_of_the_run(self):
        for folder, backend in ((HOST, "OpenMP"), (HOST, "Serial"), (GPU, "Cuda")):
            now = [dataclasses.replace(m, best=0, lower_quartile=0, upper_quartile=0, calls=0)
                   for m in results.read(folder).measurements if m.backend == backend and (m.time or m.wrong)]
            self.assertGreater(len(now), 2)
            self.assertEqual(self.kept(folder, backend).measurements, now)

    def test_all_workloads_and_applications_survive(self):
        cases = [case for quick in (False, True) for case in workloads.cases(quick, gpu=True)]
        measured = [results.Measurement(each.name, shape.name, keys, "Cuda", application, cache, 1.5, bound=1, machine="a GPU")
                    for each, shape, keys in cases for application in (*results.OURS, *measure.HOST_BASELINES, *measure.CUDA_BASELINES)
                    for cache in ("warm", "cold")]
        results.write(results.Run("a GPU", False, {}, [results.Platform("Cuda", "ran")], measured), self.out)
        self.assertEqual(self.kept(self.out, "Cuda").measurements, measured)

    def test_a_shape_has_one_workload(self):
        self.assertEqual(len(kept.WORKLOAD_OF), len(kept.SHAPES))

    def test_the_machine_and_what_did_not_run_are_kept(self):
        run, was = self.kept(HOST, "OpenMP"), results.read(HOST)
        self.assertEqual((run.machine, run.quick), (was.machine, was.quick))
        self.assertLessEqual(was.provenance.items(), run.provenance.items())
        self.assertEqual(run.provenance["left out"], "Serial")
        self.assertEqual([(each.backend, each.status) for each in run.platforms], [("OpenMP", "ran"), ("Threads", "failed"), ("HIP", "absent")])
        told = list(analysis.Analysis([run]).did_not_run())
        for line in (("OpenMP", "std::nth_element, 1 of 3 cases", "stopped after 900 s"), ("HIP", "everything", "absent: there is no hipcc here")):
            self.assertIn(line, told)
        self.assertIn("WRONG ANSWER", [reason for _, _, reason in told])

    def test_the_report_takes_it_beside_a_run(self):
        self.kept(GPU, "Cuda")
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(compare.main(["report", "--out", str(self.out), str(self.out), str(HOST), "--baseline", str(self.out)]), 0)
        text = (self.out / "report.md").read_text(encoding="utf-8")
        self.assertRegex(text, r"[|] a GPU: Cuda [|] [\d.]+ us [|] [\d.]+ us [(][\d.]+[)] [|] - [|]")  # the spread is not kept
        self.assertIn("a host: OpenMP", text)

    def test_what_a_run_wrote_counts_before_what_is_kept(self):
        run = self.kept(GPU, "Cuda")
        self.assertEqual(kept.read_either(self.out), run)
        results.write(results.read(GPU), self.out)
        self.assertEqual(kept.read_either(self.out), results.read(GPU))

    def test_the_columns_are_those_of_every_measurement(self):
        self.kept(GPU, "Cuda")
        head, lines = perf_report.read_kept(self.out / kept.FILE)
        self.assertEqual(tuple(lines[0]), perf_report.COLUMNS)
        self.assertLessEqual({"ktopk commit", "backend", "machine"}, set(dict(head)))

    def test_a_file_is_of_one_backend(self):
        self.assertEqual([self.keep(HOST, self.out), self.keep(HOST, self.out, "--backend", "Threads"), self.keep(self.out, self.out)], [2, 2, 2])
        self.assertEqual(self.keep(GPU, self.out), 0)


class WordingTest(unittest.TestCase):
    def test_figures_have_few_digits(self):
        self.assertEqual([wording.ratio(x) for x in (1.234, 12.34, 123.4)], ["1.23", "12.3", "123"])
        self.assertEqual([wording.efficiency(x) for x in (0, 0.0123, 0.5)], ["0", "0.012", "0.50"])
        self.assertEqual([wording.microseconds(x) for x in (1.234, 123.4, 12_340, 123_400)], ["1.2 us", "123 us", "12.3 ms", "123 ms"])

    def test_a_column_of_figures_sorts_by_them(self):
        for cell, key in (("11.3 ms", 11300), ("7831 us (4.81) std::partial_sort", 7831), ("16 of 145", 16), ("±3 %", 3), ("0.0017", 0.0017),
                          ("-", None), ("did not run", None), ("1 x 10000000, k = 100", None), ("NVIDIA H200: Cuda", None)):
            self.assertEqual(report_html.sort_key(cell), key, cell)

    def test_a_bar_cannot_break_a_table(self):
        self.assertEqual(report_markdown.table(["a"], [["b|c"]]).splitlines()[2], "| b\\|c |")


class WorkloadsTest(unittest.TestCase):
    def test_inputs_are_those_of_the_tests(self):
        text = (FOLDER.parents[1] / "tests" / "support" / "inputs.hpp").read_text(encoding="utf-8")
        known = set(re.findall(r'\{Input::\w+, "(\w+)"\}', text))
        used = {keys for each in workloads.WORKLOADS for keys in each.inputs}
        self.assertEqual(used - known, set())
        self.assertTrue(used)

    def test_names_are_unique(self):
        for each in workloads.WORKLOADS:
            names = [shape.name for shape in dict.fromkeys((*each.quick, *each.shapes))]
            self.assertEqual(len(names), len(set(names)), each.name)

    def test_every_k_fits_its_row(self):
        for each in workloads.WORKLOADS:
            for shape in (*each.quick, *each.shapes):
                self.assertLessEqual(shape.k, shape.n)

    def test_bytes(self):
        self.assertEqual(workloads.Shape(2, 100, 1, "bf16").bytes, 400)
        self.assertEqual(workloads.ragged(workloads.Shape(2, 100, 1)).bytes, 400)

    def test_a_quick_run_is_small_and_has_every_workload(self):
        quick = list(workloads.cases(quick=True))
        self.assertEqual({each.name for each, _, _ in quick}, {each.name for each in workloads.WORKLOADS})
        self.assertLessEqual(max(shape.bytes for _, shape, _ in quick), 1 << 26)
        self.assertLess(sum(1 for _ in quick), 40)

    def test_gpus_get_more(self):
        self.assertGreater(len(list(workloads.cases(False, gpu=True))), len(list(workloads.cases(False))))


class FakeProgram:
    """Stands for perf_top_k or for Python: writes the given lines, or does something else."""

    def __init__(self, folder, lines=(), script=""):
        self.path = pathlib.Path(folder, "perf_top_k")
        data = json.dumps({"context": {"cpu": "a processor"}, "benchmarks": list(lines)})
        self.path.write_text(f"#!{sys.executable}\nimport sys, time\n{script}\n"
                             "words = ' '.join(sys.argv).replace('--benchmark_out=', '--output ').split()\n"
                             f"open(words[words.index('--output') + 1], 'w').write({data!r})\n", encoding="utf-8")
        self.path.chmod(self.path.stat().st_mode | stat.S_IXUSR)


def benchmark(method, **fields):
    times = {"median_us": 20.0, "best_us": 19.0, "lower_quartile_us": 19.5, "upper_quartile_us": 21.0, "floor_us": 10.0, "over_floor": 2.0}
    name = f"top_k/OpenMP/{method}/f32/normal/rows:1/n:1000/k:10/sorted:no/ties:lowest_index/manual_time"
    return {"name": name, "iterations": 7, "label": "radix", **times, **fields}


class JobTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.platform = results.Platform("OpenMP", "ran")
        self.case = next(iter(workloads.cases(True, ["moe-routing"])))

    def run_job(self, lines=(), script="", methods="automatic", applications=(results.TUNED,), limit=60):
        job = measure.Job(self.platform, self.case, methods, list(applications), quick=True)
        job.limit = limit
        return job.run(FakeProgram(self.folder, lines, script).path, self.folder)[0]

    def test_times_are_read(self):
        found, = self.run_job([benchmark("automatic")])
        self.assertEqual((found.application, found.time, found.bound, found.calls, found.algorithm), (results.TUNED, 20, 10, 7, "radix"))
        self.assertTrue(found.served)

    def test_an_unsupported_implementation_has_its_reason(self):
        lines = [benchmark("automatic"), benchmark("automatic:portable", error_occurred=True, error_message="none is listed")]
        found = self.run_job(lines, applications=results.OURS)
        self.assertEqual([(m.application, m.error) for m in found], [(results.TUNED, ""), (results.PORTABLE, "none is listed")])

    def test_a_wrong_baseline_keeps_its_time_and_is_marked(self):
        found, = self.run_job([benchmark("std::nth_element:ragged", label="WRONG ANSWER")], methods="std::nth_element", applications=["std::nth_element"])
        self.assertEqual((found.application, found.time, found.wrong, found.served), ("std::nth_element", 20, True, False))

    def test_a_crash_is_told(self):
        found, = self.run_job(script="sys.stderr.write('no memory\\n'); sys.exit(9)")
        self.assertEqual(found.error, "exit status 9: no memory")

    def test_an_endless_one_is_stopped(self):
        found, = self.run_job(script="time.sleep(60)", limit=0.2)
        self.assertEqual(found.error, "stopped after 0.2 s")

    def test_a_program_that_measures_nothing_is_told(self):
        found, = self.run_job()
        self.assertEqual(found.error, "perf_top_k does not have this case")

    def test_without_python_its_baselines_have_the_reason(self):
        found, _ = measure.PythonJob(self.platform, self.case, True, measure.Interpreter("", "no network")).run(None, self.folder)
        self.assertEqual([(m.application, m.error) for m in found], [("numpy::argpartition", "no network"), ("torch::topk", "no network")])

    def test_pythons_times_are_read(self):
        lines = [benchmark("numpy::argpartition"), benchmark("torch::topk", label="WRONG ANSWER")]
        program = FakeProgram(self.folder, lines).path
        pathlib.Path(self.folder, measure.OUR_OUTPUT).write_text("{}")
        job = measure.PythonJob(self.platform, self.case, True, measure.Interpreter(str(program)))
        found, _ = job.run(None, self.folder)
        self.assertEqual([(m.application, m.time, m.wrong) for m in found], [("numpy::argpartition", 20, False), ("torch::topk", 20, True)])

    def test_baselines_sort_no_row_of_many(self):
        few, many = workloads.Shape(2, 100, 1), workloads.Shape(4096, 100, 1)
        self.assertIn("Kokkos::sort", measure.baselines_for(self.platform, few, False))
        self.assertNotIn("Kokkos::sort", measure.baselines_for(self.platform, many, False))
        self.assertEqual(measure.baselines_for(self.platform, workloads.left(few), False), [])

    def test_cub_gets_what_it_serves(self):
        cuda = results.Platform("Cuda", "ran")
        rows, row = workloads.Shape(4096, 100, 1), workloads.Shape(1, 10**6, 1)
        self.assertEqual(measure.baselines_for(cuda, row, False), ["cub::DeviceTopK", "Kokkos::sort"])
        self.assertEqual(measure.baselines_for(cuda, rows, False), ["cub::DeviceBatchedTopK"])
        for unserved in (workloads.ragged(rows), workloads.replace(rows, sorted="yes"), workloads.replace(rows, n=10**5)):
            self.assertEqual(measure.baselines_for(cuda, unserved, False), [])

    def test_progress_tells_the_end(self):
        out = io.StringIO()
        progress = measure.Progress(2, out)
        progress.step("one")
        progress.step("two")
        self.assertIn("2 of 2, about 0 s left", out.getvalue())


# What baselines_python.py asks of NumPy for ascending keys; there is nothing for its own selection.
STUB_NUMPY = """
__version__ = "a stub"
float16, float32, float64, int32 = "f16", "f32", "f64", "i32"

class random:
    default_rng = staticmethod(lambda seed: None)

linspace = lambda first, last, n, endpoint: [first + (last - first) * i / n for i in range(n)]
broadcast_to = lambda row, shape: [row] * shape[0]
ascontiguousarray = lambda keys, dtype: keys
sort = sorted
array_equal = lambda a, b: list(a) == list(b)
"""

STUB_TORCH = """
__version__, bfloat16 = "a stub", "bfloat16"
get_num_threads = lambda: 1

class Tensor:
    dtype = "float32"
    def __init__(self, rows): self.rows = rows
    def to(self, device): return self
    def cpu(self): return self
    def numpy(self): return self.rows

class Selected:
    def __init__(self, rows): self.values = Tensor(rows)

from_numpy = Tensor
topk = lambda tensor, k, dim, sorted: Selected([row[-k:][::-1] for row in tensor.rows])
"""


class PythonBaselinesTest(unittest.TestCase):
    """baselines_python.py as the comparison runs it, with stubs for the libraries."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "numpy.py").write_text(STUB_NUMPY, encoding="utf-8")

    def run_job(self, torch, keys="ascending", kind="f32", backend="OpenMP"):
        """Each application's measurement, with this text as the module torch."""
        (self.folder / "torch.py").write_text(torch, encoding="utf-8")
        line = benchmark("automatic")
        line["name"] = line["name"].replace("f32/normal", f"{kind}/{keys}").replace("OpenMP", backend)
        data = {"context": {"cpu": "a processor"}, "benchmarks": [line]}
        (self.folder / measure.OUR_OUTPUT).write_text(json.dumps(data), encoding="utf-8")
        case = next(iter(workloads.cases(True, ["moe-routing"])))
        job = measure.PythonJob(results.Platform(backend, "ran"), case, True, measure.Interpreter(sys.executable))
        with unittest.mock.patch.dict("os.environ", {"PYTHONPATH": str(self.folder)}):
            return {found.application: found for found in job.run(None, self.folder)[0]}

    def test_a_right_answer_has_its_time_and_ktopks_bound(self):
        found = self.run_job(STUB_TORCH)["torch::topk"]
        self.assertEqual((found.error, found.wrong, found.served, found.bound), ("", False, True, 10))
        self.assertGreater(found.time, 0)

    def test_a_wrong_answer_is_marked(self):
        self.assertTrue(self.run_job(STUB_TORCH.replace("row[-k:]", "row[:k]"))["torch::topk"].wrong)

    def test_without_torch_it_did_not_run_and_the_reason_is_told(self):
        found = self.run_job("raise ImportError('no module of this name')")["torch::topk"]
        self.assertEqual((found.served, found.error), (False, "PyTorch cannot be loaded: no module of this name"))

    def test_on_a_gpu_without_torch_there_is_the_same_reason(self):
        found = self.run_job("raise OSError('no libcuda')", backend="Cuda")
        self.assertEqual({name: m.error for name, m in found.items()}, {"torch::topk": "PyTorch cannot be loaded: no libcuda"})

    def test_what_a_library_raises_is_its_reason_and_no_others(self):
        found = self.run_job(STUB_TORCH)
        self.assertIn("AttributeError", found["numpy::argpartition"].error)
        found = self.run_job(STUB_TORCH + "def topk(*_, **__): raise RuntimeError('out of memory\\nat address 0')")
        self.assertEqual(found["torch::topk"].error, "RuntimeError: out of memory")

    def test_keys_that_a_library_lacks(self):
        self.assertEqual(self.run_job(STUB_TORCH, kind="bf16")["numpy::argpartition"].error, "NumPy has no bfloat16")
        found = self.run_job(STUB_TORCH, keys="bucket_killer")["torch::topk"]
        self.assertEqual(found.error, "no keys of type f32 and kind bucket_killer are made here")

    def test_without_numpy_nothing_runs(self):
        (self.folder / "numpy.py").write_text("raise ImportError('no module of this name')", encoding="utf-8")
        found = self.run_job(STUB_TORCH)
        self.assertEqual({m.error for m in found.values()}, {"exit status 1: ImportError: no module of this name"})

    def test_the_report_has_the_reason(self):
        platform = results.Platform("OpenMP", "ran", machine="a host")
        measured = [*self.run_job("raise ImportError('no module of this name')").values()]
        for found in measured:
            found.machine = "a host"
        text = report_markdown.text(analysis.Analysis([results.Run("a host", True, {}, [platform], measured)]), None, 1.25)
        self.assertIn("| OpenMP | torch::topk, all cases | PyTorch cannot be loaded: no module of this name |", text)


if __name__ == "__main__":
    unittest.main()
