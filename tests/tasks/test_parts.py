"""Parts of a task join to the whole: the same ranks, labels, protocol and reports, in any order."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.query_reports import query_report
from support.refusals import refusal
from truerank.link_prediction import Sampled

ENTITIES = 7
RELATIONS = 3


class Case(NamedTuple):
    """A task, and ways to evaluate it or any of its parts."""

    task: Any
    ways: dict[str, Callable[[Any], Any]]
    report: Callable[[tr.Ranks], Any] = tr.report


def few_values(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Scores with many ties."""
    return rng.integers(0, 4, shape).astype(np.float32)


def candidates_of_relations(rng: np.random.Generator, test: np.ndarray) -> dict[int, list[int]]:
    """Return a list for each relation: its heads and tails in the test, and others."""
    lists = {}
    for relation in range(RELATIONS):
        of_relation = test[test[:, 1] == relation]
        others = rng.integers(0, ENTITIES, 2)
        of_test = of_relation[:, [0, 2]].ravel()
        lists[relation] = np.unique(np.concatenate([of_test, others])).tolist()
    return lists


def any_candidates(rng: np.random.Generator, test: np.ndarray, sides: list[str]) -> Any:
    """Return candidates of any kind, for sides that predict entities."""
    of_relations = candidates_of_relations(rng, test)
    kinds: list[Any] = [None, "typed", Sampled(3), range(ENTITIES), of_relations]
    if "head" in sides:
        kinds.append({"head": of_relations, "tail": "typed"})
    return kinds[rng.integers(len(kinds))]


def link_prediction(rng: np.random.Generator) -> Case:
    rows = np.stack([rng.integers(0, n, 40) for n in (ENTITIES, RELATIONS, ENTITIES)], axis=1)
    if rng.random() < 0.3:
        rows = np.hstack([rows, rng.integers(0, 3, (40, 1))])
    scores = few_values(rng, ENTITIES, RELATIONS, ENTITIES)
    options: dict[str, Any] = {"sides": [["head", "tail"], ["tail"], ["head", "relation"]]}
    options["sides"] = options["sides"][rng.integers(3)]
    if "relation" not in options["sides"]:
        options["candidates"] = any_candidates(rng, rows[:15], options["sides"])
    if rows.shape[1] > 3:
        options |= {"keys": (3,), "filter": ["fact", "triple", "none"][rng.integers(3)]}
    if rng.random() < 0.5:
        options["duplicates"] = "drop"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicates and leaks
        known = {"train": rows[15:]}
        task = tr.link_prediction.Task(
            rows[:15], known, entities=ENTITIES, relations=RELATIONS, **options
        )
    models: dict[str, Any] = {
        "head": lambda q: scores[:, q[:, 0], q[:, 1]].T,
        "tail": lambda q: scores[q[:, 0], q[:, 1]],
        "relation": lambda q: scores[q[:, 0], :, q[:, 1]],
    }
    asked = {side: models[side] for side in task.sides}

    def by_matrices(part: Any) -> Any:
        unique = {side: model(part.sides[side].queries) for side, model in asked.items()}
        matrices = {}
        for side, matrix in unique.items():
            matrices[side] = np.zeros((part.height, matrix.shape[1]), np.float32)
            matrices[side][part._rows_of(part.sides[side])] = matrix[part.sides[side].rows]
        return part.evaluate_scores(**matrices)

    def by_unique_matrices(part: Any) -> Any:
        rows = {side: task.sides[side].queries[::-1] for side in asked}  # those of other parts, too
        unique = {side: asked[side](queries) for side, queries in rows.items()}
        return part.evaluate_scores(**unique, row_queries=rows)

    def by_lists(part: Any) -> Any:
        unique = {side: model(part.sides[side].queries) for side, model in asked.items()}
        lists = {side: np.argsort(-each, axis=1)[:, :2].tolist() for side, each in unique.items()}
        rows = {side: part.sides[side].queries for side in asked}
        top = {side: tr.TopK(np.array(each).reshape(-1, 2), None) for side, each in lists.items()}
        return part.evaluate_lists(**top, row_queries=rows)

    ways = {"callables": lambda part: part.evaluate(**asked)}
    ways |= {"matrices": by_matrices, "unique": by_unique_matrices}
    if options.get("candidates") is None:
        ways["lists"] = by_lists
    return Case(task, ways)


