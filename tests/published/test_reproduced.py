"""Every published figure by one command: its page says what comes out, and its rule is strict."""

from __future__ import annotations

import csv
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.environment import ROOT

pytestmark = pytest.mark.python_only

STUDIES = ROOT / "bench" / "studies"
optimize: Any = pytest.importorskip("scipy.optimize", reason="bounds are linear programs")


class Study(NamedTuple):
    """The modules of the study."""

    figures: ModuleType
    tables: ModuleType
    command: ModuleType


@pytest.fixture(scope="module")
def study() -> Iterator[Study]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(STUDIES)
        import reproduce
        import reproduce_figures
        import reproduce_tables

        yield Study(reproduce_figures, reproduce_tables, reproduce)
        for name in [name for name, module in sys.modules.items() if _is_study(module)]:
            del sys.modules[name]


def _is_study(module: ModuleType) -> bool:
    return Path(getattr(module, "__file__", None) or "/").parent == STUDIES


class Run(NamedTuple):
    """What the command printed and wrote."""

    printed: str
    page: str
    rows: list[dict[str, str]]


@pytest.fixture(scope="module")
def run(study: Study, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("reproduce")
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr("builtins.print", lambda *words: lines.append(" ".join(map(str, words))))
        study.command.main(data, folder, folder / "figures.tsv")
    with (folder / "figures.tsv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    page = (folder / "reproduce.md").read_text(encoding="utf-8")
    return Run("\n".join(lines), page, rows)


def paragraphs(page: str) -> list[str]:
    return [" ".join(block.split()) for block in page.split("\n\n")]


def section(page: str, title: str) -> str:
    return page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_page_is_what_the_command_writes(run: Run) -> None:
    """The last digits of bounds and differences may depend on the machine; no count may."""
    committed = (STUDIES / "reproduce.md").read_text(encoding="utf-8")
    assert f"**{run.printed}**" in paragraphs(committed)
    assert f"**{run.printed}**" in paragraphs(run.page)
    assert section(committed, "By table") == section(run.page, "By table")
    for title in ("Small tables, every figure", "Large tables, by column"):
        ours, theirs = (section(page, title).splitlines() for page in (run.page, committed))
        assert [line.split(" | ")[:5] for line in ours] == [
            line.split(" | ")[:5] for line in theirs
        ]


def test_the_summary_counts_the_rows(run: Run) -> None:
    verdicts = Counter(row["verdict"] for row in run.rows)
    compared = len(run.rows) - verdicts["given"]
    assert compared >= 100
    agree = verdicts["agrees"] + verdicts["simulated"]
    start = f"{compared:,} figures: {agree:,} agree "
    assert run.printed.startswith(start)
    left = (
        f"{compared - agree:,} do not, of which {verdicts['explained']:,} are explained, "
        f"{verdicts['impossible']:,} impossible and {verdicts['open']:,} open. "
        f"{verdicts['given']:,} more"
    )
    assert left in run.printed


def test_every_row_has_its_source_and_every_difference_its_reason(study: Study, run: Run) -> None:
    assert {row["source"] for row in run.rows} == set(study.command.SOURCES)
    places = Counter(tuple(row.values())[:4] for row in run.rows)
    assert [place for place, count in places.items() if count > 1] == []
    for row in run.rows:
        assert all(row[name] for name in ("table", "row", "column", "printed")), row
        assert row["verdict"] in study.figures.VERDICTS
        compared = row["verdict"] != "given"
        assert (row["check"] in study.figures.CHECKS) is compared, row
        assert bool(row["ours"]) is compared
        assert (row["needs"] != "-") is compared
        assert bool(row["why"]) is (
            row["verdict"] in ("simulated", "explained", "impossible", "open")
        )


def test_no_other_figure_would_agree(study: Study, data: Path) -> None:
    """A figure of one unit more in its last place but two is not taken for ours."""
    counted = [part for part in study.command.PARTS if part.__name__ in ("kinships", "table_1")]
    figures = [figure for part in counted for figure in part(data)]
    judged = [figure for figure in figures if figure.judge()[0] == "agrees"]
    assert len(judged) > 800
    for figure in judged:
        off = 3 * max(figure.precision * max(abs(float(figure.printed)), figure.scale), 1e-15)
        off += figure.published.high - figure.published.low
        for by in (off, -off):
            value = float(figure.printed) + by
            moved = figure._replace(stands_for=study.figures.Range.at(value), reasons=())
            assert moved.judge()[0] == "open", figure


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("7,000", 6999.5, 7000.5),
        ("65.80", 65.795, 65.805),
        ("0", -0.5, 0.5),
        ("1.25e-05", 1.245e-5, 1.255e-5),
        ("-0.5", -0.55, -0.45),
    ],
)
def test_what_a_printed_figure_stands_for(study: Study, text: str, low: float, high: float) -> None:
    assert study.figures.read_printed(text) == pytest.approx((low, high), rel=1e-12)


