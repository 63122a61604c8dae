"""How counting scales with threads, processes and workers of Dask, and what large test sets take.

    python bench/studies/scale.py FOLDER [--rounds 3] [--output FOLDER]

Counts made vectors and made scores of a file by 1 and 2 threads, by processes that count a part of
the tasks each, and by workers of Dask. The counts of all are compared. Then it measures the parts
of MS MARCO's passages and of ogbl-wikikg2 on one core, and computes what the whole takes on many.
Makes the tables of scale.md; all other files are removed.
"""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pages import arguments, fill_page, machine, markdown_table

import truerank as tr

HERE = Path(__file__).parent
# Queries, entities and length of the vectors; rows and columns of the scores.
VECTORS = (16_384, 100_000, 256)
SCORES = (800, 500_000)
CHUNKS = 16  # of entities or columns, for Dask
NUMBERS = (1, 2, 4, 8)
BLOCK = 1 << 14  # vectors that are drawn at once


class Problem(NamedTuple):
    """Files with what is counted."""

    kind: str
    folder: str

    def load(self, name: str) -> Any:
        """Map one of the files."""
        return np.load(f"{self.folder}/{name}.npy", mmap_mode="r")


def draw_vectors(queries: int, entities: int, length: int, seed: int = 0) -> tuple[Any, Any, Any]:
    """Return queries, entities and targets, whose spectrum falls.

    Entities have a normal distribution, whose principal standard deviations are 1 / sqrt(i), turned
    at random. A query is its target and 0.9 of another such vector.
    """
    rng = np.random.default_rng(seed)
    scale = (np.arange(1, length + 1) ** -0.5).astype(np.float32)
    turn = np.linalg.qr(rng.standard_normal((length, length)))[0].astype(np.float32)

    def draw(rows: int) -> Any:
        drawn = np.empty((rows, length), np.float32)
        for first in range(0, rows, BLOCK):
            block = drawn[first : first + BLOCK]
            block[:] = rng.standard_normal(block.shape, dtype=np.float32) * scale @ turn
        return drawn

    drawn = draw(entities)
    targets = rng.integers(0, entities, queries)
    return drawn[targets] + np.float32(0.9) * draw(queries), drawn, targets


def make(folder: str, kind: str) -> Problem:
    """Write the files of a problem."""
    problem = Problem(kind, folder)
    if kind == "vectors":
        queries, entities, targets = draw_vectors(*VECTORS)
        np.save(f"{folder}/queries.npy", queries)
        np.save(f"{folder}/entities.npy", entities)
    else:
        rng = np.random.default_rng(1)
        np.save(f"{folder}/scores.npy", rng.random(SCORES, dtype=np.float32))
        targets = rng.integers(0, SCORES[1], SCORES[0])
    np.save(f"{folder}/targets.npy", targets)
    return problem


def count(problem: Problem, part: int = 0, parts: int = 1, threads: int = 1) -> Any:
    """Count a part of the tasks."""
    mine = slice(part, None, parts)
    targets = problem.load("targets")[mine]
    if problem.kind == "vectors":
        vectors = problem.load("queries")[mine], problem.load("entities")
        return tr.rank_embeddings(*vectors, targets, similarity="dot", threads=threads).above
    rows = np.arange(SCORES[0])[mine]
    return tr.rank(f"{problem.folder}/scores.npy", targets, rows=rows, threads=threads).above


def used_by(process: str) -> float:
    """Return the seconds of processors that this process, or its ended children, have used."""
    usage = resource.getrusage(getattr(resource, process))
    return usage.ru_utime + usage.ru_stime


def by_threads(problem: Problem, number: int, rounds: int) -> tuple[Any, float, float]:
    """Return counts, seconds and seconds of processors of one call with so many threads."""
    return best_of(lambda: timed_part(problem, threads=number), rounds)


def timed_part(
    problem: Problem, part: int = 0, parts: int = 1, threads: int = 1
) -> tuple[Any, float]:
    """Count a part of the tasks; return the seconds of processors, too."""
    before = used_by("RUSAGE_SELF")
    above = count(problem, part, parts, threads)
    return above, used_by("RUSAGE_SELF") - before


def by_processes(problem: Problem, number: int, rounds: int) -> tuple[Any, float, float]:
    """Return the same of processes that count a part of the tasks each."""
    with ProcessPoolExecutor(number, get_context("spawn")) as pool:
        list(pool.map(timed_part, [problem] * number, range(number), [10**6] * number))  # started

        def run() -> tuple[Any, float]:
            parts = range(number)
            results = list(pool.map(timed_part, [problem] * number, parts, [number] * number))
            above = np.empty(sum(len(part) for part, _ in results), np.int64)
            for part, (counted, _) in enumerate(results):
                above[part::number] = counted
            return above, sum(used for _, used in results)

        return best_of(run, rounds)


