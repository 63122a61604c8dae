"""Lists of names without the number of documents: it is asked for only where a value hangs on it.

The plain twin of each value is that of the same lists among any number of documents.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import truerank as tr
from support.examples import examples
from support.outcomes import quietly
from support.refusals import refusal
from truerank.inference.gate import gate
from truerank.metrics.answer_metrics import ANSWER_METRICS
from truerank.retrieval import Sampled, Task

pytestmark = pytest.mark.python_only

NUMBERS = (40, 8_841_823)
ASKED = "depends on the number of candidates, which was not given"
NO_CANDIDATES = "it depends on the candidates, which lists do not name"
AMONG_WHAT = "candidates= says among what lists were made"
KINDS = ("", "optimistic.", "pessimistic.")
KEYS = [
    f"{kind}{name}{parameter}"
    for name, row in ANSWER_METRICS.items()
    for parameter in row.examples
    for kind in KINDS
]
QRELS = {"a": ["x", "y", "u"], "b": ["z"], "c": ["w"]}
LISTS = {"a": ["q", "x"], "b": ["v", "z"], "c": ["w"]}
WORSE = {"a": ["q", "x"], "b": ["v", "s"], "c": ["q", "w"]}


def draw_problem(seed: int, most: int = 6) -> tuple[dict[str, Any], dict[Any, Any], dict[str, Any]]:
    """Draw the facts of a task without entities, lists with ties, and rules of the evaluation.

    It has at most so many queries.
    """
    rng = np.random.default_rng(seed)
    name: Callable[[Any], Any] = int if seed % 4 == 0 else "d{}".format
    documents = [name(i) for i in range(30)]

    def some(most: int) -> list[Any]:
        return rng.permutation(30)[: rng.integers(0, most + 1)].tolist()

    queries = [f"q{i}" for i in range(rng.integers(1, most + 1))]
    qrels = {q: {documents[i]: int(rng.integers(-1, 4)) for i in some(8)} for q in queries}
    qrels[queries[0]][documents[0]] = 3
    facts: dict[str, Any] = {"qrels": qrels, "leaks": "drop"}
    if rng.random() < 0.5:
        known = {q: [documents[i] for i in some(4)] for q in queries}
        known[queries[0]] = [d for d in known[queries[0]] if d != documents[0]]
        facts["known"] = {"train": known}
    if rng.random() < 0.3:
        facts["relevance_level"] = int(rng.integers(1, 4))
    facts["gain"] = str(rng.choice(["linear", "exponential"]))
    lists: dict[Any, Any] = {}
    for q in queries[: rng.integers(1, len(queries) + 1)]:
        ids = [documents[i] for i in some(12)]
        scores = rng.integers(0, 5, len(ids)).tolist()
        lists[q] = dict(zip(ids, scores, strict=True)) if seed % 3 else ids
    rules = {"order": str(rng.choice(["descending", "ascending"]))}
    return facts, lists, rules


def value_of(report: tr.Report, key: str) -> Any:
    """Return the value, and that of each query, or why there is none."""
    try:
        return report[key], report.per_query(key).tolist()
    except KeyError as error:
        return str(error)


def are_equal(one: Any, two: Any) -> bool:
    return str(one) == str(two)  # All digits; nan is equal to nan.


def test_each_metric_has_the_value_it_has_among_any_number_or_asks_for_it() -> None:
    """Of 60 drawn runs; keys are those of the table, and what moves is what asks."""
    moved = set()
    for seed in range(60):
        facts, lists, rules = draw_problem(seed, most=25)
        task = Task(**facts)
        found = quietly(task.evaluate_lists, lists, **rules)
        assert not found.ranks.candidates.any()
        among = [Task(**facts, entities=n, candidates="all") for n in NUMBERS]
        counted = [quietly(each.evaluate_lists, lists, **rules) for each in among]
        for key in KEYS:
            value, few, many = (value_of(report, key) for report in (found, *counted))
            moved |= set() if are_equal(few, many) else {found.read_key(key).metric}
            if found.read_key(key).row.needs_candidates:
                assert (
                    value
                    == f"'{key}': {NO_CANDIDATES}; candidates= says among what lists were made"
                )
            else:
                assert are_equal(value, few), (seed, key)
                assert are_equal(value, many), (seed, key)
        assert found.to_dict() == counted[0].to_dict()
        assert found.queries == counted[0].queries
        table = str(found).splitlines()
        assert table[1:] == str(counted[0]).splitlines()[1:]
        assert "among" not in table[0]
    assert moved == {name for name, row in ANSWER_METRICS.items() if row.needs_candidates}
    assert moved == {"auc", "gauc", "sampled_hits"}


def test_intervals_groups_and_misses_are_those_among_any_number() -> None:
    options: dict[str, Any] = {"groups": {"a": 0, "b": 1, "c": 1}}
    found, counted = (
        Task(QRELS, entities=n, **options).evaluate_lists(LISTS) for n in (None, 10**6)
    )
    for key in ("mrr", "map", "success@1", "median", "mr"):
        assert str(found.interval(key)) == str(counted.interval(key))
        assert found.group_values(key) == counted.group_values(key)
    assert found["macro.map"] == counted["macro.map"]
    assert str(found.audit()) == str(counted.audit())
    # The place of a miss is infinite under every order.
    for kind in KINDS:
        assert found.per_query(f"{kind}mr").tolist() == [2, 2, 1]
        for n in (None, 9):
            missed = Task(QRELS, entities=n).evaluate_lists(WORSE)
            assert missed.per_query(f"{kind}mr").tolist() == [2, math.inf, 2]
            assert missed[f"{kind}err@5"] == pytest.approx((1 / 4 + 0 + 1 / 4) / 3)


# -- what asks -------------------------------------------------------------------------------------

OPEN = Task(QRELS)
OF_INTS = Task({0: [1, 2], 1: [0]})
MATRIX = sparse.csr_array(np.eye(3))
GIVES = r"; Task\(\.\.\., entities=n\) says how many there are$"
NAMES = r"; Task\(\.\.\., entities=names\) names them in their order$"
COLUMNS = f"the meaning of columns {ASKED}"


def nan_of(target: float, other: float) -> Callable[[], tr.Report]:
    lists = {"a": {"x": target, "q": other}}
    return lambda: Task({"a": ["x"]}).evaluate_lists(lists, nan="worst")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: OPEN.evaluate_lists(LISTS).ranks.realistic, f"^ranks: the rank .*{ASKED}{GIVES}"),
        (
            lambda: OPEN.evaluate_lists(LISTS).ranks.pessimistic,
            f"^ranks: the rank .*{ASKED}{GIVES}",
        ),
        (lambda: OPEN.evaluate_lists(LISTS).ranks.random(0), f"^ranks: the rank .*{ASKED}{GIVES}"),
        (lambda: OPEN.evaluate_lists(LISTS, misses="bounds"), f"^misses: .*bounds.*{ASKED}{GIVES}"),
        (lambda: OPEN.evaluate_lists(LISTS, misses="expected"), f"^misses: .*{ASKED}{GIVES}"),
        (lambda: OPEN.evaluate_lists("absent", misses="bounds"), f"^misses: .*{ASKED}{GIVES}"),
        (
            lambda: tr.report(OPEN.evaluate_lists(LISTS).ranks.with_protocol(misses="bounds")),
            f"^misses: .*{ASKED}{GIVES}",
        ),
        (
            lambda: tr.compare(*[Task({"a": ["x"]}).evaluate_lists({"a": ["x"]}).ranks] * 2),
            f"^a: a metric of tasks.*{ASKED}{GIVES}",
        ),
        (
            lambda: tr.report(OPEN.evaluate_lists(WORSE).ranks[3:], unit="task"),
            f"^ranks: a metric of tasks.*{ASKED}",
        ),
        (nan_of(math.nan, 1), f"^nan: the rank of .* NaN {ASKED}{GIVES}"),
        (lambda: OPEN.evaluate_scores(np.eye(3)), f"^scores: {COLUMNS}{NAMES}"),
        (lambda: OPEN.evaluate(lambda queries: queries), f"^scorer: {COLUMNS}{NAMES}"),
        (lambda: OPEN.evaluate_embeddings(np.eye(3), np.eye(3)), f"^queries: {COLUMNS}{NAMES}"),
        (lambda: OPEN.evaluate_lists(tr.TopK([[0]] * 3, None)), f"^ids: {COLUMNS}{NAMES}"),
        (lambda: OF_INTS.evaluate_lists(tr.TopK([[0]] * 2, None)), f"^ids: {COLUMNS}{GIVES}"),
        (lambda: OF_INTS.evaluate_scores(np.eye(2)), f"^scores: {COLUMNS}{GIVES}"),
        (
            lambda: Task(MATRIX),
            f"^entities: {COLUMNS.replace('columns', 'columns in a .*')}{GIVES}",
        ),
        (lambda: Task({0: [1]}, known=MATRIX), f"^entities: the meaning of .*{ASKED}{GIVES}"),
        (lambda: Task({0: [1]}, candidates=Sampled(3)), f"^candidates: .* got a sample{GIVES}"),
        (
            lambda: Task(QRELS, candidates={"a": ["x"]}),
            f"^candidates: .* got a list of them{NAMES}",
        ),
    ],
)
def test_what_depends_on_the_number_asks_for_it(call: Callable[[], object], words: str) -> None:
    refusal(ValueError, words, call)


def test_what_the_advice_gives() -> None:
    """As messages say it: the number, or what there was to order."""
    counted = Task(QRELS, entities=1000).evaluate_lists(LISTS, misses="bounds")
    assert counted.ranks.pessimistic.max() == 1000
    shown = Task({"a": ["x"], "b": ["z"]}, candidates="listed")
    assert shown.evaluate_lists({"a": ["x", "q"], "b": ["z", "v", "w"]})["auc"] == 1
    report = Task(QRELS, entities=1000, candidates="all").evaluate_lists(LISTS)
    assert report["auc"] > 0.6
    refusal(
        KeyError,
        NO_CANDIDATES,
        Task(QRELS, candidates="all").evaluate_lists(LISTS).__getitem__,
        "auc",
    )


# -- what stays allowed, and silent ----------------------------------------------------------------


def test_ranks_that_need_no_number() -> None:
    found = OPEN.evaluate_lists(LISTS).ranks
    assert found.optimistic.tolist() == [2, 3, 3, 2, 1]
    assert found.listed is not None
    listed = found[found.listed]
    assert listed.realistic.tolist() == listed.pessimistic.tolist() == [2, 2, 1]
    assert nan_of(1, math.nan)()["mrr"] == 1
    assert "candidates" not in repr(found).replace("candidates not given", "")
    pytest.importorskip("pandas")
    columns = ["optimistic", "realistic", "pessimistic"]
    assert [name in found.to_pandas() for name in columns] == [True, False, False]
    assert all(name in listed.to_pandas() for name in columns)


def test_candidates_that_say_it_need_no_number() -> None:
    """Those of the lists, and those of a known split, of which bounds of misses follow."""
    pool = {"pool": {"c": [*"xyuzwqvs"]}}
    for facts in ({"candidates": "listed"}, {"known": pool, "candidates": "pool"}):
        found, counted = (
            quietly(Task, QRELS, entities=n, **facts).evaluate_lists(LISTS) for n in (None, 500)
        )
        assert found.to_dict() == counted.to_dict()
        assert found["auc"] == counted["auc"]
        assert found.ranks == counted.ranks
    bounds = quietly(Task, QRELS, known=pool, candidates="pool").evaluate_lists(
        LISTS, misses="bounds"
    )
    assert bounds["pessimistic.map"] < bounds["optimistic.map"]


def test_names_and_ints_are_read_as_beside_a_number(tmp_path: Path) -> None:
    """An int stays one, and digits of a file no int; a name of lists alone is one more miss."""
    assert (
        repr(OPEN)
        == "Task(5 right answers of 3 queries; split test, unfiltered, all candidates, nan raise)"
    )
    assert "68" not in OPEN._repr_html_()
    assert OPEN.entities is None
    assert OF_INTS.evaluate_lists({0: [7, 2**36 - 1, 1], 1: [0]})["mrr"] == pytest.approx(2 / 3)
    for n in (None, 9):
        task = Task({7: [2], 3: [1]}, entities=n)
        refusal(TypeError, "^ids: ", task.evaluate_lists, {7: ["2"], 3: ["1"]})
        (tmp_path / "run").write_text("7 Q0 2 1 1 t\n")
        refusal(TypeError, "and no names in text, got '2'$", task.evaluate_lists, tmp_path / "run")
        refusal(TypeError, "^ids: ", Task(QRELS, entities=n).evaluate_lists, {"a": [1]})
    itself = Task({"a": ["b"]}, exclude="self").evaluate_lists({"a": ["a", "b"]})
    assert itself["mrr"] == 1


WIDE = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5) | st.integers(2**35 - 2, 2**35 + 2)


@given(data=st.data())
@examples(100)
def test_ints_of_any_size_are_names_of_documents(data: st.DataObject) -> None:
    """As their text is: in qrels, known and lists, as mappings and as frames; but for -1."""
    ints = data.draw(st.lists(WIDE.filter(lambda x: x != -1), min_size=9, max_size=9, unique=True))
    some = st.lists(st.sampled_from(ints), unique=True, max_size=6)
    answers = {q: data.draw(some) or ints[:1] for q in (0, 2**50)}
    known = {q: [x for x in data.draw(some) if x not in answers[q]] for q in answers}
    lists = {q: data.draw(some) for q in answers}
    lists[0] = lists[0] or ints[3:5]
    options: Any = {"candidates": data.draw(st.sampled_from([None, "listed", "train"]))}
    if options["candidates"] == "train":  # It has all that is listed, and the answers.
        known[2**50] = ints

    def in_text(by_query: dict[int, list[int]]) -> dict[str, list[str]]:
        return {str(q): list(map(str, documents)) for q, documents in by_query.items()}

    def as_frame(by_query: dict[int, list[int]]) -> Any:
        pairs = [(q, x, -i) for q in by_query for i, x in enumerate(by_query[q])]
        return pd.DataFrame(pairs, columns=["query", "document", "score"]).astype("int64")

    task = quietly(Task, answers, known={"train": known}, **options)
    named = quietly(Task, in_text(answers), known={"train": in_text(known)}, **options)
    twin = quietly(named.evaluate_lists, in_text(lists))
    report = quietly(task.evaluate_lists, lists)
    assert task.entities is None
    assert report.to_dict() == twin.to_dict()
    targets: Any = report.ranks.targets
    assert sorted(map(str, targets.values)) == sorted(named.answers.labels["targets"].values)
    pairs = as_frame(answers)[["query", "document"]]
    of_frame = quietly(Task, pairs, known={"train": as_frame(known).iloc[:, :2]}, **options)
    assert quietly(of_frame.evaluate_lists, as_frame(lists)).to_dict() == twin.to_dict()


def test_queries_of_any_size_are_documents_of_their_number() -> None:
    qrels = {2**40: [2**40 + 1], 2**40 + 1: [5]}
    lists = {2**40: [2**40, 2**40 + 1], 2**40 + 1: [2**40 + 1, 5]}
    assert Task(qrels, exclude="self").evaluate_lists(lists)["mrr"] == 1
    assert Task(qrels).evaluate_lists(lists)["mrr"] == 0.5


@pytest.mark.parametrize("answer", [1, 2**40])
def test_padding_is_no_document(answer: int) -> None:
    words = "expected integers, the ids of entities; lists are of unlike lengths, without padding, "
    words += "and 1 of 2 are -1, got -1"
    refusal(ValueError, f"^qrels: {words}", Task, {0: [answer, -1]})
    task = Task({0: [answer, 2]})
    refusal(ValueError, f"^ids: {words}", task.evaluate_lists, {0: [answer, -1]})
    assert task.evaluate_lists({0: [answer, 2**40 + 1, -2, 2]})["map"] == 0.75
    refusal(TypeError, "^ids: ", task.evaluate_lists, {0: [str(answer)]})


def test_digits_in_text_name_no_ints_of_any_size(tmp_path: Path) -> None:
    (tmp_path / "run").write_text(f"7 Q0 {2**40} 1 1 t\n")
    words = f"no names in text, got '{2**40}'$"
    refusal(TypeError, words, Task({7: [2**40]}).evaluate_lists, tmp_path / "run")
    refusal(ValueError, f"^scores: .*{NAMES}", Task({7: [2**40]}).evaluate_scores, np.eye(1))
    named = Task({7: [2**40]}, entities=[2**40])
    assert named.evaluate_scores([[1.0]])["mrr"] == named.evaluate_lists(tmp_path / "run")["mrr"]


def test_link_prediction_keeps_its_number() -> None:
    """There it moves values: a miss has the middle of what is left."""
    facts = [("a", "r", "b"), ("b", "r", "a")]
    values = []
    for names in (list("abcd"), list("abcdefgh")):
        task = tr.link_prediction.Task(facts, {}, entities=names, sides=["tail"])
        values.append(task.evaluate_lists(tail={("a", "r"): ["c", "b"], ("b", "r"): ["d"]})["mrr"])
    assert values[0] != values[1]
    refusal(TypeError, "candidates", tr.rank_lists, [[0]], None, [0])
    for marks in ({}, {"listed": [True]}):
        task_of_none = {"above": [0], "tied": [1], "candidates": 0, **marks}
        if marks:
            assert tr.Ranks(**task_of_none).optimistic == [1]
        else:
            refusal(ValueError, "candidates: .*>= 1, got 0", tr.Ranks, **task_of_none)
    for tied, candidates, listed in ((1, 0, False), (0, 0, True), (0, 5, False)):
        refusal(ValueError, "^tied: ", tr.Ranks, [0], [tied], candidates, listed=[listed])


# -- saved, joined, compared -----------------------------------------------------------------------


def test_saved_ranks_have_a_mark_and_no_number(tmp_path: Path) -> None:
    ranks = OPEN.evaluate_lists(LISTS).ranks
    ranks.save(tmp_path / "ranks.npz")
    with np.load(tmp_path / "ranks.npz") as saved:
        assert saved["candidates"].tolist() == [0] * 5
        assert saved["tied"].tolist() == [1, 0, 0, 1, 1]
        numbers = [saved[name].max() for name in saved if saved[name].dtype == np.int64]
        assert max(numbers) <= 5  # No placeholder is anywhere in it.
        assert b"68719476736" not in saved["truerank"].tobytes()
        assert b"68,719,476,736" not in saved["truerank"].tobytes()
    loaded = tr.load(tmp_path / "ranks.npz")
    assert loaded == ranks
    assert loaded.origins == ranks.origins
    assert tr.report(loaded).to_dict() == OPEN.evaluate_lists(LISTS).to_dict()
    refusal(KeyError, f"'gauc': {NO_CANDIDATES}", tr.report(loaded).__getitem__, "gauc")
    refusal(ValueError, ASKED, lambda: loaded.realistic)


@pytest.mark.parametrize("qrels", [QRELS, {0: [1, 2, 3], 1: [4], 2: [5]}])
def test_ranks_with_and_without_the_number_join(qrels: Any) -> None:
    """In every order, to what the whole gives; other numbers of the same facts are refused."""
    named = dict(zip([x for answers in QRELS.values() for x in answers], range(1, 6), strict=True))
    lists: Any = LISTS
    if qrels is not QRELS:
        others = {"q": 8, "v": 9}
        lists = {i: [(named | others)[x] for x in LISTS[q]] for i, q in enumerate(QRELS)}
    whole = Task(qrels, entities=40).evaluate_lists(lists)
    parts = [
        Task(qrels, entities=n)[i::3].evaluate_lists(lists).ranks
        for i, n in enumerate([40, None, 40])
    ]
    for order in ((0, 1, 2), (1, 0, 2), (2, 1, 0)):
        joined = tr.concatenate([parts[i] for i in order])
        assert joined.candidates.tolist() == [40, 40, 40, 0, 40]
        report = tr.report(joined)
        assert report.to_dict() == whole.to_dict()
        assert not report.audit()
        assert joined.origins[0].digests[0] == "40 entities"
        for key in ("auc", "optimistic.sampled_hits@10:30"):
            refusal(KeyError, f"'{key}': {NO_CANDIDATES}", report.__getitem__, key)
        refusal(ValueError, ASKED, tr.report, joined.with_protocol(misses="bounds"))
    other = Task(qrels, entities=50)[2::3].evaluate_lists(lists).ranks
    refusal(ValueError, "among 40 entities and among 50", tr.concatenate, [*parts[:2], other])


def test_models_with_and_without_the_number_are_compared() -> None:
    """By metrics that do not depend on it, as two models that both have it."""
    counted = Task(QRELS, entities=60, candidates="all")
    both = {"a": counted.evaluate_lists(LISTS), "b": counted.evaluate_lists(WORSE)}
    neither = {"a": OPEN.evaluate_lists(LISTS), "b": OPEN.evaluate_lists(WORSE)}
    keys = ["mrr", "map", "ndcg@10", "recall@2", "success@1"]
    expected = tr.compare(both, metric=keys)
    for each in (neither, {"a": both["a"], "b": neither["b"]}):
        assert str(tr.compare(each, metric=keys)) == str(expected)
        assert str(tr.compare(each, metric="mr")) == str(tr.compare(both, metric="mr"))
        table = str(tr.table(each, keys, against="best"))
        assert table == str(tr.table(both, keys, against="best"))
        for key in ("auc", "gauc", "sampled_hits@1:3"):
            refusal(KeyError, f"'{key}': {NO_CANDIDATES}", tr.compare, each, metric=key)
            refusal(KeyError, f"'{key}': {NO_CANDIDATES}.*of '[ab]'", tr.table, each, [key])
        pairs, verdicts, _ = gate(each["a"], each["b"], ["mrr", "auc"], 0.01)
        assert list(pairs.metrics) == ["mrr"]
        assert NO_CANDIDATES in verdicts["auc"]
    # Unlike numbers are still unlike, and several runs may have some.
    other = Task(QRELS, entities=61).evaluate_lists(WORSE)
    refusal(ValueError, "candidates: 5 of 5 tasks differ", tr.compare, both["a"], other)
    runs = [neither["a"], both["a"]], [other, neither["b"]]
    assert tr.compare(*runs, metric="map").runs_a == 2


def test_curves_of_lists_without_the_number() -> None:
    pytest.importorskip("matplotlib")
    qrels, lists = {"a": ["x"], "b": ["z"]}, {"a": list("qpox"), "b": list("zv")}
    tasks = [Task(qrels, entities=n, candidates="all") for n in (None, 9)]
    found, counted = (task.evaluate_lists(lists) for task in tasks)
    drawn = [tr.plot.hits_curve(report).get_lines() for report in (found, counted)]
    assert [len(lines) for lines in drawn] == [1, 2]  # Chance depends on the number.
    curves = [lines[0].get_ydata().tolist() for lines in drawn]
    assert curves[0][:4] == curves[1][:4] == [0.5, 0.5, 0.5, 1.0]
    assert dataclasses.asdict(found.summary)["candidates_max"] == 0
