"""What ranks of retrieval say beside counts: grades, judged documents, queries without answers.

All of it are labels of tasks, which are sliced, joined and saved with the ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.row_keys import row_keys
from ..ranks.labels import GAIN, JUDGED, WITHOUT_ANSWERS, Labels

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import FloatArray
    from ..ranks.container import Ranks

    LabelsByName = Mapping[str, Labels]

_MOST_GRADE = 1 << 16  # whole gains below it are grades, whose distinct values are counted
_LARGEST_WHOLE = 2.0**53  # from here on not every whole number is a float64


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
        distinct, codes = np.unique(values, return_inverse=True)
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
    are tied with it, and how many there are.

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
    return ranks[is_right].with_labels(**counts)
