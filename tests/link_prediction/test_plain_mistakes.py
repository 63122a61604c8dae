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


@pytest.mark.parametrize(
    ("header", "start"), [("head\trelation\ttail", ""), (" h \tr\tt", "\ufeff")]
)
def test_a_header_is_left_out_where_that_is_said(tmp_path: Path, header: str, start: str) -> None:
    path = tmp_path / "triples.txt.gz"
    path.write_bytes(gzip.compress(f"{start}{header}\n{LINES}".encode()))
    words = (
        r"triples\.txt\.gz: expected header=True, .* or header=False, got a first line that reads"
    )
    refusal(ValueError, f"^triples: .*{words}", read_triples, path)
    found = read_triples(path, header=True)
    assert found.entities == ("a", "c")
    assert found.ids.tolist() == [[0, 0, 1], [1, 0, 0]]
    task = Task(path, {"train": TRAIN}, header=True)
    (line,) = (finding.message for finding in task.audit if finding.name == "header")
    assert line.startswith("test: ")
    assert line.endswith(" a header: left out")
    assert len(read_triples(path, header=False).ids) == 3


def test_a_header_above_ids_and_further_columns(tmp_path: Path) -> None:
    path = tmp_path / "quads.txt"
    path.write_text("head\trelation\ttail\ttime\n0\t1\t2\t7\n")
    found = read_triples(path, entities=3, relations=2, header=True)
    assert found.ids.tolist() == [[0, 1, 2, 7]]
    path.write_text("head\trelation\ttail\n")
    refusal(ValueError, r"^test: expected at least one triple", Task, path, header=True)


@pytest.mark.parametrize(
    "line",
    ["s:1\tp:2\to:3", "head\trelation\tneck", "tail\trelation\ttail", "a\trelation\ttail"],
)
def test_what_may_be_a_triple_is_one(tmp_path: Path, line: str) -> None:
    """Names that miss a role, or have it twice, are none; only the first line is a header."""
    path = tmp_path / "triples.txt"
    path.write_text(f"{line}\n{LINES}")
    assert len(read_triples(path).ids) == 3
    path.write_text(f"{LINES}head\trelation\ttail\n")
    assert len(read_triples(path).ids) == 3


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
    numbers = frame.set_axis([5, 6, 7], axis=1)
    refusal(ValueError, r"^tail: .*\.to_numpy\(\)", task.evaluate_scores, numbers, head=SCORES)
    moved = frame[["b", "c", "a"]]
    order = "expected columns in the order of task.entities, got "
    where = "'b' at position 0, where 'a' belongs"
    for wrong in (moved, polars.from_dict(moved.to_dict("list"))):
        refusal(ValueError, f"^head: {order}{where}", task.evaluate_scores, frame, head=wrong)
    other = f"^tail: {order}'x' at position 2, where 'c' belongs; give frame.to_numpy"
    refusal(ValueError, other, task.evaluate_scores, frame.rename(columns={"c": "x"}), head=frame)
    refusal(
        ValueError, r"^tail: .* shape \(2, 3\)", task.evaluate_scores, frame[["a", "b"]], head=frame
    )
    search = Retrieval({"q1": ["a"], "q2": ["c"]}, entities=["a", "b", "c"], queries=["q1", "q2"])
    assert search.evaluate_scores(frame)["mrr"] == search.evaluate_scores(SCORES)["mrr"]
    refusal(ValueError, f"^scores: {order}{where}", search.evaluate_scores, moved)


def model_of(rng: np.random.Generator) -> tuple[Task, dict[str, Any]]:
    """Return a task whose queries come several times, and a model of it: a product of three."""
    test = np.unique(rng.integers(0, (20, 3, 20), (300, 3)), axis=0)
    entities, relations = rng.normal(size=(20, 8)), rng.normal(size=(3, 8))
    vectors = {
        "tail": entities[test[:, 0]] * relations[test[:, 1]],
        "head": entities[test[:, 2]] * relations[test[:, 1]],
        "entities": entities,
    }
    return Task(test, {}, entities=20), vectors


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("similarity", ["dot", "cosine", "l1", "l2"])
def test_queries_of_the_wrong_side_or_order_are_said(dtype: str, similarity: str) -> None:
    """A model that rounds each row otherwise is no reason, which the audit alone counts."""
    rng = np.random.default_rng(0)
    task, vectors = model_of(rng)
    noise = np.finfo(dtype).eps * 4
    for side in ("tail", "head"):
        vectors[side] *= 1 + noise * rng.normal(size=vectors[side].shape)
    vectors = {name: each.astype(dtype) for name, each in vectors.items()}
    options: dict[str, Any] = {"similarity": similarity, "entities": vectors["entities"]}
    tail, head = vectors["tail"], vectors["head"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = task.evaluate_embeddings(tail, head=head, audit=True, **options)
    assert [finding.name for finding in found.audit("queries")] == ["queries"]
    order = rng.permutation(len(tail))
    for rows_of_tail, rows_of_head, sides in (
        (head, tail, ["head", "tail"]),
        (tail, head[order], ["head"]),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            task.evaluate_embeddings(rows_of_tail, head=rows_of_head, **options)
        said = [str(each.message).partition(": in ") for each in caught]
        assert [side for side, _, _ in said] == sides
        assert all(f" of {len(tail)} rows a query has other scores" in text for _, _, text in said)
        assert {Path(each.filename) for each in caught} == {Path(__file__)}


@pytest.mark.parametrize("form", ["array", "file", "shards"])
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_matrices_of_the_wrong_side_or_order_are_said(
    form: str, dtype: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    task, vectors = model_of(rng)
    entities = vectors["entities"]
    noise = np.finfo(dtype).eps * 4

    def given(side: str, order: Any = slice(None)) -> Any:
        scores = (vectors[side] @ entities.T)[order]
        scores *= 1 + noise * rng.normal(size=scores.shape)
        scores = scores.astype(dtype)
        if form == "array":
            return scores
        parts = np.array_split(scores, 1 if form == "file" else 3)
        paths = [tmp_path / f"{side}-{i}.npy" for i in range(len(parts))]
        for path, part in zip(paths, parts, strict=True):
            np.save(path, part)
        return paths if form == "shards" else paths[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task.evaluate_scores(given("tail"), head=given("head"), audit=True)
    order = rng.permutation(len(vectors["head"]))
    for of_tail, of_head, sides in (
        (given("head"), given("tail"), ["head", "tail"]),
        (given("tail"), given("head", order), ["head"]),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            task.evaluate_scores(of_tail, head=of_head)
        said = [str(each.message).partition(": in ") for each in caught]
        assert [side for side, _, _ in said] == sides
        assert all(" of 100 rows that were compared a query has" in text for _, _, text in said)
        assert {Path(each.filename) for each in caught} == {Path(__file__)}
