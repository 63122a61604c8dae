"""Scores that are stored on a device as a matrix: a tensor in any layout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .scans import scan_blocks, width_of
from .source import ScoreSource, TaskRows

if TYPE_CHECKING:
    from .source import Columns, Tensor

_SIGNED = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}


class StoredScores(ScoreSource):
    """A tensor of scores, which is read in place.

    Parameters
    ----------
    tensor : Tensor, shape (rows, columns)
    dtype : str
        The name of its dtype.
    way : {"triton", "torch"}
        What counts them.
    """

    def __init__(self, tensor: Tensor, dtype: str, way: str) -> None:
        torch = sys.modules["torch"]
        self.shape = tuple(tensor.shape)
        self.dtype = dtype
        self.device = tensor.device
        self.way = way
        self._tensor = tensor
        # indexing knows few unsigned integers
        signed = _SIGNED.get(dtype)
        self._bits = tensor if signed is None else tensor.view(getattr(torch, signed))

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Tensor:
        return self._tensor.new_empty(shape, dtype=dtype)

    def pairs(self, rows: Tensor, columns: Tensor) -> Tensor:
        return self._bits[rows, columns].view(self._tensor.dtype)

    def block(self, rows: TaskRows, columns: Columns) -> Tensor:
        return self._taken(rows, columns).view(self._tensor.dtype)

    def _taken(self, rows: TaskRows, columns: Columns) -> Tensor:
        host, bits = rows.host, self._bits
        if len(host) and (host[1:] - host[:-1] == 1).all():  # usually every task has the next row
            bits = bits[int(host[0]) : int(host[-1]) + 1]
            return bits[:, columns] if isinstance(columns, slice) else bits.index_select(1, columns)
        if isinstance(columns, slice):
            return bits[:, columns].index_select(0, rows.device)
        return bits[rows.device[:, None], columns[None, :]]

    def scan(self, rows: TaskRows, true_scores: Tensor, columns: Columns) -> Tensor:
        if self.way == "torch" or not width_of(columns) or not len(rows.host):
            return scan_blocks(self, rows, true_scores, columns)
        from .count_kernels import scan_tensor

        return scan_tensor(self, self._tensor, rows, true_scores, columns)
