"""Shards: a matrix in several stores that stand one below the other or side by side.

A pattern names them by their files, in numeric order, none of them missing.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate, pairwise, zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.errors import InputTypeError, InputValueError
from .store import FileBlock, Store, Tile, groups_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

_AXES = ("columns", "rows")  # what must be the same, by axis
_WILDCARDS = "*?["


class ShardStore(Store):
    """A matrix whose shards are stores.

    Parameters
    ----------
    shards : sequence of Store
        At least one, in their order.
    axis : {0, 1}
        Whether they follow each other by rows (0) or by columns (1).
    own : sequence of Store
        Those of them that are closed together with this store.

    Raises
    ------
    TypeError
        For shards of different dtypes or byte orders.
    ValueError
        For shards whose lengths along the other axis differ.
    """

    def __init__(self, shards: Sequence[Store], axis: int, own: Sequence[Store]) -> None:
        first = shards[0]
        for shard in shards:
            _check_matches(first, shard, axis)
        *starts, length = accumulate((shard.shape[axis] for shard in shards), initial=0)
        shape = (first.shape[0], length) if axis else (length, first.shape[1])
        # several shards may be in one file
        files = tuple(dict.fromkeys(name for shard in shards for name in shard.files))
        super().__init__(shape, first.dtype, first.carrier, files, first.name)
        self.in_place = all(shard.in_place for shard in shards)
        self.single_row = axis == 1 and all(shard.single_row for shard in shards)
        self.on_device = all(shard.on_device for shard in shards)
        if self.on_device:
            self.device = " + ".join(dict.fromkeys(shard.device for shard in shards))
        self.shards, self.starts, self.axis = tuple(shards), starts, axis
        self._own = tuple(own)

    def tiles(self, max_bytes: int) -> list[Tile]:
        starts = zip(self.shards, self.starts, strict=True)
        return [self._shifted(tile, by) for shard, by in starts for tile in shard.tiles(max_bytes)]

    def block(self, tile: Tile, io: str) -> AbstractContextManager[npt.NDArray[Any] | FileBlock]:
        shard, inside = self._located(tile)
        if inside[self.axis] + inside[2 + self.axis] <= shard.shape[self.axis]:
            return shard.block(inside, io)
        return self._joined(tile)

    @contextmanager
    def _joined(self, tile: Tile) -> Iterator[npt.NDArray[Any]]:
        """Copy a tile of which several shards have a part."""
        first, last = tile[self.axis], tile[self.axis] + tile[2 + self.axis]
        blocks = []
        for shard, start in zip(self.shards, self.starts, strict=True):
            low, high = max(first, start), min(last, start + shard.shape[self.axis])
            if low < high:
                inside = [*tile]
                inside[self.axis], inside[2 + self.axis] = low - start, high - low
                with shard.block(Tile(*inside), "map") as block:
                    blocks.append(np.array(block))
        yield np.concatenate(blocks, self.axis)

    def decodes(self, tile: Tile) -> bool:
        shard, inside = self._located(tile)
        return shard.decodes(inside)

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        # "right", so that shards of length 0 are skipped
        numbers = np.searchsorted(self.starts, (rows, columns)[self.axis], side="right") - 1
        for number, pairs in groups_of(numbers):
            inside = [rows[pairs], columns[pairs]]
            inside[self.axis] = inside[self.axis] - self.starts[number]
            out[pairs] = self.shards[number].take(*inside)
        return out

    def state(self) -> list[Any]:
        return [self.axis, [shard.state() for shard in self.shards]]

    def close(self) -> None:
        for shard in self._own:
            shard.close()

    def _located(self, tile: Tile) -> tuple[Store, Tile]:
        """Return the store that a tile is of, and the tile as that store places it."""
        number = bisect_right(self.starts, tile.left if self.axis else tile.top) - 1
        return self.shards[number], self._shifted(tile, -self.starts[number])

    def _shifted(self, placed: Tile, by: int) -> Tile:
        if self.axis:
            return placed._replace(left=placed.left + by)
        return placed._replace(top=placed.top + by)


def _check_matches(first: Store, shard: Store, axis: int) -> None:
    place, other = (" ".join(store.files) or repr(store) for store in (shard, first))
    kind, got = (f"{store.dtype} ({store.carrier.str})" for store in (first, shard))
    if got != kind:
        expected = f"dtype {kind}, as in {other}"
        raise InputTypeError(shard.name, expected=expected, got=got, place=place)
    if shard.shape[1 - axis] != (length := first.shape[1 - axis]):
        expected, got = f"{length:,} {_AXES[axis]}, as in {other}", f"shape {shard.shape}"
        raise InputValueError(shard.name, expected=expected, got=got, place=place)


def is_glob(name: str) -> bool:
    """Whether a name is a pattern and not the name of an existing file."""
    return any(wildcard in name for wildcard in _WILDCARDS) and not os.path.lexists(name)


def matching_files(pattern: str) -> list[str]:
    """Return the files that match a pattern, part-2 before part-10.

    Raises
    ------
    FileNotFoundError
        If no file matches, or if the numbers in the names show that a shard is missing.
    """
    import glob
    import re

    def parts(name: str) -> list[Any]:
        """Return the parts of a name, in which runs of digits are numbers."""
        return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]

    names = sorted(glob.glob(pattern, recursive=True), key=lambda name: (parts(name), name))
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", pattern)
    columns = list(zip_longest(*map(parts, names)))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(varying) == 1 and columns.index(varying[0]) % 2 and None not in varying[0]:
        # numbers of which no two follow each other by one mean something else, such as first rows
        steps = [after - before for before, after in pairwise(varying[0])]
        if 1 in steps and max(steps) > 1:
            i = next(i for i, step in enumerate(steps) if step > 1)
            problem = f"a shard is missing between {names[i]} and {names[i + 1]}"
            hint = "(if none is, give a list of names)"
            raise FileNotFoundError(errno.ENOENT, f"{problem} {hint}", pattern)
    return names
