"""Stable pairs: proposals in rounds, from lists of preferences that are asked for as they go."""

from __future__ import annotations

from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...embeddings.scoring import TopK
    from ...inputs.arrays import IntArray
    from .similarity_sources import SimilaritySource

    ScoredPairs = tuple[IntArray, IntArray, npt.NDArray[Any]]

BATCH_SHARE = 4  # a pass is to match one in so many of those who are free, or they come in batches
NO_HOLDER = np.iinfo(np.int64).max  # whom a right entity holds that holds none: above any id


def stable_pairs(source: SimilaritySource, k: int) -> ScoredPairs:
    """Give the stable matching of left and right entities, without the matrix of their scores.

    Both sides prefer higher scores, and of equal ones the lower id of the other side. A pair that
    is no NaN is rather wanted than none.

    Parameters
    ----------
    source : Source
    k : int
        How many preferences are in memory at a time, for each of those who propose; it changes
        nothing.

    Returns
    -------
    left, right : ndarray of int64, shape (n,)
        Ids, by left ones.
    scores : ndarray, shape (n,)

    Notes
    -----
    Deferred acceptance (Gale and Shapley, College admissions and the stability of marriage, 1962):
    who is free proposes to the best not yet asked, who is asked keeps the best. The result does
    not depend on the order of proposals, so all who are free propose at once.

    Here it does not depend on who proposes, either: both sides go by the same scores, and ordered
    by score, then left id, then right id, all pairs stand in one line that each entity's own
    preferences follow. There is one stable matching, the one that takes pairs along that line
    wherever both are free. So the smaller side proposes, as it is refused less.

    Who is asked only trades up: whoever is refused once is refused for ever. When a list is used
    up, the next part of it is therefore asked for among those alone who would still accept. Mostly
    fewer and fewer need it, so their parts grow: the memory stays the same, and passes are few.

    Where preferences agree (scores that are all equal, or one order for everybody), a pass of all
    matches no more than one list is long. So after a pass that leaves more than three quarters of
    them free, a batch is let in at a time, with lists as long as the batch is large, which serve
    it though all on it want the same; when that was a quarter of those who are free, all are asked
    for again. Of equal or agreeing scores all pairs are looked at about five times at most.
    Batches begin with those who proposed for the highest score last, of equal ones with the lowest
    ids: where preferences agree these are the ones that nobody displaces later.

    Examples
    --------
    >>> from .similarity_sources import ScoringOptions, open_source
    >>> stable_pairs(open_source([[0.9, 0.8], [0.9, 0.1]], None, ScoringOptions()), 1)
    (array([0, 1]), array([0, 1]), array([0.9, 0.1]))
    """
    if len(source.left_ids) > len(source.right_ids):
        right, left, scores = _StableMatching(source.swapped(), k).match()
        order = np.argsort(left, kind="stable")
        return left[order], right[order], scores[order]
    return _StableMatching(source, k).match()


class _StableMatching:
    """Who holds whom, and the lists of those who propose: parts of one pool, by left id."""

    def __init__(self, source: SimilaritySource, k: int) -> None:
        left, right = source.shape
        self.source = source
        self.pool_size = max(1, len(source.left_ids)) * k  # entries of the pool
        self.width = k
        self.held_scores = np.full(right, -np.inf, source.dtype)
        self.holders = np.full(right, NO_HOLDER)
        self.next_entries, self.list_ends = np.zeros(
            (2, left), np.int64
        )  # what is left of each list
        self.complete = np.zeros(left, bool)  # nobody else would accept
        self.last_scores = np.full(left, -np.inf, source.dtype)  # the score of the last proposal
        self.ids = np.empty(0, np.int64)
        self.scores = np.empty(0, source.dtype)

    def match(self) -> ScoredPairs:
        """Propose until nobody who is free has anybody to ask."""
        free = self.source.left_ids
        if len(free) and len(self.source.right_ids):
            # Of all at first, which also meets every NaN; later on of those who would accept.
            width = min(self.width, len(self.source.right_ids))
            self.add_lists(free, self.source.top_k(width))
            before, free = len(free), self.propose_in_rounds(free)
        else:
            before, free = 0, free[:0]
        while len(free):
            if (before - len(free)) * BATCH_SHARE < before:
                free = self.propose_in_batches(free)
            before, free = len(free), self.propose(free)
        taken = np.flatnonzero(self.holders != NO_HOLDER)
        taken = taken[np.argsort(self.holders[taken], kind="stable")]
        return self.holders[taken], taken, self.held_scores[taken]

    def propose(self, rows: IntArray) -> IntArray:
        """Ask for lists of some who are free, and let them propose; give those left."""
        if not len(rows):
            return rows
        width = min(len(self.source.right_ids), max(self.width, self.pool_size // len(rows)))
        self.compact()
        self.add_lists(
            rows, self.source.top_k_accepting(width, rows, self.held_scores, self.holders)
        )
        return self.propose_in_rounds(rows)

    def propose_in_batches(self, free: IntArray) -> IntArray:
        """Let in a part of those who are free, by and by; give those left."""
        # Lists of this length have room in the pool, and each is refused by no more of the batch.
        size = max(isqrt(self.pool_size), self.pool_size // len(self.source.right_ids))
        quota = -(-len(free) // BATCH_SHARE)
        while quota > 0 and len(free) > size:
            order = np.lexsort((free, -self.last_scores[free]))
            batch, others = np.sort(free[order[:size]]), free[order[size:]]
            free = np.union1d(others, self.propose(batch))
            quota -= size
        return free

    def add_lists(self, rows: IntArray, best: TopK) -> None:
        """Take new lists into the pool."""
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
        """Leave out of the pool what was asked, and who would refuse; long lists are cut."""
        rows = np.flatnonzero(self.next_entries < self.list_ends)
        counts = self.list_ends[rows] - self.next_entries[rows]
        starts = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(self.next_entries[rows] - starts, counts)
        whose = np.repeat(rows, counts)
        ids, scores = self.ids[places], self.scores[places]
        kept = self.accepts(whose, ids, scores)
        whose, ids, scores = whose[kept], ids[kept], scores[kept]
        counts = np.bincount(whose, minlength=len(self.next_entries))
        if len(ids) > self.pool_size:
            each = max(1, self.pool_size // len(rows))
            place = np.arange(len(ids)) - (np.cumsum(counts) - counts)[whose]
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
        """Whether right entities would take left ones for what they hold."""
        held = self.held_scores[right]
        result: npt.NDArray[np.bool_] = scores > held
        result |= (scores == held) & (left < self.holders[right])
        return result

    def propose_in_rounds(self, free: IntArray) -> IntArray:
        """Let all who are free propose at once, until their lists are used up; give those left."""
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
