"""Matchings without a shared entity, stable or of the highest total, from similarities."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays.row_keys import codes_of, distinct
from ...embeddings.scoring import CurrentMatches
from ...errors import InputValueError

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...arrays.types import IntArray
    from ...embeddings.scoring import TopK
    from .similarities import Similarities

    Array = npt.NDArray[Any]
    # Left ids and right ids come before the scores of their pairs.
    ScoredPairs = tuple[IntArray, IntArray, Array]

BATCH_SHARE = 4  # If a pass does not match one in 4 free entities, batches propose.
# A free right entity has this holder, which is above any id: on equal scores, any entity may have
# it.
NO_HOLDER = np.iinfo(np.int64).max


def dense_pairs(source: Similarities) -> ScoredPairs:
    """Return the matching with the highest total over all pairs, by the dense solver.

    There are at least as many right entities as left ones: the solver would copy the other shape.

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
    from scipy.optimize import linear_sum_assignment as solve

    rows = source.left_ids
    columns = source.right_ids
    costs = np.empty((len(rows), len(columns)))  # This is float64, the solver's dtype.
    for where, block in source.blocks(rows):
        _check_finite(block, source, rows[where], columns)
        np.negative(block, out=costs[where], dtype=np.float64)
    absent = np.isnan(costs)
    if absent.any():
        costs[absent] = _prohibitive_cost(costs, len(rows))
    row, column = solve(costs)
    kept = ~absent[row, column]
    row = row[kept]
    column = column[kept]
    return rows[row], columns[column], (-costs[row, column]).astype(source.dtype)


