"""Ranks: what is accepted, what is refused, the kinds of rank, slices and joins."""

from __future__ import annotations

import dataclasses
import itertools
import operator
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import truerank as tr
from support.example_ranks import any_ranks, everything, query_report
from support.refusals import T, V, refusal
from truerank import Protocol, Ranks, concatenate, load, rank, rank_lists, report
from truerank.ranks import Audit, Origin, storage
from truerank.ranks.labels import LABEL_ALIASES

OPTIONAL = ("weights", "side", "relation", "queries", "targets", "unit", "audit")
TOP = np.iinfo(np.int64).max
MOST = 2**52


def labels_of(codes: list[int], names: Any = None) -> Any:
    return Ranks([0] * len(codes), [1] * len(codes), 1, queries=(codes, names)).queries


# -- construction ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["int8", "int64", ">i8"])
def test_any_integer_dtype_is_copied_to_read_only_int64(dtype: str) -> None:
    counts = [np.array([x], dtype) for x in (3, 2, 9)]
    ranks = Ranks(*counts)
    for array, before in zip((ranks.above, ranks.tied, ranks.candidates), counts, strict=True):
        assert array == before
        assert (array.dtype, array.dtype.isnative) == (np.int64, True)
        assert (array.flags.writeable, before.flags.writeable) == (False, True)
        assert not np.shares_memory(array, before)


WRONG: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (T, "above", {"above": [1.0, 0.0]}),
    (V, "above", {"above": [[1]]}),
    (V, "above: position 1: .* got -1", {"above": [0, -1]}),
    (V, "above", {"above": np.array([2**63, 0], "u8")}),
    (V, "tied", {"tied": [1]}),
    (V, "tied: position 1: .* got 0", {"tied": [1, 0]}),
    (V, "candidates: position 1: .* the last rank, 6 .* got 5", {"above": [0, 5]}),
    (V, "candidates", {"above": [TOP, 0], "tied": [TOP, 1]}),
    (V, "candidates", {"candidates": [5, MOST + 1]}),
    (V, "weights", {"weights": [1.0]}),
    (V, "weights", {"weights": [1.0, -1.0]}),
    (V, "weights", {"weights": [1.0, np.nan]}),
    (V, "weights", {"weights": [0, 0]}),
    (T, "weights", {"weights": [True, False]}),
    (V, "audit.inf", {"audit": ([0, 0], [0], [1, 1])}),
    (V, "audit.nan", {"audit": ([-1, 0], [0, 0], [1, 1])}),
    (V, "audit.nan", {"audit": ([2**62, 2**62], [0, 0], [1, 1])}),
    (T, "protocol", {"protocol": {}}),
    (V, "relation", {"relation": ["a"]}),
    (V, "relation: codes: .* from 0 to .* task 1", {"relation": ([0, 2], ["a", "b"])}),
    (V, "relation: vocabulary: 'a' occurs twice", {"relation": ([0, 0], ["a", "a"])}),
    (T, "relation", {"relation": np.array([["a", "b"]])}),
    (T, "relation", {"relation": {"a", "b"}}),
    (T, "relation: position 1: expected str, got int", {"relation": ["a", 3]}),
    (V, "category", {"labels": {"category": ["a"]}}),
    (V, "labels", {"labels": {"head degree": [0, 1]}}),
    (V, "labels: .*has a meaning already: give queries=", {"labels": {"query": [0, 1]}}),
    (V, "labels: 'side' is given twice", {"side": "tail", "labels": {"side": "head"}}),
    (T, "(labels|.*keywords must be str)", {"labels": {3: [0, 1]}}),
]
# Of other tools; what they call queries has the names that tables have.
WRONG_RANKS: list[tuple[type[Exception], str, dict[str, Any]]] = [
    (T, "ranks: position 1: .* give both .*, got 2.5", {"ranks": [1, 2.5]}),
    (T, "pessimistic: expected integers, got dtype float64", {"pessimistic": [1.0, 4.0]}),
    (V, "ranks", {"ranks": [1, 0]}),
    (V, "ranks", {"ranks": [1, -2]}),
    (V, "pessimistic: position 1: .* the optimistic rank, 4, got 3", {"pessimistic": [1, 3]}),
    (V, "candidates: position 1: .* the last rank, 4 .* got 3", {"candidates": 3}),
    (V, "query", {"query": ["a"]}),
    (T, "target", {"target": 2.5}),
    (T, "query: ", {"query": ([None, None], None)}),
    (T, "target: ", {"target": ([0.5, 0.5], ["a"])}),
]


