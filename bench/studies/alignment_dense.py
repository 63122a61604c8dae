"""Time and memory of evaluating an alignment, beside the dense way of OpenEA in numpy.

    python bench/studies/alignment_dense.py FOLDER [--rounds N] [--large N] [--output FOLDER]

Random vectors are written to FOLDER and removed. Each contestant evaluates both directions in a
process of its own, in turn, and the best of several rounds counts; peaks of memory are those of
the kernel. --large runs truerank alone with that many entities on either side, from mapped files,
plain, with CSLS and for stable pairs, and writes a page of its own. --sizes is for a quick look.
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
from embeddings_memory import resident_memory
from numpy.typing import NDArray
from pages import format_page, markdown_table

import truerank as tr

Array = NDArray[Any]

HERE = Path(__file__).parent
DIM = 300
SIZES = ((15_000, 15_000), (19_388, 19_572))  # OpenEA's smaller data sets; DBP15k zh-en
PAIRS = 15_000
NOISE = 4.0  # times a random vector is added on the right: about half of the pairs have rank 1
K = 10
WARM = 64  # entities of a first call, which is not timed
STEP = 10_000  # rows drawn and written at once
GOALS = {"plain": 10.0, "csls": 6.0}
LIMIT = 200e6


class AlignmentProblem(NamedTuple):
    """Embeddings of two graphs, whose first `pairs` entities are each other's counterparts."""

    left: Array
    right: Array
    pairs: int
    threads: int | None


class Metrics(NamedTuple):
    """Metrics of both directions together."""

    mr: float
    hits1: float


class Run(NamedTuple):
    """Seconds and bytes that a process took, and the metrics that it returned."""

    seconds: float
    imports: int
    vectors: int
    peak: int
    anonymous: int
    metrics: dict[str, float]


# -- the dense way ---------------------------------------------------------------------------------


def similarities(problem: AlignmentProblem, k: int | None) -> Array:
    """Return all cosines at once, or CSLS of them by its formula."""
    left, right = (
        side / np.linalg.norm(side, axis=1, keepdims=True) for side in (problem.left, problem.right)
    )
    scores = np.matmul(left, right.T)
    if k is None:
        return scores
    left_means, right_means = nearest_means(scores, k), nearest_means(scores.T, k)
    return (2 * scores.T - left_means).T - right_means


def nearest_means(scores: Array, k: int) -> Array:
    """Return the mean of the k highest of each row, by a partition of the negated matrix."""
    return np.mean(-np.partition(-scores, k - 1, axis=1)[:, :k], axis=1)


def by_argsort(problem: AlignmentProblem, k: int | None = None) -> Metrics:
    """Find the position of the target in each sorted row, as OpenEA does."""
    scores = similarities(problem, k)
    ranks = []
    for matrix in (scores, scores.T):
        for i in range(problem.pairs):
            order = (-matrix[i, :]).argsort()
            ranks.append(np.where(order == i)[0][0] + 1)
    return metrics_of(np.array(ranks))


def by_counts(problem: AlignmentProblem, k: int | None = None) -> Metrics:
    """Count the higher scores, 256 rows at once: the fastest way in numpy that we know."""
    scores = similarities(problem, k)
    ranks = []
    for matrix in (scores, scores.T):
        for start in range(0, problem.pairs, 256):
            ids = np.arange(start, min(start + 256, problem.pairs))
            rows = np.ascontiguousarray(matrix[start : ids[-1] + 1])
            true_scores = rows[ids - start, ids][:, None]
            tied = (rows == true_scores).sum(axis=1)
            ranks.append((rows > true_scores).sum(axis=1) + (tied + 1) / 2)
    return metrics_of(np.concatenate(ranks))


def metrics_of(ranks: Array) -> Metrics:
    return Metrics(float(ranks.mean()), float((ranks <= 1).mean()))


# -- truerank --------------------------------------------------------------------------------------


def by_truerank(problem: AlignmentProblem, k: int | None = None) -> Metrics:
    pairs = np.arange(problem.pairs)[:, None].repeat(2, axis=1)
    report = tr.alignment.evaluate(
        problem.left, problem.right, pairs, csls=k, threads=problem.threads
    )
    return Metrics(report["mr"], report["hits@1"])


def stable(problem: AlignmentProblem, k: int | None = None) -> Metrics:
    """Find stable pairs; the share of correct ones is given as hits@1, and there is no rank."""
    alignment = tr.alignment.infer(
        problem.left, problem.right, method="stable", csls=k, threads=problem.threads
    )
    ids, counterparts = alignment.pairs.T
    correct = (ids == counterparts)[ids < problem.pairs].sum()
    return Metrics(float("nan"), float(correct / problem.pairs))


