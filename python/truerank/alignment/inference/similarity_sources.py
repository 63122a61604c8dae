"""Sources of similarities: embeddings of two graphs, or a matrix, computed block by block."""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

import numpy as np

from ... import _core
from ..._core import Scores
from ...counting.job import fault_error
from ...embeddings.scoring import CurrentMatches, TopK, score_open_embeddings, topk_open_embeddings
from ...embeddings.vectors import CSLS, OpenEmbeddings, Roles, checked_means, open_embeddings
from ...inputs.checks import choice
from ...inputs.errors import InputTypeError, InputValueError, renamed
from ...inputs.progress_listeners import Progress, as_listener
from ...inputs.rules import PLAIN, Rules
from ...inputs.scores import as_scores, widen_bfloat16
from ...stores import Store, array_of, is_stored, store_of
from ...stores.chunked import is_chunked, is_zarr
from ...stores.shards import is_glob
from ..local_scaling import check_csls, mean_of_top, means_of_vectors, subtract_means
from ..two_graphs import BACKWARD, FORWARD, as_ids

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...embeddings.watching import Watch
    from ...inputs.arrays import IntArray
    from ...inputs.words import Similarity


MATCHING_NAN_RULES = ("raise", "omit")
DEFAULT_SIMILARITY: Final = "cosine"  # the default of functions

_BLOCK_CELLS = 1 << 22  # the number of scores in memory at a time
_FLOAT32_KINDS = ("float16", "bfloat16", "float32", "int8", "int16", "uint8", "uint16")
_MAX_EXACT_INTEGER = 1 << 53  # integers up to here are exact in float64
_PATHS = (str, bytes, os.PathLike)


