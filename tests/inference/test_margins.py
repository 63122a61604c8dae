"""Test equivalence and non-inferiority: against swaps by brute force, t tests, and statsmodels."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest

from truerank import Ranks, report
from truerank.inference import MarginTest, compare, equivalence, noninferiority

pytestmark = pytest.mark.python_only


def models(n: int, seed: int = 0, shift: int = 0) -> tuple[Ranks, Ranks]:
    rng = np.random.default_rng(seed)
    above = rng.geometric(0.1, n)
    ids = {"queries": range(n), "targets": range(n)}
    a, b = (np.maximum(above + rng.integers(-3, 4, n) + x, 0) for x in (shift, 0))
    return tuple(Ranks(x, np.ones(n, int), 400, **ids) for x in (a, b))


def brute(apart: np.ndarray, margin: float, *, above: bool) -> float:
    """The share of signs after which the sum of shifted differences is at least as extreme."""
    sign = 1 if above else -1
    shifted = sign * apart + margin
    ways = np.array(list(itertools.product([-1, 1], repeat=len(apart)))) @ shifted
    return float(np.mean(ways >= shifted.sum() - 1e-9))


@pytest.mark.parametrize("margin", [0.05, 0.7, 3.0, 40.0])
def test_p_is_the_larger_of_two_swap_tests(margin: float) -> None:
    a, b = models(10)
    apart = a.realistic - b.realistic
    sides = [brute(apart, margin, above=above) for above in (True, False)]
    found = equivalence(a, b, metric="mr", margin=margin)
    if max(sides) < 0.5:  # beyond, p only says that the estimate lies outside of the margin
        assert found.p_value == pytest.approx(max(sides))
    else:
        assert found.p_value >= 0.5
    # less is better: a must not be larger by the margin
    one = noninferiority(a, b, metric="mr", margin=margin)
    assert one.p_value == pytest.approx(sides[1], abs=0 if sides[1] < 0.5 else 0.1)
    more = noninferiority(b, a, metric="amri", margin=margin / 199.5)
    assert more.p_value == pytest.approx(noninferiority(b, a, metric="mr", margin=margin).p_value)
    assert (one.worse_below, more.worse_below) == (False, True)


@pytest.mark.parametrize("key", ["mrr", "gmr", "median", "hits@10"])
@pytest.mark.parametrize("margin", [0.001, 0.02, 0.4, 2.0])
@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_the_interval_lies_within_the_margin_where_p_is_small(
    key: str, margin: float, alpha: float
) -> None:
    a, b = models(60)
    found = equivalence(a, b, metric=key, margin=margin, alpha=alpha, resamples=399)
    assert found.level == round(1 - 2 * alpha, 9)
    assert found.equivalent == (-margin < found.low and found.high < margin)
    assert found.equivalent == found.noninferior == (found.p_value <= alpha)
    one = noninferiority(a, b, metric=key, margin=margin, alpha=alpha, resamples=399)
    within = one.low > -margin if one.worse_below else one.high < margin
    assert one.noninferior == within
    assert not one.equivalent
    assert one.p_value <= found.p_value
    compared = compare(a, b, metric=key, resamples=399, level=found.level, method=None)
    if key != "gmr":
        assert (found.low, found.high) == (compared.low, compared.high)


def test_many_units_are_those_of_statsmodels() -> None:
    weightstats = pytest.importorskip("statsmodels.stats.weightstats", reason="an oracle")
    a, b = models(3000)
    for margin in (0.08, 0.1, 0.13):
        found = equivalence(a, b, metric="mr", margin=margin, resamples=20_000)
        peer, _, _ = weightstats.ttost_paired(a.realistic, b.realistic, -margin, margin)
        assert found.p_value == pytest.approx(peer, abs=0.01)


def test_equivalence_at_the_margin_is_rarely_shown() -> None:
    """A true difference of the margin: an error in at most 5 % of the draws."""
    shown = 0
    for seed in range(200):
        a, b = models(40, seed, shift=1)
        shown += equivalence(a, b, metric="mr", margin=1.0, resamples=199, seed=seed).equivalent
    assert shown <= 20  # 10 expected


def test_units_that_do_not_differ_are_no_proof() -> None:
    """Of 30 tasks with the same hits, 10 % of others would not show themselves in 4 % of cases."""
    a, b = Ranks([0, 5] * 15, [1] * 30, 10), Ranks([1, 6] * 15, [1] * 30, 10)
    for margin in (0.05, 0.0949, 0.0951, 0.2):
        found = equivalence(a, b, metric="hits@3", margin=margin)
        assert found.p_value == pytest.approx((1 - margin) ** 30)
        assert found.equivalent == (margin > 1 - 0.05 ** (1 / 30))
        assert found.equivalent == (found.high < margin)
    itself = equivalence(a, a, metric="hits@3", margin=0.05)
    assert itself.p_value == pytest.approx(0.95**30)
    assert any("zero width avoided" in note for note in itself.notes)


def test_queries_and_runs() -> None:
    a, b = models(60)
    query = np.arange(60) // 4
    a, b = (x.with_labels(queries=query) for x in (a, b))
    found = equivalence(a, b, metric="mr", margin=2.0)
    assert (found.by, found.units, found.largest) == ("query", 15, 4)
    assert any(
        note.startswith("few units: 15 queries; p cannot be below 3.05e-05") for note in found.notes
    )
    rng = np.random.default_rng(1)
    runs = [
        [
            Ranks(np.maximum(x.above + rng.integers(-2, 3, 60), 0), x.tied, 400, queries=query)
            for _ in range(5)
        ]
        for x in (a, b)
    ]
    over = equivalence(*runs, metric="mr", margin=2.0)
    assert (over.basis, over.runs_a, over.runs_b) == ("two-level t", 5, 5)
    level = compare(*runs, metric="mr", level=0.9)
    assert (over.low, over.high) == (level.low, level.high)
    assert over.equivalent == (over.low > -2 and over.high < 2)
    assert (
        equivalence(report([report(x) for x in runs[0]]), runs[1], metric="mr", margin=2.0) == over
    )


def test_words_for_a_paper() -> None:
    a, b = models(400)
    found = equivalence(a, b, metric="mrr", margin=0.2, names=("small", "large"))
    assert found.sentence() == (
        f"The difference of mrr (small - large: {found.difference:.3g}) lies within -0.2 to 0.2 "
        f"(90 % interval {found.low:.3g} to {found.high:.3g}, p <= 5e-05)."
    )
    assert "floor reached: p cannot be below 5e-05 with 10,000 resamples" in found.notes
    far = equivalence(a, b, metric="mr", margin=0.01)
    assert far.sentence().startswith("It is not shown that the difference of mr (a - b: ")
    one = noninferiority(a, b, metric="mr", margin=5.0, names=("x", "y"))
    assert one.sentence().startswith("x is not worse than y by 5 or more in mr (x - y: ")
    assert (
        f"(95 % confidence that the difference is at most {one.high:.3g}, p <= " in one.sentence()
    )
    no = noninferiority(a, b, metric="mrr", margin=1e-9)
    assert no.sentence().startswith("It is not shown that a is not worse than b by 1e-09 or more")
    assert f"at least {no.low:.3g}" in no.sentence()
    lines = str(found).splitlines()
    assert lines[0] == found.sentence()
    assert lines[1].startswith("equivalence, swaps, 400 tasks; small 0.")
    assert tuple(lines[2:]) == found.notes
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["equivalent"] is True
    assert set(stored) == {*MarginTest._fields, "equivalent", "noninferior"}


def test_nothing_to_test() -> None:
    single = Ranks([3], [1], 9)
    found = equivalence(single, single, margin=0.1)
    assert math.isnan(found.p_value)
    assert not found.equivalent
    assert "It is not shown" in str(found)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"margin": 0}, ValueError, "margin: expected a number above 0, got 0"),
        ({"margin": math.nan}, ValueError, "margin: expected a number above 0, got nan"),
        ({"margin": "1"}, TypeError, "margin: expected a number, got str"),
        ({"margin": 1, "alpha": 0.5}, ValueError, "alpha: expected a number between 0 and 0.5"),
        ({"margin": 1, "metric": "count"}, ValueError, "metric: count is the number of tasks"),
        ({"margin": 1, "metric": "mmr"}, KeyError, "did you mean"),
        ({"margin": 1, "resamples": 0}, ValueError, "resamples: expected an integer from 1"),
    ],
)
def test_errors_say_what_was_expected(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    a, b = models(5)
    for test in (equivalence, noninferiority):
        with pytest.raises(error) as caught:
            test(a, b, **options)
        assert message in str(caught.value)


def test_a_spread_is_not_worse() -> None:
    a, b = models(30)
    with pytest.raises(ValueError, match="neither more nor less of std is better; ask for equiv"):
        noninferiority(a, b, metric="std", margin=1)
    assert equivalence(a, b, metric="std", margin=5, resamples=99).basis == "studentised bootstrap"
