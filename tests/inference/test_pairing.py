"""Tasks are paired by what they are: shuffled models give what the models in one order give."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.example_ranks import query_report as report
from support.examples import examples
from support.refusals import refusal
from truerank.inference import compare
from truerank.inference.pairing import align_runs, match_tasks
from truerank.metrics.values import Rankings

LABELLED = ("side", "relation", "queries", "targets")


def labelled(seed: int, n: int, *, names: bool, units: bool = True) -> tr.Ranks:
    """Ranks of tasks, of which some are repeated, with a unit of two tasks each."""
    rng = np.random.default_rng(seed)
    values: dict[str, Any] = {name: rng.integers(0, 3, n) for name in LABELLED}
    if names:
        values = {name: [f"{name} {x}" for x in codes] for name, codes in values.items()}
    values["side"] = np.array(["head", "tail", "other"])[rng.integers(0, 3, n)]
    if units:
        values["unit"] = np.arange(n) // 2
    above = rng.integers(0, 40, n)
    return tr.Ranks(above, rng.integers(1, 4, n), 50, **values)


@examples(30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20), st.booleans())
def test_the_order_of_a_model_changes_nothing(seed: int, triples: int, names: bool) -> None:
    """Units are shuffled whole, and repeated tasks of a unit stay together."""
    rng = np.random.default_rng(seed)
    ranks = labelled(seed, 2 * triples, names=names)
    above = rng.integers(0, 40, (2, len(ranks)))
    fields = ranks.tied, rng.integers(50, 60, len(ranks))
    weights = rng.integers(1, 4, len(ranks))
    a, b = (tr.Ranks(x, *fields, weights=weights, labels=dict(ranks.labels)) for x in above)
    order = rng.permutation(triples)
    mixed = b[np.stack([2 * order, 2 * order + 1], axis=1).ravel()]
    tasks = Counter(zip(*(a.labels[name].values.tolist() for name in LABELLED), strict=True))
    if max(tasks.values()) > 1:  # which of two equal tasks is which, only their order can say
        return
    one = compare(a, b)
    assert compare(a, mixed) == one
    assert compare(mixed, a).p_value == pytest.approx(one.p_value)


NAMED = tr.Ranks([0, 1, 2], [1, 1, 1], 9, queries=["x", "y", "z"])
NUMBERED = NAMED.with_labels(queries=[3, 1, 2])
LIKES = NAMED.with_labels(relation=["likes"] * 3)
TWICE = tr.Ranks([0] * 4, [1] * 4, 9, queries=["x", "y", "x", "z"])
UNITS = tr.Ranks([0] * 4, [1] * 4, 9, queries=range(4), unit=[0, 0, 1, 1])
PAIR = tr.Ranks([0, 5], [1, 1], 9)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            LIKES,
            LIKES.with_labels(queries=["z", "w", "x"]),
            r"tasks: 3 against 3; only a has 1, the first at position 1 "
            r"\(relation likes, query y\); only b has 1, the first at position 1 "
            r"\(relation likes, query w\); common=True leaves out what was not asked of a and b$",
        ),
        (
            TWICE,
            tr.Ranks([0] * 3, [1] * 3, 9, queries=["z", "w", "x"]),
            r"tasks: 4 against 3; only a has 2, the first at position 1 \(query y\); "
            r"only b has 1, the first at position 1 \(query w\)$",
        ),
        (
            TWICE,
            TWICE[:0],
            r"tasks: 4 against 0; only a has 4, the first at position 0 \(query x\)$",
        ),
        (PAIR, PAIR[:1], "tasks: 2 against 1$"),
        (
            NAMED[:2],
            NAMED,
            r"tasks: 2 against 3; only b has 1, the first at position 2 \(query z\); "
            "common=True leaves out what was not asked of a$",
        ),
        (NAMED, NUMBERED, "queries: names against integer ids"),
    ],
)
def test_unlike_sets_are_refused_and_shown(a: tr.Ranks, b: tr.Ranks, words: str) -> None:
    refusal(ValueError, words, compare, a, b)
    refusal(ValueError, words, compare, a, b, allow_unlike=True)
    assert align_runs([Rankings(a), Rankings(b)]) is None


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"side": ["head", "tail"]}, r"first at position 0 \(side head against side tail\)"),
        (
            {"relation": ["r", "s"]},
            r"\(relation r against relation s\); labels .columns. query",
        ),
        ({"unit": ["x", "y"]}, r"tasks: 2 of 2 differ, .* \(unit x against unit y\)"),
        ({"queries": ["x", "x"], "side": ["head", "tail"], "relation": [0, 0]}, ""),
        ({"queries": ["x", "x"], "relation": [0, 1], "unit": [0, 1]}, ""),
        ({"queries": ["x", "x"], "unit": [0, 1]}, r"\(query x, unit 0 against query x, unit 1\)"),
        ({"targets": ["x", "x"], "unit": [0, 1]}, r"\(target x, unit 0 against target x, unit 1\)"),
    ],
)
def test_what_differs_at_a_position_is_refused(labels: dict[str, Any], words: str) -> None:
    """Tasks that labels do not tell apart are in the same order, or are no tasks to compare."""
    a = PAIR.with_labels(**labels)
    assert compare(a, a, "mr").ties == 2
    if not words:
        assert compare(a, a[::-1], "mr").ties == 2
        return
    refusal(ValueError, words, compare, a, a[::-1])
    refusal(ValueError, words, compare, a, a[::-1], allow_unlike=True)
    told = a.with_labels(queries=["x", "y"], targets=["z", "z"])
    assert compare(told, told[::-1], "mr").ties == 2


IDS = {"queries": [4, 5, 6], "targets": [1, 2, 3]}
NAMED_RELATIONS = tr.Ranks([0, 1, 2], [1, 1, 1], 9, relation=["x", "y", "x"], **IDS)
ONE_QUERY = PAIR.with_labels(queries=["x", "x"])  # Nothing says which of its two answers is which.
BY_POSITION = "paired by position only"
BY_NUMBERS = "paired by the numbers of queries only"  # Two splits both have queries 0 to n - 1.


@pytest.mark.parametrize(
    ("a", "b", "pairing", "note"),
    [
        (  # Names pair whatever their vocabulary.
            NAMED,
            tr.Ranks([2, 0, 1], [1] * 3, 9, queries=([3, 0, 1], ["x", "y", "w", "z"])),
            "query ids",
            "",
        ),
        (NUMBERED, NUMBERED, "query ids", BY_NUMBERS),
        (report(NUMBERED), report(NUMBERED), "query ids", BY_NUMBERS),
        (NAMED, NAMED, "query ids", ""),
        (NUMBERED.with_labels(targets=range(3)), NUMBERED, "query ids", BY_NUMBERS),
        (NUMBERED.with_labels(relation=range(3)),) * 2 + ("query ids", ""),
        # One toolkit names relations, another counts them.
        (
            NAMED_RELATIONS,
            NAMED_RELATIONS.with_labels(relation=[0, 1, 0]),
            "query and target ids",
            "",
        ),
        (tr.Ranks([0, 1, 2], [1] * 3, 9), NUMBERED, "position", BY_POSITION),
        (ONE_QUERY, ONE_QUERY, "position", BY_POSITION),
        (report(ONE_QUERY), report(ONE_QUERY[::-1]), "query ids", ""),
    ],
)
def test_what_pairs_tasks(a: Any, b: Any, pairing: str, note: str) -> None:
    pair = compare(a, b)
    assert pair.pairing == pairing
    assert [line for line in pair.notes if line.startswith("paired")] == [note][: bool(note)]


def test_queries_are_no_tasks() -> None:
    refusal(TypeError, "b: expected queries, as a has, got tasks", compare, report(NAMED), NAMED)
    words = r"b\[1\]: expected tasks, as a has, got queries"
    refusal(TypeError, words, compare, NAMED, [NAMED, report(NAMED)])


def test_repeats_are_paired_by_their_units() -> None:
    """Two equal triples: the head task of one unit never goes with the tail task of another."""
    side = ["tail", "head", "tail", "head"]
    ids = {"queries": [5] * 4, "targets": [5] * 4}
    a = tr.Ranks([0, 1, 2, 3], [1] * 4, 9, side=side, unit=[0, 0, 1, 1], **ids)
    b = a[[3, 0, 2, 1]]  # heads of the second unit first, tails of the first one first
    matched, _, differences = match_tasks(a, b)
    assert differences == []
    assert matched is not None
    assert len(set(zip(a.unit.codes, matched.unit.codes, strict=True))) == 2
    for unit in ([0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 2, 3]):
        other = UNITS.with_labels(unit=unit)
        refusal(ValueError, "unit: tasks of one unit belong to several", compare, UNITS, other)
        assert compare(UNITS, other, allow_unlike=True).notes[0].startswith("unlike unit: ")
    assert compare(UNITS, UNITS.with_labels(unit=[7, 7, 2, 2])).units == 2


def test_runs_over_unlike_candidates_are_folds() -> None:
    a, b = (Rankings(tr.Ranks([0, 1], [1, 1], candidates)) for candidates in (9, 8))
    assert align_runs([a, b]) is None


NAMES = ("side", "relation", "queries", "targets", "unit")


def position_by_definition(a: tr.Ranks, b: tr.Ranks) -> list[int] | None:
    """Position where labels do not tell tasks apart, if all that both have is equal there."""
    both = [name for name in NAMES if name in a.labels and name in b.labels]
    rows = [list(zip(*(x.labels[name] for name in both), strict=True)) for x in (a, b)]
    return list(range(len(a))) if not both or rows[0] == rows[1] else None


@examples(300)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 7),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
    st.booleans(),
)
def test_position_by_definition(
    seed: int, n: int, names_a: set[str], names_b: set[str], is_shuffled: bool
) -> None:
    rng = np.random.default_rng(seed)
    whole = labelled(seed, n, names=bool(seed % 2)).with_labels(unit=rng.integers(0, 3, n))
    a = whole.with_labels(**{x: None for x in NAMES if x not in names_a})
    b = whole.with_labels(**{x: None for x in NAMES if x not in names_b})
    if is_shuffled:
        b = b[rng.permutation(n)]
    b = tr.Ranks(np.arange(n), b.tied, b.candidates, labels=dict(b.labels))
    matched, labels, _ = match_tasks(a, b)
    keys = [x for x in LABELLED if x in names_a & names_b]
    rows = list(zip(*(a.labels[x] for x in keys), strict=True))
    tells = bool({"queries", "targets"} & set(keys)) and (
        len(set(rows)) == n
        or ({"queries", "targets"} <= set(keys) and not {*LABELLED} & (names_a ^ names_b))
    )
    assert labels == (tuple(keys) if tells else ())
    if not tells:
        order = None if matched is None else matched.above.tolist()
        assert order == position_by_definition(a, b)
        return
    assert matched is not None
    order = matched.above
    assert sorted(order) == list(range(n))
    assert rows == list(zip(*(b.labels[x][order] for x in keys), strict=True))


@pytest.mark.parametrize("key", ["map", "ndcg@5"])
def test_queries_of_retrieval_are_paired_by_name(key: str) -> None:
    rng = np.random.default_rng(1)
    names = [f"query {x}" for x in np.arange(60) // 3]
    above = [rng.permutation(90)[:60] % 30 * 3 + np.arange(60) % 3 for _ in range(2)]
    gains = rng.integers(1, 4, 60).astype(float)
    a, b = (tr.Ranks(x, np.ones(60, int), 100, queries=names, targets=np.arange(60)) for x in above)
    order = np.concatenate([3 * q + np.arange(3) for q in rng.permutation(20)])
    plain = compare(report(a, gains), report(b, gains), metric=key)
    mixed = compare(report(a, gains), report(b[order], gains[order]), metric=key)
    assert mixed.p_value == pytest.approx(plain.p_value)
    assert mixed.value_b == pytest.approx(plain.value_b)
    assert (mixed.estimate, mixed.low) == pytest.approx((plain.estimate, plain.low))
    assert (mixed.wins, mixed.losses) == (plain.wins, plain.losses)
    assert mixed.pairing == "query and target ids"


def test_queries_come_in_the_order_of_the_first_model() -> None:
    """Names in another vocabulary are the same queries, whose values are compared one by one."""
    numbers = np.arange(20)
    names = [f"query {x}" for x in numbers]
    a, b = (tr.Ranks(above, np.ones(20, int), 100) for above in (numbers, 7 * numbers % 20))
    a = a.with_labels(queries=names)
    plain = compare(report(a), report(b.with_labels(queries=names)), metric="mrr")
    turned = b.with_labels(queries=(19 - numbers, names[::-1]))
    assert compare(report(a), report(turned), metric="mrr") == plain


def by_names(order: list[str], first: int = 0) -> tr.Ranks:
    """The ranks that a model gives, whose entities are in some order."""
    names = [f"n{i}" for i in range(20)]
    test = [(names[i], "r", names[i if i % 2 else 7 * i % 20]) for i in range(16)]
    task = tr.link_prediction.Task([*test[first:], *test[:first]], {}, entities=order)
    scores = np.random.default_rng(0).random((20, 20))
    places = [names.index(name) for name in order]
    scores = scores[places][:, places]
    return task.evaluate(tail=lambda q: scores[q[:, 0]], head=lambda q: scores.T[q[:, 1]]).ranks


def test_a_model_whose_entities_are_in_another_order() -> None:
    names = [f"n{i}" for i in range(20)]
    order = [*names[::3], *(name for name in names if name not in names[::3])]
    ranks, other = by_names(names), by_names(order)
    pair = tr.compare(ranks, other, metric="mrr")
    assert (pair.estimate, pair.wins, pair.losses) == (0, 0, 0)
    assert pair.pairing == "query and target names"
    assert "entities are in another order: tasks are paired by their names" in pair.notes
    turned = tr.compare(ranks, other[::-1], metric="mrr", unit="query")
    assert (turned.estimate, turned.wins, turned.losses) == (0, 0, 0)
    # One order is what it was, whatever the order of the test.
    pair = tr.compare(ranks, by_names(names, 5), metric="mrr")
    assert (pair.estimate, pair.pairing, pair.wins) == (0, "query and target ids", 0)
    # Nor does it matter whether both are in another order.
    pair = tr.compare(ranks, by_names(order, 5), metric="mrr")
    assert (pair.estimate, pair.pairing, pair.wins) == (0, "query and target names", 0)


@pytest.mark.parametrize("cut", ["parts", "batches"])
def test_a_whole_is_compared_with_what_joins_to_it(cut: str) -> None:
    """Entities that are a count have one order in all of them."""
    facts = np.stack([np.arange(40), np.arange(40) % 3, np.arange(40)[::-1]], axis=1)
    scores = np.random.default_rng(0).normal(size=(40, 60))
    options = {"entities": 60, "relations": 3, "sides": ["tail"]}
    whole = tr.link_prediction.Task(facts, **options)
    halves = [slice(0, 20), slice(20, 40)]
    tasks = [whole[half] for half in halves]
    if cut == "batches":
        tasks = [tr.link_prediction.Task(facts[half], **options) for half in halves]
    parts = [
        task.evaluate_scores(tail=scores[half]).ranks
        for task, half in zip(tasks, halves, strict=True)
    ]
    joined = tr.concatenate(parts, repeats=None if cut == "parts" else "keep")
    for models in ((whole, joined), (joined, whole)):
        ranks = [x.evaluate_scores(tail=scores).ranks if x is whole else x for x in models]
        pair = compare(*ranks)
        assert (pair.estimate, pair.ties, pair.unit) == (0.0, 40, "triple")
