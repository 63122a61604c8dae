"""Ways to store scores, drawn by hypothesis: files of every format, and shards of them."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from hypothesis import strategies as st

import truerank as tr
from strategies.count_problems import Problem
from support.outcomes import assert_outcome, defined, outcome
from support.problems import FAITHFUL, LAYOUTS, Array
from truerank.counting import driver
from truerank.stores import Store, open_scores

TILE_BYTES = st.sampled_from([1, 40, 1000, 1 << 20])
IO = st.sampled_from([None, "map", "read"])
SHARDS = ("shards of rows", "shards of columns")
# Layouts that keep all scores and their byte order.
KEEPING = [name for name in FAITHFUL if "swapped" not in name]


@dataclass
class Stored:
    """A way to store a matrix; `numbers` are sizes and choices, `parts` the ways of its shards."""

    kind: str
    numbers: tuple[int, int]
    parts: tuple[Stored, ...] = ()


@st.composite
def stored(draw: st.DrawFn, *, depth: int = 2) -> Stored:
    """Draw a way to store scores."""
    kinds = list(FORMATS)
    if depth:
        kinds += SHARDS
    kind = draw(st.sampled_from(kinds))
    numbers = draw(st.tuples(st.integers(1, 9), st.integers(1, 40)))
    parts = ()
    if kind in SHARDS:
        parts = tuple(draw(st.lists(stored(depth=depth - 1), min_size=1, max_size=3)))
    return Stored(kind, numbers, parts)


Writer = Callable[[Path, Array, Any, tuple[int, int]], Store]


def npy(path: Path, array: Array, dtype: Any, numbers: tuple[int, int]) -> Store:
    order = np.asfortranarray if numbers[0] % 2 else np.ascontiguousarray
    with open(f"{path}.npy", "wb") as file:
        np.lib.format.write_array(file, order(array), [None, (2, 0), (3, 0)][numbers[1] % 3])
    return open_scores(f"{path}.npy", dtype=dtype)


def npz(path: Path, array: Array, dtype: Any, numbers: tuple[int, int]) -> Store:
    others = {f"other{n}.npy": np.arange(numbers[1]) for n in range(numbers[0] % 3)}
    with zipfile.ZipFile(f"{path}.npz", "w") as archive:
        for name, content in {**others, "it.npy": array}.items():
            # A local header may be longer than the directory says.
            with archive.open(name, "w", force_zip64=numbers[1] % 2 == 1) as member:
                np.lib.format.write_array(member, content)
    member = "it" if others else None
    return open_scores(f"{path}.npz", dtype=dtype, member=member)


def mapped(path: Path, array: Array, dtype: Any, numbers: tuple[int, int]) -> Store:
    """Map a file that has more rows, and perhaps more columns, than the scores."""
    parts = (numbers[1] % 3) * [array[..., :1]]
    parts.append(array)
    wide = np.concatenate(parts, axis=-1)
    wide = wide.astype(array.dtype, copy=False)  # in its byte order
    if numbers[0] % 2 == 0:
        wide = np.asfortranarray(wide)
    np.save(f"{path}.npy", wide)
    opened = np.load(f"{path}.npy", mmap_mode="r")
    return open_scores(opened[..., wide.shape[-1] - array.shape[-1] :], dtype=dtype)


def memory(path: Path, array: Array, dtype: Any, numbers: tuple[int, int]) -> Store:
    layout = LAYOUTS[KEEPING[(9 * numbers[0] + numbers[1]) % len(KEEPING)]]
    if array.ndim == 1:
        return open_scores(layout(array[None])[0], dtype=dtype)
    return open_scores(layout(array), dtype=dtype)


FORMATS: dict[str, Writer] = {"npy": npy, "npz": npz, "mapped": mapped, "memory": memory}


def open_stored(
    form: Stored,
    folder: Path,
    array: Array,
    dtype: Any,
    stack: ExitStack,
) -> Store:
    """Store scores in a folder and open them; the stack closes all."""
    name = folder / "scores"
    if array.dtype.kind == "V":
        array = array.view("V2")
    if form.kind not in SHARDS:
        return stack.enter_context(FORMATS[form.kind](name, array, dtype, form.numbers))
    axis = SHARDS.index(form.kind)
    if array.ndim == 1:
        axis = 0
    length = array.shape[axis]
    cuts = sorted(
        (form.numbers[i % 2] * (i + 1)) % (length + 1) for i in range(len(form.parts) - 1)
    )
    shards = []
    for number, (part, piece) in enumerate(
        zip(form.parts, np.split(array, cuts, axis), strict=True)
    ):
        inner = folder / str(number)
        inner.mkdir()
        shards.append(open_stored(part, inner, piece, dtype, stack))
    if array.ndim == 1:  # whose shards are of columns
        axis = 1
    return stack.enter_context(open_scores(shards, axis=axis))


def silent(_: tr.Progress) -> None:
    """Do nothing; as `progress` this makes `rank` count tile by tile, even in memory."""


def check(problem: Problem, form: Stored, tile_bytes: int, io: str | None) -> None:
    """Check that the counts of stored scores are those of the definition, and of the array."""
    scores = problem.scores
    keywords = problem.keywords
    dtype = keywords["dtype"]
    if scores.dtype.kind == "V":
        dtype = "bfloat16"
    with (
        tempfile.TemporaryDirectory() as folder,
        ExitStack() as stack,
        mock.patch.object(driver, "TILE_BYTES", tile_bytes),
    ):
        store = open_stored(form, Path(folder), scores, dtype, stack)
        got = outcome(store, problem, io=io, dtype=dtype, progress=silent)
    assert_outcome(got, defined(problem), audit=keywords["audit"])
    whole = outcome(scores, problem)
    if isinstance(got, tr.Ranks) and isinstance(whole, tr.Ranks):
        assert got.protocol.fingerprint == whole.protocol.fingerprint
        assert got.protocol.dtype == whole.protocol.dtype
    elif "is NaN" not in str(whole):  # if there are several NaN, the first tile's is named
        assert str(got) == str(whole)
