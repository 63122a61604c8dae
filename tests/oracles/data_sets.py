"""Data sets that are cut into Tasks and parts, reordered, saved and joined, with what is right.

An oracle of names: the score of a candidate is a hash of the names of model, data set, query and
candidate, so that the value of each unit is known, whatever numbers, orders and joins there are.
"""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr
from truerank.ranks.grouping import group_codes
from truerank.reporting.reports import report_task

KINDS = ("names", "numbers", "queries")
RELATIONS = ("r0", "r1")
Facts = list[tuple[Any, ...]]


@dataclass(frozen=True)
class DataSet:
    """Facts: (head, relation, tail) or (query, document), among entities of these names."""

    number: int
    names: list[str]
    facts: Facts


@dataclass(frozen=True)
class Problem:
    """What a seed draws: the data sets, and how they are cut."""

    kind: str
    sides: tuple[str, ...]
    data_sets: list[DataSet]
    share_names: bool  # of facts
    is_overlapping: bool  # Some facts are in two chunks.


def score(*words: object) -> float:
    digest = hashlib.blake2b(repr(words).encode(), digest_size=4).digest()
    return (int.from_bytes(digest, "little") % 1000003) / 1000003


def draw_problem(seed: int, *, named: bool) -> Problem:
    """Draw data sets; named ones may have as many entities, and all names in common."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % 3]
    number = int(rng.integers(1, 4))
    is_overlapping = kind != "queries" and bool(rng.random() < 0.3)
    share_names = bool(rng.random() < 0.3)
    has_one_size = named and bool(rng.random() < 0.4)
    are_languages = has_one_size and share_names  # The sets have the same facts.
    data_sets = []
    for d in range(number):
        if are_languages:
            rng = np.random.default_rng([seed, 2])
        n = 8 if has_one_size else 8 + 2 * d
        prefix = "" if share_names and (named or kind == "queries") else str(d)
        names = [f"{prefix}e{i}" for i in range(n)]
        facts: Facts = []
        if kind == "queries":
            for q in range(int(rng.integers(3, 8))):
                right = rng.choice(n, int(rng.integers(1, 3)), replace=False)
                facts += [(f"q{q}", names[j]) for j in right.tolist()]
        else:
            for _ in range(8):
                head, tail = (names[int(rng.integers(n))] for _ in range(2))
                facts.append((head, RELATIONS[int(rng.integers(2))], tail))
            facts = list(dict.fromkeys(facts))
        data_sets.append(DataSet(d, names, facts))
    sides = ("head", "tail") if rng.random() < 0.7 else ("tail",)
    return Problem(kind, sides, data_sets, share_names, is_overlapping)


# -- ranks -----------------------------------------------------------------------------------------


def parts_of(rng: Any, problem: Problem, data_set: DataSet, model: str) -> list[tr.Ranks]:
    """Cut a data set into chunks that are Tasks, and these into parts; return ranks of all."""
    units = list(data_set.facts)
    if problem.kind == "queries":
        units = list(dict.fromkeys(query for query, _ in data_set.facts))
    units = [units[i] for i in rng.permutation(len(units))]
    number = int(rng.integers(1, 4))
    chunks = [units[i::number] for i in range(number)]
    if problem.is_overlapping and number > 1:
        chunks[1] = chunks[1] + chunks[0][:2]
    parts = []
    for chunk in filter(None, chunks):
        evaluate = evaluate_queries if problem.kind == "queries" else evaluate_triples
        parts += evaluate(rng, problem, data_set, chunk, model)
    return [saved(part) if rng.random() < 0.2 else part for part in parts]


def evaluate_triples(
    rng: Any, problem: Problem, data_set: DataSet, facts: Facts, model: str
) -> list[tr.Ranks]:
    order = list(data_set.names)
    if problem.kind == "names" and rng.random() < 0.5:
        order = [order[i] for i in rng.permutation(len(order))]
    id_of_name = {name: i for i, name in enumerate(order)}
    options: dict[str, Any] = {"entities": order, "relations": list(RELATIONS)}
    rows: Any = facts
    if problem.kind == "numbers":
        rows = [(id_of_name[h], RELATIONS.index(r), id_of_name[t]) for h, r, t in facts]
        options = {"entities": len(order), "relations": len(RELATIONS)}
    task = tr.link_prediction.Task(rows, {}, sides=problem.sides, filter="none", **options)

    def tail(queries: Any) -> Any:
        words = [(order[h], RELATIONS[r]) for h, r in queries]
        return np.array([[score(model, data_set.number, *w, x) for x in order] for w in words])

    def head(queries: Any) -> Any:
        words = [(RELATIONS[r], order[t]) for r, t in queries]
        return np.array([[score(model, data_set.number, x, *w) for x in order] for w in words])

    models = {side: {"head": head, "tail": tail}[side] for side in problem.sides}
    number = min(int(rng.integers(1, 4)), len(task))
    return [task[p::number].evaluate(**models).ranks for p in range(number)]


def evaluate_queries(
    rng: Any, problem: Problem, data_set: DataSet, queries: list[Any], model: str
) -> list[tr.Ranks]:
    qrels = {query: [d for q, d in data_set.facts if q == query] for query in queries}
    run = {}
    for query in queries:
        run[query] = {x: score(model, data_set.number, query, x) for x in data_set.names}
    entities = data_set.names if rng.random() < 0.7 else None
    task = tr.retrieval.Task(qrels, entities=entities)
    number = min(int(rng.integers(1, 4)), len(task))
    return [task[p::number].evaluate_lists(run).ranks for p in range(number)]


_FOLDER = tempfile.TemporaryDirectory()  # for one file, which is written again and again


def saved(ranks: tr.Ranks) -> tr.Ranks:
    path = Path(_FOLDER.name, "ranks.npz")
    ranks.save(path)
    return tr.load(path)


def report_of(problem: Problem, ranks: tr.Ranks, by: str | None = None) -> tr.Report:
    if problem.kind == "queries":
        return report_task(ranks, (), unit="query") if by is None else tr.report(ranks, by=by)
    return tr.report(ranks, by=by)


def join_list(rng: Any, problem: Problem, model: str) -> tr.Ranks:
    """Join the parts of all data sets in a list, in any order, some of them at first."""
    parts = []
    for d in rng.permutation(len(problem.data_sets)).tolist():
        parts += parts_of(rng, problem, problem.data_sets[d], model)
    parts = [parts[i] for i in rng.permutation(len(parts))]
    if rng.random() < 0.5 and len(parts) > 2:
        parts = [tr.concatenate(parts[:2], repeats="drop"), *parts[2:]]
    joined = tr.concatenate(parts, repeats="drop")
    return saved(joined) if rng.random() < 0.3 else joined


def join_named(rng: Any, problem: Problem, model: str) -> tr.Ranks:
    """Join data sets under names, in any order: chunks as lists, or joined before."""
    values: dict[str, Any] = {}
    for d in rng.permutation(len(problem.data_sets)).tolist():
        parts = parts_of(rng, problem, problem.data_sets[d], model)
        parts = [parts[i] for i in rng.permutation(len(parts))]
        values[f"s{d}"] = parts
        are_apart = problem.kind == "names" and not problem.share_names
        if not are_apart or rng.random() < 0.5:
            values[f"s{d}"] = tr.concatenate(parts, repeats="drop")
    has_lists = any(isinstance(value, list) for value in values.values())
    joined = tr.concatenate(values, repeats="drop" if has_lists else None)
    return saved(joined) if rng.random() < 0.3 else joined


# -- what is done to joined ranks ------------------------------------------------------------------


def permute(rng: Any, ranks: tr.Ranks) -> tr.Ranks:
    return ranks[rng.permutation(len(ranks))]


def relabel_units(ranks: tr.Ranks) -> tr.Ranks:
    codes, names = group_codes(ranks, "unit")
    return ranks.with_labels(unit=[f"u{names[i]}" for i in codes.tolist()])


def rename_queries(ranks: tr.Ranks) -> tr.Ranks:
    return ranks.with_labels(queries=[f"z/{query}" for query in ranks.queries])


def rename_data_sets(ranks: tr.Ranks) -> tr.Ranks:
    return ranks.with_labels(dataset=[f"new {name}" for name in ranks.labels["dataset"]])


def join_again(rng: Any, ranks: tr.Ranks) -> tr.Ranks:
    """Take the data sets apart, and join them in another order, by names or as slices."""
    labels = ranks.labels["dataset"]
    names = list(dict.fromkeys(labels.values.tolist()))
    names = [names[i] for i in rng.permutation(len(names))]
    slices = {name: ranks[labels == name] for name in names}
    if rng.random() < 0.5:
        return tr.concatenate(slices.values())
    return tr.concatenate({x: part.with_labels(dataset=None) for x, part in slices.items()})


# -- what is right ---------------------------------------------------------------------------------


def expected(problem: Problem, model: str) -> dict[tuple[int, Any], float]:
    """Return the reciprocal rank of each unit of each data set: of a query its first answer's."""
    values: dict[tuple[int, Any], float] = {}
    for data_set in problem.data_sets:
        d, names = data_set.number, data_set.names
        for fact in data_set.facts:
            if problem.kind == "queries":
                query = fact[0]
                above = sum(score(model, d, query, x) > score(model, d, *fact) for x in names)
                values[d, query] = max(values.get((d, query), 0.0), 1 / (1 + above))
                continue
            h, r, t = fact
            rivals = {"tail": [(h, r, x) for x in names], "head": [(x, r, t) for x in names]}
            ranks = []
            for side in problem.sides:
                own = score(model, d, *fact)
                ranks.append(1 + sum(score(model, d, *rival) > own for rival in rivals[side]))
            values[d, fact] = float(np.mean([1 / rank for rank in ranks]))
    return values


