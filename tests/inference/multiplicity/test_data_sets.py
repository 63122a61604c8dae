"""Test Friedman's test and Nemenyi's against scipy, the example of Demšar (2006) and plain sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from truerank import Protocol, Ranks, Report, report
from truerank.inference import Friedman, friedman

pytestmark = pytest.mark.python_only

# Demšar (2006), table 6: the AUC of C4.5 and three variants of it. Of "voting" the paper ranks the
# third before the fourth, which are equal in the digits that it prints.
NAMES = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
DEMSAR = {
    "adult": (0.763, 0.768, 0.771, 0.798),
    "breast cancer": (0.599, 0.591, 0.590, 0.569),
    "breast cancer wisconsin": (0.954, 0.971, 0.968, 0.967),
    "cmc": (0.628, 0.661, 0.654, 0.657),
    "ionosphere": (0.882, 0.888, 0.886, 0.898),
    "iris": (0.936, 0.931, 0.916, 0.931),
    "liver disorders": (0.661, 0.668, 0.609, 0.685),
    "lung cancer": (0.583, 0.583, 0.563, 0.625),
    "lymphography": (0.775, 0.838, 0.866, 0.875),
    "mushroom": (1.000, 1.000, 1.000, 1.000),
    "primary tumor": (0.940, 0.962, 0.965, 0.962),
    "rheum": (0.619, 0.666, 0.614, 0.669),
    "voting": (0.972, 0.981, 0.97501, 0.975),
    "wine": (0.957, 0.978, 0.946, 0.970),
}


def table(values: Any) -> dict[str, dict[str, float]]:
    """Values as data sets of models with names."""
    return {
        f"set {i}": {f"model {j}": x for j, x in enumerate(row)} for i, row in enumerate(values)
    }


def demsar(**options: Any) -> Friedman:
    results = {name: dict(zip(NAMES, row, strict=True)) for name, row in DEMSAR.items()}
    return friedman(results, **options)


def test_demsars_example() -> None:
    """Mean ranks, F and critical differences as in the paper, which does not correct for ties."""
    found = demsar(exact=False)
    shown = [round(rank, 3) for rank in found.mean_ranks.values()]
    assert shown == [3.143, 2.000, 2.893, 1.964]
    assert found.critical_difference() == pytest.approx(1.25, abs=0.005)
    assert found.critical_difference(0.90) == pytest.approx(1.12, abs=0.005)
    uncorrected = 12 * 14 / 20 * (sum(x * x for x in found.mean_ranks.values()) - 25)
    assert uncorrected == pytest.approx(9.28, abs=0.005)
    assert found.chi_squared > uncorrected
    # the paper: at 10 %, C4.5 differs from C4.5+m and C4.5+m+cf, which C4.5+cf does not tell apart
    assert found.not_told_apart() == [("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5")]
    alike = found.not_told_apart(0.90)
    assert alike == [("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5")]
    assert demsar().p_exact == pytest.approx(found.p_f, rel=0.2)


@given(
    st.integers(3, 6).flatmap(
        lambda k: st.lists(
            st.lists(st.integers(0, 5), min_size=k, max_size=k), min_size=3, max_size=8
        )
    )
)
@settings(max_examples=50)
def test_friedman_is_scipys(values: list[tuple[int, ...]]) -> None:
    assume(any(len(set(row)) > 1 for row in values))
    found = friedman(table(values), exact=False)
    peer = scipy.stats.friedmanchisquare(*np.transpose(values))
    assert found.chi_squared == pytest.approx(peer.statistic)
    assert found.p_chi_squared >= peer.pvalue * (1 - 1e-9)
    n, k = np.shape(values)
    if found.chi_squared < n * (k - 1) * (1 - 1e-6):
        f = (n - 1) * peer.statistic / (n * (k - 1) - peer.statistic)
        assert found.f == pytest.approx(f)
        assert found.p_f >= scipy.stats.f.sf(f, k - 1, (k - 1) * (n - 1)) * (1 - 1e-9)
    ranks = [k + 1 - scipy.stats.rankdata(row) for row in values]
    assert found.ranks.tolist() == np.array(ranks).tolist()


def test_the_exact_p_value_is_that_of_all_orders() -> None:
    """Two models: the sign test; three: the published table."""
    for wins in range(8):
        found = friedman(table([[1, 0]] * wins + [[0, 1]] * (7 - wins)))
        assert found.p_exact == pytest.approx(scipy.stats.binomtest(wins, 7).pvalue)
        assert found.pair_p_value("model 0", "model 1") == pytest.approx(found.p_exact)
    found = friedman(table([[1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 1, 3]]))
    assert found.chi_squared == pytest.approx(6.5)
    assert found.p_value == found.p_exact == pytest.approx(0.0417, abs=5e-5)


def test_nemenyi_is_the_studentized_range() -> None:
    found = demsar(exact=False)
    for a in NAMES[1:]:
        apart = abs(found.mean_ranks["C4.5"] - found.mean_ranks[a])
        q = apart / math.sqrt(4 * 5 / (12 * 14))
        peer = scipy.stats.studentized_range.sf(q, 4, np.inf)
        assert found.pair_p_value("C4.5", a) == pytest.approx(peer, rel=1e-9)
        assert found.pair_p_value(a, "C4.5") == found.pair_p_value("C4.5", a)
    limit = found.critical_difference()
    assert scipy.stats.studentized_range.sf(
        limit / math.sqrt(4 * 5 / (12 * 14)), 4, np.inf
    ) == pytest.approx(0.05)


def test_exact_critical_differences() -> None:
    """The smallest difference whose probability is at most 5 %, of those that are possible."""
    found = friedman(table(np.random.default_rng(0).random((5, 3))))
    limit = found.critical_difference()
    assert limit * 5 == pytest.approx(round(limit * 5))
    law = found._law
    assert law is not None
    assert law.range_tail(round(2 * 5 * limit)) <= 0.05 < law.range_tail(round(2 * 5 * limit) - 2)
    few = friedman(table([[1, 2], [1, 2], [2, 1]]))
    assert few.critical_difference() == math.inf
    assert few.critical_difference(0.5) == 1.0


@pytest.mark.parametrize(("n", "k"), [(4, 3), (5, 4), (12, 5), (8, 8)])
def test_the_error_is_held(n: int, k: int) -> None:
    """Of 400 tables of equal models 5 % are rejected, and Nemenyi's test finds no more pairs."""
    rng = np.random.default_rng(0)
    tables, rejected, told = 400, 0, 0
    limit = friedman(table(rng.random((n, k)))).critical_difference()
    law = friedman(table(rng.random((n, k))))._law
    for _ in range(tables):
        found = friedman(table(rng.random((n, k))), exact=False)
        square = int((found._sums**2).sum())
        rejected += (found.p_f if law is None else law.square_tail(square)) <= 0.05
        ranks = found.mean_ranks.values()
        told += max(ranks) - min(ranks) >= limit - 1e-9
    allowed = 0.055 + 3 * math.sqrt(0.05 * 0.95 / tables)
    assert rejected / tables <= allowed
    assert told / tables <= allowed


