"""A simulated device for torch, as slow as a device may be: it works only when waited for.

It is registered with torch as a device of its own ("standin"), so that tensors, their views, copies
and operations go through torch as they do for a real device. Its memory is memory of the host that
only its own operations read. The operations of a stream are run when somebody waits for it, and not
before; until then a result holds a number that occurs in no scores. So whatever is read without
waiting, or is written while it is still read, is certainly wrong.

An operation whose result depends on values in a way that the host must know (`item`, `bool`,
`nonzero`, a mask as an index) waits for the current stream; `module.synchronisations` counts these.
"""

from __future__ import annotations

import ast
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import library as torch_operators
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from support.problems import Array, host_tensor
from truerank import devices
from truerank.devices import task_counts
from truerank.stores import on_device as device_stores

NAME = "standin"
POISON = 113  # It exists in every dtype of scores, and is above all scores.
_aten = torch.ops.aten


class Event:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._position = len(stream.operations)

    def synchronize(self) -> None:
        self._stream.run(self._position)


class Stream:
    """Operations in order, which are run when somebody waits for them."""

    def __init__(self, device: Any = None) -> None:
        self.operations: list[Callable[[], None]] = []
        self.done = 0
        self._lock = threading.RLock()

    def run(self, position: int) -> None:
        with self._lock:
            while self.done < position:
                with _own_modes():
                    self.operations[self.done]()
                self.operations[self.done] = lambda: None  # This frees what was read.
                self.done += 1

    def wait_stream(self, other: Stream) -> None:
        position = len(other.operations)
        self.operations.append(lambda: other.run(position))

    def record_event(self) -> Event:
        return Event(self)

    def synchronize(self) -> None:
        self.run(len(self.operations))


class Module:
    """What torch.cuda is for CUDA; each thread has its own current stream."""

    Stream = Stream

    def __init__(self) -> None:
        self.default = Stream()
        # For each copy to the host, this says whether it was waited for at once.
        self.copies: list[bool] = []
        # These are operations whose result the host must know.
        self.synchronisations = 0
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

    def forget(self) -> None:
        """Forget which copies were made, and what has waited."""
        self.copies.clear()
        self.synchronisations = 0

    # torch calls these on the module of any device.
    is_initialized = is_available = staticmethod(lambda: True)
    current_device = staticmethod(lambda: 0)
    device_count = staticmethod(lambda: 1)
    _is_in_bad_fork = staticmethod(lambda: False)
    manual_seed_all = staticmethod(lambda seed: None)


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

    def tolist(self) -> Any:
        return self.to("cpu").tolist()

    def __repr__(self) -> str:
        return f"DeviceTensor({tuple(self.shape)}, {self.dtype})"

    @classmethod
    def __torch_dispatch__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return _operate(function, args, kwargs or {})


# --- operations

# Results of these stay poison until something else is written there.
_READ_NOTHING = {
    _aten.empty.memory_format,
    _aten.empty_strided.default,
    _aten.empty_like.default,
    _aten.new_empty.default,
    _aten.new_empty_strided.default,
}
_TAKE_HOST_INDICES = {"index", "index_put", "index_put_", "_index_put_impl_"}
_TO_THE_HOST = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


@contextmanager
def _own_modes() -> Iterator[None]:
    """Set aside the modes of the calling thread, such as autocast: the device knows none of them.

    In inference mode any memory can be written, whatever the mode in which it was made.
    """
    with torch.inference_mode(), torch._C._DisableAutocast(), torch._C.DisableTorchFunction():
        yield


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Apply a function to each value in tuples, lists and dicts; torch's own is slow."""
    if isinstance(value, (tuple, list)):
        return type(value)([_mapped(function, each) for each in value])
    if isinstance(value, dict):
        return {key: _mapped(function, each) for key, each in value.items()}
    return function(value)


def _leaves(value: Any) -> list[Any]:
    found: list[Any] = []
    _mapped(found.append, value)
    return found


