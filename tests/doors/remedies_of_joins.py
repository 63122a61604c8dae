"""Rows of remedies that joins and comparisons of ranks name, and tasks of their own ids."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import truerank as tr
from doors.remedies import GRAPHS, SEARCHES, Facts, Row, Search
from truerank import link_prediction, retrieval

# -- data sets, and runs of one --------------------------------------------------------------------


def turned(case: Search) -> Search:
    """Return the same queries of another language, whose documents stand in the opposite order."""
    hits = {}
    for query, row in case.hits_once().items():
        hits[query] = list(zip(reversed(row), row.values(), strict=True))
    return replace(case, hits=hits)


def ranks_of(case: Search, queries: Any = None) -> tr.Ranks:
    """Rank some queries, or all."""
    chosen = list(case.qrels) if queries is None else queries
    task = retrieval.Task({query: case.qrels[query] for query in chosen})
    lists = case.hits_once()
    return task.evaluate_lists({query: lists[query] for query in chosen}).ranks


def ask_for_languages(case: Search, **options: Any) -> float:
    parts: Any = {"en": ranks_of(case), "de": ranks_of(turned(case))}
    joined = tr.concatenate(options.get("parts") or list(parts.values()))
    return float(tr.report(joined, unit="query")["mrr"])


def named(case: Search) -> float:
    """Return the mean over the queries of both languages."""
    return (case.mrr() + turned(case).mrr()) / 2


def ask_for_data_sets(case: Search, **options: Any) -> float:
    """The form has the user's own names and ranks."""
    if "parts" in options:
        options["parts"] = {"en": ranks_of(case), "de": ranks_of(turned(case))}
    return ask_for_languages(case, **options)


# -- folds, batches and runs -----------------------------------------------------------------------


def mrr_of_all(case: Facts) -> float:
    """Return the mean over the facts of both folds, of which the shared one counts twice."""
    shared = case.test[len(case.test) // 2]
    return Facts.mrr(replace(case, test=[*case.test, shared]))


# -- comparisons -----------------------------------------------------------------------------------


def ask_for_protocols(case: Facts, **options: Any) -> float:
    """One model is filtered, the other is not."""
    names = sorted({name for row in case.scores.values() for name in row})
    relations = sorted({relation for _, relation in case.scores})
    labels: dict[str, Any] = {"entities": names, "relations": relations, "sides": ["tail"]}
    reports = []
    for filter in ("query", "none"):
        task = link_prediction.Task(case.test, {"train": case.known}, filter=filter, **labels)
        reports.append(task.evaluate_lists(tail=case.scores))
    return tr.compare(*reports, **options).estimate


def difference_of_protocols(case: Facts) -> float:
    """Return what the filter changes; without it each fact is ranked as if it were the only one."""
    alone = [replace(case, test=[fact], known=[]).mrr() for fact in case.test]
    return case.mrr() - float(np.mean(alone))


def ask_for_lost_queries(case: Search, **options: Any) -> float:
    """The second model was not asked the first query."""
    _first, *others = case.qrels
    return tr.compare(
        *(tr.report(x) for x in (ranks_of(case), ranks_of(turned(case), others))),
        **options,
    ).estimate


def difference_of_common(case: Search) -> float:
    _first, *others = case.qrels
    both = []
    for each in (case, turned(case)):
        some = {query: each.qrels[query] for query in others}
        both.append(replace(each, qrels=some).mrr())
    return both[0] - both[1]


def ask_for_missing_lists(case: Search, **options: Any) -> float:
    """The second model found nothing for the first query."""
    first, *_ = case.qrels
    task = retrieval.Task(case.qrels)
    reports = [task.evaluate_lists(case.hits_once())]
    lists = {query: row for query, row in case.hits_once().items() if query != first}
    reports.append(task.evaluate_lists(lists))
    return tr.compare(*reports, **options).estimate


def difference_of_failures(case: Search) -> float:
    first, *_ = case.qrels
    return replace(case, qrels={first: case.qrels[first]}).mrr() / len(case.qrels)


SEVERAL = {name: case for name, case in SEARCHES.items() if len(case.qrels) > 1}

# -- ids of a task's own ---------------------------------------------------------------------------


def ask_for_own_queries(case: Facts, **options: Any) -> float:
    """Rows are in the order of a side's queries, and names are written in digits."""
    names = sorted({name for row in case.scores.values() for name in row})
    relations = sorted({relation for _, relation in case.scores})
    labels: dict[str, Any] = {"entities": names, "relations": relations, "sides": ["tail"]}
    task = link_prediction.Task(case.test, {"train": case.known}, **labels)
    rows = []
    for head, relation in task.tail.queries.tolist():
        row = case.scores[names[head], relations[relation]]
        rows.append([row[name] for name in names])
    keys = task.tail if "row_queries" in options else task.tail.queries
    return float(task.evaluate_scores(tail=np.array(rows), row_queries={"tail": keys})["mrr"])


DIGITS = {"plain": GRAPHS["digits"], "gaps": GRAPHS["gaps"]}
for name in ("other order", "several answers", "one row", "two tasks"):
    entities = dict(zip("abcde", ["10", "9", "2", "0", "1"], strict=True))
    DIGITS[name] = GRAPHS[name].renamed(entities, {"r": "1", "s": "0"})


def ask_for_others(case: Any, **options: Any) -> float:
    """The exact lists of vectors are without the query itself, which its index leaves out, too."""
    vectors = np.random.default_rng(0).normal(size=(9, 3))
    itself = [[i] for i in range(9)]
    search: dict[str, Any] = {"queries": vectors, "entities": vectors, "similarity": "sql2"}
    truth = tr.topk_embeddings(**search, k=3, filter=itself).ids
    if "filter" in options:
        options["filter"] = itself
    return float(tr.evaluate_topk(**search, ids=truth[:, :2], truth=truth, **options)["recall@2"])


ROWS = [
    Row(
        "ranks/joining.py", "parts", "two languages have names", ask_for_data_sets, named, SEARCHES
    ),
    Row(
        "inference/pairing.py",
        "allow_unlike",
        "one model is filtered",
        ask_for_protocols,
        difference_of_protocols,
        GRAPHS,
        says="anyway",
    ),
    Row(
        "inference/pairing.py",
        "allow_unlike",
        "a model found nothing",
        ask_for_missing_lists,
        difference_of_failures,
        SEARCHES,
        says="finds nothing there",
    ),
    Row(
        "inference/pairing.py",
        "common",
        "a query was removed",
        ask_for_lost_queries,
        difference_of_common,
        SEVERAL,
    ),
    Row(
        "tasks/task.py",
        "row_queries",
        "rows of a side whose names are digits",
        ask_for_own_queries,
        Facts.mrr,
        DIGITS,
    ),
    Row(
        "recall/truth.py",
        "filter",
        "a query is no neighbour of itself",
        ask_for_others,
        lambda case: 1.0,
    ),
]
