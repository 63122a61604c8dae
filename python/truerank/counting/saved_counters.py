"""Saved counters: the file format of `RankCounter`, an archive (see `ranks.storage`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from ..inputs.checks import NAN_RULES, ORDERS, choice
from ..inputs.errors import InputValueError
from ..inputs.scores import DTYPES, as_scores
from ..ranks.storage import checked_fields, open_archive, write_archive
from .block_columns import ColumnSet
from .partial_counts import integer_member, saved_counts

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..ranks.storage import Members
    from .job import Job

KIND = "truerank.counter"
_FILTER = ("indptr", "indices", "lists")
_RULES = {"ascending": (bool,), "nan": (str,), "audit": (bool,)}
_FACTS = {
    "dtype": (str,),
    "columns": (int, type(None)),
    "raw": (bool,),
    "rules": (dict,),
    "threads": (int,),
}
# The most candidates of a task whose blocks have no columns: sums of several counters fit in int64.
_MOST_CANDIDATES = 1 << 53


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
    header = {
        "dtype": state.dtype,
        "columns": state.columns,
        "raw": state.raw,
        "rules": {name: getattr(job.rules, name) for name in _RULES},
        "threads": job.threads,
    }
    members: Members = {
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
    write_archive(path, KIND, header, members)


def read(path: str | os.PathLike[str], empty: Callable[..., CounterState]) -> CounterState:
    """Read a counter that `write` wrote; nothing in the file is trusted.

    Parameters
    ----------
    path : path-like
    empty : callable
        Checks the arguments of a `RankCounter`, and returns the state of a new one.
    """
    with open_archive("path", path, KIND) as (header, members):
        checked_fields("header", header, _FACTS)
        rules = checked_fields("header.rules", header["rules"], _RULES)
        choice("header.rules.nan", rules["nan"], NAN_RULES)
        scores, columns = _true_scores(members["true_scores"], header["dtype"]), header["columns"]
        selection = [members[name] for part in _FILTER if (name := f"filter.{part}") in members]
        state = empty(
            scores.array,
            members["targets"] if columns is not None else None,
            candidates=columns,
            filter=tuple(selection) or None,
            rows=members.get("rows"),
            order=ORDERS[rules["ascending"]],
            nan=rules["nan"],
            dtype=scores.dtype,
            threads=header["threads"] or None,
            audit=rules["audit"],
        )
        seen = _seen(members, columns or 0)
        candidates = seen.size - seen.holds(state.job.targets)
        most = _MOST_CANDIDATES if columns is None else candidates
        counts = saved_counts(members, state.counts, most, ("tied", "nan"))
        return state._replace(raw=header["raw"], seen=seen, counts=counts)


def _true_scores(raw: Any, dtype: Any) -> Scores:
    if dtype not in DTYPES:
        one_of = f"one of {', '.join(DTYPES)}"
        raise InputValueError("damaged", expected=one_of, got=repr(dtype), place="dtype")
    carrier = np.dtype(np.uint16 if dtype == "bfloat16" else dtype)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size % carrier.itemsize:
        raise InputValueError("damaged", expected="bytes of scores", place="true_scores")
    return as_scores(raw.copy().view(carrier), dtype, "true_scores")


def _seen(members: Members, columns: int) -> ColumnSet:
    starts = integer_member(members, "seen.starts", None, columns)
    stops = integer_member(members, "seen.stops", starts.shape, columns)
    if (stops <= starts).any() or (starts[1:] <= stops[:-1]).any():
        expected = "runs of columns in ascending order"
        raise InputValueError("damaged", expected=expected, place="seen")
    return ColumnSet(starts.copy(), stops.copy())