class Contestant(NamedTuple):
    """What to run, with which k of CSLS and how many threads (None: its default)."""

    name: str
    kind: str
    run: Callable[..., Metrics] | None
    k: int | None = None
    threads: int | None = None


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("imports and vectors alone", "", None),
        Contestant("argsort of rows", "plain", by_argsort),
        Contestant("> and == of rows", "plain", by_counts),
        Contestant("truerank, one thread", "plain", by_truerank, threads=1),
        Contestant("truerank", "plain", by_truerank),
        Contestant("CSLS, argsort of rows", "csls", by_argsort, K),
        Contestant("CSLS, > and == of rows", "csls", by_counts, K),
        Contestant("CSLS, truerank, one thread", "csls", by_truerank, K, 1),
        Contestant("CSLS, truerank", "csls", by_truerank, K),
        Contestant("stable pairs, truerank", "stable", stable),
        Contestant("CSLS, stable pairs, truerank", "stable", stable, K),
    )
}
BASELINES = {"plain": "argsort of rows", "csls": "CSLS, argsort of rows"}
DENSE = [name for name, c in CONTESTANTS.items() if c.kind != "stable"]
LARGE = [name for name, c in CONTESTANTS.items() if c.run in (None, by_truerank, stable)]
ONE_THREAD = [name for name, c in CONTESTANTS.items() if c.threads == 1]


# -- processes -------------------------------------------------------------------------------------


def write_vectors(folder: Path, sizes: tuple[int, int], pairs: int) -> None:
    """Write vectors: those of a pair differ by noise, all others are random."""
    for name, size in zip(("left", "right"), sizes, strict=True):
        file = np.lib.format.open_memmap(
            folder / f"{name}.npy", "w+", np.dtype(np.float32), (size, DIM)
        )
        for start in range(0, size, STEP):
            stop = min(start + STEP, size)
            file[start:stop] = rows_of(name == "right", start, stop, pairs)
        file.flush()


def rows_of(right: bool, start: int, stop: int, pairs: int) -> Array:
    """Return the rows of one step, which are the same at every call."""
    shape = (stop - start, DIM)
    own = np.random.default_rng((int(right), start)).standard_normal(shape, dtype=np.float32)
    if right:
        paired = max(0, min(stop, pairs) - start)
        left = np.random.default_rng((0, start)).standard_normal(shape, dtype=np.float32)
        own[:paired] = left[:paired] + np.float32(NOISE) * own[:paired]
    return own


def run_contestant(
    folder: Path, contestant: Contestant, pairs: int, mapped: bool
) -> dict[str, Any]:
    """Run a contestant; return its time, and memory before and after loading the vectors."""
    imports = resident_memory(os.getpid())["VmHWM"]
    mode = "r" if mapped else None
    left, right = (np.load(folder / f"{name}.npy", mmap_mode=mode) for name in ("left", "right"))
    vectors = resident_memory(os.getpid())["VmHWM"]
    measured: dict[str, Any] = {"imports": imports, "vectors": vectors, "seconds": 0.0}
    if contestant.run is not None:
        # The first call loads code and starts threads, which is not part of the work.
        contestant.run(
            AlignmentProblem(left[:WARM], right[:WARM], min(WARM, pairs), contestant.threads),
            contestant.k,
        )
        start = time.perf_counter()
        metrics = contestant.run(
            AlignmentProblem(left, right, pairs, contestant.threads), contestant.k
        )
        measured |= {"seconds": time.perf_counter() - start, "metrics": metrics._asdict()}
    return measured | {"peak": resident_memory(os.getpid())["VmHWM"]}


def run_and_sample(folder: Path, name: str, pairs: int, mapped: bool) -> Run:
    """Run a contestant in a process of its own, and sample its anonymous memory."""
    command = [sys.executable, __file__, str(folder), "--way", name, "--pairs", str(pairs)]
    with subprocess.Popen(
        [*command, *["--mapped"] * mapped], stdout=subprocess.PIPE, text=True
    ) as process:
        anonymous = 0
        while process.poll() is None:
            anonymous = max(anonymous, resident_memory(process.pid).get("RssAnon", 0))
            time.sleep(0.01)
        output = process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"{name}: exit code {process.returncode}")
    measured = json.loads(output)
    sizes = (measured[key] for key in ("imports", "vectors", "peak"))
    return Run(measured["seconds"], *sizes, anonymous, measured.get("metrics", {}))


