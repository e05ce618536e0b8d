# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a run writes and a report reads: results.json, one for each machine. kept.py has what stays of it in perf/results."""
import json
import pathlib
from dataclasses import asdict, dataclass, field

FILE = "results.json"
SCHEMA = 1
TUNED, PORTABLE = "ktopk", "ktopk portable"
OURS = (TUNED, PORTABLE)


@dataclass
class Measurement:
    """One application on one case; times in microseconds. Without a time, `error` tells why."""

    workload: str
    shape: str
    input: str
    backend: str
    application: str
    cache: str = "warm"
    time: float = 0.0
    best: float = 0.0
    lower_quartile: float = 0.0
    upper_quartile: float = 0.0
    calls: int = 0
    bound: float = 0.0
    algorithm: str = ""
    wrong: bool = False
    error: str = ""
    machine: str = ""

    @property
    def problem(self):
        return self.workload, self.shape, self.input

    @property
    def platform(self):
        return self.machine, self.backend

    @property
    def served(self):
        return self.time > 0 and not self.wrong


@dataclass
class Platform:
    """A backend on a machine: status is ran, absent (no compiler or no device) or failed (it should have run)."""

    backend: str
    status: str
    reason: str = ""
    contract: str = ""
    context: dict = field(default_factory=dict)
    machine: str = ""

    @property
    def key(self):
        return self.machine, self.backend


@dataclass
class Run:
    machine: str
    quick: bool
    provenance: dict
    platforms: list
    measurements: list
    did_not_run: list = field(default_factory=list)  # (backend, what, reason) of cases without a measurement here


def without_machine(record):
    fields = asdict(record)
    del fields["machine"]
    return {name: value for name, value in fields.items() if value not in ("", 0.0, False, {})}


def write(run, folder):
    """One measurement a line, so that changes can be read."""
    head = {"schema": SCHEMA, "machine": run.machine, "quick": run.quick, "provenance": run.provenance,
            "platforms": [without_machine(platform) for platform in run.platforms]}
    lines = ",\n".join("  " + json.dumps(without_machine(each)) for each in run.measurements)
    text = json.dumps(head, indent=1)[:-2] + f',\n "measurements": [\n{lines}\n ]\n}}\n'
    pathlib.Path(folder, FILE).write_text(text, encoding="utf-8")


def read(folder):
    """\\throws ValueError where the folder holds no results of this schema"""
    path = pathlib.Path(folder, FILE)
    if not path.is_file():
        raise ValueError(f"{folder} holds no {FILE}")
    data = json.loads(path.read_text(encoding="utf-8"))
    if data.get("schema") != SCHEMA:
        raise ValueError(f"{path} has schema {data.get('schema')}, and this report reads {SCHEMA}")
    machine = data["machine"]
    return Run(machine, data["quick"], data["provenance"],
               [Platform(**fields, machine=machine) for fields in data["platforms"]],
               [Measurement(**fields, machine=machine) for fields in data["measurements"]])
