"""Tasks evaluated by embeddings, scores and callables, against sets and plain numpy."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import link_prediction as oracle
from strategies.triples import Given, given_tasks, lists_of
from support.examples import examples
from support.refusals import T, V, refusal
from truerank.embeddings import vectors
from truerank.link_prediction import Sampled, Task
from truerank.stores import store
from truerank.tasks.side import Side

# of duplicates, of leaks, and of rows of one query
SAID = "test. |.* a query has scores that differ"
pytestmark = pytest.mark.filterwarnings(f"ignore:({SAID}):UserWarning")

Array = npt.NDArray[Any]
Counts = list[list[int]]


def counted(given: Given, side: Side) -> Iterator[tuple[int, int, set[int], set[int]]]:
    """Yield of each task its row, target, candidates, and what is left out of them."""
    pools = given.pool(side.name)
    if isinstance(given.candidates, Sampled):
        pools = list(map(set, lists_of(side.candidates)))
    columns = side.units.tolist(), side.targets.tolist(), pools, given.left_out(side.name)
    return zip(*columns, strict=True)


def expected_counts(given: Given, task: Task, tables: dict[str, Array]) -> Counts:
    """Count above, tied and candidates by definition, with a row of scores per test triple."""
    found = []
    for name, side in task.sides.items():
        for row, *task_of_row in counted(given, side):
            found.append(oracle.rank(tables[name][row].tolist(), *task_of_row))
    return found


def counts_of(report: tr.Report) -> Counts:
    ranks = report.ranks
    return np.stack([ranks.above, ranks.tied, ranks.candidates], axis=1).tolist()


def evaluated(task: Task, tables: dict[str, Any], **options: Any) -> tr.Report:
    """Evaluate scores as vectors: products with unit vectors are the scores."""
    units = {name: np.eye(side.n_candidates, dtype=np.float32) for name, side in task.sides.items()}
    entities = next((units[side] for side in ("tail", "head") if side in units), None)
    relations = units.get("relation")
    return task.evaluate_embeddings(**tables, entities=entities, relations=relations, **options)


def tables_of(draw: Callable[[Any], Any], given: Given, task: Task) -> dict[str, Array]:
    """Draw scores with ties for every distinct query."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return {
        name: rng.integers(0, 3, (len(side.queries), side.n_candidates)).astype(np.float32)
        for name, side in task.sides.items()
    }


def by_triple(task: Task, tables: dict[str, Array]) -> dict[str, Array]:
    """Repeat the rows of queries for the test triples; dropped ones have rows of zeros."""
    found = {}
    for name, side in task.sides.items():
        found[name] = np.zeros((task.height, side.n_candidates), np.float32)
        found[name][side.units] = tables[name][side.rows]
    return found


ANSWERED = given_tasks(rules=("keep", "drop")).filter(lambda given: not given.is_refused)


@given(ANSWERED, st.sampled_from([None, 1, 2]), st.data())
@examples(80)
def test_every_way_gives_the_counts_of_the_definition(
    given: Given, batch_size: int | None, data: st.DataObject
) -> None:
    task = Task(**given.arguments)
    tables = tables_of(data.draw, given, task)
    rows = by_triple(task, tables)
    asked: dict[str, list[Array]] = {side: [] for side in tables}

    def scorer(side: str) -> Callable[[Array], Array]:
        """Score every distinct query once, in order; the queries are the callable's to change."""

        def score(queries: Array) -> Array:
            done = sum(map(len, asked[side]))
            asked[side].append(queries.copy())
            queries[:] = -1
            return tables[side][done : done + len(queries)]

        return score

    found = task.evaluate_scores(**rows)
    assert counts_of(found) == expected_counts(given, task, rows)
    assert (found.protocol.filter == ()) == (given.rule == "none" and given.exclude is None)
    ranks = found.ranks
    assert ranks.side is not None
    assert ranks.side.values.tolist() == [side for side in task.sides for _ in given.chosen]
    assert ranks.unit.codes.tolist() == given.chosen * len(task.sides)
    named = {"side", "relation", "queries", "targets", "unit"}
    named |= {"category", "degree", "head_degree", "tail_degree", "fact", "head", "tail"}
    assert set(ranks.labels) == named
    keys = {name: side.queries for name, side in task.sides.items()}
    others_are_nan = {name: np.full_like(table, np.nan) for name, table in rows.items()}
    for name, side in task.sides.items():
        for row, target, pool, left_out in counted(given, side):
            columns = sorted((pool - left_out) | {target})
            others_are_nan[name][row, columns] = rows[name][row, columns]
    for other in (
        task.evaluate_scores(**others_are_nan),
        task.evaluate_scores(**tables, row_queries=keys),
        task.evaluate(**{side: scorer(side) for side in tables}, batch_size=batch_size),
        evaluated(task, rows),
        evaluated(task, tables, row_queries=keys),
    ):
        assert bare(other) == bare(found)
    for side, batches in asked.items():
        assert np.array_equal(np.concatenate(batches), task.sides[side].queries)
        assert batch_size is None or {len(batch) for batch in batches[:-1]} <= {batch_size}