def _operate(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a view at once, and enqueue the work of any other operation on the current stream."""
    # In inference mode torch leaves it to the device to take operations apart, such as `matmul`.
    parts = function.decompose(*args, **kwargs)
    if parts is not NotImplemented:
        return parts
    if function is _aten.copy_.default:
        return _copy(*args, **kwargs)
    if function is _aten._to_copy.default and _is_host(kwargs.get("device")):
        return _copy_to_host(*args, **kwargs)
    _check_devices(function, args, kwargs)
    # It makes a tensor on the host, of a shape on the device.
    if _is_host(kwargs.get("device")):
        return function(*_mapped(_raw, args), **kwargs)
    schema = function._schema
    stream = module.current_stream()
    aliases = [each.alias_info for each in schema.returns if each.alias_info]
    with _own_modes():
        raw_args, raw_kwargs = _mapped(_raw, (args, kwargs))
        run = partial(function, *raw_args, **raw_kwargs)
        if aliases and not any(alias.is_write for alias in aliases):  # It is a view.
            results = run()
        elif _host_must_wait(function, args, kwargs):
            module.synchronisations += 1
            stream.synchronize()
            results = run()
        else:
            like = _shapes_of(function, args, kwargs)
            if schema.is_mutable:
                stream.operations.append(run)
                return _written(schema, args, kwargs)
            results = _mapped(_poisoned, like)
            if function not in _READ_NOTHING:
                stream.operations.append(lambda: _write(results, run()))
    return _mapped(_wrapped, results)


def _is_host(device: Any) -> bool:
    return device is not None and torch.device(device).type != NAME


def _raw(value: Any) -> Any:
    """Return the memory of a tensor on the device, and a copy of one in the host's memory."""
    if isinstance(value, DeviceTensor):
        return value.raw
    if torch.is_tensor(value):
        return value.detach().clone()  # It stays as it is now, whatever is written there later.
    return torch.device("cpu") if isinstance(value, torch.device) else value


def _wrapped(value: Any) -> Any:
    return DeviceTensor(value) if torch.is_tensor(value) else value


def _check_devices(function: Any, args: Any, kwargs: Any) -> None:
    """Refuse tensors of the host as other devices do: but numbers, and indices."""
    if function.overloadpacket.__name__ in _TAKE_HOST_INDICES:
        return
    for value in _leaves((args, kwargs)):
        if torch.is_tensor(value) and not isinstance(value, DeviceTensor) and value.dim():
            raise RuntimeError(f"{function}: expected all tensors to be on the same device")


def _host_must_wait(function: Any, args: Any, kwargs: Any) -> bool:
    if function.overloadpacket.__name__ in _TAKE_HOST_INDICES:
        return any(
            torch.is_tensor(index) and index.dtype in (torch.bool, torch.uint8) for index in args[1]
        )
    if function is _aten.repeat_interleave.Tensor:
        return kwargs.get("output_size") is None
    return bool(_TO_THE_HOST & set(function.tags))


def _shapes_of(function: Any, args: Any, kwargs: Any) -> Any:
    """Run an operation on shapes alone; raise what it raises for shapes and dtypes that misfit."""

    def shape(value: Any) -> Any:
        if torch.is_tensor(value):
            plain = value.raw if isinstance(value, DeviceTensor) else value
            return torch.empty_like(plain, device="meta", memory_format=torch.preserve_format)
        return torch.device("meta") if isinstance(value, torch.device) else value

    given, more = _mapped(shape, (args, kwargs))
    return function(*given, **more)


def _poisoned(like: Any) -> Any:
    """Return memory of the shape, strides and dtype of a tensor, all poison."""
    if not torch.is_tensor(like):
        return like
    memory = torch.empty_strided(like.shape, like.stride(), dtype=like.dtype, device="cpu")
    return memory.fill_(POISON)


def _write(results: Any, values: Any) -> None:
    for result, value in zip(_leaves(results), _leaves(values), strict=True):
        if torch.is_tensor(result):
            result.copy_(value)


def _written(schema: Any, args: Any, kwargs: Any) -> Any:
    """Return the arguments that an operation writes and returns."""
    given = {each.name: value for each, value in zip(schema.arguments, args, strict=False)}
    given |= kwargs
    names = {
        frozenset(each.alias_info.before_set): each.name
        for each in schema.arguments
        if each.alias_info and each.alias_info.is_write
    }
    found = [given[names[frozenset(each.alias_info.before_set)]] for each in schema.returns]
    return found[0] if len(found) == 1 else tuple(found) or None


def _copy(to: Any, source: Any, non_blocking: bool = False) -> Any:
    """Copy within the device, to the host or from it."""
    stream = module.current_stream()
    if not isinstance(to, DeviceTensor):
        with _own_modes():
            to.fill_(POISON)
        memory = source.raw
        stream.operations.append(lambda: to.copy_(memory))
        with module.copied:
            module.copies.append(not non_blocking)
            module.copied.notify_all()
    else:
        with _own_modes():
            memory = to.raw
            values = _raw(source)
            _shapes_of(_aten.copy_.default, (to, source), {})
        stream.operations.append(lambda: memory.copy_(values))
        if isinstance(source, DeviceTensor):
            return to
    if not non_blocking:
        stream.synchronize()
    return to


def _copy_to_host(
    source: Any, *, dtype: Any = None, non_blocking: bool = False, **layout: Any
) -> torch.Tensor:
    if dtype is not None and dtype != source.dtype:
        source = _operate(_aten._to_copy.default, (source,), {"dtype": dtype})
    to = torch.empty(source.shape, dtype=source.dtype, device="cpu")
    return _copy(to, source, non_blocking)


def _new(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a tensor on the device by no other, such as ``torch.empty(3, device="standin")``."""
    return _operate(function, args, kwargs)


# Whatever makes a tensor of no other uses these: `zeros`, `full`, `tensor` and `to` as well.
_library = torch_operators.Library("aten", "IMPL")
_factories = [_aten.empty.memory_format, _aten.empty_strided.default]
_factories += [getattr(_aten.arange, name) for name in _aten.arange.overloads()]
for _factory in _factories:
    _library.impl(_factory, partial(_new, _factory), "PrivateUse1")
# `torch.tensor` copies by this operation.
_library.impl("_copy_from", lambda source, to, wait=False: _copy(to, source, wait), "PrivateUse1")


def pending_tensor(make: Callable[[], torch.Tensor]) -> DeviceTensor:
    """Return a tensor that this thread's current stream computes when somebody waits for it."""
    with _own_modes():
        memory = torch.full_like(make(), POISON)
    module.current_stream().operations.append(lambda: memory.copy_(make()))
    return DeviceTensor(memory)


def on_device(values: Any) -> DeviceTensor:
    """Return a tensor on the device whose values are already computed."""
    return DeviceTensor(torch.as_tensor(values))


# --- scores on the device, and blocks so small that every call takes several

RNG = np.random.default_rng(3)


def pending_scores(array: Array) -> DeviceTensor:
    """Return scores that the device has yet to compute."""
    tensor = host_tensor(array)
    return pending_tensor(lambda: tensor)


# --- Triton's kernel there

_SOURCE = Path(devices.__file__).with_name("count_kernels.py").read_text()
SIZES = {name: int(size) for name, size in re.findall(r"^([A-Z_]+) = (\d+)", _SOURCE, re.MULTILINE)}
_PARAMETERS = [
    each.arg
    for node in ast.parse(_SOURCE).body
    if isinstance(node, ast.FunctionDef) and node.name == "count_tasks"
    for each in node.args.args
]


class Kernel:
    """What stands for Triton's kernel: the current stream runs it in its turn, in plain numpy."""

    def __init__(self, count: Callable[[SimpleNamespace], None]) -> None:
        self.count = count

    def __getitem__(self, grid: tuple[int, int]) -> Callable[..., None]:
        """Return what starts the programs; here one does the work of all."""
        return self._start

    def _start(self, *arguments: Any, **options: Any) -> None:
        if not isinstance(arguments[0], DeviceTensor):
            raise ValueError("a pointer to the host's memory")
        given = dict(zip(_PARAMETERS, arguments, strict=False)) | options
        arrays = {
            name: value.raw.numpy() if isinstance(value, DeviceTensor) else value
            for name, value in given.items()
        }
        module.current_stream().operations.append(lambda: self.count(SimpleNamespace(**arrays)))


def count_plainly(given: SimpleNamespace) -> None:
    """Count each task as the kernel promises, in as plain a way as there is."""

    def values(scores: Array) -> Array:
        bits = given.IS_BFLOAT16
        return (scores.astype(np.uint32) << 16).view(np.float32) if bits else scores

    def columns_of(prefix: str, lists: Any, task: int) -> Array:
        """Return the columns of this part that the list of a task has (default: all)."""
        columns = getattr(given, f"{prefix}indices")
        if columns is None:
            return np.arange(given.width)
        indptr = getattr(given, f"{prefix}indptr")
        if indptr is not None:
            number = task if lists is None else lists[task]
            columns = columns[indptr[number] : indptr[number + 1]]
        columns = columns - given.first_column
        return columns[(columns >= 0) & (columns < given.width)]

    scores = given.scores
    strides = given.row_stride * scores.itemsize, given.column_stride * scores.itemsize
    assert strides == scores.strides
    rows = np.arange(given.tasks) if given.rows is None else given.rows
    assert (np.diff(rows if given.order is None else rows[given.order]) >= 0).all()
    targets = given.targets - given.first_column
    counts = given.counts.reshape(-1, 5, given.tasks)
    counts[:] = 0  # one program writes all
    for task, (row, target) in enumerate(zip(rows, targets, strict=True)):
        own = scores[row, target : target + 1] if 0 <= target < given.width else scores[row, :0]
        if given.true_scores is None:
            given.own_scores[task : task + 1] = own if len(own) else 0
            true = values(given.own_scores[task : task + 1])
        else:
            true = values(given.true_scores[task : task + 1])
        columns = columns_of("", given.lists, task)
        assert given.indptr is not None or len(columns) == given.n_columns
        columns = columns[columns != target]
        if given.filter_indices is not None:
            known = columns_of("filter_", given.filter_lists, task)
            columns = columns[~np.isin(columns, known)]
        others = values(scores[row, columns])
        differs = len(own) > 0 and not np.array_equal(values(own), true, equal_nan=True)
        flags = (others > true, others == true, others != others)
        counts[0, :, task] = [*map(np.count_nonzero, flags), len(columns), differs]


def use_kernel(
    count: Callable[[SimpleNamespace], None], sizes: dict[str, int], patch: pytest.MonkeyPatch
) -> None:
    """Let a function stand for Triton's kernel, with the sizes of its tiles."""
    patch.setattr(task_counts, "find_spec", lambda name: name)
    kernels = SimpleNamespace(count_tasks=Kernel(count), **sizes)
    patch.setattr(devices, "count_kernels", kernels, raising=False)


def choose(kind: str, patch: pytest.MonkeyPatch) -> None:
    """Let scores be copied to the host block by block, or counted on the device by the kernel."""
    patch.setenv("TRUERANK_DEVICE", kind)
    if kind == "triton":
        small = SIZES | {"TILE": 64, "ROWS": 4, "PROGRAMS": 12}
        use_kernel(count_plainly, small, patch)
        patch.setattr(task_counts, "MOST_KERNEL_TASKS", 9)
        # Blocks are so large that the host names the first NaN.
        patch.setattr(device_stores, "BLOCK_BYTES", 1 << 20)
    else:
        patch.setattr(device_stores, "BLOCK_BYTES", 700)
    module.forget()
