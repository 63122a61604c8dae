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
from ..inputs.array_likes import as_floats, as_scores, check_shape
from ..naming import public
from ..records.columns import PAIRS
from ..records.splits import read_tables
from ..records.text import is_path
from ..tables import AsTable, Column, Table
from ..tables.as_table import Names

if TYPE_CHECKING:
    from ..arrays import FloatArray, IntArray

# OpenEA's older code writes positions in test_links into this file, and its newer code ids.
AMBIGUOUS_FILE = "alignment_results_12"
COUNTS = [Column(name) for name in ("found", "right", "correct")]
SHARES = [Column(name, decimals=3) for name in ("precision", "recall", "f1")]
INTERVALS = [Column(f"{x}_interval", f"95 % of {x}", 3) for x in ("precision", "recall")]


@public("truerank.alignment")
@dataclass(frozen=True, eq=False)
class PairScores(AsTable):
    """How many of the found pairs are right, and how many of the right ones are found.

    Attributes
    ----------
    found, right, correct : int
        How many pairs were found, how many there are to be found, and how many are both.
    precision, recall, f1 : float
        correct / found, correct / right and 2 correct / (found + right); nan for 0 / 0.
    precision_interval, recall_interval : tuple of float
        Wilson's intervals of 95 %, over the found pairs and over the right ones. F1 is no share,
        and has none.
    threshold : float or None
        With scores: the threshold with the best F1, the highest of several.
    best : PairScores or None
        The same of the pairs from this threshold on.
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
    precision: float
    recall: float
    f1: float
    precision_interval: tuple[float, float]
    recall_interval: tuple[float, float]
    threshold: float | None = None
    best: PairScores | None = None
    curve: Table | None = None
    exclusive: PairScores | None = None
    matchable: PairScores | None = None

    def table(self, metrics: Names = None, **options: Any) -> Table:
        """Return a row for the pairs, one for those from the threshold on, and two of entities."""
        rows = [("pairs", self)]
        if self.best is not None:
            rows.append((f"pairs from {self.threshold:.6g} on", self.best))
        if self.exclusive is not None and self.matchable is not None:
            rows.append(("left entities in no pair", self.exclusive))
            rows.append(("left entities in a pair", self.matchable))
        columns = COUNTS + SHARES + INTERVALS
        cells = [(name, *(getattr(part, x.name) for x in columns)) for name, part in rows]
        return Table(["of", *columns], cells).table(metrics, **options)


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
    parts: dict[str, Any] = {}
    if scores is not None and len(is_correct):
        best = np.full(len(is_correct), -np.inf)  # A pair that is repeated has its best score.
        np.maximum.at(best, counted.codes, scores[is_counted])
        curve = parts["curve"] = make_curve(best, is_correct, len(right))
        place = int(np.argmax(curve["f1"]))
        parts["threshold"] = curve["threshold"][place]
        parts["best"] = count(curve["found"][place], len(right), curve["correct"][place])
    if task.exclusive is not None:
        found_right = pairs[are_among(keys, right)]
        parts |= score_exclusive(task.exclusive, asked[:, 0], pairs[:, 0], found_right[:, 0])
    return count(len(is_correct), len(right), int(is_correct.sum()), **parts)


def score_exclusive(
    exclusive: IntArray, asked: IntArray, paired: IntArray, right: IntArray
) -> dict[str, PairScores]:
    """Hold left entities in no pair against the exclusive ones, and those in a right pair."""
    matchable = distinct(asked)
    n_paired = int(are_among(matchable, paired).sum())
    n_wrong = int(are_among(exclusive, paired).sum())
    n_unpaired = len(matchable) - n_paired + len(exclusive) - n_wrong
    return {
        "exclusive": count(n_unpaired, len(exclusive), len(exclusive) - n_wrong),
        "matchable": count(n_paired + n_wrong, len(matchable), len(distinct(right))),
    }


def count(found: int, right: int, correct: int, **parts: Any) -> PairScores:
    """Make the scores of three numbers."""
    precision, precision_interval = _share(correct, found)
    recall, recall_interval = _share(correct, right)
    f1, _ = _share(2 * correct, found + right)
    intervals = precision_interval, recall_interval
    return PairScores(found, right, correct, precision, recall, f1, *intervals, **parts)


def _share(part: int, whole: int) -> tuple[float, tuple[float, float]]:
    """Return a share and its interval by Wilson; nan for 0 / 0."""
    if not whole:
        return math.nan, (math.nan, math.nan)
    return part / whole, wilson(part / whole, np.zeros(whole), 0.95, math.inf)


def make_curve(scores: FloatArray, is_correct: Any, n_right: int) -> Table:
    """Return the numbers of the pairs from each threshold on: equal scores stay together."""
    thresholds, codes = np.unique(scores, return_inverse=True)  # by numpy: floats
    found = np.bincount(codes)[::-1].cumsum()
    correct = np.bincount(codes, is_correct)[::-1].cumsum().astype(np.int64)
    right = np.full(len(found), n_right)
    shares = correct / found, correct / (n_right or math.nan), 2 * correct / (found + right)
    cells = thresholds[::-1], found, right, correct, *shares
    return Table(["threshold", *COUNTS, *SHARES], zip(*(x.tolist() for x in cells), strict=True))


def read_found(task: Any, found: Any, scores: Any) -> tuple[IntArray, FloatArray | None]:
    """Return found pairs as positions, and their scores, if there are any.

    What `infer` returns has positions; all else is read as the pairs of the task are.
    """
    orders: dict[str, Any] = {name: each.names or each.size for name, each in task.names.items()}
    if isinstance(found, tuple) and len(found) == 2 and getattr(found[0], "ndim", 0) == 2:
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
    numbers = as_floats(as_scores(scores)).astype(np.float64)
    check_shape("scores", numbers.shape, (len(pairs),), "a score for each found pair")
    is_nan = np.isnan(numbers)
    if is_nan.any():
        got = f"{is_nan.sum():,} of {len(numbers):,} that are NaN"
        raise InputValueError("scores", expected="numbers", got=got)
    return pairs, numbers
