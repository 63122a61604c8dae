"""`link_prediction`: tasks, filters, candidates, samples, and their ranks by definition."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles import counting, embeddings
from strategies.triples import Given, given_tasks
from support.alignment_runs import outcome
from truerank.link_prediction import Sampled, Task

CORE = True
ORDER = ("head", "tail", "relation")
LABELS = ("category", "head_degree", "tail_degree", "degree")


def make(given: Given, **more: Any) -> Any:
    """Return the task, or the error that refuses it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            return Task(**{**given.arguments, **more})
        except (ValueError, TypeError) as error:
            return error


def refusal(given: Given) -> str | None:
    """Return the argument for which a task is refused, in the order of the checks; None if not."""
    found = given.found
    for name, where in (
        ("duplicates", found.duplicates),
        ("leaks", [i for positions in found.leaks.values() for i in positions]),
        ("unseen", found.unseen),
    ):
        if where and given.rules[name] == "raise":
            return "test"
    if not given.chosen:
        return "test"
    return "candidates" if given.missing else None


def lists(selection: Any, which: Any) -> list[list[int]]:
    """Return the list of each task."""
    indptr, indices = (part.tolist() for part in selection[:2])
    return [indices[indptr[i] : indptr[i + 1]] for i in which.tolist()]


@check(given_tasks(), inputs=100)
def tasks(given: Given) -> None:
    """Queries, answers, candidates, labels and the audit, or the refusal that is promised."""
    task, refused = make(given), refusal(given)
    if refused is not None:
        assert isinstance(task, tr.InputValueError), task
        assert str(task).startswith(f"{refused}: "), task
        return
    assert isinstance(task, Task), task
    chosen, audit, found = given.chosen, task.audit, given.found
    assert list(task.sides) == [side for side in ORDER if side in given.sides]
    assert task.test[:, :3].tolist() == [list(given.test[i][:3]) for i in chosen]
    assert audit.kept == len(chosen)
    assert audit.duplicates.count == len(found.duplicates)
    assert {n: f.count for n, f in audit.leaks.items()} == {
        n: len(where) for n, where in found.leaks.items()
    }
    assert audit.unseen is None or audit.unseen.count == len(found.unseen)
    names = (*given.known, "test") if given.known is not None else ()
    assert task.protocol.filter == names
    for name, side in task.sides.items():
        expected = given.side(name)
        assert side.targets.tolist() == expected.targets
        assert side.test_rows.tolist() == chosen
        assert side.columns == given.columns(name)
        # tasks have one row if they have one query
        queries = expected.queries
        same = {query: queries.index(query) for query in queries}
        rows = side.rows.tolist()
        assert [rows.index(row) for row in rows] == [same[query] for query in queries]
        assert len(side.queries) == len(same)
        if given.known is not None:
            assert lists(side.filter, side.rows) == [sorted(a) for a in expected.answers]
        else:
            assert side.filter is None
        for label in LABELS:
            assert side.labels[label].values.tolist() == getattr(expected, label), label
        if given.candidates == "typed":
            among = lists(side.candidates, side.candidates[2])
        elif given.candidates in (None, "all"):
            assert side.candidates is None
            continue
        else:
            among = [side.candidates.tolist()] * len(side)
        assert among == [sorted(members) for members in given.members(name)]


def expected_counts(
    given: Given, task: Task, table: dict[str, Any], own: dict[str, Any] | None, **rules: Any
) -> Any:
    """Count every side by the definition, from a row of scores for each test triple as given."""
    parts = []
    for name in task.sides:
        made = given.side(name)
        members = own[name] if own is not None else given.members(name)
        known = [sorted(a) for a in made.answers] if given.known is not None else None
        parts.append(
            counting.count(
                table[name],
                made.targets,
                rows=given.chosen,
                filter=known,
                candidates=[sorted(m) for m in members],
                **rules,
            )
        )
    return counting.Counts(*(np.concatenate(x) for x in zip(*parts, strict=True)))


def compare(evaluated: Any, expected: Any, audit: bool) -> None:
    """Check that a call gives the counts of the definition, or its refusal."""
    counts, report = outcome(expected), outcome(evaluated)
    if isinstance(report, ValueError):
        assert isinstance(counts, counting.Refused), f"refused without need: {report!r}"
        assert "NaN" in str(report), report
        return
    assert isinstance(counts, counting.Counts), f"should have refused: {counts}"
    ranks = report.ranks
    for name in ("above", "tied", "candidates"):
        assert getattr(ranks, name).tolist() == getattr(counts, name).tolist(), name
    assert (ranks.audit is not None) == audit
    if audit:
        for name in ("nan", "inf", "at_best"):
            assert getattr(ranks.audit, name).tolist() == getattr(counts, name).tolist(), name


