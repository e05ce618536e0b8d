# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads of the comparison: what applications select, in the sizes and with the keys that they have."""
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Shape:
    """What perf_top_k calls --rows, --n, --k, --type, --layout, --lengths and --sorted."""

    rows: int
    n: int
    k: int
    type: str = "f32"
    layout: str = "right"
    lengths: str = "even"
    sorted: str = "no"
    gpu: bool = False  # too large for most hosts

    @property
    def name(self):
        marks = [self.layout == "left" and "left", self.lengths == "ragged" and "ragged"]
        return "-".join([f"{self.rows}x{self.n}", f"k{self.k}", self.type, *filter(None, marks)])

    @property
    def text(self):
        marks = {"left": ", LayoutLeft", "ragged": ", ragged"}
        return f"{self.rows} x {self.n}, k = {self.k}, {self.type}" + marks.get(self.layout, "") + marks.get(self.lengths, "")

    @property
    def bytes(self):
        """Of the keys; ragged rows are half as long on average."""
        width = int(self.type.lstrip("bfiu")) // 8
        return self.rows * self.n * width // (2 if self.lengths == "ragged" else 1)


@dataclass(frozen=True)
class Workload:
    """The first input is the usual one; the others show what the keys change."""

    name: str
    title: str
    why: str
    shapes: tuple
    quick: tuple  # the shapes of a quick run
    inputs: tuple


def left(shape):
    return replace(shape, layout="left")


def ragged(shape):
    return replace(shape, lengths="ragged")


def bf16(shape):
    return replace(shape, type="bf16")


def workload(name, title, why, shapes, quick, inputs):
    return Workload(name, title, why, tuple(shapes), tuple(quick), tuple(inputs.split()))


INDEXER = Shape(64, 2**17, 2048)
SAMPLING = Shape(64, 151936, 50, sorted="yes")
ROWS = Shape(2**16, 512, 32)
TILE = Shape(4096, 4096, 16, sorted="yes")

WORKLOADS = (
    workload(
        "sparse-attention", "Sparse attention", "The indexer of sparse attention keeps 2048 tokens of each query's context.",
        [Shape(1, 2**20, 2048), INDEXER, ragged(INDEXER), replace(INDEXER, rows=1024),
         replace(ragged(INDEXER), rows=1024), Shape(1024, 2**20, 2048, gpu=True)],
        [Shape(1, 2**20, 2048), ragged(Shape(64, 2**15, 2048))], "normal clustered masked"),
    workload(
        "moe-routing", "Mixture-of-experts routing", "Each token goes to 8 experts of 256 or 384.",
        [Shape(40000, 256, 8), Shape(40000, 384, 8), bf16(Shape(40000, 256, 8))], [Shape(10000, 256, 8)], "normal quantized few_values"),
    workload(
        "llm-sampling", "Sampling of tokens", "The 50 best of a vocabulary, best first, before a token is drawn.",
        [replace(SAMPLING, rows=1), SAMPLING, bf16(replace(SAMPLING, rows=1)), bf16(SAMPLING)],
        [replace(SAMPLING, rows=1), bf16(replace(SAMPLING, rows=16))], "normal masked quantized"),
    workload(
        "vector-retrieval", "Vector retrieval", "The nearest vectors of a database, by their scores.",
        [Shape(1, 10**7, 100), Shape(1024, 10**5, 10)], [Shape(1, 10**6, 100), Shape(64, 10**5, 10)], "normal zipf"),
    workload(
        "graph-rows", "Rows of a graph network", "A sparsifying activation keeps the 32 largest of every node's features.",
        [replace(ROWS, n=256), ROWS, replace(ROWS, n=1024)], [Shape(2**13, 512, 32)], "normal rectified"),
    workload(
        "parilut", "ParILUT's threshold", "An incomplete factorization keeps the half of its candidates that is largest in magnitude.",
        [Shape(1, 10**7, 5 * 10**6, "f64")], [Shape(1, 10**6, 5 * 10**5, "f64")], "magnitudes"),
    workload(
        "gradient-compression", "Gradient compression", "A thousandth of a gradient, the largest magnitudes, is sent.",
        [Shape(1, 2**26, 2**26 // 1000)], [Shape(1, 2**22, 2**22 // 1000)], "magnitudes rectified zipf"),
    workload(
        "virtual-screening", "Virtual screening", "The best 50000 of a hundred million docking scores.",
        [Shape(1, 10**8, 50000)], [Shape(1, 10**7, 5000)], "normal quantized descending"),
    workload(
        "knn-tiles", "Tiles of nearest neighbors", "The 16 nearest of a tile of distances, in Kokkos's two layouts.",
        [TILE, left(TILE)], [Shape(1024, 1024, 16, sorted="yes"), left(Shape(1024, 1024, 16, sorted="yes"))], "uniform"),
    workload(
        "papers", "Cases of the papers", "What the papers on top-k measure: bitonic top-k, Dr. Top-k, AIR Top-K, RadiK, RTop-K.",
        [Shape(1, 2**25, 32), Shape(1, 2**26, 1024, "u32"), Shape(100, 2**16, 256), Shape(2**16, 256, 16)],
        [Shape(1, 2**22, 32)], "uniform bucket_killer ascending leading_bits"),
)


def named(name):
    return next(each for each in WORKLOADS if each.name == name)


def cases(quick, names=None, gpu=False):
    """(workload, shape, input) of a run; a quick one has the two first inputs of each workload."""
    for each in WORKLOADS:
        if names and each.name not in names:
            continue
        for shape in each.quick if quick else each.shapes:
            if shape.gpu and not gpu:
                continue
            for keys in each.inputs[:2] if quick else each.inputs:
                yield each, shape, keys
