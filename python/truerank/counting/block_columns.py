"""Placing: which columns of the whole a block of candidates has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.checks import first_outside, integer
from ..inputs.errors import InputValueError
from ..inputs.selection import as_integers, selected_at
from .column_sets import Columns, columns_of, stretch

if TYPE_CHECKING:
    from .._core import Selection
    from ..inputs.arrays import IntArray
    from .job import Job

NOWHERE = -1  # the target's column, where the candidates have no columns


class Placed(NamedTuple):
    """Where a block of candidates stands: its columns, and tasks as the core is to see them."""

    columns: Columns
    first: int
    targets: IntArray
    filter: Selection | None
    ids: IntArray | None

    def column(self, of_block: int) -> int:
        """The column that a column of the block is."""
        return self.first + of_block if self.ids is None else int(self.ids[of_block])


def place(job: Job, whole: int | None, width: int, start: int | None, columns: Any) -> Placed:
    """Find out which columns a block of some width has, of `whole` in all, if they are numbered."""
    if whole is None:
        if start is not None or columns is not None:
            name = "columns" if start is None else "start"
            raise InputValueError(name, expected="none without targets")
        return Placed(stretch(0, 0), 0, job.targets, None, None)
    if start is not None and columns is not None:
        raise InputValueError("columns", expected="none beside start")
    if columns is not None:
        ids = as_integers("columns", columns)
        if ids.shape != (width,):
            raise InputValueError(
                "columns",
                expected=f"{width}, one for each column of the block",
                got=f"shape {ids.shape}",
            )
        if width == 0 or (np.diff(ids) != 1).any():
            return _scattered(job, whole, ids)
        start = int(ids[0])
    elif start is None:
        if width != whole:
            raise InputValueError(
                "start", expected=f"a column, or columns, for a block of {width} of {whole} columns"
            )
        start = 0
    start = integer("start", start, expected="an integer, the column of the block's first one")
    if start < 0 or start + width > whole:
        name = "columns" if columns is not None else "start"
        raise InputValueError(
            name, expected=f"columns from 0 to {whole - 1}", got=f"{start} to {start + width - 1}"
        )
    return Placed(stretch(start, start + width), start, job.targets, job.filter, None)


def _scattered(job: Job, whole: int, ids: IntArray) -> Placed:
    """Number the columns of a block by their place in it, and what is asked of them too."""
    wrong = first_outside(ids, whole)
    if wrong >= 0:
        raise InputValueError(
            "columns",
            expected=f"columns from 0 to {whole - 1}",
            got=f"{ids[wrong]} at position {wrong}",
        )
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if twice.size:
        raise InputValueError("columns", f"column {ordered[twice[0]]} is given twice")
    targets = np.full(len(job.targets), NOWHERE, np.int64)
    if ordered.size:
        found = np.minimum(np.searchsorted(ordered, job.targets), len(ordered) - 1)
        here = ordered[found] == job.targets
        targets[here] = order[found[here]]
    without = job.filter
    if without is not None:
        without = selected_at(without, ordered, order, whole, job.threads)
    return Placed(columns_of(ordered), 0, targets, without, ids)
