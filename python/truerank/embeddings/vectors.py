"""Embeddings that users hand over: queries, entities and biases become views for the core."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np

from .. import _core
from .._core import Scores
from ..counting.job import ScoreNouns, digest
from ..inputs.arithmetic import default_arithmetic
from ..inputs.arrays import device_of, is_tensor, on_host
from ..inputs.checks import check_shape, choice
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import FLOATS, Form, as_scores, check_dimensions, dtype_name, widen_bfloat16
from ..inputs.words import Similarity
from ..stores import Store, Tile, in_one_array, owned, read_scores
from ..stores.store import cut_tiles
from .watching import listener_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Self

    import numpy.typing as npt

    from ..counting.job import Job
    from ..inputs.arrays import IntArray
    from .watching import Watch

    Array = npt.NDArray[Any]
    Matches = tuple[Array, IntArray]  # as in `CurrentMatches`
    TopScores = tuple[IntArray, Array, _core.Fault | None]

# Tiles of vectors are larger than those of scores, for something has to be prepared for each.
TIMES_AS_LARGE = 4
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)


def _vector_form(shape: str, *dimensions: int) -> Form:
    return Form(
        shape,
        dimensions,
        FLOATS,
        instead_of_complex="; array.view of its real dtype has real and imaginary parts in turn",
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


@dataclass(frozen=True)
class PairedVectors(ABC):
    """Queries and entities, opened and checked, and how a pair of them is scored.

    Attributes
    ----------
    on_device : bool
        Whether they are on a device, and scored there.
    """

    queries: Any
    entities: Any
    similarity: str
    bias: npt.NDArray[Any] | None  # of the dtype of the scores
    dtype: str  # of the scores
    is_single_query: bool  # whether a single vector is the query of all tasks
    files: tuple[str, ...] = ()
    csls: CSLS | None = None  # of the dtype of the scores
    roles: Roles = QUERIES
    device: str = ""  # the one that has them, or had the entities before they were copied
    on_device: ClassVar[bool] = False

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of queries and entities, which are the shape of the scores."""

    @property
    def nbytes(self) -> int:
        """The bytes that the scores would take."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize

    @property
    def query_array(self) -> npt.NDArray[Any]:
        """The queries in the host's memory."""
        array: npt.NDArray[Any] = self.queries.array
        return array

    def check_shape(self, shape: tuple[int, int], nouns: tuple[str, str]) -> None:
        """Refuse another number of queries or entities, whose nouns messages have."""
        for name, size, height, noun in zip(self.roles[:2], self.shape, shape, nouns, strict=True):
            is_single = self.is_single_query and name == self.roles.queries
            if is_single or size != height:
                expected = f"vectors of shape ({height}, d), a row for each {noun}"
                length = self.query_array.shape[1]
                got = (length,) if is_single else (size, length)
                raise InputValueError(name, expected=expected, got=got)

    @abstractmethod
    def on_host(self) -> OpenEmbeddings:
        """Return them in the host's memory, without a copy if they are there."""

    @abstractmethod
    def counts(
        self, job: Job, true_scores: Array | None, block: int, watch: Watch | None
    ) -> Mapping[str, IntArray]:
        """Count the tasks of a job, with blocks of some size of entities, or of the best one (0).

        The counts are final, or partial ones against true scores. Raises the error for a fault.
        """

    @abstractmethod
    def score(
        self, rows: IntArray | None, targets: IntArray | None, threads: int
    ) -> npt.NDArray[Any]:
        """Score each row's query with all entities, or with its target."""

    @abstractmethod
    def top_k(
        self, job: Job, k: int, matches: Matches | None, block: int, watch: Watch | None
    ) -> TopScores:
        """Find the ids and scores of the top k of each task; its matches are `CurrentMatches`."""

    @property
    def way(self) -> str | None:
        """The device and how it counts, as a protocol names them; None without a device."""
        return f"{self.device}, {'triton' if self.on_device else 'host'}" if self.device else None

    @property
    def measure(self) -> str:
        """The similarity, and csls if it is used, as a protocol names them."""
        return self.similarity if self.csls is None else f"{self.similarity}, csls {self.csls.k}"

    def with_csls(self, csls: CSLS | None) -> Self:
        """Subtract means from the scores, checked and rounded to the scores' dtype."""
        if csls is None:
            return replace(self, csls=None)
        means = checked_means(csls, self.shape, self.dtype, self.roles[:2])
        return replace(self, csls=CSLS(*means, csls.k))

    def swapped(self, roles: Roles) -> Self:
        """Return the other direction of embeddings without a bias: entities are the queries."""
        csls = None if self.csls is None else self.csls.swapped()
        sides = {"queries": self.entities, "entities": self.queries}
        return replace(self, **sides, csls=csls, roles=roles)

    @property
    def scores_shape(self) -> tuple[int, ...]:
        """The shape of the scores; (entities,) if all tasks have the same query."""
        return self.shape[1:] if self.is_single_query else self.shape


