# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a figure is worthless without: the machine, the build and the command."""
import datetime
import os
import pathlib
import platform
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output_of(*command, **variables):
    """What a command prints; empty where there is no such command or it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60,
                              env={**os.environ, **variables}).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def first_line(path):
    try:
        return pathlib.Path(path).read_text(encoding="utf-8").splitlines()[0]
    except (OSError, IndexError):
        return ""


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def caches():
    folders = sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"))
    return ", ".join(f"L{first_line(f / 'level')} {first_line(f / 'type').lower()} {first_line(f / 'size')}" for f in folders)


def graphics():
    fields = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,memory.total"
    return output_of("nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader")


def source():
    commit = output_of("git", "-C", str(ROOT), "rev-parse", "HEAD")
    changed = output_of("git", "-C", str(ROOT), "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit or "unknown", "uncommitted changes": "yes" if changed else "no"}


def of_run(command):
    known = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "command": command,
        **source(),
        "processor": processor(),
        "cores of this process": str(len(os.sched_getaffinity(0))),
        "caches of a core": caches(),
        "governor": first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "load before": first_line("/proc/loadavg"),
        "system": f"{platform.system()} {platform.release()}",
        "gpu": graphics(),
        **{name: os.environ.get(name, "") for name in ("OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES")},
    }
    return {name: value for name, value in known.items() if value}


def of_build(program):
    """The build's flags, where the program still lies in its build folder, and Kokkos's own description."""
    known = {}
    folders = pathlib.Path(program).resolve().parents
    cache = next((folder / "CMakeCache.txt" for folder in folders if (folder / "CMakeCache.txt").is_file()), None)
    if cache:
        text = cache.read_text(encoding="utf-8")
        for name in ("CMAKE_CXX_COMPILER", "CMAKE_BUILD_TYPE", "CMAKE_CXX_FLAGS", "CMAKE_CXX_FLAGS_RELEASE", "CMAKE_CUDA_FLAGS"):
            match = re.search(rf"^{name}:\w+=(.+)$", text, re.MULTILINE)
            if match:
                known[name] = match.group(1)
    kokkos = output_of(program, "--benchmark_list_tests", "--benchmark_filter=^$", KOKKOS_PRINT_CONFIGURATION="1")
    if kokkos:
        known["Kokkos configuration"] = " ".join(kokkos.split())
    return known
