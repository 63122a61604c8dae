"""Options that travel: shown by every function that takes them, and refused where misspelt."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal, refused
from truerank import alignment
from truerank.inputs import rules
from truerank.link_prediction import Task as LinkTask
from truerank.retrieval import Task as RetrievalTask

pytestmark = pytest.mark.python_only
TASKS = (alignment.Task, LinkTask, RetrievalTask)
TAKERS: dict[type[Any], list[Any]] = {
    rules.BatchOptions: [task.evaluate for task in TASKS],
    rules.RuleOptions: [task.evaluate_scores for task in TASKS],
    rules.EmbeddingOptions: [task.evaluate_embeddings for task in TASKS],
    rules.ListOptions: [task.evaluate_lists for task in TASKS],
    rules.SimilarityOptions: [alignment.infer, alignment.csls_means],
}
TAKERS[rules.RuleOptions] += [tr.rank, tr.rank_against, tr.RankCounter, tr.evaluate]
TAKERS[rules.EmbeddingOptions].append(tr.rank_embeddings)
TAKERS[rules.ListOptions].append(tr.rank_lists)
TAKERS[rules.SimilarityOptions].append(tr.topk_embeddings)
DEFAULTS = {"order": "descending", "nan": "raise", "dtype": None, "threads": None}
DEFAULTS |= {"audit": False, "progress": None, "layout": None}
ALL = set(rules.BatchOptions.__annotations__) | set(rules.EmbeddingOptions.__annotations__)


@pytest.mark.parametrize(
    ("kind", "taker"), [(kind, taker) for kind, takers in TAKERS.items() for taker in takers]
)
def test_every_option_is_shown_with_its_default(kind: type[Any], taker: Any) -> None:
    shown = inspect.signature(taker).parameters
    options = set(shown) & ALL
    assert options == set(kind.__annotations__)
    assert all(shown[name].default == DEFAULTS.get(name) for name in options)
    assert all(each.kind is not each.VAR_KEYWORD for each in shown.values())
    described = inspect.getdoc(taker) or ""
    assert all(name in described for name in shown if name != "self")


def test_the_options_are_those_of_the_rules() -> None:
    named = set(rules.RuleOptions.__annotations__) | set(rules.EmbeddingOptions.__annotations__)
    assert named == set(DEFAULTS)
    assert vars(rules.Rules()) == {**DEFAULTS, "is_order_named": False}
    assert rules.read_rules({"order": "descending"}).is_order_named


BAD: list[tuple[type[Exception], str, Any]] = [(TypeError, "audit", np.zeros(2))]
BAD += [(ValueError, name, "Omit ") for name in ("order", "nan")]
BAD += [(TypeError, name, value) for name in ("order", "nan") for value in (None, True)]
BAD += [(ValueError, "threads", value) for value in (0, -(2**40))]
BAD += [(TypeError, "threads", value) for value in (1.0, True, "2")]


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_options_are_checked(kind: type[Exception], name: str, value: Any) -> None:
    task = LinkTask([(0, 0, 1)], entities=2)
    options = {name: value}
    refused(kind, name, tr.rank, [[0.1, 0.2]], [0], **options)
    refused(kind, name, task.evaluate, **options)


def test_the_option_that_was_meant_is_named() -> None:
    task = alignment.Task([(0, 0)], left=1, right=1)
    one = [[1.0]]
    for words, call, options in (
        ("did you mean audit", lambda **x: tr.rank(one, [0], **x), {"adit": True}),
        ("did you mean filter", lambda **x: tr.rank(one, [0], **x), {"filters": None}),
        ("known are left, right", lambda **x: task.evaluate_embeddings(one, one, **x), {"rows": 1}),
        ("order: unexp", lambda **x: tr.rank_embeddings(one, one, [0], **x), {"order": "asc"}),
    ):
        refusal(tr.InputError, words, call, **options)
