"""Error cases: the worst tasks and their best candidates, against a full sort."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import truerank as tr
from truerank.link_prediction import Task, error_cases
from truerank.link_prediction.top_candidates import TaskCounts, read_row, top_columns

pytestmark = pytest.mark.python_only

Array = npt.NDArray[Any]

ENTITIES = ("ann", "bob", "cid", "dee", "eve", "fay")
TEST = [("ann", "likes", "bob"), ("cid", "likes", "bob"), ("ann", "knows", "eve")]
KNOWN = {"train": [("ann", "likes", "cid"), ("dee", "likes", "bob"), ("fay", "knows", "eve")]}
SIDES = {"head": 0, "tail": 2}
DTYPES = ("<f4", ">f8", "<f2", "<i8", "u1", ">u2", "<i4")


@st.composite
def rows(draw: st.DrawFn) -> tuple[Array, Array, int]:
    """Few distinct scores of a dtype, with NaN if it has them; candidates; k."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    pool = {"f": [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan], "u": [0, 1, 200, 255]}
    signed = [0, 1, -1, 2**31 - 1, -(2**31)]
    values = draw(st.lists(st.sampled_from(pool.get(dtype.kind, signed)), min_size=1, max_size=30))
    row = np.array(values).astype(dtype)
    chosen = draw(st.sets(st.integers(0, len(row) - 1)))
    return row, np.array(sorted(chosen), np.int64), draw(st.integers(0, 8))


@given(rows(), st.booleans(), st.sampled_from(["raise", "worst", "omit"]))
@settings(max_examples=200, deadline=None)
def test_the_best_columns_are_those_of_a_full_sort(
    drawn: tuple[Array, Array, int], ascending: bool, nan: str
) -> None:
    row, columns, k = drawn
    missing = [c for c in columns.tolist() if np.isnan(row[c])]
    if nan == "raise" and missing:
        with pytest.raises(ValueError, match=f"^scores: column {missing[0]} is NaN"):
            top_columns(row, columns, k, ascending=ascending, nan=nan)
        return
    sign = 1 if ascending else -1
    there = [c for c in columns.tolist() if c not in missing]
    expected = sorted(there, key=lambda c: (sign * row[c].item(), c))
    expected += missing if nan == "worst" else []
    assert top_columns(row, columns, k, ascending=ascending, nan=nan).tolist() == expected[:k]


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2", "<i8", "u1"])
def test_a_stored_row_is_the_row(tmp_path: Path, dtype: str) -> None:
    scores = np.arange(12).reshape(3, 4).astype(dtype)
    np.save(tmp_path / "scores.npy", scores)
    with tr.open_scores(tmp_path / "scores.npy") as store:
        for source in (scores, store):
            row = read_row(source, store.dtype, 1)
            assert row.dtype.isnative
            assert row.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "V2"])
def test_a_row_of_bfloat16_is_widened(dtype: str) -> None:
    values = np.array([[0, 0], [1.5, -np.inf]], np.float32)
    bits = (values.view(np.uint32) >> 16).astype("<u2" if dtype == "V2" else dtype).view(dtype)
    assert read_row(bits, "bfloat16", 1).tolist() == [1.5, -np.inf]


# -- cases -----------------------------------------------------------------------------------------


def make(candidates: Any = None, **keywords: Any) -> Task:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return Task(TEST, KNOWN, entities=ENTITIES, candidates=candidates, **keywords)


def plain_cases(
    task: Task, ranks: tr.Ranks, scores: dict[str, Array], worst: int, top: int
) -> list[tuple[Any, ...]]:
    """Find error cases by a full sort, with sets of labels."""
    every = [*TEST, *KNOWN["train"]]
    made = []
    for i, side in enumerate(np.repeat(list(SIDES), len(TEST)).tolist()):
        triple, column = TEST[i % len(TEST)], SIDES[side]

        def others(other: tuple[str, ...], column: int = column) -> tuple[str, ...]:
            return other[:column] + other[column + 1 :]

        row = dict(zip(ENTITIES, scores[side][i % len(TEST)].tolist(), strict=True))
        known = {other[column] for other in every if others(other) == others(triple)}
        among = task.sides[side].candidates
        allowed = set(ENTITIES) if among is None else {ENTITIES[j] for j in among}
        left = sorted(
            allowed - known | {triple[column]}, key=lambda e: (-row[e], ENTITIES.index(e))
        )
        best = [(entity, row[entity]) for entity in left[:top]]
        rank, size = float(ranks.realistic[i]), len(left)
        made.append((side, triple, rank, size, best, row[triple[column]]))
    return sorted(made, key=lambda case: -case[2])[:worst]


