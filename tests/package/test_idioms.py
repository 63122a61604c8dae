"""The lint session counts dense idioms: what it finds, and when their numbers have risen."""

from __future__ import annotations

import ast

import pytest

from tools.idioms import AIMS, FAULTS, faults_of, idioms_of, rises, table

FOUND = {
    "a if b else c": ["conditional"],
    "[*a, b]; (*a, b); {*a}; first, *others = a": ["starred"] * 4,
    "f(*a)": [],
    "a, b = c, d": ["tuple"],
    "a, b = c": [],
    "a = b, c": [],
    "if (a := b): pass": ["walrus"],
}
FAULTY = {
    "a = b if c else d": [],
    "return_value = (b if c else d) + 1": [],
    "a if b else c if d else e": ["nested"],
    "a if (b if c else d) else e": ["nested"],
    "f(a if b else c)": ["inside"],
    "f(x=1 + (a if b else c))": ["inside"],
    "(a if b else c)(x)": [],
    "[a if b else c]; {1: a if b else c}": ["inside", "inside"],
    "f(g([a if b else c]))": ["inside"],
    "f(lambda: a if b else c)": [],
    "f(a if b else c for b in x)": [],
    "f(a if b else c if d else e)": ["inside", "inside", "nested"],
    "[a] * (n > 1)": ["times bool"],
    "[a] * is_full": ["times bool"],
    "x.has_rows(1) * (a, b)": ["times bool"],
    "def f(full: bool): return [a] * full": ["times bool"],
    "def f(full: int): return [a] * full": [],
    "[0] * n; weights * (x > 0)": [],
    "[*a, *([b] if c else [])]": ["inside", "starred if"],
    "name + 's'": ["plural"],
    "f'{n} task' + ('' if n == 1 else 's')": ["plural"],
    "f'{name}s of {n}'": ["plural"],
    "f'{seconds:.1f}s'": [],
    "f'{name} sums'; f'{name}sum'": [],
    "'s' * (n != 1)": ["plural", "times bool"],
}


@pytest.mark.parametrize("code", FOUND)
def test_idioms(code: str) -> None:
    assert [name for name, _ in idioms_of(ast.parse(code))] == FOUND[code]


@pytest.mark.parametrize("code", FAULTY)
def test_faults(code: str) -> None:
    assert sorted(name for name, _ in faults_of(ast.parse(code))) == FAULTY[code]


def counts(lines: int, **found: int) -> dict[str, dict[str, int]]:
    return {"room": {"lines": lines, **dict.fromkeys(AIMS, 0), **dict.fromkeys(FAULTS, 0), **found}}


@pytest.mark.parametrize(
    ("before", "now", "said"),
    [
        (
            counts(1000, conditional=40),
            counts(1000, conditional=41),
            "41 in 1000 lines, at most 40",
        ),
        (counts(1000, conditional=40), counts(1200, conditional=41), ""),  # at a lower rate
        (counts(1000, conditional=40), counts(900, conditional=40), ""),  # no more than there were
        (counts(1000, conditional=1), counts(1000, conditional=12), ""),  # what is aimed at
        (counts(1000, nested=1), counts(9000, nested=2), "room: nested: 2, at most 1"),
        (counts(1000, nested=1), counts(1000), ""),
        ({}, counts(1000, conditional=13), "13 in 1000 lines, at most 12"),
        ({}, counts(1000, conditional=12), ""),
        ({}, counts(1000, inside=1), "room: inside: 1, at most 0"),
    ],
)
def test_what_has_risen(
    before: dict[str, dict[str, int]], now: dict[str, dict[str, int]], said: str
) -> None:
    found = list(rises(now, before))
    assert len(found) == bool(said)
    assert all(said in fault for fault in found)


def test_table_of_rates_and_numbers() -> None:
    title, room, aim = table(counts(2000, conditional=3, inside=7)).splitlines()
    assert title.split("  ")[0] == "room"
    assert room.split() == ["room", "2,000", "1.5", "0.0", "0.0", "0.0", "0", "7", "0", "0", "0"]
    assert aim.split() == ["aim", "12.0", "3.0", "6.0", "0.5"] + ["0"] * 5
