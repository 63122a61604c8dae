"""A row of the table is all that a metric needs: keys, values, intervals, tables, documents."""

from __future__ import annotations

import runpy

import numpy as np
import pytest

from oracles import metrics as oracle
from support.environment import ROOT
from support.metric_keys import keys_where
from support.refusals import refusal
from truerank import Ranks, report
from truerank.metrics import KINDS, METRICS, Metric, parse

# Half of the power of the rank's share of the candidates, averaged; less is better.
ROW = Metric(
    name="rank_share",
    title="Rank-Share",
    description="share of the candidates",
    parameter=":p",
    examples=(":1", ":0.5"),
    transform=type(METRICS["mrr"].transform)(lambda r, N, p: (r / N) ** p / 2),
    inverse=lambda mean: 2 * mean,
    increasing=False,
    source="this test",
)
RANKS = Ranks(
    [0, 3, 5, 2, 7, 1],
    [1, 2, 3, 40, 1, 1],
    [9, 20, 11, 90, 100, 2],
    weights=[1.0, 2.0, 0.5, 1.0, 0.0, 3.0],
    side=["head", "tail"] * 3,
)


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, ROW.name, ROW)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "random"])
@pytest.mark.parametrize("example", ROW.examples)
def test_values_of_a_new_row(kind: str, example: str) -> None:
    measured, name = report(RANKS, by=[0, 0, 1, 1, 1, 0]), f"rank_share{example}"
    for groups, prefix in (([[0, 1, 2, 3, 4, 5]], ""), ([[0, 1, 5], [2, 3, 4]], "macro.")):
        values = [float(oracle.of_kind(kind, name, RANKS[index])) for index in groups]
        found = measured[f"{prefix}{kind}.{name}"]
        assert found == pytest.approx(np.mean(values), rel=1e-13)
    tails = float(oracle.of_kind(kind, name, RANKS[1::2]))
    found = measured[f"tail.{kind}.Rank-Share{example}"]
    assert found == pytest.approx(tails, rel=1e-13)


def test_a_new_row_has_keys_tables_and_intervals() -> None:
    assert set(keys_where(lambda metric: metric is ROW)) == {"rank_share:1", "rank_share:0.5"}
    assert str(parse("tail.expected.Rank-Share:1")) == "tail.expected.rank_share:1"
    refusal(KeyError, "rank_share has no chance model", parse, "index.rank_share:1")
    refusal(KeyError, r"did you mean rank_share:p", parse, "share_of_the_candidate")
    measured = report(RANKS)
    assert "| Rank-Share:1 \u2193 |" in measured.to_markdown(["rank_share:1", "mrr"])
    found = measured.interval("rank_share:1", level=0.5)
    assert found.low <= found.value == measured["rank_share:1"] <= found.high


def test_a_new_row_is_in_the_documents() -> None:
    pytest.importorskip("sphinx")
    lines = runpy.run_path(str(ROOT / "docs" / "_ext" / "metric_rows.py"))["table_lines"]()
    last = list(lines)[-1]
    assert last == "| `rank_share:p` | share of the candidates | less | no | this test |"
