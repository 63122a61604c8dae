"""The methods that bound a metric, which of them is right for which sample, and what to note."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeGuard, get_args

import numpy as np

from ..inputs.errors import InputValueError
from ..metrics.adjustments import adjusted, moments
from ..metrics.keys import NO_ADJUSTMENT
from .distributions import beta_cdf, normal_quantile, t_quantile
from .proportions import clopper_pearson, order_of_bounds, wilson
from .samples import cautions
from .samples.functionals import SumFunctional, carriers, standard_error
from .samples.median_functionals import MedianFunctional
from .samples.resampling import (
    bca_bounds,
    bounded_bounds,
    draw_resamples,
    percentile_bounds,
    rounding_slack,
    studentised_bounds,
)
from .samples.units import AUTO, Units, safe_weights

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray
    from .samples.functionals import Functional
    from .sampling_design import Design

STUDENTISED, BOUNDED, WILSON, CLOPPER_PEARSON = (
    "studentised",
    "bounded",
    "wilson",
    "clopper-pearson",
)
T = "t"
ORDER, WOODRUFF, BCA, PERCENTILE, NORMAL = "order", "woodruff", "bca", "percentile", "normal"
IntervalMethod = Literal[
    "auto",
    "studentised",
    "bounded",
    "wilson",
    "clopper-pearson",
    "order",
    "woodruff",
    "bca",
    "percentile",
    "normal",
]
METHODS: tuple[IntervalMethod, ...] = get_args(IntervalMethod)
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


class MethodBounds(NamedTuple):
    """Bounds, the method that gave them, and the number of its resamples."""

    method: str
    low: float
    high: float
    resamples: int = 0


class IntervalCase:
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

    def bounds(self, method: str) -> MethodBounds:
        """The bounds of a method.

        Raises
        ------
        ValueError
            If it does not apply.
        """
        if self.cannot_vary():
            return MethodBounds(method, self.value, self.value)
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

    def designed(self, design: Design, method: str) -> MethodBounds:
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
            return MethodBounds(T, self.value, self.value)
        smooth = isinstance(moving, SumFunctional) or self.median is not None
        if method == PERCENTILE or not smooth:
            drawn = [moving.of_counts(x) for x in design.draw(self.resamples, self.seed)]
            bounds = percentile_bounds(np.concatenate(drawn), self.level)
            return MethodBounds(PERCENTILE, *bounds, self.resamples)
        assert isinstance(moving, SumFunctional | MedianFunctional)
        influence = moving.inner_influence()
        error, degrees = design.error(influence)
        if math.isnan(error):
            return MethodBounds(T, math.nan, math.nan)
        quantile = t_quantile((1 + self.level) / 2, degrees)
        if self.median is not None:
            alone = standard_error(influence)  # of units that are drawn from all alike
            scale = error / alone if alone else 1.0
            return MethodBounds(WOODRUFF, *moving.outwards(*self.median.woodruff(quantile * scale)))
        if self.share is not None:
            share = float(np.average(self.share, weights=safe_weights(self.chosen.sample)))
            trials = share * (1 - share) / error**2 if error else float(design.units)
            return self._adjusted(WILSON, wilson(share, trials, quantile))
        if self.alike and self.span is not None:
            return self._bounded() or MethodBounds(T, math.nan, math.nan)
        middle = moving.middle()
        bounds = moving.outwards(middle - quantile * error, middle + quantile * error)
        return MethodBounds(T, *bounds)

    def _studentised(self) -> MethodBounds | None:
        moving = self.moving
        if not isinstance(moving, SumFunctional):
            return None
        error = standard_error(moving.inner_influence())
        chunks = draw_resamples(moving.units, self.resamples, self.seed)
        bounds = studentised_bounds(moving.pivots(chunks), moving.middle(), error, self.level)
        return MethodBounds(STUDENTISED, *moving.outwards(*bounds), self.resamples)

    def _bounded(self) -> MethodBounds | None:
        if self.span is None or not isinstance(self.moving, SumFunctional | MedianFunctional):
            return None
        bounds = bounded_bounds(self.moving, self.level, self.resamples, self.seed)
        return MethodBounds(BOUNDED, *self.moving.outwards(*bounds), self.resamples)

    def _wilson(self) -> MethodBounds | None:
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

    def _clopper_pearson(self) -> MethodBounds | None:
        if self.share is None or not self.alone:
            return None
        bounds = clopper_pearson(int(self.share.sum()), len(self.share), self.level)
        return self._adjusted(CLOPPER_PEARSON, bounds)

    def _order(self) -> MethodBounds | None:
        if not self.alone or self.chosen.sample.tied is not None or self.median is None:
            return None
        ranks = np.sort(self.chosen.sample.ranks)
        place = order_of_bounds(len(ranks), self.level)
        bounds = (float(ranks[place - 1]), float(ranks[-place])) if place else self.median.span()
        return None if bounds is None else MethodBounds(ORDER, *self.median.outwards(*bounds))

    def _woodruff(self) -> MethodBounds | None:
        if self.median is None:
            return None
        quantile = t_quantile((1 + self.level) / 2, self.moving.units - 1)
        return MethodBounds(WOODRUFF, *self.median.outwards(*self.median.woodruff(quantile)))

    def _normal(self) -> MethodBounds | None:
        found = self.moving.normal_bounds(self.level)
        if found is None:
            return None
        low, high = found
        if self.span is not None and isinstance(self.moving, SumFunctional):
            least, most = self.moving.outwards(-math.inf, math.inf)
            low, high = max(low, least), min(high, most)
        return MethodBounds(NORMAL, low, high)

    def _resampled(self, method: str) -> MethodBounds:
        """BCa, and percentiles where it is undefined."""
        moving = self.moving
        counts = draw_resamples(moving.units, self.resamples, self.seed)
        replicates = np.concatenate([moving.of_counts(x) for x in counts])
        jackknife = moving.leave_one_out() if method == BCA else None
        if jackknife is not None:
            value = float(moving.of_counts(np.ones((1, moving.units), dtype=np.int64))[0])
            bounds = bca_bounds(replicates, value, jackknife, self.level)
            if bounds is not None:
                return MethodBounds(BCA, *bounds, self.resamples)
        return MethodBounds(PERCENTILE, *percentile_bounds(replicates, self.level), self.resamples)

    def _adjusted(self, method: str, bounds: tuple[float, float]) -> MethodBounds:
        """Bounds of a share, adjusted as the key says."""
        key, sample = self.chosen.key, self.chosen.sample
        if key.adjustment != NO_ADJUSTMENT:
            mean, variance = moments(key.alone, sample.candidates, sample.weights)
            low, high = (adjusted(key, x, mean, variance) for x in bounds)
            return MethodBounds(method, low, high)
        return MethodBounds(method, *bounds)

    def notes(self, found: MethodBounds) -> tuple[str, ...]:
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
