"""Frames of pandas and polars: scores are read by position, and labels that say more are refused.

Neither library is imported here: a program that has not imported it has no frame of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .errors import InputTypeError, InputValueError

if TYPE_CHECKING:
    import numpy.typing as npt


def is_frame(value: object) -> bool:
    """Whether a value is a DataFrame of pandas or polars.

    Examples
    --------
    >>> is_frame([[0.1, 0.9]])
    False
    """
    libraries = (sys.modules.get(name) for name in ("pandas", "polars"))
    return any(isinstance(value, getattr(library, "DataFrame", ())) for library in libraries)


def frame_array(name: str, frame: Any) -> npt.NDArray[Any]:
    """Return the numbers of a frame, without a copy where they are in one block.

    Raises
    ------
    TypeError
        For columns of several dtypes: a common one would be a conversion, which may change order.
    """
    dtypes = list(dict.fromkeys(map(str, frame.dtypes)))
    if len(dtypes) > 1:
        raise InputTypeError(name, expected="columns of one dtype", got=", ".join(dtypes))
    array: npt.NDArray[Any] = frame.to_numpy()
    return array


def refuse_labels(name: str, value: Any) -> None:
    """Refuse a frame, or a row of one, that has labels: ids might be meant by position or label.

    Raises
    ------
    ValueError
        For rows or columns that are not labelled 0, 1, 2, ...

    Examples
    --------
    >>> refuse_labels("scores", [[0.1, 0.9]])
    """
    pandas = sys.modules.get("pandas")
    if not is_frame(value) and not isinstance(value, getattr(pandas, "Series", ())):
        return
    for labels in (getattr(value, "columns", ()), getattr(value, "index", ())):
        if list(labels) != list(range(len(labels))):
            got = f"one with labels {', '.join(map(repr, labels[:3]))}"
            expected = "an array, or a frame whose rows and columns are only numbered"
            raise InputValueError(name, expected=expected, got=got)


def check_columns(name: str, scores: Any, labels: tuple[str, ...] | tuple[int, ...] | None) -> None:
    """Refuse a frame whose columns are named in another order than that of the candidates.

    Parameters
    ----------
    name : str
        What messages call the scores.
    scores : object
        Anything but a frame has no names of columns, and passes; so does a frame of another width,
        whose shape is an error of its own, and one that has none of the labels or whose columns are
        only numbered.
    labels : tuple of str, tuple of int, or None
        Those of the candidates, in their order.

    Raises
    ------
    ValueError
        For labels in another order, or where some are unknown.
    """
    if labels is None or not is_frame(scores):
        return
    names = tuple(scores.columns)
    if names == tuple(range(len(names))):
        return
    if names != labels and len(names) == len(labels) and not set(labels).isdisjoint(names):
        i = next(i for i, label in enumerate(labels) if names[i] != label)
        got = f"{names[i]!r} at position {i}, where {labels[i]!r} belongs"
        raise InputValueError(name, expected="columns in the order of the task's labels", got=got)
