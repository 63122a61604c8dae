"""Both directions from vectors, matrices and callables, and means, against the slow twins."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import alignment as oracle
from oracles import embeddings
from oracles.alignment import Array
from oracles.counting import Refused
from oracles.embeddings import mean_topk, same_bits, scored_by
from strategies.alignments import NAN_RULES, Alignment, alignments, any_vectors, matrices
from strategies.stored import Stored, open_stored, stored
from support.environment import Run
from support.examples import examples
from support.outcomes import quietly
from support.problems import FAITHFUL, LAYOUTS, assert_same, in_blocks
from support.refusals import T, V, refusal
from truerank.alignment import Task, csls_means, infer
from truerank.alignment import task as task_module
from truerank.counting import driver
from truerank.inputs.array_likes import as_scores
from truerank.stores import Tile
from truerank.stores.store import ArrayStore

TILES = [(driver, "TILE_BYTES")]


def check(
    drawn: Alignment,
    call: Callable[[], tr.Report],
    scores: Array,
    k: int | None,
    *,
    audit: bool,
    **rules: Any,
) -> tr.Report | None:
    """Compare a report with the oracle, and return it; a refusal names a NaN of candidates."""
    table = scores
    try:
        if k is not None:
            table = oracle.scaled(scores, k, drawn.among, rules["nan"])
        expected = oracle.counts(table, drawn.sides, drawn.among, **rules)
    except Refused:
        said = r"scores: (?:a|the true) score at row (\d+), column (\d+) is NaN"
        place = re.match(said, refusal(ValueError, said, call))
        assert place is not None
        row, column = map(int, place.groups())
        assert np.isnan(table[row, column])
        assert row in drawn.among[0]
        assert column in drawn.among[1]
        return None
    got = call()
    assert_same(got.ranks, expected, audit=audit)
    assert got.ranks.unit.codes.tolist() == drawn.chosen * 2
    return got


LEFT = np.array([[1, 0], [0, 1], [1, 1], [-1, 2]], np.float32)
RIGHT = np.array([[0, 1], [1, 1], [1, 0], [2, -1], [1, 2]], np.float32)
PAIRS = [(0, 2), (1, 0), (2, 1)]
KNOWN = {"train": [(3, 4), (0, 3)]}
SIMILARITIES = tr.score_embeddings(LEFT, RIGHT, similarity="cosine")


def task_of(**options: Any) -> Task:
    return Task(PAIRS, left=4, right=5, known=KNOWN, **options)


def same(a: tr.Report, b: tr.Report) -> bool:
    names = ("above", "tied", "candidates")
    return all(np.array_equal(getattr(a.ranks, x), getattr(b.ranks, x)) for x in names)


@pytest.mark.smoke
@pytest.mark.filterwarnings("ignore:left, right. all vectors:UserWarning")
@given(st.data(), st.sampled_from(embeddings.EXACT))
@examples(100)
def test_vectors(data: st.DataObject, similarity: str) -> None:
    """The counts are those of the dense matrix of the same similarity.

    Both directions are counted at once, or one after the other.
    """
    drawn = data.draw(alignments(most=data.draw(st.sampled_from([7, 7, 7, 70]))))
    left, right = data.draw(any_vectors(drawn.sizes, nan=data.draw(st.booleans())))
    k = data.draw(st.one_of(st.none(), st.integers(1, 9)))
    rules = {"nan": data.draw(st.sampled_from(NAN_RULES)), "audit": data.draw(st.booleans())}
    with pytest.MonkeyPatch.context() as patch:
        for at_once in (True, False):
            patch.setattr(task_module, "joint_count_is_cheaper", lambda *_, at=at_once: at)
            options = scored_by(similarity) | {"csls": k, **rules}
            options["block"] = data.draw(st.sampled_from([None, 1, 3, 64]))
            options["threads"] = data.draw(st.sampled_from([1, 2, 3]))
            evaluate = in_blocks(drawn.task().evaluate_embeddings)
            call = partial(evaluate, left, right, **options)
            got = check(drawn, call, embeddings.score(left, right, similarity), k, **rules)
    if got is not None:
        named = similarity if k is None else f"{similarity}, csls {k}"
        assert got.protocol.similarity == named


@pytest.mark.parametrize("at_once", [True, False])
def test_a_nan_of_no_pair(at_once: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a candidate of the other direction alone."""
    monkeypatch.setattr(task_module, "joint_count_is_cheaper", lambda *_: at_once)
    left = np.eye(4, dtype=np.float32)
    left[3] = np.nan
    right = 2 * np.eye(5, 4, dtype=np.float32)
    evaluate = Task([(0, 0), (1, 1), (2, 2)], left=4, right=5).evaluate_embeddings
    refusal(tr.InputValueError, "row 3, column 0 is NaN", evaluate, left, right)
    for nan, candidates in (("omit", 3), ("worst", 4)):
        ranks = evaluate(left, right, nan=nan).ranks
        assert ranks.candidates.tolist() == [5] * 3 + [candidates] * 3
        assert ranks.above.tolist() == [0] * 6


