"""P-values of a metric: how likely random ranking is to be at least as good, or as bad."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ..inputs.checks import choice, integer_at_least
from ..inputs.naming import public
from ..metrics.adjustments import kept_moments
from ..metrics.averages import values_per_task, weighted_mean
from ..metrics.chance_model.saddlepoints import log_normal_tail
from ..metrics.chance_model.tails import (
    best_tail,
    chance_tail,
    greatest_base,
    law_of,
    rough_p,
    spelled_p,
)
from ..metrics.chance_model.task_groups import Tail, Tasks, compress, significant_weights
from ..metrics.keys import Key, parse
from ..metrics.kinds import Sample, UnknownKeyError, sample_of, take
from ..metrics.metric_table import METRICS, metric_value
from ..metrics.sides import sides_of
from ..metrics.ties import mean_power
from ..ranks.container import Ranks
from ..tables.cells import format_count
from .pairing import HasRanks, weighted_ranks

if TYPE_CHECKING:
    pass

__all__ = ["PValue", "pvalue"]

_COARSE = 1e-3  # the best p-value from which on there are few outcomes
_FEW_TASKS = 16  # up to so many the p-value of the best value is computed, too
Alternative = Literal["better", "worse", "two-sided"]
ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)


@public("truerank.inference")
class PValue(NamedTuple):
    """The probability under chance of a value that is at least as good, or as bad.

    `str` gives one line, and one for each note.

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
        The relative error of p: rounding where it is exact, half of the distance between bounds, an
        estimate from the next term and the largest steps of the law for a saddle point, nan for a
        normal approximation.
    alternative : str
        "better", "worse" or "two-sided".
    notes : tuple of str
        What p leaves out: few outcomes, a large error, a normal approximation.

    Examples
    --------
    >>> float(PValue(0.25, -0.602, "exact", 1.0, 0.0))
    0.25
    >>> print(PValue(0.0, -8000.25, "saddlepoint", -70.0, 1e-4, "two-sided"))
    two-sided log10 p = -8000.25 (saddlepoint, to 0.01 %)
    """

    p: float
    log10_p: float
    method: str
    z: float
    error: float
    alternative: str = "better"
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.p

    def __str__(self) -> str:
        side = "" if self.alternative == "better" else f"{self.alternative} "
        if self.method == "none":
            return "\n".join([f"{side}p = nan (no tasks)", *self.notes])
        shown = spelled_p(self.log10_p)
        if self.method == "bounds" and self.error > 0.5:  # the lower bound says little
            most = min(self.log10_p + math.log10(1 + self.error), 0.0)
            shown = spelled_p(most).replace("=", "<=")
        how = self.method
        if 1e-9 < self.error <= 0.5:
            how += f", to {100 * self.error:.2g} %"
        return "\n".join([f"{side}{shown} ({how})", *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> PValue(0.25, -0.602, "exact", 1.0, 0.0).to_dict()["alternative"]
        'better'
        """
        return {**self._asdict(), "notes": list(self.notes)}


