"""Entries that come twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from truerank import alignment, link_prediction, retrieval

NAMES = ["a", "b", "c"]
ORDERS = st.sampled_from(["descending", "ascending"])
SCORES = st.sampled_from([0.0, -0.0, 0.25, 0.5, 2.0, -1.0, np.inf, -np.inf, np.nan])


def best_of_each(entries: list[tuple[str, float]], order: str) -> dict[str, float]:
    """Return each name once, at its best score, of which NaN is the worst: the plain definition."""
    best: dict[str, float] = {}
    for name, score in entries:
        others = [number for other, number in entries if other == name and number == number]
        best[name] = score
        if others:
            best[name] = min(others) if order == "ascending" else max(others)
    return best


def same_ranks(task: Any, lists: Any, *, right: Any, **options: Any) -> None:
    ranks = task.evaluate_lists(lists, duplicates="first", **options).ranks
    assert ranks.above.tolist() == right.above.tolist()
    assert ranks.tied.tolist() == right.tied.tolist()
    assert ranks.candidates.tolist() == right.candidates.tolist()
    assert ranks.lengths.tolist() == right.lengths.tolist()


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), SCORES), min_size=1, max_size=9),
    ORDERS,
    st.sampled_from(["worst", "omit"]),
)
@examples(60)
def test_an_entry_counts_once_at_its_best_score(
    tmp_path_factory: pytest.TempPathFactory,
    entries: list[tuple[str, float]],
    order: Any,
    nan: Any,
) -> None:
    """In frames, files, a TopK and lists by key, of all three protocols."""
    best = best_of_each(entries, order)
    names, scores = zip(*entries, strict=True)
    rules: dict[str, Any] = {"order": order, "nan": nan}
    right_answer = "b" if best.get("b", 0) == best.get("b", 0) else "x"  # A true NaN is an error.
    entities = [*NAMES, "x"]
    search = retrieval.Task({"q": [right_answer]}, entities=entities, queries=["q"])
    frame = pd.DataFrame({"query": "q", "document": names, "score": scores})
    path = tmp_path_factory.mktemp("lists") / "run.tsv"
    frame.to_csv(path, sep="\t", index=False, na_rep="nan")
    ids = np.array([[entities.index(name) for name in names]])
    top = tr.TopK(ids, np.array([scores]))
    right = search.evaluate_lists({"q": best}, **rules).ranks
    for lists in (frame, path, top):
        same_ranks(search, lists, right=right, **rules)
    if order == "descending":
        same_ranks(search, tr.read_run(path, duplicates="first"), right=right, **rules)

    fact = ("h", "r", right_answer)
    links = link_prediction.Task([fact], {}, entities=["h", *entities], sides=["tail"])
    table = pd.DataFrame({"head": "h", "relation": "r", "tail": names, "score": scores})
    right = links.evaluate_lists({("h", "r"): best}, **rules).ranks
    same_ranks(links, table, right=right, **rules)
    same_ranks(links, tr.TopK(ids + 1, np.array([scores])), right=right, **rules)

    aligned = alignment.Task([("l", right_answer)], left=["l"], right=entities)
    table = pd.DataFrame({"left": "l", "right": names, "score": scores})
    backwards = {right_answer: ["l"]}
    right = aligned.evaluate_lists({"l": best}, backwards, **rules).ranks
    same_ranks(aligned, table, right=right, right_to_left=backwards, **rules)


def test_an_entry_without_scores_counts_where_it_stands_first() -> None:
    """Later places close up; in raw places, which nobody gives, b would have rank 3."""
    task = retrieval.Task({"q": ["b"]}, entities=["a", "b"])
    ranked = pd.DataFrame({"query": "q", "document": ["b", "a", "a"], "rank": [9, 4, 1]})
    for lists in ({"q": ["a", "a", "b"]}, ranked, {"q": ["a", "b", "b"]}):
        assert task.evaluate_lists(lists, duplicates="first")["mrr"] == 0.5
    link = link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b"], sides=["tail"])
    lists = {("a", "r"): ["a", "a", "b"]}
    assert link.evaluate_lists(lists, duplicates="first")["mrr"] == 0.5
    top = tr.TopK(np.array([[0, 0, 1], [1, 0, -1]]), None)  # type: ignore[arg-type]
    both = retrieval.Task({0: [1], 1: [0]}, entities=2)
    assert both.evaluate_lists(top, duplicates="first")["mrr"] == 0.5


def test_raw_numbers_have_the_order_of_their_dtype() -> None:
    """Bits of negative numbers of bfloat16 rise as the numbers fall."""
    torch = pytest.importorskip("torch")
    scores = torch.tensor([-1.0, -8.0, -2.0]).bfloat16().view(torch.uint16).numpy()
    frame = pd.DataFrame({"query": "q", "document": ["a", "a", "b"], "score": scores})
    task = retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    options: dict[str, Any] = {"dtype": "bfloat16", "duplicates": "first"}
    assert task.evaluate_lists(frame, **options)["mrr"] == 1
    assert task.evaluate_lists(frame, order="ascending", **options)["mrr"] == 1
    top = tr.TopK(np.array([[0, 0, 1]]), scores[None])
    by_place = retrieval.Task({0: [0]}, entities=2)
    assert by_place.evaluate_lists(top, **options)["mrr"] == 1


def test_entries_that_come_twice_are_refused_unless_said(tmp_path: Path) -> None:
    task = retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    entries = pd.DataFrame({"query": "q", "document": ["a", "b", "a"], "score": [0.2, 0.5, 0.9]})
    with pytest.raises(
        tr.InputValueError, match=r"twice, with .*; 1 of 1 list .*; duplicates= says what"
    ):
        task.evaluate_lists(entries)
    with pytest.raises(tr.InputValueError, match=r"'a' twice; 1 of 1 list .*; duplicates= says"):
        task.evaluate_lists(entries.drop(columns="score"))
    with pytest.raises(tr.InputValueError, match="every id at most once in a list"):
        retrieval.Task({0: [0]}, entities=2).evaluate_lists(tr.TopK([[0, 0]], [[0.2, 0.1]]))
    with pytest.raises(tr.InputValueError, match="duplicates: "):
        task.evaluate_lists(tr.TopK([[0, 1]], [[0.2, 0.1]]), duplicates="drop")
    path = tmp_path / "run.tsv"
    entries.to_csv(path, sep="\t", index=False)
    run = tr.read_run(path, duplicates="first")
    assert run["q"] == {"b": 0.5, "a": 0.9}
    with pytest.raises(
        tr.InputValueError, match=r"read_run kept the greatest .* hand over the pat"
    ):
        task.evaluate_lists(run, order="ascending")
    best = task.evaluate_lists(path, order="ascending", duplicates="first")
    assert best["mrr"] == 1
    once = entries[1:]
    once.to_csv(path, sep="\t", index=False)
    run = tr.read_run(path, duplicates="first")
    assert task.evaluate_lists(run, order="ascending")["mrr"] == 0.5  # Nothing came twice.


def test_lists_of_triples_that_were_joined_are_rows_of_a_topk(tmp_path: Path) -> None:
    """Each triple has a list, from which the query's other answers are left out."""
    facts = [("a", "likes", "b"), ("a", "likes", "c")]
    task = link_prediction.Task(facts, {}, entities=list("abcd"), sides=["tail"])
    joined = {("a", "likes"): ["b", "d", "c", "d"]}
    ranked = pd.DataFrame({"head": "a", "relation": "likes", "tail": list("bdcd")})
    scored = ranked.assign(score=[0.4, 0.1, 0.5, 0.45])
    assert task.evaluate_lists(joined, duplicates="first")["mrr"] == 0.75
    ranked.to_csv(tmp_path / "lists.tsv", sep="\t", index=False)
    order_alone = (joined, ranked, ranked.assign(rank=[1, 2, 1, 3]), tmp_path / "lists.tsv")
    for lists in order_alone:
        with pytest.raises(tr.InputValueError, match=r"; duplicates= says what a repeat is$"):
            task.evaluate_lists(lists)
    with pytest.raises(tr.InputValueError, match=r"; duplicates= says what a repeat is$"):
        task.evaluate_lists(scored)
    ids = np.array([[1, 3], [2, 3]])
    assert task.evaluate_lists(tr.TopK(ids, None))["mrr"] == 1  # type: ignore[arg-type]
    assert task.evaluate_lists(tr.TopK(ids, scored["score"].to_numpy().reshape(2, 2)))["mrr"] == 1


