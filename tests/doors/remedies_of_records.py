"""Rows of remedies that the readers of facts, judgements and lists name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from doors.remedies import SEARCHES, Row, Search
from truerank import read_run, retrieval


def write_search(case: Search) -> None:
    """Write the judgements, and the hits as lines of TREC."""
    judged = [f"{q} 0 {d} {g}\n" for q, row in case.qrels.items() for d, g in row.items()]
    Path("qrels.txt").write_text("".join(judged))
    hits = [f"{q} Q0 {d} 1 {s} t\n" for q, row in case.hits.items() for d, s in row]
    Path("run.txt").write_text("".join(hits))


def with_repeats(case: Search) -> Search:
    """Return a case whose lists have their first document again at the end, at a score of 0."""
    return Search(case.qrels, {q: [*row, (row[0][0], 0.0)] for q, row in case.hits.items()})


def ask_for_lists(case: Search, **options: Any) -> float:
    """Evaluate a file of lists that have a document twice."""
    write_search(with_repeats(case))
    report = retrieval.Task("qrels.txt").evaluate_lists("run.txt", **options)
    return float(report["mrr"])


def ask_for_run(case: Search, **options: Any) -> float:
    """Read a file of lists that have a document twice, and evaluate it."""
    write_search(with_repeats(case))
    run = read_run("run.txt", **options)
    return float(retrieval.Task("qrels.txt").evaluate_lists(run)["mrr"])


def line_of_lists(case: Search) -> str:
    """Write the same files, and return the line that evaluates them."""
    write_search(with_repeats(case))
    return "retrieval --qrels qrels.txt --lists run.txt"


ROWS = [
    Row(
        "records/lists.py",
        "duplicates",
        "a passage of a document stands for it: a file",
        ask_for_lists,
        Search.mrr,
        SEARCHES,
        line=line_of_lists,
    ),
    Row(
        "records/lists.py",
        "duplicates",
        "a passage of a document stands for it: read_run",
        ask_for_run,
        Search.mrr,
        SEARCHES,
    ),
]