@public("truerank")
def pvalue(
    ranks: Ranks | HasRanks,
    metric: str = "mrr",
    *,
    alternative: Alternative = "better",
    seed: int = 0,
) -> PValue:
    """Compute the probability that random ranking is at least as good, or as bad.

    Under chance each rank is uniform on 1..N, and tasks are independent. A small p says that the
    metric's value is better than random ranking explains. It does not say how much better, and it
    does not compare two models.

    Parameters
    ----------
    ranks : Ranks or Report
        Ranks with their candidates and weights. A Report stands for its ranks, with the weights
        that are in force in it.
    metric : str
        A key `[side.][kind.]metric[@k][:p]`. An adjusted metric has the p-value of the metric
        itself, since it is a monotone function of it.
    alternative : {"better", "worse", "two-sided"}
        Whether p is the probability of a value that is at least as good as the observed one, of one
        that is at least as bad, or twice the smaller of the two, at most 1, as in
        `scipy.stats.permutation_test`. Values that equal the observed one count on both sides. What
        is better depends on the metric: a small mr, a large mrr.
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
        If `ranks` is something else, or the alternative is not a str.
    ValueError
        For an unknown alternative.

    Notes
    -----
    p is exact, also far out in the tail, for

    - hits@k: a Poisson-binomial law, inverted along a line through the saddle point;
    - mr, imr: the law of the sum of the ranks, in integers or by inversion;
    - median, imedian, and power means of order inf and -inf;
    - one task, and tasks that can be divided into two halves with at most 262,144 outcomes each,
      which are counted: 4 tasks of 500 candidates, or 36 tasks of hits@k with any candidates and
      weights. Only outcomes that may be as good count, so that all ranks near 1 are exact among any
      number of candidates;
    - mr and hits@k with weights that are multiples of one another, mrr of up to 16 candidates, and
      power means of small whole order, where their sum takes no more than 2 million values.

    For mrr and hmr, gmr and igmr, the other power means, and mr and hits@k with other weights, the
    law of up to 64 tasks is summed on a grid, which bounds p from both sides. Where the bounds are
    more than 2 % apart, and for more tasks, p comes from the saddle point approximation of
    Lugannani and Rice (1980) to the law of the mean of f(r), which holds far out in the tail, too.
    Its error is an estimate: 2.5 times the next term, and at least what ties may cost. Where the
    characteristic function falls off fast enough, it is inverted if that error is above 1e-4. Where
    it does not, and the error is above 1e-2, up to 2,048 tasks have bounds. If none of these is
    finite, p is the normal approximation of z.

    Saddle points and inversions take the law for continuous: where many outcomes have the observed
    value, half of their probability is missing. Their errors are at least a bound of that for sums
    of ranks or hits with up to 4 distinct pairs of N and weight, and 1e-3 where no task has more
    than 64 candidates. In bench/studies/pvalue_errors.md no p-value is further from the exact one
    than stated. The worse ones of the median of an even number of
    tasks with unlike N have bounds, too, where p is below 1e-9.

    The model has no ties, and p is that of the observed value, however it came about. A scorer that
    ties all candidates has a realistic rank in the middle every time. For hits@k with a large k and
    for power means of high order, chance hardly ever does that well; look at the pessimistic kind
    then. The value of the kind "expected" is taken as observed; a fraction of a hit is rounded up
    on the better side and down on the worse one.

    The model takes tasks for independent, which the tasks of one query are not quite.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.Ranks([0, 0, 3], [1, 1, 1], [3, 4, 5])
    >>> found = pvalue(ranks, "hits@1")
    >>> round(found.p, 12), found.method  # two of three first places
    (0.166666666667, 'exact')
    >>> round(pvalue(ranks, "hits@1", alternative="worse").p, 12)
    0.983333333333
    >>> print(pvalue(tr.Ranks([0] * 2000, [1] * 2000, 10_000), "mr"))
    log10 p = -8000 (exact)
    """
    seed = integer_at_least("seed", seed)
    alternative = choice("alternative", alternative, ALTERNATIVES)
    ranks = weighted_ranks("ranks", ranks)
    key = parse(metric)
    if key.macro:
        raise UnknownKeyError(f"{metric!r}: a mean over groups has no p-value")
    if METRICS[key.metric].increasing is None:
        raise UnknownKeyError(f"{metric!r}: {key.metric} is neither better nor worse than chance")
    sides = sides_of(ranks)
    sides.check(key.side, metric)
    sample = take(sample_of(ranks, key.kind, seed), sides.mask(key.side))
    return pvalue_of_sample(key, sample, ranks._memo, alternative)


