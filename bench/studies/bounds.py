"""Counts of vectors with bounds and without: rates, and the share of pairs that bounds leave open.

    python bench/studies/bounds.py DATA_FOLDER VECTORS_FOLDER [--parts ...] [--only REGEX]
        [--threads 1 2] [--rounds 7] [--output FOLDER]

DATA_FOLDER holds wn18rr and dbp15k_zh_en, VECTORS_FOLDER what `wn18rr_vectors.py` wrote. Truerank
with bounds and without runs in turn with the peak of multiply-adds; both must count the same.
`--parts` and `--only` choose what is measured; the figures are merged into bounds.tsv, from which
bounds.md is written. Needs scipy; torch and faiss for the peers.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import platform
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness
from bounds_page import BOUNDS, OFF, PEAK, Figure, make_page, read_figures, write_figures

import truerank as tr
from baselines.compiled import PeakFMA
from harness import Results
from harness.vectors import HOSTILE, VectorProblem
from truerank import _core

Array = NDArray[Any]

HERE = Path(__file__).parent
HOSTILE_SHAPE = 2_048, 20_000
HOSTILE_SIMILARITIES = ("l1", "dot", "complex_l1")
KS = (10, 100, 1_000)
CSLS = 10
PEAK_ROUNDS = 1_500
PEER_QUERIES, SLOW_WORK = 1_024, 10**9  # peers get this many queries; slow ones this work

MODELS = {"transe": "TransE", "distmult": "DistMult", "rotate": "RotatE", "complex": "ComplEx"}
DIMS = (64, 256)
RANDOM_TARGETS = ", random targets"


class Source(NamedTuple):
    """Where data and vectors lie."""

    data: Path
    vectors: Path


class Given(NamedTuple):
    """What a measurement is given."""

    source: Source
    peak: PeakFMA
    rounds: int


class Run(NamedTuple):
    """One call: its seconds, a digest of what it counted, and the share of pairs left open."""

    seconds: float
    digest: str
    work: int


# -- problems, and what is run ---------------------------------------------------------------------


@lru_cache(maxsize=2)
def problem(source: Source, name: str) -> VectorProblem:
    """Return the problem of a name of `count_cases`."""
    if ": " in name:
        similarity, kind = name.split(": ")
        return HOSTILE[kind](HOSTILE_SHAPE, similarity)
    if name.startswith("alignment"):
        left, right, _, test = alignment(source)
        return VectorProblem("cosine", left[test[:, 0]], right, test[:, 1])
    found = trained(source, name.removesuffix(RANDOM_TARGETS))
    if name.endswith(RANDOM_TARGETS):
        targets = np.random.default_rng(0).integers(0, len(found.entities), len(found.targets))
        return found._replace(targets=targets, filter=None)
    return found


def file_of(name: str) -> tuple[str, int]:
    """Return the key and the dimension of a trained model."""
    title, dim = name.split(", d = ")
    return next(key for key, model in MODELS.items() if model == title), int(dim)


def trained(source: Source, name: str) -> VectorProblem:
    """Return both sides of WN18RR's test: distinct queries, their targets and their filter."""
    from graphs import wordnet
    from wn18rr_vectors import RECIPES, queries

    model, dim = file_of(name)
    stored = np.load(source.vectors / f"{model}-{dim}.npz")
    graph = wordnet(source.data / "wn18rr")
    known = {split: graph.triples[split] for split in ("train", "valid")}
    task = tr.link_prediction.Task(graph.triples["test"], known=known, entities=graph.entities)
    vectors, targets, rows, indptr, indices = [], [], [], [np.zeros(1, np.int64)], []
    for side in ("tail", "head"):
        tasks = task.sides[side]
        ids = tasks.queries if side == "tail" else tasks.queries[:, ::-1]
        vectors.append(
            queries(model, stored["entities"], stored["relations"], ids, heads=side == "head")
        )
        rows.append(tasks.rows + (len(vectors[0]) if side == "head" else 0))
        targets.append(tasks.targets)
        indptr.append(tasks.filter[0][1:] + indptr[-1][-1])
        indices.append(tasks.filter[1])
    joined = [np.concatenate(arrays) for arrays in (vectors, targets, rows, indptr, indices)]
    selection = joined[3], joined[4], joined[2]
    return VectorProblem(
        RECIPES[model].similarity,
        joined[0],
        stored["entities"],
        joined[1],
        joined[2],
        selection,
    )


@lru_cache(maxsize=1)
def alignment(source: Source) -> tuple[Array, Array, Array, Array]:
    """Return the embeddings of DBP15k zh-en, and the pairs for training and for testing."""
    from alignment_vectors import make_embeddings, split

    parts = split(tr.alignment.read_dbp15k(source.data / "dbp15k_zh_en"))
    path = source.vectors / "alignment.npz"
    if not path.exists():
        made = make_embeddings(
            tr.alignment.read_dbp15k(source.data / "dbp15k_zh_en"), parts["train"]
        )
        np.savez(path, left=made.left, right=made.right)
    stored = np.load(path)
    return stored["left"], stored["right"], parts["train"], parts["test"]


