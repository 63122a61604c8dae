"""The kinds of rank: which position of a tie counts, or all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .base import Sample

if TYPE_CHECKING:
    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.container import Ranks

KINDS: dict[str, Callable[[Ranks, int], IntArray | FloatArray]] = {
    "optimistic": lambda ranks, seed: ranks.optimistic,
    "realistic": lambda ranks, seed: ranks.realistic,
    "pessimistic": lambda ranks, seed: ranks.pessimistic,
    "expected": lambda ranks, seed: ranks.optimistic,  # the first of the tie's positions
    "random": lambda ranks, seed: ranks.random(seed),
}
DEFAULT_KIND = "realistic"
MIXTURE = "expected"


def sample_of(ranks: Ranks, kind: str, seed: int = 0, weights: FloatArray | None = None) -> Sample:
    """Give the ranks of a kind as metrics take them.

    Parameters
    ----------
    ranks : Ranks
    kind : str
        One of `KINDS`. For "expected" a metric is g(mean E f(r)): f is averaged over all orders of
        each tie, which is the mean of the metric itself where g is linear (mr, mrr, hits@k). The
        median and the deviations are those of the mixture that gives each position of a tie the
        weight 1 / tied.
    seed : int
        Of the kind "random".
    weights : ndarray of float64, shape (n,), optional
        Instead of the weights of the ranks.

    Returns
    -------
    Sample

    Examples
    --------
    >>> import truerank as tr
    >>> sample_of(tr.Ranks([0, 3], [1, 2], 10), "pessimistic").ranks
    array([1., 5.])
    """
    return Sample(
        KINDS[kind](ranks, seed).astype(np.float64, copy=False),
        ranks.candidates,
        ranks.weights if weights is None else weights,
        ranks.tied if kind == MIXTURE else None,
    )
