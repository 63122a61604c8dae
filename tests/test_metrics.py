"""The metrics against their definitions, the keys against their grammar."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from example_ranks import any_ranks
from truerank import Ranks, report
from truerank.metrics import ADJUSTMENTS, KINDS, METRICS, Key, parse
from truerank.metrics.base import median
from truerank.metrics.keys import ALIASES, NAMES

LINEAR = ("mr", "mrr", "hits@3")
ALL = ("mr", "mrr", "hits@1", "hits@3", "hmr", "imr", "gmr", "igmr", "median", "imedian")


def exact(name: str, ranks: list[Fraction], weights: list[Fraction]) -> Fraction | float:
    """The definition in fractions (logarithms in floats)."""

    def mean(values: list[Fraction]) -> Fraction:
        return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction(0)) / sum(
            weights
        )

    name, _, k = name.partition("@")
    inverse = mean([1 / r for r in ranks])
    log = sum(float(w) * math.log(r) for w, r in zip(weights, ranks, strict=True))
    log /= float(sum(weights))
    return {
        "mr": mean(ranks),
        "imr": 1 / mean(ranks),
        "mrr": inverse,
        "hmr": 1 / inverse,
        "hits": mean([Fraction(r <= int(k or 1)) for r in ranks]),
        "gmr": math.exp(log),
        "igmr": math.exp(-log),
        "median": middle(ranks, weights),
        "imedian": 1 / middle(ranks, weights),
    }[name]


def middle(ranks: list[Fraction], weights: list[Fraction]) -> Fraction:
    """The smallest rank that has half the weight, or the mean with the next at exactly half."""
    pairs = sorted((r, w) for r, w in zip(ranks, weights, strict=True) if w)
    sums = list(itertools.accumulate(w for _, w in pairs))
    i = next(i for i, total in enumerate(sums) if 2 * total >= sums[-1])
    return (pairs[i][0] + pairs[i + (2 * sums[i] == sums[-1])][0]) / 2


def positions(ranks: Ranks, kind: str) -> list[Fraction]:
    if kind == "random":
        return [Fraction(int(x)) for x in ranks.random(0)]
    counts = zip(ranks.above.tolist(), ranks.tied.tolist(), strict=True)
    low_high = [(a + 1, a + t) for a, t in counts]
    return [
        {
            "optimistic": Fraction(lo),
            "pessimistic": Fraction(hi),
            "realistic": Fraction(lo + hi, 2),
        }[kind]
        for lo, hi in low_high
    ]


def as_fractions(weights: np.ndarray | None, n: int) -> list[Fraction]:
    return [Fraction(1)] * n if weights is None else [Fraction(w) for w in weights.tolist()]


# -- values ----------------------------------------------------------------------------------------


@given(any_ranks(), st.sampled_from([*KINDS]), st.sampled_from(ALL))
def test_metrics_are_their_definitions(ranks: Ranks, kind: str, name: str) -> None:
    ranks = ranks.with_labels(side=None)
    value = report(ranks)[f"{kind}.{name}"]
    if not len(ranks):
        assert math.isnan(value)
        return
    expected = exact(name, positions(ranks, kind), as_fractions(ranks.weights, len(ranks)))
    assert value == pytest.approx(float(expected), rel=1e-13)


@given(any_ranks(), st.sampled_from([*KINDS]))
def test_adjusted_mean_ranks_are_their_definitions(ranks: Ranks, kind: str) -> None:
    ranks = ranks.with_labels(side=None)
    assume(len(ranks))
    w, r = as_fractions(ranks.weights, len(ranks)), positions(ranks, kind)
    n = ranks.candidates.tolist()
    amr = sum(map(Fraction.__mul__, w, r)) / sum(
        w[i] * Fraction(n[i] + 1, 2) for i in range(len(n))
    )
    measured = report(ranks)
    assert measured[f"{kind}.amr"] == measured[f"{kind}.ratio.mr"] == pytest.approx(float(amr))
    spread = sum(w[i] * Fraction(n[i] - 1, 2) for i in range(len(n)))
    if spread:
        amri = 1 - sum(w[i] * (r[i] - 1) for i in range(len(n))) / spread
        assert measured[f"{kind}.amri"] == pytest.approx(float(amri), rel=1e-12, abs=1e-12)
    else:
        assert math.isnan(measured[f"{kind}.amri"])


def test_two_tasks_of_three_candidates() -> None:
    """The misprinted formulas of the literature give something else here."""
    for (r1, amr1), (r2, amr2) in itertools.product({1: 0.5, 2: 1.0, 3: 1.5}.items(), repeat=2):
        measured = report(Ranks([r1 - 1, r2 - 1], [1, 1], 3))
        assert measured["amr"] == (amr1 + amr2) / 2 == 2 * (r1 + r2) / (4 + 4)
        assert measured["amri"] == 1 - 2 * (r1 - 1 + r2 - 1) / (2 + 2)


def test_adjusted_with_unequal_candidates() -> None:
    measured = report(Ranks([0, 4, 2], [1, 2, 1], [2, 9, 100], weights=[1, 2, 1]))
    # ranks 1, 5.5, 3 of 2, 9, 100 candidates
    assert measured["amr"] == pytest.approx((1 + 11 + 3) / (1.5 + 10 + 50.5))
    assert measured["amri"] == pytest.approx(1 - (0 + 9 + 2) / (0.5 + 8 + 49.5))
    assert measured["optimistic.amri"] == pytest.approx(1 - (0 + 8 + 2) / (0.5 + 8 + 49.5))


@given(st.lists(st.integers(2, 10**6), min_size=1), st.booleans())
def test_perfect_and_constant_scorers_are_exact(candidates: list[int], weighted: bool) -> None:
    n = len(candidates)
    weights = np.linspace(0.1, 0.7, n) if weighted else None
    perfect = report(Ranks([0] * n, [1] * n, candidates, weights=weights))
    constant = report(Ranks([0] * n, candidates, candidates, weights=weights))
    assert all(perfect[name] == METRICS[parse(name).metric].optimum for name in ALL)
    assert perfect["amri"] == 1
    assert constant["amri"] == 0
    assert constant["amr"] == pytest.approx(1, rel=1e-15)
    assert constant["optimistic.mr"] == 1
    assert constant["mr"] == pytest.approx((np.average(candidates, weights=weights) + 1) / 2)


def test_constant_scores_by_hand() -> None:
    measured = report(Ranks([0], [7], 7))
    assert (measured["optimistic.mr"], measured["mr"], measured["pessimistic.mr"]) == (1, 4, 7)


def test_a_single_candidate_is_degenerate() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measured = report(Ranks([0, 0], [1, 1], 1))
        assert math.isnan(measured["amri"])
        assert measured["amr"] == 1
        assert measured["hits@5"] == measured["mrr"] == 1


@pytest.mark.parametrize("weights", [None, []])
def test_no_tasks_give_nan_quietly(weights: list[float] | None) -> None:
    measured = report(Ranks([], [], [], weights=weights))
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in KINDS:
            for name in (*ALL, "amr", "amri"):
                assert math.isnan(measured[f"{kind}.{name}"])


def test_no_weight_gives_nan_quietly() -> None:
    ranks = Ranks([0, 3], [1, 1], 9, weights=[1, 0])[1:]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(math.isnan(report(ranks)[name]) for name in (*ALL, "amr", "amri"))


@given(any_ranks({"weights": True}), st.sampled_from([1e-300, 0.3, 1e300]))
def test_only_ratios_of_weights_matter(ranks: Ranks, factor: float) -> None:
    assume(len(ranks))
    scaled = ranks.with_weights(ranks.weights * factor)
    for name in (*ALL, "amr", "amri"):
        assert report(scaled)[name] == pytest.approx(report(ranks)[name], nan_ok=True, rel=1e-9)


@given(any_ranks(), st.floats(0.01, 100))
def test_equal_weights_are_none(ranks: Ranks, weight: float) -> None:
    assume(len(ranks))
    ranks = ranks.with_weights(None).with_labels(side=None)
    equal = ranks.with_weights(np.full(len(ranks), weight))
    for name in (*ALL, "amr", "amri"):
        assert report(equal)[name] == pytest.approx(report(ranks)[name], nan_ok=True)
    assert report(equal)["median"] == report(ranks)["median"]


@given(any_ranks({"weights": False}), st.data())
def test_whole_weights_are_repeats(ranks: Ranks, data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(ranks), max_size=len(ranks)))
    assume(sum(weights))
    repeated = ranks[np.repeat(np.arange(len(ranks)), weights)]
    for name in (*ALL, "amr", "amri"):
        assert report(ranks.with_weights(weights))[name] == pytest.approx(
            report(repeated)[name], nan_ok=True
        )


def test_weighted_median_where_sums_round() -> None:
    assert median(np.arange(10.0), np.full(10, 0.1)) == 4.5
    assert median(np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.25, 0.25])) == 1.5
    # 0.1 + 0.2 is more than 0.3 in doubles, and they are taken as they are
    assert median(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])) == 2.0
    assert median(np.array([1.0, 5.0, 3.0]), np.array([1.0, 1e-300, 1.0])) == 3.0
    assert median(np.array([1.0, 9.0]), np.array([1e308, 1e308])) == 5.0
    assert median(np.array([1.0, 2.0, 9.0]), np.array([1.0, 0.0, 1.0])) == 5.0


@given(st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1)), min_size=1))
def test_weighted_median_is_exact(pairs: list[tuple[int, float]]) -> None:
    ranks, weights = zip(*pairs, strict=True)
    assume(any(weights))
    assume(all(w == 0 or w > 1e-300 for w in weights))
    expected = middle([Fraction(r) for r in ranks], [Fraction(w) for w in weights])
    assert median(np.array(ranks, float), np.array(weights)) == float(expected)


def test_large_counts() -> None:
    above = np.array([2**24, 2**31, 2**33, 2**40], np.int64)
    measured = report(Ranks(above, [2] * 4, 2**41))
    assert measured["mr"] == (2**24 + 2**31 + 2**33 + 2**40) / 4 + 1.5
    assert measured["hits@2147483649"] == 0.25
    assert measured["optimistic.hits@2147483649"] == 0.5
    assert measured["median"] == (2**31 + 2**33) / 2 + 1.5
    top = report(Ranks([2**63 - 2], [1], 2**63 - 1))
    assert top["hits@9223372036854775807"] == top[f"hits@{10**30}"] == 1


def test_realistic_hits_count_half_ranks() -> None:
    measured = report(Ranks([0], [2], 5))
    assert measured["hits@1"] == 0
    assert measured["hits@2"] == 1
    assert measured["mrr"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("name", METRICS)
def test_direction_and_optimum(name: str) -> None:
    key = f"{name}@2" if METRICS[name].cutoff else name
    best, worse = (report(Ranks([a], [1], 5))[key] for a in (0, 3))
    assert best == METRICS[name].optimum
    assert (best > worse) == METRICS[name].increasing


# -- keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("mr", "mr"),
        ("hits@10", "hits@10"),
        ("hits@010", "hits@10"),
        ("both.realistic.none.mrr", "mrr"),
        ("tail.hits@1", "tail.hits@1"),
        ("optimistic.mrr", "optimistic.mrr"),
        ("tail.pessimistic.index.mr", "tail.pessimistic.index.mr"),
        ("amr", "ratio.mr"),
        ("amri", "index.mr"),
        ("head.random.amri", "head.random.index.mr"),
        ("both.amr", "ratio.mr"),
        ("left_to_right.gmr", "left_to_right.gmr"),
    ],
)
def test_canonical_form(key: str, canonical: str) -> None:
    assert str(parse(key)) == canonical
    assert parse(canonical) == parse(key)


@given(
    st.sampled_from([name.replace("@k", "@7") for name in NAMES]),
    st.sampled_from(["", "both.", "tail.", "some side."]),
    st.sampled_from(["", *(f"{kind}." for kind in KINDS)]),
)
def test_every_form_parses_to_itself(name: str, side: str, kind: str) -> None:
    key = parse(f"{side}{kind}{name}")
    assert isinstance(key, Key)
    assert parse(str(key)) == key


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("mmr", "'mmr': no metric 'mmr'; did you mean mr or mrr"),
        ("MRR", "did you mean mrr"),
        ("hit@10", "did you mean hits@k"),
        ("tail.hits10", "did you mean hits@k"),
        ("medain", "did you mean median"),
        ("zzzzzz", "known are mr, mrr, hits@k"),
        ("", "no metric ''"),
        ("tail.", "no metric ''"),
        ("hits", "expected hits@k with an integer k >= 1, got 'hits'"),
        ("hits@", "integer k >= 1"),
        ("hits@0", "integer k >= 1"),
        ("hits@-1", "integer k >= 1"),
        ("hits@1.5", "no metric '5'"),
        ("hits@ten", "integer k >= 1"),
        ("hits@1_0", "integer k >= 1"),
        ("hits@٣", "integer k >= 1"),
        ("hits@k", "integer k >= 1"),
        ("hits@1@2", "integer k >= 1"),
        ("mrr@3", "mrr takes no '@k'"),
        ("amri@3", "amri takes no '@k'"),
        ("mrr:2", "mrr takes no ':' parameter"),
        ("ratio.amri", "amri is an adjusted metric already"),
        ("index.tail.mr", "expected the form"),
        ("mr.tail", "no metric 'tail'"),
        ("a.b.mr", "expected the form"),
        (".mr", "expected the form"),
        ("index.optimistic.mr", "expected the form"),
        ("optimistic.optimistic.mr", "expected the form"),
        ("z.mr", "the adjustment 'z' of mr is not available in this version"),
        ("zmrr", "the adjustment 'z' of mrr is not available in this version"),
        ("zh@3", r"the adjustment 'z' of hits@k is not available in this version"),
        ("ah@3", r"the adjustment 'index' of hits@k is not available in this version"),
        ("amrr", "the adjustment 'index' of mrr is not available in this version"),
        ("ratio.gmr", "the adjustment 'ratio' of gmr is not available in this version"),
        ("expected.mrr", "the kind 'expected' is not available in this version"),
        ("macro.mrr", "macro averages are not available in this version"),
        ("power_mean:-1.5", "power_mean is not available in this version"),
        ("tail.std", "std is not available in this version"),
        ("count", "count is not available in this version"),
        (3, "key: expected a str, got int"),
    ],
)
def test_unknown_keys_say_why(key: str, message: str) -> None:
    with pytest.raises(KeyError) as caught:
        report(Ranks([0], [1], 5, side="tail"))[key]
    assert message in str(caught.value)
    assert not str(caught.value).startswith('"')


def test_tables_agree() -> None:
    assert all(name == row.name for name, row in METRICS.items())
    assert all(a in ADJUSTMENTS and m in METRICS for a, m in ALIASES.values())
