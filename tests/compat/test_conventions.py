"""The conventions of other toolkits: hand-made cases, and a slow oracle for each toolkit."""

from __future__ import annotations

import csv
import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.compat import ORACLES, exact
from strategies.count_problems import no_mask
from support.environment import ROOT
from support.examples import examples
from support.refusals import refusal, refused
from truerank import compat
from truerank.compat.interpreter import EXACT, logsigmoid_bounds, metric_under

NAN = float("nan")
INF = float("inf")


# -- hand-made cases -------------------------------------------------------------------------------

# scores (candidate 0 is true), filter, the exact realistic rank
CASES: dict[str, tuple[list[float], list[int] | None, float]] = {
    "a tie": ([5, 5, 5, 9, 1], None, 3),
    "a true score of NaN": ([NAN, 0.1, 0.2, 0.3], None, 4),
    "a candidate of NaN": ([2, NAN, 1], None, 1),
    "a true score of -inf and a filter": ([-INF, 3, 2, 1, 0], [1, 2], 3),
    "a true score of -1e9 and a filter": ([-1e9, 3, 2, 1, 0], [1, 2], 3),
    "a true score of -1e7 and a filter": ([-1e7, 3, 2, 1, 0], [1, 2], 3),
    "a true score of -1e6 and a filter": ([-1e6, 3, 2, 1, 0], [1, 2], 3),
    "a true score of -1 and a filter": ([-1, 3, 2, 1, 0], [1, 2], 3),
    "scores within a thousandth, and around 0": ([0.0015, 0.0011, 0.0019, -0.0004, 0.0009], [], 2),
    "scores past 32-bit integers of thousandths": ([3e6, 1, 2, 4e6], [], 2),
    "a tolerance that is relative": ([-1000, -999.95, -999.906, -999.905], None, 4),
    "a filter with repeats and the true candidate": ([5, 9, 1], [1, 1, 0, 0], 1),
    "scores that saturate": ([300, 200, 250, 1], [], 1),
    "scores whose log-sigmoids are within rounding": ([3, 3.0000002, 2.9999998, 3], [], 2.5),
    "scores that nearly saturate": ([103, 104, 102.9, 106.1, 90], [], 3),
    "the true candidate among its own negatives": ([9, 1, 2], None, 1),
    "a bias that is lost in rounding": ([2.0**25, 1, 2, 3], [1, 2], 1),
}
# What toolkits were seen to do: the first and the last place, or one number if they are equal.
SEEN: dict[str, dict[str, tuple[float, ...]]] = {
    "a tie": {
        **{"libkge": (3,), "openke": (2,), "ogb": (3,), "ogb-1.3.3": (2, 4), "ogb-hits": (4,)},
        **{"rotate": (2, 4), "dgl-ke": (5,), "pytorch-biggraph": (4,), "openea": (2, 4)},
        **{"pykeen": (3,), "torchkge": (4,), "nbfnet": (5,), "simkgc": (2, 4), "ampligraph": (5,)},
    },
    "a true score of NaN": {
        **{"libkge": (4,), "openke": (1,), "ogb": (1,), "ogb-1.3.3": (1,), "ogb-hits": (4,)},
        **{"rotate": (1,), "dgl-ke": (1,), "pytorch-biggraph": (1,), "openea": (4,)},
        **{"pykeen": (0.5,), "torchkge": (0,), "simkgc": (1,), "ampligraph": (5,)},
    },
    "a true score of -inf and a filter": {
        **{"libkge": (4,), "openke": (3,), "ogb": (3,), "rotate": (3, 5), "dgl-ke": (3,)},
        **{"dgl-ke-0.1": (6,), "pytorch-biggraph": (6,), "openea": (3,), "pykeen": (3,)},
        **{"torchkge": (5,), "torchkge-0.16.16": (3,), "compgcn": (5,), "ampligraph": (3,)},
    },
    "a true score of -1e7 and a filter": {"compgcn": (3, 5), "simkgc": (5,), "torchkge": (3,)},
    "a filter with repeats and the true candidate": {name: (1,) for name in compat.PRESETS},
}