OWN = {"left_to_right": [0, 1, 2, 4], "right_to_left": [0, 1, 2]}


@pytest.mark.parametrize("what", ["all", "test", "unaligned", OWN])
def test_means_made_before(what: Any, tmp_path: Path) -> None:
    """A number of neighbours stands for the means over the candidates of the protocol."""
    task = task_of(candidates=what)
    expected = task.evaluate_embeddings(LEFT, RIGHT, csls=2)
    means = csls_means(LEFT, RIGHT, 2, candidates=task.candidates)
    assert same(task.evaluate_embeddings(LEFT, RIGHT, csls=means), expected)
    scaled = tr.score_embeddings(LEFT, RIGHT, similarity="cosine", csls=means)
    for order in "CF":
        assert same(task.evaluate_scores(np.array(scaled, order=order)), expected)
    assert expected.protocol.similarity == "cosine, csls 2"
    paths = tmp_path / "left.npy", tmp_path / "right.npy"
    for path, array in zip(paths, (LEFT, RIGHT), strict=True):
        np.save(path, array)
    of_files = task.evaluate_embeddings(*paths, csls=np.int64(2))
    assert same(of_files, expected)
    assert sorted(of_files.protocol.files) == sorted(map(str, paths))
    fine = csls_means(LEFT.astype(np.float64), RIGHT.astype(np.float64), 3)
    rounded = fine._replace(queries=fine.queries.astype("f4"), entities=fine.entities.astype("f4"))
    expected = task.evaluate_scores(embeddings.with_csls(SIMILARITIES, rounded))
    assert same(task.evaluate_embeddings(LEFT, RIGHT, csls=fine), expected)


def test_callables() -> None:
    shapes = []

    def scored(matrix: Array, queries: Array) -> Array:
        shapes.append(queries.shape)
        return matrix[queries[:, 0]]

    task = task_of(candidates="unaligned")
    forward, backward = (partial(scored, matrix) for matrix in (SIMILARITIES, SIMILARITIES.T))
    for batch_size in (None, 2):
        found = task.evaluate(forward, backward, batch_size=batch_size)
        assert same(found, task.evaluate_scores(SIMILARITIES))
    assert shapes == [(3, 1)] * 2 + [(2, 1), (1, 1)] * 2


@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
def test_the_same_vectors_for_both_graphs_are_said(dtype: str, tmp_path: Path) -> None:
    """Every entity is then most similar to itself, whatever the model has learnt."""
    vectors = np.random.default_rng(0).integers(-9, 9, (3001, 4)).astype(np.float32)
    bits = (vectors.view(np.uint32) >> 16).astype(np.uint16).view("V2")
    vectors = bits if dtype == "bfloat16" else vectors.astype(dtype)
    np.save(tmp_path / "left.npy", vectors)
    other = vectors[::-1].copy()
    task = Task([(0, 0), (1, 1)], left=3001, right=3001)
    given = {"dtype": "bfloat16"} if dtype == "bfloat16" else {}
    for right in (vectors, vectors.copy(), tmp_path / "left.npy"):
        with pytest.warns(UserWarning, match="^left, right: all vectors of one side ") as caught:
            task.evaluate_embeddings(vectors, right, **given)
        assert [each.filename for each in caught] == [__file__]
    task.evaluate_embeddings(vectors, other, **given)
    part = Task([(0, 0)], left=3001, right=3000)
    with pytest.warns(UserWarning, match="^left, right: all vectors of one side "):
        part.evaluate_embeddings(vectors, vectors[1:], **given)
    part.evaluate_embeddings(vectors, other[1:], **given)


BOTH = np.random.default_rng(0).normal(size=(8, 3))
BOTH[4:] = BOTH[:4] + 1e-3  # Pairs i and 4 + i.
COPIED = "^left, right: all vectors of one side are vectors of the other, in the same order"


