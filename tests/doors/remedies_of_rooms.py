"""Rows of remedies that rooms other than records name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import truerank as tr
from doors.remedies import GRAPHS, SEARCHES, Facts, Row, Search
from truerank import link_prediction, retrieval

# -- scores and their targets ----------------------------------------------------------------------


class Scored(NamedTuple):
    """Scores of tasks, of which the higher ones are better, and the column of each target."""

    scores: Any
    targets: Any

    def mrr(self) -> float:
        """Return the mean over rows of 1 / the realistic rank of the target."""
        true = np.take_along_axis(self.scores, self.targets[:, None], axis=1)
        above = (self.scores > true).sum(axis=1)
        tied = (self.scores == true).sum(axis=1)
        return float(np.mean(1 / (above + (tied + 1) / 2)))

    def mrr_of_worst(self) -> float:
        """Return the same where what is NaN is below all other candidates."""
        return Scored(np.where(np.isnan(self.scores), -99, self.scores), self.targets).mrr()

    def mrr_of_present(self) -> float:
        """Return the same where what is NaN is no candidate."""
        return Scored(np.where(np.isnan(self.scores), -np.inf, self.scores), self.targets).mrr()


def scored(rows: int, *, seed: int = 0) -> Scored:
    """Return scores of 12 candidates without ties, and targets."""
    rng = np.random.default_rng(seed)
    return Scored(
        rng.permuted(np.tile(np.arange(12.0), (rows, 1)), axis=1), rng.integers(12, size=rows)
    )


def with_ties(case: Scored) -> Scored:
    return case._replace(scores=np.floor(case.scores / 2))


SCORED = {
    "plain": scored(6),
    "other order": Scored(scored(6).scores[::-1], scored(6).targets[::-1]),
    "one row": scored(1),
    "repeats": Scored(scored(3).scores[[0, 1, 2, 0]], scored(3).targets[[0, 1, 2, 0]]),
    "several answers": Scored(scored(2).scores[[0, 0, 1]], np.array([3, 5, 7])),
}
TIED = {**SCORED, "ties": with_ties(scored(6))}


def mrr_of(scores: Any, targets: Any, **options: Any) -> float:
    return float(tr.evaluate(scores, targets, **options)["mrr"])


def save(scores: Any, targets: Any) -> str:
    """Save scores and targets, and return a line that evaluates them."""
    np.save("scores.npy", scores)
    np.save("targets.npy", targets)
    return "evaluate scores.npy targets.npy"


def ask_for_ids(case: Scored, *, lists: bool = False) -> float:
    """Rank by the ids of candidates, the best first, as argsort gives them."""
    ids = np.argsort(-case.scores, axis=1)
    if not lists:
        return mrr_of(ids, case.targets)
    return float(tr.report(tr.rank_lists(ids, None, case.targets, candidates=12))["mrr"])


def with_nan(case: Scored) -> Scored:
    """Return a case of which the first column is NaN where it is no target, and no other is."""
    scores = case.scores / 2
    scores[case.targets != 0, 0] = np.nan
    return case._replace(scores=scores)


def ask_with_nan(case: Scored, **options: Any) -> float:
    """Return amri, which tells the worst candidate from none."""
    return float(tr.evaluate(*case, **options)["amri"])


def amri_with_nan(case: Scored, *, is_worst: bool) -> float:
    """Return 1 - sum(rank - 1) / sum(mean rank of chance - 1)."""
    ranks = []
    chances = []
    for row, target in zip(case.scores.tolist(), case.targets.tolist(), strict=True):
        others = [x for i, x in enumerate(row) if i != target and (is_worst or x == x)]
        ranks.append(sum(x > row[target] for x in others))
        chances.append(len(others) / 2)
    return 1 - sum(ranks) / sum(chances)


def ask_for_other_word(word: str) -> Callable[..., float]:
    """Return what evaluates by the word of another tool, until it is told the one here."""

    def ask(case: Scored, **options: Any) -> float:
        given: dict[str, Any] = options or {word: word == "ascending"}
        return mrr_of(-case.scores / 2, case.targets, **given)

    return ask


def vectors_of(case: Scored) -> tuple[Any, Any]:
    """Return vectors of queries and entities whose lengths differ, and no cosine is another's."""
    rng = np.random.default_rng(len(case.targets))
    lengths = rng.uniform(1, 9, 12)[:, None]
    return rng.normal(size=(len(case.targets), 3)), lengths * rng.normal(size=(12, 3))


