"""Lists of candidates by query, written as a TREC run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.saved_files import replace_text
from ..counting.lists import PAD, as_lists
from ..embeddings.scoring import TopK
from ..errors import InputTypeError, InputValueError
from ..inputs.array_likes import widen_bfloat16
from ..inputs.checks import distinct_names
from ..naming import public
from ..records.elements import checked_names
from ..records.list_files import read_lists
from ..records.lists import refuse_repeats

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Scores


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
    top : TopK, mapping, table, or path
        What `topk_embeddings` returns; or lists by name, as `retrieval.Task.evaluate_lists` takes
        them: ``{query: {entity: score}}``, ``{query: [entities]}`` in order alone, a table, what
        `read_run` returned, or a file.
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
        order mark or have no UTF-8, queries that begin with #, and integer scores that no float64
        holds.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     write_run(file, TopK([[4, 7]], [[2.5, 0.5]]), queries=["q1"])
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
    if not isinstance(top, TopK):
        if queries is not None or entities is not None:
            raise InputTypeError("queries, entities", expected="None, as the lists have names")
        named = read_lists("top", top)
        queries = named.queries
        entities = named.names
        top = named.entries
    lists = as_lists(*top)
    if len(lists.ids) and int(lists.ids.min()) < 0:
        expected = f"ids from 0 on, and pads ({PAD}) at the end of a row"
        raise InputValueError("ids", expected=expected, got=int(lists.ids.min()))
    query_names = _query_fields(queries, len(lists.indptr) - 1)
    entity_names = _entity_fields(entities, int(lists.ids.max(initial=-1)) + 1)
    if not isinstance(tag, str):
        raise InputTypeError("tag", expected="str", got=type(tag).__name__)
    _fields("tag", [tag])
    refuse_repeats("top", query_names.__getitem__, entity_names, lists.indptr, lists.ids, "")
    scores = _plain_scores(lists.scores)
    with replace_text(path) as file:
        for query, first, last in zip(query_names, lists.indptr, lists.indptr[1:], strict=False):
            ids = lists.ids[first:last].tolist()
            if scores is None:
                numbers: Iterable[float] = range(len(ids), 0, -1)
            else:
                numbers = scores[first:last].tolist()
            lines = [
                f"{query} Q0 {entity_names[i]} {rank} {number!r} {tag}\n"
                for rank, (i, number) in enumerate(zip(ids, numbers, strict=True), 1)
            ]
            file.write("".join(lines).encode())


def _query_fields(queries: Any, number: int) -> tuple[str, ...]:
    """Return the names of the queries of a run; by default their numbers."""
    if queries is None:
        queries = range(number)
    names = _fields("queries", queries)
    if len(names) != number:
        raise InputValueError("queries", expected=f"{number} names", got=len(names))
    for i, name in enumerate(names):
        if name.startswith("#"):
            expected = "names that do not begin with #, as comments do"
            raise InputValueError("queries", expected=expected, got=f"{name!r} at position {i}")
    return names


def _entity_fields(entities: Any, number: int) -> Sequence[Any]:
    """Return the names of entities, of which there are so many at least; by default their ids."""
    if entities is None:
        return range(number)
    names = _fields("entities", entities)
    if len(names) < number:
        expected = f"a name for every id, up to {number - 1}"
        raise InputValueError("entities", expected=expected, got=f"{len(names)} names")
    return names


def _plain_scores(scores: Scores | None) -> npt.NDArray[Any] | None:
    """Return scores as an array of numbers that a float64 holds; None for an order alone."""
    if scores is None:
        return None
    array = widen_bfloat16(scores.array) if scores.dtype == "bfloat16" else scores.array
    if array.dtype.kind != "f" and array.tolist() != array.astype(np.float64).tolist():
        raise InputValueError("scores", expected="integers that a float64 holds", got="others")
    return array


def _fields(argument: str, values: Any) -> tuple[str, ...]:
    """Return names as fields of text: an int as its digits."""
    fields = distinct_names(argument, map(str, checked_names(argument, values)))
    for i, field in enumerate(fields):
        is_text = field.isprintable() or field.encode(errors="ignore").decode() == field
        if field.split() != [field] or field.startswith("\ufeff") or not is_text:
            expected = "names without blanks, at least one character each, in UTF-8"
            raise InputValueError(argument, expected=expected, got=f"{field!r} at position {i}")
    return fields
