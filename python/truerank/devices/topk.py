"""The top k of scores that are made on a device, tile by tile; no other score is stored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from .score_sources import keys_of
from .task_counts import SelectedColumns, copied_selection

if TYPE_CHECKING:
    from .._core import Selection
    from ..arrays.types import IntArray
    from .score_sources import ScoreSource, Tensor

TILE_SCORES = 1 << 18  # keys, masks and what a sort takes are up to 80 bytes for each
TILE_COLUMNS = 1 << 12
_NOBODY = np.iinfo(np.int64).min  # the key where there is no candidate, below all others


def top_scores(
    source: ScoreSource,
    rows: IntArray,
    filter: Selection | None,
    candidates: Selection | None,
    k: int,
    nan: str,
) -> tuple[Tensor, Tensor, Tensor]:
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

    Returns
    -------
    ids : Tensor of int64, shape (tasks, k)
        Highest first; -1 where there are fewer candidates.
    scores : Tensor, shape (tasks, k)
        NaN where there are fewer.
    with_nan : Tensor of bool, shape (tasks,)
        Which tasks have candidates whose score is NaN.
    """
    torch = sys.modules["torch"]
    left_out = copied_selection(filter, source)
    let_in = copied_selection(candidates, source)
    columns = source.arange(0, source.shape[1])
    if let_in is not None and let_in.shared:
        columns = let_in.columns_within(0, source.shape[1])
        let_in = None
    parts = columns.split(TILE_COLUMNS) if len(columns) else []
    all_ids = source.zeros(len(rows), k)
    scores = source.empty((len(rows), k), source.dtype).fill_(float("nan"))
    with_nan = source.zeros(len(rows)).bool()
    # Under "worst" a NaN is below all scores, and listed.
    key_of_nan = _NOBODY + 1 if nan == "worst" else _NOBODY
    height = max(1, TILE_SCORES // (k + min(TILE_COLUMNS, len(columns))))
    for first in range(0, len(rows), height):
        tasks = np.arange(first, min(first + height, len(rows)))
        some = slice(first, first + len(tasks))
        keys = source.zeros(len(tasks), k).fill_(_NOBODY)
        ids = source.zeros(len(tasks), k).fill_(-1)
        for part in parts:
            is_out = _are_out(source, tasks, part, left_out, let_in)
            keys_of_part, is_nan = keys_of(source.block(rows[some], part))
            is_nan &= ~is_out
            with_nan[some] |= is_nan.any(1)
            keys_of_part = keys_of_part.to(torch.int64).masked_fill(is_nan, key_of_nan)
            keys = torch.cat([keys, keys_of_part.masked_fill(is_out, _NOBODY)], 1)
            keys, order = torch.sort(keys, dim=1, descending=True, stable=True)
            ids = torch.cat([ids, part.expand(len(tasks), -1)], 1).gather(1, order)[:, :k]
            keys = keys[:, :k]
        ids = ids.masked_fill(keys == _NOBODY, -1)
        all_ids[some] = ids
        if len(columns):
            pair_rows = source.upload(rows[some]).repeat_interleave(k)
            listed = source.pairs(pair_rows, ids.clamp(min=0).view(-1))
            scores[some] = listed.view(-1, k).masked_fill(ids < 0, float("nan"))
    return all_ids, scores, with_nan


def _are_out(
    source: ScoreSource,
    tasks: IntArray,
    columns: Tensor,
    left_out: SelectedColumns | None,
    let_in: SelectedColumns | None,
) -> Tensor:
    """Return which columns are no candidates of some tasks: bool, shape (tasks, columns)."""
    owners = source.arange(0, len(tasks)).repeat_interleave(len(columns))
    repeated = columns.repeat(len(tasks))
    out = source.zeros(len(owners)).bool()
    if let_in is not None:
        out |= ~let_in.hold(tasks, owners, repeated)
    if left_out is not None:
        out |= left_out.hold(tasks, owners, repeated)
    return out.view(len(tasks), -1)