def ask_for_cosine(case: Scored, **options: Any) -> float:
    queries, entities = vectors_of(case)
    given = options or {"similarity": "cos_sim"}
    ranks = tr.rank_embeddings(queries, entities, case.targets, **given)
    return float(tr.report(ranks)["mrr"])


def mrr_of_cosine(case: Scored) -> float:
    queries, entities = vectors_of(case)
    lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(entities, axis=1)
    return Scored(queries @ entities.T / lengths, case.targets).mrr()


def complex_vectors(case: Scored) -> tuple[Any, Any]:
    rng = np.random.default_rng(len(case.targets))
    queries = rng.normal(size=(len(case.targets), 3)) + 1j * rng.normal(size=(len(case.targets), 3))
    return queries, rng.normal(size=(12, 3)) + 1j * rng.normal(size=(12, 3))


def mrr_of_complex(case: Scored) -> float:
    """Return the number of the negative sum of the absolute values of differences."""
    queries, entities = complex_vectors(case)
    return Scored(-np.abs(queries[:, None] - entities).sum(axis=2), case.targets).mrr()


def ask_for_layout(layout: str) -> Callable[..., float]:
    """Return what ranks complex numbers that real ones hold."""

    def real(vectors: Any) -> Any:
        parts = [vectors.real, vectors.imag]
        if layout == "halves":
            return np.concatenate(parts, axis=1)
        return np.stack(parts, axis=2).reshape(len(vectors), -1)

    def ask(case: Scored, **options: Any) -> float:
        vectors = map(real, complex_vectors(case))
        ranks = tr.rank_embeddings(*vectors, case.targets, similarity="complex_l1", **options)
        return float(tr.report(ranks)["mrr"])

    return ask


def joined(lists: Any) -> tuple[Any, Any]:
    return np.concatenate(lists), np.cumsum([0, *map(len, lists)])


def open_two(case: Scored) -> None:
    np.savez("scores.npz", bad=-case.scores, good=case.scores / 2)
    np.save("targets.npy", case.targets)


def ask_for_member(case: Scored, **options: Any) -> float:
    open_two(case)
    return mrr_of(tr.open_scores("scores.npz", **options), case.targets)


def line_of_member(case: Scored) -> str:
    open_two(case)
    return "evaluate scores.npz targets.npy"


def save_columns(case: Scored) -> None:
    """Save the scores by their columns, of which the files have unlike numbers."""
    for i, columns in enumerate(np.split(case.scores / 2, [5], axis=1)):
        np.save(f"part-{i}.npy", columns)
    np.save("targets.npy", case.targets)


def ask_for_columns(case: Scored, **options: Any) -> float:
    save_columns(case)
    return mrr_of(tr.open_scores("part-*.npy", **options), case.targets)


def line_of_columns(case: Scored) -> str:
    save_columns(case)
    return "evaluate part-*.npy targets.npy"


def ask_for_filter(case: Scored, **options: Any) -> float:
    """The ranks are called filtered, which were counted without a filter."""
    if "filter" in options:
        options["filter"] = [[0, 1]] * len(case.targets)
    ranks = tr.rank(case.scores / 2, case.targets, **options)
    return float(tr.report(ranks.with_protocol(filter=("train",)))["mrr"])


def mrr_without_two(case: Scored) -> float:
    """Return the number where the first two columns are left out, but for a target."""
    scores = case.scores.copy()
    for column in (0, 1):
        scores[case.targets != column, column] = -1
    return case._replace(scores=scores).mrr()


def ask_for_groups(case: Scored, **options: Any) -> float:
    """Return the mean of two groups: of even tasks and of odd ones."""
    if "by" in options:
        options["by"] = (np.arange(len(case.targets)) % 2).tolist()
    report = tr.report(tr.rank(case.scores / 2, case.targets), **options)
    return float(np.mean(list(report.group_values("mrr").values())))


