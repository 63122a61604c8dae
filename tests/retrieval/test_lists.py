"""Lists: their order, what their names meet, and what there was to order, as impressions say it."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.refusals import refusal
from truerank.retrieval import Task

# -- orders ----------------------------------------------------------------------------------------

# In each list the best, of the lowest distance, comes first; ranks say so, too.
ROWS = [(f"q{i}", f"d{i + j}", j + 1, (j + 1) / 8) for i in range(4) for j in range(3)]
QUERY, DOCUMENT, RANK, SCORE = map(list, zip(*ROWS, strict=True))
FALLING = [-score for score in SCORE]


def lists_of(form: str, folder: Path, columns: dict[str, Any]) -> Any:
    """Return lists in a form, with some columns in the place of theirs."""
    columns = {"query": QUERY, "document": DOCUMENT, "rank": RANK, "score": SCORE} | columns
    if form == "pandas":
        return pd.DataFrame(columns)
    rows = list(zip(*columns.values(), strict=True))
    path = folder / "run"
    if form == "run":
        path.write_text("".join(f"{q} Q0 {d} {rank} {score} tag\n" for q, d, rank, score in rows))
    else:
        path.write_text("\n".join("\t".join(map(str, row)) for row in (tuple(columns), *rows)))
    return path


SCORES_RISE = "scores rise in 4 of 4 lists, 12 entries"
RANKS_RISE = "ranks rise with the scores in 4 of 4 queries"


@pytest.mark.python_only
@pytest.mark.parametrize(
    ("form", "columns", "words"),
    [
        ("run", {"rank": [1] * 12}, SCORES_RISE),
        ("run", {}, RANKS_RISE),
        ("header", {}, RANKS_RISE),
        ("pandas", {"rank": np.array(RANK, object)}, RANKS_RISE),
        ("pandas", {"rank": [1] * 12, "score": FALLING}, ""),
        ("pandas", {"rank": ["x"] * 12, "score": FALLING}, ""),
        ("header", {"score": FALLING}, ""),
        ("run", {"rank": ["x"] * 12, "score": FALLING}, ""),
        ("run", {"score": [5] * 12}, ""),
    ],
)
def test_two_orders_that_contradict_each_other(
    tmp_path: Path, form: str, columns: dict[str, Any], words: str
) -> None:
    """Distances are no scores, unless the order is named; each order is taken in silence."""
    task = Task({f"q{i}": [f"d{i}"] for i in range(4)}, entities=9)
    lists = lists_of(form, tmp_path, columns)
    if not words:
        assert task.evaluate_lists(lists)["mrr"] > 1 / 3
        return
    both = "order= says whether higher or lower scores are better"
    refusal(ValueError, f"^ids: .*{words}.*; {both}", task.evaluate_lists, lists)
    assert task.evaluate_lists(lists, order="ascending")["mrr"] == 1
    assert task.evaluate_lists(lists, order="descending")["mrr"] == pytest.approx(1 / 3)


# -- what is left over -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "listed", "words"),
    [
        ("abcdef", "agh", r"5 of 6 queries with right answers have no list \('b', 'c', 'd'"),
        ("a", "", r"1 of 1 queries with right answers have no list \('a'\)"),
        ("ab", "abc", ""),
    ],
)
def test_queries_without_lists_warn_and_unused_lists_are_found(
    asked: str, listed: str, words: str
) -> None:
    task = Task({query: ["x"] for query in asked}, entities=9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        findings = task.evaluate_lists({query: ["x"] for query in listed}).audit()
    assert [bool(re.search(words, str(each.message))) for each in caught] == [True] * bool(words)
    counts = {finding.name: finding.count for finding in findings}
    assert counts.get("missing lists", 0) == len(set(asked) - set(listed))
    assert counts.get("unused lists", 0) == len(set(listed) - set(asked))


@pytest.mark.python_only
@pytest.mark.parametrize("name", ["q3 ", "\tq3"])
def test_names_that_look_alike_are_named(name: str) -> None:
    qrels = {f"q{i}": {"a": 1} for i in range(5)}
    lists = {f"q{i}": ["a"] for i in range(5) if i != 3} | {name: ["a"]}
    task = Task(qrels, entities=["a", "b"])
    words = "1 of 5 .*'q3'.* differ only in blanks or Unicode form: '.*' for 'q3'"
    with pytest.warns(UserWarning, match=words):
        report = task.evaluate_lists(lists)
    assert report["mrr"] == 0.8
    assert repr(name) in report.audit("unused lists")[0].message


@pytest.mark.python_only
def test_names_of_documents_that_are_written_otherwise_warn() -> None:
    """Not an error: a very bad model lists no right answer either."""
    task = Task({"u": ["D7"], "v": ["D8"]}, entities=100)
    words = "ids: no right answer is in any list: right answers are 'D7', .* lists have 'd7'"
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists({"u": ["d7"], "v": ["d8"]})["mrr"] == 0
    task.evaluate_lists({"u": ["D8"], "v": []})
    task.evaluate_lists({"u": [], "v": []})
    Task({"u": ["a"]}, entities=["a", "b"]).evaluate_lists({"u": ["b"]})


@pytest.mark.python_only
@pytest.mark.parametrize("entities", [None, 10, range(10), [7, 8, 1, 2, 3]])
@pytest.mark.parametrize("form", ["names", "scores", "frame", "TopK", "file"])
def test_integers_none_of_which_is_right_warn(entities: Any, form: str, tmp_path: Path) -> None:
    """They may number other things, as rows of a table, whatever the task has."""
    task = Task({0: [7], 1: [8]}, entities=entities, queries=2)
    labels = [7, 8, 1, 2, 3] if isinstance(entities, list) else list(range(10))
    positions = [[labels.index(1)], [labels.index(2)]]
    path = tmp_path / "run.tsv"
    path.write_text("query\tdocument\n0\t1\n1\t2\n")
    lists: Any = {
        "names": {0: [1], 1: [2]},
        "scores": {0: {1: 0.5}, 1: {2: 0.5}},
        "frame": pd.DataFrame({"query": [0, 1], "document": [1, 2]}),
        "TopK": tr.TopK(positions, None),
        "file": path,
    }[form]
    # Text names no integers without their labels, and positions are those of a number.
    if (entities, form) in [(None, "TopK"), (None, "file"), (10, "file")]:
        refusal((ValueError, TypeError), "ids", task.evaluate_lists, lists)
        return
    words = "^ids.*: no right answer is in any list: right answers are 7, ..., lists have '?1'?, "
    with pytest.warns(UserWarning, match=words):
        assert task.evaluate_lists(lists)["mrr"] == 0
    task.evaluate_lists({0: [7], 1: [1]})
    task.evaluate_lists({0: [], 1: []})


def test_lists_of_a_model_that_did_not_leave_out_what_is_known() -> None:
    """Their places close up, and too few are left: recall@10 is that of the rest of the list."""
    scores = np.random.default_rng(0).normal(size=(20, 200))
    best = np.argsort(-scores, axis=1)
    users = np.arange(20).repeat(6)
    train = {"train": (users, best[:, :6].ravel())}
    task = Task((users, best[:, 6:18:2].ravel()), entities=200, queries=20, known=train)
    right = task.evaluate_lists(tr.TopK(best[:, 6:16], None))
    wrong = task.evaluate_lists(tr.TopK(best[:, :10], None))
    (finding,) = wrong.audit("known in lists")
    assert finding.message == "lists hold 120 known entries: left out"
    assert right.audit("known in lists") == []
    best[0, 0], best[0, 12] = best[0, 12], best[0, 0]  # One of them is known.
    (finding,) = task.evaluate_lists(tr.TopK(best[:, 6:16], None)).audit("known in lists")
    assert (finding.count, finding.message) == (1, "lists hold 1 known entry: left out")
    best[0, 0], best[0, 12] = best[0, 12], best[0, 0]
    assert wrong["recall@10"] < right["recall@10"]
    assert task.evaluate_lists(tr.TopK(best, None))["recall@10"] == right["recall@10"]
    assert "; the longest has 10 candidates\n" in str(right)
    assert "; the longest has 4 candidates\n" in str(wrong)


# -- what there was to order: auc and gauc need it; the first right answer does not ----------------

RIGHT = {0: [1], 1: [2]}
LISTS = {0: [3, 1, 4], 1: [2, 5, 6]}
COMPLETE = {q: [*listed, *sorted(set(range(9)) - set(listed))] for q, listed in LISTS.items()}
WITHOUT_CANDIDATES = ("auc", "gauc", "optimistic.auc", "sampled_hits@10:99")


def area(right: Any, listed: Any) -> float:
    """Return the share of pairs in order, of a list that has all its candidates."""
    is_right = np.isin(listed, right)
    pairs = np.subtract.outer(np.flatnonzero(~is_right), np.flatnonzero(is_right)) > 0
    return float(pairs.mean()) if pairs.size else math.nan


def test_what_a_query_has_again_is_counted_in_the_audit() -> None:
    shown = {"u": ["a", "b", "c", "c"], "v": ["a"]}
    task = Task({"u": ["a", "b", "a"], "v": ["a"]}, entities=list("abc"), candidates=shown)
    assert [finding.message for finding in task.audit] == [
        "1 entry of qrels repeats another of the same query: counted once",
        "1 entry of candidates repeats another of the same query: counted once",
    ]


@pytest.mark.parametrize("key", WITHOUT_CANDIDATES)
def test_lists_without_candidates_have_none(key: str, tmp_path: Path) -> None:
    found = Task(RIGHT, entities=1000, groups=["x", "y"]).evaluate_lists(LISTS)
    found.ranks.save(tmp_path / "ranks.npz")
    loaded = tr.report(tr.load(tmp_path / "ranks.npz"))
    words = f"{key}': it depends on the candidates, which lists do not name.*; "
    words += r"candidates= says among what lists were made$"
    for call in (found.__getitem__, found.per_query, found.interval, found.group_values):
        refusal(KeyError, words, call, key)
    refusal(KeyError, words, loaded.__getitem__, key)
    refusal(KeyError, words, tr.compare, found, found, metric=key)
    refusal(KeyError, words, tr.table, {"a": found}, [key])


def test_what_needs_no_candidates_is_compared_and_joined() -> None:
    """Of lists without candidates, and of ranks that are joined with theirs."""
    task = Task(RIGHT, entities=1000)
    listed = task.evaluate_lists(LISTS)
    assert not listed.audit()
    assert "candidates not given" in str(listed.audit())
    scores = np.zeros((2, 1000))
    scored = task.evaluate_scores(scores)
    assert (scored.protocol.candidates, scored["auc"]) == ("all", 0.5)
    assert tr.compare(listed, scored).units == 2  # they are of one protocol
    parts = [task[:1].evaluate_scores(scores[:1]), task[1:].evaluate_lists(LISTS)]
    for order in (parts, parts[::-1]):
        joined = tr.report(tr.concatenate([part.ranks for part in order]))
        refusal(KeyError, "auc': it depends on the candidates, which", joined.__getitem__, "auc")


@pytest.mark.parametrize(
    ("entities", "candidates", "lists", "expected"),
    [
        (1000, LISTS, LISTS, 0.75),  # impressions
        (1000, "listed", LISTS, 0.75),
        (1000, "all", LISTS, (998 + 999) / 2 / 999),  # the rest is below, as the user says
        (9, range(9), COMPLETE, np.mean([area(RIGHT[q], COMPLETE[q]) for q in RIGHT])),
    ],
)
def test_candidates_say_it(entities: int, candidates: Any, lists: Any, expected: float) -> None:
    found = Task(RIGHT, entities=entities, candidates=candidates).evaluate_lists(lists)
    assert found["auc"] == found["gauc"] == pytest.approx(expected, rel=1e-14)
    assert not found.audit()


@st.composite
def impressions(draw: st.DrawFn) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Draw right answers and orders of some candidates, which may all be right."""
    right = {}
    orders = {}
    for query in range(draw(st.integers(2, 8))):
        order = draw(st.permutations(range(draw(st.integers(1, 6)))))
        chosen = draw(st.lists(st.sampled_from(order), min_size=1, unique=True))
        right[query] = chosen
        orders[query] = list(order)
    return right, orders


