"""Stable pairs: proposals in rounds, from lists of preferences that are extended as needed."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ...embeddings.scoring import CurrentMatches

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...embeddings.scoring import TopK
    from ...inputs.arrays import IntArray
    from .similarity_sources import SimilaritySource

    ScoredPairs = tuple[IntArray, IntArray, npt.NDArray[Any]]

BATCH_SHARE = 4  # a pass must match one in 4 free entities, else batches propose
NO_HOLDER = np.iinfo(np.int64).max  # the holder of a right entity that is free: above any id


def stable_pairs(source: SimilaritySource, k: int) -> ScoredPairs:
    """Return the stable matching of left and right entities, without the matrix of their scores.

    Both sides prefer higher scores, and of equal ones the lower id of the other side. Every entity
    prefers a pair that is no NaN to none.

    Parameters
    ----------
    source : Source
    k : int
        The number of preferences in memory at a time, for each proposing entity; it does not change
        the result.

    Returns
    -------
    left, right : ndarray of int64, shape (n,)
        The pairs as ids, ordered by left id.
    scores : ndarray, shape (n,)

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
    >>> from .similarity_sources import open_source
    >>> stable_pairs(open_source([[0.9, 0.8], [0.9, 0.1]], None), 1)
    (array([0, 1]), array([0, 1]), array([0.9, 0.1]))
    """
    if len(source.left_ids) > len(source.right_ids):
        right, left, scores = _StableMatching(source.swapped(), k).match()
        order = np.argsort(left, kind="stable")
        return left[order], right[order], scores[order]
    return _StableMatching(source, k).match()


class _StableMatching:
    """The current matching, and the lists of proposing entities as ranges of one pool."""

    def __init__(self, source: SimilaritySource, k: int) -> None:
        left, right = source.shape
        self.source = source
        self.pool_size = max(1, len(source.left_ids)) * k  # entries of the pool
        self.width = k
        self.held_scores = np.full(right, -np.inf, source.dtype)
        self.holders = np.full(right, NO_HOLDER)
        self.next_entries, self.list_ends = np.zeros((2, left), np.int64)  # the rest of each list
        self.complete = np.zeros(left, bool)  # no other entity would accept
        self.last_scores = np.full(left, -np.inf, source.dtype)  # the score of the last proposal
        self.ids = np.empty(0, np.int64)
        self.scores = np.empty(0, source.dtype)

    def match(self) -> ScoredPairs:
        """Propose until no free entity has anyone left to ask."""
        free = self.source.left_ids
        if len(free) and len(self.source.right_ids):
            # first among all, which also meets every NaN; later among those that would accept
            width = min(self.width, len(self.source.right_ids))
            self.add_lists(free, self.source.top_k(width))
            before, free = len(free), self.propose_in_rounds(free)
        else:
            before, free = 0, free[:0]
        while len(free):
            if (before - len(free)) * BATCH_SHARE < before:
                free = self.propose_in_batches(free)
            before, free = len(free), self.propose(free)
        matched = np.flatnonzero(self.holders != NO_HOLDER)
        matched = matched[np.argsort(self.holders[matched], kind="stable")]
        return self.holders[matched], matched, self.held_scores[matched]

    def propose(self, rows: IntArray) -> IntArray:
        """Get new lists for some free entities, let them propose, and return those still free."""
        if not len(rows):
            return rows
        width = min(len(self.source.right_ids), max(self.width, self.pool_size // len(rows)))
        self.compact()
        current = CurrentMatches(self.held_scores, self.holders)
        self.add_lists(rows, self.source.top_k(width, rows, current))
        return self.propose_in_rounds(rows)

    def propose_in_batches(self, free: IntArray) -> IntArray:
        """Let a quarter of the free entities propose, in batches, and return those still free."""
        # lists of this length fit into the pool, and suffice for a batch of this size
        size = max(isqrt(self.pool_size), self.pool_size // len(self.source.right_ids))
        quota = -(-len(free) // BATCH_SHARE)
        while quota > 0 and len(free) > size:
            order = np.lexsort((free, -self.last_scores[free]))
            batch, others = np.sort(free[order[:size]]), free[order[size:]]
            free = np.union1d(others, self.propose(batch))
            quota -= size
        return free

    def add_lists(self, rows: IntArray, best: TopK) -> None:
        """Add new lists to the pool."""
        there = best.ids >= 0
        counts = there.sum(axis=1)
        self.complete[rows] = counts < there.shape[1]
        if there.shape[1] >= len(self.source.right_ids):
            self.complete[rows] = True
        self.list_ends[rows] = len(self.ids) + np.cumsum(counts)
        self.next_entries[rows] = self.list_ends[rows] - counts
        self.ids = np.concatenate([self.ids, best.ids[there]])
        self.scores = np.concatenate([self.scores, best.scores[there]])

    def compact(self) -> None:
        """Drop from the pool entries that were used or would be refused; cut long lists."""
        rows = np.flatnonzero(self.next_entries < self.list_ends)
        counts = self.list_ends[rows] - self.next_entries[rows]
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(self.next_entries[rows] - starts, counts)
        owners = np.repeat(rows, counts)
        ids, scores = self.ids[places], self.scores[places]
        kept = self.accepts(owners, ids, scores)
        owners, ids, scores = owners[kept], ids[kept], scores[kept]
        counts = np.bincount(owners, minlength=len(self.next_entries))
        if len(ids) > self.pool_size:
            each = max(1, self.pool_size // len(rows))
            place = np.arange(len(ids)) - (np.cumsum(counts) - counts)[owners]
            self.complete &= counts <= each
            kept = place < each
            ids, scores = ids[kept], scores[kept]
            counts = np.minimum(counts, each)
        self.ids, self.scores = ids, scores
        self.list_ends = np.cumsum(counts)
        self.next_entries = self.list_ends - counts

    def accepts(
        self, left: IntArray, right: IntArray, scores: npt.NDArray[Any]
    ) -> npt.NDArray[np.bool_]:
        """Return whether right entities prefer left ones to their current partners."""
        held = self.held_scores[right]
        result: npt.NDArray[np.bool_] = scores > held
        result |= (scores == held) & (left < self.holders[right])
        return result

    def propose_in_rounds(self, free: IntArray) -> IntArray:
        """Let all propose at once until their lists are used up, and return those still free."""
        waiting = []
        while len(free):
            more = self.next_entries[free] < self.list_ends[free]
            waiting.append(free[~more & ~self.complete[free]])
            left = free[more]
            place = self.next_entries[left]
            self.next_entries[left] += 1
            right, scores = self.ids[place], self.scores[place]
            self.last_scores[left] = scores
            accepted = self.accepts(left, right, scores)
            refused = left[~accepted]
            left, right, scores = left[accepted], right[accepted], scores[accepted]
            order = np.lexsort((left, -scores, right))
            left, right, scores = left[order], right[order], scores[order]
            first = np.ones(len(right), bool)
            first[1:] = right[1:] != right[:-1]
            won = right[first]
            displaced = self.holders[won]
            self.held_scores[won], self.holders[won] = scores[first], left[first]
            free = np.concatenate([refused, left[~first], displaced[displaced != NO_HOLDER]])
        return np.sort(np.concatenate(waiting)) if waiting else free
