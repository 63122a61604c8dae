"""Tables and pages with hostile labels: each form is read back by a reader of its own."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
import unicodedata
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from support.html_reader import Page

# What ends a cell, a line, a tag or an environment, starts a formula, or moves a terminal's cursor.
HOSTILE = [
    *("|", "\\", "\\|", "&", "<b>", "</table>", "]]>", "<!--", '"', "'", "`", "$", "%", "_", "{"),
    *("}", "\\input{x}", "^^M", "~", "#", "\n", "\r", "\r\n", "\t", "\v", "\f", "\0", "\x1b[2J"),
    *("\x1b]0;title\x07", "\x9b2J", "\x7f", "\u202e", "\u2066", "\u2028", "\u0085", "=1+1", "+1"),
    *("-1", "@x", ",", ";", "  ", "nan", "micro", "macro", "\ud7ff", "\U0001f600", "é", "e\u0301"),
]
labels = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=4).map("".join)


class Case(NamedTuple):
    """Tasks with a relation each; the split and the filter have hostile names, too."""

    relations: list[str]
    tasks: list[tuple[int, int, int, int]]  # above, others tied, others, code of the relation
    split: str | None
    filter: list[str]

    def report(self) -> tr.Report:
        above, tied, others, codes = np.array(self.tasks).T
        group = (codes % len(self.relations), self.relations)
        protocol = tr.Protocol(split=self.split, filter=self.filter)
        candidates = above + tied + others + 1
        ranks = tr.Ranks(above, tied + 1, candidates, relation=group, protocol=protocol)
        return tr.report(ranks, by="relation")


few = st.integers(0, 4)
cases = st.builds(
    Case,
    st.lists(labels, min_size=1, max_size=4, unique=True),
    st.lists(st.tuples(few, few, few, few), min_size=1, max_size=8),
    st.none() | labels.filter(len),
    st.lists(labels.filter(len), max_size=2),
)


def assert_printable(text: str) -> None:
    """A terminal obeys no character of the text but its line feeds."""
    kinds = {unicodedata.category(c) for c in text.replace("\n", "")}
    assert kinds.isdisjoint({"Cc", "Cs", "Zl", "Zp"}), kinds
    bidirectional = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert bidirectional.isdisjoint(text)


@check(cases)
def text(case: Case) -> None:
    report = case.report()
    assert_printable(str(report))
    assert_printable(repr(report))
    assert_printable(report.to_markdown())


@check(cases)
def markdown(case: Case) -> None:
    """All rows of a table have as many cells as its head: a bar in a label is escaped."""
    lines = case.report().to_markdown().split("\n")
    tables = [number for number, line in enumerate(lines) if re.fullmatch(r"\|( :?-+:? \|)+", line)]
    assert tables
    for number in tables:
        columns = lines[number].count("|")
        row = number - 1
        while row < len(lines) and lines[row].startswith("|"):
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", lines[row])) == columns, lines[row]
            row += 1
        assert row > number + 1


@check(cases)
def comma_separated(case: Case) -> None:
    report = case.report()
    text = report.to_csv()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    for row in rows[1:]:
        cells = dict(zip(rows[0], row, strict=True))
        if cells["average"] == "micro":
            value = report[f"{cells['side']}.{cells['kind']}.mr"]
            assert float(cells["mr"]) == value or value != value


@check(cases)
def latex(case: Case) -> None:
    """Braces match, and every character with a meaning in LaTeX is escaped within cells."""
    text = case.report().to_latex(notes=True)
    assert_printable(text)
    lines = [line for line in text.split("\n") if not line.startswith("%")]
    rows = [line.removesuffix(r" \\") for line in lines if line.endswith(r"\\")]
    for row in rows:
        bare = re.sub(r"\\text[a-z]+\{\}|\$(?:-|\\[a-z]+)\$|\\[{}%$&#_]", "", row).replace(
            " & ", ""
        )
        assert not re.search(r"[$%#~^_&]", bare), row
        assert bare.count("{") == bare.count("}"), row
        assert not re.search(r"\\(?!emph\{)", bare), row
    assert text.count(r"\begin{") == text.count(r"\end{")


@check(cases, inputs=20)
def html(case: Case) -> None:
    report = case.report()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        tr.html.save(path, report)
        page = Page(path.read_text(encoding="utf-8"))
    assert json.loads(page.json())["metrics"] == json.loads(report.to_json())["metrics"]
    assert_printable("".join(page.text).replace("\t", ""))


@check(cases)
def json_text(case: Case) -> None:
    """JSON keeps the labels as they are."""
    report = case.report()
    text = report.to_json()
    assert tr.Report.from_json(text).to_json() == text
    assert [*tr.Report.from_json(text).groups] == [*report.groups]


FAULTS = [
    Fault(
        "a bar is not escaped",
        "python/truerank/tables/forms.py",
        r'_MARKDOWN = re.compile(r"[\\|*`~\[]',
        r'_MARKDOWN = re.compile(r"[\\*`~\[]',
    ),
    Fault(
        "control characters of names stay",
        "python/truerank/inputs/naming.py",
        "return _UNPRINTABLE.sub(escape, text)",
        "return text",
    ),
]
