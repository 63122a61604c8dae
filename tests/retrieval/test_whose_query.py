"""Whose query it is: queries of tasks made apart are apart, and a query is taken whole."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from oracles.retrieval import value
from support.refusals import refusal
from truerank.inference.pairing import match_tasks
from truerank.retrieval import Task

pytestmark = pytest.mark.python_only
DOCUMENTS = list("abcdefgh")
# Queries 1 and 2 of two data sets, whose right answers are found at 1 and 3, and at 2 and 1.
A = {"1": ["a"], "2": ["b"]}, {"1": ["a", "h"], "2": ["g", "h", "b"]}
B = {"1": ["c"], "2": ["d"]}, {"1": ["g", "c"], "2": ["d", "g"]}


def ranks_of(qrels: Any, lists: Any, entities: Any = DOCUMENTS, **options: Any) -> tr.Ranks:
    return Task(qrels, entities=entities, **options).evaluate_lists(lists).ranks


def join(*parts: tr.Ranks, repeats: Any = "refuse") -> tr.Ranks:
    return tr.concatenate(parts, repeats=repeats)


# -- queries of tasks made apart are apart ---------------------------------------------------------


def test_queries_of_two_data_sets() -> None:
    """They were two queries, of an MRR of 1.0."""
    ranks = join(ranks_of(*A), ranks_of(*B))
    report = tr.report(ranks, by="query")
    assert report["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 2 + 1) / 4)
    assert report.queries == [(0, "1"), (0, "2"), (1, "1"), (1, "2")]
    assert report.per_query("mrr").tolist() == [1, 1 / 3, 1 / 2, 1]
    assert report.by_query("mrr")[1, "1"] == {"mrr": 0.5}
    assert report.group_values("mrr") == dict(
        zip(report.queries, [1, 1 / 3, 1 / 2, 1], strict=True)
    )
    assert report.interval("mrr").units == report.interval("mrr", unit="query").units == 4
    found = [f"{each.name}: {each.message}" for each in report.audit("joined queries")]
    words = "joined tasks have queries of the same name, which count in each: 1, 2"
    assert found == [f"joined queries: {words}"]
    # Names that no two tasks have are what queries are called.
    other = {f"{query}b": lists for query, lists in B[1].items()}
    report = tr.report(join(ranks_of(*A), ranks_of({"1b": ["c"], "2b": ["d"]}, other)))
    assert report.queries == ["1", "2", "1b", "2b"]
    assert list(report.audit("joined queries")) == []


def test_two_answers_at_one_place() -> None:
    """They were refused as no ranking of one query."""
    one = ranks_of({"1": ["a"]}, {"1": ["a"]})
    two = ranks_of({"1": ["b"]}, {"1": ["b"]})
    assert tr.report(join(one, two))["mrr"] == 1
    assert tr.report(join(one, two)).tasks() == 2


def test_nothing_loses_whose_a_query_is(tmp_path: Path) -> None:
    parts = [ranks_of(*A), ranks_of(*B)]
    ranks = join(*parts)
    ranks.save(tmp_path / "ranks.npz")
    mine = [part.with_labels(unit=[7, 8]) for part in parts]
    with_units = [ranks.with_labels(unit=[7, 8, 7, 8]), join(*mine)]
    forms = [
        *with_units,
        ranks.with_labels(unit=None),
        ranks.with_labels(targets=["x"] * 4),
        join(ranks[::2], ranks[1::2]),
        ranks[[3, 1, 0, 2]],
        ranks.with_protocol(split="dev"),
        tr.load(tmp_path / "ranks.npz"),
        pickle.loads(pickle.dumps(ranks)),
    ]
    for each in forms:
        report = tr.report(each)
        assert (report.tasks(), report["mrr"]) == (4, pytest.approx(0.7083333))
        assert report.interval("mrr", unit="query").units == 4
        assert report.interval("mrr").units == (2 if each in with_units else 4)
    refusal(tr.InputValueError, "number 1: it belongs to another test", tr.concatenate, mine)


def test_folds_of_the_answers_of_users() -> None:
    """A user is a query in each of four folds: one list of four answers was .0447 of 100 users."""
    rng = np.random.default_rng(0)
    items = [f"i{n}" for n in range(1000)]
    folds = []
    for fold in range(4):
        qrels = {f"u{user}": [items[10 * user + fold]] for user in range(100)}
        task = Task(qrels, entities=items, queries=list(qrels))
        folds.append(task.evaluate_scores(rng.random((100, 1000))))
    joined = tr.report(join(*(fold.ranks for fold in folds)))
    assert joined.tasks() == joined.interval("mrr").units == 400
    assert joined["mrr"] == pytest.approx(np.mean([fold["mrr"] for fold in folds]))


NAMES = ["q0", "q1", "q2"]
PAIRS = st.tuples(st.sampled_from(NAMES), st.sampled_from(DOCUMENTS))


@given(
    st.lists(st.lists(PAIRS, min_size=1, max_size=6, unique=True), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_joined_queries_as_a_plain_dict_has_them(
    data_sets: list[list[tuple[str, str]]], seed: int, are_units_given: bool
) -> None:
    """By task and query, whatever the parts, and their order; the same pairs are refused."""
    rng = np.random.default_rng(seed)
    expected: dict[Any, float] = {}
    parts: list[tuple[int, tr.Ranks]] = []
    for number, pairs in enumerate(data_sets):
        qrels = {query: [d for q, d in pairs if q == query] for query in dict(pairs)}
        lists = {query: rng.permutation(DOCUMENTS).tolist() for query in qrels}
        for query, right in qrels.items():
            ranking = [int(document in right) for document in lists[query]]
            expected[number, query] = float(value("map", ranking))
        task = Task(qrels, entities=DOCUMENTS)
        for p in range(2):
            ranks = task[p::2].evaluate(lambda q, t=task, x=lists: score(t, x, q)).ranks
            parts.append((number, ranks))
    parts = [parts[i] for i in rng.permutation(len(parts)) if len(parts[i][1])]
    order = list(dict.fromkeys(number for number, _ in parts))
    assert set(order) == set(range(len(data_sets)))
    pairs_of_all = [pair for pairs in data_sets for pair in pairs]
    ranks_of_parts = [ranks for _, ranks in parts]
    if len(set(pairs_of_all)) < len(pairs_of_all):
        words = r"parts: .* are there twice .*; concatenate\({.en.: a, .de.: b}\) joins data sets"
        refusal(tr.InputValueError, words, join, *ranks_of_parts)
        named = []
        for number, ranks in parts:
            queries = [f"{number}/{query}" for query in ranks.queries]
            named.append(ranks.with_labels(queries=queries))
        report = tr.report(join(*named))
        assert report.by_query("map") == {
            f"{n}/{q}": {"map": pytest.approx(x)} for (n, q), x in expected.items()
        }
        return
    joined = join(*ranks_of_parts)
    if are_units_given:
        joined = joined.with_labels(unit=np.arange(len(joined)))
    report = tr.report(joined)
    names = [query for _, query in expected]
    found = report.by_query("map")
    if len(set(names)) == len(names):
        assert found == {q: {"map": pytest.approx(x)} for (_, q), x in expected.items()}
    else:
        found = {(order[place], name): values for (place, name), values in found.items()}
        assert found == {key: {"map": pytest.approx(x)} for key, x in expected.items()}
    assert report["map"] == pytest.approx(np.mean(list(expected.values())))
    assert list(report.audit("missing answers", "missing rows")) == []


def score(task: Task, lists: dict[str, list[str]], queries: np.ndarray) -> np.ndarray:
    """Score documents by their places in lists."""
    names = task.names["query"].list_labels(queries[:, 0])
    return np.array([[-lists[name].index(d) for d in DOCUMENTS] for name in names], float)


# -- comparisons -----------------------------------------------------------------------------------


def test_tasks_are_paired_whatever_their_order() -> None:
    one = join(ranks_of(*A), ranks_of(*B))
    two = join(ranks_of(*B), ranks_of(*A))
    others = {"1": ["g", "c"], "2": ["h", "g", "d"]}
    worse = join(ranks_of(B[0], others), ranks_of(*A))
    for a, b in [(one, two), (one.with_labels(unit=list("wxyz")), two)]:
        found = tr.compare(tr.report(a), tr.report(b), metric="mrr")
        assert (found.units, found.wins, found.losses) == (4, 0, 0)
        found = tr.compare(tr.report(a), tr.report(worse), metric="mrr")
        assert (found.units, found.wins, found.losses) == (4, 1, 0)
        assert found.estimate == pytest.approx((1 - 1 / 3) / 4)
    # Facts that are read in another order make another task of the same facts.
    backwards = dict(reversed(B[0].items())), B[1]
    found = tr.compare(
        tr.report(one), tr.report(join(ranks_of(*backwards), ranks_of(*A))), metric="mrr"
    )
    assert (found.units, found.wins, found.losses) == (4, 0, 0)


def test_models_whose_tasks_were_cut_otherwise_have_one_order_of_queries() -> None:
    lists = {"1": ["h", "a"], "2": ["b"]}
    one = join(ranks_of({"2": ["b"], "1": ["a"]}, lists), ranks_of({"1": ["c"]}, {"1": ["c"]}))
    parts = [({"1": ["a"]}, lists), ({"2": ["b"]}, lists), ({"1": ["c"]}, {"1": ["c"]})]
    two = join(*(ranks_of(qrels, {q: lists[q] for q in qrels}) for qrels, lists in parts))
    for each in (one, one[[1, 0, 2]], one[::-1]):
        for models in ((each, two), (two, each)):
            found = tr.compare(*map(tr.report, models), metric="mrr")
            assert (found.units, found.wins, found.ties, found.losses) == (3, 0, 3, 0)
            matched = match_tasks(*models)[0]
            assert matched is not None
            assert tr.report(matched).queries == tr.report(models[0]).queries


def test_what_is_common_is_of_a_task() -> None:
    """A query that base was not asked is left out, though another task asked one of its name."""
    grown = {**B[0], "3": ["e"]}, {**B[1], "3": ["e"]}
    one = {**A[0], "3": ["f"]}, {**A[1], "3": ["f"]}
    base = tr.report(join(ranks_of(*one), ranks_of(*B)))
    new = tr.report(join(ranks_of(*one), ranks_of(*grown)))
    found = tr.compare(base, new, metric="mrr", common=True)
    assert (found.units, found.wins, found.ties, found.losses) == (5, 0, 5, 0)


def test_a_fact_of_two_folds_is_paired_within_its_fold() -> None:
    """Of triples it is one task that is repeated; beside [B, A] its first one was A's."""
    folds = []
    for tails in ([0, 1], [0, 2]):
        triples = [(0, 0, tail) for tail in tails]
        folds.append(tr.link_prediction.Task(triples, {}, entities=9, sides=["tail"]))
    worse = [fold.evaluate(tail=lambda q: np.arange(9.0)[None]).ranks for fold in folds]
    better = [fold.evaluate(tail=lambda q: -np.arange(9.0)[None]).ranks for fold in folds]
    words = "do not know each other's"
    with pytest.warns(tr.InputWarning, match=words):
        one = join(worse[0], better[1], repeats="keep")
    with pytest.warns(tr.InputWarning, match=words):
        two = join(better[1], worse[0], repeats="keep")
    found = tr.compare(one, two, metric="mrr")
    assert (found.units, found.wins, found.ties, found.losses) == (4, 0, 4, 0)


