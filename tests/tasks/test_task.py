"""Tasks evaluated by embeddings, scores and callables, against sets and plain numpy."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from truerank.link_prediction import Sampled, Task
from truerank.tasks import query_rows
from truerank.tasks.side_tasks import SideTasks
from truerank.tasks.task import Task as BaseTask

Array = npt.NDArray[Any]
Triple = tuple[int, ...]

ASKED = {"head": 0, "tail": 2, "relation": 1}  # the order of sides in Ranks
SCORES: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda q, e: q @ e.T,
    "l1": lambda q, e: -np.abs(q[:, None] - e).sum(axis=2),
    "sql2": lambda q, e: -((q[:, None] - e) ** 2).sum(axis=2),
}


class Problem(NamedTuple):
    """A task, and a model of small integers, whose float32 sums are exact and often tie."""

    task: Task
    test: list[Triple]
    kept: list[int]
    every: list[Triple]
    similarity: str
    seed: int

    def key(self, triple: Triple, side: str) -> Triple:
        return triple[: ASKED[side]] + triple[ASKED[side] + 1 :]

    def vectors(self, name: str, count: int) -> Array:
        rng = np.random.default_rng([self.seed, *map(ord, name)])
        return rng.integers(-2, 3, (count, 4)).astype(np.float32)

    def candidates(self, side: str) -> Array:
        which = "relations" if side == "relation" else "entities"
        return self.vectors(which, self.task.sides[side].columns)

    def queries(self, side: str, keys: Any) -> Array:
        first, second = np.reshape(keys, (-1, 2)).T
        return self.vectors(f"{side} 1", 20)[first] + self.vectors(f"{side} 2", 20)[second]

    def score(self, side: str, queries: Array) -> Array:
        return SCORES[self.similarity](queries, self.candidates(side))

    def rows(self, side: str) -> Array:
        """The vector of each test triple, as given."""
        return self.queries(side, [self.key(triple, side) for triple in self.test])

    def allowed(self, side: str) -> list[set[int]]:
        """The possible candidates of each task."""
        tasks = self.task.sides[side]
        among, column = tasks.candidates, ASKED[side]
        if among is None:
            return [set(range(tasks.columns))] * len(self.kept)
        if self.task.protocol.candidates == "typed":
            seen = [{t[column] for t in self.every if t[1] == r} for r in range(3)]
            return [seen[self.test[i][1]] for i in self.kept]
        if isinstance(among, tuple):
            return [set(part.tolist()) for part in np.split(among[1], among[0][1:-1])]
        return [set(among.tolist())] * len(self.kept)

    def counts(self, side: str, scores: Array) -> Array:
        """Count above, tied and candidates by definition, with a row of scores per test triple."""
        counts = []
        for i, allowed in zip(self.kept, self.allowed(side), strict=True):
            triple, row, column = self.test[i], scores[i], ASKED[side]
            key, target = self.key(triple, side), triple[column]
            answers = {t[column] for t in self.every if self.key(t, side) == key}
            left = [row[c] for c in allowed - answers | {target}]
            above, tied = (
                sum(test(s, row[target]) for s in left) for test in (np.greater, np.equal)
            )
            counts.append((above, tied, len(left)))
        return np.array(counts).T


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    rng = np.random.default_rng(seed := draw(st.integers(0, 2**32)))
    entities, relations = draw(st.integers(2, 9)), draw(st.integers(1, 3))
    sizes = draw(st.integers(1, 12)), draw(st.integers(0, 15)), draw(st.integers(0, 5))
    ends = entities, relations, entities
    splits = [[tuple(rng.integers(0, ends).tolist()) for _ in range(size)] for size in sizes]
    test, train, valid = splits
    sides = draw(st.sampled_from([("head", "tail"), ("tail",), ("head",), ("relation",), [*ASKED]]))
    drop = draw(st.booleans())
    among: Any = None
    if "relation" not in sides:
        answers = np.unique([t[ASKED[side]] for t in test for side in sides])
        sampled = Sampled(draw(st.integers(1, 4)), typed=draw(st.booleans()), seed=seed % 7)
        among = draw(st.sampled_from([None, "all", "typed", answers, sampled]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of duplicates and leaks
        task = Task(
            np.array(test),
            {
                name: np.array(split, np.int64).reshape(-1, 3)
                for name, split in (("train", train), ("valid", valid))
            },
            entities=entities,
            relations=relations,
            sides=sides,
            candidates=among,
            duplicates="drop" if drop else "keep",
        )
    kept = [i for i, triple in enumerate(test) if not (drop and triple in test[:i])]
    similarity = draw(st.sampled_from(list(SCORES)))
    return Problem(task, test, kept, [*test, *train, *valid], similarity, seed)


def by_vectors(problem: Problem, rows: dict[str, Array], **keywords: Any) -> tr.Report:
    relations = problem.candidates("relation") if "relation" in rows else None
    entities = next((problem.candidates(s) for s in ("tail", "head") if s in rows), None)
    return problem.task.evaluate_embeddings(
        *(rows.get("tail"), rows.get("head"), entities),
        relation=rows.get("relation"),
        relations=relations,
        similarity=problem.similarity,
        **keywords,
    )


def by_scores(problem: Problem, scores: dict[str, Any], **keywords: Any) -> tr.Report:
    relation = scores.get("relation")
    return problem.task.evaluate_scores(
        scores.get("tail"), scores.get("head"), relation=relation, **keywords
    )


def bare(report: tr.Report) -> tr.Ranks:
    """Return ranks without the fields that depend on how they were made."""
    return report.ranks.with_protocol(similarity=None, files=())


@given(problems(), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_every_way_gives_the_counts_of_the_definition(problem: Problem, size: int) -> None:
    task = problem.task
    rows = {side: problem.rows(side) for side in task.sides}
    scores = {side: problem.score(side, vectors) for side, vectors in rows.items()}
    ranks = bare(by_scores(problem, scores))

    expected = np.hstack([problem.counts(side, scores[side]) for side in task.sides])
    assert np.array_equal([ranks.above, ranks.tied, ranks.candidates], expected)
    kept = [problem.test[i] for i in problem.kept]
    for name, values in (
        ("side", [side for side in task.sides for _ in kept]),
        ("relation", [triple[1] for _ in task.sides for triple in kept]),
        ("targets", [triple[ASKED[side]] for side in task.sides for triple in kept]),
    ):
        assert getattr(ranks, name).values.tolist() == values
    assert set(ranks.labels) == {"category", "degree", "head_degree", "tail_degree"}
    assert ranks.protocol.filter == ("train", "valid", "test")
    assert ranks.protocol.split == "test"
    assert ranks.protocol.sampled == isinstance(ranks.protocol.candidates, str) * (
        "seed" in ranks.protocol.candidates
    )

    distinct = {side: problem.queries(side, task.sides[side].queries) for side in rows}
    short = {side: problem.score(side, vectors) for side, vectors in distinct.items()}
    assert bare(by_scores(problem, short, unique=True)) == ranks
    assert bare(by_vectors(problem, rows)) == ranks
    assert bare(by_vectors(problem, distinct, unique=True)) == ranks
    scorers = {
        side: lambda queries, side=side: problem.score(side, problem.queries(side, queries))
        for side in rows
    }
    arguments = [scorers.get(side) for side in ("tail", "head", "relation")]
    assert bare(task.evaluate(*arguments, batch_size=size)) == ranks
    assert bare(task.evaluate(*arguments)) == ranks


@given(problems(), st.data())
@settings(max_examples=60, deadline=None)
def test_unlike_rows_of_a_query_are_ranked_as_they_are(problem: Problem, data: Any) -> None:
    task, rows = problem.task, {side: problem.rows(side) for side in problem.task.sides}
    for side in rows:
        changed = data.draw(st.lists(st.integers(0, len(problem.test) - 1), max_size=4))
        rows[side][changed] += 1
        rows[side][changed[:1], :1] *= -0.0  # changes no score but the bits
    scores = {side: problem.score(side, vectors) for side, vectors in rows.items()}
    expected = np.hstack([problem.counts(side, scores[side]) for side in task.sides])
    ranks = by_scores(problem, scores).ranks
    assert np.array_equal([ranks.above, ranks.tied, ranks.candidates], expected)
    assert bare(by_vectors(problem, rows)) == bare(tr.report(ranks))

    def unlike(tables: dict[str, Array]) -> list[int]:
        """Mark mismatched rows of tasks, by a dictionary of first rows."""
        found = []
        for side, table in tables.items():
            first: dict[Triple, bytes] = {}
            for i in problem.kept:
                row = table[i].tobytes()
                found.append(int(first.setdefault(problem.key(problem.test[i], side), row) != row))
        return found

    stored = {side: tr.open_scores(table) for side, table in scores.items()}
    for way, tables, looked_at in (
        (by_vectors, rows, rows),
        (by_scores, scores, scores),
        (by_scores, stored, scores),
    ):
        audit = way(problem, tables, audit=True).ranks.audit
        assert audit is not None
        assert audit.mismatched.tolist() == unlike(looked_at)


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2", "V2", "<f8", "i1", "<i4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_compared_by_their_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, order: str
) -> None:
    rng = np.random.default_rng(0)
    size = np.dtype(dtype).itemsize
    patterns = rng.integers(0, 256, (4, 7 * size), dtype=np.uint8)  # NaN and all else
    table = patterns[rng.integers(0, 4, 40)]
    rows, others = rng.integers(0, 40, (2, 100))
    table[3, -1] ^= 1
    array = table.view(dtype).copy(order)
    expected = [a.tobytes() != b.tobytes() for a, b in zip(array[rows], array[others], strict=True)]
    assert 10 < sum(expected) < 99
    monkeypatch.setattr(query_rows, "_CHUNK_BYTES", 100)
    monkeypatch.setattr(query_rows, "_TILE_BYTES", 24 * size)
    assert query_rows.mismatched_rows(array, rows, others).tolist() == expected
    assert query_rows.mismatched_rows(array[::-1], 39 - rows, 39 - others).tolist() == expected
    np.save(tmp_path / "part-0.npy", array[:13])
    np.save(tmp_path / "part-1.npy", array[13:])
    bfloat16 = {"dtype": "bfloat16"} if dtype == "V2" else {}
    for source in (array, f"{tmp_path}/part-*.npy"):
        with tr.open_scores(source, **bfloat16) as store:
            for io in ("map", "read"):
                found = query_rows.mismatched_stored_rows(store, rows, others, io)
                assert found.tolist() == expected


# -- a small task, by hand -------------------------------------------------------------------------

TEST = [(0, 0, 1), (2, 0, 1), (0, 0, 2), (3, 1, 0)]


@pytest.fixture
def small() -> Task:
    return Task(TEST, {"train": [(0, 0, 3)]}, entities=5, relations=2)


def test_files_and_shards_are_as_good_as_arrays(small: Task, tmp_path: Path) -> None:
    scores = np.random.default_rng(0).integers(0, 3, (2, 4, 5)).astype(np.float32)
    for name, table in zip(("tail", "head"), scores, strict=True):
        np.save(tmp_path / f"{name}.npy", table)
        np.save(tmp_path / f"{name}-0.npy", table[:1])
        np.save(tmp_path / f"{name}-1.npy", table[1:])
    expected = small.evaluate_scores(*scores, audit=True)
    told: list[Any] = []
    for ending in (".npy", "-?.npy"):
        paths = [f"{tmp_path}/{name}{ending}" for name in ("tail", "head")]
        for keywords in ({}, {"io": "read"}, {"progress": told.append}):
            report = small.evaluate_scores(*paths, audit=True, **keywords)
            assert bare(report) == expected.ranks
            assert len(report.ranks.protocol.files) == (2 if ending == ".npy" else 4)
    assert [p.done for p in told[-6:]] == sorted(p.done for p in told[-6:])
    assert told[0][:2] == (0, 160)
    assert told[-1][:2] == (160, 160)
    with pytest.raises(FileNotFoundError, match=r"missing\.npy"):
        small.evaluate_scores(f"{tmp_path}/tail.npy", f"{tmp_path}/missing.npy")


def test_vectors_may_lie_in_files_of_16_bits(small: Task, tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).integers(-3, 4, (3, 5, 2)).astype(np.float32)
    bits = (vectors.view(np.uint32) >> 16).astype(np.uint16).view("V2")
    for name, table in zip(("tail", "head", "entities"), bits, strict=True):
        np.save(tmp_path / f"{name}.npy", table[: 5 if name == "entities" else 4])
    paths = [tmp_path / f"{name}.npy" for name in ("tail", "head", "entities")]
    report = small.evaluate_embeddings(*paths, dtype="bfloat16", audit=True)
    tail, head, entities = vectors[0, :4], vectors[1, :4], vectors[2]
    expected = small.evaluate_embeddings(tail, head, entities, audit=True)
    assert bare(report) == bare(expected)
    assert expected.ranks.audit is not None
    assert expected.ranks.audit.mismatched.any()


def test_bias_may_differ_by_side(small: Task) -> None:
    vectors = np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32), np.zeros((5, 2))
    biases = {"tail": np.arange(5.0), "head": -np.arange(5.0)}
    report = small.evaluate_embeddings(*vectors, bias=biases)
    scores = (np.tile(biases[side], (4, 1)) for side in ("tail", "head"))
    assert np.array_equal(report.ranks.above, small.evaluate_scores(*scores).ranks.above)


@pytest.mark.parametrize("filters", [["query"], ["triple", "none"]])
def test_lists_of_all_candidates_count_as_scores(filters: list[str]) -> None:
    task = Task(TEST, {"train": [(0, 0, 3)]}, entities=5, relations=2, filters=filters)
    entities = np.random.default_rng(0).integers(-3, 4, (5, 3)).astype(np.float32)
    rows = entities[[3, 1, 0, 2]]
    expected = task.evaluate_scores(rows @ entities.T, rows @ entities.T)
    top = tr.topk_embeddings(rows, entities, 5, similarity="dot")
    found = task.evaluate_lists(top, head=top)
    for name in ("above", "tied", "candidates"):
        assert np.array_equal(getattr(found.ranks, name), getattr(expected.ranks, name))
    assert found.filters.keys() == expected.filters.keys()
    two = task.evaluate_lists(tr.TopK(top.ids[:, :2], None), head=top)
    assert (two.ranks.optimistic <= expected.ranks.pessimistic).all()
    with pytest.raises(tr.InputValueError, match="head: expected 3 lists, one for each distinct"):
        task.evaluate_lists(top, head=top, unique=True)
    with pytest.raises(tr.InputValueError, match="head: lists are of all candidates"):
        Task(TEST, entities=5, candidates=[0, 1, 2, 3]).evaluate_lists(top, head=top)


def test_callables_get_every_query_once(small: Task) -> None:
    asked: list[Array] = []

    def tails(queries: Array) -> Array:
        asked.append(queries.copy())
        queries[:] = -1  # its own to change
        return blank(queries)

    small.evaluate(tails, blank, batch_size=2)
    assert [len(queries) for queries in asked] == [2, 1]
    assert np.array_equal(np.concatenate(asked), small.tail.queries)
    assert sorted(map(tuple, small.tail.queries.tolist())) == sorted({t[:2] for t in TEST})


def test_read_only_scores_may_be_the_same_ones(small: Task) -> None:
    popular = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    table = np.tile(popular, (3, 1))
    expected = small.evaluate(lambda q: table[: len(q)].copy(), lambda q: table[: len(q)].copy())
    table.flags.writeable = False
    ways: list[Callable[[Array], Array]] = [
        lambda queries: np.broadcast_to(popular, (len(queries), 5)),
        lambda queries: table[: len(queries)],
    ]
    for scorer in ways:
        assert small.evaluate(scorer, scorer, batch_size=1).ranks == expected.ranks
        blocks = ((scorer(np.zeros(2)), [1, 2]) for _ in range(3))
        assert tr.rank_blocks(blocks).optimistic.tolist() == [5, 4] * 3


def test_errors_of_a_callable_come_as_they_are(small: Task) -> None:
    def tails(queries: Array) -> Array:
        raise RuntimeError("out of coffee")

    with pytest.raises(RuntimeError, match="out of coffee"):
        small.evaluate(tails, tails)


def test_other_protocols_have_sides_of_other_names() -> None:
    labels = {"relation": tr.Ranks([0, 1], [1, 1], 3, relation=["x", "y"]).relation}
    pairs = np.array([[4], [7]]), np.array([0, 1]), np.array([2, 0])
    sides = {name: SideTasks(name, *pairs, 3, labels=labels) for name in ("l_to_r", "r_to_l")}
    task = BaseTask[tr.Report](sides, tr.Protocol(candidates="exclusive", split="ref"))
    scores = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]])
    given = dict.fromkeys(sides, scores)
    report = task._evaluate_scores(given)
    assert report["l_to_r.mr"] == report["r_to_l.mr"] == report["mr"] == 2
    assert report.ranks.protocol.candidates == "exclusive"
    with pytest.raises(TypeError, match="r_to_l: expected scores for the side 'r_to_l'"):
        task._evaluate_scores({"l_to_r": scores})


def test_no_tasks_make_an_empty_report() -> None:
    nothing = np.zeros(0, np.int64)
    side = SideTasks("tail", np.zeros((0, 2), np.int64), nothing, nothing, 3)
    task = BaseTask[tr.Report]({"tail": side}, tr.Protocol())
    assert len(task._evaluate({"tail": lambda queries: np.zeros((len(queries), 3))}).ranks) == 0
    assert len(task._evaluate_scores({"tail": np.zeros((0, 3))}, audit=True).ranks) == 0


# -- what is refused -------------------------------------------------------------------------------

SHAPES = ((4, 5), (4, 4), (3, 5), (5, 5), (1, 5))
WIDE, NARROW, SHORT, SQUARE, REUSED = map(np.zeros, SHAPES)
NAN = np.where(np.arange(20).reshape(4, 5) == 7, np.nan, 0.0)
MUTE = type("Mute", (), {"__str__": None})()
NAN_MESSAGE = "tail: query 2: a score at row 0, column 2 is NaN"
NO_NUMBER = np.where(np.arange(20).reshape(4, 5) == 15, np.nan, 0.0)


HEAD_NAN = r"head: the (true )?score,? of query 3 and entity \d,? is NaN, which nan="
NO_SIDE = r"bias: expected sides of the task \(head, tail\), got 'tails'"
HEAD_BIAS = r"bias: expected one number for each entity, got shape \(4, 5\)"


def never(queries: Array) -> Array:
    raise RuntimeError("asked for scores")


def blank(queries: Array) -> Array:
    return np.zeros((len(queries), 5))


CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ("scores", (WIDE,), {}, TypeError, "head: expected scores for the side 'head', got None"),
    ("scores", (WIDE, WIDE), {"relation": WIDE}, TypeError, "relation: expected None"),
    ("scores", (WIDE, NARROW), {}, ValueError, r"head: expected .* \(4, 5\).* got \(4, 4\)"),
    ("scores", (SHORT, WIDE), {}, ValueError, r"tail: .*\(4, 5\), a row for each query of"),
    ("scores", (WIDE, WIDE), {"unique": True}, ValueError, r"head: .*\(3, 5\).*distinct"),
    ("scores", (WIDE[0], WIDE), {}, ValueError, r"tail: expected .* got \(5,\)"),
    ("scores", (WIDE, NAN), {}, ValueError, "head: a score at row 1, column 2 is NaN"),
    ("scores", (WIDE, WIDE), {"dtype": "int3"}, TypeError, "dtype: expected one of"),
    ("scores", (WIDE, WIDE), {"dtype": MUTE}, TypeError, "dtype: expected one of"),
    ("scores", (WIDE, WIDE.astype("c8")), {}, TypeError, "head: expected one of float16"),
    ("embeddings", (WIDE, WIDE), {}, TypeError, "entities: expected vectors for the side"),
    ("embeddings", (WIDE, None, WIDE), {}, TypeError, "head: expected vectors for"),
    ("embeddings", (WIDE, WIDE, WIDE), {}, ValueError, r"entities: .*\(5, d\).* got \(4, 5\)"),
    ("embeddings", (WIDE, SHORT, SHORT), {}, ValueError, r"head: .*\(4, d\).*\(3, 5\)"),
    ("embeddings", (WIDE, WIDE[0], WIDE), {}, ValueError, r"head: .*got \(5,\)"),
    ("embeddings", (WIDE, "none.npy", WIDE), {}, FileNotFoundError, r"none\.npy"),
    ("embeddings", (WIDE, WIDE, WIDE), {"relations": WIDE}, TypeError, "relations: expected None"),
    ("callables", (len,), {}, TypeError, "head: expected a callable for the side 'head'"),
    ("callables", (len, 3), {}, TypeError, "head: expected a callable, got int"),
    ("callables", (lambda q: WIDE, blank), {}, ValueError, r"tail: .*\(3, 5\), .* got \(4, 5\)"),
    ("callables", (lambda q: None, blank), {}, TypeError, "tail: expected one of float16"),
    ("callables", (lambda q: REUSED, blank), {"batch_size": 1}, ValueError, "tail: .* memory"),
    ("callables", (lambda q: NAN[q[:, 0] - 2], blank), {"batch_size": 2}, ValueError, NAN_MESSAGE),
    ("embeddings", (WIDE, NO_NUMBER, SQUARE), {}, ValueError, HEAD_NAN),
    ("embeddings", (WIDE, WIDE, SQUARE), {"bias": {"tails": WIDE[0]}}, ValueError, NO_SIDE),
    ("embeddings", (WIDE, WIDE, SQUARE), {"bias": {"head": WIDE}}, ValueError, HEAD_BIAS),
    ("scores", (WIDE, "none.npy"), {"progress": 3}, TypeError, "progress: expected a callable"),
    ("callables", (lambda q: NAN[q[:, 0] // 2], blank), {}, ValueError, "tail: queries 0 to 2: a"),
    ("callables", (never, never), {"order": "up"}, ValueError, "order: expected one of desc"),
    ("callables", (never, never), {"nan": "no"}, ValueError, "nan: expected one of raise"),
    ("callables", (never, never), {"threads": 0}, ValueError, "threads: expected an integer >= 1"),
    (
        "callables",
        (blank, blank),
        {"batch_size": 0},
        ValueError,
        "batch_size: expected an integer >= 1",
    ),
    ("callables", (blank, blank), {"batch_size": 2.0}, TypeError, "batch_size: expected an int"),
]


@pytest.mark.parametrize(("way", "values", "keywords", "kind", "message"), CASES)
def test_what_does_not_fit_is_refused_by_name(
    small: Task,
    way: str,
    values: tuple[Any, ...],
    keywords: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    ways = {
        "scores": small.evaluate_scores,
        "embeddings": small.evaluate_embeddings,
        "callables": small.evaluate,
    }
    with pytest.raises(kind, match=message if kind is FileNotFoundError else f"^{message}"):
        ways[way](*values, **keywords)


# -- WN18RR ----------------------------------------------------------------------------------------