@pytest.mark.parametrize(("kind", "argument", "wrong"), WRONG)
def test_wrong_arguments(kind: type[Exception], argument: str, wrong: dict[str, Any]) -> None:
    right: dict[str, Any] = {"above": [0, 0], "tied": [1, 1], "candidates": 5}
    refusal(kind, f"^{argument}", Ranks, **right | wrong)
    if "weights" in wrong:
        refusal(kind, f"^{argument}", Ranks(**right).with_weights, **wrong)
    if list(wrong) == ["labels"]:
        with pytest.raises(kind, match=f"^{argument}"):
            Ranks(**right).with_labels(**wrong["labels"])


@pytest.mark.parametrize(("kind", "argument", "wrong"), WRONG_RANKS)
def test_what_is_no_rank_of_another_tool(kind: type[Exception], argument: str, wrong: Any) -> None:
    arguments = {"ranks": [1, 4], "candidates": 9} | wrong
    refusal(kind, f"^{argument}", Ranks.from_ranks, **arguments)


@pytest.mark.parametrize("container", [list, np.array, lambda x: np.array(x, "u1")])
def test_ranks_of_another_tool(container: Callable[..., Any]) -> None:
    first, last, sizes = [1, 4, 2], [1, 7, 3], [9, 8, 9]
    names: Any = {"side": ["head", "tail", "tail"], "relation": "r", "unit": [0, 0, 1]}
    labels = {**names, "queries": ["a", "b", "c"], "targets": [7, 8, 9]}
    of_user = {**names, "query": ["a", "b", "c"], "target": [7, 8, 9]}
    ranks = Ranks.from_ranks(container(first), container(last), candidates=sizes, **of_user)
    assert ranks == Ranks([0, 3, 1], [1, 4, 2], sizes, **labels)
    assert ranks.protocol == Protocol()
    alone = Ranks.from_ranks(container(first), candidates=9, **of_user)
    assert alone == Ranks([0, 3, 1], [1, 1, 1], 9, **labels)
    assert report(alone)["mrr"] == pytest.approx((1 + 1 / 4 + 1 / 2) / 3)


def test_ranks_alone_say_that_ties_are_unknown(tmp_path: Path) -> None:
    """The words are saved, joined, sliced and printed; optimistic and pessimistic ones know."""
    alone = Ranks.from_ranks([1, 4], candidates=9)
    assert "0 tied" not in repr(alone)
    alone.save(tmp_path / "ranks.npz")
    for ranks in (alone[:1], load(tmp_path / "ranks.npz"), concatenate([alone, alone])):
        assert ranks.protocol.ties == "unknown"
        assert "ties unknown" in repr(report(ranks))
        of_queries = ranks.with_labels(queries=range(len(ranks)))
        for made in (report(ranks), report(of_queries, unit="query")):
            assert "ties unknown" in made.to_text()
        assert "One rank of each task is known" in str(report(ranks).audit())
    known = Ranks.from_ranks([1, 4], [1, 4], candidates=9)
    assert "no ties." in report(known).to_text()
    assert "ties mixed." in report(concatenate([alone, known])).to_text()


def test_immutable() -> None:
    ranks = everything()
    for name in ("above", "weights", "side", "protocol", "something"):
        refusal(AttributeError, "immutable", setattr, ranks, name, None)
        refusal(AttributeError, "immutable", delattr, ranks, name)
    with pytest.raises(AttributeError, match="immutable"):
        ranks.side.codes = np.zeros(4)
    arrays = [ranks.above, ranks.tied, ranks.candidates, ranks.weights, ranks.side.codes]
    arrays += ranks.audit
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    refusal(TypeError, "unhashable", hash, ranks)


# -- labels ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_labels", "values", "vocabulary"),
    [
        ("tail", ["tail", "tail"], ("tail",)),
        (["tail", "head"], ["tail", "head"], ("tail", "head")),
        (np.array(["b", "a"]), ["b", "a"], ("b", "a")),
        (([1, 1], ("head", "tail")), ["tail", "tail"], ("head", "tail")),
        ((np.array([1, 0]), np.array(["x", "y"])), ["y", "x"], ("x", "y")),
        (np.array([5, 7], np.uint8), [5, 7], None),
        (([5, 7], None), [5, 7], None),
        (labels_of([0, 0], ["z"]), ["z", "z"], ("z",)),
        (["a\0", "\ud800"], ["a\0", "\ud800"], ("a\0", "\ud800")),
    ],
)
def test_forms_of_labels(given_labels: object, values: list, vocabulary: tuple | None) -> None:
    for name in ("side", "relation", "queries", "targets", "unit"):
        labels = getattr(Ranks([0, 1], [1, 1], 5, **{name: given_labels}), name)
        assert labels.values.tolist() == values
        assert labels.vocabulary == vocabulary
        assert labels.codes.dtype == np.int64


