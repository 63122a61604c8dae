"""The way in which a device counts: by Triton's kernels, by torch operations, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.arrays import device_way, is_tensor
from ..stores.on_device import DeviceStore, DeviceStream
from ..stores.shards import ShardStore
from .score_sources import StoredScores
from .task_counts import DeviceCounts, PartOfTasks

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..stores.store import Store
    from .score_sources import Tensor


_DEVICES_OF_TRITON = ("cuda", "xpu")  # torch's devices of AMD are of type "cuda", too


def count_stored(
    store: Store, tasks: PartOfTasks, true_scores: npt.NDArray[Any] | None
) -> DeviceCounts | None:
    """Begin to count where the scores are; None if they have to be copied to the host.

    The other arguments are those of `DeviceCounts`.
    """
    places = list(_parts_of(store))
    parts = [(top, left, scores) for top, left, scores in places if scores is not None]
    if len(parts) < len(places):
        return None
    if true_scores is None and len(parts) > 1:
        true_scores = store.take(tasks.rows, tasks.targets)
    return DeviceCounts(parts, tasks, true_scores)


def _parts_of(
    store: Store, top: int = 0, left: int = 0
) -> Iterator[tuple[int, int, StoredScores | None]]:
    """Yield the parts of a matrix with their scores on a device; None: the host counts them."""
    if isinstance(store, ShardStore):
        for shard, start in zip(store.shards, store.starts, strict=True):
            place = (top, left + start) if store.axis else (top + start, left)
            yield from _parts_of(shard, *place)
    else:
        yield top, left, _scores_of(store)


def _scores_of(store: Store) -> StoredScores | None:
    if not isinstance(store, DeviceStore) or device_way() == "host":
        return None
    tensor = store.array
    if not is_tensor(tensor):  # of JAX
        try:
            tensor = sys.modules["torch"].from_dlpack(tensor)
        except (AssertionError, BufferError, KeyError, RuntimeError, TypeError):
            return None  # torch is not there, or lacks the device
        if tensor.is_cpu and device_way() is None:
            return None  # an array over several devices may yet be in the host's memory
    if tensor.is_neg() or (way := way_of(tensor)) == "host":
        return None
    return StoredScores(tensor, way, store.stream or DeviceStream(tensor.device))


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
    device, dtype, chosen = tensor.device, tensor.dtype, device_way()
    ways = (way for way in ways_of(device) if chosen or counts_right(device, dtype, way))
    return next(ways, "host")


def ways_of(device: Any) -> tuple[str, ...]:
    """Return the ways to try on a device of torch, the best first; TRUERANK_DEVICE chooses one."""
    chosen, has_triton = device_way(), find_spec("triton") is not None
    if chosen == "triton" and not has_triton:
        raise ImportError("TRUERANK_DEVICE=triton needs the package triton")
    if chosen is not None:
        return (chosen,)
    return ("triton", "torch") if has_triton and device.type in _DEVICES_OF_TRITON else ("torch",)


@lru_cache(maxsize=256)
def counts_right(device: Any, dtype: Any, way: str) -> bool:
    """Whether a device counts a small problem right: it may lack an operation, or a compiler.

    It is tried once for each device and dtype. Whatever goes wrong there, the host can count.
    """
    torch = sys.modules["torch"]
    try:
        with torch.no_grad():
            scores = torch.tensor([[3, 1, 2, 2], [5, 5, 9, 7]], device="cpu").to(dtype).to(device)
            matrix = 0, 0, StoredScores(scores, way, DeviceStream(device))
            lists = _core.Selection(np.array([0, 1, 2, 2]), np.array([1, 0]))
            tasks = PartOfTasks(np.array([1, 0, 1]), np.array([0, 2, 3]), lists)
            counts = DeviceCounts([matrix], tasks, None).arrays()
    except Exception:  # of any library beneath, and of any compiler
        return False
    counted = [counts[name].tolist() for name in ("above", "tied", "candidates")]
    return counted == [[2, 0, 1], [0, 1, 0], [2, 2, 3]]


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
