"""Score matrices on a device and their tasks, and how operations of torch compare tiles of them.

Scores are compared by their keys, integers in the same order, because some devices take subnormal
floats for 0. A tile is so small that it and all that is made of it take less than 256 MB.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..inputs.selection import selection_of_tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._core import Selection
    from ..arrays.types import IntArray
    from ..stores.on_device import DeviceStream

    Tensor = Any  # of torch, which has no types here

ALIGNMENT = 16  # of arrays that are copied together, so that a kernel is compiled once for all
TILE_BYTES = 16 << 20  # a tile's keys, masks and sums take up to ten times as much


@dataclass(frozen=True)
class PartOfTasks:
    """Tasks in a matrix that may be part of a larger one, with columns numbered as in that.

    Attributes
    ----------
    rows : ndarray of int64, shape (tasks,), or None
        The row of the part that each task reads. None: task i reads row i.
    targets : ndarray of int64, shape (tasks,)
        The column of each target in the larger matrix; -1 if it is in none.
    filter, candidates : Selection, optional
        Sorted, as `as_selection` gives them.
    first_column : int
        The number of the part's first column.
    forbids_nan : bool
        Whether the first NaN in S is looked for, which is an error.
    """

    rows: IntArray | None
    targets: IntArray
    filter: Selection | None = None
    candidates: Selection | None = None
    first_column: int = 0
    forbids_nan: bool = False

    @property
    def all_rows(self) -> IntArray:
        """The row of each task."""
        if self.rows is None:
            return np.arange(len(self.targets))
        return self.rows

    def some(self, tasks: slice | IntArray, top: int, left: int) -> PartOfTasks:
        """Return some of the tasks, in the part that begins at a row and a column of this one."""
        if (tasks, top, left) == (slice(0, len(self.targets)), 0, 0):
            return self
        filter = self.filter
        if filter is not None:
            filter = selection_of_tasks(filter, tasks)
        candidates = self.candidates
        if candidates is not None:
            candidates = selection_of_tasks(candidates, tasks)
        return replace(
            self,
            rows=self.all_rows[tasks] - top,
            targets=self.targets[tasks],
            filter=filter,
            candidates=candidates,
            first_column=self.first_column + left,
        )


class DeviceScores:
    """A score matrix on a device: a tensor in any layout, which is read in place.

    Nothing here waits for the device: results are tensors that it has yet to compute. No index is
    out of range; the caller sees to that.

    Parameters
    ----------
    tensor : Tensor, shape (rows, columns)
    backend : {"triton", "torch"}
        What counts the scores.
    stream : DeviceStream
        The stream to work on, which makes the scores.
    """

    def __init__(self, tensor: Tensor, backend: str, stream: DeviceStream) -> None:
        self.tensor = tensor
        self.shape: tuple[int, int] = tuple(tensor.shape)
        self.dtype = tensor.dtype
        self.backend = backend
        self.stream = stream
        self._bits = bits_of(tensor)  # Signed: torch indexes few unsigned integers.

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Return a new tensor on the device, whose values are not set."""
        return self.tensor.new_empty(shape, dtype=dtype)

    def zeros(self, *shape: int) -> Tensor:
        """Return counts of 0: a new tensor of int64."""
        return self.empty(shape, sys.modules["torch"].int64).zero_()

    def arange(self, start: int, stop: int) -> Tensor:
        """Return the integers from `start` to `stop` - 1, int64."""
        torch = sys.modules["torch"]
        return torch.arange(start, stop, dtype=torch.int64, device=self.tensor.device)

    def upload(self, array: npt.NDArray[Any], dtype: Any = None) -> Tensor:
        """Copy integers to the device, or the bits of numbers of another dtype of torch."""
        bits = np.array(array).view(f"i{array.itemsize}")  # a copy, as the array may be read-only
        host_tensor = sys.modules["torch"].from_numpy(bits)
        if dtype is not None:
            host_tensor = host_tensor.view(dtype)
        return self.stream.upload(host_tensor, self.empty(host_tensor.shape, host_tensor.dtype))

    def upload_together(self, *arrays: npt.NDArray[Any] | None) -> list[Tensor | None]:
        """Copy arrays to the device at once, each as signed integers; None stays."""
        torch = sys.modules["torch"]
        starts = [0]
        for array in arrays:
            size = 0 if array is None else array.nbytes
            starts.append(starts[-1] - size // -ALIGNMENT * ALIGNMENT)
        host = self.stream.host_memory(starts[-1])
        for start, array in zip(starts, arrays, strict=False):
            if array is not None:
                memory = host.numpy()[start : start + array.nbytes]
                memory.view(array.dtype).reshape(array.shape)[:] = array
        whole = self.stream.upload(host, self.empty((starts[-1],), torch.uint8))
        parts: list[Tensor | None] = []
        for start, array in zip(starts, arrays, strict=False):
            part = None
            if array is not None:
                part = whole[start : start + array.nbytes].view(integers_of(array.itemsize))
            parts.append(part)
        return parts

    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the scores of pairs of a row and a column: (n,), of two int64 tensors (n,)."""
        return self._bits[rows, columns].view(self.dtype)

    def block(self, rows: IntArray, columns: slice | Tensor) -> Tensor:
        """Return the scores of some rows, perhaps with repeats, and columns: a matrix."""
        if len(rows) and (rows[1:] - rows[:-1] == 1).all():  # usually every task has the next row
            block = self._bits[int(rows[0]) : int(rows[-1]) + 1][:, columns]
        elif isinstance(columns, slice):
            block = self._bits[:, columns].index_select(0, self.upload(rows))
        else:
            block = self._bits[self.upload(rows)[:, None], columns]
        return block.view(self.dtype)

    def compare(self, rows: IntArray, true_scores: Tensor, columns: Tensor | None) -> Tensor:
        """Compare columns with the true score of each task, by operations of torch.

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
        width = self.shape[1] if columns is None else len(columns)
        most = max(1, TILE_BYTES // self.dtype.itemsize)
        tile_height = max(1, most // max(1, min(width, math.isqrt(most))))
        tile_width = max(1, most // tile_height)
        for top in range(0, len(rows), tile_height):
            tasks = slice(top, min(top + tile_height, len(rows)))
            for left in range(0, width, tile_width):
                part: slice | Tensor = slice(left, min(left + tile_width, width))
                if columns is not None:
                    part = columns[part]
                keys, nan = keys_of(self.block(rows[tasks], part))
                flags = (keys > true_keys[tasks], keys == true_keys[tasks], nan)
                counts[:, tasks] += torch.stack([flag.sum(1, dtype=torch.int32) for flag in flags])
        return counts


def integers_of(itemsize: int) -> Any:
    """Return torch's dtype of signed integers of so many bytes."""
    torch = sys.modules["torch"]
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[itemsize]


def bits_of(scores: Tensor) -> Tensor:
    """View scores as signed integers of the same size."""
    return scores.view(integers_of(scores.element_size()))


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
