"""truerank.adapters.dask on a cluster of processes: ranks, traffic, and a killed worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from support.problems import Array

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'truerank[dask]'")
da = pytest.importorskip("dask.array", reason="Dask is not installed: pip install 'truerank[dask]'")
distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed: pip install 'truerank[dask]'"
)

from truerank.adapters import dask as adapter  # noqa: E402

ROWS = 40
COLUMNS = 60_000
HEIGHT = 20  # of a chunk; there are 2 x 6 chunks
WIDTH = 10_000
CHUNK_BYTES = HEIGHT * WIDTH * 4
DIM = 16
# The chunk at (1, 4) is the only one without a target.
TARGETS = np.array([(1 + i * 1487) % WIDTH + WIDTH * [0, 1, 2, 3, 5][i % 5] for i in range(ROWS)])
FILTER = [np.arange(i, COLUMNS, 101) for i in range(ROWS)]
PATIENCE = 60  # seconds


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    # So long after a worker was lost its cluster looks whether it has returned, and gives it up for
    # ever if it has not. It may have returned by then, and been killed again by the next test.
    patience = {"distributed.deploy.lost-worker-timeout": "1 hour"}
    with dask.config.set(patience):
        cluster = distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write scores and vectors to files, which workers map into memory themselves."""
    folder = tmp_path_factory.mktemp("dask")
    rng = np.random.default_rng(0)
    np.save(folder / "scores.npy", rng.integers(0, 1000, (ROWS, COLUMNS)).astype(np.float32))
    for name, count in (("queries", ROWS), ("entities", COLUMNS)):
        np.save(folder / f"{name}.npy", rng.integers(-3, 4, (count, DIM)).astype(np.float32))
    return folder


def load(path: Path, block_id: tuple[int, ...], block_info: Any = None) -> Array:
    """Read a chunk of a file on the worker that needs it."""
    where = tuple(slice(*edges) for edges in block_info[None]["array-location"])
    return np.array(np.load(path, mmap_mode="r")[where])


def chunked(path: Path, chunk: tuple[int, int], read: Any = load) -> Any:
    shape = np.load(path, mmap_mode="r").shape
    chunks = da.core.normalize_chunks(chunk, shape)
    meta = np.empty((0, 0), np.float32)
    return da.map_blocks(partial(read, path), chunks=chunks, dtype=np.float32, meta=meta)


def received(client: Any) -> list[int]:
    """Return the bytes of each message that workers have sent to each other so far."""
    logs = client.run(lambda dask_worker: [x["total"] for x in dask_worker.transfer_incoming_log])
    return [size for sizes in logs.values() for size in sizes]


def test_scores_are_counted_where_they_are_read(client: Any, files: Path) -> None:
    scores = chunked(files / "scores.npy", (HEIGHT, WIDTH))
    before = sum(received(client))
    ranks = adapter.rank(scores, TARGETS, filter=FILTER, audit=True)
    assert ranks == tr.rank(np.load(files / "scores.npy"), TARGETS, filter=FILTER, audit=True)
    sent = sum(received(client)) - before
    # 2 chunks of rows with 20 tasks: counts of 6 chunks, 8 x 8 bytes a task, and their inputs
    most = 2 * 20 * (6 * 64 + 3 * 20) + 40 * 2000  # and up to 2 kB of overhead for each message
    assert sent < most
    assert sent < CHUNK_BYTES / 5


def test_entities_are_counted_where_they_are_read(client: Any, files: Path) -> None:
    queries = np.load(files / "queries.npy")
    entities = chunked(files / "entities.npy", (WIDTH, DIM))
    bias = np.arange(COLUMNS, dtype=np.float32)[::-1] % 7
    options = {"similarity": "l1", "bias": bias, "filter": FILTER}
    ranks = adapter.rank_embeddings(queries, entities, TARGETS, **options)
    whole = np.load(files / "entities.npy")
    assert ranks == tr.rank_embeddings(queries, whole, TARGETS, **options)
    # the bias is sent, and sent on as often as workers ask for it, but no chunk of entities is sent
    assert max(received(client), default=0) < WIDTH * DIM * 4


def load_or_die(flags: Path, deadly: tuple[int, int], path: Path, **block: Any) -> Array:
    """Read a chunk; the first worker that reads the deadly one waits there until it is killed."""
    killed = flags / "killed"
    if block["block_id"] == deadly and not killed.exists():
        (flags / "pid.part").write_text(str(os.getpid()))
        (flags / "pid.part").rename(flags / "pid")
        end = time.monotonic() + PATIENCE
        while not killed.exists() and time.monotonic() < end:
            time.sleep(0.01)
    return load(path, **block)


@pytest.mark.parametrize("deadly", [(1, 5), (1, 4)], ids=["true scores", "counts"])
def test_a_worker_is_killed(
    client: Any, files: Path, tmp_path: Path, deadly: tuple[int, int]
) -> None:
    """The deadly chunk has a target and is read in the first pass, or has none."""
    workers = set(client.scheduler_info(n_workers=-1)["workers"])

    def read(path: Path, block_id: Any = None, block_info: Any = None) -> Array:
        return load_or_die(tmp_path, deadly, path, block_id=block_id, block_info=block_info)

    scores = chunked(files / "scores.npy", (HEIGHT, WIDTH), read)
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(adapter.rank, scores, TARGETS, filter=FILTER)
        end = time.monotonic() + PATIENCE
        while not (tmp_path / "pid").exists() and time.monotonic() < end and not running.done():
            time.sleep(0.01)
        pid = int((tmp_path / "pid").read_text())
        assert pid in client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        (tmp_path / "killed").touch()
        ranks = running.result(PATIENCE)
    assert ranks == tr.rank(np.load(files / "scores.npy"), TARGETS, filter=FILTER)
    client.wait_for_workers(3, timeout=PATIENCE)
    assert set(client.scheduler_info(n_workers=-1)["workers"]) != workers
