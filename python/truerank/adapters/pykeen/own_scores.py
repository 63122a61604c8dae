"""Ranks the scores that a model itself predicts, once for every distinct query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from pykeen.utils import determine_maximum_batch_size

from ...inputs.naming import import_extra
from ...tasks.batches import rank_batches

if TYPE_CHECKING:
    from ...inputs.arrays import IntArray
    from ...ranks.container import Ranks
    from ...tasks.side_tasks import SideTasks


def rank_scores(
    model: Any,
    side: SideTasks,
    *,
    batch_size: int | None,
    slice_size: int | None,
    mode: Any,
    progress: Callable[[int], object],
    **rules: Any,
) -> Ranks:
    """Rank the tasks of a side by the scores that `predict` of the model returns.

    Parameters
    ----------
    model : Model
        In evaluation mode.
    side : SideTasks
        Heads or tails.
    batch_size : int, optional
        The number of queries to score at once. By default, as in PyKEEN, 32 on a CPU, and as many
        as its memory allows on a GPU.
    slice_size : int, optional
        The number of candidates to score at once.
    mode : str or None
        PyKEEN's inductive mode.
    progress : callable
        Called with the number of queries just scored.
    **rules
        As in `rank`.

    Returns
    -------
    Ranks
    """
    query_batch = determine_maximum_batch_size(batch_size, model.device, len(side.queries))

    def scorer(queries: IntArray) -> Any:
        scores = _predict_within_memory(
            model=model,
            side=side.side,
            queries=torch.from_numpy(queries),
            batch_size=min(query_batch, len(queries)),
            slice_size=slice_size or side.columns,
            mode=mode,
        )
        progress(len(queries))
        return scores

    return rank_batches(scorer, side, batch_size=batch_size and query_batch, **rules)


def _predict(
    *, model: Any, side: str, queries: Any, batch_size: int, slice_size: int, mode: Any
) -> Any:
    """Return the scores of queries, on the model's device, where they are counted."""
    options = {"target": side, "full_batch": False, "slice_size": slice_size, "mode": mode}
    parts = [model.predict(part.to(model.device), **options) for part in queries.split(batch_size)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def _batch_size_key(arguments: Any) -> int:
    """Return the key of calls that share one best batch size."""
    return hash((id(arguments["model"]), arguments["side"], arguments["mode"]))


_torch_max_mem = import_extra("torch_max_mem", "truerank.adapters.pykeen", "pykeen")

# If a GPU runs out of memory, batches and slices are halved, as in PyKEEN's own evaluation.
_predict_within_memory = _torch_max_mem.maximize_memory_utilization(
    parameter_name=("batch_size", "slice_size"), hasher=_batch_size_key
)(_predict)
