"""Values, memory layouts and forms of selections for the tests of counting.

Each row of a table is one way to pass the same input, whose counts are those of the oracle.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from unittest import mock

import ml_dtypes
import numpy as np
import numpy.typing as npt
import scipy.sparse

import truerank as tr
from oracles.counting import Counts, Lists, Refused
from support.refusals import is_of_kind, refusal
from truerank.embeddings.vectors import Embeddings

Array = npt.NDArray[Any]

# Each has so many bits of the number, and of the fraction.
FLOATS = {"float16": (16, 10), "bfloat16": (16, 7), "float32": (32, 23), "float64": (64, 52)}
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
# These numpy dtypes can hold raw bfloat16, which the caller has to name.
DISGUISES = {"bfloat16 in uint16": "u2", "bfloat16 in int16": "i2", "bfloat16 in V2": "V2"}
DTYPES = tuple(FLOATS) + INTEGERS
KINDS = DTYPES + tuple(DISGUISES)


def as_dtype(name: str) -> np.dtype[Any]:
    if name == "bfloat16":
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def pool(kind: str) -> Array:
    """Return the values of a kind for which a comparison can go wrong, as an array of its dtype.

    Of integers these are the ends, and what is near zero and where floats or signed types fail.
    """
    if kind in DISGUISES:
        return pool("bfloat16").view(DISGUISES[kind])
    if kind in FLOATS:
        width, fraction = FLOATS[kind]
        sign = 1 << (width - 1)
        inf = sign - (1 << fraction)
        one = inf // 2 & -(1 << fraction)
        patterns = [0, 1, (1 << fraction) - 1, 1 << fraction, one - 1, one, one + 1, inf - 1, inf]
        patterns += [inf | 1, inf | 1 << (fraction - 1), sign - 1]  # NaN
        bits = np.array([*patterns, *(sign | x for x in patterns)], f"u{width // 8}")
        return bits.view(as_dtype(kind))
    info = np.iinfo(kind)
    around = [0, 127, 2**15, 2**24, 2**31, 2**53, 2**63, info.min, info.max]
    values = {value + step for value in around for step in (-2, -1, 0, 1, 2)}
    return np.array(sorted(x for x in values if info.min <= x <= info.max), kind)


def pool_without_nan(kind: str) -> Array:
    """Return the pool without its NaN."""
    values = pool(kind)
    if kind in DTYPES[4:]:
        return values
    numbers = values
    if kind in DISGUISES:
        numbers = values.view(as_dtype("bfloat16"))
    with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
        return values[~np.isnan(numbers)]


def matrix(kind: str, shape: tuple[int, int] = (5, 67), *, nan: bool = False) -> Array:
    """Return random critical values, always the same for a kind and shape."""
    rng = np.random.default_rng(sum(map(ord, kind)))
    values = pool(kind) if nan else pool_without_nan(kind)
    picked: Array = values[rng.integers(0, len(values), shape)]
    return picked


def dtype_keyword(kind: str) -> str | None:
    return "bfloat16" if kind in DISGUISES else None


def padding_bytes(shape: tuple[int, ...], dtype: np.dtype[Any], byte: int = 0xFF) -> Array:
    """Return bytes to put between scores: NaN in every float; with 0x7f, huge in most types."""
    size = int(np.prod(shape)) * dtype.itemsize
    return np.full(size, byte, np.uint8).view(dtype).reshape(shape)


def with_steps(a: Array, byte: int = 0xFF, *, odd: bool = False) -> Array:
    big = padding_bytes((2 * len(a) + 1, 3 * a.shape[1] + 2), a.dtype, byte)
    if odd:
        big = unaligned(big)
    view = big[1::2, 2::3]
    view[...] = a
    return view


def with_wide_rows(a: Array) -> Array:
    big = padding_bytes((len(a), a.shape[1] + 5), a.dtype)  # of its byte order, as hstack has not
    view = big[:, : a.shape[1]]
    view[...] = a
    return view


def unaligned(a: Array, *, order: str = "C") -> Array:
    """Return the same scores at an odd address."""
    raw = np.full(a.nbytes + 16, 0xFF, np.uint8)
    start = 1 + (raw.ctypes.data & 1)
    view = np.ndarray(a.shape, a.dtype, raw.data, start, order=order)
    view[...] = a
    return view


def with_swapped_bytes(a: Array) -> Array:
    """Return the same numbers in the other byte order; raw bytes have no order."""
    if a.dtype.kind == "V":
        return a
    return a.astype(a.dtype.newbyteorder("S"))


def repeated(part: Array, whole: Array) -> Array:
    """Return a part of an array in the shape of the whole; an empty array as it is."""
    if not part.size:
        return whole
    return np.broadcast_to(part, whole.shape)


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "C": lambda a: a.copy(),
    "Fortran": np.asfortranarray,
    "steps": with_steps,
    "steps between huge values": lambda a: with_steps(a, 0x7F),
    "Fortran steps": lambda a: with_steps(a.T).T,
    "wide rows": with_wide_rows,
    "negative rows": lambda a: a[::-1].copy()[::-1],
    "negative columns": lambda a: a[:, ::-1].copy()[:, ::-1],
    "negative steps": lambda a: with_steps(a[::-1, ::-1])[::-1, ::-1],
    "unaligned": unaligned,
    "unaligned Fortran": lambda a: unaligned(a, order="F"),
    "unaligned steps": lambda a: with_steps(a, odd=True),
    "byte-swapped": with_swapped_bytes,
    "byte-swapped Fortran": lambda a: np.asfortranarray(with_swapped_bytes(a)),
    "byte-swapped steps": lambda a: with_steps(with_swapped_bytes(a)),
    "unaligned byte-swapped": lambda a: unaligned(with_swapped_bytes(a)),
    "read-only": lambda a: np.broadcast_to(a.copy(), a.shape),
    # The next three change the scores: every row, column or both become the same.
    "one row for all": lambda a: repeated(a[:1], a),
    "one column for all": lambda a: repeated(a[:, :1], a),
    "one score for all": lambda a: repeated(a[:1, :1], a),
}
# Those that keep all scores.
FAITHFUL = [name for name in LAYOUTS if not name.endswith("for all")]


def index_lists(rng: np.random.Generator, tasks: int, columns: int, most: int) -> list[list[int]]:
    """Return lists of up to `most` columns, unsorted and with repeats."""
    return [rng.integers(0, columns, rng.integers(0, most + 1)).tolist() for _ in range(tasks)]


def csr(lists: Lists, dtype: str = "int64") -> tuple[Array, Array]:
    lengths = [len(entries) for entries in lists]
    indptr = np.append(0, np.cumsum(lengths)).astype(dtype)
    indices = np.array([column for entries in lists for column in entries], dtype)
    return indptr, indices


def shared_lists(lists: Lists, dtype: str = "int64") -> tuple[Array, Array, Array]:
    """Store equal lists once, in order of first use, after a list that no task uses."""
    distinct: dict[tuple[int, ...], int] = {(): 0}
    uses = [distinct.setdefault(tuple(entries), len(distinct)) for entries in lists]
    indptr, indices = csr(list(distinct), dtype)
    return indptr, indices, np.array(uses, dtype)


def compressed(lists: Lists, columns: int) -> Any:
    """Return a sparse matrix whose stored values are zeros, with some entries twice."""
    indptr, indices = csr(lists, "int32")
    data = np.zeros(len(indices), bool)
    return scipy.sparse.csr_matrix((data, indices, indptr), shape=(len(lists), columns))


def mask(lists: Lists, columns: int) -> Array:
    """Return True at the columns of each list."""
    table = np.zeros((len(lists), columns), np.bool_)
    for i, entries in enumerate(lists):
        table[i, entries] = True
    return table


def object_column(lists: Sequence[Any]) -> Array:
    """Return the array that a column of lists of pandas or polars gives."""
    column = np.empty(len(lists), object)
    column[:] = [np.array(entries, np.int64) for entries in lists]
    return column


# Each function takes (lists, columns) and returns a form of `filter` and `candidates`.
FORMS: dict[str, Callable[[Lists, int], Any]] = {
    "csr int64": lambda lists, _: csr(lists),
    "csr int32": lambda lists, _: csr(lists, "int32"),
    "csr uint64": lambda lists, _: csr(lists, "uint64"),
    "lists int64": lambda lists, _: shared_lists(lists),
    "lists int32": lambda lists, _: shared_lists(lists, "int32"),
    "csr big-endian": lambda lists, _: csr(lists, ">i8"),
    "csr mixed": lambda lists, _: (csr(lists)[0].astype("int32"), csr(lists)[1]),
    "csr steps": lambda lists, _: tuple(np.repeat(a, 3)[::3] for a in csr(lists)),
    "csr unaligned": lambda lists, _: tuple(
        np.ndarray(a.shape, a.dtype, b"\0" + a.tobytes(), 1) for a in csr(lists, "int32")
    ),
    "lists reversed": lambda lists, _: tuple(a[::-1].copy()[::-1] for a in shared_lists(lists)),
    "list of lists": lambda lists, _: [list(entries) for entries in lists],
    "list of arrays": lambda lists, _: [np.array(entries, np.int32) for entries in lists],
    "list of sets": lambda lists, _: [frozenset(entries) for entries in lists],
    "column of lists": lambda lists, _: object_column(lists),
    "mask": mask,
    "Fortran mask": lambda lists, columns: np.asfortranarray(mask(lists, columns)),
    "scipy csr": compressed,
    "scipy csc": lambda lists, columns: scipy.sparse.csc_array(compressed(lists, columns)),
    "scipy coo": lambda lists, columns: scipy.sparse.coo_array(compressed(lists, columns)),
}
# These integers hold no index that is far out of range.
NARROW_FORMS = ("csr int32", "csr unaligned", "lists int32", "list of arrays", "shared uint16")
# The constructors of these forms refuse or misread an index that is out of range.
CHECKING_FORMS = ("mask", "Fortran mask", "scipy csr", "scipy csc", "scipy coo")

# All tasks share candidates in these forms.
SHARED_FORMS: dict[str, Callable[[Sequence[int]], Any]] = {
    "shared int64": lambda columns: np.array(columns, np.int64),
    "shared uint16": lambda columns: np.array(columns, np.uint16),
    "shared list": lambda columns: [int(c) for c in columns],
    "shared set": lambda columns: {int(c) for c in columns},
}


def assert_same(ranks: tr.Ranks, counts: Counts, *, audit: bool = False) -> None:
    """Check that the integers are equal and of the documented type."""
    arrays = {name: getattr(ranks, name) for name in ("above", "tied", "candidates")}
    assert not any(array.flags.writeable for array in arrays.values())
    assert (ranks.audit is not None) == audit
    if ranks.audit is not None:
        arrays |= {name: getattr(ranks.audit, name) for name in ("nan", "inf", "at_best")}
        assert not ranks.audit.differing.any()  # Nothing was scored twice.
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, getattr(counts, name), err_msg=name, strict=True)


def assert_refused(
    error: BaseException, refused: Refused, place: str = r"\brow {}\b.*\bcolumn {}\b"
) -> None:
    """Check that the error of the package has the reason that the definition gives."""
    message = str(error)
    assert is_of_kind(error, ValueError), repr(error)
    if refused.nan is None:
        assert any(name in message for name in refused.names), (message, refused.names)
    else:
        assert re.search(place.format(*refused.nan), message), (message, refused.nan)


def in_form(form: str, lists: Lists, columns: int) -> Any:
    """Return a selection in one of the forms, also in one that is shared by all tasks."""
    if form in SHARED_FORMS:
        return SHARED_FORMS[form](lists[0])
    return FORMS[form](lists, columns)


def refuse(kind: type[Exception], words: str, *args: Any, **keywords: Any) -> str:
    """Return the message of a refusal of `rank`."""
    return refusal(kind, words, tr.rank, *args, **keywords)


def host_tensor(array: Array) -> Any:
    """Return a copy of scores as a tensor of torch in the host's memory."""
    import torch

    plain = np.array(array, array.dtype.newbyteorder("="), order="C")
    if array.dtype.name == "bfloat16" or array.dtype.kind == "V":
        return torch.from_numpy(plain.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(plain)


def in_blocks(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that also takes how many entities a thread scores at a time.

    `block` is this number; None: the core chooses it.
    """

    def call(*arguments: Any, block: int | None = None, **keywords: Any) -> Any:
        with mock.patch.object(Embeddings, "entities_at_a_time", block or 0):
            return function(*arguments, **keywords)

    return call
