"""Time and memory of an alignment's evaluation, beside the dense way of OpenEA in numpy.

    python bench/studies/alignment_dense.py FOLDER [--rounds N] [--large N] [--output FOLDER]

Random vectors are written to FOLDER and removed. Each contestant evaluates both directions in a
process of its own, in turn, and the best of several rounds counts; peaks of memory are the
kernel's. --large takes truerank alone to so many entities on either side, from mapped files, plain
and with CSLS, and to stable pairs; it is written to a page of its own. --sizes is for a quick look.
Linux only. Writes alignment_dense.md, or alignment_dense_large.md.
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
from alignment_pages import page, pipes
from embeddings_memory import resident
from numpy.typing import NDArray

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent
DIM = 300
SIZES = ((15_000, 15_000), (19_388, 19_572))  # OpenEA's smaller data sets; DBP15k zh-en
PAIRS = 15_000
NOISE = 4.0  # of a right vector, beside its left one: about half of the pairs are nearest
K = 10
WARM = 64  # entities of a first call, which is not timed
STEP = 10_000  # rows drawn and written at once
GOALS = {"plain": 10.0, "csls": 6.0}
LIMIT = 200e6


class Given(NamedTuple):
    """What a process works on: the first so many entities of both sides are the pairs."""

    left: Array
    right: Array
    pairs: int
    threads: int | None


class Told(NamedTuple):
    """Metrics of both directions together."""

    mr: float
    hits1: float


class Run(NamedTuple):
    """What a process took, in seconds and bytes, and what it told."""

    seconds: float
    imports: int
    vectors: int
    peak: int
    anonymous: int
    told: dict[str, float]


# -- the dense way ---------------------------------------------------------------------------------


def similarities(given: Given, k: int | None) -> Array:
    """All cosines at once, and CSLS of them, as the formula says it."""
    left, right = (
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (given.left, given.right)
    )
    scores = np.matmul(left, right.T)
    if k is None:
        return scores
    left_means, right_means = nearest_means(scores, k), nearest_means(scores.T, k)
    return (2 * scores.T - left_means).T - right_means


def nearest_means(scores: Array, k: int) -> Array:
    """The mean of the k highest of each row, by a partition of the negated matrix."""
    return np.mean(-np.partition(-scores, k - 1, axis=1)[:, :k], axis=1)


def by_argsort(given: Given, k: int | None = None) -> Told:
    """Where the right answer is in the sorted row, row by row, as OpenEA looks for it."""
    scores = similarities(given, k)
    ranks = []
    for matrix in (scores, scores.T):
        for i in range(given.pairs):
            order = (-matrix[i, :]).argsort()
            ranks.append(np.where(order == i)[0][0] + 1)
    return told_of(np.array(ranks))


def by_counts(given: Given, k: int | None = None) -> Told:
    """How many of the row are higher, 256 rows at once: the fastest that we know of in numpy."""
    scores = similarities(given, k)
    ranks = []
    for matrix in (scores, scores.T):
        for start in range(0, given.pairs, 256):
            ids = np.arange(start, min(start + 256, given.pairs))
            rows = np.ascontiguousarray(matrix[start : ids[-1] + 1])
            true = rows[ids - start, ids][:, None]
            tied = (rows == true).sum(axis=1)
            ranks.append((rows > true).sum(axis=1) + (tied + 1) / 2)
    return told_of(np.concatenate(ranks))


def told_of(ranks: Array) -> Told:
    return Told(float(ranks.mean()), float((ranks <= 1).mean()))


# -- truerank --------------------------------------------------------------------------------------


def by_truerank(given: Given, k: int | None = None) -> Told:
    pairs = np.arange(given.pairs)[:, None].repeat(2, axis=1)
    report = tr.alignment.evaluate(given.left, given.right, pairs, csls=k, threads=given.threads)
    return Told(report["mr"], report["hits@1"])


def stable(given: Given, k: int | None = None) -> Told:
    """Stable pairs; the share that is right stands in for hits@1, and there is no rank."""
    found = tr.alignment.infer(
        given.left, given.right, method="stable", csls=k, threads=given.threads
    )
    right = found.pairs[:, 0] == found.pairs[:, 1]
    return Told(float("nan"), float(right[found.pairs[:, 0] < given.pairs].sum() / given.pairs))


class Way(NamedTuple):
    """A contestant: what it runs, with how many nearest, and how many threads (None: its own)."""

    name: str
    kind: str
    run: Callable[..., Told] | None
    k: int | None = None
    threads: int | None = None


WAYS = {
    way.name: way
    for way in (
        Way("nothing but the imports and the vectors", "", None),
        Way("argsort of rows", "plain", by_argsort),
        Way("> and == of rows", "plain", by_counts),
        Way("truerank, one thread", "plain", by_truerank, threads=1),
        Way("truerank", "plain", by_truerank),
        Way("CSLS, argsort of rows", "csls", by_argsort, K),
        Way("CSLS, > and == of rows", "csls", by_counts, K),
        Way("CSLS, truerank, one thread", "csls", by_truerank, K, 1),
        Way("CSLS, truerank", "csls", by_truerank, K),
        Way("stable pairs, truerank", "stable", stable),
        Way("CSLS, stable pairs, truerank", "stable", stable, K),
    )
}
BASELINES = {"plain": "argsort of rows", "csls": "CSLS, argsort of rows"}
DENSE = [name for name, way in WAYS.items() if way.kind != "stable"]
LARGE = [name for name, way in WAYS.items() if way.run in (None, by_truerank, stable)]
ONE_THREAD = [name for name, way in WAYS.items() if way.threads == 1]


# -- processes -------------------------------------------------------------------------------------


def make(folder: Path, sizes: tuple[int, int], pairs: int) -> None:
    """Write vectors: a right one is its left one and noise, and the others are random."""
    for name, size in zip(("left", "right"), sizes, strict=True):
        file = np.lib.format.open_memmap(
            folder / f"{name}.npy", "w+", np.dtype(np.float32), (size, DIM)
        )
        for start in range(0, size, STEP):
            stop = min(start + STEP, size)
            file[start:stop] = rows_of(name == "right", start, stop, pairs)
        file.flush()


def rows_of(right: bool, start: int, stop: int, pairs: int) -> Array:
    """The rows of one step: the same whenever they are asked for."""
    shape = (stop - start, DIM)
    own = np.random.default_rng((int(right), start)).standard_normal(shape, dtype=np.float32)
    if right:
        paired = max(0, min(stop, pairs) - start)
        left = np.random.default_rng((0, start)).standard_normal(shape, dtype=np.float32)
        own[:paired] = left[:paired] + np.float32(NOISE) * own[:paired]
    return own


def child(folder: Path, way: Way, pairs: int, mapped: bool) -> dict[str, Any]:
    """Do one thing; times, and memory before and after the vectors are there."""
    imports = resident(os.getpid())["VmHWM"]
    mode = "r" if mapped else None
    left, right = (np.load(folder / f"{name}.npy", mmap_mode=mode) for name in ("left", "right"))
    vectors = resident(os.getpid())["VmHWM"]
    told: dict[str, Any] = {"imports": imports, "vectors": vectors, "seconds": 0.0}
    if way.run is not None:
        # What is loaded at the first call, and threads that are started then, are nobody's work.
        way.run(Given(left[:WARM], right[:WARM], min(WARM, pairs), way.threads), way.k)
        start = time.perf_counter()
        found = way.run(Given(left, right, pairs, way.threads), way.k)
        told |= {"seconds": time.perf_counter() - start, "told": found._asdict()}
    return told | {"peak": resident(os.getpid())["VmHWM"]}


def watch(folder: Path, name: str, pairs: int, mapped: bool) -> Run:
    """Run a process for it; anonymous memory is sampled from outside."""
    command = [sys.executable, __file__, str(folder), "--way", name, "--pairs", str(pairs)]
    with subprocess.Popen(
        [*command, *["--mapped"] * mapped], stdout=subprocess.PIPE, text=True
    ) as process:
        anonymous = 0
        while process.poll() is None:
            anonymous = max(anonymous, resident(process.pid).get("RssAnon", 0))
            time.sleep(0.01)
        said = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"{name}: exit code {process.returncode}")
    told = json.loads(said)
    sizes = (told[key] for key in ("imports", "vectors", "peak"))
    return Run(told["seconds"], *sizes, anonymous, told.get("told", {}))


def contest(
    folder: Path, names: Sequence[str], pairs: int, rounds: int, mapped: bool
) -> dict[str, Run]:
    """All of them in turn, several times; the fastest run, with the highest peaks of all."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            runs[name].append(watch(folder, name, pairs, mapped))
            print(name, f"{runs[name][-1].seconds:.2f} s", flush=True)
    best = {}
    for name, found in runs.items():
        peak, anonymous = (max(getattr(run, what) for run in found) for what in Run._fields[3:5])
        best[name] = min(found)._replace(peak=peak, anonymous=anonymous)
    return best