def bare(report: tr.Report) -> tr.Ranks:
    """Return ranks without the fields that depend on how they were made."""
    return report.ranks.with_protocol(similarity=None, files=())


@given(ANSWERED, st.booleans(), st.data())
@examples(80)
def test_lists_give_the_counts_of_the_definition(
    given: Given, has_scores: bool, data: st.DataObject
) -> None:
    """What is not listed is tied below; only candidates, and known answers, may be listed."""
    task = Task(**given.arguments)
    rows = {}
    lists = {}
    has_others = False
    for name, side in task.sides.items():
        rows[name] = np.full((task.height, side.n_candidates), -np.inf)
        ids = np.full((task.height, 4), -1)
        scores = np.zeros((task.height, 4))
        answers = given.side(name)
        for i, (row, _, pool, left_out) in enumerate(counted(given, side)):
            listed = data.draw(
                st.lists(st.integers(0, side.n_candidates - 1), unique=True, max_size=4)
            )
            tasks = zip(answers.queries, answers.targets, strict=True)
            right = {target for query, target in tasks if query == answers.queries[i]}
            has_others |= not set(listed) <= pool | left_out | right
            size = len(listed)
            ids[row, :size] = listed
            scores[row, :size] = range(size, 0, -1)
            if has_scores:
                scores[row, :size] = data.draw(
                    st.lists(st.integers(0, 2), min_size=size, max_size=size)
                )
            rows[name][row, listed] = scores[row, :size]
        lists[name] = tr.TopK(ids, scores if has_scores else None)
    if has_others:
        refusal(ValueError, "candidates of the query", task.evaluate_lists, **lists)
        return
    report = task.evaluate_lists(**lists, order="descending")
    assert counts_of(report) == expected_counts(given, task, rows)


@given(ANSWERED, st.sampled_from([">f4", "<f8", "f2"]), st.sampled_from([1, 1 << 22]), st.data())
@examples(60)
def test_unlike_rows_of_a_query_are_ranked_as_they_are(
    given: Given, dtype: str, most: int, data: st.DataObject
) -> None:
    """They are compared by their bits, some at a time, in memory and in files."""
    task = Task(**given.arguments)
    rows = by_triple(task, tables_of(data.draw, given, task))
    for name, table in rows.items():
        changed = data.draw(st.lists(st.integers(0, len(table) - 1), max_size=4))
        table[changed] += 1
        table[changed[:1], :1] *= -0.0  # changes no score but the bits
        rows[name] = np.array(table, dtype, order=data.draw(st.sampled_from("CF")))
    mismatched = []
    for side, tasks in task.sides.items():
        first: dict[int, bytes] = {}
        for query, i in zip(tasks.rows.tolist(), tasks.units.tolist(), strict=True):
            row = rows[side][i].tobytes()
            mismatched.append(int(first.setdefault(query, row) != row))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(vectors, "COMPARED_BYTES", most)
        patch.setattr(store, "COMPARED_BYTES", most)
        paths = {}
        for side, table in rows.items():
            paths[side] = [Path(folder, f"{side}-{part}.npy") for part in range(2)]
            for path, part in zip(paths[side], (table[:1], table[1:]), strict=True):
                np.save(path, part)
        ways = [
            task.evaluate_scores(**rows, audit=True),
            task.evaluate_scores(
                **paths, audit=True, io=data.draw(st.sampled_from(["map", "read"]))
            ),
            evaluated(task, rows, audit=True),
        ]
    assert sorted(ways[1].protocol.files) == sorted(map(str, chain.from_iterable(paths.values())))
    for found in ways:
        assert counts_of(found) == expected_counts(given, task, rows)
        assert found.ranks.audit is not None
        assert found.ranks.audit.mismatched.tolist() == mismatched


