"""The audit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.outcomes import quietly
from support.refusals import refusal
from truerank.link_prediction import Task, sides


def messages(task: Task) -> dict[str, str]:
    return {finding.name: finding.message for finding in task.audit}


def with_inverses(facts: np.ndarray) -> np.ndarray:
    return np.concatenate([facts, facts[:, ::-1] + [0, 10, 0]])


def random_facts(count: int, seed: int) -> np.ndarray:
    heads, relations, tails = np.random.default_rng(seed).integers(0, 10, (3, count))
    return np.unique(np.stack([heads + 1, relations, tails + 11], 1), axis=0)


def test_the_audit_names_entities_that_no_fact_has() -> None:
    """As the row that pads a table of vectors."""
    facts = [(1, 0, 2)]
    assert messages(Task(facts, {}, entities=3))["entities in no fact"] == "1 of 3 entities: 0"
    names = messages(Task([("b", "r", "c")], {}, entities=[*"abcdef"], relations=["r", "s"]))
    assert names["entities in no fact"] == "4 of 6 entities: a, d, e, ..."
    assert names["relations in no fact"] == "1 of 2 relations: s"
    assert not any("in no fact" in name for name in messages(Task(facts, {"train": [(0, 0, 0)]})))


def test_the_audit_names_relations_of_the_test_that_one_known_split_lacks() -> None:
    """As the inverse relations that a model was trained with."""
    train, valid, test = (random_facts(200, seed) for seed in range(3))
    task = Task(with_inverses(test), {"train": with_inverses(train), "valid": valid}, leaks="drop")
    expected = (
        "valid lacks 10 of 20 relations of the test, and filters nothing for these: 10, 11, 12, ..."
    )
    assert messages(task)["relations of valid"] == expected
    both = {"train": with_inverses(train), "valid": with_inverses(valid)}
    for known in ({"train": train, "valid": valid}, {"valid": valid}, both):
        facts = test if known is not both else with_inverses(test)
        assert "relations of valid" not in messages(Task(facts, known, leaks="drop"))


def test_the_audit_counts_facts_that_are_ranked_twice() -> None:
    facts = random_facts(50, 0)
    count = len(facts)
    expected = f"{2 * count} triples repeat others with head and tail exchanged, in relations that "
    expected += "always go together (0, 1, 2, ...): each is ranked twice"
    rows = np.random.default_rng(1).permutation(with_inverses(facts))
    assert messages(Task(rows, {}))["inverse relations"] == expected
    # A relation and its inverse, both symmetric; one fact of the inverses is not there.
    symmetric = [(0, 0, 1), (1, 0, 0), (1, 1, 0), (0, 1, 1)]
    assert messages(Task(symmetric, {}))["inverse relations"].startswith("4 triples")
    some = messages(Task(with_inverses(facts)[:-1], {}))["inverse relations"]
    assert int(some.split()[0]) == 2 * (facts[:, 1] != facts[-1, 1]).sum()


def test_the_audit_counts_edges_in_both_directions() -> None:
    """A model whose scores are symmetric: the interval is sqrt(2) times too narrow."""
    edges = random_facts(300, 0)
    both = np.concatenate([edges, edges[:, ::-1]])
    others = [(7, 1, 7), (8, 5, 8), (1, 12, 2)]
    n = len(edges)
    words = f"{2 * n} triples are {n} edges in both directions (0, 1, 2, ...): "
    words += "in intervals an edge counts as two units"
    assert messages(Task([*map(tuple, both), *others], {}))["both directions"] == words
    assert "inverse relations" not in messages(Task(both, {}))
    for facts in (edges, others, with_inverses(edges)):
        assert "both directions" not in messages(Task(facts, {}))
    scores = np.random.default_rng(0).random((10, 21, 21))
    scores += scores.swapaxes(1, 2)
    intervals = [
        Task(facts, {}, entities=21)
        .evaluate(
            lambda queries: scores[queries[:, 1], queries[:, 0]],
            head=lambda queries: scores[queries[:, 0], queries[:, 1]],
        )
        .interval("mrr")
        for facts in (edges, both)
    ]
    assert intervals[0].value == pytest.approx(intervals[1].value)
    widths = [interval.high - interval.low for interval in intervals]
    assert widths[0] / widths[1] == pytest.approx(np.sqrt(2), rel=0.01)


@pytest.mark.parametrize(
    "facts",
    [
        random_facts(50, 0),
        [(0, 0, 1), (1, 0, 0)],  # symmetric
        [(0, 0, 1), (1, 1, 0), (2, 0, 1)],
        [(0, 0, 1), (0, 1, 1)],
    ],
)
def test_facts_that_are_ranked_once_are_not_in_the_audit(facts: Any) -> None:
    assert "inverse relations" not in messages(Task(facts, {}))


# -- graphs that are undirected, and pairs that train has exchanged -------------------------------

# Edges of a graph in any direction, each once, and their layouts in the test and in train.
EDGES = np.insert(
    np.random.default_rng(0).permuted(np.stack(np.triu_indices(40, k=1), axis=1), axis=1), 1, 0, 1
)
EDGES = np.random.default_rng(1).permutation(EDGES)[:300]
BOTH = np.concatenate([EDGES, EDGES[:, ::-1]])
TESTED = np.arange(600) % 300 < 50
LAYOUTS: dict[str, tuple[Any, Any, list[str]]] = {
    "both": (BOTH[TESTED], BOTH[~TESTED], ["both directions"]),
    "the test once": (EDGES[:50], BOTH[~TESTED], ["one direction"]),
    "each once": (EDGES[:50], EDGES[50:], []),
    "directions drawn apart": (BOTH[::7], BOTH[np.arange(600) % 7 != 0], ["exchanged pairs"]),
}


def layout_findings(test: Any, train: Any) -> dict[str, str]:
    """Find what is said of layouts, beside loops and relations that have one direction."""
    others = random_facts(300, 1) + np.array([100, 1, 100])
    splits = [(test, others[:30], [(3, 0, 3)]), (train, others[30:], [(4, 0, 4), (3, 20, 3)])]
    test, train = map(np.concatenate, splits)
    found = messages(quietly(Task, test, {"train": train}))
    names = ("both directions", "one direction", "exchanged pairs")
    return {name: found[name] for name in names if name in found}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_audit_knows_layouts_of_an_undirected_graph(layout: str) -> None:
    test, train, names = LAYOUTS[layout]
    assert list(layout_findings(test, train)) == names


def test_relations_that_mostly_have_both_directions_are_named_with_their_share() -> None:
    test, train, _ = LAYOUTS["the test once"]
    words = "50 triples have one direction in the test, and {}% of the triples of their relations "
    words += "(0) have both in train"
    assert layout_findings(test, train) == {"one direction": words.format(100)}
    some = np.concatenate([EDGES[50:], EDGES[50:275, ::-1]])
    assert layout_findings(test, some) == {"one direction": words.format(95)}
    assert layout_findings(test, np.concatenate([EDGES[50:], EDGES[50:110, ::-1]])) == {}
    unnamed = messages(Task(test, [train]))["one direction"]
    assert unnamed == words.format(100).replace("train", "known splits")


def test_the_layout_decides_the_number() -> None:
    """A model whose scores are symmetric; partners in the other direction stay candidates."""
    scores = np.random.default_rng(2).random((40, 40))
    scores += scores.T
    for head, _, tail in EDGES.tolist():
        scores[head, tail] += 1
        scores[tail, head] += 1
    values = {}
    for name, (test, train, _) in LAYOUTS.items():
        task = quietly(Task, test, {"train": train}, entities=40, relations=1, exclude="self")
        heads, tails = task.test[:, 0], task.test[:, 2]
        values[name] = task.evaluate_scores(scores[heads], head=scores[tails])["mrr"]
    assert values["both"] > 1.05 * values["the test once"] > 1.5 * values["each once"], values


def test_a_sample_of_train_tells_whether_relations_have_both_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    edges = np.stack([np.arange(500), np.zeros(500, int), np.arange(500) + 500], axis=1)
    of_one_direction = random_facts(200, 2) + np.array([100, 1, 100])  # It is seen first.
    train = np.concatenate([of_one_direction, edges[50:], edges[50:, ::-1]])
    expected = layout_findings(edges[:50], train)
    assert list(expected) == ["one direction"]
    monkeypatch.setattr(sides, "MOST_EDGES", 60)
    assert layout_findings(edges[:50], train) == expected


def test_the_audit_counts_pairs_that_train_has_exchanged() -> None:
    """As of WN18, where train has 4,698 of 5,000."""
    train = with_inverses(random_facts(60, 0))
    is_tested = np.random.default_rng(1).random(len(train)) < 0.4
    test, train = train[is_tested], train[~is_tested]
    pairs = {(head, tail) for head, _, tail in train.tolist()}
    exchanged = [relation for head, relation, tail in test.tolist() if (tail, head) in pairs]
    assert 0.4 * len(test) < len(exchanged) < len(test)
    found = layout_findings(np.concatenate([test, test]), train)
    words = f"{2 * len(exchanged)} of {2 * len(test) + 31} triples have a head and a tail that are "
    names = ", ".join(map(str, sorted({*exchanged})[:3]))
    assert found["exchanged pairs"] == f"{words}exchanged in train (relations {names}, ...)"
    assert "one direction" not in found


# -- names that the vocabulary of the model lacks --------------------------------------------------

Fact = tuple[Any, ...]
LETTERS = list("abcdef")
TRAIN = [("a", "r", "b"), ("b", "s", "c")]


def known_facts(facts: list[Fact]) -> list[Fact]:
    """The plain twin: those whose names are all in the vocabularies."""
    return [(h, r, t) for h, r, t in facts if {h, t} <= {*LETTERS} and r in ("r", "s")]


def in_form(facts: list[Fact], form: str, path: Path) -> Any:
    if form == "file":
        path.write_text("".join("\t".join(fact) + "\n" for fact in facts))
        return path
    return pd.DataFrame(facts, columns=["head", "relation", "tail"]) if form == "frame" else facts


@pytest.mark.parametrize("form", ["rows", "frame", "file"])
@pytest.mark.parametrize("seed", range(8))
def test_facts_with_a_name_that_no_label_is_are_left_out(
    form: str, seed: int, tmp_path: Path
) -> None:
    """Of the test and of other known splits than train; with the ranks of what is left."""
    rng = np.random.default_rng(seed)
    model = rng.random((6, 2, 6))
    letters = [*LETTERS, "x", "y"], ["r", "s", "q"], [*LETTERS, "y", "z"]

    def draw(*facts: Fact) -> list[Fact]:
        rows = {tuple(str(rng.choice(each)) for each in letters) for _ in range(14)}
        return [*facts, ("z", "s", "a"), *sorted(rows - {*facts, *TRAIN})]

    splits = {"dev": draw(("a", "r", "c")), "valid": draw(("b", "r", "a")), "more": draw()}
    splits["train"] = TRAIN
    given = {name: in_form(facts, form, tmp_path / name) for name, facts in splits.items()}
    left = {name: known_facts(facts) for name, facts in splits.items()}
    options: dict[str, Any] = {"entities": LETTERS, "relations": ["r", "s"], "split": "dev"}
    dev = given.pop("dev")
    message = refusal(ValueError, "^dev.*: expected labels of ", Task, dev, given, **options)
    # "drop" leaves out unseen names, too: it is advised where train has all that the model knows.
    names_of_dev = {name for h, _, t in splits["dev"] for name in (h, t)} & {*LETTERS}
    assert ("unseen='drop'" in message) == (names_of_dev <= {"a", "b", "c"})
    task = quietly(Task, dev, given, unseen="drop", **options)
    twin = quietly(Task, left.pop("dev"), left, unseen="drop", **options)
    scorers = dict.fromkeys(task.sides, lambda queries: model[queries[:, 0], queries[:, 1] % 2])
    ranks, expected = (each.evaluate(**scorers).ranks for each in (task, twin))
    assert ranks.with_labels(unit=expected.unit) == expected
    # Units are rows of the test as it was given, so that it may have all of its scores.
    places = np.array([i for i, fact in enumerate(splits["dev"]) if fact in known_facts([fact])])
    assert task.tail.units.tolist() == places[twin.tail.units].tolist()
    scores = {}
    for name, side in task.sides.items():
        scores[name] = np.zeros((len(splits["dev"]), 6))
        scores[name][side.units] = scorers[name](side.queries)[side.rows]
    assert task.evaluate_scores(**scores).ranks == ranks
    counts = {f.name.partition("left out of ")[2]: f.count for f in task.audit}
    for name, facts in splits.items():
        number = sum(count for title, count in counts.items() if name in title)
        assert number == len(facts) - len(known_facts(facts)), name
    assert not any(finding.name.startswith("left out") for finding in twin.audit)


OTHERS = [("x", "r", "a"), ("a", "r", "z")]
NAMES: dict[str, Any] = {"entities": LETTERS, "relations": ["r", "s"], "unseen": "drop"}


@pytest.mark.parametrize(
    ("title", "test", "known", "options"),
    [
        ("test", OTHERS, {"train": TRAIN}, NAMES),
        (r"known..valid..", [("b", "r", "a")], {"train": TRAIN, "valid": OTHERS}, NAMES),
        (r"known..train..", [("b", "r", "a")], {"train": TRAIN + OTHERS}, NAMES),
        # An id that a number excludes is no name.
        (r"known..more..", [(0, 0, 2)], {"more": [(0, 0, 7), (0, 0, 1)]}, {"entities": 3}),
        (r"known..more..", [(0, 0, 2)], {"more": [(0, 0, -1), (0, 0, 1)]}, {"entities": 3}),
    ],
)
def test_facts_are_not_left_out_where_none_would_be_left_or_a_model_was_trained_on_them(
    title: str, test: Any, known: Any, options: dict[str, Any]
) -> None:
    message = refusal(ValueError, f"^{title}: ", Task, test, known, **options | {"unseen": "drop"})
    assert "unseen=" not in message


@pytest.mark.parametrize("form", ["rows", "frame", "file"])
def test_rows_of_the_test_as_given_are_taken(form: str, tmp_path: Path) -> None:
    """Its scores, vectors, lists in rows, and candidates, as after leaks and duplicates."""
    test = in_form([("a", "r", "y"), ("b", "r", "a")], form, tmp_path / "test.txt")
    scores = np.array([[9.0, 5, 5, 5, 5, 5], [3, 2, 9, 0, 0, 0]])
    task = quietly(Task, test, {"train": TRAIN}, sides=["tail"], **NAMES)
    assert (task.test.tolist(), task.tail.units.tolist()) == ([[1, 0, 0]], [1])
    report = task.evaluate_scores(scores)
    assert (report["mr"], report.ranks.unit.values.tolist()) == (2, [1])
    words = r"^tail: expected scores of shape \(2, 6\), a row for each query of the test as given"
    refusal(ValueError, words, task.evaluate_scores, scores[1:])
    assert task.evaluate_embeddings(scores, entities=np.eye(6)).ranks.unit == report.ranks.unit
    assert task.evaluate_lists(tr.TopK([[0, 1], [2, 0]], None))["mr"] == 2
    assert task[[0]].evaluate_scores(scores)["mr"] == 2
    lists = {"tail": (np.array([0, 3, 5]), np.array([3, 4, 5, 0, 1]))}
    some = quietly(Task, test, {"train": TRAIN}, sides=["tail"], candidates=lists, **NAMES)
    assert some.evaluate_scores(scores).ranks.candidates.tolist() == [2]


def test_other_protocols_have_no_such_way_out() -> None:
    words = "^test: expected labels of left, .* got 'x' in column 0 of row 1$"
    pairs = [("a", "y"), ("x", "y")]
    refusal(ValueError, words, tr.alignment.Task, pairs, left=["a"], right=["y"])


def test_a_sample_of_a_split_with_other_names() -> None:
    """The whole, a known split of the split's name, filters by what it has of the vocabulary."""
    whole = [("a", "r", "c"), ("a", "r", "b"), ("a", "r", "x"), ("y", "r", "b")]
    train = [("a", "s", "b"), ("b", "r", "c")]
    task = Task(whole[:1], {"train": train, "test": whole}, sides=["tail"], **NAMES)
    assert task.tail.filter[1].tolist() == [1, 2]
    found = messages(task)['left out of known["test"]']
    assert found == "2 (a r x, ...) with a name that no label is"
