"""A gate for pull requests, and pairs of models that were made apart: what is said, and its twins.

The verdicts are checked against the interval and the p-value that `compare` gives, and the number
of queries that an undecided one names against equal models of so many queries.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.environment import ROOT
from support.examples import examples
from support.refusals import refusal
from truerank.inference import Comparison, compare
from truerank.inference.gate import NO_WORSE, WORSE, gate, judge

pytestmark = pytest.mark.filterwarnings("error")
pytest.importorskip("click")

NEAR = "undecided: the difference is near the margin"
NUMBER = re.compile(
    r"undecided; with about ([0-9,]+) (tasks|queries|groups) drawn anew, "
    "two equal models pass in four of five cases"
)


def ranks_of(places: Any) -> tr.Ranks:
    """Tasks that have a query each, whose true candidates stand at these places."""
    n = len(places)
    return tr.Ranks(np.array(places) - 1, [1] * n, 1000, queries=[f"q{i}" for i in range(n)])


def hits(lost: int, won: int, n: int) -> tuple[tr.Ranks, tr.Ranks]:
    """A new model and a base that hit alike, but for what the new one lost and won."""
    base = [1] * lost + [11] * won + [1, 11] * n
    new = [11] * lost + [1] * won + [1, 11] * n
    return ranks_of(new[:n]), ranks_of(base[:n])


def hits_apart(lost: int, won: int, n: int) -> Comparison:
    return compare(*hits(lost, won, n), "hits@10")


# -- verdicts --------------------------------------------------------------------------------------


def models_of(
    seed: int, n: int, shift: float = 0.0, noise: float = 0.5
) -> tuple[tr.Ranks, tr.Ranks]:
    """A new model and a base, which are equal but for noise and a shift of the new one's ranks."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(1.0, 1.5, n) + noise * rng.normal(size=(2, n)) + [[shift], [0.0]]
    new, base = map(ranks_of, np.exp(logs).clip(1, 999).astype(int))
    return new, base


@examples(60)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(8, 400),
    st.sampled_from([-0.6, -0.1, 0.0, 0.1, 0.6]),
    st.sampled_from([0.0, 0.01, 0.05, 0.2]),
    st.sampled_from(["mrr", "hits@10", "ndcg@10"]),
)
def test_a_verdict_is_that_of_the_interval(
    seed: int, n: int, shift: float, margin: float, key: str
) -> None:
    pair = compare(*models_of(seed, n, shift), key)
    verdict = judge(pair, margin)
    assert (verdict == WORSE) == (pair.high < 0 and pair.estimate < -margin)
    assert verdict.startswith(NO_WORSE) == (pair.low >= -margin or pair.ties == n)
    # Holm's rule makes it harder to be worse, and nothing else.
    corrected = judge(replace(pair, p_holm=min(1.0, 3 * pair.p_value)), margin)
    assert corrected.startswith(NO_WORSE) == verdict.startswith(NO_WORSE)
    assert (corrected == WORSE) == (verdict == WORSE and 3 * pair.p_value <= 0.05)
    number = NUMBER.fullmatch(verdict)
    if number is None:
        assert verdict in (WORSE, NO_WORSE, NEAR) or margin == 0 or pair.ties == n
        return
    spread = (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8)) * pair.deviation / margin
    units = spread**2 + 4 / margin
    named = int(number[1].replace(",", ""))
    assert 2 * n - 1 <= units <= named <= 1.1 * units + 1


@pytest.mark.parametrize(
    ("lost", "won", "n", "margin", "verdict"),
    [
        (50, 0, 50, 0.01, WORSE),
        (20, 0, 1000, 0.01, WORSE),
        (18, 1, 500, 0.01, WORSE),
        (18, 1, 500, 0.034, NEAR),  # The interval is [-.052, -.016].
        (18, 1, 500, 0.052, NO_WORSE),
        (0, 0, 1000, 0.01, NO_WORSE),
        (0, 0, 1000, 0.0, NO_WORSE),
        (0, 0, 20, 0.01, NO_WORSE),
        (0, 50, 50, 0.01, NO_WORSE),
        (10, 0, 10_000, 0.01, NO_WORSE),
        (8, 0, 1000, 0.01, NEAR),
        (10, 0, 1000, 0.01, NEAR),
        (40, 30, 1000, 0.01, "undecided; with about 5,900 tasks drawn anew"),
        (40, 30, 1000, 0.0, "undecided: equal models do not pass a margin of 0"),
        (3, 0, 10_000, 0.0008, NO_WORSE),  # The interval begins at -.00078.
        (3, 0, 10_000, 0.0007, NEAR),
        (3, 0, 100, 0.05, NEAR),
        (1, 0, 50, 0.01, "undecided; with about 2,000 tasks drawn anew"),
        (5, 0, 50, 0.01, "undecided; with about 7,700 tasks drawn anew"),
        (5, 0, 100, 0.01, "undecided; with about 4,200 tasks drawn anew"),
        (0, 2, 1000, 0.01, NO_WORSE),
        (0, 2, 50, 0.01, "undecided; with about 3,500 tasks drawn anew"),
    ],
)
def test_few_queries_that_differ(lost: int, won: int, n: int, margin: float, verdict: str) -> None:
    pair = hits_apart(lost, won, n)
    assert judge(pair, margin).startswith(verdict)
    assert pair.low < pair.high


def test_what_nothing_that_differs_leaves_open(run: Any) -> None:
    """A gate of 30 queries was "no worse" by .01 beside an interval of [-.109, .109]."""
    unseen = {
        1: "1.000",  # It says nothing about others.
        2: "1.000",
        30: "0.109",
        100: "0.034",
        1000: "0.0034",
    }
    for n, loss in unseen.items():
        pair = hits_apart(0, 0, n)
        if n > 1:  # Of three units more, of mean 0 and mean square 1; nothing loses more than 1.
            reach = scipy.stats.t.ppf(0.975, n + 2) * math.sqrt(3 / (n + 3) / (n + 2))
            assert float(loss) == pytest.approx(min(reach, 1), abs=5e-4)
        words = f"no worse (nothing differs; a loss of up to {loss} could be unseen)"
        for margin in (0.0, 0.01, 0.2):
            assert judge(pair, margin) == words
    save_models(0, 0, 30)
    words = "no worse (nothing differs; a loss of up to 0.109 could be unseen)"
    line = "base.npz new.npz --metrics hits@10 --margin 0.01"
    code, out, _ = run(line)
    assert (code, out.splitlines()[-1]) == (0, f"hits@10 {words}")
    code, out, _ = run(f"{line} --format json")
    (row,) = json.loads(out)["rows"]
    assert (code, row["verdict"], round(row["low"], 3)) == (0, words, -0.109)
    # Its twin: one query is lost, and one won.
    assert judge(hits_apart(1, 1, 1000), 0.01) == NO_WORSE


