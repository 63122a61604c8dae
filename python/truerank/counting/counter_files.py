"""Saved counters: the file format of `RankCounter`, an archive (see `archives`)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Rules, Scores
from ..inputs.checks import NAN_RULES
from ..inputs.errors import InputValueError
from ..inputs.scores import DTYPES, as_scores
from ..ranks.archives import Kind, from_json_array, json_array, read_archive, write_archive
from .column_sets import Columns
from .counter import RankCounter
from .job import Job

if TYPE_CHECKING:
    from ..ranks.archives import Members

KIND = Kind("truerank.counter", 1)
_FILTER = ("indptr", "indices", "lists")
_RULES = ("ascending", "nan", "audit")


def save(counter: RankCounter, path: str | os.PathLike[str]) -> None:
    """Write a counter: whole or not at all."""
    state = counter.__getstate__()
    job: Job = state["job"]
    facts = {
        "dtype": state["dtype"],
        "columns": state["columns"],
        "raw": state["raw"],
        "rules": {name: getattr(job.rules, name) for name in _RULES},
        "threads": job.threads,
    }
    members: Members = {
        "facts": json_array(facts),
        "true_scores": state["scores"].view(np.uint8),
        "targets": job.targets,
        "seen.starts": state["seen"].starts,
        "seen.stops": state["seen"].stops,
    }
    if job.rows is not None:
        members["rows"] = job.rows
    if job.filter is not None:
        parts = {name: getattr(job.filter, name) for name in _FILTER}
        members |= {f"filter.{name}": part for name, part in parts.items() if part is not None}
    members |= {f"count.{name}": array for name, array in state["tallies"].items()}
    write_archive(path, KIND, members)


def load(path: str | os.PathLike[str]) -> RankCounter:
    """Read a counter that `save` wrote; nothing in the file is trusted."""
    name = os.fsdecode(path)
    with open(name, "rb") as file:
        try:
            return _counter(read_archive(file, KIND))
        except KeyError as error:
            raise InputValueError(name, f"damaged: no member {error}") from error
        except (ValueError, TypeError, AttributeError) as error:
            raise InputValueError(name, f"{error}") from error


def _counter(members: Members) -> RankCounter:
    facts = from_json_array(members["facts"])
    if (nan := facts["rules"]["nan"]) not in NAN_RULES:
        raise InputValueError("damaged", expected=f"nan {', '.join(NAN_RULES)}", got=repr(nan))
    rules = Rules(**facts["rules"])
    scores = _true_scores(members["true_scores"], facts["dtype"])
    lists: Any = tuple(members[f"filter.{p}"] for p in _FILTER if f"filter.{p}" in members)
    counter = RankCounter(
        scores.array,
        members["targets"] if facts["columns"] is not None else None,
        candidates=facts["columns"],
        filter=lists or None,
        rows=members.get("rows"),
        order="ascending" if rules.ascending else "descending",
        nan=rules.nan,
        dtype=scores.dtype,
        threads=facts["threads"] or None,
        audit=rules.audit,
    )
    state = counter.__getstate__()
    for key, array in state["tallies"].items():
        kept = members[f"count.{key}"]
        if kept.dtype != np.int64 or kept.shape != array.shape:
            raise InputValueError("damaged", f"count.{key}: expected {len(array)} integers")
        if key != "best" and (kept < 0).any():
            raise InputValueError("damaged", f"count.{key}: expected integers >= 0")
        array[:] = kept
    found = state["tallies"]
    if (found["above"] > found["candidates"] - found["tied"] - found["nan"]).any():
        raise InputValueError("damaged", expected="no more scores than candidates")
    state["raw"] = bool(facts["raw"])
    state["seen"] = _seen(members["seen.starts"], members["seen.stops"], facts["columns"] or 0)
    counter.__setstate__(state)
    return counter


def _true_scores(raw: Any, dtype: Any) -> Scores:
    if dtype not in DTYPES:
        raise InputValueError(
            "damaged", f"dtype: expected one of {', '.join(DTYPES)}, got {dtype!r}"
        )
    carrier = np.dtype(np.uint16 if dtype == "bfloat16" else dtype)
    if raw.dtype != np.uint8 or raw.ndim != 1 or raw.size % carrier.itemsize:
        raise InputValueError("damaged", "true_scores: expected bytes of scores")
    return as_scores(raw.copy().view(carrier), dtype, "true_scores")


def _seen(starts: Any, stops: Any, columns: int) -> Columns:
    runs = np.stack([starts, stops], axis=1).reshape(-1)
    rising = runs.dtype == np.int64 and not (np.diff(runs) <= 0).any()
    if not rising or (runs.size and not 0 <= runs[0] <= runs[-1] <= columns):
        raise InputValueError("damaged", "seen: expected runs of columns in ascending order")
    return Columns(np.array(starts), np.array(stops))
