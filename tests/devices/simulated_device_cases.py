"""The simulated device itself: what it computes, and that it does so only when waited for.

`test_devices.py` runs these tests in their own process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from support.simulated_device import (
    NAME,
    POISON,
    DeviceTensor,
    Stream,
    module,
    on_device,
    pending_tensor,
)

VALUES = torch.tensor([[0.5, -1.0, 7.0, 7.0], [3.0, 2.0, -0.0, 5.0], [1.0, 9.0, 9.0, 4.0]])
COLUMNS = torch.tensor([[0], [3], [1]])
ROWS = torch.tensor([2, 0, 2])


@pytest.fixture(autouse=True)
def start_afresh() -> Iterator[None]:
    module.forget()
    yield
    module.default.synchronize()


def waiting(tensor: torch.Tensor) -> DeviceTensor:
    """Return a copy of a tensor that the device has yet to make."""
    values = tensor.clone()
    return pending_tensor(lambda: values)


def is_poison(tensor: Any) -> bool:
    """Return whether nothing of a result is computed yet."""
    return bool((tensor.raw == torch.tensor(POISON).to(tensor.raw.dtype)).all())


# Each has no result that equals the poison, and takes a matrix, a column of each row, and rows.
OPERATIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "arange": lambda x, at, rows: torch.arange(3, 8, device=x.device),
    "zeros": lambda x, at, rows: torch.zeros((2, 3), dtype=torch.int64, device=x.device),
    "new_zeros": lambda x, at, rows: x.new_zeros(4, dtype=torch.int32),
    "arithmetic": lambda x, at, rows: x * 2 + 1,
    "index": lambda x, at, rows: x[rows[:, None], at],
    "index_add": lambda x, at, rows: x.new_zeros(3, 4).index_add(0, rows, x),
    "product": lambda x, at, rows: x @ x.T,
    "repeat_interleave": lambda x, at, rows: rows.repeat_interleave(rows, output_size=4),
    "dtype": lambda x, at, rows: x.to(torch.float64),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_run_when_it_is_waited_for(name: str) -> None:
    operation = OPERATIONS[name]
    expected = operation(VALUES, COLUMNS, ROWS)
    found = operation(waiting(VALUES), waiting(COLUMNS), waiting(ROWS))
    assert is_poison(found)
    assert (found.shape, found.dtype, found.device.type) == (expected.shape, expected.dtype, NAME)
    assert found.stride() == expected.stride()
    assert torch.equal(found.to("cpu"), expected)
    assert module.copies == [True]
    assert module.synchronisations == 0


def test_copies() -> None:
    host = torch.arange(4.0)
    late = host.to(NAME, non_blocking=True)
    at_once = [torch.tensor([0.0, 1, 2, 3], device=NAME), host.to(NAME)]
    at_once.append(torch.empty(4, device=NAME).copy_(host))
    host.fill_(9)  # what the host writes later is not copied
    assert [tensor.tolist() for tensor in (*at_once, late)] == [[0, 1, 2, 3]] * 4
    module.forget()
    host = torch.empty((3, 4)).copy_(waiting(VALUES), non_blocking=True)
    assert (host == POISON).all()
    module.default.synchronize()
    assert torch.equal(host, VALUES)
    assert torch.equal(waiting(VALUES).to("cpu", torch.int32), VALUES.int())
    assert module.copies == [False, True]


WAITING: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x.sum().item(),
    "bool": lambda x: bool((x > 3).any()),
    "nonzero": lambda x: x.nonzero().tolist(),
    "mask": lambda x: x[x > 3].tolist(),
    "repeats": lambda x: x[1].abs().long().repeat_interleave(x[1].abs().long()).tolist(),
}


@pytest.mark.parametrize("name", WAITING)
def test_what_the_host_must_know_is_waited_for(name: str) -> None:
    assert WAITING[name](waiting(VALUES)) == WAITING[name](VALUES)
    assert module.synchronisations == 1


def test_operations_belong_to_the_current_stream() -> None:
    beside, scores = Stream(), on_device(VALUES)
    with module.stream(beside):
        doubled = scores * 2
    module.default.synchronize()
    assert is_poison(doubled)
    beside.synchronize()
    assert torch.equal(doubled.raw, VALUES * 2)
