"""An index of its own; containers whose columns have names."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task

Array = npt.NDArray[Any]
pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]
TARGETS = [1, 0]
N = 60
RNG = np.random.default_rng(0)
FACTS = np.unique(RNG.integers(0, (12, 2, 12), (150, 3)), axis=0)


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(FACTS, {}, entities=N, relations=2)


# -- an index of its own ---------------------------------------------------------------------------


def test_an_index_of_its_own_is_heeded_or_refused() -> None:
    pandas = pytest.importorskip("pandas", reason="Series of pandas")
    qrels = {"a": ["x"], "b": ["y"], "c": ["z"]}
    scores = np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.5], [0.4, 0.1, 0.7]])

    def call(queries: Any) -> Any:
        task = tr.retrieval.Task(qrels, entities=["x", "y", "z"], queries=queries)
        return task.evaluate_scores(scores)["mrr"]

    labels = ["a", "b", "c"]
    right = call(labels)
    moved = pandas.Series(["c", "a", "b"], index=[2, 0, 1])
    words = "^queries.*: expected an index numbered 0, 1, 2, ..., got 2 at position 0"
    refusal(ValueError, words, call, moved)
    assert call(moved.sort_index()) == right
    gaps = pandas.Series([*labels, "c"], index=range(4)).drop([1, 3])
    gaps = pandas.concat([gaps, pandas.Series(["b"], index=[7])])
    refusal(ValueError, words.partition(", got")[0], call, gaps)
    for index in (None, np.arange(3, dtype=np.uint8), pandas.Index([0, 1, 2], dtype=object)):
        assert call(pandas.Series(labels, index=index)) == right
    assert call(pandas.DataFrame(index=labels).index) == right
    assert call(pandas.Series(labels, index=[2, 0, 1]).to_numpy()) == right


def test_rows_of_a_frame_have_an_index_too() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    task = Task([("b", "r", "a"), ("a", "r", "b")], {}, entities=NAMES, relations=["r"])[:2]
    vectors = {"tail": VALUES, "head": VALUES}
    keys = pandas.DataFrame({"head": ["a", "b", "b"], "relation": ["r"] * 3})
    tails = pandas.DataFrame({"tail": ["a", "b"], "relation": ["r"] * 2})
    once = keys.drop_duplicates(keep="last").iloc[::-1]
    rows = {"tail": once, "head": tails}
    words = "^row_queries: tail: expected rows numbered 0, 1, 2, ..., got 2 at position 0"
    refusal(ValueError, words, task.evaluate_scores, **vectors, row_queries=rows)
    columns = {"tail": (once["head"], once["relation"]), "head": tails}
    words = "^row_queries: tail: expected an index numbered 0, 1, 2, ..."
    refusal(ValueError, words, task.evaluate_scores, **vectors, row_queries=columns)
    right = task.evaluate_scores(
        **vectors, row_queries={"tail": [("b", "r"), ("a", "r")], "head": [("r", "a"), ("r", "b")]}
    )
    for in_order in (once.to_numpy(), once.reset_index(drop=True)):
        given = {"tail": in_order, "head": tails}
        assert task.evaluate_scores(**vectors, row_queries=given).ranks == right.ranks


def test_where_order_says_nothing_an_index_may_be_any() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    facts = pandas.DataFrame(
        {"head": ["b", "a"], "relation": ["r", "r"], "tail": ["a", "b"]}, index=[7, 3]
    )
    candidates = {"tail": pandas.Series(list(NAMES), index=[5, 1, 2])}
    for rows in (facts, tuple(facts[name] for name in facts)):
        Task(rows, {}, entities=NAMES, relations=["r"], sides=["tail"], candidates=candidates)


# -- containers whose columns have names -----------------------------------------------------------


NAMES = ("b", "a", "c")
VALUES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.3]])


def table_of_arrow(values: Array, names: Any = None) -> Any:
    pyarrow = pytest.importorskip("pyarrow", reason="tables of Arrow")
    return pyarrow.table(dict(zip(names or "012", values.T, strict=True)))


def batch_of_arrow(values: Array, names: Any = None) -> Any:
    return table_of_arrow(values, names).to_batches()[0]


def frame_of_dask(values: Array, names: Any = None) -> Any:
    dask = pytest.importorskip("dask.dataframe", reason="frames of Dask")
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    return dask.from_pandas(pandas.DataFrame(values, columns=names), npartitions=1)


def array_of_xarray(values: Array, names: Any = None) -> Any:
    xarray = pytest.importorskip("xarray", reason="arrays of xarray")
    coords = {} if names is None else {"entity": list(names)}
    return xarray.DataArray(values, dims=("query", "entity"), coords=coords)


CONTAINERS = [table_of_arrow, batch_of_arrow, frame_of_dask, array_of_xarray]


@pytest.mark.parametrize("container", CONTAINERS)
def test_names_of_columns_are_heeded_or_refused(container: Any) -> None:
    facts = [("b", "r", "a"), ("a", "r", "b")]
    of_names = Task(facts, {}, entities=NAMES, relations=["r"], sides=["tail"])
    expected = of_names.evaluate_scores(VALUES).ranks
    assert of_names.evaluate_scores(container(VALUES, NAMES)).ranks == expected
    order = [1, 2, 0]
    moved = container(VALUES[:, order], [NAMES[i] for i in order])
    words = "^tail: expected columns in the order of task.entities, got .*; arrays have no names$"
    refusal(ValueError, words, of_names.evaluate_scores, moved)
    for names in (NAMES, tuple("xyz")):
        refusal(ValueError, "^scores: ", tr.rank, container(VALUES, names), TARGETS)
        mask = container(VALUES == 0.3, names)
        refusal(ValueError, "^filter: ", tr.rank, VALUES, TARGETS, filter=mask)
        vectors = container(VALUES, names)
        refusal(ValueError, "numbered", tr.rank_embeddings, vectors, VALUES, TARGETS)
        refusal(ValueError, "numbered", tr.rank_embeddings, VALUES, vectors, TARGETS)


@pytest.mark.parametrize("container", CONTAINERS)
def test_columns_without_names_stand_by_position(container: Any) -> None:
    assert tr.rank(container(VALUES), TARGETS) == tr.rank(VALUES, TARGETS)
    mask = VALUES == 0.3
    expected = tr.rank(VALUES, TARGETS, filter=mask)
    assert tr.rank(VALUES, TARGETS, filter=container(mask)) == expected
    expected = tr.rank_embeddings(VALUES, VALUES, TARGETS)
    assert tr.rank_embeddings(container(VALUES), container(VALUES), TARGETS) == expected


@pytest.mark.parametrize("container", CONTAINERS[:2] + CONTAINERS[3:])
def test_dimensions_of_vectors_are_compared(container: Any) -> None:
    named = container(VALUES, NAMES)
    expected = tr.rank_embeddings(VALUES, VALUES, TARGETS)
    assert tr.rank_embeddings(named, container(VALUES, NAMES), TARGETS) == expected
    moved = container(VALUES[:, [1, 0, 2]], [NAMES[i] for i in (1, 0, 2)])
    refusal(ValueError, "^queries: expected columns", tr.rank_embeddings, named, moved, TARGETS)


def test_numbers_as_names_are_names_where_entities_have_them() -> None:
    polars = pytest.importorskip("polars", reason="frames of polars")
    for names, moved in (
        (("1", "0", "2"), table_of_arrow(VALUES)),
        (("column_1", "column_0", "column_2"), polars.DataFrame(VALUES)),
    ):
        facts = [(names[0], "r", names[1]), (names[1], "r", names[0])]
        of_names = Task(facts, {}, entities=names, relations=["r"], sides=["tail"])
        refusal(ValueError, "in the order of task.entities", of_names.evaluate_scores, moved)
        right = table_of_arrow(VALUES, names)
        assert of_names.evaluate_scores(right).ranks == of_names.evaluate_scores(VALUES).ranks
    mixed = table_of_arrow(VALUES).set_column(0, "0", [[1, 0]])
    refusal(TypeError, "columns of one dtype, got int64 in '0'", tr.rank, mixed, TARGETS)


def test_rows_of_xarray_have_names_too() -> None:
    xarray = pytest.importorskip("xarray", reason="arrays of xarray")
    qrels = {"q": ["a"], "p": ["b"]}
    of_queries = tr.retrieval.Task(qrels, entities=NAMES, queries=["q", "p"])
    coords = {"query": ["q", "p"], "entity": list(NAMES), "run": 3}
    right = xarray.DataArray(VALUES, dims=("query", "entity"), coords=coords)
    expected = of_queries.evaluate_scores(VALUES).ranks
    assert of_queries.evaluate_scores(right).ranks == expected
    turned = right[::-1]
    refusal(ValueError, "^scores: expected rows", of_queries.evaluate_scores, turned)
    in_order = turned.sel(query=["q", "p"])
    assert of_queries.evaluate_scores(in_order).ranks == expected
    rows = [right[0], right[1]]
    refusal(ValueError, "^scores: ", tr.rank, rows, TARGETS)
    unnamed = [row.drop_vars("entity") for row in rows]
    assert tr.rank(unnamed, TARGETS) == tr.rank(VALUES, TARGETS)
    bias = xarray.DataArray([0.5, 1.0, 2.0], dims="entity", coords={"entity": [1, 0, 2]})
    refusal(ValueError, "^bias", tr.rank_embeddings, VALUES, np.eye(3), TARGETS, bias=bias)
    numbered = bias.assign_coords(entity=range(3))
    tr.rank_embeddings(VALUES, np.eye(3), TARGETS, bias=numbered)
