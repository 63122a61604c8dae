"""Vectors of two sides, or a matrix, as they come: checked, and made a source of similarities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...embeddings.vectors import CSLS, as_means, opened
from ...inputs.checks import choice
from ...inputs.errors import InputTypeError, InputValueError
from ..csls import csls_means
from ..ids import as_ids
from ..wording import in_words_of_sides
from .matrix_files import read_matrix
from .sources import MatrixSource, Source, VectorSource

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...inputs.arrays import IntArray

NAN = ("raise", "omit")
SIMILARITY = "cosine"  # what functions have for a default
_EXACT = 1 << 53  # integers up to here are float64 numbers


def source_of(
    left: Any,
    right: Any,
    *,
    similarity: str,
    csls: Any,
    left_ids: Any,
    right_ids: Any,
    nan: str,
    dtype: Any,
    threads: int | None,
) -> Source:
    """Check vectors, or a matrix where `right` is None, and what is asked of them.

    Raises
    ------
    TypeError, ValueError, OSError
        As `truerank.alignment.infer` does.

    Examples
    --------
    >>> source = source_of(
    ...     [[0.5, 0.7], [0.2, 0.9]], None, similarity="cosine", csls=None, left_ids=None,
    ...     right_ids=None, nan="raise", dtype=None, threads=None,
    ... )
    >>> source.best(1).ids
    array([[1],
           [1]])
    """
    choice("nan", nan, NAN)
    _check_csls(csls)
    chosen = {"left": left_ids, "right": right_ids}
    if right is None:
        if similarity != SIMILARITY:
            raise InputValueError(
                "similarity", expected="none beside a matrix", got=repr(similarity)
            )
        with np.errstate(all="ignore"):
            matrix, kind = _as_matrix(left, dtype)
        of_matrix = MatrixSource(matrix, kind, nan, _taking_part(chosen, matrix.shape))
        if csls is not None:
            given = csls if isinstance(csls, CSLS) else of_matrix.means(int(csls))
            of_matrix.csls = _as_csls(given, of_matrix)
        return of_matrix
    with in_words_of_sides("left", "right"):
        with opened(left, right, similarity, None, dtype) as pairs:
            if pairs.single:
                raise InputValueError(
                    "queries", expected="a matrix (entities, d)", got="a single vector"
                )
            shape, kind = pairs.shape, pairs.dtype
        ids = _taking_part(chosen, shape)
        keywords = {"similarity": similarity, "dtype": dtype, "threads": threads}
        source = VectorSource((left, right), shape, kind, nan, ids, keywords)
        if csls is not None:
            if not isinstance(csls, CSLS) and not all(map(len, ids)):
                return source  # nobody to take a mean of, and no pair
            if not isinstance(csls, CSLS):
                among = None if tuple(map(len, ids)) == shape else ids
                csls = csls_means(left, right, int(csls), candidates=among, nan=nan, **keywords)
            source.csls = _as_csls(csls, source)
    return source


def _check_csls(csls: Any) -> None:
    if csls is None or isinstance(csls, CSLS):
        return
    if isinstance(csls, bool) or not isinstance(csls, (int, np.integer)):
        raise InputTypeError("csls", expected="an int, a CSLS or None", got=type(csls).__name__)
    if csls < 1:
        raise InputValueError("csls", expected="at least 1", got=csls)


def _as_csls(csls: CSLS, source: Source) -> CSLS:
    """Check that there is a mean for every entity; in the dtype of the scores."""
    return CSLS(*as_means(csls, source.shape, source.dtype, source.names), csls.k)


def _taking_part(chosen: dict[str, Any], shape: tuple[int, ...]) -> tuple[IntArray, IntArray]:
    sides = zip(chosen.items(), shape, strict=True)
    left, right = (as_ids(f"{side}_ids", ids, size) for (side, ids), size in sides)
    return left, right


def _as_matrix(value: Any, dtype: Any) -> tuple[npt.NDArray[Any], str]:
    scores = read_matrix("left", value, dtype)
    matrix, kind = scores.array, scores.dtype
    if matrix.ndim != 2:
        raise InputValueError(
            "left", expected="a matrix (left, right)", got=f"shape {matrix.shape}"
        )
    if kind in ("int64", "uint64") and matrix.size:
        least, most = int(matrix.min()), int(matrix.max())
        if max(-least, most) > _EXACT:
            raise InputValueError("left", expected="integers up to 2**53", got=f"{least} to {most}")
    return matrix, kind
