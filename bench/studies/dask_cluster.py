"""Rank in chunks on a cluster: times, bytes sent, a worker killed, and what 10^9 would take.

    python bench/studies/dask_cluster.py FOLDER [--quick] [--workers 2] [--output FOLDER]
    python bench/studies/dask_cluster.py FOLDER --scheduler tcp://scheduler:8786

Makes shards of scores (4 GB; with --quick 0.16 GB) and of entities (1.6 GB; 0.08 GB) in FOLDER,
which all workers must see, ranks them in this process and with truerank.adapters.dask, and compares
the integers. Without --scheduler it starts workers here, one thread each, and kills one in the
middle of a run. Shards that are there are used again. Writes dask_cluster.md.
"""

from __future__ import annotations

import argparse
import os
import pickle
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import dask.array as da
import distributed
import numpy as np
from numpy.typing import NDArray

import truerank as tr
from truerank.adapters import dask as adapter
from truerank.adapters.dask import graph as graphs

Array = NDArray[Any]

HERE = Path(__file__).parent
DIM = 200
LISTED = 100  # entries of the filter for each task
DISTINCT = 10_000  # scores are whole numbers below this, so that many tie


class Size(NamedTuple):
    """How many tasks, scores of each, entities, and the width of a shard of both."""

    tasks: int
    columns: int
    entities: int
    width: int
    vectors: int


FULL = Size(1_000, 1_000_000, 2_000_000, 50_000, 100_000)
QUICK = Size(200, 200_000, 100_000, 20_000, 10_000)


class Sent(NamedTuple):
    """What one call took: seconds, tasks of Dask, and bytes by where they went."""

    seconds: float
    tasks: int
    graph: int  # from this process to the scheduler
    workers: int  # from worker to worker
    results: int  # back to this process


# -- data ------------------------------------------------------------------------------------------


def write_shards(folder: Path, kind: str, shapes: Sequence[tuple[int, int]]) -> None:
    """Write shards that are not there yet, the same ones on every machine."""
    for number, shape in enumerate(shapes):
        path = folder / f"{kind}-{number:05}.npy"
        if path.exists() and np.load(path, mmap_mode="r").shape == shape:
            continue
        rng = np.random.default_rng((len(kind), number))
        if kind == "scores":
            made = rng.integers(0, DISTINCT, shape, dtype=np.int32).astype(np.float32)
        else:
            made = rng.standard_normal(shape, dtype=np.float32)
        np.save(path, made)


def shard(folder: str, kind: str, axis: int, block_id: tuple[int, ...] = ()) -> Array:
    """Map a shard where it is needed: only the pages that are looked at are read."""
    mapped: Array = np.load(f"{folder}/{kind}-{block_id[axis]:05}.npy", mmap_mode="r")
    return mapped


def in_shards(folder: Path, kind: str, axis: int, shapes: Sequence[tuple[int, int]]) -> Any:
    """The shards as one Dask array, of which nothing is in memory."""
    chunks: list[tuple[int, ...]] = [(length,) for length in shapes[0]]
    chunks[axis] = tuple(shape[axis] for shape in shapes)
    read = partial(shard, str(folder.resolve()), kind, axis)
    return da.map_blocks(read, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))


# -- measuring -------------------------------------------------------------------------------------


@contextmanager
def recorded() -> Iterator[list[tuple[int, int, int]]]:
    """Note tasks, the bytes of the graph and those of the results of everything computed."""
    noted: list[tuple[int, int, int]] = []
    compute = graphs.compute_as_if_collection

    def compute_noting(kind: Any, graph: Any, keys: Any) -> Any:
        optimized = dict(da.optimize(graph, keys))
        found = compute(kind, graph, keys)
        sizes = len(cloudpickle.dumps(optimized)), len(pickle.dumps(found))
        noted.append((len(optimized), *sizes))
        return found

    graphs.compute_as_if_collection = compute_noting
    try:
        yield noted
    finally:
        graphs.compute_as_if_collection = compute


def received(client: Any) -> int:
    """Bytes that the workers have sent to each other so far."""
    logs = client.run(lambda dask_worker: [x["total"] for x in dask_worker.transfer_incoming_log])
    return sum(map(sum, logs.values()))


def measure(client: Any, call: Callable[[], tr.Ranks], expected: tr.Ranks) -> Sent:
    """Time a call, then look at what it sends in another."""
    seconds = best_of(call, expected)
    before = received(client)
    with recorded() as noted:
        check(call(), expected)
    tasks, graph, results = (sum(numbers) for numbers in zip(*noted, strict=True))
    return Sent(seconds, tasks, graph, received(client) - before, results)


