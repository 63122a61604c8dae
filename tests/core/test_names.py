"""Names as codes, and the types of elements, beside dictionaries and loops of Python."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import truerank as tr
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


def names_of_one_hash(size: int) -> list[str]:
    """Return names of 16 letters each that are hashed alike: two steps of hash_of cancel out."""
    whole = (1 << 64) - 1

    def state(word: bytes) -> int:
        x = 0x9E3779B97F4A7C15 * 17 & whole ^ int.from_bytes(word, sys.byteorder)
        x ^= x >> 32
        x = x * 0xD6E8FEB86659FD93 & whole
        return (x ^ x >> 32) * 0x9E3779B97F4A7C15 & whole

    sought = state(b"00000000") ^ int.from_bytes(b"11111111", sys.byteorder)
    names = []
    for i in itertools.count():
        start = f"{i:08}".encode()
        end = (state(start) ^ sought).to_bytes(8, sys.byteorder)
        if end.isascii():
            names.append((start + end).decode())
        if len(names) == size:
            return names


def test_names_of_one_hash_are_compared() -> None:
    """Hashes say for certain that names are distinct, and never that they are not."""
    names = names_of_one_hash(5)
    assert len(set(_core.name_hashes(names))) == 1
    codes, distinct = _core.code_names(names + names)
    assert (codes.tolist(), distinct) == ([0, 1, 2, 3, 4] * 2, tuple(names))
    task = tr.retrieval.Task({"q": [names[1]]}, entities=names)
    assert task.evaluate_scores([[4, 5, 3, 2, 1]])["mrr"] == 1
    with pytest.raises(tr.InputValueError, match="twice"):
        tr.retrieval.Task({"q": [names[1]]}, entities=[*names, names[3]])


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
