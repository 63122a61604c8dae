"""Whether ranks are worse than random ones, which one mistake makes of a good model."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING
from typing import Protocol as Structure

import numpy as np

from ..metrics.keys import sides_of
from ..metrics.kinds import DEFAULT_KIND
from .axes import compose_key

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks
    from ..ranks.protocol import Protocol
    from .summary import Summary

BELOW_CHANCE = "worse than chance"  # the check for ranks that are worse than random ones
# So many standard errors above the mean rank of chance: a probability of 1.6e-8 at most.
STANDARD_ERRORS = 6.0

# What the other order would be.
_OTHER_ORDER = {
    "descending": ("are lower scores better?", "ascending"),
    "ascending": ("are higher scores better?", "descending"),
}


class ValuesByKey(Structure):
    """Values by key."""

    def __getitem__(self, key: str, /) -> float: ...


class AuditedReport(ValuesByKey, Structure):
    """What the checks need of a report: values by key, and the ranks that they come from."""

    @property
    def ranks(self) -> Ranks: ...

    @property
    def weights(self) -> FloatArray | None: ...

    @property
    def protocol(self) -> Protocol: ...

    @property
    def summary(self) -> Summary: ...

    @property
    def sides(self) -> tuple[str, ...]: ...

    def chance(self, metric: str) -> tuple[float, float]: ...


def worse_than_chance(report: AuditedReport, threshold: float) -> Iterator[tuple[float, str]]:
    """Find the first side whose mean rank is far above that of random scores.

    Under chance a rank r is uniform on 1..N, and log E exp(t(r - E r)) <= t**2 (N**2 - 1) / 24 for
    every t (each factor of sinh(Nt/2) / (N sinh(t/2)), written as an infinite product, is). A mean
    rank of independent tasks that is z standard errors above its expectation has therefore a
    probability of at most exp(-z**2 / 2), whatever their numbers of candidates and their weights;
    ties only make it smaller. Tasks of one target may depend on each other in any way: the standard
    deviations of these are added (Hölder's inequality), not the variances.
    """
    for side in report.sides:
        z = standard_errors_above(report.ranks, report.weights, sides_of(report.ranks).mask(side))
        if z > threshold:
            key = compose_key(side, DEFAULT_KIND, "amri")
            figures = f"{key} {report[key]:.3g}, p below 1e-{math.floor(z**2 / 2 / math.log(10))}"
            question = _question(report.protocol)
            yield z, f"ranks are worse than random ones ({figures}): {question}"
            return


def standard_errors_above(
    ranks: Ranks, weights: FloatArray | None, mask: npt.NDArray[np.bool_] | None
) -> float:
    """Return how many standard errors the mean rank of some tasks is above that of chance.

    Parameters
    ----------
    ranks : Ranks
    weights : ndarray of float64, shape (n,), or None
        Those in force.
    mask : ndarray of bool, shape (n,), or None
        The tasks. None: all.

    Returns
    -------
    float
        Negative where the mean rank is better; nan where chance leaves no choice.

    Examples
    --------
    >>> from truerank import Ranks
    >>> standard_errors_above(Ranks([9] * 12, [1] * 12, 10), None, None).__round__(3)
    5.427
    """
    chosen = slice(None) if mask is None else mask
    candidates = ranks.candidates[chosen].astype(np.float64)
    if not len(candidates):
        return math.nan
    weight = np.ones(len(candidates)) if weights is None else weights[chosen]
    weight = weight / (weight.max() or 1.0)
    deviations = weight * np.sqrt((candidates - 1) * (candidates + 1) / 12)
    if ranks.targets is None:
        spread = math.sqrt(float(np.square(deviations).sum()))
    else:
        codes = np.unique(ranks.targets.codes[chosen], return_inverse=True)[1]
        spread = math.sqrt(float(np.square(np.bincount(codes, weights=deviations)).sum()))
    excess = float((weight * (ranks.realistic[chosen] - (candidates + 1) / 2)).sum())
    return excess / spread if spread else math.nan


def _question(protocol: Protocol) -> str:
    """Ask for the mistake that is most likely, as far as the protocol tells how scores came."""
    if protocol.similarity is not None:
        return f"is the model's similarity {protocol.similarity}, and are its columns in order?"
    if protocol.order not in _OTHER_ORDER:
        return "are the scores in the right order?"
    question, other = _OTHER_ORDER[protocol.order]
    return f'{question} order="{other}"'
