"""Test joint comparisons against plain loops over swapped ranks, and their family-wise error."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truerank import Protocol, Ranks, compare, report
from truerank.inference import JointComparisons, max_t
from truerank.inference.multiplicity.corrections import holm
from truerank.inference.multiplicity.joint_permutation import step_down

pytestmark = pytest.mark.python_only

KEYS = ["mrr", "mr", "hits@3", "median", "z.mr", "expected.gmr", "std"]


def models(n: int, number: int = 2, seed: int = 0) -> list[Ranks]:
    rng = np.random.default_rng(seed)
    labels = {"queries": rng.integers(0, max(n // 3, 1), n), "targets": range(n)}
    labels["relation"] = rng.integers(0, 3, n)
    tied = rng.integers(1, 3, (number, n))
    above = rng.geometric(0.1, (number, n))
    return [Ranks(above[i], tied[i], 1000, **labels) for i in range(number)]


def plain_step_down(observed: np.ndarray, resampled: np.ndarray) -> list[float]:
    """Westfall and Young's algorithm 4.1, by its definition."""
    order = sorted(range(len(observed)), key=lambda i: -abs(observed[i]))
    found, before = [0.0] * len(observed), 0.0
    for place, i in enumerate(order):
        reached = [max(abs(row[j]) for j in order[place:]) >= abs(observed[i]) for row in resampled]
        before = found[i] = max(before, float(np.mean(reached)))
    return found


@given(
    st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=9),
    st.integers(0, 8),
)
def test_step_down_is_its_definition(rows: list[list[int]], which: int) -> None:
    resampled = np.array(rows, dtype=float)
    observed = resampled[which % len(rows)]
    p, p_max_t = step_down(observed, resampled)
    assert p_max_t.tolist() == pytest.approx(plain_step_down(observed, resampled))
    assert p.tolist() == pytest.approx((np.abs(resampled) >= np.abs(observed)).mean(axis=0))
    assert (p_max_t >= p).all()


def test_chunks_of_statistics_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    resampled = np.random.default_rng(0).normal(size=(50, 4))
    resampled[3, 2] = math.nan
    whole = step_down(resampled[0], resampled)
    monkeypatch.setattr("truerank.inference.multiplicity.joint_permutation.STATISTICS", 12)
    for one, two in zip(whole, step_down(resampled[0], resampled), strict=True):
        assert one.tolist() == two.tolist()
    # a resample without a value counts as the most extreme
    assert whole[0][2] > (np.abs(resampled[:, 2]) >= abs(resampled[0, 2])).mean()


def swapped(a: Ranks, b: Ranks, mask: np.ndarray) -> tuple[Ranks, Ranks]:
    def mixed(one: Ranks, two: Ranks) -> Ranks:
        above, tied = (np.where(mask, getattr(two, x), getattr(one, x)) for x in ("above", "tied"))
        return Ranks(above, tied, one.candidates, relation=one.relation)

    return mixed(a, b), mixed(b, a)


@given(seed=st.integers(0, 100), by=st.sampled_from(["task", "query"]), grouped=st.booleans())
@settings(max_examples=15)
def test_every_way_to_swap(seed: int, by: str | None, grouped: bool) -> None:
    """All statistics of all swaps, computed one after the other, give the same p-values."""
    a, b = models(6, seed=seed)
    codes = np.arange(6) if by == "task" else np.unique(a.queries.codes, return_inverse=True)[1]
    parts = np.unique(a.relation.codes) if grouped else [None]
    keys = ["mrr", "mr", "hits@3"]

    def differences(one: Ranks, two: Ranks) -> list[float]:
        found = []
        for key, part in itertools.product(keys, parts):
            chosen = np.ones(6, bool) if part is None else one.relation.codes == part
            found.append(report(one[chosen])[key] - report(two[chosen])[key])
        return found

    ways = itertools.product([False, True], repeat=int(codes.max()) + 1)
    rows = np.array([differences(*swapped(a, b, np.array(way)[codes])) for way in ways])
    scale = np.sqrt((rows**2).mean(axis=0))
    rows = np.round(rows / np.where(scale > 0, scale, 1), 9)
    found = max_t(a, b, metrics=keys, groups="relation" if grouped else None, by=by, resamples=64)
    assert [row.statistic for row in found] == pytest.approx(rows[0].tolist(), abs=1e-8)
    assert [row.p_max_t for row in found] == pytest.approx(plain_step_down(rows[0], rows))
    expected = (np.abs(rows) >= np.abs(rows[0])).mean(axis=0)
    assert [row.p_value for row in found] == pytest.approx(expected.tolist())


