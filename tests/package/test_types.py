"""Types of public signatures: a word that an option does not take is found before it runs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import get_args

import pytest

import truerank
from truerank import _core
from truerank.inputs.rules import Similarity

SCRIPT = """
import numpy as np
import truerank as tr
from truerank.inference import interval

scores, ranks = np.zeros((1, 3)), tr.Ranks([0], [1], 3)
tr.rank(scores, [0], order="ascending", nan="omit", io="read")
tr.rank(scores, [0], order="asc")  # type: ignore[arg-type]
tr.evaluate(scores, [0], order="increasing")  # type: ignore[arg-type]
tr.evaluate(scores, [0], nan="skip")  # type: ignore[arg-type]
tr.rank(scores, [0], io="mmap")  # type: ignore[arg-type]
tr.rank_embeddings(scores, scores, [0], similarity="l2")
tr.rank_embeddings(scores, scores, [0], similarity="cos")  # type: ignore[arg-type]
tr.topk_embeddings(scores, scores, 1, similarity="cos")  # type: ignore[arg-type]
tr.alignment.infer(scores, scores, method="best")  # type: ignore[arg-type]
tr.compare(ranks, ranks, level=0.9).estimate
tr.compare(ranks, ranks, level="high")  # type: ignore[call-overload]
tr.compare(ranks, ranks, metric=["mrr", "mr"]).metrics
tr.compare({"a": ranks, "b": ranks}).metrics
interval(ranks, level="high")  # type: ignore[arg-type]
report = tr.report(ranks)
report["mrr"] + report.interval("mrr", level=0.9).low
report[["mrr", "mr"]]["mr"] + report.interval(["mrr", "mr"])["mr"].low
tr.chance("mrr", 40943), tr.report(report, by="side")
task = tr.link_prediction.Task([(0, 0, 1)])
task.evaluate_scores(tail=scores, head=scores)["mrr"]
task.evaluate_scores(tails=scores)  # type: ignore[call-arg]
task.evaluate_embeddings(tail=scores, order=scores)  # type: ignore[call-arg]
ranks.with_labels(relation="x", degree=[3]).relation
ranks.with_labels(relation=3)  # type: ignore[arg-type]
"""


def test_similarities_are_those_of_the_core() -> None:
    assert get_args(Similarity) == (*_core.similarities, "maxsim")


def test_mypy_refuses_other_words(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed")
    script = tmp_path / "use.py"
    script.write_text(SCRIPT, encoding="utf-8")
    sources = Path(str(resources.files(truerank.__name__))).parent
    # mypy finds an installed package by its py.typed, and refuses its folder as sources
    path = {}
    if sources.name != "site-packages":
        path["MYPYPATH"] = str(sources)
    command = [sys.executable, "-m", "mypy", "--config-file=", "--follow-imports=silent"]
    command += ["--warn-unused-ignores", f"--cache-dir={tmp_path / 'cache'}", str(script)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=280, env=os.environ | path
    )
    assert done.stdout.startswith("Success"), done.stdout + done.stderr
