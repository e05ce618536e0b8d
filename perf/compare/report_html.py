# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report as one HTML file that needs no network."""
import re
from html import escape

import charts
import report_markdown
import results
import wording
from analysis import FIELD, HARDWARE

STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1f2937; --soft: #5b6472; --rule: #d5dae1; --shade: #f3f5f8;
  --tuned: #2a5bd7; --portable: #d06c06; --other: #8a919c; --strong: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --paper: #14171c; --ink: #e5e8ed; --soft: #a4acb9; --rule: #363c46; --shade: #1e232b;
  --tuned: #7aa5ff; --portable: #f0a04b; --other: #7e8795; --strong: #0d1117; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1240px; padding: 20px 16px 60px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin: 0 0 4px; font-size: 28px; line-height: 1.2; } h2 { margin: 40px 0 8px; font-size: 21px; } h3 { margin: 20px 0 2px; font-size: 17px; }
p { margin: 6px 0 12px; max-width: 72ch; } .soft { color: var(--soft); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; line-height: 1.35; }
th, td { padding: 4px 10px; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; } td { font-variant-numeric: tabular-nums; min-width: 3em; } .whole { white-space: nowrap; } .long { min-width: 11em; }
th:first-child, td:first-child { position: sticky; left: 0; z-index: 1; background: var(--paper); } td:first-child { min-width: 13em; }
th button { all: unset; cursor: pointer; } th button:hover { color: var(--ink); } th button:focus-visible { outline: 2px solid var(--tuned); outline-offset: 2px; }
th button::after { content: "\\2195"; margin-left: 4px; opacity: .45; } th[aria-sort] button::after { opacity: 1; }
th[aria-sort=ascending] button::after { content: "\\2191"; } th[aria-sort=descending] button::after { content: "\\2193"; }
.heat td { border: 1px solid var(--paper); } .heat td[style] { min-width: 52px; text-align: center; border-radius: 4px;
  background: color-mix(in srgb, var(--tuned) calc(var(--part) * 100%), var(--shade)); }
.heat .strong { color: var(--strong); font-weight: 600; } .heat td:first-child { min-width: 15em; } .heat thead th { text-align: center; } .heat thead th:first-child { text-align: left; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 28px 36px; align-items: start; }
.pair > * { min-width: 0; } .cards { columns: 440px 2; column-gap: 36px; } .cards section { break-inside: avoid; padding-bottom: 28px; } .cards h3 { margin-top: 0; } figure { margin: 0 0 16px; } figcaption { color: var(--soft); font-size: 14px; margin-bottom: 6px; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12.5px system-ui, sans-serif; fill: var(--ink); } svg .head { font-weight: 600; } svg .value { fill: var(--soft); font-size: 11.5px; }
svg .grid { stroke: var(--rule); } svg .bound { stroke: var(--ink); } svg .whisker { stroke: var(--soft); }
svg .tuned { fill: var(--tuned); } svg .portable { fill: var(--portable); } svg .other { fill: var(--other); }
svg .line { fill: none; stroke-width: 2; } svg .line.tuned { stroke: var(--tuned); } svg .line.portable { stroke: var(--portable); }
svg .line.other { stroke: var(--other); } svg .dashed { stroke-dasharray: 4 4; stroke-width: 1.5; }
.key span { display: inline-block; margin-right: 18px; } .key i { display: inline-block; width: 13px; height: 10px; margin-right: 6px; }
@media (max-width: 560px) { body { padding: 14px 12px 40px; } h1 { font-size: 24px; } th, td { padding: 4px 7px; }
  th:first-child, td:first-child, .heat td:first-child { min-width: 10.5em; max-width: 45vw; white-space: normal; overflow-wrap: anywhere; box-shadow: inset -1px 0 var(--rule); } }