def test_a_metric_without_a_value_is_undecided() -> None:
    pair = replace(hits_apart(3, 0, 9), estimate=math.nan, low=math.nan, p_value=math.nan)
    assert judge(pair, 0.01) == "undecided: hits@10 has no value"


def test_equal_models_stop_few_pull_requests() -> None:
    """A lower end below -margin, or a difference below it, would stop most of them."""
    stopped: Counter[str] = Counter()
    for seed in range(200):
        new, base = models_of(seed, 100)
        pairs, verdicts, _ = gate(base, new, ["mrr", "ndcg@10"], 0.01)
        stopped["gate"] += WORSE in verdicts.values()
        stopped["lower end"] += any(pair.low < -0.01 for pair in pairs)
    assert stopped["gate"] <= 10
    assert stopped["lower end"] >= 150


SIX = ["mrr", "ndcg@10", "ndcg@5", "hits@1", "hits@3", "hits@10"]


def test_four_of_five_equal_models_pass_of_as_many_queries_as_are_named() -> None:
    """To go on from the observed difference named a number that decided every second time."""
    numbers: dict[str, list[int]] = {key: [] for key in SIX}
    for seed in range(100, 120):
        models = models_of(seed, 150)[::-1]
        _, verdicts, _ = gate(*models, SIX, 0.02)
        for key, verdict in verdicts.items():
            number = NUMBER.fullmatch(verdict)
            if number:
                numbers[key].append(int(number[1].replace(",", "")))
    assert all(numbers.values())
    passed = {}
    for key, named in numbers.items():
        verdicts_of_key = []
        for seed in range(60):
            models = models_of(seed, named[seed % len(named)])[::-1]
            verdicts_of_key.append(gate(*models, [key], 0.02)[1][key])
        passed[key] = verdicts_of_key.count(NO_WORSE)
    assert min(passed.values()) >= 41
    assert max(passed.values()) <= 57


def test_a_metric_has_its_number_whatever_stands_beside_it() -> None:
    """Holm's first level named 2,600 of six metrics for 1,700 of one."""
    models = models_of(7, 150)[::-1]
    _, verdicts, _ = gate(*models, SIX, 0.02)
    numbers = [NUMBER.fullmatch(verdict) for verdict in verdicts.values()]
    assert sum(number is not None for number in numbers) >= 3
    for key, verdict in verdicts.items():
        assert gate(*models, [key], 0.02)[1] == {key: verdict}


def sessions(seed: int, n: int, exponent: float) -> tuple[tr.Ranks, tr.Ranks]:
    """A new model and a base, which are equal, of queries in sessions of Pareto's sizes."""
    rng = np.random.default_rng(seed)
    sizes = np.ceil(rng.pareto(exponent, n) + 1).clip(1, 1000).astype(int)
    new, base = models_of(seed, int(sizes.sum()))
    labels = np.repeat(np.arange(n), sizes)
    return new.with_labels(session=labels), base.with_labels(session=labels)


def test_a_number_is_named_where_few_units_carry_the_difference() -> None:
    """It has 4 heaviest / margin more, for the three units that are counted."""
    for seed in range(20):
        new, base = sessions(seed, 100, 1.3)
        pairs, verdicts, _ = gate(base, new, ["ndcg@10"], 0.002, unit="session")
        sizes = np.bincount(base.labels["session"].codes)
        errors = scipy.stats.norm.ppf(0.8) + scipy.stats.norm.ppf(0.975)
        units = (errors * pairs[0].deviation / 0.002) ** 2 + 4 * sizes.max() / sizes.mean() / 0.002
        number = re.search("about ([0-9,]+) sessions drawn anew", verdicts["ndcg@10"])
        assert number
        assert units <= int(number[1].replace(",", "")) <= 1.1 * units + 1
    base = ranks_of([1] * 400)
    new = ranks_of([1] * 397 + [2] * 3)
    pairs, verdicts, _ = gate(base, new, ["mrr"], 0.005)
    assert NUMBER.fullmatch(verdicts["mrr"])
    assert pairs[0].notes == ("few units carry it: mrr rests on about 3 of 400 tasks",)


def test_four_of_five_equal_models_pass_where_few_differ() -> None:
    """Of as many as are named, also where a small share differs, or none was seen to."""
    rng = np.random.default_rng(0)
    for share in (0.0, 0.01, 0.04):
        deviation = math.sqrt(share)
        errors = scipy.stats.norm.ppf(0.8) + scipy.stats.norm.ppf(0.975)
        n = math.ceil((errors * deviation / 0.01) ** 2 + 4 / 0.01)
        verdicts = []
        for _ in range(100):
            lost, won = rng.binomial(n, share / 2, 2).tolist()
            verdicts.append(judge(hits_apart(lost, won, n), 0.01).startswith(NO_WORSE))
        assert 74 <= sum(verdicts) <= 100


# True losses of nDCG@10, and the shift of the new model's logarithmic ranks that makes them.
SHIFTS = {"0": 0.0, ".02": 0.09, ".05": 0.223, ".10": 0.443}
PAGE = ROOT / "docs" / "how-to" / "gate.md"


def rows_of_losses(page: Path) -> list[tuple[str, str]]:
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^\| (0|\.[0-9]+) \| (.+) \|$", text, re.MULTILINE)


