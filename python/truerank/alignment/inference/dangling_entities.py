"""Dangling entities: who has no counterpart, told from how near the nearest is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...comparison.table_writer import Records
from ...inputs.arrays import ReadOnlyArrays, read_only
from ...inputs.checks import choice
from ...inputs.errors import InputValueError
from ...inputs.naming import public
from ..local_scaling import check_csls
from ..two_graphs import DIRECTIONS, as_ids
from .similarity_sources import ScoringOptions, open_source

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...embeddings.scoring import TopK
    from ...inputs.arrays import FloatArray, IntArray


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class DanglingCurve(ReadOnlyArrays):
    """How well a threshold tells the entities without a counterpart, for every threshold.

    Arrays are read-only, and but for the last two of one length, by ascending threshold.

    Attributes
    ----------
    thresholds : ndarray of float32 or float64
        Entities whose value is below are said to have no counterpart. Each tells another set of
        entities: the distinct values but the lowest, and the next number above the highest (none
        if that is +inf: entities at +inf are never said to have no counterpart).
    precision, recall, f1 : ndarray of float64
        correct / said, correct / exclusive, and 2 correct / (said + exclusive).
    said, correct : ndarray of int64
        How many entities are said to have no counterpart, and how many of these have none.
    exclusive, entities : int
        How many have none, and how many were looked at.
    by, direction : str
        As passed to `dangling`.
    ids, values : ndarray, shape (entities,)
        The entities that were looked at, ascending, and the value of each.
    """

    thresholds: npt.NDArray[Any]
    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    said: IntArray
    correct: IntArray
    exclusive: int
    entities: int
    by: str
    direction: str
    ids: IntArray = field(repr=False)
    values: npt.NDArray[Any] = field(repr=False)

    def __len__(self) -> int:
        """How many thresholds there are."""
        return len(self.thresholds)

    @property
    def best_f1(self) -> float:
        """The highest F1; 0 where there is no threshold."""
        return float(self.f1.max(initial=0.0))

    @property
    def best_threshold(self) -> float:
        """The lowest threshold of the highest F1; NaN where there is none."""
        return float(self.thresholds[np.argmax(self.f1)]) if len(self) else float("nan")

    @property
    def average_precision(self) -> float:
        """The area under precision and recall, in steps: sum of (R_i - R_(i-1)) P_i, R_0 = 0."""
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    def to_dict(self) -> dict[str, Any]:
        """Give what there is to say in numbers, as a logger wants them.

        Examples
        --------
        >>> dangling([[0.9, 0.2], [0.3, 0.8], [0.4, 0.5]], None, [2]).to_dict()["best_threshold"]
        0.8
        """
        return {
            "by": self.by,
            "direction": self.direction,
            "exclusive": self.exclusive,
            "entities": self.entities,
            "best_f1": self.best_f1,
            "best_threshold": self.best_threshold,
            "average_precision": self.average_precision,
        }

    def to_pandas(self) -> Any:
        """Give the curve as a DataFrame: a row for each threshold.

        Its columns are threshold, precision, recall, f1, said and correct.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        columns = ("threshold", "precision", "recall", "f1", "said", "correct")
        arrays = (self.thresholds, self.precision, self.recall, self.f1, self.said, self.correct)
        rows = zip(*(array.tolist() for array in arrays), strict=True)
        return Records(columns, rows, columns[:4]).frame()


