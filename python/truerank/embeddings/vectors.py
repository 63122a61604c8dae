"""Embeddings that users hand over: queries, entities and biases become views for the core."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._core import Scores
from ..counting.job import ScoreNouns
from ..inputs.arithmetic import default_arithmetic
from ..inputs.arrays import index_array, on_host
from ..inputs.checks import check_range, check_shape, choice
from ..inputs.errors import InputTypeError, InputValueError, renamed
from ..inputs.naming import public
from ..inputs.scores import FLOATS, DtypeRequest, Form, as_scores, check_dimensions, widen_bfloat16
from ..stores import array_of, store_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..inputs.arrays import IntArray

SIMILARITIES = _core.similarities


def _vector_form(shape: str, *dimensions: int) -> Form:
    return Form(
        shape,
        dimensions,
        FLOATS,
        plain="plain numbers",
        instead_of_mask="",
        dense="a dense array",
        instead_of_complex="; array.view of its real dtype has real and imaginary parts in turn",
        narrow_is_raw=True,
    )


class Roles(NamedTuple):
    """What messages call queries and entities, and their scores."""

    queries: str = "queries"  # the name of the argument; likewise the next one
    entities: str = "entities"
    as_queries: str = "as the queries have"  # vectors of the same length
    shape: str = "a matrix (queries, d) or a single vector (d,)"  # of the queries
    nouns: ScoreNouns = ScoreNouns(
        "query",
        "queries",
        "entities",
        "the score of query {row} and entity {column}",
        "the true score, of query {row} and entity {column},",
    )


QUERIES = Roles()
_ENTITIES = _vector_form("a matrix (entities, d)", 2)
_BIAS = _vector_form("one number for each entity", 1)


@public("truerank.alignment")
class CSLS(NamedTuple):
    """What cross-domain similarity local scaling subtracts: mean scores of the top k.

    Attributes
    ----------
    queries, entities : ndarray of float32 or float64, shape (q,) and (n,)
        The mean score of each query with its k most similar entities, and of each entity with its k
        most similar queries. NaN for those that took no part.
    k : int
        The number of scores that each mean is of.
    """

    queries: npt.NDArray[Any]
    entities: npt.NDArray[Any]
    k: int

    def swapped(self) -> CSLS:
        """Return the means for the other direction, where entities are the queries."""
        return CSLS(self.entities, self.queries, self.k)


class OpenEmbeddings(NamedTuple):
    """Queries and entities, opened and checked, and how a pair of them is scored."""

    queries: Scores
    entities: Scores
    similarity: str
    bias: npt.NDArray[Any] | None  # of the dtype of the scores
    dtype: str  # of the scores
    is_single_query: bool  # whether a single vector is the query of all tasks
    files: tuple[str, ...]
    csls: CSLS | None = None  # of the dtype of the scores
    roles: Roles = QUERIES

    @property
    def core_embeddings(self) -> _core.Embeddings:
        """The embeddings as the core takes them."""
        means = None if self.csls is None else (self.csls.queries, self.csls.entities)
        return _core.Embeddings(self.queries, self.entities, self.similarity, self.bias, means)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of queries and entities, which are the shape of the scores."""
        return len(self.queries.array), len(self.entities.array)

    @property
    def measure(self) -> str:
        """The similarity, and csls if it is used, as a protocol names them."""
        return self.similarity if self.csls is None else f"{self.similarity}, csls {self.csls.k}"

    def with_csls(self, csls: CSLS | None) -> OpenEmbeddings:
        """Subtract means from the scores, checked and rounded to the scores' dtype."""
        if csls is None:
            return self._replace(csls=None)
        means = checked_means(csls, self.shape, self.dtype, self.roles[:2])
        return self._replace(csls=CSLS(*means, csls.k))

    def swapped(self, roles: Roles) -> OpenEmbeddings:
        """Return the other direction of embeddings without a bias: entities are the queries."""
        csls = None if self.csls is None else self.csls.swapped()
        swapped = self._replace(queries=self.entities, entities=self.queries)
        return swapped._replace(csls=csls, roles=roles)

    def rows(self, rows: Any) -> IntArray | None:
        """Check the query of each task if there are no targets; None: task i is query i."""
        if rows is None:
            return None
        found = index_array("rows", rows)
        check_shape("rows", found.shape, 1, "a 1-D array")
        check_range("rows", found, self.shape[0], "queries")
        return found


class Vectors(NamedTuple):
    """Vectors that were opened and checked; functions that take vectors take these as well."""

    scores: Scores
    files: tuple[str, ...] = ()

    @property
    def array(self) -> npt.NDArray[Any]:
        """All vectors; the map of a file lasts as long as an array that is a view of it."""
        return self.scores.array


