"""One function says what elements name: it agrees with a plain definition that looks at each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.examples import examples
from support.refusals import refusal
from truerank import _core
from truerank.errors import InputTypeError, InputValueError
from truerank.records.columns import Column
from truerank.records.vocabularies import NO_NUMBER, Vocabulary, align

pytestmark = pytest.mark.python_only

WORDS = ["a", "b", " a b", "7", "07", "-2", "", "é", "10", " c ", "c", "1.5", "+3"]
INTS = [-2, -1, 0, 1, 2, 3, 7, 10, 10**12]


def name_by_rule(element: Any, vocabulary: Vocabulary, kind: str) -> int | str:
    """Return the position of one element; "refused" if its type names nothing, "unknown" else."""
    names: list[Any] = list(vocabulary.names or ())
    holds_words = bool(names) and isinstance(names[0], str)
    if kind == "text" and holds_words and not vocabulary.has_ids:
        names = [name.strip(" \t\r\n") for name in names]
    elif kind == "text":
        if not re.fullmatch("0|-?[1-9][0-9]{0,17}", element):
            return "unknown"
        element = int(element)
    is_refused = kind == "label" and not holds_words
    if kind == "int" or (kind == "positions" and not vocabulary.has_order):
        is_refused = refuses_ints(vocabulary)
    if is_refused:
        return "refused"
    labels: Sequence[Any] = names
    if isinstance(element, int) and (holds_words or not names or vocabulary.has_ids):
        labels = range(vocabulary.size) if vocabulary.size else [element]
    if kind == "positions" and vocabulary.has_order:
        labels = range(vocabulary.size) if vocabulary.size else [element]
    if element not in labels:
        return "unknown"
    return element if not vocabulary.size else labels.index(element)


def refuses_ints(vocabulary: Vocabulary) -> bool:
    """Whether an int could mean two things, or a place in an order that nobody gave."""
    names = vocabulary.names or ()
    if not names or isinstance(names[0], int) or vocabulary.has_ids:
        return False
    is_like = any(re.fullmatch(r"\s*[+-]?\d+\s*", str(name), re.ASCII) for name in names)
    return is_like or not vocabulary.has_order


def align_plainly(elements: Sequence[Any], vocabulary: Vocabulary, kind: str) -> Any:
    """Return the ids, or the error's type and the place of the element that it is about."""
    ids = [name_by_rule(element, vocabulary, kind) for element in elements]
    if "refused" in ids:
        return InputTypeError, 0
    if "unknown" in ids:
        return InputValueError, ids.index("unknown")
    return ids


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    names = draw(
        st.none()
        | st.lists(st.sampled_from(WORDS), unique_by=str.strip, max_size=6).map(tuple)
        | st.lists(st.sampled_from(INTS), unique=True, min_size=1, max_size=6).map(tuple)
    )
    size = draw(st.integers(0, 4)) if names is None else len(names)
    if names is not None and not names:
        names = None
    has_ids, has_order = draw(st.booleans()), draw(st.booleans())
    if names and isinstance(names[0], str) and not has_ids:  # As documents that have names alone.
        size += draw(st.sampled_from([0, 0, 2]))
    has_order = has_order or (names is not None and isinstance(names[0], int))
    return Vocabulary(size, names, has_order=has_order, has_ids=has_ids)


@st.composite
def columns(draw: st.DrawFn) -> tuple[Column, list[Any], str]:
    """Return a column, its elements one by one, and of which kind they are."""
    kind = draw(st.sampled_from(["int", "label", "text", "positions"]))
    if kind in ("int", "positions"):
        ints = draw(st.lists(st.sampled_from(INTS[2 if kind == "positions" else 0 :]), max_size=6))
        labels = range(4) if kind == "positions" else None
        return Column(np.array(ints, np.int64), labels), ints, kind
    words = draw(st.lists(st.sampled_from(WORDS), max_size=6))
    if kind == "text":
        words = [word.strip() for word in words]
    names = _core.Names()
    names.add(draw(st.lists(st.sampled_from(WORDS), max_size=3)))  # Those of another column.
    return Column(names.add(words), names, kind == "text"), words, kind