@dataclass(frozen=True)
class OpenEmbeddings(PairedVectors):
    """Embeddings in the host's memory, or in files that are mapped; queries are `Scores`."""

    @property
    def core_embeddings(self) -> _core.Embeddings:
        """The embeddings as the core takes them."""
        means = None if self.csls is None else (self.csls.queries, self.csls.entities)
        return _core.Embeddings(self.queries, self.entities, self.similarity, self.bias, means)

    @property
    def shape(self) -> tuple[int, int]:
        """As in `PairedVectors`."""
        return len(self.queries.array), len(self.entities.array)

    def on_host(self) -> OpenEmbeddings:
        """As in `PairedVectors`."""
        return self

    def part(self, tile: Tile) -> OpenEmbeddings:
        """Return the queries and entities of a tile of the scores."""
        rows = slice(tile.top, tile.top + tile.height)
        columns = slice(tile.left, tile.left + tile.width)
        csls = self.csls and CSLS(self.csls.queries[rows], self.csls.entities[columns], self.csls.k)
        return replace(
            self,
            queries=self.queries.with_array(self.queries.array[rows]),
            entities=self.entities.with_array(self.entities.array[columns]),
            bias=None if self.bias is None else self.bias[columns],
            csls=csls,
        )

    def counts(
        self, job: Job, true_scores: Array | None, block: int, watch: Watch | None
    ) -> Mapping[str, IntArray]:
        """As in `PairedVectors`."""
        return job.counts_of(self.core_embeddings, true_scores, 0, block, listener_of(watch))

    def score(
        self, rows: IntArray | None, targets: IntArray | None, threads: int
    ) -> npt.NDArray[Any]:
        """As in `PairedVectors`."""
        return _core.score_embeddings(self.core_embeddings, rows, targets, threads)

    def top_k(
        self, job: Job, k: int, matches: Matches | None, block: int, watch: Watch | None
    ) -> TopScores:
        """As in `PairedVectors`."""
        tasks = _core.Tasks(job.rows, None, job.filter, job.candidates)
        how = k, job.rules.nan, matches, block, job.threads, listener_of(watch)
        return _core.topk_embeddings(self.core_embeddings, tasks, *how)


class VectorStore(Store):
    """The scores of vectors as a store: a tile of it is made when it is counted.

    Parameters
    ----------
    embeddings : OpenEmbeddings
    threads : int
        The most that score; 0: as many as are free.
    stored : bool
        Whether blocks are scores. Otherwise they are vectors, whose scores are never stored.
    """

    def __init__(self, embeddings: OpenEmbeddings, threads: int, *, stored: bool = False) -> None:
        dtype = embeddings.dtype
        super().__init__(embeddings.shape, dtype, np.dtype(dtype), embeddings.files)
        self._embeddings, self._threads, self._stored = embeddings, threads, stored
        self.device = embeddings.device

    def tiles(self, max_bytes: int) -> list[Tile]:
        """Cut the longer side alone, if that is enough, so that many pairs share their vectors."""
        size, by_columns = TIMES_AS_LARGE * max_bytes, self.shape[1] > self.shape[0]
        return cut_tiles(self.shape, self.itemsize, size, by_columns=by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Any]:
        """Yield the vectors of a tile, or their scores."""
        part = self._embeddings.part(tile)
        yield part.score(None, None, self._threads) if self._stored else part.core_embeddings

    def take(self, rows: IntArray, columns: IntArray) -> npt.NDArray[Any]:
        """As in `Store`."""
        return self._embeddings.score(rows, columns, self._threads)

    def state(self) -> list[Any]:
        """As in `Store`: a digest of the vectors, and how a pair of them is scored."""
        pairs = self._embeddings
        arrays = pairs.queries.array, pairs.entities.array, pairs.bias, *(pairs.csls or ())
        return [digest(*arrays), pairs.similarity, self.dtype]

    def close(self) -> None:
        """Do nothing: maps last as long as the vectors."""