def check_places(found: compat.CompatTable, i: int, *query: Any) -> None:
    """Check the places of a task under all presets, and its exact rank."""
    assert set(found) == set(ORACLES)
    assert found.exact.ranks.realistic[i] == exact(*query)
    for name, oracle in ORACLES.items():
        with np.errstate(over="ignore"):
            assert (found[name].first[i], found[name].last[i]) == oracle(*query), name


@pytest.mark.parametrize("case", CASES)
def test_hand_made_cases(case: str) -> None:
    scores, filtered, realistic = CASES[case]
    matrix = np.array([scores], np.float32)
    lists = None
    out = None
    if filtered is not None:
        lists = [filtered]
        out = set(filtered)
    found = compat.table(matrix, [0], filter=lists)
    assert found.exact["mr"] == realistic
    check_places(found, 0, matrix[0], 0, out)
    for name, places in SEEN.get(case, {}).items():
        assert tuple(dict.fromkeys((found[name].first[0], found[name].last[0]))) == places, name


# -- slow oracles ----------------------------------------------------------------------------------

NUMBERS = [NAN, INF, -INF, 0.0, -0.0, 1.0, 1.00005, 1.0002, -1.0, 2.0, -5.0, 90.0, 120.0, 500.0]
NUMBERS += [1.0000001, 3.0, 3.0000002, 88.0, 103.0, 104.0, 105.5, -16.0, -16.000002, -14.0]
NUMBERS += [-13.999999, 0.0015, 0.0019, -0.0004, 2.1e6, 2.2e6, -2.2e6, -1e7, -1e6]
NUMBERS += [-1e9, -2e9, 2.0**24, 2.0**24 + 2, 2.0**25, -(2.0**25), 1e-6, 2e-6, 3e38, -3e38]
VALUES = st.sampled_from(NUMBERS)


# The exact convention but for a tolerance that changes nothing, so that the interpreter counts.
COUNTED = replace(compat.PRESETS["ogb"], convention=compat.Convention(atol=1e-300))


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, list[int], list[list[int]] | None, list[int]]:
    """Draw scores, targets, a filter or none, and the columns that are candidates."""
    columns = draw(st.integers(1, 7))
    tasks = draw(st.integers(1, 8))
    rows = st.lists(VALUES, min_size=columns, max_size=columns)
    scores = np.array(draw(st.lists(rows, min_size=tasks, max_size=tasks)), np.float32)
    column = st.integers(0, columns - 1)
    targets = draw(st.lists(column, min_size=tasks, max_size=tasks))
    filtered = st.lists(column, max_size=4).map(lambda entries: no_mask(entries, columns))
    lists = st.lists(filtered, min_size=tasks, max_size=tasks)
    among = draw(st.just(set(range(columns))) | st.sets(column).map(set(targets).union))
    return scores, targets, draw(st.none() | lists), sorted(among)


@examples(15)
@given(problems(), st.sampled_from(["descending", "ascending"]), st.sampled_from([1, 30, 1 << 20]))
def test_slow_oracles(problem: tuple[Any, ...], order: str, block: int) -> None:
    scores, targets, filtered, among = problem
    options: dict[str, Any] = {"filter": filtered, "candidates": among, "order": order}
    given_scores = scores if order == "descending" else -scores
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("truerank.compat.interpreter.BLOCK_ENTRIES", block)
        found = compat.table(given_scores, targets, **options)
        counted = compat.report(given_scores, targets, preset=COUNTED, **options)
    np.testing.assert_array_equal(counted.first, found.exact.ranks.realistic)
    for i, target in enumerate(targets):
        out = None
        if filtered is not None:
            out = {among.index(j) for j in filtered[i] if j in among}
        check_places(found, i, scores[i, among], among.index(target), out)
    for name in found:
        if name != "pykeen" or np.isfinite(scores).all():
            check_numbers(found[name])


