"""Scans of blocks by torch operations, where there is no kernel for them, and those of an audit.

A block is so small that it and all that is made of it take less than 64 MB.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..stores.on_device import copy_to_device
from .order_keys import Keys, core_key_offset, infinity, keys_of, true_keys_of
from .source import TaskRows

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .source import Columns, ScoreSource, Tensor

BLOCK_BYTES = 4 << 20  # a block's keys, masks and sums take up to ten times as much


class _Block(NamedTuple):
    tasks: slice
    left: int  # among the columns of the scan
    keys: Keys


def width_of(columns: Columns) -> int:
    """Return how many columns there are."""
    return columns.stop - columns.start if isinstance(columns, slice) else len(columns)


def part_of(columns: Columns, some: slice) -> Columns:
    """Return the columns at some places among them."""
    if isinstance(columns, slice):
        return slice(columns.start + some.start, columns.start + some.stop)
    return columns[some]


def _block_shape(width: int, itemsize: int) -> tuple[int, int]:
    """Return how high and wide a block is, of rows of a width.

    About as high as wide: what is made of vectors needs those of its rows and of its columns.
    """
    most = max(1, BLOCK_BYTES // itemsize)
    height = max(1, most // max(1, min(width, math.isqrt(most))))
    return height, max(1, most // height)


def _blocks(
    source: ScoreSource, rows: TaskRows, columns: Columns, itemsize: int
) -> Iterator[_Block]:
    """Yield the keys of the columns for all tasks; a task whose row others read has it again."""
    tasks, width = len(rows.host), width_of(columns)
    height, across = _block_shape(width, itemsize)
    for top in range(0, tasks, height):
        some = slice(top, min(top + height, tasks))
        some_rows = TaskRows(rows.host[some], rows.device[some])
        for left in range(0, width, across):
            right = min(left + across, width)
            part = part_of(columns, slice(left, right))
            yield _Block(some, left, keys_of(source.block(some_rows, part)))


def scan_blocks(
    source: ScoreSource, rows: TaskRows, true_scores: Tensor, columns: Columns
) -> Tensor:
    """Compare columns with the true score of each task, as `ScoreSource.scan` does."""
    torch = sys.modules["torch"]
    true = true_keys_of(true_scores).values[:, None]
    counts = source.empty((3, len(rows.host)), torch.int64).zero_()
    for tasks, _, (keys, nan) in _blocks(source, rows, columns, true_scores.element_size()):
        counts[0, tasks] += _sums(keys > true[tasks])
        counts[1, tasks] += _sums(keys == true[tasks])
        if nan is not None:
            counts[2, tasks] += _sums(nan)
    return counts


def audit_blocks(
    source: ScoreSource,
    rows: TaskRows,
    target_places: Tensor,
    true_scores: Tensor,
    columns: Columns,
    ascending: bool,
) -> Tensor:
    """Count what an audit counts, in columns of which a task's target is none.

    Parameters
    ----------
    source, rows, true_scores, columns
        As for `scan_blocks`.
    target_places : Tensor of int64, shape (tasks,)
        The place of each task's target among the columns; outside of them if it is none of them.
    ascending : bool
        Whether the lowest score is the best.

    Returns
    -------
    Tensor of int64, shape (3, tasks)
        How many scores are infinite (with the target), the key of the best score but the target's,
        as the core has it, and how many are at it; without any, int64's worst key.
    """
    torch = sys.modules["torch"]
    limits = np.iinfo(np.int64)
    worst = limits.max if ascending else limits.min
    offset, floating = core_key_offset(true_scores.dtype), true_scores.dtype.is_floating_point
    found = source.empty((3, len(rows.host)), torch.int64).zero_()
    found[1] = worst
    for tasks, left, (keys, nan) in _blocks(source, rows, columns, 8):
        if floating:
            top = infinity(true_scores.dtype)
            found[0, tasks] += _sums((keys == top) | (keys == -top))
        keys = keys.to(torch.int64) + offset
        places = source.arange(left, left + keys.shape[1])
        out = places[None, :] == target_places[tasks, None]
        out = out if nan is None else out | nan
        keys = keys.masked_fill_(out, worst)
        best = keys.amin(1) if ascending else keys.amax(1)
        at_best = _sums((keys == best[:, None]) & ~out)
        before, at_before = found[1, tasks].clone(), found[2, tasks].clone()
        new = torch.minimum(before, best) if ascending else torch.maximum(before, best)
        found[1, tasks] = new
        found[2, tasks] = at_before * (before == new) + at_best * (best == new)
    return found


def differing_rows_of(tensor: Tensor, rows: IntArray, others: IntArray) -> Tensor:
    """Return for pairs of rows of a tensor whether they differ in any bit: bool, (n,)."""
    torch = sys.modules["torch"]
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    bits = tensor.view(integers[tensor.element_size()])
    width = tensor.shape[1]
    height, across = _block_shape(width, tensor.element_size())
    differing = tensor.new_empty((len(rows),), dtype=torch.bool).fill_(False)
    for top in range(0, len(rows), height):
        some = slice(top, top + height)
        pair = [
            copy_to_device(plain, tensor.new_empty(plain.shape, dtype=torch.int64))
            for plain in (torch.from_numpy(x[some].copy()) for x in (rows, others))
        ]
        for left in range(0, width, across):
            block = bits[:, left : left + across]
            one, other = (block.index_select(0, x) for x in pair)
            differing[some] |= (one != other).any(1)
    return differing


def _sums(flags: Tensor) -> Tensor:
    return flags.sum(1, dtype=sys.modules["torch"].int32)