def test_queries_of_one_model_alone_are_no_pairs() -> None:
    """One task of all answers of a user is not two tasks of some."""
    folds = join(ranks_of({"1": ["a"]}, {"1": ["a"]}), ranks_of({"1": ["b"]}, {"1": ["b"]}))
    whole = ranks_of({"1": ["a", "b"]}, {"1": ["a", "b"]})
    words = "queries: one name belongs to several tasks in only one of the models"
    for models in ((folds, whole), (whole, folds)):
        reports = map(tr.report, models)
        refusal(tr.InputValueError, words, tr.compare, *reports, metric="map")


def test_ranks_of_several_answers_are_compared_by_their_reports() -> None:
    ranks = ranks_of({"1": ["a", "b"]}, {"1": ["a", "b"]})
    words = r"a: expected .*, or their Report \(truerank.report\(ranks\) makes one\), got ranks of"
    refusal(tr.InputValueError, words, tr.compare, ranks, ranks, metric="map")
    assert tr.compare(tr.report(ranks), tr.report(ranks), metric="map").ties == 1


# -- what may not be joined ------------------------------------------------------------------------

LANGUAGES = (
    {"entities": DOCUMENTS},  # the same documents
    {"entities": [*DOCUMENTS, "i"]},
    {"known": {"train": {"1": ["h"]}}},
)


