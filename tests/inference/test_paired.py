"""Test comparisons: p-values against plain loops over swapped ranks, and what is said of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank import Protocol, Ranks, Report, report, table
from truerank.inference import Comparison, Comparisons, compare
from truerank.inference.multiplicity.corrections import holm
from truerank.inference.paired_models.paired_tests import signed_rank

pytestmark = pytest.mark.python_only

METRICS = ("mr", "mrr", "hits@3", "gmr", "median", "std", "mad", "power_mean:2")
KEYS = (*METRICS, "index.mrr", "z.mr", "ratio.hits@3", "z.gmr", "expected.mrr", "expected.median")


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Ranks, Ranks]:
    """Two models over 1 to 6 tasks, with ties, queries and perhaps weights."""
    n = draw(st.integers(1, 6))
    numbers = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    above, more = ([np.array(draw(numbers)) for _ in range(2)] for _ in range(2))
    below = np.array(draw(numbers))
    candidates = np.maximum(above[0] + more[0], above[1] + more[1]) + below + 1
    shared = {"queries": draw(numbers), "targets": range(n)}
    if draw(st.booleans()):
        some = st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)
        shared["weights"] = draw(some)
    a, b = (Ranks(above[i], more[i] + 1, candidates, **shared) for i in range(2))
    return a, b


def swapped(a: Ranks, b: Ranks, mask: np.ndarray) -> tuple[Ranks, Ranks]:
    """Two models with the ranks of some tasks exchanged."""

    def mixed(one: Ranks, two: Ranks) -> Ranks:
        above, tied = (np.where(mask, getattr(two, x), getattr(one, x)) for x in ("above", "tied"))
        return Ranks(above, tied, one.candidates, weights=one.weights)

    return mixed(a, b), mixed(b, a)


def difference(a: Ranks, b: Ranks, key: str) -> float:
    return report(a)[key] - report(b)[key]


def unit_of(ranks: Ranks, by: str | None) -> np.ndarray:
    codes = np.arange(len(ranks)) if by is None else ranks.queries.codes
    return np.unique(codes, return_inverse=True)[1]


@given(pairs(), st.sampled_from(KEYS), st.sampled_from([None, "query"]))
@settings(max_examples=150)
def test_permutation_is_every_swap(models: tuple[Ranks, Ranks], key: str, by: str | None) -> None:
    a, b = models
    if "gmr" in key and a.weights is not None:
        a, b = a.with_weights(None), b.with_weights(None)
    found = compare(a, b, metric=key, by=by, resamples=64)
    unit = unit_of(a, by)
    measured = difference(a, b, key)
    assert found.difference == pytest.approx(measured, nan_ok=True)
    if math.isnan(measured):
        assert math.isnan(found.p_value)
        return
    ways = [
        difference(*swapped(a, b, np.array(way)[unit]), key)
        for way in itertools.product([False, True], repeat=int(unit.max()) + 1)
    ]
    scale = abs(measured) + abs(report(a)[key])
    beyond = [not abs(way) < abs(measured) - 1e-11 * scale - 1e-14 for way in ways]
    assert found.p_value == pytest.approx(np.mean(beyond))
    assert found.units == unit.max() + 1
    if found.basis == "swaps" and found.units > 1 and found.low < found.high:
        assert (found.low <= 0 <= found.high) == (found.p_value > round(1 - found.level, 9))
    assert found.pairing == "query and target ids"


@given(pairs(), st.sampled_from(KEYS), st.sampled_from([None, "query"]))
@settings(max_examples=60)
def test_bootstrapped_p_and_interval_agree(
    models: tuple[Ranks, Ranks], key: str, by: str | None
) -> None:
    a, b = models
    found = compare(a, b, metric=key, by=by, resamples=199, seed=3, method="bootstrap", level=0.8)
    assert found.basis in ("studentised bootstrap", "percentile bootstrap", "")
    if math.isnan(found.p_value + found.low) or found.low == found.high:
        return
    if any("zero width" in note for note in found.notes):
        return
    assert (found.low <= 0 <= found.high) == (found.p_value > round(1 - found.level, 9))
    assert not any("do not agree" in note for note in found.notes)


@pytest.mark.parametrize("key", ["mrr", "hits@10", "median", "gmr", "expected.mr", "index.mrr"])
def test_wilcoxon_ranks_the_exact_differences(key: str) -> None:
    a, b = models(300)
    found = compare(a, b, metric=key, method="wilcoxon", by="task", resamples=50)
    one, two = ([Fraction(x) for x in ranks.realistic] for ranks in (a, b))
    # exact: the size of each difference, and its sign
    pairs = list(zip(one, two, strict=True))
    if key.endswith("mrr"):
        apart = [1 / x - 1 / y for x, y in pairs]
    elif key == "hits@10":
        apart = [Fraction((x <= 10) - (y <= 10)) for x, y in pairs]
    elif key == "gmr":  # |log x - log y| grows with the larger quotient
        apart = [(max(x / y, y / x) - 1) * (1 if x > y else -1) for x, y in pairs]
    else:
        apart = [x - y for x, y in pairs]
    sizes = {size: i for i, size in enumerate(sorted({Fraction(0), *map(abs, apart)}))}
    coded = [sizes[abs(x)] * (1 if x > 0 else -1) for x in apart]
    assert found.p_value == signed_rank(np.array(coded, dtype=float))
    assert found.method == "wilcoxon"


def models(n: int, seed: int = 0) -> tuple[Ranks, Ranks]:
    rng = np.random.default_rng(seed)
    shared = {"queries": rng.integers(0, n // 4, n), "targets": np.arange(n)}
    above = rng.geometric(0.05, (2, n))
    tied = rng.integers(1, 3, (2, n))
    a, b = (Ranks(above[i], tied[i], 1000, **shared) for i in range(2))
    return a, b


# -- what a comparison says ------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["permutation", "bootstrap", "wilcoxon"])
def test_a_model_against_itself(method: str) -> None:
    a, _ = models(60)
    found = compare(a, a, metric="index.mrr", method=method, resamples=99)
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
    assert (found.wins, found.ties, found.losses) == (0, 60, 0)
    assert "zero width: both models have the same rank in every task" in found.notes


@pytest.mark.parametrize("method", ["permutation", "bootstrap", "mcnemar"])
def test_other_ranks_have_no_interval_of_width_0(method: str) -> None:
    """hits@3 is the same in 30 tasks; in as many others it may differ in 1 - 0.025**(1/30)."""
    a, b = Ranks([0, 5] * 15, [1] * 30, 10), Ranks([1, 6] * 15, [1] * 30, 10)
    found = compare(a, b, metric="hits@3", method=method, resamples=99)
    reach = 1 - 0.025 ** (1 / 30)
    assert (found.low, found.difference, found.high) == (pytest.approx(-reach), 0, reach)
    assert any(note.startswith("zero width avoided: all 30 tasks") for note in found.notes)
    every = Ranks([0] * 30, [1] * 30, 10)
    none = Ranks([7] * 30, [1] * 30, 10)
    found = compare(every, none, metric="hits@3", method=method, resamples=99)
    assert (found.low, found.high) == (pytest.approx(1 - 2 * reach), 1)


@pytest.mark.parametrize("method", ["permutation", "bootstrap", "wilcoxon"])
@pytest.mark.parametrize("key", ["mrr", "median", "z.hits@3"])
def test_swapping_the_models(method: str, key: str) -> None:
    a, b = models(80)
    one, two = (compare(*x, metric=key, method=method, resamples=199) for x in ((a, b), (b, a)))
    assert one.difference == -two.difference
    assert (one.low, one.high) == pytest.approx((-two.high, -two.low))
    assert one.p_value == two.p_value
    assert (one.wins, one.losses) == (two.losses, two.wins)


@pytest.mark.parametrize(
    ("key", "wins", "losses"),
    [
        ("mrr", 2, 1),
        ("mr", 2, 1),
        ("gmr", 2, 1),
        ("power_mean:-2", 2, 1),
        ("median", 2, 1),
        ("std", 2, 1),
        ("index.mr", 2, 1),
        ("hits@3", 1, 0),
        ("hits@1", 0, 0),
    ],
)
def test_wins_are_where_the_rank_is_better(key: str, wins: int, losses: int) -> None:
    a, b = Ranks([1, 4, 8, 5], [1, 1, 1, 1], 30), Ranks([5, 6, 7, 5], [1, 1, 1, 1], 30)
    found = compare(a, b, metric=key, resamples=20)
    assert (found.wins, found.losses) == (wins, losses)
    assert found.wins + found.ties + found.losses == 4


def test_a_better_model_is_significant() -> None:
    a, b = models(400)
    better = Ranks(a.above // 2, a.tied, 1000, queries=a.queries, targets=a.targets)
    for method in ("permutation", "bootstrap"):
        found = compare(better, b, method=method, resamples=999)
        assert found.low > 0
        assert found.p_value == found.p_floor == 1 / 1000
        assert "p <= 0.001 (" in str(found)
        assert "floor reached: p cannot be below 0.001 with 999 resamples" in found.notes
    assert compare(better, b, method="wilcoxon", resamples=9).p_value < 1e-6


def test_groups_are_swapped_as_a_whole() -> None:
    a, b = models(40)
    found = compare(a, b, by="query", resamples=2**10)
    assert found.units == len(np.unique(a.queries.codes)) <= 10
    numbered = compare(a, b, by=a.queries.codes, resamples=2**10)
    assert (found.by, numbered.by, found.largest) == ("query", "group", 8)
    assert numbered[:7] == found[:7]
    assert compare(a, b, resamples=2**10) == found
    assert compare(a, b, by="task", resamples=2**10) == compare(a, b, by=None, resamples=2**10)
    assert compare(a, b, by=None, resamples=9).units == 40
    apart = 1 / a.realistic - 1 / b.realistic
    sums = np.bincount(np.unique(a.queries.codes, return_inverse=True)[1], weights=apart)
    ways = np.array(list(itertools.product([-1, 1], repeat=len(sums)))) @ sums
    assert found.p_value == pytest.approx(np.mean(np.abs(ways) >= abs(sums.sum()) - 1e-12))
    wilcoxon = compare(a, b, by="query", method="wilcoxon", resamples=9)
    means = sums / np.bincount(np.unique(a.queries.codes, return_inverse=True)[1])
    assert wilcoxon.p_value == pytest.approx(signed_rank(means))


def test_macro_averages_are_compared_over_groups() -> None:
    a, b = models(40)
    found = compare(a, b, metric="macro.index.mr", by="query", resamples=2**10)
    within = [list(report(x, by="query").group_values("index.mr").values()) for x in (a, b)]
    apart = np.subtract(*within)
    assert found.difference == pytest.approx(apart.mean())
    ways = np.array(list(itertools.product([-1, 1], repeat=len(apart)))) @ apart
    assert found.p_value == pytest.approx(np.mean(np.abs(ways) >= abs(apart.sum()) - 1e-12))


def test_sides_and_random_ranks() -> None:
    a, b = models(30)
    side = ["head", "tail", "tail"] * 10
    a, b = a.with_labels(side=side), b.with_labels(side=side)
    found = compare(a, b, metric="tail.random.mr", by=None, draw_seed=4, resamples=50)
    values = [report(x, seed=4)["tail.random.mr"] for x in (a, b)]
    assert [found.value_a, found.value_b] == values
    assert found.units == 20
    bare = b.with_labels(side=None)
    assert compare(a, bare, metric="tail.mr", by=None, resamples=9).units == 20


def test_weights_count() -> None:
    a, b = models(30)
    weights = np.arange(30.0)
    weighted = a.with_weights(weights), b.with_weights(weights * 7)
    found = compare(*weighted, by=None, resamples=50)
    apart = difference(a.with_weights(weights), b.with_weights(weights), "mrr")
    assert found.difference == pytest.approx(apart)
    assert found.units == 29
    assert found.wins + found.ties + found.losses == 29


def test_nothing_to_compare() -> None:
    empty = Ranks([], [], [])
    single = Ranks([3], [1], 9)
    for method in ("permutation", "bootstrap", "wilcoxon"):
        found = compare(empty, empty, method=method, resamples=9)
        assert found.units == found.wins == 0
        for value in (found.difference, found.low, found.high, found.p_value):
            assert math.isnan(value)
        assert math.isnan(compare(single, single, method=method, resamples=9).low)
    assert compare(single, single, resamples=9).p_value == 1


def test_text_and_dictionary() -> None:
    a, b = Ranks([0, 1, 0], [1, 1, 1], 10), Ranks([3, 1, 2], [1, 1, 1], 10)
    found = compare(a, b, metric="mr")
    text = str(found)
    assert text.startswith("mr: a 1.33333, b 3; difference -1.66667 [-9, +9] (95 %), p 0.5 ")
    assert "(permutation, 3 tasks); 2 wins, 1 tie, 0 losses" in text
    assert text.splitlines()[1:] == list(found.notes)
    assert found.to_dict()["difference"] == found.difference
    assert found.to_dict()["notes"] == [
        "paired by position only",
        "few units: 3 tasks; p cannot be below 0.25, and the interval is the range of the metric",
    ]
    queries = [1, 1, 2]
    found = compare(*(x.with_labels(queries=queries) for x in (a, b)), metric="mr")
    assert "(permutation, 2 queries, the largest of 2 tasks);" in str(found)
    assert set(found.to_dict()) == set(Comparison._fields)


# -- several models --------------------------------------------------------------------------------


def test_all_pairs_with_holm() -> None:
    a, b = models(100)
    c = Ranks(a.above // 2, a.tied, 1000, queries=a.queries, targets=a.targets)
    found = compare({"a": a, "b": b, "c|": c}, resamples=199)
    assert isinstance(found, Comparisons)
    assert [(pair.name_a, pair.name_b) for pair in found] == [("a", "b"), ("a", "c|"), ("b", "c|")]
    assert [pair.p_holm for pair in found] == holm([pair.p_value for pair in found])
    alone = compare(a, c, resamples=199)
    assert found[1]._replace(name_a="a", name_b="b", p_holm=None) == alone
    table = found.to_markdown()
    assert "| a | c\\| |" in table
    assert "p (Holm)" in table
    assert str(found) == found.to_text()
    assert set(found.to_dict()) == {"a against b", "a against c|", "b against c|"}
    assert len(found[:2]) == 2
    assert "Holm" in str(found[0])


def test_several_metrics() -> None:
    a, b = models(60)
    found = compare(a, b, metric=["mrr", "H@10", "MRR"], resamples=199)
    assert isinstance(found, Comparisons)
    assert found.metrics == [pair.metric for pair in found] == ["mrr", "hits@10"]
    alone = [compare(a, b, metric=key, resamples=199) for key in found.metrics]
    assert [pair._replace(p_holm=None) for pair in found] == alone
    assert [pair.p_holm for pair in found] == holm([pair.p_value for pair in alone])
    assert list(found.to_dict()) == ["mrr: a against b", "hits@10: a against b"]
    assert "| metric | a | b | of a | of b |" in found.to_markdown()
    named = compare({"x": a, "y": b}, metric=("mrr", "mr"), resamples=99)
    assert [(pair.metric, pair.name_a) for pair in named] == [("mrr", "x"), ("mr", "x")]
    with pytest.raises(ValueError, match="metric: expected at least one key, got none"):
        compare(a, b, metric=[])
    with pytest.raises(ValueError, match="count is the number of tasks"):
        compare(a, b, metric=["mrr", "count"])
    with pytest.raises(KeyError, match="expected a str, got list"):
        compare(a, b, metric=[["mrr"]])  # type: ignore[list-item]


# -- ranks that cannot be compared -----------------------------------------------------------------


def unlike() -> Iterator[tuple[dict[str, object], str]]:
    yield {"candidates": [9, 9, 8]}, "candidates: 1 of 3 tasks differ, the first at position 2 (9"
    yield {"queries": [1, 2, 4]}, "queries: 1 of 3 tasks differ, the first at position 2 (3 against"
    yield {"targets": ["x", "y", "z"]}, "targets: names against integer ids"
    yield {"side": ["tail", "tail", "head"]}, "side: 1 of 3 tasks differ, the first at position 1"
    yield {"protocol": Protocol(filter="train")}, "protocol: filter: none against train"


@pytest.mark.parametrize(("changed", "message"), [*unlike()])
def test_unlike_ranks_are_refused(changed: dict[str, object], message: str) -> None:
    same = {
        "candidates": [9, 9, 9],
        "queries": [1, 2, 3],
        "targets": [5, 6, 7],
        "side": ["tail", "head", "head"],
    }
    a, b = (
        Ranks([0, 1, x], [1, 1, 1], **parts) for x, parts in ((2, same), (3, {**same, **changed}))
    )
    with pytest.raises(ValueError, match="allow_unlike=True") as caught:
        compare(a, b)
    assert message in str(caught.value)
    found = compare(a, b, allow_unlike=True)
    assert any(message in note for note in found.notes)
    assert not any("unlike" in note for note in compare(a, a).notes)


def test_all_differences_are_listed() -> None:
    a = Ranks([0, 1], [1, 1], 9, queries=[1, 2], protocol=Protocol(split="test"))
    b = Ranks([0, 1], [1, 1], 8, queries=[1, 3])
    with pytest.raises(ValueError, match=r"cannot compare: protocol: split.*; candidates.*; quer"):
        compare(a, b)


def test_lengths_and_weights_must_agree_in_any_case() -> None:
    a = Ranks([0, 1], [1, 1], 9)
    with pytest.raises(ValueError, match="tasks: 2 against 1"):
        compare(a, a[:1], allow_unlike=True)
    with pytest.raises(ValueError, match="weights: they differ"):
        compare(a, a.with_weights([1, 2]), allow_unlike=True)
    assert compare(a, a.with_weights([3, 3])).difference == 0


def test_pairing_is_described() -> None:
    a = Ranks([0, 1], [1, 1], 9, queries=[1, 2], targets=[3, 4])
    assert compare(a, a).pairing == "query and target ids"
    assert compare(a, a.with_labels(queries=None)).pairing == "target ids"
    bare = a.with_labels(queries=None, targets=None)
    found = compare(a, bare)
    assert found.pairing == "position"
    assert found.notes[0] == "paired by position only"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (1, {}, TypeError, "b: expected Ranks or a Report, got NoneType"),
        (
            2,
            {"method": "t"},
            ValueError,
            "method: expected one of permutation, bootstrap, wilcoxon, mcnemar",
        ),
        (2, {"metric": "mmr"}, KeyError, "did you mean"),
        (2, {"metric": "macro.mrr"}, KeyError, "name them with by"),
        (2, {"by": "query"}, ValueError, "by: these ranks have no labels 'queries'"),
        (2, {"level": 95}, ValueError, "level: expected a number between 0 and 1, got 95"),
        (2, {"resamples": 0}, ValueError, "resamples: expected an integer from 1 to 100000000"),
    ],
)
def test_errors_say_what_was_expected(
    arguments: int, options: dict[str, object], error: type[Exception], message: str
) -> None:
    ranks = Ranks([0, 1], [1, 1], 9)
    with pytest.raises(error) as caught:
        compare(*[ranks] * arguments, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("method", ["permutation", "bootstrap", "wilcoxon"])
@pytest.mark.parametrize("key", ["count", "expected.count", "macro.count"])
def test_counts_are_not_compared(method: str, key: str) -> None:
    ranks = Ranks([0, 1], [1, 1], 9, queries=[1, 2])
    with pytest.raises(ValueError, match="metric: count is the number of tasks"):
        compare(ranks, ranks, metric=key, method=method, by="query")


@pytest.mark.parametrize(
    ("key", "named"),
    [("std", "std"), ("median", "median"), ("power_mean:2", "power_mean"), ("mad", "mad")]
    + [(key, "") for key in ("mr", "mrr", "hits@3", "index.gmr", "imr")],
)
def test_what_wilcoxon_tests(key: str, named: str) -> None:
    a, b = models(40)
    notes = compare(a, b, metric=key, method="wilcoxon", resamples=9).notes
    told = (f"Wilcoxon tests the ranks, not {named}",) if named else ()
    assert tuple(note for note in notes if "Wilcoxon" in note) == told
    assert not any("Wilcoxon" in note for note in compare(a, b, metric=key, resamples=9).notes)


@pytest.mark.parametrize(
    ("split", "told"), [("test", True), ("Test-inductive", True), ("valid", False), (None, False)]
)
def test_a_test_split_is_not_for_choosing(split: str | None, told: bool) -> None:
    a, b = (x.with_protocol(split=split) for x in models(40))
    notes = [note for note in compare(a, b, resamples=9).notes if "choosing" in note]
    assert len(notes) == told
    assert not told or notes[0].startswith(f"ranks of the split {split!r}: choosing a model by it")
    several = compare({"a": a, "b": b, "c": a}, resamples=9).to_markdown()
    assert several.count("choosing a model") == told


def test_notes_of_some_pairs_name_them() -> None:
    a = Ranks([0, 1], [1, 1], 9, queries=[1, 2])
    bare = a.with_labels(queries=None)
    text = compare({"a": a, "b": a, "c": bare}, resamples=1).to_markdown()
    assert "- a - c, b - c: paired by position only\n" in text
    assert "permutation, 2 tasks; 1 resample." in text
    text = compare({"a": bare, "b": bare}, resamples=9).to_markdown()
    assert "\n- paired by position only\n" in text


def test_mappings_are_checked() -> None:
    ranks = Ranks([0, 1], [1, 1], 9)
    with pytest.raises(ValueError, match="a: expected at least two Ranks or Reports to compare"):
        compare({"a": ranks})
    with pytest.raises(TypeError, match="b: expected nothing beside a mapping of Ranks"):
        compare({"a": ranks, "b": ranks}, ranks)
    with pytest.raises(TypeError, match="c: expected Ranks or a Report, got int"):
        compare({"a": ranks, "c": 3})


def test_reports_stand_for_their_ranks() -> None:
    a, b = models(40)
    one, two = (report(x, seed=3, by="query") for x in (a, b))
    expected = compare(a, b, metric="mrr", resamples=99)
    assert compare(one, two, resamples=99) == expected
    assert compare(one, b, resamples=99) == compare(a, two, resamples=99) == expected
    several = compare({"x": one, "y": b, "z": two}, metric="hits@3", resamples=9)
    plain = compare({"x": a, "y": b, "z": b}, metric="hits@3", resamples=9)
    assert list(several) == list(plain)


def test_reports_are_compared_with_their_weights() -> None:
    a, b = models(40)
    one, two = (report(x, weights="query") for x in (a, b))
    found = compare(one, two, resamples=99)
    assert (found.value_a, found.value_b) == (one["mrr"], two["mrr"])
    weighed = [x.with_weights(y.weights) for x, y in ((a, one), (b, two))]
    assert found == compare(*weighed, resamples=99)
    with pytest.raises(ValueError, match="weights: they differ"):
        compare(one, b)


def test_reports_without_ranks() -> None:
    a, _ = models(40)
    kept = report(a)
    back = Report.from_json(kept.to_json())
    for models_of, name in (((back, a), "a"), ((kept, back), "b"), (({"x": a, "y": back},), "y")):
        with pytest.raises(ValueError, match=rf"^{name}: this report was read from JSON, which"):
            compare(*models_of)
    with pytest.raises(ValueError, match=r"^a\[1\]: this report was read from JSON, which"):
        compare([kept, back], [kept, kept])


def test_wilcoxon_has_no_weights() -> None:
    ranks = Ranks([0, 1, 4], [1, 1, 1], 9, weights=[1, 2, 1], queries=[1, 1, 2])
    with pytest.raises(ValueError, match="wilcoxon has no meaning with unequal weights"):
        compare(ranks, ranks, method="wilcoxon", by="task")
    with pytest.raises(ValueError, match="mcnemar has no meaning with unequal weights"):
        compare(ranks, ranks, metric="hits@3", method="mcnemar", by="task")
    assert compare(ranks, ranks, method="wilcoxon").p_value == 1


def test_names_are_shown_as_they_are_in_markdown() -> None:
    a, b = models(20)
    shown = compare({"a_*b*": a, "x<b>|y": b}, resamples=99).to_markdown()
    assert "| a\\_\\*b\\* | x&lt;b>\\|y |" in shown


def test_test_splits_are_those_of_tables() -> None:
    ranks = Ranks([0, 3], [1, 1], 9, protocol=Protocol(split=" Test"))
    notes = compare(ranks, ranks).notes
    assert notes[1] == (
        "ranks of the split ' Test': choosing a model by it uses it up; choose by a validation one"
    )
    told = table({"a": report(ranks), "b": report(ranks)})
    assert any("numbers of the test split" in note for note in told.notes)


# -- units, and notes about them -------------------------------------------------------------------


def test_labelled_units_are_the_default_where_they_repeat() -> None:
    """Both directions of an aligned pair come from one score."""
    a, b = models(40)
    a, b = (x.with_labels(unit=np.arange(40) // 2) for x in (a, b))
    found = compare(a, b, resamples=9)
    assert (found.by, found.units, found.largest) == ("unit", 20, 2)
    assert found[:9] == compare(a, b, by="unit", resamples=9)[:9]


def test_tasks_of_one_query_are_one_unit() -> None:
    """Models whose ranks differ by query differ by tasks in most draws, and by queries in few."""
    rejected = dict.fromkeys(("auto", "task"), 0)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        query = np.repeat(np.arange(20), 10)
        above = [rng.geometric(rng.uniform(0.02, 0.5, 20))[query] for _ in range(2)]
        a, b = (Ranks(x, [1] * 200, 5000, queries=query) for x in above)
        for by in rejected:
            rejected[by] += compare(a, b, by=by, resamples=199).p_value <= 0.05
    assert rejected["auto"] <= 6
    assert rejected["task"] >= 15


def test_large_clusters_and_heavy_tails_are_noted() -> None:
    a, b = models(100)
    query = np.r_[np.zeros(30, dtype=int), np.arange(1, 71)]
    a, b = (x.with_labels(queries=query) for x in (a, b))
    notes = compare(a, b, resamples=99).notes
    assert "clusters: the largest of 71 queries holds 30 % of the tasks" in notes
    above = np.full(100, 5)
    far = np.where(np.arange(100) < 4, 900, 5)
    notes = compare(Ranks(above, [1] * 100, 1000), Ranks(far, [1] * 100, 1000), metric="mr").notes
    assert any(note.startswith("heavy tail: 4 of 100 tasks carry the variance") for note in notes)


def test_five_units_cannot_be_significant() -> None:
    """Percentiles of 5 units print p = 0.0002 for any five differences of one sign."""
    a, b = Ranks([0, 1, 2, 0, 1], [1] * 5, 50), Ranks([9, 8, 7, 30, 12], [1] * 5, 50)
    found = compare(a, b)
    assert found.p_value == 2 / 32
    assert (found.low, found.high) == (-0.98, 0.98)
    assert found.notes[-1] == (
        "few units: 5 tasks; p cannot be below 0.0625, and the interval is the range of the metric"
    )
    assert compare(a, b, method="bootstrap").p_value > 0.005


@pytest.mark.parametrize("key", ["gmr", "median", "std"])
def test_p_and_interval_of_two_ways_may_differ(key: str) -> None:
    a, b = models(200)
    notes, told = [], 0
    for seed in range(12):
        found = compare(a, b, metric=key, by=None, resamples=19, seed=seed, level=0.8)
        notes = [note for note in found.notes if "do not agree" in note]
        agree = (found.low <= 0 <= found.high) == (found.p_value > round(1 - found.level, 9))
        assert len(notes) == (not agree)
        told += len(notes)
    assert found.basis == ("percentile" if key == "median" else "studentised") + " bootstrap"


# -- McNemar ---------------------------------------------------------------------------------------


def test_mcnemar_is_the_binomial_test() -> None:
    a, b = models(300)
    found = compare(a, b, metric="hits@10", method="mcnemar", by="task", resamples=9)
    peer = scipy.stats.binomtest(found.wins, found.wins + found.losses)
    assert found.p_value == pytest.approx(peer.pvalue)
    assert found.p_value == pytest.approx(
        compare(a, b, metric="ah@10", method="mcnemar", by="task", resamples=9).p_value
    )


def test_mcnemar_swaps_groups() -> None:
    a, b = models(40)
    found = compare(a, b, metric="hits@10", method="mcnemar", resamples=2**10)
    assert found.p_value == compare(a, b, metric="hits@10", resamples=2**10).p_value
    assert "McNemar's test swaps whole units, of which each is a query" in found.notes


@pytest.mark.parametrize("key", ["mrr", "macro.hits@3"])
def test_mcnemar_is_for_hits(key: str) -> None:
    a, b = models(40)
    with pytest.raises(ValueError, match=r"method: expected a metric hits@k for 'mcnemar', got"):
        compare(a, b, metric=key, method="mcnemar", by="query")


def test_mcnemar_has_no_shares_of_hits() -> None:
    a = Ranks([0, 2], [1, 4], 9)
    with pytest.raises(ValueError, match="mcnemar has no meaning where ties make a share of a hit"):
        compare(a, a, metric="expected.hits@4", method="mcnemar")


def test_comparisons_in_every_format() -> None:
    a, b = Ranks([0, 3, 1], [1] * 3, 10), Ranks([4, 1, 2], [1] * 3, 10)
    found = compare({"a": a, "b": b})
    (note,) = (note for note in found.notes if note.startswith("few units"))
    assert f"- {note}" in found.to_markdown()
    assert rf"\par{{\footnotesize {note}\par}}" in found.to_latex()
    assert f"<p>{note}</p>" in found._repr_html_()
    heading, row = found.to_csv().splitlines()
    assert dict(zip(heading.split(","), row.split(","), strict=True))["p_value"] == str(
        found[0].p_value
    )
    assert found[0].to_dict()["notes"] == list(found[0].notes)


@pytest.mark.parametrize(("metric", "ranks"), [("mr", 1), ("hits@9", 9)])
@pytest.mark.parametrize("tasks", [2, 30])
def test_tasks_whose_ranks_all_have_one_value_have_a_note(
    metric: str, ranks: int, tasks: int
) -> None:
    a = Ranks([0] * tasks, [1] * tasks, ranks)
    b = Ranks([ranks - 1] * tasks, [1] * tasks, ranks)
    found = compare(a, b, metric=metric)
    assert (found.low, found.high) == (0, 0)
    assert "zero width: every rank gives these tasks the same value" in found.notes


def test_a_metric_that_is_known_roughly_is_noted() -> None:
    """The difference of two geometric means is curved where their standard errors are large."""
    rng = np.random.default_rng(3)
    noted = []
    for n in (50, 1000):
        above = [np.floor(np.exp(rng.random(n) * math.log(10_000))).astype(int) for _ in range(2)]
        a, b = (Ranks(x - 1, np.ones(n, dtype=int), 10_000) for x in above)
        found = [compare(a, b, metric=key, resamples=199) for key in ("gmr", "mrr")]
        noted.append([any(x.startswith("large error") for x in one.notes) for one in found])
    assert noted == [[True, False], [False, False]]
