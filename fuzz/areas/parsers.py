"""`parsers`: files of every kind, damaged or hostile, against the table of what reads them."""

from __future__ import annotations

import functools
from typing import Any

from hypothesis import strategies as st

from fuzz.check import Check, Fault, Strategy, check
from fuzz.mutations import damage, mutate
from support.parsers import PARSERS, corpus_files, parse, samples

CORE = False

_RANDOMS: Strategy = st.randoms(use_true_random=False)


@functools.cache
def seeds(name: str) -> list[bytes]:
    """Return the files to begin with: valid ones, and those of the corpus."""
    return [*samples(name), *(data for _, data in corpus_files(name))]


@st.composite
def mutants(draw: st.DrawFn, name: str) -> bytes:
    files = seeds(name)
    return mutate(draw(st.sampled_from(files)), draw(_RANDOMS), files)


@st.composite
def damaged_files(draw: st.DrawFn, name: str) -> tuple[int, bytes]:
    number = draw(st.integers(0, len(samples(name)) - 1))
    return number, damage(samples(name)[number], draw(_RANDOMS))


def hostile(name: str) -> Check:
    """Make a check that a parser keeps its promises for every file."""

    def reads_or_refuses(data: bytes) -> None:
        parse(name, data)

    return check(mutants(name), inputs=20)(reads_or_refuses)


def damaged(name: str) -> Check:
    """Make a check that a file with a checksum is never read as another, if it is damaged."""

    def reads_the_same_or_refuses(case: tuple[int, bytes]) -> None:
        number, data = case
        found = parse(name, data)
        expected = original(name, number)
        assert isinstance(found, Exception) or found == expected, f"{expected} is read as {found}"

    return check(damaged_files(name), inputs=20)(reads_the_same_or_refuses)


@functools.cache
def original(name: str, number: int) -> Any:
    return parse(name, samples(name)[number])


globals().update({f"hostile_{name}": hostile(name) for name in PARSERS})
globals().update(
    {f"damaged_{name}": damaged(name) for name, parser in PARSERS.items() if parser.has_checksum}
)

FAULTS: list[Fault] = []
