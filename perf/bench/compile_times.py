#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long files that select take to compile beside one that only includes Kokkos_Core.hpp, and how much memory: a call of
keys in memory, one whose keys a functor makes, one behind a mask, and with --header-only the first one without the compiled
library. With the flags of a configured build; with --whole also how long all of that build takes from nothing, without a
compiler cache."""
import argparse
import json
import os
import pathlib
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

CALL = """#include <ktopk/{header}.hpp>
struct Functor {{
  KOKKOS_FUNCTION {result} operator()({argument} x) const {{ return {body}; }}
}};
void hottest(Kokkos::View<float const*> keys, Kokkos::View<float*> values, Kokkos::View<int*> indices) {{
  ktopk::top_k(Kokkos::DefaultExecutionSpace(), {keys}, values, indices);
}}
"""
OF_KEY = {"result": "float", "argument": "float", "body": "x * x"}
OF_POSITION = {"result": "bool", "argument": "std::int64_t", "body": "x % 3 == 0"}
CALLER = CALL.format(header="ktopk", keys="keys", **OF_KEY)
FILES = {
    "kokkos_alone": "#include <Kokkos_Core.hpp>\n",
    "caller": CALLER,
    "functor": CALL.format(header="computed", keys="ktopk::transform(keys, Functor{})", **OF_KEY),
    "mask": CALL.format(header="computed", keys="ktopk::where(keys, Functor{})", **OF_POSITION),
}
HEADER_ONLY = {"header_only": CALLER}


def example_in(build):
    """The command that compiles the example of ten lines, without a compiler cache, its folder and the example."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if entry["file"].endswith("examples/ten_lines.cpp"):
            words = shlex.split(entry["command"])
            return [word for word in words if not word.endswith("ccache")], entry["directory"], entry["file"]
    raise SystemExit(f"{build} does not build examples/ten_lines.cpp")


def cost_of(command, folder):
    """Seconds of processor time, and MB of the largest process."""
    measure = [sys.executable, "-c", "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=sys.stderr); "
               "print(*resource.getrusage(resource.RUSAGE_CHILDREN)[:3])", *command]
    user, system, kilobytes = map(float, subprocess.run(measure, check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout.split())
    return round(user + system, 3), round(kilobytes / 1024)


def compile_files(build, runs, header_only):
    """The costs of each file, compiled in turn."""
    command, folder, example = example_in(build)
    files = FILES | (HEADER_ONLY if header_only else {})
    costs = {name: [] for name in files}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(runs):
            for name, text in files.items():
                source = pathlib.Path(scratch) / f"{name}.cpp"
                source.write_text(text)
                words = [str(source) if word == example else word for word in command]
                words[words.index("-o") + 1] = f"{source}.o"
                if name in HEADER_ONLY:
                    words.append("-DKTOPK_HEADER_ONLY")
                costs[name].append(cost_of(words, folder))
    return costs


def time_whole(build, jobs):
    start = time.perf_counter()
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    subprocess.run(["cmake", "--build", str(build), "--clean-first", "-j", str(jobs)], check=True, env=environment)
    return round(time.perf_counter() - start, 1)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def cache_of(build):
    entries = (line.split("=", 1) for line in (build / "CMakeCache.txt").read_text().splitlines() if "=" in line)
    return {name.split(":")[0]: value for name, value in entries}


def version(compiler):
    lines = subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()
    return next((line for line in lines if "release" in line), lines[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path, help="a configured build folder")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--header-only", action="store_true", help="a call without the compiled library, too")
    parser.add_argument("--whole", action="store_true", help="clean the build and time it, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    cache = cache_of(arguments.build)
    compilers = [cache[f"CMAKE_{language}_COMPILER"] for language in ("CXX", "CUDA") if cache.get(f"CMAKE_{language}_COMPILER")]
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], check=True, capture_output=True, text=True)
    costs = compile_files(arguments.build, arguments.runs, arguments.header_only)
    seconds = {name: statistics.median(cost for cost, _ in of) for name, of in costs.items()}
    case = {
        "compilers": [version(compiler) for compiler in compilers],
        "preset": arguments.build.name,
        "processor_s": seconds,
        "memory_MiB": {name: max(memory for _, memory in of) for name, of in costs.items()},
        "caller_over_kokkos": round(seconds["caller"] / seconds["kokkos_alone"], 3),
    }
    if arguments.whole:
        case |= {"whole_build_s": time_whole(arguments.build, arguments.jobs), "jobs": arguments.jobs}
    context = {"cpu": processor(), "ktopk commit": commit.stdout.strip()}
    text = json.dumps({"context": context, "cases": [case]}, indent=1)
    arguments.output.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
