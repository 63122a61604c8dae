"""Evaluate the scores that wn18rr.py wrote in every way, and compare all counts.

    python bench/studies/wn18rr_everywhere.py FOLDER [OUTPUT_FOLDER] [--rounds N]

The counts of every way must be those of the matrix in memory, bit for bit. Writes wn18rr.md:
the metrics, and the time of each way, the best of the rounds, with a warm page cache.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pages import markdown_table

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent
KEYS = ("mrr", "hits@1", "hits@3", "hits@10", "mr", "amri")
STEP = 1024  # candidates of a block for a counter, tasks of a block of rows
COUNTS = ("above", "tied", "candidates")


class Tasks(NamedTuple):
    """The files of wn18rr.py; all but the scores in other formats are in memory."""

    folder: Path
    scores: Array
    targets: Array
    filter: tuple[Array, Array, Array]

    def rank(self, scores: Any, **options: Any) -> tr.Ranks:
        return tr.rank(scores, self.targets, filter=self.filter, **options)

    def counter(self) -> tr.RankCounter:
        true_scores = self.scores[np.arange(len(self.targets)), self.targets]
        return tr.RankCounter(
            true_scores, self.targets, candidates=self.scores.shape[1], filter=self.filter
        )


def read_tasks(folder: Path) -> Tasks:
    """Read targets, filter and scores into memory."""
    with np.load(folder / "filter.npz") as arrays:
        lists = arrays["indptr"], arrays["indices"], arrays["lists"]
    return Tasks(folder, np.load(folder / "scores.npy"), np.load(folder / "targets.npy"), lists)


# -- the ways --------------------------------------------------------------------------------------


def from_file(name: str, io: str, tasks: Tasks) -> tr.Ranks:
    """Rank a file, or shards by rows that match a pattern."""
    return tasks.rank(tasks.folder / name, io=io)


def from_store(name: str, io: str, tasks: Tasks, **options: Any) -> tr.Ranks:
    """Rank a file that needs options to be opened."""
    with tr.open_scores(tasks.folder / name, io=io, **options) as store:
        return tasks.rank(store, io=io)


def from_raw(io: str, tasks: Tasks) -> tr.Ranks:
    return from_store("scores.bin", io, tasks, dtype="float32", shape=tasks.scores.shape)


def from_map(tasks: Tasks) -> tr.Ranks:
    return tasks.rank(np.load(tasks.folder / "scores.npy", mmap_mode="r"))


def block_starts(tasks: Tasks) -> list[int]:
    """Return the first columns of the blocks of candidates, in random order."""
    starts = np.arange(0, tasks.scores.shape[1], STEP)
    return np.random.default_rng(1).permutation(starts).tolist()


def from_counter(tasks: Tasks) -> tr.Ranks:
    """Count blocks of candidates in random order."""
    counter = tasks.counter()
    for start in block_starts(tasks):
        counter.update(tasks.scores[:, start : start + STEP], start=start)
    return counter.ranks()


def from_threads(tasks: Tasks) -> tr.Ranks:
    """Count blocks of candidates from two threads."""
    counter = tasks.counter()

    def update(start: int) -> None:
        counter.update(tasks.scores[:, start : start + STEP], start=start)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(update, block_starts(tasks)))
    return counter.ranks()


def from_merged(tasks: Tasks) -> tr.Ranks:
    """Save, load and merge three counters, each with a random third of the columns."""
    columns = np.random.default_rng(2).permutation(tasks.scores.shape[1])
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.npz" for number in range(3)]
        for path, third in zip(paths, np.array_split(columns, 3), strict=True):
            counter = tasks.counter()
            for block in np.array_split(third, 10):
                counter.update(tasks.scores[:, block], columns=block)
            counter.save(path)
        last, *others = (tr.RankCounter.load(path) for path in reversed(paths))
    for counter in others:
        last.merge(counter)
    return last.ranks()


def from_blocks(tasks: Tasks) -> tr.Ranks:
    """Count blocks of rows, as a model makes them."""
    indptr, indices, lists = tasks.filter

    def batches() -> Iterator[tuple[Array, Array, tuple[Array, Array, Array]]]:
        for start in range(0, len(tasks.targets), STEP):
            rows = slice(start, start + STEP)
            yield tasks.scores[rows], tasks.targets[rows], (indptr, indices, lists[rows])

    return tr.rank_blocks(batches())


def from_command(scores: list[str], tasks: Tasks) -> tr.Ranks:
    """Run the command line in a process of its own; load the ranks that it saves."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "ranks.npz"
        command = [sys.executable, "-m", "truerank", "evaluate", *scores, "targets.npy"]
        command += ["--filter", "filter.npz", "--filtered-by", "train,valid,test"]
        command += ["--side", "side.npy", "--relation", "relation.npy"]
        command += ["--queries", "queries.npy", "--split", "test", "--save", str(saved)]
        subprocess.run(command, cwd=tasks.folder, check=True, stdout=subprocess.DEVNULL)
        return tr.load(saved)


