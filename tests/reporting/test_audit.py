"""Test what the audit of a report finds and does not find."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import (
    Protocol,
    RankCounter,
    Ranks,
    TopK,
    alignment,
    concatenate,
    evaluate,
    load,
    rank_against,
    rank_embeddings,
    rank_lists,
    report,
    retrieval,
    table,
)
from truerank.link_prediction import Task

N = 400


def sound(**changes: object) -> Ranks:
    """Ranks without findings, apart from the given changes."""
    above = np.random.default_rng(0).integers(0, 300, N)
    protocol = Protocol(**{"split": "test", **changes.pop("protocol", {})})
    none = np.zeros(N, dtype=np.int64)
    fields = {"above": above, "tied": none + 1, "candidates": none + 1000}
    fields |= {"audit": (none, none, none + 1), "protocol": protocol} | changes
    counts = [fields.pop(name) for name in ("above", "tied", "candidates")]
    return Ranks(*counts, **fields)


def findings_of(ranks: Ranks, **options: object) -> dict[str, Any]:
    findings = report(ranks, **options).audit()
    assert len({finding.name for finding in findings}) == len(findings)
    for finding in findings:
        assert "\n" not in finding.message
        assert finding.count > 0
        assert str(finding) == f"{finding.name}: {finding.message}"
    return {finding.name: finding for finding in findings}


def some(n: int, value: int, other: int = 0) -> np.ndarray:
    return np.where(np.arange(N) < n, value, other)


NONE = np.zeros(N, np.int64)
ONE = np.ones(N, np.int64)
FEW = {"above": some(5, 1, 7), "candidates": some(5, 10, 1000)}
CONSTANT = {"above": some(3, 0, 7), "tied": some(3, 1000, 1)}
ALONE = {"above": some(201, 0, 7), "candidates": some(201, 1, 1000), "protocol": {"filter": ["a"]}}
SAMPLED = {"protocol": {"filter": ["a"], "sampled": True}}
SMALL = {"above": some(N, 2), "candidates": some(N, 60), "audit": (NONE, NONE, 2 * ONE)}
OF_TRIPLES = {"side": ["tail"] * N, "protocol": {"filter": ["train"]}}
RELATIONS = OF_TRIPLES | {
    "above": some(N - 40, 100, 0),
    "tied": some(N - 40, 1, 2),
    "side": ["tail"] * (N - 40) + ["relation"] * 40,
}
ALIKE = {"above": some(10, 0, 7), "tied": some(10, 3, 1), "candidates": some(10, 3, 1000)}
LISTED = {"above": 20 * ONE, "audit": None, "protocol": {"lists": "scores"}}
MISSED = LISTED | {"tied": some(30, 700, 1), "listed": np.arange(N) >= 30}
ALL_MISSED = LISTED | {"above": NONE, "tied": 1000 * ONE, "listed": np.zeros(N, bool)}
ROWS = "3 tasks have rows that differ from the first row of their query"
TIES = (  # Realistic ranks are all 1.5: hits@1 is 0, but 1/2 in expectation.
    "ties move hits@1 by up to 1 from 0: optimistic 1, realistic 0, pessimistic 0, expected 0.5; "
    "say which is reported"
)


@pytest.mark.parametrize(
    ("changes", "names", "count", "message"),
    [
        ({"tied": some(3, 2, 1)}, "", 0, ""),
        ({"above": NONE, "tied": 2 * ONE}, "ties", N, TIES),
        (RELATIONS, "ties", 40, "ties move relation.hits@1 by up to 1 from 0: optimi"),
        (CONSTANT, "ties", 3, "ties move hits@1 by up to 0.0075 from 0: "),
        (FEW, "few candidates", 5, "5 of 400 tasks (1.25 %) have at most 10 candidates"),
        (ALIKE | {"weights": some(10, 0, 1)}, "", 0, ""),  # Tasks without weight do not count.
        (ALIKE | {"weights": some(5, 0, 1)}, "ties,few candidates", 5, "of 395 tasks"),
        ({"audit": (some(2, 5), NONE, ONE)}, "nan", 10, "10 candidates of 2 tasks have the score"),
        ({"audit": (NONE, some(1, 3), ONE)}, "inf", 3, "3 candidates of 1 task have infinite"),
        (ALONE, "few candidates", 201, "201 of 400 tasks (50.2 %) have at most 10 cand"),
        (ALONE | SAMPLED, "few candidates,sampled", N, "a sample: among all"),
        ({"audit": (NONE, NONE, some(7, 11, 10))}, "", 0, ""),  # The line of counts says it.
        (
            {"audit": (NONE, NONE, ONE, some(2, 1))},
            "rescored",
            2,
            "2 true candidates have a score in their block that differs",
        ),
        ({"audit": (NONE, NONE, ONE, NONE, some(3, 1))}, "queries", 3, ROWS),
        (MISSED, "misses", 30, "30 of 400 tasks (7.5 %) are misses"),
        (ALL_MISSED, "misses", N, "400 of 400 tasks (100 %) are misses"),
        (OF_TRIPLES, "", 0, ""),
        (OF_TRIPLES | {"protocol": {}}, "unfiltered", N, "no known answers were left out"),
        (
            {"protocol": {"candidates": "test"}},
            "test candidates",
            N,
            "only the entities of the test",
        ),
        (SMALL, "", 0, ""),
    ],
)
def test_single_findings(changes: Any, names: str, count: int, message: str) -> None:
    findings = findings_of(sound(**changes))
    assert ",".join(findings) == names
    for finding in list(findings.values())[-1:]:
        assert finding.count == count
        assert message in finding.message


def test_misses_are_not_called_ties() -> None:
    ranks = Ranks([0, 1, 2], [1, 98, 4], 100, listed=[True, False, True])
    text = report(ranks[:2]).to_text()
    assert "no ties" in text
    assert "pessimistic" in text  # the bounds of the miss
    assert [finding.name for finding in report(ranks[:2]).audit("ties", "misses")] == ["misses"]
    measured = report(ranks)
    assert "1 task is tied" in measured.to_text()
    (finding,) = measured.audit("ties")
    words = "ties move mr by up to 27.3 % of its value over the targets that are listed: "
    assert finding.message.startswith(words)
    text = str(report(ranks.with_protocol(lists="scores")[:2]).audit())
    assert "\nNo task ties.\n" in text


def test_an_audit_prints_how_ranks_were_counted() -> None:
    protocol = {"filter": ["train"], "nan": "omit", "order": "ascending", "dtype": "float32"}
    made = report(sound(above=some(N, 20), tied=some(N, 2), protocol=protocol))
    lines = str(made.audit()).splitlines()
    assert lines[:3] == [
        f"{made.protocol} (fingerprint {made.protocol.fingerprint}).",
        "Recorded: order ascending, dtype float32.",
        "400 of 400 tasks are tied (100 %): 2 candidates at most, 2 on average.",
    ]
    assert lines[5].split() == ["finding", "count", "message"]
    assert made.audit("ties") == made.audit() != made.audit("misses") == []
    assert made.audit().table()["name"] == ["ties"]
    assert "<p>Recorded: order ascending" in made.audit()._repr_html_()
    assert "Nothing was found" in str(report(sound()).audit())


# -- worse than chance -----------------------------------------------------------------------------

LISTS = [[*(i for i in range(50) if i != task), task] for task in range(20)]  # the true one is last
SIDES = ["head"] * 30 + ["tail"] * 30
# Both together are no worse than chance, and one side is the worst.
ONE_SIDE = Ranks([0] * 30 + [99] * 30, [1] * 60, 100, side=SIDES)


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (Ranks.from_ranks([50] * 20, candidates=50), "): the first counted as the best"),
        (rank_lists(LISTS, None, np.arange(20), candidates=50), "): the first counted as the best"),
        (
            Ranks([99] * 20, [1] * 20, 100, protocol=Protocol(similarity="l1", split="test")),
            "the similarity is l1",
        ),
        (ONE_SIDE, "(tail.amri -1, p below 1e-"),
        (ONE_SIDE[:30], ""),
        (Ranks([999] * 11, [1] * 11, 1000), ""),  # A few tasks tell nothing.
        (Ranks([999] * 13, [1] * 13, 1000), "(amri -1, p below 1e-"),
    ],
)
def test_worse_than_chance(ranks: Ranks, message: str) -> None:
    finding = findings_of(ranks).get("worse than chance")
    assert (finding is None) == (not message)
    assert finding is None or message in finding.message


def test_a_forgotten_order_is_said() -> None:
    distances = np.random.default_rng(0).random((100, 100)) + 0.5
    np.fill_diagonal(distances, 0.1)  # of a perfect model: the target of task i is column i
    made = evaluate(distances, np.arange(100))
    (finding,) = made.audit("worse than chance")
    assert finding.message == (
        "ranks are worse than random ones (amri -1, p below 1e-63): higher scores counted as better"
    )
    assert f"R{finding.message[1:]}." in made.to_markdown()
    assert f"- {finding.message}." in table({"a": made}).to_markdown()
    turned = evaluate(-distances, np.arange(100), order="ascending")
    assert "lower scores counted as better" in turned.to_markdown()


GOOD = np.random.default_rng(0).normal(size=(60, 50))
TRUE = np.arange(60) % 50
GOOD[np.arange(60), TRUE] += 9
ASKED = "higher scores counted as better"


def masked(scores: np.ndarray, value: float, rows: int = 60, shift: int = 0) -> np.ndarray:
    """Scores whose true ones, or the next ones to these, have another value in some rows."""
    scores = scores.copy()
    scores[np.arange(rows), (TRUE[:rows] + shift) % 50] = value
    return scores


@pytest.mark.parametrize(
    ("scores", "options", "end"),
    [
        (masked(GOOD, -math.inf), {}, "): the true scores of 60 tasks are -inf"),
        (masked(GOOD, -math.inf), {"audit": True}, "60 tasks are -inf"),
        (masked(-GOOD, math.inf), {"order": "ascending"}, "): the true scores of 60 tasks are inf"),
        (masked(-GOOD, -math.inf, 1), {}, f"): the true scores of 1 task are -inf; {ASKED}"),
        (-GOOD, {}, f"): {ASKED}"),
        (masked(-GOOD, math.inf, shift=1), {"audit": True}, f"): {ASKED}"),  # of distances
    ],
)
def test_a_mask_that_hides_the_targets_asks_for_no_order(
    scores: np.ndarray, options: Any, end: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "scores.npy", scores)
    for given_scores in (scores, tmp_path / "scores.npy"):
        (finding,) = evaluate(given_scores, TRUE, **options).audit("worse than chance")
        assert finding.message.endswith(end)
    assert evaluate(masked(GOOD, -math.inf, shift=1), TRUE).audit("worse than chance") == []


def test_masked_targets_are_said_whatever_counts_them() -> None:
    scores = masked(GOOD, -math.inf)
    true = scores[np.arange(60), TRUE]
    counter = RankCounter(true, TRUE, candidates=50)
    counter.update(scores[:, 30:], start=30)
    counter.update(scores[:, :30], start=0)
    bias = np.where(np.arange(50) < 20, -math.inf, 0)
    pairs = alignment.Task([(i, i) for i in range(50)], left=60, right=50)
    for ranks, number in (
        (counter.ranks(), 60),
        (rank_against(true, scores[:, :9] + 99), 60),
        (rank_embeddings(GOOD, np.eye(50), np.arange(60) % 20, bias=bias), 60),
        (rank_lists(*TopK(np.tile(np.arange(50), (60, 1)), scores), TRUE, candidates=50), 60),
        (pairs.evaluate_scores(scores).ranks, 100),
    ):
        assert np.count_nonzero(ranks.masked) == number
    others = masked(GOOD, -math.inf, shift=1)  # The true scores are good.
    assert rank_against(others[np.arange(60), TRUE], others).masked is None


def test_masked_targets_are_said_of_tasks_and_their_parts(tmp_path: Path) -> None:
    facts = [(i, 0, true) for i, true in enumerate(TRUE.tolist())]
    task = Task(facts, {}, entities=60, sides=["tail"])
    wide = np.pad(masked(GOOD, -math.inf), ((0, 0), (0, 10)))
    other = task[:5].evaluate_scores(tail=np.pad(GOOD, ((0, 0), (0, 10)))[:5]).ranks
    parts = [task[5::2].evaluate_scores(tail=wide[5::2]).ranks]
    parts.append(task[6::2].evaluate(tail=lambda queries: wide[queries[:, 0]]).ranks)
    concatenate([other, *parts]).save(tmp_path / "ranks.npz")
    ranks = load(tmp_path / "ranks.npz")
    (finding,) = report(ranks).audit("worse than chance")
    assert finding.message.endswith("the true scores of 55 tasks are -inf")
    assert finding.message[1:] in str(report(ranks))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5), st.integers(0, 3)), max_size=12),
    st.booleans(),
)
def test_standard_errors_by_the_definition(
    tasks: list[tuple[int, int, int]], has_targets: bool
) -> None:
    """Those of many weighted tasks: most are nearly last, so that they are often too many.

    Tasks of one target are one observation: a random model may put it last in all of them.
    """
    most, below, target = np.array(30 * tasks, np.int64).reshape(-1, 3).T
    above = 9 * most
    weights = np.arange(len(most)) % 4 + 1
    candidates = above + below + 1
    labels = {}
    if has_targets:
        labels["targets"] = target + 9 * (np.arange(len(most)) % 50)
    excess = float(np.sum(weights * (above + 1 - (candidates + 1) / 2)))
    units = labels.get("targets", np.arange(len(most)))
    deviations = np.bincount(units, weights * np.sqrt((candidates**2 - 1) / 12))
    spread = math.sqrt(np.sum(deviations**2))
    ranks = Ranks(above, np.ones_like(above), candidates, **labels)
    findings = findings_of(ranks, weights=weights)
    if spread and excess / spread > 6:
        probability = f"p below 1e-{math.floor((excess / spread) ** 2 / 2 / math.log(10))})"
        assert probability in findings["worse than chance"].message
    else:
        assert "worse than chance" not in findings


def test_a_printed_report_names_the_similarity_of_vectors_in_every_protocol() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 3))
    triples = Task([(0, 0, 1), (1, 0, 2)], {}, entities=4)
    sides = {"head": vectors[:2], "tail": vectors[2:]}
    pairs = alignment.Task([(0, 1), (2, 3)], left=4, right=4)
    queries = retrieval.Task({0: [1], 1: [2, 3]}, entities=4)
    for each in (
        triples.evaluate_embeddings(**sides, entities=vectors, similarity="l2"),
        pairs.evaluate_embeddings(vectors, vectors[::-1], similarity="l2"),
        queries.evaluate_embeddings(vectors[:2], vectors, similarity="l2"),
    ):
        for text in (str(each), each.to_markdown(), each._repr_html_()):
            assert text.count("similarity l2") == 1
        assert "similarity" not in each.to_text(notes=False)
    scores = queries.evaluate_scores(vectors[:2] @ vectors.T)
    assert "similarity" not in str(scores)