def check_numbers(found: compat.CompatReport) -> None:
    """Check that numbers are means of what each place adds: the exact one, and both ends."""
    for shown, metric in zip(found, found.preset.metrics, strict=True):
        name, _, k = metric.key.partition("@")
        if name == "amri":  # which is pinned below
            continue
        numbers = []  # exact, at the first place, at the last
        for ranks in (found.exact.ranks.realistic, found.first, found.last):
            with np.errstate(divide="ignore"):
                added = {"mr": ranks, "mrr": 1 / ranks, "ndcg": 1 / np.log2(ranks + 1)}
            values = added.get(name, np.ones(len(ranks)))
            if k:
                values = np.where(ranks <= int(k), values, 0)
            numbers.append(values.mean() * metric.scale)
        assert found.corrected(shown) == pytest.approx(numbers[0], rel=1e-14), shown
        from_0 = found.preset.name == "pytorch-geometric" and name == "mr"
        bounds = sorted(found.bounds(shown))
        np.testing.assert_allclose(bounds, np.sort(numbers[1:]) - from_0, rtol=1e-5, err_msg=shown)


@examples(6)
@given(data=st.data())
def test_sampled_and_full_agree(data: st.DataObject) -> None:
    """With all other candidates as negatives, in a matrix or ragged, places are the same."""
    shape = data.draw(st.tuples(st.integers(1, 8), st.integers(2, 6)))
    rows = st.lists(VALUES, min_size=shape[1], max_size=shape[1])
    scores = np.array(data.draw(st.lists(rows, min_size=shape[0], max_size=shape[0])), np.float32)
    whole = compat.table(scores, np.zeros(shape[0], int))
    others = scores[:, 1:]
    indptr = np.arange(shape[0] + 1) * (shape[1] - 1)
    for sign, form in ((1, others), (1, (indptr, others.ravel())), (-1, -others)):
        order = {1: "descending", -1: "ascending"}[sign]
        sampled = compat.table(sign * scores[:, 0], others=form, order=order)
        assert sampled.exact.ranks.protocol.sampled
        for name in whole:
            convention = compat.PRESETS[name].convention
            if convention.itself != "no":  # the true candidate is not a negative here
                continue
            if convention.rank.endswith("column"):  # nor does it have a column
                assert (sampled[name].first <= whole[name].first).all()
                assert (whole[name].last <= sampled[name].last).all()
                continue
            np.testing.assert_array_equal(sampled[name].first, whole[name].first, err_msg=name)
            np.testing.assert_array_equal(sampled[name].last, whole[name].last, err_msg=name)


def test_dtypes() -> None:
    rng = np.random.default_rng(3)
    scores = rng.integers(-5, 5, (6, 9))
    targets = rng.integers(0, 9, 6)
    floats = scores.astype(np.float32)
    bits = (floats.view(np.uint32) >> 16).astype(np.uint16)
    expected = compat.table(floats, targets)
    for dtype in ("float16", "float64", "int8", "int16", "int32", "bfloat16"):
        given_scores = bits if dtype == "bfloat16" else scores.astype(dtype)
        found = compat.table(given_scores, targets, dtype=dtype)
        for name in expected:
            np.testing.assert_array_equal(found[name].first, expected[name].first)
            np.testing.assert_array_equal(found[name].last, expected[name].last)


def test_pytrec_eval_rounds_to_float32() -> None:
    """What that makes equal is in the order of names, the last first."""
    found = compat.table([[0.5 + 1e-9, 0.5, 0.1]], [0])
    assert (found["trec_eval"].first, found["pytrec_eval"].first) == (1, 2)


# -- numbers and arithmetic ------------------------------------------------------------------------


