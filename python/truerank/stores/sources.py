"""What users hand over as scores, opened and checked once: `Scores` in memory, or a `Store`.

Every function here takes both of these as they are, so that nothing is opened or checked twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Scores
from ..inputs.arrays import counts_as_on_device
from ..inputs.checks import IO, choice
from ..inputs.errors import InputTypeError, renamed
from ..inputs.scores import SCORES, DtypeRequest, Form, as_scores
from .recognition import is_stored
from .store import Store, Tile, block_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.words import IoMode

# What is read as a whole is never cut into tiles.
_UNLIMITED = 1 << 80


def store_of(
    value: Any,
    dtype: Any = None,
    io: IoMode | None = None,
    form: Form = SCORES,
    *,
    tiled: bool = False,
) -> Store | None:
    """Make a store of what `rank` takes as scores, unless they are simply in memory.

    Parameters
    ----------
    value : object
        The scores.
    dtype : str or dtype, optional
        As in `rank`.
    io : {"map", "read"}, optional
        As in `open_scores`.
    form : Form
        What the array must be, if it is not scores.
    tiled : bool
        Whether scores in memory become a store as well, so that they are counted tile by tile.

    Returns
    -------
    Store or None
        None for scores that are simply in memory, as `is_stored` says; a `Store` stays as it is.

    Raises
    ------
    TypeError, ValueError, OSError, ImportError
        As in `open_scores`.

    Examples
    --------
    >>> store_of([[0.1, 0.9]]) is None
    True
    """
    if isinstance(value, Store):
        if dtype is not None:
            DtypeRequest(dtype, form).name_of(value.carrier)
        return value
    if is_stored(value):
        from .opening import OpenOptions, open_source

        io = "map" if io is None else choice("io", io, IO)
        return open_source(value, OpenOptions(DtypeRequest(dtype, form), io=io))
    if not tiled:
        return None
    from .mapped import ArrayStore

    return ArrayStore(as_scores(value, dtype, form=form))


def read_scores(value: Any, dtype: Any = None, name: str = "scores") -> Scores | Store:
    """View scores that are in the host's memory; make the store of scores on a device.

    Parameters
    ----------
    value, dtype, name
        As `as_scores` takes them. No value is read as the path of a file.

    Examples
    --------
    >>> read_scores([[0.1, 0.9]]).dtype
    'float64'
    """
    if isinstance(value, Store) and value.on_device:
        return value
    if not counts_as_on_device(value):
        return as_scores(value, dtype, name)
    from .on_device import device_store

    return device_store(value, DtypeRequest(dtype), name)


@contextmanager
def scores_or_store(
    value: Any,
    dtype: Any = None,
    name: str = "scores",
    *,
    io: IoMode | None = None,
    tiled: bool = False,
) -> Iterator[Scores | Store]:
    """Open what `rank` takes as scores, and close after the block what was opened.

    Parameters
    ----------
    value, dtype, name
        As `as_scores` takes them, or anything that `store_of` makes a store of.
    io, tiled
        As in `store_of`.

    Examples
    --------
    >>> with scores_or_store([[0.1, 0.9]]) as scores:
    ...     shape_of(scores)
    (1, 2)
    """
    with renamed(scores=name):
        store = store_of(value, dtype, io, tiled=tiled)
    if store is None:
        yield as_scores(value, dtype, name)
        return
    with nullcontext() if store is value else store:
        yield store


def shape_of(scores: Scores | Store) -> tuple[int, ...]:
    """Return the shape that the user gave scores in: (rows, columns) or (columns,).

    Examples
    --------
    >>> shape_of(as_scores([0.1, 0.9]))
    (2,)
    """
    if not isinstance(scores, Store):
        return scores.array.shape
    return scores.shape[1:] if scores.single_row else scores.shape


def host_scores(scores: Scores | Store) -> Scores:
    """Return scores in the host's memory; those of a store are copied as a whole.

    Examples
    --------
    >>> host_scores(as_scores([0.1, 0.9])).dtype
    'float64'
    """
    if not isinstance(scores, Store):
        return scores
    with scores.block(Tile(0, 0, *scores.shape), "map") as block:
        array = np.array(block_array(block, scores)).reshape(shape_of(scores))
    return Scores(array, scores.dtype, scores.swapped)


def array_of(store: Store) -> npt.NDArray[Any]:
    """Map all scores of a store in one piece; the map lasts as long as an array of it.

    Raises
    ------
    TypeError
        For a store in several pieces, or one that has to be decoded.
    """
    tiles = store.tiles(_UNLIMITED) if store.in_place else []
    if len(tiles) > 1 or not store.in_place:
        expected = "an array, or the path of one .npy file"
        raise InputTypeError("scores", expected=expected, got=repr(store))
    if not tiles:  # a matrix without rows or columns has nothing to map
        return np.empty(shape_of(store), store.carrier)
    with store.block(tiles[0], "map") as block:
        array: Any = block
        whole: npt.NDArray[Any] = array[0] if store.single_row else array
        return whole
