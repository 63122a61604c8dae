"""The demonstration: the shipped model is the published one, and gives the published figures."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from support.cli_files import Run, start
from truerank import report, score_embeddings
from truerank.cli import demo


@pytest.fixture(scope="module")
def model() -> SimpleNamespace:
    return demo.load_model()


def test_shipped_model_has_the_published_queries(data: Path, model: SimpleNamespace) -> None:
    task = demo.make_task(model)
    with np.load(data / "kinships" / "triples.npz") as published:
        for split in ("train", "valid", "test"):
            assert np.array_equal(getattr(model, split), published[split])
    with np.load(data / "kinships" / "transe.npz") as published:
        assert np.array_equal(model.entities, published["entities"])
        heads, relations, tails = model.test.astype(np.int64).T
        vectors = demo.query_vectors(model, task)
        for side, given, offset in (("tail", heads, 0), ("head", tails, 25)):
            queries = model.entities[given] + model.relations[relations + offset]
            assert queries.tobytes() == published[f"queries_{side}"].tobytes()
            assert np.array_equal(vectors[side], queries)


def test_ranks_are_those_of_the_protocol_and_of_ml_dtypes(model: SimpleNamespace) -> None:
    task = demo.make_task(model)
    (exact, rounded) = demo.rank_sides(model)
    assert (exact.optimistic.sum(), exact.tied.max()) == (10133, 1)
    assert exact.protocol.filter == ("train", "valid", "test")
    assert (exact.protocol.split, exact.protocol.similarity) == ("test", "l1")
    scores = {
        side: score_embeddings(queries, model.entities, similarity="l1").astype(ml_dtypes.bfloat16)
        for side, queries in demo.query_vectors(model, task).items()
    }
    again = task.evaluate_scores(**scores).ranks
    assert np.array_equal(rounded.above, again.above)
    assert np.array_equal(rounded.tied, again.tied)
    figures = {"tail.optimistic.mr": 4.5, "head.optimistic.mr": 10133 / 1074 - 4.5}
    assert demo.disagreements(report(exact), figures) == []
    figures["tail.optimistic.mr"] += 1 / 1074  # as if one task ranked one place lower
    (sentence,) = demo.disagreements(report(exact), figures)
    assert sentence.startswith("tail.optimistic.mr: published 4.50")


def test_demo_ends_with_one_where_a_figure_differs(
    run: Run, tmp_path: Path, monkeypatch: Any
) -> None:
    code, out, err = run("demo", "--metrics", "mr,mrr,hits@1")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    for row in ("tail", "tail, published"):
        (line,) = (line for line in lines if line.startswith(f"{row}  "))
        assert line.removeprefix(row).split() == ["4.5", "0.454", "0.131"]
    assert lines[-1] == "81 of 81 published figures agree."
    shutil.copytree(demo.FOLDER, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "kinships_transe.json"
    record = json.loads(path.read_text())
    record["figures"]["head.optimistic.mr"] += 1e-6
    record["figures"]["head.realistic.mrr"] *= 1 + 1e-7
    path.write_text(json.dumps(record))
    monkeypatch.setattr(demo, "FOLDER", tmp_path)
    code, out, err = run("demo", "--percent")
    assert (code, err) == (1, "")
    assert "80 of 81" in out
    assert "head.optimistic.mr: published 4.93482409" in out


def test_demo_takes_less_than_two_seconds(sanitized: bool) -> None:
    before = os.times()
    done = start("demo")
    after = os.times()
    assert (done.code, done.err) == (0, "")
    # CPU time of all threads, because the machine may be busy
    user = after.children_user - before.children_user
    assert sanitized or user + after.children_system - before.children_system < 2
