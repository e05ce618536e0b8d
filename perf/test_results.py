#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""results/README.md lists every measurement, each has the stated form, and the texts named there cite it."""
import fnmatch
import json
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
INDEX = "README.md"
REPORT = "compare/report.md"  # of the runs beside it
RUNS = "gpu-runs.csv"  # what was tested on a GPU, not measured
LINE = re.compile(r"^\| `(?P<file>[^`]+)` \| (?P<machine>[^|]+) \| (?P<commit>[^|]+) \| (?P<shows>[^|]+) \| (?P<cited_by>[^|]+) \|$", re.MULTILINE)
# A file, several as host-*.json, or the folder of a comparison.
CITED = re.compile(r"[\w*./-]+[.]json|perf/results/[\w*./-]*\w")


def lines_of_index(folder):
    return [match.groupdict() for match in LINE.finditer((folder / INDEX).read_text(encoding="utf-8"))]


def files_of(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {INDEX, REPORT, RUNS}


def name_of(file):
    """What a text calls it: by its folder where it has one, because the files of those are named alike."""
    path = pathlib.PurePath(file)
    return path.name if path.parent == pathlib.PurePath(".") else str(path.parent)


def is_cited(file, text):
    name = name_of(file)
    return any(fnmatch.fnmatch(known, cited) for cited in CITED.findall(text) for known in (name, "perf/results/" + name))


def complaints_of_form(file, measured):
    if "schema" in measured:
        known, content = measured.get("provenance", {}), measured.get("measurements")
        has_machine, has_commit = "processor" in known, "commit" in known
    else:
        known, content = measured.get("context", {}), measured.get("benchmarks") or measured.get("cases")
        has_machine, has_commit = "cpu" in known or "gpu" in known, "ktopk commit" in known
    for there, what in ((has_machine, "machine"), (has_commit, "commit"), (content, "measurement")):
        if not there:
            yield f"{file} states no {what}"


def complaints_of_line(line, folder, root):
    text = (folder / line["file"]).read_text(encoding="utf-8")
    yield from complaints_of_form(line["file"], json.loads(text))
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
        self.write("text.md", "see `perf/results/one-*.json`")
        self.measure("one-row.json")
        self.list("one-row.json")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def measure(self, file, **parts):
        context = {"cpu": "a processor", "ktopk commit": "0123456789ab"}
        self.write(f"results/{file}", json.dumps({"context": context, "benchmarks": [{}], **parts}))

    def list(self, *files, commit="0123456"):
        self.write("results/README.md", "".join(f"| `{file}` | a machine | {commit} | times | `text.md` |\n" for file in files))

    def complaints(self):
        return list(complaints(self.folder, self.root))

    def test_a_cited_file_of_the_index_is_right(self):
        self.assertEqual(self.complaints(), [])

    def test_a_comparison_is_cited_by_its_folder(self):
        known = {"schema": 1, "provenance": {"processor": "a processor", "commit": "0123456"}, "measurements": [{}]}
        self.write("results/compare/here/results.json", json.dumps(known))
        self.list("compare/here/results.json")
        (self.folder / "one-row.json").unlink()
        self.assertEqual(self.complaints(), ["text.md does not cite compare/here/results.json"])
        self.write("text.md", "`./dev compare --report perf/results/compare/here`.")
        self.assertEqual(self.complaints(), [])

    def test_a_file_that_is_not_listed(self):
        self.measure("one-batch.json")
        self.assertEqual(self.complaints(), ["one-batch.json is not in the index"])

    def test_a_line_without_a_file(self):
        self.list("one-row.json", "one-batch.json")
        self.assertEqual(self.complaints(), ["there is no one-batch.json"])

    def test_a_file_that_is_listed_twice(self):
        self.list("one-row.json", "one-row.json")
        self.assertEqual(self.complaints(), ["one-row.json is listed twice"])

    def test_a_file_that_no_text_cites(self):
        self.write("text.md", "see `one-row-of-keys.json`, `two-*.json` and *one*")
        self.assertEqual(self.complaints(), ["text.md does not cite one-row.json"])

    def test_another_commit(self):
        self.list("one-row.json", commit="abcdef0")
        self.assertEqual(self.complaints(), ["one-row.json does not name the commit abcdef0"])

    def test_a_file_without_machine_commit_or_measurements(self):
        self.measure("one-row.json", context={}, benchmarks=[])
        self.list("one-row.json", commit="unknown")
        self.assertEqual(self.complaints(), [f"one-row.json states no {what}" for what in ("machine", "commit", "measurement")])


if __name__ == "__main__":
    unittest.main()
