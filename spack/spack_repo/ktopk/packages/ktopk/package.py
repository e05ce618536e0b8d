# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from pathlib import Path

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Ktopk(CMakePackage, CudaPackage, ROCmPackage):
    """Top-k selection on Kokkos: one call, the same answer on every backend,
    at the speed of the memory it runs on."""

    test_requires_compiler = True

    # The checkout that holds this recipe; a published URL replaces it.
    git = Path(__file__).resolve().parents[5].as_uri()

    license("Apache-2.0 WITH LLVM-exception")

    version("main", branch="main")
    # A release has a line here from the commit after its tag on: its archive cannot contain its own sum.
    version("0.2.0", sha256="7362e103f2373bfd4799d7fbd748eb3c48243eb3545bc78a6b573eaf17718cf1")

    variant("shared", default=True, description="Build a shared library")
    variant("perf", default=False, description="Install perf_top_k, which measures selections")

    variant("mpi", default=False, description="Offer ktopk::mpi, selection from keys of all ranks")

    # Portable kernels serve what is left out.
    _algorithms = ("one_pass", "radix", "bisection", "bitonic", "queue", "delegate")
    variant(
        "cuda_algorithms",
        default=",".join(_algorithms),
        values=_algorithms,
        multi=True,
        when="+cuda",
        description="Algorithms with hand-written CUDA kernels; automatic takes the first three",
    )
    variant(
        "key_bytes",
        default="1,2,4,8",
        values=("1", "2", "4", "8"),
        multi=True,
        when="+cuda",
        description="Widths of keys for which CUDA kernels are compiled",
    )

    # The devices are Kokkos's: a variant here makes sure that Kokkos has the device.
    variant("serial", default=True, description="Select on Kokkos::Serial")
    variant("openmp", default=True, description="Select on Kokkos::OpenMP")
    variant("threads", default=False, description="Select on Kokkos::Threads")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("cmake@3.25.2:", type="build", when="+cuda")
    depends_on("cli11@2:", type="build")
    depends_on("benchmark", when="+perf")
    depends_on("mpi@3:", when="+mpi")
    depends_on("catch2@3:", type="test")
    depends_on("python@3:", type="test")
    depends_on("cuda@12.4:", when="+cuda")

    depends_on("kokkos@4.5.01:")
    depends_on("kokkos+pic", when="+shared")
    for _device in ("serial", "openmp", "threads"):
        depends_on(f"kokkos+{_device}", when=f"+{_device}")
    for _arch in CudaPackage.cuda_arch_values:
        depends_on(f"kokkos+cuda cuda_arch={_arch}", when=f"+cuda cuda_arch={_arch}")
    for _target in ROCmPackage.amdgpu_targets:
        depends_on(f"kokkos+rocm amdgpu_target={_target}", when=f"+rocm amdgpu_target={_target}")

    requires("^kokkos+cuda_lambda", when="+cuda ^kokkos@:4")  # Kokkos 5 has it always
    requires("^kokkos+wrapper", "^kokkos+cmake_lang", "%cxx=clang", policy="any_of", when="+cuda")
    # Their kernels use those of others.
    requires("cuda_algorithms=one_pass", when="cuda_algorithms=bisection")
    requires("cuda_algorithms=one_pass,radix", when="cuda_algorithms=delegate")

    conflicts("+cuda", when="cuda_arch=none", msg="+cuda needs cuda_arch, for example 90")
    conflicts("+rocm", when="amdgpu_target=none", msg="+rocm needs amdgpu_target")
    conflicts("+cuda", when="+rocm", msg="Kokkos takes CUDA or ROCm, not both")
    conflicts("+openmp", when="+threads", msg="Kokkos takes OpenMP or Threads, not both")
    conflicts("^kokkos cxxstd=17", msg="ktopk is C++20 and needs a Kokkos built as C++20")

    sanity_check_is_file = [
        join_path("bin", "ktopk"),
        join_path("include", "ktopk", "ktopk.hpp"),
    ]

    consumer = join_path("tests", "consumer")

    def url_for_version(self, version):
        """The archive that packaging/archive.sh writes in the checkout; a published URL replaces it, too."""
        return f"{self.git}/build/ktopk-{version}.tar.gz"

    def cmake_args(self):
        return [
            self.define("Kokkos_ROOT", self.spec["kokkos"].prefix),
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define("KTOPK_BUILD_TESTS", self.run_tests),
            self.define("KTOPK_BUILD_EXAMPLES", self.run_tests),
            self.define_from_variant("KTOPK_BUILD_PERF", "perf"),
            self.define_from_variant("KTOPK_INSTALL_PERF", "perf"),
            self.define_from_variant("KTOPK_ENABLE_MPI", "mpi"),
            self.define("KTOPK_BUILD_TOOLS", True),
            self.define("KTOPK_ENABLE_COUNTERS", False),
            self.define("KTOPK_ENABLE_HOST_TUNED", True),
            self.define_from_variant("KTOPK_ENABLE_CUDA_TUNED", "cuda"),
            *self.kernel_args(),
            *self.device_args(),
        ]

    def kernel_args(self):
        if not self.spec.satisfies("+cuda"):
            return []
        variants = self.spec.variants
        return [
            self.define("KTOPK_CUDA_ALGORITHMS", variants["cuda_algorithms"].value),
            self.define("KTOPK_KEY_BYTES", variants["key_bytes"].value),
        ]

    def device_args(self):
        """The compilers and architectures of Kokkos, which its users share."""
        args = []
        if self.spec.satisfies("^kokkos+wrapper"):
            args.append(self.define("CMAKE_CXX_COMPILER", self["kokkos"].kokkos_cxx))
        elif self.spec.satisfies("+rocm") and not self.spec.satisfies("%cxx=clang"):
            hipcc = join_path(self.spec["hip"].prefix.bin, "hipcc")
            args.append(self.define("CMAKE_CXX_COMPILER", hipcc))
        if self.spec.satisfies("+cuda"):
            nvcc = join_path(self.spec["cuda"].prefix.bin, "nvcc")
            compiler = self["cxx"].cxx if self.spec.satisfies("%cxx=clang") else nvcc
            archs = self.spec.variants["cuda_arch"].value
            args.append(self.define("CMAKE_CUDA_COMPILER", compiler))
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", archs))
        return args

    @run_after("install")
    def keep_consumer(self):
        cache_extra_test_sources(self, self.consumer)

    def test_find_package(self):
        """build and run an application that finds the installed library"""
        args = self.device_args()
        if not any("CMAKE_CXX_COMPILER" in arg for arg in args):
            args.append(self.define("CMAKE_CXX_COMPILER", self["cxx"].cxx))
        prefixes = [self.prefix, *get_cmake_prefix_path(self)]
        args.append(self.define("CMAKE_PREFIX_PATH", prefixes))

        cache = self.test_suite.current_test_cache_dir
        source = join_path(cache, self.consumer, "as_library")
        cmake = self.spec["cmake"].command
        with working_dir("find_package", create=True):
            cmake(source, *args)
            cmake("--build", ".")
            for program in ("consumer", "consumer_header_only"):
                Executable(join_path(".", program))()

    def test_perf(self):
        """select with the installed perf_top_k, which verifies the answer"""
        if not self.spec.satisfies("+perf"):
            raise SkipTest("perf_top_k is installed by +perf")
        perf_top_k = Executable(join_path(self.prefix.bin, "perf_top_k"))
        perf_top_k("--method=automatic", "--n=100000", "--k=100", "--benchmark_min_time=0")