class Vectors(NamedTuple):
    """Vectors that were opened and checked; functions that take vectors take these as well."""

    scores: Scores
    files: tuple[str, ...] = ()
    device: str = ""  # on which they were before they were copied

    @property
    def array(self) -> npt.NDArray[Any]:
        """All vectors; the map of a file lasts as long as an array that is a view of it."""
        return self.scores.array

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of all vectors, or of the single one."""
        return self.array.shape

    @property
    def dtype(self) -> str:
        """The name of their dtype."""
        return self.scores.dtype


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
    >>> vectors = read_vectors("tail", [[0.5, 1.0]], None)
    >>> vectors.array
    array([[0.5, 1. ]])
    >>> read_vectors("tail", vectors, None) is vectors
    True
    """
    if isinstance(value, Vectors):
        return value
    if is_tensor(getattr(value, "weight", None)):  # a module of torch, such as Embedding
        got = f"{type(value).__name__}; give its weight"
        raise InputTypeError(name, expected="an array or a tensor", got=got)
    form = form_of(role, roles)
    device, value = device_of(value), on_host(value, name)
    if is_tensor(value):
        return Vectors(as_scores(value, dtype, name, form), device=device)
    vectors = read_scores(value, dtype, name, form=form)
    with owned(vectors, value):
        view = in_one_array(vectors)
        if isinstance(vectors, Store):  # which may have been opened as scores
            dtype_name(vectors.carrier, None, name, form, known=vectors.dtype)
            check_dimensions(view.array.shape, name, form)
            return Vectors(view, vectors.files)
        return Vectors(view, device=device)


def form_of(role: str, roles: Roles) -> Form:
    """Return what vectors must be, or a bias, and the words for it in messages."""
    if role == "queries":
        return _vector_form(roles.shape, 1, 2)
    return _BIAS if role == "bias" else _ENTITIES


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
    asked, single = left.scores, left.array.ndim == 1
    if single:
        asked = asked.with_array(left.array[None, :])
    sizes = len(asked.array), len(right.array)
    check_lengths(asked.array.shape, right.array.shape, similarity, roles)
    dtype_name = score_dtype(asked.dtype, right.scores.dtype)
    offsets, files = None, left.files + right.files
    if bias is not None:
        numbers = read_vectors("bias", bias, dtype, "bias")
        offsets = rounded_bias(numbers.scores, sizes[1], dtype_name)
        files += numbers.files
    fields = (asked, right.scores, similarity, offsets, dtype_name, single, files)
    device = right.device or left.device
    return OpenEmbeddings(*fields, roles=roles, device=device).with_csls(csls)


def score_dtype(queries: str, entities: str) -> str:
    """Return the dtype of the scores of vectors of two dtypes."""
    return "float64" if "float64" in (queries, entities) else "float32"


def check_lengths(
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
def rounded_bias(bias: Scores, entities: int, dtype: str) -> npt.NDArray[Any]:
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
    for name, values, count in zip(names, csls[:2], sizes, strict=True):
        array = np.asarray(values)
        if array.dtype.kind != "f":
            raise InputTypeError("csls", expected=f"floats for {name}", got=f"dtype {array.dtype}")
        check_shape("csls", array.shape, (count,), f"{count} means for {name}, one for each")
        with np.errstate(over="ignore", invalid="ignore"):
            means.append(array.astype(dtype, order="C"))
    return means[0], means[1]
