"""truerank.adapters.dask compared with local calls: the same ranks, or the same error."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem, problems
from strategies.embeddings import Vectors, tasks, vectors
from support.examples import examples
from support.outcomes import attempt
from support.problems import Array, host_tensor, matrix
from support.refusals import refusal

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install '.[dask]'")
da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install '.[dask]'")

from dask.callbacks import Callback  # noqa: E402

from truerank.adapters import dask as adapter  # noqa: E402
from truerank.devices import task_counts  # noqa: E402

SMALL = np.array([[0.5, 0.25], [1.0, 2.0]])


@pytest.fixture(autouse=True)
def _synchronous() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


@st.composite
def chunks(draw: st.DrawFn, size: int) -> tuple[int, ...]:
    """Split a length into chunks: one, ones, or random ones, sometimes with chunks of length 0."""
    kind = draw(st.sampled_from(["whole", "ones", "cuts", "cuts", "cuts"]))
    if kind == "whole" or size == 0:
        return draw(st.sampled_from([(size,), (0, size), (size, 0)]))
    if kind == "ones" and size <= 30:
        return (1,) * size
    cuts = sorted(draw(st.lists(st.integers(0, size), max_size=5)))
    return tuple(np.diff(cuts, prepend=0, append=size).tolist())


def in_chunks(draw: Callable[[Any], Any], array: Array) -> Any:
    cut = tuple(draw(chunks(size)) for size in array.shape)
    return da.from_array(array, chunks=cut, name=False)


def call_of(problem: Problem) -> tuple[Any, dict[str, Any]]:
    """Return the targets and keywords of a problem, but for candidates, which are refused."""
    keywords = dict(problem.keywords)
    for name in ("candidates", "candidates_form"):
        keywords.pop(name, None)
    return replace(problem, keywords=keywords).call()


def assert_same(got: tr.Ranks | Exception, expected: tr.Ranks | Exception) -> None:
    """Check that counts, audits and protocols are equal, or types and messages of errors."""
    if isinstance(expected, Exception) or isinstance(got, Exception):
        assert (type(got), str(got)) == (type(expected), str(expected))
        return
    assert got == expected
    assert got.protocol == expected.protocol


@given(st.booleans().flatmap(lambda hard: problems(nan=hard, errors=hard)), st.data())
@examples(100)
def test_any_chunks_give_what_rank_gives(problem: Problem, data: st.DataObject) -> None:
    targets, keywords = call_of(problem)
    expected = attempt(tr.rank, problem.scores, targets, **keywords)
    scores = in_chunks(data.draw, problem.scores)
    assert_same(attempt(adapter.rank, scores, targets, **keywords), expected)


@st.composite
def questions(draw: st.DrawFn, *, nan: bool, errors: bool) -> tuple[Vectors, Problem]:
    given = replace(draw(vectors(nan=nan).filter(lambda v: len(v.entities))), csls=None)
    return given, draw(tasks(given, errors=errors))


@given(questions(nan=True, errors=True), st.data())
@examples(70)
def test_any_chunks_give_what_rank_embeddings_gives(
    question: tuple[Vectors, Problem], data: st.DataObject
) -> None:
    given, problem = question
    targets, keywords = call_of(problem)
    keywords |= given.keywords | {"audit": data.draw(st.booleans())}
    for name in ("block", "csls"):
        keywords.pop(name)
    expected = attempt(tr.rank_embeddings, given.queries, given.entities, targets, **keywords)
    queries = given.queries
    entities = in_chunks(data.draw, given.entities)
    if data.draw(st.booleans()):
        queries = in_chunks(data.draw, queries)
    if given.bias is not None and data.draw(st.booleans()):
        keywords["bias"] = in_chunks(data.draw, given.bias)
    got = attempt(adapter.rank_embeddings, queries, entities, targets, **keywords)
    assert_same(got, expected)


# -- where chunks come from --------------------------------------------------------------------

ROWS = 6
COLUMNS = 4000
CHUNK = (3, 1000)
CHUNKS = ((3, 3), (1000,) * 4)


def scores_at(row: int, column: int) -> Array:
    """Make a chunk of scores with many ties, which depends only on its place."""
    return np.random.default_rng((row, column)).integers(0, 50, CHUNK).astype(float)


class Source:
    """A source of chunks that are made when needed, with a record of those made."""

    def __init__(self) -> None:
        self.made: list[tuple[int, int]] = []
        self.local = np.block([[scores_at(i, j) for j in range(4)] for i in range(2)])

    def make(self, block_id: tuple[int, int]) -> Array:
        self.made.append(block_id)
        return scores_at(*block_id)

    def mapped(self) -> Any:
        return da.map_blocks(self.make, chunks=CHUNKS, dtype=float, meta=np.empty((0, 0)))


TARGETS = [0, 1500, 1600, 10, 20, 3999]
FILTER = [list(range(task, 4000, 7)) for task in range(ROWS)]


def test_chunks_that_dask_computes_from_others() -> None:
    source = Source()
    expected = tr.rank(source.local, TARGETS, filter=FILTER, audit=True)
    scores = (source.mapped() * 2 - source.mapped()).T.rechunk((700, 4)).T
    assert_same(adapter.rank(scores, TARGETS, filter=FILTER, audit=True), expected)


def test_chunks_are_made_once_for_each_pass_that_needs_them() -> None:
    source = Source()
    assert_same(adapter.rank(source.mapped(), TARGETS), tr.rank(source.local, TARGETS))
    first = [(0, 0), (0, 1), (1, 0), (1, 3)]  # those that hold a target
    everything = [(i, j) for i in range(2) for j in range(4)]
    assert sorted(source.made) == sorted(first + everything)
    scores = source.mapped().persist()
    source.made.clear()
    adapter.rank(scores, TARGETS)
    assert source.made == []
    adapter.rank(source.mapped(), [5, 0], rows=[4, 3])
    assert sorted(source.made) == [(1, 0), (1, 0), (1, 1), (1, 2), (1, 3)]
    source.made.clear()
    assert len(adapter.rank(source.mapped(), [], rows=[])) == 0
    assert source.made == []


def test_each_chunk_is_dropped_before_the_next_is_made() -> None:
    """A counter has the lists of its rows alone."""
    living: set[int] = set()
    most = 0

    def make(block_id: tuple[int, int]) -> Array:
        nonlocal most
        chunk = scores_at(*block_id)
        living.add(id(chunk))
        weakref.finalize(chunk, living.discard, id(chunk))
        most = max(most, len(living))
        return chunk

    scores = da.map_blocks(make, chunks=CHUNKS, dtype=float, meta=np.empty((0, 0)))
    lengths: list[int] = []  # of the lists of counters, which workers can exchange

    def look(key: Any, value: Any, *_: Any) -> None:
        if isinstance(value, tr.RankCounter):
            _, members = value.__getstate__()
            lengths.append(len(members["filter.indices"]))

    with Callback(posttask=look):
        adapter.rank(scores, TARGETS, filter=FILTER)
    assert most <= 2
    of_blocks = [sum(map(len, FILTER[:3])), sum(map(len, FILTER[3:]))]
    assert set(lengths) == set(of_blocks)
    assert len(lengths) >= 8  # one for each chunk


def test_tasks_have_no_side_effects() -> None:
    """Dask may repeat them, on a worker that still has what they were given."""
    counters = [tr.RankCounter(SMALL[:, 0], 0, candidates=2) for _ in range(2)]
    opening = partial(adapter.open_chunk, shape=(2, 1), dtype="float64", raw_dtype=None)
    for _ in range(2):
        counted = [
            adapter.count_chunk(opening, counter, start, SMALL[:, start : start + 1])
            for start, counter in enumerate(counters)
        ]
        for _ in range(2):
            assert adapter.merge_counters(*counted).ranks() == tr.rank(SMALL, 0)


# -- errors ------------------------------------------------------------------------------------


def test_what_is_no_array_of_known_chunks() -> None:
    scores = da.from_array(SMALL, chunks=1)
    unknown = scores[:, scores[0] > 0]
    entities = scores[scores[:, 0] > 0]
    rank = adapter.rank
    embed = adapter.rank_embeddings
    refusal(ValueError, "^scores: expected chunks of known sizes", rank, unknown, 0)
    refusal(ValueError, "^entities: expected chunks of known", embed, SMALL, entities, [0, 1])
    refusal(ValueError, "^queries: expected chunks of known", embed, entities, scores, [0, 1])
    refusal(TypeError, "^scores: expected a dask array, got ndarray; .*takes it", rank, SMALL, 0)
    refusal(TypeError, "^entities: expected a dask array, got ndar", embed, SMALL, SMALL, [0, 1])


def test_candidates_are_for_a_filter() -> None:
    words = "^candidates: expected none, or a filter that leaves out others"
    for candidates in ([0, 1], [[1], [0, 1]]):
        scores = da.from_array(SMALL, chunks=1)
        refusal(TypeError, words, adapter.rank, scores, [1, 0], candidates=candidates)
    entities = da.from_array(SMALL, chunks=1)
    refusal(TypeError, words, adapter.rank_embeddings, SMALL, entities, [0, 1], candidates=[0, 1])


def test_lists_of_vectors() -> None:
    lists = SMALL, [0, 1, 2]
    entities = da.from_array(SMALL, chunks=1)
    words = "^similarity: expected the similarity of two vectors: .*, got 'maxsim'$"
    for others in (lists, entities):
        call = partial(adapter.rank_embeddings, lists, others, [0, 1])
        refusal(ValueError, words, call, similarity="maxsim")
    words = "^queries: expected only vectors with dot, got vectors and an indptr; sim"
    refusal(TypeError, words, adapter.rank_embeddings, lists, entities, [0, 1])


def test_arguments_are_checked_as_those_of_rank() -> None:
    for array, keywords in ((SMALL > 0, {}), (SMALL[None], {}), (SMALL, {"nan": -1})):
        expected = attempt(tr.rank, array, 0, **keywords)
        assert isinstance(expected, Exception)
        chunked = da.from_array(array, chunks=1)
        assert_same(attempt(adapter.rank, chunked, 0, **keywords), expected)
    question = SMALL, da.from_array(SMALL, chunks=(1, 2)), [0, 1]
    expected = attempt(tr.rank_embeddings, SMALL, SMALL, [0, 1], bias=np.zeros(3))
    for bias in (np.zeros(3), da.zeros(3)):
        assert_same(attempt(adapter.rank_embeddings, *question, bias=bias), expected)
    ranks = adapter.rank(da.from_array(SMALL, chunks=1), da.from_array(np.array([1, 0])))
    assert_same(ranks, tr.rank(SMALL, [1, 0]))


def test_chunks_that_are_not_what_the_array_says() -> None:
    wide = da.from_array(np.zeros((2, 9)), chunks=(2, 3))
    for made, kind, got in (
        (np.float32, TypeError, r"as the dask array says, got float32"),
        (lambda x: x[:, :2], ValueError, r".* got float64 \(2, 2\)$"),
    ):
        scores = wide.map_blocks(made, dtype=float, meta=np.empty((0, 0)))
        words = rf"^scores: expected a chunk of float64 \(2, 3\), {got}"
        refusal(kind, words, adapter.rank, scores, 0)


def test_chunks_that_change_between_the_passes() -> None:
    made = iter(range(100))
    scores = da.from_array(SMALL).map_blocks(
        lambda x: x + next(made), dtype=float, meta=np.empty((0, 0))
    )
    words = "^scores: some changed when a chunk was computed again"
    refusal(ValueError, words, adapter.rank, scores, 0)
    assert_same(adapter.rank(scores.persist(), 0), tr.rank(SMALL, 0))


def test_queries_are_computed_once_for_all_chunks_of_entities() -> None:
    made = []
    queries = da.from_array(SMALL).map_blocks(
        lambda x: made.append(0) or x, dtype=float, meta=np.empty((0, 0))
    )
    entities = np.random.default_rng(0).random((adapter.FAN_IN + 1, 2))
    chunks = da.from_array(entities, chunks=(1, 2))  # whose counters are merged in two levels
    ranks = adapter.rank_embeddings(queries, chunks, [0, 1])
    assert ranks == tr.rank_embeddings(SMALL, entities, [0, 1])
    assert len(made) == 1


# -- chunks that are tensors -------------------------------------------------------------------

RNG = np.random.default_rng(4)
PLACES = RNG.integers(0, 90, 20)
KNOWN = [RNG.integers(0, 90, 9) for _ in range(20)]


@pytest.fixture(params=["", "triton"])
def _way(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Count in the host's memory; and as copies from a device, whose kernel is not right."""
    pytest.importorskip("torch", reason="tensors of torch")
    monkeypatch.setenv("TRUERANK_DEVICE", request.param)
    monkeypatch.setattr(task_counts, "find_spec", lambda name: name)
    monkeypatch.setattr(task_counts, "counts_right", lambda device, dtype: False)