@given(st.integers(0, 2**32), st.integers(1, 7), st.integers(1, 7), st.booleans())
@settings(max_examples=40, deadline=None)
def test_cases_are_those_of_a_full_sort(seed: int, worst: int, top: int, few: bool) -> None:
    rng = np.random.default_rng(seed)
    task = make(["ann", "cid", "dee", "eve", "bob"] if few else None)
    entities = rng.integers(-2, 3, (6, 3)).astype(np.float32)
    queries = {side: rng.integers(-2, 3, (3, 3)).astype(np.float32) for side in SIDES}
    scores = {side: vectors @ entities.T for side, vectors in queries.items()}
    report = task.evaluate_embeddings(queries["tail"], queries["head"], entities)
    expected = plain_cases(task, report.ranks, scores, worst, top)
    asked = {"worst": worst, "top": top}
    by_vectors = error_cases(task, report, **queries, entities=entities, **asked)
    assert [tuple(case) for case in by_vectors] == expected
    assert error_cases(task, report.ranks, **scores, **asked) == by_vectors
    distances = {side: -table for side, table in scores.items()}
    report = task.evaluate_scores(distances["tail"], distances["head"], order="ascending")
    for case, plain in zip(error_cases(task, report, **distances, **asked), expected, strict=True):
        assert [(label, -score) for label, score in case.best] == plain[4]
        assert -case.score == plain[5]


def test_candidates_may_be_lists_and_vectors_unique() -> None:
    task = make("typed", sides=("tail",))
    entities = np.arange(12, dtype=np.float32).reshape(6, 2)
    queries = np.ones((len(task.tail.queries), 2), np.float32)
    scores = queries @ entities.T
    report = task.evaluate_embeddings(queries, entities=entities, unique=True)
    cases = error_cases(task, report, tail=queries, entities=entities, unique=True)
    assert cases == error_cases(task, report, tail=scores, unique=True)
    assert [case.candidates for case in cases] == [2, 1, 1]  # where cid is no known answer
    assert [case.triple for case in cases] == [TEST[1], TEST[0], TEST[2]]
    assert cases[0].best == [("cid", 9.0), ("bob", 5.0)]


def test_relations_are_looked_up_among_relations() -> None:
    task = make(sides=("relation",), relations=["knows", "likes"])
    vectors = np.array([[1, 0], [0, 1]], np.float32)
    queries = np.array([[3, 1], [1, 3], [2, 5]], np.float32)
    report = task.evaluate_embeddings(relation=queries, relations=vectors)
    cases = error_cases(task, report, relation=queries, relations=vectors, worst=2, top=1)
    assert {case.side for case in cases} == {"relation"}
    assert [case.triple for case in cases] == [TEST[0], TEST[2]]
    assert [case.best for case in cases] == [[("knows", 3.0)], [("likes", 5.0)]]
    assert [case.score for case in cases] == [1.0, 2.0]


def test_files_and_16_bits_are_looked_up_like_arrays(tmp_path: Path) -> None:
    task = make()
    scores = {side: np.random.default_rng(i).normal(size=(3, 6)) for i, side in enumerate(SIDES)}
    paths = {}
    for side, table in scores.items():
        bits = (table.astype(np.float32).view(np.uint32) >> 16).astype("<u2")
        scores[side] = (bits.astype(np.uint32) << 16).view(np.float32)
        np.save(tmp_path / f"{side}.npy", bits.view("V2"))
        paths[side] = tmp_path / f"{side}.npy"
    report = task.evaluate_scores(scores["tail"], scores["head"])
    cases = error_cases(task, report, **scores)
    assert error_cases(task, report, **paths, dtype="bfloat16") == cases


def test_ids_stand_where_there_are_no_labels_and_further_keys_follow() -> None:
    task = Task([(0, 0, 1, 7)], {"train": [(2, 0, 1, 3)]}, sides=("tail",))
    report = task.evaluate_scores(np.array([[0.5, 0.2, 0.9]]))
    (case,) = error_cases(task, report, tail=np.array([[0.5, 0.2, 0.9]]), top=2)
    assert case == ("tail", (0, 0, 1, 7), 3.0, 3, [(2, 0.9), (0, 0.5)], 0.2)


