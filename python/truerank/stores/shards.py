"""Shards: a matrix in several stores that stand one below the other or side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from .store import DevicePart, FileBlock, Store, Tile

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_AXES = ("columns", "rows")  # what must be the same, by axis


class ShardStore(Store):
    """A matrix whose shards are stores.

    Parameters
    ----------
    shards : sequence of Store
        At least one, in their order.
    axis : {0, 1}
        Whether they follow each other by rows (0) or by columns (1).
    own_stores : sequence of Store
        Those of them that are closed together with this store.

    Raises
    ------
    TypeError
        For shards of different dtypes.
    ValueError
        For shards of different byte orders, or whose lengths along the other axis differ.
    """

    def __init__(self, shards: Sequence[Store], axis: int, own_stores: Sequence[Store]) -> None:
        first = shards[0]
        for shard in shards:
            _check_matches(first, shard, axis)
        ends = np.cumsum([shard.shape[axis] for shard in shards], dtype=object)
        if ends[-1] > np.iinfo(np.int64).max:
            raise InputValueError(
                "scores", expected=f"fewer than 2**63 {_AXES[1 - axis]} in all shards"
            )
        self._starts = np.array([0, *ends[:-1]], dtype=np.int64)
        length = int(ends[-1])
        shape = (first.shape[0], length) if axis else (length, first.shape[1])
        # several shards may be in one file
        files = tuple(dict.fromkeys(name for shard in shards for name in shard.files))
        super().__init__(shape, first.dtype, first.carrier, files)
        self.in_place = all(shard.in_place for shard in shards)
        self.single_row = axis == 1 and all(shard.single_row for shard in shards)
        self._stores = tuple(shards)
        self._own_stores = tuple(own_stores)
        # A shard may have shards itself, for example in a grid.
        self._first_shards = np.cumsum([0, *(shard.shards for shard in shards)])
        self.shards = int(self._first_shards[-1])
        self._axis = axis
        self.on_device = all(shard.on_device for shard in shards)
        if self.on_device:
            self.device = " + ".join(dict.fromkeys(shard.device for shard in shards))

    def parts(self) -> list[DevicePart]:
        found = [shard.parts() for shard in self._stores]
        if not all(found):
            return []
        return [
            part._replace(left=part.left + start)
            if self._axis
            else part._replace(top=part.top + start)
            for parts, start in zip(found, self._starts.tolist(), strict=True)
            for part in parts
        ]

    def tiles(self, max_bytes: int) -> list[Tile]:
        return [
            self._shift_tile(tile, start, first)
            for shard, start, first in zip(
                self._stores, self._starts.tolist(), self._first_shards[:-1].tolist(), strict=True
            )
            for tile in shard.tiles(max_bytes)
        ]

    def block(self, tile: Tile, io: str) -> AbstractContextManager[npt.NDArray[Any] | FileBlock]:
        shard, inside = self._locate(tile)
        return shard.block(inside, io)

    def decodes(self, tile: Tile) -> bool:
        shard, inside = self._locate(tile)
        return shard.decodes(inside)

    def take(self, rows: IntArray, columns: IntArray, io: str = "read") -> npt.NDArray[Any]:
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        for number, pairs in self._by_shard(columns if self._axis else rows):
            inside = [rows[pairs], columns[pairs]]
            inside[self._axis] = inside[self._axis] - self._starts[number]
            out[pairs] = self._stores[number].take(inside[0], inside[1], io)
        return out

    def check(self) -> None:
        for shard in self._stores:
            shard.check()

    def state(self) -> list[Any]:
        return [self._axis, [shard.state() for shard in self._stores]]

    def close(self) -> None:
        for shard in self._own_stores:
            shard.close()

    def _locate(self, tile: Tile) -> tuple[Store, Tile]:
        """Return the store that a tile is of, and the tile as that store numbers it."""
        number = int(np.searchsorted(self._first_shards, tile.shard, side="right")) - 1
        start, first = int(self._starts[number]), int(self._first_shards[number])
        return self._stores[number], self._shift_tile(tile, -start, -first)

    def _shift_tile(self, tile: Tile, start: int, first: int) -> Tile:
        top, left, height, width, shard = tile
        if self._axis:
            return Tile(top, left + start, height, width, shard + first)
        return Tile(top + start, left, height, width, shard + first)

    def _by_shard(self, along: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Yield each shard that some positions along the axis lie in, and which of them."""
        # "right", so that shards of length 0 are skipped
        numbers = np.searchsorted(self._starts, along, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        bounds = np.flatnonzero(np.diff(numbers[order])) + 1
        for pairs in np.split(order, bounds):
            if len(pairs):
                yield int(numbers[pairs[0]]), pairs


def _check_matches(first: Store, shard: Store, axis: int) -> None:
    name, other = (" ".join(store.files) or repr(store) for store in (shard, first))
    if shard.dtype != first.dtype:
        expected = f"{first.dtype}, as in {other}"
        raise InputTypeError("scores", expected=expected, got=shard.dtype, place=name)
    if shard.carrier.newbyteorder("=") != first.carrier.newbyteorder("="):
        expected = f"dtype {first.carrier}, as in {other}"
        raise InputTypeError("scores", expected=expected, got=shard.carrier, place=name)
    if shard.swapped != first.swapped:
        expected = f"the byte order of {other}, {first.carrier.str}"
        raise InputValueError("scores", expected=expected, got=shard.carrier.str, place=name)
    if shard.shape[1 - axis] != first.shape[1 - axis]:
        expected = f"{first.shape[1 - axis]:,} {_AXES[axis]}, as in {other}"
        raise InputValueError("scores", expected=expected, got=f"shape {shard.shape}", place=name)
