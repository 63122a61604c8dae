"""The task of retrieval against its definition: forms of qrels, what is known, ways to evaluate."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles import retrieval as oracle
from support.examples import examples
from support.outcomes import quietly
from support.refusals import refusal
from truerank.metrics.answers import MISSES
from truerank.retrieval import Sampled, Task

KEYS = ("map", "ndcg@2", "recall@1", "optimistic.mrr", "pessimistic.success@2", "chance.map")
KEYS += ("optimum.map",)
ITEMS = ["a", "b", "c", "d", "e"]
UV = ["u", "v"]


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Draw qrels by query, known pairs, and scores with ties."""
    n = draw(st.integers(1, 3))
    m = draw(st.integers(1, 5))
    grades = st.dictionaries(st.integers(0, m - 1), st.integers(0, 2), max_size=m)
    qrels = draw(st.lists(grades, min_size=n, max_size=n).filter(lambda q: any(map(any_right, q))))
    pair = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1))
    known = draw(st.lists(pair, max_size=4))
    scores = draw(st.lists(st.integers(0, 2), min_size=n * m, max_size=n * m))
    return {"qrels": qrels, "known": known, "scores": np.array(scores, float).reshape(n, m)}


def any_right(grades: dict[int, int]) -> bool:
    return any(gain > 0 for gain in grades.values())