@pytest.fixture
def labelled() -> Ranks:
    """Return ranks with labels of other names: words, and ids."""
    more = {"category": ["1-n", "n-1", "1-n", "1-1"], "head_degree": [7, 0, 2**40, -1]}
    return everything().with_labels(**more)


def test_with_labels_keeps_sets_and_drops(labelled: Ranks) -> None:
    other = labelled.with_labels(side="tail", relation=None, category=None, degree="0", absent=None)
    assert other.side.values.tolist() == ["tail"] * 4
    assert other.relation is None
    assert list(other.labels) == ["side", "queries", "targets", "unit", "head_degree", "degree"]
    assert other.queries.same_as(labelled.queries)
    assert labelled == everything().with_labels(**{**labelled.labels, "absent": None})
    assert Ranks([0], [1], 5, labels={"x": None}) == Ranks([0], [1], 5)
    assert labelled.with_weights(None).weights is None
    assert labelled.with_protocol(nan="omit").protocol.nan == "omit"


def test_a_filter_that_was_not_applied_is_no_name_in_silence() -> None:
    scores = np.array([[0.5, 0.25, np.nan], [0.25, 0.5, 1.0]])
    bare = rank(scores[:, :2], [0, 1])
    with pytest.warns(
        UserWarning, match="^filter: these ranks were counted without a filter.*; rank"
    ):
        named = concatenate([bare, bare]).with_protocol(split="test", filter=["train"])
    silent = [
        rank(scores[:, :2], [0, 1], filter=[[], []]),
        rank(scores[:, :2], [0, 1], candidates=[0, 1]),
        rank(scores, [0, 1], nan="omit"),
        rank_lists([[0, 1], [0, 1]], [[2, 1], [2, 1]], [0, 1], candidates=9),
        Ranks([0], [1], 5),
        named,
        bare[:0],
    ]
    for ranks in silent:
        assert ranks.with_protocol(filter=["train"]).protocol.filter == ("train",)
    for others in ({"sampled": True}, {"candidates": "types"}):
        assert bare.with_protocol(filter=["train"], **others).protocol.filter == ("train",)
    assert bare.with_protocol(split="test").protocol.filter == ()


NAMES = labels_of([0, 2, 0], ("a", "b", "c"))
IDS = labels_of([7, 9, 7])


def test_labels_are_arrays_that_select_tasks() -> None:
    ranks = everything()
    heads = ranks[ranks.side == "head"]
    assert heads.above.tolist() == ranks.above[[0, 3]].tolist()
    assert np.asarray(ranks.side).tolist() == ranks.side.values.tolist() == list(ranks.side)
    assert np.unique(ranks.side).tolist() == ["head", "tail"]
    assert np.array(IDS, dtype=float).dtype == np.float64
    with pytest.raises(ValueError, match=r"labels: .*2"):
        assert NAMES == ["a", "b"]
    assert NAMES != {}  # one bool: it is no label
    assert (np.int32(9) == IDS).tolist() == (np.str_("c") == NAMES).tolist() == [False, True, False]
    assert not (IDS == 2**70).any()


def test_a_frame_has_a_row_for_each_task(labelled: Ranks) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = labelled.to_pandas()
    counts = ["above", "tied", "candidates", "optimistic", "realistic", "pessimistic"]
    labels = ["side", "relation", "queries", "targets", "unit", "category", "head_degree"]
    names = [*counts, "weights", "gains", "answers", *labels]
    assert list(frame) == names
    for name in names[:14]:
        assert frame[name].tolist() == np.asarray(getattr(labelled, name)).tolist()
    assert frame.head_degree.tolist() == [7, 0, 2**40, -1]
    pandas.testing.assert_frame_equal(labelled[1:].to_pandas(), frame[1:].reset_index(drop=True))
    assert pandas.DataFrame({"side": labelled.side}).side.tolist() == list(labelled.side)
    lists = Ranks([0, 3], [1, 2], 5, listed=[True, False]).to_pandas()
    assert lists.listed.tolist() == [True, False]
    assert "side" not in lists
    named = Ranks([0, 3], [1, 1], 5, labels={"above": ["x", "y"]}).to_pandas()
    assert (named.above.tolist(), named["labels.above"].tolist()) == ([0, 3], ["x", "y"])
    frame.loc[0, "above"] = 9  # a copy
    assert labelled.above[0] != 9


