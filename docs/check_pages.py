#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Sphinx does not check of the site. usage: check_pages.py HTML-FOLDER"""
import html.parser
import pathlib
import re
import sys
import urllib.parse

DOCS = pathlib.Path(__file__).resolve().parent
# Pages for developers may use their words.
DEVELOPERS = {"algorithms.md", "architecture.md", "papers.md", "scaling.md"}
# What newcomers stumbled on.
STRANGE = re.compile(r"\bserves?\b|\blies?\s+apart|processor \(SM\)|\bway\s+there\s+and\s+back|out of\s+the\s+space's\s+reach", re.IGNORECASE)
SECTIONS = {"calls": ("## Example", "## Costs", "## Errors", "## In NumPy and PyTorch", "## Reference"),
            "keys": ("## Example", "## Costs", "## Errors", "## In NumPy and PyTorch"),
            "samples": ("## Program", "## In NumPy", "## Costs")}
NO_EXAMPLE = {"calls/options.md"}

# Where messages come from. In C++ every literal of several words counts, elsewhere what is said of an error.
ROOT = DOCS.parent
SOURCES = ("CMakeLists.txt", "docs/CMakeLists.txt", "cmake/*", *(f"{folder}/**/*" for folder in (
    "backends", "dispatch", "include", "portable", "runtime", "tools")))
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
LITERALS = r'(?P<text>(?:"(?:[^"\\]|\\.)*"\s*)+)'
CPP = re.compile(r"""//[^\n]*|/\*.*?\*/|R"\(.*?\)"|'(?:[^'\\\n]|\\[^'\n]+|\\')'|""" + LITERALS, re.DOTALL)
CMAKE = re.compile(r"(?:message\((?:FATAL_ERROR|SEND_ERROR|WARNING)|_NOT_FOUND_MESSAGE)\s+" + LITERALS)
CALLS = {".txt": CMAKE, ".cmake": CMAKE, ".in": CMAKE, ".bash": re.compile(r"\bdie " + LITERALS)}
SUFFIXES = {".cpp", ".cu", ".cuh", ".hpp", *CALLS}
# Numbers and names in a message.
HOLE = re.compile(r"\$\{[^}]*\}|\$\w+|@\w+@|%[-0-9.]*[a-z]|\\n")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# Instructions, labels, output that is no error, and why a kernel declines, as `ktopk info --shape` prints it.
NO_MESSAGE = re.compile(r"""\basm\b.*?\);$|\bfence\("[^"]*"\)|\bstd::printf\([^;]*;"""
                        r"|^( *)[^\n]*\bReason [\w:<>]+\([^;{]*\{(?:[^\n]+\}$|\n.*?^\1\}$)", re.DOTALL | re.MULTILINE)
# Files and texts that are no messages, and what they are.
NOT_LISTED = {
    "backends/cuda/choose.hpp": "names of measurements",
    "dispatch/explain.cpp": "what runs",
    "dispatch/info.cpp": "the configuration",
    "tools/manual.cpp": "the manual page and the completion",
    "tools/progress.cpp": "the progress bar",
    "README.md holds no example": "an error of this checkout",
    "rank on": "what mpi::describe returns",
    "ranks on": "the same",
    "messages through the memory of the host": "the same",
    "lists from and to the memory of the device": "the same",
    "KTOPK_GPU_AWARE_MPI=no on a rank": "the same",
    "MPI's memory kinds": "the same",
    "neither KTOPK_GPU_AWARE_MPI nor MPI's memory kinds say otherwise": "the same",
    "GiB, compute capability": "a device, as `ktopk info` prints it",
    "hosts, cuda": "an algorithm, as `ktopk info` prints it",
    "model name": "what /proc/cpuinfo calls a processor",
    "fortran_order': False, 'shape": "the header of a .npy file",
    "ktopk selects the k largest or smallest keys of every row of a file": "the first line of --help",
}


class Page(html.parser.HTMLParser):
    """The anchors, links and text of a page; text but that of code."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.text, self.code = set(), [], [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.ids.update(known[name] for name in ("id", "name") if known.get(name))
        self.links.extend(known[name] for name in ("href", "src") if known.get(name))
        self.code += tag in ("code", "pre", "script", "style", "dt")

    def handle_endtag(self, tag):
        self.code -= tag in ("code", "pre", "script", "style", "dt")

    def handle_data(self, data):
        if not self.code:
            self.text.append(data)


def complaints_of_site(folder):
    pages = {path: Page(path) for path in folder.rglob("*.html") if "_static" not in path.parts}
    if len(pages) < 10:
        yield f"only {len(pages)} pages in {folder}"
    for path, page in pages.items():
        name = path.relative_to(folder)
        if any("**" in text for text in page.text):
            yield f"{name} shows asterisks: emphasis did not end"
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or link == "#":
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.exists():
                yield f"{name} links to {link}, which is not there"
            elif anchor and target in pages and anchor not in pages[target].ids:
                yield f"{name} links to {link}, which has no such anchor"


def unescaped(text):
    return re.sub(r'\\(["\\-])', r"\1", text)


def literals_of(path):
    """The line and the text of each literal of a file that may be a part of a message."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in CALLS:
        found = CALLS[path.suffix].finditer(text)
    else:
        text = NO_MESSAGE.sub(lambda cut: "\n" * cut.group().count("\n"), text)
        found = (token for token in CPP.finditer(text) if token["text"])
    for one in found:
        yield text.count("\n", 0, one.start("text")) + 1, unescaped("".join(LITERAL.findall(one["text"])))


