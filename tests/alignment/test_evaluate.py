"""Both directions of an alignment, by matrices, files, vectors and callables, against the twin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from oracles import alignment as oracle
from oracles import embeddings
from oracles.alignment import Array
from oracles.counting import Counts, Refused
from strategies.alignments import NAN_RULES, Alignment, alignments, matrices, vectors
from support.error_kinds import is_of_kind
from support.problems import LAYOUTS, assert_same
from truerank.alignment import Task, csls_means, evaluate, infer
from truerank.alignment import both_directions as by_matrices
from truerank.alignment import local_scaling as nearest
from truerank.comparison.pairing import describe_pairing

KEPT = [name for name in LAYOUTS if not name.endswith("for all")]


def outcome(counted: Callable[[], Any]) -> Any:
    """What a call gives, or the error that refuses it."""
    try:
        return counted()
    except ValueError as error:
        return error


def check_nan(error: ValueError, table: Array, drawn: Alignment) -> None:
    """A refusal must name a score that is NaN, and is one of two candidates."""
    place = re.search(r"\brow (\d+), column (\d+)\b", str(error))
    assert place is not None, error
    row, column = map(int, place.groups())
    assert np.isnan(table[row, column]), error
    assert row in drawn.among[0], error
    assert column in drawn.among[1], error


def expected_of(drawn: Alignment, scores: Array, k: int | None, **rules: Any) -> Any:
    """Counts of the twin, or its refusal; and the matrix that was counted."""
    table = scores
    try:
        if k is not None:
            table = oracle.scaled(scores, k, drawn.among, rules["nan"])
        return oracle.counts(table, drawn.sides, **rules), table
    except Refused as refused:
        return refused, table


def check(drawn: Alignment, got: Any, scores: Array, k: int | None, **rules: Any) -> None:
    audit = rules.pop("audit")
    expected, table = expected_of(drawn, scores, k, **rules)
    if isinstance(expected, Refused):
        assert isinstance(got, ValueError), f"should have refused: {expected}"
        check_nan(got, table, drawn)
        return
    assert isinstance(got, tr.Report), f"refused without need: {got!r}"
    assert isinstance(expected, Counts)
    assert_same(got.ranks, expected, audit=audit)


@given(st.data())
def test_matrices(data: st.DataObject) -> None:
    """In memory in any layout, by tiles of any size."""
    drawn = data.draw(alignments())
    scores = data.draw(matrices(drawn.sizes))
    k = data.draw(st.one_of(st.none(), st.integers(1, 9)))
    orders = ["descending", "ascending"] if k is None else ["descending"]
    rules = {
        "order": data.draw(st.sampled_from(orders)),
        "nan": data.draw(st.sampled_from(NAN_RULES)),
        "audit": data.draw(st.booleans()),
    }
    shaped = LAYOUTS[data.draw(st.sampled_from(KEPT))](scores)
    threads = data.draw(st.sampled_from([1, 2]))
    most = data.draw(st.sampled_from([1, 8, 40, 1 << 20]))
    with pytest.MonkeyPatch.context() as patch:
        for module, name in TILES:
            patch.setattr(module, name, most)
        got = outcome(
            lambda: drawn.task().evaluate_scores(shaped, csls=k, threads=threads, **rules)
        )
    check(drawn, got, scores, k, **rules)


TILES = [
    (by_matrices, "TILE_BYTES"),
    (by_matrices, "DECODED_TILE_BYTES"),
    (by_matrices, "SCALED_TILE_BYTES"),
    (nearest, "TILE_BYTES"),
]


# -- files -----------------------------------------------------------------------------------------


class Chunks:
    """The least that an array in chunks is; it counts how often each chunk is decoded."""

    def __init__(self, array: Array, chunks: tuple[int, int]) -> None:
        self.array, self.chunks = array, chunks
        self.shape, self.dtype = array.shape, array.dtype
        self.decoded: Counter[tuple[int, int]] = Counter()

    def __getitem__(self, key: tuple[slice, slice]) -> Array:
        (tall, wide), (down, across) = self.chunks, key
        for top in range(down.start // tall, -(-down.stop // tall)):
            for left in range(across.start // wide, -(-across.stop // wide)):
                self.decoded[top, left] += 1
        return self.array[key]


def in_parts(folder: Path, scores: Array, axis: int) -> Any:
    """Two files that follow each other, by rows or by columns."""
    for number, part in enumerate(np.array_split(scores, 2, axis=axis)):
        np.save(folder / f"part-{axis}-{number}.npy", part)
    return tr.open_scores(str(folder / f"part-{axis}-*.npy"), axis=axis)


def saved(folder: Path, scores: Array, order: Any) -> Path:
    path = folder / f"scores-{order}.npy"
    np.save(path, np.array(scores, order=order))
    return path


STORES: dict[str, Callable[[Path, Array], Any]] = {
    "rows": lambda folder, scores: saved(folder, scores, "C"),
    "columns": lambda folder, scores: str(saved(folder, scores, "F")),
    "map": lambda folder, scores: np.load(saved(folder, scores, "C"), mmap_mode="r"),
    "shards by rows": lambda folder, scores: in_parts(folder, scores, 0),
    "shards by columns": lambda folder, scores: in_parts(folder, scores, 1),
    "chunks": lambda folder, scores: Chunks(scores, (2, 3)),
    "chunks of rows": lambda folder, scores: Chunks(scores, (2, 99)),
}


@pytest.mark.parametrize("io", ["map", "read"])
@pytest.mark.parametrize("name", STORES)
@given(st.data())
@settings(max_examples=15)
def test_files(
    name: str, io: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """As in memory, whatever they are cut into and however they are read."""
    folder = tmp_path_factory.getbasetemp()
    drawn = data.draw(alignments(least=2))
    scores = data.draw(matrices(drawn.sizes))
    k = data.draw(st.sampled_from([None, 1, 3]))
    rules = {
        "order": "descending",
        "nan": data.draw(st.sampled_from(NAN_RULES)),
        "audit": data.draw(st.booleans()),
    }
    most = data.draw(st.sampled_from([1, 8, 40, 1 << 20]))
    stored = STORES[name](folder, scores)
    with pytest.MonkeyPatch.context() as patch:
        for module, attribute in TILES:
            patch.setattr(module, attribute, most)
        got = outcome(lambda: drawn.task().evaluate_scores(stored, csls=k, io=io, **rules))
    check(drawn, got, scores, k, **rules)
    if isinstance(stored, Path) and isinstance(got, tr.Report):
        assert got.protocol.files == (str(stored),)


@pytest.mark.parametrize(("k", "times"), [(None, 1), (2, 2)])
def test_what_is_stored_is_read_once(
    k: int | None, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once more for the means of CSLS; single chunks for the scores of the pairs."""
    for module, name in TILES:
        monkeypatch.setattr(module, name, 400)
    scores = np.random.default_rng(0).random((40, 30)).astype(np.float32)
    source = Chunks(scores, (10, 99))
    task = Task([(0, 0), (1, 7), (9, 3)], left=40, right=30)
    task.evaluate_scores(source, csls=k)
    assert source.decoded == {(0, 0): times + 1, (1, 0): times, (2, 0): times, (3, 0): times}
    grid = Chunks(scores, (10, 10))
    task.evaluate_scores(grid, csls=k)
    assert grid.decoded[0, 0] == times + 2  # of both directions, where no rows are whole
    assert grid.decoded[3, 2] == times


