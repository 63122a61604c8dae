"""Unusual tensors in the host's memory, and tensors that have no numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal, refused

torch = pytest.importorskip("torch", reason="tensors of torch")

HOST_TENSOR = torch.rand((3, 4), generator=torch.Generator().manual_seed(5))
TARGETS = [0, 1, 3]


class OwnTensor(torch.Tensor):
    """A user's own class of tensors."""


def made_in_inference_mode(tensor: Any) -> Any:
    with torch.inference_mode():
        return tensor * 1


VIEWS: dict[str, Callable[[Any], Any]] = {
    "subclass": lambda tensor: tensor.as_subclass(OwnTensor),
    "parameter": torch.nn.Parameter,
    "negative bit": lambda tensor: torch._neg_view(-tensor),
    "gradient": lambda tensor: tensor.clone().requires_grad_() * 1,
    "inference mode": made_in_inference_mode,
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_views(view: str, dtype: Any) -> None:
    plain = HOST_TENSOR.to(dtype)
    ranks = tr.rank(VIEWS[view](plain), TARGETS)
    assert ranks == tr.rank(plain, TARGETS)
    np.testing.assert_array_equal(ranks.above, tr.rank(plain.float(), TARGETS).above)


def fake(device: str) -> Any:
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        return torch.empty((3, 4), device=device)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # torch: invariants, a beta state
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")  # also a beta
@pytest.mark.parametrize(
    "make",
    [
        lambda: HOST_TENSOR.to("meta"),
        lambda: fake("cpu"),
        lambda: fake("cuda"),
        HOST_TENSOR.to_sparse,
        HOST_TENSOR.to_sparse_csr,
        lambda: torch.nested.nested_tensor([HOST_TENSOR[0], HOST_TENSOR[1, :2]]),
    ],
)
def test_no_numbers(make: Callable[[], Any]) -> None:
    refusal(TypeError, "^scores: .*Tensor$", tr.rank, make(), TARGETS)
    refused(TypeError, "queries", tr.rank_embeddings, make(), HOST_TENSOR, TARGETS)
    counter = tr.RankCounter(HOST_TENSOR[:, 0], TARGETS, candidates=4)
    refused(TypeError, "block", counter.update, make())


class There:
    """Offers DLPack, of another device."""

    def __dlpack__(self, **keywords: Any) -> Any:
        raise BufferError("on another device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def no_integers() -> list[Any]:
    bits = torch.zeros(3, dtype=torch.bfloat16)
    return [bits, torch.zeros((3, 4)).to_sparse(), torch.zeros(3, device="meta")]


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning")  # torch: invariants, a beta state
def test_no_dtype_of_scores_or_of_ids() -> None:
    complex_numbers = torch.view_as_complex(torch.rand(3, 4, 2)).conj()
    narrow = HOST_TENSOR.to(torch.float8_e4m3fn)
    for scores in (HOST_TENSOR > 0, complex_numbers, narrow, There()):
        refused(TypeError, "scores", tr.rank, scores, TARGETS)
    for name in ("targets", "rows", "filter", "candidates"):
        for ids in no_integers():
            arguments = {"scores": HOST_TENSOR, "targets": TARGETS} | {name: ids}
            refused(TypeError, name, tr.rank, **arguments)


def test_within_a_transform() -> None:
    def ranked(tensor: Any) -> Any:
        refusal(TypeError, r"^scores: ", tr.rank, tensor, TARGETS)
        return tensor.sum()

    torch.vmap(ranked)(torch.rand(2, 3, 4))


def test_queries_of_a_task_as_tensors() -> None:
    task = tr.link_prediction.Task([(0, 0, 1), (1, 0, 2)], entities=3, sides=("tail",))
    scores = torch.rand(2, 3)
    seen: list[Any] = []

    def score(queries: Any) -> Any:
        seen.append(queries)
        return scores[queries[:, 0]]

    found = task.evaluate(score, device="cpu", batch_size=1)
    assert torch.stack(seen).tolist() == [[[0, 0]], [[1, 0]]]  # arrays could not be stacked
    assert found.ranks == task.evaluate(lambda queries: scores.numpy()[queries[:, 0]]).ranks