def literals():
    """The place and the text of each such literal of the sources."""
    for path in sorted(path for pattern in SOURCES for path in ROOT.glob(pattern)):
        name = str(path.relative_to(ROOT))
        if path.suffix in SUFFIXES and name not in NOT_LISTED:
            yield from ((f"{name}:{line}", text) for line, text in literals_of(path))


def fixed_parts(text):
    """A message without its numbers and names. A single word says nothing, except for a member as Options::order."""
    for part in HOLE.split(text):
        part = part.strip(" ,;:.()'\"")
        if len(re.findall("[A-Za-z]+", part)) > 1 and re.search(r" |^(?!ktopk)\w+::", part):
            yield part


def spans(text):
    """The code of a page, in lines and in blocks."""
    return [" ".join(found[1].split()) for found in SPAN.findall(text.replace("\\|", "|"))]


def rows(page):
    """The messages in the first cells of the tables. `begins …`: `one`, `another` are two."""
    for cell in re.findall(r"^\| (`.*?) \| ", page, re.MULTILINE):
        first, *others = spans(cell)
        yield from (first[:-1] + other for other in others) if "…`: `" in cell else (first, *others)


def complaints_of_missing_rows(pages, known):
    page = pages["troubleshooting.md"]
    listed = "\n".join([*rows(page), *spans(page)])
    help_texts = unescaped((ROOT / "tools/installed/ktopk.1").read_text(encoding="utf-8"))
    of_command = "\n".join([*spans(pages["command.md"]), help_texts])
    for place, text in known:
        for part in fixed_parts(text):
            if part not in listed and part not in NOT_LISTED and not (place.startswith("tools/") and part in of_command):
                yield f"{place}: troubleshooting.md lacks '{part}'"


def complaints_of_wrong_rows(pages, known):
    said = "\n".join(HOLE.sub("\n", text) for _, text in known)
    for message in rows(pages["troubleshooting.md"]):
        yield from (f"troubleshooting.md: no message has '{part.strip()}'" for part in message.split("…") if part.strip() not in said)


def complaints_of_messages(pages):
    """Each message of the sources has a row in troubleshooting.md, and the sources have each message of its rows."""
    known = list(literals())
    yield from complaints_of_missing_rows(pages, known)
    yield from complaints_of_wrong_rows(pages, known)


def complaints_of_samples(pages):
    """Each sample has a page that shows the program, what it prints, and the twin in NumPy."""
    for program in (DOCS.parent / "examples" / "samples").glob("*.cpp"):
        page = pages.get(f"samples/{program.stem}.md", "")
        for path in (program.with_suffix(suffix) for suffix in (".cpp", ".txt", ".py")):
            if not path.is_file() or f"examples/samples/{path.name}\n" not in page:
                yield f"samples/{program.stem}.md does not show {path.name}"


def complaints_of_sources():
    pages = {str(path.relative_to(DOCS)): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")}
    everything = "".join(pages.values())
    for name, text in pages.items():
        if name not in DEVELOPERS:
            yield from (f"{name}: say '{found[0]}' in plain words" for found in STRANGE.finditer(SPAN.sub("", text)))
        for section in SECTIONS.get(name.split("/")[0], ()) if name not in NO_EXAMPLE else ():
            if section not in text:
                yield f"{name} has no section '{section}'"
    for program in (DOCS / "programs").glob("*.cpp"):
        printed = program.with_suffix(".txt")
        if not printed.is_file() or not printed.read_text(encoding="utf-8"):
            yield f"{printed.name} does not say what {program.name} prints"
        yield from (f"no page shows {path.name}" for path in (program, printed) if f"programs/{path.name}" not in everything)
    yield from complaints_of_samples(pages)
    yield from complaints_of_messages(pages)


def main():
    found = [*complaints_of_site(pathlib.Path(sys.argv[1]).resolve()), *complaints_of_sources()]
    print(*found, f"pages: {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
