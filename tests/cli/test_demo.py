"""The demonstration: the shipped model is the published one, and gives the published figures."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support import cli_files
from support.cli_files import Run
from truerank import score_embeddings
from truerank.cli import demo

pytestmark = pytest.mark.python_only

run = cli_files.run


@pytest.fixture(scope="module")
def model() -> demo.Model:
    return demo.load_model()


@pytest.fixture(scope="module")
def measured() -> demo.Demo:
    return demo.run()


def test_shipped_files_are_small() -> None:
    sizes = {path.name: path.stat().st_size for path in demo.FOLDER.iterdir()}
    assert sizes["kinships_transe.npz"] < 250_000
    assert sum(sizes.values()) < 400_000


def test_shipped_model_has_the_published_queries(data: Path, model: demo.Model) -> None:
    with np.load(data / "kinships" / "transe.npz") as published:
        assert np.array_equal(model.entities, published["entities"])
        heads, relations, tails = model.test.astype(np.int64).T
        for side, given, offset in (("tail", heads, 0), ("head", tails, 25)):
            queries = model.entities[given] + model.relations[relations + offset]
            assert queries.tobytes() == published[f"queries_{side}"].tobytes()


def test_shipped_triples_are_the_published_ones(data: Path, model: demo.Model) -> None:
    with np.load(data / "kinships" / "triples.npz") as published:
        for split in ("train", "valid", "test"):
            assert np.array_equal(getattr(model, split), published[split])
        assert np.array_equal(model.entity_labels, published["entities"])
        assert np.array_equal(model.relation_labels, published["relations"])


def test_shipped_figures_are_the_published_ones(data: Path) -> None:
    everything = json.loads((data / "kinships" / "published.json").read_text())["transe"]
    figures = demo.load_published().figures
    assert len(figures) == 9 * len(demo.METRICS)
    for key, value in figures.items():
        cell, _, metric = key.rpartition(".")
        assert value in everything[cell].values(), key
        if metric == "mr":
            assert value == everything[cell]["arithmetic_mean_rank"]


def test_task_has_the_published_triples_and_vectors(data: Path, model: demo.Model) -> None:
    task = demo.make_task(model)
    assert np.array_equal(task.test, model.test)
    assert (task.entities, task.relations) == (
        tuple(model.entity_labels.tolist()),
        tuple(model.relation_labels.tolist()),
    )
    assert task.protocol.filter == ("train", "valid", "test")
    with np.load(data / "kinships" / "transe.npz") as published:
        for side, queries in demo.query_vectors(model, task).items():
            rows = task.sides[side].rows
            assert queries[rows].tobytes() == published[f"queries_{side}"].tobytes()


def test_rounding_to_bfloat16_is_that_of_ml_dtypes() -> None:
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    halfway = (patterns & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    values = np.concatenate([patterns, halfway, halfway + 1, halfway - 1]).view(np.float32)
    special = np.array([0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3.4e38], dtype=np.float32)
    values = np.concatenate([values[~np.isnan(values)], special])
    expected = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    rounded = demo.to_bfloat16(values)
    assert rounded.dtype == np.dtype("V2")
    assert np.array_equal(rounded.view(np.uint16), expected)
    table = values[:120].reshape(2, 60)
    assert np.array_equal(
        demo.to_bfloat16(table.T).view(np.uint16), expected[:120].reshape(2, 60).T
    )


def test_everything_published_is_confirmed(measured: demo.Demo) -> None:
    assert measured.disagreements == []
    assert measured.exact["both.optimistic.mr"] * 2148 == 10133
    ranks = measured.exact.ranks
    assert ranks is not None
    assert ranks.protocol.filter == ("train", "valid", "test")
    assert (ranks.protocol.split, ranks.protocol.similarity) == ("test", "l1")


def test_a_wrong_figure_is_named(measured: demo.Demo) -> None:
    figures = dict(measured.published.figures)
    # as if one task ranked one place lower
    figures["tail.optimistic.mr"] += 1 / 1074
    figures["head.realistic.mrr"] *= 1 + 1e-7
    wrong = dataclasses.replace(measured.published, figures=figures)
    (sentence,) = demo.disagreements(measured.exact, wrong)
    assert sentence.startswith("tail.optimistic.mr: published 4.50")


def test_bfloat16_ties_are_those_of_the_bfloat16_dtype(
    model: demo.Model, measured: demo.Demo
) -> None:
    task = demo.make_task(model)
    scores = {
        side: score_embeddings(queries, model.entities, similarity="l1").astype(ml_dtypes.bfloat16)
        for side, queries in demo.query_vectors(model, task).items()
    }
    again = task.evaluate_scores(scores["tail"], scores["head"], unique=True).ranks
    rounded = measured.rounded.ranks
    assert rounded is not None
    assert np.array_equal(rounded.above, again.above)
    assert np.array_equal(rounded.tied, again.tied)
    assert np.mean(rounded.tied > 1) > 0.5
    kinds = [measured.rounded[f"{kind}.mr"] for kind in demo.KINDS]
    assert kinds == sorted(kinds)
    assert kinds[0] < kinds[2]


def test_speed_counts_every_score() -> None:
    speed = demo.measure_speed(16, 1000, repeats=2, threads=1)
    assert (speed.rows, speed.columns, speed.threads) == (16, 1000, 1)
    assert speed.rate == pytest.approx(16_000 / speed.seconds)


def test_what_is_printed(measured: demo.Demo) -> None:
    lines = str(measured).splitlines()
    for row in ("tail", "tail, published"):
        (line,) = (line for line in lines if line.startswith(f"{row}  "))
        assert line.removeprefix(row).split()[:3] == ["4.5", "0.454", "0.131"]
    assert measured.table("mr")["mr"][0] == measured.exact["head.mr"]
    assert any("81 of 81 published figures agree" in line for line in lines)
    assert any("of 2,148 tasks tie" in line for line in lines)
    assert any("scores/s" in line for line in lines)
    assert max(map(len, lines)) <= 100
    wrong = dataclasses.replace(measured, disagreements=["tail.mr: published 1, measured 2"])
    assert "80 of 81" in str(wrong)
    assert "tail.mr: published 1, measured 2" in str(wrong)


def test_demo_ends_with_one_where_a_figure_differs(run: Run, monkeypatch: Any) -> None:
    small = demo.Speed(1, 1, 1.0, 1.0, 1, "baseline")
    monkeypatch.setattr(demo, "measure_speed", lambda **_: small)
    content = json.loads(run("demo", "--metrics", "mrr,hits@10", "--json").out)
    assert content["columns"][1:] == ["mrr", "hits@10"]
    monkeypatch.setattr(demo, "EXACT_TOLERANCE", 0.0)
    monkeypatch.setattr(demo, "FLOAT32_TOLERANCE", 0.0)
    code, out, err = run("demo")
    assert (code, err) == (1, "")
    assert "published 4.93482303" in out


def test_demo_takes_less_than_two_seconds(sanitized: bool) -> None:
    pytest.importorskip("click")
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "truerank", "demo"], capture_output=True, text=True, check=False
    )
    after = os.times()
    assert (done.returncode, done.stderr) == (0, "")
    # CPU time of all threads, because the machine may be busy
    user = after.children_user - before.children_user
    assert sanitized or user + after.children_system - before.children_system < 2