def by_query(pairs: list[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Return pairs as a mapping of each query to its entities."""
    mapping: dict[Any, list[Any]] = {}
    for query, entity in pairs:
        mapping.setdefault(query, []).append(entity)
    return mapping


def as_text(rows: list[Any], path: Path) -> Path:
    text = "\n\n".join(f"{query}\tQ0 {entity} {gain}\r" for query, entity, gain in rows)
    data = text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    path.write_bytes(data)
    return path


# Forms of rows of a query, an entity and a gain; a path may be written to.
FORMS: dict[str, Callable[[list[Any], Path], Any]] = {
    "dicts": lambda rows, _: {row[0]: {e: g for q, e, g in rows if q == row[0]} for row in rows},
    "columns": lambda rows, _: tuple(map(np.array, zip(*rows, strict=True))),
    "text": lambda rows, path: as_text(rows, path),
    "gzipped": lambda rows, path: str(as_text(rows, path.with_suffix(".gz"))),
}


@given(problems(), st.sampled_from(KEYS), st.sampled_from(list(FORMS)), st.booleans())
def test_queries_and_filters_by_their_definition(
    tmp_path_factory: pytest.TempPathFactory,
    problem: dict[str, Any],
    key: str,
    form: str,
    is_named: bool,
) -> None:
    qrels = problem["qrels"]
    known = problem["known"]
    scores = problem["scores"]
    n, m = scores.shape
    names: Any = range(n)
    items: Any = range(m)
    # in text digits are names, if nobody says which are columns
    entities: Any = items if form in ("text", "gzipped") else m
    queries: Any = names if form in ("text", "gzipped") else n
    if is_named:
        names = queries = [f"q{10 - i}" for i in range(n)]
        items = entities = ITEMS[:m]
    rows = [(names[i], items[j], gain) for i, g in enumerate(qrels) for j, gain in g.items()]
    task = quietly(
        Task,
        FORMS[form](rows, tmp_path_factory.getbasetemp() / "qrels"),
        entities=entities,
        queries=queries,
        known={"train": by_query([(names[i], items[j]) for i, j in known])},
    )
    found = task.evaluate_scores(scores)
    order, _, metric = key.rpartition(".")
    expected = {}
    for query, grades in enumerate(qrels):
        if any_right(grades):
            left_in = [j for j in range(m) if (query, j) not in known or grades.get(j, 0) > 0]
            judged: Any = [grades.get(j, 0) for j in left_in]
            values = oracle.values_by_order(metric, scores[query, left_in].tolist(), judged)
            expected[query] = values[order or "expected"]
    assert found.queries == [names[query] for query in expected]
    right = [(i, j) for i, grades in enumerate(qrels) for j, gain in grades.items() if gain]
    assert found.ranks.unit.codes.tolist() == [i for i, _ in right]
    assert found.per_query(key).tolist() == pytest.approx(list(expected.values()), rel=1e-12)
    without = n - len(expected)  # rows do not name queries that have no answer
    if form in ("dicts", "text", "gzipped"):
        without = sum(map(bool, qrels)) - len(expected)
    assert found.without_answers == task.without_answers == without
    assert found.protocol.filter == ("train",)
    assert task.leaked == sum(pair in known for pair in right)


# -- forms of qrels --------------------------------------------------------------------------------


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("known", "is_one"),
    [
        ({"q": {"a": 1}}, True),
        ({"q": {"a"}, "r": []}, True),
        ({7: np.array([1, 2])}, True),
        ({"train": {}}, False),
        ({"train": {"q": {"a": 1}}}, False),
        ({"train": (np.array([0]), np.array([1]))}, False),
        ((["q"], ["a"]), True),
    ],
)
def test_known_splits_are_told_from_one_split(known: Any, is_one: bool) -> None:
    qrels: Any = {7: [0]}
    if "q" in repr(known):
        qrels = {"q": ["b"]}
    task = Task(qrels, entities=ITEMS, known=known)
    split = "known_0" if is_one else "train"
    assert task.protocol.filter == (split,)


@pytest.mark.parametrize("grade", [1, 0, -1])
def test_grades_of_known_items_say_nothing(grade: int, tmp_path: Path) -> None:
    """Of Book-Crossing's ratings 62 % are 0: such items were seen like the others."""
    file = tmp_path / "train.txt"
    file.write_text(f"u 0 c {grade}\n")
    forms: list[Any] = [
        {"u": {"c": grade}},
        (["u"], ["c"], [grade]),
        np.array([("u", "c", grade)], [("user", "U1"), ("item", "U1"), ("score", int)]),
        tr.read_qrels(file),
        file,
    ]
    counted = "train: 1 of 1 rows have a grade of 0 or less: known, too"
    for known in forms:
        task = Task({"u": ["b"]}, entities=ITEMS, known={"train": known}, queries=UV)
        assert task.answers.filter is not None
        assert task.answers.filter[1].tolist() == [2]
        assert tuple(map(str, task.audit)) == (() if grade > 0 else (counted,))


@pytest.mark.python_only
def test_leaks() -> None:
    arguments: dict[str, Any] = {"entities": ITEMS, "known": {"train": {"u": ["b", "c"]}}}
    qrels = {"u": {"b": 1, "d": 2}}
    with pytest.warns(UserWarning, match="qrels: 1 right answers are in a known split, too .*'b'"):
        task = Task(qrels, **arguments)
    assert task.answers.filter is not None
    assert task.answers.filter[1].tolist() == [2]
    said = "leaks: 1 right answers are in a known split, too (the first: 'b' of query 'u')"
    assert tuple(map(str, task.audit)) == (f"{said}, kept",)
    dropped = Task(qrels, leaks="drop", **arguments)
    assert tuple(map(str, dropped.audit)) == (f"{said}, dropped",)
    assert dropped.answers.targets.tolist() == [3]
    assert np.asarray(dropped.gains).tolist() == [2]
    words = "qrels: 1 right answers are in a known split"
    refusal(ValueError, words, Task, qrels, leaks="raise", **arguments)
    words = "at least one right answer, got leaks alone"
    refusal(ValueError, words, Task, {"u": ["b"]}, leaks="drop", **arguments)


@pytest.mark.python_only
def test_groups() -> None:
    qrels = {"q2": {"b": 1, "d": 3}, "q10": {"a": 2, "e": 0}, "q3": {}}
    for groups in (["x", "y", "x"], {"q2": "x", "q10": "y"}):
        task = Task(qrels, entities=ITEMS, groups=groups, queries=list(qrels))
        assert task.evaluate_scores(np.eye(3, 5)).group_tasks() == {"x": 1, "y": 1}
        assert task.without_answers == 1


def test_rows_of_named_queries_in_an_order_that_nobody_gave_are_refused() -> None:
    """The order in which a shuffled split first has its users is not that of the rows."""
    rng = np.random.default_rng(0)
    users = [f"u{i}" for i in range(50)]
    vectors = np.eye(50)
    items = [str(i) for i in range(50)]
    pairs = (users, items)
    given: dict[str, Any] = {"entities": list(map(str, range(50)))}
    expected = Task(pairs, queries=users, **given).evaluate_embeddings(vectors, vectors)
    order = rng.permutation(50).tolist()
    pairs = ([users[i] for i in order], [items[i] for i in order])
    top = tr.TopK(np.arange(50)[:, None], np.ones((50, 1)))
    named = Task(pairs, queries=users, **given)
    unnamed = Task(pairs, **given)
    hint = r"give row_queries= .* or Task\(\.\.\., queries=\.\.\.\)"
    calls: dict[str, Callable[[Task], Any]] = {
        "queries": lambda task: task.evaluate_embeddings(vectors, vectors),
        "scores": lambda task: task.evaluate_scores(vectors @ vectors.T),
        "ids": lambda task: task.evaluate_lists(top),
    }
    for name, call in calls.items():
        assert call(named)["success@1"] == expected["success@1"] == 1
        refusal(ValueError, f"^{name}: rows do not say .*{hint}", call, unnamed)
    refusal(ValueError, "^groups: .* do not say whose", Task, pairs, groups=users, **given)
    assert Task({"u7": ["7"]}, **given).evaluate_scores(np.ones((1, 50)))["expected.mrr"] < 1


@pytest.mark.python_only
@given(problems(), st.data())
@examples(25)
def test_candidates_by_their_definition(problem: dict[str, Any], data: st.DataObject) -> None:
    """Entities, those of a split, and drawn ones, which are neither right nor known."""
    qrels = problem["qrels"]
    known = problem["known"]
    scores = problem["scores"]
    n, m = scores.shape
    right = [{j for j, gain in grades.items() if gain} for grades in qrels]
    chosen = sorted(set().union(*right) | data.draw(st.sets(st.integers(0, m - 1))))
    among = data.draw(st.sampled_from([None, "pool"]))
    seed = data.draw(st.integers(0, 9))
    sampled = Sampled(data.draw(st.integers(1, 3)), seed=seed, among=among)
    splits = {"train": by_query(known), "pool": {n: chosen}}  # of a query that is not tested
    table = np.concatenate([scores, scores[:1]]).astype(np.float32)
    for candidates in (chosen, "pool", sampled):
        given = {"entities": m, "queries": n + 1, "known": splits, "candidates": candidates}
        task = quietly(Task, dict(enumerate(qrels)), **given)
        found = task.evaluate_scores(table)
        expected = []
        for i, query in enumerate(found.queries):
            left_in = set(chosen)
            if candidates is sampled:
                indptr, indices, _ = task.answers.candidates
                left_in = set(indices[indptr[i] : indptr[i + 1]].tolist())
                free = set(range(m))
                if among:
                    free = set(chosen)
                free -= right[query]
                free -= {j for other, j in known if other == query}
                assert right[query] <= left_in <= right[query] | free
                size = len(right[query]) + min(sampled.negatives, len(free))
                assert len(left_in) == indptr[i + 1] - indptr[i] == size
            kept = [j for j in left_in if j in right[query] or (query, j) not in known]
            gains = [qrels[query].get(j, 0) for j in kept]
            values = oracle.values_by_order("map", scores[query, kept].tolist(), gains)
            expected.append(values["expected"])
        assert found.per_query("map").tolist() == pytest.approx(expected, rel=1e-12)
        of_batches = task.evaluate(lambda queries: table[queries[:, 0]], batch_size=2)
        of_vectors = task.evaluate_embeddings(table, np.eye(m, dtype=np.float32))
        assert of_batches.ranks == of_vectors.ranks == found.ranks
        assert found.protocol.sampled == (candidates is sampled)


# -- errors ----------------------------------------------------------------------------------------


BD = {"u": ["b", "d"]}
AMONG = {"known": {"train": {"u": ["a", "c"]}}}
UNKNOWN = r"candidates: expected all, listed, or one of the known splits \(train\), got 'test'"
MISSING = "candidates: 2 right answers are not among the candidates, first 'b'"
WRONG: list[tuple[Any, dict[str, Any], str]] = [
    ({}, {}, "^qrels: "),
    ({"q": ["z"]}, {}, "^qrels: "),
    ({"q": {"a": np.nan}}, {}, "grades that are finite numbers, got nan in row 0"),
    ({"q": {"a": "+1"}}, {}, "expected grades that are finite numbers, got '.1' in row 0"),
    ((["q", "q"], ["a", "a"], [1, 2]), {}, "got 1.0 and 2.0 for 'a' of query 'q'"),
    ({"q": ["a"], "r": {"a": 1}}, {}, "^qrels: "),
    ({"q": ["a"], 1: ["a"]}, {}, "^qrels: "),
    ((np.array([0, 1]), np.array([1])), {}, "^qrels: "),
    (7, {}, "^qrels: "),
    ({0: [2]}, {"entities": 2}, "expected .* got 2 in column 1 of row 0"),
    ({1: [0]}, {"queries": 1}, "expected .* got 1 in column 0 of row 0"),
    ({"w": ["a"]}, {"queries": ["u"]}, "expected .* got 'w' in column 0 of row 0"),
    ({0: [0]}, {"known": (np.array([-1]), np.array([0]))}, "^known: "),
    ({"u": ["a"]}, {"known": {0: [1]}}, "^known: "),
    ({"u": ["a"]}, {"groups": {}}, "^groups: "),
    ({0: [1]}, {"entities": None}, "^entities: "),
    (BD, {**AMONG, "candidates": "test"}, UNKNOWN),
    (BD, {"candidates": ["a", "c"]}, MISSING),
    (BD, {"candidates": [["a"], ["c"]]}, "^candidates: "),
    (BD, {**AMONG, "candidates": Sampled(3, among="train")}, MISSING),
    (BD, {"candidates": Sampled(0)}, "^candidates: "),
    (BD, {"candidates": Sampled(3, typed=True)}, "^candidates: "),
]


@pytest.mark.python_only
@pytest.mark.parametrize(("qrels", "arguments", "words"), WRONG)
def test_wrong_arguments(qrels: Any, arguments: dict[str, Any], words: str) -> None:
    refusal((ValueError, TypeError), words, Task, qrels, **{"entities": ITEMS, **arguments})


@pytest.mark.python_only
def test_wrong_files_and_scores(tmp_path: Path) -> None:
    for text, words in (
        ("q 0 a\n", "qrels: .*line 1: expected lines of TREC .query, iteration"),
        ("q 0 a 1\n\nq 0 b one\n", "qrels: .*line 3: expected a number as the relevance"),
    ):
        (tmp_path / "qrels").write_text(text)
        refusal(ValueError, words, Task, tmp_path / "qrels", entities=ITEMS)
    refusal(FileNotFoundError, "No such file", Task, "no such file", entities=ITEMS)
    task = Task({"u": ["a"]}, entities=ITEMS)
    words = r"scores: expected scores of shape \(1, 5\)"
    refusal(ValueError, words, task.evaluate_scores, [[1, 2]])


# -- lists -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:ids. .* of what lists name is known:UserWarning")
@pytest.mark.python_only
@given(problems(), st.integers(0, 5))
@examples(25)
def test_lists_are_the_full_ranking_with_a_tie_at_its_end(problem: dict[str, Any], k: int) -> None:
    """What is not listed has one score, below all that is listed."""
    scores = problem["scores"]
    qrels = problem["qrels"]
    n, m = scores.shape
    k = min(k, m)
    facts = {"entities": m, "queries": n, "known": by_query(problem["known"])}
    task = quietly(Task, dict(enumerate(qrels)), candidates="all", **facts)
    top = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    cut = np.full((n, m), -1.0)
    np.put_along_axis(cut, top, np.take_along_axis(scores, top, 1), 1)
    full = task.evaluate_scores(cut)
    listed = np.take_along_axis(scores, top, 1)
    of_mapping: dict[int, dict[int, float]] = {
        i: dict(zip(top[i].tolist(), listed[i].tolist(), strict=True)) for i in range(n)
    }
    if not k and n > 1 and any_right(qrels[1]):
        del of_mapping[0]
    for lists in (tr.TopK(top, listed), of_mapping):
        found = quietly(task.evaluate_lists, lists, misses="bounds")
        assert found.to_dict() == pytest.approx(full.to_dict(), rel=0, abs=0, nan_ok=True)
        assert found.protocol.filter == full.protocol.filter
    bounds, mean, zero = (
        task.evaluate_lists(tr.TopK(top, None), misses=m) for m in ("bounds", "expected", "zero")
    )
    assert bounds.ranks.listed is not None
    assert bounds.ranks.listed.tolist() == found.ranks.listed.tolist()  # type: ignore[union-attr]
    assert zero["ndcg"] == np.mean(zero.per_query("dcg") / zero.per_query("optimum.dcg"))
    # without a filter, as with a cutoff at the end of the lists
    plain = Task(dict(enumerate(qrels)), entities=m, queries=n)
    zero = plain.evaluate_lists(tr.TopK(top, listed))
    full = plain.evaluate_scores(cut)
    for metric in ("map", "mrr", "dcg"):
        for kind in ("expected.", "optimistic.", "pessimistic."):  # in order alone, nothing ties
            assert mean[kind + metric] == pytest.approx(bounds[metric], rel=1e-12)
            expected = 0
            if k:
                expected = full[f"{kind}{metric}@{k}"]
            assert zero[kind + metric] == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.filterwarnings("ignore:ids. .* of what lists name is known:UserWarning")
@given(problems(), st.integers(1, 5), st.data())
def test_nan_that_is_ranked_last(problem: dict[str, Any], k: int, data: st.DataObject) -> None:
    """Right answers whose score is NaN share the last places; all metrics stay within bounds."""
    scores = problem["scores"]
    qrels = problem["qrels"]
    n, m = scores.shape
    chosen = data.draw(st.lists(st.booleans(), min_size=n * m, max_size=n * m))
    scores[np.array(chosen).reshape(n, m)] = np.nan
    task = quietly(
        Task, dict(enumerate(qrels)), entities=m, queries=n, known=by_query(problem["known"])
    )
    top = tr.TopK(np.tile(np.arange(min(k, m)), (n, 1)), scores[:, :k])
    reports = [task.evaluate_scores(scores, nan="worst")]
    for misses in MISSES:
        reports.append(task.evaluate_lists(top, nan="worst", misses=misses, order="descending"))
    for found in reports:
        for metric in ("map", "mrr@2", "ndcg", "recall@1"):
            kinds = ("pessimistic", "expected", "optimistic")
            low, mean, high = (found[f"{kind}.{metric}"] for kind in kinds)
            assert -1e-12 <= low <= mean + 1e-12 <= high + 2e-12 <= 1 + 3e-12
    # wrong candidates with NaN come before right ones with NaN, and these are in the last places
    first, grades = next((i, g) for i, g in enumerate(qrels) if any_right(g))
    kept = [j for j in range(m) if (first, j) not in problem["known"] or grades.get(j, 0) > 0]
    gains = [grades.get(j, 0) for j in kept]
    last = np.where(np.array(gains) > 0, -2.0, -1.0)
    finite = np.where(np.isnan(scores[first, kept]), last, scores[first, kept]).tolist()
    expected = oracle.values_by_order("map", finite, gains)["expected"]
    assert reports[0].per_query("map")[0] == pytest.approx(expected)


def test_lists_of_other_queries_are_refused_and_few_are_said() -> None:
    """As a rule they are the same queries, spelled in another way."""
    qrels = {f"q{i}": ["b"] for i in range(5)}
    run = {query: ["b", "a"] for query in qrels}
    task = Task(qrels, entities=ITEMS)
    spelled = {query.upper(): listed for query, listed in run.items()}
    message = "^ids: no query in common: those of the task are 'q0', .*, of lists 'Q0', "
    refusal(ValueError, message, task.evaluate_lists, spelled)
    few = spelled | {"q0": ["b"], "q1": ["b"]}
    words = r"^ids: 3 of 5 queries with right .* no list \('q2', 'q3', 'q4'\), .*'Q2' for 'q2'"
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists(few)["recall@1"] == pytest.approx(2 / 5)


def test_the_most_similar_go_to_runs_and_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors, others = (rng.normal(size=(n, 4)).astype(np.float32) for n in (6, 30))
    queries, entities = ([f"{word}{i}" for i in range(n)] for word, n in (("q", 6), ("d", 30)))
    qrels = {query: [entities[i], entities[-i]] for i, query in enumerate(queries)}
    task = Task(dict(reversed(qrels.items())), entities=entities, queries=queries)
    top = tr.topk_embeddings(vectors, others, 5)
    expected = task.evaluate_lists(top)
    path = tmp_path / "run.txt"
    copy = tmp_path / "copy.txt.gz"
    tr.write_run(path, top, queries=queries, entities=entities)
    run = tr.read_run(path)
    as_dicts = {query: run[query] for query in queries}
    for form in (path, run, as_dicts):
        found = task.evaluate_lists(form)
        assert found.per_query("ndcg").tolist() == expected.per_query("ndcg").tolist()
        tr.write_run(copy, form)
        assert gzip.decompress(copy.read_bytes()) == path.read_bytes()
    (tmp_path / "order.txt").write_text(
        "query document\n" + "".join(f"{q} {d}\n" for q, v in as_dicts.items() for d in v)
    )
    for form in ({q: list(v) for q, v in as_dicts.items()}, tmp_path / "order.txt"):
        found = task.evaluate_lists(form)
        assert found.protocol.lists == "order alone"
        assert found.to_dict() == pytest.approx(expected.to_dict(), nan_ok=True)
        tr.write_run(copy, form)
        assert list(tr.read_run(copy)["q0"].values()) == [5, 4, 3, 2, 1]
        assert task.evaluate_lists(copy)["ndcg"] == found["ndcg"]


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ({"u": {"z": 0.5}}, ValueError, "ids: 'z' at position 0 is none of the 5 entities"),
        ({"u": {"a": "x"}}, TypeError, "ids: expected numbers as scores, got 'u': {'a': 'x'}"),
        (
            {"u": [["a"]] * 999},
            TypeError,
            r"ids: expected a list of ids, or .*, got \['a'\] for 'u' \(",
        ),
        ({"u": ["a"], "v": {"a": 1}}, TypeError, r"ids: expected .*, got 'u': \['a'\]"),
        ({"u": ["a", "a"]}, ValueError, "'u' has 'a' twice; duplicates=.first. counts"),
        ({"u": [9]}, ValueError, "ids: .* or ids from 0 to 4, got 9 at position 0"),
        ([["a"]], TypeError, r"ids: expected a path, .*TopK\(ids, scores\); dict\(zip"),
        (tr.TopK([[0]], None), ValueError, "ids: expected 2 lists, one for each query"),
    ],
)
def test_wrong_lists(ids: Any, error: type[Exception], message: str) -> None:
    task = Task({"u": ["b"], "v": ["a"]}, entities=ITEMS, queries=UV)
    refusal(error, message, task.evaluate_lists, ids)


