"""Shards: a matrix in several stores that stand one below the other or side by side.

A pattern names them by their files, in numeric order, none of them missing.
"""

from __future__ import annotations

import errno
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import accumulate, pairwise, zip_longest
from typing import Any

import numpy as np

from ..errors import InputTypeError, InputValueError
from .store import Array, FileBlock, FileState, Store, Tile, block_array, groups_of

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
            _check_shard(shard, first, axis)
        ends = list(accumulate(shard.shape[axis] for shard in shards))
        lengths = list(first.shape)
        lengths[axis] = ends[-1]
        # Several shards may be in one file.
        files = dict.fromkeys(name for shard in shards for name in shard.files)
        super().__init__(tuple(lengths), first.dtype, first.carrier, tuple(files), first.name)
        self.in_place = all(shard.in_place for shard in shards)
        self.single_row = axis == 1 and all(shard.single_row for shard in shards)
        self.on_device = all(shard.on_device for shard in shards)
        self.device = " + ".join(dict.fromkeys(shard.device for shard in shards if shard.device))
        self.shards = tuple(shards)
        self.starts = [0]
        self.starts.extend(ends[:-1])
        self.axis = axis
        self.own = tuple(own)

    def tiles(self, max_bytes: int) -> list[Tile]:
        return [
            self._moved(tile, tile[self.axis] + start, tile[2 + self.axis])
            for shard, start in zip(self.shards, self.starts, strict=True)
            for tile in shard.tiles(max_bytes)
        ]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array | FileBlock]:
        with ExitStack() as stack:
            parts = self._parts(tile)
            blocks = [stack.enter_context(shard.block(part, io)) for shard, part in parts]
            if len(blocks) > 1 or not self.in_place:
                blocks = [block_array(block, self) for block in blocks]
            if len(blocks) == 1:
                yield blocks[0]
            else:
                yield np.concatenate(blocks, self.axis)

    def take(self, rows: Array, columns: Array) -> Array:
        out = np.empty(len(rows), self.carrier.newbyteorder("="))
        # With "right", shards of length 0 are skipped.
        numbers = np.searchsorted(self.starts, (rows, columns)[self.axis], side="right") - 1
        for number, pairs in groups_of(numbers):
            inside = [rows[pairs], columns[pairs]]
            inside[self.axis] = inside[self.axis] - self.starts[number]
            out[pairs] = self.shards[number].take(*inside)
        return out

    def map_kept(self) -> None:
        for shard in self.shards:
            shard.map_kept()

    def state(self) -> list[Any]:
        return [self.axis, [shard.state() for shard in self.shards]]

    def file_states(self) -> list[FileState]:
        return [state for shard in self.shards for state in shard.file_states()]

    def close(self) -> None:
        for shard in self.own:
            shard.close()

    def _parts(self, tile: Tile) -> list[tuple[Store, Tile]]:
        """Return the shards that have a part of a tile, and this part as they place it."""
        first = tile[self.axis]
        end = first + tile[2 + self.axis]
        parts = []
        for i in range(bisect_right(self.starts, first) - 1, bisect_left(self.starts, end)):
            shard = self.shards[i]
            start = self.starts[i]
            first_here = max(first, start)
            end_here = min(end, start + shard.shape[self.axis])
            if first_here < end_here:
                part = self._moved(tile, first_here - start, end_here - first_here)
                parts.append((shard, part))
        return parts

    def _moved(self, tile: Tile, start: int, length: int) -> Tile:
        """Return a tile with another start and length along the axis of the shards."""
        if self.axis == 1:
            return tile._replace(left=start, width=length)
        return tile._replace(top=start, height=length)


def _check_shard(shard: Store, first: Store, axis: int) -> None:
    """Refuse a shard that does not fit the first one."""
    place = " ".join(shard.files) or repr(shard)
    expected = f"dtype {first.dtype} ({first.carrier.str})"
    got = f"dtype {shard.dtype} ({shard.carrier.str})"
    if got != expected:
        raise InputTypeError(first.name, expected=expected, got=got, place=place)
    length = first.shape[1 - axis]
    if shard.shape[1 - axis] != length:
        unit = ("columns", "rows")[axis]
        expected = f"{length:,} {unit}, as the first shard has"
        if shard.shape[axis] == first.shape[axis]:
            others = ("rows", "columns")[axis]
            expected += f" (axis={1 - axis} joins shards with equally many {others})"
        raise InputValueError(
            first.name, expected=expected, got=f"shape {shard.shape}", place=place
        )


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

    parts = {name: _text_and_numbers(name) for name in glob.glob(pattern, recursive=True)}
    names = sorted(parts, key=lambda name: (parts[name], name))
    if not names:
        raise FileNotFoundError(errno.ENOENT, "no file matches the pattern", pattern)
    columns = zip_longest(*(parts[name] for name in names))
    varying = [column for column in columns if len(set(column)) > 1]
    if len(varying) == 1 and all(isinstance(number, int) for number in varying[0]):
        # Numbers of which no two follow each other by one mean something else, such as first rows.
        steps = [after - before for before, after in pairwise(varying[0])]
        if 1 in steps and max(steps) > 1:
            i = steps.index(max(steps))
            problem = f"a shard is missing between {names[i]} and {names[i + 1]} (else list them)"
            raise FileNotFoundError(errno.ENOENT, problem, pattern)
    return names


def _text_and_numbers(name: str) -> list[Any]:
    """Split a name at its runs of digits, which are numbers: every second part.

    Examples
    --------
    >>> _text_and_numbers("part-10.npy")
    ['part-', 10, '.npy']
    """
    import re

    parts: list[Any] = re.split("([0-9]+)", name)
    parts[1::2] = map(int, parts[1::2])
    return parts
