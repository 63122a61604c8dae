"""`parsers`: files of every kind, damaged or hostile, against the table of what reads them."""

from __future__ import annotations

import contextlib
import functools
import gzip
import zlib
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.mutations import damage, mutate
from support.parsers import PARSERS, corpus_files, parse, samples

RANDOMS: st.SearchStrategy[Random] = st.randoms(use_true_random=False)
SAMPLES = [
    (name, number)
    for name, parser in PARSERS.items()
    for number in range(len(samples(name)) if parser.has_checksum else 0)
]


@settings(max_examples=20 * len(PARSERS))
@given(st.sampled_from(list(PARSERS)), st.integers(0), RANDOMS)
def hostile(name: str, number: int, random: Random) -> None:
    """A parser keeps its promises for every file."""
    files = [data for _, data in corpus_files(name)]
    parse(name, mutate(files[number % len(files)], random, files))


@settings(max_examples=80)
@given(st.sampled_from(SAMPLES), RANDOMS)
def damaged(sample: tuple[str, int], random: Random) -> None:
    """A file with a checksum is never read as another, if it is damaged."""
    name, number = sample
    data = damage(samples(name)[number], random)
    if name == "triples_gz" and is_gzip(data):
        return  # what gzip itself reads is undamaged: its members may be repeated, for instance
    found = parse(name, data)
    expected = original(name, number)
    assert isinstance(found, Exception) or found == expected, f"{expected} is read as {found}"


def is_gzip(data: bytes) -> bool:
    with contextlib.suppress(EOFError, OSError, zlib.error):
        return gzip.decompress(data) is not None
    return False


@functools.cache
def original(name: str, number: int) -> Any:
    return parse(name, samples(name)[number])