@pytest.mark.parametrize(("k", "times"), [(None, 1), (3, 2)])
def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, k: Any, times: int) -> None:
    for module, name in TILES:
        monkeypatch.setattr(module, name, 4000)
    scores = np.random.default_rng(0).random((50, 100)).astype(np.float32)
    path = saved(tmp_path, scores, "C")
    task = Task([(i, i) for i in range(50)], left=50, right=100)
    for given_scores in (path, scores):
        told: list[tr.Progress] = []
        task.evaluate_scores(given_scores, csls=k, progress=told.append)
        assert [one.done for one in told] == [4000 * i for i in range(5 * times + 1)]
        assert {one.total for one in told} == {20_000 * times}
    with pytest.raises(TypeError, match=r"^progress: expected a callable, got int"):
        task.evaluate_scores(path, progress=3)


@pytest.mark.parametrize("k", [None, 10])
def test_memory_does_not_grow_with_the_matrix(tmp_path: Path, k: int | None) -> None:
    """36 MB in a file; what CSLS makes of a block is a few MB."""
    import tracemalloc

    path = tmp_path / "scores.npy"
    table = np.lib.format.open_memmap(path, "w+", np.float32, (3000, 3000))
    table[:] = np.random.default_rng(0).random(3000, np.float32)
    table[np.arange(3000), np.arange(3000)] += 0.5
    table.flush()
    del table
    task = Task(np.arange(6000).reshape(2, 3000).T % 3000, left=3000, right=3000)
    with pytest.MonkeyPatch.context() as patch:
        for module, name in TILES:
            patch.setattr(module, name, 1 << 20)
        tracemalloc.start()
        try:
            report = task.evaluate_scores(path, csls=k)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 12e6
    assert report["mr"] < 300


