"""Parts of a task join to the whole: the same ranks, labels, protocol and reports, in any order."""

from __future__ import annotations

import gc
import pickle
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from strategies.alignments import alignments
from support.example_ranks import query_report
from support.examples import examples
from support.outcomes import quietly
from support.refusals import refusal
from tasks.test_task import ANSWERED, by_triple, evaluated, tables_of

ENTITIES = 7
ITEMS = [f"d{i}" for i in range(ENTITIES)]
# A task, and ways to evaluate it or any of its parts.
Case = tuple[Any, dict[str, Callable[[Any], tr.Report]]]


def few_values(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Scores with many ties."""
    return rng.integers(0, 4, shape).astype(np.float32)


@st.composite
def link_prediction(draw: st.DrawFn) -> Case:
    given = draw(ANSWERED.filter(lambda given: given.sides != ("relation",)))
    task = quietly(tr.link_prediction.Task, **given.arguments)
    tables = tables_of(draw, given, task)
    matrices = by_triple(task, tables)

    def of_queries(name: str, queries: np.ndarray) -> np.ndarray:
        rows = list(map(tuple, task.sides[name].queries.tolist()))
        return tables[name][[rows.index(tuple(query)) for query in queries.tolist()]]

    def by_queries(part: Any) -> Any:
        keys = {name: task.sides[name].queries[::-1] for name in tables}  # of other parts, too
        backwards = {name: table[::-1] for name, table in tables.items()}
        return part.evaluate_scores(**backwards, row_queries=keys)

    def by_lists(part: Any) -> Any:
        keys = {name: part.sides[name].queries for name in tables}
        top = {}
        for name, queries in keys.items():
            ids = np.argsort(-of_queries(name, queries), axis=1)[:, :2]
            top[name] = tr.TopK(ids.reshape(-1, 2), None)
        return part.evaluate_lists(**top, row_queries=keys)

    models = {name: partial(of_queries, name) for name in tables}
    ways: dict[str, Callable[[Any], tr.Report]] = {
        "callables": lambda part: part.evaluate(**models),
        "matrices": lambda part: part.evaluate_scores(**matrices),
        "queries": by_queries,
        "vectors": lambda part: evaluated(part, matrices),
    }
    if given.candidates in (None, "all"):
        ways["lists"] = by_lists
    return task, ways


@st.composite
def alignment(draw: st.DrawFn) -> Case:
    drawn = draw(alignments())
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    left, right = (few_values(rng, size, 3) for size in drawn.sizes)
    scores = left @ right.T
    ways = {
        "vectors": lambda part: part.evaluate_embeddings(left, right, similarity="dot"),
        "csls": lambda part: part.evaluate_embeddings(left, right, similarity="dot", csls=2),
        "matrix": lambda part: part.evaluate_scores(scores),
        "callables": lambda part: part.evaluate(
            lambda q: scores[q[:, 0]], lambda q: scores.T[q[:, 0]]
        ),
    }
    return drawn.task(), ways


@st.composite
def retrieval(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    users = [f"q{i}" for i in range(6)]
    qrels = {}
    runs = {}
    for user in users:
        judged = rng.choice(ITEMS, rng.integers(1, 4), replace=False).tolist()
        listed = rng.choice(ITEMS, rng.integers(1, 5), replace=False).tolist()
        qrels[user] = {item: int(rng.integers(0, 3)) for item in judged}
        runs[user] = {item: float(rng.integers(0, 3)) for item in listed}
    qrels["q0"] = {"d0": 2}
    options: dict[str, Any] = {"gain": ["linear", "exponential", "binary"][rng.integers(3)]}
    if rng.random() < 0.5:
        options["groups"] = ["a", "b", "a", "b", "a", "b"]
    among = {user: sorted({*qrels[user], *runs[user], *rng.choice(ITEMS, 1)}) for user in users}
    options["candidates"] = [None, among, "listed"][rng.integers(3)]
    task = tr.retrieval.Task(qrels, entities=ITEMS, queries=users, **options)
    scores = few_values(rng, len(users), ENTITIES)
    ways: dict[str, Callable[[Any], Any]] = {
        "lists": lambda part: part.evaluate_lists(runs, order="descending")
    }
    if options["candidates"] != "listed":
        ways["callable"] = lambda part: part.evaluate(lambda q: scores[q[:, 0]])
        ways["matrix"] = lambda part: part.evaluate_scores(scores)
    return task, ways


UNITS = {link_prediction: "triple", alignment: "pair", retrieval: "query"}


def reported(ranks: tr.Ranks) -> tr.Report:
    if ranks.without_answers is None:
        return tr.report(ranks)
    return query_report(ranks, by="group" if "group" in ranks.labels else None)


def saved_and_read(ranks: tr.Ranks) -> tr.Ranks:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranks.npz")
        ranks.save(path)
        return tr.load(path)


@pytest.mark.filterwarnings("ignore:left, right. all vectors:UserWarning")
@pytest.mark.parametrize("make", UNITS)
@given(st.data(), st.integers(0, 2**32 - 1), st.integers(2, 20), st.booleans(), st.booleans())
def test_parts_join_to_the_whole(
    make: Any, data: st.DataObject, seed: int, number: int, is_sent: bool, is_filled: bool
) -> None:
    """Whatever their order, as parts of parts, sent to processes and saved by them."""
    task, ways = data.draw(make())
    evaluate = ways[data.draw(st.sampled_from(sorted(ways)))]
    rng = np.random.default_rng(seed)
    whole = quietly(evaluate, task)
    order = np.arange(len(task))
    if rng.random() < 0.5:
        order = rng.permutation(order)
    if is_filled and number <= len(order):  # as by a sampler, with the first units again
        order = np.resize(order, -(-len(order) // number) * number)
        parts = [task[order[p::number]] for p in range(number)]
    else:
        in_order = task[order]
        parts = [in_order[p::number] for p in range(number)]
    assert sum(map(len, parts)) == len(order)
    if is_sent:
        parts = [pickle.loads(pickle.dumps(part)) for part in parts]
    ranks = [evaluate(part).ranks for part in parts]  # without a warning
    if is_sent:
        ranks = [saved_and_read(each) for each in ranks]
    ranks = [ranks[i] for i in rng.permutation(number)]
    joined = tr.concatenate(ranks, repeats="drop" if is_filled else None)
    assert joined == whole.ranks
    assert np.array_equal(joined.without_answers, whole.ranks.without_answers)
    assert (joined.random(7) == whole.ranks.random(7)).all()
    report = reported(joined)
    assert str(report.to_dict()) == str(whole.to_dict())
    assert report.to_text() == reported(whole.ranks).to_text()
    interval = report.interval("mrr")
    assert (interval.unit, interval.units) == (UNITS[make], len(task))
    if len(joined) > 3:
        found = tr.compare(report, whole, metric="mrr")
        assert (found.units, found.estimate) == (len(task), 0)


@pytest.mark.parametrize("other", [["a", "b\nc", "X"], ["a\nb", "X", "c"]])
def test_names_of_any_characters_tell_tasks_apart(other: list[str]) -> None:
    """The units of two tasks of one fingerprint would be taken for those of one task."""
    ranks = []
    for names in (["a\nb", "c", "X"], other):
        pairs = [(name, name) for name in names]
        task = tr.alignment.Task(pairs, left=names, right=names)
        ranks.append(task.evaluate_scores(np.eye(3)).ranks)
    assert len({part.origins[0].fingerprint for part in ranks}) == 2


def test_a_small_part_is_small() -> None:
    rows = np.random.default_rng(0).integers(0, 300, (3000, 3))
    task = tr.link_prediction.Task(np.unique(rows, axis=0), {"train": rows[:0]}, entities=300)
    whole, part = (len(pickle.dumps(each)) for each in (task, task[:3]))
    assert part < whole / 50


def test_a_part_has_the_tests_of_its_units() -> None:
    rows = [(0, 0, 1), (1, 0, 2), (1, 0, 2), (2, 0, 0)]
    task = tr.link_prediction.Task(rows, {}, entities=3, duplicates="drop")
    assert len(task) == 3
    part = task[[2, 0]]
    assert part.test.tolist() == [[2, 0, 0], [0, 0, 1]]
    assert part.tail.units.tolist() == [3, 0]
    assert part.protocol == task.protocol
    pairs = tr.alignment.Task([(0, 1), (1, 0), (2, 2)], left=3, right=3)
    assert pairs[1:].pairs.tolist() == [[1, 0], [2, 2]]


@pytest.mark.parametrize(
    ("index", "error"),
    [
        ([True, False, True], TypeError),
        (1, TypeError),
        ([0.5], TypeError),
        ([[0, 1]], ValueError),
        ([2, 0, -1], ValueError),
        ([0, 3], IndexError),
    ],
)
def test_other_indices_are_refused(index: Any, error: Any) -> None:
    task = tr.link_prediction.Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3)
    with pytest.raises(error, match=r"^index: "):
        task[index]


def by_row(**options: Any) -> Any:
    """A task of link prediction, one of whose rows comes twice."""
    rows = [(i, 0, 7 * i % 20) for i in range(15)]
    return quietly(tr.link_prediction.Task, [*rows, rows[0]], {}, entities=20, **options)


NAMES = [f"n{i}" for i in range(20)]
QRELS = {name: [i, 3] for i, name in enumerate(NAMES[:16])}
WHOLES = [
    by_row(),
    by_row(duplicates="drop"),
    by_row(duplicates="drop", sides=["tail"]),
    tr.retrieval.Task(QRELS, entities=range(20), queries=NAMES[:17]),  # The last has no answer.
]
POSITIONS = [slice(1, None, 3), slice(0, 4), [9, 2, 5], []]


def of_each_side(task: Any, rows: Any, name: str = "scores") -> dict[str, Any]:
    return {name: rows} if "answers" in task.sides else dict.fromkeys(task.sides, rows)


@pytest.mark.parametrize("task", WHOLES)
@pytest.mark.parametrize("index", POSITIONS)
def test_a_part_takes_its_own_rows_or_those_of_the_whole(
    task: Any, index: Any, tmp_path: Path
) -> None:
    """For scores in memory, frames, files and shards, and for vectors of queries."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    scores = few_values(rng, task.height, 20)
    entities = few_values(rng, 20, 3)
    part = task[index]
    own = scores[part.test_rows]
    whole = task.evaluate_scores(**of_each_side(task, scores)).ranks
    expected = whole[np.isin(whole.unit.codes, part.test_rows)]
    path = tmp_path / "whole.npy"
    np.save(path, scores)
    frame = pandas.DataFrame(scores, task.row_labels, range(20))
    forms: list[Any] = [scores, own, frame, frame.iloc[part.test_rows], path]
    forms.append(tr.open_scores([scores[:5], tr.open_scores(path)[5:]]))
    for form in forms:
        ranks = part.evaluate_scores(**of_each_side(task, form)).ranks
        assert tr.concatenate([ranks]) == expected
    both = [of_each_side(task, rows[:, :3], "queries") for rows in (scores, own)]
    ranks, ranks_of_own = (part.evaluate_embeddings(**x, entities=entities).ranks for x in both)
    assert ranks == ranks_of_own
    words = f"a row for each query of the part .or all {task.height} of the test."
    for height in (task.height - 1, task.height + 1, len(part) + 1):
        wrong = of_each_side(task, np.zeros((height, 20)))
        refusal(tr.InputValueError, words, part.evaluate_scores, **wrong)
    wrong = of_each_side(task, frame[::-1].set_axis(frame.index[::-1]))
    words = "expected rows (in the order of task|numbered)"
    refusal(tr.InputValueError, words, part.evaluate_scores, **wrong)


def test_a_part_as_long_as_the_whole_has_its_own_rows() -> None:
    scores = few_values(np.random.default_rng(0), 16, 20)
    task = tr.link_prediction.Task([(i, 0, i) for i in range(16)], {}, entities=20, sides=["tail"])
    for order in (np.arange(16), np.arange(16)[::-1]):
        ranks = task[order].evaluate_scores(scores[order]).ranks
        assert tr.concatenate([ranks]) == task.evaluate_scores(scores).ranks


def labelled(rows: list[tuple[int, int]], above: list[int]) -> tr.Ranks:
    """Ranks of units and targets."""
    units, targets = np.array(rows, np.int64).reshape(-1, 2).T
    labels = {"side": "tail", "unit": units, "queries": units, "targets": targets}
    return tr.Ranks(above, [1] * len(rows), 99, **labels)


def rows_of(ranks: tr.Ranks) -> list[tuple[int, int]]:
    return list(zip(ranks.unit.codes.tolist(), ranks.targets.codes.tolist(), strict=True))


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=5), min_size=1),
    st.booleans(),
)
def test_repeats_as_a_plain_loop_finds_them(
    parts: list[list[tuple[int, int]]], are_alike: bool
) -> None:
    ranks = []
    for number, rows in enumerate(parts):
        more = 0 if are_alike else number
        ranks.append(labelled(rows, [unit + target + more for unit, target in rows]))
    everything = [row for rows in parts for row in rows]
    kept = tr.concatenate(ranks, repeats="keep")
    assert rows_of(kept) == everything
    again = [i for i, row in enumerate(everything) if row in everything[:i]]
    if not again:
        assert tr.concatenate(ranks) == kept == tr.concatenate(ranks, repeats="drop")
        return
    first = everything.index(everything[again[0]])
    words = f"tasks are there twice or more, the first at the positions {first} and {again[0]} "
    refusal(tr.InputValueError, words, tr.concatenate, ranks)
    if len(set(zip(everything, kept.above.tolist(), strict=True))) > len(set(everything)):
        words = r"dropped tasks need equal counts, but above of one task \(unit"
        refusal(tr.InputValueError, words, tr.concatenate, ranks, repeats="drop")
        return
    assert rows_of(tr.concatenate(ranks, repeats="drop")) == list(dict.fromkeys(everything))