@pytest.mark.skipif(not PAGE.is_file(), reason="no pages beside these tests")
def test_the_page_has_the_figures_of_the_study() -> None:
    """300 pairs said 33, 65, 1 of 200 queries that lose .02; 2,158 say 25.5, 72.2, 2.2."""
    study = ROOT / "bench" / "studies" / "calibration.md"
    rows = rows_of_losses(PAGE)
    assert [loss for loss, _ in rows] == list(SHIFTS)
    assert rows == rows_of_losses(study)
    # Of n units of which 1 % differ none is drawn in .99^n of the samples.
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    (unseen,) = re.findall(
        r"(\d+) % of samples of 30 queries, (\d+) % of 100, and (\d+) % of 200", text
    )
    assert list(map(int, unseen)) == [round(100 * 0.99**n) for n in (30, 100, 200)]
    for n in (30, 100, 200):
        row = rf"^\| {n} \| .* \| {100 * 0.99**n:.1f} % \|$"
        assert re.search(row, study.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.sweep
@pytest.mark.skipif(not PAGE.is_file(), reason="no pages beside these tests")
@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("loss", SHIFTS)
def test_what_the_page_says_that_a_gate_can_see(loss: str, column: int) -> None:
    rows = dict(rows_of_losses(PAGE))
    percent = list(map(float, rows[loss].split(" | ")[column].split(", ")))
    seen: Counter[str] = Counter()
    pairs = 40
    for seed in range(pairs):
        new, base = models_of(seed, (50, 200, 1000)[column], SHIFTS[loss])
        seen[gate(base, new, ["ndcg@10"], 0.02)[1]["ndcg@10"]] += 1
    numbers = [seen[WORSE], pairs - seen[WORSE] - seen[NO_WORSE], seen[NO_WORSE]]
    for expected, number in zip(percent, numbers, strict=True):
        share = min(max(expected / 100, 0.01), 0.99)
        assert abs(number / pairs - share) < 4 * math.sqrt(share * (1 - share) / pairs)


# -- units -----------------------------------------------------------------------------------------


def test_a_gate_counts_units() -> None:
    """One of 20 users falls from rank 1 to 2 in all ten queries."""
    users = np.repeat([f"u{i}" for i in range(20)], 10)
    base = ranks_of([1] * 200).with_labels(user=users)
    new = ranks_of([2] * 10 + [1] * 190).with_labels(user=users)
    pairs, verdicts, _ = gate(base, new, ["mrr"], 0.05, unit="user")
    pair = pairs[0]
    assert (pair.wins, pair.ties, pair.losses, pair.units, pair.unit) == (0, 19, 1, 20, "user")
    assert verdicts["mrr"].startswith("undecided; with about 120 users drawn anew")
    notes = "few units: 20 users", "few units carry it: mrr rests on about 1 of 20 users"
    assert pair.notes == notes
    # Its twin: the same ten queries, each of which was drawn on its own.
    pairs, verdicts, _ = gate(base, new, ["mrr"], 0.02, unit="task")
    assert (pairs[0].losses, verdicts) == (10, {"mrr": WORSE})
    # Of 2,000 tasks one that weighs much may be among those that lose.
    many = ranks_of([1] * 2000), ranks_of([2] + [1] * 1999)
    assert gate(*many, ["mrr"], 0.01)[1] == {"mrr": NO_WORSE}
    weights = np.ones(2000)
    weights[5] = 1e5
    heavy = [ranks.with_weights(weights) for ranks in many]
    verdict = gate(heavy[0], heavy[1], ["mrr"], 0.01)[1]["mrr"]
    assert verdict.startswith("undecided; with about 790,000 tasks drawn anew")


def test_the_units_that_lost_most_are_named() -> None:
    base = ranks_of([1] * 40 + [2] * 10)
    new = ranks_of([1, 100, 2, 3, 100, 4, 5, 6] + [2] * 32 + [2] * 9 + [1])
    _, verdicts, losses = gate(base, new, ["mrr"], 0.02)
    assert verdicts == {"mrr": WORSE}
    expected = [("q1", 0.01), ("q4", 0.01), ("q7", 1 / 6), ("q6", 0.2), ("q5", 0.25)]
    of_mrr = [{"query": query, "base": 1.0, "new": value} for query, value in expected]
    assert losses == {"mrr": [pytest.approx(loss) for loss in of_mrr]}
    # Units by a label, and by labels that belong to the tasks of base, in whatever order new is.
    groups = np.repeat(["u", "v"], 25)
    order = np.random.default_rng(0).permutation(50)
    labelled = [ranks.with_labels(targets=np.arange(50)) for ranks in (base, new)]
    _, _, losses = gate(labelled[0], labelled[1][order], ["mrr"], 0.02, unit=np.arange(50))
    assert [loss["group"] for loss in losses["mrr"]] == [1, 4, 7, 6, 5]
    assert gate(*labelled, ["mrr"], 0.02, unit=groups)[0][0].units == 2
    # A triple is a row of the test, and a query has the name of its own.
    rng = np.random.default_rng(0)
    facts = [(head, 0, head + 1) for head in range(20)]
    task = tr.link_prediction.Task(facts, {}, entities=21)
    scores = rng.random((20, 21))
    best = scores + 2 * np.eye(20, 21, 1)
    reports = [task.evaluate_scores(tail=each, head=scores) for each in (best, scores)]
    _, _, losses = gate(*reports, ["mrr"], 0.02)
    assert all(list(loss) == ["triple", "base", "new"] for loss in losses["mrr"])
    worst = losses["mrr"][0]
    by_row = tr.report(reports[0].ranks, by="unit").group_values("mrr")
    assert by_row[worst["triple"]] == pytest.approx(worst["base"])


# -- models of tasks in another order --------------------------------------------------------------

NAMES = [f"n{i}" for i in range(12)]
RELATIONS = ["r", "s", "t"]
Fact = tuple[int, int, int]


def order(rng: np.random.Generator, names: list[str]) -> list[str]:
    return [names[i] for i in rng.permutation(len(names))]


def link_ranks(
    facts: list[Fact],
    scores: Any,
    entities: list[str] | int = NAMES,
    relations: list[str] = RELATIONS,
    sides: tuple[str, ...] = ("head", "tail"),
) -> tr.Ranks:
    """Rank facts by scores of (head, relation, tail), with elements and columns in some order."""
    places = range(12) if isinstance(entities, int) else [NAMES.index(name) for name in entities]
    kinds = [RELATIONS.index(name) for name in relations]
    called: Any = (
        facts
        if isinstance(entities, int)
        else [(NAMES[head], RELATIONS[relation], NAMES[tail]) for head, relation, tail in facts]
    )
    task = tr.link_prediction.Task(
        called,
        {},
        entities=entities,
        relations=relations if called is not facts else 3,
        sides=sides,
    )
    table = scores[places][:, kinds][:, :, places]
    scorers = {
        "head": lambda queries: table[:, queries[:, 0], queries[:, 1]].T,
        "tail": lambda queries: table[queries[:, 0], queries[:, 1]],
    }
    return task.evaluate(**{side: scorers[side] for side in sides}).ranks


@examples(40)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 30),
    st.sampled_from([("head", "tail"), ("tail",), ("head",)]),
    st.sampled_from(["unit", "task", "query", "relation"]),
)
def test_two_tasks_in_any_order_are_paired_by_names(
    seed: int, n: int, sides: tuple[str, ...], unit: str
) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.choice(12 * 3 * 12, n, replace=False).tolist()
    facts = [(number // 36, number // 12 % 3, number % 12) for number in numbers]
    one, two = rng.random((2, 12, 3, 12))
    a, b = (link_ranks(facts, scores, sides=sides) for scores in (one, two))
    expected = compare(a, b, unit=unit)
    same = link_ranks([facts[i] for i in rng.permutation(n)], two, sides=sides)
    entities, relations = order(rng, NAMES), order(rng, RELATIONS)
    mixed_facts = [facts[i] for i in rng.permutation(n)]
    mixed = link_ranks(mixed_facts, two, entities, relations, sides)
    by_order = [same, link_ranks(facts, two, entities, relations, sides), mixed, mixed[::-1]]
    for other in by_order:
        pair = compare(a, other, unit=unit)
        assert (pair.wins, pair.ties, pair.losses) == (
            expected.wins,
            expected.ties,
            expected.losses,
        )
        values = (pair.value_b, pair.estimate, pair.low, pair.p_value, pair.units)
        assert values == pytest.approx(
            (expected.value_b, expected.estimate, expected.low, expected.p_value, expected.units),
            rel=1e-9,
            abs=1e-12,
            nan_ok=True,
        )
    # Several runs of a model, each in an order of its own.
    runs = compare([a, link_ranks(mixed_facts, one, entities, relations, sides)], [mixed, b])
    assert (runs.value_a, runs.value_b) == pytest.approx((expected.value_a, expected.value_b))
    assert runs.pairing in ("query and target names", "query and target ids")


def test_numbers_of_unlike_entities_are_never_paired() -> None:
    """Two equal models, one of them by numbers: what was 1 win and 1 loss is refused."""
    scores = np.random.default_rng(0).random((12, 3, 12))
    facts = [(0, 0, 1), (1, 0, 0)]
    named = link_ranks(facts, scores)
    turned = link_ranks(facts[::-1], scores, [*NAMES[1::-1], *NAMES[2:]])
    pair = compare(named, turned)
    assert (pair.wins, pair.ties, pair.losses) == (0, 2, 0)
    numbered = link_ranks(facts, scores, 12)
    words = "entities: 12 entities by name .* against 12 entities; name the entities of both tasks"
    message = refusal(ValueError, words, compare, named, numbered)
    assert "allow_unlike" not in message
    refusal(ValueError, words, compare, named, numbered, allow_unlike=True)
    # Its twins: numbers of the same entities, and names that the user gives both.
    pair = compare(numbered, link_ranks(facts[::-1], scores, 12))
    assert (pair.wins, pair.losses, pair.pairing) == (0, 0, "query and target ids")
    labels = {"queries": ["a", "b", "c", "d"], "targets": ["x"] * 4}
    assert compare(named.with_labels(**labels), numbered.with_labels(**labels)).ties == 2


def aligned(
    pairs: list[tuple[int, int]], scores: Any, left: list[str] | int, right: list[str] | int
) -> tr.Ranks:
    """Rank pairs by scores of (left, right), with both graphs in some order, or as numbers."""
    sides = (left, right)
    names = [[f"{kind}{i}" for i in range(6)] for kind in "lr"]
    places: Any = []
    elements: Any = []
    for side, own in zip(sides, names, strict=True):
        is_count = isinstance(side, int)
        places.append(range(6) if is_count else [own.index(name) for name in side])
        elements.append(range(6) if is_count else own)
    called = [(elements[0][i], elements[1][j]) for i, j in pairs]
    task = tr.alignment.Task(called, left=left, right=right)
    return task.evaluate_scores(scores[places[0]][:, places[1]]).ranks


def test_alignment_and_retrieval_are_paired_by_names() -> None:
    rng = np.random.default_rng(3)
    one, two = rng.random((2, 6, 6))
    pairs = [(i, int(j)) for i, j in enumerate(rng.permutation(6))]
    left, right = ([f"{kind}{i}" for i in range(6)] for kind in "lr")
    a, b = (aligned(pairs, scores, left, right) for scores in (one, two))
    expected = compare(a, b)
    turned = aligned(pairs[::-1], two, order(rng, left), order(rng, right))
    pair = compare(a, turned)
    assert replace(pair, notes=()) == replace(expected, notes=())
    words = "names against integer ids|entities: |left"
    for other in (aligned(pairs, two, 6, 6), aligned(pairs, two, order(rng, left), 6)):
        for allow_unlike in (False, True):
            message = refusal(ValueError, words, compare, a, other, allow_unlike=allow_unlike)
            assert "allow_unlike=True" not in message
    halves = [aligned(pairs, two, names, 6) for names in (left, left[::-1])]
    message = refusal(ValueError, "name the entities of both tasks", compare, *halves)
    refusal(ValueError, "name the entities of both tasks", compare, *halves, allow_unlike=True)
    assert compare(halves[0], aligned(pairs[::-1], two, left, 6)).ties == 6


def test_retrieval_is_paired_by_names() -> None:
    rng = np.random.default_rng(3)
    qrels = {f"q{i}": {f"d{j}": 1 for j in (i, (2 * i) % 7)} for i in range(7)}
    documents, queries = ([f"{kind}{i}" for i in range(7)] for kind in "dq")
    scores, others = rng.random((2, 7, 7))

    def retrieved(scores: Any, documents: list[str], queries: list[str]) -> tr.Report:
        rows, columns = ([int(name[1:]) for name in names] for names in (queries, documents))
        truths = {query: qrels[query] for query in queries}
        task = tr.retrieval.Task(truths, entities=documents, queries=queries)
        return task.evaluate_scores(scores[rows][:, columns])

    first = retrieved(scores, documents, queries)
    expected = compare(first, retrieved(others, documents, queries), "ndcg@3")
    turned_report = retrieved(others, order(rng, documents), order(rng, queries))
    pair = compare(first, turned_report, "ndcg@3")
    assert (pair.wins, pair.losses, pair.pairing) == (
        expected.wins,
        expected.losses,
        "query and target ids",
    )
    assert (pair.estimate, pair.p_value) == pytest.approx((expected.estimate, expected.p_value))


# -- what one loop of one's own leaves out --------------------------------------------------------

APART = "heads and tails of one fact are counted apart, without a label unit"


def ranked_by_hand(seed: int, sides: list[str], n: int = 300, **labels: Any) -> tr.Ranks:
    """Rank n facts by random scores, as a loop over batches does, side after side."""
    rng = np.random.default_rng(seed)
    tasks = n * len(sides)
    ranks = tr.rank(rng.random((tasks, 20)), rng.integers(0, 20, tasks))
    return ranks.with_labels(side=np.repeat(sides, n), **labels)


def test_heads_and_tails_without_a_unit_are_said_to_be_counted_apart() -> None:
    sides = ["head", "tail"]
    facts = np.tile(np.arange(300), 2)
    relation = np.array(["r", "s", "t"])[facts % 3]
    a, b = (ranked_by_hand(seed, sides, queries=np.arange(600)) for seed in (0, 1))
    report = tr.report(a.with_labels(relation=relation), by="relation")
    assert tr.report(a).interval("mrr").notes == (APART,)
    assert compare(a, b).notes == (APART,)
    assert compare([a, b], [b, a]).notes == (APART, "few runs: 2")
    few = tr.report(ranked_by_hand(0, sides, n=40)).interval("hits@10")
    assert few.notes == (APART, "few units: 80 tasks")
    assert tr.report(a).interval("median").notes == (APART,)
    # Once for each result, and never in the forms of papers unless asked.
    models = {"a": report, "b": tr.report(b.with_labels(relation=relation), by="relation")}
    for result, options in (
        (tr.report(a).interval(["mrr", "hits@10", "tail.mrr"]), {}),
        (tr.compare(models, metric=["mrr", "hits@1", "head.mrr"]), {}),
        (report, {"interval": True}),
        (tr.table(models, ["mrr", "hits@1"], interval=True, groups=True, against="best"), {}),
    ):
        text = result.to_text(**options)
        assert len(re.findall("counted apart", text, re.IGNORECASE)) == 1, text
        assert "counted apart" not in result.to_latex(**options)
        assert "counted apart" not in result.to_csv(**options)
    assert "counted apart" in tr.report(a).interval(["mrr"]).to_latex(notes=True)
    # Its twins: one side alone, units by a label or by the option, and what was asked for.
    assert tr.report(a).interval("tail.mrr").notes == ()
    assert tr.report(ranked_by_hand(0, ["tail"])).interval("mrr").notes == ()
    joined = a.with_labels(unit=facts)
    assert tr.report(joined).interval("mrr").notes == ()
    assert compare(joined, b.with_labels(unit=facts)).notes == ()
    for unit in (facts, "task", None):
        assert tr.report(a).interval("mrr", unit=unit).notes == ()
    assert tr.report(a.with_labels(side=None)).interval("mrr").notes == ()
    task = tr.link_prediction.Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3)
    of_task = task.evaluate_scores(**dict.fromkeys(sides, np.arange(9.0).reshape(3, 3)[:, ::-1]))
    assert all("apart" not in note for note in of_task.interval("mrr").notes)


def looped(facts: list[Fact], scores: Any, numbers: Any) -> tr.Ranks:
    """Rank facts as a loop of one's own does, both sides with the filter of the test."""
    parts = []
    rows = np.array(facts)
    for side, column, other in (("tail", 2, 0), ("head", 0, 2)):
        targets, by = rows[:, column], rows[:, other]
        of_side = scores if side == "tail" else scores.transpose(2, 1, 0)
        known = [rows[(rows[:, 1] == r) & (by == e), column] for r, e in rows[:, [1, other]]]
        ranks = tr.rank(of_side[by, rows[:, 1]], targets, filter=known)
        labels = {"relation": rows[:, 1], "unit": np.arange(len(rows)), "targets": targets}
        parts.append(ranks.with_labels(side=side, queries=numbers(rows[:, 1], by), **labels))
    return tr.concatenate(parts).with_protocol(split="test", filter="test")


def test_a_loop_that_numbers_queries_as_a_task_pairs_with_it() -> None:
    """Of relation 0 alone the number of the entity is that of the query."""
    facts = [(0, 0, 1), (0, 1, 2), (1, 2, 0), (2, 1, 0), (1, 1, 2), (3, 2, 3)]
    scores = np.random.default_rng(0).random((12, 3, 12))
    report = tr.report(link_ranks(facts, scores, 12))
    joined = tr.report(looped(facts[::-1], scores, lambda r, e: r * 12 + e))
    pair = compare(report, joined)
    assert (pair.estimate, pair.wins, pair.losses, pair.units) == (0, 0, 0, 6)
    assert (pair.pairing, pair.unit) == ("query and target ids", "triple")
    table = tr.table({"task": report, "loop": joined}, ["mrr", "hits@1"]).to_dict()
    assert table["mrr"] == pytest.approx([report["mrr"]] * 2)
    # By the entity alone, a query is another one; the refusal says in what numbers differ.
    by_entity = looped(facts, scores, lambda r, e: e)
    words = (
        r"only b has 10, .*; without queries all tasks pair: {} has a Task's numbers of queries \("
    )
    words += r"for triples relation \* entities \+ entity\)(; allow_unlike=|$)"
    refusal(ValueError, words.format("a"), compare, report, by_entity)
    refusal(ValueError, words.format("b"), compare, by_entity, report)
    models = {"task": report, "b": tr.report(by_entity)}
    refusal(ValueError, words.format("task"), tr.table, models)
    numbers = by_entity.relation.values * 12 + by_entity.queries.values
    assert compare(report, by_entity.with_labels(queries=numbers)).units == 6
    # Its twins: other facts, and numbers of which nobody is a task's, are no matter of numbers.
    other = looped([*facts[:5], (4, 2, 3)], scores, lambda r, e: r * 12 + e)
    own = looped(facts, scores, lambda r, e: r * 100 + e)
    for one, two in ((report, other), (own, by_entity)):
        message = refusal(ValueError, "only b has", compare, one, two)
        assert "all pair" not in message
    assert compare(
        looped(facts[:1], scores, lambda r, e: e), link_ranks(facts[:1], scores, 12)
    ).ties


def test_ranks_of_a_task_have_the_triple_in_columns() -> None:
    """By names where the task has them; of a file, and of parts that are joined, too."""
    pytest.importorskip("pandas")
    facts = [(0, 0, 1), (5, 2, 3), (3, 1, 11), (5, 1, 1)]
    scores = np.random.default_rng(0).random((12, 3, 12))
    called = [(NAMES[head], RELATIONS[relation], NAMES[tail]) for head, relation, tail in facts]
    ranks = link_ranks(facts, scores)
    assert ranks.labels["head"].vocabulary == ("n0", "n3", "n5")
    for each, triples in ((ranks, called), (link_ranks(facts, scores, 12), facts)):
        frame = each.to_pandas()
        columns = [frame[name].tolist() for name in ("head", "relation", "tail")]
        assert list(zip(*columns, strict=True)) == triples * 2
        assert frame.side.tolist() == ["head"] * 4 + ["tail"] * 4
    turned = link_ranks(facts, scores, NAMES[::-1], RELATIONS[::-1]).to_pandas()
    assert turned["head"].tolist() == ranks.to_pandas()["head"].tolist()


def test_one_run_beside_several_is_told_its_way_out() -> None:
    runs = [ranked_by_hand(seed, ["tail"], queries=np.arange(300)) for seed in range(4)]
    words = r"a deterministic model: give the same run 3 times\), got one"
    refusal(TypeError, f"a: expected several runs, .*{words}", compare, runs[0], runs[1:])
    refusal(TypeError, f"b: expected several runs, .*{words}", compare, runs[1:], runs[0])
    pair = compare([runs[0]] * 3, runs[1:])
    assert (pair.runs_a, pair.runs_b) == (3, 3)
    assert 0 < pair.p_value < 1


# -- at the command line ---------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Run `truerank compare` in a folder of its own: the exit code, and both outputs."""
    from support.cli_files import run_here

    monkeypatch.chdir(tmp_path)
    return lambda line: run_here(capsys, "compare", *line.split())


def save_models(lost: int, won: int, n: int = 200) -> None:
    new, base = hits(lost, won, n)
    new.save("new.npz")
    base.save("base.npz")


def test_the_last_lines_and_the_exit_code(run: Any) -> None:
    save_models(lost=60, won=1)
    code, out, err = run("base.npz new.npz --metrics hits@10,mrr --margin 0.01")
    assert (code, err) == (3, "")
    lines = out.splitlines()
    lost = "; ".join(f"query q{i} (1.000 to 0.000)" for i in range(5)) + "; --by query lists all"
    assert lines[-4:-1] == ["hits@10 worse", f"lost most: {lost}", "mrr worse"]
    assert lines[-1].startswith("lost most: query q0 (1.000 to 0.091); ")
    assert lines[0].split()[:7] == ["metric", "base", "new", "new", "-", "base", "95"]
    assert lines[1].split()[:5] == ["Hits@10", "\u2191", "0.650", "0.355", "-0.295"]
    # The same files the other way round, and without a margin, as they always were.
    code, out, _ = run("new.npz base.npz --metrics hits@10,mrr --margin 0.01")
    expected = ["hits@10 no worse", "lost most: query q60 (1.000 to 0.000)", "mrr no worse"]
    assert (code, out.splitlines()[-4:-1]) == (0, expected)  # It is one of 61 that differ.
    code, out, _ = run("base.npz new.npz --metrics hits@10,mrr")
    assert (code, out.splitlines()[1].split()[6]) == (0, "0.295")
    assert "worse" not in out
    save_models(lost=9, won=6)
    code, out, _ = run("base.npz new.npz --metrics hits@10 --margin 0.01 --no-notes")
    assert code == 0
    verdict, losses = out.splitlines()[-2:]
    assert NUMBER.fullmatch(verdict.removeprefix("hits@10 "))
    assert losses == f"lost most: {lost}"
    # Where none lost there is nothing to name.
    save_models(lost=0, won=9)
    assert run("base.npz new.npz --margin 0.01 --no-notes")[1].splitlines()[-1] == "mrr no worse"


def test_every_form_has_the_verdicts(run: Any) -> None:
    save_models(lost=60, won=1)
    line = "base.npz new.npz --metrics hits@10,mrr --margin 0.01 --format "
    expected = ["worse", "worse"]
    code, out, err = run(line + "json")
    assert (code, err) == (3, "")
    rows = json.loads(out)["rows"]
    assert [row["verdict"] for row in rows] == expected
    assert (rows[0]["base"], rows[0]["new"]) == (0.65, 0.355)
    assert rows[0]["difference"] == pytest.approx(-0.295)
    assert rows[0]["lost_most"][4] == {"query": "q4", "base": 1.0, "new": 0.0}
    losses = []
    for row in rows:
        parts = [
            f"query {loss['query']} ({loss['base']:.3f} to {loss['new']:.3f})"
            for loss in row["lost_most"]
        ]
        parts.append("--by query lists all")
        losses.append(f"{row['metric']} worse\nlost most: {'; '.join(parts)}\n")
    lines = "".join(losses)
    code, out, err = run(line + "csv")
    assert (code, err) == (3, lines)
    assert [row["verdict"] for row in csv.DictReader(io.StringIO(out))] == expected
    for style in ("markdown", "latex", "html"):
        code, out, err = run(line + style)
        assert (code, err, len(re.findall("worse", out))) == (3, lines, 2)
    code, out, err = run(line.replace("--format ", "--output summary.md"))
    assert (code, out, err) == (3, "", lines)
    assert "| verdict |" in Path("summary.md").read_text(encoding="utf-8")
    assert run("base.npz new.npz --metrics mrr --margin 0.01 --output gate.json") == (3, "", "")
    assert json.loads(Path("gate.json").read_text(encoding="utf-8"))["rows"][0]["verdict"] == WORSE


def test_all_that_lost_are_listed(run: Any) -> None:
    """Five queries were named, and the others could not be asked for."""
    save_models(lost=60, won=1)
    line = "base.npz new.npz --metrics hits@10,mrr --by query"
    code, out, err = run(f"{line} --format csv")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0]) == ["metric", "query", "base", "new", "difference"]
    for metric, value in (("hits@10", 0), ("mrr", 1 / 11)):
        of_metric = [row for row in rows if row["metric"] == metric]
        assert [row["query"] for row in of_metric] == [f"q{i}" for i in range(60)]
        assert {float(row["base"]) for row in of_metric} == {1}
        assert {float(row["new"]) for row in of_metric} == {value}
        assert {float(row["difference"]) for row in of_metric} == {value - 1}
    # With a margin the verdicts and the exit code stay; what is listed is the same.
    verdicts = ["hits@10 worse", "mrr worse"]
    outcome = run(f"{line} --margin 0.01 --format csv")
    assert outcome == (3, out, "".join(f"{verdict}\n" for verdict in verdicts))
    code, text, err = run(f"{line} --margin 0.01")
    assert (code, err) == (3, "")
    assert text.splitlines()[0].split() == ["metric", "query", "base", "new", "new", "-", "base"]
    assert text.splitlines()[1].split() == ["hits@10", "q0", "1.000", "0.000", "-1.000"]
    assert text.splitlines()[-2:] == verdicts
    code, text, _ = run(f"{line} --margin 0.01 --json")
    content = json.loads(text)
    assert (code, len(content["rows"])) == (3, 120)
    assert content["verdicts"] == {"hits@10": "worse", "mrr": "worse"}
    # Nothing lost, a metric that is no share, and what cannot be listed.
    hits(60, 1, 200)[0].save("same.npz")
    code, out, _ = run("new.npz same.npz --metrics hits@10,mrr --by query --format csv")
    assert (code, out) == (0, "metric,query,base,new,difference\n")
    code, out, err = run(f"{line} --format csv".replace("mrr", "mrr,mr"))
    assert (code, len(out.splitlines())) == (1, 121)
    assert err.startswith("mr refused: expected metrics between 0 and 1")
    code, _, err = run("base.npz new.npz --by nothing")
    assert (code, "--by: these ranks have no labels 'nothing'" in err) == (1, True)
    hits(3, 0, 200)[0].save("other.npz")
    code, _, err = run("base.npz new.npz other.npz --by query")
    assert (code, "--margin and --by need two files, base first" in err) == (2, True)


