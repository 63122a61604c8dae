"""Recall of an index by its ids and those of a truth alone: nobody has the vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays.input_files import path_name
from ..arrays.row_keys import are_among, row_keys
from ..arrays.saved_files import read_npz
from ..counting.job import sha256_hex
from ..counting.lists import PAD, REPEATS, TopK
from ..errors import InputTypeError, InputValueError, Option
from ..inputs.array_likes import as_array, index_array, pad_lists, refuse_mask
from ..inputs.checks import check_shape, choice, signed_ids
from ..naming import format_count, public
from ..records.lists import DUPLICATES
from ..reporting.reports import report_task
from ..stores import PATHS, index_files
from .topk_evaluation import (
    check_tolerance,
    count_ids,
    count_right,
    describe_tolerance,
    find_repeats,
    join_lists,
    make_findings,
    rank_hits,
    recall_of_less,
    refuse_repeats,
    refuse_where,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import FloatArray, IntArray
    from ..reporting import Report

    Array = npt.NDArray[Any]

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
        scores = index_files.read_floats(argument, place)
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
    k = ids.shape[1]
    if len(truth) != len(ids) or truth.shape[1] < k:
        expected = f"{format_count(k, 'id')} or more for each of {format_count(len(ids), 'query')}"
        raise InputValueError("truth", expected=expected, got=f"shape {truth.shape}")
    numbers, known = ids, truth
    if got == "text":
        every = np.concatenate([ids.ravel(), truth.ravel()])
        names, codes = np.unique(every, return_inverse=True)  # by numpy: words
        codes = np.where(names[codes] == "", PAD, codes)
        numbers = codes[: ids.size].reshape(ids.shape)
        known = codes[ids.size :].reshape(truth.shape)
    refuse_repeats("truth", known, truth)
    if choice("duplicates", duplicates, DUPLICATES) == "raise":
        refuse_repeats(argument, numbers, ids, place, [REPEATS])
    return np.where(find_repeats(numbers), PAD, numbers), known


# -- what is right ---------------------------------------------------------------------------------


def report_ids(
    lists: IntArray,
    known: IntArray,
    truth: Array,
    scores: FloatArray | None = None,
    tolerance: float = 0.0,
) -> Report:
    """Report the recall of lists beside exact ones, both by common numbers of ids; and as read."""
    tolerance = check_tolerance(tolerance)
    k = lists.shape[1]
    n_right = np.minimum(count_ids(known), k)
    are_first = (known != PAD) & (np.arange(known.shape[1]) < k)
    are_right = are_first
    if scores is not None:
        last = np.take_along_axis(scores, n_right[:, None] - 1, axis=1)
        are_right = are_first | ((known != PAD) & (scores >= last - tolerance))
    elif tolerance:
        expected = "0, as the truth has no distances"
        raise InputValueError("tolerance", expected=expected, got=tolerance)
    right = np.where(are_right, known, PAD)

    def count_hits(ids: IntArray) -> IntArray:
        rows = slice(len(ids))
        return np.minimum(count_right(are_in_rows(ids, right[rows])), n_right[rows])

    hits = count_hits(lists)
    are_ties = are_in_rows(lists, np.where(are_first, PAD, right))
    # More ids may be right: without distances any, else those of a truth that ends within the tie.
    ends_within_tie = np.bool_(scores is None) | are_right[:, -1]
    are_unknown = (lists != PAD) & ~are_in_rows(lists, right if scores is None else known)
    are_doubtful = are_unknown.any(axis=1) & ends_within_tie & (hits < n_right)
    are_text = truth.dtype.kind == "U"
    numbers: dict[str, Any] = {
        "missing ids": np.maximum(n_right - count_ids(lists), 0).sum(),
        "tied lists": np.count_nonzero(are_ties.any(axis=1)),
        "without truth": np.count_nonzero(n_right == 0),
        "ids from 1": 0 if are_text else recall_of_less(lists, hits, n_right, count_hits),
        "unseen ties" if scores is None else "lower bound": np.count_nonzero(are_doubtful),
    }
    width = int(are_right.sum(axis=1).max(initial=1))
    shown = np.sort(np.where(are_right, truth, "" if are_text else PAD), axis=1)[:, -width:]
    digest = sha256_hex(shown.tolist() if are_text else shown)[:8]
    name = f"top {k}{describe_tolerance(tolerance)}, of a truth ({digest})"
    ranks = rank_hits(hits, n_right, k, np.zeros_like(hits), candidates=name)
    return report_task(ranks, make_findings(numbers, len(lists)), unit="query")


def are_in_rows(ids: IntArray, lists: IntArray) -> npt.NDArray[np.bool_]:
    """Return whether each id, whatever its size, is in the list of its row; PAD is in none."""
    rows = [np.repeat(np.arange(len(each)), each.shape[1]) for each in (ids, lists)]
    keys = row_keys([np.concatenate(rows), np.concatenate([ids.ravel(), lists.ravel()])])
    are_in = are_among(keys[: ids.size], keys[ids.size :])
    are_in[ids.ravel() == PAD] = False
    return are_in.reshape(ids.shape)