@check(given_tasks(), st.data(), inputs=100)
def scores(given: Given, data: Any) -> None:
    """Score matrices, for triples or for distinct queries, and callables."""
    sampled = None
    if "relation" not in given.sides and data.draw(st.integers(0, 3)) == 0:
        sampled = Sampled(data.draw(st.integers(1, 7)), data.draw(st.booleans()), 3)
        given.candidates = None
    task = make(given, candidates=sampled or given.candidates)
    if isinstance(task, Exception):
        return
    own = None
    if sampled is not None:
        own = {name: samples(given, task, name, sampled) for name in task.sides}
    values = data.draw(st.sampled_from([(0, 1), (0, 1, 2, 3), (1, -np.inf, np.nan, np.inf, 2, 2)]))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64]))
    how = data.draw(st.sampled_from(["each", "unique", "callable"]))
    rules = {
        "order": data.draw(st.sampled_from(["descending", "ascending"])),
        "nan": data.draw(st.sampled_from(["raise", "worst", "omit"])),
    }
    audit = data.draw(st.booleans())
    table, given_scores, scorers = {}, {}, {}
    for name, side in task.sides.items():
        if how == "each":
            table[name] = rng.choice(np.array(values, dtype), (len(given.test), side.columns))
            given_scores[name] = table[name]
            continue
        unique = rng.choice(np.array(values, dtype), (len(side.queries), side.columns))
        table[name] = np.zeros((len(given.test), side.columns), dtype)
        table[name][side.test_rows] = unique[side.rows]
        given_scores[name] = unique
        row_of = {tuple(query): i for i, query in enumerate(side.queries.tolist())}
        scorers[name] = lambda queries, row_of=row_of, unique=unique: unique[
            [row_of[tuple(query)] for query in queries.tolist()]
        ]

    def evaluated() -> tr.Report:
        if how == "callable":
            batch = data.draw(st.sampled_from([None, 1, 2]))
            return task.evaluate(**scorers, batch_size=batch, audit=audit, **rules)
        return task.evaluate_scores(**given_scores, unique=how == "unique", audit=audit, **rules)

    compare(evaluated, lambda: expected_counts(given, task, table, own, **rules), audit)


def samples(given: Given, task: Task, name: str, sampled: Sampled) -> list[set[int]]:
    """Return the sample of each task, after a check that it is one."""
    side, made = task.sides[name], given.side(name)
    drawn = lists(side.candidates, np.arange(len(side)))
    pools = made.typed if sampled.typed else [set(range(side.columns))] * len(side)
    for sample, target, answers, pool in zip(drawn, made.targets, made.answers, pools, strict=True):
        allowed = pool - answers
        assert sample == sorted({*sample})
        assert target in sample
        assert {*sample} - {target} <= allowed
        assert len(sample) == min(sampled.negatives, len(allowed)) + 1
    return [set(sample) for sample in drawn]


@check(given_tasks(), st.data(), inputs=60)
def embedded(given: Given, data: Any) -> None:
    """Embeddings of small integers, whose scores are exact, for triples or distinct queries."""
    task = make(given)
    if isinstance(task, Exception):
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    dtype = data.draw(st.sampled_from([np.float16, np.float32, np.float64]))
    unique, audit = data.draw(st.booleans()), data.draw(st.booleans())
    similarity = data.draw(st.sampled_from(["dot", "l1", "sql2"]))
    vectors = {n: rng.integers(-2, 3, (n, 2)).astype(dtype) for n in (6, 3)}
    arguments: dict[str, Any] = {"entities": vectors[6] if {*given.sides} != {"relation"} else None}
    table = {}
    for name, side in task.sides.items():
        height = len(side.queries) if unique else len(given.test)
        queries = rng.integers(-2, 3, (height, 2)).astype(dtype)
        if not unique:  # rows of one query are the same
            queries[side.test_rows] = queries[side.test_rows][
                [side.rows.tolist().index(row) for row in side.rows.tolist()]
            ]
        arguments[name] = queries
        own = embeddings.score(queries, vectors[side.columns], similarity)
        table[name] = own
        if unique:
            table[name] = np.zeros((len(given.test), side.columns), own.dtype)
            table[name][side.test_rows] = own[side.rows]
    if "relation" in task.sides:
        arguments["relations"] = vectors[3]
    block = data.draw(st.sampled_from([None, 1, 2]))
    compare(
        lambda: task.evaluate_embeddings(
            **arguments, similarity=similarity, unique=unique, block=block, audit=audit
        ),
        lambda: expected_counts(given, task, table, None),
        audit,
    )


FAULTS = [
    Fault(
        "an off-by-one in a filter",
        "python/truerank/tasks/side_tasks.py",
        "distinct = first_rows(row_keys([which, answers]))",
        "distinct = first_rows(row_keys([which, answers]))[:-1]",
    ),
    Fault(
        "a check left out",
        "python/truerank/tasks/sampling.py",
        "if len(missing):",
        'if len(missing) and "head" in what:',
    ),
    Fault(
        "a bound made too tight",
        "python/truerank/tasks/sampling.py",
        "allowed = np.diff(starts)[lists] - skipped",
        "allowed = np.maximum(np.diff(starts)[lists] - skipped - 1, 0)",
    ),
]
