"""The ids of names are their places among all names."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank.errors import InputValueError
from truerank.records.vocabularies import Vocabulary

TEXTS = st.text(st.characters(), max_size=20)  # halves of surrogate pairs, too
OTHERS = st.one_of(st.integers(), st.none(), st.binary(max_size=3))


@given(st.lists(TEXTS, min_size=1, max_size=40, unique=True), st.data())
def test_codes_are_places_and_minus_one_for_what_is_no_name(order: list[str], data: Any) -> None:
    asked = data.draw(st.lists(st.one_of(st.sampled_from(order), TEXTS, OTHERS), max_size=100))
    codes = Vocabulary(len(order), tuple(order)).find("entities", asked)
    places = {name: place for place, name in enumerate(order)}
    assert codes.tolist() == [places.get(name, -1) for name in asked]


@given(st.lists(st.text("ab \t", max_size=3), min_size=1, max_size=12))
def test_labels_are_distinct_whatever_blanks_they_end_in(labels: list[str]) -> None:
    """By sets: first no label occurs twice, then none differs from another in blanks alone."""
    bare = [label.strip(" \t") for label in labels]
    if len(set(bare)) == len(labels):
        assert Vocabulary.read("entities", labels).names == tuple(labels)
        return
    problem = "differ only in blanks at their ends"
    if len(set(labels)) < len(labels):
        problem = "occurs twice"
    with pytest.raises(InputValueError, match=problem):
        Vocabulary.read("entities", labels)


def test_more_labels_than_a_table_begins_with() -> None:
    labels = [f"name {i}" for i in range(5_000)]
    ids = Vocabulary.read("entities", labels).find("entities", labels[::-1])
    assert ids.tolist() == list(range(4_999, -1, -1))
    with pytest.raises(InputValueError, match="'name 7' occurs twice"):
        Vocabulary.read("entities", [*labels, "name 7"])
    with pytest.raises(InputValueError, match="'name 7' and 'name 7 ' differ only in blanks"):
        Vocabulary.read("entities", [*labels, "name 7 "])