def digest(*arrays: Array) -> str:
    """Return a digest of the bytes of arrays."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays)).hexdigest()


class Tally(NamedTuple):
    """What became of the pairs of all calls of this process, of a task and a candidate."""

    pairs: int
    bounded: int  # decided by bounds, or left open
    open: int  # left open by the bounds in small integers
    scored: int  # left open by bounds in float32, too

    @classmethod
    def read(cls) -> Tally:
        return cls(*_core.bounds_tally())

    def since(self, before: Tally) -> Tally:
        return Tally(*(now - then for now, then in zip(self, before, strict=True)))


def run_counts(source: Source, name: str, threads: int) -> Run:
    """Count the ranks of a problem."""
    given = problem(source, name)
    start = time.perf_counter()
    ranks = tr.rank_embeddings(
        *(given.queries, given.entities, given.targets),
        rows=given.rows,
        filter=given.filter,
        similarity=given.similarity,
        threads=threads,
    )
    seconds = time.perf_counter() - start
    return Run(seconds, digest(ranks.above, ranks.tied), given.work)


def run_top(source: Source, name: str, threads: int) -> Run:
    """Find the k most similar of each query."""
    name, k = name.split(", k = ")
    given = problem(source, name)
    start = time.perf_counter()
    top = tr.topk_embeddings(
        *(given.queries, given.entities, int(k)), similarity=given.similarity, threads=threads
    )
    seconds = time.perf_counter() - start
    return Run(seconds, digest(top.ids, top.scores), given.work)


def run_alignment(source: Source, name: str, threads: int) -> Run:
    """Evaluate both directions of the alignment among all entities of the other side."""
    left, right, train, test = alignment(source)
    csls = CSLS if "CSLS" in name else None
    start = time.perf_counter()
    report = tr.alignment.evaluate(
        left, right, test, known={"train": train}, candidates="all", csls=csls, threads=threads
    )
    seconds = time.perf_counter() - start
    work = len(left) * right.size
    return Run(seconds, digest(report.ranks.above, report.ranks.tied), work)


RUNS: dict[str, Callable[[Source, str, int], Run]] = {
    "counts": run_counts,
    "hostile": run_counts,
    "top k": run_top,
    "alignment": run_alignment,
    "peers": run_counts,
}


def cases_of(part: str) -> Iterator[str]:
    """Yield the names of the cases of a part."""
    trained_models = [f"{title}, d = {dim}" for title in MODELS.values() for dim in DIMS]
    if part in ("counts", "peers"):
        yield from trained_models
        yield "alignment vectors, d = 300"
    elif part == "hostile":
        yield from (name + RANDOM_TARGETS for name in trained_models)
        yield from (f"{s}: {kind}" for s in HOSTILE_SIMILARITIES for kind in HOSTILE)
    elif part == "top k":
        for name in ("DistMult, d = 256", "TransE, d = 64", "alignment vectors, d = 300"):
            yield from (f"{name}, k = {k}" for k in KS)
    else:
        yield from ("both directions", f"both directions, CSLS {CSLS}")


# -- measuring -------------------------------------------------------------------------------------


def best(calls: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Call the contestants in turn; return the seconds of the best run of each."""
    seconds = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            seconds[name] = min(seconds[name], call())
    return seconds


def timed(call: Callable[[], Any]) -> Callable[[], float]:
    """Return a function that calls, and returns the seconds."""

    def run() -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    return run


def measure(
    given: Given,
    part: str,
    case: str,
    threads: int,
    extra: dict[str, tuple[Callable[[], Any], int]] | None = None,
) -> list[Figure]:
    """Run truerank both ways, the peak and further contestants in turn."""
    runs: dict[str, Run] = {}
    tallies: dict[str, Tally] = {}

    def ours(name: str) -> float:
        assert _core.choose_bounds("off" if name == OFF else "")
        before = Tally.read()
        runs[name] = RUNS[part](given.source, case, threads)
        tallies[name] = Tally.read().since(before)
        return runs[name].seconds

    others = {**(extra or {}), PEAK: given.peak.contestant("float32", threads, PEAK_ROUNDS)}
    calls = {name: partial(ours, name) for name in (BOUNDS, OFF)}
    calls |= {name: timed(call) for name, (call, _) in others.items()}
    seconds = best(calls, given.rounds)
    assert runs[BOUNDS].digest == runs[OFF].digest, f"{case}: results differ"
    return [
        Figure(
            *(part, case, threads, name, seconds[name]),
            runs[name].work if name in runs else others[name][1],
            *tallies.get(name, (0, 0, 0, 0)),
        )
        for name in calls
    ]


def peer_calls(source: Source, case: str, threads: int) -> dict[str, tuple[Callable[[], Any], int]]:
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
                extra = peer_calls(source, case, count) if compared else None
                new = measure(given, part, case, count, extra)
                for figure in new:
                    print(*figure[:4], f"{figure.seconds:.4f} s", f"{figure.rate / 1e9:.1f} G/s",
                          *figure[6:], sep=", ", flush=True)  # fmt: skip
                replaced = {figure[:3] for figure in new}
                kept = [f for f in read_figures(path) if f[:3] not in replaced]
                write_figures(path, kept + new)
    page = make_page(read_figures(path), facts(), models(source), PEER_QUERIES)
    (output / "bounds.md").write_text(page, encoding="utf-8")


def facts() -> list[str]:
    """Return what the page says of the machine and the versions."""
    return [
        f"Python {platform.python_version()}, numpy {np.__version__}, truerank's instruction set "
        f"{_core.isa()}, {_core.default_threads()} cores",
    ]


def models(source: Source) -> str:
    """Return the models and their MRR."""
    found = []
    for key, title in MODELS.items():
        for dim in DIMS:
            mrr = float(np.load(source.vectors / f"{key}-{dim}.npz")["mrr"])
            found.append(f"{title} d = {dim}: MRR {mrr:.3f}")
    return ", ".join(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("vectors", type=Path)
    parser.add_argument("--parts", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--only", default="", help="a regular expression of the cases")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
