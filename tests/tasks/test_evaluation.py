"""Rows and lists say whose they are: by their place, or by keys, in any order."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from support.refusals import T, V, refusal
from truerank.link_prediction import Task

TRIPLES = [(1, 0, 0), (0, 0, 1), (0, 0, 1)]
NAMED = [("b", "r", "a"), ("a", "r", "b")]


def two(**options: Any) -> Task:
    """Make a task of two queries: (0, 0) has the tail 1, (1, 0) has 0."""
    return Task(TRIPLES[:2], {}, entities=2, sides=["tail"], **options)


FIRST = [(0, 0), (1, 0)]
KEYS: list[Any] = [
    FIRST,
    ([0, 1], [0, 0]),
    pd.DataFrame({"relation": [0, 0], "head": [0, 1]}),
    two().tail.queries,
]


@pytest.mark.parametrize("keys", KEYS)
def test_rows_belong_to_keys_in_any_container(keys: Any) -> None:
    scores = np.array([[1.0, 9.0], [9.0, 1.0]])
    top = tr.TopK(np.array([[1, 0], [0, 1]]), None)
    task = two()
    assert task.evaluate_scores(scores[::-1])["mrr"] == 1
    of_keys = {"row_queries": {"tail": keys}}
    assert task.evaluate_scores(scores, **of_keys)["mrr"] == 1
    assert task.evaluate_lists(top, **of_keys)["mrr"] == 1
    assert task.evaluate_embeddings(scores, entities=np.eye(2), **of_keys)["mrr"] == 1


def test_rows_of_other_queries_are_counted_and_not_used() -> None:
    task = Task(NAMED, {}, entities=["a", "b"], relations=["r"], sides=["tail"])
    keys = [("a", "r"), ("c", "r"), ("b", "r")]
    scores = [[1, 9], [7, 7], [9, 1]]
    report = task.evaluate_scores(scores, row_queries={"tail": keys})
    part = task[1:].evaluate_scores(scores, row_queries={"tail": keys})
    assert report["mrr"] == part["mrr"] == 1
    assert not part.audit("unused rows")  # They may be those of other parts.
    (finding,) = report.audit("unused rows")
    assert (finding.count, finding.message[:5]) == (1, "1 row")


@pytest.mark.parametrize(("time", "other"), [(2014, 2015), ("May", "June")])
def test_keys_have_the_further_columns_behind(time: Any, other: Any) -> None:
    facts = [("a", "r", "b", time), ("a", "r", "a", other)]
    task = Task(facts, {}, keys=(3,), entities=["a", "b"], relations=["r"], sides=["tail"])
    keys = [("a", "r", other), ("a", "r", time)]
    assert task.evaluate_scores([[9, 1], [1, 9]], row_queries={"tail": keys})["mrr"] == 1


PERMUTED = Task([(1, 0, 0), (0, 0, 1)], {}, entities=[1, 0], relations=1, sides=["tail"])
LISTS: list[Any] = [
    {("b", "r"): ["a"], ("a", "r"): ["b", "a"]},
    {("b", "r"): {"a": 0.5}, ("a", "r"): {"a": 0.1, "b": 0.9}},
    pd.DataFrame({"t": ["b", "a", "a"], "h": ["a", "b", "a"], "r": ["r"] * 3}),
    pd.DataFrame(
        {"head": list("aab"), "relation": ["r"] * 3, "tail": list("aba"), "score": [0.1, 0.9, 0.5]}
    ),
    "a\tr\ta\t0.1\nb\tr\ta\t0.5\na\tr\tb\t0.9\n",
    "tail\tscore\thead\trelation\na\t0.1\ta\tr\na\t0.5\tb\tr\nb\t0.9\ta\tr\n",
]


def named(**options: Any) -> Task:
    return Task(NAMED, {}, entities=["a", "b", "c"], relations=["r"], sides=["tail"], **options)


@pytest.mark.parametrize("lists", LISTS)
def test_lists_say_whose_they_are(lists: Any, tmp_path: Path) -> None:
    if isinstance(lists, str):
        (tmp_path / "lists.tsv").write_text(lists)
        lists = tmp_path / "lists.tsv"
    report = named().evaluate_lists(lists)
    joined = tr.concatenate([named()[i::2].evaluate_lists(lists).ranks for i in (1, 0)])
    assert report["mrr"] == 1
    assert report.ranks.listed.all()
    assert joined.above.tolist() == report.ranks.above.tolist()
    assert not report.audit("unused lists")


def test_heads_given_as_tails_are_no_lists_of_heads() -> None:
    lists = {(0, 0): [1], (1, 0): [0], (2, 0): [2]}
    task = Task([(0, 0, 1), (1, 0, 0), (2, 0, 2)], {}, entities=5, relations=1)
    words = r"^head: 2 of 3 queries with right answers have no list"
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists(lists, head=lists)["tail.mrr"] == 1


def alignment() -> tr.alignment.Task:
    return tr.alignment.Task([("b", "x"), ("a", "y")], left=["a", "b"], right=["x", "y", "z"])


@pytest.mark.parametrize(
    ("right", "left"),
    [
        ({"b": ["x"], "a": ["y", "z"]}, {"y": {"a": 0.5, "b": 0.25}, "x": {"b": 1.0}}),
        (pd.DataFrame({"right": ["y", "x"], "left": ["a", "b"]}), {"x": ["b"], "y": ["a"]}),
        (tr.TopK(np.array([[1, 2], [0, -1]]), None), tr.TopK(np.array([[1], [0], [0]]), None)),
    ],
)
def test_lists_of_an_alignment(right: Any, left: Any) -> None:
    report = alignment().evaluate_lists(right, left)
    part = alignment()[1:].evaluate_lists(right, left)
    assert report["mrr"] == part["mrr"] == 1
    assert report.ranks.listed.all()


def test_a_part_takes_lists_of_other_parts() -> None:
    lists = {("a", "r"): ["b"]}
    assert len(named()[[]].evaluate_lists(lists).ranks) == 0
    assert len(alignment()[[]].evaluate_lists({"b": ["x"]}, {"x": ["b"]}).ranks) == 0
    with pytest.warns(UserWarning, match="^tail: 1 of 1 queries with right answers have no list"):
        report = named()[:1].evaluate_lists(lists)
    assert not report.audit("unused lists")


def tails(lists: Any, **options: Any) -> Any:
    return named().evaluate_lists(lists, **options)


def pairs(right: Any, left: Any) -> Any:
    return alignment().evaluate_lists(right, left)


def rows_of(queries: Any, height: int = 2, task: Task | None = None) -> Any:
    return (task or two()).evaluate_scores(np.eye(2)[:height], row_queries={"tail": queries})


BOTH = {("a", "r"): ["b"], ("b", "r"): ["a"]}
KEYED = {"row_queries": {"tail": list(BOTH)}}
OTHERS = {"x": ["b"], "y": ["a"]}
FORMS = r"tail: expected \{\(head, relation\): \{tail: score\}\}, or "
POSITIONS = PERMUTED.tail.queries
REFUSED: list[tuple[type[Exception], str, Any]] = [
    (T, FORMS, lambda: tails([["b"]])),
    (T, "tail: ", lambda: tails({("a", "r", "b"): ["b"]})),
    (V, r"tail: .*the list of \('a', 'r'\) has 'b' twice", lambda: tails({("a", "r"): ["b", "b"]})),
    (V, "tail: no query in common", lambda: tails({("c", "r"): ["b"]})),
    (V, "tail: .*'d'", lambda: tails(BOTH | {("a", "r"): ["d"]})),
    (T, "row_queries: ", lambda: tails(BOTH, **KEYED)),
    (T, r"left_to_right: expected \{left: \{right: score\}\}", lambda: pairs([["x"]], OTHERS)),
    (V, "left_to_right: no query in common", lambda: pairs(OTHERS, OTHERS)),
    (V, "left_to_right: ", lambda: pairs(tr.TopK([[1]], None), OTHERS)),
    (V, "row_queries: tail: ", lambda: rows_of(FIRST[:1], 1)),
    (V, "row_queries: tail: ", lambda: rows_of([*FIRST, (0, 0)])),
    (T, "row_queries: tail: ", lambda: rows_of([[0, 0], [1, 0]])),
    (T, "row_queries: tail: ", lambda: rows_of([("a", 0), ("b", 0)])),
    (V, "row_queries: tail: .*these are positions", lambda: rows_of(POSITIONS, task=PERMUTED)),
    (V, "tail: ", lambda: rows_of([*FIRST, (7, 0)])),
    (T, "row_queries: ", lambda: two().evaluate_scores(np.eye(2), row_queries={"head": FIRST})),
]


@pytest.mark.parametrize(("kind", "argument", "call"), REFUSED)
def test_what_does_not_say_whose_it_is_is_refused(
    kind: type[Exception], argument: str, call: Any
) -> None:
    refusal(kind, f"^{argument}", call)


def test_keys_are_labels_where_ints_are() -> None:
    assert rows_of([(1, 0), (0, 0)], task=PERMUTED)["mrr"] == 0.5
    assert rows_of([(0, 0), (1, 0)], task=PERMUTED)["mrr"] == 1


# -- a side is its own queries ---------------------------------------------------------------------

# Labels of letters, of digits in the order of their values and in another, and ints.
OF_DIGITS = ["12", "7", "0", "3", "5"]
KINDS: list[Any] = [list("edcba"), OF_DIGITS, list("01234"), [3, 1, 0, 4, 2], 5]


def drawn_task(labels: Any, seed: int = 0, **options: Any) -> tuple[Task, np.ndarray]:
    """Draw facts by labels, and scores of each query by the ids (head, relation or tail, :)."""
    rng = np.random.default_rng(seed)
    ids = np.unique(rng.integers(0, (5, 2, 5), (12, 3)), axis=0)
    facts: Any = ids
    relations: Any = 2
    if not isinstance(labels, int):
        relations = ["1", "0"] if isinstance(labels[0], str) else 2
        named = relations if isinstance(relations, list) else range(2)
        facts = [(labels[h], named[r], labels[t]) for h, r, t in ids.tolist()]
    task = Task(facts, {}, entities=labels, relations=relations, **options)
    return task, rng.normal(size=(5, 5, 5))


@pytest.mark.parametrize("labels", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_side_is_its_own_queries(labels: Any, seed: int) -> None:
    """Rows in the order of its `queries`, whatever labels are; also those of the whole for a part.

    Each is the count of the callable that has the same scores.
    """
    task, model = drawn_task(labels, seed)
    rows = {name: model[tuple(side.queries.T)] for name, side in task.sides.items()}
    by_side = {"row_queries": {"tail": task.tail, "head": task.head}}
    expected = task.evaluate(
        head=lambda q: model[tuple(q.T)], tail=lambda q: model[tuple(q.T)]
    ).ranks
    scored = task.evaluate_scores(**rows, **by_side).ranks
    assert scored == expected
    assert (
        task.evaluate_embeddings(**rows, entities=np.eye(5), **by_side).ranks.above
        == expected.above
    ).all()
    top = {name: tr.TopK(np.argsort(-scores, axis=1), None) for name, scores in rows.items()}
    plain = Task(task.test, None, entities=5, relations=2)  # TopK has no filter of its own.
    by_plain = {"row_queries": {"tail": plain.tail, "head": plain.head}}
    listed = plain.evaluate_lists(**top, **by_plain).ranks
    assert (listed.above == plain.evaluate_scores(**rows, **by_plain).ranks.above).all()
    part = pickle.loads(pickle.dumps(task))[1::2]
    own = {name: model[tuple(side.queries.T)] for name, side in part.sides.items()}
    of_part = part.evaluate_scores(**own, row_queries=part.sides).ranks
    of_whole = task[1::2].evaluate_scores(**rows, **by_side)
    assert of_part == of_whole.ranks
    assert not of_whole.audit("unused rows")


def test_a_side_of_another_task_is_refused() -> None:
    task, model = drawn_task(OF_DIGITS)
    twin, _ = drawn_task(OF_DIGITS)
    rows = {name: model[tuple(side.queries.T)] for name, side in task.sides.items()}
    for other in (twin.tail, twin[1:].tail, task.head, alignment().left_to_right):
        words = "^row_queries: tail: expected task.tail of this task, got the side '.*' of another"
        refusal(ValueError, words, task.evaluate_scores, **rows, row_queries={"tail": other})
    words = "^row_queries: tail: .* queries of the task have no row"
    part = {"tail": task[:2].tail, "head": task.head}
    refusal(ValueError, words, task.evaluate_scores, **rows, row_queries=part)


def test_positions_of_queries_beside_labels_lead_to_the_side() -> None:
    """The line of the message gives the right number, where `str` or a number gave others."""
    for labels in (OF_DIGITS, [3, 1, 0, 4, 2]):
        task, model = drawn_task(labels, sides=["tail"])
        rows = model[tuple(task.tail.queries.T)]
        words = "these are positions, as in task.tail.queries, but labels are asked for; "
        given: Any = {"row_queries": {"tail": task.tail.queries}}
        message = refusal(ValueError, words, task.evaluate_scores, rows, **given)
        line = message.partition(words)[2].removesuffix(" has these queries")
        report = eval(f"task.evaluate_scores(rows, {line})", {"task": task, "rows": rows})
        assert report["mrr"] == task.evaluate(lambda q, m=model: m[tuple(q.T)])["mrr"]
    answers = tr.retrieval.Task({"7": ["b"], "3": ["a"]}, entities=["a", "b"], queries=["3", "7"])
    words = r"^row_queries: these are .*; row_queries=task\.answers has these queries$"
    given = {"row_queries": answers.answers.queries}
    refusal(ValueError, words, answers.evaluate_scores, np.eye(2), **given)


@pytest.mark.parametrize("names", [["3", "7", "1"], list("cab"), [9, 2, 4], [0, 1, 2]])
def test_the_answers_of_retrieval_are_their_own_queries(names: Any) -> None:
    """Queries without answers have no row; rows of a frame are numbered."""
    qrels = {names[0]: ["b"], names[1]: [], names[2]: ["a"]}
    for options in ({}, {"queries": names}, {"queries": [*names[::-1]]}):
        task = tr.retrieval.Task(qrels, entities=["a", "b"], **options)
        own = [task.queries[i] if task.queries else i for i in task.answers.queries[:, 0].tolist()]
        rows = np.array([[1.0, 9.0] if name == names[0] else [9.0, 1.0] for name in own])
        assert task.evaluate_scores(rows, row_queries=task.answers)["mrr"] == 1
        assert task.evaluate_embeddings(rows, np.eye(2), row_queries=task.answers)["mrr"] == 1
        top = tr.TopK(np.argsort(-rows, axis=1), None)
        assert task.evaluate_lists(top, row_queries=task.answers)["mrr"] == 1
        frame = pd.DataFrame(rows, columns=["a", "b"])
        assert task.evaluate_scores(frame, row_queries=task.answers)["mrr"] == 1
        words = "rows numbered 0, 1, 2, .*; arrays have no names"
        frame.index = own[::-1]
        refusal(ValueError, words, task.evaluate_scores, frame, row_queries=task.answers)


# -- ints beside labels of digits ------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: drawn_task(OF_DIGITS, candidates=[0, 1, 2, 3, 4]),
        lambda: drawn_task(OF_DIGITS, candidates={"tail": [0, 1, 2, 3, 4], "head": "all"}),
        lambda: drawn_task(OF_DIGITS, candidates={0: list("12357")}),
        lambda: drawn_task(OF_DIGITS, candidates={"1": [0, 1], "0": [0, 1]}),
        lambda: drawn_task(OF_DIGITS, sides=["tail"], candidates=(np.arange(13), np.arange(12))),
        lambda: tr.alignment.Task(
            [("7", "x")],
            left=["3", "7"],
            right=["x", "y"],
            candidates={"left_to_right": [0], "right_to_left": [1]},
        ),
        lambda: tr.retrieval.Task({"q": ["3"]}, entities=["3", "7"], candidates=[0]),
        lambda: tr.retrieval.Task({"q": ["3"]}, entities=["3", "7"], candidates={"q": [0]}),
    ],
)
def test_candidates_beside_labels_of_digits_are_asked_for_by_labels(call: Any) -> None:
    """No hint: `str` would name others, and a number of entities would refuse the facts."""
    message = refusal(TypeError, r"^candidates.*: expected labels of \w+, as '\d+' \(an int", call)
    assert "str(" not in message
    assert " for positions" not in message


INF = np.inf
ANSWERS = [(0, 0, 1), (0, 0, 2)]


@pytest.mark.parametrize("mask", [-INF, -1e9, np.nan])
def test_known_answers_may_be_masked_in_each_row(mask: float) -> None:
    task = Task(ANSWERS, {}, entities=3, sides=["tail"])
    scores = np.array([[0, 2, mask], [0, mask, 2]])
    for table in (scores, tr.open_scores(scores)):
        assert task.evaluate_scores(table)["mrr"] == 1


@pytest.mark.parametrize("candidates", [None, [0, 1, 2, 3], {0: [0, 1, 2, 3]}])
def test_rows_of_a_query_that_differ_elsewhere_are_warned_of(candidates: Any) -> None:
    task = Task(ANSWERS, {}, entities=9, sides=["tail"], candidates=candidates)
    scores = np.zeros((2, 9))
    scores[:, 1:3] = 2
    scores[1, 0] = 1
    with pytest.warns(UserWarning, match=r"^tail: in 1 of 1 rows that were compared a query has"):
        task.evaluate_scores(scores)
    scores[1] = scores[0]
    scores[1, 5] = -INF  # own negatives
    assert task.evaluate_scores(scores)["mrr"] == 1


def test_scores_of_lists_of_another_dtype_are_refused_by_the_name_of_the_side() -> None:
    expected = ": expected the dtype that was named, float32"
    with pytest.raises(TypeError, match=f"tail{expected}"):
        two().evaluate_lists({(0, 0): {1: 0.5}, (1, 0): {0: 0.5}}, dtype="float32")
    task = tr.retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    with pytest.raises(TypeError, match=f"ids{expected}"):
        task.evaluate_lists({"q": {"a": 0.5}}, dtype="float32")