def test_ranks_are_no_array() -> None:
    ranks = everything()
    for take in (np.asarray, np.mean, np.array, np.median):
        refusal(TypeError, "^ranks: ", take, ranks)
    refusal(TypeError, "^ranks: ", lambda: np.float64(1) / ranks)
    refusal(TypeError, "^ranks: ", lambda: ranks > np.int64(10))


def test_labels_alone() -> None:
    assert NAMES[-1].values.tolist() == ["a"]
    assert NAMES.counts() == {"a": 2, "b": 0, "c": 1}
    assert labels_of([7, 7, -1]).counts() == {-1: 1, 7: 2}
    assert repr(NAMES) == "Labels(3 labels: a 2, c 1)"
    assert repr(labels_of([3])) == "Labels(1 ids)"
    assert pickle.loads(pickle.dumps(NAMES)).same_as(NAMES)
    assert labels_of([], ()).values.tolist() == []


# -- kinds -----------------------------------------------------------------------------------------


def test_random_is_uniform_and_repeatable() -> None:
    ranks = Ranks(np.full(30_000, 7), np.full(30_000, 3), 20)
    drawn = ranks.random(5)
    assert drawn.dtype == np.int64
    assert np.array_equal(drawn, ranks.random(5))
    assert not np.array_equal(drawn, ranks.random(6))
    values, counts = np.unique(drawn, return_counts=True)
    assert values.tolist() == [8, 9, 10]
    assert abs(counts - 10_000).max() < 500


@given(st.integers(0, 2**51), st.integers(1, 2**51))
@example(0, MOST)
@example(1, MOST - 1)
@example(2**51, 2**51)
@example(MOST - 1, 1)
def test_ranks_are_exact(above: int, tied: int) -> None:
    ranks = Ranks([above], [tied], above + tied)
    assert (ranks.optimistic[0], ranks.pessimistic[0]) == (above + 1, above + tied)
    assert Fraction(ranks.realistic[0]) == Fraction(2 * above + 1 + tied, 2)
    assert above < ranks.random(0)[0] <= above + tied
    assert 0 < report(ranks)["expected.mrr"] <= 1


# -- slices and joins ------------------------------------------------------------------------------


def columns(ranks: Ranks) -> dict[str, list[Any]]:
    """Return all that ranks have of their tasks, as plain values; none of it can be written."""
    fields = ("above", "tied", "candidates", "weights")
    arrays = {name: getattr(ranks, name) for name in fields}
    if ranks.audit is not None:
        arrays |= ranks.audit._asdict()
    arrays |= {name: found.values for name, found in ranks.labels.items()}
    assert not any(getattr(ranks, name).flags.writeable for name in fields[:3])
    return {name: array.tolist() for name, array in arrays.items() if array is not None}


@st.composite
def indices(draw: st.DrawFn, n: int) -> Any:
    forms: list[st.SearchStrategy[Any]] = [st.slices(n)]
    forms.append(st.lists(st.booleans(), min_size=n, max_size=n).map(lambda x: np.array(x, bool)))
    if n:
        places = st.lists(st.integers(-n, n - 1), min_size=1)
        forms += [st.integers(-n, n - 1), places, places.map(lambda x: np.array(x, np.int8))]
    return draw(st.one_of(forms))


@given(st.data())
def test_slices_joins_and_copies_are_those_of_the_columns(data: st.DataObject) -> None:
    optional = data.draw(st.fixed_dictionaries({name: st.booleans() for name in OPTIONAL}))
    parts = []
    for ranks in data.draw(st.lists(any_ranks(optional), min_size=1, max_size=4)):
        n = len(ranks)
        words = data.draw(st.lists(st.sampled_from("abc"), min_size=n, max_size=n))
        ids = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n))
        parts.append(ranks.with_labels(word=words, number=(ids, None)))
    whole = concatenate(part for part in parts)
    expected = {
        name: [x for part in parts for x in columns(part)[name]] for name in columns(parts[0])
    }
    assert columns(whole) == expected
    if len(parts) > 2:
        assert concatenate([concatenate(parts[:2]), *parts[2:]]) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole
    index = data.draw(indices(len(whole)))
    positions = np.atleast_1d(np.arange(len(whole))[index])
    part = whole[index]
    assert part.protocol is whole.protocol
    assert columns(part) == {name: [x[i] for i in positions] for name, x in expected.items()}