def test_a_file_that_shrinks_is_an_error(tmp_path: Path) -> None:
    path = saved(tmp_path, np.zeros((50, 100), np.float32), "C")
    task = Task([(0, 0)], left=50, right=100)

    def cut(progress: tr.Progress) -> None:
        import os

        if not progress.done:
            os.truncate(path, 1000)

    for k in (None, 3):
        saved(tmp_path, np.zeros((50, 100), np.float32), "C")
        with pytest.raises(ValueError, match=r"scores-C\.npy"):
            task.evaluate_scores(path, csls=k, progress=cut)


# -- vectors ---------------------------------------------------------------------------------------


@given(st.data())
def test_vectors(data: st.DataObject) -> None:
    """As the dense matrix of the same similarity, with and without CSLS."""
    drawn = data.draw(alignments())
    left, right = data.draw(vectors(drawn.sizes))
    if data.draw(st.integers(0, 4)) == 0:
        odd = data.draw(st.sampled_from([np.nan, np.inf]))
        (left if data.draw(st.booleans()) else right)[0, 0] = odd
    similarity = data.draw(st.sampled_from(embeddings.EXACT))
    k = data.draw(st.one_of(st.none(), st.integers(1, 9)))
    nan = data.draw(st.sampled_from(NAN_RULES))
    audit = data.draw(st.booleans())
    scores = embeddings.score(left, right, similarity)
    got = outcome(
        lambda: drawn.task().evaluate_embeddings(
            *(left, right),
            similarity=similarity,
            csls=k,
            nan=nan,
            audit=audit,
            block=data.draw(st.sampled_from([None, 1, 3])),
            threads=data.draw(st.sampled_from([1, 2])),
        )
    )
    expected, _ = expected_of(drawn, scores, k, nan=nan)
    if isinstance(expected, Refused):
        assert isinstance(got, ValueError), f"should have refused: {expected}"
        assert "is NaN" in str(got)
        return
    assert isinstance(got, tr.Report), f"refused without need: {got!r}"
    assert_same(got.ranks, expected, audit=audit)
    # and the same matrix in place of the vectors gives the same bits
    again = drawn.task().evaluate_scores(scores, csls=k, nan=nan, audit=audit)
    assert_same(again.ranks, expected, audit=audit)


LEFT = np.array([[1, 0], [0, 1], [1, 1], [-1, 2]], np.float32)
RIGHT = np.array([[0, 1], [1, 1], [1, 0], [2, -1], [1, 2]], np.float32)
PAIRS = [(0, 2), (1, 0), (2, 1)]
KNOWN = {"train": [(3, 4), (0, 3)]}
SIMILARITIES = tr.score_embeddings(LEFT, RIGHT, similarity="cosine")


def task_of(**how: Any) -> Task:
    return Task(PAIRS, left=4, right=5, known=KNOWN, **how)


def same(a: tr.Report, b: tr.Report) -> bool:
    mine, other = a.ranks, b.ranks
    return all(
        np.array_equal(getattr(mine, name), getattr(other, name))
        for name in ("above", "tied", "candidates")
    )


@pytest.mark.parametrize("k", [None, 2])
def test_vectors_may_lie_in_files(tmp_path: Path, k: int | None) -> None:
    paths = tmp_path / "left.npy", tmp_path / "right.npy"
    for path, array in zip(paths, (LEFT, RIGHT), strict=True):
        np.save(path, array)
    expected = task_of().evaluate_embeddings(LEFT, RIGHT, csls=k)
    found = task_of().evaluate_embeddings(*paths, csls=k)
    assert same(found, expected)
    assert sorted(found.protocol.files) == sorted(map(str, paths))
    maps = [np.load(path, mmap_mode="r") for path in paths]
    assert same(task_of().evaluate_embeddings(*maps, csls=k), expected)
    assert same(evaluate(*paths, PAIRS, known=KNOWN, csls=k), expected)
    assert same(task_of().evaluate_embeddings(LEFT.tolist(), RIGHT.tolist(), csls=k), expected)