def test_further_columns_are_shown_by_label_though_no_key() -> None:
    test = [("a", "r", "b", "2014", "x"), ("b", "r", "c", "2015", "y")]
    for keys in (None, (), (4,)):
        how = {"sides": ("tail", "head"), "keys": keys}
        task = Task(test, {"train": []}, entities=["a", "b", "c"], **how)
        scores = np.array([[1.0, 0, 0], [0, 0, 2]])
        report = task.evaluate_scores(scores, scores)
        cases = error_cases(task, report, tail=scores, head=scores, top=1)
        assert {case.triple for case in cases} == set(test)
        heading = str(cases).splitlines()[0].split()
        assert heading[2:7] == ["head", "relation", "tail", "column_3", "column_4"]


# -- what was ranked -------------------------------------------------------------------------------


def test_the_similarity_is_that_of_the_ranks() -> None:
    task = make(sides=("tail",))
    rng = np.random.default_rng(0)
    vectors = {"tail": rng.normal(size=(3, 4)), "entities": rng.normal(size=(6, 4))}
    report = task.evaluate_embeddings(
        vectors["tail"],
        entities=vectors["entities"],
        similarity="l1",
        bias={"tail": np.arange(6.0)},
    )
    vectors |= {"bias": np.arange(6.0)}
    cases = error_cases(task, report, **vectors)
    assert cases == error_cases(task, report, **vectors, similarity="l1")
    with pytest.raises(
        ValueError, match=r"^similarity: expected 'l1', as the ranks say, got 'dot'"
    ):
        error_cases(task, report, **vectors, similarity="dot")
    with pytest.raises(TypeError, match=r"^similarity: expected a str, got int"):
        error_cases(task, report, **vectors, similarity=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^tail: expected the vectors that were ranked; by these"):
        error_cases(task, report, **{**vectors, "tail": -vectors["tail"]})
    with pytest.raises(ValueError, match=r'^bias\["tail"\]: expected 6 numbers'):
        error_cases(task, report, **{**vectors, "bias": {"tail": np.arange(5.0)}})
    unsaid = report.ranks.with_protocol(similarity=None)
    assert error_cases(task, unsaid, **vectors, similarity="l1") == cases


ROW = st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=1, max_size=6)


@given(ROW, ROW, st.integers(0, 5), st.integers(1, 7), st.booleans())
@settings(max_examples=200, deadline=None)
def test_counts_fit_exactly_where_a_row_has_them(
    ranked: list[float], shown: list[float], target: int, top: int, ascending: bool
) -> None:
    """Candidates of the ranked row agree; those of another row do if its counts are possible."""
    target %= len(ranked)
    order = "ascending" if ascending else "descending"
    counts = tr.rank(np.array([ranked]), [target], nan="worst", order=order)
    task_counts = TaskCounts(int(counts.above[0]), int(counts.tied[0]), top, ascending)

    def fits(row: list[float]) -> bool:
        columns, values = np.arange(len(row)), np.array(row)
        chosen = top_columns(values, columns, top, ascending=ascending, nan="worst").tolist()
        return task_counts.fits(target, [(i, row[i]) for i in chosen], row[target])

    assert fits(ranked)
    shown = (shown * 6)[: len(ranked)]
    if np.isnan(shown[target]):
        return
    sign = -1 if ascending else 1
    above = sum(sign * value > sign * shown[target] for value in shown)
    tied = sum(value == shown[target] for value in shown)
    if (above, tied) == (task_counts.above, task_counts.tied):
        assert fits(shown)
    elif top > len(ranked):
        assert not fits(shown)


# -- how they are shown ----------------------------------------------------------------------------


@pytest.fixture
def cases() -> Any:
    task = make()
    tail = np.array([[9, 1, 8, 7, 6, 5], [1, 5, 0, 0, 0, 0], [0, 0, 0, 0, 0.5, 0]])
    head = np.array([[1, 0, 0, 0, 2, 0], [0, 0, 3, 0, 0, 0], [4, 0, 0, 0, 0, 0]])
    return error_cases(task, task.evaluate_scores(tail, head), tail=tail, head=head, worst=2, top=2)


