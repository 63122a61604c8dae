"""Test adjusted published numbers: every form, the data sets, bounds, and invalid arguments."""

from __future__ import annotations

import copy
import itertools
import json
import math
import runpy
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.environment import ROOT
from support.refusals import refusal
from truerank.metrics.published import data_set, known_candidates

STUDIES = ROOT / "bench" / "studies"


def test_the_formulas() -> None:
    """Two tasks, N = 3: everything by hand."""
    found = tr.adjust("mr", 1.5, candidates=3, tasks=2)
    assert found[:4] == ("mr", 1.5, 2.0, pytest.approx(1 / 3))
    assert (found.ratio, found.index) == (0.75, 0.5)
    assert found.z == pytest.approx(-0.5 * math.sqrt(3))
    assert found.probability_of_z == pytest.approx(0.19323811538561636, rel=1e-12)
    assert found.tasks == 2
    assert str(found) == (
        "mr 1.5 over 2 tasks; chance 2 +- 0.57735: ratio 0.750000, index 0.500000, z -0.866025"
    )
    assert found.to_dict() == found._asdict() | {"notes": []}


def figures(found: Any) -> list[float]:
    return [field for field in found if isinstance(field, int | float)]


@given(
    counts=st.lists(st.integers(2, 60), min_size=1, max_size=6),
    alike=st.booleans(),
    data=st.data(),
    metric=st.sampled_from(
        ["mr", "mrr", "hits@3", "gmr", "hmr", "imr", "igmr", "median", "imedian"]
        + [f"power_mean:{p}" for p in ("1", "-1", "0", "2", "-0.5", "inf", "-inf")]
    ),
)
def test_it_is_what_a_report_says(
    counts: list[int], alike: bool, data: st.DataObject, metric: str
) -> None:
    """The value of a report alone gives its adjusted values."""
    n = len(counts)
    if alike:
        counts = counts[:1] * n
    above = [data.draw(st.integers(0, size - 1)) for size in counts]
    weights = None
    if metric in ("mr", "mrr", "hits@3", "hmr"):
        weights = data.draw(st.none() | st.just(np.arange(1.0, 1 + n)))
    ranks = tr.Ranks(above, [1] * n, counts, weights=weights)
    report = tr.report(ranks)
    found = tr.adjust(metric, report[metric], candidates=counts, tasks=n, weights=weights)
    assert found.tasks == n
    assert (found.expectation, found.variance) == report.chance(metric)
    for name in ("ratio", "index", "z"):
        expected = report[f"{name}.{metric}"]
        assert getattr(found, name) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)
    forms = []
    if alike:
        forms.append({"candidates": counts[0], "tasks": n, "weights": weights})
    if weights is None:
        forms += [{"candidates": np.unique(counts, return_counts=True)}, {"candidates": counts}]
    for form in forms:
        for name, value in tr.adjust(metric, report[metric], **form)._asdict().items():
            expected = getattr(found, name)
            if isinstance(value, float):
                expected = pytest.approx(expected, rel=1e-11, abs=1e-11, nan_ok=True)
            assert value == expected, name


def test_degenerate_chance_gives_nan() -> None:
    single = tr.adjust("mr", 1, candidates=1, tasks=5)
    assert (single.expectation, single.variance, single.ratio) == (1.0, 0.0, 1.0)
    sure = tr.adjust("hits@10", 1.0, candidates=[8, 10])
    for found in (single, sure):
        assert all(map(math.isnan, (found.index, found.z, found.probability_of_z)))


def test_the_probability_of_z() -> None:
    """It is near 1 for a good MRR and near 0 for a good mean rank, and no p-value."""
    for metric, value, expected in (("mrr", 0.43, 1.0), ("mr", 4.7, 0.0)):
        found = tr.adjust(metric, value, dataset="kinships", filtered=True)
        assert found.probability_of_z == expected
    chance = tr.adjust("mr", 2.0, candidates=3, tasks=4)
    assert (chance.z, chance.probability_of_z) == (0.0, 0.5)


NAMES = {"wn18rr": "WN18RR,wn18-rr,WN18_RR,Wn18 RR,wn.18.rr", "fb15k237-seen": "fb15k-237-pykeen"}
NAMES |= {"codex-s": "CoDExSmall", "kinships": "Kinship", "yago3-10": "YAGO310"}


def test_names_of_data_sets() -> None:
    for key, names in NAMES.items():
        assert all(data_set(name) == data_set(key) for name in names.split(","))


def test_counts_of_each_split_and_side() -> None:
    def both(**options: Any) -> list[list[int]]:
        return [part.tolist() for part in known_candidates("wn18rr", **options)[:2]]

    assert both() == [[40943], [6268]]
    assert both(side="tail", split="valid") == [[40943], [3034]]
    assert both(side="relation", split="train") == [[11], [86835]]
    _, tasks, exact = known_candidates("wn18rr", filtered=True)
    assert (tasks.sum(), exact) == (6268, True)


