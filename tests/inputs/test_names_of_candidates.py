"""Names in place of columns, from a vocabulary or a frame: the same counts, and the same errors."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from truerank.inputs.column_names import ColumnNames
from truerank.inputs.frames import named_scores

NAMES = ["Paris", "Rome", "Oslo", "Bern", "Lima"]
SCORES = np.array([[0.1, 0.9, 0.5, 0.5, 0.2], [0.7, 0.2, 0.2, 0.3, 0.9], [0.4, 0.1, 0.8, 0.6, 0.4]])
TARGETS = ["Oslo", "Rome", "Paris"]
IDS = [2, 1, 0]
FILTER = [["Rome"], [], ["Bern", "Oslo", "Bern"]]
FILTER_IDS = [[1], [], [3, 2, 3]]


def same_counts(named: tr.Ranks, plain: tr.Ranks) -> None:
    """Hold ranks by names equal to those by ids, but for the labels that names give."""
    assert named.with_labels(queries=None, targets=None) == plain


def told(call: Callable[[], object]) -> tuple[type[Exception], str]:
    with pytest.raises((tr.InputTypeError, tr.InputValueError)) as error:
        call()
    return error.type, str(error.value)


# -- names and ids count the same ------------------------------------------------------------------

FORMS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "array": np.array,
    "objects": lambda names: np.array(names, dtype=object),
    "iterator's list": lambda names: [str(name) for name in names],
}


@pytest.mark.parametrize("form", FORMS)
def test_targets_in_every_form(form: str) -> None:
    plain = tr.rank(SCORES, IDS)
    ranks = tr.rank(SCORES, FORMS[form](TARGETS), vocabulary=NAMES)
    same_counts(ranks, plain)
    assert list(ranks.targets) == TARGETS


def test_one_name_for_all_tasks() -> None:
    same_counts(tr.rank(SCORES, "Lima", vocabulary=NAMES), tr.rank(SCORES, 4))


VOCABULARIES = {
    "tuple": tuple(NAMES),
    "array": np.array(NAMES),
    "mapping": {name: i for i, name in reversed(list(enumerate(NAMES)))},
}


@pytest.mark.parametrize("form", VOCABULARIES)
def test_vocabularies_in_every_form(form: str) -> None:
    same_counts(tr.rank(SCORES, TARGETS, vocabulary=VOCABULARIES[form]), tr.rank(SCORES, IDS))


INDPTR = [0, 1, 1, 4]
SELECTIONS = {
    "lists": (FILTER, FILTER_IDS),
    "sets": (list(map(set, FILTER)), FILTER_IDS),
    "arrays": ([np.array(names, dtype=str) for names in FILTER], FILTER_IDS),
    "mapping": ({0: ["Rome"], 2: ("Bern", "Oslo")}, FILTER_IDS),
    "csr": ((INDPTR, np.array(["Rome", "Bern", "Oslo", "Bern"])), FILTER_IDS),
    "shared lists": (
        (np.array([0, 1, 3]), ["Rome", "Bern", "Oslo"], [0, 1, 1]),
        [[1], [3, 2], [3, 2]],
    ),
    "matrix": (np.array([["Rome"], ["Rome"], ["Bern"]]), [[1], [1], [3]]),
    "ids": (FILTER_IDS, FILTER_IDS),
    "mask": (np.eye(3, 5, dtype=bool), [[0], [1], [2]]),
}


@pytest.mark.parametrize("form", SELECTIONS)
def test_filters_in_every_form(form: str) -> None:
    named, ids = SELECTIONS[form]
    ranks = tr.rank(SCORES, TARGETS, filter=named, vocabulary=NAMES)
    same_counts(ranks, tr.rank(SCORES, IDS, filter=ids))


@pytest.mark.parametrize("form", [list, tuple, set, np.array, lambda names: [names] * 3])
def test_candidates_of_all_tasks(form: Callable[[list[str]], Any]) -> None:
    chosen = ["Oslo", "Paris", "Rome"]
    ranks = tr.rank(SCORES, TARGETS, candidates=form(chosen), vocabulary=NAMES)
    same_counts(ranks, tr.rank(SCORES, IDS, candidates=[2, 0, 1]))


def test_evaluate_labels_targets_by_name() -> None:
    report = tr.evaluate(SCORES, TARGETS, vocabulary=NAMES)
    assert report["mrr"] == tr.evaluate(SCORES, IDS)["mrr"]
    assert list(report.ranks.targets) == TARGETS


def test_lists_of_names() -> None:
    ids, scores = [[4, 2], [1], []], [[0.5, 0.9], [0.1], []]
    plain = tr.rank_lists(ids, scores, IDS, candidates=5, filter=FILTER_IDS)
    names = [[NAMES[i] for i in one] for one in ids]
    flat = np.array([name for one in names for name in one])
    ragged = (np.array([0.5, 0.9, 0.1]), [0, 2, 3, 3])
    for listed, given_scores in (
        (names, scores),
        ([np.array(one, dtype=str) for one in names], scores),
        ((flat, [0, 2, 3, 3]), ragged),
    ):
        ranks = tr.rank_lists(listed, given_scores, TARGETS, filter=FILTER, vocabulary=NAMES)
        same_counts(ranks, plain)
        assert ranks.listed.tolist() == plain.listed.tolist()
    matrix = np.array([["Lima", "Oslo"], ["Rome", "Bern"], ["Oslo", "Bern"]])
    same_counts(
        tr.rank_lists(matrix, None, TARGETS, vocabulary=NAMES),
        tr.rank_lists([[4, 2], [1, 3], [2, 3]], None, IDS, candidates=5),
    )


def test_embeddings_by_name() -> None:
    entities = np.eye(5, 3, dtype=np.float32) + np.arange(5, dtype=np.float32)[:, None]
    queries = np.array([[1, 0, 0], [0, -1, 0], [0, 0, 1]], np.float32)
    ranks = tr.rank_embeddings(queries, entities, TARGETS, filter=FILTER, vocabulary=NAMES)
    same_counts(ranks, tr.rank_embeddings(queries, entities, IDS, filter=FILTER_IDS))
    assert list(ranks.targets) == TARGETS
    assert ranks.protocol.similarity == "dot"
    top = tr.topk_embeddings(queries, entities, 6, filter=FILTER, vocabulary=NAMES)
    plain = tr.topk_embeddings(queries, entities, 6, filter=FILTER_IDS)
    expected = [[NAMES[i] if i >= 0 else None for i in row] for row in plain.ids.tolist()]
    assert top.ids.tolist() == expected
    assert np.array_equal(top.scores, plain.scores, equal_nan=True)
    assert "task 0: Lima" in str(top)
    assert "None" not in str(top)


def test_blocks_by_name() -> None:
    blocks = [(SCORES[:2].copy(), TARGETS[:2]), (SCORES[2:].copy(), TARGETS[2:])]
    ranks = tr.rank_blocks(blocks, vocabulary=NAMES)
    same_counts(ranks, tr.rank(SCORES, IDS))
    assert list(ranks.targets) == TARGETS


@given(st.data())
def test_names_count_as_ids_do_and_fail_as_ids_do(data: st.DataObject) -> None:
    columns = data.draw(st.integers(1, 6))
    rows = data.draw(st.integers(0, 4))
    names = data.draw(
        st.lists(st.text(max_size=3), min_size=columns, max_size=columns, unique=True)
    )
    scores = np.array(
        data.draw(
            st.lists(
                st.lists(
                    st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=columns, max_size=columns
                ),
                min_size=rows,
                max_size=rows,
            )
        )
    ).reshape(rows, columns)
    indices = st.integers(0, columns - 1)
    lists = st.lists(indices, max_size=4)
    tasks = data.draw(st.sampled_from([rows, rows, rows, rows + 1]))
    targets = data.draw(st.lists(indices, min_size=tasks, max_size=tasks))
    arguments: dict[str, Any] = {}
    for name in ("filter", "candidates"):
        if data.draw(st.booleans()):
            arguments[name] = data.draw(st.lists(lists, min_size=rows, max_size=rows))
    named = {
        name: [[names[i] for i in one] for one in selection]
        for name, selection in arguments.items()
    }
    nan = data.draw(st.sampled_from(["raise", "worst", "omit"]))
    by_name = [names[i] for i in targets]

    def plain_call() -> tr.Ranks:
        return tr.rank(scores, targets, nan=nan, **arguments)

    def named_call() -> tr.Ranks:
        return tr.rank(scores, by_name, nan=nan, vocabulary=names, **named)

    try:
        plain = plain_call()
    except (tr.InputTypeError, tr.InputValueError):
        assert told(named_call) == told(plain_call)
    else:
        ranks = named_call()
        same_counts(ranks, plain)
        assert list(ranks.targets) == by_name


# -- errors of names -------------------------------------------------------------------------------

KNOWN = {"vocabulary": NAMES}
ERRORS: dict[str, tuple[Any, dict[str, Any], str]] = {
    "unknown": (
        ["Oslo", "Pariss", "Rome"],
        KNOWN,
        "targets: unknown name 'Pariss' at position 1; did you mean 'Paris'?",
    ),
    "nothing near": (
        ["Oslo", "xyz", "Rome"],
        KNOWN,
        "targets: unknown name 'xyz' at position 1; known are 'Paris', 'Rome', 'Oslo', ... "
        "(5 in all)",
    ),
    "missing": (
        ["Oslo", None, "Rome"],
        KNOWN,
        "targets: expected names, got a missing one at position 1",
    ),
    "nan": (
        ["Oslo", "Rome", float("nan")],
        KNOWN,
        "targets: expected names, got a missing one at position 2",
    ),
    "mixed": (["Oslo", 1, 2], KNOWN, "targets: expected names or integers, got int at position 1"),
    "nested": (
        [["Oslo"], ["Rome"], ["Lima"]],
        KNOWN,
        "targets: expected names or integers, got list at position 0",
    ),
    "one name for a task's filter": (
        TARGETS,
        {"filter": ["Rome", "Lima", "Oslo"], **KNOWN},
        "filter: expected a list of indices for task 0, got a name",
    ),
    "unknown in a filter": (
        TARGETS,
        {"filter": [["Rome"], ["Osla"], []], **KNOWN},
        "filter: list 1: unknown name 'Osla' at position 0; did you mean 'Oslo'?",
    ),
    "unknown candidate": (
        TARGETS,
        {"candidates": ["Oslo", "Rom"], **KNOWN},
        "candidates: unknown name 'Rom' at position 1; did you mean 'Rome'?",
    ),
    "no vocabulary": (
        TARGETS,
        {},
        "targets: expected integers, got str; for names, give vocabulary=, or a frame of scores",
    ),
    "no vocabulary for a filter": (
        IDS,
        {"filter": FILTER},
        "filter: list 0: expected integers, got str; for names, give vocabulary=, or a frame of "
        "scores",
    ),
    "no vocabulary for candidates": (
        IDS,
        {"candidates": ["Rome"]},
        "candidates: expected integers, got str; for names, give vocabulary=, or a frame of scores",
    ),
    "too few names": (
        IDS,
        {"vocabulary": NAMES[:4]},
        "vocabulary: expected 5 names, one for each candidate, got 4",
    ),
    "a name twice": (IDS, {"vocabulary": [*NAMES[:4], "Rome"]}, "vocabulary: 'Rome' occurs twice"),
    "a number of names": (
        IDS,
        {"vocabulary": 5},
        "vocabulary: expected a sequence of names or a mapping of names to ids, got int",
    ),
    "names that are no str": (
        IDS,
        {"vocabulary": [1, 2, 3, 4, 5]},
        "vocabulary: expected str, got int at position 0",
    ),
}


@pytest.mark.parametrize(("targets", "keywords", "message"), ERRORS.values(), ids=ERRORS)
def test_errors(targets: Any, keywords: dict[str, Any], message: str) -> None:
    assert told(lambda: tr.rank(SCORES, targets, **keywords))[1] == message


def test_an_unknown_name_in_a_list_names_its_list() -> None:
    listed = [["Oslo"], ["Rome", "Romme"]]
    _, message = told(lambda: tr.rank_lists(listed, None, ["Oslo", "Rome"], vocabulary=NAMES))
    assert message == ("ids: unknown name 'Romme' in list 1, at position 1; did you mean 'Rome'?")


# -- frames ----------------------------------------------------------------------------------------


def pandas_frame(**options: Any) -> Any:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    return pandas.DataFrame(SCORES, **{"columns": NAMES, **options})


def test_frames_of_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    frame = pandas_frame(index=["q1", "q2", "q2"])
    plain = tr.rank(SCORES, IDS, filter=FILTER_IDS)
    column = pandas.Series(TARGETS, index=frame.index)
    for targets in (TARGETS, column, column.astype("category"), column.to_numpy(), IDS):
        ranks = tr.rank(frame, targets, filter=pandas.Series(FILTER, index=frame.index))
        same_counts(ranks, plain)
        assert list(ranks.targets) == TARGETS
        assert list(ranks.queries) == ["q1", "q2", "q2"]
    report = tr.evaluate(frame, column, filter=FILTER)
    assert report["mrr"] == tr.report(plain)["mrr"]
    ranks = tr.rank(frame, ["Rome", "Lima"], rows=[2, 0])
    same_counts(ranks, tr.rank(SCORES, [1, 4], rows=[2, 0]))
    assert list(ranks.queries) == ["q2", "q1"]
    assert list(tr.rank(pandas_frame(index=[7, 3, 9]), TARGETS).queries) == [7, 3, 9]
    assert tr.rank(pandas_frame(), TARGETS).queries is None


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars", reason="frames of polars")
    frame = polars.DataFrame(SCORES, schema=NAMES)
    plain = tr.rank(SCORES, IDS, filter=FILTER_IDS)
    for targets in (TARGETS, polars.Series(TARGETS), polars.Series(IDS)):
        same_counts(tr.rank(frame, targets, filter=polars.Series(FILTER)), plain)
    same_counts(
        tr.rank_blocks([(frame[:2], TARGETS[:2]), (frame[2:], ["Paris"])]), tr.rank(SCORES, IDS)
    )


def test_a_row_of_a_frame_has_names() -> None:
    row = pandas_frame(index=["q1", "q2", "q3"]).loc["q2"]
    ranks = tr.rank(row, ["Lima", "Rome"], filter=[["Paris"], []])
    same_counts(ranks, tr.rank(SCORES[1], [4, 1], filter=[[0], []]))
    assert list(ranks.targets) == ["Lima", "Rome"]
    same_counts(tr.rank(row.reset_index(drop=True), [4, 1]), tr.rank(SCORES[1], [4, 1]))


def test_targets_may_be_labels_of_other_ranks() -> None:
    ranks = tr.rank(SCORES, TARGETS, vocabulary=NAMES)
    assert tr.rank(SCORES, ranks.targets, vocabulary=NAMES) == ranks


def test_a_frame_in_one_block_is_not_copied() -> None:
    frame = pandas_frame()
    scores, _ = named_scores(frame)
    assert np.shares_memory(scores, frame.to_numpy())


def test_columns_that_are_only_numbered_take_a_vocabulary() -> None:
    for columns in (None, [0, 1, 2, 3, 4]):
        frame = pandas_frame(columns=columns)
        same_counts(tr.rank(frame, IDS), tr.rank(SCORES, IDS))
        same_counts(tr.rank(frame, TARGETS, vocabulary=NAMES), tr.rank(SCORES, IDS))


def test_columns_of_other_labels() -> None:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    days = pandas.date_range("2026-01-01", periods=5)
    same_counts(tr.rank(pandas_frame(columns=days), days[IDS]), tr.rank(SCORES, IDS))
    pairs = pandas.MultiIndex.from_product([["a"], NAMES])
    same_counts(
        tr.rank(pandas_frame(columns=pairs), [("a", name) for name in TARGETS]),
        tr.rank(SCORES, IDS),
    )


def test_repeated_columns_serve_by_their_numbers_alone() -> None:
    frame = pandas_frame(columns=["Paris", "Rome", "Oslo", "Bern", "Rome"])
    ranks = tr.rank(frame, IDS)
    same_counts(ranks, tr.rank(SCORES, IDS))
    assert ranks.targets is None
    _, message = told(lambda: tr.rank(frame, TARGETS))
    assert message == (
        "scores: expected columns of distinct names, got 'Rome' at positions 1 and 4"
    )


def frame_errors() -> dict[str, tuple[Callable[[], object], str]]:
    pandas = pytest.importorskip("pandas", reason="frames of pandas")
    frame = pandas_frame(index=["q1", "q2", "q3"])
    numbered = pandas_frame(columns=[4, 0, 1, 2, 3])
    moved = pandas.Series(TARGETS, index=["q2", "q1", "q3"])
    missing = frame.astype("Float64").mask(frame > 0.85)
    index_hint = (
        "its index is not that of scores, so that it may be meant by position or by label; give "
    )
    return {
        "positions or labels": (
            lambda: tr.rank(numbered, IDS),
            "targets: may be positions or labels of columns, as the columns of scores are labelled "
            "4, 0, 1, ...; give scores.to_numpy() for positions, and for labels "
            "scores.columns.get_indexer(targets) with it",
        ),
        "another index": (
            lambda: tr.rank(frame, moved),
            f"targets: {index_hint}targets.to_numpy() or targets.reindex(scores.index)",
        ),
        "a shuffled numbering": (
            lambda: tr.rank(pandas_frame(), moved.set_axis([1, 0, 2])),
            f"targets: {index_hint}targets.to_numpy() or targets.reindex(scores.index)",
        ),
        "a filter of another index": (
            lambda: tr.rank(frame, TARGETS, filter=pandas.Series(FILTER, index=moved.index)),
            f"filter: {index_hint}filter.to_numpy() or filter.reindex(scores.index)",
        ),
        "a mask of other columns": (
            lambda: tr.rank(frame, TARGETS, filter=frame[NAMES[::-1]] > 0.5),
            "filter: expected the columns of scores, in their order, got others",
        ),
        "names twice": (
            lambda: tr.rank(frame, TARGETS, vocabulary=NAMES),
            "vocabulary: the columns of scores have names already; give one of both",
        ),
        "missing in a column of text": (
            lambda: tr.rank(frame, pandas.Series(["Oslo", None, "Rome"], dtype="string")),
            "targets: expected names, got a missing one at position 1",
        ),
        "a column of text": (
            lambda: tr.rank(frame.reset_index(), TARGETS),
            "scores: expected columns of one dtype, got str in column 'index', float64 in column "
            "'Paris'; if one names the queries, .set_index('index') takes it out, and "
            ".astype('float64') makes numbers of one dtype",
        ),
        "two dtypes": (
            lambda: tr.rank(frame.astype({"Rome": "float32"}), TARGETS),
            "scores: expected columns of one dtype, got float64 in column 'Paris', float32 in "
            "column 'Rome'; if one names the queries, .set_index('Paris') takes it out, and "
            ".astype('float64') makes numbers of one dtype",
        ),
        "objects": (
            lambda: tr.rank(frame.astype(object), TARGETS),
            "scores: expected columns of numbers, got dtype object in column 'Paris'",
        ),
        "categories": (
            lambda: tr.rank(frame.astype("category"), TARGETS),
            "scores: expected columns of one dtype, got ",
        ),
        "missing": (
            lambda: tr.rank(missing, TARGETS),
            "scores: expected a score for every candidate (NaN is one), got a missing value at row "
            "0, column 'Rome'",
        ),
    }


def test_errors_of_frames() -> None:
    for name, (call, message) in frame_errors().items():
        found = told(call)[1]
        if "got str in" in message:  # older versions call text object
            found = found.replace("got object in", "got str in")
        whole = len(message) if message.endswith(" ") else len(found)
        assert found[:whole] == message, name


def test_nullable_dtypes_without_missing_values() -> None:
    for dtype, plain in (("Float64", SCORES), ("Int32", (SCORES * 10).astype(np.int32))):
        frame = pandas_frame() * (10 if dtype == "Int32" else 1)
        same_counts(tr.rank(frame.round(2).astype(dtype), TARGETS), tr.rank(plain, IDS))


def test_errors_of_frames_of_polars() -> None:
    polars = pytest.importorskip("polars", reason="frames of polars")
    lazy = told(lambda: tr.rank(polars.DataFrame({"a": [0.5]}).lazy(), ["a"]))[1]
    assert lazy == "scores: expected a DataFrame, got a LazyFrame; collect() makes one"
    for data, message in (
        ({"a": ["x"]}, "scores: expected columns of numbers, got dtype String in column 'a'"),
        (
            {"q": ["x"], "a": [0.5]},
            "scores: expected columns of one dtype, got String in column 'q', Float64 in column "
            "'a'; if one names the queries, .drop('q') takes it out, and "
            ".cast(polars.Float64) makes numbers of one dtype",
        ),
        (
            {"a": [0.5, 0.25], "b": [0.5, None]},
            "scores: expected a score for every candidate (NaN is one), got a missing value at row "
            "1, column 'b'",
        ),
    ):
        frame = polars.DataFrame(data)
        assert told(lambda frame=frame: tr.rank(frame, ["a"] * len(frame)))[1] == message


# -- speed -----------------------------------------------------------------------------------------


def test_a_million_names_take_about_a_second() -> None:
    names = tuple(f"entity {i}" for i in range(40_000))
    targets = [names[i] for i in np.random.default_rng(0).integers(0, len(names), 1_000_000)]
    start = time.process_time()
    ids = ColumnNames(names, "vocabulary").ids("targets", targets)
    seconds = time.process_time() - start
    assert [names[i] for i in ids[:100].tolist()] == targets[:100]
    assert seconds < 5  # a fifth of a second on a quiet machine
