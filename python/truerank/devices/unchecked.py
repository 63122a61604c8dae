"""Targets and lists on the device of the scores: they stay there, and a kernel checks them.

Only where it finds something are they copied to the host, which says what is wrong, or sorts them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..inputs.array_likes import dense_tensor, is_tensor
from ..stores.on_device import DeviceStream
from . import task_counts

if TYPE_CHECKING:
    from ..stores.on_device import DeviceStore
    from .score_sources import PartOfTasks, Tensor


class DeviceLists(NamedTuple):
    """A selection whose arrays are on a device; see `Selection`."""

    indptr: Tensor  # of int64
    indices: Tensor  # of int32 or int64
    lists: Tensor | None  # of int64
    shared: bool = False

    def fits(self, tasks: int) -> bool:
        """Whether there is a list for each of some tasks."""
        lengths = self.indptr[1:] if self.lists is None else self.lists
        return len(lengths) == tasks and len(self.indptr) > 1


def job_on_device(store: DeviceStore, prepare: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Prepare the job of scores that a kernel counts, with what is on their device.

    Parameters
    ----------
    store : DeviceStore
    prepare : callable
        Takes targets, filter and candidates, and returns their `Job`, checked and on the host.
    given : dict
        These.

    Returns
    -------
    Job or None
        With tensors in place of what is on the device, of which only the shape is checked. None
        if nothing is there as one-dimensional tensors of int32 or int64, and if the host has to say
        what is wrong.
    """
    device = store.array.device
    staying: dict[str, Any] = {}
    on_host = dict(given)
    try:
        targets = _integers_on(device, "targets", given["targets"])
        if targets is not None:
            staying["targets"] = targets
            on_host["targets"] = np.zeros(len(targets), np.int64)
        for name in ("filter", "candidates"):
            lists = _lists_on(device, name, given[name])
            if lists is not None:
                staying[name] = lists
                on_host[name] = None
        if not staying or not DeviceStream(device).is_same(store.stream):
            return None
        job = prepare(**on_host)
    except InputError:
        return None
    tasks = len(job.targets)
    fits = all(lists.fits(tasks) for name, lists in staying.items() if name != "targets")
    if not fits or not 0 < tasks <= task_counts.MOST_STORED_TASKS or not store.shape[1]:
        return None
    return job._replace(**staying, checked=partial(prepare, **given))


def _integers_on(device: Any, name: str, value: Any) -> Tensor | None:
    """Return integers that are on a device as a kernel reads them, or None."""
    if not is_tensor(value) or value.device != device or value.ndim != 1:
        return None
    if str(value.dtype) not in ("torch.int32", "torch.int64"):
        return None
    return dense_tensor(value, name).contiguous()


def _lists_on(device: Any, name: str, value: Any) -> DeviceLists | None:
    """Return lists whose arrays are on a device, or None."""
    if not isinstance(value, tuple) or len(value) not in (2, 3):
        return None
    arrays: list[Any] = [_integers_on(device, name, array) for array in value]
    if any(array is None for array in arrays):
        return None
    indptr, indices, *lists = arrays
    return DeviceLists(indptr.long(), indices, lists[0].long() if lists else None)


def begin_check(tasks: PartOfTasks, width: int, faults: Tensor) -> None:
    """Begin to look for faults of what is on the device, as `count_kernels.check_tasks` does."""
    from . import count_kernels as kernels

    targets: Any = tasks.targets
    pointers: list[Tensor | None] = [None if isinstance(targets, np.ndarray) else targets]
    lengths: list[int] = []
    selections: list[Any] = [tasks.filter, tasks.candidates]
    for selection in selections:
        if isinstance(selection, DeviceLists):
            pointers += selection[:3]
            lengths += [len(selection.indptr) - 1, len(selection.indices)]
        else:
            pointers += [None, None, None]
            lengths += [0, 0]
    count = len(tasks.targets)
    programs = -(-max(count, *lengths) // kernels.PLACES)
    kernels.check_tasks[(programs,)](
        *pointers,
        faults,
        count,
        width,
        *lengths,
        PLACES=kernels.PLACES,
        enable_fp_fusion=False,
    )
