#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results/README.md lists every measurement, each has the stated form, and the texts named there cite it."""
import csv
import fnmatch
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "perf" / "bench"))
import report  # noqa: E402

INDEX = "README.md"
RUNS = "gpu-runs.csv"  # what was tested on a GPU, not measured
LINE = re.compile(r"^\| `(?P<file>[^`]+)` \| (?P<machine>[^|]+) \| (?P<commit>[^|]+) \| (?P<shows>[^|]+) \| (?P<cited_by>[^|]+) \|$", re.MULTILINE)
# A file, several as host-*.csv, or the folder of a comparison.
CITED = re.compile(r"[\w*./-]+[.]csv|perf/results/[\w*./-]*\w")


def lines_of_index(folder):
    return [match.groupdict() for match in LINE.finditer((folder / INDEX).read_text(encoding="utf-8"))]


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {INDEX, RUNS}


def name_of(file):
    """What a text calls it: by its folder where it has one, because the files of those are named alike."""
    path = pathlib.PurePath(file)
    return path.name if path.parent == pathlib.PurePath(".") else str(path.parent)


def is_cited(file, text):
    name = name_of(file)
    return any(fnmatch.fnmatch(known, cited) for cited in CITED.findall(text) for known in (name, "perf/results/" + name))


def is_number(text):
    try:
        return float(text) >= 0
    except ValueError:
        return False


def complaints_of_csv(file, text):
    lines = text.splitlines()
    head = {line[2:].split(": ", 1)[0] for line in lines if line.startswith("# ")}
    columns, *measured = [*csv.reader(line for line in lines if not line.startswith("#"))] or [[]]
    for there, what in ((head & {"cpu", "gpu"}, "machine"), ("ktopk commit" in head, "commit"), (measured, "measurement")):
        if not there:
            yield f"{file} states no {what}"
    if tuple(columns) != report.COLUMNS:
        yield f"{file} has the columns {','.join(columns)}"
        return
    for line in measured:
        if len(line) != len(columns):
            yield f"{file}: '{','.join(line)}' has {len(line)} columns"
            continue
        fields = dict(zip(columns, line))
        wanted = [fields["value"], *(text for text in (fields["bound"], fields["rows"], fields["n"], fields["k"]) if text)]
        if not fields["method"] or not fields["metric"] or not all(map(is_number, wanted)):
            yield f"{file}: '{','.join(line)}' is no measurement"


def complaints_of_form(file, text):
    if pathlib.PurePath(file).suffix == ".csv":
        yield from complaints_of_csv(file, text)
    else:
        yield f"{file} is no CSV: perf/bench/keep.py or perf/compare/compare.py makes it of JSON"


def complaints_of_line(line, folder, root):
    text = (folder / line["file"]).read_text(encoding="utf-8")
    yield from complaints_of_form(line["file"], text)
    for commit in re.findall(r"\b[0-9a-f]{7,}\b", line["commit"]):
        if commit not in text:
            yield f"{line['file']} does not name the commit {commit}"
    for citing in re.findall(r"`([^`]+)`", line["cited_by"]) or ["nothing"]:
        path = root / citing
        if not path.is_file() or not is_cited(line["file"], path.read_text(encoding="utf-8")):
            yield f"{citing} does not cite {line['file']}"


def complaints(folder, root):
    lines, files = lines_of_index(folder), files_of(folder)
    listed = [line["file"] for line in lines]
    yield from (f"{file} is not in the index" for file in sorted(files - set(listed)))
    yield from (f"there is no {file}" for file in sorted(set(listed) - files))
    yield from (f"{file} is listed twice" for file in sorted({file for file in listed if listed.count(file) > 1}))
    for line in lines:
        if line["file"] in files:
            yield from complaints_of_line(line, folder, root)


class ResultsTest(unittest.TestCase):
    def test_the_index_is_right(self):
        folder = ROOT / "perf" / "results"
        self.assertGreater(len(lines_of_index(folder)), 10)
        self.assertEqual(list(complaints(folder, ROOT)), [])


class ComplaintsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = pathlib.Path(temporary.name)
        self.folder = self.root / "results"
        self.write("text.md", "see `perf/results/one-*.csv`")
        self.measure("one-row.csv")
        self.list("one-row.csv")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def measure(self, file, head="# cpu: a processor\n# ktopk commit: 0123456789ab\n", line="f32,normal,1,8,2,,radix,,us,1.5,0.5\n"):
        self.write(f"results/{file}", head + ",".join(report.COLUMNS) + "\n" + line)

    def list(self, *files, commit="0123456"):
        self.write("results/README.md", "".join(f"| `{file}` | a machine | {commit} | times | `text.md` |\n" for file in files))

    def complaints(self):
        return list(complaints(self.folder, self.root))

    def test_a_cited_file_of_the_index_is_right(self):
        self.assertEqual(self.complaints(), [])

    def test_a_comparison_is_cited_by_its_folder(self):
        self.write("results/compare/here/kept.csv", (self.folder / "one-row.csv").read_text(encoding="utf-8"))
        self.list("compare/here/kept.csv")
        (self.folder / "one-row.csv").unlink()
        self.assertEqual(self.complaints(), ["text.md does not cite compare/here/kept.csv"])
        self.write("text.md", "`./dev compare --report perf/results/compare/here`.")
        self.assertEqual(self.complaints(), [])

    def test_a_file_that_is_not_listed(self):
        self.measure("one-batch.csv")
        self.assertEqual(self.complaints(), ["one-batch.csv is not in the index"])

    def test_a_line_without_a_file(self):
        self.list("one-row.csv", "one-batch.csv")
        self.assertEqual(self.complaints(), ["there is no one-batch.csv"])

    def test_a_file_that_is_listed_twice(self):
        self.list("one-row.csv", "one-row.csv")
        self.assertEqual(self.complaints(), ["one-row.csv is listed twice"])

    def test_a_file_that_no_text_cites(self):
        self.write("text.md", "see `one-row-of-keys.csv`, `two-*.csv` and *one*")
        self.assertEqual(self.complaints(), ["text.md does not cite one-row.csv"])

    def test_another_commit(self):
        self.list("one-row.csv", commit="abcdef0")
        self.assertEqual(self.complaints(), ["one-row.csv does not name the commit abcdef0"])

    def test_a_file_without_machine_commit_or_measurements(self):
        self.measure("one-row.csv", head="", line="")
        self.list("one-row.csv", commit="unknown")
        self.assertEqual(self.complaints(), [f"one-row.csv states no {what}" for what in ("machine", "commit", "measurement")])

    def test_lines_that_are_no_measurements(self):
        for line in ("f32,normal,1,8,2,,radix,,us,fast,0.5", "f32,normal,1,2^3,2,,radix,,us,1.5,", "f32,normal,1,8,2,,,,us,1.5,"):
            self.measure("one-row.csv", line=line + "\n")
            self.assertEqual(self.complaints(), [f"one-row.csv: '{line}' is no measurement"])
        self.measure("one-row.csv", line="f32,radix,1.5\n")
        self.assertEqual(self.complaints(), ["one-row.csv: 'f32,radix,1.5' has 3 columns"])

    def test_other_columns(self):
        self.write("results/one-row.csv", "# gpu: a card\n# ktopk commit: 0123456\ncase,us\na row,1.5\n")
        self.assertEqual(self.complaints(), ["one-row.csv has the columns case,us"])

    def test_a_file_of_json(self):
        self.write("text.md", "perf/results/one-row.json")
        self.write("results/one-row.json", '{"context": {}, "commit": "0123456"}')
        (self.folder / "one-row.csv").unlink()
        self.list("one-row.json")
        self.assertEqual(self.complaints(), ["one-row.json is no CSV: perf/bench/keep.py or perf/compare/compare.py makes it of JSON"])


if __name__ == "__main__":
    unittest.main()