@given(impressions())
@examples(30)
def test_impressions_are_those_of_plain_numpy(problem: Any) -> None:
    """The values, intervals, groups and comparisons of auc and gauc."""
    right, orders = problem
    labels = [query % 2 for query in right]
    task = Task(right, entities=6, candidates=orders, groups=labels)
    found = task.evaluate_lists(orders)
    worse = task.evaluate_lists({q: order[::-1] for q, order in orders.items()})
    areas = np.array([area(right[q], order) for q, order in orders.items()])
    has_pairs = ~np.isnan(areas)
    sizes = np.array([len(order) for order in orders.values()])
    without_pairs = [not has_pairs[np.array(labels) == label].any() for label in set(labels)]
    assert found.macro_left_out("auc") == sum(without_pairs)
    for key, weights in (("auc", np.ones(len(sizes))), ("gauc", sizes)):
        chosen, of_chosen = areas[has_pairs], weights[has_pairs]
        expected = np.average(chosen, weights=of_chosen) if len(chosen) else math.nan
        assert found[key] == pytest.approx(expected, nan_ok=True)
        values = found.group_values(key)
        for label in set(labels):
            is_in = has_pairs & (np.array(labels) == label)
            group = np.average(areas[is_in], weights=weights[is_in]) if is_in.any() else math.nan
            assert values[label] == pytest.approx(group, nan_ok=True)
            assert found.groups[label][key] == pytest.approx(group, nan_ok=True)
        if not len(chosen):
            continue
        interval = found.interval(key)
        assert (interval.units, interval.value) == (len(chosen), pytest.approx(expected))
        pair = tr.compare(found, worse, metric=key)
        assert (pair.units, pair.value_b) == (len(chosen), pytest.approx(1 - expected))


