# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as Markdown."""
import metrics
import results
import wording
from analysis import FIELD, HARDWARE


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def summary(analysis):
    rows = []
    shown, absent = analysis.shown_and_absent()
    for application in shown:
        served, asked = analysis.coverage(application)
        over_bound = analysis.median_over_bound(application)
        rows.append([application, f"{served} of {asked}", analysis.fastest_in(application), wording.ratio(over_bound) if over_bound else "-"]
                    + [wording.efficiency(analysis.portability(kind, application)) for kind in (HARDWARE, FIELD)]
                    + [wording.efficiency(analysis.where_served(kind, application)) for kind in (HARDWARE, FIELD)])
    head = ["application", "cases served", "fastest in", "median time over the bound", "performance portability by architectural efficiency",
            "performance portability by application efficiency", "architectural efficiency where served", "application efficiency where served"]
    spreads = ((run.machine, analysis.spread_on(run.machine)) for run in analysis.runs)
    notes = [wording.quiet(machine, spread) for machine, spread in spreads if spread is not None]
    if absent:
        notes.insert(0, f"Measured nowhere, for the reasons below: {', '.join(absent)}.")
    return "\n\n".join([f"Set of platforms: {wording.platform_set(analysis)}", table(head, rows), *notes])


def did_not_run(analysis):
    rows = list(analysis.did_not_run())
    return table(["platform", "what", "reason"], rows) if rows else "Everything ran."


def heat(analysis, kind):
    """Ours on each platform by workload."""
    names = list(dict.fromkeys(problem[0] for problem in analysis.problems))
    rows = []
    for platform in analysis.platforms:
        for application in results.OURS:
            found = [analysis.efficiency_of_workload(kind, application, platform, name) for name in names]
            rows.append([analysis.name_of(platform), application, *("-" if each is None else wording.efficiency(each) for each in found)])
    return table(["platform", "implementation", *map(wording.title_of, names)], rows)


def cell(measurement):
    if not measurement:
        return "-"
    if measurement.wrong:
        return "WRONG ANSWER"
    if not measurement.served:
        return "did not run"
    return f"{wording.microseconds(measurement.time)} ({wording.ratio(wording.over_bound(measurement))})"


def case_row(analysis, platform, problem):
    ours = [analysis.get(platform, problem, name) for name in results.OURS]
    cold = analysis.get(platform, problem, results.TUNED, "cold")
    other = analysis.best_other(platform, problem)
    bound = next((m.bound for m in (*ours, other) if m and m.served), 0)
    tuned = ours[0]
    return [wording.problem_text(problem), analysis.name_of(platform), wording.microseconds(bound), cell(tuned),
            f"±{100 * metrics.spread(tuned):.0f} %" if tuned and tuned.served and tuned.calls else "-", tuned.algorithm if tuned else "-",
            cell(ours[1]), cell(cold), f"{cell(other)} {other.application}" if other else "-"]


def workload(analysis, name):
    rows = [case_row(analysis, platform, problem) for problem in analysis.problems if problem[0] == name
            for platform in analysis.platforms if problem in analysis.problems_on(platform)]
    head = ["case", "platform", "bound", "ktopk", "spread", "algorithm", "ktopk portable", "ktopk, cold caches", "fastest baseline"]
    return f"### {wording.title_of(name)}\n\n{wording.why_of(name)}\n\n{table(head, rows)}"


def case_name(m):
    return f"{wording.title_of(m.workload)}: {wording.problem_text(m.problem)}"


def by_platform(analysis, kind):
    """What a cascade shows, for platforms too few to draw one."""
    rows = [[application, *map(wording.efficiency, efficiencies), wording.efficiency(analysis.portability(kind, application))]
            for application, efficiencies in analysis.serve_a_platform(kind)]
    return table(["application", *map(analysis.name_of, analysis.platforms), "performance portability"], rows)


