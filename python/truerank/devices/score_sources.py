"""Score matrices on a device, and how operations of torch compare tiles of them.

Scores are compared by their keys, integers in the same order, because some devices take subnormal
floats for 0. A tile is so small that it and all that is made of it take less than 256 MB.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..arrays.types import IntArray
    from ..stores.on_device import DeviceStream

    Tensor = Any  # of torch, which has no types here

TILE_BYTES = 16 << 20  # a tile's keys, masks and sums take up to ten times as much


class ScoreSource(ABC):
    """A score matrix on a device, whose scores are read or made where they are counted.

    Nothing here waits for the device: results are tensors that it has yet to compute. No index is
    out of range; the caller sees to that.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : torch.dtype
        That of the scores.
    backend : {"triton", "torch"}
        What counts them.
    stream : DeviceStream
        The stream to work on, which makes the scores.
    """

    shape: tuple[int, int]
    dtype: Any
    backend: str
    stream: DeviceStream
    like: Tensor  # any tensor on the device

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Return a new tensor on the device, whose values are not set."""
        return self.like.new_empty(shape, dtype=dtype)

    def zeros(self, *shape: int) -> Tensor:
        """Return counts of 0: a new tensor of int64."""
        return self.empty(shape, sys.modules["torch"].int64).zero_()

    def arange(self, start: int, stop: int) -> Tensor:
        """Return the integers from `start` to `stop` - 1, int64."""
        torch = sys.modules["torch"]
        return torch.arange(start, stop, dtype=torch.int64, device=self.like.device)

    def upload(self, array: npt.NDArray[Any], dtype: Any = None) -> Tensor:
        """Copy integers to the device, or the bits of numbers of another dtype of torch."""
        bits = np.array(array).view(f"i{array.itemsize}")  # a copy, as the array may be read-only
        host_tensor = sys.modules["torch"].from_numpy(bits)
        if dtype is not None:
            host_tensor = host_tensor.view(dtype)
        return self.stream.upload(host_tensor, self.empty(host_tensor.shape, host_tensor.dtype))

    def to_host(self, *tensors: Tensor) -> list[npt.NDArray[Any]]:
        """Wait for tensors, and return them in the host's memory."""
        copies = [self.stream.copy_to_host(tensor) for tensor in tensors]
        self.stream.wait()
        return [copy.numpy() for copy in copies]

    @abstractmethod
    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the scores of pairs of a row and a column: (n,), of two int64 tensors (n,)."""

    @abstractmethod
    def block(self, rows: IntArray, columns: slice | Tensor) -> Tensor:
        """Return the scores of some rows, perhaps with repeats, and columns: a matrix."""

    def tiles(self, height: int, columns: Tensor | None) -> Iterator[tuple[slice, slice | Tensor]]:
        """Yield some of as many rows, and some of the columns (None: all), until all are done.

        About as high as wide: what is made of vectors needs those of its rows and of its columns.
        """
        width = self.shape[1] if columns is None else len(columns)
        most = max(1, TILE_BYTES // self.dtype.itemsize)
        tile_height = max(1, most // max(1, min(width, math.isqrt(most))))
        tile_width = max(1, most // tile_height)
        for top in range(0, height, tile_height):
            rows = slice(top, min(top + tile_height, height))
            for left in range(0, width, tile_width):
                part = slice(left, min(left + tile_width, width))
                if columns is None:
                    yield rows, part
                else:
                    yield rows, columns[part]

    def scan(self, rows: IntArray, true_scores: Tensor, columns: Tensor | None) -> Tensor:
        """Compare columns with the true score of each task.

        Parameters
        ----------
        rows : ndarray of int64, shape (tasks,)
            The row of each task, in ascending order.
        true_scores : Tensor, shape (tasks,)
            In the dtype of the scores; may be NaN.
        columns : Tensor of int64, optional
            The columns to compare, without repeats. Default: all.

        Returns
        -------
        Tensor of int64, shape (3, tasks)
            How many of these scores are above the true score, equal to it, and NaN.
        """
        torch = sys.modules["torch"]
        true_keys = true_keys_of(true_scores)[:, None]
        counts = self.zeros(3, len(rows))
        for tasks, part in self.tiles(len(rows), columns):
            keys, nan = keys_of(self.block(rows[tasks], part))
            flags = (keys > true_keys[tasks], keys == true_keys[tasks], nan)
            counts[:, tasks] += torch.stack([flag.sum(1, dtype=torch.int32) for flag in flags])
        return counts


class StoredScores(ScoreSource):
    """A tensor of scores in any layout, which is read in place.

    Parameters
    ----------
    tensor : Tensor, shape (rows, columns)
    backend : {"triton", "torch"}
    stream : DeviceStream
    """

    def __init__(self, tensor: Tensor, backend: str, stream: DeviceStream) -> None:
        self.shape = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.backend = backend
        self.stream = stream
        self.like = tensor
        self._bits = bits_of(tensor)  # indexing knows few unsigned integers

    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self._bits[rows, columns].view(self.dtype)

    def block(self, rows: IntArray, columns: slice | Tensor) -> Tensor:
        if len(rows) and (rows[1:] - rows[:-1] == 1).all():  # usually every task has the next row
            block = self._bits[int(rows[0]) : int(rows[-1]) + 1][:, columns]
        elif isinstance(columns, slice):
            block = self._bits[:, columns].index_select(0, self.upload(rows))
        else:
            block = self._bits[self.upload(rows)[:, None], columns]
        return block.view(self.dtype)

    def scan(self, rows: IntArray, true_scores: Tensor, columns: Tensor | None) -> Tensor:
        tasks = len(rows)
        width = self.shape[1] if columns is None else len(columns)
        if self.backend == "torch" or not tasks or not width:
            return super().scan(rows, true_scores, columns)
        from . import count_kernels as kernels

        tensor = self.like
        is_bfloat16 = self.dtype == sys.modules["torch"].bfloat16
        if is_bfloat16:
            tensor = bits_of(tensor)
            true_scores = bits_of(true_scores)
        task_rows = None
        if (rows[1:] - rows[:-1] == 1).all():  # then a thread reads several neighbours at once
            tensor = tensor[int(rows[0]) :]
        else:
            task_rows = self.upload(rows)
        row_stride, column_stride = tensor.stride()
        by_columns = row_stride < column_stride
        if by_columns:
            tile_tasks = kernels.ROWS
        else:  # as many as read one row on average, up to a power of two
            tasks_of_row = tasks // (1 + int(np.count_nonzero(np.diff(rows))))
            tile_tasks = min(kernels.MOST_TASKS, _power_of_two_from(tasks_of_row))
            # and more of narrow rows, so that the tile is full
            tile_tasks = max(tile_tasks, kernels.TILE // _power_of_two_from(width))
        tile_columns = kernels.TILE // tile_tasks
        programs_down = -(-tasks // tile_tasks)
        tiles_across = -(-width // tile_columns)
        # a program takes several tiles where there would be more programs than are needed
        turns = -(-tiles_across // max(1, kernels.PROGRAMS // programs_down))
        counts = self.zeros(3, tasks)
        kernels.count_stored[programs_down, -(-tiles_across // turns)](
            tensor,
            true_scores,
            task_rows,
            columns,
            counts,
            tasks,
            width,
            turns,
            row_stride,
            column_stride,
            TASKS=tile_tasks,
            COLUMNS=tile_columns,
            BY_COLUMNS=by_columns,
            IS_BFLOAT16=is_bfloat16,
            enable_fp_fusion=False,
        )
        return counts


def _power_of_two_from(number: int) -> int:
    """Return the least power of two that is not below a number."""
    return 1 << (number - 1).bit_length()


def bits_of(scores: Tensor) -> Tensor:
    """View scores as signed integers of the same size."""
    torch = sys.modules["torch"]
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return scores.view(integers[scores.element_size()])


def keys_of(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return the keys of scores, and which of them are NaN.

    The key of a NaN is below all others; 0.0 and -0.0 have one key.
    """
    torch = sys.modules["torch"]
    bits = bits_of(scores)
    least = torch.iinfo(bits.dtype).min
    if scores.dtype.is_floating_point:
        keys = (least - bits).where(bits < 0, bits)  # the sign bit alone, of -0.0, becomes 0
        nan = scores.isnan()
        return keys.masked_fill_(nan, least), nan
    nan = bits != bits  # none is
    if torch.iinfo(scores.dtype).min == 0:
        return bits ^ least, nan  # unsigned integers, in the order of signed ones
    return bits, nan


def true_keys_of(true_scores: Tensor) -> Tensor:
    """Return the keys of true scores; that of a NaN is above all, so that no score is equal."""
    keys, nan = keys_of(true_scores)
    return keys.masked_fill(nan, sys.modules["torch"].iinfo(keys.dtype).max)
