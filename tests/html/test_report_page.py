"""Test the page of a report: its content, that it is one valid file, and that text is escaped."""

from __future__ import annotations

import json
import math
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.example_ranks import any_ranks
from support.html_reader import Page
from truerank import Protocol, Ranks, Report, report

pytest.importorskip("matplotlib", reason="pages have plots")

from truerank.html import pictures, report_page
from truerank.html.documents import document
from truerank.html.pictures import inline
from truerank.metrics.keys import table_name
from truerank.tables.cells import number

pytestmark = pytest.mark.python_only

EVIL = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</text></svg><script>alert(2)</script>",
    "]]><!-- --> &lt; &amp;lt; <![CDATA[ x",
    "'; alert(3) //",
    "$x^2$ \\frac \\",
    "a\x00b\x0bc\x1b[31m\x7f",
    "\u202eright to left\u202c \u6f22\u5b57",
    "a\nb\tc",
    "</style><style>*{display:none}</style>",
    "half \ud83d of a character",
    "",
)


def saved(measured: Report, folder: Path, **options: Any) -> tuple[str, Page]:
    """Save the page of a report; return its text, and the page as it was parsed."""
    path = folder / "report.html"
    measured.save_html(path, **options)
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


# -- what is on it ---------------------------------------------------------------------------------


def test_everything_is_there(grouped: Report, tmp_path: Path) -> None:
    text, page = saved(grouped, tmp_path, title="R&D <1>", notes=["A model of mine"])
    assert "<title>R&amp;D &lt;1&gt;</title>" in text
    for heading in (
        *("What was evaluated", "Audit", "Metrics", "Against chance", "Plots", "By relation"),
        "Cite and reproduce",
    ):
        assert f"<h2>{heading}</h2>" in text
    assert "A model of mine" in page.words
    assert page.count("svg") == 3
    for finding in grouped.audit():
        assert finding.message in page.words
    for key in ("mr", "mrr", "hits@10", "amri", "zmrr"):
        assert f"{grouped[key]:.6g}" in page.cells
    mean, variance = grouped.chance("mrr")
    for value in (mean, math.sqrt(variance), grouped["index.mrr"], grouped["z.mrr"]):
        assert f"{value:.4g}" in page.cells
    for label in grouped.groups:
        assert str(label) in page.cells
    assert grouped.protocol.fingerprint in page.words
    assert Report.from_json(page.json()) == grouped


def test_protocol_in_words(tmp_path: Path) -> None:
    protocol = Protocol(
        filter=("train", "valid", "test"),
        candidates="typed",
        sampled=True,
        nan="omit",
        split="valid",
        order="ascending",
        dtype="float16",
        similarity="l2",
        version="0.1.0",
        files=("a.npy", "b<c>.npy"),
    )
    ranks = Ranks([0, 3], [1, 2], [9, 10], side="tail", protocol=protocol, weights=[1, 3])
    _, page = saved(report(ranks), tmp_path)
    for words in (
        "Evaluation of valid",
        "2 (tail 2)",
        "typed, sampled, 9 to 10 in a task",
        "those of train, valid and test are left out (filtered)",
        "NaNno candidate",
        "float16, lower is better",
        "l2",
        "weighted",
        "a.npy, b<c>.npy",
        "Counted bytruerank 0.1.0",
        "1 of 2 tasks tie",
    ):
        assert words in page.words
    plain = saved(report(Ranks([0], [1], 9)), tmp_path)[1].words
    assert "candidates like all others (unfiltered)" in plain
    assert "Split" in plain
    assert "not named" in plain


def test_kinds_have_columns_where_tasks_tie(sided: Ranks, tmp_path: Path) -> None:
    _, tied = saved(report(sided), tmp_path)
    assert tied.cells.count("optimistic") == tied.cells.count("expected") == 3
    _, clear = saved(report(Ranks([0, 3], [1, 1], 9, side=["head", "tail"])), tmp_path)
    assert "optimistic" not in clear.cells
    assert {"both (2 tasks)", "head (1 task)", "tail (1 task)"} <= set(clear.cells)


def test_keys_and_intervals_at_the_head(grouped: Report, tmp_path: Path) -> None:
    found = grouped.interval("tail.mrr")
    for intervals in (["mrr"], {"tail.mrr": found}):
        text, page = saved(grouped, tmp_path, metrics=["macro.mrr"], intervals=intervals)
        for key in ("macro.mrr", *intervals):
            assert f"<div><dt>{table_name(key)}</dt><dd>{grouped[key]:.4g}</dd>" in text
        assert "<dt>AMRI" not in text
    assert f"<dd>{found.low:.4g} to {found.high:.4g}</dd>" in text
    assert "Intervals of tail.mrr: 95 %, t, " in page.words
    _, alone = saved(report(Ranks([0], [1], 9)), tmp_path, intervals=["mrr"])
    assert "No bounds of mrr: fewer than 2 units, or no value." in alone.words


