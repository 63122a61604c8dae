"""Rank against a file of ten million embeddings: how much memory that takes.

    python bench/studies/embeddings_memory.py FOLDER [--entities 10000000] [--output FOLDER]

Makes a file of entities, 10,000,000 x 64 float32, in FOLDER (2.56 GB), and ranks queries against
it in processes of their own, whose memory is sampled. Coordinates are small integers, so that dot
products and distances are exact in any order of summation: counts are compared with those of
numpy. Linux only. Writes embeddings_memory.md; all other files are removed.
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
from pages import markdown_table

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent
DIM = 64
QUERIES, FEW = 100, 5
STEP = 100_000  # entities drawn, written and compared at once
LARGEST = 8  # absolute value of a coordinate: 64 squares of it are far below 2 ** 24
LIMIT = 100e6
K = 10


class Files(NamedTuple):
    """The files, and the expected counts: above and tied, by similarity."""

    folder: Path
    counts: dict[str, Array]

    @property
    def size(self) -> int:
        return (self.folder / "entities.npy").stat().st_size


class Run(NamedTuple):
    """Seconds and bytes that one process took, and its results."""

    seconds: float
    anonymous: int
    file: int
    total: int
    results: dict[str, Any]


def entities_of(start: int, stop: int) -> Array:
    """Return the entities of one step, which are the same at every call."""
    rng = np.random.default_rng((1, start))
    return rng.integers(-LARGEST, LARGEST + 1, (stop - start, DIM)).astype(np.float32)


def distances(queries: Array, entities: Array) -> Array:
    """Return all squared distances, negated: integers far below 2 ** 24, and therefore exact."""
    squares = (queries**2).sum(1)[:, None] + (entities**2).sum(1)
    return np.asarray(2 * (queries @ entities.T) - squares)


# The scores that numpy counts; l1 is slow, and has few queries. Squares have the order of roots.
SCORES: dict[str, Callable[[Array, Array], Array]] = {
    "dot": lambda queries, entities: queries @ entities.T,
    "l2": distances,
    "l1": lambda queries, entities: -np.stack([np.abs(q - entities).sum(1) for q in queries[:FEW]]),
}


def write_files(folder: Path, entities: int) -> Files:
    """Write entities, queries and targets, and count with numpy at the same time."""
    rng = np.random.default_rng(0)
    queries = rng.integers(-LARGEST, LARGEST + 1, (QUERIES, DIM)).astype(np.float32)
    targets = rng.integers(0, entities, QUERIES)
    true_entities = np.empty_like(queries)
    for k, target in enumerate(targets.tolist()):
        start = target - target % STEP
        true_entities[k] = entities_of(start, min(start + STEP, entities))[target - start]
    true_scores = {
        name: np.diag(score(queries, true_entities))[:, None] for name, score in SCORES.items()
    }
    counts = {name: np.zeros((2, len(values)), np.int64) for name, values in true_scores.items()}
    with (folder / "entities.npy").open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (entities, DIM)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, entities, STEP):
            rows = entities_of(start, min(start + STEP, entities))
            file.write(rows)
            for name, score in SCORES.items():
                scores = score(queries, rows)
                counts[name] += [
                    (scores > true_scores[name]).sum(1),
                    (scores == true_scores[name]).sum(1),
                ]
        file.flush()
        os.fsync(file.fileno())
    np.save(folder / "queries.npy", queries)
    np.save(folder / "targets.npy", targets)
    return Files(folder, counts)


# -- a process -------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """What a process ranks."""

    path: Path
    queries: Array
    targets: Array
    threads: int | None


def rank_path(problem: Problem, **options: Any) -> tr.Ranks:
    return tr.rank_embeddings(
        problem.queries, problem.path, problem.targets, threads=given.threads, **options
    )


def rank_map(problem: Problem) -> tr.Ranks:
    entities = np.load(problem.path, mmap_mode="r")
    return tr.rank_embeddings(problem.queries, entities, problem.targets, threads=given.threads)


def top_k(problem: Problem) -> Any:
    return tr.topk_embeddings(problem.queries, problem.path, K, threads=given.threads)


# What a process does; the expected counts are known for some, by the first word.
CASES: dict[str, Callable[[Problem], Any]] = {
    "imports alone": lambda problem: None,
    "dot": rank_path,
    "dot, np.memmap": rank_map,
    "l1": lambda problem: rank_path(problem, similarity="l1"),
    "l2": lambda problem: rank_path(problem, similarity="l2"),
    "cosine": lambda problem: rank_path(problem, similarity="cosine"),
    f"top {K} by dot": top_k,
}


def run_case(folder: Path, case: str, threads: int | None) -> dict[str, Any]:
    """Do one thing; return its time and its results."""
    queries, targets = (np.load(folder / f"{name}.npy") for name in ("queries", "targets"))
    start = time.perf_counter()
    result = CASES[case](Problem(folder / "entities.npy", queries, targets, threads))
    measured: dict[str, Any] = {"seconds": time.perf_counter() - start}
    if isinstance(result, tr.Ranks):
        measured |= {"above": result.above.tolist(), "tied": result.tied.tolist()}
    elif result is not None:
        measured["scores"] = result.scores.tolist()
    return measured


def resident_memory(process: int) -> dict[str, int]:
    """Return the bytes of a process by kind (anonymous, of files, the peak); none once it ended."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    fields = (line.split(":", 1) for line in lines if line.startswith(("Rss", "VmHWM")))
    return {name: int(value.split()[0]) * 1024 for name, value in fields}


