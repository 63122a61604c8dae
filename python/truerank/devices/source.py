"""What is counted on a device: a score matrix that is stored there, or made of vectors there."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..stores.on_device import copy_to_device

if TYPE_CHECKING:
    from ..inputs.arrays import IntArray

    Tensor = Any  # of torch, which has no types here
    Columns = slice | Tensor  # consecutive columns, or an int64 tensor of them


class TaskRows(NamedTuple):
    """The row of each task, in ascending order: on the host, and as a tensor on the device."""

    host: IntArray
    device: Tensor


class ScoreSource(ABC):
    """A score matrix on a device, whose scores are read or made where they are counted.

    Nothing here waits for the device: results are tensors that it has yet to compute. No index is
    out of range; the caller sees to that.

    Attributes
    ----------
    shape : tuple of int
        Rows and columns.
    dtype : str
        The name of the dtype of the scores, as in `Protocol.dtype`.
    device : torch.device
    way : {"triton", "torch"}
        What counts them.
    """

    shape: tuple[int, int]
    dtype: str
    device: Any
    way: str

    @abstractmethod
    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        """Return a new tensor on the device, whose values are not set."""

    def arange(self, start: int, stop: int) -> Tensor:
        """Return the integers from `start` to `stop` - 1, int64."""
        torch = sys.modules["torch"]
        return torch.arange(start, stop, dtype=torch.int64, device=self.device)

    def upload(self, array: IntArray) -> Tensor:
        """Copy integers, int32 or int64, to the device."""
        plain = sys.modules["torch"].from_numpy(np.array(array))  # which may be read-only
        return copy_to_device(plain, self.empty(array.shape, plain.dtype))

    @abstractmethod
    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        """Return the scores of pairs of a row and a column: (n,), of two int64 tensors (n,)."""

    @abstractmethod
    def block(self, rows: TaskRows, columns: Columns) -> Tensor:
        """Return the scores of some rows, perhaps with repeats, and columns: a matrix."""

    @abstractmethod
    def scan(self, rows: TaskRows, true_scores: Tensor, columns: Columns) -> Tensor:
        """Compare columns with the true score of each task.

        Parameters
        ----------
        rows : TaskRows
            The row of each task.
        true_scores : Tensor, shape (tasks,)
            In the dtype of the scores; may be NaN.
        columns : slice or Tensor of int64
            The columns to compare, without repeats.

        Returns
        -------
        Tensor of int64, shape (3, tasks)
            How many of these scores are above the true score, equal to it, and NaN.
        """