def test_files_of_judgements_and_of_runs(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("u 0 b 1\nu 0 d 2\nu 0 c -1\nv 0 a 1\n")
    run = {"u": {"c": 0.9, "b": 0.5}, "w": {"z": 1.0}, "v": {"e": 0.5}}
    lines = [f"{q} Q0 {e} 1 {s} tag\n" for q, scores in run.items() for e, s in scores.items()]
    (tmp_path / "run").write_text("".join(lines))
    task = Task(tr.read_qrels(tmp_path / "qrels"), entities=ITEMS)
    assert np.asarray(task.gains).tolist() == [1, 2, 1]
    expected = task.evaluate_lists({query: run[query] for query in ("v", "u")})
    for form in (tmp_path / "run", str(tmp_path / "run"), tr.read_run(tmp_path / "run")):
        found = task.evaluate_lists(form)
        assert found.ranks.above.tolist() == expected.ranks.above.tolist() == [1, 2, 1]
        assert found.ranks.tied.tolist() == expected.ranks.tied.tolist() == [1, 3, 4]
        assert "66.7 % of the right answers are missed by their lists" in found.to_markdown()
    strict = Task({"u": ["b"]}, entities=[*ITEMS, "z"], queries=["u", "v"])
    refusal(
        ValueError,
        "^ids: .*run: 'w' at position 1 is none of the 2 queries",
        strict.evaluate_lists,
        tmp_path / "run",
    )
    words = "^ids: .*run: 'c' .* is none of the 1 entities, as 'b'"
    refusal(ValueError, words, Task({"u": ["b"]}, entities=["b"]).evaluate_lists, tmp_path / "run")
    (tmp_path / "ids").write_text("1 Q0 2 1 0.5 tag\n0 Q0 1 1 0.5 tag\n")
    words = r"^ids: .*: expected ids of entities, .* or entities=range\(3\), .* got '2'"
    of_ids = Task({0: [1], 1: [0]}, entities=3)
    refusal(TypeError, words, of_ids.evaluate_lists, tmp_path / "ids")
    of_ids = Task({0: [1], 1: [0]}, entities=range(3))
    of_ids = of_ids.evaluate_lists(tmp_path / "ids", misses="expected")
    assert of_ids.per_query("mrr").tolist() == pytest.approx([1, (1 / 2 + 1 / 3) / 2])


def test_scores_of_lists_that_are_integers_are_not_rounded() -> None:
    run = {"q": {"a": 2**60 + 1, "b": 2**60}}
    report = Task({"q": ["a"]}, entities=["a", "b"]).evaluate_lists(run)
    assert report["pessimistic.mrr"] == 1


# In each list the best, of the lowest distance, comes first; ranks say so, too.
ROWS = [(f"q{i}", f"d{i + j}", j + 1, (j + 1) / 8) for i in range(4) for j in range(3)]
DISTANCES = {
    name: list(column)
    for name, column in zip(
        ("query", "document", "rank", "score"), zip(*ROWS, strict=True), strict=True
    )
}


def lists_of(form: str, folder: Path, **columns: Any) -> Any:
    """Return lists in a form; columns take the place of theirs, None: there is none."""
    named = {
        name: column for name, column in {**DISTANCES, **columns}.items() if column is not None
    }
    rows = list(zip(*named.values(), strict=True))
    path = folder / "run"
    if form == "mapping":
        lists: dict[str, dict[str, float]] = {}
        for query, document, score in rows:
            lists.setdefault(query, {})[document] = score
        return lists
    if form in ("run", "read_run"):
        path.write_text("".join(f"{q} Q0 {d} {rank} {score} tag\n" for q, d, rank, score in rows))
        return tr.read_run(path) if form == "read_run" else path
    if form == "header":
        lines = ["\t".join(map(str, row)) for row in (tuple(named), *rows)]
        path.write_text("\n".join(lines))
        return path
    frame = pytest.importorskip(form).DataFrame(named)
    return frame.to_records(index=False) if form == "records" else frame


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("form", "columns", "words"),
    [
        ("mapping", {"rank": None}, "scores rise in 4 lists, 12 entries"),
        ("pandas", {"rank": None}, "scores rise in 4 lists"),
        ("polars", {"rank": None}, "scores rise in 4 lists"),
        ("header", {"rank": None}, "scores rise in 4 lists"),
        ("run", {"rank": [1] * 12}, "scores rise in 4 lists"),
        ("run", {}, "ranks rise with the scores in 4 of 4 queries"),
        ("read_run", {}, "ranks rise with the scores in 4 of 4 queries"),
        ("header", {}, "ranks rise with the scores in 4 of 4 queries"),
        ("pandas", {}, "ranks rise with the scores in 4 of 4 queries"),
        ("polars", {}, "ranks rise with the scores in 4 of 4 queries"),
        ("pandas", {"rank": np.array(DISTANCES["rank"], object)}, "ranks rise with the scores"),
    ],
)
def test_two_orders_that_contradict_each_other(
    tmp_path: Path, form: str, columns: dict[str, Any], words: str
) -> None:
    """Distances are no scores, unless the order is named; each order is taken in silence."""
    task = Task({f"q{i}": [f"d{i}"] for i in range(4)}, entities=9)
    lists = lists_of(form, tmp_path, **columns)
    both = "order='ascending' says that lower .* order='descending' that the best is last"
    refusal(ValueError, f"^ids: .*{words}.*: {both}", task.evaluate_lists, lists)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert task.evaluate_lists(lists, order="ascending")["mrr"] == 1
        assert task.evaluate_lists(lists, order="descending")["mrr"] == pytest.approx(1 / 3)


