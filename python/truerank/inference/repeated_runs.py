"""Several runs of a model, such as training seeds or folds: what chance adds over runs and units.

The runs of one model over the same tasks are crossed with the units: what makes a unit hard for one
run makes it hard for all. Folds have tasks of their own, and are nested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..inputs.checks import choice, confidence, integer_at_least, resample_count
from ..inputs.errors import InputValueError
from ..metrics.keys import Key, parse
from .distributions import t_cdf, t_quantile
from .intervals import Interval
from .paired_models.paired_tests import error_rate
from .paired_models.paired_units import PairedUnits, extreme_values, task_values
from .paired_models.pairing import BY_POSITION, BY_POSITION_ONLY, describe_pairing, have_same_tasks
from .samples import cautions
from .samples.functionals import SumFunctional, carriers
from .samples.resampling import draw_resamples, rounding_slack
from .samples.units import AUTO, Units, mean_functional, units_of

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.labels import LabelsLike
    from .samples.functionals import Functional

TWO_LEVEL = "two-level t"
CROSSED, NESTED = "crossed", "nested"
DESIGNS = (AUTO, CROSSED, NESTED)


class TwoLevelTest(NamedTuple):
    """A t test of every shift, whose error is that of runs and of units.

    Attributes
    ----------
    estimate, error : float
    degrees : float
        The degrees of freedom.
    basis : str
    floor : float
        0: no p-value is too small.
    """

    estimate: float
    error: float
    degrees: float
    basis: str = TWO_LEVEL
    floor: float = 0.0

    def p_value(self, shift: float = 0.0) -> float:
        """The two-sided p-value of the difference `shift`; nan where nothing varies."""
        away = abs(self.estimate - shift)
        if away <= rounding_slack(shift):
            return 1.0
        return 2 * t_cdf(-away / self.error, self.degrees) if self.error > 0 else math.nan

    def one_sided(self, shift: float, *, above: bool) -> float:
        """The p-value of a difference of at most `shift` (`above`), or of at least `shift`."""
        half = self.p_value(shift) / 2
        return half if (self.estimate > shift) == above else 1 - half

    def interval(self, level: float) -> tuple[float, float]:
        """The shifts whose p-value exceeds 1 - level, as their two ends."""
        if math.isnan(self.error) or self.error == 0:
            return self.estimate, self.estimate
        reach = t_quantile(1 - error_rate(level) / 2, self.degrees) * self.error
        return self.estimate - reach, self.estimate + reach


def crossed_test(models: Sequence[Sequence[Functional]], resamples: int, seed: int) -> TwoLevelTest:
    """Test the mean over the runs of one model, or the difference of such means of two models.

    With the variance s^2 of the values of k runs, the squared error is the sum of s^2 / k over the
    models, plus the variance over units of the mean over runs, minus the part of it that is in both
    (what units and runs do together), and at least either of them. The degrees of freedom are those
    of Welch and Satterthwaite.

    Parameters
    ----------
    models : sequence of one or two sequences of Functional
        The metric of each run of each model, at least two runs of each, over the same units.
    resamples, seed : int
        For the variance over units of metrics that are no functions of sums over units.

    Notes
    -----
    With effects of runs, tasks, and both, it rejects 3 to 6 % at the level 5 % for 5 or more runs
    of each model, 1.5 to 6 % for 2 or 3 runs of each, and up to 8 % for 2 runs against 10. Runs
    alone (Welch's test) reject up to 28 % there, and units alone up to 36 %.

    F. E. Satterthwaite: An Approximate Distribution of Estimates of Variance Components.
    Biometrics Bulletin 2 (1946). A. C. Cameron, J. B. Gelbach, D. L. Miller: Robust Inference With
    Multiway Clustering. Journal of Business & Economic Statistics 29 (2011).
    """
    runs = [run for model in models for run in model]
    units = runs[0].units
    once = np.ones((1, units), dtype=np.int64)
    values = [np.array([float(run.of_counts(once)[0]) for run in model]) for model in models]
    contrast = np.concatenate(
        [np.full(len(v), sign / len(v)) for v, sign in zip(values, (1, -1), strict=False)]
    )
    estimate = float(contrast @ np.concatenate(values))
    if units < 2:
        return TwoLevelTest(estimate, math.nan, math.nan)
    covariance = _unit_covariance(runs, resamples, seed)
    of_units = float(contrast @ covariance @ contrast)
    of_runs = [float(v.var(ddof=1)) / len(v) for v in values]
    shared, start = 0.0, 0
    for v in values:
        k = len(v)
        own = covariance[start : start + k, start : start + k]
        each = float(np.trace(own))
        shared += (each / k - (float(own.sum()) - each) / (k * (k - 1))) / k
        start += k
    total = max(sum(of_runs) + of_units - shared, sum(of_runs), of_units)
    freedom = of_units**2 / (units - 1)
    freedom += sum(x * x / (len(v) - 1) for x, v in zip(of_runs, values, strict=True))
    return TwoLevelTest(
        estimate, math.sqrt(total), total * total / freedom if freedom > 0 else math.inf
    )


def nested_test(values: Sequence[float], errors: Sequence[float]) -> TwoLevelTest:
    """Test the mean over folds, each of which has tasks of its own.

    Parameters
    ----------
    values : sequence of float
        The value, or the difference, in each fold; at least two.
    errors : sequence of float
        The standard error over the units of each fold. The error of the mean is at least what these
        make of it, with as many degrees of freedom as there are folds, less one.
    """
    v = np.array(values, dtype=np.float64)
    k = len(v)
    of_folds, of_units = float(v.var(ddof=1)) / k, float(np.square(errors).sum()) / k**2
    larger = of_folds if math.isnan(of_units) else max(of_folds, of_units)
    return TwoLevelTest(float(v.mean()), math.sqrt(larger), k - 1)


def interval_over_runs(
    runs: Sequence[Ranks],
    key: str | Key = "mrr",
    *,
    level: float = 0.95,
    by: LabelsLike | None = AUTO,
    design: str = AUTO,
    resamples: int = 2_000,
    seed: int = 0,
    draw_seeds: Sequence[int] = (),
) -> Interval:
    """Compute the interval of the mean of a metric over runs: over other runs and other tasks.

    Parameters
    ----------
    runs : sequence of Ranks
        At least two.
    key : str or Key
    level, by
        As in `interval`.
    design : {"auto", "crossed", "nested"}
        "crossed": all runs have the same tasks (training seeds). "nested": each has its own
        (folds). "auto": nested if the numbers, candidates, sides or ids of the tasks differ.
    resamples, seed : int
        For the variance over units of metrics that are no functions of sums over units.
    draw_seeds : sequence of int
        The seed of the kind "random" of each run.

    Raises
    ------
    ValueError
        For fewer than two runs, and for crossed runs of unlike tasks.

    Examples
    --------
    >>> from truerank import Ranks
    >>> runs = [Ranks([0, 3, x], [1, 1, 1], 10) for x in (1, 2, 4)]
    >>> found = interval_over_runs(runs, "mr")
    >>> found.method, found.units, round(found.value, 4)
    ('two-level t over 3 crossed runs', 3, 2.7778)
    """
    level, seed = confidence(level), integer_at_least("seed", seed)
    resamples = resample_count(resamples)
    parsed = key if isinstance(key, Key) else parse(key)
    choice("design", design, DESIGNS)
    if len(runs) < 2:
        raise InputValueError("runs", expected="at least two", got=len(runs))
    same = all(have_same_tasks(runs[0], run) for run in runs[1:])
    if design == CROSSED and not same:
        raise InputValueError("design", "the runs have unlike tasks, so that they are not crossed")
    crossed = same if design == AUTO else design == CROSSED
    seeds = draw_seeds or [0] * len(runs)
    units = [units_of(x, parsed, by=by, draw_seed=s) for x, s in zip(runs, seeds, strict=True)]
    first = units[0]
    notes: cautions.Notes = ()
    if crossed:
        codes = np.full(len(runs[0]), -1)
        codes[first.tasks] = first.unit
        others = zip(runs[1:], seeds[1:], strict=True)
        units[1:] = [units_of(x, parsed, by=codes, draw_seed=s) for x, s in others]
        if design == AUTO and any(describe_pairing(runs[0], x) == BY_POSITION for x in runs[1:]):
            notes = (BY_POSITION_ONLY,)
        functionals = _functionals(units)
        number = functionals[0][0].units
    else:
        number = sum(x.number for x in units)
        notes = cautions.folds(len(runs))
    notes += cautions.few_runs({"one model": len(runs)})
    value = _mean([x.value() for x in units])
    low = high = math.nan
    if number > 1 and not math.isnan(value):
        if crossed:
            test = crossed_test(functionals, resamples, seed)
        else:
            errors = [unit_error(x.functional(), None, resamples, seed) for x in units]
            test = nested_test([x.value() for x in units], errors)
        least, most = extreme_values(first)
        low, high = test.interval(level)
        low, high = max(low, least), min(high, most)
        notes += cautions.few_units(number, first.by, "the interval is approximate")
        notes += cautions.clusters(number, first.by, first.largest, len(first.unit))
    which = CROSSED if crossed else NESTED
    method = f"{TWO_LEVEL} over {len(runs)} {which} runs"
    about = str(parsed), first.by, max(x.largest for x in units), notes
    return Interval(low, value, high, level, method, 0, number, seed, *about)


def unit_error(first: Functional, second: Functional | None, resamples: int, seed: int) -> float:
    """The standard error over units of a metric, or of the difference of two."""
    if first.units < 2:
        return math.nan
    covariance = _unit_covariance([first] if second is None else [first, second], resamples, seed)
    contrast = np.array([1.0, -1.0])[: len(covariance)]
    return math.sqrt(max(0.0, float(contrast @ covariance @ contrast)))


def _unit_covariance(runs: Sequence[Functional], resamples: int, seed: int) -> FloatArray:
    """The covariance of the values of runs over the units that they share."""
    units = runs[0].units
    if all(isinstance(run, SumFunctional) for run in runs):
        moved = np.array([run.influence() for run in runs if isinstance(run, SumFunctional)])
        moved -= moved.mean(axis=1, keepdims=True)
        return np.asarray(moved @ moved.T * (units / (units - 1)))
    chunks = draw_resamples(units, resamples, seed)
    drawn = np.concatenate([[run.of_counts(counts) for run in runs] for counts in chunks], axis=1)
    known = drawn[:, ~np.isnan(drawn).any(axis=0)]
    return np.atleast_2d(np.cov(known))


class PairedRuns:
    """The runs of two models, all over the same tasks in the same units; see `PairedUnits`."""

    def __init__(self, first: Sequence[Units], second: Sequence[Units]) -> None:
        self.first, self.second = first, second
        self.one, self.two = first[0], second[0]
        self.by, self.largest = self.one.by, self.one.largest
        self.value_a, self.value_b = (_mean([x.value() for x in runs]) for runs in (first, second))
        self.difference = self.value_a - self.value_b
        self.slack = rounding_slack(self.difference) + rounding_slack(self.value_a)
        self.functionals = _functionals(first, second)
        self.units = self.functionals[0][0].units
        self.runs = len(first), len(second)
        self._pair = PairedUnits(self.one, self.two)

    def test(self, resamples: int, seed: int) -> TwoLevelTest:
        """Test every shift."""
        return crossed_test(self.functionals, resamples, seed)

    def reach(self) -> float:
        """The largest difference that the metric can have over these tasks."""
        return self._pair.reach()

    def carriers(self) -> float:
        """How many units carry the variance over units; nan where this is not known."""
        moved = np.zeros(self.units)
        for runs, sign in zip(self.functionals, (1, -1), strict=True):
            for run in runs:
                if not isinstance(run, SumFunctional):
                    return math.nan
                moved += sign * run.influence() / len(runs)
        return carriers(moved) if np.abs(moved).max(initial=0.0) > self.slack else math.nan

    def same_ranks(self) -> bool:
        """Whether all runs have the same rank in every task."""
        return all(PairedUnits(self.one, x).same_ranks() for x in (*self.first, *self.second))

    def task_values(self) -> tuple[FloatArray, FloatArray]:
        """The mean over runs of f(r) of each task, for both models."""
        return _task_means(self.first), _task_means(self.second)


class PairedFolds:
    """Two models over the same folds, each of which has tasks of its own; see `PairedUnits`."""

    def __init__(self, pairs: Sequence[PairedUnits]) -> None:
        self.pairs = pairs
        self.one = pairs[0].one
        self.by, self.largest = self.one.by, self.one.largest
        self.value_a, self.value_b = (
            _mean([getattr(x, name) for x in pairs]) for name in ("value_a", "value_b")
        )
        self.difference = self.value_a - self.value_b
        self.slack = rounding_slack(self.difference) + rounding_slack(self.value_a)
        self.units = sum(x.units for x in pairs)
        self.runs = len(pairs), len(pairs)

    def test(self, resamples: int, seed: int) -> TwoLevelTest:
        """Test every shift."""
        errors = [unit_error(x.first, x.second, resamples, seed) for x in self.pairs]
        return nested_test([x.difference for x in self.pairs], errors)

    def reach(self) -> float:
        """The largest difference that the metric can have over these tasks."""
        return _mean([x.reach() for x in self.pairs])

    def carriers(self) -> float:
        """Not known: the error is that of the folds."""
        return math.nan

    def same_ranks(self) -> bool:
        """Whether both models have the same rank in every task."""
        return all(x.same_ranks() for x in self.pairs)

    def task_values(self) -> tuple[FloatArray, FloatArray]:
        """f(r) of each task of each fold, for both models."""
        first, second = (
            np.concatenate([task_values(getattr(x, name)) for x in self.pairs])
            for name in ("one", "two")
        )
        return first, second


def _functionals(*models: Sequence[Units]) -> list[list[Functional]]:
    """The metric of each run; for a macro average, over the groups in which all have a value."""
    if not models[0][0].key.macro:
        return [[run.functional() for run in runs] for runs in models]
    within = [np.stack([run.values_within() for run in runs]) for runs in models]
    known = ~np.isnan(np.concatenate(within)).any(axis=0)
    return [[mean_functional(row[known]) for row in rows] for rows in within]


def _task_means(runs: Sequence[Units]) -> FloatArray:
    # rounded, so that equal means of differently ordered runs are equal
    means = np.mean([task_values(run) for run in runs], axis=0)
    scale = float(np.abs(means).max(initial=0.0)) or 1.0
    return np.asarray(np.round(means / scale, 13) * scale)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
