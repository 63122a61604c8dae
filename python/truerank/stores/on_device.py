"""Matrices on a device: they are counted there or, where that cannot be, copied to the host.

Then `counting.tiles` makes the blocks of such stores on a thread of its own, one ahead. Two of them
are in the host's memory at a time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core import Scores
from ..inputs.arrays import dense_tensor, device_of, is_tensor, tensor_array
from ..inputs.errors import InputValueError
from ..inputs.scores import Form, as_scores, check_dimensions
from .store import Store, Tile, cut_tiles, digest_scores

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray
    from .store import OpenOptions

    MakeBlock = Callable[[], Any]  # returns a block of a tensor, still on the device
    ToHost = Callable[[MakeBlock], AbstractContextManager[Any]]
    Tensor = Any  # of torch, which has no types here


# torch's module for a kind of device, such as torch.cuda, has these if there are streams.
_NAMES = ("Stream", "stream", "current_stream")


def streams_of(device: Any) -> Any:
    """Return torch's module for the streams of a device; None if it has none."""
    if device.type == "cpu":
        return None
    module = getattr(sys.modules["torch"], device.type, None)
    return module if all(hasattr(module, name) for name in _NAMES) else None


def pinned(size: int, dtype: Any) -> Tensor:
    """Return new memory of the host that a device can write to by itself, if it can be had."""
    torch = sys.modules["torch"]
    try:
        return torch.empty(size, dtype=dtype, device="cpu", pin_memory=True)
    except RuntimeError:  # no more memory can be pinned: the copy is slower but correct
        return torch.empty(size, dtype=dtype, device="cpu")


def copy_to_device(tensor: Tensor, to: Tensor) -> Tensor:
    """Fill a tensor on a device from one in the host's memory that is not needed afterwards.

    Where there are streams, nothing waits for the device: what is in no pinned memory has been
    read when the call returns. Elsewhere (MPS) it might be read later.
    """
    return to.copy_(tensor, non_blocking=streams_of(to.device) is not None)


class DeviceStream:
    """The calling thread's current stream of a device, for work that follows what is on it now.

    Another thread may use it, whose own current stream is another.

    Parameters
    ----------
    device : torch.device
    """

    def __init__(self, device: Any) -> None:
        self._module = streams_of(device)
        self._stream = None if self._module is None else self._module.current_stream(device)

    @contextmanager
    def current(self) -> Iterator[None]:
        """Make it the current stream of this thread, and of its device, within the block."""
        torch = sys.modules["torch"]
        with (
            torch.no_grad(),
            nullcontext() if self._module is None else self._module.stream(self._stream),
        ):
            yield

    def copy_to_host(self, tensor: Tensor) -> Tensor:
        """Begin to copy a tensor; the copy is whole after `wait`."""
        if self._stream is None:
            return tensor.to("cpu")
        copy = pinned(tensor.numel(), tensor.dtype).view(tensor.shape)
        return copy.copy_(tensor, non_blocking=True)

    def wait(self) -> None:
        """Wait for all that has been given to the stream."""
        if self._stream is not None:
            self._stream.record_event().synchronize()


# Copying so much takes long compared with starting a copy, and it is little of the memory.
BLOCK_BYTES = 32 << 20


def device_store(value: Any, request: OpenOptions, name: str = "scores") -> DeviceStore:
    """Make the store of a tensor or JAX array on a device, as `is_on_device` says."""
    kind = TorchStore if is_tensor(value) else JaxStore
    return kind(value, request, name)


class DeviceStore(Store):
    """An array on devices. It must not change while it is ranked.

    Parameters
    ----------
    shape : tuple of int
        (rows, columns) or (columns,).
    like : Scores
        Other scores of the same dtype.
    name : str
        The argument's name, for the messages.
    form : Form
        What the array must be.

    Attributes
    ----------
    device : str
        The device that has them, or all such devices.

    Raises
    ------
    ValueError
        For other shapes.
    """

    in_place = False
    on_device = True
    device: str

    def __init__(self, shape: tuple[int, ...], like: Scores, name: str, form: Form) -> None:
        check_dimensions(shape, name, form)
        rows = 1 if len(shape) == 1 else int(shape[0])
        super().__init__((rows, int(shape[-1])), like.dtype, like.array.dtype, ())
        self.single_row = len(shape) == 1

    def tiles(self, max_bytes: int) -> list[Tile]:
        return cut_tiles(self.shape, self.itemsize, min(max_bytes, BLOCK_BYTES))

    def state(self) -> list[Any]:
        return [list(self.shape), self.dtype, self.swapped, digest_scores(self)]

    def close(self) -> None:
        """Do nothing: the array is the caller's."""


class TorchStore(DeviceStore):
    """A tensor on a device.

    Parameters
    ----------
    tensor : torch.Tensor, shape (rows, columns) or (columns,)
        Its computation may still run: copies wait for all work on the current stream of the calling
        thread.
    request : OpenOptions
        What the caller says about the dtype.
    name : str
        The argument's name, for the messages.

    Raises
    ------
    TypeError
        For a tensor that is not dense or has no data, and a dtype that scores cannot have.
    ValueError
        For other shapes.
    """

    def __init__(self, tensor: Any, request: OpenOptions, name: str) -> None:
        plain = dense_tensor(tensor, name)
        torch = sys.modules["torch"]
        empty = torch.empty((0, 0), dtype=plain.dtype, device="cpu")
        like = as_scores(empty, request.dtype, name, request.form)
        super().__init__(tuple(plain.shape), like, name, request.form)
        with suppress(RuntimeError):  # some devices have no addresses
            self.address = int(plain.data_ptr())
        self.tensor = plain.unsqueeze(0) if self.single_row else plain
        self.device = str(plain.device)
        self.stream = DeviceStream(plain.device)
        self._to_host = _copier_for(plain.device)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        top, left, height, width = tile
        block = self.tensor[top : top + height, left : left + width]
        with self._to_host(lambda: block) as on_host:
            yield tensor_array(on_host, "scores")[0]

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        tensor = partial(
            sys.modules["torch"].tensor, device="cpu"
        )  # also if the default device is another
        pairs = tuple(map(tensor, (rows, columns)))
        with self._to_host(lambda: self.tensor[pairs]) as on_host:
            return tensor_array(on_host, "scores")[0].copy()


