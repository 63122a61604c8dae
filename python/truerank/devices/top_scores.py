"""The top k of scores that are made on a device, tile by tile; no other score is stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .order_keys import keys_of
from .scans import part_of, width_of
from .selected_columns import SelectedColumns
from .source import TaskRows

if TYPE_CHECKING:
    from .._core import Selection
    from ..inputs.arrays import IntArray
    from .source import Columns, ScoreSource, Tensor

TILE_SCORES = 1 << 18  # keys, masks and what a sort takes are up to 80 bytes for each
TILE_COLUMNS = 1 << 12


class TopScores(NamedTuple):
    """The top k of each task, highest first; tensors that a device has yet to compute.

    Attributes
    ----------
    ids : Tensor of int64, shape (tasks, k)
        -1 where there are fewer candidates.
    scores : Tensor, shape (tasks, k)
        NaN where there are fewer.
    with_nan : Tensor of bool, shape (tasks,)
        Which tasks have candidates whose score is NaN.
    """

    ids: Tensor
    scores: Tensor
    with_nan: Tensor


def top_scores(
    source: ScoreSource,
    rows: IntArray,
    filter: Selection | None,
    candidates: Selection | None,
    k: int,
    nan: str,
) -> TopScores:
    """Find the top k of each task; equal scores are in the order of their ids, and so are NaN.

    Parameters
    ----------
    source : ScoreSource
        Of float32 or float64.
    rows : ndarray of int64, shape (tasks,)
        The row of each task.
    filter, candidates : Selection, optional
        Sorted, as `as_selection` gives them.
    k : int
        At most the number of columns, or 1.
    nan : {"raise", "worst", "omit"}
        "worst": NaN come last. Else they are not listed.
    """
    torch = sys.modules["torch"]
    left_out = filter and SelectedColumns(filter, source)
    let_in = candidates and SelectedColumns(candidates, source)
    columns: Columns = slice(0, source.shape[1])
    if let_in is not None and let_in.shared:
        columns, let_in = let_in.columns_within(0, source.shape[1]), None
    ids = source.empty((len(rows), k), torch.int64)
    dtype = getattr(torch, source.dtype)
    scores = source.empty((len(rows), k), dtype)
    with_nan = source.empty((len(rows),), torch.bool)
    height = max(1, TILE_SCORES // (k + min(TILE_COLUMNS, width_of(columns))))
    for first in range(0, len(rows), height):
        some = slice(first, min(first + height, len(rows)))
        tasks = np.arange(some.start, some.stop)
        part = TaskRows(rows[some], source.upload(rows[some]))
        best = _best_of(source, part, tasks, columns, (left_out, let_in), k, nan)
        ids[some], with_nan[some] = best.ids, best.with_nan
        pairs = part.device.repeat_interleave(k), best.ids.clamp(min=0).view(-1)
        found = source.pairs(*pairs).view(-1, k) if source.shape[1] else scores[some]
        scores[some] = found.masked_fill(best.ids < 0, float("nan"))
    return TopScores(ids, scores, with_nan)


class _Best(NamedTuple):
    keys: Tensor  # int64; `nobody` where there is no candidate
    ids: Tensor
    with_nan: Tensor


def _best_of(
    source: ScoreSource,
    rows: TaskRows,
    tasks: IntArray,
    columns: Columns,
    lists: tuple[SelectedColumns | None, SelectedColumns | None],
    k: int,
    nan: str,
) -> _Best:
    """Find the top k of some tasks by the keys of their scores, a tile of columns at a time."""
    torch = sys.modules["torch"]
    bits = 32 if source.dtype == "float32" else 64
    nobody = -(1 << (bits - 1))
    shape = (len(tasks), k)
    keys = source.empty(shape, torch.int64).fill_(nobody)
    ids = source.empty(shape, torch.int64).fill_(-1)
    with_nan = source.empty(shape[:1], torch.bool).fill_(False)
    every = width_of(columns)
    for left in range(0, every, TILE_COLUMNS):
        right = min(left + TILE_COLUMNS, every)
        part = part_of(columns, slice(left, right))
        part_ids = source.arange(left, right) if isinstance(part, slice) else part
        out = _left_out(source, tasks, part_ids, lists)
        found, missing = keys_of(source.block(rows, part))
        assert missing is not None
        if out is not None:
            missing = missing & ~out
        with_nan |= missing.any(1)
        found = found.to(torch.int64).masked_fill(missing, nobody + (nan == "worst"))
        if out is not None:
            found = found.masked_fill(out, nobody)
        both = torch.cat([keys, found], 1)
        both_ids = torch.cat([ids, part_ids.expand(len(tasks), -1)], 1)
        keys, ids = (_top_32 if bits == 32 else _top_64)(both, both_ids, k)
    return _Best(keys, ids.masked_fill(keys == nobody, -1), with_nan)


def _left_out(
    source: ScoreSource,
    tasks: IntArray,
    columns: Tensor,
    lists: tuple[SelectedColumns | None, SelectedColumns | None],
) -> Tensor | None:
    """Return for each task and each of some ascending columns whether it is no candidate."""
    torch = sys.modules["torch"]
    filter, candidates = lists
    if filter is None and candidates is None:
        return None
    width = len(columns)
    # One place more takes the entries of other columns.
    out = source.empty((len(tasks) * width + 1,), torch.bool).fill_(candidates is not None)
    for selected, flag in ((candidates, False), (filter, True)):
        if selected is None:
            continue
        for entries in selected.entries(tasks):
            place = torch.searchsorted(columns, entries.columns)
            is_there = columns[place.clamp(max=width - 1)] == entries.columns
            at = (entries.tasks * width + place).where(is_there, len(tasks) * width)
            out[at] = flag
    return out[:-1].view(len(tasks), width)


def _top_32(keys: Tensor, ids: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k highest keys of 32 bits in each row, equal ones by the lowest id."""
    low = (1 << 32) - 1
    best = sys.modules["torch"].topk((keys << 32) | (low - (ids & low)), k).values
    return best >> 32, low - (best & low)


def _top_64(keys: Tensor, ids: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k highest keys in each row; of equal ones, those that are further left."""
    torch = sys.modules["torch"]
    keys, places = torch.sort(keys, dim=1, descending=True, stable=True)
    return keys[:, :k], ids.gather(1, places[:, :k])
