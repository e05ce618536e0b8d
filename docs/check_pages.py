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


def sources():
    text = ""
    for folder in ("dispatch", "include", "portable"):
        for path in sorted((DOCS.parent / folder).rglob("*.[ch]pp")):
            text += path.read_text(encoding="utf-8")
    return re.sub(r'"\s*"', "", text)  # literals that stand one after the other


def complaints_of_messages(text, source):
    """Messages of the tables, between the dots that stand for numbers and names, are those of the sources."""
    for row in re.findall(r"^\| (`.*?) \|", text[text.index("## Messages of calls"):text.index("## Configuring")], re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", row):
            for part in message.split("…"):
                # A name that is handed on, and what is said of it.
                for piece in re.split(r"(?<=[a-z]) (?=is $)", part):
                    if piece.strip(" =") and piece.strip() not in source and piece.strip().removeprefix("the ") not in source:
                        yield f"troubleshooting.md: no message has '{piece.strip()}'"


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
            yield from (f"{name}: say '{found[0]}' in plain words" for found in STRANGE.finditer(text))
        for section in SECTIONS.get(name.split("/")[0], ()) if name not in NO_EXAMPLE else ():
            if section not in text:
                yield f"{name} has no section '{section}'"
    for program in (DOCS / "programs").glob("*.cpp"):
        printed = program.with_suffix(".txt")
        if not printed.is_file() or not printed.read_text(encoding="utf-8"):
            yield f"{printed.name} does not say what {program.name} prints"
        yield from (f"no page shows {path.name}" for path in (program, printed) if f"programs/{path.name}" not in everything)
    yield from complaints_of_samples(pages)
    yield from complaints_of_messages(pages["troubleshooting.md"], sources())


def main():
    found = [*complaints_of_site(pathlib.Path(sys.argv[1]).resolve()), *complaints_of_sources()]
    print(*found, f"pages: {len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
