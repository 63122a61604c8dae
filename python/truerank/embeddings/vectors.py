"""Embeddings that users hand over: queries, entities and biases become views for the core.

Their scores are a store like any other, but that they are made while they are counted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from .. import _core
from .._core import Scores
from ..arrays.row_keys import look_up
from ..counting.driver import count_scores
from ..counting.job import prepare_job, sha256_hex
from ..errors import InputTypeError, InputValueError, Option, argument_names
from ..inputs import checks
from ..inputs.array_likes import (
    FLOATS,
    INTEGERS,
    NARROW,
    NUMBERED,
    PARTS,
    Axis,
    array_shape,
    as_array,
    as_floats,
    by_position,
    check_shape,
    class_if_imported,
    default_arithmetic,
    device_name,
    dtype_name,
    is_tensor,
    named_columns,
    named_dtype,
)
from ..inputs.progress_listeners import BoundedPairs, as_listener, reporter
from ..inputs.rules import LAYOUTS, Similarity, VectorSimilarity
from ..inputs.selection import join_ranges, lengths_to_indptr, pair_indptr
from ..naming import public
from ..stores import PATHS, Store, Tile, in_one_array, read_scores, shape_of
from ..stores.store import cut_tiles

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    import numpy.typing as npt

    from ..arrays import IntArray
    from ..counting.driver import Counts
    from ..counting.job import Job
    from ..inputs.progress_listeners import Progress, Watch
    from ..inputs.rules import Layout, Rules

    Array = npt.NDArray[Any]

SECONDS_BETWEEN_REPORTS = 0.1  # of a watch
# Tiles of vectors are larger than those of scores, for something has to be prepared for each.
TIMES_AS_LARGE = 4
COMPARED_BYTES = 4 << 20  # Vectors of so many bytes are compared at a time: they stay in a cache.
SIMILARITIES: tuple[Similarity, ...] = get_args(Similarity)
# What compares two vectors, and not two lists of them.
VECTOR_SIMILARITIES: tuple[VectorSimilarity, ...] = get_args(VectorSimilarity)
QUANTISED = ("int8", "uint8", "bool")
_DOUBLES = ("float64", "complex128", *QUANTISED)  # whose scores are float64
_REAL_DTYPES = FLOATS + QUANTISED
VECTOR_DTYPES = _REAL_DTYPES + tuple(PARTS)
_LAYOUTS = (
    Option("layout", "interleaved", "says that real and imaginary parts come in turn"),
    Option("layout", "halves", "that all real parts come first"),
)


@public("truerank.alignment")
class CSLS(NamedTuple):
    """What cross-domain similarity local scaling subtracts: mean scores of the top k.

    Attributes
    ----------
    queries, entities : ndarray of float32 or float64, shape (q,) and (n,)
        The mean score of each query with its k most similar entities, and of each entity with its k
        most similar queries; NaN where one took no part.
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
    """Queries and entities, opened and checked, and how a pair of them is scored.

    As a `Store` it has their scores, which are made while they are counted, and never stored:
    shape, single_row, dtype, itemsize and nbytes are those of the scores. There is a single row if
    a single vector was handed over, which is the query of every task; `queries` is then one row.

    Vectors are not copied, and maps of files last as long as the object. Tensors on a device are
    copied to the host's memory: `device` is that of the entities, or else of the queries.

    Arguments are as in `rank_embeddings`. `query_rows` and `entity_rows` are what the rows of
    frames stand for; columns of one frame are compared with those of the other. The entities of
    `like` are the same, and are not read again. Scores are float64 `in_double` precision, for which
    floats of queries, which are few, are copied.
    """

    tokens: tuple[IntArray, IntArray] | None = None  # where lists of vectors begin
    bias: Array | None = None  # in the dtype of the scores, as are the means of `csls`
    in_tiles = False
    is_turned = False  # Queries are then the entities that were handed over.
    threads = 0  # that score pairs; 0: as many as are free
    # How many a thread scores before it goes on to other queries, which changes no count; 0: the
    # core chooses.
    entities_at_a_time = 0

    def __init__(
        self,
        queries: Any,
        entities: Any,
        similarity: str,
        bias: Any = None,
        dtype: Any = None,
        csls: CSLS | None = None,
        query_rows: Axis = NUMBERED,
        entity_rows: Axis = NUMBERED,
        layout: Layout | None = None,
        like: Embeddings | None = None,
        in_double: bool = False,
    ) -> None:
        self.similarity = checks.choice("similarity", similarity, SIMILARITIES)
        queries, query_indptr = split_lists("queries", queries, similarity)
        entities, entity_indptr = split_lists("entities", entities, similarity)
        if similarity == "maxsim":  # A row of lists is a token, which has no name.
            refuse_addends(bias, csls)
            queries, entities = _without_names(queries, entities, NUMBERED, NUMBERED)
        else:
            queries, entities = _without_names(queries, entities, query_rows, entity_rows)
        query_vectors, query_starts, query_files, query_device = read_vector_lists(
            "queries", queries, query_indptr, dtype
        )
        if like is None:
            self._entities_as_read = read_vector_lists("entities", entities, entity_indptr, dtype)
        else:
            self._entities_as_read = like._entities_as_read
        entity_vectors, entity_starts, entity_files, entity_device = self._entities_as_read
        query_shape = list_shape(query_vectors, query_starts)
        entity_shape = list_shape(entity_vectors, entity_starts)
        check_vectors(query_vectors, entity_vectors, entity_shape, similarity, layout)
        if query_starts is not None and entity_starts is not None:
            check_lists("queries", query_vectors, query_starts, query_rows)
            if like is None:
                check_lists("entities", entity_vectors, entity_starts, entity_rows)
            self.tokens = (query_starts, entity_starts)
        dtypes = [query_vectors.dtype, entity_vectors.dtype]
        if in_double and query_vectors.dtype not in _DOUBLES:
            query_vectors = widened(query_vectors)
        has_single_scores = {query_vectors.dtype, entity_vectors.dtype}.isdisjoint(_DOUBLES)
        score_dtype: np.dtype[Any] = np.dtype(np.float32 if has_single_scores else np.float64)
        files = query_files + entity_files
        if bias is not None:
            numbers, bias_files = read_bias(bias, entity_shape[0], dtype, entity_rows)
            self.bias = _rounded(as_floats(numbers), score_dtype)
            files += bias_files
            dtypes.append(numbers.dtype)
        check_narrow(dtype, dtypes)
        super().__init__((*query_shape[:-1], entity_shape[0]), score_dtype.name, score_dtype, files)
        self.device = entity_device or query_device
        self.layout = layout
        self.vector_shapes = (query_shape, entity_shape)  # The first may be of one vector.
        self.csls = None if csls is None else rounded_means(csls, self.shape, self.dtype)
        self.queries = query_vectors.with_array(np.atleast_2d(query_vectors.array))
        self.entities = entity_vectors

    def with_fields(self, **fields: Any) -> Self:
        """Return the same embeddings with other attributes."""
        other = copy(self)
        vars(other).update(fields)
        return other

    def with_csls(self, csls: CSLS) -> Self:
        """Subtract means from the scores, checked and rounded to the scores' dtype."""
        return self.with_fields(csls=rounded_means(csls, self.shape, self.dtype))

    def turned(self) -> Self:
        """Return the other direction of embeddings without a bias: entities are the queries."""
        return self.with_fields(
            queries=self.entities,
            entities=self.queries,
            shape=self.shape[::-1],
            csls=self.csls and self.csls.swapped(),
            is_turned=not self.is_turned,
        )

    def check_shape(self, shape: tuple[int, int], kinds: tuple[str, str]) -> None:
        """Refuse another number of queries or entities, of which messages say what they are."""
        sides = zip(("queries", "entities"), self.vector_shapes, shape, kinds, strict=True)
        for name, got, height, kind in sides:
            if got[:-1] != (height,):
                expected = f"vectors of shape ({height}, d), a row for each {kind}"
                if self.tokens is not None:
                    expected = f"lists of vectors of shape ({height}, d), one for each {kind}"
                raise InputValueError(name, expected=expected, got=got)

    @property
    def measure(self) -> str:
        """The similarity, and csls if it is used, as a protocol names them."""
        if self.csls is None:
            return self.similarity
        return f"{self.similarity}, csls {self.csls.k}"

    def core(self, tile: Tile | None = None) -> _core.Embeddings:
        """Return the embeddings, or those of a tile of the scores, as the core takes them."""
        if tile is None:
            tile = Tile(0, 0, *self.shape)
        rows = slice(tile.top, tile.top + tile.height)
        columns = slice(tile.left, tile.left + tile.width)
        tokens = None
        if self.tokens is not None:
            rows, query_starts = list_rows(rows, self.tokens[0])
            columns, entity_starts = list_rows(columns, self.tokens[1])
            tokens = (query_starts, entity_starts)
        queries = self.queries.with_array(self.queries.array[rows])
        entities = self.entities.with_array(self.entities.array[columns])
        if self.layout == "halves":
            queries = _in_halves(queries)
            entities = _in_halves(entities)
        bias = None if self.bias is None else self.bias[columns]
        csls = self.csls
        means = None if csls is None else (csls.queries[rows], csls.entities[columns])
        return _core.Embeddings(queries, entities, self.similarity, bias, means, tokens)

    def job(self, targets: Any, rows: Any, filter: Any, candidates: Any, rules: Rules) -> Job:
        """Check tasks as `prepare_job` does."""
        job = prepare_job(
            shape_of(self), targets, rules, rows=rows, filter=filter, candidates=candidates
        )
        if self.is_turned:
            job = replace(job, is_turned=True)
        return job

    def counts(
        self,
        job: Job,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        watch: Watch | None = None,
    ) -> Counts:
        """Count the tasks of a job, as `count_scores` does, and report to a watch.

        With a checkpoint they are counted in tiles, and the watch is told of each; without one, the
        core tells it.
        """
        if checkpoint is None:
            if self.entities_at_a_time or watch is not None:
                job = replace(job, block=self.entities_at_a_time, listener=listener_of(watch))
            return count_scores(self, job)

        def report_tile(done: int, resumed: int) -> None:
            if watch is not None:
                watch(done, self.nbytes, resumed)

        embeddings = self.with_fields(threads=job.rules.num_threads)
        return count_scores(embeddings, job, report_progress=report_tile, checkpoint=checkpoint)

    def score(self, rows: IntArray | None, targets: IntArray | None, threads: int) -> Array:
        """Score each row's query with all entities, or with its target."""
        return _core.score_embeddings(self.core(), rows, targets, threads)

    def equal_entities(self) -> IntArray:
        """Return for each query the first entity with the same real vector; -1: there is none.

        Equal vectors have equal products with any vector, others have not with a random one.
        """
        same_ids = np.full(len(self.queries.array), -1)
        if self.tokens is None and {self.queries.dtype, self.entities.dtype}.isdisjoint(PARTS):
            random = np.random.default_rng(0).standard_normal((1, self.queries.array.shape[1]))
            query = Scores(random, "float64", False)
            products = []
            for vectors in (self.entities, self.queries):
                pairs = _core.Embeddings(query, vectors, "dot", None, None, None)
                products.append(_core.score_embeddings(pairs, None, None, self.threads)[0] + 0.0)
            found, entities = look_up(*(each.view(np.int64) for each in products))
            same_ids[found] = entities
            same_ids[np.isnan(products[1])] = -1
        return same_ids

    # -- the scores as a store -------------------------------------------------------------------

    def tiles(self, max_bytes: int) -> list[Tile]:
        """Cut the longer side alone, if that is enough, so that many pairs share their vectors."""
        by_columns = self.shape[1] > self.shape[0]
        size = TIMES_AS_LARGE * max_bytes
        return cut_tiles(self.shape, self.itemsize, size, by_columns=by_columns)

    @contextmanager
    def block(self, tile: Tile, io: str) -> Iterator[Array]:
        yield _core.score_embeddings(self.core(tile), None, None, self.threads)

    def core_block(  # type: ignore[override]
        self, tile: Tile, io: str
    ) -> AbstractContextManager[_core.Embeddings]:
        """Return the vectors of a tile as the core takes them."""
        return nullcontext(self.core(tile))

    def take(self, rows: IntArray, columns: IntArray) -> Array:
        return self.score(rows, columns, self.threads)

    def mismatched_rows(self, rows: IntArray, others: IntArray, io: str | None = None) -> Array:
        """Return for pairs of queries whether their vectors differ in any bit, or in number.

        At most a few MB are copied at a time, whatever the layout, and one query's vectors.
        """
        array = self.queries.array
        starts = np.arange(len(array) + 1) if self.tokens is None else self.tokens[0]
        lengths = np.diff(starts)
        mismatched: Array = lengths[rows] != lengths[others]
        pairs = np.flatnonzero((rows != others) & ~mismatched)
        as_bits = f"u{min(array.dtype.itemsize, 8)}"
        bytes_so_far = np.cumsum(lengths[rows[pairs]]) * array.shape[1] * array.dtype.itemsize
        is_full = np.diff(bytes_so_far // COMPARED_BYTES) > 0  # The next pair begins a chunk.
        for chunk in np.split(pairs, np.flatnonzero(is_full) + 1):
            counts = lengths[rows[chunk]]
            vectors = array[join_ranges(starts[rows[chunk]], counts)]
            other_vectors = array[join_ranges(starts[others[chunk]], counts)]
            is_unlike = (vectors.view(as_bits) != other_vectors.view(as_bits)).any(axis=1)
            mismatched[chunk] = np.logical_or.reduceat(is_unlike, lengths_to_indptr(counts)[:-1])
        return mismatched

    def state(self) -> list[Any]:
        """Return a digest of the vectors, and how a pair of them is scored."""
        arrays: list[Any] = [self.queries.array, self.entities.array, self.bias]
        if self.csls is not None:
            arrays.extend(self.csls)
        if self.tokens is not None:
            arrays.extend(self.tokens)
        values = [sha256_hex(*arrays), self.similarity, self.dtype]
        if self.layout is not None:
            values.append(self.layout)
        return values


def _without_names(
    queries: Any, entities: Any, query_rows: Axis, entity_rows: Axis
) -> tuple[Any, Any]:
    """Check names of rows, and that both sides name equal columns; return them without names."""
    query_columns = named_columns("queries", queries)
    entity_columns = named_columns("entities", entities)
    queries = by_position("queries", queries, query_rows, entity_columns)
    return queries, by_position("entities", entities, entity_rows, query_columns)


def check_vectors(
    left: Scores,
    right: Scores,
    right_shape: tuple[int, ...],
    similarity: str,
    layout: Layout | None,
) -> None:
    """Refuse vectors of unlike scales or lengths, and a layout that does not belong to them.

    A complex number is as long as two real ones.
    """
    if left.dtype != right.dtype and not {left.dtype, right.dtype}.isdisjoint(QUANTISED):
        expected = f"{left.dtype}, as queries: floats in both, or both quantised by one scale"
        raise InputTypeError("entities", expected=expected, got=right.dtype)
    check_shape("entities", right_shape, 2, "a matrix (entities, d)")
    check_layout(layout, similarity, [left.dtype, right.dtype])
    length, entity_length = (
        vectors.array.shape[-1] * (2 if vectors.dtype in PARTS else 1) for vectors in (left, right)
    )
    if entity_length != length:
        expected = f"vectors of length {length}, as in queries"
        if right.dtype in PARTS:
            expected = f"vectors of {length / 2:g} complex numbers, as in queries"
        raise InputValueError("entities", expected=expected, got=f"shape {right.array.shape}")
    if length == 0 or (layout is not None and length % 2):
        expected = "vectors of length 1 or more, of an even length for complex_l1"
        raise InputValueError("queries", expected=expected, got=f"shape {left.array.shape}")


def split_lists(name: str, value: Any, similarity: str) -> tuple[Any, Any]:
    """Split (vectors, indptr), lists of vectors, which "maxsim" takes; others have no indptr."""
    if similarity != "maxsim":
        refuse_lists(name, value, similarity)
        return value, None
    is_pair = _is_pair(value)
    vectors = value[0] if is_pair else value
    is_padded = getattr(vectors, "ndim", 0) == 3
    if is_pair and not is_padded:
        return vectors, value[1]
    is_array = is_padded or getattr(vectors, "ndim", 0) == 2
    got = f"shape {tuple(vectors.shape)}" if is_array else type(value).__name__
    expected = "vectors (tokens, d) and indptr, the first token of each list, with maxsim"
    raise InputTypeError(name, expected=expected, got=got)


def refuse_lists(name: str, value: Any, similarity: str) -> None:
    """Refuse lists of vectors, (vectors, indptr) or padded, where vectors are compared."""
    got = ""
    ways = []
    if getattr(value, "ndim", 0) == 3:
        got = f"shape {tuple(value.shape)}"
    elif _is_pair(value):
        shape, shape_of_indptr = (array_shape(name, part) for part in value)
        if len(shape_of_indptr) == 1 and len(shape) != 1:
            got = "vectors and another array"
            if as_array(value[1], name)[-1:].tolist() == list(shape[:1]):
                got = "vectors and an indptr"
                ways = [Option("similarity", effect="says how lists of vectors are compared")]
    if got:
        expected = f"only vectors with {similarity}"
        raise InputTypeError(name, expected=expected, got=got, remedies=ways)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and value[1] is not None


def read_vector_lists(
    name: str, value: Any, indptr: Any, dtype: Any
) -> tuple[Scores, IntArray | None, tuple[str, ...], str]:
    """Return vectors, where lists of them begin if they have any, their files and their device.

    `indptr` has the beginnings, or is the path of their file.
    """
    if indptr is not None and device_name(value):
        expected = "vectors in the host's memory with maxsim"
        raise InputTypeError(name, expected=expected, got=f"a tensor on {device_name(value)}")
    vectors, files, device = read_vectors(name, value, dtype)
    if indptr is None:
        return vectors, None, files, device
    check_shape(name, vectors.array.shape, 2, "vectors of shape (tokens, d)")
    beginnings = indptr
    if isinstance(indptr, PATHS):
        numbers, files_of_indptr, _ = read_vectors(f"{name}: indptr", indptr, None, INTEGERS)
        beginnings = numbers.array
        files += files_of_indptr
    starts = pair_indptr(name, (beginnings, vectors), len(vectors.array), what="vectors")
    return vectors, starts, files, device


def check_lists(name: str, vectors: Scores, starts: IntArray, rows: Axis) -> None:
    """Refuse a list without vectors, and a vector of zeros of an entity, which is padding.

    Zeros would be more similar than what is negative. Those of a query add 0 to all scores.
    """
    empty = np.flatnonzero(np.diff(starts) == 0)
    if len(empty):
        where = _describe_list(name, int(empty[0]), starts, rows)
        raise InputValueError(where, expected="a vector or more", got="none")
    zeros = first_zeros(vectors) if name == "entities" else -1
    if zeros >= 0:
        number = int(np.searchsorted(starts, zeros, side="right")) - 1
        got = f"zeros at token {zeros - starts[number]}"
        where = _describe_list(name, number, starts, rows)
        raise InputValueError(where, expected="no vectors of zeros, as padding", got=got)


def _describe_list(name: str, number: int, starts: IntArray, rows: Axis) -> str:
    """Name a list of vectors in a message, with its label if each list has one."""
    labels = rows.labels or ()
    label = f" ({labels[number]!r})" if len(labels) == len(starts) - 1 else ""
    return f"{name}: list {number}{label}"


def first_zeros(vectors: Scores) -> int:
    """Return the number of the first vector of zeros; -1: there is none.

    Of most vectors the first component alone is read.
    """
    array = vectors.array
    step = 1 + COMPARED_BYTES // (array.shape[1] * array.dtype.itemsize)
    for top in range(0, len(array), step):
        beginnings = as_floats(vectors.with_array(array[top : top + step, :1]))
        numbers = top + np.flatnonzero(beginnings == 0)
        with np.errstate(invalid="ignore"):  # One of the NaN may be a signalling one.
            is_zero = ~as_floats(vectors.with_array(array[numbers])).any(axis=1)
        if is_zero.any():
            return int(numbers[is_zero.argmax()])
    return -1


def list_shape(vectors: Scores, starts: IntArray | None) -> tuple[int, ...]:
    """Return the shape of vectors, of which each list counts as one."""
    if starts is None:
        return vectors.array.shape
    return len(starts) - 1, vectors.array.shape[1]


def list_rows(lists: slice, starts: IntArray) -> tuple[slice, IntArray]:
    """Return the rows of the vectors of some lists, and where each of these begins among them."""
    part = starts[lists.start : lists.stop + 1]
    return slice(int(part[0]), int(part[-1])), part - part[0]


def refuse_addends(bias: Any, csls: CSLS | None) -> None:
    """Refuse what is not added to sums of maxima."""
    for name, value in (("bias", bias), ("csls", csls)):
        if value is not None:
            raise InputValueError(name, expected="none with maxsim", got=type(value).__name__)


def widened(vectors: Scores) -> Scores:
    """Copy floats or complex numbers in double precision, which changes none of them."""
    numbers = as_floats(vectors)
    numbers = numbers.astype(np.result_type(numbers, np.float64))
    return Scores(numbers, numbers.dtype.name, False)


def _in_halves(vectors: Scores) -> Scores:
    """Return vectors whose halves, of real and imaginary parts, have a dimension of their own."""
    if vectors.dtype in PARTS:
        return vectors
    array = vectors.array
    return vectors.with_array(array.reshape(len(array), 2, array.shape[1] // 2))  # No copy.


def check_layout(layout: Layout | None, similarity: str, dtypes: Sequence[str]) -> None:
    """Check that it is said where real vectors have the parts of complex numbers, if they do.

    The dtypes are those of queries and of entities.
    """
    if layout is not None:
        checks.choice("layout", layout, LAYOUTS)
    compares_complex = similarity == "complex_l1"
    needs_layout = compares_complex and any(dtype not in PARTS for dtype in dtypes)
    if needs_layout and layout is None:
        expected = "a layout for real arrays with complex_l1"
        raise InputValueError("layout", expected=expected, got="None", remedies=_LAYOUTS)
    if layout is not None and not needs_layout:
        expected = "nothing, except for real arrays with complex_l1"
        raise InputValueError("layout", expected=expected, got=repr(layout))
    for name, dtype in zip(("queries", "entities"), dtypes, strict=True):
        if dtype in PARTS and not compares_complex:
            expected = f"one of {', '.join(_REAL_DTYPES)}"
            are_complex = similarity != "maxsim" and PARTS.keys() >= {*dtypes}
            way = Option("similarity", effect="says how complex numbers are compared")
            ways = [way] if are_complex else []
            raise InputTypeError(name, "", expected, f"dtype {dtype}", remedies=ways)


def read_vectors(
    name: str, value: Any, dtype: Any, dtypes: tuple[str, ...] = VECTOR_DTYPES
) -> tuple[Scores, tuple[str, ...], str]:
    """Return vectors, or other numbers, as views; their files, which are mapped; and their device.

    Tensors on a device are copied to the host's memory.
    """
    weight = getattr(value, "weight", None)
    if weight is not None and is_tensor(weight):  # It is a module of torch, such as Embedding.
        got = type(value).__name__
        raise InputTypeError(name, expected="an array or a tensor, as its weight is", got=got)
    # Arrow's column of lists of one length is a matrix, which is not copied.
    if isinstance(value, class_if_imported("pyarrow", "ChunkedArray")):
        value = value.combine_chunks()
    if hasattr(value, "value_lengths") and not value.null_count:
        lengths = np.unique(value.value_lengths())
        if len(lengths) <= 1:
            value = np.asarray(value.flatten()).reshape(len(value), lengths.max(initial=0))
    with argument_names(scores=name):
        vectors = read_scores(value, dtype, dtypes)
        if not isinstance(vectors, Store):
            return vectors, (), ""
        # A store may have been opened as scores, of a dtype that is then refused here.
        dtype_name(vectors.carrier, None, dtypes, known=vectors.dtype)
        return in_one_array(vectors), vectors.files, vectors.device


def check_narrow(stated: Any, dtypes: Sequence[str]) -> None:
    """Refuse the name of floats of two bytes where no vectors have such."""
    name = "" if stated is None else named_dtype(stated)[0]
    if name in NARROW and name not in dtypes:
        got = f"{name} beside {', '.join(dtypes)}"
        raise InputTypeError("dtype", expected="the dtype of some vectors", got=got)


def read_bias(value: Any, size: int, dtype: Any, rows: Axis) -> tuple[Scores, tuple[str, ...]]:
    """Check a bias, one number for each entity; return it and its files."""
    value = by_position("bias", value, rows)
    if checks.is_number(value):
        expected = f"{size} numbers, one for each entity"
        raise InputValueError("bias", expected=expected, got="one for all")
    bias, files, _ = read_vectors("bias", value, dtype, FLOATS)
    check_shape("bias", bias.array.shape, (size,), f"{size} numbers, one for each entity")
    return bias, files


@default_arithmetic()
def _rounded(numbers: Array, dtype: Any) -> Array:
    """Copy numbers in another dtype; what is too large becomes infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        return numbers.astype(dtype, order="C")


def rounded_means(csls: Any, sizes: tuple[int, ...], dtype: Any) -> CSLS:
    """Check the means of so many queries and entities; round them to the dtype of the scores."""
    checks.instance("csls", csls, CSLS, "a CSLS, as csls_means gives it")
    means = [as_array(values, "csls") for values in csls[:2]]
    for name, array, count in zip(("queries", "entities"), means, sizes, strict=True):
        if array.dtype.kind != "f" or array.shape != (count,):
            expected = f"{count} means for {name}, one float for each"
            got = f"dtype {array.dtype}, shape {array.shape}"
            raise InputValueError("csls", expected=expected, got=got)
    return CSLS(_rounded(means[0], dtype), _rounded(means[1], dtype), csls.k)


# -- progress -------------------------------------------------------------------------------------


def listener_of(watch: Watch | None) -> _core.Listener | None:
    """Return what the core takes for a watch."""
    if watch is None:
        return None
    return _core.Listener(watch, SECONDS_BETWEEN_REPORTS)


@contextmanager
def watching(
    progress: bool | Callable[[Progress], object] | None, size: int
) -> Iterator[Watch | None]:
    """Give a watch for a block of code that counts embeddings, whose scores have so many bytes.

    `progress` is told of each report in bytes of scores; at the end of the block it is told that
    all is done, and what bounds spared in it.
    """
    listener = as_listener(progress)
    if listener is None:
        yield None
        return
    last_report = time.monotonic() - SECONDS_BETWEEN_REPORTS  # The first report comes at once.
    tally = _core.bounds_tally()
    report_progress = reporter(listener, size)
    bytes_resumed = 0  # from a checkpoint

    def watch(done: int, total: int, resumed: int = 0) -> None:
        nonlocal last_report, bytes_resumed
        bytes_resumed = resumed
        now = time.monotonic()
        # The end is told once, with the bounds.
        if done < total and now - last_report >= SECONDS_BETWEEN_REPORTS:
            last_report = now
            report_progress(size * done // total, resumed=resumed)

    yield watch
    numbers = [after - before for before, after in zip(tally, _core.bounds_tally(), strict=True)]
    bounds = _core.bounds().removesuffix("!")  # A choice that was forced ends with it.
    report_progress(size, resumed=bytes_resumed, bounds=BoundedPairs(bounds, *numbers))
