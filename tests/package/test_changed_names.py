"""The names that have changed: the page has all of them, and each still works, with a warning."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.environment import ROOT
from truerank import inference
from truerank.inputs.old_names import renamed_attribute

pytestmark = pytest.mark.python_only

PACKAGES = ("", ".alignment", ".inference", ".compat", ".link_prediction", ".metrics", ".plot")
PACKAGES += (".ranks", ".reporting", ".retrieval", ".stores", ".tasks", ".adapters.torchmetrics")
NEEDS = {".adapters.torchmetrics": "torchmetrics"}
PAGE = ROOT / "docs" / "versioning.md"


def old_arguments() -> dict[str, dict[str, str]]:
    """Return the old names of each public function, of each constructor by its class."""
    found: dict[str, dict[str, str]] = {}
    seen = set()
    for package in PACKAGES:
        if package in NEEDS and find_spec(NEEDS[package]) is None:
            continue
        module = import_module(f"truerank{package}")
        for name in module.__all__:
            value = getattr(module, name)
            for member, function in [("", value), *members(value)]:
                old = getattr(function, "__old_names__", None)
                if old and function not in seen:  # which several packages may have
                    seen.add(function)
                    found[f"{package}.{name}{member}".strip(".")] = old
    return found


def members(value: Any) -> Iterator[tuple[str, Any]]:
    if inspect.isclass(value):
        for name, member in vars(value).items():
            yield "" if name == "__init__" else f".{name}", getattr(member, "__func__", member)


def listed() -> dict[str, dict[str, str]]:
    """Return the table of the page."""
    section = PAGE.read_text(encoding="utf-8").split("## Names that have changed")[1]
    rows = re.findall(r"^\| (`.*) \| (`.*) \| (`.*) \|$", section, re.MULTILINE)
    table: dict[str, dict[str, str]] = {}
    for row in rows:
        where, old, new = (re.findall(r"`([^`]+)`", cell) for cell in row)
        for name in where:
            table.setdefault(name, {}).update(zip(old, new, strict=True))
    return table


@pytest.mark.skipif(not PAGE.is_file(), reason="no pages beside these tests")
def test_the_page_lists_all_old_names() -> None:
    found = {
        where: {f"{old}=": f"{new}=" for old, new in names.items()}
        for where, names in old_arguments().items()
    }
    for _, attribute in members(tr.Ranks):
        if isinstance(attribute, renamed_attribute):
            found["Ranks"][f".{attribute.old}"] = f".{attribute.new}"
    if find_spec("torchmetrics") is not None:
        assert listed() == found


def ranks_of(report: tr.Report) -> tr.Ranks:
    return report.ranks.with_protocol(similarity=None)


SIDES = ("tail", "head", "relation", "qualifier")
TRAIN = [("a", "won", "x", "in", "y"), ("b", "won", "x", "in", "z")]


@pytest.mark.parametrize("method", ["evaluate", "evaluate_embeddings", "evaluate_scores"])
def test_tasks_of_link_prediction_take_old_names_of_sides(method: str) -> None:
    task = tr.link_prediction.StatementTask(
        [("a", "won", "z", "in", "y"), ("b", "won", "y", "in", "x")], {"train": TRAIN}, sides=SIDES
    )
    entities, relations = len(task.entities or ()), len(task.relations or ())
    given, rest = {}, {}
    for name, side in task.sides.items():
        scores = np.random.default_rng(side.columns).random((len(side.queries), side.columns))
        given[name] = scores
        if method == "evaluate":
            found = {tuple(q): row for q, row in zip(side.queries.tolist(), scores, strict=True)}
            given[name] = lambda q, found=found: np.array([found[tuple(one)] for one in q.tolist()])
    if method != "evaluate":
        rest["unique"] = True
    if method == "evaluate_embeddings":
        rest |= {"entities": np.eye(entities), "relations": np.eye(relations)}
    call = getattr(task, method)
    names = old_arguments()[f"link_prediction.Task.{method}"]
    assert sorted(names.values()) == sorted(SIDES)
    expected = ranks_of(call(**given, **rest))
    for old, new in names.items():
        others = {side: value for side, value in given.items() if side != new}
        with pytest.warns(DeprecationWarning, match=f"^{old}= is now {new}=; ") as caught:
            found = call(**others, **{old: given[new]}, **rest)
        assert (ranks_of(found) == expected, len(caught)) == (True, 1)
        assert caught[0].filename == __file__
        with pytest.raises(tr.InputTypeError, match=f"as {new}= and by its old name {old}="):
            call(**given, **{old: given[new]}, **rest)
    with pytest.raises(TypeError, match="unexpected keyword argument 'tial'"):
        call(**given, tial=None)


RANKS = tr.Ranks([0, 3, 1, 0, 2, 7, 0, 1], [1] * 8, 10)
SAMPLED = RANKS.with_protocol(sampled=True)


@pytest.mark.parametrize(
    ("name", "function", "value"),
    [
        ("inference.interval", partial(inference.interval, RANKS), "hits@3"),
        ("Report.interval", tr.report(RANKS).interval, ["mrr", "mr"]),
        ("Report.chance", tr.report(RANKS).chance, "mr"),
        (
            "reporting.Repeats.interval",
            tr.report([tr.report(RANKS), tr.report(RANKS[::-1])]).interval,
            "mr",
        ),
        (
            "inference.estimate_full_ranking",
            partial(inference.estimate_full_ranking, SAMPLED, 10),
            ["mr"],
        ),
    ],
)
def test_functions_take_old_names_of_metrics(name: str, function: Any, value: Any) -> None:
    ((old, new),) = old_arguments()[name].items()
    expected = function(**{new: value})
    with pytest.warns(DeprecationWarning, match=f"^{old}= is now {new}=; ") as caught:
        found = function(**{old: value})
    assert str(found) == str(expected)
    assert (len(caught), caught[0].filename) == (1, __file__)
    with pytest.raises(tr.InputTypeError, match=f"as {new}= and by its old name {old}="):
        function(**{new: value, old: value})
