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


def test_copies() -> None:
    host = torch.arange(4.0)
    late = host.to(NAME, non_blocking=True)
    at_once = [torch.tensor([0.0, 1, 2, 3], device=NAME), host.to(NAME)]
    at_once.append(torch.empty(4, device=NAME).copy_(host))
    host.fill_(9)  # what the host writes later is not copied
    assert [tensor.tolist() for tensor in at_once] == [[0, 1, 2, 3]] * 3
    assert late.tolist() == [0, 1, 2, 3]
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
    beside = Stream()
    scores = on_device(VALUES)
    with module.stream(beside):
        doubled = scores * 2
    module.default.synchronize()
    assert is_poison(doubled)
    beside.synchronize()
    assert torch.equal(doubled.raw, VALUES * 2)
