"""The top candidates of a few tasks, with their scores and the score of the right answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import NAN_RULES, choice
from ..inputs.errors import InputValueError, renamed
from ..inputs.scores import widen_bfloat16
from ..stores import Store
from ..tasks.arguments import Argument, open_side_scores, read_side_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..inputs.words import NanRule
    from ..ranks.protocol import Protocol
    from ..tasks.side_tasks import SideTasks

Label = str | int
TopCandidates = list[tuple[Label, float]]


class TopCandidateSearch(NamedTuple):
    """Some tasks of a side, and the options with which they were counted.

    Attributes
    ----------
    side : SideTasks
        The side.
    tasks : ndarray of int64, shape (n,)
        The tasks, by their numbers in the side.
    unique : bool
        Whether scores and embeddings have a row for each distinct query.
    protocol : Protocol
        The protocol of their ranks, which has the order and the rule for NaN.
    top : int
        The number of candidates to find.
    """

    side: SideTasks
    tasks: IntArray
    unique: bool
    protocol: Protocol
    top: int

    @property
    def rows(self) -> IntArray:
        """The row of scores or embeddings of each task."""
        return (self.side.rows if self.unique else self.side.given)[self.tasks]

    @property
    def height(self) -> int:
        """The number of rows that scores and embeddings must have."""
        return len(self.side.queries) if self.unique else self.side.height

    def selection_lists(self) -> tuple[list[IntArray] | None, Any]:
        """Return the filter of each task without its target, and its candidates."""
        targets = self.side.targets[self.tasks]
        without, among = self.side.selections(self.tasks)
        if isinstance(among, tuple):
            among = _split_lists(*among)
        if without is None:
            return None, among
        known = zip(_split_lists(*without), targets, strict=True)
        return [answers[answers != target] for answers, target in known], among

    def by_embeddings(
        self, queries: Argument, entities: Argument, bias: Argument, dtype: Any, **pairing: Any
    ) -> list[tuple[TopCandidates, float]]:
        """Find the top candidates and the true score of each task by embeddings.

        Parameters
        ----------
        queries, entities, bias : Argument
            The embeddings, and the bias that is added to scores.
        dtype, **pairing
            As in `rank_embeddings`; `pairing` has the similarity.
        """
        from ..embeddings.scoring import score_embeddings, topk_embeddings

        query_vectors = read_side_vectors(queries, "queries", dtype, self.height, "query")
        entity_vectors = read_side_vectors(
            entities, "entities", dtype, self.side.columns, "candidate"
        )
        pairing |= {"rows": self.rows, "dtype": dtype}
        without, among = self.selection_lists()
        names = {"queries": queries.name, "entities": entities.name, "scores": queries.name}
        pairing["bias"] = bias.value
        with renamed(**names, bias=bias.name):
            targets = self.side.targets[self.tasks]
            true = score_embeddings(query_vectors, entity_vectors, targets, **pairing)
            ids, scores = topk_embeddings(
                query_vectors,
                entity_vectors,
                min(self.top, self.side.columns),
                filter=without,
                candidates=among,
                nan=choice("nan", self.protocol.nan, NAN_RULES),
                **pairing,
            )
        return [
            (self._label_scores(ids[i][ids[i] >= 0], scores[i]), true[i].item())
            for i in range(len(self.tasks))
        ]

    def by_scores(self, scores: Argument, dtype: Any) -> list[tuple[TopCandidates, float]]:
        """Find the same in a score matrix, in memory or in files.

        Parameters
        ----------
        scores : Argument
            The scores.
        dtype : str or dtype, optional
            As in `rank`.
        """
        shape = self.height, self.side.columns
        columns = np.arange(self.side.columns)
        without, among = self.selection_lists()
        results = []
        rules: dict[str, Any] = {
            "ascending": self.protocol.order == "ascending",
            "nan": self.protocol.nan,
        }
        with open_side_scores(scores, dtype, None, False, shape, "query") as matrix:
            scores_of_side = matrix if isinstance(matrix, Store) else matrix.array
            for i, row in enumerate(self.rows.tolist()):
                values = read_row(scores_of_side, matrix.dtype, row)
                own_candidates = among[i] if isinstance(among, list) else among
                allowed = columns if own_candidates is None else np.unique(own_candidates)
                if without is not None:
                    allowed = np.setdiff1d(allowed, without[i], assume_unique=True)
                with renamed(scores=f"{scores.name}: row {row}"):
                    best = top_columns(values, allowed, self.top, **rules)
                target = self.side.targets[self.tasks[i]]
                results.append((self._label_scores(best, values[best]), values[target].item()))
        return results

    def _label_scores(self, columns: Iterable[Any], scores: npt.NDArray[Any]) -> TopCandidates:
        names = self.side.names
        return [
            (int(column) if names is None else names[int(column)], score.item())
            for column, score in zip(columns, scores, strict=False)
        ]


class TaskCounts(NamedTuple):
    """The counts of a task, which must agree with the top candidates that a search found."""

    above: int
    tied: int
    top: int
    ascending: bool

    def fits(self, answer: Label, best: TopCandidates, score: float) -> bool:
        """Return whether the top candidates agree with the counts of the answer.

        Parameters
        ----------
        answer : str or int
            The label of the answer.
        best : list of (label, score)
            At most `top`, highest rank first; the answer may be one of them.
        score : float
            The score of the answer. If it is NaN, nothing can be checked.

        Examples
        --------
        >>> best = [("a", 0.9), ("b", 0.5)]
        >>> [TaskCounts(above, 1, 2, False).fits("b", best, 0.5) for above in (1, 0)]
        [True, False]
        """
        if score != score:
            return True
        others = [value for label, value in best if label != answer]
        better = sum(value < score if self.ascending else value > score for value in others)
        level = sum(value == score for value in others)
        if len(best) < self.top or better + level < len(others):  # no tie is cut off
            return (better, level + 1) == (self.above, self.tied)
        if len(others) < len(best):  # the list has the answer, and so every better candidate
            return better == self.above and level < self.tied
        return better <= self.above and better + level < self.above + self.tied


def _split_lists(indptr: IntArray, indices: IntArray, lists: IntArray) -> list[IntArray]:
    return [indices[indptr[i] : indptr[i + 1]] for i in lists.tolist()]


def read_row(scores: npt.NDArray[Any] | Store, dtype: str, row: int) -> npt.NDArray[Any]:
    """Return one row of scores, in native byte order and a dtype that numpy can compare.

    Parameters
    ----------
    scores : ndarray or Store, shape (rows, columns)
        The scores, in memory or in files.
    dtype : str
        The name of their dtype; bfloat16 becomes float32, exactly.
    row : int
        The row.

    Examples
    --------
    >>> read_row(np.array([[1, 2], [0x3F80, 0x4000]], np.uint16), "bfloat16", 1)
    array([1., 2.], dtype=float32)
    """
    columns = np.arange(scores.shape[1])
    rows = np.full_like(columns, row)
    values = scores[row] if isinstance(scores, np.ndarray) else scores.take(rows, columns)
    if dtype == "bfloat16":
        return widen_bfloat16(values)
    return values.astype(values.dtype.newbyteorder("="), copy=False)


def top_columns(
    row: npt.NDArray[Any],
    columns: IntArray,
    k: int,
    *,
    ascending: bool = False,
    nan: NanRule = "raise",
) -> IntArray:
    """Return the k best of some columns, best first; equal scores go by the lower column.

    Parameters
    ----------
    row : ndarray, shape (n,)
        Scores.
    columns : ndarray of int64
        The candidates, ascending and distinct.
    k : int
        The number of columns to return; all if there are fewer.
    ascending : bool
        Whether lower scores are better.
    nan : {"raise", "worst", "omit"}
        "raise": a NaN is an error. "worst": it comes last, by column. "omit": it is no candidate.

    Returns
    -------
    ndarray of int64, shape (up to k,)

    Raises
    ------
    ValueError
        For a NaN if the rule is "raise".

    Examples
    --------
    >>> top_columns(np.array([0.5, 0.9, 0.5, 0.7]), np.arange(4), 3)
    array([1, 3, 0])
    """
    values = row[columns]
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if nan == "raise" and missing.any():
        raise InputValueError("scores", f"column {columns[missing][0]} is NaN")
    last = columns[missing] if nan == "worst" else columns[:0]
    columns, values = columns[~missing], values[~missing]
    if 0 < k < len(values):  # sort only what is as good as the k-th best
        place = k - 1 if ascending else len(values) - k
        kth = np.partition(values, place)[place]
        good = values <= kth if ascending else values >= kth
        columns, values = columns[good], values[good]
    if ascending:
        order = np.argsort(values, kind="stable")
    else:  # integers may lack a negative: sort the reversed values, so that ties stay in order
        order = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    return np.concatenate([columns[order], last])[:k]