def losses(analysis, count=10):
    """Where another application is faster, and where the hardware would allow most."""
    beaten = [[case_name(m), analysis.name_of(m.platform), m.algorithm, wording.microseconds(m.time), f"{wording.microseconds(other.time)} {other.application}", wording.ratio(ratio)]
              for ratio, m, other in analysis.beaten()]
    farthest = [[case_name(m), analysis.name_of(m.platform), m.algorithm, wording.microseconds(m.time), wording.microseconds(m.bound), wording.ratio(wording.over_bound(m))]
                for m in analysis.farthest(count)]
    parts = [f"A baseline is faster than ktopk in {len(beaten)} cases."]
    if beaten:
        parts.append(table(["case", "platform", "algorithm", "ktopk", "fastest baseline", "ratio"], beaten))
    if farthest:
        parts += ["The cases farthest from the bound:", table(["case", "platform", "algorithm", "ktopk", "bound", "ratio"], farthest)]
    return "\n\n".join(parts)


def portable_against_tuned(analysis):
    rows = []
    for platform in analysis.platforms:
        found = analysis.portable_against_tuned(platform)
        if found:
            mean, worst, problem = found
            rows.append([analysis.name_of(platform), wording.ratio(mean), wording.ratio(worst), f"{wording.title_of(problem[0])}: {wording.problem_text(problem)}"])
    return table(["platform", "geometric mean", "worst", "where"], rows) if rows else "No platform ran both."


def change_rows(analysis, found):
    for each in found:
        m = each.measurement
        now = wording.microseconds(m.time) if m.served else "did not run"
        yield [case_name(m), analysis.name_of(m.platform), m.application + (" cold" if m.cache == "cold" else ""),
               wording.microseconds(each.before.time), now, "-" if not m.served else f"{each.ratio:.2f}"]


def changes(analysis, changed, tolerance):
    slower, faster, count = changed
    parts = [f"{count} cases of ktopk were compared; a ratio counts by time and over the bound, the smaller of the two, beyond {tolerance:g}."]
    for title, found in (("slower", slower), ("faster", faster)):
        rows = list(change_rows(analysis, found))
        parts.append(f"**{len(rows)} {title}**" + ("\n\n" + table(["case", "platform", "application", "before", "now", "ratio"], rows) if rows else ""))
    return "\n\n".join(parts)


def machines(analysis):
    parts = []
    for run in analysis.runs:
        known = {**run.provenance, "size of the run": "quick" if run.quick else "full"}
        lines = [f"- {name}: {value}" for name, value in known.items()]
        for platform in run.platforms:
            if platform.status == "ran":
                lines.append(f"- {platform.backend}: contract tests: {platform.contract}")
                lines += [f"  - {name}: {value}" for name, value in platform.context.items()]
        parts.append(f"### {run.machine}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def explanation():
    return "\n".join(f"- **{name}**: {text}" for name, text in wording.EXPLANATION)


def text(analysis, changed, tolerance):
    names = dict.fromkeys(problem[0] for problem in analysis.problems)
    parts = [
        ("# The portability of ktopk", "One call on every backend: what it loses against the hardware, and against the best other software."),
        ("## Summary", summary(analysis)),
        ("## What did not run or was wrong", did_not_run(analysis)),
        *([("## Changes since the baseline", changes(analysis, changed, tolerance))] if changed else []),
        *((f"## {wording.EFFICIENCY[kind]} by platform and workload", heat(analysis, kind)) for kind in (HARDWARE, FIELD)),
        ("## Where ktopk loses", losses(analysis)),
        ("## Portable against tuned", "Time of the portable implementation over the tuned one's.\n\n" + portable_against_tuned(analysis)),
        ("## Workloads", "Median times; in brackets over the bound.\n\n" + "\n\n".join(workload(analysis, name) for name in names)),
        ("## How it is computed", explanation()),
        ("## Machines and builds", machines(analysis)),
    ]
    return "\n\n".join(f"{head}\n\n{body}" for head, body in parts) + "\n"
