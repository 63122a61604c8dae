"""One rule for ids at every door, against the rule in plain Python."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
from support.examples import examples
from support.refusals import refusal, refused
from truerank import alignment
from truerank.link_prediction import Task, read_triples

# -- the rule, in plain Python ---------------------------------------------------------------------

# three things by each kind of vocabulary
VOCABULARIES: dict[str, Any] = {
    "str": ("a", "b", "c d"),
    "str like int": ("a", "02", "7"),
    "int": (7, 2, -1),
    "count": 3,
}


def place_of(order: Any, element: Any) -> int:
    """Return the position of what an element of Python names."""
    is_int = isinstance(element, (int, np.integer)) and not isinstance(element, (bool, np.bool_))
    if not is_int and not isinstance(element, str):
        raise TypeError(element)
    if isinstance(order, tuple) and isinstance(order[0], str):
        if isinstance(element, str):
            return order.index(element)
        if any(re.fullmatch("[+-]?[0-9]+", label) for label in order):
            raise TypeError(element)
        return range(len(order)).index(element)
    if isinstance(element, str):
        raise TypeError(element)
    if isinstance(order, tuple):
        return order.index(element)
    return range(order).index(element)


def places_of(order: Any, elements: list[Any]) -> list[int]:
    """Return the positions of elements, which are all str or all int."""
    if len({isinstance(element, str) for element in elements}) > 1:
        raise TypeError(elements)
    places: list[int] = []
    unknown = None
    for element in elements:  # a wrong type is told before an unknown name
        try:
            places.append(place_of(order, element))
        except ValueError as error:
            unknown = error
    if unknown is not None:
        raise unknown
    return places


def places_in_text(order: Any, fields: list[str]) -> list[int]:
    """Return the positions of what fields of text name."""
    places = []
    for field in fields:
        bare = field.strip(" ")
        if isinstance(order, tuple) and isinstance(order[0], str):
            places.append(order.index(bare))
        else:
            if not re.fullmatch("0|-?[1-9][0-9]*", bare):
                raise ValueError(field)
            places.append(place_of(order, int(bare)))
    return places


class Door(NamedTuple):
    """A way in: what it makes of elements, and what it makes of their positions."""

    read: Callable[[Any, Any], Any]
    expect: Callable[[list[int]], Any]


def first(order: Any) -> Any:
    """Return an element that names what is at position 0."""
    if isinstance(order, tuple):
        return order[0]
    return 0


def candidates(places: list[int]) -> Any:
    """Expect the set, in which the right answer, which is at position 0, must be."""
    if 0 not in places:
        raise ValueError(places)
    return sorted(set(places))


def listed(places: list[int]) -> Any:
    """Expect the place of position 0 in a list without repeats, or 0 tied with all others."""
    if len(set(places)) < len(places):
        raise ValueError(places)
    if 0 in places:
        return [places.index(0), 1]
    return [len(places), 3 - len(places)]


def counted(ranks: Any) -> list[int]:
    return [int(ranks.above[0]), int(ranks.tied[0])]


def task_of(order: Any, **options: Any) -> Task:
    test = [(first(order), "r", first(order))]
    return Task(test, {}, entities=order, relations=["r"], sides=["tail"], **options)


def facts_in(rows: Any, column: int, **orders: Any) -> Any:
    return read_triples(rows, **orders).ids[:, column].tolist()


def paired(pairs: Any, column: int, order: Any) -> Any:
    task = alignment.Task(pairs, left=order, right=order, duplicates="drop")
    return task.pairs[:, column].tolist()


def once(places: list[int]) -> Any:
    """Expect each in the order in which it comes first."""
    return list(dict.fromkeys(places))


def tails(order: Any, x: Any) -> Any:
    return [(first(order), "r", e) for e in x]


def lists_of_tails(order: Any, x: Any) -> Any:
    return task_of(order).evaluate_lists({(first(order), "r"): list(x)})


PYTHON_DOORS: dict[str, Door] = {
    "facts": Door(lambda o, x: facts_in(tails(o, x), 2, entities=o), list),
    "candidates": Door(lambda o, x: task_of(o, candidates=x).tail.candidates.tolist(), candidates),
    "lists": Door(lambda o, x: counted(lists_of_tails(o, x).ranks), listed),
    "aligned pairs: left": Door(lambda o, x: paired([(e, first(o)) for e in x], 0, o), once),
}


def in_file(folder: Path, text: str) -> Path:
    path = folder / "facts.txt"
    path.write_text(text)
    return path


TEXT_DOORS: dict[str, tuple[str, Door]] = {
    "text: relations": ("a\t{0}\ta", Door(lambda o, x: facts_in(x, 1, relations=o), list)),
    "text: lists": (
        "{1}\tr\t{0}",
        Door(lambda o, x: counted(task_of(o).evaluate_lists(x).ranks), listed),
    ),
}

NAMES = st.sampled_from(["a", "b", "c d", "02", "7", "2", "-1", "0", "z", "a ", np.str_("a")])
INTS = st.sampled_from([0, 1, 2, 3, 7, -1, np.int32(1), np.uint8(7), np.int64(0)])
NO_IDS = st.sampled_from(
    [True, False, np.True_, 1.0, float("nan"), np.float32(2), None, b"a", (1,)]
)
ELEMENTS = st.one_of(
    st.lists(NAMES, min_size=1, max_size=4),
    st.lists(INTS, min_size=1, max_size=4),
    st.lists(st.one_of(NAMES, INTS, NO_IDS), min_size=1, max_size=4),
    st.lists(st.one_of(INTS, NO_IDS), min_size=1, max_size=4),
)


def outcome(call: Callable[[], Any]) -> Any:
    """Return a result, or the kind of its error."""
    try:
        return call()
    except tr.InputTypeError:
        return TypeError
    except tr.InputValueError:
        return ValueError


def places_at(door: str, order: Any, elements: list[Any]) -> list[int]:
    """Return positions; a mask of integers is refused where a set of ids is asked for."""
    are_names = all(isinstance(one, str) for one in elements)
    are_ints = all(isinstance(one, (int, np.integer)) for one in elements) and not any(
        isinstance(one, bool) for one in elements
    )
    if door.startswith("lists") and (are_names or are_ints) and len(set(elements)) < len(elements):
        raise ValueError(elements)  # repeats are looked for first
    places = places_of(order, elements)
    is_of_integers = len(elements) == 3 and not any(isinstance(one, str) for one in elements)
    if door == "candidates" and is_of_integers and set(elements) <= {0, 1}:
        raise ValueError(elements)
    return places


def expected(places: Callable[[], list[int]], expect: Callable[[list[int]], Any]) -> Any:
    try:
        return expect(places())
    except (TypeError, ValueError) as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", VOCABULARIES)
@pytest.mark.parametrize("door", PYTHON_DOORS)
@examples(60)
@given(ELEMENTS)
def test_elements_of_python(door: str, kind: str, elements: list[Any]) -> None:
    order = VOCABULARIES[kind]
    read, expect = PYTHON_DOORS[door]
    right = expected(lambda: places_at(door, order, elements), expect)
    assert outcome(lambda: read(order, elements)) == right


FIELDS = st.sampled_from(["a", "b", "c d", "02", "7", "2", "-1", "0", "1", "z", "+1", "1.0"])
PADDED = st.tuples(st.sampled_from(["", " ", "  "]), FIELDS, st.sampled_from(["", " "]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", VOCABULARIES)
@pytest.mark.parametrize("door", TEXT_DOORS)
@examples(60)
@given(st.lists(PADDED.map("".join), min_size=1, max_size=4))
def test_fields_of_text(
    door: str, kind: str, tmp_path_factory: pytest.TempPathFactory, fields: list[str]
) -> None:
    order = VOCABULARIES[kind]
    form, (read, expect) = TEXT_DOORS[door]
    text = "".join(form.format(field, first(order)) + "\n" for field in fields)
    path = in_file(tmp_path_factory.mktemp("text"), text)
    right = expected(lambda: places_in_text(order, fields), expect)
    assert outcome(lambda: read(order, path)) == right


# -- containers, vocabularies and positions --------------------------------------------------------


def test_containers() -> None:
    order = VOCABULARIES["str"]
    columns = pd.DataFrame({"h": ["b", "a"], "r": ["r", "r"], "t": ["a", "c d"]})
    triples = read_triples(columns.astype("category"), entities=order)
    assert triples.ids.tolist() == [[1, 0, 0], [0, 0, 2]]
    for among in (
        pd.Categorical(["b", "a"]),
        np.array(["b", "a"]),
        np.array(["b", "a"], dtype=object),
        {"b", "a"},
        (name for name in ("b", "a")),
        range(2),
        np.array([1, 0], dtype=np.uint8),
    ):
        assert task_of(order, candidates=among).tail.candidates.tolist() == [0, 1]
    ids = pd.DataFrame({"h": [0, 1], "r": [0, 0], "t": pd.array([1, 2], "Int64")})
    assert read_triples(ids).ids.tolist() == [[0, 0, 1], [1, 0, 2]]


@pytest.mark.parametrize(
    ("order", "kind"),
    [
        ([1, "a"], TypeError),
        ([1, 2, 1], ValueError),
        ([True, False], TypeError),
        ([1.0, 2.0], TypeError),
        (["a", "a "], ValueError),
        ({"a", "b"}, TypeError),
        ({7: 0, 9: 2}, ValueError),
        ({7: 0, 9: "1"}, TypeError),
        ([[1], [2]], TypeError),
    ],
)
def test_what_is_no_vocabulary(order: Any, kind: type[Exception]) -> None:
    refused(kind, "entities", read_triples, [(0, 0, 0)], entities=order)


def test_labels_of_python_and_of_text_differ_in_more_than_blanks(tmp_path: Path) -> None:
    """Text names labels of Python whatever blanks they have, if there is one such label."""
    path = in_file(tmp_path, "a\tr\t b\n")
    triples = read_triples(path, entities=["b", "a "])
    assert (triples.ids.tolist(), triples.entities) == ([[1, 0, 0]], ("b", "a "))
    refused(ValueError, "test", Task, [("a", "r", "b")], entities=["b", "a "])
    refused(ValueError, "entities", Task, [("a ", "r", "b")], {"train": str(path)})


def test_labels_that_are_int_stay_int(tmp_path: Path) -> None:
    """In ranks, groups and files, whatever the order of labels."""
    test = [(7, 30, 2), (2, 20, 7)]
    for entities in ((7, 2, 9), {9: 0, 7: 1, 2: 2}):
        task = Task(test, {}, entities=entities, relations=(30, 20), sides=["tail"])
        scores = [[{7: 3.0, 2: 1.0, 9: 2.0}[name] for name in task.entities]] * 2
        task.evaluate_scores(scores).ranks.save(tmp_path / "ranks.npz")
        ranks = tr.load(tmp_path / "ranks.npz")
        assert ranks.optimistic.tolist() == [3, 1]
        assert ranks.relation.values.tolist() == [30, 20]
        assert {20, 30} == set(tr.report(ranks, by="relation").groups)


def test_padded_fields_of_a_public_file(tmp_path: Path) -> None:
    path = in_file(tmp_path, "12   \t0 \t8\t1\n")
    refusal(
        ValueError,
        "entities: expected labels in the order of their ids, .* all numbers",
        Task,
        path,
        {},
        keys=[3],
    )
    options: dict[str, Any] = {"relations": ["0"], "keys": [3], "sides": ["tail"]}
    task = Task(path, {"train": [("12", "0", "7", "1")]}, entities=["12", "7", "8"], **options)
    assert task.tail.filter[1].tolist() == [1, 2]


# -- what users came with, and the line to write ---------------------------------------------------

UUID = uuid.UUID(int=7)
WITH_NONE = pd.DataFrame({"h": ["a", "b"], "r": ["r", "r"], "t": ["b", None]})
NUMBERED = pd.DataFrame({"h": [0, 1], "r": [0, 0], "t": [1, None]}).astype("Int64")
BY_QUERY = pd.DataFrame({"query": list("uuv"), "document": list("abb")}).groupby("query").agg(list)
TRUTH = np.array([[1], [0, 2]], dtype=object)
triples_of_digits = partial(read_triples, entities=["1", "2", "3"])
qrels_of = partial(tr.retrieval.Task, entities=3)
rank_zeros = partial(tr.rank, np.zeros((2, 3)))
TOP = np.array([[0.9, 0.5], [0.8, 0.1]]), np.array([[0, 2], [1, 0]])  # values, indices


def task_of_facts(facts: Any) -> Task:
    return Task(facts, {}, entities=["a", "b"])


def evaluate_two(lists: Any) -> tr.Report:
    return tr.retrieval.Task({0: [0], 1: [1]}, entities=3).evaluate_lists(lists)


FACTS: list[tuple[Callable[..., Any], Any, str, str]] = [
    (task_of_facts, [("a", "r", None)], "test", "row 0 (missing; pandas reads NA and null as miss"),
    (evaluate_two, {0: [0, None]}, "ids", "got None for 0 (missing; pandas reads NA and null"),
    (read_triples, NUMBERED, "triples", "(pandas makes floats of ints where values are missing)"),
    (task_of_facts, [(UUID, "r", "b")], "test", "in row 0 (of type UUID)"),
    (triples_of_digits, [(2, 0, 2)], "triples", "(an int could be a position, or the label with"),
    (evaluate_two, {"0": [0]}, "ids", "each an int, as queries=2 gives no labels"),
    (evaluate_two, {"0": [0], 1: [1]}, "ids", "(str(...) of each makes labels of all)"),
    (evaluate_two, BY_QUERY.reset_index(), "ids", "(a list of 2, where one id stands)"),
    (qrels_of, BY_QUERY["document"], "qrels", "got Series of shape (2,)"),
    (evaluate_two, TOP, "ids", "or TopK(ids, scores)"),
    (qrels_of, TRUTH, "qrels", "{query: [documents]}, a tuple of columns"),
    (evaluate_two, {0: [object()]}, "ids", "(of type object)"),
]


@pytest.mark.parametrize(("call", "value", "argument", "fact"), FACTS)
def test_what_names_nothing_is_refused_with_a_fact(
    call: Callable[..., Any], value: Any, argument: str, fact: str
) -> None:
    message = refusal(TypeError, re.escape(fact), call, value)
    assert message.startswith(f"{argument}: ")


def test_what_users_make_of_it_is_taken() -> None:
    assert len(task_of_facts(WITH_NONE.dropna()).test) == 1
    assert len(read_triples(NUMBERED.dropna().astype(int)).ids) == 1
    assert qrels_of(BY_QUERY["document"].to_dict()).answers.targets.tolist() == [0, 1, 1]
    assert evaluate_two(tr.TopK(*TOP[::-1]))["mrr"] == 1.0
    rows = np.repeat(np.arange(2), list(map(len, TRUTH)))
    assert len(tr.rank(np.zeros((2, 3)), np.concatenate(TRUTH), rows=rows)) == 3
