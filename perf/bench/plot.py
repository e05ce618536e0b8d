#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws perf_top_k's JSON as an SVG picture: time over the streaming bound against n, ours and the baselines."""
import argparse
import math
import sys
from xml.sax.saxutils import escape

import report

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 210, 48, 56
OURS = "#c2410c"
BASELINES = ["#2563eb", "#0f766e", "#7c3aed", "#64748b", "#a16207", "#be185d"]
STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #334155; }
  .title { font-size: 15px; font-weight: 600; }
  .grid { stroke: #cbd5e1; stroke-width: 1; }
  .bound { stroke: #334155; stroke-width: 1.5; stroke-dasharray: 5 4; }
  .paper { fill: #ffffff; }
"""


SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def count(number):
    """As report.count, with a real exponent."""
    base, caret, exponent = report.count(number).partition("^")
    return base + (exponent.translate(SUPERSCRIPT) if caret else "")


class Axes:
    """From (n, ratio), both logarithmic, to the picture's coordinates."""

    def __init__(self, ns, ratios):
        self.low_n, self.high_n = math.log2(min(ns)), math.log2(max(ns))
        self.high_ratio = math.ceil(math.log2(max(ratios) * 1.1))

    def x(self, n):
        span = self.high_n - self.low_n or 1
        return LEFT + (math.log2(n) - self.low_n) / span * (WIDTH - LEFT - RIGHT)

    def y(self, ratio):
        return HEIGHT - BOTTOM - math.log2(max(ratio, 1)) / self.high_ratio * (HEIGHT - TOP - BOTTOM)


def series_of(rows):
    """For each method its points (n, time over streaming bound), ours first; "automatic" stands for the library's choice."""
    series = {}
    for row in rows:
        for method, measurement in row.measured.items():
            series.setdefault(method, []).append((row.n, measurement.over_floor))
    return dict(sorted(series.items(), key=lambda item: (report.is_baseline(item[0]), min(r for _, r in item[1]))))


def colors(series):
    baselines = iter(BASELINES * len(series))
    return {method: next(baselines) if report.is_baseline(method) else OURS for method in series}


def draw_grid(axes, ns):
    for power in range(axes.high_ratio + 1):
        y = axes.y(2**power)
        yield f'<line class="{"grid" if power else "bound"}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{2**power}</text>'
    for n in ns:
        yield f'<text x="{axes.x(n):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{count(n)}</text>'
    yield f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">keys (n)</text>'
    yield f'<text x="{LEFT - 40}" y="{TOP - 10}">time over the time to read the keys once (dashed: 1)</text>'


def label_positions(axes, series):
    """Beside each line's end, pushed apart where two would overlap."""
    ends = sorted((axes.y(sorted(points)[-1][1]), method) for method, points in series.items())
    positions, last = {}, -math.inf
    for y, method in ends:
        last = max(y, last + 16)
        positions[method] = last
    return positions


def draw_series(axes, series):
    color_of, label_y = colors(series), label_positions(axes, series)
    for method, points in series.items():
        color, width = color_of[method], 1.6 if report.is_baseline(method) else 3
        places = [(axes.x(n), axes.y(ratio)) for n, ratio in sorted(points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline fill="none" stroke="{color}" stroke-width="{width}" points="{path}"/>'
        yield from (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{width + 1}" fill="{color}"/>' for x, y in places)
        name = method if report.is_baseline(method) else "ktopk" if method == "automatic" else f"ktopk {method}"
        yield f'<text x="{WIDTH - RIGHT + 10}" y="{label_y[method] + 4:.1f}" style="fill:{color}">{escape(name)}</text>'


def picture(rows, title):
    series = series_of(rows)
    ns = sorted({row.n for row in rows})
    axes = Axes(ns, [ratio for points in series.values() for _, ratio in points])
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
            f'<text class="title" x="{LEFT - 40}" y="20">{escape(title)}</text>',
            *draw_grid(axes, ns),
            *draw_series(axes, series),
            "</svg>\n",
        ]
    )


FIXED = ("backend", "type", "input", "rows", "k", "sorted", "ties")


def of_one_kind(rows, arguments):
    """A line has one point for each n: all else is as asked for, or as in the first workload that is."""
    asked = {name: getattr(arguments, name) for name in FIXED}
    for row in rows:
        kind = {name: str(getattr(row, name)) for name in FIXED}
        if all(asked[name] in (None, kind[name]) for name in FIXED):
            asked = kind
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", help="what --benchmark_out wrote")
    parser.add_argument("--output", default="over_bound.svg")
    parser.add_argument("--title", default="Top-k: time over the streaming bound")
    for name in FIXED:
        parser.add_argument(f"--{name}", help="only workloads with this one (default: the first workload's)")
    arguments = parser.parse_args()
    rows = list(of_one_kind(report.read(arguments.files), arguments))
    if not rows:
        sys.exit("no such workload in these files")
    with open(arguments.output, "w", encoding="utf-8") as file:
        file.write(picture(rows, arguments.title))


if __name__ == "__main__":
    main()
