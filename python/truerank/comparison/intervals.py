"""Confidence intervals of a metric: which method is right for which sample, and what to note."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from ..inputs.checks import choice, confidence, integer_at_least, resample_count
from ..inputs.errors import InputValueError
from ..inputs.naming import printable, public
from ..metrics.adjustments import adjusted, moments
from ..metrics.keys import NO_ADJUSTMENT
from ..ranks.container import Ranks
from . import cautions
from .distributions import beta_cdf, normal_quantile, t_quantile
from .functionals import SumFunctional, carriers, standard_error
from .median_functionals import MedianFunctional
from .proportions import clopper_pearson, order_of_bounds, wilson
from .resampling import (
    bca_bounds,
    bounded_bounds,
    draw_resamples,
    percentile_bounds,
    rounding_slack,
    studentised_bounds,
)
from .sampling_design import crossed_names, design_of, notes_on
from .units import AUTO, TASK, Units, describe_units, safe_weights, units_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray
    from ..metrics import Key
    from ..ranks.labels import LabelsLike
    from .functionals import Functional
    from .sampling_design import Design

STUDENTISED, BOUNDED, WILSON, CLOPPER_PEARSON = (
    "studentised",
    "bounded",
    "wilson",
    "clopper-pearson",
)
T = "t"
ORDER, WOODRUFF, BCA, PERCENTILE, NORMAL = "order", "woodruff", "bca", "percentile", "normal"
METHODS = (
    AUTO,
    STUDENTISED,
    BOUNDED,
    WILSON,
    CLOPPER_PEARSON,
    ORDER,
    WOODRUFF,
    BCA,
    PERCENTILE,
    NORMAL,
)
MIN_UNITS = 20  # with fewer, the bounds are those of any law between the ends of the ranks
NOTED_UNITS = 30  # with fewer, coverage is off by a few percent points
# So many units must carry the variance (a quarter of all units, where they are few), or the bounds
# are those of any law as well.
MIN_CARRIERS = 8
SHOWN_CARRIERS = 20  # fewer are noted
# Clusters are uneven if they weigh as much as fewer equal ones: less than this share of their
# number, and less than so many.
EVEN_SHARE, MANY_UNITS = 0.5, 100
MAX_ROUNDING = 1e3
_NEEDS = {
    STUDENTISED: "means over tasks and functions of these",
    BOUNDED: "metrics that are better the better each rank",
    WILSON: "hits@k of whole ranks",
    CLOPPER_PEARSON: "hits@k of whole ranks of single tasks that weigh alike",
    ORDER: "medians of whole ranks of single tasks that weigh alike",
    WOODRUFF: "medians",
    NORMAL: "means over tasks, functions of these, and medians",
}
MAX_EXCESS = 0.4  # of what a level leaves out: a coverage above that is noted
APPROXIMATE = "the interval is approximate"
CONSERVATIVE, NARROW = "the interval is conservative", "the interval may be too narrow"
EXACT = "the bounds are exact, and conservative"
MIN_HITS = 10  # with fewer hits or misses, the bounds of a share are exact


@public("truerank.comparison")
class Interval(NamedTuple):
    """A value and the bounds of its confidence interval.

    Attributes
    ----------
    low, value, high : float
    level : float
        The share of such intervals that should contain the value of the population.
    method : str
        How the bounds were computed; see `interval`.
    resamples : int
        0 for methods that do not resample.
    units : int
        The number of units.
    seed : int
    key : str
        The key of the metric.
    by : str
        What a unit is: "task", "query", "pair", "relation", another label, or "group" for labels
        without a name.
    largest : int
        The number of tasks in the largest unit.
    notes : tuple of str
        What limits the trust in the bounds; each is a plain clause with its figures.

    Examples
    --------
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "bca", 10_000, 400, 0, "mrr"))
    mrr 0.3 [0.25, 0.35] (95 %, bca, 10,000 resamples of 400 tasks)
    >>> print(Interval(0.25, 0.3, 0.35, 0.95, "normal", 0, 40, 0, "mrr", "query", 27))
    mrr 0.3 [0.25, 0.35] (95 %, normal, 40 queries, the largest of 27 tasks)
    """

    low: float
    value: float
    high: float
    level: float
    method: str
    resamples: int
    units: int
    seed: int
    key: str = ""
    by: str = TASK
    largest: int = 1
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        resamples = f"{self.resamples:,} resamples of " if self.resamples else ""
        bounds = f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"
        how = f"{100 * self.level:g} %, {self.method}, {resamples}{self.describe_units()}"
        lines = [f"{self.key} {bounds} ({how})".lstrip(), *self.notes]
        return "\n".join(map(printable, lines))

    def to_dict(self) -> dict[str, Any]:
        """Return all fields by name.

        Examples
        --------
        >>> Interval(0.25, 0.3, 0.35, 0.95, "bca", 99, 40, 0, "mrr").to_dict()["notes"]
        []
        """
        return {**self._asdict(), "notes": list(self.notes)}

    def describe_units(self) -> str:
        """Write the number of units, and the size of the largest where it has several tasks.

        Examples
        --------
        >>> Interval(0.25, 0.3, 0.35, 0.95, "bca", 99, 40, 0, "mrr", "query", 27).describe_units()
        '40 queries, the largest of 27 tasks'
        """
        return describe_units(self.units, self.by, self.largest)


@public("truerank.comparison")
def interval(
    ranks: Ranks,
    key: str | Key = "mrr",
    *,
    level: float = 0.95,
    method: str = AUTO,
    by: LabelsLike | None = AUTO,
    seed: int = 0,
    resamples: int = 10_000,
    weights: str | npt.ArrayLike | None = None,
    draw_seed: int = 0,
    strata: LabelsLike | None = None,
) -> Interval:
    """Compute the confidence interval of a metric over other tasks of the same population.

    Parameters
    ----------
    ranks : Ranks
    key : str or Key
        Any key of a report. `macro.X` needs `by`, and its units are the groups.
    level : float
        Between 0 and 1.
    method : str
        "auto" takes the method that covers best, and `Interval.method` names it:

        - hits@k: "wilson", the score interval, with a design effect and a quantile of t where tasks
          are clustered or weigh differently; "clopper-pearson", exact, for fewer than 10 hits or
          misses of independent tasks.
        - means over tasks (mr, mrr, gmr, adjusted ones) and functions of them (std): "studentised",
          the bootstrap-t, whose resamples are measured in standard errors of their own.
        - the same, and hits@k of clusters, where there are fewer than 20 units, or fewer than 8
          carry the variance: "bounded", which allows for ranks that the sample lacks, anywhere
          between 1 and the last.
        - medians: "order", exact bounds from order statistics, for independent tasks that weigh
          alike; else "woodruff", or "bounded" for few or uneven units.
        - mad, and others that are no function of a mean: "bca".

        Each of these names can be asked for, and: "bca", bias-corrected and accelerated percentiles
        of the resamples (Efron 1987), or plain percentiles where these are undefined; "percentile";
        "normal", the delta method, without resampling: the value plus and minus the quantile times
        the standard error, with the factor u / (u - 1) for u units; for the median Woodruff's
        interval.
    by : str, labels or None
        The units, which are resampled as a whole. "auto": pairs where the label "pair" repeats
        (both directions of an alignment rank one pair), else queries where they repeat, else single
        tasks: the ranks of one query are not independent, so that an interval over tasks is too
        narrow. "task" or None: single tasks. "query", "relation" ("group"), "target", "side", any
        name that `ranks.labels` has, or labels of the tasks. A tuple of two names, ("query",
        "target"), takes units of two kinds at once, such as queries and the answers that many of
        them share, and the two-way cluster-robust error.
    seed : int
        The seed of the resampling. The resamples are the same on every machine with one version of
        NumPy; bounds may differ in the last digit, as sums do.
    resamples : int
    weights : array_like of float, shape (n,), or str, optional
        Used instead of the weights of the ranks; "query", "relation", ... as in a report.
    draw_seed : int
        The seed of the kind "random".
    strata : str or labels, optional
        The number of units of each stratum is fixed, such as that of each "relation", so that only
        the variance within strata counts. All tasks of a unit must lie in one stratum. With strata
        or units of two kinds, "auto" takes "t" (the value plus and minus the quantile of t times
        the standard error), "wilson" or "woodruff"; for metrics without a standard error, or where
        it is asked for, "percentile" resamples units within strata, or units of both kinds.

    Returns
    -------
    Interval
        The bounds are nan where the metric is nan, for a single unit, and where more than 1 % of
        the resamples have no value (fewer are left out). They stay within the range of the metric.
        A value at an end of it (no hit, all ranks 1) has a bound on the other side only, which
        leaves out all of 1 - level. The notes say where the interval is conservative, approximate
        or may be too narrow.

    Raises
    ------
    KeyError
        For an unknown key, and `macro.X` without `by`.
    ValueError
        For an unknown method or label, an invalid level, and for a method that does not apply to
        the metric or the units; the message says to what it applies.
    TypeError
        For an argument of another type.

    Notes
    -----
    The tasks (or groups) are taken as drawn independently from a population; tasks of weight 0 are
    left out. The value of a resample is the metric of the resampled Ranks. For the adjusted mr, mrr
    and hits@k, which are means over tasks, the expectation, optimum and variance are those of the
    tasks in the resample, since their numbers of candidates are drawn with them. z grows with the
    root of the number of tasks: for a resample of groups that has m tasks instead of n, z is
    multiplied by sqrt(n / m), so that the interval is one of z for n tasks. For all other metrics
    (gmr, hmr, imr, igmr, medians, power means) the moments under chance are not sums over tasks:
    mean and variance stay those of all tasks, and the interval is that of the unadjusted metric,
    adjusted. For `macro.X` the value within each group is fixed, and groups without a value are
    left out.

    In simulations (log-uniform, Zipf, log-normal, two-point laws and real ones; 20 to 20,000 units,
    alone or in clusters) the default covers in 93 to 97 % of cases where the interval has no note.
    A sample shows how much a metric varies only if many units carry the variance: with influences
    d these are (sum d^2)^2 / sum d^4, the units divided by their kurtosis. Below about 8 all
    asymptotic intervals fail (16 to 90 %). There the bounds are conservative (97 to 100 %), but
    for clusters of very unlike sizes (81 to 92 %), where they are noted as too narrow. For the mean
    rank they are then wide, since one rank near the last would move it far; if no such rank can
    occur, method="studentised" leaves it out. For medians of whole ranks all intervals cover too
    often.

    B. Efron: Better Bootstrap Confidence Intervals. Journal of the American Statistical Association
    82 (1987). The other methods are cited in `truerank.comparison.resampling` and `.proportions`.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([0, 0, 1, 3, 7, 2, 0, 1], [1] * 8, 100)
    >>> print(interval(ranks, "hits@1"))
    hits@1 0.375 [0.0852334, 0.755137] (95 %, clopper-pearson, 8 tasks)
    few units: 8 tasks; the interval is conservative
    few hits: 3 of 8 tasks; the bounds are exact, and conservative
    """
    level, resamples = confidence(level), resample_count(resamples)
    seed, draw_seed = integer_at_least("seed", seed), integer_at_least("draw_seed", draw_seed)
    method = choice("method", method, METHODS)
    unit = by if crossed_names(by, ranks) is None else TASK
    chosen = units_of(ranks, key, by=unit, weights=weights, draw_seed=draw_seed)
    design = design_of(ranks, chosen, by, strata)
    value = chosen.value()
    moving = chosen.functional() if chosen.number else None
    units = 0 if moving is None else moving.units
    found = _Bounds(method, math.nan, math.nan)
    notes: tuple[str, ...] = ()
    if moving is not None and units > 1 and not math.isnan(value):
        case = _Case(chosen, moving, level, resamples, seed)
        if design is None:
            found = case.bounds(case.best_method() if method == AUTO else method)
        else:
            found, units = case.designed(design, method), design.units
        if math.isnan(found.low) or math.isnan(found.high):
            found = found._replace(low=math.nan, high=math.nan)
        else:
            notes = case.notes(found) if design is None else notes_on(design, moving)
    low, high = (value if abs(x - value) <= rounding_slack(value) else x for x in found[1:3])
    return Interval(
        low,
        value,
        high,
        level,
        found.method,
        found.resamples,
        units,
        seed,
        str(chosen.key),
        chosen.by if design is None else design.by,
        chosen.largest if design is None else design.largest,
        notes,
    )


class _Bounds(NamedTuple):
    """Bounds, the method that gave them, and the number of its resamples."""

    method: str
    low: float
    high: float
    resamples: int = 0


class _Case:
    """The units of one metric, and the methods that may bound it."""

    def __init__(
        self, chosen: Units, moving: Functional, level: float, resamples: int, seed: int
    ) -> None:
        self.chosen, self.moving, self.value = chosen, moving, chosen.value()
        self.level, self.resamples, self.seed = level, resamples, seed
        weights = chosen.sample.weights
        equal = weights is None or bool((weights == weights[:1]).all())
        self.alone = equal and chosen.number == len(chosen.unit) and not chosen.key.macro
        self.share = _share(chosen)
        self.median = moving if _is_median(moving) else None
        self.span = moving.span() if isinstance(moving, SumFunctional | MedianFunctional) else None
        weights = _unit_weights(chosen)
        effective = float(weights.sum() ** 2 / np.square(weights).sum())
        self.uneven = effective < min(EVEN_SHARE * moving.units, MANY_UNITS)
        self.carriers = math.inf
        if isinstance(moving, SumFunctional):
            self.carriers = _carriers(moving)
        elif self.median is not None:
            self.carriers = carriers(weights)
        ranks = chosen.sample.ranks
        self.alike = not self.carriers or bool(
            chosen.sample.tied is None and (ranks == ranks[0]).all() and self.median is not None
        )

    def best_method(self) -> str:
        """The method that covers best."""
        moving = self.moving
        many = moving.units >= MIN_UNITS
        shown = many and self.carriers >= min(MIN_CARRIERS, moving.units / 4)
        if self.share is not None:
            if self.alone:
                hits, tasks = self.share.sum(), len(self.share)
                return CLOPPER_PEARSON if min(hits, tasks - hits) < MIN_HITS else WILSON
            return WILSON if shown else BOUNDED
        if self.median is not None:
            if self.alone and self.chosen.sample.tied is None:
                return ORDER
            return WOODRUFF if shown else BOUNDED
        if isinstance(moving, SumFunctional):
            return STUDENTISED if shown or self.span is None else BOUNDED
        return BCA

    def bounds(self, method: str) -> _Bounds:
        """The bounds of a method.

        Raises
        ------
        ValueError
            If it does not apply.
        """
        if self.cannot_vary():
            return _Bounds(method, self.value, self.value)
        compute = {
            STUDENTISED: self._studentised,
            BOUNDED: self._bounded,
            WILSON: self._wilson,
            CLOPPER_PEARSON: self._clopper_pearson,
            ORDER: self._order,
            WOODRUFF: self._woodruff,
            NORMAL: self._normal,
        }.get(method)
        found = self._resampled(method) if compute is None else compute()
        if found is None:
            key = str(self.chosen.key)
            problem = f"{method!r} does not apply to {key!r} here, but to {_NEEDS[method]}"
            raise InputValueError("method", f"{problem}; take {AUTO!r}")
        if compute is None:
            return found
        # of few or tied units, even the quantiles at the ends may lie on one side of the value
        return found._replace(low=min(found.low, self.value), high=max(found.high, self.value))

    def designed(self, design: Design, method: str) -> _Bounds:
        """The bounds of units of two kinds, or of units within strata.

        Raises
        ------
        ValueError
            For another method than "auto" and "percentile".
        """
        if method not in (AUTO, PERCENTILE):
            expected = "'auto' or 'percentile' with strata or units of two kinds"
            raise InputValueError("method", expected=expected, got=repr(method))
        moving = self.moving
        if self.cannot_vary():
            return _Bounds(T, self.value, self.value)
        smooth = isinstance(moving, SumFunctional) or self.median is not None
        if method == PERCENTILE or not smooth:
            drawn = [moving.of_counts(x) for x in design.draw(self.resamples, self.seed)]
            bounds = percentile_bounds(np.concatenate(drawn), self.level)
            return _Bounds(PERCENTILE, *bounds, self.resamples)
        assert isinstance(moving, SumFunctional | MedianFunctional)
        influence = moving.inner_influence()
        error, degrees = design.error(influence)
        if math.isnan(error):
            return _Bounds(T, math.nan, math.nan)
        quantile = t_quantile((1 + self.level) / 2, degrees)
        if self.median is not None:
            scale = error / standard_error(influence)
            return _Bounds(WOODRUFF, *moving.outwards(*self.median.woodruff(quantile * scale)))
        if self.share is not None:
            share = float(np.average(self.share, weights=safe_weights(self.chosen.sample)))
            trials = share * (1 - share) / error**2 if error else float(design.units)
            return self._adjusted(WILSON, wilson(share, trials, quantile))
        if self.alike and self.span is not None:
            return self._bounded() or _Bounds(T, math.nan, math.nan)
        middle = moving.middle()
        bounds = moving.outwards(middle - quantile * error, middle + quantile * error)
        return _Bounds(T, *bounds)

    def _studentised(self) -> _Bounds | None:
        moving = self.moving
        if not isinstance(moving, SumFunctional):
            return None
        error = standard_error(moving.inner_influence())
        chunks = draw_resamples(moving.units, self.resamples, self.seed)
        bounds = studentised_bounds(moving.pivots(chunks), moving.middle(), error, self.level)
        return _Bounds(STUDENTISED, *moving.outwards(*bounds), self.resamples)

    def _bounded(self) -> _Bounds | None:
        if self.span is None or not isinstance(self.moving, SumFunctional | MedianFunctional):
            return None
        bounds = bounded_bounds(self.moving, self.level, self.resamples, self.seed)
        return _Bounds(BOUNDED, *self.moving.outwards(*bounds), self.resamples)

    def _wilson(self) -> _Bounds | None:
        moving = self.moving
        if self.share is None or not isinstance(moving, SumFunctional):
            return None
        trials, quantile = float(len(self.share)), normal_quantile((1 + self.level) / 2)
        share = float(np.average(self.share, weights=safe_weights(self.chosen.sample)))
        if not self.alone:
            variance = standard_error(moving.inner_influence()) ** 2
            if variance * trials > share * (1 - share):
                trials = share * (1 - share) / variance
            quantile = t_quantile((1 + self.level) / 2, moving.units - 1)
        return self._adjusted(WILSON, wilson(share, trials, quantile))

    def _clopper_pearson(self) -> _Bounds | None:
        if self.share is None or not self.alone:
            return None
        bounds = clopper_pearson(int(self.share.sum()), len(self.share), self.level)
        return self._adjusted(CLOPPER_PEARSON, bounds)

    def _order(self) -> _Bounds | None:
        if not self.alone or self.chosen.sample.tied is not None or self.median is None:
            return None
        ranks = np.sort(self.chosen.sample.ranks)
        place = order_of_bounds(len(ranks), self.level)
        bounds = (float(ranks[place - 1]), float(ranks[-place])) if place else self.median.span()
        return None if bounds is None else _Bounds(ORDER, *self.median.outwards(*bounds))

    def _woodruff(self) -> _Bounds | None:
        if self.median is None:
            return None
        quantile = t_quantile((1 + self.level) / 2, self.moving.units - 1)
        return _Bounds(WOODRUFF, *self.median.outwards(*self.median.woodruff(quantile)))

    def _normal(self) -> _Bounds | None:
        found = self.moving.normal_bounds(self.level)
        return None if found is None else _Bounds(NORMAL, *found)

    def _resampled(self, method: str) -> _Bounds:
        """BCa, and percentiles where it is undefined."""
        moving = self.moving
        counts = draw_resamples(moving.units, self.resamples, self.seed)
        replicates = np.concatenate([moving.of_counts(x) for x in counts])
        jackknife = moving.leave_one_out() if method == BCA else None
        if jackknife is not None:
            value = float(moving.of_counts(np.ones((1, moving.units), dtype=np.int64))[0])
            bounds = bca_bounds(replicates, value, jackknife, self.level)
            if bounds is not None:
                return _Bounds(BCA, *bounds, self.resamples)
        return _Bounds(PERCENTILE, *percentile_bounds(replicates, self.level), self.resamples)

    def _adjusted(self, method: str, bounds: tuple[float, float]) -> _Bounds:
        """Bounds of a share, adjusted as the key says."""
        key, sample = self.chosen.key, self.chosen.sample
        if key.adjustment != NO_ADJUSTMENT:
            mean, variance = moments(key.alone, sample.candidates, sample.weights)
            low, high = (adjusted(key, x, mean, variance) for x in bounds)
            return _Bounds(method, low, high)
        return _Bounds(method, *bounds)

    def notes(self, found: _Bounds) -> tuple[str, ...]:
        """What limits the trust in bounds."""
        units, by, method = self.moving.units, self.chosen.by, found.method
        if self.cannot_vary():
            return ()
        consequence = NARROW if self.uneven or method in (BCA, PERCENTILE, NORMAL) else APPROXIMATE
        if not self.uneven and method in (BOUNDED, CLOPPER_PEARSON, ORDER):
            consequence = CONSERVATIVE
        notes = cautions.few_units(units, by, consequence, fewer_than=NOTED_UNITS)
        if self.uneven:
            size, tasks = self.chosen.largest, len(self.chosen.unit)
            notes += cautions.clusters(units, by, size, tasks, NARROW)
        if self.alike:
            return notes + cautions.alike(units, by, found.low, found.high)
        if self.median is not None:
            notes += self._whole_ranks(self.median, method)
        elif method == CLOPPER_PEARSON and self.share is not None:
            notes += cautions.few_hits(int(self.share.sum()), len(self.share), EXACT)
        elif method == WILSON and self.alone:
            pass  # it holds for few hits as well
        elif self.carriers < min(SHOWN_CARRIERS, units / 3):
            notes += cautions.heavy_tail(self.carriers, units, by, consequence)
        if self.span is None and not isinstance(self.moving, SumFunctional):
            notes += cautions.not_calibrated(self.chosen.key.metric)
        if found.low == found.high and not notes:
            notes = cautions.zero_width("the sample does not show how much others differ")
        return notes

    def cannot_vary(self) -> bool:
        """Whether every sample of as many units has one value."""
        if self.chosen.key.metric == "count":
            return self.alone
        return self.span is not None and self.span[0] == self.span[1]

    def _whole_ranks(self, moving: MedianFunctional, method: str) -> tuple[str, ...]:
        """A note where many tasks share the median, so that its bounds contain it too often.

        The coverage is estimated as if the median, and the shares of the weight below it and up to
        it, were those of the population.
        """
        below, up_to = moving.shares()
        error = standard_error(moving.inner_influence())
        if not error:
            return ()
        if method == ORDER:
            trials: float = moving.units
            place: float = order_of_bounds(moving.units, self.level)
        else:  # so many independent tasks would have as large an error
            trials = 0.25 / error**2
            place = trials * (0.5 - normal_quantile((1 + self.level) / 2) * error)
        missed = 0.0
        if place > 0:
            missed = sum(beta_cdf(1 - x, trials - place + 1, place) for x in (up_to, 1 - below))
        if 1 - missed <= self.level + MAX_EXCESS * (1 - self.level):
            return ()
        return cautions.whole_ranks(up_to - below, 1 - missed)


def _unit_weights(chosen: Units) -> FloatArray:
    """The weight of each unit."""
    if chosen.key.macro:
        return np.ones(chosen.number)
    weights: FloatArray = np.bincount(chosen.unit, weights=safe_weights(chosen.sample))  # type: ignore[assignment]
    return weights


def _carriers(moving: SumFunctional) -> float:
    """How many units carry the variance; 0 where all are alike but for rounding."""
    influence = moving.inner_influence()
    slack = MAX_ROUNDING * rounding_slack(moving.middle())
    return 0.0 if np.abs(influence).max() * len(influence) <= slack else carriers(influence)


def _share(chosen: Units) -> npt.NDArray[np.bool_] | None:
    """Which tasks are hits, if the metric is the share of hits, or a linear function of it."""
    key, sample = chosen.key, chosen.sample
    if key.metric != "hits" or key.macro or not len(sample.ranks):
        return None
    if sample.tied is not None and (sample.tied > 1).any():
        return None
    equal = bool((sample.candidates == sample.candidates[0]).all())
    if key.adjustment != NO_ADJUSTMENT and not equal:
        return None
    return sample.ranks <= key.parameter


def _is_median(moving: Functional) -> TypeGuard[MedianFunctional]:
    return isinstance(moving, MedianFunctional) and moving.span() is not None
