"""The lists of an index and exact ones, in files and arrays: read, joined, written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import is_npy, path_name, read_npy
from ..arrays.saved_files import read_npz
from ..counting.job import sha256_hex
from ..counting.lists import PAD, REPEATS, TopK
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import (
    as_array,
    index_array,
    pad_lists,
    refuse_mask,
    signed_ids,
    stack_lists,
)
from ..inputs.checks import choice
from ..naming import format_count
from ..records.lists import DUPLICATES, write_run
from ..reporting.audit import describe_rows
from ..stores import PATHS, index_files

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays import FloatArray, IntArray
    from ..counting.job import Job
    from ..embeddings.vectors import Embeddings
    from ..records.vocabularies import Vocabulary

    Array = npt.NDArray[Any]
    Flags = npt.NDArray[np.bool_]

FORMS = (".npy", *index_files.LISTS, ".fbin", ".run")  # in which lists are written
# Their scores are distances below 0, which files of indexes have above 0.
DISTANCES = ("l1", "l2", "sql2", "complex_l1", "poincare")
_CALL = "evaluate_topk(queries, entities, ids, truth, {})"
_VECTORS = Option("similarity", effect="is what vectors need", call=_CALL)
_FLOAT = np.dtype("<f4")  # of distances in .bin

# -- lists of ids ----------------------------------------------------------------------------------


def read_lists(
    argument: str,
    value: Any,
    shape: tuple[int, int],
    k: int = 0,
    *,
    duplicates: str = "raise",
    keys: Vocabulary | None = None,
    is_whole: bool = False,
) -> IntArray:
    """Return the first k ids (0: all) of the list of each query, and -1 where there is none.

    The shape is that of the scores; as few ids as entities suffice, and whole lists may have more.
    An id that comes again is refused, or -1 where it counts once. Those of files may be keys of the
    entities.
    """
    n_queries, n_entities = shape
    place = ""  # the file that has the lists
    ids: Any = value
    if isinstance(value, TopK):
        ids = value.ids
    elif isinstance(value, PATHS):
        place = path_name(argument, value)
        if keys is None:
            ids = index_files.read_ids(argument, place, n_entities)
        else:
            names = index_files.read_ids(argument, place)
            ids = keys.find_keys(f"{argument}: {place}", names, n_entities)
    refuse_mask(argument, ids)
    table = stack_lists(argument, as_array(ids, argument, "a list of ids for each query"))
    array = signed_ids(table, n_entities)
    if array.dtype.kind not in "iu":
        raise InputTypeError(argument, expected="integers", got=f"dtype {array.dtype}")
    width = array.shape[1] if array.ndim == 2 else 0
    k = k or width
    least = max(1, min(k, n_entities))
    if width < least or len(array) != n_queries:
        expected = f"a list of {format_count(least, 'id')} or more for each of "
        expected += format_count(n_queries, "query")
        got = f"shape {array.shape}"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    if is_whole:
        k = max(k, width)
    lists = np.full((n_queries, k), PAD)
    lists[:, :width] = array[:, :k]
    expected = f"ids from 0 to {n_entities - 1:,}, or {PAD} for none"
    refuse_where((lists < PAD) | (lists >= n_entities), argument, lists, expected, place)
    return without_repeats(argument, lists, duplicates, place)


def without_repeats(
    argument: str, lists: IntArray, duplicates: str, place: str = "", names: Any = None
) -> IntArray:
    """Return lists with -1 for ids that come again, unless they are refused, by their names."""
    are_repeats = _find_repeats(lists)
    if choice("duplicates", duplicates, DUPLICATES) == "raise":
        shown = lists if names is None else names
        ways = [] if argument == "truth" else [REPEATS]
        refuse_where(are_repeats, argument, shown, "each id once", place, ways)
    return np.where(are_repeats, PAD, lists)


def _find_repeats(ids: IntArray) -> Flags:
    """Return where a list has an id that it has before."""
    in_order = np.sort(ids, axis=1)  # Ids are sorted many times faster than their places.
    are_equal = (in_order[:, 1:] == in_order[:, :-1]) & (in_order[:, 1:] != PAD)
    rows = np.flatnonzero(are_equal.any(axis=1))
    places_in_order = np.argsort(ids[rows], axis=1, kind="stable")
    are_repeats = np.zeros(ids.shape, np.bool_)
    are_repeats[rows[:, None], places_in_order[:, 1:]] = are_equal[rows]
    return are_repeats


def refuse_where(
    are_wrong: Flags,
    argument: str,
    ids: npt.NDArray[Any],
    expected: str,
    place: str = "",
    ways: Sequence[Option] = (),
) -> None:
    """Refuse lists if an id is wrong; the error names the first one and says how many are so."""
    if are_wrong.any():
        row, column = np.argwhere(are_wrong)[0]
        where = f"{place}: row {row}".removeprefix(": ")
        n_lists = np.count_nonzero(are_wrong.any(axis=1))
        got = f"{ids[row, column].item()} (so in {n_lists:,} of {len(ids):,} lists)"
        raise InputValueError(argument, expected=expected, got=got, place=where, remedies=ways)


def count_ids(lists: IntArray) -> IntArray:
    """Return how many ids each list has."""
    lengths: IntArray = np.count_nonzero(lists != PAD, axis=1).astype(np.int64)
    return lengths


# -- lists of any ids, without vectors -------------------------------------------------------------


def read_rows(argument: str, value: Any, k: int = 0) -> tuple[Array, str]:
    """Return the first k ids (0: all) of each list, int64 or text, and the file that has them.

    Where there is no id stands -1, or an empty text.
    """
    place = ""
    rows: Any = value.ids if isinstance(value, TopK) else value
    if isinstance(rows, PATHS):
        place = path_name(argument, rows)
        rows = index_files.read_ids(argument, place, ways=[_VECTORS])
    refuse_mask(argument, rows)
    if not isinstance(rows, (list, tuple)):
        rows = as_array(rows, argument, "a list of ids for each query")
    if isinstance(rows, (list, tuple)) or (rows.dtype.kind == "O" and rows.ndim):
        rows = pad_lists(argument, rows)
    if rows.dtype.kind not in "iuU":
        got = f"dtype {rows.dtype}"
        raise InputTypeError(argument, "", "integers or text", got, place, [_VECTORS])
    if rows.ndim != 2 or rows.shape[1] < max(1, k):
        expected = f"a list of {format_count(max(1, k), 'id')} or more for each query"
        raise InputValueError(argument, "", expected, f"shape {rows.shape}", place)
    rows = rows[:, : k or None]
    if rows.dtype.kind == "U":
        rows = np.where(rows == str(PAD), "", rows)
        has_id = rows != ""
    else:
        rows = index_array(argument, signed_ids(rows), copy=False)
        has_id = rows != PAD
        refuse_where(rows < PAD, argument, rows, f"ids from 0 on, or {PAD} for none", place)
    are_behind = has_id & np.logical_or.accumulate(~has_id, axis=1)
    refuse_where(are_behind, argument, rows, f"no id behind a place without one ({PAD})", place)
    return rows, place


def read_exact(argument: str, value: Any) -> tuple[Array, FloatArray | None]:
    """Read exact lists, as `read_rows` does, and what falls along them; None without distances.

    Distances that rise are turned; scores, which are no file, may not rise.
    """
    ids, scores = (value.ids, value.scores) if isinstance(value, TopK) else (value, None)
    are_scores = scores is not None and not isinstance(scores, PATHS)
    if isinstance(ids, PATHS) and scores is None:
        path = path_name(argument, ids)
        if path.lower().endswith(".npz") and "truerank" in read_npz(argument, path, ())[0]:
            ids, scores = join_lists(argument, [path])[1]
        else:
            scores = index_files.read_distances(argument, path)
    rows, place = read_rows(argument, ids)
    if scores is None:
        return rows, None
    if isinstance(scores, PATHS):
        place = path_name(argument, scores)
        if is_npy(place):
            scores = read_npy(argument, place)
        else:
            scores = index_files.map_matrix(argument, place, of_bin=_FLOAT)
    refuse_mask(argument, scores)
    array = as_array(scores, argument, "a number for each id")
    if array.shape != rows.shape or array.dtype.kind not in "iuf":
        expected = f"a number for each id, of shape {rows.shape}"
        got = f"shape {array.shape}, dtype {array.dtype}"
        raise InputValueError(argument, "", expected, got, place)
    distances = array.astype(np.float64)
    has_id = (rows != PAD) if rows.dtype.kind == "i" else (rows != "")
    refuse_where(has_id & np.isnan(distances), argument, distances, "a number for each id", place)
    after, before = distances[:, 1:], distances[:, :-1]
    n_rise, n_fall = (
        np.count_nonzero((has_id[:, 1:] & is_so).any(axis=1))
        for is_so in (after > before, after < before)
    )
    if n_rise and (n_fall or are_scores):
        what = (
            "scores, of which more is better," if are_scores else "distances that rise in all, or"
        )
        got = f"{n_rise:,} of {len(rows):,} lists where they rise, {n_fall:,} where they fall"
        raise InputValueError(argument, "", f"{what} that fall in all lists", got, place)
    return rows, -distances if n_rise else distances


def read_with_truth(
    argument: str, value: Any, truth: Array, k: int, duplicates: str
) -> tuple[IntArray, IntArray]:
    """Read lists as `read_rows` does, and return them and exact ones by numbers of their ids."""
    lists, place = read_rows(argument, value, k)
    words = {"i": "integers", "U": "text"}
    expected, got = words[lists.dtype.kind], words[truth.dtype.kind]
    if expected != got:
        raise InputTypeError("truth", expected=f"{expected}, as the lists have", got=got)
    n_queries, k = lists.shape
    if len(truth) != n_queries or truth.shape[1] < k:
        expected = f"{format_count(k, 'id')} or more for each of {format_count(n_queries, 'query')}"
        raise InputValueError("truth", expected=expected, got=f"shape {truth.shape}")
    both = np.concatenate([lists, truth], axis=1)
    numbers = both
    if got == "text":
        _, codes = np.unique(both, return_inverse=True)  # by numpy: words
        numbers = np.where(both == "", PAD, codes.reshape(both.shape))
    exact = without_repeats("truth", numbers[:, k:], "raise", "", truth)
    return without_repeats(argument, numbers[:, :k], duplicates, place, lists), exact


# -- exact lists that were saved -------------------------------------------------------------------


def search_facts(embeddings: Embeddings, job: Job) -> dict[str, Any]:
    """Return what tells a search from others, by names for messages: numbers, words and digests."""
    query_starts, entity_starts = embeddings.tokens or (None, None)
    entities = embeddings.entities.array, entity_starts, embeddings.bias, embeddings.layout
    digested: dict[str, tuple[Any, ...]] = {
        "queries": (embeddings.queries.array, query_starts),
        "entities": entities,
        "candidates": (job.candidates, job.filter, job.rules.nan),
    }
    digests = {f"digest of {x}": sha256_hex(*digested[x])[:16] for x in index_files.DIGESTS}
    return {
        "similarity": embeddings.similarity,
        "precision": embeddings.dtype,
        "queries": len(job.targets),
        "entities": embeddings.shape[-1],
        **digests,
    }


def join_lists(argument: str, paths: Sequence[str]) -> tuple[dict[str, Any], TopK]:
    """Join the saved lists of parts of the queries; return what tells the search, and the lists.

    Parts of other searches are refused, and queries that come twice or not at all.
    """
    facts_of_parts, members_of_parts = zip(
        *(index_files.load_top(argument, path) for path in paths), strict=True
    )
    facts = facts_of_parts[0]
    for path, facts_of_part in zip(paths, facts_of_parts, strict=True):
        for name, fact in facts.items():
            got = facts_of_part[name]
            if got != fact and name != "ties":
                expected = f"{name} {fact}, as {paths[0]}"
                raise InputValueError(argument, expected=expected, got=got, place=path)
    rows, ids, scores = (
        np.concatenate([members[name] for members in members_of_parts])
        for name in ("rows", "ids", "scores")
    )
    n_queries = facts["queries"]
    times = np.bincount(rows[(rows >= 0) & (rows < n_queries)], minlength=n_queries)
    if len(rows) != n_queries or (times != 1).any():
        missing = np.flatnonzero(times == 0)
        got = f"{len(rows):,} lists"
        if len(missing):
            got += f"; missing: {describe_rows(missing, n_queries)}"
        raise InputValueError(argument, expected=f"each of {n_queries:,} queries once", got=got)
    order = np.argsort(rows, kind="stable")
    ties = sum(facts_of_part["ties"] for facts_of_part in facts_of_parts)
    return facts | {"ties": ties}, TopK(ids[order], scores[order])


def check_form(argument: str, path: str, entities: int) -> None:
    """Refuse a name of which no form of lists is known, or whose ids have too few bytes."""
    ending = index_files.file_ending(path)
    if ending not in FORMS:
        expected = f"a name that ends in one of {', '.join(FORMS)}"
        raise InputValueError(argument, expected=expected, got=path)
    if ending in (".ivecs", ".ibin", ".bin") and entities > index_files.MOST_IDS:
        expected = (
            f"at most {index_files.MOST_IDS:,} entities in {ending}, whose ids have 4 bytes; "
        )
        raise InputValueError(argument, expected=f"{expected}.npz has 8", got=f"{entities:,}")


def save_lists(path: str, top: TopK, rows: IntArray, facts: Mapping[str, Any]) -> None:
    """Write the lists of some queries in the form that the ending of a name says."""
    ending = index_files.file_ending(path)
    if ending == ".npz":
        index_files.save_top(path, facts, ids=top.ids, scores=top.scores, rows=rows)
    elif ending == ".run":
        write_run(path, top, queries=rows.tolist())
    else:
        is_distance = facts["similarity"] in DISTANCES
        index_files.write_lists(path, top.ids, -top.scores if is_distance else top.scores)