# -- means that were made before, callables, one call ----------------------------------------------


@pytest.mark.parametrize("what", ["all", "test", "unaligned", ([0, 1, 2], [0, 1, 2, 4])])
def test_means_made_before(what: Any) -> None:
    """Those of the candidates of the protocol are what a number of neighbours stands for."""
    task = task_of(candidates=what)
    expected = task.evaluate_embeddings(LEFT, RIGHT, csls=2)
    means = csls_means(LEFT, RIGHT, 2, candidates=task.candidates)
    assert same(task.evaluate_embeddings(LEFT, RIGHT, csls=means), expected)
    for order in "CF":
        stored = np.array(SIMILARITIES, order=order)
        assert same(task.evaluate_scores(stored, csls=means), expected)
        assert same(task.evaluate_scores(stored, csls=np.int64(2)), expected)
    assert expected.protocol.similarity == "cosine, csls 2"


def test_means_of_a_wider_dtype_are_rounded() -> None:
    task = task_of()
    fine = csls_means(LEFT.astype(np.float64), RIGHT.astype(np.float64), 3)
    rounded = fine._replace(
        queries=fine.queries.astype(np.float32), entities=fine.entities.astype(np.float32)
    )
    table = oracle.by_means(SIMILARITIES, rounded.queries, rounded.entities)
    expected = task.evaluate_scores(table)
    for means in (fine, rounded):
        assert same(task.evaluate_scores(SIMILARITIES, csls=means), expected)


def test_bfloat16_is_widened() -> None:
    bits = (SIMILARITIES.view(np.uint32) >> 16).astype(np.uint16)
    wide = (bits.astype(np.uint32) << 16).view(np.float32)
    for k in (None, 2):
        expected = task_of().evaluate_scores(wide, csls=k)
        found = task_of().evaluate_scores(bits, dtype="bfloat16", csls=k)
        assert same(found, expected)
    assert found.protocol.dtype == "float32"


@pytest.mark.parametrize("batch_size", [None, 1, 2])
def test_callables(batch_size: int | None) -> None:
    shapes = []

    def forward(queries: Array) -> Array:
        shapes.append(queries.shape)
        return SIMILARITIES[queries[:, 0]]

    def backward(queries: Array) -> Array:
        assert queries.dtype == np.int64
        return SIMILARITIES.T[queries[:, 0]]

    task = task_of(candidates="unaligned")
    found = task.evaluate(left_to_right=forward, right_to_left=backward, batch_size=batch_size)
    assert same(found, task.evaluate_scores(SIMILARITIES))
    assert sum(shape[0] for shape in shapes) == 3
    assert {shape[1] for shape in shapes} == {1}
    with pytest.raises(TypeError, match=r"^right_to_left: expected a callable for the side"):
        task.evaluate(left_to_right=forward)


@pytest.mark.parametrize("how", [{}, {"candidates": "unaligned"}, {"csls": 2}, {"audit": True}])
def test_one_call(how: dict[str, Any]) -> None:
    made = {name: value for name, value in how.items() if name == "candidates"}
    rest = {name: value for name, value in how.items() if name != "candidates"}
    task = task_of(**made)
    expected = task.evaluate_embeddings(LEFT, RIGHT, **rest)
    found = evaluate(LEFT, RIGHT, PAIRS, known=KNOWN, **how)
    assert found == expected
    assert found.protocol == expected.protocol
    of_scores = evaluate(SIMILARITIES, None, PAIRS, known=KNOWN, **how)
    assert of_scores == task.evaluate_scores(SIMILARITIES, **rest)
    assert same(of_scores, expected)
    turned = evaluate(-SIMILARITIES, None, PAIRS, known=KNOWN, order="ascending", **made)
    assert same(turned, task.evaluate_scores(SIMILARITIES))


def test_one_call_of_a_file(tmp_path: Path) -> None:
    path = saved(tmp_path, SIMILARITIES, "C")
    told: list[tr.Progress] = []
    found = evaluate(path, None, PAIRS, known=KNOWN, io="read", progress=told.append)
    assert same(found, task_of().evaluate_scores(SIMILARITIES))
    assert told[-1].done == told[-1].total == SIMILARITIES.nbytes
    assert found.protocol.files == (str(path),)
    assert same(evaluate(SIMILARITIES.tolist(), None, PAIRS, known=KNOWN), found)


