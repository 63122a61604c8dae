"""Counting against what users write by hand, in numpy and in torch."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import pytest

import truerank as tr
from baselines import numpy_idiom, torch_contestants
from harness import Board, Compare, Pair
from synthetic import Pool, Sizes, draw_targets


def test_numpy_idiom(
    compare: Compare, pool: Pool, sizes: Sizes, room: Callable[[float], None]
) -> None:
    """`(S > t[:, None]).sum(1)` and the same with `==`."""
    scores, targets = pool.matrix(sizes.many), draw_targets(sizes.many)
    room(scores.nbytes / 2)
    compare(
        f"{sizes.many[0]:,} x {sizes.many[1]:,} against numpy",
        {
            "truerank": lambda: tr.rank(scores, targets),
            "truerank, 1 thread": lambda: tr.rank(scores, targets, threads=1),
            "numpy, > and ==": lambda: numpy_idiom(scores, targets),
        },
        [
            Pair("truerank", "numpy, > and ==", goal=10.0),
            Pair("truerank, 1 thread", "numpy, > and =="),
        ],
        nbytes=scores.nbytes,
    )


def test_torch(
    compare: Compare,
    board: Board,
    pool: Pool,
    sizes: Sizes,
    threads: int,
    room: Callable[[float], None],
) -> None:
    """torch's CPU operators with as many threads, and PyKEEN's three counts."""
    if find_spec("torch") is None:
        board.remarks.append("torch is not installed: no ratios against it or PyKEEN's style")
        pytest.skip("torch is not installed")
    import torch

    board.facts["torch"] = str(torch.__version__)
    scores, targets = pool.matrix(sizes.many), draw_targets(sizes.many)
    room(4 * scores.nbytes)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        peers = torch_contestants(torch, scores, targets)
        compare(
            f"{sizes.many[0]:,} x {sizes.many[1]:,} against torch",
            {"truerank": lambda: tr.rank(scores, targets), **peers},
            [
                Pair("truerank", "torch, > and =="),
                Pair("truerank", "PyKEEN's style", goal=80.0),
                Pair("truerank", "PyKEEN's style, 256 rows at once"),
            ],
            nbytes=scores.nbytes,
        )
    finally:
        torch.set_num_threads(before)