@pytest.mark.parametrize(
    ("error", "indices"),
    [
        (IndexError, [4, [0, 4], [True]]),
        (TypeError, [np.array([[0]]), True, "head", "mrr", None]),
        (ValueError, [np.array([2**63], np.uint64)]),
    ],
)
def test_wrong_index(error: type, indices: list[Any]) -> None:
    for index in indices:
        with pytest.raises(error, match="index") as raised:
            everything()[index]
        is_metric = "truerank.report(ranks)['mrr']" in str(raised.value)
        assert is_metric == (type(index) is str and index == "mrr")


# -- equality, repr, copies ------------------------------------------------------------------------


def test_equality_is_of_everything_but_provenance() -> None:
    ranks = everything()
    bare = Ranks([0], [1], 5)
    assert ranks == everything()
    others: list[object] = [ranks[::-1], ranks[:3], ranks.with_weights(None), "Ranks"]
    others += [ranks.with_weights([1, 1, 1, 1]), ranks.with_protocol(split="valid")]
    for name, other in itertools.product(ranks.labels, (None, "other")):
        others.append(ranks.with_labels(**{name: other}))
    assert [other for other in others if ranks == other] == []
    assert Ranks([0], [1], 5, audit=([0], [0], [1])) != Ranks([0], [1], 5, audit=([1], [0], [1]))
    assert bare != Ranks([0], [1], 6)
    assert bare.with_labels(category="1-1") != bare.with_labels(category="1-n")
    made = {"order": "ascending", "dtype": "float16", "similarity": "l1", "version": "9"}
    assert ranks == ranks.with_protocol(**made, files=["t.npy"])
    with pytest.raises(AttributeError, match="'Ranks' object has no attribute 'sides'"):
        bare.sides  # type: ignore[attr-defined]  # noqa: B018


def test_repr_tells_what_it_is() -> None:
    assert repr(everything()) == (
        "Ranks(4 tasks, 3 tied, 5 to 2,199,023,255,552 candidates, sides head 2 + tail 2, weights, "
        "relation, queries, targets, unit, audit; split test, filtered by train + valid, "
        "all candidates, nan raise, float32)"
    )
    ranks = Ranks([0, 2, 3], [1, 98, 4], 100, listed=[True, False, True])
    assert repr(ranks).startswith("Ranks(3 tasks, 1 tied, 100 candidates, 1 misses; ")


# -- joins -----------------------------------------------------------------------------------------


def test_join_of_one_vocabulary_keeps_it() -> None:
    whole = Ranks([0, 1, 2, 3], [1] * 4, 5, relation=([2, 0, 1, 2], ("a", "b", "c")))
    slices = [whole[:1], whole[1:1], whole[1:]]
    joined = concatenate(slices).relation
    assert joined.vocabulary is whole.relation.vocabulary
    assert joined.codes.tolist() == [2, 0, 1, 2]
    unlike = Ranks([0], [1], 5, relation=(["c", "d"])[1:])
    nothing = Ranks([], [], 5, relation=[])
    mixed = concatenate([nothing, unlike, *slices, whole, unlike, whole[2:]]).relation
    assert mixed.vocabulary == ("d", "a", "b", "c")
    assert mixed.values.tolist() == list("dcabccabcdbc")


BARE = Ranks([0], [1], 5)


def test_what_is_not_joined() -> None:
    other = BARE.with_protocol(filter=("train",), nan="omit")
    words = "^parts: number 2: .*: none against train; nan: "
    refusal(ValueError, words, concatenate, [BARE, BARE, other])
    unlike = [BARE.with_labels(relation=label) for label in (["x"], [3])]
    refusal(ValueError, "^relation: ", concatenate, unlike)
    for parts in ([], everything(), [everything(), 3], 3):
        refusal(TypeError, "^parts: ", concatenate, parts)
    for name in OPTIONAL:
        value = {"weights": [1.0], "audit": ([0], [0], [1])}.get(name, ["x"])
        rich = Ranks([0], [1], 5, **{name: value})
        words = f"^parts: {name} missing in part 1"
        refusal(ValueError, words, concatenate, [rich, BARE, rich, BARE])


