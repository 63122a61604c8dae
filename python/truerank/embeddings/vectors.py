"""Embeddings that users hand over: queries, entities and biases become views for the core."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np

from .. import _core
from .._core import Scores
from ..counting.job import ScoreNouns
from ..inputs.arithmetic import default_arithmetic
from ..inputs.arrays import device_of, index_array, is_tensor, on_host
from ..inputs.checks import check_range, check_shape, choice
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import FLOATS, Form, as_scores, check_dimensions, dtype_name, widen_bfloat16
from ..inputs.selection import selection_of_tasks
from ..inputs.words import Similarity
from ..stores import Store, in_one_array, owned, read_scores
from .watching import listener_of

if TYPE_CHECKING:
    from typing import Self

    import numpy.typing as npt

    from .._core import Selection
    from ..counting.job import Job
    from ..counting.partial_counts import PartialCounts
    from ..counting.score_thresholds import ThresholdJob
    from ..inputs.arrays import IntArray
    from ..ranks.container import Ranks
    from .watching import Watch

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


class TopKJob(NamedTuple):
    """What top k lists are asked for, after all checks."""

    rows: IntArray | None  # None: task i is query i
    filter: Selection | None
    candidates: Selection | None
    k: int
    nan: str
    current_matches: tuple[npt.NDArray[Any], IntArray] | None
    block: int  # entities at a time; 0: as many as is best
    threads: int

    def those(self, where: IntArray) -> TopKJob:
        """Return the job of some of the tasks."""
        filter = self.filter and selection_of_tasks(self.filter, where)
        candidates = self.candidates and selection_of_tasks(self.candidates, where)
        rows = where if self.rows is None else self.rows[where]
        return self._replace(rows=rows, filter=filter, candidates=candidates)


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
    @abstractmethod
    def length(self) -> int:
        """The length of the vectors."""

    @abstractmethod
    def on_host(self) -> OpenEmbeddings:
        """Return them in the host's memory, without a copy if they are there."""

    @abstractmethod
    def count(self, job: Job, block: int, watch: Watch | None = None) -> Ranks:
        """Rank the tasks of a job, with blocks of some size of entities, or of the best one (0).

        Raises
        ------
        ValueError
            For a fault that the counting finds.
        """

    @abstractmethod
    def count_against(
        self, asked: ThresholdJob, block: int, watch: Watch | None = None
    ) -> PartialCounts:
        """Count for thresholds, with blocks as in `count`; raises the error for a NaN."""

    @abstractmethod
    def score(
        self, rows: IntArray | None, targets: IntArray | None, threads: int
    ) -> npt.NDArray[Any]:
        """Score each row's query with all entities, or with its target."""

    @abstractmethod
    def top_k(
        self, job: TopKJob, watch: Watch | None = None
    ) -> tuple[IntArray, npt.NDArray[Any], _core.Fault | None]:
        """Find the ids and scores of the top k of each task."""

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

    def rows(self, rows: Any) -> IntArray | None:
        """Check the query of each task if there are no targets; None: task i is query i."""
        if rows is None:
            return None
        found = index_array("rows", rows)
        check_shape("rows", found.shape, 1, "a 1-D array")
        check_range("rows", found, self.shape[0], "queries")
        return found


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

    @property
    def length(self) -> int:
        """As in `PairedVectors`."""
        return int(self.entities.array.shape[1])

    def on_host(self) -> OpenEmbeddings:
        """As in `PairedVectors`."""
        return self

    def count(self, job: Job, block: int, watch: Watch | None = None) -> Ranks:
        """As in `PairedVectors`."""
        options = (job.rules, block, job.threads, listener_of(watch))
        counted = _core.rank_embeddings(self.core_embeddings, job.tasks(), *options)
        if fault := counted.fault:
            raise job.error_of(fault)
        return job.ranks(counted.arrays, self.dtype, self.files, self.way)

    def count_against(
        self, asked: ThresholdJob, block: int, watch: Watch | None = None
    ) -> PartialCounts:
        """As in `PairedVectors`."""
        job = asked.job
        tasks = (job.tasks(), asked.values.scores, 0, job.rules, block, job.threads)
        listener = listener_of(watch)
        return asked.checked(_core.partial_embedding_counts(self.core_embeddings, *tasks, listener))

    def score(
        self, rows: IntArray | None, targets: IntArray | None, threads: int
    ) -> npt.NDArray[Any]:
        """As in `PairedVectors`."""
        return _core.score_embeddings(self.core_embeddings, rows, targets, threads)

    def top_k(
        self, job: TopKJob, watch: Watch | None = None
    ) -> tuple[IntArray, npt.NDArray[Any], _core.Fault | None]:
        """As in `PairedVectors`."""
        tasks = _core.Tasks(job.rows, None, job.filter, job.candidates)
        given = (job.k, job.nan, job.current_matches)
        options = (job.block, job.threads, listener_of(watch))
        return _core.topk_embeddings(self.core_embeddings, tasks, *given, *options)


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

    def on_host(self) -> Vectors:
        """Return them in the host's memory, where they are."""
        return self


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
        found = in_one_array(vectors)
        if isinstance(vectors, Store):  # which may have been opened as scores
            dtype_name(vectors.carrier, None, name, form, known=vectors.dtype)
            check_dimensions(found.array.shape, name, form)
            return Vectors(found, vectors.files)
        return Vectors(found, device=device)


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
    given, single = left.scores, left.array.ndim == 1
    if single:
        given = given.with_array(left.array[None, :])
    sizes = len(given.array), len(right.array)
    check_lengths(given.array.shape, right.array.shape, similarity, roles)
    dtype_name = score_dtype(given.dtype, right.scores.dtype)
    offsets, files = None, left.files + right.files
    if bias is not None:
        numbers = read_vectors("bias", bias, dtype, "bias")
        offsets = rounded_bias(numbers.scores, sizes[1], dtype_name)
        files += numbers.files
    fields = (given, right.scores, similarity, offsets, dtype_name, single, files)
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
    for name, given, count in zip(names, csls[:2], sizes, strict=True):
        array = np.asarray(given)
        if array.dtype.kind != "f":
            raise InputTypeError("csls", expected=f"floats for {name}", got=f"dtype {array.dtype}")
        check_shape("csls", array.shape, (count,), f"{count} means for {name}, one for each")
        with np.errstate(over="ignore", invalid="ignore"):
            means.append(array.astype(dtype, order="C"))
    return means[0], means[1]
