"""The published table of adjusted metrics of Kinships: how each column was computed.

`published_adjusted.tsv` is about the four models, both sides, realistic ranks. The ranks were
float32, so plain metrics agree to 1e-6 (relative), and so do adjusted ones that were computed
exactly. Three kinds of columns do not use the exact expectation and variance of the metric. For
each kind one test computes it in the published way, and one states its distance from the exact
values:

- the adjusted MRR takes ln N / (N - 1) at the mean number of candidates for the mean of H_N / N;
- all z columns and the index of the geometric mean assume chance among N - 1 candidates, without
  the true one, while the indices of the mean rank and of hits@k use N;
- the z of the geometric mean has the opposite sign of the formula.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.kinships import HITS, MODELS, NAMES, rank_sides, score_sides

pytestmark = pytest.mark.python_only

RUN = {"dataset", "dataset_triples", "model", "training", "evaluation"}  # about the run itself
INDICES = {name: NAMES[name] for name in ("amri", *(f"ah@{k}" for k in HITS))}  # ours, theirs
PLAIN = {name: theirs for name, theirs in NAMES.items() if name not in INDICES}
AMRR, INDEX_GMR = "adjusted_inverse_harmonic_mean_rank", "adjusted_geometric_mean_rank_index"
# ours, theirs: the largest relative distance of the published z from the exact one
Z = {"mr": 0.0011, "mrr": 0.006, **{f"hits@{k}": 0.0065 for k in HITS}, "gmr": 0.0004}

Table = dict[str, dict[str, float]]


@pytest.fixture(scope="module")
def folder(data: Path) -> Path:
    return data / "kinships"


@pytest.fixture(scope="module")
def table(folder: Path) -> Table:
    with (folder / "published_adjusted.tsv").open(newline="") as file:
        rows = {row["model"]: row for row in csv.DictReader(file, delimiter="\t")}
    return {
        model: {name: float(cell) for name, cell in row.items() if name not in RUN}
        for model, row in rows.items()
    }


@pytest.fixture(scope="module")
def reports(folder: Path) -> dict[str, tr.Report]:
    return {model: tr.report(rank_sides(score_sides(folder, model))) for model in MODELS}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def row(table: Table, model: str) -> dict[str, float]:
    """Return the published row of the model."""
    return table[model]


@pytest.fixture
def report(reports: dict[str, tr.Report], model: str) -> tr.Report:
    """Return our report of the model."""
    return reports[model]


def test_every_column_is_looked_at(table: Table) -> None:
    assert set(table) == set(MODELS)
    columns = {*PLAIN.values(), *INDICES.values(), AMRR, INDEX_GMR, *map(z_column, Z)}
    assert all(set(row) == columns for row in table.values())


def test_plain_metrics(row: dict[str, float], report: tr.Report) -> None:
    for ours, theirs in PLAIN.items():
        assert report[ours] == pytest.approx(row[theirs], rel=1e-6), ours


def test_indices_of_the_mean_rank_and_of_hits(row: dict[str, float], report: tr.Report) -> None:
    for ours, theirs in INDICES.items():
        assert report[ours] == pytest.approx(row[theirs], abs=1e-6), ours


def test_the_index_of_the_reciprocal_rank(row: dict[str, float], report: tr.Report) -> None:
    """Theirs uses ln N / (N - 1) at the mean N; ours is lower, by at most 0.004."""
    mean = report.ranks.candidates.mean()
    stand_in = np.log(mean) / (mean - 1)
    theirs = (report["mrr"] - stand_in) / (1 - stand_in)
    assert theirs == pytest.approx(row[AMRR], abs=1e-6)
    assert 0.0008 < row[AMRR] - report["amrr"] < 0.004


@pytest.mark.parametrize("metric", Z)
def test_z_columns_count_one_candidate_less(
    row: dict[str, float], report: tr.Report, metric: str
) -> None:
    """Computed from the published value to 1e-9 (1e-8 for gmr, whose sums have 2,148 moments)."""
    mean, variance = tr.chance(metric, report.ranks.candidates - 1)
    z = (row[PLAIN[metric]] - mean) / np.sqrt(variance)
    sign = -1 if metric == "gmr" else 1
    assert sign * z == pytest.approx(row[z_column(metric)], rel=1e-8 if metric == "gmr" else 1e-9)


@pytest.mark.parametrize("metric", Z)
def test_z_columns_are_near_the_exact_ones(
    row: dict[str, float], report: tr.Report, metric: str
) -> None:
    sign = -1 if metric == "gmr" else 1
    theirs, ours = sign * row[z_column(metric)], report[f"z.{metric}"]
    assert np.sign(theirs) == np.sign(ours)
    assert (ours < 0) == (metric in ("mr", "gmr"))  # better where less is better
    assert theirs == pytest.approx(ours, rel=Z[metric])


def test_the_index_of_the_geometric_mean(row: dict[str, float], report: tr.Report) -> None:
    mean, _ = tr.chance("gmr", report.ranks.candidates - 1)
    theirs = (row[PLAIN["gmr"]] - mean) / (1 - mean)
    assert theirs == pytest.approx(row[INDEX_GMR], abs=1e-9)
    assert 0 < report["index.gmr"] - row[INDEX_GMR] < 0.0006


def z_column(metric: str) -> str:
    return f"z_{PLAIN[metric]}"
