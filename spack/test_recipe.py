#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the Spack recipe against stub modules and holds it against the real CMake files.

Spack itself is not needed: the stubs record the directives and answer for one chosen spec at a time.
"""

import itertools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import urllib.parse
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
REPO = ROOT / "spack" / "spack_repo" / "ktopk"
RECIPE = REPO / "packages" / "ktopk" / "package.py"

# CMake's own variables, by their documentation; everything else has to be found in the CMake files.
CMAKE_VARIABLES = {
    "BUILD_SHARED_LIBS",
    "CMAKE_CXX_COMPILER",
    "CMAKE_CUDA_ARCHITECTURES",
    "CMAKE_CUDA_COMPILER",
    "CMAKE_PREFIX_PATH",
}


def without_comments(text):
    return re.sub(r"#[^\n]*", "", text)


def cmake_files(root=ROOT):
    names = ("tests", "perf", "perf/bench", "perf/compare", "perf/papers", "tools", "examples")
    folders = [root, *(root / name for name in names)]
    files = [folder / "CMakeLists.txt" for folder in folders] + sorted((root / "cmake").glob("*.cmake"))
    return [file for file in files if file.is_file()]


def cmake_text(root=ROOT):
    return "\n".join(without_comments(file.read_text()) for file in cmake_files(root))


def cmake_options(text):
    """Every name that a caller of CMake may set: option(), dependent options, cache variables."""
    declared = re.findall(r"\b(?:option|cmake_dependent_option)\s*\(\s*(\w+)", text)
    cached = re.findall(r"\bset\s*\(\s*(\w+)[^()]*\bCACHE\b", text)
    roots = [f"{name}_ROOT" for name in re.findall(r"\bfind_package\s*\(\s*(\w+)", text)]
    return set(declared) | set(cached) | set(roots) | CMAKE_VARIABLES


def unknown_names(defines, options):
    return sorted(set(defines) - options)


def parse_define(argument):
    match = re.fullmatch(r"-D(\w+)(?::(\w+))?=(.*)", argument)
    if not match:
        raise AssertionError(f"not a CMake definition: {argument}")
    return match.group(1), match.group(3)


class Prefix(str):
    @property
    def bin(self):
        return Prefix(os.path.join(self, "bin"))


class Spec:
    """Answers for a set of facts: "+cuda" or "^kokkos+wrapper" hold if they are among them."""

    def __init__(self, facts, variants=None):
        self.facts = frozenset(facts)
        if "+cuda" in self.facts:
            variants = {"cuda_algorithms": ("one_pass", "radix"), "key_bytes": ("4", "8"), **(variants or {})}
        self.variants = {
            name: types.SimpleNamespace(value=value) for name, value in (variants or {}).items()
        }
        self.commands = []

    def satisfies(self, constraint):
        return constraint in self.facts

    def __getitem__(self, name):
        command = self.command(name)
        return types.SimpleNamespace(prefix=Prefix(f"/spack/{name}"), command=command)

    def command(self, name):
        return lambda *arguments: self.commands.append((name, arguments))


class Directives:
    """Stands for spack.package: keeps what the recipe declares, in order."""

    def __init__(self):
        self.calls = []

    def record(self, name):
        def directive(*arguments, **keywords):
            self.calls.append((name, arguments, keywords))

        return directive

    def of(self, name):
        return [(arguments, keywords) for kind, arguments, keywords in self.calls if kind == name]


class working_dir:
    def __init__(self, path, create=False):
        self.path, self.create = path, create

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        return False


class SkipTest(Exception):
    pass


class StubPackage:
    run_tests = False

    def __init__(self, spec):
        self.spec = spec
        self.prefix = Prefix("/spack/ktopk")
        self.test_suite = types.SimpleNamespace(current_test_cache_dir="/spack/cache")

    def __getitem__(self, name):
        return {
            "kokkos": types.SimpleNamespace(kokkos_cxx="/spack/nvcc_wrapper"),
            "cxx": types.SimpleNamespace(cxx="/spack/cxx"),
        }[name]

    @staticmethod
    def define(name, value):
        if isinstance(value, bool):
            return f"-D{name}:BOOL={'ON' if value else 'OFF'}"
        if isinstance(value, (list, tuple)):
            value = ";".join(value)
        return f"-D{name}:STRING={value}"

    def define_from_variant(self, name, variant):
        declared = [arguments[0] for arguments, _ in self.directives.of("variant")]
        if variant not in declared + ["cuda", "rocm"]:
            raise KeyError(f"no variant {variant}")
        return self.define(name, self.spec.satisfies(f"+{variant}"))


def load_recipe():
    directives = Directives()
    package = types.ModuleType("spack.package")
    for name in "license version variant depends_on requires conflicts".split():
        setattr(package, name, directives.record(name))
    package.run_after = lambda phase: lambda function: function
    package.join_path = os.path.join
    package.working_dir = working_dir
    package.get_cmake_prefix_path = lambda pkg: ["/spack/kokkos"]
    package.cache_extra_test_sources = directives.record("cache_extra_test_sources")
    package.SkipTest = SkipTest

    modules = {"spack": types.ModuleType("spack"), "spack.package": package}
    for name, classes in {
        "cmake": {"CMakePackage": {}},
        "cuda": {"CudaPackage": {"cuda_arch_values": ("80", "90")}},
        "rocm": {"ROCmPackage": {"amdgpu_targets": ("gfx90a", "gfx942")}},
    }.items():
        module = types.ModuleType(f"spack_repo.builtin.build_systems.{name}")
        for class_name, members in classes.items():
            setattr(module, class_name, type(class_name, (StubPackage,), members))
        modules[module.__name__] = module
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        modules[name] = types.ModuleType(name)

    namespace = {"__name__": "package", "__file__": str(RECIPE)}
    with mock.patch.dict(sys.modules, modules):
        exec(compile(RECIPE.read_text(), str(RECIPE), "exec"), namespace)
    recipe = namespace["Ktopk"]
    recipe.directives = directives
    recipe.programs = namespace
    return recipe


def git(*arguments, folder=ROOT):
    """What git prints; nothing where there is no git or no checkout."""
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""


def sum_of(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def all_specs():
    """Every configuration in which the recipe can take another path."""
    devices = [
        ((), {}),
        (("+cuda", "^kokkos+wrapper"), {"cuda_arch": ("90",)}),
        (("+cuda", "^kokkos+cmake_lang"), {"cuda_arch": ("90",)}),
        (("+cuda", "%cxx=clang"), {"cuda_arch": ("80",)}),
        (("+rocm",), {"amdgpu_target": ("gfx942",)}),
        (("+rocm", "%cxx=clang"), {"amdgpu_target": ("gfx942",)}),
    ]
    for (facts, variants), shared, perf in itertools.product(devices, ((), ("+shared",)), ((), ("+perf",))):
        yield Spec([*facts, *shared, *perf], variants)


class RecipeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.recipe = load_recipe()
        cls.text = cmake_text()
        cls.options = cmake_options(cls.text)

    def package(self, *facts, run_tests=False, **variants):
        package = self.recipe(Spec(facts, variants))
        package.run_tests = run_tests
        return package

    def defines(self, *facts, run_tests=False, **variants):
        arguments = self.package(*facts, run_tests=run_tests, **variants).cmake_args()
        return dict(parse_define(argument) for argument in arguments)

    def declared(self, directive):
        return [arguments[0] for arguments, _ in self.recipe.directives.of(directive)]

    # names

    def test_every_name_is_an_option_of_cmake(self):
        unknown = set()
        for spec, run_tests in itertools.product(all_specs(), (False, True)):
            package = self.recipe(spec)
            package.run_tests = run_tests
            names = [parse_define(argument)[0] for argument in package.cmake_args()]
            self.assertEqual(len(names), len(set(names)), "a name is given twice")
            unknown.update(unknown_names(names, self.options))
        self.assertEqual(unknown, set())

    def test_a_name_that_cmake_does_not_have_is_found(self):
        names = [*self.defines(), "KTOPK_BUILD_TEST"]
        self.assertEqual(unknown_names(names, self.options), ["KTOPK_BUILD_TEST"])

    def test_a_renamed_option_is_found(self):
        renamed = cmake_options(self.text.replace("KTOPK_BUILD_PERF", "KTOPK_BUILD_BENCHMARKS"))
        self.assertEqual(unknown_names(self.defines(), renamed), ["KTOPK_BUILD_PERF"])

    def test_options_in_comments_do_not_count(self):
        options = cmake_options(without_comments("# option(KTOPK_OLD)\noption(KTOPK_NEW)\n"))
        self.assertEqual(options - CMAKE_VARIABLES, {"KTOPK_NEW"})

    def test_the_recipe_decides_every_part_of_the_build(self):
        parts = {name for name in self.options if re.match(r"KTOPK_(BUILD|ENABLE)_", name)}
        self.assertTrue(parts)
        self.assertEqual(sorted(parts - set(self.defines())), [])

    # values

    def test_tests_are_built_only_when_they_are_run(self):
        self.assertEqual(self.defines()["KTOPK_BUILD_TESTS"], "OFF")
        self.assertEqual(self.defines(run_tests=True)["KTOPK_BUILD_TESTS"], "ON")

    def test_shared_decides_the_kind_of_library(self):
        self.assertEqual(self.defines("+shared")["BUILD_SHARED_LIBS"], "ON")
        self.assertEqual(self.defines()["BUILD_SHARED_LIBS"], "OFF")

    def test_hosts_are_always_tuned(self):
        self.assertEqual(self.defines()["KTOPK_ENABLE_HOST_TUNED"], "ON")

    def test_cuda_brings_architecture_and_tuned_kernels(self):
        defines = self.defines("+cuda", "^kokkos+cmake_lang", cuda_arch=("90",))
        self.assertEqual(defines["CMAKE_CUDA_ARCHITECTURES"], "90")
        self.assertEqual(defines["CMAKE_CUDA_COMPILER"], "/spack/cuda/bin/nvcc")
        self.assertEqual(defines["KTOPK_ENABLE_CUDA_TUNED"], "ON")
        self.assertNotIn("CMAKE_CXX_COMPILER", defines)
        self.assertEqual(self.defines()["KTOPK_ENABLE_CUDA_TUNED"], "OFF")

    def test_cuda_kernels_are_chosen_by_variants(self):
        defines = self.defines("+cuda", "^kokkos+cmake_lang", cuda_arch=("90",))
        self.assertEqual(defines["KTOPK_CUDA_ALGORITHMS"], "one_pass;radix")
        self.assertEqual(defines["KTOPK_KEY_BYTES"], "4;8")
        self.assertNotIn("KTOPK_KEY_BYTES", self.defines())
        for variant, option in (("cuda_algorithms", "every_algorithm"), ("key_bytes", "every_key_bytes")):
            (keywords,) = [k for a, k in self.recipe.directives.of("variant") if a[0] == variant]
            every = re.search(rf"set\({option} ([^)]*)\)", self.text).group(1).split()
            self.assertEqual(list(keywords["values"]), every)
            self.assertEqual(keywords["default"], ",".join(every))
        needs = re.findall(r"^check_need\((\w+) ([^)]*)\)", self.text, re.MULTILINE)
        self.assertTrue(needs)
        for algorithm, needed in needs:
            wanted = "cuda_algorithms=" + ",".join(needed.split())
            directive = ((wanted,), {"when": f"cuda_algorithms={algorithm}"})
            self.assertIn(directive, self.recipe.directives.of("requires"))

    def test_the_compiler_is_the_one_of_kokkos(self):
        wrapped = self.defines("+cuda", "^kokkos+wrapper", cuda_arch=("90",))
        self.assertEqual(wrapped["CMAKE_CXX_COMPILER"], "/spack/nvcc_wrapper")
        self.assertEqual(self.defines("+rocm")["CMAKE_CXX_COMPILER"], "/spack/hip/bin/hipcc")
        self.assertNotIn("CMAKE_CXX_COMPILER", self.defines("+rocm", "%cxx=clang"))
        clang = self.defines("+cuda", "%cxx=clang", cuda_arch=("90",))
        self.assertEqual(clang["CMAKE_CUDA_COMPILER"], "/spack/cxx")

    def test_perf_is_built_and_installed_by_its_variant(self):
        for name in ("KTOPK_BUILD_PERF", "KTOPK_INSTALL_PERF"):
            self.assertEqual(self.defines("+perf")[name], "ON")
            self.assertEqual(self.defines()[name], "OFF")
        pairs = {(a[0], k.get("when")) for a, k in self.recipe.directives.of("depends_on")}
        self.assertIn(("benchmark", "+perf"), pairs)
        self.assertIn("find_package(benchmark", self.text)

    def test_mpi_is_offered_by_its_variant(self):
        self.assertEqual(self.defines("+mpi")["KTOPK_ENABLE_MPI"], "ON")
        self.assertEqual(self.defines()["KTOPK_ENABLE_MPI"], "OFF")
        pairs = {(a[0], k.get("when")) for a, k in self.recipe.directives.of("depends_on")}
        self.assertIn(("mpi@3:", "+mpi"), pairs)

    # directives

    def test_variants(self):
        inherited = {"cuda", "rocm"}
        wanted = {"cuda", "rocm", "openmp", "serial", "threads", "shared", "perf", "mpi"}
        wanted |= {"cuda_algorithms", "key_bytes"}
        self.assertEqual(set(self.declared("variant")) | inherited, wanted)

    def test_devices_and_architectures_reach_kokkos(self):
        pairs = {(a[0], k.get("when")) for a, k in self.recipe.directives.of("depends_on")}
        for device in ("serial", "openmp", "threads"):
            self.assertIn((f"kokkos+{device}", f"+{device}"), pairs)
        for arch in ("80", "90"):
            spec = f"+cuda cuda_arch={arch}"
            self.assertIn((f"kokkos{spec}", spec), pairs)
        for target in ("gfx90a", "gfx942"):
            spec = f"+rocm amdgpu_target={target}"
            self.assertIn((f"kokkos{spec}", spec), pairs)

    def test_cuda_needs_a_compiler_that_knows_cuda(self):
        wanted = (
            ("^kokkos+wrapper", "^kokkos+cmake_lang", "%cxx=clang"),
            {"policy": "any_of", "when": "+cuda"},
        )
        self.assertIn(wanted, self.recipe.directives.of("requires"))

    def test_kokkos_4_takes_lambdas_of_cuda(self):
        wanted = (("^kokkos+cuda_lambda",), {"when": "+cuda ^kokkos@:4"})
        self.assertIn(wanted, self.recipe.directives.of("requires"))

    def test_no_dependency_depends_on_itself(self):
        """`spack audit packages` refuses it: the concretizer is free to add the condition with the dependency."""
        for (spec,), keywords in self.recipe.directives.of("depends_on"):
            name = re.match(r"[\w-]+", spec).group()
            with self.subTest(spec=spec):
                self.assertNotRegex(keywords.get("when", ""), rf"\^{name}\b")

    def test_conflicts(self):
        pairs = {(a[0], k.get("when")) for a, k in self.recipe.directives.of("conflicts")}
        self.assertLessEqual(
            {
                ("+cuda", "cuda_arch=none"),
                ("+rocm", "amdgpu_target=none"),
                ("+cuda", "+rocm"),
                ("+openmp", "+threads"),
            },
            pairs,
        )
        for _, keywords in self.recipe.directives.of("conflicts"):
            self.assertTrue(keywords.get("msg"))

    def test_cxx_is_a_build_dependency(self):
        self.assertIn((("cxx",), {"type": "build"}), self.recipe.directives.of("depends_on"))

    def test_cmake_is_as_new_as_the_cmake_files_ask(self):
        oldest = re.search(r"cmake_minimum_required\s*\(\s*VERSION\s+([\d.]+)", self.text).group(1)
        self.assertIn(f"cmake@{oldest}:", self.declared("depends_on"))

    # the source

    def test_every_version_says_where_it_comes_from(self):
        versions = self.recipe.directives.of("version")
        self.assertTrue(versions)
        for arguments, keywords in versions:
            source = keywords.get("git", getattr(self.recipe, "git", None))
            self.assertTrue(source or "url" in keywords, f"no source of version {arguments[0]}")

    def test_the_source_is_the_checkout_of_the_recipe(self):
        url = urllib.parse.urlsplit(self.recipe.git)
        self.assertEqual(url.scheme, "file")
        self.assertEqual(pathlib.Path(urllib.parse.unquote(url.path)), ROOT)

    def test_the_sum_of_a_release_is_that_of_its_archive(self):
        """Where the checkout has its tag; the archives of others cannot be made here."""
        for (version, *_), keywords in self.recipe.directives.of("version"):
            if "sha256" in keywords and git("tag", "--list", f"v{version}"):
                subprocess.run([ROOT / "packaging" / "archive.sh", version], check=True, capture_output=True)
                archive = urllib.parse.urlsplit(self.recipe(Spec([])).url_for_version(version)).path
                self.assertEqual(sum_of(pathlib.Path(urllib.parse.unquote(archive))), keywords["sha256"], version)

    # the stand-alone test

    def test_the_application_of_the_stand_alone_test_is_in_the_tree(self):
        text = (ROOT / self.recipe.consumer / "as_library" / "CMakeLists.txt").read_text()
        self.assertRegex(text, r"find_package\s*\(\s*ktopk\b")
        for program in ("consumer", "consumer_header_only"):
            sources = re.search(rf"add_executable\s*\(\s*{program}\s+([^)]*)\)", text).group(1)
            for source in sources.split():
                self.assertTrue((ROOT / self.recipe.consumer / "as_library" / source).is_file())

    def test_the_stand_alone_test_needs_no_environment(self):
        for facts, compiler in (
            (["+serial"], "/spack/cxx"),
            (["+cuda", "^kokkos+cmake_lang"], "/spack/cxx"),
            (["+cuda", "^kokkos+wrapper"], "/spack/nvcc_wrapper"),
        ):
            package = self.package(*facts, cuda_arch=("90",))
            with self.subTest(facts=facts), mock.patch.dict(os.environ, clear=True):
                self.recipe.programs["Executable"] = package.spec.command
                package.test_find_package()
                (_, configure), build, *runs = package.spec.commands
                defines = dict(parse_define(argument) for argument in configure[1:])
                self.assertEqual(configure[0], "/spack/cache/tests/consumer/as_library")
                self.assertEqual(defines["CMAKE_CXX_COMPILER"], compiler)
                self.assertEqual(defines["CMAKE_PREFIX_PATH"], "/spack/ktopk;/spack/kokkos")
                self.assertEqual(build, ("cmake", ("--build", ".")))
                self.assertEqual(runs, [("./consumer", ()), ("./consumer_header_only", ())])
        self.assertNotIn("environ", RECIPE.read_text())

    def test_the_test_of_perf_runs_the_installed_program(self):
        package = self.package("+perf")
        self.recipe.programs["Executable"] = package.spec.command
        package.test_perf()
        (program, arguments), = package.spec.commands
        self.assertEqual(program, "/spack/ktopk/bin/perf_top_k")
        flags = (ROOT / "perf" / "bench" / "suite.cpp").read_text()
        for argument in arguments[:-1]:
            self.assertIn(f'"{argument.partition("=")[0]}=', flags)
        with self.assertRaises(SkipTest):
            self.package().test_perf()

    # the repository

    def test_the_namespace_is_the_folder(self):
        text = (REPO / "repo.yaml").read_text()
        self.assertRegex(text, rf"(?m)^  namespace: {REPO.name}$")
        self.assertRegex(text, r"(?m)^  api: v2\.\d+$")

    def test_installed_files_come_from_the_tree(self):
        self.assertTrue((ROOT / "include" / "ktopk" / "ktopk.hpp").is_file())
        self.assertIn("include/ktopk/ktopk.hpp", self.recipe.sanity_check_is_file)
        self.assertIn("bin/ktopk", self.recipe.sanity_check_is_file)


@unittest.skipUnless(shutil.which("git"), "there is no git here")
class ArchiveTest(unittest.TestCase):
    """packaging/archive.sh in a checkout of one file, with the tag v9.8.7."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = pathlib.Path(folder.name)
        (self.checkout / "packaging").mkdir()
        shutil.copy2(ROOT / "packaging" / "archive.sh", self.checkout / "packaging")
        (self.checkout / "CMakeLists.txt").write_text("project(ktopk VERSION 9.8.7 LANGUAGES CXX)\n")
        git("init", folder=self.checkout)
        git("add", ".", folder=self.checkout)
        git("-c", "user.name=a test", "-c", "user.email=a@test", "commit", "-m", "A release", folder=self.checkout)
        git("tag", "v9.8.7", folder=self.checkout)

    def archive(self, version):
        return subprocess.run([self.checkout / "packaging" / "archive.sh", version], capture_output=True, text=True)

    def test_the_sum_is_printed_and_always_the_same(self):
        written = self.checkout / "build" / "ktopk-9.8.7.tar.gz"
        said = self.archive("9.8.7").stdout
        once = sum_of(written)
        self.assertIn(f'version("9.8.7", sha256="{once}")', said)
        (self.checkout / "CMakeLists.txt").write_text("later work\n")
        self.archive("9.8.7")
        self.assertEqual(sum_of(written), once)

    def test_what_is_no_release_is_refused(self):
        self.assertEqual((self.archive("1.0.0").returncode, self.archive("1.0.0").stderr), (2, "archive: there is no tag v1.0.0\n"))
        git("tag", "v1.0.0", folder=self.checkout)
        self.assertIn("the tag v1.0.0 names version 9.8.7", self.archive("1.0.0").stderr)


if __name__ == "__main__":
    unittest.main()
