"""Embeddings that users hand over: queries, entities and biases become views for the core."""

from __future__ import annotations

from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from .. import _core
from .._core import Scores
from ..counting.job import ScoreNouns, digest
from ..counting.partial_counts import PartialCounts, TrueScores
from ..counting.tiles import count_store
from ..devices.backends import scores_vectors
from ..devices.task_counts import DeviceCounts
from ..devices.vector_scores import VectorScores, in_parts, scores_right, tensor_on
from ..inputs.arithmetic import default_arithmetic
from ..inputs.arrays import is_tensor
from ..inputs.checks import LAYOUTS, check_shape, choice, positive_integer
from ..inputs.errors import InputTypeError, InputValueError
from ..inputs.naming import public
from ..inputs.scores import (
    FLOATS,
    PARTS,
    Form,
    as_scores,
    check_dimensions,
    dtype_name,
    widen_bfloat16,
)
from ..inputs.words import Similarity
from ..stores import Store, Tile, in_one_array, owned, read_scores, shape_of
from ..stores.on_device import DeviceStore
from ..stores.store import cut_tiles
from .watching import listener_of, report_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Self

    import numpy.typing as npt

    from ..counting.job import Job
    from ..inputs.arrays import IntArray
    from ..inputs.words import Layout
    from ..ranks.container import Ranks
    from .watching import Watch

    Array = npt.NDArray[Any]

# Tiles of vectors are larger than those of scores, for something has to be prepared for each.
TIMES_AS_LARGE = 4
_MATRIX = "a matrix (entities, d)"
_REAL = (
    ", which only complex_l1 compares (the real part of q times the conjugate of e is the dot of "
    "array.view of their real dtype)"
)
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)


@lru_cache(maxsize=64)
def vector_form(shape: str, dimensions: tuple[int, ...], similarity: str) -> Form:
    """Return what vectors must be for a similarity."""
    if similarity == "complex_l1":
        return Form(shape, dimensions, (*FLOATS, *PARTS))
    return Form(shape, dimensions, FLOATS, _REAL)


class Roles(NamedTuple):
    """What messages call queries and entities, and their scores."""

    queries: str = "queries"  # the name of the argument; likewise the next one
    entities: str = "entities"
    shape: str = "a matrix (queries, d) or a single vector (d,)"  # of the queries
    nouns: ScoreNouns = ScoreNouns(
        "query",
        "queries",
        "entities",
        "the score of query {row} and entity {column}",
        "the true score, of query {row} and entity {column},",
    )


QUERIES = Roles()
BIAS = Form("one number for each entity", (1,), FLOATS)


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