def test_groups_that_lost_are_those_of_any_label(run: Any) -> None:
    rng = np.random.default_rng(0)
    facts = [(head, head % 3, head + 20) for head in range(20)]
    task = tr.link_prediction.Task(facts, {}, entities=40)
    models = {}
    for name in ("base", "new"):
        scores = rng.random((2, 20, 40))
        models[name] = task.evaluate_scores(tail=scores[0], head=scores[1])
        models[name].ranks.save(f"{name}.npz")
    options = "--metrics mrr --format csv --no-notes"
    for label in ("relation", "side", "unit"):
        code, out, _ = run(f"base.npz new.npz --by {label} {options}")
        groups = [tr.report(each.ranks, by=label).group_values("mrr") for each in models.values()]
        expected = {str(x): groups[1][x] - groups[0][x] for x in groups[0]}
        expected = {x: value for x, value in expected.items() if value < 0}
        rows = list(csv.DictReader(io.StringIO(out)))
        assert code == 0
        found = {row[label]: float(row["difference"]) for row in rows}
        assert found == pytest.approx(expected)
        assert list(found.values()) == sorted(found.values())
    # Queries of two sides may have one number; the unit is a label of triples.
    _, out, _ = run(f"base.npz new.npz --by query {options}")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert list(rows[0])[:3] == ["metric", "side", "query"]
    assert len({(row["side"], row["query"]) for row in rows}) == len(rows)
    for unit, label in (("unit", "unit"), ("query", "query")):
        out = run(f"base.npz new.npz --unit {unit} --margin 0.01 --metrics mrr")[1]
        assert out.splitlines()[-1].endswith(f"; --by {label} lists all")
    out = run("base.npz new.npz --unit task --margin 0.01 --metrics mrr")[1]
    assert out.splitlines()[-1].startswith("lost most: side ")
    assert "--by" not in out


