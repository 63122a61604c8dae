"""One label, one spelling: what is one but for Unicode's form, or for blanks at the ends."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.cli_files import run_here
from support.examples import examples
from truerank.records.vocabularies import Vocabulary, spell_alike

pytestmark = pytest.mark.python_only

COMPOSED, DECOMPOSED = "ros\u00e9", "rose\u0301"
FORM = "expected no labels that differ only in blanks at their ends or Unicode form, got "
SORTED = re.escape(f"{FORM}{DECOMPOSED!a} and {COMPOSED!a}")
AS_THEY_CAME = re.escape(f"{FORM}{COMPOSED!a} and {DECOMPOSED!a}")
TEST = [("a", "r", COMPOSED)]
# Both names of one place are known answers, or one of them is.
TRAIN = [("b", "r", DECOMPOSED), ("b", "r", "c")]
SCORES = {"a": 0.1, "b": 0.2, "c": 0.3, COMPOSED: 0.4, DECOMPOSED: 0.9}


def form(rows: Any) -> Any:
    """Return rows in one form."""
    return [tuple(unicodedata.normalize("NFC", label) for label in row) for row in rows]


def rank_tails(test: Any, known: Any, **options: Any) -> float:
    task = tr.link_prediction.Task(test, known, sides=["tail"], **options)
    entities = task.entities
    assert entities is not None
    number = task.evaluate(lambda queries: [[SCORES[x] for x in entities]] * len(queries))["mrr"]
    assert isinstance(number, float)
    return number


def test_labels_of_facts_that_nobody_gave_have_one_form() -> None:
    """.5 before: the decomposed one was another entity, above the right answer."""
    for test, known in ((TEST, TRAIN), (TRAIN[:1], TEST)):
        with pytest.raises(tr.InputValueError, match=f"^entities: {SORTED}$"):
            tr.link_prediction.Task(test, {"train": known})
    assert rank_tails(form(TEST), {"train": form(TRAIN)}) == 1
    # Who gives both means both.
    entities = ["a", "b", "c", COMPOSED, DECOMPOSED]
    assert rank_tails(TEST, {"train": TRAIN}, entities=entities) == 0.5


@pytest.mark.parametrize(
    ("argument", "facts", "options"),
    [
        ("relations", [("a", COMPOSED, "b"), ("b", DECOMPOSED, "a")], {}),
        ("3", [("a", "r", "b", COMPOSED), ("b", "r", "a", DECOMPOSED)], {"keys": [3]}),
    ],
)
def test_relations_and_further_columns_have_one_form(
    argument: str, facts: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(tr.InputValueError, match=f"^{argument}: {SORTED}$"):
        tr.link_prediction.Task(facts, {}, **options)
    assert tr.link_prediction.Task(form(facts), {}, **options).height == 2


def test_documents_and_queries_of_qrels_have_one_form() -> None:
    task = tr.retrieval.Task
    for qrels, known in (
        ({"q": [COMPOSED]}, {"train": {"q": [DECOMPOSED]}}),
        ({"q": [COMPOSED, DECOMPOSED]}, None),
    ):
        with pytest.raises(tr.InputValueError, match=f"^entities: {AS_THEY_CAME}$"):
            task(qrels, entities=9, known=known)
    with pytest.raises(tr.InputValueError, match=f"^queries: {AS_THEY_CAME}$"):
        task({COMPOSED: ["a"], DECOMPOSED: ["b"]}, entities=9)
    both = [COMPOSED, DECOMPOSED]
    qrels = {COMPOSED: ["a"], DECOMPOSED: both}
    assert len(task(qrels, entities=[*both, "a"], queries=both)) == 2


def spellings(findings: Any) -> list[str]:
    return [finding.message for finding in findings if finding.name == "spellings"]


COUNTED = "{} names of {} differ from {} only in blanks at their ends or in Unicode form: {}"


@pytest.mark.parametrize(
    ("query", "other"), [(COMPOSED, DECOMPOSED), ("a", "a "), ("a ", "a"), ("K", "\u212a")]
)
def test_queries_that_known_splits_write_otherwise_are_counted(query: str, other: str) -> None:
    """.5 for 1: what is known of the user is not left out. Other users are no finding."""
    known = {other: ["x"], "somebody else": ["x"], f"{query}b": ["y"]}
    task = tr.retrieval.Task({query: ["y"]}, entities=9, known={"train": known})
    assert task.evaluate_lists({query: ["x", "y"]})["mrr"] == 0.5
    words = COUNTED.format(1, 'known["train"]', "queries", f"{other!a} for {query!a}")
    assert spellings(task.audit) == [words]
    task = tr.retrieval.Task({query: ["y"]}, entities=9, known={"train": {query: ["x"]}})
    assert task.evaluate_lists({query: ["x", "y"]})["mrr"] == 1
    assert spellings(task.audit) == []
    # Where both were given, both are meant; blanks alone make no label.
    if unicodedata.normalize("NFC", other) == other.strip() != query.strip():
        both = [query, other]
        task = tr.retrieval.Task({query: ["y"]}, queries=both, entities=9, known={"train": known})
        assert spellings(task.audit) == []


@pytest.mark.parametrize(("name", "other"), [(COMPOSED, DECOMPOSED), ("d", " d"), ("d\t", "d")])
def test_names_of_lists_that_are_written_otherwise_are_counted(name: str, other: str) -> None:
    """A known item in another writing is above the right one: .5 for 1."""
    task = tr.retrieval.Task({"q": ["y"]}, entities=9, known={"train": {"q": [name]}})
    report = task.evaluate_lists({"q": [other, "y", "new", "n\u00e9w"]})
    assert report["mrr"] == 0.5
    words = COUNTED.format(1, "ids", "entities", f"{other!a} for {name!a}")
    assert spellings(report.audit()) == [words]
    report = task.evaluate_lists({"q": [name, "y", "new"]})
    assert (report["mrr"], spellings(report.audit())) == (1, [])


def test_keys_of_lists_that_are_written_otherwise_are_counted() -> None:
    task = tr.retrieval.Task({"a": ["y"]}, entities=9)
    report = task.evaluate_lists({"a": ["y"], "a ": ["x"], "b": ["x"]})
    assert spellings(report.audit()) == [COUNTED.format(1, "ids", "queries", "'a ' for 'a'")]
    facts = [("a", "r", COMPOSED)]
    links = tr.link_prediction.Task(facts, {}, entities=["a", COMPOSED], sides=["tail"])
    lists = {("a", "r"): [COMPOSED], ("a", " r"): ["a"], (DECOMPOSED, "r"): ["a"]}
    words = [
        COUNTED.format(1, "tail", "entities", f"{DECOMPOSED!a} for {COMPOSED!a}"),
        COUNTED.format(1, "tail", "relations", "' r' for 'r'"),
    ]
    assert spellings(links.evaluate_lists(lists).audit()) == words


def test_the_terminal_says_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def write(name: str, rows: Any) -> None:
        text = "".join("\t".join(row) + "\n" for row in rows)
        Path(name).write_text(text, encoding="utf-8")

    write("test", TEST)
    write("train", TRAIN)
    write("lists", [("a", "r", DECOMPOSED), ("a", "r", COMPOSED)])
    line = "link-prediction --test test --known train=train --sides tail --lists tail=lists"
    outcome = run_here(capsys, *line.split())
    outcome.refuses(1, f"entities: {FORM}{DECOMPOSED!a} and {COMPOSED!a}\n")
    for name, rows in {"test": TEST, "train": TRAIN}.items():
        write(name, form(rows))
    write("lists", form([("a", "r", DECOMPOSED)]))
    outcome = run_here(capsys, *line.split(), "--metrics", "mrr", "--format", "csv")
    assert (outcome.code, outcome.out.splitlines()[-1].rpartition(",")[2]) == (0, "1.0")
    write("qrels", [("q", "0", "y", "1")])
    write("seen", [("q", "0", COMPOSED, "1")])
    write("run", [("q", "Q0", DECOMPOSED, "1", "2", "t"), ("q", "Q0", "y", "2", "1", "t")])
    line = "retrieval --qrels qrels --known train=seen --candidates 9 --lists run --audit"
    outcome = run_here(capsys, *line.split())
    words = COUNTED.format(1, "--lists: run", "entities", f"{DECOMPOSED!a} for {COMPOSED!a}")
    assert words.replace("--lists: run", "ids: run") in " ".join(outcome.out.split())


def test_other_labels_are_no_spellings() -> None:
    """Case, compatibility and accents make others, as they always did."""
    rows = [(name, "r", "b") for name in ("rose", COMPOSED, "Rose", "\ufb01", "fi", "\u00b2", "2a")]
    assert len(tr.link_prediction.Task(rows, {}).entities or ()) == 8


TEXTS = st.text(st.sampled_from("ae \u0301\u00e9K\u212a\u212b\u00c5"), min_size=1, max_size=3)


@given(st.lists(TEXTS, min_size=1, max_size=6, unique=True), st.lists(TEXTS, max_size=6))
@examples(150)
def test_spellings_are_those_of_the_plain_definition(labels: list[str], names: list[str]) -> None:
    def plain(label: str) -> str:
        return unicodedata.normalize("NFC", label.strip(" "))

    assert list(spell_alike(labels)) == list(map(plain, labels))
    of_labels = {plain(label) for label in labels}
    try:
        Vocabulary.infer("entities", labels)
    except tr.InputValueError:
        assert len(of_labels) < len(labels)
    else:
        assert len(of_labels) == len(labels)
    vocabulary = Vocabulary(len(labels), tuple(labels))
    others = {name for name in names if name not in labels and plain(name) in of_labels}
    counts = [count for _, count, _ in vocabulary.find_other_spellings("ids", names, is_text=False)]
    assert sum(counts) == len(others)
