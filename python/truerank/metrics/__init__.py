"""Metrics of ranks: the table, the kinds of rank, the adjustments for chance, and the keys."""

from __future__ import annotations

from .adjustments import ADJUSTMENTS
from .base import METRICS, Metric, Sample
from .keys import Key, UnknownKeyError, parse
from .kinds import KINDS

__all__ = [
    "ADJUSTMENTS",
    "KINDS",
    "METRICS",
    "Key",
    "Metric",
    "Sample",
    "UnknownKeyError",
    "compute",
    "parse",
]


def compute(key: Key, sample: Sample) -> float:
    """Compute what a key asks of the ranks of its side and kind.

    Parameters
    ----------
    key : Key
        Its side and kind have been applied already: the sample holds those ranks.
    sample : Sample

    Returns
    -------
    float
        nan where there are no tasks.

    Examples
    --------
    >>> import numpy as np
    >>> compute(parse("hits@3"), Sample(np.array([1.0, 4.0]), np.array([9, 9])))
    0.5
    """
    adjust = ADJUSTMENTS[key.adjustment]
    if adjust is None:  # parse refuses such keys
        raise UnknownKeyError(f"{str(key)!r}: not available in this version")
    return adjust(METRICS[key.metric], sample, key.k)
