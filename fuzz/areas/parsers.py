"""`parsers`: files of every kind, damaged or hostile, against the table of what reads them."""

from __future__ import annotations

import functools
import gzip
import zlib
from typing import Any

from hypothesis import strategies as st

from fuzz.check import Check, Fault, Strategy, check
from fuzz.mutations import damage, mutate
from support.parsers import PARSERS, corpus_files, parse, samples

CORE = False

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
    try:
        gzip.decompress(data)
    except (EOFError, OSError, zlib.error):
        return False
    return True


@functools.cache
def original(name: str, number: int) -> Any:
    return parse(name, samples(name)[number])


globals().update({f"hostile_{name}": hostile(name) for name in PARSERS})
globals().update(
    {f"damaged_{name}": damaged(name) for name, parser in PARSERS.items() if parser.has_checksum}
)

FAULTS = [
    Fault(
        "the dtype of counts in an archive left unchecked",
        "python/truerank/counting/partial_counts.py",
        'if table.dtype == np.int64 and table.shape[1:] == like["above"].shape:',
        'if table.shape[1:] == like["above"].shape:',
    ),
    Fault(
        "the size that a .npy header declares left unchecked",
        "python/truerank/arrays/input_files.py",
        "parse_npy_header(content[:MAX_HEADER_BYTES], len(content))",
        "parse_npy_header(content[:MAX_HEADER_BYTES], 1 << 999)",
    ),
    Fault(
        "the size that members of an .npz declare left unchecked",
        "python/truerank/arrays/input_files.py",
        "declared = sum(info.compress_size for info in entries.values())",
        "declared = 0",
    ),
    Fault(
        "an error of zlib that is not caught",
        "python/truerank/records/text.py",
        "except (EOFError, zlib.error, gzip.BadGzipFile) as error:",
        "except (EOFError, gzip.BadGzipFile) as error:",
    ),
    Fault(
        "the columns of a line in another order",
        "python/truerank/records/text.py",
        "order = [form.places[role] for role in names]",
        "order = [form.places[role] for role in names][::-1]",
    ),
    Fault(
        "text beyond Unicode in a .npy file let through",
        "python/truerank/arrays/input_files.py",
        "if codes.max() > sys.maxunicode:",
        "if False:",
    ),
]