def read_vectors(
    name: str, value: Any, dtype: Any, role: str = "entities", roles: Roles = QUERIES
) -> Vectors:
    """View vectors or a bias; a file is mapped after a check of its size.

    Parameters
    ----------
    name : str
        The argument's name, for the messages.
    value : array_like, path, or Vectors
        As in `rank_embeddings`.
    dtype : str or dtype, optional
        As in `rank_embeddings`.
    role : {"queries", "entities", "bias"}
        What the vectors are.
    roles : Roles
        What messages call them.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.

    Examples
    --------
    >>> vectors = read_vectors("tails", [[0.5, 1.0]], None)
    >>> vectors.array
    array([[0.5, 1. ]])
    >>> read_vectors("tails", vectors, None) is vectors
    True
    """
    if isinstance(value, Vectors):
        return value
    form = _BIAS if role == "bias" else _ENTITIES
    if role == "queries":
        form = _vector_form(roles.shape, 1, 2)
    value = on_host(value, name)
    with renamed(scores=name):
        store = store_of(value, dtype, form=form)
        if store is None:
            return Vectors(as_scores(value, dtype, name, form))
        with nullcontext() if store is value else store:
            found = Scores(array_of(store), store.dtype, store.swapped)
            DtypeRequest(None, form).name_of(store.carrier, known=store.dtype)
            check_dimensions(found.array.shape, "scores", form)
            return Vectors(found, store.files)


def open_embeddings(
    queries: Any,
    entities: Any,
    similarity: str,
    bias: Any,
    dtype: Any,
    csls: CSLS | None = None,
    roles: Roles = QUERIES,
) -> OpenEmbeddings:
    """Check queries, entities and bias; maps of files last as long as the result.

    Queries and entities are not copied. The map of a file that has become too short is an error.

    Parameters
    ----------
    queries, entities, similarity, bias, dtype, csls
        As in `rank_embeddings`; vectors may also come from `read_vectors`.
    roles : Roles
        What messages call them.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.
    """
    choice("similarity", similarity, SIMILARITIES)
    left = read_vectors(roles.queries, queries, dtype, "queries", roles)
    right = read_vectors(roles.entities, entities, dtype)
    given, single = left.scores, left.array.ndim == 1
    if single:
        given = given.with_array(left.array[None, :])
    sizes = len(given.array), len(right.array)
    _check_lengths(given.array.shape, right.array.shape, similarity, roles)
    dtype_name = "float64" if "float64" in (given.dtype, right.scores.dtype) else "float32"
    rounded_bias, files = None, left.files + right.files
    if bias is not None:
        numbers = read_vectors("bias", bias, dtype, "bias")
        rounded_bias, files = (
            _rounded_bias(numbers.scores, sizes[1], dtype_name),
            files + numbers.files,
        )
    fields = (given, right.scores, similarity, rounded_bias, dtype_name, single, files)
    return OpenEmbeddings(*fields, roles=roles).with_csls(csls)


def _check_lengths(
    queries: tuple[int, ...], entities: tuple[int, ...], similarity: str, roles: Roles
) -> None:
    length, got = queries[1], f"shape {queries}"
    if entities[1] != length:
        expected = f"vectors of length {length}, {roles.as_queries}"
        raise InputValueError(roles.entities, expected=expected, got=f"shape {entities}")
    if length == 0:
        raise InputValueError(roles.queries, expected="vectors of length 1 or more", got=got)
    if similarity == "complex_l1" and length % 2:
        expected = "vectors of even length for complex_l1, real and imaginary parts in turn"
        raise InputValueError(roles.queries, expected=expected, got=got)


@default_arithmetic()
def _rounded_bias(bias: Scores, entities: int, dtype: str) -> npt.NDArray[Any]:
    """Copy the bias, rounded to the dtype of the scores."""
    expected = f"{entities} numbers, one for each entity"
    check_shape("bias", bias.array.shape, (entities,), expected)
    array = widen_bfloat16(bias.array) if bias.dtype == "bfloat16" else bias.array
    with np.errstate(over="ignore", invalid="ignore"):  # a too large bias becomes infinite
        return array.astype(dtype, order="C")


@default_arithmetic()
def checked_means(
    csls: CSLS, sizes: tuple[int, ...], dtype: Any, names: tuple[str, str] = ("queries", "entities")
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Check the means of queries and entities, and round them to the dtype of the scores.

    Parameters
    ----------
    csls : CSLS
    sizes : (int, int)
        The numbers of queries and entities.
    dtype : dtype
        The dtype of the scores.
    names : (str, str), optional
        What messages call queries and entities.

    Raises
    ------
    TypeError, ValueError
        For anything but a CSLS of floats, with one number for each vector.

    Examples
    --------
    >>> checked_means(CSLS(np.array([0.5]), np.array([0.25, 1.0]), 1), (1, 2), "float32")
    (array([0.5], dtype=float32), array([0.25, 1.  ], dtype=float32))
    """
    if not isinstance(csls, CSLS):
        raise InputTypeError(
            "csls", expected="a CSLS, as csls_means gives it", got=type(csls).__name__
        )
    means = []
    for name, given, count in zip(names, csls[:2], sizes, strict=True):
        array = np.asarray(given)
        if array.dtype.kind != "f":
            raise InputTypeError("csls", expected=f"floats for {name}", got=f"dtype {array.dtype}")
        check_shape("csls", array.shape, (count,), f"{count} means for {name}, one for each")
        with np.errstate(over="ignore", invalid="ignore"):
            means.append(array.astype(dtype, order="C"))
    return means[0], means[1]
