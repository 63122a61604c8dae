"""What ranks of retrieval say beside counts: grades, judged documents, queries without answers.

All of it are labels of tasks, which are sliced, joined and saved with the ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..inputs.arrays import as_array
from ..inputs.checks import is_number
from ..inputs.errors import InputTypeError, InputValueError, UnknownKeyError
from ..inputs.frames import without_index
from ..inputs.row_keys import row_keys
from ..ranks.labels import GAIN, JUDGED, JUDGED_PLACES, WITHOUT_ANSWERS, Labels

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray, IntArray
    from ..ranks.container import Ranks

    LabelsByName = Mapping[str, Labels]

NO_PLACES = "none"  # of a query whose judged documents are all right answers
_PLACE = re.compile(r"([0-9]{1,18}):([1-9][0-9]{0,17})([?]?)")
_MOST_GRADE = 1 << 16  # whole gains below it are grades, whose distinct values are counted
_LARGEST_WHOLE = 2.0**53  # from here on not every whole number is a float64


def read_grades(argument: str, values: Any) -> npt.NDArray[Any]:
    """Return grades, which are finite numbers of any kind and sign, whatever has them.

    Parameters
    ----------
    argument : str
        For messages.
    values : sequence of numbers, shape (n,)

    Returns
    -------
    ndarray, shape (n,)
        Of int64 where all are whole, of float64 otherwise.

    Raises
    ------
    InputTypeError, InputValueError
        For what is no number, and for NaN and infinite ones.

    Examples
    --------
    >>> read_grades("qrels", [2.0, -1]), read_grades("qrels", np.array([1, 0.1]))
    (array([ 2, -1]), array([1. , 0.1]))
    """
    expected = "grades that are finite numbers"
    array = as_array(without_index(values), argument, expected)
    if array.dtype.kind == "O":  # a column of Python's numbers
        array = as_array(array.tolist(), argument, expected)
    if not len(array):
        return np.zeros(0, np.int64)
    if array.dtype.kind not in "biuf" or array.ndim != 1:
        odd = [(value, row) for row, value in enumerate(values) if not is_number(value)]
        value, row = odd[0]
        raise InputTypeError(argument, expected=expected, got=f"{value!r} in row {row}")
    grades = array.astype(np.float64)
    is_odd = ~np.isfinite(grades)
    if is_odd.any():
        row = int(is_odd.argmax())
        raise InputValueError(argument, expected=expected, got=f"{array[row]} in row {row}")
    is_whole = (grades == np.floor(grades)) & (np.abs(grades) < _LARGEST_WHOLE)
    if is_whole.all():
        return grades.astype(np.int64)
    return grades


def gain_labels(gains: npt.NDArray[Any]) -> Labels:
    """Return gains as labels, which are their numbers in text, ascending.

    Examples
    --------
    >>> gain_labels(np.array([2, 0.5, 2]))
    Labels(3 labels: 0.5 1, 2 2)
    """
    values = gains.astype(np.float64)
    are_grades = len(values) > 0 and values.min() >= 0 and values.max() < _MOST_GRADE
    if are_grades and (values == np.floor(values)).all():  # as nearly always: no sorting
        grades = values.astype(np.int64)
        present = np.bincount(grades) > 0
        distinct = np.flatnonzero(present).astype(np.float64)
        codes = (np.cumsum(present) - 1)[grades]
    else:
        distinct, codes = np.unique(values, return_inverse=True)  # by numpy: floats
    words = []
    for value in distinct.tolist():
        if value.is_integer() and abs(value) < _LARGEST_WHOLE:
            words.append(str(int(value)))
        else:
            words.append(repr(value))
    return Labels._trusted(codes.astype(np.int64), tuple(words))


def gains_of(labels_by_name: LabelsByName) -> FloatArray | None:
    """Return the gains that labels of tasks have; None: they have none.

    Raises
    ------
    ValueError
        For labels "gain" that are not numbers.

    Examples
    --------
    >>> gains_of({"gain": gain_labels(np.array([2, 0.5]))})
    array([2. , 0.5])
    """
    labels = labels_by_name.get(GAIN)
    if labels is None:
        return None
    if labels.vocabulary is None:
        return labels.codes.astype(np.float64)
    try:
        numbers = np.array(list(map(float, labels.vocabulary)), np.float64)
    except ValueError as error:
        expected = f"numbers as labels {GAIN!r}"
        raise InputValueError("ranks", expected=expected, got=str(error)) from None
    gains: FloatArray = numbers[labels.codes]
    return gains


def first_task_counts(number: int, tasks: int) -> Labels:
    """Return labels of which the first is a number and all others are 0.

    However tasks are sliced and joined again, the sum of such labels is the number.

    Examples
    --------
    >>> first_task_counts(7, 3).values
    array([7, 0, 0])
    """
    counts = np.zeros(tasks, np.int64)
    counts[:1] = number
    return Labels._trusted(counts, None)


def count_without_answers(labels_by_name: LabelsByName) -> int:
    """Return how many queries had no right answer when tasks with these labels were made.

    Examples
    --------
    >>> count_without_answers({"without_answers": Labels([2, 0])})
    2
    """
    labels = labels_by_name.get(WITHOUT_ANSWERS)
    if labels is None:
        return 0
    return int(labels.codes.sum())


def with_files(ranks: Ranks, sources: Iterable[str]) -> Ranks:
    """Return ranks whose protocol names further files and their forms; "" is none.

    Examples
    --------
    >>> from truerank import Ranks
    >>> with_files(Ranks([1], [2], 4), ["", "run.txt (TREC run)"]).protocol.files
    ('run.txt (TREC run)',)
    """
    named = [source for source in sources if source]
    if not named:
        return ranks
    return ranks.with_protocol(files=ranks.protocol.files + tuple(named))


def with_judged(ranks: Ranks, is_right: npt.NDArray[np.bool_]) -> Ranks:
    """Return the ranks of right answers, labelled with where the other judged documents are.

    The labels `JUDGED` say how many of them are above each right answer of their query, how many
    are tied with it, and how many there are; `JUDGED_PLACES` says where they are.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([1, 0, 1], [2, 1, 2], 4, queries=["q"] * 3)
    >>> labels = with_judged(ranks, np.array([True, False, False])).labels
    >>> [labels[name].values.tolist() for name in JUDGED]
    [[1], [1], [2]]
    """
    query = cast("Labels", ranks.queries).codes
    # the other documents of each query, and among them those with the score of a right answer
    judged_query = np.sort(query[~is_right])
    query_start = np.searchsorted(judged_query, query[is_right], "left")
    query_end = np.searchsorted(judged_query, query[is_right], "right")
    place = row_keys([query, ranks.above])
    judged_place = np.sort(place[~is_right])
    tied_start = np.searchsorted(judged_place, place[is_right], "left")
    tied_end = np.searchsorted(judged_place, place[is_right], "right")
    above = tied_start - query_start
    tied = tied_end - tied_start
    judged = query_end - query_start
    counts: dict[str, Any] = dict(zip(JUDGED, (above, tied, judged), strict=True))
    right = ranks[is_right].with_labels(**counts)
    if JUDGED_PLACES in right.labels:  # of documents without a gain
        return right
    return right.with_labels(**{JUDGED_PLACES: _places_in_text(ranks, is_right)})


def _places_in_text(ranks: Ranks, is_right: npt.NDArray[np.bool_]) -> Labels:
    """Write where the judged documents of each query are, as a label of its right answers."""
    query = cast("Labels", ranks.queries).codes
    others = np.flatnonzero(~is_right)
    others = others[np.lexsort((ranks.above[others], query[others]))]
    missed = np.zeros(len(others), np.bool_)
    if ranks.listed is not None:
        missed = ~ranks.listed[others]
    columns = (query[others], ranks.above[others], ranks.tied[others], missed)
    words: dict[int, list[str]] = {}
    for code, above, tied, is_missed in zip(*(column.tolist() for column in columns), strict=True):
        mark = ""
        if is_missed:
            mark = "?"
        words.setdefault(code, []).append(f"{above}:{tied}{mark}")
    numbers: dict[str, int] = {}
    of_query: dict[int, int] = {}
    for code in dict.fromkeys(query[is_right].tolist()):
        text = " ".join(words.get(code, []))
        of_query[code] = numbers.setdefault(text or NO_PLACES, len(numbers))
    codes = np.array(list(map(of_query.__getitem__, query[is_right].tolist())), np.int64)
    return Labels._trusted(codes, tuple(numbers))


def judged_places(ranks: Ranks, tasks: IntArray) -> tuple[IntArray, IntArray]:
    """Read where the other judged documents are, of the queries of some tasks.

    Returns
    -------
    query : ndarray of int64, shape (m,)
        For each document the position of its query in `tasks`.
    places : ndarray of int64, shape (m, 3)
        How many candidates are above it, how many are tied with it, and whether a list has it.

    Raises
    ------
    KeyError
        For ranks that do not say it.

    Examples
    --------
    >>> from truerank import Ranks
    >>> ranks = Ranks([1, 0, 2], [1, 1, 2], 4, queries=["q"] * 3)
    >>> judged_places(with_judged(ranks, np.array([True, False, False])), np.array([0]))
    (array([0, 0]), array([[0, 1, 1],
           [2, 2, 1]]))
    """
    labels = ranks.labels.get(JUDGED_PLACES)
    if labels is None or labels.vocabulary is None:
        advice = "it needs judged documents with a gain of 0, and Task(..., judged=True)"
        raise UnknownKeyError("'judged'", advice)
    read: dict[int, list[tuple[int, int, int]]] = {}
    query: list[int] = []
    places: list[tuple[int, int, int]] = []
    for position, code in enumerate(labels.codes[tasks].tolist()):
        if code not in read:
            read[code] = _read_places(labels.vocabulary[code])
        places.extend(read[code])
        query.extend([position] * len(read[code]))
    return np.array(query, np.int64), np.array(places, np.int64).reshape(-1, 3)


def _read_places(text: str) -> list[tuple[int, int, int]]:
    """Read what `_places_in_text` wrote of one query.

    Examples
    --------
    >>> _read_places("0:1 2:5?"), _read_places("none")
    ([(0, 1, 1), (2, 5, 0)], [])
    """
    if text == NO_PLACES:
        return []
    found = []
    for word in text.split():
        match = _PLACE.fullmatch(word)
        if match is None:
            expected = f"labels {JUDGED_PLACES!r} of the form '3:1 7:2?'"
            raise InputValueError("ranks", expected=expected, got=repr(word))
        above, tied, missed = match.groups()
        found.append((int(above), int(tied), int(not missed)))
    return found
