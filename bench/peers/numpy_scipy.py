"""numpy, numba and scipy: what users write by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers import Counts, Peer, Problem

__all__ = ["COUNTING", "NEGATIVES", "SORTING", "check_sample", "numpy_by_row", "numpy_idiom"]


def numpy_idiom(scores: NDArray[Any], targets: NDArray[np.integer[Any]]) -> Counts:
    """Count with two comparisons, two boolean matrices, two sums."""
    true_scores = scores[np.arange(len(scores)), targets]
    above = (scores > true_scores[:, None]).sum(1)
    tied = (scores == true_scores[:, None]).sum(1)
    return above, tied


def numpy_by_row(scores: NDArray[Any], targets: NDArray[np.integer[Any]]) -> Counts:
    """Count row by row: each row is still in the cache at the second comparison."""
    above, tied = np.empty((2, len(scores)), np.int64)
    for task, (row, target) in enumerate(zip(scores, targets.tolist(), strict=True)):
        true_score = row[target]
        above[task] = np.count_nonzero(row > true_score)
        tied[task] = np.count_nonzero(row == true_score)
    return above, tied


def check_sample(
    counts: Any, scores: NDArray[Any], targets: NDArray[np.int64], size: int = 50
) -> None:
    """Compare the counts of some rows with those of plain numpy."""
    sample = np.unique(np.linspace(0, len(scores) - 1, size).astype(int))
    above, tied = numpy_by_row(scores[sample], targets[sample])
    np.testing.assert_array_equal(counts.above[sample], above)
    np.testing.assert_array_equal(counts.tied[sample], tied)


def _plain(count: Callable[..., Counts]) -> Callable[[Problem], Callable[[], Counts]]:
    return lambda problem: lambda: count(problem.scores, problem.targets)


@cache
def _numba_loop() -> Callable[..., None]:
    """Both comparisons in one loop over a row, which takes half of the time of two sums."""
    import numba

    @numba.njit(parallel=True)
    def count(scores: Any, targets: Any, above: Any, tied: Any) -> None:
        for task in numba.prange(len(scores)):
            row = scores[task]
            true_score = row[targets[task]]
            greater, equal = 0, 0
            for i in range(len(row)):  # over places: over scores it takes twice as long
                greater += row[i] > true_score
                equal += row[i] == true_score
            above[task], tied[task] = greater, equal

    return count


def _numba(problem: Problem) -> Callable[[], Counts]:
    """Rows are counted in parallel, into arrays made before; all of it is compiled before."""
    import numba

    numba.set_num_threads(problem.threads)
    loop = _numba_loop()
    above, tied = np.empty((2, len(problem.scores)), np.int64)
    loop(problem.scores[:1], problem.targets[:1], above, tied)

    def count() -> Counts:
        loop(problem.scores, problem.targets, above, tied)
        return above, tied

    return count


def _argsort(problem: Problem) -> Callable[[], NDArray[np.int64]]:
    """The position of the target among the sorted columns; the order of a tie is arbitrary."""

    def positions() -> NDArray[np.int64]:
        pairs = zip(problem.scores, problem.targets.tolist(), strict=True)
        return np.array([np.flatnonzero(np.argsort(-row) == at)[0] + 1 for row, at in pairs])

    return positions


def _searchsorted(problem: Problem) -> Callable[[], Counts]:
    """Each row is sorted, then both ends of the tie are searched in it."""

    def counts() -> Counts:
        above, tied = np.empty((2, len(problem.scores)), np.int64)
        pairs = zip(problem.scores, problem.targets.tolist(), strict=True)
        for task, (row, target) in enumerate(pairs):
            ascending = np.sort(row)
            first = np.searchsorted(ascending, row[target], "left")
            last = np.searchsorted(ascending, row[target], "right")
            above[task] = len(row) - last
            tied[task] = last - first
        return above, tied

    return counts


def _rankdata(problem: Problem) -> Callable[[], NDArray[np.float64]]:
    """`rankdata` gives the smallest score rank 1, which needs no negated copy."""
    from scipy.stats import rankdata

    tasks, columns = problem.scores.shape

    def ranks() -> NDArray[np.float64]:
        return columns + 1 - rankdata(problem.scores, axis=1)[np.arange(tasks), problem.targets]

    return ranks


def ogb_counts(positive: Any, negative: Any) -> tuple[Any, Any]:
    """The formula of OGB's Evaluator: negatives above the true score, and not below it."""
    optimistic = (negative > positive).sum(1)
    pessimistic = (negative >= positive).sum(1)
    _ = 0.5 * (optimistic + pessimistic) + 1
    return optimistic, pessimistic - optimistic + 1


def _ogb(problem: Problem) -> Callable[[], Counts]:
    assert problem.true_scores is not None
    positive = problem.true_scores[:, None]
    return lambda: ogb_counts(positive, problem.scores)


COUNTING = {
    "numpy, > and ==": Peer((), _plain(numpy_idiom)),
    "numpy, row by row": Peer((), _plain(numpy_by_row)),
    "numba, one loop": Peer(("numba",), _numba),
}
SORTING = {
    "numpy, argsort by row": Peer((), _argsort, "positions"),
    "numpy, sort and searchsorted by row": Peer((), _searchsorted),
    "scipy, rankdata": Peer(("scipy",), _rankdata, "realistic ranks"),
}
NEGATIVES = {"OGB's formula, numpy": Peer((), _ogb)}