def test_several_metrics_are_judged_by_holms_rule(run: Any) -> None:
    lost = next(k for k in range(20, 60) if hits_apart(k, 20, 400).p_value < 0.05)
    save_models(lost, 20, 400)
    line = "base.npz new.npz --margin 0.01 --metrics "
    assert run(line + "hits@10")[0] == 3
    code, out, _ = run(line + "hits@10,hits@5")
    assert code == 0
    assert all("undecided" in row for row in out.splitlines()[-4::2])
    assert run(line + "hits@10,hits@10") == run(line + "hits@10")  # It is one question.


def test_a_margin_that_nothing_exceeds_is_refused(run: Any) -> None:
    """Of --margin 1, for 1 %, a new model that lost .2 was no worse."""
    new, base = hits(60, 1, 200)
    new.save("new.npz")
    base.save("base.npz")
    for margin in ("1", "0.5", "1.5", "-0.1", "nan"):
        expected = "expected a loss that does not matter, from 0 to below 0.5 (0.01 is 1 %)"
        words = f"margin: {expected}, got {float(margin)}"
        code, out, err = run(f"base.npz new.npz --metrics hits@10 --margin {margin}")
        assert (code, out, err) == (1, "", f"Error: --{words}\n")
        assert refusal(ValueError, "^m", gate, base, new, ["mrr"], float(margin)) == words
    # What is just below is a margin.
    assert run("base.npz new.npz --metrics hits@10 --margin 0.01")[0] == 3
    assert run("base.npz new.npz --metrics hits@10")[0] == 0
    assert run("base.npz new.npz --metrics hits@10 --margin 0.499")[0] == 0
    assert run("base.npz new.npz --margin 0")[0] == 3


