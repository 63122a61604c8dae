"""Lists of the top candidates of a task: read by key or by position, and ranked side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.row_keys import match_rows
from ..counting.lists import CandidateLists, TopK, as_lists, rank_open_lists
from ..errors import InputTypeError, InputValueError, argument_names, warn_user
from ..inputs.array_likes import as_scores
from ..inputs.rules import LISTED
from ..inputs.selection import indptr_of, join_ranges
from ..naming import format_count
from ..records.columns import first_names
from ..records.lists import Lists, read_lists
from ..reporting import Finding
from .candidates import candidates_of_lists

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..inputs.rules import Rules
    from ..ranks.container import Ranks
    from .evaluation import BySide, Rows
    from .task import Task


def read_lists_by_side(
    task: Task,
    values: BySide,
    arguments: Mapping[str, str],
    keyed_sides: Collection[str],
    reading: Mapping[str, Any],
) -> dict[str, Any]:
    """Read the lists of each side that are by key; the rows of a TopK stay as they are.

    `keyed_sides` are those whose rows have keys, which are those of a TopK alone.
    """
    lists = {}
    for name, value in values.items():
        lists[name] = value
        if name in task.sides and not isinstance(value, TopK):
            if name in keyed_sides:
                expected = f"keys of sides whose lists are a TopK, and none for {name!r}"
                raise InputTypeError("row_queries", expected=expected)
            lists[name] = read_lists(arguments[name], value, roles=task.roles[name], **reading)
    return lists


def rank_lists_by_side(
    task: Task,
    lists: BySide,
    arguments: Mapping[str, str],
    rows_of_sides: Mapping[str, Rows],
    rules: Rules,
    findings: list[Finding],
) -> list[Ranks]:
    """Rank by lists of the top candidates, and add what is worth knowing of their queries."""
    ranks_of_sides = []
    for name, side in task.sides.items():
        value = lists[name]
        argument = arguments[name]
        if isinstance(value, TopK):  # The ids of a TopK are positions.
            with argument_names(ids=argument):
                value = as_lists(value.ids, value.scores, rules.dtype)
        rows, height, noun, _ = rows_of_sides[name]
        files: tuple[str, ...] = ()
        if isinstance(value, Lists):
            files = (value.source,) if value.source else ()
            if value.path:
                argument = f"{argument}: {value.path}"
            value = _lists_by_key(task, name, argument, value, rules.dtype, findings)
            rows = side.rows
            height = len(side.query_ids)
        number = len(value.indptr) - 1
        if number != height:
            expected = f"{height} lists, one for each {noun}"
            raise InputValueError(argument, expected=expected, got=number)
        tasks: dict[str, Any] = {"rows": rows, "filter": side._selections["filter"]}
        with argument_names(ids=argument, scores=argument):
            if task.protocol.candidates == LISTED:
                tasks["sizes"] = LISTED
            elif side.candidates is not None:
                vocabulary = task._vocabulary(name)
                selections = candidates_of_lists(value, rows, side, vocabulary)
                tasks["filter"], tasks["sizes"] = selections
            ranks = rank_open_lists(value, side.targets, side.n_candidates, rules, **tasks)
        findings += task._findings_of_lists(ranks, value, rows)
        ranks_of_sides.append(ranks.with_protocol(files=files))
    return ranks_of_sides


def _lists_by_key(
    task: Task, name: str, argument: str, named: Lists, dtype: Any, findings: list[Finding]
) -> CandidateLists:
    """Return the list of each query of a side by its key, empty where it has none.

    Queries without a list are warned of; these, and lists of other queries, are findings.
    """
    side = task.sides[name]
    roles = task.roles[name]
    columns: Any = [named.queries]
    if len(roles) > 2:
        columns = list(zip(*named.queries, strict=True)) or [()] * (len(roles) - 1)
    keys = task._ids_of_keys(name, argument, columns, is_text=bool(named.path))
    list_of_query, is_used, _ = match_rows(side.query_ids, keys)
    missing = np.flatnonzero(list_of_query < 0)
    # Lists of a part may be those of other parts alone.
    if len(missing) == len(list_of_query) and len(keys) and not task._is_part:
        two = f"those of the task are {task._key_of(name, 0)!r}, ..., of lists {named.queries[0]!r}"
        reason = "; ids=True says that text has ids" if named.path and len(roles) > 2 else ""
        raise InputValueError(argument, f"no query in common: {two}, ...{reason}")
    queries = tuple(task._key_of(name, query) for query in missing.tolist())
    others = () if task._is_part else np.flatnonzero(~is_used)  # A part need not have all.
    unused = tuple(named.queries[i] for i in others)
    list_of_query[missing] = len(named.queries)  # An empty list, behind all others.
    ids_of = partial(task._ids_of_listed, name, named, argument)
    lists = _lists_of_rows(named, list_of_query, ids_of, dtype)
    findings += _findings_of_keys(argument, len(list_of_query), queries, unused)
    return lists


def _lists_of_rows(
    named: Lists, rows: IntArray, ids_of: Callable[[Any], IntArray], dtype: Any
) -> CandidateLists:
    """Return the lists at some rows, of which the one behind the last is empty, with ids for names.

    Only the names that these lists have need an id.
    """
    lengths = np.diff(named.indptr, append=named.indptr[-1])[rows]
    entries = join_ranges(named.indptr[rows], lengths)
    numbers = named.ids[entries]
    used = np.flatnonzero(np.bincount(numbers))
    names = named.names
    if len(used) < len(names):
        names = tuple(map(named.names.__getitem__, used.tolist()))
    id_of_number: IntArray = np.zeros(len(named.names), np.int64)
    id_of_number[used] = ids_of(names)
    scores = None if named.scores is None else as_scores(named.scores[entries], dtype)
    return CandidateLists(
        indptr_of(lengths),
        id_of_number[numbers],
        scores,
        lambda i: named.score_at(entries[i]),
        named.contradiction,
    )


def _findings_of_keys(
    argument: str, n_queries: int, missing: Sequence[Any], unused: Sequence[Any]
) -> Iterator[Finding]:
    """Yield what is worth knowing of queries without a list, and of lists of other queries.

    Of the first a warning says which unused lists have names that look like theirs.
    """
    if missing:
        number = format_count(len(missing), "query")
        words = f"{number} with right answers without a list, as {first_names(missing)}"
        yield Finding("missing lists", len(missing), words)
        text = (
            f"{len(missing):,} of {n_queries:,} queries with right answers have no list "
            f"({first_names(missing)}), and count as if theirs were empty"
        )
        unused_of_bare = {str(name).strip().casefold(): name for name in unused}
        pairs = []
        for name in missing:
            other = unused_of_bare.get(str(name).strip().casefold())
            if other is not None:
                pairs.append(f"{other!r} for {name!r}")
        if pairs:
            text += "; there are lists of names that differ only in blanks or case: "
            text += ", ".join(pairs[:3])
        warn_user(f"{argument}: {text}")
    if unused:
        number = format_count(len(unused), "list")
        words = f"{number} of queries without right answers, as {first_names(unused)}"
        yield Finding("unused lists", len(unused), words)
