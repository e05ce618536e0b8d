#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of how_it_works.md, which stand in the page as text, so that they follow its colors. usage: draw.py"""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
STYLE = """
.drawing { width: 100%; max-width: 36rem; height: auto; display: block; margin: 1rem auto; }
.drawing text { font: 15px system-ui, sans-serif; fill: var(--color-foreground-primary, #222); }
.drawing .small { font-size: 13px; fill: var(--color-foreground-secondary, #555); }
.drawing .strong { font-weight: 600; }
.drawing .box { fill: var(--color-background-secondary, #f4f4f5); stroke: var(--color-foreground-border, #999); }
.drawing .line { fill: none; stroke: var(--color-foreground-secondary, #555); stroke-width: 1.5; }
.drawing .dashed { stroke-dasharray: 5 4; }
.drawing .one { fill: #2f7d5b; stroke: none; }
.drawing .two { fill: #c2410c; stroke: none; }
.drawing .three { fill: #2563eb; stroke: none; }
.drawing .four { fill: #8b5cf6; stroke: none; }
.drawing .pale { fill: var(--color-foreground-border, #ccc); stroke: none; }
.drawing .crisp rect { shape-rendering: crispEdges; }
.drawing .on-color { fill: #fff; font-weight: 600; }
"""


class Drawing:
    def __init__(self, name, title, height):
        self.name, self.height, self.parts = name, height, []
        self.parts.append(f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 480 {height}" role="img" '
                          f'aria-label="{title}">\n<title>{title}</title>\n<style>{STYLE}</style>')

    def text(self, x, y, text, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{text}</text>')

    def box(self, x, y, width, height, kind="box", radius=5):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}" class="{kind}"/>')

    def line(self, points, kind="line"):
        self.parts.append(f'<polyline points="{" ".join(f"{x:g},{y:g}" for x, y in points)}" class="{kind}"/>')

    def arrow(self, x, y, to):
        self.line([(x, y), (x, to)])
        self.line([(x - 4, to - 6), (x, to), (x + 4, to - 6)])

    def layer(self, y, height, title, lines):
        self.box(10, y, 460, height)
        self.text(22, y + 22, title, "strong")
        for i, line in enumerate(lines):
            self.text(22, y + 42 + 18 * i, line, "small")

    def write(self):
        (HERE / self.name).write_text("\n".join(self.parts) + "\n</svg>\n", encoding="utf-8")


def layers():
    d = Drawing("layers.svg", "The layers of a call, from the program to the kernels", 478)
    d.layer(8, 56, "Your program", ["Views, ragged rows, keys that a functor makes"])
    d.arrow(240, 66, 80)
    d.layer(82, 56, "The calls", ["top_k, Plan, kth, quantiles, count, reaching …"])
    d.arrow(240, 140, 154)
    d.layer(156, 74, "Collapse and checks", ["types by the compiler, extents and overlaps by the host;",
                                             "Views become pointers and strides, errors are thrown"])
    d.arrow(240, 232, 246)
    d.layer(248, 74, "The decision", ["a table of kernels for each backend, best first:",
                                      "the first one that does not decline runs"])
    for x, title, lines in ((10, "CUDA", ["hand-written", "kernels"]), (166, "hosts", ["SIMD, chosen", "at run time"]),
                            (322, "portable", ["every Kokkos", "backend"])):
        d.arrow(x + 74, 324, 338)
        d.box(x, 340, 148, 66)
        d.text(x + 12, 362, title, "strong")
        for i, line in enumerate(lines):
            d.text(x + 12, 381 + 17 * i, line, "small")
        d.arrow(x + 74, 408, 420)
    d.layer(422, 48, "Finish", [])
    d.text(84, 444, "sort, split into values and indices,", "small")
    d.text(84, 461, "fill short rows, write counts", "small")
    d.write()


def one_pass():
    keys = [31, 58, 20, 83, 44, 12, 66, 38, 91, 25, 52, 71, 17, 47, 78, 34, 60, 9, 54, 41, 88, 28, 49, 63]
    sampled, threshold, k = (2, 6, 10, 14, 19, 23), 63, 5
    kept = [i for i, key in enumerate(keys) if key >= threshold]
    best = sorted(kept, key=lambda i: -keys[i])[:k]
    d = Drawing("one_pass.svg", "A row of keys through one_pass: sample, threshold, one read, exact finish", 560)

    def bars(y, kind_of):
        for i, key in enumerate(keys):
            d.box(24 + 18 * i, y + 90 - 0.9 * key, 13, 0.9 * key, kind_of(i), 1)

    d.text(12, 20, "1. Sample: a few keys of the row are read", "strong")
    bars(30, lambda i: "three" if i in sampled else "pale")
    d.text(12, 150, "2. Threshold: a key of the sample that slightly more", "strong")
    d.text(30, 168, "than k keys should reach", "strong")
    bars(176, lambda i: "three" if i in sampled else "pale")
    y = 176 + 90 - 0.9 * threshold
    d.line([(12, y), (468, y)], "line dashed")
    d.text(12, 296, f"3. One read: what reaches it is kept and counted: {len(kept)}", "strong")
    bars(306, lambda i: "one" if i in kept else "pale")
    y = 306 + 90 - 0.9 * threshold
    d.line([(12, y), (468, y)], "line dashed")
    d.text(12, 426, f"4. Finish: exact selection among the kept, k = {k}", "strong")
    for place, i in enumerate(best):
        d.box(24 + 60 * place, 436, 50, 34, "one")
        d.text(49 + 60 * place, 458, keys[i], "on-color", "middle")
    d.text(12, 498, f"Proof: {k} ≤ {len(kept)} ≤ room of the list, so the {k} best are among", "small")
    d.text(12, 516, "the kept. If the count is outside, the row is read again", "small")
    d.text(12, 534, "and selected exactly. The sample never decides the answer.", "small")
    d.write()


