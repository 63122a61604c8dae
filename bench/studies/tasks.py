"""What is around counts, from data to tasks and from counts to reports: time, memory, growth.

    python bench/studies/tasks.py [--only REGEX] [--share 0.1] [--no-growth] [--page PAGE]

Each work, and each growth, runs in a process of its own, where truerank and what it is compared
with take turns. Seconds are those of processors, of the best of three runs, since others may keep
them busy; MB is how much the process grows by at its peak, beside the data. With --share the data
are so many times smaller. What is not installed is left out.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the harness

import numpy as np
import scipy.sparse
from pages import arguments, markdown_table

import truerank as tr
from harness import task_work
from harness.growth import fit_exponent, geometric_sizes
from harness.synthetic import draw_triples
from harness.task_work import BASELINES, GROWING, Work
from harness.timing import time_in_turn
from truerank import _core

OURS = "truerank"
METRICS = ["mrr", "map", "ndcg@10", "recall@10", "recall@100", "precision@10", "success@1"]
METRICS += ["success@10"]
MEASURES = ["recip_rank", "map", "ndcg_cut.10", "recall.10,100", "P.10", "success.1,10"]
OF_RANX = ["mrr", "map", "ndcg@10", "recall@10", "recall@100", "precision@10", "hit_rate@1"]
OF_RANX += ["hit_rate@10"]
ROUNDS = 3
BUDGET = 60.0  # seconds after which one that is slow is no longer run, once it has run twice
PAGE = """# What is around counts

Made by `python bench/studies/tasks.py --share {share:g} --page bench/studies/tasks.md`: data of
{share:g} times the size that the first column says, integers of 64 bits, scores of float32, all
threads of two shared cores, {isa}, numpy {numpy}. Seconds are those of processors, of the best of
three runs in turn; MB is how much the process grows by at its peak, beside the data. A goal is that
of the whole size. A slope is that of the logarithm of time by the logarithm of size, with its
standard error; the goal is at most 1.1. The last rows are numpy's own: what outgrows a cache takes
longer for each integer, whoever reads it.

"""
Works = dict[str, Work]


class Job(NamedTuple):
    """Work of a given size, and the goal that the project has for it."""

    make: Callable[[float], Works]
    goal: str


def retrieval_columns(share: float) -> Works:
    """Prepare a task of 500,000 users, and scipy's CSR of what is known."""
    users = round(500_000 * share)
    items = 100_000
    test, known = task_work.user_columns(round(10_000_000 * share), users, items)
    ones = np.ones(len(known[0]), bool)
    matrix = partial(scipy.sparse.csr_matrix, (ones, known), shape=(users, items))
    task = partial(tr.retrieval.Task, test, entities=items, queries=users, known={"train": known})
    return {OURS: task, "scipy, CSR": matrix}


