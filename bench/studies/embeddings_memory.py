"""Rank against a file of ten million vectors: how much memory that takes.

    python bench/studies/embeddings_memory.py FOLDER [--entities 10000000] [--output FOLDER]

Makes a file of entities, 10,000,000 x 64 float32, in FOLDER (2.56 GB), and ranks queries against
it in processes of their own, which are watched. The vectors hold small whole numbers, so that dot
products and distances are exact in whatever order they are summed: counts are compared with
numpy's. Linux only. Writes embeddings_memory.md; all other files are removed.
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent
DIM = 64
QUERIES, FEW = 100, 5
STEP = 100_000  # entities drawn, written and compared at once
MOST = 8  # of a coordinate, without sign: 64 squares of it are far below 2 ** 24
LIMIT = 100e6
BEST = 10


class Made(NamedTuple):
    """The files, and what is to be counted in them: above and tied, by similarity."""

    folder: Path
    counts: dict[str, Array]

    @property
    def size(self) -> int:
        return (self.folder / "entities.npy").stat().st_size


class Run(NamedTuple):
    """What one process took, in seconds and bytes, and what it told."""

    seconds: float
    anonymous: int
    file: int
    total: int
    told: dict[str, Any]


def entities_of(start: int, stop: int) -> Array:
    """Entities of one step: the same whenever they are asked for."""
    rng = np.random.default_rng((1, start))
    return rng.integers(-MOST, MOST + 1, (stop - start, DIM)).astype(np.float32)


def distances(queries: Array, entities: Array) -> Array:
    """Minus the squares of all distances: whole numbers far below 2 ** 24, and so exact."""
    squares = (queries**2).sum(1)[:, None] + (entities**2).sum(1)
    return np.asarray(2 * (queries @ entities.T) - squares)


# What numpy counts; by l1 for some queries, which is slow. Roots keep the order of the squares.
SCORES: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda queries, entities: queries @ entities.T,
    "l2": distances,
    "l1": lambda queries, entities: -np.stack([np.abs(q - entities).sum(1) for q in queries[:FEW]]),
}


def make(folder: Path, entities: int) -> Made:
    """Write entities, queries and targets, and count as they are written."""
    rng = np.random.default_rng(0)
    queries = rng.integers(-MOST, MOST + 1, (QUERIES, DIM)).astype(np.float32)
    targets = rng.integers(0, entities, QUERIES)
    right = np.empty_like(queries)
    for k, target in enumerate(targets.tolist()):
        start = target - target % STEP
        right[k] = entities_of(start, min(start + STEP, entities))[target - start]
    true = {name: np.diag(score(queries, right))[:, None] for name, score in SCORES.items()}
    counts = {name: np.zeros((2, len(values)), np.int64) for name, values in true.items()}
    with (folder / "entities.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (entities, DIM)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, entities, STEP):
            part = entities_of(start, min(start + STEP, entities))
            file.write(part)
            for name, score in SCORES.items():
                scores = score(queries, part)
                counts[name] += [(scores > true[name]).sum(1), (scores == true[name]).sum(1)]
        file.flush()
        os.fsync(file.fileno())
    np.save(folder / "queries.npy", queries)
    np.save(folder / "targets.npy", targets)
    return Made(folder, counts)


# -- a process -------------------------------------------------------------------------------------


class Given(NamedTuple):
    """What a process works on."""

    path: Path
    queries: Array
    targets: Array
    threads: int | None


def rank_path(given: Given, **options: Any) -> tr.Ranks:
    return tr.rank_embeddings(
        given.queries, given.path, given.targets, threads=given.threads, **options
    )


def rank_map(given: Given) -> tr.Ranks:
    entities = np.load(given.path, mmap_mode="r")
    return tr.rank_embeddings(given.queries, entities, given.targets, threads=given.threads)


def best(given: Given) -> Any:
    return tr.topk_embeddings(given.queries, given.path, BEST, threads=given.threads)


# What a process does; what it counts is known for some, by the first word.
WAYS: dict[str, Callable[[Given], Any]] = {
    "nothing but the imports": lambda given: None,
    "dot": rank_path,
    "dot, np.memmap": rank_map,
    "l1": lambda given: rank_path(given, similarity="l1"),
    "l2": lambda given: rank_path(given, similarity="l2"),
    "cosine": lambda given: rank_path(given, similarity="cosine"),
    f"the {BEST} best by dot": best,
}


def child(folder: Path, way: str, threads: int | None) -> dict[str, Any]:
    """Do one thing; what was counted."""
    queries, targets = (np.load(folder / f"{name}.npy") for name in ("queries", "targets"))
    start = time.perf_counter()
    found = WAYS[way](Given(folder / "entities.npy", queries, targets, threads))
    told: dict[str, Any] = {"seconds": time.perf_counter() - start}
    if isinstance(found, tr.Ranks):
        told |= {"above": found.above.tolist(), "tied": found.tied.tolist()}
    elif found is not None:
        told["best"] = found.scores.tolist()
    return told


def resident(process: int) -> dict[str, int]:
    """Bytes of a process by kind: anonymous, of files, the peak; nothing once it is over."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    fields = (line.split(":", 1) for line in lines if line.startswith(("Rss", "VmHWM")))
    return {name: int(value.split()[0]) * 1024 for name, value in fields}


