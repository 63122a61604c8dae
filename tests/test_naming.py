"""Names from somebody's file: what a terminal would obey is escaped in texts, and kept in data."""

from __future__ import annotations

import html
import io
import json
import pickle
import sys
import unicodedata

import numpy as np
import pytest

import truerank as tr
from support.refusals import refusal
from truerank import InputTypeError, InputValueError, Table
from truerank.metrics import UnknownKeyError
from truerank.naming import import_extra, printable, terminal_text

pytestmark = pytest.mark.python_only

# A title, a cleared screen (C0 and C1), colours, overrides of direction, half a character, lines.
EVIL = "a\x1b]0;t\x07\x1b[2J\x9b2J\x7f\u202eb\u2066c\ud800\u2028\r\n\td"
UP = "MR \u2193, MRR \u2191, 1\u2020"
ESCAPED = r"a\x1b]0;t\x07\x1b[2J\x9b2J\x7f\u202eb\u2066c\ud800\u2028\r\n\td"  # what is shown of it


def obeyed(text: str) -> set[str]:
    """Return the characters, line breaks aside, that a terminal obeys or cannot write."""
    overrides = list(range(0x202A, 0x202F)) + list(range(0x2066, 0x206A))
    control = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")}
    control |= {c for c in text if ord(c) in overrides}
    return control - {"\n"}


def test_every_control_character_is_escaped() -> None:
    every = "".join(map(chr, range(0x11000)))
    assert not obeyed(printable(every).replace("\n", "x"))
    assert "\n" not in printable(every)
    assert printable(EVIL) == ESCAPED
    assert printable(printable(EVIL)) == ESCAPED
    assert printable("a\n\tb\x1b", keep="\n") == "a\n\\tb\\x1b"
    others = ["/people/person", "C:\\new\\table", "\u6f22\u5b57", "a\u00a0b", "-0.5"]
    others += ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f468\u200d\U0001f469"]
    assert list(map(printable, others)) == others


def test_a_notebook_shows_the_text_of_what_is_no_table() -> None:
    report = tr.report(tr.Ranks([0, 3, 1, 0], [1] * 4, 9, protocol=tr.Protocol(split="<b> & c")))
    for shown in (report.interval("mrr"), report.protocol, tr.compare(report, report)):
        assert shown._repr_html_() == f"<pre>{html.escape(str(shown), quote=False)}</pre>"
    assert report._repr_html_().startswith("<p>4 &lt;b&gt; &amp; c tasks")


def test_errors_escape_what_they_quote() -> None:
    error = InputValueError("labels", f"no {EVIL}", place=f"{EVIL}.txt")
    assert str(error) == f"labels: {ESCAPED}.txt: no {ESCAPED}"
    assert (error.place, pickle.loads(pickle.dumps(error)).place) == (f"{EVIL}.txt",) * 2
    assert str(InputTypeError("x", expected="a name", got=EVIL)).endswith(f"got {ESCAPED}")
    assert str(UnknownKeyError(EVIL, "no such key")) == f"{ESCAPED}: no such key"


def test_other_exceptions_escape_names_from_files() -> None:
    other = evil_ranks().with_protocol(split=f"{EVIL}2")
    said = refusal(ValueError, "cannot be compared", tr.compare, evil_ranks(), other)
    words = "needs no_such_library"
    said += refusal(ImportError, words, import_extra, "no_such_library", f"{EVIL}.zarr")
    assert obeyed(said) == set()


def evil_ranks(above: int = 1) -> tr.Ranks:
    """Ranks whose every name is a hostile one."""
    side = np.array([EVIL, "tail", EVIL])
    filtered = tr.Protocol(split=EVIL, filter=(EVIL, "x"), files=(EVIL,), similarity=EVIL)
    group = (np.array([0, 1, 0]), [EVIL, "plain"])
    return tr.Ranks([above, 0, 2], [1, 2, 1], 9, side=side, relation=group, protocol=filtered)


def evil_task() -> tr.link_prediction.Task:
    """A task of triples with a duplicate and a leak, where all names are hostile."""
    triples = [(0, 0, 1), (0, 0, 1), (1, 0, 0)]
    names = {"entities": [EVIL, "b"], "relations": [EVIL], "split": f"{EVIL}2"}
    return tr.link_prediction.Task(triples, known={EVIL: triples[:1]}, **names)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_text_has_them() -> None:
    ranks, task = evil_ranks(), evil_task()
    report, grouped = tr.report(ranks), tr.report(ranks, by="relation")
    table = tr.table({EVIL: report})
    shown: list[object] = [ranks, ranks.side, ranks.relation, ranks.protocol, report, table, task]
    shown += [report.audit()[0], task.audit[0], tr.compare({EVIL: ranks, "b": ranks})]
    shown += [report.interval("mrr", unit="relation"), *report.audit(), *task.audit]
    for made in (grouped, table):
        shown += [made.to_markdown(), made.to_latex(notes=True), made._repr_html_()]
    for one in shown:
        assert obeyed(str(one)) == set()
        assert obeyed(repr(one)) == set()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_line_break_in_a_name_makes_no_line() -> None:
    made = Table([EVIL, "value"], [[EVIL, 1]], notes=[EVIL])
    made.before = (EVIL,)
    assert made.to_markdown().count("\n") == 6
    assert made.to_latex(notes=True).startswith(f"% {ESCAPED}\n")
    assert made.to_latex(notes=True).count("\n") == 8
    assert made.to_html().count("\n") == 7
    assert all("\n" not in str(finding) for finding in evil_task().audit)


def test_what_is_for_programs_keeps_the_true_names() -> None:
    measured = tr.report(evil_ranks(), by="relation")
    content = json.loads(measured.to_json())
    assert content["protocol"]["split"] == EVIL
    assert content["protocol"]["filter"] == [EVIL, "x"]
    assert set(content["groups"]["labels"]) == {EVIL, "plain"}
    assert EVIL in measured.to_csv().replace('"', "")
    assert tr.table({EVIL: measured}, ["mrr"])["model"] == [EVIL]


def test_numbers_and_other_texts_stay_as_they_are() -> None:
    values = [-1.5, -3, "-1.5", "+2", "-.5", "-1e-05", "+3.E+4", "a=b", "", "'x"]
    table = Table(["label"], [(value,) for value in values])
    assert table.to_csv(spreadsheet=True) == table.to_csv()


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", UP), ("cp1252", "MR v, MRR ^, 1+")])
def test_arrows_reach_standard_output_in_any_encoding(
    encoding: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", output)
    assert terminal_text(UP) == shown
    measured = tr.report(tr.Ranks([0, 3], [1, 1], 10))
    for found in (measured, tr.table({"a": measured}), tr.table([measured])):
        print(found)
    output.flush()
    arrow = shown[len("MR v, MRR ") :][:1]
    assert f"MRR {arrow}".encode(encoding) in output.buffer.getvalue()  # type: ignore[attr-defined]
