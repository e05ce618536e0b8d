#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The portability comparison: `run` measures ktopk and its baselines on every backend of this machine, `report` joins
the results of several machines. ./dev compare builds all that is needed and calls both. `keep` makes of a run what perf/results
keeps of it, in a folder that `report` reads likewise."""
import argparse
import pathlib
import shlex
import sys

import analysis
import kept
import measure
import provenance
import report_html
import report_markdown
import results
import workloads

REGRESSED = 3


def default_machine():
    gpu = provenance.graphics().partition(",")[0]
    cores = len(provenance.os.sched_getaffinity(0))
    return gpu or f"{provenance.processor()}, {cores} cores"


def platforms_of(arguments):
    ran = [results.Platform(backend, "ran", contract=contract, machine=arguments.machine) for backend, _, contract in arguments.platform]
    rest = [results.Platform(backend, status, reason, machine=arguments.machine)
            for status in ("failed", "absent") for backend, reason in getattr(arguments, status)]
    return ran + rest


def run(arguments):
    arguments.machine = arguments.machine or default_machine()
    platforms = platforms_of(arguments)
    programs = {backend: program for backend, program, _ in arguments.platform}
    known = provenance.of_run(arguments.command_line or shlex.join(sys.argv))
    measured = measure.measure(
        platforms, programs, lambda platform: measure.cases_for(platform, arguments.quick, arguments.workload),
        arguments.quick, measure.Interpreter(arguments.python, arguments.no_python))
    arguments.out.mkdir(parents=True, exist_ok=True)
    results.write(results.Run(arguments.machine, arguments.quick, known, platforms, measured), arguments.out)
    arguments.folders = [arguments.out]
    return report(arguments)


def report(arguments):
    """\\return the exit status: 3 where a case became slower than the baseline by more than the tolerance"""
    found = analysis.Analysis([kept.read_either(folder) for folder in arguments.folders])
    changed = None
    if arguments.baseline:
        former = analysis.Analysis([kept.read_either(arguments.baseline)])
        changed = analysis.changes(found, former, arguments.tolerance)
    arguments.out.mkdir(parents=True, exist_ok=True)
    pathlib.Path(arguments.out, "report.md").write_text(report_markdown.text(found, changed, arguments.tolerance), encoding="utf-8")
    pathlib.Path(arguments.out, "report.html").write_text(report_html.text(found, changed, arguments.tolerance), encoding="utf-8")
    analysis.write_csv(found, arguments.out / "results.csv")
    print(report_markdown.summary(found))
    print(f"wrote report.md, report.html and results.csv to {arguments.out}")
    if changed and changed[0]:
        print(f"{len(changed[0])} cases are more than {arguments.tolerance:g} times as slow as in {arguments.baseline}", file=sys.stderr)
        return REGRESSED
    return 0


def keep(arguments):
    text = kept.text_of(results.read(arguments.folder), arguments.backend)
    arguments.out.mkdir(parents=True, exist_ok=True)
    pathlib.Path(arguments.out, kept.FILE).write_text(text, encoding="utf-8")
    return 0


def tolerance(text):
    value = float(text)
    if value <= 1:
        raise argparse.ArgumentTypeError("a tolerance is a ratio above 1, for example 1.1")
    return value


def parse(words):
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="the folder that gets results and reports")
    shared.add_argument("--baseline", type=pathlib.Path, metavar="DIR", help="a former run: exit status 3 where one of its cases became slower")
    shared.add_argument("--tolerance", type=tolerance, default=1.25, help="how many times slower is not yet a regression (1.25)")
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="do", required=True)
    running = commands.add_parser("run", parents=[shared], help="measure on this machine, then report")
    running.add_argument("--platform", nargs=3, action="append", default=[], metavar=("BACKEND", "PERF_TOP_K", "TESTS"),
                         help="a backend, its program and what came of its contract tests")
    running.add_argument("--absent", nargs=2, action="append", default=[], metavar=("BACKEND", "REASON"), help="what this machine does not have")
    running.add_argument("--failed", nargs=2, action="append", default=[], metavar=("BACKEND", "REASON"), help="what should have run")
    running.add_argument("--quick", action="store_true", help="small sizes, few inputs: some minutes")
    running.add_argument("--machine", help="what the report calls this machine (its GPU or processor)")
    running.add_argument("--workload", action="append", choices=[each.name for each in workloads.WORKLOADS], help="this one alone")
    running.add_argument("--python", default="", help="a Python with NumPy and PyTorch, to measure these, too")
    running.add_argument("--no-python", metavar="REASON", default=measure.Interpreter.why_absent, help="why there is none")
    running.add_argument("--command-line", help="what the results call the command")
    reporting = commands.add_parser("report", parents=[shared], help="join the results of several machines")
    reporting.add_argument("folders", nargs="+", type=pathlib.Path, help="folders of runs")
    keeping = commands.add_parser("keep", help=f"write {kept.FILE} for perf/results: the medians of one backend")
    keeping.add_argument("folder", type=pathlib.Path, help="the folder of a run")
    keeping.add_argument("out", type=pathlib.Path, help=f"the folder that gets {kept.FILE}")
    keeping.add_argument("--backend", default="", help="which one, where several ran")
    return parser.parse_args(words)


def main(words=None):
    arguments = parse(words)
    try:
        return {"run": run, "report": report, "keep": keep}[arguments.do](arguments)
    except ValueError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
