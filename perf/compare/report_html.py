# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as one HTML file that needs no network."""
import re
from html import escape

import charts
import report_markdown
import wording
from analysis import FIELD, HARDWARE

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2937; --soft: #5b6472; --rule: #d5dae1; --shade: #f3f5f8;
  --tuned: #2a5bd7; --portable: #d06c06; --other: #8a919c; --strong: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e5e8ed; --soft: #a4acb9; --rule: #363c46; --shade: #1e232b;
  --tuned: #7aa5ff; --portable: #f0a04b; --other: #7e8795; --strong: #0d1117; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 20px 16px 60px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 4px; font-size: 28px; line-height: 1.2; } h2 { margin: 40px 0 8px; font-size: 21px; } h3 { margin: 20px 0 2px; font-size: 17px; }
p { margin: 6px 0 12px; max-width: 72ch; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; line-height: 1.35; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td { font-variant-numeric: tabular-nums; min-width: 3em; } td:first-child { min-width: 10em; } .whole { white-space: nowrap; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 28px 36px; align-items: start; }
.pair > * { min-width: 0; } figure { margin: 0; } figcaption { color: var(--soft); font-size: 14px; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12.5px system-ui, sans-serif; fill: var(--ink); } svg .head { font-weight: 600; } svg .value { fill: var(--soft); font-size: 11.5px; }
svg .weak { font-size: 11.5px; } svg .strong { fill: var(--strong); font-size: 11.5px; font-weight: 600; }
svg .grid { stroke: var(--rule); } svg .bound { stroke: var(--ink); } svg .whisker { stroke: var(--soft); }
svg .tuned { fill: var(--tuned); } svg .portable { fill: var(--portable); } svg .other { fill: var(--other); }
svg .cell { fill: var(--shade); } svg .heat { fill: var(--tuned); }
svg .line { fill: none; stroke-width: 2; } svg .line.tuned { stroke: var(--tuned); } svg .line.portable { stroke: var(--portable); }
svg .line.other { stroke: var(--other); } svg .dashed { stroke-dasharray: 4 4; stroke-width: 1.5; }
.key span { display: inline-block; margin-right: 18px; } .key i { display: inline-block; width: 13px; height: 10px; margin-right: 6px; }
@media (max-width: 560px) { body { padding: 14px 12px 40px; } h1 { font-size: 24px; } th, td { padding: 4px 7px; } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2, h3, figcaption, section > p { break-after: avoid; } figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; } table { font-size: 8pt; } th, td { padding: 2px 4px; } .whole { white-space: normal; }
  svg rect, svg circle, .key i { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""


def inline(text):
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text, quote=False))


def cells(row):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


def table_cell(cell):
    """Short texts stay on one line, so that figures can be compared down a column."""
    return f'<td{" class=whole" if len(cell) < 28 else ""}>{inline(cell)}</td>'


def table(lines):
    head, body = cells(lines[0]), [cells(row) for row in lines[2:]]
    rows = "".join(f'<tr>{"".join(map(table_cell, row))}</tr>' for row in body)
    return f'<div class="scroll"><table><tr>{"".join(f"<th>{inline(cell)}</th>" for cell in head)}</tr>{rows}</table></div>'


def items(lines):
    """A list of one or two levels."""
    return "<ul>" + "".join(f'<li{" style=margin-left:1.5em" if line.startswith("  ") else ""}>{inline(line.strip()[2:])}</li>' for line in lines) + "</ul>"


def from_markdown(text):
    """What report_markdown writes: paragraphs, tables, lists and headings of the third level."""
    parts = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if not lines:
            continue
        if lines[0].startswith("| "):
            parts.append(table(lines))
        elif lines[0].startswith("- "):
            parts.append(items(lines))
        elif lines[0].startswith("### "):
            parts.append(f"<h3>{inline(lines[0][4:])}</h3>")
        else:
            parts.append(f"<p>{inline(block)}</p>")
    return "\n".join(parts)


def figure(caption, svg, scrolls=False):
    return f'<figure{" class=scroll" if scrolls else ""}><figcaption>{escape(caption)}</figcaption>{svg}</figure>'


def pair(figures):
    return f'<div class="pair">{"".join(figures)}</div>'


def key():
    names = (("tuned", "ktopk"), ("portable", "ktopk portable"), ("other", "fastest baseline"))
    boxes = "".join(f'<span><i style="background:var(--{kind})"></i>{name}</span>' for kind, name in names)
    return f'<p class="key">{boxes}<span class="soft">thin line: up to the slowest kind of keys</span></p>'


def workloads(analysis):
    names = dict.fromkeys(problem[0] for problem in analysis.problems)
    cards = [f'<section><h3>{escape(wording.title_of(name))}</h3><p class="soft">{escape(wording.why_of(name))}</p>'
             f"<figure>{charts.workload_bars(analysis, name)}</figure></section>" for name in names]
    return key() + pair(cards)


def section(title, body):
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>"


def text(analysis, changed, tolerance):
    kinds = (HARDWARE, FIELD)
    names = dict.fromkeys(problem[0] for problem in analysis.problems)
    tables = "\n\n".join(report_markdown.workload(analysis, name) for name in names)
    parts = [
        section("Summary", from_markdown(report_markdown.summary(analysis))),
        section("What did not run or was wrong", from_markdown(report_markdown.did_not_run(analysis))),
        section("Changes since the baseline", from_markdown(report_markdown.changes(analysis, changed, tolerance))) if changed else "",
        section("By platform and workload", pair(figure(wording.EFFICIENCY[kind], charts.heat_map(analysis, kind), True) for kind in kinds)),
        section("Cascade", "<p>Solid: the efficiency on each platform, the best first. Dashed: the performance portability over the platforms up to there. "
                "An application that serves no platform completely is left out.</p>"
                + pair(figure(wording.EFFICIENCY[kind], charts.cascade(analysis, kind)) for kind in kinds)),
        section("Where ktopk loses", from_markdown(report_markdown.losses(analysis))),
        section("Portable against tuned", "<p>Time of the portable implementation over the tuned one's.</p>" + from_markdown(report_markdown.portable_against_tuned(analysis))),
        section("Workloads", "<p>Time over the bound (1: the keys are read once), logarithmic.</p>" + workloads(analysis)),
        section("All times", "<p>Medians; in brackets over the bound.</p>" + from_markdown(tables)),
        section("How it is computed", from_markdown(report_markdown.explanation())),
        section("Machines and builds", from_markdown(report_markdown.machines(analysis))),
    ]
    return "\n".join([
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>The portability of ktopk</title><style>{STYLE}</style></head><body>",
        '<h1>The portability of ktopk</h1><p class="soft">One call on every backend: what it loses against the hardware, and against the best other software.</p>',
        *filter(None, parts), "</body></html>\n"])
