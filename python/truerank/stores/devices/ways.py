"""The way in which a device counts: by Triton's kernels, by torch operations, or not at all."""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import _core
from ...inputs.arrays import device_way
from .stored_scores import StoredScores
from .streams import DeviceStream
from .task_counts import PartOfTasks, count_tasks

if TYPE_CHECKING:
    from .source import Tensor

_DEVICES_OF_TRITON = ("cuda", "xpu")  # torch's devices of AMD are of type "cuda", too


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