def test_a_repeat_is_the_same_fact() -> None:
    """What differs in its relation alone is another fact; what has not all labels is none."""
    ranks = labelled([(0, 1)], [3])
    parts = [ranks.with_labels(relation=[value]) for value in ("x", "y", "x")]
    assert len(tr.concatenate(parts[:2])) == 2
    words = r"1 of 3 tasks are there twice .* \(unit 0, side tail, relation x, query 0"
    refusal(tr.InputValueError, words, tr.concatenate, parts)
    for name in ("side", "queries", "targets"):
        assert len(tr.concatenate([ranks.with_labels(**{name: None})] * 2)) == 2
    less = ranks.with_labels(unit=None)
    refusal(tr.InputValueError, "1 of 2 tasks are there twice", tr.concatenate, [less, less])


# -- parts that are missing ------------------------------------------------------------------------

MISSING = "missing rows: the ranks are a part, "


def missing_rows(*parts: tr.Ranks, repeats: Any = None) -> list[str]:
    """What the audit says that the joined ranks lack, and those of a file; nothing else of it."""
    ranks = tr.concatenate(parts, repeats=repeats)
    findings = reported(ranks).audit("missing rows")
    assert list(findings) == list(reported(saved_and_read(ranks)).audit("missing rows"))
    return [str(finding).removeprefix(MISSING) for finding in findings]


