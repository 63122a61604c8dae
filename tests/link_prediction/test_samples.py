"""A sample of the test; whole facts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.cli_files import start
from support.refusals import refusal
from truerank.link_prediction import Task

# -- a sample of the test --------------------------------------------------------------------------


WHOLE = [(0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 1, 0)]
TRAIN = [(2, 0, 2), (3, 1, 0), (0, 0, 0)]
SCORES = np.array([[0, 0.5, 0.9, 0.8]])


def test_the_known_split_of_the_same_name_has_the_other_answers_of_a_sample() -> None:
    """Nobody is warned, and no fact of it is seen, a leak, or known for degrees."""
    known = {"train": TRAIN, "test": WHOLE}
    sample = Task(WHOLE[:1], known, entities=4)
    part = Task(WHOLE, {"train": TRAIN}, entities=4)[[0]]
    assert sample.tail.filter is not None
    assert (sample.tail.filter[1].tolist(), sample.protocol) == ([0, 1, 2, 3], part.protocol)
    for name, side in sample.sides.items():
        for label in ("category", "head_degree", "tail_degree", "degree", "queries", "targets"):
            expected = part.sides[name].labels[label].values.tolist()
            assert side.labels[label].values.tolist() == expected, label
    reports = [task.evaluate_scores(SCORES, head=SCORES) for task in (sample, part)]
    assert reports[0].to_dict() == reports[1].to_dict()
    assert reports[0]["tail.mrr"] == 1
    assert tr.compare(*reports, metric="mrr").estimate == 0
    findings = {finding.name: finding for finding in sample.audit}
    assert findings["test"].message == "1 triple, 1 ranked; known: test 4, train 3"
    assert (findings["leaks"].count, findings["unseen entities"].count) == (0, 1)
    alone = Task(WHOLE[:1], {"test": WHOLE}, entities=4, sides=["tail"])
    assert alone.evaluate_scores(SCORES)["mrr"] == 1


def test_the_whole_test_beside_itself_changes_nothing() -> None:
    known = {"train": TRAIN}
    tasks = [Task(WHOLE, known, entities=4), Task(WHOLE, known | {"test": WHOLE}, entities=4)]
    scores = np.random.default_rng(0).random((2, 4, 4))
    reports = [task.evaluate_scores(scores[0], head=scores[1]) for task in tasks]
    assert reports[0].to_dict() == reports[1].to_dict()


def test_a_sample_is_ranked_among_a_split_or_a_draw() -> None:
    """A known split that has the candidates does not say how the test is called."""
    known = {"train": [*TRAIN, (2, 1, 1)], "test": WHOLE}
    task = Task(WHOLE[:1], known, entities=9, sides=["tail"], candidates="train")
    assert task.tail.candidates.tolist() == [0, 1, 2, 3]
    sampled = tr.link_prediction.Sampled(9)
    drawn = Task(WHOLE[:1], known, entities=5, sides=["tail"], candidates=sampled)
    assert drawn.tail.candidates[1].tolist() == [1, 4]
    # The whole of the test, if it is there, is a known split like the others; without it none is.
    among_test = Task(WHOLE[:1], known, entities=9, sides=["tail"], candidates="test")
    assert among_test.tail.candidates.tolist() == [0, 1, 2, 3]
    assert among_test.protocol.candidates == "test"
    far = Task(WHOLE[:1], {"test": WHOLE[:2]}, entities=9, sides=["tail"], candidates="test")
    assert far.tail.candidates.tolist() == [0, 1, 2]
    report = far.evaluate_scores(np.arange(9.0).reshape(1, 9))
    assert report["mrr"] == 1  # Entity 2 is another right answer, and 3 to 8 are not in the test.
    assert [finding.name for finding in report.audit()][-1] == "test candidates"
    drawn_of_test = tr.link_prediction.Sampled(9, among="test")
    known = {"test": WHOLE}
    drawn = Task(WHOLE[:1], known, entities=9, sides=["tail"], candidates=drawn_of_test)
    assert drawn.tail.candidates[1].tolist() == [0, 1]  # 2 and 3 are right answers, too.
    words = "^candidates: .*train"
    known = {"train": TRAIN}
    refusal(ValueError, words, Task, WHOLE[:1], known, entities=9, candidates="test")


def test_all_true_triples_without_a_name_are_told_to_have_names() -> None:
    """No split of that name is ranked, and to drop leaks leaves nothing."""
    facts = [*TRAIN, (1, 1, 3), *WHOLE]
    words = r"^test: 4 \(0 0 1, 0 0 2, 0 0 3, ...\) of 4 triples are in a known split, too \(all "
    words += r"are in known_{}\); they are ranked like the others; known= names the other splits; "
    words += "split= names this one, and the whole of which it is a sample$"
    with pytest.warns(UserWarning, match=words.format(0)):
        unnamed = Task(WHOLE, np.array(facts), entities=4)
    with pytest.warns(UserWarning, match=words.format(1)):
        Task(WHOLE, [np.array(TRAIN), np.array(WHOLE)], entities=4)
    # What it says has the same numbers, under a protocol that names what was left out.
    named = Task(WHOLE, {"train": TRAIN, "valid": facts[3:4]}, entities=4)
    scores = np.random.default_rng(0).random((2, 4, 4))
    reports = [task.evaluate_scores(scores[0], head=scores[1]) for task in (unnamed, named)]
    assert reports[0].to_dict() == reports[1].to_dict()
    assert named.protocol.filter == ("train", "valid", "test")
    Task(WHOLE[:2], {"train": TRAIN, "valid": facts[3:4], "test": WHOLE}, entities=4)
    # Its sisters: pairs have no whole test among the known ones, and answers no way out by leaks=.
    words = r"known_0\); they are ranked like the others; known= names the other splits$"
    with pytest.warns(UserWarning, match=words):
        tr.alignment.Task([(0, 0)], left=2, right=2, known=[(0, 0), (1, 1)])
    with pytest.warns(UserWarning, match="q'.; they are ranked like the others$"):
        tr.retrieval.Task({"q": [1]}, entities=2, known={"q": [1, 0]})
    # Their twins: some alone leak, and may be left out.
    words = r"too \(3 are in known_0\); they .* the others; .*; leaks= says what becomes of these$"
    with pytest.warns(UserWarning, match=words):
        Task(WHOLE, np.array(facts[:-1]), entities=4)
    with pytest.warns(UserWarning, match=r"the others; leaks= says what becomes of these$"):
        tr.retrieval.Task({"q": [1, 0]}, entities=2, known={"q": [1]})


def test_true_leaks_are_warned_of_beside_a_whole_test() -> None:
    words = r"^test: 1 \(0 0 1\) of 1 triples are in a known split, too \(all are in valid\); they "
    words += "are ranked like the others; split= names this one, and the whole of which it is a s"
    with pytest.warns(UserWarning, match=words):
        Task(WHOLE[:1], {"valid": WHOLE[:2], "test": WHOLE})
    with pytest.warns(UserWarning, match=r"^test: 1 \(0 0 1\) of 4 triples are in a known"):
        Task(WHOLE, {"train": WHOLE[:1], "test": WHOLE})


def test_a_known_split_of_the_same_name_that_lacks_what_is_ranked_is_refused() -> None:
    """It may be another split that is evaluated: of that, its name says so."""
    words = "^split: expected the name of a known split that has all triples that are ranked, or "
    words += r"another name, got 'test', whose known triples lack 1 \(1 1 0\)$"
    refusal(ValueError, words, Task, WHOLE, {"test": WHOLE[:3]})
    Task(WHOLE, {"test": [(3, 1, 2)]}, split="valid")


def test_a_sample_of_pairs_or_of_answers_is_a_part_of_the_whole() -> None:
    """Where a known split cannot be the whole, it is refused."""
    words = r"^split: expected a name that no known split has, got 'test'$"
    pairs = [(0, 0), (0, 1), (1, 2)]
    scores = np.array([[0.8, 0.9, 0.7], [0.1, 0.2, 0.3]])
    graphs = {"left": 2, "right": 3}
    refusal(ValueError, words, tr.alignment.Task, pairs[:1], **graphs, known={"test": pairs})
    sample = tr.alignment.Task(pairs, **graphs)[[0]].evaluate_scores(scores)
    assert sample["left_to_right.mrr"] == 1  # The other counterpart is above, and left out.
    alone = tr.alignment.Task(pairs[:1], **graphs).evaluate_scores(scores)
    assert alone["left_to_right.mrr"] == 0.5
    assert sample.audit("missing rows") == []
    qrels = {"q": {"a": 1, "b": 1}, "r": {"c": 1}}
    lists = {"q": ["c", "b", "a"], "r": ["a", "b"]}
    options = {"entities": list("abc"), "known": {"test": qrels}}
    refusal(ValueError, words, tr.retrieval.Task, {"q": qrels["q"]}, **options)
    queries = tr.retrieval.Task(qrels, entities=list("abc"))[[0]]
    assert queries.evaluate_lists({"q": lists["q"]})["map"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert tr.alignment.Task(pairs, **graphs, known={"train": [(0, 2)]}).protocol.filter


def test_a_sample_at_the_terminal(tmp_path: Path) -> None:
    names = "abcd"
    for name, facts in {"train": TRAIN, "sample": WHOLE[:1], "test": WHOLE}.items():
        lines = [f"{names[h]}\tr{r}\t{names[t]}\n" for h, r, t in facts]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    np.save(tmp_path / "tails.npy", SCORES)
    line = ["link-prediction", "--sides", "tail", "--test", tmp_path / "sample.tsv"]
    line += ["--scores", f"tail={tmp_path / 'tails.npy'}", "--known", f"train={tmp_path}/train.tsv"]
    for name, words in (("test", ""), ("rest", "(all are in rest)")):
        result = start(*line, "--known", f"{name}={tmp_path}/test.tsv", "--json")
        assert json.loads(result.out)["metrics"]["mrr"] == 1
        assert words in result.err
        assert "Task(" not in result.err
        assert ("in a known split" in result.err) == (name == "rest")


# -- whole facts -----------------------------------------------------------------------------------


TIMED = [(0, 0, 1, 5), (0, 0, 1, 6), (2, 0, 1, 5)]


@pytest.mark.parametrize(("filter", "ranked"), [("fact", 3), ("query", 1), ("triple", 1)])
def test_a_fact_has_all_columns_where_the_filter_asks_for_facts(filter: str, ranked: int) -> None:
    """By the other words a further column that is no key is a confidence."""
    known = {"train": [(0, 0, 1, 7), (3, 0, 2, 5)]}
    rules: dict[str, Any] = {"keys": (), "filter": filter, "duplicates": "drop", "leaks": "drop"}
    assert len(Task(TIMED, known, **rules)) == ranked
    again = {"train": known["train"] + TIMED[1:2]}
    assert len(Task(TIMED[:2], again, **(rules | {"filter": "fact"}))) == 1