@pytest.fixture(scope="session")
def table() -> dict[str, dict[str, Any]]:
    path = resources.files("truerank.metrics") / "datasets.json"
    text = path.read_text(encoding="utf-8")
    assert len(text) < 70_000
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def test_the_table_is_whole(table: dict[str, dict[str, Any]]) -> None:
    for key, facts in table.items():
        assert data_set(key) == facts
        assert facts["sources"], key
        assert all(facts[name] > 0 for name in ("entities", "relations", "train", "valid", "test"))
        assert not {"left_out", "most_left_out"} <= set(facts)
        both = facts.get("left_out", {}) | facts.get("most_left_out", {})
        for split, sides in both.items():
            for side, (left_out, multiplicities) in sides.items():
                assert left_out == sorted(set(left_out))
                assert left_out[0] >= 0
                ranked = "relations" if side == "relation" else "entities"
                assert left_out[-1] < facts[ranked]
                assert min(multiplicities) > 0
                assert sum(multiplicities) == facts[split]


@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_filtered_counts_are_those_of_the_triples(data: Path, split: str) -> None:
    """Count in another way than the script does, with a set of known answers for each query."""
    with np.load(data / "kinships" / "triples.npz") as arrays:
        triples = {name: arrays[name].tolist() for name in ("train", "valid", "test")}
    for side, (a, b) in {"head": (1, 2), "tail": (0, 1), "relation": (0, 2)}.items():
        asked = 3 - a - b
        answers: dict[tuple[int, int], set[int]] = {}
        for triple in itertools.chain(*triples.values()):
            answers.setdefault((triple[a], triple[b]), set()).add(triple[asked])
        size = 25 if side == "relation" else 104
        left = [size - len(answers[t[a], t[b]] - {t[asked]}) for t in triples[split]]
        found = known_candidates("kinships", split=split, side=side, filtered=True)
        assert [part.tolist() for part in found[:2]] == [
            part.tolist() for part in np.unique(left, return_counts=True)
        ]


WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("mrr 31.6", {}, ValueError, "from .* to 1, got 31.6; as a percentage it is 0.316"),
    ("hits@10 300", {}, ValueError, "expected hits@10 from 0 to 1, got 300$"),
    ("mr 0.5", {}, ValueError, "expected mr from 1 to 40943, got 0.5; ranks start at 1 here"),
    ("mr nan", {}, ValueError, "expected a finite number"),
    ("mmr 2", {}, KeyError, "did you mean m"),
    ("tail.mr 2", {}, KeyError, "alone, without a side"),
    ("amri 0.5", {}, KeyError, "amri is adjusted already"),
    ("std 2", {}, KeyError, "chance"),
    ("median 5", {"candidates": [5, 6], "weights": [1, 2], "tasks": None}, KeyError, "weighted"),
    ("mr 2", {"candidates": None, "tasks": None}, ValueError, "got neither"),
    ("mr 2", {"dataset": "wn18rr"}, ValueError, "candidates: cannot be given beside dataset"),
    ("mr 2", {"candidates": None, "dataset": "wn18rr"}, ValueError, "tasks: cannot be given"),
    ("mr 2", {"tasks": None}, ValueError, "tasks: expected how many there are"),
    ("mr 2", {"tasks": 2.0}, TypeError, "tasks: expected an integer"),
    ("mr 2", {"candidates": 4.0}, TypeError, "candidates: expected integers"),
    ("mr 2", {"candidates": [4, 5, 6]}, ValueError, "tasks: expected 3, as candidates has so"),
    ("mr 2", {"candidates": [4, 5], "tasks": None, "weights": [1.0]}, ValueError, "weights"),
    ("mr 2", {"filtered": True}, ValueError, "without a dataset"),
]
DATASET = {"candidates": None, "tasks": None}
FB15K = DATASET | {"dataset": "fb15k", "filtered": True}
WRONG += [
    ("mr 2", DATASET | {"dataset": "wn18r"}, ValueError, "no data set 'wn18r'; did you mean"),
    ("mr 2", DATASET | {"dataset": "qqq"}, ValueError, "known are nations, kinships"),
    ("mr 2", DATASET | {"dataset": 3}, TypeError, "dataset: expected a name, got int"),
    ("mr 2", DATASET | {"dataset": "umls", "split": "tets"}, ValueError, "did you mean test"),
    ("mr 2", DATASET | {"dataset": "umls", "side": "tails"}, ValueError, "did you mean tail"),
    (
        "mr 2",
        DATASET | {"dataset": "codex-l", "filtered": True},
        ValueError,
        "not known for CoDEx-L, only for nations, .*; bounds of them are known for fb15k, ",
    ),
    ("mr 2", FB15K | {"split": "valid"}, ValueError, "not known for FB15k"),
    ("mr 2", FB15K | {"side": "relation"}, ValueError, "not known for FB15k"),
]