def nine(task: Any) -> tr.Ranks:
    """Rank by scores that favor low numbers."""
    scores = -np.arange(20.0)
    return task.evaluate(
        **{side: lambda q: np.tile(scores, (len(q), 1)) for side in task.sides}
    ).ranks


def test_parts_say_which_rows_are_missing() -> None:
    """Without the last third, the mean is another one, and nothing else would say so."""
    task = tr.link_prediction.Task([(i, 0, 7 * i % 20) for i in range(9)], {}, entities=20)
    parts = [nine(task[p::3]) for p in range(3)]
    whole = tr.report(nine(task))
    joined = tr.report(tr.concatenate(parts[:2]))
    inverse = np.array([1 / (1 + np.arange(9)), 1 / (1 + 7 * np.arange(9) % 20)])
    assert whole["mrr"] == pytest.approx(inverse.mean())
    assert joined["mrr"] == pytest.approx(np.delete(inverse, [2, 5, 8], axis=1).mean())
    assert joined.audit()[0].count == 3
    assert missing_rows(*parts[:2]) == ["6 of 9 triples; missing: rows 2, 5, 8 (part 2::3)"]
    assert missing_rows(parts[1]) == ["3 of 9 triples; missing: rows 0, 2, 3, 5, ..."]
    assert missing_rows(nine(task[:7])) == ["7 of 9 triples; missing: rows 7, 8 (part 7:9)"]
    assert missing_rows(nine(task[::3][::2])) == missing_rows(nine(task[::6]))
    assert missing_rows(parts[0], parts[0], repeats="keep") == missing_rows(parts[0])
    # Those of a sampler are positions, which as one part alone are a sample.
    order = np.random.default_rng(0).permutation(9)
    of_sampler = [nine(task[order[p::3]]) for p in range(3)]
    missing = ", ".join(map(str, sorted(order[2::3])))
    assert missing_rows(*of_sampler[:2]) == [f"6 of 9 triples; missing: rows {missing}"]
    # Their twins: the whole, all parts of it, and both sides of it.
    assert missing_rows(nine(task)) == missing_rows(*parts) == missing_rows(*of_sampler) == []
    ranks = nine(task)
    sides = [ranks[ranks.side == side] for side in ("head", "tail")]
    assert missing_rows(*sides) == missing_rows(sides[0][:4]) == []


