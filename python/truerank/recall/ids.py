"""Recall of an index by its ids and those of a truth alone: nobody has the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import is_npy, path_name, read_npy
from ..arrays.saved_files import read_npz
from ..counting.job import sha256_hex
from ..counting.lists import PAD, TopK
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import (
    as_array,
    check_shape,
    index_array,
    pad_lists,
    refuse_mask,
    signed_ids,
)
from ..naming import format_count, public
from ..ranks.protocol import Protocol
from ..stores import PATHS, index_files
from . import KNOWN, MISSING, NEAR, WRONG, check_tolerance, report_answers
from .files import count_ids, join_lists, refuse_where, without_repeats
from .truth import are_in_lists

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..reporting import Report

    Array = npt.NDArray[Any]

FLOAT = np.dtype("<f4")  # of distances in .bin
_WITH_VECTORS = Option(
    "similarity",
    ...,
    "is what vectors need",
    call="evaluate_topk(queries, entities, ids, truth, similarity=...)",
)


@public("truerank")
def evaluate_ids(
    ids: Any, truth: Any, *, tolerance: float = 0.0, duplicates: str = "raise"
) -> Report:
    """Measure the recall of an index by its lists and the exact ones alone, without vectors.

    Let k be the width of `ids`, and m the least of k and the number of ids that the truth has for a
    query. The first m ids of the truth are right, and if it has distances, so are those whose
    distance ties with the m-th. The recall of a query is (right ids among its k, each once, at most
    m) / m, and the recall is the mean over queries, as DiskANN has it; queries for which the truth
    has no ids are left out.

    Parameters
    ----------
    ids : array_like of int or str, shape (q, k), lists, TopK, or path
        The ids that an index lists for each query. Where it has fewer than k, -1 stands behind
        them, or the largest unsigned integer of 4 or 8 bytes, or an empty text; lists in Python or
        Arrow may end earlier, if one has k. A file is one of `.npy`, `.npz` (ids), `.ivecs`,
        `.ibin`, `.bin`, ``FILE.hdf5:NAME`` and ``FILE.parquet:NAME`` or `.arrow` (a column of
        lists). For a smaller k hand over ``ids[:, :k]``.
    truth : TopK, array_like of int or str, shape (q, k or more), lists, or path
        The exact lists in their order, with ids as those of `ids`. Files may have distances: behind
        the ids in `.bin` and `.ibin`, and as ``distances`` beside ``FILE.hdf5:neighbors``. So may a
        second file: ``TopK("truth.ibin", "distances.fbin")``. They may rise or fall, but in all
        rows alike. Scores of arrays fall, as more is better: those of faiss are ``TopK(I, -D)``.
    tolerance : float
        How much farther than the m-th a right id may be, in the unit of the distances: those of
        DiskANN are squared.
    duplicates : {"raise", "first"}
        An id that a list has twice is refused, or counts once.

    Returns
    -------
    Report
        As of `evaluate_topk`. Recalls of unlike truths are not compared. ``report.audit()`` says
        that ties are not seen where the truth has no distances, and in how many queries the recall
        is a lower bound, as the truth ends within a tie.

    Raises
    ------
    TypeError, ValueError, OSError
        For ids that are neither integers nor text, or on one side only, ids below -1 and behind a
        -1, repeated ones, lists of another number of queries, and a truth that is narrower than k;
        for distances that are NaN, or do not rise or fall throughout; for a tolerance below 0, or
        without distances.

    Examples
    --------
    >>> evaluate_ids([[0, 3], [3, 2]], [[0, 1, 2], [3, 2, 1]]).per_query("recall@2").tolist()
    [0.5, 1.0]
    >>> truth = TopK(np.array([[0, 1, 3]]), np.array([[-0.5, -1, -1]]))
    >>> evaluate_ids([[0, 3]], truth)["recall@2"]
    1.0
    """
    found, place = read_rows("ids", ids)
    exact, scores = read_exact("truth", truth)
    lists, known = number_ids(found, exact, duplicates, "ids", place)
    return report_ids(lists, known, exact, scores, tolerance)


# -- what is read ----------------------------------------------------------------------------------


def read_rows(argument: str, value: Any, k: int = 0) -> tuple[Array, str]:
    """Return the first k ids (0: all) of each list, int64 or text, and the file that has them.

    Where there is no id stands -1, or an empty text.
    """
    place = ""
    rows: Any = value.ids if isinstance(value, TopK) else value
    if isinstance(rows, PATHS):
        place = path_name(argument, rows)
        rows = index_files.read_ids(argument, place, ways=[_WITH_VECTORS])
    refuse_mask(argument, rows)
    if not isinstance(rows, (list, tuple)):
        rows = as_array(rows, argument, "a list of ids for each query")
    if isinstance(rows, (list, tuple)) or rows.dtype.kind == "O":
        rows = pad_lists(argument, rows)
    check_shape(argument, rows.shape, 2, "a list of ids for each query")
    least = max(1, k)
    if rows.shape[1] < least:
        expected = f"lists of {format_count(least, 'id')} or more"
        got = f"{rows.shape[1]:,} in the longest"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    rows = rows[:, : k or None]
    if rows.dtype.kind == "U":
        rows = np.where(rows == str(PAD), "", rows)
        is_pad = rows == ""
    elif rows.dtype.kind in "iu":
        rows = index_array(argument, signed_ids(rows), copy=False)
        is_pad = rows == PAD
        expected = f"ids from 0 on, or {PAD} for none"
        refuse_where(rows < PAD, argument, rows, expected, place)
    else:
        got = f"dtype {rows.dtype}"
        ways = [_WITH_VECTORS]
        raise InputTypeError(argument, "", "integers or text", got, place, ways)
    is_behind = ~is_pad & np.logical_or.accumulate(is_pad, axis=1)
    refuse_where(is_behind, argument, rows, f"no id behind a place without one ({PAD})", place)
    return rows, place


def read_exact(argument: str, value: Any) -> tuple[Array, FloatArray | None]:
    """Read exact lists, as `read_rows` does, and scores, of which more is better; None without."""
    ids: Any = value.ids if isinstance(value, TopK) else value
    scores: Any = value.scores if isinstance(value, TopK) else None
    are_scores = scores is not None and not isinstance(scores, PATHS)
    if isinstance(ids, PATHS):
        path = path_name(argument, ids)
        if path.lower().endswith(".npz") and "truerank" in read_npz(argument, path, ())[0]:
            ids, scores = join_lists(argument, [path])[1]
        elif scores is None:
            scores = index_files.read_distances(argument, path)
    rows, place = read_rows(argument, ids)
    if isinstance(scores, PATHS):
        place = path_name(argument, scores)
        of_npy = is_npy(place)
        scores = (
            read_npy(argument, place)
            if of_npy
            else index_files.map_matrix(argument, place, of_bin=FLOAT)
        )
    if scores is None:
        return rows, None
    refuse_mask(argument, scores)
    distances = as_array(scores, argument, "a distance for each id")
    if distances.shape != rows.shape or distances.dtype.kind not in "iuf":
        expected = f"a number for each id, of shape {rows.shape}"
        got = f"shape {distances.shape}, dtype {distances.dtype}"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    return rows, _turn(argument, rows, distances.astype(np.float64), place, are_scores)


def _turn(
    argument: str, ids: Array, distances: FloatArray, place: str, are_scores: bool
) -> FloatArray:
    """Return what falls along each list: distances that rise are turned, and scores may not."""
    has_id = (ids != PAD) if ids.dtype.kind == "i" else (ids != "")
    refuse_where(has_id & np.isnan(distances), argument, distances, "a number for each id", place)
    after, before = distances[:, 1:], distances[:, :-1]
    rises = (has_id[:, 1:] & (after > before)).any(axis=1)
    falls = (has_id[:, 1:] & (after < before)).any(axis=1)
    n_rows, n_rise, n_fall = len(ids), np.count_nonzero(rises), np.count_nonzero(falls)
    if n_rise and (n_fall or are_scores):
        expected = "distances that rise in all lists, or fall in all"
        if are_scores:
            expected = "scores that fall in all lists, as more is better"
        got = f"{n_rise:,} of {n_rows:,} lists where they rise, {n_fall:,} where they fall"
        raise InputValueError(argument, expected=expected, got=got, place=place)
    return -distances if n_rise else distances


def number_ids(
    ids: Array, truth: Array, duplicates: str, argument: str = "ids", place: str = ""
) -> tuple[IntArray, IntArray]:
    """Return lists and exact ones by common numbers of their ids; refuse what does not fit."""
    words = {"i": "integers", "U": "text"}
    expected, got = words[ids.dtype.kind], words[truth.dtype.kind]
    if expected != got:
        raise InputTypeError("truth", expected=f"{expected}, as the lists have", got=got)
    n_queries, k = ids.shape
    if len(truth) != n_queries or truth.shape[1] < k:
        expected = f"{format_count(k, 'id')} or more for each of {format_count(n_queries, 'query')}"
        raise InputValueError("truth", expected=expected, got=f"shape {truth.shape}")
    numbers, exact = ids, truth
    if got == "text":
        every = np.concatenate([ids, truth], axis=1)
        _, codes = np.unique(every, return_inverse=True)  # by numpy: words
        codes = np.where(every == "", PAD, codes.reshape(every.shape))
        numbers, exact = codes[:, :k], codes[:, k:]
    exact = without_repeats("truth", exact, "raise", "", truth)
    return without_repeats(argument, numbers, duplicates, place, ids), exact


# -- what is right ---------------------------------------------------------------------------------


def report_ids(
    lists: IntArray,
    exact: IntArray,
    truth: Array,
    scores: FloatArray | None = None,
    tolerance: float = 0.0,
) -> Report:
    """Report the recall of lists beside exact ones, both by common numbers; and as they are."""
    tolerance = check_tolerance(tolerance)
    k = lists.shape[1]
    n_right = np.minimum(count_ids(exact), k)
    has_id = exact != PAD
    are_first = has_id & (np.arange(exact.shape[1]) < k)
    are_right = are_first
    if scores is not None:
        last = np.take_along_axis(scores, n_right[:, None] - 1, axis=1)
        are_right = are_first | (has_id & (scores >= last - tolerance))
    elif tolerance:
        expected = "0, as the truth has no distances"
        raise InputValueError("tolerance", expected=expected, got=tolerance)

    def mark(ids: IntArray) -> npt.NDArray[np.int8]:
        answers = np.where(ids == PAD, MISSING, WRONG)
        for mark, places in ((NEAR, are_right), (KNOWN, are_first)):
            known = np.where(places, exact, PAD)[: len(ids)]
            answers[(ids != PAD) & are_in_lists(ids, known)] = mark
        return answers.astype(np.int8)

    pad: Any = "" if truth.dtype.kind == "U" else PAD
    width = max(1, np.count_nonzero(are_right, axis=1).max(initial=0))
    right = np.sort(np.where(are_right, truth, pad), axis=1)[:, -width:]
    digest = sha256_hex(right if pad == PAD else right.tolist())[:8]
    name = f"top {k}{f', tolerance {tolerance!r}' if tolerance else ''}, of a truth ({digest})"
    doubts = {"unseen ties": True} if scores is None else {"lower bound": are_right[:, -1]}
    sizes = np.zeros_like(n_right)
    return report_answers(lists, mark, n_right, sizes, Protocol(candidates=name), doubts=doubts)