@pytest.mark.parametrize(("line", "change", "error", "message"), WRONG)
def test_what_is_refused(
    line: str, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    metric, number = line.split()
    keywords = {"candidates": 40943, "tasks": 6268} | change
    refusal(error, message, tr.adjust, metric, float(number), **keywords)


def test_values_are_numbers() -> None:
    for number in ("0.5", None, True, [0.5]):
        refusal(
            TypeError, "value: expected a number", tr.adjust, "mrr", number, candidates=9, tasks=9
        )


def test_the_script_makes_the_table(
    data: Path, tmp_path: Path, table: dict[str, dict[str, Any]]
) -> None:
    pytest.importorskip("pykeen")
    runpy.run_path(str(STUDIES / "make_datasets.py"))["main"](data, tmp_path)
    made = json.loads((tmp_path / "datasets.json").read_text(encoding="utf-8"))
    assert made == table


BOUNDED = {"mr": 200.0, "mrr": 0.3, "gmr": 20.0, "hmr": 3.0, "imr": 0.005, "power_mean:2": 900.0}
BOUNDED |= {"hits@1": 0.2, "hits@10": 0.5, "hits@4900": 0.9, "hits@6000": 0.9}


@pytest.mark.sweep
@pytest.mark.parametrize(("metric", "value"), BOUNDED.items())
def test_bounds_hold_whatever_the_candidates_are(
    metric: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of FB15k-237 both are known: what the filter leaves out, and the most that it can."""
    rng = np.random.default_rng(0)
    facts = copy.deepcopy(data_set("fb15k237"))
    sides = facts["left_out"].pop("test")
    facts["most_left_out"] = {"test": {}}
    for side in ("head", "tail"):
        left_out, tasks = np.array(sides[side])
        most = np.minimum(left_out + rng.integers(0, 400, len(left_out)), 9000)
        facts["most_left_out"]["test"][side] = np.array([most, tasks]).tolist()
    exact_sizes = known_candidates("fb15k237", filtered=True)[:2]
    del facts["left_out"]
    monkeypatch.setattr("truerank.metrics.published.data_sets", lambda: {"bounded": facts})
    found = tr.adjust(metric, value, dataset="bounded", filtered=True)
    assert found.bounds is not None
    size = facts["entities"]
    least, tasks, exact_counts = known_candidates("bounded", filtered=True)
    assert not exact_counts
    drawn = [rng.integers(least, size + 1) for _ in range(3)]
    drawn += [least, least * 0 + size]
    possible = [tr.adjust(metric, value, candidates=(counts, tasks)) for counts in drawn]
    for one in [tr.adjust(metric, value, candidates=exact_sizes), *possible]:
        for name, (low, high) in found.bounds._asdict().items():
            slack = 1e-12 * abs(high)
            assert low - slack <= getattr(one, name) <= high + slack
    assert found.index == pytest.approx(found.bounds.index[1], rel=1e-12)
    assert found.z == pytest.approx(possible[-1].z)
    assert found.tasks == exact_sizes[1].sum()


def test_bounds_are_printed() -> None:
    found = tr.adjust("mr", 200, dataset="fb15k", filtered=True)
    assert found.bounds is not None
    assert found.bounds.index == pytest.approx((0.971407, 0.973378), abs=1e-6)
    assert found.notes == (
        "the exact numbers of filtered candidates are not known, but bounds of them (9,250 to "
        "14,951, at least 13,920 on average): index from 0.971407 to 0.973378, z from -619.872 to "
        "-538.413; the other values are those of all entities",
    )
    assert str(found).endswith(f"z {found.z:g}; {found.notes[0]}")
    plain = tr.adjust("mr", 200, dataset="fb15k")
    assert (plain.notes, plain.bounds) == ((), None)
    assert found[:9] == plain[:9]


def test_hits_vary_most_at_twice_the_cutoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tasks of 4 to 20 candidates: hits@3 has its greatest variance, 1/4 each, at 6."""
    facts = {"entities": 20, "test": 2, "most_left_out": {"test": {"tail": [[16], [2]]}}}
    monkeypatch.setattr("truerank.metrics.published.data_sets", lambda: {"bounded": facts})
    found = tr.adjust("hits@3", 1.0, dataset="bounded", side="tail", filtered=True)
    assert found.bounds is not None
    low, high = found.bounds.z
    assert low == pytest.approx((1 - 3 / 4) / math.sqrt(1 / 4 / 2), rel=1e-14)
    assert high == pytest.approx((1 - 3 / 20) / math.sqrt(3 / 20 * 17 / 20 / 2), rel=1e-14)
