"""The stream on which a device makes scores, and counts them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
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