def check(runs: dict[str, Run]) -> None:
    """Contestants of one kind agree, but for what rounding does to near scores."""
    for kind, baseline in BASELINES.items():
        others = [name for name in runs if WAYS[name].kind == kind]
        if baseline in runs:
            for name in others:
                a, b = runs[baseline].told, runs[name].told
                for key, apart in {"mr": 1e-3 * a["mr"], "hits1": 1e-3}.items():
                    if abs(a[key] - b[key]) > apart:
                        raise ValueError(f"{name}: {key} {b[key]}, by argsort {a[key]}")


# -- the pages -------------------------------------------------------------------------------------


def table(runs: dict[str, Run]) -> str:
    """Times, ratios to the dense way, memory."""
    heading = ["what", "time, s", "the dense way's time over it", "goal", "peak, MB"]
    heading += ["of it anonymous", "MR", "hits@1"]
    rows = []
    for name, run in runs.items():
        way = WAYS[name]
        baseline = runs.get(BASELINES.get(way.kind, ""))
        ratio, goal = "", ""
        if baseline is not None:
            times = baseline.seconds / run.seconds
            ratio = f"{times:.1f}"
            if way.run is by_truerank:
                met = "met" if times >= GOALS[way.kind] else "missed"
                goal = f"{GOALS[way.kind]:.0f}: {met}"
        told = run.told
        values = [
            f"{run.seconds:.2f}" if way.run else "",
            ratio,
            goal,
            f"{run.peak / 1e6:,.0f}",
            f"{run.anonymous / 1e6:,.0f}",
            f"{told['mr']:,.1f}" if told and told["mr"] == told["mr"] else "",
            f"{told['hits1']:.4f}" if told else "",
        ]
        rows.append([name, *values])
    return pipes(heading, rows)