def test_not_told_apart_are_whole_runs() -> None:
    found = demsar(exact=False)
    ordered = found.ordered()
    for group in found.not_told_apart(0.90):
        assert list(group) == ordered[ordered.index(group[0]) :][: len(group)]
    clear = friedman(table([[1, 2, 3]] * 40))
    assert clear.not_told_apart() == []
    assert "all models are told apart" in str(clear)


def test_ties_and_agreement() -> None:
    same = friedman(table([[1, 1, 1]] * 4))
    assert (same.chi_squared, same.f, same.p_value) == (0, 0, 1)
    assert set(same.mean_ranks.values()) == {2.0}
    agreed = friedman(table([[1, 2, 3]] * 4))
    assert agreed.f == math.inf
    assert [agreed.p_f, agreed.p_exact] == pytest.approx([6 / 6**4] * 2)
    many = friedman(table([range(12)] * 3))
    assert many.p_f == pytest.approx(math.factorial(12) ** -2)


def test_the_order_of_values() -> None:
    values = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.2, 0.1, 0.3]]
    for options in ({}, {"order": "descending"}, {"metric": "mrr"}, {"metric": "index.mr"}):
        assert friedman(table(values), **options).ordered()[0] == "model 2"
    for options in ({"order": "ascending"}, {"metric": "mr"}, {"metric": "z.mr"}):
        assert friedman(table(values), **options).ordered()[0] == "model 0"
    with pytest.raises(ValueError, match="order: 'std' is neither better nor worse"):
        friedman(table(values), metric="std")
    assert friedman(table(values), metric="std", order="ascending").ordered()[0] == "model 0"


def ranks(seed: int, **options: Any) -> Ranks:
    rng = np.random.default_rng(seed)
    return Ranks(rng.geometric(0.1, 20), [1] * 20, 100, **options)


