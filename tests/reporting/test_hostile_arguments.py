"""Test that metrics, comparisons and reports answer hostile arguments with promised errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank import InputError, InputTypeError, InputValueError, Ranks
from truerank.inference import interval
from truerank.metrics import UnknownKeyError

HOSTILE: dict[str, Any] = {
    **{str(n)[:24]: n for n in (0, -1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64)},
    "400 digits": 10**400,
    "5,000 digits": 10**5000,
    **{repr(x): x for x in (math.nan, math.inf, -math.inf, 5e-324, 1e308, True, None, ..., 1j)},
    **{repr(x): x for x in ("", "mr", "\x00", b"mr", [], (), {}, [[]], [None], ["x"], [-1])},
    "long": "9" * 5000,
    "long cutoff": "hits@" + "9" * 5000,
    "huge in a list": [10**400, 1],
    "largest sizes": [2**63 - 1, 2**63 - 1],
    "no dimensions": np.array(3),
    "two dimensions": np.zeros((2, 2)),
    "two numbers": np.array([1e308, 1e308]),
    "lists of unlike lengths": [[1], [1, 2]],
    "numbers as objects": np.array([1, 2], dtype=object),
    "an object": object(),
}
RANKS = Ranks([0, 3], [1, 2], [4, 9], side=["head", "tail"], relation=[1, 2])
REPORT = tr.report(RANKS)
# Calls that are right, of which one argument after the other is replaced.
RIGHT: list[tuple[Callable[..., object], dict[str, Any]]] = [
    (tr.chance, {"metric": "mr", "candidates": [3, 4], "weights": None}),
    (tr.adjust, {"metric": "mr", "value": 2.0, "candidates": [3, 4], "tasks": 2, "weights": None}),
    (tr.compare, {"a": RANKS, "b": RANKS, "metric": "mr", "unit": "unit", "level": 0.9}),
    (tr.compare, {"a": RANKS, "b": RANKS, "seed": 0, "allow_unlike": True}),
    (interval, {"ranks": RANKS, "metric": "mr", "weights": None, "level": 0.9, "seed": 0}),
    (tr.report, {"ranks": RANKS, "by": None, "weights": None, "seed": 0}),
    (tr.table, {"reports": {"a": REPORT}, "metrics": ["mr"], "digits": 3, "against": None}),
    (REPORT.to_markdown, {"metrics": None, "sides": None, "kinds": None, "digits": 3}),
    (REPORT.to_csv, {"spreadsheet": False}),
    (REPORT.to_json, {"metrics": None, "indent": 2}),
    (REPORT.interval, {"metric": "mr", "unit": "unit", "level": 0.9, "seed": 0}),
    (Ranks, {"above": [0, 3], "tied": [1, 2], "candidates": [4, 9], "side": None, "unit": None}),
    (RANKS.with_labels, {"side": None, "relation": None, "queries": None}),
    (RANKS.with_protocol, {"filter": "train", "split": None}),
    (tr.concatenate, {"parts": [RANKS]}),
]
CALLS: dict[str, Callable[[Any], object]] = {
    f"{call.__qualname__} {name}": lambda x, call=call, given=given, name=name: call(
        **{**given, name: x}
    )
    for call, given in RIGHT
    for name in given
}
CALLS |= {
    call.__qualname__: call
    for call in (REPORT.__getitem__, REPORT.chance, REPORT.tasks, REPORT.group_values)
}
CALLS |= {call.__qualname__: call for call in (RANKS.with_weights, RANKS.random)}


@pytest.mark.parametrize("name", CALLS)
def test_only_promised_errors(name: str) -> None:
    for what, value in HOSTILE.items():
        try:
            CALLS[name](value)
        except InputError as error:
            assert len(str(error)) < 6000, what  # noqa: PT017
        except Exception as error:
            raise AssertionError(f"{name} = {what}") from error


def test_messages_name_large_numbers_by_their_digits() -> None:
    with pytest.raises(InputValueError, match=r"^value: .* got an integer of about 5,001 digits$"):
        tr.adjust("mr", 10**5000, candidates=[3])
    with pytest.raises(InputTypeError, match=r"^metrics: expected several keys, got ndarray$"):
        REPORT.to_markdown(np.array(3))
    with pytest.raises(UnknownKeyError, match="k must be a whole number >= 1, got one of"):
        tr.chance("hits@" + "9" * 5000, [3])


def test_sides_may_have_long_names() -> None:
    ranks = tr.Ranks([0, 1], [1, 1], [5, 5], side=["m" * 5000, "tail"])
    measured = tr.report(ranks)
    assert measured["m" * 5000 + ".amri"] == measured["m" * 5000 + ".index.mr"] == 1
    refusal(UnknownKeyError, "no side", measured.__getitem__, "m" * 10**6 + ".mrr")