def check_pair(problem: Problem, a: tr.Ranks, b: tr.Ranks) -> None:
    """Compare models a and b of a problem, and hold the result against the oracle."""
    one, two = expected(problem, "a"), expected(problem, "b")
    apart = np.array([one[unit] - two[unit] for unit in one])
    report = report_of(problem, a)
    pair = tr.compare(report, report_of(problem, b), "mrr")
    assert (pair.units, pair.wins, pair.losses) == (
        len(apart),
        int((apart > 1e-12).sum()),
        int((apart < -1e-12).sum()),
    )
    assert abs(pair.estimate - apart.mean()) < 1e-9
    assert report.interval("mrr").units == len(apart)


def check_groups(problem: Problem, ranks: tr.Ranks) -> None:
    """Hold the values of each data set of model a, and the names of queries, against the oracle."""
    values = expected(problem, "a")
    report = report_of(problem, ranks, by="dataset")
    assert len(report.groups) == len(problem.data_sets)
    for name, group in report.groups.items():
        of_set = [value for (d, _), value in values.items() if d == int(str(name)[-1])]
        assert abs(group["mrr"] - np.mean(of_set)) < 1e-9
    if problem.kind == "queries":
        names = {(int(str(name)[-1]), query[-2:]) for name, query in report.queries}
        assert names == values.keys()
