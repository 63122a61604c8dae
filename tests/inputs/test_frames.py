"""Frames of pandas and polars: numbered ones are arrays, and labels are refused, never ignored."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.inputs.frames import frame_array

NAMES = ["Paris", "Rome", "Oslo", "Bern", "Lima"]
SCORES = np.array([[0.1, 0.9, 0.5, 0.5, 0.2], [0.7, 0.2, 0.2, 0.3, 0.9], [0.4, 0.1, 0.8, 0.6, 0.4]])
IDS = [2, 1, 0]
FILTER = [[1], [], [3, 2, 3]]
PLAIN = (
    "expected an array, or a frame whose rows and columns are only numbered, got one with labels"
)


def pandas_frame(**options: Any) -> Any:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    return pandas.DataFrame(SCORES, **options)


def refused(call: Callable[[], object], message: str) -> None:
    refusal((tr.InputTypeError, tr.InputValueError), f"^{re.escape(message)}", call)


def test_numbered_frames_are_arrays() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    expected = tr.rank(SCORES, IDS, filter=FILTER)
    for columns in (None, [0, 1, 2, 3, 4], pandas.RangeIndex(5)):
        frame = pandas_frame(columns=columns)
        for targets in (IDS, pandas.Series(IDS), pandas.Series(IDS, dtype="Int64").to_numpy(int)):
            assert tr.rank(frame, targets, filter=pandas.Series(FILTER)) == expected
    mask = np.eye(3, 5, dtype=bool)
    masked = tr.rank(SCORES, IDS, filter=mask)
    assert tr.rank(SCORES, IDS, filter=pandas.DataFrame(mask)) == masked
    lists = pandas.Series(FILTER, index=[7, 3, 5])
    assert tr.rank(SCORES, IDS, filter=lists) == expected
    assert tr.rank_blocks([(frame, IDS), (frame.copy(), IDS)]).above.tolist() == [*([1, 3, 2] * 2)]
    assert tr.rank(frame.loc[1], [4, 1]) == tr.rank(SCORES[1], [4, 1])
    counter = tr.RankCounter([0.5], [2], candidates=5)
    counter.update(frame.iloc[:1])
    assert counter.ranks() == tr.rank(SCORES[:1], [2])
    assert np.shares_memory(frame_array("scores", frame), frame.to_numpy())


def test_labels_are_refused() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    frame, hint = pandas_frame(columns=NAMES), "'Paris', 'Rome', 'Oslo'"
    numbered, indexed = pandas_frame(columns=[4, 0, 1, 2, 3]), pandas_frame(index=[2, 1, 0])
    repeated = pandas_frame(columns=["a", "b", "a", "c", "a"])
    mixed = pandas_frame().astype({1: "float32"})
    counter = tr.RankCounter([0.5], [2], candidates=5)
    one, none = "scores: expected columns of one dtype, got ", pandas.Series([[1], None, [2]])
    for message, call in (
        (f"scores: {PLAIN} {hint}", lambda: tr.rank(frame, IDS)),
        (f"scores: {PLAIN} 4, 0, 1", lambda: tr.rank(numbered, IDS)),
        (f"scores: {PLAIN} 2, 1, 0", lambda: tr.evaluate(indexed, IDS)),
        (f"scores: {PLAIN} {hint}", lambda: tr.rank(frame.loc[1], [0])),
        (f"scores: {PLAIN} {hint}", lambda: tr.rank(frame, IDS, progress=lambda _: None)),
        (f"scores: {PLAIN} 'a', 'b', 'a'", lambda: tr.rank(repeated, IDS)),
        (f"filter: {PLAIN} 'Paris'", lambda: tr.rank(SCORES, IDS, filter=frame > 0.5)),
        (f"blocks: block 0: scores: {PLAIN} 'Paris'", lambda: tr.rank_blocks([(frame, IDS)])),
        (f"block: {PLAIN} 'Paris'", lambda: counter.update(frame)),
        (one, lambda: tr.rank(pandas.DataFrame({0: ["a"], 1: [0.5]}), [1])),
        (f"{one}float64, float32", lambda: tr.rank(mixed, IDS)),
        ("scores: expected one of float16", lambda: tr.rank(mixed.astype(object), IDS)),
        (
            "filter: list 1: expected integers, got NoneType",
            lambda: tr.rank(SCORES, IDS, filter=none),
        ),
    ):
        refused(call, message)


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars", reason="frames of polars")
    frame = polars.DataFrame(SCORES, schema=NAMES)
    refused(lambda: tr.rank(frame, IDS), f"scores: {PLAIN} 'Paris', 'Rome', 'Oslo'")
    expected = tr.rank(SCORES, IDS, filter=FILTER)
    assert tr.rank(frame.to_numpy(), polars.Series(IDS), filter=polars.Series(FILTER)) == expected


def test_names_are_no_ids() -> None:
    for call, message in (
        (lambda: tr.rank(SCORES, NAMES[:3]), "targets: expected integers, got "),
        (lambda: tr.rank(SCORES, "Rome"), "targets: expected integers, got str"),
        (lambda: tr.rank(SCORES, IDS, filter=[["Rome"], [], []]), "filter: list 0: expected int"),
        (lambda: tr.rank(SCORES, IDS, candidates=["Rome"]), "candidates: expected integers, got "),
        (lambda: tr.rank(SCORES, IDS, candidates={"Rome"}), "candidates: expected integers, got "),
        (lambda: tr.rank_lists([["Rome"]], None, [0], candidates=5), "ids: expected integers"),
    ):
        refused(call, message)