def sparse_pairs(source: Similarities, candidates: int, k: int) -> ScoredPairs:
    """Return the matching with the highest total over similar pairs, by the sparse solver.

    There are at least as many right entities as left ones; `k` is that of `StableMatching`.

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
    total is never below theirs. If NaN leave entities without a partner, each left entity may also
    have none, which costs more than the totals of other matchings can differ.

    The solver takes a zero for no pair, so a cost is the highest score plus 1 minus the score. This
    shifts all matchings of one size by the same amount.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching as solve

    rows = source.left_ids
    columns = source.right_ids
    stable = StableMatching(source, k).match()
    matched = len(stable[0])
    of_left = _most_similar_pairs(source, candidates)
    right, left, scores = _most_similar_pairs(source.swapped(), candidates)
    pairs = (stable, of_left, (left, right, scores))
    left, right, scores = (np.concatenate(part) for part in zip(*pairs, strict=True))
    _check_finite(scores, source, left, right)
    if not len(scores):
        return left, right, scores
    width = len(columns)
    keys = np.searchsorted(rows, left) * width + np.searchsorted(columns, right)
    codes = codes_of(keys)
    keys = codes.distinct
    row, column = np.divmod(keys, width)
    scores = scores[codes.first()]
    costs = scores.max().astype(np.float64) - scores + 1
    if matched < len(rows):  # The columns that are added stand for no partner.
        nobody = np.arange(len(rows))
        row = np.concatenate([row, nobody])
        column = np.concatenate([column, width + nobody])
        penalty = _prohibitive_cost(costs, len(rows))
        costs = np.concatenate([costs, np.full(len(rows), penalty)])
    solution = solve(sparse.coo_array((costs, (row, column))).tocsr())
    row, column = (np.asarray(side, np.int64) for side in solution)
    has_partner = column < width
    row = row[has_partner]
    column = column[has_partner]
    place = np.searchsorted(keys, row * width + column)
    return rows[row], columns[column], scores[place]


def _most_similar_pairs(source: Similarities, candidates: int) -> ScoredPairs:
    """Return every left entity with each of its most similar right ones, so many at most."""
    best = source.top_k(min(candidates, len(source.right_ids)))
    place, rank = np.nonzero(best.ids >= 0)
    return source.left_ids[place], best.ids[place, rank], best.scores[place, rank]


def _prohibitive_cost(costs: Array, pairs: int) -> float:
    """Return a cost above any difference between matchings; some costs may be NaN, or all (0)."""
    least = float(np.fmin.reduce(costs, axis=None))
    most = float(np.fmax.reduce(costs, axis=None))
    return float(np.nan_to_num(most + (most - least + 1) * (pairs + 1)))


def _check_finite(scores: Array, source: Similarities, left: IntArray, right: IntArray) -> None:
    """Refuse infinite scores, which have no total."""
    infinite = np.isinf(scores)
    if infinite.any():
        place = tuple(np.argwhere(infinite)[0])
        pair = source.names.score_names.score.format(row=left[place[0]], column=right[place[-1]])
        expected = "finite ones for an optimal total"
        raise InputValueError("scores", expected=expected, got=f"{scores[place]}, {pair}")


class StableMatching:
    """The stable matching of left and right entities, without the matrix of their scores.

    Both sides prefer higher scores, and of equal ones the lower id of the other side. Every entity
    prefers a pair that is no NaN to none. There are at least as many right entities as left ones,
    which propose; their preferences are ranges of one pool.

    Parameters
    ----------
    source : Similarities
    k : int
        The number of preferences in memory at a time, for each proposing entity; it does not change
        the result.

    Notes
    -----
    The method is deferred acceptance (Gale and Shapley, College admissions and the stability of
    marriage, 1962): every free entity proposes to the best one that it has not asked yet, and every
    entity keeps its best proposal. The result does not depend on the order of proposals, so all
    free entities propose at once.

    Here it does not depend on the proposing side either. Both sides use the same scores: ordered by
    score, then left id, then right id, all pairs form one sequence that agrees with the preferences
    of every entity. There is one stable matching, which takes pairs along that sequence whenever
    both entities are free. So the smaller side proposes, as it is refused less often.

    An entity only changes its partner for a better one, so whoever is refused once is refused for
    ever. When a list is used up, its continuation therefore has only entities that would still
    accept. Usually fewer and fewer entities need one, so continuations grow: memory stays the same,
    and there are few passes.

    If preferences agree (all scores are equal, or all entities have one order), a pass matches at
    most as many entities as a list is long. So after a pass that leaves more than three quarters of
    them free, one batch at a time proposes, with lists as long as the batch is large, which suffice
    even if the whole batch has the same preferences. After batches for a quarter of the free
    entities, all get new lists again. For equal or agreeing scores, all pairs are considered about
    five times at most. Batches begin with the highest scores of last proposals, equal ones with the
    lowest ids: if preferences agree, these are the entities that nothing displaces later.

    Examples
    --------
    >>> from .similarities import open_similarities
    >>> StableMatching(open_similarities([[0.9, 0.8], [0.9, 0.1]], None), 1).match()
    (array([0, 1]), array([0, 1]), array([0.9, 0.1]))
    """

    def __init__(self, source: Similarities, k: int) -> None:
        left, right = source.shape
        self.source = source
        self.width = k
        self.pool_size = len(source.left_ids) * k
        self.current = CurrentMatches(
            np.full(right, -np.inf, source.dtype), np.full(right, NO_HOLDER)
        )
        # The rest of each left entity's list is from its next entry to the list's end.
        self.next_entries, self.list_ends = np.zeros((2, left), np.int64)
        # If a list is complete, no entity that it lacks would accept.
        self.complete = np.zeros(left, bool)
        # These are the scores of the last proposals.
        self.last_scores = np.full(left, -np.inf, source.dtype)
        self.owners, self.ids = np.zeros((2, 0), np.int64)
        self.scores = np.empty(0, source.dtype)

    def match(self) -> ScoredPairs:
        """Propose until no free entity has anyone left to ask."""
        free_before_pass = 0
        free = self.source.left_ids
        while len(free):
            if free_before_pass and (free_before_pass - len(free)) * BATCH_SHARE < free_before_pass:
                free = self.propose_in_batches(free)
            free_before_pass = len(free)
            free = self.propose(free)
        held_scores, holders = self.current
        matched = np.flatnonzero(holders != NO_HOLDER)
        return holders[matched], matched, held_scores[matched]

    def propose(self, rows: IntArray) -> IntArray:
        """Get new lists for some free entities, let them propose, and return those still free."""
        if not len(rows):
            return rows
        width = min(len(self.source.right_ids), max(self.width, self.pool_size // len(rows)))
        self.compact()
        self.add_lists(rows, self.source.top_k(width, rows, self.current))
        return self.propose_in_rounds(rows)

    def propose_in_batches(self, free: IntArray) -> IntArray:
        """Let a quarter of the free entities propose, in batches, and return those still free."""
        # Lists of this length fit into the pool, and suffice for a batch of this size.
        size = max(isqrt(self.pool_size), self.pool_size // len(self.source.right_ids))
        quota = -(-len(free) // BATCH_SHARE)
        while quota > 0 and len(free) > size:
            order = np.lexsort((free, -self.last_scores[free]))
            batch = np.sort(free[order[:size]])
            others = free[order[size:]]
            free = distinct(np.append(others, self.propose(batch)))
            quota -= size
        return free

    def add_lists(self, rows: IntArray, best: TopK) -> None:
        """Add new lists to the pool."""
        is_entry = best.ids >= 0
        counts = is_entry.sum(axis=1)
        width = is_entry.shape[1]
        self.complete[rows] = (counts < width) | (width >= len(self.source.right_ids))
        self.list_ends[rows] = len(self.ids) + np.cumsum(counts)
        self.next_entries[rows] = self.list_ends[rows] - counts
        self.owners = np.concatenate([self.owners, np.repeat(rows, counts)])
        self.ids = np.concatenate([self.ids, best.ids[is_entry]])
        self.scores = np.concatenate([self.scores, best.scores[is_entry]])

    def compact(self) -> None:
        """Drop from the pool entries that were used or would be refused; cut long lists."""
        lists = int(np.count_nonzero(self.next_entries < self.list_ends))
        unused = np.arange(len(self.ids)) >= self.next_entries[self.owners]
        self.keep(unused & self.accepts(self.owners, self.ids, self.scores))
        if len(self.ids) > self.pool_size:
            each = max(1, self.pool_size // lists)
            self.complete &= self.list_ends - self.next_entries <= each
            self.keep(np.arange(len(self.ids)) < self.next_entries[self.owners] + each)

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Keep some entries of the pool, in the order of their owners."""
        order = np.flatnonzero(kept)
        order = order[np.argsort(self.owners[order], kind="stable")]
        self.owners = self.owners[order]
        self.ids = self.ids[order]
        self.scores = self.scores[order]
        counts = np.bincount(self.owners, minlength=len(self.next_entries))
        self.list_ends = np.cumsum(counts)
        self.next_entries = self.list_ends - counts

    def accepts(self, left: IntArray, right: IntArray, scores: Array) -> npt.NDArray[np.bool_]:
        """Return whether right entities prefer left ones to their current partners."""
        current_scores = self.current.scores[right]
        result: npt.NDArray[np.bool_] = scores > current_scores
        result |= (scores == current_scores) & (left < self.current.queries[right])
        return result

    def propose_in_rounds(self, free: IntArray) -> IntArray:
        """Let all propose at once until their lists are used up, and return those still free."""
        current_scores, holders = self.current
        waiting = [free[:0]]
        while len(free):
            more = self.next_entries[free] < self.list_ends[free]
            waiting.append(free[~more & ~self.complete[free]])
            left = free[more]
            place = self.next_entries[left]
            self.next_entries[left] += 1
            right = self.ids[place]
            scores = self.scores[place]
            self.last_scores[left] = scores
            accepted = self.accepts(left, right, scores)
            refused = left[~accepted]
            left = left[accepted]
            right = right[accepted]
            scores = scores[accepted]
            # The best proposal to each right entity comes first.
            order = np.lexsort((left, -scores, right))
            left = left[order]
            proposed_to = codes_of(right[order])
            won = proposed_to.distinct
            first = proposed_to.first()
            displaced = holders[won]
            current_scores[won] = scores[order][first]
            holders[won] = left[first]
            displaced = displaced[displaced != NO_HOLDER]
            free = np.concatenate([refused, np.delete(left, first), displaced])
        return np.sort(np.concatenate(waiting))