def test_what_a_gate_refuses(run: Any) -> None:
    save_models(3, 0)
    hits(3, 0, 200)[0].save("other.npz")
    for metric in ("mr", "index.mrr", "gmr"):
        why = "expected metrics between 0 and 1 where more is better, with a margin, got"
        code, out, err = run(f"base.npz new.npz --metrics {metric} --margin 0.01")
        assert (code, out, err) == (1, "", f"Error: --metrics: {why} {metric}\n")
        # The others keep their verdicts; a model that is worse by one of them is worse.
        line = f"base.npz new.npz --metrics {metric},mrr --margin"
        code, out, err = run(f"{line} 0.1")
        assert (code, err) == (1, "")
        lines = out.splitlines()
        assert (lines[-3], lines[-1]) == ("mrr no worse", f"{metric} refused: {why} {metric}")
        code, out, _ = run(f"{line} 0.1 --format json")
        assert (code, json.loads(out)["refused"]) == (1, {metric: f"refused: {why} {metric}"})
        assert run(f"base.npz new.npz --metrics mrr,{metric}")[0] == 0
    save_models(60, 1)
    code, out, _ = run("base.npz new.npz --metrics mr,hits@10,mrr10 --margin 0.01")
    assert (code, out.splitlines()[-4]) == (3, "hits@10 worse")
    save_models(3, 0)
    for size, name in ((3, "x"), (2, "y")):
        task = tr.retrieval.Task({"q": {"a": 2, "b": 1}}, entities=["a", "b", "c"])
        task.evaluate_lists({"q": list("acb")[:size]}).ranks.save(f"{name}.npz")
    code, out, _ = run("x.npz y.npz --metrics ndcg,dcg --margin 0.01")
    assert code == 1
    assert out.endswith("with a margin, got dcg\n")
    assert run("x.npz y.npz --metrics ndcg,map --margin 0.01")[0] == 0
    code, _, err = run("base.npz new.npz --metrics median --margin 0.01")
    assert (code, err) == (
        1,
        "Error: --metrics: median is not a mean over units; compare mrr, mr or hits@k\n",
    )
    code, out, err = run("base.npz new.npz other.npz --margin 0.01")
    assert (code, out) == (2, "")
    assert "--margin and --by need two files, base first" in err
    assert run("base.npz new.npz other.npz")[0] == 0
    # Nothing is written before all is checked.
    pytest.importorskip("matplotlib")
    assert run("base.npz new.npz --metrics mr --margin 0.01 --html page.html")[0] == 1
    assert not Path("page.html").exists()