def by_workers(problem: Problem, number: int, rounds: int) -> tuple[Any, float, float]:
    """Return the same of workers of Dask, which have a thread each."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from truerank.adapters import dask as many

    name = {"vectors": "entities", "scores": "scores"}[problem.kind]
    whole = problem.load(name)
    axis = {"vectors": 0, "scores": 1}[problem.kind]
    starts = np.linspace(0, whole.shape[axis], CHUNKS + 1).astype(int)
    chunks = [(length,) for length in whole.shape]
    chunks[axis] = tuple(np.diff(starts).tolist())

    def chunk(block_id: tuple[int, ...]) -> Any:
        at = block_id[axis]
        piece = [slice(None)] * 2
        piece[axis] = slice(starts[at], starts[at + 1])
        return problem.load(name)[tuple(piece)]

    array = da.map_blocks(
        chunk, chunks=tuple(chunks), dtype=whole.dtype, meta=np.empty((0, 0), whole.dtype)
    )
    targets = np.asarray(problem.load("targets"))
    cluster = LocalCluster(
        n_workers=number, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, Client(cluster) as client:

        def used() -> float:
            return sum(client.run(used_by, "RUSAGE_SELF").values())

        def run() -> tuple[Any, float]:
            before = used()
            if problem.kind == "vectors":
                queries = np.asarray(problem.load("queries"))
                ranks = many.rank_embeddings(queries, array, targets, similarity="dot")
            else:
                ranks = many.rank(array, targets)
            return ranks.above, used() - before

        run()
        return best_of(run, rounds)


def best_of(run: Callable[[], tuple[Any, float]], rounds: int) -> tuple[Any, float, float]:
    """Return the result, and the least seconds and seconds of processors, of several runs."""
    results = []
    for _ in range(rounds):
        start = time.perf_counter()
        above, used = run()
        results.append((time.perf_counter() - start, used))
    return above, *map(min, zip(*results, strict=True))


def measure_scale(folder: str, kind: str, rounds: int) -> list[list[object]]:
    """Return rows of the first table."""
    problem = make(folder, kind)
    ways = [("threads", by_threads, NUMBERS[:2])]
    ways += [("processes", by_processes, NUMBERS), ("workers of Dask", by_workers, NUMBERS)]
    rows = []
    expected = count(problem)
    for name, way, numbers in ways:
        results = {number: way(problem, number, rounds) for number in numbers}
        for number, (above, seconds, used) in results.items():
            np.testing.assert_array_equal(above, expected)
            row: list[object] = [kind, name, number, f"{seconds:.2f} s", f"{used:.2f} s"]
            row.append(f"{results[2][1] / seconds:.2f}")
            row.append(f"{results[2][2] / used:.2f}")
            rows.append(row)
            print(*row, flush=True)
    return rows


# Name, queries, entities and length of a test set; queries and entities that are measured.
CASES = (
    ("MS MARCO, passages", 6980, 8_841_823, 768, 512, 1_105_228),
    ("ogbl-wikikg2, both sides", 2 * 598_543, 2_500_604, 500, 1024, 312_576),
)
CORES = (8, 32, 128)


def measure_case(case: tuple[Any, ...], folder: str) -> list[object]:
    """Count an eighth of the entities, from a map, with one thread; compute what all takes."""
    name, all_queries, all_entities, length, some_queries, some_entities = case
    path = f"{folder}/part.npy"
    queries, entities, targets = draw_vectors(some_queries, some_entities, length)
    np.save(path, entities)
    nbytes = entities.nbytes
    del entities
    mapped = np.load(path, mmap_mode="r")
    used = []
    for _ in range(2):
        before = time.process_time()
        tr.rank_embeddings(queries, mapped, targets, similarity="dot", threads=1)
        used.append(time.process_time() - before)
    start = time.process_time()
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
    reading = nbytes / (time.process_time() - start) / 1e9
    rate = len(queries) * mapped.size / min(used) / 1e9
    work = all_queries * all_entities * length
    row: list[object] = [name, f"{work:.1e}", f"{rate:.0f} G/s"]
    row += [duration(work / (rate * 1e9 * cores)) for cores in CORES]
    size = all_entities * length * 4
    row += [f"{size / 1e9:.1f} GB", f"{reading:.1f} GB/s", duration(size / reading / 1e9)]
    print(*row, flush=True)
    return row


def duration(seconds: float) -> str:
    """Return seconds as a reader says them."""
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min"


def main(folder: Path, rounds: int, output: Path) -> None:
    """Measure and write the page."""
    rows = []
    for kind in ("vectors", "scores"):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            rows += measure_scale(place, kind, rounds)
    bounds = []
    for case in CASES:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            bounds.append(measure_case(case, place))
    heading = "of | by | number | time | processors | rate, two = 1 | rate per second of processors"
    many = " | ".join(f"{cores} cores" for cores in CORES)
    title = f"test set | multiply-adds | one core, measured | {many} | entities | read | one pass"
    tables = [markdown_table(heading, rows, 2), markdown_table(title, bounds)]
    fill_page(HERE / "scale.md", output, tables, f"{machine()}; the least of {rounds} runs.")


if __name__ == "__main__":
    main(**arguments(__doc__, "folder", rounds=3, output=HERE))