@pytest.mark.parametrize("options", LANGUAGES)
def test_the_same_qrels_in_two_languages(options: Any) -> None:
    """The way out that the refusal names leads to both."""
    lists = {"1": ["g", "a"], "2": ["b", "g"]}
    english = ranks_of(*A)
    if "known" in options:
        english = ranks_of(*A, known={"train": {"1": ["g"]}})
    german = ranks_of(A[0], lists, **options)
    words = r"; concatenate\({.en.: a, .de.: b}\) joins data sets"
    message = refusal(tr.InputValueError, words, join, english, german)
    assert "'keep'" not in message
    ranks = german
    way = "concatenate" + message.split("concatenate")[1].split(" joins")[0]
    joined = eval(way, {"concatenate": tr.concatenate, "a": english, "b": german})
    report = tr.report(joined)
    assert report.queries == [("en", "1"), ("en", "2"), ("de", "1"), ("de", "2")]
    assert report["mrr"] == pytest.approx((1 + 1 / 3 + 1 / 2 + 1) / 4)
    # Other names of the queries do it, too.
    german = ranks.with_labels(queries=[f"de/{query}" for query in ranks.queries])
    french = ranks.with_labels(queries=[f"fr/{query}" for query in ranks.queries])
    assert tr.report(join(english, german, french)).tasks() == 6
    assert tr.report(join(german[:1], french, german[1:])).tasks() == 4


