"""Shares of tasks by rank: what a report says of many cut-offs at once, and what chance does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..inputs.errors import InputValueError
from ..metrics import Sample
from ..metrics.averages import arithmetic, rescale_weights
from ..metrics.chance_model import Tasks, compress, hits
from ..metrics.ties import HIT

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..reporting.reports import Report


def check_has_ranks(argument: str, name: str, report: Report) -> Report:
    """Check that a report has ranks.

    Raises
    ------
    ValueError
        For one that was read from JSON.

    Examples
    --------
    >>> from truerank import Ranks, Report, report
    >>> stored = Report.from_json(report(Ranks([0], [1], 10)).to_json())
    >>> check_has_ranks("reports", "A", stored)
    Traceback (most recent call last):
    truerank.InputValueError: reports: expected Reports with ranks, got one without for 'A': this report was read from JSON, which holds no ranks; ranks.save(path) keeps the ranks
    """  # noqa: E501
    try:
        _ = report.ranks
    except AttributeError as error:
        whose = f" for {name!r}" if name else ""
        raise InputValueError(
            argument, expected="Reports with ranks", got=f"one without{whose}: {error}"
        ) from None
    return report


def sample_of(report: Report, side: str | None, kind: str) -> Sample:
    """Give the ranks of one side and kind; of None those of the first side, "both" if it has tasks.

    Raises
    ------
    KeyError
        For a side that there is not.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> sample_of(report(Ranks([0, 3], [1, 2], 10)), None, "pessimistic").ranks
    array([1., 5.])
    """
    side = report.sides[0] if side is None else side
    report.tasks(side)  # a KeyError for one that there is not
    return report._sample(side, kind)


def shares(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Give the share of tasks with a rank above the cut-off before and up to this one.

    Parameters
    ----------
    sample : Sample
        n tasks, by their weights.
    cutoffs : ndarray of int64, shape (m,)
        Ascending.

    Returns
    -------
    ndarray of float64, shape (m,)
        nan where no task has a weight. The sum of the first ones is hits@k.

    Examples
    --------
    >>> shares(Sample(np.array([1.0, 4.5]), np.array([9, 9])), np.array([1, 3, 7]))
    array([0.5, 0. , 0.5])
    """
    if sample.tied is not None:  # each position of a tie has its part
        return np.diff(hits_at(sample, cutoffs), prepend=0.0)
    tasks = np.searchsorted(cutoffs.astype(np.float64), sample.ranks)
    return _interval_shares(tasks, sample.weights, len(cutoffs))


def hits_at(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Give hits@k for all cut-offs k at once; float64, shape (m,). Parameters as of `shares`.

    Examples
    --------
    >>> hits_at(Sample(np.array([1.0, 4.0]), np.array([9, 9])), np.array([1, 3, 4]))
    array([0.5, 0.5, 1. ])
    """
    if sample.tied is not None:
        return np.array([arithmetic(HIT, sample, k) for k in cutoffs.tolist()])
    tasks = np.searchsorted(cutoffs.astype(np.float64), sample.ranks)
    if sample.weights is None:  # whole numbers first: the very number that a report has
        counts = np.bincount(tasks, minlength=len(cutoffs))[: len(cutoffs)]
        return np.cumsum(counts) / (len(tasks) or np.nan)
    return np.cumsum(_interval_shares(tasks, sample.weights, len(cutoffs)))


def bounds_of_shares(
    best: Sample, worst: Sample, cutoffs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Give the least and the greatest share of each interval, however ties are broken.

    The least: tasks whose tie lies within it. The greatest: tasks whose tie reaches into it.

    Parameters
    ----------
    best, worst : Sample
        Optimistic and pessimistic ranks of the same tasks.
    cutoffs : ndarray of int64, shape (m,)

    Returns
    -------
    least, greatest : ndarray of float64, shape (m,)

    Examples
    --------
    >>> best, worst = (Sample(np.array([r]), np.array([9])) for r in (2.0, 4.0))
    >>> bounds_of_shares(best, worst, np.array([1, 3, 7]))
    (array([0., 0., 0.]), array([0., 1., 1.]))
    """
    first, last = (np.searchsorted(cutoffs.astype(np.float64), x.ranks) for x in (best, worst))
    m, weights = len(cutoffs), best.weights
    within = np.where(first == last, first, m)  # m: in none of them
    begun, ended = (np.cumsum(_interval_shares(tasks, weights, m)) for tasks in (first, last))
    greatest = begun - np.concatenate([[0.0], ended[:-1]])
    return _interval_shares(within, weights, m), np.clip(greatest, 0.0, 1.0)


def chance_hits(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Give hits@k under chance for all cut-offs; float64, shape (m,).

    Examples
    --------
    >>> chance_hits(Sample(np.array([1.0, 4.0]), np.array([5, 10])), np.array([1, 5]))
    array([0.15, 0.75])
    """
    tasks = _tasks_by_size(sample)
    return np.array([hits(tasks, k)[0] for k in cutoffs.tolist()])


def _tasks_by_size(sample: Sample) -> Tasks:
    """The tasks by their number of candidates alone: a mean asks only for the weight of each."""
    if sample.weights is None:
        return compress(sample.candidates)
    sizes, place, counts = np.unique(sample.candidates, return_inverse=True, return_counts=True)
    mass = np.bincount(place, weights=rescale_weights(sample.weights), minlength=len(sizes))
    return compress((sizes, counts), mass / counts)


def _interval_shares(tasks: IntArray, weights: FloatArray | None, m: int) -> FloatArray:
    """The share of the tasks that are in each of m intervals; m itself is none."""
    mass = None if weights is None else rescale_weights(weights)
    total = len(tasks) if mass is None else mass.sum()
    held: FloatArray = np.bincount(tasks, weights=mass, minlength=m + 1)[:m] / (total or np.nan)
    return held
