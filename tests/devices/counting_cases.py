"""Scores that are counted by Triton's kernels, which give the counts and errors of the host.

Tensors in the host's memory stand in for those on a device, and kernels run in Triton's interpreter
(`test_devices.py`). Limits are so small that every call takes several blocks and programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from support.outcomes import outcome
from support.problems import host_tensor
from support.refusals import refusal
from truerank.devices import count_kernels, task_counts
from truerank.devices.task_counts import DeviceScores

RNG = np.random.default_rng(11)


def prepare(patch: pytest.MonkeyPatch, most: int = 40) -> None:
    """Choose Triton, with small limits, and fill new memory with numbers that nobody set."""
    patch.setattr(count_kernels, "TILE", 64)
    patch.setattr(count_kernels, "ROWS", 4)
    patch.setattr(count_kernels, "PROGRAMS", 12)
    patch.setenv("TRUERANK_DEVICE", "triton")
    patch.setattr(task_counts, "MOST_KERNEL_TASKS", most // 8 + 1)
    plain = DeviceScores.empty
    patch.setattr(DeviceScores, "empty", lambda *args: plain(*args).fill_(113))


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(monkeypatch, 1000)


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda tensor: tensor,
    "columns": lambda tensor: tensor.transpose(0, -1).contiguous().transpose(0, -1),
    "steps": lambda tensor: tensor.repeat_interleave(2, -1)[..., ::2],
}


def test_blocks_of_candidates() -> None:
    array = RNG.integers(0, 9, (23, 90)).astype(np.float32)
    targets = RNG.integers(0, 90, 23)
    lists = [RNG.integers(0, 90, 12).tolist() for _ in range(23)]
    true_scores = host_tensor(array[np.arange(23), targets])
    counter = tr.RankCounter(true_scores, targets, candidates=90, filter=lists, audit=True)
    counter.update(host_tensor(array[:, :40]), start=0)
    mixed = 40 + RNG.permutation(50)
    counter.update(host_tensor(array[:, mixed]), columns=mixed)
    assert counter.ranks() == tr.rank(array, targets, filter=lists, audit=True)
    negative = torch._neg_view(host_tensor(-array))  # which is not as in its memory
    assert tr.rank(negative, targets) == tr.rank(array, targets)
    assert tr.rank_against(true_scores, host_tensor(array)) == tr.rank_against(
        true_scores.numpy(), array
    )


def test_the_first_nan_is_that_of_the_first_row() -> None:
    array = np.ones((3, 40), np.float32)
    array[0, 9] = array[1, 2] = np.nan
    refusal(ValueError, "row 0, column 9 is NaN", tr.rank, host_tensor(array), 0)


@given(
    problem=problems(nan=True, errors=True),
    layout=st.sampled_from(list(LAYOUTS)),
    most=st.sampled_from([16, 100, 1000]),
)
def test_the_counts_and_errors_of_the_host(problem: Problem, layout: str, most: int) -> None:
    tensor = LAYOUTS[layout](host_tensor(problem.scores))
    problem = Problem(problem.scores, problem.targets, {**problem.keywords, "dtype": None})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUERANK_DEVICE", "")
        expected = outcome(tensor, problem)
    with pytest.MonkeyPatch.context() as patch:
        prepare(patch, most)
        got = outcome(tensor, problem)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
        return
    assert got == expected
    assert isinstance(got, tr.Ranks)
    assert expected.protocol.device is None
    way = "triton" if expected.audit is None else "host"
    assert got.protocol.device == f"cpu, {way}"
