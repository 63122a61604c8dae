"""What counts on a device: kernels of Triton, else operations of torch, else the host."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..inputs.selection import Tasks
from ..stores.on_device import DeviceStore, DeviceStream, chosen_backend
from ..stores.store import ShardStore
from .task_counts import DeviceScores, count_parts

if TYPE_CHECKING:
    from ..stores.store import Store
    from .task_counts import Part, Tensor


def parts_on_device(store: Store, top: int = 0, left: int = 0) -> list[Part] | None:
    """Return the parts of a matrix with their first row and column; None: the host counts them.

    The matrix itself begins at a row and a column of a larger one.
    """
    if isinstance(store, ShardStore):
        parts = []
        for shard, start in zip(store.shards, store.starts, strict=True):
            place = (top, left + start) if store.axis == 1 else (top + start, left)
            of_shard = parts_on_device(shard, *place)
            if of_shard is None:
                return None
            parts += of_shard
        return parts
    if not isinstance(store, DeviceStore) or chosen_backend() == "host" or store.array.is_neg():
        return None
    backend = backend_of(store.array)
    if backend == "host":
        return None
    return [(top, left, DeviceScores(store.array, backend, store.stream))]


def backend_of(tensor: Tensor) -> str:
    """Return what counts the numbers of a tensor.

    That is the first of them that counts a small problem right, or the one that TRUERANK_DEVICE
    chooses.

    Parameters
    ----------
    tensor : Tensor
        On a device; or in the host's memory, if TRUERANK_DEVICE names a backend for it.

    Returns
    -------
    {"triton", "torch", "host"}
        "host": they have to be copied to the host, since the device counts a small problem wrong.

    Raises
    ------
    ImportError
        If TRUERANK_DEVICE says "triton" and it is not there.
    """
    choice = chosen_backend()
    if choice == "torch":
        return choice
    if choice == "triton":
        if find_spec("triton") is None:
            raise ImportError("TRUERANK_DEVICE=triton needs the package triton")
        # an interpreted kernel takes seconds for what a device does in no time
        if tensor.is_cpu and os.environ.get("TRITON_INTERPRET") == "1":
            return choice
        backends = ["triton"]
    elif find_spec("triton") is not None:
        backends = ["triton", "torch"]
    else:
        backends = ["torch"]
    for backend in backends:
        if counts_right(tensor.device, tensor.dtype, backend):
            return backend
    return "host"


@lru_cache(maxsize=256)
def counts_right(device: Any, dtype: Any, backend: str) -> bool:
    """Whether a device counts a small problem right: it may lack an operation, or a compiler.

    It is tried once for each device and dtype. Whatever goes wrong there, the host can count.
    """
    torch = sys.modules["torch"]
    try:
        with torch.no_grad():
            scores = torch.tensor([[3, 1, 2, 2], [5, 5, 9, 7]], device="cpu").to(dtype).to(device)
            matrix = 0, 0, DeviceScores(scores, backend, DeviceStream(device))
            lists = _core.Selection(np.array([0, 1, 2, 2]), np.array([1, 0]))
            tasks = Tasks(np.array([1, 0, 1]), np.array([0, 2, 3]), lists)
            counts, _ = count_parts([matrix], tasks)
    except Exception:  # of any library beneath, and of any compiler
        return False
    numbers = [counts[name].tolist() for name in ("above", "tied", "candidates")]
    return numbers == [[2, 0, 1], [0, 1, 0], [2, 2, 3]]


def backends_of_devices() -> dict[str, str]:
    """Return what counts float32 scores on each device of torch; imports torch.

    Examples
    --------
    >>> set(backends_of_devices().values()) <= {"triton", "torch", "host"}
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
    return {name: backend_of(torch.empty((1, 1), device=name)) for name in names}
