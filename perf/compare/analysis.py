# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the runs of one or several machines tell together."""
import csv
import statistics
from dataclasses import dataclass

import metrics
import results
import workloads

HARDWARE, FIELD = "architectural", "application"
FEWEST_CALLS = 5


class Analysis:
    def __init__(self, runs):
        names = [run.machine for run in runs]
        doubled = sorted({name for name in names if names.count(name) > 1})
        if doubled:
            raise ValueError(f"two runs are of the machine '{doubled[0]}'; --machine names a run")
        self.runs = runs
        self.measurements = [each for run in runs for each in run.measurements]
        self.all_platforms = [platform for run in runs for platform in run.platforms]
        # The set of the metric: a platform without compiler or device here is not in it, one that failed is.
        self.platforms = [platform.key for platform in self.all_platforms if platform.status != "absent"]
        self.by_key = {(m.platform, m.problem, m.application, m.cache): m for m in self.measurements}
        self.problems = sorted({m.problem for m in self.measurements}, key=order_of_problem)
        measured = {(m.platform, m.problem) for m in self.measurements}
        self.on = {platform: [problem for problem in self.problems if (platform, problem) in measured] for platform in self.platforms}
        self.best = {}
        for m in self.measurements:
            if m.served and m.cache == "warm":
                key = m.platform, m.problem
                self.best[key] = min(m.time, self.best.get(key, m.time))

    @property
    def applications(self):
        """Ours first, then the others in the order in which they were measured."""
        found = dict.fromkeys(m.application for m in self.measurements)
        return [*(name for name in results.OURS if name in found), *(name for name in found if name not in results.OURS)]

    @property
    def others(self):
        return [name for name in self.applications if name not in results.OURS]

    def name_of(self, platform):
        """The machine is named where there are several."""
        machine, backend = platform
        return backend if len(self.runs) == 1 else f"{machine}: {backend}"

    def get(self, platform, problem, application, cache="warm"):
        return self.by_key.get((platform, problem, application, cache))

    def problems_on(self, platform):
        return self.on[platform]

    def efficiency(self, kind, measurement):
        if not measurement or not measurement.served:
            return 0.0
        if kind == HARDWARE:
            return metrics.architectural_efficiency(measurement.bound, measurement.time)
        return metrics.application_efficiency(self.best[measurement.platform, measurement.problem], measurement.time)

    def efficiency_on(self, kind, application, platform, problems=None):
        """The harmonic mean over the problems of a platform: zero where one is not served."""
        problems = self.problems_on(platform) if problems is None else problems
        return metrics.harmonic_mean(self.efficiency(kind, self.get(platform, problem, application)) for problem in problems)

    def efficiency_of_workload(self, kind, application, platform, workload):
        """Zero on a platform that failed; None where the workload was not asked for."""
        if not self.problems_on(platform):
            return 0.0
        problems = [problem for problem in self.problems_on(platform) if problem[0] == workload]
        return self.efficiency_on(kind, application, platform, problems) if problems else None

    def efficiencies(self, kind, application):
        return {platform: self.efficiency_on(kind, application, platform) for platform in self.platforms}

    def portability(self, kind, application):
        return metrics.performance_portability(self.efficiencies(kind, application), self.platforms)

    def coverage(self, application):
        """(cases served, cases asked for) over all platforms."""
        asked = [(platform, problem) for platform in self.platforms for problem in self.problems_on(platform)]
        served = [self.get(*each, application) for each in asked]
        return sum(1 for m in served if m and m.served), len(asked)

    def shown_and_absent(self):
        """Ours and what serves a case; what serves none."""
        absent = [name for name in self.others if not self.served_by(name)]
        return [name for name in self.applications if name not in absent], absent

    def serve_a_platform(self, kind):
        """(application, its efficiency on each platform) of those that serve all cases of a platform."""
        for application in self.applications:
            efficiencies = list(self.efficiencies(kind, application).values())
            if any(efficiencies):
                yield application, efficiencies

    def served_by(self, application):
        return [m for m in self.measurements if m.application == application and m.cache == "warm" and m.served]

    def where_served(self, kind, application):
        """The harmonic mean over the cases that an application serves."""
        return metrics.harmonic_mean(self.efficiency(kind, m) for m in self.served_by(application))

    def spread_on(self, machine):
        """Of ktopk's times in the usual case; None where nothing was measured often enough to tell."""
        spreads = [metrics.spread(m) for m in self.measurements
                   if m.machine == machine and m.application in results.OURS and m.time > 0 and m.calls >= FEWEST_CALLS]
        return statistics.median(spreads) if spreads else None

    def median_over_bound(self, application):
        """Of the cases that it serves; None if there are none."""
        ratios = [m.time / m.bound for m in self.served_by(application)]
        return statistics.median(ratios) if ratios else None

    def fastest_in(self, application):
        """In how many cases no other application is faster."""
        return sum(m.time == self.best[m.platform, m.problem] for m in self.served_by(application))

    def best_other(self, platform, problem):
        found = [self.get(platform, problem, name) for name in self.others]
        return min((m for m in found if m and m.served), key=lambda m: m.time, default=None)

    def beaten(self):
        """(time of ktopk over the best other's, measurement, the other), the worst first: where another is faster."""
        for_each = ((m, self.best_other(m.platform, m.problem)) for m in self.served_by(results.TUNED))
        return sorted(((m.time / other.time, m, other) for m, other in for_each if other and other.time < m.time), key=lambda each: -each[0])

    def farthest(self, count):
        """The cases in which ktopk is the farthest from the bound."""
        return sorted(self.served_by(results.TUNED), key=lambda m: -m.time / m.bound)[:count]

    def portable_against_tuned(self, platform):
        """(geometric mean, worst ratio, its problem) of the portable implementation's time over the tuned one's."""
        ratios = []
        for problem in self.problems_on(platform):
            tuned, portable = (self.get(platform, problem, name) for name in results.OURS)
            if tuned and portable and tuned.served and portable.served:
                ratios.append((portable.time / tuned.time, problem))
        if not ratios:
            return None
        return metrics.geometric_mean([ratio for ratio, _ in ratios]), *max(ratios)

    def did_not_run(self):
        """(platform, application, reason): nothing that was asked for is silently missing."""
        for platform in self.all_platforms:
            if platform.status != "ran":
                yield self.name_of(platform.key), "everything", f"{platform.status}: {platform.reason}"
        for platform in self.platforms:
            for application in self.applications:
                yield from self.unserved(platform, application)
        for run in self.runs:
            yield from ((self.name_of((run.machine, backend)), what, reason) for backend, what, reason in run.did_not_run)

    def unserved(self, platform, application):
        found = [m for m in self.measurements if m.platform == platform and m.application == application and m.cache == "warm"]
        reasons = {}
        for m in found:
            if not m.served:
                reasons.setdefault("WRONG ANSWER" if m.wrong else m.error, []).append(m)
        for reason, cases in reasons.items():
            which = "all cases" if len(cases) == len(found) else f"{len(cases)} of {len(found)} cases"
            yield self.name_of(platform), f"{application}, {which}", reason