# -- a small task, by hand -------------------------------------------------------------------------

TEST = [(0, 0, 1), (2, 0, 1), (0, 0, 2), (3, 1, 0)]


@pytest.fixture
def small() -> Task:
    return Task(TEST, {"train": [(0, 0, 3)]}, entities=5, relations=2)


def test_vectors_may_lie_in_files_of_16_bits(small: Task, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lengths = {"tail": 4, "head": 4, "entities": 5}
    vectors = {name: rng.integers(-3, 4, (n, 2)).astype(np.float32) for name, n in lengths.items()}
    paths = {name: tmp_path / f"{name}.npy" for name in vectors}
    for name, table in vectors.items():
        np.save(paths[name], (table.view(np.uint32) >> 16).astype(np.uint16).view("V2"))
    report = small.evaluate_embeddings(**paths, dtype="bfloat16", audit=True)
    expected = small.evaluate_embeddings(**vectors, audit=True)
    assert bare(report) == bare(expected)
    assert expected.ranks.audit.mismatched.any()


def test_bias_may_differ_by_side(small: Task) -> None:
    vectors = {name: np.zeros((4, 2), np.float32) for name in ("tail", "head")}
    biases = {"tail": np.arange(5.0), "head": -np.arange(5.0)}
    report = small.evaluate_embeddings(**vectors, entities=np.zeros((5, 2)), bias=biases)
    scores = {side: np.tile(bias, (4, 1)) for side, bias in biases.items()}
    assert np.array_equal(report.ranks.above, small.evaluate_scores(**scores).ranks.above)


# What a scorer may return of a buffer that it fills again for each batch.
VIEWS: dict[str, Callable[[Array], Any]] = {
    "array": lambda buffer: buffer,
    "broadcast": lambda buffer: np.broadcast_to(buffer, buffer.shape),
    "memoryview": lambda buffer: memoryview(buffer).toreadonly(),
    "frame": lambda buffer: pd.DataFrame(buffer, copy=False),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("batch_size", [1, 50])
def test_a_scorer_may_fill_one_buffer_again(view: str, batch_size: int) -> None:
    rng = np.random.default_rng(0)
    entities = 2000
    model = rng.integers(0, 500, (100, entities)).astype(np.float32)
    test = np.stack([np.arange(100), np.zeros(100, np.int64), rng.integers(0, entities, 100)], 1)
    task = Task(test, entities=entities, relations=1, sides=("tail",))
    buffer = np.empty((batch_size, entities), np.float32)

    def score(queries: Array) -> Any:
        buffer[:] = model[queries[:, 0]]
        return VIEWS[view](buffer)

    expected = task.evaluate_scores(model)
    assert bare(task.evaluate(score, batch_size=batch_size)) == bare(expected)


def test_a_scorer_may_return_the_same_scores_for_all_batches(small: Task) -> None:
    popular = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    table = np.tile(popular, (3, 1))
    expected = small.evaluate_scores(np.tile(popular, (4, 1)), head=np.tile(popular, (4, 1)))
    scorers: list[Callable[[Array], Array]] = [
        lambda queries: np.broadcast_to(popular, (len(queries), 5)),
        lambda queries: table[: len(queries)],
    ]
    for scorer in scorers:
        assert small.evaluate(scorer, head=scorer, batch_size=1).ranks == expected.ranks


def test_no_tasks_make_an_empty_report(small: Task) -> None:
    assert len(small[[]].evaluate(never, head=never, nan="omit").ranks) == 0
    assert len(small[[]].evaluate_scores(WIDE[:0], head=WIDE[:0], audit=True).ranks) == 0


# -- what is refused -------------------------------------------------------------------------------

WIDE = np.zeros((4, 5))
NAN = np.where(np.arange(20).reshape(4, 5) == 7, np.nan, 0.0)
NAN_AT = "a score at row 0, column 2 is NaN"


def never(queries: Array) -> Array:
    raise RuntimeError("asked for scores")


def blank(queries: Array) -> Array:
    return np.zeros((len(queries), 5))


def first_are_nan(queries: Array) -> Array:
    return NAN[queries[:, 0] // 2]


TWO: dict[str, Any] = {"tail": WIDE, "head": WIDE}
VECTORS = TWO | {"entities": np.zeros((5, 5))}
ROWS: dict[str, Any] = {"row_queries": {"head": [(0, 1), (0, 2), (1, 0)]}}
TOPS = dict.fromkeys(("tail", "head"), tr.TopK([[0]] * 4, None))
RISING = dict.fromkeys(("tail", "head"), tr.TopK([[4, 3, 2]] * 4, [[0.1, 0.2, 0.3]] * 4))
# What does not fit, by the word behind evaluate_; of callables it is `evaluate`.
CASES: list[tuple[type[Exception], str, str, dict[str, Any]]] = [
    (T, "head", "scores", {"tail": WIDE}),
    (T, "relation", "scores", TWO | {"relation": WIDE}),
    (V, "head", "scores", TWO | {"head": WIDE[:, 1:]}),
    (V, "head", "scores", TWO | ROWS),
    (V, "head: a score at row 1, column 2 is NaN", "scores", TWO | {"head": NAN}),
    (V, "head: expected 3 lists, one for each key of row_", "lists", TOPS | ROWS),
    (V, "head: scores rise in 4 of 4 lists", "lists", RISING),
    (T, "entities", "embeddings", TWO),
    (V, "entities", "embeddings", VECTORS | {"entities": WIDE}),
    (V, "head", "embeddings", VECTORS | {"head": WIDE[1:]}),
    (T, "relations", "embeddings", VECTORS | {"relations": WIDE}),
    (V, r"head: a score at row 1, column \d is NaN", "embeddings", VECTORS | {"head": NAN}),
    (V, "bias", "embeddings", VECTORS | {"bias": {"tails": WIDE[0]}}),
    (V, "tail", "", {"tail": lambda q: WIDE, "head": blank}),
    (T, "tail", "", {"tail": lambda q: None, "head": blank}),
    (V, f"tail: query 1: {NAN_AT}", "", {"tail": first_are_nan, "head": blank, "batch_size": 1}),
    (V, "tail: queries 0 to 2: a", "", {"tail": first_are_nan, "head": blank}),
    (V, "batch_size", "", {"tail": blank, "head": blank, "batch_size": 0}),
]


def test_sides_are_told_apart_by_name(small: Task) -> None:
    """A triple has its head first, a task asks for its tail first: neither order is guessed."""
    methods = small.evaluate, small.evaluate_scores, small.evaluate_lists, small.evaluate_embeddings
    for method in methods:
        with pytest.raises(TypeError, match="from 1 to 2 positional arguments"):
            method(WIDE, WIDE)  # type: ignore[call-arg, arg-type]


@pytest.mark.parametrize(("kind", "argument", "what", "values"), CASES)
def test_what_does_not_fit_is_refused_by_name(
    small: Task, kind: type[Exception], argument: str, what: str, values: dict[str, Any]
) -> None:
    method = getattr(small, f"evaluate_{what}".rstrip("_"))
    refusal(kind, f"^{argument}", method, **values)
