"""Test the prediction of times of facts against a plain loop over all times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Negatives, Sampled, Task

DATES = ["2014-01-03", "2014-01-10", "2014-02-01", "2015", "2016-07-##"]


@st.composite
def facts(draw: st.DrawFn, times: list[Any]) -> list[tuple[Any, ...]]:
    names = st.sampled_from(["a", "b", "c"])
    relations = st.sampled_from(["met", "left"])
    return draw(st.lists(st.tuples(names, relations, names, st.sampled_from(times)), min_size=1))


def plain_ranks(test: Any, train: Any, times: list[Any], scores: Any) -> list[tuple[int, int, int]]:
    """Count for each fact the times above and tied that do not hold for its triple, and all."""
    found = []
    for (*triple, time), row in zip(test, scores, strict=True):
        true = times.index(time)
        held = {fact[3] for fact in test + train if list(fact[:3]) == triple}
        left = [row[i] for i, other in enumerate(times) if other not in held]
        above = sum(score > row[true] for score in left)
        tied = sum(score == row[true] for score in left) + 1
        found.append((above, tied, len(left) + 1))
    return found


@given(st.data(), st.sampled_from(["dates", "integers"]))
@pytest.mark.filterwarnings("ignore:test. .* triples ")
def test_times_are_ranked_among_all_times(data: st.DataObject, kind: str) -> None:
    values: list[Any] = DATES
    if kind == "integers":
        values = [24, 0, -7, 48, 1000]
    test = data.draw(facts(values), "test")
    train = data.draw(facts(values), "train")
    order = sorted({fact[3] for fact in test + train}, key=lambda time: str(time).replace("#", "0"))
    if kind == "integers":
        order = sorted({fact[3] for fact in test + train})
    entities, relations = ["a", "b", "c"], ["met", "left"]
    if kind == "integers":  # of integers beside labels
        test_in, train_in = (
            [(entities.index(h), relations.index(r), entities.index(t), at) for h, r, t, at in part]
            for part in (test, train)
        )
        names: dict[str, Any] = {"entities": 3, "relations": 2}
    else:
        test_in, train_in = test, train
        names = {"entities": entities, "relations": relations}
    task = Task(test_in, {"train": train_in}, time=3, sides=["time"], **names)
    assert list(task.time.names or ()) == order
    assert task.time.queries.shape[1] == 3
    rng = np.random.default_rng(len(test))
    scores = rng.integers(0, 4, (len(test), len(order))).astype(float)
    ranks = task.evaluate_scores(time=scores).ranks
    expected = plain_ranks(test, train, order, scores.tolist())
    assert list(zip(ranks.above, ranks.tied, ranks.candidates, strict=True)) == expected
    lists = np.argsort(-scores, axis=1, kind="stable")
    whole = task.evaluate_lists(time=tr.TopK(lists, np.take_along_axis(scores, lists, axis=1)))
    assert whole.ranks.above.tolist() == ranks.above.tolist()


TEST = [("a", "met", "b", "2014-01-10"), ("b", "left", "c", "2015")]
TRAIN = [
    ("a", "met", "b", "2014-01-03"),
    ("a", "met", "c", "2014-02-01"),
    ("b", "left", "c", "2015"),
]


def test_times_are_not_pooled_with_entities(tmp_path: Path) -> None:
    (tmp_path / "test.txt").write_text("\n".join(map("\t".join, TEST)) + "\n")
    options: dict[str, Any] = {"known": {"train": TRAIN[:2]}, "time": 3, "sides": ["time", "tail"]}
    task = Task(tmp_path / "test.txt", **options, entities=["a", "b", "c"])
    assert list(task.sides) == ["tail", "time"]
    assert task.time.names == ("2014-01-03", "2014-01-10", "2014-02-01", "2015")

    def by_time(queries: np.ndarray) -> np.ndarray:
        assert queries.shape[1] == 3
        return np.tile([4.0, 3.0, 2.0, 1.0], (len(queries), 1))

    report = task.evaluate(tail=lambda queries: np.zeros((len(queries), 3)), time=by_time)
    assert (report["time.mr"], report["time.hits@1"]) == (2.5, 0.5)  # 2014-01-03 is known of a
    assert report["mr"] == report["tail.mr"]
    assert report["time.mrr"] != report["mrr"]
    assert "time" in report.to_text()
    assert report.ranks.labels["time"].values.tolist()[2:] == ["2014-01-10", "2015"]
    vectors = np.eye(4, dtype=np.float32)
    alone = Task(TEST, **(options | {"sides": ["time"]}), entities=["a", "b", "c"])
    found = alone.evaluate_embeddings(time=vectors[[1, 3]], times=vectors)
    assert found["time.hits@1"] == 1
    message = "all tasks are of the side 'time', which is read only under its own name"
    refusal(KeyError, message, found.__getitem__, "mrr")
    part = alone[1::2].evaluate_embeddings(time=vectors[[3]], times=vectors)
    assert len(part.ranks) == 1
    compared = tr.compare(found, alone.evaluate_scores(time=np.zeros((2, 4))), metric="time.mrr")
    assert compared.wins == 2


@pytest.mark.filterwarnings("ignore:test. .* triples ")
def test_filters_of_times() -> None:
    test = [("a", "met", "b", "2014-01-10", "x")]
    known = [("a", "met", "b", "2014-01-03", "x"), ("a", "met", "b", "2014-02-01", "y")]
    filters = ["fact", "triple", "none"]
    task = Task(test, {"train": known}, time=3, sides=["time"], keys=[3, 4], filters=filters)
    report = task.evaluate_scores(time=[[3.0, 1.0, 2.0]])
    assert [report.filters[name]["time.mr"] for name in filters] == [2, 1, 3]
    assert task.time.queries.shape[1] == 4
    by_triple = Task(test, {"train": known}, time=3, sides=["time"], keys=())
    assert by_triple.evaluate_scores(time=[[3.0, 1.0, 2.0]])["time.mr"] == 1


def test_candidates_of_times() -> None:
    options: dict[str, Any] = {"known": {"train": TRAIN[:2]}, "time": 3, "sides": ["time"]}
    scores = [[4.0, 3.0, 2.0, 1.0]] * 2
    chosen = Task(TEST, **options, candidates=["2014-01-10", "2015"])
    assert chosen.evaluate_scores(time=scores)["time.mr"] == 1.5
    by_side = Task(TEST, **options, candidates={"time": ["2014-01-10", "2015"]})
    assert by_side.evaluate_scores(time=scores)["time.mr"] == 1.5
    typed = Task(TEST, **options, candidates="typed")  # "left" has one time alone
    assert typed.evaluate_scores(time=scores).ranks.candidates.tolist() == [2, 1]
    drawn = Task(TEST, **options, candidates=Sampled(1, seed=0))
    assert drawn.evaluate_scores(time=scores).ranks.candidates.tolist() == [2, 2]
    refusal(ValueError, "candidates: .*2020", Task, TEST, **options, candidates=["2020"])
    message = "times are no candidates by relation"
    refusal(ValueError, message, Task, TEST, **options, candidates={"met": ["2015"]})
    given_negatives = Negatives(tail=[[0], [1]])
    refusal(ValueError, "Negatives of time", Task, TEST, **options, candidates=given_negatives)
    both = options | {"sides": ["tail", "time"]}
    message = "a list is of entities, of relations or of times"
    refusal(ValueError, message, Task, TEST, **both, candidates=["2015"])


def test_sides_that_need_times() -> None:
    message = "sides: expected time=, the one column of points .* got none"
    refusal(ValueError, message, Task, TEST, {"train": TRAIN}, sides=["time"], keys=[3])
    both = [(*fact, "2017") for fact in TEST]
    message = "sides: expected time=, the one column of points .* got starts and ends"
    refusal(ValueError, message, Task, both, {}, sides=["time"], time=(3, 4))
    unknown = [("a", "met", "b", "####")]
    message = "sides: .* fact 0 of the test has an unknown time"
    refusal(ValueError, message, Task, unknown, {"train": TRAIN}, sides=["time"], time=3)
