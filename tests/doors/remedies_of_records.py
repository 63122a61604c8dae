"""Rows of remedies that the readers of facts, judgements and lists name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from doors.remedies import GRAPHS, SEARCHES, Facts, Row, Search
from truerank import retrieval
from truerank.link_prediction import Task

# -- judgements and lists --------------------------------------------------------------------------

QRELS = ["query", "document", "relevance"]
LISTS = ["query", "document", "score"]
OTHER_NAMES = ["qid", "docid", "grade"]


def judged(case: Search) -> list[tuple[str, str, int]]:
    """Return rows of a query, a document and its grade."""
    return [(q, d, grade) for q, row in case.qrels.items() for d, grade in row.items()]


def listed(case: Search) -> list[tuple[str, str, float]]:
    """Return rows of a query, a document and its score."""
    return [(q, d, score) for q, row in case.hits.items() for d, score in row]


def write(path: str, rows: Any, between: str = " ") -> str:
    """Write rows as lines, and return the path."""
    lines = [between.join(map(str, row)) + "\n" for row in rows]
    Path(path).write_text("".join(lines))
    return path


def write_search(case: Search) -> None:
    """Write the judgements and the hits in the forms of TREC."""
    write("qrels.txt", [(q, 0, d, grade) for q, d, grade in judged(case)])
    write("run.txt", [(q, "Q0", d, 1, score, "t") for q, d, score in listed(case)])


def mrr(qrels: Any, lists: Any, qrels_options: Any = None, **options: Any) -> float:
    """Evaluate lists in which a document counts once, unless the options say otherwise."""
    options.setdefault("duplicates", "first")
    return float(
        retrieval.Task(qrels, **(qrels_options or {})).evaluate_lists(lists, **options)["mrr"]
    )


def with_repeats(case: Search) -> Search:
    """Return a case whose lists have their first document again at the end, at a score of 0."""
    return Search(case.qrels, {q: [*row, (row[0][0], 0.0)] for q, row in case.hits.items()})


def ask_for_other_names(case: Search, **options: Any) -> float:
    return mrr(pd.DataFrame(judged(case), columns=OTHER_NAMES), case.hits_once(), options)


def line_of_other_names(case: Search) -> str:
    write_search(with_repeats(case))
    write("qrels.csv", [OTHER_NAMES, *judged(case)], ",")
    return "retrieval --qrels qrels.csv --lists run.txt --duplicates first"


def ask_for_numbered_columns(case: Search, **options: Any) -> float:
    return mrr(case.qrels, pd.DataFrame(listed(case)), **options)


def ask_for_numbered_columns_in_another_order(case: Search, **options: Any) -> float:
    return mrr(case.qrels, pd.DataFrame([row[::-1] for row in listed(case)]), **options)


def ask_without_relevance(case: Search, **options: Any) -> float:
    named = {"columns": {"query": "query", "document": "document"}, **options}
    return mrr(pd.DataFrame(judged(case), columns=QRELS), case.hits_once(), named)


def ask_without_relevance_of_trec(case: Search, **options: Any) -> float:
    write_search(case)
    return mrr("qrels.txt", "run.txt", {"columns": {"query": 0, "document": 2}, **options})


def ask_without_score(case: Search, **options: Any) -> float:
    """The rows stand in another order than that of scores."""
    rows = sorted(listed(case))
    named = {"columns": {"query": "query", "document": "document"}, **options}
    return mrr(case.qrels, pd.DataFrame(rows, columns=LISTS), **named)


def ask_for_predictions(case: Search, **options: Any) -> float:
    """One file has labels and predictions."""
    columns = [*QRELS[:2], "label", "prediction"]
    rows = [(q, d, case.qrels[q].get(d, 0), score) for q, d, score in listed(case)]
    task = retrieval.Task(
        write("both.csv", [columns, *rows], ","), columns=dict(zip(QRELS, columns, strict=False))
    )
    options.setdefault("duplicates", "first")
    return float(task.evaluate_lists("both.csv", **options)["mrr"])


def ask_for_fractions(case: Search, **options: Any) -> float:
    rows = [(q, d, 0.25 * grade) for q, d, grade in judged(case)]
    return mrr(pd.DataFrame(rows, columns=LISTS), case.hits_once(), options)


def line_without_relevance(case: Search) -> str:
    write_search(case)
    return "retrieval --qrels qrels.txt --lists run.txt --columns query=0,document=2"


ROWS = [
    Row(
        "records/columns.py",
        "columns",
        "other names of qrels",
        ask_for_other_names,
        Search.mrr,
        SEARCHES,
        fills={"columns": dict(zip(QRELS, OTHER_NAMES, strict=True))},
        line=line_of_other_names,
    ),
    Row(
        "records/columns.py",
        "columns",
        "columns of lists have numbers",
        ask_for_numbered_columns,
        Search.mrr,
        SEARCHES,
        fills={"columns": {"query": 0, "document": 1, "score": 2}},
    ),
    Row(
        "records/columns.py",
        "columns",
        "columns of lists have numbers, in another order",
        ask_for_numbered_columns_in_another_order,
        Search.mrr,
        SEARCHES,
        fills={"columns": {"query": 2, "document": 1, "score": 0}},
    ),
    Row(
        "records/columns.py",
        "columns",
        "grades were left out",
        ask_without_relevance,
        Search.mrr,
        SEARCHES,
        fills={"columns": dict(zip(QRELS, QRELS, strict=True))},
    ),
    Row(
        "records/columns.py",
        "columns",
        "grades of TREC were left out",
        ask_without_relevance_of_trec,
        Search.mrr,
        SEARCHES,
        fills={"columns": {"query": 0, "document": 2, "relevance": 3}},
        line=line_without_relevance,
    ),
    Row(
        "records/columns.py",
        "columns",
        "scores were left out",
        ask_without_score,
        Search.mrr,
        SEARCHES,
        fills={"columns": dict(zip(LISTS, LISTS, strict=True))},
    ),
    Row(
        "records/columns.py",
        "columns",
        "predictions beside labels",
        ask_for_predictions,
        Search.mrr,
        SEARCHES,
        fills={"columns": {"query": "query", "document": "document", "score": "prediction"}},
    ),
]

# -- facts -----------------------------------------------------------------------------------------

HEADER = ("head", "relation", "tail")
TAILS: dict[str, Any] = {"sides": ["tail"]}


def rank_tails(case: Facts, test: Any, known: Any, entities: Any = None, **options: Any) -> float:
    """Evaluate the scores of a case as lists of all entities."""
    names = sorted({name for row in case.scores.values() for name in row})
    labels: dict[str, Any] = {"entities": names if entities is None else entities}
    labels["relations"] = sorted({query[1] for query in case.scores})
    task = Task(test, known, **labels, **TAILS, **options)
    return float(task.evaluate_lists(tail=case.scores)["mrr"])


def ask_for_header(header: tuple[str, ...]) -> Callable[..., float]:
    """Return what evaluates files that begin with a header."""

    def ask(case: Facts, **options: Any) -> float:
        write("test.tsv", [header, *case.test], "\t")
        write("train.tsv", [header, *case.known, *case.known[:1]], "\t")
        return rank_tails(case, "test.tsv", {"train": "train.tsv"}, **options)

    return ask


def line_of_header(case: Facts) -> str:
    write("test.tsv", [HEADER, *case.test], "\t")
    write("train.tsv", [HEADER, *case.known], "\t")
    names = sorted({name for row in case.scores.values() for name in row})
    relations = sorted({relation for _, relation in case.scores})
    write("names.txt", [[name] for name in names])
    write("relations.txt", [[name] for name in relations])
    scores = [(h, r, t, score) for (h, r), row in case.scores.items() for t, score in row.items()]
    write("tail.tsv", [(*HEADER, "score"), *scores], "\t")
    line = "link-prediction --test test.tsv --known train=train.tsv --lists tail=tail.tsv"
    line += " --labels entities=names.txt --labels relations=relations.txt"
    return line + " --sides tail --unseen keep"


def ask_for_facts_like_headers(case: Facts, **options: Any) -> float:
    """The first fact has the short names of the columns."""
    write("test.tsv", case.test, "\t")
    return rank_tails(case, "test.tsv", {"train": case.known}, **options)


LIKE_HEADERS = {
    name: case.renamed(
        {old: new for old, new in zip(sorted(names), ["h", "t", "c", "d", "e"], strict=True)},
        {old: new for old, new in zip(sorted(relations), ["r", "s"], strict=True)},
    )
    for name, case in GRAPHS.items()
    for names in [{entity for row in case.scores.values() for entity in row}]
    for relations in [{relation for _, relation in case.scores}]
}


def ask_for_leaks(case: Facts, **options: Any) -> float:
    return rank_tails(case, case.test, {"train": [*case.known, case.test[0]]}, **options)


def mrr_without_leaks(case: Facts) -> float:
    known = [*case.known, case.test[0]]
    return replace(case, test=case.test[1:], known=known).mrr()


def ask_for_ids(case: Facts, **options: Any) -> float:
    """Files have ids of the labels that are given."""
    names = sorted({name for row in case.scores.values() for name in row})
    relations = sorted({relation for _, relation in case.scores})
    test, known = (
        [(names.index(h), relations.index(r), names.index(t)) for h, r, t in facts]
        for facts in (case.test, case.known)
    )
    write("test.tsv", test, "\t")
    write("train.tsv", known, "\t")
    return rank_tails(case, "test.tsv", {"train": "train.tsv"}, **options)


ROWS += [
    Row(
        "records/text.py",
        "header",
        "it names the columns",
        ask_for_header(HEADER),
        Facts.mrr,
        GRAPHS,
        says="that it is one",
        line=line_of_header,
    ),
    Row(
        "records/text.py",
        "header",
        "it has other names of the columns",
        ask_for_header(("src", "rel", "dst")),
        Facts.mrr,
        GRAPHS,
        says="that it is one",
        fills={"columns": dict(zip(HEADER, ("src", "rel", "dst"), strict=True))},
    ),
    Row(
        "records/text.py",
        "header",
        "it is a fact",
        ask_for_facts_like_headers,
        Facts.mrr,
        LIKE_HEADERS,
        says="that it is a row",
    ),
    Row(
        "records/vocabularies.py",
        "ids",
        "files have the ids of labels",
        ask_for_ids,
        Facts.mrr,
        GRAPHS,
    ),
]

# -- places in an order ----------------------------------------------------------------------------


def ask_for_places(case: Search, *, entities: bool = False) -> float:
    """Evaluate lists of ints, which are the places of documents in the order of an index."""
    names = sorted({name for _, name, _ in [*judged(case), *listed(case)]}, reverse=True)
    place = {name: i for i, name in enumerate(names)}
    lists = {q: {place[d]: x for d, x in row.items()} for q, row in case.hits_once().items()}
    task = retrieval.Task(case.qrels, entities=names if entities else None)
    return float(task.evaluate_lists(lists)["mrr"])


ROWS.append(
    Row(
        "records/vocabularies.py",
        "entities",
        "lists have places of names",
        ask_for_places,
        Search.mrr,
        SEARCHES,
        fills={"entities": True},
    )
)