def mrr_of_groups(case: Scored) -> float:
    halves = [Scored(case.scores[i::2], case.targets[i::2]) for i in (0, 1)]
    return float(np.mean([half.mrr() for half in halves if len(half.targets)]))


def ask_for_labels(case: Scored, **options: Any) -> float:
    """Groups are those of a label that the ranks do not have."""
    ranks = tr.rank(case.scores / 2, case.targets)
    if "relation" in options:
        ranks = ranks.with_labels(relation=(np.arange(len(ranks)) % 2).tolist())
    groups = tr.report(ranks, by="relation").group_values("mrr")
    return float(np.mean(list(groups.values())))


def ask_for_key_of_group(case: Scored, **options: Any) -> float:
    """A key names a group, as groups of a report are not named."""
    if not options:
        return float(tr.report(tr.rank(case.scores / 2, case.targets))["odd.mrr"])
    return ask_for_groups(case, **options)


def ask_for_unlike_reports(case: Scored, **options: Any) -> float:
    """One of two reports is filtered; the number is that of the other."""
    raw = tr.evaluate(case.scores / 2, case.targets)
    filtered = tr.evaluate(case.scores / 2, case.targets, filter=[[0]] * len(case.targets))
    table = tr.table({"raw": raw, "filtered": filtered}, ["mrr"], **options)
    return float(table.to_dict()["mrr"][0])


ROWS = [
    Row(
        "counting/orders.py",
        "lists",
        "ids of argsort",
        ask_for_ids,
        Scored.mrr,
        SCORED,
        fills={"lists": True},
    ),
    *(
        Row("inputs/checks.py", "order", word, ask_for_other_word(word), Scored.mrr, TIED)
        for word in ("largest", "higher_is_better", "descending", "ascending")
    ),
    Row("inputs/checks.py", "similarity", "cos_sim", ask_for_cosine, mrr_of_cosine, SCORED),
    Row(
        "inputs/checks.py",
        "nan",
        "NaN is the worst",
        ask_with_nan,
        lambda case: amri_with_nan(case, is_worst=True),
        {name: with_nan(case) for name, case in SCORED.items()},
        says="the worst score",
        line=lambda case: f"{save(*case)} --metrics amri",
        read=lambda result: float(result["metrics"]["amri"]),
    ),
    Row(
        "inputs/checks.py",
        "nan",
        "NaN is no candidate",
        ask_with_nan,
        lambda case: amri_with_nan(case, is_worst=False),
        {name: with_nan(case) for name, case in SCORED.items()},
        says="no candidate",
        line=lambda case: f"{save(*case)} --metrics amri",
        read=lambda result: float(result["metrics"]["amri"]),
    ),
    *(
        Row(
            "embeddings/vectors.py",
            "layout",
            layout,
            ask_for_layout(layout),
            mrr_of_complex,
            SCORED,
            says=says,
        )
        for layout, says in (("halves", "all real parts"), ("interleaved", "in turn"))
    ),
    Row(
        "stores/__init__.py",
        "member",
        "the second of two arrays",
        ask_for_member,
        Scored.mrr,
        TIED,
        fills={"member": "good"},
        line=line_of_member,
    ),
    Row(
        "stores/store.py",
        "axis",
        "files of columns",
        ask_for_columns,
        Scored.mrr,
        TIED,
        line=line_of_columns,
    ),
    Row(
        "ranks/container.py",
        "filter",
        "known answers are left out",
        ask_for_filter,
        mrr_without_two,
        SCORED,
    ),
    Row("ranks/grouping.py", "relation", "labels", ask_for_labels, mrr_of_groups, TIED),
    Row("metrics/keys.py", "by", "groups", ask_for_groups, mrr_of_groups, TIED),
    Row("metrics/keys.py", "by", "a key of a group", ask_for_key_of_group, mrr_of_groups, TIED),
    Row(
        "reporting/model_table.py",
        "allow_unlike",
        "a filtered report beside a raw one",
        ask_for_unlike_reports,
        Scored.mrr,
        SCORED,
    ),
]