def run_in_turn(
    folder: Path, names: Sequence[str], pairs: int, rounds: int, mapped: bool
) -> dict[str, Run]:
    """Run all in turn, several times; return the fastest runs, with the highest peaks of all."""
    runs: dict[str, list[Run]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            runs[name].append(run_and_sample(folder, name, pairs, mapped))
            print(name, f"{runs[name][-1].seconds:.2f} s", flush=True)
    fastest = {}
    for name, repeats in runs.items():
        peak, anonymous = (max(getattr(r, field) for r in repeats) for field in Run._fields[3:5])
        fastest[name] = min(repeats)._replace(peak=peak, anonymous=anonymous)
    return fastest


def check(runs: dict[str, Run]) -> None:
    """Raise an error if contestants of one kind differ by more than rounding explains."""
    for kind, baseline in BASELINES.items():
        others = [name for name in runs if CONTESTANTS[name].kind == kind]
        if baseline in runs:
            for name in others:
                a, b = runs[baseline].metrics, runs[name].metrics
                for key, tolerance in {"mr": 1e-3 * a["mr"], "hits1": 1e-3}.items():
                    if abs(a[key] - b[key]) > tolerance:
                        raise ValueError(f"{name}: {key} {b[key]}, by argsort {a[key]}")


# -- the pages -------------------------------------------------------------------------------------


def table(runs: dict[str, Run]) -> str:
    """Return the table of times, ratios to the dense way, and memory."""
    heading = ["contestant", "time, s", "times as fast as argsort", "goal", "peak, MB"]
    heading += ["anonymous, MB", "MR", "hits@1"]
    rows = []
    for name, run in runs.items():
        contestant = CONTESTANTS[name]
        baseline = runs.get(BASELINES.get(contestant.kind, ""))
        ratio, goal = "", ""
        if baseline is not None:
            times = baseline.seconds / run.seconds
            ratio = f"{times:.1f}"
            if contestant.run is by_truerank:
                met = "met" if times >= GOALS[contestant.kind] else "missed"
                goal = f"{GOALS[contestant.kind]:.0f}: {met}"
        metrics = run.metrics
        values = [
            f"{run.seconds:.2f}" if contestant.run else "",
            ratio,
            goal,
            f"{run.peak / 1e6:,.0f}",
            f"{run.anonymous / 1e6:,.0f}",
            f"{metrics['mr']:,.1f}" if metrics and metrics["mr"] == metrics["mr"] else "",
            f"{metrics['hits1']:.4f}" if metrics else "",
        ]
        rows.append([name, *values])
    return markdown_table(heading, rows)


def machine() -> dict[str, Any]:
    """Return what the page says about the machine."""
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
    """Return the page of all contestants on each size."""
    sections, first = [], None
    for size in sizes:
        pairs = min(PAIRS, *size)
        with tempfile.TemporaryDirectory(dir=folder) as place:
            write_vectors(Path(place), size, pairs)
            runs = run_in_turn(Path(place), DENSE, pairs, rounds, mapped=False)
        check(runs)
        first = first or runs[DENSE[0]]
        heading = f"## {size[0]:,} x {size[1]:,}, {pairs:,} pairs"
        scores = f"The matrix has {4e-6 * size[0] * size[1]:,.0f} MB."
        sections.append(f"{heading}\n\n{scores}\n\n{table(runs)}")
    assert first is not None
    text = TEXT.format(
        **machine(),
        rounds=rounds,
        imports=first.imports / 1e6,
        vectors=first.vectors / 1e6,
        limit=LIMIT / 1e6,
        sections="\n\n".join(sections),
    )
    return format_page(text)


def large(folder: Path, size: int, rounds: int) -> str:
    """Return the page of truerank alone, from mapped files."""
    names = [name for name in LARGE if name not in ONE_THREAD]
    with tempfile.TemporaryDirectory(dir=folder) as place:
        write_vectors(Path(place), (size, size), size)
        runs = run_in_turn(Path(place), names, size, rounds, mapped=True)
    text = LARGE_TEXT.format(
        **machine(),
        size=size,
        files=2 * size * DIM * 4 / 1e6,
        matrix=4e-9 * size**2,
        rounds=rounds,
        imports=runs[names[0]].imports / 1e6,
        table=table(runs),
    )
    return format_page(text)


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

{sections}

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
    parser.add_argument("--way", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--pairs", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--mapped", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.way is not None:
        contestant = CONTESTANTS[options.way]
        print(json.dumps(run_contestant(options.folder, contestant, options.pairs, options.mapped)))
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
