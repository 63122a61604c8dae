"""Counts of vectors with bounds and without: rates, and the share of pairs that bounds leave open.

    python bench/studies/bounds.py DATA_FOLDER VECTORS_FOLDER [--parts ...] [--only REGEX]
        [--threads 1 2] [--rounds 7] [--output FOLDER]

DATA_FOLDER holds wn18rr and dbp15k_zh_en, VECTORS_FOLDER what `wn18rr_vectors.py` wrote. Truerank
with bounds and without runs in turn with the peak of multiply-adds; both must count the same.
`--parts` and `--only` choose what is measured; the figures are merged into bounds.tsv, from which
bounds.md is written. Needs scipy; torch and faiss for the peers.
"""

from __future__ import annotations

import logging
import platform
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness
from bounds_page import BOUNDS, OFF, PEAK, Figure, make_page
from pages import arguments, read_rows, write_rows

import truerank as tr
from baselines.compiled import PeakFMA
from harness import Results, time_in_turn
from harness.vectors import HOSTILE, VectorProblem
from peers.embeddings import scored_by
from truerank import _core

Array = NDArray[Any]
Counted = tuple[Array, Array]
Job = tuple[Callable[[], Any], int]  # a call, and the coordinates of pairs that it takes

HERE = Path(__file__).parent
HOSTILE_SHAPE = 2_048, 20_000
HOSTILE_SIMILARITIES = ("l1", "dot", "cosine", "l2", "complex_l1")
KS = (10, 100, 1_000)
CSLS = 10
PEAK_ROUNDS = 1_500
PEER_QUERIES = 1_024  # peers get so many queries
SLOW_WORK = 10**9  # slow peers get so much work

MODELS = {
    "transe": "TransE",
    "distmult": "DistMult",
    "rotate": "RotatE",
    "complex": "ComplEx",
    "hyperbolic": "hyperbolic TransE",
}
DIMS = (64, 256)
RANDOM_TARGETS = ", random targets"
ALIGNMENT = "alignment vectors, d = 300"
ZERO_QUERIES = {  # entities without neighbours
    ", 1.5 % of the queries zero": 0.015,
    ", 5 % of the queries zero": 0.05,
}


class Source(NamedTuple):
    """Where data and vectors lie."""

    data: Path
    vectors: Path


class Given(NamedTuple):
    """What a measurement is given."""

    source: Source
    peak: PeakFMA
    rounds: int


# -- problems, and what is run ---------------------------------------------------------------------


@lru_cache(maxsize=2)
def problem(source: Source, name: str) -> VectorProblem:
    """Return the problem of a name of `count_cases`."""
    if ": " in name:
        similarity, kind = name.split(": ")
        return HOSTILE[kind](HOSTILE_SHAPE, similarity)
    if name.startswith("alignment"):
        left, right, _, test = alignment(source)
        queries = left[test[:, 0]]
        share = ZERO_QUERIES.get(name.removeprefix(ALIGNMENT), 0.0)
        order = np.random.default_rng(0).permutation(len(queries))
        queries[order[: round(share * len(queries))]] = 0
        return VectorProblem("cosine", queries, right, test[:, 1])
    found = trained(source, name.removesuffix(RANDOM_TARGETS))
    if name.endswith(RANDOM_TARGETS):
        targets = np.random.default_rng(0).integers(0, len(found.entities), len(found.targets))
        return found._replace(targets=targets, filter=None)
    return found


