"""Chosen entities: lists of candidates by id or by label, and names that tell such lists apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.checks import first_outside
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.selection import as_integers
from .row_keys import distinct

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray
    from .vocabularies import Vocabulary


def chosen_ids(name: str, value: Any, vocabulary: Vocabulary, unnamed: str) -> IntArray:
    """Read entities by id or by label, ordered and distinct.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int or str, shape (n,)
    vocabulary : Vocabulary
        How many ids there are, and their labels.
    unnamed : str
        Why there are no labels, where there are none.

    Raises
    ------
    TypeError, ValueError
        For anything else, ids out of range, and unknown labels.

    Examples
    --------
    >>> from truerank.tasks.vocabularies import Vocabulary
    >>> chosen_ids("candidates", ["b", "a", "b"], Vocabulary(3, ("a", "b", "c")), "")
    array([0, 1])
    """
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputValueError(name, expected="a 1-D array", got=f"shape {array.shape}")
    if array.dtype.kind in "UOT" and len(array):
        if vocabulary.names is None:
            raise InputTypeError(name, expected=f"ids, as {unnamed}", got="str")
        place = {label: code for code, label in enumerate(vocabulary.names)}
        unknown = [label for label in array.tolist() if label not in place]
        if unknown:
            raise InputValueError(name, f"unknown label {unknown[0]!r}")
        array = np.array([place[label] for label in array.tolist()], dtype=np.int64)
    ids = as_integers(name, value if not len(array) else array)
    wrong = first_outside(ids, vocabulary.size)
    if wrong >= 0:
        raise InputValueError(
            name,
            expected=f"ids from 0 to {vocabulary.size - 1}",
            got=f"{ids[wrong]} at position {wrong}",
        )
    return distinct(ids)


def digest(*lists: IntArray) -> str:
    """Tell sets of ids apart in a name: 8 hex digits.

    Examples
    --------
    >>> digest(np.array([0, 1])) == digest(np.array([0, 2]))
    False
    """
    from hashlib import blake2b

    joined = b"".join(ids.astype("<i8").tobytes() for ids in lists)
    return blake2b(joined, digest_size=4).hexdigest()