def test_warnings_of_one_call_name_its_caller() -> None:
    with pytest.warns(UserWarning, match=r"^test: 1 \(0 2\) pairs repeat an earlier one") as caught:
        evaluate(LEFT, RIGHT, [*PAIRS, PAIRS[0]])
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match=r"^test: 1 \(0 2\) pairs are in a known split, too$"):
        evaluate(LEFT, RIGHT, PAIRS, known=PAIRS[:1], leaks="raise")


# -- what a report says ----------------------------------------------------------------------------


def test_the_report() -> None:
    report = task_of().evaluate_embeddings(LEFT, RIGHT, similarity="l1")
    assert report.sides == ("both", "left_to_right", "right_to_left")
    assert report.tasks("left_to_right") == report.tasks("right_to_left") == 3
    ranks = report.ranks
    assert ranks.protocol.similarity == "l1"
    assert ranks.protocol.filter == ("train", "test")
    assert ranks.protocol.candidates == "all"
    assert ranks.protocol.split == "test"
    assert ranks.queries.values.tolist() == [0, 1, 2, 2, 0, 1]
    assert ranks.targets.values.tolist() == [2, 0, 1, 0, 1, 2]
    assert set(report.to_dict()) == set(report)
    assert "left_to_right.mrr" in report
    assert report["both.mr"] == (report["left_to_right.mr"] + report["right_to_left.mr"]) / 2
    of_matrix = task_of().evaluate_scores(SIMILARITIES)
    assert of_matrix.protocol.similarity is None
    assert task_of().evaluate_scores(SIMILARITIES, csls=3).protocol.similarity == "csls 3"
    assert describe_pairing(ranks, of_matrix.ranks) == "query and target ids"


def test_labels_are_names_where_both_graphs_have_them() -> None:
    left, right = ["a", "b", "c", "d"], {"v": 0, "w": 1, "x": 2, "y": 3, "z": 4}
    pairs = [("a", "x"), ("b", "v"), ("c", "w")]
    task = Task(pairs, left=left, right=right)
    ranks = task.evaluate_scores(SIMILARITIES).ranks
    assert ranks.queries.values.tolist() == ["a", "b", "c", "x", "v", "w"]
    assert ranks.targets.values.tolist() == ["x", "v", "w", "a", "b", "c"]
    half = Task([("a", 2), ("b", 0), ("c", 1)], left=left, right=5)
    assert half.evaluate_scores(SIMILARITIES).ranks.queries.values.tolist() == [0, 1, 2, 2, 0, 1]


# -- errors ----------------------------------------------------------------------------------------

NARROW = LEFT[:, :1]
CSLS = csls_means(LEFT, RIGHT, 2)
OF_VECTORS: dict[str, tuple[type[Exception], str, Any, Any, dict[str, Any]]] = {
    "too few left": (
        ValueError,
        r"^left: expected vectors of shape \(4, d\), a row for each entity of the left graph, got",
        *(LEFT[:3], RIGHT, {}),
    ),
    "too many right": (
        ValueError,
        r"^right: expected vectors of shape \(5, d\), a row for each entity of the right graph",
        *(LEFT, np.ones((6, 2)), {}),
    ),
    "one vector": (ValueError, r"^left: expected vectors of shape", LEFT[0], RIGHT, {}),
    "a flat right": (ValueError, "^right: expected", LEFT, RIGHT[0], {}),
    "integers": (TypeError, "^left: expected one of float16", LEFT.astype(int), RIGHT, {}),
    "lengths": (ValueError, "^right: expected vectors of length 1", NARROW, RIGHT, {}),
    "similarity": (ValueError, "^similarity: ", LEFT, RIGHT, {"similarity": "l3"}),
    "nan": (ValueError, "^nan: expected one of raise", LEFT, RIGHT, {"nan": "drop", "csls": 2}),
    "no neighbours": (ValueError, "^csls: expected at least 1 ne", LEFT, RIGHT, {"csls": 0}),
    "a bool": (TypeError, "^csls: expected a number of neighbours", LEFT, RIGHT, {"csls": True}),
    "a float": (TypeError, "^csls: .*, got float", LEFT, RIGHT, {"csls": 10.0}),
    "a tuple": (TypeError, "^csls: .*, got tuple", LEFT, RIGHT, {"csls": tuple(CSLS)}),
    "means of others": (
        ValueError,
        "^csls: expected 4 means",
        *(LEFT, RIGHT, {"csls": CSLS._replace(queries=CSLS.queries[1:])}),
    ),
    "missing": (TypeError, "^right: ", LEFT, None, {}),
}