WORDS = st.lists(st.sampled_from(["", "a", "b\0", "1"]), min_size=3, max_size=3)
NUMBERS = st.lists(st.integers(-2, 2), min_size=3, max_size=3)


def test_labels_of_another_type_are_refused() -> None:
    of_ids = ["7", ["7", "9", "7"], np.array(["7", "9", "7"]), NAMES, True, 7.0]
    of_names = [7, np.int64(0), [0, 1, 0], True, b"a"]
    for labels, others in ((IDS, of_ids), (NAMES, of_names)):
        for other in others:
            for compare in (operator.eq, operator.ne):
                refusal(TypeError, "^labels: ", compare, labels, other)
    for labels, kind, others in ((IDS, "int", of_ids[:4]), (NAMES, "str", of_names[:3])):
        for other in others:
            words = f"^labels: expected {kind}, as the labels of these tasks are, got "
            refusal(TypeError, words, operator.eq, labels, other)
    assert (IDS[:0] == "7").tolist() == (NAMES[:0] == 7).tolist() == (IDS[:0] == []).tolist() == []


@given(st.one_of(st.tuples(WORDS, WORDS), st.tuples(NUMBERS, NUMBERS)))
def test_labels_compare_as_their_plain_values(both: tuple[list[Any], list[Any]]) -> None:
    ours, theirs = both
    labels, other = (Ranks([0] * 3, [1] * 3, 9, relation=x).relation for x in (ours, theirs))
    expected = [a == b for a, b in zip(ours, theirs, strict=True)]
    assert (labels == other).tolist() == (labels == theirs).tolist() == expected
    if "b\0" not in theirs:  # whose last character an array of numpy has not
        assert (np.array(theirs) == labels).tolist() == (labels == np.array(theirs)).tolist()
        assert (labels == np.array(theirs)).tolist() == expected
    assert (labels != other).tolist() == [not equal for equal in expected]
    assert labels.same_as(other) == (ours == theirs)
    assert not labels.same_as(labels[:2])
    for one in theirs:
        assert (labels == one).tolist() == [a == one for a in ours]
    assert list(labels) == ours


# -- labels of any name ----------------------------------------------------------------------------

# What labels of these names once meant, and what tasks label their ranks with.
FORMER = "gain gain_rule misses_rule judged_above judged_tied judged_places retrieval_answers"
FORMER += " without_answers relevance_level answerless position_in_whole tasks_in_whole"
OF_TASKS = "category head_degree tail_degree degree group"
TAKEN = set(f"{FORMER} {OF_TASKS} labels optimistic realistic pessimistic task".split())
TAKEN |= {*Ranks.__annotations__, *storage.MEMBERS, *Audit._fields, *Origin.__annotations__}
TAKEN |= {field.name for field in dataclasses.fields(Protocol)}


def numbers_of(ranks: Ranks) -> list[Any]:
    """Return what is said of ranks, of their queries, and beside the same in another order."""
    joined = concatenate([ranks[1::2], ranks[::2]])
    measured = report(ranks)
    of_queries = query_report(ranks.with_weights(None), answerless="zero", relevance_level=2)
    compared = tr.compare(measured, report(joined), metric="mrr", allow_unlike=True)
    results = [measured.to_json(), report(ranks, by="relation").to_json(), of_queries.to_json()]
    results += map(str, (measured.interval("mrr"), of_queries.interval("map"), compared))
    return [*results, joined.above.tolist(), joined.unit.codes.tolist()]


@pytest.mark.filterwarnings("ignore:parts. known answers count as wrong")  # The counts are made up.
def test_no_label_has_a_hidden_meaning(tmp_path: Path) -> None:
    ranks = everything()
    usual = numbers_of(ranks)
    labels = {}
    for i, name in enumerate(sorted(TAKEN - set(LABEL_ALIASES))):
        if name.startswith("_"):
            continue
        values: list[Any] = list(range(5, 5 + len(ranks)))
        if i % 2:
            values = [f"word {value}" for value in values]
        labels[name] = values
        labelled = ranks.with_labels(**{name: values})
        assert labelled.labels[name].values.tolist() == values
        if name not in ranks.labels:
            assert numbers_of(labelled) == usual, name
    labelled = ranks.with_labels(**labels)
    labelled.save(tmp_path / "ranks.npz")
    assert load(tmp_path / "ranks.npz") == labelled
