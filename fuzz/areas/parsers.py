"""`parsers`: files of every kind, damaged or hostile, against the table of what reads them."""

from __future__ import annotations

import contextlib
import functools
import gzip
import zlib
from typing import Any

from hypothesis import strategies as st

from fuzz.check import Check, Strategy, check
from fuzz.mutations import damage, mutate
from support.parsers import PARSERS, corpus_files, parse, samples

_RANDOMS: Strategy = st.randoms(use_true_random=False)


@st.composite
def mutants(draw: st.DrawFn, name: str) -> bytes:
    files = [data for _, data in corpus_files(name)]
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
        if name == "triples_gz" and is_gzip(data):
            return  # what gzip itself reads is undamaged: its members may be repeated, for instance
        found = parse(name, data)
        expected = original(name, number)
        assert isinstance(found, Exception) or found == expected, f"{expected} is read as {found}"

    return check(damaged_files(name), inputs=20)(reads_the_same_or_refuses)


def is_gzip(data: bytes) -> bool:
    with contextlib.suppress(EOFError, OSError, zlib.error):
        return gzip.decompress(data) is not None
    return False


@functools.cache
def original(name: str, number: int) -> Any:
    return parse(name, samples(name)[number])


for _name, _parser in PARSERS.items():
    globals()[f"hostile_{_name}"] = hostile(_name)
    if _parser.has_checksum:
        globals()[f"damaged_{_name}"] = damaged(_name)
