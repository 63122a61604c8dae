"""Four published models of Kinships: our counts are the published ones, ties are the oracle's."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

import oracle
import truerank as tr

Array = npt.NDArray[Any]

MODELS = ("transe", "rotate", "complex", "tucker")
SIDES = {"head": (2, 0), "tail": (0, 2)}  # the column that is given, the one that is asked for
SPLITS = ("train", "valid", "test")
KINDS = ("optimistic", "realistic", "pessimistic")
HITS = (1, 3, 5, 10)
NAMES = {  # ours, theirs
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "hmr": "harmonic_mean_rank",
    "imr": "inverse_arithmetic_mean_rank",
    "gmr": "geometric_mean_rank",
    "igmr": "inverse_geometric_mean_rank",
    "median": "median_rank",
    "imedian": "inverse_median_rank",
    "amr": "adjusted_arithmetic_mean_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
    **{f"hits@{k}": f"hits_at_{k}" for k in HITS},
}


def minus_distance(queries: Array, entities: Array, length: Callable[[Array], Array]) -> Array:
    rows = [-length(query - entities) for query in queries]
    return np.stack(rows)


SIMILARITIES: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: q @ e.T,
    "l1": lambda q, e: minus_distance(q, e, lambda d: np.abs(d).sum(axis=1)),
    "l2": lambda q, e: minus_distance(q, e, lambda d: np.sqrt((d * d).sum(axis=1))),
}


@dataclass(frozen=True)
class Side:
    """One side of the test triples under one model."""

    scores: Array
    targets: Array
    lists: list[list[int]]

    def selection(self) -> tuple[Array, Array]:
        """The lists as a CSR pair."""
        lengths = [len(entries) for entries in self.lists]
        return np.concatenate([[0], np.cumsum(lengths)]), np.concatenate(self.lists).astype(int)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    return data / "kinships"


@pytest.fixture(scope="module")
def sides(folder: Path, model: str) -> dict[str, Side]:
    """The float32 scores of both sides, and all known answers of each query."""
    with np.load(folder / "triples.npz") as triples, np.load(folder / f"{model}.npz") as arrays:
        test = triples["test"]
        known = np.concatenate([triples[split] for split in SPLITS]).tolist()
        score = SIMILARITIES[str(arrays["similarity"])]
        made = {}
        for side, (given, asked) in SIDES.items():
            answers: dict[tuple[int, int], list[int]] = {}
            for triple in known:
                answers.setdefault((triple[given], triple[1]), []).append(triple[asked])
            made[side] = Side(
                score(arrays[f"queries_{side}"], arrays["entities"]),
                test[:, asked].astype(np.int64),
                [
                    answers[given_id, relation]
                    for given_id, relation in test[:, [given, 1]].tolist()
                ],
            )
    return made


@pytest.fixture(scope="module")
def ranks(sides: dict[str, Side]) -> tr.Ranks:
    return tr.concatenate(
        [
            tr.rank(s.scores, s.targets, filter=s.selection()).with_labels(side=side)
            for side, s in sides.items()
        ]
    )


@pytest.fixture(scope="module")
def published(folder: Path, model: str) -> dict[str, dict[str, float]]:
    cells: dict[str, dict[str, float]] = json.loads((folder / "published.json").read_text())[model]
    return cells


@pytest.mark.parametrize("kind", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_whole_numbers_are_the_published_ones(
    ranks: tr.Ranks, published: dict[str, dict[str, float]], side: str, kind: str
) -> None:
    cell = published[f"{side}.{kind}"]
    assert ranks.side is not None
    chosen = ranks if side == "both" else ranks[ranks.side.values == side]
    of_kind = getattr(chosen, kind)
    tasks = len(of_kind)
    assert tasks == cell["count"]
    # A published mean is the float64 quotient of two whole numbers; ours have to be the same two.
    assert int(of_kind.sum()) / tasks == cell[NAMES["mr"]]
    for k in HITS:
        hits = cell[NAMES[f"hits@{k}"]] * tasks
        assert hits == pytest.approx(round(hits), rel=1e-12)
        assert np.count_nonzero(of_kind <= k) == round(hits)
    assert np.median(of_kind) == cell[NAMES["median"]]


def test_no_model_ties(ranks: tr.Ranks) -> None:
    assert ranks.tied.max() == 1
    assert np.array_equal(ranks.optimistic, ranks.pessimistic)
    assert np.array_equal(ranks.optimistic, ranks.realistic)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_metrics_are_the_published_ones(
    ranks: tr.Ranks, published: dict[str, dict[str, float]], side: str, kind: str
) -> None:
    report = tr.report(ranks)
    cell = published[f"{side}.{kind}"]
    for ours, theirs in NAMES.items():
        # The realistic ranks and every expectation were float32; so was the geometric mean's sum.
        single = kind == "realistic" or ours in ("amr", "amri", "gmr", "igmr")
        expected = pytest.approx(cell[theirs], rel=1e-6 if single else 1e-13)
        assert report[f"{side}.{kind}.{ours}"] == expected, ours


def test_metrics_are_those_of_the_table(folder: Path, model: str, ranks: tr.Ranks) -> None:
    report = tr.report(ranks)
    with (folder / "published_adjusted.tsv").open(newline="") as file:
        (row,) = (row for row in csv.DictReader(file, delimiter="\t") if row["model"] == model)
    for ours, theirs in NAMES.items():
        assert report[ours] == pytest.approx(float(row[theirs]), rel=1e-6), ours


def to_int8(scores: Array) -> Array:
    """All scores on the 255 steps between -127 and 127."""
    steps: Array = np.rint(scores * (127 / np.abs(scores).max()))
    return steps.astype(np.int8)


ROUNDED: dict[str, Callable[[Array], Array]] = {
    "bfloat16": lambda scores: scores.astype(ml_dtypes.bfloat16),
    "float16": lambda scores: scores.astype(np.float16),
    "int8": to_int8,
}


@pytest.mark.parametrize("order", ["descending", "ascending"])
@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("side", SIDES)
def test_ties_are_counted_as_the_oracle_counts(
    sides: dict[str, Side], side: str, dtype: str, order: str
) -> None:
    tasks = sides[side]
    scores = ROUNDED[dtype](tasks.scores)
    counted = tr.rank(scores, tasks.targets, filter=tasks.selection(), order=order, audit=True)
    slow = oracle.count_large(scores, tasks.targets.tolist(), filter=tasks.lists, order=order)
    for name in ("above", "tied", "candidates"):
        assert np.array_equal(getattr(counted, name), getattr(slow, name)), name
    assert counted.audit is not None
    assert np.array_equal(counted.audit.at_best, slow.at_best)
    if dtype != "float16":  # which is fine enough for some of them
        assert counted.tied.max() > 1
    sample = np.arange(0, len(scores), 40)
    plain = oracle.count(
        scores[sample],
        tasks.targets[sample].tolist(),
        filter=[tasks.lists[i] for i in sample],
        order=order,
    )
    assert np.array_equal(counted.tied[sample], plain.tied)
    assert np.array_equal(counted.above[sample], plain.above)