@pytest.mark.parametrize(
    ("kind", "words", "left", "right", "how"), OF_VECTORS.values(), ids=OF_VECTORS
)
def test_errors_of_vectors(
    kind: type[Exception], words: str, left: Any, right: Any, how: dict[str, Any]
) -> None:
    with pytest.raises(kind, match=words) as error:
        task_of().evaluate_embeddings(left, right, **how)
    assert is_of_kind(error.value, kind)


OF_SCORES: dict[str, tuple[type[Exception], str, Any, dict[str, Any]]] = {
    "turned": (
        ValueError,
        r"^scores: expected scores of shape \(4, 5\), a row for each left entity .*, got \(5, 4\)",
        *(SIMILARITIES.T, {}),
    ),
    "flat": (ValueError, r"^scores: expected scores of shape", SIMILARITIES[0], {}),
    "words": (TypeError, "^scores: ", [["a"] * 5] * 4, {}),
    "integers and csls": (
        TypeError,
        "^scores: expected floats with csls, got dtype int64",
        *(np.ones((4, 5), np.int64), {"csls": 1}),
    ),
    "integers and means": (
        TypeError,
        "^scores: expected floats with csls, got dtype int8",
        *(np.ones((4, 5), np.int8), {"csls": CSLS}),
    ),
    "distances": (
        ValueError,
        '^order: expected "descending" with csls',
        *(SIMILARITIES, {"order": "ascending", "csls": 3}),
    ),
    "order": (ValueError, "^order: expected one of", SIMILARITIES, {"order": "up"}),
    "order and csls": (ValueError, "^order: ", SIMILARITIES, {"order": "up", "csls": 2}),
    "nan": (ValueError, "^nan: expected one of", SIMILARITIES, {"nan": "drop", "csls": 2}),
    "io": (ValueError, "^io: expected one of map, read", SIMILARITIES, {"io": "mmap"}),
    "threads": (ValueError, "^threads: expected at least 1", SIMILARITIES, {"threads": 0}),
    "no neighbours": (ValueError, "^csls: expected at least 1", SIMILARITIES, {"csls": -1}),
    "means of others": (
        ValueError,
        "^csls: expected 5 means",
        *(SIMILARITIES, {"csls": CSLS._replace(entities=CSLS.queries)}),
    ),
    "integers as means": (
        TypeError,
        "^csls: expected floats for queries",
        *(SIMILARITIES, {"csls": CSLS._replace(queries=np.arange(4))}),
    ),
    "no file": (FileNotFoundError, "absent", "absent.npy", {}),
}


@pytest.mark.parametrize(("kind", "words", "scores", "how"), OF_SCORES.values(), ids=OF_SCORES)
def test_errors_of_scores(
    kind: type[Exception], words: str, scores: Any, how: dict[str, Any]
) -> None:
    with pytest.raises(kind, match=words) as error:
        task_of().evaluate_scores(scores, **how)
    assert is_of_kind(error.value, kind)


def test_a_nan_is_named_by_its_place_in_both_directions() -> None:
    """The matrix turned on its side is nobody's business."""
    for place in ((0, 4), (3, 1)):  # of a left entity that asks, and of a right one
        scores = SIMILARITIES.copy()
        scores[place] = np.nan
        words = f"^scores: a score at row {place[0]}, column {place[1]} is NaN, which nan="
        for k in (None, 2):
            with pytest.raises(ValueError, match=words):
                task_of().evaluate_scores(scores, csls=k)
    scores = SIMILARITIES.copy()
    scores[2, 1] = np.nan  # of a pair
    for order in "CF":
        with pytest.raises(ValueError, match=r"^scores: the true score at row 2, column 1 is NaN"):
            task_of().evaluate_scores(np.array(scores, order=order), nan="omit")
    scores = SIMILARITIES.copy()
    scores[3, 4] = np.nan  # of nobody who asks, but of a neighbour
    assert same(task_of().evaluate_scores(scores), task_of().evaluate_scores(SIMILARITIES))
    with pytest.raises(ValueError, match=r"^scores: a score at row 3, column 4 is NaN"):
        task_of().evaluate_scores(scores, csls=2)
    few = task_of(candidates="test")
    assert same(few.evaluate_scores(scores, csls=2), few.evaluate_scores(SIMILARITIES, csls=2))