Way = Callable[[Tasks], tr.Ranks]
WAYS: dict[str, Way] = {
    "in memory": lambda tasks: tasks.rank(tasks.scores),
    "np.memmap": from_map,
    "scores.npy": partial(from_file, "scores.npy", "map"),
    "scores.npy, io=read": partial(from_file, "scores.npy", "read"),
    "12 shards by rows": partial(from_file, "rows-*.npy", "map"),
    "12 shards by rows, io=read": partial(from_file, "rows-*.npy", "read"),
    "5 shards by columns": partial(from_store, "columns-*.npy", "map", axis=1),
    "5 shards by columns, io=read": partial(from_store, "columns-*.npy", "read", axis=1),
    "raw binary": partial(from_raw, "map"),
    "raw binary, io=read": partial(from_raw, "read"),
    "npz": partial(from_file, "scores.npz", "map"),
    "zarr, compressed": partial(from_file, "scores.zarr", "map"),
    "HDF5, compressed": partial(from_file, "scores.h5", "map"),
    "RankCounter, blocks in random order": from_counter,
    "RankCounter, two threads": from_threads,
    "3 RankCounters, saved, loaded, merged": from_merged,
    "rank_blocks": from_blocks,
    "command line": partial(from_command, ["scores.npy"]),
    "command line, io=read": partial(from_command, ["scores.npy", "--io", "read"]),
    "command line, shards by rows": partial(from_command, ["rows-*.npy"]),
    "command line, raw binary": partial(
        from_command, ["scores.bin", "--shape", "x40943", "--dtype", "float32"]
    ),
    "command line, zarr": partial(from_command, ["scores.zarr"]),
    "command line, shards by columns": partial(
        from_command, ["columns-*.npy", "--shards", "columns"]
    ),
}
NEEDS = {"zarr, compressed": "zarr", "command line, zarr": "zarr", "HDF5, compressed": "h5py"}


def check(name: str, ranks: tr.Ranks, expected: tr.Ranks) -> None:
    """Raise an error unless the counts are the expected ones, bit for bit."""
    for field in COUNTS:
        ours, theirs = getattr(ranks, field), getattr(expected, field)
        if ours.dtype != theirs.dtype or not np.array_equal(ours, theirs):
            wrong = np.flatnonzero(ours != theirs)
            raise ValueError(f"{name}: {field} of {len(wrong)} tasks, the first {wrong[:1]}")