def test_a_pair_that_two_data_sets_share() -> None:
    one = ranks_of({"1": ["a"]}, {"1": ["a"]})
    two = ranks_of({"1": ["a", "b"]}, {"1": ["b", "a"]})
    words = "1 of 3 tasks are there twice .*query 1, target a.*; concatenate"
    refusal(tr.InputValueError, words, join, one, two)
    named = two.with_labels(queries=[f"b/{query}" for query in two.queries])
    assert tr.report(join(one, named)).by_query("map") == {"1": {"map": 1}, "b/1": {"map": 1}}


def test_drop_leaves_out_whole_queries() -> None:
    whole = ranks_of({"1": ["a", "b"], "2": ["c"]}, {"1": ["a", "h", "b"], "2": ["c"]})
    again = ranks_of({"1": ["a", "b"], "3": ["d"]}, {"1": ["a", "h", "b"], "3": ["h", "d"]})
    report = tr.report(join(whole, again, repeats="drop"))
    assert report.by_query("map") == {
        "1": {"map": pytest.approx(5 / 6)},
        "2": {"map": 1},
        "3": {"map": 0.5},
    }
    assert list(report.audit("missing answers", "missing rows", "joined queries")) == []
    some = ranks_of({"1": ["a", "c"]}, {"1": ["a", "h", "c"]})
    words = "another task has some right answers of the query .*'1'.*, not all; concatenate"
    refusal(tr.InputValueError, words, join, whole, some, repeats="drop")
    # Within one task a row that comes twice is dropped, as that of a sampler or of a slice.
    assert join(whole[:2], whole[1:], repeats="drop") == whole


def test_several_runs_are_a_list() -> None:
    """Joined, two runs were one query of twice the answers."""
    runs = [ranks_of(*A), ranks_of(A[0], {"1": ["h", "a"], "2": ["g", "b"]})]
    words = (
        "repeats: a query .* counts once .*; runs of one model are a list, which compare and table"
    )
    refusal(tr.InputValueError, words, join, *runs, repeats="keep")
    reports = [tr.report(run) for run in runs]
    found = tr.compare(reports, reports[::-1], metric="mrr")
    assert found.estimate == 0
    assert found.value_a == pytest.approx(np.mean([report["mrr"] for report in reports]))