def of_tensors(array: Array) -> Any:
    """Return a Dask array of chunks of 8 rows and 40 columns, each made as a tensor."""

    def chunk(block_info: Any = None) -> Any:
        return host_tensor(array[tuple(slice(*e) for e in block_info[None]["array-location"])])

    chunks = da.core.normalize_chunks((8, 40), array.shape)
    meta = np.empty((0, 0), array.dtype)
    return da.map_blocks(chunk, chunks=chunks, dtype=array.dtype, meta=meta)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("order", ["ascending", "descending"])
def test_tensors_of_every_dtype_and_rule(order: str, kind: str) -> None:
    array = matrix(kind, (20, 90))
    expected = tr.rank(array, PLACES, filter=KNOWN, order=order)
    assert adapter.rank(of_tensors(array), PLACES, filter=KNOWN, order=order) == expected
    array = RNG.integers(0, 9, (20, 90)).astype(np.float32)
    array[RNG.random(array.shape) < 0.2] = np.nan
    nan = "omit" if kind == "float32" else "worst"
    options: dict[str, Any] = {"order": order, "nan": nan, "audit": True}
    options["rows"] = RNG.permutation(20)
    array[options["rows"], PLACES] = 4
    options["filter"] = KNOWN
    expected = tr.rank(array, PLACES, **options)
    assert adapter.rank(of_tensors(array), PLACES, **options) == expected


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("audit", [False, True])
def test_the_first_nan_of_all_tensors_is_named(audit: bool) -> None:
    array = RNG.random((20, 90))
    for row, column in ((19, 2), (11, 88), (11, 45)):
        array[row, column] = np.nan
        words = f"^scores: a score at row {row}, column {column} is NaN"
        places = np.zeros(20, int)
        refusal(ValueError, words, adapter.rank, of_tensors(array), places, audit=audit)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize("narrow", [("queries",), ("entities",), ("queries", "entities")])
def test_raw_vectors_beside_others(narrow: tuple[str, ...]) -> None:
    """Queries go to workers as float32; the name of the bits is that of the entities alone."""
    vectors: dict[str, Any] = {"queries": RNG.random((20, 8)), "entities": RNG.random((90, 8))}
    for name, array in vectors.items():
        vectors[name] = array.astype(np.float32)
        if name in narrow:
            vectors[name] = array.astype(ml_dtypes.bfloat16).view(np.uint16)
    expected = tr.rank_embeddings(**vectors, targets=PLACES, dtype="bfloat16")
    vectors["entities"] = da.from_array(vectors["entities"], chunks=(40, 8))
    got = adapter.rank_embeddings(**vectors, targets=PLACES, dtype="bfloat16")
    assert got == expected


@pytest.mark.usefixtures("_way")
def test_vectors_that_are_tensors() -> None:
    queries = RNG.random((20, 8))
    entities = RNG.random((90, 8))
    ranks = adapter.rank_embeddings(queries, of_tensors(entities), PLACES)
    assert ranks == tr.rank_embeddings(queries, entities, PLACES)