def test_numbers_of_pykeen() -> None:
    """As PyKEEN 1.11.1 gave them, in which adjusted numbers come from ranks in float32."""
    counts = np.array([[2**23], [2], [2**24 + 2], [0]])  # the sum of both ranks is 16,777,219
    convention = compat.PRESETS["pykeen"].convention
    assert metric_under("mr", counts, EXACT)[0] == 8_388_609.5
    assert metric_under("mr", counts, convention)[0] == 8_388_610.0
    scores = ((np.arange(60).reshape(6, 10) * 7919) % 11).astype(np.float32) / 4
    targets = [0, 3, 9, 5, 1, 7]
    filtered = np.arange(60).reshape(6, 10) * 31 % 7 == 0
    lists = [np.flatnonzero(row) for row in filtered]
    found = compat.report(scores, targets, preset="pykeen", filter=lists)
    hits = {"hits_at_1": 1 / 6, "hits_at_3": 1 / 2, "hits_at_5": 1 / 2, "hits_at_10": 1}
    assert {name: found[name] for name in hits} == pytest.approx(hits, rel=1e-7)
    singles = {name: value for name, value in found.items() if name not in hits}
    assert singles == {
        "arithmetic_mean_rank": 4.333333492279053,
        "inverse_harmonic_mean_rank": 0.40740740299224854,
        "adjusted_arithmetic_mean_rank_index": 0.1489361296308802,
    }


@pytest.mark.parametrize(
    ("scores", "mrr", "amri"),  # as PyKEEN 1.11.1 gave them; nan: it raised an error
    [
        ([[1, NAN], [NAN, 2]], 1, 0),
        ([[1, INF], [INF, 2]], 0.5, 1e12),
        ([[NAN, NAN], [NAN, 1]], NAN, NAN),
    ],
)
def test_pykeen_with_few_finite_scores(scores: object, mrr: float, amri: float) -> None:
    found = compat.report(scores, [0, 1], preset="pykeen")
    assert found.figures["mrr"] == pytest.approx(mrr, nan_ok=True)
    assert found.figures["amri"] == pytest.approx(amri, nan_ok=True)


def single_mean(values: Any) -> np.float32:
    """Add values one by one to a float32, and divide by their number."""
    total = np.float32(0)
    for value in values:
        total = np.float32(float(total) + float(value))
    return np.float32(total / np.float32(len(values)))


def test_float32_sums_stop_growing() -> None:
    ranks = np.full(40, 2**20, np.int64)
    ranks += np.arange(40) >= 20  # beyond 2**24: 1 is lost
    counts = np.stack([ranks - 1, 0 * ranks + 1, 2 * ranks, 0 * ranks])
    openke = compat.PRESETS["openke"].convention
    assert metric_under("mr", counts, openke)[0] == single_mean(ranks)
    assert metric_under("mr", counts, openke)[0] != metric_under("mr", counts, EXACT)[0]
    thirds = np.array([[0, 0, 1], [1, 1, 1], [3, 3, 3], [0, 0, 0]])
    assert metric_under("mr", thirds, openke)[0] == float(np.float32(4) / np.float32(3))
    reciprocals = compat.Convention(mean="float32 reciprocals")
    third = float(np.float32(1) / np.float32(3))
    assert metric_under("mrr", np.array([[2], [1], [5], [0]]), reciprocals)[0] == third


@pytest.mark.parametrize("scale", [0.001, 1.0, 1e6])
def test_casts_to_integers(scale: float) -> None:
    """As this processor casts for AmpliGraph, and clipped as XLA does: both are within bounds."""
    rng = np.random.default_rng(0)
    scores = (scale * rng.normal(0, 3, (60, 40)).round(1)).astype(np.float32)
    scores[:20, 7] = np.array([NAN, INF, -INF, 1e30] * 5, np.float32)
    place = rng.integers(0, 40, 60)
    known = rng.random(scores.shape) < 0.2
    known[np.arange(60), place] = True
    lists = [np.flatnonzero(row) for row in known]
    product = scores * np.float32(1000)
    with np.errstate(invalid="ignore"):
        here = product.astype(np.int32)
    clipped = np.clip(np.nan_to_num(product, nan=0).astype(np.float64), -(2**31), 2**31 - 1)
    fits = (np.abs(product.astype(np.float64)) < 2**31).all(axis=1)
    assert fits.any() == (scale < 1e6)
    found = compat.report(scores, place, preset="ampligraph", filter=lists)
    assert (found.first[fits] == found.last[fits]).all()
    least, most = found.bounds("mrr_score")
    for integers in (here, clipped.astype(np.int64)):
        true = integers[np.arange(len(place)), place][:, None]
        rank = 1 + ((true <= integers) & ~known).sum(1)
        assert ((found.first <= rank) & (rank <= found.last)).all()
        assert least - 1e-12 <= (1 / rank).mean() <= most + 1e-12


