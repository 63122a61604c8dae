"""The best candidates of a row of scores: exactly, and of equal ones those with the lowest ids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputValueError
from ..inputs.scores import widened

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..stores import Store


def stored_row(scores: npt.NDArray[Any] | Store, dtype: str, row: int) -> npt.NDArray[Any]:
    """Give one row of scores, in native byte order and a dtype that numpy can compare.

    Parameters
    ----------
    scores : ndarray or Store, shape (rows, columns)
        In memory or in files.
    dtype : str
        The name of their dtype; bfloat16 becomes float32, exactly.
    row : int
        Which row.

    Examples
    --------
    >>> stored_row(np.array([[1, 2], [0x3F80, 0x4000]], np.uint16), "bfloat16", 1)
    array([1., 2.], dtype=float32)
    """
    columns = np.arange(scores.shape[1])
    rows = np.full_like(columns, row)
    found = scores[row] if isinstance(scores, np.ndarray) else scores.take(rows, columns)
    if dtype == "bfloat16":
        return widened(found)
    return found.astype(found.dtype.newbyteorder("="), copy=False)


def best_columns(
    row: npt.NDArray[Any], columns: IntArray, k: int, *, ascending: bool = False, nan: str = "raise"
) -> IntArray:
    """Give the k best of some columns, best first; of equal scores the lowest columns.

    Parameters
    ----------
    row : ndarray, shape (n,)
        Scores.
    columns : ndarray of int64
        The candidates, ascending and distinct.
    k : int
        How many; fewer where there are fewer.
    ascending : bool
        Whether lower scores are better.
    nan : {"raise", "worst", "omit"}
        "raise": a NaN is an error. "worst": it comes last, by column. "omit": it is none.

    Returns
    -------
    ndarray of int64, shape (up to k,)

    Raises
    ------
    ValueError
        For a NaN that the rule forbids.

    Examples
    --------
    >>> best_columns(np.array([0.5, 0.9, 0.5, 0.7]), np.arange(4), 3)
    array([1, 3, 0])
    """
    values = row[columns]
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if nan == "raise" and missing.any():
        raise InputValueError("scores", f"column {columns[missing][0]} is NaN")
    last = columns[missing] if nan == "worst" else columns[:0]
    columns, values = columns[~missing], values[~missing]
    if 0 < k < len(values):  # whatever is as good as the k-th best is sorted, nothing else
        place = k - 1 if ascending else len(values) - k
        kth = np.partition(values, place)[place]
        good = values <= kth if ascending else values >= kth
        columns, values = columns[good], values[good]
    if ascending:
        order = np.argsort(values, kind="stable")
    else:  # integers may have no negative: the reverse of the reversed, in which ties stay in order
        order = len(values) - 1 - np.argsort(values[::-1], kind="stable")[::-1]
    return np.concatenate([columns[order], last])[:k]
