"""Test the page of reports: its content, that it is one valid file, and that text is escaped."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.example_ranks import any_ranks
from support.examples import examples
from support.html_reader import Page
from support.refusals import refused
from truerank import Protocol, Ranks, Report, compare, report

pytest.importorskip("matplotlib", reason="pages have plots")

from truerank.page import picture, save
from truerank.plot.drawing import COLOURS

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
    "#000000",
    "${title} $style",
    "",
)

AB = (("A", 9), ("B", 30))


def saved(reports: Any, **options: Any) -> tuple[str, Page]:
    """Save a page; return its text, and the page as it was parsed."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        save(path, reports, **options)
        text = path.read_text(encoding="utf-8")
    return text, Page(text)


@pytest.fixture
def _without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what takes nine tenths of the time, where a test is about words and tables."""
    monkeypatch.setattr("truerank.page.picture", lambda *_: "<p></p>")


# -- what is on it ---------------------------------------------------------------------------------


def test_everything_is_there(grouped: Report) -> None:
    options = {"title": "R&D <1>", "notes": ["A model of mine"], "command": "truerank <x>"}
    text, page = saved(grouped, **options)
    assert "<title>R&amp;D &lt;1&gt;</title>" in text
    for heading in ("Results", "Plots", "Findings", "What was evaluated", "Reproduce"):
        assert f"<h2>{heading}</h2>" in text
    assert page.count("svg") == 3
    for words in ("A model of mine", "truerank <x>"):
        assert words in page.words
    for finding in grouped.audit():
        assert finding.message in page.words
    assert set(map(str, grouped.groups)) <= set(page.cells)
    assert grouped.protocol.fingerprint in page.cells
    assert page.json() == grouped.to_json(indent=None)
    assert grouped.table(interval=True).to_html() in text


@pytest.mark.usefixtures("_without_pictures")
def test_what_is_found_and_what_a_table_says_agree() -> None:
    """Nothing is said to be found only where no table says that few units carry a number.

    A note stands once.
    """
    nothing = "Nothing was found that is suspect."
    two = report(Ranks([0, 1] + [5000] * 198, [1] * 200, 9001))
    _, page = saved(two)
    assert page.words.count("Few units carry it: MRR rests on about 1 of 200 tasks.") == 1
    assert nothing not in page.words
    even = np.arange(200) % 9
    even_report = report(Ranks(even, np.ones(200, int), 9001, protocol=Protocol(filter=("train",))))
    assert nothing in saved(even_report)[1].words
    assert nothing not in saved({"A": two, "B": two})[1].words


@pytest.mark.usefixtures("_without_pictures")
def test_two_models_are_compared_by_their_names_the_better_first() -> None:
    """Each note stands once, and p has two digits."""
    rng = np.random.default_rng(0)
    ranks = {name: Ranks(rng.integers(0, most, 90), [1] * 90, 60) for name, most in AB}
    models = {name: report(ranks[name]) for name in "BA"}
    _, page = saved(models, metrics=["mr", "mrr"])
    comparison = compare({name: models[name] for name in "AB"}, metric=["mr", "mrr"])
    start = page.cells.index("metric")
    assert page.cells[start : start + 4] == ["metric", "A", "B", "difference"]
    assert page.cells[page.cells.index("MRR \u2191", start) + 3] == f"{comparison[1].estimate:.3f}"
    for pair in comparison:
        assert f"{pair.p_holm:.2g}" in page.cells
    assert page.words.lower().count("few units: 90 tasks") == 1
    assert json.loads(page.json())["comparisons"] == json.loads(comparison.to_json())
    assert "Nothing was found but what stands below the tables." in page.words
    _, page = saved({**models, "C": models["A"]})
    start = page.cells.index("MRR of a")
    assert page.cells[start - 2 : start] == ["a", "b"]


@pytest.mark.usefixtures("_without_pictures")
def test_a_page_says_what_its_fingerprint_and_last_section_are(grouped: Report) -> None:
    text, page = saved(grouped)
    assert "<h2>Numbers</h2>" in text
    place = page.cells.index("Fingerprint of the protocol, without data")
    assert page.cells[place + 1] == grouped.protocol.fingerprint
    numbers = np.arange(30)
    _, page = saved(report(Ranks(numbers, np.ones(30, int), 99), by=numbers))
    assert "10 more rows in JSON" in page.cells
    assert len(json.loads(page.json())["groups"]["labels"]) == 30


@pytest.mark.usefixtures("_without_pictures")
def test_tables_have_intervals_and_kinds() -> None:
    rng = np.random.default_rng(0)
    models = {n: report(Ranks(rng.integers(0, m, 60), [2] * 60, 90)) for n, m in AB}
    text, page = saved(models["A"], level=0.9)
    assert "Brackets hold 90 % intervals over 60 tasks." in page.words
    assert models["A"].table(interval=True, level=0.9).to_html() in text
    _, one_kind = saved(models["A"], kinds=["realistic"])
    assert "optimistic" not in one_kind.cells
    _, page = saved(models, kinds="all", allow_unlike=True)
    assert page.cells.count("optimistic") == 2
    interval = models["B"].interval("mrr")
    assert f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]" in page.cells


def test_protocol_in_words() -> None:
    fields = {"filter": ("train", "valid", "test"), "candidates": "typed", "sampled": True}
    protocol = Protocol(**fields, nan="omit", split="valid", files=("a.npy", "b<c>.npy"))
    _, page = saved(report(Ranks([0, 3], [1, 2], [9, 10], side="relation", protocol=protocol)))
    assert "Evaluation of valid" in page.words
    cells = dict(zip(page.cells, page.cells[1:], strict=False))
    assert cells["Known answers left out"] == "train, valid, test"
    assert (cells["Candidates"], cells["Sampled candidates"]) == ("typed", "yes")
    assert (cells["NaN among candidates"], cells["Files"]) == ("left out", "a.npy, b<c>.npy")
    assert "nan" in saved(report(Ranks([], [], 9), by=[]))[1].cells


@pytest.mark.parametrize(
    ("number", "options", "is_shown"),
    [
        (3, {}, True),
        (3, {"metrics": ["macro.mrr"]}, False),
        (3, {"unit": [0, 0, 1] * 2}, False),
        (21, {}, False),
    ],
)
def test_groups_of_several_models(
    number: int, options: Any, is_shown: bool, request: pytest.FixtureRequest
) -> None:
    if options:
        request.getfixturevalue("_without_pictures")
    labels = [f"group {i}" for i in np.tile(np.arange(number), 2)]
    above = np.arange(2 * number)
    ones = [1] * len(above)
    tasks = {"A": above, "B": above[::-1]}
    models = {name: report(Ranks(each, ones, 99), by=labels) for name, each in tasks.items()}
    text, page = saved(models, **options)
    assert page.cells.count("group 2") == 2 * is_shown
    assert ("The values of the groups by label are in the JSON below." in text) != is_shown
    assert len(json.loads(page.json())["models"]["B"]["groups"]["labels"]) == number


def test_several_models(sided: Ranks) -> None:
    other = np.maximum(sided.above - 1, 0), sided.tied, sided.candidates
    better = Ranks(*other, side=sided.side, protocol=sided.protocol)
    models = {"A": report(sided), "B & C": report(better)}
    text, page = saved(models, metrics=["mrr"], allow_unlike=True)
    assert "<title>A, B &amp; C</title>" in text
    assert page.count("svg") == 2
    assert {"A", "B & C", "split"} - set(page.cells) == {"split"}  # one protocol, one column
    reordered = {name: models[name] for name in ("B & C", "A")}  # the better first
    pairs = compare(reordered, metric=["mrr"], allow_unlike=True)
    start = page.cells.index("metric")
    assert page.cells[start + 1 : start + 3] == ["B & C", "A"]
    values = [f"{value:.3f}" for value in (pairs[0].value_a, pairs[0].value_b)]
    assert page.cells[page.cells.index("MRR \u2191", start) + 1 :][:2] == values
    numbers = json.loads(page.json())
    assert numbers["comparisons"] == json.loads(pairs.to_json())
    for name, content in numbers["models"].items():
        assert content == json.loads(models[name].to_json())
    unlike = {"A": report(sided), "B": report(sided.with_protocol(split="valid"))}
    refused(ValueError, "reports", saved, unlike)
    assert {"A", "B", "valid"} <= set(saved(unlike, allow_unlike=True)[1].cells)


# -- one file --------------------------------------------------------------------------------------


def test_the_same_report_gives_the_same_bytes(
    tmp_path: Path, run_python: Callable[..., str]
) -> None:
    """In another process, with other settings of matplotlib and another order of sets."""
    script = """
