"""Counting: scores and targets in, Ranks out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from .. import counting
from .._core import Scores
from ..inputs.checks import choice
from ..inputs.progress_listeners import as_listener, reporter
from ..inputs.rules import IO, RuleOptions, read_rules, with_options
from ..naming import public
from ..stores import read_scores, shape_of
from .job import prepare_job, refuse_places

if TYPE_CHECKING:
    import os

    from ..inputs.progress_listeners import Listener
    from ..inputs.rules import IoMode
    from ..ranks.container import Ranks
    from ..stores import Store
    from .job import Job


@public("truerank")
@with_options(RuleOptions)
def rank(
    scores: Any,
    targets: Any,
    *,
    rows: Any = None,
    filter: Any = None,
    candidates: Any = None,
    io: IoMode | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Unpack[RuleOptions],
) -> Ranks:
    """Count, for every task, the candidates above the true one, and those tied with it.

    For the true score a among the scores S of a task's candidates (the true one included),
    ``above`` = #{b in S : b > a}, ``tied`` = #{b in S : b == a} >= 1 and ``candidates`` = #S. The
    optimistic rank is above + 1, the pessimistic above + tied, the realistic their mean.

    Every score that is needed is read once, from memory or from files that need not fit in memory.
    Nothing is copied, sorted or written to. The counts do not depend on the number of threads, the
    instruction set, the memory layout or how files divide the matrix.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,), or files
        One column per entity. float16, bfloat16, float32, float64 or integers of 8 to 64 bits, in
        any layout: Fortran order, slices, broadcasts, read-only arrays, memory maps. Anything with
        `__array__`, the buffer protocol or DLPack; torch tensors on the CPU or on a device, where
        they are counted (see Notes). For an array of JAX give ``torch.from_dlpack(x)``. Or the path
        of a `.npy` file or of an uncompressed `.npz`; a list of paths or of matrices, or a pattern
        (``"part-*.npy"``), each with the next rows; or what `open_scores` returns, as for files
        with the next columns. Or a DataFrame, a table of Arrow or an array of xarray of one dtype
        whose rows and columns are only numbered (a missing number is NaN); for others give
        ``.to_numpy()``.
    targets : array_like of int, shape (tasks,), or int
        The column of each task's true candidate; one for all tasks.
    rows : array_like of int, shape (tasks,), optional
        The row that each task reads, in any order and with repeats. Default: task i reads row i; if
        there is a single row, (columns,) or (1, columns), all tasks read it.
    filter : selection, optional
        Columns to leave out, per task: ``(indptr, indices)`` as in a CSR matrix; ``(indptr,
        indices, lists)``, where task i has list ``lists[i]``; a scipy.sparse matrix of shape
        (tasks, columns), whose stored entries count; a mask of that shape, of bool, True at the
        columns to leave out, at most half of all; a list, or a pandas or polars column, of one
        index array, list or set for each task. Repeats and disorder change nothing. The target is
        never left out. A tuple of two or three plain lists, which could mean either, is refused.
    candidates : selection, or array_like of int, optional
        The only columns to let in: a selection as in `filter`, or one index array, set, or mask of
        shape (columns,) for all tasks. The target must be among them.
    order : {"descending", "ascending"}
        "descending": higher scores are better. "ascending": lower ones, as for distances. Scores of
        ten columns and more whose rows all hold 0 to n - 1, or all 1 to n, also as floats, are
        refused unless `order` is given: ids (argsort), ranks and Borda's points look like this.
    nan : {"raise", "worst", "omit"}
        The rule for a NaN in S; any other NaN is ignored. "raise": an error. "worst": a candidate
        that is never above and never tied; a true score that is NaN has above = candidates - 1 and
        tied = 1. "omit": not a candidate; a true score that is NaN is an error.
    dtype : str or dtype, optional
        What raw 16-bit scores are, as "bfloat16" (numpy reads a bfloat16 .npy back as raw bytes).
        Scores are never converted.
    threads : int, optional
        The number of threads. Default: as many as OMP_NUM_THREADS, the processor affinity and the
        control group allow and other calls leave free; one for small work.
    audit : bool
        Also count, per task, the candidates that are NaN or infinite, and those at the best score
        of the row's candidates (before the filter); the counts are in ``Ranks.audit``.
    io : {"map", "read"}, optional
        How files are read. Default: as they were opened, else "map". "map": as memory maps, whose
        sizes are checked before every tile; if another process truncates a file while a tile is
        read, this process is killed. "read": into small buffers, where that is an ordinary error.
        Only one tile of a file, or the buffers, count as resident memory of the process. A part of
        a numpy.memmap is an array in memory.
    progress : callable or bool, optional
        Called with a `Progress` on this thread, at the start and after every tile of scores. True:
        a bar of tqdm, in a terminal or a notebook.
    checkpoint : path-like, optional
        A file that keeps what has been counted. It is written every few seconds and when the call
        ends early. If it exists, the call goes on from it, with the same integers as result; it
        must come from the same call and unchanged scores. It is not removed. Files are recognised
        by their sizes, times of modification and of change, and inodes: if one was replaced,
        copied, moved or touched since, the checkpoint is refused.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task, int64.

    Raises
    ------
    TypeError
        For scores of another dtype, and for indices that are not integers.
    ValueError
        For shapes that do not fit, indices out of range (also negative ones), a target that is not
        among its candidates, and a NaN that the rule forbids (the error names the first row and
        column; if files hold parts of rows, those in the first such file). For files that are
        damaged or change meanwhile, and for a checkpoint of another call.
    OSError
        For files that are missing or cannot be read.

    Notes
    -----
    Scores are compared exactly, in their own dtype: no tolerance, no conversion. Infinities are
    ordinary scores, and -0.0 equals 0.0.

    Scores on a device are counted there, on the stream that makes them, with the same integers: by
    a kernel of Triton, in at most 256 MB beside the scores and the selections. Targets, rows and
    selections may be on the device, too: they are copied to the host, checked, and copied back. The
    call waits for the counts. Where there is no Triton, or its kernel counts a small problem wrong,
    and in a call with a checkpoint, scores are copied to the host block by block
    (``TRUERANK_DEVICE=host`` chooses that). ``ranks.protocol.device`` says what counted them.

    Examples
    --------
    >>> import numpy as np
    >>> import truerank as tr
    >>> ranks = tr.rank([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]], [2, 1])
    >>> ranks.optimistic, ranks.pessimistic
    (array([2, 2]), array([2, 3]))
    >>> tr.rank([[0.1, 0.9, 0.5]], [2], filter=[[1]]).optimistic
    array([1])
    >>> mask = np.array([[False, True, False]])
    >>> tr.rank([[0.1, 0.9, 0.5]], [2], filter=mask).optimistic
    array([1])
    """
    rules = read_rules(options, RuleOptions, rank)
    if io is not None:
        choice("io", io, IO)
    listener = as_listener(rules.progress)
    tiled = listener is not None or checkpoint is not None
    matrix = read_scores(scores, rules.dtype, tiled=tiled)
    job = prepare_job(
        shape_of(matrix), targets, rules, rows=rows, filter=filter, candidates=candidates
    )
    return rank_job(matrix, job, io, listener, checkpoint)


def rank_job(
    scores: Scores | Store,
    job: Job,
    io: str | None = None,
    listener: Listener | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Ranks:
    """Rank the tasks of a job by scores that are open; ids and ranks as scores are refused."""
    refuse_places(scores, job.rules)
    if isinstance(scores, Scores):
        core_counts = job.count(scores)
        if core_counts.fault is not None:
            raise job.make_error(core_counts.fault)
        ranks = job.ranks(core_counts.arrays, scores.dtype)
        return job.mark_masked(ranks, scores) if core_counts.may_be_masked else ranks
    report_progress = reporter(listener, scores.nbytes)
    counts = counting.driver.count_scores(
        scores, job, io, report_progress=report_progress, checkpoint=checkpoint
    )
    return counts.ranks(job, scores)
