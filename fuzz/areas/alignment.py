"""`alignment`: tasks, both directions, candidates, CSLS and inferred pairs by definition."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles import embeddings, matching
from oracles.alignment import Array
from oracles.counting import Refused
from strategies.alignments import NAN_RULES, Alignment, alignments, matrices, vectors
from strategies.score_matrices import METHODS
from support.alignment_runs import TILES, expected_of, outcome
from support.alignment_runs import check as compare
from support.problems import LAYOUTS, assert_same
from truerank.alignment import infer

CORE = True
KEPT = [name for name in LAYOUTS if not name.endswith("for all")]


@contextlib.contextmanager
def tiles_of(most: int) -> Any:
    """Count in tiles of so many bytes."""
    with contextlib.ExitStack() as stack:
        for module, name in TILES:
            stack.enter_context(mock.patch.object(module, name, most))
        yield


def lists(side: Any) -> list[list[int]]:
    """Return the right answers of each task, which the filter leaves out."""
    indptr, indices = (part.tolist() for part in side.filter)
    return [indices[indptr[i] : indptr[i + 1]] for i in side.rows.tolist()]


@check(alignments(), inputs=100)
def tasks(drawn: Alignment) -> None:
    """Queries, targets, filter, candidates and the audit."""
    task = drawn.task()
    found = drawn.found
    assert task.pairs.tolist() == [list(drawn.test[i]) for i in drawn.chosen]
    for j, (name, expected) in enumerate(drawn.sides.items()):
        side = task.sides[name]
        assert side.queries[side.rows, 0].tolist() == expected.queries
        assert side.targets.tolist() == expected.targets
        assert side.columns == drawn.sizes[1 - j]
        if drawn.known is not None:
            every = [
                {*others, t} for others, t in zip(expected.others, expected.targets, strict=False)
            ]
            assert [sorted(answers) for answers in lists(side)] == list(map(sorted, every))
    among = task.candidates or tuple(np.arange(size) for size in drawn.sizes)
    assert tuple(part.tolist() for part in among) == drawn.among
    audit = task.audit
    assert audit.duplicates.count == len(found.duplicates)
    assert {n: f.count for n, f in audit.leaks.items()} == {
        n: len(where) for n, where in found.leaks.items()
    }


@check(alignments(), st.data(), inputs=100)
def scores(drawn: Alignment, data: Any) -> None:
    """Matrices in memory of any layout, in tiles of any size, and callables."""
    given = data.draw(matrices(drawn.sizes))
    k = data.draw(st.none() | st.integers(1, 9))
    orders = ["descending", "ascending"] if k is None else ["descending"]
    rules = {
        "order": data.draw(st.sampled_from(orders)),
        "nan": data.draw(st.sampled_from(NAN_RULES)),
        "audit": data.draw(st.booleans()),
    }
    shaped = LAYOUTS[data.draw(st.sampled_from(KEPT))](given)
    threads = data.draw(st.sampled_from([1, 2]))
    with tiles_of(data.draw(st.sampled_from([1, 8, 40, 1 << 20]))):
        got = outcome(
            lambda: drawn.task().evaluate_scores(shaped, csls=k, threads=threads, **rules)
        )
    compare(drawn, got, given, k, **rules)
    if k is None and isinstance(got, tr.Report) and not np.isnan(given).any():
        again = drawn.task().evaluate(
            left_to_right=lambda queries: given[queries[:, 0]],
            right_to_left=lambda queries: np.ascontiguousarray(given.T)[queries[:, 0]],
            batch_size=data.draw(st.sampled_from([None, 1, 3])),
            **rules,
        )
        compare(drawn, again, given, k, **rules)


@check(alignments(), st.data(), inputs=60)
def embedded(drawn: Alignment, data: Any) -> None:
    """Embeddings, with and without CSLS, in blocks of any size."""
    left, right = data.draw(vectors(drawn.sizes))
    if data.draw(st.integers(0, 4)) == 0:
        odd = data.draw(st.sampled_from([np.nan, np.inf]))
        (left if data.draw(st.booleans()) else right)[0, 0] = odd
    similarity = data.draw(st.sampled_from(embeddings.EXACT))
    k = data.draw(st.none() | st.integers(1, 9))
    rules = {"nan": data.draw(st.sampled_from(NAN_RULES))}
    audit = data.draw(st.booleans())
    got = outcome(
        lambda: drawn.task().evaluate_embeddings(
            *(left, right),
            similarity=similarity,
            csls=k,
            audit=audit,
            block=data.draw(st.sampled_from([None, 1, 3])),
            threads=data.draw(st.sampled_from([1, 2])),
            **rules,
        )
    )
    expected, _ = expected_of(drawn, embeddings.score(left, right, similarity), k, **rules)
    if isinstance(expected, Refused):
        assert isinstance(got, ValueError), f"should have refused: {expected}"
        assert "is NaN" in str(got), got
        return
    assert isinstance(got, tr.Report), f"refused without need: {got!r}"
    assert_same(got.ranks, expected, audit=audit)


# -- inferred pairs --------------------------------------------------------------------------------


@st.composite
def similarities(draw: st.DrawFn, most: int) -> Array:
    shape = draw(st.integers(0, most)), draw(st.integers(0, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    palettes = [(0, 1), (0, 1, 2, 3, 5, 7), (-1, 0.5, 0, np.nan), (0, -0.0, np.inf, -np.inf, 1)]
    values = draw(st.sampled_from([*palettes, (0.1, 0.2, 0.7, np.nan, 9)]))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    return rng.choice(np.array(values, dtype), shape)


def expected_pairs(given: Array, method: str, backwards: bool) -> list[tuple[int, int]]:
    """Return the pairs of a method by definition; "optimal" is checked by its total."""
    height, width = given.shape
    table, turned = given.tolist(), [[row[j] for row in given.tolist()] for j in range(width)]
    if method == "stable":
        return matching.textbook(table, height, width)
    forward = matching.most_similar(table, height)
    backward = [(i, j) for j, i in matching.most_similar(turned, width)]
    if method == "greedy":
        return sorted(backward) if backwards else forward
    return sorted({*forward} & {*backward})


@check(
    similarities(6),
    st.sampled_from(METHODS),
    st.booleans(),
    st.sampled_from([1, 2, 3, 32]),
    st.none() | st.sampled_from([-1.0, 0.0, 0.5, 2.0]),
    st.data(),
    inputs=200,
)
def inferred(
    given: Array, method: str, backwards: bool, k: int, threshold: float | None, data: Any
) -> None:
    """Greedy, mutual, stable and optimal pairs of a part of both sides."""
    ids: list[Any] = [
        data.draw(st.none() | st.lists(st.integers(0, n - 1), unique=True)) if n else None
        for n in given.shape
    ]
    if method == "optimal" and np.isinf(given).any():
        return
    how = {"direction": "right_to_left"} if backwards and method == "greedy" else {}
    found = infer(
        given, None, method=method, nan="omit", k=k, left_ids=ids[0], right_ids=ids[1],
        threshold=threshold, **how,
    )  # fmt: skip
    who = [sorted(range(n) if i is None else i) for i, n in zip(ids, given.shape, strict=True)]
    part = given[np.ix_(*who)]
    pairs = [tuple(pair) for pair in found.pairs.tolist()]
    np.testing.assert_array_equal(found.scores, [given[pair] for pair in pairs])
    if method == "optimal":
        assert pairs == sorted(pairs)
        assert all(len({*side}) == len(side) for side in zip(*pairs, strict=True))
        if threshold is None:
            number, total = matching.best(part)
            assert len(pairs) == number
            assert abs(found.total - total) < 1e-9
        return
    expected = [(who[0][i], who[1][j]) for i, j in expected_pairs(part, method, backwards)]
    if threshold is not None:
        expected = [pair for pair in expected if given[pair] >= threshold]
    assert pairs == expected


FAULTS = [
    Fault(
        "an off-by-one in a filter",
        "python/truerank/alignment/aligned_pairs.py",
        "is_free[known[:, j]] = False",
        "is_free[known[1:, j]] = False",
    ),
    Fault(
        "a wrong tie rule",
        "python/truerank/alignment/inference/one_to_one.py",
        "result |= (scores == held) & (left < holders)",
        "result |= (scores == held) & (left > holders)",
    ),
]