def test_findings_may_be_replaced(grouped: Report) -> None:
    options = report_page.PageOptions("x", findings=["said otherwise"], command="truerank <x>")
    page = Page(report_page.page(grouped, options))
    assert "said otherwise" in page.words
    assert "This page was made by:" in page.words
    assert "truerank <x>" in page.words
    assert (
        "Nothing was found" in Page(report_page.page(grouped, options._replace(findings=[]))).words
    )


def test_relations_have_plots_of_their_own(tmp_path: Path) -> None:
    ranks = Ranks([0, 3, 1], [1, 1, 1], 9, side=["head", "tail", "relation"])
    _, page = saved(report(ranks), tmp_path)
    assert page.count("svg") == 4
    only = Ranks([0, 3, 1], [1, 1, 1], 9, side="relation")
    assert saved(report(only), tmp_path)[1].count("svg") == 2


def test_many_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 200
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(60), rng.integers(0, 60, n - 60)])
    names = [f"r{i}" for i in range(60)]
    measured = report(
        Ranks(rng.integers(0, 50, n), np.ones(n, int), 99, relation=(codes, names)), by="relation"
    )
    text, page = saved(measured, tmp_path)
    values = measured.group_values("mrr")
    rising = sorted(values, key=values.__getitem__)
    after = text.partition("lowest mrr")[2]
    assert [label for label in rising[:10] if f">{label}<" not in after] == []
    assert after.index(f">{rising[0]}<") < after.index(f">{rising[9]}<")
    highest = after.partition("highest mrr")[2]
    assert highest.index(f">{rising[-1]}<") < highest.index(f">{rising[-10]}<")
    assert "All 60 groups" in page.words
    assert set(names) <= set(page.cells)
    monkeypatch.setattr(report_page, "MOST_GROUPS", 59)
    _, page = saved(measured, tmp_path)
    assert page.count("details") == 0
    assert "60 groups, too many for this page" in page.words
    assert "Its groups are not in it" in page.words
    back = Report.from_json(page.json())
    assert (back.by, back["macro.mrr"]) == (None, measured["macro.mrr"])


def test_a_report_without_tasks(tmp_path: Path) -> None:
    for by in (None, []):
        text, page = saved(report(Ranks([], [], 9), by=by), tmp_path)
        assert page.count("svg") == 0
        assert "Against chance" not in text
        assert "nan" in page.cells


# -- from JSON -------------------------------------------------------------------------------------


def test_a_report_without_ranks(grouped: Report, tmp_path: Path) -> None:
    back = Report.from_json(grouped.to_json())
    text, page = saved(back, tmp_path)
    assert "read from JSON, which holds no ranks" in page.words
    for heading in ("Plots", "Against chance"):
        assert f"<h2>{heading}</h2>" not in text
    for heading in ("Metrics", "By relation", "Audit"):
        assert f"<h2>{heading}</h2>" in text
    assert f"{grouped['mrr']:.6g}" in page.cells
    assert Report.from_json(page.json()) == grouped
    with pytest.raises(AttributeError, match="holds no interval"):
        back.save_html(tmp_path / "x.html", intervals=["mrr"])
    few = Report.from_json(grouped.to_json(["tail.mr"]))
    assert "tail (" in saved(few, tmp_path)[1].words


# -- one file --------------------------------------------------------------------------------------


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    script = f"""
import truerank as tr
names = ["knows", "likes", "knows"]
ranks = tr.Ranks([0, 3, 1], [1, 2, 1], 10, side=["head", "tail", "tail"], relation=names)
tr.report(ranks, by="relation").save_html({str(tmp_path / "{}.html")!r}, intervals=["mrr"])
"""
    for name, seed in (("a", "0"), ("b", "1")):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "MPLCONFIGDIR": str(tmp_path)}
        (tmp_path / "matplotlibrc").write_text("text.color: red\nfont.size: 30\n" * (name == "b"))
        code = script.replace("{}", name)
        subprocess.run([sys.executable, "-c", code], check=True, env=environment, cwd=tmp_path)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_matplotlib_settings_stay(grouped: Report, tmp_path: Path) -> None:
    import matplotlib

    before = {name: value for name, value in matplotlib.rcParams.items() if name != "backend"}
    saved(grouped, tmp_path)
    after = {name: value for name, value in matplotlib.rcParams.items() if name != "backend"}
    assert before == after