def test_a_sample_by_positions_is_meant() -> None:
    """It lacks nothing, whole or joined of its own parts; of these one is missing as of a task."""
    task = tr.link_prediction.Task([(i, 0, 7 * i % 20) for i in range(9)], {}, entities=20)
    sample = task[[7, 2, 5, 0]]
    halves = [nine(sample[p::2]) for p in range(2)]
    assert missing_rows(nine(sample)) == missing_rows(*halves) == []
    assert tr.concatenate(halves) == tr.concatenate([nine(sample)])
    assert missing_rows(halves[1]) == ["2 of 4 triples"]
    ranks = nine(sample)
    assert missing_rows(ranks[ranks.side == "head"], ranks[ranks.side == "tail"]) == []
    more = nine(task[[1, 3, 4]])
    assert missing_rows(*halves, more) == ["7 of 9 triples; missing: rows 6, 8"]


def test_what_is_missing_of_other_tasks() -> None:
    """Dropped rows are no units; pairs, queries and folds are as triples."""
    rows = [(i, 0, 7 * i % 20) for i in range(6)]
    task = quietly(tr.link_prediction.Task, [*rows[:2], *rows], {}, entities=20, duplicates="drop")
    assert missing_rows(nine(task[0::2])) == ["3 of 6 triples"]
    assert missing_rows(nine(task[0::2]), nine(task[1::2])) == []
    for make, unit in zip(FOLDS, ("pairs", "triples", "queries"), strict=True):
        task, evaluate = make(slice(0, 9))
        which = "" if unit == "queries" else "; missing: row 8"  # A query has no answer.
        assert missing_rows(evaluate(task[0:8])) == [f"8 of 9 {unit}{which}"]
        other, evaluate_other = make(slice(9, 18))
        fold = evaluate_other(other)
        assert missing_rows(evaluate(task), fold, repeats="refuse") == []
        lacking = missing_rows(evaluate(task[0:8]), fold, repeats="refuse")
        assert lacking == [f"17 of 18 {unit}"]
    task, evaluate = fold_of_triples(slice(0, 60))
    other, evaluate_other = fold_of_triples(slice(50, 90))
    parts = [evaluate(task), *(evaluate_other(other[p::2]) for p in range(2))]
    assert missing_rows(*parts, repeats="drop") == []
    # Of ten that come twice, five may be among those that are missing.
    assert missing_rows(*parts[:2], repeats="drop") == ["75 of 95 triples"]


