"""Counts that are waited for later: of tensors in the host's memory, taken as on a device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

import truerank as tr
from truerank.counting import row_blocks
from truerank.counting.row_blocks import rank_row_blocks
from truerank.inputs.rules import Rules
from truerank.stores import read_scores
from truerank.stores.on_device import DeviceStore, DeviceStream


def note_waits(patch: pytest.MonkeyPatch, events: list[str]) -> None:
    """Note when a device is waited for."""
    plain = DeviceStream.record

    def record(stream: DeviceStream) -> Callable[[], None]:
        wait = plain(stream)

        def noted() -> None:
            events.append("wait")
            wait()

        return noted

    patch.setattr(DeviceStream, "record", record)


def let_counts_be_pending(patch: pytest.MonkeyPatch) -> list[str]:
    """Let operations of torch count tensors as a kernel does; return what has been waited for."""
    patch.setenv("TRUERANK_DEVICE", "torch")

    def is_counted_in_order(scores: object, rules: Rules) -> bool:
        return isinstance(scores, DeviceStore) and not rules.audit

    patch.setattr(row_blocks, "is_counted_in_order", is_counted_in_order)
    events: list[str] = []
    note_waits(patch, events)
    return events


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