def test_cases_are_printed_as_a_table(cases: Any) -> None:
    assert str(cases).splitlines() == [
        "side  rank    head  relation  tail  score  best  score",
        "tail  5 of 5  ann   likes     bob       1  ann       9",
        "                                           dee       7",
        "head  2 of 4  ann   likes     bob       1  eve       2",
        "                                           ann       1",
    ]
    assert repr(cases) == "ErrorCases(2 cases)"
    assert len(str(cases[:0]).splitlines()) == 1


def test_cases_are_a_sequence(cases: Any) -> None:
    assert len(cases) == 2
    assert cases[-1].side == "head"
    assert list(cases[:1]) == [cases[0]]
    assert cases != [*cases]


def test_cases_become_json_and_pandas(cases: Any) -> None:
    record = json.loads(json.dumps(cases.to_dict()))
    assert record["cases"][0]["triple"] == ["ann", "likes", "bob"]
    assert record["cases"][1]["best"] == [
        {"label": "eve", "score": 2.0},
        {"label": "ann", "score": 1.0},
    ]
    pytest.importorskip("pandas")
    frame = cases.to_pandas()
    assert list(frame.columns[:7]) == [
        *("side", "head", "relation", "tail", "rank", "candidates", "score")
    ]
    assert frame.loc[0, ["best_1", "score_1", "best_2", "score_2"]].tolist() == ["ann", 9, "dee", 7]


# -- what is refused -------------------------------------------------------------------------------


SCORES = np.zeros((3, 6))
CASES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"worst": 0}, ValueError, "worst: expected at least 1, got 0"),
    ({"top": 1.5}, TypeError, "top: expected an integer, got float"),
    ({"head": None}, TypeError, "head: expected what was evaluated for the side 'head', got None"),
    ({"relation": SCORES}, TypeError, "relation: expected None, for the task has no side"),
    ({"tail": SCORES[:2]}, ValueError, r"tail: expected scores of shape \(3, 6\)"),
    ({"tail": SCORES * np.nan}, ValueError, r"tail: row \d: column 0 is NaN"),
    (
        {"entities": SCORES, "similarity": "dot"},
        ValueError,
        r"entities: expected vectors of shape \(6, d\)",
    ),
    ({"entities": SCORES}, ValueError, "similarity: expected one, as the ranks do not say which"),
    ({"similarity": "l3"}, ValueError, "similarity: expected one of dot, cosine"),
    ({"bias": {"up": 1}}, ValueError, r"bias: expected sides of the task \(head, tail\), got 'up'"),
    ({"tail": np.eye(6)[:3] * 2}, ValueError, "tail: expected the scores that were ranked; by"),
]


@pytest.mark.parametrize(("changed", "kind", "message"), CASES)
def test_what_does_not_fit_is_refused(
    changed: dict[str, Any], kind: type[Exception], message: str
) -> None:
    task = make()
    report = task.evaluate_scores(SCORES, SCORES)
    with pytest.raises(kind, match=f"^{message}"):
        error_cases(task, report, **{"tail": SCORES, "head": SCORES, **changed})


def test_ranks_of_other_tasks_are_refused() -> None:
    task, scores = make(), {"tail": SCORES, "head": SCORES}
    report = task.evaluate_scores(SCORES, SCORES)
    with pytest.raises(ValueError, match=r"^report: expected the ranks of all 6 tasks, got 5"):
        error_cases(task, report.ranks[:5], **scores)
    with pytest.raises(ValueError, match=r"^report: the targets of the side 'head' are not"):
        error_cases(task, report.ranks[::-1], **scores)
    with pytest.raises(
        TypeError, match=r"^report: expected a Report with ranks, or Ranks, got str"
    ):
        error_cases(task, "report", **scores)  # type: ignore[arg-type]


def test_what_has_no_ranks_is_refused_in_words() -> None:
    task, scores = make(), {"tail": SCORES, "head": SCORES}
    recalled = tr.Report.from_json(task.evaluate_scores(SCORES, SCORES).to_json())
    for report, got in ((None, "NoneType"), (recalled, "a Report without")):
        with pytest.raises(
            TypeError, match=rf"^report: expected a Report with ranks, or Ranks, got {got}$"
        ):
            error_cases(task, report, **scores)  # type: ignore[arg-type]


def test_cases_are_pickled_under_the_public_name() -> None:
    cases = error_cases(make(), make().evaluate_scores(SCORES, SCORES), tail=SCORES, head=SCORES)
    assert {type(cases).__module__, type(cases[0]).__module__} == {"truerank.link_prediction"}
    assert pickle.loads(pickle.dumps(cases)) == cases