def test_ranks_and_reports() -> None:
    measured = {
        f"set {i}": {name: ranks(9 * i + j) for j, name in enumerate("abc")} for i in range(3)
    }
    found = friedman(measured, metric="mrr")
    values = [[report(x)["mrr"] for x in row.values()] for row in measured.values()]
    assert found.values.tolist() == values
    reports = {key: {a: report(x) for a, x in row.items()} for key, row in measured.items()}
    assert friedman(reports, metric="mrr").values.tolist() == values
    stored = {
        key: {a: Report.from_json(x.to_json()) for a, x in row.items()}
        for key, row in reports.items()
    }
    assert friedman(stored, metric="mrr").p_value == found.p_value
    runs = {key: {a: report([x, x]) for a, x in row.items()} for key, row in reports.items()}
    assert friedman(runs, metric="mrr").mean_ranks == found.mean_ranks
    assert found.metric == "mrr"
    with pytest.raises(ValueError, match="metric: expected the key to take of Ranks and Reports"):
        friedman(measured)
    with pytest.raises(KeyError, match="did you mean"):
        friedman(measured, metric="mmr")


def test_unlike_protocols_are_refused() -> None:
    rows = {
        f"set {i}": {"a": ranks(i), "b": ranks(i, protocol=Protocol(sampled=True))}
        for i in range(3)
    }
    with pytest.raises(ValueError, match=r"^results: set 0: a and b were ranked under.*allow"):
        friedman(rows, metric="mr")
    assert len(friedman(rows, metric="mr", allow_unlike=True).models) == 2


def test_notes() -> None:
    assert demsar(exact=False).notes == ()
    few = friedman(table([[1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 1, 3]]))
    assert few.notes == ("few units: 4 data sets; p is from the exact law",)
    floor = friedman(table([[1, 2, 3]] * 3))
    said = "floor reached: p cannot be below 0.0278 with 3 models over 3 data sets"
    assert floor.notes[-1] == said
    without = friedman(table(np.random.default_rng(0).random((4, 9))))
    assert without.notes == ("few units: 4 data sets; p is approximate",)
    assert math.isnan(without.p_exact)
    assert without.p_value == without.p_f


def test_renderings() -> None:
    found = demsar()
    text = str(found)
    assert text.splitlines()[0].split() == [
        *("model", "mean", "rank", "p", "against", "C4.5+m+cf", "p", "against", "C4.5+m"),
        *("p", "against", "C4.5+cf", "p", "against", "C4.5"),
    ]
    for rendered in (text, found.to_markdown(), found.to_latex(), found._repr_html_()):
        assert "Friedman over 14 data sets: chi-squared" in rendered
        assert "Nemenyi: critical difference" in rendered
    assert "Friedman of mr over" in str(friedman(table([[1, 2], [2, 1]]), metric="mr"))
    whole = found.to_dict()
    assert whole["nemenyi"]["C4.5 against C4.5+m"] == found.pair_p_value("C4.5", "C4.5+m")
    assert whole["p_value"] == found.p_value
    assert repr(found) == f"Friedman(4 models over 14 data sets, p {found.p_value:.3g})"
    pandas = pytest.importorskip("pandas")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.index) == found.ordered()
    with pytest.raises(ValueError, match="read-only"):
        found.values[0] = 0


@pytest.mark.parametrize(
    ("results", "kind", "said"),
    [
        ([[1, 2]], TypeError, "results: expected a mapping of data sets .*, got list"),
        ({"x": [1, 2]}, TypeError, "results: expected a mapping of data sets .*, got list for 'x'"),
        ({}, ValueError, "results: expected a mapping of .*, got none"),
        ({"x": {"a": 1, "b": 2}}, ValueError, "results: expected at least two .* on 1 data set"),
        (table([[1], [2]]), ValueError, "results: expected at least two models .*got 1 model on 2"),
        (
            {"x": {"a": 1, "b": 2}, "y": {"a": 1}},
            ValueError,
            "results: y: all models on each data set are needed; 'b' is not on all",
        ),
        (table([[1, 2], [math.nan, 1]]), ValueError, "results: set 1 / model 0: expected a numb"),
        (table([[1, 2], ["1", 1]]), TypeError, "results: set 1 / model 0: expected a number, Ran"),
    ],
)
def test_bad_results(results: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=f"^{said}"):
        friedman(results)


def test_bad_options() -> None:
    results = table([[1, 2], [2, 1]])
    with pytest.raises(ValueError, match="order: expected one of descending, ascending"):
        friedman(results, order="up")
    with pytest.raises(TypeError, match="exact: expected a bool"):
        friedman(results, exact=1)
    found = friedman(results)
    with pytest.raises(ValueError, match="level: expected a number between 0 and 1"):
        found.critical_difference(95)
    with pytest.raises(ValueError, match="model: expected one of model 0, model 1, got 'x'"):
        found.pair_p_value("x", "model 0")
