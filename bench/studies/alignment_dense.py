"""Time and memory of evaluating an alignment, beside the dense way of OpenEA in numpy.

    python bench/studies/alignment_dense.py [--rounds N] [--sizes 1500x1500 ...] [--output FOLDER]

Each contestant evaluates both directions of random vectors in a process of its own, in turn, and
the best of several rounds counts; peaks of memory are those of the kernel. The dense ways are those
of `bench/peers/alignment.py`. Linux only; writes alignment_dense.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness and the peers

import numpy as np
from pages import format_page, markdown_table

import truerank as tr
from harness.memory import MemoryWatcher, resident_memory
from peers.alignment import DENSE, AlignmentProblem
from truerank import _core

HERE = Path(__file__).parent
DIM = 300
SIZES = ("15000x15000", "19388x19572")  # OpenEA's smaller data sets; DBP15k zh-en
PAIRS = 15_000
NOISE = 4.0  # times a random vector is added on the right: about half of the pairs have rank 1
K = 10
WARM = 64  # entities of a first call, which is not timed
TOLERANCE = 1e-3  # of the metrics, as products are rounded in other orders
GOALS = {None: 10.0, K: 6.0}


class Contestant(NamedTuple):
    """A way to evaluate, by the name of a peer or by truerank, with the k of CSLS."""

    name: str
    peer: str | None = None
    k: int | None = None
    threads: int | None = None

    def mean_rank_and_hits(self, left: np.ndarray, right: np.ndarray) -> tuple[float, float]:
        """Evaluate both directions; the first pairs are each other's counterparts."""
        pairs = min(PAIRS, len(left), len(right))
        if self.peer is not None:
            threads = int(_core.default_threads())
            problem = AlignmentProblem(left, right, pairs, threads, self.k)
            ranks = np.concatenate(DENSE[self.peer].prepare(problem)()) + 1
            return float(ranks.mean()), float((ranks <= 1).mean())
        both = np.arange(pairs)[:, None].repeat(2, axis=1)
        report = tr.alignment.evaluate(left, right, both, csls=self.k, threads=self.threads)
        return report["mr"], report["hits@1"]


WAYS = {"argsort of rows": "numpy, matrix and argsort", "> of rows": "numpy, matrix and >"}
CONTESTANTS = [
    Contestant(prefix + name, peer, k, threads)
    for k, prefix in ((None, ""), (K, "CSLS, "))
    for name, peer, threads in (
        *((name, peer, None) for name, peer in WAYS.items()),
        ("truerank, one thread", None, 1),
        ("truerank", None, None),
    )
]


class Run(NamedTuple):
    """Seconds, bytes and metrics of a process; with the bytes before the call."""

    seconds: float
    peak: int
    anonymous: int
    mr: float
    hits: float
    imports: int
    vectors: int


def measure(contestant: Contestant, sizes: tuple[int, int]) -> Run:
    """Draw vectors and evaluate them, in this process."""
    imports = resident_memory()["VmHWM"]
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((n, DIM), dtype=np.float32) for n in sizes)
    pairs = min(PAIRS, *sizes)
    right[:pairs] *= np.float32(NOISE)
    right[:pairs] += left[:pairs]
    vectors = resident_memory()["VmHWM"]
    contestant.mean_rank_and_hits(left[:WARM], right[:WARM])  # loads code and starts threads
    watcher = MemoryWatcher()
    watcher.start()
    start = time.perf_counter()
    metrics = contestant.mean_rank_and_hits(left, right)
    seconds = time.perf_counter() - start
    watcher.done.set()
    peak = resident_memory()["VmHWM"]
    return Run(seconds, peak, watcher.anonymous, *metrics, imports, vectors)