def watch(folder: Path, way: str, threads: int) -> Run:
    """Run a process for it, sampled every 2 ms."""
    command = [sys.executable, __file__, str(folder), "--way", way, "--threads", str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peaks = dict.fromkeys(("RssAnon", "RssFile", "VmHWM"), 0)
        while process.poll() is None:
            found = resident(process.pid)
            peaks = {name: max(peak, found.get(name, 0)) for name, peak in peaks.items()}
            time.sleep(0.002)
        said = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"{way}: exit code {process.returncode}")
    told = json.loads(said)
    return Run(told["seconds"], *peaks.values(), told)


# -- what is measured ------------------------------------------------------------------------------


def check(made: Made, way: str, told: dict[str, Any]) -> str:
    """Compare counts with those of numpy, of as many queries as it counted for."""
    known = made.counts.get(way.split(",")[0])
    if known is None or "above" not in told:
        return ""
    queries = known.shape[1]
    found = np.array([told["above"], told["tied"]])[:, :queries]
    if not np.array_equal(found, known):
        raise ValueError(f"{way}: not the counts of the file")
    return f"yes, {queries} queries"


def measure(made: Made) -> list[Sequence[str]]:
    """A row for each way, with one thread and with all."""
    cores = len(os.sched_getaffinity(0))
    rows = []
    for way in WAYS:
        for threads in sorted({1, cores}) if way != next(iter(WAYS)) else [1]:
            run = watch(made.folder, way, threads)
            same = check(made, way, run.told)
            sizes = (f"{size / 1e6:.0f} MB" for size in (run.anonymous, run.file, run.total))
            met = "yes" if run.anonymous < LIMIT else "no"
            rows.append((way, str(threads), f"{run.seconds:.2f} s", *sizes, met, same))
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def table(heading: str, rows: Sequence[Sequence[str]]) -> str:
    """A pipe table whose first column is text."""
    names = heading.split(" | ")
    lines = [names, ["---", *["---:"] * (len(names) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(folder: Path, entities: int, output: Path) -> None:
    """Make, measure, write."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        made = make(Path(place), entities)
        rows = measure(made)
        size = made.size
    told = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
        cores=len(os.sched_getaffinity(0)),
        queries=QUERIES,
        entities=entities,
        dim=DIM,
        size=size / 1e9,
        scores=4 * QUERIES * entities / 1e9,
        ties=made.counts["dot"][1].mean(),
        table=table(
            "what | threads | time | peak anonymous | peak of files | peak in all"
            f" | below {LIMIT / 1e6:.0f} MB | counts of numpy",
            rows,
        ),
    )
    (output / "embeddings_memory.md").write_text(told, encoding="utf-8")
    print(told)


TEXT = """# Ten million embeddings in constant memory

Made by `python bench/studies/embeddings_memory.py FOLDER`, with Python {python} and numpy {numpy},
on a machine with {memory:.0f} GB of memory and {cores} cores.

{entities:,} entities of {dim} float32, a file of {size:.2f} GB, warm in the page cache, are ranked
for {queries} queries by `tr.rank_embeddings(queries, "entities.npy", targets)`, each time in a
process of its own, whose memory another process samples (RssAnon and RssFile, every 2 ms).
Anonymous memory is what the process allocates: Python, numpy and truerank themselves, and buffers.
The kernel can take back pages of files.

The coordinates are whole numbers from -8 to 8, so that dot products and distances are exact in any
order; by dot, a true score has {ties:,.0f} ties on average. Counts are compared with those that
numpy computed while the file was written.

{table}

The scores alone would be {queries} x {entities:,} float32, {scores:.1f} GB.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--entities", type=int, default=10_000_000)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way is None:
        main(given.folder, given.entities, given.output)
    else:
        print(json.dumps(child(given.folder, given.way, given.threads)))