def test_a_golden_set_that_grew_is_evaluated_anew(run: Any) -> None:
    for size in (50, 60):
        qrels = {f"q{i}": ["a"] for i in range(size)}
        lists = {f"q{i}": ["b", "a"] if i % 2 else ["a"] for i in range(size)}
        task = tr.retrieval.Task(qrels, entities=["a", "b", "c"])
        task.evaluate_lists(lists).ranks.save(f"{size}.npz")
        run_lines = [
            f"{query} Q0 {document} {place} {-place} t\n"
            for query, documents in lists.items()
            for place, document in enumerate(documents, 1)
        ]
        Path(f"{size}.run").write_text("".join(run_lines))
        Path("qrels.txt").write_text("".join(f"{query} 0 a 1\n" for query in qrels))
    line = "--metrics ndcg@10 --margin 0.01"
    code, _, err = run(f"50.npz 60.npz {line}")
    assert code == 1
    words = "; if queries or grades were changed, evaluate both anew with the same ones"
    assert err.endswith(f"{words}; --common leaves out what was not asked of base\n")
    Path("old.run").write_text(Path("60.run").read_text())
    code, out, _ = run(f"old.run 60.run --qrels qrels.txt --candidates 3 {line}")
    verdict = "ndcg@10 no worse (nothing differs; a loss of up to 0.055 could be unseen)"
    assert (code, out.splitlines()[-1]) == (0, verdict)
    reports = [tr.report(tr.load(f"{size}.npz")) for size in (50, 60)]
    words += "; common=True leaves out what was not asked of a"
    refusal(ValueError, f"{words}$", compare, *reports, metric="ndcg@10")
    refusal(ValueError, f"{words}$", compare, *reports, metric="ndcg@10", allow_unlike=True)


