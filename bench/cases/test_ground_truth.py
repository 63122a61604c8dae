"""Ground truth of vector indexes: the exact k nearest, against what their builders use."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import truerank as tr
from harness import Compare, Pair, Results, Team
from harness.synthetic import Sizes
from harness.vectors import draw_clustered
from peers import prepare_peers
from peers.embeddings import EmbeddingProblem
from peers.ground_truth import count_wrong, neighbour_peers

K = 100
DIM = 128
# Of fewer than 1,000 queries at once, faiss scores several times fewer pairs a second.
FULL_SHAPE = 1_000, 1_000_000  # queries and entities
QUICK_SHAPE = 1_000, 20_000
STEP = 10  # Slow peers get every tenth query, and so do the checks of ids.
SCALE = 32  # Clustered vectors have a standard deviation of about 1, and numbers of SIFT about 35.
MEMORY = 6e9  # bytes: vectors, those of two indexes, and what checks compute in float64


@cache
def draw_like_sift(shape: tuple[int, int], dtype: str) -> tuple[Any, Any]:
    """Return queries and entities in clusters, of numbers from 0 to 255; as bytes, whole ones."""
    problem = draw_clustered(shape, DIM, "sql2")
    queries, entities = (
        np.minimum(np.abs(rows) * np.float32(SCALE), 255)
        for rows in (problem.queries, problem.entities)
    )
    if dtype == "uint8":
        queries, entities = np.rint(queries), np.rint(entities)
    return queries.astype(dtype), entities.astype(dtype)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_ground_truth(
    dtype: str,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    team: Team,
    require_memory: Callable[[float], None],
) -> None:
    """The ids of the 100 nearest by squared distance; a remark says how many of a peer's err."""
    if not sizes.quick:
        require_memory(MEMORY)
    shape = QUICK_SHAPE if sizes.quick else FULL_SHAPE
    vectors = draw_like_sift(shape, dtype)
    problem = EmbeddingProblem(*vectors, np.zeros(shape[0], np.int64), team.threads)
    some = problem._replace(queries=problem.queries[::STEP])
    contestants: dict[str, Callable[[], Any]] = {
        "truerank": lambda: (
            tr.topk_embeddings(*vectors, K, similarity="sql2", threads=team.argument).ids
        )
    }
    peers, slow = neighbour_peers(dtype, K)
    contestants |= prepare_peers(peers, problem, results)
    work = dict.fromkeys(contestants, problem.work)
    for name, call in prepare_peers(slow, some, results).items():
        title = f"{name}, {len(some.queries)} queries"
        contestants[title] = call
        work[title] = some.work
    times = compare(
        f"top {K} of {shape[1]:,} by sql2, d = {DIM}, {dtype}, {team}",
        contestants,
        [Pair("truerank", name) for name in contestants if name != "truerank"],
        nbytes=work,
        unit="G/s",
        rounds=max(3, sizes.rounds // 5),  # a call takes ten seconds
        budget=math.inf,
        agree=False,
    )
    ids = {name: times[name].result[:: work[name] // some.work] for name in contestants}
    for name, wrong in count_wrong(ids, some).items():
        if wrong:
            results.add_remark(
                f"{name}, {dtype}, {team}: {wrong} of {ids[name].size:,} ids wrong, as {K} or more "
                "entities are nearer"
            )


# Times the time of a sum of all bytes.
FEW_GOALS = {1: 4.0, 10: 12.0}


@pytest.mark.parametrize("count", FEW_GOALS)
def test_few_queries(count: int, compare: Compare, sizes: Sizes, team: Team) -> None:
    """A few queries of bytes, which read entities where they lie, against a sum of these."""
    shape = QUICK_SHAPE if sizes.quick else (1_000, 300_000)
    queries, entities = draw_like_sift(shape, "uint8")
    words = entities.view(np.uint64)
    targets = np.arange(count)
    goal = None if sizes.quick else FEW_GOALS[count]
    compare(
        f"{count} queries of bytes, {shape[1]:,} entities, d = {DIM}, {team}",
        {
            "truerank": lambda: tr.rank_embeddings(
                queries[:count], entities, targets, similarity="sql2", threads=team.argument
            ),
            "a sum": words.sum,
        },
        [Pair("truerank", "a sum", "cost", goal=goal)],
        nbytes=entities.nbytes,
        agree=False,
    )


def lists_of_index(ids: Any, entities: int, share: float) -> Any:
    """Return lists that miss a share of the exact ids, in whose places others are."""
    rng = np.random.default_rng(round(100 * share))
    found = ids.copy()
    is_lost = rng.random(ids.shape) < share
    found[is_lost] = rng.integers(0, entities, np.count_nonzero(is_lost))
    return found


@pytest.mark.parametrize("k", [10, K])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_recall(
    dtype: str,
    k: int,
    compare: Compare,
    sizes: Sizes,
    team: Team,
    require_memory: Callable[[float], None],
) -> None:
    """A search in double precision, beside it and the recall of an index, and of ten."""
    if not sizes.quick:
        require_memory(MEMORY)
    queries, entities = draw_like_sift(QUICK_SHAPE if sizes.quick else FULL_SHAPE, dtype)
    search: dict[str, Any] = {"similarity": "sql2", "threads": team.argument}
    wide = queries if dtype == "uint8" else queries.astype(np.float64)
    ids = tr.topk_embeddings(wide, entities, k, **search).ids
    lists = [lists_of_index(ids, len(entities), share) for share in np.linspace(0.01, 0.3, 10)]

    def measure(files: list[Any]) -> Any:
        first: Any = None
        truth = tr.topk_embeddings(wide, entities, k, **search)
        recalls = []
        for found in files:
            report = tr.evaluate_topk(queries, entities, found, truth, duplicates="first", **search)
            first = report if first is None else first
            tr.compare(report, first, metric=f"recall@{k}")
            recalls.append(report.interval(f"recall@{k}").value)
        return np.array(recalls)

    times = compare(
        f"recall of the top {k} of {len(entities):,} by sql2, d = {DIM}, {dtype}, {team}",
        {
            "search": lambda: tr.topk_embeddings(wide, entities, k, **search).ids,
            "search, and recall of an index": lambda: measure(lists[:1]),
            "search, and recall of ten": lambda: measure(lists),
        },
        [
            Pair("search, and recall of an index", "search", "cost", 1.3),
            Pair("search, and recall of ten", "search", "cost", 1.3),
        ],
        nbytes=len(queries) * len(entities) * DIM,
        rounds=max(3, sizes.rounds // 5),
        budget=math.inf,
        agree=False,
    )
    recalls = times["search, and recall of ten"].result
    assert (np.diff(recalls) < 0).all()
    np.testing.assert_allclose(recalls, 1 - np.linspace(0.01, 0.3, 10), atol=0.05)


@pytest.mark.parametrize("copies", [False, True], ids=["drawn", "near copies"])
def test_double_precision(
    copies: bool,
    compare: Compare,
    results: Results,
    sizes: Sizes,
    team: Team,
    require_memory: Callable[[float], None],
) -> None:
    """Queries of float64 beside those of float32; a remark says how many ids of these err."""
    if not sizes.quick:
        require_memory(MEMORY)
    shape = (100, 20_000) if sizes.quick else (1_000, 100_000)
    problem = draw_clustered(shape, 768, "cosine")
    queries, entities = problem.queries, problem.entities.copy()
    kind = "near copies" if copies else "drawn"
    if copies:
        half = len(entities) // 2
        noise = np.random.default_rng(1).standard_normal((half, 768), dtype=np.float32)
        entities[half : 2 * half] = entities[:half] * (1 + np.float32(1e-5) * noise)
    wide = queries.astype(np.float64)
    search: dict[str, Any] = {"similarity": "cosine", "threads": team.argument}
    times = compare(
        f"top 10 of {shape[1]:,} by cosine, d = 768, {kind}, {team}",
        {
            "float32": lambda: tr.topk_embeddings(queries, entities, 10, **search).ids,
            "queries of float64": lambda: tr.topk_embeddings(wide, entities, 10, **search).ids,
        },
        [Pair("queries of float64", "float32", "cost", 1.8)],
        nbytes=shape[0] * shape[1] * 768,
        rounds=max(3, sizes.rounds // 5),
        budget=math.inf,
        agree=False,
    )
    exact, single = times["queries of float64"].result, times["float32"].result
    wrong = [len({*a} - {*b}) for a, b in zip(single.tolist(), exact.tolist(), strict=True)]
    results.add_remark(
        f"float32, {kind}, {team}: {sum(wrong)} of {exact.size:,} "
        f"ids wrong, and {np.count_nonzero(single[:, 0] != exact[:, 0])} of {len(exact):,} first"
    )
