"""Two models over the same tasks, in the units that they share: what a test of them needs."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...inputs.errors import InputValueError
from ...metrics.averages import arithmetic, values_per_task
from ...metrics.metric_table import METRICS, Metric
from ..samples.functionals import SumFunctional, carriers, standard_error
from ..samples.resampling import rounding_slack
from ..samples.units import TASK, Units, mean_functional, units_of
from .paired_tests import bootstrap_test, swap_p_value, swap_test

if TYPE_CHECKING:
    from ...inputs.arrays import FloatArray
    from ...metrics.keys import Key
    from ...ranks.container import Ranks
    from ...ranks.labels import LabelsLike
    from ..samples.functionals import Functional
    from .paired_tests import DifferenceTest


class PairedUnits:
    """The units of two models, which have the same tasks in the same units.

    Attributes
    ----------
    one, two : Units
    value_a, value_b, difference : float
    first, second, both : Functional
        The metric of each model, and of the units of the first followed by those of the second. For
        a macro average the units are the groups in which both models have a value.
    units : int
    kept : ndarray of int64, shape (units,)
        The units that have a value, among those of `one`.
    slack : float
        Differences that differ by less are equal but for rounding.
    """

    runs = (1, 1)

    def __init__(self, one: Units, two: Units) -> None:
        self.one, self.two = one, two
        self.value_a, self.value_b = one.value(), two.value()
        self.difference = self.value_a - self.value_b
        self.slack = rounding_slack(self.difference) + rounding_slack(self.value_a)
        if one.key.macro:
            within = np.stack([one.values_within(), two.values_within()])
            (self.kept,) = np.nonzero(~np.isnan(within).any(axis=0))
            self._within = within[:, self.kept]
        else:
            self.kept = np.arange(one.number)
            self._within = np.empty((2, 0))

    @cached_property
    def first(self) -> Functional:
        """The metric of the first model."""
        return mean_functional(self._within[0]) if self._of_groups else self.one.functional()

    @cached_property
    def second(self) -> Functional:
        """The metric of the second model."""
        return mean_functional(self._within[1]) if self._of_groups else self.two.functional()

    @cached_property
    def both(self) -> Functional:
        """The metric of the units of both models."""
        if self._of_groups:
            return mean_functional(self._within.ravel())
        return self.one.joint_functional(self.two)

    @property
    def units(self) -> int:
        """The number of units that have a value."""
        return self.first.units

    @property
    def by(self) -> str:
        """What a unit is, in the singular."""
        return self.one.by

    @property
    def largest(self) -> int:
        """The number of tasks in the largest unit."""
        return self.one.largest

    @cached_property
    def linear(self) -> tuple[FloatArray, FloatArray] | None:
        """What each unit adds to the difference, and its share; see `linear_difference`."""
        return self.both.linear_difference() if isinstance(self.both, SumFunctional) else None

    def test(self, resamples: int, seed: int, *, bootstrap: bool = False) -> DifferenceTest:
        """Test every shift: by swaps where the difference is a sum over units, else by resampling.

        Parameters
        ----------
        resamples, seed : int
        bootstrap : bool
            Whether to resample in any case.
        """
        if self.linear is not None and not bootstrap:
            gained, shares = self.linear
            slack = self.slack if len(gained) > 1 else 0.0
            return swap_test(gained, shares, resamples, seed, slack)
        return bootstrap_test(self.first, self.second, resamples, seed, self.slack)

    def swap_p_value(self, resamples: int, seed: int) -> float:
        """The p-value of the swap test for any metric."""
        return swap_p_value(self.both, resamples, seed, self.slack)

    def carriers(self) -> float:
        """How many units carry the variance of the difference; nan where this is not known."""
        if self.linear is not None:
            gained, shares = self.linear
            moved = gained - gained.sum() * shares
        elif isinstance(self.first, SumFunctional) and isinstance(self.second, SumFunctional):
            moved = self.first.influence() - self.second.influence()
        else:
            return math.nan
        largest = float(np.abs(moved).max(initial=0.0))
        if not largest > self.slack:
            return math.nan
        return carriers(moved)

    def relative_error(self) -> float:
        """The standard error of either metric relative to its value, the larger of both.

        It is 0 where the difference is a sum over units, which no large error curves.
        """
        models = [(self.first, self.value_a), (self.second, self.value_b)]
        if self.linear is not None:
            return 0.0
        return max(
            standard_error(model.influence()) / abs(value)
            if isinstance(model, SumFunctional) and value
            else 0.0
            for model, value in models
        )

    def reach(self) -> float:
        """The largest difference that the metric can have over these tasks; inf if not bounded."""
        least, most = extreme_values(self.one)
        return most - least

    def same_ranks(self) -> bool:
        """Whether both models have the same rank in every task."""
        one, two = self.one.sample, self.two.sample
        tied = [np.ones(1) if x.tied is None else x.tied for x in (one, two)]
        return bool((one.ranks == two.ranks).all() and (tied[0] == tied[1]).all())

    def task_values(self) -> tuple[FloatArray, FloatArray]:
        """f(r) of each task, for both models."""
        return task_values(self.one), task_values(self.two)

    def unit_differences(self, method: str) -> tuple[FloatArray, float]:
        """The difference of f(r) in each unit, and how much equal ones may differ by rounding.

        The difference of a group is the weighted mean over its tasks.

        Parameters
        ----------
        method : str
            What the error calls the method that needs them, if single tasks have unequal weights.
        """
        if self.one.key.macro:
            first, second = self._within
            apart = first - second
        else:
            first, second = task_values(self.one), task_values(self.two)
            weights = self.one.sample.weights
            if weights is None or (weights == weights[0]).all():
                weights = np.ones(len(first))
            elif self.one.number == len(first):
                problem = (
                    f"{method} has no meaning with unequal weights of tasks; take 'permutation'"
                )
                raise InputValueError("method", problem)
            columns = (weights * (first - second), weights)
            number = self.one.number
            sums = [np.bincount(self.one.unit, weights=x, minlength=number) for x in columns]
            apart = sums[0] / sums[1]
        scale = float(np.abs(first).max(initial=0.0) + np.abs(second).max(initial=0.0))
        return apart, 8 * float(np.finfo(np.float64).eps) * scale

    @property
    def _of_groups(self) -> bool:
        return self.one.key.macro or not self.one.number


def units_of_pair(
    a: Ranks, b: Ranks, key: Key, *, by: LabelsLike | None, draw_seed: int
) -> tuple[Units, Units]:
    """Gather the tasks of two models, which are the same, in the units of the first."""
    one = units_of(a, key, by=by, draw_seed=draw_seed)
    codes = None
    if one.by != TASK:
        codes = np.full(len(a), -1)
        codes[one.tasks] = one.unit
    return one, units_of(b, key, by=codes, draw_seed=draw_seed)


def extreme_values(units: Units) -> tuple[float, float]:
    """The least and the largest value that a metric can have over these tasks; infinite if unknown.

    The best value is that of ranks of 1, the worst that of ranks as large as the candidates.
    """
    if METRICS[units.key.metric].increasing is None:
        return -math.inf, math.inf
    sample = units.sample
    ends = [
        units._replace(sample=sample._replace(ranks=ranks, tied=None)).value()
        for ranks in (np.ones(len(sample.ranks)), sample.candidates.astype(np.float64))
    ]
    return min(ends), max(ends)


def task_values(units: Units) -> FloatArray:
    """f(r) of each task where the metric is a mean of it, else the (mean) rank of each task."""
    metric, parameter = metric_of_tasks(units.key)
    return values_per_task(metric.transform, units.sample, parameter)


def is_mean(key: Key) -> bool:
    """Whether the metric is a mean of f(r) over tasks."""
    return METRICS[key.metric].mean is arithmetic


def metric_of_tasks(key: Key) -> tuple[Metric, float]:
    """The metric whose f(r) compares tasks: the mean rank where the key's metric is not a mean."""
    return (METRICS[key.metric], key.parameter) if is_mean(key) else (METRICS["mr"], 0.0)


def count_wins(key: Key, first: FloatArray, second: FloatArray) -> tuple[int, int, int]:
    """Count the tasks in which a is better, as good and worse by f(r), which is best at rank 1."""
    metric, parameter = metric_of_tasks(key)
    ends, most = np.array([1.0, 2.0**63]), np.full(2, 2**63 - 1)
    top, far = metric.transform.of_ranks(ends, most, parameter).tolist()
    gained = first - second if top > far else second - first
    wins, losses = int((gained > 0).sum()), int((gained < 0).sum())
    return wins, len(gained) - wins - losses, losses