def test_lists_of_unlike_length_are_compared_by_what_does_not_count_them(run: Any) -> None:
    """Their entries are the candidates, on whose number auc depends, and no place in the lists."""
    lists = {"old": ["b a c", "a b"], "new": ["a b c d", "b a c"]}
    Path("qrels.txt").write_text("".join(f"q{i} 0 a 1\n" for i in range(2)), encoding="utf-8")
    for name, of_queries in lists.items():
        rows = []
        for i, documents in enumerate(of_queries):
            for place, document in enumerate(documents.split(), 1):
                rows.append(f"q{i} Q0 {document} {place} {-place} t\n")
        Path(f"{name}.run").write_text("".join(rows), encoding="utf-8")
    line = "old.run new.run --qrels qrels.txt --candidates listed --format csv --metrics"
    code, out, err = run(f"{line} ndcg@10,mrr,map,recall@1")
    assert (code, err) == (0, "")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [(row["value_a"], row["value_b"]) for row in rows[1:]] == [("0.75", "0.75")] * 2 + [
        ("0.5", "0.5")
    ]
    assert {(row["wins"], row["losses"]) for row in rows} == {("1", "1")}
    code, out, err = run(f"{line} auc")
    assert (code, out) == (1, "")
    assert "candidates: 2 of 2 tasks differ, the first at position 0 (3 against 4)" in err
    code, out, err = run(f"{line} auc,mrr --margin 0.1")
    assert (code, len(out.splitlines())) == (1, 2)
    assert "auc refused: cannot be compared with new: candidates: 2 of 2 tasks differ" in err


def test_messages_of_the_command_line_have_its_options(run: Any) -> None:
    new, base = hits(3, 0, 200)
    new.with_protocol(split="valid").save("new.npz")
    base.save("base.npz")
    code, _, err = run("base.npz new.npz")
    assert code == 1
    assert err.endswith("; --allow-unlike compares them anyway\n")
    assert run("base.npz new.npz --allow-unlike")[0] == 0


def test_tasks_without_labels_are_named_by_their_number() -> None:
    base = tr.Ranks([0, 0, 1], [1, 1, 1], 9)
    new = tr.Ranks([0, 3, 1], [1, 1, 1], 9)
    losses = gate(base, new, ["mrr"], 0.01)[2]
    assert losses == {"mrr": [{"task": 1, "base": 1.0, "new": 0.25}]}