def test_verdicts(study: Study) -> None:
    figures = study.figures
    at = figures.Range.at
    figure = figures.Figure("a paper", "Table 1", "a model", "MRR", "0.36")
    assert figure.judge() == ("given", "")
    assert figure._replace(ours=at(0.3551)).judge() == ("agrees", "")
    assert figure._replace(ours=figures.Range(0.1, 0.3551)).judge() == ("agrees", "")
    off = figure._replace(ours=at(0.354))
    assert off.judge() == ("open", "not known")
    assert off.difference == pytest.approx(0.001 / 0.355)
    assert off._replace(precision=0.01).judge() == ("agrees", "")
    assert off._replace(error=0.0003).judge()[0] == "simulated"
    assert off._replace(error=0.0002).judge()[0] == "open"
    named = (figures.Reason("no", at(0.3)), figures.Reason("yes", at(0.357)))
    assert off._replace(reasons=named).judge() == ("explained", "yes")
    assert off._replace(reasons=named[:1]).judge() == ("open", "not known")
    assert off._replace(reasons=(figures.Reason("no"),)).judge() == ("impossible", "no")
    nothing = figures.Range(math.nan, math.nan)
    assert figure._replace(ours=nothing).judge() == ("open", "not known")


def plain_bounds(hits: dict[int, Any], mean_rank: Any, candidates: int) -> tuple[float, ...] | None:
    """Bound MRR with one variable for the share of tasks of each rank."""
    ranks = np.arange(1, candidates + 1)
    rows = [(ranks <= k, share) for k, share in hits.items()] + [(ranks, mean_rank)]
    above = np.array([sign * row for row, _ in rows for sign in (1.0, -1.0)])
    limits = [limit for _, (low, high) in rows for limit in (high, -low)]
    ends = []
    for sign in (1, -1):
        cost, every = sign / ranks, np.ones((1, candidates))
        found = optimize.linprog(cost, above, limits, every, [1], method="highs")
        if not found.success:
            return None
        ends.append(sign * found.fun)
    return tuple(ends)


shares = st.integers(0, 20).map(lambda x: x / 20)


@settings(max_examples=40)
@given(st.lists(shares, min_size=3, max_size=3), st.integers(10, 55), shares, shares)
def test_bounds_are_those_of_all_ranks(
    study: Study, hits: list[float], candidates: int, mean: float, width: float
) -> None:
    given = {
        k: study.figures.Range(share - 0.01, share + 0.01)
        for k, share in zip((1, 3, 10), hits, strict=True)
    }
    low = 1 + mean * (candidates - 1)
    mean_rank = study.figures.Range(low - 0.1, low + 5 * width)
    plain = plain_bounds(given, mean_rank, candidates)
    ours = study.tables.mrr_bounds(given, mean_rank, candidates)
    assert (ours is None) == (plain is None)
    if plain is not None:
        assert ours == pytest.approx(plain, abs=1e-7)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.sampled_from([None, 400, 900]))
def test_bounds_hold(study: Study, ranks: list[int], candidates: int | None) -> None:
    numbers = np.array(ranks)
    at = study.figures.Range.at
    hits = {k: at(float(np.mean(numbers <= k))).widened(1e-9) for k in (1, 5, 50)}
    mean_rank = at(float(numbers.mean())).widened(1e-6)
    mrr = float(np.mean(1 / numbers))
    for given_mean in (mean_rank, None):
        bounds = study.tables.mrr_bounds(hits, given_mean, candidates)
        assert bounds.low - 1e-7 <= mrr <= bounds.high + 1e-7


def test_impossible_rows_are_told(study: Study) -> None:
    """Of a real row: hits@1 0.38, and MRR 0.36."""
    row = {"mr": "", "mrr": "0.36", "hits@1": "0.38", "hits@3": "0.38", "hits@10": "0.41"}
    names = {name: name for name in row if row[name]}
    figure = study.figures.Figure("kbc", "README", "rank 8", "MRR", row["mrr"])
    found = study.tables.bounded_mrr(figure, row, names, 40_943)
    assert found.judge() == ("impossible", "less than hits@1, which no ranks have")
    assert study.tables.bounded_mrr(
        figure._replace(printed="0.39"), {**row, "mrr": "0.39"}, names, 40_943
    ).judge() == ("agrees", "")
    crossed = {**row, "hits@3": "0.30"}
    assert study.tables.bounded_mrr(figure, crossed, names, 40_943).judge() == (
        "impossible",
        "hits@k contradict each other",
    )
