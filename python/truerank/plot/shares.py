"""Shares of tasks by rank, for many cutoffs at once, in a report and under chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..metrics.averages import arithmetic, rescale_weights
from ..metrics.chance_model import Tasks, compress, hits
from ..metrics.kinds import Sample
from ..metrics.ties import HIT

if TYPE_CHECKING:
    from ..arrays.types import FloatArray, IntArray
    from ..reporting.reports import Report


def sample_of(report: Report, side: str | None, kind: str) -> Sample:
    """Return the ranks of a side and kind; None stands for the first side, usually "both".

    Raises
    ------
    KeyError
        For an unknown side.

    Examples
    --------
    >>> from truerank import Ranks, report
    >>> sample_of(report(Ranks([0, 3], [1, 2], 10)), None, "pessimistic").ranks
    array([1., 5.])
    """
    counted = report._counted
    if side is None:
        side = report.sides[0]
    report.tasks(side)  # An unknown side is an error.
    return counted.sample(side, kind)


def shares(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Return the share of the tasks with a rank above the previous cutoff and up to each cutoff.

    Parameters
    ----------
    sample : Sample
        n tasks, which count by their weights.
    cutoffs : ndarray of int64, shape (m,)
        Ascending.

    Returns
    -------
    ndarray of float64, shape (m,)
        nan where no task has a weight above 0. The sum of the first shares is hits@k.

    Examples
    --------
    >>> shares(Sample(np.array([1.0, 4.5]), np.array([9, 9])), np.array([1, 3, 7]))
    array([0.5, 0. , 0.5])
    """
    if sample.tied is not None:  # Each position of a tie has its share.
        return np.diff(hits_at(sample, cutoffs), prepend=0.0)
    tasks = np.searchsorted(cutoffs.astype(np.float64), sample.ranks)
    return _interval_shares(tasks, sample.weights, len(cutoffs))


def hits_at(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Return hits@k for all cutoffs k at once; float64, shape (m,). For parameters see `shares`.

    Examples
    --------
    >>> hits_at(Sample(np.array([1.0, 4.0]), np.array([9, 9])), np.array([1, 3, 4]))
    array([0.5, 0.5, 1. ])
    """
    if sample.tied is not None:
        return np.array([arithmetic(HIT, sample, k) for k in cutoffs.tolist()])
    tasks = np.searchsorted(cutoffs.astype(np.float64), sample.ranks)
    # Counts are summed first, so that the value equals the report's.
    if sample.weights is None:
        counts = np.bincount(tasks, minlength=len(cutoffs))[: len(cutoffs)]
        return np.cumsum(counts) / (len(tasks) or np.nan)
    return np.cumsum(_interval_shares(tasks, sample.weights, len(cutoffs)))


def bounds_of_shares(
    best: Sample, worst: Sample, cutoffs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the greatest share of each interval over all ways to break ties.

    The least share is that of the tasks whose tie lies within the interval, the greatest that of
    the tasks whose tie reaches into it.

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
    ends = cutoffs.astype(np.float64)
    first = np.searchsorted(ends, best.ranks)
    last = np.searchsorted(ends, worst.ranks)
    m = len(cutoffs)
    weights = best.weights
    within = np.where(first == last, first, m)  # The number m stands for no interval.
    begun = np.cumsum(_interval_shares(first, weights, m))
    ended = np.cumsum(_interval_shares(last, weights, m))
    greatest = begun - np.append(0.0, ended[:-1])
    return _interval_shares(within, weights, m), np.clip(greatest, 0.0, 1.0)


def chance_hits(sample: Sample, cutoffs: IntArray) -> FloatArray:
    """Return hits@k under chance for all cutoffs; float64, shape (m,).

    Examples
    --------
    >>> chance_hits(Sample(np.array([1.0, 4.0]), np.array([5, 10])), np.array([1, 5]))
    array([0.15, 0.75])
    """
    tasks = _tasks_by_size(sample)
    return np.array([hits(tasks, k)[0] for k in cutoffs.tolist()])


def _tasks_by_size(sample: Sample) -> Tasks:
    """Merge tasks with the same number of candidates: a mean needs only their total weight."""
    if sample.weights is None:
        return compress(sample.candidates)
    sizes, place, counts = np.unique(sample.candidates, return_inverse=True, return_counts=True)
    mass = np.bincount(place, weights=rescale_weights(sample.weights), minlength=len(sizes))
    return compress((sizes, counts), mass / counts)


def _interval_shares(tasks: IntArray, weights: FloatArray | None, m: int) -> FloatArray:
    """The share of the tasks in each of m intervals; tasks with the number m are in none."""
    mass = np.ones(len(tasks)) if weights is None else rescale_weights(weights)
    total = mass.sum() or np.nan  # Without tasks no share is known.
    found: FloatArray = np.bincount(tasks, weights=mass, minlength=m + 1)[:m] / total
    return found
