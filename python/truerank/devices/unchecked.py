"""Targets and lists on the device of the scores: they stay there, where kernels check and sort.

Only where something is wrong are they copied to the host, which says what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..inputs.array_likes import dense_tensor, is_tensor
from ..inputs.selection import as_selection
from ..stores.on_device import DeviceStream, copy_to_device
from . import task_counts
from .device_scores import DeviceLists

if TYPE_CHECKING:
    from ..arrays.types import IntArray
    from ..stores.on_device import DeviceStore
    from .device_scores import Tensor


class KeptLists:
    """Lists that the batches of a task share: the first copies them to the device, checked.

    Parameters
    ----------
    indptr, indices : ndarray of int
    lists : ndarray of int64, shape (tasks,)
        The list of each task, of all or of those of a batch.
    copies : list of (DeviceStream, DeviceLists)
        The last copy, and the stream on which it was made. Batches share the list.
    """

    def __init__(
        self,
        indptr: IntArray,
        indices: IntArray,
        lists: IntArray,
        copies: list[tuple[DeviceStream, DeviceLists]] | None = None,
    ) -> None:
        self.on_host = indptr, indices, lists
        self._copies = [] if copies is None else copies

    def of_tasks(self, tasks: IntArray) -> KeptLists:
        """Return the lists of a batch, which shares the copies."""
        indptr, indices, lists = self.on_host
        return KeptLists(indptr, indices, lists[tasks], self._copies)

    def on_device(self, name: str, store: DeviceStore) -> DeviceLists:
        """Return the lists on the device of some scores, for what is given to the stream now."""
        lists = self.on_host[-1]
        device = store.array.device
        stream = DeviceStream(device)
        if not self._copies or not self._copies[0][0].is_same(stream):
            checked: Any = as_selection(name, self.on_host, len(lists), store.shape[1], 0)
            # The device reads signed integers, and torch no array that is read-only.
            indptr, indices = (
                copy_to_device(array.view(f"i{array.itemsize}").copy(), device)
                for array in (checked.indptr, checked.indices)
            )
            self._copies[:] = [(stream, DeviceLists(indptr, indices, None, is_checked=True))]
        return self._copies[0][1]._replace(lists=lists)


def job_on_device(
    store: DeviceStore, prepare: Callable[..., Any], arguments: dict[str, Any]
) -> Any:
    """Prepare the job of scores that a kernel counts; what is on their device stays there.

    Parameters
    ----------
    store : DeviceStore
    prepare : callable
        Takes targets, filter and candidates, and returns their job, checked and on the host.
    arguments : dict
        These; a selection may be `KeptLists`.

    Returns
    -------
    Job
        With tensors in place of what is on the device, of which only the shape is checked. All is
        on the host if nothing is there as one-dimensional tensors of int32 or int64, and if the
        host has to say what is wrong.
    """
    device = store.array.device
    staying: dict[str, Any] = {}
    readable = {
        name: value.on_host if isinstance(value, KeptLists) else value
        for name, value in arguments.items()
    }
    on_host = dict(readable)
    try:
        targets = _integers_on(device, "targets", arguments["targets"])
        if targets is not None:
            staying["targets"] = targets
            on_host["targets"] = np.zeros(len(targets), np.int64)
        for name in ("filter", "candidates"):
            lists = _lists_on(store, name, arguments[name])
            if lists is not None:
                staying[name] = lists
                on_host[name] = None
        if not staying or not DeviceStream(device).is_same(store.stream):
            return prepare(**readable)
        job = prepare(**on_host)
    except InputError:
        return prepare(**readable)
    tasks = len(job.targets)
    selections = [lists for name, lists in staying.items() if name != "targets"]
    fits = all(lists.fits(tasks) for lists in selections)
    if not fits or not 0 < tasks <= task_counts.MOST_KERNEL_TASKS or not store.shape[1]:
        return prepare(**readable)
    is_checked = targets is None and all(lists.is_checked for lists in selections)
    checked = None if is_checked else partial(prepare, **readable)
    return replace(job, **staying, checked=checked)


def _integers_on(device: Any, name: str, value: Any) -> Tensor | None:
    """Return integers that are on a device as a kernel reads them, or None."""
    if not is_tensor(value) or value.device != device or value.ndim != 1:
        return None
    if str(value.dtype) not in ("torch.int32", "torch.int64"):
        return None
    return dense_tensor(value, name).contiguous()


def _lists_on(store: DeviceStore, name: str, value: Any) -> DeviceLists | None:
    """Return lists whose arrays are on the device of some scores, or None."""
    if isinstance(value, KeptLists):
        return value.on_device(name, store)
    if not isinstance(value, tuple) or len(value) not in (2, 3):
        return None
    device = store.array.device
    arrays: list[Any] = [_integers_on(device, name, array) for array in value]
    if any(array is None for array in arrays):
        return None
    indptr, indices, *lists = arrays
    return DeviceLists(indptr.long(), indices, lists[0].long() if lists else None)