# -- lists and judgements --------------------------------------------------------------------------

N = 40  # So many documents there are.


def names_of(case: Search) -> list[str]:
    """Return the names of all documents, in no order that a name tells."""
    names = {name for row in case.qrels.values() for name in row}
    names |= {name for row in case.hits.values() for name, _ in row}
    return sorted(names, key=lambda name: (len(name), name[::-1]), reverse=True)


def write_search(case: Search) -> str:
    """Write files of TREC, and return the line that evaluates them."""
    judged = [f"{q} 0 {d} {g}\n" for q, row in case.qrels.items() for d, g in row.items()]
    Path("qrels.txt").write_text("".join(judged))
    lists = case.hits_once()
    hits = [f"{q} Q0 {d} 1 {s} t\n" for q, row in lists.items() for d, s in row.items()]
    Path("run.txt").write_text("".join(hits))
    return "retrieval --qrels qrels.txt --lists run.txt"


def right_documents(case: Search, query: str) -> set[str]:
    return {name for name, grade in case.qrels[query].items() if grade > 0}


def ask_for_bounds(case: Search, **options: Any) -> float:
    report = retrieval.Task(case.qrels, **options).evaluate_lists(case.hits_once(), misses="bounds")
    return float(report["optimistic.recall@4"])


def optimistic_recall(case: Search) -> float:
    """Return recall@4 where right answers that a list misses come right behind it."""
    values = []
    for query, row in case.hits_once().items():
        right = right_documents(case, query)
        order = [name in right for name in row] + [True] * len(right - row.keys())
        values.append(sum(order[:4]) / len(right))
    return float(np.mean(values))


def ask_for_tasks(case: Search, **options: Any) -> float:
    """The ranks of right answers are taken as those of tasks."""
    report = retrieval.Task(case.qrels, **options).evaluate_lists(case.hits_once())
    return tr.inference.interval(report.ranks, "mrr").value


def matrix_of(case: Search, names: list[str]) -> Any:
    """Return the scores of all documents, a row for each query of the lists."""
    lists = case.hits_once()
    return np.array([[row.get(name, -1.0) for name in names] for row in lists.values()])


def ask_for_names(case: Search, **options: Any) -> float:
    """Columns are in an order that nobody has named."""
    if "entities" in options:
        options["entities"] = names_of(case)
    task = retrieval.Task(case.qrels, queries=list(case.hits), **options)
    return float(task.evaluate_scores(matrix_of(case, names_of(case)))["mrr"])


def ask_for_rows(case: Search, **options: Any) -> float:
    """Rows are in the order of the lists, and qrels in another."""
    names = names_of(case)
    queries = list(case.hits)
    key = {"row_queries": queries} if "row_queries" in options else {}
    order = {"queries": queries} if "queries" in options else {}
    qrels = dict(reversed(case.qrels.items()))
    task = retrieval.Task(qrels, entities=names, **order)
    return float(task.evaluate_scores(matrix_of(case, names), **key)["mrr"])


def mrr_of_all(case: Search) -> float:
    """Return the number where what a list lacks is behind it, tied."""
    names = names_of(case)
    matrix = matrix_of(case, names)
    values = []
    for query, scores in zip(case.hits, matrix, strict=True):
        right = [i for i, name in enumerate(names) if name in right_documents(case, query)]
        best = scores[right].max()
        above, tied = int((scores > best).sum()), int((scores == best).sum())
        n_right = int((scores[right] == best).sum())
        # The first of the right ones among those that tie, in any order.
        first = [
            Fraction(math.comb(tied - i, n_right), math.comb(tied, n_right)) for i in range(tied)
        ]
        chances = [first[i] - (first[i + 1] if i + 1 < tied else 0) for i in range(tied)]
        values.append(sum(float(p) / (above + i + 1) for i, p in enumerate(chances)))
    return float(np.mean(values))


def ask_for_leaks(case: Search, **options: Any) -> float:
    """The first right document of the first query is known, too."""
    known = {"train": leak_of(case)}
    task = retrieval.Task(case.qrels, known=known, **options)
    return float(task.evaluate_lists(case.hits_once())["mrr"])