def machine() -> dict[str, Any]:
    """What the page says of it."""
    config = np.show_config(mode="dicts") or {}
    simd = config.get("SIMD Extensions", {})
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "simd": ", ".join([*simd.get("baseline", []), *simd.get("found", [])]),
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "cores": len(os.sched_getaffinity(0)),
        "dim": DIM,
        "k": K,
        "warm": WARM,
    }


def dense(folder: Path, sizes: Sequence[tuple[int, int]], rounds: int) -> str:
    """All contestants, on each size."""
    parts, first = [], None
    for size in sizes:
        pairs = min(PAIRS, *size)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            make(Path(place), size, pairs)
            runs = contest(Path(place), DENSE, pairs, rounds, mapped=False)
        check(runs)
        first = first or runs[DENSE[0]]
        heading = f"## {size[0]:,} x {size[1]:,}, {pairs:,} pairs"
        scores = f"The matrix has {4e-6 * size[0] * size[1]:,.0f} MB."
        parts.append(f"{heading}\n\n{scores}\n\n{table(runs)}")
    assert first is not None
    text = TEXT.format(
        **machine(),
        rounds=rounds,
        imports=first.imports / 1e6,
        vectors=first.vectors / 1e6,
        limit=LIMIT / 1e6,
        parts="\n\n".join(parts),
    )
    return page(text)