@pytest.mark.parametrize("by", [None, "task", "query", "auto"])
@pytest.mark.parametrize("n", [10, 60])
def test_each_p_value_is_that_of_compare(by: str | None, n: int) -> None:
    a, b, c = models(n, 3)
    found = max_t({"a": a, "b": b, "c": c}, metrics=KEYS, by=by, resamples=99, seed=5)
    assert len(found) == 3 * len(KEYS)
    for i, key in enumerate(KEYS):
        pairs = compare({"a": a, "b": b, "c": c}, metric=key, by=by, resamples=99, seed=5)
        for row, pair in zip(found[3 * i : 3 * i + 3], pairs, strict=True):
            assert (row.metric, row.name_a, row.name_b) == (key, pair.name_a, pair.name_b)
            assert (row.value_a, row.difference) == (pair.value_a, pair.difference)
            assert (row.p_value, row.units) == (pair.p_value, pair.units)
            assert row.p_max_t >= row.p_value


def test_macro_averages_and_sides() -> None:
    a, b = (x.with_labels(side=["head", "tail"] * 10) for x in models(20))
    found = max_t(a, b, metrics=["macro.mrr", "tail.mr"], by="query", resamples=99)
    for row in found:
        alone = compare(a, b, metric=row.metric, by="query", resamples=99)
        assert (row.value_a, row.units) == (alone.value_a, alone.units)
    with pytest.raises(KeyError, match="a macro average is over groups"):
        max_t(a, b, metrics=["macro.mrr"])


def test_equal_questions_cost_nothing() -> None:
    """Questions with one answer are corrected as one; Holm's rule counts each of them."""
    a, b = models(40)
    row = max_t(a, b, metrics=["mrr"], resamples=199)[0]
    many = max_t(a, b, metrics=["mrr", "index.mrr", "ratio.mrr"], resamples=199)
    assert [one.p_max_t for one in many] == [row.p_value] * 3
    assert holm([one.p_value for one in many])[0] == pytest.approx(min(1, 3 * row.p_value))


def test_groups_are_asked_one_by_one() -> None:
    a, b = models(60)
    found = max_t(a, b, metrics=["mrr", "mr"], groups="relation", by="task", resamples=99)
    assert [(row.metric, row.group) for row in found] == [
        (key, group) for key in ("mrr", "mr") for group in "012"
    ]
    values = report(a, by="relation").group_values("mrr")
    assert [row.value_a for row in found[:3]] == pytest.approx(list(values.values()))
    sizes = np.bincount(a.relation.codes).tolist()
    assert [row.units for row in found[:3]] == sizes
    sided = [x.with_labels(side=["head", "tail"] * 30) for x in (a, b)]
    by_query = max_t(*sided, groups="query", resamples=9)
    assert by_query[0].group == "head 0"


def test_a_model_against_itself_and_nothing() -> None:
    a, _ = models(20)
    found = max_t(a, a, metrics=KEYS, groups="relation", resamples=99)
    assert {row.p_max_t for row in found} == {1.0}
    assert {row.statistic for row in found} == {0.0}
    empty = Ranks([], [], [])
    (row,) = max_t(empty, empty)
    assert math.isnan(row.p_max_t)
    assert math.isnan(row.p_value)


def test_differences_that_are_nan_count_for_nothing() -> None:
    a, b = (Ranks(x, [1, 1, 1, 1], [9, 9, 1, 1]) for x in ([0, 1, 0, 0], [3, 2, 0, 0]))
    labels = ["x", "x", "y", "y"]
    found = max_t(a, b, metrics=["index.mrr"], groups=labels)
    assert math.isnan(found[1].p_max_t)
    assert found[0].p_max_t == found[0].p_value == 0.5
    assert found.notes[-1] == "not counted: 1 of 2 differences are nan"


