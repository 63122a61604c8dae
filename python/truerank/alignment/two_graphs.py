"""The two graphs of an alignment, and entities of one of them, chosen by their ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.checks import first_outside
from ..inputs.errors import InputValueError
from ..inputs.selection import as_integers

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray


GRAPHS = ("left", "right")  # the columns of a pair
DIRECTIONS = ("left_to_right", "right_to_left")  # who asks, and who is asked for


def as_ids(name: str, value: Any, size: int, what: str = "ids") -> IntArray:
    """Check ids of one side; None is all of them. Ascending, each once.

    Parameters
    ----------
    name : str
        The argument.
    value : array_like of int, shape (n,), or None
    size : int
        How many entities the side has.
    what : str
        What they are called in messages.

    Raises
    ------
    TypeError, ValueError
        For anything else, and ids out of range.

    Examples
    --------
    >>> as_ids("left_ids", [3, 1, 3], 4)
    array([1, 3])
    """
    if value is None:
        return np.arange(size)
    ids = as_integers(name, value)
    if ids.ndim != 1:
        raise InputValueError(name, expected=f"a 1-D array of {what}", got=f"shape {ids.shape}")
    wrong = first_outside(ids, size)
    if wrong >= 0:
        raise InputValueError(name, expected=f"{what} from 0 to {size - 1}", got=ids[wrong])
    return np.unique(ids)
