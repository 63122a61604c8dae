"""Saved counters: the file format of `RankCounter`, an archive (see `ranks.archives`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Rules, Scores
from ..inputs.checks import NAN_RULES, ORDERS
from ..inputs.errors import InputValueError
from ..inputs.scores import DTYPES, as_scores
from ..ranks.archives import ArchiveKind, from_json_array, json_array, read_archive, write_archive
from .block_columns import ColumnSet

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..ranks.archives import Members
    from .job import Job

KIND = ArchiveKind("truerank.counter", 1)
_FILTER = ("indptr", "indices", "lists")
_RULES = ("ascending", "nan", "audit")


class CounterState(NamedTuple):
    """The whole state of a counter."""

    scores: npt.NDArray[Any]  # the true scores
    dtype: str
    job: Job
    columns: int | None
    raw: bool
    seen: ColumnSet
    counts: dict[str, IntArray]


def write(path: str | os.PathLike[str], state: CounterState) -> None:
    """Write a counter: whole or not at all."""
    job = state.job
    facts = {
        "dtype": state.dtype,
        "columns": state.columns,
        "raw": state.raw,
        "rules": {name: getattr(job.rules, name) for name in _RULES},
        "threads": job.threads,
    }
    members: Members = {
        "facts": json_array(facts),
        "true_scores": state.scores.view(np.uint8),
        "targets": job.targets,
        "seen.starts": state.seen.starts,
        "seen.stops": state.seen.stops,
    }
    if job.rows is not None:
        members["rows"] = job.rows
    if job.filter is not None:
        arrays = {name: getattr(job.filter, name) for name in _FILTER}
        members |= {f"filter.{name}": array for name, array in arrays.items() if array is not None}
    members |= {f"count.{name}": array for name, array in state.counts.items()}
    write_archive(path, KIND, members)


def read(path: str | os.PathLike[str], empty: Callable[..., CounterState]) -> CounterState:
    """Read a counter that `write` wrote; nothing in the file is trusted.

    Parameters
    ----------
    path : path-like
    empty : callable
        Checks the arguments of a `RankCounter`, and returns the state of a new one.
    """
    name = os.fsdecode(path)
    with open(name, "rb") as file:
        try:
            return _checked_state(read_archive(file, KIND), empty)
        except KeyError as error:
            raise InputValueError(name, f"damaged: no member {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise InputValueError(name, f"{error}") from error


def _checked_state(members: Members, empty: Callable[..., CounterState]) -> CounterState:
    facts = from_json_array(members["facts"])
    if (nan := facts["rules"]["nan"]) not in NAN_RULES:
        raise InputValueError("damaged", expected=f"nan {', '.join(NAN_RULES)}", got=repr(nan))
    rules = Rules(**facts["rules"])
    scores = _true_scores(members["true_scores"], facts["dtype"])
    lists: Any = tuple(members[f"filter.{part}"] for part in _FILTER if f"filter.{part}" in members)
    state = empty(
        scores.array,
        members["targets"] if facts["columns"] is not None else None,
        candidates=facts["columns"],
        filter=lists or None,
        rows=members.get("rows"),
        order=ORDERS[rules.ascending],
        nan=rules.nan,
        dtype=scores.dtype,
        threads=facts["threads"] or None,
        audit=rules.audit,
    )
    counts = {name: members[f"count.{name}"] for name in state.counts}
    for name, array in counts.items():
        place = f"count.{name}"
        if array.dtype != np.int64 or array.shape != state.counts[name].shape:
            expected = f"{len(state.counts[name])} integers"
            raise InputValueError("damaged", expected=expected, place=place)
        if name != "best" and (array < 0).any():
            raise InputValueError("damaged", expected="integers >= 0", place=place)
    if (counts["above"] > counts["candidates"] - counts["tied"] - counts["nan"]).any():
        raise InputValueError("damaged", expected="no more scores than candidates")
    seen = _seen(members["seen.starts"], members["seen.stops"], facts["columns"] or 0)
    counts = {name: array.copy() for name, array in counts.items()}
    return state._replace(raw=bool(facts["raw"]), seen=seen, counts=counts)


def _true_scores(raw: Any, dtype: Any) -> Scores:
    if dtype not in DTYPES:
        one_of = f"one of {', '.join(DTYPES)}"
        raise InputValueError("damaged", expected=one_of, got=repr(dtype), place="dtype")
    carrier = np.dtype(np.uint16 if dtype == "bfloat16" else dtype)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size % carrier.itemsize:
        raise InputValueError("damaged", expected="bytes of scores", place="true_scores")
    return as_scores(raw.copy().view(carrier), dtype, "true_scores")


def _seen(starts: Any, stops: Any, columns: int) -> ColumnSet:
    runs = np.stack([starts, stops], axis=1).reshape(-1)
    is_rising = runs.dtype == np.int64 and not (np.diff(runs) <= 0).any()
    if not is_rising or (runs.size and not 0 <= runs[0] <= runs[-1] <= columns):
        raise InputValueError(
            "damaged", expected="runs of columns in ascending order", place="seen"
        )
    return ColumnSet(np.array(starts), np.array(stops))