# -- the family-wise error -------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [0.0, 0.95])
def test_family_wise_error(shared: float) -> None:
    """Of families of true hypotheses 5 % are rejected; Holm rejects fewer where they depend."""
    rng = np.random.default_rng(1)
    families, units, questions, swaps = 1000, 20, 6, 199
    signs = rng.choice([-1.0, 1.0], (swaps, units))
    by_max_t = by_holm = 0
    for _ in range(families):
        common = rng.standard_t(3, (units, 1))
        apart = shared * common + (1 - shared) * rng.standard_t(3, (units, questions))
        apart[:, 0] *= 1000  # another scale
        rows = np.vstack([apart.sum(axis=0), signs @ apart])
        rows /= np.sqrt((rows**2).mean(axis=0))
        p, p_max_t = step_down(rows[0], rows)
        by_max_t += p_max_t.min() <= 0.05
        by_holm += min(holm(p.tolist())) <= 0.05
    error = 3 * math.sqrt(0.05 * 0.95 / families)
    assert abs(by_max_t / families - 0.05) <= error
    assert by_holm <= by_max_t
    if shared:
        assert by_holm / families < 0.05 - error


def test_metrics_of_the_same_ranks_cost_less_than_holm_takes() -> None:
    rng = np.random.default_rng(0)
    n, corrected = 200, []
    for seed in range(20):
        hard = rng.geometric(0.03, n)
        a, b = (Ranks(rng.binomial(hard, share), np.ones(n, int), 1000) for share in (0.47, 0.5))
        rows = max_t(
            a, b, metrics=["mrr", "mr", "gmr", "hits@10", "median"], resamples=199, seed=seed
        )
        least = min(row.p_max_t for row in rows), min(holm([row.p_value for row in rows]))
        corrected.append(least)
    by_max_t, by_holm = np.array(corrected).T
    assert by_max_t.mean() < 0.8 * by_holm.mean()
    assert (by_max_t <= 0.05).sum() >= (by_holm <= 0.05).sum()


# -- what is said ----------------------------------------------------------------------------------