class Embeddings(Store):
    """Queries and entities, opened and checked: a store of scores that are made when counted.

    Vectors are not copied, and maps of files last as long as the object. If the entities are on a
    device that has been seen to score vectors with the bits of the core, they stay there, and the
    queries are copied there. From other devices all are copied to the host's memory.

    Parameters
    ----------
    queries, entities, similarity, bias, dtype, csls, layout
        As in `rank_embeddings`.
    roles : Roles
        What messages call them.

    Attributes
    ----------
    queries, entities : Scores; tensors, if the scores are made on a device
        Matrices; a single query is one of one row.
    vector_shapes : (tuple of int, tuple of int)
        The shapes in which they were handed over.
    bias : ndarray, shape (entities,), or None
        In the dtype of the scores, as are the means of `csls`.
    threads, are_stored : int, bool
        How many threads score a block (0: as many as are free), and whether a block is scores.
        Otherwise it is vectors, whose scores are never stored.

    Raises
    ------
    TypeError, ValueError, OSError
        As `rank_embeddings` does.
    """

    bias: Array | None = None
    threads, are_stored = 0, False

    def __init__(
        self,
        queries: Any,
        entities: Any,
        similarity: str,
        bias: Any = None,
        dtype: Any = None,
        csls: CSLS | None = None,
        roles: Roles = QUERIES,
        layout: Layout | None = None,
    ) -> None:
        self.similarity, self.roles = choice("similarity", similarity, SIMILARITIES), roles
        form = vector_form(roles.shape, (1, 2), similarity)
        left, left_files, left_device = read_vectors(roles.queries, queries, dtype, form)
        right, files, right_device = read_vectors(
            roles.entities, entities, dtype, self._matrix_form
        )
        self.vector_shapes = shape_of(left), shape_of(right)
        dtypes = left.dtype, right.dtype
        check_layout(layout, similarity, dtypes)
        self.layout = layout
        *heights, length = self.vector_shapes[0]
        size, other_length = self.vector_shapes[1]
        if (left.dtype in PARTS) != (right.dtype in PARTS):  # a complex number has two parts
            length *= 2 if left.dtype in PARTS else 1
            other_length *= 2 if right.dtype in PARTS else 1
        if other_length != length:
            expected = f"vectors of length {length}, as in {roles.queries}"
            if right.dtype in PARTS and left.dtype not in PARTS:
                expected = f"vectors of {length / 2:g} complex numbers, as in {roles.queries}"
            got = f"shape {self.vector_shapes[1]}"
            raise InputValueError(roles.entities, expected=expected, got=got)
        if length == 0 or (layout is not None and length % 2):
            expected = "vectors of length 1 or more, of an even length for complex_l1"
            got = f"shape {self.vector_shapes[0]}"
            raise InputValueError(roles.queries, expected=expected, got=got)
        is_wide = "float64" in dtypes or "complex128" in dtypes
        carrier = np.dtype(np.float64 if is_wide else np.float32)
        if bias is not None:
            read, bias_files, _ = read_vectors("bias", bias, dtype, BIAS)
            expected = f"{size} numbers, one for each entity"
            check_shape("bias", shape_of(read), (size,), expected)
            numbers, files = in_one_array(read), files + bias_files
            is_narrow = numbers.dtype == "bfloat16"
            plain = widen_bfloat16(numbers.array) if is_narrow else numbers.array
            self.bias = _rounded(plain, carrier)
        shape = heights[0] if heights else 1, size
        super().__init__(shape, carrier.name, carrier, left_files + files)
        self.single_row, self.device = not heights, right_device or left_device
        self.csls: CSLS | None = self.with_csls(csls).csls
        self.queries: Any
        self.entities: Any
        if isinstance(right, DeviceStore) and self._is_scored_on(right.array.device):
            self.on_device, self._stream, to = True, right.stream, right.array.device
            self.queries = tensor_on(to, left).reshape(shape[0], self.vector_shapes[0][-1])
            self.entities = tensor_on(to, right)
            return
        asked, self.entities = in_one_array(left), in_one_array(right)
        self.queries = asked if heights else asked.with_array(asked.array[None, :])

    @property
    def _matrix_form(self) -> Form:
        return vector_form(_MATRIX, (2,), self.similarity)

    def _is_scored_on(self, device: Any) -> bool:
        return scores_vectors() and scores_right(device, self.similarity, self.dtype)

    def with_fields(self, **fields: Any) -> Self:
        """Return the same embeddings with other attributes."""
        other = copy(self)
        vars(other).update(fields)
        return other

    def on_host(self) -> Self:
        """Return them in the host's memory, without a copy if they are there."""
        if not self.on_device:
            return self
        queries = as_scores(self.queries, form=self._matrix_form)
        entities = as_scores(self.entities, form=self._matrix_form)
        return self.with_fields(queries=queries, entities=entities, on_device=False)

    def with_csls(self, csls: CSLS | None) -> Self:
        """Subtract means from the scores, checked and rounded to the scores' dtype."""
        if csls is not None:
            csls = rounded_means(csls, self.shape, self.dtype, self.roles[:2])
        return self.with_fields(csls=csls)

    def turned(self, roles: Roles) -> Self:
        """Return the other direction of embeddings without a bias: entities are the queries."""
        sides = {"queries": self.entities, "entities": self.queries, "shape": self.shape[::-1]}
        return self.with_fields(**sides, csls=self.csls and self.csls.swapped(), roles=roles)

    def check_shape(self, shape: tuple[int, int], nouns: tuple[str, str]) -> None:
        """Refuse another number of queries or entities, whose nouns messages have."""
        sides = zip(self.roles[:2], self.vector_shapes, shape, nouns, strict=True)
        for name, got, height, noun in sides:
            if got[:-1] != (height,):
                expected = f"vectors of shape ({height}, d), a row for each {noun}"
                raise InputValueError(name, expected=expected, got=got)

    @property
    def query_array(self) -> Array:
        """The queries in the host's memory, in the layout in which they were handed over."""
        return as_scores(self.queries, form=self._matrix_form).array

    @property
    def way(self) -> str | None:
        """The device and how it counts, as a protocol names them; None without a device."""
        return f"{self.device}, {'triton' if self.on_device else 'host'}" if self.device else None

    @property
    def measure(self) -> str:
        """The similarity, and csls if it is used, as a protocol names them."""
        return self.similarity if self.csls is None else f"{self.similarity}, csls {self.csls.k}"

    def core(self, tile: Tile | None = None) -> _core.Embeddings:
        """Return the embeddings, or those of a tile of the scores, as the core takes them."""
        host, (top, left, height, width) = self.on_host(), tile or Tile(0, 0, *self.shape)
        rows, columns = slice(top, top + height), slice(left, left + width)
        queries = self._for_core(host.queries, rows)
        entities = self._for_core(host.entities, columns)
        bias = None if self.bias is None else self.bias[columns]
        means = self.csls and (self.csls.queries[rows], self.csls.entities[columns])
        return _core.Embeddings(queries, entities, self.similarity, bias, means)

    def _for_core(self, vectors: Scores, some: slice) -> Scores:
        """Return some vectors as the core takes them: halves have a dimension of their own."""
        array = vectors.array[some]
        if self.layout == "halves" and vectors.dtype not in PARTS:
            array = array.reshape(len(array), 2, array.shape[1] // 2)  # which copies nothing
        return vectors.with_array(array)

    def there(self) -> VectorScores:
        """Return the scores on a device; the bias and the means are copied there."""
        assert self._stream is not None
        queries, entities = (in_parts(x, self.layout) for x in (self.queries, self.entities))
        vectors = queries, entities, self.similarity
        return VectorScores(*vectors, self._stream, self.bias, self.csls and self.csls[:2])

    def ranks(self, job: Job, counts: Mapping[str, IntArray], way: str | None) -> Ranks:
        """Make Ranks of counts."""
        return job.ranks(counts, self.dtype, self.files, way, similarity=self.measure)

    def counts(
        self,
        job: Job,
        true_scores: Array | None = None,
        *,
        block: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        watch: Watch | None = None,
    ) -> tuple[Mapping[str, IntArray], str | None]:
        """Count the tasks of a job; return also the way.

        The counts are final, or partial ones against true scores. The host counts what an audit
        asks for, keeps a checkpoint, and finds a NaN that is forbidden.
        """
        size = positive_integer("block", block) if block is not None else 0
        if self.on_device and checkpoint is None and not job.rules.audit:
            if true_scores is None:
                job.check_targets()
            there = DeviceCounts([(0, 0, self.there())], job.device_tasks(), true_scores)
            partial = PartialCounts(there.arrays(), job.rules)
            true = TrueScores(there.true_scores(), self.dtype)
            if not partial.is_void(true).any():
                own = partial.final_counts(true) if true_scores is None else partial.arrays
                return own, self.way
        host = self.on_host()
        if checkpoint is not None:
            store, report = host.with_fields(threads=job.threads), report_of(watch, self.nbytes)
            return count_store(store, job, report, true_scores, checkpoint=checkpoint)
        return job.counts_of(host.core(), true_scores, 0, size, listener_of(watch)), host.way

    def score(self, rows: IntArray | None, targets: IntArray | None, threads: int) -> Array:
        """Score each row's query with all entities, or with its target."""
        if self.on_device:
            return self.there().scored(np.arange(self.shape[0]) if rows is None else rows, targets)
        return _core.score_embeddings(self.core(), rows, targets, threads)

    def tiles(self, max_bytes: int) -> list[Tile]:
        """Cut the longer side alone, if that is enough, so that many pairs share their vectors."""
        size, by_columns = TIMES_AS_LARGE * max_bytes, self.shape[1] > self.shape[0]
        return cut_tiles(self.shape, self.itemsize, size, by_columns=by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Any]:
        """Yield the vectors of a tile, or their scores."""
        core, is_stored = self.core(tile), self.are_stored
        yield _core.score_embeddings(core, None, None, self.threads) if is_stored else core

    def take(self, rows: IntArray, columns: IntArray) -> Array:
        """As in `Store`."""
        return self.score(rows, columns, self.threads)

    def state(self) -> list[Any]:
        """As in `Store`: a digest of the vectors, and how a pair of them is scored."""
        arrays = self.queries.array, self.entities.array, self.bias, *(self.csls or ())
        said = [digest(*arrays), self.similarity, self.dtype]
        return said if self.layout is None else [*said, self.layout]

    def close(self) -> None:
        """Do nothing: maps last as long as the vectors."""


def check_layout(layout: Layout | None, similarity: str, dtypes: Sequence[str]) -> None:
    """Check that it is said where real vectors have the parts of complex numbers.

    Parameters
    ----------
    layout : {"interleaved", "halves"} or None
    similarity : str
    dtypes : sequence of str
        The dtypes of queries and of entities.

    Raises
    ------
    ValueError
        For real vectors without a layout with complex_l1, and for a layout of anything else.

    Examples
    --------
    >>> check_layout("halves", "complex_l1", ["complex64", "float32"])
    """
    if layout is not None:
        choice("layout", layout, LAYOUTS)
    if similarity != "complex_l1":
        if layout is not None:
            expected = f"none with {similarity}, which compares real numbers"
            raise InputValueError("layout", expected=expected, got=repr(layout))
        return
    are_complex = PARTS.keys() >= {*dtypes}
    if are_complex and layout is not None:
        expected = "none for complex arrays, where all is said"
        raise InputValueError("layout", expected=expected, got=repr(layout))
    if not are_complex and layout is None:
        expected = (
            '"interleaved" (real and imaginary parts in turn) or "halves" (all real parts, then '
            "all imaginary parts) for real arrays with complex_l1"
        )
        raise InputValueError("layout", expected=expected, got="None")


def read_vectors(
    name: str, value: Any, dtype: Any, form: Form
) -> tuple[Scores | DeviceStore, tuple[str, ...], str]:
    """View vectors or a bias; return also their files, which are mapped, and their device.

    Tensors stay on their device. Other arrays on a device are copied to the host's memory.
    """
    if is_tensor(getattr(value, "weight", None)):  # a module of torch, such as Embedding
        got = f"{type(value).__name__}; give its weight"
        raise InputTypeError(name, expected="an array or a tensor", got=got)
    vectors = read_scores(value, dtype, name, form=form)
    if not isinstance(vectors, Store):
        return vectors, (), ""
    with owned(vectors, value):
        # it may have been opened as scores
        dtype_name(vectors.carrier, None, name, form, known=vectors.dtype)
        check_dimensions(shape_of(vectors), name, form)
        if isinstance(vectors, DeviceStore) and vectors.stream is not None:
            return vectors, (), vectors.device
        return in_one_array(vectors), vectors.files, vectors.device


@default_arithmetic()
def _rounded(numbers: Array, dtype: Any) -> Array:
    """Copy numbers in another dtype; what is too large becomes infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.astype(dtype, order="C")


def rounded_means(
    csls: Any, sizes: tuple[int, ...], dtype: Any, names: tuple[str, str] = ("queries", "entities")
) -> CSLS:
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
    >>> rounded_means(CSLS(np.array([0.5]), np.array([0.25, 1.0]), 1), (1, 2), "float32")[0]
    array([0.5], dtype=float32)
    """
    if not isinstance(csls, CSLS):
        got = type(csls).__name__
        raise InputTypeError("csls", expected="a CSLS, as csls_means gives it", got=got)
    means = [np.asarray(values) for values in csls[:2]]
    for name, array, count in zip(names, means, sizes, strict=True):
        if array.dtype.kind != "f" or array.shape != (count,):
            expected = f"{count} means for {name}, one float for each"
            got = f"dtype {array.dtype}, shape {array.shape}"
            raise InputValueError("csls", expected=expected, got=got)
    return CSLS(_rounded(means[0], dtype), _rounded(means[1], dtype), csls.k)
