"""Scores, vectors, masks and negatives: what is handed over is used or refused; beside it a twin.

A twin is an ordinary call that is nearly the same, and goes on without a word.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import truerank as tr
from support.refusals import refusal
from truerank.link_prediction import Task

Array = npt.NDArray[Any]

pytestmark = [pytest.mark.python_only, pytest.mark.filterwarnings("error")]

TRUE = np.array([0.9, 0.2, 0.8])
NEGATIVES = np.array([[0.5, 0.95], [0.1, 0.15], [0.3, 0.4]])
SCORES = np.array([[0.1, 0.9, 0.5], [0.7, 0.2, 0.2]])
TARGETS = [1, 0]


def mrr(ranks: tr.Ranks) -> float:
    return tr.report(ranks)["mrr"]


# -- negatives -------------------------------------------------------------------------------------


def test_negatives_of_several_tasks_in_one_dimension_are_refused_with_both_ways_out() -> None:
    flat = NEGATIVES.ravel()
    message = refusal(ValueError, "^others: .* for 3 tasks", tr.rank_against, TRUE, flat)
    for line, right in ((r"others\[None\]", 0.4), (r"others\.reshape\(3, -1\)", 2.5 / 3)):
        found = re.search(line, message)
        assert found is not None
        others = eval(found[0], {"others": flat})
        assert mrr(tr.rank_against(TRUE, others)) == pytest.approx(right)
    refusal(ValueError, "^others: ", tr.rank_against, TRUE[:, None], flat)
    refusal(ValueError, "^others: ", tr.rank_against, TRUE, flat[:3])
    refusal(ValueError, "^others: ", tr.compat.report, TRUE, others=flat, preset="ogb")


def test_negatives_that_say_whose_they_are_go_on() -> None:
    one = tr.rank_against(TRUE[:1], NEGATIVES[0])
    assert one == tr.rank_against(TRUE[:1], NEGATIVES[:1])
    assert mrr(one) == 0.5
    for_all = tr.rank_against(TRUE, NEGATIVES[:1])
    assert for_all == tr.rank_against(TRUE, NEGATIVES[[0, 0, 0]])
    flat = (np.array([0, 2, 4, 6]), NEGATIVES.ravel())
    assert tr.rank_against(TRUE, flat) == tr.rank_against(TRUE, NEGATIVES)
    assert len(tr.rank_against([], [])) == 0
    found = tr.compat.report(TRUE, others=NEGATIVES.reshape(1, 6), preset="ogb")
    assert found["mrr_list"] == pytest.approx(0.4)


def test_negatives_without_the_right_answer_are_told_how_to_go_on() -> None:
    negatives = np.array([[0, 2], [1, 2]])
    lists = list(negatives)
    refusal(ValueError, "negatives alone, add it", tr.rank, SCORES, TARGETS, candidates=lists)
    with_target = list(np.column_stack([negatives, TARGETS]))
    assert tr.rank(SCORES, TARGETS, candidates=with_target) == tr.rank(
        SCORES, TARGETS, candidates=[[0, 1, 2]] * 2
    )


# -- rows of one query -----------------------------------------------------------------------------

N = 60
RNG = np.random.default_rng(0)
FACTS = np.unique(RNG.integers(0, (12, 2, 12), (150, 3)), axis=0)
MODEL = RNG.normal(size=(N, 2, N))
SWAPPED = "(head|tail): in .* a query has other scores than in its first row; row i belongs to test"


@pytest.fixture(scope="module")
def task() -> Task:
    return Task(FACTS, {}, entities=N, relations=2)


def rows_of_sides(model: Array) -> tuple[Array, Array]:
    head, relation, tail = FACTS.T
    return model[head, relation].copy(), model.transpose(2, 1, 0)[tail, relation].copy()


@pytest.mark.parametrize(("size", "spread"), [(0, 1), (-48, 0.1), (-48, 1), (-100, 1), (1e6, 50)])
def test_swapped_sides_are_seen_at_any_size_of_scores(
    task: Task, tmp_path: Path, size: float, spread: float
) -> None:
    tails, heads = rows_of_sides(np.float32(MODEL * spread + size))
    right = task.evaluate_scores(tail=tails, head=heads)
    np.save(tmp_path / "tails.npy", tails)
    np.save(tmp_path / "heads.npy", heads)
    with pytest.warns(UserWarning, match=SWAPPED):
        swapped = task.evaluate_scores(tail=heads, head=tails)
    with pytest.warns(UserWarning, match=SWAPPED):
        task.evaluate_scores(tail=tmp_path / "heads.npy", head=tmp_path / "tails.npy")
    assert swapped["mrr"] != right["mrr"]


def test_swapped_vectors_are_seen_beside_a_large_bias(task: Task) -> None:
    head, relation, tail = FACTS.T
    of_tails, of_heads = RNG.normal(size=(2, N, 2, 8))
    vectors = {"tail": of_tails[head, relation], "head": of_heads[tail, relation]}
    options = {"entities": RNG.normal(size=(N, 8)), "bias": np.full(N, -480.0)}
    task.evaluate_embeddings(**vectors, **options)
    task.evaluate_embeddings(vectors["tail"] + 1e-9, head=vectors["head"] - 1e-9, **options)
    with pytest.warns(UserWarning, match=SWAPPED):
        task.evaluate_embeddings(vectors["head"], head=vectors["tail"], **options)


def steps(scores: Array, bits: int) -> Array:
    """Move some scores to a neighbour among numbers that have fewer bits."""
    ulps = np.spacing(np.abs(scores)) * 2.0**bits
    return np.asarray(scores + ulps * RNG.integers(-1, 2, scores.shape), scores.dtype)


def test_rows_that_differ_by_rounding_or_by_masks_are_no_others(task: Task) -> None:
    for size, spread in ((0, 1), (-48, 1), (-12, 0.3)):
        tails, heads = rows_of_sides(np.float32(MODEL * spread + size))
        ways = [(steps(tails, 0), steps(heads, 0))]
        both = []
        masked = []
        for rows, targets in ((tails, FACTS[:, 2]), (heads, FACTS[:, 0])):
            both.append(steps((rows.view(np.uint32) >> 16 << 16).view(np.float32), 16))
            is_masked = RNG.random(rows.shape) < 0.3
            is_masked[np.arange(len(rows)), targets] = False
            masked.append(np.where(is_masked, -np.inf, rows))
        for tail, head in (*ways, both, masked):
            assert not np.array_equal(tail, tails)
            task.evaluate_scores(tail=tail, head=head)
    tails, heads = rows_of_sides(np.float16(MODEL * 0.1 - 48))
    task.evaluate_scores(tail=steps(tails, 0), head=steps(heads, 0))
    flat = steps(np.full((len(FACTS), N), np.float32(-48)), 0)
    task.evaluate_scores(tail=flat, head=flat.copy())
    # Of few candidates, scores are as near as rounding is in one of some rows.
    pairs = np.stack([np.arange(200) // 2, np.zeros(200, int), np.arange(200) % 2], axis=1)
    model = np.repeat(np.float32(RNG.normal(size=(100, 100))), 2, axis=0)
    model[:4, 1] = model[:4, 0]
    bfloat16 = (model.view(np.uint32) >> 16 << 16).view(np.float32)
    of_few = Task(pairs, {}, entities=100, relations=1, sides=["tail"], candidates=[0, 1])
    for _ in range(5):
        of_few.evaluate_scores(steps(bfloat16, 16))


def test_other_scores_around_0_are_seen_by_their_size(task: Task) -> None:
    tails, heads = rows_of_sides(MODEL)
    with pytest.warns(UserWarning, match=SWAPPED):
        task.evaluate_scores(tail=tails, head=heads + RNG.normal(size=heads.shape) * 0.1)


def test_one_array_for_both_sides_is_a_finding(task: Task, tmp_path: Path) -> None:
    popular = np.tile(RNG.normal(size=N), (len(FACTS), 1))
    np.save(tmp_path / "scores.npy", popular)
    words = "the sides head and tail were given one array"
    for one, other in ((popular, popular), [tmp_path / "scores.npy" for _ in range(2)]):
        report = task.evaluate_scores(tail=one, head=other)
        assert [f.message for f in report.audit() if f.name == "one array"] == [words]
    vectors = np.ones((len(FACTS), 4))
    report = task.evaluate_embeddings(vectors, head=vectors, entities=RNG.normal(size=(N, 4)))
    assert "one array" in [finding.name for finding in report.audit()]
    report = task.evaluate_scores(tail=popular, head=popular.copy())
    assert "one array" not in [finding.name for finding in report.audit()]


# -- selections ------------------------------------------------------------------------------------

EMPTY = np.zeros(0, np.int64)
NONE = np.zeros((0, 3))


@pytest.mark.parametrize("size", [2, 3])
def test_no_lists_are_a_selection_of_no_tasks(size: int) -> None:
    for name in ("filter", "candidates"):
        ranks = tr.rank(NONE, [], **{name: (EMPTY,) * size})
        assert ranks == tr.rank(NONE, [], **{name: (np.zeros(1, int), *(EMPTY,) * (size - 1))})
        refusal(ValueError, f"^{name}", tr.rank, SCORES, TARGETS, **{name: (EMPTY,) * size})
    nothing = (EMPTY, np.zeros(0))
    assert tr.rank_against([], nothing) == tr.rank_against([], np.zeros((0, 2)))
    assert len(tr.rank_lists((EMPTY, EMPTY), None, [], candidates=3)) == 0
    assert len(tr.rank_embeddings(NONE, np.ones((2, 3)), [], rows=[], filter=(EMPTY, EMPTY))) == 0
    refusal(ValueError, "^others: .* an indptr", tr.rank_against, [], (EMPTY, np.zeros(2)))


def test_masks_of_numbers_are_refused_by_their_dtype_with_the_way_out() -> None:
    mask = np.array([[False, False, True], [False, True, False]])
    expected = tr.rank(SCORES, TARGETS, filter=mask)
    for numbers, line in (
        (mask.astype(float), "mask > 0"),
        (mask.astype(int), "mask > 0"),
        (np.where(mask, -np.inf, 0), "mask.astype(bool)"),
    ):
        words = f"^filter: .* dtype {numbers.dtype} .*{re.escape(line)}"
        refusal(TypeError, words, tr.rank, SCORES, TARGETS, filter=numbers)
        assert tr.rank(SCORES, TARGETS, filter=eval(line, {"mask": numbers})) == expected
    for_all = np.array([1.0, 1.0, 0.0])
    words = "^candidates: .* dtype float64 .*mask > 0"
    refusal(TypeError, words, tr.rank, SCORES, TARGETS, candidates=for_all)
    assert tr.rank(SCORES, TARGETS, candidates=for_all > 0).above.tolist() == [0, 0]


def test_pairs_of_task_and_column_are_told_their_lists() -> None:
    mask = np.array([[False, True, True], [True, False, False], [False, False, True]])
    scores = SCORES[[0, 1, 0]]
    pairs = np.argwhere(mask)
    message = refusal(TypeError, "^filter: ", tr.rank, scores, [0, 1, 0], filter=pairs)
    line = message.partition("in order, are ")[2]
    lists = eval(line, {"x": pairs, "np": np})
    assert tr.rank(scores, [0, 1, 0], filter=lists) == tr.rank(scores, [0, 1, 0], filter=mask)
    padded = np.array([[1, 2], [0, -1], [2, -1]])
    refusal(TypeError, "padded with -1", tr.rank, scores, [0, 1, 0], filter=padded)


def counter(**options: Any) -> tr.Ranks:
    counted = tr.RankCounter([0.5, 0.7], TARGETS_OF_MASKS, candidates=4, **options)
    counted.update(OF_MASKS)
    return counted.ranks()


OF_MASKS = np.array([[0.9, 0.1, 0.5, 0.3], [0.2, 0.7, 0.8, 0.1]])
TARGETS_OF_MASKS = [2, 1]
LISTED: dict[str, Any] = {"ids": [[0, 2, 3], [2, 1, 3]], "scores": None}
VECTORS_OF_MASKS: dict[str, Any] = {"queries": np.eye(2), "entities": OF_MASKS.T}
# What takes a filter, and what takes candidates, of two tasks and four columns.
SELECTING: dict[str, tuple[Any, tuple[str, ...]]] = {
    "rank": (lambda **x: tr.rank(OF_MASKS, TARGETS_OF_MASKS, **x), ("filter", "candidates")),
    "evaluate": (
        lambda **x: tr.evaluate(OF_MASKS, TARGETS_OF_MASKS, **x),
        ("filter", "candidates"),
    ),
    "counter": (counter, ("filter",)),
    "lists": (
        lambda **x: tr.rank_lists(**LISTED, targets=TARGETS_OF_MASKS, **{"candidates": 4, **x}),
        ("filter",),
    ),
    "vectors": (
        lambda **x: tr.rank_embeddings(**VECTORS_OF_MASKS, targets=TARGETS_OF_MASKS, **x),
        ("filter", "candidates"),
    ),
    "top k": (
        lambda **x: tr.topk_embeddings(**VECTORS_OF_MASKS, k=2, **x),
        ("filter", "candidates"),
    ),
}
CELLS = [(door, name) for door, (_, names) in SELECTING.items() for name in names]
ROWS_OF_BITS = np.array([[1, 0, 1, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(("door", "name"), CELLS)
def test_rows_of_0_and_1_are_no_lists(door: str, name: str) -> None:
    """As lists they would be those of columns 0 and 1."""
    call, _ = SELECTING[door]
    words = f"^{name}: list 0: expected indices, or a mask of bool, got a mask of integers"
    for rows in (ROWS_OF_BITS.tolist(), list(ROWS_OF_BITS), tuple(ROWS_OF_BITS.tolist())):
        if not isinstance(rows, tuple):
            refusal(ValueError, words, call, **{name: rows})
    call(**{name: ROWS_OF_BITS.astype(bool)})
    call(**{name: [[0, 1, 2], [1, 0]]})


def test_a_mask_of_bool_is_what_rows_of_0_and_1_mean() -> None:
    rows = [[0, 0, 1, 0]]
    refusal(ValueError, "a mask of bool", tr.rank, OF_MASKS[:1], [1], filter=rows)
    ranks = tr.rank(OF_MASKS[:1], [1], filter=np.array(rows, bool))
    assert ranks.above.tolist() == [2]
    torch = pytest.importorskip("torch", reason="rows of torch")
    for of_torch in (torch.tensor(rows), list(torch.tensor(rows))):
        refusal((ValueError, TypeError), "mask", tr.rank, OF_MASKS[:1], [1], filter=of_torch)


def test_lists_of_0_and_1_that_are_no_rows_go_on() -> None:
    assert tr.rank(OF_MASKS, TARGETS_OF_MASKS, filter=[[0], [1]]).above.tolist() == [0, 1]
    assert tr.rank(OF_MASKS, TARGETS_OF_MASKS, filter=[[0, 1], [1, 0]]).above.tolist() == [0, 1]
    assert tr.rank([[0.1, 0.2]], 0, filter=[[0, 1]]).above.tolist() == [0]


@pytest.mark.parametrize("door", SELECTING)
def test_a_filter_that_is_true_at_what_may_be_ranked_is_refused(door: str) -> None:
    """As the mask `strict_negative_mask` of ULTRA and NBFNet is, which has no true candidate."""
    call, names = SELECTING[door]
    may_be_ranked = np.array([[True, True, False, True], [True, False, False, True]])
    words = "^filter: leaves out 2.5 of 4 candidates on average; filter=~mask .*; candidates=mask "
    message = refusal(ValueError, words, call, filter=may_be_ranked)
    assert message.endswith("what may be ranked")
    call(filter=~may_be_ranked)
    call(filter=may_be_ranked & [True, True, False, False])  # half of all
    if "candidates" in names and door != "top k":
        refusal(ValueError, "is not among its candidates", call, candidates=may_be_ranked)


def test_the_way_out_of_a_mask_leads_to_the_right_number() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(200, 500))
    targets = rng.integers(0, 500, 200)
    known = rng.random((200, 500)) < 0.014
    known[np.arange(200), targets] = True
    right = mrr(tr.rank(scores, targets, filter=known))
    strict_negative_mask = ~known
    refusal(ValueError, "of 500", tr.rank, scores, targets, filter=strict_negative_mask)
    assert mrr(tr.rank(scores, targets, filter=~strict_negative_mask)) == right
    strict_negative_mask[np.arange(200), targets] = True
    assert mrr(tr.rank(scores, targets, candidates=strict_negative_mask)) == right


# -- an index of its own ---------------------------------------------------------------------------


def indexed_doors(path: Path) -> dict[str, tuple[str, Any]]:
    """Return what takes labels by position: the argument, and a call with three of them."""
    qrels = {"a": ["x"], "b": ["y"], "c": ["z"]}
    scores = np.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.5], [0.4, 0.1, 0.7]])
    facts = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")]
    entities = ["x", "y", "z"]
    top = tr.TopK([[0, 1], [1, 2], [2, 0]], [[2.0, 1.0]] * 3)

    def of_rows(keys: Any) -> Any:
        task = tr.retrieval.Task(qrels, entities=entities)
        return task.evaluate_scores(scores, row_queries=keys)["mrr"]

    def of_facts(labels: Any) -> Any:
        task = Task(facts, {}, entities=labels, relations=["r"], sides=["tail"])
        return task.evaluate_scores(scores)["mrr"]

    def of_run(**names: Any) -> str:
        tr.write_run(path, top, **names)
        return path.read_text()

    return {
        "entities": ("entities", of_facts),
        "left": ("left", lambda x: tr.alignment.Task([("a", 0)], left=x, right=1).names["left"]),
        "queries": (
            "queries",
            lambda x: tr.retrieval.Task(qrels, entities=entities, queries=x).evaluate_scores(
                scores
            )["mrr"],
        ),
        "row_queries": ("row_queries", of_rows),
        "write_run, entities": ("entities", lambda x: of_run(entities=x)),
        "write_run, queries": ("queries", lambda x: of_run(queries=x)),
    }


@pytest.mark.parametrize("door", indexed_doors(Path()))
def test_an_index_of_its_own_is_heeded_or_refused(door: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="Series of pandas")
    argument, call = indexed_doors(tmp_path / "run.txt")[door]
    labels = ["a", "b", "c"]
    right = call(labels)
    moved = pandas.Series(["c", "a", "b"], index=[2, 0, 1])
    words = f"^{argument}.*: expected an index numbered 0, 1, 2, ..., got 2 at position 0"
    message = refusal(ValueError, words, call, moved)
    scope = {"series": moved}
    assert call(eval(message.partition("; give ")[2].partition(", or ")[0], scope)) == right
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
    message = refusal(ValueError, words, task.evaluate_scores, **vectors, row_queries=rows)
    assert "frame.to_numpy() if they stand by position" in message
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


# -- keys ------------------------------------------------------------------------------------------

QRELS: Any = {"q": {"a": 1, "b": 2}, "p": {"b": 1}}


def search(**options: Any) -> tr.retrieval.Task:
    return tr.retrieval.Task(QRELS, entities=["a", "b", "c", "d"], queries=["q", "p"], **options)


def test_a_group_in_a_key_is_told_where_values_of_groups_are() -> None:
    scores = np.array([[0.5, 0.4, 0.1, 0.0], [0.1, 0.5, 0.2, 0.2]])
    report = search(groups=["heavy", "light"]).evaluate_scores(scores)
    refusal(KeyError, "group_values", report.__getitem__, "heavy.ndcg@10")
    assert report.group_values("ndcg@10")["light"] == 1
    of_tasks = tr.report(tr.rank(SCORES, TARGETS), by=["heavy", "light"])
    refusal(KeyError, "group_values", of_tasks.__getitem__, "heavy.mrr")
    assert of_tasks["mrr"] == 1


def test_err_does_not_propose_what_has_no_value_either() -> None:
    ties = search().evaluate_scores(np.array([[0.5, 0.5, 0.5, 0.1], [0.1, 0.2, 0.2, 0.2]]))
    refusal(KeyError, "take optimistic.err@k", ties.__getitem__, "err@1")
    assert ties["pessimistic.err@1"] <= ties["optimistic.err@1"]
    lists = {"q": ["c"], "p": ["c", "b"]}
    expected = search().evaluate_lists(lists, misses="expected")
    message = refusal(KeyError, "misses='bounds'", expected.__getitem__, "optimistic.err@1")
    assert "take optimistic" not in message
    bounds = search().evaluate_lists(lists, misses="bounds")
    assert bounds["pessimistic.err@1"] <= bounds["optimistic.err@1"]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("err@1", "reports of truerank.retrieval have err"),
        ("optimistic.err@1", "reports of truerank.retrieval have err"),
        ("gauc", "reports of truerank.retrieval have gauc"),
        ("mean_recip_rank", "did you mean mean_reciprocal_rank"),
        ("mean_ranks", "did you mean mean_rank"),
        ("hit@10", "did you mean hits@k"),
        ("ndgc@10", "did you mean ndcg@k"),
    ],
)
def test_near_names_are_proposed(key: str, near: str) -> None:
    report = tr.report(tr.rank(SCORES, TARGETS))
    refusal(KeyError, near, report.__getitem__, key)


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
    message = refusal(ValueError, "^tail: ", of_names.evaluate_scores, moved)
    line = message.partition("; give ")[2].partition(", or ")[0]
    scope = dict.fromkeys(("table", "frame", "array"), moved)
    in_order = eval(line, scope | {"task": of_names})
    assert of_names.evaluate_scores(in_order).ranks == expected
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
    message = refusal(ValueError, "^queries: ", tr.rank_embeddings, named, moved, TARGETS)
    line = message.partition("; give ")[2].partition(", or ")[0]
    scope = {"table": named, "array": named, "entities": moved}
    assert tr.rank_embeddings(eval(line, scope), moved, TARGETS) == expected


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
    message = refusal(ValueError, "^scores: expected rows", of_queries.evaluate_scores, turned)
    line = message.partition("; give ")[2].partition(", or ")[0]
    in_order = eval(line, {"array": turned, "task": of_queries, "queries": ["q", "p"]})
    assert of_queries.evaluate_scores(in_order).ranks == expected
    rows = [right[0], right[1]]
    refusal(ValueError, "^scores: ", tr.rank, rows, TARGETS)
    unnamed = [row.drop_vars("entity") for row in rows]
    assert tr.rank(unnamed, TARGETS) == tr.rank(VALUES, TARGETS)
    bias = xarray.DataArray([0.5, 1.0, 2.0], dims="entity", coords={"entity": [1, 0, 2]})
    refusal(ValueError, "^bias", tr.rank_embeddings, VALUES, np.eye(3), TARGETS, bias=bias)
    numbered = bias.assign_coords(entity=range(3))
    tr.rank_embeddings(VALUES, np.eye(3), TARGETS, bias=numbered)


# -- missing values, and vectors in a column -------------------------------------------------------

FLOATS = ("Float64", "Float32", "double[pyarrow]", "float32[pyarrow]")
INTEGERS = ("Int64", "UInt8", "int32[pyarrow]")
BOOLS = ("boolean", "bool[pyarrow]")


def pandas_with(dtype: str) -> Any:
    """Return pandas, if it has a dtype, or skip the test."""
    if "pyarrow" in dtype:
        pytest.importorskip("pyarrow", reason="dtypes of Arrow")
    return pytest.importorskip("pandas", reason="frames of pandas")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_frames_that_may_have_missing_numbers_are_read(dtype: str) -> None:
    pandas = pandas_with(dtype)
    whole = (VALUES * 10).round()
    frame = pandas.DataFrame(whole).astype(dtype)
    plain = frame.astype(dtype.replace("[pyarrow]", "").lower()).to_numpy()
    assert tr.rank(frame, TARGETS) == tr.rank(plain, TARGETS)
    assert tr.rank(frame.loc[0], 1) == tr.rank(plain[0], 1)
    missing = frame.copy()
    missing.iloc[0, 0] = pandas.NA
    with_nan = np.where(np.arange(6).reshape(2, 3) == 0, np.nan, whole)
    refusal(ValueError, "row 0, column 0 is NaN", tr.rank, missing, TARGETS)
    got = tr.rank(missing, TARGETS, nan="worst")
    assert dtype in INTEGERS or got.protocol.dtype == plain.dtype
    expected = tr.rank(with_nan.astype(got.protocol.dtype), TARGETS, nan="worst")
    assert got == expected
    if dtype in INTEGERS:
        ids = pandas.Series([1, None], dtype=dtype)
        refusal(TypeError, "missing values", tr.rank, VALUES, ids)
        assert tr.rank(VALUES, pandas.Series(TARGETS, dtype=dtype)) == tr.rank(VALUES, TARGETS)


@pytest.mark.parametrize("dtype", BOOLS)
def test_masks_have_no_missing_values(dtype: str) -> None:
    pandas = pandas_with(dtype)
    mask = VALUES == 0.3
    frame = pandas.DataFrame(mask).astype(dtype)
    expected = tr.rank(VALUES, TARGETS, filter=mask)
    assert tr.rank(VALUES, TARGETS, filter=frame) == expected
    for_all = pandas.Series([True, True, False], dtype=dtype)
    expected = tr.rank(VALUES, TARGETS, candidates=np.array([True, True, False]))
    assert tr.rank(VALUES, TARGETS, candidates=for_all) == expected
    frame.iloc[0, 0] = pandas.NA
    for_all[1] = pandas.NA
    refusal(ValueError, "^filter: .* missing", tr.rank, VALUES, TARGETS, filter=frame)
    refusal(ValueError, "^candidates: .* missing", tr.rank, VALUES, TARGETS, candidates=for_all)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_lists_of_one_length_are_vectors(dtype: str) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    vectors = np.array([[1, 0], [0, 1], [0.5, 0.5], [2, 1]], dtype)
    queries = np.array([[0.25, 0.75], [0.5, 0.25]], dtype)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(vectors.ravel()), 2)
    expected = tr.rank_embeddings(queries, vectors, [1, 0])
    chunks = pyarrow.chunked_array([lists[:1], lists[1:]])
    for column in (lists, chunks, pyarrow.table({"id": range(4), "v": lists})["v"]):
        assert tr.rank_embeddings(queries, column, [1, 0]) == expected
    part = tr.rank_embeddings(queries, lists[1:3], [1, 0])
    assert part == tr.rank_embeddings(queries, vectors[1:3], [1, 0])
    named = pyarrow.table({"id": range(4), "v": lists})
    refusal((TypeError, ValueError), "^entities: ", tr.rank_embeddings, queries, named, [1, 0])
    missing = pyarrow.array([[1.0, 0.0], None], lists.type)
    refusal(TypeError, "^entities: ", tr.rank_embeddings, queries, missing, [1, 0])
    assert tr.rank_embeddings(queries, pyarrow.array([[1.0, 0], [0, 1]], lists.type), [1, 0])


def test_other_columns_of_lists_are_told_how_they_become_vectors() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    expected = tr.rank_embeddings(VALUES, VALUES, TARGETS)
    for column in (pandas.Series(list(VALUES)), pyarrow.chunked_array([VALUES.tolist()])):
        message = refusal(TypeError, "dtype object", tr.rank_embeddings, VALUES, column, TARGETS)
        vectors = eval(
            message.partition("; ")[2].partition(" makes ")[0], {"np": np, "column": column}
        )
        assert tr.rank_embeddings(VALUES, vectors, TARGETS) == expected


def test_a_filter_may_be_a_column_of_lists_of_one_length() -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="columns of Arrow")
    lists = pyarrow.array([[0, 2], [1, 2]], pyarrow.list_(pyarrow.int64(), 2))
    expected = tr.rank(VALUES, TARGETS, filter=[[0, 2], [1, 2]])
    assert tr.rank(VALUES, TARGETS, filter=lists) == expected


def test_sparse_scores_are_told_how_to_be_dense() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    scores = sparse.csr_array(np.array([[0.0, 2.0, 1.0]]))
    words = r"^scores: expected \.toarray\(\) of it, got csr_array$"
    refusal(TypeError, words, tr.rank, scores, [2])
    refusal(TypeError, words, tr.evaluate, scores, [2])
    assert tr.rank(scores.toarray(), [2]).optimistic.tolist() == [2]