# The table of choosing.md for packed floats; n, k and rows are logarithms to the base of 2.
def host(n, k, rows):
    if n < 13 or (rows > 0 and n < 18):
        return "one_pass"
    if k < (6 if rows == 0 and 17 < n < 21 else 7):
        return "heap"
    return "one_pass" if k < n - 5 else "radix"


def cuda(n, k, rows):
    if n < 12:
        return "bisection"
    if n < 20 or rows >= 3:
        return "one_pass" if k < 13 else "radix"
    return "one_pass" if k < min(n - 9, 18) else "radix"


def kernel_map():
    kinds = {"one_pass": "one", "radix": "two", "bisection": "three", "heap": "four"}
    d = Drawing("kernel_map.svg", "Which algorithm runs for n, k and the number of rows, on hosts and on CUDA", 516)
    panels = ((host, 0, "Hosts, one row", 44, 48), (host, 10, "Hosts, 1024 rows", 274, 48), (cuda, 0, "CUDA, one row", 44, 276),
              (cuda, 10, "CUDA, 1024 rows", 274, 276))
    low, high, top = 8, 26, 25
    for choose, rows, title, left, up in panels:
        width, height = 186.0, 150.0
        d.text(left, up - 8, title, "strong")
        dx, dy = width / (high - low), height / top
        d.parts.append('<g class="crisp">')
        for column in range(2 * low, 2 * high):
            n, begin = column / 2, 0
            cells = min(column, 2 * top)

            def at(cell):
                return choose(n + 0.25, cell / 2 + 0.25, rows)

            for cell in range(cells):
                if cell + 1 == cells or at(cell + 1) != at(cell):
                    d.box(left + (n - low) * dx, up + height - (cell + 1) / 2 * dy, dx / 2 + 0.3,
                          (cell + 1 - begin) / 2 * dy + 0.3, kinds[at(cell)], 0)
                    begin = cell + 1
        d.parts.append("</g>")
        for n, name in ((8, "2⁸"), (13, "2¹³") if choose is host else (12, "2¹²"), (20, "2²⁰"), (26, "2²⁶")):
            d.text(left + (n - low) * dx, up + height + 17, name, "small", "middle")
        for k, name in ((0, "1"), (7, "2⁷"), (13, "2¹³"), (20, "2²⁰")):
            d.text(left - 5, up + height - k * dy + 4, name, "small", "end")
        d.text(left + width / 2, up + height + 34, "keys of a row, n", "small", "middle")
        d.text(left + 4, up + 14, "k", "small")
    for i, (name, kind) in enumerate(kinds.items()):
        d.box(44 + 106 * i, 484, 14, 14, kind, 2)
        d.text(63 + 106 * i, 496, name)
    d.write()


def plan():
    d = Drawing("plan.svg", "What a Plan holds, and what a call of it does", 420)
    d.box(10, 8, 460, 232)
    d.text(24, 32, "Plan", "strong")
    for y, title, lines in ((44, "instance", ["where all work goes"]), (90, "shape, options", ["rows, n, k, bytes of a key;", "order, ties, NaN"]),
                            (136, "kernels", ["one for each layout: keys of a row", "or of neighboring rows side by side"]),
                            (182, "workspace", ["one allocation, as large as the", "largest of them needs"])):
        d.box(24, y, 432, 40)
        d.text(36, y + 25, title, "strong")
        d.text(172, y + (25 if len(lines) == 1 else 17), lines[0], "small")
        if len(lines) > 1:
            d.text(172, y + 33, lines[1], "small")
    d.arrow(240, 242, 262)
    d.layer(264, 92, "plan(keys, values, indices)", ["checks that the Views are of the shape",
                                                     "takes the kernel for their layout", "enqueues it on the instance"])
    d.text(12, 382, "No allocation, no fence, no read-back. Calls share the", "small")
    d.text(12, 400, "workspace, so they follow each other on the instance.", "small")
    d.write()


for draw in (layers, one_pass, kernel_map, plan):
    draw()
