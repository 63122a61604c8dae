"""Saved counters: the file format of `RankCounter`, an archive (see `ranks.archives`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from ..inputs.checks import NAN_RULES, ORDERS, choice
from ..inputs.errors import InputValueError
from ..inputs.input_files import open_input
from ..inputs.scores import DTYPES, as_scores
from ..ranks.archives import (
    ArchiveKind,
    from_json_array,
    integer_member,
    json_array,
    read_archive,
    write_archive,
)
from .block_columns import ColumnSet
from .partial_counts import saved_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..ranks.archives import Members
    from .job import Job

KIND = ArchiveKind("truerank.counter", 1)
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
    with open_input("path", name) as file:
        try:
            return _checked_state(read_archive(file, KIND), empty)
        except KeyError as error:
            raise InputValueError(name, f"damaged: no member {error}") from error
        except (ValueError, TypeError) as error:
            raise InputValueError(name, f"{error}") from error


def _checked_state(members: Members, empty: Callable[..., CounterState]) -> CounterState:
    facts = _checked_fields("facts", from_json_array(members["facts"]), _FACTS)
    rules = _checked_fields("facts.rules", facts["rules"], _RULES)
    choice("facts.rules.nan", rules["nan"], NAN_RULES)
    scores, columns = _true_scores(members["true_scores"], facts["dtype"]), facts["columns"]
    lists: Any = tuple(members[f"filter.{part}"] for part in _FILTER if f"filter.{part}" in members)
    state = empty(
        scores.array,
        members["targets"] if columns is not None else None,
        candidates=columns,
        filter=lists or None,
        rows=members.get("rows"),
        order=ORDERS[rules["ascending"]],
        nan=rules["nan"],
        dtype=scores.dtype,
        threads=facts["threads"] or None,
        audit=rules["audit"],
    )
    seen = _seen(members, columns or 0)
    candidates = seen.size - seen.holds(state.job.targets)
    most = _MOST_CANDIDATES if columns is None else candidates
    counts = saved_counts(members, state.counts, most, ("tied", "nan"))
    return state._replace(raw=facts["raw"], seen=seen, counts=counts)


def _checked_fields(place: str, value: Any, types: Mapping[str, tuple[type, ...]]) -> Any:
    """Check that an object has fields of these types; it may have others."""
    if not isinstance(value, dict) or not types.keys() <= value.keys():
        expected = f"an object of {', '.join(types)}"
        raise InputValueError("damaged", expected=expected, place=place)
    for name, allowed in types.items():
        if type(value[name]) not in allowed:
            expected, got = " or ".join(kind.__name__ for kind in allowed), type(value[name])
            place = f"{place}.{name}"
            raise InputValueError("damaged", expected=expected, got=got.__name__, place=place)
    return value


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
