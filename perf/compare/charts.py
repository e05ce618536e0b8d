# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report's pictures as SVG. Their colors are the page's, so that they follow its light and dark scheme."""
import math
from xml.sax.saxutils import escape

import metrics
import results
import wording

WIDTH = 460
LINE, BAR, GAP, INSET = 17, 11, 3, 4
CLASS_OF = {results.TUNED: "tuned", results.PORTABLE: "portable"}


def picture(height, title, parts):
    """Fills its column."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" style="max-width:{1.25 * WIDTH:.0f}px">',
        f"<title>{escape(title)}</title>", *parts, "</svg>"])


def label(x, y, text, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


# ---------------------------------------------------------------- bars: time over the bound


class BarScale:
    """Logarithmic, from the bound on. Each (over the bound, text) leaves space for the text beside its bar."""

    LETTER = 6.1

    def __init__(self, ends):
        self.decades = max(math.log10(max(end for end, _ in ends)), 0.301)
        self.width = WIDTH
        for end, text in ends:
            part = math.log10(max(end, 1)) / self.decades
            if part > 0:
                self.width = min(self.width, (WIDTH - 8 - self.LETTER * len(text)) / part)

    def x(self, over_bound):
        return math.log10(max(over_bound, 1)) / self.decades * self.width

    def ticks(self):
        steps = [1, 2, 5, 10, 20, 50, 100, 1000, 10_000]
        shown = [step for step in steps if math.log10(step) <= self.decades]
        return shown if len(shown) < 7 else [step for step in shown if str(step)[0] == "1"]


def bars_of(analysis, platform, workload, shape):
    """(class, text, measurement, worst over the inputs) of ktopk's implementations and the fastest baseline, for the
    first input measured."""
    problems = [problem for problem in analysis.problems_on(platform) if problem[:2] == (workload, shape)]
    if not problems:
        return []
    bars = []
    for name in results.OURS:
        found = [analysis.get(platform, problem, name) for problem in problems]
        served = [m for m in found if m and m.served]
        if found[0] and found[0].served:
            bars.append((CLASS_OF[name], "", found[0], max(map(wording.over_bound, served))))
    other = analysis.best_other(platform, problems[0])
    if other:
        bars.append(("other", other.application, other, wording.over_bound(other)))
    return bars


def bar_text(name, measurement):
    return f"{wording.ratio(wording.over_bound(measurement))}, {wording.microseconds(measurement.time)} {name}".rstrip()


def bar(scale, y, kind, name, measurement, worst):
    end, far = scale.x(wording.over_bound(measurement)), scale.x(worst)
    text = bar_text(name, measurement)
    hint = f"{measurement.application}: {text}; slowest input {wording.ratio(worst)}"
    yield f'<rect class="{kind}" x="0" y="{y:.1f}" width="{max(end, 1.5):.1f}" height="{BAR}" rx="1.5"><title>{escape(hint)}</title></rect>'
    if far > end + 1:
        yield line(end, y + BAR / 2, far, y + BAR / 2, "whisker")
        yield line(far, y + 2, far, y + BAR - 2, "whisker")
    yield label(max(end, far) + 5, y + BAR - 1.5, text, "value")


def axis(scale, top, bottom):
    for tick in scale.ticks():
        x = scale.x(tick)
        yield line(x, top, x, bottom, "bound" if tick == 1 else "grid")
        yield label(x, bottom + 13, str(tick), "value", "start" if tick == 1 else "middle")


def workload_bars(analysis, workload):
    """Time over the bound, by shape and platform."""
    shapes = list(dict.fromkeys(problem[1] for problem in analysis.problems if problem[0] == workload))
    groups = [(shape, platform, bars_of(analysis, platform, workload, shape)) for shape in shapes for platform in analysis.platforms]
    groups = [group for group in groups if group[2]]
    if not groups:
        return ""
    scale = BarScale([(worst, bar_text(name, m)) for _, _, bars in groups for _, name, m, worst in bars])
    parts, y, shown = [], 4.0, None
    for shape, platform, bars in groups:
        if shape != shown:
            y += LINE
            usual = next(problem[2] for problem in analysis.problems if problem[:2] == (workload, shape))
            parts.append(label(INSET, y, f"{wording.shape_text((workload, shape))}, {usual}", "head"))
            shown = shape
        y += LINE - 2
        parts.append(label(INSET, y, analysis.name_of(platform), "value"))
        y += 4
        for each in bars:
            parts += bar(scale, y, *each)
            y += BAR + GAP
    return picture(y + 22, f"{wording.title_of(workload)}: time over the bound", [*axis(scale, 6, y + 3), *parts])


# ---------------------------------------------------------------- cascade


class CascadeAxes:
    LEFT, RIGHT, TOP, HEIGHT = 34, 20, 12, 210

    def __init__(self, count):
        self.step = (WIDTH - self.LEFT - self.RIGHT) / max(count - 1, 1)
        self.count = count

    def x(self, platforms):
        return self.LEFT + self.step * (platforms - 1)

    def y(self, efficiency):
        return self.TOP + (1 - efficiency) * self.HEIGHT

    def grid(self):
        for fifth in range(6):
            y = self.y(fifth / 5)
            yield line(self.LEFT, y, WIDTH - self.RIGHT, y, "grid")
            yield label(self.LEFT - 6, y + 4, f"{fifth / 5:.1f}", "value", "end")
        for platforms in range(1, self.count + 1):
            yield label(self.x(platforms), self.y(0) + 17, str(platforms), "value", "middle")
        yield label((WIDTH + self.LEFT) / 2, self.y(0) + 34, "platforms, the best first", "value", "middle")


def cascade(analysis, kind):
    """For each application its efficiencies, falling, and the performance portability over the platforms up to there."""
    axes = CascadeAxes(len(analysis.platforms))
    parts, y = list(axes.grid()), axes.y(0) + 54
    for application, efficiencies in analysis.serve_a_platform(kind):
        points = metrics.cascade(efficiencies)
        style = CLASS_OF.get(application, "other")
        for which, dash in ((0, ""), (1, " dashed")):
            places = " ".join(f"{axes.x(i + 1):.1f},{axes.y(point[which]):.1f}" for i, point in enumerate(points))
            parts.append(f'<polyline class="line {style}{dash}" points="{places}"/>')
            parts += (f'<circle class="{style}" cx="{axes.x(i + 1):.1f}" cy="{axes.y(point[which]):.1f}" r="{3 - which}"/>' for i, point in enumerate(points))
        parts += [f'<rect class="{style}" x="{axes.LEFT}" y="{y - 9:.1f}" width="14" height="9"/>',
                  label(axes.LEFT + 20, y, f"{application}: performance portability {wording.efficiency(points[-1][1])}")]
        y += LINE
    return picture(y, f"Cascade: {wording.EFFICIENCY[kind].lower()}", parts)
