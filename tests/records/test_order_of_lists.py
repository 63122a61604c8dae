"""A rank beside a score; shapes that toolkits have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import truerank as tr
from truerank import link_prediction, retrieval

# -- a rank beside a score -------------------------------------------------------------------------


def reranked(n_queries: int, length: int) -> pd.DataFrame:
    """Return lists whose scores rise with the ranks of a first stage."""
    places = np.arange(n_queries * length)
    documents = [f"d{i % length}" for i in places]
    queries = [f"q{i // length}" for i in places]
    numbers = {"rank": places % length + 1, "score": places % length / 10}
    return pd.DataFrame({"query": queries, "document": documents, **numbers})


@pytest.mark.parametrize("shape", [(1, 2), (2, 5), (1, 11), (5, 2)])
@pytest.mark.parametrize("form", ["frame", "header", "trec"])
def test_few_ranks_that_rise_with_scores_are_those_of_a_first_stage(
    tmp_path: Path, shape: tuple[int, int], form: str
) -> None:
    """The scores decide, and the source says so."""
    lists: Any = reranked(*shape)
    task = retrieval.Task({"q0": ["d0"]}, entities=[f"d{i}" for i in range(11)])
    source = "ids (left out: columns rank)"
    if form != "frame":
        path = tmp_path / "run.txt"
        source = f"{path} (TREC run)"
        if form == "header":
            lists.to_csv(path, sep="\t", index=False)
            source = f"{path} (run with a header: query, document, score; left out: rank)"
        else:
            rows = lists.itertuples(index=False, name=None)
            path.write_text("".join(f"{q} Q0 {d} {rank} {score} t\n" for q, d, rank, score in rows))
        lists = path
    report = task.evaluate_lists(lists)
    assert report["mr"] == shape[1]
    assert report.ranks.protocol.files == (source,)


@pytest.mark.parametrize("shape", [(1, 12), (4, 3), (6, 2)])
def test_many_ranks_that_rise_with_scores_are_refused(shape: tuple[int, int]) -> None:
    """They are distances, or the best is last, unless another query says otherwise."""
    lists = reranked(*shape)
    task = retrieval.Task({"q0": ["d0"]}, entities=[f"d{i}" for i in range(12)])
    with pytest.raises(tr.InputValueError, match=r"ranks rise with the scores in . of . quer"):
        task.evaluate_lists(lists)
    assert task.evaluate_lists(lists, order="ascending")["mr"] == 1
    assert task.evaluate_lists(lists, order="descending")["mr"] == shape[1]
    other = lists[: shape[1]].assign(query="p", score=-lists["score"])
    both = retrieval.Task({"q0": ["d0"], "p": ["d0"]}, entities=[f"d{i}" for i in range(12)])
    assert both.evaluate_lists(pd.concat([lists, other]))["mr"] == (shape[1] + 1) / 2


@pytest.mark.parametrize("name", ["distance", "_distance", "Distances", "dist"])
@pytest.mark.parametrize("form", ["frame", "header"])
def test_a_column_of_distances_is_refused_in_any_order(
    tmp_path: Path, name: str, form: str
) -> None:
    """Its rows came from a database, unsorted: the worst document was taken for the best."""
    rows = {"query": ["q"] * 3, "document": ["b", "a", "c"], name: [0.5, 0.25, 0.75]}
    lists: Any = pd.DataFrame(rows)
    if form == "header":
        lists.to_csv(tmp_path / "hits.csv", index=False)
        lists = tmp_path / "hits.csv"
    task = retrieval.Task({"q": ["a"]})
    options = {"columns": {"query": "query", "document": "document", "score": name}}
    words = f"scores are of a column '{name}'; order= says whether higher or lower scores"
    with pytest.raises(tr.InputValueError, match=words):
        task.evaluate_lists(lists, **options)
    assert task.evaluate_lists(lists, order="ascending", **options)["mr"] == 1
    assert task.evaluate_lists(lists, order="descending", **options)["mr"] == 3
    similar = pd.DataFrame(rows).rename(columns={name: f"1 - {name}"})
    options["columns"]["score"] = f"1 - {name}"
    assert task.evaluate_lists(similar, **options)["mr"] == 3


def test_few_entries_that_rise_among_many_that_tie_are_taken() -> None:
    """One list of two entries says nothing, however many others have equal scores."""
    ties = reranked(5, 4).assign(score=1.0)
    first = reranked(1, 2).assign(query="p")
    task = retrieval.Task({"p": ["d0"], "q0": ["d0"]}, entities=[f"d{i}" for i in range(4)])
    assert task.evaluate_lists(pd.concat([ties, first]))["optimistic.mrr"] == 0.75


def test_lists_of_unknown_queries_are_refused_where_all_are_known() -> None:
    """With queries= no list is left over; the twin names it in the audit."""
    lists = {"q": ["a"], "p": ["b"]}
    with pytest.raises(tr.InputValueError, match=r"ids: .*'p'"):
        retrieval.Task({"q": ["a"]}, entities=["a", "b"], queries=["q"]).evaluate_lists(lists)
    report = retrieval.Task({"q": ["a"]}, entities=["a", "b"]).evaluate_lists(lists)
    assert report.audit("unused lists")[0].count == 1


# -- shapes that toolkits have ---------------------------------------------------------------------


HITS = [{"corpus_id": "b", "score": 0.9}, {"corpus_id": "a", "score": 0.5}]
ROWS = [("q", "b", 0.9), ("q", "a", 0.5)]
PAIRS_OF_Q = [("b", 0.9), ("a", 0.5)]
SERIES = pd.Series([0.9, 0.5], pd.MultiIndex.from_tuples([("q", "b"), ("q", "a")]))
AS_TABLE = [{"query": "q", "document": name, "score": score} for _, name, score in ROWS]
COLUMNS = ["query", "document", "score"]

# What is refused, what its message says of it, and the same in a form that is taken.
SHAPES = [
    ({"q": PAIRS_OF_Q}, "an id and a number; a table has a row for each", {"q": dict(PAIRS_OF_Q)}),
    (
        {"q": [*map(list, PAIRS_OF_Q)]},
        "an id and a number; a table has a row for each",
        {"q": dict(PAIRS_OF_Q)},
    ),
    (
        {"q": (["b", "a"], [0.9, 0.5])},
        "a list of 2, where one id stands",
        {"q": dict(zip("ba", [0.9, 0.5], strict=True))},
    ),
    (
        {"q": HITS},
        "a dict with keys 'corpus_id', 'score'; a table has a row for each hit",
        {"q": {x["corpus_id"]: x["score"] for x in HITS}},
    ),
    (AS_TABLE, "a list of dicts; a table has a row for each", pd.DataFrame(AS_TABLE)),
    (ROWS, "a list of tuples; a table has a row for each", pd.DataFrame(ROWS, columns=COLUMNS)),
    ([["b", "a"]], "got a list$", dict(zip("q", [["b", "a"]], strict=True))),
    (SERIES, r"got Series of shape \(2,\)", SERIES.reset_index().set_axis(COLUMNS, axis=1)),
    (
        pd.Series({"q": ["b", "a"]}),
        r"got Series of shape \(1,\)",
        pd.Series({"q": ["b", "a"]}).to_dict(),
    ),
]


@pytest.mark.parametrize(("shape", "words", "right"), SHAPES, ids=range(len(SHAPES)))
def test_other_shapes_are_said_to_be_so(shape: Any, words: str, right: Any) -> None:
    task = retrieval.Task({"q": ["a"]}, entities=["a", "b"])
    with pytest.raises(tr.InputTypeError, match=f"^ids: expected .*{words}"):
        task.evaluate_lists(shape)
    assert task.evaluate_lists(right)["mrr"] == 0.5


def test_other_shapes_of_lists_by_key_are_said_to_be_so(tmp_path: Path) -> None:
    task = link_prediction.Task([("a", "r", "b")], {}, entities=["a", "b", "c"], sides=["tail"])
    pairs = {("a", "r"): [("c", 0.9), ("b", 0.5)]}
    with pytest.raises(tr.InputTypeError, match="an id and a number; a table has a row for each"):
        task.evaluate_lists(pairs)
    right = {key: dict(value) for key, value in pairs.items()}
    assert task.evaluate_lists(right)["mrr"] == 0.5
    rows = [{"head": "a", "relation": "r", "tail": t, "score": s} for t, s in pairs["a", "r"]]
    with pytest.raises(tr.InputTypeError, match="a list of dicts; a table has a row for each"):
        task.evaluate_lists(rows)
    assert task.evaluate_lists(pd.DataFrame(rows))["mrr"] == 0.5
    facts = [{"head": "a", "relation": "r", "tail": "b"}]
    with pytest.raises(tr.InputTypeError, match="a list of dicts; a table has a row for each"):
        link_prediction.Task(facts, {})
    path = tmp_path / "predictions"
    path.write_text("a r b\nHeads: a\t0.9\t\nTails: c\t0.5\tb\t0.25\t\n")
    with pytest.raises(tr.InputValueError, match="a row, or a line, for each entry, got 1 columns"):
        task.evaluate_lists(path)