def leak_of(case: Search) -> dict[str, list[str]]:
    query = next(iter(case.qrels))
    return {query: sorted(right_documents(case, query))[:1]}


def mrr_without_leaks(case: Search) -> float:
    """Return the number without the leak: its query may have no right answer any more."""
    leak = leak_of(case)
    hits = {
        q: [hit for hit in row if hit[0] not in leak.get(q, [])] for q, row in case.hits.items()
    }
    qrels = {
        q: {name: grade for name, grade in row.items() if name not in leak.get(q, [])}
        for q, row in case.qrels.items()
    }
    return Search({q: row for q, row in qrels.items() if max(row.values()) > 0}, hits).mrr()


ROWS += [
    Row(
        "ranks/container.py",
        "entities",
        "misses have bounds",
        ask_for_bounds,
        optimistic_recall,
        SEARCHES,
        fills={"entities": N},
    ),
    Row(
        "ranks/container.py",
        "entities",
        "each right answer is a task",
        ask_for_tasks,
        Search.mrr,
        SEARCHES,
        fills={"entities": N},
    ),
    Row(
        "retrieval/task.py",
        "entities",
        "columns are documents",
        ask_for_names,
        mrr_of_all,
        SEARCHES,
    ),
    Row(
        "retrieval/task.py",
        "row_queries",
        "rows in the order of lists: their queries",
        ask_for_rows,
        mrr_of_all,
        SEARCHES,
        says="the query of each row",
    ),
    Row(
        "retrieval/task.py",
        "queries",
        "rows in the order of lists: all queries",
        ask_for_rows,
        mrr_of_all,
        SEARCHES,
        says="in the order of the rows",
    ),
]

# -- facts -----------------------------------------------------------------------------------------


def orders_of(case: Facts) -> tuple[list[Any], list[Any]]:
    """Return entities and relations in the order of a model, which is not that of labels."""
    names = {name for row in case.scores.values() for name in row}
    relations = {relation for _, relation in case.scores}
    return sorted(names, reverse=True), sorted(relations, reverse=True)


def ask_for_orders(noun: str) -> Callable[..., float]:
    """Return what asks a callable by ids, of which one kind has an order that nobody has named."""

    def ask(case: Facts, **options: Any) -> float:
        entities, relations = orders_of(case)
        given: dict[str, Any] = {"entities": entities, "relations": relations}
        if noun not in options:
            del given[noun]
        task = link_prediction.Task(case.test, {"train": case.known}, sides=["tail"], **given)

        def score(queries: Any) -> Any:
            rows = []
            for head, relation in queries.tolist():
                # Of heads the task knows the names; the model numbers the other kind.
                named = entities if "entities" in given else sorted(entities)
                row = case.scores.get((named[head], relations[relation]), {})
                rows.append([row.get(name, 0.0) for name in entities])
            return np.array(rows)

        return float(task.evaluate(score)["mrr"])

    return ask


def ask_for_read_ids(case: Facts, **options: Any) -> float:
    """Rows are made of ids that were read, which a model's relations do not have."""
    entities, relations = orders_of(case)
    given = {"relations": relations} if "relations" in options else {}
    known = {"train": case.known}
    task = link_prediction.Task(case.test, known, sides=["tail"], entities=entities, **given)
    rows = []
    for head, relation in task.tail.queries.tolist():
        row = case.scores.get((entities[head], relations[relation]), {})
        rows.append([row.get(name, 0.0) for name in entities])
    row_queries = {"tail": task.tail.queries}
    if not all(isinstance(name, int) for name in entities):
        row_queries = {"tail": list(map(tuple, labels_of_queries(task)))}
    return float(task.evaluate_scores(tail=np.array(rows), row_queries=row_queries)["mrr"])


def labels_of_queries(task: link_prediction.Task) -> list[tuple[Any, Any]]:
    names = [each.list_labels(np.arange(each.size)) for each in task.names.values()]
    return [(names[0][head], names[1][relation]) for head, relation in task.tail.queries.tolist()]