def drop_from_cache(path: Path) -> None:
    """Drop a file's pages from the cache: the speed depends on what read them into it."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(tasks: Tasks, rounds: int) -> tuple[dict[str, float], dict[str, str]]:
    """Return the best time of each way, all taking turns, and the missing libraries."""
    expected = tasks.rank(tasks.scores)
    for path in filter(Path.is_file, tasks.folder.rglob("*")):
        drop_from_cache(path)
    missing = {name: library for name, library in NEEDS.items() if find_spec(library) is None}
    times: dict[str, float] = {}
    for turn in range(rounds + 1):
        for name, way in WAYS.items():
            if name in missing:
                continue
            start = time.perf_counter()
            ranks = way(tasks)
            seconds = time.perf_counter() - start
            check(name, ranks, expected)
            if turn:  # the first turn fills the cache
                times[name] = min(seconds, times.get(name, seconds))
    return times, missing


# -- the page --------------------------------------------------------------------------------------


def metrics(ranks: tr.Ranks) -> str:
    """Return the table of metrics of both sides, of each side, and of each relation."""
    report, by_relation = tr.report(ranks), tr.report(ranks, by="relation")
    groups = by_relation.group_tasks("both")
    rows = [("both sides", len(ranks), [report[key] for key in KEYS])]
    for side in ("tail", "head"):
        tasks = np.count_nonzero(ranks.side.values == side)
        rows.append((side, tasks, [report[f"{side}.{key}"] for key in KEYS]))
    rows.append(("mean of the relations", len(ranks), [by_relation[f"macro.{k}"] for k in KEYS]))
    for relation in sorted(groups, key=lambda relation: -groups[relation]):
        values = [by_relation.groups[relation][key] for key in KEYS]
        rows.append((f"`{relation}`", groups[relation], values))
    return markdown_table(
        ("", "tasks", *KEYS),
        ([name, f"{tasks:,}", *(f"{x:.4f}" if x < 9 else f"{x:.0f}" for x in values)]
         for name, tasks, values in rows))  # fmt: skip


def rates(times: dict[str, float], nbytes: int) -> str:
    """Return the table of times and rates, and their share of the rate in memory."""
    whole = times["in memory"]
    return markdown_table(
        ("scores", "ms", "GB/s", "of the rate in memory"),
        ([name, f"{1000 * t:.0f}", f"{nbytes / 1e9 / t:.1f}", f"{whole / t:.2f}"]
         for name, t in times.items()))  # fmt: skip


def main(folder: Path, output: Path, rounds: int) -> None:
    """Measure and write the page."""
    tasks = read_tasks(folder)
    times, missing = measure(tasks, rounds)
    ranks = WAYS["command line"](tasks)
    page = TEXT.format(
        **json.loads((folder / "model.json").read_text(encoding="utf-8")),
        metrics=metrics(ranks),
        rates=rates(times, tasks.scores.nbytes),
        tied=np.count_nonzero(ranks.tied > 1),
        ways=len(times),
        skipped="".join(f"Not installed: {library}.\n" for library in missing.values()),
        python=platform.python_version(),
        numpy=np.__version__,
        cores=len(os.sched_getaffinity(0)),
        rounds=rounds,
    )
    (output / "wn18rr.md").write_text(page, encoding="utf-8")
    print(page)


TEXT = """# WN18RR: a trained model, evaluated in {ways} ways

Made by `python bench/studies/wn18rr.py DATA_FOLDER FOLDER`, which trains, and then
`python bench/studies/wn18rr_everywhere.py FOLDER`, with Python {python}, numpy {numpy}
and {cores} cores.

ComplEx in plain numpy: {rank} complex numbers for each entity, Adagrad, softmax over sampled
entities, inverse relations, {epochs} epochs, seed {seed}, {seconds:.0f} s on one core. It is simple
and not tuned. The scores are a matrix of 6,268 x 40,943 float32: all tail queries of the 3,134 test
triples, then all head queries, against all entities of the three splits.

## The metrics

By the command line:

```sh
truerank evaluate scores.npy targets.npy --filter filter.npz --filtered-by train,valid,test \\
    --side side.npy --relation relation.npy --queries queries.npy --split test --save ranks.npz
```

Filtered, realistic ranks; {tied} tasks tie.

{metrics}

## One matrix, {ways} ways

`above`, `tied` and `candidates` of all tasks agree, bit for bit, in every way. The best of {rounds}
rounds, warm: a first round read what had been dropped from the cache. The time includes opening the
files and, for the command line, the whole process: starting, ranking, the report and saving. The
blocks of the counters and of rank_blocks are cut from the matrix in memory (those of the three
counters column by column), and that is timed as well. The shards are of unequal size; one has a
single row, one a single column.

{rates}
{skipped}"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path, nargs="?", default=HERE)
    parser.add_argument("--rounds", type=int, default=5)
    main(**vars(parser.parse_args()))
