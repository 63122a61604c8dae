"""A simulated device for torch, as slow as a device may be: it works only when waited for.

It is registered with torch as a device of its own ("standin"), so that tensors, their views and
copies go through torch as they do for a real device. Its memory is memory of the host that only its
own operations read. The operations of a stream are run when somebody waits for it, and not before;
until then a result holds a number that occurs in no scores. So whatever is read without waiting, or
is written while it is still read, is certainly wrong.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from support.problems import Array
from truerank.counting import tiles
from truerank.stores import on_device as device_stores

NAME = "standin"
POISON = 113  # exists in every dtype of scores, and is above all scores
_aten = torch.ops.aten


class Event:
    def __init__(self, stream: Stream) -> None:
        self._stream, self._position = stream, len(stream.operations)

    def synchronize(self) -> None:
        self._stream.run(self._position)


class Stream:
    """Operations in order, which are run when somebody waits for them."""

    def __init__(self, device: Any = None) -> None:
        self.operations: list[Callable[[], None]] = []
        self._done = 0
        self._lock = threading.RLock()

    def add(self, operation: Callable[[], None]) -> None:
        self.operations.append(operation)

    def run(self, position: int) -> None:
        with self._lock:
            while self._done < position:
                self.operations[self._done]()
                self._done += 1

    def wait_stream(self, other: Stream) -> None:
        position = len(other.operations)
        self.add(lambda: other.run(position))

    def record_event(self) -> Event:
        return Event(self)

    def synchronize(self) -> None:
        self.run(len(self.operations))


class Module:
    """What torch.cuda is for CUDA; each thread has its own current stream."""

    Stream = Stream

    def __init__(self) -> None:
        self.default = Stream()
        self.copies: list[bool] = []  # for each copy to the host, whether it was waited for at once
        self.copied = threading.Condition()
        self._local = threading.local()

    def current_stream(self, device: Any = None) -> Stream:
        return getattr(self._local, "stream", self.default)

    @contextmanager
    def stream(self, stream: Stream) -> Iterator[None]:
        before = self.current_stream()
        self._local.stream = stream
        try:
            yield
        finally:
            self._local.stream = before

    def note_copy(self, blocking: bool) -> None:
        with self.copied:
            self.copies.append(blocking)
            self.copied.notify_all()

    # torch calls these on the module of any device
    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        pass

    def device_count(self) -> int:
        return 1


module = Module()
_setup_privateuseone_for_python_backend(NAME, backend_module=module)


class DeviceTensor(torch.Tensor):
    """A tensor on the device; `raw` is its memory, which only this module reads."""

    raw: torch.Tensor

    @staticmethod
    def __new__(cls, raw: torch.Tensor) -> DeviceTensor:
        tensor = torch.Tensor._make_wrapper_subclass(
            cls,
            raw.shape,
            strides=raw.stride(),
            storage_offset=raw.storage_offset(),
            dtype=raw.dtype,
            device=f"{NAME}:0",
        )
        tensor.raw = raw
        return tensor

    def data_ptr(self) -> int:
        return self.raw.data_ptr()

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function is _aten.copy_.default:
            return _copy(*args, **kwargs)
        if function is _aten._to_copy.default:
            (source,) = args
            return _copy(torch.empty(source.shape, dtype=source.dtype), source)
        plain = tree_map(lambda x: x.raw if isinstance(x, DeviceTensor) else x, args)
        if function is not _aten.index.Tensor:  # a view
            return DeviceTensor(function(*plain, **kwargs))
        return pending_tensor(lambda: function(*plain, **kwargs))


def _copy(to: torch.Tensor, source: DeviceTensor, non_blocking: bool = False) -> torch.Tensor:
    stream, memory = module.current_stream(), source.raw
    to.fill_(POISON)
    stream.add(lambda: to.copy_(memory))
    module.note_copy(not non_blocking)
    if not non_blocking:
        stream.synchronize()
    return to


def pending_tensor(make: Callable[[], torch.Tensor]) -> DeviceTensor:
    """Return a tensor that this thread's current stream computes when somebody waits for it."""
    memory = torch.full_like(make(), POISON)
    module.current_stream().add(lambda: memory.copy_(make()))
    return DeviceTensor(memory)


def on_device(values: Any) -> DeviceTensor:
    """Return a tensor on the device whose values are already computed."""
    return DeviceTensor(torch.as_tensor(values))


# --- scores on the device, and blocks so small that every call takes several

RNG = np.random.default_rng(3)


def host_tensor(array: Array) -> torch.Tensor:
    """Return a copy of scores as a tensor in the host's memory."""
    plain = np.array(array, array.dtype.newbyteorder("="), order="C")
    if array.dtype.name == "bfloat16" or array.dtype.kind == "V":
        return torch.from_numpy(plain.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(plain)


def pending_scores(array: Array) -> DeviceTensor:
    """Return scores that the device has yet to compute."""
    tensor = host_tensor(array)
    return pending_tensor(lambda: tensor)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_stores, "BLOCK_BYTES", 700)
    monkeypatch.setattr(tiles, "COLUMN_TILE_BYTES", 700)
    module.copies.clear()
