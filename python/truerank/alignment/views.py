"""Views of a stored matrix: turned on its side, and scaled by CSLS; nothing is kept of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..embeddings.vectors import as_means
from ..inputs.errors import InputTypeError
from ..inputs.scores import widened
from ..stores.base import FileBlock, Store, Tile
from ..tasks.query_rows import block_array

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..embeddings.vectors import CSLS
    from ..inputs.arrays import IntArray

    Block = npt.NDArray[Any] | FileBlock

FLOATS = ("float16", "bfloat16", "float32", "float64")


class View(Store):
    """A store that looks at another one, which somebody else closes."""

    def __init__(self, store: Store, shape: tuple[int, int], dtype: str, carrier: Any) -> None:
        super().__init__(shape, dtype, carrier, store.files)
        self.source = store
        self.in_place, self.parts, self.io = store.in_place, store.parts, store.io

    def check(self) -> None:
        self.source.check()

    def state(self) -> list[Any]:
        return [type(self).__name__, self.source.state()]

    def close(self) -> None:
        """Do nothing: the source is not ours."""


class Turned(View):
    """A matrix turned on its side: its rows are the columns of the other one.

    Examples
    --------
    >>> from truerank.stores import open_scores
    >>> Turned(open_scores(np.zeros((3, 5)))).shape
    (5, 3)
    """

    def __init__(self, store: Store) -> None:
        height, width = store.shape
        super().__init__(store, (width, height), store.dtype, store.carrier)

    def tiles(self, most: int) -> list[Tile]:
        return [turned_tile(tile) for tile in self.source.tiles(most)]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Block]:
        with self.source.block(turned_tile(tile), io) as block:
            yield turned_block(block)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        return self.source.take(columns, rows)


def turned_tile(tile: Tile) -> Tile:
    """Give the same rectangle of the matrix turned on its side.

    Examples
    --------
    >>> turned_tile(Tile(top=0, left=5, height=2, width=9))
    Tile(top=5, left=0, height=9, width=2, part=0)
    """
    return Tile(tile.left, tile.top, tile.width, tile.height, tile.part)


def turned_block(block: Block) -> Block:
    """Give the same scores turned on their side, without a copy."""
    if not isinstance(block, FileBlock):
        return block.T
    return block._replace(
        rows=block.columns,
        columns=block.rows,
        row_stride=block.column_stride,
        column_stride=block.row_stride,
    )


class Scaled(View):
    """Similarities s scaled by CSLS: 2 s(x, y) - (r(x) + r(y)), made block by block.

    All is in the dtype of the scores, float32 or float64: the doubling is exact, the sum of the
    means is rounded once, the difference once.

    Parameters
    ----------
    store : Store
        The similarities, floats.
    csls : CSLS
        The means of rows (`queries`) and columns (`entities`); those of a wider dtype are rounded
        to that of the scores.

    Examples
    --------
    >>> from truerank.embeddings.vectors import CSLS
    >>> from truerank.stores import open_scores
    >>> store = open_scores(np.array([[0.5, 1.0]]))
    >>> Scaled(store, CSLS(np.array([0.75]), np.array([0.5, 1.0]), 2)).take([0, 0], [0, 1])
    array([-0.25,  0.25])
    """

    def __init__(self, store: Store, csls: CSLS) -> None:
        dtype = scaled_dtype(store)
        super().__init__(store, store.shape, dtype.name, dtype)
        self.in_place = False
        self._rows, self._columns = as_means(csls, store.shape, dtype.name)

    def tiles(self, most: int) -> Sequence[Tile]:
        return self.source.tiles(most)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        top, left, height, width, _ = tile
        scores = floats_of(self.source, tile, io)
        with np.errstate(all="ignore"):  # infinities, and what comes of them
            scores *= 2
            scores -= np.add.outer(
                self._rows[top : top + height], self._columns[left : left + width]
            )
        yield scores

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        scores = _widened(self.source.take(rows, columns), self.source.dtype, self.carrier)
        with np.errstate(all="ignore"):
            found: npt.NDArray[Any] = 2 * scores - (self._rows[rows] + self._columns[columns])
        return found


def scaled_dtype(store: Store) -> np.dtype[Any]:
    """Give the dtype of scores by CSLS: float32 for narrower ones.

    Raises
    ------
    TypeError
        For scores that are no floats.
    """
    if store.dtype not in FLOATS:
        raise InputTypeError("scores", expected="floats with csls", got=f"dtype {store.dtype}")
    return np.dtype(np.float64 if store.dtype == "float64" else np.float32)


def floats_of(store: Store, tile: Tile, io: str) -> npt.NDArray[Any]:
    """Give a tile of a store as an array of its own, float32 or float64."""
    with store.block(tile, io) as block:
        array = block_array(block, store.carrier) if isinstance(block, FileBlock) else block
        return _widened(array, store.dtype, scaled_dtype(store))


def _widened(array: npt.NDArray[Any], dtype: str, wide: np.dtype[Any]) -> npt.NDArray[Any]:
    plain = widened(array) if dtype == "bfloat16" else array
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return plain.astype(wide)
