"""The kinds of rank, which say which position of a tie counts, and samples of ranks of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..ranks.container import Ranks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray

KINDS: dict[str, Callable[[Ranks, int], IntArray | FloatArray]] = {
    "optimistic": lambda ranks, seed: ranks.optimistic,
    "realistic": lambda ranks, seed: ranks.realistic,
    "pessimistic": lambda ranks, seed: ranks.pessimistic,
    # An expected value begins at the first of the positions of a tie.
    "expected": lambda ranks, seed: ranks.optimistic,
    "random": lambda ranks, seed: ranks.random(seed),
}
DEFAULT_KIND = "realistic"
EXPECTED_KIND = "expected"


class Sample(NamedTuple):
    """The input of a metric: the ranks of one kind, with candidates and weights.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n,)
        For the kind "expected" the first position of each tie.
    candidates : ndarray of int64, shape (n,)
    weights : ndarray of float64, shape (n,), or None
        Finite and >= 0; only their ratios matter.
    tied : ndarray of int64, shape (n,), or None
        For the kind "expected" the number of positions of each tie; None for other kinds, whose
        ranks are single positions.
    middle_of : ndarray of int64, shape (n,), or None
        For the kind "realistic" the number of positions of the tie whose middle a rank is; None for
        other kinds, and where ranks are those of no tie.
    """

    ranks: FloatArray
    candidates: IntArray
    weights: FloatArray | None = None
    tied: IntArray | None = None
    middle_of: IntArray | None = None


def sample_of(ranks: Ranks, kind: str, seed: int) -> Sample:
    """Return the ranks of a kind in the form that metrics take.

    Parameters
    ----------
    ranks : Ranks
    kind : str
        One of `KINDS`. For "expected" a metric is g(mean E f(r)): f is averaged over all orders of
        each tie. Where g is linear (mr, mrr, hits@k), that is the mean of the metric itself. The
        median and the deviations are those of the mixture that gives each position of a tie the
        weight 1 / tied.
    seed : int
        The seed of the kind "random".

    Returns
    -------
    Sample

    Examples
    --------
    >>> import truerank as tr
    >>> sample_of(tr.Ranks([0, 3], [1, 2], 10), "pessimistic", 0).ranks
    array([1., 5.])
    """
    positions = KINDS[kind](ranks, seed).astype(np.float64, copy=False)
    tied = ranks.tied if kind == EXPECTED_KIND else None
    middle_of = ranks.tied if kind == DEFAULT_KIND else None
    return Sample(positions, ranks.candidates, ranks.weights, tied, middle_of)


def take(sample: Sample, index: npt.NDArray[Any] | slice | None) -> Sample:
    """Take tasks of a sample by positions, a mask or a slice (without a copy); None takes all."""
    if index is None:
        return sample
    weights = None if sample.weights is None else sample.weights[index]
    tied = None if sample.tied is None else sample.tied[index]
    middle_of = None if sample.middle_of is None else sample.middle_of[index]
    return Sample(sample.ranks[index], sample.candidates[index], weights, tied, middle_of)
