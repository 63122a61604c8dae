"""Right answers that their lists have in another writing."""

from __future__ import annotations

import pytest

import truerank as tr
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only


def names_of_findings(report: tr.Report) -> list[str]:
    return [finding.name for finding in report.audit()]


WRITINGS = [
    (" d 1", "d1"),
    ("\uff24\uff11", "D1"),
    ("007", "7"),
    ("e\u0301", "\u00e9"),
]


@pytest.mark.parametrize(("name", "answer"), WRITINGS)
def test_other_writings_of_right_answers_are_a_finding(name: str, answer: str) -> None:
    task = Task({"q": [answer, "x"], "p": ["d2"]}, entities=9)
    findings = task.evaluate_lists({"q": {"y": 3, name: 2, "x": 1}, "p": {"d2": 1}}).audit()
    assert [str(finding) for finding in findings if finding.name == "names"] == [
        "names: 1 of the first 3 right answers differ from listed names only in blanks, "
        f"Unicode form or leading zeros: {name!r} for {answer!r}".replace("e\u0301", "e\\u0301")
    ]


def test_a_right_answer_with_blanks_at_its_end_counts_once() -> None:
    task = Task({"q": ["a "], "p": ["a b "]}, entities=9)
    lists = {"q": {"a": 2, "x": 1}, "p": {"a": 3, "b": 2, "a b": 1}}
    with pytest.warns(UserWarning, match="no right answer is in any list"):
        findings = task.evaluate_lists(lists).audit()
    (finding,) = [finding for finding in findings if finding.name == "names"]
    assert "'a' for 'a ', 'a b' for 'a b '" in finding.message
    assert finding.count == 2


def test_other_writings_in_lists_of_facts_are_a_finding() -> None:
    entities = ["oslo", "os lo", "norway"]
    task = tr.link_prediction.Task(
        [("norway", "has", "oslo")], {}, entities=entities, sides=["tail"]
    )
    report = task.evaluate_lists(tail={("norway", "has"): ["norway", "os lo"]})
    assert "'os lo' for 'oslo'" in str(report.audit())
    report = task.evaluate_lists(tail={("norway", "has"): ["os lo", "oslo"]})  # Both are there.
    assert "'os lo'" not in str(report.audit())


@pytest.mark.parametrize(
    ("names", "answer"),
    [
        (["d10", "xd1"], "d1"),  # They end or begin alike.
        (["0", "10"], "00a"),
        ([], "d1"),
        (["d2"], "d1"),
        (["Doc"], "doc"),
    ],
)
def test_other_names_are_no_finding(names: list[str], answer: str) -> None:
    task = Task({"q": [answer], "p": ["d2"]}, entities=9)
    report = task.evaluate_lists({"q": names, "p": ["d2", "Doc1", "D1"]})  # of another query
    assert "names" not in names_of_findings(report)
    labels = Task({10: [1], 20: [7]}, entities=range(9))  # They are written in one way.
    assert "names" not in names_of_findings(labels.evaluate_lists({10: [7], 20: [1]}))