def triples(share: float) -> Works:
    """Prepare a task of 15 million triples, and one argsort of as many integers."""
    number = round(15_000_000 * share)
    rows = draw_triples(number, round(5_000_000 * share), 500)
    test, train = np.split(rows, [number // 5])
    options: dict[str, Any] = {"entities": round(5_000_000 * share)}
    task = partial(tr.link_prediction.Task, test, {"train": train}, **options)
    return {OURS: task, "numpy, argsort": partial(np.argsort, rows[:, 0] * 1_000 + rows[:, 1])}


def names(share: float, *, shuffled: bool) -> Works:
    """Prepare a task with the names of 8.8 million documents."""
    return {OURS: task_work.named_task(round(8_841_823 * share), shuffled=shuffled)}


def dictionaries(share: float) -> Works:
    """Prepare lists in dictionaries, 20,000 of 100 documents."""
    rng = np.random.default_rng(9)
    run: dict[str, dict[str, float]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for i in range(round(20_000 * share)):
        chosen = [f"D{j}" for j in np.unique(rng.integers(0, 1_000_000, 100)).tolist()]
        run[f"q{i}"] = dict(zip(chosen, rng.random(len(chosen)).tolist(), strict=True))
        qrels[f"q{i}"] = {chosen[0]: 1, chosen[-1]: 1}

    def evaluate() -> dict[str, float]:
        task = tr.retrieval.Task(qrels, entities=1_000_000)
        return task.evaluate_lists(run).to_dict(["mrr", "ndcg@10"])

    works: Works = {OURS: evaluate}
    if importlib.util.find_spec("pytrec_eval"):
        import pytrec_eval

        def peer() -> Any:
            return pytrec_eval.RelevanceEvaluator(qrels, ["recip_rank", "ndcg_cut.10"]).evaluate(
                run
            )

        works["pytrec_eval"] = peer
    return works


def files(share: float) -> Works:
    """Write lists of 6,980 queries of 1,000 documents, and evaluate them from the file on."""
    rng = np.random.default_rng(18)
    folder = tempfile.TemporaryDirectory()  # removed with the works, which hold it
    run = Path(folder.name, "run.trec")
    qrels = Path(folder.name, "qrels.txt")
    number = max(10, round(6_980 * share))
    with run.open("w") as lists, qrels.open("w") as judged:
        for i in range(number):
            chosen = rng.choice(8_841_823, 1_000, replace=False).tolist()
            judged.write(f"{i} 0 {chosen[i % 1_000]} 1\n")
            for rank, document in enumerate(chosen, 1):
                lists.write(f"{i} Q0 {document} {rank} {2_000 - rank} made\n")

    def evaluate() -> dict[str, float]:
        assert Path(folder.name).exists()
        task = tr.retrieval.Task(qrels, entities=8_841_823)
        return task.evaluate_lists(run).to_dict(METRICS)

    works: Works = {OURS: evaluate}
    if importlib.util.find_spec("pytrec_eval"):
        import pytrec_eval

        def trec() -> Any:
            with qrels.open() as file:
                read = pytrec_eval.parse_qrel(file)
            with run.open() as file:
                return pytrec_eval.RelevanceEvaluator(read, MEASURES).evaluate(
                    pytrec_eval.parse_run(file)
                )

        works["pytrec_eval"] = trec
    if importlib.util.find_spec("ranx"):
        import ranx

        def ranx_of_files() -> Any:
            read = ranx.Qrels.from_file(str(qrels), kind="trec")
            return ranx.evaluate(read, ranx.Run.from_file(str(run), kind="trec"), OF_RANX)

        works["ranx"] = ranx_of_files
    return works


def filtered(share: float) -> Works:
    """Prepare tasks of one row with six million entries of filters, and without."""
    rng = np.random.default_rng(13)
    tasks = 1_000
    scores = rng.random((tasks, 2_000), dtype=np.float32)
    targets = rng.integers(0, 2_000, tasks)
    return {
        OURS: task_work.filters(round(6_000_000 * share)),
        "the same without a filter": partial(tr.rank, scores, targets),
    }


def answers(share: float, queries: int, each: int, entities: int, dim: int) -> Works:
    """Prepare queries of vectors with many right answers, and their scores with `rank`."""
    rng = np.random.default_rng(19)
    each = round(each * share)
    vectors = rng.normal(size=(entities, dim)).astype(np.float32)
    asked = rng.normal(size=(queries, dim)).astype(np.float32)
    targets = rng.integers(0, entities, queries * each)
    rows = np.repeat(np.arange(queries), each)

    def by_scores() -> tr.Ranks:
        return tr.rank(tr.score_embeddings(asked, vectors, similarity="dot"), targets, rows=rows)

    return {
        OURS: partial(tr.rank_embeddings, asked, vectors, targets, rows=rows),
        "scores, then rank": by_scores,
    }


def one_list(share: float) -> Works:
    """Prepare one list of 40,000 candidates with 10,000 tasks, and `rank` of as many scores."""
    tasks = round(10_000 * share)
    rng = np.random.default_rng(20)
    scores = rng.random((1, 4 * tasks), dtype=np.float32)
    targets = rng.integers(0, 4 * tasks, tasks)
    return {
        OURS: task_work.one_list(tasks),
        "rank": partial(tr.rank, scores, targets, rows=np.zeros(tasks, np.int64)),
    }


def models(share: float) -> Works:
    """Prepare a table of 40 models over 200 tasks against the best."""
    rng = np.random.default_rng(21)
    base = (rng.pareto(0.5, 200) * 5).astype(np.int64) % 40_000
    side = (np.arange(200) % 2, ("head", "tail"))
    reports = {}
    for i in range(max(2, round(40 * share))):
        above = np.maximum(0, base + rng.integers(-20, 21 + i, 200)) % 40_000
        ranks = tr.Ranks(above, [1] * 200, 40_943, side=side, unit=np.arange(200) // 2)
        reports[f"model {i}"] = tr.report(ranks)
    return {OURS: lambda: tr.table(reports, against="best")}


def ours(make: Callable[[int], Work], size: int, share: float) -> Works:
    """Prepare work that nothing is compared with."""
    return {OURS: make(round(size * share))}


JOBS = {
    "retrieval.Task, 500,000 users, 1 M test and 10 M known rows, as columns": Job(
        retrieval_columns, "2 s"
    ),
    "link_prediction.Task, integer arrays, 3 M test + 12 M known, 5 M entities": Job(
        triples, "10 s, 1 GB"
    ),
    "Task with 8.8 M names of documents, in order": Job(partial(names, shuffled=False), "8 s"),
    "Task with 8.8 M names of documents, shuffled": Job(
        partial(names, shuffled=True), "8 s, 0.7 GB"
    ),
    "{query: {document: score}}, 20,000 x 100": Job(dictionaries, "0.7 s"),
    "lists of MS MARCO, 6,980 x 1,000 from a file, to 8 metrics": Job(files, "4 s"),
    "filter of 6 M unsorted entries with repeats": Job(filtered, "50 ms"),
    "rank_embeddings, 50 queries x 2,000 right answers, 100,000 entities, d = 64": Job(
        partial(answers, queries=50, each=2_000, entities=100_000, dim=64), "0.07 s"
    ),
    "one query with 200,000 tasks, 200,000 entities, d = 8": Job(
        partial(answers, queries=1, each=200_000, entities=200_000, dim=8), "0.2 s"
    ),
    "rank_lists, one list of 40,000, 10,000 tasks with one shared filter": Job(
        one_list, "0.05 s, 50 MB"
    ),
    "table of 40 models against the best": Job(models, "2 s"),
    "Sampled on a hub, 8,000 test x 80,000 known facts": Job(
        partial(ours, task_work.hub, 80_000), "0.05 s"
    ),
    "to_json, compact, 100,000 groups": Job(partial(ours, task_work.group_json, 100_000), "1 s"),
    "to_text, 100,000 groups": Job(partial(ours, task_work.group_text, 100_000), "1 s"),
    "concatenate, 1,000 slices of ranks with 200,000 names": Job(
        partial(ours, task_work.joined_slices, 200_000), "0.1 s"
    ),
}


def measure_job(name: str, share: float) -> list[list[str]]:
    """Time a job and what it is compared with in turn; return a line for each."""
    works = JOBS[name].make(share)
    times = time_in_turn(works, ROUNDS, budget=BUDGET, clock=time.process_time)
    lines = []
    for contestant, found in times.items():
        memory = ""
        if found.memory is not None:
            memory = f"{found.memory / 1e6:,.0f}"
        goal = ""
        if contestant == OURS:
            goal = JOBS[name].goal
        lines.append([name, contestant, f"{found.best:.3g}", memory, goal])
        name = ""
    return lines


def measure_growth(name: str, share: float) -> list[str]:
    """Time work at four sizes in turn; return its line."""
    growing = (GROWING | BASELINES)[name]
    largest = round(growing.largest * share)
    sizes = geometric_sizes(largest / 8, largest, 4)
    works = {f"{size}": growing.make(size) for size in sizes}
    times = time_in_turn(works, ROUNDS, budget=BUDGET / 4, clock=time.process_time)
    seconds = [times[size].best for size in works]
    law = fit_exponent("time", sizes, seconds)
    span = f"{sizes[0]:,} to {largest:,} {growing.of}"
    slope = f"{law.exponent:.2f} +- {law.error:.2f}"
    return [name, span, f"{seconds[0]:.3g}", f"{seconds[-1]:.3g}", slope]


def alone(function: Callable[..., Any], *values: Any) -> Any:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *values).result()


if __name__ == "__main__":
    given = arguments(__doc__, only="", share=1.0, no_growth=False, page="")
    table: list[list[str]] = []
    for job in (name for name in JOBS if re.search(given["only"], name)):
        table += alone(measure_job, job, given["share"])
        print(table[-1], file=sys.stderr)
    text = markdown_table("work | contestant | seconds | MB | goal", table, 2)
    if not given["no_growth"]:
        lines = []
        for work in (name for name in GROWING | BASELINES if re.search(given["only"], name)):
            lines.append(alone(measure_growth, work, given["share"]))
            print(lines[-1], file=sys.stderr)
        heading = "work | sizes | seconds, smallest | largest | slope"
        text += "\n\n" + markdown_table(heading, lines, 2)
    text = PAGE.format(share=given["share"], numpy=np.__version__, isa=_core.isa()) + text
    print(text)
    if given["page"]:
        Path(given["page"]).write_text(text + "\n", encoding="utf-8")
