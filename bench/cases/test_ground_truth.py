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
QUICK_SHAPE = 100, 20_000
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
