"""How likely chance is to do at least as well as an observed value, or at least as badly.

Monotone functions of one another have one law: imr that of mr, hmr that of mrr, igmr that of gmr.
A law is given by its name, the power or cutoff, and the mean of f over the tasks: of r, 1 / r,
log r, r <= k, or r^p divided by its greatest value; for the median and the extremes, their value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .bracketed_sums import bracketed_tail
from .few_outcomes import counted_tail
from .median_tails import hits_at_least, hits_at_most, median_at_least, median_at_most
from .rank_sums import lattice_tail, sum_at_least, sum_at_most
from .saddlepoints import Cumulants
from .task_groups import Law, Tail, Tasks

_INVERT_ABOVE = 1e-4  # an inversion is tried where the error of the saddle point is larger
_BOUND_ABOVE = 1e-2  # bounds are tried where the inversion fails and the error is larger
# Up to so many tasks a smooth approximation may miss what its error is estimated from: the steps of
# the law. Bounds come first there, and an inversion does not claim more than so many digits.
_FEW_TASKS = 64
_NARROW = 1e-2  # bounds with a smaller error need no other method
_LEAST_ERROR = 1e-5
_FEW_WEIGHTS = 4
_FEW_VALUES = (64, 1e-3)  # the least error where no task has more candidates
_SLACK = 1e-12  # of the observed value, relatively, for the rounding of sums
# Up to so many candidates every 1 / r is a multiple of a number that is not tiny.
_MAX_RECIPROCAL_SIZE = 16

_ROUGH = 0.05  # a relative error of a p-value from which on a note states it
_SHARED = {"imr": "mr", "hmr": "mrr", "igmr": "gmr", "imedian": "median"}
_POWERS = {1: "mr", -1: "mrr", 0: "gmr", math.inf: "greatest", -math.inf: "least"}


def law_of(metric: str, parameter: float) -> tuple[str, float]:
    """The name and the parameter of the law of a metric.

    Examples
    --------
    >>> law_of("hmr", 0), law_of("power_mean", 1), law_of("power_mean", 2)
    (('mrr', 0), ('mr', 0), ('power_mean', 2))
    """
    if metric == "power_mean" and parameter in _POWERS:
        return _POWERS[parameter], 0
    return _SHARED.get(metric, metric), parameter


def chance_tail(
    name: str, tasks: Tasks, power: float, observed: float, *, worse: bool = False
) -> Tail | None:
    """P(as good as observed or better), or as bad or worse; None for a metric without a law.

    Parameters
    ----------
    name, power : str, float
        As `law_of` returns them.
    tasks : Tasks
        At least one.
    observed : float
        The mean of f over the tasks, or the value.
    worse : bool

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> found = chance_tail("mr", compress([3, 3]), 0, 1.5, worse=True)
    >>> round(math.exp(found.log), 12)  # 8 of 9
    0.888888888889
    """
    if name not in _LAWS:
        return None
    if tasks.sizes[-1] == 1:
        return Tail(0.0, "exact", 0.0)
    if tasks.count == 1 and name in _RANK_OF_ONE_TASK:
        return _single_task_tail(tasks, _RANK_OF_ONE_TASK[name](observed, power, tasks), worse)
    return _LAWS[name](tasks, power, observed, worse)


def _single_task_tail(tasks: Tasks, rank: float, worse: bool) -> Tail:
    """The share of the ranks of a single task that are at least as good, or as bad."""
    size = int(tasks.sizes[0])
    if worse:
        number = size + 1 - min(max(math.ceil(rank * (1 - _SLACK)), 1), size)
    else:
        number = min(max(math.floor(rank * (1 + _SLACK)), 1), size)
    return Tail(math.log(number / size), "exact", 1e-15)


# For a single task these laws are monotone in its rank.
_RANK_OF_ONE_TASK: dict[str, Callable[[float, float, Tasks], float]] = {
    "mr": lambda mean, power, tasks: mean,
    "mrr": lambda mean, power, tasks: 1 / mean,
    "gmr": lambda mean, power, tasks: math.exp(mean),
    "power_mean": lambda mean, power, tasks: greatest_base(tasks, power) * mean ** (1 / power),
}


def _rounded(total: float, *, up: bool) -> int:
    """A sum as an integer; what is nearly an integer, as after rounding, is that integer."""
    slack = min(1e-9 + 1e-15 * abs(total), 0.25)
    return math.ceil(total - slack) if up else math.floor(total + slack)


def _hits(tasks: Tasks, k: float, mean: float, worse: bool) -> Tail:
    k = min(k, 2**63)  # no rank is beyond 2**63
    if tasks.equal:
        number = _rounded(mean * tasks.count, up=not worse)
        return (hits_at_most if worse else hits_at_least)(tasks, k, number)
    law = Law(lambda r: (r <= k).astype(float), cutoff=k, whole=lambda r: (r <= k).astype(int))
    return _tail(tasks, law, mean, worse)


def _rank_sum(tasks: Tasks, power: float, mean: float, worse: bool) -> Tail:
    if tasks.equal:
        total = _rounded(mean * tasks.count, up=worse)
        return (sum_at_least if worse else sum_at_most)(tasks, total)
    return _tail(tasks, Law(lambda r: -r, whole=lambda r: -r), -mean, worse)


def _reciprocals(tasks: Tasks, power: float, mean: float, worse: bool) -> Tail:
    law = Law(lambda r: 1 / r)
    if tasks.sizes[-1] <= _MAX_RECIPROCAL_SIZE:
        common = math.lcm(*range(1, int(tasks.sizes[-1]) + 1))
        law = law._replace(whole=lambda r: common // r, scale=float(common))
    return _tail(tasks, law, mean, worse)


def _logs(tasks: Tasks, power: float, mean: float, worse: bool) -> Tail:
    return _tail(tasks, Law(lambda r: -np.log(r)), -mean, worse)


def greatest_base(tasks: Tasks, power: float) -> float:
    """The rank whose power is 1, so that no power overflows."""
    return 1.0 if power < 0 else float(tasks.sizes[-1])


def _power_sums(tasks: Tasks, power: float, mean: float, worse: bool) -> Tail:
    most, sign = int(greatest_base(tasks, power)), 1.0 if power < 0 else -1.0
    law = Law(lambda r: sign * (r / most) ** power)
    if power > 0 and power == int(power) and power * math.log2(most) < 40:
        p = int(power)
        law = law._replace(whole=lambda r: -(r**p), scale=float(most**p))
    return _tail(tasks, law, sign * mean, worse)


def _greatest(tasks: Tasks, power: float, value: float, worse: bool) -> Tail:
    rank = max(_rounded(value, up=worse), 1) - worse
    with np.errstate(divide="ignore"):
        logs = np.log(np.minimum(rank / tasks.sizes, 1.0)) * tasks.multiplicities
    return _exact(float(logs.sum()), rest=worse)  # of all ranks up to that one


def _least(tasks: Tasks, power: float, value: float, worse: bool) -> Tail:
    rank = max(_rounded(value, up=worse), 1) - worse
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.minimum(rank / tasks.sizes, 1.0)) * tasks.multiplicities
    return _exact(float(logs.sum()), rest=not worse)  # of all ranks above that one


def _exact(log: float, *, rest: bool) -> Tail:
    if rest:
        return Tail(math.log(-math.expm1(log)) if log < 0 else -math.inf, "exact", 1e-14)
    return Tail(log, "exact", 1e-14)


def _median(tasks: Tasks, power: float, value: float, worse: bool) -> Tail:
    if worse:
        return median_at_least(tasks, math.ceil(2 * value - 1e-9))
    return median_at_most(tasks, math.floor(2 * value + 1e-9))


_LAWS: dict[str, Callable[[Tasks, float, float, bool], Tail]] = {
    "hits": _hits,
    "mr": _rank_sum,
    "mrr": _reciprocals,
    "gmr": _logs,
    "power_mean": _power_sums,
    "greatest": _greatest,
    "least": _least,
    "median": _median,
}


def _tail(tasks: Tasks, law: Law, observed: float, worse: bool) -> Tail:
    """P(sum of w f(r) >= observed), or <= for the worse ones, by the first method that applies."""
    if worse:
        law, observed = law.mirrored(), -observed
    for exact in (counted_tail, lattice_tail):
        if (tail := exact(tasks, law, observed)) is not None:
            return tail
    few, bounds, inverted = tasks.count <= _FEW_TASKS, None, None
    below = observed - _SLACK * abs(observed)
    smooth = Cumulants(tasks, law.f, law.cutoff)
    if few:
        bounds = bracketed_tail(tasks, law.f, below)
        if bounds is not None and bounds.error < _NARROW:
            return bounds
    log, error = smooth.log_tail(observed)
    least = max(_error_of_ties(tasks, law, observed, log), _LEAST_ERROR if few else 0.0)
    found = [Tail(log, "saddlepoint", max(error, least)) if error else Tail(log, "exact", 0.0)]
    if error > _INVERT_ABOVE and (inverted := smooth.invert_tail(observed)):
        found.append(Tail(inverted[0], "inversion", max(inverted[1], least)))
    if not few and min(tail.error for tail in found) > _BOUND_ABOVE:
        bounds = bracketed_tail(tasks, law.f, below)
    found += [bounds] if bounds is not None else []
    return min(found, key=lambda tail: tail.error if math.isfinite(tail.error) else math.inf)


def _error_of_ties(tasks: Tasks, law: Law, observed: float, log: float) -> float:
    """The share of p that methods for continuous laws may lose where many outcomes are equal.

    They count half of the outcomes that equal the observed one. Sums of ranks or hits with few
    distinct weights have the more of them the fewer sums there are of each weight, and the further
    out the observed value, whose p has the log `log`, is.
    """
    most = int(tasks.sizes[-1])
    whole = law.whole is not None and (
        law.cutoff is not None or abs(law.f(np.array([2.0]))[0]) == 2
    )
    if not whole or len(tasks.sizes) > _FEW_WEIGHTS:
        return _FEW_VALUES[1] if most <= _FEW_VALUES[0] and law.cutoff is None else 0.0
    n = tasks.sizes.astype(np.float64)
    if law.cutoff is None:
        away = min(
            abs(observed) - 1, float((tasks.weights * tasks.multiplicities) @ n) - abs(observed)
        )
        spread = np.minimum((n * n - 1) / 12, away * (away + 1))
    else:
        hit = np.minimum(law.cutoff / n, 1.0)
        spread = np.minimum(hit * (1 - hit), abs(observed) * (1 - abs(observed)))
    sums = 2 * math.pi * spread * tasks.multiplicities
    share = float(np.prod(1 / np.sqrt(np.maximum(sums, 1.0))))  # of one sum in the middle
    return min(1.0, 5 * share * (1 + math.sqrt(-2 * log))) if log < 0 else min(1.0, 5 * share)


def mean_of(metric: str, value: float, tasks: Tasks, power: float) -> float:
    """What `chance_tail` takes as observed, for a value of the metric.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> mean_of("hmr", 4.0, compress([9]), 0), mean_of("power_mean", 3.0, compress([9]), 2)
    (0.25, 0.1111111111111111)
    """
    name, power = law_of(metric, power)
    if metric in ("hmr", "imr", "imedian") or (metric == "power_mean" and name == "mrr"):
        return 1 / value
    if name == "gmr":
        return -math.log(value) if metric == "igmr" else math.log(value)
    return float((value / greatest_base(tasks, power)) ** power) if name == "power_mean" else value


def best_tail(name: str, power: float, tasks: Tasks) -> Tail:
    """The probability that chance ranks the true candidate of every task first, or does as well.

    Examples
    --------
    >>> from truerank.metrics.chance_model import compress
    >>> round(math.exp(best_tail("hits", 2, compress([4, 5])).log), 12)  # 2/4 2/5
    0.2
    """
    most = greatest_base(tasks, power) if name == "power_mean" else 1.0
    ones = {"gmr": 0.0, "power_mean": most**-power}
    return chance_tail(name, tasks, power, ones.get(name, 1.0)) or Tail(0.0, "exact", 0.0)


def spelled_p(log10_p: float) -> str:
    """Write a probability, given by its decimal logarithm, so that it is never 0.

    Examples
    --------
    >>> spelled_p(-1.0), spelled_p(-7.921), spelled_p(-8000.3)
    ('p = 0.1', 'p = 1.2e-08', 'log10 p = -8000.3')
    """
    if math.isnan(log10_p):
        return "p = nan"
    if log10_p < -300:
        return f"log10 p = {log10_p:.6g}"
    return f"p = {10**log10_p:.3g}"


def rough_p(error: float) -> tuple[str, ...]:
    """Make the note of a p-value with a large relative error.

    Examples
    --------
    >>> rough_p(0.12), rough_p(2000.0)
    (('rough p-value: its relative error may be 12 %',), ('rough p-value: it may be off by a factor of 2e+03',))
    >>> rough_p(1e-6)
    ()
    """  # noqa: E501
    if not error > _ROUGH:
        return ()
    if error < 1:
        return (f"rough p-value: its relative error may be {100 * error:.2g} %",)
    return (f"rough p-value: it may be off by a factor of {1 + error:.2g}",)