@examples(1500)
@given(vocabularies(), columns(), columns())
def test_elements_name_what_each_of_them_names(
    vocabulary: Vocabulary,
    drawn: tuple[Column, list[Any], str],
    another: tuple[Column, list[Any], str],
) -> None:
    column, elements, kind = drawn
    expected = align_plainly(elements, vocabulary, kind)
    known: dict[Any, Any] = {}
    if isinstance(align_plainly(another[1], vocabulary, another[2]), list):
        align("ids", another[0], vocabulary, looked_up=known)
    for _ in range(2):  # The second time labels are known.
        try:
            outcome: Any = align(
                "ids", column, vocabulary, "at {}".format, looked_up=known
            ).tolist()
        except (InputTypeError, InputValueError) as error:
            got, _, more = str(error.got).partition(" (all ")
            assert more in ("", f"{len(elements):,} are int)")
            row = int(got.rpartition(" at ")[2])
            shown = got == f"{elements[row]!r} at {row}"
            outcome = type(error), row if shown else str(error)
        assert outcome == expected
    if expected[:1] != (InputTypeError,):
        ids = align("ids", column, vocabulary, needs_all=False).tolist()
        nothing = -1 if vocabulary.size else NO_NUMBER
        each = [name_by_rule(element, vocabulary, kind) for element in elements]
        if kind != "positions":
            assert ids == [nothing if one == "unknown" else one for one in each]


NO_IDS = [True, np.True_, 1.0, float("nan"), np.float32(2), None, b"a", (1,)]
NAMES = [*WORDS, np.str_("a")]
NUMBERS = [*INTS, np.int32(1), np.uint8(7), np.int64(0)]
KINDS = (NAMES, NUMBERS, NAMES + NUMBERS + NO_IDS, NUMBERS + NO_IDS)


@given(vocabularies(), st.sampled_from(KINDS).map(st.sampled_from).flatmap(st.lists))
@examples(200)
def test_elements_in_a_list_are_a_column(vocabulary: Vocabulary, elements: list[Any]) -> None:
    """Other elements than labels alone or integers alone are refused."""
    kind = "int"
    if elements and isinstance(elements[0], str):
        kind = "label"
    plain = [int(x) if isinstance(x, np.integer) else x for x in elements]
    expected = align_plainly(plain, vocabulary, kind)
    wanted = str if kind == "label" else (int, np.integer)
    are_wrong = [isinstance(x, bool) or not isinstance(x, wanted) for x in elements]
    if any(are_wrong):
        expected = InputTypeError, are_wrong.index(True)
    try:
        outcome: Any = align("ids", elements, vocabulary, "at {}".format).tolist()
    except (InputTypeError, InputValueError) as error:
        place = re.search(r" at (\d+)", str(error.got))
        assert place is not None
        outcome = type(error), int(place[1])
    assert outcome == expected


def test_ids_that_are_keys() -> None:
    """Keys of rows, as of an index with ids of its own: in any type, of text, and not all found."""
    keys = np.array([5, 10**10 + 1, 10**10]).tolist()
    ids = np.array([[10**10, 5, -1], [10**10 + 1, 10**10 + 2, 10**10]])
    rows = [[2, 0, -1], [1, -1, 2]]
    for labels in (keys, tuple(map(str, keys)), np.array(keys)):
        vocabulary = Vocabulary.read("entities", labels)
        assert vocabulary.find_keys("ids", ids, 3).tolist() == rows
        flat = vocabulary.find_keys("ids", ids[:, :2], 3)
        assert flat.tolist() == [row[:2] for row in rows]
        nothing = vocabulary.find_keys("ids", np.full((2, 2), -1), 3)
        assert nothing.tolist() == [[-1, -1]] * 2
    of_minus_one = Vocabulary.read("entities", [-1, 5])
    assert of_minus_one.find_keys("ids", np.array([[-1, 5]]), 2).tolist() == [[0, 1]]
    words = [
        "a",
        "7",
    ]  # An integer is a label that is written as Python writes it, never a position.
    for values, expected in (
        ([[7, 0, -1]], [[1, -1, -1]]),
        ([["a", "7", "0", "-1", ""]], [[0, 1, -1, -1, -1]]),
    ):
        found = Vocabulary.read("entities", words).find_keys("ids", np.array(values), 2)
        assert found.tolist() == expected
    found = Vocabulary.read("entities", keys).find_keys("ids", np.array([["5", "05"]]), 3)
    assert found.tolist() == [[0, -1]]
    refusals: list[tuple[Any, str, Any, Any, int]] = [
        (InputValueError, "ids: expected labels of .*, as 5, got 7", [[-1, 7], [8, 9]], keys, 3),
        (InputValueError, "entities: expected a label for each of 4 entities, got 3", ids, keys, 4),
        (InputValueError, "ids: expected labels of entities, as 'a', got 5", [[5, 12]], words, 2),
        (InputValueError, "ids: expected labels of entities, as 'a', got b", [["b", ""]], words, 2),
        (InputValueError, "ids: expected labels of entities, as 5, got 05", [["05"]], keys, 3),
    ]
    for kind, message, values, labels, size in refusals:
        vocabulary = Vocabulary.read("entities", labels)
        refusal(kind, message, vocabulary.find_keys, "ids", np.array(values), size)
