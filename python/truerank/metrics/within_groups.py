"""Metrics of many groups at once: tasks are sorted by group, then summed group by group."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from .adjustments import adjusted, moments
from .averages import arithmetic, values_per_task
from .keys import NO_ADJUSTMENT, Key
from .kinds import Sample, take
from .metric_table import METRICS, Metric, metric_value

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.container import Ranks
    from .metric_table import SingleModel
    from .sides import Sides


class Grouping:
    """Tasks sorted by their group; within a group they keep their order.

    Parameters
    ----------
    tasks : Ranks
        n tasks, with the weights in force.
    codes : ndarray of int64, shape (n,)
        The group of each task: 0 .. g - 1, each of which occurs.
    names : list
        The g labels.
    sides : Sides
        The sides of the tasks.
    sample_kind : callable
        Returns the sample of all tasks, in their own order, for a kind of rank.
    """

    def __init__(
        self,
        tasks: Ranks,
        codes: IntArray,
        names: list[Hashable],
        sides: Sides,
        sample_kind: Callable[[str], Sample],
    ) -> None:
        self.codes, self.names = codes, names
        self._tasks, self._sides, self._sample_kind = tasks, sides, sample_kind
        self._order = np.argsort(codes, kind="stable")
        bounds = np.cumsum(np.bincount(codes, minlength=len(names)))
        self._slices = [slice(*pair) for pair in itertools.pairwise([0, *bounds.tolist()])]
        self._samples: dict[str, Sample] = {}
        self._moments: dict[Key, tuple[FloatArray, FloatArray]] = {}

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Grouping):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.codes, other.codes)

    def ranks(self, group: int) -> Ranks:
        """The tasks of one group."""
        return self._tasks[self._order[self._slices[group]]]

    def sample(self, group: int, kind: str) -> Sample:
        """The sample of one group."""
        return take(self._sorted_sample(kind), self._slices[group])

    def counts(self, side: str) -> IntArray:
        """The number of tasks of a side in each group; int64, shape (g,)."""
        mask = self._sides.mask(side)
        codes = self.codes if mask is None else self.codes[mask]
        return np.bincount(codes, minlength=len(self.names))

    def values(self, key: Key) -> FloatArray:
        """The value of a key in each group, nan where there is none; float64, shape (g,)."""
        mask, codes = self._sides.mask(key.side), self.codes[self._order]
        sample = self._sorted_sample(key.kind)
        if mask is not None:
            index = np.flatnonzero(mask[self._order])
            sample, codes = take(sample, index), codes[index]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        values = np.full(len(self.names), np.nan)
        values[codes[starts]] = key_values_within(key, sample, starts, self._moments)
        return values

    def _sorted_sample(self, kind: str) -> Sample:
        if kind not in self._samples:
            self._samples[kind] = take(self._sample_kind(kind), self._order)
        return self._samples[kind]


def values_within(
    metric: Metric, sample: Sample, starts: IntArray, parameter: float = 0
) -> FloatArray:
    """Compute a metric of every group.

    Parameters
    ----------
    metric : Metric
    sample : Sample
        The tasks sorted by group.
    starts : ndarray of int64, shape (g,)
        Where each group begins: increasing, the first at 0; no group is empty.
    parameter : float
        The cutoff k or the power p, for a metric that has one.

    Returns
    -------
    ndarray of float64, shape (g,)
        nan for a group without a weight above 0.

    Examples
    --------
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 9]))
    >>> values_within(METRICS["mrr"], sample, np.array([0, 2]))
    array([0.625, 0.5  ])
    """
    if metric.mean is arithmetic:
        means = means_within(
            values_per_task(metric.transform, sample, parameter), sample.weights, starts
        )
        return np.array([metric.inverse(mean) for mean in means.tolist()], dtype=np.float64)
    groups = _group_samples(sample, starts)
    return np.array([metric_value(metric, group, parameter) for group in groups], dtype=np.float64)


def key_values_within(
    key: Key,
    sample: Sample,
    starts: IntArray,
    memo: dict[Key, tuple[FloatArray, FloatArray]] | None = None,
) -> FloatArray:
    """Compute the value of a key in every group; `memo` keeps moments under chance for later keys.

    Examples
    --------
    >>> from truerank.metrics import parse
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 3]))
    >>> key_values_within(parse("amri"), sample, np.array([0, 2]))
    array([0.625, 0.   ])
    """
    found = values_within(METRICS[key.metric], sample, starts, key.parameter)
    if key.adjustment == NO_ADJUSTMENT:
        return found
    memo = {} if memo is None else memo
    if key.of_tasks not in memo:
        memo[key.of_tasks] = moments_within(key, sample, starts)
    rows = zip(found.tolist(), *map(np.ndarray.tolist, memo[key.of_tasks]), strict=True)
    return np.array([adjusted(key, *row) for row in rows], dtype=np.float64)


def means_within(values: FloatArray, weights: FloatArray | None, starts: IntArray) -> FloatArray:
    """The arithmetic mean of every group, sum(w v) / sum(w); nan without a weight above 0.

    Examples
    --------
    >>> means_within(np.array([1.0, 4.0, 2.0]), np.array([2.0, 1.0, 0.0]), np.array([0, 2]))
    array([ 2., nan])
    """
    shares = _shares_within(weights, starts, len(values))
    return _group_sums(shares[0] * values, starts) / shares[1]


def moments_per_task(
    single: SingleModel, candidates: IntArray, parameter: float
) -> tuple[FloatArray, FloatArray]:
    """The mean and the variance of f(r) of each task under chance."""
    sizes, inverse = np.unique(candidates, return_inverse=True)
    mean, variance = single(sizes, parameter)
    return mean[inverse], variance[inverse]


def moments_within(key: Key, sample: Sample, starts: IntArray) -> tuple[FloatArray, FloatArray]:
    """The mean and the variance of a metric under chance in every group.

    For a metric that is a mean they are sums over tasks. For other metrics the chance model is
    called once for all groups with the same candidates and weights.

    Examples
    --------
    >>> from truerank.metrics import parse
    >>> sample = Sample(np.array([1.0, 4.0, 2.0]), np.array([9, 9, 5]))
    >>> moments_within(parse("mr"), sample, np.array([0, 2]))[0]
    array([5., 3.])
    """
    single = METRICS[key.metric].single
    if single is not None:
        mean, variance = moments_per_task(single, sample.candidates, key.parameter)
        shares, totals = _shares_within(sample.weights, starts, len(mean))
        spread = _group_sums(variance * np.square(shares), starts)
        return _group_sums(shares * mean, starts) / totals, spread / np.square(totals)
    known: dict[tuple[bytes, ...], tuple[float, float]] = {}
    found = []
    for group in _group_samples(sample, starts):
        weights = group.weights
        same = group.candidates.tobytes(), b"" if weights is None else weights.tobytes()
        if same not in known:
            known[same] = moments(key, group.candidates, weights)
        found.append(known[same])
    mean, variance = np.array(found, dtype=np.float64).reshape(-1, 2).T
    return mean, variance


def _group_samples(sample: Sample, starts: IntArray) -> Iterator[Sample]:
    bounds = itertools.pairwise([*starts.tolist(), len(sample.ranks)])
    return (take(sample, slice(start, stop)) for start, stop in bounds)


def _shares_within(
    weights: FloatArray | None, starts: IntArray, n: int
) -> tuple[FloatArray, FloatArray]:
    """The weights, times a power of two for each group, so that sums are safe; and their sums.

    The sum of a group without a weight above 0 is nan.
    """
    sizes = np.diff(np.append(starts, n))
    if weights is None or not len(starts):
        return np.ones(n), sizes.astype(np.float64)
    _, exponents = np.frexp(np.maximum.reduceat(weights, starts))
    shares: FloatArray = np.ldexp(weights, -np.repeat(exponents, sizes))
    totals = _group_sums(shares, starts)
    return shares, np.where(totals > 0, totals, np.nan)


def _group_sums(values: FloatArray, starts: IntArray) -> FloatArray:
    return np.add.reduceat(values, starts) if len(starts) else np.zeros(0)