def numbered_facts(case: Facts, facts: Any) -> list[tuple[int, int, int]]:
    """Return facts by ids, which are places in the order of a model."""
    entities, relations = orders_of(case)
    return [(entities.index(h), relations.index(r), entities.index(t)) for h, r, t in facts]


def write_digits(case: Facts) -> Any:
    """Write facts whose names are digits, and return a model's scores of tails."""
    entities, relations = orders_of(case)
    for name, facts in (("test", case.test), ("train", case.known)):
        lines = [f"{h}\t{r}\t{t}\n" for h, r, t in numbered_facts(case, facts)]
        Path(f"{name}.tsv").write_text("".join(lines))
    rows = [case.scores[head, relation] for head, relation, _ in case.test]
    scores = np.array([[row[name] for name in entities] for row in rows])
    np.save("tail.npy", scores)
    for name, order in (("entities", entities), ("relations", relations)):
        Path(f"{name}.txt").write_text("".join(f"{i}\n" for i in range(len(order))))
    return scores


def ask_for_digits(case: Facts, **options: Any) -> float:
    scores = write_digits(case)
    for name in ("entities", "relations"):
        if name in options:
            options[name] = Path(f"{name}.txt").read_text().split()
    task = link_prediction.Task("test.tsv", {"train": "train.tsv"}, sides=["tail"], **options)
    return float(task.evaluate_scores(tail=scores)["mrr"])


def line_of_digits(case: Facts) -> str:
    write_digits(case)
    line = "link-prediction --test test.tsv --known train=train.tsv --scores tail=tail.npy"
    return f"{line} --sides tail"


def ask_for_digits_of_relations(case: Facts, **options: Any) -> float:
    return ask_for_digits(case, **{"entities": None} | options)


def ask_for_sides(case: Facts, **options: Any) -> float:
    """Only tails have lists."""
    task = link_prediction.Task(case.test, {"train": case.known}, **options)
    return float(task.evaluate_lists(tail=case.scores)["mrr"])


def ask_for_ids_of_lists(case: Facts, **options: Any) -> float:
    """Lists in text have ids, whose labels the task has in their order."""
    entities, relations = orders_of(case)
    scores = {(*query, t): x for query, row in case.scores.items() for t, x in row.items()}
    rows = zip(numbered_facts(case, scores), scores.values(), strict=True)
    lines = [f"{h}\t{r}\t{t}\t{score}\n" for (h, r, t), score in rows]
    Path("lists.tsv").write_text("head\trelation\ttail\tscore\n" + "".join(lines))
    given: dict[str, Any] = {"entities": entities, "relations": relations, "sides": ["tail"]}
    test, known = case.test, case.known
    if options.get("ids"):
        test, known = numbered_facts(case, test), numbered_facts(case, known)
    task = link_prediction.Task(test, {"train": known}, **given, **options)
    return float(task.evaluate_lists(tail="lists.tsv")["mrr"])


ROWS += [
    *(
        Row(
            "link_prediction/task.py",
            noun,
            "the order of a model",
            ask_for_orders(noun),
            Facts.mrr,
            GRAPHS,
        )
        for noun in ("entities", "relations")
    ),
    Row(
        "link_prediction/task.py", "relations", "ids were read", ask_for_read_ids, Facts.mrr, GRAPHS
    ),
    Row("tasks/task.py", "sides", "only tails have lists", ask_for_sides, Facts.mrr, GRAPHS),
    Row("tasks/task.py", "ids", "lists in text have ids", ask_for_ids_of_lists, Facts.mrr, GRAPHS),
    *(
        Row(
            "records/id_tables.py",
            option,
            f"names are digits: {option}",
            ask_for_digits_of_relations if option == "relations" else ask_for_digits,
            Facts.mrr,
            GRAPHS,
            says=says,
            fills={"entities": "entities.txt", "relations": "relations.txt"},
            line=line,
        )
        for option, says, line in (
            ("ids", "text has ids", line_of_digits),
            ("entities", "their order", line_of_digits),
            ("relations", "their order", None),
        )
    ),
]
