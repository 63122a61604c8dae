"""P-values of a metric: how likely random ranking is to be at least as good, or as bad."""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple, get_args

from ..inputs.checks import choice, integer
from ..inputs.errors import UnknownKeyError
from ..inputs.naming import public
from ..metrics.chance_model.tails import spelled_method, spelled_p, tail
from ..metrics.chance_model.tasks import Tasks, compress, significant_weights
from ..metrics.keys import Key, parse, sides_of
from ..metrics.kinds import Sample, sample_of, take
from ..metrics.metric_table import METRICS
from ..metrics.values import compute, kept_moments
from ..ranks.container import Ranks
from ..tables.cells import format_count
from .units import HasRanks, weighted_ranks

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
        The algorithm: "exact" (up to rounding), "convolution" (of the laws of the tasks, on a
        grid), "bins" (outcomes of the tasks, neighbours put together), or "none" without tasks.
    accuracy : float
        About how large the relative error of p may be: 0.0 where p is exact, nan where it may be as
        large as p, and without tasks.
    z : float
        (value - expectation) / standard deviation under chance, with the sign of the formula; nan
        where it is undefined.
    alternative : str
        "better", "worse" or "two-sided".
    notes : tuple of str
        What p leaves out: few outcomes.

    Examples
    --------
    >>> float(PValue(0.25, -0.602, "exact", 0.0, 1.0))
    0.25
    >>> print(PValue(0.0, -8000.25, "convolution", 0.02, -70.0, "two-sided"))
    two-sided log10 p = -8000.25 (convolution, within 2 %)
    """

    p: float
    log10_p: float
    method: str
    accuracy: float
    z: float
    alternative: str = "better"
    notes: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.p

    def __str__(self) -> str:
        line = "p = nan (no tasks)"
        if self.method != "none":
            method = spelled_method(self.method, self.accuracy)
            line = f"{spelled_p(self.log10_p)} ({method})"
        if self.alternative != "better":
            line = f"{self.alternative} {line}"
        lines = [line]
        lines += self.notes
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> PValue(0.25, -0.602, "exact", 0.0, 1.0).to_dict()["alternative"]
        'better'
        """
        return self._asdict() | {"notes": list(self.notes)}


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
    p is exact, also far out in the tail, for hits@k without weights, the median, extremes and one
    task; where all outcomes of a few tasks can be listed (two halves of at most a million each);
    and where w f(r) lies on a lattice that is not too fine (sums of ranks, whole weights). Else the
    laws of the tasks are convolved on a grid, tasks that are nearly alike together. Where outcomes
    that a grid cannot tell apart matter, their laws are added in bins that are narrow where the
    probability is. `accuracy` is what a grid or bins half as fine change of p, or how much of p
    lies too near to the observed value for a grid: 0.1 % or less for most problems, which is the
    least that is stated, and up to 1 % down to p = 1e-6. It is printed where it is more than 0.1 %.
    A p far below that may be off by more, and says so: one place among a million and all others as
    chance has them is a fine structure that nothing but enumeration resolves for many tasks.
    `bench/studies/pvalues.md` shows simulations beside it.

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
    seed = integer("seed", seed, least=0)
    alternative = choice("alternative", alternative, ALTERNATIVES)
    ranks = weighted_ranks("ranks", ranks)
    key = parse(metric)
    if key.macro:
        raise UnknownKeyError(repr(metric), "a mean over groups has no p-value")
    if METRICS[key.metric].increasing is None:
        raise UnknownKeyError(repr(metric), f"{key.metric} is neither better nor worse than chance")
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
    value = compute(key.alone, sample)
    mean, variance = kept_moments(memo, key, sample)
    z = math.nan
    if variance > 0 and math.isfinite(variance):
        z = (value - mean) / math.sqrt(variance)
    metric = METRICS[key.metric]
    if alternative == "two-sided":
        better = tail(metric, key.parameter, tasks, value)
        worse = tail(metric, key.parameter, tasks, value, worse=True)
        found = min(better, worse)  # by the logarithm, which comes first
        log = min(found.log + math.log(2), 0.0)
    else:
        found = tail(metric, key.parameter, tasks, value, worse=alternative == "worse")
        log = found.log
    return PValue(
        p=math.exp(log),
        log10_p=log / math.log(10) + 0.0,
        method=found.method,
        accuracy=found.accuracy,
        z=z,
        alternative=alternative,
        notes=_discreteness(key, tasks, alternative),
    )


def _discreteness(key: Key, tasks: Tasks, alternative: str) -> tuple[str, ...]:
    """Say where even the best value would have a p-value that is not small."""
    if tasks.count > _FEW_TASKS or alternative == "worse" or tasks.sizes[-1] == 1:
        return ()
    best = tail(METRICS[key.metric], key.parameter, tasks, 1.0)  # all ranks are 1
    least = math.exp(best.log)
    if alternative == "two-sided":
        least = min(2 * least, 1.0)
    if least <= _COARSE:
        return ()
    counted = format_count(tasks.count, "task")
    return (f"few outcomes: {counted}; no value has a p-value below {least:.3g}",)