ONE_CALL: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "order of vectors": (
        "^order: expected none beside vectors",
        LEFT,
        RIGHT,
        {"order": "ascending"},
    ),
    "io of vectors": ("^io: expected none beside vectors", LEFT, RIGHT, {"io": "map"}),
    "block of a matrix": ("^block: .* beside a matrix", SIMILARITIES, None, {"block": 3}),
    "similarity of a matrix": ("^similarity: ", SIMILARITIES, None, {"similarity": "l1"}),
    "ids of no vector": ("^test: expected left entity ids from 0 to 1", LEFT[:2], RIGHT, {}),
    "a flat matrix": (r"^left: .* got shape \(5,\)", SIMILARITIES[0], None, {}),
    "a nan": ("^left: a score at row 0", SIMILARITIES * np.nan, None, {}),
    "flat vectors": (r"^right: expected a matrix \(entities, d\)", LEFT, RIGHT[0], {}),
}


@pytest.mark.parametrize(("words", "left", "right", "how"), ONE_CALL.values(), ids=ONE_CALL)
def test_errors_of_one_call(words: str, left: Any, right: Any, how: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=words):
        evaluate(left, right, PAIRS, **how)


def test_the_same_vectors_on_both_sides_warn() -> None:
    """One matrix for both graphs, with the ids of its rows: everybody is nearest to itself."""
    vectors = np.eye(4)
    with pytest.warns(UserWarning, match="left and right are the same vectors"):
        evaluate(vectors, vectors, [(0, 1)])


@pytest.mark.parametrize("pairs", [[(0, 1), (1, 0)], [(i, i) for i in range(6)]])
@pytest.mark.parametrize(("left", "right"), [(5, None), (None, 6)])
def test_a_nan_is_said_of_its_side(
    pairs: list[tuple[int, int]], left: int | None, right: int | None
) -> None:
    """Counted at once, or one direction after the other."""
    vectors = [np.ones((7, 2)), np.ones((8, 2))]
    if left is not None:
        vectors[0][left] = np.nan
    if right is not None:
        vectors[1][right] = np.nan
    pair = rf"left {5 if left else 0} and right {6 if right else 0} is NaN"
    with pytest.raises(ValueError, match=rf"^scores: the score of {pair}"):
        evaluate(*vectors, pairs)
    with pytest.raises(ValueError, match=rf"^scores: the score of {pair}"):
        evaluate(*vectors, pairs, csls=2)


def test_means_that_leave_a_candidate_out() -> None:
    left, right = np.eye(3), np.eye(3)[::-1].copy()
    means = csls_means(left, right, 1, candidates=([0, 1], [0, 1, 2]))
    with pytest.raises(ValueError, match=r"^csls: expected means over the candidates of the task"):
        evaluate(left, right, [(0, 2)], csls=means)
    task = Task([(0, 2)], left=3, right=3, candidates=([0, 1], [0, 1, 2]))
    assert task.evaluate_embeddings(left, right, csls=means)["mr"] == 1


@pytest.mark.parametrize(
    "folder", ["left has", "rows of scores", "query 1 and entity 2", "row 1, column 2", "scores: "]
)
def test_files_are_reported_under_their_own_path(folder: str, tmp_path: Path) -> None:
    """Whatever words of a message the path has in it: no message is edited."""
    place = tmp_path / folder
    place.mkdir()
    path = str(place / "x.npy")
    Path(path).write_bytes(b"")
    said = f"^left: {re.escape(path)}: expected a .npy file, this one is empty$"
    task = task_of()
    for call in (
        lambda: evaluate(path, RIGHT, [(0, 0)]),
        lambda: evaluate(path, None, [(0, 0)]),
        lambda: task.evaluate_embeddings(path, RIGHT),
        lambda: csls_means(path, RIGHT, 2),
        lambda: infer(path, RIGHT),
        lambda: infer(path, None),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(ValueError, match=said.replace("left", "scores", 1)):
        task.evaluate_scores(path)
