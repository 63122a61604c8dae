"""Counting: scores and targets in, Ranks out."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .counts import Audit
from .protocol import Protocol
from .ranks import Ranks
from .scores import Scores, as_scores
from .selection import as_integers, as_selection, first_outside

if TYPE_CHECKING:
    from .arrays import IntArray

ORDERS = ("descending", "ascending")
NAN_RULES = ("raise", "worst", "omit")


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
    """Count, for every task, the candidates above the true one, and those tied with it.

    For the true score a among the scores S of a task's candidates (the true one included),
    ``above`` = #{b in S : b > a}, ``tied`` = #{b in S : b == a} >= 1 and ``candidates`` = #S. The
    optimistic rank is above + 1, the pessimistic above + tied, the realistic their mean.

    Every score that is needed is read from memory once; nothing is copied, sorted or written to.
    The counts are the same for every number of threads, instruction set and memory layout.

    Parameters
    ----------
    scores : array_like, shape (rows, columns) or (columns,)
        One column per entity. float16, bfloat16, float32, float64 or integers of 8 to 64 bits, in
        any layout: Fortran order, slices, broadcasts, read-only, memory maps. Anything with
        `__array__`, the buffer protocol or DLPack, and torch CPU tensors.
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
        among its candidates, and a NaN that the rule forbids (with its first row and column).

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
    matrix = as_scores(scores, dtype)
    ascending = _choice("order", order, ORDERS) == "ascending"
    _choice("nan", nan, NAN_RULES)
    team = _threads(threads)
    task_rows, task_targets = _tasks(matrix, targets, rows)
    array = matrix.array if matrix.array.ndim == 2 else matrix.array[None, :]
    tasks, columns = len(task_targets), array.shape[1]
    without = as_selection("filter", filter, tasks, columns, team)
    among = as_selection("candidates", candidates, tasks, columns, team)
    counted = _core.rank(
        array,
        matrix.dtype,
        matrix.swapped,
        task_rows,
        task_targets,
        without,
        among,
        ascending,
        nan,
        bool(audit),
        team,
    )
    *counts, fault = counted
    if fault is not None:
        raise ValueError(_explain(fault, nan, task_targets))
    above, tied, sizes, *audited = counts
    protocol = _protocol(filter is not None, candidates is not None, nan, order, matrix.dtype)
    return Ranks._trusted(
        above, tied, sizes, audit=Audit(*audited) if audit else None, protocol=protocol
    )


def _tasks(matrix: Scores, targets: Any, rows: Any) -> tuple[IntArray | None, IntArray]:
    """The row (None: task i reads row i) and the target of every task."""
    shape = matrix.array.shape
    height = shape[0] if len(shape) == 2 else 1
    task_targets = as_integers("targets", targets)
    if task_targets.ndim > 1:
        raise ValueError(
            f"targets: expected one integer or a 1-D array, got shape {task_targets.shape}"
        )
    task_rows = None
    if rows is not None:
        task_rows = as_integers("rows", rows)
        if task_rows.ndim != 1:
            raise ValueError(f"rows: expected a 1-D array, got shape {task_rows.shape}")
    if task_targets.ndim == 0:
        tasks = height if task_rows is None else len(task_rows)
        task_targets = np.full(tasks, task_targets, dtype=np.int64)
    tasks = len(task_targets)
    if task_rows is not None:
        if len(task_rows) != tasks:
            raise ValueError(
                f"rows: expected {tasks} rows, one for each target, got {len(task_rows)}"
            )
        _check_range("rows", task_rows, height, "rows of scores")
    elif len(shape) == 1:
        task_rows = np.zeros(tasks, dtype=np.int64)
    elif tasks != height:
        raise ValueError(
            f"targets: expected {height} integers, one for each row of scores, got {tasks}"
        )
    _check_range("targets", task_targets, shape[-1], "columns of scores")
    return task_rows, task_targets


def _check_range(name: str, values: IntArray, bound: int, what: str) -> None:
    wrong = first_outside(values, bound)
    if wrong >= 0:
        raise ValueError(
            f"{name}: expected integers from 0 to {bound - 1} ({bound} {what}), "
            f"got {values[wrong]} for task {wrong}"
            if bound
            else f"{name}: expected no task, for there are no {what}"
        )


def _choice(name: str, value: object, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    if value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
    return value


def _threads(threads: object) -> int:
    if threads is None:
        return 0
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)):
        raise TypeError(f"threads: expected an integer, got {type(threads).__name__}")
    if threads < 1:
        raise ValueError(f"threads: expected at least 1, got {threads}")
    return min(int(threads), 1 << 20)  # the core takes no more than are of use


def _explain(fault: Any, nan: str, targets: IntArray) -> str:
    kind, task, row, column = fault
    if kind == "target":
        return f"candidates: the target {targets[task]} of task {task} is not among its candidates"
    what = "the true score" if kind == "nan_truth" else "a score"
    return f'scores: {what} at row {row}, column {column} is NaN, which nan="{nan}" does not allow'


@lru_cache(maxsize=64)
def _protocol(filtered: bool, selected: bool, nan: str, order: str, dtype: str) -> Protocol:
    return Protocol(
        filter=("unnamed",) if filtered else (),
        candidates="selection" if selected else "all",
        nan=nan,
        order=order,
        dtype=dtype,
        version=_core.__version__,
    )