def test_pads_of_lists_by_query_are_left_out() -> None:
    """Those of a `TopK`, an array, have a meaning; of a label -1 nothing is said."""
    ids = np.array([3, -1, -1])
    task = retrieval.Task({0: [3], 1: [2]}, entities=5)
    for lists, options in (
        ({0: ids, 1: [4, 2]}, {}),
        ({0: ids.tolist(), 1: [4, 2]}, {"duplicates": "first"}),
        ({0: [3, -1], 1: [4, 2]}, {}),
    ):
        with pytest.raises(
            tr.InputValueError, match="lists are of unlike lengths, without padding"
        ) as refused:
            task.evaluate_lists(lists, **options)
        assert "duplicates=" not in str(refused.value)
    assert task.evaluate_lists({0: ids[ids != -1], 1: [4, 2]})["mrr"] == 0.75
    padded: Any = [[3, -1], [4, 2]]
    with pytest.raises(tr.InputValueError, match="of a row of an array, got -1"):
        task.evaluate_lists(tr.TopK(padded, None))  # type: ignore[arg-type]
    assert task.evaluate_lists(tr.TopK(np.array(padded), None))["mrr"] == 0.75  # type: ignore[arg-type]
    assert retrieval.Task({0: [-1]}, entities=[-1, 3]).evaluate_lists({0: [3, -1]})["mrr"] == 0.5


