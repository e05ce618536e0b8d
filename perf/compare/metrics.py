# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The arithmetic of the report."""
import math
import statistics


def harmonic_mean(efficiencies):
    """Zero where one is zero or None, and of nothing."""
    values = [value or 0 for value in efficiencies]
    return statistics.harmonic_mean(values) if values and min(values) > 0 else 0.0


def geometric_mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else math.nan


def architectural_efficiency(bound, time):
    """The part of the time that reading the keys once takes. No selection is faster: what exceeds 1 is noise."""
    return min(1.0, bound / time) if time else 0.0


def application_efficiency(best, time):
    """The best time that any application reached there, over this one's."""
    return best / time if time else 0.0


def performance_portability(efficiency_of, platforms):
    """Pennycook's metric: the harmonic mean over the platforms, zero if one of them is not served.

    efficiency_of maps a platform to its efficiency; a platform that it lacks is not served."""
    return harmonic_mean([efficiency_of.get(platform) for platform in platforms])


def cascade(efficiencies):
    """(efficiency, performance portability) of the best platform, of the two best, and so on."""
    falling = sorted(efficiencies, reverse=True)
    return [(falling[i], harmonic_mean(falling[: i + 1])) for i in range(len(falling))]


def spread(measurement):
    """Half the distance of the quartiles, over the median."""
    return (measurement.upper_quartile - measurement.lower_quartile) / 2 / measurement.time


def slowdown(now, before):
    """How much slower a case became, by time and over the bound; the smaller of the two, since both must agree.

    A machine that was slower in one of the runs read its keys slower, too, so the bound shows it."""
    if not now.time:
        return math.inf
    by_time = now.time / before.time
    over_bound = (now.time / now.bound) / (before.time / before.bound)
    return min(by_time, over_bound)