def _copier_for(device: Any) -> ToHost:
    """Return what copies blocks from a device: on a stream of its own, if there are streams."""
    module = streams_of(device)
    return _copy_and_wait if module is None else _PinnedCopier(module, device)


@contextmanager
def _copy_and_wait(make_block: MakeBlock) -> Iterator[Any]:
    """Copy a block after all other work of the device."""
    yield make_block().to("cpu")


class _PinnedCopier:
    """Copies blocks into pinned memory, on a stream of its own.

    A buffer is handed out when its copy is complete, and filled again after it was handed back.

    Parameters
    ----------
    module : module
        torch's module for the kind of device, such as torch.cuda.
    device : torch.device
    """

    def __init__(self, module: Any, device: Any) -> None:
        self._module = module
        self._stream = module.Stream(device)
        # each thread has its own current stream; this thread's is the one that makes the scores
        self._stream.wait_stream(module.current_stream(device))
        self._free: list[Any] = []

    @contextmanager
    def __call__(self, make_block: MakeBlock) -> Iterator[Any]:
        torch = sys.modules["torch"]
        # inference mode is also the thread's own, and a buffer made within it is filled only within
        with torch.inference_mode(), self._module.stream(self._stream):
            on_device = make_block()
            buffer = self._buffer(on_device.numel(), on_device.dtype)
            on_host = buffer[: on_device.numel()].view(on_device.shape)
            on_host.copy_(on_device, non_blocking=True)
            self._stream.record_event().synchronize()
        yield on_host
        self._free.append(buffer)

    def _buffer(self, size: int, dtype: Any) -> Any:
        try:
            buffer = self._free.pop()
        except IndexError:
            return pinned(size, dtype)
        return buffer if buffer.numel() >= size else pinned(size, dtype)


class _Shard(NamedTuple):
    """A rectangle of a JAX array: what one device holds, or a part of that on the host."""

    top: int
    left: int
    height: int
    width: int
    data: Any


class JaxStore(DeviceStore):
    """A JAX array on one device or sharded over several; each shard is read from its device.

    Parameters
    ----------
    array : jax.Array, shape (rows, columns) or (columns,)
        Its computation may still run.
    request, name
        As for a `TorchStore`.

    Raises
    ------
    TypeError
        For a dtype that scores cannot have.
    ValueError
        For other shapes, and for an array that is partly on devices of other processes.
    """

    def __init__(self, array: Any, request: OpenOptions, name: str) -> None:
        like = as_scores(np.empty((0, 0), array.dtype), request.dtype, name, request.form)
        super().__init__(array.shape, like, name, request.form)
        if not array.is_fully_addressable:
            raise InputValueError(
                name,
                expected="an array on devices of this process",
                got="one that is also on devices of others; rank in each process the rows that it "
                "has",
            )
        self.device = device_of(array)
        self.shards = [
            _make_shard(shard) for shard in array.addressable_shards if shard.replica_id == 0
        ]

    def tiles(self, max_bytes: int) -> list[Tile]:
        return [
            Tile(shard.top + top, shard.left + left, height, width)
            for shard in self.shards
            for top, left, height, width in cut_tiles(
                (shard.height, shard.width), self.itemsize, min(max_bytes, BLOCK_BYTES)
            )
        ]

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[npt.NDArray[Any]]:
        overlaps = [
            overlap for overlap in map(partial(_overlap, tile), self.shards) if overlap is not None
        ]
        if len(overlaps) == 1:
            yield overlaps[0].data
            return
        out = np.empty((tile.height, tile.width), self.carrier)
        for top, left, height, width, data in overlaps:
            out[top : top + height, left : left + width] = data
        yield out

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        out = np.empty(len(rows), self.carrier)
        for top, left, height, width, data in self.shards:
            down, across = rows - top, columns - left
            (inside,) = np.nonzero((down >= 0) & (down < height) & (across >= 0) & (across < width))
            at = across[inside] if self.single_row else (down[inside], across[inside])
            out[inside] = np.asarray(data[at])
        return out


def _make_shard(shard: Any) -> _Shard:
    top, left = [0, *(axis_range.start or 0 for axis_range in shard.index)][-2:]
    height, width = [1, *shard.data.shape][-2:]
    return _Shard(top, left, height, width, shard.data)


def _overlap(tile: Tile, shard: _Shard) -> _Shard | None:
    """Copy the part of a shard that lies in a tile; its top and left count from the tile's."""
    top, left = max(tile.top, shard.top), max(tile.left, shard.left)
    height = min(tile.top + tile.height, shard.top + shard.height) - top
    width = min(tile.left + tile.width, shard.left + shard.width) - left
    if height <= 0 or width <= 0:
        return None
    down = slice(top - shard.top, top - shard.top + height)
    across = slice(left - shard.left, left - shard.left + width)
    block = np.asarray(shard.data[(down, across)[-shard.data.ndim :]]).reshape(height, width)
    return _Shard(top - tile.top, left - tile.left, height, width, block)
