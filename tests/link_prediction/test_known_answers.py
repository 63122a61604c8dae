"""Several filters at once: rules by which facts match, against plain sets, and their reports."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.link_prediction import KNOWN_COLUMNS, TARGET_COLUMN
from strategies.triples import splits
from support.refusals import refusal
from truerank.link_prediction import Sampled, Task

pytestmark = pytest.mark.python_only

SIDES = ("head", "tail", "relation")
TEST = [(0, 0, 1, 7), (2, 1, 0, 8)]
TRAIN = [(0, 0, 2, 7), (0, 0, 3, 8), (2, 1, 3, 9)]


def matching_columns(name: str, width: int, keys: tuple[int, ...]) -> tuple[int, ...]:
    """Return the further columns in which a fact must agree with a task to be left out."""
    return {"query": keys, "triple": (), "fact": tuple(range(3, width))}[name]


def known_answers(
    facts: list[Any], fact: Any, side: str, name: str, keys: tuple[int, ...]
) -> set[int]:
    """Return what a filter leaves out for one fact, by its definition."""
    if name == "none":
        return set()
    columns = (*KNOWN_COLUMNS[side], *matching_columns(name, len(fact), keys))
    return {
        other[TARGET_COLUMN[side]]
        for other in facts
        if all(other[column] == fact[column] for column in columns)
    }


@st.composite
def filtered_problems(draw: st.DrawFn) -> Any:
    test, known, keys = draw(splits())
    width = len(test[0])
    columns = tuple(range(3, width)) if keys is None else keys
    forms = ["query", "triple", "fact", "none"]  # "overlap" needs times
    names = draw(st.permutations(forms))[: draw(st.integers(1, len(forms)))]
    kept, rules = [], set()
    for name in names:  # only one of those that leave out the same
        rule = None if name == "none" else matching_columns(name, width, columns)
        if rule not in rules:
            rules.add(rule)
            kept.append(name)
    return test, known, columns, kept, draw(st.booleans()), draw(st.integers(0, 2**32 - 1))


@pytest.mark.filterwarnings("ignore:test")
@given(filtered_problems())
def test_every_filter_follows_its_definition(problem: Any) -> None:
    test, known, keys, names, typed, seed = problem
    width = len(test[0])
    arrays = {name: np.array(rows, np.int64).reshape(-1, width) for name, rows in known.items()}
    sides = SIDES[:2] if typed else SIDES
    task = Task(
        *(np.array(test), arrays),
        **{"entities": 6, "relations": 3, "keys": keys, "sides": sides, "filters": names},
        candidates="typed" if typed else None,
    )
    rng = np.random.default_rng(seed)
    tables = {
        name: rng.integers(0, 3, (len(side.queries), side.columns)).astype(np.float32)
        for name, side in task.sides.items()
    }
    found = task.evaluate_scores(**tables, unique=True)
    reports = found.filters or {names[0]: found}
    assert list(reports) == names
    assert reports[names[0]] is found
    facts = [*test, *(row for rows in known.values() for row in rows)]  # the test's come first
    for name, report in reports.items():
        expected = [
            counts
            for side, table in tables.items()
            for counts in plain_counts(facts, task.sides[side], table, name, keys, typed)
        ]
        ranks = report.ranks
        assert list(zip(ranks.above, ranks.tied, ranks.candidates, strict=True)) == expected
        assert (report.protocol.filter == ()) == (name == "none")
    check_other_ways(task, tables, found)


def plain_counts(
    facts: list[Any], side: Any, table: Any, name: str, keys: tuple[int, ...], typed: bool
) -> Any:
    """Yield above, tied and candidates of the tasks of a side, by their definition."""
    answer = TARGET_COLUMN[side.side]
    for i, fact in enumerate(facts[: len(side)]):
        among = set(range(side.columns))
        if typed:
            among = {other[answer] for other in facts if other[1] == fact[1]}
        among -= known_answers(facts, fact, side.side, name, keys)
        among.add(fact[answer])
        row, target = table[side.rows[i]], fact[answer]
        yield (
            sum(row[c] > row[target] for c in among),
            sum(row[c] == row[target] for c in among),
            len(among),
        )


def check_other_ways(task: Task, tables: dict[str, Any], found: tr.Report) -> None:
    """Check that callables and embeddings give the same as score matrices, under every filter."""

    def in_order(table: Any) -> Any:
        rows = iter(table)  # a callable gets every distinct query once, in order
        return lambda queries: np.stack([next(rows) for _ in queries])

    called = task.evaluate(
        **{side: in_order(table) for side, table in tables.items()}, batch_size=2
    )
    # scores are the products with the unit vectors
    units = {name: np.eye(side.columns, dtype=np.float32) for name, side in task.sides.items()}
    by_vectors = task.evaluate_embeddings(
        **tables, entities=units["tail"], relations=units.get("relation"), unique=True
    )
    for other in (called, by_vectors):
        assert list(other.filters) == list(found.filters)
        for name, report in {"": found, **found.filters}.items():
            same = (other.filters[name] if name else other).ranks
            for part in ("above", "tied", "candidates"):
                np.testing.assert_array_equal(getattr(same, part), getattr(report.ranks, part))
            assert same.protocol.fingerprint == report.ranks.protocol.fingerprint


@pytest.fixture
def measured() -> tr.Report:
    task = Task(TEST, {"train": TRAIN}, entities=4, filters=["fact", "triple", "none"])
    scores = np.array([[0.1, 0.2, 0.9, 0.8], [0.1, 0.7, 0.2, 0.9]], np.float32)
    return task.evaluate_scores(scores, scores)


def test_filters_stand_beside_each_other(measured: tr.Report) -> None:
    assert list(measured.filters) == ["fact", "triple", "none"]
    assert {name: under["tail.mr"] for name, under in measured.filters.items()} == {
        "fact": 3.0,
        "triple": 2.0,
        "none": 3.5,
    }
    rules = [under.protocol.filter_rule for under in measured.filters.values()]
    assert rules == ["fact", "triple", None]
    assert len({under.protocol.fingerprint for under in measured.filters.values()}) == 3
    table = measured.to_markdown(["mr"], sides=["tail"], kinds=["realistic"])
    assert table.splitlines()[-5:] == [
        "| filter | tasks | MR \u2193 |",
        "| :--- | ---: | ---: |",
        "| fact | 2 | 3.0 |",
        "| triple | 2 | 2.0 |",
        "| none | 2 | 3.5 |",
    ]
    assert measured.filters["triple"].filters == {}


def test_ranks_under_other_rules_are_not_compared(measured: tr.Report) -> None:
    static, timed = (measured.filters[name].ranks for name in ("triple", "fact"))
    refusal(ValueError, "filter_rule: fact against triple", tr.compare, timed, static, metric="mrr")


def test_filters_in_json_and_pickle(measured: tr.Report) -> None:
    assert pickle.loads(pickle.dumps(measured)) == measured
    text = measured.to_json()
    back = tr.Report.from_json(text)
    assert back == measured
    assert back.to_json() == text
    assert {name: under["mrr"] for name, under in back.filters.items()} == {
        name: under["mrr"] for name, under in measured.filters.items()
    }
    assert back.filters["fact"] is back
    assert back.to_markdown() == measured.to_markdown()
    other = tr.report(measured.ranks)
    assert other != measured
    assert tr.Report.from_json(other.to_json()) != measured
    content = json.loads(text)
    del content["filters"]  # as before there were filters
    assert tr.Report.from_json(json.dumps(content)) == other


def test_filters_on_a_page(measured: tr.Report, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    tr.html.save(tmp_path / "page.html", measured)
    assert ">filter<" in (tmp_path / "page.html").read_text()


ERRORS: list[tuple[type[Exception], str, Any]] = [
    (TypeError, "^filters: expected several.*got str", {"filters": "query"}),
    (ValueError, "^filters: expected one of query, triple", {"filters": ["static"]}),
    (ValueError, "^filters: .*none twice", {"filters": ["fact", "fact"]}),
    (ValueError, "^filters: .*at least one of", {"filters": []}),
    (TypeError, "^filters: expected a str, got int", {"filters": [3]}),
    (ValueError, "^filters: expected .* known splits", {"filters": ["triple"], "known": None}),
]


@pytest.mark.parametrize(("kind", "words", "how"), ERRORS)
def test_errors(kind: type[Exception], words: str, how: dict[str, Any]) -> None:
    refusal(kind, words, Task, TEST, **{"known": {"train": TRAIN}, "entities": 4, **how})


def test_samples_are_the_same_under_every_filter() -> None:
    how: dict[str, Any] = {"entities": 40, "candidates": Sampled(5), "sides": ["tail"]}
    task = Task(TEST, {"train": TRAIN}, **how, filters=["fact", "triple"])
    scores = np.random.default_rng(0).random((2, 40), np.float32)
    found = task.evaluate_scores(scores).filters
    assert found["fact"].ranks.candidates.max() <= 6
    for name in found:
        alone = Task(TEST, {"train": TRAIN}, **how, filters=[name]).evaluate_scores(scores)
        np.testing.assert_array_equal(alone.ranks.above, found[name].ranks.above)
