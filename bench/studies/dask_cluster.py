"""Rank Dask arrays on a cluster: times, bytes sent, a worker killed, 10^9 candidates.

    python bench/studies/dask_cluster.py FOLDER [--quick] [--workers 2] [--output FOLDER]
    python bench/studies/dask_cluster.py FOLDER --scheduler tcp://scheduler:8786

Makes shards of scores (4 GB; with --quick 0.16 GB) and of entities (1.6 GB; 0.08 GB) in FOLDER,
which all workers must see, ranks them in this process and with truerank.adapters.dask, and compares
the integers. Without --scheduler it starts workers here, one thread each, and kills one in the
middle of a run. Existing shards are used again. Writes dask_cluster.md.
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
import dask
import dask.array as da
import distributed
import numpy as np
from numpy.typing import NDArray
from pages import markdown_table

import truerank as tr
from truerank.adapters import dask as adapter
from truerank.adapters.dask import FAN_IN

Array = NDArray[Any]

HERE = Path(__file__).parent
DIM = 200
FILTERED = 100  # entries of the filter for each task
DISTINCT = 10_000  # scores are integers below this, so that many tie


class Size(NamedTuple):
    """The number of tasks, of scores of each, and of entities; the length of a shard of both."""

    tasks: int
    columns: int
    entities: int
    width: int
    vectors: int


FULL = Size(1_000, 1_000_000, 2_000_000, 50_000, 100_000)
QUICK = Size(200, 200_000, 100_000, 20_000, 10_000)


class Traffic(NamedTuple):
    """The seconds, the tasks of Dask and the bytes, by destination, of one call."""

    seconds: float
    tasks: int
    graph: int  # from this process to the scheduler
    workers: int  # from worker to worker
    results: int  # back to this process


# -- data ------------------------------------------------------------------------------------------


def write_shards(folder: Path, kind: str, shapes: Sequence[tuple[int, int]]) -> None:
    """Write the missing shards, which are the same on every machine."""
    for number, shape in enumerate(shapes):
        path = folder / f"{kind}-{number:05}.npy"
        if path.exists() and np.load(path, mmap_mode="r").shape == shape:
            continue
        rng = np.random.default_rng((len(kind), number))
        if kind == "scores":
            rows = rng.integers(0, DISTINCT, shape, dtype=np.int32).astype(np.float32)
        else:
            rows = rng.standard_normal(shape, dtype=np.float32)
        np.save(path, rows)


def open_shard(folder: str, kind: str, axis: int, block_id: tuple[int, ...] = ()) -> Array:
    """Map a shard on the worker that needs it: only the pages in use are read."""
    mapped: Array = np.load(f"{folder}/{kind}-{block_id[axis]:05}.npy", mmap_mode="r")
    return mapped


def dask_array(folder: Path, kind: str, axis: int, shapes: Sequence[tuple[int, int]]) -> Any:
    """Return the shards as one Dask array that loads nothing."""
    chunks: list[tuple[int, ...]] = [(length,) for length in shapes[0]]
    chunks[axis] = tuple(shape[axis] for shape in shapes)
    read = partial(open_shard, str(folder.resolve()), kind, axis)
    return da.map_blocks(read, chunks=chunks, dtype=np.float32, meta=np.empty((0, 0), np.float32))


# -- tools -----------------------------------------------------------------------------------------


@contextmanager
def record_calls() -> Iterator[list[tuple[int, int, int]]]:
    """Record the tasks, the bytes of the graph and the bytes of the results of each computation."""
    records: list[tuple[int, int, int]] = []
    compute = dask.base.compute_as_if_collection

    def compute_and_record(kind: Any, graph: Any, keys: Any) -> Any:
        optimized = dict(da.optimize(graph, keys))
        results = compute(kind, graph, keys)
        sizes = len(cloudpickle.dumps(optimized)), len(pickle.dumps(results))
        records.append((len(optimized), *sizes))
        return results

    dask.base.compute_as_if_collection = compute_and_record
    try:
        yield records
    finally:
        dask.base.compute_as_if_collection = compute


def bytes_between_workers(client: Any) -> int:
    """Return the bytes that the workers have sent to each other so far."""
    logs = client.run(lambda dask_worker: [x["total"] for x in dask_worker.transfer_incoming_log])
    return sum(map(sum, logs.values()))


def measure(client: Any, call: Callable[[], tr.Ranks], expected: tr.Ranks) -> Traffic:
    """Time a call, then measure what another call sends."""
    seconds = fastest(call, expected)
    before = bytes_between_workers(client)
    with record_calls() as records:
        check(call(), expected)
    tasks, graph, results = (sum(numbers) for numbers in zip(*records, strict=True))
    return Traffic(seconds, tasks, graph, bytes_between_workers(client) - before, results)


def fastest(call: Callable[[], tr.Ranks], expected: tr.Ranks | None = None) -> float:
    """Return the shortest of three times."""
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


def time_with_killed_worker(
    client: Any, call: Callable[[], tr.Ranks], expected: tr.Ranks, seconds: float
) -> float:
    """Kill a worker after half of the usual time; return the time that the call takes then."""
    victim = sorted(client.run(os.getpid).values())[0]
    timer = threading.Timer(seconds / 2, os.kill, (victim, signal.SIGKILL))
    start = time.perf_counter()
    timer.start()
    ranks = call()
    elapsed = time.perf_counter() - start
    timer.join()
    check(ranks, expected)
    return elapsed


# -- measurements ----------------------------------------------------------------------------------


def run(client: Any, folder: Path, size: Size, *, kill: bool) -> str:
    """Measure everything and return the page."""
    threads = client.nthreads()
    rng = np.random.default_rng(0)
    targets = rng.integers(0, size.columns, size.tasks)
    filter = [rng.choice(size.columns, FILTERED, replace=False) for _ in targets]
    shapes = [(size.tasks, size.width)] * (size.columns // size.width)
    write_shards(folder, "scores", shapes)
    stored = tr.open_scores(sorted(folder.glob("scores-*.npy"))[: len(shapes)], axis=1)
    local = partial(tr.rank, stored, targets, filter=filter)
    scores = dask_array(folder, "scores", 1, shapes)
    distributed_rank = partial(adapter.rank, scores, targets, filter=filter)

    comparisons = [compare(client, "scores", local, distributed_rank, scores.nbytes, kill=kill)]

    queries = rng.standard_normal((size.tasks, DIM), dtype=np.float32)
    targets = rng.integers(0, size.entities, size.tasks)
    shapes = [(size.vectors, DIM)] * (size.entities // size.vectors)
    write_shards(folder, "entities", shapes)
    entities = dask_array(folder, "entities", 0, shapes)
    whole = np.concatenate(
        [open_shard(str(folder), "entities", 0, (i,)) for i in range(len(shapes))]
    )
    options = {"similarity": "dot", "filter": [list(x[x < size.entities]) for x in filter]}
    local = partial(tr.rank_embeddings, queries, whole, targets, **options)
    distributed_rank = partial(adapter.rank_embeddings, queries, entities, targets, **options)
    comparisons.append(
        compare(client, "embeddings", local, distributed_rank, entities.nbytes, kill=kill)
    )

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
        filtered=FILTERED,
        times=markdown_table(
            "data | GB | one process, 1 thread | Dask | rate | a worker killed",
            [comparison.times for comparison in comparisons],
        ),
        sent=markdown_table(
            "data | tasks of Dask | bytes of the graph | bytes of a task"
            " | worker to worker | results",
            [comparison.bytes for comparison in comparisons],
        ),
        products=size.tasks * size.entities * DIM / comparisons[1].local / 1e9,
        together=size.tasks * size.entities * DIM / comparisons[1].traffic.seconds / 1e9,
        total=extrapolate(comparisons, size),
        tasks=f"{TASKS:,}",
        machines=MACHINES,
        bandwidth=BANDWIDTH / 1e9,
        fan_in=FAN_IN,
    )


class Comparison(NamedTuple):
    """One kind of data, ranked in one process and by Dask."""

    name: str
    size: int
    local: float  # seconds
    traffic: Traffic
    killed: float | None

    @property
    def times(self) -> Sequence[str]:
        killed = "" if self.killed is None else f"{self.killed:.2f} s"
        rate = f"{self.size / self.traffic.seconds / 1e9:.1f} GB/s"
        seconds = f"{self.local:.2f} s", f"{self.traffic.seconds:.2f} s"
        return self.name, f"{self.size / 1e9:.2f}", *seconds, rate, killed

    @property
    def bytes(self) -> Sequence[str]:
        traffic = self.traffic
        per_task = traffic.graph / max(1, traffic.tasks)
        numbers = traffic.tasks, traffic.graph, per_task, traffic.workers, traffic.results
        return self.name, *(f"{number:,.0f}" for number in numbers)


def compare(
    client: Any,
    name: str,
    local: Callable[..., tr.Ranks],
    distributed_rank: Callable[[], tr.Ranks],
    size: int,
    *,
    kill: bool,
) -> Comparison:
    workers = len(client.nthreads())
    expected = local(threads=1)
    seconds = fastest(lambda: local(threads=1))
    traffic = measure(client, distributed_rank, expected)
    killed = (
        time_with_killed_worker(client, distributed_rank, expected, traffic.seconds)
        if kill
        else None
    )
    if kill:
        client.wait_for_workers(workers)
    print(name, traffic, killed, flush=True)
    return Comparison(name, size, seconds, traffic, killed)


# -- 10^9 candidates -------------------------------------------------------------------------------

CANDIDATES, TASKS = 10**9, 1_000
MACHINES, CORES, BANDWIDTH = 100, 8, 2e9  # bytes per second from the disks of each machine
CHUNK = 400e6


def extrapolate(comparisons: Sequence[Comparison], size: Size) -> str:
    """Return the bytes and seconds of 10^9 candidates, from formulas and the measurements."""
    scores, vectors = comparisons
    rows = []
    cases = {
        "scores, float32": (4 * TASKS, scores.size / scores.local),
        f"embeddings, d = {DIM}": (4 * DIM, vectors.size / vectors.local * size.tasks / TASKS),
    }
    for name, (per_candidate, rate) in cases.items():
        read = CANDIDATES * per_candidate
        chunks = read / CHUNK
        counts = 40 * TASKS * chunks * FAN_IN / (FAN_IN - 1)
        disk, cores = read / MACHINES / BANDWIDTH, read / rate / MACHINES / CORES
        width = CHUNK / per_candidate
        sizes = f"{read / 1e12:.1f} TB", f"{chunks:,.0f}", f"{width:,.0f}", f"{counts / 1e9:.2f} GB"
        rows.append((name, *sizes, f"{disk:.0f} s", f"{cores:.1f} s"))
    return markdown_table(
        "data | read | chunks of 400 MB | candidates in one | counts sent, at most"
        f" | reading | counting on {CORES} cores each",
        rows,
    )


TEXT = """# Ranks of Dask arrays, on a cluster

Made by `python bench/studies/dask_cluster.py FOLDER`, with Python {python}, numpy {numpy} and
distributed {distributed}, on {where}.

Scores are {shape} float32 in {shards} shards of columns, with {filtered} filtered candidates for
each row; embeddings are {entities} float32 in {vectors} shards, scored by dot product for
{queries:,} queries. The shards are memory maps, warm in the page cache. `truerank.adapters.dask`
had the same integers as one process in every run, also when a worker was killed with SIGKILL
halfway. Times are the best of three runs; with a worker killed there was one run.

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


def main(options: argparse.Namespace) -> None:
    options.folder.mkdir(parents=True, exist_ok=True)
    size = QUICK if options.quick else FULL
    if options.scheduler:
        cluster: Any = options.scheduler
    else:
        cluster = distributed.LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=":0"
        )
    with distributed.Client(cluster) as client:
        page = run(client, options.folder, size, kill=options.scheduler is None)
    if not options.scheduler:
        cluster.close()
    (options.output / "dask_cluster.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true", help="a twentieth of the data")
    parser.add_argument("--scheduler", help="of a running cluster; default: start one here")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--output", type=Path, default=HERE)
    main(parser.parse_args())
