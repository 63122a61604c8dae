"""Ranks that are worse than chance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from support.cli_files import start
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only


def names_of_findings(report: tr.Report) -> list[str]:
    return [finding.name for finding in report.audit()]


@pytest.mark.parametrize("answers", [1, 3])
def test_distances_of_queries_are_worse_than_chance(answers: int) -> None:
    number = 200
    near = {i: [(i + j) % number for j in range(answers)] for i in range(number)}
    task = Task(near, entities=number)
    columns = np.arange(number)
    distances = np.abs(columns[:, None] - columns[None, :])
    distances = np.minimum(distances, number - distances) / 2
    report = task.evaluate_scores(distances)
    finding = report.audit()[0]
    assert finding.name == "worse than chance"
    assert finding.message.endswith("higher scores counted as better")
    assert "higher scores counted as better" in str(report)
    report = task.evaluate_scores(distances, order="ascending")
    assert "worse than chance" not in names_of_findings(report)


def test_random_ranks_of_queries_are_not_worse_than_chance() -> None:
    rng = np.random.default_rng(0)
    qrels = {i: rng.choice(100, 5, replace=False) for i in range(300)}
    task = Task(qrels, entities=100)
    assert not names_of_findings(task.evaluate_scores(rng.random((300, 100))))
    popular = np.tile(rng.random(100), (300, 1))
    assert not names_of_findings(task.evaluate_scores(popular))
    lists = {i: rng.choice(100, 10, replace=False) for i in range(300)}  # Most are missed.
    report = task.evaluate_lists(lists)
    assert report["recall@10"] < 0.2
    assert not names_of_findings(report)


def test_lists_that_miss_all_answers_are_no_ranking_of_all_candidates() -> None:
    """Random lists would not miss all of 400; but a list is no ranking of all."""
    task = Task({i: [i] for i in range(400)}, entities=400)
    lists = {i: [(i + 1 + j) % 400 for j in range(100)] for i in range(400)}
    assert not names_of_findings(task.evaluate_lists(lists))


def test_the_terminal_asks_about_distances(tmp_path: Path) -> None:
    np.save(tmp_path / "distances.npy", np.abs(np.subtract.outer(range(200), range(200))) / 2)
    (tmp_path / "qrels.txt").write_text("".join(f"{i} 0 {i} 1\n" for i in range(200)))
    (tmp_path / "names.txt").write_text("".join(f"{i}\n" for i in range(200)))
    options = [f"--qrels={tmp_path}/qrels.txt", f"--scores={tmp_path}/distances.npy", "--audit"]
    options += [f"--candidates={tmp_path}/names.txt", f"--labels=queries={tmp_path}/names.txt"]
    outcome = start("retrieval", *options)
    assert "higher scores counted as better" in outcome.out, outcome.err
    assert "Nothing was found" not in outcome.out
    assert "Nothing was found" in start("retrieval", *options, "--order=ascending").out