def test_image_text_retrieval() -> None:
    """Five captions of an image, and one image of a caption, as in the code of VSE++."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 200))
    captions = {image: list(range(5 * image, 5 * image + 5)) for image in range(40)}
    order = np.argsort(-scores, axis=1)
    firsts = np.array([np.flatnonzero(order[i] // 5 == i)[0] for i in range(40)])
    medians = {"a": np.median(firsts[::2]) + 1, "b": np.median(firsts[1::2]) + 1}
    found = Task(captions, entities=200, groups=["a", "b"] * 20).evaluate_scores(scores)
    assert found["median"] == np.median(firsts) + 1
    assert found["hits@10"] == found["success@10"] == (firsts < 10).mean()
    assert found.group_values("median") == medians
    assert found["macro.median"] == np.mean(list(medians.values()))
    of_first = tr.report(tr.Ranks(firsts, np.ones(40, int), 200))  # a task for each image
    for key in ("mr", "median"):
        ours, theirs = found.interval(key), of_first.interval(key)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
        assert ours.method == theirs.method
    assert "MR \u2193  Median \u2193" in found.to_text(["mr", "median"])
    worse = found.ranks._with({"above": found.ranks.above + 1})
    pair = tr.compare(found, tr.report(worse), metric="mr")
    assert (pair.estimate, pair.losses) == (pytest.approx(-1), 0)


def test_misses_have_no_place_where_they_count_as_0() -> None:
    """As in mrr, whose 0 is 1 / inf; among the places that a list leaves they have their mean."""
    qrels = {q: [q] for q in range(4)}
    lists = {0: [0, 5], 1: [5, 1], 2: [5, 2], 3: [5, 6]}
    task = Task(qrels, entities=8)
    zero = task.evaluate_lists(lists)
    assert (zero["mr"], zero["median"], zero["mrr"]) == (math.inf, 2, 0.5)
    assert math.isnan(zero.interval("mr").value)
    bounds = zero.interval("median")
    assert (bounds.value, bounds.low, bounds.high) == (2, 1, math.inf)
    assert math.isnan(tr.compare(zero, zero, metric="mr").p_value)
    bounded = task.evaluate_lists(lists, misses="bounds")
    left = [3, 4, 5, 6, 7, 8]
    assert bounded.per_query("mr").tolist() == [1, 2, 2, np.mean(left)]
    assert bounded.per_query("optimistic.mr")[3] == left[0]
    assert bounded.per_query("pessimistic.mr")[3] == left[-1]
    listed = Task(qrels, entities=8, candidates="listed").evaluate_lists(lists)
    assert listed["median"] == 2
    with pytest.warns(UserWarning, match="no right answer is in any list"):
        missed = task[2:].evaluate_lists({q: [5, 6] for q in (2, 3)})
    assert missed["median"] == math.inf
    assert missed.interval("median").method == "none"