# -- tasks that were made apart --------------------------------------------------------------------

SCORES = few_values(np.random.default_rng(0), 100, 100)
# The task of some rows of a test, and what gives the ranks of it, or of any of its parts.
Fold = tuple[Any, Callable[[Any], tr.Ranks]]


def fold_of_names(rows: slice) -> Fold:
    names = [f"e{i}" for i in range(100)]
    pairs = [(name, name) for name in names[rows]]
    order = np.roll(np.arange(100), -rows.start)  # Each fold has an order of its own.
    names = [names[i] for i in order]
    task = tr.alignment.Task(pairs, left=names, right=names)
    return task, lambda part: part.evaluate_scores(SCORES[np.ix_(order, order)]).ranks


def fold_of_triples(rows: slice) -> Fold:
    triples = [(i, i % 3, 7 * i % 100) for i in range(100)]
    task = tr.link_prediction.Task(triples[rows], {}, entities=100, relations=3)
    models = {"tail": lambda q: SCORES[q[:, 0]], "head": lambda q: SCORES[:, q[:, 1]].T}
    return task, lambda part: part.evaluate(**models).ranks


def fold_of_queries(rows: slice) -> Fold:
    qrels: dict[str, dict[str, float]] = {f"none {rows.start}": {}}
    lists = {}
    for i in range(rows.start, rows.stop):
        qrels[f"q{i}"] = {"d0": 0.5, ITEMS[1 + i % 3]: 2, ITEMS[4]: 0}
        lists[f"q{i}"] = [ITEMS[(i + j) % ENTITIES] for j in range(3)]
    task = tr.retrieval.Task(qrels, entities=ITEMS, queries=list(qrels))
    return task, lambda part: part.evaluate_lists(lists).ranks


