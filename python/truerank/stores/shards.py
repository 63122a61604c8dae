"""Shards: a matrix in several stores, one below the other or side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from .store import FileBlock, Store, Tile

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_AXES = ("columns", "rows")  # what must be the same, by axis


class ShardStore(Store):
    """A matrix whose parts are stores.

    Parameters
    ----------
    parts : sequence of Store
        At least one, in their order.
    axis : {0, 1}
        Whether they follow each other by rows (0) or by columns (1).
    closing : sequence of Store
        Which of them are closed with this one.

    Raises
    ------
    TypeError
        For parts of unlike dtypes.
    ValueError
        For parts of unlike byte orders, or whose other lengths differ.
    """

    def __init__(self, parts: Sequence[Store], axis: int, closing: Sequence[Store]) -> None:
        first = parts[0]
        for part in parts:
            _check_alike(first, part, axis)
        ends = np.cumsum([part.shape[axis] for part in parts], dtype=object)
        if ends[-1] > np.iinfo(np.int64).max:
            raise InputValueError(
                "scores", expected=f"fewer than 2**63 {_AXES[1 - axis]} in all shards"
            )
        self._starts = np.array([0, *ends[:-1]], dtype=np.int64)
        length = int(ends[-1])
        shape = (first.shape[0], length) if axis else (length, first.shape[1])
        files = tuple(name for part in parts for name in part.files)
        super().__init__(shape, first.dtype, first.carrier, files)
        self.in_place = all(part.in_place for part in parts)
        self.single_row = axis == 1 and all(part.single_row for part in parts)
        self._stores = tuple(parts)
        self._closing = tuple(closing)
        # Shards may have shards: of a grid, say.
        self._firsts = np.cumsum([0, *(part.parts for part in parts)])
        self.parts = int(self._firsts[-1])
        self._axis = axis

    def tiles(self, max_bytes: int) -> list[Tile]:
        return [
            self._moved(tile, start, first)
            for part, start, first in zip(
                self._stores, self._starts.tolist(), self._firsts[:-1].tolist(), strict=True
            )
            for tile in part.tiles(max_bytes)
        ]

    def block(self, tile: Tile, io: str) -> AbstractContextManager[npt.NDArray[Any] | FileBlock]:
        number = int(np.searchsorted(self._firsts, tile.part, side="right")) - 1
        start, first = int(self._starts[number]), int(self._firsts[number])
        return self._stores[number].block(self._moved(tile, -start, -first), io)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        for number, pairs in self._by_part(columns if self._axis else rows):
            inside = [rows[pairs], columns[pairs]]
            inside[self._axis] = inside[self._axis] - self._starts[number]
            out[pairs] = self._stores[number].take(*inside)
        return out

    def check(self) -> None:
        for part in self._stores:
            part.check()

    def state(self) -> list[Any]:
        return [self._axis, [part.state() for part in self._stores]]

    def close(self) -> None:
        for part in self._closing:
            part.close()

    def _moved(self, tile: Tile, start: int, first: int) -> Tile:
        top, left, height, width, part = tile
        if self._axis:
            return Tile(top, left + start, height, width, part + first)
        return Tile(top + start, left, height, width, part + first)

    def _by_part(self, along: IntArray) -> Iterator[tuple[int, IntArray]]:
        """The parts that positions along the axis lie in, each with which of them."""
        # "right", so that shards of no length are passed over
        numbers = np.searchsorted(self._starts, along, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order])) + 1
        for pairs in np.split(order, bounds):
            if len(pairs):
                yield int(numbers[pairs[0]]), pairs


def _check_alike(first: Store, part: Store, axis: int) -> None:
    name, other = (" ".join(store.files) or repr(store) for store in (part, first))
    if part.dtype != first.dtype:
        wanted = f"{first.dtype}, as in {other}"
        raise InputTypeError("scores", expected=wanted, got=part.dtype, place=name)
    if part.carrier.newbyteorder("=") != first.carrier.newbyteorder("="):
        wanted = f"dtype {first.carrier}, as in {other}"
        raise InputTypeError("scores", expected=wanted, got=part.carrier, place=name)
    if part.swapped != first.swapped:
        wanted = f"the byte order of {other}, {first.carrier.str}"
        raise InputValueError("scores", expected=wanted, got=part.carrier.str, place=name)
    if part.shape[1 - axis] != first.shape[1 - axis]:
        wanted = f"{first.shape[1 - axis]:,} {_AXES[axis]}, as in {other}"
        raise InputValueError("scores", expected=wanted, got=f"shape {part.shape}", place=name)