def test_notes() -> None:
    a, b = models(60)
    assert max_t(a, b, resamples=99).notes == ()
    better = Ranks(a.above // 4, a.tied, 1000, queries=a.queries, targets=a.targets)
    found = max_t(better, b, metrics=["mrr", "mr"], resamples=99)
    assert found.notes == ("floor reached: p cannot be below 0.01 with 99 resamples",)
    assert found.p_floor == found.to_dict()["p_floor"] == 0.01
    assert str(found).splitlines()[1].split()[-4:] == ["<=", "0.01"] * 2
    bare = better.with_labels(queries=None, targets=None)
    assert "paired by position only" in max_t(bare, b, resamples=9).notes
    tests = [x.with_protocol(split="test") for x in (a, b)]
    assert "choosing a model by it" in max_t(*tests, resamples=9).notes[0]
    few = max_t(a[:4], b[:4], by="task", resamples=99)
    assert few.notes == ("few units: 4 tasks; p cannot be below 0.125",)
    assert few[0].p_value >= 0.125
    part = max_t(a[:20], b[:20], by=[0] * 4 + list(range(1, 17)), groups=[0] * 4 + [1] * 16)
    said = "few units: 1 of 2 comparisons have at most 5 units; their p cannot be below 0.0625"
    assert said in part.notes


def test_heavy_tails_are_noted() -> None:
    """A difference that two tasks decide is noted, in how many comparisons where there are many."""
    above = np.r_[5000, 9000, np.arange(38) % 7]
    a, b = (Ranks(x, [1] * 40, 10_000, targets=range(40)) for x in (above, np.arange(40) % 5))
    (note,) = max_t(a, b, metrics=["mr"], resamples=199).notes
    assert note == "heavy tail: 2 of 40 tasks carry the variance"
    several = max_t(a, b, metrics=["mr", "mrr"], resamples=199).notes
    assert several == ("heavy tail in 1 of 2 comparisons",)


def test_renderings() -> None:
    a, b, c = models(30, 3)
    found = max_t(a, b, metrics=["mrr", "mr"], resamples=99)
    assert isinstance(found, JointComparisons)
    assert repr(found) == "JointComparisons(2 comparisons, max-T)"
    heading = "| metric | a | b | difference | statistic | p | p (max-T) |"
    assert found.to_markdown().startswith(heading)
    assert found.to_markdown().splitlines()[2].startswith("| MRR \u2191 | ")
    assert found.to_csv().splitlines()[1].startswith("mrr,")
    assert found.to_dict()["comparisons"][0] == found[0].to_dict()
    assert found[0].to_dict()["p_max_t"] == found[0].p_max_t
    assert found.to_dict()["resamples"] == 99
    assert (found.by, found.units) == ("query", len(np.unique(a.queries.codes)))
    assert f"max-T, 99 resamples of {found.units} queries, the largest of" in str(found)
    whole = max_t({"a": a, "b": b, "c": c}, groups="relation", resamples=99)
    assert whole.to_csv().startswith(
        "metric,group,a,b,of a,of b,difference,statistic,p,p (max-T)\n"
    )
    assert str(whole).splitlines()[0].startswith("metric  group  a  b")
    assert len(whole[1:3]) == 2
    assert "\\begin{tabular}{llllrrrrrr}" in whole.to_latex()
    pandas = pytest.importorskip("pandas")
    assert isinstance(whole.to_pandas(), pandas.DataFrame)


@pytest.mark.parametrize(
    ("options", "kind", "said"),
    [
        ({"metrics": []}, ValueError, "metrics: expected at least one key, got none"),
        ({"metrics": "mrr"}, TypeError, "metrics: expected several keys, got the str 'mrr'"),
        ({"metrics": ["mrr", "mrr"]}, ValueError, "metrics: expected each key once, got 'mrr' twi"),
        ({"metrics": ["mmr"]}, KeyError, "did you mean"),
        ({"metrics": ["count"]}, ValueError, "metrics: count is the same for two models"),
        (
            {"metrics": ["macro.mrr"], "groups": "query", "by": "query"},
            ValueError,
            "metrics: 'macro.mrr' is an average over groups; ask for it without groups",
        ),
        ({"groups": "colour"}, ValueError, "groups: expected labels, one for each task"),
        ({"resamples": 0}, ValueError, "resamples: expected an integer from 1"),
        ({"seed": -1}, ValueError, "seed: expected"),
        (
            {"groups": "relation", "resamples": 10**8, "metrics": ["mrr", "mr"]},
            ValueError,
            "resamples: expected at most 89,478,485 for 6 comparisons, got 100,000,000",
        ),
    ],
)
def test_bad_options(options: dict, kind: type[Exception], said: str) -> None:
    a, b = models(6)
    with pytest.raises(kind, match=said):
        max_t(a, b, **options)


def test_bad_models() -> None:
    a, b = models(6)
    with pytest.raises(ValueError, match="a: expected at least two Ranks or Reports"):
        max_t({"a": a})
    with pytest.raises(TypeError, match="b: expected nothing beside a mapping"):
        max_t({"a": a, "b": b}, b)
    with pytest.raises(TypeError, match="b: expected Ranks or a Report, got NoneType"):
        max_t(a)
    with pytest.raises(ValueError, match="cannot compare: tasks: 6 against 5"):
        max_t(a, b[:5])
    unlike = b.with_protocol(filter="train")
    with pytest.raises(ValueError, match="cannot compare: protocol"):
        max_t(a, unlike)
    assert "unlike protocol" in max_t(a, unlike, allow_unlike=True, resamples=9).notes[0]
    assert list(max_t(report(a), report(b), resamples=9)) == list(max_t(a, b, resamples=9))
    assert Protocol() != unlike.protocol


def test_no_tasks_have_no_groups() -> None:
    none = Ranks([], [], [])
    with pytest.raises(ValueError, match="groups: expected tasks to group, got none"):
        max_t(none, none, groups=[])
