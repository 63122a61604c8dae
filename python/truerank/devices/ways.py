"""The way in which a device counts: by Triton's kernels, by torch operations, or not at all."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from ..inputs.arrays import device_way
from ..stores.on_device import DeviceStream, JaxStore, TorchStore
from ..stores.shards import ShardStore
from .scans import differing_rows_of, scan_blocks, width_of
from .source import ScoreSource, TaskRows
from .task_counts import PartOfTasks, count_tasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from ..stores.store import Store
    from .source import Columns, Tensor

    Flags = npt.NDArray[np.bool_]


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


class DevicePart(NamedTuple):
    """A rectangle of a matrix on one device, which is counted there.

    Attributes
    ----------
    top, left : int
        Its first row and column.
    tensor : Tensor, shape (height, width)
    stream : DeviceStream
        The stream that makes the scores.
    way : {"triton", "torch"}
        What counts them.
    """

    top: int
    left: int
    tensor: Any
    stream: DeviceStream
    way: str


def parts_of(store: Store) -> list[DevicePart]:
    """Return all of a matrix on devices if it is counted there; nothing if the host counts."""
    if isinstance(store, ShardStore):
        return _parts_of_shards(store)
    if isinstance(store, JaxStore):
        return _parts_of_jax(store)
    if not isinstance(store, TorchStore) or store.tensor.is_neg():
        return []
    way = way_of(store.tensor)
    return [] if way == "host" else [DevicePart(0, 0, store.tensor, store.stream, way)]


def _parts_of_shards(store: ShardStore) -> list[DevicePart]:
    placed: list[DevicePart] = []
    for shard, start in zip(store.shards, store.starts, strict=True):
        if not (parts := parts_of(shard)):
            return []
        place = (0, start) if store.axis else (start, 0)
        placed += [
            part._replace(top=part.top + place[0], left=part.left + place[1]) for part in parts
        ]
    return placed


def _parts_of_jax(store: JaxStore) -> list[DevicePart]:
    torch = sys.modules.get("torch")
    if torch is None or device_way() == "host":
        return []
    parts = []
    for top, left, height, width, data in store.shards:
        try:
            tensor = torch.from_dlpack(data).view(height, width)
        except (AssertionError, BufferError, RuntimeError, TypeError):  # torch lacks the device
            return []
        # an array over several devices may yet be in the host's memory
        way = "host" if tensor.is_cpu and device_way() is None else way_of(tensor)
        if way == "host":
            return []
        parts.append(DevicePart(top, left, tensor, DeviceStream(tensor.device), way))
    return parts


_DEVICES_OF_TRITON = ("cuda", "xpu")  # torch's devices of AMD are of type "cuda", too


def differing_rows(store: Store, rows: IntArray, others: IntArray) -> Flags | None:
    """Return for pairs of rows of a store whether they differ in any bit; None if the host has to.

    Each of its devices has to have all rows.
    """
    parts = parts_of(store)
    if not parts or any(part.tensor.shape[0] != store.shape[0] for part in parts):
        return None
    differing = np.zeros(len(rows), dtype=np.bool_)
    for part in parts:
        with part.stream.current():
            found = part.stream.copy_to_host(differing_rows_of(part.tensor, rows, others))
            part.stream.wait()
        differing |= found.numpy()
    return differing


def way_of(tensor: Tensor) -> str:
    """Return how the numbers of a tensor are counted, or scored, where they are.

    Parameters
    ----------
    tensor : Tensor
        On a device; or in the host's memory, if TRUERANK_DEVICE names a way for it.

    Returns
    -------
    {"triton", "torch", "host"}
        "host": they have to be copied to the host.

    Raises
    ------
    ImportError
        If TRUERANK_DEVICE says "triton" and it is not there.
    """
    chosen = device_way()
    if chosen is not None:
        if chosen == "triton" and find_spec("triton") is None:
            raise ImportError("TRUERANK_DEVICE=triton needs the package triton")
        return chosen
    device, dtype = tensor.device, tensor.dtype
    if device.type in _DEVICES_OF_TRITON and counts_right(device, dtype, "triton"):
        return "triton"
    return "torch" if counts_right(device, dtype, "torch") else "host"


@lru_cache(maxsize=256)
def counts_right(device: Any, dtype: Any, way: str) -> bool:
    """Whether a device counts a small problem right: it may lack an operation, or a compiler.

    It is tried once for each device and dtype. Whatever goes wrong there, the host can count.
    """
    if way == "triton" and find_spec("triton") is None:
        return False
    torch = sys.modules["torch"]
    table = np.arange(3 * 700).reshape(3, 700) * 37 % 101
    try:
        with torch.no_grad():
            scores = torch.from_numpy(table).to(dtype)
            if dtype.is_floating_point:
                scores[1, 5] = float("nan")
            there = torch.empty_like(scores, device=device).copy_(scores)
            rows, targets = np.array([2, 0, 1, 2]), np.array([7, 3, 699, 0])
            lists = _core.Selection(np.array([0, 2, 2, 3, 4]), np.array([1, 7, 300, 8]))
            rules = _core.Rules(False, "worst", False)
            tasks = PartOfTasks(rows, targets, lists)
            source = StoredScores(there, str(dtype).removeprefix("torch."), way)
            got = count_tasks(source, DeviceStream(device), tasks, None, rules).arrays()
            true = scores[rows, targets].double().numpy()
            core = _core.partial_counts(
                _core.Scores(scores.double().numpy(), "float64", False),
                _core.Tasks(rows, targets, lists),
                true,
                0,
                rules,
                1,
            )
    except Exception:  # of any library beneath, and of any compiler
        return False
    return all(bool((got[name] == array).all()) for name, array in core.arrays.items())


def ways_of_devices() -> dict[str, str]:
    """Return the way in which each device of torch counts float32 scores; imports torch.

    Examples
    --------
    >>> set(ways_of_devices().values()) <= {"triton", "torch", "host"}
    True
    """
    if find_spec("torch") is None:
        return {}
    import torch

    accelerator = getattr(torch, "accelerator", None)  # since torch 2.6
    if accelerator is None or not accelerator.is_available():
        return {}
    kind = accelerator.current_accelerator().type
    names = [f"{kind}:{i}" for i in range(accelerator.device_count())]
    return {name: way_of(torch.empty((1, 1), device=name)) for name in names}
