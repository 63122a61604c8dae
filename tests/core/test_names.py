"""Names as codes, and the types of elements, beside dictionaries and loops of Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truerank import _core

# halves of surrogate pairs, blanks at the ends, lengths around those that are hashed at once
TEXTS = st.text(st.characters() | st.sampled_from("ab \t\r\n\0"), max_size=20)
NAMES = st.lists(TEXTS | TEXTS.map(np.str_), max_size=60) | st.lists(st.sampled_from("abc"))
OTHERS = st.sampled_from([0, None, b"a", 1.5, ()])


@given(NAMES, st.booleans())
def test_codes_are_those_of_a_dictionary(names: list[str], in_a_tuple: bool) -> None:
    codes: dict[str, int] = {}
    expected = [codes.setdefault(name, len(codes)) for name in names]
    given_names: Any = names
    if in_a_tuple:
        given_names = tuple(names)
    found, distinct = _core.code_names(given_names)
    assert found.tolist() == expected
    assert distinct == tuple(codes)
    # the first of equal ones, and no copy
    assert all(name is names[expected.index(code)] for code, name in enumerate(distinct))


@pytest.mark.parametrize("size", [3, 1000, 200_000])
def test_many_names_are_told_apart(size: int) -> None:
    """Also those that differ in one character, in tables that grow, and in several batches."""
    names = [f"{i:x}" for i in range(size)]
    shuffled = np.random.default_rng(1).permutation(names).tolist()
    codes, distinct = _core.code_names(shuffled + names)
    assert distinct == tuple(shuffled)
    assert codes[:size].tolist() == list(range(size))
    assert [shuffled[code] for code in codes[size:].tolist()] == names
    assert len(np.unique(_core.name_hashes(names))) == size


@given(st.lists(TEXTS | TEXTS.map(np.str_) | OTHERS))
def test_types_are_those_of_a_loop(elements: list[Any]) -> None:
    assert _core.types_of(elements) == set(map(type, elements))
    plain = None
    if all(type(element) is str for element in elements):
        plain = tuple(elements)
    assert _core.plain_names(elements) == plain


@pytest.mark.parametrize("read", [_core.code_names, _core.name_hashes, _core.have_blank_ends])
def test_names_are_str(read: Any) -> None:
    with pytest.raises(TypeError, match="names: expected str"):
        read(["a", 1])
