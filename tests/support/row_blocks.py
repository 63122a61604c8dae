"""Blocks of rows, as the batches of a task hand them to `rank_row_blocks`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import truerank as tr
from truerank.counting.row_blocks import rank_row_blocks
from truerank.stores import read_scores

ARGUMENTS = ("scores", "targets", "filter")


def ranks_of_blocks(blocks: Iterable[Any], **options: Any) -> tr.Ranks:
    """Rank blocks, each (scores, targets), (scores, targets, filter), or `rank`'s arguments."""

    def read_blocks() -> Iterator[Any]:
        for block in blocks:
            arguments = block
            if not isinstance(block, dict):
                arguments = dict(zip(ARGUMENTS, block, strict=False))
            arguments = dict(arguments)
            yield read_scores(arguments.pop("scores"), options.get("dtype")), arguments

    def name(number: int, argument: str) -> str:
        return f"block {number}: {argument}"

    return rank_row_blocks(read_blocks(), name, lambda done: None, **options)
