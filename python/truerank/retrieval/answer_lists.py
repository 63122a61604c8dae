"""Lists of candidates by query, in the order of the queries of a task, and as a TREC run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..embeddings.scoring import TopK
from ..inputs.candidate_lists import PAD, as_lists
from ..inputs.checks import distinct_names
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import widen_bfloat16
from ..inputs.selection import indptr_of
from ..splits.elements import checked_names, read_elements
from ..splits.judgements import without_ranx
from ..splits.list_files import lists_of_file
from ..splits.list_use import ListUse, lists_in_use
from ..splits.named_lists import NamedLists, lists_of_rows, refuse_repeats
from ..splits.text import is_path
from ..splits.vocabularies import LabelIndex
from ..tables.writing import replace_text
from ..tasks.sampling import join_ranges

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from ..splits.elements import Names
    from ..splits.vocabularies import Vocabulary


def read_lists(argument: str, value: Any) -> NamedLists | None:
    """Return lists by name as they are, or of a mapping, a run of ranx or a file; else None."""
    value = without_ranx(value)
    if is_path(value):
        return lists_of_file(argument, os.fsdecode(value))
    if isinstance(value, NamedLists) or not isinstance(value, Mapping):
        return value if isinstance(value, NamedLists) else None
    return lists_of_rows(argument, value.items())


class OrderedLists(NamedTuple):
    """Lists in the order of the ids of queries, and what was left over of them.

    Attributes
    ----------
    ids, scores : lists, as `truerank.rank_lists` takes them
    use : ListUse
    """

    ids: Any
    scores: Any
    use: ListUse


def lists_in_order(
    lists: NamedLists,
    queries: Vocabulary,
    order: IntArray,
    asked: IntArray,
    all_known: bool,
    ids_of_names: Callable[[Names, bool], IntArray],
    elsewhere: IntArray,
) -> OrderedLists:
    """Return ids and scores of named lists, one for each of some queries.

    Parameters
    ----------
    lists : NamedLists
    queries : Vocabulary
    order : ndarray of int64
        The query of each list that is returned.
    asked : ndarray of int64
        The queries with right answers.
    all_known : bool
        Whether a query that the vocabulary lacks is an error; otherwise its list is not used.
    ids_of_names : callable
        f(names, is_text) -> the ids of entities; the names are distinct.
    elsewhere : ndarray of int64
        Queries with right answers in other parts of the task, whose lists are not left over.

    Raises
    ------
    ValueError
        For unknown entities, and for lists of other queries alone.

    Examples
    --------
    >>> from truerank.splits.vocabularies import Vocabulary
    >>> queries, entities = Vocabulary(2, ("u", "v")), Vocabulary(3, ("a", "b", "c"))
    >>> lists = lists_of_rows("ids", {"v": {"c": 0.5, "a": 0.25}}.items())
    >>> lists_in_order(
    ...     lists, queries, np.array([0, 1]), np.array([1]), True,
    ...     lambda names, _: entities.ids_of("ids", names), np.array([], int),
    ... ).ids
    (array([0, 0, 2]), array([2, 0]))
    """
    if all_known:
        found = queries.ids_of("ids", lists.queries, is_text=lists.is_text)
    else:
        elements = read_elements("ids", lists.queries, "queries")
        found = queries.find("ids", elements, is_text=lists.is_text)
    place_of = np.full(queries.size, -1)
    place_of[asked] = np.arange(len(asked))
    places = np.full(len(lists), -1)
    places[found >= 0] = place_of[found[found >= 0]]
    names: list[Any] = [queries.label_of(code) for code in asked.tolist()]
    use = lists_in_use(
        "ids",
        lists.queries,
        places,
        names,
        are_known=found >= 0,
        elsewhere=np.isin(found, elsewhere),
    )
    rows = np.full(queries.size, len(lists))
    rows[asked] = use.rows
    rows = rows[order]
    lengths = np.diff(lists.indptr, append=lists.indptr[-1])[rows]
    where, indptr = join_ranges(lists.indptr[rows], lengths), indptr_of(lengths)
    used = np.flatnonzero(np.bincount(lists.ids[where]))
    ids, used_names = np.zeros(len(lists.names), int), lists.names
    if len(used) < len(lists.names):
        used_names = tuple(map(lists.names.__getitem__, used.tolist()))
    ids[used] = ids_of_names(used_names, lists.is_text)
    scores = None if lists.scores is None else (indptr, lists.scores[where])
    return OrderedLists((indptr, ids[lists.ids[where]]), scores, use)


def lists_of_ids(
    ids: Any, scores: Any, ids_of_names: Callable[[Any, bool], IntArray]
) -> tuple[Any, Any]:
    """Return ids and scores of lists without queries, one for each row.

    Parameters
    ----------
    ids : TopK, list of lists of labels or ids, or lists as `rank_lists` takes them
    scores : as `rank_lists` takes them, or None
    ids_of_names : callable
        f(names, is_text) -> the ids of entities; the names are distinct.

    Raises
    ------
    TypeError, ValueError
        For unknown labels, and for what is no list.
    """
    if isinstance(ids, TopK) and scores is not None:
        ids = ids.ids
    if not is_list_of_lists(ids):
        return ids, scores
    index = LabelIndex()
    flat = read_elements("ids", list(chain.from_iterable(ids)), "labels or ids of entities")
    if isinstance(flat, np.ndarray):
        codes = ids_of_names(flat, False)
    else:
        numbers = index.encode(flat)
        codes = ids_of_names(tuple(index.codes), False)[numbers]
    return (indptr_of(list(map(len, ids))), codes), scores


def is_list_of_lists(ids: Any) -> bool:
    """Whether these are lists of names in Python, and no positions: a matrix, a TopK or a pair.

    Examples
    --------
    >>> is_list_of_lists([["a"], []]), is_list_of_lists(([0, 2], [2, 0]))
    (True, False)
    """
    if not isinstance(ids, (list, tuple)) or isinstance(ids, TopK):
        return False
    rows = [row for row in ids if isinstance(row, (list, tuple))]
    has_names = any(isinstance(row[0], str) for row in rows if row)
    return len(rows) == len(ids) and (isinstance(ids, list) or has_names)


@public("truerank")
def write_run(
    path: str | os.PathLike[str],
    top: Any,
    *,
    queries: Sequence[str] | Sequence[int] | None = None,
    entities: Sequence[str] | Sequence[int] | None = None,
    tag: str = "truerank",
) -> None:
    """Write lists as a TREC run: lines ``qid Q0 docid rank score tag``.

    A score is written with all digits that tell it from others, so that `read_run` gets the same
    numbers; ranks count from 1 in the order of the list. Lists of n in order alone get the scores
    n, n - 1, ..., 1.

    Parameters
    ----------
    path : str or path-like
        The file, gzipped if its name ends in .gz. It appears whole or not at all.
    top : TopK, (ids, scores), mapping, NamedLists, or path
        What `topk_embeddings` returns, or ids and scores as `rank_lists` takes them; or lists by
        name, as `retrieval.Task.evaluate_lists` takes them: ``{query: {entity: score}}``, ``{query:
        [entities]}`` in order alone, NamedLists, or a file of them.
    queries : sequence of str or int, shape (lists,), optional
        The name of each query, for lists without names. Default: their numbers from 0.
    entities : sequence of str or int, optional
        The names of the candidates by their ids, for lists without names. Default: the ids.
    tag : str
        The last field, the name of the system.

    Raises
    ------
    TypeError, ValueError
        For other shapes, for an id that has no name, and for what `read_run` would not read back: a
        query or a document that comes twice, names that are empty, have blanks or begin with a byte
        order mark or have no UTF-8, and integer scores that no float64 holds.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     write_run(file, ([[4, 7]], [[2.5, 0.5]]), queries=["q1"])
    ...     print(file.read_text(), end="")
    q1 Q0 4 1 2.5 truerank
    q1 Q0 7 2 0.5 truerank
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     write_run(file, {"q1": ["d7", "d3"]})
    ...     print(file.read_text(), end="")
    q1 Q0 d7 1 2 truerank
    q1 Q0 d3 2 1 truerank
    """
    named = read_lists("top", top)
    if named is not None:
        if queries is not None or entities is not None:
            raise InputTypeError("queries, entities", expected="None, as the lists have names")
        queries, entities, top = named.queries, named.names, named.entries
    if not isinstance(top, tuple) or len(top) != 2:
        expected = "(ids, scores), TopK, lists by query, or their file"
        raise InputTypeError("top", expected=expected, got=type(top).__name__)
    lists = as_lists(*top)
    height = len(lists.indptr) - 1
    if len(lists.ids) and int(lists.ids.min()) < 0:
        expected = f"ids from 0 on, and pads ({PAD}) at the end of a row"
        raise InputValueError("ids", expected=expected, got=int(lists.ids.min()))
    query_names = _fields("queries", range(height) if queries is None else queries)
    if len(query_names) != height:
        raise InputValueError("queries", expected=f"{height} names", got=len(query_names))
    labels = None if entities is None else _fields("entities", entities)
    if labels is not None and len(lists.ids) and int(lists.ids.max()) >= len(labels):
        expected = f"a name for every id, up to {int(lists.ids.max())}"
        raise InputValueError("entities", expected=expected, got=f"{len(labels)} names")
    if not isinstance(tag, str):
        raise InputTypeError("tag", expected="str", got=type(tag).__name__)
    _fields("tag", [tag])
    shown: Sequence[Any] = labels or range(int(lists.ids.max(initial=-1)) + 1)
    refuse_repeats("top", query_names.__getitem__, shown, lists.indptr, lists.ids, "")
    numbers = None if lists.scores is None else lists.scores.array
    if lists.scores is not None and lists.scores.dtype == "bfloat16":
        numbers = widen_bfloat16(lists.scores.array)
    integers = np.zeros(0) if numbers is None or numbers.dtype.kind == "f" else numbers
    if integers.tolist() != integers.astype(np.float64).tolist():
        raise InputValueError("scores", expected="integers that a float64 holds", got="others")
    with replace_text(path) as file:
        for query, first, last in zip(query_names, lists.indptr, lists.indptr[1:], strict=False):
            ids = lists.ids[first:last].tolist()
            places = range(1, len(ids) + 1)
            scores = places[::-1] if numbers is None else numbers[first:last].tolist()
            rows = zip(ids, places, scores, strict=True)
            lines = (f"{query} Q0 {shown[i]} {rank} {score!r} {tag}\n" for i, rank, score in rows)
            file.write("".join(lines).encode())


def _fields(argument: str, values: Any) -> tuple[str, ...]:
    """Return names as fields of text: an int as its digits."""
    fields = distinct_names(argument, map(str, checked_names(argument, values)))
    for i, field in enumerate(fields):
        is_text = field.isprintable() or field.encode(errors="ignore").decode() == field
        if field.split() != [field] or field.startswith("\ufeff") or not is_text:
            expected = "names without blanks, at least one character each, in UTF-8"
            raise InputValueError(argument, expected=expected, got=f"{field!r} at position {i}")
    return fields