def test_keys_that_are_roles_are_columns() -> None:
    """With a number, too: equal lengths alone make them columns."""
    scored = {"user": ["u", "u", "v"], "item": ["b", "a", "c"], "score": [0.9, 0.5, 0.1]}
    task = retrieval.Task({"u": ["a", "b"], "v": ["c"]}, entities=["a", "b", "c", "u", "v"])
    for score in (list, np.array, pd.Series):
        columns = scored | {"score": score(scored["score"])}
        with pytest.raises(tr.InputTypeError, match=r"which a table has; keys are queries$"):
            task.evaluate_lists(columns)
    assert task.evaluate_lists(pd.DataFrame(scored))["map"] == 1


@pytest.mark.parametrize("others", [{"item": ["a", "b"]}, {"ann": ["a"]}, {"query": ["b"]}, {}])
def test_queries_may_be_called_as_roles(others: Any) -> None:
    """Where lengths differ, or other queries are there, or no column of documents is."""
    qrels = {"user": ["b"], **others}
    task = retrieval.Task(qrels, entities=["a", "b"])
    assert task.evaluate_lists({query: ["a", "b"] for query in [*qrels, "u"]})["success@2"] == 1
    assert task.evaluate_lists({query: {"a": 0.5, "b": 0.25} for query in qrels})["success@2"] == 1


def test_columns_are_of_tables() -> None:
    task = retrieval.Task({0: [0]}, entities=2)
    columns = {"query": "q", "document": "d"}
    for lists in ({0: [0]}, tr.TopK([[0]], [[1.0]])):
        assert task.evaluate_lists(lists)["mrr"] == 1
        with pytest.raises(
            tr.InputTypeError, match=r"columns: expected None, as a .* no columns to"
        ):
            task.evaluate_lists(lists, columns=columns)