def test_a_matrix_of_both_graphs_is_said_with_ways_that_lead_to_the_right_number() -> None:
    left = BOTH[:4]
    pairs = [(i, 4 + i) for i in range(4)]
    task = Task(pairs, left=4, right=8)
    with pytest.warns(UserWarning, match=COPIED):
        assert task.evaluate_embeddings(left, BOTH)["hits@1"] == 0.5
    apart = Task([(i, i) for i in range(4)], left=4, right=4)
    assert apart.evaluate_embeddings(BOTH[:4], BOTH[4:])["hits@1"] == 1
    candidates = {"left_to_right": range(4, 8), "right_to_left": range(4)}
    for others in (candidates, "test"):
        some = Task(pairs, left=4, right=8, candidates=others)
        assert some.evaluate_embeddings(left, BOTH)["hits@1"] == 1
    turned = Task([(4 + i, i) for i in range(4)], left=8, right=4)
    with pytest.warns(UserWarning, match=COPIED):
        turned.evaluate_embeddings(BOTH, left)


def test_ids_of_both_graphs_may_have_gaps() -> None:
    """As DBP15K's and OpenEA's: those of a graph are not the first rows of a matrix."""
    left_ids, right_ids = [0, 1, 4, 5], [2, 3, 6, 7]
    both = np.empty_like(BOTH)
    both[[*left_ids, *right_ids]] = BOTH
    pairs = list(zip(left_ids, right_ids, strict=True))
    with pytest.warns(UserWarning, match=COPIED):
        assert Task(pairs, left=8, right=8).evaluate_embeddings(both, both)["hits@1"] == 0
    of_each = both[left_ids], both[right_ids]
    task = Task(pairs, left=left_ids, right=right_ids)
    assert task.evaluate_embeddings(*of_each)["hits@1"] == 1
    positions, _ = infer(*of_each)
    assert [(left_ids[i], right_ids[j]) for i, j in positions.tolist()] == pairs


def test_some_equal_vectors_are_those_of_equal_names() -> None:
    right = BOTH[4:].copy()
    right[:3] = BOTH[:3]
    task = Task([(i, i) for i in range(4)], left=4, right=4)
    assert task.evaluate_embeddings(BOTH[:4], right)["hits@1"] == 1
    Task([(0, 0)], left=1, right=8).evaluate_embeddings(BOTH[:1], BOTH)


def test_the_report() -> None:
    report = task_of().evaluate_embeddings(LEFT, RIGHT, similarity="l1")
    assert report.sides == ("both", "left_to_right", "right_to_left")
    assert report.tasks("left_to_right") == report.tasks("right_to_left") == 3
    protocol = report.ranks.protocol
    assert (protocol.similarity, protocol.candidates) == ("l1", "all")
    assert (protocol.filter, protocol.split) == (("train", "test"), "test")
    of_matrix = task_of().evaluate_scores(SIMILARITIES)
    assert of_matrix.protocol.similarity is None
    pair = tr.compare(report.ranks, of_matrix, allow_unlike=True)
    assert pair.pairing == "query and target ids"


def test_labels_are_names_where_both_graphs_have_them() -> None:
    left = ["a", "b", "c", "d"]
    right = {"v": 0, "w": 1, "x": 2, "y": 3, "z": 4}
    pairs = [("a", "x"), ("b", "v"), ("c", "w")]
    ranks = Task(pairs, left=left, right=right).evaluate_scores(SIMILARITIES).ranks
    assert ranks.queries.values.tolist() == ["a", "b", "c", "x", "v", "w"]
    assert ranks.targets.values.tolist() == ["x", "v", "w", "a", "b", "c"]
    half = Task([("a", 2), ("b", 0), ("c", 1)], left=left, right=5)
    assert half.evaluate_scores(SIMILARITIES).ranks.queries.values.tolist() == [0, 1, 2, 2, 0, 1]


@given(st.data(), stored(), st.booleans())
@examples(150)
def test_matrices(data: st.DataObject, way: Stored, in_memory: bool) -> None:
    """Matrices in memory or files of any layout are counted in tiles of any size."""
    drawn = data.draw(alignments())
    scores = data.draw(matrices(drawn.sizes))
    rules = {
        "order": data.draw(st.sampled_from(["descending", "ascending"])),
        "nan": data.draw(st.sampled_from(NAN_RULES)),
        "audit": data.draw(st.booleans()),
    }
    options: dict[str, Any] = {"threads": data.draw(st.sampled_from([1, 2])), **rules}
    most = data.draw(st.sampled_from([1, 8, 40, 1 << 20]))
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as folder,
        ExitStack() as stack,
    ):
        for module, name in TILES:
            patch.setattr(module, name, most)
        if in_memory:
            shaped: Any = LAYOUTS[data.draw(st.sampled_from(FAITHFUL))](scores)
        else:
            options["io"] = data.draw(st.sampled_from(["map", "read"]))
            shaped = open_stored(way, Path(folder), scores, None, stack)
        check(drawn, lambda: drawn.task().evaluate_scores(shaped, **options), scores, None, **rules)