def test_bounds_of_the_logsigmoid_of_torch() -> None:
    """Every 2,000th float32 from -110 to 110, and every 10th of those that nearly saturate."""
    torch = pytest.importorskip("torch", reason="whose operation is compared with")
    ends = np.array([2.0**-20, 110, 85, 107], np.float32).view(np.int32)
    bits = np.concatenate([np.arange(*ends[:2], 2000), np.arange(*ends[2:], 10)])
    scores = bits.astype(np.int32).view(np.float32)
    scores = np.concatenate([scores, -scores, [0, np.inf, -np.inf]]).astype(np.float32)
    low, high = logsigmoid_bounds(scores)
    values = torch.nn.functional.logsigmoid(torch.from_numpy(scores)).numpy()
    assert (low <= values).all()
    assert (values <= high).all()
    far = (scores < -17) | (scores > 105.3)
    np.testing.assert_array_equal(low[far], high[far])


def test_sides_are_averaged() -> None:
    """The sum of OpenKE's sides is also a float: it prints 26.200001, and a double 26.200000."""
    scores = np.random.default_rng(1).random((40, 90), np.float32)
    options: dict[str, Any] = {"side": ["head"] * 7 + ["tail"] * 33}
    kbc, openke = (
        compat.report(scores, np.arange(40), preset=name, **options) for name in ("kbc", "openke")
    )
    halves = [(1 / kbc.first[part]).mean() for part in (slice(7), slice(7, None))]
    assert kbc["MRR"] == pytest.approx(sum(halves) / 2, rel=1e-6)
    for name, values in (("MR", openke.first), ("MRR", 1 / openke.first)):
        mean = single_mean([single_mean(values[:7]), single_mean(values[7:])])
        assert (openke[name], openke.printed(name)) == (mean, f"{mean:f}")


def test_names_and_digits_are_the_toolkits() -> None:
    scores = np.array([[3.0, 1.0, 4.0], [1.0, 5.0, 9.0], [2.0, 6.0, 5.0]])
    found = compat.table(scores, [0, 1, 2], filter=[[], [], [1]])
    names = "mean_rank_filtered mean_reciprocal_rank_filtered hits_at_1_filtered"
    assert " ".join(list(found["libkge"])[:3]) == names
    for preset, name, printed in (
        ("openke", "MRR", "0.666667"),
        ("openea", "hits@1", "33.333"),
        ("gcn-align", "Hits@1", "33.33"),
        ("pytorch-biggraph", "pos_rank", "1.66667"),
        ("rotate", "MR", "1.666667"),
        ("dgl-ke", "HITS@1", repr(1 / 3)),
        ("recbole", "mrr@10", "0.6667"),
        ("mteb", "ndcg_at_3", "0.75395"),
        ("kgreasoning", "HITS3", "1.000000"),
    ):
        assert found[preset].printed(name) == printed, preset
    assert found["openea"]["hits@1"] == pytest.approx(100 / 3)
    assert found["sentence-transformers"]["map@100"] == found["trec_eval"]["map"]
    raw = compat.report(scores, [0, 1, 2], preset="libkge")
    assert "mean_rank" in raw
    assert "mean_rank_filtered" not in raw