def order_of_problem(problem):
    names = [each.name for each in workloads.WORKLOADS]
    workload = next((each for each in workloads.WORKLOADS if each.name == problem[0]), None)
    if not workload:
        return len(names), 0, 0, problem
    shapes = [shape.name for shape in (*workload.quick, *workload.shapes)]
    return (names.index(problem[0]), index_or_end(shapes, problem[1]), index_or_end(workload.inputs, problem[2]), problem)


def index_or_end(names, name):
    return list(names).index(name) if name in names else len(names)


@dataclass
class Change:
    """A case of ktopk beside the same case of a former run."""

    measurement: results.Measurement
    before: results.Measurement
    ratio: float


def changes(now, before, tolerance):
    """(slower beyond the tolerance or no longer served, faster beyond it, number of cases compared)."""
    former = {(m.backend, m.problem, m.application, m.cache): m for m in before.measurements if m.application in results.OURS}
    compared = []
    for m in now.measurements:
        old = former.get((m.backend, m.problem, m.application, m.cache))
        if old and old.served:
            ratio = metrics.slowdown(m, old) if m.served else float("inf")
            compared.append(Change(m, old, ratio))
    slower = sorted((each for each in compared if each.ratio > tolerance), key=lambda each: -each.ratio)
    faster = sorted((each for each in compared if each.ratio < 1 / tolerance), key=lambda each: each.ratio)
    return slower, faster, len(compared)


def write_csv(analysis, path):
    """In the columns of p3analysis; an application that does not serve a case has no line."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["problem", "platform", "application", "fom", "arch eff", "app eff"])
        for m in analysis.measurements:
            if m.served and m.cache == "warm":
                table.writerow(["/".join(m.problem), analysis.name_of(m.platform), m.application, f"{m.time:g}",
                                f"{analysis.efficiency(HARDWARE, m):.4f}", f"{analysis.efficiency(FIELD, m):.4f}"])
