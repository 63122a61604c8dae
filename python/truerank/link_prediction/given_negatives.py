"""Negatives that are given for each test triple, as benchmarks publish them beside their splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..inputs.errors import InputValueError, renamed
from ..inputs.naming import public
from ..inputs.selection import as_selection, csr_from_padded, indptr_of, selection_arrays
from ..tasks.row_keys import distinct_rows
from ..tasks.vocabularies import digest
from .sampling import join_ranges

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .triples import TripleSplits

    Lists = tuple[IntArray, IntArray]  # indptr and indices, a list for each triple


@public("truerank.link_prediction")
class Negatives(NamedTuple):
    """Negatives of every test triple: the only candidates beside its answer.

    Attributes
    ----------
    tail, head, relation : array of int, (indptr, indices), or list of lists
        For each predicted side, the ids of the negatives of every test triple as it was given: an
        array of shape (n, k), in which -1 fills short rows, or lists of any lengths in a form that
        `rank` takes. They are sets: a repeated negative counts once, and so does the answer, in the
        list or not.

    Notes
    -----
    The protocol names them as sampled, by their number for each triple and a digest, as in
    "given 20 negatives (3f2a91c0)". Known answers among them are filtered, unless `Task` has
    ``known=None`` or ``filters=("none",)``.

    Examples
    --------
    >>> from truerank.link_prediction import Task
    >>> negatives = Negatives(tail=[[2, 3], [0, 3]])
    >>> task = Task([[0, 0, 1], [1, 0, 2]], entities=4, candidates=negatives, sides=("tail",))
    >>> task.tail.candidates
    (array([0, 3, 6]), array([1, 2, 3, 0, 2, 3]))
    >>> task.protocol.candidates
    'given 2 negatives (6bd2be96)'
    """

    tail: Any = None
    head: Any = None
    relation: Any = None


class ReadNegatives(NamedTuple):
    """Checked negatives by side, with their name in the protocol."""

    name: str
    lists: dict[str, Lists]


def read_negatives(
    negatives: Negatives, sides: Sequence[str], splits: TripleSplits
) -> ReadNegatives:
    """Check the negatives of all sides.

    Raises
    ------
    TypeError, ValueError
        For a side of the task without negatives, for negatives of another side, and for lists that
        do not fit the test triples or the ids.
    """
    triples = next(iter(splits.sizes.values()))
    lists: dict[str, Lists] = {}
    for side in sides:
        if side not in Negatives._fields:
            expected = f"other candidates for the side {side}"
            raise InputValueError("candidates", expected=expected, got="negatives of triples")
    for side, given in negatives._asdict().items():
        name = f"candidates: {side}"
        if (given is None) == (side in sides):
            expected = "negatives" if side in sides else "none, as the task has no such side"
            raise InputValueError(name, expected=expected, got="None" if given is None else "some")
        if given is None:
            continue
        vocabulary = splits.relations if side == "relation" else splits.entities
        padded = not isinstance(given, tuple) and not hasattr(given, "tocsr")
        if padded and not _is_ragged(given):
            with renamed(x=name):
                given = csr_from_padded(given)
        selection = as_selection(name, given, triples, vocabulary.size, 0)
        assert selection is not None
        lists[side] = _lists_of_rows(selection_arrays(selection)[:3], np.arange(triples))
    lengths = np.concatenate([np.diff(indptr) for indptr, _ in lists.values()])
    least, most = int(lengths.min()), int(lengths.max())
    number = str(most) if least == most else f"{least} to {most}"
    code = digest(*(array for indptr, indices in lists.values() for array in (indptr, indices)))
    return ReadNegatives(f"given {number} negatives ({code})", lists)


def _is_ragged(given: Any) -> bool:
    """Return whether a sequence has lists of unlike lengths, which make no matrix."""
    try:
        return np.ndim(given) != 2
    except ValueError:
        return True


def _lists_of_rows(
    selection: tuple[IntArray, Any, IntArray | None], rows: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the lists of some rows, one after the other."""
    indptr, indices, lists = selection
    which = rows if lists is None else lists[rows]
    lengths = np.diff(indptr)[which]
    return indptr_of(lengths), indices[join_ranges(indptr[which], lengths)].astype(np.int64)


def candidates_of_negatives(lists: Lists, kept: IntArray, targets: IntArray) -> Lists:
    """Return the candidates of the ranked triples: their negatives and their answers.

    Examples
    --------
    >>> lists = np.array([0, 2, 3]), np.array([7, 5, 4])
    >>> candidates_of_negatives(lists, np.array([0]), np.array([6]))
    (array([0, 3]), array([5, 6, 7]))
    """
    indptr, indices = _lists_of_rows((*lists, None), kept)
    tasks = np.arange(len(kept))
    of_task, candidates = distinct_rows(
        [
            np.concatenate([np.repeat(tasks, np.diff(indptr)), tasks]),
            np.concatenate([indices, targets]),
        ]
    )
    return indptr_of(np.bincount(of_task, minlength=len(kept))), candidates