def test_open_ties_are_bounded_and_averaged() -> None:
    found = compat.report([[0.5, 0.5, 0.1]], [0], preset="rotate")
    assert found["MRR"] == 0.75  # the mean over both orders
    assert found.bounds("MRR") == (0.5, 1.0)
    assert found.bounds("MR") == (1.0, 2.0)
    assert found.printed("HITS@1") == "0.000000 to 1.000000"
    assert (found.figures["hits@10"], found.ends["hits@10"]) == (1, (1, 1))


def test_steps_lead_from_the_exact_number_to_the_toolkits() -> None:
    scores = np.array(
        [[-INF, 3, 2, 1, 0], [NAN, 1, 2, 3, 4], [-1000, -999.95, -999.93, 0, 0], [5, 5, 1, 0, 0]],
        np.float32,
    )
    found = compat.report(scores, [0] * 4, preset="libkge", filter=[[1, 2], [], [], []])
    steps = {step.name: step.tasks for step in found.steps}
    assert steps == {"nan": 0, "tolerance": 1, "filter": 1, "rank": 1, "mean": 0}
    assert found.steps[-1].figures["mr"] == found["mean_rank_filtered"]
    assert found.steps[0].figures["mr"] == found.exact["mr"]


def test_a_preset_with_another_setting() -> None:
    row = compat.PRESETS["libkge"]
    strict = replace(row, name="strict", convention=replace(row.convention, rtol=0.0, atol=0.0))
    scores = [[-1000, -999.95, -999.93, -999.92]]
    assert compat.report(scores, [0], preset=strict)["mean_rank"] == 4
    found = compat.table(scores, [0], presets=["libkge", strict])
    assert found["libkge"].figures["mr"] == 3


def test_no_tasks_and_one_candidate() -> None:
    empty = compat.table(np.zeros((0, 3), np.float32), np.zeros(0, int))
    assert all(np.isnan(row.figures["mr"]) for row in empty.values())
    alone = compat.table([[0.5]], [0], filter=[[0]])
    assert {row.figures["mrr"] for row in alone.values()} == {1.0}


def test_mean_ranks_that_are_no_places() -> None:
    """A perfect model has PyTorch Geometric's mean rank 0, and a step says so."""
    found = compat.report([[3.0, 1.0, 2.0]] * 2, [0, 0], preset="pytorch-geometric")
    assert (found["mean_rank"], found.corrected("mean_rank"), found["mrr"]) == (0, 1, 1)
    assert (found.steps[-1].name, found.steps[-1].figures["mr"]) == ("mean", 0)
    assert "counted from 0" in found.steps[-1].words
    # TorchKGE gives a true score of NaN rank 0: hits count it, and its reciprocal is infinite
    found = compat.report([[NAN, 1, 2], [3, 1, 2]], [0, 0], preset="torchkge")
    assert (found.first.tolist(), found["MRR"], found["Hit@1"]) == ([0, 1], INF, 1)
    assert found.corrected("MRR") == pytest.approx((1 / 3 + 1) / 2)
    assert "inf" in found.to_markdown()


# -- forms -----------------------------------------------------------------------------------------


def test_forms() -> None:
    found = compat.table([[0.5, 0.5, 0.1]], [0])
    exactly = tr.evaluate([[0.5, 0.5, 0.1]], [0])
    for kind, row in zip(("realistic", "expected"), found.table(), strict=False):
        keys = [f"{kind}.{key}" for key in ("mr", "mrr", "hits@1", "hits@10")]
        assert row[:5] == (kind, *(exactly[key] for key in keys))
    assert "| rotate | 1.0 to 2.0 | 0.500 to 1.000 |" in found.to_markdown(["mr", "mrr"])
    assert repr(found).startswith("CompatTable(1 tasks; libkge, openke")
    one = found["openke"]
    assert "rank (tasks changed: 1): the best place of the tie" in one.to_markdown()
    assert str(one).splitlines()[1] == "MRR       0.66667  1.00000  1.000000      mrr"
    assert {row["name"]: row["value"] for row in json.loads(one.to_json())["rows"]} == one
    refusal(KeyError, "name: ", one.__getitem__, "mrr")
    refusal(KeyError, "metrics: ", found.to_text, "MRR")