class SimilaritySource(ABC):
    """The scores of the left and right entities that take part, in either direction.

    Ids count all entities of a side, even if only some take part. By the rule, a NaN is an error or
    no candidate.

    Attributes
    ----------
    shape : tuple of int
        The number of entities of each side.
    dtype : dtype
        The dtype of the scores: float32 or float64.
    left_ids, right_ids : ndarray of int64
        The entities that take part, ascending.
    passes_of_means : int
        How many times `means` makes all scores.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    left_ids: IntArray
    right_ids: IntArray
    nan: str
    csls: CSLS | None
    roles: Roles = FORWARD  # how messages name the sides
    watch: Callable[[int], None] | None = None  # told how many pairs were just scored
    passes_of_means: ClassVar[int] = 2

    @property
    def names(self) -> tuple[str, str]:
        """The names of the side of the queries and of the other side."""
        return self.roles.queries, self.roles.entities

    @abstractmethod
    def similarities(self, rows: IntArray) -> npt.NDArray[Any]:
        """Return the similarities of some left entities and all right ones, before CSLS."""

    @abstractmethod
    def means(self, k: int) -> CSLS:
        """Return the means that CSLS subtracts, over the entities that take part."""

    def scale(self, csls: CSLS) -> None:
        """Use CSLS with means, which are checked and rounded to the dtype of the scores."""
        self.csls = CSLS(*checked_means(csls, self.shape, self.dtype, self.names), csls.k)

    def swapped(self) -> Self:
        """Return the other direction, with right entities as queries."""
        other = copy(self)
        other.shape = self.shape[::-1]
        other.left_ids, other.right_ids = self.right_ids, self.left_ids
        other.roles = BACKWARD if self.roles is FORWARD else FORWARD
        other.csls = None if self.csls is None else self.csls.swapped()
        return other

    def restrict(self, left_ids: Any, right_ids: Any, csls: int | CSLS | None) -> Self:
        """Let only some entities take part (None: all), and use CSLS with a number or means."""
        self.left_ids = as_ids("left_ids", left_ids, self.shape[0])
        self.right_ids = as_ids("right_ids", right_ids, self.shape[1])
        if isinstance(csls, int):  # without entities there is no mean, and no pair either
            csls = self.means(csls) if len(self.left_ids) and len(self.right_ids) else None
        if csls is not None:
            self.scale(csls)
        return self

    def scores(self, rows: IntArray) -> npt.NDArray[Any]:
        """Return the scores of some left entities and the right ones that take part.

        Raises
        ------
        ValueError
            For a NaN if the rule is "raise".
        """
        block, columns = self.similarities(rows), self.right_ids
        if len(columns) < self.shape[1]:
            block = block[:, columns]
        if self.csls is not None:
            block = subtract_means(
                block, self.csls.queries[rows, None], self.csls.entities[columns]
            )
        if self.nan == "raise" and np.isnan(block).any():
            row, column = np.argwhere(np.isnan(block))[0]
            fault = _core.Fault("nan", -1, int(rows[row]), int(columns[column]))
            raise fault_error(fault, self.nan, rows, self.roles.nouns)
        return block

    def blocks(self, rows: IntArray) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield the scores of some left entities in blocks, each with its start."""
        height = max(1, _BLOCK_CELLS // max(1, self.shape[1]))
        for start in range(0, len(rows), height):
            some = rows[start : start + height]
            yield start, self.scores(some)
            self.report(len(some))

    def report(self, rows: int) -> None:
        """Tell who watches that a number of left entities were scored."""
        if self.watch is not None:
            self.watch(rows * self.shape[1])

    def top_k(self, k: int, rows: IntArray | None = None) -> TopK:
        """Return the k best right entities of some left ones (default: all that take part)."""
        rows = self.left_ids if rows is None else rows
        ids, scores = _empty_top_k(len(rows), k, self.dtype)
        for start, block in self.blocks(rows):
            end = start + len(block)
            ids[start:end], scores[start:end] = top_k_of_rows(block, self.right_ids, k)
        return TopK(ids, scores)

    def top_k_accepting(
        self, k: int, rows: IntArray, held: npt.NDArray[Any], holders: IntArray
    ) -> TopK:
        """Return the k best right entities that prefer the left one to their current partner.

        Parameters
        ----------
        k : int
        rows : ndarray of int64
            Left entities.
        held : ndarray, shape (right entities,)
            The score of each right entity with its partner; -inf if it is free.
        holders : ndarray of int64, shape (right entities,)
            The partner of each right entity; a number above all ids if it is free. Of equal scores,
            the lower left id is preferred.
        """
        ids, scores = _empty_top_k(len(rows), k, self.dtype)
        held_scores, held_by = held[self.right_ids], holders[self.right_ids]
        for start, block in self.blocks(rows):
            end = start + len(block)
            lower = rows[start:end, None] < held_by
            preferred = (block > held_scores) | ((block == held_scores) & lower)
            block = np.where(preferred, block, block.dtype.type(np.nan))
            ids[start:end], scores[start:end] = top_k_of_rows(block, self.right_ids, k)
        return TopK(ids, scores)


class MatrixSource(SimilaritySource):
    """The scores of a matrix in memory."""

    def __init__(self, matrix: npt.NDArray[Any], kind: str, nan: str, ids: Any) -> None:
        self.matrix, self.kind, self.nan = matrix, kind, nan
        self.shape = (matrix.shape[0], matrix.shape[1])
        self.dtype = np.dtype(np.float32 if kind in _FLOAT32_KINDS else np.float64)
        self.left_ids, self.right_ids = ids
        self.csls = None

    def similarities(self, rows: IntArray) -> npt.NDArray[Any]:
        """As in `SimilaritySource`."""
        block = self.matrix[rows]
        if self.kind == "bfloat16":
            return widen_bfloat16(block)
        with np.errstate(invalid="ignore"):  # signalling NaN
            return block.astype(self.dtype)

    def swapped(self) -> Self:
        """As in `SimilaritySource`."""
        other = super().swapped()
        other.matrix = self.matrix.T
        return other

    def means(self, k: int) -> CSLS:
        """As in `SimilaritySource`."""
        return CSLS(_means_of_rows(self, k), _means_of_rows(self.swapped(), k), k)


class VectorSource(SimilaritySource):
    """The scores of embeddings, computed when they are needed."""

    passes_of_means = 1

    def __init__(self, pairs: OpenEmbeddings, rules: Rules) -> None:
        self.pairs, self.rules, self.nan = pairs, rules, rules.nan
        self.shape, self.dtype = pairs.shape, np.dtype(pairs.dtype)
        self.left_ids, self.right_ids = (np.arange(size) for size in pairs.shape)
        self.csls = None

    def similarities(self, rows: IntArray) -> npt.NDArray[Any]:
        """As in `SimilaritySource`."""
        return score_open_embeddings(self.pairs.with_csls(None), None, rows, self.rules)

    def means(self, k: int) -> CSLS:
        """As in `SimilaritySource`."""
        ids = (self.left_ids, self.right_ids)
        candidates = None if tuple(map(len, ids)) == self.shape else ids
        with self._watching(self.shape[0]) as watch:
            return means_of_vectors(self.pairs, k, self.rules, candidates=candidates, watch=watch)

    @contextmanager
    def _watching(self, rows: int) -> Iterator[Watch | None]:
        """Give a watch for a block of code that scores a number of left entities."""
        if self.watch is None:
            yield None
            return
        report, pairs, told = self.watch, rows * self.shape[1], 0

        def watch(done: int, total: int) -> None:
            nonlocal told
            share = pairs * done // total
            report(share - told)
            told = share

        yield watch
        report(pairs - told)

    def scale(self, csls: CSLS) -> None:
        """As in `SimilaritySource`."""
        self.pairs = self.pairs.with_csls(csls)
        self.csls = self.pairs.csls

    def swapped(self) -> Self:
        """As in `SimilaritySource`."""
        other = super().swapped()
        other.pairs = self.pairs.swapped(other.roles)
        return other

    def top_k(self, k: int, rows: IntArray | None = None) -> TopK:
        """As in `SimilaritySource`."""
        return self._top_k(k, self.left_ids if rows is None else rows, None)

    def top_k_accepting(
        self, k: int, rows: IntArray, held: npt.NDArray[Any], holders: IntArray
    ) -> TopK:
        """As in `SimilaritySource`."""
        return self._top_k(k, rows, CurrentMatches(held, holders))

    def _top_k(self, k: int, rows: IntArray, current: CurrentMatches | None) -> TopK:
        candidates = self.right_ids if len(self.right_ids) < self.shape[1] else None
        with self._watching(len(rows)) as watch:
            return topk_open_embeddings(
                self.pairs,
                k,
                self.rules,
                rows=rows,
                candidates=candidates,
                current_matches=current,
                watch=watch,
            )


def top_k_of_rows(
    scores: npt.NDArray[Any], columns: IntArray, k: int
) -> tuple[IntArray, npt.NDArray[Any]]:
    """Return the k best of every row, best first; ties go by the lower id; NaN are left out.

    Parameters
    ----------
    scores : ndarray of float32 or float64, shape (rows, n)
    columns : ndarray of int64, shape (n,)
        The ids of the columns, ascending.
    k : int

    Returns
    -------
    ids, scores : ndarray, shape (rows, k)
        -1 and NaN if there are fewer.

    Examples
    --------
    >>> top_k_of_rows(np.array([[0.5, 0.9, 0.5, np.nan]]), np.arange(4), 2)
    (array([[1, 0]]), array([[0.9, 0.5]]))
    """
    height, width = scores.shape
    ids, found = _empty_top_k(height, k, scores.dtype)
    good = ~np.isnan(scores)
    if k < width:  # sort only what is as good as the k-th best
        kth = -np.partition(-scores, k - 1, axis=1)[:, k - 1 : k]
        good &= (scores >= kth) | np.isnan(kth)
    row, column = np.nonzero(good)
    value = scores[row, column]
    order = np.lexsort((-value, row))  # stable: ties stay in the order of columns
    row, column, value = row[order], column[order], value[order]
    place = np.arange(len(row)) - np.searchsorted(row, np.arange(height))[row]
    kept = place < k
    ids[row[kept], place[kept]] = columns[column[kept]]
    found[row[kept], place[kept]] = value[kept]
    return ids, found


def _empty_top_k(height: int, k: int, dtype: Any) -> tuple[IntArray, npt.NDArray[Any]]:
    return np.full((height, k), -1, np.int64), np.full((height, k), np.nan, dtype)


def _means_of_rows(source: SimilaritySource, k: int) -> npt.NDArray[Any]:
    """Return the mean of the k best of each left entity, added best first in float64, or NaN."""
    best = source.top_k(min(k, max(1, len(source.right_ids))))
    found = np.full(source.shape[0], np.nan, source.dtype)
    with np.errstate(all="ignore"):  # values that are infinite in float32
        found[source.left_ids] = mean_of_top(best.scores, (best.ids >= 0).sum(axis=1))
    return found


class PassReport:
    """Tells a listener how many bytes of scores have been made, of all passes."""

    def __init__(
        self,
        progress: bool | Callable[[Progress], object] | None,
        passes: int,
        with_means: bool,
    ) -> None:
        self._listener = as_listener(progress)
        self._passes, self._with_means = passes, with_means
        self._done, self._total, self._start = 0, 0, time.monotonic()

    def of_source(self, source: SimilaritySource) -> Callable[[int], None] | None:
        """Return what a source tells how many pairs it has scored; None if nobody listens."""
        if self._listener is None:
            return None
        itemsize = source.dtype.itemsize
        whole = max(source.shape[0] * source.shape[1] * itemsize, 1)
        self._total = (self._passes + self._with_means * source.passes_of_means) * whole
        self._tell()

        def watch(pairs: int) -> None:
            self._done += pairs * itemsize
            while self._done > self._total:
                self._total += whole
            if self._done < self._total:  # else it may be the end, which is told once
                self._tell()

        return watch

    def finish(self) -> None:
        """Report that no more scores are needed."""
        self._total = self._done
        self._tell()

    def _tell(self) -> None:
        if self._listener is not None:
            self._listener(Progress(self._done, self._total, time.monotonic() - self._start))


class ScoringOptions(NamedTuple):
    """The options for similarities: the arguments of `infer` with these names."""

    similarity: Similarity = DEFAULT_SIMILARITY
    csls: Any = None
    rules: Rules = PLAIN


def open_source(
    left: Any,
    right: Any,
    scoring: ScoringOptions,
    left_ids: Any = None,
    right_ids: Any = None,
    watch: Callable[[SimilaritySource], Callable[[int], None] | None] = lambda source: None,
) -> SimilaritySource:
    """Check embeddings, or a matrix if `right` is None, and the options.

    `watch` makes what is told how many pairs were scored, of the source without CSLS.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.alignment.infer` does.

    Examples
    --------
    >>> open_source([[0.5, 0.7], [0.2, 0.9]], None, ScoringOptions()).top_k(1).ids
    array([[1],
           [1]])
    """
    choice("nan", scoring.rules.nan, MATCHING_NAN_RULES)
    csls = check_csls(scoring.csls)
    source = _open_all(left, right, scoring)
    source.watch = watch(source)
    return source.restrict(left_ids, right_ids, csls)


def _open_all(left: Any, right: Any, scoring: ScoringOptions) -> SimilaritySource:
    """Open a source with all entities and without CSLS; files are mapped while it is in use."""
    if right is None:
        if scoring.similarity != DEFAULT_SIMILARITY:
            raise InputValueError(
                "similarity", expected="none beside a matrix", got=repr(scoring.similarity)
            )
        with np.errstate(all="ignore"):
            matrix, kind = _read_checked_matrix(left, scoring.rules.dtype)
        ids = np.arange(len(matrix)), np.arange(matrix.shape[1])
        return MatrixSource(matrix, kind, scoring.rules.nan, ids)
    dtype = scoring.rules.dtype
    pairs = open_embeddings(left, right, scoring.similarity, None, dtype, roles=FORWARD)
    if pairs.is_single_query:
        raise InputValueError("left", expected=FORWARD.shape, got="a single vector")
    return VectorSource(pairs, scoring.rules)


def _read_checked_matrix(value: Any, dtype: Any) -> tuple[npt.NDArray[Any], str]:
    scores = read_matrix("left", value, dtype)
    matrix, kind = scores.array, scores.dtype
    if matrix.ndim != 2:
        raise InputValueError(
            "left", expected="a matrix (left, right)", got=f"shape {matrix.shape}"
        )
    if kind in ("int64", "uint64") and matrix.size:
        least, most = int(matrix.min()), int(matrix.max())
        if max(-least, most) > _MAX_EXACT_INTEGER:
            raise InputValueError("left", expected="integers up to 2**53", got=f"{least} to {most}")
    return matrix, kind


def read_matrix(name: str, value: Any, dtype: Any) -> Scores:
    """Return scores in memory as they are, or map those of one .npy file.

    Nothing is copied. The file is unmapped when the last array over it is freed.

    Parameters
    ----------
    name : str
        The argument's name, for messages.
    value : array_like or path
        A matrix; the number of dimensions is not checked.
    dtype : str or dtype, optional
        As in `rank`: the dtype of raw 16-bit scores, else the expected dtype.

    Raises
    ------
    TypeError
        For scores that are no numbers, and for a matrix in shards, in chunks or in a store.
    ValueError
        For a file that is no .npy file, is damaged, or has become too short for its map.
    OSError
        For a file that is missing or cannot be read.

    Examples
    --------
    >>> read_matrix("left", [[1.0, 0.5]], None).array
    array([[1. , 0.5]])
    >>> read_matrix("left", ["a.npy", "b.npy"], None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    truerank.InputTypeError: left: expected a matrix in memory or the path of one .npy file, ...
    """
    if not is_stored(value):
        return as_scores(value, dtype, name)
    with renamed(scores=name):
        _check_single_file(value)
        try:
            store = store_of(value, dtype) if isinstance(value, (*_PATHS, np.ndarray)) else None
        except OSError as error:
            message = f"{name}: {error.strerror}"
            raise type(error)(error.errno, message, error.filename) from None
        if store is None:  # on an accelerator
            return as_scores(value, dtype)
        with store:
            return Scores(array_of(store), store.dtype, store.swapped)


def _check_single_file(value: Any) -> None:
    """Refuse scores that are neither in memory nor a single file."""
    got = ""
    if isinstance(value, _PATHS):
        path = os.fsdecode(value)
        if is_glob(path):
            got = f"the pattern {path!r}"
        elif os.path.isdir(path) and is_zarr(path):
            got = f"a folder of zarr, {path!r}"
    elif isinstance(value, (list, tuple)):
        got = "a list of paths"
    elif isinstance(value, Store):
        got = repr(value)
    elif not isinstance(value, np.ndarray) and is_chunked(value):
        got = f"{type(value).__module__.partition('.')[0]}'s {type(value).__name__}"
    if got:
        raise InputTypeError(
            "scores", expected="a matrix in memory or the path of one .npy file", got=got
        )