import sys
import truerank as tr
names = ["knows", "likes", "knows"]
ranks = tr.Ranks([0, 3, 1], [1, 2, 1], 10, side=["head", "tail", "tail"], relation=names)
tr.page.save(sys.argv[1], tr.report(ranks, by="relation"))
"""
    (tmp_path / "matplotlibrc").write_text("text.color: red\nfont.size: 30\n")
    seed = "0" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {"PYTHONHASHSEED": seed, "MATPLOTLIBRC": str(tmp_path)}
    run_python(script, tmp_path / "a.html", env=environment)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["", str(tmp_path / "b.html")])
        exec(script, {})
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_many_tasks_and_groups_make_no_larger_page() -> None:
    rng = np.random.default_rng(0)
    above = np.minimum(rng.pareto(0.5, 20_000), 14_000).astype(np.int64)
    ranks = Ranks(above, rng.integers(1, 5, 20_000), 14_541)
    assert len(saved(report(ranks))[0]) < 200_000
    assert len(saved(report(ranks[:800], by=np.arange(800)))[0]) < 600_000


# -- names -----------------------------------------------------------------------------------------


def test_names_are_text() -> None:
    n = len(EVIL)
    ranks = Ranks(
        *(np.arange(n), np.ones(n, int), 99),
        side=[f"side{i % 2}" for i in range(n)],
        relation=(np.arange(n), EVIL),
        protocol=Protocol(split=EVIL[0], filter=EVIL[:3], candidates=EVIL[1], files=EVIL[:5]),
    )
    measured = report(ranks, by="relation")
    text, page = saved(measured, title=EVIL[0], notes=EVIL, command=EVIL[2])
    assert page.count("svg") == 3
    assert page.count("style") == 1
    assert page.script == f"\n{(files('truerank.page') / 'page.js').read_text(encoding='utf-8')}"
    assert text.count("<script") == 1
    assert "onerror=alert" not in "".join(str(attributes) for _, attributes in page.tags)
    names = list(EVIL[:6] + EVIL[-3:])
    names += ["\\u202eright to left\\u202c \u6f22\u5b57", "a\\nb\\tc"]
    for name in names:
        assert name in page.cells
        assert page.words.count(name) >= 2  # in the plot, too
    assert "\x00" not in text
    saved(dict.fromkeys(EVIL[:3], measured), notes=EVIL)


@examples(5)
@given(any_ranks(), st.text(max_size=12))
def test_any_ranks_and_names(ranks: Ranks, name: str) -> None:
    by = None if ranks.relation is None else "relation"
    measured = report(ranks, by=by)
    _, page = saved(measured, title=name, notes=[name], command=name)
    assert page.json() == measured.to_json(indent=None)


# -- pictures --------------------------------------------------------------------------------------


def test_pictures_take_the_colours_of_the_page() -> None:
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    ax.plot([0, 1], color=COLOURS[0], label="#000000")
    ax.set_title("\u6f22\u5b57 <b>")  # a glyph that is missing is no warning
    ax.legend()
    svg = picture("x", "y & z", lambda: ax)
    assert 'aria-label="y &amp; z"' in svg
    assert "\u6f22\u5b57 &lt;b&gt;" in svg
    assert f"stroke: var(--data-0, {COLOURS[0]})" in svg
    assert ": #000000" not in svg
    assert ">#000000<" in svg
    style = (files("truerank.page") / "page.css").read_text()
    assert [i for i in range(len(COLOURS)) if style.count(f"--data-{i}:") < 2] == []
