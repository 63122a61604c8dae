"""Pairs that were found, held against the right ones: precision, recall, F1, thresholds."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import are_among, distinct, factorize, row_keys, without
from ..errors import InputTypeError, InputValueError
from ..inference.intervals import wilson
from ..inputs.array_likes import as_array, check_shape
from ..naming import public
from ..records.columns import PAIRS
from ..records.splits import read_tables
from ..records.text import is_path
from ..tables import AsTable, Column, Table
from ..tables.as_table import Names

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray

    Mask = npt.NDArray[np.bool_]

# OpenEA's older code writes positions in test_links into this file, and its newer code ids.
AMBIGUOUS_FILE = "alignment_results_12"
COUNTS = ["found", "right", "correct"]
SHARES = [Column(name, decimals=3) for name in ("precision", "recall", "f1")]


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class PairScores(AsTable):
    """How many of the found pairs are right, and how many of the right ones are found.

    Attributes
    ----------
    found, correct, right : int
        How many pairs were found, how many of these are right, and how many there are to be found.
    precision, recall, f1 : float
        correct / found, correct / right and 2 correct / (found + right); nan for 0 / 0.
    precision_interval, recall_interval : tuple of float
        Wilson's intervals of 95 %, over the found pairs and over the right ones. F1 is no share,
        and has none.
    threshold, best_f1 : float or None
        With scores: the threshold with the best F1, the highest of several, and this F1.
    curve : Table or None
        All these numbers for every threshold, the highest first.
    exclusive : PairScores or None
        The same of left entities without a counterpart: `found` are those in no found pair.
    matchable : PairScores or None
        The second step: `found` are the left entities that are in a pair, `right` those that have a
        counterpart, `correct` those that are in a right pair.
    """

    found: int
    right: int
    correct: int
    threshold: float | None = None
    best_f1: float | None = None
    curve: Table | None = None
    exclusive: PairScores | None = None
    matchable: PairScores | None = None

    @property
    def precision(self) -> float:
        return _ratio(self.correct, self.found)

    @property
    def recall(self) -> float:
        return _ratio(self.correct, self.right)

    @property
    def f1(self) -> float:
        return _ratio(2 * self.correct, self.found + self.right)

    @property
    def precision_interval(self) -> tuple[float, float]:
        return _interval(self.correct, self.found)

    @property
    def recall_interval(self) -> tuple[float, float]:
        return _interval(self.correct, self.right)

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for the pairs, one for those from the threshold on, and two of entities."""
        rows = [("pairs", self)]
        if self.curve is not None:
            _, *counts = self.curve.rows[self.curve["threshold"].index(self.threshold)]
            rows.append((f"pairs from {self.threshold:.6g} on", PairScores(*counts[:3])))
        if self.exclusive is not None and self.matchable is not None:
            rows.append(("left entities in no pair", self.exclusive))
            rows.append(("left entities in a pair", self.matchable))
        intervals = [Column(f"95 % of {name}", decimals=3) for name in ("precision", "recall")]
        cells = []
        for name, part in rows:
            ends = part.precision_interval, part.recall_interval
            cells.append((name, *part.counts_and_shares(), *ends))
        table = Table(["of", *COUNTS, *SHARES, *intervals], cells)
        return table.table(metrics, **options)

    def counts_and_shares(self) -> tuple[float, ...]:
        """Return found, right, correct, precision, recall and F1."""
        return self.found, self.right, self.correct, self.precision, self.recall, self.f1


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def _interval(part: int, whole: int) -> tuple[float, float]:
    if not whole:
        return math.nan, math.nan
    return wilson(part / whole, np.zeros(whole), 0.95, math.inf)