def best_of(call: Callable[[], tr.Ranks], expected: tr.Ranks | None = None) -> float:
    """The least of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        ranks = call()
        times.append(time.perf_counter() - start)
        if expected is not None:
            check(ranks, expected)
    return min(times)


def check(ranks: tr.Ranks, expected: tr.Ranks) -> None:
    for name in ("above", "tied", "candidates"):
        if not np.array_equal(getattr(ranks, name), getattr(expected, name)):
            raise ValueError(f"{name}: not the integers of one process")


def with_a_worker_killed(
    client: Any, call: Callable[[], tr.Ranks], expected: tr.Ranks, seconds: float
) -> float:
    """Kill a worker when half of the usual time has gone; the time that the call takes then."""
    victim = sorted(client.run(os.getpid).values())[0]
    timer = threading.Timer(seconds / 2, os.kill, (victim, signal.SIGKILL))
    start = time.perf_counter()
    timer.start()
    ranks = call()
    taken = time.perf_counter() - start
    timer.join()
    check(ranks, expected)
    return taken


# -- what is measured ------------------------------------------------------------------------------


def run(client: Any, folder: Path, size: Size, *, kill: bool) -> str:
    """Measure everything, and tell it."""
    threads = client.nthreads()
    rng = np.random.default_rng(0)
    targets = rng.integers(0, size.columns, size.tasks)
    filter = [rng.choice(size.columns, LISTED, replace=False) for _ in targets]
    shapes = [(size.tasks, size.width)] * (size.columns // size.width)
    write_shards(folder, "scores", shapes)
    stored = tr.open_scores(sorted(folder.glob("scores-*.npy"))[: len(shapes)], axis=1)
    alone = partial(tr.rank, stored, targets, filter=filter)
    scores = in_shards(folder, "scores", 1, shapes)
    chunks = partial(adapter.rank, scores, targets, filter=filter)

    found = [compare(client, "scores", alone, chunks, scores.nbytes, kill=kill)]

    queries = rng.standard_normal((size.tasks, DIM), dtype=np.float32)
    true = rng.integers(0, size.entities, size.tasks)
    shapes = [(size.vectors, DIM)] * (size.entities // size.vectors)
    write_shards(folder, "entities", shapes)
    entities = in_shards(folder, "entities", 0, shapes)
    whole = np.concatenate([shard(str(folder), "entities", 0, (i,)) for i in range(len(shapes))])
    asked = {"similarity": "dot", "filter": [list(x[x < size.entities]) for x in filter]}
    alone = partial(tr.rank_embeddings, queries, whole, true, **asked)
    chunks = partial(adapter.rank_embeddings, queries, entities, true, **asked)
    found.append(compare(client, "vectors", alone, chunks, entities.nbytes, kill=kill))

    return TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        distributed=distributed.__version__,
        where=f"{len(threads)} workers with {sum(threads.values())} threads in all"
        + (f", on one machine with {len(os.sched_getaffinity(0))} cores" if kill else ""),
        shape=f"{size.tasks:,} x {size.columns:,}",
        shards=size.columns // size.width,
        entities=f"{size.entities:,} x {DIM}",
        vectors=size.entities // size.vectors,
        queries=size.tasks,
        listed=LISTED,
        times=table(
            "what | GB | one process, 1 thread | Dask | rate | a worker killed",
            [part.times for part in found],
        ),
        sent=table(
            "what | tasks of Dask | bytes of the graph | a task | worker to worker | results",
            [part.bytes for part in found],
        ),
        products=size.tasks * size.entities * DIM / found[1].alone / 1e9,
        together=size.tasks * size.entities * DIM / found[1].sent.seconds / 1e9,
        total=arithmetic(found, size),
        tasks=f"{TASKS:,}",
        machines=MACHINES,
        bandwidth=BANDWIDTH / 1e9,
        fan_in=FAN_IN,
    )


class Compared(NamedTuple):
    """One kind of data, in one process and in chunks."""

    name: str
    size: int
    alone: float
    sent: Sent
    killed: float | None

    @property
    def times(self) -> Sequence[str]:
        killed = "" if self.killed is None else f"{self.killed:.2f} s"
        rate = f"{self.size / self.sent.seconds / 1e9:.1f} GB/s"
        seconds = f"{self.alone:.2f} s", f"{self.sent.seconds:.2f} s"
        return self.name, f"{self.size / 1e9:.2f}", *seconds, rate, killed

    @property
    def bytes(self) -> Sequence[str]:
        sent = self.sent
        each = sent.graph / max(1, sent.tasks)
        numbers = sent.tasks, sent.graph, each, sent.workers, sent.results
        return self.name, *(f"{number:,.0f}" for number in numbers)


def compare(
    client: Any,
    name: str,
    alone: Callable[..., tr.Ranks],
    chunks: Callable[[], tr.Ranks],
    size: int,
    *,
    kill: bool,
) -> Compared:
    workers = len(client.nthreads())
    expected = alone(threads=1)
    seconds = best_of(lambda: alone(threads=1))
    sent = measure(client, chunks, expected)
    killed = with_a_worker_killed(client, chunks, expected, sent.seconds) if kill else None
    if kill:
        client.wait_for_workers(workers)
    print(name, sent, killed, flush=True)
    return Compared(name, size, seconds, sent, killed)


# -- 10^9 candidates -------------------------------------------------------------------------------

CANDIDATES, TASKS = 10**9, 1_000
MACHINES, CORES, BANDWIDTH = 100, 8, 2e9  # bytes per second from the disks of each machine
CHUNK = 400e6
FAN_IN = graphs.FAN_IN


def arithmetic(found: Sequence[Compared], size: Size) -> str:
    """The bytes and seconds of 10^9 candidates, from formulas and what was measured here."""
    scores, vectors = found
    rows = []
    each = {
        "scores, float32": (4 * TASKS, scores.size / scores.alone),
        f"vectors, d = {DIM}": (4 * DIM, vectors.size / vectors.alone * size.tasks / TASKS),
    }
    for name, (per_candidate, rate) in each.items():
        read = CANDIDATES * per_candidate
        chunks = read / CHUNK
        counts = 40 * TASKS * chunks * FAN_IN / (FAN_IN - 1)
        disk, cores = read / MACHINES / BANDWIDTH, read / rate / MACHINES / CORES
        width = CHUNK / per_candidate
        sizes = f"{read / 1e12:.1f} TB", f"{chunks:,.0f}", f"{width:,.0f}", f"{counts / 1e9:.2f} GB"
        rows.append((name, *sizes, f"{disk:.0f} s", f"{cores:.1f} s"))
    return table(
        "what | read | chunks of 400 MB | candidates in one | counts sent, at most"
        f" | reading | counting on {CORES} cores each",
        rows,
    )


def table(heading: str, rows: Sequence[Sequence[str]]) -> str:
    """A pipe table whose first column is text."""
    names = heading.split(" | ")
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TEXT = """# Ranks of Dask arrays, on a cluster