def pvalue_of_sample(
    key: Key, sample: Sample, memo: dict[Any, Any], alternative: str = "better"
) -> PValue:
    """Compute the p-value of a metric for the sample of its side and kind.

    `memo` is the memo of the Ranks.

    Examples
    --------
    >>> import numpy as np
    >>> sample = Sample(np.array([1.0, 2.0]), np.array([3, 3]))
    >>> round(pvalue_of_sample(parse("mr"), sample, {}).p, 12)
    0.333333333333
    """
    if sample.weights is not None:  # tasks that the model leaves out are not observed either
        sample = take(sample, significant_weights(sample.weights, len(sample.weights)) > 0)
    tasks = compress(sample.candidates, sample.weights)
    if not tasks.count:
        return PValue(math.nan, math.nan, "none", math.nan, math.nan, alternative)
    z = _z_score(key, sample, memo)
    sides = [False, True] if alternative == "two-sided" else [alternative == "worse"]
    tails = [_tail(key, sample, tasks, z, worse) for worse in sides]
    log, method, error = min(tails)
    if len(tails) == 2:
        log = min(log + math.log(2), 0.0)
    notes = rough_p(error) + _discreteness(key, tasks, alternative)
    if method == "normal":
        notes += ("normal approximation: no other method gave a number",)
    return PValue(math.exp(log), log / math.log(10) + 0.0, method, z, error, alternative, notes)


def _discreteness(key: Key, tasks: Tasks, alternative: str) -> tuple[str, ...]:
    """Say where even the best value would have a p-value that is not small."""
    if tasks.count > _FEW_TASKS or alternative == "worse" or tasks.sizes[-1] == 1:
        return ()
    best = best_tail(*law_of(key.metric, key.parameter), tasks)
    factor = 2 if alternative == "two-sided" else 1
    least = min(factor * math.exp(best.log), 1.0)
    if least <= _COARSE:
        return ()
    counted = format_count(tasks.count, "task")
    return (f"few outcomes: {counted}; no value has a p-value below {least:.3g}",)


def _tail(key: Key, sample: Sample, tasks: Tasks, z: float, worse: bool) -> Tail:
    """The tail of the chance law on one side of the observed value."""
    name, power = law_of(key.metric, key.parameter)
    observed = _observed(name, power, sample, tasks)
    tail = chance_tail(name, tasks, power, observed, worse=worse)
    if tail is None:
        raise UnknownKeyError(f"{str(key)!r}: {key.metric} has no p-value")
    if math.isfinite(tail.log):
        return tail
    better = z if METRICS[key.metric].increasing else -z
    return Tail(log_normal_tail(-better if worse else better), "normal", math.nan)


def _z_score(key: Key, sample: Sample, memo: dict[Any, Any]) -> float:
    """The difference from chance in standard deviations; nan where the variance is 0."""
    mean, variance = kept_moments(memo, key, sample)
    if not (variance > 0 and math.isfinite(variance)):
        return math.nan
    return (metric_value(METRICS[key.metric], sample, key.parameter) - mean) / math.sqrt(variance)


def _observed(name: str, power: float, sample: Sample, tasks: Tasks) -> float:
    """The mean of f over the tasks, with their weights, as `chance_tail` takes it."""
    if name in _EXTREMES:
        return metric_value(METRICS["power_mean"], sample, _EXTREMES[name])
    if name == "median":
        return metric_value(METRICS["median"], sample)
    metric = METRICS[name]
    if name == "power_mean":
        most = greatest_base(tasks, power)  # so that nothing overflows
        if sample.tied is None:
            return weighted_mean((sample.ranks / most) ** power, sample.weights)
        each = mean_power(sample.ranks, sample.tied, power, most)
        return weighted_mean(each, sample.weights)
    if tasks.equal and sample.weights is None:
        values = values_per_task(metric.transform, sample, power)
        return math.fsum(values.tolist()) / tasks.count
    return metric.mean(metric.transform, sample, power)


_EXTREMES = {"greatest": math.inf, "least": -math.inf}