def test_many_tasks_make_no_larger_page(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    n = 300_000
    above = np.minimum(rng.pareto(0.5, n), 14_000).astype(np.int64)
    _, page = saved(report(Ranks(above, rng.integers(1, 5, n), 14_541)), tmp_path)
    assert page.count("svg") == 2
    assert (tmp_path / "report.html").stat().st_size < 200_000


def test_the_policy_lets_nothing_run(grouped: Report, tmp_path: Path) -> None:
    _, page = saved(grouped, tmp_path)
    (policy,) = (a["content"] for _, a in page.tags if "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


# -- names -----------------------------------------------------------------------------------------


def test_names_are_text(tmp_path: Path) -> None:
    n = len(EVIL)
    ranks = Ranks(
        np.arange(n),
        np.ones(n, int),
        99,
        side=[f"side{i % 2}" for i in range(n)],
        relation=(np.arange(n), EVIL),
        protocol=Protocol(split=EVIL[0], filter=EVIL[:3], candidates=EVIL[1], files=EVIL[:5]),
    )
    text, page = saved(report(ranks, by="relation"), tmp_path, title=EVIL[0], notes=EVIL)
    assert page.count("svg") == 3
    assert page.count("style") == 1
    assert "<script" not in text
    assert "onerror=alert" not in "".join(str(attributes) for _, attributes in page.tags)
    for name in (*EVIL[:6], "\\u202eright to left\\u202c \u6f22\u5b57", "a\\nb\\tc"):
        assert name in page.cells
    assert "\x00" not in text


@settings(max_examples=8)
@given(st.lists(st.text(max_size=12), min_size=1, max_size=4, unique=True))
def test_any_names(names: list[str]) -> None:
    n = len(names)
    ranks = Ranks(np.arange(n), np.ones(n, int), 99, relation=(np.arange(n), names))
    options = report_page.PageOptions(names[0], notes=names, command=names[-1])
    Page(report_page.page(report(ranks, by="relation"), options))


@settings(max_examples=8)
@given(any_ranks())
def test_any_ranks(ranks: Ranks) -> None:
    """Every value in the tables of a report is on its page."""
    measured = report(ranks)
    page = Page(report_page.page(measured, report_page.PageOptions("x")))
    for side in measured.sides:
        for kind in ("optimistic", "realistic", "pessimistic"):
            for metric in ("mr", "mrr", "hits@10", "amri"):
                assert number(measured[f"{side}.{kind}.{metric}"], 6) in page.cells
    assert Report.from_json(page.json()) == measured


# -- the file --------------------------------------------------------------------------------------


def test_a_page_is_written_whole_or_not_at_all(
    grouped: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    os.chmod(path, 0o640)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", fail)
        with pytest.raises(OSError, match="No space left"):
            grouped.save_html(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]
    grouped.save_html(path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    link = tmp_path / "link.html"
    link.symlink_to(path)
    grouped.save_html(link, title="by a link")
    assert link.is_symlink()
    assert "by a link" in path.read_text(encoding="utf-8")
    assert stat.S_ISREG(path.stat().st_mode)


def test_paths_that_cannot_be_written(grouped: Report, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no.*r\.html"):
        grouped.save_html(tmp_path / "no" / "r.html")
    with pytest.raises(ValueError, match="path: expected a regular file or a new name, got"):
        grouped.save_html(tmp_path)


def test_arguments_are_checked(grouped: Report, tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    with pytest.raises(TypeError, match="title: expected a str, got int"):
        grouped.save_html(path, title=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="notes: expected several lines, got the str 'mrr'"):
        grouped.save_html(path, notes="mrr")
    for name in ("metrics", "intervals"):
        with pytest.raises(TypeError, match=f"{name}: expected several keys, got int"):
            grouped.save_html(path, **{name: 3})
    with pytest.raises(TypeError, match="notes: expected lines of text, got int"):
        grouped.save_html(path, notes=["a line", 2])  # type: ignore[list-item]
    for name in ("metrics", "intervals"):
        with pytest.raises(KeyError, match="no metric 'mmr'"):
            grouped.save_html(path, **{name: ["mmr"]})
    assert not path.exists()


# -- pictures --------------------------------------------------------------------------------------


def test_ids_of_a_picture() -> None:
    svg = (
        '<?xml version="1.0"?><!-- made --><svg xmlns="http://www.w3.org/2000/svg" '
        'xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" width="9pt">'
        "<metadata>when</metadata><defs><style>*{x}</style><path id='m'/><path id='n'/></defs>"
        "<g id='c' fill='#c0ffee' clip-path='url(#n)' style='fill: #aa00cc'>"
        "<use xlink:href='#m'/><text>#m url(#n) &lt;&amp;</text></g></svg>"
    )
    text = inline(svg, "p", "what")
    assert text == (
        '<svg viewBox="0 0 9 9" role="img" aria-label="what"><defs><path id="p-m" />'
        '<path id="p-n" /></defs><g fill="#c0ffee" clip-path="url(#p-n)" style="fill: #aa00cc">'
        '<use href="#p-m" /><text>#m url(#n) &lt;&amp;</text></g></svg>'
    )
    page = Page(document("x", text + inline(svg, "q", "other"), []))
    assert page.count("svg") == 2


def test_missing_glyphs_raise_no_warning() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.set_title("\u6f22\u5b57 <b>")
    assert "\u6f22\u5b57 &lt;b&gt;" in pictures.picture(lambda: ax, "x", "y")


def test_json_is_compact_and_plain(grouped: Report, tmp_path: Path) -> None:
    _, page = saved(grouped, tmp_path)
    assert json.loads(page.json())["metrics"]["mrr"] == grouped["mrr"]
    assert "\n" not in page.json()
