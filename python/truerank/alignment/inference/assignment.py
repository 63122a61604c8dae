"""Optimal pairs: the matching with the highest sum of scores, over all pairs or similar ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...inputs.errors import InputValueError
from .stable_matching import stable_pairs

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray
    from .similarity_sources import SimilaritySource
    from .stable_matching import ScoredPairs

# The most scores for the dense solver: they take 1 GiB in float64, and the solver works in place.
# The 10,500 test pairs of a data set of 15,000 fit; all of 15,000 entities do not.
MAX_DENSE_CELLS = 1 << 27
DEFAULT_CANDIDATES = 32


def optimal_pairs(
    source: SimilaritySource, dense: bool | None, candidates: int | None, k: int
) -> tuple[ScoredPairs, str]:
    """Return the largest matching with the highest total, and the problem that was solved.

    Parameters
    ----------
    source : Source
    dense : bool, optional
        Whether to consider all pairs. Default: yes if there are at most `MAX_DENSE_CELLS` of
        them and no `candidates` are given.
    candidates : int, optional
        The number of most similar entities to consider for each entity of both sides.
    k : int
        As in `stable_pairs`.

    Raises
    ------
    ImportError
        If scipy is not installed.
    ValueError
        If `dense` is true and `candidates` are given, and for infinite scores.
    """
    if dense and candidates is not None:
        raise InputValueError(
            "candidates_per_entity", expected="None where dense=True, which has all"
        )
    if dense is None:
        cells = len(source.left_ids) * len(source.right_ids)
        dense = candidates is None and cells <= MAX_DENSE_CELLS
    if dense:
        return dense_pairs(source), "dense"
    candidates = DEFAULT_CANDIDATES if candidates is None else candidates
    return sparse_pairs(source, candidates, k), f"sparse, {candidates} candidates per entity"


def dense_pairs(source: SimilaritySource) -> ScoredPairs:
    """Return the matching with the highest total over all pairs, by the dense solver.

    Raises
    ------
    ImportError
        If scipy is not installed.
    ValueError
        For scores that are infinite.

    Notes
    -----
    The result has the highest total among the matchings with the most pairs that are no NaN. A NaN
    costs more than the totals of other matchings can differ, so the solver takes it only if nothing
    else is left; then the pair is left out.
    """
    from scipy.optimize import linear_sum_assignment as solve  # few calls need it

    if len(source.left_ids) > len(source.right_ids):  # the solver would copy the other shape
        right, left, scores = dense_pairs(source.swapped())
        return _sort_by_left(left, right, scores)
    rows, columns = source.left_ids, source.right_ids
    costs = np.empty((len(rows), len(columns)))  # float64, the dtype of the solver
    for start, block in source.blocks(rows):
        _check_finite(block, source, rows[start:], columns)
        np.negative(block, out=costs[start : start + len(block)], dtype=np.float64)
    absent = np.isnan(costs) if source.nan == "omit" else np.zeros((1, 1), bool)
    if absent.all():  # also if no entity takes part
        return rows[:0], columns[:0], np.empty(0, source.dtype)
    if absent.any():
        costs[absent] = _prohibitive_cost(costs, len(rows))
    row, column = solve(costs)
    scores = -costs[row, column]
    if absent.any():
        kept = ~absent[row, column]
        row, column, scores = row[kept], column[kept], scores[kept]
    return rows[row], columns[column], scores.astype(source.dtype)


def sparse_pairs(source: SimilaritySource, candidates: int, k: int) -> ScoredPairs:
    """Return the matching with the highest total over similar pairs, by the sparse solver.

    Raises
    ------
    ImportError
        If scipy is not installed.
    ValueError
        For scores that are infinite.

    Notes
    -----
    The solver considers the pairs of every entity of both sides with its most similar ones, and the
    stable pairs. Stable pairs match the whole smaller side, so there always is a solution, and its
    total is never below theirs. If NaN leave entities without a partner, each entity of the smaller
    side may also have none, which costs more than the totals of other matchings can differ.

    The solver takes a zero for no pair, so a cost is the highest score plus 1 minus the score. This
    shifts all matchings of one size by the same amount.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching as solve

    if len(source.left_ids) > len(source.right_ids):
        right, left, scores = sparse_pairs(source.swapped(), candidates, k)
        return _sort_by_left(left, right, scores)
    rows, columns = source.left_ids, source.right_ids
    row, column, scores, matched = _candidate_pairs(source, candidates, k)
    _check_finite(scores, source, rows[row], columns[column])
    if not len(scores):
        return rows[:0], columns[:0], scores
    wide = scores.astype(np.float64)
    costs = wide.max() - wide + 1
    width = len(columns)
    if matched < len(rows):
        row_numbers = np.arange(len(rows))
        penalties = np.full(len(rows), _prohibitive_cost(costs, len(rows)))
        row, column = (
            np.concatenate([row, row_numbers]),
            np.concatenate([column, width + row_numbers]),
        )
        costs, width = np.concatenate([costs, penalties]), width + len(rows)
    matrix = sparse.coo_array((costs, (row, column)), (len(rows), width)).tocsr()
    row_of, column_of = (np.asarray(found, np.int64) for found in solve(matrix))
    kept = column_of < len(columns)
    row_of, column_of = row_of[kept], column_of[kept]
    keys = row[: len(scores)] * len(columns) + column[: len(scores)]  # ascending
    place = np.searchsorted(keys, row_of * len(columns) + column_of)
    return rows[row_of], columns[column_of], scores[place]


def _candidate_pairs(
    source: SimilaritySource, candidates: int, k: int
) -> tuple[IntArray, IntArray, npt.NDArray[Any], int]:
    """Return positions and scores of similar and stable pairs, and the number of stable ones."""
    rows, columns = source.left_ids, source.right_ids
    left, right, scores = stable_pairs(source, k)
    results = [(left, right, scores)]
    for direction, ids, other in (
        (source, rows, columns),
        (source.swapped(), columns, rows),
    ):
        best = direction.top_k(min(candidates, max(1, len(other))))
        exists = best.ids >= 0
        pair = (np.repeat(ids, exists.sum(axis=1)), best.ids[exists])
        results.append((*(pair if direction is source else pair[::-1]), best.scores[exists]))
    lefts, rights, values = (np.concatenate(part) for part in zip(*results, strict=True))
    keys = np.searchsorted(rows, lefts) * len(columns) + np.searchsorted(columns, rights)
    keys, first = np.unique(keys, return_index=True)
    return keys // max(1, len(columns)), keys % max(1, len(columns)), values[first], len(left)


def _prohibitive_cost(costs: npt.NDArray[Any], pairs: int) -> float:
    """Return a cost above any difference between matchings; some of the costs may be NaN."""
    least, most = (float(f.reduce(costs, axis=None)) for f in (np.fmin, np.fmax))
    return most + (most - least + 1) * (pairs + 1)


def _sort_by_left(left: IntArray, right: IntArray, scores: npt.NDArray[Any]) -> ScoredPairs:
    order = np.argsort(left, kind="stable")
    return left[order], right[order], scores[order]


def _check_finite(
    scores: npt.NDArray[Any], source: SimilaritySource, left: IntArray, right: IntArray
) -> None:
    """Refuse infinite scores, which have no total."""
    infinite = np.isinf(scores)
    if infinite.any():
        place = tuple(np.argwhere(infinite)[0])
        pair = (left[place[0]], right[place[-1]])
        found = dict(zip(source.names, pair, strict=True))
        raise InputValueError(
            "scores",
            expected="finite ones for an optimal total",
            got=f"{scores[place]} of left {found['left']} and right {found['right']}",
        )
