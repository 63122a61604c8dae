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
TABLE = tr.table({"a": REPORT}, ["mr"])
PAIRS = tr.compare({"a": RANKS, "b": RANKS})
CALLS: dict[str, Callable[[Any], object]] = {
    "chance metric": lambda x: tr.chance(x, [3, 4]),
    "chance candidates": lambda x: tr.chance("mr", x),
    "chance weights": lambda x: tr.chance("mr", [3, 4], x),
    "adjust value": lambda x: tr.adjust("mr", x, candidates=[3, 4]),
    "adjust candidates": lambda x: tr.adjust("mr", 2.0, candidates=x, tasks=3),
    "adjust tasks": lambda x: tr.adjust("mr", 2.0, candidates=4, tasks=x),
    "adjust weights": lambda x: tr.adjust("mr", 2.0, candidates=[3, 4], weights=x),
    "adjust dataset": lambda x: tr.adjust("mr", 2.0, dataset=x),
    "adjust split": lambda x: tr.adjust("mr", 2.0, candidates=[3, 4], split=x),
    "pvalue ranks": lambda x: tr.pvalue(x),
    "pvalue metric": lambda x: tr.pvalue(RANKS, x),
    "pvalue seed": lambda x: tr.pvalue(RANKS, "random.mr", seed=x),
    "compare metric": lambda x: tr.compare(RANKS, RANKS, metric=x),
    "compare by": lambda x: tr.compare(RANKS, RANKS, by=x),
    "compare level": lambda x: tr.compare(RANKS, RANKS, level=x),
    "compare draw_seed": lambda x: tr.compare(RANKS, RANKS, draw_seed=x),
    "interval key": lambda x: interval(RANKS, x),
    "interval weights": lambda x: interval(RANKS, "mr", weights=x),
    "interval level": lambda x: interval(RANKS, "mr", level=x),
    "report ranks": lambda x: tr.report(x),
    "report by": lambda x: tr.report(RANKS, by=x),
    "report weights": lambda x: tr.report(RANKS, weights=x),
    "report key": lambda x: REPORT[x],
    "report chance": lambda x: REPORT.chance(x),
    "report side": lambda x: REPORT.tasks(x),
    "report group values": lambda x: REPORT.group_values(x),
    "markdown metrics": lambda x: REPORT.to_markdown(x),
    "markdown sides": lambda x: REPORT.to_markdown(sides=x),
    "markdown kinds": lambda x: REPORT.to_markdown(kinds=x),
    "markdown digits": lambda x: REPORT.to_markdown(digits=x),
    "csv spreadsheet": lambda x: REPORT.to_csv(spreadsheet=x),
    "json indent": lambda x: REPORT.to_json(indent=x),
    "table reports": lambda x: tr.table(x),
    "table metrics": lambda x: tr.table({"a": REPORT}, x),
    "ranks above": lambda x: Ranks(x, [1, 1], [4, 9]),
    "ranks tied": lambda x: Ranks([0, 3], x, [4, 9]),
    "ranks candidates": lambda x: Ranks([0, 3], [1, 2], x),
    "ranks weights": lambda x: RANKS.with_weights(x),
    "ranks side": lambda x: RANKS.with_labels(side=x),
    "ranks seed": lambda x: RANKS.random(x),
    "ranks protocol": lambda x: RANKS.with_protocol(filter=x),
    "concatenate": lambda x: tr.concatenate(x),
    "compare models": lambda x: tr.compare(RANKS, x),
    "compat preset": lambda x: tr.compat.preset(x),
}


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
    assert tr.Report.from_json(measured.to_json()).to_json() == measured.to_json()
    refusal(UnknownKeyError, "no side", measured.__getitem__, "m" * 10**6 + ".mrr")