def by_vectors(rng: np.random.Generator) -> Case:
    """Link prediction by vectors, among lists of their own or all entities."""
    rows = np.stack([rng.integers(0, n, 12) for n in (ENTITIES, RELATIONS, ENTITIES)], axis=1)
    options: dict[str, Any] = {}
    if rng.random() < 0.5:
        negatives = rng.integers(0, ENTITIES, (12, 3))
        indptr = np.arange(0, 49, 4)
        options["candidates"] = {
            side: (indptr, np.column_stack([rows[:, column], negatives]).ravel())
            for side, column in {"head": 0, "tail": 2}.items()
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = tr.link_prediction.Task(rows, {}, entities=ENTITIES, relations=RELATIONS, **options)
    vectors = few_values(rng, ENTITIES, 2)
    relations = few_values(rng, RELATIONS, 2)

    def of_queries(part: Any) -> dict[str, np.ndarray]:
        heads, relation, tails = part.test.T
        return {
            "tail": vectors[heads] + relations[relation],
            "head": vectors[tails] - relations[relation],
        }

    return Case(
        task,
        {
            "vectors": lambda part: part.evaluate_embeddings(
                **of_queries(part), entities=vectors, similarity="l1"
            ),
            "matrices": lambda part: part.evaluate_scores(
                **{side: each @ vectors.T for side, each in of_queries(part).items()}
            ),
        },
    )


def alignment(rng: np.random.Generator) -> Case:
    pairs = np.unique(rng.integers(0, ENTITIES, (9, 2)), axis=0)
    known = {"train": np.unique(rng.integers(0, ENTITIES, (3, 2)), axis=0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task = tr.alignment.Task(
            pairs,
            left=ENTITIES,
            right=ENTITIES,
            candidates=["all", "test"][rng.integers(2)],
            known=known,
        )
    left = few_values(rng, ENTITIES, 3)
    right = few_values(rng, ENTITIES, 3)
    scores = left @ right.T
    ways = {
        "vectors": lambda part: part.evaluate_embeddings(left, right, similarity="dot"),
        "csls": lambda part: part.evaluate_embeddings(left, right, similarity="dot", csls=2),
        "matrix": lambda part: part.evaluate_scores(scores),
        "callables": lambda part: part.evaluate(
            lambda q: scores[q[:, 0]], lambda q: scores.T[q[:, 0]]
        ),
    }
    return Case(task, ways)


def retrieval(rng: np.random.Generator) -> Case:
    items = [f"d{i}" for i in range(ENTITIES)]
    users = [f"q{i}" for i in range(6)]
    qrels = {}
    runs = {}
    for user in users:
        judged = rng.choice(items, rng.integers(1, 4), replace=False).tolist()
        listed = rng.choice(items, rng.integers(1, 5), replace=False).tolist()
        qrels[user] = {item: int(rng.integers(0, 3)) for item in judged}
        runs[user] = {item: float(rng.integers(0, 3)) for item in listed}
    qrels["q0"] = {"d0": 2}
    options: dict[str, Any] = {"gain": ["linear", "exponential", "binary"][rng.integers(3)]}
    if rng.random() < 0.5:
        options["groups"] = ["a", "b", "a", "b", "a", "b"]
    chosen = rng.integers(3)
    if chosen == 1:
        options["candidates"] = {
            user: sorted(set(qrels[user]) | set(runs[user]) | {items[rng.integers(ENTITIES)]})
            for user in users
        }
    if chosen == 2:
        options["candidates"] = "listed"
    task = tr.retrieval.Task(qrels, entities=items, queries=users, **options)
    scores = few_values(rng, len(users), ENTITIES)

    def by_matrix(part: Any) -> Any:
        rows = np.zeros((part.height, ENTITIES), np.float32)
        rows[part._rows_of(part.answers)] = scores[part.answers.units]
        return part.evaluate_scores(rows)

    ways: dict[str, Callable[[Any], Any]] = {
        "lists": lambda part: part.evaluate_lists(runs, order="descending")
    }
    if chosen < 2:  # the candidates are no matter of the lists alone
        ways |= {
            "callable": lambda part: part.evaluate(lambda q: scores[q[:, 0]]),
            "matrix": by_matrix,
        }
    by = "group" if "groups" in options else None
    return Case(task, ways, lambda ranks: query_report(ranks, by=by))


CASES = (link_prediction, by_vectors, alignment, retrieval)


def same_values(one: dict[str, Any], two: dict[str, Any]) -> bool:
    """Whether two reports say the same; nan is nan."""
    pairs = [(str(one[key]), str(two[key])) for key in one.keys() & two.keys()]
    return one.keys() == two.keys() and all(a == b for a, b in pairs)


def saved_and_read(ranks: tr.Ranks) -> tr.Ranks:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ranks.npz")
        ranks.save(path)
        return tr.load(path)


@examples(60)
@given(st.sampled_from(CASES), st.integers(0, 2**32 - 1), st.integers(1, 20), st.booleans())
def test_parts_join_to_the_whole(make: Any, seed: int, number: int, is_saved: bool) -> None:
    rng = np.random.default_rng(seed)
    case = make(rng)
    name = sorted(case.ways)[rng.integers(len(case.ways))]
    evaluate = case.ways[name]
    whole = evaluate(case.task)
    parts = [case.task[p::number] for p in range(number)]
    if rng.random() < 0.5:  # units in any order
        order = rng.permutation(len(case.task))
        parts = [case.task[order[p::number]] for p in range(number)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no part warns of what the whole has warned of
        ranks = [evaluate(part).ranks for part in parts]
    assert sum(map(len, parts)) == len(case.task)
    if is_saved:
        ranks = [saved_and_read(each) for each in ranks]
    joined = tr.concatenate([ranks[i] for i in rng.permutation(number)])
    assert joined == whole.ranks
    assert (joined.random(7) == whole.ranks.random(7)).all()
    reported = case.report(joined)
    assert same_values(reported.to_dict(), whole.to_dict())
    assert reported.to_text() == case.report(whole.ranks).to_text()
    if len(whole.ranks) > 3:
        found = tr.compare(reported, whole, metric="mrr")
        assert found.units == len(case.task)
        assert found.estimate == 0


@examples(40)
@given(st.sampled_from(CASES), st.integers(0, 2**32 - 1))
def test_parts_of_parts_are_parts_of_the_whole(make: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    task, ways, _ = make(rng)
    evaluate = next(iter(ways.values()))
    first = rng.permutation(len(task))[:4]
    second = rng.permutation(len(first))[:3]
    assert evaluate(task[first][second]).ranks == evaluate(task[first[second]]).ranks
    assert len(task[first][1:3]) == len(first[1:3])


@pytest.mark.parametrize("make", CASES)
def test_a_part_is_sent_without_the_whole(make: Any) -> None:
    task, ways, _ = make(np.random.default_rng(1))
    evaluate = next(iter(ways.values()))
    ranks = []
    for p in (1, 0):
        sent = pickle.loads(pickle.dumps(task[p::2]))
        ranks.append(evaluate(sent).ranks)
    assert tr.concatenate(ranks) == evaluate(task).ranks


UNITS = dict.fromkeys(CASES, "triple")
UNITS |= {alignment: "pair", retrieval: "query"}


@pytest.mark.parametrize("make", CASES)
def test_units_are_called_what_the_rows_of_a_task_are(make: Any) -> None:
    task, ways, report = make(np.random.default_rng(1))
    ranks = next(iter(ways.values()))(task).ranks
    found = report(saved_and_read(ranks)).interval("mrr")
    assert (found.unit, found.units) == (UNITS[make], len(task))
    if make is not retrieval:  # Its queries are drawn, whatever their label "unit" is.
        own = ranks.with_labels(unit=np.arange(len(ranks)))
        assert tr.report(own).interval("mrr").unit == "unit"


@pytest.mark.parametrize("other", [["a", "b\nc", "X"], ["a\nb", "X", "c"]])
def test_names_of_any_characters_tell_tasks_apart(other: list[str]) -> None:
    """The units of two tasks of one fingerprint would be taken for those of one task."""
    ranks = []
    for names in (["a\nb", "c", "X"], other):
        pairs = [(name, name) for name in names]
        task = tr.alignment.Task(pairs, left=names, right=names)
        ranks.append(task.evaluate_scores(np.eye(3)).ranks)
    assert len({part.origins[0].fingerprint for part in ranks}) == 2


def test_a_checkpoint_of_another_part_is_refused(tmp_path: Path) -> None:
    rows = [(i, 0, (3 * i) % 10) for i in range(10)]
    task = tr.link_prediction.Task(rows, {}, entities=10, sides=["tail"])
    vectors = np.random.default_rng(0).random((10, 4), np.float32)

    def count(part: Any) -> tr.Ranks:
        side = part.tail
        filtered = side.filter
        return tr.rank_embeddings(
            vectors[side.queries[:, 0]],
            vectors,
            side.targets,
            rows=side.rows,
            filter=filtered,
            similarity="dot",
            checkpoint=tmp_path / "counts",
        )

    assert count(task[0::2]) == count(task[0::2])
    refusal(tr.InputValueError, "checkpoint.*this is of another count", count, task[1::2])


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
    ("index", "error", "words"),
    [
        ([True, False, True], TypeError, "a slice or positions of triples"),
        (np.array([True, False, True]), TypeError, "a slice or positions of triples"),
        (1, TypeError, "a slice or positions of triples"),
        ("0", TypeError, "a slice or positions of triples"),
        (None, TypeError, "a slice or positions of triples"),
        ({0: 1}, TypeError, "a slice or positions of triples"),
        ([0.5], TypeError, "index"),
        ([[0, 1]], ValueError, "a slice or positions of triples"),
        ([2, 0, -1], ValueError, "each position at most once, got -1 again at position 2"),
        ([0, 3], IndexError, "3 is out of range for a task of length 3"),
    ],
)
def test_other_indices_are_refused(index: Any, error: Any, words: str) -> None:
    task = tr.link_prediction.Task([(0, 0, 1), (1, 0, 2), (2, 0, 0)], {}, entities=3)
    with pytest.raises(error, match=words):
        task[index]


def by_row(number: int, **options: Any) -> Any:
    """A task of link prediction, one of whose rows comes twice."""
    rows = [(i, 0, 7 * i % 20) for i in range(number - 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tr.link_prediction.Task([*rows, rows[0]], {}, entities=20, **options)


def by_query(number: int) -> Any:
    names = [f"q{i}" for i in range(number)]
    qrels = {name: [i % 20, 3] for i, name in enumerate(names[:-1])}  # The last has no answer.
    return tr.retrieval.Task(qrels, entities=range(20), queries=names)


WHOLES = [
    by_row(16),
    by_row(16, duplicates="drop"),
    by_row(16, duplicates="drop", sides=["tail"]),
    by_query(17),
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
    if isinstance(index, slice) and len(task) == task.height:
        forms.append(tr.open_scores(path)[index])
    for form in forms:
        ranks = part.evaluate_scores(**of_each_side(task, form)).ranks
        assert tr.concatenate([ranks]) == expected
    both = [
        part.evaluate_embeddings(
            **of_each_side(task, rows[:, :3], "queries"), entities=entities
        ).ranks
        for rows in (scores, own)
    ]
    assert both[0] == both[1]
    words = f"a row for each query of the part .or all {task.height} of the test."
    for height in (task.height - 1, task.height + 1, len(part) + 1):
        wrong = of_each_side(task, np.zeros((height, 20)))
        refusal(tr.InputValueError, words, part.evaluate_scores, **wrong)
    wrong = of_each_side(task, frame[::-1].set_axis(frame.index[::-1]))
    refusal(
        tr.InputValueError,
        "expected rows (in the order of task|numbered)",
        part.evaluate_scores,
        **wrong,
    )


def test_a_part_as_long_as_the_whole_has_its_own_rows() -> None:
    scores = few_values(np.random.default_rng(0), 16, 20)
    task = tr.link_prediction.Task([(i, 0, i) for i in range(16)], {}, entities=20, sides=["tail"])
    for order in (np.arange(16), np.arange(16)[::-1]):
        ranks = task[order].evaluate_scores(scores[order]).ranks
        assert tr.concatenate([ranks]) == task.evaluate_scores(scores).ranks


# -- repeats ---------------------------------------------------------------------------------------


def labelled(rows: list[tuple[int, int]], above: list[int]) -> tr.Ranks:
    """Ranks of units and targets."""
    units = [row[0] for row in rows]
    targets = [row[1] for row in rows]
    return tr.Ranks(
        above, [1] * len(rows), 99, side="tail", unit=units, queries=units, targets=targets
    )


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=5), min_size=1),
    st.booleans(),
)
def test_repeats_as_a_plain_loop_finds_them(
    parts: list[list[tuple[int, int]]], are_alike: bool
) -> None:
    ranks = []
    for number, rows in enumerate(parts):
        above = [row[0] + row[1] for row in rows]
        if not are_alike:
            above = [each + number for each in above]
        ranks.append(labelled(rows, above))
    everything = [row for rows in parts for row in rows]
    kept = tr.concatenate(ranks, repeats="keep")
    assert list(zip(kept.unit.codes.tolist(), kept.targets.codes.tolist(), strict=True)) == (
        everything
    )
    counts = Counter(everything)
    if max(counts.values(), default=1) == 1:
        assert tr.concatenate(ranks) == kept == tr.concatenate(ranks, repeats="drop")
        return
    again = next(i for i, row in enumerate(everything) if row in everything[:i])
    first = everything.index(everything[again])
    words = f"tasks are there twice or more, the first at the positions {first} and {again} "
    refusal(tr.InputValueError, words, tr.concatenate, ranks)
    values: dict[tuple[int, int], set[int]] = {}
    for row, above in zip(everything, kept.above.tolist(), strict=True):
        values.setdefault(row, set()).add(above)
    if max(map(len, values.values())) > 1:
        words = r'repeats="drop" needs equal counts, but above of one task \(unit'
        refusal(tr.InputValueError, words, tr.concatenate, ranks, repeats="drop")
        return
    dropped = tr.concatenate(ranks, repeats="drop")
    assert list(zip(dropped.unit.codes.tolist(), dropped.targets.codes.tolist(), strict=True)) == (
        list(counts)
    )


def test_a_sampler_that_fills_its_last_batch() -> None:
    """Four processes of ten units: the last batch is filled with the first units again."""
    rows = [(i, 0, (3 * i) % 10) for i in range(10)]
    task = tr.link_prediction.Task(rows, {}, entities=10, sides=["tail"])

    def model(queries: np.ndarray) -> np.ndarray:
        return np.random.default_rng(0).random((10, 10))[queries[:, 0]]

    whole = task.evaluate(model).ranks
    order = (np.arange(12) % 10).tolist()
    parts = [task[order[p::4]].evaluate(model).ranks for p in range(4)]
    refusal(tr.InputValueError, "2 of 12 tasks are there twice", tr.concatenate, parts)
    assert tr.concatenate(parts, repeats="drop") == whole
    assert len(tr.concatenate(parts, repeats="keep")) == 12
    refusal(tr.InputValueError, "repeats", tr.concatenate, parts, repeats="first")
    assert len(whole[[0, 0, 1]]) == 3


def test_queries_of_retrieval_that_come_again() -> None:
    """Ranks of retrieval have no side: the query and the answer tell them apart."""
    qrels = {f"q{i}": {"d0": 1, "d2": 2} for i in range(10)} | {"none": {}}
    task = tr.retrieval.Task(qrels, entities=["d0", "d1", "d2"], queries=list(qrels))
    scores = np.random.default_rng(0).random((11, 3))

    def evaluate(part: Any) -> tr.Ranks:
        return part.evaluate(lambda queries: scores[queries[:, 0]]).ranks

    order = (np.arange(12) % 10).tolist()
    parts = [evaluate(task[order[p::4]]) for p in range(4)]
    words = r"4 of 24 tasks are there twice .* \(query q0, target d0\)"
    refusal(tr.InputValueError, words, tr.concatenate, parts)
    joined = tr.concatenate(parts, repeats="drop")
    assert joined == evaluate(task)
    assert query_report(joined).without_answers == task.without_answers == 1


def test_what_has_not_all_labels_is_not_looked_at() -> None:
    ranks = labelled([(0, 1)], [3])
    for name in ("side", "queries", "targets"):
        less = ranks.with_labels(**{name: None})
        assert len(tr.concatenate([less, less])) == 2
    less = ranks.with_labels(unit=None)
    refusal(tr.InputValueError, "1 of 2 tasks are there twice", tr.concatenate, [less, less])


def test_a_repeat_is_the_same_fact() -> None:
    """What differs in its relation alone is another fact."""
    ranks = labelled([(0, 1)], [3])
    parts = [ranks.with_labels(relation=[value]) for value in ("x", "y", "x")]
    assert len(tr.concatenate(parts[:2])) == 2
    words = r"1 of 3 tasks are there twice .* \(unit 0, side tail, relation x, query 0"
    refusal(tr.InputValueError, words, tr.concatenate, parts)


# -- tasks that were made apart --------------------------------------------------------------------


def shards(number: int, entities: int = 99) -> list[tr.Ranks]:
    """Ranks of the rows of a test, each shard by a task of its own."""
    rows = [(i // 10, i % 2, i % 10) for i in range(54 * number)]
    ranks = []
    for p in range(number):
        task = tr.link_prediction.Task(rows[p::number], {}, entities=entities, sides=["tail"])
        ranks.append(task.evaluate(lambda q: np.eye(entities)[q[:, 0]]).ranks)
    return ranks


def test_units_of_tasks_that_were_made_apart_are_apart() -> None:
    parts = shards(3)
    words = r'parts: number 1: it is of another test .* joined with repeats="refuse" \("drop"'
    refusal(tr.InputValueError, words, tr.concatenate, parts)
    joined = tr.concatenate(parts, repeats="refuse")
    assert tr.report(joined).interval("mrr").units == 162
    assert joined.unit.codes.tolist() == list(range(162))
    # whatever was joined before, and however often
    again = [tr.concatenate(parts[:2], repeats="refuse"), parts[2]]
    again = tr.concatenate(again, repeats="refuse")
    assert again == joined
    assert again.origins == joined.origins
    mixed = tr.concatenate([joined[1::2], joined[::2]])
    assert mixed == joined
    assert tr.compare(joined, again, metric="mrr").units == 162


def test_queries_are_one_query_by_name_or_among_the_same_entities() -> None:
    """Numbers of queries say nothing beside those of other entities; names do."""
    parts = shards(2)
    joined = tr.concatenate(parts, repeats="refuse")
    number = len(np.unique(np.concatenate([part.queries.codes for part in parts])))
    assert tr.report(joined).interval("mrr", unit="query").units == number
    parts[1] = shards(2, entities=98)[1]
    joined = tr.concatenate(parts, repeats="refuse")
    number = sum(len(np.unique(part.queries.codes)) for part in parts)
    assert tr.report(joined).interval("mrr", unit="query").units == number
    own = [part.with_labels(queries=["q"] * len(part)) for part in parts]
    assert tr.concatenate(own, repeats="refuse").queries.counts() == {"q": 108}
    tasks = [tr.retrieval.Task({name: ["a"]}, entities=["a", "b"]) for name in "qr"]
    lists = {"q": ["b"], "r": ["a"]}
    ranks = [task.evaluate_lists(lists).ranks for task in tasks]
    found = tr.concatenate(ranks, repeats="refuse")
    assert query_report(found).queries == ["q", "r"]


def test_units_that_are_given_are_not_mixed_with_those_of_tasks() -> None:
    part = shards(1)[0]
    given = part.with_labels(unit=part.unit)
    words = r"parts: units of part 1 are given, .* label all parts, with ranks.with_labels\(unit="
    refusal(tr.InputValueError, words, tr.concatenate, [part, given], repeats="keep")
    assert len(tr.concatenate([given, given[:0], given], repeats="keep")) == 108


class Evaluated(NamedTuple):
    """A task, and what gives the ranks of it or of any of its parts."""

    task: Any
    evaluate: Callable[[Any], tr.Ranks]


def link_shards(rng: np.random.Generator, number: int) -> list[Evaluated]:
    rows = np.unique(rng.integers(0, (6, 2, 6), (20, 3)), axis=0)
    scores = few_values(rng, 6, 6)
    models = {"tail": lambda q: scores[q[:, 0]], "head": lambda q: scores[q[:, 1]]}
    shards = []
    for p in range(number):
        task = tr.link_prediction.Task(rows[p::number], {}, entities=6, relations=2)
        shards.append(Evaluated(task, lambda part: part.evaluate(**models).ranks))
    return shards


def pair_shards(rng: np.random.Generator, number: int) -> list[Evaluated]:
    pairs = np.stack([rng.permutation(12), rng.permutation(12)], axis=1)
    left, right = few_values(rng, 2, 12, 3)
    shards = []
    for p in range(number):
        task = tr.alignment.Task(pairs[p::number], left=12, right=12)
        shards.append(Evaluated(task, lambda part: part.evaluate_embeddings(left, right).ranks))
    return shards


def query_shards(rng: np.random.Generator, number: int) -> list[Evaluated]:
    items = [f"d{i}" for i in range(ENTITIES)]
    shards = []
    for p in range(number):
        qrels: dict[str, dict[str, float]] = {f"q{p}": {"d0": 0.5, "d1": 0}}
        for i in range(4):
            grades = rng.integers(0, 3, ENTITIES).tolist()
            qrels[f"q{p} {i}"] = dict(zip(items, grades, strict=True))
        runs = {query: rng.permutation(items)[:3].tolist() for query in qrels}
        task = tr.retrieval.Task(qrels, entities=items)
        shards.append(Evaluated(task, lambda part, runs=runs: part.evaluate_lists(runs).ranks))
    return shards


@examples(30)
@given(
    st.sampled_from([link_shards, pair_shards, query_shards]),
    st.integers(0, 2**32 - 1),
    st.integers(1, 3),
    st.booleans(),
)
def test_parts_of_shards_in_any_order(make: Any, seed: int, number: int, is_saved: bool) -> None:
    """They join to the wholes of the shards, whose units are apart, by whatever ways."""
    rng = np.random.default_rng(seed)
    wholes = []
    parts: list[tuple[int, tr.Ranks]] = []
    for shard, (task, evaluate) in enumerate(make(rng, number)):
        wholes.append(labelled_freely(evaluate(task)))
        order = rng.permutation(len(task))
        several = int(rng.integers(1, len(task) + 2))
        for p in range(several):
            part = labelled_freely(evaluate(task[order[p::several]]))
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


# Pairs 0 to 59, 20 to 79 and 40 to 99: of 180 tasks a side, 100 are of unlike pairs.
FOLDS = [slice(0, 60), slice(20, 80), slice(40, 100)]


def fold_of_pairs(rows: slice, known: Any = None) -> tr.Ranks:
    pairs = [(i, i) for i in range(100)]
    task = tr.alignment.Task(pairs[rows], left=100, right=100, known=known)
    return task.evaluate_scores(np.eye(100)).ranks


def fold_of_names(rows: slice) -> tr.Ranks:
    names = [f"e{i}" for i in range(100)]
    pairs = [(name, name) for name in names[rows]]
    names = [*names[rows.start :], *names[: rows.start]]  # Each fold has an order of its own.
    return tr.alignment.Task(pairs, left=names, right=names).evaluate_scores(np.eye(100)).ranks


def fold_of_triples(rows: slice) -> tr.Ranks:
    triples = [(i, i % 3, 7 * i % 100) for i in range(100)]
    task = tr.link_prediction.Task(triples[rows], {}, entities=100, relations=3)
    scores = np.eye(100)
    model = {"tail": lambda q: scores[7 * q[:, 0] % 100], "head": lambda q: scores[q[:, 1]]}
    return task.evaluate(**model).ranks


def fold_of_queries(rows: slice) -> tr.Ranks:
    qrels = {f"q{i}": ["a"] for i in range(rows.start, rows.stop)}
    task = tr.retrieval.Task(qrels, entities=["a", "b"])
    return task.evaluate_lists(qrels).ranks


@pytest.mark.parametrize("fold", [fold_of_pairs, fold_of_names, fold_of_triples, fold_of_queries])
def test_folds_that_share_facts(fold: Any) -> None:
    """A fact of several folds is one, whatever its row there; each fold has its own units."""
    ranks = [fold(rows) for rows in FOLDS]
    refusal(tr.InputValueError, "number 1: it is of another test", tr.concatenate, ranks)
    words = "tasks are there twice or more, the first at the positions"
    refusal(tr.InputValueError, words, tr.concatenate, ranks, repeats="refuse")
    dropped = tr.concatenate(ranks, repeats="drop")
    assert len(tr.concatenate(ranks, repeats="keep")) * 100 == len(dropped) * 180
    assert tr.report(dropped).interval("mrr").units == 100
    assert [origin.units for origin in dropped.origins] == [60, 20, 20]
    apart = [fold(rows) for rows in (slice(0, 60), slice(60, 100))]
    assert len(tr.concatenate(apart, repeats="refuse")) == len(dropped)


def flat(columns: int, queries: np.ndarray) -> np.ndarray:
    """Score all candidates alike."""
    return np.zeros((len(queries), columns))


def test_data_sets_that_are_pooled_have_facts_of_their_own() -> None:
    """The same numbers are other entities there; a fact that a test repeats is in it twice."""
    ranks = []
    for entities in (20, 30):
        triples = [(0, 0, 1), (1, 0, entities - 1)]
        task = tr.link_prediction.Task(triples, {}, entities=entities, sides=["tail"])
        ranks.append(task.evaluate(partial(flat, entities)).ranks)
    assert len(tr.concatenate(ranks, repeats="refuse")) == 4
    rows = [(0, 0, 1), (0, 0, 1), (1, 0, 2)]
    with pytest.warns(UserWarning, match="repeat an earlier one"):
        task = tr.link_prediction.Task(rows, {}, entities=20, sides=["tail"])
    parts = [task[p::2].evaluate(partial(flat, 20)).ranks for p in (0, 1)]
    assert len(tr.concatenate(parts)) == 3


NAMES = [f"n{i}" for i in range(20)]
KNOWN = [(0, 0, 5), (1, 0, 5), (1, 0, 9)]


def half(rows: slice, known: Any, entities: Any, side: str = "tail") -> tr.Ranks:
    """Ranks of a half of one test, by a task that may be made otherwise."""
    test = [(i, 0, 7 * i % 20) for i in range(16)]
    relations: Any = None
    if not isinstance(entities, int):
        relations = ["r"]
        test = [(NAMES[h], "r", NAMES[t]) for h, _, t in test]
        known = [(NAMES[h], "r", NAMES[t]) for h, _, t in known]
    task = tr.link_prediction.Task(
        test, {"train": known}, entities=entities, relations=relations, sides=[side]
    )[rows]
    columns = entities if isinstance(entities, int) else len(entities)
    return task.evaluate(**{side: partial(flat, columns)}).ranks


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ((KNOWN, 20), (KNOWN, 50)),
        ((KNOWN, 20), (KNOWN[:2], 20)),
        ((KNOWN, 20), ([*KNOWN[:2], (1, 0, 8)], 20)),
        ((KNOWN, NAMES), (KNOWN, NAMES[::-1])),
        ((KNOWN, NAMES), (KNOWN, [*NAMES, "more"])),
    ],
)
def test_parts_of_tasks_that_were_made_otherwise(one: Any, two: Any, tmp_path: Path) -> None:
    first = half(slice(0, 8), *one)
    second = half(slice(8, 16), *two)
    words = "parts: the same facts are ranked, but of .* as task"
    for repeats in (None, "refuse", "keep"):
        refusal(tr.InputValueError, words, tr.concatenate, [first, second], repeats=repeats)
    first.save(tmp_path / "first.npz")
    again = tr.load(tmp_path / "first.npz")
    refusal(tr.InputValueError, words, tr.concatenate, [again, second])
    # These were made alike: the order of known facts is no matter, nor the side.
    known, entities = two
    alike = [half(slice(0, 8), known[::-1], entities), second]
    alike.append(half(slice(8, 16), known, entities, "head"))
    assert len(tr.concatenate(alike)) == 24


def labelled_freely(ranks: tr.Ranks) -> tr.Ranks:
    """Give ranks a label, and weights where they may have them, by what their tasks are."""
    ranks = ranks.with_labels(parity=ranks.unit.codes % 2)
    if ranks.without_answers is not None:  # every query counts once
        return ranks
    return ranks._with({"weights": 1.5 + ranks.targets.codes % 3})