def trained(source: Source, name: str) -> VectorProblem:
    """Return both sides of WN18RR's test: distinct queries, their targets and their filter."""
    from graphs import wordnet
    from wn18rr_vectors import RECIPES, points_of, task_of

    title, dim = name.split(", d = ")
    model = next(key for key, known in MODELS.items() if known == title)
    stored = np.load(source.vectors / f"{model}-{dim}.npz")
    entities = stored["entities"]
    graph = wordnet(source.data / "wn18rr")
    task, vectors = task_of(model, graph, entities, stored["relations"])
    indptr, indices, _ = task.tail.filter
    more, others, _ = task.head.filter
    rows = np.concatenate([task.tail.rows, task.head.rows + len(vectors["tail"])])
    targets = np.concatenate([task.tail.targets, task.head.targets])
    both_indptr = np.concatenate([indptr, more[1:] + indptr[-1]])
    lists = (both_indptr, np.concatenate([indices, others]), rows)
    similarity = RECIPES[model].similarity
    points = points_of(model, entities)
    both = np.concatenate([vectors["tail"], vectors["head"]])
    return VectorProblem(similarity, both, points, targets, rows, lists)


@lru_cache(maxsize=1)
def alignment(source: Source) -> tuple[Array, Array, Array, Array]:
    """Return the embeddings of DBP15k zh-en, and the pairs for training and for testing."""
    from alignment_vectors import make_embeddings

    data = tr.alignment.read_dbp15k(source.data / "dbp15k_zh_en")
    order = np.argsort(np.random.PCG64(0).random_raw(len(data.pairs)), kind="stable")
    train, test = (data.pairs[np.sort(ids)] for ids in np.split(order, [3 * len(order) // 10]))
    path = source.vectors / "alignment.npz"
    if not path.exists():
        left, right = make_embeddings(data, train)
        np.savez(path, left=left, right=right)
    stored = np.load(path)
    return stored["left"], stored["right"], train, test


def counts(source: Source, name: str, threads: int) -> Job:
    """Count the ranks of a problem."""
    given = problem(source, name)
    vectors = given.queries, given.entities, given.targets
    options = scored_by(given.similarity) | {"rows": given.rows, "filter": given.filter}

    def count() -> Counted:
        ranks = tr.rank_embeddings(*vectors, threads=threads, **options)
        return ranks.above, ranks.tied

    return count, given.work


def top_k(source: Source, name: str, threads: int) -> Job:
    """Find the k most similar of each query."""
    name, k = name.split(", k = ")
    given = problem(source, name)
    vectors = (given.queries, given.entities)
    options = scored_by(given.similarity)

    def find() -> Counted:
        top = tr.topk_embeddings(*vectors, int(k), threads=threads, **options)
        return top.ids, top.scores

    return find, given.work


def both_directions(source: Source, name: str, threads: int) -> Job:
    """Evaluate both directions of the alignment among all entities of the other side."""
    left, right, train, test = alignment(source)
    task = tr.alignment.Task(test, left=len(left), right=len(right), known={"train": train})
    csls = CSLS if "CSLS" in name else None

    def evaluate() -> Counted:
        ranks = task.evaluate_embeddings(left, right, csls=csls, threads=threads).ranks
        return ranks.above, ranks.tied

    return evaluate, len(left) * right.size


RUNS: dict[str, Callable[[Source, str, int], Job]] = {
    "counts": counts,
    "hostile": counts,
    "top k": top_k,
    "alignment": both_directions,
    "peers": counts,
}


def cases_of(part: str) -> Iterator[str]:
    """Yield the names of the cases of a part."""
    trained_models = [f"{title}, d = {dim}" for title in MODELS.values() for dim in DIMS]
    if part in ("counts", "peers"):
        yield from trained_models
        yield ALIGNMENT
    elif part == "hostile":
        yield from (name + RANDOM_TARGETS for name in trained_models)
        yield from (ALIGNMENT + zero for zero in ZERO_QUERIES)
        yield from (f"{s}: {kind}" for s in HOSTILE_SIMILARITIES for kind in HOSTILE)
    elif part == "top k":
        for name in ("DistMult, d = 256", "TransE, d = 64", ALIGNMENT):
            yield from (f"{name}, k = {k}" for k in KS)
    else:
        yield from ("both directions", f"both directions, CSLS {CSLS}")


# -- measuring -------------------------------------------------------------------------------------


def measure(
    given: Given, part: str, case: str, threads: int, others: dict[str, Job]
) -> list[Figure]:
    """Run truerank both ways, the peak and further contestants in turn."""
    call, work = RUNS[part](given.source, case, threads)
    tallies: dict[str, Array] = {}

    def ours(name: str) -> Counted:
        levels = "off" if name == OFF else ""
        assert _core.choose_bounds(levels)
        before = np.array(_core.bounds_tally())
        found = call()
        tallies[name] = np.array(_core.bounds_tally()) - before
        return found

    jobs: dict[str, Job] = {name: (partial(ours, name), work) for name in (BOUNDS, OFF)}
    jobs |= {**others, PEAK: given.peak.contestant("float32", threads, PEAK_ROUNDS)}
    calls = {name: call for name, (call, _) in jobs.items()}
    times = time_in_turn(calls, given.rounds, budget=np.inf, rest=0.0, memory=False)
    for ones, same in zip(times[BOUNDS].result, times[OFF].result, strict=True):
        np.testing.assert_array_equal(ones, same, err_msg=case)
    return [
        Figure(part, case, threads, name, times[name].best, work, *map(int, tallies.get(name, ())))
        for name, (_, work) in jobs.items()
    ]


def peer_calls(source: Source, case: str, threads: int) -> dict[str, Job]:
    """Return what others offer: calls, and the work of each."""
    from peers import prepare_peers
    from peers.embeddings import SCORING, SLOW, EmbeddingProblem, top_k_peers

    name, *k = case.split(", k = ")
    given = problem(source, name)
    size = PEER_QUERIES
    whole = EmbeddingProblem(given.queries, given.entities, given.targets, threads)
    if k:
        tables = [(top_k_peers(int(k[0]), given.similarity), size)]
    else:
        slow = max(8, SLOW_WORK // given.entities.size)
        similarity = given.similarity
        tables = [(SCORING.get(similarity, {}), size), (SLOW.get(similarity, {}), slow)]
    found = {}
    for table, queries in tables:
        first = whole.first(queries)
        calls = prepare_peers(table, first, Results())
        found |= {peer: (call, first.work) for peer, call in calls.items()}
    return found


def main(
    data: Path,
    vectors: Path,
    parts: list[str],
    only: str,
    threads: list[int],
    rounds: int,
    output: Path,
) -> None:
    """Measure, merge the figures and write the page."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    path = output / "bounds.tsv"
    source = Source(data.resolve(), vectors.resolve())
    with tempfile.TemporaryDirectory() as directory:
        given = Given(source, PeakFMA(Path(directory), _core.isa()), rounds)
    for part in parts:
        for case in (case for case in cases_of(part) if re.search(only, case)):
            for count in threads:
                compared = part in ("peers", "top k")
                others = peer_calls(source, case, count) if compared else {}
                new = measure(given, part, case, count, others)
                for figure in new:
                    print(*figure[:4], f"{figure.seconds:.4f} s", f"{figure.rate / 1e9:.1f} G/s",
                          *figure[6:], sep=", ", flush=True)  # fmt: skip
                replaced = {figure[:3] for figure in new}
                kept = [f for f in read_rows(path, Figure) if f[:3] not in replaced]
                write_rows(path, kept + new)
    facts = (
        f"- Python {platform.python_version()}, numpy {np.__version__}, truerank's instruction set "
        f"{_core.isa()}, {_core.default_threads()} cores"
    )
    page = make_page(read_rows(path, Figure), facts, models(source), PEER_QUERIES)
    (output / "bounds.md").write_text(page, encoding="utf-8")


def models(source: Source) -> str:
    """Return the models and their MRR."""
    found = []
    for key, title in MODELS.items():
        for dim in DIMS:
            mrr = float(np.load(source.vectors / f"{key}-{dim}.npz")["mrr"])
            found.append(f"{title} d = {dim}: MRR {mrr:.3f}")
    return ", ".join(found)


if __name__ == "__main__":
    options = {"parts": list(RUNS), "only": "", "threads": [1, 2], "rounds": 7, "output": HERE}
    main(**arguments(__doc__, "data", "vectors", **options))