def large(folder: Path, size: int, rounds: int) -> str:
    """Truerank alone, from mapped files."""
    names = [name for name in LARGE if name not in ONE_THREAD]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        make(Path(place), (size, size), size)
        runs = contest(Path(place), names, size, rounds, mapped=True)
    text = LARGE_TEXT.format(
        **machine(),
        size=size,
        files=2 * size * DIM * 4 / 1e6,
        matrix=4e-9 * size**2,
        rounds=rounds,
        imports=runs[names[0]].imports / 1e6,
        table=table(runs),
    )
    return page(text)


TEXT = """# Evaluating an alignment: the dense way and truerank's

Made by `python bench/studies/alignment_dense.py FOLDER`, with Python {python} and numpy {numpy}
({simd}; {blas}), on a machine with {cores} cores. Best of {rounds} rounds in turn, each in a
process of its own, after a first call with {warm} entities.

Random vectors of {dim} float32; the vector of a right entity is that of its left one plus noise.
Both directions are evaluated, and all entities of the other side are candidates.

- **argsort of rows** is OpenEA's way (`greedy_alignment`), rewritten: normalised vectors and one
  matrix product; then, for each row, the full `argsort` of its negation and a search for the target
  in it. The other direction uses the transposed matrix. numpy's argsort of float32 uses SIMD where
  the processor has it. BLAS uses its default number of threads; sorting uses one. OpenEA's code
  evaluates one direction, searches for the target twice, and can split the rows among processes,
  each of which gets a copy; here one matrix serves both directions.
- **CSLS** there partitions the negated matrix and its transpose along their rows, takes the means
  of the first {k}, and makes two more matrices. (OpenEA's code partitions at index {k} and takes
  {k} of the scores before it; here it is the {k} highest, at the same cost.)
- **> and == of rows** computes the same matrix and counts; it is the fastest way in numpy that we
  know.
- Peaks include the imports ({imports:.0f} MB) and the vectors ({vectors:.0f} MB together with them
  in the first size). The goal for truerank is a peak below {limit:.0f} MB.

{parts}

MR and hits@1 are those of both directions together. The contestants agree to a thousandth: matrix
products differ in rounding.
"""

LARGE_TEXT = """# {size:,} x {size:,}

Made by `python bench/studies/alignment_dense.py FOLDER --large {size}`, with Python {python} and
numpy {numpy}, on a machine with {cores} cores. Best of {rounds}, each in a process of its own.

Two files of random vectors of {dim} float32, {files:,.0f} MB together, are mapped; every left
entity has a counterpart. All entities of the other side are candidates, in both directions; the
matrix would have {matrix:,.0f} GB. Peaks include the imports ({imports:.0f} MB) and mapped pages of
files, which the kernel can take back; the rest is anonymous memory.

{table}

hits@1 of stable pairs is the share of the left entities that are matched with their counterpart.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--large", type=int, metavar="N")
    parser.add_argument("--sizes", help="as 1500x1500,1938x1957")
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mapped", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        way = WAYS[options.way]
        print(json.dumps(child(options.folder, way, options.pairs, options.mapped)))
        sys.exit()
    if options.large is not None:
        text = large(options.folder, options.large, options.rounds or 1)
        name = "alignment_dense_large.md"
    else:
        chosen: Sequence[tuple[int, int]] = SIZES
        if options.sizes:
            chosen = [tuple(map(int, size.split("x"))) for size in options.sizes.split(",")]
        text = dense(options.folder, chosen, options.rounds or 5)
        name = "alignment_dense.md"
    (options.output / name).write_text(text, encoding="utf-8")
    print(text)
