# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts that both reports share."""
import workloads
from analysis import FIELD, HARDWARE

EFFICIENCY = {HARDWARE: "Architectural efficiency", FIELD: "Application efficiency"}

EXPLANATION = (
    ("Case", "a workload, a shape and a kind of keys. Its time is the median over all calls, after a first call whose answer is verified."),
    ("Bound", "the time to read the keys once, measured in the same process with all cores of the backend. No selection is faster, but for noise."),
    ("Architectural efficiency", "bound / time: what is lost against the hardware."),
    ("Application efficiency", "best time of any application on that platform / time: what is lost against the best software measured."),
    ("Efficiency on a platform", "the harmonic mean over the platform's cases; zero if one of them is not served."),
    ("Performance portability", "the harmonic mean of the efficiencies over the platforms of the set; zero if one of them is not served "
     "(S. J. Pennycook, J. D. Sewall, V. W. Lee, 2016)."),
    ("Set of platforms", "every backend of every machine that has its compiler and device. One that fails to build or to pass its tests stays in the set, with zero."),
    ("Baselines", "select values alone, without positions or a rule for ties, which is less work than that of ktopk; their answers are verified, and a wrong one is marked."),
)


def microseconds(value):
    if value >= 10_000:
        return f"{value / 1000:.0f} ms" if value >= 100_000 else f"{value / 1000:.1f} ms"
    return f"{value:.0f} us" if value >= 100 else f"{value:.1f} us"


def efficiency(value):
    """Two digits, also of small ones."""
    if value >= 0.1:
        return f"{value:.2f}"
    return f"{value:.2g}" if value else "0"


def ratio(value):
    """Three digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shape_text(problem):
    """The shape as the workload describes it; an unknown one keeps its name."""
    for each in workloads.WORKLOADS:
        for shape in (*each.quick, *each.shapes):
            if (each.name, shape.name) == problem[:2]:
                return shape.text
    return problem[1]


def problem_text(problem):
    return f"{shape_text(problem)}, {problem[2]}"


def title_of(name):
    return next((each.title for each in workloads.WORKLOADS if each.name == name), name)


def why_of(name):
    return next((each.why for each in workloads.WORKLOADS if each.name == name), "")


def over_bound(measurement):
    return measurement.time / measurement.bound


NOISY = 0.05


def quiet(machine, spread):
    """How far the times of a machine can be trusted."""
    text = f"{machine}: in the usual case half of the calls are within ±{100 * spread:.0f} % of the median."
    return text + (" **The machine had other work: measure again on a quiet one.**" if spread > NOISY else "")


def platform_set(analysis):
    return ", ".join(analysis.name_of(platform) for platform in analysis.platforms) or "none"
