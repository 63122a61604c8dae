"""Arrays on a device, as stores: their blocks are copied to the host, where no device counts them.

`counting.driver` then makes the blocks on a thread of its own, one ahead. Two of them are in the
host's memory at a time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from ..inputs.array_likes import as_scores, check_dimensions, dense_tensor, tensor_array
from ..inputs.checks import choice
from .store import Array, Store, Tile, cut_tiles

# Copying so much takes long compared with starting a copy, and it is little of the memory.
BLOCK_BYTES = 32 << 20
# Arrays on a device are counted there, by a kernel of Triton, or as a copy by the host.
BACKENDS = ("triton", "host")


def chosen_backend() -> str | None:
    """Return what TRUERANK_DEVICE has count arrays on a device; None: it chooses nothing.

    With "triton", tensors in the host's memory count as on the device, too, so that it can be
    tried without one.
    """
    value = os.environ.get("TRUERANK_DEVICE")
    if not value:
        return None
    return choice("TRUERANK_DEVICE", value, BACKENDS)


class DeviceStream:
    """The calling thread's current stream of a device, for work that follows what is on it now.

    Another thread may use it, whose own current stream is another. Some devices have no streams.
    """

    def __init__(self, device: Any) -> None:
        module: Any = getattr(sys.modules["torch"], device.type, None)
        self._module: Any = None
        self._stream: Any = None
        self._pins = device.type in ("cuda", "xpu")
        if device.type != "cpu" and hasattr(module, "Stream"):
            self._module = module
            self._stream = module.current_stream(device)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the current stream of this thread, and of its device, within the block."""
        stream: Any = nullcontext() if self._module is None else self._module.stream(self._stream)
        with sys.modules["torch"].no_grad(), stream:
            yield

    def host_memory(self, size: int) -> Any:
        """Return so many bytes of the host's memory, for an upload.

        They are pinned where torch can do that. Freed, they are given out again only when the
        copies from them are done: torch keeps an event for each, and thus a ring of them.
        """
        torch = sys.modules["torch"]
        return torch.empty(size, dtype=torch.uint8, device="cpu", pin_memory=self._pins)

    def upload(self, tensor: Any, to: Any) -> Any:
        """Fill a tensor on the device from one in the host's memory, not needed afterwards.

        With streams, nothing waits for the device: what is in no pinned memory has been read when
        the call returns. Elsewhere (MPS) it might be read later.
        """
        return to.copy_(tensor, non_blocking=self._module is not None)

    def copy_to_host(self, tensor: Any) -> Any:
        """Begin to copy a tensor; the copy is whole after `wait`."""
        # When it need not wait, torch copies to pinned memory, where the device writes by itself.
        return tensor.to("cpu", non_blocking=self._module is not None)

    def record(self) -> Callable[[], None]:
        """Return a function that waits for what has been given to the stream until now."""
        if self._module is None:
            return lambda: None
        wait: Callable[[], None] = self._stream.record_event().synchronize
        return wait

    def wait(self) -> None:
        """Wait for all that has been given to the stream."""
        self.record()()


def copy_to_device(array: Array, device: Any) -> Any:
    """Copy an array to a device of torch, without a wait for what the device does now."""
    host_tensor = sys.modules["torch"].from_numpy(array)
    on_device = host_tensor.new_empty(host_tensor.shape, device=device)
    return DeviceStream(on_device.device).upload(host_tensor, on_device)


class DeviceStore(Store):
    """A tensor on a device, a matrix or a single row. It must not change while it is ranked.

    Its computation may still run: copies wait for all work on the current stream of the calling
    thread.
    """

    in_place = False

    def __init__(self, array: Any, dtype: str, carrier: np.dtype[Any]) -> None:
        super().__init__(tuple(map(int, array.shape)), dtype, carrier, ())
        self.array = array[None, :] if self.single_row else array
        self.device = str(array.device)
        self.stream = DeviceStream(array.device)

    def _take_rows(self, rows: range) -> Store:
        array = self.array[rows.start : rows.stop : rows.step]
        return DeviceStore(array, self.dtype, self.carrier)

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, min(max_bytes, BLOCK_BYTES))

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        rows = slice(tile.top, tile.top + tile.height)
        columns = slice(tile.left, tile.left + tile.width)
        yield self._copy_to_host((rows, columns))

    def take(self, rows: Array, columns: Array) -> Array:
        torch = sys.modules["torch"]
        # The indices stay on the host, whatever the default device is.
        pairs = (torch.tensor(rows, device="cpu"), torch.tensor(columns, device="cpu"))
        return self._copy_to_host(pairs)

    def _copy_to_host(self, index: tuple[Any, Any]) -> Array:
        """Copy what an index selects of the array."""
        with self.stream.current():
            copy = self.stream.copy_to_host(self.array[index])
            self.stream.wait()
        return tensor_array(copy, "scores")[0]


def device_store(tensor: Any, dtype: Any, dtypes: tuple[str, ...]) -> Store | None:
    """Make the store of a tensor on a device; None: it is in the host's memory, and counted there.

    TRUERANK_DEVICE may have those of the host counted as on a device.
    """
    if tensor.is_cpu and chosen_backend() != "triton":
        return None
    tensor = dense_tensor(tensor, "scores")
    # An empty array of the same dtype is checked as one in memory is.
    empty = sys.modules["torch"].empty((0, 0), dtype=tensor.dtype, device="cpu")
    like = as_scores(empty, dtype, dtypes)
    check_dimensions(tuple(tensor.shape))
    return DeviceStore(tensor, like.dtype, like.array.dtype)
