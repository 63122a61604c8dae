"""truerank.adapters.dask on a cluster of processes, of which one is killed."""

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
# The chunk at (1, 4) is the only one without a target.
TARGETS = np.array([(1 + i * 1487) % WIDTH + WIDTH * [0, 1, 2, 3, 5][i % 5] for i in range(ROWS)])
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
def scores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of scores, which workers map into memory themselves."""
    path = tmp_path_factory.mktemp("dask") / "scores.npy"
    rng = np.random.default_rng(0)
    np.save(path, rng.integers(0, 1000, (ROWS, COLUMNS)).astype(np.float32))
    return path


def load_or_die(
    flags: Path,
    deadly: tuple[int, int],
    path: Path,
    block_id: Any = None,
    block_info: Any = None,
) -> Array:
    """Read a chunk; the first worker that reads the deadly one waits there until it is killed."""
    killed = flags / "killed"
    if block_id == deadly and not killed.exists():
        (flags / "pid.part").write_text(str(os.getpid()))
        (flags / "pid.part").rename(flags / "pid")
        end = time.monotonic() + PATIENCE
        while not killed.exists() and time.monotonic() < end:
            time.sleep(0.01)
    where = tuple(slice(*edges) for edges in block_info[None]["array-location"])
    return np.array(np.load(path, mmap_mode="r")[where])


@pytest.mark.parametrize("deadly", [(1, 5), (1, 4)], ids=["true scores", "counts"])
def test_a_worker_is_killed(
    client: Any, scores: Path, tmp_path: Path, deadly: tuple[int, int]
) -> None:
    """The deadly chunk has a target and is read in the first pass, or has none."""
    workers = set(client.scheduler_info(n_workers=-1)["workers"])
    chunked = da.map_blocks(
        partial(load_or_die, tmp_path, deadly, scores),
        chunks=da.core.normalize_chunks((HEIGHT, WIDTH), (ROWS, COLUMNS)),
        dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )
    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(adapter.rank, chunked, TARGETS)
        end = time.monotonic() + PATIENCE
        while not (tmp_path / "pid").exists() and time.monotonic() < end and not running.done():
            time.sleep(0.01)
        pid = int((tmp_path / "pid").read_text())
        assert pid in client.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        (tmp_path / "killed").touch()
        ranks = running.result(PATIENCE)
    assert ranks == tr.rank(np.load(scores), TARGETS)
    client.wait_for_workers(3, timeout=PATIENCE)
    assert set(client.scheduler_info(n_workers=-1)["workers"]) != workers