# -- a query is taken whole ------------------------------------------------------------------------

LACK = "1 of 2 queries lacks right answers that were ranked with it"


def found_in(report: tr.Report) -> list[str]:
    return [each.message for each in report.audit("missing answers")]


def test_a_query_that_is_cut_says_so(tmp_path: Path) -> None:
    ranks = ranks_of({"a": ["a", "b"], "b": ["c"]}, {"a": ["a", "h", "b"], "b": ["h", "c"]})
    ranks[[0, 2]].save(tmp_path / "cut.npz")
    cuts = [ranks[[0, 2]], tr.load(tmp_path / "cut.npz"), ranks[[0, 2]].with_labels(unit=[0, 1])]
    cuts.append(join(ranks[[0]], ranks[[2]]))
    for cut in cuts:
        with pytest.warns(tr.errors.InputWarning, match=f"^ranks: {LACK}$") as said:
            report = tr.report(cut)
        assert len(said) == 1
        assert (report["map"], found_in(report)) == (0.75, [LACK])
        assert list(report.answers) == [1, 1]  # those that it has
    # Whole queries are silent; so are parts, and what is joined again.
    some = ["a"]
    whole = ranks[np.isin(ranks.queries, some)]
    assert tr.report(whole)["map"] == pytest.approx((1 + 2 / 3) / 2)
    for each in (whole, ranks, ranks[[2, 1, 0]], join(ranks[[0]], ranks[[2, 1]]), ranks[2:]):
        assert found_in(tr.report(each)) == []


def test_halves_of_answers_and_of_queries() -> None:
    rng = np.random.default_rng(0)
    qrels = {f"q{i}": [f"d{j}" for j in range(3 * i, 3 * i + 3)] for i in range(40)}
    task = Task(qrels, entities=[f"d{i}" for i in range(200)], queries=list(qrels))
    ranks = task.evaluate_scores(rng.random((40, 200))).ranks
    for half in np.split(rng.permutation(len(ranks)), 2):
        with pytest.warns(tr.errors.InputWarning, match=r"queries lack right answers that were"):
            report = tr.report(ranks[half])
        assert report.audit("missing answers")[0].count > 20
    halves = np.split(rng.permutation(np.unique(ranks.queries)), 2)
    reports = [tr.report(ranks[np.isin(ranks.queries, half)]) for half in halves]
    assert [found_in(report) for report in reports] == [[], []]
    both = np.mean([report["map"] for report in reports])
    assert both == pytest.approx(tr.report(ranks)["map"])


GRADED = {"a": {"a": 3, "b": 2, "c": 1}, "b": {"c": 2}, "c": {"a": 1}}
LISTS = {query: ["h", "c", "b", "a"] for query in GRADED}


def test_answers_from_a_grade_on_are_a_choice() -> None:
    """The finding says it; a warning comes where a higher grade lacks than one that is there."""
    ranks = ranks_of(GRADED, LISTS)
    assert found_in(tr.report(ranks)) == []
    assert found_in(tr.report(ranks[ranks.gains >= 2])) == [LACK]
    assert found_in(tr.report(ranks[ranks.gains >= 3])) == [LACK.replace("2 queries", "1 query")]
    of_level = ranks.with_protocol(relevance_level=2)
    assert found_in(tr.report(of_level)) == []
    for choice in (ranks.gains < 3, ranks.gains != 2):
        with pytest.warns(tr.errors.InputWarning, match="right answers that were ranked with it"):
            tr.report(ranks[choice])
    # Ranks of a task without grades count 1 each.
    plain = ranks_of({"x": ["a", "b"]}, {"x": ["a", "b"]})
    joined = join(ranks, plain)
    assert found_in(tr.report(joined)) == []
    assert found_in(tr.report(joined[joined.gains >= 1])) == []