def score_found(task: Any, found: Any, scores: Any = None) -> PairScores:
    """Hold found pairs against those of a task, as `Task.score_pairs` says it."""
    pairs, scores = read_found(task, found, scores)
    known = task._known_pairs
    keys = row_keys(list(np.concatenate([pairs, task.pairs, known]).T))
    keys, keys_of_test, keys_of_known = np.split(keys, np.cumsum([len(pairs), len(task.pairs)]))
    is_asked = ~are_among(keys_of_test, keys_of_known)
    asked = task.pairs[is_asked]
    right = distinct(keys_of_test[is_asked])
    is_counted = ~are_among(keys, keys_of_known)
    for column in (0, 1):  # Nobody asked for entities of known pairs alone.
        only_known = without(known[:, column], asked[:, column])
        is_counted &= ~are_among(pairs[:, column], only_known)
    counted = factorize(keys[is_counted])
    is_correct = are_among(counted.distinct, right)
    parts = score_exclusive(task, asked, pairs, are_among(keys, right))
    if scores is not None and len(is_correct):
        best = np.full(len(is_correct), -np.inf)  # A pair that is repeated has its best score.
        np.maximum.at(best, counted.codes, scores[is_counted])
        curve = parts["curve"] = make_curve(best, is_correct, len(right))
        highest = max(zip(curve["f1"], curve["threshold"], strict=True))
        parts["best_f1"], parts["threshold"] = highest
    return PairScores(len(is_correct), len(right), int(is_correct.sum()), **parts)


def score_exclusive(task: Any, asked: IntArray, pairs: IntArray, is_right: Mask) -> dict[str, Any]:
    """Return the scores of the left entities in no found pair, and of those in one."""
    if task.exclusive is None:
        return {}
    left = distinct(asked[:, 0])
    in_pairs = are_among(np.append(left, task.exclusive), pairs[:, 0])
    n_hits = int((~in_pairs[len(left) :]).sum())
    exclusive = PairScores(int((~in_pairs).sum()), len(task.exclusive), n_hits)
    n_correct = len(distinct(pairs[is_right, 0]))
    matchable = PairScores(int(in_pairs.sum()), len(left), n_correct)
    return {"exclusive": exclusive, "matchable": matchable}


def make_curve(scores: FloatArray, is_correct: Mask, right: int) -> Table:
    """Return the numbers of the pairs from each threshold on: equal scores stay together."""
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    last = np.flatnonzero(np.append(descending[1:] != descending[:-1], True))
    rows = []
    for place, n_correct in zip(last.tolist(), is_correct[order].cumsum()[last], strict=True):
        part = PairScores(place + 1, right, int(n_correct))
        rows.append((float(descending[place]), *part.counts_and_shares()))
    return Table(["threshold", *COUNTS, *SHARES], rows)


def read_found(task: Any, found: Any, scores: Any) -> tuple[IntArray, FloatArray | None]:
    """Return found pairs as positions, and their scores, if there are any.

    What `infer` returns has positions; all else is read as the pairs of the task are.
    """
    orders: dict[str, Any] = {name: each.names or each.size for name, each in task.names.items()}
    if isinstance(found, tuple) and len(found) == 2 and np.ndim(found[0]) == 2:
        if scores is not None:
            expected = "None beside the result of infer, which has scores"
            raise InputTypeError("scores", expected=expected)
        found, scores = found
        orders = {name: each.size for name, each in task.names.items()}
    elif is_path(found) and os.path.basename(os.fsdecode(found)) == AMBIGUOUS_FILE:
        problem = "OpenEA writes positions in test_links into this file, or ids of entities, and "
        problem += "nothing in it says which; pairs of labels are expected"
        raise InputValueError("found", problem, place=os.fsdecode(found))
    pairs = read_tables({"found": ("found", found)}, PAIRS, orders).rows
    if scores is None:
        return pairs, None
    numbers = as_array(scores, "scores")
    if numbers.dtype.kind not in "fiu":
        raise InputTypeError("scores", expected="numbers", got=str(numbers.dtype))
    check_shape("scores", numbers.shape, (len(pairs),), "a score for each found pair")
    n_nan = int(np.isnan(numbers).sum())
    if n_nan:
        got = f"{n_nan:,} of {len(numbers):,} that are NaN"
        raise InputValueError("scores", expected="numbers", got=got)
    return pairs, numbers.astype(np.float64)