Made by `python bench/studies/dask_cluster.py FOLDER`, with Python {python}, numpy {numpy} and
distributed {distributed}, on {where}.

Scores are {shape} float32 in {shards} shards of columns, with {listed} filtered candidates for each
row; vectors are {entities} float32 in {vectors} shards, scored by dot product for {queries:,}
queries. The shards are memory maps, warm in the page cache. `truerank.adapters.dask` had the same
integers as one process in every run, also when a worker was killed with SIGKILL halfway. Times are
the best of three runs; with a worker killed there was one run.

{times}

Ranking embeddings does {products:.0f} x 10^9 multiply-adds per second with one thread in one
process, and {together:.0f} x 10^9 on the workers together. In one process, scores are counted in
registers; on the workers they are written to tiles of 16 MB, which are counted and dropped.

What was sent, in both passes together:

{sent}

The graph contains the filter, cut at the boundaries of the shards; this process sends it to the
scheduler. Workers send each other true scores and counts and, with embeddings, the queries, in each
pass. No shard ever leaves its worker.

## 10^9 candidates

For {tasks} tasks, of rows of scores or of queries, on {machines} machines that read {bandwidth:.0f}
GB/s each. Counting has the rates of one thread above. Counts are 40 bytes for each task and Dask
chunk, and are added {fan_in} at a time.

{total}
"""


def main(given: argparse.Namespace) -> None:
    given.folder.mkdir(parents=True, exist_ok=True)
    size = QUICK if given.quick else FULL
    if given.scheduler:
        cluster: Any = given.scheduler
    else:
        cluster = distributed.LocalCluster(
            n_workers=given.workers, threads_per_worker=1, dashboard_address=":0"
        )
    with distributed.Client(cluster) as client:
        told = run(client, given.folder, size, kill=given.scheduler is None)
    if not given.scheduler:
        cluster.close()
    (given.output / "dask_cluster.md").write_text(told, encoding="utf-8")
    print(told)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the data")
    parser.add_argument("--scheduler", help="of a cluster that is there; default: start one here")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=HERE)
    main(parser.parse_args())
