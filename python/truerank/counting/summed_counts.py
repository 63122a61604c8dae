"""Partial counts as integers that may be summed over processes, and the check of their sum."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.arrays import index_array
from ..inputs.checks import check_shape
from ..inputs.errors import InputValueError
from .partial_counts import FIELDS, PartialCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from .._core import Rules
    from ..inputs.arrays import IntArray
    from .block_columns import ColumnSet

# After the counts of partial_counts: how many columns were counted, and which ones of which tasks.
ROWS = (*FIELDS, "columns", "check")
_BLOCK = 1 << 20  # columns at a time


def summable(counts: PartialCounts, seen: ColumnSet, identity: Mapping[str, Any]) -> IntArray:
    """Return partial counts, with what shows whether a sum of them is whole: (7, tasks).

    The last two rows are the number of columns, and one that tells which columns and tasks.
    """
    tasks = len(counts.arrays["above"])
    table = np.empty((len(ROWS), tasks), np.int64)
    for row, name in enumerate(FIELDS):
        table[row] = counts.arrays[name]
    table[-2] = seen.size
    table[-1] = _check_number(seen, identity)
    return table


def checked_sum(
    sums: Any, rules: Rules, all_columns: ColumnSet | None, identity: Mapping[str, Any], tasks: int
) -> PartialCounts:
    """Check what `summable` returned, summed over counters; `all_columns` is None without targets.

    Raises
    ------
    TypeError, ValueError
        For another shape or dtype, a column that is missing or was counted twice, and counters of
        other tasks or rules.
    """
    table = index_array("counts", sums)
    shape = len(ROWS), tasks
    check_shape("counts", table.shape, shape, f"the sum of arrays of shape {shape}")
    columns, check = table[-2], table[-1]
    if all_columns is not None and (columns != all_columns.size).any():
        raise InputValueError(
            "counts",
            expected=f"the sum of counters that together have counted {all_columns.size} columns",
            got=f"one of {columns[columns != all_columns.size][0]}",
        )
    if all_columns is not None and (check != _check_number(all_columns, identity)).any():
        raise InputValueError(
            "counts",
            expected="the sum of counters of the same true scores, targets, filter and rules, each "
            "column counted by one of them",
        )
    return PartialCounts.of(dict(zip(FIELDS, table[:-2].copy(), strict=True)), rules)


def _check_number(seen: ColumnSet, identity: Mapping[str, Any]) -> np.int64:
    """Return a number whose sum over counters shows which columns they counted, of which tasks.

    It is the sum of a random number for each column and one for the tasks, modulo 2**64.
    """
    columns = (
        np.arange(first, min(first + _BLOCK, stop), dtype=np.uint64)
        for start, stop in zip(seen.starts.tolist(), seen.stops.tolist(), strict=True)
        for first in range(start, stop, _BLOCK)
    )
    of_tasks = np.uint64(_digest(identity))
    total = sum(int((_mixed(some) + of_tasks).sum()) for some in columns)
    return np.uint64(total % 2**64).astype(np.int64)


def _mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return a number of 64 bits for each number, as SplitMix64 does."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _digest(identity: Mapping[str, Any]) -> int:
    """Return a number of 64 bits for the tasks and rules of a counter; its arrays are integers."""
    digest = hashlib.blake2b(digest_size=8)
    for name, value in identity.items():
        digest.update(f"{name}:".encode())
        for each in value if isinstance(value, tuple) else (value,):
            array = isinstance(each, np.ndarray)
            digest.update(each.astype(np.int64).tobytes() if array else repr(each).encode())
    return int.from_bytes(digest.digest(), "little")
