"""Scores in files of every format, in shards, and damaged, against the definition."""

from __future__ import annotations

import io
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from fuzz.check import Fault, check
from oracles.counting import Counts, Refused, count, count_large
from strategies.count_problems import Problem, problems
from strategies.stored import IO, TILE_BYTES, Stored, stored
from strategies.stored import check as compare
from support.outcomes import assert_outcome

CORE = True


@check(problems(nan=True, errors=False), stored(), TILE_BYTES, IO)
def counts(problem: Problem, way: Stored, tile_bytes: int, io: str | None) -> None:
    compare(problem, way, tile_bytes, io)


@check(problems(nan=True, errors=True), stored(), TILE_BYTES, IO, inputs=50)
def errors(problem: Problem, way: Stored, tile_bytes: int, io: str | None) -> None:
    compare(problem, way, tile_bytes, io)


NUMBERS = st.sampled_from(
    [b"-1", b"0", b"1", b"7", b"1.5", b"2**9", b"9" * 19, b"9" * 40, b"4611686018427387904", b"x"]
)
PIECES = st.sampled_from([b"", b"\0", b"\xff", b"(", b"'", b",", b"}", b"\n", b"L", b"None"])


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """Draw a small file of one of the formats of numpy, changed in a few places."""
    dtype = draw(st.sampled_from(["<f4", ">f8", "<f2", "i1", "<u8"]))
    shape = draw(st.sampled_from([(3, 4), (1, 7), (5,), (2, 0), (0, 3)]))
    array = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    suffix = draw(st.sampled_from([".npy", ".npz"]))
    stream = io.BytesIO()
    if suffix == ".npy":
        version = draw(st.sampled_from([(1, 0), (2, 0), (3, 0)]))
        np.lib.format.write_array(stream, array, version)
    else:
        np.savez(stream, **dict.fromkeys(["a", "b"][: draw(st.integers(1, 2))], array))
    data = stream.getvalue()
    for _ in range(draw(st.integers(0, 3))):
        # Mostly in the header, where there is most to break.
        at = draw(st.integers(0, len(data)) | st.integers(0, min(len(data), 90)))
        how = draw(st.sampled_from(["byte", "piece", "cut", "length"]))
        if how == "byte":
            data = data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
        elif how == "piece":
            data = data[:at] + draw(PIECES) + data[at + draw(st.integers(0, 3)) :]
        elif how == "cut":
            data = data[:at]
        elif b"'shape': (" in data:
            before, after = data.split(b"'shape': (", 1)
            length = min((after + b",").index(b","), (after + b")").index(b")"))
            new = draw(NUMBERS)
            after = new + after[length:].replace(b" " * max(0, len(new) - length), b"", 1)
            data = before + b"'shape': (" + after
    return suffix, data


def plain(path: Path) -> Any:
    """Return the array that numpy reads from a file, or None if it reads none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if path.suffix == ".npy":
                return np.array(np.load(path, mmap_mode="r"))
            with np.load(path) as archive:
                names = archive.files
                return archive[names[0]] if len(names) == 1 else None
    except Exception:  # numpy promises nothing about files that are damaged
        return None


def ranks_of(path: Path, io: str | None) -> tr.Ranks | Exception:
    try:
        return tr.rank(path, 0, io=io)
    except (tr.InputValueError, tr.InputTypeError) as error:
        return error


@check(damaged(), IO)
def damage(file: tuple[str, bytes], io: str | None) -> None:
    """A file that is damaged is refused by its name; one that can be read gives its counts."""
    suffix, data = file
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"scores{suffix}")
        path.write_bytes(data)
        expected: Any = plain(path)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = ranks_of(path, io)
    if isinstance(got, Exception):
        # That there is no candidate to be the target, or a NaN, is no fault of the file.
        words = (str(path), "targets", "is NaN")
        assert any(word in str(got) for word in words), repr(got)
        return
    if expected is None:
        return
    counts: Counts | Refused = count(expected, 0)
    assert_outcome(got, counts, audit=False)


@check(
    st.sampled_from(["i1", "<f4", ">f8"]),
    st.sampled_from([(1, 1200), (3, 500), (700, 3), (40, 30)]),
    st.booleans(),
    st.integers(0, 2**32),
    IO,
    st.sampled_from([1, 3]),
    inputs=3,
)
def files_beyond_a_chunk(
    dtype: str,
    thousands: tuple[int, int],
    by_columns: bool,
    seed: int,
    io: str | None,
    threads: int,
) -> None:
    """Files that are read in several chunks, also by several threads, cut lists of candidates."""
    rng = np.random.default_rng(seed)
    rows, columns = thousands
    rows, columns = (rows * 1000, columns) if rows > columns else (rows, columns * 1000)
    if rows == 40:
        rows, columns = 40, 30000
    scores = rng.integers(-9, 9, (rows, columns)).astype(dtype)
    tasks = np.sort(rng.integers(0, rows, 9))
    targets = rng.integers(0, columns, 9)
    near = [np.arange(max(0, t - 300), min(columns, t + 300)) for t in targets.tolist()]
    filters = [rng.choice(part, len(part) // 2).tolist() for part in near]
    chosen = np.union1d(rng.integers(0, columns, columns // 2), targets)
    plain = {"rows": tasks.tolist(), "filter": filters, "candidates": [chosen] * 9}
    expected = count_large(scores, targets.tolist(), **plain)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scores.npy")
        np.save(path, np.asfortranarray(scores) if by_columns else scores)
        options: dict[str, Any] = {"io": io, "threads": threads, "rows": tasks, "filter": filters}
        got = tr.rank(path, targets, candidates=chosen, audit=True, **options)
    assert_outcome(got, expected, audit=True)


FAULTS = [
    Fault(
        "an off-by-one in lists that a chunk cuts",
        "cpp/engine/file.cpp",
        "chunk_filter = chunk_filter.within(chunk_tasks.first_column, ",
        "chunk_filter = chunk_filter.within(chunk_tasks.first_column + 1, ",
    ),
    Fault(
        "an off-by-one where shards meet",
        "python/truerank/stores/shards.py",
        '(rows, columns)[self.axis], side="right") - 1',
        '(rows, columns)[self.axis] - 1, side="right") - 1',
    ),
    Fault(
        "a bound made too tight",
        "python/truerank/stores/store.py",
        "for left in range(0, inner, wide)",
        "for left in range(0, inner - (inner > 5), wide)",
    ),
    Fault(
        "a member of an archive that begins a byte too late",
        "python/truerank/stores/opening.py",
        "header._replace(start=start + header.start)",
        "header._replace(start=start + header.start + (start > 0))",
    ),
]