FOLDS = [fold_of_names, fold_of_triples, fold_of_queries]


@examples(30)
@given(st.sampled_from(FOLDS), st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_parts_of_shards_in_any_order(make: Any, seed: int, number: int, is_saved: bool) -> None:
    """They join to the wholes of the shards, whose units are apart, by whatever ways."""
    rng = np.random.default_rng(seed)
    wholes = []
    parts: list[tuple[int, tr.Ranks]] = []
    for shard in range(number):
        task, evaluate = make(slice(9 * shard, 9 * shard + 9))
        wholes.append(evaluate(task))
        order = rng.permutation(len(task))
        several = int(rng.integers(1, len(task) + 2))
        for p in range(several):
            part = evaluate(task[order[p::several]])
            if is_saved:
                again = saved_and_read(part)
                assert (again, again.origins) == (part, part.origins)
                part = again
            parts.append((shard, part))
    parts = [parts[i] for i in rng.permutation(len(parts))]
    join = partial(tr.concatenate, repeats="refuse")
    joined = join([part for _, part in parts])
    expected = join([wholes[shard] for shard in dict.fromkeys(s for s, _ in parts)])
    assert joined == expected
    assert joined.origins == expected.origins
    assert len(np.unique(joined.unit.codes)) == sum(origin.units for origin in joined.origins)
    cut = int(rng.integers(len(parts)))
    halves = [[part for _, part in parts[:cut]], [part for _, part in parts[cut:]]]
    assert join([join(half) for half in halves if half]) == expected
    is_odd = joined.unit.codes % 2 == 1
    assert join([joined[is_odd], joined[~is_odd]]) == joined


@pytest.mark.parametrize("make", FOLDS)
def test_folds_that_share_facts(make: Any) -> None:
    """A fact of several folds is one, whatever its row there; each fold has its own units."""

    def ranks_of(*bounds: tuple[int, int]) -> list[tr.Ranks]:
        folds = [make(slice(start, stop)) for start, stop in bounds]
        return [evaluate(task) for task, evaluate in folds]

    # Of 180 units, 100 are of unlike facts.
    ranks = ranks_of((0, 60), (20, 80), (40, 100))
    words = "parts: number 1: it belongs to another test .* joins data sets; repeats= says what"
    refusal(tr.InputValueError, words, tr.concatenate, ranks)
    words = "tasks are there twice or more, the first at the positions"
    refusal(tr.InputValueError, words, tr.concatenate, ranks, repeats="refuse")
    dropped = tr.concatenate(ranks, repeats="drop")
    if make is not fold_of_queries:
        assert len(tr.concatenate(ranks, repeats="keep")) * 100 == len(dropped) * 180
    assert reported(dropped).interval("mrr").units == 100
    assert [origin.units for origin in dropped.origins] == [60, 20, 20]
    joined = tr.concatenate(ranks_of((0, 60), (60, 100)), repeats="refuse")
    assert len(joined) == len(dropped)
    assert reported(joined).interval("mrr").units == 100


def test_runs_and_folds_of_one_test_are_told_no_way_that_is_wrong() -> None:
    """The interval of pooled runs is too narrow; queries without lists are no data set."""
    ranks = [labelled([(0, 1), (1, 2)], above) for above in ([0, 3], [1, 2])]
    words = "each is there as often, and runs of one model are not joined: they are a list, which "
    words += "compare and table take; repeats= says what a fact is that comes twice$"
    refusal(tr.InputValueError, words, tr.concatenate, ranks)
    qrels = {"q": {"a": 1}, "r": {"b": 1}}
    lists = {"q": ["b", "a"], "r": ["b", "c"]}

    def fold(query: str, *more: str) -> tr.Ranks:
        some = {each: lists[each] for each in (query, *more)}
        return quietly(tr.retrieval.Task(qrels).evaluate_lists, some).ranks

    words = r"\(query q, target a\); no answer is in the lists of two parts; repeats= says"
    refusal(tr.InputValueError, words, tr.concatenate, [fold("q"), fold("r")])
    words = "joins data sets"
    refusal(tr.InputValueError, words, tr.concatenate, [fold("q", "r"), fold("r")])


def flat(columns: int, queries: np.ndarray) -> np.ndarray:
    """Score all candidates alike."""
    return np.zeros((len(queries), columns))


def test_queries_are_one_query_by_name_or_among_the_same_entities() -> None:
    """Numbers of queries say nothing beside those of other entities; names do."""

    def tails(first: int, entities: int) -> tr.Ranks:
        rows = [(i // 10, i % 2, i % 10) for i in range(first, 108, 2)]
        task = tr.link_prediction.Task(rows, {}, entities=entities, sides=["tail"])
        return task.evaluate(tail=partial(flat, entities)).ranks

    one = tails(0, 99)
    for other in (tails(1, 99), tails(1, 98)):
        joined = tr.concatenate([one, other], repeats="refuse")
        assert tr.report(joined).interval("mrr", unit="query").units == 22
    own = [part.with_labels(queries=["q"] * len(part)) for part in (one, other)]
    assert tr.concatenate(own, repeats="refuse").queries.counts() == {"q": 108}


def test_units_that_are_given_are_not_mixed_with_those_of_tasks() -> None:
    task, evaluate = fold_of_triples(slice(0, 9))
    part = evaluate(task)
    given = part.with_labels(unit=part.unit)
    assert tr.report(given).interval("mrr").unit == "unit"
    words = "parts: part 1 has units that were given, other parts have rows of tasks$"
    refusal(tr.InputValueError, words, tr.concatenate, [part, given], repeats="keep")
    assert len(tr.concatenate([given, given[:0], given], repeats="keep")) == 36


def test_data_sets_that_are_pooled_have_facts_of_their_own() -> None:
    """The same numbers are other entities there."""
    ranks = []
    for entities in (20, 30):
        triples = [(0, 0, 1), (1, 0, entities - 1)]
        task = tr.link_prediction.Task(triples, {}, entities=entities, sides=["tail"])
        ranks.append(task.evaluate(partial(flat, entities)).ranks)
    assert len(tr.concatenate(ranks, repeats="refuse")) == 4


def test_a_saved_task_need_not_say_how_many_entities_there_are() -> None:
    """What other parts know cannot be counted then, as in a file that somebody edited."""
    parts = []
    for triples in ([(0, 0, 1), (1, 0, 2)], [(0, 0, 3), (2, 0, 1)]):
        task = tr.link_prediction.Task(triples, {}, entities=9, sides=["tail"])
        ranks = task.evaluate(partial(flat, 9)).ranks
        parts.append(
            ranks._with(origins=[replace(ranks.origins[0], digests=("", ""), n_entities=0)])
        )
    assert not tr.report(tr.concatenate(parts, repeats="refuse")).audit("unfiltered")


KNOWN = [(0, 0, 5), (1, 0, 5), (1, 0, 9)]


def half(rows: slice, known: Any, entities: Any, side: str = "tail") -> tr.Ranks:
    """Ranks of a half of one test, by a task that may be made otherwise."""
    test: Any = [(i, 0, 7 * i % 20) for i in range(16)]
    options: dict[str, Any] = {"entities": entities, "sides": [side]}
    columns = entities
    if not isinstance(entities, int):
        columns = len(entities)
        options["relations"] = ["r"]
        test, known = ([(NAMES[h], "r", NAMES[t]) for h, _, t in facts] for facts in (test, known))
    task = tr.link_prediction.Task(test, {"train": known}, **options)[rows]
    return task.evaluate(**{side: partial(flat, columns)}).ranks


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ((KNOWN, 20), (KNOWN, 50)),
        ((KNOWN, 20), ([*KNOWN[:2], (1, 0, 8)], 20)),
        ((KNOWN, NAMES), (KNOWN, NAMES[::-1])),
        ((KNOWN, NAMES), (KNOWN, [*NAMES, "more"])),
    ],
)
def test_parts_of_tasks_that_were_made_otherwise(one: Any, two: Any, tmp_path: Path) -> None:
    first = half(slice(0, 8), *one)
    second = half(slice(8, 16), *two)
    first.save(tmp_path / "first.npz")
    words = "parts: the same facts are ranked among .* as task"
    for repeats in (None, "refuse", "keep"):
        parts = [tr.load(tmp_path / "first.npz"), second]
        refusal(tr.InputValueError, words, tr.concatenate, parts, repeats=repeats)
    # These were made alike: the order of known facts is no matter, nor the side.
    known, entities = two
    alike = [half(slice(0, 8), known[::-1], entities), second]
    alike.append(half(slice(8, 16), known, entities, "head"))
    assert len(tr.concatenate(alike)) == 24


def test_origins_are_made_once_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics do not need them, and until then ranks do not keep the task, with its filter."""
    made: list[object] = []
    number_facts = tr.tasks.side.number_facts
    count = lambda facts: made.append(facts) or number_facts(facts)  # noqa: E731
    monkeypatch.setattr(tr.tasks.side, "number_facts", count)
    task = tr.retrieval.Task({"q": {"d1": 2, "d2": 1}}, entities=ITEMS, relevance_level=2)
    reports = [task.evaluate_lists({"q": ["d3", "d1"]}) for _ in range(2)]
    assert [report["mrr"] for report in reports] == [0.5, 0.5]
    assert not made
    is_living = weakref.ref(task)
    del task
    gc.collect()
    assert is_living() is None
    one, two = (saved_and_read(report.ranks).origins for report in reports)
    assert one == two == pickle.loads(pickle.dumps(reports[0].ranks)).origins
    assert (one[0].rows, one[0].units, len(made)) == (1, 1, 1)
