"""What chance gives, and published numbers adjusted for it, without models and ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputValueError
from ..inputs.checks import has_dimensions, integer, is_integer
from ..inputs.checks import number as checked_number
from ..naming import public
from .chance_model import GroupedTasks, group_tasks, task_moments
from .keys import ADJUSTED, Key, check_chance, fail, parse
from .values import Sample, adjusted, values_of_tasks

if TYPE_CHECKING:
    import numpy.typing as npt


@public("truerank")
def chance(
    metric: str,
    candidates: int | npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike],
    weights: npt.ArrayLike | None = None,
) -> tuple[float, float]:
    """Return the mean and variance of a metric where each rank is uniform on 1..N, independently.

    They are computed without simulation. With the normalised weights w of the tasks:

    - mr: sum w (N + 1) / 2 and sum w^2 (N^2 - 1) / 12;
    - mrr: sum w H_N / N and sum w^2 (H_N^(2) / N - (H_N / N)^2), harmonic numbers of order 1, 2;
    - hits@k: sum w p and sum w^2 p (1 - p), with p = min(k / N, 1);
    - any other mean of f(r), as ndcg@k: sum w E f and sum w^2 Var f, by sums of f over the ranks;
    - gmr, igmr: products over the tasks of the moments of r^w and r^-w.

    The literature prints the variance of the mean rank with 1/n for 1/n^2, and a continuous
    approximation of H_N / N. Metrics that are neither means nor products (hmr, imr, medians, power
    means) are refused: docs/chance.md draws them.

    Parameters
    ----------
    metric : str
        A key without side, kind and adjustment: "mrr", "hits@10", "gmr".
    candidates : array_like of int, shape (n,), a pair (values, multiplicities), or int
        The number of candidates of every task, the true one included, each >= 1; or the distinct
        numbers and how many tasks have each. A tuple of two sequences is such a pair. An int is the
        number of candidates of one task.
    weights : array_like of float, shape of candidates or values, optional
        The weights of the tasks: finite, >= 0, not all 0. Only their ratios matter.

    Returns
    -------
    mean, variance : float
        (nan, nan) without tasks. Exactly (1, 0) where every N is 1, and for hits@k with k >= N.

    Raises
    ------
    KeyError
        For an unknown metric, one whose mean and variance under chance are not both computed, and
        for a key with side, kind or adjustment.
    TypeError, ValueError
        For invalid candidates or weights, and where more than 2**31 ranks would be added up: for
        ndcg@k those up to k, for gmr and igmr those of tasks with at most 1 % of the weight.

    Notes
    -----
    The cost grows with the number of distinct N, not with the number of tasks. Ties do not matter:
    the model has none.

    Examples
    --------
    >>> chance("mr", [3, 3])
    (2.0, 0.3333333333333333)
    >>> round(chance("mrr", 40943)[0], 9)
    0.000273482
    >>> mean, variance = chance("hits@1", ([10, 20], [100, 100]))
    >>> round(mean, 12), round(variance, 12)
    (0.075, 0.00034375)
    """
    key = _parse_alone(metric)
    return task_moments(key.row, key.parameter, read_tasks(candidates, weights))


def read_tasks(candidates: Any, weights: Any = None) -> GroupedTasks:
    """Group equal tasks; those of one call have a weight above 0, or there are none."""
    if is_integer(candidates):  # A single number is that of one task.
        candidates = [candidates]
    tasks = group_tasks(candidates, weights)
    if weights is not None and not tasks.count and np.size(weights):
        expected = "at least one task with a weight above 0"
        raise InputValueError("weights", expected=expected, got="none")
    return tasks


@public("truerank.metrics")
@dataclass(frozen=True)
class Adjusted:
    """A published number with its value under chance and its adjustments; `str` gives one line.

    Attributes
    ----------
    metric : str
        A key such as "mr", "mrr", "hits@10", as it was asked for.
    value : float
        The number as published.
    expectation, variance : float
        The mean and the variance of the metric under chance: every rank uniform on 1..N, tasks
        independent.
    ratio : float
        value / expectation: 1 is chance.
    index : float
        (value - expectation) / (optimum - expectation): 1 is perfect, 0 is chance.
    z : float
        (value - expectation) / standard deviation, with the sign of the formula: below 0 is better
        where less is better.
    tasks : int
        The number of ranks that the value is a mean of.

    Notes
    -----
    Tasks that share queries are not independent, as the model assumes.

    Examples
    --------
    >>> print(adjust("mr", 7000, candidates=40943, tasks=6268))
    mr 7000 over 6,268 tasks; chance 20472 +- 149.288: ratio 0.341930, index 0.658102, z -90.2418
    """

    metric: str
    value: float
    expectation: float
    variance: float
    ratio: float
    index: float
    z: float
    tasks: int

    def __str__(self) -> str:
        return (
            f"{self.metric} {self.value:g} over {self.tasks:,} tasks; chance "
            f"{self.expectation:g} +- {math.sqrt(self.variance):g}: ratio {self.ratio:#.6g}, "
            f"index {self.index:#.6g}, z {self.z:g}"
        )


@public("truerank")
def adjust(
    metric: str,
    value: float,
    *,
    candidates: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike],
    tasks: int | None = None,
    weights: npt.ArrayLike | None = None,
) -> Adjusted:
    """Adjust a published number for chance, without the model or its ranks.

    It needs only the number of candidates of each task: for a filtered ranking,
    `task.evaluate(...).ranks.candidates`.

    Parameters
    ----------
    metric : str
        A key without side, kind and adjustment: "mr", "mrr", "hits@10", "gmr".
    value : float
        The published number, not as a percentage.
    candidates : int, array_like of int of shape (n,), or a tuple of two such arrays
        One number for all tasks; or one for every task; or `(values, multiplicities)`: the distinct
        numbers of candidates and how many tasks have each.
    tasks : int, optional
        How many tasks there are, where `candidates` is one number. A test triple whose head and
        tail are both predicted makes two tasks.
    weights : array_like of float, shape (n,), optional
        The weight of every task in the published mean; for `(values, multiplicities)`, that of each
        task with the value.

    Returns
    -------
    Adjusted
        The index is nan where chance is perfect: all tasks have one candidate, or at most k for
        hits@k. z is nan where the variance under chance is 0.

    Raises
    ------
    KeyError
        For an unknown metric (the message lists the most similar ones), and for one whose mean and
        variance under chance are not both computed.
    TypeError
        If the value is not a number, or candidates or tasks are not integers.
    ValueError
        If the metric cannot have the value (an MRR of 31.6 is a percentage), and if tasks are
        missing or too many.

    Examples
    --------
    >>> round(adjust("mr", 7000, candidates=40943, tasks=6268).index, 4)
    0.6581
    >>> adjust("hits@10", 1.0, candidates=[8, 9, 10], weights=[1, 1, 2]).index
    nan
    """
    if parse(metric).adjustment in ADJUSTED:
        fail(metric, f"{metric} is adjusted already")
    key = _parse_alone(metric)
    number = checked_number("value", value)
    candidates_of_tasks: Any = candidates
    if not has_dimensions(candidates):  # It is one number for all tasks.
        if tasks is None:
            expected = "how many there are, as candidates is one number for all of them (a triple "
            expected += "whose head and tail are both predicted makes two)"
            raise InputValueError("tasks", expected=expected)
        tasks = integer("tasks", tasks, least=1, most=(1 << 63) - 1)
        candidates_of_tasks = [candidates], [tasks]
        if weights is not None:  # Each has a weight of its own.
            candidates_of_tasks = np.full(tasks, candidates)
    count = group_tasks(candidates_of_tasks).count  # with those of weight 0
    if tasks is not None and integer("tasks", tasks) != count:
        expected = f"{count}, as candidates has so many tasks"
        raise InputValueError("tasks", expected=expected, got=tasks)
    if not count:
        raise InputValueError("candidates", expected="at least one task", got="none")
    grouped = read_tasks(candidates_of_tasks, weights)
    expectation, variance = task_moments(key.row, key.parameter, grouped)
    _check_range(key, number, grouped)
    adjustments = {}
    for name in ADJUSTED:  # Each is a field.
        adjusted_key = replace(key, adjustment=name)
        adjustments[name] = adjusted(adjusted_key, number, expectation, variance)
    return Adjusted(metric, number, expectation, variance, tasks=count, **adjustments)


def _check_range(key: Key, number: float, tasks: GroupedTasks) -> None:
    """Refuse a number that the metric cannot have: one beyond its best or its worst value."""
    metric = key.row
    if not math.isfinite(number):
        raise InputValueError("value", expected="a finite number", got=number)
    # Equal weights are whole numbers when they are divided by one of them: their sums are exact.
    weights = tasks.multiplicities * (tasks.weights / tasks.weights[0])
    last_ranks = Sample(tasks.sizes.astype(np.float64), tasks.sizes)
    worst_values = values_of_tasks(metric, last_ranks, key.parameter)
    worst = metric.inverse(metric.average(worst_values, weights, key.parameter))
    low, high = sorted((metric.optimum, worst))
    slack = 1e-9 * high  # It leaves room for the rounding of sums.
    if not low - slack <= number <= high + slack:
        is_percentage = metric.increasing and high == 1.0 and 1.0 < number <= 100.0
        is_rank_from_zero = not metric.increasing and low == 1.0 and number < 1.0
        hint = ""
        if is_percentage:
            hint = f"; as a percentage it is {number / 100:g}"
        elif is_rank_from_zero:
            hint = "; ranks start at 1 here"
        bounds = f"from {low:g} to {high:g}"
        raise InputValueError("value", expected=f"{key} {bounds}", got=f"{number:g}{hint}")


def _parse_alone(metric: str) -> Key:
    """Read a key that is a metric and its parameter alone, whose chance is known."""
    key = parse(metric)
    if key != key.alone:
        fail(metric, "expected metric[@k][:p] without a side, a kind and an adjustment")
    check_chance(key)
    return key
