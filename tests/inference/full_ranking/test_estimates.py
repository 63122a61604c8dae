"""Test metrics estimated from sampled negatives: by enumeration and simulation."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math

import numpy as np
import pytest
import scipy.stats

import truerank as tr
from truerank.inference import FullRankingEstimate, estimate_full_ranking, interval, pvalue
from truerank.metrics import UnknownKeyError

pytestmark = pytest.mark.python_only

SAMPLED = tr.Protocol(sampled=True)


def sampled(above: object, tied: object, negatives: object, **labels: object) -> tr.Ranks:
    """Ranks among sampled negatives."""
    return tr.Ranks(above, tied, np.asarray(negatives) + 1, protocol=SAMPLED, **labels)


def draw(
    full: np.ndarray, candidates: int, negatives: int, seed: int, **labels: object
) -> tr.Ranks:
    """Rank tasks of known full ranks among negatives drawn without replacement."""
    rng = np.random.default_rng(seed)
    above = rng.hypergeometric(full - 1, candidates - full, negatives)
    return sampled(above, np.ones_like(above), negatives, **labels)


def zipf(tasks: int, candidates: int, seed: int = 0) -> np.ndarray:
    """Draw full ranks from a law that is proportional to 1 / R."""
    law = 1 / np.arange(1, candidates + 1)
    return np.random.default_rng(seed).choice(candidates, tasks, p=law / law.sum()) + 1


@pytest.mark.parametrize("kind", ["optimistic", "realistic", "pessimistic", "expected"])
@pytest.mark.parametrize("negatives", [1, 2, 4, 5])
@pytest.mark.parametrize("replacement", [False, True])
def test_the_mean_rank_is_unbiased_over_all_samples(
    kind: str, negatives: int, replacement: bool
) -> None:
    scores, true = [3, 1, 2, 2, 5], 2  # two above, two tied, one below
    draws = (
        itertools.product(scores, repeat=negatives)
        if replacement
        else itertools.combinations(scores, negatives)
    )
    counts = [(sum(s > true for s in drawn), sum(s == true for s in drawn)) for drawn in draws]
    above, tied = np.array(counts).T
    ranks = sampled(above, tied + 1, negatives)  # all samples, each as a task
    found = estimate_full_ranking(ranks, 6, f"{kind}.mr", replacement=replacement)
    expected = tr.report(tr.Ranks([2], [3], 6))[f"{kind}.mr"]
    assert found[f"{kind}.mr"].value == pytest.approx(expected, rel=1e-14)


def test_the_mean_rank_has_the_standard_error_of_a_mean_over_units() -> None:
    queries = [0, 0, 1, 2, 2, 2, 3, 4]
    above = np.array([0, 0, 1, 0, 1, 0, 10, 0])
    ranks = sampled(above, np.ones(8, int), 10, queries=queries)
    found = estimate_full_ranking(ranks, 101, ["mr", "amri", "imr"])
    each = 1 + above * 10.0
    away = np.bincount(queries, weights=each - each.mean())
    error = math.sqrt((away**2).sum() * 5 / 4) / 8
    metric = found["mr"]
    assert metric.value == each.mean()
    assert metric.error == pytest.approx(error)
    assert (metric.units, metric.by, metric.largest) == (5, "query", 3)
    assert 1 <= metric.low < metric.value < metric.high <= 101
    assert metric.notes[0] == "few units: 5 queries"
    chance = (101 + 1) / 2
    index = (each.mean() - chance) / (1 - chance)
    assert found["index.mr"].value == pytest.approx(index)
    assert found["index.mr"].high == pytest.approx((metric.low - chance) / (1 - chance))
    assert found["index.mr"].error == pytest.approx(error / (chance - 1))
    assert found["imr"].value == pytest.approx(1 / each.mean())


def test_bounds_of_the_mean_rank_are_normal_for_many_tasks() -> None:
    metric = estimate_full_ranking(draw(zipf(20_000, 300), 300, 100, 0), 300, "mr")["mr"]
    assert metric.high - metric.value == pytest.approx(1.96 * metric.error, rel=0.04)
    assert metric.value - metric.low == pytest.approx(1.96 * metric.error, rel=0.04)


def test_no_bounds_have_width_zero() -> None:
    queries = np.repeat(np.arange(40), 5)
    zeros = np.zeros(200, int)
    ranks = sampled(zeros, np.ones(200, int), 10, queries=queries)
    found = estimate_full_ranking(ranks, 101, ["mr", "mrr"])
    assert (found["mr"].value, found["mr"].low) == (1, 1)
    assert found["mr"].notes == (
        "zero width avoided: no task differs from the others in its sample",
    )
    # a law with the share p at rank 101: 40 independent queries see none of it
    threshold = scipy.stats.t.ppf(0.975, 39) ** 2 / 2
    assert found["mr"].high == pytest.approx(101 - 100 * math.exp(-threshold / 40), rel=0.03)
    assert found["mrr"].high == 1
    assert found["mrr"].low < math.exp(-threshold / 40)
    one = np.where(np.arange(200) == 7, 9, 0)
    ranks = sampled(one, np.ones(200, int), 10, queries=queries)
    found = estimate_full_ranking(ranks, 101, "mr")["mr"]
    assert found.notes == ("heavy tail: 1 of 40 queries carry the variance",)
    assert found.high > found.value + 5 * found.error


def test_weights_and_unequal_numbers_count_in_the_mean_rank() -> None:
    ranks = sampled([1, 4, 2], [1, 1, 1], [4, 8, 5], weights=[1, 2, 0])
    found = estimate_full_ranking(ranks, [9, 17, 6], "mr")
    assert found["mr"].value == pytest.approx(((1 + 1 * 8 / 4) + 2 * (1 + 4 * 16 / 8)) / 3)
    assert found["mr"].units == 2
    assert found.candidates == (6, 17)


@pytest.mark.parametrize("shape", ["any", "decreasing"])
def test_all_negatives_give_the_measured_metrics(shape: str) -> None:
    full = zipf(3000, 30)
    found = estimate_full_ranking(
        draw(full, 30, 29, 1), 30, ["hits@1", "hits@3", "mrr", "gmr", "median", "mr"], shape=shape
    )
    measured = tr.report(tr.Ranks(full - 1, np.ones_like(full), 30))
    near = 1e-4 if shape == "any" else 0.01
    for key, metric in found.items():
        assert metric.told
        assert metric.value == pytest.approx(measured[key], rel=near), key


def test_bounds_with_all_negatives_invert_the_likelihood_ratio_of_a_share() -> None:
    full = zipf(500, 12)
    found = estimate_full_ranking(draw(full, 12, 11, 1), 12, "hits@1")["hits@1"]
    share, n = np.mean(full == 1), len(full)
    threshold = scipy.stats.t.ppf(0.975, n - 1) ** 2 / 2

    def loss(p: float) -> float:
        return n * (share * math.log(share / p) + (1 - share) * math.log((1 - share) / (1 - p)))

    assert loss(found.low) == pytest.approx(threshold, rel=0.03)
    assert loss(found.high) == pytest.approx(threshold, rel=0.03)


@pytest.mark.parametrize("shape", ["any", "decreasing"])
def test_bounds_cover_the_true_values(shape: str) -> None:
    law = 1 / np.arange(1, 201)
    law /= law.sum()
    ranks = np.arange(1, 201)
    true = {"mrr": law @ (1 / ranks), "hits@3": law[:3].sum(), "mr": law @ ranks}
    covered = dict.fromkeys(true, 0)
    for seed in range(12):
        sample = draw(zipf(400, 200, seed), 200, 100, seed + 1000)
        for key, metric in estimate_full_ranking(sample, 200, [*true], shape=shape).items():
            covered[key] += metric.low <= true[key] <= metric.high
    assert min(covered.values()) >= 10, covered


def test_few_negatives_do_not_tell_the_first_ranks() -> None:
    full = zipf(2000, 40_000)
    ranks = draw(full, 40_000, 100, 0)
    found = estimate_full_ranking(ranks, 40_000)
    for key in ("mrr", "hits@1", "hits@3", "hits@10"):
        metric = found[key]
        assert not metric.told
        assert math.isnan(metric.value)
        assert metric.notes == (
            "100 of 39,999 negatives do not tell it; any value within the bounds fits",
        )
        assert metric.low < tr.report(tr.Ranks(full - 1, np.ones_like(full), 40_000))[key]
        assert metric.high > metric.low + 0.1
    assert found["mr"].told
    assert found["index.mr"].told
    wide = estimate_full_ranking(ranks, 40_000, "mrr", tolerance=1)
    assert wide["mrr"].low <= wide["mrr"].value <= wide["mrr"].high


def test_a_decreasing_law_has_nearer_bounds_and_is_doubted_where_it_is_wrong() -> None:
    ranks = draw(zipf(2000, 200), 200, 50, 0)
    keys = ["mrr", "hits@1", "hits@10", "gmr"]
    every, decreasing = (
        estimate_full_ranking(ranks, 200, keys, shape=shape) for shape in ("any", "decreasing")
    )
    for key in keys:
        assert every[key].low <= decreasing[key].low + 1e-3
        assert decreasing[key].high <= every[key].high + 1e-3
        assert "contradicts" not in str(decreasing[key])
    assert decreasing["hits@10"].high - decreasing["hits@10"].low < 0.8 * (
        every["hits@10"].high - every["hits@10"].low
    )
    second = draw(np.maximum(zipf(2000, 200), 2), 200, 150, 0)
    doubted = estimate_full_ranking(second, 200, keys, shape="decreasing")
    assert doubted.notes == (
        "the sample contradicts a decreasing law: rank 2 is more likely than rank 1",
    )


def test_clusters_widen_the_bounds() -> None:
    full = np.repeat(zipf(150, 50), 16)
    rng = np.random.default_rng(0)
    above = np.repeat(rng.hypergeometric(full[::16] - 1, 50 - full[::16], 40), 16)
    queries = np.repeat(np.arange(150), 16)
    ranks = sampled(above, np.ones_like(above), 40, queries=queries)
    keys = ["mrr", "hits@10", "mr"]
    by_query, by_task = (estimate_full_ranking(ranks, 50, keys, by=by) for by in ("auto", "task"))
    alone = estimate_full_ranking(ranks[::16], 50, keys)
    for key in keys:
        assert by_query[key].by == "query"
        assert by_query[key].error > 2.5 * by_task[key].error
        assert by_query[key].error == pytest.approx(alone[key].error, rel=0.1)


def test_equal_weights_and_repeats_change_nothing() -> None:
    ranks = draw(zipf(300, 60), 60, 30, 0)
    plain = estimate_full_ranking(ranks, 60)
    for key, metric in estimate_full_ranking(ranks.with_weights(np.full(300, 7.0)), 60).items():
        assert metric.value == pytest.approx(plain[key].value, nan_ok=True)
        assert metric.low == pytest.approx(plain[key].low, rel=1e-3, abs=1e-3)
    only = np.where(np.arange(300) < 100, 1.0, 0.0)
    first = estimate_full_ranking(ranks[:100], 60)
    for key, metric in estimate_full_ranking(ranks.with_weights(only), 60).items():
        assert metric._replace(notes=()) == first[key]._replace(notes=())


def test_sides_are_fitted_apart() -> None:
    full = zipf(600, 40)
    side = ["head", "tail"] * 300
    ranks = draw(full, 40, 39, 0, side=side)
    found = estimate_full_ranking(ranks, 40, ["tail.hits@1", "head.mr", "hits@1"])
    assert found["tail.hits@1"].value == pytest.approx(np.mean(full[1::2] == 1))
    assert found["head.mr"].value == pytest.approx(full[::2].mean())
    assert found["hits@1"].value == pytest.approx(np.mean(full == 1))


def test_kinds_of_tied_ranks() -> None:
    rng = np.random.default_rng(0)
    above, tied = rng.integers(0, 5, 200), rng.integers(1, 4, 200)
    ranks = sampled(above, tied, 9)
    found = estimate_full_ranking(ranks, 10)
    assert next(iter(found)) == "expected.mrr"
    keys = ["optimistic.mrr", "expected.mrr", "pessimistic.mrr", "random.mrr", "realistic.mr"]
    found = estimate_full_ranking(ranks, 10, keys)
    measured = tr.report(ranks)
    for key in keys:
        assert found[key].value == pytest.approx(measured[key], rel=1e-6), key
    with pytest.raises(
        tr.InputValueError, match=r"metrics: .* of tied tasks; take 'expected\.mrr'"
    ):
        estimate_full_ranking(ranks, 10, "mrr")


def test_unlike_numbers_of_candidates_and_negatives() -> None:
    rng = np.random.default_rng(0)
    candidates = rng.integers(3000, 5000, 1500)
    full = np.minimum(zipf(1500, 3000), candidates)
    negatives = np.where(np.arange(1500) % 2, 2000, 2500)
    above = rng.hypergeometric(full - 1, candidates - full, negatives)
    ranks = sampled(above, np.ones_like(above), negatives)
    found = estimate_full_ranking(ranks, candidates, ["hits@10", "mrr", "mr"])
    assert found.origin == (
        "estimated from 2,000 to 2,500 sampled negatives of "
        f"{candidates.min():,} to {candidates.max():,} candidates"
    )
    measured = tr.report(tr.Ranks(full - 1, np.ones_like(full), candidates))
    for key, metric in found.items():
        assert metric.low < measured[key] < metric.high, key
        assert metric.told


def test_a_single_task_and_none() -> None:
    found = estimate_full_ranking(sampled([3], [1], 10), 101, ["mrr", "mr"])
    assert found["mr"].value == 31.0
    assert math.isnan(found["mr"].low)
    assert not found["mrr"].told
    none = estimate_full_ranking(sampled([], [], np.zeros(0, int)), 101, ["mrr", "mr"])
    assert math.isnan(none["mrr"].low)
    assert none["mr"].units == 0


@pytest.mark.parametrize("above", [0, 1])
def test_a_single_task_does_not_tell_the_median(above: int) -> None:
    metric = estimate_full_ranking(sampled([above], [1], 1), 2, "median", tolerance=9)["median"]
    assert not metric.told
    assert math.isnan(metric.low)
    assert math.isnan(metric.high)


def test_no_weights_and_numbers_beyond_an_integer() -> None:
    none = sampled([], [], np.zeros(0, int)).with_weights([])
    assert estimate_full_ranking(none, 101, "mr")["mr"].units == 0
    with pytest.raises(ValueError, match="candidates: "):
        estimate_full_ranking(none, 2**63, "mr")


def test_what_is_printed_says_that_it_is_estimated() -> None:
    ranks = draw(zipf(300, 1000), 1000, 100, 0)
    found = estimate_full_ranking(ranks, 1000, ["hits@1", "mr", "hits@500"])
    origin = "estimated from 100 sampled negatives of 1,000 candidates"
    assert isinstance(found, FullRankingEstimate)
    lines = str(found).splitlines()
    assert str(found) == found.to_text()
    assert lines[0].split("  ")[0] == "metric"
    assert lines[1].split()[:5] == ["Hits@1", "\u2191", "not", "told", "0"]
    said = f"{origin[0].upper()}{origin[1:]}, 300 tasks."
    assert lines[4:6] == ["", said]
    assert lines[-1].startswith("hits@1: 100 of 999 negatives do not tell it")
    assert found.to_text(notes=False).splitlines() == lines[:4]
    page = found.to_markdown()
    assert f"- {said}\n- hits@1: 100 of 999" in page
    assert "Hits@1 $\\uparrow$ & not told & 0 to " in found.to_latex()
    assert '<th scope="row">MR \u2193</th>' in found._repr_html_()
    assert f"{found['mr'].value:.7g}" in found.to_text(digits=7)
    records = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [row["key"] for row in records] == list(found)
    assert float(records[1]["value"]) == found["mr"].value
    assert "| Hits@1 \u2191 | not told | 0 to " in page
    fields = json.loads(found.to_json())
    assert fields["origin"] == origin
    assert fields["estimated"] is True
    assert fields["metrics"]["hits@1"]["value"] is None
    assert fields["metrics"]["mr"]["value"] == found["mr"].value
    assert origin in repr(found)
    assert found["both.realistic.mr"] == found["mr"]
    with pytest.raises(UnknownKeyError, match="'mrr': not estimated; these are: hits@1, mr"):
        found["mrr"]


def test_estimates_are_not_mixed_with_measured_numbers() -> None:
    ranks = draw(zipf(50, 100), 100, 20, 0)
    found = estimate_full_ranking(ranks, 100, "mr")
    estimated = r"a: metrics that are estimated from sampled negatives have no ranks"
    for models in ((found, ranks), (found, found), ({"a": found, "b": ranks},)):
        with pytest.raises(tr.InputValueError, match=estimated):
            tr.compare(*models)
    with pytest.raises(tr.InputTypeError, match="got FullRankingEstimate"):
        tr.report(found)
    with pytest.raises(tr.InputTypeError, match="got FullRankingEstimate"):
        tr.table({"a": found})
    for function in (interval, pvalue):
        with pytest.raises(tr.InputValueError, match="ranks: metrics that are estimated"):
            function(found)
    with pytest.raises(tr.InputValueError, match="JSON of a report"):
        tr.Report.from_json(found.to_json())


def test_errors_name_the_argument() -> None:
    ranks = sampled([0, 3], [1, 1], 10)
    full = tr.Ranks([0, 3], [1, 1], 11)
    with pytest.raises(tr.InputValueError, match=r"^ranks: .* say so with ranks\.with_protocol"):
        estimate_full_ranking(full, 100)
    with pytest.raises(tr.InputTypeError, match=r"^ranks: expected Ranks, got list"):
        estimate_full_ranking([1, 2], 100)
    with pytest.raises(tr.InputValueError, match=r"^ranks: .* negative for each task, got none"):
        estimate_full_ranking(sampled([0, 0], [1, 1], [4, 0]), 100)
    with pytest.raises(tr.InputValueError, match=r"^candidates: expected at least 11 for task 1"):
        estimate_full_ranking(ranks, [11, 10])
    with pytest.raises(tr.InputValueError, match=r"^candidates"):
        estimate_full_ranking(ranks, [100] * 3)
    with pytest.raises(tr.InputTypeError, match=r"^candidates"):
        estimate_full_ranking(ranks, 99.5)
    with pytest.raises(tr.InputValueError, match=r"^shape: "):
        estimate_full_ranking(ranks, 100, shape="rising")
    for tolerance in (0, math.nan, math.inf):
        with pytest.raises(tr.InputValueError, match=r"^tolerance: "):
            estimate_full_ranking(ranks, 100, tolerance=tolerance)
    with pytest.raises(tr.InputValueError, match=r"^level: "):
        estimate_full_ranking(ranks, 100, level=1)
    with pytest.raises(tr.InputTypeError, match=r"^replacement: "):
        estimate_full_ranking(ranks, 100, replacement=1)
    with pytest.raises(UnknownKeyError, match="std is not estimated from sampled negatives"):
        estimate_full_ranking(ranks, 100, "std")
    with pytest.raises(UnknownKeyError, match="a macro average is not estimated"):
        estimate_full_ranking(ranks, 100, "macro.mrr")
    many = estimate_full_ranking(ranks, 5, "mr", replacement=True)
    assert many["mr"].value == pytest.approx(1 + 1.5 * 4 / 10)