def run_and_sample(folder: Path, case: str, threads: int) -> Run:
    """Run a case in a process of its own, and sample its memory every 2 ms."""
    command = [sys.executable, __file__, str(folder), "--case", case, "--threads", str(threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peaks = dict.fromkeys(("RssAnon", "RssFile", "VmHWM"), 0)
        while process.poll() is None:
            now = resident_memory(process.pid)
            peaks = {name: max(peak, now.get(name, 0)) for name, peak in peaks.items()}
            time.sleep(0.002)
        output = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"{case}: exit code {process.returncode}")
    results = json.loads(output)
    return Run(results["seconds"], *peaks.values(), results)


# -- measurements ----------------------------------------------------------------------------------


def check(files: Files, case: str, results: dict[str, Any]) -> str:
    """Compare counts with those of numpy, for the queries that it counted."""
    expected = files.counts.get(case.split(",")[0])
    if expected is None or "above" not in results:
        return ""
    queries = expected.shape[1]
    counts = np.array([results["above"], results["tied"]])[:, :queries]
    if not np.array_equal(counts, expected):
        raise ValueError(f"{case}: not the counts of the file")
    return f"yes, {queries} queries"


def measure(files: Files) -> list[Sequence[str]]:
    """Return a row for each case, with one thread and with all."""
    cores = len(os.sched_getaffinity(0))
    rows = []
    for case in CASES:
        for threads in sorted({1, cores}) if case != next(iter(CASES)) else [1]:
            run = run_and_sample(files.folder, case, threads)
            same = check(files, case, run.results)
            sizes = (f"{size / 1e6:.0f} MB" for size in (run.anonymous, run.file, run.total))
            met = "yes" if run.anonymous < LIMIT else "no"
            rows.append((case, str(threads), f"{run.seconds:.2f} s", *sizes, met, same))
            print(*rows[-1], sep=" | ", flush=True)
    return rows


def main(folder: Path, entities: int, output: Path) -> None:
    """Write the files, measure, and write the page."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        files = write_files(Path(place), entities)
        rows = measure(files)
        size = files.size
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
        cores=len(os.sched_getaffinity(0)),
        queries=QUERIES,
        entities=entities,
        dim=DIM,
        size=size / 1e9,
        scores=4 * QUERIES * entities / 1e9,
        ties=files.counts["dot"][1].mean(),
        table=markdown_table(
            "case | threads | time | peak anonymous | peak of files | peak of both"
            f" | below {LIMIT / 1e6:.0f} MB | counts of numpy",
            rows,
        ),
    )
    (output / "embeddings_memory.md").write_text(page, encoding="utf-8")
    print(page)


TEXT = """# Ten million embeddings in constant memory

Made by `python bench/studies/embeddings_memory.py FOLDER`, with Python {python} and numpy {numpy},
on a machine with {memory:.0f} GB of memory and {cores} cores.

{entities:,} entities of {dim} float32, a file of {size:.2f} GB, warm in the page cache, are ranked
for {queries} queries by `tr.rank_embeddings(queries, "entities.npy", targets)`, each time in a
process of its own, whose memory another process samples (RssAnon and RssFile, every 2 ms).
Anonymous memory is what the process allocates: Python, numpy and truerank themselves, and buffers.
The kernel can take back pages of files.

The coordinates are integers from -8 to 8, so that dot products and distances are exact in any
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
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.case is None:
        main(given.folder, given.entities, given.output)
    else:
        print(json.dumps(run_case(given.folder, given.case, given.threads)))
