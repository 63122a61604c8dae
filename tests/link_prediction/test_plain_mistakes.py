"""Mistakes that are plain are said: headers in files, an order that nobody gave, no filter."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.refusals import refusal
from truerank.link_prediction import Task, read_triples
from truerank.retrieval import Task as Retrieval

LINES = "a\tlikes\tc\nc\tlikes\ta\n"
TEST = [("a", "likes", "c"), ("c", "likes", "a")]
TRAIN = [("a", "likes", "b")]
SCORES = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])


def test_a_header_is_left_out_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "triples.txt.gz"
    path.write_bytes(gzip.compress(f"\ufeff h \tr\tt\n{LINES}".encode()))
    words = r"^triples: .*triples\.txt\.gz: expected header=True, .* or header=False"
    refusal(ValueError, words, read_triples, path)
    assert read_triples(path, header=True).ids.tolist() == [[0, 0, 1], [1, 0, 0]]
    task = Task(path, {"train": TRAIN}, header=True)
    (line,) = (finding.message for finding in task.audit if finding.name == "header")
    assert line.startswith("test: ")
    assert line.endswith(" a header: left out")
    path.write_bytes(gzip.compress(b"head\trelation\ttail\ttime\n0\t1\t2\t7\n"))
    found = read_triples(path, entities=3, relations=2, header=True)
    assert found.ids.tolist() == [[0, 1, 2, 7]]
    path.write_bytes(gzip.compress(b"head\trelation\ttail\n\n0\t1\t7\n"))
    words = "got '7' in column 2 of line 3"
    refusal(ValueError, words, read_triples, path, entities=3, relations=2, header=True)
    path.write_bytes(gzip.compress(b"head\trelation\ttail\n"))
    refusal(ValueError, r"^test: expected at least one triple", Task, path, header=True)


def evaluations(task: Task) -> dict[str, Any]:
    rows = iter(SCORES)
    return {
        "scores": lambda: task.evaluate_scores(SCORES),
        "callables": lambda: task.evaluate(lambda queries: np.stack([next(rows) for _ in queries])),
        "vectors": lambda: task.evaluate_embeddings(SCORES, entities=np.eye(3)),
    }


@pytest.mark.parametrize("way", ["scores", "callables", "vectors"])
def test_an_order_that_nobody_gave_is_said(way: str) -> None:
    message = r"^entities: columns .* ascending order of the labels, since no list gives"
    with pytest.warns(UserWarning, match=message) as caught:
        evaluations(Task(TEST, {"train": TRAIN}, sides=["tail"]))[way]()
    assert len(caught) == 1
    assert Path(caught[0].filename) == Path(__file__)

    given = Task(TEST, {"train": TRAIN}, sides=["tail"], entities=["c", "b", "a"])
    read = Task(TEST, {"train": TRAIN}, sides=["tail"])
    assert read.entities == ("a", "b", "c")  # who reads the order knows it
    ids = Task([(0, 0, 2), (2, 0, 0)], {"train": [(0, 0, 1)]}, sides=["tail"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for task in (given, read, ids):
            evaluations(task)[way]()


def test_relations_have_an_order_of_their_own() -> None:
    train = [("a", "likes", "b"), ("a", "knows", "b")]
    task = Task(TEST, {"train": train}, sides=["relation"])
    with pytest.warns(UserWarning, match="^relations: columns are taken in ascending order"):
        task.evaluate_scores(relation=SCORES[:, :2])


def test_frames_of_scores_in_another_order_are_refused() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    polars = pytest.importorskip("polars", reason="frames of polars")
    task = Task(TEST, {"train": TRAIN}, entities=["a", "b", "c"])
    frame = pandas.DataFrame(SCORES, columns=["a", "b", "c"])
    plain = task.evaluate_scores(SCORES, head=SCORES).ranks
    unnamed = polars.DataFrame(SCORES)  # column_0, column_1, ... say nothing
    assert task.evaluate_scores(frame, head=unnamed).ranks == plain
    moved = frame[["b", "c", "a"]]
    order = "expected columns in the order of task.entities, got 'b' at position 0, where 'a' bel"
    for wrong in (moved, polars.from_dict(moved.to_dict("list"))):
        refusal(ValueError, f"^head: {order}", task.evaluate_scores, frame, head=wrong)
    for wrong, words in (
        (frame.set_axis([5, 6, 7], axis=1), r".*\.to_numpy\(\)"),
        (frame.rename(columns={"c": "x"}), ".*'x' at position 2, where 'c' belongs"),
        (frame[["a", "b"]], r".* shape \(2, 3\)"),
    ):
        refusal(ValueError, f"^tail: {words}", task.evaluate_scores, wrong, head=frame)
    search = Retrieval({"q1": ["a"], "q2": ["c"]}, entities=["a", "b", "c"], queries=["q1", "q2"])
    assert search.evaluate_scores(frame)["mrr"] == search.evaluate_scores(SCORES)["mrr"]
    refusal(ValueError, f"^scores: {order}", search.evaluate_scores, moved)


# How rows of scores are given: by vectors of a similarity, or in memory or files of a dtype.
FORMS = [("dot", "float64"), ("cosine", "float32"), ("l1", "float16"), ("l2", "float32")]
FORMS += [("array", "float64"), ("array", "float16"), ("file", "float64"), ("shards", "float16")]


@pytest.mark.parametrize(("form", "dtype"), FORMS)
def test_queries_of_the_wrong_side_or_order_are_said(form: str, dtype: str, tmp_path: Path) -> None:
    """A model that rounds each row otherwise is no reason, which the audit alone counts."""
    rng = np.random.default_rng(0)
    test = np.unique(rng.integers(0, (20, 3, 20), (300, 3)), axis=0)
    task = Task(test, {}, entities=20)
    entities, relations = rng.normal(size=(20, 8)), rng.normal(size=(3, 8))
    by_vectors = form in ("dot", "cosine", "l1", "l2")

    def given(side: str, order: Any = slice(None)) -> Any:
        rows = entities[test[:, 0 if side == "tail" else 2]] * relations[test[:, 1]]
        rows = (rows if by_vectors else rows @ entities.T)[order]
        rows *= 1 + np.finfo(dtype).eps * 4 * rng.normal(size=rows.shape)
        rows = rows.astype(dtype)
        if form in ("file", "shards"):
            parts = np.array_split(rows, 1 if form == "file" else 3)
            paths = [tmp_path / f"{side}-{i}.npy" for i in range(len(parts))]
            for path, part in zip(paths, parts, strict=True):
                np.save(path, part)
            return paths
        return rows

    def evaluate(tail: Any, head: Any, audit: bool = False) -> tuple[Any, list[Any]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if by_vectors:
                vectors = {"tail": tail, "head": head, "entities": entities.astype(dtype)}
                report = task.evaluate_embeddings(**vectors, similarity=form, audit=audit)
            else:
                report = task.evaluate_scores(tail, head=head, audit=audit)
        assert {Path(each.filename) for each in caught} <= {Path(__file__)}
        return report, [str(each.message).partition(": in ") for each in caught]

    report, caught = evaluate(given("tail"), given("head"), audit=True)
    assert not caught
    assert not by_vectors or [each.name for each in report.audit("queries")] == ["queries"]
    order = rng.permutation(len(test))
    number = f"{len(test)} rows" if by_vectors else "100 rows that were compared"
    for tail, head, sides in (
        (given("head"), given("tail"), ["head", "tail"]),
        (given("tail"), given("head", order), ["head"]),
    ):
        _, caught = evaluate(tail, head)
        assert [side for side, _, _ in caught] == sides
        assert all(f" of {number} a query has" in text for _, _, text in caught)