def fastest_of(sizes: tuple[int, int], rounds: int) -> list[Run]:
    """Run all in turn, in new processes; return the fastest of each, with its highest peaks."""
    runs: list[list[Run]] = [[] for _ in CONTESTANTS]
    for _ in range(rounds):
        for contestant, of_one in zip(CONTESTANTS, runs, strict=True):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                of_one.append(pool.submit(measure, contestant, sizes).result())
            print(contestant.name, f"{of_one[-1].seconds:.2f} s", flush=True)
    peaks = [[max(column) for column in list(zip(*of_one, strict=True))[1:3]] for of_one in runs]
    found = [
        min(of_one)._replace(peak=peak, anonymous=anonymous)
        for of_one, (peak, anonymous) in zip(runs, peaks, strict=True)
    ]
    for contestant, run in zip(CONTESTANTS, found, strict=True):
        baseline = found[4 * (contestant.k is not None)]
        if not np.allclose(run[3:5], baseline[3:5], rtol=TOLERANCE, atol=TOLERANCE):
            raise ValueError(f"{contestant.name}: {run[3:5]}, by argsort {baseline[3:5]}")
    return found


def table(found: Sequence[Run]) -> str:
    """Return the table of times, ratios to the dense way, and memory."""
    rows = []
    for contestant, run in zip(CONTESTANTS, found, strict=True):
        ratio, goal = found[4 * (contestant.k is not None)].seconds / run.seconds, ""
        if contestant.peer is None:
            goal = f"{GOALS[contestant.k]:.0f}: " + (
                "met" if ratio >= GOALS[contestant.k] else "missed"
            )
        sizes = (f"{size / 1e6:,.0f}" for size in (run.peak, run.anonymous))
        metrics = f"{run.mr:,.1f}", f"{run.hits:.4f}"
        rows.append((contestant.name, f"{run.seconds:.2f}", f"{ratio:.1f}", goal, *sizes, *metrics))
    heading = "contestant | time, s | times as fast as argsort | goal | peak, MB | anonymous, MB"
    return markdown_table(f"{heading} | MR | hits@1", rows)


def main(sizes: Sequence[str], rounds: int, output: Path) -> None:
    """Measure all contestants on each size and write the page."""
    sections = []
    for text in sizes:
        height, width = map(int, text.split("x"))
        found = fastest_of((height, width), rounds)
        sections.append(
            f"## {height:,} x {width:,}, {min(PAIRS, height, width):,} pairs\n\nThe matrix has "
            f"{4e-6 * height * width:,.0f} MB; imports take {found[0].imports / 1e6:.0f} MB, with "
            f"the vectors {found[0].vectors / 1e6:.0f} MB.\n\n{table(found)}"
        )
    page = TEXT.format(
        python=platform.python_version(),
        numpy=np.__version__,
        isa=_core.isa(),
        cores=len(os.sched_getaffinity(0)),
        rounds=rounds,
        warm=WARM,
        dim=DIM,
        k=K,
        sections="\n\n".join(sections),
    )
    (output / "alignment_dense.md").write_text(format_page(page), encoding="utf-8")


TEXT = """# Evaluating an alignment: the dense way and truerank's

Made by `python bench/studies/alignment_dense.py`, with Python {python}, numpy {numpy} and the
instruction set {isa}, on a machine with {cores} cores. Best of {rounds} rounds in turn, each in a
process of its own, after a first call with {warm} entities.

Random vectors of {dim} float32; the vector of a right entity is that of its left one plus noise.
Both directions are evaluated, and all entities of the other side are candidates.

- **argsort of rows** is OpenEA's way (`greedy_alignment`), rewritten: normalised vectors and one
  matrix product; then, for each row, the full `argsort` of its negation and a search for the target
  in it. The other direction uses the transposed matrix. BLAS uses as many threads as truerank;
  sorting uses one. OpenEA's code evaluates one direction, searches for the target twice, and can
  split the rows among processes, each of which gets a copy; here one matrix serves both directions.
- **CSLS** there partitions the negated matrix and its transpose along their rows, and takes the
  means of the {k} highest.
- **> of rows** computes the same matrix and counts; it is the fastest way in numpy that we know.

{sections}

MR and hits@1 are those of both directions together. The contestants agree to a thousandth: matrix
products differ in rounding.
"""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument("--output", type=Path, default=HERE)
    main(**vars(parser.parse_args()))