@media print { body { max-width: none; padding: 0; font-size: 11pt; } h2, h3, figcaption, section > p { break-after: avoid; } figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; } table { font-size: 8pt; } th, td { padding: 2px 4px; } .whole { white-space: normal; }
  th:first-child, td:first-child { position: static; } th button::after { content: none; }
  svg rect, svg circle, .key i, .heat td { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
"""

# A click on the head of a column sorts by it: ascending, descending, as it was. What has no figure in a column of
# figures stays last.
SCRIPT = """
const next = { none: "ascending", ascending: "descending", descending: "none" };
const keyOf = (row, column) => row.cells[column].dataset.key;
function compare(a, b, column, isNumeric) {
  if (isNumeric) return keyOf(a, column) - keyOf(b, column);
  return a.cells[column].textContent.localeCompare(b.cells[column].textContent, "en", { numeric: true });
}
function sorted(rows, column, order) {
  const isNumeric = rows.some(row => keyOf(row, column));
  const [placed, last] = [[], []];
  for (const row of rows) (isNumeric && !keyOf(row, column) ? last : placed).push(row);
  const sign = order === "ascending" ? 1 : -1;
  return [...placed.sort((a, b) => sign * compare(a, b, column, isNumeric)), ...last];
}
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  if (rows.length > 1) heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const order = next[head.getAttribute("aria-sort") || "none"];
      for (const each of heads) each.removeAttribute("aria-sort");
      if (order !== "none") head.setAttribute("aria-sort", order);
      body.append(...(order === "none" ? rows : sorted(rows, column, order)));
    };
  });
}
"""
KINDS = (HARDWARE, FIELD)


def inline(text):
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text, quote=False))


def cells(row):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


# A figure with its unit, what it is a part of, its ratio and whose it is: 11.3 ms (4.81) std::nth_element, 16 of 145, ±3 %.
FIGURE = re.compile(r"±?(\d+(?:\.\d+)?)(?: (us|ms|%|of \d+))?(?: \([\d.]+\))?(?: [\w:]+)?")


def sort_key(cell):
    """The number to sort by, times in us; None of a text."""
    found = FIGURE.fullmatch(cell)
    return float(found[1]) * (1000 if found[2] == "ms" else 1) if found else None


def table_cell(cell, is_last):
    """Short texts stay on one line, so that figures can be compared down a column; the last column may take what is left."""
    key = sort_key(cell)
    kind = " class=long" if len(cell) > 23 else "" if is_last else " class=whole"
    return f'<td{kind}{"" if key is None else f" data-key={key:g}"}>{inline(re.sub(r"(?<=[0-9]) (?=us|ms)", chr(0xA0), cell))}</td>'


def table_row(row):
    return f'<tr>{"".join(table_cell(cell, i + 1 == len(row)) for i, cell in enumerate(row))}</tr>'


def table_of(head, body, kind=""):
    """The first column stays where the others scroll."""
    return f'<div class="scroll"><table{kind}><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def table(lines):
    head = "".join(f"<th>{inline(cell)}</th>" for cell in cells(lines[0]))
    return table_of(f"<tr>{head}</tr>", "".join(table_row(cells(row)) for row in lines[2:]))


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


def figure(caption, content):
    return f"<figure><figcaption>{escape(caption)}</figcaption>{content}</figure>"


def heat_cell(value):
    """Empty where the workload was not asked for."""
    if value is None:
        return "<td></td>"
    kind = " class=strong" if value > 0.6 else ""
    return f'<td{kind} style="--part:{value:.2f}" data-key={value:.4f}>{wording.efficiency(value)}</td>'


def heat_map(analysis, kind):
    """A row for each workload, a column for each implementation of ktopk on each platform."""
    names = dict.fromkeys(problem[0] for problem in analysis.problems)
    platforms = "".join(f"<th colspan={len(results.OURS)}>{escape(analysis.name_of(platform))}</th>" for platform in analysis.platforms)
    columns = [(platform, application) for platform in analysis.platforms for application in results.OURS]
    implementations = "".join(f"<th>{charts.CLASS_OF[application]}</th>" for _, application in columns)
    rows = "".join(f"<tr><td>{escape(wording.title_of(name))}</td>" + "".join(
        heat_cell(analysis.efficiency_of_workload(kind, application, platform, name)) for platform, application in columns) + "</tr>" for name in names)
    return table_of(f"<tr><th></th>{platforms}</tr><tr><th>workload</th>{implementations}</tr>", rows, " class=heat")


MOST_SIDE_BY_SIDE, FEWEST_OF_CASCADE = 2, 3


def heat_maps(analysis):
    arrange = pair if len(analysis.platforms) <= MOST_SIDE_BY_SIDE else "".join
    return section("By platform and workload", arrange(figure(wording.EFFICIENCY[kind], heat_map(analysis, kind)) for kind in KINDS))


def cascade(analysis):
    """Two platforms are two points of a line, and a table says more."""
    left_out = "An application that serves no platform completely is left out."
    if len(analysis.platforms) < FEWEST_OF_CASCADE:
        pictures = (figure(wording.EFFICIENCY[kind], from_markdown(report_markdown.by_platform(analysis, kind))) for kind in KINDS)
        return section("By platform", f"<p>The efficiency on each platform, and the performance portability over all of them. {left_out}</p>" + pair(pictures))
    pictures = (figure(wording.EFFICIENCY[kind], charts.cascade(analysis, kind)) for kind in KINDS)
    return section("Cascade", "<p>Solid: the efficiency on each platform, the best first. Dashed: the performance portability over the platforms up to there. "
                   f"{left_out}</p>" + pair(pictures))


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
    return f'{key()}<div class="cards">{"".join(cards)}</div>'


def section(title, body):
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>"


def text(analysis, changed, tolerance):
    names = dict.fromkeys(problem[0] for problem in analysis.problems)
    tables = "\n\n".join(report_markdown.workload(analysis, name) for name in names)
    parts = [
        section("Summary", from_markdown(report_markdown.summary(analysis))),
        section("What did not run or was wrong", from_markdown(report_markdown.did_not_run(analysis))),
        section("Changes since the baseline", from_markdown(report_markdown.changes(analysis, changed, tolerance))) if changed else "",
        heat_maps(analysis),
        cascade(analysis),
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
        *filter(None, parts), f"<script>{SCRIPT}</script></body></html>\n"])