def test_what_is_stored_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in TILES:
        monkeypatch.setattr(module, name, 400)
    times_read = np.zeros((40, 30), int)

    class Watched(ArrayStore):
        def core_block(self, tile: Tile, io: str) -> AbstractContextManager[Any]:
            assert tile.height * tile.width <= 100  # however large the matrix is
            rows = slice(tile.top, tile.top + tile.height)
            times_read[rows, tile.left : tile.left + tile.width] += 1
            return super().core_block(tile, io)

    scores = np.random.default_rng(0).random((40, 30)).astype(np.float32)
    task = Task([(0, 0), (1, 7), (9, 3)], left=40, right=30)
    told: list[tr.Progress] = []
    task.evaluate_scores(Watched(as_scores(scores)), progress=told.append)
    assert (times_read == 1).all()
    assert told[-1].done == told[-1].total == scores.nbytes


VECTORS = task_of().evaluate_embeddings
SCORES = task_of().evaluate_scores
MEANS = csls_means(LEFT, RIGHT, 1)


def means(**options: Any) -> Any:
    return csls_means(LEFT, RIGHT, **{"k": 2, **options})


REFUSED: list[tuple[type[Exception], str, Any]] = [
    (V, "^left: ", lambda: VECTORS(LEFT[:3], RIGHT)),
    (V, "^right: ", lambda: VECTORS(LEFT, np.ones((6, 2)))),
    (V, "^right: ", lambda: VECTORS(LEFT[:, :1], RIGHT)),
    (V, "^csls: ", lambda: VECTORS(LEFT, RIGHT, csls=-1)),
    (T, "^csls: ", lambda: tr.rank_embeddings(LEFT, RIGHT, 0, csls=10)),
    (V, "^csls: ", lambda: VECTORS(LEFT, RIGHT, csls=MEANS._replace(queries=MEANS.entities))),
    (V, "^csls: ", lambda: VECTORS(LEFT, RIGHT, csls=MEANS._replace(entities=[1, 2]))),
    (V, "^scores: ", lambda: SCORES(SIMILARITIES.T)),
    (V, "^scores: ", lambda: SCORES(SIMILARITIES * np.nan)),
    (T, "^csls: ", lambda: SCORES(SIMILARITIES, csls=3)),
    (T, "^right_to_left: ", lambda: task_of().evaluate(left_to_right=len)),
    (V, "^k: ", lambda: means(k=0)),
    (T, "^candidates: ", lambda: means(candidates=np.arange(2))),
    (V, "^candidates: ", lambda: means(candidates=([], None))),
    (V, r"^candidates\[1\]: ", lambda: means(candidates=(None, [9]))),
]


@pytest.mark.parametrize(("kind", "words", "call"), REFUSED)
def test_what_is_refused(kind: type[Exception], words: str, call: Any) -> None:
    refusal(kind, words, call)


# -- the means of CSLS, and both directions at once -----------------------------------------------


@given(
    st.data(), st.sampled_from([1, 2, 3, 10, 65, 1000, 2**40]), st.sampled_from(embeddings.EXACT)
)
def test_means_are_those_of_the_matrix(data: st.DataObject, k: int, similarity: str) -> None:
    drawn: Alignment = data.draw(alignments(most=data.draw(st.sampled_from([7, 70]))))
    left, right = data.draw(any_vectors(drawn.sizes, nan=True))
    scores = embeddings.score(left, right, similarity)
    ids = [np.array(among) for among in drawn.among]
    among = scores[np.ix_(*ids)]
    candidates = None if drawn.candidates == "all" else tuple(ids)
    options: dict[str, Any] = {
        "similarity": similarity,
        "candidates": candidates,
        "block": data.draw(st.sampled_from([None, 1, 20, 64])),
        "threads": data.draw(st.sampled_from([1, 2, 3])),
    }
    if similarity == "complex_l1":
        options["layout"] = "interleaved"
    if np.isnan(among).any():
        row, column = np.argwhere(np.isnan(among))[0]
        words = f"row {ids[0][row]}, column {ids[1][column]} is"
        refusal(ValueError, words, in_blocks(csls_means), left, right, k, **options)
        options["nan"] = data.draw(st.sampled_from(["worst", "omit"]))
    found = in_blocks(csls_means)(left, right, k, **options)
    for means, chosen, matrix in ((found[0], ids[0], among), (found[1], ids[1], among.T)):
        expected = np.full(len(means), np.nan, scores.dtype)
        expected[chosen] = mean_topk(matrix, k)
        assert same_bits(means, expected)
    assert found.k == k