def test_every_preset_names_its_source() -> None:
    for row in compat.PRESETS.values():
        assert row.version
        assert row.source
        assert all(re.match(r"[\w.-]+/[\w.-]+: .+, \w+", where) for where in row.source), row.name
        assert list(row.convention.steps())
        assert {metric.key for metric in row.metrics} & {"mrr", "mrr@10", "hits@1", "hits@20"}


def test_the_study_of_toolkits() -> None:
    """Their own code gave what their presets say; its page names the presets it did not reach."""
    folder = ROOT / "bench" / "studies"
    with (folder / "toolkits.tsv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert {row["wrong_ranks"] for row in rows} == {row["wrong_numbers"] for row in rows} == {"0"}
    reached = {row["preset"] for row in rows}
    assert reached <= set(compat.PRESETS)
    said = (folder / "toolkits.md").read_text(encoding="utf-8").rpartition("text:")[2]
    assert set(re.findall("`(.+?)`", said)) == set(compat.PRESETS) - reached


def test_refusals() -> None:
    row = {"scores": [[0.5, 0.1]], "targets": [0]}
    bare = {"scores": [0.5], "others": [[0.1]]}
    gmr = replace(compat.PRESETS["ogb"], metrics=(compat.Metric("a number", "gmr"),))
    refused(TypeError, "presets", compat.table, **row, presets="ogb")
    refused(ValueError, "presets", compat.table, **row, presets=["ogb", "ogb"])
    refusal(ValueError, "key: .*'gmr'", compat.table, **row, presets=[gmr])
    refusal(TypeError, "int64", compat.table, np.array([[1, 2]]), [0])
    refused(TypeError, "targets", compat.table, [[0.5, 0.1]])
    refused(ValueError, "scores", compat.table, **bare | {"scores": [[0.5, 0.1]]})
    refusal(KeyError, "preset: ", compat.report, **row, preset="x")
    refused(ValueError, "rank", compat.Convention, rank="middle")
    for name in ("targets", "rows", "filter", "candidates"):
        refused(TypeError, name, compat.table, **bare, **{name: [0]})


ADDED = {"mrr": lambda r: 1 / r, "ndcg": lambda r: 1 / math.log2(r + 1), "hits": lambda r: 1}


@examples(60)
@given(st.integers(0, 12), st.integers(1, 7))
def test_bare_scores_have_no_columns(above: int, tied: int) -> None:
    """Their place is anywhere in the tie, and a number its mean over all orders, by definition."""
    others = [9.0] * above + [5.0] * (tied - 1) + [1.0]
    found = compat.report([5.0], others=[others], preset="mteb")
    assert (found.first[0], found.last[0]) == (above + 1, above + tied)
    for shown, metric in zip(found, found.preset.metrics, strict=True):
        name, _, k = metric.key.partition("@")
        places = range(above + 1, above + tied + 1)
        values = [ADDED[name](r) * metric.scale if r <= int(k) else 0 for r in places]
        assert found[shown] == pytest.approx(sum(values) / tied), shown
        assert found.bounds(shown) == pytest.approx((min(values), max(values)))


def test_ids_are_no_scores_unless_the_order_is_said() -> None:
    ids = np.argsort(np.random.default_rng(5).random((4, 12)), axis=1).astype(np.float32)
    targets = [0, 1, 2, 3]
    refusal(ValueError, "permutation of 0 to 11", compat.report, ids, targets, preset="pykeen")
    for options in ({"order": "descending"}, {"order": "ascending"}, {}):
        scores = ids if options else ids // 2  # which are no permutations
        mean = tr.rank(scores, targets, **options).realistic.mean()
        result = compat.report(scores, targets, preset="pykeen", **options)
        assert result["arithmetic_mean_rank"] == pytest.approx(mean)