@public("truerank.alignment")
def dangling(
    left: Any,
    right: Any,
    exclusive: Any,
    *,
    matched: Any = None,
    candidates: Any = None,
    by: str = "similarity",
    direction: str = "left_to_right",
    similarity: str = "cosine",
    csls: Any = None,
    nan: str = "raise",
    dtype: Any = None,
    threads: int | None = None,
) -> DanglingCurve:
    """Tell entities without a counterpart by a threshold, and count how often that is right.

    Parameters
    ----------
    left, right, similarity, csls, dtype, threads
        As in `truerank.alignment.infer`; a matrix in the place of vectors, too, or its file. The
        means of csls are over the entities looked at and the candidates.
    exclusive : array_like of int
        The entities of the asking side that have no counterpart; at least one.
    matched : array_like of int, optional
        Those that have one. Default: all others. Entities that are in neither are not looked at.
    candidates : array_like of int, optional
        The entities of the other side among which counterparts are looked for. Default: all.
    by : {"similarity", "margin"}
        What has to be below the threshold: the score of the nearest, or what it is above that of
        the second, in the dtype of the scores (0 where they are equal, infinite ones too).
    direction : {"left_to_right", "right_to_left"}
        Which side asks: `exclusive` and `matched` are of that side.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or no candidates. An entity without any
        candidate has the value -inf, with a single one the margin +inf.

    Returns
    -------
    DanglingCurve

    Raises
    ------
    TypeError, ValueError, OSError
        As `infer`; for no exclusive entity, and for ids that are both exclusive and matched.

    Notes
    -----
    Exclusive entities are those that only one of the graphs has: "exclusive entities complicate the
    matching process and in real-life application, they are not easy to identify" (Berrendorf,
    Wacker, Faerman: A critical assessment of state-of-the-art in entity alignment, 2021). To have
    no counterpart is the positive class. Entities of equal value are said together.

    ``infer(..., threshold=curve.best_threshold)`` leaves out the pairs of entities that are
    below it, where `by` is "similarity" and the method is "greedy".

    Examples
    --------
    >>> scores = [[0.9, 0.2], [0.3, 0.8], [0.4, 0.5], [0.6, 0.1]]
    >>> curve = dangling(scores, None, [2, 3])
    >>> curve.thresholds.tolist(), curve.precision.tolist(), curve.recall.tolist()
    ([0.6, 0.8, 0.9, 0.9000000000000001], [1.0, 1.0, 0.6666666666666666, 0.5], [0.5, 1.0, 1.0, 1.0])
    >>> curve.best_f1, curve.best_threshold, curve.average_precision
    (1.0, 0.8, 1.0)
    """
    choice("by", by, tuple(_VALUES))
    choice("direction", direction, DIRECTIONS)
    source = open_source(left, right, ScoringOptions(similarity, None, nan, dtype, threads))
    asking = DIRECTIONS.index(direction)
    size = source.shape[asking]
    apart = as_ids("exclusive", exclusive, size)
    if exclusive is None or not len(apart):
        raise InputValueError("exclusive", expected="at least one entity", got="none")
    others = np.setdiff1d(np.arange(size), apart)
    if matched is not None:
        others = as_ids("matched", matched, size)
        both = np.intersect1d(apart, others)
        if len(both):
            raise InputValueError("matched", expected="none that are exclusive", got=both[0])
    ids = np.union1d(apart, others)
    among = as_ids("candidates", candidates, source.shape[1 - asking])
    ids_of_sides = (ids, among) if asking == 0 else (among, ids)
    source = source.restrict(*ids_of_sides, check_csls(csls))
    best = (source if asking == 0 else source.swapped()).top_k(2)
    values = _VALUES[by](best)
    return DanglingCurve(
        **_count_curve(values, np.isin(ids, apart)),
        exclusive=len(apart),
        entities=len(ids),
        by=by,
        direction=direction,
        ids=read_only(ids),
        values=read_only(values),
    )


def _top_similarity(best: TopK) -> npt.NDArray[Any]:
    return np.where(best.ids[:, 0] >= 0, best.scores[:, 0], best.scores.dtype.type(-np.inf))


def _margin(best: TopK) -> npt.NDArray[Any]:
    """Best less second; infinite where there are not two."""
    kind, (first, second) = best.scores.dtype.type, best.scores.T
    margin: npt.NDArray[Any]
    with np.errstate(invalid="ignore", over="ignore"):
        margin = np.where(first == second, kind(0), first - second)
    single = np.where(best.ids[:, 0] >= 0, kind(np.inf), kind(-np.inf))
    margin = np.where(best.ids[:, 1] >= 0, margin, single)
    return margin


_VALUES: dict[str, Callable[[TopK], npt.NDArray[Any]]] = {
    "similarity": _top_similarity,
    "margin": _margin,
}


def _count_curve(values: npt.NDArray[Any], apart: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Count for every threshold that tells another set."""
    distinct, place = np.unique(values, return_inverse=True)
    above = np.nextafter(distinct[-1:], values.dtype.type(np.inf))
    thresholds = np.append(distinct[1:], above[above > distinct[-1:]])
    most = len(thresholds)  # one less than the distinct values if the last of them is +inf
    said = np.cumsum(np.bincount(place, minlength=len(distinct)))[:most]
    correct = np.cumsum(np.bincount(place[apart], minlength=len(distinct)))[:most]
    arrays = {
        "thresholds": thresholds,
        "precision": correct / said,
        "recall": correct / apart.sum(),
        "f1": 2 * correct / (said + apart.sum()),
        "said": said.astype(np.int64),
        "correct": correct.astype(np.int64),
    }
    return {name: read_only(array) for name, array in arrays.items()}
