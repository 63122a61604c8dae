"""Blocks of rows: the same counts as `rank` gives for all rows at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from support.row_blocks import ranks_of_blocks

pytestmark = pytest.mark.threads

RNG = np.random.default_rng(3)
SCORES = RNG.integers(0, 40, (60, 90)).astype(np.float32)
TARGETS = RNG.integers(0, 90, 60)
FILTER = [RNG.integers(0, 90, 5).tolist() for _ in range(60)]
STARTS = range(0, 60, 7)


@pytest.mark.parametrize("rules", [{}, {"audit": True, "order": "ascending"}])
def test_blocks_are_the_whole(rules: dict[str, Any]) -> None:
    blocks = [(SCORES[s : s + 7], TARGETS[s : s + 7], FILTER[s : s + 7]) for s in STARTS]
    ranks = ranks_of_blocks(blocks, **rules)
    expected = tr.rank(SCORES, TARGETS, filter=FILTER, **rules)
    assert ranks == expected
    assert ranks.protocol == expected.protocol


def test_scores_may_not_be_filled_again() -> None:
    buffer = np.empty((30, 90), np.float32)

    def blocks() -> Iterator[tuple[Any, Any]]:
        for start in (0, 30):
            buffer[:] = SCORES[start : start + 30]
            yield buffer, TARGETS[start : start + 30]

    refusal(ValueError, "block 1: scores: ", ranks_of_blocks, blocks())


def test_the_next_block_is_made_while_one_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count ends even if it waits until the next block is asked for."""
    asked = threading.Event()
    rank = tr.rank

    def waiting(*args: Any, **keywords: Any) -> tr.Ranks:
        assert asked.wait(30)
        return rank(*args, **keywords)

    def blocks() -> Iterator[tuple[Any, Any]]:
        yield SCORES[:30], TARGETS[:30]
        asked.set()
        yield SCORES[30:], TARGETS[30:]

    monkeypatch.setattr("truerank.counting.row_blocks.rank", waiting)
    assert ranks_of_blocks(blocks()) == rank(SCORES, TARGETS)


def test_errors_name_the_block_or_come_as_they_are() -> None:
    one = (SCORES, TARGETS)
    wrong: list[tuple[str, Any]] = [
        ("block 1: targets", (SCORES.copy(), TARGETS + 90)),
        ("protocol: filter", (SCORES.copy(), TARGETS, FILTER)),
    ]
    for words, other in wrong:
        refusal(tr.InputValueError, words, ranks_of_blocks, [one, other])

    def blocks() -> Iterator[tuple[Any, Any]]:
        yield one
        raise LookupError("no more")

    refusal(LookupError, "no more", ranks_of_blocks, blocks())
