"""Dangling entities: predict from similarities which entities have no counterpart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ...inputs.arithmetic import default_arithmetic
from ...inputs.arrays import ReadOnlyArrays, read_only
from ...inputs.checks import choice, is_integer
from ...inputs.errors import InputValueError
from ...inputs.naming import public
from ...inputs.rules import CountOptions, read_rules, with_options
from ...tables import Table
from ..two_graphs import DIRECTIONS, as_ids
from .similarities import open_similarities

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...embeddings.scoring import TopK
    from ...inputs.arrays import FloatArray, IntArray
    from ...inputs.words import Similarity


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class DanglingCurve(ReadOnlyArrays):
    """How well each threshold predicts the entities without a counterpart.

    Arrays are read-only. All but the last two have one length, in ascending order of thresholds.

    Attributes
    ----------
    thresholds : ndarray of float32 or float64
        Entities with a value below a threshold are predicted to have no counterpart. Each threshold
        predicts a different set: they are the distinct values except the lowest, and the next
        number above the highest (none if that is +inf: entities at +inf are never predicted).
    precision, recall, f1 : ndarray of float64
        correct / said, correct / exclusive, and 2 correct / (said + exclusive).
    said, correct : ndarray of int64
        The number of entities that are predicted to have no counterpart, and of those among them
        that have none.
    exclusive, entities : int
        The number of entities without a counterpart, and of all entities considered.
    by, direction : str
        As passed to `dangling`.
    ids, values : ndarray, shape (entities,)
        The entities that were considered, ascending, and the value of each.
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
        """The number of thresholds."""
        return len(self.thresholds)

    @property
    def best_f1(self) -> float:
        """The highest F1; 0 if there is no threshold."""
        return float(self.f1.max(initial=0.0))

    @property
    def best_threshold(self) -> float:
        """The lowest threshold with the highest F1; NaN if there is no threshold."""
        return float(self.thresholds[np.argmax(self.f1)]) if len(self) else float("nan")

    @property
    def average_precision(self) -> float:
        """The stepwise area under precision and recall: sum of (R_i - R_(i-1)) P_i, R_0 = 0."""
        return float((np.diff(self.recall, prepend=0.0) * self.precision).sum())

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the curve, in the form that loggers take.

        Examples
        --------
        >>> dangling([[0.9, 0.2], [0.3, 0.8], [0.4, 0.5]], None, [2]).to_dict()["best_threshold"]
        0.8
        """
        names = ["by", "direction", "exclusive", "entities"]
        names += ["best_f1", "best_threshold", "average_precision"]
        return {name: getattr(self, name) for name in names}

    def to_pandas(self) -> Any:
        """Return the curve as a DataFrame with a row for each threshold.

        Its columns are threshold, precision, recall, f1, said and correct.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        names = ("precision", "recall", "f1", "said", "correct")
        columns = {name: getattr(self, name).tolist() for name in names}
        return Table({"threshold": self.thresholds.tolist(), **columns}).to_pandas()


@public("truerank.alignment")
@with_options(CountOptions)
@default_arithmetic()
def dangling(
    left: Any,
    right: Any,
    exclusive: Any,
    *,
    matched: Any = None,
    candidates: Any = None,
    by: str = "similarity",
    direction: str = "left_to_right",
    similarity: Similarity = "cosine",
    csls: Any = None,
    **options: Unpack[CountOptions],
) -> DanglingCurve:
    """Predict entities without a counterpart by a threshold, and count how often that is right.

    Parameters
    ----------
    left, right, similarity, csls, dtype, threads
        As in `truerank.alignment.infer`, which also takes a matrix, or its file, in place of
        embeddings. The means of csls are over the considered entities and the candidates.
    exclusive : array_like of int
        The query entities that have no counterpart; at least one.
    matched : array_like of int, optional
        The query entities that have one. Default: all others. Entities in neither are ignored.
    candidates : array_like of int, optional
        The entities of the other side among which counterparts are sought. Default: all.
    by : {"similarity", "margin"}
        The value that is compared with the threshold: the score of the most similar candidate, or
        its difference to the second, in the dtype of the scores (0 if both are equal, also if
        infinite).
    direction : {"left_to_right", "right_to_left"}
        The side of the queries comes first; `exclusive` and `matched` belong to it.
    nan : {"raise", "omit"}
        The rule for scores that are NaN: an error, or the candidate is left out. An entity without
        candidates has the value -inf, one with a single candidate the margin +inf.
    progress : callable or bool, optional
        As in `infer`, in bytes of scores. True: a bar of tqdm or rich.

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
    Wacker, Faerman: A critical assessment of state-of-the-art in entity alignment, 2021). The
    positive class is "no counterpart". Entities of equal value are predicted together.

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
    choice("by", by, ("similarity", "margin"))
    query_side = DIRECTIONS.index(choice("direction", direction, DIRECTIONS))
    rules = read_rules(options, CountOptions)
    source = open_similarities(left, right, similarity, rules, 1 + is_integer(csls))
    sizes = source.shape[:: 1 - 2 * query_side]
    exclusive_ids = as_ids("exclusive", exclusive, sizes[0])
    if exclusive is None or not len(exclusive_ids):
        raise InputValueError("exclusive", expected="at least one entity", got="none")
    matched_ids = np.setdiff1d(np.arange(sizes[0]), exclusive_ids)
    if matched is not None:
        matched_ids = as_ids("matched", matched, sizes[0])
        both = np.intersect1d(exclusive_ids, matched_ids)
        if len(both):
            raise InputValueError("matched", expected="none that are exclusive", got=both[0])
    ids = np.union1d(exclusive_ids, matched_ids)
    others = as_ids("candidates", candidates, sizes[1])
    if query_side == 0:
        source = source.restrict(ids, others, csls)
    else:
        source = source.restrict(others, ids, csls).swapped()
    best = source.top_k(2)
    source.progress.finish()
    values = _values_of(best, by)
    return DanglingCurve(
        **_count_curve(values, np.isin(ids, exclusive_ids)),
        exclusive=len(exclusive_ids),
        entities=len(ids),
        by=by,
        direction=direction,
        ids=read_only(ids),
        values=read_only(values),
    )


def _values_of(best: TopK, by: str) -> npt.NDArray[Any]:
    """Return the best score of each query, or its difference to the second."""
    first, second = best.scores.T
    is_none, is_single = (best.ids < 0).T
    with np.errstate(invalid="ignore", over="ignore"):
        margin = np.where(first == second, 0, first - second)
    cases = [is_none, np.full_like(is_none, by == "similarity"), is_single]
    values = np.select(cases, [-np.inf, first, np.inf], margin)
    return np.asarray(values, first.dtype)


def _count_curve(values: npt.NDArray[Any], is_exclusive: npt.NDArray[np.bool_]) -> dict[str, Any]:
    """Count the predictions for every threshold with a different set."""
    distinct, place = np.unique(values, return_inverse=True)
    next_number = np.nextafter(distinct[-1:], values.dtype.type(np.inf))
    thresholds = np.append(distinct[1:], next_number[next_number > distinct[-1:]])
    said, correct = (  # one number less than distinct values if the last of them is +inf
        np.cumsum(np.bincount(part, minlength=len(distinct)))[: len(thresholds)].astype(np.int64)
        for part in (place, place[is_exclusive])
    )
    exclusive = is_exclusive.sum()
    arrays = {"thresholds": thresholds, "said": said, "correct": correct}
    arrays |= {"precision": correct / said, "recall": correct / exclusive}
    arrays["f1"] = 2 * correct / (said + exclusive)
    return {name: read_only(array) for name, array in arrays.items()}
