"""Names at size: tasks of millions of names, lists in dictionaries and in files, and their growth.

    python bench/studies/names.py [--only REGEX] [--times 3]

Each work is done at three sizes, one twice the other, in processes of their own that take turns.
Prints a Markdown table: of each size the best seconds, those of processors, and how much the
process grows by at its peak once the data are there; and the exponent of time in size. pytrec_eval,
where it is installed, is timed in the same run.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness

import numpy as np
from pages import arguments, markdown_table

import truerank as tr
from harness.growth import fit_exponent
from harness.memory import PeakMemory

QUERIES = 6_980  # of MS MARCO's small development set
METRICS = "mrr mrr@10 map ndcg@10 recall@10 recall@100 recall@1000 precision@10"
Run = Callable[[], object]


def named(order: str, size: int, _: Path) -> Run:
    """Prepare a task of so many documents with names, of which each query has one."""
    rng = np.random.default_rng(0)
    names = list(map(str, range(size)))
    if order == "shuffled":  # in memory, too
        random.Random(0).shuffle(names)
    answers = rng.integers(0, size, QUERIES)
    qrels = {f"q{i}": [names[answer]] for i, answer in enumerate(answers.tolist())}
    return lambda: tr.retrieval.Task(qrels, entities=names)


def dictionaries(library: str, size: int, _: Path) -> Run:
    """Prepare metrics of so many lists of 100 of a million documents, `{query: {name: score}}`."""
    rng = np.random.default_rng(0)
    found: dict[str, dict[str, float]] = {}
    judged = {}
    for i in range(size):
        names = map(str, rng.integers(0, 1_000_000, 100).tolist())
        found[str(i)] = dict(zip(names, np.sort(rng.random(100))[::-1].tolist(), strict=True))
        right = rng.permutation(list(found[str(i)]))[:6].tolist()
        judged[str(i)] = dict.fromkeys(right, 1)
    if library == "pytrec_eval":
        import pytrec_eval

        measures = {"recip_rank", "map", "ndcg_cut.10", "recall.10,100,1000", "P.10"}
        return lambda: pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(found)

    def evaluate() -> object:
        task = tr.retrieval.Task(judged, entities=1_000_000)
        return task.evaluate_lists(found).to_dict(METRICS.split())

    return evaluate


def listed(form: str, size: int, folder: Path) -> Run:
    """Prepare metrics of a file with lists of so many documents, of 8.8 million."""
    rng = np.random.default_rng(0)
    run = folder / "run.txt"
    qrels = folder / "qrels.txt"
    with run.open("w") as lines, qrels.open("w") as answers:
        for query in rng.choice(1_100_000, QUERIES, replace=False).tolist():
            documents = rng.choice(8_841_823, size, replace=False).tolist()
            answers.write(f"{query} 0 {documents[int(rng.integers(min(size, 60)))]} 1\n")
            for rank, document in enumerate(documents, 1):
                if form == "TREC":
                    lines.write(f"{query} Q0 {document} {rank} {30 - rank / 50:.6f} tag\n")
                else:
                    lines.write(f"{query}\t{document}\t{rank}\n")

    def evaluate() -> object:
        task = tr.retrieval.Task(qrels, entities=8_841_823)
        return task.evaluate_lists(run).to_dict(METRICS.split())

    return evaluate


WORKS: dict[str, tuple[Callable[[int, Path], Run], list[int]]] = {
    "a task of n names, in order": (partial(named, "in order"), [2_210_456, 4_420_912, 8_841_823]),
    "the same, shuffled": (partial(named, "shuffled"), [2_210_456, 4_420_912, 8_841_823]),
    "n lists of 100 in dictionaries": (partial(dictionaries, ""), [5_000, 10_000, 20_000]),
    "the same, pytrec_eval": (partial(dictionaries, "pytrec_eval"), [5_000, 10_000, 20_000]),
    "6,980 lists of n in a file of MS MARCO": (partial(listed, "MS MARCO"), [250, 500, 1_000]),
    "the same, of TREC": (partial(listed, "TREC"), [250, 500, 1_000]),
}


def measure(work: str, size: int) -> tuple[float, float, float] | None:
    """Return seconds, seconds of processors and megabytes; None where a library is missing."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            run = WORKS[work][0](size, Path(folder))
        except ImportError:
            return None
        memory = PeakMemory()
        start = time.perf_counter()
        busy = time.process_time()
        run()
        seconds = time.perf_counter() - start
        return seconds, time.process_time() - busy, (memory.growth() or 0) / 1e6


def rows_of(work: str, times: int) -> Iterator[list[object]]:
    """Yield a line for each size, the last with the exponent of the seconds of processors."""
    sizes = WORKS[work][1]
    best: list[Any] = [None] * len(sizes)
    for _ in range(times):
        for i, size in enumerate(sizes):
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                found = pool.submit(measure, work, size).result()
            if found is None:
                print(f"{work}: a library is missing", file=sys.stderr)
                return
            if best[i] is None:
                best[i] = found
            best[i] = tuple(map(min, best[i], found))
    law = fit_exponent(work, sizes, [busy for _, busy, _ in best])
    for size, (seconds, busy, growth) in zip(sizes, best, strict=True):
        exponent = ""
        if size == sizes[-1]:
            exponent = f"{law.exponent:.2f}"
        yield [work, f"{size:,}", f"{seconds:.2f}", f"{busy:.2f}", round(growth), exponent]


if __name__ == "__main__":
    given = arguments(__doc__, only="", times=3)
    lines = []
    for name in WORKS:
        if re.search(given["only"], name):
            lines.extend(rows_of(name, given["times"]))
    heading = "work | n | seconds | of processors | MB | exponent"
    print(markdown_table(heading, lines))
