"""P-values of a metric: how likely random ranking is to be at least as good."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..inputs.checks import integer_at_least
from ..inputs.errors import InputTypeError
from ..inputs.naming import public
from ..metrics.adjustments import kept_moments
from ..metrics.averages import values_per_task, weighted_mean
from ..metrics.chance_model.few_outcomes import counted_tail
from ..metrics.chance_model.median_tails import hits_at_least, median_at_most
from ..metrics.chance_model.rank_sums import lattice_tail, sum_at_most
from ..metrics.chance_model.saddlepoints import Cumulants, bracketed_tail, log_normal_tail
from ..metrics.chance_model.task_groups import Law, Tail, Tasks, compress, significant_weights
from ..metrics.keys import Key, parse
from ..metrics.kinds import Sample, UnknownKeyError, sample_of, take
from ..metrics.metric_table import METRICS, metric_value
from ..metrics.sides import sides_of
from ..metrics.ties import mean_power
from ..ranks.container import Ranks

__all__ = ["PValue", "pvalue"]

_INVERT_ABOVE = 1e-4  # an inversion is tried where the error of the saddle point is larger
_BOUND_ABOVE = 1e-2  # bounds are tried where the inversion fails and the error is larger
_SLACK = 1e-12  # of the observed value, relatively, for the rounding of sums
# Up to so many candidates every 1 / r is a multiple of a number that is not tiny.
_MAX_RECIPROCAL_SIZE = 16


@public("truerank.comparison")
class PValue(NamedTuple):
    """The probability under chance of a value that is at least as good.

    Attributes
    ----------
    p : float
        From 0 to 1; 0 where it is too small for a float, and nan where there are no tasks.
    log10_p : float
        The decimal logarithm of p, finite for every p above 0, however small.
    method : str
        "exact" (up to rounding), "inversion" (numerical, of the characteristic function),
        "bounds" (the middle between a lower and an upper bound), "saddlepoint", "normal", or "none"
        where there are no tasks.
    z : float
        (value - expectation) / standard deviation under chance, with the sign of the formula; nan
        where it is undefined.
    error : float
        The relative error of p: rounding where it is exact, an estimate from the next term and the
        largest steps of the law for a saddle point, nan for a normal approximation.

    Examples
    --------
    >>> float(PValue(0.25, -0.602, "exact", 1.0, 0.0))
    0.25
    """

    p: float
    log10_p: float
    method: str
    z: float
    error: float

    def __float__(self) -> float:
        return self.p


@public("truerank")
def pvalue(ranks: Ranks, metric: str = "mrr", *, seed: int = 0) -> PValue:
    """Compute the probability that random ranking is at least as good.

    Under chance each rank is uniform on 1..N, and tasks are independent. A small p says that the
    metric's value is better than random ranking explains. It does not say how much better, and it
    does not compare two models.

    Parameters
    ----------
    ranks : Ranks
        Ranks with their candidates and weights.
    metric : str
        A key `[side.][kind.]metric[@k][:p]`. An adjusted metric has the p-value of the metric
        itself, since it is a monotone function of it.
    seed : int
        The seed of the kind "random".

    Returns
    -------
    PValue
        p is nan where there are no tasks, and exactly 1 where every N is 1.

    Raises
    ------
    KeyError
        For an unknown key or side, for a macro average, for metrics that are neither better nor
        worse (std, variance, mad, count), and for those without a chance model: the median where
        weights differ, power means of an order that `chance` does not take.
    TypeError
        If `ranks` is something else.

    Notes
    -----
    p is exact, also far out in the tail, for

    - hits@k: a Poisson-binomial law, inverted along a line through the saddle point;
    - mr, imr: the law of the sum of the ranks, in integers or by inversion;
    - median, imedian, and power means of order inf and -inf;
    - one task, and tasks that can be divided into two halves with at most 262,144 outcomes each,
      which are counted: 4 tasks of 500 candidates, or 36 tasks of hits@k with any candidates and
      weights;
    - mr and hits@k with weights that are multiples of one another, mrr of up to 16 candidates, and
      power means of small whole order, where their sum takes no more than 2 million values.

    For mrr and hmr, gmr and igmr, the other power means, and mr and hits@k with other weights, p
    comes from the saddle point approximation of Lugannani and Rice (1980) to the law of the mean of
    f(r), which holds far out in the tail, too. Its error is an estimate. Where the error is above
    1e-4 and the characteristic function falls off fast enough, that function is inverted to about
    1e-8. Where it does not, as for few tasks with many candidates, and the error is above 1e-2, the
    law is summed on a grid that bounds p from both sides. If none of these is finite, p is the
    normal approximation of z.

    The methods that are not exact take the law for continuous: where many outcomes have the
    observed value, half of their probability is missing.

    The model has no ties, and p is that of the observed value, however it came about. A scorer that
    ties all candidates has a realistic rank in the middle every time. For hits@k with a large k and
    for power means of high order, chance hardly ever does that well; look at the pessimistic kind
    then. The value of the kind "expected" is taken as observed; a fraction of a hit is rounded up.

    The model takes tasks for independent, which the tasks of one query are not.

    Examples
    --------
    >>> import truerank as tr
    >>> found = pvalue(tr.Ranks([0, 0, 3], [1, 1, 1], [3, 4, 5]), "hits@1")
    >>> round(found.p, 12), found.method  # two of three first places
    (0.166666666667, 'exact')
    >>> round(pvalue(tr.Ranks([0] * 2000, [1] * 2000, 10_000), "mr").log10_p)
    -8000
    """
    seed = integer_at_least("seed", seed)
    if not isinstance(ranks, Ranks):
        raise InputTypeError("ranks", expected="Ranks", got=type(ranks).__name__)
    key = parse(metric)
    if key.macro:
        raise UnknownKeyError(f"{metric!r}: a mean over groups has no p-value")
    if METRICS[key.metric].increasing is None:
        raise UnknownKeyError(f"{metric!r}: {key.metric} is neither better nor worse than chance")
    sides = sides_of(ranks)
    sides.check(key.side, metric)
    sample = take(sample_of(ranks, key.kind, seed), sides.mask(key.side))
    return pvalue_of_sample(key, sample, ranks._memo)


def pvalue_of_sample(key: Key, sample: Sample, memo: dict[Any, Any]) -> PValue:
    """Compute the p-value of a metric for the sample of its side and kind.

    `memo` is the memo of the Ranks.

    Examples
    --------
    >>> sample = Sample(np.array([1.0, 2.0]), np.array([3, 3]))
    >>> round(pvalue_of_sample(parse("mr"), sample, {}).p, 12)
    0.333333333333
    """
    base, power = _deciding_law(key)
    if base not in _LAWS:
        raise UnknownKeyError(f"{str(key)!r}: {key.metric} has no p-value")
    if sample.weights is not None:  # tasks that the model leaves out are not observed either
        sample = take(sample, significant_weights(sample.weights, len(sample.weights)) > 0)
    tasks = compress(sample.candidates, sample.weights)
    if not tasks.count:
        return PValue(math.nan, math.nan, "none", math.nan, math.nan)
    z = _z_score(key, sample, memo)
    if tasks.sizes[-1] == 1:
        return PValue(1.0, 0.0, "exact", z, 0.0)
    if tasks.count == 1 and base in _RANK_OF_ONE_TASK:
        found = _single_task_tail(tasks, base, power, sample)
    else:
        found = _LAWS[base](tasks, power, sample)
    log, method, error = found
    if not math.isfinite(log):
        better = z if METRICS[key.metric].increasing else -z
        log, method, error = log_normal_tail(better), "normal", math.nan
    return PValue(math.exp(log), log / math.log(10) + 0.0, method, z, error)


def _z_score(key: Key, sample: Sample, memo: dict[Any, Any]) -> float:
    """The difference from chance in standard deviations; nan where the variance is 0."""
    mean, variance = kept_moments(memo, key, sample)
    if not (variance > 0 and math.isfinite(variance)):
        return math.nan
    return (metric_value(METRICS[key.metric], sample, key.parameter) - mean) / math.sqrt(variance)


def _deciding_law(key: Key) -> tuple[str, float]:
    """The name and parameter of the law of a metric; monotone functions share one law."""
    name = {"imr": "mr", "hmr": "mrr", "igmr": "gmr", "imedian": "median"}.get(
        key.metric, key.metric
    )
    if name == "power_mean" and key.parameter in _POWER_LAWS:
        return _POWER_LAWS[key.parameter], 0
    return name, key.parameter


_POWER_LAWS = {1: "mr", -1: "mrr", 0: "gmr", math.inf: "greatest", -math.inf: "least"}


def _average(name: str, sample: Sample, parameter: float = 0) -> float:
    """The mean of f over the tasks, with their weights."""
    metric = METRICS[name]
    return metric.mean(metric.transform, sample, parameter)


def _total(name: str, sample: Sample, parameter: float = 0) -> float:
    """The sum of f over the tasks."""
    return math.fsum(values_per_task(METRICS[name].transform, sample, parameter).tolist())


def _single_task_tail(tasks: Tasks, base: str, power: float, sample: Sample) -> Tail:
    """The share of the ranks of a single task that are at least as good."""
    rank = metric_value(METRICS[_RANK_OF_ONE_TASK[base]], sample, power)
    size = int(tasks.sizes[0])
    share = min(max(math.floor(rank * (1 + 1e-12)), 1), size) / size
    return Tail(math.log(share), "exact", 1e-15)


def _hits_tail(tasks: Tasks, k: float, sample: Sample) -> Tail:
    k = min(k, 2**63)  # no rank is beyond 2**63
    if tasks.equal:
        return hits_at_least(tasks, k, math.ceil(_total("hits", sample, k) - 1e-9))
    law = Law(lambda r: (r <= k).astype(float), cutoff=k, whole=lambda r: (r <= k).astype(int))
    return _upper_tail(tasks, law, _average("hits", sample, k))


def _rank_sum_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    if tasks.equal:
        return sum_at_most(tasks, math.floor(_total("mr", sample)))
    return _upper_tail(tasks, Law(lambda r: -r, whole=lambda r: -r), -_average("mr", sample))


def _reciprocals_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    law = Law(lambda r: 1 / r)
    if tasks.sizes[-1] <= _MAX_RECIPROCAL_SIZE:
        common = math.lcm(*range(1, int(tasks.sizes[-1]) + 1))
        law = law._replace(whole=lambda r: common // r, scale=float(common))
    return _upper_tail(tasks, law, _average("mrr", sample))


def _logs_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    return _upper_tail(tasks, Law(lambda r: -np.log(r)), -_average("gmr", sample))


def _powers_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    most = 1 if power < 0 else int(tasks.sizes[-1])  # scaled, so that nothing overflows
    sign = 1.0 if power < 0 else -1.0
    law = Law(lambda r: sign * (r / most) ** power)
    if sample.tied is None:
        observed = weighted_mean(law.f(sample.ranks), sample.weights)
    else:
        each = mean_power(sample.ranks, sample.tied, power, float(most))
        observed = sign * weighted_mean(each, sample.weights)
    if power > 0 and power == int(power) and power * math.log2(most) < 40:
        p = int(power)
        law = law._replace(whole=lambda r: -(r**p), scale=float(most**p))
    return _upper_tail(tasks, law, observed)


def _greatest_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    share = np.minimum(_extreme_rank(sample, math.inf) / tasks.sizes, 1.0)
    return Tail(float((np.log(share) * tasks.multiplicities).sum()), "exact", 1e-14)


def _least_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    share = np.minimum(_extreme_rank(sample, -math.inf) / tasks.sizes, 1.0)
    if (share == 1).any():
        return Tail(0.0, "exact", 0.0)
    none = float((np.log1p(-share) * tasks.multiplicities).sum())
    return Tail(math.log(-math.expm1(none)), "exact", 1e-14)


def _extreme_rank(sample: Sample, power: float) -> float:
    return max(math.floor(metric_value(METRICS["power_mean"], sample, power)), 1)


def _median_tail(tasks: Tasks, power: float, sample: Sample) -> Tail:
    return median_at_most(tasks, math.floor(2 * metric_value(METRICS["median"], sample) + 1e-9))


_LAWS: dict[str, Callable[[Tasks, float, Sample], Tail]] = {
    "hits": _hits_tail,
    "mr": _rank_sum_tail,
    "mrr": _reciprocals_tail,
    "gmr": _logs_tail,
    "power_mean": _powers_tail,
    "greatest": _greatest_tail,
    "least": _least_tail,
    "median": _median_tail,
}


# For a single task these laws are monotone in its rank, which is the value of the metric named.
_RANK_OF_ONE_TASK = {
    "mr": "mr",
    "mrr": "hmr",
    "gmr": "gmr",
    "power_mean": "power_mean",
}


def _upper_tail(tasks: Tasks, law: Law, observed: float) -> Tail:
    """P(sum of w f(r) >= observed), by the first method that applies."""
    for exact in (counted_tail, lattice_tail):
        if (tail := exact(tasks, law, observed)) is not None:
            return tail
    smooth = Cumulants(tasks, law.f, law.cutoff)
    log, error = smooth.log_tail(observed)
    if error > _INVERT_ABOVE and (better := smooth.invert_tail(observed)) and better[1] < error:
        return Tail(better[0], "inversion", better[1])
    if error > _BOUND_ABOVE:
        between = bracketed_tail(tasks, law.f, observed - _SLACK * abs(observed))
        if between is not None and between[1] < error:
            return Tail(between[0], "bounds", between[1])
    return Tail(log, "saddlepoint" if error else "exact", error)
