"""`truerank compare`: compares the saved ranks of several models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support import cli_files
from support.cli_files import Files, Run
from truerank.inference import correct_pvalues

pytestmark = pytest.mark.python_only

run, folder, files = cli_files.run, cli_files.folder, cli_files.files


@pytest.fixture
def models(folder: Path) -> list[Path]:
    """Save the ranks of three models over the same tasks."""
    generator = np.random.default_rng(5)
    paths = []
    for i, name in enumerate(["one", "two", "three"]):
        ranks = tr.Ranks(
            generator.integers(0, 20 + 10 * i, 60),
            np.ones(60, dtype=int),
            100,
            queries=np.arange(60) // 3,
            targets=np.arange(60),
        )
        ranks.save(folder / f"{name}.npz")
        paths.append(folder / f"{name}.npz")
    return paths


@pytest.mark.parametrize(
    ("line", "keywords"),
    [
        ("", {}),
        (
            "--metric random.amri --seed 4 --level 0.9",
            {"metric": "random.amri", "draw_seed": 4, "level": 0.9},
        ),
        ("--by query", {"by": "query"}),
        ("--by task --metric hits@3", {"by": "task", "metric": "hits@3"}),
    ],
)
def test_comparisons_equal_those_of_compare(
    run: Run, models: list[Path], line: str, keywords: dict[str, Any]
) -> None:
    ranks = {path.stem: tr.load(path) for path in models}
    for several in (models[:2], models):
        expected = tr.compare({p.stem: ranks[p.stem] for p in several}, **keywords)
        command = ["compare", *several, *line.split()]
        code, out, err = run(*command, "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out)["comparisons"] == [pair.to_dict() for pair in expected]
        code, out, err = run(*command)
        assert (code, err) == (0, "")
        assert out.splitlines()[0].startswith(
            f"{keywords.get('metric', 'mrr').replace('amri', 'index.mr')}, "
        )
        assert ("p (Holm)" in out) == (len(several) > 2)
        for pair in expected:
            names = f"{pair.name_a} - {pair.name_b}"
            (row,) = (r for r in out.splitlines() if r.startswith(names) and ": " not in r)
            assert f"{pair.difference:.6g}" in row
            assert row.endswith(f"{pair.wins} / {pair.ties} / {pair.losses}")


def test_several_metrics_are_corrected_together(run: Run, models: list[Path]) -> None:
    options = ["--metric", "mrr", "--metric", "hits@10", "--metric", "mrr"]
    for several in (models[:2], models):
        ranks = {path.stem: tr.load(path) for path in several}
        expected = [pair for key in ("mrr", "hits@10") for pair in tr.compare(ranks, metric=key)]
        corrected = correct_pvalues(expected)["holm"]
        code, out, err = run("compare", *several, *options, "--format", "json")
        assert (code, err) == (0, "")
        found = json.loads(out)["comparisons"]
        assert [row["metric"] for row in found] == [pair.metric for pair in expected]
        assert [row["p_value"] for row in found] == [pair.p_value for pair in expected]
        assert [row["p_holm"] for row in found] == corrected
        out = run("compare", *several, *options).out
        assert out.startswith("mrr, hits@10, sign flips: 60 tasks")
        assert "p (Holm)" in out
        heading = "| metric | a - b | a | b |"
        assert heading in run("compare", *several, *options, "--format", "markdown").out
        assert "\nHits@10 \u2191  " in out


def test_metrics_of_unlike_tasks_are_described_one_by_one(
    run: Run, files: Files, folder: Path
) -> None:
    for name, above in (("a", [0, 1, 2]), ("b", [2, 1, 0])):
        tr.Ranks(above, [1] * 3, 9, side=["head", "tail", "tail"]).save(folder / f"{name}.npz")
    out = run("compare", *files("a.npz b.npz --metric mrr --metric tail.mrr --metric mr")).out
    lines = out.splitlines()
    assert lines[0].startswith("mrr, mr, sign flips: 3 tasks, paired by position.")
    assert lines[1].startswith("tail.mrr, sign flips: 2 tasks, paired by position.")


def test_notes_name_the_metric(run: Run, files: Files, folder: Path) -> None:
    for name, above in (("a", [0, 1, 2]), ("b", [2, 1, 0])):
        tr.Ranks(above, [1] * 3, 9).save(folder / f"{name}.npz")
    out = run("compare", *files("a.npz b.npz --metric mrr --metric std")).out
    assert "std, a - b: few tasks decide: one rank of 9 moves the mean rank by 2.67" in out


@pytest.mark.parametrize("style", ["markdown", "latex", "html", "csv"])
def test_formats_of_comparisons(run: Run, models: list[Path], style: str) -> None:
    code, out, err = run("compare", *models, "--format", style)
    assert code == 0
    assert ("position only" in err) == (style == "never")  # a CSV has no place for notes
    assert all(name in out for name in ("one", "two", "three"))
    if style == "csv":
        header, *rows = (line.split(",") for line in out.splitlines())
        assert len(rows) == 3
        assert all(len(row) == len(header) for row in rows)
        assert {"difference", "low", "high", "p_value", "p_holm"} <= set(header)


def test_unlike_ranks_are_refused(run: Run, models: list[Path], folder: Path) -> None:
    unlike = tr.load(models[0]).with_protocol(split="valid")
    unlike.save(folder / "unlike.npz")
    code, out, err = run("compare", models[0], folder / "unlike.npz")
    assert (code, out) == (1, "")
    assert "split" in err
    assert err.count("\n") == 1
    code, out, err = run("compare", models[0], folder / "unlike.npz", "--allow-unlike")
    assert (code, err) == (0, "")
    assert "split" in out


def test_models_with_equal_file_names_get_different_names(
    run: Run, models: list[Path], folder: Path
) -> None:
    (folder / "other").mkdir()
    other = folder / "other" / "one.npz"
    other.write_bytes(models[1].read_bytes())
    code, out, _ = run("compare", models[0], other, "--format", "json")
    assert code == 0
    (pair,) = json.loads(out)["comparisons"]
    assert (pair["name_a"], pair["name_b"]) == (str(models[0]), str(other))
    assert run("compare", other, other).code == 2


def test_one_task_is_written_in_the_singular(run: Run, files: Files, folder: Path) -> None:
    out = run("adjust", "mr", "7", "--candidates", "10", "--tasks", "1").out
    assert out.splitlines()[0].split() == ["mr", "1", "task"]
    for name, above in (("a", 0), ("b", 3)):
        tr.Ranks([above], [1], 10).save(folder / f"{name}.npz")
    out = run("compare", *files("a.npz b.npz ")).out
    assert "1 task, paired by position." in out


def test_different_pairings_are_listed_by_pair(run: Run, files: Files, folder: Path) -> None:
    for name, queries in (("a", [1, 2]), ("b", [1, 2]), ("c", None)):
        tr.Ranks([0, 1], [1, 1], 9, queries=queries).save(folder / f"{name}.npz")
    out = run("compare", *files("a.npz b.npz c.npz")).out
    pairings = "paired by query ids (a - b), by position (a - c, b - c)."
    assert pairings in out
    assert "paired by position only" not in out
