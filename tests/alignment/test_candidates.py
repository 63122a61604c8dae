"""Candidate sets of alignment against their definition, and what a report says of "test"."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import truerank as tr
from strategies.alignments import Alignment, alignments
from support.refusals import refusal
from truerank.alignment import Task
from truerank.link_prediction import Sampled

pytestmark = pytest.mark.python_only

TEST = [(0, 0), (1, 2)]
TRAIN = [(2, 1), (3, 3)]


def task_of(what: Any, **how: Any) -> Task:
    return Task(TEST, **{"left": 6, "right": 5, "known": {"train": TRAIN}, **how}, candidates=what)


def listed(task: Task) -> list[list[int]]:
    assert task.candidates is not None
    return [ids.tolist() for ids in task.candidates]


@given(alignments())
def test_the_definition(drawn: Alignment) -> None:
    task = drawn.task()
    if drawn.candidates == "all":
        assert task.candidates is None
    else:
        assert listed(task) == list(drawn.among)
        assert task.left_to_right.candidates.tolist() == drawn.among[1]
        assert task.right_to_left.candidates.tolist() == drawn.among[0]
    name = drawn.candidates
    if not isinstance(name, str):
        left, right = (np.array(ids, "<i8") for ids in drawn.among)
        digest = blake2b(left.tobytes() + right.tobytes(), digest_size=4).hexdigest()
        name = f"selection of {len(left)} x {len(right)} ({digest})"
    assert task.protocol.candidates == name


ERRORS: list[tuple[type[Exception], str, Any, dict[str, Any]]] = [
    (ValueError, r"^candidates: expected one of all, test, unaligned, got 'tst'", "tst", {}),
    (TypeError, "^candidates: expected one of all, .*, got int", 100, {}),
    (TypeError, "^candidates: .*, got Sampled", Sampled(3), {}),
    (TypeError, "^candidates: .*, got tuple", ([0, 1],), {}),
    (TypeError, r"^candidates\[0\]: expected ids .*, got 0", [0, 1], {}),
    (TypeError, r"^candidates\[1\]: expected integers", ([0, 1], [0.0, 2.0]), {}),
    (ValueError, r"^candidates\[1\]: .* got 5 at position 2", ([0, 1], [0, 2, 5]), {}),
    (ValueError, r"^candidates\[0\]: .* left from 0 to 5, got 'a' at position 0", (["a"], [0]), {}),
    (ValueError, r"^candidates\[0\]: 1 of 2 left entities of the .* first 1", ([0, 4], [0, 2]), {}),
    (ValueError, r"^candidates\[1\]: 2 of 2 .* of the test are missing, first 0", ([0, 1], []), {}),
    (ValueError, '^candidates: "unaligned" leaves out what .* known', "unaligned", {"known": None}),
    (ValueError, "give known=$", "unaligned", {"known": {}}),
]


@pytest.mark.parametrize(("kind", "words", "what", "how"), ERRORS)
def test_errors(kind: type[Exception], words: str, what: Any, how: dict[str, Any]) -> None:
    refusal(kind, words, task_of, what, **how)


def test_errors_speak_of_labels() -> None:
    words = r"^candidates\[0\]: 1 of 1 left .*, first 'a'"
    named: dict[str, Any] = {"left": ["a", "b"], "right": ["x"]}
    refusal(ValueError, words, Task, [("a", "x")], candidates=(["b"], ["x"]), **named)
    task = Task([("a", "x")], candidates=(["b", "a"], ["x"]), **named)
    assert listed(task) == [[0, 1], [0]]
    # splits without pairs count as known splits
    assert listed(task_of("unaligned", known={"train": []})) == [[*range(6)], [*range(5)]]


# -- what is said of candidates of the test alone --------------------------------------------------

SAID = "the candidates are the entities of the test alone"


def report_of(what: str, seed: int = 0) -> tr.Report:
    scores = np.random.default_rng(seed).random((60, 60)) + np.eye(60) / 2
    task = Task(np.stack([np.arange(20)] * 2, 1), left=60, right=60, candidates=what)
    return task.evaluate_scores(scores, audit=True)


def test_reports_and_tables_say_it() -> None:
    report, other = report_of("test"), report_of("all")
    (finding,) = (finding for finding in report.audit() if finding.name == "test candidates")
    assert str(finding).startswith(f"test candidates: {SAID}: numbers do not compare across")
    assert "test candidates" not in [finding.name for finding in other.audit()]
    stored = tr.Report.from_json(report.to_json())
    line = f"T{finding.message[1:]}."
    for text in (report.to_markdown(), report.to_latex(notes=True), stored.to_markdown()):
        assert line in text
    assert SAID[1:] not in other.to_markdown()
    models = {"A": report, "B": report_of("test", 1)}
    assert tr.table(models, ["mr", "amri"]).notes == (f"{finding.message}.",)
    mixed = tr.table({"A": report, "B": other}, ["mr"], allow_unlike=True)
    assert any(note.startswith(f"A: {SAID}") for note in mixed.notes)
