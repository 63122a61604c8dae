"""The ids of names are their places among all names."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from truerank.splits.vocabularies import Vocabulary

TEXTS = st.text(st.characters(), max_size=20)  # halves of surrogate pairs, too
OTHERS = st.one_of(st.integers(), st.none(), st.binary(max_size=3))


@given(st.lists(TEXTS, min_size=1, max_size=40, unique=True), st.data())
def test_codes_are_places_and_minus_one_for_what_is_no_name(order: list[str], data: Any) -> None:
    asked = data.draw(st.lists(st.one_of(st.sampled_from(order), TEXTS, OTHERS), max_size=100))
    codes = Vocabulary(len(order), tuple(order)).codes_of(asked)
    places = {name: place for place, name in enumerate(order)}
    assert codes.tolist() == [places.get(name, -1) for name in asked]


def test_codes_of_more_names_than_a_table_begins_with() -> None:
    order = [f"name {i}" for i in range(5_000)]
    assert Vocabulary(5_000, tuple(order)).codes_of(order[::-1]).tolist() == list(
        range(4_999, -1, -1)
    )
