#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports from perf_top_k's JSON where the library's own choice is slower than the best implementation, and by how much.
The choice knows the shape alone, so for each shape it also reports an implementation that loses less on its worst input."""
import argparse
import statistics
import sys

import keep
import report


def algorithm_of(measurement):
    """The algorithm whose kernel served: of ktopk::cuda::one_pass::device one_pass."""
    parts = [part for part in measurement.algorithm.split("::") if part not in ("ktopk", "host", "cuda")]
    return parts[0] if parts else ""


def chosen_us(row):
    """The time of the chosen implementation, over its measurements as automatic and under its own name."""
    automatic = row.measured["automatic"]
    twin = row.measured.get(algorithm_of(automatic))
    return statistics.median(time[0] for time in automatic.times + (twin.times if twin else []))


def times_of(row):
    """The time of each implementation that served the call itself; the chosen one's is chosen_us."""
    times = {m: r.median_us for m, r in row.measured.items() if not report.is_baseline(m) and algorithm_of(r) in (m.split(":")[0], "")}
    chosen = algorithm_of(row.measured["automatic"]) if "automatic" in row.measured else None
    return {m: chosen_us(row) if m == chosen else us for m, us in times.items()}


def best_of(row):
    """The fastest implementation and its time."""
    times = times_of(row)
    best = min(times, key=times.get, default="automatic")
    return best, min(times.get(best, chosen_us(row)), chosen_us(row))


def losses(rows):
    """(time over the best, workload) for all rows, the worst first."""
    pairs = [(chosen_us(row) / best_of(row)[1], row) for row in rows if "automatic" in row.measured]
    return sorted(pairs, key=lambda pair: -pair[0])


def by_shape(rows):
    shapes = {}
    for row in rows:
        key = (row.backend, row.type, row.rows, row.n, row.k, row.sorted, row.ties)
        if "automatic" in row.measured:
            shapes.setdefault(key, []).append(row)
    return list(shapes.values())


def worst_losses(rows):
    """For the rows of one shape: what the choice loses on its worst input, and the implementation that loses least."""
    best = [best_of(row)[1] for row in rows]
    implementations = set.intersection(*(set(times_of(row)) for row in rows))
    worst = {name: max(times_of(row)[name] / us for row, us in zip(rows, best)) for name in implementations}
    chosen = max(chosen_us(row) / us for row, us in zip(rows, best))
    safest = min(worst, key=worst.get, default="automatic")
    return chosen, safest, min(worst.get(safest, chosen), chosen)


def most_within(rows, within):
    """How many of the rows of one shape the choice could have met at best, knowing their times but not the input."""
    best = [best_of(row)[1] for row in rows]
    implementations = set.intersection(*(set(times_of(row)) for row in rows))
    counts = [sum(times_of(row)[name] <= within * us for row, us in zip(rows, best)) for name in implementations]
    return max([sum(chosen_us(row) <= within * us for row, us in zip(rows, best)), *counts])


def kept_lines(rows):
    """For perf/results: what automatic took, and the fastest implementation where another one was faster."""
    for row in rows:
        if "automatic" not in row.measured:
            continue
        parts = {name: getattr(row, name) for name in ("type", "input", "rows", "n", "k")}
        case = {**parts, "options": keep.options_of({"sorted": row.sorted, "ties": row.ties}), "metric": report.TIME}
        chosen, (best, best_us) = algorithm_of(row.measured["automatic"]), best_of(row)
        yield {**case, "method": "automatic", "by": chosen, "value": chosen_us(row), "bound": row.floor_us}
        if best_us < chosen_us(row):
            yield {**case, "method": best, "by": best, "value": best_us}


KEPT = "what automatic took, and the fastest implementation where another one was faster"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="what --benchmark_out wrote, with --method=automatic,algorithms")
    parser.add_argument("--within", type=float, default=1.1, help="a choice is good within this multiple of the best time (1.1)")
    parser.add_argument("--keep", metavar="FILE", help=f"write as CSV, for perf/results: {KEPT}")
    arguments = parser.parse_args()
    rows = report.read(arguments.files)
    found = losses(rows)
    if not found:
        sys.exit("no measurement of automatic in these files")
    for loss, row in found:
        if loss <= arguments.within:
            break
        best, best_us = best_of(row)
        chosen = row.measured["automatic"].algorithm
        print(f"{loss:5.2f}  {row.workload}: {chosen} {report.microseconds(chosen_us(row))} us, "
              f"{best} {report.microseconds(best_us)} us, bound {report.microseconds(row.floor_us)} us")
    good = sum(loss <= arguments.within for loss, _ in found)
    print(f"{good} of {len(found)} choices are within {arguments.within:g} of the best implementation")
    most = sum(most_within(shape, arguments.within) for shape in by_shape(rows))
    print(f"{most} would be, if each shape had the implementation that is within it on most inputs")
    shapes = [(worst_losses(shape), shape[0]) for shape in by_shape(rows)]
    for (chosen, safest, least), row in shapes:
        if chosen > arguments.within * least:
            print(f"{chosen:5.2f}  at worst, n {report.count(row.rows)} x {report.count(row.n)}, k {report.count(row.k)} {row.type}: "
                  f"{row.measured['automatic'].algorithm}; {safest} loses {least:.2f}")
    safe = sum(chosen <= arguments.within * least for (chosen, _, least), _ in shapes)
    print(f"{safe} of {len(shapes)} shapes lose no more than {arguments.within:g} of the safest implementation's worst time")
    if arguments.keep:
        backends = sorted({row.backend for row in rows})
        context = [*report.context(arguments.files[0]), *(("backend", backend) for backend in backends), ("kept", KEPT)]
        with open(arguments.keep, "w", encoding="utf-8") as file:
            file.write(keep.text_of(context, kept_lines(rows)))


if __name__ == "__main__":
    main()
