"""rank: scores in chunks of a Dask array."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...counting.job import prepare
from ...inputs.scores import as_scores
from .arrays import checked_array, stand_in
from .graph import Inputs, counted
from .stripes import grid_of
from .workers import How, count, take

if TYPE_CHECKING:
    from ...ranks.container import Ranks


def rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    order: str = "descending",
    nan: str = "raise",
    dtype: Any = None,
    threads: int | None = None,
    audit: bool = False,
) -> Ranks:
    """Count, for every task, the candidates above the true one, in chunks that never meet.

    It is `truerank.rank` of the whole matrix, bit for bit, whatever its chunks are. True scores are
    fetched first; then each chunk is compared with them where it is, and the counts are added up.

    Parameters
    ----------
    scores : dask.array.Array, shape (rows, columns) or (columns,)
        In chunks of any known sizes in both directions. The dtypes are those of `truerank.rank`.
        Chunks that hold a true candidate are computed twice, unless the array is persisted.
    targets : array_like of int, shape (tasks,), or int
        The column of each task's true candidate. A Dask array is computed.
    rows, filter, candidates, order, nan, dtype, audit
        As in `truerank.rank`. Of selections, each chunk is sent its own entries, 8 or 12 bytes
        each. Chunks of which no task reads a row, or that hold no candidates, are not computed.
    threads : int, optional
        The threads with which each task of Dask counts. Default: one, for Dask runs as many tasks
        side by side as its workers have threads.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task, int64.

    Raises
    ------
    TypeError
        For what is no Dask array, and as `truerank.rank`; where chunks are of another dtype than
        the array says.
    ValueError
        As `truerank.rank`; for chunks of unknown sizes, and where a true score is not the same when
        its chunk is computed again. Of several NaN the first one is named, by row and column of
        the whole, whichever worker found its own first.

    Notes
    -----
    For each task, ``above``, ``tied`` and ``candidates`` are sums over the chunks of its row, of
    integers: their order does not matter. The true candidate is in none of them and is counted
    once, at the end.

    Examples
    --------
    >>> import dask.array as da
    >>> scores = da.from_array([[0.1, 0.9, 0.5, 0.5], [0.7, 0.2, 0.2, 0.3]], chunks=(1, 2))
    >>> ranks = rank(scores, [2, 1])
    >>> ranks.optimistic, ranks.pessimistic
    (array([2, 3]), array([3, 4]))
    """
    checked_array("scores", scores, "truerank.rank")
    matrix = as_scores(stand_in(scores), dtype)
    single = scores.ndim == 1
    if single:
        scores = scores[None, :]
    job = prepare(
        scores.shape, single, targets, rows, filter, candidates, order, nan, threads, audit
    )
    raw = None if dtype is None else matrix.dtype
    how = How(matrix.dtype, raw, job.rules, job.threads or 1)
    inputs = Inputs(
        arrays=[(scores, "ij")],
        axes="ij",
        first=partial(take, how=how),
        second=partial(count, how=how),
        carrier=matrix.array.dtype.newbyteorder("="),
    )
    return counted(inputs, grid_of(*scores.chunks), job, how)
