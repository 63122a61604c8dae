"""Vectors as they come: queries, entities and biases become views that the core can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from .. import _core
from .._core import Scores
from ..inputs.checks import check_range, choice
from ..inputs.devices import on_host
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import DTYPES, as_scores, widened
from ..inputs.selection import as_integers
from ..stores import may_be_stored, store_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

T = TypeVar("T")

SIMILARITIES = (
    *("dot", "cosine", "l1", "l2", "sql2", "complex_l1", "poincare"),
    *("inverse_l1", "inverse_l2"),
)
FLOATS = ("float16", "bfloat16", "float32", "float64")
# What is read is never cut into tiles.
_WHOLE = 1 << 80

_SHAPES = {
    "queries": "a matrix (queries, d) or a single vector (d,)",
    "entities": "a matrix (entities, d)",
    "bias": "one number for each entity",
}
# What checks that are made for scores say, and what it is called here.
_WORDS = {
    f"one of {', '.join(DTYPES)}": f"one of {', '.join(FLOATS)}",
    "plain scores, got a masked array; give a filter instead": "plain numbers, got a masked array",
    "dense scores": "a dense array",
    "rows of scores": "queries",
    "row of scores": "query",
    "columns of scores": "entities",
}


@public("truerank.alignment")
class CSLS(NamedTuple):
    """What cross-domain similarity local scaling takes off: mean scores with the nearest.

    Attributes
    ----------
    queries, entities : ndarray of float32 or float64, shape (q,) and (n,)
        The mean of each query with its k best entities, and of each entity with its k best queries.
        NaN for those that have not taken part.
    k : int
        How many.
    """

    queries: npt.NDArray[Any]
    entities: npt.NDArray[Any]
    k: int

    def swapped(self) -> CSLS:
        """Give the same for the other direction: entities ask."""
        return CSLS(self.entities, self.queries, self.k)


class Pairs(NamedTuple):
    """Queries and entities, checked, and how a pair of them is scored."""

    queries: Scores
    entities: Scores
    similarity: str
    bias: npt.NDArray[Any] | None  # of the dtype of the scores
    dtype: str  # of the scores
    single: bool  # whether the queries are one vector, of which every task is
    files: tuple[str, ...]
    means: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None  # of the dtype of the scores

    @property
    def given(self) -> _core.Embeddings:
        """What the core needs to know of them."""
        return _core.Embeddings(self.queries, self.entities, self.similarity, self.bias, self.means)

    @property
    def shape(self) -> tuple[int, int]:
        """How many queries and entities there are: the shape of the scores."""
        return len(self.queries.array), len(self.entities.array)

    def rows(self, rows: Any) -> IntArray | None:
        """Check the query of each task, where there is no target; None: task i is query i."""
        if rows is None:
            return None
        found = as_integers("rows", rows)
        if found.ndim != 1:
            raise InputValueError("rows", expected="a 1-D array", got=f"shape {found.shape}")
        check_range("rows", found, self.shape[0], "queries")
        return found


class _Array(NamedTuple):
    """What `as_scores` gives, or a file that is mapped."""

    array: npt.NDArray[Any]
    dtype: str
    swapped: bool
    files: tuple[str, ...] = ()

    @property
    def scores(self) -> Scores:
        return Scores(self.array, self.dtype, self.swapped)


@contextmanager
def opened(
    queries: Any, entities: Any, similarity: str, bias: Any, dtype: Any, csls: CSLS | None = None
) -> Iterator[Pairs]:
    """Check queries, entities and bias; what is in files is mapped as long as the block lasts.

    Nothing of the queries and entities is copied. A map is an error where its file is too short by
    now for all of it to be there.

    Parameters
    ----------
    queries, entities, similarity, bias, dtype, csls
        As in `rank_embeddings`.

    Yields
    ------
    Pairs

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.
    """
    choice("similarity", similarity, SIMILARITIES)
    with ExitStack() as stack:
        left = read(stack, "queries", queries, dtype)
        right = read(stack, "entities", entities, dtype)
        single = left.array.ndim == 1
        if single:
            left = left._replace(array=left.array[None, :])
        _check_lengths(left.array.shape, right.array.shape, similarity)
        wide = "float64" if "float64" in (left.dtype, right.dtype) else "float32"
        added, files = None, left.files + right.files
        if bias is not None:
            given = read(stack, "bias", bias, dtype)
            added, files = _as_bias(given, len(right.array), wide), files + given.files
        means = None if csls is None else as_means(csls, (len(left.array), len(right.array)), wide)
        yield Pairs(left.scores, right.scores, similarity, added, wide, single, files, means)


def read(stack: ExitStack, name: str, value: Any, dtype: Any) -> _Array:
    """View one of the arguments; one in a file is mapped until the stack is left."""
    value = on_host(value, name)
    with in_words_of_vectors(name):
        found = _raw_as(dtype, lambda raw: _mapped(stack, value, raw))
        if found is None:
            found = _raw_as(dtype, lambda raw: _in_memory(value, raw, name))
    if found.dtype not in FLOATS:
        raise InputTypeError(
            name, expected=f"one of {', '.join(FLOATS)}", got=f"dtype {found.dtype}"
        )
    dimensions = {"queries": (1, 2), "entities": (2,), "bias": (1,)}[name]
    if found.array.ndim not in dimensions:
        raise InputValueError(name, expected=f"{_SHAPES[name]}", got=f"shape {found.array.shape}")
    return found


def _in_memory(value: Any, dtype: Any, name: str) -> _Array:
    scores = as_scores(value, dtype, name)
    return _Array(scores.array, scores.dtype, scores.swapped)


def _mapped(stack: ExitStack, value: Any, dtype: Any) -> _Array | None:
    """Map what lies in a file, or check that a map is all there; None for plain memory."""
    store = store_of(value, dtype) if may_be_stored(value) else None
    if store is None:
        return None
    if store is not value:
        stack.enter_context(store)
    tiles = store.tiles(_WHOLE) if store.in_place else []
    if len(tiles) > 1 or not store.in_place:
        raise TypeError(f"expected an array, or the path of one .npy file, got {store!r}")
    # Nothing is to be mapped of a matrix without rows or without columns.
    whole = (
        store.block(tiles[0], "map") if tiles else nullcontext(np.empty(store.shape, store.carrier))
    )
    array: Any = stack.enter_context(whole)
    return _Array(array[0] if store.single_row else array, store.dtype, store.swapped, store.files)


def _raw_as(dtype: Any, read: Callable[[Any], T]) -> T:
    """Read with `dtype` where it says what raw 16-bit numbers are; others say that themselves."""
    try:
        return read(dtype)
    except TypeError:
        if not _is_16_bit(dtype):
            raise
    return read(None)


def _is_16_bit(dtype: Any) -> bool:
    try:
        return as_scores(np.empty((0, 0), "V2"), dtype).dtype in FLOATS
    except TypeError:
        return False


def _check_lengths(queries: tuple[int, ...], entities: tuple[int, ...], similarity: str) -> None:
    length = queries[1]
    if entities[1] != length:
        raise InputValueError(
            "entities",
            expected=f"vectors of length {length}, as the queries have",
            got=f"shape {entities}",
        )
    if length == 0:
        raise InputValueError(
            "queries", expected="vectors of length 1 or more", got=f"shape {queries}"
        )
    if similarity == "complex_l1" and length % 2:
        raise InputValueError(
            "queries",
            expected="vectors of even length for complex_l1, real and imaginary parts in turn",
            got=f"shape {queries}",
        )


def _as_bias(bias: _Array, entities: int, dtype: str) -> npt.NDArray[Any]:
    """Round the bias to the dtype of the scores, in an array of its own."""
    if bias.array.shape != (entities,):
        raise InputValueError(
            "bias",
            expected=f"{entities} numbers, one for each entity",
            got=f"shape {bias.array.shape}",
        )
    array = widened(bias.array) if bias.dtype == "bfloat16" else bias.array
    with np.errstate(over="ignore", invalid="ignore"):  # infinities, and signalling NaN
        return array.astype(dtype, order="C")


def as_means(
    csls: CSLS, sizes: tuple[int, ...], dtype: Any, names: tuple[str, str] = ("queries", "entities")
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Check the means of both sides, and round them to the dtype of the scores.

    Parameters
    ----------
    csls : CSLS
    sizes : (int, int)
        How many vectors the sides have.
    dtype : dtype
        Of the scores.
    names : (str, str)
        What the sides are called in messages.

    Raises
    ------
    TypeError, ValueError
        For what is no CSLS, no floats, or not one number for each vector.

    Examples
    --------
    >>> as_means(CSLS(np.array([0.5]), np.array([0.25, 1.0]), 1), (1, 2), "float32")
    (array([0.5], dtype=float32), array([0.25, 1.  ], dtype=float32))
    """
    if not isinstance(csls, CSLS):
        raise InputTypeError(
            "csls", expected="a CSLS, as csls_means gives it", got=type(csls).__name__
        )
    found = []
    for name, given, count in zip(names, csls[:2], sizes, strict=True):
        array = np.asarray(given)
        if array.dtype.kind != "f":
            raise InputTypeError("csls", expected=f"floats for {name}", got=f"dtype {array.dtype}")
        if array.shape != (count,):
            raise InputValueError(
                "csls",
                expected=f"{count} means for {name}, one for each",
                got=f"shape {array.shape}",
            )
        with np.errstate(over="ignore", invalid="ignore"):
            found.append(array.astype(dtype, order="C"))
    return found[0], found[1]


@contextmanager
def in_words_of_vectors(name: str = "scores") -> Iterator[None]:
    """Name an argument in what checks for scores have against it, and call scores what they are.

    Examples
    --------
    >>> with in_words_of_vectors("entities"):
    ...     raise ValueError("scores: x.npy: expected a .npy file, this one is empty")
    Traceback (most recent call last):
    ValueError: entities: x.npy: expected a .npy file, this one is empty
    """
    try:
        yield
    except (TypeError, ValueError) as error:
        message = str(error)
        if name in _SHAPES:
            if message.startswith(("scores: ", "expected ")):
                message = f"{name}: {message.removeprefix('scores: ')}"
            shape = "a matrix (rows, columns) or a single row (columns,)"
            message = message.replace(shape, _SHAPES[name])
        for words, ours in _WORDS.items():
            message = message.replace(words, ours)
        if "got dtype complex" in message:
            message += "; array.view of its real dtype has real and imaginary parts in turn"
        raise (TypeError if isinstance(error, TypeError) else ValueError)(message) from None
