"""Counting: scores and targets in, Ranks out."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.checks import IO, choice
from ..inputs.naming import public
from ..inputs.scores import as_scores
from ..stores import store_of
from .job import prepare_job

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from ..ranks.container import Ranks
    from .tiles import Progress


@public("truerank")
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
    io: str | None = None,
    progress: Callable[[Progress], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Ranks:
    """Count, for every task, the candidates above the true one, and those tied with it.

    For the true score a among the scores S of a task's candidates (the true one included),
    ``above`` = #{b in S : b > a}, ``tied`` = #{b in S : b == a} >= 1 and ``candidates`` = #S. The
    optimistic rank is above + 1, the pessimistic above + tied, the realistic their mean.

    Every score that is needed is read once, from memory or from files that need not fit in it;
    nothing is copied, sorted or written to. The counts are the same for every number of threads,
    instruction set, memory layout and cut into files.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,), or files
        One column per entity. float16, bfloat16, float32, float64 or integers of 8 to 64 bits, in
        any layout: Fortran order, slices, broadcasts, read-only, memory maps. Anything with
        `__array__`, the buffer protocol or DLPack; torch tensors and JAX arrays on the CPU or on an
        accelerator, from which they come block by block. Or the path of a `.npy`
        file or of an `.npz` that is not compressed, a list of paths or a pattern
        (``"part-*.npy"``) of files that follow each other row by row, a zarr array, an HDF5 data
        set, or whatever `open_scores` opened: files that follow each other by columns, raw binary.
    targets : array_like of int, shape (tasks,), or int
        The column of each task's true candidate; one integer for all tasks.
    rows : array_like of int, shape (tasks,), optional
        The row each task reads, in any order, as often as wanted. Default: task i reads row i, of
        a single row every task reads that.
    filter : selection, optional
        Columns to leave out, per task: ``(indptr, indices)`` as in a CSR matrix;
        ``(indptr, indices, lists)``, where task i has list ``lists[i]``; a scipy.sparse matrix of
        shape (tasks, columns), whose stored entries count; a list of index lists. Repeats and
        disorder change nothing. The target is never left out.
    candidates : selection, or array_like of int, optional
        The only columns to let in: a selection likewise, or one index array for all tasks. The
        target must be among them.
    order : {"descending", "ascending"}
        "descending": higher scores are better. "ascending": lower ones, as for distances.
    nan : {"raise", "worst", "omit"}
        The rule for a NaN in S (elsewhere it is ignored). "raise": an error. "worst": a candidate
        that is never above and never tied; a NaN truth has above = candidates - 1, tied = 1.
        "omit": no candidate; a NaN truth is an error.
    dtype : str or dtype, optional
        What raw 16-bit scores are, as "bfloat16" (numpy reads a bfloat16 .npy back as raw bytes).
        It never converts.
    threads : int, optional
        Threads to use. Default: as many as OMP_NUM_THREADS, the processor affinity and the control
        group allow and other calls leave free; one for small work.
    audit : bool
        Also count, per task, the candidates that are NaN or infinite, and those at the best score
        of the row's candidates (before the filter); they are in ``Ranks.audit``.
    io : {"map", "read"}, optional
        How files are read; by default as they were opened, or "map". "map": as memory maps, whose
        sizes are checked before every block; a file that another process cuts off within one still
        kills this process. "read": into small buffers, where that is an error like any other.
    progress : callable, optional
        Called with a `Progress` on this thread, at the start and after every block of scores.
    checkpoint : path-like, optional
        A file that keeps what has been counted, written every few seconds and where the call ends
        early. Where it is there, the call goes on from it, to the same integers; it must be of the
        same call and unchanged scores. It is left in place.

    Returns
    -------
    Ranks
        ``above``, ``tied`` and ``candidates`` per task, int64.

    Raises
    ------
    TypeError
        For scores of another dtype, and for indices that are no integers.
    ValueError
        For shapes that do not fit, indices out of range (negative ones too), a target that is not
        among its candidates, and a NaN that the rule forbids (with its first row and column; of
        files that hold parts of rows with that of the first part that has one). For files that are
        damaged or change meanwhile, and a checkpoint of another call.
    OSError
        For files that are missing or cannot be read.

    Notes
    -----
    Scores are compared exactly, in their own dtype: no tolerance, no conversion. Infinities are
    ordinary scores, and -0.0 equals 0.0.

    Examples
    --------
    >>> import truerank as tr
    >>> ranks = tr.rank([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]], [2, 1])
    >>> ranks.optimistic, ranks.pessimistic
    (array([2, 2]), array([2, 3]))
    >>> tr.rank([[0.1, 0.9, 0.5]], [2], filter=[[1]]).optimistic
    array([1])
    """
    tiled = progress is not None or checkpoint is not None
    plain = type(scores) is np.ndarray and scores.base is None  # the usual case, told at no cost
    store = store_of(scores, dtype, io, tiled=tiled) if tiled or not plain else None
    arguments = (targets, rows, filter, candidates, order, nan, threads, audit)
    if store is not None:
        from .tiles import rank_store

        with nullcontext() if store is scores else store:
            job = prepare_job(store.shape, store.single_row, *arguments)
            return rank_store(store, job, io=io, progress=progress, checkpoint=checkpoint)
    if io is not None:
        choice("io", io, IO)
    matrix = as_scores(scores, dtype)
    shape: tuple[int, ...] = matrix.array.shape
    single = len(shape) == 1
    if single:
        shape = 1, *shape
    job = prepare_job(shape, single, *arguments)
    counted = _core.rank(matrix, job.tasks(), job.rules, job.threads)
    if fault := counted.fault:
        raise job.error_of(fault)
    return job.ranks(counted.arrays, matrix.dtype)
