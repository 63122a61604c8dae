"""Public objects have a short repr, whatever their size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.example_ranks import query_report

PACKAGES = ("", ".link_prediction", ".alignment", ".retrieval", ".metrics", ".reporting", ".ranks")
PACKAGES += (".inference", ".compat", ".plot")
ADAPTERS = ("torchmetrics", "pykeen", "dask")
PACKAGES += tuple(f".adapters.{name}" for name in ADAPTERS if find_spec(name))
LONGEST = 2600
MANY = 30_000
IDS = np.arange(MANY)
NAMES = tuple(f"entity{i}" for i in range(MANY))
LARGE = (IDS, NAMES, "x" * MANY, dict.fromkeys(NAMES, IDS), [[IDS[:40]] * 99] * 99)


def large_task() -> tr.link_prediction.Task:
    facts = np.random.default_rng(0).integers(0, MANY, (20_000, 3)) % [MANY, 9, MANY]
    return tr.link_prediction.Task(np.unique(facts, axis=0), entities=list(NAMES))


def large_ranks() -> tr.Ranks:
    labels = {f"label{i}": IDS for i in range(200)}
    return tr.Ranks(IDS, 1 + 0 * IDS, MANY, queries=NAMES, side="tail", labels=labels)


def public_classes() -> Iterator[type]:
    for package in PACKAGES:
        module = import_module(f"truerank{package}")
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, type) and not issubclass(value, BaseException):
                yield value
    yield from (type(large_task().tail), type(large_ranks().queries))


def filled(shown: Any, value: object) -> object:
    """Return an object all of whose fields are one value; nothing is checked."""
    if hasattr(shown, "_fields"):
        return tuple.__new__(shown, [value] * len(shown._fields))
    made = object.__new__(shown)
    for name in shown.__dataclass_fields__:
        object.__setattr__(made, name, value)
    return made


def test_classes_with_fields_have_the_common_short_form_or_their_own() -> None:
    for shown in set(public_classes()):
        assert shown.__repr__ is not object.__repr__, shown
        has_fields = is_dataclass(shown) or hasattr(shown, "_fields")
        if has_fields and shown.__repr__.__module__ == "truerank.naming":
            for value in LARGE:
                text = repr(filled(shown, value))
                assert text.startswith(f"{shown.__qualname__}(")
                assert len(text) <= LONGEST


OBJECTS: dict[str, Callable[[], object]] = {
    "Task": large_task,
    "Ranks": large_ranks,
    "Report": lambda: tr.report(tr.Ranks(IDS, 1 + 0 * IDS, MANY), by=IDS),
    "Report of queries": lambda: query_report(tr.Ranks(IDS[:9], [1] * 9, 9, queries=[2] * 9)),
    "Table": lambda: tr.table(
        dict.fromkeys(NAMES[:200], tr.report(tr.Ranks([0], [1], 10))), ["mr"], allow_unlike=True
    ),
    "Protocol": lambda: tr.Protocol(filter=NAMES, files=NAMES),
    "Store": lambda: tr.open_scores(np.zeros((MANY, 3))),
    "TopK": lambda: tr.TopK(np.zeros((MANY, 3), int), None),
    "RankCounter": lambda: tr.RankCounter(np.zeros(MANY), IDS, candidates=MANY),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_large_objects(name: str) -> None:
    text = repr(OBJECTS[name]())
    assert len(text) <= LONGEST
    assert "\n" not in text
