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


def same(got: tr.Ranks, expected: tr.Ranks) -> bool:
    return got == expected and got.protocol == expected.protocol


@pytest.mark.parametrize(("audit", "order"), [(False, "descending"), (True, "ascending")])
@pytest.mark.parametrize("layout", [np.asarray, np.asfortranarray])
def test_blocks_are_the_whole(audit: bool, order: str, layout: Any) -> None:
    rules: dict[str, Any] = {"audit": audit, "order": order}
    scores = layout(SCORES)
    blocks = ((scores[s : s + 7], TARGETS[s : s + 7]) for s in STARTS)
    assert same(ranks_of_blocks(blocks, **rules), tr.rank(SCORES, TARGETS, **rules))
    filtered = [(scores[s : s + 7], TARGETS[s : s + 7], FILTER[s : s + 7]) for s in STARTS]
    expected = tr.rank(SCORES, TARGETS, filter=FILTER, **rules)
    assert same(ranks_of_blocks(filtered, **rules), expected)


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
    assert same(ranks_of_blocks(blocks()), rank(SCORES, TARGETS))


ONE = (SCORES, TARGETS)
OTHER = SCORES.copy()
REFUSED: list[tuple[type[Exception], str, Any]] = [
    (tr.InputValueError, "block 1", [ONE, (SCORES[:3], [0, 1])]),
    (tr.InputValueError, "block 1: targets", [ONE, (OTHER, TARGETS + 90)]),
    (tr.InputValueError, "another protocol: filter", [ONE, (OTHER, TARGETS, FILTER)]),
]


@pytest.mark.parametrize(("kind", "words", "blocks"), REFUSED)
def test_blocks_that_do_not_fit(kind: type[Exception], words: str, blocks: Any) -> None:
    refusal(kind, words, ranks_of_blocks, blocks)


def test_what_the_producer_raises_comes_as_it_is() -> None:
    def blocks() -> Iterator[tuple[Any, Any]]:
        yield SCORES, TARGETS
        raise LookupError("no more")

    refusal(LookupError, "no more", ranks_of_blocks, blocks())
