"""Labels: those of a task are typed, and all others the user's, of which none changes a number."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.query_reports import query_report
from truerank.ranks import Audit, Origin, storage
from truerank.ranks.labels import LABEL_ALIASES

# What labels of these names once meant.
FORMER = "gain gain_rule misses_rule judged_above judged_tied judged_places retrieval_answers"
FORMER += " without_answers relevance_level answerless position_in_whole tasks_in_whole"
# What a task of link prediction labels its ranks with.
OF_TASKS = "category head_degree tail_degree degree group"


def known_names() -> list[str]:
    """Return each name that the package has for something of ranks."""
    names = set(f"{FORMER} {OF_TASKS} labels optimistic realistic pessimistic task".split())
    names |= set(tr.Ranks.__annotations__) | set(storage.MEMBERS)
    names |= {field.name for field in dataclasses.fields(tr.Protocol)}
    for kind in (Audit, Origin):
        names |= set(kind._fields)
    return sorted(name for name in names - set(LABEL_ALIASES) if not name.startswith("_"))


def of_links(seed: int) -> tr.Ranks:
    rows = [(i, i % 2, (3 * i) % 9) for i in range(9)]
    task = tr.link_prediction.Task(rows, {}, entities=9, relations=2)
    scores = np.random.default_rng(seed).integers(0, 9, (9, 9)).astype(float)
    return task.evaluate(tail=lambda q: scores[q[:, 0]], head=lambda q: scores[q[:, 1]]).ranks


def of_queries(seed: int) -> tr.Ranks:
    qrels = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"c": 1, "d": 0}, "s": {}}
    task = tr.retrieval.Task(qrels, entities=list("abcdef"), queries=list("qrs"))
    scores = np.random.default_rng(seed).random((3, 6))
    return task.evaluate_scores(scores).ranks


def numbers_of(a: tr.Ranks, b: tr.Ranks) -> list[Any]:
    """Return what is said of two models, one of which has no other ranks than the other."""
    if a.without_answers is None:
        reports: list[Any] = [tr.report(a), tr.report(b, by="relation")]
        keys = ["mrr", "tail.hits@3", "amri", "gmr"]
    else:
        reports = [query_report(x, answerless="zero", relevance_level=2) for x in (a, b)]
        keys = ["map", "ndcg", "err@3"]
    found = [report.to_dict(keys) for report in reports]
    found += [str(report.interval(keys[0])) for report in reports]
    found.append(str(tr.compare(reports[0], reports[1], metric=keys[0], allow_unlike=True)))
    joined = tr.concatenate([a[1::2], a[::2]])
    return [*found, joined.above.tolist(), joined.unit.codes.tolist()]


@pytest.mark.parametrize("make", [of_links, of_queries])
def test_no_label_has_a_hidden_meaning(make: Any, tmp_path: Path) -> None:
    a = make(0)
    b = make(1)
    usual = numbers_of(a, b)
    for i, name in enumerate(known_names()):
        values: list[Any] = list(range(5, 5 + len(a)))
        if i % 2:
            values = [f"word {value}" for value in values]
        one, two = (ranks.with_labels(**{name: values}) for ranks in (a, b))
        assert numbers_of(one, two) == usual, name
        assert one.labels[name].values.tolist() == values
        one.save(tmp_path / "ranks.npz")
        assert tr.load(tmp_path / "ranks.npz") == one


def test_typed_labels_are_listed_with_the_others() -> None:
    ranks = tr.Ranks([0], [1], 5, side="tail", labels={"word": ["x"]})
    assert list(ranks.labels) == ["side", "word"]
    with pytest.raises(tr.InputValueError, match="labels: 'side' is given twice"):
        tr.Ranks([0], [1], 5, side="tail", labels={"side": "head"})