@pytest.mark.python_only
@pytest.mark.parametrize("size", [1, 2])
def test_ranks_that_rise_with_scores_are_refused_at_any_size(tmp_path: Path, size: int) -> None:
    few = {name: column[: size * 3 : 2] for name, column in DISTANCES.items()}
    lists = lists_of("pandas", tmp_path, **few)
    task = Task({"q0": ["d0"], "q1": ["d1"]}, entities=9)
    refusal(ValueError, "ranks rise with the scores", quietly, task.evaluate_lists, lists)


FALLING = [-score for score in DISTANCES["score"]]


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("form", "columns"),
    [
        ("mapping", {"rank": None, "score": FALLING}),
        ("mapping", {"rank": None, "score": [*DISTANCES["score"][:-1], 0]}),
        ("pandas", {"score": FALLING}),
        ("pandas", {"rank": [1] * 12, "score": FALLING}),
        ("pandas", {"rank": ["x"] * 12, "score": FALLING}),
        ("header", {"score": FALLING}),
        ("run", {"score": FALLING}),
        ("run", {"rank": ["x"] * 12, "score": FALLING}),
        ("run", {"score": [5] * 12}),
    ],
)
def test_orders_that_agree_or_say_nothing_are_taken(
    tmp_path: Path, form: str, columns: dict[str, Any]
) -> None:
    task = Task({f"q{i}": [f"d{i}"] for i in range(4)}, entities=9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert task.evaluate_lists(lists_of(form, tmp_path, **columns))["mrr"] > 1 / 3


def test_vectors_of_the_best_that_is_last() -> None:
    """The k best by np.argsort(s)[-k:] are taken with the order, also in link prediction."""
    scores = np.arange(40.0).reshape(4, 10)
    ids = np.argsort(scores, axis=1)[:, -3:]
    best_last = tr.TopK(ids, np.take_along_axis(scores, ids, 1))
    task = Task({i: [9] for i in range(4)}, entities=10)
    refusal(ValueError, "^ids: scores rise in 4 lists", task.evaluate_lists, best_last)
    assert task.evaluate_lists(best_last, order="descending")["mrr"] == 1
    facts = tr.link_prediction.Task([(i, 0, 9) for i in range(4)], entities=10, sides=["tail"])
    refusal(ValueError, "^tail: scores rise in 4 lists", facts.evaluate_lists, best_last)
    assert facts.evaluate_lists(best_last, order="descending")["mrr"] == 1
    by_key = {(i, 0): dict(zip(range(7, 10), range(3), strict=True)) for i in range(4)}
    refusal(ValueError, "^tail: scores rise in 4 lists", facts.evaluate_lists, by_key)
    assert facts.evaluate_lists(by_key, order="descending")["mrr"] == 1


def test_lists_of_a_model_that_did_not_leave_out_what_is_known() -> None:
    """Their places close up, and too few are left: recall@10 is that of the rest of the list."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(20, 200))
    known = np.argsort(-scores, axis=1)[:, :6]
    test = np.argsort(-scores, axis=1)[:, 6:18:2]
    users = np.arange(20).repeat(6)
    train = {"train": (users, known.ravel())}
    task = Task((users, test.ravel()), entities=200, queries=20, known=train)
    right = tr.topk_embeddings(scores, np.eye(200), 10, filter=task.answers.filter[:2])
    wrong = tr.topk_embeddings(scores, np.eye(200), 10)
    of_right = task.evaluate_lists(right)
    of_wrong = task.evaluate_lists(wrong)
    (finding,) = of_wrong.audit("known in lists")
    assert finding.message == "60 % of what lists name is known, and not counted"
    assert of_right.audit("known in lists") == []
    assert of_wrong["recall@10"] < of_right["recall@10"]
    whole = tr.topk_embeddings(scores, np.eye(200), 200)
    assert task.evaluate_lists(whole)["recall@10"] == of_right["recall@10"]
    assert "; the longest has 10 candidates\n" in str(of_right)
    assert "; the longest has 4 candidates\n" in str(of_wrong)
