"""Batches of queries: a model scores one batch while the previous one is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from .. import devices
from ..counting.driver import is_counted_in_order
from ..counting.ranking import rank
from ..counting.row_blocks import rank_row_blocks
from ..errors import InputValueError
from ..inputs.checks import integer
from ..inputs.rules import read_rules
from ..naming import import_extra
from ..stores import read_scores, shape_of
from ..stores.on_device import copy_to_device
from .side import selection_of_tasks

if TYPE_CHECKING:
    from .._core import Scores
    from ..arrays.types import IntArray
    from ..inputs.rules import BatchOptions, RuleOptions
    from ..ranks.container import Ranks
    from ..stores import Store
    from .side import Side

# The float32 scores of a batch take so much memory, and two batches are in memory at a time.
BATCH_BYTES = 64 << 20


def rank_batches(
    scorer: Callable[[Any], Any],
    side: Side,
    report_progress: Callable[[int], object] = lambda queries: None,
    **options: Unpack[BatchOptions],
) -> Ranks:
    """Rank the tasks of a side by the scores that a callable gives for batches of its queries.

    The callable gets every distinct query once, in order. A batch is counted on a thread of its own
    while the next one is scored. Errors name the batch, as in
    "scores: queries 64 to 127".

    Parameters
    ----------
    scorer : callable
        Takes queries, int64 (b, c), which it may change, and returns scores (b, columns): any array
        that `rank` takes. The scores must not change afterwards; if they are read-only, the same
        array may be returned for all batches.
    side : Side
        The tasks.
    report_progress : callable
        Called with the number of queries that are done.
    **options
        As in `rank`, but for `progress`. And `batch_size`, the number of queries in a batch: by
        default as many as have 64 MB of float32 scores; `device`, where queries become tensors of
        torch.

    Returns
    -------
    Ranks
        In the order of the tasks.

    Raises
    ------
    TypeError, ValueError
        As `rank` does; for scores of another shape, and for scores that reuse the memory of the
        previous batch.

    Examples
    --------
    >>> from truerank.tasks.side import Side
    >>> queries, rows, targets = np.array([[0], [1]]), np.array([1, 0, 1]), np.array([2, 2, 0])
    >>> side = Side("tail", 3, queries, rows, targets, np.arange(3))
    >>> rank_batches(lambda q: q * [0.3, 0.2, 0.1], side, batch_size=1).optimistic
    array([3, 1, 1])
    """
    height, columns = len(side.query_ids), side.n_candidates
    others = dict(options)
    size = others.pop("batch_size", None)
    if size is None:
        size = max(1, min(height, BATCH_BYTES // (4 * max(1, columns))))
    size = integer("batch_size", size, least=1)
    as_input = _as_input_on(others.pop("device", None))
    rules = cast("RuleOptions", others | {"progress": None})
    report_progress(0)
    if not height:
        rules["dtype"] = None
        return rank(np.zeros((0, columns), np.float32), np.zeros(0, np.int64), **rules)
    ordered = np.argsort(side.rows, kind="stable")  # So the tasks of a batch are neighbours.
    starts = range(0, height, size)
    row_of_task = side.rows[ordered]
    filter: Any = side.filter
    kept_filter = cache(lambda: devices.KeptLists(*filter))  # A device has it once.
    read = read_rules(rules)

    def batches() -> Iterator[tuple[Scores | Store, dict[str, Any]]]:
        for start in starts:
            queries = side.query_ids[start : start + size].copy()
            scores = read_scores(scorer(as_input(queries)), rules.get("dtype"))
            check_score_shape(shape_of(scores), (len(queries), columns), "query")
            first, last = np.searchsorted(row_of_task, [start, start + size])
            tasks = ordered[first:last]
            if filter is not None and is_counted_in_order(scores, read):
                filter_lists = kept_filter().of_tasks(tasks)
            else:
                filter_lists = selection_of_tasks(filter, tasks)
            arguments = {
                "targets": side.targets[tasks],
                "rows": side.rows[tasks] - start,
                "filter": filter_lists,
                "candidates": selection_of_tasks(side.candidates, tasks),
            }
            yield scores, arguments

    def name(number: int, argument: str) -> str:
        """Return the name of an argument with the queries of its batch, for messages."""
        start = starts[number]
        last = min(start + size, height) - 1
        batch = f"scores: query {start}"
        if last > start:
            batch = f"scores: queries {start} to {last}"
        if argument == "scores":
            return batch
        return f"{batch}: {argument}"

    def report_batches(done: int) -> None:
        report_progress(min(done * size, height))

    ranks = rank_row_blocks(batches(), name, report_batches, **rules)
    return ranks[np.argsort(ordered, kind="stable")]


def _as_input_on(device: Any) -> Callable[[IntArray], Any]:
    """Return what makes of an array what a callable wants: the array, or a tensor on a device."""
    if device is None:
        return lambda values: values
    torch = import_extra("torch", "device=")
    try:
        device = torch.device(device)
    except (RuntimeError, TypeError, ValueError) as error:
        got = f"{device!r} ({error})"
        raise InputValueError("device", expected="a device of torch", got=got) from None
    return lambda values: copy_to_device(values, device)


def check_score_shape(got: object, shape: tuple[int, int], noun: str) -> None:
    """Check that scores have a row for each query and a column for each candidate."""
    if got != shape:
        each = f"a row for each {noun} and a column for each candidate"
        raise InputValueError("scores", expected=f"scores of shape {shape}, {each}", got=got)