@pytest.mark.threads
def test_large_and_threads() -> None:
    """The grid has several cells, and each passes its thresholds to the next."""
    rng = np.random.default_rng(3)
    left = (rng.integers(-20, 21, (1203, 9)) / 16).astype(np.float32)
    right = (rng.integers(-20, 21, (911, 9)) / 16).astype(np.float32)
    pairs = np.stack([rng.permutation(1203)[:700], rng.permutation(911)[:700]], axis=1)
    task = Task(pairs, left=1203, right=911)
    scores = tr.score_embeddings(left, right)
    means = csls_means(left, right, 7, similarity="dot", threads=1)
    assert same_bits(means.queries, mean_topk(scores, 7))
    assert same_bits(means.entities, mean_topk(scores.T, 7))
    for threads, block in ((1, None), (2, None), (3, 128), (2, 64)):
        options: dict[str, Any] = {"similarity": "dot", "threads": threads, "block": block}
        found_means = in_blocks(csls_means)(left, right, 7, **options)
        assert all(map(same_bits, found_means[:2], means[:2]))
        for csls in (None, means):
            found = in_blocks(task.evaluate_embeddings)(left, right, csls=csls, **options)
            table = tr.score_embeddings(left, right, csls=csls)
            expected = task.evaluate_scores(table).ranks
            for name in ("above", "tied", "candidates"):
                assert (getattr(found.ranks, name) == getattr(expected, name)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_short_and_long_lists_keep_the_highest_scores(dtype: Any) -> None:
    """Short lists are kept in order, long ones as heaps; some scores are equal, some infinite."""
    rng = np.random.default_rng(4)
    left = rng.standard_normal((760, 3)).astype(dtype)
    right = rng.standard_normal((840, 3)).astype(dtype)
    left[3, 0] = right[5, 0] = np.inf
    right[600:] = right[:240]
    scores = tr.score_embeddings(left, right)
    for k in (2, 31, 256, 257, 512, 513):
        means = csls_means(left, right, k, similarity="dot", nan="omit")
        assert same_bits(means.queries, mean_topk(scores, k))
        assert same_bits(means.entities, mean_topk(scores.T, k))


def test_few_pairs_many_answers_and_hubs_are_counted_one_direction_at_a_time() -> None:
    """A joint pass over all candidates of both sides would cost more than it saves."""
    ids = np.arange(60)
    one_to_one = np.stack([ids, ids], 1)
    hub = np.stack([ids, np.where(ids < 30, 7, ids)], 1)
    dense = np.stack(np.meshgrid(ids[:40], ids), -1).reshape(-1, 2)
    for pairs, known, at_once in (
        (one_to_one, dense[:0], True),
        (one_to_one[:9], dense[:0], False),
        (hub, dense[:0], False),
        (one_to_one, dense, False),
        (one_to_one, dense[:300], True),
    ):
        task = quietly(Task, pairs, left=60, right=60, known=known)  # of leaks
        assert task_module.joint_count_is_cheaper(task.sides) == at_once


def test_equal_scores_without_end() -> None:
    """Scores that are all equal to a threshold must not pass it for ever."""
    for value in (1.0, -np.inf, np.inf):
        found = csls_means(np.full((300, 1), value), np.ones((400, 1)), 5, similarity="dot")
        assert (found.queries == value).all()
        assert (found.entities == value).all()


def test_many_tasks_of_one_pair_are_counted_once() -> None:
    """A query has more tasks than are counted jointly; all use the columns of the first."""
    task = quietly(Task, np.zeros((70_000, 2), np.int64), left=3, right=3)
    ranks = quietly(task.evaluate_embeddings, np.eye(3), np.eye(3), similarity="dot").ranks
    for name, count in (("above", 0), ("tied", 1), ("candidates", 3)):
        assert (getattr(ranks, name) == count).all()


@pytest.mark.python_only
def test_no_matrix_is_made(run_python: Run) -> None:
    """Both passes over 6,000 x 6,000 pairs, whose scores would take 144 MB, need at most 40 MB."""
    code = """
import resource
import numpy as np
from truerank.alignment import Task

left, right = np.random.default_rng(0).standard_normal((2, 6000, 8), dtype=np.float32)
pairs = np.stack([np.arange(6000)] * 2, axis=1)
task = Task(pairs, left=6000, right=6000)
Task(pairs[:9], left=9, right=9).evaluate_embeddings(left[:9], right[:9], csls=3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
task.evaluate_embeddings(left, right, csls=10)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    assert int(run_python(code)) < 40_000
